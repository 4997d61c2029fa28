"""The geometry of bitemporal histories: from events on two axes to the rectangles that are their versions.

One key's beliefs, with business time to the right and system time upwards. At 1 it became known that A holds, at 3 that
C holds from a later business time on, at 4 that D holds between the two::

    system time
      |  A        |  D        |  C
    4 |           4 ----------|
      |  A                    |  C
    3 |                       3 -------
      |  A
    1 1 -------------------------------
      +-------------------------------- business time

Every version is a rectangle. Its left and right sides are walls: a wall stands where, during some span of system time,
a run of the history starts or ends. Two facts keep the work small:

* An event changes the history only where it is put in: it is compared with the event before it, and the one after it is
  compared with it. So an event makes at most two walls. A wall stands until one of its two events is replaced, or
  another event comes between them.
* Rectangles are what lies between walls that see each other. A new one begins only where a wall begins or ends, so it
  is enough to look from there to the left and to the right for the nearest wall that stands at that moment.

"The nearest that stands at that moment" is asked of events, then of walls. Where events come in order the answer is
next door. Else `_nearest` finds it with windows alone: system time is cut into blocks of 1, 2, 4, 8 ... moments; what
stands for a while is listed in the few blocks that make up its time; a moment lies in one block of each size; and in
the list of a block the nearest is the one before or behind, by place. A key with n events costs n log n, whatever their
order.

A line is a key, or a part of one; a place is a business time on it, and a moment a system time, both by number. Moment
0 is the base: what was believed just before the first new event became known. Working tables hold little but numbers.

Not here: which events make up a line, and what becomes of the versions (`bitemporal`).
"""

from __future__ import annotations

from dbt_auto_cdc import names
from dbt_auto_cdc.resolve import Output
from dbt_auto_cdc.scd.job import Job
from dbt_auto_cdc.scd.scd2 import differences
from dbt_auto_cdc.sql import Query, any_of, indented

# Sizes of blocks: more moments than 2 ** 31 no key has.
_SIZES = "\nunion all ".join(["select 0 as level, 1 as size", *(f"select {n}, {2**n}" for n in range(1, 32))])
# A place behind all others, of the type in which some engines number rows.
_END = 2**31 - 1

SO_FAR = "rows between unbounded preceding and current row"
BEFORE = "rows between unbounded preceding and 1 preceding"
_BEHIND = "rows between 1 following and unbounded following"
# The windows are not called by names, which not every engine has.
_OF_LINE = "partition by line order by place"
_OF_PLACE = "partition by line, place order by moment"


def line(job: Job) -> str:
    """Return the working table with the events of all lines, and their values."""
    return job.events if job.builds and not job.sparse else job.working(names.LINE)


def steps(job: Job, lined: Query) -> list[tuple[str, str, Query]]:
    """Return the working tables up to the last before `versions`: what each is for, its suffix, and its rows.

    `lined` gives one row per event: its locator in `line` as event, line, kind, sequence, system_at, is_base, and
    whether a version of the base starts with it.
    """
    return [
        ("place the events on both axes", names.PLACED, _placed(lined)),
        ("list events by blocks of time", names.EVENT_BLOCKS, _blocks(job, *_events(job))),
        ("find the events beside each event", names.ARRIVALS, _arrivals(job)),
        ("find where versions start and end", names.TURNS, _turns(job)),
        ("look for the walls beside each event", names.SIGHTS, _sights(job)),
        ("list walls by blocks of time", names.WALL_BLOCKS, _blocks(job, *_walls(job))),
        ("find the walls beside each wall", names.WALL_NEIGHBOURS, _nearest(job, names.WALL_BLOCKS)),
    ]


# events


_RANKED = """
select *, dense_rank() over (partition by line order by sequence) as place,
    case when is_base then 0 else dense_rank() over (partition by line, is_base order by system_at) end as moment
from counted where not is_lone"""

_NUMBERED = f"""
select *, row_number() over ({_OF_LINE}, moment) as number,
    1 + max(moment) over (partition by line) as moments,
    lead(moment) over ({_OF_PLACE}) as replaced
from ranked"""

_PLACES = """
select line, place, max(number) as last_number, max(moment) as last_moment, min(moment) as first_moment
from numbered group by line, place"""

_FACING = f"""
select line, place,
    lag(last_number) over ({_OF_LINE}) as number_before, lag(last_moment) over ({_OF_LINE}) as moment_before,
    lead(last_number) over ({_OF_LINE}) as number_after, lead(last_moment) over ({_OF_LINE}) as moment_after,
    min(first_moment) over ({_OF_LINE} {_BEHIND}) as first_after
from places"""

_PLACED = """
select event, evt.line, kind, sequence, system_at, is_base, starts, is_lone, evt.place, moment, number, moments,
    coalesce(replaced, moments) as until, number_before as before,
    case when moment_after <= moment then number_after end as after,
    not (number_before is null or moment_before <= moment) as seeks_before,
    not (number_after is null or moment_after <= moment or first_after > moment) as seeks_after
from numbered as evt join facing on facing.line = evt.line and facing.place = evt.place
union all
select event, line, kind, sequence, system_at, is_base, starts, is_lone, 1, 1, 1, 2, 2, null, null, false, false
from counted where is_lone"""


def _once(columns: str, *selects: str) -> str:
    """Return the rows of some SELECTs, each once: `union` alone means something else on some engines, or nothing."""
    every = "\nunion all\n".join(selects)
    return f"select distinct {columns} from (\n{indented(every)}\n) as every_row"


def _placed(lined: Query) -> Query:
    """Number the places and the moments of each line.

    Out: one row per event: where it is, from which moment on and until which it is the one seen there, and the events
    beside it where they are easily told: those of the next place were all known, or none on that side was. Else it
    seeks. An event that is alone on its line needs no more than to be there.
    """
    counted = "select *, count(*) over (partition by line) = 1 as is_lone from lined"
    return (
        lined.then("counted", counted)
        .then("ranked", _RANKED)
        .then("numbered", _NUMBERED)
        .then("places", _PLACES)
        .then("facing", _FACING)
        .then("placed", _PLACED)
    )


def _events(job: Job) -> tuple[str, str]:
    """The events that seek one beside them, among all of their lines, each of which stands until it is replaced."""
    placed = job.working(names.PLACED)
    seeking = f"from {placed} where seeks_before or seeks_after"
    return (
        f"select line, number, place, moment, moments {seeking}",
        f"select line, number, place, moment, until from {placed} where line in (select line {seeking})",
    )


def _blocks(job: Job, points: str, spans: str) -> Query:
    """List points and spans by the blocks of time that they are in, so that `_nearest` can be asked.

    Points have line, number, place, moment and the line's moments; spans stand until a moment, and those of one place
    do not overlap. Numbers ascend by place. A point is in one block of each size, a span in at most two of each.
    """
    halve = job.engine.halved
    halved = f"""
select line, number, place, level, {halve("moment + size - 1", "level")} as low, {halve("until", "level")} as high
from (
{spans}
) as spans join sizes on size <= until"""
    listed = f"""
select line, level, low as block, place, number, 1 as is_span from halved where low < high and low % 2 = 1
union all
select line, level, high - 1, place, number, 1 from halved where low < high and high % 2 = 1
union all
select line, level, {halve("moment", "level")}, place, number, 0 from (
{points}
) as points join sizes on size <= moments"""
    return Query().then("sizes", _SIZES).then("halved", halved).then("listed", listed)


def _nearest(job: Job, listed: str) -> Query:
    """Find for each point the nearest spans on both sides that stand at its moment.

    Out: one row per point, with the numbers of the span before it and of the one after it.
    """
    # At one place the point comes first, in both directions: a span that stands there is neither before nor after.
    window = "partition by line, level, block order by place"
    seen = f"""
select line, number, is_span,
    max(case when is_span = 1 then number end) over ({window}, is_span {SO_FAR}) as before,
    min(case when is_span = 1 then number end) over ({window} desc, is_span {SO_FAR}) as after
from {job.working(listed)}"""
    nearest = "select line, number, max(before) as before, min(after) as after\nfrom seen where is_span = 0"
    return Query().then("seen", seen).then("nearest", f"{nearest} group by line, number")


def _arrivals(job: Job) -> Query:
    """Find the events on both sides of each event as it became known.

    Out: one row per event, with the number of the event before it, and the number and place of the one after it.
    """
    placed = job.working(names.PLACED)
    beside = f"""
select evt.line, evt.number, evt.place, evt.moment,
    case when evt.seeks_before then nearest.before else evt.before end as before,
    case when evt.seeks_after then nearest.after else evt.after end as after
from {placed} as evt
left join nearest on nearest.line = evt.line and nearest.number = evt.number
where not evt.is_lone"""
    arrivals = f"""
select beside.*, coalesce(next.place, {_END}) as after_place
from beside
left join {placed} as next on next.line = beside.line and next.number = beside.after"""
    return _nearest(job, names.EVENT_BLOCKS).then("beside", beside).then("arrivals", arrivals)


# walls


_MARKED = """
select pair.*,
    coalesce(present_kind = 'upsert' and (
        previous_kind is null or previous_kind = 'delete'
        or case when is_base then starts else differing.present_event is not null end
    ), false) as opens,
    coalesce(previous_kind = 'upsert' and (present_kind is null or present_kind = 'delete'), false) as closes
from pairs as pair
left join differing
    on differing.previous_event = pair.previous_event and differing.present_event = pair.present_event"""

_TURNS = f"""
select line, place, moment, previous_event, opens, opens or closes as is_wall,
    row_number() over ({_OF_LINE}, moment) as number,
    coalesce(lag(opens) over ({_OF_PLACE}), false) as did_open,
    coalesce(lag(opens or closes) over ({_OF_PLACE}), false) as was_wall,
    coalesce(lead(moment) over ({_OF_PLACE}), 1 + max(moment) over (partition by line)) as until
from marked"""


def _turns(job: Job) -> Query:
    """Find the pairs of neighbouring events, and from which moment on they are neighbours.

    Out: one row per place and moment at which the pair that meets there becomes another; whether a version starts with
    the pair's second event, whether the pair is a wall, and until which moment it stands.
    """
    placed, arrivals = job.working(names.PLACED), job.working(names.ARRIVALS)
    meeting = _once(
        "line, place, moment, previous, present",
        f"select line, place, moment, before as previous, number as present from {arrivals}",
        f"select line, after_place, moment, number, after from {arrivals}",
    )
    pairs = f"""
select met.line, met.place, met.moment, previous.event as previous_event, present.event as present_event,
    previous.kind as previous_kind, present.kind as present_kind,
    coalesce(previous.is_base and present.is_base, false) as is_base, coalesce(present.starts, false) as starts
from meeting as met
left join {placed} as previous on previous.line = met.line and previous.number = met.previous
left join {placed} as present on present.line = met.line and present.number = met.present"""
    # Neighbours in the base are what the versions there say: what is written is not cut anew.
    upserts = "previous_kind = 'upsert' and present_kind = 'upsert' and not is_base"
    compared = f"select distinct previous_event, present_event from pairs where {upserts}"
    return (
        Query()
        .then("meeting", meeting)
        .then("pairs", pairs)
        .then("differing", _different(job, compared, job.layout.tracked))
        .then("marked", _MARKED)
        .then("turns", _TURNS)
    )


def _different(job: Job, pairs: str, columns: tuple[Output, ...]) -> str:
    """The pairs of events, previous and present, that differ in one of the columns."""
    differs = any_of(differences(job, job.parts_of(columns), "previous", "present"))
    values = ", ".join([f"{job.engine.locator} as {names.LOCATOR}", *job.quoted(columns)])
    return f"""
select pair.previous_event, pair.present_event
from (
    {pairs}
) as pair
join (select {values} from {line(job)}) as previous on previous.{names.LOCATOR} = pair.previous_event
left join (select {values} from {line(job)}) as present on present.{names.LOCATOR} = pair.present_event
where {differs}"""


def _sights(job: Job) -> Query:
    """Look from each event, as it became known, for the walls to the left of it and to the right of the next event.

    Out: one row per event that changed a wall: the turns that it made, at its place and at the next one, and the walls
    beyond them where they are easily told: the last at the nearest place with any stands, or there is none. Else it
    seeks.
    """
    turns = job.working(names.TURNS)
    places = f"select line, place, max(case when is_wall then number end) as wall from {turns} group by line, place"
    facing = f"""
select line, place, max(wall) over ({_OF_LINE} {BEFORE}) as before,
    min(wall) over ({_OF_LINE} {_BEHIND}) as after
from places"""

    def stands(wall: str) -> str:
        return f"({wall}.moment <= evt.moment and evt.moment < {wall}.until)"

    sights = f"""
select evt.line, evt.moment, own.number as own, next.number as next, own.place as own_place, next.place as next_place,
    lefts.before as left_wall, lefts.before is not null and not {stands("wall_left")} as seeks_left,
    rights.after as right_wall, rights.after is not null and not {stands("wall_right")} as seeks_right
from {job.working(names.ARRIVALS)} as evt
join {turns} as own on own.line = evt.line and own.place = evt.place and own.moment = evt.moment
join {turns} as next on next.line = evt.line and next.place = evt.after_place and next.moment = evt.moment
join facing as lefts on lefts.line = evt.line and lefts.place = evt.place
join facing as rights on rights.line = evt.line and rights.place = evt.after_place
left join {turns} as wall_left on wall_left.line = evt.line and wall_left.number = lefts.before
left join {turns} as wall_right on wall_right.line = evt.line and wall_right.number = rights.after
where own.is_wall or own.was_wall or next.is_wall or next.was_wall"""
    return Query().then("places", places).then("facing", facing).then("sights", sights)


def _walls(job: Job) -> tuple[str, str]:
    """The turns from which a wall is sought, among all walls of their lines."""
    turns, sights = job.working(names.TURNS), job.working(names.SIGHTS)
    seeking = _once(
        "line, number",
        f"select line, own as number from {sights} where seeks_left",
        f"select line, next from {sights} where seeks_right",
    )
    points = f"""
select turn.line, turn.number, turn.place, turn.moment, turn.moments
from (select *, max(until) over (partition by line) as moments from {turns}) as turn
join (
{indented(seeking)}
) as seeking on seeking.line = turn.line and seeking.number = turn.number"""
    spans = f"""
select line, number, place, moment, until from {turns}
where is_wall and line in (select line from {sights} where seeks_left or seeks_right)"""
    return points.strip(), spans.strip()


# versions


_BEGUN = """
select bordered.* from bordered
left join changed on changed.previous_event = bordered.event_before and changed.present_event = bordered.event
where event is null or event_before is null or end_place <> end_place_before or changed.present_event is not null"""

_BOUNDED = """
select line, event, 1 as moment, sequence as start_at, no_end as end_at, system_at as system_start_at,
    no_system_end as system_end_at
from lone
union all
select spanning.line, spanning.event, spanning.moment, started.sequence, ended.sequence, since.system_at, till.system_at
from spanning
join places as started on started.line = spanning.line and started.place = spanning.place
left join places as ended on ended.line = spanning.line and ended.place = spanning.end_place
left join moments as since on since.line = spanning.line and since.moment = spanning.moment
left join moments as till on till.line = spanning.line and till.moment = spanning.until
where spanning.event is not null"""


def versions(job: Job) -> Query:
    """Cut out the rectangles between walls that see each other; those that say the same one after the other are one.

    Out: `bounded`, one row per version: its line, the event whose values it shows, the moment it begins at, its bounds.
    """
    turns, placed = job.working(names.TURNS), job.working(names.PLACED)
    of_place = "partition by pieces.line, pieces.place order by pieces.moment"
    bordered = f"""
select pieces.line, pieces.place, pieces.moment, wall.place as end_place, wall.previous_event as event,
    lag(wall.place) over ({of_place}) as end_place_before,
    lag(wall.previous_event) over ({of_place}) as event_before
from pieces
left join {turns} as wall on wall.line = pieces.line and wall.number = pieces.wall"""
    compared = (
        "select distinct event_before as previous_event, event as present_event from bordered"
        " where end_place = end_place_before and event <> event_before"
    )
    spanning = f"select *, lead(moment) over ({_OF_PLACE}) as until from begun"
    places = f"select line, place, min(sequence) as sequence from {placed} group by line, place"
    moments = f"select line, moment, min(system_at) as system_at from {placed} where moment > 0 group by line, moment"
    nulls = f"{job.engine.null(job.layout.sequence_type)} as no_end"
    nulls += f", {job.engine.null(job.layout.system_type)} as no_system_end"
    return (
        Query()
        .then("beheld", _beheld(job))
        .then("pieces", _pieces(turns))
        .then("bordered", bordered)
        .then("changed", _different(job, compared, job.remembered))
        .then("begun", _BEGUN)
        .then("spanning", spanning)
        .then("places", places)
        .then("moments", moments)
        .then("lone", f"select *, {nulls} from {placed} where is_lone and kind = 'upsert'")
        .then("bounded", _BOUNDED)
    )


def _beheld(job: Job) -> str:
    """The sights with what had to be sought."""
    turns, nearest = job.working(names.TURNS), job.working(names.WALL_NEIGHBOURS)
    return f"""
select evt.line, evt.moment, evt.own, evt.next, evt.own_place, evt.next_place,
    own.opens as own_opens, next.opens as next_opens, own.is_wall as own_is_wall, next.is_wall as next_is_wall,
    case when evt.seeks_left then lefts.before else evt.left_wall end as left_wall,
    case when evt.seeks_right then rights.after else evt.right_wall end as right_wall
from {job.working(names.SIGHTS)} as evt
join {turns} as own on own.line = evt.line and own.number = evt.own
join {turns} as next on next.line = evt.line and next.number = evt.next
left join {nearest} as lefts on lefts.line = evt.line and lefts.number = evt.own
left join {nearest} as rights on rights.line = evt.line and rights.number = evt.next"""


def _pieces(turns: str) -> str:
    """One row per place and moment from which on a version that starts there ends at another wall, or is none."""
    return _once(
        "line, place, moment, wall",
        "select line, own_place as place, moment, case when next_is_wall then next else right_wall end as wall\n"
        "from beheld where own_opens",
        "select line, next_place, moment, right_wall from beheld where next_opens",
        f"""
select evt.line, wall.place, evt.moment,
    case when own_is_wall then own when next_is_wall then next else right_wall end
from beheld as evt join {turns} as wall on wall.line = evt.line and wall.number = evt.left_wall
where wall.opens""".strip(),
        f"select line, place, moment, null from {turns} where did_open and not opens",
    )
