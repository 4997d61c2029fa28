"""The rules of partial updates in plain Python: what a target must hold where events leave columns out.

Not here: SQL, configuration as users write it, schema changes and rows written by hand. The model is written from
SEMANTICS.md (sections 2-5) alone: it keeps every event it was ever given, with the parts that each wrote, and computes
the whole table again after each run. A part is a column, or a leaf of a struct whose leaves are written one by one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.reference_model import END, START, Identity, Key, Refused, Row, comparable, sorted_rows

Path = tuple[str, ...]
Written = dict[Path, Any]
Kind = Literal["upsert", "delete", "truncate"]


@dataclass(frozen=True)
class PartialConfig:
    """A target whose events leave columns out: by a null in `ignoring` columns, or by what an event lists.

    `structs` gives the fields of struct columns, nested ones as mappings; `always` are written by every event;
    `tracked` means nothing in type 1.
    """

    keys: tuple[str, ...]
    columns: tuple[str, ...]
    ignoring: frozenset[str] = frozenset()
    lists: bool = False
    always: frozenset[str] = frozenset()
    structs: Mapping[str, Any] = field(default_factory=dict)
    tracked: tuple[str, ...] = ()
    scd_type: Literal[1, 2] = 1
    sequence_ties: Literal["fail", "warn", "allow"] = "fail"


@dataclass(frozen=True)
class Change:
    """An event as the source sends it; `listed` are the columns it writes, None for all of them."""

    kind: Kind
    key: Key
    sequence: Any
    values: Mapping[str, Any] = field(default_factory=dict)
    listed: tuple[str, ...] | None = None


class PartialModel:
    """A target and all that its events wrote."""

    def __init__(self, config: PartialConfig) -> None:
        self.config = config
        self.events: dict[Identity, Written | None] = {}
        """What the upsert at a key and sequence wrote; None for a delete."""
        self.truncate: Any = None
        self.tied = 0

    def apply(self, batch: Iterable[Change]) -> None:
        """Apply one run; raise `Refused`, leaving everything as it was, where it has to be refused."""
        batch = list(batch)
        truncates = [change.sequence for change in batch if change.kind == "truncate"]
        truncate = max([*truncates, *([] if self.truncate is None else [self.truncate])], default=None)
        events = dict(self.events)
        disputed: list[tuple[Identity, Path | None]] = []
        for identity, changes in _by_identity(batch).items():
            known = self.events.get(identity, {})
            if known is None:
                continue
            deletes = identity not in self.events and any(change.kind == "delete" for change in changes)
            sent = [dict(self._written(change)) for change in changes if change.kind == "upsert"]
            if deletes:
                disputed += [(identity, None)] if any(self._counts(identity, one) for one in sent) else []
                events[identity] = None
            elif sent:
                fresh: dict[Path, list[Any]] = defaultdict(list)
                for written in sent:
                    for path, value in written.items():
                        if path not in known:
                            fresh[path].append(value)
                disputed += [(identity, path) for path, values in fresh.items() if len(_distinct(values)) > 1]
                chosen = {path: max(values, key=comparable) for path, values in fresh.items()}
                events[identity] = {**chosen, **known}
        before = self.events, self.truncate
        self.events, self.truncate = events, truncate
        self.tied = len({identity for identity, path in disputed if self._decides(identity, path)})
        if self.tied and self.config.sequence_ties == "fail":
            self.events, self.truncate = before
            raise Refused(["ties"])

    def rows(self) -> list[Row]:
        """Return the visible target, sorted; in SCD2 with the bounds after the output columns."""
        return sorted_rows(row for key in {key for key, _ in self.events} for row in self._rows_of(key))

    # What an event writes

    def _written(self, change: Change) -> Iterator[tuple[Path, Any]]:
        config = self.config
        listed = None if change.listed is None else {name.lower() for name in change.listed}
        for column in config.columns:
            if column in config.keys:
                continue
            value = change.values.get(column)
            if column in config.ignoring and column not in config.always:
                leaves = _leaves((column,), value, config.structs.get(column))
                yield from ((path, leaf) for path, leaf in leaves if leaf is not None)
            elif not config.lists or column in config.always or listed is None or column.lower() in listed:
                yield (column,), value

    def _counts(self, identity: Identity, written: Written) -> bool:
        """Whether an upsert can be in a tie with a delete: in type 1 not one from which the key learns nothing."""
        key, sequence = identity
        line = self._line(key)
        if self.config.scd_type == 2 or not line or sequence > line[-1][0]:
            return True
        floor = max((place for place, known in line if known is None), default=None)
        if floor is not None and sequence <= floor:
            return False
        later = [known for place, known in line if known is not None and place >= sequence]
        return any(all(path not in known for known in later) for path in written)

    # The table, from all events

    def _line(self, key: Key) -> list[tuple[Any, Written | None]]:
        """The key's events in order, those below the latest truncate left out."""
        return sorted(
            (
                (sequence, written)
                for (owner, sequence), written in self.events.items()
                if owner == key and (self.truncate is None or sequence >= self.truncate)
            ),
            key=lambda event: event[0],
        )

    def _rows_of(self, key: Key) -> list[Row]:
        rows: list[Row] = []
        filled: Written | None = None
        for sequence, written in self._line(key):
            was, filled = filled, None if written is None else {**(filled or {}), **written}
            row = None if filled is None else self._row(key, filled)
            if was is not None and row is not None and self._agree(rows[-1], row):
                rows[-1] = {**row, START: rows[-1][START], END: None}
                continue
            if was is not None:
                rows[-1][END] = sequence
            if row is not None:
                rows.append({**row, START: sequence, END: None})
        if self.config.scd_type == 2:
            return rows
        return [{name: row[name] for name in self.config.columns} for row in rows[-1:] if row[END] is None]

    def _row(self, key: Key, filled: Written) -> Row:
        keys = dict(zip(self.config.keys, key, strict=True))
        split = {name: fields for name, fields in self.config.structs.items() if name in self.config.ignoring}
        return {
            column: keys[column] if column in keys else _whole((column,), filled, split.get(column))
            for column in self.config.columns
        }

    def _agree(self, row: Row, other: Row) -> bool:
        return all(comparable(row[name]) == comparable(other[name]) for name in self.config.tracked)

    def _decides(self, identity: Identity, path: Path | None) -> bool:
        """Whether a tie matters: in type 1 only at the key's last delete, or at what wrote the part last."""
        if self.config.scd_type == 2:
            return True
        key, sequence = identity
        line = self._line(key)
        floor = max((place for place, written in line if written is None), default=None)
        if path is None:
            return bool(floor == sequence)
        authors = [place for place, written in line if written is not None and path in written]
        return bool(authors) and max(authors) == sequence and (floor is None or sequence > floor)


def _by_identity(batch: Sequence[Change]) -> dict[Identity, list[Change]]:
    found: dict[Identity, list[Change]] = defaultdict(list)
    for change in batch:
        if change.kind != "truncate":
            found[change.key, change.sequence].append(change)
    return found


def _distinct(values: list[Any]) -> set[Any]:
    return {comparable(value) for value in values}


def _leaves(path: Path, value: Any, fields: Mapping[str, Any] | None) -> Iterator[tuple[Path, Any]]:
    if fields is None:
        yield path, value
        return
    for name, inner in fields.items():
        yield from _leaves((*path, name), None if value is None else value.get(name), inner)


def _whole(path: Path, filled: Written, fields: Mapping[str, Any] | None) -> Any:
    """Put a column together; a struct whose leaves are all null is null."""
    if fields is None:
        return filled.get(path)
    parts = {name: _whole((*path, name), filled, inner) for name, inner in fields.items()}
    return None if all(part is None for part in parts.values()) else parts
