"""Flows that do not go together, and rows of flows that must not be applied: refused, and nothing is written.

Not here: options that can be judged without a table (`dbt/test_flows`, `unit/test_flows`).
"""

from __future__ import annotations

from typing import Any

import pytest

from dbt_auto_cdc.errors import AutoCdcError
from tests.databases import Connection, columns_of, here, remake, tables_of
from tests.direct import Direct
from tests.flow_sql import FlowSql, compiled
from tests.watched import placed

OPTIONS: dict[str, Any] = {
    "keys": ["id"],
    "sequence_by": "seq",
    "apply_as_deletes": "op = 'D'",
    "except_column_list": ["op", "seq"],
}
FEED = FlowSql("feed", "select * from feed")
WEB = FlowSql("web", "select * from web")
DUMP = FlowSql("dump", "select * from dump", {"snapshot_version": "taken"})


@pytest.fixture
def target(connection: Connection) -> Direct:
    """Return a target, two feeds and a dump."""
    connection.execute(
        """
        create table feed (id integer, city text, seq bigint, op text);
        create table web (id integer, city text, seq bigint, op text);
        create table dump (id integer, city text, taken bigint);
        insert into feed values (1, 'Oslo', 10, 'U'), (2, 'Rome', 11, 'U');
        insert into web values (3, 'Kiel', 12, 'U');
        insert into dump values (1, 'Bonn', 5), (4, 'Nice', 5);
        """
    )
    return Direct(connection)


def contents(target: Direct) -> list[dict[Any, Any]]:
    tables = tables_of(target.connection)
    return [placed(target.connection, name) for name in ("target", "target__auto_cdc") if name in tables]


def refusal(target: Direct, *flows: FlowSql, **options: Any) -> str:
    """Run flows that have to be refused and return what is said; fail unless everything stays as it was."""
    before = contents(target)
    with pytest.raises(AutoCdcError) as refused:
        target.run({**OPTIONS, **options}, sql=compiled(*flows))
    assert before == contents(target)
    assert "model target" in str(refused.value)
    return " ".join(str(refused.value).split())


# -- Flows that do not go together -------------------------------------------------------------------------------------


@pytest.mark.dumps_beside_changes
def test_other_columns(target: Direct) -> None:
    """Who lacks what, of all flows, dumps among them."""
    target.connection.execute("alter table web add column phone text; alter table dump drop column city")
    said = refusal(target, FEED, WEB, DUMP)
    assert "write different columns (feed lacks phone; dump lacks city, phone)" in said
    assert "cast(null as ...) as ..." in said


def test_columns_match_by_name(target: Direct) -> None:
    """Neither order nor case matters, and what a flow needs for itself is not asked of others."""
    web = FlowSql(
        "web",
        "select seq, CITY, Id, true as fine, op from web",
        {"except_column_list": ["fine", "op", "seq"]},
    )
    target.run(OPTIONS, sql=compiled(FEED, web))
    assert [(1, "Oslo"), (2, "Rome"), (3, "Kiel")] == target.connection.execute(
        "select * from target order by 1"
    ).fetchall()


def test_other_types_of_the_order(target: Direct) -> None:
    """One order needs one type, of the sequences of all feeds."""
    remake(target.connection, "web", seq="cast(seq as integer)")
    said = refusal(target, FEED, WEB)
    assert (
        here("no common order (feed: sequence_by seq has type BIGINT; web: sequence_by seq has type INTEGER)")
        in said
    )


@pytest.mark.dumps_beside_changes
def test_other_types_of_a_version(target: Direct) -> None:
    """A dump's version takes part in the one order."""
    fixed = FlowSql(
        "dump", "select * from dump", {"snapshot_version": "date '2026-11-30'", "column_list": ["id", "city"]}
    )
    said = refusal(target, FEED, fixed)
    assert here("dump: snapshot_version date '2026-11-30' has type DATE") in said


def test_types_of_columns(target: Direct) -> None:
    """A type that holds the values of all flows is found; where there is none, the column is named."""
    remake(target.connection, "web", id="cast(id as bigint)")
    target.run(OPTIONS, sql=compiled(FEED, WEB))
    types = columns_of(target.connection, "target")
    assert {"id": here("BIGINT"), "city": here("VARCHAR")} == types
    target.connection.execute("drop table target; drop table target__auto_cdc")
    remake(target.connection, "web", city="1")
    said = refusal(target, FEED, WEB)
    assert (
        here("column city has types that do not go together (feed: VARCHAR; web: INTEGER); cast it") in said
    )


@pytest.mark.dumps_beside_changes
def test_keys_by_other_names(target: Direct) -> None:
    """Case and quotes do not matter; names, number and order do."""
    dump = FlowSql(
        "dump", 'select id as "ID", city, taken from dump', {"snapshot_version": "taken", "keys": ['"ID"']}
    )
    target.run(OPTIONS, sql=compiled(FEED, dump))
    other = FlowSql("web", "select *, id as customer from web", {"keys": ["customer"]})
    assert "different keys (feed: id; web: customer)" in refusal(target, FEED, other)
    one, two = (
        FlowSql(name, f"select *, 1 as part from {name}", {"keys": keys})
        for name, keys in (("feed", ["id", "part"]), ("web", ["part", "id"]))
    )
    assert "different keys (feed: id, part; web: part, id)" in refusal(target, one, two)


def test_what_is_wrong_in_a_flow_names_it(target: Direct) -> None:
    """Unknown columns and conditions that the engine refuses, with the nearest match."""
    web = FlowSql("web", "select * from web", {"sequence_by": "sec", "apply_as_deletes": "opp = 'D'"})
    said = refusal(target, FEED, web)
    assert "flow web: sequence_by names sec, which is not a column of the model; did you mean seq?" in said
    assert "flow web: apply_as_deletes is not valid SQL" in said
    assert "flow feed" not in said


def test_what_is_wrong_in_all_flows_is_said_once(target: Direct) -> None:
    """A column that the model leaves out and no flow has is the model's fault."""
    said = refusal(target, FEED, WEB, except_column_list=["op", "seq", "cty"])
    assert 1 == said.count("except_column_list names cty")
    assert "flow" not in said.split("except_column_list names cty")[0]


def test_what_the_model_leaves_out_need_not_be_everywhere(target: Direct) -> None:
    """A history that is not read any more takes its columns along."""
    target.connection.execute(
        "create table history as select 9 as id, 'Graz' as city, 1::bigint as seq, 'U' as op, 1 as old_id"
    )
    options = {**OPTIONS, "except_column_list": ["op", "seq", "old_id"]}
    sql = compiled(FlowSql("history", "select * from history", {"once": True}), FEED)
    target.run(options, sql=sql)
    target.connection.execute("drop table history")
    target.run(options, sql=sql)
    assert 3 == len(target.rows())


def test_a_tracked_sequence_is_warned_about(target: Direct) -> None:
    """Every event opens a version where a column that orders the events of some flow is tracked."""
    history = {**OPTIONS, "stored_as_scd_type": 2, "except_column_list": ["op"]}
    outcome = target.run(history, sql=compiled(FEED, WEB))
    assert ["sequence column seq is tracked"] == [text.split(",")[0] for text in outcome.warnings]
    quiet = {**history, "track_history_except_column_list": ["seq"]}
    assert [] == target.run(quiet, sql=compiled(FEED, WEB), full_refresh=True).warnings


def test_a_definition_that_changed(target: Direct) -> None:
    """Keys and the type of the order stay what they were, as without flows."""
    target.run(OPTIONS, sql="select * from feed")
    said = refusal(target, FEED, WEB, keys=["id", "city"])
    assert 1 == said.count("keys was id in the last run and is city, id now")
    remake(target.connection, "feed", seq="cast(seq as integer)")
    remake(target.connection, "web", seq="cast(seq as integer)")
    said = here("the type of sequence_by was BIGINT in the last run and is INTEGER now")
    assert said in refusal(target, FEED, WEB)


# -- Rows --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        pytest.param(
            "insert into dump values (4, 'again', 5)",
            "1 key stands in one version more than once, for example id=4 in version 5",
            marks=pytest.mark.dumps_beside_changes,
        ),
        pytest.param(
            "insert into dump values (null, 'x', 5)",
            "key column id is null in 1 row,",
            marks=pytest.mark.dumps_beside_changes,
        ),
        pytest.param(
            "insert into dump values (7, 'x', null)",
            "snapshot_version is null in 1 row, for example id=7",
            marks=pytest.mark.dumps_beside_changes,
        ),
        # Not the newest that waits, but all are checked.
        pytest.param(
            "insert into dump values (4, 'x', 7), (1, 'y', 6), (1, 'z', 6)",
            "id=1 in version 6",
            marks=pytest.mark.dumps_beside_changes,
        ),
        ("insert into feed values (null, 'x', 20, 'U')", "key column id is null in 1 of the new rows"),
        ("insert into feed values (7, 'x', null, 'U')", "sequence_by seq is null in 1 of the new rows"),
        (
            "insert into web values (1, 'x', 10, 'U')",
            "1 time a key has different events at one sequence, for example id=1 at 10",
        ),
    ],
)
@pytest.mark.parametrize("is_first", [True, False])
def test_bad_rows(target: Direct, rows: str, said: str, is_first: bool) -> None:
    """Of dumps and of changes, in the first run and later; two flows may dispute a place as two rows of one may."""
    dumps = [DUMP] if " dump " in rows else []
    if not is_first:
        target.connection.execute("create table kept as select * from feed; delete from feed")
        nothing = [FlowSql("dump", "select * from dump where false", DUMP.options) for _ in dumps]
        target.run(OPTIONS, sql=compiled(FEED, WEB, *nothing))
        target.connection.execute("insert into feed select * from kept")
    target.connection.execute(rows)
    assert said in refusal(target, FEED, WEB, *dumps)


@pytest.mark.dumps_beside_changes
def test_an_empty_dump(target: Direct) -> None:
    """Where a fixed version stands for a dump without rows it deletes everything older, if that is allowed."""
    fixed = {"snapshot_version": "cast(20 as bigint)", "column_list": ["id", "city"]}
    target.run(OPTIONS, sql=compiled(FEED))
    target.connection.execute("delete from dump; insert into feed values (5, 'Nice', 21, 'U')")
    assert "the snapshot has no rows" in refusal(target, FEED, FlowSql("dump", "select * from dump", fixed))
    allowed = FlowSql("dump", "select * from dump", {**fixed, "allow_empty_snapshot": True})
    outcome = target.run(OPTIONS, sql=compiled(FEED, allowed))
    assert [{"id": 5, "city": "Nice"}] == target.rows()
    assert (1, 2) == (outcome.figures["num_upserted_rows"], outcome.figures["num_deleted_rows"])


@pytest.mark.dumps_beside_changes
def test_a_dump_that_deletes_too_much(target: Direct) -> None:
    """The share is that of the rows which the dump removes, newer changes apart."""
    greedy = FlowSql("dump", "select * from dump", {"snapshot_version": "taken", "max_delete_ratio": 0.4})
    target.run(OPTIONS, sql=compiled(FEED, WEB))
    target.connection.execute("delete from dump; insert into dump values (3, 'Kiel', 11)")
    target.run(OPTIONS, sql=compiled(FEED, WEB, greedy))
    assert {2, 3} == {row["id"] for row in target.rows()}
    target.connection.execute("delete from dump; insert into dump values (9, 'Linz', 30)")
    assert "version 30 deletes 2 of 2 rows" in refusal(target, FEED, WEB, greedy)


@pytest.mark.dumps_beside_changes
def test_rows_written_by_hand(target: Direct) -> None:
    """They are older than any event: a dump replaces or removes them; a key with two rows is refused."""
    sql = compiled(FEED, DUMP)
    target.run(OPTIONS, sql=sql)
    target.connection.execute(
        "insert into target values (8, 'by hand'); delete from dump; insert into dump values (4, 'Nice', 9)"
    )
    target.run(OPTIONS, sql=sql)
    assert {1, 2, 4} == {row["id"] for row in target.rows()}
    target.connection.execute(
        "insert into target values (4, 'twice'); update dump set taken = 10, city = 'Sete'"
    )
    assert "1 key has more than one row in the target, for example id=4" in refusal(target, FEED, DUMP)
