"""Rows that are replaced as sets: those of a key by its newest ones, or those in a range.

Not here: histories (`scd2`) and single rows of keys (`scd1`). Rows are multisets here: a key may own many, also equal
ones, and its parts may be null.
"""

from __future__ import annotations

from dbt_auto_cdc import names
from dbt_auto_cdc.plan import Rule, Step
from dbt_auto_cdc.scd import changes, check, writes
from dbt_auto_cdc.scd.job import Job, of
from dbt_auto_cdc.sql import Query, all_of, comma, indented
from dbt_auto_cdc.state import Column

DIFFERING = "num_differing_rows"
EQUAL = "num_equal_keys"
NEWER = "num_newer_keys"


def standings(job: Job) -> tuple[Step, ...]:
    """Find each incoming key's greatest sequence. Out: one row per key, and how it stands to what is stored."""
    keys, stand = of("stg", job.keys), f"max(stg.{names.SEQUENCE})"
    staged = f"from {job.working(names.STAGE)} as stg"
    found: tuple[Step, ...] = ()
    query = Query()
    if job.builds:
        marks = [f"true as {names.IS_NEW}", f"false as {names.SAME}", f"0 as {names.COPIES}"]
    else:
        found = (_stored(job),)
        query = query.then(
            "stored",
            f"select {', '.join(job.keys)}, max({names.SEQUENCE}) as {names.LATEST}\n"
            f"from {job.working(names.STORED)} group by {', '.join(job.keys)}",
        )
        stored, late = f"max(stored.{names.LATEST})", f"stg.{names.SEQUENCE} < stored.{names.LATEST}"
        marks = [
            f"({stored} is null or {stand} > {stored}) as {names.IS_NEW}",
            f"coalesce({stand} = {stored}, false) as {names.SAME}",
            f"count(case when {late} then 1 end) as {names.COPIES}",
        ]
        staged += f"\nleft join stored on {_same(job, 'stored', 'stg')}"
    columns = comma([*keys, f"{stand} as {names.LATEST}", *marks])
    query = query.then("standings", f"select\n    {columns}\n{staged}\ngroup by {', '.join(keys)}")
    table = job.engine.create_working(job.working(names.WINNERS), query)
    return (*found, Step("find the newest rows of each key", table))


def _stored(job: Job) -> Step:
    """Find the target's rows of the incoming keys, narrowly. Out: one row per such row."""
    columns = [*of("tgt", job.keys), f"tgt.{_sequence(job)} as {names.SEQUENCE}"]
    columns.append(f"{job.at('tgt')} as {names.LOCATOR}")
    incoming = f"select distinct {', '.join(job.keys)} from {job.working(names.STAGE)}"
    stored = f"""
select {", ".join(columns)}
from {job.target} as tgt join incoming as inc on {_same(job, "inc", "tgt")}"""
    query = Query().then("incoming", incoming).then("stored", stored)
    return Step("find the rows of the keys", job.engine.create_working(job.working(names.STORED), query))


def _sequence(job: Job) -> str:
    """The target's column that holds the sequence."""
    (source,) = job.layout.sequence
    return next(job.engine.quote(column.name) for column in job.layout.output if column.source == source)


def _same(job: Job, left: str, right: str) -> str:
    """The condition that rows have one key; a null is a key's part like any other."""
    typed = zip(job.keys, job.layout.keys, strict=True)
    return all_of(
        job.engine.is_same(f"{left}.{key}", f"{right}.{key}", type_name=column.type) for key, column in typed
    )


def checked(job: Job) -> Step:
    """Measure the rows and refuse those without a place in the order. Out: one row."""
    missing = f"stg.{names.SEQUENCE} is null"
    read = f"""
select
    count(*) as {check.READ},
    count(case when {missing} then 1 end) as null_sequence,
    min(case when {missing} then {job.key_text("stg")} end) as null_sequence_example
from {job.working(names.STAGE)} as stg"""
    stood = f"""
select
    count(case when won.{names.SAME} then 1 end) as {EQUAL},
    count(case when won.{names.IS_NEW} then 1 end) as {NEWER},
    coalesce(sum(won.{names.COPIES}), 0) as {check.LATE}
from {job.working(names.WINNERS)} as won"""
    query = (
        Query().then("read", read).then("stood", stood).then("checked", "select * from read cross join stood")
    )
    rule = Rule(
        "null_sequence",
        f"sequence_by {job.spec.sequence_by[0]} is null in {{count}} row{{s}}, for example {{example}}; a null has no"
        f" place in the order: filter such rows out in the model, or compute a value",
    )
    return Step("check the rows", query.render(), measures=True, rules=(rule,))


def newest(job: Job, *, which: str, among: str = "") -> Query:
    """Return the incoming rows that share their key's greatest sequence, of the keys that `which` holds for.

    `among` selects keys, of which it has to be one.
    """
    columns = ", ".join(of("stg", job.output))
    joined = f"\njoin (\n{indented(among)}\n) as dif on {_same(job, 'dif', 'stg')}" if among else ""
    return Query().then(
        "newest",
        f"select {columns}\nfrom {job.working(names.STAGE)} as stg\n"
        f"join {job.working(names.WINNERS)} as won on {_same(job, 'won', 'stg')}"
        f" and won.{names.LATEST} = stg.{names.SEQUENCE}{joined}\nwhere {which}",
    )


def replace_newer(job: Job, *, goes_back: bool) -> tuple[Step, Step]:
    """Replace the rows of the keys that have come with a greater sequence: all of them differ in that already.

    Those that are replaced can be put back if the run `goes_back`.
    """
    gone = Query().then(
        "gone",
        f"select past.{names.LOCATOR}\nfrom {job.working(names.STORED)} as past\n"
        f"join {job.working(names.WINNERS)} as won on {_same(job, 'won', 'past')}\nwhere won.{names.IS_NEW}",
    )
    which = f"won.{names.IS_NEW}"
    born, past = newest(job, which=which), _past(job, which) if goes_back else None
    deleted, inserted = "delete the rows of the keys", "insert the newest rows"
    return (
        writes.delete(job, deleted, gone, only_if=(NEWER,), counts="num_deleted_rows", past=past),
        writes.insert(job, inserted, born, only_if=(NEWER,), counts="num_upserted_rows"),
    )


def _past(job: Job, which: str) -> Query:
    """Return the stored rows of the keys that `which` holds for."""
    return Query().then(
        "stored",
        f"select {', '.join(of('tgt', job.output))}\nfrom {job.target} as tgt\n"
        f"join {job.working(names.WINNERS)} as won on {_same(job, 'won', 'tgt')}\nwhere {which}",
    )


def replace_equal(job: Job, *, appends: bool, goes_back: bool) -> tuple[Step, ...]:
    """Replace the rows of the keys that have come with the stored sequence, where any differ.

    With `appends` they are added to those that are stored, which can be done again if the run `goes_back`.
    """
    which = f"won.{names.SAME}"
    stored = _past(job, which)
    if appends:
        added = newest(job, which=which)
        name = "add rows at the stored sequence"
        adds = writes.insert(job, name, added, only_if=(EQUAL,), counts="num_upserted_rows")
        anew = () if job.engine.transactions else _written_anew(job, which, stored, goes_back=goes_back)
        return (*anew, adds)
    differing = f"select distinct {', '.join(job.keys)} from {job.working(names.EVENTS)}"
    gone = Query().then(
        "gone",
        f"select past.{names.LOCATOR}\nfrom {job.working(names.STORED)} as past\n"
        f"join (\n{indented(differing)}\n) as dif on {_same(job, 'dif', 'past')}",
    )
    came = newest(job, which=which, among=differing)
    return (
        *_differing(job, newest(job, which=which).render(), stored.render(), (EQUAL,)),
        writes.delete(job, "delete the rows of the keys that differ", gone, only_if=(DIFFERING,)),
        writes.insert(job, "insert the rows of the keys that differ", came, only_if=(DIFFERING,)),
    )


def _written_anew(job: Job, which: str, stored: Query, *, goes_back: bool) -> tuple[Step, Step]:
    """Write the stored rows of keys anew, where rows of a key have no places but one, and come and go together."""
    gone = Query().then(
        "gone",
        f"select old.{names.LOCATOR}\nfrom {job.working(names.STORED)} as old\n"
        f"join {job.working(names.WINNERS)} as won on {_same(job, 'won', 'old')}\nwhere {which}",
    )
    return (
        writes.delete(
            job, "take the rows of the keys", gone, only_if=(EQUAL,), past=stored if goes_back else None
        ),
        writes.insert(job, "keep the rows of the keys", stored, only_if=(EQUAL,)),
    )


def _differing(job: Job, incoming: str, stored: str, only_if: tuple[str, ...] = ()) -> tuple[Step, Step]:
    """Set incoming rows beside stored ones, as multisets, and count.

    Out: the rows that one side has more often than the other, with the difference.
    """
    values = [
        name if name in job.keys else job.engine.comparable(name, column.type)
        for name, column in zip(job.output, job.layout.output, strict=True)
    ]
    columns = ", ".join(job.output)
    both = (
        f"select {columns}, 1 as {names.WEIGHT} from (\n{indented(incoming)}\n) as incoming\nunion all\n"
        f"select {columns}, -1 as {names.WEIGHT} from (\n{indented(stored)}\n) as stored"
    )
    shown = [*job.keys, f"sum({names.WEIGHT}) as {names.COPIES}"]
    grouped = f"group by {', '.join(values)} having sum({names.WEIGHT}) <> 0"
    table = job.working(names.EVENTS)
    find = (
        Query()
        .then("both_sides", both)
        .then("differing", f"select {', '.join(shown)} from both_sides\n{grouped}")
    )
    measured = f"""
select
    count(*) as {DIFFERING},
    coalesce(sum(case when {names.COPIES} > 0 then {names.COPIES} end), 0) as num_upserted_rows,
    coalesce(-sum(case when {names.COPIES} < 0 then {names.COPIES} end), 0) as num_deleted_rows
from {table}"""
    return (
        Step("compare the rows", job.engine.create_working(table, find), only_if),
        Step("count the differences", measured.strip(), only_if, measures=True),
    )


# a range


def stage_range(job: Job, predicate: str) -> Step:
    """Evaluate the user's SQL, and the predicate over its rows."""
    known = changes.Known(
        join="",
        is_new=f"coalesce({_condition(job, predicate)}, false)",
        is_late="false",
        locator=job.engine.null(job.engine.locator_type),
        is_common=False,
    )
    return changes.stage(job, known)


def _condition(job: Job, predicate: str) -> str:
    """The predicate over rows called src that have the target's columns."""
    columns = tuple(Column(column.name, column.type) for column in job.layout.output)
    return changes.condition_expression(predicate, columns, job.engine)


def in_range(job: Job) -> Query:
    """Return the incoming rows that satisfy the predicate."""
    return Query().then(
        "incoming",
        f"select {', '.join(job.output)}\nfrom {job.working(names.STAGE)}\nwhere {names.IS_NEW}",
    )


def read_count(job: Job) -> Step:
    """Count the rows read."""
    return Step(
        "count the rows", f"select count(*) as {check.READ} from {job.working(names.STAGE)}", measures=True
    )


def gone_range(job: Job, predicate: str) -> Step:
    """Find the target's rows in the range, once: the predicate may look at the target. Out: one row per such row."""
    query = Query().then(
        "gone",
        f"select {job.at('src')} as {names.LOCATOR}\nfrom {job.target} as src\n"
        f"where {_condition(job, predicate)}",
    )
    return Step("find the rows in the range", job.engine.create_working(job.working(names.GONE), query))


def range_differences(job: Job) -> tuple[Step, Step]:
    """Set the incoming rows in the range beside the stored ones, as multisets, and count.

    Out: one row for all rows of some values of which one side has more, with their places on both sides.
    """
    if not job.engine.transactions:
        return _differing(job, in_range(job).render(), _stored_range(job))
    locator, nowhere = job.engine.locator, job.engine.null(job.engine.locator_type)
    values = [
        job.engine.comparable(name, column.type)
        for name, column in zip(job.output, job.layout.output, strict=True)
    ]
    columns = ", ".join(job.output)
    stored = (
        f"select {', '.join(of('tgt', job.output))}, tgt.{locator} as {names.LOCATOR}, {nowhere} as {names.EVENT}\n"
        f"from {job.target} as tgt\n"
        f"join {job.working(names.GONE)} as gone on gone.{names.LOCATOR} = tgt.{locator}"
    )
    incoming = (
        f"select {columns}, {nowhere} as {names.LOCATOR}, {locator} as {names.EVENT}\n"
        f"from {job.working(names.STAGE)}\nwhere {names.IS_NEW}"
    )

    def places(place: str) -> str:
        return f"array_agg({place}) filter (where {place} is not null) as {place}"

    surplus = f"count({names.LOCATOR}) - count({names.EVENT})"
    found = ", ".join([places(names.LOCATOR), places(names.EVENT), f"{surplus} as {names.COPIES}"])
    query = (
        Query()
        .then("both_sides", f"{stored}\nunion all\n{incoming}")
        .then(
            "differing",
            f"select {found}\nfrom both_sides\ngroup by {', '.join(values)} having {surplus} <> 0",
        )
    )
    table = job.working(names.EVENTS)
    measured = f"""
select
    count(*) as {DIFFERING},
    coalesce(-sum(case when {names.COPIES} < 0 then {names.COPIES} end), 0) as num_upserted_rows,
    coalesce(sum(case when {names.COPIES} > 0 then {names.COPIES} end), 0) as num_deleted_rows
from {table}"""
    return (
        Step("compare the rows", job.engine.create_working(table, query)),
        Step("count the differences", measured.strip(), measures=True),
    )


def _stored_range(job: Job) -> str:
    """Select the target's rows in the range, found again by what they are."""
    places = f"select distinct {names.LOCATOR} from {job.working(names.GONE)}"
    return (
        f"select {', '.join(of('tgt', job.output))}\nfrom {job.target} as tgt\n"
        f"join (\n{indented(places)}\n) as gone on gone.{names.LOCATOR} = {job.at('tgt')}"
    )


def replace_range(job: Job) -> tuple[Step, ...]:
    """Delete the stored rows in the range that differ, and insert the incoming ones; the others stay where they are.

    Where rows have no places, equal ones are found together: then all rows in the range are written anew.
    """
    if not job.engine.transactions:
        every = Query().then("gone", f"select {names.LOCATOR} from {job.working(names.GONE)}")
        return (
            writes.delete(job, "delete the rows in the range", every, only_if=(DIFFERING,)),
            writes.insert(job, "insert the rows in the range", in_range(job), only_if=(DIFFERING,)),
        )
    found = f"from {job.working(names.EVENTS)}"
    gone = Query().then(
        "gone", f"select unnest({names.LOCATOR}[1:{names.COPIES}])\n{found} where {names.COPIES} > 0"
    )
    born = (
        Query()
        .then(
            "places",
            f"select unnest({names.EVENT}[1:-{names.COPIES}]) as {names.EVENT}\n{found} where {names.COPIES} < 0",
        )
        .then(
            "born",
            f"select {', '.join(of('stg', job.output))}\nfrom {job.working(names.STAGE)} as stg\n"
            f"join places on places.{names.EVENT} = stg.{job.engine.locator}",
        )
    )
    return (
        writes.delete(job, "delete the rows that differ", gone, only_if=(DIFFERING,)),
        writes.insert(job, "insert the rows that differ", born, only_if=(DIFFERING,)),
    )
