"""What planning asks of an engine, tried on the engine itself: the same suite for each that starts here.

Not here: what is peculiar to one (`test_postgres`), and the tables that runs make (`tests/scenarios`).
"""

from __future__ import annotations

from typing import Any

import pytest

from dbt_auto_cdc.engines import engine_for, supported
from dbt_auto_cdc.engines.base import Engine
from dbt_auto_cdc.errors import AutoCdcError
from dbt_auto_cdc.sql import Query
from tests import databases
from tests.databases import Connection, columns_of, create_table, engine_of, type_of
from tests.direct import Direct

COLUMNS = {"id": "INTEGER", "name": "VARCHAR"}
ROWS: list[dict[str, Any]] = [{"id": 1, "name": "a"}, {"id": 2, "name": None}, {"id": 3, "name": "c"}]


def query(sql: str) -> Query:
    return Query().then("rows", sql)


def rows_of(connection: Connection, relation: str) -> list[tuple[Any, ...]]:
    return sorted(connection.execute(f"select * from {relation}").fetchall(), key=repr)


def told(connection: Connection, described: str) -> list[tuple[str, str]]:
    """Return columns with their types; what stands before a name keeps dbt from taking it for a value."""
    return [(row[0].removeprefix("="), row[1]) for row in connection.execute(described).fetchall()]


@pytest.fixture
def sql(connection: Connection) -> Engine:
    """Return the engine, with a table to work on."""
    create_table(connection, "things", COLUMNS, ROWS)
    return engine_of(connection)


def test_every_engine_is_tested() -> None:
    """Whoever adds an engine adds it to those that this suite can start, or says in its file that it is not run."""
    run = {name for name in supported() if (engine := engine_for(name)) and engine.is_run}
    assert set(databases.ENGINES.values()) == run


def test_an_engine_nobody_wrote() -> None:
    """The message names the adapter, what there is, and the page on how to add one."""
    from dbt_auto_cdc.engines import HOW_TO_ADD_ONE, required

    with pytest.raises(
        AutoCdcError, match=f"model shop: there is no engine for adapter sqlite; .*{HOW_TO_ADD_ONE}"
    ):
        required("sqlite", "shop")


def test_describe(connection: Connection, sql: Engine) -> None:
    """Names as stored, types in the engine's words, no row read, and as often as one likes."""
    described = f"select id, name, 1 / (id - id) as {sql.quote('Odd name')} from things"
    for _ in range(2):
        found = told(connection, sql.describe(described))
        assert ["id", "name", "Odd name"] == [name for name, _ in found]
        assert type_of(connection, "INTEGER") == found[0][1]
    relation = told(connection, sql.describe_relation("things"))
    assert [("id", type_of(connection, "INTEGER")), ("name", type_of(connection, "VARCHAR"))] == relation


def test_a_type_it_tells_can_be_written(connection: Connection, sql: Engine) -> None:
    """What the engine calls a type is also how one writes it."""
    types = [
        "INTEGER",
        "BIGINT",
        "VARCHAR",
        "DECIMAL(12, 3)",
        "DOUBLE",
        "DATE",
        "TIMESTAMP",
        "TIMESTAMPTZ",
        "BOOLEAN",
    ]
    for kind in types:
        named = type_of(connection, kind)
        null = f"select {sql.null(named)} as made"
        assert [("made", named)] == told(connection, sql.describe(null))


@pytest.mark.transactional
def test_working_tables_end_with_the_transaction(connection: Connection, sql: Engine) -> None:
    """A working table hides no table of its name beside the target, and is made anew in every run."""
    name = sql.working("things")
    for run in range(2):
        connection.execute("begin")
        connection.execute(sql.create_working(name, query(f"select {run} as run")))
        assert [(run,)] == connection.execute(f"select run from {name}").fetchall()
        connection.execute("commit")
        if free := sql.drop_working([name]):
            connection.execute(free)
    assert list(COLUMNS) == list(columns_of(connection, "things"))


@pytest.mark.transactional
def test_delete_located(connection: Connection, sql: Engine) -> None:
    """Exactly the rows at the given places go."""
    connection.execute(sql.delete_located("things", query(f"select {sql.locator} from things where id <> 2")))
    assert [(2, None)] == rows_of(connection, "things")


@pytest.mark.transactional
def test_delete_matching(connection: Connection, sql: Engine) -> None:
    """Rows of the given keys go, however often a key is given."""
    keys = query("select 1 as id union all select 1 as id union all select 9 as id")
    connection.execute(sql.delete_matching("things", ["id"], keys))
    assert [2, 3] == [row[0] for row in rows_of(connection, "things")]


@pytest.mark.transactional
def test_set_located(connection: Connection, sql: Engine) -> None:
    """One column of the rows at the given places gets its value."""
    changed = query(f"select {sql.locator} as locator, 'new' as value from things where id = 2")
    connection.execute(sql.set_located("things", "name", changed))
    assert [(1, "a"), (2, "new"), (3, "c")] == rows_of(connection, "things")


@pytest.mark.transactional
def test_a_place_stays_while_others_are_written(connection: Connection, sql: Engine) -> None:
    """Within a transaction a row that nobody writes is found where it was."""
    place = f"select {sql.locator} from things where id = 3"
    connection.execute("begin")
    before = connection.execute(place).fetchall()
    connection.execute("delete from things where id = 1")
    connection.execute("update things set name = 'x' where id = 2")
    connection.execute("insert into things values (4, 'd')")
    assert before == connection.execute(place).fetchall()
    connection.execute("commit")


@pytest.mark.parametrize(
    ("type_name", "left", "right", "same"),
    [
        *(("INTEGER", "1", "1", True), ("INTEGER", "1", "2", False)),
        *(("INTEGER", "null", "1", False), ("INTEGER", "null", "null", True)),
        *(("INTEGER[]", "array[1]", "array[1]", True), ("INTEGER[]", "array[1]", "array[1, 2]", False)),
        *(("INTEGER[]", "null", "array[]", False), ("INTEGER[]", "array[]", "array[null]", False)),
        ("INTEGER[]", "null", "null", True),
    ],
)
def test_null_is_a_value(
    connection: Connection, sql: Engine, *, type_name: str, left: str, right: str, same: bool
) -> None:
    """Both comparisons take null for a value, and neither is ever null itself."""
    kind = type_of(connection, type_name)
    if not sql.transactions:
        left, right = (value.replace("[", "(").replace("]", ")") for value in (left, right))
    pair = f"(select cast({left} as {kind}) as l, cast({right} as {kind}) as r) as pair"
    is_same, differs = sql.is_same("l", "r", type_name=kind), sql.differs("l", "r")
    found = connection.execute(f"select {is_same}, {differs} from {pair}").fetchall()
    assert [(same, not same)] == found


def test_text_is_ordered_by_bytes(connection: Connection, sql: Engine) -> None:
    """Whatever the order of the database: capitals before small letters, accents last."""
    words = ["", "B", "a", "b", "é"]
    create_table(connection, "words", {"word": "VARCHAR"}, [{"word": word} for word in reversed(words)])
    kind = type_of(connection, "VARCHAR")
    for expression in (sql.in_order("word", kind), sql.comparable("word", kind)):
        found = connection.execute(f"select word from words order by {expression}").fetchall()
        assert [(word,) for word in words] == found


def test_greatest_null_last(connection: Connection, sql: Engine) -> None:
    """Descending order puts the greatest first and null last."""
    found = connection.execute(f"select name from things order by {sql.descending('name')}").fetchall()
    assert [("c",), ("a",), (None,)] == found


@pytest.mark.transactional
def test_alter_and_swap(connection: Connection, sql: Engine) -> None:
    """Columns are added, widened and dropped, tables renamed and dropped."""
    wide = type_of(connection, "BIGINT")
    connection.execute(sql.add_column("things", "more", wide))
    connection.execute(sql.widen_column("things", "id", wide))
    connection.execute(sql.drop_column("things", "name"))
    assert {"id": wide, "more": wide} == columns_of(connection, "things")
    connection.execute(sql.create_table("aside", query("select 7 as id")))
    connection.execute(sql.drop_table("things"))
    connection.execute(sql.drop_table("things"))
    connection.execute(sql.rename_table("aside", "things"))
    assert [(7,)] == rows_of(connection, "things")


@pytest.mark.parametrize(
    ("stored", "incoming", "kept"),
    [
        ("SMALLINT", "INTEGER", True),
        ("INTEGER", "BIGINT", True),
        ("BIGINT", "INTEGER", False),
        ("INTEGER", "DOUBLE", True),
        ("BIGINT", "DOUBLE", False),
        ("FLOAT", "DOUBLE", True),
        ("INTEGER", "DECIMAL(12, 2)", True),
        ("INTEGER", "DECIMAL(11, 2)", False),
        ("DECIMAL(10, 2)", "DECIMAL(12, 3)", True),
        ("DECIMAL(10, 2)", "DECIMAL(12, 5)", False),
        ("DATE", "TIMESTAMP", True),
        ("TIMESTAMP", "DATE", False),
        ("TIMESTAMP", "TIMESTAMPTZ", False),
        ("VARCHAR", "INTEGER", False),
        ("INTEGER", "VARCHAR", False),
        ("INTEGER[]", "BIGINT[]", True),
        ("INTEGER[]", "BIGINT", False),
    ],
)
def test_widening(connection: Connection, sql: Engine, stored: str, incoming: str, kept: bool) -> None:
    """A type is wider than another where every value stays what it is; and where it can, the engine alters to it."""
    narrow, wide = type_of(connection, stored), type_of(connection, incoming)
    assert sql.widens(narrow, narrow)
    assert kept == sql.widens(narrow, wide)
    if kept and sql.alters(narrow, wide):
        connection.execute(sql.add_column("things", "grown", narrow))
        connection.execute(sql.widen_column("things", "grown", wide))
        assert wide == columns_of(connection, "things")["grown"]


def test_types_with_an_order(connection: Connection, sql: Engine) -> None:
    """Numbers, days, times and text put events in order; a condition is true or false."""
    for kind in (
        "INTEGER",
        "BIGINT",
        "DECIMAL(12, 3)",
        "DOUBLE",
        "DATE",
        "TIMESTAMP",
        "TIMESTAMPTZ",
        "VARCHAR",
    ):
        assert sql.is_orderable(type_of(connection, kind)), kind
    assert not sql.is_orderable(type_of(connection, "JSON" if sql.transactions else "INTEGER[]"))
    assert sql.is_condition(type_of(connection, "BOOLEAN"))
    assert not sql.is_condition(type_of(connection, "INTEGER"))
    assert ["number", "interval", "interval", ""] == [
        sql.distance_of(type_of(connection, kind)) for kind in ("BIGINT", "DATE", "TIMESTAMPTZ", "VARCHAR")
    ]
    assert ["", ""] == [sql.distance_of(type_of(connection, kind)) for kind in ("BIGINT[]", "DATE[]")]


def test_bounds_need_no_quotes(connection: Connection) -> None:
    """The bounds are found by their names without quotes, whatever the engine makes of case."""
    create_table(connection, "feed", {**COLUMNS, "seq": "BIGINT"}, [{**ROWS[0], "seq": 5}])
    Direct(connection).run({"keys": ["id"], "sequence_by": "seq", "stored_as_scd_type": 2})
    assert [(5, None)] == connection.execute("select __START_AT, __END_AT from target").fetchall()


def test_long_names(connection: Connection) -> None:
    """Two models whose long names begin alike keep to their own companions, also where a letter is several bytes."""
    limit = engine_of(connection).identifier_limit
    # Metastores take plain letters only.
    stem = "é" * ((limit - 2) // 2) if engine_of(connection).transactions else "e" * (limit - 2)
    create_table(connection, "feed", {**COLUMNS, "seq": "BIGINT"}, [{**ROWS[0], "seq": 5}])
    for last in ("a", "b"):
        target = Direct(connection, stem + last)
        for _ in range(2):
            target.run({"keys": ["id"], "sequence_by": "seq"})
        assert [{**ROWS[0], "seq": 5}] == target.rows()
    tables = databases.tables_of(connection)
    assert 5 == len(tables)
    assert all(len(name.encode()) <= limit for name in tables)
