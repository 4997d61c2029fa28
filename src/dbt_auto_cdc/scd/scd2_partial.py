"""SCD type 2 under partial updates: what an event leaves out is filled along its key's timeline.

The visible rows hold filled values. An event sent the values that are not null and left out those that are; where it
did not, inheriting a value or writing a null, the companion says so beside the hidden events.

Not here: what follows from the filled events, which is what follows from any (`scd2`).
"""

from __future__ import annotations

from dbt_auto_cdc import names
from dbt_auto_cdc.resolve import Part
from dbt_auto_cdc.scd import changes
from dbt_auto_cdc.scd.job import Job, of
from dbt_auto_cdc.sql import Query, any_of, comma


def sent(job: Job) -> dict[str, str]:
    """Return the companion's columns that say whether an event sent a part, each with the mark that tells it.

    In the companion null stands for the rule: what is not null was sent.
    """
    limit = job.engine.identifier_limit
    return {
        job.engine.quote(names.of_part(names.SENT, part.called, limit)): job.mark(part)
        for part in job.layout.parts
        if part.partial
    }


def marks(job: Job) -> list[str]:
    """Return the marks of an event of a touched timeline: which parts it sent, and whether it is new."""
    return [*sent(job).values(), names.IS_NEW] if job.partial else []


def shown(job: Job) -> list[str]:
    """Return, for each part, whether a version of the target, tgt, shows a value."""
    return [
        f"{changes.stored_part(job, part, 'tgt')} is not null as {job.mark(part)}" for part in _partial(job)
    ]


def told(job: Job, values: list[str], hidden: str) -> dict[str, str]:
    """Return the marks of a remembered event: by the companion's row, or else by its values."""
    by_part = dict(zip(job.layout.parts, values, strict=True))
    return {
        job.mark(part): f"coalesce({hidden}.{column}, {by_part[part]} is not null)"
        for column, part in zip(sent(job), _partial(job), strict=True)
    }


def _partial(job: Job) -> list[Part]:
    return [part for part in job.layout.parts if part.partial]


# new events


def new_events(job: Job, is_inside: str) -> Query:
    """Return the stage's events that are not known, or that send what their known like did not.

    `is_inside` is the condition that an event of the companion, cmp, lies in a stored version, tgt.
    Out: the stage's columns; the marks only of what is not known to be written there.
    """
    known, stg = f"known.{names.SEQUENCE} is not null", names.AROUND
    fresh = {mark: f"{stg}.{mark} and not coalesce(known.{mark}, false)" for mark in sent(job).values()}
    writes = any_of(fresh.values())
    for part in job.written_parts:
        if not part.partial:
            name = job.engine.quote(part.name)
            fresh[name] = f"case when known.{names.SEQUENCE} is null then {stg}.{name} end"
    columns = [f"{fresh[name]} as {name}" if name in fresh else f"{stg}.{name}" for name in job.staged]
    stored = job.working(names.STORED)
    deletes = f"""
select {", ".join([*job.keys, f"{names.OLD_END} as {names.SEQUENCE}"])} from {stored}
union all
select {", ".join([*job.keys, names.SEQUENCE])} from {job.companion} where {names.KIND} = 'delete'"""
    new = f"""
select
    {comma([*columns, *of(stg, changes.EVENT)])}
from {job.working(names.STAGE)} as {stg}
left join known on {job.same_key("known", stg)} and known.{names.SEQUENCE} = {stg}.{names.SEQUENCE}
where ({known} and {stg}.{names.KIND} = 'upsert' and ({writes}))
or ({known.replace("is not null", "is null")} and not exists (
    select 1 from deletes
    where {job.same_key("deletes", stg)} and deletes.{names.SEQUENCE} = {stg}.{names.SEQUENCE}
))"""
    return Query().then("known", _known(job, is_inside)).then("deletes", deletes).then("new", new)


def _known(job: Job, is_inside: str) -> str:
    """The upserts that are known, and which parts they sent: the first of each version, and those inside it."""
    stored = job.working(names.STORED)
    untracked = {*job.layout.untracked}
    marked = list(zip(sent(job), _partial(job), strict=True))

    def by(part: Part) -> str:
        hidden = f"{changes.stored_part(job, part, 'cmp')} is not null"
        return hidden if part.column in untracked else f"tgt.{job.mark(part)}"

    first = of("tgt", [*job.keys, names.SEQUENCE])
    first += [
        f"case when cmp.{names.SEQUENCE} is null then tgt.{job.mark(part)} else coalesce(cmp.{column}, {by(part)}) end"
        f" as {job.mark(part)}"
        for column, part in marked
    ]
    inner = of("cmp", [*job.keys, names.SEQUENCE])
    inner += [f"coalesce(cmp.{column}, {by(part)}) as {job.mark(part)}" for column, part in marked]
    return f"""
select {", ".join(first)}
from {stored} as tgt
left join {job.companion} as cmp on {job.same_key("cmp", "tgt")} and cmp.{names.KIND} = 'upsert'
    and cmp.{names.SEQUENCE} = tgt.{names.SEQUENCE} and cmp.{names.RUN_START} = tgt.{names.SEQUENCE}
union all
select {", ".join(inner)}
from {job.companion} as cmp
join {stored} as tgt on {is_inside}
where cmp.{names.KIND} = 'upsert' and cmp.{names.SEQUENCE} > cmp.{names.RUN_START}"""


# filling


def filled(job: Job, given: str) -> Query:
    """Return one event per key and sequence, its parts filled with what it inherits.

    In: the touched part of each key's timeline, new events beside remembered ones. Out: the same columns, the marks
    as the companion keeps them; INHERITS says whether there is one, CHANGED whether a remembered event is another now.
    """
    query, source = Query(), job.events
    if not job.builds:
        query, source = query.then("told", _written(job, given)), "told"
    query = query.then("merged", _merged(job, source))
    return query.then("carried", _carried(job)).then("filled", _told(job))


def _written(job: Job, given: str) -> str:
    """The events with marks to be relied on, and FIRST on the remembered event that begins a touched timeline.

    A remembered value that the event before it does not have was written, whatever is remembered of it: by hand, or
    before events could leave it out. Where the line begins with it, nothing is known of the event before.
    """
    others = [*job.parts, names.SEQUENCE, names.KIND, *_bounds()]
    first = job.extreme("min", f"evt.{names.SEQUENCE}", over=" over key")
    begins = f"(not evt.{names.IS_NEW} and evt.{names.SEQUENCE} = {first})"
    columns = [*of("evt", others), f"evt.{names.IS_NEW}", f"{begins} as {names.FIRST}"]
    for part in _partial(job):
        value = job.engine.comparable(f"evt.{job.engine.quote(part.name)}", part.type)
        other = job.engine.differs(value, f"lag({value}) over remembered_events")
        columns.append(
            f"evt.{job.mark(part)} or (not evt.{names.IS_NEW} and not {begins} and {other}) as {job.mark(part)}"
        )
    keys = ", ".join(of("evt", job.keys))
    return f"""
select
    {comma(columns)}
from {given} as evt
window key as (partition by {keys}),
    remembered_events as (partition by {keys}, evt.{names.IS_NEW} order by evt.{names.SEQUENCE})"""


def _bounds() -> list[str]:
    return [names.LOCATOR, names.OLD_END, names.HIDDEN, names.RUN_START, names.SHOWS]


def _merged(job: Job, source: str) -> str:
    """One row per key and sequence: what several events sent there comes together, and a delete beats them."""
    is_upsert, has_delete = f"evt.{names.KIND} = 'upsert'", f"min(evt.{names.KIND}) = 'delete'"
    is_stored = f"max(case when evt.{names.IS_NEW} then 0 else 1 end) = 1"
    columns = [*of("evt", [*job.keys, names.SEQUENCE]), f"min(evt.{names.KIND}) as {names.KIND}"]
    for part in job.written_parts:
        value = f"evt.{job.engine.quote(part.name)}"
        is_sent = f"{is_upsert} and evt.{job.mark(part)}" if part.partial else is_upsert
        by_sequence, last = changes.by_sequence(job, part), [f"evt.{names.SEQUENCE} desc"]
        latest = job.engine.latest(value, part.type, order=by_sequence, where=is_sent)
        was = job.engine.latest(value, part.type, order=last, where=f"not evt.{names.IS_NEW}")
        if not part.partial and not job.builds:
            latest = f"case when {is_stored} then {was} else {latest} end"
        if part.partial:
            # What an upsert sent is gone with the delete that beats it.
            latest = f"case when not {has_delete} then {latest} end"
            is_any_sent = f"max(case when {is_sent} then 1 else 0 end) = 1"
            columns.append(f"not {has_delete} and {is_any_sent} as {job.mark(part)}")
        columns.append(f"{latest} as {job.engine.quote(part.name)}")
        if part.partial and not job.builds:
            was_sent = f"{is_sent} and not evt.{names.IS_NEW}"
            columns.append(
                f"max(case when {was_sent} then 1 else 0 end) = 1 as {job.of_part(names.FRESH, part)}"
            )
        if not job.builds:
            columns.append(f"{was} as {job.of_part(names.WAS, part)}")
    if not job.builds:
        columns += [f"max(evt.{place}) as {place}" for place in (names.LOCATOR, names.HIDDEN, names.SHOWS)]
        columns += [f"{job.extreme('max', f'evt.{at}')} as {at}" for at in (names.OLD_END, names.RUN_START)]
        columns.append(f"{is_stored} as {names.WAS_IN}")
        columns.append(f"max(case when evt.{names.FIRST} then 1 else 0 end) = 1 as {names.FIRST}")
    group = ", ".join(of("evt", [*job.keys, names.SEQUENCE]))
    return f"select\n    {comma(columns)}\nfrom {source} as evt\ngroup by {group}"


def _carried(job: Job) -> str:
    """Each event with the values that it sent or inherits: from the last event that sent them, and from no delete."""
    columns = [*job.keys, names.SEQUENCE, names.KIND, *sent(job).values()]
    if not job.builds:
        columns += [*_bounds(), names.WAS_IN, *(job.of_part(names.WAS, part) for part in job.written_parts)]
        columns += [job.of_part(names.FRESH, part) for part in _partial(job)]
    for part in job.written_parts:
        name = job.engine.quote(part.name)
        if not part.partial:
            columns.append(name)
            continue
        ends = [f"{names.KIND} = 'delete'", job.mark(part), *([] if job.builds else [names.FIRST])]
        value = name
        if not job.builds:
            was = job.of_part(names.WAS, part)
            value = f"case when {names.FIRST} and not {job.mark(part)} then {was} else {name} end"
        carried = job.engine.carried(value, part.type, where=any_of(ends), window="so_far")
        columns.append(f"{carried} as {name}")
    return f"""
select
    {comma(columns)}
from merged
window so_far as (
    partition by {", ".join(job.keys)} order by {names.SEQUENCE} rows between unbounded preceding and current row
)"""


def _told(job: Job) -> str:
    """Say of each event what the companion has to keep, and whether it keeps that."""
    columns = [*job.parts, names.SEQUENCE, names.KIND, *([] if job.builds else _bounds())]
    unlike, changed = [], []
    for part in job.written_parts:
        name = job.engine.quote(part.name)
        if not job.builds:
            value, was = (
                job.engine.comparable(side, part.type) for side in (name, job.of_part(names.WAS, part))
            )
            changed.append(job.engine.differs(value, was))
        if part.partial and not job.builds:
            changed.append(f"{job.mark(part)} <> {job.of_part(names.FRESH, part)}")
        if part.partial:
            is_unlike = f"{names.KIND} = 'upsert' and {job.mark(part)} = ({name} is null)"
            columns.append(f"case when {is_unlike} then {job.mark(part)} end as {job.mark(part)}")
            unlike.append(f"({is_unlike})")
    columns.append(f"({any_of(unlike)}) as {names.INHERITS}")
    if not job.builds:
        columns.append(f"{names.WAS_IN} and ({any_of(changed)}) as {names.CHANGED}")
    return f"select\n    {comma(columns)}\nfrom carried"
