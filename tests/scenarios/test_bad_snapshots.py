"""Bad snapshots and bad configuration are refused: one clear message, nothing written, and the next good run works.

Straight on DuckDB. Not here: what the parser of the options refuses alone (`unit/test_spec`) and dbt (`dbt`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import duckdb
import pytest

from dbt_auto_cdc.errors import AutoCdcError
from dbt_auto_cdc.execute import Outcome
from tests.databases import Connection, here, speaks, spoken, with_values
from tests.direct import Direct
from tests.scenarios.test_bad_input import Kept
from tests.watched import with_names

SOURCE = "id integer, region text, city text, note text, v bigint"
FIRST = "(1, 'n', 'Oslo', 'a', 10), (2, 'n', 'Rome', 'a', 10), (3, 's', 'Bari', 'a', 10), (4, 's', 'Nice', 'a', 10)"
SCD1: dict[str, Any] = {"keys": ["id"], "snapshot_version": "v", "stored_as_scd_type": 1}
SCD2: dict[str, Any] = {**SCD1, "stored_as_scd_type": 2, "track_history_except_column_list": ["note"]}
AGAIN = "; rebuild the target with --full-refresh, or change it back"
CAST = "; change it back or cast it in the model, or rebuild the target with --full-refresh"


def kept(connection: Connection, config: dict[str, Any]) -> Kept:
    """Return a target after a first snapshot, with version 10."""
    target = Kept(connection, materialized="auto_cdc_snapshot")
    target.connection.execute(f"create table feed ({SOURCE})")
    target.feeds(FIRST)
    target.run(config)
    return target


@pytest.fixture(params=[SCD1, SCD2], ids=["scd1", "scd2"])
def config(request: pytest.FixtureRequest) -> dict[str, Any]:
    return dict(request.param)


@pytest.fixture
def target(connection: Connection, config: dict[str, Any]) -> Iterator[Kept]:
    """Give a target after its first snapshot; after the test a newer one has to be applied."""
    target = kept(connection, config)
    yield target
    works_on(target, config)


def works_on(target: Kept, config: dict[str, Any]) -> Outcome:
    """Run with a newer snapshot of one new row, which has to be all that is current."""
    target.feeds("(9, 'n', 'Kiel', 'z', 90)")
    outcome = target.run(config)
    assert [(9, "Kiel", "z")] == current(target)
    return outcome


def current(target: Direct) -> list[tuple[Any, ...]]:
    """Return the rows that hold now, without their bounds."""
    rows = [row for row in map(with_names, target.rows()) if row.get("__END_AT") is None]
    return sorted((row["id"], row["city"], row["note"]) for row in rows)


def first_run(connection: Connection, *rows: str) -> Kept:
    """Return a target before its first run."""
    target = Kept(connection, materialized="auto_cdc_snapshot")
    target.connection.execute(f"create table feed ({SOURCE})")
    target.feeds(*rows)
    return target


# -- Rows --------------------------------------------------------------------------------------------------------------


def test_duplicate_keys(target: Kept, config: dict[str, Any]) -> None:
    """How many keys, and one with its version; copies of one row are as bad as two different rows."""
    target.feeds(
        "(1, 'n', 'Oslo', 'a', 20), (1, 'n', 'Oslo', 'a', 20)",
        "(2, 'n', 'Rome', 'a', 20), (2, 'n', 'Kiel', 'a', 20), (2, 'n', 'Bari', 'a', 20)",
        "(1, 'n', 'Oslo', 'a', 30)",
    )
    assert target.problem(config) == (
        "2 keys stand in one version more than once, for example id=1 in version 20; a snapshot has one row a key:"
        " add the missing key columns, or reduce the rows in the model"
    )


def test_duplicate_keys_in_a_first_run(connection: Connection, config: dict[str, Any]) -> None:
    """Nothing is created; with the missing key column there are no duplicates."""
    target = first_run(connection, "(1, 'n', 'Oslo', 'a', 20)", "(1, 's', 'Oslo', 'a', 20)")
    assert target.problem(config).startswith(
        "1 key stands in one version more than once, for example id=1 in "
    )
    target.run({**config, "keys": ["id", "region"]})
    assert 2 == len(target.rows())


def test_duplicate_keys_in_a_version_that_is_skipped(target: Kept, config: dict[str, Any]) -> None:
    """What is skipped is not looked at."""
    target.feeds("(1, 'n', 'Oslo', 'a', 10), (1, 'n', 'Oslo', 'b', 10), (null, 'n', 'Oslo', 'b', 9)")
    assert 2 == target.run(config).measures["num_skipped_versions"]


def test_null_keys(target: Kept, config: dict[str, Any]) -> None:
    """Each key column has its own count and an example's version."""
    target.feeds("(null, 'n', 'x', 'x', 20)", "(null, 'n', 'x', 'x', 30)", "(4, 'n', 'x', 'x', 20)")
    assert target.problem(config) == (
        "key column id is null in 2 rows, for example in version 20; filter such rows out in the model, or give them a"
        " key"
    )


def test_several_null_keys_on_a_first_run(connection: Connection, config: dict[str, Any]) -> None:
    """Nothing is created."""
    target = first_run(connection, "(null, null, 'x', 'x', 1)", "(1, null, 'x', 'x', 1)")
    problems = target.problems({**config, "keys": ["id", "region"]})
    said = ("key column id is null in 1 row", "key column region is null in 2 rows")
    assert list(said) == [problem[: len(start)] for problem, start in zip(problems, said, strict=True)]


def test_null_version(target: Kept, config: dict[str, Any]) -> None:
    """The message has the count and a key, and comes together with a null key's."""
    target.feeds("(7, 'n', 'x', 'x', null)", "(null, 'n', 'x', 'x', null)", "(4, 'n', 'x', 'x', 20)")
    version, key = target.problems(config)
    assert version == (
        "snapshot_version is null in 2 rows, for example id=7; every row needs the version of the snapshot it belongs"
        " to: filter such rows out in the model, or give them one"
    )
    assert key.startswith("key column id is null in 1 row, for example in version null; ")


def test_a_version_that_is_always_null(connection: Connection, config: dict[str, Any]) -> None:
    """A null of a type is refused with the rows, one without a type because it has no order."""
    target = first_run(connection, "(7, 'n', 'x', 'x', 1)")
    said = target.problem({**config, "snapshot_version": "cast(null as date)"})
    assert said.startswith("snapshot_version is null in 1 row, for example id=7; ")
    problems = target.problems({**config, "snapshot_version": "null"})
    # On PostgreSQL, and before DuckDB 2.0, a null has a type of its own accord.
    has_type = speaks() == "postgres" or (speaks() == "duckdb" and duckdb.__version__ < "2")
    kind = "void" if speaks() == "spark" else '"NULL"'
    no_order = f"snapshot_version has type {kind}, which has no order; "
    said = "snapshot_version is null in 1 row" if has_type else no_order
    assert any(problem.startswith(said) for problem in problems)


# -- Versions ----------------------------------------------------------------------------------------------------------


def test_no_version(target: Kept, config: dict[str, Any]) -> None:
    """The message names the ways to give one."""
    assert target.problem({**config, "snapshot_version": None}) == (
        "snapshot_version is missing; name the column that tells which snapshot a row belongs to, write an expression"
        " such as date '2026-11-29', write auto to count the snapshots, or set version_query instead"
    )


@pytest.mark.parametrize(
    ("version", "now"), [("v::integer", "INTEGER"), ("v::text", "VARCHAR"), ("date '2026-11-29'", "DATE")]
)
def test_a_version_of_another_type(target: Kept, config: dict[str, Any], version: str, now: str) -> None:
    """Was and is, for a column, an expression and a fixed version; also where every value would survive."""
    said = here(f"the type of snapshot_version was BIGINT in the last run and is {now} now{CAST}")
    version = spoken(target.connection, version)
    assert said == target.problem({**config, "snapshot_version": version, "except_column_list": ["v"]})


def test_a_version_column_that_widened(target: Kept, config: dict[str, Any]) -> None:
    """A version never changes its type."""
    said = target.problem(config, sql=with_values(target.connection, "feed", v="v::numeric(38, 0)"))
    assert said.startswith(here("the type of snapshot_version was BIGINT in the last run and is "))
    assert said.endswith(CAST)


def test_late_versions_are_skipped(target: Kept, config: dict[str, Any]) -> None:
    """They are counted; what is above the last one is applied. A warning tells which of them never were."""
    target.feeds("(1, 'n', 'late', 'a', 5)", "(1, 'n', 'late', 'a', 10)", "(1, 'n', 'Kiel', 'b', 20)")
    outcome = target.run(config)
    assert [(1, "Kiel", "b")] == current(target)
    (warning,) = outcome.warnings
    assert warning == (
        "1 snapshot version is not above the last one applied and was skipped, for example 5 (the last one is 10);"
        " snapshots apply in ascending order"
    )
    assert 2 == outcome.figures["num_skipped_versions"]
    assert outcome.message.endswith(" 3 read, 2 skipped")
    assert "for example 5 (the last one is 20)" in target.run(config).warnings[0]


@pytest.mark.rare_types
@pytest.mark.only_on("duckdb")  # PostgreSQL has no structs without a type
def test_a_version_with_a_part_that_is_null(target: Kept, config: dict[str, Any]) -> None:
    """A composite version has no place in the order unless all its parts have."""
    for part in ("nullif(v, 10)", "{'day': nullif(v, 10)}"):
        composite = {
            **config,
            "snapshot_version": f"{{'year': 2026, 'week': {part}}}",
            "except_column_list": ["v"],
        }
        with pytest.raises(AutoCdcError, match=r"snapshot_version is null in 4 rows"):
            target.run(composite, full_refresh=True)


def test_versions_that_are_read_again_are_not_late(target: Kept, config: dict[str, Any]) -> None:
    """A model that re-reads all its dumps warns of nothing, whichever runs applied them; they count as skipped."""
    dumps = [f"({key}, 'n', 'Oslo', 'a', {version})" for key, version in ((1, 10), (2, 20), (3, 30), (4, 40))]
    for until in (2, 3, 4):
        target.feeds(*dumps[:until])
        assert [] == target.run(config).warnings
    outcome = target.run(config)
    assert ([], 4) == (outcome.warnings, outcome.figures["num_skipped_versions"])
    target.run(config, full_refresh=True)
    assert [] == target.run(config).warnings


def test_only_late_versions(target: Kept, config: dict[str, Any]) -> None:
    """Nothing is written, and the run goes well."""
    target.feeds("(1, 'n', 'late', 'a', 9)")
    before = target.sees()
    outcome = target.run(config)
    assert before == target.sees()
    assert 1 == len(outcome.warnings)
    assert (0, 0, 1) == tuple(
        outcome.figures[name] for name in ("num_upserted_rows", "num_deleted_rows", "num_skipped_versions")
    )


@pytest.mark.parametrize("rows", [(), ("(1, 'n', 'late', 'a', 9)",)], ids=["empty", "with rows"])
def test_a_fixed_version_that_is_late(target: Kept, config: dict[str, Any], rows: tuple[str, ...]) -> None:
    """A fixed version is skipped and counted also where it would stand for a snapshot without rows."""
    target.feeds(*rows)
    before = target.sees()
    outcome = target.run({**config, "snapshot_version": "cast(10 as bigint)", "except_column_list": ["v"]})
    assert before == target.sees()
    assert 1 == outcome.figures["num_skipped_versions"]
    assert "for example 10 (the last one is 10)" in outcome.warnings[0]


@pytest.mark.parametrize(
    ("version", "said"),
    [
        (
            "vv",
            "snapshot_version names vv, which is not a column of the model; did you mean v?",
        ),
        (
            '"rejion"',
            "snapshot_version names rejion, which is not a column of the model; did you mean region?",
        ),
        (
            "feed.v",
            "snapshot_version is not valid SQL over the model's columns (id, region, city, note, v); ",
        ),
        ("v +", "snapshot_version is not valid SQL over the model's columns (id, region, city, note, v); "),
        (
            "max(v)",
            "snapshot_version is not valid SQL over the model's columns (id, region, city, note, v); ",
        ),
    ],
)
def test_versions_that_are_none(target: Kept, config: dict[str, Any], version: str, said: str) -> None:
    """An unknown name has the nearest one, SQL the engine's own words."""
    version = spoken(target.connection, version)
    problem = target.problem({**config, "snapshot_version": version, "except_column_list": ["v"]})
    assert problem.startswith(said)


@pytest.mark.only_on("duckdb")  # the type is DuckDB's
def test_a_version_without_an_order(connection: Connection, config: dict[str, Any]) -> None:
    """A type whose values have no order is refused before anything is read."""
    target = first_run(connection, FIRST)
    said = target.problem({**config, "snapshot_version": "map {v: 1}"})
    assert said.startswith("snapshot_version has type MAP(BIGINT, INTEGER), which has no order; ")


# -- Deletes -----------------------------------------------------------------------------------------------------------


def test_an_empty_snapshot(target: Kept, config: dict[str, Any]) -> None:
    """Refused unless it is allowed; then it deletes everything."""
    target.feeds()
    fixed = {**config, "snapshot_version": "cast(20 as bigint)", "except_column_list": ["v"]}
    assert target.problem(fixed) == (
        "the snapshot has no rows, which would delete everything (version 20); set allow_empty_snapshot to true if"
        " that is meant"
    )
    target.run({**fixed, "allow_empty_snapshot": True})
    assert [] == current(target)
    assert (0, 0) == written(target.run({**fixed, "allow_empty_snapshot": True}))


def written(outcome: Outcome) -> tuple[int, int]:
    return outcome.figures["num_upserted_rows"], outcome.figures["num_deleted_rows"]


@pytest.mark.parametrize(
    "version", ["auto", "date '2026-11-29'", "(select max(n) from (values (1), (2)) as t(n))"]
)
def test_an_empty_first_snapshot(connection: Connection, config: dict[str, Any], version: str) -> None:
    """A first snapshot without rows is refused as well, and makes an empty target where it is allowed."""
    target = first_run(connection)
    assert "the snapshot has no rows" in target.problem({**config, "snapshot_version": version})
    target.run({**config, "snapshot_version": version, "allow_empty_snapshot": True})
    assert [] == target.rows()


@pytest.mark.parametrize("name", ["date", "timestamp", "now", "cast"])
def test_an_empty_fixed_snapshot_beside_a_column_with_the_name_of_a_type(
    connection: Connection, config: dict[str, Any], name: str
) -> None:
    """That the model has a column called date does not make `date '2026-11-29'` a column."""
    target = first_run(connection)
    sql = f'select *, 1 as "{name}" from feed'
    for version in ("date '2026-11-29'", "cast('2026-11-29' as date)", "'2026-11-29'::timestamp", "now()"):
        said = target.problem({**config, "snapshot_version": version}, sql=sql)
        assert "the snapshot has no rows" in said


def test_zero_rows_with_a_version_column(target: Kept, config: dict[str, Any]) -> None:
    """No rows, no version: that is no snapshot, and nothing is done, however much may be deleted."""
    target.feeds()
    before = target.sees()
    for version in ("v", "v + 0", "coalesce(v, 20)", '"V"', "cast(null as bigint)"):
        allowed = {
            **config,
            "snapshot_version": version,
            "allow_empty_snapshot": True,
            "max_delete_ratio": 1.0,
        }
        outcome = target.run({**allowed, "except_column_list": ["v"]})
        assert (0, 0) == written(outcome)
        assert [] == outcome.warnings
    assert before == target.sees()


def test_zero_rows_in_a_first_run(connection: Connection, config: dict[str, Any]) -> None:
    """The target is made, typed and empty; the first snapshot that comes is applied."""
    target = first_run(connection)
    target.run(config)
    assert [] == target.rows()
    works_on(target, config)


def test_too_many_deletes(target: Kept, config: dict[str, Any]) -> None:
    """The message has the version, how many rows it deletes of how many, and the limit."""
    target.feeds("(1, 'n', 'Oslo', 'a', 20), (2, 'n', 'Rome', 'a', 20)")
    guarded = {**config, "max_delete_ratio": 0.4}
    assert target.problem(guarded) == (
        "1 version deletes more than max_delete_ratio 0.4 allows, for example version 20 deletes 2 of 4 rows; a"
        " half-written extract looks like that: check the source, or raise max_delete_ratio"
    )
    target.run({**guarded, "max_delete_ratio": 0.5})
    assert [1, 2] == [key for key, _, _ in current(target)]


def test_too_many_deletes_between_two_versions_of_a_run(target: Kept, config: dict[str, Any]) -> None:
    """Each version is compared with the one before it, as if they had come one by one; new rows do not make up."""
    target.feeds(
        "(1, 'n', 'Oslo', 'a', 20), (2, 'n', 'Rome', 'a', 20), (3, 's', 'Bari', 'a', 20)",
        "(1, 'n', 'Oslo', 'a', 30), (7, 'n', 'Rome', 'a', 30), (8, 's', 'Bari', 'a', 30)",
        "(1, 'n', 'Oslo', 'a', 40), (2, 'n', 'Rome', 'a', 40), (3, 's', 'Bari', 'a', 40), (4, 's', 'Nice', 'a', 40)",
    )
    said = target.problem({**config, "max_delete_ratio": 0.5})
    assert said.startswith(
        "2 versions delete more than max_delete_ratio 0.5 allows, for example version 30 deletes 2 of 3 "
    )


def test_too_many_deletes_in_a_first_run(connection: Connection, config: dict[str, Any]) -> None:
    """The first version deletes nothing, the next may delete too much."""
    target = first_run(connection, FIRST, "(1, 'n', 'Oslo', 'a', 20)")
    said = target.problem({**config, "max_delete_ratio": 0.5})
    assert "version 20 deletes 3 of 4 rows" in said
    target.run({**config, "max_delete_ratio": 0.75})
    assert [1] == [key for key, _, _ in current(target)]


@pytest.mark.parametrize("flag", ["--empty", "--sample"])
@pytest.mark.parametrize("version", ["v", "cast(20 as bigint)", "auto"])
def test_a_part_of_the_source_never_deletes(
    connection: Connection, flag: str, version: str, config: dict[str, Any]
) -> None:
    """With dbt's --empty and --sample no row is changed and no version remembered, whatever is allowed."""
    config = {
        **config,
        "snapshot_version": version,
        "except_column_list": ["v"],
        "allow_empty_snapshot": True,
    }
    target = first_run(connection, FIRST)
    target.run(config)
    before = target.sees()
    for rows in ((), ("(1, 'n', 'Kiel', 'a', 30)",)):
        target.feeds(*rows)
        outcome = target.run(config, partial=flag)
        assert before == {**target.sees(), "feed": before["feed"]}
        assert (0, 0) == written(outcome)
        warned = (
            []
            if flag == "--empty"
            else ["--sample reads a part of the source only, so no row of the target was changed"]
        )
        assert warned == outcome.warnings


@pytest.mark.altering
def test_a_part_of_the_source_brings_its_columns(target: Kept, config: dict[str, Any]) -> None:
    """A run with --empty is there to try the columns: they change as in any other run."""
    target.run(config, sql="select *, 1 as extra from feed", partial="--empty")
    assert {None} == {row["extra"] for row in target.rows()}


def test_an_empty_first_run_remembers_no_version(connection: Connection, config: dict[str, Any]) -> None:
    """With --empty a first run makes a typed table; the fixed version is still to come."""
    target = first_run(connection)
    fixed = {**config, "snapshot_version": "cast(20 as bigint)", "except_column_list": ["v"]}
    target.run(fixed, partial="--empty")
    assert [] == target.rows()
    target.feeds(FIRST)
    assert 4 == target.run(fixed).figures["num_upserted_rows"]


def test_a_first_run_of_a_sample_says_so(connection: Connection, config: dict[str, Any]) -> None:
    """Rows that the sample lacks would be missing until they change."""
    target = first_run(connection, FIRST)
    outcome = target.run(config, partial="--sample")
    assert 4 == len(target.rows())
    assert [
        "the target was built from a sample of the source; rebuild it with --full-refresh to have it whole"
    ] == outcome.warnings


# -- Against the last run ----------------------------------------------------------------------------------------------


def test_changed_keys(target: Kept, config: dict[str, Any]) -> None:
    """Was and is; case and order are no change."""
    said = f"keys was id in the last run and is id, region now{AGAIN}"
    assert said == target.problem({**config, "keys": ["region", "id"]})
    target.run({**config, "keys": ["ID"]})


def test_changed_type_of_a_key(target: Kept, config: dict[str, Any]) -> None:
    """A key never widens."""
    assert target.problem(config, sql=with_values(target.connection, "feed", id="id::bigint")) == here(
        "key column id was INTEGER and is now BIGINT, and keys never change their type; cast it to INTEGER in the"
        " model, or rebuild the target with --full-refresh"
    )


@pytest.mark.parametrize(("first", "then"), [(SCD1, SCD2), (SCD2, SCD1)], ids=["to 2", "to 1"])
def test_changed_scd_type(connection: Connection, first: dict[str, Any], then: dict[str, Any]) -> None:
    """Was and is; --full-refresh is the way out that works."""
    target = kept(connection, first)
    then = {**then, "track_history_except_column_list": None}
    was, now = first["stored_as_scd_type"], then["stored_as_scd_type"]
    assert target.problem(then) == f"stored_as_scd_type was {was} in the last run and is {now} now{AGAIN}"
    target.run(then, full_refresh=True)
    works_on(target, then)


@pytest.mark.parametrize(
    ("option", "now"),
    [
        ({}, "of all columns"),
        ({"track_history_column_list": ["city"]}, "track_history_column_list city"),
        ({"track_history_except_column_list": ["city"]}, "track_history_except_column_list city"),
    ],
)
def test_changed_tracking(connection: Connection, option: dict[str, Any], now: str) -> None:
    """The option as written is compared, not what it comes to."""
    target = kept(connection, SCD2)
    said = f"tracking was track_history_except_column_list note in the last run and is {now} now{AGAIN}"
    assert said == target.problem({**SCD2, "track_history_except_column_list": None, **option})


EVENTS: dict[str, Any] = {"keys": ["id"], "sequence_by": "v", "except_column_list": ["v"]}


@pytest.mark.parametrize("scd_type", [1, 2])
def test_a_target_of_events_is_no_target_of_snapshots(connection: Connection, scd_type: int) -> None:
    """Both ways are refused with what was and is, and --full-refresh goes either way."""
    events = {**EVENTS, "stored_as_scd_type": scd_type, "materialized": "auto_cdc"}
    snapshots = {**SCD1, "stored_as_scd_type": scd_type}
    target = kept(connection, snapshots)
    said = f"materialized was auto_cdc_snapshot in the last run and is auto_cdc now{AGAIN}"
    assert said == target.problem(events)
    target.run(events, full_refresh=True)
    said = f"materialized was auto_cdc in the last run and is auto_cdc_snapshot now{AGAIN}"
    assert said == target.problem(snapshots)
    target.run(snapshots, full_refresh=True)
    works_on(target, snapshots)


def test_a_full_refresh_takes_every_change(target: Kept, config: dict[str, Any]) -> None:
    """A rebuilt target starts with the snapshots that are read, and forgets the last version."""
    changed = {
        **config,
        "keys": ["id", "region"],
        "snapshot_version": spoken(target.connection, "v::varchar"),
        "except_column_list": ["v"],
    }
    target.feeds("(1, 'n', 'Oslo', 'a', 1)")
    target.run(changed, full_refresh=True)
    assert [(1, "Oslo", "a")] == current(target)
    target.run(config, full_refresh=True)


# -- Names -------------------------------------------------------------------------------------------------------------


def test_a_version_column_is_no_key(connection: Connection, config: dict[str, Any]) -> None:
    """It is left out of the target, so it cannot be a key."""
    target = first_run(connection, FIRST)
    assert target.problem({**config, "keys": ["id", "v"]}) == (
        "key v is not among the output columns; name it in column_list, or take it out of except_column_list"
    )


@pytest.mark.parametrize(
    "name",
    [
        *("__START_AT", "__end_at", "__auto_cdc_place"),
        pytest.param("rowid", marks=pytest.mark.only_on("duckdb")),
    ],
)
def test_reserved_names(connection: Connection, name: str) -> None:
    """Bounds and hidden names are ours."""
    target = kept(connection, SCD2)
    said = target.problem(SCD2, sql=f'select *, 1 as "{name}" from feed')
    assert said.startswith(
        here(f"output column {name} has a name that auto_cdc or DuckDB needs for itself; ")
    )


def test_options_of_events(target: Kept, config: dict[str, Any]) -> None:
    """What snapshots do not have is named with what they have instead."""
    with pytest.raises(
        AutoCdcError, match="sequence_by is not an option of auto_cdc_snapshot; write snapshot_version"
    ):
        target.run({**config, "sequence_by": "v"})


# -- Rows by hand ------------------------------------------------------------------------------------------------------


def test_two_rows_of_a_key_by_hand(connection: Connection) -> None:
    """SCD type 1: refused where a run meets them; where nothing changes they are not met."""
    target = kept(connection, SCD1)
    target.connection.execute("insert into target select * from target where id = 1")
    target.feeds(FIRST.replace("10)", "20)"))
    target.run(SCD1)
    target.feeds(FIRST.replace("10)", "30)").replace("Oslo", "Kiel"))
    assert target.problem(SCD1) == (
        "1 key has more than one row in the target, for example id=1; written by hand: delete all but one"
        " of each"
    )


def test_two_open_versions_of_a_key_by_hand(connection: Connection) -> None:
    """SCD type 2: bounds that overlap are refused where a run meets them."""
    target = kept(connection, SCD2)
    again = with_values(target.connection, "target", city="'x'")
    target.connection.execute(f"insert into target {again} where id = 1")
    target.feeds(FIRST.replace("10)", "30)").replace("Oslo", "Kiel"))
    # Where keys and bounds tell a row, two that are alike are counted with each other.
    said = r"rows? of the target ha(s|ve) bounds that overlap, are empty or lack __START_AT"
    assert re.search(said, target.problem(SCD2))


HISTORY = "select city, __START_AT, __END_AT from target where id = {} order by 2"


def history(target: Direct, key: int) -> list[tuple[Any, ...]]:
    return target.connection.execute(HISTORY.format(key)).fetchall()


def test_versions_by_hand_that_lie_later(connection: Connection) -> None:
    """Their bounds count as events: a snapshot before them is put where it belongs, and one after them goes on."""
    target = kept(connection, SCD2)
    run = target.connection.execute
    run("update target set __END_AT = 50 where id = 1")
    run("""insert into target values (5, 'n', 'hand', 'h', 50, null)""")
    target.feeds("(1, 'n', 'Kiel', 'a', 20), (5, 'n', 'Kiel', 'a', 20)")
    target.run(SCD2)
    assert [("Oslo", 10, 20), ("Kiel", 20, 50)] == history(target, 1)
    assert [("Kiel", 20, 50), ("hand", 50, None)] == history(target, 5)
    target.feeds("(1, 'n', 'Kiel', 'a', 50), (5, 'n', 'Kiel', 'a', 50)")
    target.run(SCD2)
    assert [("Oslo", 10, 20), ("Kiel", 20, 50)] == history(target, 1)
    assert [("Kiel", 20, 50), ("hand", 50, None)] == history(target, 5)
    target.feeds("(1, 'n', 'Kiel', 'a', 60), (5, 'n', 'Kiel', 'a', 60)")
    target.run(SCD2)
    assert [("Oslo", 10, 20), ("Kiel", 20, 50), ("Kiel", 60, None)] == history(target, 1)
    assert [("Kiel", 20, 50), ("hand", 50, 60), ("Kiel", 60, None)] == history(target, 5)


def test_a_snapshot_that_changes_nothing_beside_later_versions(connection: Connection) -> None:
    """Versions by hand of keys that stay are not met."""
    target = kept(connection, SCD2)
    target.connection.execute("insert into target values (5, 'n', 'hand', 'h', 5, 50)")
    target.feeds(FIRST.replace("10)", "20)"))
    assert (0, 0) == written(target.run(SCD2))


def test_rows_by_hand_are_the_snapshot_before(target: Kept, config: dict[str, Any]) -> None:
    """What is deleted, changed or added by hand is what the next snapshot is compared with."""
    target.connection.execute("delete from target where id = 1; update target set city = 'hand' where id = 2")
    target.feeds(FIRST.replace("10)", "20)"))
    assert 2 == target.run(config).figures["num_upserted_rows"] - (config["stored_as_scd_type"] - 1)
    assert [(1, "Oslo", "a"), (2, "Rome", "a"), (3, "Bari", "a"), (4, "Nice", "a")] == current(target)


# -- Relations that are not ours ---------------------------------------------------------------------------------------


def test_companion_missing(connection: Connection, config: dict[str, Any]) -> None:
    """The message names the ways out; a rebuild is one that works."""
    target = kept(connection, config)
    target.connection.execute("drop table target__auto_cdc")
    said = target.problem(config)
    assert said.startswith(here('"target" exists without its companion "target__auto_cdc"'))
    target.run(config, full_refresh=True)
    works_on(target, config)


def test_target_missing(target: Kept, config: dict[str, Any]) -> None:
    """A model that reads its snapshots again builds the target from them, the last version included."""
    target.connection.execute("drop table target")
    assert "build the target again: it is gone" == target.plan(config).action
    assert 4 == target.run(config).figures["num_upserted_rows"]
