"""SCD type 1: the greatest event of a key decides its row; its sequence is kept in the companion.

Not here: staging and checking events (`changes`), creating tables (`materializations`).
"""

from __future__ import annotations

from collections.abc import Iterable

from dbt_auto_cdc import names
from dbt_auto_cdc.plan import Step
from dbt_auto_cdc.scd import changes, check, writes
from dbt_auto_cdc.scd.job import Job, of
from dbt_auto_cdc.sql import Query, any_of, comma, indented

TRUNCATION = "truncation"
# Touched keys that may have a row to be changed, those that get one, and those whose rows are not as they should be.
_KNOWN, _ADDED, _ODD = "num_known_keys", "num_added_keys", "num_odd_keys"
FEW = 100_000
"""How many rows of a feed are sorted faster than a table is filled with the places of those that count."""


def with_truncation(job: Job) -> Query:
    """Start a query with one row: the greatest truncate's sequence so far, this run's included, or null."""
    if not job.truncates:
        return Query()
    remembered = (
        ""
        if job.builds
        else (f"\nunion all\nselect {names.SEQUENCE} from {job.companion} where {names.KIND} = 'truncate'")
    )
    sequences = (
        f"select {names.SEQUENCE} from {job.working(names.STAGE)} where {names.KIND} = 'truncate'{remembered}"
    )
    if job.truncated_at:
        sequences += f"\nunion all\n{job.truncated_at}"
    return Query().then(
        TRUNCATION,
        f"select {job.extreme('max', names.SEQUENCE)} as sequence from (\n{sequences}\n) as truncates",
    )


def read(job: Job) -> tuple[Step, ...]:
    """Bring the feed into checked new events and their winners."""
    kept = (events(job),) if job.keeps_events else ()
    return (stage(job), *kept, *judged(job))


def stage(job: Job) -> Step:
    """Evaluate the user's SQL; an event at or below its key's sequence in the companion is known, or too late."""
    among_key = _among_key(job) if _wins_in_stage(job) else {}
    if job.builds:
        return changes.stage(job, among_key=among_key)
    stored, sequence = f"cmp.{names.SEQUENCE}", f"src.{names.SEQUENCE}"
    join, head = f"left join {job.companion} as cmp on {job.same_key('src', 'cmp')}", stored
    if job.truncates:
        # A whole dump told of every key, of those it lacks too.
        join += f"\ncross join ({_last_dump(job)}) as dump"
        head = f"coalesce({stored}, dump.{names.LATEST})"
    return changes.stage(
        job,
        changes.Known(
            join=join,
            is_new=f"({stored} is null or {sequence} is null or {sequence} > {stored})",
            is_late=f"coalesce({sequence} < {head}, false)",
            locator=job.at_remembered("cmp"),
            more={names.SHOWS: f"coalesce(cmp.{names.KIND} = 'upsert', false)"} if _expects(job) else {},
        ),
        among_key=among_key,
    )


def _wins_in_stage(job: Job) -> bool:
    """Whether the stage tells each key's greatest event, which is new if any is: where tables cost more than rows.

    That sorts wide rows. Where a table costs little, few of them are sorted faster than it is filled; a feed that is
    read again as a whole is better sorted when what is known of it is gone.
    """
    if job.keeps_events:
        return False
    expected = job.state.expected_rows
    is_small = job.overwrites and not job.builds and expected is not None and expected <= FEW
    return is_small or not job.engine.transactions


def _expects(job: Job) -> bool:
    """Whether the stage tells which keys should have a row by now, for statements that rely on it."""
    return _wins_in_stage(job) and not (job.builds or job.overwrites)


def _among_key(job: Job) -> dict[str, str]:
    """Whether an evaluated event is the one of its key that counts, and whether it is repeated.

    One look at the event above tells both. What lacks a sequence is never above another one that counts: it is refused.
    """
    keys, sequence = ", ".join(of("src", job.keys)), f"src.{names.SEQUENCE}"
    order = ", ".join([f"{sequence} desc", *changes.by_precedence(job, "src")])
    window = f"over (partition by {keys} order by {order})"
    above = f"lag({sequence}) {window}"
    return {
        names.IS_GREATEST: f"{above} is null",
        names.IS_REPEATED: f"coalesce({above} = {sequence}, false)",
    }


def _last_dump(job: Job) -> str:
    """One row: the version of the last dump applied beside the events, or null."""
    return (
        f"select {job.extreme('max', names.SEQUENCE)} as {names.LATEST}"
        f" from {job.companion} where {names.KIND} = 'snapshot'"
    )


def events(job: Job, more: Iterable[str] = ()) -> Step:
    """Keep events above what their key has, and not below the latest truncate; no truncates.

    Rows without key or sequence are kept, so that the check can refuse them.
    Out: the stage's columns, and the locator of the key's row in the companion, null where there is none, and `more`.
    """
    known = () if job.builds else (names.HIDDEN, *more)
    columns = comma(of("stg", [*job.staged, *changes.EVENT, *known]))
    source, live = f"from {job.working(names.STAGE)} as stg", [f"stg.{names.KIND} <> 'truncate'"]
    if job.truncates:
        source += f"\ncross join {TRUNCATION}"
        above = [f"{TRUNCATION}.sequence is null", f"stg.{names.SEQUENCE} >= {TRUNCATION}.sequence"]
        live.append(f"({any_of([*above, *(f'stg.{key} is null' for key in job.keys)])})")
    new = "true" if job.builds else f"stg.{names.IS_NEW}"
    query = with_truncation(job).then(
        "new",
        f"select\n    {columns}\n{source}\n"
        f"where {new} and (stg.{names.SEQUENCE} is null or ({' and '.join(live)}))",
    )
    return changes.events(job, query)


def _source(job: Job) -> tuple[str, str]:
    """The table that holds the events, with the condition that tells them from its other rows."""
    if job.keeps_events or job.builds:
        return job.events, "true"
    return job.working(names.STAGE), f"evt.{names.IS_NEW}"


def winners(job: Job) -> Step:
    """Find each key's greatest event, narrowly. Out: one row per touched key, without values."""
    order = [f"evt.{names.SEQUENCE} desc", *changes.by_precedence(job, "evt")]
    table, is_event = _source(job)
    columns = [*job.keys, *changes.EVENT, *(() if job.builds else (names.HIDDEN,))]
    query = job.engine.firsts(
        {names.EVENT: f"evt.{job.engine.locator}", **{name: f"evt.{name}" for name in columns}},
        f"from {table} as evt where {is_event}",
        groups=of("evt", job.keys),
        order=order,
    )
    return Step(
        "choose each key's greatest event", job.engine.create_working(job.working(names.WINNERS), query)
    )


def _won(job: Job, *more: str) -> str:
    """The winners, as something to select from, with more columns of the stage."""
    if not _wins_in_stage(job):
        return job.working(names.WINNERS)
    columns = [*job.keys, *changes.EVENT, *(() if job.builds else (names.HIDDEN,)), *more]
    table, is_event = _source(job)
    won = f"select {', '.join(of('evt', columns))}\nfrom {table} as evt\nwhere {is_event} and evt.{names.IS_GREATEST}"
    return f"(\n{indented(won)}\n)"


def judged(job: Job) -> tuple[Step, ...]:
    """Choose the winners, find the rows that they replace, then measure and refuse."""
    won, repeated = _won(job), changes.repeated(job)
    if _wins_in_stage(job):
        return (
            check.glance(job, {} if job.builds else _written(job)),
            check.dispute(job, repeated, winners=won),
            *((_look_at_target(job),) if _expects(job) else ()),
        )
    if job.builds or _deletes_as_found(job):
        return (winners(job), check.check(job, repeated, winners=won))
    gone = (
        f"select count(case when {names.KIND} = 'delete' then 1 end) as num_deleted_rows\nfrom {_gone(job)}"
    )
    return (winners(job), *gone_rows(job), check.check(job, repeated, winners=won, more=gone))


def _written(job: Job) -> dict[str, str]:
    """Return the conditions of staged events that count, by what counts them.

    Where rows are looked for when they are deleted, they are counted then.
    """
    wins = f"evt.{names.IS_GREATEST} and evt.{names.KIND}"
    written = {job.spec.COUNTS: f"{wins} = 'upsert'"}
    if _expects(job):
        written[_KNOWN] = f"evt.{names.IS_GREATEST} and (evt.{names.KIND} = 'delete' or evt.{names.SHOWS})"
        written[_ADDED] = f"{wins} = 'upsert' and not evt.{names.SHOWS}"
    return written


def _look_at_target(job: Job) -> Step:
    """Count the target's rows of deleted keys, and touched keys whose rows are not as they should be.

    Somebody may have put in a second row of a key, or have deleted the one that is to be changed.
    """
    won, is_changed = _won(job, names.SHOWS), f"{names.SHOWS} and {names.KIND} = 'upsert'"
    told = ", ".join(of("won", [*job.keys, names.KIND, names.SHOWS]))
    there = (
        f"select {told}, count(*) as {names.COPIES}\nfrom {job.target} as tgt\n"
        f"join {won} as won on {job.same_key('won', 'tgt')}\ngroup by {told}"
    )
    columns = [
        f"coalesce(sum(case when {names.KIND} = 'delete' then {names.COPIES} end), 0) as num_deleted_rows",
        f"count(case when {names.COPIES} > 1 then 1 end) as num_doubled",
        f"count(case when {is_changed} then 1 end) as num_found",
    ]
    odd = f"num_doubled + num_expected - num_found as {_ODD}"
    query = (
        Query()
        .then("there", there)
        .then("counted", f"select\n    {comma(columns)}\nfrom there")
        .then("expected", f"select count(*) as num_expected\nfrom {won} as won where {is_changed}")
        .then("looked", f"select num_deleted_rows, {odd}\nfrom counted\ncross join expected")
    )
    return Step("count the rows of the touched keys", query.render(), (check.NEW,), measures=True)


def _deletes_as_found(job: Job) -> bool:
    """Whether the rows of touched keys are looked for when they are deleted: nobody has to know them before."""
    return job.engine.overwrites and not job.spec.change_data_feed


def _gone(job: Job) -> str:
    """The target's rows of the touched keys, as something to select from."""
    if job.engine.transactions:
        return job.working(names.GONE)
    return f"(\n{indented(_found(job))}\n) as gone"


def _found(job: Job) -> str:
    return (
        f"select {job.at('tgt')} as {names.LOCATOR}, won.{names.KIND}\n"
        f"from {job.target} as tgt\n"
        f"join {_won(job)} as won on {job.same_key('won', 'tgt')}"
    )


def gone_rows(job: Job, only_if: tuple[str, ...] = ()) -> tuple[Step, ...]:
    """Find the target's rows of the touched keys. Out: one row per such row, with what won over it.

    No step where rows are told by their keys, so that they need not be looked for.
    """
    if not job.engine.transactions:
        return ()
    filled = job.engine.create_working(_gone(job), Query().then("gone", _found(job)))
    return (Step("find the rows of the touched keys", filled, only_if),)


def rows(job: Job, only: str = "") -> Query:
    """Return the rows to be written to the target: the winners' values, read now; of a stage that tells them, some."""
    table, is_event = _source(job)
    if _wins_in_stage(job):
        won = f"{is_event} and evt.{names.IS_GREATEST} and evt.{names.KIND} <> 'delete'{only}"
        return Query().then(
            "rows", f"select {', '.join(of('evt', job.output))}\nfrom {table} as evt\nwhere {won}"
        )
    upserts = f"select {names.EVENT} from {job.working(names.WINNERS)} where {names.KIND} = 'upsert'"
    return (
        Query()
        .then("upserts", upserts)
        .then(
            "rows",
            f"select {', '.join(of('evt', job.output))}\nfrom {table} as evt\n"
            f"join upserts on upserts.{names.EVENT} = evt.{job.engine.locator}",
        )
    )


def remembered(job: Job) -> Query:
    """Return the companion's rows for the touched keys."""
    return Query().then(
        "remembered",
        f"select {', '.join([*job.keys, *changes.EVENT])} from {_won(job)} as won",
    )


def truncation(job: Job) -> Query:
    """Return the companion's row for the latest truncate; no row if there was none."""
    nulls = [
        f"{job.engine.null(column.type)} as {job.engine.quote(column.name)}" for column in job.layout.keys
    ]
    return with_truncation(job).then(
        "latest",
        f"select {', '.join([*nulls, f'sequence as {names.SEQUENCE}'])}, 'truncate' as {names.KIND}"
        f" from {TRUNCATION} where sequence is not null",
    )


def apply(job: Job, removed: tuple[Step, ...] | None = None) -> tuple[Step, ...]:
    """Write the winners, and remember their sequences.

    `removed` stands for the steps that remove what is truncated, where more than that is done at their place.
    """
    return (*truncate(job, removed), *_write(job), *_remember(job))


def _write(job: Job) -> tuple[Step, ...]:
    if _expects(job):
        return _write_as_expected(job)
    if not _deletes_as_found(job):
        return write(job, rows(job))
    new = (check.NEW,)
    if _wins_in_stage(job):
        deleted = f"(\nselect * from {_won(job)} as won where {names.KIND} <> 'upsert'\n)"
        return (
            writes.delete_touched(job, "delete the rows of deleted keys", deleted, only_if=new),
            writes.overwrite_touched(job, "write the rows", rows(job), only_if=new),
        )
    title, won = "delete the rows of the touched keys", job.working(names.WINNERS)
    return (
        writes.delete_touched(job, title, won, only_if=new),
        writes.insert(job, "insert the rows", rows(job), only_if=new, counts="num_upserted_rows"),
    )


def _write_as_expected(job: Job) -> tuple[Step, ...]:
    """Change the rows of keys that have one where they are; the target was looked at for those that are odd."""
    gone = f"select {job.at('won')} from {_won(job)} as won where won.{names.KIND} = 'delete'"
    old, new = (rows(job, f" and {is_shown}evt.{names.SHOWS}") for is_shown in ("", "not "))
    only_if, title = (check.NEW,), "delete the rows of deleted keys"
    deleted = writes.delete(job, title, Query().then("gone", gone), only_if=only_if)
    changed = writes.insert(job, "change the rows of known keys", old, only_if=only_if)
    added = writes.insert(job, "insert the rows of new keys", new, only_if=only_if)
    return (
        writes.unless_odd(deleted, _ODD, has_rows_if=_KNOWN),
        writes.unless_odd(changed, _ODD, has_rows_if=_KNOWN),
        writes.unless_odd(added, _ODD, has_rows_if=_ADDED, added=True),
    )


def _remember(job: Job) -> tuple[Step, ...]:
    """Put the sequences of the touched keys in the place of those that they had."""
    new, columns, won = (check.NEW,), [*job.keys, *changes.EVENT], f"{_won(job)} as won"
    is_known = f"{names.HIDDEN} is not null"
    if (job.engine.overwrites and not job.truncates) or _wins_in_stage(job):
        # What lies below a truncate is forgotten by now, and could not be changed.
        known = f"select {names.HIDDEN} as locator, {', '.join(changes.EVENT)} from {won} where {is_known}"
        added = f"select {', '.join(columns)} from {won} where {names.HIDDEN} is null"
        changed, unknown = Query().then("known", known), Query().then("unknown", added)
        title = "remember the sequences of new keys"
        return (
            writes.change(
                job, "change the sequences of known keys", list(changes.EVENT), changed, only_if=new
            ),
            writes.remember(job, title, columns, unknown, only_if=new, apart=True),
        )
    known = f"select {names.HIDDEN} from {won} where {is_known}"
    forgotten = Query().then("known", known)
    return (
        writes.forget(job, "forget the keys' old sequences", forgotten, only_if=new),
        writes.remember(job, "remember the keys' sequences", columns, remembered(job), only_if=new),
    )


def write(job: Job, written: Query) -> tuple[Step, ...]:
    """Write whole rows by DELETE and INSERT; nothing else is touched."""
    located = f"select {names.LOCATOR} from {_gone(job)}"
    if not job.engine.transactions:
        located = f"select {job.at('won')} from {_won(job)} as won"
    gone = Query().then("gone", located)
    return (
        writes.delete(job, "delete the rows of the touched keys", gone, only_if=(check.NEW,)),
        writes.insert(job, "insert the rows", written, only_if=(check.NEW,), counts=job.spec.COUNTS),
    )


def replaceable(job: Job, columns: str) -> str:
    """Select the target's rows that lie below the latest truncate, rows written by hand included.

    Those of touched keys are left out: their winners see to them. It reads `truncation`; in `columns` the target is
    called `names.AROUND`.
    """
    return f"""
select {columns}
from {job.target} as {names.AROUND}
where not exists (
    select 1 from {job.companion} as cmp cross join {TRUNCATION}
    where {job.same_key("cmp", names.AROUND)} and cmp.{names.SEQUENCE} >= {TRUNCATION}.sequence
        and cmp.{names.KIND} = 'upsert'
)
and not exists (
    select 1 from (select {", ".join(job.keys)} from {job.working(names.WINNERS)}) as won
    where {job.same_key("won", names.AROUND)}
)"""


def truncate(job: Job, removed: tuple[Step, ...] | None = None) -> tuple[Step, ...]:
    """Remove what lies below the latest truncate, or do what `removed` says, and remember the truncate."""
    if not job.truncates:
        return ()
    return (*(_remove_truncated(job) if removed is None else removed), *_remember_truncate(job))


def _remove_truncated(job: Job) -> tuple[Step, ...]:
    gone = with_truncation(job).then("gone", replaceable(job, job.at(names.AROUND)))
    return (
        writes.delete(
            job, "remove the truncated rows", gone, only_if=(check.TRUNCATED,), counts="num_deleted_rows"
        ),
    )


def _remember_truncate(job: Job) -> tuple[Step, ...]:
    """Put the latest truncate in the place of what lies below it; of a dump's rows nothing else is remembered."""
    truncated = (check.TRUNCATED,)
    below = with_truncation(job).then(
        "below",
        f"select {job.at_companion('cmp')} from {job.companion} as cmp cross join {TRUNCATION}\n"
        f"where cmp.{names.KIND} = 'truncate' or (cmp.{names.KIND} in ('upsert', 'delete')"
        f" and cmp.{names.SEQUENCE} < {TRUNCATION}.sequence)",
    )
    return (
        writes.forget(job, "forget what was truncated", below, only_if=truncated),
        writes.remember(
            job, "remember the truncate", [*job.keys, *changes.EVENT], truncation(job), only_if=truncated
        ),
    )
