"""Engines that are not run here: what of their statements DuckDB understands, it runs, with streams that are stopped.

Not here: whether the engines themselves take them (`tests/unit/test_golden` parses them, and no more than that).
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import duckdb
import pytest

from dbt_auto_cdc.engines import engine_for
from dbt_auto_cdc.engines.base import Engine
from dbt_auto_cdc.engines.duckdb import DuckDB
from dbt_auto_cdc.materializations import journal
from tests.at_once import Both, builds_at_once, runs_at_once
from tests.databases import Stopped, add_rows, create_table, stop, tables_of
from tests.direct import Direct, has_written
from tests.flow_sql import FlowSql, compiled
from tests.stream_sql import stream

pytestmark = pytest.mark.only_on("duckdb")

# Databricks is as Spark is, which is run.
RENDERED = ("bigquery", "redshift", "snowflake", "trino")
# What DuckDB calls by other names.
MACROS = """
create macro generate_uuid() as cast(uuid() as varchar);
create macro uuid_string() as cast(uuid() as varchar);
create macro to_json_string(value) as coalesce(cast(to_json(value) as varchar), 'null');
create macro equal_null(a, b) as a is not distinct from b;
create macro bitshiftright(a, b) as a >> b;
create macro bitwise_right_shift(a, b) as a >> b;
"""
COLUMNS = {
    "id": "INTEGER",
    "part": "VARCHAR",
    "v": "VARCHAR",
    "op": "VARCHAR",
    "seq": "BIGINT",
    "n": "BIGINT",
}
EVENTS = {
    "keys": ["id", "part"],
    "sequence_by": "seq",
    "apply_as_deletes": "op = 'D'",
    "sequence_ties": "allow",
}
DUMPS = {"materialized": "auto_cdc_snapshot", "keys": ["id", "part"], "snapshot_version": "seq"}
REPLACE_USING = {"materialized": "replace_using", "replace_using": ["id", "part"], "sequence_by": "seq"}
MODES: dict[str, dict[str, Any]] = {
    "scd1": {**EVENTS, "apply_as_truncates": "op = 'T'", "except_column_list": ["op", "seq"]},
    "scd1_expectations": {
        **EVENTS,
        "expect_all": {"known": "v is not null"},
        "expect_all_or_drop": {"has_part": "part <> '-'", "has_value": "v <> 'c'"},
        "expectations_quarantine": True,
        "tombstone_retention": 4,
    },
    "scd1_plain": {**EVENTS, "except_column_list": ["op", "seq"]},
    "scd2": {
        **EVENTS,
        "stored_as_scd_type": 2,
        "track_history_column_list": ["v"],
        "except_column_list": ["op"],
    },
    "bitemporal": {
        **EVENTS,
        "stored_as_scd_type": "bitemporal",
        "system_sequence_by": "n",
        "except_column_list": ["op", "n"],
    },
    "snapshot_scd1": {**DUMPS, "max_delete_ratio": 1.0},
    "snapshot_scd2": {**DUMPS, "stored_as_scd_type": 2, "track_history_except_column_list": ["op"]},
    "append_flow": {"materialized": "append_flow"},
    "stream": {"materialized": "append_flow"},
    "stream_flows": {**EVENTS, "stored_as_scd_type": 2, "except_column_list": ["n", "op"]},
    "replace_using": REPLACE_USING,
    "replace_using_appended": {**REPLACE_USING, "equal_sequence": "append"},
    "replace_where": {"materialized": "replace_where", "replace_where": "id between 1 and 2"},
}
RUNS = 8
# Of two runs at once not every place to come in at is tried: that takes minutes.
STRIDE, MOST = 3, 40
AT_ONCE = [
    "scd1",
    "scd1_plain",
    "scd2",
    "snapshot_scd2",
    "append_flow",
    "stream",
    "stream_flows",
    "replace_using",
    "replace_using_appended",
]


def lent(adapter_type: str, **facts: Any) -> Engine:
    """Return an engine with DuckDB's types, catalog and quotes in the place of its own, and facts of another one."""
    engine = engine_for(adapter_type)
    assert engine is not None

    class Lent(type(engine)):  # type: ignore[misc]
        creates = "create or replace table"
        quote = Engine.quote
        folded = Engine.folded
        text = Engine.text
        described = Engine.described
        describe = DuckDB.describe
        describe_relation = Engine.describe_relation
        is_orderable = DuckDB.is_orderable
        has_equality = Engine.has_equality
        utc_now = DuckDB.utc_now

    return Lent(**{**vars(engine), "moment_type": "timestamp", **facts})


class Borrowed:
    """A connection to DuckDB that takes statements one by one, each for itself, and can stop before one."""

    def __init__(self, raw: duckdb.DuckDBPyConnection, engine: Engine) -> None:
        self.raw, self.engine = raw, engine
        self.stop_after: int | None = None
        self.stops = stop
        self.written = 0

    def execute(self, sql: str, parameters: Any = None) -> Any:
        found: Any = None
        for statement in self.engine.statements(sql):
            code = "\n".join(line for line in statement.splitlines() if not line.startswith("--"))
            if not code.lstrip().startswith(("select", "with")):
                if self.stop_after == 0:
                    self.stop_after = None
                    self.stops()
                elif self.stop_after is not None:
                    self.stop_after -= 1
                self.written += 1
            found = self.raw.execute(statement, parameters)
        return found

    def executemany(self, sql: str, rows: Any) -> None:
        self.raw.executemany(sql, rows)


@contextmanager
def borrowed(monkeypatch: pytest.MonkeyPatch, adapter_type: str, **facts: Any) -> Iterator[Borrowed]:
    """Give a DuckDB that is planned for as another engine is."""
    engine = lent(adapter_type, **facts)
    with monkeypatch.context() as patched, duckdb.connect(config={"threads": 1}) as raw:
        raw.execute(MACROS)
        for place in (
            "dbt_auto_cdc.engines",
            "dbt_auto_cdc.bridge",
            "dbt_auto_cdc.relations",
            "tests.databases",
        ):
            patched.setattr(f"{place}.engine_for", lambda _: engine)
        yield Borrowed(raw, engine)


def feed(number: int, mode: str) -> list[dict[str, Any]]:
    """Return some new, late, repeated and contradicting events of few keys that look alike, or some dumps."""
    source = random.Random(f"{mode} {number}")
    if mode.startswith("snapshot"):
        versions = [2 * number, 2 * number + 1][: source.randint(1, 2)]
        keys = [(number, part) for number in (1, 2, 12) for part in ("3", "23", "'")]
        return [
            {"id": key, "part": part, "v": source.choice("ab"), "op": source.choice("IU"), "seq": version}
            for version in versions
            for key, part in source.sample(keys, source.randint(3, len(keys)))
        ]
    kinds = "IIIIUUUUDDT" if mode == "scd1" else "IIIUUUDD"
    return [
        {
            "id": source.choice([1, 2, 12]),
            "part": source.choice(["3", "23", "'", "-"]),
            "v": source.choice(["it's", "b\\n", "c", None]),
            "op": source.choice(kinds),
            "seq": number * 2 + source.randint(0, 6),
            "n": number * 9 + place,
        }
        for place in range(source.randint(3, 8))
    ]


# Of every run another one: a number, which may leave some out, and times.
OF_THE_RUN = {"__auto_cdc_run", "_run_id", "_quarantined_at"}


def rows(target: Direct) -> list[tuple[str, ...]]:
    """Return a target's rows as text, in any order, and what is in its quarantine."""
    kept = {"target__auto_cdc_quarantine"} & set(tables_of(target.connection))
    every = [target, *(Direct(target.connection, name=name) for name in kept)]
    return sorted(
        tuple(str(value) for name, value in row.items() if name not in OF_THE_RUN)
        for each in every
        for row in each.rows()
    )


def fill(connection: Any, number: int, mode: str) -> None:
    """Bring a run's rows into the feed: in the place of those before, or behind them where it is read as a stream."""
    if mode.startswith("stream") and number:
        add_rows(connection, "feed", COLUMNS, feed(number, mode))
    else:
        create_table(connection, "feed", COLUMNS, feed(number, mode))


def right(mode: str) -> list[list[tuple[str, ...]]]:
    """Return what the target holds after each run, as DuckDB's own engine keeps it."""
    found = []
    with duckdb.connect(config={"threads": 1}) as connection:
        target = Direct(connection)
        for number in range(RUNS):
            fill(connection, number, mode)
            target.run(MODES[mode], sql=model_of(mode))
            found.append(rows(target))
    return found


def model_of(mode: str) -> str:
    """Return what the model selects."""
    read = f"select * from {stream('feed', offset='n')} as streamed" if mode.startswith("stream") else ""
    if mode == "stream_flows":
        return compiled(FlowSql("new", read), FlowSql("first", "select * from feed", {"once": True}))
    return read or "select * from feed"


@pytest.mark.parametrize("adapter_type", RENDERED)
@pytest.mark.parametrize("mode", MODES)
def test_streams_that_are_stopped(monkeypatch: pytest.MonkeyPatch, mode: str, adapter_type: str) -> None:
    """The statements keep the tables that they should, also where a run is stopped between any two of them."""
    expected, source = right(mode), random.Random(f"{mode} {adapter_type}")
    with borrowed(monkeypatch, adapter_type) as connection:
        assert_right(connection, mode, expected, source)


def test_streams_to_which_rows_are_added_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same where rows that change and rows that come are merged by statements of their own, as on Spark."""
    expected = right("scd1_plain")
    with borrowed(monkeypatch, "snowflake", adds_apart=True) as connection:
        assert_right(connection, "scd1_plain", expected, random.Random("apart"))


def assert_right(
    connection: Borrowed, mode: str, expected: list[list[tuple[str, ...]]], source: random.Random
) -> None:
    """A stream of events, of which many runs are stopped, leaves what it should, and nothing else."""
    config, longest, stops = MODES[mode], 10, 0
    target = Direct(connection)  # type: ignore[arg-type]
    for number in range(RUNS):
        fill(connection, number, mode)
        before = target.turn()
        connection.written, connection.stop_after = 0, source.randint(0, longest - 1)
        try:
            target.run(config, sql=model_of(mode))
        except Stopped:
            connection.stop_after = None
            if mode == "replace_using_appended" and has_written(target, before):
                # Its rows would be added again.
                create_table(connection, "feed", COLUMNS, [])  # type: ignore[arg-type]
            connection.written = 0
            target.run(config, sql=model_of(mode))
            stops += 1
        longest, connection.stop_after = connection.written, None
        assert expected[number] == rows(target), number
    assert not journal.is_left(target.turn())
    kept = {"target__auto_cdc_quarantine"} if "expectations" in mode else set()
    assert {"feed", "target", "target__auto_cdc", *kept} == set(tables_of(connection))  # type: ignore[arg-type]
    assert stops > RUNS // 2


@pytest.mark.parametrize("adds_apart", [False, True])
def test_rows_that_are_odd(monkeypatch: pytest.MonkeyPatch, adds_apart: bool) -> None:
    """A second row of a key, or one that is gone: a run that touches the key leaves one, wherever it is stopped."""
    config, kinds = MODES["scd1_plain"], {1: "U", 2: "D", 3: "U", 4: "U", 5: "U"}
    first = [{"id": key, "part": "3", "v": "a", "op": "I", "seq": 1} for key in (1, 2, 3, 4, 6)]
    then = [{"id": key, "part": "3", "v": "b", "op": kind, "seq": 2} for key, kind in kinds.items()]
    with borrowed(monkeypatch, "snowflake", adds_apart=adds_apart) as connection:
        target = Direct(connection)  # type: ignore[arg-type]
        # A run begins with its stage, writes its note, and is done after four more statements.
        for is_doubled, after in ((False, MOST), *((True, number) for number in range(2, 6))):
            create_table(connection, "feed", COLUMNS, first)  # type: ignore[arg-type]
            target.run(config, full_refresh=True)
            connection.execute("delete from target where id = 3")
            if is_doubled:
                connection.execute("insert into target select * from target where id <> 4")
            create_table(connection, "feed", COLUMNS, then)  # type: ignore[arg-type]
            connection.stop_after = after
            with suppress(Stopped):
                target.run(config)
            connection.stop_after = None
            target.run(config)
            left = sorted((row["id"], row["v"]) for row in target.rows())
            untouched = [(6, "a")] * (1 + is_doubled)
            assert [*((key, "b") for key in (1, 3, 4, 5)), *untouched] == left, (is_doubled, after)


@contextmanager
def both(monkeypatch: pytest.MonkeyPatch, mode: str, adapter_type: str) -> Iterator[Both]:
    """Give a target that two runs write, and one beside it, on the same engine, that one run writes at a time."""
    with borrowed(monkeypatch, adapter_type) as connection, duckdb.connect(config={"threads": 1}) as raw:
        raw.execute(MACROS)
        targets = [Direct(each) for each in (connection, Borrowed(raw, connection.engine))]  # type: ignore[arg-type]
        yield Both(
            *targets,
            MODES[mode],
            COLUMNS,
            lambda number: feed(number, mode),
            sql=model_of(mode),
            streamed=mode.startswith("stream"),
        )


@pytest.mark.parametrize("adapter_type", ["snowflake", "redshift"])
@pytest.mark.parametrize("mode", AT_ONCE)
def test_two_runs_at_once(monkeypatch: pytest.MonkeyPatch, mode: str, adapter_type: str) -> None:
    """Before whatever statement of a run another one comes in: the target is right, and one that gives up says why."""
    with both(monkeypatch, mode, adapter_type) as pair:
        runs_at_once(pair, stride=1 if pair.appends else STRIDE, most=MOST)
        assert {"feed", "target", "target__auto_cdc"} == set(tables_of(pair.target.connection))


@pytest.mark.parametrize("is_there", [False, True])
@pytest.mark.parametrize("adapter_type", ["snowflake", "redshift"])
@pytest.mark.parametrize("mode", ["scd2", "append_flow"])
def test_two_builds_at_once(
    monkeypatch: pytest.MonkeyPatch, mode: str, adapter_type: str, is_there: bool
) -> None:
    """The same of first builds, and of --full-refresh: the target is right, or the next run builds it again."""
    with ExitStack() as opened:
        builds_at_once(
            lambda: opened.enter_context(both(monkeypatch, mode, adapter_type)),
            is_there=is_there,
            stride=STRIDE,
            most=MOST,
        )


@pytest.mark.parametrize("adapter_type", RENDERED)
def test_two_rows_are_never_told_alike(monkeypatch: pytest.MonkeyPatch, adapter_type: str) -> None:
    """Whatever stands in keys, rows that differ are told by different texts, and rows that do not by one."""
    values = ["null", "'null'", "''", "'-'", "'1'", "'1:1'", "'1:11:1'", "','", "'\",\"'", "'1,1'", "'11'"]
    with borrowed(monkeypatch, adapter_type) as connection:
        told = connection.engine.place("pair", [("a", "varchar"), ("b", "varchar")])
        listed = ", ".join(f"({value})" for value in values)
        pairs = (
            f"select l.v as a, r.v as b from (values {listed}) as l(v) cross join (values {listed}) as r(v)"
        )
        query = f"select count(distinct {told}), count(*), count({told}) from ({pairs}) as pair"
        assert [(len(values) ** 2,) * 3] == connection.execute(query).fetchall()
