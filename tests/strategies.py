"""Hypothesis strategies for streams of events that are small and nasty: few keys, few sequences, few values.

Not here: how a stream is given to the product. A `Stream` says what the target is to be made of (its `Shape`)
and which events come in which run, as the reference model's events and as plain rows of a feed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

from hypothesis import strategies as st

from tests.databases import takes_lists
from tests.reference_model import Config, Event, Identity, Row

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MARKER = "op"
"""The feed's column that says what an event is: one of MARKS."""
MARKS = {"upsert": "U", "delete": "D", "truncate": "T"}

_KEYS: dict[tuple[str, ...], tuple[tuple[Any, ...], ...]] = {
    ("id",): ((1,), (2,), (3,), (4,)),
    ("id", "part"): ((1, "x"), (1, "y"), (2, "x"), (2, "y")),
}
_SEQUENCES: dict[tuple[str, ...], tuple[Any, ...]] = {
    ("seq",): tuple(range(1, 9)),
    ("seq", "step"): tuple((seq, step) for seq in (1, 2, 10) for step in (0, 2, 10)),
}
_SERVED = [names for names in _SEQUENCES if len(names) == 1 or takes_lists()]
_VALUES: dict[str, tuple[Any, ...]] = {"a": (None, 0, 1), "b": (None, "", "x"), "c": (None, 0)}
_TYPES = {
    "id": "INTEGER",
    "part": "VARCHAR",
    "seq": "BIGINT",
    "step": "INTEGER",
    "a": "INTEGER",
    "b": "VARCHAR",
    "c": "INTEGER",
    MARKER: "VARCHAR",
}

Ties = Literal["fail", "warn", "allow"]
Runs = tuple[tuple[Event, ...], ...]


@dataclass(frozen=True)
class Tracking:
    """Which columns SCD type 2 compares: all non-key output columns, only those named, or all but those."""

    form: Literal["all", "columns", "except"]
    names: tuple[str, ...] = ()

    def resolved(self, candidates: Sequence[str]) -> tuple[str, ...]:
        """Return the tracked ones among the non-key output columns."""
        if self.form == "all":
            return tuple(candidates)
        return tuple(name for name in candidates if (name in self.names) == (self.form == "columns"))


@dataclass(frozen=True)
class Shape:
    """A target and its feed: the feed has keys, values, sequence and MARKER columns, in this order."""

    scd_type: Literal[1, 2]
    keys: tuple[str, ...]
    values: tuple[str, ...]
    sequence: tuple[str, ...]
    is_sequence_output: bool
    tracking: Tracking
    sequence_ties: Ties = "fail"

    @property
    def types(self) -> dict[str, str]:
        """Return the feed's columns with their DuckDB types."""
        return {name: _TYPES[name] for name in (*self.keys, *self.values, *self.sequence, MARKER)}

    @property
    def output(self) -> tuple[str, ...]:
        """Return the output columns in order."""
        return self.keys + self.values + (self.sequence if self.is_sequence_output else ())

    @property
    def excluded(self) -> tuple[str, ...]:
        """Return the feed's columns that are not output columns: never empty."""
        return tuple(name for name in self.types if name not in self.output)

    @property
    def config(self) -> Config:
        """Return the options for the reference model."""
        candidates = [name for name in self.output if name not in self.keys]
        tracked = self.tracking.resolved(candidates) if self.scd_type == 2 else ()
        return Config(self.keys, self.output, tracked, self.scd_type, self.sequence_ties)

    def event(self, kind: Literal["upsert", "delete"], identity: Identity, values: Row) -> Event:
        """Make an event with its output columns, whatever its kind (a delete's are noise)."""
        key, sequence = identity
        row = {**dict(zip(self.keys, key, strict=True)), **values, **self._sequence_columns(sequence)}
        return Event(kind, key, sequence, {name: row[name] for name in self.output})

    def truncate(self, sequence: Any) -> Event:
        return Event("truncate", (None,) * len(self.keys), sequence)

    def feed_row(self, event: Event) -> Row:
        """Return the event as a row of the feed."""
        return {
            **dict(zip(self.keys, event.key, strict=True)),
            **{name: event.values.get(name) for name in self.values},
            **self._sequence_columns(event.sequence),
            MARKER: MARKS[event.kind],
        }

    def _sequence_columns(self, sequence: Any) -> Row:
        parts = sequence if len(self.sequence) > 1 else (sequence,)
        return dict(zip(self.sequence, parts, strict=True))


@dataclass(frozen=True)
class Stream:
    """Events in runs, in the order of arrival; some runs may be empty."""

    shape: Shape
    runs: Runs

    @property
    def events(self) -> tuple[Event, ...]:
        return tuple(event for run in self.runs for event in run)

    def feed_rows(self, index: int) -> list[Row]:
        """Return what is new in a run, as rows of the feed."""
        return [self.shape.feed_row(event) for event in self.runs[index]]


def trackings(columns: Sequence[str]) -> st.SearchStrategy[Tracking]:
    """Every form of tracking over the non-key output columns; excepting all of them tracks nothing."""
    some = st.lists(st.sampled_from(list(columns)), min_size=1, unique=True).map(tuple)
    return st.one_of(
        st.just(Tracking("all")),
        some.map(lambda names: Tracking("columns", names)),
        some.map(lambda names: Tracking("except", names)),
        st.just(Tracking("except", tuple(columns))),
    )


@st.composite
def shapes(draw: st.DrawFn, scd_type: Literal[1, 2] | None = None, sequence_ties: Ties = "fail") -> Shape:
    """Targets: one or two keys, two or three values, single or composite sequence, in the output or not."""
    values = draw(st.sampled_from([("a", "b"), ("a", "b", "c")]))
    sequence = draw(st.sampled_from(_SERVED))
    is_sequence_output = draw(st.booleans())
    return Shape(
        scd_type=draw(st.sampled_from([1, 2])) if scd_type is None else scd_type,
        keys=draw(st.sampled_from(list(_KEYS))),
        values=values,
        sequence=sequence,
        is_sequence_output=is_sequence_output,
        tracking=draw(trackings(values + (sequence if is_sequence_output else ()))),
        sequence_ties=sequence_ties,
    )


@st.composite
def events_of(
    draw: st.DrawFn,
    shape: Shape,
    *,
    with_truncates: bool = False,
    with_ties: bool = False,
    max_events: int = 24,
) -> list[Event]:
    """Events of a shape: a key and sequence comes once, unless ties are asked for; truncates only in SCD1."""
    keys = draw(st.lists(st.sampled_from(_KEYS[shape.keys]), min_size=1, max_size=4, unique=True))
    identities = st.tuples(st.sampled_from(keys), st.sampled_from(_SEQUENCES[shape.sequence]))
    kinds = st.sampled_from(["upsert", "upsert", "upsert", "delete", "delete"])
    values = st.fixed_dictionaries({name: st.sampled_from(_VALUES[name]) for name in shape.values})
    drawn = draw(
        st.lists(
            st.tuples(identities, kinds, values),
            max_size=max_events,
            unique_by=None if with_ties else lambda event: event[0],
        )
    )
    events = [shape.event(kind, identity, values) for identity, kind, values in drawn]
    if with_truncates and shape.scd_type == 1:
        sequences = draw(st.lists(st.sampled_from(_SEQUENCES[shape.sequence]), max_size=2, unique=True))
        events += [shape.truncate(sequence) for sequence in sequences]
    return events


@st.composite
def arrivals_of(
    draw: st.DrawFn, events: Iterable[Event], *, with_repeats: bool = True, max_runs: int = 6
) -> Runs:
    """Put events in any order and cut them into runs; repeats are single copies and whole or half runs."""
    arriving = list(events)
    if with_repeats and arriving:
        arriving += draw(st.lists(st.sampled_from(arriving), max_size=4))
    arriving = draw(st.permutations(arriving))
    cuts = draw(st.lists(st.integers(0, len(arriving)), max_size=max_runs - 1).map(sorted))
    starts, ends = [0, *cuts], [*cuts, len(arriving)]
    runs = [arriving[start:end] for start, end in zip(starts, ends, strict=True)]
    if with_repeats:
        which = st.integers(0, len(runs) - 1)
        for source, target, is_whole in draw(st.lists(st.tuples(which, which, st.booleans()), max_size=2)):
            replayed = runs[source] if is_whole else runs[source][: len(runs[source]) // 2]
            runs[target] = [*runs[target], *replayed]
    return tuple(tuple(run) for run in runs)


@st.composite
def streams(
    draw: st.DrawFn,
    scd_type: Literal[1, 2] | None = None,
    *,
    with_truncates: bool = False,
    with_ties: bool = False,
    with_repeats: bool = True,
    max_events: int = 24,
    max_runs: int = 6,
) -> Stream:
    """Shapes with their events in runs; without ties every arrangement of the events means the same table.

    With ties the shape lets them through (warn or allow) in half of the streams, the others refuse them.
    """
    ties = draw(st.sampled_from(["fail", "fail", "warn", "allow"])) if with_ties else "fail"
    shape = draw(shapes(scd_type, cast("Ties", ties)))
    events = draw(events_of(shape, with_truncates=with_truncates, with_ties=with_ties, max_events=max_events))
    return Stream(shape, draw(arrivals_of(events, with_repeats=with_repeats, max_runs=max_runs)))


@st.composite
def crowded_streams(
    draw: st.DrawFn,
    scd_type: Literal[1, 2] | None = None,
    *,
    with_truncates: bool = False,
    with_ties: bool = False,
    max_runs: int = 5,
) -> Stream:
    """Streams of one or two keys with events at most sequences, so that late ones fall between others, or tie."""
    ties = draw(st.sampled_from(["fail", "warn", "allow"])) if with_ties else "fail"
    shape = draw(shapes(scd_type, cast("Ties", ties)).filter(lambda shape: shape.sequence == ("seq",)))
    keys = draw(st.lists(st.sampled_from(_KEYS[shape.keys]), min_size=1, max_size=2, unique=True))
    places = st.tuples(
        st.sampled_from(keys), st.sampled_from(_SEQUENCES[shape.sequence][: 4 if with_ties else 8])
    )
    kinds = st.sampled_from(["upsert", "upsert", "upsert", "delete"])
    values = st.fixed_dictionaries({name: st.sampled_from(_VALUES[name]) for name in shape.values})
    events = [
        shape.event(draw(kinds), place, draw(values))
        for place in draw(st.lists(places, min_size=5, max_size=12, unique=not with_ties))
    ]
    if with_truncates and shape.scd_type == 1:
        events += [shape.truncate(sequence) for sequence in draw(st.lists(st.integers(1, 8), max_size=1))]
    return Stream(shape, draw(arrivals_of(events, max_runs=max_runs)))
