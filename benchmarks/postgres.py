"""PostgreSQL: what one run costs there, beside `insert .. on conflict` by hand with a guard against older events.

    scripts/with-postgres python benchmarks/postgres.py [--rows 1000000] [--events 10000] [--rounds 5]

The hand-written table keeps the sequence and a mark for deleted rows in its rows, as one does. `in two tables` is by
hand as well, with what a target must not have in a table beside it: what that separation costs whoever does it. All
tables have an index on the key. Every measurement is on a fresh copy of the database, in an order that turns round
from round to round; how many times is told by the rounds' medians. CPU is the server process's and the client's.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
BY_HAND = f"""
insert into by_hand (id, seq, {", ".join(VALUES)}, is_deleted)
select distinct on (id) id, seq, {", ".join(VALUES)}, op = 'D' from feed order by id, seq desc
on conflict (id) do update set seq = excluded.seq, is_deleted = excluded.is_deleted,
    {", ".join(f"{name} = excluded.{name}" for name in VALUES)}
where excluded.seq > by_hand.seq"""
IN_TWO_TABLES = f"""
begin;
create temporary table kept on commit drop as
select won.*
from (select distinct on (id) id, seq, op, {", ".join(VALUES)} from feed order by id, seq desc) as won
left join sequences as known on known.id = won.id
where known.seq is null or won.seq > known.seq;
insert into sequences (id, seq, is_deleted) select id, seq, op = 'D' from kept
on conflict (id) do update set seq = excluded.seq, is_deleted = excluded.is_deleted;
delete from apart using kept where kept.id = apart.id and kept.op = 'D';
insert into apart (id, {", ".join(VALUES)}) select id, {", ".join(VALUES)} from kept where op <> 'D'
on conflict (id) do update set {", ".join(f"{name} = excluded.{name}" for name in VALUES)};
commit"""
HAND_MADE = ("by_hand", "apart", "sequences")


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
    key = f"case when random() < 0.2 then {rows * number} + n else 1 + (random() * {rows - 1})::integer end"
    op = "case when random() < 0.1 then 'D' else 'U' end"
    columns = COLUMNS.format(seq=f"{number * 1_000_000_000} + n")
    events_of_keys = (
        f"select distinct on (id) {key} as id, {op} as op, {columns} from generate_series(1, {events}) as n"
    )
    return f"select * from ({events_of_keys}) as events order by seq"


def build(database: str, *, rows: int, events: int, scd_type: int) -> None:
    """Make the database that measurements start from: the base and one batch are in, the next one waits."""
    execute("postgres", f"drop database if exists {database}", f"create database {database}")
    base = f"select n as id, 'I' as op, {COLUMNS.format(seq='n')} from generate_series(1, {rows}) as n"
    connection = connect(database)
    target = Direct(Postgres(connection))
    options = {**OPTIONS, "stored_as_scd_type": scd_type}
    run = connection.cursor().execute
    run(f"create table feed as {base}")
    target.run(options)
    run("create index on target (id)")
    run(f"create table by_hand as select id, seq, {', '.join(VALUES)}, false as is_deleted from feed")
    run(f"create table apart as select id, {', '.join(VALUES)} from feed")
    run("create table sequences as select id, seq, false as is_deleted from feed")
    for table in HAND_MADE:
        run(f"alter table {table} add primary key (id)")
    for number in (1, 2):
        run("drop table feed")
        run(f"create table feed as {feed(rows, events, number)}")
        if number == 1:
            target.run(options)
            run(BY_HAND)
            run(IN_TWO_TABLES)
    for table in ("feed", "target", "target__auto_cdc", *HAND_MADE):
        run(f"vacuum analyze {table}")
    connection.close()


def cpu_of(pid: int) -> float:
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


@contextmanager
def copied(database: str) -> Iterator[str]:
    copy = f"{database}_copy"
    execute(
        "postgres",
        f"drop database if exists {copy}",
        f"create database {copy} template {database} strategy file_copy",
    )
    try:
        yield copy
    finally:
        execute("postgres", f"drop database {copy}")


def warm(cursor: Any) -> None:
    """Read tables and their indexes, so that everybody finds them in memory."""
    for table in ("target", "target__auto_cdc", *HAND_MADE):
        cursor.execute(f"select sum(length(t::text)) from {table} as t")
        cursor.execute("set enable_seqscan = off")
        cursor.execute(f"select count(id) from {table}")
        cursor.execute("reset enable_seqscan")


def measured(database: str, job: Callable[[Any], None]) -> tuple[float, float]:
    """Return the seconds of CPU and the wall seconds of a job on a copy of the database."""
    with copied(database) as copy:
        connection = connect(copy)
        cursor = connection.cursor()
        cursor.execute("checkpoint")
        warm(cursor)
        pid = connection.get_backend_pid()
        own, server, began = (
            sum(resource.getrusage(resource.RUSAGE_SELF)[:2]),
            cpu_of(pid),
            time.perf_counter(),
        )
        job(connection)
        wall = time.perf_counter() - began
        cpu = cpu_of(pid) - server + sum(resource.getrusage(resource.RUSAGE_SELF)[:2]) - own
        connection.close()
    return cpu, wall


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--events", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
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

    def by_hand(connection: Any) -> None:
        connection.cursor().execute(BY_HAND)

    build("bench", rows=arguments.rows, events=arguments.events, scd_type=arguments.scd_type)

    def in_two_tables(connection: Any) -> None:
        connection.cursor().execute(IN_TWO_TABLES)

    jobs = {"by hand": by_hand, "in two tables": in_two_tables, "auto_cdc": product}
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in jobs}
    for number in range(arguments.rounds):
        for name in list(jobs)[:: -1 if number % 2 else 1]:
            found[name].append(measured("bench", jobs[name]))
    print(f"{arguments.rows} rows, {arguments.events} events")
    for name, measurements in found.items():
        rounds = zip(measurements, found["by hand"], strict=True)
        ratios = [[own / hand for own, hand in zip(*pair, strict=True)] for pair in rounds]
        cpu, wall = (statistics.median(times) for times in zip(*measurements, strict=True))
        by_cpu, by_wall = (statistics.median(times) for times in zip(*ratios, strict=True))
        print(f"{name:13} {cpu:6.3f} s CPU ({by_cpu:4.2f} x), {wall:6.3f} s wall ({by_wall:4.2f} x)")


if __name__ == "__main__":
    main()
