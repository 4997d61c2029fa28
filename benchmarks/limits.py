"""The best hand-written DuckDB SQL we know for each job: the denominators of the benchmark.

Statements only, over fixed names; running and timing them is `run.py`'s business, and nothing here comes from the product.

Names: `feed` is what this run delivers (id, op, seq, values), `target` the visible table, `state` and `hidden` its narrow companions.
Each shape is a list of statements for one transaction and keeps the product's whole contract: the target has just the output columns (SCD2
with its bounds), null keys, null sequences and ties are refused before anything is written, duplicates, replays and late events are exact.
"""

from __future__ import annotations

from dataclasses import dataclass

from workload import COLUMNS

VALUES = ", ".join(COLUMNS)


def of(alias: str) -> str:
    return ", ".join(f"{alias}.{name}" for name in COLUMNS)


@dataclass(frozen=True)
class Statement:
    """One statement; a check returns one row of counts that must all be zero."""

    name: str
    sql: str
    is_check: bool = False


def statement(name: str, sql: str) -> Statement:
    return Statement(name, sql.strip())


def check(name: str, sql: str) -> Statement:
    return Statement(name, sql.strip(), is_check=True)


# ---- plain window queries: the denominators of a re-read, and the oracle every shape is compared with

PLAIN_SCD1 = f"""
select id, {VALUES}
from (from feed qualify row_number() over (partition by id order by seq desc) = 1)
where op <> 'D'
"""

PLAIN_SCD2 = f"""
with
    one as (select distinct on (id, seq) id, seq, op = 'D' as is_delete, {VALUES} from feed),
    step as (
        select *, lag(is_delete) over run as was_delete, {", ".join(f"lag({name}) over run as old_{name}" for name in COLUMNS)}
        from one
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

PLAIN_CTAS_SCD1 = [statement("plain ctas", f"create table plain as {PLAIN_SCD1}")]
PLAIN_CTAS_SCD2 = [statement("plain ctas", f"create table plain as {PLAIN_SCD2}")]

# what a first run leaves, for building the database of a job
BUILD_SCD1 = [statement("target", f"create table target as {PLAIN_SCD1}"), statement("state", f"create table state as {PLAIN_STATE}")]
BUILD_SCD2 = [statement("target", f"create table target as {PLAIN_SCD2}"), statement("hidden", f"create table hidden as {PLAIN_HIDDEN}")]

# ---- steps shared by the shapes

STAGE = statement("stage", f"create temp table stage as select id, seq, op = 'D' as is_delete, {VALUES} from feed")

# grain: key and sequence; the first of equal events stands for them
DELIVERED = statement(
    "delivered", "create temp table delivered as select id, seq, min(rowid) as rid, count(*) as copies from stage group by id, seq"
)


def suspects(relation: str) -> Statement:
    """Null keys, null sequences, and pairs of events of one key and sequence that are not equal."""
    return check(
        "nulls and ties",
        f"""
with
    pair as (select id, seq from {relation} where copies > 1),
    tie as (
        select id, seq from stage semi join pair using (id, seq)
        group by id, seq
        having count(distinct row(is_delete, case when not is_delete then row({VALUES}) end)) > 1
    )
select count(*) filter (where id is null), count(*) filter (where seq is null), (select count(*) from tie) from {relation}
""",
    )


# ---- SCD1: target(id, values), state(id, seq, deleted) with every key

# grain: key; only keys whose newest event is newer than the state
SCD1_WINNER = statement(
    "winner",
    f"""
create temp table winner as
select src.id, src.seq, src.is_delete, {of("src")}, known.rowid as state_rid
from (from stage qualify row_number() over (partition by id order by seq desc) = 1) src
left join state known using (id)
where known.seq is null or src.seq > known.seq
""",
)

SCD1_CHECK = check(
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

SCD1_TARGET = [
    statement("target: out", "delete from target where id in (select id from winner)"),
    statement("target: in", f"insert into target select id, {VALUES} from winner where not is_delete"),
]
SCD1_STATE_DELETE_INSERT = [
    statement("state: out", "delete from state where rowid in (select state_rid from winner where state_rid is not null)"),
    statement("state: in", "insert into state select id, seq, is_delete from winner"),
]
SCD1_STATE_UPDATE = [
    statement("state: moved", "update state set seq = src.seq, deleted = src.is_delete from winner src where state.rowid = src.state_rid"),
    statement("state: new", "insert into state select id, seq, is_delete from winner where state_rid is null"),
]

SCD1_DELETE_INSERT = [STAGE, SCD1_WINNER, SCD1_CHECK, *SCD1_STATE_DELETE_INSERT, *SCD1_TARGET]
SCD1_UPDATE_STATE = [STAGE, SCD1_WINNER, SCD1_CHECK, *SCD1_STATE_UPDATE, *SCD1_TARGET]

# ---- SCD2: target(id, values, start_at, end_at), hidden(id, seq, kind): N = unchanged repeat inside a run, D = delete that closed nothing

OLD = statement(
    "old rows",
    "create temp table old as select tgt.rowid as rid, tgt.id, tgt.start_at, tgt.end_at from target tgt semi join delivered using (id)",
)
OLD_HIDDEN = statement(
    "old hidden", "create temp table old_hidden as select hid.rowid as rid, hid.id, hid.seq, hid.kind from hidden hid semi join delivered using (id)"
)

# grain: key and sequence; events that no row and no hidden event accounts for
FRESH = statement(
    "fresh",
    """
create temp table fresh as
select src.id, src.seq, src.rid
from delivered src
anti join (
    select id, start_at as seq from old
    union all select id, end_at from old where end_at is not null
    union all select id, seq from old_hidden
) known using (id, seq)
""",
)

# the versions that a fresh event falls into or precedes, with their values: the first wide read of the target
AFFECTED = statement(
    "affected",
    f"""
create temp table affected as
select tgt.rowid as rid, tgt.id, tgt.start_at, tgt.end_at, {of("tgt")}
from target tgt
where tgt.rowid in (
    select old.rid from old join (select id, min(seq) as seq from fresh group by id) lo using (id)
    where old.end_at is null or old.end_at > lo.seq
)
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
select hid.id, hid.seq, hid.kind = 'D', {of("row")}
from old_hidden hid
join (select id, min(seq) as seq from fresh group by id) lo using (id)
left join affected row on row.id = hid.id and hid.seq > row.start_at and (row.end_at is null or hid.seq < row.end_at)
where hid.kind = 'D' and hid.seq > lo.seq or row.id is not null
""",
)

# grain: event; start, end, N or D
KIND = statement(
    "kind",
    f"""
create temp table kind as
select
    rid, id, seq,
    case
        when is_delete then case when was_delete is null or was_delete then 'D' else 'end' end
        when not was_delete and same then 'N'
        else 'start'
    end as kind
from (
    select rowid as rid, id, seq, is_delete, lag(is_delete) over run as was_delete, lag(row({VALUES})) over run is not distinct from row({VALUES}) as same
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

SCD2_TARGET = [
    statement(
        "moved ends",
        """
create temp table moved as
select row.rid, now.end_at from affected row join version now using (id, start_at) where row.end_at is distinct from now.end_at
""",
    ),
    statement("target: ends", "update target set end_at = src.end_at from moved src where target.rowid = src.rid"),
    statement("target: out", "delete from target where rowid in (select rid from affected anti join version using (id, start_at))"),
    statement(
        "target: in",
        f"""
insert into target
select src.id, {of("src")}, now.start_at, now.end_at
from event src
join (from version anti join affected using (id, start_at)) now on src.rowid = now.rid
""",
    ),
]
SCD2_HIDDEN = [
    statement(
        "hidden: out",
        """
delete from hidden where rowid in (
    select rid from old_hidden semi join (from kind where kind in ('start', 'end')) using (id, seq)
)
""",
    ),
    statement("hidden: in", "insert into hidden select id, seq, kind from kind anti join old_hidden using (id, seq) where kind in ('N', 'D')"),
]

SCD2_ONE_PASS = [STAGE, DELIVERED, suspects("delivered"), OLD, OLD_HIDDEN, FRESH, AFFECTED, EVENT, KIND, VERSION, *SCD2_TARGET, *SCD2_HIDDEN]

SHAPES: dict[str, list[Statement]] = {
    "scd1_delete_insert": SCD1_DELETE_INSERT,
    "scd1_update_state": SCD1_UPDATE_STATE,
    "scd2_one_pass": SCD2_ONE_PASS,
}

# --- variants
SCD2_REWRITE = [
    statement("gone", "create temp table gone as from affected anti join version using (id, start_at, end_at)"),
]
_born = f"""
create temp table born as
select now.* from version now
left join affected row using (id, start_at)
where row.id is null or row.end_at is distinct from now.end_at
"""
SHAPES["scd2_rewrite"] = [STAGE, DELIVERED, suspects("delivered"), OLD, OLD_HIDDEN, FRESH, AFFECTED, EVENT, KIND, VERSION,
  statement("born", _born),
  statement("target: out", "delete from target where rowid in (select row.rid from affected row left join version now using (id, start_at) where now.id is null or row.end_at is distinct from now.end_at)"),
  statement("target: in", f"insert into target select src.id, {of('src')}, now.start_at, now.end_at from event src join born now on src.rowid = now.rid"),
  *SCD2_HIDDEN]

WIDE_OLD = statement("old rows", f"create temp table old as select tgt.rowid as rid, tgt.* from target tgt semi join delivered using (id)")
WIDE_AFFECTED = statement("affected", f"create temp table affected as select old.* from old join (select id, min(seq) as seq from fresh group by id) lo using (id) where old.end_at is null or old.end_at > lo.seq")
SHAPES["scd2_wide"] = [STAGE, DELIVERED, suspects("delivered"), WIDE_OLD, OLD_HIDDEN, FRESH, WIDE_AFFECTED, EVENT, KIND, VERSION, *SCD2_TARGET, *SCD2_HIDDEN]
SHAPES["scd2_wide_rewrite"] = [STAGE, DELIVERED, suspects("delivered"), WIDE_OLD, OLD_HIDDEN, FRESH, WIDE_AFFECTED, EVENT, KIND, VERSION, *SHAPES["scd2_rewrite"][10:]]

# SCD1 narrow first
TOP = statement("top", "create temp table top as select id, max(seq) as seq, arg_max(rowid, seq) as rid from stage group by id")
WINNER2 = statement("winner", """
create temp table winner as
select top.id, top.seq, top.rid, stage.is_delete, known.rid as state_rid from top
join stage on stage.rowid = top.rid
left join (select rowid as rid, id, seq from state semi join top using (id)) known on known.id = top.id
where known.seq is null or top.seq > known.seq""")
INS2 = statement("target: in", f"insert into target select id, {VALUES} from stage where rowid in (select rid from winner where not is_delete)")
SHAPES["scd1_narrow"] = [STAGE, TOP, WINNER2, SCD1_CHECK, *SCD1_STATE_DELETE_INSERT, SCD1_TARGET[0], INS2]
NOSTAGE = [statement("stage", "create temp table stage as select id, seq, op = 'D' as is_delete, rowid as rid from feed"),
 statement("top", "create temp table top as select id, max(seq) as seq, arg_max(rid, seq) as rid, arg_max(is_delete, seq) as is_delete from stage group by id"),
 statement("winner", """
create temp table winner as
select top.id, top.seq, top.rid, top.is_delete, known.rid as state_rid from top
left join (select rowid as rid, id, seq from state semi join top using (id)) known on known.id = top.id
where known.seq is null or top.seq > known.seq"""),
 check("nulls and ties", SCD1_CHECK.sql.replace("from stage semi join pair","from (select id, seq, op='D' as is_delete, "+VALUES+" from feed) semi join pair")),
 *SCD1_STATE_DELETE_INSERT, SCD1_TARGET[0], statement("target: in", f"insert into target select id, {VALUES} from feed where rowid in (select rid from winner where not is_delete)")]
SHAPES["scd1_no_stage"] = NOSTAGE
W3 = statement("winner", f"""
create temp table winner as
with top as (from stage qualify row_number() over (partition by id order by seq desc) = 1)
select src.id, src.seq, src.is_delete, {of("src")}, known.rid as state_rid
from top src
left join (select rowid as rid, id, seq from state semi join stage using (id)) known using (id)
where known.seq is null or src.seq > known.seq
""")
SHAPES["scd1_semi"] = [STAGE, W3, SCD1_CHECK, *SCD1_STATE_DELETE_INSERT, *SCD1_TARGET]
SHAPES["scd1_using"] = [STAGE, SCD1_WINNER, SCD1_CHECK, *SCD1_STATE_DELETE_INSERT, statement("target: out", "delete from target using winner where target.id = winner.id"), SCD1_TARGET[1]]

HASH_EVENT = statement("event", f"""
create temp table event as
select rowid as rid, true as is_fresh, id, seq, is_delete, case when not is_delete then hash({VALUES}) end as digest
from stage where rowid in (select rid from fresh)
union all
select rowid, false, id, start_at, false, digest from affected
union all
select null, false, id, end_at, true, null
from affected anti join (select id, start_at as end_at from affected) using (id, end_at) where end_at is not null
union all
select row.rid, false, hid.id, hid.seq, hid.kind = 'D', row.digest
from old_hidden hid
join (select id, min(seq) as seq from fresh group by id) lo using (id)
left join (select rowid as rid, id, start_at, end_at, digest from affected) row on row.id = hid.id and hid.seq > row.start_at and (row.end_at is null or hid.seq < row.end_at)
where hid.kind = 'D' and hid.seq > lo.seq or row.id is not null
""")
HASH_AFFECTED = statement("affected", AFFECTED.sql.replace(f"{of('tgt')}\n", f"{of('tgt')}, hash({of('tgt')}) as digest\n"))
STEP = statement("step", """
create temp table step as
select rid, is_fresh, id, seq, is_delete, lag(is_delete) over run as was_delete, lag(digest) over run = digest as alike,
    lag(rid) over run as old_rid, lag(is_fresh) over run as old_is_fresh
from event window run as (partition by id order by seq)
""")
KIND2 = statement("kind", f"""
create temp table kind as
with
    pair as (select rid, is_fresh, old_rid, old_is_fresh, row_number() over () as pair from step where alike),
    side as (select pair, rid, is_fresh from pair union all select pair, old_rid, old_is_fresh from pair),
    impostor as (
        select pair from (
            select side.pair, row({VALUES}) as vals from side join stage on stage.rowid = side.rid where side.is_fresh
            union all select side.pair, row({VALUES}) from side join affected on affected.rowid = side.rid where not side.is_fresh
        ) group by pair having count(distinct vals) > 1
    ),
    unlike as (select rid, is_fresh, true as unlike from pair where pair in (from impostor))
select rid, is_fresh, id, seq,
    case
        when is_delete then case when was_delete is null or was_delete then 'D' else 'end' end
        when alike and unlike is null then 'N'
        else 'start'
    end as kind
from step left join unlike using (rid, is_fresh)
""")
VERSION2 = statement("version", """
create temp table version as
from (
    select rid, is_fresh, id, seq as start_at, lead(seq) over (partition by id order by seq) as end_at, kind
    from kind where kind in ('start', 'end')
)
where kind = 'start'
""")
INS = statement("target: in", f"""
insert into target
with born as (from version anti join affected using (id, start_at))
select now.id, {of("src")}, now.start_at, now.end_at from stage src join born now on src.rowid = now.rid where now.is_fresh
union all
select now.id, {of("src")}, now.start_at, now.end_at from affected src join born now on src.rowid = now.rid where not now.is_fresh
""")
MOVED2 = [statement("moved ends", """
create temp table moved as
select row.rid, now.end_at from affected row join version now using (id, start_at) where row.end_at is distinct from now.end_at
""")]
SHAPES["scd2_hash_first"] = [STAGE, DELIVERED, suspects("delivered"), OLD, OLD_HIDDEN, FRESH, HASH_AFFECTED, HASH_EVENT, STEP, KIND2, VERSION2, *SCD2_TARGET[:3], INS, *SCD2_HIDDEN]

# ---- re-read shapes
SHAPES["scd1_reread"] = [
 statement("top", "create temp table top as select id, max(seq) as seq, count(*) - count(seq) as nulls from feed group by id"),
 statement("newer", "create temp table newer as select top.id, top.seq, known.rowid as state_rid from top left join state known using (id) where known.seq is null or top.seq > known.seq"),
 statement("stage", f"create temp table stage as select id, seq, op = 'D' as is_delete, {VALUES} from feed semi join newer using (id, seq)"),
 check("nulls and ties", f"""select (select count(*) from top where id is null), (select sum(nulls) from top), (select count(*) from (select id from stage group by id having count(distinct row(is_delete, case when not is_delete then row({VALUES}) end)) > 1))"""),
 statement("winner", "create temp table winner as select id, any_value(seq) as seq, min(src.rowid) as rid, any_value(is_delete) as is_delete, any_value(state_rid) as state_rid from stage src join newer using (id, seq) group by id"),
 *SCD1_STATE_DELETE_INSERT, SCD1_TARGET[0], INS2]
KNOWN = """select id, start_at as seq from target
    union all select id, end_at from target where end_at is not null
    union all select id, seq from hidden"""
SHAPES["scd2_reread"] = [
 statement("stage", f"""create temp table stage as select id, seq, op = 'D' as is_delete, {VALUES} from feed src where not exists (from ({KNOWN}) known where known.id = src.id and known.seq = src.seq)"""),
 DELIVERED, suspects("delivered"), WIDE_OLD, OLD_HIDDEN, FRESH, WIDE_AFFECTED, EVENT, KIND, VERSION, *SHAPES["scd2_rewrite"][10:]]
SHAPES["scd2_reread_narrow"] = [
 statement("news", f"""create temp table news as select distinct src.id, src.seq from (select id, seq from feed) src anti join ({KNOWN}) known using (id, seq)"""),
 statement("stage", f"""create temp table stage as select id, seq, op = 'D' as is_delete, {VALUES} from feed src semi join news using (id, seq)"""),
 *SHAPES["scd2_reread"][1:]]
SHAPES["scd2_reread_three"] = [
 statement("news", f"""create temp table news as select src.id, src.seq from (select id, seq from feed) src anti join (select id, start_at as seq from target) a using (id, seq) anti join (select id, end_at as seq from target where end_at is not null) b using (id, seq) anti join hidden c using (id, seq)"""),
 *SHAPES["scd2_reread_narrow"][1:]]
SHAPES["scd2_reread_rowid"] = [
 statement("news", f"""create temp table news as select src.rid from (select rowid as rid, id, seq from feed) src anti join (select id, start_at as seq from target) a using (id, seq) anti join (select id, end_at as seq from target where end_at is not null) b using (id, seq) anti join hidden c using (id, seq)"""),
 statement("stage", f"""create temp table stage as select id, seq, op = 'D' as is_delete, {VALUES} from feed src where rowid in (select rid from news)"""),
 *SHAPES["scd2_reread_narrow"][2:]]
SHAPES["scd1_stage_wide"] = SHAPES["scd1_narrow"]
SHAPES["scd2_stage_wide"] = SHAPES["scd2_wide"]
SHAPES["scd1_plain"]=PLAIN_CTAS_SCD1
SHAPES["scd2_plain"]=PLAIN_CTAS_SCD2
