"""Streams and append_flow as models of a dbt project: parsed, compiled, shown, tested, cloned, run and refused.

Not here: which rows are read (`scenarios/test_streams`, `properties/test_streams`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import yaml

from tests.databases import chosen

if TYPE_CHECKING:
    from tests.dbt_project import Project

pytestmark = pytest.mark.dbt

ORDERS = """
{{ config(
    materialized='auto_cdc', keys=['id'], sequence_by='n', apply_as_deletes="op = 'D'", column_list=['id', 'n']
) }}
select id, n, op from {{ auto_cdc.stream(ref('events'), offset='n') }} as s
"""
BRONZE = """
{{ config(materialized='append_flow', persist_docs={'relation': true, 'columns': true}, contract={'enforced': true}) }}
select * from {{ auto_cdc.stream(source('raw', 'feed'), offset='n') }} as s
"""
SILVER = """
{{ config(materialized='append_flow', expect_all_or_drop={'has_id': 'id is not null'}) }}
select * from {{ auto_cdc.stream(ref('bronze')) }} as s
"""
GOLD = """
{{ config(materialized='auto_cdc', keys=['id'], sequence_by='n') }}
with new as (select * from {{ ref('read_silver') }}) select id, n from new
"""
BRONZE_YAML = """
models:
  - name: bronze
    description: All that the feed brought.
    columns:
      - {name: id, data_type: integer, description: The order.}
      - {name: n, data_type: bigint, constraints: [{type: not_null}]}
      - {name: op, data_type: text}
"""


@pytest.fixture
def shop(project: Project) -> Project:
    """Give a project with a feed and a view of it."""
    project.execute("create table feed (id integer, n bigint, op varchar)")
    project.execute("insert into feed values (1, 1, 'U'), (2, 2, 'U'), (null, 3, 'U')")
    schema = project.schema or "main"
    project.write(
        "models/_sources.yml",
        f"sources:\n  - {{name: raw, schema: {schema}, tables: [{{name: feed}}]}}\n",
    )
    project.write(
        "models/events.sql",
        "{{ config(materialized='view') }} select * from {{ source('raw', 'feed') }} where id > 0",
    )
    project.write("models/orders.sql", ORDERS)
    return project


def medallion(project: Project) -> None:
    project.write("models/bronze.sql", BRONZE)
    project.write("models/_bronze.yml", BRONZE_YAML)
    project.write("models/silver.sql", SILVER)
    project.write(
        "models/read_silver.sql",
        "{{ config(materialized='ephemeral') }} select * from {{ auto_cdc.stream(ref('silver')) }} as s",
    )
    project.write("models/gold.sql", GOLD)


def figures(project: Project, figure: str = "num_output_rows") -> dict[str, int]:
    return {name: found[figure] for name, found in project.responses.items() if figure in found}


def test_each_run_reads_what_is_new(shop: Project) -> None:
    """From a source to an append_flow, from there to another one and, through an ephemeral model, to a table of keys.

    Contract, descriptions and expectations work; a rebuild of all starts all of them over.
    """
    medallion(shop)
    shop.succeed("run")
    assert {"bronze": 3, "silver": 2} == figures(shop)
    assert {"orders": 2, "gold": 2} == figures(shop, "num_read_rows")
    assert ["id", "n", "op", "__auto_cdc_run"] == shop.columns("bronze")
    shop.execute("insert into feed values (1, 4, 'D'), (3, 5, 'U')")
    shop.succeed("run")
    assert {"bronze": 2, "silver": 2} == figures(shop)
    assert {"orders": 2, "gold": 2} == figures(shop, "num_read_rows")
    assert [(2, 2), (3, 5)] == shop.query("select id, n from orders order by id")
    assert [(1, 4), (2, 2), (3, 5)] == shop.query("select id, n from gold order by id")
    shop.succeed("run")
    assert {"bronze": 0, "silver": 0} == figures(shop)
    shop.succeed("run", "--full-refresh", "--select", "bronze")
    assert "was built anew" in shop.fail("run", "--select", "silver")
    shop.succeed("run", "--full-refresh")
    assert {"bronze": 5, "silver": 4} == figures(shop)
    assert {"orders": 4, "gold": 4} == figures(shop, "num_read_rows")


@pytest.mark.only_on("duckdb")
def test_comments_and_constraints(shop: Project) -> None:
    """What the contract says of the columns holds, and the descriptions are the table's."""
    medallion(shop)
    shop.succeed("run", "--select", "bronze")
    comments = "select comment from duckdb_columns() where table_name = 'bronze' and column_name = 'id'"
    assert [("The order.",)] == shop.query(comments)
    assert [("All that the feed brought.",)] == shop.query(
        "select comment from duckdb_tables() where table_name = 'bronze'"
    )
    assert [(False,)] == shop.query(
        "select is_nullable from duckdb_columns() where table_name = 'bronze' and column_name = 'n'"
    )
    shop.write("models/_bronze.yml", BRONZE_YAML.replace("name: op", "name: operation"))
    assert "This model has an enforced contract that failed" in shop.fail("run", "--select", "bronze")


def test_outside_of_a_run_a_stream_gives_everything(shop: Project) -> None:
    """In `dbt show`, in compiled SQL and in unit tests; `explain` says where the next run goes on."""
    medallion(shop)
    shop.write(
        "models/_tests.yml",
        """
        unit_tests:
          - name: all_rows_given
            model: orders
            given:
              - {input: ref('events'), rows: [{id: 7, n: 1, op: U}, {id: 8, n: 2, op: D}]}
            expect: {rows: [{id: 7, op: U}, {id: 8, op: D}]}
          - name: also_of_an_append_flow
            model: silver
            given:
              - {input: ref('bronze'), rows: [{id: 7}, {id: null}]}
            expect: {rows: [{id: 7}, {id: null}]}
        """,
    )
    shop.succeed("run", "--select", "bronze +orders")
    shop.succeed("test", "--select", "test_type:unit")
    shop.succeed("run", "--select", "silver")
    (result,) = shop.succeed("show", "--select", "orders", "--output", "json").result.results
    assert 2 == len(result.agate_table.rows)
    shop.succeed("compile", "--select", "gold")
    compiled = shop.read("target/compiled/shop/models/gold.sql")
    assert compiled.count("-- auto_cdc: read {") == 1
    assert 3 == shop.query(f"select count(*) from (\n{shop.read(_compiled_of(shop, 'bronze'))}\n) as s")[0][0]
    shop.succeed("run-operation", "auto_cdc.explain", "--args", "{model: orders}")
    assert "stream events: by n, above 2" in shop.log


def _compiled_of(project: Project, model: str) -> str:
    project.succeed("compile", "--select", model)
    return f"target/compiled/shop/models/{model}.sql"


def test_a_part_of_the_source_moves_nothing(shop: Project) -> None:
    """--empty builds or leaves as they are, and the next run reads from where the last one ended."""
    medallion(shop)
    shop.succeed("run", "--empty")
    shop.succeed("run", "--select", "bronze +orders")
    assert {"bronze": 3} == figures(shop)
    shop.execute("insert into feed values (5, 6, 'U')")
    shop.succeed("run", "--empty")
    shop.succeed("run", "--select", "bronze +orders")
    assert {"bronze": 1} == figures(shop)
    assert 1 == figures(shop, "num_read_rows")["orders"]


def test_a_source_that_was_built_anew(shop: Project) -> None:
    """The run is refused with the operation that helps; after it the new rows are read."""
    shop.succeed("run", "--select", "+orders")
    shop.execute("delete from feed")
    shop.execute("insert into feed values (9, 1, 'U')")
    said = shop.fail("run", "--select", "orders")
    assert "stream events: the greatest n of" in said
    assert "auto_cdc.reset_streams --args '{model: orders, streams: [events]}'" in said
    arguments = ["run-operation", "auto_cdc.reset_streams", "--args"]
    assert "did you mean events?" in shop.fail(*arguments, "{model: orders, streams: [event]}")
    shop.succeed(*arguments, "{model: orders, streams: [events]}")
    assert "auto_cdc: model orders: the next run reads from the beginning: events (read up to 2)" in shop.log
    shop.succeed("run", "--select", "orders")
    assert 1 == figures(shop, "num_read_rows")["orders"]
    assert [(1, 1), (2, 2), (9, 1)] == shop.query("select id, n from orders order by id")


def test_what_is_wrong_is_said_while_dbt_parses(shop: Project) -> None:
    """Of arguments by the macro, of the materialization by the check of all models; a warning of what is read again."""
    shop.write("models/orders.sql", ORDERS.replace("offset='n'", "ofset='n', look_back='soon'"))
    said = shop.fail("parse")
    assert "auto_cdc: model orders: 2 problems" in said
    assert "stream has no argument ofset; did you mean offset?" in said
    shop.write("models/orders.sql", ORDERS)
    stream = "{{ auto_cdc.stream(ref('events'), offset='n', look_back=3) }}"
    wrong = {
        "a_table": "materialized='table'",
        "a_dump": "materialized='auto_cdc_snapshot', keys=['id'], snapshot_version='n'",
        "a_flow": "materialized='append_flow'",
    }
    for name, config in wrong.items():
        shop.write(f"models/{name}.sql", f"{{{{ config({config}) }}}} select * from {stream} as s")
    said = shop.fail("parse")
    assert "model a_table (models/a_table.sql): a stream stands in a model materialized as table" in said
    assert "model a_dump (models/a_dump.sql): a stream gives new rows only" in said
    assert "model a_flow (models/a_flow.sql): a stream has look_back, and append_flow would have" in said
    for name in wrong:
        (shop.root / f"models/{name}.sql").unlink()
    select = "select * from {{ auto_cdc.stream(ref('events'), offset='n') }} as s"
    flow = f"{{% call auto_cdc.flow('f'%s) %}} {select} {{% endcall %}}"
    dumps = "{{ config(materialized='auto_cdc', keys=['id'], sequence_by='n') }} " + flow
    shop.write("models/dumps.sql", dumps.replace("%s", ", snapshot_version='n'"))
    assert "auto_cdc: model dumps: flow f: a stream gives new rows only" in shop.fail("parse")
    (shop.root / "models/dumps.sql").unlink()
    appends = "{{ config(materialized='append_flow') }} " + flow
    shop.write("models/in_flow.sql", appends.replace("%s", ""))
    shop.write(
        "models/all_again.sql",
        "{{ config(materialized='append_flow') }} select * from {{ ref('events') }}",
    )
    shop.succeed("parse")
    assert "all_again (models/all_again.sql): append_flow adds every row that its SQL gives" in shop.log
    assert "orders (models" not in shop.log
    assert "in_flow (models" not in shop.log


@pytest.mark.only_on("duckdb")
def test_a_clone_goes_on_where_its_original_is(shop: Project) -> None:
    """Positions and numbers of runs are in the companion, which clone_companions copies."""
    medallion(shop)
    named = BRONZE_YAML.rstrip() + "\n      - {name: __auto_cdc_run, data_type: bigint}\n"
    shop.write("models/_bronze.yml", named)
    if chosen() == "ducklake":
        # dbt clones into views, and DuckLake takes no comments on their columns.
        shop.write("models/bronze.sql", BRONZE.replace(", 'columns': true", ""))
    profile = yaml.safe_load(shop.read("profiles.yml"))
    dev = profile["shop"]["outputs"]["dev"]
    profile["shop"]["outputs"] = {name: {**dev, "schema": name} for name in ("dev", "prod")}
    shop.write("profiles.yml", yaml.safe_dump(profile))
    shop.writes_manifest = True
    shop.succeed("run", "--target", "prod")
    (shop.root / "target").rename(shop.root / "state")
    shop.succeed("clone", "--state", str(shop.root / "state"))
    shop.succeed("run-operation", "auto_cdc.clone_companions", "--args", "{from_schema: prod}")
    shop.succeed("run")
    assert {"bronze": 0, "silver": 0} == figures(shop)
    shop.execute("insert into feed values (7, 9, 'U')")
    for target in ("dev", "prod"):
        shop.succeed("run", "--target", target)
        assert {"bronze": 1, "silver": 1} == figures(shop)
        assert {"orders": 1, "gold": 1} == figures(shop, "num_read_rows")
    query = "from {}.silver order by all"
    assert shop.query(query.format("dev")) == shop.query(query.format("prod"))
