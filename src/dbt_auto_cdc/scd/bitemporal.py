"""Bitemporal: what held when (business time), and what was believed of it when (system time), as rectangles.

A run reads only the parts of a key's business time in which new events can change beliefs, and of them only what was
believed when the first of the new events became known, or later: what was believed before never changes. Where events
come in order of system time that is the open versions beside each new event::

    business time      5        10        20            30
    believed now       [  Oslo   )[  Rome  )            [  Bari ...
    a new event at 12             |  x     |            |
    its part                [ Oslo )[ Rome )            [ Bari )      the version it falls into or meets, and the next

The versions of a part are computed anew (`walls`) and set beside those that are there; only what differs is written.
The companion keeps every event with its values: the rectangles do not give back repeats, deletes that closed nothing
and events that were replaced before another came between, and a late word on either axis may bring any to light.

Not here: the geometry (`walls`), staging and checking (`changes`, `check`), creating tables (`materializations`).
"""

from __future__ import annotations

from dbt_auto_cdc import names
from dbt_auto_cdc.plan import Rule, Step
from dbt_auto_cdc.scd import bitemporal_partial, changes, check, walls, writes
from dbt_auto_cdc.scd.job import Job, of
from dbt_auto_cdc.scd.scd2 import (
    FEW_ENDED,
    MANY_ENDED,
    REMOVED,
    WRITTEN,
    differences,
    few,
    written,
)
from dbt_auto_cdc.scd.walls import BEFORE, SO_FAR, line
from dbt_auto_cdc.sql import Query, any_of, comma

# What events have beside the output.
EVENT = (names.SEQUENCE, names.SYSTEM_SEQUENCE, names.KIND)


def read(job: Job) -> tuple[Step, ...]:
    """Bring the feed into checked new events."""
    if job.builds:
        return (changes.stage(job), check.check(job, changes.repeated(job)))
    return (
        changes.stage(job),
        _new_events(job),
        check.check(job, changes.repeated(job), late=_late(job)),
    )


def event_columns(job: Job) -> list[str]:
    """Return the companion's columns of an event."""
    marks = bitemporal_partial.sent(job) if job.sparse else ()
    return [*job.identity, names.KIND, *job.quoted(job.remembered), *marks]


def _new_events(job: Job) -> Step:
    """Keep the events that the companion does not have. Out: the stage's columns."""
    if job.sparse:
        return changes.events(job, bitemporal_partial.new_events(job))
    columns = comma(of(names.AROUND, [*job.output, *EVENT]))
    known = f"select 1 from {job.companion} as known where {job.same_event('known', names.AROUND)}"
    stage = f"{job.working(names.STAGE)} as {names.AROUND}"
    new = f"select\n    {columns}\nfrom {stage}\nwhere not exists ({known})"
    return changes.events(job, Query().then("new", new))


def _late(job: Job) -> str:
    """Count the new events below the greatest sequence that their key had."""
    keys = ", ".join(job.keys)
    return f"""
select count(*) from {job.events} as evt
join (
    select {", ".join(of("cmp", job.keys))}, max(cmp.{names.SEQUENCE}) as {names.LATEST}
    from {job.companion} as cmp
    join (select distinct {keys} from {job.events}) as evt on {job.same_key("evt", "cmp")}
    group by {", ".join(of("cmp", job.keys))}
) as head on {job.same_key("head", "evt")} and evt.{names.SEQUENCE} < head.{names.LATEST}"""


# the parts of the keys' histories that new events can change


def rectangles(job: Job) -> tuple[Step, ...]:
    """Compute the versions of the touched parts, and set them beside those that are there."""
    tables = [("number the touched keys", names.TOUCHED, _touched(job))]
    if not job.builds:
        tables.append(("find the versions of the keys", names.STORED, _stored(job)))
    if job.sparse:
        tables += [
            ("bring together what is said at each time", names.GIVEN, bitemporal_partial.placed(job)),
            ("fill what events leave out", names.LINE, bitemporal_partial.line(job)),
        ]
    if not job.builds:
        tables.append(
            ("find what the new events can change", names.PARTS, (_wholes if job.sparse else _parts)(job))
        )
    if not job.builds and not job.sparse:
        tables.append(("line up the events of the touched parts", names.LINE, _lined_up(job)))
    job = bitemporal_partial.complete(job) if job.sparse else job
    tables += walls.steps(job, _built(job) if job.builds else _touching(job))
    cut = walls.versions(job)
    tables.append(("cut into versions", names.TIMELINE, cut if job.builds else _compared(job, cut)))
    only_if = () if job.builds else (check.NEW,)
    return tuple(
        Step(title, job.engine.create_working(job.working(suffix), query), only_if)
        for title, suffix, query in tables
    )


def _touched(job: Job) -> Query:
    """Number the touched keys. Out: one row per key, with the time at which its first new event became known."""
    keys = ", ".join(job.keys)
    return Query().then(
        "touched",
        f"select {keys}, min({names.SYSTEM_SEQUENCE}) as {names.FIRST},"
        f" row_number() over (order by {keys}) as {names.OWNER}\nfrom {job.events} group by {keys}",
    )


def _stored(job: Job) -> Query:
    """Find the touched keys' versions that were believed when their first new event became known, or later.

    Out: narrowly, one row per version, with its locator and bounds; the base is what was believed just before.
    """
    first = f"touched.{names.FIRST}"
    return Query().then(
        "stored",
        f"""
select
    touched.{names.OWNER} as owner,
    tgt.{job.start_at} as start_at,
    tgt.{job.end_at} as end_at,
    tgt.{job.system_start_at} as system_start_at,
    tgt.{job.system_end_at} as system_end_at,
    {job.at("tgt")} as locator,
    tgt.{job.system_start_at} < {first} as is_base
from {job.target} as tgt
join {job.working(names.TOUCHED)} as touched on {job.same_key("touched", "tgt")}
where tgt.{job.system_end_at} is null or tgt.{job.system_end_at} >= {first}""",
    )


def _parts(job: Job) -> Query:
    """Find the parts of each key's business time in which new events can change beliefs.

    Versions that overlap make a block. A new event changes the blocks that it falls into or meets, and the next one
    that was there in the base: no change goes past an event that was known all the time. Parts that meet are one.
    Out: one row per part, numbered in order of key and business time; without an end it goes on for ever.
    """
    versions = f"select owner, start_at, end_at, is_base, locator as tie from {job.working(names.STORED)}"
    blocks = """
select owner, min(start_at) as start_at, max(case when is_base then 1 else 0 end) as is_base,
    case when count(end_at) = count(*) then max(end_at) end as end_at
from overlapping group by owner, number_of"""
    parts = """
select owner, min(start_at) as start_at, case when count(end_at) = count(*) then max(end_at) end as end_at,
    row_number() over (order by owner, number_of) as line
from meeting group by owner, number_of"""
    return (
        Query()
        .then("versions", versions)
        .then("overlapping", _grouped("versions", apart=">="))
        .then("blocks", blocks)
        .then("reached", _reached(job))
        .then("ranges", _RANGES)
        .then("meeting", _grouped("ranges", apart=">"))
        .then("parts", parts)
    )


def _wholes(job: Job) -> Query:
    """Return the touched keys as parts: what an event leaves out may flow on to the end."""
    lined = job.working(names.LINE)
    starts = f"""
select {names.LINE_NUMBER} as owner, {names.SEQUENCE} as start_at from {lined}
union all
select owner, start_at from {job.working(names.STORED)} where owner in (select {names.LINE_NUMBER} from {lined})"""
    parts = f"""
select owner, min(start_at) as start_at, {job.engine.null(job.layout.sequence_type)} as end_at, owner as line
from starts group by owner"""
    return Query().then("starts", starts).then("parts", parts)


def _grouped(ranges: str, apart: str) -> str:
    """Number the groups of an owner's ranges; `apart` is how one that starts a group compares with the end before.

    A range without an end goes on for ever. `tie` tells ranges with one start apart.
    """
    order = "partition by owner order by start_at, tie"
    return f"""
select owner, start_at, end_at, is_base,
    sum(case when earlier = 0 or (endless = 0 and start_at {apart} reach) then 1 else 0 end)
        over ({order} {SO_FAR}) as number_of
from (
    select *, count(*) over ({order} {BEFORE}) as earlier, max(end_at) over ({order} {BEFORE}) as reach,
        count(case when end_at is null then 1 end) over ({order} {BEFORE}) as endless
    from {ranges}
) as reaching"""


def _reached(job: Job) -> str:
    """Set each new event's business time beside the last block that starts before it and the next one of the base."""
    # At one place events come first, in both directions: a block that starts there is neither before nor after.
    before, after = (f"partition by owner order by start_at{way}, is_block {SO_FAR}" for way in ("", " desc"))
    sequence, null = f"evt.{names.SEQUENCE}", job.engine.null(job.layout.sequence_type)
    return f"""
select owner, start_at, is_block,
    max(case when is_block = 1 then start_at end) over ({before}) as block_start_at,
    max(end_at) over ({before}) as block_end_at,
    count(case when is_block = 1 and end_at is null then 1 end) over ({before}) as endless,
    min(case when is_base = 1 then end_at end) over ({after}) as next_end_at
from (
    select owner, start_at, end_at, is_base, 1 as is_block from blocks
    union all
    select distinct touched.{names.OWNER}, {sequence}, {null}, 0, 0
    from {job.events} as evt
    join {job.working(names.TOUCHED)} as touched on {job.same_key("touched", "evt")}
) as placed"""


_RANGES = """
select evt.owner, evt.next_end_at as end_at, false as is_base, evt.start_at as tie,
    case when evt.block_start_at is not null and (evt.endless > 0 or evt.block_end_at >= evt.start_at)
        then evt.block_start_at else evt.start_at end as start_at
from reached as evt where evt.is_block = 0"""


def _lined_up(job: Job) -> Query:
    """Put the new events beside those that the companion has of the touched parts.

    Of known events only those count that were seen in the base or later, and of repeats in the middle of a version of
    the base none: nothing there can change. Out: one row per event, with its values.
    """
    columns = [*job.output, *EVENT]
    line_up = f"""
select
    {comma(of("evt", columns))},
    arrived.line as {names.LINE_NUMBER}, false as {names.IS_BASE}
from {job.events} as evt
join arrived on arrived.locator = evt.{job.engine.locator}
union all
select
    {comma(of("cmp", columns))},
    kept.line, kept.is_base
from {job.companion} as cmp
join kept on kept.locator = {job.at_companion("cmp")}"""
    return (
        Query()
        .then("repeated", changes.repeated(job))
        .then("copies", changes.copies(job))
        .then("arrived", _arrived(job))
        .then("known", _known(job))
        .then("mixed", _MIXED)
        .then("kept", _KEPT)
        .then("line", line_up)
    )


def _arrived(job: Job) -> str:
    return f"""
select evt.{job.engine.locator} as locator, part.line, evt.{names.SEQUENCE} as sequence,
    evt.{names.SYSTEM_SEQUENCE} as system_at
from {job.events} as evt
{_joined_to_parts(job, "evt")}
where evt.{job.engine.locator} not in (select locator from copies)"""


def _known(job: Job) -> str:
    """The companion's events in the parts, each with the system time at which it was replaced."""
    return f"""
select {job.at_companion("cmp")} as locator, part.line, touched.{names.FIRST} as first, cmp.{names.KIND} as kind,
    cmp.{names.SEQUENCE} as sequence, cmp.{names.SYSTEM_SEQUENCE} as system_at,
    lead(cmp.{names.SYSTEM_SEQUENCE}) over (
        partition by part.line, cmp.{names.SEQUENCE} order by cmp.{names.SYSTEM_SEQUENCE}
    ) as next_system,
    base.start_at is not null as starts
from {job.companion} as cmp
{_joined_to_parts(job, "cmp")}
left join {job.working(names.STORED)} as base on base.owner = touched.{names.OWNER} and base.is_base
    and base.start_at = cmp.{names.SEQUENCE}"""


# An event is quiet if there is no other word about its business time, and inner if no version starts with it.
_OF_LINE = "partition by line order by sequence, system_at"
_MIXED = f"""
select *, lag(is_quiet) over ({_OF_LINE}) as after_quiet,
    lead(is_quiet and not starts) over ({_OF_LINE}) as before_inner
from (
    select *, is_base and kind = 'upsert' and count(*) over (partition by line, sequence) = 1 as is_quiet
    from (
        select locator, line, sequence, system_at, kind, starts, system_at < first as is_base, false as is_new
        from known
        where system_at >= first or next_system is null or next_system >= first
        union all
        select null, line, sequence, system_at, null, false, false, true from arrived
    ) as seen
) as told"""

_KEPT = """
select locator, line, is_base from mixed
where not is_new
    and not (is_quiet and not starts and coalesce(after_quiet, false) and coalesce(before_inner, false))"""


def _joined_to_parts(job: Job, alias: str) -> str:
    """The joins that keep the events that are in a touched part, or at its end."""
    return f"""
join {job.working(names.TOUCHED)} as touched on {job.same_key("touched", alias)}
join {job.working(names.PARTS)} as part on part.owner = touched.{names.OWNER}
    and {alias}.{names.SEQUENCE} >= part.start_at
    and (part.end_at is null or {alias}.{names.SEQUENCE} <= part.end_at)""".strip()


def _built(job: Job) -> Query:
    if job.sparse:
        lined = f"""
select evt.{job.engine.locator} as event, evt.{names.LINE_NUMBER} as line, evt.{names.KIND} as kind,
    evt.{names.SEQUENCE} as sequence, evt.{names.SYSTEM_SEQUENCE} as system_at, false as is_base, false as starts
from {line(job)} as evt"""
        return Query().then("lined", lined)
    copies = f"evt.{job.engine.locator} not in (select locator from copies)"
    lined = f"""
select evt.{job.engine.locator} as event, touched.{names.OWNER} as line, evt.{names.KIND} as kind,
    evt.{names.SEQUENCE} as sequence, evt.{names.SYSTEM_SEQUENCE} as system_at, false as is_base, false as starts
from {job.events} as evt
join {job.working(names.TOUCHED)} as touched on {job.same_key("touched", "evt")}
where {copies}"""
    return (
        Query()
        .then("repeated", changes.repeated(job))
        .then("copies", changes.copies(job))
        .then("lined", lined)
    )


def _touching(job: Job) -> Query:
    """The events of the touched parts. Versions of the base start where they did: what is written is not cut anew."""
    lined = f"""
select evt.{job.engine.locator} as event, evt.{names.LINE_NUMBER} as line, evt.{names.KIND} as kind,
    evt.{names.SEQUENCE} as sequence, evt.{names.SYSTEM_SEQUENCE} as system_at, evt.{names.IS_BASE} as is_base,
    base.start_at is not null as starts
from {line(job)} as evt
join {job.working(names.PARTS)} as part on part.line = evt.{names.LINE_NUMBER}
left join {job.working(names.STORED)} as base on base.owner = part.owner and base.is_base
    and base.start_at = evt.{names.SEQUENCE}"""
    return Query().then("lined", lined)


def _compared(job: Job, query: Query) -> Query:
    """Set the versions beside those that are there; what begins behind the end of a part belongs to the next one."""
    parts, stored = job.working(names.PARTS), job.working(names.STORED)
    there = f"""
select part.line, src.*
from {stored} as src
join {parts} as part on part.owner = src.owner and src.start_at >= part.start_at
    and (part.end_at is null or src.start_at < part.end_at)"""
    now = f"""
select bounded.line, bounded.event, bounded.start_at, bounded.end_at, bounded.system_end_at,
    case when bounded.moment = 0 then base.system_start_at else bounded.system_start_at end as system_start_at,
    bounded.moment = 0 as is_base, part.owner
from bounded
join {parts} as part on part.line = bounded.line
left join there as base on base.is_base and base.line = bounded.line
    and base.start_at = case when bounded.moment = 0 then bounded.start_at end
where part.end_at is null or bounded.start_at < part.end_at"""
    differs = job.engine.differs
    beside = f"""
select now.event, now.start_at, now.end_at, now.system_start_at, now.system_end_at, there.locator,
    coalesce(now.owner, there.owner) as owner,
    coalesce(now.is_base, false) or coalesce(there.is_base, false) as is_base,
    coalesce({differs("there.end_at", "now.end_at")}, true) as has_other_end,
    coalesce({differs("there.system_end_at", "now.system_end_at")}, true) as is_moved
from now full join there on there.line = now.line and there.start_at = now.start_at
    and there.system_start_at = now.system_start_at"""
    differing = any_of(differences(job, job.parts_of(job.remembered), "src", "tgt"))
    values = job.quoted(job.remembered)
    placed = f"select {', '.join([f'{job.engine.locator} as {names.LOCATOR}', *values])}"
    place = f"{job.at('shown')} as {names.LOCATOR}"
    shown = f"select {', '.join([place, *of('shown', values)])}"
    unlike = f"""
select beside.locator
from beside
join ({placed} from {line(job)}) as src on src.{names.LOCATOR} = beside.event
join ({shown} from {job.target} as shown) as tgt on tgt.{names.LOCATOR} = beside.locator
where not beside.has_other_end and ({differing})"""
    return (
        query.then("there", there)
        .then("now", now)
        .then("beside", beside)
        .then("unlike", unlike)
        .then(
            "compared",
            """
select beside.event, beside.start_at, beside.end_at, beside.system_start_at, beside.system_end_at, beside.locator,
    beside.owner, beside.is_base,
    beside.event is not null and beside.locator is not null and not beside.has_other_end
        and unlike.locator is null as is_same,
    beside.is_moved
from beside left join unlike on unlike.locator = beside.locator""",
        )
    )


# What becomes of a row of the timeline.
_IS_WRITTEN = "event is not null and not is_same"
_IS_ENDED = "is_same and is_moved"
_IS_REMOVED = "locator is not null and not is_same"


def versions(job: Job, *, with_ended: bool = False) -> Query:
    """Return the versions to be written, in the target's columns; with those that only end where wanted."""
    changed = f"not is_same or {'is_moved' if with_ended else 'false'}"
    which = "event is not null" if job.builds else f"event is not null and ({changed})"
    columns = ["start_at", "end_at", "system_start_at", "system_end_at"]
    written = f"select event, {', '.join(columns)}\nfrom {job.working(names.TIMELINE)}\nwhere {which}"
    bounds = [f"run.{name} as {bound}" for name, bound in zip(columns, job.bounds, strict=True)]
    return (
        Query()
        .then("written", written)
        .then(
            "versions",
            f"select {', '.join([*of('evt', job.output), *bounds])}\nfrom {line(job)} as evt\n"
            f"join written as run on run.event = evt.{job.engine.locator}",
        )
    )


def remembered(job: Job) -> Query:
    """Return the new events in the companion's columns; a delete keeps nothing but its keys."""
    if job.sparse:
        return bitemporal_partial.remembered(job)
    values = [
        f"case when evt.{names.KIND} = 'upsert' then evt.{name} end as {name}"
        for name in job.quoted(job.remembered)
    ]
    columns = [*of("evt", [*job.identity, names.KIND]), *values]
    return (
        Query()
        .then("repeated", changes.repeated(job))
        .then("copies", changes.copies(job))
        .then(
            "events",
            f"select\n    {comma(columns)}\nfrom {job.events} as evt\n"
            f"where evt.{job.engine.locator} not in (select locator from copies)",
        )
    )


def _removed(job: Job, *, with_ended: bool = False) -> Query:
    which = f"({_IS_REMOVED}) or ({_IS_ENDED})" if with_ended else _IS_REMOVED
    return Query().then("removed", f"select locator from {job.working(names.TIMELINE)} where {which}")


def _ended(job: Job) -> Query:
    """Return the versions whose values stay and that are no longer believed, or believed longer."""
    return Query().then(
        "ended",
        f"select locator, system_end_at as value from {job.working(names.TIMELINE)} where {_IS_ENDED}",
    )


def measure(job: Job) -> Step:
    """Count what will be written, and refuse versions that are not what the events say: they were changed by hand."""

    def count(condition: str) -> str:
        return f"count(case when {condition} then 1 end)"

    removed, ended = count(_IS_REMOVED), count(_IS_ENDED)
    is_few = few(job, ended)
    alone = f"case when {ended} > 0 and {is_few} then 0 else 1 end"
    changed = "evt.is_base and not evt.is_same"
    sql = f"""
select
    case when {is_few} then {ended} else 0 end as {FEW_ENDED},
    case when {is_few} then 0 else {ended} end as {MANY_ENDED},
    {alone} * {count(_IS_WRITTEN)} as {WRITTEN},
    {alone} * {removed} as {REMOVED},
    {ended} + {count(_IS_WRITTEN)} as num_upserted_rows,
    {removed} - {count(f"{_IS_WRITTEN} and locator is not null")} as num_deleted_rows,
    {count(changed)} as changed_versions,
    min(case when {changed} then shown end) as changed_versions_example
from (
    select evt.*, {job.key_text("touched")} as shown
    from {job.working(names.TIMELINE)} as evt
    join {job.working(names.TOUCHED)} as touched on touched.{names.OWNER} = evt.owner
) as evt"""
    rule = Rule(
        "changed_versions",
        f"{{count}} versions of the target are not what its events say, for example of {{example}}; they were changed,"
        f" added or deleted by hand, which a bitemporal target does not take up: undo that and send the change as an"
        f" event (to erase a key, delete it from {job.companion} too), or rebuild the target with --full-refresh",
    )
    return Step("measure what changes", sql, only_if=(check.NEW,), measures=True, rules=(rule,))


def apply(job: Job) -> tuple[Step, ...]:
    """Write what differs, and remember the new events."""
    more = event_columns(job), remembered(job)
    return (
        *written(job, _ended(job), _removed, versions, column=job.system_end_at),
        writes.remember(job, "remember the new events", *more, only_if=(check.NEW,)),
    )
