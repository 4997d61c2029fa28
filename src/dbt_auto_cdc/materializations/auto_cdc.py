"""`auto_cdc`: what one run of a model has to do, as a plan.

Not here: how events become rows (`scd`); nothing is sent from here.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from types import ModuleType

from dbt_auto_cdc import names
from dbt_auto_cdc.engines.base import Engine
from dbt_auto_cdc.errors import AutoCdcError, listed
from dbt_auto_cdc.materializations import evolution
from dbt_auto_cdc.plan import Plan, Step
from dbt_auto_cdc.resolve import resolve
from dbt_auto_cdc.scd import changes, scd1, scd2
from dbt_auto_cdc.scd.job import Job
from dbt_auto_cdc.spec import AutoCdc
from dbt_auto_cdc.sql import Query, comma, text
from dbt_auto_cdc.state import Control, Relations, State


def plan(model: str, spec: AutoCdc, state: State, relations: Relations, engine: Engine) -> Plan:
    """Return the plan of a run; raises `AutoCdcError` with everything that stands against it. Pure."""
    why = _builds_because(model, spec, state, relations)
    observed = state if why is None else _without_target(state)
    layout = resolve(model, spec, observed, engine)
    job = Job(model, spec, layout, observed, relations, engine, builds=why is not None)
    definition = _definition(job)
    steps: tuple[Step, ...]
    if why is not None:
        steps = (*_mode(job).read(job), *_build(job, state, definition), *_expire(job))
    else:
        prepared = (*_table_of_view(job), *evolution.prepare(job))
        steps = (*prepared, *_mode(job).read(job), *_apply(job), *_record(job, definition), *_expire(job))
    suffixes = (names.STAGE, names.EVENTS, *((names.STORED, names.LINE, names.TIMELINE) if spec.scd2 else (names.WINNERS, names.GONE)))
    working = [job.working(suffix) for suffix in suffixes]
    return Plan(
        model=model,
        action=why or "apply the new events",
        steps=steps,
        closing=(Step("free the working tables", engine.drop_working(working)),),
        creates=why is not None,
        shape=_shape(job),
        warnings=layout.warnings,
    )


def _shape(job: Job) -> str:
    """Return an empty SELECT with the target's columns."""
    columns = {job.engine.quote(column.name): column.type for column in job.layout.output}
    if job.spec.scd2:
        columns |= dict.fromkeys((job.start_at, job.end_at), job.layout.sequence_type)
    listed_columns = comma(f"{job.engine.null(type_name)} as {name}" for name, type_name in columns.items())
    return f"select\n    {listed_columns}\nwhere false"


def _builds_because(model: str, spec: AutoCdc, state: State, relations: Relations) -> str | None:
    """Return why the target is built from nothing, or None when it is there and goes on."""
    if state.full_refresh and spec.full_refresh is not False:
        return "rebuild the target (--full-refresh)"
    if state.target is None:
        return "build the target" if state.companion is None else "build the target again: it is gone"
    if state.companion is None or state.control is None:
        raise AutoCdcError(
            model,
            [
                f"{relations.target} exists without its companion {relations.companion}, so it was not made by"
                f" auto_cdc, or was copied without it; copy the companion along (dbt run-operation"
                f" auto_cdc.clone_companions --args '{{from_schema: <where it was copied from>}}'), take the table over"
                f" as it is (dbt run-operation auto_cdc.adopt --args '{{model: {model}}}'), or rebuild it with"
                f" --full-refresh"
            ],
        )
    stored = {column.name.lower() for column in state.target}
    bounds = {names.START_AT.lower(), names.END_AT.lower()}
    if state.control.scd_type == spec.stored_as_scd_type and spec.scd2 and not bounds <= stored:
        return f"build the target again: something else rebuilt it without {listed(sorted(bounds - stored))}"
    return None


def _without_target(state: State) -> State:
    return replace(state, target=None, companion=None, control=None, indexes=(), target_is_view=False)


def _definition(job: Job) -> Control:
    """Return what this run would record about the definition."""
    by_name = sorted((column.name.lower(), column.type) for column in job.layout.keys)
    return Control(
        scd_type=job.spec.stored_as_scd_type,
        keys=tuple(name for name, _ in by_name),
        key_types=tuple(type_name for _, type_name in by_name),
        sequence_type=job.layout.sequence_type,
        track_history=job.spec.track_history,
        truncates=job.truncates,
    )


def _mode(job: Job) -> ModuleType:
    return scd2 if job.spec.scd2 else scd1


def _apply(job: Job) -> tuple[Step, ...]:
    if job.spec.scd2:
        return (*scd2.timeline(job), scd2.measure(job), *scd2.apply(job))
    return scd1.apply(job)


# building


def _build(job: Job, before: State, definition: Control) -> tuple[Step, ...]:
    """Make companion and target of the events; where there is something already, aside, then swap."""
    target, companion = job.target, job.companion
    replaces = before.target is not None or before.companion is not None
    if replaces:
        target = job.relations.rebuilt_target
        companion = job.relations.rebuilt_companion
    cut = scd2.timeline(job) if job.spec.scd2 else ()
    rows = scd2.versions(job) if job.spec.scd2 else scd1.rows(job)
    return (
        *cut,
        *(Step(f"clear {what}", job.engine.drop_table(what)) for what in (companion, target) if replaces),
        Step("create the companion", job.engine.create_table(companion, _companion_rows(job, definition))),
        *_create_target(job, target, rows),
        *(_swap(job, before) if replaces else ()),
    )


def _create_target(job: Job, target: str, rows: Query) -> tuple[Step, ...]:
    contract = job.state.contract_sql
    if not contract:
        return (Step("create the target", job.engine.create_table(target, rows), counts="num_upserted_rows"),)
    columns = [*job.output, *((job.start_at, job.end_at) if job.spec.scd2 else ())]
    return (
        Step("create the target as its contract says", f"create table {target} {contract}"),
        Step("fill the target", job.engine.insert(target, columns, rows), counts="num_upserted_rows"),
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
    return tuple(steps)


def _companion_rows(job: Job, definition: Control) -> Query:
    """Return all rows of a new companion: the control record, the latest truncate, what the keys remember."""
    engine = job.engine
    remembered = scd2.hidden_columns(job) if job.spec.scd2 else [*job.keys, *changes.EVENT]
    types = {engine.quote(c.name): c.type for c in (*job.layout.keys, *job.layout.untracked)}
    types |= {names.SEQUENCE: job.layout.sequence_type, names.RUN_START: job.layout.sequence_type}
    values = [
        f"'control' as {column}" if column == names.KIND else f"{engine.null(types[column])} as {column}"
        for column in remembered
    ]
    parts = [f"select\n    {comma([*values, f'{text(definition.to_json())} as {names.CONTROL}'])}"]
    hidden = scd2.remembered(job) if job.spec.scd2 else scd1.remembered(job)
    parts.append(f"select hidden.*, null as {names.CONTROL} from (\n{hidden.render()}\n) as hidden")
    if job.truncates:
        parts.append(
            f"select latest.*, null as {names.CONTROL} from (\n{scd1.truncation(job).render()}\n) as latest"
        )
    return Query().then("rows", "\nunion all\n".join(parts))


# going on


def _table_of_view(job: Job) -> tuple[Step, ...]:
    """Turn a target that is a view of another table (a clone) into a table of its own."""
    if not job.state.target_is_view:
        return ()
    aside = job.relations.rebuilt_target
    everything = Query().then("rows", f"select * from {job.target}")
    return (
        Step("clear what an earlier run left", job.engine.drop_table(aside)),
        Step("copy the cloned rows", job.engine.create_table(aside, everything)),
        Step("drop the clone", job.engine.drop_view(job.target)),
        Step("put the copy in its place", job.engine.rename_table(aside, job.relations.identifier)),
    )


def _record(job: Job, definition: Control) -> tuple[Step, ...]:
    """Record the definition where it differs from what is recorded."""
    if definition == job.state.control:
        return ()
    sql = (
        f"update {job.companion} set {names.CONTROL} = {text(definition.to_json())}\n"
        f"where {names.KIND} = 'control'"
    )
    return (Step("record the definition", sql),)


def _expire(job: Job) -> tuple[Step, ...]:
    """Let tombstones go that lie further behind the greatest sequence than the retention."""
    distance: int | float | timedelta | None = job.spec.tombstone_retention
    if distance is None:
        return ()
    sequences = f"select {names.SEQUENCE} from {job.companion}"
    if job.spec.scd2:
        for bound in (job.start_at, job.end_at):
            sequences += f"\nunion all\nselect {bound} from {job.target}"
    query = (
        Query()
        .then("greatest", f"select max({names.SEQUENCE}) as sequence from (\n{sequences}\n) as sequences")
        .then(
            "expired",
            f"select cmp.{job.engine.locator} from {job.companion} as cmp cross join greatest\n"
            f"where cmp.{names.KIND} = 'delete'"
            f" and cmp.{names.SEQUENCE} < {job.engine.minus('greatest.sequence', distance)}",
        )
    )
    return (Step("let old tombstones go", job.engine.delete_located(job.companion, query)),)
