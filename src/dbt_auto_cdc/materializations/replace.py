"""`replace_using` and `replace_where`: what one run has to do, as a plan.

Not here: how rows are compared (`scd.replace`); nothing is sent from here.
"""

from __future__ import annotations

from dbt_auto_cdc import names
from dbt_auto_cdc.errors import AutoCdcError
from dbt_auto_cdc.materializations import evolution, tables
from dbt_auto_cdc.materializations.tables import Table
from dbt_auto_cdc.plan import Plan
from dbt_auto_cdc.scd import changes, replace
from dbt_auto_cdc.scd.job import Job
from dbt_auto_cdc.spec import ReplaceUsing, ReplaceWhere

_WORKING = [names.STAGE, names.WINNERS, names.EVENTS]


def plan_using(table: Table) -> Plan:
    """Return the plan of a `replace_using` run; raises `AutoCdcError` with everything against it. Pure."""
    written = table.spec
    assert isinstance(written, ReplaceUsing)  # noqa: S101 - the bridge hands over what was parsed for this
    why = tables.builds_because(table)
    job = table.job(builds=why is not None)
    problems = _problems(job)
    if problems:
        raise AutoCdcError(table.model, problems)
    appends = written.equal_sequence == "append"
    read = (changes.stage(job), replace.standings(job), replace.checked(job))
    if job.builds:
        rows = replace.newest(job, which=f"won.{names.IS_NEW}")
        steps = (*read, *tables.build(job, table.state, rows, []))
    else:
        compared = replace.differences(job, appends=appends)
        replaced = replace.replace_keys(job, appends=appends)
        steps = (*evolution.prepare(job), *read, *compared, *replaced, *tables.record(job))
    return tables.finished(job, why or "replace the rows of the incoming keys", steps, _WORKING)


def plan_where(table: Table) -> Plan:
    """Return the plan of a `replace_where` run; raises `AutoCdcError` with everything against it. Pure."""
    written = table.spec
    assert isinstance(written, ReplaceWhere)  # noqa: S101 - the bridge hands over what was parsed for this
    why = tables.builds_because(table)
    job = table.job(builds=why is not None)
    predicate = written.replace_where
    read = (changes.stage(job), replace.read_count(job))
    if job.builds:
        steps = (*read, *tables.build(job, table.state, replace.in_range(job, predicate), []))
    else:
        compared = replace.range_differences(job, predicate)
        replaced = replace.replace_range(job, predicate)
        steps = (*evolution.prepare(job), *read, *compared, *replaced, *tables.record(job))
    return tables.finished(job, why or "replace the rows in the range", steps, _WORKING)


def _problems(job: Job) -> list[str]:
    problems = []
    if not job.layout.sequence:
        problems.append(
            f"sequence_by is {job.spec.sequence_by[0]!r}, which is no column; compute it in the model, and name the"
            f" column"
        )
    unequal = [column for column in job.layout.keys if not job.engine.is_orderable(column.type)]
    problems += [
        f"replace_using names {column.name}, of type {column.type}; keys have a type with an order: name another column"
        for column in unequal
    ]
    return problems
