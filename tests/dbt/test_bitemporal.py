"""Bitemporal models through dbt: run after run, under a contract, explained, refused, from several flows.

Not here: what any order of events adds up to (`properties/test_bitemporal`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.dbt_project import Project

pytestmark = pytest.mark.dbt

OPTIONS = (
    "materialized='auto_cdc', keys=['id'], sequence_by='bt', system_sequence_by='st',"
    " apply_as_deletes=\"op = 'D'\", column_list=['id', 'city'], stored_as_scd_type='bitemporal'"
)
MODEL = """
{{ config(%s) }}
select * from raw.feed
{%% if auto_cdc.is_applying() %%} where st > (select max(__SYSTEM_START_AT) from {{ this }}) {%% endif %%}
"""
ALL = "select id, city, __START_AT, __END_AT, __SYSTEM_START_AT, __SYSTEM_END_AT from places order by 1, 3, 5"
FIRST = [(1, "Oslo", 10, None, 100, None), (2, "Rome", 10, None, 100, None)]
SECOND = [
    (1, "Oslo", 10, None, 100, 200),
    (1, "Oslo", 10, 20, 200, None),
    (1, "Bonn", 20, None, 200, None),
    (2, "Rome", 10, None, 100, 200),
    (2, "Rome", 10, 30, 200, None),
]


@pytest.fixture
def shop(project: Project) -> Project:
    """Give a project with a feed and a model that reads what is new of it."""
    project.execute(
        """
        create schema raw;
        create table raw.feed (id integer, city varchar, bt integer, st integer, op varchar);
        insert into raw.feed values (1, 'Oslo', 10, 100, 'U'), (2, 'Rome', 10, 100, 'U')
        """
    )
    project.write("models/places.sql", MODEL % OPTIONS)
    return project


def later(shop: Project) -> None:
    shop.execute("insert into raw.feed values (1, 'Bonn', 20, 200, 'U'), (2, null, 30, 200, 'D')")


def test_run_after_run(shop: Project) -> None:
    """The second run reads what is new, the third nothing; the result line tells what was written."""
    shop.succeed("run")
    assert FIRST == shop.query(ALL)
    later(shop)
    shop.succeed("run")
    assert SECOND == shop.query(ALL)
    told = {"num_upserted_rows": 5, "num_deleted_rows": 0, "num_read_rows": 2, "num_late_rows": 0}
    assert told.items() <= shop.responses["places"].items()
    shop.succeed("run")
    assert SECOND == shop.query(ALL)
    assert 0 == shop.responses["places"]["num_read_rows"]
    shop.succeed("run", "--full-refresh")
    assert SECOND == shop.query(ALL)


def test_events_that_leave_columns_out(shop: Project) -> None:
    """A null is filled from what was sent before, in each belief; a feed that is read again writes nothing."""
    shop.execute("alter table raw.feed add column zip varchar; update raw.feed set zip = 'N' || id")
    options = (
        OPTIONS.replace("'city']", "'city', 'zip']") + ", ignore_null_updates_column_list=['zip', 'city']"
    )
    shop.write("models/places.sql", f"{{{{ config({options}) }}}} select * from raw.feed")
    shop.succeed("run")
    shop.execute("insert into raw.feed values (1, 'Bonn', 20, 200, 'U', null), (1, null, 5, 300, 'U', 'D')")
    versions = ALL.replace("city,", "city, zip,").replace("order by 1, 3, 5", "where id = 1 order by 4, 6")
    for _ in range(2):
        shop.succeed("run")
        assert [
            (1, None, "D", 5, 10, 300, None),
            (1, "Oslo", "N1", 10, None, 100, 200),
            (1, "Oslo", "N1", 10, 20, 200, None),
            (1, "Bonn", "N1", 20, None, 200, None),
        ] == shop.query(versions)
    assert 0 == shop.responses["places"]["num_upserted_rows"]
    shop.succeed("run", "--full-refresh")
    assert 4 == len(shop.query(versions))


def test_flows_that_select_other_columns(shop: Project) -> None:
    """What a flow does not select it does not send."""
    shop.execute("create table raw.zips as select 1 as id, 'N1' as zip, 15 as bt, 300 as st, 'U' as op")
    flows = """
        {%% call auto_cdc.flow('feed') %%} select * from raw.feed {%% endcall %%}
        {%% call auto_cdc.flow('zips') %%} select * from raw.zips {%% endcall %%}
    """
    options = OPTIONS.replace("column_list=['id', 'city']", "except_column_list=['bt', 'st', 'op']")
    options += ", ignore_null_updates_column_list=['city']"
    shop.write("models/places.sql", ("{{ config(%s) }}" + flows) % options)
    later(shop)
    for _ in range(2):
        shop.succeed("run")
        now = "select city, zip, __START_AT, __END_AT from places where id = 1 and __SYSTEM_END_AT is null order by 3"
        assert [("Oslo", None, 10, 15), ("Oslo", "N1", 15, 20), ("Bonn", "N1", 20, None)] == shop.query(now)


def test_under_a_contract(shop: Project) -> None:
    """A contract names all four bounds, in the types of the sequences."""
    bounds = ("__START_AT", "__END_AT", "__SYSTEM_START_AT", "__SYSTEM_END_AT")
    types = {"id": "integer", "city": "varchar", **dict.fromkeys(bounds, "integer")}
    columns = "".join(f"      - {{name: {name}, data_type: {kind}}}\n" for name, kind in types.items())
    contract = f"    config: {{contract: {{enforced: true}}}}\n    columns:\n{columns}"
    shop.write("models/_models.yml", f"models:\n  - name: places\n{contract}")
    shop.succeed("run")
    later(shop)
    shop.succeed("run")
    assert SECOND == shop.query(ALL)


def test_explained(shop: Project, capfd: pytest.CaptureFixture[str]) -> None:
    """The plan of the next run is told in words; nothing is run."""
    shop.succeed("run")
    capfd.readouterr()
    shop.succeed("run-operation", "auto_cdc.explain", "--args", "{model: places}")
    printed = capfd.readouterr().out
    assert "places, bitemporal, goes on" in printed.replace('"', "")
    assert "find what the new events can change" in printed


def test_refused_while_dbt_parses(shop: Project) -> None:
    """Options that do not go together stop every command, before a connection is opened."""
    shop.write("models/one.sql", MODEL % OPTIONS.replace("'bitemporal'", "2"))
    shop.write("models/two.sql", MODEL % OPTIONS.replace(" system_sequence_by='st',", ""))
    said = " ".join(shop.fail("parse").split())
    assert "model one (models/one.sql): system_sequence_by needs two axes of time" in said
    assert (
        "model two (models/two.sql): stored_as_scd_type is bitemporal and system_sequence_by is missing"
        in said
    )


def test_from_several_flows(shop: Project) -> None:
    """Each flow has its own system time; they make one order of beliefs."""
    shop.execute("create table raw.branch as select 1 as id, 'Kiel' as city, 15 as bt, 300 as told")
    flows = """
        {%% call auto_cdc.flow('feed') %%} select * from raw.feed {%% endcall %%}
        {%% call auto_cdc.flow('branch', system_sequence_by='told', apply_as_deletes='false') %%}
        select * from raw.branch
        {%% endcall %%}
    """
    shop.write("models/places.sql", ("{{ config(%s) }}" + flows) % OPTIONS)
    later(shop)
    for _ in range(2):
        shop.succeed("run")
        believed = "select city, __START_AT, __END_AT from places where id = 1 and __SYSTEM_END_AT is null order by 2"
        assert [("Oslo", 10, 15), ("Kiel", 15, 20), ("Bonn", 20, None)] == shop.query(believed)
    shop.execute("insert into raw.branch values (1, 'Nice', 25, null)")
    said = " ".join(shop.fail("run").split())
    assert "system_sequence_by st or told is null in 1 of the new rows, for example id=1" in said
