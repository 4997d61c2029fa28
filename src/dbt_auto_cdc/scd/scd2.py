"""SCD type 2: the touched part of each key's timeline is read, cut into runs, and only what differs is written.

Not here: staging and checking events (`changes`), creating tables (`materializations`).
"""

from __future__ import annotations

from collections.abc import Callable

from dbt_auto_cdc import names
from dbt_auto_cdc.plan import Rule, Step
from dbt_auto_cdc.resolve import Part
from dbt_auto_cdc.scd import changes, check, scd2_partial, writes
from dbt_auto_cdc.scd.job import Job, of
from dbt_auto_cdc.sql import Query, all_of, any_of, comma

WRITTEN = "num_versions_written"
REMOVED = "num_versions_removed"
FEW_ENDED = "num_versions_ended_and_few"
MANY_ENDED = "num_versions_ended_and_many"

# Up to one in so many rows of the target it is cheaper to write an ended version anew than to set its end in place:
# its values are at hand, and a column-wise engine writes the column anew for every block that holds one of them.
IN_PLACE_FROM = 100
FORGOTTEN = "num_hidden_forgotten"
HIDDEN = "num_hidden_remembered"


def read(job: Job) -> tuple[Step, ...]:
    """Bring the feed into checked new events."""
    if job.builds:
        return (changes.stage(job), check.check(job, changes.repeated(job)))
    return (
        changes.stage(job),
        _stored(job),
        changes.events(job, scd2_partial.new_events(job, is_inside(job)))
        if job.partial
        else _new_events(job),
        check.check(job, changes.repeated(job), late=_late(job)),
    )


def _stored(job: Job) -> Step:
    """Find the versions of the staged keys, narrowly. Out: one row per version, with its locator and bounds."""
    keys = job.engine.each_once(job.keys, job.working(names.STAGE))
    shown = "".join(f",\n    {shown}" for shown in scd2_partial.shown(job))
    query = Query().then(
        "stored",
        f"select {', '.join(of('tgt', job.keys))},\n"
        f"    tgt.{job.start_at} as {names.SEQUENCE}, tgt.{job.end_at} as {names.OLD_END},"
        f" {job.at('tgt')} as {names.LOCATOR}{shown}\n"
        f"from {job.target} as tgt\n"
        f"join ({keys}) as stg on {job.same_key('stg', 'tgt')}",
    )
    return Step("find the versions of the keys", job.engine.create_working(job.working(names.STORED), query))


def _new_events(job: Job) -> Step:
    """Keep events that are no bound of a version of their key and not remembered as hidden.

    Out: the stage's columns. A hidden upsert counts only while the version that hides it is there.
    """
    columns = comma(of(names.AROUND, [*job.output, *changes.EVENT]))
    stored = job.working(names.STORED)
    place = ", ".join(of("cmp", [*job.keys, names.SEQUENCE]))
    hidden = f"""
select {place} from {job.companion} as cmp where cmp.{names.KIND} = 'delete'
union all
select {place} from {job.companion} as cmp
join {stored} as tgt on {is_inside(job)}
where cmp.{names.KIND} = 'upsert'"""

    def is_known(relation: str, column: str) -> str:
        return (
            f"exists (select 1 from {relation} as known"
            f" where {job.same_key('known', names.AROUND)} and known.{column} = {names.AROUND}.{names.SEQUENCE})"
        )

    new = f"""
select
    {columns}
from {job.working(names.STAGE)} as {names.AROUND}
where not {is_known(stored, names.SEQUENCE)}
and not {is_known(stored, names.OLD_END)}
and not {is_known("hidden", names.SEQUENCE)}"""
    return changes.events(job, Query().then("hidden", hidden).then("new", new))


def is_inside(job: Job, event: str = "cmp") -> str:
    """The condition that an event of the companion lies in a stored version, tgt."""
    return (
        f"{job.same_key('tgt', event)} and tgt.{names.SEQUENCE} = {event}.{names.RUN_START}"
        f" and (tgt.{names.OLD_END} is null or {event}.{names.SEQUENCE} < tgt.{names.OLD_END})"
    )


def _late(job: Job) -> str:
    """Count the new events below the greatest sequence that their key had."""
    keys = ", ".join(job.keys)
    return f"""
select count(*) from {job.events} as evt
join (
    select {keys}, {job.extreme("max", names.SEQUENCE)} as {names.LATEST} from (
        select {keys}, coalesce({names.OLD_END}, {names.SEQUENCE}) as {names.SEQUENCE} from {job.working(names.STORED)}
        union all
        select {", ".join(of("cmp", [*job.keys, names.SEQUENCE]))}
        from {job.companion} as cmp
        join (select distinct {keys} from {job.events}) as evt on {job.same_key("evt", "cmp")}
    ) as known group by {keys}
) as head on {job.same_key("head", "evt")} and evt.{names.SEQUENCE} < head.{names.LATEST}"""


# the timeline


def line(job: Job) -> str:
    """Return the working table with the events of the touched part of each timeline, and their values."""
    return job.events if job.builds and not job.partial else job.working(names.LINE)


def _given(job: Job) -> str:
    """Return the working table with the same events as they came; but for partial updates they are filled already."""
    return job.working(names.GIVEN) if job.partial else line(job)


def timeline(job: Job) -> tuple[Step, ...]:
    """Order the touched part of each key's timeline and cut it into runs."""
    cut = Step(
        "cut the touched timelines into runs",
        job.engine.create_working(job.working(names.TIMELINE), _cut(job)),
        () if job.builds else (check.NEW,),
    )
    if job.partial:
        filled = Step(
            "fill what the events left out",
            job.engine.create_working(line(job), scd2_partial.filled(job, _given(job)), keys=job.keys),
            cut.only_if,
        )
        return (filled, cut) if job.builds else (_lined_up(job), filled, cut)
    return (cut,) if job.builds else (_lined_up(job), cut)


def _lined_up(job: Job) -> Step:
    """Put the new events beside what the affected versions say and hide: the first wide read of the target.

    In: new events, and of their keys the versions that end after the first of them. Out: one row per event; the
    first event of a version carries its locator and end, a hidden event its place in the companion.
    """
    query = _affected(job)
    sources = [
        _delivered(job),
        _first_events(job),
        _inner_events(job),
        _closing_deletes(job),
        _hidden_deletes(job),
    ]
    query = query.then("line", "\nunion all\n".join(source.strip() for source in sources))
    return Step(
        "line up the events of the touched keys",
        job.engine.create_working(_given(job), query, keys=job.keys),
        (check.NEW,),
    )


def _affected(job: Job) -> Query:
    """The affected versions with their values, and what they hide."""
    touched = (
        f"select {', '.join(job.keys)}, {job.extreme('min', names.SEQUENCE)} as {names.FIRST}\n"
        f"from {job.events} group by {', '.join(job.keys)}"
    )
    reached = f"""
select {", ".join(of("past", [*job.keys, names.SEQUENCE, names.OLD_END, names.LOCATOR]))}
from {job.working(names.STORED)} as past
join touched on {job.same_key("touched", "past")}
where past.{names.OLD_END} is null or past.{names.OLD_END} > touched.{names.FIRST}"""
    affected = f"""
select
    {comma(of("tgt", job.output))},
    {comma(of("reached", [names.SEQUENCE, names.OLD_END, names.LOCATOR]))}
from {job.target} as tgt
join reached on reached.{names.LOCATOR} = {job.at("tgt")}"""
    inside = f"""
select
    {comma(of("cmp", [*job.keys, names.SEQUENCE, names.RUN_START, *_remembered_values(job)]))},
    {job.at_companion("cmp")} as {names.HIDDEN}
from {job.companion} as cmp
join affected on {job.same_key("affected", "cmp")} and affected.{names.SEQUENCE} = cmp.{names.RUN_START}
    and (affected.{names.OLD_END} is null or cmp.{names.SEQUENCE} < affected.{names.OLD_END})
where cmp.{names.KIND} = 'upsert'"""
    query = (
        Query()
        .then("touched", touched)
        .then("reached", reached)
        .then("affected", affected)
        .then("inside", inside)
    )
    if not _has_shows(job):
        return query
    version = ", ".join([*job.keys, names.RUN_START])
    return query.then(
        "latest",
        f"select {version}, {job.extreme('max', names.SEQUENCE)} as {names.LATEST}\nfrom inside group by {version}",
    )


def _remembered_values(job: Job) -> list[str]:
    """What the companion keeps of a hidden event beside its place."""
    return [*job.quoted(job.layout.untracked), *scd2_partial.sent(job)]


def _has_shows(job: Job) -> bool:
    """Whether a run's last event has to be compared with what its version shows, and which event that is of."""
    return bool(job.layout.untracked) or job.partial


def _event(job: Job, values: list[str], kind: str, marks: dict[str, str]) -> str:
    """Return the select list of one kind of event; `values` in the order of the parts, marks that it lacks null."""
    no_sequence = job.engine.null(job.layout.sequence_type)
    nulls = dict.fromkeys((names.OLD_END, names.RUN_START), no_sequence)
    nulls |= dict.fromkeys((names.LOCATOR, names.SHOWS), job.nowhere)
    nulls[names.HIDDEN] = job.nowhere_in_companion
    listed = [f"{value} as {name}" for name, value in zip(job.parts, values, strict=True)]
    listed += [f"{marks.get(mark, 'false')} as {mark}" for mark in scd2_partial.marks(job)]
    listed += [f"{marks[names.SEQUENCE]} as {names.SEQUENCE}", f"{kind} as {names.KIND}"]
    optional = [names.LOCATOR, names.OLD_END, names.HIDDEN, names.RUN_START]
    for mark in [*optional, *([names.SHOWS] if _has_shows(job) else [])]:
        listed.append(f"{marks.get(mark, nulls[mark])} as {mark}")
    return f"select\n    {comma(listed)}"


def _delivered(job: Job) -> str:
    marks = {names.SEQUENCE: f"evt.{names.SEQUENCE}", names.IS_NEW: "true"}
    marks |= {job.mark(part): f"evt.{job.mark(part)}" for part in job.layout.parts if part.marked}
    return _event(job, of("evt", job.parts), f"evt.{names.KIND}", marks) + f"\nfrom {job.events} as evt"


def _first_events(job: Job) -> str:
    """The upsert that opened each affected version; what later ones overwrote comes from the companion."""
    marks = {name: f"tgt.{name}" for name in (names.SEQUENCE, names.LOCATOR, names.OLD_END)}
    values, joins = _shown_values(job), ""
    if _has_shows(job):
        alone = f"latest.{names.LATEST} is null or latest.{names.LATEST} = tgt.{names.SEQUENCE}"
        stored = f"first.{names.HIDDEN} is null"
        values = _either(job, f"{stored} or {alone}" if job.partial else stored, "first")
        marks |= {name: f"first.{name}" for name in (names.HIDDEN, names.RUN_START)}
        marks |= scd2_partial.told(job, values, "first")
        marks[names.SHOWS] = f"case when {alone} then tgt.{names.LOCATOR} end"
        joins = f"""
left join inside as first on {job.same_key("first", "tgt")} and first.{names.SEQUENCE} = tgt.{names.SEQUENCE}
left join latest on {job.same_key("latest", "tgt")} and latest.{names.RUN_START} = tgt.{names.SEQUENCE}"""
    return _event(job, values, "'upsert'", marks) + f"\nfrom affected as tgt{joins}"


def _inner_events(job: Job) -> str:
    """The upserts inside each affected version; the last of them shows what the version shows."""
    marks = {name: f"cmp.{name}" for name in (names.SEQUENCE, names.HIDDEN, names.RUN_START)}
    values, joins = _shown_values(job), ""
    if _has_shows(job):
        is_last = f"cmp.{names.SEQUENCE} = latest.{names.LATEST}"
        values = _either(job, is_last, "cmp")
        marks |= scd2_partial.told(job, values, "cmp")
        marks[names.SHOWS] = f"case when {is_last} then tgt.{names.LOCATOR} end"
        joins = f"\njoin latest on {job.same_key('latest', 'cmp')} and latest.{names.RUN_START} = cmp.{names.RUN_START}"
    return f"""{_event(job, values, "'upsert'", marks)}
from inside as cmp
join affected as tgt on {job.same_key("tgt", "cmp")} and tgt.{names.SEQUENCE} = cmp.{names.RUN_START}{joins}
where cmp.{names.SEQUENCE} > cmp.{names.RUN_START}"""


def _shown_values(job: Job) -> list[str]:
    """The values of an affected version."""
    return [changes.stored_part(job, part, "tgt") for part in job.layout.parts]


def _either(job: Job, is_shown: str, hidden: str) -> list[str]:
    """The values of an event of an affected version: untracked ones are shown, or hidden in the companion."""
    untracked = set(job.parts_of(job.layout.untracked))
    return [
        f"case when {is_shown} then {shown} else {changes.stored_part(job, part, hidden)} end"
        if part in untracked
        else shown
        for part, shown in zip(job.layout.parts, _shown_values(job), strict=True)
    ]


def _only_key(job: Job, alias: str) -> list[str]:
    """Return the output with nothing but the key: a delete's payload is never written."""
    parts = zip(job.parts, job.layout.parts, strict=True)
    return [f"{alias}.{name}" if name in job.keys else job.engine.null(part.type) for name, part in parts]


def _closing_deletes(job: Job) -> str:
    """The delete at each affected end where no version starts."""
    end = f"{names.AROUND}.{names.OLD_END}"
    return f"""{_event(job, _only_key(job, names.AROUND), "'delete'", {names.SEQUENCE: end})}
from affected as {names.AROUND}
where {end} is not null and not exists (
    select 1 from reached as next where {job.same_key("next", names.AROUND)} and next.{names.SEQUENCE} = {end}
)"""


def _hidden_deletes(job: Job) -> str:
    """The deletes after the first new event that closed nothing; one at a version's start is overruled by it."""
    cmp = names.AROUND
    marks = {names.SEQUENCE: f"{cmp}.{names.SEQUENCE}", names.HIDDEN: job.at_companion(cmp)}
    return f"""{_event(job, _only_key(job, cmp), "'delete'", marks)}
from {job.companion} as {cmp}
join touched on {job.same_key("touched", cmp)} and {cmp}.{names.SEQUENCE} > touched.{names.FIRST}
where {cmp}.{names.KIND} = 'delete' and not exists (
    select 1 from reached where {job.same_key("reached", cmp)} and reached.{names.SEQUENCE} = {cmp}.{names.SEQUENCE}
)"""


def _cut(job: Job) -> Query:
    """Cut the line into runs, narrowly: values are looked at only for pairs of neighbouring upserts.

    Out: one row per event, without values; on a run's last event the run's bounds and the version it replaces.
    """
    query = Query()
    if _has_copies(job):
        query = query.then("repeated", changes.repeated(job)).then("copies", changes.copies(job, line(job)))
    query = query.then("ordered", _ordered(job)).then("differing", _differing(job))
    query = query.then("marked", _marked(job)).then("bounded", _bounded(job))
    return query.then("timeline", _compared(job))


def _has_copies(job: Job) -> bool:
    """Whether events of one place may still be different; those of partial updates are one already."""
    return job.spec.sequence_ties != "fail" and not job.partial


def _marks(job: Job) -> list[str]:
    inherits = [names.INHERITS] if job.partial else []
    if job.builds:
        return inherits
    marks = [names.LOCATOR, names.OLD_END, names.HIDDEN, names.RUN_START]
    marks += [names.SHOWS] if _has_shows(job) else []
    return [*marks, *([names.CHANGED] if job.partial else []), *inherits]


def _ordered(job: Job) -> str:
    """Each event with the one before it; copies are left out, and being equal may stand for one another."""
    source = f"from {line(job)} as evt"
    if _has_copies(job):
        source += f"\nwhere evt.{job.engine.locator} not in (select locator from copies)"
    columns = [*job.keys, *changes.EVENT, *_marks(job)]
    order = f"evt.{names.SEQUENCE}"
    if not job.builds:
        # A delete may be remembered and, by hand, have become a version's end: the remembered one stands for both.
        order += f", case when evt.{names.HIDDEN} is null then 1 else 0 end"
    window = f"(partition by {', '.join(of('evt', job.keys))} order by {order})"
    return f"""
select * from (
    select
        evt.{job.engine.locator} as {names.EVENT},
        {comma(of("evt", columns))},
        lag(evt.{names.KIND}) over {window} as {names.PREVIOUS},
        lag(evt.{job.engine.locator}) over {window} as {names.PREVIOUS_EVENT},
        lag(evt.{names.SEQUENCE}) over {window} as {names.PREVIOUS_SEQUENCE}
    {source}
) as neighbours
where {names.PREVIOUS_SEQUENCE} is null or {names.PREVIOUS_SEQUENCE} <> {names.SEQUENCE}"""


def _differing(job: Job) -> str:
    """The upserts that differ from the upsert before them in a tracked column."""
    parts = job.parts_of(job.layout.tracked)
    differs = any_of(differences(job, parts, "this", "that"))
    tracked = ", ".join([f"{job.engine.locator} as {names.EVENT}", *_names(job, parts)])
    # A left join, though every one is found: DuckDB 1 would first pair all that differ.
    return f"""
select pair.{names.EVENT}
from (
    select {names.EVENT}, {names.PREVIOUS_EVENT} from ordered
    where {names.KIND} = 'upsert' and {names.PREVIOUS} = 'upsert'
) as pair
join (select {tracked} from {line(job)}) as this on this.{names.EVENT} = pair.{names.EVENT}
left join (select {tracked} from {line(job)}) as that on that.{names.EVENT} = pair.{names.PREVIOUS_EVENT}
where {differs}"""


def _names(job: Job, parts: tuple[Part, ...]) -> list[str]:
    return [job.engine.quote(part.name) for part in parts]


def differences(job: Job, parts: tuple[Part, ...], left: str, right: str) -> list[str]:
    """Return one condition a part: that it differs between two relations, null being a value."""
    engine = job.engine
    return [
        engine.differs(
            engine.comparable(f"{left}.{name}", part.type), engine.comparable(f"{right}.{name}", part.type)
        )
        for name, part in zip(_names(job, parts), parts, strict=True)
    ]


def _marked(job: Job) -> str:
    """Tell which upserts open a run and which deletes close one."""
    columns = [names.EVENT, *job.keys, *changes.EVENT, *_marks(job)]
    unlike = f"{names.PREVIOUS} is null or {names.PREVIOUS} = 'delete' or differing.{names.EVENT} is not null"
    return f"""
select
    {comma(of("evt", columns))},
    evt.{names.KIND} = 'upsert' and ({unlike}) as {names.OPENS},
    evt.{names.KIND} = 'delete' and coalesce({names.PREVIOUS} = 'upsert', false) as {names.CLOSES}
from ordered as evt
left join differing on differing.{names.EVENT} = evt.{names.EVENT}"""


def _bounded(job: Job) -> str:
    """Give each event its run: the start from the event that opened it, the end from the event after its last."""
    keys = ", ".join(job.keys)
    window = f"(partition by {keys} order by {names.SEQUENCE})"
    so_far = f"order by {names.SEQUENCE} rows between unbounded preceding and current row"
    opened = f"case when {names.OPENS} then {names.SEQUENCE} end"
    started = job.extreme("max", opened, over=f" over (partition by {keys} {so_far})")
    return f"""
select
    marked.*,
    lead({names.SEQUENCE}) over {window} as {names.NEXT},
    {names.KIND} = 'upsert' and coalesce(
        lead({names.OPENS} or {names.KIND} = 'delete') over {window}, true
    ) as {names.LAST},
    {started} as {names.STARTED}
from marked"""


def _compared(job: Job) -> str:
    """Set each run beside the version with its start.

    Columns added: the version replaced, whether it shows the same values, whether its end moved, and whether the
    event is to be remembered as hidden.
    """
    hides = [
        f"(evt.{names.KIND} = 'delete' and not evt.{names.CLOSES})",
        f"(evt.{names.KIND} = 'upsert' and not evt.{names.OPENS})",
    ]
    if job.layout.untracked:
        hides.append(f"(evt.{names.OPENS} and not evt.{names.LAST})")
    if job.partial:
        hides.append(f"(evt.{names.KIND} = 'upsert' and evt.{names.INHERITS})")
    columns = [
        *of("evt", [names.EVENT, *job.keys, *changes.EVENT, names.LAST]),
        f"case when evt.{names.KIND} = 'upsert' then evt.{names.STARTED} end as {names.RUN_START}",
        f"case when evt.{names.LAST} then evt.{names.NEXT} end as {names.RUN_END}",
        f"({any_of(hides)}) as {names.HIDES}",
    ]
    if job.builds:
        return f"select\n    {comma([*columns, f'false as {names.SAME}'])}\nfrom bounded as evt"
    columns += [
        *of("evt", [names.LOCATOR, names.OLD_END, names.HIDDEN, *([names.CHANGED] if job.partial else [])]),
        f"evt.{names.RUN_START} as {names.WAS_IN}",
        f"past.{names.LOCATOR} as {names.REPLACES}",
        f"coalesce({_is_same(job)}, false) as {names.SAME}",
        f"{job.engine.differs(f'evt.{names.NEXT}', f'past.{names.OLD_END}')} as {names.MOVED}",
    ]
    # DuckDB 1 compares each with each, where a condition of a left join is about its left side alone.
    started = f"case when evt.{names.LAST} then evt.{names.STARTED} end"
    return f"""
select
    {comma(columns)}
from bounded as evt
left join bounded as past on {job.same_key("past", "evt")}
    and past.{names.SEQUENCE} = {started} and past.{names.LOCATOR} is not null{_shown(job)}"""


def _is_same(job: Job) -> str:
    """The condition that a run's last event has the values that the version with its start shows."""
    found = f"past.{names.LOCATOR} is not null"
    if not _has_shows(job):
        return found
    equal = all_of(f"not ({condition})" for condition in differences(job, _compares(job), "this", "shown"))
    stays = f"evt.{names.SHOWS} = past.{names.LOCATOR}"
    if job.partial:
        stays = f"({stays} and not evt.{names.CHANGED})"
    return f"{found} and ({stays} or ({equal}))"


def _compares(job: Job) -> tuple[Part, ...]:
    """What may differ between a version and a run that starts where it does: filled values may in any column."""
    if not job.partial:
        return job.parts_of(job.layout.untracked)
    return job.written_parts


def _shown(job: Job) -> str:
    """The joins to those values of the run's last event and of the version it may replace that may differ."""
    if not _has_shows(job):
        return ""
    values = ", ".join(_names(job, _compares(job)))
    return f"""
left join (select {job.engine.locator} as {names.EVENT}, {values} from {line(job)}) as this
    on this.{names.EVENT} = case when past.{names.LOCATOR} is not null then evt.{names.EVENT} end
left join (select {names.SHOWS}, {values} from {_given(job)} where {names.SHOWS} is not null) as shown
    on shown.{names.SHOWS} = past.{names.LOCATOR}"""


# What becomes of a row of the timeline.
_IS_WRITTEN = f"{names.LAST} and not {names.SAME}"
_IS_KEPT = f"{names.SAME} and not {names.MOVED}"
_IS_ENDED = f"{names.LAST} and {names.SAME} and {names.MOVED}"
_IS_REMEMBERED = (
    f"{names.HIDDEN} is not null and ({names.KIND} = 'delete' or {names.WAS_IN} = {names.RUN_START})"
)


def _is_remembered(job: Job) -> str:
    return f"{_IS_REMEMBERED} and not {names.CHANGED}" if job.partial else _IS_REMEMBERED


def _is_forgotten(job: Job) -> str:
    return f"{names.HIDDEN} is not null and not ({names.HIDES} and {_is_remembered(job)})"


def versions(job: Job, *, with_ended: bool = False) -> Query:
    """Return the versions to be written, in the target's columns; with those that only end where wanted."""
    chosen = f"{names.EVENT}, {names.RUN_START}, {names.RUN_END}"
    which = f"{names.LAST} and not ({_IS_KEPT})" if with_ended else _IS_WRITTEN
    written = f"select {chosen}\nfrom {job.working(names.TIMELINE)}\nwhere {which}"
    bounds = [f"run.{names.RUN_START} as {job.start_at}", f"run.{names.RUN_END} as {job.end_at}"]
    return (
        Query()
        .then("written", written)
        .then(
            "versions",
            f"select {', '.join([*changes.whole(job, 'evt'), *bounds])}\nfrom {line(job)} as evt\n"
            f"join written as run on run.{names.EVENT} = evt.{job.engine.locator}",
        )
    )


def hidden_columns(job: Job) -> list[str]:
    """Return the companion's columns of a hidden event."""
    return [*job.keys, names.SEQUENCE, names.KIND, names.RUN_START, *_remembered_values(job)]


def remembered(job: Job) -> Query:
    """Return the hidden events that the companion lacks."""
    narrow = [*job.keys, names.SEQUENCE, names.KIND, names.RUN_START]
    source, missing = job.working(names.TIMELINE), _is_missing(job)
    columns = _remembered_values(job)
    if not columns:
        return Query().then("hidden", f"select {', '.join(narrow)}\nfrom {source}\nwhere {missing}")
    kept = [*changes.wholes(job, "evt", job.layout.untracked), *of("evt", scd2_partial.sent(job).values())]
    values = [
        f"case when evt.{names.KIND} = 'upsert' then {value} end as {name}"
        for name, value in zip(columns, kept, strict=True)
    ]
    return (
        Query()
        .then("missing", f"select {', '.join([names.EVENT, *narrow])}\nfrom {source}\nwhere {missing}")
        .then(
            "hidden",
            f"select {', '.join([*of('missing', narrow), *values])}\nfrom {line(job)} as evt\n"
            f"join missing on missing.{names.EVENT} = evt.{job.engine.locator}",
        )
    )


def _is_missing(job: Job) -> str:
    return names.HIDES if job.builds else f"{names.HIDES} and not ({_is_remembered(job)})"


def _forgotten(job: Job) -> Query:
    """Return the companion's rows that hide nothing any more, or stand in another run."""
    source = job.working(names.TIMELINE)
    moved = f"select {names.HIDDEN} as locator from {source}\nwhere {_is_forgotten(job)}"
    return (
        Query()
        .then("orphaned", _orphaned(job))
        .then("forgotten", f"{moved}\nunion all\nselect locator from orphaned")
    )


def _orphaned(job: Job) -> str:
    """The touched keys' hidden upserts whose version was taken away or shortened by hand.

    They have to go, or else they would count again as soon as a version starts where theirs did.
    """
    cmp = names.AROUND
    return f"""
select {job.at_companion(cmp)} as locator
from {job.companion} as {cmp}
join (select distinct {", ".join(job.keys)} from {job.events}) as evt on {job.same_key("evt", cmp)}
where {cmp}.{names.KIND} = 'upsert'
and not exists (select 1 from {job.working(names.STORED)} as tgt where {is_inside(job, cmp)})"""


def _removed(job: Job, *, with_ended: bool = False) -> Query:
    """Return the locators of versions that do not stay; with those that only end where wanted."""
    cut, place = job.working(names.TIMELINE), f"{names.AROUND}.{names.LOCATOR}"
    stays = _IS_KEPT if with_ended else names.SAME
    kept = f"select {names.REPLACES} as locator from {cut} where {stays}"
    return (
        Query()
        .then("kept", kept)
        .then(
            "removed",
            f"select {place} from {cut} as {names.AROUND}\nwhere {place} is not null"
            f" and not exists (select 1 from kept where kept.locator = {place})",
        )
    )


def _ended(job: Job) -> Query:
    """Return the versions whose values stay and whose end moves."""
    return Query().then(
        "ended",
        f"select {names.REPLACES} as locator, {names.RUN_END} as value\n"
        f"from {job.working(names.TIMELINE)}\nwhere {_IS_ENDED}",
    )


def few(job: Job, ended: str) -> str:
    """The condition that so few versions end that they are better written anew; never where an engine overwrites rows.

    Some engines know how many rows a table has, others have to read it. Without transactions all is one statement.
    """
    if job.engine.overwrites or not job.engine.transactions:
        return "false"
    return f"{ended} * {IN_PLACE_FROM} <= (select count(*) from {job.target})"


def measure(job: Job) -> Step:
    """Count what will be written, and refuse bounds written by hand that cannot be."""

    def count(condition: str) -> str:
        return f"count(case when {condition} then 1 end)"

    stored = f"{names.LOCATOR} is not null"
    removed = f"{count(stored)} - {count(names.SAME)}"
    rewritten = count(f"{_IS_WRITTEN} and {names.REPLACES} is not null")
    ended = count(_IS_ENDED)
    is_few = few(job, ended)
    alone = f"case when {ended} > 0 and {is_few} then 0 else 1 end"
    measured = f"""
select
    case when {is_few} then {ended} else 0 end as {FEW_ENDED},
    case when {is_few} then 0 else {ended} end as {MANY_ENDED},
    {alone} * {count(_IS_WRITTEN)} as {WRITTEN},
    {alone} * ({removed}) as {REMOVED},
    {count(_is_forgotten(job))} + (select count(*) from orphaned) as {FORGOTTEN},
    {count(_is_missing(job))} as {HIDDEN},
    {count(_IS_ENDED)} + {count(_IS_WRITTEN)} as num_upserted_rows,
    {removed} - {rewritten} as num_deleted_rows,
    (select count(*) from crossed) as crossed_versions,
    (select min(example) from crossed) as crossed_versions_example
from {job.working(names.TIMELINE)}"""
    query = (
        Query().then("stored", _stored_bounds(job)).then("crossed", _CROSSED).then("orphaned", _orphaned(job))
    )
    query = query.then("measured", measured)
    rule = Rule(
        "crossed_versions",
        f"{{count}} row{{s}} of the target {{has}} bounds that overlap, are empty or lack {names.START_AT}, for example"
        f" {{example}}; written by hand: correct them, one open row a key and no overlap",
    )
    return Step("measure what changes", query.render(), only_if=(check.NEW,), measures=True, rules=(rule,))


_CROSSED = """
select example from stored
where start_at is null or end_at <= start_at or next_start_at < end_at
    or (end_at is null and next_start_at is not null)"""


def _stored_bounds(job: Job) -> str:
    """The affected versions as they stand in the target, each with the start of the next."""
    keys = ", ".join(of("evt", job.keys))
    shown = job.engine.as_text(f"evt.{names.SEQUENCE}")
    return f"""
select {job.key_text("evt")} || ' from ' || coalesce({shown}, 'null') as example,
    evt.{names.SEQUENCE} as start_at, evt.{names.OLD_END} as end_at,
    lead(evt.{names.SEQUENCE}) over (partition by {keys} order by evt.{names.SEQUENCE}) as next_start_at
from {_given(job)} as evt where evt.{names.LOCATOR} is not null"""


def apply(job: Job) -> tuple[Step, ...]:
    """Write what differs, and keep the companion in step."""
    hidden = hidden_columns(job), remembered(job)
    return (
        *write(job),
        writes.forget(job, "forget hidden events", _forgotten(job), only_if=(FORGOTTEN,)),
        writes.remember(job, "remember hidden events", *hidden, only_if=(HIDDEN,)),
    )


def write(job: Job) -> tuple[Step, ...]:
    """Write what differs."""
    return written(job, _ended(job), _removed, versions, column=job.end_at)


def written(
    job: Job, ended: Query, removed: Callable[..., Query], born: Callable[..., Query], *, column: str
) -> tuple[Step, ...]:
    """Write whole versions by DELETE and INSERT, many ends, which stand in `column`, by a one-column UPDATE.

    `removed` and `born` return the versions that go and come of a job, and `with_ended` those that only end among them.
    """
    # Where all of it is one statement no part is worth leaving out where others are sent.
    at_once = () if job.engine.transactions else (MANY_ENDED, REMOVED, WRITTEN)
    steps = (
        writes.end(job, "end versions in place", ended, column=column, only_if=at_once or (MANY_ENDED,)),
        writes.delete(job, "delete versions", removed(job), only_if=at_once or (REMOVED,)),
        writes.insert(job, "insert versions", born(job), only_if=at_once or (WRITTEN,)),
    )
    if at_once:
        return steps
    gone, come = removed(job, with_ended=True), born(job, with_ended=True)
    return (
        writes.delete(job, "delete versions, ended ones too", gone, only_if=(FEW_ENDED,)),
        writes.insert(job, "insert versions, ended ones too", come, only_if=(FEW_ENDED,)),
        *steps,
    )
