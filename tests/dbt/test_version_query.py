"""`version_query`: one snapshot after another, each a commit of its own, through dbt."""

from __future__ import annotations

import re
from datetime import date
from typing import Any

import pytest

from tests.dbt_project import Project

pytestmark = pytest.mark.dbt

SOURCES = """
sources:
  - name: raw
    schema: raw
    tables: [{name: dumps}]
"""
# Written as the pages write it: the versions above the last one, one at a time.
NEXT = """
    select version from {{ source('raw', 'dumps') }}
    where version > (select version from {{ auto_cdc.last_snapshot_version() }})
    or not exists (select 1 from {{ auto_cdc.last_snapshot_version() }})
    order by version limit 1
"""
ROWS = """
select id, city from {{ source('raw', 'dumps') }}
where version = (select version from {{ auto_cdc.current_snapshot_version() }}) and id is not null
"""
DUMPS = {1: [(1, "Oslo"), (2, "Rome")], 2: [(1, "Kiel"), (3, "Bari")], 4: [(1, "Kiel"), (2, "Rome")]}
HISTORY = "select id, city, __START_AT, __END_AT from users order by id, __START_AT"
AFTER_ALL = [
    (1, "Oslo", 1, 2),
    (1, "Kiel", 2, None),
    (2, "Rome", 1, 2),
    (2, "Rome", 4, None),
    (3, "Bari", 2, 4),
]


@pytest.fixture
def shop(project: Project) -> Project:
    """Give a project with a source of dumps."""
    project.write("models/_sources.yml", SOURCES)
    project.execute("create schema raw; create table raw.dumps (id integer, city varchar, version integer)")
    return project


def write_model(project: Project, *, sql: str = ROWS, query: str = NEXT, **config: object) -> None:
    """Write the model `users`; `config` comes on top of keys and SCD type 2."""
    options = {"materialized": "auto_cdc_snapshot", "keys": ["id"], "stored_as_scd_type": 2, **config}
    written = ", ".join(f"{key}={value!r}" for key, value in options.items())
    project.write("models/users.sql", f'{{{{ config({written}, version_query="{query}") }}}}\n{sql}\n')


def arrive(project: Project, *versions: int) -> None:
    for version in versions:
        for row in DUMPS[version]:
            project.execute("insert into raw.dumps values (?, ?, ?)", (*row, version))


def figures(project: Project) -> dict[str, int]:
    return {key: value for key, value in project.responses["users"].items() if key.startswith("num_")}


def test_every_waiting_version_is_applied(shop: Project) -> None:
    """One run applies all versions that wait, and says so; the next one finds nothing to do; then only what is new."""
    write_model(shop)
    arrive(shop, 1, 2)
    shop.succeed("run")
    assert "auto_cdc: model users: applied version 1: AUTO CDC 2 upserted" in shop.log
    assert "auto_cdc: model users: applied version 2: AUTO CDC" in shop.log
    assert 4 == figures(shop)["num_read_rows"]
    shop.succeed("run")
    assert "AUTO CDC 0 upserted, 0 deleted, 0 read in" in shop.log
    arrive(shop, 4)
    shop.succeed("run")
    assert AFTER_ALL == shop.query(HISTORY)


def test_a_history_equals_that_of_a_version_column(shop: Project) -> None:
    """Version by version or all at once, the table is the same."""
    write_model(shop)
    shop.write(
        "models/at_once.sql",
        """
        {{ config(materialized='auto_cdc_snapshot', keys=['id'], stored_as_scd_type=2, snapshot_version='version') }}
        select * from {{ source('raw', 'dumps') }}
        """,
    )
    arrive(shop, 1, 2, 4)
    shop.succeed("run")
    assert AFTER_ALL == shop.query(HISTORY) == shop.query(HISTORY.replace("users", "at_once"))


def test_the_latest_version(shop: Project) -> None:
    """SCD type 1 is the last version, and a row that it lacks is gone."""
    write_model(shop, stored_as_scd_type=1)
    arrive(shop, 1, 2)
    shop.succeed("run")
    assert [(1, "Kiel"), (3, "Bari")] == shop.query("select * from users order by id")
    assert 1 == figures(shop)["num_deleted_rows"]


def test_nothing_is_waiting_at_first(shop: Project) -> None:
    """Without any version the target is made, empty; the first version comes later."""
    write_model(shop)
    shop.succeed("run")
    assert [] == shop.query("select * from users")
    shop.succeed("run")
    arrive(shop, 1)
    shop.succeed("run")
    assert [(1, "Oslo", 1, None), (2, "Rome", 1, None)] == shop.query(HISTORY)


def test_a_rebuild_asks_from_the_start(shop: Project) -> None:
    """--full-refresh forgets the last version in its first turn only."""
    write_model(shop)
    arrive(shop, 1, 2, 4)
    shop.succeed("run")
    shop.execute("delete from users")
    shop.succeed("run", "--full-refresh")
    assert AFTER_ALL == shop.query(HISTORY)
    assert "applied version 4" in shop.log


@pytest.mark.parametrize(
    ("query", "says"),
    [
        (
            "select max(version) from {{ source('raw', 'dumps') }}",
            "return it for ever: 2 (the last one is 2)",
        ),
        ("select version from {{ source('raw', 'dumps') }}", "version_query returned 4 rows"),
        ("select max(version) from {{ source('raw', 'dumps') }} where id = 9", "version_query returned null"),
        ("select version, id from {{ source('raw', 'dumps') }}", "has the columns version, id"),
        ("select verion from {{ source('raw', 'dumps') }}", "version_query is not valid SQL; DuckDB says"),
    ],
)
def test_an_answer_that_is_refused(shop: Project, query: str, says: str) -> None:
    """The query gives one version above the last one, or nothing; else the message says what to write."""
    arrive(shop, 1, 2)
    write_model(shop, query=query)
    if "for ever" in says:
        assert says in shop.fail("run")
        assert [(1, "Kiel", 2, None), (3, "Bari", 2, None)] == shop.query(HISTORY)
    assert says in shop.fail("run")


def test_versions_before_a_refused_one_stay(shop: Project) -> None:
    """Each version is a commit of its own: a snapshot that is refused takes nothing back but itself."""
    write_model(shop)
    arrive(shop, 1, 2)
    shop.execute("insert into raw.dumps values (7, 'once', 3), (7, 'twice', 3)")
    assert "id=7 in version 3" in shop.fail("run")
    assert AFTER_ALL[:2] == shop.query(HISTORY)[:2]
    shop.execute("delete from raw.dumps where version = 3")
    arrive(shop, 4)
    shop.succeed("run")
    assert AFTER_ALL == shop.query(HISTORY)


def test_a_version_without_rows(shop: Project) -> None:
    """The version is known though no row comes with it: refused, unless it may be empty."""
    write_model(shop, stored_as_scd_type=1)
    arrive(shop, 1)
    shop.succeed("run")
    shop.execute("insert into raw.dumps values (null, null, 3)")
    assert "the snapshot has no rows" in shop.fail("run")
    assert 2 == len(shop.query("select * from users"))
    write_model(shop, stored_as_scd_type=1, allow_empty_snapshot=True)
    shop.succeed("run")
    assert [] == shop.query("select * from users")


def test_the_type_of_the_version_changed(shop: Project) -> None:
    """A version of another type than before is refused, with both types."""
    write_model(shop)
    arrive(shop, 1)
    shop.succeed("run")
    write_model(
        shop, query="select date '2026-01-01'", sql="select id, city from {{ source('raw', 'dumps') }}"
    )
    said = shop.fail("run")
    assert "INTEGER" in said
    assert "DATE" in said


def test_nothing_is_read_with_empty(shop: Project) -> None:
    """--empty makes the table and leaves a table alone; no version is used up."""
    write_model(shop)
    arrive(shop, 1)
    shop.succeed("run", "--empty")
    assert [] == shop.query("select * from users")
    shop.succeed("run")
    arrive(shop, 2)
    shop.succeed("run", "--empty")
    assert 2 == len(shop.query("select * from users"))
    shop.succeed("run")
    assert 4 == len(shop.query("select * from users"))


def test_show_compile_and_explain(shop: Project) -> None:
    """Away from a run the version query itself gives the version, so that the SQL is whole."""
    write_model(shop)
    arrive(shop, 1, 2)
    result: Any = shop.succeed("show", "--select", "users")
    assert [(1, "Oslo"), (2, "Rome")] == sorted(
        tuple(row) for row in result.result.results[0].agate_table.rows
    )
    shop.succeed("run")
    arrive(shop, 4)
    result = shop.succeed("show", "--select", "users")
    assert [(1, "Kiel"), (2, "Rome")] == sorted(
        tuple(row) for row in result.result.results[0].agate_table.rows
    )
    shop.succeed("compile")
    compiled = shop.read("target/compiled/shop/models/users.sql")
    assert [(1, "Kiel"), (2, "Rome")] == sorted(shop.query(compiled))
    shop.succeed("run-operation", "auto_cdc.explain", "--args", "{model: users}")
    assert AFTER_ALL[0] in shop.query(HISTORY)


def test_a_unit_test_gives_the_version(shop: Project) -> None:
    """A unit test says which version is read; one that does not is told how."""
    unit_test = """
        unit_tests:
          - name: first_version
            model: users
            OVERRIDES
            given:
              - input: source('raw', 'dumps')
                rows: [{id: 1, city: Oslo, version: 7}, {id: 1, city: Kiel, version: 8}]
            expect:
              rows: [{id: 1, city: Oslo}]
    """
    write_model(shop)
    shop.succeed("run")
    shop.write("models/_unit.yml", unit_test.replace("OVERRIDES", ""))
    said = shop.fail("test", "--select", "test_type:unit")
    overrides = re.search("overrides: .*}}", said)
    assert overrides is not None
    shop.write(
        "models/_unit.yml", unit_test.replace("OVERRIDES", overrides[0].replace("select 1", "select 7"))
    )
    shop.succeed("build")


def test_hooks_see_the_last_version(shop: Project) -> None:
    """What comes after a run comes once, after the last version."""
    write_model(shop, post_hook="create table seen as select count(*) as versions from {{ this }}")
    arrive(shop, 1, 2)
    shop.succeed("run")
    assert [(4,)] == shop.query("select * from seen")


def test_the_versions_are_dates(shop: Project) -> None:
    """A bound has the type of the version that the query gives, from the first version on."""
    write_model(
        shop,
        query="""
            select date '2026-01-01' + version as day from {{ source('raw', 'dumps') }}
            where date '2026-01-01' + version > (select version from {{ auto_cdc.last_snapshot_version() }})
            or not exists (select 1 from {{ auto_cdc.last_snapshot_version() }})
            order by day limit 1
        """,
        sql="""
            select id, city from {{ source('raw', 'dumps') }}
            where date '2026-01-01' + version = (select version from {{ auto_cdc.current_snapshot_version() }})
        """,
    )
    arrive(shop, 1, 2, 4)
    shop.succeed("run")
    shown = [
        (*row[:2], *(day and (day - date(2026, 1, 1)).days for day in row[2:])) for row in shop.query(HISTORY)
    ]
    assert AFTER_ALL == shown


def test_jinja_that_dbt_renders_too_early(shop: Project) -> None:
    """A ref outside of text is the model itself while dbt parses: refused, with the right way to write it."""
    shop.write(
        "models/users.sql",
        """
        {{ config(
            materialized='auto_cdc_snapshot', keys=['id'], version_query='select 1 from ' ~ source('raw', 'dumps')
        ) }}
        select id, city from {{ source('raw', 'dumps') }}
        """,
    )
    assert "version_query names the model itself" in shop.fail("run")


def test_both_or_none(shop: Project) -> None:
    """A model has a version or asks for it."""
    write_model(shop, snapshot_version="version")
    assert "snapshot_version and version_query are both set; write one of them" in shop.fail("parse")
    shop.write(
        "models/users.sql", "{{ config(materialized='auto_cdc_snapshot', keys=['id']) }} select 1 as id"
    )
    assert "or set version_query instead" in shop.fail("parse")


def test_a_macro_without_its_option(shop: Project) -> None:
    """The version that is to be read exists with a version query only."""
    shop.write(
        "models/users.sql",
        """
        {{ config(materialized='auto_cdc_snapshot', keys=['id'], snapshot_version='version') }}
        select *, 1 as version from {{ auto_cdc.current_snapshot_version() }}
        """,
    )
    assert "the option version_query, which is not set" in shop.fail("compile")
