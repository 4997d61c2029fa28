"""What dbt does around a model works for `auto_cdc`, each thing with a test that can fail.

What the tables hold is tested elsewhere; here they only show that dbt's part was done.
"""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dbt.include.duckdb
import dbt.version
import pytest
from dbt.adapters.duckdb.connections import DuckDBConnectionManager
from dbt.cli.main import dbtRunner

from dbt_auto_cdc.names import EVENT_LOG
from tests.dbt_project import Project

if TYPE_CHECKING:
    from dbt_common.events.base_types import EventMsg

pytestmark = pytest.mark.dbt

# What older releases of dbt and dbt-duckdb do not have, for any model.
MACROS = Path(dbt.include.duckdb.PACKAGE_PATH) / "macros"
ADAPTER_MACROS = (MACROS / "adapters.sql").read_text(encoding="utf-8")
hooks_outside = pytest.mark.skipif(
    not (MACROS / "materializations/hooks.sql").exists(),
    reason="this dbt-duckdb commits before a hook outside the transaction, where none is open",
)
with_grants = pytest.mark.skipif(
    "duckdb__apply_grants" not in ADAPTER_MACROS,
    reason="this dbt-duckdb sends grants, which DuckDB does not know",
)
with_indexes = pytest.mark.skipif(
    "create_index_sql" not in ADAPTER_MACROS, reason="this dbt-duckdb has no indexes"
)
with_foreign_keys = pytest.mark.skipif(
    "enforced_constraint_types" not in ADAPTER_MACROS,
    reason="this dbt-duckdb renames tables with foreign keys too",
)
with_table_options = pytest.mark.skipif(
    "get_partitioned_by" not in ADAPTER_MACROS, reason="this dbt-duckdb has no options for DuckLake tables"
)
with_samples = pytest.mark.skipif(
    dbt.version.__version__.split(".")[:2] in (["1", "8"], ["1", "9"]), reason="--sample came with dbt 1.10"
)

FEED = "select * from {{ source('raw', 'feed') }}"
SOURCES = """
sources:
  - name: raw
    schema: raw
    tables: [{name: feed}]
"""
FIRST = [(1, "Oslo", "U", 10), (2, "Rome", "U", 10)]
# The second batch: a late event of key 1 between its two versions, a delete of key 2, a new key.
SECOND = [(1, "Bari", "U", 30), (1, "Kiel", "U", 20), (2, None, "D", 40), (3, "Nice", "U", 10)]
CURRENT = "select id, city from users order by id"
HISTORY = "select id, city, __START_AT, __END_AT from users order by id, __START_AT"
AFTER_FIRST = [(1, "Oslo", 10, None), (2, "Rome", 10, None)]
AFTER_SECOND = [
    (1, "Oslo", 10, 20),
    (1, "Kiel", 20, 30),
    (1, "Bari", 30, None),
    (2, "Rome", 10, 40),
    (3, "Nice", 10, None),
]


@pytest.fixture
def shop(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Give a project with a feed of events and their first batch, standing in its folder."""
    monkeypatch.chdir(project.root)
    project.write("models/_sources.yml", SOURCES)
    project.execute(
        "create schema raw; create table raw.feed (id integer, city varchar, op varchar, seq integer)"
    )
    arrive(project, FIRST)
    return project


def arrive(project: Project, events: list[tuple[Any, ...]]) -> None:
    """Put a batch of events into the feed."""
    project.execute(
        "insert into raw.feed (id, city, op, seq) values " + ", ".join(["(?, ?, ?, ?)"] * len(events)),
        [value for event in events for value in event],
    )


def write_model(
    project: Project, name: str = "users", *, sql: str = FEED, scd_type: int = 2, **config: object
) -> None:
    """Write a model over the feed; `config` comes on top of what makes it a target."""
    options = {
        "materialized": "auto_cdc",
        "keys": ["id"],
        "sequence_by": "seq",
        "apply_as_deletes": "op = 'D'",
        "except_column_list": ["op", "seq"],
        "stored_as_scd_type": scd_type,
        **config,
    }
    written = ", ".join(f"{key}={value!r}" for key, value in options.items())
    project.write(f"models/{name}.sql", f"{{{{ config({written}) }}}}\n{sql}\n")


def write_targets(project: Project, **schemas: str) -> None:
    """Give the profile one target a schema; dev is the one that runs unless another is named."""
    outputs = "".join(
        f"    {name}: {{type: duckdb, path: '{project.database}', schema: {schema}}}\n"
        for name, schema in schemas.items()
    )
    project.write("profiles.yml", f"{project.name}:\n  target: dev\n  outputs:\n{outputs}")


def tables(project: Project) -> list[str]:
    """Return what there is besides the feed and the event log."""
    query = "select table_name from information_schema.tables where table_schema <> 'raw' order by 1"
    return [name for (name,) in project.query(query) if name != EVENT_LOG]


def count_statements(project: Project, model: str) -> list[str]:
    """Run one model and return what was sent for it, in order."""
    sent: list[str] = []

    def listen(event: EventMsg) -> None:
        if event.info.name == "SQLQuery" and event.data.conn_name == f"model.{project.name}.{model}":
            sent.append(event.data.sql)

    project._listen = listen  # type: ignore[method-assign]
    project.succeed("run", "--select", model)
    return sent


# -- hooks -------------------------------------------------------------------------------------------------------------


def note(step: str) -> str:
    """Return a hook that notes its turn, its transaction and how many rows the target has at that moment."""
    return f"insert into raw.audit select '{step}', txid_current(), (select count(*) from users)"


def hooks(**kinds: bool) -> dict[str, list[dict[str, object]]]:
    """Return hooks before and after, inside and outside of the transaction."""
    return {
        f"{moment}_hook": [
            {"sql": note(f"{moment} {place}"), "transaction": inside} for place, inside in kinds.items()
        ]
        for moment in ("pre", "post")
    }


@pytest.fixture
def audited(shop: Project) -> Project:
    """Give a project whose model has been built and notes its hooks in a table."""
    write_model(shop)
    shop.succeed("run")
    shop.execute("create table raw.audit (step varchar, transaction bigint, num_rows integer)")
    write_model(shop, **hooks(inside=True, outside=False))
    return shop


@hooks_outside
def test_hooks_run_in_order_inside_and_outside_of_the_transaction(audited: Project) -> None:
    """Those inside share the run's transaction, those outside have one of their own before and after it."""
    arrive(audited, SECOND)
    audited.succeed("run")

    notes = audited.query("select step, transaction, num_rows from raw.audit order by rowid")
    expected = [("pre outside", 2), ("pre inside", 2), ("post inside", 5), ("post outside", 5)]
    assert expected == [(step, rows) for step, _, rows in notes]
    before, first, second, after = (transaction for _, transaction, _ in notes)
    assert first == second
    assert len({before, first, after}) == 3


@hooks_outside
def test_a_refused_run_takes_back_the_hooks_inside_the_transaction(audited: Project) -> None:
    """What a hook outside wrote stays, what one inside wrote goes with the run; nothing runs after the refusal."""
    arrive(audited, [(None, "Rome", "U", 50)])
    assert "key column id is null" in audited.fail("run")
    assert [("pre outside",)] == audited.query("select step from raw.audit")
    assert AFTER_FIRST == audited.query(HISTORY)


def test_a_hook_that_fails_inside_the_transaction_takes_the_run_back(shop: Project) -> None:
    """The target is what it was, and the run after the repair applies the batch."""
    write_model(shop)
    shop.succeed("run")
    before = shop.query("select * from users__auto_cdc order by all")
    arrive(shop, SECOND)
    write_model(shop, post_hook="select error('hook')")
    assert "hook" in shop.fail("run")
    assert AFTER_FIRST == shop.query(HISTORY)
    assert before == shop.query("select * from users__auto_cdc order by all")

    write_model(shop)
    shop.succeed("run")
    assert AFTER_SECOND == shop.query(HISTORY)


def test_a_header_is_sent_before_the_sql_that_needs_it(shop: Project) -> None:
    """`sql_header` makes what the model's SQL uses, as for a table, in the first run and in later ones."""
    header = "create or replace temp macro upper_city(x) as upper(x);"
    write_model(
        shop,
        sql="select id, upper_city(city) as city, op, seq from {{ source('raw', 'feed') }}",
        sql_header=header,
    )
    shop.succeed("run")
    arrive(shop, SECOND)
    shop.succeed("run")
    assert [(row[0], row[1] and row[1].upper(), *row[2:]) for row in AFTER_SECOND] == shop.query(HISTORY)


# -- grants, docs, contracts, indexes ----------------------------------------------------------------------------------


@with_grants
def test_grants_are_handed_to_the_adapter(shop: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB has none and dbt-duckdb says so, in each run; nothing else happens."""
    monkeypatch.setattr(DuckDBConnectionManager, "_LOGGED_MESSAGES", set(), raising=False)
    write_model(shop, grants={"select": ["reader"]})
    shop.succeed("run")
    assert "Grants for relations are not supported by DuckDB" in shop.log


def test_descriptions_are_persisted_bounds_included(shop: Project) -> None:
    """Relation and columns get their comments in the first run, and changed ones in a later run."""
    write_model(shop, persist_docs={"relation": True, "columns": True})
    text = """
    models:
      - name: users
        description: %s of users
        columns:
          - {name: city, description: Where %s}
          - {name: __START_AT, description: From %s}
          - {name: __END_AT, description: Until %s}
    """
    for word in ("history", "timeline"):
        shop.write("models/_users.yml", text % (word, word, word, word))
        shop.succeed("run")
        assert [(f"{word} of users",)] == shop.query(
            "select comment from duckdb_tables() where table_name = 'users'"
        )
        expected = [("city", f"Where {word}"), ("__START_AT", f"From {word}"), ("__END_AT", f"Until {word}")]
        assert expected == shop.query(
            "select column_name, comment from duckdb_columns()"
            " where table_name = 'users' and comment is not null order by column_index"
        )


def write_contract(project: Project, *columns: str, constraints: str = "[]") -> None:
    """Write an enforced contract of the model."""
    lines = "".join(f"      - {{{column}}}\n" for column in columns)
    project.write(
        "models/_users.yml",
        "models:\n  - name: users\n    config: {contract: {enforced: true}}\n"
        f"    constraints: {constraints}\n    columns:\n{lines}",
    )


ID = "name: id, data_type: integer, constraints: [{type: not_null}]"
CITY = "name: city, data_type: varchar"
BOUNDS = ("name: __START_AT, data_type: integer", "name: __END_AT, data_type: integer")


def constraints(project: Project) -> list[tuple[Any, ...]]:
    return project.query(
        "select constraint_type, constraint_column_names from duckdb_constraints()"
        " where table_name = 'users' order by 1"
    )


def test_an_enforced_contract_makes_the_table_with_its_constraints(shop: Project) -> None:
    """Bounds belong to the columns; the primary key stands while its keys' rows are replaced, and after a rebuild."""
    write_model(shop)
    write_contract(shop, CITY, *BOUNDS, ID, constraints="[{type: primary_key, columns: [id, __START_AT]}]")
    shop.succeed("run")
    arrive(shop, SECOND)
    shop.succeed("run")
    assert AFTER_SECOND == shop.query(HISTORY)
    expected = [("NOT NULL", ["id"]), ("NOT NULL", ["__START_AT"]), ("PRIMARY KEY", ["id", "__START_AT"])]
    assert sorted(expected) == sorted(constraints(shop))

    shop.succeed("run", "--full-refresh")
    assert AFTER_SECOND == shop.query(HISTORY)
    assert sorted(expected) == sorted(constraints(shop))


def test_a_primary_key_stands_while_its_rows_are_replaced(shop: Project) -> None:
    """SCD type 1: rows of a key go and come in one transaction, under the key's constraint."""
    write_model(shop, scd_type=1)
    write_contract(shop, ID, CITY, constraints="[{type: primary_key, columns: [id]}]")
    shop.succeed("run")
    arrive(shop, SECOND)
    shop.succeed("run")
    assert [(1, "Bari"), (3, "Nice")] == shop.query(CURRENT)
    assert ("PRIMARY KEY", ["id"]) in constraints(shop)


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ((ID, CITY), "missing in contract"),
        ((ID.replace("integer", "bigint"), CITY, *BOUNDS), "data type mismatch"),
    ],
    ids=["bounds left out", "another type"],
)
def test_a_broken_contract_is_refused_before_anything_is_written(
    shop: Project, columns: tuple[str, ...], reason: str
) -> None:
    """dbt's own message, and not one table."""
    write_model(shop)
    write_contract(shop, *columns)
    said = shop.fail("run")
    assert "This model has an enforced contract that failed." in said
    assert reason in said
    assert [] == tables(shop)


def test_a_contract_is_enforced_in_later_runs(shop: Project) -> None:
    """A column that comes with the feed and is not in the contract is refused; the target stays as it was."""
    write_model(shop)
    write_contract(shop, ID, CITY, *BOUNDS)
    shop.succeed("run")
    shop.execute("alter table raw.feed add column age integer")
    arrive(shop, SECOND)
    assert "This model has an enforced contract that failed." in shop.fail("run")
    assert AFTER_FIRST == shop.query(HISTORY)
    assert ["id", "city", "__START_AT", "__END_AT"] == shop.columns("users")

    write_contract(shop, ID, CITY, "name: age, data_type: integer", *BOUNDS)
    shop.succeed("run")
    assert AFTER_SECOND == shop.query(HISTORY)


def test_an_event_against_a_constraint_is_refused_and_not_lost(shop: Project) -> None:
    """The run fails as a whole; with the constraint gone, the same feed is applied."""
    write_model(shop)
    write_contract(shop, ID, CITY + ", constraints: [{type: check, expression: \"city <> 'Nice'\"}]", *BOUNDS)
    shop.succeed("run")
    arrive(shop, SECOND)
    assert "CHECK constraint failed" in shop.fail("run")
    assert AFTER_FIRST == shop.query(HISTORY)

    write_contract(shop, ID, CITY, *BOUNDS)
    shop.succeed("run", "--full-refresh")
    assert AFTER_SECOND == shop.query(HISTORY)


@with_foreign_keys
def test_a_rebuild_under_a_foreign_key_is_refused(shop: Project) -> None:
    """DuckDB cannot put such a table in another's place without harm to the table it references."""
    shop.execute(
        "create table main.cities (city varchar primary key); insert into cities select city from raw.feed"
    )
    foreign_key = "[{type: foreign_key, columns: [city], expression: cities (city)}]"
    write_model(shop)
    write_contract(shop, ID, CITY, *BOUNDS, constraints=foreign_key)
    shop.succeed("run")
    shop.execute("insert into cities values ('Kiel'), ('Bari'), ('Nice')")
    arrive(shop, SECOND)
    shop.succeed("run")
    assert AFTER_SECOND == shop.query(HISTORY)

    said = shop.fail("run", "--full-refresh")
    assert "auto_cdc: model users: its contract has a foreign key" in said
    shop.execute("drop table users; drop table users__auto_cdc")
    shop.succeed("run", "--full-refresh")
    assert AFTER_SECOND == shop.query(HISTORY)
    shop.execute("drop table users; drop table cities")


def indexes(project: Project) -> list[tuple[Any, ...]]:
    return project.query(
        "select is_unique, expressions from duckdb_indexes() where table_name = 'users' order by 1"
    )


@with_indexes
def test_indexes_are_made_with_the_table(shop: Project) -> None:
    """Once, not once a run; they hold while rows are replaced and columns are added; a rebuilt table has them too."""
    write_model(shop, scd_type=1, indexes=[{"columns": ["id"], "unique": True}, {"columns": ["city"]}])
    expected = [(False, "[city]"), (True, "[id]")]
    shop.succeed("run")
    assert expected == indexes(shop)
    arrive(shop, SECOND)
    shop.execute("alter table raw.feed add column age integer")
    shop.succeed("run")
    assert expected == indexes(shop)
    assert [(1, "Bari", None), (3, "Nice", None)] == shop.query("select id, city, age from users order by id")
    shop.succeed("run", "--full-refresh")
    assert expected == indexes(shop)


@with_table_options
def test_options_of_ducklake_tables_are_handed_to_the_adapter(
    shop: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the table is made; elsewhere than on DuckLake dbt-duckdb says that it ignores them."""
    monkeypatch.setattr(DuckDBConnectionManager, "_LOGGED_MESSAGES", set())
    write_model(shop, partitioned_by=["id"], sort_by="city")
    shop.succeed("run")
    assert "partitioned_by/partition_by is only supported for DuckLake relations" in shop.log
    assert "sorted_by/sort_by is only supported for DuckLake relations" in shop.log
    monkeypatch.setattr(DuckDBConnectionManager, "_LOGGED_MESSAGES", set())
    shop.succeed("run")
    assert "only supported for DuckLake" not in shop.log


# -- building ----------------------------------------------------------------------------------------------------------


def test_full_refresh_builds_aside_and_swaps(shop: Project) -> None:
    """Target and companion are both new, and nothing else is left."""
    write_model(shop)
    shop.succeed("run")
    shop.execute("delete from raw.feed where id = 1; update users set city = 'by hand'")
    shop.succeed("run", "--full-refresh")
    assert [(2, "Rome", 10, None)] == shop.query(HISTORY)
    assert ["users", "users__auto_cdc"] == tables(shop)

    arrive(shop, [(1, "Oslo", "U", 10), *SECOND])
    shop.succeed("run")
    assert AFTER_SECOND == shop.query(HISTORY)


def test_full_refresh_renews_the_companion(shop: Project) -> None:
    """What was remembered goes with the old target: a tombstone does not keep out what the new feed holds."""
    write_model(shop, scd_type=1)
    arrive(shop, SECOND)
    shop.succeed("run")
    shop.execute("delete from raw.feed where op = 'D'")
    shop.succeed("run")
    assert [(1, "Bari"), (3, "Nice")] == shop.query(CURRENT)
    shop.succeed("run", "--full-refresh")
    assert [(1, "Bari"), (2, "Rome"), (3, "Nice")] == shop.query(CURRENT)


def test_a_full_refresh_that_fails_leaves_the_old_target(shop: Project) -> None:
    """Refused events, or a hook that fails after the swap: the table of before is there, with its companion."""
    write_model(shop)
    shop.succeed("run")
    arrive(shop, SECOND)
    write_model(shop, post_hook="select error('hook')")
    shop.fail("run", "--full-refresh")
    assert AFTER_FIRST == shop.query(HISTORY)
    assert ["users", "users__auto_cdc"] == tables(shop)
    write_model(shop)
    shop.succeed("run")
    assert AFTER_SECOND == shop.query(HISTORY)


def test_a_model_can_be_protected_from_full_refresh(shop: Project) -> None:
    """With `full_refresh: false` the flag changes nothing: the run goes on."""
    write_model(
        shop, full_refresh=False, sql="select *, {{ auto_cdc.is_applying() }} as applying from raw.feed"
    )
    shop.succeed("run")
    shop.execute("delete from raw.feed")
    arrive(shop, SECOND)
    shop.succeed("run", "--full-refresh")
    assert AFTER_SECOND == shop.query(HISTORY)
    assert [(False,), (True,)] == shop.query("select distinct applying from users order by 1")


def test_a_view_of_the_target_survives_full_refresh(shop: Project) -> None:
    """Other people's views keep working, whatever the target went through."""
    write_model(shop)
    shop.succeed("run")
    shop.execute("create view main.cities as select city from users where __END_AT is null")
    arrive(shop, SECOND)
    shop.succeed("run", "--full-refresh")
    assert [("Bari",), ("Nice",)] == shop.query("select city from cities order by 1")


def test_empty_builds_a_typed_table_without_rows(shop: Project) -> None:
    """The first run with --empty makes target and companion, to which the next run applies the feed."""
    write_model(shop)
    shop.succeed("run", "--empty")
    expected = [("id", "INTEGER"), ("city", "VARCHAR"), ("__START_AT", "INTEGER"), ("__END_AT", "INTEGER")]
    assert expected == shop.query("select column_name, column_type from (describe users)")
    assert [] == shop.query(HISTORY)
    shop.succeed("run")
    assert AFTER_FIRST == shop.query(HISTORY)


@pytest.mark.parametrize("scd_type", [1, 2])
def test_empty_changes_nothing_later(shop: Project, scd_type: int) -> None:
    """A feed of no events is no news."""
    write_model(shop, scd_type=scd_type)
    shop.succeed("run")
    before = shop.query("select * from users order by all")
    arrive(shop, SECOND)
    shop.succeed("run", "--empty")
    assert before == shop.query("select * from users order by all")


@with_samples
def test_sample_reads_a_part_of_the_feed(shop: Project) -> None:
    """Events outside of the sample are not read; a later whole run puts them where they belong."""
    now = datetime.now()  # noqa: DTZ005 - dbt samples by this machine's clock
    shop.write(
        "models/_sources.yml", SOURCES.replace("{name: feed}", "{name: feed, config: {event_time: arrived}}")
    )
    shop.execute("alter table raw.feed add column arrived timestamp")
    shop.execute("update raw.feed set arrived = ?", [now - timedelta(days=9)])
    shop.execute("insert into raw.feed values (1, 'Bari', 'U', 30, ?)", [now])
    write_model(shop, except_column_list=["op", "seq", "arrived"])
    shop.succeed("run", "--sample", "3 days")
    assert [(1, "Bari", 30, None)] == shop.query(HISTORY)
    shop.succeed("run")
    assert [(1, "Oslo", 10, 30), (1, "Bari", 30, None), (2, "Rome", 10, None)] == shop.query(HISTORY)


# -- what is said of it ------------------------------------------------------------------------------------------------


def test_a_first_statement_that_takes_long_is_named(shop: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who runs dbt sees what it is that takes so long."""
    monkeypatch.setattr("dbt_auto_cdc.event_log.Entry.seconds", 0.0)
    monkeypatch.setattr("dbt_auto_cdc.execute._LONG", 0.05)
    shop.write(
        "models/users.sql",
        """
        {{ config(materialized='auto_cdc', keys=['id'], sequence_by='seq') }}
        select id, city, seq from {{ source('raw', 'feed') }}
        where 0 = (select count(*) from range(20000) as a, range(20000) as b where a.range + b.range < 0)
        """,
    )
    shop.succeed("run")
    named = "auto_cdc: model users: step 1 of "
    assert 1 == shop.log.count(named)
    assert "after 0 s: stage the model's rows" in shop.log


# -- where it stands ---------------------------------------------------------------------------------------------------


def test_alias_and_custom_schema(shop: Project) -> None:
    """Target and companion stand where dbt says, under the alias, and the event log beside them."""
    write_model(shop, alias="People", schema="sales")
    shop.succeed("run")
    arrive(shop, SECOND)
    shop.succeed("run")
    shop.succeed("run", "--full-refresh")
    expected = [("main_sales", name) for name in ("People", "People__auto_cdc", EVENT_LOG)]
    assert expected == shop.query(
        "select table_schema, table_name from information_schema.tables where table_schema <> 'raw' order by 2, 1"
    )
    assert AFTER_SECOND == shop.query(HISTORY.replace("users", "main_sales.People"))


def test_two_targets_of_one_name_in_two_schemas_stay_apart(shop: Project) -> None:
    """Working tables belong to a connection and not to a schema: one model must not meet the other's."""
    write_model(shop, "here", alias="users")
    write_model(shop, "there", alias="users", schema="sales", scd_type=1)
    shop.succeed("run")
    arrive(shop, SECOND)
    shop.succeed("run")
    assert AFTER_SECOND == shop.query(HISTORY)
    assert [(1, "Bari"), (3, "Nice")] == shop.query(CURRENT.replace("users", "main_sales.users"))


def test_another_database(shop: Project) -> None:
    """In an attached database target, companion and rebuild are one transaction too."""
    other = shop.root / "other.duckdb"
    shop.write(
        "profiles.yml",
        f"""
        shop:
          target: dev
          outputs:
            dev: {{type: duckdb, path: '{shop.database}', attach: [{{path: '{other}', alias: elsewhere}}]}}
        """,
    )
    write_model(shop, database="elsewhere")
    shop.succeed("run")
    arrive(shop, SECOND)
    shop.succeed("run")
    shop.execute(f"attach '{other}' as elsewhere")
    query = f"attach '{other}' as elsewhere; " + HISTORY.replace("users", "elsewhere.main.users")
    assert AFTER_SECOND == shop.query(query)
    shop.succeed("run", "--full-refresh")
    assert AFTER_SECOND == shop.query(query)
    assert [] == tables(shop)


def test_models_run_side_by_side(shop: Project) -> None:
    """Four threads, twelve models over one feed: each gets its own table."""
    shop.write("profiles.yml", shop.read("profiles.yml").replace("threads: 1", "threads: 4"))
    names = [f"users_{number}" for number in range(12)]
    for number, name in enumerate(names):
        write_model(shop, name, scd_type=1 + number % 2)
    shop.succeed("run")
    arrive(shop, SECOND)
    shop.succeed("run")
    for number, name in enumerate(names):
        query = (HISTORY if number % 2 else CURRENT).replace("users", name)
        assert (AFTER_SECOND if number % 2 else [(1, "Bari"), (3, "Nice")]) == shop.query(query)


# -- environments ------------------------------------------------------------------------------------------------------


@pytest.fixture
def production(shop: Project) -> Project:
    """Give a project that has run in production, with that run's artifacts kept in `state`."""
    write_targets(shop, dev="dev", prod="prod")
    write_model(shop)
    shop.writes_manifest = True
    shop.succeed("run", "--target", "prod")
    (shop.root / "target").rename(shop.root / "state")
    return shop


def test_defer_builds_on_what_production_has(production: Project) -> None:
    """The feed is read where production has it, the target is built in the developer's schema."""
    write_model(production, "downstream", sql="select *, seq + 0 as n from {{ ref('feed_view') }}")
    production.write("models/feed_view.sql", "{{ config(materialized='table') }}\n" + FEED)
    production.succeed("run", "--target", "prod", "--select", "feed_view")
    (production.root / "target/manifest.json").replace(production.root / "state/manifest.json")

    production.succeed("run", "--select", "downstream", "--defer", "--state", "state")
    assert [(1, "Oslo"), (2, "Rome")] == production.query("select id, city from dev.downstream order by 1")
    assert [] == production.query(
        "from information_schema.tables where table_schema = 'dev' and table_name = 'feed_view'"
    )


def test_a_clone_without_its_companion_is_refused_and_goes_on_with_it(production: Project) -> None:
    """dbt makes a view on DuckDB; the run's message names the way out, and that way works."""
    production.succeed("clone", "--state", "state")
    arrive(production, SECOND)
    said = production.fail("run")
    assert "exists without its companion" in said
    assert (
        "dbt run-operation auto_cdc.clone_companions --args '{from_schema: <where it was cloned from>}'"
        in said
    )
    assert AFTER_FIRST == production.query(HISTORY.replace("users", "dev.users"))
    production.succeed("run-operation", "auto_cdc.clone_companions", "--args", "{from_schema: prod}")
    production.succeed("run")

    assert AFTER_SECOND == production.query(HISTORY.replace("users", "dev.users"))
    assert AFTER_FIRST == production.query(HISTORY.replace("users", "prod.users"))
    assert [("BASE TABLE",)] == production.query(
        "select table_type from information_schema.tables where table_schema = 'dev' and table_name = 'users'"
    )


def test_a_clone_can_be_rebuilt(production: Project) -> None:
    """The other way out of the message: the view makes room for a table made of the feed."""
    production.succeed("clone", "--state", "state")
    arrive(production, SECOND)
    production.succeed("run", "--full-refresh")
    assert AFTER_SECOND == production.query(HISTORY.replace("users", "dev.users"))
    assert AFTER_FIRST == production.query(HISTORY.replace("users", "prod.users"))


def test_a_clone_beside_an_older_companion_is_refused(production: Project) -> None:
    """What `dbt clone --full-refresh` leaves of a target that ran: the companion knows events that the clone lacks."""
    arrive(production, SECOND)
    production.succeed("run")
    production.succeed("clone", "--full-refresh", "--state", "state")
    said = production.fail("run")
    assert '"warehouse"."dev"."users" is a view, so it was cloned, and its companion' in said
    assert (
        "dbt run-operation auto_cdc.clone_companions --args '{from_schema: <where it was cloned from>}'"
        in said
    )
    production.succeed("run-operation", "auto_cdc.clone_companions", "--args", "{from_schema: prod}")
    production.succeed("run")
    assert AFTER_SECOND == production.query(HISTORY.replace("users", "dev.users"))


# -- commands ----------------------------------------------------------------------------------------------------------


def test_tags_select_a_model(shop: Project) -> None:
    """Selection works by what is configured, in `run` and in `ls`."""
    write_model(shop, tags=["nightly"])
    write_model(shop, "others")
    listed = shop.succeed("ls", "--select", "tag:nightly", "--output", "name")
    assert ["users"] == listed.result
    shop.succeed("run", "--select", "config.materialized:auto_cdc,tag:nightly")
    assert ["users", "users__auto_cdc"] == tables(shop)


def test_docs_show_the_target(shop: Project) -> None:
    """The catalog has the target with its bounds."""
    write_model(shop)
    shop.succeed("run")
    shop.writes_manifest = True
    shop.succeed("docs", "generate")
    catalog = json.loads(shop.read("target/catalog.json"))["nodes"]["model.shop.users"]
    assert "BASE TABLE" == catalog["metadata"]["type"]
    assert ["id", "city", "__START_AT", "__END_AT"] == list(catalog["columns"])


def test_show_and_compile_give_the_models_select(shop: Project) -> None:
    """They show the events and touch no table."""
    write_model(
        shop, sql="select *, {{ auto_cdc.is_applying() }} as applying from {{ source('raw', 'feed') }}"
    )
    shown = shop.succeed("show", "--select", "users", "--output", "json").result
    assert 2 == len(shown.results[0].agate_table.rows)
    shop.succeed("compile", "--select", "users")
    assert 'False as applying from "warehouse"."raw"."feed"' in shop.read(
        "target/compiled/shop/models/users.sql"
    )
    assert [] == tables(shop)


def test_the_plan_stands_in_the_run_folder(shop: Project) -> None:
    """What was run can be read in target/run, where dbt writes the SQL of its own materializations."""
    write_model(shop)
    shop.succeed("run")
    assert "-- auto_cdc: model users: build the target" in shop.read("target/run/shop/models/users.sql")


def test_unit_tests_test_the_select(shop: Project) -> None:
    """Given events come through the model's SQL; is_applying() is false unless the test says otherwise."""
    seen = (
        "select id, city, op, seq, {{ auto_cdc.is_applying() }} as applying from {{ source('raw', 'feed') }}"
    )
    write_model(shop, sql=seen)
    shop.write(
        "models/_unit.yml",
        """
        unit_tests:
          - name: first_run
            model: users
            given: [{input: "source('raw', 'feed')", rows: [{id: 7, city: Oslo}]}]
            expect: {rows: [{id: 7, city: Oslo, applying: false}]}
          - name: later_run
            model: users
            overrides: {macros: {auto_cdc.is_applying: true}}
            given: [{input: "source('raw', 'feed')", rows: [{id: 7, city: Oslo}]}]
            expect: {rows: [{id: 7, city: Oslo, applying: true}]}
        """,
    )
    shop.succeed("run", "--empty")
    shop.succeed("test")
    shop.write(
        "models/_unit.yml", shop.read("models/_unit.yml").replace("applying: true}]", "applying: false}]")
    )
    assert "later_run" in shop.fail("test")


def test_build_runs_data_tests_on_the_target(shop: Project) -> None:
    """`dbt build` runs the model and then its tests; a failing one keeps what is downstream from running."""
    write_model(shop)
    shop.write("models/report.sql", "select * from {{ ref('users') }}")
    test = """
    models:
      - name: users
        columns: [{name: city, tests: [{accepted_values: {values: %s}}]}, {name: __START_AT, tests: [not_null]}]
    """
    shop.write("models/_users.yml", test % "[Oslo, Rome]")
    shop.succeed("build")
    shop.write("models/_users.yml", test % "[Oslo]")
    shop.execute("drop view report")
    shop.fail("build")
    assert ["users", "users__auto_cdc"] == tables(shop)


def test_retry_takes_up_what_failed(shop: Project) -> None:
    """A failing model leaves the others unharmed, and after the repair `dbt retry` runs it alone."""
    shop.writes_manifest = True
    write_model(shop, "broken", sql=FEED + " where city = nothing")
    write_model(shop)
    shop.fail("run")
    assert ["users", "users__auto_cdc"] == tables(shop)

    write_model(shop, "broken")
    results = shop.succeed("retry").result.results
    assert ["broken"] == [result.node.name for result in results]
    assert ["broken", "broken__auto_cdc", "users", "users__auto_cdc"] == tables(shop)


def test_a_refused_model_does_not_spoil_its_thread(shop: Project) -> None:
    """The next model on the same connection starts clean, and the refused one keeps what it had."""
    write_model(shop, "a_first")
    write_model(shop, "b_second", sql=FEED + " where id is not null")
    shop.succeed("run")
    arrive(shop, [*SECOND, (None, "Rome", "U", 50)])
    shop.fail("run")
    assert AFTER_FIRST == shop.query(HISTORY.replace("users", "a_first"))
    assert AFTER_SECOND == shop.query(HISTORY.replace("users", "b_second"))


def test_a_model_may_run_twice_in_one_process(shop: Project) -> None:
    """A second run that brings nothing new changes nothing; so does one under a manifest parsed before."""
    write_model(shop)
    arrive(shop, SECOND)
    shop.succeed("run", "--select", "users", "users")
    figures = shop.responses["users"]
    assert (5, 0, 6) == tuple(figures[f"num_{name}_rows"] for name in ("upserted", "deleted", "read"))
    manifest = shop.succeed("parse").result
    for _ in range(2):
        again = dbtRunner(manifest=manifest).invoke(["--quiet", "run", "--profiles-dir", "."])
        assert "AUTO CDC 0 upserted, 0 deleted, 6 read" == again.result.results[0].message
    assert AFTER_SECOND == shop.query(HISTORY)


def test_ephemeral_models_and_this(shop: Project) -> None:
    """The SELECT may build on ephemeral models, and name its own target by `this`."""
    shop.write("models/events.sql", "{{ config(materialized='ephemeral') }}\n" + FEED)
    sql = """
    select * from {{ ref('events') }}
    {% if auto_cdc.is_applying() %}
    where seq > (select max(__START_AT) from {{ this }}) -- only what is newer
    {% endif %};
    """
    write_model(shop, sql=sql)
    shop.succeed("run")
    arrive(shop, SECOND)
    shop.succeed("run")
    expected = [event for event in AFTER_SECOND if event[0] != 3]
    assert expected == shop.query(HISTORY)
    assert 3 == shop.responses["users"]["num_read_rows"]


def test_is_applying_tells_building_from_going_on(shop: Project) -> None:
    """False in the first run and with --full-refresh, true later; also where a model downstream asks."""
    write_model(shop, scd_type=1, sql="select *, {{ auto_cdc.is_applying() }} as applying from raw.feed")
    query = "select distinct applying from users"
    shop.succeed("run")
    assert [(False,)] == shop.query(query)
    shop.execute("update raw.feed set seq = seq + 1")
    shop.succeed("run")
    assert [(True,)] == shop.query(query)
    shop.succeed("run", "--full-refresh")
    assert [(False,)] == shop.query(query)


def test_is_applying_is_false_where_the_target_is_built_again(shop: Project) -> None:
    """Something else replaced the history by a table without bounds: the run reads all events, not only newer ones."""
    newer = "{% if auto_cdc.is_applying() %} where seq > 10 {% endif %}"
    write_model(shop, sql=FEED + newer)
    shop.succeed("run")
    arrive(shop, SECOND)
    shop.execute("create or replace table users as select 1 as id, 'Oslo' as city")
    shop.succeed("run")
    assert AFTER_SECOND == shop.query(HISTORY)


def test_figures_are_in_the_result_line_and_in_run_results(shop: Project) -> None:
    """The words for people, the numbers for programs."""
    write_model(shop)
    shop.succeed("run")
    arrive(shop, [*SECOND, SECOND[0]])
    shop.succeed("run")
    assert "AUTO CDC 5 upserted, 0 deleted, 7 read, 1 duplicate in" in shop.log
    response = shop.responses["users"]
    assert "AUTO_CDC" == response.pop("code")
    assert "AUTO CDC 5 upserted, 0 deleted, 7 read, 1 duplicate" == response.pop("_message")
    expected = {"upserted": 5, "deleted": 0, "read": 7, "late": 0, "duplicate": 1, "tied": 0}
    assert expected == {name.removeprefix("num_").removesuffix("_rows"): n for name, n in response.items()}


def test_the_run_is_committed(shop: Project) -> None:
    """Another process reads what a run left."""
    write_model(shop)
    shop.succeed("run")
    shop.close()
    code = (
        "import duckdb, sys\n"
        "with duckdb.connect(sys.argv[1], read_only=True) as connection:\n"
        "    print(connection.execute(sys.argv[2]).fetchall())"
    )
    command = [sys.executable, "-c", code, str(shop.database), HISTORY]
    assert f"{AFTER_FIRST}\n" == subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_downstream_models_of_the_same_command_see_the_target(shop: Project) -> None:
    """The target is in dbt's cache as soon as it is built: whoever asks whether it exists is told so."""
    write_model(shop)
    shop.write(
        "models/downstream.sql",
        "{% set found = load_cached_relation(ref('users')) %}\n"
        "select '{{ found.type }}' as type, count(*) as num_rows from {{ ref('users') }}",
    )
    shop.succeed("run")
    assert [("table", 2)] == shop.query("from downstream")


def test_the_documentation_of_the_macros_is_what_dbt_expects(shop: Project) -> None:
    """dbt can check names and types of arguments (since 1.11): there is nothing to complain about."""
    flags = "flags: {validate_macro_args: true, send_anonymous_usage_stats: false}\n"
    shop.write("dbt_project.yml", f"name: shop\nprofile: shop\n{flags}")
    shop.succeed("parse")
    assert "in the yaml for macro" not in shop.log
    assert "in yaml for macro" not in shop.log
    assert "model" in shop.succeed("parse").result.macros["macro.auto_cdc.adopt"].arguments[0].name


def test_without_transactions_a_run_warns_and_works(shop: Project) -> None:
    """A profile may take transactions away: every run says what that costs."""
    shop.write("profiles.yml", shop.read("profiles.yml") + "      disable_transactions: true\n")
    write_model(shop)
    shop.succeed("run")
    arrive(shop, SECOND)
    shop.succeed("run")
    assert "auto_cdc: model users: disable_transactions is set in the profile" in shop.log
    assert AFTER_SECOND == shop.query(HISTORY)


# -- statements --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scd_type", [1, 2])
def test_a_plain_run_sends_few_statements(shop: Project, scd_type: int) -> None:
    """At most thirteen in a run with a late event, the event log's among them, without begin, commit and metadata."""
    write_model(shop, scd_type=scd_type)
    shop.succeed("run")
    arrive(shop, SECOND)
    sent = count_statements(shop, "users")
    of_executor = [text for text in sent if "-- auto_cdc: " in text]
    others = [text for text in sent if "-- auto_cdc: " not in text]
    assert 1 <= len(of_executor) <= 13
    assert any("BEGIN" in text for text in others)
    metadata = (
        "BEGIN",
        "COMMIT",
        "select 1",
        "(describe",
        "'control'",
        "duckdb_indexes()",
        "duckdb_constraints()",
        "duckdb_databases()",
    )
    assert [] == [text for text in others if not any(word in text for word in metadata)]


@hooks_outside
def test_nothing_is_left_of_a_run(shop: Project) -> None:
    """Working tables are gone after the commit, though dbt's connection lives on."""
    write_model(
        shop,
        post_hook={
            "sql": "create table raw.left_over as from duckdb_tables() where temporary",
            "transaction": False,
        },
    )
    shop.succeed("run")
    assert [] == shop.query("from raw.left_over")
