"""Spark with Iceberg tables: what one run costs there, beside one `merge` by hand with a guard against older events.

    scripts/with-spark python benchmarks/spark.py [--rows 1000000] [--events 10000] [--rounds 5]

The hand-written table keeps the sequence and a mark for deleted rows in its rows, as one does. Beside that stand two
`merge`s by hand into what `auto_cdc` has, a target of the output columns and a narrow companion whose changes are
written beside its files: what is to be had at least for that. Each round brings a new
batch to both tables, whose order changes from round to round. CPU is the server's, where its number is known.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from dbt_auto_cdc.execute import Sent
from tests import databases
from tests.databases import Spark
from tests.direct import Direct

VALUES = ["quantity", "customer_id", "city", "state", "note", "changed_at", "price", "weight"]
COLUMNS = """
    {seq} as seq, cast(rand() * 1000 as int) as quantity, cast(rand() * 1e9 as bigint) as customer_id,
    concat('city ', cast(rand() * 1000 as int)) as city, concat('state ', cast(rand() * 10 as int)) as state,
    md5(cast(rand() as string)) as note,
    timestamp_ntz '2026-01-01' + make_dt_interval(0, 0, 0, rand() * 25920000) as changed_at,
    cast(rand() * 1000 as decimal(12, 2)) as price, rand() as weight"""
OPTIONS = {
    "keys": ["id"],
    "sequence_by": "seq",
    "apply_as_deletes": "op = 'D'",
    "except_column_list": ["op", "seq"],
}
LISTED = ", ".join(VALUES)
BY_HAND = f"""
merge into by_hand as tgt using (
    select id, seq, op, {LISTED}
    from (select *, row_number() over (partition by id order by seq desc) as place from feed) as ranked
    where place = 1
) as src on tgt.id = src.id
when matched and src.seq > tgt.seq then update set seq = src.seq, is_deleted = src.op = 'D',
    {", ".join(f"{name} = src.{name}" for name in VALUES)}
when not matched then insert (id, seq, {LISTED}, is_deleted)
values (src.id, src.seq, {", ".join(f"src.{name}" for name in VALUES)}, src.op = 'D')"""

# The same into a target of just the output columns, with a companion, whose sequences are read first.
NEWER = f"""
create or replace table newer using iceberg as
select src.id, src.seq, src.op, {", ".join(f"src.{name}" for name in VALUES)}
from (select *, row_number() over (partition by id order by seq desc) as place from feed) as src
left join kept on kept.id = src.id
where src.place = 1 and (kept.seq is null or src.seq > kept.seq)"""
TARGET_BY_HAND = f"""
merge into in_two as tgt using newer as src on tgt.id = src.id
when matched and src.op = 'D' then delete
when matched then update set {", ".join(f"{name} = src.{name}" for name in VALUES)}
when not matched and src.op <> 'D' then insert (id, {LISTED})
values (src.id, {", ".join(f"src.{name}" for name in VALUES)})"""
COMPANION_BY_HAND = """
merge into kept as tgt using newer as src on tgt.id = src.id
when matched then update set seq = src.seq, op = src.op
when not matched then insert (id, seq, op) values (src.id, src.seq, src.op)"""


def base(rows: int) -> str:
    """Return the query of the rows that the tables are built from."""
    return f"select id, 'I' as op, {COLUMNS.format(seq='id')} from range(1, {rows + 1})"


def batch(rows: int, events: int, number: int) -> str:
    """Return the query of a batch: 20 % inserts, 70 % updates, 10 % deletes, uniform over the keys."""
    key = f"case when rand() < 0.2 then {rows * number} + n else 1 + cast(rand() * {rows - 1} as bigint) end"
    op = "case when rand() < 0.1 then 'D' else 'U' end"
    columns = COLUMNS.format(seq=f"{number * 1_000_000_000} + n")
    return f"select {key} as id, {op} as op, {columns} from (select id as n from range(1, {events + 1})) as numbered"


def cpu_of_server() -> float:
    """Return the seconds of CPU that the other children of this process's parent have used: the server's."""
    parent = os.getppid()
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    ticks = 0
    for child in children:
        if int(child) != os.getpid():
            fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def measured(connection: Spark, job: Callable[[], object]) -> tuple[float, float, int]:
    """Return the server's seconds of CPU, the wall seconds and the number of statements of a job."""
    sent, cpu, began = connection.sent, cpu_of_server(), time.perf_counter()
    job()
    return cpu_of_server() - cpu, time.perf_counter() - began, connection.sent - sent


@dataclass
class Told(Direct):
    """A target that tells what each step took, where that is asked for."""

    tells: bool = False

    def _send(self, name: str, sql: str) -> Sent:
        cpu, began = cpu_of_server(), time.perf_counter()
        sent = super()._send(name, sql)
        if self.tells:
            wall = time.perf_counter() - began
            print(f"    {cpu_of_server() - cpu:7.2f} s CPU {wall:7.2f} s wall  {name}", flush=True)
        return sent


def compared(connection: Spark, arguments: argparse.Namespace) -> dict[str, list[tuple[float, float, int]]]:
    """Build both tables, bring batch after batch to them, and return what each took in each round but the first."""
    target = Told(connection, tells=arguments.steps)

    def by_hand() -> None:
        connection.execute(BY_HAND)

    def in_two() -> None:
        for statement in (NEWER, TARGET_BY_HAND, COMPANION_BY_HAND):
            connection.execute(statement)

    def product() -> None:
        target.run(OPTIONS)

    def arrive(query: str) -> None:
        connection.execute(f"create or replace table feed using iceberg as {query}")

    arrive(base(arguments.rows))
    product()
    kept = f"select id, seq, {LISTED}, false as is_deleted from feed"
    connection.execute(f"create table by_hand using iceberg as {kept}")
    connection.execute(f"create table in_two using iceberg as select id, {LISTED} from feed")
    beside = "tblproperties ('format-version' = '2', 'write.merge.mode' = 'merge-on-read')"
    connection.execute(f"create table kept using iceberg {beside} as select id, seq, op from feed")
    jobs = [("by hand", by_hand), ("by hand, in two", in_two), ("auto_cdc", product)]
    found: dict[str, list[tuple[float, float, int]]] = {name: [] for name, _ in jobs}
    # The first round warms the server up.
    for number in range(1, arguments.rounds + 2):
        arrive(batch(arguments.rows, arguments.events, number))
        turn = number % len(jobs)
        for name, job in jobs[turn:] + jobs[:turn]:
            took = measured(connection, job)
            print(f"  {number} {name:15} {took[0]:6.2f} s CPU {took[1]:6.2f} s wall", flush=True)
            if number > 1:
                found[name].append(took)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--events", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", action="store_true", help="print what each step took")
    arguments = parser.parse_args()
    databases.choose("spark")
    with databases.spark_schema() as connection:
        found = compared(connection, arguments)
    medians = {
        name: [statistics.median(values) for values in zip(*each, strict=True)]
        for name, each in found.items()
    }
    print(f"{arguments.rows} rows, {arguments.events} events")
    for name, (cpu, wall, sent) in medians.items():
        ratios = [value / hand for value, hand in zip((cpu, wall), medians["by hand"], strict=False)]
        print(
            f"{name:15} {cpu:6.2f} s CPU ({ratios[0]:4.2f} x), {wall:6.2f} s wall ({ratios[1]:4.2f} x),"
            f" {sent:.0f} statements"
        )


if __name__ == "__main__":
    main()
