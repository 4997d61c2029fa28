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


@dataclass(frozen=True)
class Limits:
    """What a snapshot may do: be empty, delete; and whether its version stands for one that has no rows."""

    is_constant: bool
    allow_empty: bool
    max_delete_ratio: float | None


def stage(job: Job) -> Step:
    """Evaluate the user's SQL; rows of a version that is not above the last one are marked."""
    if job.builds:
        return changes.stage(job)
    version = f"src.{names.SEQUENCE}"
    last = (
        f"select max({names.SEQUENCE}) as {names.LATEST} from {job.companion} where {names.KIND} = 'snapshot'"
    )
    is_late = f"coalesce({version} <= last.{names.LATEST}, false)"
    known = changes.Known(
        join=f"cross join ({last}) as last",
        is_new=f"not {is_late}",
        is_late=is_late,
        locator=job.engine.null(job.engine.locator_type),
        is_common=False,
    )
    return changes.stage(job, known)


def versions(job: Job, limits: Limits) -> Step:
    """List the versions to be applied, in ascending order. Out: one row per version, with its place from 1 on."""
    rows = f"select {names.SEQUENCE} from {_fresh(job)}"
    if limits.is_constant:
        constant = f"select {changes.sequence_expression(job.spec, (), job.engine)} as {names.SEQUENCE}"
        above = (
            f" where not exists (select 1 from {job.companion} as cmp where cmp.{names.KIND} = 'snapshot'"
            f" and cmp.{names.SEQUENCE} >= one.{names.SEQUENCE})"
        )
        rows += f"\nunion all\nselect one.{names.SEQUENCE} from (\n{constant}\n) as one" + (
            "" if job.builds else above
        )
    query = (
        Query()
        .then("waiting", rows)
        .then("versions", f"select distinct {names.SEQUENCE} from waiting where {names.SEQUENCE} is not null")
        .then(
            "placed",
            f"select {names.SEQUENCE}, row_number() over (order by {names.SEQUENCE}) as {names.PLACE} from versions",
        )
    )
    return Step("list the versions", job.engine.create_working(job.working(names.VERSIONS), query))


def _fresh(job: Job) -> str:
    """The staged rows of versions that were not applied yet, as something to select from."""
    staged = job.working(names.STAGE)
    return f"{staged} as stg" if job.builds else f"(select * from {staged} where {names.IS_NEW}) as stg"


def measured(job: Job, limits: Limits) -> Step:
    """Measure the snapshots and refuse what is none; out: one row."""
    staged, waiting = job.working(names.STAGE), job.working(names.VERSIONS)
    late = "0" if job.builds else f"count(distinct case when {names.IS_LATE} then {names.SEQUENCE} end)"
    place = ", ".join(of("stg", [*job.keys, names.SEQUENCE]))
    repeated = (
        f"select {place}, count(*) as {names.COPIES} from {_fresh(job)} group by {place} having count(*) > 1"
    )
    example = (
        f"{job.key_text('repeated')} || ' in version ' || {job.engine.as_text(f'repeated.{names.SEQUENCE}')}"
    )
    query = (
        Query()
        .then("counted", f"select count(*) as {check.READ}, {late} as {SKIPPED} from {staged}")
        .then("missing", _missing(job))
        .then("repeated", repeated)
        .then(
            "duplicated",
            f"select count(*) as duplicate_keys, min({example}) as duplicate_keys_example from repeated",
        )
        .then("waiting", _waiting(waiting, _fresh(job)))
        .then("measured", "select * from counted cross join missing cross join duplicated cross join waiting")
    )
    return Step("check the snapshots", query.render(), measures=True, rules=_rules(job, limits))


def _missing(job: Job) -> str:
    columns = [f"count(case when stg.{names.SEQUENCE} is null then 1 end) as null_version"]
    columns.append(
        f"min(case when stg.{names.SEQUENCE} is null then {job.key_text('stg')} end) as null_version_example"
    )
    for number, key in enumerate(job.keys):
        shown = job.engine.as_text(f"stg.{names.SEQUENCE}")
        columns.append(f"count(case when stg.{key} is null then 1 end) as null_key_{number}")
        columns.append(f"min(case when stg.{key} is null then {shown} end) as null_key_{number}_example")
    return f"select\n    {comma(columns)}\nfrom {_fresh(job)}"


def _waiting(versions_table: str, fresh: str) -> str:
    empty = f"not exists (select 1 from {fresh} where stg.{names.SEQUENCE} = ver.{names.SEQUENCE})"
    return f"""
select
    count(*) as {VERSIONS},
    case when count(*) = 1 then 1 else 0 end as {ONE},
    case when count(*) > 1 then 1 else 0 end as {SEVERAL},
    count(case when {empty} then 1 end) as empty_snapshots
from {versions_table} as ver"""


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
    if not job.builds:
        rules.append(
            Rule(
                SKIPPED,
                "{count} snapshot versions are not above the last one applied and were skipped; snapshots apply in"
                " ascending order",
                warns=True,
            )
        )
    return tuple(rules)


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


def _versions(job: Job) -> str:
    return job.working(names.VERSIONS)


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
    """Count the events, and refuse versions that delete more than they may."""
    columns = [f"count(*) as {check.NEW}"]
    if not (job.spec.scd2 or job.builds):
        columns.append(f"count(case when {names.KIND} = 'delete' then 1 end) as num_deleted_rows")
    query = Query().then("counted", f"select {', '.join(columns)} from {_compared(job)}")
    if limits.max_delete_ratio is None or job.builds:
        return Step("count the differences", query.render(), _if_any(job), measures=True)
    stored = f"select count(*) as {names.COPIES} from {job.target}" + (
        f" where {job.end_at} is null" if job.spec.scd2 else ""
    )
    sizes = f"""
select ver.{names.PLACE}, ver.{names.SEQUENCE}, count(stg.{names.SEQUENCE}) as {names.COPIES}
from {_versions(job)} as ver left join {_fresh(job)} on stg.{names.SEQUENCE} = ver.{names.SEQUENCE}
group by ver.{names.PLACE}, ver.{names.SEQUENCE}"""
    before = f"""
select sizes.{names.SEQUENCE},
    coalesce(lag(sizes.{names.COPIES}) over (order by sizes.{names.PLACE}), stored.{names.COPIES}) as {names.COPIES}
from sizes cross join stored"""
    deletes = f"""
select {names.SEQUENCE}, count(*) as {names.WAYS} from {_compared(job)}
where {names.KIND} = 'delete' group by {names.SEQUENCE}"""
    shown = job.engine.as_text(f"before.{names.SEQUENCE}")
    example = (
        f"'version ' || {shown} || ' deletes ' || {job.engine.as_text(f'deletes.{names.WAYS}')} || ' of ' || "
        + (job.engine.as_text(f"before.{names.COPIES}"))
    )
    refused = f"""
select count(*) as greedy_versions, min({example} || ' rows') as greedy_versions_example
from deletes join before on before.{names.SEQUENCE} = deletes.{names.SEQUENCE}
where deletes.{names.WAYS} > {limits.max_delete_ratio} * before.{names.COPIES}"""
    query = query.then("stored", stored).then("sizes", sizes).then("before", before).then("deletes", deletes)
    query = query.then("refused", refused).then("judged", "select * from counted cross join refused")
    rule = Rule(
        "greedy_versions",
        f"{{count}} versions delete more than max_delete_ratio {limits.max_delete_ratio} allows, for example"
        f" {{example}}; a half-written extract looks like that: check the source, or raise max_delete_ratio",
    )
    return Step("count the differences", query.render(), _if_any(job), measures=True, rules=(rule,))


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


def open_versions(job: Job) -> Step:
    """Find the open versions of the keys that differ: snapshots come in order, so only these can change."""
    keys = ", ".join(job.keys)
    query = Query().then(
        "stored",
        f"select {', '.join(of('tgt', job.keys))},\n"
        f"    tgt.{job.start_at} as {names.SEQUENCE}, tgt.{job.end_at} as {names.OLD_END},"
        f" tgt.{job.engine.locator} as {names.LOCATOR}\n"
        f"from {job.target} as tgt\n"
        f"join (select distinct {keys} from {_compared(job)}) as evt on {job.same_key('evt', 'tgt')}\n"
        f"where tgt.{job.end_at} is null",
    )
    return Step(
        "find the versions of the keys",
        job.engine.create_working(job.working(names.STORED), query),
        (check.NEW,),
    )
