"""The plans that are pinned as text: what is planned, what a parser of each language takes, and nothing that is banned.

Not here: what the statements do (`tests/engines`). A parser takes much that its engine refuses.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dbt_auto_cdc.bridge import open_model
from dbt_auto_cdc.engines import HOW_TO_ADD_ONE, engine_for, required, supported
from dbt_auto_cdc.errors import AutoCdcError
from dbt_auto_cdc.materializations import auto_cdc
from dbt_auto_cdc.names import AROUND
from dbt_auto_cdc.plan import Step
from dbt_auto_cdc.sql import Query
from tests.golden import (
    FOLDER,
    MODES,
    PLACE_OF_SCANS,
    PLACES,
    RUN,
    SCALE,
    engine_of,
    going_on,
    pinned,
    plans,
    table_of,
    with_scans,
)

if TYPE_CHECKING:
    from sqlglot import exp

ROOT = Path(__file__).resolve().parents[2]
RENDERED = [name for name in PLACES if not engine_of(name).is_run]
STEPWISE = [name for name in PLACES if not engine_of(name).transactions]
# PostgreSQL is planned for with what others lack.
PLAIN = [name for name in PLACES if name != "postgres"]
SPARKS = ("spark", "databricks")
# What only another run does: rows that were added do not count.
TAKEN_BACK = {"claim it", "remember that its rows do not count", "take back the rows of the run before"}


def steps(name: str, mode: str) -> Iterator[Step]:
    for plan in plans(name, MODES[mode]):
        yield from (*plan.steps, *plan.closing)


@cache
def parsed(name: str, sql: str) -> tuple[exp.Expression, ...]:
    """Return what the parser of an engine's dialect makes of a text: many plans have the same statements."""
    import sqlglot

    return tuple(tree for tree in sqlglot.parse(sql, read=name) if tree is not None)


@cache
def trees(name: str) -> list[tuple[str, exp.Expression]]:
    """Return each statement of an engine, with what its dialect's parser makes of it."""
    engine, found = engine_of(name), []
    for mode in MODES:
        for step in steps(name, mode):
            for sql in engine.statements(step.script):
                found += [(f"{name} {mode}: {step.name}", tree) for tree in parsed(name, sql)]
    return found


def noted(name: str) -> Iterator[tuple[str, exp.Expression]]:
    """Yield the statements that a run writes down before it sends them."""
    from sqlglot import exp

    for place, tree in trees(name):
        if place.endswith("write down what is left to do"):
            texts = [literal.this for literal in tree.find_all(exp.Literal) if literal.is_string]
            for text in texts:
                if text.startswith(f"{RUN} {{"):
                    note = json.loads(text.removeprefix(RUN))
                    to_do = [(step, sql) for step, sql in (*note["to_do"], *note["otherwise"]) if " " in sql]
                    yield from ((step, tree) for step, sql in to_do for tree in parsed(name, sql))


def found(name: str, *kinds: Any) -> list[str]:
    """Return where an engine's statements have some kind of expression."""
    return [f"{place}: {node.sql()[:80]}" for place, tree in trees(name) for node in tree.find_all(*kinds)]


def test_the_files_are_what_is_planned() -> None:
    """After a change of what is planned: make golden, and look at what has changed."""
    wanted = dict(pinned())
    assert set(wanted) == set(FOLDER.rglob("*.sql"))
    for path, text in wanted.items():
        there = path.read_text(encoding="utf-8")
        changed = difflib.unified_diff(
            there.splitlines(), text.splitlines(), "file", "plan", lineterm="", n=1
        )
        assert there == text, f"{path.relative_to(FOLDER)}\n" + "\n".join(list(changed)[:40])


def test_the_manual_counts_what_is_planned() -> None:
    """The page on large tables says of each materialization which statements read target and companion."""
    page = SCALE.read_text(encoding="utf-8")
    assert with_scans(page) == page
    assert 1 == len(PLACE_OF_SCANS.findall(page))


def test_every_engine_is_pinned() -> None:
    """But DuckDB, on which every plan of the tests is run."""
    assert {*supported()} - {"duckdb"} == {*PLACES}


@pytest.mark.parametrize("name", RENDERED)
def test_what_is_rendered_at_least(name: str) -> None:
    """All SCD types, of changes and of dumps, what is expected, rows that are only added, and that are replaced."""
    there = {path.stem for path in (FOLDER / name).glob("*.sql")}
    assert {"scd1", "scd2", "bitemporal", "snapshot_scd1", "snapshot_scd2", "scd1_expectations"} <= there
    assert {"append_flow", "replace_using", "replace_where"} <= there


@pytest.mark.parametrize("name", PLACES)
def test_each_statement_is_one_that_its_dialect_knows(name: str) -> None:
    """A parser of the dialect takes it whole; of PostgreSQL's blocks and statistics it sees only that they are some."""
    from sqlglot import exp

    sent = sum(len(engine_of(name).statements(step.script)) for mode in MODES for step in steps(name, mode))
    unknown = [place for place, tree in trees(name) if isinstance(tree, exp.Command)]
    assert sent <= len(trees(name))
    if name != "postgres":
        assert [] == unknown
        assert sent == len(trees(name))


@pytest.mark.parametrize("name", STEPWISE)
def test_what_is_written_down_is_what_is_sent(name: str) -> None:
    """The note of what is left to do holds the statements that follow it, which the dialect knows too."""
    sent = {tree.sql(dialect=name) for _, tree in trees(name)}
    written = [(step, tree.sql(dialect=name)) for step, tree in noted(name)]
    assert len(written) > len(MODES)
    assert TAKEN_BACK == {step for step, sql in written if sql not in sent}


@pytest.mark.parametrize("name", PLAIN)
def test_what_is_never_emitted(name: str) -> None:
    """What an engine lacks, or means something else by: see the names of the expressions."""
    from sqlglot import exp

    banned = {
        *(exp.Qualify, exp.Filter, exp.Bracket, exp.ArrayAgg, exp.ArgMax, exp.ArgMin, exp.IgnoreNulls),
        *(exp.Struct, exp.MD5, exp.SHA, exp.SHA2, exp.Lateral, exp.Unnest),
    }
    if name in SPARKS:  # which keep nulls in structs, and know windows by name: it is run so
        banned -= {exp.Filter, exp.ArgMax, exp.ArgMin, exp.IgnoreNulls, exp.Struct}
    assert [] == found(name, *banned)
    assert [] == [
        step.name for mode in MODES for step in steps(name, mode) if "infinity" in step.script.lower()
    ]
    for place, tree in trees(name):
        for select in tree.find_all(exp.Select):
            assert name in SPARKS or not select.args.get("windows"), f"{place}: a window with a name"
        for star in tree.find_all(exp.Star):
            assert not any(star.args.values()), f"{place}: all columns but some"


@pytest.mark.parametrize("name", STEPWISE)
def test_what_gives_rows(name: str) -> None:
    """Queries do, whatever they begin with; of anything else nobody asks for rows."""
    engine = engine_of(name)
    queries = ("select 1", "-- why\nwith a as (select 1) select * from a", "DESCRIBE a", "show tables")
    assert [True] * 4 == [engine.gives_rows(sql) for sql in queries]
    assert not any(engine.gives_rows(sql) for sql in ("drop table a", "insert into a select 1"))


@pytest.mark.parametrize("name", PLAIN)
def test_how_rows_are_written(name: str) -> None:
    """No query stands before a statement that writes, and MERGE says nothing of rows that its source lacks."""
    from sqlglot import exp

    for place, tree in trees(name):
        if isinstance(tree, exp.Insert | exp.Update | exp.Delete | exp.Merge):
            assert not tree.args.get("with_"), place
        if isinstance(tree, exp.Delete):
            assert not tree.args.get("using"), place
            assert tree.args.get("where"), place
        if isinstance(tree, exp.Merge):
            whens = tree.args["whens"].expressions
            assert [False] * len(whens) == [bool(when.args.get("source")) for when in whens], place
            matched = [bool(when.args.get("matched")) for when in whens]
            assert sorted(matched, reverse=True) == matched, place
        for made in tree.find_all(exp.Create):
            assert not made.find(exp.TemporaryProperty), place


@pytest.mark.parametrize("name", [name for name in PLAIN if name not in SPARKS])
def test_no_name_means_two_things(name: str) -> None:
    """A name that a SELECT gives is no column that it reads elsewhere: engines differ in which they take.

    Spark takes the column.
    """
    from sqlglot import exp

    for place, tree in trees(name):
        for select in tree.find_all(exp.Select):
            for given in select.expressions:
                read = [
                    column.name.lower()
                    for part in (
                        *select.expressions,
                        *(select.args.get(each) for each in ("where", "group", "having")),
                    )
                    if part is not None and part is not given
                    for column in part.find_all(exp.Column)
                    if not column.table and column.find_ancestor(exp.Select) is select
                ]
                is_new = not isinstance(given, exp.Column | exp.Star)
                assert not (is_new and given.alias_or_name.lower() in read), f"{place}: {given.sql()[:90]}"


@pytest.mark.parametrize("name", ["spark", "bigquery"])
def test_what_a_sub_query_takes_from_around_it(name: str) -> None:
    """What it asks a relation around it for stands behind a reserved name, which no column within can have.

    These engines take another name for that of a column there, and what follows it for one of its fields.
    """
    from sqlglot import exp

    asked = set()
    for place, tree in trees(name):
        for select in tree.find_all(exp.Select):
            sources = [select.args.get("from_"), *select.args.get("joins", ())]
            within = {each.this.alias_or_name for each in sources if each}
            for column in select.find_all(exp.Column):
                if column.table and column.find_ancestor(exp.Select) is select and column.table not in within:
                    assert column.table == AROUND, f"{place}: {column.sql()} in {select.sql()[:90]}"
                    asked.add(place)
    assert len(asked) > 10


@pytest.mark.parametrize("name", ["redshift", "bigquery", "trino", "snowflake"])
def test_no_name_is_a_word_of_the_language(name: str) -> None:
    """Names without quotes, of steps, columns and relations, are none that the engine keeps for itself."""
    from sqlglot import exp
    from sqlglot.dialects import BigQuery, Redshift, Trino

    snowflake = (
        "current following from group having in join like of on order qualify row rows sample select set"
    )
    reserved = {
        "redshift": Redshift.Generator.RESERVED_KEYWORDS,
        "bigquery": BigQuery.Generator.RESERVED_KEYWORDS,
        "trino": Trino.Generator.RESERVED_KEYWORDS,
        "snowflake": set((snowflake + " some start table then to trigger union unique values when").split()),
    }[name]
    names = {
        (node.name.lower(), place)
        for place, tree in trees(name)
        for node in tree.find_all(exp.Identifier)
        if not node.args.get("quoted")
    }
    assert len(reserved) > 25
    assert [] == sorted((word, place) for word, place in names if word in reserved)


def test_what_redshift_lacks() -> None:
    """No null-safe comparison, no MERGE, no text without a length, nothing written by another name."""
    from sqlglot import exp

    assert [] == found("redshift", exp.NullSafeEQ, exp.NullSafeNEQ, exp.Merge)
    for place, tree in trees("redshift"):
        for cast in tree.find_all(exp.Cast):
            if cast.to.is_type("varchar"):
                assert cast.to.expressions, f"{place}: {cast.sql()}"
        if isinstance(tree, exp.Delete):
            assert not tree.this.args.get("alias"), place


def test_what_bigquery_lacks() -> None:
    """Columns of a query in FROM get no names beside its alias, and joins of one side that stays have an equality."""
    from sqlglot import exp

    for place, tree in trees("bigquery"):
        for alias in tree.find_all(exp.TableAlias):
            assert not alias.args.get("columns"), f"{place}: {alias.sql()}"
        for join in tree.find_all(exp.Join):
            if join.side in {"LEFT", "RIGHT", "FULL"}:
                assert any(join.args["on"].find_all(exp.EQ)), f"{place}: {join.sql()[:80]}"
                assert not list(join.args["on"].find_all(exp.NullSafeEQ)), f"{place}: {join.sql()[:80]}"


def test_trino_keeps_microseconds() -> None:
    """A timestamp without a precision would have three digits."""
    from sqlglot import exp

    kinds = {
        kind.sql(dialect="trino")
        for _, tree in trees("trino")
        for kind in tree.find_all(exp.DataType)
        if kind.is_type("timestamp")
    }
    assert {"TIMESTAMP(6)"} == kinds


# what is refused


def opened(name: str, sql: str = "select * from feed", **config: Any) -> Any:
    return open_model(
        name="customers",
        adapter_type=name,
        config={**dict(PLACES[name].config), "materialized": "auto_cdc", **config},
        written=config,
        identifier="customers",
        target="shop.customers",
        sql=sql,
        beside=lambda path: f"shop.{path['identifier']}",
        known=frozenset(dict(PLACES[name].config)),
    )


EVENTS = {"keys": ["id"], "sequence_by": "seq"}
REFUSED = {
    "version_query": {
        "materialized": "auto_cdc_snapshot",
        "keys": ["id"],
        "version_query": "select min(day) from dumps",
    },
    "equal_sequence=append": {
        "materialized": "replace_using",
        "replace_using": ["id"],
        "sequence_by": "seq",
        "equal_sequence": "append",
    },
    "columns_to_update": {**EVENTS, "columns_to_update": "sent"},
    "ignore_null_updates": {**EVENTS, "ignore_null_updates": True},
    "ignore_null_updates_column_list": {**EVENTS, "ignore_null_updates_column_list": ["v"]},
    "ignore_null_updates_except_column_list": {**EVENTS, "ignore_null_updates_except_column_list": ["v"]},
    "change_data_feed": {**EVENTS, "change_data_feed": True},
}


@pytest.mark.parametrize("name", RENDERED)
def test_every_option_that_is_not_served_is_refused_by_its_name(name: str) -> None:
    """The message names the engine, the option, and the value where others are served."""
    engine = engine_of(name)
    assert set(engine.not_served) <= set(REFUSED)
    for each in engine.not_served:
        option, _, value = each.partition("=")
        with pytest.raises(AutoCdcError) as refused:
            opened(name, **REFUSED[each])
        said = f"{option} is {value}" if value else f"{option} is set"
        assert f"model customers: {said}, which is not served on {engine.name}; " in str(refused.value)


def test_what_is_not_served_in_the_place_of_what_is_required() -> None:
    """Who leaves the version query out would be told that the version is missing."""
    with pytest.raises(
        AutoCdcError, match=r"version_query is set, .* on BigQuery; write snapshot_version there"
    ):
        opened("bigquery", **REFUSED["version_query"])


@pytest.mark.parametrize("name", RENDERED)
def test_the_event_log_is_refused(name: str) -> None:
    """Where there is none nobody may ask for it."""
    with pytest.raises(AutoCdcError, match="event_log is true, and there is no event log on"):
        opened(name, **EVENTS, event_log=True)
    with pytest.raises(AutoCdcError, match="event_log is true, and there is no event log on"):
        opened(name, **EVENTS, meta={"event_log": True})


def test_what_is_left_to_do_has_to_fit() -> None:
    """Redshift's longest text would cut off what a run writes down: refused before anything is written."""
    from dataclasses import replace

    from dbt_auto_cdc.state import Column
    from tests.golden import PLANS, going_on, table_of

    table = table_of("redshift", MODES["scd1"])
    assert table is not None
    many = tuple(Column(f"a_rather_long_name_{number}", "integer") for number in range(1500))
    table = replace(table, state=replace(table.state, feed=(*table.state.feed, *many)))
    with pytest.raises(
        AutoCdcError, match=r"are \d+ bytes, and Redshift keeps no text of more than 65535; leave"
    ):
        PLANS["auto_cdc"](going_on(table))


def test_an_engine_nobody_wrote() -> None:
    """The message names the adapter and what there is, and leads to a page that is there."""
    with pytest.raises(
        AutoCdcError, match="there is no engine for adapter teradata; there is: bigquery, "
    ) as said:
        required("teradata", "customers")
    assert HOW_TO_ADD_ONE in str(said.value)
    assert (ROOT / HOW_TO_ADD_ONE).is_file()
    assert engine_for("stepwise") is None


# how rows lie

LAYOUTS = {
    "spark": [
        (
            {"file_format": "iceberg", "partition_by": ["bucket(8, id)", "day"]},
            " partitioned by (bucket(8, id), day)",
            "",
        ),
        ({"file_format": "delta"}, "", ""),
    ],
    "databricks": [
        ({"liquid_clustered_by": "id"}, " cluster by (id)", " cluster by (`id`)"),
        ({"partition_by": ["day"]}, " partitioned by (day)", ""),
        ({}, "", ""),
    ],
    "snowflake": [
        ({"cluster_by": ["id", "day"]}, " cluster by (id, day)", ' cluster by ("id")'),
        ({}, "", ""),
    ],
    "bigquery": [
        ({"cluster_by": "id"}, " cluster by id", " cluster by `id`"),
        (
            {"partition_by": {"field": "day", "data_type": "date"}, "cluster_by": ["id"]},
            " partition by day cluster by id",
            " cluster by `id`",
        ),
        (
            {"partition_by": {"field": "at", "data_type": "datetime", "granularity": "month"}},
            " partition by datetime_trunc(at, month)",
            " cluster by `id`",
        ),
        (
            {
                "partition_by": {
                    "field": "id",
                    "data_type": "int64",
                    "range": {"start": 0, "end": 9, "interval": 1},
                }
            },
            " partition by range_bucket(id, generate_array(0, 9, 1))",
            " cluster by `id`",
        ),
        ({}, "", ""),
    ],
    "trino": [({"properties": {"partitioning": "ARRAY['id']"}}, " with (partitioning = ARRAY['id'])", "")],
    "redshift": [
        (
            {"dist": "id", "sort": ["id", "day"]},
            " diststyle key distkey (id) compound sortkey (id, day)",
            ' compound sortkey ("id")',
        ),
        ({"dist": "even"}, " diststyle even", ' compound sortkey ("id")'),
        ({}, "", ""),
    ],
}


def test_properties_of_tables_go_to_target_and_companion() -> None:
    """`tblproperties` of dbt-spark are those of all tables of the model, in quotes that hold."""
    properties = {"write.merge.mode": "merge-on-read", "owner": "O'Hara", "gc.enabled": False}
    engine = required("spark", "customers").configured(
        {"file_format": "iceberg", "tblproperties": properties, "partition_by": "day"}, "customers"
    )
    options = (
        " using iceberg tblproperties ('write.merge.mode' = 'merge-on-read', 'owner' = 'O\\'Hara',"
        " 'gc.enabled' = 'False')"
    )
    assert options == engine.table_options
    made = engine.fill("customers", {"`id`": "int"}, Query().then("rows", "select 1"))[0]
    assert made.startswith(f"create or replace table customers{options} partitioned by (day) as\n")
    assert engine.define("customers__auto_cdc", {"`id`": "int"}).endswith(f"\n){options}")
    own = [
        "'format-version' = '2'",
        "'write.merge.mode' = 'merge-on-read'",
        "'owner' = 'O\\'Hara'",
        "'gc.enabled' = 'False'",
        "'write.update.mode' = 'copy-on-write'",
    ]
    assert f" using iceberg tblproperties ({', '.join(own)})" == engine.companion_options
    assert engine.drop_table("customers").endswith(" purge")


def test_a_companion_is_compacted_when_enough_lies_beside_its_files() -> None:
    """The run in which that is so writes its files anew, last of all, and begins to count from nothing."""
    table = table_of("spark", MODES["scd1_plain"])
    assert table is not None
    after = going_on(table)
    for layers, counted in {17: "18", 18: "19", 19: "0", 20: "0"}.items():
        plan = auto_cdc.plan(replace(after, state=replace(after.state, layers=layers)))
        is_last = plan.steps[-1].name == "write the companion's files anew"
        assert (counted == "0") == is_last
        changed = next(step.sql for step in plan.steps if step.name == "change shop.customers__auto_cdc")
        assert f"'layers' as __auto_cdc_kind,\n        '{counted}' as __auto_cdc_control" in changed


def test_what_of_a_companion_is_written_beside_its_files() -> None:
    """A companion of Iceberg is compacted, unless the format of its files knows of nothing beside them."""
    for version, anew in {"1": "", "3": "update kept set __auto_cdc_kind = __auto_cdc_kind"}.items():
        config = {"file_format": "iceberg", "tblproperties": {"format-version": version}}
        engine = required("spark", "customers").configured(config, "customers")
        assert anew == engine.compact("kept")
        assert bool(anew) == ("merge-on-read" in engine.companion_options)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"tblproperties": ["a"]}, "tblproperties is no mapping; write names with their values"),
        (
            {"location_root": "/lake"},
            "location_root is set, which is not served on Spark; leave it out, tables lie where the schema does",
        ),
        (
            {"clustered_by": "id", "buckets": 4},
            "clustered_by is set, which is not served on Spark; write buckets into partition_by",
        ),
    ],
)
def test_layouts_that_would_be_lost_are_refused(config: dict[str, object], said: str) -> None:
    """An option of dbt-spark that says where or how rows lie is obeyed or refused, never passed over."""
    with pytest.raises(AutoCdcError, match=re.escape(f"model customers: {said}")):
        required("spark", "customers").configured({"file_format": "iceberg", **config}, "customers")


@pytest.mark.parametrize("name", LAYOUTS)
def test_options_of_the_adapter_lay_the_rows_out(name: str) -> None:
    """The target lies as the adapter's own options say, and the companion by its keys where that is of use."""
    for config, target, companion in LAYOUTS[name]:
        engine = required(name, "customers").configured(config, "customers")
        assert target == engine.layout
        assert companion == engine.layout_of_companion([engine.quote("id")])
