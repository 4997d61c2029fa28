"""The rules of snapshots in plain Python: what an `auto_cdc_snapshot` target must hold after any runs.

Not here: SQL, dbt, schema changes, rows written by hand. Written from SEMANTICS.md (sections 7 and 13) alone: the
model keeps every snapshot that it applied and walks through all of them after each run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tests.reference_model import END, START, Key, Refused, Row, comparable, sorted_rows


@dataclass(frozen=True)
class Snapshot:
    """All rows of a source at a version."""

    version: Any
    rows: tuple[Row, ...] = ()


@dataclass(frozen=True)
class Config:
    """The options of a target, resolved: `columns` are the output columns in order, keys among them."""

    keys: tuple[str, ...]
    columns: tuple[str, ...]
    tracked: tuple[str, ...] = ()
    scd_type: Literal[1, 2] = 1
    allow_empty: bool = False
    max_delete_ratio: float | None = None


@dataclass(frozen=True)
class Figures:
    """What one run did: visible rows that are new or differ, and that are gone, by key (and __START_AT).

    Beside these the rows that were read, and the snapshots that came too late.
    """

    upserted: int = 0
    deleted: int = 0
    read: int = 0
    skipped: int = 0


class Model:
    """A target and all the snapshots it was made from."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self._applied: list[Snapshot] = []

    def apply(self, batch: Sequence[Snapshot]) -> Figures:
        """Apply one run; raise `Refused`, leaving everything as it was, where it has to be refused."""
        last = self._applied[-1].version if self._applied else None
        # A null has no place in the order: it is neither late nor new.
        late = [s for s in batch if last is not None and s.version is not None and s.version <= last]
        new = [s for s in batch if s not in late]
        self._refuse_bad_rows(new)
        new.sort(key=lambda snapshot: snapshot.version)
        self._refuse_sizes(new)
        before = self._table()
        self._applied += new
        after = self._table()
        return Figures(
            upserted=sum(place not in before or before[place] != row for place, row in after.items()),
            deleted=sum(place not in after for place in before),
            read=sum(len(snapshot.rows) for snapshot in batch),
            skipped=len(late),
        )

    def rows(self) -> list[Row]:
        """Return the visible target, sorted; in SCD type 2 with the bounds after the output columns."""
        return sorted_rows(self._rows())

    # What a run refuses

    def _refuse_bad_rows(self, new: Iterable[Snapshot]) -> None:
        reasons = set()
        for snapshot in new:
            keys = [self._key(row) for row in snapshot.rows]
            if snapshot.version is None:
                reasons.add("null_version")
            if any(None in key for key in keys):
                reasons.add("null_key")
            if len(keys) > len(set(keys)):
                reasons.add("duplicate_key")
        if reasons:
            raise Refused(sorted(reasons))

    def _refuse_sizes(self, new: Iterable[Snapshot]) -> None:
        present = self._keys(self._applied[-1]) if self._applied else set()
        for snapshot in new:
            if not (snapshot.rows or self.config.allow_empty):
                raise Refused(["empty_snapshot"])
            gone = len(present - self._keys(snapshot))
            ratio = self.config.max_delete_ratio
            if ratio is not None and gone > ratio * len(present):
                raise Refused(["too_many_deletes"])
            present = self._keys(snapshot)

    # The target, from all snapshots

    def _key(self, row: Row) -> Key:
        return tuple(row[name] for name in self.config.keys)

    def _keys(self, snapshot: Snapshot) -> set[Key]:
        return {self._key(row) for row in snapshot.rows}

    def _rows(self) -> list[Row]:
        if self.config.scd_type == 2:
            keys = {key for snapshot in self._applied for key in self._keys(snapshot)}
            return [row for key in keys for row in self._history(key)]
        latest = self._applied[-1].rows if self._applied else ()
        return [{name: row.get(name) for name in self.config.columns} for row in latest]

    def _history(self, key: Key) -> list[Row]:
        """The runs of one key: a run goes on while the key is there and its tracked columns stay."""
        rows: list[Row] = []
        for snapshot in self._applied:
            found = [row for row in snapshot.rows if self._key(row) == key]
            is_open = bool(rows) and rows[-1][END] is None
            if is_open and not (found and self._continues(rows[-1], found[0])):
                rows[-1][END] = snapshot.version
                is_open = False
            if found:
                start = rows.pop()[START] if is_open else snapshot.version
                values = {name: found[0].get(name) for name in self.config.columns}
                rows.append({**values, START: start, END: None})
        return rows

    def _continues(self, row: Row, now: Row) -> bool:
        return all(comparable(row[name]) == comparable(now.get(name)) for name in self.config.tracked)

    def _table(self) -> dict[Any, Any]:
        """Return the visible rows by identity."""
        return {(self._key(row), row.get(START)): comparable(row) for row in self._rows()}
