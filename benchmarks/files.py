"""What it costs to read files once: a million messages in a thousand files, and a look at 100,000 files that were read.

    python benchmarks/files.py            # two minutes; --quick for a tenth of it

Everything in one process on one on-disk database, DuckDB with 2 threads; each figure the least of some rounds, in CPU
seconds (user + system) and wall seconds. The engine's time of a run is that of its statements, those that look
included.
"""

from __future__ import annotations

import json
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import duckdb

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.direct import Direct
from tests.file_reads import read_files

ROUNDS = 3
APPENDS = {"materialized": "append_flow"}


@dataclass
class Cost:
    """The least of several rounds."""

    cpu: float = 1e9
    wall: float = 1e9

    def of(self, work: Callable[[], object]) -> None:
        cpu, wall = time.process_time(), time.perf_counter()
        work()
        self.cpu = min(self.cpu, time.process_time() - cpu)
        self.wall = min(self.wall, time.perf_counter() - wall)

    def __str__(self) -> str:
        return f"{self.cpu:6.2f} CPU s  {self.wall:6.2f} s"


def write_messages(folder: Path, files: int, each: int) -> None:
    """Messages like those of a change feed: eight fields, a few keys missing."""
    source, place = random.Random(1), 0
    for number in range(files):
        with (folder / f"part_{number:06}.json").open("w") as file:
            for _ in range(each):
                place += 1
                message = {
                    "id": place % 50_000 if source.random() > 0.02 else None,
                    "firstname": f"First{place % 997}",
                    "lastname": f"Last{place % 1013}",
                    "email": f"user{place}@example.org",
                    "address": f"{place} Main Street, Springfield {place % 99_999}",
                    "operation": source.choice(["APPEND", "UPDATE", "DELETE"]),
                    "operation_date": f"2026-03-{place % 28 + 1:02} 12:{place % 60:02}:00",
                    "amount": round(source.random() * 1000, 2),
                }
                file.write(json.dumps(message) + "\n")


def database(work: Path) -> duckdb.DuckDBPyConnection:
    file = work / "bench.duckdb"
    for left in work.glob("bench.duckdb*"):
        left.unlink()
    return duckdb.connect(str(file), config={"threads": 2})


def read_all(work: Path, landing: Path) -> dict[str, Cost]:
    """Read all files into a new table: as one plain statement, and as an append_flow's first run."""
    costs = {name: Cost() for name in ("plain", "append_flow")}
    for _ in range(ROUNDS):
        with database(work) as connection:
            plain = f"create table plain as select * from read_json('{landing}/*.json')"
            costs["plain"].of(lambda: (connection.execute(plain), connection.execute("checkpoint")))  # noqa: B023
            read = connection.execute("select count(*), sum(hash(id, email, amount)) from plain").fetchall()
        with database(work) as connection:
            target = Direct(connection)
            sql = f"select * from {read_files(f'{landing}/*.json')} as files"
            costs["append_flow"].of(
                lambda: (target.run(APPENDS, sql=sql), connection.execute("checkpoint"))  # noqa: B023
            )
            assert (
                read
                == connection.execute("select count(*), sum(hash(id, email, amount)) from target").fetchall()
            )
    return costs


def look_again(work: Path, landing: Path) -> dict[str, Cost]:
    """Look for new files beside many that are on record: all of them still there, and all but a few moved away."""
    costs = {
        name: Cost() for name in ("glob alone", "nothing new", "one new", "nothing new, files moved away")
    }
    with database(work) as connection:
        target = Direct(connection)
        sql = f"select * from {read_files(f'{landing}/*.json', include_existing_files=False)} as files"
        target.run(APPENDS, sql=sql)
        listing = f"select count(*) from glob('{landing}/*.json')"
        for number in range(ROUNDS):
            costs["glob alone"].of(lambda: connection.execute(listing).fetchall())
            costs["nothing new"].of(lambda: target.run(APPENDS, sql=sql))
            (landing / f"new_{number}.json").write_text('{"id": 1}\n')
            costs["one new"].of(lambda: target.run(APPENDS, sql=sql))
        few = landing.with_name("few")
        few.mkdir()
        (few / "a.json").write_text('{"id": 1}\n')
        moved = f"select * from {read_files(f'{few}/*.json')} as files"
        target.run(APPENDS, sql=moved)
        for _ in range(ROUNDS):
            costs["nothing new, files moved away"].of(lambda: target.run(APPENDS, sql=moved))
    return costs


def main() -> None:
    part = 10 if "--quick" in sys.argv else 1
    work = Path(tempfile.mkdtemp(prefix="files_"))
    try:
        landing = work / "landing"
        landing.mkdir()
        write_messages(landing, 1000 // part, 1000)
        costs = read_all(work, landing)
        print(f"{1_000_000 // part:,} messages in {1000 // part:,} files")
        for name, cost in costs.items():
            print(f"  {name:32} {cost}")
        print(
            f"  speed of the read              {costs['plain'].cpu / costs['append_flow'].cpu:6.0%} CPU"
            f"  {costs['plain'].wall / costs['append_flow'].wall:6.0%}"
        )
        many = work / "many"
        many.mkdir()
        for number in range(100_000 // part):
            (many / f"file_{number:06}.json").write_text('{"id": 1}\n')
        print(f"{100_000 // part:,} files on record")
        for name, cost in look_again(work, many).items():
            print(f"  {name:32} {cost}")
    finally:
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
