"""Snapshots: whole copies of a source are set beside one another, and what differs becomes events.

Not here: what the events do to the target (`scd1`, `scd2`); snapshots come in order, so nothing is remembered but the
last version.
"""

from __future__ import annotations

from dataclasses import dataclass

from dbt_auto_cdc import names
from dbt_auto_cdc.plan import Rule, Step
from dbt_auto_cdc.scd import changes, check
from dbt_auto_cdc.scd.job import Job, of
from dbt_auto_cdc.sql import Query, any_of, comma

ONE = "num_single_versions"
SEVERAL = "num_several_versions"
VERSIONS = "num_snapshot_versions"
SKIPPED = "num_skipped_versions"
LATER = "num_later_bounds"


@dataclass(frozen=True)
class Limits:
    """What a snapshot may do: be empty, delete; and its version: stand for one without rows, come from a query."""

    is_constant: bool
    allow_empty: bool
    max_delete_ratio: float | None
    is_asked: bool = False


def stage(job: Job) -> Step:
    """Evaluate the user's SQL; rows of a version that is not above the last one are marked."""
    if job.builds:
        return changes.stage(job)
    version = f"src.{names.SEQUENCE}"
    is_late = f"coalesce({version} <= last.{names.LATEST}, false)"
    known = changes.Known(
        join=f"cross join ({_last(job)}) as last",
        is_new=f"not {is_late}",
        is_late=is_late,
        locator=job.engine.null(job.engine.locator_type),
        is_common=False,
    )
    return changes.stage(job, known)


def _last(job: Job) -> str:
    """One row: the last version applied, or null."""
    applied = f"from {job.companion} where {names.KIND} = 'snapshot'"
    return f"select max({names.SEQUENCE}) as {names.LATEST} {applied}"


def versions(job: Job, limits: Limits) -> Step:
    """List the versions that were read. Out: one row per version; those to be applied have their place from 1 on."""
    staged = job.working(names.STAGE)
    read = f"select {names.SEQUENCE} from {staged}"
    if limits.is_constant:
        constant = (
            f"select {changes.sequence_expression(job.spec.sequence_by, (), job.engine)} as {names.SEQUENCE}"
        )
        read += (
            f"\nunion all\nselect * from (\n{constant}\n) as one where not exists (select 1 from {staged})"
        )
    is_late = "false" if job.builds else f"coalesce(ver.{names.SEQUENCE} <= last.{names.LATEST}, false)"
    last = "" if job.builds else f" cross join ({_last(job)}) as last"
    place = f"row_number() over (partition by {names.IS_LATE} order by {names.SEQUENCE})"
    query = (
        Query()
        .then("versions_read", read)
        .then(
            "versions",
            f"select distinct {names.SEQUENCE} from versions_read where {names.SEQUENCE} is not null",
        )
        .then(
            "told", f"select ver.{names.SEQUENCE}, {is_late} as {names.IS_LATE}\nfrom versions as ver{last}"
        )
        .then(
            "placed",
            f"select {names.SEQUENCE}, case when not {names.IS_LATE} then {place} end as {names.PLACE}\nfrom told",
        )
    )
    return Step("list the versions", job.engine.create_working(_versions(job), query))


def _versions(job: Job) -> str:
    return job.working(names.VERSIONS)


def _fresh(job: Job) -> str:
    """The staged rows of versions that were not applied yet, as something to select from."""
    staged = job.working(names.STAGE)
    return f"{staged} as stg" if job.builds else f"(select * from {staged} where {names.IS_NEW}) as stg"


def measured(job: Job, limits: Limits) -> Step:
    """Measure the snapshots and refuse what is none; out: one row."""
    place = ", ".join(of("stg", [*job.keys, names.SEQUENCE]))
    repeated = (
        f"select {place}, count(*) as {names.COPIES} from {_fresh(job)} group by {place} having count(*) > 1"
    )
    example = (
        f"{job.key_text('repeated')} || ' in version ' || {job.engine.as_text(f'repeated.{names.SEQUENCE}')}"
    )
    # Only a version that does not come with the rows can stand for a snapshot without any.
    empty = f"case when counted.{check.READ} = 0 then waiting.{VERSIONS} else 0 end as empty_snapshots"
    query = (
        Query()
        .then("counted", f"select count(*) as {check.READ} from {job.working(names.STAGE)}")
        .then("missing", _missing(job))
        .then("repeated", repeated)
        .then(
            "duplicated",
            f"select count(*) as duplicate_keys, min({example}) as duplicate_keys_example from repeated",
        )
        .then("waiting", _waiting(job))
        .then(
            "measured",
            f"select counted.*, missing.*, duplicated.*, waiting.*, {empty}\n"
            "from counted cross join missing cross join duplicated cross join waiting",
        )
    )
    return Step("check the snapshots", query.render(), measures=True, rules=_rules(job, limits))


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


def _waiting(job: Job) -> str:
    """One row: how many versions are to be applied, and how many of those that were read are too late."""
    to_apply, source, skipped = f"count(ver.{names.PLACE})", f"{_versions(job)} as ver", [f"0 as {SKIPPED}"]
    if not job.builds:
        late = f"case when ver.{names.PLACE} is null then ver.{names.SEQUENCE} end"
        greatest, last = (job.engine.as_text(f"max({shown})") for shown in (late, f"last.{names.LATEST}"))
        skipped = [
            f"count(*) - {to_apply} as {SKIPPED}",
            f"{greatest} || ' (the last one is ' || {last} || ')' as {SKIPPED}_example",
        ]
        source += f" cross join ({_last(job)}) as last"
    columns = [
        f"{to_apply} as {VERSIONS}",
        f"case when {to_apply} = 1 then 1 else 0 end as {ONE}",
        f"case when {to_apply} > 1 then 1 else 0 end as {SEVERAL}",
        *skipped,
    ]
    return f"select\n    {comma(columns)}\nfrom {source}"


def _rules(job: Job, limits: Limits) -> tuple[Rule, ...]:
    rules = [
        Rule(
            "null_version",
            "snapshot_version is null in {count} rows, for example {example}; every row needs the version of the"
            " snapshot it belongs to",
        ),
        Rule(
            "duplicate_keys",
            "{count} keys stand in one version more than once, for example {example}; a snapshot has one row a key:"
            " add the missing key columns, or reduce the rows in the model",
        ),
    ]
    for number, column in enumerate(job.layout.keys):
        rules.append(
            Rule(
                f"null_key_{number}",
                f"key column {column.name} is null in {{count}} rows, for example in version {{example}}; filter such"
                f" rows out in the model, or give them a key",
            )
        )
    if not limits.allow_empty:
        rules.append(
            Rule(
                "empty_snapshots",
                "the snapshot has no rows, which would delete everything; set allow_empty_snapshot to true if that is"
                " meant",
            )
        )
    rules.append(_ASKED_AGAIN if limits.is_asked else _SKIPPED)
    return tuple(rules)


_SKIPPED = Rule(
    SKIPPED,
    "{count} snapshot versions are not above the last one applied and were skipped, for example {example};"
    " snapshots apply in ascending order",
    warns=True,
)
_ASKED_AGAIN = Rule(
    SKIPPED,
    "version_query returned a version that is not above the last one applied, and would for ever: {example}; let it ask"
    " for versions above that of auto_cdc.last_snapshot_version()",
)


def differences(job: Job) -> tuple[Step, ...]:
    """Turn what differs from one snapshot to the next into events: an upsert, or a delete where a key is missing.

    In: the staged rows, and the open rows of the target as the snapshot before the first. Out: one event per key and
    version at which something differs. SCD type 1 shows the last version only and is compared with that one.
    """
    if not job.spec.scd2:
        return (_events(job, several=False, only_if=(VERSIONS,)),)
    if job.builds:
        return (_events(job, several=True, only_if=()),)
    # Only what was measured tells whether the snapshots have to be compared with one another as well.
    return (_events(job, several=False, only_if=(ONE,)), _events(job, several=True, only_if=(SEVERAL,)))


def _compared(job: Job) -> str:
    """The working table of the differences; of SCD type 1 they are what is written."""
    return job.working(names.EVENTS if job.spec.scd2 else names.WINNERS)


def _events(job: Job, *, several: bool, only_if: tuple[str, ...]) -> Step:
    return Step(
        "compare the snapshots" if several else "compare the snapshot with the target",
        job.engine.create_working(_compared(job), _among_all(job) if several else _with_target(job)),
        () if job.builds else only_if,
    )


def _with_target(job: Job) -> Query:
    """Compare the one snapshot that counts, the last, with the target's open rows."""
    latest = f"(select max({names.SEQUENCE}) from {_versions(job)})"
    now = (
        f"select {', '.join(of('stg', job.output))}\nfrom {_fresh(job)} where stg.{names.SEQUENCE} = {latest}"
    )
    query = Query().then("present", now)
    if job.builds:
        found = f"select now.*, 'upsert' as {names.KIND} from present as now"
        return query.then("differing", found).then("events", _at(job, latest))
    query = query.then("past", _open_rows(job)).then("differing", _differing(job, placed=False))
    return query.then("events", _at(job, latest))


def _at(job: Job, version: str) -> str:
    columns = comma([*of("evt", job.output), f"{version} as {names.SEQUENCE}", f"evt.{names.KIND}"])
    return f"select\n    {columns}\nfrom differing as evt"


def _open_rows(job: Job) -> str:
    is_open = f" where tgt.{job.end_at} is null" if job.spec.scd2 else ""
    return f"select {', '.join(of('tgt', job.output))} from {job.target} as tgt{is_open}"


def _among_all(job: Job) -> Query:
    """Compare each snapshot with the one before it, and the first with the target's open rows."""
    place, columns = f"ver.{names.PLACE}", ", ".join(of("now", job.output))
    now = (
        f"select {', '.join([*of('stg', job.output), place])}\nfrom {_fresh(job)}\n"
        f"join {_versions(job)} as ver on ver.{names.SEQUENCE} = stg.{names.SEQUENCE}"
    )
    before = (
        f"select {columns}, now.{names.PLACE} + 1 as {names.PLACE} from present as now"
        f" where now.{names.PLACE} < (select max({names.PLACE}) from {_versions(job)})"
    )
    if not job.builds:
        before += f"\nunion all\nselect past.*, 1 as {names.PLACE} from (\n{_open_rows(job)}\n) as past"
    versions_of = f"{_versions(job)} as ver on ver.{names.PLACE} = evt.{names.PLACE}"
    query = Query().then("present", now).then("past", before).then("differing", _differing(job, placed=True))
    return query.then("events", f"{_at(job, f'ver.{names.SEQUENCE}')}\njoin {versions_of}")


def _differing(job: Job, *, placed: bool) -> str:
    """Pairs of a key's rows, now and past, that are not alike; one side is null where the key is missing.

    With `placed` there are several snapshots, and a pair has one place.
    """
    key, engine = job.keys[0], job.engine
    values = [
        (name, c.type) for name, c in zip(job.output, job.layout.output, strict=True) if name not in job.keys
    ]
    unlike = [
        engine.differs(engine.comparable(f"now.{name}", kind), engine.comparable(f"past.{name}", kind))
        for name, kind in values
    ]
    columns = [f"coalesce(now.{name}, past.{name}) as {name}" for name in job.keys]
    columns += [f"now.{name}" for name, _ in values]
    on = job.same_key("past", "now")
    if placed:
        columns.append(f"coalesce(now.{names.PLACE}, past.{names.PLACE}) as {names.PLACE}")
        on += f" and past.{names.PLACE} = now.{names.PLACE}"
    columns.append(f"case when now.{key} is null then 'delete' else 'upsert' end as {names.KIND}")
    return f"""
select
    {comma(columns)}
from present as now
full join past on {on}
where {any_of([f"now.{key} is null", f"past.{key} is null", *unlike])}"""


def judged(job: Job, limits: Limits) -> Step:
    """Count the events, and refuse versions that delete more than they may, and keys with several rows by hand."""
    sources = ["counted"]
    rules: list[Rule] = []
    columns = [f"count(*) as {check.NEW}"]
    if not (job.spec.scd2 or job.builds):
        columns.append(f"count(case when {names.KIND} = 'delete' then 1 end) as num_deleted_rows")
    query = Query().then("counted", f"select {', '.join(columns)} from {_compared(job)}")
    if not job.builds:
        query = query.then(*_by_hand(job))
        sources.append("by_hand")
        rules += _BY_HAND
    if limits.max_delete_ratio is not None:
        query = _sized(job, query).then("greedy", _greedy(job, limits.max_delete_ratio))
        sources.append("greedy")
        rules.append(_too_many(limits.max_delete_ratio))
    query = query.then("judged", "select *\nfrom " + " cross join ".join(sources))
    return Step("count the differences", query.render(), _if_any(job), measures=True, rules=tuple(rules))


def _by_hand(job: Job) -> tuple[str, str]:
    """One row: what only somebody's hand can have written. Bounds of our own lie below the versions to be applied."""
    if job.spec.scd2:
        bounds = any_of(f"tgt.{bound} >= {_first(job)}" for bound in (job.start_at, job.end_at))
        matters = f"exists (select 1 from {_compared(job)})"
        found = f"select count(*) as {LATER} from {job.target} as tgt where {matters} and ({bounds})"
        return "by_hand", found
    keys = ", ".join(job.keys)
    repeated = f"select {keys} from {_compared(job)} group by {keys} having count(*) > 1"
    return "by_hand", (
        f"select count(*) as repeated_keys, min({job.key_text('found')}) as repeated_keys_example\n"
        f"from ({repeated}) as found"
    )


_BY_HAND = (
    Rule(
        "repeated_keys",
        "{count} keys have more than one row in the target, for example {example}; they were written by hand: delete"
        " all but one of each",
    ),
)


def _first(job: Job) -> str:
    """The first version to be applied."""
    return f"(select min({names.SEQUENCE}) from {_versions(job)} where {names.PLACE} = 1)"


def _sized(job: Job, query: Query) -> Query:
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
    deletes = f"select {names.SEQUENCE}, count(*) as {names.WAYS} from {_compared(job)}"
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
from past join {_versions(job)} as ver on ver.{names.PLACE} = past.{names.PLACE}
where not exists (
    select 1 from present as now where {job.same_key("now", "past")} and now.{names.PLACE} = past.{names.PLACE}
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


def _too_many(ratio: float) -> Rule:
    return Rule(
        "greedy_versions",
        f"{{count}} versions delete more than max_delete_ratio {ratio} allows, for example {{example}}; a half-written"
        f" extract looks like that: check the source, or raise max_delete_ratio",
    )


def _if_any(job: Job) -> tuple[str, ...]:
    return () if job.builds else (VERSIONS,)


def remember(job: Job) -> Step:
    """Record the last version applied."""
    latest = f"(select max({names.SEQUENCE}) from {_versions(job)})"
    sql = f"update {job.companion} set {names.SEQUENCE} = {latest} where {names.KIND} = 'snapshot'"
    return Step("remember the version", sql, (VERSIONS,))


def last(job: Job, versions_known: str = "") -> Query:
    """Return the companion's row for the last version; its sequence is null while there was none.

    `versions_known` selects the versions instead of those of this run.
    """
    types = {job.engine.quote(c.name): c.type for c in (*job.layout.keys, *job.layout.untracked)}
    columns = [f"{job.engine.null(types[key])} as {key}" for key in job.keys]
    columns += [f"max({names.SEQUENCE}) as {names.SEQUENCE}", f"'snapshot' as {names.KIND}"]
    if job.spec.scd2:
        columns.append(f"{job.engine.null(job.layout.sequence_type)} as {names.RUN_START}")
        columns += [f"{job.engine.null(types[name])} as {name}" for name in job.quoted(job.layout.untracked)]
    source = f"(\n{versions_known}\n) as known" if versions_known else _versions(job)
    return Query().then("last", f"select {', '.join(columns)}\nfrom {source}")


def rows(job: Job) -> Query:
    """Return the rows to be written to an SCD type 1 target."""
    columns = ", ".join(job.output)
    return Query().then("rows", f"select {columns} from {_compared(job)} where {names.KIND} = 'upsert'")


def open_versions(job: Job) -> tuple[Step, ...]:
    """Find the versions of the keys that differ which can change: the open ones, as snapshots come in order.

    Rows written by hand may lie later. They count: their bounds are events, and an event at one is known.
    """
    keys, stored = ", ".join(job.keys), job.working(names.STORED)
    query = Query().then(
        "stored",
        f"select {', '.join(of('tgt', job.keys))},\n"
        f"    tgt.{job.start_at} as {names.SEQUENCE}, tgt.{job.end_at} as {names.OLD_END},"
        f" tgt.{job.engine.locator} as {names.LOCATOR}\n"
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
