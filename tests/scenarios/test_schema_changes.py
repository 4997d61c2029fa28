"""Columns that come, go and change their type, under each `on_schema_change`.

Straight on the engine, and through dbt where indexes are configured. Not here: names and types as such
(`test_odd_input`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.changing import MakeChanging
from tests.databases import alters, chosen, engine_error, here, indexes_of, lake_stores
from tests.dbt_project import Project

KEYS: dict[str, Any] = {"keys": ["id"], "sequence_by": "seq", "apply_as_deletes": "op = 'D'"}
SCD1: dict[str, Any] = {**KEYS, "except_column_list": ["op"]}
SCD2: dict[str, Any] = {**KEYS, "stored_as_scd_type": 2, "except_column_list": ["op", "seq"]}
CITY: dict[str, Any] = {**SCD2, "track_history_column_list": ["city"]}
NOT_NOTE: dict[str, Any] = {**SCD2, "track_history_except_column_list": ["note"]}
MODES = pytest.mark.parametrize(
    "mode", [SCD1, SCD2, CITY, NOT_NOTE], ids=["scd1", "scd2", "city", "not note"]
)
HISTORIES = pytest.mark.parametrize("mode", [SCD2, CITY, NOT_NOTE], ids=["scd2", "city", "not note"])


# -- New columns -------------------------------------------------------------------------------------------------------


@pytest.mark.altering
def test_a_new_column(changing: MakeChanging) -> None:
    """Null in the rows that are there; filled by the events that bring it."""
    target = changing()
    target.given(SCD1, "id, seq, city", "1 | 1 | 'Oslo'", "2 | 1 | 'Rome'")
    target.given(SCD1, "extra, id, seq, city", "'x' | 1 | 2 | 'Oslo'")
    assert ["id", "seq", "city", "extra"] == list(target.columns())
    assert [(1, 2, "Oslo", "x"), (2, 1, "Rome", None)] == target.stored()


@pytest.mark.altering
def test_a_new_column_is_tracked_by_default(changing: MakeChanging) -> None:
    """With default and except tracking the set follows the columns: a first value opens a version."""
    for mode in (SCD2, NOT_NOTE):
        target = changing()
        target.given(mode, "id, seq, city, note", "1 | 1 | 'Oslo' | 'a'", "2 | 1 | 'Rome' | 'a'")
        target.given(
            mode, "id, seq, city, note, extra", "1 | 2 | 'Oslo' | 'a' | 'x'", "2 | 2 | 'Rome' | 'a' | null"
        )
        expected = [(1, None, 1, 2), (1, "x", 2, None), (2, None, 1, None)]
        assert expected == target.query("select id, extra, __START_AT, __END_AT from target order by 1, 3")


@pytest.mark.altering
def test_a_new_column_beside_a_list_is_not_tracked(changing: MakeChanging) -> None:
    """It opens no version, and the companion has it: a late event brings back what was overwritten."""
    target = changing()
    target.given(CITY, "id, seq, city", "1 | 1 | 'Oslo'", "1 | 2 | 'Oslo'")
    target.given(
        CITY, "id, seq, city, extra", "1 | 4 | 'Oslo' | 'd'", "1 | 5 | 'Oslo' | 'e'", "1 | 6 | 'Oslo' | 'f'"
    )
    assert "extra" in target.columns("target__auto_cdc")
    assert [("f", 1, None)] == target.query("select extra, __START_AT, __END_AT from target")
    target.given(CITY, "id, seq, city, extra", "1 | 3 | 'Bari' | 'c'")
    expected = [("Oslo", None, 1, 3), ("Bari", "c", 3, 4), ("Oslo", "f", 4, None)]
    assert expected == target.query("select city, extra, __START_AT, __END_AT from target order by 3")
    target.given(CITY, "id, seq, city, extra", "1 | 6 | 'Oslo' | 'again'", "1 | 5 | 'Kiel' | 'again'")
    assert expected == target.query("select city, extra, __START_AT, __END_AT from target order by 3")


@pytest.mark.altering
def test_known_events_are_not_applied_for_a_new_column(changing: MakeChanging) -> None:
    """A replay changes nothing, although it now carries what the first delivery lacked."""
    for mode in (SCD1, SCD2, CITY):
        target = changing()
        target.given(mode, "id, seq, city", "1 | 1 | 'Oslo'", "1 | 2 | 'Oslo'")
        target.given(mode, "id, seq, city, extra", "1 | 1 | 'Oslo' | 'x'", "1 | 2 | 'Oslo' | 'y'")
        assert [(None,)] == target.query("select distinct extra from target")


@pytest.mark.altering
def test_a_new_column_that_is_left_out(changing: MakeChanging) -> None:
    """`column_list` and `except_column_list` say what is new."""
    target = changing()
    target.given(SCD1, "id, seq, city", "1 | 1 | 'Oslo'", column_list=["id", "city"], except_column_list=None)
    target.given(
        SCD1, "id, seq, city, x", "1 | 2 | 'Bari' | 'x'", column_list=["id", "city"], except_column_list=None
    )
    assert ["id", "city"] == list(target.columns())
    target.given(
        SCD1,
        "id, seq, city, x",
        "1 | 3 | 'Kiel' | 'y'",
        column_list=["x", "id", "city"],
        except_column_list=None,
    )
    assert [(1, "Kiel", "y")] == target.query("select id, city, x from target")


# -- Lost columns ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["append_new_columns", "ignore"])
def test_a_lost_column(changing: MakeChanging, policy: str) -> None:
    """It stays in the target and counts as null in newer events."""
    target = changing()
    target.given(SCD1, "id, seq, city, note", "1 | 1 | 'Oslo' | 'a'", "2 | 1 | 'Rome' | 'a'")
    target.given(SCD1, "id, seq, city", "1 | 2 | 'Bari'", on_schema_change=policy)
    assert [(1, "Bari", None), (2, "Rome", "a")] == target.query(
        "select id, city, note from target order by 1"
    )


@HISTORIES
def test_a_lost_column_in_a_history(changing: MakeChanging, mode: dict[str, Any]) -> None:
    """Where it is tracked its end is a change; where it is not, older values stay with their versions."""
    target = changing()
    target.given(
        mode, "id, seq, city, note", "1 | 1 | 'Oslo' | 'a'", "1 | 3 | 'Oslo' | 'c'", "1 | 5 | 'Bari' | 'e'"
    )
    target.given(mode, "id, seq, city", "1 | 7 | 'Bari'")
    target.given(mode, "id, seq, city", "1 | 2 | 'Kiel'")
    expected = [("Oslo", "a", 1, 2), ("Kiel", None, 2, 3), ("Oslo", "c", 3, 5)]
    if mode is SCD2:
        expected += [("Bari", "e", 5, 7), ("Bari", None, 7, None)]
    else:
        expected += [("Bari", None, 5, None)]
    assert expected == target.query("select city, note, __START_AT, __END_AT from target order by 3")
    target.given(mode, "id, seq, city, note", "1 | 9 | 'Bari' | 'back'")
    assert [("back",)] == target.query("select note from target where __END_AT is null")


def test_a_lost_column_may_go_on_being_named(changing: MakeChanging) -> None:
    """The list of columns need not change in the same moment as the source."""
    listed = {**CITY, "column_list": ["id", "city", "note"], "except_column_list": None}
    target = changing()
    target.given(listed, "id, seq, city, note", "1 | 1 | 'Oslo' | 'a'")
    target.given(listed, "id, seq, city", "1 | 2 | 'Bari'")
    assert [("a",), (None,)] == target.query("select note from target order by __START_AT")
    tracked = {**SCD2, "track_history_column_list": ["city", "note"]}
    other = changing()
    other.given(tracked, "id, seq, city, note", "1 | 1 | 'Oslo' | 'a'")
    other.given(tracked, "id, seq, city", "1 | 2 | 'Oslo'")
    assert [("a",), (None,)] == other.query("select note from target order by __START_AT")


@pytest.mark.altering
def test_a_column_that_is_left_out_from_now_on(changing: MakeChanging) -> None:
    """What an option leaves out is gone like what the source lost."""
    target = changing()
    target.given(SCD2, "id, seq, city, note", "1 | 1 | 'Oslo' | 'a'")
    without = ["op", "seq", "note"]
    said = target.refused(
        SCD2,
        "id, seq, city, note",
        "1 | 2 | 'Bari' | 'b'",
        except_column_list=without,
        on_schema_change="fail",
    )
    assert said.startswith("the model's columns differ from the target's (gone: note)")
    target.given(SCD2, "id, seq, city, note", "1 | 2 | 'Bari' | 'b'", except_column_list=without)
    assert [("a",), (None,)] == target.query("select note from target order by __START_AT")
    target.given(
        SCD2,
        "id, seq, city, note",
        "1 | 3 | 'Bari' | 'b'",
        except_column_list=without,
        on_schema_change="sync_all_columns",
    )
    assert ["id", "city", *target.bounds()] == list(target.columns())


@MODES
def test_a_lost_key(changing: MakeChanging, mode: dict[str, Any]) -> None:
    """No policy does without a key."""
    target = changing()
    target.given(mode, "id, seq, city, note", "1 | 1 | 'Oslo' | 'a'")
    for policy in ("append_new_columns", "ignore", "sync_all_columns"):
        said = target.refused(mode, "seq, city, note", "2 | 'Bari' | 'b'", on_schema_change=policy)
        assert said.startswith("keys names id, which is not a column of the model; ")


# -- ignore and fail ---------------------------------------------------------------------------------------------------


@MODES
def test_ignore(changing: MakeChanging, mode: dict[str, Any]) -> None:
    """New columns stay out; a wider type is refused, because its values may not fit."""
    target = changing()
    target.given(mode, "id, seq, city, note varchar", "1 | 1 | 'Oslo' | 'a'")
    before = target.columns()
    target.given(
        mode, "id, extra, seq, city, note varchar", "1 | 'x' | 2 | 'Bari' | 'b'", on_schema_change="ignore"
    )
    assert before == target.columns()
    live = "" if mode is SCD1 else " where __END_AT is null"
    assert [(1, "Bari", "b")] == target.query(f"select id, city, note from target{live}")
    wide = changing()
    wide.given(mode, "id, seq, city, note integer", "1 | 1 | 'Oslo' | 1")
    said = wide.refused(mode, "id, seq, city, note bigint", "1 | 2 | 'Oslo' | 1", on_schema_change="ignore")
    assert said == here(
        "column note was INTEGER and is now BIGINT; cast it to INTEGER in the model, or set on_schema_change to"
        " append_new_columns"
    )


@MODES
def test_fail(changing: MakeChanging, mode: dict[str, Any]) -> None:
    """Every difference is named; none, another order and a narrower type pass."""
    target = changing()
    target.given(mode, "id, seq, city, note bigint", "1 | 1 | 'Oslo' | 1", on_schema_change="fail")
    said = target.refused(
        mode, "id, seq, city, note decimal(25,2), x, y", "1 | 2 | 'Oslo' | 1 | 1 | 1", on_schema_change="fail"
    )
    assert said == (
        "the model's columns differ from the target's (new: x, y; wider: note) and on_schema_change is fail; set it"
        " to append_new_columns, or rebuild the target with --full-refresh"
    )
    lost = {**mode, "track_history_except_column_list": None}
    if "track_history_except_column_list" not in mode:
        said = target.refused(lost, "id, seq, city", "1 | 2 | 'Oslo'", on_schema_change="fail")
        assert "(gone: note)" in said
    target.given(mode, "note integer, city, id, seq", "2 | 'Bari' | 1 | 2", on_schema_change="fail")
    assert target.type_of("BIGINT") == target.columns()["note"]


# -- sync_all_columns --------------------------------------------------------------------------------------------------

SYNC = {"on_schema_change": "sync_all_columns"}


@pytest.mark.altering
@MODES
def test_sync_adds_and_drops(changing: MakeChanging, mode: dict[str, Any]) -> None:
    """Target and companion have the model's columns; the options as written go on."""
    target = changing()
    target.given(
        mode, "id, seq, city, note", "1 | 1 | 'Oslo' | 'a'", "1 | 2 | 'Oslo' | 'b'", "1 | 3 | 'Bari' | 'c'"
    )
    target.given(mode, "id, seq, city, extra", "1 | 5 | 'Bari' | 'x'", "2 | 1 | 'Rome' | 'y'", **SYNC)
    kept = {"id", "city", "extra", *(["seq"] if mode is SCD1 else target.bounds())}
    assert kept == set(target.columns())
    assert "note" not in target.columns("target__auto_cdc")
    target.given(mode, "id, seq, city, extra", "1 | 4 | 'Kiel' | 'z'", **SYNC)
    if mode is SCD1:
        assert [(1, 5, "Bari", "x"), (2, 1, "Rome", "y")] == target.stored()
    else:
        versions = target.query(
            "select city, extra, __START_AT, __END_AT from target where id = 1 order by 3"
        )
        late = [("Bari", None, 3, 4), ("Kiel", "z", 4, 5), ("Bari", "x", 5, None)]
        assert late == versions[-3:]
        assert {"Oslo"} == {version[0] for version in versions[:-3]}


@pytest.mark.altering
def test_a_column_that_goes_and_comes_back(changing: MakeChanging) -> None:
    """What was dropped is gone; the column starts anew."""
    target = changing()
    target.given(NOT_NOTE, "id, seq, city, note", "1 | 1 | 'Oslo' | 'a'", **SYNC)
    target.given(NOT_NOTE, "id, seq, city", "1 | 2 | 'Oslo'", **SYNC)
    target.given(NOT_NOTE, "id, seq, city", "1 | 3 | 'Bari'", **SYNC)
    target.given(NOT_NOTE, "id, seq, city, note integer", "1 | 4 | 'Kiel' | 4", **SYNC)
    assert [(None, 1), (None, 3), (4, 4)] == target.query("select note, __START_AT from target order by 2")


@pytest.mark.altering
@pytest.mark.parametrize(
    ("option", "mode"),
    [
        ("track_history_column_list", {**SCD2, "track_history_column_list": ["city", "note"]}),
        ("column_list", {**SCD2, "column_list": ["id", "city", "note"], "except_column_list": None}),
    ],
)
def test_sync_drops_nothing_that_an_option_names(
    changing: MakeChanging, option: str, mode: dict[str, Any]
) -> None:
    """Who names a column wants it."""
    target = changing()
    target.given(mode, "id, seq, city, note", "1 | 1 | 'Oslo' | 'a'")
    assert target.refused(mode, "id, seq, city", "1 | 2 | 'Oslo'", **SYNC) == (
        f"{option} names note, which the model lost and on_schema_change sync_all_columns would drop; keep it in the"
        f" model, or set on_schema_change to append_new_columns"
    )
    target.given(mode, "id, seq, city", "1 | 2 | 'Oslo'")


@pytest.mark.altering
def test_sync_drops_a_column_tracked_by_default(changing: MakeChanging) -> None:
    """The set of tracked columns follows the columns; the history already written is not cut anew."""
    target = changing()
    target.given(SCD2, "id, seq, city, note", "1 | 1 | 'Oslo' | 'a'", "1 | 2 | 'Oslo' | 'b'")
    target.given(SCD2, "id, seq, city", "1 | 3 | 'Oslo'", **SYNC)
    expected = [("Oslo", 1, 2), ("Oslo", 2, None)]
    assert expected == target.query("select city, __START_AT, __END_AT from target order by 2")


# -- Types -------------------------------------------------------------------------------------------------------------

# Narrow type, wide type, a value both have, a value only the wide one has.
WIDENINGS: dict[str, list[tuple[str, str, str, str]]] = {
    "duckdb": [
        ("tinyint", "integer", "1", "1000"),
        ("integer", "bigint", "1", "5000000000"),
        ("bigint", "hugeint", "1", "170141183460469231731687303715884105727"),
        ("utinyint", "smallint", "1", "-1"),
        ("uinteger", "ubigint", "1", "18446744073709551615"),
        ("uinteger", "double", "1", "0.5"),
        ("integer", "decimal(18,2)", "1", "1.25"),
        ("integer", "double", "1", "0.5"),
        ("smallint", "float", "1", "0.5"),
        ("decimal(6,2)", "decimal(10,4)", "1.25", "1.2525"),
        ("float", "double", "cast(0.1 as float)", "cast(0.1 as double)"),
        ("date", "timestamp", "'2026-01-01'", "'2026-01-01 10:00'"),
        ("timestamp_s", "timestamp", "'2026-01-01 10:00'", "'2026-01-01 10:00:00.5'"),
        ("timestamp_ms", "timestamp", "'2026-01-01 10:00'", "'2026-01-01 10:00:00.000005'"),
        ("enum('x','y')", "varchar", "'x'", "'z'"),
        ("enum('x','y')", "enum('z','y','x')", "'x'", "'z'"),
        ("json", "varchar", "'1'", "'no json'"),
        ("integer[]", "bigint[]", "[1]", "[5000000000]"),
        ("integer[2]", "bigint[2]", "[1, 2]", "[1, 5000000000]"),
        ("map(varchar,integer)", "map(varchar,bigint)", "map {'a': 1}", "map {'a': 5000000000}"),
        ("struct(a integer)", "struct(a integer,b integer)", "{'a': 1, 'b': null}", "{'a': 1, 'b': 2}"),
        (
            "struct(a integer,b integer)",
            "struct(b bigint,a integer)",
            "{'a': 1, 'b': 2}",
            "{'a': 1, 'b': 5000000000}",
        ),
        (
            "struct(a integer)[]",
            "struct(\"x y\" enum('p,)'),a integer)[]",
            "[{'a': 1}]",
            "[{'a': 1, 'x y': 'p,)'}]",
        ),
        (
            "struct(s struct(a integer))",
            "struct(s struct(a bigint,b date))",
            "{'s': {'a': 1}}",
            "{'s': {'a': 2}}",
        ),
        ("union(n integer)", "union(n integer,s varchar)", "1", "'x'"),
    ],
    "postgres": [
        ("smallint", "integer", "1", "100000"),
        ("integer", "bigint", "1", "5000000000"),
        ("integer", "numeric(18,2)", "1", "1.25"),
        ("bigint", "numeric", "1", "170141183460469231731687303715884105727"),
        ("integer", "double precision", "1", "0.5"),
        ("smallint", "real", "1", "0.5"),
        ("real", "double precision", "0.1::real", "0.1::float8"),
        ("numeric(6,2)", "numeric(10,4)", "1.25", "1.2525"),
        ("numeric(6,2)", "numeric", "1.25", "1e-30"),
        ("date", "timestamp", "'2026-01-01'", "'2026-01-01 10:00'"),
        ("timestamp(0)", "timestamp", "'2026-01-01 10:00'", "'2026-01-01 10:00:00.5'"),
        ("timestamptz(0)", "timestamptz(3)", "'2026-01-01 10:00+00'", "'2026-01-01 10:00:00.5+00'"),
        ("time(0)", "time", "'10:00'", "'10:00:00.5'"),
        ("varchar(3)", "varchar(9)", "'x'", "'long'"),
        ("varchar(3)", "text", "'x'", "'long'"),
        ("char(3)", "char(9)", "'x'", "'long'"),
        ("varbit(3)", "varbit(9)", "b'101'", "b'1010'"),
        ("json", "text", "'1'", "'no json'"),
        ("jsonb", "text", "'1'", "'no json'"),
        ("integer[]", "bigint[]", "'{1}'", "'{5000000000}'"),
        ("varchar(3)[]", "text[]", "'{x}'", "'{long}'"),
    ],
}
WIDENINGS["spark"] = [
    ("integer", "bigint", "1", "5000000000"),
    ("float", "double", "cast(0.1 as float)", "cast(0.1 as double)"),
    ("decimal(6,2)", "decimal(10,2)", "1.25", "12345.25"),
    ("decimal(6,2)", "decimal(10,4)", "1.25", "1.2525"),
    ("integer", "decimal(18,2)", "1", "1.25"),
    ("integer", "double", "1", "0.5"),
    ("date", "timestamp", "'2026-01-01'", "'2026-01-01 10:00'"),
    ("integer[]", "bigint[]", "array(1)", "array(5000000000)"),
]
WIDENINGS["sail"] = WIDENINGS["spark"]
WIDENINGS["ducklake"] = [row for row in WIDENINGS["duckdb"] if all(map(lake_stores, row[:2]))]


def types(rows: list[tuple[str, str, str, str]]) -> pytest.MarkDecorator:
    """Return the mark of a test that runs with each of these types."""
    named = [f"{row[0]} to {row[1]}" for row in rows]
    return pytest.mark.parametrize(("narrow", "wide", "both", "more"), rows, ids=named)


def widened() -> list[tuple[str, str, str, str]]:
    """Return those types to which a column is altered; for the others a target has to be built anew."""
    return [row for row in WIDENINGS[chosen()] if alters(*row[:2])]


@pytest.mark.parametrize("mode", [SCD1, SCD2, NOT_NOTE], ids=["scd1", "scd2", "not note"])
@types(widened())
def test_wider_types(
    changing: MakeChanging, narrow: str, wide: str, both: str, more: str, mode: dict[str, Any]
) -> None:
    """The target widens, and with it the companion; every value stays the same value, hidden ones too."""
    shape, wider = f"id, seq, city, note {narrow}", f"id, seq, city, note {wide}"
    target = changing()
    both = both if narrow != "struct(a integer)" else "{'a': 1}"
    target.given(
        mode, shape, f"1 | 1 | 'Oslo' | {both}", f"1 | 3 | 'Oslo' | {both}", f"2 | 1 | 'Rome' | {both}"
    )
    target.given(mode, wider, f"1 | 5 | 'Oslo' | {both}", f"2 | 5 | 'Rome' | {more}")
    target.given(mode, wider, f"1 | 2 | 'Bari' | {more}")
    expected_type = target.type_of(wide)
    assert expected_type == target.columns()["note"]
    same, other = (f"note is not distinct from ({value})::{wide}" for value in (both, more))
    others = ", ".join(name for name in target.columns() if name != "note")
    seen = target.query(f"select {others}, {same} as same, {other} as other from target order by id")
    if mode is SCD1:
        assert [(1, 5, "Oslo", True, False), (2, 5, "Rome", False, True)] == seen
        return
    first = [
        (1, "Oslo", 1, 2, True, False),
        (1, "Bari", 2, 3, False, True),
        (1, "Oslo", 3, None, True, False),
    ]
    second = [(2, "Rome", 1, None, False, True)]
    if mode is SCD2:
        second = [(2, "Rome", 1, 5, True, False), (2, "Rome", 5, None, False, True)]
    else:
        assert expected_type == target.columns("target__auto_cdc")["note"]
    assert sorted([*first, *second], key=repr) == sorted(seen, key=repr)


@pytest.mark.parametrize("mode", [SCD1, NOT_NOTE], ids=["scd1", "not note"])
@types(WIDENINGS[chosen()])
def test_narrower_types(
    changing: MakeChanging, narrow: str, wide: str, both: str, more: str, mode: dict[str, Any]
) -> None:
    """A feed with a narrower type is cast to the target's."""
    del more
    target = changing()
    both = both if narrow != "struct(a integer)" else "{'a': 1}"
    target.given(mode, f"id, seq, city, note {wide}", f"1 | 1 | 'Oslo' | {both}", on_schema_change="fail")
    before = target.columns()
    target.given(mode, f"id, seq, city, note {narrow}", f"1 | 2 | 'Oslo' | {both}", on_schema_change="fail")
    assert before == target.columns()
    assert [(True,)] == target.query(f"select note is not distinct from ({both})::{wide} from target")


UNSAFE = {
    "duckdb": [
        ("varchar", "integer"),
        ("integer", "varchar"),
        ("bigint", "double"),
        ("double", "decimal(10,2)"),
        ("decimal(10,2)", "decimal(10,4)"),
        ("decimal(10,2)", "double"),
        ("bigint", "decimal(18,0)"),
        ("hugeint", "double"),
        ("ubigint", "bigint"),
        ("integer", "uinteger"),
        ("timestamp", "timestamptz"),
        ("timestamptz", "timestamp"),
        ("timestamp", "timestamp_ns"),
        ("time", "timestamp"),
        ("date", "varchar"),
        ("uuid", "varchar"),
        ("blob", "varchar"),
        ("boolean", "integer"),
        ("enum('x','y')", "enum('x','z')"),
        ("varchar", "varchar[]"),
        ("integer[]", "integer[2]"),
        ("integer[2]", "integer[3]"),
        ("integer[]", "varchar[]"),
        ("struct(a integer)", "struct(b integer)"),
        ("struct(a integer,b integer)", "struct(a integer,c integer)"),
        ("struct(a integer)", "struct(a varchar,b integer)"),
        ("struct(a integer)", "json"),
        ("map(varchar,integer)", "map(varchar,varchar)"),
        ("map(varchar,integer)", "struct(key varchar,value integer)"),
        ("union(n integer)", "union(m integer)"),
        ("interval", "time"),
    ],
    "postgres": [
        ("text", "integer"),
        ("bigint", "double precision"),
        ("bigint", "real"),
        ("double precision", "numeric(10,2)"),
        ("numeric(10,2)", "numeric(10,4)"),
        ("numeric", "double precision"),
        ("bigint", "numeric(18,0)"),
        ("timestamp", "timestamptz"),
        ("time", "timestamp"),
        ("date", "text"),
        ("date", "timestamptz"),
        ("uuid", "text"),
        ("bytea", "text"),
        ("boolean", "integer"),
        ("text", "text[]"),
        ("integer[]", "text[]"),
        ("json", "jsonb"),
        ("bit(3)", "bit(4)"),
        ("char(3)", "text"),
        ("name", "text"),
        ("money", "numeric"),
        ("inet", "cidr"),
        ("interval", "time"),
        ("int4range", "int8range"),
    ],
}
UNSAFE["spark"] = [
    ("varchar", "integer"),
    ("bigint", "double"),
    ("double", "decimal(10,2)"),
    ("decimal(10,2)", "decimal(10,4)"),
    ("decimal(10,2)", "double"),
    ("bigint", "decimal(18,0)"),
    ("timestamp", "timestamptz"),
    ("date", "varchar"),
    ("blob", "varchar"),
    ("boolean", "integer"),
    ("varchar", "varchar[]"),
    ("integer[]", "varchar[]"),
    ("struct(a integer)", "struct(b integer)"),
]
UNSAFE["sail"] = UNSAFE["spark"]
UNSAFE["ducklake"] = [pair for pair in UNSAFE["duckdb"] if all(map(lake_stores, pair))]


@pytest.mark.parametrize("mode", [SCD1, NOT_NOTE], ids=["scd1", "not note"])
@pytest.mark.parametrize(("stored", "incoming"), UNSAFE[chosen()])
def test_unsafe_types(changing: MakeChanging, stored: str, incoming: str, mode: dict[str, Any]) -> None:
    """A change that not every value survives is refused, in both directions, and naming both types."""
    for was, now in ((stored, incoming), (incoming, stored)):
        target = changing()
        target.given(mode, f"id, seq, city, note {was}", "1 | 1 | 'Oslo' | null")
        said = target.refused(mode, f"id, seq, city, note {now}", "1 | 2 | 'Oslo' | null")
        types = [target.type_of(name) for name in (was, now)]
        assert said == (
            f"column note was {types[0]} and is now {types[1]}, which not every value survives; cast it to {types[0]}"
            f" in the model, or rebuild the target with --full-refresh"
        )


@MODES
def test_types_of_keys_never_change(changing: MakeChanging, mode: dict[str, Any]) -> None:
    """A narrower type of a key is cast, a wider one is refused."""
    target = changing()
    target.given(mode, "id bigint, seq, city, note", "1 | 1 | 'Oslo' | 'a'")
    target.given(mode, "id integer, seq, city, note", "1 | 2 | 'Bari' | 'b'")
    assert target.type_of("BIGINT") == target.columns()["id"]
    said = target.refused(mode, "id decimal(25,0), seq, city, note", "1 | 3 | 'Bari' | 'b'")
    was, now = target.type_of("bigint"), target.type_of("decimal(25,0)")
    assert said.startswith(f"key column id was {was} and is now {now}, and keys never change their type; ")


def test_a_sequence_in_the_output_does_not_widen(changing: MakeChanging) -> None:
    """Its type is the type of the order."""
    target = changing()
    target.given(SCD1, "id, seq integer, city", "1 | 1 | 'Oslo'")
    said = target.refused(SCD1, "id, seq bigint, city", "1 | 2 | 'Oslo'")
    assert said.startswith(here("the type of sequence_by was INTEGER in the last run and is BIGINT now; "))


@pytest.mark.altering
@MODES
def test_everything_at_once(changing: MakeChanging, mode: dict[str, Any]) -> None:
    """A column comes, one goes, one widens, in a run with late events, deletes and repeats, and none is lost."""
    target = changing()
    target.given(
        mode,
        "id, seq, op, city, note integer, old",
        "1 | 1 | 'U' | 'Oslo' | 1 | 'o'",
        "1 | 4 | 'U' | 'Oslo' | 4 | 'o'",
        "1 | 8 | 'D' | null | null | null",
        "2 | 1 | 'U' | 'Rome' | 1 | 'o'",
    )
    target.given(
        mode,
        "new, note bigint, seq, op, id, city",
        "'n' | 5000000000 | 2 | 'U' | 1 | 'Bari'",
        "'n' | 1 | 9 | 'U' | 1 | 'Oslo'",
        "null | null | 5 | 'D' | 2 | null",
        "null | 4 | 4 | 'U' | 1 | 'Oslo'",
        **SYNC,
    )
    assert target.type_of("BIGINT") == target.columns()["note"]
    assert "old" not in target.columns()
    if mode is SCD1:
        assert [(1, "Oslo", 1, "n")] == target.query("select id, city, note, new from target")
        return
    expected = [
        (1, "Oslo", 1, None, 1, 2),
        (1, "Bari", 5000000000, "n", 2, 4),
        (1, "Oslo", 4, None, 4, 8),
        (1, "Oslo", 1, "n", 9, None),
        (2, "Rome", 1, None, 1, 5),
    ]
    assert expected == target.query(
        "select id, city, note, new, __START_AT, __END_AT from target order by 1, 5"
    )


# -- Indexes -----------------------------------------------------------------------------------------------------------

CHANGES = pytest.mark.parametrize(
    ("columns", "values", "expected"),
    [
        ("id, seq, city, note integer, x", "1 | 'x'", {"note": "INTEGER", "x": "VARCHAR"}),
        ("id, seq, city, note bigint", "5000000000", {"note": "BIGINT"}),
        ("id, seq, city", "", {}),
        ("id, seq, city, note bigint, x", "1 | 'x'", {"note": "BIGINT", "x": "VARCHAR"}),
    ],
    ids=["new", "wider", "lost", "both"],
)


@pytest.mark.indexed
@CHANGES
@pytest.mark.parametrize("mode", [SCD1, SCD2], ids=["scd1", "scd2"])
def test_indexes_are_made_again(
    changing: MakeChanging, columns: str, values: str, expected: dict[str, str], mode: dict[str, Any]
) -> None:
    """Where an engine refuses to alter a table that has indexes they go and come back, whoever made them."""
    target = changing()
    target.given(mode, "id, seq, city, note integer", "1 | 1 | 'Oslo' | 1", "2 | 1 | 'Rome' | 1")
    target.connection.execute('create unique index "My ""Index""" on target (id, "city")')
    target.connection.execute("create index by_city on target ((lower(city)), id)")
    before = indexes_of(target.connection)
    parts = [part for part in ("1 | 2 | 'Bari'", values) if part]
    target.given(mode, columns, " | ".join(parts), **SYNC)
    assert before == indexes_of(target.connection)
    stored = target.columns()
    expected = {name: target.type_of(kind) for name, kind in expected.items()}
    assert expected == {name: stored[name] for name in ("note", "x") if name in stored}
    assert [("Bari",), ("Rome",)] == target.query("select city from target where city <> 'Oslo' order by id")
    with pytest.raises(engine_error(), match=r"(?i)unique|duplicate key"):
        target.connection.execute("insert into target (id, city) values (2, 'Rome')")
    target.given(mode, columns, " | ".join(["2 | 5 | 'Kiel'", *parts[1:]]), **SYNC)
    assert "Kiel" in {row[0] for row in target.query("select city from target where id = 2")}


@pytest.mark.indexed
@pytest.mark.parametrize("mode", [SCD1, SCD2], ids=["scd1", "scd2"])
def test_an_index_on_the_column_itself(changing: MakeChanging, mode: dict[str, Any]) -> None:
    """A column that has an index widens; one that has is not dropped, but where the engine takes the index along."""
    target = changing()
    target.given(mode, "id, seq, city, note integer", "1 | 1 | 'Oslo' | 1")
    target.connection.execute("create index by_note on target (note)")
    target.given(mode, "id, seq, city, note bigint", "1 | 2 | 'Oslo' | 5000000000")
    assert target.type_of("BIGINT") == target.columns()["note"]
    assert ["by_note"] == [name for name, _ in indexes_of(target.connection)]
    if chosen() == "postgres":
        # With the column PostgreSQL drops the index.
        target.given(mode, "id, seq, city", "1 | 3 | 'Oslo'", **SYNC)
        assert [] == indexes_of(target.connection)
        return
    assert target.refused(mode, "id, seq, city", "1 | 3 | 'Oslo'", **SYNC) == (
        'index "by_note" is on note, which on_schema_change sync_all_columns would drop; drop the index and take it'
        " out of indexes, or set on_schema_change to append_new_columns"
    )


@pytest.mark.indexed
def test_a_refused_run_leaves_the_indexes(changing: MakeChanging) -> None:
    """All or nothing: a tie found after the table was copied leaves everything as it was."""
    target = changing()
    target.given(SCD2, "id, seq, city, note integer", "1 | 1 | 'Oslo' | 1")
    target.connection.execute("create index by_note on target (note)")
    said = target.refused(SCD2, "id, seq, city, note bigint", "1 | 2 | 'Oslo' | 1", "1 | 2 | 'Bari' | 1")
    assert "different events at one sequence" in said
    target.given(SCD2, "id, seq, city, note bigint", "1 | 2 | 'Oslo' | 2")


@pytest.mark.indexed
def test_a_rebuild_with_indexes(changing: MakeChanging) -> None:
    """A full refresh replaces the table, and its indexes go with it."""
    target = changing()
    target.given(SCD2, "id, seq, city, note integer", "1 | 1 | 'Oslo' | 1")
    target.connection.execute("create index by_note on target (note)")
    target.run(SCD2, sql="select 1 as id, 1 as seq, 'U' as op, 'x' as note", full_refresh=True)
    assert [(1, "x")] == target.query("select id, note from target")


MODEL = """
{{ config(
    materialized='auto_cdc', keys=['id'], sequence_by='seq', stored_as_scd_type=%s, on_schema_change='sync_all_columns',
    except_column_list=['seq'], schema='odd schema',
    indexes=[{'columns': ['id', 'city'], 'unique': true}, {'columns': ['note']}],
) }}
select * from {{ target.schema }}.feed
"""
CONTRACT = """
models:
  - name: target
    config: {contract: {enforced: true}}
    columns:
      - {name: id, data_type: integer, constraints: [{type: not_null}]}
      - {name: city, data_type: varchar}
      - {name: note, data_type: %s}%s
"""
BOUNDS = """
      - {name: %s, data_type: integer}
      - {name: %s, data_type: integer}
"""


INDEXES = {
    "duckdb": "select is_unique, expressions from duckdb_indexes() where table_name = 'target' order by 1",
    "postgres": """
        select indisunique, '[' || string_agg(attname, ', ' order by array_position(indkey::int2[], attnum)) || ']'
        from pg_index join pg_attribute on attrelid = indrelid and attnum = any (indkey)
        where indrelid = to_regclass('{target}')
        group by indexrelid, indisunique order by 1
    """,
}


@pytest.fixture
def odd_schema(project: Project) -> Iterator[str]:
    """Return the schema of the model, which is dropped on a server: it is not the project's own."""
    schema = f'"{project.schema or "main"}_odd schema"'
    yield schema
    if project.schema:
        project.execute(f"drop schema if exists {schema} cascade")


def feed(project: Project, row: str) -> None:
    project.execute("drop table if exists feed")
    project.execute(f"create table feed as {row}")


@pytest.mark.indexed
@pytest.mark.dbt
@pytest.mark.parametrize("scd", [1, 2])
def test_configured_indexes(project: Project, odd_schema: str, scd: int) -> None:
    """Through dbt: configured indexes survive changes of the columns, once each, and a full refresh."""
    target = f"{odd_schema}.target"
    project.write("models/target.sql", MODEL % scd)
    feed(project, "select 1 as id, 1 as seq, 'Oslo' as city, 1 as note, 'o' as old")
    project.succeed("run")
    indexes = INDEXES[chosen()].format(target=target)
    expected = [(False, "[note]"), (True, "[id, city]")]
    assert expected == project.query(indexes)

    feed(project, "select 1 as id, 2 as seq, 'Bari' as city, 5000000000 as note, 1 as x")
    project.succeed("run")
    assert expected == project.query(indexes)
    bounds = [] if scd == 1 else ["__start_at", "__end_at"]
    assert {"id", "city", "note", "x", *bounds} == {name.lower() for name in project.columns(target)}
    assert [("Bari", 5000000000, 1)] == project.query(
        f"select city, note, x from {target} where city = 'Bari'"
    )
    project.succeed("run")

    project.succeed("run", "--full-refresh")
    assert expected == project.query(indexes)


@pytest.mark.indexed
@pytest.mark.dbt
@pytest.mark.parametrize("scd", [1, 2])
def test_indexes_under_a_contract(project: Project, odd_schema: str, scd: int) -> None:
    """A table that is altered, or copied because of its indexes, is as its contract says, constraints included."""
    target = f"{odd_schema}.target"
    bounds = BOUNDS % {"duckdb": ("__START_AT", "__END_AT"), "postgres": ("__start_at", "__end_at")}[chosen()]
    bounds = bounds if scd == 2 else ""
    project.write("models/target.sql", MODEL % scd)
    project.write("models/_models.yml", CONTRACT % ("integer", bounds))
    feed(project, "select 1 as id, 1 as seq, 'Oslo' as city, 1 as note")
    project.succeed("run")

    project.write("models/_models.yml", CONTRACT % ("bigint", bounds))
    feed(project, "select 1 as id, 2 as seq, 'Bari' as city, 5000000000 as note")
    project.succeed("run")
    live = "" if scd == 1 else " where __END_AT is null"
    assert [("Bari", 5000000000)] == project.query(f"select city, note from {target}{live}")
    assert 2 == len(project.query(INDEXES[chosen()].format(target=target)))
    nulls = "select is_nullable from information_schema.columns where table_name = 'target' and column_name = 'id'"
    assert [("NO",)] == project.query(f"{nulls} and table_schema = '{odd_schema[1:-1]}'")
