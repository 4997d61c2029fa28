"""The change feed: which rows of the target each run inserted, updated and deleted, in a table beside it.

Not here: which rows are written (`scd`). Every step that writes rows of the target says which go and which come; the
feed keeps both while they are written, and then writes down where they differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dbt_auto_cdc import names
from dbt_auto_cdc.errors import AutoCdcError
from dbt_auto_cdc.plan import Step, whenever_sent
from dbt_auto_cdc.scd.job import Job, of
from dbt_auto_cdc.spec import KeyedRows, RowsInRange
from dbt_auto_cdc.sql import Query, all_of, any_of, comma, text
from dbt_auto_cdc.state import Column, State

CHANGES = "num_changes"
WORKING = (names.ROWS_BEFORE, names.ROWS_AFTER, names.ROWS_CHANGED)

_UPDATED = {"delete": "update_preimage", "insert": "update_postimage"}


# a target that goes on


def watched(job: Job, steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Return the steps of a run with those that keep what they write, and write down what changed."""
    if not job.spec.change_data_feed or job.builds:
        return steps
    places = [number for number, step in enumerate(steps) if step.writes]
    if not places:
        return (*prepared(job), *steps)
    first, last = places[0], places[-1]
    when = whenever_sent([steps[place] for place in places])
    kept = [
        kept
        for number, step in enumerate(steps[first : last + 1], first)
        for kept in _kept(job, number, step)
    ]
    before, after = job.working(names.ROWS_BEFORE), job.working(names.ROWS_AFTER)
    return (
        *prepared(job),
        *steps[:first],
        *_keepers(job, when),
        *kept,
        *_written(job, "" if job.spec.appends else before, after, job.companion, when=when),
        *steps[last + 1 :],
    )


def prepared(job: Job) -> tuple[Step, ...]:
    """Make the feed, or give it the target's columns; and the companion its record of the last version."""
    if not job.spec.change_data_feed or job.builds:
        return ()
    _refuse(job)
    there = job.state.changes
    if there.columns is None:
        # A version that is missing stands for what changed while nobody wrote it down.
        missing = there.version is not None and not there.is_whole
        return (_created(job), *_counted_from(job, skips=missing))
    changed = _altered(job, there.columns)
    if changed is None:
        problem = f"{_feed(job)} has a column of another type than the target"
        raise AutoCdcError(job.model, [f"{problem}; drop that table, and the next run begins a new feed"])
    return (*changed, *_counted_from(job, skips=False))


def _keepers(job: Job, when: tuple[str, ...]) -> tuple[Step, ...]:
    """Make the working tables, empty."""
    nulls = [f"{job.engine.null(kind)} as {name}" for name, kind in _columns(job).items()]
    unseen = [f"{job.engine.null(kind)} as {name}" for name, kind in job.unseen.items()]
    before = Query().then("rows_before", f"select\n    {comma(nulls)}\nwhere false")
    marked = [*nulls, *unseen, f"cast(null as integer) as {names.PLACE}"]
    after = Query().then("rows_after", f"select\n    {comma(marked)}\nwhere false")
    make = job.engine.create_working
    return (
        Step("make room for the rows before", make(job.working(names.ROWS_BEFORE), before), when),
        Step("make room for the rows after", make(job.working(names.ROWS_AFTER), after), when),
    )


def _kept(job: Job, number: int, step: Step) -> tuple[Step, ...]:
    """Return a step with those before it that keep the rows it removes and those it brings."""
    write, engine = step.writes, job.engine
    if write is None:
        return (step,)
    columns, title = list(_columns(job)), f"keep the rows of: {step.name}"
    before, after = job.working(names.ROWS_BEFORE), job.working(names.ROWS_AFTER)
    from_target = f"select {', '.join(of('tgt', columns))}\nfrom {job.target} as tgt\n"
    if write.gone:
        gone = Query().then("gone", f"{from_target}where {engine.is_located('tgt', write.gone)}")
        return (Step(title, engine.insert(before, columns, gone), step.only_if), step)
    if write.born:
        marked = [*write.columns, names.PLACE]
        born = Query().then("born", f"select src.*, {number}\nfrom (\n{write.born.render()}\n) as src")
        again = Query().then(
            "born", f"select {', '.join(write.columns)}\nfrom {after}\nwhere {names.PLACE} = {number}"
        )
        insert = engine.insert(job.target, list(write.columns), again)
        return (Step(title, engine.insert(after, marked, born), step.only_if), replace(step, sql=insert))
    assert write.ended is not None  # noqa: S101 - a write does one of the three
    joined = f"join (\n{write.ended.render()}\n) as changed on changed.locator = tgt.{engine.locator}"
    now = ["changed.value" if name in write.columns else f"tgt.{name}" for name in columns]
    ends = Query().then("ends", f"select {', '.join(now)}\nfrom {job.target} as tgt\n{joined}")
    return (
        Step(title, engine.insert(before, columns, Query().then("was", from_target + joined)), step.only_if),
        Step(f"{title}, as they become", engine.insert(after, columns, ends), step.only_if),
        step,
    )


# a target that is built


def built(job: Job, before: State, target: str, companion: str) -> tuple[Step, ...]:
    """Write down what building the target anew changes, before it takes the place of what is there.

    Where that cannot be compared with it, or is gone, and where the feed lacks changes, it begins anew with all rows;
    where there was none, it begins with them.
    """
    there = job.state.changes
    if not job.spec.change_data_feed:
        return (_count_from(job, companion, str(there.version)),) if there.version is not None else ()
    _refuse(job)
    old = _comparable(job, before)
    altered = _altered(job, there.columns) if there.columns is not None else None
    is_first = there.columns is None and there.version is None
    lacks = there.columns is not None and (altered is None or not there.is_whole)
    begins = old is None or is_first or lacks
    missing = int(
        (begins and there.columns is not None) or (there.version is not None and not there.is_whole)
    )
    version = _last_of_the_feed(job, missing) if there.version is None else str(there.version + missing)
    steps = [_count_from(job, companion, version)]
    if there.columns is None or begins:
        steps += (
            [Step("drop the old change feed", job.engine.drop_table(_feed(job)))] if there.columns else []
        )
        steps.append(_created(job))
    else:
        steps += altered or ()
    rows_before = job.working(names.ROWS_BEFORE)
    if begins or old is None:
        return (*steps, *_written(job, "", target, companion))
    values = comma(f"{value} as {name}" for name, value in old.items())
    was = f"select\n    {values}\nfrom {job.relations.target} as tgt"
    kept = job.engine.create_working(rows_before, Query().then("was", was))
    return (*steps, Step("keep the rows before", kept), *_written(job, rows_before, target, companion))


def _comparable(job: Job, before: State) -> dict[str, str] | None:
    """Return the new columns over the old target's rows, or None where these cannot be set beside each other."""
    if before.target is None or job.struct_fields:
        return None
    stored = {column.name.lower(): column for column in before.target}
    found: dict[str, str] = {}
    bounds = {name.strip('"'): kind for name, kind in job.bounds.items()}
    wanted = {column.name: column.type for column in job.layout.output} | bounds
    for name, kind in wanted.items():
        column = stored.get(name.lower())
        if column is None:
            found[job.engine.quote(name)] = job.engine.null(kind)
            continue
        if column.type != kind and not job.engine.widens(column.type, kind):
            return None
        found[job.engine.quote(name)] = f"cast(tgt.{job.engine.quote(column.name)} as {kind})"
    identifying = {column.name.lower() for column in job.layout.keys} | {name.lower() for name in bounds}
    return found if identifying <= stored.keys() else None


# the table of the feed


def _feed(job: Job) -> str:
    return job.relations.changes


def _columns(job: Job) -> dict[str, str]:
    """Return the target's columns, quoted, with their types."""
    return {job.engine.quote(c.name): c.type for c in job.layout.output} | job.bounds


def _refuse(job: Job) -> None:
    """Refuse a feed that would not be what it says."""
    there, problems = job.state.changes, list[str]()
    for column in job.layout.output:
        if column.name.lower() in names.FEED_COLUMNS:
            problems.append(
                f"column {column.name} has the name of a column of the change feed; rename it in the model, leave it"
                f" out of the target, or set change_data_feed to false"
            )
    if there.columns is not None:
        if not {column.name.lower() for column in there.columns} >= set(names.FEED_COLUMNS):
            problems.append(
                f"{_feed(job)} was not made by auto_cdc, which keeps the change feed there; rename that table, or give"
                f" the model another alias"
            )
        elif not there.is_whole and not job.builds:
            problems.append(
                f"{_feed(job)} lacks changes, because change_data_feed was off in the last run, or the companion is not"
                f" that of the last run; drop that table, and the next run begins a new feed (who reads it has to read"
                f" the target once as a whole), or leave change_data_feed off"
            )
    if problems:
        raise AutoCdcError(job.model, problems)


def _created(job: Job) -> Step:
    own = {
        names.CHANGE_TYPE: "varchar",
        names.COMMIT_VERSION: "bigint",
        names.COMMIT_TIMESTAMP: "timestamp",
    }
    nulls = comma(f"{job.engine.null(kind)} as {name}" for name, kind in (_columns(job) | own).items())
    empty = Query().then("empty", f"select\n    {nulls}\nwhere false")
    return Step("create the change feed", job.engine.create_table(_feed(job), empty))


def _altered(job: Job, stored: Sequence[Column]) -> list[Step] | None:
    """Return the steps that give the feed the target's columns, or None where a type cannot be followed."""
    engine, steps = job.engine, list[Step]()
    there = {column.name.lower(): column for column in stored}
    in_target = {column.name.lower(): column.type for column in job.state.target or ()}
    bounds = {
        name.strip('"'): in_target.get(name.strip('"').lower(), kind) for name, kind in job.bounds.items()
    }
    wanted = {column.name: column.type for column in job.layout.output} | bounds
    for name, kind in wanted.items():
        column = there.get(name.lower())
        if column is None:
            sql = engine.add_column(_feed(job), engine.quote(name), kind)
            steps.append(Step(f"add column {name} to the change feed", sql))
        elif column.type != kind:
            if not engine.widens(column.type, kind):
                return None
            sql = engine.widen_column(_feed(job), engine.quote(column.name), kind)
            steps.append(Step(f"widen column {name} of the change feed to {kind}", sql))
    kept = {name.lower() for name in wanted} | set(names.FEED_COLUMNS)
    for folded, column in there.items():
        if folded not in kept:
            sql = engine.drop_column(_feed(job), engine.quote(column.name))
            steps.append(Step(f"drop column {column.name} of the change feed", sql))
    return steps


def _counted_from(job: Job, *, skips: bool) -> tuple[Step, ...]:
    """See that the companion of a target that goes on knows the last version."""
    version = job.state.changes.version
    if version is None:
        # Version 1 is that of the first rows, which such a feed lacks: who reads it tells by that.
        return (_count_from(job, job.companion, _last_of_the_feed(job, 1)),)
    if not skips:
        return ()
    sql = f"update {job.companion} set {names.CONTROL} = '{version + 1}'\nwhere {names.KIND} = {text(names.FEED)}"
    return (Step("leave out a version for what was not written down", sql),)


def _count_from(job: Job, companion: str, version: str) -> Step:
    """Let the companion know the last version: a number, or an expression."""
    value = f"'{version}'" if version.isdigit() else f"cast({version} as varchar)"
    row = Query().then("version", f"select {text(names.FEED)}, {value}")
    sql = job.engine.insert(companion, [names.KIND, names.CONTROL], row)
    return Step("remember the version of the change feed", sql)


def _last_of_the_feed(job: Job, more: int) -> str:
    """Return the last version that a feed itself knows of, as an expression; a number where there is no feed."""
    if job.state.changes.columns is None:
        return str(more)
    return f"(select coalesce(max({names.COMMIT_VERSION}), 0) + {more} from {_feed(job)})"


# what differs


@dataclass(frozen=True)
class _Sides:
    """The rows before and after, each a table; nothing stands for no rows."""

    before: str
    after: str


def _written(
    job: Job, before: str, after: str, companion: str, *, when: tuple[str, ...] = ()
) -> tuple[Step, ...]:
    """Write down where the rows before and after differ, under the next version."""
    sides, engine = _Sides(before, after), job.engine
    columns = [*_columns(job), *names.FEED_COLUMNS]
    where_kept = f"where {names.KIND} = {text(names.FEED)}"
    rows = _images(job, sides, companion) if before else _inserts(job, after, companion)
    following = f"cast(cast({names.CONTROL} as bigint) + 1 as varchar)"
    raise_version = f"update {companion} set {names.CONTROL} = {following}\n{where_kept}"
    return (
        *((_compared(job, sides, when),) if before else ()),
        Step("write the changes to the feed", engine.insert(_feed(job), columns, rows), when, counts=CHANGES),
        Step("count the version", raise_version, (CHANGES,)),
    )


def _compared(job: Job, sides: _Sides, when: tuple[str, ...]) -> Step:
    has_identity = not (job.spec.appends or isinstance(job.spec, KeyedRows | RowsInRange))
    found = _by_identity(job, sides) if has_identity else _as_multisets(job, sides)
    changed = job.engine.create_working(job.working(names.ROWS_CHANGED), found)
    return Step("compare the rows before with those after", changed, when)


def _identity(job: Job, alias: str) -> list[str]:
    """Return what identifies a row of the target."""
    identity = of(alias, job.keys)
    if job.spec.scd2:
        identity.append(f"coalesce({alias}.{job.start_at}, {alias}.{job.end_at})")
    if job.spec.bitemporal:
        identity += [f"{alias}.{job.start_at}", f"{alias}.{job.system_start_at}"]
    return identity


def _by_identity(job: Job, sides: _Sides) -> Query:
    """Find the rows that differ. Out: the places of a row before and after, null where there is none.

    Rows by hand may share an identity: then they are paired one by one.
    """
    locator = job.engine.locator

    def side(name: str, relation: str) -> str:
        identity = _identity(job, "src")
        named = [f"{value} as k{number}" for number, value in enumerate(identity)]
        place = f"row_number() over (partition by {', '.join(identity)} order by src.{locator}) as place"
        return f"select src.{locator} as {name}, {', '.join([*named, place])}\nfrom {relation} as src"

    same = [f"was.{key} = now.{key}" for key in (*(f"k{n}" for n in range(len(_identity(job, "")))), "place")]
    differ = any_of(_differences(job))
    return (
        Query()
        .then("was", side("was_at", sides.before))
        .then("now", side("now_at", sides.after))
        .then("paired", f"select was.was_at, now.now_at\nfrom was full join now on {all_of(same)}")
        .then(
            "changed",
            f"select paired.was_at, paired.now_at\nfrom paired\n"
            f"left join {sides.before} as old on old.{locator} = paired.was_at\n"
            f"left join {sides.after} as new on new.{locator} = paired.now_at\n"
            f"where paired.was_at is null or paired.now_at is null or {differ}",
        )
    )


def _differences(job: Job) -> list[str]:
    """Return the conditions under which a row called new is not what the one called old was."""
    return [
        job.engine.differs(
            job.engine.comparable(f"old.{name}", kind), job.engine.comparable(f"new.{name}", kind)
        )
        for name, kind in _columns(job).items()
    ]


def _as_multisets(job: Job, sides: _Sides) -> Query:
    """Find the rows that one side has more often than the other; in the same form, though never both at once."""
    locator = job.engine.locator
    values = [job.engine.comparable(f"src.{name}", kind) for name, kind in _columns(job).items()]
    named = [f"{value} as v{number}" for number, value in enumerate(values)]
    group = ", ".join([*(f"v{number}" for number in range(len(values))), "place"])

    def side(places: str, relation: str) -> str:
        place = f"row_number() over (partition by {', '.join(values)} order by src.{locator}) as place"
        return f"select {places}, {', '.join([*named, place])}\nfrom {relation} as src"

    missing = f"cast(null as {job.engine.locator_type})"
    was = side(f"src.{locator} as was_at, {missing} as now_at", sides.before)
    now = side(f"{missing} as was_at, src.{locator} as now_at", sides.after)
    return (
        Query()
        .then("both_sides", f"{was}\nunion all\n{now}")
        .then(
            "changed",
            f"select min(was_at) as was_at, min(now_at) as now_at\nfrom both_sides\n"
            f"group by {group} having count(*) = 1",
        )
    )


def _stamp(job: Job, companion: str) -> list[str]:
    """Return the version that is written, and the time."""
    kept = f"from {companion} where {names.KIND} = {text(names.FEED)}"
    return [f"(select cast({names.CONTROL} as bigint) + 1 {kept})", job.engine.utc_now()]


def _inserts(job: Job, after: str, companion: str) -> Query:
    """Return the rows of the feed where nothing was before: all are new."""
    values = [*of("src", _columns(job)), "'insert'", *_stamp(job, companion)]
    return Query().then("inserts", f"select {comma(values)}\nfrom {after} as src")


def _images(job: Job, sides: _Sides, companion: str) -> Query:
    """Return the rows of the feed: of every row that differs what it was, and what it is."""
    columns, changed = list(_columns(job)), job.working(names.ROWS_CHANGED)
    stamp = _stamp(job, companion)

    def image(kind: str, place: str, other: str, relation: str) -> str:
        updated = f"case when changed.{other} is null then '{kind}' else '{_UPDATED[kind]}' end"
        values = comma([*of("src", columns), f"{updated} as {names.CHANGE_TYPE}"])
        return (
            f"select\n    {values}\nfrom {changed} as changed\n"
            f"join {relation} as src on src.{job.engine.locator} = changed.{place}"
        )

    was = image("delete", "was_at", "now_at", sides.before)
    now = image("insert", "now_at", "was_at", sides.after)
    return (
        Query()
        .then("images", f"{was}\nunion all\n{now}")
        .then(
            "changes",
            f"select {comma([*of('img', [*columns, names.CHANGE_TYPE]), *stamp])}\nfrom images as img",
        )
    )
