"""PostgreSQL through dbt: two processes at once, what dbt-postgres does around a model, clones, a run that fails.

Not here: the same for DuckDB (`tests/dbt`), and what the tables hold.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests import databases

if TYPE_CHECKING:
    from tests.dbt_project import Project

pytestmark = [pytest.mark.dbt, pytest.mark.only_on("postgres")]

ROWS = [(1, "Oslo", "U", 10), (2, "Rome", "U", 10)]
SCD2 = "stored_as_scd_type=2, except_column_list=['op', 'seq'], apply_as_deletes=\"op = 'D'\""


def arrive(project: Project, *rows: tuple[Any, ...]) -> None:
    """Put rows into the feed beside those that are there."""
    project.execute("create table if not exists feed (id integer, city text, op text, seq bigint)")
    for row in rows:
        project.execute("insert into feed values (?, ?, ?, ?)", row)


def write(project: Project, more: str = SCD2, sql: str = "select * from feed", name: str = "cities") -> None:
    config = f"materialized='auto_cdc', keys=['id'], sequence_by='seq', {more}"
    project.write(f"models/{name}.sql", f"{{{{ config({config}) }}}}\n{sql}\n")


def history(project: Project, table: str = "cities") -> list[tuple[Any, ...]]:
    return project.query(f"select id, city, __start_at, __end_at from {table} order by id, __start_at")


def as_role(project: Project, name: str, setting: str) -> None:
    """Let the project's commands be those of a role that has a setting of its own."""
    project.execute(f"drop role if exists {name}")
    project.execute(f"create role {name} superuser login")
    project.execute(f"alter role {name} set {setting}")
    profile = project.root / "profiles.yml"
    given = yaml.safe_load(profile.read_text())
    for output in next(iter(given.values()))["outputs"].values():
        output["user"] = name
    profile.write_text(yaml.safe_dump(given))


@pytest.mark.parametrize(
    ("there", "level"),
    [
        (False, "read committed"),
        (True, "read committed"),
        (False, "repeatable read"),
        (True, "serializable"),
    ],
)
def test_two_processes_at_once(project: Project, there: bool, level: str) -> None:
    """Two dbt commands on one model, the first of its life or a later one: one waits, and both are right.

    So it is where transactions of the role see what was there when they began, also if the model asks for something
    before the run and a hook in it.
    """
    asks = "{% if execute %}{% do run_query('select 1') %}{% endif %}"
    write(project, f"{SCD2}, pre_hook='select count(*) from feed'", f"{asks} select * from feed")
    as_role(project, "careful", f"default_transaction_isolation = '{level}'")
    arrive(project, *ROWS)
    if there:
        project.succeed("run")
        arrive(project, (1, "Bergen", "U", 12), (2, "", "D", 13))
    command = [sys.executable, "-c", "from dbt.cli.main import cli; cli()", "--quiet", "run"]
    where = ["--project-dir", str(project.root), "--profiles-dir", str(project.root)]
    place = f'"{databases.POSTGRES["AUTO_CDC_POSTGRES_DATABASE"]}"."{project.schema}"."cities"'
    with project._connection() as connection, databases.held(connection, place) as wait_for:
        processes = [
            subprocess.Popen(
                [*command, *where, "--target-path", f"target_{number}", "--log-path", f"logs_{number}"],
                cwd=project.root,
                env=dict(os.environ),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            for number in range(2)
        ]
        wait_for(2)
    said = [process.communicate(timeout=120)[0] for process in processes]
    assert [0, 0] == [process.returncode for process in processes], said
    expected = [(1, "Oslo", 10, None), (2, "Rome", 10, None)]
    if there:
        expected = [(1, "Oslo", 10, 12), (1, "Bergen", 12, None), (2, "Rome", 10, 13)]
    assert expected == history(project)
    assert 1 == project.query("select count(*) from cities__auto_cdc where __auto_cdc_kind = 'control'")[0][0]
    logged = "select count(*) from auto_cdc_event_log where status = 'success'"
    assert [(2 + there,)] == project.query(logged)


def test_the_demo(root: Path, tmp_path: Path) -> None:
    """The same models, seeds and expected tables that the demo shows on DuckDB hold on PostgreSQL."""
    with databases.postgres_schema() as schema:
        env = {**os.environ, "AUTO_CDC_TARGET": "postgres", "AUTO_CDC_POSTGRES_SCHEMA": schema}
        command = [sys.executable, "-c", "from dbt.cli.main import cli; cli()", "--quiet", "build"]
        where = ["--project-dir", str(root), "--profiles-dir", str(root / "profiles")]
        paths = ["--target-path", str(tmp_path / "target"), "--log-path", str(tmp_path / "logs")]
        done = subprocess.run(
            [*command, *where, *paths], cwd=root, env=env, capture_output=True, text=True, check=False
        )
    assert 0 == done.returncode, done.stdout


def test_around_a_model(project: Project) -> None:
    """Grants, indexes, comments and hooks inside the transaction: what dbt-postgres does for its own tables."""
    project.execute("do $$ begin create role reporter; exception when duplicate_object then null; end $$")
    project.execute("create table noticed (what text)")
    hook = "\"insert into noticed values ('{}')\""
    options = [
        "grants={'select': ['reporter']}",
        "indexes=[{'columns': ['id'], 'type': 'hash'}]",
        "persist_docs={'relation': true, 'columns': true}",
        f"pre_hook={hook.format('before')}",
        f"post_hook={hook.format('after')}",
    ]
    write(project, ", ".join([SCD2, *options]))
    docs = "models: [{name: cities, description: Where they live, columns: [{name: city, description: The city}]}]"
    project.write("models/cities.yml", docs)
    arrive(project, *ROWS)
    project.succeed("run")
    arrive(project, (1, "Bergen", "U", 12))
    project.succeed("run")
    assert [("before",), ("after",)] * 2 == project.query("select what from noticed")
    assert [("cities", "SELECT")] == project.query(
        "select table_name, privilege_type from information_schema.role_table_grants"
        " where grantee = 'reporter' and table_schema = current_schema()"
    )
    assert [("hash",)] == project.query(
        "select am.amname from pg_index i join pg_class c on c.oid = i.indexrelid join pg_am am on am.oid = c.relam"
        " where i.indrelid = 'cities'::regclass"
    )
    assert [("Where they live", "The city")] == project.query(
        "select obj_description('cities'::regclass), col_description('cities'::regclass, 2)"
    )
    assert [(1, "Oslo", 10, 12), (1, "Bergen", 12, None), (2, "Rome", 10, None)] == history(project)


def test_a_contract(project: Project) -> None:
    """An enforced contract makes the table as it says, constraints included, and is kept through a rebuild."""
    write(project)
    project.write(
        "models/cities.yml",
        """
        models:
          - name: cities
            config: {contract: {enforced: true}}
            columns:
              - {name: id, data_type: integer, constraints: [{type: not_null}]}
              - {name: city, data_type: text}
              - {name: __start_at, data_type: bigint, constraints: [{type: not_null}]}
              - {name: __end_at, data_type: bigint}
            constraints: [{type: primary_key, columns: [id, __start_at]}]
        """,
    )
    arrive(project, *ROWS)
    project.succeed("run")
    arrive(project, (1, "Bergen", "U", 12))
    project.succeed("run")
    project.succeed("run", "--full-refresh")
    assert [(1, "Oslo", 10, 12), (1, "Bergen", 12, None), (2, "Rome", 10, None)] == history(project)
    assert [("p",)] == project.query(
        "select contype from pg_constraint where conrelid = 'cities'::regclass and contype <> 'n'"
    )
    project.write(
        "models/cities.yml",
        project.read("models/cities.yml").replace("city, data_type: text", "city, data_type: date"),
    )
    assert "data type mismatch" in project.fail("run").lower()


def test_unlogged(project: Project) -> None:
    """`unlogged` counts for the companion as well: after a crash of the server both are empty, or neither."""
    write(project, SCD2 + ", unlogged=true")
    arrive(project, *ROWS)
    project.succeed("run")
    kinds = "select relname, relpersistence from pg_class where relname in ('cities', 'cities__auto_cdc')"
    assert {("cities", "u"), ("cities__auto_cdc", "u")} == set(
        project.query(f"{kinds} and relnamespace = current_schema()::regnamespace")
    )


def test_a_refused_run_leaves_everything(project: Project) -> None:
    """A tie is refused in the middle of the run: tables, companion and the session are as before."""
    write(project)
    arrive(project, *ROWS)
    project.succeed("run")
    before = (
        project.query("select ctid::text, * from cities"),
        project.query("select ctid::text, * from cities__auto_cdc"),
    )
    arrive(project, (1, "Paris", "U", 20), (1, "Lyon", "U", 20))
    assert "different events at one sequence, for example id=1 at 20" in project.fail("run")
    after = (
        project.query("select ctid::text, * from cities"),
        project.query("select ctid::text, * from cities__auto_cdc"),
    )
    assert before == after


def test_wrong_sql_in_an_option(project: Project) -> None:
    """What PostgreSQL says of an option's SQL is shown with the option, and the transaction is no trap."""
    write(project, "apply_as_deletes=\"opp = 'D'\", except_column_list=['op'], stored_as_scd_type=1")
    arrive(project, *ROWS)
    said = project.fail("run")
    assert "apply_as_deletes is not valid SQL over the model's columns (id, city, op, seq)" in said
    assert "opp" in said


def test_new_and_wider_columns(project: Project) -> None:
    """The feed's columns change between runs: added and widened in place."""
    write(project)
    arrive(project, *ROWS)
    project.succeed("run")
    project.execute("alter table feed add column more integer")
    project.execute("insert into feed values (1, 'Bergen', 'U', 12, 7)")
    project.succeed("run")
    project.execute("alter table feed alter column more type bigint")
    project.execute("insert into feed values (2, 'Milan', 'U', 12, 8000000000)")
    project.succeed("run")
    assert [(None,), (7,), (None,), (8000000000,)] == project.query(
        "select more from cities order by id, __start_at"
    )


def test_clone(project: Project) -> None:
    """`dbt clone` makes a view on PostgreSQL; with the companions copied it is a table that goes on by itself."""
    project.writes_manifest = True
    write(project)
    arrive(project, *ROWS)
    project.succeed("run")
    project.write("state/manifest.json", project.read("target/manifest.json"))
    with databases.postgres_schema() as elsewhere:
        profile = project.read("profiles.yml")
        project.write("profiles.yml", profile.replace(f" schema: {project.schema}", f" schema: {elsewhere}"))
        write(project, sql=f"select * from {project.schema}.feed")
        project.succeed("clone", "--state", "state")
        assert "exists without its companion" in project.fail("run")
        arguments = f"{{from_schema: {project.schema}}}"
        project.succeed("run-operation", "auto_cdc.clone_companions", "--args", arguments)
        assert_quick_to_read(project, elsewhere)
        arrive(project, (1, "Bergen", "U", 12))
        project.succeed("run")
        assert [(1, "Oslo", 10, 12), (1, "Bergen", 12, None), (2, "Rome", 10, None)] == history(
            project, f"{elsewhere}.cities"
        )
    assert [(1, "Oslo", 10, None), (2, "Rome", 10, None)] == history(project)


def assert_quick_to_read(project: Project, schema: str) -> None:
    """A companion that was not made by a run has the indexes of one that was."""
    of_it = f"where tablename = 'cities__auto_cdc' and schemaname = '{schema}'"
    indexes = sorted(
        row[0].partition(" USING ")[2] for row in project.query(f"select indexdef from pg_indexes {of_it}")
    )
    assert ["btree (__auto_cdc_kind) WHERE", "btree (id)"] == [each.partition(" ((")[0] for each in indexes]


def test_adopt(project: Project) -> None:
    """A table that was there before is taken over as it is, and goes on."""
    project.execute("create table cities (id integer, city text, __start_at bigint, __end_at bigint)")
    project.execute("insert into cities values (1, 'Oslo', 10, null)")
    write(project)
    arrive(project, (1, "Bergen", "U", 12))
    project.succeed("run-operation", "auto_cdc.adopt", "--args", "{model: cities}")
    assert_quick_to_read(project, project.schema)
    project.succeed("run")
    assert [(1, "Oslo", 10, 12), (1, "Bergen", 12, None)] == history(project)


def test_explain_locks_and_writes_nothing(project: Project) -> None:
    """The plan of the next run is shown while another run is at work."""
    write(project)
    arrive(project, *ROWS)
    project.succeed("run")
    place = f'"{databases.POSTGRES["AUTO_CDC_POSTGRES_DATABASE"]}"."{project.schema}"."cities"'
    with project._connection() as connection, databases.held(connection, place):
        project.succeed("run-operation", "auto_cdc.explain", "--args", "{model: cities}")


def test_autocommit(project: Project) -> None:
    """A profile under which every statement commits itself is refused before anything is written."""
    profile = project.read("profiles.yml")
    project.write("profiles.yml", profile.replace("threads:", "autocommit: true\n      threads:"))
    write(project)
    arrive(project, *ROWS)
    assert "autocommit is set in the profile" in project.fail("run")
    assert [] == project.query(
        "select relname from pg_class where relname like 'cities%' and relnamespace = current_schema()::regnamespace"
    )


@pytest.mark.parametrize(
    ("kind", "versions"),
    [
        ("integer", [1, 2, 4]),
        ("bigint", [1, 2, 4]),
        ("date", ["2026-11-01", "2026-11-02", "2026-11-04"]),
        ("timestamp with time zone", ["2026-11-01 00:00+00", "2026-11-02 00:00+00", "2026-11-04 00:00+00"]),
        ("varchar(8)", ["A", "B", "a"]),
    ],
)
def test_version_query(project: Project, kind: str, versions: list[Any]) -> None:
    """Before the first snapshot the last version has no value, and still the type that the query compares it with."""
    last = "(select version from {{ auto_cdc.last_snapshot_version() }})"
    ordered = 'version collate "C"' if kind.startswith("varchar") else "version"
    query = (
        f"select version from dumps where {last} is null or {ordered} > {last} order by {ordered} limit 1"
    ).replace('"', '\\"')
    sql = "select id, city from dumps where version = (select version from {{ auto_cdc.current_snapshot_version() }})"
    config = "materialized='auto_cdc_snapshot', keys=['id'], stored_as_scd_type=2"
    project.write("models/cities.sql", f'{{{{ config({config}, version_query="{query}") }}}}\n{sql}\n')
    project.execute(f"create table dumps (id integer, city text, version {kind})")
    for version, cities in zip(versions, [["Oslo", "Rome"], ["Kiel"], ["Kiel", "Rome"]], strict=True):
        for number, city in enumerate(cities):
            project.execute("insert into dumps values (?, ?, ?)", (number, city, version))
    project.succeed("run")
    found = [(row[0], row[1]) for row in history(project)]
    assert [(0, "Oslo"), (0, "Kiel"), (1, "Rome"), (1, "Rome")] == found
    assert [("2",)] == project.query("select count(*)::text from cities where __end_at is null")
    project.succeed("run")
    assert found == [(row[0], row[1]) for row in history(project)]


def test_a_hook_outside_the_transaction(project: Project) -> None:
    """dbt commits before such a hook, and after that nothing opens a transaction by itself: the run still is one."""
    project.execute("create table noticed (what text)")
    hook = "{'sql': 'insert into noticed values (1)', 'transaction': false}"
    write(project, f"{SCD2}, pre_hook={hook}".replace("false}", "False}"))
    arrive(project, *ROWS)
    project.succeed("run")
    arrive(project, (1, "Paris", "U", 20), (1, "Lyon", "U", 20))
    before = project.query("select ctid::text, * from cities__auto_cdc")
    assert "different events at one sequence" in project.fail("run")
    assert before == project.query("select ctid::text, * from cities__auto_cdc")
    assert [(2,)] == project.query("select count(*) from noticed")


@pytest.mark.parametrize("hook", ["", "set local lock_timeout = '300ms'"])
def test_a_run_that_must_not_wait(project: Project, hook: str) -> None:
    """How long a run waits for another is bounded by the role or by a hook."""
    write(project, f'{SCD2}, pre_hook="{hook}"' if hook else SCD2)
    arrive(project, *ROWS)
    place = f'"{databases.POSTGRES["AUTO_CDC_POSTGRES_DATABASE"]}"."{project.schema}"."cities"'
    if not hook:
        as_role(project, "hasty", "lock_timeout = '300ms'")
    with project._connection() as connection, databases.held(connection, place):
        assert "lock timeout" in project.fail("run")
    project.succeed("run")
