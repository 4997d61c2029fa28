"""Tables that are taken along to another engine, as the manual says: they go on as they would have where they were.

Between DuckDB and the engine that the tests are about; where that is DuckDB too, records are changed into another's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import duckdb
import pytest

from dbt_auto_cdc import names
from dbt_auto_cdc.errors import AutoCdcError
from tests import databases
from tests.databases import (
    Connection,
    add_rows,
    columns_of,
    create_table,
    engine_of,
    in_order,
    plain,
    tables_of,
)
from tests.direct import Direct
from tests.flow_sql import FlowSql, compiled
from tests.stream_sql import stream

EVENTS = {"keys": ["id"], "sequence_by": "n", "apply_as_deletes": "op = 'D'"}
HISTORY = {**EVENTS, "stored_as_scd_type": 2, "except_column_list": ["op", "n", "at", "label"]}
FEED = {
    "id": "INTEGER",
    "city": "VARCHAR",
    "op": "VARCHAR",
    "n": "BIGINT",
    "at": "TIMESTAMP",
    "label": "VARCHAR",
}
# By bytes `B` is below `a`, in most other orders it is not.
LABELS = {1: "A", 2: "B", 3: "D", 4: "a", 5: "b", 6: "c", 7: "d"}


def event(id: int, n: int, city: str | None = None, op: str = "U") -> dict[str, Any]:  # noqa: A002
    return {"id": id, "city": city, "op": op, "n": n, "at": f"2026-01-0{n} 10:00:00.25", "label": LABELS[n]}


BEFORE = [
    event(1, 1, "Oslo"),
    event(1, 3, "Oslo"),
    event(1, 5, "Rome"),
    event(2, 2, "Bari"),
    event(2, 5, op="D"),
    event(3, 4, "Kiel"),
]
# Late ones: between two events that say the same, below a delete, and below the latest of a key.
AFTER = [
    event(1, 2, "Bergen"),
    event(2, 3, "Como"),
    event(3, 1, "Lima"),
    event(3, 6, op="D"),
    event(4, 7, "Ulm"),
]
LATER = [event(1, 4, "Nice"), event(4, 6, "Graz"), event(3, 5, "Pisa")]


@dataclass(frozen=True)
class Case:
    """A target, and the rows that each of its runs reads."""

    config: dict[str, Any]
    runs: tuple[list[dict[str, Any]], ...] = (BEFORE, AFTER, LATER)
    sql: Callable[[], str] = field(default=lambda: "select * from feed")
    adds: bool = False


def of_changes(offset: str) -> Case:
    """Return a target whose feed is read step by step."""
    config = {"materialized": "append_flow", "except_column_list": ["op"]}
    runs = ([event(1, 1, "Oslo"), event(2, 2, "Bari")], [event(3, 3, "Kiel")], [event(4, 6, "Ulm")])
    return Case(config, runs, lambda: f"select * from {stream('feed', offset=offset)} as s", adds=True)


def read_once() -> str:
    """Return a flow that no later run reads, so that nothing but the record has the type of the sequence."""
    return compiled(FlowSql("history", "select * from feed", {"once": True}))


CASES = {
    "scd1": Case({**EVENTS, "except_column_list": ["op"], "apply_as_truncates": "op = 'T'"}),
    "scd1_partial": Case({**EVENTS, "except_column_list": ["op"], "ignore_null_updates": True}),
    "scd2": Case(HISTORY),
    "scd2_of_times": Case({**HISTORY, "sequence_by": "at"}),
    "scd2_of_texts": Case({**HISTORY, "sequence_by": "label"}),
    "scd2_tracking": Case({**HISTORY, "track_history_except_column_list": ["city"]}),
    "scd2_of_a_list": Case({**HISTORY, "sequence_by": ["n", "at"]}),
    "bitemporal": Case({**HISTORY, "stored_as_scd_type": "bitemporal", "system_sequence_by": "at"}),
    "snapshot": Case(
        {
            "materialized": "auto_cdc_snapshot",
            "keys": ["id"],
            "snapshot_version": "n",
            "stored_as_scd_type": 2,
            "except_column_list": ["op", "n", "at", "label"],
        },
        (
            [event(1, 1, "Oslo"), event(2, 1, "Bari"), event(1, 2, "Rome"), event(2, 2, "Bari")],
            [event(1, 3, "Rome")],
            [event(1, 4, "Oslo"), event(2, 4, "Bari")],
        ),
    ),
    "replace_using": Case(
        {"materialized": "replace_using", "replace_using": ["id"], "sequence_by": "n"},
        (BEFORE[2:], AFTER, LATER),
    ),
    "append_flow": of_changes("n"),
    "append_flow_of_times": of_changes("at"),
    "append_flow_of_texts": of_changes("label"),
}
CASES["snapshot_scd1"] = replace(
    CASES["snapshot"], config={**CASES["snapshot"].config, "stored_as_scd_type": 1}
)
CASES["replace_where"] = Case(
    {"materialized": "replace_where", "replace_where": "n >= 3"},
    ([*BEFORE[1:5]], [event(7, 5, "Ulm")], LATER),
)
CASES["flow_that_was_read"] = Case(CASES["scd2"].config, sql=read_once)
CASES["change_feed"] = replace(CASES["scd2"], config={**HISTORY, "change_data_feed": True})
CASES["quarantine"] = replace(
    CASES["scd1"],
    config={
        **EVENTS,
        "expect_all_or_drop": {"no_ulm": "city is distinct from 'Ulm'"},
        "expectations_quarantine": True,
    },
)
REFUSED = {
    "change_feed": pytest.mark.fed,
    "scd2_of_a_list": pytest.mark.composite,
}


def each(*chosen: str) -> Any:
    return pytest.mark.parametrize(
        "case", [pytest.param(CASES[name], id=name, marks=REFUSED.get(name, ())) for name in chosen or CASES]
    )


@contextmanager
def on(engine: str) -> Iterator[None]:
    """Let tests be about another engine for a while."""
    before = databases.chosen()
    databases.choose(engine)
    try:
        yield
    finally:
        databases.choose(before)


@dataclass
class Place:
    """A target on one engine, with its feed."""

    connection: Connection
    case: Case
    engine: str

    @property
    def target(self) -> Direct:
        return Direct(self.connection)

    def run(self, rows: list[dict[str, Any]], **how: Any) -> None:
        with on(self.engine):
            if self.case.adds and "feed" in tables_of(self.connection):
                add_rows(self.connection, "feed", FEED, rows)
            else:
                create_table(self.connection, "feed", FEED, rows)
            self.target.run(self.case.config, sql=self.case.sql(), **how)

    def rows(self, table: str = "target") -> list[tuple[Any, ...]]:
        """Return the rows of a table, in an order that all engines share."""
        with on(self.engine):
            cursor = plain(self.connection).execute(f"select * from {table}")
            columns = [column[0].lower() for column in cursor.description or ()]
            assert sorted(columns) == sorted(set(columns))
            found = [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]
        kept = sorted({*columns} - {f"{names.PREFIX}dropped_at", "_commit_timestamp", names.RUN})
        return in_order([tuple(_plain(row[column]) for column in kept) for row in found])


def _plain(value: Any) -> Any:
    """Return a value as text; a struct as a row, which is how PostgreSQL's client gives it."""
    if isinstance(value, dict):
        value = f"({','.join(map(str, value.values()))})"
    if isinstance(value, str) and value.startswith("("):
        parts = value.strip("()").replace('"', "").split(",")
        return ",".join(part.rstrip("0") if "." in part else part for part in parts)
    return None if value is None else str(value)


def take_along(source: Place, place: Place) -> None:
    """Copy what there is, as the manual says: into the tables that `dbt run --empty` makes."""
    place.run([], partial="--empty")
    with on(source.engine):
        tables = [name for name in tables_of(source.connection) if name.startswith("target")]
    if source.case.adds:
        copy(source, place, "feed")
    for table in tables:
        copy(source, place, table)


def copy(source: Place, place: Place, table: str) -> None:
    """Copy the rows of a table; in companions the row that tells whose turn it is belongs to an engine."""
    journal = f" where {names.KIND} {{}} 'journal'" if table.endswith(names.COMPANION) else ""
    with on(source.engine):
        cursor = plain(source.connection).execute(f"select * from {table}{journal.format('<>')}")
        columns = [column[0].lower() for column in cursor.description or ()]
        rows = [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]
    with on(place.engine):
        there = plain(place.connection)
        there.execute(f"delete from {table}{journal.format('<>')}")
        types = columns_of(there, table)
        values = ", ".join(f"cast(? as {kind})" for kind in types.values())
        if rows:
            there.executemany(
                f"insert into {table} select {values}",
                [[row[name.lower()] for name in types] for row in rows],
            )


@pytest.fixture
def places(connection: Connection, engine: str) -> Iterator[Callable[[Case], list[Place]]]:
    """Give a way to have a target on DuckDB, and one on the engine that the tests are about."""
    with duckdb.connect() as here:
        yield lambda case: [Place(here, case, "duckdb"), Place(connection, case, engine)]


def stayed(case: Case) -> list[tuple[Any, ...]]:
    """Return the rows of a target that was never moved."""
    with duckdb.connect() as connection:
        place = Place(connection, case, "duckdb")
        for rows in case.runs:
            place.run(rows)
        return place.rows()


@each()
@pytest.mark.parametrize("back", [False, True], ids=["there", "back"])
def test_a_target_goes_on_elsewhere(places: Callable[[Case], list[Place]], case: Case, back: bool) -> None:
    """Late events, deletes and positions: all that the runs before knew is known after the move."""
    source, place = reversed(places(case)) if back else places(case)
    source.run(case.runs[0])
    take_along(source, place)
    assert source.rows() == place.rows()
    for rows in case.runs[1:]:
        place.run(rows)
    assert stayed(case) == place.rows()


@each("scd1", "scd1_partial", "scd2", "bitemporal", "append_flow", "replace_using")
def test_nothing_new_after_the_move(places: Callable[[Case], list[Place]], case: Case) -> None:
    """The first run changes no more than the record, which is in this engine's words then."""
    source, place = places(case)
    source.run(case.runs[0])
    take_along(source, place)
    place.run([])
    assert source.rows() == place.rows()
    assert engine_of(plain(place.connection)).name == recorded(place)["engine"]
    for rows in case.runs[1:]:
        place.run(rows)
    assert stayed(case) == place.rows()


def changed(place: Place, **record: Any) -> None:
    """Change the record of a companion; what is None goes."""
    with on(place.engine):
        there = plain(place.connection)
        ((written,),) = there.execute(
            f"select {names.CONTROL} from target__auto_cdc where {names.KIND} = 'control'"
        ).fetchall()
        new = {**json.loads(written), **record}
        new = {name: value for name, value in new.items() if value is not None}
        there.execute(
            f"update target__auto_cdc set {names.CONTROL} = {engine_of(there).text(json.dumps(new))}"
            f" where {names.KIND} = 'control'"
        )


def recorded(place: Place) -> dict[str, Any]:
    with on(place.engine):
        ((written,),) = (
            plain(place.connection)
            .execute(f"select {names.CONTROL} from target__auto_cdc where {names.KIND} = 'control'")
            .fetchall()
        )
        return dict(json.loads(written))


OTHER = {"key_types": ["number(9)"], "sequence_type": "number(18)"}


def message(place: Place, rows: list[dict[str, Any]]) -> str:
    with pytest.raises(AutoCdcError) as refused:
        place.run(rows)
    return str(refused.value)


@pytest.mark.parametrize("writer", ["Oracle", None], ids=["another", "unknown"])
def test_the_columns_count_where_another_engine_wrote(
    connection: Connection, engine: str, writer: str
) -> None:
    """Types in the words of another engine are not compared; a record of an older release does not name its own."""
    place = Place(connection, CASES["scd2"], engine)
    place.run(BEFORE)
    changed(place, engine=writer, **OTHER)
    place.run(AFTER)
    assert engine_of(plain(connection)).name == recorded(place)["engine"]
    assert OTHER["key_types"] != recorded(place)["key_types"]
    place.run(LATER)
    assert stayed(CASES["scd2"]) == place.rows()


@pytest.mark.altering
@pytest.mark.parametrize("writer", ["Oracle", None], ids=["another", "unknown"])
def test_columns_that_the_copy_made_of_another_type(connection: Connection, engine: str, writer: str) -> None:
    """The message says which column of which table has to be of which type, and where to read how it is done."""
    place = Place(connection, CASES["scd2"], engine)
    place.run(BEFORE)
    changed(place, engine=writer, **OTHER)
    there = plain(connection)
    small, large = (databases.type_of(there, name) for name in ("INTEGER", "BIGINT"))
    end = next(name for name in columns_of(there, "target") if name.lower() == "__end_at")
    for table, column, kind in (("target__auto_cdc", "id", large), ("target", end, small)):
        databases.remake(connection, table, **{column: f"cast({column} as {kind})"})
    said = message(place, AFTER)
    assert f"were copied from {writer or 'another engine'}, and " in said
    assert f"column id of the companion has type {large} and has to be of type {small}" in said
    assert f"column {end} of the target has type {small} and has to be of type {large}" in said
    assert "docs/guides/engines.md" in said
    assert "--full-refresh" not in said


@pytest.mark.altering
def test_keys_of_the_target_of_another_type(connection: Connection, engine: str) -> None:
    """Nor is a rebuild the advice where a column of the target is too narrow."""
    place = Place(connection, CASES["scd1"], engine)
    place.run(BEFORE)
    changed(place, engine="Oracle", **OTHER)
    kind = databases.spelled(plain(connection), "SMALLINT")
    for table in ("target", "target__auto_cdc"):
        databases.remake(connection, table, id=f"cast(id as {kind})")
    small, wide = (databases.type_of(plain(connection), name) for name in ("SMALLINT", "INTEGER"))
    said = message(place, AFTER)
    assert f"key column id was {small} and is now {wide}" in said
    assert f"copy the target with id of type {wide} (docs/guides/engines.md" in said
    assert "--full-refresh" not in said


def test_types_that_changed_where_the_table_always_was(connection: Connection, engine: str) -> None:
    """An older record whose types are those of the columns is of this engine, and told as ever."""
    place = Place(connection, CASES["scd1"], engine)
    place.run(BEFORE)
    changed(place, engine=None)
    place = replace(place, case=Case(CASES["scd1"].config, sql=lambda: "select * from feed_2"))
    create_table(connection, "feed_2", {**FEED, "n": "INTEGER"}, BEFORE)
    said = message(place, AFTER)
    assert "the type of sequence_by was " in said
    assert "rebuild the target with --full-refresh" in said


@pytest.mark.only_on("postgres")
def test_text_that_the_copy_ordered_otherwise(connection: Connection, engine: str) -> None:
    """A sequence of text is ordered by bytes; a column of the database's order would be read in another one."""
    place = Place(connection, CASES["scd2_of_texts"], engine)
    place.run(BEFORE)
    changed(place, engine="DuckDB", key_types=["INTEGER"], sequence_type="VARCHAR")
    place.run(AFTER)
    changed(place, engine="DuckDB", key_types=["INTEGER"], sequence_type="VARCHAR")
    known = "select collname from pg_collation where collprovider = 'i' order by collname limit 1"
    collation = connection.execute(known).fetchone()
    if collation is None:
        pytest.skip("this server has no collations but those of its system")
    connection.execute(
        f'alter table target__auto_cdc alter {names.SEQUENCE} type text collate "{collation[0]}"'
    )
    assert (
        'column __auto_cdc_sequence of the companion has type text and has to be of type text collate "C"'
        in message(place, LATER)
    )


@pytest.mark.only_on("postgres")
def test_names_of_another_case(connection: Connection, engine: str) -> None:
    """Names that a copy put in quotes are others on PostgreSQL."""
    place = Place(connection, CASES["scd1"], engine)
    place.run(BEFORE)
    changed(place, engine="DuckDB", key_types=["INTEGER"])
    connection.execute('alter table target__auto_cdc rename id to "ID"')
    assert "the companion has no column id" in message(place, AFTER)


def test_a_position_of_an_older_release(connection: Connection, engine: str) -> None:
    """It gets its engine with the next run, whether or not there is anything new to read."""
    place = Place(connection, CASES["append_flow_of_texts"], engine)
    place.run([event(1, 1, "Oslo")])
    there = plain(connection)
    kept = f"select {names.CONTROL} from target__auto_cdc where {names.KIND} = 'position'"
    ((written,),) = there.execute(kept).fetchall()
    head, _, value = written.partition("\n")
    old = json.dumps({name: each for name, each in json.loads(head).items() if name != "engine"})
    sql = engine_of(there).text(f"{old}\n{value}")
    there.execute(f"update target__auto_cdc set {names.CONTROL} = {sql} where {names.KIND} = 'position'")
    place.run([])
    assert [(written,)] == there.execute(kept).fetchall()


@pytest.mark.parametrize(
    ("offset", "writer", "was"),
    [("n", "DuckDB", "VARCHAR"), ("label", "DuckDB", "BIGINT"), ("at", "DuckDB", "TIMESTAMP WITH TIME ZONE")],
)
def test_a_position_of_another_order(
    connection: Connection, engine: str, offset: str, writer: str, was: str
) -> None:
    """What was read in another order than there is now cannot be gone on from."""
    place = Place(connection, of_changes(offset), engine)
    place.run([event(1, 1, "Oslo")])
    there = plain(connection)
    kept = f"select {names.CONTROL} from target__auto_cdc where {names.KIND} = 'position'"
    ((written,),) = there.execute(kept).fetchall()
    head, _, value = written.partition("\n")
    other = json.dumps(
        {**json.loads(head), "engine": "PostgreSQL" if engine == "duckdb" else writer, "type": was}
    )
    sql = engine_of(there).text(f"{other}\n{value}")
    there.execute(f"update target__auto_cdc set {names.CONTROL} = {sql} where {names.KIND} = 'position'")
    assert f"the type of its offset was {was} in the last run" in message(place, [event(2, 2, "Bari")])


def test_a_companion_without_whose_turn_it_is(connection: Connection, engine: str) -> None:
    """Where runs are no transactions such a companion is complete all the same: its target is not built anew."""
    place = Place(connection, CASES["scd1"], engine)
    place.run(BEFORE)
    changed(place, engine="DuckDB", key_types=["INTEGER"], sequence_type="BIGINT")
    plain(connection).execute(f"delete from target__auto_cdc where {names.KIND} = 'journal'")
    if engine in databases.SPARKS:
        assert "was copied from DuckDB without a row of kind journal" in message(place, AFTER)
    else:
        place.run(AFTER)
    assert len(place.rows()) == 2 or engine not in databases.SPARKS


@pytest.mark.transactional
def test_what_a_run_elsewhere_had_left_to_do(connection: Connection, engine: str) -> None:
    """A copy that was taken in the middle of a run is refused; one that says who wrote last goes on."""
    place = Place(connection, CASES["scd2"], engine)
    place.run(BEFORE)
    changed(place, engine="Spark", key_types=["int"], sequence_type="bigint")
    for to_do in (["delete from target"], []):
        note = json.dumps({"frees": "", "to_do": to_do, "asks": "", "otherwise": []})
        connection.execute(f"delete from target__auto_cdc where {names.KIND} = 'journal'")
        connection.execute(
            f"insert into target__auto_cdc ({names.KIND}, {names.CONTROL}) values ('journal', 'c0ffee {note}')"
        )
        if to_do:
            assert "was copied from Spark when a run there had not written everything" in message(
                place, AFTER
            )
    place.run(AFTER)
    place.run(LATER)
    assert stayed(CASES["scd2"]) == place.rows()


@pytest.mark.transactional
def test_a_companion_that_was_copied_in_part(connection: Connection, engine: str) -> None:
    """A copy that failed after the old rows were deleted is told from a table that never had a companion."""
    place = Place(connection, CASES["scd1"], engine)
    place.run(BEFORE)
    before = place.rows()
    connection.execute("delete from target__auto_cdc")
    said = message(place, AFTER)
    assert "has no row of kind control" in said
    assert "adopt" not in said
    assert before == place.rows()
