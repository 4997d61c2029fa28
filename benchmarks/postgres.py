"""PostgreSQL: what one run costs there, beside `insert .. on conflict` by hand with a guard against older events.

    scripts/with-postgres python benchmarks/postgres.py [--rows 1000000] [--events 10000] [--rounds 9]

The hand-written table keeps the sequence and a mark for deleted rows in its rows, as one does; once as tables are made,
and once with room for new versions of rows in its pages. `in two tables` is by hand as well, the best that was found,
with what a target must not have in a table beside it: what that separation costs whoever does it. All tables have an
index on the key. Every round brings a batch that all of them apply, in an order that turns round, and ends with a
vacuum; how many times is told by the rounds' medians. CPU is the server process's and the client's.
"""

import argparse
import resource
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import psycopg2

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.databases import POSTGRES, Postgres
from tests.direct import Direct

VALUES = ["quantity", "customer_id", "city", "state", "note", "changed_at", "price", "weight"]
COLUMNS = """
    {seq} as seq, (random() * 1000)::integer as quantity, (random() * 1e9)::bigint as customer_id,
    'city ' || (random() * 1000)::integer as city, 'state ' || (random() * 10)::integer as state,
    md5(random()::text) as note, timestamp '2026-01-01' + random() * interval '300 days' as changed_at,
    (random() * 1000)::numeric(12, 2) as price, random() as weight"""
OPTIONS = {
    "keys": ["id"],
    "sequence_by": "seq",
    "apply_as_deletes": "op = 'D'",
    "except_column_list": ["op", "seq"],
}
WRITTEN = ", ".join(VALUES)
# The tables by hand, with how full their pages are.
BY_HAND = {"by_hand": 100, "with_room": 90}
IN_TWO_TABLES = f"""
begin;
create temporary table staged on commit drop as
with placed as (
    select id, seq, op, {WRITTEN}, row_number() over (partition by id order by seq desc) as place
    from (select * from feed) as events
)
select placed.*, known.ctid as known_at, known.seq is null or placed.seq > known.seq as is_new
from placed
left join sequences as known on known.id = placed.id;
delete from apart using staged as won
where won.id = apart.id and won.is_new and won.place < 2 and won.op = 'D';
merge into apart using (select * from staged where is_new and place < 2 and op <> 'D') as won on won.id = apart.id
when matched then update set {", ".join(f"{name} = won.{name}" for name in VALUES)}
when not matched then insert (id, {WRITTEN}) values (id, {", ".join(f"won.{name}" for name in VALUES)});
set local enable_memoize = off;
update sequences set seq = won.seq, is_deleted = won.op = 'D'
from (select * from staged where is_new and place < 2) as won
where sequences.ctid = won.known_at;
insert into sequences (id, seq, is_deleted)
select id, seq, op = 'D' from staged where is_new and place < 2 and known_at is null;
commit"""
TABLES = ("target", "target__auto_cdc", "apart", "sequences", *BY_HAND)


def on_conflict(table: str) -> str:
    return f"""
insert into {table} (id, seq, {WRITTEN}, is_deleted)
select distinct on (id) id, seq, {WRITTEN}, op = 'D' from feed order by id, seq desc
on conflict (id) do update set seq = excluded.seq, is_deleted = excluded.is_deleted,
    {", ".join(f"{name} = excluded.{name}" for name in VALUES)}
where excluded.seq > {table}.seq"""


def connect(database: str) -> Any:
    place = {name.removeprefix("AUTO_CDC_POSTGRES_").lower(): value for name, value in POSTGRES.items()}
    connection = psycopg2.connect(host=place["host"], port=place["port"], user=place["user"], dbname=database)
    connection.autocommit = True
    return connection


def execute(database: str, *statements: str) -> None:
    connection = connect(database)
    for statement in statements:
        connection.cursor().execute(statement)
    connection.close()


def feed(rows: int, events: int, number: int) -> str:
    """Return the query of a batch in the order of time: 20 % inserts, 70 % updates, 10 % deletes, uniform over the keys."""
    key = f"case when random() < 0.2 then {rows + number * events} + n else 1 + (random() * {rows - 1})::integer end"
    op = "case when random() < 0.1 then 'D' else 'U' end"
    columns = COLUMNS.format(seq=f"cast({number}::bigint * 1000000000 + n as bigint)")
    events_of_keys = (
        f"select distinct on (id) {key} as id, {op} as op, {columns} from generate_series(1, {events}) as n"
    )
    return f"select * from ({events_of_keys}) as events order by seq"


def build(cursor: Any, *, rows: int, options: Mapping[str, object]) -> None:
    """Make the tables that all batches go into, of one row a key."""
    run = cursor.execute
    base = COLUMNS.format(seq="n::bigint")
    run(f"create table feed as select n as id, 'I' as op, {base} from generate_series(1, {rows}) as n")
    Direct(Postgres(cursor.connection)).run(options)
    run("create index on target (id)")
    for table, full in BY_HAND.items():
        run(
            f"create table {table} with (fillfactor = {full}) as select id, seq, {WRITTEN}, false as is_deleted from feed"
        )
    run(f"create table apart with (fillfactor = 90) as select id, {WRITTEN} from feed")
    run("create table sequences with (fillfactor = 90) as select id, seq, false as is_deleted from feed")
    for table in ("apart", "sequences", *BY_HAND):
        run(f"alter table {table} add primary key (id)")


def cpu_of(pid: int) -> float:
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def warm(cursor: Any) -> None:
    """Read tables and their indexes, so that everybody finds them in memory, and tidy them up."""
    for table in TABLES:
        cursor.execute(f"vacuum analyze {table}")
        cursor.execute(f"select sum(length(t::text)) from {table} as t")
        cursor.execute("set enable_seqscan = off")
        cursor.execute(f"select count(id) from {table}")
        cursor.execute("reset enable_seqscan")


def measured(connection: Any, job: Callable[[Any], None]) -> tuple[float, float]:
    """Return the seconds of CPU and the wall seconds of a job."""
    pid = connection.get_backend_pid()
    own, server, began = (
        sum(resource.getrusage(resource.RUSAGE_SELF)[:2]),
        cpu_of(pid),
        time.perf_counter(),
    )
    job(connection)
    wall = time.perf_counter() - began
    cpu = cpu_of(pid) - server + sum(resource.getrusage(resource.RUSAGE_SELF)[:2]) - own
    return cpu, wall


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--events", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--scd-type", type=int, default=1)
    parser.add_argument("--steps", action="store_true", help="print what each step took")
    arguments = parser.parse_args()
    options = {**OPTIONS, "stored_as_scd_type": arguments.scd_type}

    def product(connection: Any) -> None:
        outcome = Direct(Postgres(connection)).run(options)
        if arguments.steps:
            for name, seconds in outcome.seconds.items():
                print(f"    {seconds * 1000:7.1f} ms  {name}")
            print(outcome.message)

    def sends(sql: str) -> Callable[[Any], None]:
        return lambda connection: connection.cursor().execute(sql)

    jobs = {table.replace("_", " "): sends(on_conflict(table)) for table in BY_HAND}
    jobs |= {"in two tables": sends(IN_TWO_TABLES), "auto_cdc": product}
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in jobs}
    execute("postgres", "drop database if exists bench", "create database bench")
    connection = connect("bench")
    cursor = connection.cursor()
    build(cursor, rows=arguments.rows, options=options)
    # The first round only makes everything ready.
    for number in range(1, arguments.rounds + 2):
        cursor.execute("drop table feed")
        cursor.execute(f"create table feed as {feed(arguments.rows, arguments.events, number)}")
        warm(cursor)
        cursor.execute("analyze feed")
        cursor.execute("checkpoint")
        for name in list(jobs)[:: -1 if number % 2 else 1]:
            measurement = measured(connection, jobs[name])
            if number > 1:
                found[name].append(measurement)
    connection.close()
    execute("postgres", "drop database bench")
    print(f"{arguments.rows} rows, {arguments.events} events")
    for name, measurements in found.items():
        rounds = zip(measurements, found["by hand"], strict=True)
        ratios = [[own / hand for own, hand in zip(*pair, strict=True)] for pair in rounds]
        cpu, wall = (statistics.median(times) for times in zip(*measurements, strict=True))
        by_cpu, by_wall = (statistics.median(times) for times in zip(*ratios, strict=True))
        print(f"{name:13} {cpu:6.3f} s CPU ({by_cpu:4.2f} x), {wall:6.3f} s wall ({by_wall:4.2f} x)")


if __name__ == "__main__":
    main()
