"""Bitemporal targets: what is refused, types of the bounds, changes of columns, rows changed by hand, how much is read.

Straight on the engine. Not here: histories as such (`properties/test_bitemporal`, `test_cases`).
"""

from __future__ import annotations

from typing import Any

import pytest

from dbt_auto_cdc.errors import AutoCdcError
from dbt_auto_cdc.spec import parse
from tests.databases import (
    Connection,
    adapter_of,
    columns_of,
    here,
    spoken,
    type_of,
)
from tests.direct import Direct
from tests.watched import placed

CONFIG: dict[str, Any] = {
    "keys": ["id"],
    "sequence_by": "bt",
    "system_sequence_by": "st",
    "apply_as_deletes": "op = 'D'",
    "except_column_list": ["bt", "st", "op"],
    "stored_as_scd_type": "bitemporal",
}
FIRST = "(1, 'Oslo', 10, 100, 'U'), (1, 'Rome', 20, 200, 'U'), (2, 'Bari', 10, 100, 'U')"
COLUMNS = "id, city, bt, st, op"
TWO = "id, city, zip, bt, st, op"


@pytest.fixture
def target(connection: Connection) -> Direct:
    return Direct(connection)


def events(rows: str, columns: str = COLUMNS) -> str:
    # A null alone has no type, of which there are no columns on Spark.
    shown = (
        "*"
        if columns != TWO
        else "id, cast(city as varchar) as city, cast(zip as varchar) as zip, bt, st, op"
    )
    return f"select {shown} from (values {rows}) as t({columns})"


def sees(target: Direct) -> list[Any]:
    return [placed(target.connection, table) for table in (target.name, f"{target.name}__auto_cdc")]


def refuses(target: Direct, config: dict[str, Any], sql: str) -> str:
    """Run, which has to be refused and to change nothing, and return the message."""
    before = sees(target)
    with pytest.raises(AutoCdcError) as refused:
        target.run(config, sql=sql)
    assert before == sees(target)
    assert "model target: " in str(refused.value)
    return str(refused.value)


def versions(target: Direct) -> list[tuple[Any, ...]]:
    bounds = "__START_AT, __END_AT, __SYSTEM_START_AT, __SYSTEM_END_AT"
    return target.connection.execute(f"select id, city, {bounds} from target order by 1, 3, 5").fetchall()


# What the options refuse


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"stored_as_scd_type": 2},
            "system_sequence_by needs two axes of time; set stored_as_scd_type to bitemporal",
        ),
        (
            {"stored_as_scd_type": 1},
            "system_sequence_by needs two axes of time; set stored_as_scd_type to bitemporal",
        ),
        ({"system_sequence_by": None}, "system_sequence_by is missing; name the column that tells when"),
        ({"apply_as_truncates": "op = 'T'"}, "apply_as_truncates works with SCD type 1 only"),
        ({"columns_to_update": "op"}, "columns_to_update works with SCD types 1 and 2 only, as in Lakeflow"),
        (
            {"ignore_null_updates": True, "columns_to_update": "op"},
            "ignore_null_updates and columns_to_update are set together",
        ),
        (
            {"ignore_null_updates_column_list": ["id"]},
            "ignore_null_updates_column_list names id, which is a key",
        ),
        (
            {"ignore_null_updates_except_column_list": ["ctiy"]},
            "ignore_null_updates_except_column_list names ctiy, which is not a column of the model; did you mean city",
        ),
        ({"tombstone_retention": 5}, "tombstone_retention works with SCD types 1 and 2 only"),
        ({"stored_as_scd_type": "bitemporl"}, "stored_as_scd_type is 'bitemporl'; write 1, 2 or bitemporal"),
        ({"system_sequence_by": []}, "system_sequence_by is an empty list"),
        ({"system_sequence_by": "sst"}, "system_sequence_by names sst, which is not a column of the model"),
        pytest.param(
            {"system_sequence_by": ["st", "no"]},
            "system_sequence_by names no, which is not a column of the model",
            marks=pytest.mark.composite,
        ),
        ({"system_sequence_by": "st +"}, "system_sequence_by is not valid SQL over the model's columns"),
        pytest.param(
            {"system_sequence_by": "map {1: st}"},
            "system_sequence_by has type MAP(INTEGER, INTEGER), which has no order",
            marks=pytest.mark.only_on("duckdb"),  # the type is DuckDB's
        ),
    ],
)
def test_options(target: Direct, change: dict[str, Any], message: str) -> None:
    """Each is refused before anything is written, also where the target is there already."""
    target.run(CONFIG, sql=events(FIRST))
    assert message in refuses(target, {**CONFIG, **change}, events(FIRST))


def test_the_scd_type_in_any_case(target: Direct) -> None:
    """BITEMPORAL is bitemporal, as SQL keywords are written."""
    target.run({**CONFIG, "stored_as_scd_type": "BITEMPORAL"}, sql=events(FIRST))
    assert 0 == target.run(CONFIG, sql=events(FIRST)).figures["num_upserted_rows"]


def test_snapshots(target: Direct) -> None:
    """Snapshots have one axis: what to use instead is said."""
    snapshot = Direct(target.connection, materialized="auto_cdc_snapshot")
    config = {"keys": ["id"], "snapshot_version": "1", "stored_as_scd_type": "bitemporal"}
    with pytest.raises(
        AutoCdcError, match=r"snapshots have none; write 1 or 2, or use materialized auto_cdc"
    ):
        snapshot.run(config, sql=events(FIRST))
    written = {**config, "stored_as_scd_type": 1, "system_sequence_by": "st"}
    _, problems = parse(written, elsewhere=frozenset(), materialized="auto_cdc_snapshot")
    assert "unknown option system_sequence_by" in problems[0]


@pytest.mark.parametrize("name", ["__START_AT", "__end_at", "__SYSTEM_START_AT", "__system_end_at"])
def test_reserved_names(target: Direct, name: str) -> None:
    """All four bounds are ours; in SCD type 2 the two system bounds are ordinary columns."""
    sql = f'select *, 1 as "{name}" from ({events(FIRST)}) as events'
    with pytest.raises(
        AutoCdcError, match=here(f"output column {name} has a name that auto_cdc or DuckDB needs")
    ):
        target.run(CONFIG, sql=sql)
    if "system" in name.lower():
        target.run({**CONFIG, "stored_as_scd_type": 2, "system_sequence_by": None}, sql=sql)


# What bad events refuse


@pytest.mark.parametrize("builds", [True, False])
def test_null_system_time(target: Direct, builds: bool) -> None:
    """Null system times are counted, with the key of one."""
    if not builds:
        target.run(CONFIG, sql=events(FIRST))
    sql = events("(3, 'Oslo', 10, null, 'U'), (4, 'Oslo', 10, null, 'U'), (5, 'Oslo', 10, 7, 'U')")
    with pytest.raises(AutoCdcError) as refused:
        target.run(CONFIG, sql=sql)
    assert "system_sequence_by st is null in 2 of the new rows, for example id=3; a null has no place" in str(
        refused.value
    )


@pytest.mark.composite
@pytest.mark.only_on("duckdb", "spark")  # PostgreSQL makes a type of a list for one axis alone
def test_null_part_of_a_system_time(target: Direct) -> None:
    """A list has to be whole."""
    target.run({**CONFIG, "system_sequence_by": ["st", "bt"]}, sql=events(FIRST))
    message = refuses(
        target, {**CONFIG, "system_sequence_by": ["st", "bt"]}, events("(3, 'Oslo', 10, null::int, 'U')")
    )
    assert "system_sequence_by st, bt has a null among them in 1 of the new rows" in message


def test_ties(target: Direct) -> None:
    """Only events that are equal on both axes are a tie; another system time makes a correction of it."""
    target.run(CONFIG, sql=events(FIRST))
    two_ways = events("(3, 'Oslo', 10, 300, 'U'), (3, 'Rome', 10, 300, 'U'), (3, 'Bari', 10, 301, 'U')")
    message = refuses(target, CONFIG, two_ways)
    assert "1 time a key has different events at one sequence and one system sequence" in message
    assert "for example id=3 at 10, known at 300; make system_sequence_by finer" in message
    target.run({**CONFIG, "sequence_ties": "allow"}, sql=two_ways)
    assert [(3, "Rome", 10, None, 300, 301), (3, "Bari", 10, None, 301, None)] == versions(target)[-2:]


def test_changed_definition(target: Direct) -> None:
    """The SCD type and the type of either axis stay what they were."""
    target.run(CONFIG, sql=events(FIRST))
    as_scd2 = {**CONFIG, "stored_as_scd_type": 2, "system_sequence_by": None}
    message = refuses(target, as_scd2, events(FIRST))
    assert "stored_as_scd_type was bitemporal in the last run and is 2 now; rebuild the target" in message
    message = refuses(target, {**CONFIG, "system_sequence_by": "cast(st as bigint)"}, events(FIRST))
    said = "the type of system_sequence_by was INTEGER in the last run and is BIGINT now; change it back"
    assert here(said) in message
    tracked = {**CONFIG, "track_history_column_list": ["city"]}
    assert "tracking was of all columns in the last run" in refuses(target, tracked, events(FIRST))
    other = Direct(target.connection, "other")
    other.run(as_scd2, sql=events("(1, 'Oslo', 10, 100, 'U')"))
    with pytest.raises(AutoCdcError, match=r"stored_as_scd_type was 2 in the last run and is bitemporal now"):
        other.run(CONFIG, sql=events(FIRST))
    other.run(CONFIG, sql=events(FIRST), full_refresh=True)
    assert 4 == len(other.rows())


@pytest.mark.transactional
def test_taking_a_table_over(target: Direct) -> None:
    """A table does not tell every event, so it cannot be taken over."""
    from dbt_auto_cdc import bridge, operations

    target.connection.execute("create table target as select 1 as id")
    model = bridge.open_model(
        name="target",
        adapter_type=adapter_of(target.connection),
        config={**CONFIG, "materialized": "auto_cdc"},
        written=CONFIG,
        identifier="target",
        target='"target"',
        sql=events(FIRST),
        beside=lambda path: f'"{path["identifier"]}"',
    )
    with pytest.raises(AutoCdcError, match=r"a bitemporal target cannot be taken over.*--full-refresh"):
        operations.plan_adoption(
            model=model,
            ask=lambda query: target.connection.execute(query).fetchall(),
            target_exists=True,
            target_is_view=False,
            companion_exists=False,
        )


# What stays


@pytest.mark.parametrize(
    ("business", "system", "types"),
    [
        ("cast(bt as date)", "cast(st as timestamptz)", ["DATE", "TIMESTAMPTZ"]),
        pytest.param(
            "bt::timestamp_ns",
            "st::varchar",
            ["TIMESTAMP_NS", "VARCHAR"],
            marks=pytest.mark.only_on("duckdb"),  # the type is DuckDB's
        ),
        ("cast(extract(year from bt) * 1.5 as decimal(9, 2))", "cast(st as date)", ["DECIMAL(9, 2)", "DATE"]),
        pytest.param(
            ["bt", "id"],
            ["st", "id"],
            ["STRUCT(bt TIMESTAMP, id INTEGER)", "STRUCT(st TIMESTAMP, id INTEGER)"],
            marks=[pytest.mark.composite, pytest.mark.only_on("duckdb")],
        ),
    ],
)
def test_types_of_the_bounds(target: Direct, business: Any, system: Any, types: list[str]) -> None:
    """Each axis has exactly the type of its sequence, in the first run and after later ones."""
    business, system = (
        spoken(target.connection, each) if isinstance(each, str) else each for each in (business, system)
    )
    config = {**CONFIG, "sequence_by": business, "system_sequence_by": system}
    rows = "(1, 'Oslo', timestamp '2026-01-01', timestamp '2026-02-01', 'U')"
    later = "(1, 'Rome', timestamp '2027-01-01', timestamp '2027-02-01', 'U')"
    expected = [type_of(target.connection, kind) for kind in types]
    for sql, count in ((events(rows), 1), (events(later), 3), (events(later), 3)):
        target.run(config, sql=sql)
        found = list(columns_of(target.connection, "target").values())
        assert [expected[0]] * 2 + [expected[1]] * 2 == found[-4:]
        assert count == len(target.rows())


@pytest.mark.altering
def test_columns_come_and_go(target: Direct) -> None:
    """New columns are null in older versions, lost ones in newer events; beliefs that nothing touches stay."""
    target.run(CONFIG, sql=events(FIRST))
    sql = events("(1, 'Bonn', 30, 300, 'U', 7)", f"{COLUMNS}, size")
    target.run(CONFIG, sql=sql)
    target.run(CONFIG, sql=events("(1, 'Kiel', 40, 400, 'U')"))
    found = target.connection.execute(
        "select city, size, __START_AT, __END_AT, __SYSTEM_START_AT from target"
        " where id = 1 and __SYSTEM_END_AT is null order by 3"
    ).fetchall()
    assert [("Oslo", None, 10, 20, 200), ("Rome", None, 20, 30, 300)] == found[:2]
    assert [("Bonn", 7, 30, 40, 400), ("Kiel", None, 40, None, 400)] == found[2:]


@pytest.mark.altering
def test_a_dropped_column_cuts_nothing_anew(target: Direct) -> None:
    """Versions that differed in a column that is gone stay apart: what is written is not cut anew."""
    config = {**CONFIG, "on_schema_change": "sync_all_columns"}
    rows = "(1, 'Oslo', 10, 100, 'U', 1), (1, 'Oslo', 20, 200, 'U', 2)"
    target.run(config, sql=events(rows, f"{COLUMNS}, size"))
    target.run(config, sql=events("(1, 'Rome', 30, 300, 'U')"))
    assert [
        (1, "Oslo", 10, None, 100, 200),
        (1, "Oslo", 10, 20, 200, None),
        (1, "Oslo", 20, None, 200, 300),
        (1, "Oslo", 20, 30, 300, None),
        (1, "Rome", 30, None, 300, None),
    ] == versions(target)


@pytest.mark.altering
def test_a_wider_column(target: Direct) -> None:
    """A column widens in target and companion, and equal values are still equal."""
    target.run(CONFIG, sql=events("(1, 1, 10, 100, 'U')"))
    target.run(CONFIG, sql=events("(1, cast(1 as bigint), 20, 200, 'U')"))
    target.run(CONFIG, sql=events("(1, 5000000000, 15, 300, 'U')"))
    assert [
        (1, 1, 10, None, 100, 300),
        (1, 1, 10, 15, 300, None),
        (1, 5000000000, 15, 20, 300, None),
        (1, 1, 20, None, 300, None),
    ] == versions(target)


@pytest.mark.parametrize(
    ("change", "business"),
    [
        ("update target set city = 'Pisa' where __SYSTEM_END_AT is null and __START_AT = 20", 30),
        ("update target set __END_AT = 25 where __SYSTEM_END_AT is null and __START_AT = 20", 22),
        ("delete from target where __SYSTEM_END_AT is null and __START_AT = 20", 20),
        ("insert into target values (1, 'Pisa', 20, 25, 200, null)", 30),
    ],
)
def test_versions_changed_by_hand(target: Direct, change: str, business: int) -> None:
    """A run that meets them is refused with the key; other keys go on."""
    target.run(CONFIG, sql=events(FIRST))
    target.connection.execute(change)
    message = refuses(target, CONFIG, events(f"(1, 'Bonn', {business}, 300, 'U')"))
    assert (
        "versions of the target are not what its events say, for example of id=1; they were changed"
        in message
    )
    target.run(CONFIG, sql=events("(2, 'Bonn', 30, 300, 'U')"))


def test_an_erased_key(target: Direct) -> None:
    """A key that is deleted from target and companion is as if it had never been."""
    target.run(CONFIG, sql=events(FIRST))
    for table in ("target", "target__auto_cdc"):
        target.connection.execute(f"delete from {table} where id = 1")
    target.run(CONFIG, sql=events("(1, 'Bonn', 5, 50, 'U')"))
    assert [(1, "Bonn", 5, None, 50, None)] == [row for row in versions(target) if row[0] == 1]


def test_keys_of_any_name(target: Direct) -> None:
    """Names that the working tables use themselves are free for users, quotes and capitals included."""
    names = ["line", "place", "moment", "event", "number", "Owner", 'a "b"', "start_at", "system", "kind"]
    quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
    config = {**CONFIG, "keys": names[:6], "except_column_list": ["bt", "st"], "apply_as_deletes": "kind = 3"}
    for run in range(3):
        row = f"1, 1, 1, 1, 1, 1, {run}, 5, 6, 7, {10 + run}, {100 + run}"
        target.run(config, sql=f"select * from (values ({row})) as t({quoted}, bt, st)")
    assert 5 == len(target.rows())


# Events that leave columns out

SPARSE = {**CONFIG, "ignore_null_updates": True}


def believed(target: Direct, columns: str = "city, zip") -> list[tuple[Any, ...]]:
    return target.connection.execute(
        f"select {columns}, __START_AT, __END_AT, __SYSTEM_START_AT, __SYSTEM_END_AT from target order by id, 3, 5"
    ).fetchall()


def test_left_out_values_flow_on(target: Direct) -> None:
    """A word that comes late on both axes fills what no later business time says, from its system time on."""
    target.run(SPARSE, sql=events("(1, 'Oslo', '1', 10, 100, 'U'), (1, null, '2', 20, 300, 'U')", TWO))
    target.run(SPARSE, sql=events("(1, 'Rome', null, 15, 200, 'U')", TWO))
    assert [
        ("Oslo", "1", 10, None, 100, 200),
        ("Oslo", "1", 10, 15, 200, None),
        ("Rome", "1", 15, None, 200, 300),
        ("Rome", "1", 15, 20, 300, None),
        ("Rome", "2", 20, None, 300, None),
    ] == believed(target)


def test_an_upsert_takes_a_delete_back(target: Direct) -> None:
    """What was sent there before the delete stays away; what holds before that business time is inherited again."""
    rows = "(1, 'Oslo', '1', 10, 100, 'U'), (1, 'Rome', null, 20, 100, 'U'), (1, null, null, 20, 200, 'D')"
    target.run(SPARSE, sql=events(f"{rows}, (1, null, '2', 20, 300, 'U')", TWO))
    assert [
        ("Oslo", "1", 10, 20, 100, None),
        ("Rome", "1", 20, None, 100, 200),
        ("Oslo", "2", 20, None, 300, None),
    ] == believed(target)


def test_a_partial_word_that_teaches_nothing(target: Direct) -> None:
    """Nothing is written for it, and the version keeps the system time since which it has been believed."""
    target.run(SPARSE, sql=events("(1, 'Oslo', '1', 10, 100, 'U'), (1, 'Oslo', null, 10, 300, 'U')", TWO))
    for system in (200, 400):
        found = target.run(SPARSE, sql=events(f"(1, null, '1', 10, {system}, 'U')", TWO)).figures
        assert 0 == found["num_upserted_rows"]
    assert [("Oslo", "1", 10, None, 100, None)] == believed(target)


def test_an_event_in_two_rows(target: Direct) -> None:
    """Rows of one place that send different columns are one event, also in different runs; two values are a tie."""
    target.run(SPARSE, sql=events("(1, 'Oslo', null, 10, 100, 'U')", TWO))
    target.run(SPARSE, sql=events("(1, null, '1', 10, 100, 'U'), (1, 'Rome', null, 10, 100, 'U')", TWO))
    assert [("Oslo", "1", 10, None, 100, None)] == believed(target)
    two_ways = events("(2, 'Oslo', '7', 10, 100, 'U'), (2, 'Rome', null, 10, 100, 'U')", TWO)
    message = refuses(target, SPARSE, two_ways)
    assert "for example id=2 at 10, known at 100; make system_sequence_by finer" in message
    other_time = events("(2, 'Oslo', '7', 10, 100, 'U'), (2, 'Rome', null, 10, 101, 'U')", TWO)
    assert 0 == target.run(SPARSE, sql=other_time).figures["num_tied_rows"]


@pytest.mark.transactional
def test_the_option_comes_and_goes(target: Direct) -> None:
    """Nulls that were written before the option stay written, what was left out under it stays left out."""
    target.run(CONFIG, sql=events("(1, 'Oslo', '1', 10, 100, 'U'), (1, null, '2', 20, 200, 'U')", TWO))
    target.run(SPARSE, sql=events("(1, 'Rome', null, 15, 300, 'U'), (1, null, '3', 30, 300, 'U')", TWO))
    target.run(CONFIG, sql=events("(1, null, '4', 40, 400, 'U')", TWO))
    target.run(CONFIG, sql=events("(1, 'Bari', '5', 25, 500, 'U')", TWO))
    now = [row[:4] for row in believed(target) if row[5] is None]
    assert [
        ("Oslo", "1", 10, 15),
        ("Rome", "1", 15, 20),
        (None, "2", 20, 25),
        ("Bari", "5", 25, 30),
        ("Bari", "3", 30, 40),
        (None, "4", 40, None),
    ] == now


@pytest.mark.altering
def test_a_column_that_comes_and_goes_is_not_sent(target: Direct) -> None:
    """Older events wrote nothing in a new column, so a late one may fill it; newer ones keep what was lost."""
    target.run(SPARSE, sql=events("(1, 'Oslo', 10, 100, 'U')"))
    target.run(SPARSE, sql=events("(1, null, '9', 5, 100, 'U'), (1, null, '1', 20, 200, 'U')", TWO))
    target.run(SPARSE, sql=events("(1, 'Rome', 30, 300, 'U')"))
    now = [row[:4] for row in believed(target) if row[5] is None]
    assert [(None, "9", 5, 10), ("Oslo", "9", 10, 20), ("Oslo", "1", 20, 30), ("Rome", "1", 30, None)] == now


@pytest.mark.rare_types
@pytest.mark.only_on("duckdb")  # it is written as DuckDB has it
def test_a_struct_that_is_filled_otherwise(target: Direct) -> None:
    """Its fields cannot become one whole again, because what older events left out of them counts on."""
    target.run(SPARSE, sql=events("(1, {'a': 1, 'b': null::int}, 10, 100, 'U')"))
    target.run(SPARSE, sql=events("(1, {'a': null::int, 'b': 2}, 20, 200, 'U')"))
    assert {"a": 1, "b": 2} == target.rows()[-1]["city"]
    message = refuses(target, CONFIG, events("(1, {'a': 3, 'b': 3}, 30, 300, 'U')"))
    assert (
        "in struct column city nulls were ignored field by field in the last runs and are not now" in message
    )


def test_columns_of_any_name(target: Direct) -> None:
    """Names that the working tables use themselves are free for users, under partial updates too."""
    named = ["place", "moment", "owner", "section", "until", "system", "kind", "is_base", "sequence", "line"]
    columns = ", ".join(f'"{name}"' for name in named)
    config = {**SPARSE, "except_column_list": ["bt", "st"], "apply_as_deletes": "bt < 0"}
    for run in range(3):
        values = ", ".join("null::int" if run == 1 else str(run) for _ in named)
        row = f"1, {values}, {10 + run}, {100 - run % 2}"
        target.run(config, sql=f"select * from (values ({row})) as t(id, {columns}, bt, st)")
    assert [
        ((0,) * len(named), 10, 12, 100, None),
        ((None,) * len(named), 11, None, 99, 100),
        ((2,) * len(named), 12, None, 100, None),
    ] == sorted([(row[:-4], *row[-4:]) for row in believed(target, columns)], key=lambda row: row[1])


def test_versions_changed_by_hand_under_partial_updates(target: Direct) -> None:
    """A run that teaches its key something is refused."""
    target.run(SPARSE, sql=events("(1, 'Oslo', '1', 10, 100, 'U'), (1, null, '2', 20, 200, 'U')", TWO))
    target.connection.execute("update target set zip = '8' where __SYSTEM_END_AT is null and __START_AT = 20")
    message = refuses(target, SPARSE, events("(1, 'Bonn', null, 30, 300, 'U')", TWO))
    assert "1 versions of the target are not what its events say, for example of id=1" in message


# How much is read and written


@pytest.mark.only_on("duckdb")  # it looks into a working table
def test_filling_in_order_is_one_event_after_the_other(target: Direct) -> None:
    """Of a key with 2,000 partial events in order of both times, each stands for one complete event."""
    sql = "select 1 as id, case when i % 2 = 0 then i end as city, i as bt, i as st, 'U' as op from range(2000) as t(i)"
    assert 2000 == lined_up(target, sql, SPARSE)
    assert 1000 == len({row["city"] for row in target.rows()})
    one = "select 1 as id, 7::bigint as city, 1500::bigint as bt, 9000::bigint as st, 'U' as op"
    assert 2002 == lined_up(target, one, SPARSE)


@pytest.mark.only_on("duckdb")  # it looks into a working table
def test_a_run_reads_what_its_events_can_change(target: Direct) -> None:
    """Of a key with 2,000 events one that comes in order lines up a handful, an old business time included."""
    target.run(
        CONFIG, sql="select 1 as id, i % 7 as city, i as bt, i as st, 'U' as op from range(2000) as t(i)"
    )
    for business, most in ((2000, 3), (1000, 6), (-5, 4)):
        sql = f"select 1 as id, 9::bigint as city, {business}::bigint as bt, {3000 + business}::bigint as st, 'U' as op"
        assert lined_up(target, sql) <= most


@pytest.mark.only_on("duckdb")  # it looks into a working table
def test_repeats_are_not_read_again(target: Direct) -> None:
    """Of a version with 2,000 repeats only those count that are next to a new event, or last."""
    target.run(
        CONFIG, sql="select 1 as id, 7::bigint as city, i as bt, i as st, 'U' as op from range(2000) as t(i)"
    )
    for city, business, system, most in ((7, 2000, 2000, 4), (8, 1000, 2001, 7), (7, 500, 2002, 9)):
        sql = f"select 1 as id, {city}::bigint as city, {business}::bigint as bt, {system}::bigint as st, 'U' as op"
        assert lined_up(target, sql) <= most
    assert [
        (1, 7, 0, None, 0, 2001),
        (1, 7, 0, 1000, 2001, None),
        (1, 8, 1000, 1001, 2001, None),
        (1, 7, 1001, None, 2001, None),
    ] == versions(target)


def test_a_correction_among_repeats(target: Direct) -> None:
    """The repeat before a corrected one ends a version, and shows its own untracked values there."""
    config = {**CONFIG, "track_history_except_column_list": ["city"]}
    rows = ", ".join(f"(1, 'c{time}', {time}, 1, 'U')" for time in range(1, 8))
    target.run(config, sql=events(rows))
    target.run(config, sql=events("(1, cast(null as varchar), 5, 2, 'D')"))
    assert [
        (1, "c7", 1, None, 1, 2),
        (1, "c4", 1, 5, 2, None),
        (1, "c7", 6, None, 2, None),
    ] == versions(target)


def lined_up(target: Direct, sql: str, config: dict[str, Any] = CONFIG) -> int:
    """Run, and count the events that were lined up."""
    plan = target.plan(config, sql=sql)
    target.execute(type(plan)(plan.model, plan.action, plan.steps))
    (count,) = target.connection.execute("select count(*) from target__auto_cdc_line").fetchone() or (0,)
    return int(count)
