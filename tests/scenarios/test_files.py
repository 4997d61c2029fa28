"""`read_files`: what a run reads, in which columns and types, and what it remembers. DuckDB only, without dbt.

Not here: wrong arguments and files that cannot be read (`test_bad_files`), random files (`properties`).
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator, Mapping
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dbt_auto_cdc.errors import AutoCdcError
from dbt_auto_cdc.execute import Outcome
from tests.databases import chosen, connect_to_duckdb, quoted
from tests.direct import Direct
from tests.file_reads import read_files

pytestmark = pytest.mark.only_on("duckdb")

APPENDS = {
    "materialized": "replace_using",
    "replace_using": ["k"],
    "sequence_by": "s",
    "equal_sequence": "append",
}


class Landing:
    """A folder in which files land, and a target that is fed from it."""

    def __init__(self, folder: Path, connection: duckdb.DuckDBPyConnection) -> None:
        self.folder, self.target = folder, Direct(connection)
        self.config: Mapping[str, object] = APPENDS
        folder.mkdir(exist_ok=True)

    def put(self, name: str, *rows: Mapping[str, object] | str, at: float | None = None) -> Path:
        """Write a file of JSON lines, or of lines as they are."""
        lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        file = self.folder / name
        file.parent.mkdir(exist_ok=True, parents=True)
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        if at is not None:
            os.utime(file, (at, at))
        return file

    def run(
        self,
        pattern: str = "*.json",
        *,
        select: str = "*",
        full_refresh: bool = False,
        partial: str = "",
        **options: Any,
    ) -> Outcome:
        path = f"{self.folder}/{pattern}" if pattern else str(self.folder)
        sql = f"select {select} from {read_files(path, **options)} as files"
        return self.target.run(self.config, sql=sql, full_refresh=full_refresh, partial=partial)

    def rows(self, *columns: str) -> list[tuple[object, ...]]:
        """Return the rows of the target, in some order of their own."""
        shown = ", ".join(map(quoted, columns)) or "*"
        return self.target.connection.execute(f"select {shown} from target order by all").fetchall()

    def types(self) -> dict[str, str]:
        described = self.target.connection.execute("describe target").fetchall()
        return {row[0]: row[1] for row in described}

    def rescued(self, column: str = "_rescued_data") -> list[dict[str, Any]]:
        found = [row[0] for row in self.rows(column) if row[0] is not None]
        return [
            {key: value for key, value in json.loads(str(text)).items() if key != "_file_path"}
            for text in found
        ]

    def recorded(self) -> list[tuple[str, str]]:
        query = "select parse_filename(path), state from target__auto_cdc_files order by all"
        return self.target.connection.execute(query).fetchall()


@pytest.fixture
def landing(tmp_path: Path) -> Iterator[Landing]:
    with connect_to_duckdb() as connection:
        yield Landing(tmp_path / "landing", connection)


def test_each_file_is_read_once(landing: Landing) -> None:
    """Runs without new files read nothing, whatever became of the old ones; --full-refresh starts over."""
    landing.put("a.json", {"k": 1, "s": 1})
    assert 1 == landing.run().figures["num_read_rows"]
    assert 0 == landing.run().figures["num_read_rows"]
    landing.put("b.json", {"k": 2, "s": 1}, {"k": 3, "s": 1})
    landing.put("a.json", {"k": 1, "s": 1}, {"k": 9, "s": 9})
    assert 2 == landing.run().figures["num_read_rows"]
    (landing.folder / "b.json").unlink()
    assert 0 == landing.run().figures["num_read_rows"]
    landing.put("b.json", {"k": 2, "s": 1})
    assert 0 == landing.run().figures["num_read_rows"]
    assert [(1, 1), (2, 1), (3, 1)] == landing.rows("k", "s")
    assert [("a.json", "read"), ("b.json", "read")] == landing.recorded()
    assert 3 == landing.run(full_refresh=True).figures["num_read_rows"]
    assert [(1, 1), (2, 1), (9, 9)] == landing.rows("k", "s")
    assert 0 == landing.run().figures["num_read_rows"]


def test_what_is_forgotten_is_read_again(landing: Landing) -> None:
    """Without its position, which reset_streams takes away, a read starts over beside the rows that are there."""
    landing.put("a.json", {"k": 1, "s": 1})
    landing.run()
    landing.target.connection.execute("delete from target__auto_cdc where __auto" + "_cdc_kind = 'position'")
    landing.put("b.json", {"k": 2, "s": 1})
    landing.run()
    assert [(1,), (1,), (2,)] == landing.rows("k")
    assert [("a.json", "read"), ("b.json", "read")] == landing.recorded()
    assert 0 == landing.run().figures["num_read_rows"]


def test_overwritten_files_are_read_again_where_that_is_allowed(landing: Landing) -> None:
    """A file whose size or time differs from the one on record is read again, and any other is not."""
    landing.put("a.json", {"k": 1, "s": 1}, at=1000)
    landing.put("b.json", {"k": 2, "s": 1}, at=1000)
    landing.run(allow_overwrites=True)
    assert 0 == landing.run(allow_overwrites=True).figures["num_read_rows"]
    landing.put("a.json", {"k": 3, "s": 1}, at=1001)
    assert 1 == landing.run(allow_overwrites=True).figures["num_read_rows"]
    landing.put("b.json", {"k": 44, "s": 1}, at=1000)
    assert 1 == landing.run(allow_overwrites=True).figures["num_read_rows"]
    assert 0 == landing.run(allow_overwrites=True).figures["num_read_rows"]
    assert [(1,), (2,), (3,), (44,)] == landing.rows("k")
    assert [("a.json", "read"), ("b.json", "read")] == landing.recorded()


def test_types_are_inferred_and_stay(landing: Landing) -> None:
    """Whole numbers, numbers, truth values, dates, times and text get their types; what is nested is JSON."""
    landing.put(
        "a.json",
        {"k": 1, "s": 1, "n": 1.5, "b": True, "d": "2026-03-01", "t": "2026-03-01T10:00:00Z", "x": "x"},
        {"k": 2, "s": 2, "n": 2, "o": {"in": 1}, "l": [1], "z": None, "h": 2**70, "m": "7", "t": None},
        {"k": 3, "s": 3, "m": 7, "d": None, "h": 1, "u": 2**63},
    )
    landing.run()
    types = {
        "k": "BIGINT",
        "s": "BIGINT",
        "n": "DOUBLE",
        "b": "BOOLEAN",
        "d": "DATE",
        "t": "TIMESTAMP",
        "x": "VARCHAR",
        "o": "JSON",
        "l": "JSON",
        "z": "VARCHAR",
        "h": "HUGEINT",
        "m": "VARCHAR",
        "u": "HUGEINT",
        "_rescued_data": "VARCHAR",
    }
    assert types == landing.types()
    landing.put("b.json", {"k": 4, "s": 4, "x": 1, "d": "2026-04-01", "z": 5, "o": "text", "n": 7})
    landing.run()
    assert types == landing.types()
    assert [(4, "1", date(2026, 4, 1), "5", '"text"', 7.0)] == [
        row for row in landing.rows("k", "x", "d", "z", "o", "n") if row[0] == 4
    ]
    assert [] == landing.rescued()
    times = [str(row[0]) for row in landing.rows("t") if row[0] is not None]
    assert ["2026-03-01 10:00:00"] == times


def test_what_does_not_fit_is_rescued(landing: Landing) -> None:
    """A value that another type would have to change is null, and stands as it came beside the path of its file."""
    landing.put("a.json", {"k": 1, "s": 1, "d": "2026-03-01", "n": 1, "b": True, "x": "a"})
    landing.run()
    file = landing.put(
        "b.json",
        {"k": 2, "s": 1, "n": 1.5},
        {"k": 3, "s": 1, "n": "12"},
        {"k": 4, "s": 1, "n": "twelve", "d": "soon"},
        {"k": 5, "s": 1, "d": "2026-03-01 12:00"},
        {"k": 6, "s": 1, "n": {"deep": ["one"]}, "x": {"deep": None}},
        {"k": 7, "s": 1, "n": 1e3, "d": None, "b": "perhaps"},
    )
    landing.run()
    kept = {row[0]: row[1:] for row in landing.rows("k", "n", "d", "b", "x")}
    assert (None, None, None, None) == kept[2]
    assert (12, None, None, None) == kept[3]
    assert (None, None, None, None) == kept[4] == kept[5]
    assert (None, None, None, '{"deep":null}') == kept[6]
    assert (1000, None, None, None) == kept[7]
    rescued = [row[0] for row in landing.rows("_rescued_data") if row[0] is not None]
    expected = [
        {"n": 1.5},
        {"n": "twelve", "d": "soon"},
        {"d": "2026-03-01 12:00"},
        {"n": {"deep": ["one"]}},
        {"b": "perhaps"},
    ]
    by_text = sorted(json.dumps({**entry, "_file_path": str(file)}, sort_keys=True) for entry in expected)
    assert by_text == sorted(json.dumps(json.loads(str(text)), sort_keys=True) for text in rescued)


@pytest.mark.parametrize(
    ("mode", "columns", "rescued"),
    [
        ("add_new_columns", ["k", "s", "_rescued_data", "new", "odd'/~\" name"], []),
        ("rescue", ["k", "s", "_rescued_data"], [{"new": "n", "odd'/~\" name": {"in": None}}]),
        ("none", ["k", "s", "_rescued_data"], []),
    ],
)
def test_new_fields(landing: Landing, mode: str, columns: list[str], rescued: list[dict[str, Any]]) -> None:
    """They become columns, are rescued, or are left out; a field that is missing is null."""
    landing.put("a.json", {"k": 1, "s": 1})
    landing.run(schema_evolution_mode=mode)
    landing.put("b.json", {"k": 2, "s": 1, "new": "n", "odd'/~\" name": {"in": None}})
    landing.put("c.json", {"k": 3, "s": 1})
    landing.run(schema_evolution_mode=mode)
    assert columns == list(landing.types())
    assert rescued == landing.rescued()
    if "new" in columns:
        assert [(1, None), (2, "n"), (3, None)] == landing.rows("k", "new")
        assert [(2, '{"in":null}')] == [row for row in landing.rows("k", columns[-1]) if row[1]]


def test_names_that_differ_in_case_are_one_column(landing: Landing) -> None:
    """The first spelling names the column; where a record has two, the second is rescued."""
    landing.put("a.json", {"K": 1, "s": 1})
    landing.run()
    landing.put("b.json", {"k": 2, "S": 1, "New": 1}, {"k": 3, "K": 4, "s": 1, "NEW": 2, "new": None})
    landing.run()
    assert ["K", "s", "_rescued_data", "New"] == list(landing.types())
    assert [(1, 1, None), (2, 1, 1), (4, 1, 2)] == landing.rows("K", "s", "New")
    assert [{"k": 3}] == landing.rescued()


def test_names_of_ours_are_rescued(landing: Landing) -> None:
    """A field that is called as a column of ours cannot be one, and is not lost."""
    reserved = "__AUTO" + "_cdc_kind"
    landing.put("a.json", {"k": 1, "s": 1, "_rescued_data": "mine", reserved: 5, "": 6, "_metadata": 7})
    landing.run(rescued_data_column="_saved", metadata=True, select="* exclude (_metadata)")
    assert ["k", "s", "_rescued_data", "_saved"] == list(landing.types())
    assert [{reserved: 5, "": 6, "_metadata": 7}] == landing.rescued("_saved")


def test_hints(landing: Landing) -> None:
    """A hinted column is there from the first run on, without files, in its type, also a struct or a list."""
    hints = (
        "k int, s bigint, at timestamp, price decimal(10,2), o struct(a int, b varchar[]), 'odd name' text"
    )
    hints = hints.replace("'", '"')
    landing.run(schema_hints=hints)
    types = {
        "k": "INTEGER",
        "s": "BIGINT",
        "at": "TIMESTAMP",
        "price": "DECIMAL(10,2)",
        "o": "STRUCT(a INTEGER, b VARCHAR[])",
        "odd name": "VARCHAR",
        "_rescued_data": "VARCHAR",
    }
    assert types == landing.types()
    landing.put(
        "a.json",
        {"k": 1, "s": 1, "at": "2026-03-01", "price": 1.23, "o": {"a": 1, "b": ["x", None]}},
        {"k": 2, "s": 1, "price": "1.234", "o": {"a": "one"}},
        {"k": 3, "s": 1, "o": {"a": 1, "c": 5}},
        {"k": 4, "s": 1, "o": [1]},
        {"k": 5, "s": 1, "o": {"b": {"x": 1}}},
        {"k": 7, "s": 1, "o": "text"},
        {"k": 6, "s": 1, "o": None, "Price": 3},
    )
    landing.run(schema_hints=hints)
    kept = {row[0]: row[1] for row in landing.rows("k", "o")}
    assert {"a": 1, "b": ["x", None]} == kept[1]
    assert kept[6] is None
    rescued = {row[0]: json.loads(str(row[1])) for row in landing.rows("k", "_rescued_data") if row[1]}
    assert {
        2: {"price": "1.234", "o": {"a": "one"}},
        3: {"o": {"a": 1, "c": 5}},
        4: {"o": [1]},
        5: {"o": {"b": {"x": 1}}},
        7: {"o": "text"},
    } == {
        key: {name: entry[name] for name in entry if name != "_file_path"} for key, entry in rescued.items()
    }
    assert ["3.00"] == [str(row[1]) for row in landing.rows("k", "price") if row[0] == 6]


def test_text_where_types_are_not_inferred(landing: Landing) -> None:
    """Every column is text but the hinted ones; what is nested is its JSON."""
    landing.put("a.json", {"k": "1", "s": 1, "d": "2026-03-01", "o": {"a": 1}})
    landing.run(infer_column_types=False, schema_hints={"s": "bigint"})
    assert {"k": "VARCHAR", "s": "BIGINT", "d": "VARCHAR", "o": "VARCHAR"}.items() <= landing.types().items()
    assert [("1", 1, "2026-03-01", '{"a":1}')] == landing.rows("k", "s", "d", "o")


def test_json_in_arrays_and_over_several_lines(landing: Landing) -> None:
    """Each file is read as what it is; one without a value has no rows."""
    landing.put("a.json", '[{"k": 1, "s": 1},', '{"k": 2, "s": 1}]')
    landing.put("b.json", "{", '"k": 3,', '"s": 1', "}", '{"k": 4, "s": 1}')
    landing.put("c.json", {"k": 5, "s": 1})
    (landing.folder / "d.json").write_text("")
    (landing.folder / "e.json").write_text("[]")
    landing.run()
    assert [(1,), (2,), (3,), (4,), (5,)] == landing.rows("k")
    assert ["a.json", "b.json", "c.json", "e.json"] == [name for name, _ in landing.recorded()]


def test_csv(landing: Landing) -> None:
    """Columns go by name, whatever their order; types are inferred; an empty file and one of names have no rows."""
    landing.put("a.csv", "k,s,zip,at", "1,1,0123,2026-03-01 10:00:00", '2,1,,"2026-03-02 10:00:00"')
    landing.put("b.csv", "S,k,extra", "1,3,true")
    (landing.folder / "c.csv").write_text("")
    landing.put("d.csv", "k,s")
    landing.run("*.csv")
    assert {
        "k": "BIGINT",
        "zip": "VARCHAR",
        "at": "TIMESTAMP",
        "extra": "BOOLEAN",
    }.items() <= landing.types().items()
    assert [(1, "0123", None), (2, None, None), (3, None, True)] == landing.rows("k", "zip", "extra")
    landing.put("e.csv", "k,s,more", "four,1,x", "5,1,y")
    landing.run("*.csv", schema_evolution_mode="rescue")
    assert [{"k": "four", "more": "x"}, {"more": "y"}] == sorted(landing.rescued(), key=str)
    assert 4 == len(landing.recorded())


def test_times_with_a_zone_are_those_in_utc(landing: Landing) -> None:
    """However the zone is written, and whatever the session's is; one that makes another date is no date."""
    landing.target.connection.execute("set timezone = 'America/New_York'")
    zones = ("", "Z", "+00:00", "+02:00", "-0530", "+02")
    landing.put("a.json", *({"k": n, "s": 1, "t": f"2026-03-01T01:00:00{z}"} for n, z in enumerate(zones)))
    landing.put("a.csv", "k,s,t", *(f"{n},1,2026-03-01 01:00:00{z}" for n, z in enumerate(zones)))
    hours = [timedelta(hours=away) for away in (0, 0, 0, -2, 5.5, -2)]
    expected = [(n, datetime.fromisoformat("2026-03-01 01:00:00") + away) for n, away in enumerate(hours)]
    for ending in ("json", "csv"):
        landing.run(f"*.{ending}", full_refresh=True)
        assert expected == landing.rows("k", "t"), ending
    midnights = ("2026-03-01T00:00:00Z", "2026-03-01T00:00:00+02:00", "2026-03-01T02:00:00+02:00")
    landing.put("b.json", *({"k": n, "s": 1, "d": value} for n, value in enumerate(midnights)))
    landing.run("b.json", full_refresh=True, schema_hints="d date")
    day = date(2026, 3, 1)
    assert [(0, day), (1, None), (2, day)] == landing.rows("k", "d")
    assert [{"d": midnights[1]}] == landing.rescued()


def test_whole_numbers_are_exact(landing: Landing) -> None:
    """Those that no integer holds are text."""
    numbers = [2**63 + 1, -(2**63) - 1, 2**70 + 1]
    landing.put("a.json", *({"k": n, "s": 1, "h": h, "x": h} for n, h in enumerate(numbers)))
    landing.put("b.json", {"k": 3, "s": 1, "x": 10**45 + 1})
    landing.run()
    assert {"h": "HUGEINT", "x": "VARCHAR"}.items() <= landing.types().items()
    assert [*((h, str(h)) for h in numbers), (None, str(10**45 + 1))] == [
        row[1:] for row in landing.rows("k", "h", "x")
    ]


@pytest.mark.parametrize("overwrites", [True, False])
@pytest.mark.parametrize("ending", ["csv", "json"])
def test_files_without_a_byte(landing: Landing, ending: str, overwrites: bool) -> None:
    """They are read when they have some; where there are no others, the first run says what it lacks."""
    rows = {
        "csv": [["k,s", "1,1"], ["k,s", "2,1"], ["k,s", "3,1"]],
        "json": [['{"k": 1, "s": 1}'], ['{"k": 2, "s": 1}'], ['{"k": 3, "s": 1}']],
    }[ending]

    def run() -> object:
        return landing.run(f"*.{ending}", allow_overwrites=overwrites).figures["num_read_rows"]

    (landing.folder / f"a.{ending}").write_text("")
    with pytest.raises(AutoCdcError, match=r"there are only empty files of .* yet, so its columns"):
        run()
    landing.put(f"b.{ending}", *rows[0])
    assert 1 == run()
    (landing.folder / f"c.{ending}").write_text("")
    assert 0 == run()
    assert [(f"b.{ending}", "read")] == landing.recorded()
    landing.put(f"a.{ending}", *rows[1])
    landing.put(f"c.{ending}", *rows[2])
    assert 2 == run()
    assert 0 == run()
    assert [(1, 1), (2, 1), (3, 1)] == landing.rows("k", "s")


def test_a_field_that_a_record_has_twice(landing: Landing) -> None:
    """The first counts and the others are rescued, whether or not the record has all fields, and nested ones too."""
    landing.put("a.json", {"k": 0, "s": 1, "city": "x", "o": {}})
    landing.run()
    landing.put(
        "b.json",
        '{"k": 1, "s": 1, "city": "a", "city": "b", "o": null}',
        '{"k": 2, "s": 1, "s": null}',
        '{"o": {"in": 1}, "k": 3, "s": 1, "o": {"in": 2}}',
        '{"k": 4, "s": 1, "new~/": 5, "new~/": {"in": 6}}',
        '{"s": 1, "k": 5, "o": {"in": 1, "in": 2}}',
    )
    landing.run(schema_evolution_mode="rescue")
    assert ["x", "a", None, None, None, None] == [row[1] for row in landing.rows("k", "city")]
    rescued = [str(row[1]) for row in landing.rows("k", "_rescued_data") if row[1]]
    members = ['"city":"b"', '"s":null', '"o":{"in":2}', '"new~/":5,"new~/":{"in":6}']
    assert ["{" + member for member in members] == [text.partition(',"_file_path"')[0] for text in rescued]
    assert ['{"in":1,"in":2}'] == [row[1] for row in landing.rows("k", "o") if row[0] == 5]


def test_csv_in_folders_with_values(landing: Landing) -> None:
    """What the name of a folder says is a column where the path has it so, and never by what is read together."""
    landing.put("day=2026-03-01/shop=7/a.csv", "k,s", "1,1")
    landing.run("day=*/shop=*/*.csv")
    assert [(1, 1, date(2026, 3, 1), 7)] == landing.rows("k", "s", "day", "shop")
    landing.run("**/*.csv", full_refresh=True)
    assert ["k", "s", "_rescued_data"] == list(landing.types())


def test_csv_as_it_is_told(landing: Landing) -> None:
    """Without names, with other marks, and lines to leave out."""
    landing.put("a.txt", "made by hand", "# no data", "1;1;'a;b'", "2;1;NULL")
    options: dict[str, Any] = {"header": False, "delimiter": ";", "quote": "'", "escape": "'", "comment": "#"}
    landing.run(
        "*.txt",
        select="column0 as k, column1 as s, column2 as v",
        format="csv",
        null_value="NULL",
        skip_rows=1,
        **options,
    )
    assert [(1, 1, "a;b"), (2, 1, None)] == landing.rows()


def test_parquet(landing: Landing) -> None:
    """Columns have the types of the files; where a later file has another, its values fit or are rescued."""
    connection = landing.target.connection
    file = str(landing.folder / "{}.parquet")
    connection.execute(f"copy (select 1 as k, 1 as s, {{'a': 1}} as o) to '{file.format('a')}'")
    landing.run("*.parquet")
    assert {"k": "INTEGER", "s": "INTEGER", "o": "STRUCT(a INTEGER)"}.items() <= landing.types().items()
    rows = "(values (2, 1), (5000000000, 1)) as rows(k, s)"
    connection.execute(f"copy (select k, s, 'x' as new from {rows}) to '{file.format('b')}'")
    landing.run("*.parquet")
    assert [(1, None), (2, "x"), (None, "x")] == landing.rows("k", "new")
    assert [{"k": 5000000000}] == landing.rescued()


def test_folders(landing: Landing) -> None:
    """A folder is its files, and those inside if that is said; what is hidden or unfinished is not read."""
    landing.put("a.json", {"k": 1, "s": 1})
    landing.put("deep/er/b.json", {"k": 2, "s": 1})
    landing.put(".c.json", "{")
    landing.put("_d.json", "{")
    landing.put("e.csv", "k,s", "9,1")
    options: dict[str, Any] = {"format": "json", "path_glob_filter": "*.json"}
    landing.run("", **options)
    assert [(1,)] == landing.rows("k")
    landing.run("", recursive_file_lookup=True, **options)
    assert [(1,), (2,)] == landing.rows("k")
    assert [("a.json", "read"), ("b.json", "read")] == landing.recorded()


def test_odd_names_of_files(landing: Landing) -> None:
    """Marks of patterns, quotes and blanks in a name stand for themselves."""
    odd = ["a[1].json", "a1.json", "b*.json", "c?.json", "it's.json", " d e .json", "ünï{x}.json", "%41.json"]
    for number, name in enumerate(odd):
        landing.put(name, {"k": number, "s": 1})
    landing.run(select="k, s, _metadata.file_name as name", metadata=True)
    assert sorted(enumerate(odd)) == sorted((row[0], row[1]) for row in landing.rows("k", "name"))
    assert (
        0 == landing.run(select="k, s, _metadata.file_name as name", metadata=True).figures["num_read_rows"]
    )


def test_metadata(landing: Landing) -> None:
    """Path, name, size and time of a row's file."""
    file = landing.put("a.json", {"k": 1, "s": 1}, at=1000)
    landing.run(select="k, s, unnest(_metadata)", metadata=True)
    columns = ("file_path", "file_name", "file_size", "file_modification_time")
    ((path, name, size, time),) = landing.rows(*columns)
    assert (str(file), "a.json", file.stat().st_size) == (path, name, size)
    assert 1000 == time.timestamp()  # type: ignore[attr-defined]


def test_which_files(landing: Landing) -> None:
    """Those of a time; so many in a run, the oldest first."""
    for number in range(6):
        landing.put(f"{9 - number}.json", {"k": number, "s": 1}, at=1000 + number)
    options: dict[str, Any] = {
        "modified_after": "1970-01-01 00:16:40+00:00",
        "modified_before": "1970-01-01T00:16:45Z",
        "max_files_per_trigger": 3,
    }
    landing.run(**options)
    assert [(1,), (2,), (3,)] == landing.rows("k")
    landing.run(**options)
    assert [(1,), (2,), (3,), (4,)] == landing.rows("k")
    assert 0 == landing.run(**options).figures["num_read_rows"]
    landing.run()
    assert [(0,), (1,), (2,), (3,), (4,), (5,)] == landing.rows("k")


def test_existing_files_left_out(landing: Landing) -> None:
    """The first run takes their columns and no row; later ones read what comes."""
    landing.put("a.json", {"k": 1, "s": 1, "v": "x"})
    assert 0 == landing.run(include_existing_files=False).figures["num_read_rows"]
    assert ["k", "s", "v", "_rescued_data"] == list(landing.types())
    landing.put("b.json", {"k": 2, "s": 1})
    landing.run(include_existing_files=False)
    assert [(2,)] == landing.rows("k")
    assert [("a.json", "existing"), ("b.json", "read")] == landing.recorded()


def test_corrupt_files_left_out(landing: Landing) -> None:
    """They are named in a warning, once; once they are whole they are read."""
    landing.put("a.json", {"k": 1, "s": 1})
    landing.put("b.json", {"k": 2, "s": 1}, '{"k": 3')
    landing.put("c.json", '[{"k": 4, "s": 1}, {"k"')
    landing.put("d.json", "5")
    (landing.folder / "e.json").write_bytes(b'{"k": "\xff\xfe"}')
    said = landing.run(ignore_corrupt_files=True).warnings
    assert ["4 files cannot be read"] == [text.partition(": ")[2][:22] for text in said]
    # Where the run is in a transaction by now, which an error would end, the reader is not asked what is wrong.
    in_words = "b.json (DuckDB says: Invalid Input Error: Malformed JSON in file" in said[0]
    assert in_words == (chosen() == "duckdb")
    assert said[0].endswith("\"target__auto_cdc_files\", state is 'skipped' for such files")
    assert [(1,)] == landing.rows("k")
    assert [("a.json", "read"), *((f"{name}.json", "skipped") for name in "bcde")] == landing.recorded()
    assert [] == landing.run(ignore_corrupt_files=True).warnings
    landing.put("b.json", {"k": 2, "s": 1}, {"k": 3, "s": 1})
    assert [] == landing.run(ignore_corrupt_files=True).warnings
    assert [(1,), (2,), (3,)] == landing.rows("k")


READABLE = {
    "bom": b'\xef\xbb\xbf{"k": 1, "s": 1}\n',
    "side_by_side": b'{"k": 1, "s": 1}{"k": 2, "s": 1}  {"k": 3, "s": 1}',
    "pretty": b'{\n  "k": 1,\n  "s": 1,\n  "o": {"in": "} {"}\n}\n{\n  "k": 2,\n  "s": 1\n}\n',
    "array": b'\n[\n{"k": 1, "s": 1},\n{"k": 2, "s": 1}\n]\n',
    "lines": b'{"k": 1, "s": 1}\r\n\r\n{"k": 2, "s": 1}\r\n',
    "blank": b" \n",
    "packed": gzip.compress(b'{"k": 1, "s": 1}'),
}


@pytest.mark.parametrize("in_transaction", [True, False])
@pytest.mark.parametrize("name", READABLE)
def test_what_can_be_read_is_not_corrupt(landing: Landing, name: str, in_transaction: bool) -> None:
    """A file that is read without ignore_corrupt_files is read with it, also after a hook opened a transaction."""
    landing.put("a.json", {"k": 0, "s": 0})
    (landing.folder / f"b.json{'.gz' if name == 'packed' else ''}").write_bytes(READABLE[name])
    landing.run("*.json*", format="json")
    expected = landing.rows("k")
    files = read_files(f"{landing.folder}/*.json*", format="json", ignore_corrupt_files=True)
    connection = landing.target.connection
    if in_transaction:
        connection.execute("begin")
    plan = landing.target.plan(APPENDS, sql=f"select * from {files} as files", full_refresh=True)
    if in_transaction:
        connection.execute("commit")
    assert () == tuple(landing.target.execute(plan).warnings)
    assert expected == landing.rows("k")


def test_corrupt_files_do_not_end_a_transaction(landing: Landing) -> None:
    """What a hook did before is kept, and the files are left out as well."""
    landing.put("a.json", {"k": 1, "s": 1})
    landing.put("b.json", '{"k": 2, "s": 1}', '{"k": 3')
    files = read_files(f"{landing.folder}/*.json", ignore_corrupt_files=True)
    connection = landing.target.connection
    connection.execute("begin")
    connection.execute("create table hooked as select 1 as one")
    plan = landing.target.plan(APPENDS, sql=f"select * from {files} as files")
    connection.execute("commit")
    (said,) = landing.target.execute(plan).warnings
    assert "1 file cannot be read" in said
    assert [(1,)] == connection.execute("select one from hooked").fetchall()
    assert [(1,)] == landing.rows("k")


def test_many_corrupt_files(landing: Landing) -> None:
    """Each is found, wherever it stands, a compressed one too, and everything else is read."""
    for number in range(20):
        whole = f'{{"k": {number}, "s": 1}}'.encode()
        half = whole[:-1] if number in {0, 3, 4, 11, 19} else whole
        (landing.folder / f"{number:02}.json").write_bytes(half)
    (landing.folder / "packed.json.gz").write_bytes(gzip.compress(b'{"k": 20, "s": 1}' * 1000)[:-20])
    (said,) = landing.run("*.json*", format="json", ignore_corrupt_files=True).warnings
    assert "6 files cannot be read" in said
    assert [n for n in range(20) if n not in {0, 3, 4, 11, 19}] == [row[0] for row in landing.rows("k")]
    skipped = [name for name, state in landing.recorded() if state == "skipped"]
    assert ["00.json", "03.json", "04.json", "11.json", "19.json", "packed.json.gz"] == skipped


def test_corrupt_parquet_left_out(landing: Landing) -> None:
    """A file that lacks its end, or never was one."""
    for name in "abc":
        landing.target.connection.execute(
            f"copy (select 1 as k, 1 as s) to '{landing.folder}/{name}.parquet'"
        )
    whole = (landing.folder / "b.parquet").read_bytes()
    (landing.folder / "b.parquet").write_bytes(whole[: len(whole) // 2])
    (landing.folder / "c.parquet").write_bytes(b"")
    assert 1 == landing.run("*.parquet", ignore_corrupt_files=True).figures["num_read_rows"]
    (landing.folder / "b.parquet").write_bytes(whole)
    assert 1 == landing.run("*.parquet", ignore_corrupt_files=True).figures["num_read_rows"]


def test_whole_dumps_are_read_whole(landing: Landing) -> None:
    """In a snapshot every run reads every file, and remembers none; what is gone from the folder is deleted."""
    landing.config = {"materialized": "auto_cdc_snapshot", "keys": ["k"], "snapshot_version": "auto"}
    landing.put("a.json", {"k": 1, "s": 1})
    landing.put("b.json", {"k": 2, "s": 1})
    landing.run(select="k, s")
    landing.run(select="k, s")
    (landing.folder / "a.json").unlink()
    landing.put("b.json", {"k": 2, "s": 2}, {"k": 3, "s": 1})
    landing.run(select="k, s")
    assert [(2, 2), (3, 1)] == landing.rows()
    tables = landing.target.connection.execute("select table_name from duckdb_tables()").fetchall()
    assert ("target__auto_cdc_files",) not in tables


@pytest.mark.parametrize(
    "config",
    [{"materialized": "recomputed_table"}, {"materialized": "replace_where", "replace_where": "k > 0"}],
)
def test_what_is_computed_anew_reads_whole(landing: Landing, config: dict[str, object]) -> None:
    """Every run reads every file; what is gone from the folder goes."""
    landing.config = config
    landing.put("a.json", {"k": 1})
    landing.run()
    landing.put("b.json", {"k": 2})
    landing.run()
    assert [(1,), (2,)] == landing.rows("k")
    (landing.folder / "a.json").unlink()
    landing.run()
    assert [(2,)] == landing.rows("k")


def test_a_part_of_the_source_leaves_no_record(landing: Landing) -> None:
    """--empty reads nothing, and the next run reads all."""
    landing.put("a.json", {"k": 1, "s": 1})
    landing.run(partial="--empty")
    assert [] == landing.rows()
    landing.put("b.json", {"k": 2, "s": 1})
    landing.run()
    assert [(1,), (2,)] == landing.rows("k")


def test_a_sample_of_the_source_is_no_beginning(landing: Landing) -> None:
    """A target that was built under --sample has to be rebuilt: what it read would come twice."""
    landing.put("a.json", {"k": 1, "s": 1})
    landing.run(partial="--sample")
    with pytest.raises(
        AutoCdcError, match="was built with a part of it; rebuild the target with --full-refresh"
    ):
        landing.run()
    landing.run(full_refresh=True)
    assert [(1,)] == landing.rows("k")


@pytest.mark.parametrize("scd_type", [1, 2, "bitemporal"])
def test_events_from_files(landing: Landing, scd_type: object) -> None:
    """Late files find their place, and what a model filters out counts as read."""
    landing.config = {
        "keys": ["k"],
        "sequence_by": "s",
        "apply_as_deletes": "op = 'D'",
        "stored_as_scd_type": scd_type,
        "except_column_list": ["op", "_rescued_data"],
    }
    if scd_type == "bitemporal":
        landing.config = {**landing.config, "system_sequence_by": "s"}
    landing.put("b.json", {"k": 1, "s": 5, "v": "new", "op": "U"}, {"k": None, "s": 5})
    sql = f"select * from {read_files(f'{landing.folder}/*.json')} as files where k is not null"
    landing.target.run(landing.config, sql=sql)
    landing.put("a.json", {"k": 1, "s": 3, "v": "old", "op": "U"}, {"k": 2, "s": 4, "op": "D"})
    outcome = landing.target.run(landing.config, sql=sql)
    assert 2 == outcome.figures["num_read_rows"]
    newest = [
        row
        for row in landing.target.rows()
        if row.get("__END_AT") is None and row.get("__SYSTEM_END_AT") is None
    ]
    assert ["new"] == [row["v"] for row in newest]
    assert 0 == landing.target.run(landing.config, sql=sql).figures["num_read_rows"]


def test_two_reads_in_one_model(landing: Landing) -> None:
    """Each has a name, columns and a record of its own; one that is added later reads all that is there."""
    landing.put("a.json", {"k": 1, "s": 1})
    landing.put("b.csv", "k,s", "2,1")
    json_files = read_files(f"{landing.folder}/*.json", name="lines")
    csv_files = read_files(f"{landing.folder}/*.csv", name="tables")
    once = f"select k, s from {json_files} as files"
    both = f"{once}\nunion all\nselect k, s from {csv_files} as files"
    landing.target.run(APPENDS, sql=once)
    landing.put("c.json", {"k": 3, "s": 1})
    assert 2 == landing.target.run(APPENDS, sql=both).figures["num_read_rows"]
    assert 0 == landing.target.run(APPENDS, sql=both).figures["num_read_rows"]
    assert [(1, 1), (2, 1), (3, 1)] == landing.rows()
