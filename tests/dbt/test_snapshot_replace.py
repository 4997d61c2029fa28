"""`auto_cdc_snapshot`, `replace_using` and `replace_where` as models of a dbt project, end to end.

What the tables hold is tested elsewhere; here they only show that dbt's part was done.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

import dbt.version
import pytest

from tests.dbt_project import Project

pytestmark = pytest.mark.dbt

with_samples = pytest.mark.skipif(
    dbt.version.__version__.split(".")[:2] in (["1", "8"], ["1", "9"]), reason="--sample came with dbt 1.10"
)

SOURCES = """
sources:
  - name: raw
    schema: raw
    tables: [{name: dump}]
"""
DUMP = "select * from {{ source('raw', 'dump') }}"
FIRST = [(1, "Oslo", 1), (2, "Rome", 1)]
SECOND = [(1, "Kiel", 2), (3, "Bari", 2)]
HISTORY = "select id, city, __START_AT, __END_AT from {} order by id, __START_AT"
AFTER_FIRST = [(1, "Oslo", 1, None), (2, "Rome", 1, None)]
AFTER_SECOND = [(1, "Oslo", 1, 2), (1, "Kiel", 2, None), (2, "Rome", 1, 2), (3, "Bari", 2, None)]
OPTIONS: dict[str, dict[str, object]] = {
    "auto_cdc_snapshot": {"keys": ["id"], "snapshot_version": "taken", "stored_as_scd_type": 2},
    "replace_using": {"replace_using": ["id"], "sequence_by": "taken"},
    "replace_where": {"replace_where": "id <= 2"},
}


@pytest.fixture
def shop(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Give a project with a source that is dumped, and its first dump."""
    monkeypatch.chdir(project.root)
    project.write("models/_sources.yml", SOURCES)
    project.execute("create schema raw; create table raw.dump (id integer, city varchar, taken integer)")
    arrive(project, FIRST)
    return project


def arrive(project: Project, rows: list[tuple[Any, ...]]) -> None:
    """Put another dump in the place of the one before."""
    project.execute("delete from raw.dump")
    for row in rows:
        project.execute("insert into raw.dump values (?, ?, ?)", row)


def write_model(
    project: Project, materialized: str, name: str = "users", *, sql: str = DUMP, **config: object
) -> None:
    """Write a model; `config` comes on top of what its materialization needs."""
    options = {"materialized": materialized, **OPTIONS[materialized], **config}
    written = ", ".join(f"{key}={value!r}" for key, value in options.items() if value is not None)
    project.write(f"models/{name}.sql", f"{{{{ config({written}) }}}}\n{sql}\n")


def rows(project: Project, table: str = "users") -> list[tuple[Any, ...]]:
    return project.query(f"select * from {table} order by all")


def companion(project: Project, table: str = "users") -> list[tuple[Any, ...]]:
    return project.query(f"select * from {table}__auto_cdc order by all")


def figures(project: Project, name: str = "users") -> dict[str, int]:
    """Return the figures of the last command as run_results.json has them."""
    response = project.responses[name]
    return {key: value for key, value in response.items() if key.startswith("num_")}


# -- Run, run again, rebuild, --empty ----------------------------------------------------------------------------------


def test_snapshots(shop: Project) -> None:
    """The second dump ends what it lacks; the same again changes nothing; a rebuilt target starts with the last."""
    write_model(shop, "auto_cdc_snapshot")
    shop.succeed("run")
    assert AFTER_FIRST == shop.query(HISTORY.format("users"))
    arrive(shop, SECOND)
    shop.succeed("run")
    assert AFTER_SECOND == shop.query(HISTORY.format("users"))
    assert "AUTO CDC 4 upserted, 0 deleted, 2 read in" in shop.log
    assert 4 == figures(shop)["num_upserted_rows"]

    shop.succeed("run")
    assert AFTER_SECOND == shop.query(HISTORY.format("users"))
    assert "AUTO CDC 0 upserted, 0 deleted, 2 read, 1 skipped in" in shop.log
    assert "not above the last one applied" not in shop.log
    assert (0, 1) == (figures(shop)["num_upserted_rows"], figures(shop)["num_skipped_versions"])

    shop.succeed("run", "--full-refresh")
    assert [(1, "Kiel", 2, None), (3, "Bari", 2, None)] == shop.query(HISTORY.format("users"))


def test_a_snapshot_read_once(shop: Project) -> None:
    """Later dumps are not looked at until a full refresh; a run that reads a part of the source does not count."""
    write_model(shop, "auto_cdc_snapshot", once=True, stored_as_scd_type=1)
    shop.succeed("run", "--empty")
    assert [] == rows(shop)
    shop.succeed("run")
    arrive(shop, SECOND)
    shop.succeed("run")
    assert [(1, "Oslo"), (2, "Rome")] == rows(shop)
    assert "AUTO CDC 0 upserted, 0 deleted, 0 read in" in shop.log
    shop.execute("drop table users")
    assert "flow snapshot was read once" in shop.fail("run")
    shop.succeed("run", "--full-refresh")
    assert [(1, "Kiel"), (3, "Bari")] == rows(shop)


def test_the_latest_snapshot(shop: Project) -> None:
    """SCD type 1: rows written and rows removed are counted."""
    write_model(shop, "auto_cdc_snapshot", stored_as_scd_type=1)
    shop.succeed("run")
    arrive(shop, SECOND)
    shop.succeed("run")
    assert [(1, "Kiel"), (3, "Bari")] == rows(shop)
    assert "AUTO CDC 2 upserted, 1 deleted, 2 read in" in shop.log


def test_replace_using(shop: Project) -> None:
    """Newer rows replace those of their key, late ones are counted, the same rows again change nothing."""
    write_model(shop, "replace_using")
    shop.succeed("run")
    arrive(shop, [(1, "Kiel", 2), (1, "Bari", 2), (2, "late", 0)])
    shop.succeed("run")
    expected = [(1, "Bari", 2), (1, "Kiel", 2), (2, "Rome", 1)]
    assert expected == rows(shop)
    assert "AUTO CDC 2 upserted, 1 deleted, 3 read, 1 late in" in shop.log
    assert (2, 1) == (figures(shop)["num_upserted_rows"], figures(shop)["num_deleted_rows"])
    shop.succeed("run")
    assert expected == rows(shop)
    shop.succeed("run", "--full-refresh")
    assert [*expected[:2], (2, "late", 0)] == rows(shop)


def test_replace_where(shop: Project) -> None:
    """The range is replaced, rows outside of it stay unless the target is rebuilt."""
    write_model(shop, "replace_where")
    shop.succeed("run")
    shop.execute("insert into users values (9, 'hand', 9), (2, 'hand', 9)")
    arrive(shop, [(1, "Kiel", 2), (8, "outside", 2)])
    shop.succeed("run")
    assert [(1, "Kiel", 2), (9, "hand", 9)] == rows(shop)
    assert "AUTO CDC 1 upserted, 3 deleted, 2 read in" in shop.log
    shop.succeed("run")
    assert (0, 0) == (figures(shop)["num_upserted_rows"], figures(shop)["num_deleted_rows"])
    shop.succeed("run", "--full-refresh")
    assert [(1, "Kiel", 2)] == rows(shop)


@pytest.mark.parametrize("materialized", list(OPTIONS))
def test_empty_builds_a_typed_table_without_rows(shop: Project, materialized: str) -> None:
    """The first run with --empty makes target and companion; the next one applies what there is."""
    write_model(shop, materialized)
    shop.succeed("run", "--empty")
    assert [] == rows(shop)
    assert ["INTEGER", "VARCHAR"] == [row[1] for row in shop.query("describe users")][:2]
    shop.succeed("run")
    assert ["Oslo", "Rome"] == sorted(row[1] for row in rows(shop))


VERSIONS = ["taken", "date '2026-11-29'", "auto"]


@pytest.mark.parametrize("flag", ["--empty", pytest.param("--sample=1 day", marks=with_samples)])
@pytest.mark.parametrize(
    ("materialized", "config"),
    [
        *(("auto_cdc_snapshot", {"snapshot_version": version}) for version in VERSIONS),
        ("auto_cdc_snapshot", {"snapshot_version": "auto", "stored_as_scd_type": 1}),
        ("replace_using", {}),
        ("replace_where", {}),
    ],
    ids=str,
)
def test_a_part_of_the_source_changes_no_row(
    shop: Project, materialized: str, config: dict[str, Any], flag: str
) -> None:
    """Whatever may be deleted: with --empty and --sample nothing is, and the next whole run goes on."""
    if materialized == "auto_cdc_snapshot":
        config = {**config, "allow_empty_snapshot": True}
    write_model(shop, materialized, **config)
    shop.succeed("run")
    before = rows(shop), companion(shop)
    arrive(shop, SECOND[:1])
    shop.succeed("run", flag)
    assert before == (rows(shop), companion(shop))
    assert flag.startswith("--sample") == ("no row of the target was changed" in shop.log)
    if config.get("snapshot_version") != VERSIONS[1]:
        shop.succeed("run")
        assert "Kiel" in {row[1] for row in rows(shop)}


@with_samples
def test_a_first_run_of_a_sample_says_so(shop: Project) -> None:
    """Rows outside of the sample are missing, and dbt shows how to get them."""
    shop.write(
        "models/_sources.yml", SOURCES.replace("{name: dump}", "{name: dump, config: {event_time: seen}}")
    )
    now = datetime.now()  # noqa: DTZ005 - dbt samples by this machine's clock
    shop.execute("alter table raw.dump add column seen timestamp")
    shop.execute("update raw.dump set seen = ? - interval 9 days * (id - 1)", [now - timedelta(hours=1)])
    write_model(shop, "auto_cdc_snapshot", except_column_list=["seen"])
    shop.succeed("run", "--sample", "3 days")
    assert [(1, "Oslo", 1, None)] == shop.query(HISTORY.format("users"))
    assert "the target was built from a sample of the source" in shop.log
    shop.succeed("run", "--full-refresh")
    assert AFTER_FIRST == shop.query(HISTORY.format("users"))


# -- Snapshots from files ----------------------------------------------------------------------------------------------


def write_dump(project: Project, day: str, *lines: str) -> None:
    """Write a file with the version in its name."""
    project.write(f"dumps/customers_{day}.csv", "\n".join(["id,city", *lines]) + "\n")


def test_files_with_the_version_in_their_names(shop: Project) -> None:
    """All files that wait are applied in one run, and read again without harm; an --empty run leaves them for later."""
    write_model(
        shop,
        "auto_cdc_snapshot",
        sql="select * from read_csv('dumps/*.csv', filename=true)",
        snapshot_version="cast(regexp_extract(filename, '(\\d{4}-\\d\\d-\\d\\d)', 1) as date)",
        except_column_list=["filename"],
    )
    first, second, third = (date(2026, 11, day) for day in (1, 8, 15))
    write_dump(shop, "2026-11-08", "1,Kiel", "3,Bari")
    write_dump(shop, "2026-11-01", "1,Oslo", "2,Rome")
    shop.succeed("run")
    expected = [
        (1, "Oslo", first, second),
        (1, "Kiel", second, None),
        (2, "Rome", first, second),
        (3, "Bari", second, None),
    ]
    assert expected == shop.query(HISTORY.format("users"))

    write_dump(shop, "2026-11-15", "1,Kiel", "2,Rome")
    shop.succeed("run", "--empty")
    assert expected == shop.query(HISTORY.format("users"))
    shop.succeed("run")
    assert [*expected[:3], (2, "Rome", third, None), (3, "Bari", second, third)] == shop.query(
        HISTORY.format("users")
    )
    assert "2 skipped" in shop.log
    assert "not above the last one applied" not in shop.log


def test_a_file_that_is_overwritten(shop: Project) -> None:
    """Lakeflow's periodic form: the same place each time, the snapshots are counted; a half-written one is refused."""
    write_model(
        shop,
        "auto_cdc_snapshot",
        sql="select * from read_csv('dumps/customers_now.csv')",
        snapshot_version="auto",
        max_delete_ratio=0.5,
    )
    write_dump(shop, "now", "1,Oslo", "2,Rome", "3,Bari")
    shop.succeed("run")
    write_dump(shop, "now", "1,Oslo")
    assert "for example version 1 deletes 2 of 3 rows; a half-written extract looks like that" in shop.fail(
        "run"
    )
    write_dump(shop, "now", "1,Oslo", "2,Kiel")
    shop.succeed("run")
    expected = [(1, "Oslo", 0, None), (2, "Rome", 0, 1), (2, "Kiel", 1, None), (3, "Bari", 0, 1)]
    assert expected == shop.query(HISTORY.format("users"))


def test_an_empty_source_is_refused(shop: Project) -> None:
    """A snapshot whose version does not come with the rows can be empty: that is refused, and nothing changes."""
    write_model(shop, "auto_cdc_snapshot", snapshot_version="date '2026-11-29'")
    shop.succeed("run")
    arrive(shop, [])
    before = rows(shop), companion(shop)
    write_model(shop, "auto_cdc_snapshot", snapshot_version="date '2026-11-30'")
    assert "auto_cdc: model users: the snapshot has no rows, which would delete everything" in shop.fail(
        "run"
    )
    assert before == (rows(shop), companion(shop))
    write_model(shop, "auto_cdc_snapshot", snapshot_version="date '2026-11-30'", allow_empty_snapshot=True)
    shop.succeed("run")
    assert {date(2026, 11, 30)} == {row[-1] for row in rows(shop)}


# -- Operations --------------------------------------------------------------------------------------------------------


def operate(project: Project, macro: str, arguments: str) -> str:
    project.succeed("run-operation", f"auto_cdc.{macro}", "--args", arguments)
    return project.log


@pytest.mark.parametrize("scd_type", [1, 2])
def test_a_table_that_is_adopted_is_the_snapshot_before(shop: Project, scd_type: int) -> None:
    """Its rows stay, the next snapshot is compared with them; of a history the last bound is the last version."""
    write_model(shop, "auto_cdc_snapshot", stored_as_scd_type=scd_type)
    if scd_type == 1:
        shop.execute("create table users as from (values (1, 'Oslo'), (2, 'Rome')) as t(id, city)")
    else:
        shop.execute(
            "create table users as from (values (1, 'Oslo', 1, null::integer), (2, 'Rome', 1, null), (3, 'Nice', 0, 1))"
            " as t(id, city, __START_AT, __END_AT)"
        )
    assert "adopt --args '{model: users}'" in shop.fail("run")
    assert "rows stay as they are; the next snapshot is compared with them" in operate(
        shop, "adopt", "{model: users}"
    )
    shop.succeed("run")
    assert (scd_type - 1) == figures(shop)["num_skipped_versions"]
    arrive(shop, SECOND)
    shop.succeed("run")
    if scd_type == 1:
        assert [(1, "Kiel"), (3, "Bari")] == rows(shop)
    else:
        assert sorted([*AFTER_SECOND, (3, "Nice", 0, 1)], key=str) == sorted(rows(shop), key=str)


def test_a_history_with_bounds_of_another_type_is_not_adopted(shop: Project) -> None:
    """The message names the option of snapshots."""
    write_model(shop, "auto_cdc_snapshot")
    shop.execute(
        "create table users as select 1 as id, 'Oslo' as city, 1::bigint as __START_AT, 2::bigint as __END_AT"
    )
    said = shop.fail("run-operation", "auto_cdc.adopt", "--args", "{model: users}")
    assert "has type BIGINT and snapshot_version has type INTEGER" in said


@pytest.mark.parametrize("materialized", ["replace_using", "replace_where"])
def test_a_table_whose_rows_are_replaced_can_be_adopted(shop: Project, materialized: str) -> None:
    """Several rows of a key and null keys are no obstacle; the rows stay until a run replaces them."""
    write_model(shop, materialized)
    shop.execute(
        "create table users as from (values (1, 'a', 0), (1, 'b', 0), (null, 'c', 0)) as t(id, city, taken)"
    )
    said = operate(shop, "adopt", "{model: users}")
    assert "its 3 rows stay as they are until a run replaces them" in said
    shop.succeed("run")
    assert [*FIRST, (None, "c", 0)] == rows(shop)


@pytest.fixture
def production(shop: Project) -> Project:
    """Give a project whose three kinds of target ran in production and were cloned to development."""
    shop.write(
        "profiles.yml",
        f"""
        shop:
          target: dev
          outputs:
            dev: {{type: duckdb, path: '{shop.database}', schema: dev}}
            prod: {{type: duckdb, path: '{shop.database}', schema: prod}}
        """,
    )
    for materialized in OPTIONS:
        write_model(shop, materialized, materialized)
    shop.writes_manifest = True
    shop.succeed("run", "--target", "prod")
    (shop.root / "target").rename(shop.root / "state")
    shop.succeed("clone", "--state", str(shop.root / "state"))
    return shop


def test_clones_go_on_as_their_originals_do(production: Project) -> None:
    """With their companions, the next run gives the same tables in development and in production."""
    arrive(production, SECOND)
    said = production.fail("run")
    for name in OPTIONS:
        assert f'"{name}" exists without its companion' in said
    said = operate(production, "clone_companions", "{from_schema: prod}")
    assert 'model auto_cdc_snapshot: copied "warehouse"."prod"."auto_cdc_snapshot__auto_cdc"' in said
    production.succeed("run")
    production.succeed("run", "--target", "prod")
    for name in OPTIONS:
        assert rows(production, f"dev.{name}") == rows(production, f"prod.{name}")
        assert companion(production, f"dev.{name}") == companion(production, f"prod.{name}")
    assert AFTER_SECOND == production.query(HISTORY.format("dev.auto_cdc_snapshot"))


@pytest.mark.parametrize("materialized", list(OPTIONS))
def test_explain_shows_the_plan(shop: Project, materialized: str) -> None:
    """Of a first run and of a later one; nothing is run."""
    write_model(shop, materialized)
    shop.succeed("run-operation", "auto_cdc.explain", "--args", "{model: users}")
    assert [] == shop.query("select * from information_schema.tables where table_schema <> 'raw'")
    shop.succeed("run")
    before = rows(shop)
    arrive(shop, SECOND)
    shop.succeed("run-operation", "auto_cdc.explain", "--args", "{model: users}")
    assert before == rows(shop)


# -- One run with another range ----------------------------------------------------------------------------------------


def test_a_range_for_one_run(shop: Project) -> None:
    """By a variable, for the models that it names; the next run has the usual range again."""
    write_model(shop, "replace_where")
    write_model(shop, "replace_where", "others")
    shop.succeed("run")
    arrive(shop, [(1, "Kiel", 2), (2, "Bari", 2), (7, "seven", 2)])
    shop.succeed("run", "--vars", "{replace_where_overrides: {users: 'id in (1, 7)'}}")
    assert [(1, "Kiel", 2), (2, "Rome", 1), (7, "seven", 2)] == rows(shop)
    assert [(1, "Kiel", 2), (2, "Bari", 2)] == rows(shop, "others")
    shop.succeed("run")
    assert [(1, "Kiel", 2), (2, "Bari", 2), (7, "seven", 2)] == rows(shop)


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (
            "{usres: 'id = 1'}",
            "names usres, which is no model materialized as replace_where; did you mean users?",
        ),
        (
            "{keyed: 'id = 1'}",
            "names keyed, which is no model materialized as replace_where; there are: users",
        ),
        ("'id = 1'", "the variable replace_where_overrides is 'id = 1'; write {<model>: \"<condition>\"}"),
        ("{users: 'idd = 1'}", "replace_where is not valid SQL over the model's columns (id, city, taken); "),
    ],
)
def test_a_range_for_one_run_that_means_nothing(shop: Project, overrides: str, said: str) -> None:
    """Refused, and no row is changed: the usual range is not what was asked for."""
    write_model(shop, "replace_where")
    write_model(shop, "replace_using", "keyed")
    shop.succeed("run")
    before = rows(shop)
    arrive(shop, SECOND)
    assert said in shop.fail("run", "--vars", f"{{replace_where_overrides: {overrides}}}")
    assert before == rows(shop)


# -- What dbt does around a model --------------------------------------------------------------------------------------


def test_bad_options_are_found_while_parsing(shop: Project) -> None:
    """Before any SQL, all models at once, each with the words of its materialization."""
    write_model(
        shop, "auto_cdc_snapshot", keys=None, unique_key="id", snapshot_version=None, updated_at="taken"
    )
    write_model(shop, "replace_using", "keyed", sequence_by=["taken"], keys=["id"])
    write_model(shop, "replace_where", "ranged", replace_where=7, sequence_by="taken")
    said = shop.fail("run")
    for problem in (
        "unique_key is not an option of auto_cdc_snapshot; write keys",
        "updated_at is not an option of auto_cdc_snapshot; write snapshot_version",
        "keys is not an option of replace_using; write replace_using",
        "sequence_by is ['taken']; write the name of one column",
        "replace_where is 7; write a column name or a SQL expression as text",
    ):
        assert problem in said
    assert [] == shop.query("select * from information_schema.tables where table_schema <> 'raw'")


@pytest.mark.parametrize(
    ("materialized", "config", "constraint", "unique"),
    [
        ("auto_cdc_snapshot", {"stored_as_scd_type": 1}, "PRIMARY KEY", "id"),
        ("auto_cdc_snapshot", {}, "PRIMARY KEY", "id, __START_AT"),
        ("replace_using", {}, "UNIQUE", "id, taken, city"),
        ("replace_where", {}, "UNIQUE", "id"),
    ],
    ids=["latest", "history", "using", "where"],
)
def test_contracts(
    shop: Project, materialized: str, config: dict[str, Any], constraint: str, unique: str
) -> None:
    """The target is made as the contract says, and its keys stand while rows are replaced, also in a rebuild."""
    write_model(shop, materialized, **config)
    columns = [
        "name: city, data_type: varchar",
        "name: id, data_type: integer, constraints: [{type: not_null}]",
    ]
    if materialized != "auto_cdc_snapshot":
        columns.append("name: taken, data_type: integer")
    elif not config:
        columns += ["name: __START_AT, data_type: integer", "name: __END_AT, data_type: integer"]
    lines = "".join(f"      - {{{column}}}\n" for column in columns)
    shop.write(
        "models/_users.yml",
        "models:\n  - name: users\n    config: {contract: {enforced: true}}\n"
        f"    constraints: [{{type: {constraint.lower().replace(' ', '_')}, columns: [{unique}]}}]\n"
        f"    columns:\n{lines}",
    )
    shop.succeed("run")
    arrive(shop, [(1, "Kiel", 2), (2, "Rome", 2)])
    for flags in ((), (), ("--full-refresh",)):
        shop.succeed("run", *flags)
        found = shop.query("select constraint_type from duckdb_constraints() where table_name = 'users'")
        assert {"NOT NULL", constraint} == {kind for (kind,) in found}
        assert "Kiel" in {row[0] for row in rows(shop)}
    shop.execute("alter table raw.dump add column extra integer")
    assert "This model has an enforced contract that failed." in shop.fail("run")


def test_a_changed_materialization_is_refused(shop: Project) -> None:
    """Was and is; --full-refresh rebuilds."""
    write_model(shop, "auto_cdc_snapshot")
    shop.succeed("run")
    shop.write(
        "models/users.sql",
        "{{ config(materialized='auto_cdc', keys=['id'], sequence_by='taken', except_column_list=['taken'],"
        f" stored_as_scd_type=2) }}}}\n{DUMP}",
    )
    said = "materialized was auto_cdc_snapshot in the last run and is auto_cdc now; rebuild the target with"
    assert said in shop.fail("run")
    shop.succeed("run", "--full-refresh")
    assert AFTER_FIRST == shop.query(HISTORY.format("users"))


def test_incremental_reads_of_snapshots(shop: Project) -> None:
    """A model may read only versions that are new: no new one, no snapshot, nothing is deleted."""
    sql = (
        DUMP
        + " {% if auto_cdc.is_applying() %} where taken > (select max(__START_AT) from {{ this }}) {% endif %}"
    )
    write_model(shop, "auto_cdc_snapshot", sql=sql, allow_empty_snapshot=True)
    shop.succeed("run")
    shop.succeed("run")
    assert AFTER_FIRST == shop.query(HISTORY.format("users"))
    assert "AUTO CDC 0 upserted, 0 deleted, 0 read in" in shop.log
    arrive(shop, SECOND)
    shop.succeed("run")
    assert AFTER_SECOND == shop.query(HISTORY.format("users"))
