"""`read_files`: what is refused, and that a refused run leaves everything as it was. DuckDB only, without dbt."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dbt_auto_cdc import bridge, reads
from dbt_auto_cdc.errors import AutoCdcError
from tests.databases import chosen, connect_to_duckdb, here
from tests.file_reads import read_files
from tests.scenarios.test_files import APPENDS, Landing

pytestmark = pytest.mark.only_on("duckdb")


@pytest.fixture
def landing(tmp_path: Path) -> Iterator[Landing]:
    with connect_to_duckdb() as connection:
        yield Landing(tmp_path / "landing", connection)


@pytest.mark.parametrize(
    ("path", "options", "said"),
    [
        (None, {}, "read_files is given None; write a folder, a file or a pattern such as 'landing/*.json'"),
        (
            "landing",
            {},
            "read_files cannot tell the format of 'landing'; set format to avro or csv or json or parquet",
        ),
        ("a.json", {"formt": "json"}, "read_files has no option formt; did you mean format?"),
        (
            "a.json",
            {"max_bytes_per_trigger": 1},
            "max_bytes_per_trigger; did you mean max_files_per_trigger?",
        ),
        ("a.json", {"format": "jsn"}, "read_files: format is 'jsn'; write json"),
        ("a.json", {"schema_evolution_mode": "addNewColumns"}, "write add_new_columns"),
        ("a.json", {"header": True}, "read_files: header is for format csv, and this is json; leave it out"),
        ("a.json", {"schema_hints": "id"}, "schema_hints is 'id'; write columns with their types"),
        ("a.json", {"schema_hints": "id int, ID int"}, "schema_hints names id more than once"),
        (
            "a.json",
            {"schema_hints": "_Rescued_data int"},
            "schema_hints names _Rescued_data, and read_files has",
        ),
        ("a.json", {"schema_hints": "_metadata int"}, "schema_hints names _metadata, and read_files has"),
        ("a.json", {"schema_hints": {"__auto_cdc" + "_run": "int"}}, "has a column of that name itself"),
        ("a.json", {"allow_overwrites": "yes"}, "allow_overwrites is 'yes'; write true or false"),
        ("a.json", {"max_files_per_trigger": 0}, "write a whole number above zero"),
        ("a.json", {"modified_after": "soon"}, "modified_after is 'soon'; write a time such as"),
        (
            "a.json",
            {"modified_after": "2026-01-02", "modified_before": datetime(2026, 1, 1)},  # noqa: DTZ001
            "no file is later and earlier",
        ),
        ("a.json", {"rescued_data_column": "__auto" + "_cdc_x"}, "names that begin so are reserved"),
        ("a.csv", {"ignore_corrupt_files": True}, "ignore_corrupt_files does not go with format csv"),
        (
            "a.csv",
            {"options": {"columns": {}}},
            "options has 'columns', which a reader of csv is not told here",
        ),
        ("a.csv", {"options": {"strict": False}}, "did you mean strict_mode?"),
        ("a.csv", {"options": "strict_mode"}, "options is 'strict_mode'; write names with values"),
    ],
)
def test_arguments(path: object, options: dict[str, Any], said: str) -> None:
    """What is misspelt or makes no sense is refused with what to write instead, before anything is read."""
    with pytest.raises(AutoCdcError) as refused:
        read_files(path, **options)
    assert said in str(refused.value)


def test_all_wrong_arguments_are_told_at_once() -> None:
    """Also one without a name."""
    with pytest.raises(AutoCdcError) as refused:
        read_files("a.json", "json", allow_overwrite=True, format="xml")
    assert 3 == len(refused.value.problems)
    assert "read_files has 'json' without a name" in refused.value.problems[-1]


def test_engines_that_read_no_files() -> None:
    """Refused when it is to run, with what to do instead."""
    with pytest.raises(
        AutoCdcError, match=r"read_files is for DuckDB, and PostgreSQL reads no files in SQL; load"
    ):
        bridge.EXPORTS["read_files"](
            model="m",
            adapter_type="postgres",
            path="a.json",
            options={},
            others=(),
            before=[],
            looks=True,
            ask=lambda _: [],
        )


def test_where_all_files_are_read() -> None:
    """Options about what was read make no sense where nothing is remembered."""
    (read,) = reads.cut(read_files("a.json", max_files_per_trigger=1))
    assert [] == reads.problems_of([read], "auto_cdc")
    for materialized in ("table", "view", "auto_cdc_snapshot", "replace_where", "recomputed_table"):
        (problem,) = reads.problems_of([read], materialized)
        assert f"materialized as {materialized} reads all files in every run" in problem


def refused(landing: Landing, pattern: str = "*.json", **options: Any) -> str:
    """Return why a run is refused, and see that it left nothing."""
    tables = "select table_name from duckdb_tables() where not temporary order by all"
    connection = landing.target.connection
    before = connection.execute(tables).fetchall()
    content = [connection.execute(f'select * from "{name}" order by all').fetchall() for (name,) in before]
    with pytest.raises(AutoCdcError) as error:
        landing.run(pattern, **options)
    assert before == connection.execute(tables).fetchall()
    after = [connection.execute(f'select * from "{name}" order by all').fetchall() for (name,) in before]
    assert content == after
    return str(error.value)


def test_no_files_yet(landing: Landing) -> None:
    """A first run says what to do; with hints it builds the table, and later runs without files go well."""
    said = refused(landing)
    assert f"no file of {landing.folder}/*.json is there yet" in said
    assert "schema_hints='id bigint, ...'" in said
    assert 0 == landing.run(schema_hints="k int, s int").figures["num_read_rows"]
    assert 0 == landing.run(schema_hints="k int, s int").figures["num_read_rows"]


def test_only_files_that_cannot_be_read(landing: Landing) -> None:
    """A first run that leaves all of them out knows no columns, and says what is wrong with one."""
    landing.put("a.json", '{"k": 1')
    said = refused(landing, ignore_corrupt_files=True)
    assert "can be read yet, for example" in said
    # In a transaction, which a DuckLake is in by now, the reader is not asked what is wrong: that would end it.
    assert ("a.json (DuckDB says: Invalid Input Error: Malformed JSON" in said) == (chosen() == "duckdb")


def test_what_is_not_the_file_is_told(landing: Landing) -> None:
    """A file is corrupt where the reader refuses what it holds, and not where the reader is told nonsense."""
    landing.put("a.json", {"k": 1, "s": 1})
    said = refused(landing, ignore_corrupt_files=True, options={"format": "nonsense"})
    assert "Binder Error" in said


@pytest.mark.parametrize("full_refresh", [True, False])
def test_a_table_of_the_name_of_the_files(landing: Landing, full_refresh: bool) -> None:
    """One that is not ours is refused, and left as it is."""
    landing.put("a.json", {"k": 1, "s": 1})
    landing.run()
    landing.target.connection.execute(
        "create or replace table target__auto_cdc_files as select 'files' as name"
    )
    said = refused(landing, full_refresh=full_refresh)
    assert '"target__auto_cdc_files" was not made by auto_cdc' in said


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize(
    "content", ['{"k": 1, "s": 1}\n{"k": 2', '[{"k": 1, "s": 1}, {', '{"k": 1, "s": 1}\nnull', "[1]"]
)
def test_a_corrupt_file_is_named(landing: Landing, content: str, before: bool) -> None:
    """The run is refused and leaves nothing; once the file is mended, the next run reads it and what came with it."""
    landing.put("a.json", {"k": 0, "s": 1})
    if before:
        landing.run()
    (landing.folder / "half.json").write_text(content)
    landing.put("z.json", {"k": 3, "s": 1})
    said = refused(landing)
    assert "half.json" in said
    assert "mend it or take it away" in said
    landing.put("half.json", {"k": 1, "s": 1}, {"k": 2, "s": 1})
    landing.run()
    assert [(0,), (1,), (2,), (3,)] == landing.rows("k")


@pytest.mark.parametrize("content", ["k,s\n1,1\n2", 'k,s\n1,1\n2,"1', "k,s\n1,1,1\n"])
def test_a_csv_file_that_is_cut_short(landing: Landing, content: str) -> None:
    """A line with more or fewer values than names is no line to guess at."""
    landing.put("a.csv", "k,s", "0,1")
    landing.run("*.csv")
    (landing.folder / "b.csv").write_text(content)
    assert "cannot be read; mend it" in refused(landing, "*.csv")


def test_a_parquet_file_that_is_cut_short(landing: Landing) -> None:
    """DuckDB's own words name it."""
    landing.target.connection.execute(f"copy (select 1 as k, 1 as s) to '{landing.folder}/a.parquet'")
    file = landing.folder / "b.parquet"
    file.write_bytes((landing.folder / "a.parquet").read_bytes()[:-10])
    assert "b.parquet" in refused(landing, "*.parquet")


def test_avro_needs_its_extension(landing: Landing) -> None:
    """Where it cannot be loaded, that is what is said."""
    (landing.folder / "a.avro").write_bytes(b"Obj\x01")
    assert "avro" in refused(landing, "*.avro").replace("a.avro", "").replace("*.avro", "")


def test_a_file_that_goes_away(landing: Landing) -> None:
    """Between the look and the read: the run says so, and the next one reads what is there."""
    landing.put("a.json", {"k": 1, "s": 1})
    gone = landing.put("b.json", {"k": 2, "s": 1})
    plan = landing.target.plan(
        APPENDS, sql=f"select * from {read_files(f'{landing.folder}/*.json')} as files"
    )
    gone.unlink()
    with pytest.raises(AutoCdcError, match=r"a file went away while it was read; run again; .*b\.json"):
        landing.target.execute(plan)
    landing.run()
    assert [(1,)] == landing.rows("k")


@pytest.mark.skipif(duckdb.__version__ < "2", reason="ignore_missing_files came with DuckDB 2.0")
def test_a_file_that_goes_away_may(landing: Landing) -> None:
    """Where ignore_missing_files is set, the run goes on."""
    landing.put("a.json", {"k": 1, "s": 1})
    gone = landing.put("b.json", {"k": 2, "s": 1})
    files = read_files(f"{landing.folder}/*.json", ignore_missing_files=True)
    plan = landing.target.plan(APPENDS, sql=f"select * from {files} as files")
    gone.unlink()
    landing.target.execute(plan)
    assert [(1,)] == landing.rows("k")


def test_new_fields_that_are_not_wanted(landing: Landing) -> None:
    """All are named; a hint lets one in."""
    landing.put("a.json", {"k": 1, "s": 1})
    landing.run(schema_evolution_mode="fail_on_new_columns")
    landing.put("b.json", {"k": 2, "s": 1, "x": 1, "y": 1})
    said = refused(landing, schema_evolution_mode="fail_on_new_columns")
    assert "the files have 2 new fields, x, y, and schema_evolution_mode is fail_on_new_columns" in said
    landing.run(schema_evolution_mode="fail_on_new_columns", schema_hints="x int, y int")
    assert [(1, None), (2, 1)] == landing.rows("k", "x")


def test_a_hint_of_no_type(landing: Landing) -> None:
    """The engine says which."""
    landing.put("a.json", {"k": 1, "s": 1})
    said = refused(landing, schema_hints="k nothing")
    assert here("schema_hints has a type that DuckDB does not know") in said


def test_what_was_remembered_is_gone(landing: Landing) -> None:
    """Without the table of files every one would be read again: refused, as is a target that is gone."""
    landing.put("a.json", {"k": 1, "s": 1})
    landing.run()
    landing.target.connection.execute("alter table target__auto_cdc_files rename to kept")
    said = refused(landing)
    assert "target__auto_cdc_files" in said
    assert "--full-refresh" in said
    landing.target.connection.execute("alter table kept rename to target__auto_cdc_files")
    landing.target.connection.execute("drop table target")
    assert "run with --full-refresh" in refused(landing)


def test_two_reads_need_two_names() -> None:
    """What was read is remembered under the name."""
    both = [*reads.cut(read_files("a.json")), *reads.cut(read_files("b.json"))]
    (problem,) = reads.problems_of(both, "auto_cdc")
    assert "2 reads are called files" in problem
