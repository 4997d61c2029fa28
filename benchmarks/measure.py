"""One measurement in a process of its own, on a fresh copy of a database: CPU seconds, wall seconds, peak memory.

Not here: which measurements are made, and what is said about them (`run.py`). Called with one JSON argument, prints one JSON line.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import databases
import duckdb
import limits
import peers
import product
from check import apply
from limits import VALUES
from workload import COLUMNS

START = time.process_time()


class Clock:
    """CPU (user and system, all threads) and wall seconds since it was made."""

    def __init__(self) -> None:
        self.cpu, self.wall = time.process_time(), time.perf_counter()

    def read(self) -> dict[str, float]:
        return {"cpu": time.process_time() - self.cpu, "wall": time.perf_counter() - self.wall}


def warm_up(run: Callable[[duckdb.DuckDBPyConnection], object]) -> None:
    """Pay for imports and first use on an empty feed in memory, outside the measurement."""
    with duckdb.connect() as con:
        values = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
        con.execute(f"create table feed (id bigint, op varchar, seq bigint, {values})")
        run(con)


def sql_run(database: Path, *, shape: str, threads: int) -> dict[str, object]:
    """A hand-written shape: one transaction, then the checkpoint."""
    scd_type, statements = limits.SHAPES[shape]
    warm_up(lambda con: apply(con, [*limits.BUILD[scd_type], *statements]))
    with databases.connect(database, threads=threads) as con:
        steps = {}
        clock = Clock()
        con.execute("begin")
        for step in statements:
            before = time.process_time()
            result = con.execute(step.sql)
            if step.is_check and any(result.fetchone()):
                raise ValueError(step.name)
            steps[step.name] = round(time.process_time() - before, 4)
        con.execute("commit")
        con.execute("checkpoint")
        return clock.read() | {"statements": len(steps), "steps": steps}


def product_run(database: Path, *, scd_type: int, partial: bool, threads: int) -> dict[str, object]:
    warm_up(
        lambda con: [
            product.apply(product.prepare(con, scd_type=scd_type, partial=partial)) for _ in range(2)
        ]
    )
    with databases.connect(database, threads=threads) as con:
        planned = product.prepare(con, scd_type=scd_type, partial=partial)
        clock = Clock()
        statements = product.apply(planned)
        con.execute("checkpoint")
        return clock.read() | {"statements": statements, "planning_seconds": planned.cpu_seconds}


def dbt_run(database: Path, *, competitor: str, threads: int) -> dict[str, object]:
    """The node's run less the mean of the no-op runs before and after it; earlier runs pay for imports and parsing.

    Closing the database is part of both: dbt-duckdb keeps it open, and the checkpoint happens on closing.
    """
    from dbt.adapters.duckdb.connections import DuckDBConnectionManager
    from dbt.cli.main import dbtRunner

    with tempfile.TemporaryDirectory() as folder:
        peers.write_project(Path(folder), competitor=competitor, database=database, threads=threads)
        os.chdir(folder)
        runner = dbtRunner()

        def run(command: str, node: str) -> dict[str, float]:
            clock = Clock()
            done = runner.invoke(
                [
                    "--quiet",
                    "--log-level-file",
                    "none",
                    command,
                    "--select",
                    node,
                    "--project-dir",
                    folder,
                    "--profiles-dir",
                    folder,
                ]
            )
            if not done.success:
                raise RuntimeError(str(done.exception or [result.message for result in done.result]))
            DuckDBConnectionManager.env().close()
            DuckDBConnectionManager.close_all_connections()
            return clock.read()

        for _ in range(2):
            run("run", "no_op")
        before = run("run", "no_op")
        node = run("snapshot", "target") if "snapshot" in competitor else run("run", "peer")
        after = run("run", "no_op")
        no_op = {name: (before[name] + after[name]) / 2 for name in before}
        os.chdir("/")
    return {
        "cpu": node["cpu"] - no_op["cpu"], "wall": node["wall"] - no_op["wall"],
        "no_op_cpu": no_op["cpu"], "process_cpu": time.process_time() - START,
    }  # fmt: skip


def peak_mb() -> int:
    """Peak resident memory; `ru_maxrss` would start at that of the parent process."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) // 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def output(competitor: str, scd_type: int) -> tuple[str, str]:
    """Relation and columns that must equal the plain window query."""
    if competitor.startswith("dbt"):
        return "(from target where not is_deleted)", f"id, {VALUES}"
    bounds = (
        product.BOUNDS[scd_type]
        if competitor.startswith("auto_cdc")
        else (("start_at", "end_at") if scd_type == 2 else ())
    )
    relation = "plain" if "plain" in competitor else "target"
    return relation, ", ".join(["id", VALUES, *bounds])


def main() -> None:
    task = json.loads(sys.argv[1])
    competitor, scd_type, threads = task["competitor"], task["scd_type"], task["threads"]
    with tempfile.TemporaryDirectory(dir=task["scratch"]) as folder:
        database = Path(folder) / "bench.duckdb"
        shutil.copyfile(task["database"], database)
        before = database.stat().st_size
        with contextlib.redirect_stdout(sys.stderr):
            if competitor in limits.SHAPES:
                figures = sql_run(database, shape=competitor, threads=threads)
            elif competitor in peers.NODES:
                figures = dbt_run(database, competitor=competitor, threads=threads)
            else:
                partial = "partial" in competitor
                figures = product_run(database, scd_type=scd_type, partial=partial, threads=threads)
        figures["rss_mb"] = peak_mb()
        figures["file_mb"] = [before >> 20, database.stat().st_size >> 20]
        if task.get("digest") and "snapshot" not in competitor:
            relation, columns = output(competitor, scd_type)
            with databases.connect(database) as con:
                figures["digest"] = databases.digest(con, relation, columns=columns)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
