"""Snapshots by example: versions of every kind, columns that come and go, odd names and values.

Straight on the engine. Not here: random snapshots (`properties/test_snapshots`), refusals (`test_bad_snapshots`).
"""

from __future__ import annotations

from datetime import date, datetime, timezone
from typing import Any

import pytest

from dbt_auto_cdc.execute import Outcome
from tests.databases import (
    Connection,
    chosen,
    columns_of,
    engine_of,
    in_order,
    indexes_of,
    quoted,
    speaks,
    spoken,
    type_of,
)
from tests.direct import Direct
from tests.watched import placed

SCD1: dict[str, Any] = {"keys": ["id"], "snapshot_version": "v", "stored_as_scd_type": 1}
SCD2: dict[str, Any] = {**SCD1, "stored_as_scd_type": 2}
DUCKDB = pytest.mark.only_on("duckdb")
RARE = pytest.mark.rare_types


@pytest.fixture
def target(connection: Connection) -> Direct:
    if speaks() != "spark":
        connection.execute("set time zone 'UTC'")
    return Direct(connection, materialized="auto_cdc_snapshot")


@pytest.fixture(params=[SCD1, SCD2], ids=["scd1", "scd2"])
def config(request: pytest.FixtureRequest) -> dict[str, Any]:
    return dict(request.param)


def take(target: Direct, config: dict[str, Any], sql: str, **flags: bool) -> Outcome:
    """Run on what a query gives."""
    return target.run(config, sql=sql, **flags)


def values(rows: str, columns: str = "id, city, v") -> str:
    """Return the query of some rows."""
    return f"select * from (values {rows}) as t({columns})"


def table(target: Direct, columns: str = "*") -> list[tuple[Any, ...]]:
    """Return the target's rows in order."""
    return in_order(target.connection.execute(f"select {columns} from target").fetchall())


def shown(target: Direct) -> list[str]:
    return list(columns_of(target.connection, "target"))


def bounds(target: Direct) -> list[str]:
    """Return the bounds as the engine calls them."""
    return [engine_of(target.connection).folded(name) for name in ("__START_AT", "__END_AT")]


def is_open(row: dict[str, Any]) -> bool:
    """Whether a row holds: one without bounds does too."""
    return {name.lower(): value for name, value in row.items()}.get("__end_at") is None


def written(outcome: Outcome) -> tuple[int, int]:
    return outcome.figures["num_upserted_rows"], outcome.figures["num_deleted_rows"]


# -- What a snapshot does ----------------------------------------------------------------------------------------------


def test_a_change_of_untracked_columns_rewrites_the_open_row(target: Direct) -> None:
    """The same start, the new value; closed versions keep what they showed, and other rows are not written."""
    config = {**SCD2, "track_history_except_column_list": ["note"]}
    columns = "id, city, note, v"
    take(target, config, values("(1, 'Oslo', 'a', 1), (2, 'Rome', 'a', 1)", columns))
    take(target, config, values("(1, 'Kiel', 'a', 2), (2, 'Rome', 'a', 2)", columns))
    before = placed(target.connection, "target")
    outcome = take(target, config, values("(1, 'Kiel', 'b', 3), (2, 'Rome', 'a', 3)", columns))
    assert [(1, "Kiel", "b", 2, None), (1, "Oslo", "a", 1, 2), (2, "Rome", "a", 1, None)] == table(target)
    assert (1, 0) == written(outcome)
    after = placed(target.connection, "target")
    assert [place for place, row in before.items() if row["id"] == 2] == [
        place for place, row in after.items() if row["id"] == 2
    ]


def test_a_value_that_went_and_came_back_within_a_run(target: Direct) -> None:
    """An untracked value that is as before in the end writes nothing; a tracked one leaves its versions."""
    columns = "id, city, note, v"
    rows = values("(1, 'Oslo', 'b', 2), (1, 'Oslo', 'a', 3)", columns)
    for config, expected in (
        ({**SCD2, "track_history_except_column_list": ["note"]}, (0, 0)),
        (SCD2, (3, 0)),
    ):
        take(target, config, values("(1, 'Oslo', 'a', 1)", columns), full_refresh=True)
        assert expected == written(take(target, config, rows))
    assert [(1, "Oslo", "a", 1, 2), (1, "Oslo", "a", 3, None), (1, "Oslo", "b", 2, 3)] == table(target)


def test_gaps_and_returns_in_one_pass(target: Direct) -> None:
    """A key that is missing in an intermediate version ends there, and starts anew where it comes back."""
    take(target, SCD2, values("(1, 'Oslo', 1), (2, 'Rome', 1)"))
    take(
        target, SCD2, values("(2, 'Rome', 2), (1, 'Oslo', 3), (2, 'Rome', 3), (1, 'Oslo', 4), (3, 'Bari', 4)")
    )
    expected = [(1, "Oslo", 1, 2), (1, "Oslo", 3, None), (2, "Rome", 1, 4), (3, "Bari", 4, None)]
    assert expected == table(target)


# -- Versions ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "then", "ends"),
    [
        ("date '2026-11-29'", "date '2026-11-30'", (date(2026, 11, 29), date(2026, 11, 30))),
        (
            "timestamp '2026-11-29 12:00:00'",
            "timestamp '2026-11-29 12:00:00.000001'",
            (datetime(2026, 11, 29, 12), datetime(2026, 11, 29, 12, 0, 0, 1)),  # noqa: DTZ001
        ),
        (
            "timestamptz '2026-11-29 12:00:00+02'",
            "timestamptz '2026-11-29 11:00:00+00'",
            (
                datetime(2026, 11, 29, 10, tzinfo=timezone.utc),
                datetime(2026, 11, 29, 11, tzinfo=timezone.utc),
            ),
        ),
        ("'2026-11'", "'2026-12'", ("2026-11", "2026-12")),
        ("1.5", "2.0", (1.5, 2.0)),
        pytest.param(
            "{'year': 2026, 'week': 9}",
            "{'year': 2026, 'week': 10}",
            ({"year": 2026, "week": 9}, {"year": 2026, "week": 10}),
            marks=[DUCKDB, RARE],
        ),
        ("auto", "auto", (0, 1)),
    ],
)
def test_fixed_versions(target: Direct, first: str, then: str, ends: tuple[Any, Any]) -> None:
    """A version that is no column is the bound in its own type, of whatever order."""
    for version, city in ((first, "Oslo"), (then, "Kiel")):
        config = {**SCD2, "snapshot_version": spoken(target.connection, version)}
        take(target, config, f"select 1 as id, '{city}' as city")
    found = target.connection.execute("select city, __START_AT, __END_AT from target order by 1 desc")
    start, end = ends
    rows = [(city, *map(plain, row)) for city, *row in found.fetchall()]
    assert [("Oslo", plain(start), plain(end)), ("Kiel", plain(end), None)] == rows


def plain(value: Any) -> Any:
    """Return a decimal as a number, and a time of a zone as one in UTC, which some clients give without a zone."""
    if isinstance(value, datetime) and value.tzinfo:
        return value.astimezone(timezone.utc).replace(tzinfo=None)
    return float(value) if type(value).__name__ == "Decimal" else value


def test_versions_are_counted(target: Direct, config: dict[str, Any]) -> None:
    """`auto` counts the snapshots that were applied, unchanged ones too; a refused one does not count."""
    config = {**config, "snapshot_version": "auto"}
    for city in ("Oslo", "Oslo", "Kiel"):
        take(target, config, f"select 1 as id, '{city}' as city")
    with pytest.raises(Exception, match="more than once"):
        take(target, config, "select 1 as id, 'Kiel' as city union all select 1, 'Kiel'")
    take(target, config, "select 1 as id, 'Rome' as city")
    kept = target.connection.execute(
        "select __auto_cdc_sequence from target__auto_cdc where __auto_cdc_kind = 'snapshot'"
    )
    assert [(3,)] == kept.fetchall()
    if config["stored_as_scd_type"] == 2:
        assert [(1, "Kiel", 2, 3), (1, "Oslo", 0, 2), (1, "Rome", 3, None)] == table(target)
        start_at, _ = bounds(target)
        assert type_of(target.connection, "BIGINT") == columns_of(target.connection, "target")[start_at]


def test_counted_versions_start_over(target: Direct) -> None:
    """A rebuilt target counts from zero."""
    config = {**SCD2, "snapshot_version": "AUTO"}
    take(target, config, "select 1 as id")
    take(target, config, "select 1 as id")
    take(target, config, "select 1 as id", full_refresh=True)
    assert [(1, 0, None)] == table(target)


def test_a_column_called_auto_is_a_column(target: Direct) -> None:
    """An option means the column if there is one."""
    take(target, {**SCD2, "snapshot_version": "auto"}, "select 1 as id, 7 as auto")
    assert [(1, 7, None)] == table(target)


def test_an_expression_over_columns(target: Direct) -> None:
    """The version may be computed from what the rows have; what it is computed from is an ordinary column."""
    config = {**SCD2, "snapshot_version": "cast(substr(file, 6, 10) as date)"}
    config["except_column_list"] = ["file"]
    rows = "(1, 'Oslo', 'dump_2026-11-01.csv'), (1, 'Kiel', 'dump_2026-11-08.csv')"
    take(target, config, values(rows, "id, city, file"))
    first, second = date(2026, 11, 1), date(2026, 11, 8)
    assert [(1, "Kiel", second, None), (1, "Oslo", first, second)] == table(target)


def test_the_form_of_the_version_may_change(target: Direct, config: dict[str, Any]) -> None:
    """Column, expression and fixed version are one order as long as they have one type."""
    take(target, config, values("(1, 'Oslo', 1)"))
    take(
        target, {**config, "snapshot_version": "v + 1", "except_column_list": ["v"]}, values("(1, 'Oslo', 1)")
    )
    take(target, {**config, "snapshot_version": "3"}, "select 1 as id, 'Kiel' as city")
    assert "Kiel" in {row["city"] for row in target.rows()}
    assert [] == take(target, config, values("(1, 'Rome', 4)")).warnings


@pytest.mark.only_on("duckdb", "postgres")  # a sequence tells how often it was looked at
def test_a_version_that_differs_from_look_to_look(target: Direct) -> None:
    """The version that is remembered is the one that its rows were staged with."""
    config = {**SCD2, "snapshot_version": "nextval('versions')"}
    target.connection.execute("create temporary sequence versions")
    take(target, config, "select 1 as id, 'Oslo' as city")
    take(target, config, "select 1 as id, 'Kiel' as city")
    ((end,),) = target.connection.execute("select __END_AT from target where city = 'Oslo'").fetchall()
    kept = "select __auto_cdc_sequence from target__auto_cdc where __auto_cdc_kind = 'snapshot'"
    assert [(end,)] == target.connection.execute(kept).fetchall()
    assert [("Kiel", end, None)] == table(target, "city, __START_AT, __END_AT")[:1]


def test_the_version_is_a_bound_and_no_column(target: Direct, config: dict[str, Any]) -> None:
    """Unless column_list names it; then SCD type 1 shows the version of each row's last change of all."""
    take(target, config, values("(1, 'Oslo', 1)"))
    ends = bounds(target) if config["stored_as_scd_type"] == 2 else []
    assert ["id", "city", *ends] == shown(target)
    take(target, {**config, "except_column_list": ["city", "V"]}, values("(1, 'Oslo', 1)"), full_refresh=True)
    assert ["id", *ends] == shown(target)
    take(target, {**config, "column_list": ["id", "V"]}, values("(1, 'Oslo', 1)"), full_refresh=True)
    assert ["id", "v", *ends] == shown(target)
    outcome = take(target, {**config, "column_list": ["id", "V"]}, values("(1, 'Oslo', 2)"))
    assert 2 in {row["v"] for row in target.rows()}
    if config["stored_as_scd_type"] == 2:
        assert "sequence column v is tracked, so every event opens a version" in outcome.warnings[0]


def test_text_is_ordered_by_bytes(target: Direct) -> None:
    """`10` comes before `9`, and upper case before lower."""
    take(target, SCD2, values("(1, 'a', '9'), (1, 'b', '10'), (1, 'c', 'B'), (1, 'd', 'a'), (1, 'e', 'ä')"))
    expected = {("b", "10", "9"), ("a", "9", "B"), ("c", "B", "a"), ("d", "a", "ä"), ("e", "ä", None)}
    assert expected == set(table(target, "city, __START_AT, __END_AT"))


# -- Columns that come and go ------------------------------------------------------------------------------------------


@pytest.mark.altering
def test_a_new_column(target: Direct) -> None:
    """It is null in older rows; a row that has a value opens a version, one where it is null does not."""
    take(target, SCD2, values("(1, 'Oslo', 1), (2, 'Rome', 1)"))
    take(target, SCD2, values("(1, 'Oslo', 2, 'x'), (2, 'Rome', 2, null)", "id, city, v, extra"))
    assert ["id", "city", *bounds(target), "extra"] == shown(target)
    expected = [(1, None, 1, 2), (1, "x", 2, None), (2, None, 1, None)]
    assert sorted(expected, key=str) == sorted(table(target, "id, extra, __START_AT, __END_AT"), key=str)


@pytest.mark.altering
def test_a_new_column_that_is_not_tracked(target: Direct) -> None:
    """Its value comes into the open row."""
    config = {**SCD2, "track_history_column_list": ["city"]}
    take(target, config, values("(1, 'Oslo', 1)"))
    take(target, config, values("(1, 'Oslo', 2, 'x')", "id, city, v, extra"))
    take(target, config, values("(1, 'Kiel', 3, 'y')", "id, city, v, extra"))
    found = table(target, "city, extra, __START_AT, __END_AT")
    assert [("Kiel", "y", 3, None), ("Oslo", "x", 1, 3)] == found


@pytest.mark.altering
def test_a_new_column_in_type_1(target: Direct) -> None:
    """Only rows that have a value are written."""
    take(target, SCD1, values("(1, 'Oslo', 1), (2, 'Rome', 1)"))
    outcome = take(target, SCD1, values("(1, 'Oslo', 2, 'x'), (2, 'Rome', 2, null)", "id, city, v, extra"))
    assert (1, 0) == written(outcome)
    assert [(1, "Oslo", "x"), (2, "Rome", None)] == table(target)


def test_a_lost_column(target: Direct, config: dict[str, Any]) -> None:
    """It counts as null from then on."""
    take(target, config, values("(1, 'Oslo', 1)"))
    take(target, config, values("(1, 2)", "id, v"))
    if config["stored_as_scd_type"] == 2:
        assert [(1, "Oslo", 1, 2), (1, None, 2, None)] == table(target)
    else:
        assert [(1, None)] == table(target)
    assert (0, 0) == written(take(target, config, values("(1, 3)", "id, v")))


@pytest.mark.altering
def test_a_lost_column_that_is_dropped(target: Direct, config: dict[str, Any]) -> None:
    """With sync_all_columns it goes, in the companion too, and rows that are otherwise equal stay."""
    config = {**config, "on_schema_change": "sync_all_columns"}
    if config["stored_as_scd_type"] == 2:
        config["track_history_column_list"] = ["note"]
    take(target, config, values("(1, 'Oslo', 'a', 1)", "id, city, note, v"))
    outcome = take(target, config, values("(1, 'a', 2)", "id, note, v"))
    assert (0, 0) == written(outcome)
    assert "city" not in shown(target)
    assert "city" not in columns_of(target.connection, "target__auto_cdc")


def test_a_new_column_that_is_ignored(target: Direct, config: dict[str, Any]) -> None:
    """With ignore it stays out, and its values change nothing."""
    config = {**config, "on_schema_change": "ignore"}
    take(target, config, values("(1, 'Oslo', 1)"))
    outcome = take(target, config, values("(1, 'Oslo', 2, 'x')", "id, city, v, extra"))
    assert (0, 0) == written(outcome)
    assert "extra" not in shown(target)


def test_a_new_column_where_that_fails(target: Direct, config: dict[str, Any]) -> None:
    """With fail the run is refused; a version column that is no output column is none of the differences."""
    config = {**config, "on_schema_change": "fail"}
    take(target, config, values("(1, 'Oslo', 1)"))
    take(target, config, values("(1, 'Oslo', 2)"))
    with pytest.raises(
        Exception, match=r"differ from the target's \(new: extra\) and on_schema_change is fail"
    ):
        take(target, config, values("(1, 'Oslo', 2, 'x')", "id, city, v, extra"))


@pytest.mark.altering
def test_a_column_that_widens(target: Direct, config: dict[str, Any]) -> None:
    """Values are compared as values: what is the same number in the wider type is no change."""
    take(target, config, values("(1, 7::integer, 1), (2, 7::integer, 1)", "id, n, v"))
    outcome = take(target, config, values("(1, 7::bigint, 2), (2, 5000000000, 2)", "id, n, v"))
    assert (config["stored_as_scd_type"], 0) == written(outcome)
    assert type_of(target.connection, "BIGINT") == columns_of(target.connection, "target")["n"]
    outcome = take(target, config, values("(1, 7::smallint, 3), (2, 5::smallint, 3)", "id, n, v"))
    assert (config["stored_as_scd_type"], 0) == written(outcome)


@pytest.mark.altering
def test_an_untracked_column_that_widens(target: Direct) -> None:
    """In the companion too, where such columns are kept for other modes."""
    config = {**SCD2, "track_history_except_column_list": ["n"]}
    take(target, config, values("(1, 7::integer, 1)", "id, n, v"))
    take(target, config, values("(1, 5000000000, 2)", "id, n, v"))
    assert [(1, 5000000000, 1, None)] == table(target)


@pytest.mark.indexed
def test_a_column_that_widens_under_an_index(target: Direct, config: dict[str, Any]) -> None:
    """The target is copied where its engine alters no table with an index."""
    take(target, config, values("(1, 7::integer, 1)", "id, n, v"))
    target.connection.execute("create index mine on target (id)")
    take(target, config, values("(1, 5000000000, 2)", "id, n, v"))
    assert 5000000000 in {row["n"] for row in target.rows()}
    assert ["mine"] == [name for name, _ in indexes_of(target.connection)]


# -- Odd names and values ----------------------------------------------------------------------------------------------

ODD = ["order id", "select", 'a"b', "{count}", "ünï", "now", "past", "stg", "1", "a.b"]


@pytest.mark.parametrize("name", ODD)
def test_odd_names(target: Direct, config: dict[str, Any], name: str) -> None:
    """As a key, a value and a version, in any SCD type and in the messages."""
    for role in ("key", "value", "version"):
        columns = {"key": "id", "value": "city", "version": "v"} | {role: quoted(name)}
        option = name if role == "version" else "v"
        options = {**config, "keys": [name if role == "key" else "id"], "snapshot_version": option}
        listed = f"{columns['key']}, {columns['value']}, {columns['version']}"
        take(target, options, values("(1, 'Oslo', 1), (2, 'Rome', 1)", listed), full_refresh=True)
        take(target, options, values("(1, 'Kiel', 2), (1, 'Bari', 3)", listed))
        assert "Bari" in {list(row.values())[1] for row in target.rows()}
        with pytest.raises(Exception, match="1 key stands in one version more than once, for example"):
            take(target, options, values("(1, 'Kiel', 4), (1, 'Bari', 4)", listed))


NAMED_TYPES = pytest.mark.only_on("duckdb", "postgres")
UUID = "00000000-0000-0000-0000-00000000000"
# One value, the same in other words where there are any, and another one.
VALUES = {
    "duckdb": [
        pytest.param("{'a': 1, 'b': null}", "{'a': 1, 'b': null}", "{'a': 1, 'b': 2}", marks=RARE),
        ("[1, null]", "[1, null]", "[null, 1]"),
        ("map {'a': 1}", "map {'a': 1}", "map {'a': 2}"),
        ("'{\"a\": 1}'::json", "'{\"a\": 1}'::json", "'{\"a\": 2}'::json"),
        ("'nan'::double", "'nan'::double", "0::double"),
        ("0.0::double", "-0.0::double", "1::double"),
        ("'a'::blob", "'a'::blob", "'b'::blob"),
        ("interval 1 day", "interval 24 hours", "interval 2 days"),
    ],
    "postgres": [
        ("array[1, null]", "'{1,NULL}'::integer[]", "array[null, 1]"),
        ('\'{"a": 1, "b": 2}\'::json', '\'{"b":2, "a":1}\'::json', "'{\"a\": 2}'::json"),
        ("'[1, 2]'::jsonb", "'[1,2]'::jsonb", "'[2, 1]'::jsonb"),
        ("point '(1, 2)'", "point(1, 2)", "point '(2, 1)'"),
        ("box '((0, 0), (1, 4))'", "box '((1, 4), (0, 0))'", "box '((0, 0), (2, 2))'"),
        ("path '((0,0),(1,1))'", "path '((0, 0), (1, 1))'", "path '[(0,0),(1,1)]'"),
        ("'nan'::double precision", "'NaN'::double precision", "0::double precision"),
        ("'0'::double precision", "'-0'::double precision", "1::double precision"),
        ("'nan'::numeric", "'NaN'::numeric", "0::numeric"),
        ("'a'::bytea", "'\\x61'::bytea", "'b'::bytea"),
        ("interval '1 day'", "interval '24 hours'", "interval '2 days'"),
        ("int4range(1, 4)", "int4range(1, 3, '[]')", "int4range(1, 5)"),
        ("inet '10.0.0.1'", "inet '10.0.0.1/32'", "inet '10.0.0.1/31'"),
    ],
    "spark": [
        (
            "named_struct('a', 1, 'b', null::integer)",
            "named_struct('a', 1, 'b', null::integer)",
            "named_struct('a', 1, 'b', 2)",
        ),
        ("array(1, null)", "array(1, null)", "array(null, 1)"),
        ("'nan'::double", "'NaN'::double", "0::double"),
        ("'0.0'::double", "'-0.0'::double", "1::double"),
        ("'a'::blob", "'a'::blob", "'b'::blob"),
    ],
}[speaks()]


@pytest.mark.parametrize(
    ("one", "same", "other"),
    [
        *VALUES,
        pytest.param(
            "'x'::enum_of_mine", "'x'::enum_of_mine", "'y'::enum_of_mine", marks=[RARE, NAMED_TYPES]
        ),
        ("null::integer", "null::integer", "0"),
        pytest.param(f"uuid '{UUID}1'", f"uuid '{UUID}1'", f"uuid '{UUID}2'", marks=NAMED_TYPES),
    ],
)
def test_odd_values(target: Direct, config: dict[str, Any], one: str, same: str, other: str) -> None:
    """Values are compared as values, null and not-a-number with themselves, nested ones as wholes."""
    if "enum_of_mine" in one:
        target.connection.execute("create type enum_of_mine as enum ('x', 'y')")
    take(target, config, f"select 1 as id, {one} as x, 1 as v")
    assert (0, 0) == written(take(target, config, f"select 1 as id, {same} as x, 2 as v"))
    assert (config["stored_as_scd_type"], 0) == written(
        take(target, config, f"select 1 as id, {other} as x, 3 as v")
    )


def test_odd_keys(target: Direct, config: dict[str, Any]) -> None:
    """A key may be a struct, a list, or a time, where such values can be compared."""
    struct, array, other, time = {
        "duckdb": ("{'a': 1}", "[1]", "[2]", "time '12:00'"),
        "ducklake": ("1", "[1]", "[2]", "time '12:00'"),
        "postgres": ("row(1)::one_of_mine", "array[1]", "array[2]", "time '12:00'"),
    }.get(chosen(), ("x'00ff'", "1.5", "2.5", "timestamp '2026-03-01 12:00'"))
    if chosen() == "postgres":
        target.connection.execute("create type one_of_mine as (a integer)")
    keys = {**config, "keys": ["k", "l", "t"]}
    sql = f"select {struct} as k, {array} as l, {time} as t, 'Oslo' as city, %s as v"
    take(target, keys, sql % 1)
    assert (0, 0) == written(take(target, keys, sql % 2))
    take(target, keys, (sql % 3).replace(array, other))
    assert 1 == len([row for row in target.rows() if is_open(row)])


def test_a_table_of_keys_only(target: Direct, config: dict[str, Any]) -> None:
    """Nothing but keys: rows come and go."""
    take(target, config, values("(1, 1), (2, 1)", "id, v"))
    take(target, config, values("(2, 2), (3, 2)", "id, v"))
    if config["stored_as_scd_type"] == 2:
        assert [(1, 1, 2), (2, 1, None), (3, 2, None)] == table(target)
    else:
        assert [(2,), (3,)] == table(target)


def test_the_model_may_end_in_a_comment_or_look_at_its_target(target: Direct, config: dict[str, Any]) -> None:
    """The model's SQL is evaluated once, before anything is written."""
    take(target, config, values("(1, 'Oslo', 1)") + " -- the first\n;")
    sql = "select id, city || '!' as city, 2 as v from target -- and so on"
    take(target, config, sql)
    assert "Oslo!" in {row["city"] for row in target.rows()}


def test_relations_of_the_model_may_have_any_name(target: Direct, config: dict[str, Any]) -> None:
    """Names that the plan uses for its steps are free for tables of the user's own."""
    for name in (
        "present",
        "past",
        "versions",
        "told",
        "evaluated",
        "waiting",
        "stored",
        "versions_read",
        "last",
    ):
        target.connection.execute(f"create table {name} as select 1 as id, 'Oslo' as city, 1 as v")
        take(target, config, f"select * from {name}", full_refresh=True)
        version = f"(select max(v) + 1 from {name})"
        outcome = take(
            target,
            {**config, "snapshot_version": version, "except_column_list": ["v"]},
            f"select * from {name}",
        )
        assert (0, 0) == written(outcome)
        empty = {
            **config,
            "snapshot_version": f"(select max(v) + 2 from {name})",
            "allow_empty_snapshot": True,
        }
        take(target, empty, f"select id, city from {name} where false")
        assert [] == [row for row in target.rows() if is_open(row)]
