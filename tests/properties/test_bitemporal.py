"""Random events on two axes, straight on the engine: after every run the target is what the reference model says.

Not here: dbt (`test_bitemporal` beside the other tests through it), bad input (`scenarios`).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Literal, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbt_auto_cdc.errors import AutoCdcError
from dbt_auto_cdc.scd import scd2
from tests.bitemporal_model import SYSTEM_END, Bitemporal, Figures, Known, overlaps
from tests.databases import Connection
from tests.followed import Target, untouched_versions_stay
from tests.reference_model import Config, Event, Refused, Row, sorted_rows
from tests.strategies import Ties, Tracking, trackings
from tests.watched import examples

if TYPE_CHECKING:
    from collections.abc import Sequence

_AXES: dict[str, tuple[str, tuple[Any, ...]]] = {
    "number": ("BIGINT", tuple(range(1, 8))),
    "date": ("DATE", tuple(date(2026, 11, day) for day in range(1, 6))),
    "time": (
        "TIMESTAMP",
        tuple(datetime.fromisoformat(f"2026-11-29T0{hour}:00:00.000001") for hour in range(6)),
    ),
    "text": ("VARCHAR", ("", "1", "10", "2", "a", "é")),
}
_VALUES: dict[str, tuple[Any, ...]] = {"a": (None, 0, 1), "b": (None, "", "x")}


@dataclass(frozen=True)
class Shape:
    """A target and its feed: which type each axis has, what is tracked, what happens to ties."""

    business: str
    system: str
    keys: tuple[str, ...]
    tracking: Tracking
    sequence_ties: Ties

    @property
    def types(self) -> dict[str, str]:
        keys = dict.fromkeys(self.keys, "INTEGER")
        axes = {"bt": _AXES[self.business][0], "st": _AXES[self.system][0]}
        return {**keys, "a": "INTEGER", "b": "VARCHAR", **axes, "op": "VARCHAR"}

    @property
    def config(self) -> Config:
        tracked = self.tracking.resolved(("a", "b"))
        return Config(self.keys, (*self.keys, "a", "b"), tracked, 2, self.sequence_ties)

    @property
    def options(self) -> dict[str, Any]:
        options: dict[str, Any] = {
            "keys": list(self.keys),
            "sequence_by": "bt",
            "system_sequence_by": "st",
            "apply_as_deletes": "op = 'D'",
            "except_column_list": ["bt", "st", "op"],
            "stored_as_scd_type": "bitemporal",
            "sequence_ties": self.sequence_ties,
        }
        if self.tracking.form != "all":
            option = {"columns": "track_history_column_list", "except": "track_history_except_column_list"}
            options[option[self.tracking.form]] = list(self.tracking.names)
        return options

    def feed_row(self, known: Known) -> Row:
        event = known.event
        values = {name: event.values.get(name) for name in ("a", "b")}
        mark = "D" if event.kind == "delete" else "U"
        keys = dict(zip(self.keys, event.key, strict=True))
        return {**keys, **values, "bt": event.sequence, "st": known.system, "op": mark}


@dataclass(frozen=True)
class Stream:
    """Events in runs, in the order of arrival."""

    shape: Shape
    runs: tuple[tuple[Known, ...], ...]


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    """Mostly numbers on both axes; every form of tracking."""
    axis = st.sampled_from(["number", "number", *_AXES])
    ties = draw(st.sampled_from(["fail", "fail", "warn", "allow"]))
    keys = draw(st.sampled_from([("id",), ("id",), ("id", "part")]))
    return Shape(draw(axis), draw(axis), keys, draw(trackings(["a", "b"])), cast("Ties", ties))


@st.composite
def streams(draw: st.DrawFn, order: Literal["any", "system", "both"] = "any", max_runs: int = 4) -> Stream:
    """Few places and values, so that equal neighbours, corrections and deletes of deletes are the rule."""
    shape = draw(shapes())
    keys = draw(
        st.lists(st.tuples(*[st.integers(1, 2) for _ in shape.keys]), min_size=1, max_size=2, unique=True)
    )
    place = st.tuples(
        st.sampled_from(keys),
        st.sampled_from(_AXES[shape.business][1]),
        st.sampled_from(_AXES[shape.system][1]),
    )
    kinds = st.sampled_from(["upsert", "upsert", "upsert", "delete"])
    values = st.fixed_dictionaries({name: st.sampled_from(allowed) for name, allowed in _VALUES.items()})
    with_ties = shape.sequence_ties != "fail" or draw(st.integers(0, 9)) == 0
    drawn = draw(
        st.lists(
            st.tuples(place, kinds, values),
            min_size=1,
            max_size=14,
            unique_by=None if with_ties else lambda event: event[0],
        )
    )
    events = [
        Known(
            Event(cast("Any", kind), key, business, {**dict(zip(shape.keys, key, strict=True)), **row}),
            system,
        )
        for (key, business, system), kind, row in drawn
    ]
    events += draw(st.lists(st.sampled_from(events), max_size=2))
    if order == "any":
        events = draw(st.permutations(events))
    else:
        events.sort(key=lambda known: (known.system, known.event.sequence if order == "both" else 0))
    cuts = draw(st.lists(st.integers(0, len(events)), max_size=max_runs - 1).map(sorted))
    return Stream(
        shape, tuple(tuple(events[start:end]) for start, end in itertools.pairwise([0, *cuts, len(events)]))
    )


class Watched(Target):
    """A target kept by the product, with the model beside it and a close look at both after every run."""

    def __init__(self, connection: Connection, shape: Shape, name: str = "target") -> None:
        super().__init__(connection, shape, name)
        self.shape, self.model = shape, Bitemporal(shape.config)

    def run(self, events: Sequence[Known]) -> None:
        """Give product and model one run: rows, figures and places have to be right, and nothing may overlap."""
        before = self.contents()
        try:
            expected = self.model.apply(events)
        except Refused:
            with pytest.raises(
                AutoCdcError, match=r"different events at one sequence and one system sequence"
            ):
                self.send(events)
            assert before == self.contents()
            return
        figures = self.send(events)
        after = self.places()
        assert self.model.rows() == sorted_rows(after.values())
        assert named(expected) == figures
        assert [] == overlaps(list(after.values()), self.shape.keys)
        untouched_versions_stay(before[0], after, SYSTEM_END)


def named(figures: Figures) -> dict[str, int]:
    return {
        "num_upserted_rows": figures.upserted,
        "num_deleted_rows": figures.deleted,
        "num_read_rows": figures.read,
        "num_late_rows": figures.late,
        "num_duplicate_rows": figures.duplicates,
        "num_tied_rows": figures.tied,
    }


def follow(connection: Connection, stream: Stream, *, rereads: bool = False) -> None:
    """Run a stream beside the model, then replay what was applied: nothing may be written."""
    target = Watched(connection, stream.shape)
    applied: list[Known] = []
    for run in stream.runs:
        events = [*applied, *run] if rereads else run
        target.run(events)
        applied += [known for known in run if known.identity in target.model.known]
    if not applied:
        return  # every run was refused, and there is no target yet
    before = target.contents()
    figures = target.send(list(target.model.known.values()))
    assert [0, 0] == [figures[name] for name in ("num_upserted_rows", "num_deleted_rows")]
    assert before == target.contents()


@settings(max_examples=examples(25, 3000))
@given(stream=streams(), rereads=st.booleans())
def test_both_axes_in_any_order(connection: Connection, stream: Stream, rereads: bool) -> None:
    """Rows, figures and row ids after every run, in every form of tracking; a replay writes nothing."""
    follow(connection, stream, rereads=rereads)


@settings(max_examples=examples(15, 3000))
@given(stream=st.one_of(streams("system", 6), streams("both", 6)))
def test_in_order_of_system_time(connection: Connection, stream: Stream) -> None:
    """Events that come as they become known change what is believed now, a system time that goes on included."""
    follow(connection, stream)


@settings(max_examples=examples(10, 2000))
@given(stream=streams(max_runs=3))
def test_where_few_versions_end(connection: Connection, stream: Stream) -> None:
    """In a large target versions that are believed no more are written anew, not ended in place: same table."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scd2, "IN_PLACE_FROM", 0)
        target = Watched(connection, stream.shape)
        for run in stream.runs:
            target.run(run)


@settings(max_examples=examples(10, 2000))
@given(stream=streams())
def test_the_tables_depend_on_the_set_of_events(connection: Connection, stream: Stream) -> None:
    """One run of all events leaves the same target and companion as many."""
    in_runs, at_once = (Watched(connection, stream.shape, name) for name in ("target", "other"))
    try:
        at_once.send([known for run in stream.runs for known in run])
        for run in stream.runs:
            in_runs.send(run)
    except AutoCdcError as error:
        assert "different events" in str(error)  # noqa: PT017 - ties refuse either
        return
    if stream.shape.sequence_ties != "fail":
        return  # two different events of a place that come in different runs: the first stays
    for table in ("", "__auto_cdc"):
        assert sorted_rows(at_once.places(table).values()) == sorted_rows(in_runs.places(table).values())
