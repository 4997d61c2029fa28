"""The quarantine: rows that expectations dropped, each once, in a table beside the target.

Not here: which rows are dropped (`scd.expectations`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dbt_auto_cdc import names
from dbt_auto_cdc.errors import AutoCdcError
from dbt_auto_cdc.plan import Step
from dbt_auto_cdc.resolve import Output
from dbt_auto_cdc.scd.expectations import DROPPED
from dbt_auto_cdc.scd.job import Job
from dbt_auto_cdc.spec import FlowEvents
from dbt_auto_cdc.sql import Query, all_of, comma
from dbt_auto_cdc.state import Column


def kept(job: Job) -> tuple[Step, ...]:
    """Keep the rows that were dropped and are not kept yet; a target that is built starts over with those it read.

    In: the checked rows. Out: one row for each that differs from the others in a column of the source.
    """
    if not job.spec.expectations_quarantine:
        return ()
    there, table = job.state.quarantine, job.relations.quarantine
    stored = {column.name.lower(): column for column in there or ()}
    _refuse(job, stored)
    if there is None or job.builds:
        return _created(job, _columns(job, {}))
    columns = _columns(job, stored)
    insert = job.engine.insert(table, list(_types(job, columns, stored)), _rows(job, columns, stored))
    return (*_altered(job, columns, stored), Step("keep the rows that were dropped", insert, (DROPPED,)))


def _created(job: Job, columns: Sequence[Output]) -> tuple[Step, ...]:
    engine, table, rows = job.engine, job.relations.quarantine, _rows(job, columns, {})
    if engine.transactions:
        dropped = Step("drop the old quarantine", engine.drop_table(table))
        made = Step("create the quarantine", engine.create_table(table, rows))
        return (made,) if job.state.quarantine is None else (dropped, made)
    types = _types(job, columns, {})
    return (
        Step("create the quarantine", engine.define(table, types)),
        Step("keep the rows that were dropped", engine.insert(table, list(types), rows), (DROPPED,)),
    )


def _types(job: Job, columns: Sequence[Output], stored: Mapping[str, Column]) -> dict[str, str]:
    """Return the quarantine's columns, quoted, with their types: as stored, those that are new last."""
    text, moment = job.engine.text_type, job.engine.moment_type
    every = {name: (column.name, column.type) for name, column in stored.items()}
    every |= {column.name.lower(): (column.name, column.type) for column in columns}
    if not stored:
        own = zip(names.QUARANTINE_COLUMNS, (text, text, moment), strict=True)
        every |= {name: (name, kind) for name, kind in own}
    return {job.engine.quote(name): kind for name, kind in every.values()}


def _source(job: Job) -> dict[str, Column]:
    """The columns that the model selects, each with its name and type, by its name in the checked rows."""
    found = {column.name: column for column in job.state.feed}
    source = {name: column for name, column in found.items() if not names.is_reserved(name)}
    beside = job.spec.beside if isinstance(job.spec, FlowEvents) else ()
    of_flows = {names.beside_column(number): name for number, name in enumerate(beside)}
    return source | {mark: Column(name, found[mark].type) for mark, name in of_flows.items() if mark in found}


def _columns(job: Job, stored: Mapping[str, Column]) -> list[Output]:
    """Return the source's columns as the quarantine has them from now on."""
    columns = []
    for checked, column in _source(job).items():
        old = stored.get(column.name.lower(), column)
        is_kept = job.engine.widens(column.type, old.type)
        columns.append(Output(old.name, old.type if is_kept else column.type, checked))
    return columns


def _refuse(job: Job, stored: Mapping[str, Column]) -> None:
    """Refuse a table of somebody else's, and columns that cannot be kept."""
    table, widens = job.relations.quarantine, job.engine.widens
    problems = [
        f"column {column.name} has the name of a column of the quarantine {table}; rename it in the model"
        for column in _source(job).values()
        if column.name.lower() in names.QUARANTINE_COLUMNS
    ]
    if stored and not set(names.QUARANTINE_COLUMNS) <= stored.keys():
        problems.append(
            f"{table} was not made by auto_cdc, which keeps there the rows that expectations drop; rename that table,"
            f" or give the model another alias"
        )
    problems += [
        f"column {column.name} was {old.type} and is now {column.type}, which not every row in {table} survives; cast"
        f" it in the model, or drop that table, and the next run begins a new one"
        for column in _source(job).values()
        if (old := stored.get(column.name.lower()))
        and column.name.lower() not in names.QUARANTINE_COLUMNS
        and not (job.builds or widens(column.type, old.type) or widens(old.type, column.type))
    ]
    if problems:
        raise AutoCdcError(job.model, problems)


def _altered(job: Job, columns: Sequence[Output], stored: Mapping[str, Column]) -> Iterator[Step]:
    engine, table = job.engine, job.relations.quarantine
    for column in columns:
        old, quoted = stored.get(column.name.lower()), engine.quote(column.name)
        if old is None:
            sql = engine.add_column(table, quoted, column.type)
            yield Step(f"add column {column.name} to the quarantine", sql)
        elif old.type != column.type:
            sql = engine.widen_column(table, quoted, column.type)
            yield Step(f"widen column {column.name} of the quarantine to {column.type}", sql)


def _rows(job: Job, columns: Sequence[Output], stored: Mapping[str, Column]) -> Query:
    """Return the rows that were dropped, each once; where the quarantine is there, those that it lacks."""
    engine, source = job.engine, _source(job)
    quoted = job.quoted(columns)
    values = []
    for name, column in zip(quoted, columns, strict=True):
        checked = column.source or column.name
        value, is_same = f"chk.{engine.quote(checked)}", source[checked].type == column.type
        values.append(f"{value if is_same else f'cast({value} as {column.type})'} as {name}")
    values.append(f"{_failed(job)} as {names.FAILED_EXPECTATIONS}")
    query = Query().then(
        "dropped_rows",
        f"select\n    {comma(values)}\nfrom {job.working(names.CHECKED)} as chk\nwhere chk.{names.DROPPED}",
    )
    these, those = (
        [engine.comparable(f"{side}.{name}", c.type) for name, c in zip(quoted, columns, strict=True)]
        for side in ("src", "kept")
    )
    known = ""
    if stored:
        pairs = zip(these, those, columns, strict=True)
        alike = all_of(engine.is_same(one, other, type_name=c.type) for one, other, c in pairs)
        known = f"\nwhere not exists (select 1 from {job.relations.quarantine} as kept where {alike})"
    place = f"row_number() over (partition by {', '.join(these)} order by src.{names.FAILED_EXPECTATIONS})"
    query = query.then("placed", f"select src.*, {place} as {names.PLACE}\nfrom dropped_rows as src{known}")
    run = f"cast({engine.text(job.state.run_id)} as {engine.text_type})"
    failed = names.FAILED_EXPECTATIONS
    own = {failed: failed, names.RUN_ID: run, names.QUARANTINED_AT: engine.utc_now()}
    given = {name: name for name in quoted}
    given |= {engine.quote(name): f"{value} as {name}" for name, value in own.items()}
    kept = [
        given.get(name, f"{engine.null(kind)} as {name}")
        for name, kind in _types(job, columns, stored).items()
    ]
    return query.then("kept_rows", f"select\n    {comma(kept)}\nfrom placed\nwhere {names.PLACE} = 1")


def _failed(job: Job) -> str:
    """The names of the expectations that a row failed, of whatever option, behind each other."""
    said = [
        f"case when not chk.{names.PASSES}{one.number} then {job.engine.text(f', {one.name}')} else '' end"
        for one in job.spec.expectations
    ]
    return f"substr({' || '.join(said)}, 3)"
