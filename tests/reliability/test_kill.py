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
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import duckdb
import pytest

from tests.databases import create_table
from tests.direct import Direct
from tests.flow_sql import FlowSql, compiled
from tests.strategies import Shape, Tracking
from tests.stream_sql import stream
from tests.watched import Look, look_at, nightly, options_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dbt_auto_cdc.execute import Sent
    from tests.dbt_project import Project

ROOT = Path(__file__).parents[2]
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
        KINDS[kind].run_on(Obedient(connection), full_refresh=full_refresh == "True")
        ask(COMMIT)


@dataclass(frozen=True)
class Mode:
    """A kind of target: how it is configured, and what a run reads; `since` is the least place in the order.

    With `flows` that is the model's SQL, and a dump is delivered beside the feed.
    """

    options: dict[str, Any]
    types: dict[str, str]
    rows: Callable[[random.Random, int], list[dict[str, Any]]]
    flows: str = ""

    @property
    def materialized(self) -> str:
        return str(self.options.get("materialized", "auto_cdc"))

    def deliver(
        self, connection: duckdb.DuckDBPyConnection, seed: str, since: int = 0, feed: str = "feed"
    ) -> None:
        create_table(connection, feed, self.types, self.rows(random.Random(seed), since))
        if self.flows:
            deliver_dump(connection, since + 5)

    def run_on(self, target: Direct, *, full_refresh: bool = False, feed: str = "feed") -> None:
        target.run(self.options, sql=self.flows or f"select * from {feed}", full_refresh=full_refresh)


def deliver_dump(connection: duckdb.DuckDBPyConnection, version: int) -> None:
    """Put a dump of 25 members in the place of the one before."""
    columns = {"id": "INTEGER", "a": "INTEGER", "b": "VARCHAR", "taken": "BIGINT"}
    rows = [{"id": key, "a": key % 3, "b": "x", "taken": version} for key in range(version, version + 25)]
    create_table(connection, "dump", columns, rows)


def of_events(shape: Shape, flows: str = "") -> Mode:
    """Events of 40 keys without ties: early and late ones, deletes, in SCD type 1 a truncate."""

    def rows(source: random.Random, since: int) -> list[dict[str, Any]]:
        places = source.sample(
            [(key, sequence) for key in range(40) for sequence in range(since, since + 30)], 120
        )
        events = [
            shape.event(
                "delete" if source.random() < 0.2 else "upsert",
                ((key,), sequence),
                {"a": source.randint(0, 2), "b": source.choice("xyz")},
            )
            for key, sequence in places
        ]
        if shape.scd_type == 1:
            events.append(shape.truncate(since + source.randint(0, 20)))
        return [shape.feed_row(event) for event in events]

    return Mode(options_of(shape), shape.types, rows, flows)


def some_rows(source: random.Random, keys: Iterable[int], v: int) -> list[dict[str, Any]]:
    return [{"id": key, "a": source.randint(0, 2), "b": source.choice("xyz"), "v": v} for key in keys]


def whole_snapshots(source: random.Random, since: int) -> list[dict[str, Any]]:
    """One version or two, each with most of 40 keys."""
    versions = range(since + 1, since + 2 + source.randint(0, 1))
    return [row for v in versions for row in some_rows(source, source.sample(range(40), 35), v)]


def parts_of_keys(source: random.Random, since: int) -> list[dict[str, Any]]:
    """Some rows of some of 40 keys, at two sequences."""
    return [
        row for v in (since + 1, since + 2) for row in some_rows(source, source.choices(range(40), k=30), v)
    ]


ROWS = {"id": "INTEGER", "a": "INTEGER", "b": "VARCHAR", "v": "BIGINT"}
SCD1 = Shape(1, ("id",), ("a", "b"), ("seq",), is_sequence_output=False, tracking=Tracking("all"))
SCD2 = Shape(2, ("id",), ("a", "b"), ("seq",), is_sequence_output=False, tracking=Tracking("columns", ("a",)))
SNAPSHOT = {
    "materialized": "auto_cdc_snapshot",
    "keys": ["id"],
    "snapshot_version": "v",
    "stored_as_scd_type": 2,
    "track_history_column_list": ["a"],
}
REPLACE = {"materialized": "replace_using", "replace_using": ["id"], "sequence_by": "v"}
# What is kept from a feed, a history that is read once, and a dump.
FLOWS = compiled(
    FlowSql("history", "select * from feed where id % 2 = 0", {"once": True}),
    FlowSql("feed", "select * from feed where id % 2 = 1 or op = 'T'"),
    FlowSql("dump", "select * from dump", {"snapshot_version": "taken"}),
)
MODES = {
    "scd1": of_events(SCD1),
    "scd2": of_events(SCD2),
    "snapshot": Mode(SNAPSHOT, ROWS, whole_snapshots),
    "replace": Mode(REPLACE, ROWS, parts_of_keys),
}
STREAM = f"select id, a, b, v from {stream('feed', offset='v')} as s"
STREAMED = {"keys": ["id"], "sequence_by": "v", "sequence_ties": "allow", "stored_as_scd_type": 2}
EXPECTED = {"expect_all_or_drop": {"not_zero": "a <> 0"}, "expectations_quarantine": True}
KINDS = {
    **MODES,
    "fed": Mode({**options_of(SCD2), "change_data_feed": True}, SCD2.types, of_events(SCD2).rows),
    "quarantined": Mode({**options_of(SCD1), **EXPECTED}, SCD1.types, of_events(SCD1).rows),
    "flows": of_events(SCD1, FLOWS),
    "streamed": Mode(STREAMED, ROWS, parts_of_keys, STREAM),
    "appended": Mode({"materialized": "append_flow"}, ROWS, parts_of_keys, STREAM),
}


@dataclass
class Scene:
    """A database before a run, and what the run would make of it if it were left alone."""

    database: Path
    mode: Mode
    full_refresh: bool
    before: Look
    after: Look
    statements: int

    def look(self, database: Path) -> Look:
        with duckdb.connect(str(database)) as connection:
            return look_at(connection, "target")

    def run_on(self, database: Path) -> Look:
        with duckdb.connect(str(database)) as connection:
            target = Direct(connection)
            self.mode.run_on(target, full_refresh=self.full_refresh)
            self.statements = target.statements
        return self.look(database)


def scene(folder: Path, kind: str, what: str) -> Scene:
    """Make a database in which the first run, a later one, or a rebuild is due."""
    database, mode = folder / "before.duckdb", KINDS[kind]
    with duckdb.connect(str(database)) as connection:
        if what != "first":
            mode.deliver(connection, "good")
            mode.run_on(Direct(connection))
        mode.deliver(connection, what, since=10)
        before = look_at(connection, "target")
    made = Scene(database, mode, what == "rebuild", before, before, 0)
    shutil.copy(database, folder / "after.duckdb")
    made.after = made.run_on(folder / "after.duckdb")
    assert not same(made.before, made.after)
    return made


def same(one: Look, other: Look) -> bool:
    """Compare what two looks saw, wherever the rows lie."""
    return (one.rows, one.companion, one.feed, one.quarantine) == (
        other.rows,
        other.companion,
        other.feed,
        other.quarantine,
    )


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
    for name, mode in MODES.items():
        given = {"materialized": mode.materialized, **mode.options}
        options = ", ".join(f"{option}={value!r}" for option, value in given.items())
        hook = f"{{% if env_var('ENDLESS', '') == '{name}' %}}select count(*) {ENDLESS}{{% endif %}}"
        project.write(
            f"models/{name}.sql",
            f"""
            {{{{ config({options}, post_hook="{hook}") }}}}
            select * from feed_of_{name}
            """,
        )


def deliver(project: Project, seed: str, since: int = 0) -> None:
    with project._connection() as connection:
        for name, mode in MODES.items():
            mode.deliver(connection, seed, since, feed=f"feed_of_{name}")


def looks(database: Path) -> dict[str, Look]:
    with duckdb.connect(str(database)) as connection:
        return {name: look_at(connection, name) for name in MODES}


def looks_after(database: Path) -> dict[str, Look]:
    """Return what the next run would make of a copy of the database."""
    copy = database.with_name("copy.duckdb")
    shutil.copy(database, copy)
    with duckdb.connect(str(copy)) as connection:
        for name, mode in MODES.items():
            mode.run_on(Direct(connection, name), feed=f"feed_of_{name}")
    return looks(copy)


def runs_logged(database: Path) -> Counter[str]:
    """Return how many rows each model has in the event log."""
    with duckdb.connect(str(database)) as connection:
        rows = connection.execute("select model from auto_cdc_event_log").fetchall()
    return Counter(model.split(".")[2] for (model,) in rows)


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
    """Kill one run of dbt, and see that every model is as before or after it, and that the next run ends right.

    The event log has the rows of the models that were committed, and no others.
    """
    deliver(project, f"feed {number}", since=10 * (number + 1))
    before, after = looks(project.database), looks_after(project.database)
    logged = runs_logged(project.database)
    assert not any(same(before[name], after[name]) for name in MODES)
    kill_dbt(project, **kill)
    found = looks(project.database)
    finished = {name for name in MODES if same(after[name], found[name])}
    assert finished == {name for name in MODES if not same(before[name], found[name])}
    assert kill.get("endless") not in finished
    assert finished == set(runs_logged(project.database) - logged)
    project.succeed("run")
    assert all(same(after[name], look) for name, look in looks(project.database).items())


@pytest.mark.dbt
def test_killed_dbt(project: Project) -> None:
    """dbt killed just before a commit leaves that model as it was; the next run ends right."""
    models_of(project)
    deliver(project, "good")
    project.succeed("run")
    for number, name in enumerate(MODES):
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
