"""Snapshots: whole copies of a source are set beside the target and one another, and what differs becomes events.

Not here: what many events of a key do to the target (`scd2`); snapshots come in order, so nothing is remembered but
the versions that were applied.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from dbt_auto_cdc import names
from dbt_auto_cdc.plan import Rule, Step
from dbt_auto_cdc.scd import changes, check, scd2, writes
from dbt_auto_cdc.scd.job import Job, of
from dbt_auto_cdc.sql import Query, any_of, comma, indented

ONE = "num_single_versions"
FEW = "num_at_most_one_version"
SEVERAL = "num_several_versions"
MANY = "num_crowds_of_versions"
VERSIONS = "num_snapshot_versions"
SKIPPED = "num_skipped_versions"
LATE = "num_late_versions"
LATER = "num_later_bounds"
ENDED = "num_plain_ends"
REWRITTEN = "num_plain_rewrites"
BORN = "num_plain_rows"

# A sum of so many different powers of two is exact in double precision, and tells which of them are in it.
WEIGHED = 50


@dataclass(frozen=True)
class Limits:
    """What a snapshot may do: be empty, delete; and its version: stand for one without rows, come from a query.

    `rebuilds`: a target that is there is built anew, and would be empty without rows.
    """

    is_constant: bool
    allow_empty: bool
    max_delete_ratio: float | None
    is_asked: bool = False
    rebuilds: bool = False


def stage(job: Job) -> Step:
    """Evaluate the user's SQL; rows of a version that is not above the last one are marked."""
    if job.builds:
        return changes.stage(job)
    return _beside(job) if _stands_beside(job) else changes.stage(job, _whole(job))


def _stands_beside(job: Job) -> bool:
    """Whether the rows are compared with the target while they are staged; a dump beside changes is not."""
    return not (job.builds or job.part)


def _whole(job: Job) -> changes.Known:
    is_late = f"coalesce(src.{names.SEQUENCE} <= last.{names.LATEST}, false)"
    return changes.Known(
        join=f"cross join (select ({_last(job)}) as {names.LATEST}) as last",
        is_new=f"not {is_late}",
        is_late=is_late,
        locator=job.engine.null(job.engine.locator_type),
        is_common=False,
    )


def _beside(job: Job) -> Step:
    """Stage the rows beside the open rows of their keys, while both are at hand.

    Out: one row per row of the model and open row of its key; values only where they differ from it, since the target
    has the others. Rows of a version that is not above the last one keep nothing, and stand beside no open row.
    Open rows that stand beside none at all follow.
    """
    query = changes.evaluated(job)
    is_new = f"not coalesce(src.{names.SEQUENCE} <= ({_last(job)}), false)"
    query = query.then("marked", f"select src.*, {is_new} as {names.IS_NEW}\nfrom {query.last} as src")
    query = query.then("past", _located_open_rows(job))
    values = [name for name in job.output if name not in job.keys]
    columns = [*job.keys, *_MARKS, *_continues(job)]
    kept = job.engine.packed(names.VALUES, values, f"{names.IS_NEW} and not {names.SAME}")
    query = query.then("paired", _paired(job, values))
    return changes.staged(job, query.then("stage", f"select\n    {comma([*columns, *kept])}\nfrom paired"))


_MARKS = [names.SEQUENCE, names.LOCATOR, names.IS_READ, names.IS_NEW, names.SAME]


def _continues(job: Job) -> list[str]:
    return [names.CONTINUES] if job.spec.scd2 and job.layout.untracked else []


def _paired(job: Job, values: list[str]) -> str:
    """Each row beside the open row of its key; one side is null where there is none."""
    first, *others = job.keys
    # A late row has no key to be found by.
    on = [f"past.{first} = case when src.{names.IS_NEW} then src.{first} end"]
    on += [f"past.{name} = src.{name}" for name in others]
    alike = {name: f"not ({condition})" for name, condition in unlike(job, "src").items()}
    both = f"src.{names.IS_NEW} and past.{names.LOCATOR} is not null"
    columns = [f"coalesce(src.{name}, past.{name}) as {name}" for name in job.keys]
    columns += [f"src.{name}" for name in [*values, names.SEQUENCE]]
    columns += [
        f"past.{names.LOCATOR}",
        f"src.{names.IS_NEW} is not null as {names.IS_READ}",
        f"coalesce(src.{names.IS_NEW}, false) as {names.IS_NEW}",
        f"coalesce({' and '.join([both, *alike.values()])}, false) as {names.SAME}",
    ]
    if _continues(job):
        tracked = [alike[column.name] for column in job.layout.tracked]
        columns.append(f"coalesce({' and '.join([both, *tracked])}, false) as {names.CONTINUES}")
    return f"select\n    {comma(columns)}\nfrom marked as src\nfull join past on {' and '.join(on)}"


def _last(job: Job) -> str:
    """The last version applied, or null."""
    return f"select {job.extreme('max', names.SEQUENCE)} from {job.companion} where {names.KIND} = 'snapshot'"


def versions(job: Job, limits: Limits) -> Step:
    """List the versions that were read. Out: one row per version; those to be applied have their place from 1 on.

    Of the others some were never applied: they are late.
    """
    staged = job.working(names.STAGE)
    read = f"select {names.SEQUENCE} from {staged}"
    if limits.is_constant:
        constant = f"select {changes.stored_sequence(job, ())} as {names.SEQUENCE}"
        row = f"select 1 from {staged}" + (f" where {names.IS_READ}" if _stands_beside(job) else "")
        read += f"\nunion all\nselect * from (\n{constant}\n) as one where not exists ({row})"
    place = f"row_number() over (partition by {names.HIDDEN} order by {names.SEQUENCE})"
    query = (
        Query()
        .then("versions_read", read)
        .then(
            "versions",
            f"select distinct {names.SEQUENCE} from versions_read where {names.SEQUENCE} is not null",
        )
        .then("told", _told(job, limits))
        .then(
            "placed",
            f"select told.*, case when not {names.HIDDEN} then {place} end as {names.PLACE}\nfrom told",
        )
    )
    weight = f"case when {names.PLACE} <= {WEIGHED} then power(2.0, {names.PLACE} - 1) end as {names.WEIGHT}"
    columns = [names.SEQUENCE, names.PLACE, weight, names.IS_LATE]
    query = query.then("weighed", f"select {', '.join(columns)}\nfrom placed")
    return Step("list the versions", job.engine.create_working(_versions(job), query))


def _told(job: Job, limits: Limits) -> str:
    """The versions; those that are not above the last one are hidden, and late if they were never applied.

    A fixed version that was applied is late as well: nobody reads the same snapshot again on purpose.
    """
    if job.builds:
        return f"select {names.SEQUENCE}, false as {names.HIDDEN}, false as {names.IS_LATE} from versions"
    applied = f"select {names.SEQUENCE} from {job.companion} where {names.KIND} is null or {names.KIND} = 'snapshot'"
    hidden = f"coalesce(ver.{names.SEQUENCE} <= ({_last(job)}), false)"
    is_known = "false" if limits.is_constant else f"known.{names.SEQUENCE} is not null"
    return f"""
select ver.{names.SEQUENCE}, {hidden} as {names.HIDDEN}, {hidden} and not {is_known} as {names.IS_LATE}
from versions as ver
left join (select distinct {names.SEQUENCE} from ({applied}) as applied) as known
    on known.{names.SEQUENCE} = ver.{names.SEQUENCE}"""


def _versions(job: Job) -> str:
    return job.working(names.VERSIONS)


def _moving(job: Job) -> str:
    return job.working(names.MOVING)


def _fresh(job: Job) -> str:
    """The staged rows of versions that were not applied yet, as something to select from."""
    staged = job.working(names.STAGE)
    return f"{staged} as stg" if job.builds else f"(select * from {staged} where {names.IS_NEW}) as stg"


def counted(job: Job, limits: Limits) -> Step:
    """Count the versions, and warn of late ones, or refuse them of a query; out: one row."""
    to_apply, late = (
        f"count(ver.{names.PLACE})",
        f"case when ver.{names.IS_LATE} then ver.{names.SEQUENCE} end",
    )
    columns = [
        f"{to_apply} as {VERSIONS}",
        f"case when {to_apply} = 1 then 1 else 0 end as {ONE}",
        f"case when {to_apply} > 1 then 0 else 1 end as {FEW}",
        f"case when {to_apply} > 1 then 1 else 0 end as {SEVERAL}",
        f"case when {to_apply} > {WEIGHED} then 1 else 0 end as {MANY}",
        f"count(*) - {to_apply} as {SKIPPED}",
    ]
    if not job.builds:
        greatest, last = (job.engine.as_text(shown) for shown in (f"max({late})", f"({_last(job)})"))
        columns += [
            f"count({late}) as {LATE}",
            f"{greatest} || ' (the last one is ' || {last} || ')' as {LATE}_example",
        ]
    return Step(
        "count the versions",
        f"select\n    {comma(columns)}\nfrom {_versions(job)} as ver",
        measures=True,
        rules=(_ASKED_AGAIN if limits.is_asked else _LATE,),
    )


_LATE = Rule(
    LATE,
    "{count} snapshot version{s} {is} not above the last one applied and {was} skipped, for example {example};"
    " snapshots apply in ascending order",
    warns=True,
)


_ASKED_AGAIN = Rule(
    LATE,
    "version_query returned a version that is not above the last one applied, so it would return it for ever:"
    " {example}; let it ask for versions above that of auto_cdc.last_snapshot_version()",
)


def moving(job: Job) -> tuple[Step, ...]:
    """Find the keys that have not one and the same row in every version; several versions are compared for these only.

    Out: one row per such key; one that comes twice in a version is among them.
    """
    if not job.spec.scd2:
        return ()
    keys = ", ".join(of("alike", job.keys))
    weighed = _alike(job, f"sum(ver.{names.WEIGHT}) as {names.WEIGHT}")
    is_whole = (
        f"count(*) = 1 and max({names.COPIES}) = max(total.places)"
        f" and max({names.WEIGHT}) = max(power(2.0, total.places) - 1)"
    )
    found = weighed.then(
        "moving",
        f"select {keys}\nfrom alike cross join total\nwhere total.places between 2 and {WEIGHED}\n"
        f"group by {keys} having not ({is_whole}{_same(job)})",
    )
    placed = _alike(job, f"count(distinct ver.{names.PLACE}) as {names.WEIGHT}")
    is_whole = f"count(*) = 1 and max({names.COPIES}) = max(total.places) and max({names.WEIGHT}) = max(total.places)"
    more = placed.then(
        "moving",
        f"select {keys}\nfrom alike cross join total\ngroup by {keys} having not ({is_whole}{_same(job)})",
    )
    only_if = () if job.builds else (SEVERAL,)
    return (
        Step("find the keys that move", job.engine.create_working(_moving(job), found), only_if),
        Step(
            "find the keys that move among many",
            job.engine.add_working(_moving(job), job.keys, more),
            (MANY,),
        ),
    )


def _same(job: Job) -> str:
    return "" if job.builds else f" and min(case when {names.SAME} then 1 else 0 end) = 1"


def _alike(job: Job, weight: str) -> Query:
    """The keys' rows that are alike: how many there are, and in which versions."""
    total = f"select count({names.PLACE}) as places from {_versions(job)}"
    marks = [f"stg.{names.SAME}"]
    if job.builds:
        marks = [
            job.engine.comparable(f"stg.{name}", column.type)
            for name, column in zip(job.output, job.layout.output, strict=True)
            if name not in job.keys
        ]
    shown = of("stg", job.keys) + ([] if job.builds else marks)
    staged = job.working(names.STAGE)
    rows = (
        f"{staged} as stg"
        if job.builds
        else (f"(select * from {staged} where {names.IS_NEW} or not {names.IS_READ}) as stg")
    )
    alike = f"""
select {", ".join(shown)}, count(*) as {names.COPIES}, {weight}
from {rows} left join {_versions(job)} as ver on ver.{names.SEQUENCE} = stg.{names.SEQUENCE}
where (select places from total) > 1
group by {", ".join([*of("stg", job.keys), *marks])}"""
    return Query().then("total", total).then("alike", alike)


def measured(job: Job, limits: Limits) -> tuple[Step, ...]:
    """Measure the snapshots and refuse what is none; out: one row. One step serves up to one version, one several."""
    if job.part:
        return (replace(_measured(job, limits, several=True), only_if=()),)
    return _measured(job, limits, several=False), _measured(job, limits, several=True)


def _measured(job: Job, limits: Limits, *, several: bool) -> Step:
    pair = [*job.keys, names.SEQUENCE, *([names.LOCATOR] if _stands_beside(job) else [])]
    place = ", ".join(of("stg", pair))
    query = Query().then("counted", _counted(job)).then("missing", _missing(job))
    repeated = f"select {place} from {_fresh(job)}"
    if several and job.spec.scd2:
        repeated += f"\njoin {_moving(job)} as moving on {job.same_key('moving', 'stg')}"
    elif not (several or job.builds):
        # Every open row that stands beside a row of the one snapshot does so once, unless a key comes twice.
        repeated += f" cross join counted\nwhere stg.{names.LOCATOR} is null or counted.paired > counted.met"
    repeated += f"\ngroup by {place} having count(*) > 1"
    example = (
        f"{job.key_text('repeated')} || ' in version ' || {job.engine.as_text(f'repeated.{names.SEQUENCE}')}"
    )
    # Only a version that does not come with the rows can stand for a snapshot without any.
    shown = job.engine.as_text(job.extreme("max", names.SEQUENCE))
    waiting = (
        f"select count({names.PLACE}) as waiting,"
        f" coalesce('version ' || {shown}, 'a rebuild') as empty_snapshots_example from {_versions(job)}"
    )
    empty = f"case when counted.{check.READ} = 0 then waiting.waiting else 0 end as empty_snapshots"
    if limits.rebuilds:
        empty = f"case when counted.{check.READ} = 0 then 1 else 0 end as empty_snapshots"
    query = (
        query.then("repeated", repeated)
        .then(
            "duplicated",
            f"select count(*) as duplicate_keys, min({example}) as duplicate_keys_example from repeated",
        )
        .then("waiting", waiting)
        .then(
            "measured",
            f"select counted.{check.READ}, missing.*, duplicated.*, {empty}, waiting.empty_snapshots_example\n"
            "from counted cross join missing cross join duplicated cross join waiting",
        )
    )
    name = "check the snapshots" if several else "check the snapshot"
    only_if = (SEVERAL,) if several else (FEW,)
    return Step(name, query.render(), only_if, measures=True, rules=_rules(job, limits))


def _counted(job: Job) -> str:
    """One row: how many rows were read; how many stand beside an open row, and how many open rows beside one."""
    staged = job.working(names.STAGE)
    if not _stands_beside(job):
        return f"select count(*) as {check.READ} from {staged}"
    return f"""
select
    count(case when {names.IS_READ} then 1 end) as {check.READ},
    count(case when {names.IS_READ} then {names.LOCATOR} end) as paired,
    (select count(*) from ({_open_rows(job, job.keys)}) as standing)
        - count(case when not {names.IS_READ} then 1 end) as met
from {staged}"""


def _missing(job: Job) -> str:
    columns = [f"count(case when stg.{names.SEQUENCE} is null then 1 end) as null_version"]
    columns.append(
        f"min(case when stg.{names.SEQUENCE} is null then {job.key_text('stg')} end) as null_version_example"
    )
    for number, key in enumerate(job.keys):
        shown = f"coalesce({job.engine.as_text(f'stg.{names.SEQUENCE}')}, 'null')"
        columns.append(f"count(case when stg.{key} is null then 1 end) as null_key_{number}")
        columns.append(f"min(case when stg.{key} is null then {shown} end) as null_key_{number}_example")
    return f"select\n    {comma(columns)}\nfrom {_fresh(job)}"


def _rules(job: Job, limits: Limits) -> tuple[Rule, ...]:
    rules = [
        Rule(
            "null_version",
            "snapshot_version is null in {count} row{s}, for example {example}; every row needs the version of the"
            " snapshot it belongs to: filter such rows out in the model, or give them one",
        ),
        Rule(
            "duplicate_keys",
            "{count} key{s} stand{v} in one version more than once, for example {example}; a snapshot has one row a"
            " key: add the missing key columns, or reduce the rows in the model",
        ),
    ]
    for number, column in enumerate(job.layout.keys):
        rules.append(
            Rule(
                f"null_key_{number}",
                f"key column {column.name} is null in {{count}} row{{s}}, for example in version {{example}}; filter"
                f" such rows out in the model, or give them a key",
            )
        )
    if not limits.allow_empty:
        rules.append(
            Rule(
                "empty_snapshots",
                "the snapshot has no rows, which would delete everything ({example}); set allow_empty_snapshot to true"
                " if that is meant",
            )
        )
    return tuple(rules)


def differences(job: Job, limits: Limits) -> tuple[Step, ...]:
    """Turn what differs from one snapshot to the next into events: an upsert, or a delete where a key is missing.

    In: the staged rows, and the open rows of the target as the snapshot before the first. Out: one event per key and
    version at which something differs, counted and judged. SCD type 1 shows the last version only and is compared
    with that one; of SCD type 2 the events of one version stay in the stage, unless they have to be put in line.
    """
    if job.builds:
        events = (_events(job, _among_all(job), "compare the snapshots", ""),) if job.spec.scd2 else ()
        return (*events, *_judged(job, limits, _compared(job), ""))
    several = _among_all(job) if job.spec.scd2 else _last_of_all(job)
    among_all = (
        _events(job, several, "compare the snapshots", SEVERAL),
        *_judged(job, limits, _compared(job), SEVERAL),
    )
    if not job.spec.scd2:
        alone = _events(job, _alone(job), "keep what differs from the target", ONE)
        return (alone, *_judged(job, limits, _compared(job), ONE), *among_all)
    in_line = _events(job, _alone(job), "keep what differs from the target", check.NEW)
    return (*_judged(job, limits, _inline(_alone(job)), ONE), in_line, *among_all)


def _inline(query: Query) -> str:
    return f"(\n{indented(query.render())}\n)"


def _compared(job: Job) -> str:
    """The working table of the differences; of SCD type 1 they are what is written."""
    return job.working(names.EVENTS if job.spec.scd2 else names.WINNERS)


def _events(job: Job, query: Query, name: str, only_if: str) -> Step:
    table = job.engine.create_working(_compared(job), query)
    return Step(name, table, (only_if,) if only_if else ())


def _latest(job: Job) -> str:
    """The last version to be applied."""
    return (
        f"(select {job.extreme('max', names.SEQUENCE)} from {_versions(job)} where {names.PLACE} is not null)"
    )


def _value(job: Job, name: str) -> str:
    """A column of the stage, where its row differs from the open one."""
    if job.builds or name in job.keys:
        return f"stg.{name}"
    return job.engine.unpacked(f"stg.{names.VALUES}", name)


def _alone(job: Job) -> Query:
    """The one version is what was staged."""
    columns = [f"{_value(job, name)} as {name}" for name in job.output]
    columns += [
        f"{_latest(job)} as {names.SEQUENCE}",
        f"case when stg.{names.IS_READ} then 'upsert' else 'delete' end as {names.KIND}",
        *of("stg", [names.LOCATOR, *_continues(job)]),
    ]
    differs = f"(stg.{names.IS_NEW} and not stg.{names.SAME}) or not stg.{names.IS_READ}"
    found = f"select\n    {comma(columns)}\nfrom {job.working(names.STAGE)} as stg\nwhere {differs}"
    return Query().then("events", found)


def _last_of_all(job: Job) -> Query:
    """SCD type 1: the rows of the last version that differ, and the target's rows that it lacks."""
    columns = [f"{_value(job, name)} as {name}" for name in job.output]
    columns += [f"stg.{names.SEQUENCE}", f"'upsert' as {names.KIND}"]
    types = zip(job.output, job.layout.output, strict=True)
    gone = [
        f"{names.AROUND}.{name}" if name in job.keys else f"{job.engine.null(c.type)} as {name}"
        for name, c in types
    ]
    gone += [f"{_latest(job)} as {names.SEQUENCE}", f"'delete' as {names.KIND}"]
    now = f"{_fresh(job)} where stg.{names.SEQUENCE} = {_latest(job)}"
    events = f"""
select {", ".join(columns)}
from {now} and not stg.{names.SAME}
union all
select {", ".join(gone)} from {job.target} as {names.AROUND}
where not exists (select 1 from {now} and stg.{names.LOCATOR} = {job.at(names.AROUND)})"""
    return Query().then("events", events)


def _open_rows(job: Job, columns: list[str], *more: str) -> str:
    is_open = f" where tgt.{job.end_at} is null" if job.spec.scd2 else ""
    return f"select {', '.join([*of('tgt', columns), *more])} from {job.target} as tgt{is_open}"


def _located_open_rows(job: Job) -> str:
    return _open_rows(job, job.output, f"{job.at('tgt')} as {names.LOCATOR}")


def _among_all(job: Job) -> Query:
    """Compare each snapshot with the one before it, and the first with the target's open rows: the keys that move."""
    query, moves = Query(), f"{_moving(job)} as moving on {job.same_key('moving', 'stg')}"
    before = f"""
select {", ".join(of("now", job.output))}, now.{names.PLACE} + 1 as {names.PLACE} from present as now
where now.{names.PLACE} < (select max({names.PLACE}) from {_versions(job)})"""
    values, joined = [_value(job, name) for name in job.output], ""
    if not job.builds:
        query = query.then("past_rows", _located_open_rows(job))
        query = query.then(
            "moving_rows",
            f"select stg.* from past_rows as stg\njoin {moves}",
        )
        values = [
            value if name in job.keys else f"case when stg.{names.SAME} then standing.{name} else {value} end"
            for name, value in zip(job.output, values, strict=True)
        ]
        joined = f"\nleft join moving_rows as standing on standing.{names.LOCATOR} = stg.{names.LOCATOR}"
        before += f"\nunion all\nselect {', '.join(job.output)}, 1 as {names.PLACE} from moving_rows"
    columns = [f"{value} as {name}" for name, value in zip(job.output, values, strict=True)]
    now = f"""
select
    {comma([*columns, f"ver.{names.PLACE}"])}
from {_fresh(job)}
join {moves}
join {_versions(job)} as ver on ver.{names.SEQUENCE} = stg.{names.SEQUENCE}{joined}"""
    query = query.then("present", now).then("past", before).then("differing", _differing(job))
    listed = comma([*of("evt", job.output), f"ver.{names.SEQUENCE}", f"evt.{names.KIND}"])
    placed = f"join {_versions(job)} as ver on ver.{names.PLACE} = evt.{names.PLACE}"
    return query.then("events", f"select\n    {listed}\nfrom differing as evt\n{placed}")


def unlike(job: Job, now: str) -> dict[str, str]:
    """Return the columns beside the keys, each with the condition that it differs between a relation and the past."""
    engine = job.engine
    return {
        column.name: engine.differs(
            engine.comparable(f"{now}.{name}", column.type), engine.comparable(f"past.{name}", column.type)
        )
        for name, column in zip(job.output, job.layout.output, strict=True)
        if name not in job.keys
    }


def _differing(job: Job) -> str:
    """Pairs of a key's rows at one place, now and past, that are not alike; one side is null where it is missing."""
    key = job.keys[0]
    columns = [f"coalesce(now.{name}, past.{name}) as {name}" for name in job.keys]
    columns += [f"now.{name}" for name in job.output if name not in job.keys]
    columns.append(f"coalesce(now.{names.PLACE}, past.{names.PLACE}) as {names.PLACE}")
    columns.append(f"case when now.{key} is null then 'delete' else 'upsert' end as {names.KIND}")
    return f"""
select
    {comma(columns)}
from present as now
full join past on {job.same_key("past", "now")} and past.{names.PLACE} = now.{names.PLACE}
where {any_of([f"now.{key} is null", f"past.{key} is null", *unlike(job, "now").values()])}"""


def _judged(job: Job, limits: Limits, events: str, only_if: str) -> tuple[Step, ...]:
    """Count the events, and refuse versions that delete more than they may, and keys with several rows by hand."""
    query, sources = Query(), list[str]()
    rules: list[Rule] = []
    columns = "*"
    if not job.builds and job.spec.scd2:
        query = query.then("counted", _counted_events(job, events)).then("by_hand", _later(job))
        sources += ["counted", "by_hand"]
        columns = f"{_MET_LATER}, counted.events as {check.NEW}"
        if only_if == ONE:
            query = query.then("touched", _touched(job, events)).then("met", _met(job))
            columns = _figures_if_plain()
            sources.append("met")
    elif not job.builds:
        deleted = f"count(case when {names.KIND} = 'delete' then 1 end) as num_deleted_rows"
        query = query.then("counted", f"select count(*) as {check.NEW}, {deleted} from {events}")
        query = query.then("by_hand", repeated_keys(job, _compared(job)))
        sources += ["counted", "by_hand"]
        rules.append(BY_HAND)
    if limits.max_delete_ratio is not None:
        query = _sized(job, query, events).then("greedy", _greedy(job, limits.max_delete_ratio))
        sources.append("greedy")
        columns += "" if columns == "*" else ", greedy.*"
        rules.append(too_many(limits.max_delete_ratio))
    if not sources:
        return ()
    query = query.then("judged", f"select {columns}\nfrom " + " cross join ".join(sources))
    conditions = (only_if,) if only_if else ()
    return (Step("count the differences", query.render(), conditions, measures=True, rules=tuple(rules)),)


def _counted_events(job: Job, events: str) -> str:
    goes_on = f"evt.{names.CONTINUES}" if _continues(job) else "false"
    columns = ["count(*) as events"]
    if not events.startswith("("):
        return f"select {columns[0]} from {events} as evt"
    columns += [
        f"count(case when evt.{names.KIND} = 'upsert' then 1 end) as born",
        f"count(case when not {goes_on} then evt.{names.LOCATOR} end) as ended",
        f"count(case when {goes_on} then evt.{names.LOCATOR} end) as rewritten",
    ]
    return f"select {', '.join(columns)} from {events} as evt"


def _touched(job: Job, events: str) -> str:
    return f"select distinct {', '.join(job.keys)} from {events} as evt where {names.LOCATOR} is not null"


def _met(job: Job) -> str:
    """One row: how many keys are touched, how many open versions they have, and how many of these have a start."""
    return f"""
select count(*) as met, count(tgt.{job.start_at}) as started, (select count(*) from touched) as touched
from {job.target} as tgt join touched on {job.same_key("touched", "tgt")}
where tgt.{job.end_at} is null"""


def _figures_if_plain() -> str:
    """Events are plain, and written as they are, if no version written by hand stands in the way of one."""
    is_plain = f"by_hand.{LATER} = 0 and ended + rewritten = met and met = started and met = touched"
    columns = {
        check.NEW: f"case when {is_plain} then 0 else events end",
        ENDED: f"case when {is_plain} then ended else 0 end",
        REWRITTEN: f"case when {is_plain} then rewritten else 0 end",
        BORN: f"case when {is_plain} then born else 0 end",
        "num_upserted_rows": f"case when {is_plain} then ended + born else 0 end",
    }
    return ",\n    ".join([_MET_LATER, *(f"{value} as {name}" for name, value in columns.items())])


# Where nothing differs, versions by hand are not met.
_MET_LATER = f"case when events > 0 then by_hand.{LATER} else 0 end as {LATER}"


def _later(job: Job) -> str:
    """One row: how many bounds lie later, which somebody's hand has written: our own lie below the new versions."""
    bounds = any_of(f"tgt.{bound} >= {_first(job)}" for bound in (job.start_at, job.end_at))
    return f"select count(*) as {LATER} from {job.target} as tgt where {bounds}"


def repeated_keys(job: Job, events: str) -> str:
    """One row: how many keys of SCD type 1 have several rows, which somebody's hand has written."""
    keys = ", ".join(job.keys)
    repeated = f"select {keys} from {events} group by {keys} having count(*) > 1"
    return (
        f"select count(*) as repeated_keys, min({job.key_text('found')}) as repeated_keys_example\n"
        f"from ({repeated}) as found"
    )


BY_HAND = Rule(
    "repeated_keys",
    "{count} key{s} {has} more than one row in the target, for example {example}; written by hand: delete"
    " all but one of each",
)


def _first(job: Job) -> str:
    """The first version to be applied."""
    return f"(select min({names.SEQUENCE}) from {_versions(job)} where {names.PLACE} = 1)"


def _sized(job: Job, query: Query, events: str) -> Query:
    """Add how many rows stood before each version to be applied, and how many of them it lacks."""
    is_open = f" where {job.end_at} is null" if job.spec.scd2 else ""
    stored = f"select count(*) as {names.COPIES} from {job.target}{is_open}"
    sizes = f"""
select ver.{names.PLACE}, ver.{names.SEQUENCE}, count(stg.{names.SEQUENCE}) as {names.COPIES}
from {_versions(job)} as ver left join {_fresh(job)} on stg.{names.SEQUENCE} = ver.{names.SEQUENCE}
where ver.{names.PLACE} is not null
group by ver.{names.PLACE}, ver.{names.SEQUENCE}"""
    before = f"""
select sizes.{names.SEQUENCE},
    coalesce(lag(sizes.{names.COPIES}) over (order by sizes.{names.PLACE}), stored.{names.COPIES}) as {names.COPIES}
from sizes cross join stored"""
    query = query.then("stored", f"select 0 as {names.COPIES}" if job.builds else stored)
    query = query.then("sizes", sizes).then("before", before)
    if not job.spec.scd2:
        return _missing_keys(job, query)
    deletes = f"select {names.SEQUENCE}, count(*) as {names.WAYS} from {events} as evt"
    return query.then("deletes", f"{deletes}\nwhere {names.KIND} = 'delete' group by {names.SEQUENCE}")


def _missing_keys(job: Job, query: Query) -> Query:
    """Add how many keys each version lacks: SCD type 1 compares only the last one with the target."""
    place, keys = f"ver.{names.PLACE}", ", ".join(job.keys)
    present = (
        f"select {', '.join([*of('stg', job.keys), place])}\nfrom {_fresh(job)}\n"
        f"join {_versions(job)} as ver on ver.{names.SEQUENCE} = stg.{names.SEQUENCE}"
    )
    past = f"select {keys}, {names.PLACE} + 1 as {names.PLACE} from present"
    if not job.builds:
        past += f"\nunion all\nselect {keys}, 1 as {names.PLACE} from {job.target}"
    deletes = f"""
select ver.{names.SEQUENCE}, count(*) as {names.WAYS}
from past as {names.AROUND} join {_versions(job)} as ver on ver.{names.PLACE} = {names.AROUND}.{names.PLACE}
where not exists (
    select 1 from present as now
    where {job.same_key("now", names.AROUND)} and now.{names.PLACE} = {names.AROUND}.{names.PLACE}
)
group by ver.{names.SEQUENCE}"""
    return query.then("present", present).then("past", past).then("deletes", deletes)


def _greedy(job: Job, ratio: float) -> str:
    """One row: how many versions delete a greater share of the rows than they may."""
    version, gone, rows_before = map(
        job.engine.as_text, (f"before.{names.SEQUENCE}", f"deletes.{names.WAYS}", f"before.{names.COPIES}")
    )
    example = f"'version ' || {version} || ' deletes ' || {gone} || ' of ' || {rows_before} || ' rows'"
    return f"""
select count(*) as greedy_versions, min({example}) as greedy_versions_example
from deletes join before on before.{names.SEQUENCE} = deletes.{names.SEQUENCE}
where deletes.{names.WAYS} > {ratio} * before.{names.COPIES}"""


def too_many(ratio: float) -> Rule:
    """Refuse versions that delete a greater share of the rows than they may."""
    return Rule(
        "greedy_versions",
        f"{{count}} version{{s}} delete{{v}} more than max_delete_ratio {ratio} allows, for example {{example}}; a"
        f" half-written extract looks like that: check the source, or raise max_delete_ratio",
    )


def remember(job: Job) -> tuple[Step, ...]:
    """Record the versions that were applied, and which is the last."""
    renumbered = Query().then(
        "renumbered",
        f"select {job.at_companion('cmp')} as locator, {_latest(job)} as value\n"
        f"from {job.companion} as cmp where cmp.{names.KIND} = 'snapshot'",
    )
    return (
        writes.alter(
            job, "remember the last version", renumbered, column=names.SEQUENCE, only_if=(VERSIONS,)
        ),
        remember_all(job),
    )


def remember_all(job: Job) -> Step:
    """Record the versions that were applied: read again, they are not late. They are no events, so have no kind."""
    known = Query().then(
        "applied", f"select {names.SEQUENCE} from {_versions(job)} where {names.PLACE} is not null"
    )
    return writes.remember(job, "remember the versions", [names.SEQUENCE], known, only_if=(VERSIONS,))


def last(job: Job, versions_known: str = "") -> Query:
    """Return the companion's row for the last version; its sequence is null while there was none.

    `versions_known` selects the versions instead of those of this run.
    """
    source = f"(\n{versions_known}\n) as known" if versions_known else _versions(job)
    return Query().then(
        "last", _kept(job, job.extreme("max", names.SEQUENCE), "'snapshot'") + f"\nfrom {source}"
    )


def applied(job: Job) -> Query:
    """Return the companion's rows for the versions of a first run: read again, they are not late."""
    return Query().then(
        "applied",
        _kept(job, names.SEQUENCE, job.engine.null(job.engine.text_type)) + f"\nfrom {_versions(job)}",
    )


def _kept(job: Job, sequence: str, kind: str) -> str:
    """A row of the companion that has nothing but a sequence."""
    types = {job.engine.quote(c.name): c.type for c in (*job.layout.keys, *job.layout.untracked)}
    columns = [f"{job.engine.null(types[key])} as {key}" for key in job.keys]
    columns += [f"{sequence} as {names.SEQUENCE}", f"{kind} as {names.KIND}"]
    if job.spec.scd2:
        columns.append(f"{job.engine.null(job.layout.sequence_type)} as {names.RUN_START}")
        columns += [f"{job.engine.null(types[name])} as {name}" for name in job.quoted(job.layout.untracked)]
    return f"select {', '.join(columns)}"


def rows(job: Job) -> Query:
    """Return the rows to be written to an SCD type 1 target; those of the last version where it is built."""
    columns = ", ".join(job.output)
    if job.builds:
        latest = f"where {names.SEQUENCE} = {_latest(job)}"
        return Query().then("rows", f"select {columns} from {job.working(names.STAGE)} {latest}")
    return Query().then("rows", f"select {columns} from {_compared(job)} where {names.KIND} = 'upsert'")


def built_rows(job: Job) -> Query:
    """Return the rows of a new SCD type 2 target: the keys that move from their timelines, the others as they are."""
    first = f"""
select {", ".join(of(names.AROUND, job.output))}, {names.AROUND}.{names.SEQUENCE} as {job.start_at},
    {job.engine.null(job.layout.sequence_type)} as {job.end_at}
from {job.working(names.STAGE)} as {names.AROUND}
where {names.AROUND}.{names.SEQUENCE} = {_first(job)}
and not exists (select 1 from {_moving(job)} as moving where {job.same_key("moving", names.AROUND)})"""
    moved = scd2.versions(job).render()
    return Query().then("rows", f"select * from (\n{moved}\n) as moved\nunion all{first}")


def open_versions(job: Job) -> tuple[Step, ...]:
    """Find the versions of the keys that differ which can change: the open ones, as snapshots come in order.

    Rows written by hand may lie later. They count: their bounds are events, and an event at one is known.
    """
    keys, stored = ", ".join(job.keys), job.working(names.STORED)
    query = Query().then(
        "stored",
        f"select {', '.join(of('tgt', job.keys))},\n"
        f"    tgt.{job.start_at} as {names.SEQUENCE}, tgt.{job.end_at} as {names.OLD_END},"
        f" {job.at('tgt')} as {names.LOCATOR}\n"
        f"from {job.target} as tgt\n"
        f"join (select distinct {keys} from {_compared(job)}) as evt on {job.same_key('evt', 'tgt')}\n"
        f"where tgt.{job.end_at} is null or tgt.{job.end_at} >= {_first(job)}",
    )
    bounds = Query().then(
        "bounds",
        f"select {keys}, {names.SEQUENCE} from {stored}\n"
        f"union all\nselect {keys}, {names.OLD_END} as {names.SEQUENCE} from {stored}",
    )
    known = job.engine.delete_matching(_compared(job), [*job.keys, names.SEQUENCE], bounds)
    return (
        Step("find the versions of the keys", job.engine.create_working(stored, query), (check.NEW,)),
        Step("leave out what a bound says already", known, (LATER,)),
    )


def plain(job: Job) -> tuple[Step, ...]:
    """Write the events of one version straight from the stage: a key has at most one, and at most one open version."""
    engine, target, events = job.engine, job.target, f"from {_inline(_alone(job))} as evt"
    goes_on = f"evt.{names.CONTINUES}" if _continues(job) else "false"
    ended = f"select evt.{names.LOCATOR} as locator, evt.{names.SEQUENCE} as value\n{events}"
    ended += f"\nwhere evt.{names.LOCATOR} is not null and not {goes_on}"
    start, old = f"evt.{names.SEQUENCE}", ""
    if _continues(job):
        start = f"case when {goes_on} then before.{job.start_at} else {start} end"
        of_old = f"case when {goes_on} then evt.{names.LOCATOR} end"
        old = f"\nleft join {target} as before on {job.at('before')} = {of_old}"
    bounds = [f"{start} as {job.start_at}", f"{engine.null(job.layout.sequence_type)} as {job.end_at}"]
    written = f"select {', '.join([*of('evt', job.output), *bounds])}\n{events}{old}"
    rows_written = Query().then("rows", f"{written}\nwhere evt.{names.KIND} = 'upsert'")
    gone = Query().then("gone", f"select evt.{names.LOCATOR}\n{events}\nwhere {goes_on}")
    return (
        writes.end(
            job, "end the open versions", Query().then("ended", ended), column=job.end_at, only_if=(ENDED,)
        ),
        writes.insert(job, "insert the new rows", rows_written, only_if=(BORN,)),
        writes.delete(job, "delete what was written anew", gone, only_if=(REWRITTEN,)),
    )
