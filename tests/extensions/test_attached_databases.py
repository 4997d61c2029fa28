"""Snapshots and feeds from databases that are attached to DuckDB: SQLite files and a PostgreSQL server."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from tests.dbt_project import Project
from tests.extensions.services import write_profile

pytestmark = pytest.mark.dbt

HISTORY = "select id, city, __START_AT, __END_AT from {} order by id, __START_AT"
Execute = Callable[[str], object]


@pytest.fixture
def sqlite(project: Project, extension_directory: str, tmp_path: Path) -> Execute:
    """Attach a SQLite file to the project's warehouse, and return a way to change it."""
    file = tmp_path / "crm.sqlite"
    write_profile(
        project, extension_directory, attach=[{"path": str(file), "type": "sqlite", "alias": "crm"}]
    )
    project.write("models/_sources.yml", SOURCES.format("main"))

    def execute(script: str) -> None:
        with sqlite3.connect(file) as connection:
            connection.executescript(script)
        connection.close()

    return execute


@pytest.fixture
def postgres(project: Project, extension_directory: str, postgres_server: str) -> Execute:
    """Attach the PostgreSQL server, for reading only, and return a way to change a schema of it."""
    attached = {"path": postgres_server, "type": "postgres", "alias": "crm", "read_only": True}
    write_profile(project, extension_directory, attach=[attached])
    project.write("models/_sources.yml", SOURCES.format("crm"))

    def execute(script: str) -> None:
        with duckdb.connect(config={"extension_directory": extension_directory}) as connection:
            connection.execute(f"attach '{postgres_server}' as server (type postgres)")
            connection.execute("call postgres_execute('server', ?)", [f"set search_path = crm; {script}"])

    execute("drop schema if exists crm cascade; create schema crm")
    return execute


SOURCES = """
sources: [{{name: crm, database: crm, schema: {}, tables: [{{name: customers}}, {{name: changes}}]}}]
"""


def write_models(project: Project) -> None:
    """Write a snapshot whose versions are counted, one with a version of its own, and a feed."""
    for name, version in (("counted", "auto"), ("dated", "as_of")):
        project.write(
            f"models/{name}.sql",
            f"""
            {{{{ config(
                materialized='auto_cdc_snapshot', keys=['id'], snapshot_version='{version}', stored_as_scd_type=2,
                column_list=['id', 'city'],
            ) }}}}
            select * from {{{{ source('crm', 'customers') }}}}
            """,
        )
    project.write(
        "models/fed.sql",
        """
        {{ config(
            materialized='auto_cdc', keys=['id'], sequence_by='seq', apply_as_deletes="op = 'D'",
            column_list=['id', 'city'], stored_as_scd_type=2,
        ) }}
        select * from {{ source('crm', 'changes') }}
        """,
    )


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_an_attached_database_is_a_source(
    project: Project, database: str, request: pytest.FixtureRequest
) -> None:
    """It changes between the runs; what is compared is what it held in each, and its late changes find their place."""
    execute: Execute = request.getfixturevalue(database)
    write_models(project)
    execute(
        """
        create table customers (id integer primary key, city text, as_of integer);
        insert into customers values (1, 'Oslo', 10), (2, 'Rome', 10), (3, null, 10);
        create table changes (id integer, city text, op text, seq integer);
        insert into changes values (1, 'Oslo', 'U', 1), (1, 'Bari', 'U', 5);
        """
    )
    project.succeed("run")
    execute(
        """
        update customers set city = 'Kiel', as_of = 20 where id = 1;
        delete from customers where id = 2;
        update customers set as_of = 20;
        insert into changes values (1, 'Kiel', 'U', 3), (1, null, 'D', 9);
        """
    )
    project.succeed("run")
    counted = [(1, "Oslo", 0, 1), (1, "Kiel", 1, None), (2, "Rome", 0, 1), (3, None, 0, None)]
    assert counted == project.query(HISTORY.format("counted"))
    dated = [(1, "Oslo", 10, 20), (1, "Kiel", 20, None), (2, "Rome", 10, 20), (3, None, 10, None)]
    assert dated == project.query(HISTORY.format("dated"))
    fed = [(1, "Oslo", 1, 3), (1, "Kiel", 3, 5), (1, "Bari", 5, 9)]
    assert fed == project.query(HISTORY.format("fed"))

    execute("delete from customers")
    assert "the snapshot has no rows, which would delete everything" in project.fail("run")
    assert counted == project.query(HISTORY.format("counted"))
    assert dated == project.query(HISTORY.format("dated"))
