"""Expectations: worked examples, and what is refused, with nothing written and the next good run going well.

Not here: random rows (`properties/test_expectations`) and dbt (`dbt/test_expectations`).
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.databases import Connection, columns_of, create_table, here, speaks
from tests.flow_sql import FlowSql, compiled
from tests.reference_model import comparable
from tests.scenarios.test_bad_input import Kept

OPTIONS: dict[str, Any] = {
    "keys": ["id"],
    "sequence_by": "seq",
    "apply_as_deletes": "op = 'D'",
    "except_column_list": ["op", "seq"],
}
FEED = {"id": "INTEGER", "city": "VARCHAR", "op": "VARCHAR", "seq": "BIGINT"}
SNAPSHOT: dict[str, Any] = {"materialized": "auto_cdc_snapshot", "keys": ["id"], "snapshot_version": "seq"}


@pytest.fixture
def target(connection: Connection) -> Kept:
    """Return a target before its first run, and a feed with one row that is as it should be."""
    create_table(connection, "feed", FEED, [])
    kept = Kept(connection)
    kept.feeds("(1, 'Oslo', 'U', 1)")
    return kept


def rows(target: Kept) -> list[tuple[Any, ...]]:
    return sorted((tuple(row.values()) for row in target.rows()), key=repr)


# -- Worked examples ---------------------------------------------------------------------------------------------------


def test_counts_and_drops(target: Kept) -> None:
    """A null is a violation, a row that fails two expectations is dropped once, both count it; deletes are exempt."""
    expected = {
        "expect_all": {"short": "length(city) < 5"},
        "expect_all_or_drop": {
            "has_city": "city is not null",
            "known_city": "city in ('Oslo', 'Rome', 'Paris')",
        },
    }
    target.feeds("(1, 'Oslo', 'U', 1)", "(2, null, 'U', 1)", "(3, 'Paris', 'U', 1)", "(1, null, 'D', 2)")
    outcome = target.run({**OPTIONS, **expected})
    assert [(3, "Paris")] == rows(target)
    assert {
        "short": {"passed": 1, "failed": 2},
        "has_city": {"passed": 2, "failed": 1},
        "known_city": {"passed": 2, "failed": 1},
    } == outcome.expectations
    assert "AUTO CDC 1 upserted, 0 deleted, 4 read, 1 dropped" == outcome.message


def test_a_dropped_row_orders_nothing(target: Kept) -> None:
    """A row that is dropped beats no older one, is in no tie, and needs neither key nor sequence."""
    options = {**OPTIONS, "expect_all_or_drop": {"has_city": "city is not null"}}
    target.feeds("(1, 'Oslo', 'U', 1)", "(1, null, 'U', 1)", "(1, null, 'U', 9)", "(null, null, 'U', null)")
    target.run(options)
    assert [(1, "Oslo")] == rows(target)
    target.feeds("(1, 'Rome', 'U', 2)")
    target.run(options)
    assert [(1, "Rome")] == rows(target)


def test_deletes_that_are_expected_to_be_right(target: Kept) -> None:
    """Expectations that are named hold for deletes too: such a delete is dropped, and its key stays."""
    options = {**OPTIONS, "expect_all_or_drop": {"dated": "seq > 0", "has_city": "city is not null"}}
    target.run(options)
    target.feeds("(1, null, 'D', 2)")
    outcome = target.run({**options, "expectations_on_deletes": ["HAS_CITY"]})
    assert [(1, "Oslo")] == rows(target)
    assert {
        "dated": {"passed": 0, "failed": 0},
        "has_city": {"passed": 0, "failed": 1},
    } == outcome.expectations
    target.run(options)
    assert [] == rows(target)


def test_the_models_sql_is_evaluated_once(target: Kept) -> None:
    """What is checked is what is kept, though the model's SQL, and the condition, give another value each time."""
    target.connection.execute("insert into feed select n, null, 'U', 1 from generate_series(2, 301) as t(n)")
    sql = "select id, random() as dice, op, seq from feed"
    options = {**OPTIONS, "expect_all_or_drop": {"low": "dice < 0.5", "odd": "random() < 0.5"}}
    outcome = target.run(options, sql=sql)
    kept = target.rows()
    assert all(row["dice"] < 0.5 for row in kept)
    assert 301 - outcome.measures["num_dropped_rows"] == len(kept)


def test_snapshots_count_and_fail(target: Kept) -> None:
    """In a snapshot rows are counted, or stop the run; a version column may be expected to be something too."""
    target.feeds("(1, 'Oslo', 'U', 1)", "(2, null, 'U', 1)")
    options = {**SNAPSHOT, "expect_all": {"has_city": "city is not null"}}
    outcome = target.run(options)
    assert {"has_city": {"passed": 1, "failed": 1}} == outcome.expectations
    assert "num_dropped_rows" not in outcome.figures
    problem = target.problem({**options, "expect_all_or_fail": {"late": "seq > 3"}})
    assert (
        "expectation late (seq > 3) fails in 2 rows, for example id=1 at 1; correct such rows at the source, or move"
        " the expectation from expect_all_or_fail to expect_all"
    ) == problem


@pytest.mark.dumps_beside_changes
def test_flows_have_expectations_of_their_own(target: Kept) -> None:
    """A flow's expectations come on top of the model's; counts of one name add up, and dumps are checked too."""
    target.connection.execute(
        """
        create table web (id integer, city text, op text, seq bigint, robot boolean);
        create table dump (id integer, city text, taken bigint);
        insert into web values (2, 'Rome', 'U', 2, true), (3, '', 'U', 2, false), (4, 'Bari', 'U', 2, false);
        insert into dump values (5, 'Nice', 1), (6, '', 1);
        """
    )
    flows = compiled(
        FlowSql("feed", "select * from feed"),
        FlowSql(
            "web",
            "select * from web",
            {
                "except_column_list": ["op", "seq", "robot"],
                "expect_all_or_drop": {"no_robot": "not robot"},
            },
        ),
        FlowSql("dump", "select * from dump", {"snapshot_version": "taken"}),
    )
    outcome = target.run({**OPTIONS, "expect_all": {"has_city": "city <> ''"}}, sql=flows)
    assert [(1, "Oslo"), (3, ""), (4, "Bari"), (5, "Nice"), (6, "")] == rows(target)
    assert {
        "has_city": {"passed": 4, "failed": 2},
        "no_robot": {"passed": 2, "failed": 1},
    } == outcome.expectations
    assert 6 == outcome.figures["num_read_rows"]


def test_without_expectations_nothing_is_added(target: Kept) -> None:
    """A model that expects nothing runs the statements that it always ran: no table of checked rows, no count."""
    steps = [step.name for step in target.plan(OPTIONS).steps]
    assert "stage the model's rows" == steps[0]
    expected = {"expect_all": {"dated": "seq > 0"}}
    assert 2 == len(target.plan({**OPTIONS, **expected}).steps) - len(steps)


# -- Quarantine --------------------------------------------------------------------------------------------------------

DROPPING: dict[str, Any] = {
    **OPTIONS,
    "expect_all": {"dated": "seq > 0"},
    "expect_all_or_drop": {"has_city": "city is not null", "has_id": "id is not null"},
    "expectations_quarantine": True,
}


def quarantined(
    target: Kept, columns: str = "id, city, op, seq, _failed_expectations"
) -> list[tuple[Any, ...]]:
    found = target.connection.execute(f"select {columns} from target__auto_cdc_quarantine").fetchall()
    return sorted(found, key=comparable)


def test_dropped_rows_are_kept_once(target: Kept) -> None:
    """With all columns of the source, and all expectations that failed, however often the row is read.

    Where nothing is dropped the table is there too; one run of the model adds only what is not in it.
    """
    target.run(DROPPING)
    assert [] == quarantined(target)
    target.feeds("(2, null, 'U', 1)", "(2, null, 'U', 1)", "(null, null, 'U', -1)", "(3, 'Rome', 'U', 1)")
    for _ in range(2):
        target.run(DROPPING)
        assert [
            (None, None, "U", -1, "dated, has_city, has_id"),
            (2, None, "U", 1, "has_city"),
        ] == quarantined(target)
    target.connection.execute("insert into feed values (2, null, 'U', 2)")
    outcome = target.run(DROPPING)
    assert 4 == outcome.figures["num_dropped_rows"]
    assert 3 == len(quarantined(target))


def test_a_rebuild_starts_over(target: Kept) -> None:
    """A target that is built anew has in its quarantine what it dropped; without the option the table stays."""
    target.feeds("(2, null, 'U', 1)")
    target.run(DROPPING)
    target.feeds("(3, null, 'U', 1)")
    target.run({**DROPPING, "expectations_quarantine": False})
    assert [(2,)] == quarantined(target, "id")
    target.run(DROPPING, full_refresh=True)
    assert [(3,)] == quarantined(target, "id")


@pytest.mark.altering
def test_the_sources_columns_change(target: Kept) -> None:
    """A new column is added, a wider type is taken over, a narrower value is fitted in, a lost column is null."""
    options = {**DROPPING, "apply_as_deletes": None, "except_column_list": ["seq"], "column_list": None}
    target.feeds("(2, null, 'U', 1)")
    target.run(options, sql="select *, cast(5 as smallint) as n from feed")
    target.run(options, sql="select ID, city, cast(3 as bigint) as seq, 70000 as N, 'new' as note from feed")
    target.run(options, sql="select id, city, cast(4 as bigint) as seq, cast(7 as smallint) as n from feed")
    assert [(1, "U", 5, None), (3, None, 70000, "new"), (4, None, 7, None)] == quarantined(
        target, "seq, op, n, note"
    )
    types = columns_of(target.connection, "target__auto_cdc_quarantine")
    assert (here("INTEGER"), here("BIGINT")) == (types["n"], types["seq"])


def test_a_quarantine_that_cannot_be_kept(target: Kept) -> None:
    """Somebody's own table, a type that does not fit, a column of one of its names: refused, and nothing is written."""
    target.connection.execute("create table target__auto_cdc_quarantine (id integer)")
    assert here(
        '"target__auto_cdc_quarantine" was not made by auto_cdc, which keeps there the rows that expectations drop;'
        " rename that table, or give the model another alias"
    ) == target.problem(DROPPING)
    target.connection.execute("drop table target__auto_cdc_quarantine")
    target.run(DROPPING)
    undeleted = {**DROPPING, "apply_as_deletes": None}
    problem = target.problem(undeleted, sql="select id, city, op = 'D' as op, seq from feed")
    assert here("column op was VARCHAR and is now BOOLEAN") in problem
    assert "column _run_id has the name of a column of the quarantine" in target.problem(
        {**DROPPING, "except_column_list": ["op", "seq", "_run_id"]}, sql="select *, 1 as _run_id from feed"
    )
    assert (
        "expectations_quarantine keeps rows that are dropped, and none are; set expect_all_or_drop, or leave it out"
        == target.problem({**OPTIONS, "expectations_quarantine": True, "expect_all": {"x": "id > 0"}})
    )


def test_flows_are_quarantined_as_they_came(target: Kept) -> None:
    """With the columns of all flows, those that the target does not keep among them."""
    target.connection.execute(
        "create table web (id integer, city varchar, op integer, v bigint, robot boolean);"
        "insert into web values (7, null, 3, 5, true)"
    )
    web = {"sequence_by": "v", "apply_as_deletes": "op = 2", "except_column_list": ["op", "v", "robot"]}
    flows = compiled(FlowSql("feed", "select * from feed"), FlowSql("web", "select * from web", web))
    target.feeds("(2, null, 'U', 1)")
    target.run(DROPPING | {"expect_all": None}, sql=flows)
    assert [(2, "U", 1, None, None), (7, "3", None, 5, True)] == quarantined(target, "id, op, seq, v, robot")


# -- Refused -----------------------------------------------------------------------------------------------------------


def test_what_must_not_fail(target: Kept) -> None:
    """All that fail in one message, each with its count and an example; what is only counted is not in it."""
    target.run(OPTIONS)
    target.feeds("(2, null, 'U', 2)", "(3, null, 'U', 7)", "(4, 'Rome', 'U', -1)", "(5, null, 'D', 9)")
    expected = {
        "expect_all": {"never": "false"},
        "expect_all_or_fail": {"has_city": "city is not null", "dated": "seq > 0", "has_id": "id > 0"},
    }
    ways = "; correct such rows at the source, or move the expectation from expect_all_or_fail to"
    ways += " expect_all_or_drop or expect_all"
    assert (
        f"expectation has_city (city is not null) fails in 2 rows, for example id=2 at 2{ways}",
        f"expectation dated (seq > 0) fails in 1 row, for example id=4 at -1{ways}",
    ) == target.problems({**OPTIONS, **expected})
    target.feeds("(2, 'Rome', 'U', 2)")
    target.run({**OPTIONS, "expect_all_or_fail": expected["expect_all_or_fail"]})
    assert [(1, "Oslo"), (2, "Rome")] == rows(target)


def test_a_row_without_a_key_is_shown_by_its_columns(target: Kept) -> None:
    """REPLACE WHERE has no keys: the example shows the row's first columns."""
    options = {"materialized": "replace_where", "replace_where": "id > 0"}
    target.run(options)
    target.feeds("(1, null, 'U', 1)")
    problem = target.problem({**options, "expect_all_or_fail": {"has_city": "city is not null"}})
    assert "for example id=1, city=null, op=U, seq=1;" in problem


def test_sql_that_is_wrong(target: Kept) -> None:
    """Each expectation with an error is named, with what the engine says, before anything is read."""
    expected = {
        "expect_all": {"spelt": "citty", "unknown": "citty is not null"},
        "expect_all_or_drop": {
            "typed": "seq",
            "summed": "sum(seq) > 0",
            "quoted": 'op = "D"',
            "fine": "seq > 0",
        },
        "expect_all_or_fail": {"unfinished": "seq > ("},
    }
    said = dict(problem.split(" ", 2)[1:] for problem in target.problems({**OPTIONS, **expected}))
    quoted = set() if speaks() == "spark" else {"quoted"}  # there text may be written like that
    assert {"spelt", "unknown", "typed", "summed", "unfinished", *quoted} == set(said)
    assert "names citty, which is not a column of the model; did you mean city?" == said[
        "spelt"
    ].removeprefix("spelt ")
    assert here('DuckDB says: Binder Error: Referenced column "citty" not found') in said["unknown"]
    assert (
        here("has type BIGINT and is no condition; compare it with a value, as in seq = 1") == said["typed"]
    )
    assert "is not valid SQL over the model's columns (id, city, op, seq)" in said["summed"]
    assert all('has "D" in double quotes' in said[name] for name in quoted)
    assert here("DuckDB says: Parser Error") in said["unfinished"]


@pytest.mark.dumps_beside_changes
def test_flows_whose_expectations_do_not_go_together(target: Kept) -> None:
    """One name in the model and in a flow, or in different options, is refused; so is dropping rows of a dump."""
    target.connection.execute("create table dump (id integer, city text, taken bigint)")
    feed = FlowSql("feed", "select * from feed", {"expect_all": {"dated": "seq > 0"}})
    again = FlowSql("again", "select * from feed", {"expect_all_or_drop": {"DATED": "seq > 1"}})
    dump = FlowSql("dump", "select * from dump", {"snapshot_version": "taken"})
    assert (
        "flow feed: expectation dated is the model's too, and holds for every flow; give it another name"
        == (target.problem({**OPTIONS, "expect_all_or_drop": {"Dated": "seq > 0"}}, sql=compiled(feed)))
    )
    assert (
        "expectation dated is set in expect_all, expect_all_or_drop by different flows; give each its own name"
        == target.problem(OPTIONS, sql=compiled(feed, again))
    )
    problem = target.problem(
        {**OPTIONS, "expect_all_or_drop": {"has_id": "id > 0"}}, sql=compiled(feed, dump)
    )
    assert "expect_all_or_drop would drop rows of flow dump as well" in problem
    dropping = FlowSql("dump", "select * from dump", {**dump.options, "expect_all_or_drop": {"x": "id > 0"}})
    assert "expect_all_or_drop is for changes" in target.problem(OPTIONS, sql=compiled(feed, dropping))
    wrong = FlowSql("web", "select * from feed", {"expect_all": {"spelt": "cty is null"}})
    assert target.problem(OPTIONS, sql=compiled(feed, wrong)).startswith(
        "flow web: expect_all spelt is not valid"
    )
