"""Random streams, straight on the engine: each row of a source is read exactly once, whatever comes between the runs.

Not here: dbt, refusals and worked steps (`scenarios/test_streams`), kills (`reliability`).
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import databases
from tests.databases import Connection, create_table
from tests.direct import Direct
from tests.flow_sql import FlowSql, compiled
from tests.replace_model import ReplaceUsing
from tests.stream_sql import stream
from tests.watched import examples

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Offsets:
    """A type of offsets: its name, the value at each place in the order, and a distance of two places."""

    type: str
    at: Callable[[int], Any]
    two_places: Any = None

    def __repr__(self) -> str:
        return self.type


DAY = dt.datetime(2026, 2, 27, 23, 59, 58)  # noqa: DTZ001 - a time without a zone is what is tested
TEXTS = ["A'", "Z", "a\nb", "a", 'b"\\', "z", "é", "Ω", "日"]
OFFSETS = [
    Offsets("INTEGER", lambda place: place - 7, 2),
    Offsets("BIGINT", lambda place: place * 10**15, 2 * 10**15),
    Offsets("DECIMAL(18,3)", lambda place: Decimal(place) / 8 - 1, 0.25),
    Offsets("DOUBLE", lambda place: place / 10 - 0.3, 0.2),
    Offsets("DATE", lambda place: DAY.date() + dt.timedelta(days=place), "2 days"),
    Offsets("TIMESTAMP", lambda place: DAY + dt.timedelta(seconds=place / 2, microseconds=place), "1 second"),
    Offsets(
        "TIMESTAMPTZ", lambda place: (DAY + dt.timedelta(hours=place)).astimezone(dt.timezone.utc), "2 hours"
    ),
    # Ordered by bytes: capitals first, and what is not ASCII last.
    Offsets("VARCHAR", lambda place: TEXTS[place // 4] + "abcd"[place % 4]),
]


@dataclass
class Source:
    """A table that rows are added to, in the order of their offsets: one place may have several rows of one run."""

    connection: Connection
    name: str
    offsets: Offsets
    place: int = 0
    rows: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        create_table(
            self.connection, self.name, {"id": "INTEGER", "v": "INTEGER", "at": self.offsets.type}, []
        )

    def add(self, batch: list[tuple[int, int]]) -> list[dict[str, Any]]:
        """Add rows, of keys and whether each shares the place of the one before, all above what was there."""
        added = []
        for number, (key, step) in enumerate(batch):
            self.place += step if number else 1
            row = {"id": key, "v": len(self.rows), "at": self.offsets.at(self.place)}
            value = f"cast(? as {databases.spelled(self.connection, self.offsets.type)})"
            self.connection.execute(f"insert into {self.name} values (?, ?, {value})", list(row.values()))
            self.rows.append(row)
            added.append(row)
        return added


@pytest.fixture(scope="module")
def connection(engine: str) -> Iterator[Connection]:
    with databases.connect(engine) as connection:
        if engine == "duckdb":
            connection.execute("set timezone = 'Asia/Kathmandu'")
        yield connection


def fresh(connection: Connection, materialized: str) -> Direct:
    for table in ("target", "target__auto_cdc"):
        connection.execute(f"drop table if exists {table}")
    return Direct(connection, materialized=materialized)


batches = st.lists(
    st.tuples(st.lists(st.tuples(st.integers(1, 4), st.integers(0, 1)), max_size=5), st.integers(0, 2)),
    min_size=1,
    max_size=5,
)


def values(rows: list[dict[str, Any]]) -> Counter[tuple[Any, ...]]:
    return Counter((row["id"], row["v"]) for row in rows)


@settings(max_examples=examples(40, 2000))
@given(runs=batches, of=st.sampled_from(OFFSETS), other=st.sampled_from(OFFSETS))
def test_rows_are_appended_once(connection: Connection, runs: list[Any], of: Offsets, other: Offsets) -> None:
    """Two streams in one model, in any number of runs; rows are added to either, or to none, between them.

    The target of the streams is itself a stream for another one, which needs no offset.
    """
    one, two = Source(connection, "one", of), Source(connection, "two", other)
    target = fresh(connection, "append_flow")
    connection.execute("drop table if exists further")
    connection.execute("drop table if exists further__auto_cdc")
    further = Direct(connection, "further", materialized="append_flow")
    sql = (
        f"select id, v from {stream('one', offset='at')} as s where id <> 4\n"
        f"union all select -id, v from {stream('two', offset='at')} as s"
    )
    seen: list[dict[str, Any]] = []
    for batch, which in runs:
        seen += [row for row in one.add(batch) if row["id"] != 4] if which != 1 else []
        seen += [{**row, "id": -row["id"]} for row in two.add(batch[:3])] if which != 0 else []
        before = sum(values(target.rows()).values()) if "target" in databases.tables_of(connection) else 0
        outcome = target.run({}, sql=sql)
        assert len(seen) - before == outcome.figures["num_output_rows"]
        assert values(seen) == values(target.rows())
        if which:
            further.run({}, sql=f"select * from {stream('target', model='further')} as s")
            assert values(seen) == values(further.rows())
    runs_of_rows = Counter(row["__auto_cdc_run"] for row in target.rows())
    assert 0 == target.run({}, sql=sql).figures["num_output_rows"]
    assert runs_of_rows == Counter(row["__auto_cdc_run"] for row in target.rows())


KINDS: dict[str, dict[str, Any]] = {
    "1": {},
    "2": {"stored_as_scd_type": 2},
    "partial": {"ignore_null_updates": True},
    "bitemporal": {"stored_as_scd_type": "bitemporal", "system_sequence_by": "v"},
}


@settings(max_examples=examples(30, 2000))
@given(
    runs=batches,
    of=st.sampled_from(OFFSETS),
    kind=st.sampled_from(list(KINDS)),
    again=st.booleans(),
)
def test_events_that_are_read_once_give_the_table_of_all(
    connection: Connection, runs: list[Any], of: Offsets, kind: str, again: bool
) -> None:
    """A model that streams its feed keeps the table of one that reads all of it, looking back or not."""
    source = Source(connection, "one", of)
    config = {"keys": ["id"], "sequence_by": "v", "apply_as_deletes": "v % 5 = 4", **KINDS[kind]}
    streaming = fresh(connection, "auto_cdc")
    connection.execute("drop table if exists whole")
    connection.execute("drop table if exists whole__auto_cdc")
    whole = Direct(connection, "whole")
    again = again and of.two_places is not None
    options = {"offset": "at", "look_back": of.two_places if again else None}
    read = f"select id, v, v % 2 as w from {stream('one', **options)} as s"
    last = 0
    for batch, _ in runs:
        source.add(batch)
        measured = streaming.run(config, sql=read).measures["num_read_rows"]
        whole.run(config, sql="select id, v, v % 2 as w from one")
        assert shown(whole) == shown(streaming)
        if not again:
            assert len(source.rows) - last == measured
        last = len(source.rows)


def shown(target: Direct) -> list[Any]:
    return sorted(tuple(map(str, row.values())) for row in target.rows())


@settings(max_examples=examples(30, 1500))
@given(runs=batches, of=st.sampled_from(OFFSETS))
def test_rows_of_keys_are_replaced_once(connection: Connection, runs: list[Any], of: Offsets) -> None:
    """replace_using: of rows that are streamed, those at the stored sequence of their key are added."""
    source = Source(connection, "one", of)
    target = fresh(connection, "replace_using")
    model = ReplaceUsing(["id"], "seq", equal="append")
    sql = f"select id, v / 3 * 0 + id % 2 + (v - v % 4) as seq, v from {stream('one', offset='at')} as s"
    for batch, _ in runs:
        added = source.add(batch)
        target.run({"replace_using": ["id"], "sequence_by": "seq"}, sql=sql)
        model.apply([{"id": r["id"], "seq": r["id"] % 2 + r["v"] - r["v"] % 4, "v": r["v"]} for r in added])
        assert values(model.rows()) == values(target.rows())


@settings(max_examples=examples(25, 1500))
@given(runs=batches, of=st.sampled_from(OFFSETS), first=st.integers(0, 5))
def test_flows_are_appended_once(connection: Connection, runs: list[Any], of: Offsets, first: int) -> None:
    """Flow blocks: streams side by side, one that lacks a column, and a history that is read once."""
    one, two = Source(connection, "one", of), Source(connection, "two", OFFSETS[0])
    create_table(connection, "old", {"id": "INTEGER"}, [{"id": 100 + number} for number in range(first)])
    target = fresh(connection, "append_flow")
    sql = compiled(
        FlowSql("old", "select * from old", {"once": True}),
        FlowSql("one", f"select id, v from {stream('one', offset='at')} as s"),
        FlowSql("two", f"select v, -id as id from {stream('two', offset='at')} as s where v % 2 = 0"),
    )
    expected = [{"id": 100 + number, "v": None} for number in range(first)]
    for batch, _ in runs:
        expected += one.add(batch)
        expected += [{**row, "id": -row["id"]} for row in two.add(batch) if row["v"] % 2 == 0]
        target.run({}, sql=sql)
        assert values(expected) == values(target.rows())
