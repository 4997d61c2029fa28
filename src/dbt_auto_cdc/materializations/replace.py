"""`replace_using`, `replace_where` and `recomputed_table`: what one run has to do, as a plan.

Not here: how rows are compared (`scd.replace`); nothing is sent from here.
"""

from __future__ import annotations

from dbt_auto_cdc import names
from dbt_auto_cdc.errors import AutoCdcError
from dbt_auto_cdc.materializations import evolution, tables
from dbt_auto_cdc.materializations.tables import Table
from dbt_auto_cdc.plan import Plan
from dbt_auto_cdc.resolve import named_in
from dbt_auto_cdc.scd import changes, replace
from dbt_auto_cdc.scd.job import Job
from dbt_auto_cdc.spec import RecomputedRows, ReplaceUsing, RowsInRange

_USING = [names.STAGE, names.STORED, names.WINNERS, names.EVENTS]
_WHERE = [names.STAGE, names.GONE, names.EVENTS]


def plan_using(table: Table) -> Plan:
    """Return the plan of a `replace_using` run; raises `AutoCdcError` with everything against it. Pure."""
    written = table.spec
    assert isinstance(written, ReplaceUsing)  # noqa: S101 - the bridge hands over what was parsed for this
    why = tables.builds_because(table)
    job = table.job(builds=why is not None)
    _refuse(job, _unfit_columns(job))
    if job.reads_a_part:
        return evolution.only(job)
    # Of what is read step by step, no later run brings the rows of a key again.
    is_told = written.equal_sequence == "append"
    appends = is_told or bool(job.state.reads)
    # What is not read step by step comes again after a stop, and would be added to itself.
    goes_back = is_told and not job.state.reads and not job.engine.transactions
    read = (changes.stage(job), *replace.standings(job), replace.checked(job))
    if job.builds:
        rows = replace.newest(job, which=f"won.{names.IS_NEW}")
        steps = (*read, *tables.build(job, table.state, rows, []))
    else:
        equal = replace.replace_equal(job, appends=appends, goes_back=goes_back)
        replaced = (*equal, *replace.replace_newer(job, goes_back=goes_back))
        steps = (*evolution.prepare(job), *read, *replaced, *tables.record(job))
    return tables.finished(job, why or "replace the rows of the incoming keys", steps, _USING)


def plan_where(table: Table) -> Plan:
    """Return the plan of a `replace_where` or `recomputed_table` run; raises as `plan_using` does. Pure."""
    why = tables.builds_because(table)
    job = table.job(builds=why is not None)
    assert isinstance(job.spec, RowsInRange)  # noqa: S101 - the bridge hands over what was parsed for this
    predicate = job.spec.replace_where
    _refuse(job, [*_unknown_to_the_target(job, predicate), *_not_told_apart(job)])
    if job.reads_a_part:
        return evolution.only(job)
    read = (replace.stage_range(job, predicate), replace.read_count(job))
    if job.builds:
        steps = (*read, *tables.build(job, table.state, replace.in_range(job), []))
    else:
        compared = (replace.gone_range(job, predicate), *replace.range_differences(job))
        steps = (
            *evolution.prepare(job),
            *read,
            *compared,
            *replace.replace_range(job),
            *tables.record(job),
        )
    action = (
        "replace the rows in the range"
        if not isinstance(job.spec, RecomputedRows)
        else "replace the rows that differ"
    )
    return tables.finished(job, why or action, steps, _WHERE)


def _refuse(job: Job, problems: list[str]) -> None:
    if problems:
        raise AutoCdcError(job.model, problems)


def _unfit_columns(job: Job) -> list[str]:
    """What stands against the columns that `replace_using` names."""
    written, sequence = job.spec.sequence_by[0], job.layout.sequence
    problems = [
        f"replace_using names {column.name}, of type {column.type}, which has no order; name a column of another type"
        for column in job.layout.keys
        if not job.engine.has_groups(column.type)
    ]
    if not sequence:
        problems.append(
            f"sequence_by is {written!r}, which is no column; compute it in the model, and name the column"
        )
    elif sequence[0] not in {column.source for column in job.layout.output}:
        problems.append(
            f"sequence_by names {written}, which the target does not have and on_schema_change ignore keeps out; set"
            f" it to append_new_columns, or rebuild the target with --full-refresh"
        )
    return problems


def _not_told_apart(job: Job) -> list[str]:
    """What stands against the columns by which a row is found again, where rows have no places."""
    if job.engine.transactions:
        return []
    return [
        f"column {column.name} is of type {column.type}, by which {job.engine.name} cannot tell one row from another;"
        f" leave it out in the model, or select its parts"
        for column in job.layout.output
        if not job.engine.has_equality(column.type)
    ]


def _unknown_to_the_target(job: Job, predicate: str) -> list[str]:
    """What stands against the columns that `replace_where` names."""
    known = {column.source for column in job.layout.output}
    unknown = [column.name for column in named_in(predicate, job.state.feed) if column.name not in known]
    return [
        f"replace_where names {name}, which the target does not have and on_schema_change ignore keeps out;"
        f" set it to append_new_columns, or rebuild the target with --full-refresh"
        for name in unknown
    ]
