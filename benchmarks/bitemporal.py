"""What a bitemporal run costs: beside SCD type 2 on the same events, and along one hot key.

    python benchmarks/bitemporal.py [--rows 1000000] [--keys 10000] [--rounds 3]

CPU seconds of the plan's statements, the commit and the checkpoint, on a fresh copy of an on-disk database. Events come in
order on both axes, unless a line says otherwise. The limit for a run beside type 2 is 3; along the key it is "near linear".
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from pathlib import Path

import databases
import duckdb
import product
import workload

TYPES = (2, "bitemporal")
# One key's events: business time, system time. The last comes as it became known, about any time.
HOT = {
    "in order on both axes": ("i", "i"),
    "corrections of one business time": ("0", "i"),
    "about any business time": ("hash(i) % 1000000", "i"),
}


def applied(con: duckdb.DuckDBPyConnection, scd_type: int | str) -> float:
    """Run the product on `feed`, and return its CPU seconds."""
    planned = product.prepare(con, scd_type=scd_type)
    started = time.process_time()
    product.apply(planned)
    con.execute("checkpoint")
    return time.process_time() - started


def beside_type_2(work: Path, *, rows: int, keys: int, rounds: int) -> dict[str, float]:
    """Return the median CPU seconds of batch 2, by SCD type."""
    workload.write_batches(work / "events", rows=rows, keys=keys, batches=2, rates=workload.Rates(late=0))
    base = databases.BASE.format(folder=work / "events")
    first, second = (f"(from read_parquet('{work / 'events'}/batch_{number}.parquet'))" for number in (1, 2))
    for scd_type in TYPES:
        with databases.connect(work / f"{scd_type}.duckdb") as con:
            for events in (base, first):
                con.execute(f"create or replace view feed as from {events}")
                applied(con, scd_type)
            con.execute("drop view feed")
            con.execute(f"create table feed as from {second}")
    found: dict[str, list[float]] = {str(scd_type): [] for scd_type in TYPES}
    for _ in range(rounds):
        for scd_type in TYPES:
            copy = work / "copy.duckdb"
            shutil.copy(work / f"{scd_type}.duckdb", copy)
            with databases.connect(copy) as con:
                con.execute("select count(*) from feed").fetchall()
                found[str(scd_type)].append(applied(con, scd_type))
            copy.unlink()
    return {name: statistics.median(seconds) for name, seconds in found.items()}


def along_a_key(work: Path, *, business: str, system: str, count: int) -> tuple[float, float]:
    """Return the CPU seconds of `count` events of one key in one run, and of one more event in order afterwards."""
    path = work / "hot.duckdb"
    path.unlink(missing_ok=True)
    with databases.connect(path) as con:
        event = "1 as id, 'U' as op, ({})::bigint as seq, ({})::bigint as st, i % 7 as value"
        seconds = []
        for first, last in ((0, 1), (1, count + 1), (count + 1, count + 2)):
            con.execute(
                f"create or replace table feed as select {event.format(business, system)} from range({first}, {last}) t(i)"
            )
            seconds.append(_applied_on_two_axes(con))
    return seconds[1], seconds[2]


def _applied_on_two_axes(con: duckdb.DuckDBPyConnection) -> float:
    options = product.options("bitemporal") | {
        "system_sequence_by": "st",
        "except_column_list": ["op", "seq", "st"],
    }
    target = product.Direct(con)
    plan = target.plan(options, sql=product.MODEL_SQL)
    started = time.process_time()
    target.execute(plan)
    return time.process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        print(
            "| one key | events in one run | CPU s | one more event, CPU s |\n|---|---|---|---|", flush=True
        )
        for name, (business, system) in HOT.items():
            for count in (100, 1_000, 10_000):
                together, one = along_a_key(work, business=business, system=system, count=count)
                print(f"| {name} | {count:,} | {together:.2f} | {one:.2f} |", flush=True)
        seconds = beside_type_2(work, rows=options.rows, keys=options.keys, rounds=options.rounds)
    print(
        f"\n{options.rows:,} rows, {options.keys:,} keys: "
        + ", ".join(f"{k} {v:.3f} s" for k, v in seconds.items())
    )
    print(f"bitemporal / SCD type 2 = {seconds['bitemporal'] / seconds['2']:.2f}")


if __name__ == "__main__":
    main()
