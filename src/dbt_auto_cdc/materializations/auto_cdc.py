"""`auto_cdc`: what one run of a model has to do, as a plan.

Not here: how events become rows (`scd`); nothing is sent from here.
"""

from __future__ import annotations

from datetime import timedelta

from dbt_auto_cdc import names
from dbt_auto_cdc.materializations import evolution, tables
from dbt_auto_cdc.materializations.tables import Table
from dbt_auto_cdc.plan import Plan, Step
from dbt_auto_cdc.scd import bitemporal, combined, expectations, scd1, scd1_partial, scd2, snapshot
from dbt_auto_cdc.scd.job import Job
from dbt_auto_cdc.spec import BITEMPORAL, SCD1, SCD2, FlowEvents
from dbt_auto_cdc.state import State


def plan(table: Table) -> Plan:
    """Return the plan of a run; raises `AutoCdcError` with everything that stands against it. Pure."""
    why = tables.builds_because(table)
    job = table.job(builds=why is not None)
    if isinstance(job.spec, FlowEvents) and job.spec.snapshot:
        steps, working = _beside_dumps(job, job.spec, table.state)
    else:
        by_mode = {SCD1: _scd1, SCD2: _scd2, BITEMPORAL: _bitemporal}[job.spec.stored_as_scd_type]
        steps, working = by_mode(job, table.state)
    return tables.finished(job, why or "apply the new events", steps, working, after=_expire(job))


def _scd1(job: Job, before: State) -> tuple[tuple[Step, ...], list[str]]:
    mode = scd1_partial if job.partial else scd1
    working = [names.STAGE, names.EVENTS, names.WINNERS, names.GONE, *([names.SUMS] if job.partial else [])]
    if not job.builds:
        return (*evolution.prepare(job), *mode.read(job), *mode.apply(job), *tables.record(job)), working
    remembers = [mode.remembered(job), *([mode.truncation(job)] if job.truncates else [])]
    return (*mode.read(job), *tables.build(job, before, mode.rows(job), remembers)), working


def _beside_dumps(job: Job, spec: FlowEvents, before: State) -> tuple[tuple[Step, ...], list[str]]:
    """Changes and whole dumps into one target of SCD type 1."""
    job, dump, limits = combined.jobs(job, spec)
    working = [names.STAGE, names.EVENTS, names.WINNERS, names.GONE]
    working += [names.DUMP + suffix for suffix in (names.STAGE, names.VERSIONS, names.EVENTS)]
    working += [names.DUMP + names.CHECKED] if dump.spec.expectations else []
    read = (*expectations.checked(dump), *combined.read(dump, limits), *scd1.read(job))
    if job.builds:
        remembers = [scd1.remembered(job), scd1.truncation(job), snapshot.last(dump), snapshot.applied(dump)]
        return (*read, *tables.build(job, before, combined.rows(job, dump), remembers)), working
    compared = (*combined.compared(job, dump), combined.judged(job, dump, limits))
    written = (*combined.apply(job, dump), *tables.record(job))
    return (*evolution.prepare(job), *read, *compared, *written), working


def _scd2(job: Job, before: State) -> tuple[tuple[Step, ...], list[str]]:
    working = [names.STAGE, names.EVENTS, names.STORED, names.LINE, names.TIMELINE]
    working += [names.GIVEN] if job.partial else []
    if not job.builds:
        applied = (*scd2.timeline(job), scd2.measure(job), *scd2.apply(job))
        return (*evolution.prepare(job), *scd2.read(job), *applied, *tables.record(job)), working
    built = tables.build(job, before, scd2.versions(job), [scd2.remembered(job)])
    return (*scd2.read(job), *scd2.timeline(job), *built), working


def _bitemporal(job: Job, before: State) -> tuple[tuple[Step, ...], list[str]]:
    working = [names.STAGE, names.EVENTS, names.TOUCHED, names.STORED, names.PARTS, names.LINE]
    working += [names.PLACED, names.EVENT_BLOCKS, names.ARRIVALS, names.TURNS, names.SIGHTS]
    working += [
        names.WALL_BLOCKS,
        names.WALL_NEIGHBOURS,
        names.TIMELINE,
        *([names.GIVEN] if job.sparse else []),
    ]
    read = bitemporal.read(job)
    if not job.builds:
        applied = (*bitemporal.rectangles(job), bitemporal.measure(job), *bitemporal.apply(job))
        return (*evolution.prepare(job), *read, *applied, *tables.record(job)), working
    built = tables.build(job, before, bitemporal.versions(job), [bitemporal.remembered(job)])
    return (*read, *bitemporal.rectangles(job), *built), working


def _expire(job: Job) -> tuple[Step, ...]:
    """Let tombstones go that lie further behind the greatest sequence than the retention.

    That may be done by a later run as well, so it is no part of what one that was stopped has left to do.
    """
    distance: int | float | timedelta | None = job.spec.tombstone_retention
    if distance is None:
        return ()
    sequences = f"select {names.SEQUENCE} from {job.companion}"
    if job.spec.scd2:
        for bound in (job.start_at, job.end_at):
            sequences += f"\nunion all\nselect {bound} from {job.target}"
    greatest = f"select {job.extreme('max', names.SEQUENCE)} as sequence from (\n{sequences}\n) as sequences"
    bound = job.engine.minus("greatest.sequence", distance)
    sql = job.engine.delete_below(
        job.companion,
        f"{names.KIND} = 'delete'",
        names.SEQUENCE,
        f"select {bound} as bound from (\n{greatest}\n) as greatest",
    )
    return (Step("let old tombstones go", sql),)
