"""Taking a table over as a target: it stays as it is and gets the companion that a run would have left.

Not here: what the next run makes of it (`auto_cdc`); no row of the table is changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dbt_auto_cdc import names
from dbt_auto_cdc.errors import AutoCdcError
from dbt_auto_cdc.materializations import tables
from dbt_auto_cdc.materializations.clone import table_of_view
from dbt_auto_cdc.materializations.tables import Table
from dbt_auto_cdc.plan import Plan, Rule, Step
from dbt_auto_cdc.resolve import Columns, as_events, resolve
from dbt_auto_cdc.scd import changes, scd1_partial, snapshot
from dbt_auto_cdc.scd.job import Job, of
from dbt_auto_cdc.spec import (
    BITEMPORAL,
    AutoCdc,
    AutoCdcSnapshot,
    KeyedRows,
    ReplaceUsing,
    RowsInRange,
    SnapshotEvents,
    Spec,
)
from dbt_auto_cdc.sql import Query, comma

ROWS = "num_target_rows"
SEQUENCES = "num_sequences"


def plan(table: Table, *, holds_expression: bool) -> Plan:
    """Return the plan of an adoption; raises `AutoCdcError` with everything that stands against it. Pure.

    `holds_expression` says that sequence_by is an expression which the table's own columns can answer.
    """
    model, engine = table.model, table.engine
    refused = _refused(table)
    if refused:
        raise AutoCdcError(model, [refused])
    spec = as_events(table.spec, table.state.feed)
    layout = resolve(model, spec, table.state, engine)
    job = Job(model, spec, layout, replace(table.state, control=None), table.relations, engine, builds=False)
    job = tables.with_named_struct(job, replaces=False)
    problems = _missing_bounds(job) if spec.scd2 else _other_sequence_type(job)
    if problems:
        raise AutoCdcError(model, problems)
    remembers: list[Query] = []
    if isinstance(spec, KeyedRows | RowsInRange):
        check = Step("count the rows", f"select count(*) as {ROWS} from {job.target}", measures=True)
    else:
        sequence = None if spec.scd2 else _stored_sequence(job, holds_expression=holds_expression)
        check = _check_versions(job) if spec.scd2 else _check_rows(job, sequence)
        remembers = [_known_sequences(job, sequence)] if sequence else []
    if isinstance(spec, SnapshotEvents):
        remembers = [snapshot.last(job, _bounds_of(job))]
    rows = tables.companion_rows(job, remembers)
    companion = Step("create the companion", engine.create_table(job.companion, rows, is_overwritten=True))
    return Plan(
        model=model,
        action=f"take {job.target} over as it is",
        steps=(
            check,
            *(table_of_view(table.relations, engine) if table.state.target_is_view else ()),
            *tables.struct_type(job),
            companion,
            *tables.made_ready(job, job.companion),
        ),
        warnings=layout.warnings,
    )


def _refused(table: Table) -> str:
    state, relations = table.state, table.relations
    if table.spec.stored_as_scd_type == BITEMPORAL:
        return (
            "a bitemporal target cannot be taken over, because its companion remembers every event and a table does not"
            " tell them all; build it from the events with `dbt run --full-refresh`"
        )
    if as_events(table.spec, state.feed).appends or (state.reads and isinstance(table.spec, ReplaceUsing)):
        return (
            f"{relations.target} cannot be taken over, because nothing tells which rows of its sources it has, and the"
            f" next run would add them again; build it with `dbt run --full-refresh`"
        )
    if state.target is None:
        return f"{relations.target} does not exist, so there is nothing to take over; `dbt run` builds it"
    if state.companion is not None:
        return (
            f"{relations.target} has its companion {relations.companion} already, so auto_cdc keeps it and `dbt run`"
            f" goes on with it; drop the companion first if the table was replaced by another"
        )
    return ""


def told(spec: Spec, measures: Mapping[str, int]) -> str:
    """Return what an adoption left, in a sentence."""
    rows = measures[ROWS]
    if isinstance(spec, AutoCdcSnapshot):
        return f"its {rows} rows stay as they are; the next snapshot is compared with them"
    if not isinstance(spec, AutoCdc):
        return f"its {rows} rows stay as they are until a run replaces them"
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
                f"column {column.name} of {job.target} has type {column.type} and {job.spec.ORDER} has type {wanted};"
                f" change the column, or cast {job.spec.ORDER} in the model"
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
    sequence_type = job.layout.sequence_type
    sequence = changes.sequence_expression(job.spec.sequence_by, stored, job.engine, sequence_type)
    return job.engine.in_order(f"cast({sequence} as {sequence_type})", sequence_type)


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
        f"{{count}} key{{s}} {{has}} more than one row in {job.target}, for example {{example}}; an SCD type 1 target"
        f" has one row a key: delete the others",
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
    {_counted("overlaps", f"{end} > next_start_at")},
    case when count(*) = count({end}) then count(*) else 0 end as closed_versions,
    {as_text(f"max({end})")} as closed_versions_example
from versions as tgt""",
        )
    )
    found = f"{{count}} version{{s}} of {job.target}"
    rules = (
        Rule("without_start", f"{found} {{has}} no {names.START_AT}, for example {{example}}; fill it"),
        Rule(
            "empty_versions", f"{found} end{{v}} at the start or before, for example {{example}}; delete them"
        ),
        Rule(
            "open_versions",
            f"{found} {{has}} no end though a later one of the key starts, for example {{example}}; set"
            f" {names.END_AT} to that start",
        ),
        Rule(
            "overlaps",
            f"{found} end{{v}} after the next one of the key starts, for example {{example}}; set {names.END_AT} to"
            f" that start",
        ),
        Rule(
            "closed_versions",
            f"none of the {{count}} versions of {job.target} is open, the last end is {{example}}; where a date far"
            f" ahead stands for an open end, drop {job.companion}, set such ends to null, and adopt again",
            warns=True,
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
            f"key column {column.name} is null in {{count}} row{{s}} of {job.target}; give them a key, or delete them",
        )
        for number, column in enumerate(job.layout.keys)
    )


def _bounds_of(job: Job) -> str:
    """Return a SELECT of the versions that a table taken over knows: the next snapshot has to be above them."""
    if not job.spec.scd2:
        return f"select {job.engine.null(job.layout.sequence_type)} as {names.SEQUENCE}"
    bounds = (f"select {bound} as {names.SEQUENCE} from {job.target}" for bound in (job.start_at, job.end_at))
    return "\nunion all\n".join(bounds)


def _known_sequences(job: Job, sequence: str) -> Query:
    """Return what the rows themselves know of their sequence; a row without one is as if written by hand."""
    columns = [*of("src", job.keys), f"{sequence} as {names.SEQUENCE}", f"'upsert' as {names.KIND}"]
    if job.partial:
        columns.append(f"{job.engine.null(job.layout.sequence_type)} as {names.FLOOR}")
        columns += [
            f"case when {changes.stored_part(job, part, 'src')} is not null then {sequence} end as {author}"
            for author, part in scd1_partial.authors(job).items()
        ]
    held = f"select {', '.join(columns)}\nfrom {job.target} as src"
    return Query().then("held", held).then("known", f"select * from held where {names.SEQUENCE} is not null")
