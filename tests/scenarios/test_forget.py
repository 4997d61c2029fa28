"""Forgetting keys: gone from every table, told to the change feed without a value, and nothing else is touched.

Not here: the run-operation (`dbt/test_beside.py`).
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from dbt_auto_cdc import operations
from dbt_auto_cdc.errors import AutoCdcError
from tests import databases
from tests.databases import Connection, create_table, tables_of
from tests.direct import Direct
from tests.fed import FEED, Fed, read
from tests.stream_sql import stream

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dbt_auto_cdc.execute import Outcome

pytestmark = pytest.mark.transactional
EVENTS: dict[str, Any] = {
    "keys": ["id"],
    "sequence_by": "seq",
    "apply_as_deletes": "op = 'D'",
    "except_column_list": ["op", "seq"],
}
NOON = dt.datetime.fromisoformat("2026-03-01 12:00:00")
TYPES = {"id": "INTEGER", "v": "VARCHAR", "seq": "BIGINT", "op": "VARCHAR"}
BITEMPORAL = EVENTS | {"stored_as_scd_type": "bitemporal", "system_sequence_by": "known"}
BITEMPORAL["except_column_list"] = ["op", "seq", "known"]
SNAPSHOTS = {
    "materialized": "auto_cdc_snapshot",
    "keys": ["id"],
    "snapshot_version": "seq",
    "stored_as_scd_type": 2,
}


@pytest.fixture
def connection(engine: str) -> Iterator[Connection]:
    with databases.connect(engine) as connection:
        yield connection


def run(target: Fed, options: dict[str, Any], *rows: tuple[Any, ...], types: dict[str, str] = TYPES) -> None:
    create_table(target.connection, "feed", types, [dict(zip(types, row, strict=True)) for row in rows])
    target.run(options)


def forget(target: Fed, options: dict[str, Any], keys: object) -> tuple[str, Outcome]:
    """Forget keys of a target, and return what was said and what was done."""
    there = tables_of(target.connection)
    forgetting = operations.plan_forget(
        model=target._model(options, "select * from feed"),
        ask=lambda query: target.connection.execute(query).fetchall(),
        target_exists=target.name in there,
        target_is_view=there.get(target.name) == "VIEW",
        beside=list(there),
        keys=keys,
    )
    outcome = target.execute(forgetting.plan)
    return operations.forgotten(forgetting=forgetting, outcome=outcome), outcome


def everywhere(target: Fed, column: str = "id") -> dict[str, list[Any]]:
    """Return the keys that the tables have, each once."""
    return {
        name.removeprefix("target"): sorted(
            {row[column] for row in read(target.connection, name) if row[column] is not None}, key=repr
        )
        for name in tables_of(target.connection)
        if name.startswith("target")
    }


def told(target: Fed, version: int) -> list[dict[str, Any]]:
    """Return what the change feed has of a version, without nulls and the time."""
    rows = [row for row in read(target.connection, "target" + FEED) if row["_commit_version"] == version]
    return [
        {name: value for name, value in row.items() if value is not None and name != "_commit_timestamp"}
        for row in rows
    ]


@pytest.mark.parametrize(
    ("options", "types", "rows", "identity"),
    [
        (EVENTS, TYPES, [(1, "a", 1, "U"), (2, "b", 1, "U"), (1, "c", 2, "U")], {"id": 1}),
        (
            EVENTS | {"stored_as_scd_type": 2},
            TYPES,
            [(1, "a", 1, "U"), (2, "b", 1, "U"), (1, "a", 2, "U")],
            {"id": 1, "__start_at": 1},
        ),
        (EVENTS | {"ignore_null_updates": True}, TYPES, [(1, "a", 1, "U"), (2, "b", 1, "U")], {"id": 1}),
        (
            BITEMPORAL,
            TYPES | {"known": "BIGINT"},
            [(1, "a", 1, "U", 1), (2, "b", 1, "U", 1)],
            {"id": 1, "__start_at": 1, "__system_start_at": 1},
        ),
        (
            SNAPSHOTS,
            {"id": "INTEGER", "v": "VARCHAR", "seq": "BIGINT"},
            [(1, "a", 1), (2, "b", 1)],
            {"id": 1, "__start_at": 1},
        ),
        (
            {"materialized": "replace_using", "replace_using": ["id"], "sequence_by": "seq"},
            {"id": "INTEGER", "v": "VARCHAR", "seq": "BIGINT"},
            [(1, "a", 1), (1, "b", 1), (2, "b", 1)],
            {"id": 1},
        ),
    ],
    ids=["type-1", "type-2", "partial", "bitemporal", "snapshots", "replace_using"],
)
def test_a_key_goes_from_every_table(
    connection: Connection,
    options: dict[str, Any],
    types: dict[str, str],
    rows: list[tuple[Any, ...]],
    identity: dict[str, Any],
) -> None:
    """One row of the change feed remains, without a value; the other keys stay, and the next run goes on."""
    target = Fed(connection)
    run(target, options, *rows, types=types)
    said, outcome = forget(target, options, 1)
    after = everywhere(target)
    assert [1, 2] == after.pop("__auto_cdc_changes")
    assert all(1 not in keys for keys in after.values())
    assert [2] == after[""]
    assert [identity | {"_change_type": "delete", "_commit_version": 2}] == told(target, 2)
    assert [2] == sorted(
        row["id"] for row in read(connection, "target" + FEED) if row["_commit_version"] == 1
    )
    gone = sum(row[0] == 1 for row in rows) if "replace_using" in options else 1
    assert f"forgot {gone} row{'s' if gone > 1 else ''} of the target" in said
    assert [] == outcome.warnings
    later = [
        tuple(9 if name in {"seq", "known"} else value for name, value in zip(types, rows[1], strict=True))
    ]
    run(target, options, *later, types=types)


def test_a_deleted_key_is_forgotten_too(connection: Connection) -> None:
    """Its tombstone goes, and what the feed told of it, but for a delete: who did not read the first one needs it."""
    target = Fed(connection)
    run(target, EVENTS, (1, "a", 1, "U"), (2, "b", 1, "U"))
    run(target, EVENTS, (1, None, 2, "D"))
    said, _ = forget(target, EVENTS, [1])
    assert "forgot 0 rows of the target, 1 row of the companion, 2 rows of the change feed" in said
    assert [{"id": 1, "_change_type": "delete", "_commit_version": 3}] == told(target, 3)


def test_who_reads_the_feed_goes_on(connection: Connection) -> None:
    """Also where none of the versions that were read, and none that follows, had another key."""
    target = Fed(connection)
    copy = Direct(connection, name="copy")
    sql = f"select * from {stream('target', change_feed=True)} as s where _change_type <> 'update_preimage'"
    options = {
        "keys": ["id"],
        "sequence_by": "_commit_version",
        "apply_as_deletes": "_change_type = 'delete'",
    }
    run(target, EVENTS, (1, "a", 1, "U"))
    copy.run(options, sql=sql)
    run(target, EVENTS, (1, "b", 2, "U"))
    run(target, EVENTS, (1, "c", 3, "U"))
    forget(target, EVENTS, [1])
    assert [{"id": 1, "_change_type": "delete", "_commit_version": 1}] == told(target, 1)
    assert [{"id": 1, "_change_type": "delete", "_commit_version": 4}] == told(target, 4)
    copy.run(options, sql=sql)
    assert [] == copy.rows()
    run(target, EVENTS, (2, "a", 1, "U"))
    copy.run(options, sql=sql)
    assert [2] == [row["id"] for row in copy.rows()]


def test_after_that_an_old_event_counts_again(connection: Connection) -> None:
    """Nothing is remembered of the key: a feed that still has it brings it back. That is what forgetting means."""
    target = Fed(connection)
    run(target, EVENTS, (1, "a", 5, "U"))
    forget(target, EVENTS, 1)
    run(target, EVENTS, (1, "old", 1, "U"))
    assert [{"id": 1, "v": "old"}] == read(connection, "target")


def test_several_keys_and_unknown_ones(connection: Connection) -> None:
    """What is nowhere is told, with an example, and does no harm."""
    target = Fed(connection)
    run(target, EVENTS, *((key, "a", 1, "U") for key in range(1, 6)))
    said, outcome = forget(target, EVENTS, [1, "3", 77, 78])
    assert [2, 4, 5] == everywhere(target)[""]
    assert ["2 of the keys are nowhere to be found, for example id=77"] == outcome.warnings
    said, outcome = forget(target, EVENTS, [77])
    assert "forgot nothing" in said
    assert {1, 2} == {row["_commit_version"] for row in read(connection, "target" + FEED)}


def test_composite_keys_with_odd_names(connection: Connection) -> None:
    """Every column of a key is named, in any case; quotes and spaces in names and values are just characters."""
    target = Fed(connection)
    types = {'odd "name': "VARCHAR", "Part": "DATE", "seq": "BIGINT", "v": "VARCHAR"}
    options = {"keys": ['odd "name', "Part"], "sequence_by": "seq"}
    day = dt.date(2026, 3, 1)
    run(target, options, ("it's", day, 1, "a"), ("it's", dt.date(2026, 3, 2), 1, "b"), types=types)
    forget(target, options, {'ODD "name': "it's", "part": day})
    assert ["b"] == [row["v"] for row in read(connection, "target")]


@pytest.mark.parametrize(
    ("kind", "value", "other", "given"),
    [
        ("DECIMAL(9,2)", Decimal("1.50"), Decimal("2.00"), 1.5),
        ("TIMESTAMP", NOON, NOON + dt.timedelta(1), "2026-03-01 12:00:00"),
        ("VARCHAR", "007", "7", "007"),
        ("BOOLEAN", True, False, True),
        ("DOUBLE", 0.1, 0.2, 0.1),
    ],
)
def test_types_of_keys(connection: Connection, kind: str, value: Any, other: Any, given: Any) -> None:
    """A key is given as YAML has it: a number, a date, or text."""
    target = Fed(connection)
    types = {"id": kind, "seq": "BIGINT"}
    options = {"keys": ["id"], "sequence_by": "seq"}
    run(target, options, (value, 1), (other, 1), types=types)
    forget(target, options, [given])
    assert [other] == [row["id"] for row in read(connection, "target")]


def test_null_is_a_key_where_keys_may_be_null(connection: Connection) -> None:
    """replace_using has rows of a null key; the companion's own records are no rows."""
    target = Fed(connection)
    options = {"materialized": "replace_using", "replace_using": ["id"], "sequence_by": "seq"}
    types = {"id": "INTEGER", "seq": "BIGINT"}
    run(target, options, (None, 1), (1, 1), types=types)
    forget(target, options, [None])
    assert [1] == [row["id"] for row in read(connection, "target")]
    run(target, options, (None, 2), types=types)


def test_rows_without_keys_by_any_column(connection: Connection) -> None:
    """Where a model has no keys, columns are named; all rows that have the value go."""
    target = Fed(connection)
    types = {"person": "INTEGER", "v": "VARCHAR"}
    options = {"materialized": "append_flow"}
    run(target, options, (1, "a"), (1, "b"), (2, "c"), types=types)
    said, _ = forget(target, options, {"person": 1})
    assert "forgot 2 rows of the target" in said
    assert ["c"] == [row["v"] for row in read(connection, "target")]
    assert [{"person": 1, "_change_type": "delete", "_commit_version": 2}] == told(target, 2)
    with pytest.raises(AutoCdcError, match="keys name __auto_cdc_run, which is no column"):
        forget(target, options, {"__auto_cdc_run": 1})


def test_the_quarantine_forgets_too(connection: Connection) -> None:
    """Rows that expectations dropped are rows of a key as well; where nobody can tell whose they are it is refused."""
    target = Fed(connection)
    run(target, EVENTS, (1, "a", 1, "U"))
    create_table(
        connection,
        '"target__auto_cdc_quarantine"',
        {"ID": "VARCHAR", "v": "VARCHAR"},
        [{"ID": "1", "v": "x"}],
    )
    said, _ = forget(target, EVENTS, 1)
    assert "1 row of the quarantine" in said
    create_table(connection, '"target__auto_cdc_quarantine"', {"v": "VARCHAR"}, [{"v": "x"}])
    with pytest.raises(AutoCdcError, match=r"has no column id, so nobody can tell whose rows it has"):
        forget(target, EVENTS, 1)


def test_without_a_feed_nothing_is_told(connection: Connection) -> None:
    """Target and companion are all there is."""
    target = Fed(connection)
    create_table(connection, "feed", TYPES, [{"id": 1, "v": "a", "seq": 1, "op": "U"}])
    super(Fed, target).run(EVENTS)
    said, _ = forget(target, EVENTS, 1)
    assert "forgot 1 row of the target, 1 row of the companion;" in said
    assert "target" + FEED not in tables_of(connection)


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        (None, r"forget needs to know the keys; write keys: \[\{id: \.\.\., part: \.\.\.\}\]"),
        ([], r"forget needs to know the keys"),
        ([1], r"its keys are id, part, and 1 names no column; write keys: \[\{id"),
        ([{"id": 1}], r"keys lack part; name every column of a key: id, part"),
        ([{"id": 1, "part": 1, "prt": 2}], r"keys name prt, which is no key of .*; did you mean part\?"),
        ([{"id": 1.5, "part": "x"}], r"id is 1\.5, and the column has type .*; write a whole number"),
        ([{"id": "one", "part": "x"}], r"id is 'one', and the column has type"),
        ([{"id": True, "part": "x"}], r"id is True"),
        ([{"id": [1], "part": "x"}], r"id is \[1\]; write one value"),
    ],
)
def test_bad_keys_are_refused(connection: Connection, keys: object, says: str) -> None:
    """With what to write instead, before anything is looked for."""
    target = Fed(connection)
    types = {"id": "INTEGER", "part": "VARCHAR", "seq": "BIGINT"}
    options = {"keys": ["id", "part"], "sequence_by": "seq"}
    run(target, options, (1, "x", 1), types=types)
    with pytest.raises(AutoCdcError, match=says):
        forget(target, options, keys)
    assert 1 == len(read(connection, "target"))


def test_a_target_that_is_not_there(connection: Connection) -> None:
    """There is nothing to forget."""
    create_table(connection, "feed", TYPES, [])
    with pytest.raises(AutoCdcError, match="there is nothing to forget"):
        forget(Fed(connection), EVENTS, 1)
