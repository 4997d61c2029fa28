"""Rows inserted, changed, deleted and merged by hand between runs, in every materialization.

Not here: histories at random (`properties/test_dml.py`). Every target has a change feed, which leads from the rows that
a run finds to those that it leaves, and knows nothing of what is done by hand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dbt_auto_cdc.errors import AutoCdcError
from tests import databases
from tests.databases import Connection, create_table, quoted
from tests.direct import Direct
from tests.fed import FEED, Fed, read
from tests.stream_sql import stream

if TYPE_CHECKING:
    from collections.abc import Iterator

TYPES = {"id": "INTEGER", "v": "VARCHAR", "seq": "BIGINT"}
EVENTS: dict[str, Any] = {"keys": ["id"], "sequence_by": "seq"}
SNAPSHOTS: dict[str, Any] = {"materialized": "auto_cdc_snapshot", "keys": ["id"], "snapshot_version": "seq"}
MODES: dict[str, dict[str, Any]] = {
    "type 1": EVENTS,
    "type 1, partial": EVENTS | {"ignore_null_updates": True},
    "type 2": EVENTS | {"stored_as_scd_type": 2, "except_column_list": ["seq"]},
    "type 2, partial": EVENTS
    | {"stored_as_scd_type": 2, "except_column_list": ["seq"], "ignore_null_updates": True},
    "dumps, type 1": SNAPSHOTS,
    "dumps, type 2": SNAPSHOTS | {"stored_as_scd_type": 2},
    "replace_using": {"materialized": "replace_using", "replace_using": ["id"], "sequence_by": "seq"},
    "replace_where": {"materialized": "replace_where", "replace_where": "id < 4"},
    # It has a change feed unless told otherwise.
    "recomputed_table": {"materialized": "recomputed_table"}
    | ({} if databases.serves("change_data_feed") else {"change_data_feed": False}),
    "append_flow": {"materialized": "append_flow"},
}
FIRST = [(1, "a", 1), (2, "b", 1), (3, "c", 1)]


@pytest.fixture
def connection(engine: str) -> Iterator[Connection]:
    with databases.connect(engine) as connection:
        yield connection


def deliver(connection: Connection, rows: list[tuple[Any, ...]]) -> None:
    create_table(connection, "feed", TYPES, [dict(zip(TYPES, row, strict=True)) for row in rows])


def started(connection: Connection, mode: str, name: str = "target") -> Fed:
    """Return a target with a first run behind it."""
    target = Fed(connection, name=name)
    deliver(connection, FIRST)
    go_on(target, mode)
    return target


def go_on(target: Fed, mode: str) -> None:
    """Give a target another run; rows that are only added are read as a stream, each once."""
    if mode == "append_flow":
        # The feed is made anew for every run, so its offsets say what is new in it.
        target.run(MODES[mode], sql=f"select id, v, seq from {stream('feed', offset='seq')} as s")
    else:
        target.run(MODES[mode])


def columns_of(target: Fed) -> list[str]:
    return list(databases.columns_of(target.connection, quoted(target.name)))


def written(target: Fed, row: dict[str, Any]) -> str:
    """Return a row as VALUES, in the target's columns."""
    return ", ".join(
        "null" if row.get(name.lower()) is None else repr(row[name.lower()]) for name in columns_of(target)
    )


def by_parts(target: Fed, new: dict[str, Any]) -> None:
    """Delete key 1, change key 2, and add a new row, by a statement each."""
    name = quoted(target.name)
    target.connection.execute(f"delete from {name} where id = 1")
    target.connection.execute(f"update {name} set v = 'hand' where id = 2")
    target.connection.execute(f"insert into {name} values ({written(target, new)})")


def by_merge(target: Fed, new: dict[str, Any]) -> None:
    """Do the same by one MERGE."""
    target.connection.execute(
        f"""
        merge into {quoted(target.name)} as tgt
        using (select 1 as key union all select 2 union all select {new["id"]}) as src on tgt.id = src.key
        when matched and src.key = 1 then delete
        when matched and src.key = 2 then update set v = 'hand'
        when not matched then insert ({", ".join(columns_of(target))}) values ({written(target, new)})
        """
    )


def rows(target: Fed) -> list[tuple[Any, ...]]:
    """Return the rows, in order, without what nobody is to see."""
    found = read(target.connection, target.name)
    return sorted((tuple(v for n, v in row.items() if not n.startswith("__auto")) for row in found), key=repr)


NEW = {"id": 9, "v": "new", "seq": 0, "__start_at": 1}
# What the next delivery is, and what it makes of the rows, by mode.
NEXT: dict[str, tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]] = {
    # What was deleted stays away until a newer event, what was changed stays, what was added is older than any event.
    "type 1": (
        [*FIRST, (3, "d", 2), (9, "event", -5)],
        [(2, "hand", 1), (3, "d", 2), (9, "event", -5)],
    ),
    "type 1, partial": (
        [*FIRST, (2, None, 2), (9, None, 5)],
        [(2, "hand", 2), (3, "c", 1), (9, "new", 5)],
    ),
    # The row by hand is an upsert at 1. A model that reads its feed again brings back what is gone.
    "type 2": (
        [*FIRST, (2, "b2", 2), (9, "event", 2)],
        [
            (1, "a", 1, None),
            (2, "b2", 2, None),
            (2, "hand", 1, 2),
            (3, "c", 1, None),
            (9, "event", 2, None),
            (9, "new", 1, 2),
        ],
    ),
    "type 2, partial": (
        [*FIRST, (2, None, 2), (9, "event", 2)],
        [(1, "a", 1, None), (2, "hand", 1, None), (3, "c", 1, None), (9, "event", 2, None), (9, "new", 1, 2)],
    ),
    # The next dump is compared with the table as it is.
    "dumps, type 1": ([(1, "a", 2), (2, "b", 2), (3, "c", 2)], [(1, "a"), (2, "b"), (3, "c")]),
    "dumps, type 2": (
        [(1, "a", 2), (2, "b", 2), (3, "c", 2)],
        [(1, "a", 2, None), (2, "b", 2, None), (2, "hand", 1, 2), (3, "c", 1, None), (9, "new", 1, 2)],
    ),
    # Rows of a key stay until the key is delivered again, not older than they are.
    "replace_using": (
        [(2, "b2", 1), (9, "late", -1), (1, "back", 0)],
        [(1, "back", 0), (2, "b2", 1), (3, "c", 1), (9, "new", 0)],
    ),
    # In the range the next run puts everything right, outside it nothing.
    "replace_where": (FIRST, [(1, "a", 1), (2, "b", 1), (3, "c", 1), (9, "new", 0)]),
    "recomputed_table": (FIRST, FIRST),
    # Rows that were read are not read again, whatever became of them.
    "append_flow": ([*FIRST, (4, "d", 2)], [(2, "hand", 1), (3, "c", 1), (4, "d", 2), (9, "new", 0)]),
}


@pytest.mark.parametrize("mode", MODES)
def test_rows_by_hand_and_the_next_run(connection: Connection, mode: str) -> None:
    """INSERT, UPDATE and DELETE, and one MERGE of all three, mean the same; the next run goes on from what it finds."""
    feed, expected = NEXT[mode]
    for number, change in enumerate((by_parts, by_merge)):
        target = started(connection, mode, f"target_{number}")
        before = read(connection, target.name + FEED)
        change(target, NEW)
        assert before == read(connection, target.name + FEED)
        deliver(connection, feed)
        go_on(target, mode)
        assert sorted(expected, key=repr) == rows(target)


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "append_flow"])
def test_nothing_delivered_leaves_what_was_done_by_hand(connection: Connection, mode: str) -> None:
    """But for rows that are computed anew, and a dump that comes as a whole."""
    if mode in {"replace_where", "recomputed_table"}:
        pytest.skip("what is not computed is gone")
    target = started(connection, mode)
    by_merge(target, NEW)
    before = rows(target)
    deliver(connection, [])
    go_on(target, mode)
    assert before == rows(target)


def test_a_merge_into_a_bitemporal_target_is_refused(connection: Connection) -> None:
    """What was believed is not for correcting by hand: the run that meets it says which key, others go on."""
    target = Fed(connection)
    options = EVENTS | {
        "stored_as_scd_type": "bitemporal",
        "system_sequence_by": "seq",
        "except_column_list": ["seq"],
    }
    deliver(connection, FIRST)
    target.run(options)
    connection.execute(
        "merge into target as tgt using (select 2 as key) as src on tgt.id = src.key"
        " when matched then update set v = 'hand'"
    )
    deliver(connection, [(1, "a2", 2)])
    target.run(options)
    deliver(connection, [(2, "b2", 2)])
    with pytest.raises(AutoCdcError, match=r"are not what its events say, for example of id=2"):
        target.run(options)


@pytest.mark.parametrize("how", ["replace", "append"])
def test_rows_by_hand_take_part_by_their_sequence(connection: Connection, how: str) -> None:
    """A row by hand with a higher sequence keeps older deliveries of its key away."""
    options = MODES["replace_using"] | {"equal_sequence": how}
    target = Fed(connection)
    deliver(connection, FIRST)
    target.run(options)
    connection.execute("insert into target values (1, 'hand', 5)")
    deliver(connection, [(1, "late", 4), (2, "b", 2)])
    target.run(options)
    assert [(1, "a", 1), (1, "hand", 5), (2, "b", 2), (3, "c", 1)] == rows(target)
    deliver(connection, [(1, "new", 6)])
    target.run(options)
    assert [(1, "new", 6), (2, "b", 2), (3, "c", 1)] == rows(target)


def test_a_second_row_of_a_key_and_one_that_is_gone(connection: Connection) -> None:
    """The next event of a key leaves one row of it, whoever put in more; only rows that were there count as deleted."""
    target, options = Direct(connection), EVENTS | {"apply_as_deletes": "v = 'gone'"}
    deliver(connection, FIRST)
    target.run(options)
    connection.execute("insert into target values (1, 'hand', 1), (3, 'hand', 1)")
    connection.execute("delete from target where id = 2")
    deliver(connection, [(1, "z", 5), (2, "gone", 6), (3, "gone", 7)])
    figures = target.run(options).figures
    assert [{"id": 1, "v": "z", "seq": 5}] == target.rows()
    assert (1, 2) == (figures["num_upserted_rows"], figures["num_deleted_rows"])
