"""Files that arrive at random: a target holds what a plain Python model says, however the runs fall.

Fields come and go, values do not always fit, names differ in case, files are overwritten and taken away. DuckDB only.
Not here: single cases (`scenarios/test_files`).
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.databases import connect_to_duckdb, quoted
from tests.direct import Direct
from tests.file_reads import read_files

pytestmark = pytest.mark.only_on("duckdb")

APPENDS = {"materialized": "append_flow"}
Record = Mapping[str, Any]

# One value of each kind that inference tells apart.
VALUES: list[Any] = [
    None,
    1,
    2,
    -7,
    1.5,
    True,
    "x",
    "12",
    "2026-03-01",
    "2026-03-01T10:00:00",
    {"in": 1},
    [1, "x"],
]
FIELDS = ["a", "B", "b", 'c/~" d']


@dataclass(frozen=True)
class Event:
    """What happens to the folder, or a run."""

    what: str
    file: int = 0
    records: Sequence[Record] = ()


record = st.dictionaries(st.sampled_from(FIELDS), st.sampled_from(VALUES), min_size=1)
records = st.lists(record, max_size=4)
events = st.lists(
    st.one_of(
        st.builds(Event, st.just("put"), st.integers(0, 4), records),
        st.builds(Event, st.just("put"), st.integers(0, 4), records),
        st.builds(Event, st.just("remove"), st.integers(0, 4)),
        st.just(Event("run")),
    ),
    max_size=14,
)


def kind(value: Any) -> str:
    """Return the type that a value has by itself."""
    if isinstance(value, bool):
        return "BOOLEAN"
    if isinstance(value, (dict, list)):
        return "JSON"
    if isinstance(value, str):
        return {10: "DATE", 19: "TIMESTAMP"}.get(len(value), "VARCHAR")
    return "BIGINT" if isinstance(value, int) else "DOUBLE"


def column_type(values: Sequence[Any]) -> str:
    kinds = {kind(value) for value in values if value is not None}
    if len(kinds) == 1:
        return kinds.pop()
    if "JSON" in kinds:
        return "JSON"
    if kinds == {"BIGINT", "DOUBLE"}:
        return "DOUBLE"
    return "TIMESTAMP" if kinds == {"DATE", "TIMESTAMP"} else "VARCHAR"


def fits(value: Any, type_name: str) -> bool:
    """Tell whether a value is the same in a column of a type: as it is written, an engine makes it that."""
    own, written = kind(value), value if isinstance(value, str) else json.dumps(value)
    if type_name in {own, "VARCHAR", "JSON"}:
        return True
    if own == "JSON":
        return False
    if type_name == "BOOLEAN":
        return written in {"true", "false", "1", "0"}
    if type_name in {"BIGINT", "DOUBLE"}:
        return written in {"1", "2", "-7", "12"} or (type_name == "DOUBLE" and written == "1.5")
    if type_name == "DATE":
        return False
    return own == "DATE"


@dataclass
class Model:
    """What the target should hold: columns with their types, and of each record what is kept and what is rescued."""

    types: dict[str, str] = field(default_factory=dict)
    rows: list[tuple[dict[str, Any], dict[str, Any]]] = field(default_factory=list)
    read: set[str] = field(default_factory=set)
    facts: dict[str, tuple[int, float]] = field(default_factory=dict)

    def run(self, folder: Path, *, evolves: bool, again: bool) -> None:
        # An empty file is none yet: somebody may have begun to write it.
        there = [file for file in sorted(folder.glob("*.json")) if file.stat().st_size]
        new = {
            file.name: file
            for file in there
            if file.name not in self.read or (again and self.facts[file.name] != _facts(file))
        }
        contents = [json.loads(line) for file in new.values() for line in file.read_text().splitlines()]
        known = {name.lower() for name in self.types}
        if evolves or not self.types:
            self._learn(contents, known)
        for record in contents:
            self._keep(record)
        self.read |= new.keys()
        self.facts |= {name: _facts(file) for name, file in new.items()}

    def _learn(self, contents: Sequence[Record], known: set[str]) -> None:
        first = list(contents[0]) if contents else []
        every = sorted({name for record in contents for name in record})
        found: dict[str, str] = {}
        for name in [*first, *(name for name in every if name not in first)]:
            if name.lower() not in known | {one.lower() for one in found}:
                found[name] = column_type([record.get(name) for record in contents])
        self.types |= found

    def _keep(self, record: Record) -> None:
        kept, rescued = {}, {}
        folded = {name.lower(): name for name in self.types}
        # The column's own spelling first, then the others as they are sorted.
        taken = set[str]()
        for name in sorted(record, key=lambda one: (one not in self.types, one)):
            column, value = folded.get(name.lower()), record[name]
            if column is None:
                rescued[name] = value
            elif value is not None:
                if column in taken:
                    rescued[name] = value
                elif fits(value, self.types[column]):
                    kept[column] = value
                else:
                    rescued[name] = value
                taken.add(column)
        self.rows.append((kept, rescued))


def _facts(file: Path) -> tuple[int, float]:
    return file.stat().st_size, file.stat().st_mtime


def shown(value: Any, type_name: str) -> str:
    """Return a value as the engine writes it as text in a column of a type."""
    if type_name == "JSON":
        return json.dumps(value, separators=(",", ":"))
    if type_name == "BOOLEAN":
        return "true" if value in {True, "true"} else "false"
    if type_name == "DOUBLE":
        return str(float(value))
    if type_name == "TIMESTAMP":
        return value.replace("T", " ") if "T" in value else f"{value} 00:00:00"
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def expected(model: Model) -> list[tuple[str, ...]]:
    rows = []
    for kept, rescued in model.rows:
        values = [shown(kept[name], model.types[name]) if name in kept else "-" for name in model.types]
        rows.append((*values, json.dumps(rescued, sort_keys=True)))
    return sorted(rows)


def found(connection: duckdb.DuckDBPyConnection, model: Model) -> list[tuple[str, ...]]:
    columns = [f"""coalesce(cast({quoted(name)} as varchar), '-')""" for name in model.types]
    rows = connection.execute(f"select {', '.join([*columns, '_rescued_data'])} from target").fetchall()
    return sorted((*row[:-1], _told(row[-1])) for row in rows)


def _told(rescued: str | None) -> str:
    entries = json.loads(rescued) if rescued else {}
    entries.pop("_file_path", None)
    return json.dumps(entries, sort_keys=True)


@given(record, events, st.booleans(), st.booleans())
def test_what_arrives_is_read_once(first: Record, arrives: list[Event], evolves: bool, again: bool) -> None:
    """Rows, columns, types and rescued data are those of the plain model after every run."""
    mode = "add_new_columns" if evolves else "rescue"
    with tempfile.TemporaryDirectory() as place, connect_to_duckdb() as connection:
        folder, target, model, clock = Path(place), Direct(connection), Model(), 1000
        sql = f"select * from {read_files(f'{folder}/*.json', schema_evolution_mode=mode, allow_overwrites=again)} as f"
        for event in [Event("put", 9, [first]), Event("run"), *arrives, Event("run")]:
            file = folder / f"{event.file}.json"
            clock += 1
            if event.what == "put":
                file.write_text("".join(f"{json.dumps(record)}\n" for record in event.records))
                os.utime(file, (clock, clock))
            elif event.what == "remove":
                file.unlink(missing_ok=True)
            else:
                model.run(folder, evolves=evolves, again=again)
                target.run(APPENDS, sql=sql)
                assert expected(model) == found(connection, model)
                types = dict(row[:2] for row in connection.execute("describe target").fetchall())
                assert model.types == {name: types[name] for name in model.types}
