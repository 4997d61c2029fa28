"""Measures the new events and refuses what must not be applied: nulls, and events that dispute one place.

Not here: how the events came about (`changes`).
"""

from __future__ import annotations

from collections.abc import Mapping

from dbt_auto_cdc import names
from dbt_auto_cdc.errors import listed
from dbt_auto_cdc.plan import Rule, Step
from dbt_auto_cdc.resolve import Part
from dbt_auto_cdc.scd.job import Job, of
from dbt_auto_cdc.sql import Query, any_of, comma

# What is measured, beside the nulls.
NEW = "num_new_events"
READ = "num_read_rows"
LATE = "num_late_rows"
DUPLICATE = "num_duplicate_rows"
TIED = "num_tied_rows"
TRUNCATED = "num_new_truncates"
REPEATED = "num_repeated_rows"


def check(job: Job, repeated: str, *, late: str = "", winners: str = "", more: str = "") -> Step:
    """Measure the events; out: one row of measures.

    `repeated` selects the keys and sequences of more than one event; `late` selects one number, where the stage
    does not tell late events; with `winners` only a tie at a key's winner counts; `more` selects one row of further
    measures.
    """
    query = Query().then("counted", _counted(job, told=not (job.builds or late))).then("found", _found(job))
    query = query.then("repeated", repeated).then("variants", _variants(job))
    if job.partial:
        query = query.then("disputed", _disputed(job, winners))
    query = query.then("places", _places(job, winners)).then("ties", _ties(job))
    sources = ["counted", "found", "ties"]
    if late:
        query, sources = query.then("late", f"select ({late}) as {LATE}"), [*sources, "late"]
    if more:
        query, sources = query.then("further", more), [*sources, "further"]
    query = query.then("checked", "select *\nfrom " + "\ncross join ".join(sources))
    return Step("check the events", query.render(), measures=True, rules=_rules(job))


def glance(job: Job, more: Mapping[str, str]) -> Step:
    """Measure the events where the stage tells all of them, in one look at it; out: one row of measures.

    `more` are conditions of events that are counted, by names. Where there are several events of one key and sequence
    `dispute` follows, and tells what is wrong all at once.
    """
    is_new = "true" if job.builds else f"evt.{names.IS_NEW}"
    late = "0" if job.builds else f"count(case when evt.{names.IS_LATE} then 1 end)"
    repeated = f"count(case when {is_new} and evt.{names.IS_REPEATED} then 1 end)"
    columns = [f"count(*) as {READ}", f"{late} as {LATE}", f"count(case when {is_new} then 1 end) as {NEW}"]
    columns.append(f"{repeated} as {REPEATED}")
    columns += [f"count(case when {is_new} and {each} then 1 end) as {name}" for name, each in more.items()]
    for name, (lacks, example) in _lacking(job).items():
        condition = f"{is_new} and {lacks}"
        columns.append(
            f"case when {repeated} = 0 then count(case when {condition} then 1 end) else 0 end as {name}"
        )
        columns.append(_example(name, condition, example))
    sql = f"select\n    {comma(columns)}\nfrom {job.working(names.STAGE)} as evt"
    return Step("check the events", sql, measures=True, rules=_of_nulls(job))


def dispute(job: Job, repeated: str, *, winners: str) -> Step:
    """Look at the events of one key and sequence, if there are several; out: one row of measures."""
    found = f"select\n    {comma(_lacking_columns(job))}\nfrom {job.events} as evt"
    query = Query().then("found", found).then("repeated", repeated).then("variants", _variants(job))
    query = query.then("places", _places(job, winners)).then("ties", _ties(job))
    query = query.then("checked", "select *\nfrom found\ncross join ties")
    title = "look at events of one key and sequence"
    return Step(title, query.render(), (REPEATED,), measures=True, rules=_rules(job))


def _counted(job: Job, *, told: bool) -> str:
    """One row: how many rows were read, and how many of them are late or truncates that no earlier run applied."""
    columns = [f"count(*) as {READ}"]
    if told:
        columns.append(
            f"count(case when {names.IS_LATE} and {names.KIND} <> 'truncate' then 1 end) as {LATE}"
        )
    elif job.builds:
        columns.append(f"0 as {LATE}")
    source = f"from {job.working(names.STAGE)} as stg"
    if job.truncates:
        is_new = f"stg.{names.KIND} = 'truncate'"
        if not job.builds:
            source += f"\ncross join ({_latest_truncate(job)}) as known"
            is_new += f" and (known.latest is null or stg.{names.SEQUENCE} > known.latest)"
        truncates = f"count(case when {is_new} then 1 end)"
        if job.truncated_at:
            truncates += f"\n    + ({_truncating_dumps(job)})"
        columns.append(f"{truncates} as {TRUNCATED}")
    return f"select\n    {comma(columns)}\n{source}"


def _latest_truncate(job: Job) -> str:
    latest = job.extreme("max", names.SEQUENCE)
    return f"select {latest} as latest from {job.companion} where {names.KIND} = 'truncate'"


def _truncating_dumps(job: Job) -> str:
    """Count the dump that truncates the target anew: one that lies above the latest truncate."""
    found = f"select count(*) from (\n{job.truncated_at}\n) as dump"
    if job.builds:
        return f"{found} where dump.sequence is not null"
    is_new = "known.latest is null or dump.sequence > known.latest"
    return f"{found} cross join ({_latest_truncate(job)}) as known where dump.sequence is not null and ({is_new})"


def _found(job: Job) -> str:
    """One row: how many new events there are, and how many lack a sequence or a key."""
    columns = [f"count(*) as {NEW}", *_lacking_columns(job)]
    return f"select\n    {comma(columns)}\nfrom {job.events} as evt"


def _lacking(job: Job) -> dict[str, tuple[str, str]]:
    """Return the conditions that an event lacks something, by what counts them, each with what tells an example."""
    missing = {"null_sequence": (f"evt.{names.SEQUENCE} is null", job.key_text("evt"))}
    if job.spec.system_sequence_by:
        missing["null_system_sequence"] = (f"evt.{names.SYSTEM_SEQUENCE} is null", job.key_text("evt"))
    shown = job.engine.as_text(f"evt.{names.SEQUENCE}")
    for number, key in enumerate(job.keys):
        missing[f"null_key_{number}"] = (f"evt.{key} is null and evt.{names.KIND} <> 'truncate'", shown)
    if job.layout.list_column:
        unknown = f"evt.{names.UNKNOWN}"
        missing["unknown_names"] = (f"evt.{names.KIND} = 'upsert' and {unknown} is not null", unknown)
    return missing


def _lacking_columns(job: Job) -> list[str]:
    columns = []
    for name, (condition, example) in _lacking(job).items():
        columns.append(f"count(case when {condition} then 1 end) as {name}")
        columns.append(_example(name, condition, example))
    return columns


def _example(name: str, condition: str, example: str) -> str:
    return f"min(case when {condition} then {example} end) as {name}_example"


def _variants(job: Job) -> str:
    """One row per way in which the events of a key at one sequence differ; a delete's payload is not written."""
    written = [_written(job, part) for part in job.written_parts]
    marks = [
        f"evt.{names.KIND} = 'upsert' and evt.{job.mark(part)} as {job.mark(part)}"
        for part in job.layout.parts
        if part.marked
    ]
    place = of("evt", job.identity)
    group = ", ".join(str(number + 1) for number in range(len(place) + 1 + len(written) + len(marks)))
    named = [f"{value} as {names.PREFIX}written_{number}" for number, value in enumerate(written)]
    columns = comma([*place, f"evt.{names.KIND}", *named, *marks, f"count(*) as {names.COPIES}"])
    return (
        f"select\n    {columns}\nfrom {job.events} as evt\n"
        f"join repeated on {job.same_event('evt', 'repeated')}\n"
        f"group by {group}"
    )


def _written(job: Job, part: Part) -> str:
    value = job.engine.comparable(f"evt.{job.engine.quote(part.name)}", part.type)
    is_written = f"evt.{names.KIND} = 'upsert'" + (f" and evt.{job.mark(part)}" if part.marked else "")
    return f"case when {is_written} then {value} end"


def _places(job: Job, winners: str) -> str:
    """One row per key and sequence of more than one event: in how many ways they differ, and whether it matters."""
    group = ", ".join(of("var", job.identity))
    columns = f"{group}, sum(var.{names.COPIES}) as {names.COPIES}, count(*) as {names.WAYS}"
    if job.partial:
        return (
            f"select {columns}, count(disputed.{names.SEQUENCE}) > 0 as {names.DECIDES}\nfrom variants as var"
            f" left join disputed on {job.same_event('disputed', 'var')}\ngroup by {group}"
        )
    if not winners:
        return f"select {columns}, true as {names.DECIDES}\nfrom variants as var group by {group}"
    return (
        f"select {columns}, max(case when won.{names.SEQUENCE} is null then 0 else 1 end) = 1 as {names.DECIDES}\n"
        f"from variants as var left join {winners} as won on {job.same_key('won', 'var')}"
        f" and won.{names.SEQUENCE} = var.{names.SEQUENCE}\ngroup by {group}"
    )


def _disputed(job: Job, winners: str) -> str:
    """Under partial updates: the places with two kinds of event, or two values of one part.

    With winners only where that value or the delete won.
    """
    deleted = f"case when won.{names.KIND} = 'delete' then won.{names.SEQUENCE} else won.{names.FLOOR} end"
    disputes = [(f"var.{names.KIND} <> other.{names.KIND}", deleted)]
    for number, part in enumerate(job.written_parts):
        value, other = (f"{alias}.{names.PREFIX}written_{number}" for alias in ("var", "other"))
        differs = f"{value} <> {other}"
        if part.marked or not part.partial:
            sent = f"{job.mark(part)}" if part.marked else f"{names.KIND} = 'upsert'"
            differs = f"var.{sent} and other.{sent} and {job.engine.differs(value, other)}"
        disputes.append((differs, f"won.{job.of_part(names.FRESH, part)}"))
    which = [
        f"({differs} and {place} = var.{names.SEQUENCE})" if winners else f"({differs})"
        for differs, place in disputes
    ]
    source = f"from variants as var\njoin variants as other on {job.same_event('other', 'var')}"
    if winners:
        source += f"\njoin {winners} as won on {job.same_key('won', 'var')}"
    return f"select distinct {', '.join(of('var', job.identity))}\n{source}\nwhere {any_of(which)}"


def _ties(job: Job) -> str:
    """One row: how many events are copies of another, and how many places are disputed."""
    tied = f"{names.WAYS} > 1 and {names.DECIDES}"
    example = f"{job.key_text('places')} || ' at ' || {job.engine.as_text(f'places.{names.SEQUENCE}')}"
    if job.spec.system_sequence_by:
        example += f" || ', known at ' || {job.engine.as_text(f'places.{names.SYSTEM_SEQUENCE}')}"
    columns = [
        f"coalesce(sum({names.COPIES} - {names.WAYS}), 0) as {DUPLICATE}",
        f"count(case when {tied} then 1 end) as {TIED}",
        f"min(case when {tied} then {example} end) as {TIED}_example",
    ]
    return f"select\n    {comma(columns)}\nfrom places"


def _rules(job: Job) -> tuple[Rule, ...]:
    return (*_of_nulls(job), *_of_ties(job))


def _of_nulls(job: Job) -> tuple[Rule, ...]:
    spec = job.spec
    sequence = ", ".join(spec.written_order)
    rules = [_without("null_sequence", "sequence_by", spec.written_order)]
    if spec.system_sequence_by:
        rules.append(_without("null_system_sequence", "system_sequence_by", spec.written_system_order))
    for number, column in enumerate(job.layout.keys):
        rules.append(
            Rule(
                f"null_key_{number}",
                f"key column {column.name} is null in {{count}} of the new rows, for example at {sequence}"
                f" {{example}}; filter such rows out in the model, or give them a key",
            )
        )
    if job.layout.list_column:
        rules.append(
            Rule(
                "unknown_names",
                f"columns_to_update {job.written_list} names in {{count}} of the new rows what is no column of"
                f" the model, for example {{example}}; there are: {listed(job.feed)}",
            )
        )
    return tuple(rules)


def _of_ties(job: Job) -> tuple[Rule, ...]:
    spec = job.spec
    if spec.sequence_ties == "allow":
        return ()
    # What is the finer order: where there are two, a later word about the same time is no tie.
    option, written = "sequence_by", spec.written_order
    place = "at one sequence"
    if spec.system_sequence_by:
        option, written = "system_sequence_by", spec.written_system_order
        place = "at one sequence and one system sequence"
    finer = f"a list adds a tie-breaker: {[*written, 'log_position']}"
    if not job.engine.takes_list(option):
        finer = f"one expression of {', '.join(written)} and a tie-breaker such as log_position"
    rule = Rule(
        TIED,
        f"{{count}} time{{s}} a key has different events {place}, for example {{example}}; make"
        f" {option} finer ({finer}), filter"
        f" before-images out in the model, or set sequence_ties to allow",
        warns=spec.sequence_ties == "warn",
    )
    return (rule,)


def _without(measure: str, option: str, written: tuple[str, ...]) -> Rule:
    is_null = "is null" if len(written) == 1 else "has a null among them"
    return Rule(
        measure,
        f"{option} {', '.join(written)} {is_null} in {{count}} of the new rows, for example {{example}}; a null has no"
        f" place in the order: filter such rows out in the model, or compute a value",
    )
