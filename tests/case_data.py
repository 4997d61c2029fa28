"""The worked examples (cases/*.json) as typed objects, and their way into and out of an engine.

Not here: what runs a case. `load_cases()` reads `../shared/cases` where that folder lies beside the checkout,
else the copy in `tests/cases`. A case is a list of runs, a run a list of steps.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tests.databases import columns_of, create_table, engine_of, type_of

if TYPE_CHECKING:
    from dbt_auto_cdc.engines.base import Engine
    from tests.databases import Connection

COPIED_CASES = Path(__file__).parent / "cases"
SHARED_CASES = Path(__file__).parents[2] / "shared" / "cases"

Row = dict[str, Any]
Rows = list[Row]
Columns = dict[str, str]
"""Column names with their DuckDB types, in the order of the feed."""

PARTIAL_UPDATE_OPTIONS = (
    "ignore_null_updates",
    "ignore_null_updates_column_list",
    "ignore_null_updates_except_column_list",
    "columns_to_update",
)
_SCD_TYPE_BY_MODE = {"scd2": 2, "snapshot_scd2": 2, "bitemporal": "bitemporal"}


@dataclass(frozen=True)
class Step:
    """One delivery: events, a snapshot with its version, or the whole result of a query (replace_where)."""

    kind: Literal["events", "snapshot", "result"]
    rows: Rows
    version: Any = None


@dataclass(frozen=True)
class Run:
    """One run of a case with all per-run overrides applied.

    columns         what the feed has in this run, with types
    steps           what is new in this run; several only in snapshot, combined and other modes
    is_refused      the run must fail and leave the target as it was
    acceptable      tables that are right after this run, any of them; empty where the case does not say
    """

    index: int
    mode: str
    config: dict[str, Any]
    columns: Columns
    version_type: str
    steps: tuple[Step, ...]
    is_full_refresh: bool
    is_refused: bool
    acceptable: tuple[Rows, ...]
    compare_columns: tuple[str, ...] | None

    @property
    def rows(self) -> Rows:
        """The new rows of all steps."""
        return [row for step in self.steps for row in step.rows]

    def create_feed(
        self,
        connection: Connection,
        table: str = "feed",
        *,
        version_column: str | None = None,
    ) -> None:
        """Create or replace the feed with this run's new rows, snapshots with their version in a column."""
        columns, rows = dict(self.columns), self.rows
        if version_column is not None:
            columns[version_column] = self.version_type
            rows = [{**row, version_column: step.version} for step in self.steps for row in step.rows]
        create_table(connection, table, columns, rows)


@dataclass(frozen=True)
class Case:
    """One object of the files, as written there; `runs` has the overrides resolved.

    expected                 the target after each run
    compare_columns          the only columns to compare
    error, error_batch       the run that must be refused (else the last), leaving the target as it was
    order_insensitive        any order and any cut into runs ends the same
    *_by_batch               per-run overrides; options replace all others if they name keys
    """

    id: str
    file: str
    origin: str
    mode: str
    config: dict[str, Any]
    columns: Columns
    batches: list[Any]
    status: str = ""
    note: str = ""
    tags: tuple[str, ...] = ()
    expected: list[Rows | None] | None = None
    expected_final: Rows | None = None
    alternative_expected_final: Rows | None = None
    compare_columns: tuple[str, ...] | None = None
    assert_result: bool = True
    error: str | None = None
    error_batch: int | None = None
    spark_condition: str | None = None
    order_insensitive: bool = False
    config_by_batch: Any = None
    columns_by_batch: Any = None
    mode_by_batch: Any = None
    full_refresh_before_batch: Any = None
    other: dict[str, Any] = field(default_factory=dict)
    """Fields that the format does not name."""

    @property
    def refused_run(self) -> int | None:
        """The index of the run that must be refused."""
        if self.error is None:
            return None
        return len(self.batches) - 1 if self.error_batch is None else self.error_batch

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        return tuple(self._run(index, batch) for index, batch in enumerate(self.batches))

    @property
    def uses_partial_updates(self) -> bool:
        return any(run.config.get(option) for run in self.runs for option in PARTIAL_UPDATE_OPTIONS)

    @property
    def changes_columns(self) -> bool:
        """Whether the feed's columns or their types differ between runs."""
        return any(list(run.columns.items()) != list(self.runs[0].columns.items()) for run in self.runs)

    @property
    def changes_config(self) -> bool:
        """Whether the options or the mode differ between runs."""
        return any((run.config, run.mode) != (self.runs[0].config, self.runs[0].mode) for run in self.runs)

    def rearranged(self, seed: int) -> list[Rows]:
        """Return all rows of an order-insensitive case in another order and cut; seeds 0-2 are extremes.

        0: all at once; 1: one event a run; 2: one event a run, last first; from 3 on: random.
        """
        events: Rows = [row for run in self.runs for row in run.rows]
        if seed == 0:
            return [events]
        if seed in (1, 2):
            return [[event] for event in (events if seed == 1 else reversed(events))]
        source = random.Random(f"{self.id} {seed}")
        events = source.sample(events, len(events))
        cuts = sorted(source.randint(0, len(events)) for _ in range(source.randint(1, 4)))
        return [events[start:end] for start, end in zip([0, *cuts], [*cuts, len(events)], strict=True)]

    def _run(self, index: int, batch: Any) -> Run:
        mode = _override(self.mode_by_batch, index) or self.mode
        steps = tuple(_steps(mode, batch))
        return Run(
            index=index,
            mode=mode,
            config=self._config(index, mode),
            columns=self._columns(index, steps),
            version_type=_version_type(self.config, steps),
            steps=steps,
            is_full_refresh=index in _as_list(self.full_refresh_before_batch),
            is_refused=index == self.refused_run,
            acceptable=self._acceptable(index),
            compare_columns=self.compare_columns,
        )

    def _config(self, index: int, mode: str) -> dict[str, Any]:
        """Return the options of a run in our spelling: SCD type as the mode implies, structs as lists."""
        config, override = self.config, _override(self.config_by_batch, index) or {}
        config = override if "keys" in override else {**config, **override}
        config = {option: value for option, value in config.items() if option != "version_type"}
        if mode in _SCD_TYPE_BY_MODE:
            config.setdefault("stored_as_scd_type", _SCD_TYPE_BY_MODE[mode])
        for option in ("sequence_by", "system_sequence_by"):
            if isinstance(config.get(option), dict):
                config[option] = list(config[option]["struct"])
        return config

    def _columns(self, index: int, steps: tuple[Step, ...]) -> Columns:
        """Return the feed's columns: a declared column that no row of the run has was not there then."""
        columns: Columns | None = _override(self.columns_by_batch, index)
        if columns is not None:
            return dict(columns)
        present = {name for step in steps for row in step.rows for name in row}
        if not present:
            return dict(self.columns)
        if not present <= set(self.columns):
            raise ValueError(f"case {self.id}, run {index}: undeclared {present - set(self.columns)}")
        return {name: duckdb_type for name, duckdb_type in self.columns.items() if name in present}

    def _acceptable(self, index: int) -> tuple[Rows, ...]:
        if not self.assert_result:
            return ()
        tables = [] if self.expected is None else [self.expected[index]]
        if index == len(self.batches) - 1:
            tables = tables or [self.expected_final]
            tables.append(self.alternative_expected_final)
        return tuple(table for table in tables if table is not None)


def cases_folder() -> Path:
    return SHARED_CASES if SHARED_CASES.is_dir() else COPIED_CASES


def load_cases(*modes: str) -> list[Case]:
    """Read all cases, or those of the given modes, in the order of the files."""
    cases = [case for file in sorted(cases_folder().glob("*.json")) for case in _read(file)]
    return [case for case in cases if not modes or case.mode in modes]


def assert_run(connection: Connection, relation: str, run: Run) -> None:
    """Fail unless the relation holds a table that is right after this run, or the case names none."""
    differences = [
        difference(connection, relation, expected, compare_columns=run.compare_columns)
        for expected in run.acceptable
    ]
    if differences and None not in differences:
        raise AssertionError(f"after run {run.index}: " + "\nor: ".join(map(str, differences)))


def assert_rows(
    connection: Connection,
    relation: str,
    expected: Sequence[Mapping[str, Any]],
    *,
    compare_columns: Sequence[str] | None = None,
) -> None:
    """Fail with the rows that differ unless the relation holds exactly the expected rows."""
    found = difference(connection, relation, expected, compare_columns=compare_columns)
    if found is not None:
        raise AssertionError(found)


def assert_types(connection: Connection, relation: str, expected: Mapping[str, str]) -> None:
    """Fail unless these columns of the relation have exactly these types, in any spelling of them."""
    actual = {name.lower(): duckdb_type for name, duckdb_type in columns_of(connection, relation).items()}
    wanted = {name.lower(): type_of(connection, duckdb_type) for name, duckdb_type in expected.items()}
    assert wanted == {name: actual.get(name) for name in wanted}


def difference(
    connection: Connection,
    relation: str,
    expected: Sequence[Mapping[str, Any]],
    *,
    compare_columns: Sequence[str] | None = None,
) -> str | None:
    """Say how the relation's rows differ from the expected ones as multisets; None if they do not.

    Names match without regard to case and order. Expected values are cast to the types of the relation and
    compared there. The columns must be the same on both sides, unless `compare_columns` limits the comparison
    or no row is expected.
    """
    actual = columns_of(connection, relation)
    given = {name.lower() for row in expected for name in row}
    wanted = {name.lower() for name in compare_columns} if compare_columns is not None else given
    if not expected and compare_columns is None:
        wanted = {name.lower() for name in actual}
    columns = {name: duckdb_type for name, duckdb_type in actual.items() if name.lower() in wanted}
    others = set() if compare_columns is not None or not expected else set(actual) - set(columns)
    if len(columns) < len(wanted) or others:
        absent = wanted - {name.lower() for name in columns}
        return f"columns of {relation} differ: missing {sorted(absent)}, unexpected {sorted(others)}"

    engine = engine_of(connection)
    names = ", ".join(engine.quote(name) for name in columns)
    ctes, parameters = _expected_as_sql(engine, columns, expected)
    shown = ", ".join(engine.as_text(engine.quote(name)) for name in columns)
    sides = {
        "missing": f"select {names} from expected_rows except all select {names} from {relation}",
        "unexpected": f"select {names} from {relation} except all select {names} from expected_rows",
    }
    found: dict[str, list[tuple[Any, ...]]] = {
        side: connection.execute(f"{ctes} select {shown} from ({query}) as sides", parameters).fetchall()
        for side, query in sides.items()
    }
    if not any(found.values()):
        return None
    return _readable(relation, list(columns), found)


def _expected_as_sql(
    engine: Engine, columns: Columns, expected: Sequence[Mapping[str, Any]]
) -> tuple[str, list[Any]]:
    """Return a CTE `expected_rows` in the types of the relation, and its parameters."""
    select = ", ".join(f"cast(? as {kind}) as {engine.quote(name)}" for name, kind in columns.items())
    parameters: list[Any] = []
    for row in expected:
        by_name = {name.lower(): value for name, value in row.items()}
        parameters += [by_name.get(name.lower()) for name in columns]
    if expected:
        rows = " union all ".join([f"select {select}"] * len(expected))
    else:
        rows = f"select {select} where false"
        parameters = [None] * len(columns)
    return f"with expected_rows as ({rows})", parameters


def _readable(relation: str, columns: list[str], found: Mapping[str, list[tuple[Any, ...]]]) -> str:
    lines = [f"{relation} differs from the expected rows", "  " + " | ".join(["          ", *columns])]
    for side, rows in found.items():
        for row in sorted(rows, key=str):
            values = ["null" if value is None else str(value) for value in row]
            lines.append("  " + " | ".join([f"{side:10}", *values]))
    return "\n".join(lines)


def _read(file: Path) -> Iterator[Case]:
    fields = set(Case.__dataclass_fields__) - {"file", "other"}
    for written in json.loads(file.read_text(encoding="utf-8")):
        written["note"] = written.pop("notes", None) or written.get("note", "")
        known = {name: value for name, value in written.items() if name in fields}
        for name in ("tags", "compare_columns"):
            if known.get(name) is not None:
                known[name] = tuple(known[name])
        other = {name: value for name, value in written.items() if name not in fields}
        yield Case(file=file.stem, other=other, **known)


def _steps(mode: str, batch: Any) -> Iterator[Step]:
    """Read the forms a batch may have: rows, one snapshot, several of them, or a mixture in `combined`."""
    if isinstance(batch, dict):
        yield _snapshot(batch)
    elif mode == "combined":
        for step in batch:
            yield _snapshot(step["snapshot"]) if "snapshot" in step else Step("events", step["cdc"])
    elif mode.startswith("snapshot"):
        yield from map(_snapshot, batch)
    else:
        yield Step("result" if mode == "replace_where" else "events", batch)


def _snapshot(written: Mapping[str, Any]) -> Step:
    return Step("snapshot", written["rows"], written["version"])


def _version_type(config: Mapping[str, Any], steps: Sequence[Step]) -> str:
    if "version_type" in config:
        return str(config["version_type"])
    return "VARCHAR" if any(isinstance(step.version, str) for step in steps) else "BIGINT"


def _override(by_batch: Any, index: int) -> Any:
    """Return an entry of a per-run override: a list, or an object with the run's index as name."""
    if isinstance(by_batch, Mapping):
        return by_batch.get(str(index))
    return by_batch[index] if by_batch is not None and index < len(by_batch) else None


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list) else [value]
