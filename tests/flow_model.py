"""The rules of whole dumps beside changes in plain Python: what a combined target must hold after any runs.

Not here: SQL, dbt, and what changes alone do, which is `reference_model`'s. Written from SEMANTICS.md (sections 7, 8
and 13): a dump at a version is a truncate there followed by an upsert there of each of its rows, and at the version
itself a change wins over the dump's row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.reference_model import Config, Event, Key, Model, Refused, Row, comparable, sorted_rows
from tests.snapshot_model import Figures, Snapshot


@dataclass(frozen=True)
class Guards:
    """What a dump may do: be empty, and delete which share of the rows."""

    allow_empty: bool = True
    max_delete_ratio: float | None = None


class Combined:
    """A target of SCD type 1 with all the changes and dumps that it was made from."""

    def __init__(self, config: Config, guards: Guards | None = None) -> None:
        self.guards = guards or Guards()
        self.changes = Model(config)
        self.dumps: list[Snapshot] = []

    @property
    def last_version(self) -> Any:
        return max((dump.version for dump in self.dumps), default=None)

    def apply(self, events: Sequence[Event], dumps: Sequence[Snapshot]) -> Figures:
        """Apply one run; raise `Refused`, leaving everything as it was, where it has to be refused."""
        last = self.last_version
        late = [d for d in dumps if last is not None and d.version is not None and d.version <= last]
        new = [dump for dump in dumps if dump not in late]
        self._refuse_bad_dumps(new)
        before = self._table()
        trial = Combined(self.changes.config, self.guards)
        trial.changes._events = dict(self.changes._events)
        trial.changes._truncates = set(self.changes._truncates)
        trial.changes._greatest = self.changes._greatest
        nobody = (None,) * len(self.changes.config.keys)
        trial.changes.apply([*events, *(Event("truncate", nobody, dump.version) for dump in new)])
        trial.dumps = [*self.dumps, *new]
        after = trial._table()
        if new:
            self._refuse_greedy_dump(before, after, trial)
        self.changes, self.dumps = trial.changes, trial.dumps
        return Figures(
            upserted=sum(self._is_written(before.get(key), now) for key, now in after.items()),
            deleted=sum(key not in after for key in before),
            read=len(events) + sum(len(dump.rows) for dump in dumps),
            skipped=len(late),
        )

    def rows(self) -> list[Row]:
        return sorted_rows(row for _, row in self._table().values())

    def remembered(self) -> set[tuple[Any, ...]]:
        """Return what has to be remembered: the changes that decide, the latest truncate, the last version."""
        winners = {(key, event.sequence, event.kind) for key, event in self.changes._winners().items()}
        nobody = (None,) * len(self.changes.config.keys)
        truncates = {(nobody, sequence, "truncate") for sequence in [self._latest()] if sequence is not None}
        return winners | truncates | {(nobody, self.last_version, "snapshot")}

    # What a run refuses

    def _key(self, row: Row) -> Key:
        return tuple(row[name] for name in self.changes.config.keys)

    def _refuse_bad_dumps(self, new: Sequence[Snapshot]) -> None:
        reasons = set()
        for dump in new:
            keys = [self._key(row) for row in dump.rows]
            if dump.version is None:
                reasons.add("null_version")
            if any(None in key for key in keys):
                reasons.add("null_key")
            if len(keys) > len(set(keys)):
                reasons.add("duplicate_key")
            if not (dump.rows or self.guards.allow_empty):
                reasons.add("empty_dump")
        if reasons:
            raise Refused(sorted(reasons))

    def _refuse_greedy_dump(self, before: dict[Key, Any], after: dict[Key, Any], trial: Combined) -> None:
        """Of the rows before, count those that go without a change that would have deleted them."""
        ratio = self.guards.max_delete_ratio
        gone = [key for key in before if key not in after and key not in trial.changes._winners()]
        if ratio is not None and len(gone) > ratio * len(before):
            raise Refused(["too_many_deletes"])

    # The target, from all changes and dumps

    def _latest(self) -> Any:
        return max(self.changes._truncates, default=None)

    def _table(self) -> dict[Key, tuple[Any, Row]]:
        """Return the visible rows by key, each with the sequence of the change that wrote it, or None."""
        winners = self.changes._winners()
        table: dict[Key, tuple[Any, Row]] = {
            key: (event.sequence, self._values(event.values))
            for key, event in winners.items()
            if event.kind == "upsert"
        }
        for dump in self.dumps:
            if dump.version == self._latest():
                table |= {
                    self._key(row): (None, self._values(row))
                    for row in dump.rows
                    if self._key(row) not in winners
                }
        return table

    def _values(self, row: Any) -> Row:
        return {name: row.get(name) for name in self.changes.config.columns}

    @staticmethod
    def _is_written(before: tuple[Any, Row] | None, now: tuple[Any, Row]) -> bool:
        """A change that newly decides is written; of a dump only what differs."""
        if now[0] is not None:
            return before is None or before[0] != now[0]
        return before is None or comparable(before[1]) != comparable(now[1])
