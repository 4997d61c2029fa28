"""Looks at the feed, the target and the companion before a run, through a function that sends one query.

Not here: what follows from the observation; nothing is written.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from dbt_auto_cdc import copied, names, reads
from dbt_auto_cdc.engines.base import Engine
from dbt_auto_cdc.errors import AutoCdcError, listed, said_by
from dbt_auto_cdc.flows import Flow, read_by
from dbt_auto_cdc.gather import Seen, Together, gather
from dbt_auto_cdc.resolve import as_events, quoted_text, sequence_columns, struct_of
from dbt_auto_cdc.scd.changes import condition_expression, sequence_expression
from dbt_auto_cdc.spec import (
    APPENDING,
    SEQUENCES,
    WHOLE,
    AutoCdc,
    FlowEvents,
    Spec,
    is_name,
    unknown_name,
    unquoted,
)
from dbt_auto_cdc.sql import comma, indented, text
from dbt_auto_cdc.state import (
    Ask,
    ChangeFeed,
    Column,
    Control,
    Index,
    Position,
    Reading,
    Relations,
    Rows,
    State,
    columns_in,
    was_fed,
)

if TYPE_CHECKING:
    from dbt_auto_cdc.bridge import Model


@dataclass(frozen=True)
class Existing:
    """What the caller knows: which of the two relations exist, whether the target is a view, and what happens to them.

    `rebuilt` tells that the run makes both anew, whatever they hold.
    """

    target: bool = False
    companion: bool = False
    target_is_view: bool = False
    rebuilt: bool = False
    changes: bool = False
    quarantine: bool = False


_EXPECTED = re.compile(r"rows=(\d+)")
# The kinds of the companion's rows that a plan has to know of.
_NOTES = ("control", "position", "run", names.FEED, names.JOURNAL, names.LOST, names.LAYERS)


@dataclass(frozen=True)
class _Remembered:
    """What the companion says beside what it keeps of the rows."""

    control: Control | None = None
    positions: tuple[Position, ...] = ()
    last_run: int = 0
    layers: int = 0
    changes: ChangeFeed = field(default_factory=ChangeFeed)
    turn: str = ""
    lost: tuple[int, ...] = ()


def there_now(model: Model, ask: Ask) -> dict[str, bool]:
    """Return which relations are there now, where another run may have made them since dbt looked; else nothing."""
    there = model.relations
    query = model.engine.list_tables(there.target, there.companion, there.changes, there.quarantine)
    if not query:
        return {}
    is_view = {str(name).removeprefix("="): bool(view) for name, view in ask(query)}
    return {
        "target": there.identifier in is_view,
        "companion": there.companion_identifier in is_view,
        "changes": there.changes_identifier in is_view,
        "quarantine": there.quarantine_identifier in is_view,
        "target_is_view": is_view.get(there.identifier, False),
    }


def observe(model: Model, existing: Existing, ask: Ask, partial: str = "") -> tuple[Spec, State]:
    """Return the options of a run and the state before it; what the engine refuses of the options' SQL is part of it.

    The flows of a model become one feed here; `partial` is the flag under which the model reads a part of its source.
    Raises `AutoCdcError` where the companion is not one that this release can read, and where flows do not go together.
    """
    state = _of_tables(model, existing, ask)
    goes_on = existing.target and not existing.rebuilt
    done = state.control.once if state.control is not None and goes_on else ()
    flows = read_by(model.flows, done, partial if goes_on else "")
    sql = "\n".join(flow.sql for flow in flows) if model.flows else model.sql
    around = reads.Around(
        model=model.name,
        relations=model.relations,
        engine=model.engine,
        ask=ask,
        goes_on=goes_on,
        appends=model.materialized in APPENDING,
        whole=_whole(model),
        partial=partial,
        positions={position.name.lower(): position for position in state.positions},
        named=_named(model),
        flows=_flows_of_reads(flows),
        run=model.run,
    )
    readings = reads.observed(reads.cut(sql), around)
    looks = {reading.header: reading.look for reading in readings}
    if model.flows:
        read = frozenset(flow.name for flow in flows)
        spec, state = _observe_flows(_looking(model, looks), read, state, ask=ask, partial=partial)
    else:
        spec, state = _observe_feed(_looking(model, looks), state, ask)
    if goes_on:
        state = replace(state, expected_rows=_expected_rows(model, state, ask))
    return _reading(spec, state, readings)


def _flows_of_reads(flows: Sequence[Flow]) -> dict[str, tuple[str, ...]]:
    """Return which flows have a read, by its header."""
    found: dict[str, tuple[str, ...]] = {}
    for flow in flows:
        for read in reads.cut(flow.sql):
            found[read.header] = (*found.get(read.header, ()), flow.name)
    return found


def _named(model: Model) -> frozenset[str]:
    """Return the names of all reads in the model's SQL, also in flows that are not read again."""
    sqls = (model.sql, *(flow.sql for flow in model.flows))
    return frozenset(read.name.lower() for sql in sqls for read in reads.cut(sql))


def _whole(model: Model) -> frozenset[str]:
    """Return the reads of which every run needs everything: for whole dumps, and for a range that is replaced."""
    sqls = [flow.sql for flow in model.flows if flow.is_snapshot]
    if model.materialized in WHOLE:
        sqls.append(model.sql)
    return frozenset(read.header for sql in sqls for read in reads.cut(sql))


def _looking(model: Model, looks: Mapping[str, str]) -> Model:
    """Return the model with its reads as they can be looked at before it runs."""
    flows = (replace(flow, sql=reads.replaced(flow.sql, looks, marks=True)) for flow in model.flows)
    return replace(model, sql=reads.replaced(model.sql, looks, marks=True), flows=tuple(flows))


def _reading(spec: Spec, state: State, readings: Sequence[Reading]) -> tuple[Spec, State]:
    """Return options and state with the relations of this run in the place of the reads that it does."""
    dump = spec.snapshot_sql if isinstance(spec, FlowEvents) else ""
    used = {read.header for sql in (state.model_sql, dump) for read in reads.cut(sql)}
    runs = {reading.header: reading.sql for reading in readings}
    if isinstance(spec, FlowEvents):
        spec = replace(spec, snapshot_sql=reads.replaced(dump, runs))
    return spec, replace(
        state,
        model_sql=reads.replaced(state.model_sql, runs),
        reads=tuple(reading for reading in readings if reading.header in used),
    )


def _observe_feed(model: Model, state: State, ask: Ask) -> tuple[Spec, State]:
    """Look at what the model gives."""
    feed = _feed(model.engine, ask, model.sql)
    spec = as_events(model.spec, feed)
    types, refused = _Options(spec, model.sql, feed, model.engine, ask).checked()
    return model.spec, replace(
        state,
        model_sql=model.sql,
        feed=feed,
        sequence_type=types["sequence_by"],
        system_type=types["system_sequence_by"],
        refused=refused,
    )


def _expected_rows(model: Model, state: State, ask: Ask) -> int | None:
    """Return how many rows the engine expects the model to give, where it is asked for that."""
    is_asked = isinstance(model.spec, AutoCdc) and not (model.spec.keeps_history or state.refused)
    query = model.engine.expect(state.model_sql) if is_asked else ""
    found = _EXPECTED.search(str(ask(query)[0][0])) if query else None
    return int(found[1]) if found else None


def _observe_flows(
    model: Model, read: Collection[str], state: State, *, ask: Ask, partial: str
) -> tuple[Spec, State]:
    """Look at what those of the model's flows give that are read, by their names."""
    together = Together(
        flows=model.flows,
        seen=tuple(_seen(flow, model, ask) for flow in model.flows if flow.name in read),
        state=state,
        engine=model.engine,
        partial=partial,
    )
    return gather(model.name, together)


def positions_of(model: Model, ask: Ask) -> tuple[Position, ...]:
    """Return how far a model's reads came, from its companion, which is there."""
    columns = columns_of(model.engine, ask, model.relations.companion)
    return _remembered(model.name, model.relations, columns=columns, existing=Existing(), ask=ask).positions


def knows_feed(model: Model, ask: Ask) -> bool:
    """Tell whether a companion, which is there, knows the last version of a change feed."""
    kind = text(names.FEED)
    return bool(ask(f"select 1 from {model.relations.companion} where {names.KIND} = {kind}"))


def _of_tables(model: Model, existing: Existing, ask: Ask) -> State:
    """Return what there is of target and companion, the feed still left out."""
    engine, relations = model.engine, model.relations
    target = columns_of(engine, ask, relations.target) if existing.target else None
    companion = columns_of(engine, ask, relations.companion) if existing.companion else None
    changes = columns_of(engine, ask, relations.changes) if existing.changes else None
    said, as_copied = _Remembered(), None
    if companion:
        said = _remembered(model.name, relations, columns=companion, existing=existing, ask=ask)
    if said.control is not None:
        there = relations.target if existing.target else ""
        control, as_copied = copied.as_here(
            said.control, engine, ask, target=there, companion=relations.companion
        )
        said = replace(said, control=control)
    return State(
        model_sql="",
        feed=(),
        sequence_type="",
        target=target,
        companion=companion,
        control=said.control,
        positions=said.positions,
        last_run=max(said.last_run, _greatest_run(relations.target, target, ask), *said.lost),
        run=model.run,
        turn=said.turn,
        lost=said.lost,
        indexes=indexes_of(engine, ask, relations.target)
        if existing.target and not existing.target_is_view
        else (),
        target_is_view=existing.target_is_view,
        layers=said.layers,
        changes=replace(said.changes, columns=changes),
        quarantine=columns_of(engine, ask, relations.quarantine) if existing.quarantine else None,
        copied=as_copied,
    )


def _greatest_run(relation: str, columns: tuple[Column, ...] | None, ask: Ask) -> int:
    """Return the greatest number of a run in a target: somebody may have put one in by hand."""
    if names.RUN not in {column.name.lower() for column in columns or ()}:
        return 0
    ((greatest,),) = ask(f"select max({names.RUN}) from {relation}")
    return int(str(greatest or 0))


def _seen(flow: Flow, model: Model, ask: Ask) -> Seen:
    feed = _feed(model.engine, ask, flow.sql)
    spec = as_events(flow.spec, feed)
    types, refused = _Options(spec, flow.sql, feed, model.engine, ask).checked()
    return Seen(flow, spec, feed, types["sequence_by"], types["system_sequence_by"], refused)


def _feed(engine: Engine, ask: Ask, query: str) -> tuple[Column, ...]:
    """Return the columns that a query gives a run: not the number that an append_flow target has with each row."""
    return tuple(column for column in describe(engine, ask, query) if column.name.lower() != names.RUN)


def describe(engine: Engine, ask: Ask, query: str) -> tuple[Column, ...]:
    """Return a query's columns without reading its rows."""
    return columns_in(ask(engine.describe(query)))


def columns_of(engine: Engine, ask: Ask, relation: str) -> tuple[Column, ...]:
    """Return a relation's columns."""
    return columns_in(ask(engine.describe_relation(relation)))


def notes_of(companion: str, ask: Ask) -> Rows:
    """Return the notes of a companion that a plan has to know of, each with its kind."""
    kinds = ", ".join(map(text, _NOTES))
    return ask(f"select {names.KIND}, {names.CONTROL} from {companion} where {names.KIND} in ({kinds})")


def _remembered(
    model: str, relations: Relations, *, columns: tuple[Column, ...], existing: Existing, ask: Ask
) -> _Remembered:
    """Return what the companion says beside what it keeps of the rows."""
    companion = relations.companion
    if not {names.KIND, names.CONTROL} <= {column.name.lower() for column in columns}:
        wrong = f"{companion} was not made by auto_cdc, which keeps there what belongs to {relations.target}"
        raise AutoCdcError(model, [f"{wrong}; rename that table, or give the model another alias"])
    said: dict[str, list[str]] = {kind: [] for kind in _NOTES}
    for kind, written in notes_of(companion, ask):
        said[str(kind)].append(str(written))
    changes = ChangeFeed(
        version=max(map(int, said[names.FEED]), default=None), is_whole=any(map(was_fed, said["control"]))
    )
    found = _Remembered(
        last_run=max(map(int, said["run"]), default=0),
        changes=changes,
        # Two of them are what two first builds at once may leave, where making a table takes two statements.
        turn=said[names.JOURNAL][0] if len(said[names.JOURNAL]) == 1 else "",
        lost=tuple(sorted(set(map(int, said[names.LOST])))),
        layers=max(map(int, said[names.LAYERS]), default=0),
    )
    if existing.rebuilt or not said["control"]:
        return found
    try:
        control = Control.from_json(said["control"][0])
        positions = tuple(map(Position.of, said["position"]))
    except ValueError as error:
        wrong = f"the companion {companion} cannot be read ({error})"
        instead = "install the release that wrote it, or rebuild the target with --full-refresh"
        raise AutoCdcError(model, [f"{wrong}; {instead}"]) from error
    return replace(found, control=control, positions=positions)


def indexes_of(engine: Engine, ask: Ask, relation: str, moved_to: str = "") -> tuple[Index, ...]:
    """Return the indexes that forbid to alter a table, as it has them or, where it is moved, will have them."""
    query = engine.list_indexes(relation)
    rows = ask(query) if query else ()
    there = moved_to or relation
    return tuple(engine.index(there, str(row[0]).removeprefix("="), str(row[1])) for row in rows)


@dataclass(frozen=True)
class _Options:
    """The options that hold SQL, checked by the engine itself over the model's rows."""

    spec: AutoCdc
    model_sql: str
    feed: tuple[Column, ...]
    engine: Engine
    ask: Ask

    def checked(self) -> tuple[dict[str, str], tuple[str, ...]]:
        """Return the types of the sequences, as far as they have one, and what is wrong with the options."""
        expressions = self._expressions()
        types, problems = self._types(expressions)
        for option, written in self.spec.conditions.items():
            is_null = written.strip().lower() == "null"
            if option in types and not is_null and not self.engine.is_condition(types[option]):
                value = "1" if self.engine.distance_of(types[option]) == "number" else "'D'"
                problems.append(
                    f"{option} has type {types[option]} and is no condition; compare it with a value, as in"
                    f" {written} = {value}"
                )
        orders = {
            option: types.get(self._shown(option)) or self._named_struct(getattr(self.spec, option) or ())
            for option in SEQUENCES
        }
        return orders, tuple(problems)

    def _shown(self, option: str) -> str:
        """Return an option's name as the user knows it: of a snapshot the sequence is the version."""
        return self.spec.ORDER if option == "sequence_by" else option

    def _named_struct(self, written: tuple[str, ...]) -> str:
        """Return what a sequence of several columns is recorded as, where the type of it may not be there yet."""
        parts = sequence_columns(written, self.feed)
        if not (self.engine.named_structs and len(written) == len(parts) > 1):
            return ""
        types = {column.name: column.type for column in self.feed}
        fields = (unquoted(name.strip()) for name in written)
        return struct_of(dict(zip(fields, (types[part] for part in parts), strict=True)))

    def _expressions(self) -> dict[str, str]:
        spec, expressions = self.spec, {}
        # `resolve` reports unknown parts of a list, lists where there are none, and what stands in double quotes.
        for option in SEQUENCES:
            written = getattr(spec, option) or ()
            parts = sequence_columns(written, self.feed)
            told = len(written) > 1 and self._is_told_by_its_parts
            if written and len(written) in {1, len(parts)} and not told:
                expressions[self._shown(option)] = sequence_expression(written, parts, self.engine)
        for option, condition in self.spec.conditions.items():
            if not quoted_text(condition, self.feed, engine=self.engine):
                expressions[option] = condition_expression(condition, self.feed, self.engine)
        return expressions

    @property
    def _is_told_by_its_parts(self) -> bool:
        """Whether the engine is not asked for the type of a list."""
        return self.engine.named_structs or not self.engine.comparable_structs

    def _types(self, expressions: dict[str, str]) -> tuple[dict[str, str], list[str]]:
        """Ask for all expressions at once, and for each alone where the engine refuses that."""
        if not expressions:
            return {}, []
        alone = {option: self._query([expression]) for option, expression in expressions.items()}
        tried = self.engine.try_columns(self._query(expressions.values()), list(alone.values()))
        if tried:
            told = list(zip(alone, self.ask(tried), strict=True))
            types = {option: str(row[1]) for option, row in told if row[1] is not None}
            refused = (self._refused(option, str(row[2])) for option, row in told if row[1] is None)
            return types, list(refused)
        try:
            described = describe(self.engine, self.ask, self._query(expressions.values()))
        except Exception as refused:  # noqa: BLE001 - every adapter has its own exceptions
            return self._each(alone, refused)
        of_the_options = described[-len(expressions) :]
        return dict(zip(expressions, (column.type for column in of_the_options), strict=True)), []

    def _each(self, queries: dict[str, str], refused: Exception) -> tuple[dict[str, str], list[str]]:
        types: dict[str, str] = {}
        problems: list[str] = []
        for option, query in queries.items():
            try:
                types[option] = describe(self.engine, self.ask, query)[-1].type
            except Exception as error:  # noqa: BLE001 - as above
                problems.append(self._refused(option, str(error)))
        if not problems:
            raise refused from None
        return types, problems

    def _query(self, expressions: Iterable[str]) -> str:
        # The feed's own columns come first, so that an aggregate is refused.
        columns = ["src.*"]
        columns += [
            f"{expression} as {names.PREFIX}{number}" for number, expression in enumerate(expressions)
        ]
        return f"select\n    {comma(columns)}\nfrom (\n{indented(self.model_sql)}\n) as src"

    def _refused(self, option: str, error: str) -> str:
        written = self.spec.conditions.get(option) or getattr(self.spec, option)
        written = written if isinstance(written, str) else written[0]
        columns = [column.name for column in self.feed]
        if is_name(written):
            return unknown_name(option, unquoted(written.strip()), columns)
        said = said_by(self.engine.name, error)
        return f"{option} is not valid SQL over the model's columns ({listed(columns)}); {said}"
