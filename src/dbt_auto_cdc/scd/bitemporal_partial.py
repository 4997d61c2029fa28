"""Bitemporal under partial updates: complete events from those that leave columns out, for the geometry of any.

At one business time the events known so far come in order of system time: each column has the value that was sent
last, and a delete takes back what was sent before it. Then what an event leaves out is filled along business time, as
in SCD type 2. A late word on either axis flows on, so an event stands for several complete ones, one for each system
time at which its row became another::

    business time     10            20
    known at 100      Oslo, -       -, 0150           complete: (10, 100) Oslo, -   (20, 100) Oslo, 0150
    known at 200      Rome, -                                   (10, 200) Rome, -   (20, 200) Rome, 0150

All business times of a key against all its system times would be too much. What was known before the first new event
is one moment, the base. And a key's business time is cut where all that lies before was known no later than all that
lies behind: to the right of a cut the row before it stands still, and each section is filled by itself. Where events
come in order of both times, a section is one event.

Not here: what follows from complete events, which is what follows from any (`bitemporal`, `walls`).
"""

from __future__ import annotations

from dataclasses import replace

from dbt_auto_cdc import names
from dbt_auto_cdc.resolve import Part
from dbt_auto_cdc.scd import changes
from dbt_auto_cdc.scd.job import Job, of
from dbt_auto_cdc.scd.walls import BEFORE, SO_FAR
from dbt_auto_cdc.sql import Query, any_of, comma

_ONWARDS = "rows between current row and unbounded following"


def sent(job: Job) -> dict[str, Part]:
    """Return the companion's columns that say whether an event sent a part, each with the part.

    In the companion null stands for the rule: what is not null was sent. A part that was once left out keeps its
    column: what is remembered of older events goes on counting when the options change.
    """
    limit = job.engine.identifier_limit
    stored = {job.engine.quote(column.name) for column in job.state.companion or ()}
    named = {
        job.engine.quote(names.of_part(names.SENT, part.called, limit)): part for part in job.layout.parts
    }
    return {name: part for name, part in named.items() if part.partial or name in stored}


def complete(job: Job) -> Job:
    """Return the job of complete events, whose columns are wholes."""
    parts = tuple(Part(column, column.name, column.type) for column in job.layout.output)
    return replace(job, layout=replace(job.layout, parts=parts))


def _names(job: Job) -> list[str]:
    return [job.engine.quote(part.name) for part in job.written_parts]


# new events


def new_events(job: Job) -> Query:
    """Return the stage's events that are not known, or that send what their known like did not.

    Out: the stage's columns; of an event that is known in part, only what is new of it.
    """
    marked = {part: job.mark(part) for part in sent(job).values()}
    stage = job.working(names.STAGE)
    told = [
        f"max(case when {_was_sent(job, name, part)} then 1 else 0 end) = 1 as {job.mark(part)}"
        for name, part in sent(job).items()
    ]
    known = f"""
select {comma([*of("cmp", job.identity), f"min(cmp.{names.KIND}) as {names.KIND}", *told])}
from {job.companion} as cmp
join (select distinct {", ".join(job.identity)} from {stage}) as stg on {job.same_event("stg", "cmp")}
group by {", ".join(of("cmp", job.identity))}"""
    is_known = f"known.{names.SEQUENCE} is not null"
    fresh = {
        job.engine.quote(part.name): f"{is_known} and known.{marked[part]}" if part in marked else is_known
        for part in job.written_parts
    }
    fresh |= {job.mark(part): fresh[job.engine.quote(part.name)] for part in job.written_parts if part.marked}
    columns = [
        f"case when not ({fresh[name]}) then stg.{name} end as {name}" if name in fresh else f"stg.{name}"
        for name in job.staged
    ]
    # What is written by every event now was, when it is read again, once left out: that stays as it was.
    writes = any_of(
        f"({job.is_sent(part, 'stg')} and not known.{mark})" for part, mark in marked.items() if part.partial
    )
    new = f"""
select
    {comma([*columns, *of("stg", [names.SEQUENCE, names.SYSTEM_SEQUENCE, names.KIND])])}
from {stage} as stg
left join known on {job.same_event("known", "stg")}
where known.{names.SEQUENCE} is null
or (known.{names.KIND} = 'upsert' and stg.{names.KIND} = 'upsert' and ({writes}))"""
    return Query().then("known", known).then("new", new)


def _was_sent(job: Job, name: str, part: Part) -> str:
    """The condition that a remembered event, cmp, sent a part."""
    value = changes.stored_part(job, part, "cmp")
    return f"cmp.{names.KIND} = 'upsert' and coalesce(cmp.{name}, {value} is not null)"


def _is_sent(job: Job, part: Part) -> str:
    """The condition that a new event, evt, sent a part; a mark that was taken away is none."""
    return f"evt.{names.KIND} = 'upsert' and coalesce({job.is_sent(part, 'evt')}, false)"


def _arrived(job: Job) -> list[str]:
    """What is told of a new event, evt, beside where it belongs."""
    marks = [f"{_is_sent(job, part)} as {job.mark(part)}" for part in sent(job).values()]
    return [f"evt.{names.KIND}", *of("evt", _names(job)), *marks]


def _merged(job: Job, place: list[str]) -> str:
    """One row per event of `told`: what several rows sent comes together, and a delete beats them."""
    marked = {part: job.mark(part) for part in sent(job).values()}
    columns = [*of("evt", place), f"min(evt.{names.KIND}) as {names.KIND}"]
    for part in job.written_parts:
        value = f"evt.{job.engine.quote(part.name)}"
        is_sent = f"evt.{marked[part]}" if part in marked else f"{value} is not null"
        where = f"evt.{names.KIND} = 'upsert' and {is_sent}"
        latest = job.engine.latest(value, part.type, order=changes.by_sequence(job, part), where=where)
        columns.append(f"{latest} as {job.engine.quote(part.name)}")
    columns += [f"max(case when evt.{mark} then 1 else 0 end) = 1 as {mark}" for mark in marked.values()]
    return f"select\n    {comma(columns)}\nfrom told as evt\ngroup by {', '.join(of('evt', place))}"


def remembered(job: Job) -> Query:
    """Return the new events in the companion's columns; a delete keeps nothing but its keys."""
    is_upsert = f"evt.{names.KIND} = 'upsert'"
    values = [
        f"case when {is_upsert} then {value} end as {name}"
        for value, name in zip(
            changes.wholes(job, "evt", job.remembered), job.quoted(job.remembered), strict=True
        )
    ]
    for name, part in sent(job).items():
        mark = f"evt.{job.mark(part)}"
        is_unlike = f"{is_upsert} and {mark} = (evt.{job.engine.quote(part.name)} is null)"
        values.append(f"case when {is_unlike} then {mark} end as {name}")
    told = f"select\n    {comma([*of('evt', job.identity), *_arrived(job)])}\nfrom {job.events} as evt"
    columns = comma([*of("evt", [*job.identity, names.KIND]), *values])
    return (
        Query()
        .then("told", told)
        .then("merged", _merged(job, job.identity))
        .then("events", f"select\n    {columns}\nfrom merged as evt")
    )


def presumed(job: Job, name: str, part: Part) -> Query:
    """Return the remembered events that sent a null in what could not be left out when they came."""
    value = changes.stored_part(job, part, "cmp")
    return Query().then(
        "written",
        f"select {job.at_companion('cmp')} as locator, true as value from {job.companion} as cmp\n"
        f"where cmp.{names.KIND} = 'upsert' and cmp.{name} is null and {value} is null",
    )


# complete events

# Whose, and what its windows go over. Beside the columns of users all names are our own.
_OF_KEY = f"partition by {names.OWNER} order by {names.PLACE}"
_PLACE = f"{names.OWNER}, {names.PLACE}"
_SECTION = f"{names.OWNER}, {names.SECTION}"


def placed(job: Job) -> Query:
    """Return what is said at each business time of the touched keys, from one moment to another.

    Out: one row per key, business time and moment at which an event there became known, the base as one: what was sent
    there and stands, and the section of the key's business time. Moments and places are told by number.
    """
    identity = [names.OWNER, names.SEQUENCE, names.SYSTEM_SEQUENCE]
    based = f"""
select evt.*, evt.{names.SYSTEM_SEQUENCE} < touched.{names.FIRST} as {names.IS_BASE}
from merged as evt
join {job.working(names.TOUCHED)} as touched on touched.{names.OWNER} = evt.{names.OWNER}"""
    marks = [job.mark(part) for part in sent(job).values()]
    columns = [*identity, names.KIND, *_names(job), *marks, names.PLACE, names.MOMENT]
    until = f"lead({names.MOMENT}) over (partition by {_PLACE} order by {names.MOMENT})"
    sectioned = f"""
select
    {comma([*columns, names.SECTION, f"{until} as {names.UNTIL}"])}
from numbered
join sections using ({_PLACE})"""
    return (
        Query()
        .then("told", _told(job, identity))
        .then("merged", _merged(job, identity))
        .then("based", based)
        .then("stated", _stated(job, identity))
        .then("numbered", _NUMBERED)
        .then("places", _PLACES)
        .then("facing", _FACING)
        .then("sections", _SECTIONS)
        .then("sectioned", sectioned)
    )


def _told(job: Job, identity: list[str]) -> str:
    """The events of the touched keys, new ones beside remembered ones, each with what it sent."""
    touched = job.working(names.TOUCHED)
    owner, *sequences = identity
    told = f"""
select
    {comma([f"touched.{owner}", *of("evt", sequences), *_arrived(job)])}
from {job.events} as evt
join {touched} as touched on {job.same_key("touched", "evt")}"""
    if job.builds:
        return told
    values = [
        f"{changes.stored_part(job, part, 'cmp')} as {job.engine.quote(part.name)}"
        for part in job.written_parts
    ]
    values += [f"{_was_sent(job, name, part)} as {job.mark(part)}" for name, part in sent(job).items()]
    return f"""{told}
union all
select
    {comma([f"touched.{owner}", *of("cmp", [*sequences, names.KIND]), *values])}
from {job.companion} as cmp
join {touched} as touched on {job.same_key("touched", "cmp")}"""


def _stated(job: Job, identity: list[str]) -> str:
    """Each event with all that was sent at its business time so far, since the last delete there.

    Of the base only what was known last will count.
    """
    at_place = f"partition by {names.OWNER}, {names.SEQUENCE} order by {names.SYSTEM_SEQUENCE}"
    is_upsert = f"{names.KIND} = 'upsert'"
    is_passed = f"coalesce(lead({names.IS_BASE}) over ({at_place}), false) as {names.REPLACES}"
    columns = [*identity, names.KIND, names.IS_BASE, is_passed]
    marked = set(sent(job).values())
    for part in job.written_parts:
        name, mark = job.engine.quote(part.name), job.mark(part)
        value = f"case when {is_upsert} then {name} end"
        if part in marked:
            told = f"not ({is_upsert}) or {mark}"
            was_sent = job.engine.carried(f"({is_upsert} and {mark})", "boolean", where=told, window="so_far")
            columns.append(f"coalesce({was_sent}, false) as {mark}")
            value = job.engine.carried(value, part.type, where=told, window="so_far")
        columns.append(f"{value} as {name}")
    return f"""
select
    {comma(columns)}
from based
window so_far as ({at_place} {SO_FAR})"""


_NUMBERED = f"""
select *, dense_rank() over (partition by {names.OWNER} order by {names.SEQUENCE}) as {names.PLACE},
    case when {names.IS_BASE} then 0 else dense_rank() over (
        partition by {names.OWNER}, {names.IS_BASE} order by {names.SYSTEM_SEQUENCE}
    ) end as {names.MOMENT}
from stated where not {names.REPLACES}"""

_PLACES = f"""
select {_PLACE}, min({names.MOMENT}) as first_moment, max({names.MOMENT}) as last_moment
from numbered group by {_PLACE}"""

_FACING = f"""
select {_PLACE}, max(last_moment) over ({_OF_KEY} {BEFORE}) as before,
    min(first_moment) over ({_OF_KEY} {_ONWARDS}) as after
from places"""

_SECTIONS = f"""
select {_PLACE}, sum(case when before <= after then 1 else 0 end) over ({_OF_KEY} {SO_FAR}) as {names.SECTION}
from facing"""


def line(job: Job) -> Query:
    """Return the complete events of the touched keys: one for each moment at which the row there became another.

    Out: one row per event in the form that the geometry takes, with its values; none of a key that learns nothing.
    """
    given = job.working(names.GIVEN)
    moments = f"select {names.OWNER}, {names.MOMENT}, min({names.SYSTEM_SEQUENCE}) as system from {given}"
    values = zip(changes.wholes(job, "evt", job.remembered), job.quoted(job.remembered), strict=True)
    columns = [*of("touched", job.keys), *(f"{value} as {name}" for value, name in values)]
    columns += [*of("evt", [names.SEQUENCE, names.KIND]), f"moments.system as {names.SYSTEM_SEQUENCE}"]
    columns += [f"evt.{names.OWNER} as {names.LINE_NUMBER}", f"evt.{names.MOMENT} = 0 as {names.IS_BASE}"]
    wholes = f"""
select
    {comma(columns)}
from compared as evt
join {job.working(names.TOUCHED)} as touched on touched.{names.OWNER} = evt.{names.OWNER}
join moments on moments.{names.OWNER} = evt.{names.OWNER} and moments.{names.MOMENT} = evt.{names.MOMENT}
where evt.{names.CHANGED} and evt.{names.OWNER} in (select {names.OWNER} from taught)"""
    taught = f"select distinct {names.OWNER} from compared where {names.CHANGED} and {names.MOMENT} > 0"
    return (
        Query()
        .then("moments", f"{moments} group by {names.OWNER}, {names.MOMENT}")
        .then("seen", f"select distinct {_SECTION}, {names.MOMENT} from {given}")
        .then("settled", _settled(job, given))
        .then("heads", f"select * from settled where {names.SECTION} < {names.NEXT}")
        .then("cells", _cells(job, given))
        .then("filled", _filled(job))
        .then("compared", _compared(job))
        .then("taught", taught)
        .then("line", wholes)
    )


def _ends(job: Job, part: Part) -> str:
    """The condition that a row says itself what a part is, if only that it is gone."""
    return f"{names.KIND} = 'delete' or {job.mark(part)}"


def _settled(job: Job, given: str) -> str:
    """The row at each business time as it is known in the end; the last of a section stands before the next one."""

    def last(part: Part) -> str:
        value = job.engine.quote(part.name)
        return job.engine.carried(value, part.type, where=_ends(job, part), window="so_far")

    values = [f"{last(part)} as {job.of_part(names.WAS, part)}" for part in sent(job).values()]
    following = f"lead({names.SECTION}) over ({_OF_KEY}) as {names.NEXT}"
    return f"""
select
    {comma([names.OWNER, names.SECTION, following, *values])}
from {given}
where {names.UNTIL} is null
window so_far as ({_OF_KEY} {SO_FAR})"""


def _cells(job: Job, given: str) -> str:
    """What stands at each business time at each moment of its section, with the row before the section."""
    marked = list(sent(job).values())
    own = [names.OWNER, names.SECTION, names.PLACE, names.SEQUENCE, names.KIND, *_names(job)]
    columns = [*of("evt", [*own, *map(job.mark, marked)]), f"seen.{names.MOMENT}"]
    columns += [f"head.{job.of_part(names.WAS, part)}" for part in marked]
    return f"""
select
    {comma(columns)}
from {given} as evt
join seen on seen.{names.OWNER} = evt.{names.OWNER} and seen.{names.SECTION} = evt.{names.SECTION}
    and evt.{names.MOMENT} <= seen.{names.MOMENT}
    and (evt.{names.UNTIL} is null or seen.{names.MOMENT} < evt.{names.UNTIL})
left join heads as head
    on head.{names.OWNER} = evt.{names.OWNER} and head.{names.NEXT} = evt.{names.SECTION}"""


def _filled(job: Job) -> str:
    """Each cell with the values that it has or inherits: from the last that has them, and from no delete."""
    columns = [names.OWNER, names.PLACE, names.MOMENT, names.SEQUENCE, names.KIND]
    marked = set(sent(job).values())
    for part in job.written_parts:
        name = job.engine.quote(part.name)
        if part not in marked:
            columns.append(name)
            continue
        ends = _ends(job, part)
        is_found = f"count(case when {ends} then 1 end) over so_far > 0"
        value = job.engine.carried(name, part.type, where=ends, window="so_far")
        columns.append(f"case when {is_found} then {value} else {job.of_part(names.WAS, part)} end as {name}")
    return f"""
select
    {comma(columns)}
from cells
window so_far as (partition by {_SECTION}, {names.MOMENT} order by {names.PLACE} {SO_FAR})"""


def _compared(job: Job) -> str:
    """Tell which cells say something else than the one at the moment before."""
    differs = [f"{names.KIND} <> lag({names.KIND}) over moments_of_place"]
    for part in job.written_parts:
        value = job.engine.comparable(job.engine.quote(part.name), part.type)
        differs.append(job.engine.differs(value, f"lag({value}) over moments_of_place"))
    is_first = f"lag({names.MOMENT}) over moments_of_place is null"
    return f"""
select *, {any_of([is_first, *differs])} as {names.CHANGED}
from filled
window moments_of_place as (partition by {_PLACE} order by {names.MOMENT})"""
