"""Random rows, some of which are not as expected: a target holds what it would hold had they never come.

Beside each target stands another one of the same options without expectations, which other tests compare with the
reference models; it is fed with the rows that pass, as plain Python judges them. Not here: what is refused
(`scenarios/test_expectations`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbt_auto_cdc.errors import AutoCdcError
from tests import databases
from tests.databases import Connection, create_table, tables_of
from tests.direct import Direct
from tests.flow_sql import FlowSql, compiled
from tests.reference_model import Row, comparable, sorted_rows
from tests.watched import examples, look_at

TYPES = {"id": "INTEGER", "seq": "BIGINT", "a": "INTEGER", "b": "VARCHAR", "op": "VARCHAR"}


@dataclass(frozen=True)
class Rule:
    """An expectation, and what it means in plain Python; a comparison with null is neither true nor false."""

    name: str
    condition: str
    holds: Callable[[Row], bool]


RULES = (
    Rule("a_known", "a is not null", lambda row: row["a"] is not None),
    Rule("a_small", "a < 2", lambda row: row["a"] is not None and row["a"] < 2),
    Rule("b said", "b <> ''", lambda row: row["b"] is not None and row["b"] != ""),
)
COUNT, DROP = "expect_all", "expect_all_or_drop"
EVENTS: dict[str, Any] = {
    "keys": ["id"],
    "sequence_by": "seq",
    "apply_as_deletes": "op = 'D'",
    "except_column_list": ["op"],
    "sequence_ties": "allow",
}
SNAPSHOTS: dict[str, Any] = {"keys": ["id"], "snapshot_version": "seq", "except_column_list": ["op", "seq"]}
MODES: dict[str, dict[str, Any]] = {
    "scd1": {**EVENTS, "apply_as_truncates": "op = 'T'"},
    "scd1 partial": {**EVENTS, "ignore_null_updates": True},
    "scd2": {**EVENTS, "stored_as_scd_type": 2, "except_column_list": ["op", "seq"]},
    "bitemporal": {**EVENTS, "stored_as_scd_type": "bitemporal", "system_sequence_by": "a"},
    "replace_using": {"materialized": "replace_using", "replace_using": ["id"], "sequence_by": "seq"},
    "replace_where": {"materialized": "replace_where", "replace_where": "id < 3"},
    "recomputed_table": {"materialized": "recomputed_table"},
    "append_flow": {"materialized": "append_flow"},
}
FLOWS = compiled(
    FlowSql("even", "select * from feed where id % 2 = 0"),
    FlowSql("odd", "select op, b, a, seq, id from feed where id % 2 = 1"),
)
WHOLE = "select * from feed"


@dataclass(frozen=True)
class Expected:
    """What is expected of rows: which rule stands in which option, and which hold for deletes."""

    options: dict[str, str]
    on_deletes: bool | tuple[str, ...]

    @property
    def config(self) -> dict[str, Any]:
        config: dict[str, Any] = {
            option: {rule.name: rule.condition for rule in RULES if self.options.get(rule.name) == option}
            or None
            for option in (COUNT, DROP)
        }
        if self.on_deletes:
            config["expectations_on_deletes"] = (
                True if self.on_deletes is True else [*self.on_deletes] or None
            )
        return config

    def failed(self, row: Row, *, has_deletes: bool) -> dict[str, bool]:
        """Return of each rule that judges a row whether the row fails it."""
        exempt = has_deletes and row["op"] != "U"
        return {
            rule.name: not rule.holds(row)
            for rule in RULES
            if rule.name in self.options
            and not (
                exempt
                and self.on_deletes is not True
                and (self.on_deletes is False or rule.name not in self.on_deletes)
            )
        }

    def drops(self, row: Row, *, has_deletes: bool) -> bool:
        failed = self.failed(row, has_deletes=has_deletes)
        return any(failed[name] and self.options[name] == DROP for name in failed)


@st.composite
def expectations(draw: st.DrawFn, *, has_deletes: bool = True) -> Expected:
    names = [rule.name for rule in RULES]
    options = draw(st.dictionaries(st.sampled_from(names), st.sampled_from([COUNT, DROP, DROP]), min_size=1))
    named = st.lists(st.sampled_from(sorted(options)), min_size=1, unique=True).map(tuple)
    on_deletes = draw(st.one_of(st.just(False), st.just(True), named)) if has_deletes else False
    return Expected(options, on_deletes)


ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "id": st.integers(1, 4),
            "seq": st.integers(1, 6),
            "a": st.sampled_from([None, 0, 1, 2]),
            "b": st.sampled_from([None, "", "x", "it's"]),
            "op": st.sampled_from("UUUUDT"),
        }
    ),
    max_size=8,
)


@dataclass
class Pair:
    """Two targets of one mode, one with expectations, the other fed with the rows that pass."""

    connection: Connection
    options: dict[str, Any]
    expected: Expected
    sql: str = WHOLE
    target: Direct = field(init=False)
    other: Direct = field(init=False)

    def __post_init__(self) -> None:
        self.has_deletes = "apply_as_deletes" in self.options
        self.has_truncates = "apply_as_truncates" in self.options
        for name in ("target", "other"):
            for table in (name, f"{name}__auto_cdc", f"{name}__auto_cdc_changes"):
                self.connection.execute(f'drop table if exists "{table}"')
        self.connection.execute("drop table if exists target__auto_cdc_quarantine")
        self.has_quarantine = DROP in self.expected.options.values()
        self.quarantined: dict[Any, Row] = {}
        self.target, self.other = Direct(self.connection, "target"), Direct(self.connection, "other")

    def fits(self, rows: Sequence[Row]) -> list[Row]:
        """Return rows as the mode takes them: truncates only where it knows them, else they are upserts."""
        in_order = [{name: row[name] for name in TYPES} for row in rows]
        marked = [row if self.has_truncates or row["op"] != "T" else {**row, "op": "U"} for row in in_order]
        if self.options.get("stored_as_scd_type") == "bitemporal":
            return [row for row in marked if row["a"] is not None]
        return marked

    def run(self, rows: Sequence[Row], *, full_refresh: bool = False) -> None:
        """Run both, and compare rows, what is remembered, figures and counts."""
        passing = [row for row in rows if not self.expected.drops(row, has_deletes=self.has_deletes)]
        create_table(self.connection, "feed", TYPES, passing)
        other = self.other.run(self.options, sql=self.sql, full_refresh=full_refresh)
        create_table(self.connection, "feed", TYPES, rows)
        config = {**self.options, **self.expected.config, "expectations_quarantine": self.has_quarantine}
        outcome = self.target.run(config, sql=self.sql, full_refresh=full_refresh)
        looks = [look_at(self.connection, name) for name in ("target", "other")]
        assert looks[0].rows == looks[1].rows
        assert self._remembered("target") == self._remembered("other")
        figures = {
            **other.figures,
            **({} if "num_output_rows" in other.figures else {"num_read_rows": len(rows)}),
        }
        if self.has_quarantine:
            figures["num_dropped_rows"] = len(rows) - len(passing)
        assert figures == outcome.figures
        assert self.counts(rows) == outcome.expectations
        if self.has_quarantine:
            self._keeps([row for row in rows if row not in passing], starts_over=full_refresh)

    def _keeps(self, dropped: Sequence[Row], *, starts_over: bool) -> None:
        """Compare the quarantine with the rows that were dropped since the target was built, each once."""
        if starts_over:
            self.quarantined.clear()
        for row in dropped:
            failed = self.expected.failed(row, has_deletes=self.has_deletes)
            # Named in the order of the options.
            named = sorted(filter(failed.get, failed), key=lambda name: self.expected.options[name])
            self.quarantined.setdefault(comparable(row), {**row, "failed": ", ".join(named)})
        columns = ", ".join(TYPES)
        cursor = self.connection.execute(
            f"select {columns}, _failed_expectations from target__auto_cdc_quarantine"
        )
        found = [dict(zip((*TYPES, "failed"), row, strict=True)) for row in cursor.fetchall()]
        assert sorted_rows(self.quarantined.values()) == sorted_rows(found)

    def _remembered(self, name: str) -> list[Row]:
        cursor = self.connection.execute(
            f"select * from \"{name}__auto_cdc\" where __auto_cdc_kind <> 'control'"
        )
        columns = [column[0] for column in cursor.description or ()]
        return sorted_rows(dict(zip(columns, row, strict=True)) for row in cursor.fetchall())

    def counts(self, rows: Sequence[Row]) -> dict[str, dict[str, int]]:
        judged = [self.expected.failed(row, has_deletes=self.has_deletes) for row in rows]
        return {
            name: {
                "passed": sum(not row[name] for row in judged if name in row),
                "failed": sum(row[name] for row in judged if name in row),
            }
            for name in self.expected.options
        }


@pytest.fixture(scope="module")
def connection(engine: str) -> Iterator[Connection]:
    with databases.connect(engine) as connection:
        yield connection


def follow(pair: Pair, runs: Sequence[Sequence[Row]], *, rereads: bool, rebuilt_by: int) -> None:
    """Run after run, each with all rows so far where the model re-reads its feed; one of them rebuilds the target."""
    every: list[Row] = []
    for number, run in enumerate(runs):
        rows = pair.fits(run)
        every = [*every, *rows] if rereads else rows
        pair.run(every, full_refresh=number == rebuilt_by)


@pytest.mark.parametrize("mode", MODES)
@settings(max_examples=examples(12, 1500))
@given(
    data=st.data(),
    runs=st.lists(ROWS, min_size=1, max_size=3),
    rereads=st.booleans(),
    rebuilt_by=st.sampled_from([9, 9, 1, 2]),
)
def test_a_dropped_row_was_never_there(
    connection: Connection,
    mode: str,
    data: st.DataObject,
    runs: list[list[Row]],
    rereads: bool,
    rebuilt_by: int,
) -> None:
    """Rows, what is remembered, figures and each expectation's counts, with deletes and truncates exempt or not.

    The rows that were dropped are in the quarantine, each once, however often they are read.
    """
    options = MODES[mode]
    expected = data.draw(expectations(has_deletes="apply_as_deletes" in options))
    follow(Pair(connection, options, expected), runs, rereads=rereads, rebuilt_by=rebuilt_by)


@settings(max_examples=examples(12, 1000))
@given(
    expected=expectations(),
    runs=st.lists(ROWS, min_size=1, max_size=3),
    rereads=st.booleans(),
    rebuilt_by=st.sampled_from([9, 1]),
)
def test_flows(
    connection: Connection, expected: Expected, runs: list[list[Row]], rereads: bool, rebuilt_by: int
) -> None:
    """What a model expects holds for the rows of all its flows, and counts add up."""
    follow(Pair(connection, EVENTS, expected, FLOWS), runs, rereads=rereads, rebuilt_by=rebuilt_by)


@settings(max_examples=examples(12, 1000))
@given(
    rows=ROWS,
    later=ROWS,
    mode=st.sampled_from(sorted(MODES)),
    rule=st.sampled_from(RULES),
)
def test_what_must_not_fail(
    connection: Connection, rows: list[Row], later: list[Row], mode: str, rule: Rule
) -> None:
    """A run with a row that fails is refused, with the count, and nothing is written; without one it goes well."""
    pair = Pair(connection, MODES[mode], Expected({rule.name: "expect_all_or_fail"}, on_deletes=False))
    config = {**pair.options, "expect_all_or_fail": {rule.name: rule.condition}}
    for batch in map(pair.fits, (rows, later)):
        judged = [pair.expected.failed(row, has_deletes=pair.has_deletes) for row in batch]
        failed = sum(row.get(rule.name, False) for row in judged)
        create_table(connection, "feed", TYPES, batch)
        before = look_at(connection, "target"), tables_of(connection)
        if failed:
            with pytest.raises(AutoCdcError, match=rf"expectation {rule.name} .* fails in {failed} row"):
                pair.target.run(config)
            assert before == (look_at(connection, "target"), tables_of(connection))
        else:
            outcome = pair.target.run(config)
            assert {rule.name: {"passed": sum(rule.name in row for row in judged), "failed": 0}} == (
                outcome.expectations
            )
