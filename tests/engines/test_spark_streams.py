"""Streams and flows on Spark and Sail: how far a run read is part of what is finished where it was stopped.

Not here: what streams and flows are (`tests/scenarios`), and runs that read everything (`test_spark`).
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import duckdb
import pytest

from dbt_auto_cdc.errors import AutoCdcError
from tests import databases
from tests.databases import Connection, Spark, Stopped, add_rows, create_table, tables_of, writes_what_stays
from tests.direct import Direct
from tests.flow_sql import FlowSql, compiled
from tests.stream_sql import Named, stream

pytestmark = pytest.mark.only_on("sail", "spark")

COLUMNS = {"n": "BIGINT", "id": "INTEGER", "v": "VARCHAR", "op": "VARCHAR", "seq": "BIGINT"}
# On Spark, where a statement takes seconds, fewer places to stop at are tried.
STRIDE = 1 if databases.chosen() == "sail" else 4
# How many statements that write to what stays the longest run may have.
MOST = 20


@dataclass(frozen=True)
class _Bare(Named):
    """A relation whose name stands in SQL as every engine takes it."""

    def __str__(self) -> str:
        return self.identifier


def read(name: str = "feed", **options: Any) -> str:
    """Return a SELECT of all columns of a stream."""
    return f"select * from {stream(_Bare(name), **{'offset': 'n', **options})} as streamed"


EVENTS = {"keys": ["id"], "sequence_by": "seq", "apply_as_deletes": "op = 'D'", "sequence_ties": "allow"}
HISTORY = {**EVENTS, "stored_as_scd_type": 2, "except_column_list": ["n", "op"]}
MODES: dict[str, tuple[dict[str, Any], str]] = {
    "auto_cdc": (HISTORY, read()),
    "append_flow": ({"materialized": "append_flow"}, read()),
    "replace_using": (
        {"materialized": "replace_using", "replace_using": ["id"], "sequence_by": "seq"},
        read(),
    ),
    "flows": (HISTORY, compiled(FlowSql("one", read()), FlowSql("old", "select * from old", {"once": True}))),
}


@pytest.fixture
def oracle() -> Iterator[Direct]:
    """Return a target that is kept by DuckDB, whose runs are transactions."""
    with duckdb.connect(config={"threads": 1}) as connection:
        yield Direct(connection)


def events(number: int) -> list[dict[str, Any]]:
    """Return some rows above all before them, of new and late events of few keys."""
    source = random.Random(number)
    return [
        {
            "n": number * 10 + place,
            "id": source.randint(1, 3),
            "v": source.choice(["it's", "b\\n", None]),
            "op": source.choice("UUUD"),
            "seq": number + source.randint(0, 3),
        }
        for place in range(source.randint(0, 4))
    ]


def rows(target: Direct) -> list[tuple[str, ...]]:
    """Return a target's rows as text, in any order, without the number of the run, which may leave some out."""
    return sorted(
        tuple(str(value) for name, value in row.items() if name != "__auto_cdc_run") for row in target.rows()
    )


def stopped(target: Direct, config: dict[str, Any], sql: str, after: int, **how: bool) -> bool:
    """Run until so many statements that write to what stays are done, and tell whether there was one more."""
    assert isinstance(target.connection, Spark)
    target.connection.stop_after, target.connection.counts = after, writes_what_stays
    try:
        target.run(config, sql=sql, **how)
    except Stopped:
        return True
    finally:
        target.connection.stop_after = None
    return False


def begun(connection: Connection, oracle: Direct) -> Direct:
    """Make the feeds on both sides, and return the target."""
    for each in (connection, oracle.connection):
        create_table(each, "feed", COLUMNS, events(1))
        create_table(each, "old", COLUMNS, events(5))
    return Direct(connection)


@pytest.mark.parametrize("mode", MODES)
def test_a_run_that_is_stopped(connection: Connection, oracle: Direct, mode: str) -> None:
    """Wherever a run is stopped, after a plain run each row of the stream was read once."""
    config, sql = MODES[mode]
    target = begun(connection, oracle)
    target.run(config, sql=sql)
    oracle.run(config, sql=sql)
    for number in range(MOST):
        for each in (connection, oracle.connection):
            add_rows(each, "feed", COLUMNS, events(number + 2))
        was_stopped = stopped(target, config, sql, after=number * STRIDE)
        if was_stopped:
            target.run(config, sql=sql)
        oracle.run(config, sql=sql)
        assert rows(oracle) == rows(target), number
        if not was_stopped:
            add_rows(connection, "feed", COLUMNS, [{"n": 1000, "id": 9, "op": "U", "seq": 1000}])
            target.run(config, sql=sql)
            assert {"feed", "old", "target", "target__auto_cdc"} == set(tables_of(connection))
            return
    raise AssertionError(f"a run has more than {MOST} statements")


@pytest.mark.parametrize("mode", ["append_flow", "flows"])
def test_a_build_that_is_stopped(connection: Connection, oracle: Direct, mode: str) -> None:
    """A first run that was stopped starts over; one that is complete goes on where it read to."""
    config, sql = MODES[mode]
    for number in range(MOST):
        target = begun(connection, oracle)
        was_stopped = stopped(target, config, sql, after=number * STRIDE)
        target.run(config, sql=sql)
        oracle.run(config, sql=sql, full_refresh=True)
        assert rows(oracle) == rows(target), number
        if not was_stopped:
            return
        for table in set(tables_of(connection)) - {"feed", "old"}:
            connection.execute(f"drop table {table}")
    raise AssertionError(f"a build has more than {MOST} statements")


def test_reading_what_others_appended(connection: Connection, oracle: Direct) -> None:
    """The target of one stream is a stream itself, by its runs; also of a run that was stopped behind its rows."""
    appends = {"materialized": "append_flow"}
    first = begun(connection, oracle)
    second, sql = Direct(connection, name="second"), read("target", offset=None)
    first.run(appends, sql=read())
    second.run(appends, sql=sql)
    add_rows(connection, "feed", COLUMNS, [{"n": 100, "id": 7, "v": "late"}])
    assert stopped(first, appends, read(), after=2)
    second.run(appends, sql=sql)
    first.run(appends, sql=read())
    outcome = second.run(appends, sql=sql)
    assert {"num_output_rows": 0} == outcome.figures
    seen = [(row["n"], row["id"]) for row in second.rows()]
    assert sorted((row["n"], row["id"]) for row in [*events(1), {"n": 100, "id": 7}]) == sorted(seen)


def test_positions_of_other_types(connection: Connection) -> None:
    """An offset may be text with whatever in it, or a time of a zone; it goes on where it was, and can be forgotten."""
    columns = {"t": "VARCHAR", "at": "TIMESTAMPTZ"}
    create_table(connection, "feed", columns, [{"t": "a\\'\n", "at": "2026-03-01 00:00:00.000001+02"}])
    for number, offset in enumerate(columns):
        target = Direct(connection, name=f"by_{offset}", materialized="append_flow")
        sql = read(offset=offset)
        assert {"num_output_rows": number + 1} == target.run({}, sql=sql).figures
        assert {"num_output_rows": 0} == target.run({}, sql=sql).figures
        later = {"t": "b\\", "at": f"2026-03-01 00:00:00.000001+0{1 - number}"}
        add_rows(connection, "feed", columns, [later])
        assert {"num_output_rows": 1} == target.run({}, sql=sql).figures
        target.reset_streams(None)
        assert {"num_output_rows": number + 2} == target.run({}, sql=sql).figures


def test_a_change_feed_is_refused(connection: Connection) -> None:
    """What cannot be read, and whole dumps beside changes, is refused where the model's SQL says so."""
    sql = read(offset=None, change_feed=True)
    with pytest.raises(AutoCdcError, match="it streams a change feed, which is not served on Spark"):
        Direct(connection).plan(EVENTS, sql=sql)
    dumps = compiled(
        FlowSql("changes", "select * from feed"),
        FlowSql("dump", "select * from feed", {"snapshot_version": "seq"}),
    )
    with pytest.raises(
        AutoCdcError, match="it has a flow of whole dumps beside changes, which is not served"
    ):
        Direct(connection).plan({"keys": ["id"], "sequence_by": "seq"}, sql=dumps)
