"""REPLACE USING and REPLACE WHERE by example: what is replaced, columns that come and go, odd names and values.

Straight on the engine. Not here: random rows (`properties/test_replace`), refusals (`test_bad_replace`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from dbt_auto_cdc.errors import AutoCdcError
from dbt_auto_cdc.execute import Outcome, Sent
from tests.databases import (
    Connection,
    columns_of,
    engine_of,
    in_order,
    numbers,
    quoted,
    speaks,
    type_of,
)
from tests.direct import Direct
from tests.reference_model import Row
from tests.watched import placed

RARE = pytest.mark.rare_types
USING: dict[str, Any] = {"materialized": "replace_using", "replace_using": ["id"], "sequence_by": "seq"}
WHERE: dict[str, Any] = {"materialized": "replace_where", "replace_where": "seq >= 2"}


@pytest.fixture
def target(connection: Connection) -> Direct:
    return Direct(connection)


@pytest.fixture(params=[USING, WHERE], ids=["using", "where"])
def config(request: pytest.FixtureRequest) -> dict[str, Any]:
    return dict(request.param)


def take(target: Direct, config: dict[str, Any], sql: str, **flags: bool) -> Outcome:
    """Run on what a query gives."""
    return target.run(config, sql=sql, **flags)


def values(rows: str, columns: str = "id, seq, city") -> str:
    """Return the query of some rows."""
    return f"select * from (values {rows}) as t({columns})"


def table(target: Direct, columns: str = "*") -> list[tuple[Any, ...]]:
    """Return the target's rows in order."""
    return in_order(target.connection.execute(f"select {columns} from target").fetchall())


def types(target: Direct) -> dict[str, str]:
    return columns_of(target.connection, "target")


def places(target: Direct) -> dict[Any, Row]:
    """Return the rows by their places."""
    return placed(target.connection, "target")


def figures(outcome: Outcome) -> tuple[int, ...]:
    return tuple(outcome.figures[f"num_{name}_rows"] for name in ("upserted", "deleted", "read", "late"))


# -- REPLACE USING -----------------------------------------------------------------------------------------------------


def test_the_newest_rows_replace_those_of_their_key(target: Direct) -> None:
    """Rows below the greatest incoming sequence never enter; lower ones than stored are ignored, and counted."""
    take(target, USING, values("(1, 1, 'a'), (1, 2, 'b'), (1, 2, 'c'), (2, 5, 'd'), (3, 1, 'e')"))
    assert [(1, 2, "b"), (1, 2, "c"), (2, 5, "d"), (3, 1, "e")] == table(target)
    outcome = take(target, USING, values("(1, 3, 'c'), (1, 1, 'x'), (2, 4, 'y'), (2, 3, 'z'), (4, 1, 'f')"))
    assert [(1, 3, "c"), (2, 5, "d"), (3, 1, "e"), (4, 1, "f")] == table(target)
    assert (2, 2, 5, 3) == figures(outcome)
    assert outcome.message == "AUTO CDC 2 upserted, 2 deleted, 5 read, 3 late"


@pytest.mark.parametrize(
    ("equal", "expected"),
    [
        ("replace", ["b", "b"]),
        ("append", ["a", "b", "b"]),
    ],
)
def test_rows_at_the_stored_sequence(target: Direct, equal: str, expected: list[str]) -> None:
    """They take the place of those that are there, or are added to them; copies stay copies."""
    config = {**USING, "equal_sequence": equal}
    take(target, config, values("(1, 1, 'a')"))
    outcome = take(target, config, values("(1, 1, 'b'), (1, 1, 'b')"))
    assert expected == [city for _, _, city in table(target)]
    assert (2, 1 if equal == "replace" else 0, 2, 0) == figures(outcome)


def test_null_keys_match_null_keys(target: Direct) -> None:
    """A null is a key's part like any other, alone or beside others."""
    config = {**USING, "replace_using": ["id", "part"]}
    columns = "id, part, seq, city"
    take(
        target,
        config,
        values("(null::integer, null::integer, 1, 'a'), (1, null, 1, 'b'), (null, 1, 1, 'c')", columns),
    )
    take(target, config, values("(null, null::integer, 2, 'x'), (1, null, 2, 'y')", columns))
    assert ["c", "x", "y"] == sorted(row[3] for row in table(target))


def test_rows_by_hand_of_a_key(target: Direct) -> None:
    """They are replaced with the key's others; one without a sequence is older than any."""
    take(target, USING, values("(1, 1, 'a')"))
    target.connection.execute("insert into target values (1, 7, 'hand'), (2, null, 'hand'), (3, 9, 'hand')")
    take(target, USING, values("(1, 6, 'late'), (2, 1, 'new'), (3, 10, 'new')"))
    assert [(1, 1, "a"), (1, 7, "hand"), (2, 1, "new"), (3, 10, "new")] == table(target)


def test_keys_whose_rows_stay_are_not_written(target: Direct) -> None:
    """A new sequence writes a key anew, the same rows again do not, whatever their order."""
    rows = [f"({key}, 1, '{city}')" for key in (1, 2) for city in "ab"]
    take(target, USING, values(", ".join(rows)))
    before = places(target)
    assert (0, 0, 4, 0) == figures(take(target, USING, values(", ".join(reversed(rows)))))
    assert before == places(target)


def test_the_name_of_the_sequence_in_another_case(target: Direct) -> None:
    """Names of the model and of the options match in any case."""
    take(target, {**USING, "sequence_by": "SEQ"}, values("(1, 1, 'a')", 'id, "Seq", city'))
    take(target, {**USING, "replace_using": ["ID"]}, values("(1, 2, 'b')", '"ID", "sEq", "CITY"'))
    assert [(1, 2, "b")] == table(target)
    assert ["id", "Seq", "city"] == list(types(target))


# -- REPLACE WHERE -----------------------------------------------------------------------------------------------------


def test_the_range_is_replaced_and_the_rest_stays(target: Direct) -> None:
    """Also the rest that was written by hand; incoming rows outside never enter."""
    take(target, WHERE, values("(1, 1, 'out'), (2, 2, 'a'), (3, 3, 'b'), (3, 3, 'b')"))
    assert [(2, 2, "a"), (3, 3, "b"), (3, 3, "b")] == table(target)
    target.connection.execute("insert into target values (8, 1, 'hand'), (9, 9, 'hand'), (7, null, 'hand')")
    outcome = take(target, WHERE, values("(1, 1, 'out'), (3, 3, 'b'), (4, 4, 'c'), (5, null, 'out')"))
    assert [(3, 3, "b"), (4, 4, "c"), (7, None, "hand"), (8, 1, "hand")] == table(target)
    assert (1, 3, 4, 0) == figures(outcome)


def test_an_empty_result_empties_the_range(target: Direct) -> None:
    """A model without rows in the range is an answer: it has none any more."""
    take(target, WHERE, values("(2, 2, 'a')"))
    target.connection.execute("insert into target values (8, 1, 'hand')")
    assert (0, 1, 0, 0) == figures(take(target, WHERE, values("(2, 2, 'a')") + " where false"))
    assert [(8, 1, "hand")] == table(target)


def test_another_range(target: Direct) -> None:
    """A run may have another predicate: what it replaced stays when the usual one comes again."""
    take(target, WHERE, values("(2, 2, 'a'), (3, 3, 'b')"))
    take(target, {**WHERE, "replace_where": "seq = 1"}, values("(1, 1, 'old'), (2, 2, 'x')"))
    assert [(1, 1, "old"), (2, 2, "a"), (3, 3, "b")] == table(target)
    take(target, WHERE, values("(1, 1, 'x'), (2, 2, 'x')"))
    assert [(1, 1, "old"), (2, 2, "x")] == table(target)


def test_a_full_refresh_keeps_what_the_range_has(target: Direct) -> None:
    """Rows outside, by hand or of another run, are gone."""
    take(target, WHERE, values("(2, 2, 'a')"))
    target.connection.execute("insert into target values (8, 1, 'hand')")
    take(target, WHERE, values("(1, 1, 'x'), (2, 2, 'x')"), full_refresh=True)
    assert [(2, 2, "x")] == table(target)


def test_a_range_that_looks_at_the_target(target: Direct) -> None:
    """The predicate is evaluated once, before anything is deleted: the last two, of those that were there."""
    take(target, {**WHERE, "replace_where": "true"}, values("(1, 1, 'a'), (2, 2, 'a'), (3, 3, 'a')"))
    last_two = {**WHERE, "replace_where": "seq > (select max(seq) - 2 from target)"}
    take(target, last_two, values("(1, 1, 'b'), (2, 2, 'b'), (3, 3, 'b'), (4, 4, 'b')"))
    assert [(1, 1, "a"), (2, 2, "b"), (3, 3, "b"), (4, 4, "b")] == table(target)


def test_a_range_that_is_a_column(target: Direct) -> None:
    """A condition may be the name of a column, an odd one too."""
    config = {**WHERE, "replace_where": "is open"}
    take(target, config, 'select 1 as id, true as "is open"')
    take(target, config, 'select 2 as id, true as "is open" union all select 3, false')
    assert [(2, True)] == table(target)


def test_a_range_at_random(target: Direct) -> None:
    """A predicate that is another one at each look takes the same rows away that it counted."""
    config = {**WHERE, "replace_where": "random() < 0.5"}
    take(target, {**WHERE, "replace_where": "true"}, f"select i as id from {numbers(200)} as t(i)")
    outcome = take(target, config, f"select i + 1000 as id from {numbers(200)} as t(i)")
    upserted, deleted, *_ = figures(outcome)
    assert 200 + upserted - deleted == len(target.rows())
    assert 0 < deleted < 200
    assert 0 < upserted < 200


# -- Both: columns that come and go ------------------------------------------------------------------------------------


@pytest.mark.altering
def test_a_new_column(target: Direct, config: dict[str, Any]) -> None:
    """It is null in rows that stay; a row that has a value differs from one that has none."""
    take(target, config, values("(1, 2, 'a'), (2, 2, 'b')"))
    target.connection.execute("insert into target values (7, 1, 'hand')")
    outcome = take(target, config, values("(1, 2, 'a', null), (2, 2, 'b', 'x')", "id, seq, city, extra"))
    assert [(1, 2, "a", None), (2, 2, "b", "x"), (7, 1, "hand", None)] == table(target)
    assert (1, 1, 2, 0) == figures(outcome)


def test_a_lost_column(target: Direct, config: dict[str, Any]) -> None:
    """It is null in rows that come."""
    take(target, config, values("(1, 2, 'a')"))
    take(target, config, values("(1, 3)", "id, seq"))
    assert [(1, 3, None)] == table(target)


@pytest.mark.altering
def test_policies(target: Direct, config: dict[str, Any]) -> None:
    """New and lost columns are ignored, refused, or followed."""
    take(target, config, values("(1, 2, 'a')"))
    new, lost = values("(1, 2, 'a', 'x')", "id, seq, city, extra"), values("(1, 3)", "id, seq")
    assert (0, 0, 1, 0) == figures(take(target, {**config, "on_schema_change": "ignore"}, new))
    assert ["id", "seq", "city"] == list(types(target))
    for sql, said in ((new, "new: extra"), (lost, "gone: city")):
        with pytest.raises(Exception, match=f"{said}\\) and on_schema_change is fail"):
            take(target, {**config, "on_schema_change": "fail"}, sql)
    take(target, {**config, "on_schema_change": "sync_all_columns"}, lost)
    assert [(1, 3)] == table(target)


@pytest.mark.altering
def test_a_column_that_widens(target: Direct, config: dict[str, Any]) -> None:
    """The same number in a wider type is no change."""
    take(target, config, values("(1, 2, 7::integer), (2, 2, 7::integer)", "id, seq, n"))
    outcome = take(target, config, values("(1, 2, 7::bigint), (2, 2, 5000000000)", "id, seq, n"))
    assert [(1, 2, 7), (2, 2, 5000000000)] == table(target)
    assert (1, 1, 2, 0) == figures(outcome)
    assert type_of(target.connection, "BIGINT") == types(target)["n"]


def test_columns_match_by_name(target: Direct, config: dict[str, Any]) -> None:
    """Never by position."""
    take(target, config, values("(1, 2, 'a')"))
    assert (0, 0, 1, 0) == figures(take(target, config, values("('a', 2, 1)", "city, seq, id")))
    take(target, config, values("('b', 3, 1)", "city, seq, id"))
    assert [(1, 3, "b")] == table(target)


def test_columns_with_the_names_of_bounds(target: Direct, config: dict[str, Any]) -> None:
    """A target without history may carry the bounds of its source."""
    take(target, config, values("(1, 2, 3)", 'id, seq, "__START_AT"'))
    take(target, config, values("(1, 3, 4)", 'id, seq, "__START_AT"'))
    assert [(1, 3, 4)] == table(target)


# -- Both: odd names and values ----------------------------------------------------------------------------------------

ODD = ["order id", "select", 'a"b', "{count}", "ünï", "won", "stg", "0", "(0)", "a.b"]


@pytest.mark.parametrize("name", ODD)
def test_odd_names(target: Direct, name: str) -> None:
    """As a key, a sequence and a value; a predicate names them quoted."""
    for role in ("key", "sequence", "value"):
        columns = {"key": "id", "sequence": "seq", "value": "city"} | {role: quoted(name)}
        options = {**USING, "replace_using": [name if role == "key" else "id"]}
        options["sequence_by"] = name if role == "sequence" else "seq"
        listed = ", ".join(columns.values())
        take(target, options, values("(1, 1, 'a'), (2, 1, 'b')", listed), full_refresh=True)
        take(target, options, values("(1, 2, 'c')", listed))
        assert [(1, 2, "c"), (2, 1, "b")] == table(target)
        with pytest.raises(Exception, match=r"sequence_by .* is null in 1 row, for example .*=1"):
            take(target, options, values("(1, null::integer, 'c')", listed))
        quote = engine_of(target.connection).quote
        key, sequence = (
            name if role == named else usual for named, usual in (("key", "id"), ("sequence", "seq"))
        )
        where = {**WHERE, "replace_where": f"{quote(key)} = 1 and {quote(sequence)} > 1"}
        take(target, where, values("(1, 2, 'd'), (2, 2, 'd')", listed), full_refresh=True)
        take(target, where, values("(1, 3, 'e'), (2, 2, 'd')", listed))
        assert [(1, 3, "e")] == table(target)


VALUES = {
    "duckdb": [
        pytest.param("{'a': 1, 'b': null}", "{'a': 1, 'b': null}", "{'a': 1, 'b': 2}", marks=RARE),
        ("[1, null]", "[1, null]", "[null, 1]"),
        ("map {'a': 1}", "map {'a': 1}", "map {'a': 2}"),
        ("'{\"a\": 1}'::json", "'{\"a\": 1}'::json", "'{\"a\": 2}'::json"),
        ("'nan'::double", "'nan'::double", "0::double"),
        ("1::variant", "1::variant", "2::variant"),
    ],
    "postgres": [
        ("array[1, null]", "array[1, null]", "array[null, 1]"),
        ("null::integer[]", "null::integer[]", "'{}'::integer[]"),
        ('\'{"a": 1, "b": 2}\'::json', '\'{"b":2, "a":1}\'::json', "'{\"a\": 2}'::json"),
        ("point '(1, 2)'", "point(1, 2)", "point '(2, 1)'"),
        ("'nan'::double precision", "'NaN'::double precision", "0::double precision"),
    ],
    "spark": [
        (
            "named_struct('a', 1, 'b', null::integer)",
            "named_struct('a', 1, 'b', null::integer)",
            "named_struct('a', 1, 'b', 2)",
        ),
        ("array(1, null)", "array(1, null)", "array(null, 1)"),
        ("null::integer[]", "null::integer[]", "array(1)"),
        ("'nan'::double", "'NaN'::double", "0::double"),
    ],
}[speaks()]


@pytest.mark.parametrize(("one", "same", "other"), [*VALUES, ("null::integer", "null::integer", "0")])
def test_odd_values(target: Direct, config: dict[str, Any], one: str, same: str, other: str) -> None:
    """Values are compared as values, null and not-a-number with themselves, nested ones as wholes."""
    is_nested = any(word in one for word in ("struct", "array", "[]"))
    if speaks() == "spark" and is_nested and "replace_where" in config:
        with pytest.raises(AutoCdcError, match="by which Spark cannot tell one row from another"):
            take(target, config, f"select 1 as id, 2 as seq, {one} as x")
        return
    take(target, config, f"select 1 as id, 2 as seq, {one} as x")
    assert (0, 0, 1, 0) == figures(take(target, config, f"select 1 as id, 2 as seq, {same} as x"))
    assert (1, 1, 1, 0) == figures(take(target, config, f"select 1 as id, 2 as seq, {other} as x"))


A_UUID = "uuid '00000000-0000-0000-0000-000000000001'"
KEYS = {
    "duckdb": [pytest.param("{'a': 1, 'b': null::date}", marks=RARE), "[1, null]", "'nan'::double"],
    "postgres": [
        "row(1, null)::two_of_mine",
        "null::two_of_mine",
        "array[1, null]",
        "'nan'::double precision",
    ],
    "spark": ["x'00ff'", "'nan'::double"],
}[speaks()]


@pytest.mark.parametrize(
    "key", [*KEYS, "null::date", "true", *([] if speaks() == "spark" else ["time '12:00'", A_UUID])]
)
def test_odd_keys(target: Direct, key: str) -> None:
    """Structs, lists and what is missing are keys too."""
    if "two_of_mine" in key:
        target.connection.execute("create type two_of_mine as (a integer, b date)")
    take(target, USING, f"select {key} as id, 1 as seq, 'a' as city")
    take(target, USING, f"select {key} as id, 2 as seq, 'b' as city from {numbers(2)} as t(i)")
    assert [(2, "b"), (2, "b")] == table(target, "seq, city")


@pytest.mark.parametrize(
    "sequence",
    [
        "date '2026-11-{}'",
        "timestamptz '2026-11-{} 00:00:00+00'",
        "'x{}'",
        pytest.param("{{'a': {}, 'b': 1}}", marks=[pytest.mark.only_on("duckdb"), RARE]),
    ],
)
def test_kinds_of_sequences(target: Direct, sequence: str) -> None:
    """Whatever has an order."""
    for day, city in ((10, "a"), (12, "b"), (11, "c")):
        take(target, USING, f"select 1 as id, {sequence.format(day)} as seq, '{city}' as city")
    assert [("b",)] == table(target, "city")


def test_a_target_that_is_gone(target: Direct, config: dict[str, Any]) -> None:
    """It is built again from what the model gives."""
    take(target, config, values("(1, 2, 'a')"))
    target.connection.execute("drop table target")
    take(target, config, values("(2, 2, 'b')"))
    assert [(2, 2, "b")] == table(target)


def test_a_companion_that_is_gone(target: Direct, config: dict[str, Any]) -> None:
    """Refused, with the ways out."""
    take(target, config, values("(1, 2, 'a')"))
    target.connection.execute("drop table target__auto_cdc")
    with pytest.raises(Exception, match="exists without its companion"):
        take(target, config, values("(2, 2, 'b')"))
    take(target, config, values("(2, 2, 'b')"), full_refresh=True)
    assert [(2, 2, "b")] == table(target)


def test_relations_of_the_model_may_have_any_name(target: Direct, config: dict[str, Any]) -> None:
    """Names that the plan uses for its steps are free for tables of the user's own."""
    for name in (
        "incoming",
        "stored",
        "standings",
        "newest",
        "both_sides",
        "gone",
        "evaluated",
        "told",
        "stg",
    ):
        target.connection.execute(f"create table {name} as {values('''(1, 2, 'a')''')}")
        take(target, config, f"select * from {name}", full_refresh=True)
        assert (0, 0, 1, 0) == figures(take(target, config, f"select * from {name}"))
        where = {**WHERE, "replace_where": f"seq <= (select max(seq) from {name})"}
        take(target, where, f"select * from {name}", full_refresh=True)
        assert (0, 0, 1, 0) == figures(take(target, where, f"select * from {name}"))


# -- How rows are found ------------------------------------------------------------------------------------------------


@dataclass
class Explained(Direct):
    """A target whose statements are explained before they are sent."""

    plans: dict[str, str] = field(default_factory=dict)

    def _send(self, name: str, sql: str) -> Sent:
        _, statement = sql.split("\n", 1)
        self.plans[name] = self.connection.execute(f"explain {statement}").fetchall()[0][1]
        return super()._send(name, sql)


@pytest.mark.only_on("duckdb")  # it reads DuckDB's plans
@pytest.mark.parametrize("equal", ["replace", "append"])
def test_keys_are_found_by_hash(connection: Connection, equal: str) -> None:
    """Keys that may be null are compared in a form that joins find rows by: nowhere is each row set beside each."""
    config = {**USING, "replace_using": ["id", "part"], "equal_sequence": equal}
    rows = "select i as id, nullif(i % 3, 0) as part, {} as seq, i % 7 as city from range(1000) as t(i)"
    target = Explained(connection)
    for sequence in (1, 1, 2):
        take(target, config, rows.format(sequence))
    assert 7 <= len(target.plans)
    # Releases of DuckDB spell the operators in two ways.
    plans = {name: plan.lower().replace("_", " ") for name, plan in target.plans.items()}
    slow = [name for name, plan in plans.items() if "nested loop" in plan or "nl join" in plan]
    assert [] == slow
    assert "hash join" in plans["find the newest rows of each key"]
