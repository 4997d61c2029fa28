"""From the model's SELECT to new events: staged, told from known ones, checked, one per key and sequence.

Not here: what the events do to the target; `scd1` and `scd2` do that.
"""

from __future__ import annotations

from dataclasses import dataclass

from dbt_auto_cdc import names
from dbt_auto_cdc.engines.base import Engine
from dbt_auto_cdc.plan import Rule, Step
from dbt_auto_cdc.resolve import Output
from dbt_auto_cdc.scd.job import Job, of
from dbt_auto_cdc.spec import AutoCdc
from dbt_auto_cdc.sql import Query, any_of, comma, indented

EVENT = (names.SEQUENCE, names.KIND)

# What the check of the events measures.
NEW = "num_new_events"
REPEATED = "num_repeated_events"
TRUNCATED = "num_new_truncates"


@dataclass(frozen=True)
class Known:
    """How a mode tells known events while staging, where one narrow join does it.

    `join` follows the evaluated feed, called src; `is_new` says whether an event has to be applied and `is_late`
    whether it lies below its key's greatest sequence.
    """

    join: str
    is_new: str
    is_late: str


def stage(job: Job, known: Known | None = None) -> Step:
    """Evaluate the user's SQL, once.

    In: the model's rows. Out: one row per row of the model, with the output columns in the target's types, the
    sequence and the kind. No row is dropped; where known events are told here, they keep no values but their keys,
    so that a feed that is read again costs a narrow table.
    """
    sequence = sequence_expression(job.spec, job.layout.sequence, job.engine)
    columns = [f"{value} as {name}" for name, value in zip(job.output, _values(job), strict=True)]
    columns += [f"{sequence} as {names.SEQUENCE}", f"{_kind(job)} as {names.KIND}"]
    source = f"from (\n{indented(job.state.model_sql)}\n) as src"
    query = Query().then("evaluated", f"select\n    {comma(columns)}\n{source}")
    if known:
        marks = f"{known.is_new} as {names.IS_NEW}, {known.is_late} as {names.IS_LATE}"
        kept = [
            name if name in job.keys else f"case when {names.IS_NEW} then {name} end as {name}" for name in job.output
        ]
        query = query.then("told", f"select src.*, {marks}\nfrom evaluated as src\n{known.join}").then(
            "stage", f"select\n    {comma([*kept, *EVENT, names.IS_NEW, names.IS_LATE])}\nfrom told"
        )
    return Step("stage the model's rows", job.engine.create_working(job.working(names.STAGE), query))


def _values(job: Job) -> list[str]:
    """Return each output column's expression over the feed."""
    types = {column.name: column.type for column in job.state.feed}
    return [_value(job, column, types) for column in job.layout.output]


def _value(job: Job, column: Output, types: dict[str, str]) -> str:
    if column.source is None:
        return job.engine.null(column.type)
    source = f"src.{job.engine.quote(column.source)}"
    return source if types[column.source] == column.type else f"cast({source} as {column.type})"


def sequence_expression(spec: AutoCdc, parts: tuple[str, ...], engine: Engine) -> str:
    """Return the sequence over the feed's rows; null as soon as one part of a composite is null.

    `parts` are the feed's columns that make it up; empty for a SQL expression.
    """
    if not parts:
        return f"(\n{indented(spec.sequence_by[0])}\n)"
    quoted = {part: f"src.{engine.quote(part)}" for part in parts}
    if len(parts) == 1:
        return quoted[parts[0]]
    missing = any_of(f"{column} is null" for column in quoted.values())
    return f"case when {missing} then null else {engine.composite(quoted)} end"


def _kind(job: Job) -> str:
    branches = [
        f"when (\n{indented(condition)}\n) then '{kind}'"
        for kind, condition in (
            ("truncate", job.spec.apply_as_truncates),
            ("delete", job.spec.apply_as_deletes),
        )
        if condition
    ]
    return f"case {' '.join(branches)} else 'upsert' end" if branches else "'upsert'"


def events(job: Job, query: Query) -> Step:
    """Keep the new events.

    In: a query that gives the stage's rows that are not known. Out: the same grain; rows without key or sequence
    are kept, so that the check can refuse them.
    """
    return Step("keep the events that are new", job.engine.create_working(job.events, query))


def check(job: Job, late: str) -> Step:
    """Measure the events and refuse what must not be applied.

    In: stage and events; `late` is a SELECT of one number. Out: one row of measures.
    """
    stg, new = job.working(names.STAGE), job.events
    nulls = [f"count(case when evt.{names.SEQUENCE} is null then 1 end) as null_sequence"]
    nulls.append(
        f"min(case when evt.{names.SEQUENCE} is null then {job.key_text('evt')} end) as null_sequence_example"
    )
    for number, key in enumerate(job.keys):
        missing = f"evt.{key} is null and evt.{names.KIND} <> 'truncate'"
        shown = job.engine.as_text(f"evt.{names.SEQUENCE}")
        nulls.append(f"count(case when {missing} then 1 end) as null_key_{number}")
        nulls.append(f"min(case when {missing} then {shown} end) as null_key_{number}_example")
    query = (
        Query()
        .then("found", f"select\n    count(*) as {NEW},\n    {comma(nulls)}\nfrom {new} as evt")
        .then("repeated", _repeated(job, new))
        .then("variants", _variants(job, new))
        .then("tied", _tied(job, new))
        .then(
            "checked",
            f"""
select
    (select count(*) from {stg}) as num_read_rows,
    ({late}) as num_late_rows,
    {_truncated(job)} as {TRUNCATED},
    (select coalesce(sum(copies), 0) from repeated) as {REPEATED},
    (select coalesce(sum(copies), 0) from repeated) - (select count(*) from variants) as num_duplicate_rows,
    (select count(*) from tied) as num_tied_rows,
    (select count(*) from tied) as tied_keys,
    (select min({job.key_text("tied")} || ' at ' || {job.engine.as_text(f"tied.{names.SEQUENCE}")}) from tied)
        as tied_keys_example,
    found.*
from found""",
        )
    )
    return Step("check the events", query.render(), measures=True, rules=_rules(job))


def _truncated(job: Job) -> str:
    """Count the truncates that no earlier run applied."""
    if not job.truncates:
        return "0"
    known = (
        ""
        if job.builds
        else (
            f" and not exists (select 1 from {job.companion} as cmp"
            f" where cmp.{names.KIND} = 'truncate' and cmp.{names.SEQUENCE} >= stg.{names.SEQUENCE})"
        )
    )
    return (
        f"(select count(*) from {job.working(names.STAGE)} as stg where stg.{names.KIND} = 'truncate'{known})"
    )


def _repeated(job: Job, new: str) -> str:
    group = ", ".join([*job.keys, names.SEQUENCE])
    return (
        f"select {group}, count(*) as copies from {new}\n"
        f"where {names.KIND} <> 'truncate' group by {group} having count(*) > 1"
    )


def _variants(job: Job, new: str) -> str:
    """One row per way in which the events of a key at one sequence differ; a delete's payload is not written."""
    written = [
        f"case when evt.{names.KIND} = 'upsert' then "
        f"{job.engine.comparable(f'evt.{job.engine.quote(column.name)}', column.type)} end as written_{number}"
        for number, column in enumerate(job.layout.output)
        if column not in job.layout.keys
    ]
    columns = [*of("evt", [*job.keys, *EVENT]), *written]
    return (
        f"select distinct\n    {comma(columns)}\nfrom {new} as evt\n"
        f"join repeated on {job.same_key('evt', 'repeated')} and evt.{names.SEQUENCE} = repeated.{names.SEQUENCE}"
    )


def _tied(job: Job, new: str) -> str:
    """One row per key and sequence with events that differ; for SCD type 1 only where they decide the row."""
    group = ", ".join(of("variants", [*job.keys, names.SEQUENCE]))
    tied = f"select {group} from variants group by {group} having count(*) > 1"
    if job.spec.scd2:
        return tied
    keys = ", ".join(job.keys)
    return f"""
select tied.* from (
    {tied}
) as tied
join (select {keys}, max({names.SEQUENCE}) as latest from {new} where {names.KIND} <> 'truncate' group by {keys}) as top
    on {job.same_key("tied", "top")} and tied.{names.SEQUENCE} = top.latest"""


def _rules(job: Job) -> tuple[Rule, ...]:
    sequence = ", ".join(job.spec.sequence_by)
    rules = [
        Rule(
            "null_sequence",
            f"sequence_by {sequence} is null in {{count}} of the new rows, for example {{example}}; a null has no"
            f" place in the order: filter such rows out in the model, or compute a value",
        )
    ]
    for number, column in enumerate(job.layout.keys):
        rules.append(
            Rule(
                f"null_key_{number}",
                f"key column {column.name} is null in {{count}} of the new rows, for example at {sequence}"
                f" {{example}}; filter such rows out in the model, or give them a key",
            )
        )
    if job.spec.sequence_ties != "allow":
        rules.append(
            Rule(
                "tied_keys",
                f"{{count}} keys have different events at one sequence, for example {{example}}; make sequence_by"
                f" finer (a list adds a tie-breaker: ['{sequence}', 'log_position']), filter before-images out in"
                f" the model, or set sequence_ties to allow",
                warns=job.spec.sequence_ties == "warn",
            )
        )
    return tuple(rules)


def distinct(job: Job) -> Step:
    """Leave one event per key and sequence.

    Copies are equal unless ties are let through; then a delete comes before an upsert, and of two upserts the
    greater by the output columns in their order, null lowest.
    """
    new = job.events
    order = [f"evt.{names.KIND}"]
    if job.spec.sequence_ties != "fail":
        order += [
            job.engine.descending(job.engine.comparable(f"evt.{job.engine.quote(c.name)}", c.type))
            for c in job.layout.output
        ]
    group = ", ".join(of("evt", [*job.keys, names.SEQUENCE]))
    query = (
        Query()
        .then("repeated", _repeated(job, new))
        .then(
            "ranked",
            f"select evt.{job.engine.locator} as locator,\n"
            f"    row_number() over (partition by {group} order by {', '.join(order)}) as place\n"
            f"from {new} as evt\njoin repeated on {job.same_key('evt', 'repeated')}"
            f" and evt.{names.SEQUENCE} = repeated.{names.SEQUENCE}",
        )
        .then("copies", "select locator from ranked where place > 1")
    )
    return Step("leave one event per key and sequence", job.engine.delete_located(new, query), (REPEATED,))
