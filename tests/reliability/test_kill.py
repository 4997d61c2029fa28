"""A run that is killed, at any moment, leaves what the last good run left; the next run goes on from there.

Not here: runs that are refused (`scenarios`, `properties`). As a script this file is the process that gets killed:
it runs a plan and asks for leave before every statement.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import duckdb
import pytest

from tests.case_data import create_table
from tests.direct import Direct
from tests.flow_sql import FlowSql, compiled
from tests.strategies import Shape, Tracking
from tests.watched import Look, Watched, nightly, options_of

if TYPE_CHECKING:
    from dbt_auto_cdc.execute import Sent
    from tests.dbt_project import Project
    from tests.reference_model import Event

ROOT = Path(__file__).parents[2]
SCD1 = Shape(1, ("id",), ("a", "b"), ("seq",), is_sequence_output=False, tracking=Tracking("all"))
SCD2 = Shape(2, ("id",), ("a", "b"), ("seq",), is_sequence_output=False, tracking=Tracking("columns", ("a",)))
SHAPES = {"scd1": SCD1, "scd2": SCD2}
# What is kept from one feed, and from a feed, a history that is read once, and a dump.
KINDS = {**SHAPES, "flows": SCD1}
FLOWS = compiled(
    FlowSql("history", "select * from feed where id % 2 = 0", {"once": True}),
    FlowSql("feed", "select * from feed where id % 2 = 1 or op = 'T'"),
    FlowSql("dump", "select * from dump", {"snapshot_version": "taken"}),
)
COMMIT = "commit"


class Obedient(Direct):
    """Says which statement comes next, and waits until it may send it."""

    def _send(self, name: str, sql: str) -> Sent:
        ask(name)
        return super()._send(name, sql)


def ask(what: str) -> None:
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()
    sys.stdin.readline()


def main(database: str, kind: str, full_refresh: str) -> None:
    """Run once on the feed that is there, under the eyes of the test that started this process."""
    with duckdb.connect(database) as connection:
        target = Obedient(connection)
        target.run(options_of(KINDS[kind]), sql=sql_of(kind), full_refresh=full_refresh == "True")
        ask(COMMIT)


def sql_of(kind: str) -> str:
    return FLOWS if kind == "flows" else "select * from feed"


def deliver_dump(connection: duckdb.DuckDBPyConnection, version: int) -> None:
    """Put a dump of 25 members in the place of the one before."""
    columns = {"id": "INTEGER", "a": "INTEGER", "b": "VARCHAR", "taken": "BIGINT"}
    rows = [{"id": key, "a": key % 3, "b": "x", "taken": version} for key in range(version, version + 25)]
    create_table(connection, "dump", columns, rows)


def some_events(shape: Shape, seed: str, since: int = 0, count: int = 120) -> list[Event]:
    """Return events of 40 keys without ties: early and late ones, deletes, in SCD type 1 a truncate."""
    source = random.Random(seed)
    places = source.sample(
        [(key, sequence) for key in range(40) for sequence in range(since, since + 30)], count
    )
    events = [
        shape.event(
            "delete" if source.random() < 0.2 else "upsert",
            ((key,), sequence),
            {"a": source.randint(0, 2), "b": source.choice("xyz")},
        )
        for key, sequence in places
    ]
    return [*events, shape.truncate(since + source.randint(0, 20))] if shape.scd_type == 1 else events


@dataclass
class Scene:
    """A database before a run, and what the run would make of it if it were left alone."""

    database: Path
    kind: str
    full_refresh: bool
    before: Look
    after: Look
    statements: int

    def look(self, database: Path) -> Look:
        with duckdb.connect(str(database)) as connection:
            return Watched(connection, KINDS[self.kind], is_new=False).look()

    def run_on(self, database: Path) -> Look:
        with duckdb.connect(str(database)) as connection:
            target = Direct(connection)
            target.run(options_of(KINDS[self.kind]), sql=sql_of(self.kind), full_refresh=self.full_refresh)
            self.statements = target.statements
        return self.look(database)


def scene(folder: Path, kind: str, what: str) -> Scene:
    """Make a database in which the first run, a later one, or a rebuild is due."""
    database, shape = folder / "before.duckdb", KINDS[kind]
    with duckdb.connect(str(database)) as connection:
        target = Watched(connection, shape)
        deliver_dump(connection, 5)
        for seed in ("good", what) if what != "first" else (what,):
            rows = [shape.feed_row(event) for event in some_events(shape, seed)]
            create_table(connection, "feed", shape.types, rows)
            if seed == "good":
                target.direct.run(target.options, sql=sql_of(kind))
                deliver_dump(connection, 15)
        before = target.look()
    made = Scene(database, kind, what == "rebuild", before, before, 0)
    shutil.copy(database, folder / "after.duckdb")
    made.after = made.run_on(folder / "after.duckdb")
    assert not same(made.before, made.after)
    return made


def same(one: Look, other: Look) -> bool:
    """Compare what two looks saw, wherever the rows lie."""
    return (one.rows, one.companion) == (other.rows, other.companion)


def kill_at(scene: Scene, database: Path, kind: str, allowed: int, seconds: float) -> str:
    """Let a run send so many statements, kill it so long after the last of them, and return what it was about."""
    command = [sys.executable, __file__, str(database), kind, str(scene.full_refresh)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as victim:
        asks, leave = pipes(victim)
        about = asks.readline().strip()
        for number in range(1, allowed + 1):
            leave.write("\n")
            leave.flush()
            about = asks.readline().strip() if number < allowed else about
        time.sleep(seconds)
        victim.send_signal(signal.SIGKILL)
    assert victim.returncode == -signal.SIGKILL, "it was gone before it could be killed"
    return about


def pipes(victim: subprocess.Popen[str]) -> tuple[IO[str], IO[str]]:
    assert victim.stdout is not None
    assert victim.stdin is not None
    return victim.stdout, victim.stdin


def survive(
    folder: Path, kind: str, what: str, source: random.Random, *, kills: int, among_writes: bool
) -> None:
    """Kill runs at random moments; each must leave all or nothing, and the next run must end in the right table.

    The last statements of a plan are those that write: a kill before them has little to spoil.
    """
    it = scene(folder, kind, what)
    statements = it.statements
    for _ in range(kills):
        database = folder / "killed.duckdb"
        for left in folder.glob("killed.duckdb*"):
            left.unlink()
        shutil.copy(it.database, database)
        allowed = source.randint(statements - 3 if among_writes else 0, statements)
        about = kill_at(it, database, kind, allowed, source.choice([0, 0.001, 0.01, 0.1]))
        found = it.look(database)
        moment = f"{what} run of {kind}, {allowed} of {statements} statements, {about!r}"
        is_committed = allowed == statements and same(it.after, found)
        assert is_committed or same(it.before, found), moment
        assert same(it.after, it.run_on(database)), moment


@pytest.mark.parametrize("what", ["first", "later", "rebuild"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_run_never_was(tmp_path: Path, kind: str, what: str) -> None:
    """Killed at a random statement: target and companion are as before, and the next run ends right."""
    survive(tmp_path, kind, what, random.Random(f"{kind} {what}"), kills=2, among_writes=True)


@nightly
@pytest.mark.parametrize("what", ["first", "later", "rebuild"])
@pytest.mark.parametrize("kind", KINDS)
def test_many_killed_runs_never_were(tmp_path: Path, kind: str, what: str) -> None:
    """The same at many moments."""
    survive(tmp_path, kind, what, random.Random(), kills=40, among_writes=False)


# dbt itself

ENDLESS = "from range(10000000) as a, range(10000000) as b, range(10000000) as c"
"""Part of a query that runs until it is killed; it is the last thing a run does before it commits."""


def models_of(project: Project) -> None:
    for name, shape in SHAPES.items():
        options = ", ".join(f"{option}={value!r}" for option, value in options_of(shape).items())
        hook = f"{{% if env_var('ENDLESS', '') == '{name}' %}}select count(*) {ENDLESS}{{% endif %}}"
        project.write(
            f"models/{name}.sql",
            f"""
            {{{{ config(materialized='auto_cdc', {options}, post_hook="{hook}") }}}}
            select * from feed_of_{name}
            """,
        )


def deliver(project: Project, seed: str, since: int = 0) -> None:
    with project._connection() as connection:
        for name, shape in SHAPES.items():
            rows = [shape.feed_row(event) for event in some_events(shape, seed, since)]
            create_table(connection, f"feed_of_{name}", shape.types, rows)


def looks(database: Path) -> dict[str, Look]:
    with duckdb.connect(str(database)) as connection:
        return {
            name: Watched(connection, shape, name=name, is_new=False).look() for name, shape in SHAPES.items()
        }


def looks_after(database: Path) -> dict[str, Look]:
    """Return what the next run would make of a copy of the database."""
    copy = database.with_name("copy.duckdb")
    shutil.copy(database, copy)
    with duckdb.connect(str(copy)) as connection:
        for name, shape in SHAPES.items():
            Direct(connection, name).run(options_of(shape), sql=f"select * from feed_of_{name}")
    return looks(copy)


def kill_dbt(project: Project, *, endless: str = "", at: str = "", after: float = 0) -> None:
    """Start dbt, and kill it some time after it says `at`; the model `endless` never gets to its commit."""
    dbt = Path(sys.executable).with_name("dbt")
    folders = ["--project-dir", str(project.root), "--profiles-dir", str(project.root)]
    with subprocess.Popen(
        [dbt, "--log-level", "debug", "--log-path", project.root / "logs", "run", *folders],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=project.root,
        env={**os.environ, "ENDLESS": endless},
    ) as victim:
        assert victim.stdout is not None
        assert not at or any(at in said for said in victim.stdout), f"dbt never said {at}"
        time.sleep(after)
        victim.send_signal(signal.SIGKILL)


def outlive(project: Project, number: int, **kill: Any) -> None:
    """Kill one run of dbt, and see that every model is as before or after it, and that the next run ends right."""
    deliver(project, f"feed {number}", since=10 * (number + 1))
    before, after = looks(project.database), looks_after(project.database)
    assert not any(same(before[name], after[name]) for name in SHAPES)
    kill_dbt(project, **kill)
    found = looks(project.database)
    finished = {name for name in SHAPES if same(after[name], found[name])}
    assert finished == {name for name in SHAPES if not same(before[name], found[name])}
    assert kill.get("endless") not in finished
    project.succeed("run")
    assert all(same(after[name], look) for name, look in looks(project.database).items())


@pytest.mark.dbt
def test_killed_dbt(project: Project) -> None:
    """dbt killed just before a commit leaves that model as it was; the next run ends right."""
    models_of(project)
    deliver(project, "good")
    project.succeed("run")
    for number, name in enumerate(SHAPES):
        outlive(project, number, endless=name, at=ENDLESS, after=0.1)


@nightly
@pytest.mark.dbt
def test_dbt_killed_many_times(project: Project) -> None:
    """dbt killed at any time, often while it sends a plan, leaves every model as before or after its run."""
    models_of(project)
    deliver(project, "good")
    project.succeed("run")
    source = random.Random()
    for number in range(40):
        if number % 2:
            outlive(project, number, after=source.uniform(0, 8))
        else:
            outlive(project, number, at="-- auto_cdc: ", after=source.uniform(0, 0.5))


if __name__ == "__main__":
    main(*sys.argv[1:])
