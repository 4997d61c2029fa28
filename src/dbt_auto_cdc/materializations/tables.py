"""A model's pair of tables, target and companion: why they are built, how they are made and swapped, what is recorded.

Not here: their rows, which each materialization has from `scd`, and their columns (`resolve`, `evolution`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dbt_auto_cdc import copied, names
from dbt_auto_cdc.engines.base import Engine
from dbt_auto_cdc.errors import AutoCdcError, listed
from dbt_auto_cdc.materializations import change_feed, journal, quarantine
from dbt_auto_cdc.plan import Plan, Step, whenever_sent
from dbt_auto_cdc.resolve import as_events, resolve
from dbt_auto_cdc.scd import (
    bitemporal,
    bitemporal_partial,
    changes,
    expectations,
    scd1_partial,
    scd2,
    scd2_partial,
    writes,
)
from dbt_auto_cdc.scd.job import Job
from dbt_auto_cdc.spec import BITEMPORAL, AppendedRows, AutoCdc, Expectation, FlowEvents, SnapshotEvents, Spec
from dbt_auto_cdc.sql import Query, comma
from dbt_auto_cdc.state import Control, Relations, State


@dataclass(frozen=True)
class Table:
    """A model's table: the model, its options, and what was observed of it and its feed."""

    model: str
    spec: Spec
    state: State
    relations: Relations
    engine: Engine

    def job(self, *, builds: bool) -> Job:
        """Return the job of a run; raises `AutoCdcError` with everything that stands against it."""
        state = _without_target(self.state) if builds else self.state
        last = f"select max({names.SEQUENCE}) from {self.relations.companion} where {names.KIND} = 'snapshot'"
        spec = as_events(self.spec, state.feed, "" if builds else last)
        if state.contract_sql and not self.engine.transactions:
            contract = f"its contract is enforced, which is not served on {self.engine.name}; set enforced: false there"
            raise AutoCdcError(self.model, [contract])
        if lacking := self.engine.lacking_in(state.contract_sql):
            contract = (
                f"its contract has {listed(lacking)}, which {self.engine.name} has not; leave it out there"
            )
            raise AutoCdcError(self.model, [contract])
        layout = resolve(self.model, spec, state, self.engine)
        job = Job(self.model, spec, layout, state, self.relations, self.engine, builds=builds)
        return with_named_struct(job, replaces=replaces(self.state))


def replaces(before: State) -> bool:
    """Whether there is something already in the place of what is built."""
    return before.target is not None or before.companion is not None


def with_named_struct(job: Job, *, replaces: bool) -> Job:
    """Return the job with the type of a sequence of several columns by its name, where it has one.

    A target that goes on has the type of its companion, which a clone shares with its original.
    """
    if not job.struct_fields:
        return job
    there = (column.type for column in job.state.companion or () if column.name == names.SEQUENCE)
    new = job.relations.rebuilt_struct if replaces else job.relations.struct
    return replace(job, layout=replace(job.layout, sequence_type=next(there, new)))


def struct_type(job: Job) -> tuple[Step, ...]:
    """Make the type of a sequence of several columns, where it has a name."""
    if not job.struct_fields:
        return ()
    sql = job.engine.create_type(job.layout.sequence_type, job.struct_fields)
    return (Step("create the type of the sequence", sql),)


def builds_because(table: Table) -> str | None:
    """Return why the target is built from nothing, or None when it is there and goes on."""
    spec, state, relations = table.spec, table.state, table.relations
    if state.full_refresh and spec.full_refresh is not False:
        return "rebuild the target (--full-refresh)"
    if state.target is None and state.companion is not None:
        _refuse_lost_flows(table)
    if state.target is None:
        return "build the target" if state.companion is None else "build the target again: it is gone"
    _refuse_lost_turn(table)
    is_told = state.control is not None and (state.turn or table.engine.transactions)
    if state.companion is not None and not is_told and not table.engine.transactions:
        return "build the target again: an earlier run was stopped before it was complete"
    if state.companion is not None and state.control is None:
        problem = (
            f"{relations.companion} has no row of kind control, which a run leaves there, so its rows were deleted, or"
            f" copied in part; copy all of them ({copied.MANUAL}), or rebuild the target with --full-refresh"
        )
        raise AutoCdcError(table.model, [problem])
    if state.control is None:
        problem = (
            f"{relations.target} exists without its companion {relations.companion}, so it was not made by"
            f" auto_cdc, or was cloned or copied without it; {_gets_one(table)}"
        )
        raise AutoCdcError(table.model, [problem])
    stored = {column.name.lower() for column in state.target}
    bounds = names.bounds_of(spec.stored_as_scd_type)
    if as_events(spec, state.feed).appends and state.control.materialized == AppendedRows.KIND:
        bounds = {names.RUN}
    if state.control.scd_type == spec.stored_as_scd_type and not bounds <= stored:
        _refuse_lost_flows(table)
        return f"build the target again: something else rebuilt it without {listed(sorted(bounds - stored))}"
    return None


def _refuse_lost_turn(table: Table) -> None:
    """Refuse to start over where a companion is complete, and lacks only what its engine did not need."""
    control, engine, companion = table.state.control, table.engine, table.relations.companion
    if control is None or table.state.turn or engine.transactions or control.engine == engine.name:
        return
    problem = (
        f"{companion} was copied from {control.engine or copied.ANOTHER} without a row of kind {names.JOURNAL}, which"
        f" runs on {engine.name} need; copy its rows into the companion that `dbt run --empty` makes"
        f" ({copied.MANUAL})"
    )
    raise AutoCdcError(table.model, [problem])


def _gets_one(table: Table) -> str:
    """Return what to do where a target has no companion, as far as the engine serves it."""
    events = as_events(table.spec, table.state.feed)
    if not table.engine.transactions:
        kept = "; what the feed does not hold, copy to a table of another name first, for the model to read it too"
        rebuilt = f"rebuild it with --full-refresh{'' if isinstance(events, SnapshotEvents) else kept}"
        return f"copy the companion along ({copied.MANUAL}), or {rebuilt}"
    # What was believed when, and which rows of its sources it has, is not in a table alone.
    taken_over = (
        ""
        if table.spec.stored_as_scd_type == BITEMPORAL or events.appends
        else f", take the table over as it is (dbt run-operation auto_cdc.adopt --args '{{model: {table.model}}}')"
    )
    return (
        f"copy the companion along (dbt run-operation auto_cdc.clone_companions --args"
        f" '{{{table.relations.cloned_from}}}'){taken_over}, or rebuild it with --full-refresh"
    )


def _refuse_lost_flows(table: Table) -> None:
    """Refuse to start over by accident where flows are read once, or step by step: it would be less than there was."""
    control = table.state.control
    lost = control.once if control is not None else ()
    read = tuple(position.name for position in table.state.positions)
    if lost or read:
        flows = f"flow {lost[0]} was" if len(lost) == 1 else f"flows {listed(lost)} were"
        done = (
            f"{flows} read once"
            if lost
            else f"{listed(read)} {'was' if len(read) == 1 else 'were'} read in part"
        )
        problem = (
            f"{table.relations.target} is gone, or was rebuilt by something else, and {done}; to build the"
            f" target again and read everything again, run with --full-refresh"
        )
        raise AutoCdcError(table.model, [problem])


def _without_target(state: State) -> State:
    """Return the state as if there was no target, for one that is built from nothing."""
    return replace(state, target=None, companion=None, control=None, indexes=(), target_is_view=False)


def definition(job: Job) -> Control:
    """Return what this run would record about the definition."""
    by_name = sorted((column.name.lower(), column.type) for column in job.layout.keys)
    recorded = job.state.control
    done = recorded.once if recorded is not None else ()
    # Nothing is read where a table is only taken over, and not all where a part of the source is.
    reads = (job.builds or recorded is not None) and not job.state.partial
    read_now = job.spec.read_now if reads else ()
    return Control(
        scd_type=job.spec.stored_as_scd_type,
        keys=tuple(name for name, _ in by_name),
        key_types=tuple(type_name for _, type_name in by_name),
        sequence_type=job.state.sequence_type,
        track_history=job.spec.track_history,
        truncates=job.truncates,
        once=(*done, *(name for name in read_now if name not in done)),
        materialized=job.spec.KIND,
        system_type=job.layout.system_type,
        change_data_feed=job.spec.change_data_feed and (job.builds or recorded is not None),
        engine=job.engine.name,
    )


def build(
    job: Job,
    before: State,
    rows: Query,
    remembers: Sequence[Query],
    *,
    notes: Mapping[str, str] | None = None,
) -> tuple[Step, ...]:
    """Make companion and target; where there is something already, aside, then swap.

    `rows` are the target's, `remembers` give the companion's beside the control record; `notes` are texts by their
    kinds, which the companion keeps as it does that record.
    """
    if not job.engine.transactions:
        kept = companion_types(job), companion_rows(job, remembers, notes)
        made = journal.built(job, before, rows, target=target_types(job), companion=kept)
        # With the companion's record the run is complete: nothing may be missing by then.
        return (*quarantine.kept(job), *made)
    target, companion = job.target, job.companion
    is_replaced = replaces(before)
    if is_replaced:
        target, companion = job.relations.rebuilt_target, job.relations.rebuilt_companion
    return (
        *(marked(job.engine, job.companion) if before.companion is not None else ()),
        *(Step(f"clear {what}", job.engine.drop_table(what)) for what in (companion, target) if is_replaced),
        Step(
            "create the companion",
            job.engine.create_table(companion, companion_rows(job, remembers, notes), is_overwritten=True),
        ),
        *made_ready(job, companion),
        *_create_target(job, target, rows),
        *change_feed.built(job, before, target, companion),
        *(_swap(job, before) if is_replaced else ()),
    )


def made_ready(job: Job, companion: str) -> tuple[Step, ...]:
    """Make a new companion quick to read, where that takes a statement."""
    sql = job.engine.ready(companion, job.keys)
    return (Step("make the companion quick to read", sql),) if sql else ()


def _create_target(job: Job, target: str, rows: Query) -> tuple[Step, ...]:
    contract, types = job.state.contract_sql, target_types(job)
    laid_out = tuple(Step("lay out the target", sql) for sql in job.engine.laid_out(target))
    if not contract and not laid_out:
        is_overwritten = job.overwrites or job.spec.keeps_history
        sql = job.engine.create_table(target, _typed(job, rows, types), is_overwritten=is_overwritten)
        return (Step("create the target", sql, counts=job.spec.COUNTS),)
    columns = [*job.output, *job.bounds, *job.unseen]
    empty = contracted(job, target) if contract else _empty(job, target, types)
    return (
        *empty,
        *laid_out,
        Step("fill the target", job.engine.insert(target, columns, rows), counts=job.spec.COUNTS),
    )


def _empty(job: Job, target: str, types: Mapping[str, str]) -> tuple[Step, ...]:
    return (Step("create the target", job.engine.define(target, types)),)


def _typed(job: Job, rows: Query, types: Mapping[str, str]) -> Query:
    """Return the rows with columns of exactly these types."""
    if not job.engine.loses_lengths:
        return rows
    columns = comma(f"cast({name} as {kind}) as {name}" for name, kind in types.items())
    return rows.then("typed", f"select\n    {columns}\nfrom {rows.last}")


def contracted(job: Job, relation: str) -> tuple[Step, ...]:
    """Make an empty table as the contract says, with what is none of its business behind that."""
    sql = f"create table {relation} {job.state.contract_sql}"
    unseen = (
        job.engine.add_column(relation, name, kind)
        for name, kind in job.unseen.items()
        if not job.names_unseen
    )
    return (
        Step("create the target as its contract says", sql),
        *(Step("add the column of the run's number", add) for add in unseen),
    )


def _swap(job: Job, before: State) -> tuple[Step, ...]:
    """Put the tables built aside in the place of those that were there."""
    engine, relations = job.engine, job.relations
    steps = []
    if before.target is not None:
        drop = engine.drop_view if before.target_is_view else engine.drop_table
        steps.append(Step("drop the old target", drop(relations.target)))
    if before.companion is not None:
        steps.append(Step("drop the old companion", engine.drop_table(relations.companion)))
    steps.append(
        Step(
            "put the new companion in its place",
            engine.rename_table(relations.rebuilt_companion, relations.companion_identifier),
        )
    )
    steps.append(
        Step(
            "put the new target in its place",
            engine.rename_table(relations.rebuilt_target, relations.identifier),
        )
    )
    if engine.named_structs:
        new = job.layout.sequence_type if job.struct_fields else ""
        sql = engine.replace_type(relations.struct, new, relations.struct_identifier)
        steps.append(
            Step(
                "drop the old type of the sequence" + (", and put the new one in its place" if new else ""),
                sql,
            )
        )
    return tuple(steps)


def target_types(job: Job) -> dict[str, str]:
    """Return the target's columns, quoted, with their types."""
    types = {job.engine.quote(column.name): column.type for column in job.layout.output}
    return {**types, **job.bounds, **job.unseen}


def companion_types(job: Job) -> dict[str, str]:
    """Return the companion's columns with their types, the control record's last."""
    engine = job.engine
    types = {engine.quote(c.name): c.type for c in (*job.layout.keys, *job.remembered)}
    types |= dict.fromkeys((names.SEQUENCE, names.RUN_START), job.layout.sequence_type)
    types |= {names.SYSTEM_SEQUENCE: job.layout.system_type, names.KIND: engine.text_type}
    types |= authorship(job)
    known = {column: types.get(column, job.layout.sequence_type) for column in companion_columns(job)}
    return {**known, names.CONTROL: engine.text_type}


def companion_rows(job: Job, remembers: Sequence[Query], notes: Mapping[str, str] | None = None) -> Query:
    """Return all rows of a new companion: the control record, and what `remembers` gives in the companion's columns."""
    engine, types = job.engine, companion_types(job)
    parts = [_note(job, "control", definition(job).to_json())]
    parts += [_note(job, *each) for each in (notes or {}).items()]
    if not engine.transactions:
        parts += [_position(job, reading.reached) for reading in job.state.reads if reading.reached]
    parts += [
        f"select more.*, null as {names.CONTROL} from (\n{query.render()}\n) as more" for query in remembers
    ]
    return _typed(job, Query().then("rows", "\nunion all\n".join(parts)), types)


def _note(job: Job, kind: str, note: str) -> str:
    """Return the query of the companion's row that holds a note of a kind."""
    own = {names.KIND: f"'{kind}'", names.CONTROL: job.engine.text(note)}
    return f"select\n    {job.engine.row(companion_types(job), own)}"


def _position(job: Job, reached: str) -> str:
    """Return the companion's row of how far a read came: a companion that is there is complete with it."""
    own = {names.KIND: "'position'", names.CONTROL: f"told.{names.CONTROL}"}
    return f"select\n    {job.engine.row(companion_types(job), own)}\nfrom (\n{reached}\n) as told"


def companion_columns(job: Job) -> list[str]:
    """Return the companion's columns, but the control record's."""
    if job.spec.bitemporal:
        return bitemporal.event_columns(job)
    if job.spec.scd2:
        return scd2.hidden_columns(job)
    return scd1_partial.remembered_columns(job) if job.partial else [*job.keys, *changes.EVENT]


def authorship(job: Job) -> dict[str, str]:
    """Return the companion's columns that partial updates need, quoted, with their types."""
    if job.sparse:
        return dict.fromkeys(bitemporal_partial.sent(job), "boolean")
    if not job.partial:
        return {}
    if job.spec.scd2:
        return dict.fromkeys(scd2_partial.sent(job), "boolean")
    floor = job.engine.quote(names.FLOOR)
    return dict.fromkeys([floor, *scd1_partial.authors(job)], job.layout.sequence_type)


_WRITES = ("alter table", "create table", "delete from", "insert into", "update")


def marked(engine: Engine, companion: str, steps: Sequence[Step] = ()) -> tuple[Step, ...]:
    """Return steps with one that has another process conflict that writes the same target; it is sent if they write.

    Dropping the companion conflicts only with those who drop it too, so that it is marked before.
    """
    if not engine.marks_runs:
        return tuple(steps)
    writing = [step for step in steps if step.sql.startswith(_WRITES)]
    if steps and not writing:
        return tuple(steps)
    sql = f"update {companion} set {names.CONTROL} = {names.CONTROL}\nwhere {names.KIND} = 'control'"
    return (*steps, Step("mark the target as written", sql, whenever_sent(writing)))


def record(job: Job) -> tuple[Step, ...]:
    """Record the definition where it differs from what is recorded."""
    now = definition(job)
    if now == job.state.control:
        return ()
    sql = (
        f"update {job.companion} set {names.CONTROL} = {job.engine.text(now.to_json())}\n"
        f"where {names.KIND} = 'control'"
    )
    return (Step("record the definition", sql, settles=True, told=("control", now.to_json())),)


# A layer costs a run some milliseconds, for the files that it has to open; all files anew, 3 s of CPU a million rows.
_LAYERS = 20


def _layered(job: Job, steps: Sequence[Step]) -> tuple[tuple[Step, ...], tuple[Step, ...]]:
    """Return the steps that count a run which writes beside the companion's files, and those that write these anew.

    The latter may be left to a later run.
    """
    anew, keeping = job.engine.compact(job.companion), [step for step in steps if step.keeps]
    if not anew or not keeping:
        return (), ()
    only_if = whenever_sent(keeping)
    layers = job.state.layers + 1
    is_over = layers >= _LAYERS
    counted = Query().then("counted", _note(job, names.LAYERS, str(0 if is_over else layers)))
    # The row of the run before is told like it, and makes way for it.
    title, columns = "count the layers of the companion", list(companion_types(job))
    return (writes.remember(job, title, columns, counted, only_if=only_if, apart=True),), (
        Step("write the companion's files anew", anew, only_if),
    ) if is_over else ()


def shape(job: Job) -> str:
    """Return an empty SELECT with the target's columns."""
    columns = {job.engine.quote(column.name): column.type for column in job.layout.output}
    columns |= job.bounds
    if job.names_unseen:
        columns |= job.unseen
    listed_columns = comma(f"{job.engine.null(type_name)} as {name}" for name, type_name in columns.items())
    return f"select\n    {listed_columns}\nwhere false"


def finished(
    job: Job,
    action: str,
    steps: tuple[Step, ...],
    working: Sequence[str],
    *,
    after: tuple[Step, ...] = (),
) -> Plan:
    """Return the plan, with the working tables freed in the end; `after` are steps that may be left to a later run."""
    steps = (*expectations.checked(job), *steps)
    steps = (*struct_type(job), *steps) if job.builds else change_feed.watched(job, steps)
    working = [*working, *([names.CHECKED] if job.spec.expectations else [])]
    if job.spec.change_data_feed:
        working = [*working, *change_feed.WORKING]
    reads = job.state.reads
    first = (step for reading in reads for step in reading.first)
    record = [step for reading in reads for step in reading.record]
    is_whole = job.builds and not job.engine.transactions
    steps = (*first, *steps, *(() if is_whole else (*quarantine.kept(job), *record)))
    if not job.builds:
        steps = marked(job.engine, job.companion, steps)
    if not job.engine.transactions:
        working = [*working, *(() if job.spec.appends else journal.WORKING)]

    def frees(sent: Sequence[Step]) -> str:
        used = "\n".join(step.script for step in sent)
        tables = [table for table in map(job.working, working) if table in used]
        return job.engine.drop_working([*tables, *(table for reading in reads for table in reading.working)])

    free, turn = frees(steps), None
    if not job.engine.transactions and job.builds:
        turn = journal.turn_of_build(job, free)
    elif not job.engine.transactions:
        counted, anew = _layered(job, steps)
        steps, after = (*steps, *counted), (*after, *anew)
        steps, turn = journal.journaled(job, steps, target_types(job), companion_types(job), frees=frees)
        free = ""
    return Plan(
        model=job.model,
        action=action,
        steps=(*steps, *after),
        closing=_closing(job, free),
        creates=job.builds,
        appends=job.spec.appends,
        shape=shape(job),
        warnings=job.layout.warnings + _of_a_sample(job) + _of_reads(job),
        flows=job.spec.told if isinstance(job.spec, FlowEvents) else (),
        expected=_expected(job),
        reads=tuple(reading.told for reading in reads),
        faults=tuple(fault for reading in reads for fault in reading.faults),
        positions=() if job.builds else job.state.positions,
        turn=turn,
    )


def _closing(job: Job, free: str) -> tuple[Step, ...]:
    """Return what is sent after the commit, if there is anything."""
    what = {"free the working tables": free, "drop what told the columns": job.engine.described()}
    return tuple(Step(name, sql) for name, sql in what.items() if sql)


def _of_reads(job: Job) -> tuple[str, ...]:
    return tuple(warning for reading in job.state.reads for warning in reading.warnings)


def _expected(job: Job) -> tuple[Expectation, ...]:
    """Return what is expected of rows, of changes and of dumps, each once."""
    of_dumps = job.spec.judged_dumps if isinstance(job.spec, FlowEvents) else ()
    every = {one.number: one for one in (*job.spec.expectations, *of_dumps)}
    return tuple(every[number] for number in sorted(every))


def _of_a_sample(job: Job) -> tuple[str, ...]:
    """A warning where rows that are missing from a first table will be missed: events only come later."""
    has_dumps = isinstance(job.spec, FlowEvents) and job.builds and job.spec.snapshot
    if job.state.partial != "--sample" or (job.spec.KIND == AutoCdc.KIND and not has_dumps):
        return ()
    return (
        "the target was built from a sample of the source; rebuild it with --full-refresh to have it whole",
    )
