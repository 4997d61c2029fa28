"""Random streams of events, straight on the engine: after every run the target is what the reference model says.

Not here: dbt (`test_through_dbt`), rows written by hand (`test_dml`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbt_auto_cdc.scd import scd2
from tests.databases import Connection
from tests.strategies import Shape, Stream, Tracking, crowded_streams, streams
from tests.watched import Watched, examples

if TYPE_CHECKING:
    from tests.reference_model import Event


def follow(connection: Connection, stream: Stream, *, rereads: bool = False) -> None:
    """Run a stream beside the model, which looks at all there is to see, then replay it.

    Where the model re-reads its feed, each run brings all earlier events again.
    """
    has_truncates = any(event.kind == "truncate" for event in stream.events)
    target = Watched(connection, stream.shape, truncates=has_truncates)
    applied: list[Event] = []
    for run in stream.runs:
        if target.run([*applied, *run] if rereads else run) is not None:
            applied += run
    target.run([])  # so that there is a target even where every run was refused
    target.replay(applied)


def arrive_at_once(connection: Connection, stream: Stream) -> None:
    """Compare what the runs of a stream left with what one run of all its events makes."""
    in_runs, at_once = (Watched(connection, stream.shape, name=name) for name in ("target", "other"))
    for run in stream.runs:
        in_runs.send(run)
    at_once.send(stream.events)
    assert at_once.look().rows == in_runs.look().rows
    assert at_once.look().companion == in_runs.look().companion


@settings(max_examples=examples(100, 3000))
@given(
    stream=st.one_of(streams(1, with_truncates=True), crowded_streams(1, with_truncates=True)),
    rereads=st.booleans(),
)
def test_type_1(connection: Connection, stream: Stream, rereads: bool) -> None:
    """Rows, figures and row ids after every run, truncates among the events; a replay writes nothing."""
    follow(connection, stream, rereads=rereads)


@settings(max_examples=examples(100, 3000))
@given(stream=st.one_of(streams(2), crowded_streams(2)), rereads=st.booleans())
def test_type_2(connection: Connection, stream: Stream, rereads: bool) -> None:
    """Rows, figures and row ids after every run, in every form of tracking; a replay writes nothing."""
    follow(connection, stream, rereads=rereads)


@settings(max_examples=examples(40, 3000))
@given(stream=st.one_of(streams(2), crowded_streams(2)))
def test_type_2_where_few_versions_end(connection: Connection, stream: Stream) -> None:
    """In a large target ended versions are written anew, not ended in place: the table is the same."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scd2, "IN_PLACE_FROM", 0)
        follow(connection, stream)


@settings(max_examples=examples(50, 3000))
@given(
    stream=st.one_of(
        streams(with_truncates=True, with_ties=True),
        crowded_streams(with_truncates=True, with_ties=True, max_runs=3),
    ),
    rereads=st.booleans(),
)
def test_ties(connection: Connection, stream: Stream, rereads: bool) -> None:
    """Ties refuse the run and change nothing, or are settled without regard to their order."""
    follow(connection, stream, rereads=rereads)


@settings(max_examples=examples(50, 3000))
@given(stream=crowded_streams(with_truncates=True))
def test_the_companion_depends_on_the_set_of_events(connection: Connection, stream: Stream) -> None:
    """What is remembered is as little a matter of order, cut and repeats as what is visible."""
    arrive_at_once(connection, stream)


@settings(max_examples=examples(40, 2000))
@given(
    stream=crowded_streams(with_truncates=True),
    retention=st.integers(0, 6),
)
def test_tombstone_retention(connection: Connection, stream: Stream, retention: int) -> None:
    """A tombstone goes with the run that leaves it too far behind the greatest sequence seen, and not earlier."""
    target = Watched(connection, stream.shape, retention=retention)
    for run in stream.runs:
        target.run(run)


@pytest.mark.parametrize("scd_type", [1, 2])
def test_the_first_run_lets_tombstones_go_too(connection: Connection, scd_type: Literal[1, 2]) -> None:
    """A tombstone that is too old in the run that builds the target keeps nothing out afterwards."""
    shape = Shape(scd_type, ("id",), ("a",), ("seq",), is_sequence_output=False, tracking=Tracking("all"))
    target = Watched(connection, shape, retention=2)
    gone, old = shape.event("delete", ((1,), 3), {"a": 0}), shape.event("upsert", ((1,), 2), {"a": 0})
    target.run([gone, shape.event("upsert", ((2,), 9), {"a": 0})])
    target.run([old])
    assert {1, 2} == {row["id"] for row in target.look().rows}
