"""Targets that move with all that is beside them, and feeds that are trimmed, on the engine itself.

Not here: the run-operations (`dbt/test_beside.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dbt_auto_cdc import bridge, operations
from dbt_auto_cdc.errors import AutoCdcError
from tests import databases
from tests.databases import Connection, adapter_of, create_table
from tests.direct import Direct
from tests.fed import FEED, Fed, read
from tests.stream_sql import stream

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.transactional
TYPES = {"id": "INTEGER", "v": "VARCHAR", "day": "INTEGER", "n": "INTEGER"}
# What lists the indexes of a schema, where there are any.
INDEXES = {
    "duckdb": "select index_name from duckdb_indexes() where schema_name = '{}'",
    "postgres": "select indexname from pg_indexes where schemaname = '{}' and tablename = 'moved'",
}
OPTIONS: dict[str, Any] = {
    "keys": ["id"],
    "sequence_by": "day" if databases.chosen() == "ducklake" else ["day", "n"],
    "except_column_list": ["day", "n"],
    "stored_as_scd_type": 2,
    "change_data_feed": True,
}


@pytest.fixture
def connection(engine: str) -> Iterator[Connection]:
    with databases.connect(engine) as connection:
        yield connection


def deliver(connection: Connection, *rows: tuple[Any, ...]) -> None:
    create_table(connection, "feed", TYPES, [dict(zip(TYPES, row, strict=True)) for row in rows])


def relation(connection: Connection, identifier: str, schema: str = "") -> Any:
    """Return a relation as dbt has it."""
    if adapter_of(connection) == "postgres":
        from dbt.adapters.postgres.relation import PostgresRelation as Made
    else:
        from dbt.adapters.duckdb.relation import DuckDBRelation as Made

    ((database, own),) = connection.execute("select current_database(), current_schema()").fetchall()
    return Made.create(database=database, schema=schema or own, identifier=identifier, type="table")


def tables_in(connection: Connection, schema: str) -> dict[str, str]:
    query = f"select table_name, table_type from information_schema.tables where table_schema = '{schema}'"
    return dict(connection.execute(query).fetchall())


def move(target: Fed, source: Any, destination: Any) -> str:
    """Move a target, and return what was done."""
    there, here = (tables_in(target.connection, place.schema) for place in (source, destination))
    model = bridge.open_model(
        name=destination.identifier,
        adapter_type=adapter_of(target.connection),
        config=OPTIONS,
        written=OPTIONS,
        identifier=destination.identifier,
        target=str(destination),
        sql="select * from feed",
        beside=destination.incorporate,
    )
    plan = operations.plan_move(
        model=model,
        adapter_type=adapter_of(target.connection),
        source=source,
        destination=destination,
        source_beside=list(there),
        destination_beside=list(here),
        source_kind="table" if source.identifier in there else "",
        destination_kind="table" if destination.identifier in here else "",
        contract="",
        ask=lambda query: target.connection.execute(query).fetchall(),
    )
    target.execute(plan)
    return plan.action


def test_a_target_with_another_name_goes_on(connection: Connection) -> None:
    """Rows, companion, feed and the type of its sequence: late events and a rebuild find what they need."""
    target = Fed(connection)
    deliver(connection, (1, "a", 1, 1), (1, "c", 3, 1), (2, "b", 1, 1))
    target.run(OPTIONS)
    before = read(connection, "target")
    done = move(target, relation(connection, "target"), relation(connection, "moved"))
    assert "moved" in done
    moved = Fed(connection, name="moved")
    assert before == read(connection, "moved")
    assert not [name for name in databases.tables_of(connection) if name.startswith("target")]
    deliver(connection, (1, "late", 2, 1))
    moved.run(OPTIONS)
    assert {1, 2} == {row["_commit_version"] for row in read(connection, "moved" + FEED)}
    # Another model may have the old name, and the moved one is built anew.
    target.run(OPTIONS)
    super(Fed, moved).run(OPTIONS, full_refresh=True)
    assert ["late"] == [row["v"] for row in read(connection, "moved")]


def test_a_target_in_another_schema(connection: Connection) -> None:
    """All that is beside it goes along; indexes are there afterwards, and what is in the way stops it."""
    target = Fed(connection)
    deliver(connection, (1, "a", 1, 1))
    target.run(OPTIONS)
    listed = INDEXES.get(adapter_of(connection))
    if listed:
        connection.execute("create index of_target on target (id)")
    own = relation(connection, "target").schema
    other = f"other_{own}"
    connection.execute(f'create schema "{other}"')
    try:
        connection.execute(f'create table "{other}"."moved__auto_cdc" (id integer)')
        with pytest.raises(AutoCdcError, match=r"moved__auto_cdc\"? is there already; drop or rename it"):
            move(target, relation(connection, "target"), relation(connection, "moved", other))
        connection.execute(f'drop table "{other}"."moved__auto_cdc"')
        move(target, relation(connection, "target"), relation(connection, "moved", other))
        assert {"moved", "moved__auto_cdc", "moved__auto_cdc_changes"} == set(tables_in(connection, other))
        assert {"feed"} == set(tables_in(connection, own))
        if listed:
            assert [("of_target",)] == connection.execute(listed.format(other)).fetchall()
    finally:
        connection.execute(f'drop schema "{other}" cascade')


@pytest.mark.parametrize(
    ("limit", "left"),
    [
        ({"keep_last": 2}, [3, 4]),
        ({"keep_last": 9}, [1, 2, 3, 4]),
        ({"older_than": "1 hour"}, [1, 2, 3, 4]),
        ({"older_than": "2999-01-01 00:00"}, [4]),
        ({"older_than": "2000-01-01"}, [1, 2, 3, 4]),
    ],
)
def test_versions_that_stay(connection: Connection, limit: dict[str, Any], left: list[int]) -> None:
    """Whole versions go, from the first one on; the last one stays, and the next run follows it."""
    target = Fed(connection)
    for day in range(1, 5):
        deliver(connection, (1, f"v{day}", day, 1))
        target.run(OPTIONS)
    given = {"keep_last": None, "older_than": None, **limit}
    for plan in operations.plan_trim(
        name="target",
        adapter_type=adapter_of(connection),
        feed=f'"target{FEED}"',
        quarantine="",
        log="",
        companion="",
        tables=None,
        **given,
    ):
        target.execute(plan)
    assert left == sorted({row["_commit_version"] for row in read(connection, "target" + FEED)})
    deliver(connection, (1, "v5", 5, 1))
    target.run(OPTIONS)
    assert 5 == max(row["_commit_version"] for row in read(connection, "target" + FEED))


def test_a_stream_that_missed_versions_is_refused(connection: Connection) -> None:
    """Where a feed was trimmed beyond what was read, or began anew, its reader says so; else it goes on."""
    target, reader = Fed(connection), Direct(connection, "reader", materialized="append_flow")
    sql = f"select id, v, _change_type from {stream('target', change_feed=True)} as s"

    def change(day: int) -> None:
        deliver(connection, (1, f"v{day}", day, 1))
        target.run(OPTIONS)

    def trim() -> None:
        adapter, feed = adapter_of(connection), f'"target{FEED}"'
        for plan in operations.plan_trim(
            name="target",
            adapter_type=adapter,
            feed=feed,
            quarantine="",
            log="",
            companion="",
            keep_last=1,
            older_than=None,
            tables=None,
        ):
            target.execute(plan)

    change(1)
    reader.run({}, sql=sql)
    change(2)
    trim()
    reader.run({}, sql=sql)
    change(3)
    change(4)
    trim()
    with pytest.raises(
        AutoCdcError, match=r"lacks versions behind 2, up to which it was read: it was trimmed"
    ):
        reader.run({}, sql=sql)


def test_the_log_keeps_the_last_runs_of_each_model(connection: Connection) -> None:
    """Of each model by itself."""
    types = {"model": "VARCHAR", "started_at": "TIMESTAMP"}
    rows = [{"model": model, "started_at": f"2026-03-0{day} 00:00:00"} for model in "ab" for day in (1, 2, 3)]
    create_table(connection, "log", types, rows[:5])
    (plan,) = operations.plan_trim(
        name="a",
        adapter_type=adapter_of(connection),
        feed="",
        quarantine="",
        log="log",
        companion="",
        keep_last=1,
        older_than=None,
        tables=["event_log"],
    )
    Fed(connection).execute(plan)
    found = connection.execute("select model, cast(started_at as date) from log order by 1").fetchall()
    assert [("a", "2026-03-03"), ("b", "2026-03-02")] == [(model, str(day)) for model, day in found]


@pytest.mark.parametrize("limit", [{"keep_last": 1}, {"older_than": "2026-03-02"}])
def test_the_quarantine_keeps_the_last_runs(connection: Connection, limit: dict[str, Any]) -> None:
    """All rows of a run stay, or go."""
    rows = [
        {"id": key, "_quarantined_at": f"2026-03-0{day} 00:00:00"} for key, day in ((1, 1), (2, 2), (3, 2))
    ]
    create_table(connection, "dropped", {"id": "INTEGER", "_quarantined_at": "TIMESTAMP"}, rows)
    given = {"keep_last": None, "older_than": None, **limit}
    (plan,) = operations.plan_trim(
        name="target",
        adapter_type=adapter_of(connection),
        feed="",
        quarantine="dropped",
        log="",
        companion="",
        tables=None,
        **given,
    )
    Fed(connection).execute(plan)
    assert [2, 3] == sorted(row["id"] for row in read(connection, "dropped"))
