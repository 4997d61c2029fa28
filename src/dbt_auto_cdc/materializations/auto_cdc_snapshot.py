"""`auto_cdc_snapshot`: what one run of a model whose rows are whole snapshots has to do, as a plan.

Not here: how snapshots are compared (`scd.snapshot`); nothing is sent from here.
"""

from __future__ import annotations

from dbt_auto_cdc import names
from dbt_auto_cdc.materializations import evolution, tables
from dbt_auto_cdc.materializations.tables import Table
from dbt_auto_cdc.plan import Plan, Step
from dbt_auto_cdc.resolve import is_constant
from dbt_auto_cdc.scd import check, scd1, scd2, snapshot
from dbt_auto_cdc.scd.job import Job
from dbt_auto_cdc.spec import AutoCdcSnapshot
from dbt_auto_cdc.sql import Query
from dbt_auto_cdc.state import State

_WORKING = [names.STAGE, names.VERSIONS]


def plan(table: Table) -> Plan:
    """Return the plan of a run; raises `AutoCdcError` with everything that stands against it. Pure."""
    written = table.spec
    assert isinstance(written, AutoCdcSnapshot)  # noqa: S101 - the bridge hands over what was parsed for this
    why = tables.builds_because(table)
    job = table.job(builds=why is not None)
    if job.reads_a_part:
        return evolution.only(job)
    if written.once and not job.builds and job.state.control and job.state.control.once:
        return Plan(
            job.model, "leave the rows as they are: the snapshot was read once", (), shape=tables.shape(job)
        )
    limits = snapshot.Limits(
        is_constant=_is_constant(written, job.state),
        is_asked=written.version_query is not None,
        rebuilds=why is not None and table.state.target is not None and not table.state.partial,
        allow_empty=written.allow_empty_snapshot,
        max_delete_ratio=written.max_delete_ratio,
    )
    read = (
        snapshot.stage(job),
        snapshot.versions(job, limits),
        snapshot.counted(job, limits),
        *snapshot.moving(job),
        *snapshot.measured(job, limits),
        *snapshot.differences(job, limits),
    )
    by_mode = _scd2 if job.spec.scd2 else _scd1
    steps, working = by_mode(job, table.state, read)
    return tables.finished(job, why or "apply the new snapshots", steps, [*_WORKING, *working])


def _is_constant(spec: AutoCdcSnapshot, state: State) -> bool:
    """Tell whether the version stands for a snapshot even where the model gives no rows."""
    if state.partial or state.waits:
        return False
    return spec.version_query is not None or is_constant(spec.snapshot_version, state.feed)


def _scd1(job: Job, before: State, read: tuple[Step, ...]) -> tuple[tuple[Step, ...], list[str]]:
    working = [names.WINNERS, names.GONE]
    if job.builds:
        return (*read, *tables.build(job, before, snapshot.rows(job), _remembers(job))), working
    written = (
        *scd1.gone_rows(job, (check.NEW,)),
        *scd1.write(job, snapshot.rows(job)),
        *snapshot.remember(job),
    )
    return (*evolution.prepare(job), *read, *written, *tables.record(job)), working


def _scd2(job: Job, before: State, read: tuple[Step, ...]) -> tuple[tuple[Step, ...], list[str]]:
    working = [names.MOVING, names.EVENTS, names.STORED, names.LINE, names.TIMELINE]
    if job.builds:
        built = tables.build(job, before, snapshot.built_rows(job), _remembers(job))
        return (*read, *scd2.timeline(job), *built), working
    written = (
        *snapshot.open_versions(job),
        *scd2.timeline(job),
        scd2.measure(job),
        *scd2.write(job),
        *snapshot.plain(job),
        *snapshot.remember(job),
    )
    return (*evolution.prepare(job), *read, *written, *tables.record(job)), working


def _remembers(job: Job) -> list[Query]:
    return [snapshot.last(job), snapshot.applied(job)]
