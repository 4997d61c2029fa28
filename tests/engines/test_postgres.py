"""What is peculiar to PostgreSQL: locks, row types, json, bytes, names, views on a target.

Not here: what every engine has to do (`test_contract`), dbt (`test_postgres_dbt`).
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from dbt_auto_cdc.errors import AutoCdcError
from dbt_auto_cdc.execute import Sent
from dbt_auto_cdc.scd import scd1
from tests import databases
from tests.databases import Connection, Postgres, columns_of, create_table
from tests.direct import Direct
from tests.stream_sql import stream

pytestmark = pytest.mark.only_on("postgres")

OPTIONS: dict[str, Any] = {"keys": ["id"], "sequence_by": "seq"}
SCD2 = {**OPTIONS, "stored_as_scd_type": 2, "except_column_list": ["seq"]}
COLUMNS = {"id": "INTEGER", "name": "VARCHAR", "seq": "BIGINT"}


def feed(connection: Connection, *rows: tuple[Any, ...], columns: dict[str, str] = COLUMNS) -> None:
    create_table(connection, "feed", columns, [dict(zip(columns, row, strict=True)) for row in rows])


@contextmanager
def another(connection: Connection) -> Iterator[Postgres]:
    """Give a second connection to the same schema."""
    ((schema,),) = connection.execute("select current_schema()").fetchall()
    with databases.raw_postgres(schema) as raw:
        yield Postgres(raw)


def at_once(connection: Connection, *jobs: Callable[[Postgres], object]) -> list[object]:
    """Start jobs on connections of their own while the model is locked, let them go together, return what came."""
    came: list[object] = [None] * len(jobs)

    def work(place: int, job: Callable[[Postgres], object]) -> None:
        with another(connection) as own:
            try:
                came[place] = job(own)
            except Exception as error:  # noqa: BLE001 - shown by whoever looks at what came
                came[place] = error

    threads = [threading.Thread(target=work, args=pair) for pair in enumerate(jobs)]
    with databases.held(connection, '"target"') as wait_for:
        for thread in threads:
            thread.start()
        wait_for(len(jobs))
    for thread in threads:
        thread.join()
    return came


def test_two_first_runs_at_once(connection: Connection) -> None:
    """Both found no target; one builds it, the other waits and goes on with it."""
    feed(connection, (1, "a", 5), (2, "b", 6))

    def run(own: Postgres) -> int:
        return Direct(own).run(SCD2).figures["num_upserted_rows"]

    assert [0, 2] == sorted(at_once(connection, run, run), key=repr)
    assert 2 == len(Direct(connection).rows())


def test_two_later_runs_at_once(connection: Connection) -> None:
    """Runs with events of their own for one key: whichever comes first, the history is the same."""
    feed(connection, (1, "a", 5))
    Direct(connection).run(SCD2)
    create_table(connection, "one", COLUMNS, [{"id": 1, "name": "c", "seq": 9}])
    create_table(connection, "two", COLUMNS, [{"id": 1, "name": "b", "seq": 7}])
    came = at_once(
        connection,
        lambda own: Direct(own).run(SCD2, sql="select * from one").figures["num_upserted_rows"],
        lambda own: Direct(own).run(SCD2, sql="select * from two").figures["num_upserted_rows"],
    )
    assert all(isinstance(number, int) for number in came), came
    history = connection.execute("select name, __start_at, __end_at from target order by 2").fetchall()
    assert [("a", 5, 7), ("b", 7, 9), ("c", 9, None)] == history


CHANGING = {**OPTIONS, "apply_as_deletes": "op = 'D'", "except_column_list": ["op", "seq", "known"]}
SNAPSHOT = {
    "materialized": "auto_cdc_snapshot",
    "keys": ["id"],
    "snapshot_version": "seq",
    "column_list": ["id", "name"],
}
WAYS: dict[str, dict[str, Any]] = {
    "scd1": CHANGING,
    "truncates": {**CHANGING, "apply_as_truncates": "op = 'T'"},
    "partial": {**CHANGING, "ignore_null_updates": True},
    "scd2": {**CHANGING, "stored_as_scd_type": 2},
    "untracked": {**CHANGING, "stored_as_scd_type": 2, "track_history_column_list": ["name"]},
    "bitemporal": {**CHANGING, "stored_as_scd_type": "bitemporal", "system_sequence_by": "known"},
    "snapshot of type 1": {**SNAPSHOT, "stored_as_scd_type": 1},
    "snapshot of type 2": {**SNAPSHOT, "stored_as_scd_type": 2},
    "replace_using": {"materialized": "replace_using", "replace_using": ["id"], "sequence_by": "seq"},
    "replace_where": {"materialized": "replace_where", "replace_where": "id < 3"},
}


@pytest.mark.parametrize("there", [False, True], ids=["first", "later"])
@pytest.mark.parametrize("way", WAYS)
def test_two_runs_with_rows_of_their_own_at_once(connection: Connection, way: str, there: bool) -> None:
    """In every mode one waits for the other, and the tables are those of two runs one after the other."""
    config = {**WAYS[way], "change_data_feed": True}
    columns = {**COLUMNS, "op": "VARCHAR", "known": "BIGINT"}
    batches = {
        "start": [(1, "a", 1, "U", 1), (2, "a", 1, "U", 1)],
        "one": [(1, "c", 9, "U", 9), (2, None, 9, "D", 9)],
        "two": [(1, "b", 7, "U", 7), (3, "b", 7, "U", 7)],
    }
    for table, rows in batches.items():
        create_table(connection, table, columns, [dict(zip(columns, row, strict=True)) for row in rows])

    def run(own: Connection, table: str, name: str = "target") -> int:
        target = Direct(own, name, materialized=config.get("materialized", "auto_cdc"))
        return len(target.run(config, sql=f"select * from {table}").figures)

    names = ["target", "one_two", "two_one"]
    for name in names if there else []:
        run(connection, "start", name)
    came = at_once(connection, lambda own: run(own, "one"), lambda own: run(own, "two"))
    assert all(isinstance(number, int) for number in came), came
    for name in names[1:]:
        for table in name.split("_"):
            run(connection, table, name)
    changes = "select _change_type, _commit_version, id, name from {}__auto_cdc_changes"
    seen = [
        (
            sorted(Direct(connection, name).rows(), key=repr),
            sorted(connection.execute(changes.format(name)).fetchall(), key=repr),
        )
        for name in names
    ]
    assert seen[0] in seen[1:]


@pytest.mark.parametrize("scd_type", [1, 2])
def test_a_rebuild_and_another_run_at_once(connection: Connection, scd_type: int) -> None:
    """Whoever waits meets the tables that the other left: what is built anew is gone on with, or begins again."""
    config = {**OPTIONS, "stored_as_scd_type": scd_type}
    feed(connection, (1, "a", 5), (2, "b", 6))
    Direct(connection).run(config)
    feed(connection, (1, "c", 7))
    create_table(connection, "later", COLUMNS, [{"id": 3, "name": "d", "seq": 8}])

    def rebuild(own: Postgres) -> int:
        return Direct(own).run(config, full_refresh=True).figures["num_upserted_rows"]

    def go_on(own: Postgres) -> int:
        return Direct(own).run(config, sql="select * from later").figures["num_upserted_rows"]

    assert [1, 1] == at_once(connection, rebuild, go_on)
    found = sorted((row["id"], row["name"]) for row in Direct(connection).rows())
    assert found in ([(1, "c"), (3, "d")], [(1, "c")])
    go_on(connection)
    assert [(1, "c"), (3, "d")] == sorted((row["id"], row["name"]) for row in Direct(connection).rows())


def test_a_new_column_in_two_runs_at_once(connection: Connection) -> None:
    """The second run looks at the table after it waited: the column is there, and is not added twice."""
    feed(connection, (1, "a", 5))
    Direct(connection).run(OPTIONS)
    feed(connection, (1, "b", 6, "x"), columns={**COLUMNS, "more": "VARCHAR"})

    def run(own: Postgres) -> int:
        return Direct(own).run(OPTIONS).figures["num_upserted_rows"]

    assert [0, 1] == sorted(at_once(connection, run, run), key=repr)
    assert [(1, "b", 6, "x")] == connection.execute("select * from target").fetchall()


def test_whoever_writes_by_hand_waits(connection: Connection) -> None:
    """A row changed by hand during a run would move, and the run would miss it: the hand waits, a reader does not."""
    feed(connection, (1, "a", 5))
    target = Direct(connection)
    target.run(OPTIONS)
    feed(connection, (1, "b", 6))
    with another(connection) as hand, target._transaction():
        connection.execute(databases.engine_of(connection).lock('"target"', '"target__auto_cdc"'))
        assert [("a",)] == hand.execute("select name from target").fetchall()
        hand.execute("set lock_timeout = '100ms'")
        with pytest.raises(Exception, match="lock timeout"):
            hand.execute("update target set name = 'hand'")
    target.run(OPTIONS)
    assert [("b",)] == connection.execute("select name from target").fetchall()


# sequences of several columns


STRUCTS = {"id": "INTEGER", "name": "VARCHAR", "day": "DATE", "line": "VARCHAR"}
PAIR = {
    "keys": ["id"],
    "sequence_by": ["day", "line"],
    "stored_as_scd_type": 2,
    "except_column_list": ["day", "line"],
}


def types_of(connection: Connection) -> list[str]:
    query = (
        "select typname from pg_type where typtype = 'c' and typnamespace = current_schema()::regnamespace"
    )
    tables = databases.tables_of(connection)
    return sorted(name for (name,) in connection.execute(query).fetchall() if name not in tables)


def test_a_composite_sequence(connection: Connection) -> None:
    """The bounds are rows with the fields by their names; text in them is ordered by bytes."""
    feed(connection, (1, "a", "2026-01-01", "B"), (1, "b", "2026-01-01", "a"), columns=STRUCTS)
    Direct(connection).run(PAIR)
    found = "select name, (__start_at).day::text, (__start_at).line, (__end_at).line from target order by __start_at"
    assert [("a", "2026-01-01", "B", "a"), ("b", "2026-01-01", "a", None)] == connection.execute(
        found
    ).fetchall()
    assert ["target__auto_cdc_sequence"] == types_of(connection)


def test_a_composite_type_follows_a_rebuild(connection: Connection) -> None:
    """--full-refresh makes the type anew with the tables, in another form if need be, and leaves one of the name."""
    feed(connection, (1, "a", "2026-01-01", "B"), columns=STRUCTS)
    target = Direct(connection)
    target.run(PAIR)
    target.run(PAIR, full_refresh=True)
    assert ["target__auto_cdc_sequence"] == types_of(connection)
    other = {**PAIR, "sequence_by": ["day", "id"]}
    with pytest.raises(
        AutoCdcError, match=r"type of sequence_by was row\(day date, line text\) .* --full-refresh"
    ):
        target.run(other)
    target.run(other, full_refresh=True)
    assert [(1,)] == connection.execute("select (__start_at).id from target").fetchall()
    assert ["target__auto_cdc_sequence"] == types_of(connection)
    target.run({**PAIR, "sequence_by": "day"}, full_refresh=True)
    assert [] == types_of(connection)


def test_an_unordered_part_of_a_composite(connection: Connection) -> None:
    """Each column of a list has to have an order."""
    feed(connection, (1, "a", "2026-01-01", "{}"), columns={**STRUCTS, "line": "JSON"})
    with pytest.raises(
        AutoCdcError, match=r"sequence_by has type row\(day date, line json\), which has no order"
    ):
        Direct(connection).run(PAIR)


# values


def test_json_is_compared_as_its_value(connection: Connection) -> None:
    """The same value in another spelling opens no version; another value does. As a key it is refused."""
    columns = {"id": "INTEGER", "doc": "JSON", "seq": "BIGINT"}
    rows = [(1, '{"a": 1, "b": 2}', 1), (1, '{"b": 2,  "a": 1}', 2), (1, '{"a": 2}', 3)]
    feed(connection, *rows, columns=columns)
    target = Direct(connection)
    target.run(SCD2)
    assert [(1, 3), (3, None)] == connection.execute(
        "select __start_at, __end_at from target order by 1"
    ).fetchall()
    with pytest.raises(
        AutoCdcError, match=r"keys names doc, of type json, which PostgreSQL cannot look for; cast it"
    ):
        Direct(connection, "other").run({**OPTIONS, "keys": ["doc"]})


@pytest.mark.parametrize("kind", ["point", "json[]", "polygon", "box"])
def test_types_without_equality(connection: Connection, kind: str) -> None:
    """Values of types that PostgreSQL cannot compare are kept, and compared by what they look like."""
    value = {"point": "(1,2)", "json[]": "{1,2}", "polygon": "((0,0),(1,1))", "box": "(1,1),(0,0)"}[kind]
    for sequence in (1, 2):
        sql = f"select 1 as id, cast('{value}' as {kind}) as v, cast({sequence} as bigint) as seq"
        Direct(connection).run(SCD2, sql=f"{sql} union all {sql}")
    assert [(1, None)] == connection.execute("select __start_at, __end_at from target").fetchall()
    assert [value] == [str(row[0]) for row in connection.execute("select v::text from target").fetchall()]


@pytest.mark.parametrize("expression", ["seq = 1", "gen_random_uuid()", "cast('{}' as json)"])
def test_sequences_without_an_order(connection: Connection, expression: str) -> None:
    """A sequence whose greatest value no release of PostgreSQL can tell is refused before anything is written."""
    feed(connection, (1, "a", 1))
    with pytest.raises(AutoCdcError, match=r"sequence_by has type .*, which has no order"):
        Direct(connection).run({"keys": ["id"], "sequence_by": expression})
    assert {"feed"} == set(databases.tables_of(connection))


@pytest.mark.parametrize("scd_type", [1, 2])
def test_text_sequences_of_any_collation(connection: Connection, scd_type: int) -> None:
    """Text puts events in order by its bytes, also where column and database have the order of a language."""
    sql = (
        """select 1 as id, s collate "C" as s, s as name from (values ('a'), ('B'), ('é'), ('b')) as v (s)"""
    )
    options = {
        "keys": ["id"],
        "sequence_by": "s",
        "stored_as_scd_type": scd_type,
        "except_column_list": ["s"],
    }
    Direct(connection).run(options, sql=sql)
    Direct(connection).run(
        options, sql=sql.replace('collate "C"', 'collate "und-x-icu"' if has_icu(connection) else "")
    )
    rows = connection.execute("select name from target").fetchall()
    assert [("é",)] == rows if scd_type == 1 else {("a",), ("B",), ("é",), ("b",)} == set(rows)
    if scd_type == 2:
        bounds = connection.execute("select __start_at, __end_at from target order by __start_at").fetchall()
        assert [("B", "a"), ("a", "b"), ("b", "é"), ("é", None)] == bounds


def has_icu(connection: Connection) -> bool:
    return bool(connection.execute("select 1 from pg_collation where collname = 'und-x-icu'").fetchall())


def test_limited_text_grows(connection: Connection) -> None:
    """varchar(n) is a type with a limit: it grows with the feed, and a shorter one fits in."""
    for length, stored in ((10, 10), (20, 20), (5, 20)):
        sql = f"select 1 as id, cast('x' as varchar({length})) as name, cast({length} as bigint) as seq"
        Direct(connection).run(OPTIONS, sql=sql)
        assert f"character varying({stored})" == columns_of(connection, "target")["name"]
    Direct(connection).run(
        OPTIONS, sql="select 1 as id, cast('x' as text) as name, cast(99 as bigint) as seq"
    )
    assert "text" == columns_of(connection, "target")["name"]


LENGTHS = {
    "price": "numeric(10,2)",
    "code": "character(3)",
    "name": "character varying(9)",
    "tags": "character varying(9)[]",
    "seen_at": "timestamp(0) without time zone",
    "flags": "bit(3)",
}


@pytest.mark.parametrize("way", [*WAYS, "partial scd2", "partial bitemporal"])
def test_lengths_and_precisions_are_kept(connection: Connection, way: str) -> None:
    """What a table is made of has the types of the feed, bounds and companion too, whatever an expression forgets."""
    name = way.removeprefix("partial ")
    config = {**WAYS[name], **({"ignore_null_updates": True} if name != way else {})}
    columns = {"id": "numeric(9,0)", **LENGTHS, "op": "text", "seq": "numeric(9,3)", "known": "timestamp(3)"}
    listed = ", ".join(f"{column} {kind}" for column, kind in columns.items())
    connection.execute(f"create table feed ({listed})")
    connection.execute(
        "insert into feed values (1, 1.5, 'a', 'b', '{c}', '2026-01-01', b'101', 'U', 1.5, '2026-01-01')"
    )
    target = Direct(connection, materialized=config.get("materialized", "auto_cdc"))
    columns = columns_of(connection, "feed")
    target.run(
        {**config, "column_list": [*LENGTHS, "id"], "except_column_list": None}
        if "keys" in config
        else config
    )
    bounds = dict.fromkeys(("__start_at", "__end_at"), columns["seq"])
    bounds |= dict.fromkeys(("__system_start_at", "__system_end_at"), columns["known"])
    found = columns_of(connection, "target")
    assert {column: {**columns, **bounds}[column] for column in found} == found
    kept = columns_of(connection, "target__auto_cdc")
    sequences = {"__auto_cdc_sequence": columns["seq"], "__auto_cdc_system_sequence": columns["known"]}
    expected = columns if way == "replace_where" else {**columns, **sequences}
    assert {column: expected[column] for column in kept if column in expected} == {
        column: kind for column, kind in kept.items() if column in expected
    }


# names and views


def test_a_table_with_the_name_of_a_working_table(connection: Connection) -> None:
    """What happens to be called like a working table is neither read nor dropped."""
    connection.execute('create table "target__auto_cdc_stage" as select 7 as mine')
    feed(connection, (1, "a", 5))
    for _ in range(2):
        Direct(connection).run(SCD2)
    assert [(7,)] == connection.execute('select mine from "target__auto_cdc_stage"').fetchall()


def test_nothing_is_left_in_the_session(connection: Connection) -> None:
    """Working tables go with the commit, so that a connection shared through a pooler carries nothing along."""
    feed(connection, (1, "a", 5))
    for _ in range(2):
        Direct(connection).run(SCD2)
    left = "select relname from pg_class where relnamespace = pg_my_temp_schema() and relkind = 'r'"
    assert [] == connection.execute(left).fetchall()


def test_a_rebuild_under_a_view(connection: Connection) -> None:
    """--full-refresh drops the views on the target, as dbt's own tables do on PostgreSQL."""
    feed(connection, (1, "a", 5))
    target = Direct(connection)
    target.run(OPTIONS)
    connection.execute("create view seen as select * from target")
    target.run(OPTIONS, full_refresh=True)
    assert "seen" not in databases.tables_of(connection)
    assert 1 == len(target.rows())


def test_bounds_in_capitals(connection: Connection) -> None:
    """A table whose bounds somebody created in quoted capitals goes on with them."""
    feed(connection, (1, "a", 5))
    target = Direct(connection)
    target.run(SCD2)
    for bound in ("__START_AT", "__END_AT"):
        connection.execute(f'alter table target rename column {bound} to "{bound}"')
    feed(connection, (1, "b", 6))
    target.run(SCD2)
    found = connection.execute('select name, "__START_AT", "__END_AT" from target order by 2').fetchall()
    assert [("a", 5, 6), ("b", 6, None)] == found


def test_the_companion_has_an_index(connection: Connection) -> None:
    """A run finds what it remembers of a key without reading the whole companion."""
    feed(connection, (1, "a", 5))
    target = Direct(connection)
    for full_refresh in (False, True):
        target.run(OPTIONS, full_refresh=full_refresh)
        definitions = connection.execute(
            "select indexdef from pg_indexes where tablename = 'target__auto_cdc' and schemaname = current_schema()"
        ).fetchall()
        ours, by_key = sorted(definition[definition.index("USING") :] for (definition,) in definitions)
        assert "USING btree (id)" == by_key
        assert ours.startswith("USING btree (__auto_cdc_kind) WHERE ")
    record = "select 1 from target__auto_cdc where __auto_cdc_kind in ('control', 'position', 'run')"
    connection.execute("set enable_seqscan = off")
    plan = "\n".join(line for (line,) in connection.execute(f"explain {record}").fetchall())
    assert "kind_idx on target__auto_cdc" in plan


def test_arrays_that_events_leave_out(connection: Connection) -> None:
    """An array is one value: it is carried on as it is, empty or not, and never joined with others."""
    columns = {"id": "INTEGER", "tags": "VARCHAR[]", "n": "INTEGER", "seq": "BIGINT"}
    rows = [(1, ["a", "b"], None, 1), (1, None, 1, 2), (1, [], 2, 3), (1, None, 3, 4), (2, None, 1, 1)]
    for scd_type, name in ((1, "latest"), (2, "history"), ("bitemporal", "beliefs")):
        options = {**OPTIONS, "stored_as_scd_type": scd_type, "ignore_null_updates": True}
        options |= {"system_sequence_by": "seq"} if scd_type == "bitemporal" else {}
        target = Direct(connection, name)
        for row in rows:
            feed(connection, row, columns=columns)
            target.run({**options, "except_column_list": ["seq"]})
        assert "text[]" == columns_of(connection, name)["tags"]
        kept = f"select distinct tags from {name} where id = 1 order by 1 desc"
        expected = [([],)] if scd_type == 1 else [(["a", "b"],), ([],)]
        assert expected == connection.execute(kept).fetchall()


@pytest.mark.parametrize("kind", ["double precision[]", "real[]", "text"])
@pytest.mark.parametrize("scd_type", [1, 2, "bitemporal"])
def test_floats_keep_their_digits(connection: Connection, kind: str, scd_type: int | str) -> None:
    """What is carried on is the very value, also where the role has floats shown with few digits."""
    connection.execute("set extra_float_digits = -3")
    exact = "cast(1 as double precision) / 3"
    value = f"cast(array[{exact}] as {kind})" if kind.endswith("[]") else f"cast({exact} as text)"
    connection.execute(f"create table sent as select 1 as id, {value} as v, 1 as n, 1 as seq")
    connection.execute("create table feed as select * from sent")
    options = {**OPTIONS, "stored_as_scd_type": scd_type, "ignore_null_updates": True}
    options |= {"system_sequence_by": "seq"} if scd_type == "bitemporal" else {}
    target = Direct(connection)
    for n in (2, 3):
        target.run({**options, "except_column_list": ["seq"]})
        connection.execute(f"update feed set v = null, n = {n}, seq = {n}")
    assert "-3" == connection.execute("show extra_float_digits").fetchall()[0][0]
    lost = "select count(*) from target as tgt, sent where tgt.v is distinct from sent.v"
    if kind != "text":
        assert [(0,)] == connection.execute(lost).fetchall()


def test_points_that_are_alike(connection: Connection) -> None:
    """Two points that differ in their last digits are two values, also where few digits are shown."""
    connection.execute("set extra_float_digits = 0")
    point = "point(cast(0.1 as double precision) {}, 0)"
    for sequence, more in ((1, "+ 0.2"), (2, "* 3"), (3, "+ cast(0.2 as double precision)")):
        sql = f"select 1 as id, {point.format(more)} as v, {sequence} as seq"
        Direct(connection).run(SCD2, sql=sql)
    sql = "select 1 as id, point(0.3, 0) as v, 4 as seq"
    Direct(connection).run(SCD2, sql=sql)
    assert [(1, 4), (4, None)] == connection.execute(
        "select __start_at, __end_at from target order by 1"
    ).fetchall()


def test_float_offsets_keep_their_digits(connection: Connection) -> None:
    """A stream goes on behind the very row that it read last."""
    connection.execute("set extra_float_digits = 0")
    connection.execute("create table feed as select cast(1 as double precision) / 3 as place, 1 as n")
    target = Direct(connection, materialized="append_flow")
    for added in (1, 0):
        sql = f"select n from {stream('feed', offset='place')} as s"
        assert added == target.run(APPENDS, sql=sql).figures["num_output_rows"]


@pytest.mark.parametrize("kind", ["date", "timestamp", "timestamp with time zone"])
def test_times_as_offsets(connection: Connection, kind: str) -> None:
    """How far a stream was read is known again by a session that writes days and zones in another way."""
    target = Direct(connection, materialized="append_flow")
    sql = f"select n from {stream('feed', offset='place')} as s"
    connection.execute(
        f"create table feed as select cast('2026-11-02 06:30:00.000001' as {kind}) as place, 1 as n"
    )
    for style in ("SQL, DMY", "SQL, MDY", "German", "ISO, MDY"):
        connection.execute(f"set datestyle = '{style}'")
        connection.execute("set timezone = 'Asia/Kolkata'")
        assert 1 == target.run(APPENDS, sql=sql).figures["num_output_rows"]
        connection.execute("insert into feed select max(place) + interval '1 day', 1 from feed")


def test_arrays_as_keys(connection: Connection) -> None:
    """A key may be an array: none, an empty one and one of nulls are three keys."""
    columns = {"tags": "INTEGER[]", "n": "INTEGER", "seq": "BIGINT"}
    options = {"replace_using": ["tags"], "sequence_by": "seq"}
    target = Direct(connection, materialized="replace_using")
    feed(connection, (None, 1, 1), ([], 2, 1), ([None], 3, 1), ([1, 2], 4, 1), columns=columns)
    target.run(options)
    feed(connection, ([], 5, 2), ([1, 2], 6, 2), columns=columns)
    assert 2 == target.run(options).figures["num_deleted_rows"]
    assert [1, 3, 5, 6] == sorted(row["n"] for row in target.rows())


# streams while others write

APPENDS: dict[str, Any] = {"materialized": "append_flow"}


@pytest.mark.parametrize("there", [False, True], ids=["first", "later"])
def test_two_runs_of_a_stream_at_once(connection: Connection, there: bool) -> None:
    """One waits for the other, and finds nothing that was not read."""
    feed(connection, *([(1, "Oslo", 1), (2, "Rome", 2)] if there else []))
    sql = f"select * from {stream('feed', offset='seq')} as s"
    if there:
        Direct(connection).run(APPENDS, sql=sql)
    connection.execute("insert into feed values (3, 'Kiel', 3)")

    def run(own: Postgres) -> str:
        return Direct(own).run(APPENDS, sql=sql).message

    assert {"AUTO CDC 0 appended", "AUTO CDC 1 appended"} == set(at_once(connection, run, run))
    assert [*((1, 2) if there else ()), 3] == sorted(row["id"] for row in Direct(connection).rows())


def test_rows_that_come_while_a_stream_is_read(connection: Connection) -> None:
    """Runs beside a writer that commits row after row: each is read once, by one run or the next."""
    feed(connection)
    sql = f"select * from {stream('feed', offset='seq')} as s"
    begun, last = threading.Event(), 400

    def write() -> None:
        with another(connection) as own:
            for number in range(last):
                own.execute("insert into feed values (?, 'x', ?)", [number, number])
                begun.set()

    writer = threading.Thread(target=write)
    writer.start()
    begun.wait(30)
    read = []
    while writer.is_alive():
        read.append(Direct(connection).run(APPENDS, sql=sql).figures["num_output_rows"])
    writer.join()
    Direct(connection).run(APPENDS, sql=sql)
    assert list(range(last)) == sorted(row["id"] for row in Direct(connection).rows())
    assert any(0 < rows < last for rows in read), "no run met the writer half way"


def test_rows_that_are_committed_out_of_order(connection: Connection) -> None:
    """What is committed below the position is read by who looks back, and by nobody else."""
    feed(connection)
    plain, back = (stream("feed", offset="seq", look_back=distance) for distance in (None, 5))
    targets = {"plain": (APPENDS, plain), "target": (OPTIONS, back)}
    with another(connection) as slow:
        slow.execute("begin")
        slow.execute("insert into feed values (1, 'slow', 1)")
        connection.execute("insert into feed values (2, 'quick', 2)")
        for name, (config, read) in targets.items():
            Direct(connection, name).run(config, sql=f"select * from {read} as s")
        slow.execute("commit")
    for name, (config, read) in targets.items():
        Direct(connection, name).run(config, sql=f"select * from {read} as s")
    found = {name: sorted(row["id"] for row in Direct(connection, name).rows()) for name in targets}
    assert {"plain": [2], "target": [1, 2]} == found


def test_a_source_that_runs_while_its_feed_is_read_first(connection: Connection) -> None:
    """Rows and version are of one moment: what a run writes between two steps is read by the next one, once."""
    source, reader = Direct(connection, "source"), Direct(connection, "log")
    fed = {**OPTIONS, "change_data_feed": True}
    feed(connection, (1, "Oslo", 1), (2, "Rome", 1))
    source.run({**fed, "change_data_feed": False})
    source.run(fed)
    sql = f"select id, name, _change_type from {stream('source', model='log', change_feed=True)} as s"
    plan, sent = reader.plan(APPENDS, sql=sql), reader._send
    names = [step.name for step in plan.steps]
    assert ['take the rows of "source" as they are', "see how far stream source reaches"] == names[:2]

    def send(name: str, statement: str) -> Sent:
        # Before the rows are taken, and after that, before anything else is asked.
        if name in names[:2]:
            with another(connection) as own:
                row = (3, "Kiel", 2) if name == names[0] else (4, "Bonn", 3)
                feed(own, row)
                Direct(own, "source").run(fed)
        return sent(name, statement)

    reader._send = send  # type: ignore[method-assign]
    reader.execute(plan)
    assert [1, 2, 3] == sorted(row["id"] for row in reader.rows())
    reader._send = sent  # type: ignore[method-assign]
    reader.run(APPENDS, sql=sql)
    assert [1, 2, 3, 4] == sorted(row["id"] for row in reader.rows())


def _overwriting_and_not(monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    """Let a feed of a few rows be one of many, whose rows are not put in order while they are staged."""
    monkeypatch.setattr(scd1, "FEW", scd1.FEW if way == "few" else -1)


FEEDS = pytest.mark.parametrize("way", ["few", "many"])


@FEEDS
def test_two_rows_swap_a_value_that_is_unique(
    connection: Connection, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """An index of the user's that rows break one by one stays whole: all of them go before the first comes."""
    _overwriting_and_not(monkeypatch, way)
    feed(connection, (1, "a", 5), (2, "b", 5))
    target = Direct(connection)
    target.run(OPTIONS)
    connection.execute("create unique index on target (name)")
    feed(connection, (1, "b", 6), (2, "a", 6), (3, "c", 6))
    assert 3 == target.run(OPTIONS).figures["num_upserted_rows"]
    assert {(1, "b"), (2, "a"), (3, "c")} == {(row["id"], row["name"]) for row in target.rows()}
    feed(connection, (4, "c", 7))
    with pytest.raises(Exception, match="duplicate key value"):
        target.run(OPTIONS)


@FEEDS
def test_a_second_row_of_a_key_put_in_by_hand(
    connection: Connection, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """It is older than any event, as the first one is: the next event takes the place of both."""
    _overwriting_and_not(monkeypatch, way)
    feed(connection, (1, "a", 5), (2, "b", 5))
    target = Direct(connection)
    target.run(OPTIONS)
    connection.execute("insert into target values (1, 'by hand', 9), (3, 'by hand', 9), (2, 'by hand', 9)")
    feed(connection, (1, "c", 6), (3, "d", 6))
    assert 2 == target.run(OPTIONS).figures["num_upserted_rows"]
    rows = [(1, "c"), (2, "b"), (2, "by hand"), (3, "d")]
    assert rows == sorted((row["id"], row["name"]) for row in target.rows())
    delete = {**OPTIONS, "apply_as_deletes": "name is null"}
    feed(connection, (2, None, 7))
    assert 2 == target.run(delete).figures["num_deleted_rows"]
    assert [(1, "c"), (3, "d")] == sorted((row["id"], row["name"]) for row in target.rows())


@FEEDS
def test_rows_are_changed_where_they_are(
    connection: Connection, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """Of a few events the rows are, with the page's room for new versions; of many they go and come."""
    _overwriting_and_not(monkeypatch, way)
    feed(connection, (1, "a", 5), (2, "b", 5))
    target = Direct(connection)
    target.run(OPTIONS)
    feed(connection, (1, "c", 6), (1, "d", 7), (1, "c", 6), (3, "e", 6))
    plan = target.plan(OPTIONS)
    outcome = target.run(OPTIONS)
    assert (way == "few") == ("choose each key's greatest event" not in [step.name for step in plan.steps])
    assert {"num_upserted_rows": 2, "num_duplicate_rows": 1, "num_read_rows": 4} == {
        name: outcome.figures[name] for name in ("num_upserted_rows", "num_duplicate_rows", "num_read_rows")
    }
    assert [(1, "d", 7), (2, "b", 5), (3, "e", 6)] == sorted(tuple(row.values()) for row in target.rows())


def test_versions_end_where_they_are(connection: Connection) -> None:
    """Beside the versions of a history there is room in their pages, so that no index has to follow an end."""
    pages = "select id, split_part(ctid::text, ',', 1) from target where {} order by id"
    feed(connection, *((number, "a", 5) for number in range(400)))
    target = Direct(connection)
    target.run(SCD2)
    some = list(range(0, 100, 20))
    begun = connection.execute(pages.format(f"id = any (array{some})")).fetchall()
    feed(connection, *((number, "b", 6) for number in some))
    assert len(some) * 2 == target.run(SCD2).figures["num_upserted_rows"]
    assert begun == connection.execute(pages.format("__end_at is not null")).fetchall()


@pytest.mark.parametrize("name", ["a'b", "$lock$ $analyze$ $version$", "$__auto_cdc_0$"])
@pytest.mark.parametrize("scd_type", [1, 2])
def test_names_that_end_a_literal(connection: Connection, name: str, scd_type: int) -> None:
    """A quote of texts or blocks in the names of tables and columns ends none of ours."""
    columns = {"id": "INTEGER", name: "VARCHAR", "found": "INTEGER", "sqlstate": "INTEGER", "seq": "BIGINT"}
    target = Direct(connection, name)
    for rows in ([(1, "a", 1, 1, 1), (2, "a", 2, 2, 5)], [(1, "b", 2, 2, 2), (2, "b", 3, 3, 3)]):
        feed(connection, *rows, columns=columns)
        target.run({**SCD2, "stored_as_scd_type": scd_type, "change_data_feed": True})
    seen = sorted(row[name] for row in target.rows())
    assert ["a", "b"] if scd_type == 1 else ["a", "a", "b", "b"] == seen


@pytest.mark.parametrize("kind", ["daterange", "datemultirange", "oidvector", "box", "daterange[]"])
@pytest.mark.parametrize("scd_type", [1, 2, "replace_using"])
def test_types_whose_names_begin_like_others(connection: Connection, kind: str, scd_type: int | str) -> None:
    """A type that only begins like one with an order is refused in every mode: its greatest value cannot be told."""
    sql = f"select 1 as id, cast(null as {kind}) as seq"
    options = {**OPTIONS, "stored_as_scd_type": scd_type}
    materialized = "auto_cdc"
    if scd_type == "replace_using":
        materialized, options = "replace_using", {"replace_using": ["id"], "sequence_by": "seq"}
    with pytest.raises(AutoCdcError, match=rf"sequence_by has type {re.escape(kind)}, which has no order"):
        Direct(connection, materialized=materialized).run(options, sql=sql)


@pytest.mark.parametrize("scd_type", [1, 2])
def test_domains_are_seen_through(connection: Connection, scd_type: int) -> None:
    """A domain over a type, or over another domain, is treated as what it is in the end."""
    connection.execute("create domain document as json")
    connection.execute("create domain letter as document check (value is not null or value is null)")
    connection.execute("create domain tags as varchar(9)[]")
    connection.execute("create domain place as point")
    value = (
        """cast('{{"a": 1,{space}"b": 2}}' as letter) as doc, array[cast('[1,{space}2]' as letter)] as docs,"""
        " cast('{{a,b}}' as tags) as tags, cast('(1,2)' as place) as place, array[cast('(1,2)' as place)] as places"
    )
    target = Direct(connection)
    options = {**SCD2, "stored_as_scd_type": scd_type, "change_data_feed": True}
    for sequence in (1, 2):
        rows = [
            f"select 1 as id, {value.format(space=' ' * n)}, {sequence} as seq"
            for n in (sequence, sequence + 1)
        ]
        target.run(options, sql=" union all ".join(rows))
    changes = "select count(*) from target__auto_cdc_changes"
    assert [(1,)] == connection.execute(changes).fetchall()
    assert "letter /* json */" == columns_of(connection, "target")["doc"]
    partial = Direct(connection, "partial")
    columns = "id, n, seq, tags" if scd_type == 1 else "id, seq, tags"
    for sequence, tags in ((1, "'{a,b}'"), (2, "null")):
        event = f"select 1 as id, {sequence} as n, {sequence} as seq, cast({tags} as tags) as tags"
        sql = f"select {columns} from ({event}) as f"
        partial.run({**OPTIONS, "stored_as_scd_type": scd_type, "ignore_null_updates": True}, sql=sql)
    assert [(["a", "b"],)] == connection.execute("select distinct tags from partial").fetchall()
    for key in ("doc", "docs", "place", "places"):
        said = rf"keys names {key}, of type .*, which PostgreSQL cannot look for; cast it"
        with pytest.raises(AutoCdcError, match=said):
            Direct(connection, "other").run({**OPTIONS, "keys": [key]}, sql=rows[0])


def test_text_without_regard_to_case(connection: Connection) -> None:
    """Its order is not that of other engines: it is refused as a sequence, and compared by its bytes as a value."""
    if not connection.execute("select 1 from pg_available_extensions where name = 'citext'").fetchall():
        pytest.skip("this server has no citext")
    connection.execute("create extension if not exists citext schema pg_catalog")
    connection.execute("create domain word as citext")
    for kind in ("citext", "word"):
        sql = f"select 1 as id, cast('{{}}' as {kind}) as word, cast('B' as {kind}) as of_words, {{}} as seq"
        refused = sql.format("a", 1)
        for by in ("of_words", ["of_words", "seq"]):
            with pytest.raises(AutoCdcError, match=r"sequence_by has type .*, which has no order"):
                Direct(connection).run({**OPTIONS, "sequence_by": by}, sql=refused)
        history = Direct(connection, f"of_{kind}")
        for word, sequence in (("a", 1), ("A", 2)):
            history.run(SCD2, sql=sql.format(word, sequence))
        assert 2 == len(history.rows())
