"""Pull requests in a schema of their own: the commands of the manual's workflow, played against production.

That the page's own example holds is tested in tests/docs.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from dbt_auto_cdc.names import EVENT_LOG
from tests.dbt_project import Project
from tests.docs.documentation import blocks

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "pull-requests.md"
FILES = {block.value: block.text for block in reversed(blocks(PAGE)) if block.marker == "file"}
PRODUCTION = ".github/workflows/production.yml"
PULL_REQUEST = ".github/workflows/pull-request.yml"
NUMBER = {"PR_SCHEMA": "pr_12"}


def workflow(path: str) -> dict[str, Any]:
    """Return a workflow of the page; YAML takes its key `on` for true."""
    return {str(key): value for key, value in yaml.safe_load(FILES[path]).items()}


def commands(path: str, job: str) -> list[str]:
    """Return the dbt commands of a job, in order."""
    steps = workflow(path)["jobs"][job]["steps"]
    lines = [line for step in steps for line in step.get("run", "").splitlines()]
    return [line for line in lines if line.startswith("dbt ")]


# -- The workflow as text ----------------------------------------------------------------------------------------------


def test_workflows_are_whole() -> None:
    """Each job runs somewhere and begins with the code, Python and the package; both name the artifact alike."""
    assert {"build", "clean-up"} == set(workflow(PULL_REQUEST)["jobs"])
    for path in (PRODUCTION, PULL_REQUEST):
        assert {"name", "True", "jobs", "concurrency"} <= set(workflow(path))
        for job in workflow(path)["jobs"].values():
            assert "ubuntu-latest" == job["runs-on"]
            first, second, third, *_ = job["steps"]
            assert ["actions/checkout@v4", "actions/setup-python@v5"] == [first["uses"], second["uses"]]
            assert third["run"].startswith("pip install")
            assert all(set(step) <= {"name", "uses", "with", "run", "env"} for step in job["steps"])
    upload = workflow(PRODUCTION)["jobs"]["build"]["steps"][-1]["with"]
    fetch = workflow(PULL_REQUEST)["jobs"]["build"]["steps"][3]["run"]
    assert f"--workflow {Path(PRODUCTION).name}" in fetch
    assert f"--name {upload['name']} --dir {Path(upload['path']).parent}" in fetch
    assert "pr_${{ github.event.number }}" == workflow(PULL_REQUEST)["env"]["PR_SCHEMA"]


def test_the_workflows_commands_are_those_of_the_page() -> None:
    """The example that the page walks through, and the tests play, is what runs."""
    walked = [line for block in blocks(PAGE) if block.marker == "dbt" for line in block.text.splitlines()]
    played = commands(PULL_REQUEST, "build")
    assert played == [line for line in walked if line in played]
    assert commands(PRODUCTION, "build") == walked[:1]
    assert ["run-operation", "clone", "run-operation", "build"] == [line.split()[1] for line in played]
    assert played[:1] == commands(PULL_REQUEST, "clean-up")


# -- The workflow as it runs -------------------------------------------------------------------------------------------

MODELS = {
    # Not changed by the pull request: read from production.
    "tidy": "select * from raw.changes where id < 100",
    "regions": "{{ config(materialized='auto_cdc', keys=['region'], sequence_by='seq') }}"
    " select region, name, seq from raw.regions",
    # Changed by it, each of a kind.
    "latest": "{{ config(materialized='auto_cdc', keys=['id'], sequence_by='seq', apply_as_deletes=\"op = 'D'\","
    " column_list=['id', 'city', 'name'], schema='sales') }} select tidy.*, name from {{ ref('tidy') }} as tidy"
    " left join {{ ref('regions') }} as regions using (region)",
    "history": "{{ config(materialized='auto_cdc', keys=['id'], sequence_by='seq', apply_as_deletes=\"op = 'D'\","
    " column_list=['id', 'city'], stored_as_scd_type=2) }} select * from {{ ref('tidy') }}",
    "dumps": "{{ config(materialized='auto_cdc_snapshot', keys=['id'], snapshot_version='day', stored_as_scd_type=2) }}"
    " select id, city, day from raw.dumps where day > {{ 15 if auto_cdc.is_applying() else 0 }}",
    "payments": "{{ config(materialized='replace_using', replace_using=['id'], sequence_by='seq') }}"
    " select id, amount, seq from raw.payments",
    "window": "{{ config(materialized='replace_where', replace_where='seq >= 2') }}"
    " select id, amount, seq from raw.payments where seq >= 2",
    # Behind a changed one.
    "cities": "{{ config(materialized='table') }}"
    " select city, count(*) as customers from {{ ref('latest') }} group by 1",
}
CHANGED = ("latest", "history", "dumps", "payments", "window")
KEPT = {name: "prod_sales.latest" if name == "latest" else f"prod.{name}" for name in CHANGED}


@pytest.fixture
def shop(project: Project) -> Project:
    """Give a project that ran in production, and whose feeds went on since."""
    project.writes_manifest = True
    for path in ("profiles.yml", "macros/drop_pr_schemas.sql"):
        project.write(path, FILES[path])
    for name, sql in MODELS.items():
        project.write(f"models/{name}.sql", sql)
    project.execute(
        """
        create schema raw;
        create table raw.changes (id integer, city varchar, op varchar, region varchar, seq integer);
        create table raw.regions (region varchar, name varchar, seq integer);
        create table raw.dumps (id integer, city varchar, day integer);
        create table raw.payments (id integer, amount integer, seq integer);
        insert into raw.changes values
            (1, 'Oslo', 'U', 'n', 10), (1, 'Oslo', 'U', 'n', 40), (2, 'Rome', 'U', 's', 10), (2, null, 'D', 's', 20);
        insert into raw.regions values ('n', 'north', 1);
        insert into raw.dumps values (1, 'Oslo', 10), (2, 'Rome', 10);
        insert into raw.payments values (1, 5, 1), (1, 6, 1), (2, 7, 2);
        """
    )
    for command in commands(PRODUCTION, "build"):
        project.succeed(*shlex.split(command)[1:])
    arrive(project)
    return project


def arrive(project: Project) -> None:
    """Let late events, deletes, newer dumps and deliveries come."""
    project.execute(
        """
        insert into raw.changes values
            (1, 'Kiel', 'U', 'n', 20), (2, 'late', 'U', 's', 15), (3, 'Nice', 'U', 's', 10);
        insert into raw.regions values ('n', 'far north', 2);
        insert into raw.dumps values (1, 'Bergen', 20), (3, 'Bonn', 20);
        insert into raw.payments values (1, 9, 3), (2, 1, 1), (3, 4, 2);
        """
    )


def propose(project: Project, names: tuple[str, ...] = CHANGED, version: int = 1) -> None:
    """Change models as a pull request would: each gets a column."""
    for name in names:
        sql = MODELS[name].replace("'name']", "'name', 'added']").replace("'city']", "'city', 'added']")
        source = re.sub(r"^({{.*?}}) ", rf"\1 select *, {version} as added from (", sql)
        project.write(f"models/{name}.sql", source + ")")


def play(project: Project, job: str = "build") -> None:
    """Play a job of the pull request's workflow."""
    for command in commands(PULL_REQUEST, job):
        project.succeed(*shlex.split(command)[1:], env=NUMBER)


def contents(project: Project, *schemas: str) -> dict[str, list[tuple[Any, ...]]]:
    """Return the rows of all tables and views of some schemas, companions included, event logs left out."""
    query = "select table_schema, table_name from information_schema.tables where table_schema in (select unnest(?))"
    return {
        f"{schema}.{name}": project.query(f'select * from "{schema}"."{name}" order by all')
        for schema, name in project.query(query, [list(schemas)])
        if name != EVENT_LOG
    }


PROD = ("prod", "prod_sales")
PR = ("pr_12", "pr_12_sales")


def test_the_run_gives_what_production_would_hold(shop: Project) -> None:
    """Late events, hidden ones and tombstones included, in tables and companions of every kind."""
    propose(shop)
    before = contents(shop, *PROD)
    play(shop)
    assert before == contents(shop, *PROD)
    made = contents(shop, *PR)
    built = {"pr_12.cities", *(kept.replace("prod", "pr_12", 1) for kept in KEPT.values())}
    assert built | {f"{name}__auto_cdc" for name in built if name != "pr_12.cities"} == set(made)

    # Production takes the change over; what the pull request did not change, it does not run anew either.
    shop.succeed("run", "--target", "prod", "--select", *CHANGED, "cities")
    after = contents(shop, *PROD)
    produced = {name.replace("prod", "pr_12", 1): rows for name, rows in after.items()}
    assert made == {name: produced[name] for name in made}
    history = shop.query(
        "select id, city, __START_AT, __END_AT from pr_12.history where id < 3 order by 1, 3"
    )
    assert [
        (1, "Oslo", 10, 20),
        (1, "Kiel", 20, 40),
        (1, "Oslo", 40, None),
        (2, "Rome", 10, 15),
        (2, "late", 15, 20),
    ] == history


def test_what_was_not_changed_is_read_from_production(shop: Project) -> None:
    """A view and a target of ours stay where they are; the region's newer name has not come to production yet."""
    propose(shop, ("latest",))
    play(shop)
    assert {"pr_12.cities", "pr_12_sales.latest", "pr_12_sales.latest__auto_cdc"} == set(contents(shop, *PR))
    assert [(3, None, 1), (1, "north", None)] == shop.query(
        "select id, name, added from pr_12_sales.latest order by id desc"
    )


def test_each_push_begins_anew(shop: Project) -> None:
    """Production ran in between, feeds went on, and the change is another: nothing of the first push is left."""
    propose(shop)
    play(shop)
    shop.succeed("run", "--target", "prod", "--select", "regions", "payments")
    shop.execute("insert into raw.changes values (1, 'Turku', 'U', 'n', 50), (2, 'Pisa', 'U', 's', 60)")
    propose(shop, ("history",), version=2)
    for name in set(CHANGED) - {"history"}:
        shop.write(f"models/{name}.sql", MODELS[name])
    before = contents(shop, *PROD)
    play(shop)
    assert before == contents(shop, *PROD)
    assert {"pr_12.history", "pr_12.history__auto_cdc"} == set(contents(shop, *PR))
    made = shop.query("from pr_12.history order by all")
    shop.succeed("run", "--target", "prod", "--select", "history")
    assert made == shop.query("from prod.history order by all")


def test_a_clone_without_its_companion_is_refused_with_the_command(shop: Project) -> None:
    """Nothing is written, the clones stay views on production; the command that is named puts it right."""
    propose(shop)
    empty, clone, companions, build = commands(PULL_REQUEST, "build")
    before = contents(shop, *PROD)
    shop.succeed(*shlex.split(clone)[1:], env=NUMBER)
    cloned = contents(shop, *PR)
    said = shop.fail(*shlex.split(build)[1:], env=NUMBER)
    named = set(re.findall(r"dbt run-operation auto_cdc\.clone_companions --args '[^']*'", said))
    assert set(CHANGED) == set(re.findall(r"model (\w+): \S+ exists without its companion", said))
    assert {companions.replace(" --target pr", "")} == named
    assert before == contents(shop, *PROD)
    assert {name: rows for name, rows in cloned.items() if "cities" not in name} == {
        name: rows for name, rows in contents(shop, *PR).items() if "cities" not in name
    }

    (command,) = named
    shop.succeed(*shlex.split(command)[1:], env=NUMBER)
    shop.succeed(*shlex.split(build)[1:], env=NUMBER)
    made = contents(shop, *PR)
    play(shop)
    assert made == contents(shop, *PR)
    assert before == contents(shop, *PROD)
    assert empty.startswith("dbt run-operation drop_pr_schemas")


@pytest.mark.parametrize("flags", [[], ["--full-refresh"]], ids=["again", "full refresh"])
def test_cloning_twice(shop: Project, flags: list[str]) -> None:
    """What is there is left alone, or cloned anew with a companion that fits; the tables come out the same."""
    propose(shop)
    play(shop)
    made = contents(shop, *PR)
    before = contents(shop, *PROD)
    _, clone, companions, build = commands(PULL_REQUEST, "build")
    shop.succeed(*shlex.split(clone)[1:], *flags, env=NUMBER)
    if flags:
        assert "was cloned, and its companion" in shop.fail(*shlex.split(build)[1:], env=NUMBER)
    for command in (companions, build):
        shop.succeed(*shlex.split(command)[1:], env=NUMBER)
    assert made == contents(shop, *PR)
    assert before == contents(shop, *PROD)


def test_closing_drops_all_of_it_and_nothing_else(shop: Project) -> None:
    """Schemas, clones and companions; another pull request's and production's stay, and production is not a target."""
    shop.execute("create schema pr_1; create table pr_1.other as select 1 as id; create schema pr_123")
    propose(shop)
    play(shop)
    before = contents(shop, *PROD)
    play(shop, "clean-up")
    schemas = {row[0] for row in shop.query("select schema_name from information_schema.schemata")}
    assert set() == schemas & set(PR)
    assert {"pr_1", "pr_123", *PROD} <= schemas
    play(shop, "clean-up")
    assert before == contents(shop, *PROD)
    said = shop.fail("run-operation", "drop_pr_schemas", "--target", "prod")
    assert "drop_pr_schemas is for the target pr alone" in said
    assert "alone" in shop.fail(
        "run-operation", "drop_pr_schemas", "--target", "pr", env={"PR_SCHEMA": "prod"}
    )
    assert before == contents(shop, *PROD)


def test_a_model_that_is_new(shop: Project) -> None:
    """There is nothing to clone; it is built from what it selects, in the same commands."""
    shop.write("models/fresh.sql", MODELS["history"])
    play(shop)
    assert {"pr_12.fresh", "pr_12.fresh__auto_cdc"} == set(contents(shop, *PR))
