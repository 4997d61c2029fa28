"""The best hand-written DuckDB SQL we know for each job: the denominators of the benchmark.

Statements only, over fixed names; running and timing them is `run.py`'s business, and nothing here comes from the product.

Names: `feed` is what this run delivers (id, op, seq, values), `target` the visible table, `state` and `hidden` its narrow companions.
Each shape is a list of statements for one transaction and keeps the product's whole contract: the target has just the output columns (SCD2
with its bounds), null keys, null sequences and ties are refused before anything is written, duplicates, replays and late events are exact.
Every shape equals the plain window query over all events so far: `python benchmarks/check.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from workload import COLUMNS

VALUES = ", ".join(COLUMNS)


@dataclass(frozen=True)
class Statement:
    """One statement; a check returns one row of counts that must all be zero."""

    name: str
    sql: str
    is_check: bool = False


def of(alias: str) -> str:
    """The data columns of one relation, comma separated."""
    return ", ".join(f"{alias}.{name}" for name in COLUMNS)


def statement(name: str, sql: str) -> Statement:
    return Statement(name, sql.strip())


def check(name: str, sql: str) -> Statement:
    return Statement(name, sql.strip(), is_check=True)


# ---- the plain window query over the whole feed: denominator of a re-read, and oracle

PLAIN_SCD1 = f"""
select id, {VALUES}
from (from feed qualify row_number() over (partition by id order by seq desc) = 1)
where op <> 'D'
"""

PLAIN_SCD2 = f"""
with
    step as (
        select
            id, seq, op = 'D' as is_delete, {VALUES},
            lag(op = 'D') over run as was_delete, {", ".join(f"lag({name}) over run as old_{name}" for name in COLUMNS)}
        from feed
        window run as (partition by id order by seq)
    ),
    bound as (
        select * from step
        where case
            when is_delete then not was_delete
            else coalesce(was_delete, true) or {" or ".join(f"{name} is distinct from old_{name}" for name in COLUMNS)}
        end
    ),
    run as (
        select id, {VALUES}, seq as start_at, lead(seq) over (partition by id order by seq) as end_at, is_delete from bound
    )
select * exclude (is_delete) from run where not is_delete
"""

PLAIN_STATE = "select id, max(seq) as seq, arg_max(op, seq) = 'D' as deleted from feed group by id"

PLAIN_HIDDEN = """
select id, seq, case when op = 'D' then 'D' else 'N' end as kind
from (select distinct id, seq, op from feed)
anti join (select id, start_at as seq from target union all select id, end_at from target) using (id, seq)
"""

# what a first run over the feed leaves
BUILD = {
    1: [
        statement("target", f"create table target as {PLAIN_SCD1}"),
        statement("state", f"create table state as {PLAIN_STATE}"),
    ],
    2: [
        statement("target", f"create table target as {PLAIN_SCD2}"),
        statement("hidden", f"create table hidden as {PLAIN_HIDDEN}"),
    ],
}
COMPANION = {1: "state", 2: "hidden"}

# ---- SCD1: target(id, values), state(id, seq, deleted) with every key

# one read of what the model selects
STAGE = statement(
    "stage", f"create temp table stage as select id, seq, op = 'D' as is_delete, {VALUES} from feed"
)

# the same, without events that the state outranks; nulls stay in for the check
STAGE_NEWER = statement(
    "stage",
    f"""
create temp table stage as
select src.id, src.seq, src.op = 'D' as is_delete, {of("src")}, known.rowid as state_rid
from feed src left join state known using (id)
where known.seq is null or src.seq > known.seq or src.seq is null
""",
)

# grain: key; narrow on purpose, the values are fetched by rowid when they are written
NEWEST = statement(
    "newest",
    """
create temp table newest as
select id, max(seq) as seq, arg_max(is_delete, seq) as is_delete, arg_max(rowid, seq) as rid from stage group by id
""",
)

WINNER = statement(
    "winner",
    """
create temp table winner as
select src.*, known.rid as state_rid
from newest src
left join (select rowid as rid, id, seq from state semi join newest using (id)) known on known.id = src.id
where known.seq is null or src.seq > known.seq
""",
)

WINNER_OF_NEWER = statement(
    "winner",
    NEWEST.sql.replace("table newest", "table winner").replace(
        " from stage", ", any_value(state_rid) as state_rid from stage"
    ),
)

# only ties at a winner's sequence decide anything
CHECK_SCD1 = check(
    "nulls and ties",
    f"""
with
    pair as (select id, seq from stage group by id, seq having count(*) > 1),
    tie as (
        select id, seq from stage semi join pair using (id, seq) semi join winner using (id, seq)
        group by id, seq
        having count(distinct row(is_delete, case when not is_delete then row({VALUES}) end)) > 1
    )
select count(*) - count(id), count(*) - count(seq), (select count(*) from tie) from stage
""",
)

WRITE_SCD1 = [
    statement(
        "state: out",
        "delete from state where rowid in (select state_rid from winner where state_rid is not null)",
    ),
    statement("state: in", "insert into state select id, seq, is_delete from winner"),
    statement("target: out", "delete from target where id in (select id from winner)"),
    statement(
        "target: in",
        f"insert into target select id, {VALUES} from stage where rowid in (select rid from winner where not is_delete)",
    ),
]

# two reads of the feed, the first one narrow: for a feed that is read again and again
REREAD_SCD1 = [
    statement(
        "newest",
        "create temp table newest as select id, max(seq) as seq, count(*) - count(seq) as nulls from feed group by id",
    ),
    statement(
        "newer",
        """
create temp table newer as
select src.id, src.seq, known.rowid as state_rid
from newest src left join state known using (id)
where known.seq is null or src.seq > known.seq
""",
    ),
    statement(
        "stage",
        f"create temp table stage as select id, seq, op = 'D' as is_delete, {VALUES} from feed semi join newer using (id, seq)",
    ),
    check(
        "nulls and ties",
        f"""
with tie as (
    select id from stage group by id having count(distinct row(is_delete, case when not is_delete then row({VALUES}) end)) > 1
)
select count(*) filter (where id is null), sum(nulls), (select count(*) from tie) from newest
""",
    ),
    statement(
        "winner",
        """
create temp table winner as
select src.*, newer.state_rid
from (select id, any_value(seq) as seq, any_value(is_delete) as is_delete, min(rowid) as rid from stage group by id) src
join newer using (id)
""",
    ),
]

# ---- SCD2: target(id, values, start_at, end_at), hidden(id, seq, kind): N = unchanged repeat inside a run, D = delete that closed nothing

KNOWN = """
select id, start_at as seq from target
union all select id, end_at from target where end_at is not null
union all select id, seq from hidden
"""

STAGE_UNKNOWN = statement(
    "stage",
    f"""
create temp table stage as
select id, seq, op = 'D' as is_delete, {VALUES} from feed src
where not exists (from ({KNOWN.strip()}) known where known.id = src.id and known.seq = src.seq)
""",
)

REREAD_SCD2 = [
    statement(
        "unknown",
        f"create temp table unknown as select distinct id, seq from feed anti join ({KNOWN.strip()}) known using (id, seq)",
    ),
    statement(
        "stage",
        f"""
create temp table stage as
select src.id, src.seq, src.op = 'D' as is_delete, {of("src")}
from feed src semi join unknown new on new.id is not distinct from src.id and new.seq is not distinct from src.seq
""",
    ),
]

# grain: key and sequence; the first of equal events stands for them
DELIVERED = statement(
    "delivered",
    "create temp table delivered as select id, seq, min(rowid) as rid, count(*) as copies from stage group by id, seq",
)

CHECK_SCD2 = check(
    "nulls and ties",
    f"""
with
    pair as (select id, seq from delivered where copies > 1),
    tie as (
        select id, seq from stage semi join pair using (id, seq)
        group by id, seq
        having count(distinct row(is_delete, case when not is_delete then row({VALUES}) end)) > 1
    )
select count(*) filter (where id is null), count(*) filter (where seq is null), (select count(*) from tie) from delivered
""",
)

# the only read of the target: all rows of the keys, values included (an upsert must be compared with the run it may repeat)
OLD = statement(
    "old rows",
    f"create temp table old as select tgt.rowid as rid, tgt.id, tgt.start_at, tgt.end_at, {of('tgt')} from target tgt semi join delivered using (id)",
)
OLD_HIDDEN = statement(
    "old hidden",
    "create temp table old_hidden as select hid.rowid as rid, hid.id, hid.seq, hid.kind from hidden hid semi join delivered using (id)",
)

# grain: key and sequence; events that no row and no hidden event accounts for
FRESH = statement(
    "fresh",
    """
create temp table fresh as
from delivered
anti join (
    select id, start_at as seq from old
    union all select id, end_at from old where end_at is not null
    union all select id, seq from old_hidden
) known using (id, seq)
""",
)

# grain: version; those that the key's first fresh event falls into or precedes
AFFECTED = statement(
    "affected",
    """
create temp table affected as
select old.* from old join (select id, min(seq) as seq from fresh group by id) lo using (id)
where old.end_at is null or old.end_at > lo.seq
""",
)

EVENT = statement(
    "event",
    f"""
create temp table event as
select src.id, src.seq, src.is_delete, {of("src")} from stage src where src.rowid in (select rid from fresh)
union all
select id, start_at, false, {VALUES} from affected
union all
select id, end_at, true, {", ".join(f"cast(null as {kind})" for kind in COLUMNS.values())}
from affected anti join (select id, start_at as end_at from affected) using (id, end_at) where end_at is not null
union all
select hid.id, hid.seq, hid.kind = 'D', {of("tgt")}
from old_hidden hid
join (select id, min(seq) as seq from fresh group by id) lo using (id)
left join affected tgt on tgt.id = hid.id and hid.seq > tgt.start_at and (tgt.end_at is null or hid.seq < tgt.end_at)
where tgt.id is not null or hid.kind = 'D' and hid.seq > lo.seq
""",
)

# grain: event; its kind is start, end, or what hidden says
KIND = statement(
    "kind",
    f"""
create temp table kind as
select
    rid, id, seq,
    case
        when is_delete then case when was_delete is null or was_delete then 'D' else 'end' end
        when not was_delete and is_same then 'N'
        else 'start'
    end as kind
from (
    select
        rowid as rid, id, seq, is_delete, lag(is_delete) over run as was_delete,
        lag(row({VALUES})) over run is not distinct from row({VALUES}) as is_same
    from event
    window run as (partition by id order by seq)
)
""",
)

# grain: version of a touched key
VERSION = statement(
    "version",
    """
create temp table version as
from (
    select rid, id, seq as start_at, lead(seq) over (partition by id order by seq) as end_at, kind
    from kind where kind in ('start', 'end')
)
where kind = 'start'
""",
)

# key and start identify a version and its values, so only the ends are compared
UPDATE_ENDS = [
    statement(
        "moved",
        """
create temp table moved as
select tgt.rid, now.end_at from affected tgt join version now using (id, start_at) where tgt.end_at is distinct from now.end_at
""",
    ),
    statement(
        "target: ends", "update target set end_at = src.end_at from moved src where target.rowid = src.rid"
    ),
    statement(
        "target: out",
        "delete from target where rowid in (select rid from affected anti join version using (id, start_at))",
    ),
    statement(
        "target: in",
        f"""
insert into target
select src.id, {of("src")}, now.start_at, now.end_at
from event src join (from version anti join affected using (id, start_at)) now on src.rowid = now.rid
""",
    ),
]

REWRITE_ROWS = [
    statement(
        "gone",
        """
create temp table gone as
select tgt.rid from affected tgt left join version now using (id, start_at)
where now.id is null or tgt.end_at is distinct from now.end_at
""",
    ),
    statement("target: out", "delete from target where rowid in (select rid from gone)"),
    statement(
        "target: in",
        f"""
insert into target
with born as (
    select now.* from version now left join affected tgt using (id, start_at)
    where tgt.id is null or tgt.end_at is distinct from now.end_at
)
select src.id, {of("src")}, born.start_at, born.end_at from event src join born on src.rowid = born.rid
""",
    ),
]

WRITE_HIDDEN = [
    statement(
        "hidden: out",
        """
delete from hidden where rowid in (
    select rid from old_hidden semi join (from kind where kind in ('start', 'end')) using (id, seq)
)
""",
    ),
    statement(
        "hidden: in",
        "insert into hidden select id, seq, kind from kind anti join old_hidden using (id, seq) where kind in ('N', 'D')",
    ),
]

HISTORY = [DELIVERED, CHECK_SCD2, OLD, OLD_HIDDEN, FRESH, AFFECTED, EVENT, KIND, VERSION]

# ---- the shapes, by SCD type

SHAPES: dict[str, tuple[int, list[Statement]]] = {
    # the limit of an apply
    "scd1_clean_target": (1, [STAGE, NEWEST, WINNER, CHECK_SCD1, *WRITE_SCD1]),
    "scd2_rewrite_rows": (2, [STAGE, *HISTORY, *REWRITE_ROWS, *WRITE_HIDDEN]),
    "scd2_update_ends": (2, [STAGE, *HISTORY, *UPDATE_ENDS, *WRITE_HIDDEN]),
    # known events dropped while the feed is staged: one read, good for both kinds of run
    "scd1_filtered": (1, [STAGE_NEWER, WINNER_OF_NEWER, CHECK_SCD1, *WRITE_SCD1]),
    "scd2_filtered_rewrite_rows": (2, [STAGE_UNKNOWN, *HISTORY, *REWRITE_ROWS, *WRITE_HIDDEN]),
    "scd2_filtered_update_ends": (2, [STAGE_UNKNOWN, *HISTORY, *UPDATE_ENDS, *WRITE_HIDDEN]),
    # two reads of the feed, the first one narrow
    "scd1_reread": (1, [*REREAD_SCD1, *WRITE_SCD1]),
    "scd2_reread": (2, [*REREAD_SCD2, *HISTORY, *REWRITE_ROWS, *WRITE_HIDDEN]),
    # the denominator of a re-read: rebuilds a table beside the target
    "scd1_plain_ctas": (1, [statement("plain", f"create table plain as {PLAIN_SCD1}")]),
    "scd2_plain_ctas": (2, [statement("plain", f"create table plain as {PLAIN_SCD2}")]),
}
