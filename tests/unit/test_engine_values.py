"""How engines spell what partial updates ask of them: DuckDB's own way answers as the plain one does.

Not here: plans (`scenarios`, `properties`).
"""

from __future__ import annotations

import duckdb
import pytest

from dbt_auto_cdc.engines.base import Engine
from dbt_auto_cdc.engines.duckdb import ENGINE

EVENTS = """(values (1, 1, 10, true), (1, 2, null, true), (1, 3, 30, false), (2, 1, null, false), (2, 2, 20, true))
    as evt(id, seq, v, sent)"""


def rows(sql: str) -> list[tuple[object, ...]]:
    with duckdb.connect() as connection:
        return connection.execute(sql).fetchall()


def both(spelling: str, *args: object, **named: object) -> tuple[str, str]:
    """Return the plain spelling and DuckDB's."""
    return getattr(Engine, spelling)(ENGINE, *args, **named), getattr(ENGINE, spelling)(*args, **named)


def test_latest() -> None:
    """The value of the greatest sequence that was sent, a null among them; a second order decides among equals."""
    for latest in both("latest", "evt.v", "integer", order=["evt.seq desc"], where="evt.sent"):
        assert [(1, None), (2, 20)] == rows(f"select id, {latest} from {EVENTS} group by id order by id")
    for latest in both(
        "latest", "evt.v", "integer", order=["evt.sent desc", "evt.v desc nulls last"], where="true"
    ):
        assert [(1, 10), (2, 20)] == rows(f"select id, {latest} from {EVENTS} group by id order by id")


def test_carried() -> None:
    """Each row has the last value that was sent, a null among them."""
    window = (
        "window so_far as (partition by id order by seq rows between unbounded preceding and current row)"
    )
    for carried in both("carried", "evt.v", "integer", where="evt.sent", window="so_far"):
        found = rows(f"select id, seq, {carried} from {EVENTS} {window} order by id, seq")
        assert [(1, 1, 10), (1, 2, None), (1, 3, None), (2, 1, None), (2, 2, 20)] == found


@pytest.mark.parametrize(
    ("names", "is_listed", "unknown"),
    [
        ("['a', 'B']", True, None),
        ("['A']", True, None),
        ("['b', 'C']", False, "C"),
        ("['b', null]", False, "null"),
        ("[]::varchar[]", False, None),
        ("null::varchar[]", False, None),
    ],
)
def test_names_in_lists(names: str, is_listed: bool, unknown: str | None) -> None:
    """Names are found in any case; one that is not allowed is told."""
    for listed in both("is_listed", "a", "cols"):
        (found,) = rows(f"select {listed} from (select {names} as cols)")
        assert is_listed == bool(found[0])
    for not_among in both("not_among", "cols", ["a", "b"]):
        assert [(unknown,)] == rows(f"select {not_among} from (select {names} as cols)")


@pytest.mark.parametrize(
    ("type_name", "fields"),
    [
        ("INTEGER", ()),
        ("STRUCT(a INTEGER)[]", ()),
        ("MAP(VARCHAR, INTEGER)", ()),
        (
            'STRUCT(x INTEGER, "Q ""q""" STRUCT(y VARCHAR, z DECIMAL(4,2)))',
            (("x", "INTEGER"), ('Q "q"', "STRUCT(y VARCHAR, z DECIMAL(4,2))")),
        ),
    ],
)
def test_fields_of_a_struct(type_name: str, fields: tuple[tuple[str, str], ...]) -> None:
    """A struct type is taken apart one level deep; others have no fields."""
    assert fields == ENGINE.fields(type_name)
