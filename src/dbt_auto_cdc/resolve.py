"""Matches the names of the options with the columns of the feed and the target: spec + state -> resolved columns.

Not here: SQL; the result only says which columns there are and what part each plays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

from dbt_auto_cdc import copied, names
from dbt_auto_cdc.engines.base import Engine
from dbt_auto_cdc.errors import AutoCdcError, listed
from dbt_auto_cdc.spec import (
    AppendedRows,
    AppendFlow,
    AutoCdc,
    FlowEvents,
    KeyedRows,
    RecomputedRows,
    RecomputedTable,
    ReplaceUsing,
    ReplaceWhere,
    RowsInRange,
    SnapshotEvents,
    Spec,
    instead_of_distance,
    unknown_name,
    unquoted,
)
from dbt_auto_cdc.sql import code_of
from dbt_auto_cdc.state import Column, Control, State


@dataclass(frozen=True)
class Output:
    """A column of the target: its name there, its type there, and the feed's column it comes from (None: lost)."""

    name: str
    type: str
    source: str | None


@dataclass(frozen=True)
class Part:
    """What an event writes as one: a column, or a leaf of a struct whose leaves are written one by one.

    `name` is that of its column in working tables, `path` leads to the leaf. A `partial` one may be left out by an
    event: where it is null, if it `ignores` nulls; where the event's list lacks it, if it is `listed`; where the column
    `selected` of the feed says that the event's flow does not select it. A `marked` one has a mark beside it that says
    whether it was sent. In SCD type 2 they all have, because an inherited value is not null and was not sent.
    """

    column: Output
    name: str
    type: str
    path: tuple[str, ...] = ()
    ignores: bool = False
    listed: bool = False
    selected: str = ""
    marked: bool = False

    @property
    def partial(self) -> bool:
        """Whether an event may leave it out."""
        return self.ignores or self.listed or bool(self.selected)

    @property
    def called(self) -> str:
        """What the companion calls it: its column's name and its path, which dots in names do not blur."""
        return ".".join(step.replace(".", "..") for step in (self.column.name, *self.path))


@dataclass(frozen=True)
class Layout:
    """The columns of one run.

    `output` in the target's order for existing columns, new ones last; `tracked` and `untracked` split the
    non-key output. `added`, `dropped` and `widened` are the changes the target needs first. `sequence` holds the
    feed's columns of a composite or plain sequence, or is empty for an expression; `system` those of the system
    sequence. `parts` are the output once more, a
    struct whose leaves are written one by one as its leaves; `list_column` is the feed's column that tells which
    columns an event writes.
    """

    keys: tuple[Output, ...]
    output: tuple[Output, ...]
    tracked: tuple[Output, ...]
    untracked: tuple[Output, ...]
    sequence: tuple[str, ...]
    sequence_type: str
    parts: tuple[Part, ...] = ()
    list_column: str | None = None
    system: tuple[str, ...] = ()
    system_type: str = ""
    added: tuple[Column, ...] = ()
    dropped: tuple[Column, ...] = ()
    widened: tuple[Column, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Evolution:
    """The target's columns for this run, and what has to be changed about them first."""

    output: tuple[Output, ...]
    added: tuple[Column, ...] = ()
    dropped: tuple[Column, ...] = ()
    widened: tuple[Column, ...] = ()


class Columns:
    """Columns of a relation, found by name: exactly, else without regard to case, else unquoted."""

    def __init__(self, columns: tuple[Column, ...]) -> None:
        self.all = columns
        self._exact = {column.name: column for column in columns}
        self._folded = {column.name.lower(): column for column in columns}

    def find(self, name: str) -> Column | None:
        """Return the column a name in an option means, or None."""
        for candidate in (name, name.strip(), unquoted(name.strip())):
            found = self._exact.get(candidate) or self._folded.get(candidate.lower())
            if found:
                return found
        return None

    @property
    def names(self) -> list[str]:
        """The names as stored."""
        return [column.name for column in self.all]


def as_events(spec: Spec, feed: tuple[Column, ...], last_version: str = "") -> AutoCdc:
    """Return the options as those of events; a snapshot's version plays the sequence's part.

    `last_version` is a query for the last version applied, empty where there is none: versions that are counted
    automatically go on from it. A version column is a bound, not an output column, unless column_list names it.
    """
    if isinstance(spec, AutoCdc):
        return spec
    shared = {item.name: getattr(spec, item.name) for item in fields(AutoCdc) if hasattr(spec, item.name)}
    if isinstance(spec, ReplaceUsing):
        return KeyedRows(**{**shared, "keys": spec.replace_using, "sequence_by": (spec.sequence_by,)})
    if isinstance(spec, AppendFlow):
        return AppendedRows(**shared, keys=(), sequence_by=("(0)",))
    if isinstance(spec, ReplaceWhere):
        return RowsInRange(**shared, keys=(), sequence_by=("(0)",), replace_where=spec.replace_where)
    if isinstance(spec, RecomputedTable):
        return RecomputedRows(**shared, keys=(), sequence_by=("(0)",), replace_where="true")
    version = spec.snapshot_version
    column = Columns(feed).find(version)
    if column is None and version.strip().lower() == "auto":
        version = f"coalesce(({last_version}) + 1, 0)" if last_version else "0"
        version = f"cast({version} as bigint)"
    left_out = spec.except_column_list
    if column is not None and spec.column_list is None:
        left_out = tuple(dict.fromkeys((*(left_out or ()), column.name)))
    own = {"sequence_by": (version,), "except_column_list": left_out, "once": spec.once}
    return SnapshotEvents(**{**shared, **own})


def is_constant(expression: str, feed: tuple[Column, ...]) -> bool:
    """Tell whether SQL names no column of the feed, so that it has a value without a row."""
    return not named_in(expression, feed)


def named_in(expression: str, feed: tuple[Column, ...]) -> list[Column]:
    """Return the feed's columns that SQL names, as far as its words tell."""
    columns = Columns(feed)
    if alone := columns.find(expression):
        return [alone]
    return list(dict.fromkeys(column for word in words_of(expression) if (column := columns.find(word))))


def words_of(expression: str) -> list[str]:
    """Return the words of SQL that may be columns."""
    return [found["word"] for found in _WORD.finditer(code_of(expression))]


def no_list(column: Column) -> str:
    """Return the problem of a column that cannot list what an event writes."""
    return (
        f"columns_to_update names {column.name}, which has type {column.type}; it must hold lists of text: the names of"
        f" the columns that an event writes, or null for all of them"
    )


def deciding(spec: AutoCdc, feed: tuple[Column, ...]) -> list[Column]:
    """Return the feed's columns that say what an event is: its place in the order, and its kind."""
    options = [*spec.sequence_by, spec.apply_as_deletes, spec.apply_as_truncates]
    return [column for option in options if option for column in named_in(option, feed)]


# A name that is neither a function nor a type: date '2026-11-29', x::date, cast(x as date).
_WORD = re.compile(
    r"""(?<!::)(?<!\bas\s)(?P<word>\b[^\W\d]\w*\b|"(?:[^"]|"")*"|`[^`]*`)(?!\s*(?:\(|''))""", re.IGNORECASE
)


def sequence_columns(written: tuple[str, ...], feed: tuple[Column, ...]) -> tuple[str, ...]:
    """Return the feed's columns that make up a sequence as written; empty when it is one SQL expression."""
    columns = Columns(feed)
    found = [columns.find(part) for part in written]
    if len(found) == 1 and found[0] is None:
        return ()
    return tuple(column.name for column in found if column)


def struct_of(types: dict[str, str]) -> str:
    """Return what a sequence of several columns is recorded as, where the type of it has a name and is made late."""
    return f"row({', '.join(f'{name} {type_name}' for name, type_name in types.items())})"


def types_in(struct: str, fields: tuple[str, ...]) -> tuple[str, ...]:
    """Return the types in what `struct_of` gives, by the names of its fields; empty ones where these differ."""
    parts = ", ".join(f"{re.escape(name)} (.*)" for name in fields)
    found = re.fullmatch(rf"row\({parts}\)", struct)
    return found.groups() if found else ("",) * len(fields)


def _no_output(option_name: str, name: str) -> str:
    return f"{option_name} names {name}, which is not an output column; leave it out, or select it"


def quoted_text(condition: str, feed: tuple[Column, ...], *, engine: Engine) -> list[str]:
    """Return what stands in double quotes in a condition and names nothing: most likely it is meant as text.

    Where names stand in other quotes it is text. A quoted name behind or before a dot belongs to a longer name, which
    may be that of a table or of a field.
    """
    columns = Columns(feed)
    if columns.find(condition) or not engine.quote("").startswith('"'):
        return []
    found = re.findall(r'(?<!\.)"((?:[^"]|"")*)"(?!\s*[.(])', code_of(condition))
    return [name for name in found if columns.find(name.replace('""', '"')) is None]


def resolve(model: str, spec: AutoCdc, state: State, engine: Engine) -> Layout:
    """Return the layout of a run; raises `AutoCdcError` with every problem found."""
    layout, problems = lay_out(spec, state, engine)
    if problems:
        raise AutoCdcError(model, problems)
    return layout


def lay_out(spec: AutoCdc, state: State, engine: Engine) -> tuple[Layout, list[str]]:
    """Return the layout of a run, and every problem found: with one of them it is good for nothing."""
    resolver = _Resolver(spec, state, engine)
    return resolver.layout(), resolver.problems


class _Resolver:
    def __init__(self, spec: AutoCdc, state: State, engine: Engine) -> None:
        self.spec, self.state, self.engine = spec, state, engine
        self.feed = Columns(state.feed)
        bounds = self._bounds
        self.target = Columns(
            tuple(column for column in state.target or () if column.name.lower() not in bounds)
        )
        self.problems: list[str] = list(state.refused)
        self.warnings: list[str] = list(state.warned)

    @property
    def _bounds(self) -> set[str]:
        """The columns of the target that are ours: an SCD type 1 target may carry the bounds of its source."""
        control = self.state.control
        scd_type = self.spec.stored_as_scd_type if control is None else control.scd_type
        return names.bounds_of(scd_type) | {names.RUN}

    def layout(self) -> Layout:
        selected = self._selected()
        evolution = self._evolved(selected)
        output = evolution.output
        keys = self._keys(output)
        tracked = self._tracked(output, keys)
        spec, state = self.spec, self.state
        sequence = self._sequence(spec.ORDER, spec.sequence_by, state.sequence_type)
        system = self._sequence("system_sequence_by", spec.system_sequence_by or (), state.system_type)
        self._check_sequence_tracked((*sequence, *system), tracked)
        self._check_retention()
        self._check_names(output)
        self._check_stored(output)
        self._check_conditions()
        self._check_dropped(evolution.dropped)
        self._check_definition(keys)
        self._check_copied(keys)
        untracked = tuple(column for column in output if column not in tracked and column not in keys)
        list_column = self._list_column()
        return Layout(
            keys=keys,
            output=output,
            tracked=tracked,
            untracked=untracked if spec.keeps_history else (),
            sequence=sequence,
            parts=tuple(self._parts(output, keys, list_column)),
            list_column=list_column,
            sequence_type=state.sequence_type,
            system=system,
            system_type=state.system_type,
            added=evolution.added,
            dropped=evolution.dropped,
            widened=evolution.widened,
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

    # the target's columns

    def _lost(self) -> tuple[Column, ...]:
        """The target's columns that the feed has no more."""
        return tuple(column for column in self.target.all if self.feed.find(column.name) is None)

    def _selected(self) -> tuple[Column, ...]:
        """The feed's columns that are output."""
        spec = self.spec
        if spec.column_list is not None:
            # A column that the source lost but the target still has may go on being named.
            known = Columns(self.feed.all + self._lost())
            chosen = {column.name for column in self._named("column_list", spec.column_list, known)}
            return tuple(column for column in self.feed.all if column.name in chosen)
        left_out = self._named("except_column_list", spec.except_column_list or (), self.feed)
        return tuple(column for column in self.feed.all if column not in left_out)

    def _evolved(self, selected: tuple[Column, ...]) -> _Evolution:
        """Set the selected columns beside the target's, as `on_schema_change` says."""
        if self.state.target is None:
            return _Evolution(tuple(Output(c.name, c.type, c.name) for c in selected))
        policy = self.spec.on_schema_change
        wanted = Columns(selected)
        sources = {column: wanted.find(column.name) for column in self.target.all}
        lost = tuple(column for column, source in sources.items() if source is None)
        gone = () if self.spec.leaves_flows_out else lost
        added = tuple(column for column in selected if self.target.find(column.name) is None)
        widened: list[Column] = []
        output = [
            self._typed(column, source, widened) if source else Output(column.name, column.type, None)
            for column, source in sources.items()
            if source or column not in gone or policy != "sync_all_columns"
        ]
        if policy == "fail":
            self._refuse_changes(added, gone, widened)
        elif policy != "ignore":
            self._refuse_to_alter(added, gone if policy == "sync_all_columns" else (), widened)
        if policy != "ignore":
            output += [Output(c.name, c.type, c.name) for c in added]
        return _Evolution(
            output=tuple(output),
            added=() if policy == "ignore" else added,
            dropped=gone if policy == "sync_all_columns" else (),
            widened=tuple(widened),
        )

    def _typed(self, column: Column, source: Column, widened: list[Column]) -> Output:
        stored, incoming = column.type, source.type
        kept = Output(column.name, stored, source.name)
        if stored == incoming or self.engine.widens(incoming, stored):
            return kept
        changed = f"column {column.name} was {stored} and is now {incoming}"
        instead = f"cast it to {stored} in the model, or {self._other_way(column, source)}"
        if self._is_key(column):
            self.problems.append(f"key {changed}, and keys never change their type; {instead}")
        elif not self.engine.widens(stored, incoming):
            self.problems.append(f"{changed}, which not every value survives; {instead}")
        elif self.spec.on_schema_change == "ignore":
            self.problems.append(
                f"{changed}; cast it to {stored} in the model, or set on_schema_change to append_new_columns"
            )
        else:
            widened.append(Column(column.name, incoming))
            return Output(column.name, incoming, source.name)
        return kept

    def _other_way(self, column: Column, source: Column) -> str:
        """Return what else can be done where a column is not of the type of the model's."""
        if self.state.copied is None:
            return "rebuild the target with --full-refresh"
        return f"copy the target with {column.name} of type {source.type} ({copied.MANUAL})"

    def _refuse_to_alter(
        self, added: tuple[Column, ...], dropped: tuple[Column, ...], widened: list[Column]
    ) -> None:
        """Refuse what the engine's tables cannot be altered to."""
        engine = self.engine
        stored = {column.name: column.type for column in self.state.target or ()}
        wider = [c for c in widened if not engine.alters(stored[c.name], c.type)]
        found = [*(() if engine.alters_tables else (*added, *dropped)), *wider]
        if found:
            self.problems.append(
                f"the model's column {listed(c.name for c in found)} is not that of the target, and"
                f" {engine.with_tables} cannot alter the table to it; set on_schema_change to ignore, or"
                f" rebuild the target with --full-refresh"
            )

    def _refuse_changes(
        self, added: tuple[Column, ...], gone: tuple[Column, ...], widened: list[Column]
    ) -> None:
        what = {"new": added, "gone": gone, "wider": widened}
        changes = [f"{word}: {listed(c.name for c in columns)}" for word, columns in what.items() if columns]
        if changes:
            self.problems.append(
                f"the model's columns differ from the target's ({'; '.join(changes)}) and on_schema_change is"
                f" fail; set it to append_new_columns, or rebuild the target with --full-refresh"
            )

    def _check_dropped(self, dropped: tuple[Column, ...]) -> None:
        """Refuse to drop what an option names: keys that are gone are unknown names already."""
        columns = Columns(tuple(column for column in dropped if self.feed.find(column.name) is None))
        for option in ("column_list", "track_history_column_list"):
            for name in getattr(self.spec, option) or ():
                if columns.find(name):
                    self.problems.append(
                        f"{option} names {name}, which the model lost and on_schema_change sync_all_columns"
                        f" would drop; keep it in the model, or set on_schema_change to append_new_columns"
                    )

        for index in self.state.indexes:
            held = [
                c.name
                for c in dropped
                if re.search(rf"\W{re.escape(c.name)}\W", index.columns, re.IGNORECASE)
            ]
            if held:
                self.problems.append(
                    f"index {index.name} is on {listed(held)}, which on_schema_change sync_all_columns would drop;"
                    f" drop the index and take it out of indexes, or set on_schema_change to append_new_columns"
                )

    # keys and tracked columns

    def _is_key(self, column: Column) -> bool:
        return any(Columns((column,)).find(name) for name in self.spec.keys)

    def _keys(self, output: tuple[Output, ...]) -> tuple[Output, ...]:
        keys = []
        for name in self.spec.keys:
            column = self.feed.find(name)
            if column is None:
                self.problems.append(unknown_name(self.spec.KEYS, name, self.feed.names))
                continue
            found = [candidate for candidate in output if candidate.source == column.name]
            if not found:
                self.problems.append(
                    f"key {name} is not among the output columns; name it in column_list, or take it out of"
                    f" except_column_list"
                )
            keys += found
        self.problems += [
            f"{self.spec.KEYS} names {column.name}, of type {column.type}, which {self.engine.name} cannot look for;"
            f" cast it to text in the model"
            for column in keys
            if not self.engine.has_equality(column.type)
        ]
        return tuple(keys)

    def _tracked(self, output: tuple[Output, ...], keys: tuple[Output, ...]) -> tuple[Output, ...]:
        candidates = [column for column in output if column not in keys]
        option, written = self._listed("track_history_column_list", "track_history_except_column_list")
        if written is None:
            return tuple(candidates) if self.spec.keeps_history else ()
        columns = Columns(tuple(Column(c.name, c.type) for c in candidates))
        found = {column.name for name in written if (column := columns.find(name))}
        for name in written:
            if columns.find(name) is None:
                self.problems += self._untrackable(option, name, columns)
        lists_all = self.spec.track_history_column_list is not None
        return tuple(column for column in candidates if (column.name in found) == lists_all)

    def _listed(self, option: str, except_form: str) -> tuple[str, tuple[str, ...] | None]:
        """Return which of two options is written, and the names in it; null if none is."""
        written = option if getattr(self.spec, option) is not None else except_form
        return written, getattr(self.spec, written)

    def _untrackable(self, option: str, name: str, columns: Columns) -> list[str]:
        """Return why a name in a tracking option is none of the non-key output columns, if that matters."""
        column = self.feed.find(name)
        if column and self._is_key(column):
            return [f"{option} names {name}, which is a key; keys are never tracked, leave it out"]
        if column:
            return [_no_output(option, name)]
        control = self.state.control
        known_once = control is not None and unquoted(name).lower() in control.track_history
        # What the source lost and the target dropped may go on being named: the option as written stays the same.
        return [] if known_once else [unknown_name(option, name, columns.names)]

    # partial updates

    def _list_column(self) -> str | None:
        """The feed's column that lists what an event writes."""
        option = self.spec.columns_to_update
        if option is None:
            return None
        found = self._named("columns_to_update", (option,), self.feed)
        self.problems += [no_list(column) for column in found if not self.engine.is_text_list(column.type)]
        return found[0].name if found else None

    def _ignoring(self, output: tuple[Output, ...]) -> set[str]:
        """The output columns in which a null means that the event did not send them, as the options say."""
        spec, named = self.spec, set()
        option, written = self._listed(
            "ignore_null_updates_column_list", "ignore_null_updates_except_column_list"
        )
        columns = Columns(tuple(Column(c.name, c.type) for c in output))
        for name in written or ():
            column = columns.find(name)
            if column:
                named.add(column.name)
            elif self.feed.find(name):
                self.problems.append(_no_output(option, name))
            else:
                self.problems.append(unknown_name(option, name, columns.names))
        if spec.ignore_null_updates_column_list is not None:
            return named
        ignores = spec.ignore_null_updates or written is not None
        return {column.name for column in output if ignores and column.name not in named}

    def _always_written(self, list_column: str | None) -> set[str]:
        """The feed's columns that every event writes: they say what it is."""
        listing = {list_column} if list_column else set()
        if isinstance(self.spec, FlowEvents):
            columns = (self.feed.find(name) for name in self.spec.always)
            return listing | {column.name for column in columns if column}
        return listing | {column.name for column in deciding(self.spec, self.state.feed)}

    def _parts(
        self, output: tuple[Output, ...], keys: tuple[Output, ...], list_column: str | None
    ) -> Iterator[Part]:
        """Cut the output into what an event writes as one."""
        ignoring, always = self._ignoring(output), self._always_written(list_column)
        beside = self.spec.selected if isinstance(self.spec, FlowEvents) else {}
        for number, column in enumerate(output):
            whole = Part(column, column.name, column.type)
            if not self.spec.partial or column in keys:
                yield whole
                continue
            is_free = column.source not in always
            # A column that the source lost is null, and not sent any more, whatever the options say of it.
            ignores = (column.name in ignoring and is_free) or column.source is None
            if ignores and column.name in ignoring and self.engine.fields(column.type):
                for place, (path, type_name) in enumerate(self._leaves(column.type)):
                    name = f"{names.PART}{number}_{place}"
                    yield Part(column, name, type_name, path, ignores=True, marked=self.spec.scd2)
                continue
            part = replace(
                whole,
                ignores=ignores,
                listed=list_column is not None and is_free and not ignores,
                selected="" if ignores else beside.get(column.source or "", ""),
            )
            yield replace(part, marked=part.partial and (self.spec.scd2 or not ignores))

    def _leaves(self, type_name: str) -> Iterator[tuple[tuple[str, ...], str]]:
        fields_of_type = self.engine.fields(type_name)
        for name, field_type in fields_of_type:
            for path, leaf_type in self._leaves(field_type):
                yield (name, *path), leaf_type
        if not fields_of_type:
            yield (), type_name

    # the sequences

    def _sequence(self, option: str, written: tuple[str, ...], sequence_type: str) -> tuple[str, ...]:
        engine = self.engine
        if len(written) > 1:
            self._named(option, written, self.feed)
            if not engine.takes_list(option):
                self.problems.append(
                    f"{option} is a list, which is not served on {engine.with_tables}; write one expression"
                    f" instead"
                )
        parts = sequence_columns(written, self.state.feed)
        types = {column.name: column.type for column in self.state.feed}
        compared = [types[part] for part in parts] if len(parts) > 1 else [sequence_type]
        if any(kind and not engine.is_orderable(kind) for kind in compared):
            lists = ", or a list of such columns" if engine.takes_list(option) else ""
            self.problems.append(
                f"{option} has type {sequence_type}, which has no order; use a number, a date, a timestamp or"
                f" text{lists}"
            )
        return parts

    def _check_sequence_tracked(self, sequence: tuple[str, ...], tracked: tuple[Output, ...]) -> None:
        sources = {column.source: column.name for column in tracked}
        seen = [sources[part] for part in sequence if part in sources]
        if self.spec.keeps_history and seen:
            self.warnings.append(
                f"sequence column {listed(seen)} is tracked, so every event opens a version; name it in"
                f" except_column_list or track_history_except_column_list unless that is meant"
            )

    def _check_retention(self) -> None:
        retention, sequence_type = self.spec.tombstone_retention, self.state.sequence_type
        if retention is None or not sequence_type:
            return
        instead = instead_of_distance(retention, self.engine.distance_of(sequence_type))
        if instead:
            self.problems.append(
                f"tombstone_retention is {retention!s}, but {self.spec.ORDER} has type {sequence_type}; {instead}"
            )

    # names and conditions

    def _check_names(self, output: tuple[Output, ...]) -> None:
        reserved = names.bounds_of(self.spec.stored_as_scd_type)
        reserved.add(self.engine.locator.lower())
        taken = [c.name for c in output if c.name.lower() in reserved or names.is_reserved(c.name)]
        if taken:
            self.problems.append(
                f"output column {listed(taken)} has a name that auto_cdc or {self.engine.name} needs for itself;"
                f" rename it in the model, or leave it out with except_column_list"
            )
        folded = [column.name.lower() for column in self.state.feed]
        repeated = sorted({name for name in folded if folded.count(name) > 1})
        if repeated:
            self.problems.append(
                f"the model has column {listed(repeated)} more than once; give each its own name"
            )

    def _check_stored(self, output: tuple[Output, ...]) -> None:
        """Refuse types that no table of the engine can have."""
        types = {f"column {column.name}": column.type for column in output}
        if self.spec.expectations_quarantine:
            types |= {f"column {column.name}": column.type for column in self.feed.all}
        types |= {self.spec.ORDER: self.state.sequence_type, "system_sequence_by": self.state.system_type}
        wrong = [f"{what} ({kind})" for what, kind in types.items() if kind and not self.engine.stores(kind)]
        if wrong:
            self.problems.append(
                f"{self.engine.name} has no tables with the type of {listed(wrong)}; cast it in the model to one that"
                f" it stores, such as {self.engine.text_type}"
            )

    def _check_conditions(self) -> None:
        self.problems += [
            f"{option} has \"{text}\" in double quotes, which names a column and there is none; for text write '{text}'"
            for option, condition in self.spec.conditions.items()
            for text in quoted_text(condition, self.state.feed, engine=self.engine)
        ]

    # what the last run recorded

    def _check_definition(self, keys: tuple[Output, ...]) -> None:
        """Refuse a definition under which the rows that are there would mean something else."""
        recorded, spec = self.state.control, self.spec
        if recorded is None:
            return
        facts = {"materialized": (recorded.materialized, spec.KIND)}
        facts["stored_as_scd_type"] = (recorded.scd_type, spec.stored_as_scd_type)
        if len(keys) == len(spec.keys):
            facts[spec.KEYS] = (listed(recorded.keys), listed(name for name, _ in _by_name(keys)))
        if recorded.scd_type == spec.stored_as_scd_type:
            facts["tracking"] = (_tracking(recorded.track_history), _tracking(spec.track_history))
        # Who changed an option may mean to rebuild; a type changes by itself, and to rebuild may lose the history.
        self._refuse_changed(facts, "rebuild the target with --full-refresh, or change it back")
        if self.state.copied is None:
            instead = "change it back or cast it in the model, or rebuild the target with --full-refresh"
            self._refuse_changed(self._types_of_last_run(recorded, keys), instead)

    def _refuse_changed(self, facts: dict[str, tuple[str, str]], instead: str) -> None:
        self.problems += [
            f"{what} was {was} in the last run and is {now} now; {instead}"
            for what, (was, now) in facts.items()
            if was != now
        ]

    def _types_of_last_run(self, recorded: Control, keys: tuple[Output, ...]) -> dict[str, tuple[str, str]]:
        """Return the types of keys and sequences with what they are now."""
        spec, state, facts = self.spec, self.state, dict[str, tuple[str, str]]()
        if recorded.keys == tuple(name for name, _ in _by_name(keys)):
            types = listed(type_name for _, type_name in _by_name(keys))
            facts["the type of the keys"] = (listed(recorded.key_types), types)
        if state.sequence_type:
            facts[f"the type of {spec.ORDER}"] = (recorded.sequence_type, state.sequence_type)
        if state.system_type and recorded.system_type:
            facts["the type of system_sequence_by"] = (recorded.system_type, state.system_type)
        return facts

    def _check_copied(self, keys: tuple[Output, ...]) -> None:
        """Refuse tables that another engine wrote where the copy gave a column another type than it has to have."""
        recorded, state = self.state.control, self.state
        if recorded is None or state.copied is None or recorded.scd_type != self.spec.stored_as_scd_type:
            return
        if recorded.keys != tuple(name for name, _ in _by_name(keys)):
            return
        types = copied.Types({c.name: c.type for c in keys}, state.sequence_type, state.system_type)
        if wrong := copied.unfit_columns(state.copied, self.spec, types, self.engine):
            self.problems.append(copied.problem(wrong, recorded.engine))


def _by_name(keys: tuple[Output, ...]) -> list[tuple[str, str]]:
    """Return the keys in lower case with their types, in the order of the record."""
    return sorted((column.name.lower(), column.type) for column in keys)


def _tracking(option: tuple[str, ...]) -> str:
    """Return the tracking option as it was written."""
    form, *columns = option
    if form == "all":
        return "of all columns"
    return f"track_history_{'' if form == 'on' else 'except_'}column_list {listed(columns)}"
