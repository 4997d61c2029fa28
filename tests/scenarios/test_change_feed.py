"""When a change feed begins, goes on, begins anew and is refused; schema changes; a table from the feed of another.

Not here: that it leads from run to run in every mode (`properties/test_change_feed.py`), and dbt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbt_auto_cdc.errors import AutoCdcError
from tests import databases
from tests.databases import Connection, create_table, tables_of
from tests.fed import FEED, Fed, read
from tests.reference_model import Row, comparable
from tests.watched import examples

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.fed
OPTIONS: dict[str, Any] = {
    "keys": ["id"],
    "sequence_by": "seq",
    "apply_as_deletes": "op = 'D'",
    "except_column_list": ["op", "seq"],
    "change_data_feed": True,
}
TYPES = {"id": "INTEGER", "v": "VARCHAR", "seq": "BIGINT", "op": "VARCHAR"}


@pytest.fixture
def connection(engine: str) -> Iterator[Connection]:
    with databases.connect(engine) as connection:
        yield connection


def event(key: int, seq: int, value: str | None = None, **more: Any) -> Row:
    """Return an upsert; a delete without a value."""
    return {"id": key, "v": value, "seq": seq, "op": "U" if value is not None else "D", **more}


def send(target: Fed, *rows: Row, types: dict[str, str] | None = None, **options: Any) -> Any:
    """Give the target one run; one in which the feed `begins` does not lead from the rows before."""
    create_table(target.connection, "feed", {**TYPES, **(types or {})}, rows)
    how = {name: options.pop(name) for name in ("full_refresh", "partial") if name in options}
    if options.pop("begins", False):
        return super(Fed, target).run({**OPTIONS, **options}, **how)
    return target.run({**OPTIONS, **options}, **how)


def changes(target: Fed, *columns: str) -> list[tuple[Any, ...]]:
    """Return the feed's rows: version, key, value, kind."""
    shown = ("_commit_version", "id", "v", *columns, "_change_type")
    rows = [tuple(row[name] for name in shown) for row in read(target.connection, target.name + FEED)]
    return sorted(rows, key=repr)


def test_a_run_that_changes_nothing_has_no_version(connection: Connection) -> None:
    """Versions count the runs that changed something; rows that are written anew with the same values are none."""
    target = Fed(connection)
    send(target, event(1, 1, "a"))
    send(target, event(1, 1, "a"))
    send(target, event(1, 2, "a"))
    send(target)
    send(target, event(1, 3, "b"), event(2, 1, "c"))
    assert [
        (1, 1, "a", "insert"),
        (2, 1, "a", "update_preimage"),
        (2, 1, "b", "update_postimage"),
        (2, 2, "c", "insert"),
    ] == changes(target)
    stamps = {row["_commit_timestamp"] for row in read(connection, "target" + FEED)}
    assert 2 == len(stamps)


def test_without_the_option_there_is_no_step_and_no_table(connection: Connection) -> None:
    """Off is off: the plan has the same steps as ever, and nothing stands beside the target but its companion."""
    target = Fed(connection)
    create_table(connection, "feed", TYPES, [event(1, 1, "a")])
    super(Fed, target).run({**OPTIONS, "change_data_feed": False})
    assert {"feed", "target", "target__auto_cdc"} == set(tables_of(connection))
    plan = target.plan({**OPTIONS, "change_data_feed": False})
    assert not [
        step.name for step in plan.steps if "keep the rows" in step.name or "change feed" in step.name
    ]


def test_it_begins_with_the_next_change(connection: Connection) -> None:
    """Switched on over a table that is there, the feed holds what changes from then on, from version 2."""
    target = Fed(connection)
    create_table(connection, "feed", TYPES, [event(1, 1, "a"), event(2, 1, "b")])
    super(Fed, target).run({**OPTIONS, "change_data_feed": False})
    send(target, event(1, 1, "a"))
    assert [] == changes(target)
    send(target, event(1, 2, "c"), begins=True)
    assert [(2, 1, "a", "update_preimage"), (2, 1, "c", "update_postimage")] == changes(target)


def test_a_rebuild_that_switches_it_on_begins_with_all_rows(connection: Connection) -> None:
    """There was no feed that it could go on from, so it leads from nothing to the rows that are there."""
    target = Fed(connection)
    create_table(connection, "feed", TYPES, [event(1, 1, "a"), event(2, 1, "b")])
    super(Fed, target).run({**OPTIONS, "change_data_feed": False})
    send(target, event(1, 2, "a"), event(2, 1, "c"), full_refresh=True, begins=True)
    assert [(1, 1, "a", "insert"), (1, 2, "c", "insert")] == changes(target)


def test_switched_off_and_on_again(connection: Connection) -> None:
    """The gap is refused; where the table of the feed is dropped a new one begins, and a version is left out."""
    target = Fed(connection)
    send(target, event(1, 1, "a"))
    create_table(connection, "feed", TYPES, [event(1, 2, "b")])
    super(Fed, target).run({**OPTIONS, "change_data_feed": False})
    assert [(1, 1, "a", "insert")] == changes(target)
    with pytest.raises(AutoCdcError, match=r"lacks changes.*drop that table"):
        send(target, event(1, 3, "c"))
    connection.execute('drop table "target__auto_cdc_changes"')
    send(target, event(1, 3, "c"), begins=True)
    assert [(3, 1, "b", "update_preimage"), (3, 1, "c", "update_postimage")] == changes(target)


@pytest.mark.parametrize("gone", [[], ["target__auto_cdc"], ["target", "target__auto_cdc"]])
def test_a_rebuild_of_what_lacks_changes_begins_anew(connection: Connection, gone: list[str]) -> None:
    """Switched off before, or with another companion, or none: all rows, a version being left out."""
    target = Fed(connection)
    send(target, event(1, 1, "a"))
    create_table(connection, "feed", TYPES, [event(1, 2, "b")])
    super(Fed, target).run({**OPTIONS, "change_data_feed": False})
    for table in gone:
        connection.execute(f'drop table "{table}"')
    create_table(connection, "feed", TYPES, [event(1, 3, "c")])
    super(Fed, target).run({**OPTIONS, "change_data_feed": True}, full_refresh=True)
    assert [(3, 1, "c", "insert")] == changes(target)


def test_switched_off_a_rebuild_keeps_the_count(connection: Connection) -> None:
    """A rebuild without the option carries the version over, for the day it is on again."""
    target = Fed(connection)
    send(target, event(1, 1, "a"))
    create_table(connection, "feed", TYPES, [event(1, 2, "b")])
    super(Fed, target).run({**OPTIONS, "change_data_feed": False}, full_refresh=True)
    connection.execute('drop table "target__auto_cdc_changes"')
    send(target, event(1, 3, "c"), begins=True)
    assert {3} == {row[0] for row in changes(target)}


@pytest.mark.parametrize("scd_type", [1, 2])
def test_a_rebuild_is_a_difference(connection: Connection, scd_type: int) -> None:
    """What differs between the old table and the new one is one version; the same table again is none."""
    target = Fed(connection)
    feed = [event(1, 1, "a"), event(2, 1, "b")]
    send(target, *feed, stored_as_scd_type=scd_type)
    send(target, *feed, stored_as_scd_type=scd_type, full_refresh=True)
    assert {1} == {row[0] for row in changes(target)}
    send(target, event(2, 1, "B"), event(3, 1, "c"), stored_as_scd_type=scd_type, full_refresh=True)
    assert [
        (2, 1, "a", "delete"),
        (2, 2, "B", "update_postimage"),
        (2, 2, "b", "update_preimage"),
        (2, 3, "c", "insert"),
    ] == changes(target)[2:]


def test_a_rebuild_in_another_shape_begins_anew(connection: Connection) -> None:
    """Where the old rows cannot be set beside the new ones the feed holds all new rows, a version being left out."""
    target = Fed(connection)
    send(target, event(1, 1, "a"), event(2, 1, "b"))
    send(target, event(1, 2, "c"), stored_as_scd_type=2, full_refresh=True, begins=True)
    assert [(3, 1, "c", "insert")] == changes(target)


def test_a_target_that_is_gone_begins_anew(connection: Connection) -> None:
    """Nobody knows what was in it: the feed holds the rows of the new one, a version being left out."""
    target = Fed(connection)
    send(target, event(1, 1, "a"), event(2, 1, "b"))
    connection.execute("drop table target")
    send(target, event(1, 2, "c"), begins=True)
    assert [(3, 1, "c", "insert")] == changes(target)


def test_a_feed_that_is_gone_begins_anew(connection: Connection) -> None:
    """Nothing was written meanwhile, so the next version follows the last one."""
    target = Fed(connection)
    send(target, event(1, 1, "a"))
    connection.execute('drop table "target__auto_cdc_changes"')
    send(target, event(2, 1, "b"), begins=True)
    assert [(2, 2, "b", "insert")] == changes(target)


def test_columns_follow_those_of_the_target(connection: Connection) -> None:
    """New ones, wider ones, dropped ones; older rows have null in a column that they did not have."""
    target = Fed(connection)
    send(target, event(1, 1, "a", n=1), types={"n": "INTEGER"})
    send(target, event(1, 2, "b", n=2, m=0.5), types={"n": "BIGINT", "m": "DOUBLE"})
    send(
        target, event(2, 1, "c", n=3_000_000_000), types={"n": "BIGINT"}, on_schema_change="sync_all_columns"
    )
    assert [
        (1, 1, "a", 1, "insert"),
        (2, 1, "a", 1, "update_preimage"),
        (2, 1, "b", 2, "update_postimage"),
        (3, 2, "c", 3_000_000_000, "insert"),
    ] == changes(target, "n")


def test_columns_follow_in_a_run_that_reads_nothing(connection: Connection) -> None:
    """With --empty too, and the option may be switched on in such a run."""
    target = Fed(connection)
    create_table(connection, "feed", TYPES, [event(1, 1, "a")])
    super(Fed, target).run({**OPTIONS, "change_data_feed": False})
    send(target, types={"n": "INTEGER"}, partial="--empty")
    send(target, event(1, 2, "b", n=1), types={"n": "INTEGER"}, begins=True)
    assert [(2, 1, "a", None, "update_preimage"), (2, 1, "b", 1, "update_postimage")] == changes(target, "n")


@pytest.mark.parametrize("name", ["_change_type", "_COMMIT_VERSION", "_commit_timestamp"])
def test_columns_of_its_own_are_refused(connection: Connection, name: str) -> None:
    """A target with such a column cannot have a feed, and can do without."""
    target = Fed(connection)
    row = event(1, 1, "a", **{name: 1})
    with pytest.raises(
        AutoCdcError, match=rf"column {name} has the name of a column of the change feed; rename"
    ):
        send(target, row, types={name: "INTEGER"})
    create_table(connection, "feed", {**TYPES, name: "INTEGER"}, [row])
    super(Fed, target).run({**OPTIONS, "change_data_feed": False})


def test_a_table_of_that_name_is_refused(connection: Connection) -> None:
    """Somebody else's table is left alone."""
    target = Fed(connection)
    send(target, event(1, 1, "a"))
    connection.execute('drop table "target__auto_cdc_changes"')
    connection.execute('create table "target__auto_cdc_changes" (id integer)')
    with pytest.raises(AutoCdcError, match="was not made by auto_cdc"):
        send(target, event(1, 2, "b"))


def test_rows_by_hand_that_share_a_key(connection: Connection) -> None:
    """Two rows of one key are paired one by one with what a run makes of them: nothing is lost."""
    target = Fed(connection)
    send(target, event(1, 1, "a"))
    connection.execute("insert into target values (1, 'hand'), (1, 'more')")
    send(target, event(1, 2, "b"))
    kinds = sorted(row[3] for row in changes(target) if row[0] == 2)
    assert ["delete", "delete", "update_postimage", "update_preimage"] == kinds


# a table that is computed anew


def test_a_recomputed_table_writes_rows_that_differ(connection: Connection) -> None:
    """Copies are counted, nulls are values, and rows that stay stay where they are."""
    target = Fed(connection, materialized="recomputed_table")
    types = {"id": "INTEGER", "v": "VARCHAR"}

    def compute(*rows: tuple[Any, Any]) -> dict[str, int]:
        create_table(connection, "feed", types, [dict(zip(types, row, strict=True)) for row in rows])
        figures = target.run({}).figures
        return {name: figures[f"num_{name}_rows"] for name in ("upserted", "deleted", "read")}

    assert {"upserted": 4, "deleted": 0, "read": 4} == compute((1, "a"), (1, "a"), (2, None), (None, None))
    assert {"upserted": 0, "deleted": 0, "read": 4} == compute((None, None), (1, "a"), (2, None), (1, "a"))
    locator = databases.engine_of(connection).locator
    places = set(connection.execute(f"select {locator}, v from target where id is null").fetchall())
    assert {"upserted": 2, "deleted": 2, "read": 4} == compute((1, "a"), (2, "b"), (3, "c"), (None, None))
    assert places == set(connection.execute(f"select {locator}, v from target where id is null").fetchall())
    assert [
        (2, 1, "a", "delete"),
        (2, 2, "b", "insert"),
        (2, 2, None, "delete"),
        (2, 3, "c", "insert"),
    ] == changes(target)[4:]


def test_a_recomputed_table_without_a_feed(connection: Connection) -> None:
    """The option can be switched off there."""
    target = Fed(connection, materialized="recomputed_table")
    create_table(connection, "feed", {"id": "INTEGER"}, [{"id": 1}])
    super(Fed, target).run({"change_data_feed": False})
    assert "target" + FEED not in tables_of(connection)


def test_rows_that_are_only_added(connection: Connection) -> None:
    """Of an append_flow all rows are inserts, copies too; the number of the run is not in the feed."""
    target = Fed(connection, materialized="append_flow")
    for rows in ([1, 1], [1, None], []):
        create_table(
            connection, "feed", {"id": "INTEGER", "v": "VARCHAR"}, [{"id": n, "v": "x"} for n in rows]
        )
        target.run({})
    assert [(1, 1, "x", "insert")] * 2 + [(2, 1, "x", "insert"), (2, None, "x", "insert")] == changes(target)
    create_table(connection, "feed", {"id": "INTEGER", "v": "VARCHAR"}, [{"id": 1, "v": "x"}])
    target.run({}, full_refresh=True)
    assert [(3, 1, "x", "delete")] * 2 + [(3, None, "x", "delete")] == changes(target)[4:]


# a table from the feed of another

EVENTS = st.lists(
    st.tuples(st.integers(1, 3), st.integers(1, 9), st.sampled_from(["a", "b", "", None])),
    max_size=8,
    unique_by=lambda drawn: drawn[:2],
)


@settings(max_examples=examples(25, 1000))
@given(runs=st.lists(EVENTS, min_size=1, max_size=4), scd_type=st.sampled_from([1, 2]), at_once=st.booleans())
def test_a_table_from_the_feed_of_another(
    connection_of_all: Connection,
    runs: list[list[tuple[int, int, str | None]]],
    scd_type: int,
    at_once: bool,
) -> None:
    """Whatever comes, a target that takes post-images as upserts and deletes as deletes is the other target.

    Of a history it is the rows of all versions, by key and start.
    """
    connection, copied = connection_of_all, "target" + FEED
    for table in ("target", "target__auto_cdc", copied, "copy", "copy__auto_cdc"):
        connection.execute(f'drop table if exists "{table}"')
    target, copy = Fed(connection), Fed(connection, name="copy")
    start = "__start_at" if databases.chosen() == "postgres" else "__START_AT"
    options = {
        "keys": ["id", start] if scd_type == 2 else ["id"],
        "sequence_by": "_commit_version",
        "apply_as_deletes": "_change_type = 'delete'",
        "except_column_list": ["_change_type", "_commit_version", "_commit_timestamp"],
        "change_data_feed": False,
    }
    seen: dict[tuple[int, int], str | None] = {}
    for number, run in enumerate(runs):
        new = [event(*drawn) for drawn in run if drawn[:2] not in seen]
        seen |= {drawn[:2]: drawn[2] for drawn in run}
        send(target, *new, stored_as_scd_type=scd_type)
        if not at_once or number == len(runs) - 1:
            sql = f"select * from {copied} where _change_type <> 'update_preimage'"
            super(Fed, copy).run(options, sql=sql)
    rows = [[comparable(row) for row in read(connection, name)] for name in ("target", "copy")]
    assert sorted(rows[0], key=repr) == sorted(rows[1], key=repr)


@pytest.fixture(scope="module")
def connection_of_all(engine: str) -> Iterator[Connection]:
    with databases.connect(engine) as connection:
        yield connection
