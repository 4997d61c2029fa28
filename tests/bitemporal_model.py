"""The rules of bitemporal targets in plain Python: every belief by brute force, and what came and went between them.

Not here: SQL, and what one belief is: the history of SCD type 2, for which `reference_model` stands. Written from
SEMANTICS.md (section 6, and 1, 2, 4 and 13) alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tests.partial_model import Change, PartialConfig, PartialModel, Written
from tests.reference_model import END, START, Config, Event, Key, Model, Refused, Row, comparable, sorted_rows

SYSTEM_START = "__SYSTEM_START_AT"
SYSTEM_END = "__SYSTEM_END_AT"


@dataclass(frozen=True)
class Known:
    """An event and when it became known."""

    event: Event
    system: Any

    @property
    def identity(self) -> tuple[Key, Any, Any]:
        """What identifies an event of a bitemporal target."""
        return self.event.key, self.event.sequence, self.system


@dataclass(frozen=True)
class Figures:
    """What one run did, by row identity: keys, __START_AT and __SYSTEM_START_AT."""

    upserted: int
    deleted: int
    read: int
    late: int
    duplicates: int
    tied: int


class Bitemporal:
    """A bitemporal target and all the events it was made from."""

    def __init__(self, config: Config) -> None:
        self.config = replace(config, scd_type=2)
        self.known: dict[Any, Known] = {}

    def apply(self, batch: Iterable[Known]) -> Figures:
        """Apply one run; raise `Refused`, leaving everything as it was, where it has to be refused."""
        batch = list(batch)
        one = Model(self.config)
        fresh: dict[Any, dict[Any, Known]] = defaultdict(dict)
        new = [known for known in batch if known.identity not in self.known]
        for known in new:
            fresh[known.identity].setdefault(one._content(known.event), known)
        tied = [identity for identity, ways in fresh.items() if len(ways) > 1]
        if tied and self.config.sequence_ties == "fail":
            raise Refused(["ties"])
        greatest: dict[Key, Any] = {}
        for key, sequence, _ in self.known:
            greatest[key] = max(greatest.get(key, sequence), sequence)
        before = self._table()
        for identity, ways in fresh.items():
            self.known[identity] = max(ways.values(), key=lambda known: one._precedence(known.event))
        after = self._table()
        return Figures(
            upserted=sum(before.get(place) != row for place, row in after.items()),
            deleted=sum(place not in after for place in before),
            read=len(batch),
            late=sum(
                known.event.key in greatest and known.event.sequence < greatest[known.event.key]
                for known in new
            ),
            duplicates=len(new) - sum(map(len, fresh.values())),
            tied=len(tied),
        )

    def rows(self) -> list[Row]:
        """Return the target, sorted."""
        return sorted_rows(row for key in {key for key, _, _ in self.known} for row in self._rectangles(key))

    def _table(self) -> dict[Any, Any]:
        return {
            (*(row[name] for name in self.config.keys), row[START], row[SYSTEM_START]): comparable(row)
            for row in self.rows()
        }

    def _rectangles(self, key: Key) -> list[Row]:
        rows: list[Row] = []
        believed: dict[Any, Row] = {}
        for system in sorted({system for owner, _, system in self.known if owner == key}):
            now = {comparable(version): version for version in self.belief(key, system)}
            for version in [version for version in believed if version not in now]:
                believed.pop(version)[SYSTEM_END] = system
            for version, row in now.items():
                if version not in believed:
                    believed[version] = {**row, SYSTEM_START: system, SYSTEM_END: None}
                    rows.append(believed[version])
        return rows

    def belief(self, key: Key, system: Any) -> list[Row]:
        """Return the history of a key as of a system time: of events at one business time the latest known counts."""
        latest: dict[Any, Known] = {}
        for known in self.known.values():
            if known.event.key == key and known.system <= system:
                other = latest.get(known.event.sequence)
                if other is None or other.system < known.system:
                    latest[known.event.sequence] = known
        history = Model(self.config)
        history.apply([known.event for known in latest.values()])
        return history.rows()


class PartialBitemporal(Bitemporal):
    """A bitemporal target whose events leave columns out.

    At one business time the events known so far count in order of system time: an upsert writes its columns over what
    was written there before, a delete takes that back. Histories are filled along business time, as in SCD type 2.
    """

    def __init__(self, config: PartialConfig) -> None:
        self.config = replace(config, scd_type=2)
        self.told = PartialModel(self.config)
        """Every event by key and both its sequences, with what it wrote."""

    @property
    def known(self) -> dict[Any, Written | None]:
        """What each event wrote, None for a delete."""
        return {(key, *sequences): written for (key, sequences), written in self.told.events.items()}

    @property
    def tied(self) -> int:
        """How many times two events of the last run disputed a place."""
        return self.told.tied

    def apply(self, batch: Iterable[tuple[Change, Any]]) -> tuple[int, int]:
        """Apply one run of events with their system times; return how many versions it wrote, and took away."""
        before = self._table()
        self.told.apply([replace(change, sequence=(change.sequence, system)) for change, system in batch])
        after = self._table()
        return (
            sum(before.get(place) != row for place, row in after.items()),
            sum(place not in after for place in before),
        )

    def belief(self, key: Key, system: Any) -> list[Row]:
        """Return the history of a key as of a system time: at one business time column by column."""
        history = PartialModel(self.config)
        events = [
            (known_at, sequence, written)
            for (owner, sequence, known_at), written in self.known.items()
            if owner == key and known_at <= system
        ]
        for _, sequence, written in sorted(events, key=lambda event: event[:2]):
            said = history.events.get((key, sequence))
            history.events[key, sequence] = None if written is None else {**(said or {}), **written}
        return history.rows()


def overlaps(rows: Sequence[Row], keys: Sequence[str]) -> list[tuple[Row, Row]]:
    """Return the pairs of rows of one key that overlap on both axes: a target has none."""

    def meet(one: Row, other: Row, start: str, end: str) -> bool:
        return (other[end] is None or one[start] < other[end]) and (
            one[end] is None or other[start] < one[end]
        )

    return [
        (one, other)
        for place, one in enumerate(rows)
        for other in rows[place + 1 :]
        if all(one[name] == other[name] for name in keys)
        and meet(one, other, START, END)
        and meet(one, other, SYSTEM_START, SYSTEM_END)
    ]
