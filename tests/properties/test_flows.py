"""Random flows into one target, straight on the engine: whole dumps beside changes, several feeds, flows read once.

Not here: dbt, and what a single flow of changes does (`test_auto_cdc`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbt_auto_cdc.errors import AutoCdcError
from tests.databases import Connection, create_table, quoted, tables_of
from tests.direct import Direct
from tests.flow_model import Combined, Guards
from tests.flow_sql import FlowSql, compiled
from tests.followed import Target as Followed
from tests.properties.test_partial_updates import Partial, partials
from tests.reference_model import Event, Refused, Row, sorted_rows
from tests.snapshot_model import Snapshot
from tests.strategies import MARKER, Shape, Stream, Tracking, crowded_streams, streams
from tests.watched import Watched, examples, options_of, placed

if TYPE_CHECKING:
    from dbt_auto_cdc.execute import Outcome

VERSION = "taken"
KEYS = ((1,), (2,), (3,), (4,))
COMBINED = Shape(1, ("id",), ("a", "b"), ("seq",), is_sequence_output=False, tracking=Tracking("all"))
DUMP_TYPES = {"b": "VARCHAR", "id": "INTEGER", "a": "INTEGER", VERSION: "BIGINT"}


# Whole dumps beside changes


@dataclass(frozen=True)
class Arrival:
    """What one run reads: changes, and dumps that wait. `is_fixed`: there is one, and its version is no column."""

    events: tuple[Event, ...] = ()
    dumps: tuple[Snapshot, ...] = ()
    is_fixed: bool = False


@dataclass
class Target:
    """A combined target, run after run, with the model beside it."""

    connection: Connection
    guards: Guards = field(default_factory=Guards)
    name: str = "target"
    truncates: bool = True
    feeds: int = 1

    def __post_init__(self) -> None:
        self.model = Combined(COMBINED.config, self.guards)
        self.direct = Direct(self.connection, self.name)
        for table in (self.name, f"{self.name}__auto_cdc"):
            self.connection.execute(f'drop table if exists "{table}"')

    def send(self, arrival: Arrival) -> Outcome:
        """Give the product one run, its events dealt out to the feeds, and leave the model alone."""
        options = options_of(COMBINED, truncates=self.truncates)
        flows = []
        for number in range(self.feeds):
            dealt = [COMBINED.feed_row(event) for event in arrival.events[number :: self.feeds]]
            create_table(self.connection, f"feed_{number}", COMBINED.types, dealt)
            flows.append(FlowSql(f"feed_{number}", f"select * from feed_{number}"))
        rows = [{**row, VERSION: dump.version} for dump in arrival.dumps for row in dump.rows]
        create_table(self.connection, "dump", DUMP_TYPES, rows)
        version = f"cast({arrival.dumps[0].version} as bigint)" if arrival.is_fixed else VERSION
        guards = {
            "allow_empty_snapshot": self.guards.allow_empty,
            "max_delete_ratio": self.guards.max_delete_ratio,
        }
        left_out = {"except_column_list": [VERSION]} if arrival.is_fixed else {}
        flows.append(
            FlowSql("dump", "select * from dump", {"snapshot_version": version, **guards, **left_out})
        )
        return self.direct.run(options, sql=compiled(*flows))

    def run(self, arrival: Arrival) -> None:
        """Give product and model one run; fail unless rows, figures, row ids and what is remembered are right."""
        before = self.look()
        try:
            expected = self.model.apply(arrival.events, arrival.dumps)
        except Refused:
            with pytest.raises(AutoCdcError):
                self.send(arrival)
            assert before == self.look()
            return
        measures = self.send(arrival).measures
        rows, remembered = self.look()
        assert self.model.rows() == sorted_rows(rows.values())
        assert (expected.upserted, expected.deleted, expected.read, expected.skipped) == tuple(
            measures.get(name, 0)
            for name in ("num_upserted_rows", "num_deleted_rows", "num_read_rows", "num_skipped_versions")
        )
        assert Counter(self.model.remembered()) == remembered
        # What is written anew has another place.
        assert len([place for place in rows if place not in before[0]]) <= expected.upserted

    def look(self) -> tuple[dict[Any, Row], Counter[Any]]:
        """Return the target's rows by their places, and what the companion remembers."""
        if self.name not in tables_of(self.connection):
            return {}, Counter()
        kept = self.connection.execute(
            f'select id, __auto_cdc_sequence, __auto_cdc_kind from "{self.name}__auto_cdc"'
            f" where __auto_cdc_kind not in ('control', 'feed')"
        ).fetchall()
        return (
            placed(self.connection, self.name),
            Counter(((key,), sequence, kind) for key, sequence, kind in kept),
        )


@st.composite
def dumps_of(draw: st.DrawFn, version: int, *, min_size: int = 0) -> Snapshot:
    keys = draw(st.lists(st.sampled_from(KEYS), min_size=min_size, max_size=4, unique=True))
    values = st.fixed_dictionaries(
        {"a": st.sampled_from([None, 0, 1]), "b": st.sampled_from([None, "", "x"])}
    )
    return Snapshot(version, tuple({"id": key[0], **draw(values)} for key in keys))


@st.composite
def changes(draw: st.DrawFn, *, max_size: int = 14) -> list[Event]:
    """Changes of few keys at few sequences, each key and sequence once, with truncates."""
    places = st.tuples(st.sampled_from(KEYS), st.integers(1, 8))
    values = st.fixed_dictionaries(
        {"a": st.sampled_from([None, 0, 1]), "b": st.sampled_from([None, "", "x"])}
    )
    kinds = st.sampled_from(["upsert", "upsert", "delete"])
    events = [
        COMBINED.event(draw(kinds), place, draw(values))
        for place in draw(st.lists(places, max_size=max_size, unique=True))
    ]
    return events + [
        COMBINED.truncate(sequence) for sequence in draw(st.lists(st.integers(1, 8), max_size=1))
    ]


@st.composite
def arrivals(draw: st.DrawFn, *, with_repeats: bool = True, min_size: int = 1) -> list[Arrival]:
    """Changes and dumps in any order, cut into runs; each dump comes whole, and may come again, changes too."""
    events = draw(changes())
    versions = draw(st.lists(st.integers(0, 9), max_size=4, unique=True))
    things: list[Event | Snapshot] = [
        *events,
        *(draw(dumps_of(version, min_size=min_size)) for version in versions),
    ]
    if with_repeats and things:
        things += draw(st.lists(st.sampled_from(things), max_size=4))
    things = draw(st.permutations(things))
    cuts = draw(st.lists(st.integers(0, len(things)), max_size=4).map(sorted))
    runs = []
    for start, end in zip([0, *cuts], [*cuts, len(things)], strict=True):
        part = things[start:end]
        dumps = {thing.version: thing for thing in part if isinstance(thing, Snapshot)}
        arriving = tuple(thing for thing in part if isinstance(thing, Event))
        is_fixed = len(dumps) == 1 and draw(st.booleans())
        runs.append(Arrival(arriving, tuple(dumps.values()), is_fixed))
    return runs


@pytest.mark.dumps_beside_changes
@settings(max_examples=examples(120, 3000))
@given(runs=arrivals(), rereads=st.booleans(), feeds=st.sampled_from([1, 1, 3]))
def test_dumps_beside_changes(connection: Connection, runs: list[Arrival], rereads: bool, feeds: int) -> None:
    """Rows, figures, row ids and what is remembered after every run, however dumps and changes come in."""
    target = Target(connection, feeds=feeds)
    events: tuple[Event, ...] = ()
    for run in runs:
        events += run.events
        target.run(Arrival(events if rereads else run.events, run.dumps, run.is_fixed))


@pytest.mark.dumps_beside_changes
@settings(max_examples=examples(60, 3000))
@given(runs=arrivals(min_size=1))
def test_dumps_and_changes_in_any_order_and_cut(connection: Connection, runs: list[Arrival]) -> None:
    """In runs, reversed, and all at once: the same rows, and the same is remembered."""
    events = tuple(event for run in runs for event in run.events)
    dumps = {dump.version: dump for run in runs for dump in run.dumps}
    plain_runs = [Arrival(run.events, run.dumps) for run in runs]
    found = []
    for arriving in (plain_runs, plain_runs[::-1], [Arrival(events, tuple(dumps.values()))]):
        target = Target(connection)
        for run in arriving:
            target.send(run)
        rows, remembered = target.look()
        found.append((sorted_rows(rows.values()), remembered))
    assert [found[0]] * 3 == found


@pytest.mark.dumps_beside_changes
@settings(max_examples=examples(50, 2000))
@given(
    runs=arrivals(min_size=0),
    ratio=st.sampled_from([None, 0, 0.3, 0.5, 1]),
    allow_empty=st.booleans(),
)
def test_guards_of_dumps(
    connection: Connection, runs: list[Arrival], ratio: float | None, allow_empty: bool
) -> None:
    """A dump that is empty, or deletes too great a share of the rows, refuses the run: nothing changes."""
    target = Target(connection, Guards(allow_empty, ratio), truncates=True)
    for run in runs:
        # Where the version is a column, zero rows are no dump.
        dumps = run.dumps if run.is_fixed else tuple(dump for dump in run.dumps if dump.rows)
        events = tuple(event for event in run.events if event.kind != "truncate")
        target.run(Arrival(events, dumps, run.is_fixed))


@pytest.mark.dumps_beside_changes
@settings(max_examples=examples(30, 1000))
@given(first=changes(), second=changes(max_size=6), dump=dumps_of(5, min_size=1))
def test_dumps_come_to_a_living_target(
    connection: Connection, first: list[Event], second: list[Event], dump: Snapshot
) -> None:
    """A model that had changes only gets a flow of dumps, without a rebuild, and loses it again."""
    target = Target(connection)
    alone = compiled(FlowSql("feed_0", "select * from feed_0"))
    options = options_of(COMBINED)
    create_table(connection, "feed_0", COMBINED.types, [COMBINED.feed_row(event) for event in first])
    target.direct.run(options, sql="select * from feed_0")
    target.model.changes.apply(first)
    target.run(Arrival((), (dump,)))
    known = {(event.key, event.sequence) for event in first}
    second = [event for event in second if (event.key, event.sequence) not in known]
    create_table(connection, "feed_0", COMBINED.types, [COMBINED.feed_row(event) for event in second])
    target.direct.run(options, sql=alone)
    target.model.apply(second, ())
    rows, remembered = target.look()
    assert target.model.rows() == sorted_rows(rows.values())
    assert Counter(target.model.remembered()) == remembered


# Several feeds


SPELLINGS: tuple[tuple[str, dict[str, str]], ...] = (
    ("select {all} from {table}", {}),
    # Other names, another order, and a condition of its own.
    (
        "select {reversed}, {marker} as what from {table}",
        {"apply_as_deletes": "what = 'D'", "apply_as_truncates": "what = 'T'"},
    ),
    (
        "with lines as (select *, {marker} = 'D' as is_gone from {table}) select * from lines",
        {"apply_as_deletes": "is_gone"},
    ),
)


def several(shape: Shape, connection: Connection, parts: Sequence[Sequence[Event]]) -> str:
    """Put events into three feeds and return the model over them, each with its own spelling."""
    flows = []
    for number, (part, (sql, options)) in enumerate(zip(parts, SPELLINGS, strict=True)):
        table = f"feed_{number}"
        create_table(connection, table, shape.types, [shape.feed_row(event) for event in part])
        columns = [f'"{name}"' for name in shape.types]
        others = [name for name in columns if name != f'"{MARKER}"']
        select = sql.format(
            all=", ".join(columns), reversed=", ".join(others[::-1]), marker=f'"{MARKER}"', table=table
        )
        own: dict[str, Any] = {
            name: value
            for name, value in options.items()
            if shape.scd_type == 1 or name != "apply_as_truncates"
        }
        left_out = [name for name in shape.excluded if name != MARKER]
        if number:
            own["except_column_list"] = [*left_out, "what"] if number == 1 else [*left_out, MARKER, "is_gone"]
        flows.append(FlowSql(table, select, own))
    return compiled(*flows)


@settings(max_examples=examples(60, 3000))
@given(
    stream=st.one_of(streams(with_truncates=True), crowded_streams(with_truncates=True)),
    data=st.data(),
)
def test_several_feeds_are_as_good_as_one(
    connection: Connection, stream: Stream, data: st.DataObject
) -> None:
    """Events dealt out to three feeds, each with its own SELECT and conditions, give the table of one feed."""
    one, other = (Watched(connection, stream.shape, name=name) for name in ("target", "other"))
    for run in stream.runs:
        one.send(run)
        deal = data.draw(st.lists(st.integers(0, 2), min_size=len(run), max_size=len(run)))
        parts = [
            [event for event, place in zip(run, deal, strict=True) if place == number] for number in range(3)
        ]
        other.direct.run(other.options, sql=several(stream.shape, connection, parts))
    assert one.look().rows == other.look().rows
    assert one.look().companion == other.look().companion


# Several feeds whose events leave columns out


def listed(columns: Iterable[str]) -> str:
    return ", ".join(map(quoted, columns))


@settings(max_examples=examples(30, 2000))
@given(partial=st.one_of(partials(1, with_truncates=True), partials(2)), data=st.data())
def test_several_feeds_of_partial_updates(
    connection: Connection, partial: Partial, data: st.DataObject
) -> None:
    """Dealt out to three feeds the events give the table of one; what one of them does not select is not sent."""
    one, other = (Followed(connection, partial, name) for name in ("target", "other"))
    payload = [name for name in partial.output if name not in {"id", "seq", "op", "cols"}]
    may_lack = {
        "all": payload,
        "list": list(partial.named),
        "except": [name for name in payload if name not in partial.named],
        "columns": [],
    }[partial.form]
    lacking = data.draw(st.sampled_from([None, *may_lack]))
    slim = f"select {listed(name for name in partial.types if name != lacking)} from feed_2"
    turned = f"select {listed(sorted(partial.types, reverse=True))} from feed_1"
    kept = {"column_list": [name for name in partial.output if name != lacking]}
    flows = [
        FlowSql("feed_0", "select * from feed_0"),
        FlowSql("feed_1", turned),
        FlowSql("feed_2", slim, kept),
    ]
    for run in partial.runs:
        deal = data.draw(st.lists(st.integers(0, 2), min_size=len(run), max_size=len(run)))
        dealt: list[list[Row]] = [[], [], []]
        for change, place in zip(run, deal, strict=True):
            row = partial.feed_row(change)
            dealt[place].append({**row, lacking: None} if lacking and place == 2 else row)
        for number, part in enumerate([*dealt, [row for rows in dealt for row in rows]]):
            name = "feed" if number == 3 else f"feed_{number}"
            create_table(connection, name, partial.types, part)
        refused = []
        for target, sql in ((one, "select * from feed"), (other, compiled(*flows))):
            try:
                target.direct.run(partial.options, sql=sql)
            except AutoCdcError as error:
                refused.append(str(error).split("for example")[0])
        assert len(refused) in {0, 2}
    if one.contents():
        assert one.rows() == other.rows()


# Flows that are read once


@settings(max_examples=examples(40, 2000))
@given(
    stream=st.one_of(streams(with_truncates=True, with_repeats=False), crowded_streams(with_truncates=True)),
    added_in=st.integers(0, 3),
    removed_in=st.integers(1, 6),
)
def test_a_flow_read_once(connection: Connection, stream: Stream, added_in: int, removed_in: int) -> None:
    """What a once flow has in the run that first has it counts, what it gets later does not, nor that it goes."""
    target = Watched(connection, stream.shape)
    history: list[Event] = []
    for number, run in enumerate(stream.runs):
        half = len(run) // 2
        history += run[:half]
        feed = FlowSql("feed", "select * from feed")
        flows = [feed]
        if added_in <= number < added_in + removed_in:
            flows = [FlowSql("history", "select * from history", {"once": True}), feed]
        for table, events in (("history", history), ("feed", run[half:])):
            create_table(
                connection, table, stream.shape.types, [stream.shape.feed_row(event) for event in events]
            )
        target.direct.run(target.options, sql=compiled(*flows))
        target.model.apply([*(history if number == added_in else ()), *run[half:]])
        assert target.model.rows() == target.look().rows
