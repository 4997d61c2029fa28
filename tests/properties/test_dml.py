"""Rows written by hand between runs: what they mean for the runs that follow, in SCD type 1 and 2.

Not here: columns added or changed by hand, targets that were dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbt_auto_cdc.errors import AutoCdcError
from tests.databases import Connection
from tests.reference_model import END, START, Event, Identity, Key, Row, sorted_rows
from tests.strategies import Shape, Stream, Tracking, crowded_streams
from tests.watched import Watched, examples

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SCD1 = Shape(1, ("id",), ("a", "b"), ("seq",), is_sequence_output=False, tracking=Tracking("all"))
SCD1_WITH_SEQUENCE = Shape(
    1, ("id",), ("a", "b"), ("seq",), is_sequence_output=True, tracking=Tracking("all")
)
SCD2 = Shape(2, ("id",), ("a", "b"), ("seq",), is_sequence_output=False, tracking=Tracking("columns", ("a",)))


def upsert(shape: Shape, sequence: int, a: int, b: str | None = None, *, key: int = 1) -> Event:
    return shape.event("upsert", ((key,), sequence), {"a": a, "b": b})


def delete(shape: Shape, sequence: int, *, key: int = 1) -> Event:
    return shape.event("delete", ((key,), sequence), {"a": None, "b": None})


def by_hand(target: Watched, sql: str) -> None:
    target.connection.execute(sql)


def brief(target: Watched) -> list[tuple[Any, ...]]:
    """Return the rows of a target as tuples, in order."""
    return [tuple(row.values()) for row in target.look().rows]


# SCD type 1, by example


def test_type_1_a_row_by_hand_is_older_than_any_event(connection: Connection) -> None:
    """A row inserted by hand stays until any event of its key comes, however low its sequence."""
    target = Watched(connection, SCD1)
    target.send([upsert(SCD1, 9, 0)])
    by_hand(target, "insert into target values (2, 7, 'hand'), (3, 7, 'hand')")
    target.send([upsert(SCD1, 10, 1)])
    assert [(1, 1, None), (2, 7, "hand"), (3, 7, "hand")] == brief(target)
    target.send([upsert(SCD1, -5, 2, key=2), delete(SCD1, -5, key=3)])
    assert [(1, 1, None), (2, 2, None)] == brief(target)


@pytest.mark.parametrize(
    "shape", [SCD1, SCD1_WITH_SEQUENCE], ids=["sequence left out", "sequence in the output"]
)
def test_type_1_a_row_deleted_by_hand_stays_away(connection: Connection, shape: Shape) -> None:
    """Neither a re-read of the feed nor a late event brings it back; a newer event does."""
    target = Watched(connection, shape)
    feed = [upsert(shape, 3, 0), upsert(shape, 5, 1), upsert(shape, 5, 1, key=2)]
    target.send(feed)
    by_hand(target, "delete from target where id = 1")
    target.send(feed)
    target.send([upsert(shape, 4, 2)])
    assert [2] == [row["id"] for row in target.look().rows]
    target.send([*feed, upsert(shape, 6, 3)])
    assert [(1, 3), (2, 1)] == [(row["id"], row["a"]) for row in target.look().rows]


def test_type_1_a_row_changed_by_hand_stays_changed(connection: Connection) -> None:
    """What was written over a row stays under re-reads and late events, and goes with a newer event."""
    target = Watched(connection, SCD1)
    feed = [upsert(SCD1, 5, 1, "x")]
    target.send(feed)
    by_hand(target, "update target set b = 'hand'")
    target.send([*feed, upsert(SCD1, 4, 0, "late")])
    assert [(1, 1, "hand")] == brief(target)
    target.send([*feed, upsert(SCD1, 6, 2, "new")])
    assert [(1, 2, "new")] == brief(target)


def test_type_1_a_truncate_takes_rows_by_hand_along(connection: Connection) -> None:
    """Being older than any event, they are below any truncate: also beside a remembered delete."""
    target = Watched(connection, SCD1)
    target.send([upsert(SCD1, 9, 0), delete(SCD1, 9, key=3)])
    by_hand(target, "insert into target values (2, 7, 'hand'), (3, 7, 'hand')")
    target.send([SCD1.truncate(5)])
    assert [(1, 0, None)] == brief(target)


# SCD type 2, by example


def test_type_2_an_open_row_by_hand_is_an_upsert(connection: Connection) -> None:
    """A row `[5, null)` is an upsert at 5 to all that comes after: late, equal, newer, the same."""
    for later in (
        [upsert(SCD2, 7, 0, "equal")],
        [upsert(SCD2, 7, 1)],
        [upsert(SCD2, 3, 0)],
        [delete(SCD2, 6), upsert(SCD2, 4, 1)],
        [upsert(SCD2, 5, 1, "known")],
        [upsert(SCD2, 7, 0), upsert(SCD2, 6, 1)],
    ):
        hand, fed = Watched(connection, SCD2), Watched(connection, SCD2, name="fed")
        fed.send([upsert(SCD2, 1, 9, key=2), upsert(SCD2, 5, 0, "hand")])
        hand.send([upsert(SCD2, 1, 9, key=2)])
        by_hand(hand, "insert into target values (1, 0, 'hand', 5, null)")
        for event in later:
            fed.send([event])
            hand.send([event])
            assert brief(fed) == brief(hand)


def test_type_2_a_closed_row_by_hand_is_an_upsert_and_a_delete(connection: Connection) -> None:
    """A row `[5, 8)` stands for both its bounds, and lies where late events find it."""
    target = Watched(connection, SCD2)
    target.send([upsert(SCD2, 8, 1, key=2)])
    by_hand(target, "insert into target values (1, 0, 'hand', 5, 8)")
    target.send([upsert(SCD2, 3, 1), upsert(SCD2, 8, 2), upsert(SCD2, 9, 2), upsert(SCD2, 7, 0, "repeat")])
    assert [
        (1, 0, "repeat", 5, 8),
        (1, 1, None, 3, 5),
        (1, 2, None, 9, None),
        (2, 1, None, 8, None),
    ] == brief(target)


def test_type_2_hidden_repeats_go_with_the_row(connection: Connection) -> None:
    """A repeat that a deleted row hid does not come back when a late event falls where the row was."""
    target = Watched(connection, SCD2)
    target.send([upsert(SCD2, 3, 0), upsert(SCD2, 6, 0), upsert(SCD2, 9, 1)])
    by_hand(target, f"delete from target where {START} = 3")
    target.send([upsert(SCD2, 4, 2)])
    assert [(1, 1, None, 9, None), (1, 2, None, 4, 9)] == brief(target)


def test_type_2_hidden_repeats_beyond_an_end_by_hand_do_not_count(
    connection: Connection,
) -> None:
    """A row shortened by hand hides only what lies inside it now."""
    target = Watched(connection, SCD2)
    target.send([upsert(SCD2, 1, 0, "first"), upsert(SCD2, 3, 0, "second"), upsert(SCD2, 6, 0, "third")])
    by_hand(target, f"update target set {END} = 5")
    target.send([upsert(SCD2, 2, 1)])
    assert [(1, 0, "first", 1, 2), (1, 0, "third", 3, 5), (1, 1, None, 2, 3)] == brief(target)
    target.send([upsert(SCD2, 6, 0, "third")])
    assert [
        (1, 0, "first", 1, 2),
        (1, 0, "third", 3, 5),
        (1, 0, "third", 6, None),
        (1, 1, None, 2, 3),
    ] == brief(target)


def test_type_2_a_row_deleted_by_hand(connection: Connection) -> None:
    """It stays away as long as its events do not come again; a model that re-reads its feed brings it back."""
    target = Watched(connection, SCD2)
    feed = [upsert(SCD2, 3, 0), upsert(SCD2, 5, 1)]
    target.send(feed)
    before = brief(target)
    by_hand(target, f"delete from target where {START} = 3")
    target.send([upsert(SCD2, 6, 1)])
    assert [(1, 1, None, 5, None)] == brief(target)
    target.send([*feed, upsert(SCD2, 6, 1)])
    assert before == brief(target)


def test_type_2_hidden_repeats_do_not_come_back_with_their_start(
    connection: Connection,
) -> None:
    """What a deleted row hid is forgotten once its key is touched; a row that starts there hides it anew, once."""
    target = Watched(connection, SCD2)
    feed = [upsert(SCD2, 3, 0, "first"), upsert(SCD2, 6, 0, "second")]
    target.send(feed)
    before = target.look()
    for _ in range(2):
        by_hand(target, "delete from target")
        target.send(feed)
        assert (before.rows, before.companion) == (target.look().rows, target.look().companion)
    by_hand(target, "delete from target")
    target.send(feed[:1])
    target.send([upsert(SCD2, 5, 1)])
    assert [(1, 0, "first", 3, 5), (1, 1, None, 5, None)] == brief(target)


def test_type_2_a_remembered_delete_becomes_an_end_by_hand(connection: Connection) -> None:
    """A delete that closed nothing and then, by hand, ends a row is remembered once when it closes nothing again."""
    target = Watched(connection, SCD2)
    target.send([upsert(SCD2, 1, 0), delete(SCD2, 3), delete(SCD2, 6)])
    fed = target.look()
    by_hand(target, f"update target set {END} = 6")
    target.send([delete(SCD2, 3), upsert(SCD2, 2, 0)])
    assert [(1, 0, None, 1, 3)] == brief(target)
    assert fed.companion <= target.look().companion
    assert {1} == set(target.look().companion.values())


@pytest.mark.parametrize(
    "wrong",
    ["(1, 2, null, 4, 6)", "(1, 2, null, 5, null)", "(1, 2, null, 9, null)", "(1, 2, null, 7, 7)"],
    ids=["overlapping", "twice at one start", "two open rows", "empty"],
)
def test_type_2_crossed_bounds_are_refused(connection: Connection, wrong: str) -> None:
    """Bounds that cannot be are refused with their key by the run that meets them, and by no other."""
    target = Watched(connection, SCD2)
    target.send([upsert(SCD2, 5, 0), upsert(SCD2, 5, 0, key=2)])
    by_hand(target, f"insert into target values {wrong}")
    before = target.look()
    with pytest.raises(AutoCdcError, match=r"rows? of the target ha(s|ve) bounds that overlap.* id=1 "):
        target.send([upsert(SCD2, 3, 1), upsert(SCD2, 3, 1, key=2)])
    assert before == target.look()
    target.send([upsert(SCD2, 3, 1, key=2)])
    assert len(before.rows) + 1 == len(target.look().rows)


# SCD type 1, at random


class Overwritten:
    """SCD type 1 with rows written by hand: a key shows what was written last, by an event that won or by hand."""

    def __init__(self, target: Watched) -> None:
        self.target = target
        self.rows: dict[Key, Row] = {}

    def write(self, key: Key, row: Row | None) -> None:
        """Insert, change or delete the row of a key by hand."""
        connection, keys = self.target.connection, self.target.shape.keys
        where = " and ".join(f"{name} = ?" for name in keys)
        connection.execute(f"delete from target where {where}", key)
        self.rows.pop(key, None)
        if row is not None:
            connection.execute(f"insert into target values ({', '.join('?' * len(row))})", list(row.values()))
            self.rows[key] = row

    def run(self, events: Sequence[Event]) -> None:
        """Give product and model one run, and lay what the model wrote over what was there."""
        model = self.target.model
        before, truncates = model._winners(), set(model._truncates)
        model.apply(events)
        winners, current = model._winners(), model._current()
        if max(model._truncates, default=None) != max(truncates, default=None):
            self.rows = {
                key: row for key, row in self.rows.items() if key in winners and winners[key].kind == "upsert"
            }
        for key, winner in winners.items():
            if key not in before or winner is not before[key]:
                self.rows.pop(key, None)
                if key in current:
                    self.rows[key] = current[key]
        self.target.send(events)
        assert sorted_rows(self.rows.values()) == self.target.look().rows


@settings(max_examples=examples(50, 3000))
@given(data=st.data(), stream=crowded_streams(1, with_truncates=True), rereads=st.booleans())
def test_type_1(connection: Connection, data: st.DataObject, stream: Stream, rereads: bool) -> None:
    """What is written by hand stays until an event newer than all that the key has seen."""
    target = Overwritten(Watched(connection, stream.shape))
    applied: list[Event] = []
    for run in stream.runs:
        applied += run
        target.run(applied if rereads else run)
        for event in data.draw(st.lists(st.sampled_from(stream.events), max_size=2)):
            if event.kind != "truncate":
                shown = {name: event.values[name] for name in stream.shape.output}
                target.write(event.key, shown if event.kind == "upsert" else None)


# SCD type 2, at random


class Rewritten:
    """SCD type 2 with rows written by hand: from then on the visible rows are the history, with what they hide."""

    def __init__(self, target: Watched) -> None:
        self.target = target
        self.model = target.model
        self.config = target.model.config
        self.left_behind: set[Identity] = set()

    def write(self, rows: list[Row]) -> None:
        """Put these rows in the place of the visible ones, and tell the model what they mean."""
        connection = self.target.connection
        self.left_behind |= set(map(self._place, self.model.rows())) - set(map(self._place, rows))
        connection.execute("delete from target")
        names = [*self.config.columns, START, END]
        for row in rows:
            connection.execute(
                f"insert into target values ({', '.join('?' * len(names))})", [row[name] for name in names]
            )
        self.model._events = {(event.key, event.sequence): event for event in self._events(rows)}

    def _events(self, rows: list[Row]) -> Iterator[Event]:
        """Say what a history means: bounds, hidden deletes, hidden repeats inside a run that is still there."""
        hidden_deletes, hidden_upserts = self._hidden()
        starts = {self._place(row) for row in rows}
        ends = {(self._key(row), row[END]) for row in rows if row[END] is not None}
        for key, sequence in (ends | hidden_deletes) - starts:
            yield Event("delete", key, sequence)
        for row in rows:
            key, start, end = self._key(row), row[START], row[END]
            inside = [
                event
                for event in hidden_upserts.get((key, start), ())
                if event.sequence >= start and (end is None or event.sequence < end)
            ]
            tracked = {name: row[name] for name in self.config.tracked}
            shown = {name: row[name] for name in self.config.columns}
            for event in inside[:-1]:
                yield Event("upsert", key, event.sequence, {**event.values, **tracked})
            yield Event("upsert", key, inside[-1].sequence if inside else start, shown)

    def _hidden(self) -> tuple[set[Identity], dict[Identity, list[Event]]]:
        """Return the deletes that closed nothing, and the events of each run of several, by its start."""
        rows = self.model.rows()
        ends = {(self._key(row), row[END]) for row in rows}
        events = sorted(self.model._events.values(), key=lambda event: event.sequence)
        deletes = {(e.key, e.sequence) for e in events if e.kind == "delete"} - ends
        runs: dict[Identity, list[Event]] = {}
        for row in rows:
            run = [
                event
                for event in events
                if event.key == self._key(row)
                and event.sequence >= row[START]
                and (row[END] is None or event.sequence < row[END])
            ]
            if len(run) > 1:
                runs[self._place(row)] = run
        return deletes, runs

    def hides(self, row: Row) -> bool:
        """Tell whether a visible row stands for more than one event."""
        return self._place(row) in self._hidden()[1]

    def _key(self, row: Row) -> Key:
        return tuple(row[name] for name in self.config.keys)

    def _place(self, row: Row) -> Identity:
        return self._key(row), row[START]

    def is_history(self, rows: list[Row]) -> bool:
        """Tell whether rows can be a history: none empty, none overlapping or needless, none over a hidden delete.

        A row that was taken away by hand must not come back by hand: nobody can tell whether what it hid should
        come back with it.
        """
        visible = self.model.rows()
        if any(self._place(row) in self.left_behind and row not in visible for row in rows):
            return False
        deletes, _ = self._hidden()

        def spoils(row: Row, other: Row) -> bool:
            """Tell whether a row overlaps a later one, or ends where that goes on with the same."""
            same = all(row[name] == other[name] for name in self.config.tracked)
            return inside(row, other[START]) or (same and row[END] == other[START])

        pairs = ((row, other) for row in rows for other in rows if row is not other)
        return not (
            any(row[END] is not None and row[END] <= row[START] for row in rows)
            or any(self._key(row) == self._key(other) and spoils(row, other) for row, other in pairs)
            or any(
                self._key(row) == key and row[START] < at and inside(row, at)
                for row in rows
                for key, at in deletes
            )
        )


def inside(row: Row, at: int) -> bool:
    return bool(row[START] <= at and (row[END] is None or at < row[END]))


@st.composite
def hand_written(draw: st.DrawFn, stream: Stream, target: Rewritten) -> list[Row]:
    """Draw what a person may make of the visible rows: fewer and new ones, changed, longer or shorter ones.

    Rows that hide something are deleted or left alone: the events that they hide keep the untracked values they came
    with, so that a value written over them by hand lasts only until the next repeat.
    """
    rows = target.model.rows()
    upserts = st.sampled_from([event for event in stream.events if event.kind == "upsert"] or [None])
    bounds = st.tuples(st.integers(0, 9), st.one_of(st.none(), st.integers(1, 10)))
    for _ in range(draw(st.integers(0, 3))):
        what = draw(st.sampled_from(["insert", "delete", "values", "end"]))
        event, (start, end) = draw(upserts), draw(bounds)
        choice = [row for row in rows if what == "delete" or not target.hides(row)]
        row = draw(st.sampled_from(choice)) if what != "insert" and choice else None
        others = [other for other in rows if other is not row]
        if what == "insert" and event:
            others.append({**event.values, START: start, END: end})
        elif what == "values" and row and event:
            others.append({**row, **{name: event.values[name] for name in stream.shape.values}})
        elif what == "end" and row:
            others.append({**row, END: end})
        rows = others if target.is_history(others) else rows
    return rows


@settings(max_examples=examples(80, 3000))
@given(data=st.data(), stream=crowded_streams(2), rereads=st.booleans())
def test_type_2(connection: Connection, data: st.DataObject, stream: Stream, rereads: bool) -> None:
    """Visible rows are the history, whoever wrote them: what follows builds on their bounds and values."""
    target = Rewritten(Watched(connection, stream.shape))
    applied: list[Event] = []
    for run in stream.runs:
        applied += run
        target.target.run(applied if rereads else run, counts=False)
        target.write(data.draw(hand_written(stream, target)))
