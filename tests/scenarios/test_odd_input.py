"""Odd but valid input works: strange names, strange types, strange SQL, strange batches.

Straight on the engine. Not here: what is refused (`test_bad_input`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import duckdb
import pytest

from tests.databases import (
    Connection,
    chosen,
    columns_of,
    engine_of,
    in_order,
    lake_stores,
    quoted,
    speaks,
    spelled,
    spoken,
    tables_of,
    takes_lists,
)
from tests.direct import Direct

# Names that SQL, YAML, Jinja, Python's formatting or our own statements might trip over.
NAMES = [
    "order id",
    "a.b",
    "MixedCase",
    "select",
    "group",
    "größe",
    "名前",
    "😀",
    "null",
    "true",
    "1",
    "2nd",
    "it's",
    'a"b',
    "a`b",
    "a{b}",
    "{count}",
    "{{ this }}",
    "100%",
    "%s",
    "a;b",
    "--x",
    "/*x*/",
    "a\nb",
    " padded ",
    "$1",
    ":x",
    "?",
    "\\",
    "[0]",
]
INTERNAL = [
    "place", "locator", "value", "sequence", "latest", "copies", "ways", "decides", "example", "kind", "start_at",
    "end_at", "count", "rows", "column_name", "position", "num_new_events", "null_sequence", "src", "evt", "first",
    "next", "truncation", "table", "as", "all",
]  # fmt: skip


class Odd(Direct):
    """A target fed with rows of its own kind."""

    def feeds(self, columns: dict[str, str], rows: Sequence[Sequence[str]]) -> None:
        """Make the feed of columns (name -> type) and rows of SQL values."""
        listed = ", ".join(
            f"{quoted(name)} {spelled(self.connection, type_name)}" for name, type_name in columns.items()
        )
        self.connection.execute("drop table if exists feed")
        self.connection.execute(f"create table feed ({listed})")
        statements = [f"insert into feed values ({', '.join(row)})" for row in rows]
        if speaks() == "spark" and rows:  # where each takes seconds, and values of other types are not taken
            kinds = list(columns.values())
            cast = [
                ", ".join(f"cast({value} as {kinds[n]}) as c{n}" for n, value in enumerate(row))
                for row in rows
            ]
            statements = ["insert into feed " + " union all ".join(f"select {row}" for row in cast)]
        for statement in statements:
            self.connection.execute(statement)

    def quote(self, name: str) -> str:
        """Return a name in the quotes that options are written with on the engine."""
        return engine_of(self.connection).quote(name)

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        return self.connection.execute(sql).fetchall()

    def stored(self, order: str = "") -> list[tuple[Any, ...]]:
        """Return the target's rows, in the order that is named or in that of their values."""
        rows = self.query(f"select * from {quoted(self.name)}{order and f' order by {order}'}")
        return rows if order else in_order(rows)

    def columns(self, table: str = "target") -> dict[str, str]:
        """Return a table's columns with their types."""
        return columns_of(self.connection, table)

    def bounds(self, scd: int) -> list[str]:
        """Return the bounds of a target as the engine calls them."""
        named = ["__START_AT", "__END_AT"] if scd == 2 else []
        return [engine_of(self.connection).folded(name) for name in named]


MakeOdd = Callable[..., Odd]


@pytest.fixture
def odd(connection: Connection) -> MakeOdd:
    """Return what makes a target, of any name."""
    if chosen() == "postgres":
        for name, definition in TYPES_OF_MINE.items():
            connection.execute(f"create type {name} as {definition}")

    def make(name: str = "target") -> Odd:
        return Odd(connection, name)

    return make


# What has to be created before it can be named.
TYPES_OF_MINE = {
    "x_y": "enum ('x', 'y')",
    "a_b": "(a integer, b text)",
    "struct_of_mine": "(id integer, seq integer, rowid integer, __auto_cdc_sequence integer, __auto_cdc_kind text)",
}
# Spark has them only where rows are chosen, and asks scalar ones everywhere.
SUBQUERIES = pytest.mark.only_on("duckdb", "postgres")
SCD = pytest.mark.parametrize("scd", [1, 2])

# -- Names -------------------------------------------------------------------------------------------------------------

# Key 1 has a copy, a hidden repeat and a late event, key 2 a delete; note is not tracked.
FIRST = [
    ("1", "1", "'Oslo'", "'a'", "'U'"),
    ("1", "3", "'Oslo'", "'b'", "'U'"),
    ("1", "3", "'Oslo'", "'b'", "'U'"),
    ("2", "2", "'Rome'", "'a'", "'U'"),
    ("2", "2", "'Rome'", "'a'", "'U'"),
]
SECOND = [
    ("1", "2", "'Bari'", "'c'", "'U'"),
    ("2", "5", "null", "null", "'D'"),
    ("1", "1", "'Oslo'", "'a'", "'U'"),
]
CURRENT = [(1, 3, "Oslo", "b")]
HISTORY = [(1, "Oslo", "a", 1, 2), (1, "Bari", "c", 2, 3), (1, "Oslo", "b", 3, None), (2, "Rome", "a", 2, 5)]


ROLES = ("key", "at", "city", "note", "op")
# Each name plays each part once.
CASTS = [
    tuple((NAMES + INTERNAL)[n - part] for part in range(len(ROLES))) for n in range(len(NAMES + INTERNAL))
]


@SCD
@pytest.mark.parametrize("cast", CASTS, ids=lambda cast: cast[0])
def test_names(odd: MakeOdd, cast: tuple[str, ...], scd: int) -> None:
    """A column may have any name, whatever part it plays: key, sequence, tracked, untracked, condition."""
    target, names = odd(), dict(zip(ROLES, cast, strict=True))
    columns = dict(zip(cast, ("integer", "integer", "varchar", "varchar", "varchar"), strict=True))
    config: dict[str, Any] = {
        "keys": [names["key"]],
        "sequence_by": names["at"],
        "apply_as_deletes": f"{target.quote(names['op'])} = 'D'",
        "stored_as_scd_type": scd,
        "except_column_list": [names["op"]] if scd == 1 else [names["op"], names["at"]],
        "track_history_except_column_list": [names["note"]] if scd == 2 else None,
    }
    target.feeds(columns, FIRST)
    assert 2 == target.run(config).figures["num_duplicate_rows"]
    target.feeds(columns, SECOND)
    outcome = target.run(config)
    kept = cast[:4] if scd == 1 else (names["key"], names["city"], names["note"], *target.bounds(scd))
    assert [*kept] == list(target.columns())
    assert (CURRENT if scd == 1 else HISTORY) == target.stored("1, 4")
    assert 3 - scd == outcome.figures["num_late_rows"]


ALIASES = [
    "src", "stg", "tgt", "cmp", "evt", "won", "old", "new", "gone", "known", "places", "var", "this", "that", "pair",
    "run", "head", "first", "next", "latest", "inside", "reached", "affected", "touched", "hidden", "missing", "kept",
    "changed", "shown",
]  # fmt: skip
# Of these, with more, those that stand in sub-queries or around them: a key of many columns takes long.
AS_KEYS = ["stg", "tgt", "cmp", "evt", "won", "known", "moving", "next", "now", "past", "places", "reached"]
STRUCT, A_STRUCT = {
    "duckdb": (
        "struct(id integer, seq integer, rowid integer, __auto_cdc_sequence integer, __auto_cdc_kind varchar)",
        "{'id': 9, 'seq': 9, 'rowid': 0, '__auto_cdc_sequence': 9, '__auto_cdc_kind': 'delete'}",
    ),
    "postgres": ("struct_of_mine", "row(9, 9, 0, 9, 'delete')"),
    "spark": (
        "struct(id integer, seq integer, rowid integer, __auto_cdc_sequence integer, __auto_cdc_kind varchar)",
        "struct(9, 9, 0, 9, 'delete')",
    ),
}[speaks()]


@pytest.mark.rare_types
@pytest.mark.parametrize(
    "options",
    [
        {"stored_as_scd_type": 1},
        {"stored_as_scd_type": 1, "apply_as_truncates": "op = 'T'"},
        {"stored_as_scd_type": 2},
        {"stored_as_scd_type": 2, "track_history_except_column_list": ["tgt", "evt", "cmp"]},
    ],
    ids=["scd1", "truncate", "scd2", "untracked"],
)
def test_structs_named_like_our_tables(odd: MakeOdd, options: dict[str, Any]) -> None:
    """A struct column called as one of our aliases, with fields called as the keys, is not taken for the table."""
    columns = {"id": "integer", "seq": "integer", "op": "varchar", **dict.fromkeys(ALIASES, STRUCT)}
    config: dict[str, Any] = {
        "keys": ["id"],
        "sequence_by": "seq",
        "apply_as_deletes": "op = 'D'",
        "except_column_list": ["op"],
        **options,
    }

    def event(key: int, seq: int, op: str = "U") -> list[str]:
        return [str(key), str(seq), f"'{op}'", *[A_STRUCT] * len(ALIASES)]

    target = odd()
    target.feeds(columns, [event(1, 1), event(1, 3), event(2, 1), event(3, 1)])
    target.run(config)
    if "apply_as_truncates" in options:
        target.feeds(columns, [event(0, 1, "T")])
        target.run(config)
    target.feeds(
        columns, [event(1, 2), event(1, 1), event(2, 1), event(2, 4, "D"), event(2, 5, "D"), event(4, 4)]
    )
    target.run(config)
    target.feeds(columns, [event(2, 3), event(4, 4), event(4, 4)])
    target.run(config)
    live = "" if options["stored_as_scd_type"] == 1 else " where __END_AT is null"
    assert [(1, 3), (3, 1), (4, 4)] == target.query(f"select id, seq from target{live} order by 1, 2")


@pytest.mark.parametrize(
    "options",
    [
        {"apply_as_truncates": "op = 'T'"},
        {"stored_as_scd_type": 2},
        {"stored_as_scd_type": 2, "ignore_null_updates": True},
        {"stored_as_scd_type": "bitemporal", "system_sequence_by": "seq"},
        {"materialized": "auto_cdc_snapshot", "max_delete_ratio": 1},
        {"materialized": "auto_cdc_snapshot", "stored_as_scd_type": 2},
    ],
    ids=["scd1", "scd2", "partial", "bitemporal", "snapshot_scd1", "snapshot_scd2"],
)
def test_keys_named_like_our_tables(odd: MakeOdd, options: dict[str, Any]) -> None:
    """Columns called as our aliases are keys like others, on engines too that look for fields in columns first."""
    columns = {"id": "integer", "seq": "integer", "op": "varchar", **dict.fromkeys(AS_KEYS, "integer")}
    config: dict[str, Any] = {"keys": ["id", *AS_KEYS], "except_column_list": ["op"], **options}
    if "materialized" in options:
        config |= {"snapshot_version": "seq"}
    else:
        config |= {"sequence_by": "seq", "apply_as_deletes": "op = 'D'"}

    def event(key: int, seq: int, op: str = "U") -> list[str]:
        return [str(key), str(seq), f"'{op}'", *[str(key)] * len(AS_KEYS)]

    target = odd()
    if "materialized" in options:
        feeds = [[event(1, 1), event(2, 1)], [event(1, 2), event(3, 2), event(1, 3), event(4, 3)]]
        left = [1, 4]
    else:
        feeds = [[event(1, 1), event(2, 3), event(2, 5, "D")], [event(1, 2), event(2, 4), event(3, 3)]]
        left = [1, 3]
        if "apply_as_truncates" in options:
            feeds.append([event(0, 2, "T")])
    for feed in feeds:
        target.feeds(columns, feed)
        target.run(config)
    bounds = {"2": ["__END_AT"], "bitemporal": ["__END_AT", "__SYSTEM_END_AT"]}
    ends = bounds.get(str(options.get("stored_as_scd_type")), [])
    live = f" where {' and '.join(f'{end} is null' for end in ends)}" if ends else ""
    assert [(key,) for key in left] == target.query(f"select id from target{live} order by 1")


@SCD
@pytest.mark.parametrize(
    "name", ["evaluated", "told", "stage", "found", "hidden", "known", "src", "feed", "repeated"]
)
def test_feeds_named_like_our_steps(odd: MakeOdd, name: str, scd: int) -> None:
    """A model may read a table, or have a CTE, of the name of one of our steps."""
    target = odd()
    target.connection.execute(f"create table {name} as select 1 as id, 1 as seq, 'a' as v")
    config = {
        "keys": ["id"],
        "sequence_by": "seq",
        "stored_as_scd_type": scd,
        "apply_as_deletes": f"id > (select max(id) + 100 from {name})",
    }
    target.run(config, sql=f"select * from {name}")
    target.connection.execute(f"insert into {name} values (1, 2, 'b')")
    target.run(config, sql=f"with {name} as (select * from {name} where seq > 0) select * from {name}")
    assert [(1, "b")] == target.query("select id, v from target where seq = 2")


@SCD
def test_names_that_change_their_case(odd: MakeOdd, scd: int) -> None:
    """Columns match without regard to case, and the target keeps the names of its first run."""
    config: dict[str, Any] = {
        "keys": ["ID"],
        "sequence_by": "sEq",
        "stored_as_scd_type": scd,
        "track_history_except_column_list": ["NOTE"] if scd == 2 else None,
    }
    target = odd()
    target.feeds(
        {"id": "integer", "Seq": "integer", "City": "varchar", "note": "varchar"}, [("1", "1", "'a'", "'x'")]
    )
    target.run(config)
    target.feeds(
        {"Id": "integer", "SEQ": "integer", "CITY": "varchar", "Note": "varchar"},
        [("1", "2", "'b'", "'y'"), ("1", "3", "'b'", "'z'")],
    )
    target.run({**config, "keys": ["iD"]})
    assert ["id", "Seq", "City", "note", *target.bounds(scd)] == list(target.columns())
    assert (1, 3, "b", "z") == target.stored("2")[-1][:4]


@pytest.mark.composite
@SCD
@pytest.mark.parametrize("names", [("order id", "it's"), ("a.b", "select"), ('a"b', "grün"), ("Seq", "POS")])
def test_names_of_a_composite(odd: MakeOdd, names: tuple[str, str], scd: int) -> None:
    """The fields of a composite sequence are called as its columns; their case may change in the feed."""
    target, (one, two) = odd(), names
    config = {
        "keys": ["id"],
        "sequence_by": [one, target.quote(two)],
        "stored_as_scd_type": scd,
        "except_column_list": [one, two],
    }
    columns = {"id": "integer", one: "integer", two: "integer", "v": "varchar"}
    target.feeds(columns, [("1", "1", "10", "'a'"), ("1", "2", "1", "'c'")])
    target.run(config)
    upper = {name.upper(): type_name for name, type_name in columns.items()}
    target.feeds(upper, [("1", "1", "20", "'b'"), ("1", "2", "1", "'c'")])
    target.run(config)
    if scd == 1:
        assert [(1, "c")] == target.stored()
        return
    fields = {"duckdb": "unnest(__START_AT)", "postgres": "(__START_AT).*", "spark": "__START_AT.*"}[chosen()]
    starts = f"select {fields} from target"
    assert [(1, 10), (1, 20), (2, 1)] == in_order(target.query(starts))
    assert [*names] == list(target.columns(f"({starts}) as starts"))


@SCD
def test_columns_in_another_order(odd: MakeOdd, scd: int) -> None:
    """Columns match by name, never by position."""
    sequence = ["s", "t"] if takes_lists() else "s * 1000 + t"
    config = {"keys": ["a", "b"], "sequence_by": sequence, "stored_as_scd_type": scd}
    target = odd()
    target.feeds(dict.fromkeys("abstv", "integer"), [("1", "2", "3", "4", "5")])
    target.run(config)
    target.feeds(
        dict.fromkeys("vtbsa", "integer"), [("50", "4", "2", "30", "1"), ("60", "40", "1", "1", "2")]
    )
    target.run({**config, "keys": ["b", "a"]})
    expected = [(1, 2, 30, 4, 50), (2, 1, 1, 40, 60)]
    expected = expected if scd == 1 else [(1, 2, 3, 4, 5), *expected]
    assert expected == in_order(target.query("select a, b, s, t, v from target"))


@SCD
@pytest.mark.parametrize(
    "length", {"duckdb": [200, 245, 255], "postgres": [40, 53, 63], "spark": [80, 118, 128]}[speaks()]
)
def test_long_names_of_tables(odd: MakeOdd, scd: int, length: int) -> None:
    """Companion and working tables get shortened names that stay apart."""
    config = {"keys": ["id"], "sequence_by": "seq", "stored_as_scd_type": scd}
    one, two = odd("x" * (length - 1) + "1"), odd("x" * (length - 1) + "2")
    for seq in (1, 2):
        one.feeds({"id": "integer", "seq": "integer"}, [("1", str(seq))])
        one.run(config)
        two.run(config)
    assert one.stored() == two.stored()
    assert 4 == len([name for name in tables_of(one.connection) if name.startswith("xxx")])


@SCD
def test_three_hundred_columns(odd: MakeOdd, scd: int) -> None:
    """Wide rows, of which one column changes; every other column is compared all the same."""
    columns = {"id": "integer", "seq": "integer", **{f"c{n}": "varchar" for n in range(300)}}
    config: dict[str, Any] = {
        "keys": ["id"],
        "sequence_by": "seq",
        "stored_as_scd_type": scd,
        "except_column_list": ["seq"],
        "track_history_except_column_list": ["c1", "c2"] if scd == 2 else None,
    }
    row = ["'x'"] * 300
    target = odd()
    target.feeds(columns, [["1", "1", *row], ["2", "1", *row]])
    target.run(config)
    target.feeds(columns, [["1", "2", *row], ["2", "3", *row[:-1], "'y'"], ["2", "2", "null", *row[1:]]])
    outcome = target.run(config)
    expected = {1: [("x", "x", 1), ("x", "y", 1)], 2: [(None, "x", 1), ("x", "x", 2), ("x", "y", 1)]}[scd]
    assert expected == target.query(
        "select c0, c299, count(*) from target group by c0, c299 order by 1 nulls first, 2"
    )
    assert {1: 2, 2: 3}[scd] == outcome.figures["num_upserted_rows"]


@SCD
def test_ten_keys(odd: MakeOdd, scd: int) -> None:
    """A key of ten columns of several types, one of them different."""
    columns = {
        f"k{n}": type_name
        for n, type_name in enumerate(("integer", "varchar", "date", "boolean", "double") * 2)
    }
    values = ["1", "'a'", "date '2026-01-01'", "true", "1.5"] * 2
    config = {
        "keys": list(columns),
        "sequence_by": "seq",
        "stored_as_scd_type": scd,
        "apply_as_deletes": "v is null",
    }
    target = odd()
    target.feeds(
        {**columns, "seq": "integer", "v": "varchar"},
        [[*values, "1", "'x'"], [*values[:-1], "2.5", "1", "'y'"]],
    )
    target.run(config)
    target.feeds({**columns, "seq": "integer", "v": "varchar"}, [[*values, "2", "null"]])
    target.run(config)
    live = "" if scd == 1 else " where __END_AT is null"
    assert [(2.5, "y")] == target.query(f"select k9, v from target{live}")


# -- Batches -----------------------------------------------------------------------------------------------------------

PLAIN = {"id": "integer", "seq": "integer", "v": "varchar", "op": "varchar"}


@SCD
def test_empty_batches(odd: MakeOdd, scd: int) -> None:
    """An empty first run makes an empty target, and a later one changes nothing."""
    config = {"keys": ["id"], "sequence_by": "seq", "stored_as_scd_type": scd, "apply_as_deletes": "op = 'D'"}
    target = odd()
    target.feeds(PLAIN, [])
    assert {0} == set(target.run(config).figures.values())
    assert [] == target.stored()
    assert {0} == set(target.run(config).figures.values())
    target.feeds(PLAIN, [("1", "1", "'a'", "'U'")])
    target.run(config)
    before = target.stored()
    target.feeds(PLAIN, [])
    assert {0} == set(target.run(config).figures.values())
    assert before == target.stored()
    assert 1 == len(before)


@SCD
def test_only_deletes(odd: MakeOdd, scd: int) -> None:
    """Deletes of keys that nobody has seen leave nothing visible, and keep older events out."""
    config = {
        "keys": ["id"],
        "sequence_by": "seq",
        "stored_as_scd_type": scd,
        "apply_as_deletes": "op = 'D'",
        "except_column_list": ["seq", "op"],
    }
    target = odd()
    target.feeds(PLAIN, [("1", "5", "null", "'D'"), ("2", "5", "null", "'D'"), ("2", "7", "null", "'D'")])
    assert 0 == target.run(config).figures["num_upserted_rows"]
    assert [] == target.stored()
    target.feeds(PLAIN, [("3", "1", "null", "'D'")])
    target.run(config)
    assert [] == target.stored()
    target.feeds(
        PLAIN, [("1", "4", "'late'", "'U'"), ("2", "6", "'between'", "'U'"), ("3", "2", "'new'", "'U'")]
    )
    target.run(config)
    expected = {1: [(3, "new")], 2: [(1, "late", 4, 5), (2, "between", 6, 7), (3, "new", 2, None)]}
    assert expected[scd] == target.stored()


# -- Types -------------------------------------------------------------------------------------------------------------

# Type: two different values, the first of them written in another way where there is one.
VALUES: dict[str, dict[str, tuple[str, str, str]]] = {}
VALUES["duckdb"] = {
    "struct(a integer, b varchar)": ("{'a': 1, 'b': 'x'}", "{'a': 1, 'b': null}", "row(1, 'x')"),
    "integer[]": ("[1, 2]", "[2, 1]", "list_value(1, 2)"),
    "integer[3]": ("[1, 2, 3]", "[1, 2, null]", "array_value(1, 2, 3)"),
    "map(varchar, integer)": ("map {'a': 1}", "map {'a': null}", "map(['a'], [1])"),
    "json": ("'{\"a\": 1}'", "'{\"a\": 2}'", "'{\"a\": 1}'::json"),
    "decimal(38, 10)": ("1.5", "1.5000000001", "1.50"),
    "blob": (r"'\x00\xFF'::blob", r"'\x00\xFE'::blob", "from_hex('00ff')"),
    "uuid": (
        "'00000000-0000-0000-0000-00000000000a'",
        "'00000000-0000-0000-0000-00000000000b'",
        "'{00000000-0000-0000-0000-00000000000A}'",
    ),
    "interval": ("interval '1 day'", "interval '25 hours'", "interval '24 hours'"),
    "enum('x', 'y')": ("'x'", "'y'", "'x'"),
    "timestamptz": ("'2026-01-01 12:00:00+00'", "'2026-01-01 12:00:01+00'", "'2026-01-01 14:00:00+02'"),
    "timestamp_ns": (
        "'2026-01-01 12:00:00.000000001'",
        "'2026-01-01 12:00:00.000000002'",
        "'2026-01-01 12:00:00.000000001'",
    ),
    "hugeint": ("170141183460469231731687303715884105727", "-1", "170141183460469231731687303715884105727"),
    "uhugeint": ("340282366920938463463374607431768211455", "0", "340282366920938463463374607431768211455"),
    "bit": ("'0101'::bit", "'101'::bit", "'0101'::bit"),
    "time": ("'10:00:00'", "'10:00:00.000001'", "'10:00'"),
    "timetz": ("'10:00:00+00'", "'10:00:00+01'", "'10:00:00+00'"),
    "date": ("'infinity'", "'-infinity'", "'infinity'"),
    "boolean": ("true", "false", "1 = 1"),
    "double": ("'nan'", "'inf'", "'NaN'"),
    "float": ("0.0", "'-inf'", "-0.0"),
    "varchar": ("''", "' '", "concat('', null)"),
    "tinyint": ("-128", "127", "'-128'"),
    "union(n integer, s varchar)": ("union_value(n := 1)", "union_value(s := '1')", "1"),
    "variant": ("1", "'1'", "1"),
    "struct(l struct(m map(integer, integer[]))[])": (
        "{'l': [{'m': map {1: [1]}}]}",
        "{'l': [{'m': map {1: [2]}}]}",
        "row([row(map([1], [[1]]))])",
    ),
}
VALUES["postgres"] = {
    "a_b": ("row(1, 'x')", "row(1, null)", "'(1,x)'"),
    "integer[]": ("'{1,2}'", "'{2,1}'", "array[1, 2]"),
    "text[]": ("'{a,NULL}'", "'{a,b}'", "array['a', null]"),
    "json": ('\'{"a": 1, "b": 2}\'', "'{\"a\": 2}'", '\'{"b":2,"a":1}\''),
    "jsonb": ("'[1, 2]'", "'[2, 1]'", "'[1,2]'"),
    "json[]": ("array['1'::json]", "array['2'::json]", "array[' 1'::json]"),
    "numeric(38, 10)": ("1.5", "1.5000000001", "1.50"),
    "numeric": ("'nan'", "1e-30", "'NaN'"),
    "bytea": (r"'\x00ff'", r"'\x00fe'", r"'\000\377'"),
    "uuid": (
        "'00000000-0000-0000-0000-00000000000a'",
        "'00000000-0000-0000-0000-00000000000b'",
        "'{00000000-0000-0000-0000-00000000000A}'",
    ),
    "interval": ("'1 day'", "'25 hours'", "'24 hours'"),
    "x_y": ("'x'", "'y'", "'x'"),
    "timestamptz": ("'2026-01-01 12:00:00+00'", "'2026-01-01 12:00:01+00'", "'2026-01-01 14:00:00+02'"),
    "timestamp(0)": ("'2026-01-01 12:00:00'", "'2026-01-01 12:00:01'", "'2026-01-01 12:00:00.4'"),
    "varbit": ("b'0101'", "b'101'", "b'0101'"),
    "time": ("'10:00:00'", "'10:00:00.000001'", "'10:00'"),
    "timetz": ("'10:00:00+00'", "'10:00:00+01'", "'10:00:00+00'"),
    "boolean": ("true", "false", "1 = 1"),
    "double precision": ("'nan'", "'infinity'", "'NaN'"),
    "real": ("'0'", "'-infinity'", "'-0'"),
    "text": ("''", "' '", "concat('', null)"),
    "char(3)": ("'a'", "'b'", "'a  '"),
    "name": ("'A'", "'a'", "'A'"),
    "smallint": ("-32768", "127", "'-32768'"),
    "money": ("1.5::numeric::money", "2::money", "'1.50'"),
    "inet": ("'10.0.0.1'", "'10.0.0.1/31'", "'10.0.0.1/32'"),
    "macaddr": ("'08:00:2b:01:02:03'", "'08:00:2b:01:02:04'", "'08002b010203'"),
    "int4range": ("'[1,4)'", "'[1,5)'", "'[1,3]'"),
    "datemultirange": ("'{}'", "'{[2026-01-01,2026-01-02)}'", "'{}'"),
    "tsvector": ("'a b'", "'a c'", "'b a'"),
    "point": ("'(1,2)'", "'(2,1)'", "point(1, 2)"),
    "box": ("'(0,0),(1,4)'", "'(0,0),(2,2)'", "'(1,4),(0,0)'"),
    "circle": ("'<(0,0),1>'", "'<(1,1),1>'", "'((0,0),1)'"),
}
VALUES["spark"] = {
    "struct(a integer, b varchar)": (
        "named_struct('a', 1, 'b', 'x')",
        "named_struct('a', 1, 'b', null)",
        "struct(1, 'x')",
    ),
    "integer[]": ("array(1, 2)", "array(2, 1)", "array(1, 1 + 1)"),
    "decimal(38, 10)": ("1.5", "1.5000000001", "1.50"),
    "blob": ("x'00ff'", "x'00fe'", "unhex('00ff')"),
    "timestamptz": ("'2026-01-01 12:00:00+00'", "'2026-01-01 12:00:01+00'", "'2026-01-01 14:00:00+02'"),
    "timestamp": ("'2026-01-01 12:00:00'", "'2026-01-01 12:00:00.000001'", "'2026-01-01 12:00:00.000'"),
    "date": ("'2026-01-01'", "'0001-01-01'", "'2026-01-01'"),
    "boolean": ("true", "false", "1 = 1"),
    "double": ("'nan'", "'-inf'", "'NaN'"),
    "float": ("'0.0'", "'-inf'", "'-0.0'"),
    "varchar": ("''", "' '", "concat('', '')"),
    "tinyint": ("-128", "127", "'-128'"),
}
# Sail takes not-a-number and infinity, as keys or sequences, for the same.
VALUES["sail"] = VALUES["spark"] | {
    "double": ("1.5", "-1.5", "'1.50'"),
    "float": ("1.5", "-1.5", "'1.50'"),
}
if duckdb.__version__ < "2":
    # Variants of different types do not compare there.
    del VALUES["duckdb"]["variant"]
VALUES["ducklake"] = {kind: values for kind, values in VALUES["duckdb"].items() if lake_stores(kind)}
TYPES_OF_VALUES = pytest.mark.parametrize("type_name", VALUES[chosen()])


@pytest.mark.parametrize("is_tracked", [True, False], ids=["tracked", "untracked"])
@SCD
@TYPES_OF_VALUES
def test_types_of_values(odd: MakeOdd, type_name: str, scd: int, is_tracked: bool) -> None:
    """Every type is stored, compared and remembered as a value, nulls included."""
    one, other, again = VALUES[chosen()][type_name]
    columns = {"id": "integer", "seq": "integer", "v": type_name}
    config: dict[str, Any] = {
        "keys": ["id"],
        "sequence_by": "seq",
        "stored_as_scd_type": scd,
        "except_column_list": ["seq"],
        "track_history_except_column_list": None if is_tracked or scd == 1 else ["v"],
    }
    target = odd()
    target.feeds(columns, [("1", "10", one), ("1", "20", again), ("2", "10", "null"), ("2", "20", "null")])
    target.run(config)
    target.feeds(columns, [("1", "30", other), ("1", "40", one), ("2", "30", one)])
    target.run(config)
    target.feeds(columns, [("1", "25", "null"), ("1", "50", again)])
    target.run(config)

    expected: Any = [(1, one), (2, one)]
    if scd == 2 and is_tracked:
        versions = [(1, one, 10, 25), (1, "null", 25, 30), (1, other, 30, 40), (1, one, 40, None)]
        expected = [*versions, (2, "null", 10, 30), (2, one, 30, None)]
    elif scd == 2:
        expected = [(1, again, 10, None), (2, one, 10, None)]
    target.feeds(columns, [])
    listed = ", ".join(f"({row[0]}, ({row[1]})::{type_name})" for row in expected)
    # PostgreSQL has no equality for some types.
    compared = [
        engine_of(target.connection).comparable(f"{alias}.v", type_name) for alias in ("tgt", "expected")
    ]
    different = target.query(
        f"select * from (values {listed}) as expected(id, v)\n"
        f"where not exists (select 1 from target as tgt where tgt.id = expected.id"
        f" and {' is not distinct from '.join(compared)})"
    )
    assert [] == different
    assert len(expected) == len(target.stored("id"))
    if scd == 2:
        bounds = target.query("select id, __START_AT, __END_AT from target order by 1, 2")
        assert [(row[0], *row[2:]) for row in expected] == bounds
    assert target.columns("feed")["v"] == target.columns()["v"]


@SCD
@TYPES_OF_VALUES
def test_ties_of_types(odd: MakeOdd, type_name: str, scd: int) -> None:
    """Two equal values tie nothing; of two different ones the greater is kept where ties are allowed, in any order."""
    one, other, again = VALUES[chosen()][type_name]
    columns = {"id": "integer", "seq": "integer", "v": type_name}
    config = {"keys": ["id"], "sequence_by": "seq", "stored_as_scd_type": scd}
    target = odd()
    target.feeds(columns, [("1", "10", one), ("1", "10", again), ("2", "10", "null"), ("2", "10", "null")])
    assert 2 == target.run(config).figures["num_duplicate_rows"]
    stored = []
    for name, values in (("up", (one, other, "null")), ("down", ("null", other, one))):
        tied = Odd(target.connection, name)
        tied.feeds(columns, [("1", "10", value) for value in values])
        tied.run({**config, "sequence_ties": "allow"})
        stored += tied.query(f"select v is null, v::varchar from {name}")
    assert stored[0] == stored[1]
    assert stored[0][0] is False


KEYS: dict[str, dict[str, tuple[str, str]]] = {}
KEYS["duckdb"] = {
    "uuid": ("'00000000-0000-0000-0000-00000000000a'", "'00000000-0000-0000-0000-00000000000b'"),
    "blob": (r"'\x00\xFF'::blob", r"'\x00'::blob"),
    "timestamptz": ("'2026-01-01 12:00:00+00'", "'2026-01-01 12:00:00+01'"),
    "enum('x', 'y')": ("'y'", "'x'"),
    "decimal(20, 5)": ("1.5", "1.50001"),
    "varchar": ("''", "' '"),
    "text": ("'it''s \"it\"'", "'it''s\nit'"),
    "varchar(99)": ("'größe'", "'GRÖSSE'"),
    "double": ("'nan'", "'-inf'"),
    "boolean": ("true", "false"),
    "hugeint": ("170141183460469231731687303715884105727", "0"),
    "date": ("'infinity'", "'2026-01-01'"),
    "time": ("'10:00'", "'11:00'"),
    "interval": ("interval '1 day'", "interval '2 days'"),
    "bit": ("'0101'::bit", "'101'::bit"),
    "struct(a integer, b varchar)": ("{'a': 1, 'b': 'x'}", "{'a': 1, 'b': 'y'}"),
    "integer[]": ("[1]", "[]"),
}
KEYS["postgres"] = {
    "uuid": KEYS["duckdb"]["uuid"],
    "bytea": (r"'\x00ff'", r"'\x00'"),
    "timestamptz": KEYS["duckdb"]["timestamptz"],
    "x_y": ("'y'", "'x'"),
    "numeric(20, 5)": ("1.5", "1.50001"),
    "text": ("''", "' '"),
    "varchar": KEYS["duckdb"]["text"],
    "varchar(99)": KEYS["duckdb"]["varchar(99)"],
    "char(3)": ("'a'", "'b'"),
    "name": ("'A'", "'a'"),
    "double precision": ("'nan'", "'-infinity'"),
    "boolean": ("true", "false"),
    "numeric": ("170141183460469231731687303715884105727", "0"),
    "date": ("'-infinity'", "'2026-01-01'"),
    "time": ("'10:00'", "'11:00'"),
    "interval": ("interval '1 day'", "interval '2 days'"),
    "varbit": ("b'0101'", "b'101'"),
    "jsonb": ("'{\"a\": 1}'", "'{\"a\": 2}'"),
    "a_b": ("row(1, 'x')", "row(1, 'y')"),
    "integer[]": ("'{1}'", "'{}'"),
    "inet": ("'10.0.0.1'", "'10.0.0.2'"),
    "int4range": ("'[1,4)'", "'[1,5)'"),
}
KEYS["spark"] = {
    "blob": ("x'00ff'", "x'00'"),
    "timestamptz": KEYS["duckdb"]["timestamptz"],
    "timestamp": ("'2026-01-01 12:00:00'", "'2026-01-01 12:00:00.000001'"),
    "decimal(20, 5)": ("1.5", "1.50001"),
    "varchar": ("''", "' '"),
    "double": ("'nan'", "'-inf'"),
    "boolean": ("true", "false"),
    "date": ("'0001-01-01'", "'2026-01-01'"),
}
KEYS["sail"] = KEYS["spark"] | {"double": ("1.5", "-1.5")}
KEYS["ducklake"] = {kind: values for kind, values in KEYS["duckdb"].items() if lake_stores(kind)}


@SCD
@pytest.mark.parametrize("type_name", KEYS[chosen()])
def test_types_of_keys(odd: MakeOdd, type_name: str, scd: int) -> None:
    """Keys of every type that has equality are told apart, updated, deleted and recognised again."""
    one, other = KEYS[chosen()][type_name]
    columns = {"k": type_name, "seq": "integer", "v": "varchar", "op": "varchar"}
    config = {
        "keys": ["k"],
        "sequence_by": "seq",
        "stored_as_scd_type": scd,
        "apply_as_deletes": "op = 'D'",
        "except_column_list": ["seq", "op"],
    }
    rows = [
        (one, "1", "'a'", "'U'"),
        (other, "1", "'a'", "'U'"),
        (one, "3", "'c'", "'U'"),
        (other, "4", "null", "'D'"),
    ]
    target = odd()
    target.feeds(columns, rows[:2])
    target.run(config)
    target.feeds(columns, rows)
    target.run(config)
    target.feeds(columns, [*rows, (one, "2", "'b'", "'U'")])
    target.run(config)
    assert {0} == {
        n
        for name, n in target.run(config).figures.items()
        if name in {"num_upserted_rows", "num_deleted_rows"}
    }
    live = "" if scd == 1 else " where __END_AT is null"
    assert [(True, "c")] == target.query(f"select k = ({one})::{type_name}, v from target{live}")
    if scd == 2:
        expected = [("a", 1, 2), ("b", 2, 3), ("c", 3, None), ("a", 1, 4)]
        assert sorted(expected, key=str) == sorted(
            target.query("select v, __START_AT, __END_AT from target"), key=str
        )


SEQUENCES: dict[str, list[tuple[str, tuple[str, str, str]]]] = {
    "duckdb": [
        ("timestamptz", ("'2026-01-01 00:00:00+00'", "'2026-01-01 02:00:00+01'", "'2026-01-01 02:00:00+00'")),
        ("date", ("'-infinity'", "'2026-01-01'", "'infinity'")),
        ("varchar", ("''", "'10'", "'9'")),
        ("decimal(38, 0)", ("-1", "0", "99999999999999999999999999999999999999")),
        ("double", ("'-inf'", "0", "'nan'")),
        (
            "uuid",
            tuple(f"uuid '{digits}000000-0000-0000-0000-00000000000a'" for digits in ("00", "f0", "ff")),
        ),
        ("blob", (r"'\x00'::blob", r"'\x00\x00'::blob", r"'\xFF'::blob")),
        ("time", ("'00:00'", "'10:00'", "'23:59'")),
        ("enum('z', 'b', 'a')", ("'z'", "'b'", "'a'")),
        ("hugeint", ("-1", "0", "170141183460469231731687303715884105727")),
        ("integer[]", ("[]", "[1]", "[1, 0]")),
        ("struct(a integer, b varchar)", ("{'a': 1, 'b': 'b'}", "{'a': 2, 'b': 'a'}", "{'a': 2, 'b': 'b'}")),
        ("boolean[]", ("[false]", "[false, true]", "[true]")),
    ],
    "postgres": [
        ("timestamptz", ("'2026-01-01 00:00:00+00'", "'2026-01-01 02:00:00+01'", "'2026-01-01 02:00:00+00'")),
        ("timestamp(3)", ("'-infinity'", "'2026-01-01'", "'infinity'")),
        ("date", ("'-infinity'", "'2026-01-01'", "'infinity'")),
        ("text", ("''", "'10'", "'9'")),
        ("varchar(9)", ("'B'", "'a'", "'ä'")),
        ("char(3)", ("'B'", "'a'", "'ä'")),
        ("name", ("'B'", "'a'", "'ä'")),
        ("numeric(38, 0)", ("-1", "0", "99999999999999999999999999999999999999")),
        ("double precision", ("'-infinity'", "0", "'nan'")),
        ("time", ("'00:00'", "'10:00'", "'23:59'")),
        ("interval", ("'-1 day'", "'23 hours'", "'1 day'")),
        ("numeric", ("-1", "0.5", "170141183460469231731687303715884105727")),
        ("money", ("-1", "0.5::numeric::money", "2")),
        ("oid", ("1", "2147483648", "4294967295")),
        ("inet", ("'9.0.0.0'", "'10.0.0.1'", "'10.0.0.2'")),
        ("pg_lsn", ("'0/9'", "'0/10'", "'1/0'")),
        ("integer[]", ("'{}'", "'{1}'", "'{1,0}'")),
        ("text[]", ("'{B}'", "'{a}'", "'{ä}'")),
    ],
}
SEQUENCES["spark"] = [
    *SEQUENCES["duckdb"][:1],
    ("timestamp", ("'2026-01-01 00:00:00'", "'2026-01-01 00:00:00.000001'", "'2026-01-01 00:00:01'")),
    ("date", ("'0001-01-01'", "'2026-01-01'", "'9999-12-31'")),
    ("varchar", ("''", "'10'", "'9'")),
    ("decimal(38, 0)", ("-1", "0", "99999999999999999999999999999999999999")),
    ("double", ("'-inf'", "0", "'nan'")),
    ("float", ("-1", "0.5", "'inf'")),
    ("tinyint", ("-128", "0", "127")),
]
SEQUENCES["sail"] = [*SEQUENCES["spark"][:-3], *SEQUENCES["spark"][-2:], ("double", ("-1.5", "0", "1e300"))]
SEQUENCES["ducklake"] = [sequence for sequence in SEQUENCES["duckdb"] if lake_stores(sequence[0])]


@SCD
@pytest.mark.parametrize(("type_name", "values"), SEQUENCES[chosen()])
def test_types_of_sequences(odd: MakeOdd, type_name: str, values: tuple[str, str, str], scd: int) -> None:
    """A sequence of any type with an order; the bounds have exactly its type."""
    columns = {"id": "integer", "at": type_name, "v": "varchar"}
    config = {"keys": ["id"], "sequence_by": "at", "stored_as_scd_type": scd, "except_column_list": ["at"]}
    target = odd()
    target.feeds(columns, [("1", values[2], "'c'"), ("1", values[0], "'a'")])
    target.run(config)
    target.feeds(columns, [("1", values[1], "'b'"), ("1", values[2], "'c'")])
    target.run(config)
    if scd == 1:
        assert [(1, "c")] == target.stored()
        return
    assert ["a", "b", "c"] == [row[0] for row in target.query("select v from target order by __START_AT")]
    assert [2] == [row[0] for row in target.query("select count(__END_AT) from target")]
    types = target.columns()
    assert [target.columns("feed")["at"]] * 2 == [types[name] for name in target.bounds(2)]


@pytest.mark.only_on("duckdb")  # for PostgreSQL a null without a type is text
@SCD
def test_columns_without_a_type(odd: MakeOdd, scd: int) -> None:
    """A column that is always null on the first run takes the type that it turns out to have."""
    config: dict[str, Any] = {
        "keys": ["id"],
        "sequence_by": "seq",
        "stored_as_scd_type": scd,
        "track_history_except_column_list": ["u"] if scd == 2 else None,
    }
    target = odd()
    target.run(config, sql="select 1 as id, 1 as seq, null as v, null as u, [] as l")
    target.run(config, sql="select 1 as id, 2 as seq, null as v, null as u, [] as l")
    target.run(config, sql="select 1 as id, 3 as seq, 'x' as v, 'y' as u, [1] as l")
    assert ("x", "y", [1]) == target.query("select v, u, l from target order by seq")[-1]
    found = target.columns()
    assert ["VARCHAR", "VARCHAR", "INTEGER[]"] == [found[name] for name in ("v", "u", "l")]


# -- SQL of models and options -----------------------------------------------------------------------------------------


@SCD
@pytest.mark.parametrize(
    "sql",
    [
        "select * from feed -- the end",
        "select * from feed;",
        "select * from feed ;\n;  \n",
        "select * from feed; -- the end",
        "select * from feed\n/* the\nend; */ ; /* really */\n-- yes",
        "-- first\nselect * from feed\n\n",
        "with feed2 as (select * from feed), src as (select * from feed2) select * from src",
        "(select * from feed)",
        pytest.param("from feed", marks=pytest.mark.only_on("duckdb")),
        "select * from feed union all select * from feed",
        "select * from feed order by id limit 10",
        "select id, seq, v, op from feed where v <> '{' and v <> '%s' and v <> '{{ x }}' and v <> ';' and v <> '--'",
        "select * from feed where v <> $$;'$$ and v <> 'x;--'",
    ],
)
def test_models(odd: MakeOdd, sql: str, scd: int) -> None:
    """A model is any SELECT, with its own WITH, a closing semicolon or a comment."""
    config = {"keys": ["id"], "sequence_by": "seq", "stored_as_scd_type": scd}
    target = odd()
    target.feeds(PLAIN, [("1", "1", "'a'", "'U'")])
    target.run(config, sql=sql)
    target.feeds(PLAIN, [("2", "1", "'b'", "'U'")])
    target.run(config, sql=sql)
    assert [(1, "a"), (2, "b")] == target.query("select id, v from target order by 1")


@SCD
@pytest.mark.parametrize(
    ("its", "mark"),
    [
        # On Spark the quote in it stands behind a backslash.
        ("'it''s", ""),
        pytest.param("e'it\\'s", "e'\\''", marks=pytest.mark.only_on("duckdb", "postgres")),
    ],
)
def test_text_of_several_lines(odd: MakeOdd, scd: int, its: str, mark: str) -> None:
    """Text and names in the user's SQL that go over lines are not indented with the rest."""
    target = odd()
    split = target.quote("o\np")
    config = {
        "keys": ["id"],
        "sequence_by": "length('x\ny') + seq",
        "stored_as_scd_type": scd,
        "apply_as_deletes": spoken(target.connection, f"v = {its}\n\n  gone' or {split} = 'x'"),
    }
    sql = f"select 1 as id, 1 as seq, 'a\nb' as v, 'y' as \"o\np\"\nunion all select 1, 2, {its}\r\n d', 'y'"
    if mark:
        sql += f"\nunion all select 1, 0, {mark}, 'y'"
    target.run(config, sql=sql)
    target.run(
        config, sql=f"{sql}\nunion all select 2, 3, {its}\n\n  gone', 'y' union all select 2, 1, 'e', 'z'"
    )
    live = "" if scd == 1 else " where __END_AT is null"
    assert [("it's\r\n d", "y")] == target.query(f'select v, "o\np" from target{live}')
    target.run(config, sql=sql)
    assert (1 if scd == 1 else 4 if mark else 3) == len(target.query("select * from target"))


@SCD
@pytest.mark.parametrize(
    "condition",
    [
        "op = '{' or op = 'D'",
        "op like '%D%' or op = '%s'",
        "op = 'D' or false",
        "case op when 'D' then true else false end",
        "op = 'D' -- it's the end",
        pytest.param("op in (select 'D')", marks=SUBQUERIES),
        pytest.param("op similar to '[D]{1}'", marks=pytest.mark.only_on("duckdb", "postgres")),
        "(op = 'D')",
        "id is not null and op = 'D' and seq > 0",
    ],
)
def test_conditions(odd: MakeOdd, condition: str, scd: int) -> None:
    """A condition is any SQL over the model's columns, the key and the sequence among them."""
    config = {"keys": ["id"], "sequence_by": "seq", "stored_as_scd_type": scd, "apply_as_deletes": condition}
    target = odd()
    target.feeds(PLAIN, [("1", "1", "'a'", "'U'"), ("2", "1", "'a'", "'U'"), ("3", "1", "'a'", "'D'")])
    target.run(config)
    target.feeds(PLAIN, [("2", "2", "'b'", "'D'"), ("4", "2", "'b'", "null")])
    target.run(config)
    live = "" if scd == 1 else " where __END_AT is null"
    assert [(1,), (4,)] == target.query(f"select id from target{live} order by 1")


@SCD
@pytest.mark.parametrize("name", ["is deleted", "gone?", "a = b", "deleted"])
def test_conditions_that_are_columns(odd: MakeOdd, name: str, scd: int) -> None:
    """A condition that is the name of a column means the column, whatever its name looks like."""
    config = {
        "keys": ["id"],
        "sequence_by": "seq",
        "stored_as_scd_type": scd,
        "apply_as_deletes": name.upper(),
        "except_column_list": [name],
    }
    columns = {"id": "integer", "seq": "integer", name: "boolean"}
    target = odd()
    target.feeds(columns, [("1", "1", "false"), ("2", "1", "null"), ("3", "1", "true")])
    target.run(config)
    assert [(1,), (2,)] == target.query("select id from target order by 1")


@SCD
@pytest.mark.parametrize(
    "sequence", ["seq + 0", "seq -- it's a number", "-(-seq)", "max(seq) over (partition by id, seq)"]
)
def test_sequence_expressions(odd: MakeOdd, sequence: str, scd: int) -> None:
    """A sequence is any SQL over the model's columns, evaluated once per event."""
    config = {
        "keys": ["id"],
        "sequence_by": sequence,
        "stored_as_scd_type": scd,
        "except_column_list": ["op"],
    }
    target = odd()
    target.feeds(PLAIN, [("1", "3", "'c'", "'U'"), ("1", "1", "'a'", "'U'")])
    target.run(config)
    target.feeds(PLAIN, [("1", "2", "'b'", "'U'"), ("1", "3", "'c'", "'U'")])
    target.run(config)
    expected = ["c"] if scd == 1 else ["a", "b", "c"]
    assert expected == [row[0] for row in target.query("select v from target order by seq")]


def test_a_sequence_that_is_not_the_same_twice(odd: MakeOdd) -> None:
    """An expression is evaluated once: what is compared is what is stored."""
    config = {"keys": ["id"], "sequence_by": "random()", "stored_as_scd_type": 2}
    target = odd()
    target.feeds(PLAIN, [("1", "1", "'a'", "'U'"), ("1", "2", "'b'", "'U'"), ("1", "3", "'c'", "'U'")])
    target.run(config)
    target.run(config)
    assert [(0,)] == target.query("select count(*) from target where __END_AT <= __START_AT")
    assert [(1,)] == target.query("select count(*) from target where __END_AT is null")
