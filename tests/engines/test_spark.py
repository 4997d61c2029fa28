"""What is peculiar to Spark, and to Sail: runs that are stopped, and what is refused.

Not here: what is true of every engine (`test_contract`, `tests/scenarios`).
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import duckdb
import pytest

from dbt_auto_cdc.errors import AutoCdcError
from dbt_auto_cdc.materializations import journal, tables
from tests import databases
from tests.at_once import Both, builds_at_once, runs_at_once
from tests.databases import (
    Connection,
    Spark,
    Stopped,
    create_table,
    engine_of,
    tables_of,
    writes,
    writes_what_stays,
)
from tests.direct import Direct, has_written
from tests.watched import IS_NIGHTLY

pytestmark = pytest.mark.only_on("sail", "spark")

COLUMNS = {
    "id": "INTEGER",
    "v": "VARCHAR",
    "w": "VARCHAR",
    "op": "VARCHAR",
    "seq": "BIGINT",
    "known": "BIGINT",
}
EVENTS = {"keys": ["id"], "sequence_by": "seq", "apply_as_deletes": "op = 'D'", "sequence_ties": "allow"}
SNAPSHOTS = {"materialized": "auto_cdc_snapshot", "keys": ["id"], "snapshot_version": "seq"}
SCD1 = {**EVENTS, "apply_as_truncates": "op = 'T'", "except_column_list": ["op", "seq", "known"]}
SCD2 = {
    **EVENTS,
    "stored_as_scd_type": 2,
    "track_history_column_list": ["v"],
    "except_column_list": ["op", "known"],
}
REPLACE_USING = {"materialized": "replace_using", "replace_using": ["id"], "sequence_by": "seq"}
BITEMPORAL = {
    **EVENTS,
    "stored_as_scd_type": "bitemporal",
    "system_sequence_by": "known",
    "except_column_list": ["op", "seq", "known"],
}
# Those that are stopped before each statement that writes to what stays; what a run reads by is made before that.
BY_WHAT_STAYS = {
    "expectations": {
        **SCD1,
        "expect_all": {"early": "seq < 5"},
        "expect_all_or_drop": {"w": "w is not null"},
        "expectations_quarantine": True,
    },
    "scd1_partial": {**SCD1, "ignore_null_updates": True},
    "scd2_partial": {**SCD2, "ignore_null_updates_column_list": ["v"]},
    "bitemporal": BITEMPORAL,
    "bitemporal_partial": {**BITEMPORAL, "ignore_null_updates": True},
}
MODES = {
    "scd1": SCD1,
    "scd1_plain": {name: value for name, value in SCD1.items() if name != "apply_as_truncates"},
    "scd2": SCD2,
    "snapshot_scd1": {**SNAPSHOTS, "max_delete_ratio": 1},
    "snapshot_scd2": {**SNAPSHOTS, "stored_as_scd_type": 2, "track_history_column_list": ["v"]},
    "append_flow": {"materialized": "append_flow"},
    "replace_using": REPLACE_USING,
    "replace_using_appended": {**REPLACE_USING, "equal_sequence": "append"},
    "replace_where": {"materialized": "replace_where", "replace_where": "id between 1 and 2"},
    **BY_WHAT_STAYS,
}
# Of these a run adds what it reads to what is there: read again, rows are there twice.
ADDING = ("append_flow", "replace_using_appended")
# Where a statement takes seconds, not every place to stop at is tried, but at night.
STRIDE = 1 if databases.chosen() == "sail" or IS_NIGHTLY else 7
# Of two runs at once fewer places are tried: they are told for every engine of this kind in `test_rendered`.
STRIDE_AT_ONCE = 5 if databases.chosen() == "sail" else 9
AT_ONCE = [*ADDING, *(["scd1", "scd2", "bitemporal"] if databases.chosen() == "sail" else [])]
# How many statements that write the longest run may have: each costs Spark a second or more.
MOST = 40
# How many runs a target of random events sees.
RUNS = 5 if databases.chosen() == "sail" else 3
# Of a first run and of one on a target that goes on, as docs/guides/spark.md has them.
STATEMENTS = {
    "scd1": (16, 24),
    "scd1_plain": (12, 16),
    "scd2": (14, 26),
    "snapshot_scd1": (16, 24),
    "snapshot_scd2": (21, 28),
    "append_flow": (9, 14),
    "replace_using": (14, 23),
    "replace_using_appended": (14, 23),
    "replace_where": (12, 20),
    "expectations": (20, 28),
    "scd1_partial": (18, 28),
    "scd2_partial": (16, 28),
    "bitemporal": (30, 42),
    "bitemporal_partial": (34, 44),
}


def events(number: int, mode: str) -> list[dict[str, Any]]:
    """Return some new, late, repeated and contradicting events of few keys."""
    source = random.Random(f"{mode} {number}")
    if mode.startswith("snapshot"):
        return snapshots(number, source)
    truncates = "apply_as_truncates" in (MODES | MORE_MODES)[mode]
    kinds = "IIIIUUUUDDT" if truncates else "IIIUUUDD"
    return [
        {
            "id": source.randint(1, 4),
            "v": source.choice(["it's", "b\\n", "c", None]),
            "w": source.choice(["x", "y", None]),
            "op": source.choice(kinds),
            "seq": number * 2 + source.randint(0, 6),
            "known": number + source.randint(0, 2),
        }
        for _ in range(source.randint(2, 5))
    ]


def snapshots(number: int, source: random.Random) -> list[dict[str, Any]]:
    """Return one or two whole copies of few keys, the first of which may be one that was applied already."""
    return [
        {
            "id": key,
            "v": source.choice(["it's", "b\\n", "c", None]),
            "op": source.choice("IU"),
            "seq": version,
        }
        for version in range(number + 1, number + 1 + source.randint(1, 2))
        for key in source.sample(range(1, 5), source.randint(1, 4))
    ]


@pytest.fixture
def oracle() -> Iterator[Direct]:
    """Return a target that is kept by DuckDB, whose runs are transactions."""
    with duckdb.connect(config={"threads": 1}) as connection:
        yield Direct(connection)


def rows(target: Direct) -> list[tuple[str, ...]]:
    """Return a target's rows as text, in any order, without the number of the run, which may leave some out."""
    return sorted(
        tuple(str(value) for name, value in row.items() if name != "__auto_cdc_run") for row in target.rows()
    )


def stopped(target: Direct, config: dict[str, Any], after: int, **how: bool) -> bool:
    """Run until so many statements have been written, and tell whether there was one more."""
    assert isinstance(target.connection, Spark)
    target.connection.stop_after = after
    target.connection.counts = writes_what_stays if config in BY_WHAT_STAYS.values() else writes
    try:
        target.run(config, **how)
    except Stopped:
        return True
    finally:
        target.connection.stop_after = None
    return False


def quarantined(target: Direct, config: dict[str, Any]) -> list[tuple[str, ...]]:
    """Return the rows that were dropped, with what they failed."""
    if not config.get("expectations_quarantine"):
        return []
    kept = f"select {', '.join(COLUMNS)}, _failed_expectations from target__auto_cdc_quarantine"
    return sorted(tuple(map(str, row)) for row in target.connection.execute(kept).fetchall())


def assert_nothing_is_left_to_do(target: Direct) -> None:
    """The note of what a run had to write is crossed off."""
    assert target.turn()
    assert not journal.is_left(target.turn())


def assert_nothing_is_left(target: Direct, mode: str) -> None:
    """No working table is left behind, whoever made it, by a run that writes something."""
    create_table(target.connection, "feed", COLUMNS, events(1000, mode))
    target.run(MODES[mode])
    assert_nothing_is_left_to_do(target)
    tables = set(tables_of(target.connection)) - {"target__auto_cdc_quarantine"}
    assert {"feed", "target", "target__auto_cdc"} == tables


@pytest.mark.parametrize("mode", MODES)
def test_a_run_that_is_stopped(connection: Connection, oracle: Direct, mode: str) -> None:
    """Wherever a run is stopped, a plain run after it ends where one ends that was never stopped."""
    target, config = Direct(connection), MODES[mode]
    for number in range(MOST):
        feed = events(number, mode)
        for each in (connection, oracle.connection):
            create_table(each, "feed", COLUMNS, feed)
        before = target.turn()
        was_stopped = number > 0 and stopped(target, config, after=(number - 1) * STRIDE)
        is_over = mode in ADDING and has_written(target, before)
        if was_stopped and number % 3 == 0 and not is_over:
            stopped(target, config, after=random.Random(number).randint(0, 3))
        if number == 0 or (was_stopped and not is_over):
            target.run(config)
        oracle.run(config)
        assert rows(oracle) == rows(target), (number, feed)
        assert quarantined(oracle, config) == quarantined(target, config), (number, feed)
        assert_nothing_is_left_to_do(target)
        if number and not was_stopped:
            assert_nothing_is_left(target, mode)
            return
    raise AssertionError(f"a run has more than {MOST} statements")


@pytest.mark.parametrize("mode", MODES)
def test_a_rebuild_after_a_run_that_was_stopped(connection: Connection, oracle: Direct, mode: str) -> None:
    """--full-refresh needs nothing of it: somebody may have dropped the tables by which it would be finished."""
    target, config = Direct(connection), MODES[mode]
    source = random.Random(mode)
    for number in range(3):
        for each in (connection, oracle.connection):
            create_table(each, "feed", COLUMNS, events(2 * number, mode))
        oracle.run(config, full_refresh=True)
        target.run(config, full_refresh=True)
        assert rows(oracle) == rows(target), number
        assert quarantined(oracle, config) == quarantined(target, config), number
        create_table(connection, "feed", COLUMNS, events(2 * number + 1, mode))
        stopped(target, config, after=source.randint(3, 8))
        kept = {"feed", "target", "target__auto_cdc", "target__auto_cdc_quarantine"}
        for table in set(tables_of(connection)) - kept:
            connection.execute(f"drop table `{table}`")


@pytest.mark.parametrize("is_there", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_a_build_that_is_stopped(connection: Connection, oracle: Direct, mode: str, is_there: bool) -> None:
    """The same of a first run, and of --full-refresh on a target of the same feed: a plain run after it builds."""
    target, config = Direct(connection), MODES[mode]
    if is_there and mode in ADDING:
        pytest.skip(
            "a run that was stopped before it dropped the old target leaves it, and the next one adds rows"
        )
    feed = events(1, mode)
    for each in (connection, oracle.connection):
        create_table(each, "feed", COLUMNS, feed)
    oracle.run(config)
    for number in range(MOST):
        if is_there:
            target.run(config)
        was_stopped = stopped(target, config, after=number * STRIDE, full_refresh=is_there)
        if was_stopped and not (mode in ADDING and has_written(target)):
            target.run(config)
        assert rows(oracle) == rows(target), number
        assert quarantined(oracle, config) == quarantined(target, config), number
        assert_nothing_is_left_to_do(target)
        if not was_stopped:
            assert_nothing_is_left(target, mode)
            return
        if not is_there:
            connection.execute("drop table target")
            connection.execute("drop table target__auto_cdc")
            connection.execute("drop table if exists target__auto_cdc_quarantine")
    raise AssertionError(f"a build has more than {MOST} statements")


@pytest.mark.parametrize("mode", AT_ONCE)
def test_two_runs_at_once(connection: Connection, oracle: Direct, mode: str) -> None:
    """Before whatever statement of a run another one comes in: the target is right, and one that gives up says why."""
    both = Both(Direct(connection), oracle, MODES[mode], COLUMNS, lambda number: events(number, mode))
    runs_at_once(both, stride=1 if both.appends else STRIDE_AT_ONCE, most=MOST)
    assert_nothing_is_left(both.target, mode)


@pytest.mark.parametrize("is_there", [False, True])
def test_two_builds_at_once(connection: Connection, oracle: Direct, is_there: bool) -> None:
    """The same of first builds, and of --full-refresh: the target is right, or the next run builds it again."""

    def begin() -> Both:
        for each in (connection, oracle.connection):
            for table in tables_of(each):
                each.execute(
                    f"drop table {engine_of(connection).quote(table) if each is connection else table}"
                )
        return Both(Direct(connection), oracle, SCD2, COLUMNS, lambda number: events(number, "scd2"))

    builds_at_once(begin, is_there=is_there, stride=STRIDE_AT_ONCE, most=MOST)


LISTED = {**COLUMNS, "cols": "VARCHAR[]"}
LISTS = {"columns_to_update": "cols"}
MORE_MODES: dict[str, dict[str, Any]] = {
    "scd1_listed": {**SCD1, **LISTS, "except_column_list": ["op", "seq", "known", "cols"]},
    "scd2_listed": {**SCD2, **LISTS, "except_column_list": ["op", "known", "cols"]},
    "scd1_retention": {**SCD1, "tombstone_retention": 2},
    "scd1_plain_retention": {**MODES["scd1_plain"], "tombstone_retention": 2},
    "scd2_retention": {**SCD2, "tombstone_retention": 2},
    "bitemporal_tracked": {**BITEMPORAL, "track_history_column_list": ["v"]},
    "replace_using_expected": {**REPLACE_USING, "expect_all_or_drop": {"w": "w <> 'y'"}},
}


@pytest.mark.parametrize("mode", MORE_MODES)
def test_random_runs(connection: Connection, oracle: Direct, mode: str) -> None:
    """Events in no order: after every run rows and figures are those of DuckDB, which is held against plain models."""
    target, config = Direct(connection), MORE_MODES[mode]
    columns = LISTED if mode.endswith("listed") else COLUMNS
    source = random.Random(mode)
    lists = [None, [], ["v"], ["W"], ["w", "V"], ["op"]]
    for number in source.sample(range(RUNS), RUNS):
        feed = [{**event, "cols": source.choice(lists)} for event in events(number, mode)]
        for each in (connection, oracle.connection):
            create_table(each, "feed", columns, feed)
        expected = oracle.run(config)
        assert expected.figures == target.run(config).figures, (number, feed)
        assert rows(oracle) == rows(target), (number, feed)


@pytest.mark.only_on("sail")
def test_what_a_merge_removes_is_gone_each_time(connection: Connection) -> None:
    """A source of a `merge` that is run twice, as Sail does it, finds the same greatest sequence again."""
    target, config = Direct(connection), MORE_MODES["scd2_retention"]
    tombstones = "select count(*) from target__auto_cdc where __auto_cdc_kind = 'delete'"
    for number in range(12):
        feed = [
            {"id": 1, "v": "a", "op": "I", "seq": 10 * number + 9},
            {"id": 2 + number, "v": "a", "op": "D", "seq": 10 * number},
        ]
        create_table(connection, "feed", COLUMNS, feed)
        target.run(config)
        assert connection.execute(tombstones).fetchall() == [(0,)], number


def test_all_that_is_wrong_is_told_at_once(connection: Connection) -> None:
    """Rows without key or sequence, and a tie: the one message has them all, and nothing is written."""
    target, config = Direct(connection), {**MODES["scd1_plain"], "sequence_ties": "fail"}
    create_table(connection, "feed", COLUMNS, [{"id": 1, "v": "a", "op": "U", "seq": 1}])
    target.run(config)
    before = rows(target)
    wrong = [
        {"id": 2, "v": "a", "op": "U", "seq": 2},
        {"id": 2, "v": "b", "op": "U", "seq": 2},
        {"id": None, "v": "a", "op": "U", "seq": 3},
        {"id": 3, "v": "a", "op": "U", "seq": None},
    ]
    create_table(connection, "feed", COLUMNS, wrong)
    with pytest.raises(AutoCdcError) as error:
        target.run(config)
    told = (
        "sequence_by seq is null in 1 of",
        "key column id is null in 1 of",
        "1 time a key has different events",
    )
    assert [True, True, True] == [each in str(error.value) for each in told]
    assert before == rows(target)


def test_what_must_not_fail(connection: Connection) -> None:
    """A run whose rows are not as they must be is refused with an example, and nothing is written."""
    target = Direct(connection)
    create_table(connection, "feed", COLUMNS, [{"id": 1, "v": "a", "op": "U", "seq": 1}])
    target.run(EVENTS)
    before = rows(target)
    create_table(connection, "feed", COLUMNS, [{"id": 2, "v": "it's", "op": "U", "seq": 2}])
    expected = {**EVENTS, "expect_all_or_fail": {"it": "v <> 'it\\'s'"}}
    with pytest.raises(AutoCdcError, match=r"expectation it .* fails in 1 row, for example id=2 at 2"):
        target.run(expected)
    assert before == rows(target)


def test_what_can_be_left_out_changes(connection: Connection) -> None:
    """Who wrote what before events could leave columns out is not looked up where a run may be stopped halfway."""
    target = Direct(connection)
    create_table(connection, "feed", COLUMNS, [{"id": 1, "v": "a", "op": "U", "seq": 1}])
    target.run(SCD1)
    with pytest.raises(AutoCdcError, match="v, w may be left out of events now and could not in the last"):
        target.run({**SCD1, "ignore_null_updates": True})
    target.run({**SCD1, "ignore_null_updates": True}, full_refresh=True)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({**EVENTS, "change_data_feed": True}, "change_data_feed is set, .*set change_data_feed to false"),
        (
            {"materialized": "recomputed_table"},
            "change_data_feed is true unless the model sets it, .*set change_data_feed to false",
        ),
        ({**EVENTS, "file_format": "parquet"}, "file_format is parquet, .*file_format: iceberg"),
        ({**EVENTS, "event_log": True}, "event_log is true"),
    ],
)
def test_what_is_refused(connection: Connection, config: dict[str, Any], said: str) -> None:
    """Options that are not served are refused before anything is looked at, with the engine and the option."""
    with pytest.raises(AutoCdcError, match=f"model target: .*{said}") as refused:
        Direct(connection).plan(config)
    assert "file_format" in config or "Spark" in str(refused.value)


@pytest.mark.only_on("sail")
def test_a_list_as_a_sequence(connection: Connection) -> None:
    """What the tables of one format lack is told of these: Iceberg tables take it."""
    create_table(
        connection, "feed", {"id": "INTEGER", "op": "VARCHAR", "seq": "BIGINT", "line": "BIGINT"}, []
    )
    said = (
        "sequence_by is a list, which is not served on Spark with Delta tables; write one expression instead"
    )
    with pytest.raises(AutoCdcError, match=said):
        Direct(connection).run({**EVENTS, "sequence_by": ["seq", "line"]})


def test_a_column_that_tells_no_row(connection: Connection) -> None:
    """Where rows are found by all their values, a list among these is refused."""
    create_table(connection, "feed", {"id": "INTEGER", "tags": "VARCHAR[]"}, [{"id": 1, "tags": ["a"]}])
    with pytest.raises(
        AutoCdcError, match="column tags is of type array<string>, by which Spark cannot tell"
    ):
        Direct(connection).run(MODES["replace_where"])


def test_a_table_that_cannot_be_altered(connection: Connection) -> None:
    """A new column is refused where the engine alters no tables, and added where it does; an old one is filled."""
    target = Direct(connection)
    before = {"id": "INTEGER", "v": "VARCHAR", "op": "VARCHAR", "seq": "BIGINT"}
    for columns in (before, {**before, "more": "INTEGER"}):
        create_table(
            connection, "feed", columns, [{"id": 1, "v": "a", "op": "U", "seq": len(columns), "more": 5}]
        )
        config = {**EVENTS, "except_column_list": ["op"]}
        if "more" in columns and not engine_of(connection).alters_tables:
            with pytest.raises(
                AutoCdcError,
                match="column more is not that of the target, and Spark with Delta tables cannot",
            ):
                target.run(config)
            target.run({**config, "on_schema_change": "ignore"})
            assert [{"id": 1, "v": "a", "seq": 5}] == target.rows()
            return
        target.run(config)
    assert [{"id": 1, "v": "a", "seq": 5, "more": 5}] == target.rows()


def plain(number: int, mode: str) -> list[dict[str, Any]]:
    """Return events without a truncate, or one snapshot."""
    if not mode.startswith("snapshot"):
        return events(number, "scd2")
    several = events(number, mode)
    return [row for row in several if row["seq"] == several[0]["seq"]]


@pytest.mark.only_on("spark")
def test_layers_of_a_companion(
    connection: Connection, oracle: Direct, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What runs write beside a companion's files is counted, and they are written anew when it is enough."""
    monkeypatch.setattr(tables, "_LAYERS", 3)
    target, config, layers, files = Direct(connection), MODES["scd1_plain"], [], []
    assert isinstance(connection, Spark)
    for number in range(6):
        feed = [{"id": key, "v": "a", "op": "U", "seq": number} for key in range(number, number + 3)]
        for each in (connection, oracle.connection):
            create_table(each, "feed", COLUMNS, feed)
        oracle.run(config)
        target.run(config)
        assert rows(oracle) == rows(target), number
        counted = "select max(__auto_cdc_control) from target__auto_cdc where __auto_cdc_kind = 'layers'"
        layers.append(connection.execute(counted).fetchone())
        of_table = f"{connection.schema}.target__auto_cdc.files"
        ((found,),) = connection.execute(f"select count(*) from {of_table} where content = 0").fetchall()
        files.append(found)
    assert [(None,), ("1",), ("2",), ("0",), ("1",), ("2",)] == layers
    assert files[3] < files[2]


@pytest.mark.only_on("spark")
@pytest.mark.parametrize("mode", MODES)
def test_how_many_statements(connection: Connection, oracle: Direct, mode: str) -> None:
    """As many as the manual says, of a first run and of one after another that wrote: each takes a second or more."""
    assert isinstance(connection, Spark)
    target, counted = Direct(connection), []
    for number in range(3):
        for each in (connection, oracle.connection):
            create_table(each, "feed", COLUMNS, plain(number, mode))
        oracle.run(MODES[mode])
        before = connection.sent
        target.run(MODES[mode])
        counted.append(connection.sent - before)
        assert rows(oracle) == rows(target), number
    assert STATEMENTS[mode] == (counted[0], counted[2])
