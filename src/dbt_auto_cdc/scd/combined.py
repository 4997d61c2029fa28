"""Whole dumps beside changes, in SCD type 1: a dump truncates the target at its version and upserts its rows there.

Nothing is remembered of a dump's rows but the truncate: older events stay out because of it, and an event at the
version itself is not known, so it wins over the dump's row as it should.

Not here: how changes are read and applied (`scd1`), how dumps are staged and checked (`snapshot`).
"""

from __future__ import annotations

from dataclasses import replace

from dbt_auto_cdc import names
from dbt_auto_cdc.plan import Step
from dbt_auto_cdc.resolve import is_constant, sequence_columns
from dbt_auto_cdc.scd import changes, check, scd1, snapshot, writes
from dbt_auto_cdc.scd.job import Job, of
from dbt_auto_cdc.spec import FlowEvents, SnapshotEvents
from dbt_auto_cdc.sql import Query, any_of, comma

COUNTS = "num_dumps_that_count"
DIFFERS = "num_dump_differences"


def jobs(job: Job, spec: FlowEvents) -> tuple[Job, Job, snapshot.Limits]:
    """Return the job of the changes, that of the dumps beside it, and what a dump may do."""
    written = spec.snapshot
    assert written is not None  # noqa: S101 - called for models with a flow of dumps
    feed = tuple(column for column in job.state.feed if column.name != names.KIND)
    limits = snapshot.Limits(
        is_constant=is_constant(written.snapshot_version, feed) and not job.state.partial,
        allow_empty=written.allow_empty_snapshot,
        max_delete_ratio=written.max_delete_ratio,
    )
    events = SnapshotEvents(keys=spec.keys, sequence_by=(written.snapshot_version,), judged=spec.judged_dumps)
    dump = replace(
        job,
        spec=events,
        layout=replace(job.layout, sequence=sequence_columns(events.sequence_by, feed)),
        state=replace(job.state, model_sql=spec.snapshot_sql, feed=feed),
        part=names.DUMP,
    )
    latest = f"select {dump.extreme('max', names.SEQUENCE)} as sequence from {dump.working(names.VERSIONS)}"
    return replace(job, truncated_at=f"{latest} where {names.PLACE} is not null"), dump, limits


def read(dump: Job, limits: snapshot.Limits) -> tuple[Step, ...]:
    """Stage and check the dumps; of those that wait only the greatest matters, but all are checked."""
    counted = (snapshot.versions(dump, limits), snapshot.counted(dump, limits))
    return (snapshot.stage(dump), *counted, *snapshot.measured(dump, limits))


def present(job: Job, dump: Job) -> str:
    """Select the rows of the greatest dump that count: not below a truncate, and of keys without a newer change.

    It reads `truncation`. Out: one row per key, with its place among the staged rows.
    """
    staged = dump.working(names.STAGE)
    known = (
        ""
        if job.builds
        else f"""
and not exists (
    select 1 from {job.companion} as cmp
    where {job.same_key("cmp", names.AROUND)} and cmp.{names.SEQUENCE} >= {names.AROUND}.{names.SEQUENCE}
)"""
    )
    return f"""
select {", ".join(of(names.AROUND, job.output))}, {names.AROUND}.{job.engine.locator} as {names.EVENT}
from {staged} as {names.AROUND}
join ({job.truncated_at}) as latest on latest.sequence = {names.AROUND}.{names.SEQUENCE}
join {scd1.TRUNCATION} on {scd1.TRUNCATION}.sequence = latest.sequence
where not exists (
    select 1 from {job.working(names.WINNERS)} as won where {job.same_key("won", names.AROUND)}
){known}"""


def rows(job: Job, dump: Job) -> Query:
    """Return the rows of a target that is built: the winners of the changes, and the dump's."""
    columns = ", ".join(job.output)
    query = Query((*scd1.with_truncation(job).steps, *scd1.rows(job).steps)).then(
        "dumped", present(job, dump)
    )
    return query.then("built", f"select {columns} from rows\nunion all\nselect {columns} from dumped")


def _differences(dump: Job) -> str:
    return dump.working(names.EVENTS)


def compared(job: Job, dump: Job) -> tuple[Step, ...]:
    """Set the greatest dump beside the rows that it may replace, and refuse one that deletes too many."""
    latest = scd1.with_truncation(job).then(
        "counted",
        f"select count(*) as {COUNTS} from ({job.truncated_at}) as latest\n"
        f"join {scd1.TRUNCATION} on {scd1.TRUNCATION}.sequence = latest.sequence",
    )
    found = Step("see whether the dump counts", latest.render(), (snapshot.VERSIONS,), measures=True)
    differ = job.engine.create_working(_differences(dump), _differing(job, dump))
    return (found, Step("compare the dump with the target", differ, (check.TRUNCATED, COUNTS)))


def _differing(job: Job, dump: Job) -> Query:
    """Pairs of a key's rows, in the dump and in the target, that are not alike. Out: their places, and the key."""
    key = job.keys[0]
    past = [*of(names.AROUND, job.output), f"{names.AROUND}.{job.engine.locator} as {names.LOCATOR}"]
    columns = [f"coalesce(now.{name}, past.{name}) as {name}" for name in job.keys]
    columns += [f"now.{names.EVENT}", f"past.{names.LOCATOR}"]
    columns.append(f"case when now.{key} is null then 'delete' else 'upsert' end as {names.KIND}")
    return (
        scd1.with_truncation(job)
        .then("present", present(job, dump))
        .then("past", scd1.replaceable(job, ", ".join(past)))
        .then(
            "differing",
            f"select\n    {comma(columns)}\nfrom present as now\nfull join past on {job.same_key('past', 'now')}\n"
            f"where {any_of([f'now.{key} is null', f'past.{key} is null', *snapshot.unlike(job, 'now').values()])}",
        )
    )


def judged(job: Job, dump: Job, limits: snapshot.Limits) -> Step:
    """Count what differs, and refuse what deletes more than it may, or keys with several rows by hand."""
    counted = (
        f"select count(*) as {DIFFERS}, count(case when {names.KIND} = 'delete' then 1 end) as num_deleted_rows\n"
        f"from {_differences(dump)}"
    )
    by_hand = snapshot.repeated_keys(job, _differences(dump))
    query = Query().then("counted", counted).then("by_hand", by_hand)
    sources, rules = ["counted", "by_hand"], [snapshot.BY_HAND]
    if limits.max_delete_ratio is not None:
        query = query.then("greedy", _greedy(job, limits.max_delete_ratio))
        sources.append("greedy")
        rules.append(snapshot.too_many(limits.max_delete_ratio))
    query = query.then("judged", "select *\nfrom " + " cross join ".join(sources))
    when = (check.TRUNCATED, COUNTS)
    return Step("count the differences", query.render(), when, measures=True, rules=tuple(rules))


def _greedy(job: Job, ratio: float) -> str:
    """One row: whether the dump deletes a greater share of the rows than it may; a truncate alone may."""
    gone, rows_before = map(job.engine.as_text, ("counted.num_deleted_rows", "stored.rows_before"))
    version = job.engine.as_text("latest.sequence")
    example = f"'version ' || {version} || ' deletes ' || {gone} || ' of ' || {rows_before} || ' rows'"
    return f"""
select count(*) as greedy_versions, min({example}) as greedy_versions_example
from counted cross join (select count(*) as rows_before from {job.target}) as stored
cross join ({job.truncated_at}) as latest
where latest.sequence is not null and counted.num_deleted_rows > {ratio} * stored.rows_before"""


def apply(job: Job, dump: Job) -> tuple[Step, ...]:
    """Write what differs from the dump, then the winners of the changes, and remember the dump's version."""
    engine, differs = job.engine, (DIFFERS,)
    gone = Query().then(
        "gone", f"select {names.LOCATOR} from {_differences(dump)} where {names.LOCATOR} is not null"
    )
    born = Query().then(
        "rows",
        f"select {', '.join(of('stg', job.output))}\nfrom {dump.working(names.STAGE)} as stg\n"
        f"join {_differences(dump)} as diff on diff.{names.EVENT} = stg.{engine.locator}",
    )
    replaced = (
        writes.delete(job, "delete the rows that the dump has not, or otherwise", gone, only_if=differs),
        writes.insert(job, "insert the dump's rows", born, only_if=differs, counts="num_upserted_rows"),
    )
    forget = f"delete from {job.companion} where {names.KIND} = 'snapshot'"
    remember = engine.insert(job.companion, [*job.keys, *changes.EVENT], snapshot.last(dump))
    waiting = (snapshot.VERSIONS,)
    return (
        *scd1.apply(job, replaced),
        Step("forget the last version", forget, waiting),
        Step("remember the last version", remember, waiting),
        snapshot.remember_all(dump),
    )
