"""DuckLake through dbt: processes that write the same targets at once or are killed, layouts and contracts.

Not here: which runs conflict (`test_ducklake`), and what the tables hold (`tests/scenarios`, `tests/properties`).
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import dbt.context.base
import pytest
import yaml

from tests import databases

if TYPE_CHECKING:
    from tests.dbt_project import Project

pytestmark = [pytest.mark.dbt, pytest.mark.only_on("ducklake")]

PROCESSES = 3
RUNS = 3
# Runs dbt with the arguments of each line, as one process: what begins dbt anew for each run takes long.
LOOP = """
import json
import sys
from dbt.cli.main import dbtRunner

for line in sys.stdin:
    print("ENDED", dbtRunner().invoke(json.loads(line)).success, flush=True)
"""
# A run stands still before its commit for as long as somebody holds the lock of its model.
DOOR = """
{% macro door() %}
  {% set model = this.schema ~ '.' ~ this.identifier %}
  select * from postgres_query(
    'door', 'select 1 as opened from pg_advisory_xact_lock_shared(hashtext(''{{ model }}''))'
  )
{% endmacro %}
"""
KEYED = "keys=['id'], sequence_by='seq', apply_as_deletes=\"op = 'D'\", except_column_list=['op', 'seq', 'n']"
CHECKED = "expectations_quarantine=true, expect_all_or_drop={'has_city': \"city <> ''\"}"
PART = "select * from {{ source('shop', 'feed') }} where id % {{ var('parts', 1) }} = {{ var('part', 0) }}"
STREAM = "select id, city, n from {{ auto_cdc.stream(source('shop', 'feed'), offset='n') }}"
DUMP = "select id, city, seq as version from {{ source('shop', 'feed') }} where op = 'U' and n <= 4"
MODELS = {
    "adds": ("append_flow", "change_data_feed=true", STREAM),
    "dumps": ("auto_cdc_snapshot", "keys=['id'], snapshot_version='version', stored_as_scd_type=2", DUMP),
    "ones": ("auto_cdc", f"{KEYED}, stored_as_scd_type=1", PART),
    "twos": (
        "auto_cdc",
        f"{KEYED}, stored_as_scd_type=2, change_data_feed=true, {CHECKED}",
        PART,
    ),
}


@pytest.fixture
def shop(project: Project) -> Project:
    """Give a project whose models stop at the door."""
    project.write("macros/door.sql", DOOR)
    for name, (materialized, options, sql) in MODELS.items():
        config = f"materialized='{materialized}', post_hook=\"{{{{ door() }}}}\", {options}"
        project.write(f"models/{name}.sql", f"{{{{ config({config}) }}}}\n{sql}\n")
    source = {"name": "shop", "schema": project.schema, "tables": [{"name": "feed"}]}
    project.write("models/sources.yml", yaml.safe_dump({"sources": [source]}))
    profile = yaml.safe_load(project.read("profiles.yml"))
    place = databases._lake_path().removeprefix("ducklake:postgres:")
    door = {"path": place, "type": "postgres", "alias": "door", "read_only": True}
    profile["shop"]["outputs"]["dev"]["attach"].append(door)
    project.write("profiles.yml", yaml.safe_dump(profile))
    project.execute("create table feed (id integer, city varchar, op varchar, seq bigint, n bigint)")
    return project


def arrive(project: Project, *rows: tuple[int, str, str, int]) -> None:
    """Put rows into the feed, each with its number; in one commit, so that numbers grow in the order of commits."""
    values = ", ".join(
        f"({key}, '{city}', '{op}', {seq}, {place})" for place, (key, city, op, seq) in enumerate(rows, 1)
    )
    greatest = "coalesce((select max(n) from feed), 0)"
    project.execute(
        f"insert into feed select id, city, op, seq, {greatest} + place"
        f" from (values {values}) as arrived(id, city, op, seq, place)"
    )


class Process:
    """A process of its own that runs dbt in a project, time and again, with paths of its own."""

    def __init__(self, project: Project, number: int) -> None:
        where = ["--project-dir", str(project.root), "--profiles-dir", str(project.root)]
        paths = ["--target-path", f"target_{number}", "--log-path", f"logs_{number}"]
        self.arguments = ["--no-use-colors", "run", *where, *paths]
        self.process = subprocess.Popen(
            [sys.executable, "-c", LOOP],
            cwd=project.root,
            env=dict(os.environ),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def begin(self, *args: str, runs: int = 1) -> None:
        """Let it run dbt so many times, and do not wait."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{json.dumps([*self.arguments, *args])}\n" * runs)
        self.process.stdin.flush()

    def finish(self, runs: int = 1) -> str:
        """Wait until so many runs have gone well, and return what they said."""
        assert self.process.stdout is not None
        said: list[str] = []
        for line in self.process.stdout:
            said.append(line)
            if line.startswith("ENDED"):
                assert line == "ENDED True\n", "".join(said)
                runs -= 1
                if not runs:
                    return "".join(said)
        raise AssertionError("".join(said))

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def start(shop: Project) -> Iterator[Callable[[int], Process]]:
    """Give what starts a process by its number, and end those that were started."""
    started: list[Process] = []

    def new(number: int) -> Process:
        started.append(Process(shop, number))
        return started[-1]

    yield new
    for process in started:
        process.kill()


@contextmanager
def doors(shop: Project) -> Iterator[Any]:
    """Close the doors of all models of a project, and give what opens one when so many runs stand at any of them."""
    own = [f"{shop.schema}.{model}" for model in MODELS]
    waiting = """
        select count(*) from pg_locks
        join unnest(%s) as door on (classid::bigint << 32 | objid::bigint) = hashtext(door)
        where locktype = 'advisory' and not granted
    """
    with databases.raw_postgres() as raw:
        cursor = raw.cursor()
        for door in own:
            cursor.execute("select pg_advisory_lock(hashtext(%s))", [door])

        def open_door(model: str, number: int) -> None:
            for _ in range(6000):
                cursor.execute(waiting, [own])
                if cursor.fetchall() == [(number,)]:
                    break
                time.sleep(0.05)
            else:
                raise AssertionError(f"{number} runs of {model} should stand at the door by now")
            cursor.execute("select pg_advisory_unlock(hashtext(%s))", [f"{shop.schema}.{model}"])

        yield open_door


def rows(project: Project, name: str, columns: str = "*") -> list[tuple[Any, ...]]:
    return project.query(f"select {columns} from {name} order by all")


def logged(project: Project, name: str, figure: str) -> list[tuple[str, int]]:
    """Return status and figure of a model's runs."""
    return sorted(
        project.query(
            f"select status, {figure} from auto_cdc_event_log where model = 'model.shop.' || ?", [name]
        )
    )


BATCHES: list[list[tuple[int, str, str, int]]] = [
    [(1, "Oslo", "U", 1), (2, "Rome", "U", 1), (3, "Kiel", "U", 1), (4, "", "U", 1)],
    [(1, "Bari", "U", 2), (2, "", "D", 2), (5, "Bonn", "U", 2), (6, "Metz", "U", 2), (7, "", "U", 2)],
    [(1, "Cork", "U", 3), (5, "", "D", 3), (6, "Nice", "U", 3)],
]


def test_processes_at_once(shop: Project, start: Callable[[int], Process]) -> None:
    """Three processes stand before their commits, with the same new keys or each with its own: all is there, and once.

    So in the first run of all models and in later ones. Who comes second begins again, and says so; every figure and
    every row of event log, change feed and quarantine is there once.
    """
    processes = [start(number) for number in range(PROCESSES)]
    for batch, parts, models_with_news in zip(BATCHES, (1, 1, PROCESSES), (4, 3, 3), strict=True):
        arrive(shop, *batch)
        with doors(shop) as open_door:
            for number, process in enumerate(processes):
                process.begin("--vars", json.dumps({"parts": parts, "part": number % parts}))
            for model in MODELS:
                open_door(model, PROCESSES)
            said = "".join(process.finish() for process in processes)
        assert said.count("another run wrote to") >= models_with_news * (PROCESSES - 1), said
    everything = sorted(row[:2] for batch in BATCHES for row in batch)
    assert everything == rows(shop, "adds", "id, city")
    assert [(1, "Cork"), (3, "Kiel"), (4, ""), (6, "Nice"), (7, "")] == rows(shop, "ones")
    history = [(1, "Bari", 2, 3), (1, "Cork", 3, None), (1, "Oslo", 1, 2), (2, "Rome", 1, 2)]
    history += [(3, "Kiel", 1, None), (5, "Bonn", 2, 3), (6, "Metz", 2, 3), (6, "Nice", 3, None)]
    assert history == rows(shop, "twos")
    assert [(1, "Oslo"), (2, "Rome"), (3, "Kiel"), (4, "")] == rows(shop, "dumps", "id, city")
    assert [(4,), (7,)] == rows(shop, "twos__auto_cdc_quarantine", "id")
    for name, figure, total in (
        ("adds", "num_output_rows", 12),
        ("dumps", "num_upserted_rows", 4),
        ("ones", "num_upserted_rows", 10),
        ("twos", "num_upserted_rows", 13),
    ):
        figures = logged(shop, name, figure)
        assert {"success"} == {status for status, _ in figures}
        assert (3 * PROCESSES, total) == (len(figures), sum(number for _, number in figures)), name
    changes = Counter(rows(shop, "twos__auto_cdc_changes", "id, city, _change_type"))
    assert {1} == set(changes.values())
    assert 13 == sum(kind in {"insert", "update_postimage"} for _, _, kind in changes)
    assert everything == rows(shop, "adds__auto_cdc_changes", "id, city")
    for name in MODELS:
        assert [(1,)] == rows(shop, f"{name}__auto_cdc where __auto_cdc_kind = 'control'", "count(*)")


def test_processes_that_go_on(shop: Project, start: Callable[[int], Process]) -> None:
    """Three processes run everything again and again while the feed grows: in the end all is there, and once.

    Nobody holds them up here: they meet as they happen to.
    """
    source = random.Random(7)
    events: dict[tuple[int, int], str] = {}

    def grow() -> None:
        batch = {(source.randrange(12), source.randrange(1000)): "" for _ in range(15)}
        new = {place: f"city {place}" for place in batch if place not in events}
        arrive(shop, *((key, city, "U", seq) for (key, seq), city in new.items()))
        events.update(new)

    grow()
    processes = [start(number) for number in range(PROCESSES)]
    for process in processes:
        process.begin(runs=RUNS)
    while (
        len(rows(shop, "auto_cdc_event_log where model = 'model.shop.twos'") if has_log(shop) else ()) < RUNS
    ):
        grow()
        time.sleep(1)
    for process in processes:
        process.finish(RUNS)
    processes[0].begin()
    processes[0].finish()
    assert sorted((key, city) for (key, _), city in events.items()) == rows(shop, "adds", "id, city")
    assert sorted(history_of(events)) == sorted(rows(shop, "twos"), key=lambda row: row[:3])
    latest = {key: city for (key, _), city in sorted(events.items())}
    assert sorted(latest.items()) == rows(shop, "ones")
    output = logged(shop, "adds", "num_output_rows")
    assert (RUNS * PROCESSES + 1, len(events)) == (len(output), sum(number for _, number in output))
    replayed: Counter[tuple[Any, ...]] = Counter()
    for change, *row in rows(shop, "twos__auto_cdc_changes", "_change_type, * exclude (_change_type)"):
        replayed[tuple(row[:4])] += 1 if change in {"insert", "update_postimage"} else -1
    assert sorted(rows(shop, "twos"), key=repr) == sorted((+replayed).elements(), key=repr)


def has_log(project: Project) -> bool:
    with project._connection() as connection:
        return "auto_cdc_event_log" in databases.tables_of(connection)


def history_of(events: dict[tuple[int, int], str]) -> list[tuple[Any, ...]]:
    """Return the versions of events that all differ."""
    versions = []
    places = sorted(events)
    for place, following in zip(places, [*places[1:], (None, None)], strict=True):
        until = following[1] if following[0] == place[0] else None
        versions.append((place[0], events[place], place[1], until))
    return versions


def test_a_process_that_is_killed(shop: Project, start: Callable[[int], Process]) -> None:
    """Killed before its commit a run has done nothing, killed around it all or nothing; the next one does the rest."""
    arrive(shop, *BATCHES[0])
    some = ("--select", "adds", "twos")
    first = start(0)
    first.begin(*some)
    first.finish()
    before = rows(shop, "adds", "id"), rows(shop, "twos"), rows(shop, "auto_cdc_event_log", "count(*)")
    arrive(shop, *BATCHES[1])
    with doors(shop) as open_door:
        first.begin(*some)
        open_door("dumps", 1)
        first.kill()
    assert before == (
        rows(shop, "adds", "id"),
        rows(shop, "twos"),
        rows(shop, "auto_cdc_event_log", "count(*)"),
    )
    source = random.Random(11)
    for _ in range(4):
        with doors(shop) as open_door:
            process = start(0)
            process.begin("--select", "adds")
            open_door("adds", 1)
            time.sleep(source.uniform(0, 0.3))
            process.kill()
        output = logged(shop, "adds", "num_output_rows")
        assert len(rows(shop, "adds")) == sum(number for _, number in output)
    last = start(0)
    last.begin(*some)
    last.finish()
    assert sorted(row[:2] for batch in BATCHES[:2] for row in batch) == rows(shop, "adds", "id, city")
    assert 6 == len(rows(shop, "twos"))


OPERATIONS = {
    "reset_streams": "model: adds",
    "forget": "{model: twos, keys: [1]}",
    "trim": "{models: [adds], keep_last: 1, tables: [changes]}",
}


@contextmanager
def rival(monkeypatch: pytest.MonkeyPatch, project: Project, *statements: str) -> Iterator[list[object]]:
    """Let another process send statements before the first plan is committed, and give what is done with plans."""
    exported = dbt.context.base.get_context_modules()["auto_cdc"]
    execute, attempts = exported.run_plan, list[object]()

    def run_plan(**arguments: Any) -> object:
        attempts.append(execute(**arguments))
        if len(attempts) == 1:
            for sql in statements:
                project.execute(sql)
        return attempts[-1]

    with monkeypatch.context() as patched:
        patched.setattr(exported, "run_plan", run_plan)
        yield attempts


@pytest.mark.parametrize("operation", OPERATIONS)
def test_operations_are_begun_again(shop: Project, operation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An operation that another process gets ahead of looks anew at what that left, and does all of it once."""
    for batch in BATCHES[:2]:
        arrive(shop, *batch)
        shop.succeed("run", "--select", "adds", "twos")
    as_a_run = "update {0}__auto_cdc set __auto_cdc_kind = __auto_cdc_kind where __auto_cdc_kind = 'control'"
    with rival(monkeypatch, shop, *(as_a_run.format(name) for name in ("adds", "twos"))) as attempts:
        shop.succeed("run-operation", f"auto_cdc.{operation}", "--args", OPERATIONS[operation])
    assert 2 == len(attempts)
    assert 1 == shop.log.count("another run wrote to"), shop.log
    if operation == "reset_streams":
        assert [(0,)] == rows(shop, "adds__auto_cdc where __auto_cdc_kind = 'position'", "count(*)")
    elif operation == "forget":
        assert [] == rows(shop, "twos where id = 1")
        gone = rows(shop, "twos__auto_cdc_changes where id = 1", "_change_type, __START_AT")
        assert [("delete", 1), ("delete", 2)] == gone
    else:
        assert [(2,)] == rows(shop, "adds__auto_cdc_changes", "distinct _commit_version")


def test_adopting_twice(shop: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two processes that take one table over, the later one is told that it is done."""
    arrive(shop, *BATCHES[0])
    shop.execute("create table ones as select id, city from feed")
    adopt = ("run-operation", "auto_cdc.adopt", "--args", "model: ones")
    shop.succeed(*adopt)
    shop.execute("create table kept as select * from ones__auto_cdc; drop table ones__auto_cdc")
    with rival(monkeypatch, shop, "create table ones__auto_cdc as select * from kept"):
        said = shop.fail(*adopt)
    assert "another run wrote to" in said
    assert "has its companion" in said
    assert rows(shop, "kept") == rows(shop, "ones__auto_cdc")


def test_around_a_model(project: Project) -> None:
    """Partitions, an order, comments and hooks: what dbt-duckdb does for its own tables in a DuckLake, also anew."""
    project.execute("create table feed as select 1 as id, 'Oslo' as city, 'U' as op, 1 as seq, 1 as n")
    project.execute("create table noticed (what varchar)")
    hook = "\"insert into {{ this.database }}.{{ this.schema }}.noticed values ('{{ this.identifier }}')\""
    options = [
        KEYED,
        "partitioned_by=['city']",
        "sorted_by=['id']",
        "persist_docs={'relation': true, 'columns': true}",
        f"pre_hook={hook}",
        f"post_hook={hook}",
    ]
    config = f"materialized='auto_cdc', {', '.join(options)}"
    project.write("models/cities.sql", f"{{{{ config({config}) }}}}\nselect * from feed\n")
    docs = "models: [{name: cities, description: Where they live, columns: [{name: city, description: The city}]}]"
    project.write("models/cities.yml", docs)
    for place, command in enumerate((["run"], ["run"], ["run", "--full-refresh"]), 2):
        project.succeed(*command)
        project.execute(f"insert into feed values ({place}, 'Rome', 'U', 1, 1)")
    assert [("cities",)] * 6 == rows(project, "noticed")
    assert [(1, "Oslo"), (2, "Rome"), (3, "Rome")] == rows(project, "cities")
    ((sql, comment),) = project.query(
        "select sql, comment from duckdb_tables() where table_name = 'cities' and schema_name = current_schema()"
    )
    assert "Where they live" == comment
    assert [("The city",)] == project.query(
        "select comment from duckdb_columns() where table_name = 'cities' and column_name = 'city'"
        " and schema_name = current_schema()"
    )
    metadata = f"__ducklake_metadata_lake.{databases._lake_options()['metadata_schema']}"
    for laid_out in ("ducklake_partition_info", "ducklake_sort_info"):
        of_the_table = (
            f"join {metadata}.ducklake_table as made using (table_id) where made.table_name = 'cities'"
        )
        alive = "and made.end_snapshot is null and laid_out.end_snapshot is null"
        assert [(1,)] == project.query(
            f"select count(*) from {metadata}.{laid_out} as laid_out {of_the_table} {alive}"
        ), (laid_out, sql)


def test_a_contract(project: Project) -> None:
    """An enforced contract makes the table with what tables can have, and is refused with what they cannot."""
    project.execute("create table feed as select 1 as id, 'Oslo' as city, 'U' as op, 1 as seq, 1 as n")
    config = f"materialized='auto_cdc', {KEYED}"
    project.write("models/cities.sql", f"{{{{ config({config}) }}}}\nselect * from feed\n")

    def columns(constraint: str) -> str:
        return f"""
            models:
              - name: cities
                config: {{contract: {{enforced: true}}}}
                columns:
                  - {{name: id, data_type: integer, constraints: [{{type: {constraint}}}]}}
                  - {{name: city, data_type: varchar}}
            """

    project.write("models/cities.yml", columns("primary_key"))
    said = project.fail("run")
    assert "model cities: its contract has primary key, which DuckLake has not; leave it out there" in said
    project.write("models/cities.yml", columns("not_null"))
    project.succeed("run")
    project.succeed("run", "--full-refresh")
    assert [(1, "Oslo")] == rows(project, "cities")
    assert [("NO",)] == project.query(
        "select is_nullable from information_schema.columns"
        " where table_name = 'cities' and column_name = 'id' and table_schema = current_schema()"
    )
