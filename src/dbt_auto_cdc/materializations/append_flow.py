"""`append_flow`: what one run has to do in which rows are only added, as a plan.

Not here: which rows are new (`reads`); nothing is sent from here.
"""

from __future__ import annotations

from dbt_auto_cdc import names
from dbt_auto_cdc.materializations import evolution, tables
from dbt_auto_cdc.materializations.tables import Table
from dbt_auto_cdc.plan import Plan, Step
from dbt_auto_cdc.scd import changes, writes
from dbt_auto_cdc.scd.job import Job
from dbt_auto_cdc.sql import Query


def plan(table: Table) -> Plan:
    """Return the plan of a run; raises `AutoCdcError` with everything that stands against it. Pure."""
    why = tables.builds_because(table)
    job = table.job(builds=why is not None)
    if job.reads_a_part:
        return evolution.only(job)
    if job.builds:
        built = tables.build(job, table.state, _rows(job), [], notes={"run": str(_number(job))})
        steps = (*built, *_ready(job))
    else:
        added = writes.insert(job, "append the rows", _rows(job), only_if=(), counts=job.spec.COUNTS)
        steps = (*evolution.prepare(job), added, *tables.record(job), _next_number(job))
    return tables.finished(job, why or "append the new rows", steps, [])


def _number(job: Job) -> int:
    """The number of this run: they grow, also where a target is built anew, so that readers can tell old from new."""
    return job.state.last_run + 1


def _rows(job: Job) -> Query:
    """Return the model's rows, with the number of the run."""
    query = changes.evaluated(job)
    number = f"cast({_number(job)} as {job.unseen[names.RUN]}) as {names.RUN}"
    rows = f"select {', '.join([*job.output, number])}\nfrom {query.last}"
    return query.then("appended", rows)


def _ready(job: Job) -> tuple[Step, ...]:
    sql = job.engine.ready_to_stream(job.target, names.RUN)
    return (Step("make the target quick to stream", sql),) if sql else ()


def _next_number(job: Job) -> Step:
    sql = f"update {job.companion} set {names.CONTROL} = '{_number(job)}' where {names.KIND} = 'run'"
    told = ("run", str(_number(job)))
    return Step("remember the number of the run", sql, (job.spec.COUNTS,), settles=True, told=told)
