"""Matches the names of the options with the columns of the feed and the target: spec + state -> resolved columns.

Not here: SQL; the result only says which columns there are and what part each plays.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta

from dbt_auto_cdc import names
from dbt_auto_cdc.engines.base import Engine
from dbt_auto_cdc.errors import AutoCdcError, listed
from dbt_auto_cdc.spec import AutoCdc, unknown_name
from dbt_auto_cdc.state import Column, State


@dataclass(frozen=True)
class Output:
    """A column of the target: its name there, its type there, and the feed's column it comes from (None: lost)."""

    name: str
    type: str
    source: str | None


@dataclass(frozen=True)
class Layout:
    """The columns of one run.

    `output` in the target's order for existing columns, new ones last; `tracked` and `untracked` split the
    non-key output. `added`, `dropped` and `widened` are the changes the target needs first. `sequence` holds the
    feed's columns of a composite or plain sequence, or is empty for an expression.
    """

    keys: tuple[Output, ...]
    output: tuple[Output, ...]
    tracked: tuple[Output, ...]
    untracked: tuple[Output, ...]
    sequence: tuple[str, ...]
    sequence_type: str
    added: tuple[Column, ...] = ()
    dropped: tuple[Column, ...] = ()
    widened: tuple[Column, ...] = ()
    warnings: tuple[str, ...] = ()


class Columns:
    """Columns of a relation, found by name: exactly, else without regard to case, else unquoted."""

    def __init__(self, columns: tuple[Column, ...]) -> None:
        self.all = columns
        self._exact = {column.name: column for column in columns}
        self._folded = {column.name.lower(): column for column in columns}

    def find(self, name: str) -> Column | None:
        """Return the column a name in an option means, or None."""
        for candidate in (name, _unquoted(name)):
            found = self._exact.get(candidate) or self._folded.get(candidate.lower())
            if found:
                return found
        return None

    @property
    def names(self) -> list[str]:
        """The names as stored."""
        return [column.name for column in self.all]


def _unquoted(name: str) -> str:
    for quote in '"`':
        if len(name) > 2 and name[0] == name[-1] == quote:
            return name[1:-1].replace(quote * 2, quote)
    return name


def sequence_columns(spec: AutoCdc, feed: tuple[Column, ...]) -> tuple[str, ...]:
    """Return the feed's columns that make up the sequence; empty when it is one SQL expression."""
    columns = Columns(feed)
    found = [columns.find(part) for part in spec.sequence_by]
    if len(found) == 1 and found[0] is None:
        return ()
    return tuple(column.name for column in found if column)


def quoted_text(condition: str, feed: tuple[Column, ...]) -> list[str]:
    """Return what stands in double quotes in a condition and is no column: most likely meant as text."""
    without_text = re.sub(r"'(?:[^']|'')*'", "", condition)
    columns = Columns(feed)
    return [name for name in re.findall(r'"((?:[^"]|"")*)"', without_text) if columns.find(name) is None]


def resolve(model: str, spec: AutoCdc, state: State, engine: Engine) -> Layout:
    """Return the layout of a run; raises `AutoCdcError` with every problem found."""
    resolver = _Resolver(spec, state, engine)
    layout = resolver.layout()
    if resolver.problems:
        raise AutoCdcError(model, resolver.problems)
    return layout


class _Resolver:
    def __init__(self, spec: AutoCdc, state: State, engine: Engine) -> None:
        self.spec, self.state, self.engine = spec, state, engine
        self.feed = Columns(state.feed)
        bounds = {name.lower() for name in self.bounds}
        self.target = Columns(
            tuple(column for column in state.target or () if column.name.lower() not in bounds)
        )
        self.problems: list[str] = []
        self.warnings: list[str] = []

    @property
    def bounds(self) -> tuple[str, ...]:
        return (names.START_AT, names.END_AT) if self.spec.scd2 else ()

    def layout(self) -> Layout:
        selected = self._selected()
        output, added, dropped, widened = self._evolved(selected)
        by_name = {column.name.lower(): column for column in output}
        keys = self._keys(by_name)
        tracked = self._tracked(output, keys)
        sequence = self._sequence(output, tracked)
        self._check_reserved(output)
        self._check_conditions()
        self._check_dropped(dropped)
        return Layout(
            keys=keys,
            output=output,
            tracked=tracked,
            untracked=tuple(column for column in output if column not in tracked and column not in keys)
            if self.spec.scd2
            else (),
            sequence=sequence,
            sequence_type=self.state.sequence_type,
            added=added,
            dropped=dropped,
            widened=widened,
            warnings=tuple(self.warnings),
        )

    def _named(self, option: str, listed_names: tuple[str, ...], columns: Columns) -> list[Column]:
        found = []
        for name in listed_names:
            column = columns.find(name)
            if column is None:
                self.problems.append(unknown_name(option, name, columns.names))
            else:
                found.append(column)
        return found

    def _selected(self) -> list[Column]:
        """The feed's columns that are output, plus (by name only) those the feed lost but the target has."""
        spec = self.spec
        # A column that the source lost but the target still has may go on being named.
        lost = tuple(column for column in self.target.all if self.feed.find(column.name) is None)
        known = Columns(self.feed.all + lost)
        if spec.column_list is not None:
            chosen = {column.name for column in self._named("column_list", spec.column_list, known)}
            return [column for column in known.all if column.name in chosen]
        left_out = {
            column.name
            for column in self._named("except_column_list", spec.except_column_list or (), self.feed)
        }
        return [column for column in self.feed.all if column.name not in left_out]

    def _evolved(
        self, selected: list[Column]
    ) -> tuple[tuple[Output, ...], tuple[Column, ...], tuple[Column, ...], tuple[Column, ...]]:
        policy = self.spec.on_schema_change
        if self.state.target is None:
            return tuple(Output(c.name, c.type, c.name) for c in selected), (), (), ()
        output: list[Output] = []
        widened: list[Column] = []
        dropped: list[Column] = []
        wanted = Columns(tuple(selected))
        for column in self.target.all:
            source = wanted.find(column.name) if self.feed.find(column.name) else None
            if source is None and policy == "sync_all_columns" and self.feed.find(column.name) is None:
                dropped.append(column)
            elif source is None:
                output.append(Output(column.name, column.type, None))
            else:
                output.append(self._typed(column, source, widened))
        added = [
            column
            for column in selected
            if self.target.find(column.name) is None and self.feed.find(column.name)
        ]
        if policy == "ignore":
            added = []
        elif policy == "fail":
            self._refuse_changes(
                added, [c for c in self.target.all if self.feed.find(c.name) is None], widened
            )
        output += [Output(c.name, c.type, c.name) for c in added]
        return tuple(output), tuple(added), tuple(dropped), tuple(widened)

    def _typed(self, column: Column, source: Column, widened: list[Column]) -> Output:
        stored, incoming = column.type, source.type
        if stored == incoming or self.engine.widens(incoming, stored):
            return Output(column.name, stored, source.name)
        fixed = {part.lower() for part in self.spec.keys}
        if column.name.lower() in fixed or not self.engine.widens(stored, incoming):
            self.problems.append(
                f"column {column.name} was {stored} and is now {incoming}, which cannot be changed without losing"
                f" values; cast it to {stored} in the model, or rebuild the target with --full-refresh"
            )
            return Output(column.name, stored, source.name)
        if self.spec.on_schema_change == "ignore":
            self.problems.append(
                f"column {column.name} was {stored} and is now {incoming}; cast it to {stored} in the model, or set"
                f" on_schema_change to append_new_columns"
            )
        widened.append(Column(column.name, incoming))
        return Output(column.name, incoming, source.name)

    def _refuse_changes(self, added: list[Column], lost: list[Column], widened: list[Column]) -> None:
        changes = [f"new: {listed(c.name for c in added)}"] if added else []
        changes += [f"gone: {listed(c.name for c in lost)}"] if lost else []
        changes += [f"wider: {listed(c.name for c in widened)}"] if widened else []
        if changes:
            self.problems.append(
                f"the model's columns differ from the target's ({'; '.join(changes)}) and on_schema_change is"
                f" fail; set it to append_new_columns, or rebuild with --full-refresh"
            )

    def _keys(self, by_name: dict[str, Output]) -> tuple[Output, ...]:
        keys = []
        for name in self.spec.keys:
            column = self.feed.find(name)
            if column is None:
                self.problems.append(unknown_name("keys", name, self.feed.names))
            elif column.name.lower() not in by_name:
                self.problems.append(f"key {name} is not among the output columns; keys must be selected")
            else:
                keys.append(by_name[column.name.lower()])
        return tuple(keys)

    def _tracked(self, output: tuple[Output, ...], keys: tuple[Output, ...]) -> tuple[Output, ...]:
        spec = self.spec
        candidates = [column for column in output if column not in keys]
        option = "track_history_column_list"
        written = spec.track_history_column_list
        if written is None:
            option, written = "track_history_except_column_list", spec.track_history_except_column_list
        if written is None:
            return tuple(candidates) if spec.scd2 else ()
        found = set()
        columns = Columns(tuple(Column(c.name, c.type) for c in candidates))
        for name in written:
            column = columns.find(name)
            if column:
                found.add(column.name)
            elif any(key.name.lower() == _unquoted(name).lower() for key in keys):
                self.problems.append(
                    f"{option} names {name}, which is a key; keys are never tracked, leave it out"
                )
            elif self.feed.find(name):
                self.problems.append(
                    f"{option} names {name}, which is not an output column; leave it out or select it"
                )
            else:
                self.problems.append(unknown_name(option, name, columns.names))
        listed_on = option == "track_history_column_list"
        return tuple(column for column in candidates if (column.name in found) == listed_on)

    def _sequence(self, output: tuple[Output, ...], tracked: tuple[Output, ...]) -> tuple[str, ...]:
        spec, engine = self.spec, self.engine
        parts = sequence_columns(spec, self.state.feed)
        if len(spec.sequence_by) > 1:
            self._named("sequence_by", spec.sequence_by, self.feed)
            if not engine.comparable_structs:
                self.problems.append(
                    f"sequence_by is a list, and {engine.name} has no comparable struct; write one expression instead"
                )
        if not engine.is_orderable(self.state.sequence_type):
            self.problems.append(
                f"sequence_by has type {self.state.sequence_type}, which has no order; use a number, a date, a"
                f" timestamp or text"
            )
        retention = spec.tombstone_retention
        if retention is not None:
            wanted = engine.distance_of(self.state.sequence_type)
            given = "interval" if isinstance(retention, timedelta) else "number"
            if wanted != given:
                self.problems.append(
                    f"tombstone_retention is {spec.tombstone_retention!s}, but sequence_by has type"
                    f" {self.state.sequence_type}; "
                    + (
                        f"write a distance like {'2 days' if wanted == 'interval' else '1000'}"
                        if wanted
                        else "it works with numbers, dates and timestamps only"
                    )
                )
        sources = {column.source: column.name for column in tracked}
        seen = [sources[part] for part in parts if part in sources]
        if spec.scd2 and seen:
            self.warnings.append(
                f"sequence column {listed(seen)} is tracked, so every event opens a version; name it in"
                f" except_column_list or track_history_except_column_list unless that is meant"
            )
        return parts

    def _check_reserved(self, output: tuple[Output, ...]) -> None:
        reserved = {bound.lower() for bound in self.bounds}
        taken = [c.name for c in output if c.name.lower() in reserved or names.is_reserved(c.name)]
        if taken:
            self.problems.append(
                f"output column {listed(taken)} has a name that auto_cdc writes itself; rename it in the model or"
                f" leave it out with except_column_list"
            )
        folded = [column.name.lower() for column in self.state.feed]
        repeated = sorted({name for name in folded if folded.count(name) > 1})
        if repeated:
            self.problems.append(
                f"the model has column {listed(repeated)} more than once; give each its own name"
            )

    def _check_conditions(self) -> None:
        for option in ("apply_as_deletes", "apply_as_truncates"):
            condition = getattr(self.spec, option)
            for text in quoted_text(condition, self.state.feed) if condition else ():
                self.problems.append(
                    f'{option} has "{text}" in double quotes, which names a column and there is none; for text'
                    f" write '{text}'"
                )

    def _check_dropped(self, dropped: tuple[Column, ...]) -> None:
        fixed = (*self.spec.keys, *(self.spec.track_history_column_list or ()))
        gone = {column.name.lower() for column in dropped}
        kept = [name for name in fixed if _unquoted(name).lower() in gone]
        if kept:
            self.problems.append(f"on_schema_change would drop {listed(kept)}, a key or tracked column")
