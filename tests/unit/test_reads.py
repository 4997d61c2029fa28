"""How reads stand in a model's SQL: marked, cut out again, and replaced.

Not here: what a run makes of them (`properties/test_streams`), and dbt (`dbt/test_streams`).
"""

from __future__ import annotations

import json

import pytest

from dbt_auto_cdc import blocks, reads
from dbt_auto_cdc.reads import Read
from dbt_auto_cdc.sql import indented, without_semicolon
from dbt_auto_cdc.state import Position
from tests.flow_sql import FlowSql, compiled

ONE = Read("stream", "orders", {"offset": "id"}, 'select * from "raw"."orders"')
OTHER = Read("stream", "lines", {"offset": "coalesce(at, '--\n)')"}, "select * from lines")


def test_what_is_marked_is_cut() -> None:
    """Reads come back as they were written, in their order, from CTEs and joins, each once."""
    sql = (
        f"with o as (select * from {reads.marked(ONE)} as x)\n"
        f"select * from o join {reads.marked(OTHER)} as l using (id) join {reads.marked(ONE)} as again using (id)"
    )
    assert (ONE, OTHER) == reads.cut(sql)
    assert () == reads.cut("select 1 -- auto_cdc: reads nothing")


def test_they_are_cut_where_they_were_indented_and_out_of_flows() -> None:
    """What stands around them, and how deep, makes no difference."""
    sql = indented(indented(f"select * from (\n{reads.marked(ONE)}\n) as src"))
    assert [ONE.header] == [read.header for read in reads.cut(sql)]
    flows = compiled(
        FlowSql("one", f"select * from {reads.marked(ONE)} as a"),
        FlowSql("other", f"select * from {reads.marked(OTHER)} as b"),
    )
    by_flow = {block.name: reads.cut(block.sql) for block in blocks.cut("m", flows)}
    assert {"one": (ONE,), "other": (OTHER,)} == by_flow
    assert without_semicolon(sql, escapes=False) == sql


def test_another_relation_in_their_place() -> None:
    """The rest of the SQL stays; a read without another relation stays too."""
    sql = f"select * from {reads.marked(ONE)} as a, {reads.marked(OTHER)} as b"
    found = reads.replaced(sql, {ONE.header: "select 1 as id"})
    assert f"select * from (\nselect 1 as id\n) as a, {reads.marked(OTHER)} as b" == found


def test_marks_may_stay() -> None:
    """With marks it is the same read, of another relation."""
    sql = reads.replaced(reads.marked(ONE), {ONE.header: "select 1 as id"}, marks=True)
    (found,) = reads.cut(sql)
    assert (ONE.header, "select 1 as id") == (found.header, found.sql)


def test_one_name_for_two_reads_is_refused() -> None:
    """Each remembers under its name how far it came; the same read twice is one."""
    twice = Read("stream", "Orders", {"offset": "at"})
    (problem,) = reads.problems_of([ONE, twice, ONE], "auto_cdc")
    assert problem.startswith("2 reads are called orders")
    assert "name='orders_2'" in problem
    assert [] == reads.problems_of([ONE, OTHER, ONE], "auto_cdc")


@pytest.mark.parametrize("value", ["5", "", "a\nb", 'o\'clock "x" \\ {}', "2026-01-01 00:00:00+00"])
def test_positions_are_read_as_they_were_written(value: str) -> None:
    """Whatever is in the value: it stands behind the JSON, which is one line."""
    position = Position("stream", 'or"d', type="VARCHAR", by="a\nb", value=value)
    found = Position.of(position.text)
    assert position == found
    assert position.text == found.written
    assert "stream" == json.loads(position.head)["kind"]


def test_a_damaged_position_is_none() -> None:
    """Whoever reads it says what to do about it."""
    for text in ("", "{}", '{"kind": "stream"}\n5', '{"kind": "stream", "name": "x", "new": 1}\n5'):
        with pytest.raises(ValueError, match=r"damaged|Expecting"):
            Position.of(text)
