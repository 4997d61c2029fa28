"""Rows that are replaced as sets: those of a key by its newest ones, or those in a range.

Not here: histories (`scd2`) and single rows of keys (`scd1`). Rows are multisets here: a key may own many, also equal
ones, and its parts may be null.
"""

from __future__ import annotations

from dbt_auto_cdc import names
from dbt_auto_cdc.plan import Rule, Step
from dbt_auto_cdc.scd import check
from dbt_auto_cdc.scd.job import Job, of
from dbt_auto_cdc.sql import Query, comma, indented

DIFFERING = "num_differing_rows"
EQUAL = "num_equal_keys"


def standings(job: Job) -> Step:
    """Find each incoming key's greatest sequence. Out: one row per key, and how it stands to what is stored."""
    keys = ", ".join(job.keys)
    query = Query().then(
        "incoming",
        f"select {keys}, max({names.SEQUENCE}) as {names.LATEST} from {job.working(names.STAGE)} group by {keys}",
    )
    if job.builds:
        query = query.then(
            "standings", f"select incoming.*, true as {names.IS_NEW}, false as {names.SAME} from incoming"
        )
    else:
        sequence = job.engine.quote(job.layout.sequence[0])
        stored = f"""
select {", ".join(of("inc", job.keys))}, max(tgt.{sequence}) as {names.LATEST}
from {job.target} as tgt join incoming as inc on {_same(job, "inc", "tgt")}
group by {", ".join(of("inc", job.keys))}"""
        columns = [
            *of("inc", [*job.keys, names.LATEST]),
            f"(stored.{names.LATEST} is null or inc.{names.LATEST} > stored.{names.LATEST}) as {names.IS_NEW}",
            f"coalesce(inc.{names.LATEST} = stored.{names.LATEST}, false) as {names.SAME}",
        ]
        query = query.then("stored", stored).then(
            "standings",
            f"select {comma(columns)}\nfrom incoming as inc left join stored on {_same(job, 'inc', 'stored')}",
        )
    return Step(
        "find the newest rows of each key", job.engine.create_working(job.working(names.WINNERS), query)
    )


def _same(job: Job, left: str, right: str) -> str:
    """The condition that rows have one key; a null is a key's part like any other."""
    engine = job.engine
    return " and ".join(f"not ({engine.differs(f'{left}.{key}', f'{right}.{key}')})" for key in job.keys)


def checked(job: Job) -> Step:
    """Measure the rows and refuse those without a place in the order. Out: one row."""
    staged = job.working(names.STAGE)
    missing = f"stg.{names.SEQUENCE} is null"
    read = f"""
select
    count(*) as {check.READ},
    count(case when {missing} then 1 end) as null_sequence,
    min(case when {missing} then {job.key_text("stg")} end) as null_sequence_example
from {staged} as stg"""
    stood = f"""
select
    count(case when won.{names.SAME} then 1 end) as {EQUAL},
    count(case when not won.{names.IS_NEW} and not won.{names.SAME} then 1 end) as num_late_keys
from {job.working(names.WINNERS)} as won"""
    query = (
        Query().then("read", read).then("stood", stood).then("checked", "select * from read cross join stood")
    )
    rule = Rule(
        "null_sequence",
        f"sequence_by {job.spec.sequence_by[0]} is null in {{count}} rows, for example {{example}}; a null has no"
        f" place in the order: filter such rows out in the model, or compute a value",
    )
    return Step("check the rows", query.render(), measures=True, rules=(rule,))


def newest(job: Job, *, which: str) -> Query:
    """Return the incoming rows that share their key's greatest sequence, of the keys that `which` holds for."""
    columns = ", ".join(of("stg", job.output))
    return Query().then(
        "newest",
        f"select {columns}\nfrom {job.working(names.STAGE)} as stg\n"
        f"join {job.working(names.WINNERS)} as won on {_same(job, 'won', 'stg')}"
        f" and won.{names.LATEST} = stg.{names.SEQUENCE}\nwhere {which}",
    )


def differences(job: Job, *, appends: bool) -> tuple[Step, Step]:
    """Set the newest rows of the keys to be replaced beside the stored ones, as multisets, and count.

    Out: the rows that one side has more often than the other, with the difference.
    """
    which = f"won.{names.IS_NEW}" if appends else f"(won.{names.IS_NEW} or won.{names.SAME})"
    stored = f"""
select {", ".join(of("tgt", job.output))}
from {job.target} as tgt join {job.working(names.WINNERS)} as won on {_same(job, "won", "tgt")}
where {which}"""
    return _differing(job, newest(job, which=which).render(), stored)


def _differing(job: Job, incoming: str, stored: str) -> tuple[Step, Step]:
    columns = job.output
    values = [
        f"{job.engine.comparable(name, column.type)}"
        for name, column in zip(columns, job.layout.output, strict=True)
    ]
    both = (
        f"select {', '.join(columns)}, 1 as {names.COPIES} from (\n{indented(incoming)}\n) as incoming\nunion all\n"
        f"select {', '.join(columns)}, -1 as {names.COPIES} from (\n{indented(stored)}\n) as stored"
    )
    shown = [*job.keys, f"sum({names.COPIES}) as {names.COPIES}"]
    grouped = f"group by {', '.join(values)} having sum({names.COPIES}) <> 0"
    differing = f"select {', '.join(shown)} from both_sides\n{grouped}"
    table = job.working(names.EVENTS)
    find = Query().then("both_sides", both).then("differing", differing)
    measured = f"""
select
    count(*) as {DIFFERING},
    coalesce(sum(case when {names.COPIES} > 0 then {names.COPIES} end), 0) as num_upserted_rows,
    coalesce(-sum(case when {names.COPIES} < 0 then {names.COPIES} end), 0) as num_deleted_rows
from {table}"""
    return (
        Step("compare the rows", job.engine.create_working(table, find)),
        Step("count the differences", measured.strip(), measures=True),
    )


def replace_keys(job: Job, *, appends: bool) -> tuple[Step, ...]:
    """Replace the rows of the keys that differ; with `appends`, add those at the stored sequence."""
    differing = f"select distinct {', '.join(job.keys)} from {job.working(names.EVENTS)}"
    gone = Query().then(
        "gone",
        f"select tgt.{job.engine.locator}\nfrom {job.target} as tgt\n"
        f"join (\n{differing}\n) as dif on {_same(job, 'dif', 'tgt')}",
    )
    changed = f"exists (select 1 from (\n{differing}\n) as dif where {_same(job, 'dif', 'stg')})"
    came = newest(job, which=f"not won.{names.SAME} and {changed}" if appends else changed)
    steps = [
        Step("delete the rows of the keys", job.engine.delete_located(job.target, gone), (DIFFERING,)),
        Step("insert the newest rows", job.engine.insert(job.target, job.output, came), (DIFFERING,)),
    ]
    if appends:
        added = job.engine.insert(job.target, job.output, newest(job, which=f"won.{names.SAME}"))
        steps.append(Step("add rows at the stored sequence", added, (EQUAL,), counts="num_upserted_rows"))
    return tuple(steps)


# a range


def in_range(job: Job, predicate: str) -> Query:
    """Return the incoming rows that satisfy the predicate."""
    return Query().then(
        "incoming",
        f"select {', '.join(job.output)}\nfrom {job.working(names.STAGE)}\nwhere (\n{indented(predicate)}\n)",
    )


def read_count(job: Job) -> Step:
    """Count the rows read."""
    return Step(
        "count the rows", f"select count(*) as {check.READ} from {job.working(names.STAGE)}", measures=True
    )


def range_differences(job: Job, predicate: str) -> tuple[Step, Step]:
    """Set the incoming rows in the range beside the stored ones."""
    stored = f"select {', '.join(job.output)}\nfrom {job.target}\nwhere (\n{indented(predicate)}\n)"
    return _differing(job, in_range(job, predicate).render(), stored)


def replace_range(job: Job, predicate: str) -> tuple[Step, ...]:
    """Replace the stored rows in the range by the incoming ones, where any differ."""
    insert = job.engine.insert(job.target, job.output, in_range(job, predicate))
    delete = f"delete from {job.target}\nwhere (\n{indented(predicate)}\n)"
    return (
        Step("delete the rows in the range", delete, (DIFFERING,)),
        Step("insert the rows in the range", insert, (DIFFERING,)),
    )
