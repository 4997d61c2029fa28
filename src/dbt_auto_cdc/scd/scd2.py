"""SCD type 2: the touched part of each key's timeline is read, cut into runs, and only what differs is written.

Not here: staging and checking events (`changes`), creating tables (`materializations`).
"""

from __future__ import annotations

from dbt_auto_cdc import names
from dbt_auto_cdc.plan import Rule, Step
from dbt_auto_cdc.scd import changes
from dbt_auto_cdc.scd.job import Job, of
from dbt_auto_cdc.sql import Query, any_of, comma

ENDED = "num_versions_ended"
WRITTEN = "num_versions_written"
REMOVED = "num_versions_removed"
FORGOTTEN = "num_hidden_forgotten"
HIDDEN = "num_hidden_remembered"


def stage(job: Job) -> Step:
    """Evaluate the user's SQL."""
    return changes.stage(job)


def events(job: Job) -> Step:
    """Keep events that are no bound of a version of their key and not remembered as hidden.

    Out: the stage's columns. A hidden upsert counts only while the version that hides it is there.
    """
    columns = comma(of("stg", [*job.output, *changes.EVENT]))
    same_version = (
        f"{job.same_key('tgt', 'cmp')} and tgt.{job.start_at} = cmp.{names.RUN_START}"
        f" and (tgt.{job.end_at} is null or cmp.{names.SEQUENCE} < tgt.{job.end_at})"
    )
    hidden = f"""
select {", ".join(of("cmp", [*job.keys, names.SEQUENCE]))}
from {job.companion} as cmp where cmp.{names.KIND} = 'delete'
union all
select {", ".join(of("cmp", [*job.keys, names.SEQUENCE]))}
from {job.companion} as cmp
join {job.target} as tgt on {same_version}
where cmp.{names.KIND} = 'upsert'"""

    def is_bound(column: str) -> str:
        return (
            f"select 1 from {job.target} as tgt"
            f" where {job.same_key('tgt', 'stg')} and tgt.{column} = stg.{names.SEQUENCE}"
        )

    new = f"""
select
    {columns}
from {job.working(names.STAGE)} as stg
where not exists ({is_bound(job.start_at)})
and not exists ({is_bound(job.end_at)})
and not exists (
    select 1 from hidden where {job.same_key("hidden", "stg")} and hidden.{names.SEQUENCE} = stg.{names.SEQUENCE}
)"""
    return changes.events(job, Query().then("hidden", hidden).then("new", new))


def check(job: Job) -> Step:
    """Measure and refuse; late is a new event below the greatest sequence its key had."""
    late = "0"
    if not job.builds:
        bound = f"coalesce(tgt.{job.end_at}, tgt.{job.start_at})"
        late = f"""
select count(*) from {job.events} as evt
join (
    select {", ".join(job.keys)}, max(sequence) as latest from (
        select {", ".join(of("tgt", job.keys))}, {bound} as sequence from {job.target} as tgt
        where exists (select 1 from {job.events} as evt where {job.same_key("evt", "tgt")})
        union all
        select {", ".join(of("cmp", [*job.keys, names.SEQUENCE]))} from {job.companion} as cmp
        where exists (select 1 from {job.events} as evt where {job.same_key("evt", "cmp")})
    ) as known group by {", ".join(job.keys)}
) as head on {job.same_key("head", "evt")} and evt.{names.SEQUENCE} < head.latest
"""
    return changes.check(job, late)


def timeline(job: Job) -> Step:
    """Order the touched part of each key's timeline and cut it into runs.

    In: new events, and of their keys the versions that end after the first of them, with what these hide. Out: one
    row per event; on a run's last event the run's bounds and the version it replaces, on a version's first event
    the version's locator.
    """
    query = Query() if job.builds else _known(job)
    query = query.then("ordered", _ordered(job)).then("marked", _marked(job)).then("bounded", _bounded(job))
    query = query.then("timeline", _compared(job))
    return Step(
        "cut the touched timelines into runs",
        job.engine.create_working(job.working(names.TIMELINE), query),
        only_if=(changes.NEW,),
    )


def _known(job: Job) -> Query:
    """The affected versions and what they hide, as events."""
    columns = [*job.keys, *_values(job)]
    touched = (
        f"select {', '.join(job.keys)}, min({names.SEQUENCE}) as {names.FIRST}\n"
        f"from {job.events} group by {', '.join(job.keys)}"
    )
    affected = f"""
select
    {comma(of("tgt", columns))},
    tgt.{job.start_at} as {names.SEQUENCE}, tgt.{job.end_at} as {names.OLD_END}, tgt.{job.engine.locator} as {names.LOCATOR}
from {job.target} as tgt
join touched on {job.same_key("touched", "tgt")}
where tgt.{job.end_at} is null or tgt.{job.end_at} > touched.{names.FIRST}"""
    deletes = f"""
select {", ".join(of("cmp", [*job.keys, names.SEQUENCE]))}, cmp.{job.engine.locator} as {names.HIDDEN}
from {job.companion} as cmp
join touched on {job.same_key("touched", "cmp")} and cmp.{names.SEQUENCE} > touched.{names.FIRST}
where cmp.{names.KIND} = 'delete' and not exists (
    select 1 from affected where {job.same_key("affected", "cmp")} and affected.{names.SEQUENCE} = cmp.{names.SEQUENCE}
)"""
    untracked = job.quoted(job.layout.untracked)
    inside = f"""
select
    {comma(of("cmp", [*job.keys, names.SEQUENCE, names.RUN_START, *untracked]))},
    cmp.{job.engine.locator} as {names.HIDDEN}
from {job.companion} as cmp
join affected on {job.same_key("affected", "cmp")} and affected.{names.SEQUENCE} = cmp.{names.RUN_START}
    and (affected.{names.OLD_END} is null or cmp.{names.SEQUENCE} < affected.{names.OLD_END})
where cmp.{names.KIND} = 'upsert'"""
    latest = (
        f"select {', '.join([*job.keys, names.RUN_START])}, max({names.SEQUENCE}) as latest\n"
        f"from inside group by {', '.join([*job.keys, names.RUN_START])}"
    )
    query = Query().then("touched", touched).then("affected", affected).then("deletes", deletes)
    return query.then("inside", inside).then("latest", latest)


def _values(job: Job) -> list[str]:
    return [name for name in job.output if name not in job.keys]


def _ordered(job: Job) -> str:
    """All events of the touched part, each with the kind before it and whether it differs from that."""
    changed = any_of(
        job.engine.differs(compared, f"lag({compared}) over events_of_key")
        for compared in (
            job.engine.comparable(f"evt.{job.engine.quote(column.name)}", column.type)
            for column in job.layout.tracked
        )
    )
    sources = [_new_events(job)]
    if not job.builds:
        sources += [_first_events(job), _inner_events(job), _closing_deletes(job), _hidden_deletes(job)]
    union = "\nunion all\n".join(source.strip() for source in sources)
    return f"""
select
    evt.*,
    lag(evt.{names.KIND}) over events_of_key as {names.PREVIOUS},
    {changed} as {names.CHANGED}
from (
{union}
) as evt
window events_of_key as (partition by {", ".join(of("evt", job.keys))} order by evt.{names.SEQUENCE})"""


def _event(job: Job, values: list[str], alias: str, sequence: str, kind: str, marks: dict[str, str]) -> str:
    """Return the select list of one kind of event; marks that it lacks are null."""
    types = {names.OLD_END: job.layout.sequence_type, names.RUN_START: job.layout.sequence_type}
    listed = [*of(alias, job.keys), *values, f"{sequence} as {names.SEQUENCE}", f"{kind} as {names.KIND}"]
    for mark in (names.LOCATOR, names.OLD_END, names.HIDDEN, names.RUN_START, names.SHOWS):
        null = job.engine.null(types.get(mark, job.engine.locator_type))
        listed.append(f"{marks.get(mark, null)} as {mark}")
    return f"select\n    {comma(listed)}"


def _new_events(job: Job) -> str:
    columns = of("new", _values(job))
    return (
        _event(job, columns, "new", f"new.{names.SEQUENCE}", f"new.{names.KIND}", {})
        + f"\nfrom {job.events} as new"
    )


def _first_events(job: Job) -> str:
    """The upsert that opened each affected version; what it showed before it was overwritten comes from the companion."""
    untracked = set(job.quoted(job.layout.untracked))
    values = [
        f"case when first.{names.HIDDEN} is null then tgt.{name} else first.{name} end as {name}"
        if name in untracked
        else f"tgt.{name}"
        for name in _values(job)
    ]
    marks = {
        names.LOCATOR: f"tgt.{names.LOCATOR}",
        names.OLD_END: f"tgt.{names.OLD_END}",
        names.HIDDEN: f"first.{names.HIDDEN}",
        names.RUN_START: f"first.{names.RUN_START}",
        names.SHOWS: f"case when latest.latest is null or latest.latest = tgt.{names.SEQUENCE} then tgt.{names.LOCATOR} end",
    }
    return (
        _event(job, values, "tgt", f"tgt.{names.SEQUENCE}", "'upsert'", marks)
        + f"""
from affected as tgt
left join inside as first on {job.same_key("first", "tgt")} and first.{names.SEQUENCE} = tgt.{names.SEQUENCE}
left join latest on {job.same_key("latest", "tgt")} and latest.{names.RUN_START} = tgt.{names.SEQUENCE}"""
    )


def _inner_events(job: Job) -> str:
    """The upserts inside each affected version; the last of them shows what the version shows."""
    untracked = set(job.quoted(job.layout.untracked))
    is_last = f"cmp.{names.SEQUENCE} = latest.latest"
    values = [
        f"case when {is_last} then tgt.{name} else cmp.{name} end as {name}"
        if name in untracked
        else f"tgt.{name}"
        for name in _values(job)
    ]
    marks = {
        names.HIDDEN: f"cmp.{names.HIDDEN}",
        names.RUN_START: f"cmp.{names.RUN_START}",
        names.SHOWS: f"case when {is_last} then tgt.{names.LOCATOR} end",
    }
    return (
        _event(job, values, "cmp", f"cmp.{names.SEQUENCE}", "'upsert'", marks)
        + f"""
from inside as cmp
join affected as tgt on {job.same_key("tgt", "cmp")} and tgt.{names.SEQUENCE} = cmp.{names.RUN_START}
join latest on {job.same_key("latest", "cmp")} and latest.{names.RUN_START} = cmp.{names.RUN_START}
where cmp.{names.SEQUENCE} > cmp.{names.RUN_START}"""
    )


def _empty_values(job: Job) -> list[str]:
    columns = [column for column in job.layout.output if column not in job.layout.keys]
    return [f"{job.engine.null(column.type)} as {job.engine.quote(column.name)}" for column in columns]


def _closing_deletes(job: Job) -> str:
    """The delete at each affected end where no version starts."""
    return (
        _event(job, _empty_values(job), "tgt", f"tgt.{names.OLD_END}", "'delete'", {})
        + f"""
from affected as tgt
where tgt.{names.OLD_END} is not null and not exists (
    select 1 from affected as next
    where {job.same_key("next", "tgt")} and next.{names.SEQUENCE} = tgt.{names.OLD_END}
)"""
    )


def _hidden_deletes(job: Job) -> str:
    marks = {names.HIDDEN: f"cmp.{names.HIDDEN}"}
    return (
        _event(job, _empty_values(job), "cmp", f"cmp.{names.SEQUENCE}", "'delete'", marks)
        + "\nfrom deletes as cmp"
    )


def _marked(job: Job) -> str:
    """Tell which upserts open a run and which deletes close one."""
    del job
    return f"""
select
    ordered.*,
    {names.KIND} = 'upsert' and ({names.PREVIOUS} is null or {names.PREVIOUS} = 'delete' or {names.CHANGED})
        as {names.OPENS},
    {names.KIND} = 'delete' and coalesce({names.PREVIOUS} = 'upsert', false) as {names.CLOSES}
from ordered"""


def _bounded(job: Job) -> str:
    """Give each event its run: the start from the event that opened it, the end from the event after its last."""
    keys = ", ".join(job.keys)
    return f"""
select
    marked.*,
    lead({names.SEQUENCE}) over events_of_key as {names.NEXT},
    {names.KIND} = 'upsert' and coalesce(
        lead({names.OPENS} or {names.KIND} = 'delete') over events_of_key, true
    ) as {names.LAST},
    max(case when {names.OPENS} then {names.SEQUENCE} end) over (
        partition by {keys} order by {names.SEQUENCE} rows between unbounded preceding and current row
    ) as {names.STARTED}
from marked
window events_of_key as (partition by {keys} order by {names.SEQUENCE})"""


def _compared(job: Job) -> str:
    """Set each run beside the version with its start.

    Columns added: the version replaced, whether it shows the same values, whether its end moved, and whether the
    event is to be remembered as hidden.
    """
    values = [*job.keys, *_values(job)]
    hides = [
        f"(evt.{names.KIND} = 'delete' and not evt.{names.CLOSES})",
        f"(evt.{names.KIND} = 'upsert' and not evt.{names.OPENS})",
    ]
    if job.layout.untracked:
        hides.append(f"(evt.{names.OPENS} and not evt.{names.LAST})")
    columns = [
        *of("evt", [*values, names.SEQUENCE, names.KIND, names.LOCATOR, names.OLD_END, names.HIDDEN]),
        f"evt.{names.RUN_START} as {names.WAS_IN}",
        f"evt.{names.LAST}",
        f"case when evt.{names.KIND} = 'upsert' then evt.{names.STARTED} end as {names.RUN_START}",
        f"case when evt.{names.LAST} then evt.{names.NEXT} end as {names.RUN_END}",
        f"({any_of(hides)}) as {names.HIDES}",
    ]
    if job.builds:
        return f"select\n    {comma([*columns, f'false as {names.SAME}'])}\nfrom bounded as evt"
    same = f"old.{names.LOCATOR} is not null"
    shown = ""
    if job.layout.untracked:
        pairs = (
            (job.engine.comparable(f"evt.{quoted}", c.type), job.engine.comparable(f"shown.{quoted}", c.type))
            for c, quoted in zip(job.layout.untracked, job.quoted(job.layout.untracked), strict=True)
        )
        equal = " and ".join(f"not ({job.engine.differs(*pair)})" for pair in pairs)
        same = f"old.{names.LOCATOR} is not null and (evt.{names.SHOWS} = old.{names.LOCATOR} or ({equal}))"
        shown = f"\nleft join affected as shown on shown.{names.LOCATOR} = old.{names.LOCATOR}"
    columns += [
        f"old.{names.LOCATOR} as {names.REPLACES}",
        f"coalesce({same}, false) as {names.SAME}",
        f"{job.engine.differs(f'evt.{names.NEXT}', f'old.{names.OLD_END}')} as {names.MOVED}",
    ]
    return f"""
select
    {comma(columns)}
from bounded as evt
left join bounded as old on evt.{names.LAST} and {job.same_key("old", "evt")}
    and old.{names.SEQUENCE} = evt.{names.STARTED} and old.{names.LOCATOR} is not null{shown}"""


# What becomes of a row of the timeline.
_IS_WRITTEN = f"{names.LAST} and not {names.SAME}"
_IS_ENDED = f"{names.LAST} and {names.SAME} and {names.MOVED}"
_IS_REMEMBERED = (
    f"{names.HIDDEN} is not null and ({names.KIND} = 'delete' or {names.WAS_IN} = {names.RUN_START})"
)
_IS_FORGOTTEN = f"{names.HIDDEN} is not null and not ({names.HIDES} and {_IS_REMEMBERED})"


def versions(job: Job) -> Query:
    """Return the versions to be written, in the target's columns."""
    bounds = f"{names.RUN_START} as {job.start_at}, {names.RUN_END} as {job.end_at}"
    columns = ", ".join([*job.output, bounds])
    return Query().then("versions", f"select {columns}\nfrom {job.working(names.TIMELINE)}\nwhere {_IS_WRITTEN}")


def hidden_columns(job: Job) -> list[str]:
    """Return the companion's columns of a hidden event."""
    return [*job.keys, names.SEQUENCE, names.KIND, names.RUN_START, *job.quoted(job.layout.untracked)]


def remembered(job: Job) -> Query:
    """Return the hidden events that the companion lacks."""
    untracked = [
        f"case when {names.KIND} = 'upsert' then {name} end as {name}" for name in job.quoted(job.layout.untracked)
    ]
    columns = ", ".join([*job.keys, names.SEQUENCE, names.KIND, names.RUN_START, *untracked])
    missing = _is_missing(job)
    return Query().then("hidden", f"select {columns}\nfrom {job.working(names.TIMELINE)}\nwhere {missing}")


def _is_missing(job: Job) -> str:
    return names.HIDES if job.builds else f"{names.HIDES} and not ({_IS_REMEMBERED})"


def _forgotten(job: Job) -> Query:
    """Return the companion's rows that hide nothing any more, or stand in another run."""
    line = job.working(names.TIMELINE)
    return Query().then("forgotten", f"select {names.HIDDEN} from {line}\nwhere {_IS_FORGOTTEN}")


def _removed(job: Job) -> Query:
    """Return the locators of versions that do not stay."""
    line = job.working(names.TIMELINE)
    return Query().then(
        "removed",
        f"select evt.{names.LOCATOR} from {line} as evt\nwhere evt.{names.LOCATOR} is not null and not exists (\n"
        f"    select 1 from {line} as kept where kept.{names.REPLACES} = evt.{names.LOCATOR} and kept.{names.SAME}\n)",
    )


def _ended(job: Job) -> Query:
    """Return the versions whose values stay and whose end moves."""
    return Query().then(
        "ended",
        f"select {names.REPLACES} as locator, {names.RUN_END} as value\n"
        f"from {job.working(names.TIMELINE)}\nwhere {_IS_ENDED}",
    )


def measure(job: Job) -> Step:
    """Count what will be written, and refuse bounds written by hand that cannot be."""

    def count(condition: str) -> str:
        return f"count(case when {condition} then 1 end)"

    stored = f"{names.LOCATOR} is not null"
    removed = f"{count(stored)} - {count(names.SAME)}"
    rewritten = count(f"{_IS_WRITTEN} and {names.REPLACES} is not null")
    measured = f"""
select
    {count(_IS_ENDED)} as {ENDED},
    {count(_IS_WRITTEN)} as {WRITTEN},
    {removed} as {REMOVED},
    {count(_IS_FORGOTTEN)} as {FORGOTTEN},
    {count(_is_missing(job))} as {HIDDEN},
    {count(_IS_ENDED)} + {count(_IS_WRITTEN)} as num_upserted_rows,
    {removed} - {rewritten} as num_deleted_rows,
    (select count(*) from crossed) as crossed_versions,
    (select min(example) from crossed) as crossed_versions_example
from {job.working(names.TIMELINE)}"""
    query = Query().then("stored", _stored(job)).then("crossed", _CROSSED).then("measured", measured)
    rule = Rule(
        "crossed_versions",
        f"{{count}} rows of the target have bounds that overlap, are empty or lack {names.START_AT}, for example"
        f" {{example}}; they were written by hand: correct them, one open row a key and no overlap",
    )
    return Step("measure what changes", query.render(), only_if=(changes.NEW,), measures=True, rules=(rule,))


_CROSSED = """
select example from stored
where start_at is null or end_at <= start_at or next_start_at < end_at
    or (end_at is null and next_start_at is not null)"""


def _stored(job: Job) -> str:
    """The affected versions as they stand in the target, each with the start of the next."""
    keys = ", ".join(of("evt", job.keys))
    shown = job.engine.as_text(f"evt.{names.SEQUENCE}")
    return f"""
select {job.key_text("evt")} || ' from ' || coalesce({shown}, 'null') as example,
    evt.{names.SEQUENCE} as start_at, evt.{names.OLD_END} as end_at,
    lead(evt.{names.SEQUENCE}) over (partition by {keys} order by evt.{names.SEQUENCE}) as next_start_at
from {job.working(names.TIMELINE)} as evt where evt.{names.LOCATOR} is not null"""


def apply(job: Job) -> tuple[Step, ...]:
    """Write what differs: ends by a one-column UPDATE, whole versions by DELETE and INSERT."""
    engine, target, companion = job.engine, job.target, job.companion
    columns = [*job.output, job.start_at, job.end_at]
    return (
        Step("end versions", engine.set_located(target, job.end_at, _ended(job)), (ENDED,)),
        Step("delete versions", engine.delete_located(target, _removed(job)), (REMOVED,)),
        Step("insert versions", engine.insert(target, columns, versions(job)), (WRITTEN,)),
        Step("forget hidden events", engine.delete_located(companion, _forgotten(job)), (FORGOTTEN,)),
        Step(
            "remember hidden events",
            engine.insert(companion, hidden_columns(job), remembered(job)),
            (HIDDEN,),
        ),
    )
