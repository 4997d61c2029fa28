"""What stands beside targets, end to end: the change feed, and the operations that forget, trim and move.

Not here: what is in a feed (`scenarios/test_change_feed.py`) and what is forgotten (`scenarios/test_forget.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.databases import here
from tests.dbt.test_operations import arrive, operate, refuse, relations, write_model
from tests.dbt_project import Project

pytestmark = pytest.mark.dbt

FEED = "select id, city, _change_type, _commit_version from {}__auto_cdc_changes order by 4, 1, 3 desc"


@pytest.fixture
def shop(project: Project) -> Iterator[Project]:
    """Give a project with a feed and a model over it that has a change feed."""
    columns = "id integer, city varchar, op varchar, seq integer"
    project.execute(f"create schema {project.raw}; create table {project.raw}.feed ({columns})")
    write_model(project, scd_type=1, change_data_feed=True)
    yield project
    project.execute(f"drop schema {project.raw} cascade")


def names_in(project: Project, schema: str = "main") -> list[str]:
    """Return the names of what is kept in a schema, without the log of all runs."""
    return [name for name, _ in relations(project, schema) if name != "auto_cdc_event_log"]


def test_a_feed_and_a_model_that_reads_it(shop: Project) -> None:
    """Versions and times, from variables too; before the first run nothing stands in the way of `dbt compile`."""
    shop.write(
        "models/changed.sql",
        "select id, city, _change_type\n"
        "from {{ auto_cdc.table_changes(ref('users'), var('since', 1), var('until', none)) }} as changes\n",
    )
    shop.succeed("compile")
    arrive(shop, (1, "Oslo", "U", 10), (2, "Rome", "U", 10))
    shop.succeed("run")
    arrive(shop, (1, "Bari", "U", 20), (2, None, "D", 20))
    shop.succeed("run", "--vars", "{since: 2}")
    expected = [(1, "Oslo", "update_preimage"), (1, "Bari", "update_postimage"), (2, "Rome", "delete")]
    assert sorted(expected) == sorted(shop.query("select * from changed"))
    shop.succeed("run", "--vars", "{since: '1', until: 1}")
    assert [(1,), (2,)] == shop.query("select id from changed order by 1")

    ((first, last),) = shop.query(
        "select min(_commit_timestamp), max(_commit_timestamp) from users__auto_cdc_changes"
    )
    shop.succeed("run", "--vars", f"{{since: '{last}', until: '2999-01-01'}}", "--select", "changed")
    assert sorted(expected) == sorted(shop.query("select * from changed"))
    for given, says in {
        "{since: 3}": "start 3 is above the last version",
        "{since: 0}": "start 0 lies before what is kept",
        "{since: 2, until: 1}": "start 2 is above end 1",
        "{since: soon}": "start is 'soon'; write a version, such as 3, or a time in UTC",
        "{since: '2020-01-01'}": f"holds versions 1 to 2, of {str(first)[:19]}",
        "{since: 1, until: 9}": "end 9 is above the last version",
    }.items():
        assert says in shop.fail("run", "--vars", given, "--select", "changed")


def test_what_has_no_feed_cannot_be_read_so(shop: Project) -> None:
    """The option is named."""
    write_model(shop, "plain", scd_type=1)
    shop.write("models/changed.sql", "select * from {{ auto_cdc.table_changes(ref('plain'), 1) }}\n")
    assert "set change_data_feed to true in its model, and run it" in shop.fail("run")
    shop.write("models/changed.sql", "select * from {{ auto_cdc.table_changes('plain', 1) }}\n")
    assert "'plain' is no relation; write table_changes(ref('<model>'), 1)" in shop.fail(
        "run", "--select", "changed"
    )


def test_a_rebuild_and_dumps_that_wait(shop: Project) -> None:
    """With --full-refresh the versions go on; every version of a version query has a version of the feed."""
    shop.write(
        "models/dumps.sql",
        "{{ config(materialized='auto_cdc_snapshot', keys=['id'], change_data_feed=true, version_query=\"\n"
        f"select min(seq) from {shop.raw}.feed\n"
        "where seq > coalesce((select version from {{ auto_cdc.last_snapshot_version() }}), 0)\n"
        'having min(seq) is not null") }}\n'
        f"select id, city from {shop.raw}.feed\n"
        "where seq = (select version from {{ auto_cdc.current_snapshot_version() }})\n",
    )
    arrive(shop, (1, "Oslo", "U", 10), (1, "Oslo", "U", 20), (2, "Rome", "U", 30))
    shop.succeed("run")
    shop.succeed("run", "--full-refresh", "--select", "users")
    arrive(shop, (1, "Bari", "U", 40))
    shop.succeed("run", "--full-refresh", "--select", "users")
    assert [(1, 1), (2, 1), (1, 2), (1, 2)] == shop.query(
        "select id, _commit_version from users__auto_cdc_changes order by 2, 1"
    )
    assert [(1, "Oslo", "insert", 1), (1, "Oslo", "delete", 2), (2, "Rome", "insert", 2)] == shop.query(
        FEED.format("dumps")
    )


def test_a_recomputed_table_around_dbt(shop: Project) -> None:
    """Contracts, indexes and new columns, as in the others; the feed is on without being asked for."""
    shop.write(
        "models/cities.sql",
        "{{ config(materialized='recomputed_table', indexes=[{'columns': ['city']}]) }}\n"
        "select city, count(*) as n from {{ ref('users') }} group by city\n",
    )
    arrive(shop, (1, "Oslo", "U", 10), (2, "Rome", "U", 10))
    shop.succeed("run")
    arrive(shop, (2, "Oslo", "U", 20))
    shop.succeed("run")
    assert shop.responses["cities"]["num_upserted_rows"] == 1
    assert [("Oslo", 2)] == shop.query("select * from cities")
    shop.write(
        "models/cities.sql",
        "{{ config(materialized='recomputed_table', indexes=[{'columns': ['city']}]) }}\n"
        "select city, count(*) as n, max(id) as last from {{ ref('users') }} group by city\n",
    )
    shop.succeed("run")
    assert [("Oslo", 2, 2)] == shop.query("select * from cities")
    assert [("Oslo", 2, None, "delete"), ("Oslo", 2, 2, "insert")] == shop.query(
        "select city, n, last, _change_type from cities__auto_cdc_changes where _commit_version = 3 order by 4"
    )


def test_forget(shop: Project) -> None:
    """Said with figures; unknown keys and models, and bad arguments, say so; the next run goes on."""
    arrive(shop, (1, "Oslo", "U", 10), (2, "Rome", "U", 10))
    assert "there is nothing to forget" in refuse(shop, "forget", "{model: users, keys: 1}")
    shop.succeed("run")
    said = operate(shop, "forget", "{model: users, keys: [1]}")
    assert (
        "forgot 1 row of the target, 1 row of the companion, 1 row of the change feed; erase it at the source"
        in said
    )
    assert [(2, "Rome", "insert", 1), (1, None, "delete", 2)] == shop.query(FEED.format("users"))
    assert "1 of the keys is nowhere to be found, for example id=9" in operate(
        shop, "forget", "{model: users, keys: 9}"
    )
    assert here("id is 'one', and the column has type INTEGER; write a whole number") in refuse(
        shop, "forget", "{model: users, keys: [one]}"
    )
    assert "forget needs to know the model" in refuse(shop, "forget", "{keys: 1}")
    assert "forget needs to know the keys" in refuse(shop, "forget", "{model: users}")
    assert "did you mean users" in refuse(shop, "forget", "{model: user, keys: 1}")
    shop.execute(f"delete from {shop.raw}.feed where id = 1")
    arrive(shop, (2, "Bari", "U", 20))
    shop.succeed("run")
    assert [(2, "Bari")] == shop.query("select * from users")


def test_trim(shop: Project) -> None:
    """The last versions stay, or the last days; what is left out and what is wrong is told."""
    for seq in range(1, 5):
        arrive(shop, (1, f"v{seq}", "U", seq))
        shop.succeed("run")
    versions = "select distinct _commit_version from users__auto_cdc_changes order by 1"
    for given, says in {
        "{}": "trim was not told what is to go; write older_than: 30 days",
        "{older_than: 1 day, keep_last: 1}": "keep_last and older_than are both set",
        "{keep_last: 0}": "keep_last is 0; write a whole number from 1",
        "{older_than: long}": "older_than is 'long'; write older_than: 30 days",
        "{older_than: 1 day, tables: [change]}": "tables names change; did you mean changes?",
    }.items():
        assert says in refuse(shop, "trim", given)
    operate(shop, "trim", "{older_than: 1 day}")
    assert 4 == len(shop.query(versions))
    assert "(3 rows)" in operate(shop, "trim", "{keep_last: 2, models: [users], tables: changes}")
    assert [(3,), (4,)] == shop.query(versions)
    operate(shop, "trim", "{older_than: '2999-01-01', tables: [changes]}")
    assert [(4,)] == shop.query(versions)
    arrive(shop, (1, "v5", "U", 5))
    shop.succeed("run")
    assert [(4,), (5,)] == shop.query(versions)


@pytest.mark.only_on("duckdb")  # it names DuckDB's schemas
def test_move_companions(shop: Project) -> None:
    """A renamed model, and one in another schema, go on with their tables; what is in the way is named."""
    arrive(shop, (1, "Oslo", "U", 10))
    shop.succeed("run")
    kept = [name.replace("users", "people") for name in names_in(shop) if name.startswith("users")]
    (shop.root / "models/users.sql").unlink()
    options: dict[str, Any] = {"scd_type": 1, "change_data_feed": True, "indexes": [{"columns": ["id"]}]}
    write_model(shop, "people", **options)
    assert "is where it is to go; write from_name" in refuse(shop, "move_companions", "{model: people}")
    missing = refuse(shop, "move_companions", "{model: people, from_name: user}")
    assert '"user" does not exist, so there is nothing to move; write from_name' in missing
    said = operate(shop, "move_companions", "{model: people, from_name: users}")
    assert 'moved "warehouse"."main"."users"' in said
    assert kept == names_in(shop)
    arrive(shop, (1, "Bari", "U", 20))
    shop.succeed("run")
    assert [1, 2, 2] == [row[3] for row in shop.query(FEED.format("people"))]

    shop.execute("create index of_people on people (id)")
    write_model(shop, "people", schema="crm", **options)
    operate(shop, "move_companions", "{model: people, from_schema: main}")
    assert [[], kept] == [names_in(shop), names_in(shop, "main_crm")]
    assert [("of_people",)] == shop.query(
        "select index_name from duckdb_indexes() where schema_name = 'main_crm'"
    )
    arrive(shop, (1, "Kiel", "U", 30))
    shop.succeed("run")
    assert [(1, "Kiel")] == shop.query("select * from main_crm.people")

    shop.execute("create table people as select 1 as id")
    in_the_way = refuse(shop, "move_companions", "{model: people, from_schema: main}")
    assert '"main_crm"."people"' in in_the_way
    assert "is there already; drop or rename it" in in_the_way
