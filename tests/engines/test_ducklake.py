"""What is peculiar to DuckLake: conflicts, types and constraints that its tables lack, wider columns.

Not here: what every engine has to do (`test_contract`), and processes that run dbt (`test_ducklake_dbt`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import duckdb
import pytest

from dbt_auto_cdc import bridge
from dbt_auto_cdc.errors import AutoCdcError
from dbt_auto_cdc.plan import Plan
from tests import databases
from tests.databases import Connection, create_table, engine_of
from tests.direct import Direct

pytestmark = pytest.mark.only_on("ducklake")

TYPES = {"id": "INTEGER", "city": "VARCHAR", "op": "VARCHAR", "seq": "BIGINT"}
OPTIONS = {"keys": ["id"], "sequence_by": "seq", "apply_as_deletes": "op = 'D'"}
SCD1 = OPTIONS | {"except_column_list": ["op", "seq"]}
SCD2 = SCD1 | {"stored_as_scd_type": 2}
QUARANTINE = SCD1 | {"expect_all_or_drop": {"has_city": "city is not null"}, "expectations_quarantine": True}


def event(key: int, city: str | None, seq: int, op: str = "U") -> dict[str, Any]:
    return {"id": key, "city": city, "op": op, "seq": seq}


@pytest.fixture
def other(connection: Connection) -> Iterator[Connection]:
    """Give a second connection to the same schema, which has transactions of its own."""
    ((schema,),) = connection.execute("select current_schema()").fetchall()
    with databases.raw_lake(schema) as second:
        yield second


@contextmanager
def running(direct: Direct, options: dict[str, Any], *, full_refresh: bool = False) -> Iterator[Plan]:
    """Plan and send a run in a transaction of its own, and commit it when the block ends."""
    with direct._transaction():
        direct.connection.execute(bridge.lock(model=direct._model(options, "select * from feed")))
        plan = direct.plan(options, full_refresh=full_refresh)
        bridge.run_plan(plan=plan, send=direct._send)
        yield plan


def conflict(connection: Connection) -> Any:
    """Expect that a commit is refused, in words that the engine knows."""

    @contextmanager
    def refused() -> Iterator[None]:
        with pytest.raises(duckdb.Error) as raised:
            yield
        assert engine_of(connection).is_conflict(str(raised.value)), raised.value

    return refused()


NEW_KEYS = [event(1, "Oslo", 1), event(2, "Rome", 1)]
MORE = [*NEW_KEYS, event(3, "Kiel", 2), event(4, None, 2)]
REPLACED = {
    "materialized": "replace_using",
    "replace_using": ["id"],
    "sequence_by": "seq",
}
APPENDED = {"materialized": "append_flow"}


@pytest.mark.parametrize("options", [SCD1, SCD2, QUARANTINE, APPENDED, REPLACED])
@pytest.mark.parametrize(
    ("is_there", "rebuilds"),
    [(False, "neither"), (True, "neither"), (True, "the first"), (True, "the second")],
)
def test_runs_at_once(
    connection: Connection, other: Connection, options: dict[str, Any], is_there: bool, rebuilds: str
) -> None:
    """Of two runs that were planned side by side the second to commit is refused, whatever they write.

    DuckLake itself lets both commit where both only add rows: then each new key would be there twice.
    """
    create_table(connection, "feed", TYPES, NEW_KEYS)
    if is_there:
        Direct(connection).run(options)
        create_table(connection, "feed", TYPES, MORE)
    first, second = Direct(connection), Direct(other)
    with (
        conflict(connection),
        running(second, options, full_refresh=rebuilds == "the second"),
        running(first, options, full_refresh=rebuilds == "the first"),
    ):
        pass
    seen = first.rows()
    second.run(options)
    assert options == APPENDED or sorted(map(repr, seen)) == sorted(map(repr, second.rows()))


def test_nothing_to_do_is_no_conflict(connection: Connection, other: Connection) -> None:
    """A run that finds nothing new writes nothing, so that nobody has to wait for it."""
    create_table(connection, "feed", TYPES, NEW_KEYS)
    first, second = Direct(connection), Direct(other)
    first.run(SCD2)
    with running(second, SCD2), running(first, SCD2):
        pass
    assert 2 == len(first.rows())


def test_other_targets_are_no_conflict(connection: Connection, other: Connection) -> None:
    """Runs of different targets commit side by side."""
    create_table(connection, "feed", TYPES, NEW_KEYS)
    first, second = Direct(connection, "one"), Direct(other, "two")
    with running(first, SCD1), running(second, SCD1):
        pass
    create_table(connection, "feed", TYPES, MORE)
    with running(first, SCD1), running(second, SCD1):
        pass
    assert 4 == len(first.rows()) == len(second.rows())


def test_other_errors_are_no_conflict(connection: Connection) -> None:
    """What a repetition would meet again is not repeated."""
    for wrong in ("select cast('x' as integer)", "select nosuch", "insert into nosuch values (1)"):
        with pytest.raises(duckdb.Error) as raised:
            connection.execute(wrong)
        assert not engine_of(connection).is_conflict(str(raised.value))


@pytest.mark.parametrize(
    "kind",
    [
        "ENUM('a', 'b')",
        "BIT",
        "INTEGER[2]",
        "UNION(a INTEGER, b VARCHAR)",
        "MAP(INTEGER, INTEGER[2])",
        "BIGNUM",
    ],
)
def test_a_type_that_is_not_stored(connection: Connection, kind: str) -> None:
    """Refused in words before anything is written; DuckLake itself would stop half way."""
    create_table(connection, "feed", TYPES, NEW_KEYS)
    with pytest.raises(duckdb.Error, match="unsupported type"):
        connection.execute(f"create table tried as select cast(null as {kind}) as what")
    with pytest.raises(
        AutoCdcError, match=r"DuckLake has no tables with the type of column what \(.*cast it"
    ):
        Direct(connection).run(SCD1, sql=f"select *, cast(null as {kind}) as what from feed")
    Direct(connection).run(SCD1, sql=f"select *, cast(cast(null as {kind}) as varchar) as what from feed")


@pytest.mark.parametrize("kind", ["STRUCT(a VARCHAR)", "STRUCT(a INTEGER)[]", "MAP(VARCHAR, JSON)", "JSON[]"])
def test_a_type_that_is_not_given_back(connection: Connection, kind: str) -> None:
    """Refused as well: DuckLake takes it, and makes other values of some of those that the catalog holds."""
    create_table(connection, "feed", TYPES, NEW_KEYS)
    with pytest.raises(AutoCdcError, match="DuckLake has no tables with the type of column what"):
        Direct(connection).run(SCD1, sql=f"select *, cast(null as {kind}) as what from feed")


def test_structs_lose_quotes(connection: Connection) -> None:
    """Why: once this fails, DuckLake can be trusted with structs."""
    connection.execute("create table tried as select {'a': 'it''s'} as what")
    assert [({"a": "its"},)] == connection.execute("select what from tried").fetchall()


def test_a_list_as_sequence(connection: Connection) -> None:
    """Refused for the same reason: it would be kept as a struct."""
    create_table(connection, "feed", TYPES, NEW_KEYS)
    with pytest.raises(AutoCdcError, match="sequence_by is a list, which is not served on DuckLake"):
        Direct(connection).run(SCD1 | {"sequence_by": ["seq", "id"]})


def test_a_tie_without_lists(connection: Connection) -> None:
    """What is advised against a tie is what is served."""
    create_table(connection, "feed", TYPES, [event(1, "Oslo", 1), event(1, "Rome", 1)])
    said = r"make sequence_by finer \(one expression of seq and a tie-breaker such as log_position\)"
    with pytest.raises(AutoCdcError, match=said):
        Direct(connection).run(SCD1)


STORED = (
    *("HUGEINT", "UHUGEINT", "UUID", "JSON", "TIME", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP_NS", "INTERVAL"),
    *(
        "BLOB",
        "INTEGER[]",
        "MAP(INTEGER, VARCHAR[])",
        "TIMESTAMP[]",
        "DECIMAL(38,10)",
    ),
)


def test_types_that_are_stored(connection: Connection) -> None:
    """What DuckLake stores is not refused."""
    engine = engine_of(connection)
    columns = ", ".join(f'cast(null as {kind}) as "{kind}"' for kind in STORED)
    connection.execute(f"create table tried as select {columns}")
    assert list(STORED) == [
        kind for kind in databases.columns_of(connection, "tried").values() if engine.stores(kind)
    ]


def test_the_sequence_is_stored(connection: Connection) -> None:
    """The companion has a column for it."""
    create_table(connection, "feed", TYPES, NEW_KEYS)
    with pytest.raises(AutoCdcError, match=r"type of sequence_by \(ENUM"):
        Direct(connection).run(
            SCD1 | {"sequence_by": "step", "except_column_list": ["op", "seq", "step"]},
            sql="select *, cast('a' as enum('a', 'b')) as step from feed",
        )


@pytest.mark.parametrize(
    ("stored", "incoming", "value"),
    [
        ("SMALLINT", "BIGINT", "7"),
        ("UTINYINT", "INTEGER", "7"),
        ("DECIMAL(4,1)", "DECIMAL(18,1)", "7"),
        ("INTEGER[]", "BIGINT[]", "[7]"),
        ("MAP(INTEGER, INTEGER)", "MAP(INTEGER, BIGINT)", "map {7: 7}"),
        ("INTEGER", "DOUBLE", "7"),
        ("FLOAT", "DOUBLE", "7"),
        ("INTEGER", "DECIMAL(18,1)", "7"),
        ("DECIMAL(4,1)", "DECIMAL(18,2)", "7"),
        ("DATE", "TIMESTAMP", "date '2026-11-29'"),
    ],
)
def test_wider_columns(connection: Connection, stored: str, incoming: str, value: str) -> None:
    """A column becomes wider where its rows can be found afterwards; else the run is refused, and says what to do."""
    sql = "select range as id, 1 as seq, cast({} as {}) as what from range(50)"
    options = {"keys": ["id"], "sequence_by": "seq"}
    target = Direct(connection)
    target.run(options, sql=sql.format(value, stored))
    wider = f"{sql.format(value, incoming)} union all select 99, 1, cast({value} as {incoming})"
    if not engine_of(connection).alters(stored, incoming):
        with pytest.raises(AutoCdcError, match="DuckLake cannot alter the table to it"):
            target.run(options, sql=wider)
        connection.execute(f"alter table target alter column what type {incoming}")
    else:
        target.run(options, sql=wider)
        assert incoming == databases.columns_of(connection, "target")["what"]
    found = f"select count(*) from target where what = cast({value} as {incoming})"
    was_found = connection.execute(found).fetchall() == [(51,)]
    assert was_found or not engine_of(connection).alters(stored, incoming)


def test_contracts(connection: Connection) -> None:
    """Constraints that tables have are made, others refused by their names; what stands in quotes is none."""
    engine = engine_of(connection)
    lacking = (
        "(id integer primary key, b varchar collate nocase, check (id > 1), unique (id), foreign  key (id)"
    )
    lacking += " references x)"
    assert ["check", "collate", "foreign key", "primary key", "references", "unique"] == engine.lacking_in(
        lacking
    )
    assert [] == engine.lacking_in("(\"check\" integer not null default 3, b varchar default 'unique')")


def test_indexes(connection: Connection) -> None:
    """Refused, because there are none."""
    with pytest.raises(AutoCdcError, match="indexes is set, and DuckLake has none; leave it out"):
        engine_of(connection).configured({"indexes": [{"columns": ["id"]}]}, "cities")
