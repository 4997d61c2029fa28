"""What engines that are not run make of types and values, and how they ask for columns.

Not here: their plans (`test_golden`), and what DuckDB runs of these (`tests/engines/test_rendered`).
"""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from dbt_auto_cdc import bridge
from dbt_auto_cdc.engines import engine_for
from dbt_auto_cdc.engines.base import Engine
from tests.golden import engine_of

ASKED = "select id, 'it''s' as word from feed"


def named(name: str) -> Engine:
    return replace(engine_of(name), scratch="shop.scratch")


@pytest.mark.parametrize(
    ("name", "stored", "incoming", "kept", "altered"),
    [
        ("snowflake", "NUMBER(38,0)", "NUMBER(38,0)", True, True),
        ("snowflake", "NUMBER(10,2)", "NUMBER(12,2)", True, True),
        ("snowflake", "NUMBER(10,2)", "NUMBER(14,4)", True, False),
        ("snowflake", "NUMBER(10,2)", "NUMBER(10,4)", False, False),
        ("snowflake", "VARCHAR(10)", "VARCHAR(16777216)", True, True),
        ("snowflake", "VARCHAR(20)", "VARCHAR(10)", False, True),
        ("snowflake", "NUMBER(10,0)", "FLOAT", False, True),
        ("snowflake", "DATE", "TIMESTAMP_NTZ(9)", False, True),
        ("bigquery", "INT64", "NUMERIC", True, True),
        ("bigquery", "INT64", "BIGNUMERIC", True, True),
        ("bigquery", "INT64", "FLOAT64", False, True),
        ("bigquery", "NUMERIC(10, 2)", "NUMERIC", True, True),
        ("bigquery", "NUMERIC", "NUMERIC(10, 2)", False, True),
        ("bigquery", "NUMERIC(10, 2)", "NUMERIC(12, 3)", True, True),
        ("bigquery", "STRING", "INT64", False, True),
        ("bigquery", "STRUCT<a INT64>", "STRUCT<a STRING>", False, True),
        ("trino", "integer", "bigint", True, True),
        ("trino", "smallint", "integer", True, False),
        ("trino", "bigint", "integer", False, False),
        ("trino", "real", "double", True, True),
        ("trino", "bigint", "double", False, False),
        ("trino", "decimal(10,2)", "decimal(12,2)", True, True),
        ("trino", "decimal(10,2)", "decimal(14,4)", True, False),
        ("trino", "varchar(10)", "varchar", True, False),
        ("redshift", "character varying(10)", "character varying(20)", True, True),
        ("redshift", "character varying(20)", "character varying(10)", False, True),
        ("redshift", "integer", "bigint", True, False),
        ("redshift", "integer", "numeric(12,0)", True, False),
        ("databricks", "int", "bigint", True, False),
        ("databricks", "string", "string", True, True),
    ],
)
def test_wider_types(name: str, stored: str, incoming: str, kept: bool, altered: bool) -> None:
    """A type is wider where every value stays what it is; some the engine can also give to a column that is there."""
    engine = engine_of(name)
    assert [kept, altered] == [engine.widens(stored, incoming), engine.alters(stored, incoming)]


@pytest.mark.parametrize(
    ("name", "ordered", "unordered", "told", "untold"),
    [
        ("snowflake", "NUMBER(9,0) DATE TIMESTAMP_TZ(9) VARCHAR(5)", "BOOLEAN VARIANT FLOAT", "BINARY(8)", "FLOAT"),
        ("bigquery", "INT64 DATETIME TIMESTAMP STRING", "FLOAT64 BOOL JSON", "BOOL BYTES", "FLOAT64 ARRAY<INT64> JSON"),
        ("trino", "bigint timestamp(6) varchar(3)", "boolean json real", "boolean date", "array(integer) double"),
        ("redshift", "bigint numeric(8,2) date", "boolean super", "boolean date", "real super"),
    ],
)  # fmt: skip
def test_what_orders_and_tells(name: str, ordered: str, unordered: str, told: str, untold: str) -> None:
    """A sequence has a type with an order, and a key one whose values are told apart."""
    engine = engine_of(name)
    assert all(map(engine.is_orderable, ordered.split()))
    assert not any(map(engine.is_orderable, unordered.split()))
    assert all(map(engine.has_equality, told.split()))
    assert not any(map(engine.has_equality, untold.split()))


@pytest.mark.parametrize(
    "kind", ["timestamp without time zone", "timestamp with time zone", "character varying(9)"]
)
def test_types_of_several_words(kind: str) -> None:
    """Redshift's types have names of several words, and orders all the same."""
    assert engine_of("redshift").is_orderable(kind)


@pytest.mark.parametrize(
    ("name", "kind", "exact"),
    [
        ("snowflake", "TIMESTAMP_LTZ(9)", "cast(date_part(epoch_nanosecond, v) as varchar)"),
        ("snowflake", "DATE", "to_varchar(v, 'YYYY-MM-DD')"),
        ("snowflake", "NUMBER(9,2)", "cast(v as varchar)"),
        ("trino", "timestamp(6) with time zone", "cast(v at time zone 'UTC' as varchar)"),
        ("trino", "varbinary", "to_hex(v)"),
        ("redshift", "timestamp with time zone", "cast(v at time zone 'UTC' as varchar(65535))"),
        ("redshift", "boolean", "case when v then 'true' when not v then 'false' end"),
    ],
)
def test_a_text_that_no_setting_changes(name: str, kind: str, exact: str) -> None:
    """What tells a row is the same text in the session of the next run, whose formats and zone may be others."""
    engine = engine_of(name)
    assert exact == engine.exact("v", kind)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("name", "literal"),
    [
        ("snowflake", "'it''s a \\\\ and\n'"),
        ("redshift", "'it''s a \\\\ and\n'"),
        ("bigquery", "'it\\'s a \\\\ and\\n'"),
        ("trino", "'it''s a \\ and\n'"),
        ("databricks", "'it\\'s a \\\\ and\n'"),
    ],
)
def test_text_in_a_statement(name: str, literal: str) -> None:
    """Quotes, backslashes and line breaks are what they were, as each language has it."""
    assert literal == engine_of(name).text("it's a \\ and\n")


@pytest.mark.parametrize("name", ["snowflake", "bigquery", "trino", "redshift"])
def test_columns_are_asked_for_without_a_row(name: str) -> None:
    """The query stands in the first statements, and the last one, which alone gives rows, names columns and types."""
    engine = named(name)
    *before, last = engine.statements(engine.describe(ASKED))
    assert any(ASKED in statement for statement in before)
    reads = [
        statement for statement in before if ASKED in statement and "view" not in statement.split(" as\n")[0]
    ]
    assert all("where false" in statement or "limit 0" in statement for statement in reads)
    assert engine.gives_rows(last)
    assert ASKED not in last


def test_what_columns_are_told_by_is_dropped() -> None:
    """Where a relation beside the target tells them, the run drops it in the end."""
    left = {name: named(name).described() for name in ("snowflake", "bigquery", "trino", "redshift")}
    assert {
        "snowflake": "",
        "bigquery": "drop view if exists shop.scratch",
        "trino": "drop table if exists shop.scratch",
        "redshift": "",
    } == left


def test_where_columns_are_told() -> None:
    """It stands beside the target, with a name that no other model has."""
    model = bridge.open_model(
        name="customers",
        adapter_type="bigquery",
        config={"materialized": "auto_cdc", "keys": ["id"], "sequence_by": "seq"},
        written={"keys": ["id"], "sequence_by": "seq"},
        identifier="customers",
        target="`lake`.`shop`.`customers`",
        sql="select * from feed",
        beside=lambda path: f"`lake`.`shop`.`{path['identifier']}`",
    )
    named = r"`lake`\.`shop`\.`customers__auto_cdc_described_[0-9a-f]{12}`"
    assert re.fullmatch(named, model.engine.scratch)


def test_columns_of_a_relation() -> None:
    """They are told by the catalog that the relation is in."""
    trino, bigquery = engine_for("trino"), engine_for("bigquery")
    assert trino is not None
    assert bigquery is not None
    told = trino.describe_relation('"lake"."shop"."Customers"')
    assert (
        "from \"lake\".information_schema.columns\nwhere table_schema = 'shop' and table_name = 'customers'"
        in told
    )
    told = bigquery.describe_relation("`lake`.`shop`.`customers`")
    assert "from `lake`.`shop`.INFORMATION_SCHEMA.COLUMNS\nwhere table_name = 'customers'" in told


@pytest.mark.parametrize("kind", ["character varying(9)", "character(9)"])
def test_blanks_at_the_end(kind: str) -> None:
    """Redshift compares texts without them, so that they tell no rows apart."""
    assert "rtrim(key)" == engine_of("redshift").exact("key", kind)
