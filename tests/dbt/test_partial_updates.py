"""Partial updates through dbt: a list column of the model's making, refusals while parsing, adopting and cloning.

Not here: worked examples, and what the table must hold in every order and cut (`properties/test_partial_updates`).
"""

from __future__ import annotations

import pytest

from tests.dbt.test_operations import arrive, operate, write_model
from tests.dbt_project import Project

pytestmark = pytest.mark.dbt


def test_columns_to_update_through_dbt(project: Project) -> None:
    """A list column of the model's own making; an unknown name stops the run and leaves the table."""
    project.execute(
        "create table feed as select 1 as id, 1 as seq, 'lamp' as name, 'hall' as room, null::varchar as cols"
    )
    project.write(
        "models/devices.sql",
        """
        {{ config(materialized='auto_cdc', keys=['id'], sequence_by='seq', columns_to_update='cols',
                  except_column_list=['seq', 'cols']) }}
        select id, seq, name, room, string_split(cols, '+') as cols from feed
        """,
    )
    project.succeed("run")
    project.execute("insert into feed values (1, 2, 'ignored', null, 'Room')")
    project.succeed("run")
    assert [(1, "lamp", None)] == project.query("from devices")
    project.execute("insert into feed values (1, 3, 'bulb', 'attic', 'name+rom')")
    said = project.fail("run")
    assert (
        "columns_to_update cols names in 1 of the new rows what is no column of the model, for example rom"
        in said
    )
    assert [(1, "lamp", None)] == project.query("from devices")


def test_refused_while_parsing(project: Project) -> None:
    """Forms that exclude each other, empty lists and keys in lists are named together before any SQL is sent."""
    good = "materialized='auto_cdc', keys=['id'], sequence_by='seq'"
    options = {
        "two": "ignore_null_updates=true, columns_to_update='cols'",
        "empty": "ignore_null_updates_column_list=[]",
        "but": "ignore_null_updates_except_column_list=[]",
        "key": "ignore_null_updates_except_column_list=['ID']",
        "odd": "columns_to_update=['a', 'b']",
        "word": "ignore_null_updates='yes'",
    }
    for name, written in options.items():
        project.write(f"models/{name}.sql", f"{{{{ config({good}, {written}) }}}} select * from feed")
    said = " ".join(project.fail("run").split())
    for problem in (
        "ignore_null_updates and columns_to_update are set together, and each says in its own way",
        "ignore_null_updates_column_list is an empty list; leave it out, or set ignore_null_updates to true",
        "ignore_null_updates_except_column_list is an empty list; set ignore_null_updates to true for all columns",
        "ignore_null_updates_except_column_list names ID, which is a key; every event brings its key, leave it out",
        "columns_to_update is ['a', 'b']; write the name of one column",
        "ignore_null_updates is 'yes'; write true or false",
    ):
        assert problem in said


@pytest.mark.parametrize("scd_type", [1, 2])
def test_adopted_rows_were_written_by_their_last_event(project: Project, scd_type: int) -> None:
    """A table taken over keeps its values against older events, and its nulls fill up where nothing wrote them."""
    project.execute(
        "create schema raw; create table raw.feed (id integer, city varchar, op varchar, seq integer)"
    )
    bounds = ", 5 as __START_AT, null::integer as __END_AT" if scd_type == 2 else ""
    project.execute(f"create table users as select 1 as id, 'Oslo' as city, 5 as seq{bounds}")
    project.execute(f"insert into users select 2, null, 5{', 5, null' if bounds else ''}")
    write_model(project, scd_type=scd_type, except_column_list=["op"], ignore_null_updates=True)
    operate(project, "adopt", "{model: users}")
    arrive(project, (1, "Rome", "U", 4), (1, None, "U", 6), (2, "Bari", "U", 4))
    project.succeed("run")
    current = " where __END_AT is null" if bounds else ""
    assert [(1, "Oslo"), (2, "Bari")] == project.query(f"select id, city from users{current} order by id")


@pytest.mark.parametrize("scd_type", [1, 2])
def test_a_clone_goes_on(project: Project, scd_type: int) -> None:
    """The companion that is copied along knows who wrote what."""
    project.execute(
        "create schema raw; create table raw.feed (id integer, city varchar, op varchar, seq integer)"
    )
    write_model(project, scd_type=scd_type, ignore_null_updates=True)
    arrive(project, (1, "Oslo", "U", 3), (1, None, "U", 5))
    project.succeed("run")
    project.execute("create schema other")
    for table in ("users", "users__auto_cdc"):
        project.execute(f"create table other.{table} as from {table}; drop table {table}")
    project.execute("create table users as from other.users")
    project.succeed("run-operation", "auto_cdc.clone_companions", "--args", "{from_schema: other}")
    arrive(project, (1, "late", "U", 2), (1, "Bari", "U", 4))
    project.succeed("run")
    current = " where __END_AT is null" if scd_type == 2 else ""
    assert [(1, "Bari")] == project.query(f"select id, city from users{current}")
