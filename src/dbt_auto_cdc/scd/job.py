"""What every step of a plan is written from: the specification, the columns, the relations and the engine.

Not here: any step.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dbt_auto_cdc import names
from dbt_auto_cdc.engines.base import Engine
from dbt_auto_cdc.relations import working_relation
from dbt_auto_cdc.resolve import Layout, Output, Part
from dbt_auto_cdc.spec import AutoCdc, FlowEvents, SnapshotEvents
from dbt_auto_cdc.sql import all_of
from dbt_auto_cdc.state import Relations, State


@dataclass(frozen=True)
class Job:
    """One run of one model, ready to be planned.

    `truncated_at` selects the sequence at which whole dumps beside the events truncate the target, where there are any;
    `part` is put into the names of the working tables of a job that stands beside another one of the run.
    """

    model: str
    spec: AutoCdc
    layout: Layout
    state: State
    relations: Relations
    engine: Engine
    builds: bool
    truncated_at: str = ""
    part: str = ""

    @property
    def target(self) -> str:
        """The target as SQL text."""
        return self.relations.target

    @property
    def companion(self) -> str:
        """The companion as SQL text."""
        return self.relations.companion

    @property
    def keys(self) -> list[str]:
        """The key columns, quoted."""
        return [self.engine.quote(column.name) for column in self.layout.keys]

    @property
    def output(self) -> list[str]:
        """The output columns, quoted, in the target's order."""
        return self.quoted(self.layout.output)

    @property
    def parts(self) -> list[str]:
        """The parts of a row as working tables call them, quoted: the output columns, of some structs the leaves."""
        return [self.engine.quote(part.name) for part in self.layout.parts]

    @property
    def written_parts(self) -> tuple[Part, ...]:
        """The parts that an event writes: those of all columns but the keys, which every event has."""
        return tuple(part for part in self.layout.parts if part.column not in self.layout.keys)

    @property
    def staged(self) -> list[str]:
        """What working tables hold of an event beside its sequence and kind: its parts, and marks of what it sent."""
        marks = [self.mark(part) for part in self.layout.parts if part.marked]
        return [*self.parts, *marks, *([names.UNKNOWN] if self.layout.list_column else [])]

    @property
    def start_at(self) -> str:
        """The version's start, quoted."""
        return self._bound(names.START_AT)

    @property
    def end_at(self) -> str:
        """The version's end, quoted."""
        return self._bound(names.END_AT)

    @property
    def system_start_at(self) -> str:
        """Where what a version says began to be believed, quoted."""
        return self._bound(names.SYSTEM_START_AT)

    @property
    def system_end_at(self) -> str:
        """Where what a version says was no longer believed, quoted."""
        return self._bound(names.SYSTEM_END_AT)

    @property
    def bounds(self) -> dict[str, str]:
        """The types of the bounds that the target has behind the output columns, by their quoted names."""
        sequence, system = self.layout.sequence_type, self.layout.system_type
        types = dict.fromkeys((self.start_at, self.end_at), sequence) if self.spec.keeps_history else {}
        both = dict.fromkeys((self.system_start_at, self.system_end_at), system)
        return types | both if self.spec.bitemporal else types

    @property
    def unseen(self) -> dict[str, str]:
        """The types of what the target has behind all that a user takes for its columns, by names."""
        return {names.RUN: "bigint"} if self.spec.appends else {}

    @property
    def names_unseen(self) -> bool:
        """Whether an enforced contract names what is unseen too, as dbt asks of a model that is cloned."""
        return any(name in self.state.contract_sql for name in self.unseen)

    @property
    def identity(self) -> list[str]:
        """The columns that identify an event."""
        system = [names.SYSTEM_SEQUENCE] if self.spec.bitemporal else []
        return [*self.keys, names.SEQUENCE, *system]

    @property
    def remembers(self) -> bool:
        """Whether the companion keeps more than a few notes."""
        return self.spec.KIND in {AutoCdc.KIND, SnapshotEvents.KIND}

    @property
    def remembered(self) -> tuple[Output, ...]:
        """The columns whose values the companion keeps beside keys and sequences."""
        if not self.spec.bitemporal:
            return self.layout.untracked
        return tuple(column for column in self.layout.output if column not in self.layout.keys)

    @property
    def reads_a_part(self) -> bool:
        """Whether the model reads a part of its source beside a target that is there."""
        return bool(self.state.partial) and not self.builds

    @property
    def feed(self) -> list[str]:
        """The names of the feed's columns, of each flow's where there are several, but for those that are ours."""
        every = [column.name for column in self.state.feed if not names.is_reserved(column.name)]
        return [*every, *(self.spec.beside if isinstance(self.spec, FlowEvents) else ())]

    @property
    def written_list(self) -> str | None:
        """What lists the columns that an event writes, as the user wrote it: for messages."""
        return self.spec.written_list if isinstance(self.spec, FlowEvents) else self.layout.list_column

    @property
    def partial(self) -> bool:
        """Whether an event may leave columns out."""
        return self.spec.partial

    @property
    def overwrites(self) -> bool:
        """Whether rows of the target are changed where they are: nobody has to know what they were."""
        keeps = self.spec.keeps_history or self.partial or self.spec.change_data_feed
        return self.engine.overwrites and self.spec.KIND == AutoCdc.KIND and not keeps

    @property
    def sparse(self) -> bool:
        """Whether an event of a bitemporal target leaves columns out, or one that is remembered did."""
        columns = (column.name.lower() for column in self.state.companion or ())
        return self.spec.bitemporal and (
            self.partial or any(column.startswith(names.SENT) for column in columns)
        )

    @property
    def truncates(self) -> bool:
        """Whether a truncate is or was ever possible, so that its sequence must be looked at."""
        control = self.state.control
        recorded = not self.builds and control is not None and control.truncates
        return self.spec.apply_as_truncates is not None or recorded

    @property
    def keeps_events(self) -> bool:
        """Whether the new events have a working table of their own; else they are all or part of the stage."""
        compares = isinstance(self.spec, SnapshotEvents)
        return compares or self.truncates or (self.spec.keeps_history and not self.builds)

    @property
    def events(self) -> str:
        """The new events, as something to select from."""
        if self.keeps_events:
            return self.working(names.EVENTS)
        staged = self.working(names.STAGE)
        return staged if self.builds else f"(select * from {staged} where {names.IS_NEW})"

    def _bound(self, name: str) -> str:
        """Return a bound as the target has it, in whatever case; in a new one it has the engine's."""
        there = (column.name for column in self.state.target or () if column.name.lower() == name.lower())
        return self.engine.quote(next(there, self.engine.folded(name)))

    def quoted(self, columns: Iterable[Output]) -> list[str]:
        """Return the columns' names, quoted."""
        return [self.engine.quote(column.name) for column in columns]

    def of_part(self, name: str, part: Part) -> str:
        """Return the column of a working table that holds what a hidden name says, of one part."""
        return f"{name}{self.layout.parts.index(part)}"

    def mark(self, part: Part) -> str:
        """Return the column that tells whether an event sent a part."""
        return self.of_part(names.SENT, part)

    def is_sent(self, part: Part, alias: str) -> str:
        """Return the condition that an upsert of a working table sent a part."""
        if not part.partial:
            return "true"
        if part.marked:
            return f"{alias}.{self.mark(part)}"
        return f"{alias}.{self.engine.quote(part.name)} is not null"

    def parts_of(self, columns: Iterable[Output]) -> tuple[Part, ...]:
        """Return the parts of columns."""
        wanted = set(columns)
        return tuple(part for part in self.layout.parts if part.column in wanted)

    def working(self, suffix: str) -> str:
        """Return the name of a working table of this run."""
        return working_relation(
            self.engine,
            self.relations.identifier,
            names.of_run(self.part + suffix, self.state.run),
            target=self.target,
        )

    @property
    def identity_in_target(self) -> dict[str, str]:
        """What tells a row of the target, quoted, with types: two rows with the same are written and go together."""
        if self.spec.appends:
            return self.unseen
        told_by = self.layout.keys or self.layout.output
        return {self.engine.quote(column.name): column.type for column in told_by} | self.bounds

    @property
    def identity_in_companion(self) -> dict[str, str]:
        """What tells a row of the companion, with types.

        In SCD type 1 a key has one row, and so has a truncate. Notes are told by their kind; where there are several of
        one kind, they are not written as rows are.
        """
        told_by = {self.engine.quote(column.name): column.type for column in self.layout.keys}
        if self.spec.keeps_history or self.spec.KIND != AutoCdc.KIND:
            told_by[names.SEQUENCE] = self.layout.sequence_type
        if self.spec.scd2:
            told_by[names.RUN_START] = self.layout.sequence_type
        if self.spec.bitemporal:
            told_by[names.SYSTEM_SEQUENCE] = self.layout.system_type
        return {**told_by, names.KIND: self.engine.text_type}

    def at(self, alias: str) -> str:
        """Return the place of a row of the target."""
        return self.engine.place(alias, self.identity_in_target.items())

    def at_companion(self, alias: str) -> str:
        """Return the place of a row of the companion."""
        return self.engine.place(alias, self.identity_in_companion.items())

    def at_remembered(self, alias: str) -> str:
        """Return the place of a key's row of the companion that was joined, null where there is none."""
        place = self.at_companion(alias)
        if self.engine.transactions:
            return place
        return f"case when {alias}.{names.KIND} is not null then {place} end"

    @property
    def nowhere(self) -> str:
        """The place of no row of the target."""
        return self.engine.null(self.engine.place_type(self.identity_in_target.items()))

    @property
    def nowhere_in_companion(self) -> str:
        """The place of no row of the companion."""
        return self.engine.null(self.engine.place_type(self.identity_in_companion.items()))

    def extreme(self, function: str, expression: str, over: str = "") -> str:
        """Return the greatest (`max`) or least (`min`) of sequences, `over` a window if there is one."""
        return self.engine.extreme(function, expression, self.layout.sequence_type, over=over)

    @property
    def struct_fields(self) -> dict[str, str]:
        """The fields of a sequence of several columns whose type has a name, with their types; else none."""
        if not self.engine.named_structs or len(self.spec.sequence_by) == 1:
            return {}
        types = {column.name: column.type for column in self.state.feed}
        named = zip(self.spec.sequence_fields, self.layout.sequence, strict=True)
        return {name: types[part] for name, part in named}

    def same_key(self, left: str, right: str) -> str:
        """Return the condition that two relations' rows have one key; keys are never null."""
        return all_of(f"{left}.{key} = {right}.{key}" for key in self.keys)

    def same_event(self, left: str, right: str) -> str:
        """Return the condition that two relations' rows are one event."""
        return all_of(f"{left}.{column} = {right}.{column}" for column in self.identity)

    def key_text(self, alias: str) -> str:
        """Return an expression that shows a key in a message: `id=1, region=north`."""
        shown = [
            f"{self.engine.text(column.name + '=')} || coalesce({self.engine.as_text(f'{alias}.{key}')}, 'null')"
            for column, key in zip(self.layout.keys, self.keys, strict=True)
        ]
        return " || ', ' || ".join(shown)


def of(alias: str, columns: Iterable[str]) -> list[str]:
    """Return the columns of a relation in a query: `tgt.id`, `tgt.name`."""
    return [f"{alias}.{column}" for column in columns]
