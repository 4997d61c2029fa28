"""Runs killed at any moment have read each row of a stream and each line of a file once: none is lost or comes twice.

Not here: what a killed run leaves of other tables (`test_kill`). As a script this file is the process that gets killed.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb

from tests.direct import Direct
from tests.file_reads import read_files
from tests.reliability.test_kill import COMMIT, ROOT, Obedient, ask, pipes
from tests.stream_sql import stream
from tests.watched import nightly


def models(folder: str) -> dict[str, tuple[dict[str, Any], str]]:
    """Return a pipeline: of files and of a table that grows, each row as it is, and as the latest of its key."""
    files, keyed = read_files(f"{folder}/*.json"), {"keys": ["id"], "sequence_by": "n"}
    appends = {"materialized": "append_flow"}
    return {
        "lines": (appends, f"select id, n from {files} as f"),
        "events": (appends, f"select * from {stream('feed', model='events', offset='n')} as s"),
        "united": (
            appends,
            (
                f"select id, n from {stream('lines', model='united')} as l"
                f" union all select id, n from {stream('events', model='united')} as e"
            ),
        ),
        "latest": (
            {"materialized": "auto_cdc", **keyed},
            f"select * from {stream('united', model='latest')} as b",
        ),
    }


def run_all(connection: duckdb.DuckDBPyConnection, folder: str, kind: type[Direct] = Direct) -> int:
    """Run the pipeline once, and return how many statements that took."""
    statements = 0
    for name, (config, sql) in models(folder).items():
        target = kind(connection, name)
        target.run(config, sql=sql)
        statements += target.statements
        if kind is Obedient:
            ask(COMMIT)
    return statements


def main(database: str, folder: str) -> None:
    """Run once, under the eyes of the test that started this process."""
    with duckdb.connect(database) as connection:
        run_all(connection, folder, Obedient)


class Sources:
    """A table and a folder that grow, and what is in them."""

    def __init__(self, place: Path, source: random.Random) -> None:
        self.database, self.folder, self.source = place / "w.duckdb", place / "landing", source
        self.folder.mkdir()
        self.number, self.files = 0, 0
        self.rows: list[tuple[int, int]] = []
        self.lines: dict[int, list[tuple[int, int]]] = {}
        with duckdb.connect(str(self.database)) as connection:
            connection.execute("create table feed (id integer, n bigint)")

    def grow(self) -> None:
        """Add rows to the table, and now and then files to the folder."""
        added = self.some_rows()
        self.rows += added
        with duckdb.connect(str(self.database)) as connection:
            if added:
                connection.executemany("insert into feed values (?, ?)", added)
        for _ in range(self.source.randint(0, 2)):
            self.files += 1
            self.lines[self.files] = self.some_rows() or [(0, -self.files)]
            text = "".join(
                json.dumps({"id": key, "n": number}) + "\n" for key, number in self.lines[self.files]
            )
            (self.folder / f"{self.files:05}.json").write_text(text, encoding="utf-8")

    def some_rows(self) -> list[tuple[int, int]]:
        rows = []
        for _ in range(self.source.randint(0, 30)):
            self.number += self.source.randint(1, 3)
            rows.append((self.source.randint(1, 9), self.number))
        return rows

    def check(self, *, is_done: bool) -> None:
        """Compare what was read with what there is: a beginning of each source, once; all of it where all `is_done`."""
        with duckdb.connect(str(self.database)) as connection:
            there = {
                name for (name,) in connection.execute("select table_name from duckdb_tables()").fetchall()
            }
            found = {
                name: Counter(connection.execute(f"select id, n from {name}").fetchall())
                if name in there
                else Counter()
                for name in models("")
            }
        events = Counter(
            row for row in self.rows if row[1] <= max((n for _, n in found["events"]), default=0)
        )
        assert events == found["events"]
        of_files = {number: Counter(lines) for number, lines in self.lines.items()}
        read = sum(
            (lines for lines in of_files.values() if lines & found["lines"]), Counter[tuple[int, int]]()
        )
        assert read == found["lines"]
        every = found["lines"] + found["events"]
        assert found["united"] <= every
        assert set(found["latest"]) <= set(found["united"])
        if is_done:
            assert (Counter(self.rows), every) == (found["events"], found["united"])
            assert sum(of_files.values(), Counter[tuple[int, int]]()) == found["lines"]
            newest = {key: max(n for other, n in every if other == key) for key, _ in every}
            assert Counter(newest.items()) == found["latest"]

    def kill(self, statements: int) -> None:
        """Start a run of the pipeline, and kill it at a random moment."""
        allowed, seconds = self.source.randint(0, statements + 4), self.source.choice([0, 0.001, 0.01, 0.05])
        command = [sys.executable, __file__, str(self.database), str(self.folder)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        ) as victim:
            asks, leave = pipes(victim)
            asks.readline()
            for number in range(1, allowed):
                leave.write("\n")
                leave.flush()
                if number < allowed - 1 and not asks.readline():
                    return
            time.sleep(seconds)
            victim.send_signal(signal.SIGKILL)


def survive(place: Path, source: random.Random, kills: int) -> None:
    sources = Sources(place, source)
    sources.grow()
    with duckdb.connect(str(sources.database)) as connection:
        statements = run_all(connection, str(sources.folder))
    for number in range(kills):
        sources.grow()
        sources.kill(statements)
        sources.check(is_done=False)
        if number % 10 == 4:
            with duckdb.connect(str(sources.database)) as connection:
                run_all(connection, str(sources.folder))
            sources.check(is_done=True)
    with duckdb.connect(str(sources.database)) as connection:
        run_all(connection, str(sources.folder))
    sources.check(is_done=True)


def test_killed_runs_lose_no_row_and_double_none(tmp_path: Path) -> None:
    """Of a table, of files, and of tables in between: a few runs that are killed one after another."""
    survive(tmp_path, random.Random("reads"), kills=6)


@nightly
def test_many_killed_runs_lose_no_row_and_double_none(tmp_path: Path) -> None:
    """The same, more than a hundred times."""
    survive(tmp_path, random.Random(), kills=150)


if __name__ == "__main__":
    main(*sys.argv[1:])
