"""Several flows become one feed: their expressions are evaluated flow by flow, and the rest of a run sees one model.

Not here: the options of flows (`flows`), how they are observed (`observe`), and what events do to a target (`scd`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

from dbt_auto_cdc import names
from dbt_auto_cdc.engines.base import Engine
from dbt_auto_cdc.errors import AutoCdcError, listed
from dbt_auto_cdc.flows import Flow, by_flow, told
from dbt_auto_cdc.resolve import Columns, Layout, is_constant, lay_out
from dbt_auto_cdc.scd.changes import kind_expression, sequence_expression
from dbt_auto_cdc.spec import AutoCdc, AutoCdcSnapshot, FlowEvents
from dbt_auto_cdc.sql import comma, indented
from dbt_auto_cdc.state import Column, State


@dataclass(frozen=True)
class Seen:
    """A flow that a run reads, as observed: its columns, and the types of what orders its rows.

    `spec` has its options as those of events; `refused` is what the engine says against their SQL.
    """

    flow: Flow
    spec: AutoCdc
    feed: tuple[Column, ...]
    sequence_type: str
    system_type: str
    refused: tuple[str, ...]


@dataclass(frozen=True)
class Together:
    """The flows of a model and those that this run reads, with what else was observed."""

    flows: tuple[Flow, ...]
    seen: tuple[Seen, ...]
    state: State
    engine: Engine
    partial: str = ""

    @property
    def done(self) -> tuple[str, ...]:
        """The flows that were read once."""
        control = self.state.control
        return control.once if control is not None else ()


def gather(model: str, together: Together) -> tuple[FlowEvents, State]:
    """Return the flows' options as those of one feed, and the state with that feed.

    Raises `AutoCdcError` with everything that stands against a flow, or against keeping one target of all of them.
    """
    gatherer = _Gatherer(together)
    gatherer.check()
    if gatherer.problems:
        raise AutoCdcError(model, gatherer.problems)
    return gatherer.events(), gatherer.with_feed()


class _Gatherer:
    def __init__(self, together: Together) -> None:
        self.together, self.engine = together, together.engine
        self.seen = together.seen
        self.problems: list[str] = []
        self.warnings: list[str] = []
        self.layouts: dict[str, Layout] = {}
        self.columns: tuple[Column, ...] = ()

    def check(self) -> None:
        """Lay each flow out by itself, then see what they have in common."""
        self._lay_out()
        self._check_order()
        if not self.problems:
            self._check_columns()
        if not self.problems:
            self.columns = self._common() if self.seen else self._of_target()

    def _lay_out(self) -> None:
        state, problems = self.together.state, dict[str, list[str]]()
        for one in self.seen:
            own = replace(
                state,
                model_sql=one.flow.sql,
                feed=one.feed,
                sequence_type=one.sequence_type,
                system_type=one.system_type,
                refused=one.refused,
                control=None if one.flow.is_snapshot else state.control,
            )
            layout, problems[one.flow.name] = lay_out(self._spared(one), own, self.engine)
            self.layouts[one.flow.name] = layout
            self.warnings += [text for text in layout.warnings if text not in self.warnings]
        self.problems += by_flow(problems)

    def _spared(self, one: Seen) -> AutoCdc:
        """Return a flow's options where the model's except_column_list has only what this flow can leave out."""
        left_out = one.spec.except_column_list
        if left_out is None or not one.flow.shares_columns:
            return one.spec
        others = Columns(tuple(column for other in self.seen for column in other.feed))
        own, are_all_seen = Columns(one.feed), len(self.seen) == len(self.together.flows)
        kept = tuple(name for name in left_out if own.find(name) or (are_all_seen and not others.find(name)))
        return replace(one.spec, except_column_list=kept or None)

    # what flows must have in common

    def _check_order(self) -> None:
        of_events = [(one, one.spec.ORDER, one.spec.sequence_by, one.sequence_type) for one in self.seen]
        of_beliefs = [
            (one, "system_sequence_by", one.spec.system_sequence_by or (), one.system_type)
            for one in self.seen
        ]
        for orders in (of_events, of_beliefs):
            if len({type_name for *_, type_name in orders if type_name}) > 1:
                shown = "; ".join(
                    f"{one.flow.name}: {option} {', '.join(written)} has type {type_name}"
                    for one, option, written, type_name in orders
                )
                self.problems.append(
                    f"its flows have no common order ({shown}); cast what orders them to one type"
                )

    def _check_columns(self) -> None:
        written = {flow: _written(layout) for flow, layout in self.layouts.items()}
        every = dict.fromkeys(name for columns in written.values() for name in columns)
        lacking = {flow: [name for name in every if name not in columns] for flow, columns in written.items()}
        shown = "; ".join(f"{flow} lacks {listed(absent)}" for flow, absent in lacking.items() if absent)
        if shown:
            self.problems.append(
                f"its flows write different columns ({shown}); select them in every flow, a null where there is"
                f" nothing to say (cast(null as ...) as ...), or name them in except_column_list"
            )

    def _common(self) -> tuple[Column, ...]:
        """Return the columns that all flows write, in a type that holds what each of them brings."""
        columns = list[Column]()
        for name, spelling in _spellings(next(iter(self.layouts.values()))).items():
            types = {one.flow.name: self._brought(one, name) for one in self.seen}
            every = list(dict.fromkeys(types.values()))
            widest = next((t for t in every if all(self.engine.widens(other, t) for other in every)), None)
            columns.append(Column(spelling, widest or ""))
            if widest is None:
                shown = "; ".join(f"{flow}: {type_name}" for flow, type_name in types.items())
                self.problems.append(
                    f"column {spelling} has types that do not go together ({shown}); cast it to one of them"
                )
        return tuple(columns)

    def _brought(self, one: Seen, name: str) -> str:
        """Return the type in which a flow brings a column."""
        source = _written(self.layouts[one.flow.name])[name]
        return next(column.type for column in one.feed if column.name == source)

    def _of_target(self) -> tuple[Column, ...]:
        """Return the target's own columns: no flow is left to bring any."""
        scd_type = self.together.flows[0].spec.stored_as_scd_type
        bounds = {bound.lower() for bound in names.BOUNDS.get(scd_type, ())}
        stored = self.together.state.target or ()
        return tuple(column for column in stored if column.name.lower() not in bounds)

    # one feed

    def events(self) -> FlowEvents:
        """Return the options of the common feed."""
        flows, reads = self.together.flows, [one.flow for one in self.seen]
        of_changes = [flow.spec for flow in flows if isinstance(flow.spec, AutoCdc)]
        base, dump = of_changes[0], next((one for one in self.seen if one.flow.is_snapshot), None)
        truncates = len(of_changes) < len(flows) or any(spec.apply_as_truncates for spec in of_changes)
        orders = _as_written([spec.sequence_by for spec in of_changes])
        system_orders = _as_written([spec.system_sequence_by or () for spec in of_changes])
        marks = (names.SEQUENCE, *((names.SYSTEM_SEQUENCE,) if base.bitemporal else ()), names.KIND)
        inherited = {item.name: getattr(base, item.name) for item in fields(AutoCdc)}
        own = {
            "sequence_by": (names.SEQUENCE,),
            "apply_as_deletes": f"{names.KIND} = 'delete'"
            if any(spec.apply_as_deletes for spec in of_changes)
            else None,
            "apply_as_truncates": f"{names.KIND} = 'truncate'" if truncates else None,
            "column_list": None,
            "except_column_list": marks,
            "system_sequence_by": (names.SYSTEM_SEQUENCE,) if base.bitemporal else None,
        }
        return FlowEvents(
            **{**inherited, **own},
            orders=orders,
            system_orders=system_orders,
            read_once=tuple(flow.name for flow in reads if flow.once),
            told=tuple(told(flow, reads, self.together.done) for flow in flows),
            snapshot=_dump_options(dump) if dump else None,
            snapshot_sql=self._select(dump, self._order(dump)) if dump else "",
        )

    def with_feed(self) -> State:
        """Return the state with the common feed of the changes."""
        state = self.together.state
        recorded = state.control
        sequence_type = next(
            (one.sequence_type for one in self.seen), recorded.sequence_type if recorded else ""
        )
        system_type = next((one.system_type for one in self.seen), recorded.system_type if recorded else "")
        system = (Column(names.SYSTEM_SEQUENCE, system_type),) if system_type else ()
        feed = (*self.columns, Column(names.SEQUENCE, sequence_type), *system, Column(names.KIND, "varchar"))
        selects = [
            self._select(
                one, self._order(one) | {names.KIND: kind_expression(one.spec, one.feed, self.engine)}
            )
            for one in self.seen
            if not one.flow.is_snapshot
        ]
        nulls = (f"{self.engine.null(column.type)} as {self.engine.quote(column.name)}" for column in feed)
        return replace(
            state,
            model_sql="\nunion all\n".join(selects) or f"select\n    {comma(nulls)}\nwhere false",
            feed=feed,
            sequence_type=sequence_type,
            system_type=system_type,
            warned=(*self.warnings, *self._left_out()),
        )

    def _order(self, one: Seen) -> dict[str, str]:
        layout = self.layouts[one.flow.name]
        orders = {names.SEQUENCE: sequence_expression(one.spec.sequence_by, layout.sequence, self.engine)}
        if one.spec.system_sequence_by:
            system = sequence_expression(one.spec.system_sequence_by, layout.system, self.engine)
            orders[names.SYSTEM_SEQUENCE] = system
        return orders

    def _select(self, one: Seen, marks: Mapping[str, str]) -> str:
        """Return the SELECT of a flow's rows as those of the common feed."""
        written, values = _written(self.layouts[one.flow.name]), list[str]()
        for column in self.columns:
            folded = column.name.lower()
            value = f"src.{self.engine.quote(written[folded])}"
            if self._brought(one, folded) != column.type:
                value = f"cast({value} as {column.type})"
            values.append(f"{value} as {self.engine.quote(column.name)}")
        values += [f"{value} as {name}" for name, value in marks.items()]
        return f"select\n    {comma(values)}\nfrom (\n{indented(one.flow.sql)}\n) as src"

    def _left_out(self) -> list[str]:
        """A warning about flows that would have to be read as a whole."""
        reads = {one.flow.name for one in self.seen}
        waiting = [
            flow.name for flow in self.together.flows if flow.name not in {*reads, *self.together.done}
        ]
        if self.together.partial in {"", "--empty"} or not waiting:
            return []
        return [
            f"{self.together.partial} reads a part of the source only, so flow {listed(waiting)} was left out"
        ]


def _as_written(sequences: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return what orders the rows of several flows, for messages: one by one where all have the same."""
    different = tuple(dict.fromkeys(", ".join(written) for written in sequences))
    return sequences[0] if len(different) == 1 else (" or ".join(different),)


def _written(layout: Layout) -> dict[str, str]:
    """Return the columns that a flow writes, folded, with the feed's column of each."""
    return {column.name.lower(): column.source for column in layout.output if column.source is not None}


def _spellings(layout: Layout) -> dict[str, str]:
    return {column.name.lower(): column.name for column in layout.output if column.source is not None}


def _dump_options(dump: Seen) -> AutoCdcSnapshot:
    """Return the options of the whole dumps; their version is a column of `snapshot_sql`, unless its value is fixed."""
    spec = dump.flow.spec
    assert isinstance(spec, AutoCdcSnapshot)  # noqa: S101 - what is_snapshot says
    is_fixed = is_constant(spec.snapshot_version, dump.feed)
    version = spec.snapshot_version if is_fixed else names.SEQUENCE
    return replace(spec, snapshot_version=version, column_list=None, except_column_list=None)
