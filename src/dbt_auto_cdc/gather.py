"""Several flows become one feed: their expressions are evaluated flow by flow, and the rest of a run sees one model.

Not here: the options of flows (`flows`), how they are observed (`observe`), and what events do to a target (`scd`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from dbt_auto_cdc import names
from dbt_auto_cdc.engines.base import Engine
from dbt_auto_cdc.errors import AutoCdcError, listed
from dbt_auto_cdc.flows import Flow, by_flow, told
from dbt_auto_cdc.resolve import Columns, Layout, deciding, is_constant, lay_out, no_list, types_in
from dbt_auto_cdc.scd.changes import condition_expression, kind_expression, sequence_expression
from dbt_auto_cdc.spec import (
    OPTIONS,
    PARTIAL,
    AppendedFlows,
    AutoCdc,
    AutoCdcSnapshot,
    Expectation,
    FlowEvents,
    unknown_name,
)
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
    def partial_updates(self) -> bool:
        """Whether flows may leave columns out."""
        return any(isinstance(flow.spec, AutoCdc) and flow.spec.partial for flow in self.flows)

    @property
    def appends(self) -> bool:
        """Whether rows are only added: then each flow has the columns that it has, and the others are null."""
        return any(isinstance(flow.spec, AutoCdc) and flow.spec.appends for flow in self.flows)

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
        self._check_list()
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
                control=None if one.flow.is_snapshot or self.together.partial_updates else state.control,
            )
            spec = self._selecting(one) if self.together.partial_updates else self._spared(one)
            if self.together.appends:
                spec = replace(spec, on_schema_change="append_new_columns")
            layout, problems[one.flow.name] = lay_out(spec, own, self.engine)
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

    def _selecting(self, one: Seen) -> AutoCdc:
        """Return a flow's options where flows may select different columns: what names those of others is left to them.

        What the options say of the columns together is checked on the common feed.
        """
        own = Columns(one.feed)
        others = Columns(tuple(column for other in self.seen for column in other.feed))

        def kept(option: tuple[str, ...] | None) -> tuple[str, ...] | None:
            return option and tuple(name for name in option if own.find(name) or not others.find(name))

        spec = self._spared(one)
        if one.flow.shares_columns:
            spec = replace(spec, column_list=kept(spec.column_list))
        return replace(
            spec,
            track_history_column_list=kept(spec.track_history_column_list),
            track_history_except_column_list=kept(spec.track_history_except_column_list),
            on_schema_change="append_new_columns",
            **_WHOLE,
        )

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

    def _check_list(self) -> None:
        """Look at the column that lists what an event writes: a flow that lacks it writes all that it selects."""
        option = self._list_option
        if option is None or not self.seen:
            return
        columns = {one.flow.name: column for one in self.seen if (column := Columns(one.feed).find(option))}
        if not columns and len(self.seen) == len(self.together.flows):
            every = dict.fromkeys(column.name for one in self.seen for column in one.feed)
            self.problems.append(unknown_name("columns_to_update", option, list(every)))
        self.problems += [
            f"flow {flow}: {no_list(column)}"
            for flow, column in columns.items()
            if not self.engine.is_text_list(column.type)
        ]

    @property
    def _list_option(self) -> str | None:
        specs = (flow.spec for flow in self.together.flows)
        return next((spec.columns_to_update for spec in specs if isinstance(spec, AutoCdc)), None)

    def _lists(self) -> dict[str, Column]:
        """Return the column of each flow, if it has one, that lists what an event writes."""
        option = self._list_option
        found = {one.flow.name: Columns(one.feed).find(option) for one in self.seen} if option else {}
        return {flow: column for flow, column in found.items() if column}

    def _check_columns(self) -> None:
        written = {flow: _written(layout) for flow, layout in self.layouts.items()}
        every = dict.fromkeys(name for columns in written.values() for name in columns)
        lacking = {flow: [name for name in every if name not in columns] for flow, columns in written.items()}
        shown = "; ".join(f"{flow} lacks {listed(absent)}" for flow, absent in lacking.items() if absent)
        if shown and not (self.together.partial_updates or self.together.appends):
            self.problems.append(
                f"its flows write different columns ({shown}); select them in every flow, a null where there is"
                f" nothing to say (cast(null as ...) as ...), or name them in except_column_list"
            )

    def _common(self) -> tuple[Column, ...]:
        """Return the columns that flows write, in a type that holds what each of them brings."""
        columns, spellings = list[Column](), dict[str, str]()
        for layout in self.layouts.values():
            spellings |= {
                name: spelling for name, spelling in _spellings(layout).items() if name not in spellings
            }
        for name, spelling in spellings.items():
            types = {one.flow.name: self._brought(one, name) for one in self.seen if self._selects(one, name)}
            every = list(dict.fromkeys(types.values()))
            widest = self._widest(every)
            columns.append(Column(spelling, widest or ""))
            if widest is None:
                shown = "; ".join(f"{flow}: {type_name}" for flow, type_name in types.items())
                self.problems.append(
                    f"column {spelling} has types that do not go together ({shown}); cast it to one of them"
                )
        return tuple(columns)

    def _widest(self, types: Sequence[str]) -> str | None:
        """Return the one of some types that holds what the others do, if there is one."""
        return next((t for t in types if all(self.engine.widens(other, t) for other in types)), None)

    def _selects(self, one: Seen, name: str) -> bool:
        return name in _written(self.layouts[one.flow.name])

    def _not_by_all(self) -> dict[str, str]:
        """Return the columns that not every flow selects, each with the column of the feed that tells of it."""
        if self.together.appends:
            return {}
        return {
            column.name: f"{names.SELECTED}{number}"
            for number, column in enumerate(self.columns)
            if not all(self._selects(one, column.name.lower()) for one in self.seen)
        }

    def _not_written(self) -> tuple[str, ...]:
        """Return the columns that flows have beside those they write: a list may name them, for nothing."""
        written = {column.name.lower() for column in self.columns}
        every = {column.name.lower(): column.name for one in self.seen for column in one.feed}
        return tuple(name for folded, name in every.items() if folded not in written)

    def _always(self) -> tuple[str, ...]:
        """Return the common columns that a flow's sequence and conditions name."""
        named = {
            name.lower()
            for one in self.seen
            if isinstance(one.flow.spec, AutoCdc)
            for name in (column.name for column in deciding(one.flow.spec, one.feed))
        }
        named |= {column.name.lower() for column in self._lists().values()}
        return tuple(column.name for column in self.columns if column.name.lower() in named)

    def _brought(self, one: Seen, name: str) -> str:
        """Return the type in which a flow brings a column."""
        source = _written(self.layouts[one.flow.name])[name]
        return next(column.type for column in one.feed if column.name == source)

    def _of_target(self) -> tuple[Column, ...]:
        """Return the target's own columns: no flow is left to bring any."""
        scd_type = self.together.flows[0].spec.stored_as_scd_type
        bounds = names.bounds_of(scd_type) | {names.RUN}
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
        sequence = tuple(self._sequence())
        marks = (*sequence, *((names.SYSTEM_SEQUENCE,) if base.bitemporal else ()), names.KIND)
        inherited = {item.name: getattr(base, item.name) for item in fields(AutoCdc)}
        own = {
            "sequence_by": sequence,
            "apply_as_deletes": f"{names.KIND} = 'delete'"
            if any(spec.apply_as_deletes for spec in of_changes)
            else None,
            "apply_as_truncates": f"{names.KIND} = 'truncate'" if truncates else None,
            "column_list": None,
            "except_column_list": (*marks, *self._beside()),
            "system_sequence_by": (names.SYSTEM_SEQUENCE,) if base.bitemporal else None,
            "columns_to_update": names.LISTED if self._lists() else None,
        }
        feed = AppendedFlows if base.appends else FlowEvents
        return feed(
            **{**inherited, **own},
            orders=orders,
            sequence_names=self._sequence_names(),
            system_orders=system_orders,
            read_once=tuple(flow.name for flow in reads if flow.once),
            left_out=tuple(flow.name for flow in flows if flow not in reads),
            told=tuple(told(flow, reads, self.together.done) for flow in flows),
            snapshot=_dump_options(dump) if dump else None,
            snapshot_sql=self._select(dump, self._order(dump) | self._said(dump)) if dump else "",
            written_list=self._list_option,
            always=self._always(),
            selected=self._not_by_all(),
            beside=self._not_written(),
            judged=self._expected(dumps=False),
            judged_dumps=self._expected(dumps=True),
        )

    def with_feed(self) -> State:
        """Return the state with the common feed of the changes."""
        state = self.together.state
        recorded = state.control
        sequence_type = self._sequence_type()
        system_type = next((one.system_type for one in self.seen), recorded.system_type if recorded else "")
        system = (Column(names.SYSTEM_SEQUENCE, system_type),) if system_type else ()
        feed = (
            *self.columns,
            *(Column(name, type_name) for name, type_name in self._sequence().items()),
            *system,
            Column(names.KIND, self.engine.text_type),
            *(Column(name, type_name) for name, type_name in self._beside().items()),
        )
        selects = [
            self._select(one, self._order(one) | self._kind(one) | self._marks(one) | self._said(one))
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

    def _sequence_type(self) -> str:
        recorded = self.together.state.control
        return next((one.sequence_type for one in self.seen), recorded.sequence_type if recorded else "")

    def _sequence_names(self) -> tuple[str, ...]:
        """Return the names of a sequence of several columns where the feed has no struct, whose type has a name."""
        if not self.engine.named_structs:
            return ()
        specs = (flow.spec for flow in self.together.flows)
        listed_names = next(spec.sequence_fields for spec in specs if isinstance(spec, AutoCdc))
        return listed_names if len(listed_names) > 1 else ()

    def _sequence(self) -> dict[str, str]:
        """Return the columns of the feed that are the sequence, with their types."""
        listed_names = self._sequence_names()
        if not listed_names:
            return {names.SEQUENCE: self._sequence_type()}
        types = types_in(self._sequence_type(), listed_names)
        return {f"{names.SEQUENCE}_{number}": type_name for number, type_name in enumerate(types)}

    def _order(self, one: Seen) -> dict[str, str]:
        layout = self.layouts[one.flow.name]
        sequence = [sequence_expression(one.spec.sequence_by, layout.sequence, self.engine)]
        if self._sequence_names():
            sequence = [f"src.{self.engine.quote(part)}" for part in layout.sequence]
        orders = dict(zip(self._sequence(), sequence, strict=True))
        if one.spec.system_sequence_by:
            system = sequence_expression(one.spec.system_sequence_by, layout.system, self.engine)
            orders[names.SYSTEM_SEQUENCE] = system
        return orders

    def _kind(self, one: Seen) -> dict[str, str]:
        return {names.KIND: kind_expression(one.spec, one.feed, self.engine)}

    def _beside(self) -> dict[str, str]:
        """Return the columns, with their types, that tell of an event what it leaves out."""
        marks = dict.fromkeys(self._not_by_all().values(), "boolean")
        for column in self._lists().values():
            marks[names.LISTED] = column.type
        marks |= dict.fromkeys((one.column for one in self._every_expectation().values()), "boolean")
        return marks | {mark: column.type for mark, column in self._quarantined().items()}

    def _quarantined(self) -> dict[str, Column]:
        """Return the columns that flows have beside those they write, for rows that are dropped and kept as they came.

        Where their types do not go together they are kept as text.
        """
        specs = [flow.spec for flow in self.together.flows if isinstance(flow.spec, AutoCdc)]
        if not specs[0].expectations_quarantine:
            return {}
        kept = {}
        for number, name in enumerate(self._not_written()):
            found = [column for one in self.seen if (column := Columns(one.feed).find(name))]
            widest = self._widest([column.type for column in found])
            kept[names.beside_column(number)] = Column(name, widest or self.engine.text_type)
        return kept

    def _as_they_came(self, one: Seen) -> dict[str, str]:
        """Return the values of those columns in a flow."""
        values = {}
        for mark, column in self._quarantined().items():
            own = Columns(one.feed).find(column.name)
            value = f"src.{self.engine.quote(own.name)}" if own else self.engine.null(column.type)
            differs = own is not None and own.type != column.type
            values[mark] = f"cast({value} as {column.type})" if differs else value
        return values

    def _every_expectation(self) -> dict[str, Expectation]:
        """Return what the flows that are read expect, by folded name: each with a number, and a column of the feed."""
        found = {one.name.lower(): one for seen in self.seen for one in seen.flow.spec.expectations}
        return {
            name: replace(one, number=number, column=f"{names.EXPECTED}{number}")
            for number, (name, one) in enumerate(found.items())
        }

    def _expected(self, *, dumps: bool) -> tuple[Expectation, ...]:
        """Return what is expected of the changes, or of the dumps."""
        specs = [seen.flow.spec for seen in self.seen if seen.flow.is_snapshot == dumps]
        wanted = {one.name.lower() for spec in specs for one in spec.expectations}
        return tuple(one for name, one in self._every_expectation().items() if name in wanted)

    def _said(self, one: Seen) -> dict[str, str]:
        """Return what a flow has of its rows for expectations and for the quarantine."""
        return self._judged(one) | self._as_they_came(one)

    def _judged(self, one: Seen) -> dict[str, str]:
        """Return whether a flow's rows satisfy each expectation; null for what only other flows expect."""
        own = {expected.name.lower(): expected for expected in one.flow.spec.expectations}
        judged = {}
        for name, expected in self._every_expectation().items():
            judged[expected.column] = self.engine.null("boolean")
            if name in own:
                condition = condition_expression(own[name].condition, one.feed, self.engine)
                judged[expected.column] = f"coalesce({condition}, false)"
        return judged

    def _marks(self, one: Seen) -> dict[str, str]:
        """Return those columns' values: what a flow selects, and which column of it lists what an event writes."""
        marks = {
            mark: "true" if self._selects(one, name.lower()) else "false"
            for name, mark in self._not_by_all().items()
        }
        lists = self._lists()
        if lists:
            own, null = lists.get(one.flow.name), self.engine.null(self._beside()[names.LISTED])
            marks[names.LISTED] = f"src.{self.engine.quote(own.name)}" if own else null
        return marks

    def _select(self, one: Seen, marks: Mapping[str, str]) -> str:
        """Return the SELECT of a flow's rows as those of the common feed."""
        written, values = _written(self.layouts[one.flow.name]), list[str]()
        for column in self.columns:
            folded = column.name.lower()
            if folded not in written:
                values.append(f"{self.engine.null(column.type)} as {self.engine.quote(column.name)}")
                continue
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


# The options that leave events whole.
_WHOLE: dict[str, Any] = {name: OPTIONS[name].default for name in PARTIAL}


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
