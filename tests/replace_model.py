"""The rules of REPLACE USING and REPLACE WHERE in plain Python: rows are multisets, and are replaced as sets.

Not here: SQL, dbt, schema changes. Written from SEMANTICS.md (sections 9 and 13) alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tests.reference_model import Refused, Row, comparable, sorted_rows


@dataclass(frozen=True)
class Figures:
    """What one run did to the visible rows, as multisets of whole rows.

    `late` counts rows that were read below their key's greatest stored sequence.
    """

    upserted: int = 0
    deleted: int = 0
    read: int = 0
    late: int = 0


class _Table:
    """Rows without identity."""

    def __init__(self) -> None:
        self.stored: list[Row] = []

    def rows(self) -> list[Row]:
        """Return the visible target, sorted."""
        return sorted_rows(self.stored)

    def _becomes(self, rows: list[Row], *, read: int, late: int = 0) -> Figures:
        before, after = (Counter(map(comparable, side)) for side in (self.stored, rows))
        self.stored = rows
        return Figures((after - before).total(), (before - after).total(), read, late)


class ReplaceUsing(_Table):
    """Per key, only the rows with the greatest sequence count."""

    def __init__(
        self, keys: Sequence[str], sequence: str, *, equal: Literal["replace", "append"] = "replace"
    ) -> None:
        super().__init__()
        self.keys, self.sequence, self.equal = keys, sequence, equal

    def apply(self, batch: Sequence[Row]) -> Figures:
        """Apply one run; raise `Refused` where a row has no place in the order."""
        if any(row[self.sequence] is None for row in batch):
            raise Refused(["null_sequence"])
        stored, incoming = self._by_key(self.stored), self._by_key(batch)
        late = sum(
            row[self.sequence] < self._greatest(stored[key])
            for key, rows in incoming.items()
            for row in rows
            if key in stored
        )
        for key, rows in incoming.items():
            greatest = self._greatest(rows)
            newest = [row for row in rows if row[self.sequence] == greatest]
            if key not in stored or greatest > self._greatest(stored[key]):
                stored[key] = newest
            elif greatest == self._greatest(stored[key]):
                stored[key] = newest if self.equal == "replace" else stored[key] + newest
        return self._becomes([row for rows in stored.values() for row in rows], read=len(batch), late=late)

    def _by_key(self, rows: Iterable[Row]) -> dict[Any, list[Row]]:
        """Sort rows by key, where null is like any other value."""
        found: dict[Any, list[Row]] = defaultdict(list)
        for row in rows:
            found[tuple(comparable(row[name]) for name in self.keys)].append(row)
        return dict(found)

    def _greatest(self, rows: Iterable[Row]) -> Any:
        return max(row[self.sequence] for row in rows)


class ReplaceWhere(_Table):
    """The rows in a range are those that came last; `holds` may return None, which is as good as no."""

    def apply(self, batch: Sequence[Row], holds: Callable[[Row], bool | None]) -> Figures:
        """Apply one run."""
        stay = [row for row in self.stored if holds(row) is not True]
        come = [row for row in batch if holds(row) is True]
        return self._becomes(stay + come, read=len(batch))
