"""Taking a table over as a target: it stays as it is and gets the companion that a run would have left.

Not here: what the next run makes of it (`auto_cdc`); no row of the table is changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from dbt_auto_cdc import names
from dbt_auto_cdc.engines.base import Engine
from dbt_auto_cdc.errors import AutoCdcError
from dbt_auto_cdc.materializations.auto_cdc import _definition, _table_of_view
from dbt_auto_cdc.plan import Plan, Rule, Step
from dbt_auto_cdc.resolve import Columns, resolve
from dbt_auto_cdc.scd import changes, scd2
from dbt_auto_cdc.scd.job import Job, of
from dbt_auto_cdc.spec import AutoCdc
from dbt_auto_cdc.sql import Query, comma, text
from dbt_auto_cdc.state import Relations, State

ROWS = "num_target_rows"
SEQUENCES = "num_sequences"


@dataclass(frozen=True)
class Table:
    """The table to take over: the model whose target it becomes, and what was observed of both."""

    model: str
    spec: AutoCdc
    state: State
    relations: Relations
    engine: Engine


def plan(table: Table, *, holds_expression: bool) -> Plan:
    """Return the plan of an adoption; raises `AutoCdcError` with everything that stands against it. Pure.

    `holds_expression` says that sequence_by is an expression which the table's own columns can answer.
    """
    model, spec, state, engine = table.model, table.spec, table.state, table.engine
    refused = _refused(state, table.relations)
    if refused:
        raise AutoCdcError(model, [refused])
    layout = resolve(model, spec, state, engine)
    job = Job(model, spec, layout, replace(state, control=None), table.relations, engine, builds=False)
    problems = _missing_bounds(job) if spec.scd2 else _other_sequence_type(job)
    if problems:
        raise AutoCdcError(model, problems)
    sequence = None if spec.scd2 else _stored_sequence(job, holds_expression=holds_expression)
    check = _check_versions(job) if spec.scd2 else _check_rows(job, sequence)
    companion = Step(
        "create the companion", engine.create_table(job.companion, _companion_rows(job, sequence))
    )
    return Plan(
        model=model,
        action=f"take {job.target} over as it is",
        steps=(check, *_table_of_view(job), companion),
        warnings=layout.warnings,
    )


def _refused(state: State, relations: Relations) -> str:
    if state.target is None:
        return f"{relations.target} does not exist, so there is nothing to take over; `dbt run` builds it"
    if state.companion is not None:
        return (
            f"{relations.target} has its companion {relations.companion} already, so auto_cdc keeps it and `dbt run`"
            f" goes on with it; drop the companion first if the table was replaced by another"
        )
    return ""


def told(spec: AutoCdc, measures: Mapping[str, int]) -> str:
    """Return what an adoption left, in a sentence."""
    rows = measures[ROWS]
    if spec.scd2:
        return f"its {rows} versions stay as they are; late events will be put between them"
    if measures.get(SEQUENCES):
        return f"the sequences of {measures[SEQUENCES]} of its {rows} rows are remembered"
    return f"its {rows} rows are older than any event, because they do not hold sequence_by"


def _missing_bounds(job: Job) -> list[str]:
    """SCD type 2: the bounds have to be there, in the type of the sequence."""
    stored = Columns(job.state.target or ())
    wanted = job.layout.sequence_type
    problems = []
    for name in (names.START_AT, names.END_AT):
        column = stored.find(name)
        if column is None:
            problems.append(
                f"{job.target} has no column {name}, which says from when to when a version holds; add it with type"
                f" {wanted} and fill it (of an open version {names.END_AT} is null), or rebuild with --full-refresh"
            )
        elif column.type != wanted:
            problems.append(
                f"column {column.name} of {job.target} has type {column.type} and sequence_by has type {wanted};"
                f" change the column, or cast sequence_by in the model"
            )
    return problems


def _stored_parts(job: Job) -> list[tuple[str, str]] | None:
    """SCD type 1: the sequence's columns as (feed, target), or None where the target does not hold all of them."""
    by_source = {column.source: column.name for column in job.layout.output}
    held = Columns(job.state.target or ())
    parts = [(part, by_source[part]) for part in job.layout.sequence if part in by_source]
    complete = len(parts) == len(job.layout.sequence) and all(held.find(stored) for _, stored in parts)
    return parts if parts and complete else None


def _other_sequence_type(job: Job) -> list[str]:
    """SCD type 1: a sequence that is remembered has to be of the type that events bring."""
    feed, stored = Columns(job.state.feed), Columns(job.state.target or ())
    problems = []
    for source, name in _stored_parts(job) or ():
        brought, kept = feed.find(source), stored.find(name)
        if brought and kept and brought.type != kept.type:
            problems.append(
                f"sequence column {name} of {job.target} has type {kept.type} and the model's has type"
                f" {brought.type}; change the table's column, or cast the model's"
            )
    return problems


def _stored_sequence(job: Job, *, holds_expression: bool) -> str | None:
    """SCD type 1: the sequence over the target's rows, called src, as events bring it; None where they lack it."""
    parts = _stored_parts(job)
    if parts is None and not (holds_expression and not job.layout.sequence):
        return None
    stored = tuple(name for _, name in parts or ())
    return f"cast({changes.sequence_expression(job.spec, stored, job.engine)} as {job.layout.sequence_type})"


def _check_rows(job: Job, sequence: str | None) -> Step:
    """Measure the rows of an SCD type 1 target and refuse what no target may hold."""
    keys = ", ".join(job.keys)
    remembered = f"count({sequence})" if sequence else "0"
    query = (
        Query()
        .then(
            "repeated",
            f"select {keys}, count(*) as copies from {job.target} group by {keys} having count(*) > 1",
        )
        .then(
            "checked",
            f"""
select
    {comma([f"count(*) as {ROWS}", f"{remembered} as {SEQUENCES}", *_null_keys(job, "src")])},
    (select count(*) from repeated) as repeated_keys,
    (select min({job.key_text("repeated")}) from repeated) as repeated_keys_example
from {job.target} as src""",
        )
    )
    rule = Rule(
        "repeated_keys",
        f"{{count}} keys have more than one row in {job.target}, for example {{example}}; an SCD type 1 target has one"
        f" row a key: delete the others",
    )
    return Step("check the table", query.render(), measures=True, rules=(*_key_rules(job), rule))


def _check_versions(job: Job) -> Step:
    """Measure the versions of an SCD type 2 target and refuse bounds that no run could have written."""
    start, end, keys = f"tgt.{job.start_at}", f"tgt.{job.end_at}", ", ".join(of("tgt", job.keys))
    as_text = job.engine.as_text
    bounds = (f"coalesce({as_text(bound)}, 'null')" for bound in (start, end))
    shown = " || ".join([job.key_text("tgt"), "' from '", next(bounds), "' to '", next(bounds)])
    query = (
        Query()
        .then(
            "versions",
            f"""
select
    tgt.*,
    {shown} as example,
    lead({start}) over (partition by {keys} order by {start}) as next_start_at
from {job.target} as tgt""",
        )
        .then(
            "checked",
            f"""
select
    {comma([f"count(*) as {ROWS}", *_null_keys(job, "tgt")])},
    {_counted("without_start", f"{start} is null")},
    {_counted("empty_versions", f"{end} <= {start}")},
    {_counted("open_versions", f"{end} is null and next_start_at is not null")},
    {_counted("overlaps", f"{end} > next_start_at")}
from versions as tgt""",
        )
    )
    found = f"{{count}} versions of {job.target}"
    rules = (
        Rule("without_start", f"{found} have no {names.START_AT}, for example {{example}}; fill it"),
        Rule(
            "empty_versions", f"{found} end where they start or before, for example {{example}}; delete them"
        ),
        Rule(
            "open_versions",
            f"{found} have no end though a later one of their key starts, for example {{example}}; set"
            f" {names.END_AT} to that start",
        ),
        Rule(
            "overlaps",
            f"{found} end after the next one of their key starts, for example {{example}}; set {names.END_AT} to"
            f" that start",
        ),
    )
    return Step("check the table", query.render(), measures=True, rules=(*_key_rules(job), *rules))


def _counted(name: str, condition: str) -> str:
    return (
        f"count(case when {condition} then 1 end) as {name},\n"
        f"    min(case when {condition} then tgt.example end) as {name}_example"
    )


def _null_keys(job: Job, alias: str) -> list[str]:
    return [
        f"count(case when {alias}.{key} is null then 1 end) as null_key_{number}"
        for number, key in enumerate(job.keys)
    ]


def _key_rules(job: Job) -> tuple[Rule, ...]:
    return tuple(
        Rule(
            f"null_key_{number}",
            f"key column {column.name} is null in {{count}} rows of {job.target}; give them a key, or delete them",
        )
        for number, column in enumerate(job.layout.keys)
    )


def _companion_rows(job: Job, sequence: str | None) -> Query:
    """Return the control record and, where there is a sequence, what the rows themselves know of their sequence.

    Rows without it are not remembered: they are older than any event, as if written by hand.
    """
    columns = scd2.hidden_columns(job) if job.spec.scd2 else [*job.keys, *changes.EVENT]
    types = {job.engine.quote(c.name): c.type for c in (*job.layout.keys, *job.layout.untracked)}
    types |= dict.fromkeys((names.SEQUENCE, names.RUN_START), job.layout.sequence_type)
    record = [
        f"'control' as {column}" if column == names.KIND else f"{job.engine.null(types[column])} as {column}"
        for column in columns
    ]
    parts = [f"select\n    {comma([*record, f'{text(_definition(job).to_json())} as {names.CONTROL}'])}"]
    if sequence:
        remembered = f"{sequence} as {names.SEQUENCE}, 'upsert' as {names.KIND}, null as {names.CONTROL}"
        parts.append(
            f"select * from (\n    select {', '.join(of('src', job.keys))}, {remembered}\n"
            f"    from {job.target} as src\n) as rows where {names.SEQUENCE} is not null"
        )
    return Query().then("rows", "\nunion all\n".join(parts))
