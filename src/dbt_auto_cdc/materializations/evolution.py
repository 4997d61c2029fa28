"""Gives target and companion the columns that a run needs.

Not here: which changes there are (`resolve`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from dbt_auto_cdc import names
from dbt_auto_cdc.errors import AutoCdcError, listed
from dbt_auto_cdc.materializations import change_feed, tables
from dbt_auto_cdc.plan import Plan, Step
from dbt_auto_cdc.scd import bitemporal_partial, scd1_partial
from dbt_auto_cdc.scd.job import Job
from dbt_auto_cdc.sql import Query, comma


def prepare(job: Job) -> tuple[Step, ...]:
    """Return the steps before the feed is read; none where the columns stay.

    The companion comes first: a run that is stopped before the target has a new column finds it new once more. What is
    put into the companion for older events is read from the target as it is by then.
    """
    refuses = job.state.indexes and (job.layout.widened or job.layout.dropped)
    if not job.engine.transactions:
        _refuse_to_presume(job)
    beside = (*_companion(job), *_authorship(job))
    if beside and not job.engine.alters_tables:
        problem = (
            f"{job.companion} needs other columns than in the last run, and"
            f" {job.engine.with_tables} cannot alter it"
        )
        raise AutoCdcError(job.model, [f"{problem}; change the options back, or rebuild with --full-refresh"])
    return (*beside, *(_copied(job) if refuses else _altered(job)), *_presumed(job))


def only(job: Job) -> Plan:
    """Return the plan of a run that reads a part of the source: what it lacks would be taken for gone."""
    flag, warnings = job.state.partial, job.layout.warnings
    if flag != "--empty":
        warnings += (f"{flag} reads a part of the source only, so no row of the target was changed",)
    return Plan(
        model=job.model,
        action=f"leave the rows as they are ({flag} reads a part of the source)",
        steps=(*prepare(job), *change_feed.prepared(job), *tables.record(job)),
        appends=job.spec.appends,
        shape=tables.shape(job),
        warnings=warnings,
    )


def _altered(job: Job) -> Iterator[Step]:
    engine = job.engine
    for column in job.layout.added:
        sql = engine.add_column(job.target, engine.quote(column.name), column.type)
        yield Step(f"add column {column.name}", sql)
    for column in job.layout.widened:
        sql = engine.widen_column(job.target, engine.quote(column.name), column.type)
        yield Step(f"widen column {column.name} to {column.type}", sql)
    for column in job.layout.dropped:
        yield Step(f"drop column {column.name}", engine.drop_column(job.target, engine.quote(column.name)))


def _copied(job: Job) -> Iterator[Step]:
    """Copy the target into one with the new columns, because its engine alters no table that has indexes.

    To drop the indexes first is not enough: DuckDB remembers until the commit which columns had one.
    """
    engine, aside = job.engine, job.relations.rebuilt_target
    added = {column.name for column in job.layout.added}
    columns = {
        engine.quote(column.name): engine.null(column.type)
        if column.name in added
        else f"cast({engine.quote(column.name)} as {column.type})"
        for column in job.layout.output
    }
    columns |= {bound: bound for bound in (*job.bounds, *job.unseen)}
    values = comma(f"{value} as {name}" for name, value in columns.items())
    rows = Query().then("rows", f"select\n    {values}\nfrom {job.target}")
    yield Step("clear what an earlier run left", engine.drop_table(aside))
    if job.state.contract_sql:
        yield from tables.contracted(job, aside)
        yield Step("copy the rows into the new columns", engine.insert(aside, list(columns), rows))
    else:
        yield Step("copy the rows into the new columns", engine.create_table(aside, rows))
    yield Step("drop the old table with its indexes", engine.drop_table(job.target))
    yield Step("put the copy in its place", engine.rename_table(aside, job.relations.identifier))
    for index in job.state.indexes:
        yield Step(f"make index {index.name} again", index.create)


def _companion(job: Job) -> Iterator[Step]:
    engine = job.engine
    stored = {column.name.lower(): column for column in job.state.companion or ()}
    for column in job.remembered:
        quoted, there = engine.quote(column.name), stored.get(column.name.lower())
        if there is None:
            sql = engine.add_column(job.companion, quoted, column.type)
            yield Step(f"add column {column.name} to the companion", sql)
        elif there.type != column.type:
            sql = engine.widen_column(job.companion, quoted, column.type)
            yield Step(f"widen column {column.name} of the companion to {column.type}", sql)
    for dropped in job.layout.dropped:
        if dropped.name.lower() in stored:
            sql = engine.drop_column(job.companion, engine.quote(dropped.name))
            yield Step(f"drop column {dropped.name} of the companion", sql)


def _authorship(job: Job) -> Iterator[Step]:
    """Give the companion the columns that it has under partial updates, as the options are now."""
    engine, stored = job.engine, _stored(job)
    wanted = tables.authorship(job)
    if job.sparse:
        _refuse_other_parts(job, wanted)
    for name in stored:
        if (
            name.startswith(tuple(engine.quote(kept)[:-1] for kept in names.AUTHORSHIP))
            and name not in wanted
        ):
            yield Step(f"drop {name} of the companion", engine.drop_column(job.companion, name))
    for name, type_name in wanted.items():
        if name not in stored:
            yield Step(f"add {name} to the companion", engine.add_column(job.companion, name, type_name))


def _stored(job: Job) -> frozenset[str]:
    """Return the companion's columns as they were before this run, quoted."""
    return frozenset(job.engine.quote(column.name) for column in job.state.companion or ())


def _presumed(job: Job) -> Iterator[Step]:
    """Fill what was added to the companion for partial updates.

    What a row has was written by the key's last event, as far as anybody can tell: unless it is null.
    """
    if job.sparse:
        yield from _presumed_nulls(job)
    if job.spec.keeps_history or not job.partial:
        return
    stored, added = _stored(job), {column.name for column in job.layout.added}
    for name, part in scd1_partial.authors(job).items():
        if name not in stored and part.column.name not in added:
            last = scd1_partial.presumed_author(job, part)
            yield Step(
                f"take the last event of a row for the author of {part.column.name}",
                job.engine.set_located(job.companion, name, last),
            )


def _refuse_to_presume(job: Job) -> None:
    """Refuse what would have to be put in for older events where a run may be stopped before it is there."""
    stored = _stored(job)
    parts = bitemporal_partial.sent(job) if job.sparse else {}
    if job.partial and not job.spec.keeps_history:
        parts = scd1_partial.authors(job)
    added = {column.name for column in job.layout.added}
    new = [
        part.called for name, part in parts.items() if name not in stored and part.column.name not in added
    ]
    if new:
        problem = f"{listed(new)} may be left out of events now and could not in the last runs"
        instead = f"which {job.engine.name} cannot take up; change that back, or rebuild the target with --full-refresh"
        raise AutoCdcError(job.model, [f"{problem}, {instead}"])


def _refuse_other_parts(job: Job, wanted: Collection[str]) -> None:
    """Refuse to forget what older events of a bitemporal target left out of a column that is still there."""
    problems = []
    stored = {column.name for column in job.state.companion or ()}
    for column in job.remembered:
        own = names.of_part(names.SENT, column.name.replace(".", ".."), job.engine.identifier_limit)
        parts = {name for name in stored if name == own or name.startswith(f"{own}.")}
        if not parts <= {name[1:-1] for name in wanted}:
            problems.append(
                f"in struct column {column.name} nulls were ignored field by field in the last runs and are not now, or"
                f" the other way round; rebuild the target with --full-refresh, or change the option back"
            )
    if problems:
        raise AutoCdcError(job.model, problems)


def _presumed_nulls(job: Job) -> Iterator[Step]:
    """Remember that older events of a bitemporal target sent their nulls too, in what may be left out from now on.

    Only a column that was there when they came: in a new one, or a new field of a struct, they wrote nothing.
    """
    stored, added = _stored(job), {column.name for column in job.layout.added}
    sent = bitemporal_partial.sent(job)
    known = {part.column for name, part in sent.items() if name in stored}
    for name, part in sent.items():
        if name not in stored and part.column not in known and part.column.name not in added:
            presumed = bitemporal_partial.presumed(job, name, part)
            yield Step(
                f"remember which nulls were written in {part.called}",
                job.engine.set_located(job.companion, name, presumed),
            )
