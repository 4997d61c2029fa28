"""The rules of SCD type 1 and 2 in plain Python: what a target must hold after any stream of events.

Not here: SQL, dbt, configuration as users write it, partial updates, schema changes and rows written by
hand. The model is written from SEMANTICS.md (sections 1-4 and 13) alone and shares no idea with the product:
it keeps every event it was ever given and computes the whole table again after each run, so it is slow and
easy to believe.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from datetime import timedelta

START = "__START_AT"
END = "__END_AT"

Row = dict[str, Any]
Kind = Literal["upsert", "delete", "truncate"]
Key = tuple[Any, ...]
Identity = tuple[Key, Any]
"""What identifies an event: its key and its sequence."""


class Refused(Exception):
    """The run was refused before anything changed: null_sequence, null_key, truncate, or ties alone."""

    def __init__(self, reasons: Sequence[str]) -> None:
        super().__init__(", ".join(reasons))
        self.reasons = tuple(reasons)


@dataclass(frozen=True)
class Config:
    """The options of a target, resolved: `columns` are the output columns in order, keys among them.

    `tracked` is what is compared in SCD type 2 (may be empty); it means nothing in type 1.
    """

    keys: tuple[str, ...]
    columns: tuple[str, ...]
    tracked: tuple[str, ...] = ()
    scd_type: Literal[1, 2] = 1
    sequence_ties: Literal["fail", "warn", "allow"] = "fail"
    tombstone_retention: float | timedelta | None = None

    def __post_init__(self) -> None:
        if not self.keys or not set(self.keys) <= set(self.columns):
            raise ValueError(f"keys {self.keys} must be among the output columns {self.columns}")
        if not set(self.tracked) <= set(self.columns) - set(self.keys):
            raise ValueError(f"tracked {self.tracked} must be output columns other than the keys")


@dataclass(frozen=True)
class Event:
    """One change of one key; a truncate has no key (parts None) and changes all of them.

    `sequence` is a comparable value, a tuple where it has several parts; key parts are hashable. `values` are
    the output columns (an absent one is null); what a delete or truncate carries there is ignored.
    """

    kind: Kind
    key: Key
    sequence: Any
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Figures:
    """What one run did.

    upserted      SCD2: visible rows that are new or differ, by key and __START_AT. SCD1: visible rows whose
                  winning upsert came with this run, also where it wrote the values that were there ...
    rewritten     ... of which so many
    deleted       visible rows that are gone, by the same identity
    read          events given
    late          new events below the greatest sequence their key had before the run
    late_replays  replays below it: a product that cannot tell them apart counts late + late_replays
    replays       events whose key and sequence an earlier run applied (truncates: whose sequence)
    duplicates    extra copies of equal events within the run, replays included
    tied          keys and sequences with different new events, ties that decide nothing left out
    """

    upserted: int = 0
    rewritten: int = 0
    deleted: int = 0
    read: int = 0
    late: int = 0
    late_replays: int = 0
    replays: int = 0
    duplicates: int = 0
    tied: int = 0


class Model:
    """A target and all the events it was made from."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.figures = Figures()
        self._events: dict[Identity, Event] = {}
        self._truncates: set[Any] = set()
        self._greatest: Any = None

    def apply(self, batch: Iterable[Event]) -> Figures:
        """Apply one run; raise `Refused`, leaving everything as it was, where it has to be refused."""
        batch = list(batch)
        self._refuse_bad_events(batch)
        before = self._table()
        greatest_before = _greatest_by_key(self._events)
        known, known_truncates = dict(self._events), set(self._truncates)

        truncates = known_truncates | {event.sequence for event in batch if event.kind == "truncate"}
        fresh = self._distinct(
            event for event in batch if event.kind != "truncate" and _identity(event) not in known
        )
        tied = self._ties_that_decide(fresh, truncates)
        if tied and self.config.sequence_ties == "fail":
            raise Refused(["ties"])

        for identity, events in fresh.items():
            self._events[identity] = max(events, key=self._precedence)
        self._truncates = truncates
        self._forget_tombstones(batch)

        after = self._table()
        replays = [
            event
            for event in batch
            if (event.sequence in known_truncates if event.kind == "truncate" else _identity(event) in known)
        ]
        below = Counter(
            "late_replays" if _identity(event) in known else "late"
            for event in batch
            if event.kind != "truncate"
            and event.key in greatest_before
            and event.sequence < greatest_before[event.key]
        )
        written = [row for row in after if row not in before or after[row] != before[row]]
        self.figures = Figures(
            upserted=len(written),
            rewritten=sum(row in before and after[row][1] == before[row][1] for row in written),
            deleted=sum(row not in after for row in before),
            read=len(batch),
            late=below["late"],
            late_replays=below["late_replays"],
            replays=len(replays),
            duplicates=len(batch) - len({self._content(event) for event in batch}),
            tied=len(tied),
        )
        return self.figures

    def rows(self) -> list[Row]:
        """Return the visible target, sorted; in SCD2 with the bounds after the output columns."""
        if self.config.scd_type == 1:
            return sorted_rows(self._current().values())
        return sorted_rows(row for key in self._keys() for row in self._history(key))

    # What a run refuses, and how it reads its events

    def _refuse_bad_events(self, batch: list[Event]) -> None:
        reasons = []
        if any(_has_null(event.sequence) for event in batch):
            reasons.append("null_sequence")
        if any(None in event.key for event in batch if event.kind != "truncate"):
            reasons.append("null_key")
        if self.config.scd_type == 2 and any(event.kind == "truncate" for event in batch):
            reasons.append("truncate")
        if reasons:
            raise Refused(reasons)

    def _content(self, event: Event) -> tuple[Any, ...]:
        """Return what makes two events equal: kind, key, sequence and an upsert's written values."""
        key = () if event.kind == "truncate" else event.key
        return event.kind, key, event.sequence, self._written(event)

    def _written(self, event: Event) -> tuple[Any, ...]:
        """Return the written values in the order of the output columns; null is a value, the lowest."""
        if event.kind != "upsert":
            return ()
        return tuple(comparable(event.values.get(column)) for column in self.config.columns)

    def _precedence(self, event: Event) -> tuple[Any, ...]:
        """Rank the events of a tie: a delete beats an upsert, then the greatest upsert wins."""
        return event.kind == "delete", self._written(event)

    def _distinct(self, events: Iterable[Event]) -> dict[Identity, list[Event]]:
        """Collect the different events of every key and sequence."""
        found: dict[Identity, dict[Any, Event]] = defaultdict(dict)
        for event in events:
            found[_identity(event)].setdefault(self._content(event), event)
        return {identity: list(contents.values()) for identity, contents in found.items()}

    def _ties_that_decide(self, fresh: dict[Identity, list[Event]], truncates: set[Any]) -> list[Identity]:
        """Find keys and sequences with different events; in SCD1 only where they decide the key's row."""
        tied = [identity for identity, events in fresh.items() if len(events) > 1]
        if self.config.scd_type == 2:
            return tied
        greatest = _greatest_by_key([*self._events, *fresh])
        return [
            (key, sequence)
            for key, sequence in tied
            if sequence == greatest[key] and not any(sequence < truncate for truncate in truncates)
        ]

    def _forget_tombstones(self, batch: list[Event]) -> None:
        """Forget deletes that lie further than the retention behind the greatest sequence ever seen.

        In SCD1 such a delete goes with all that is known of its key, if it is the last of the key; in SCD2 it
        goes alone, if it ends no visible row.
        """
        seen = [event.sequence for event in batch]
        if seen:
            self._greatest = max(seen) if self._greatest is None else max(self._greatest, *seen)
        if self.config.tombstone_retention is None or self._greatest is None:
            return
        limit = self._greatest - self.config.tombstone_retention
        expired = {
            identity
            for identity, event in self._events.items()
            if event.kind == "delete" and identity[1] < limit
        }
        if self.config.scd_type == 1:
            gone = {key for key, sequence in expired if _greatest_by_key(self._events)[key] == sequence}
            self._events = {known: event for known, event in self._events.items() if known[0] not in gone}
        else:
            visible = {(key, row[END]) for key in self._keys() for row in self._history(key)}
            self._events = {
                known: event
                for known, event in self._events.items()
                if known not in expired or known in visible
            }

    # The target, from all events

    def _keys(self) -> set[Key]:
        return {key for key, _ in self._events}

    def _current(self) -> dict[Key, Row]:
        """SCD type 1: per key the values of its last event not below a truncate, unless it is a delete."""
        rows = {}
        for key, event in self._winners().items():
            if event.kind == "upsert":
                rows[key] = {column: event.values.get(column) for column in self.config.columns}
        return rows

    def _winners(self) -> dict[Key, Event]:
        winners: dict[Key, Event] = {}
        for (key, sequence), event in self._events.items():
            if any(sequence < truncate for truncate in self._truncates):
                continue
            if key not in winners or winners[key].sequence < sequence:
                winners[key] = event
        return winners

    def _history(self, key: Key) -> list[Row]:
        """SCD type 2: the runs of one key, each from its first event on, with the values of its last."""
        events = [event for (owner, _), event in self._events.items() if owner == key]
        rows: list[Row] = []
        is_open = False
        for event in sorted(events, key=lambda event: event.sequence):
            if is_open and event.kind == "upsert" and self._continues(rows[-1], event):
                start = rows.pop()[START]
            else:
                if is_open:
                    rows[-1][END] = event.sequence
                start = event.sequence
            is_open = event.kind == "upsert"
            if is_open:
                values = {column: event.values.get(column) for column in self.config.columns}
                rows.append({**values, START: start, END: None})
        return rows

    def _continues(self, row: Row, event: Event) -> bool:
        return all(
            comparable(row[column]) == comparable(event.values.get(column)) for column in self.config.tracked
        )

    def _table(self) -> dict[Any, tuple[Any, Any]]:
        """Return the visible rows by identity, with the sequence of the winner (SCD1) beside them."""
        if self.config.scd_type == 1:
            winners = self._winners()
            return {key: (winners[key].sequence, comparable(row)) for key, row in self._current().items()}
        return {
            (key, row[START]): (None, comparable(row)) for key in self._keys() for row in self._history(key)
        }


def comparable(value: Any) -> Any:
    """Make a value comparable, sortable and hashable: null equals null and is lowest, NaN equals NaN."""
    if value is None:
        return (0,)
    if isinstance(value, float) and math.isnan(value):
        return (2,)
    if isinstance(value, Mapping):
        return (1, tuple((name, comparable(part)) for name, part in value.items()))
    if isinstance(value, list | tuple):
        return (1, tuple(comparable(part) for part in value))
    return (1, value)


def sorted_rows(rows: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Sort rows by nothing but their values: equal lists are equal multisets."""
    return sorted((dict(row) for row in rows), key=comparable)


def _identity(event: Event) -> Identity:
    return event.key, event.sequence


def _greatest_by_key(identities: Iterable[Identity]) -> dict[Key, Any]:
    greatest: dict[Key, Any] = {}
    for key, sequence in identities:
        if key not in greatest or greatest[key] < sequence:
            greatest[key] = sequence
    return greatest


def _has_null(sequence: Any) -> bool:
    return sequence is None or (isinstance(sequence, tuple) and None in sequence)
