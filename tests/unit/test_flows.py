"""What flows may be set to, and how they stand in a model's SQL.

Not here: what needs the columns of a relation (`scenarios/test_bad_flows`), and dbt (`dbt/test_flows`).
"""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from dbt_auto_cdc import blocks, names
from dbt_auto_cdc.blocks import Block
from dbt_auto_cdc.errors import AutoCdcError
from dbt_auto_cdc.flows import Flow, parse_flows, read_by
from dbt_auto_cdc.spec import AutoCdc, AutoCdcSnapshot, CdcFlow, SnapshotFlow
from tests.flow_sql import FlowSql, compiled

MODEL: dict[str, Any] = {"keys": ["id"], "sequence_by": "seq", "apply_as_deletes": "op = 'D'"}
GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "flows.md"


def parsed(*found: Block, **model: Any) -> tuple[Flow, ...]:
    flows, problems = parse_flows(found, {**MODEL, **model}, {})
    assert [] == problems
    return flows


def test_the_model_has_the_defaults() -> None:
    """A flow has what the model has, unless it has its own."""
    one, other = parsed(Block("one", {}), Block("other", {"sequence_by": "at", "apply_as_deletes": "gone"}))
    assert AutoCdc(keys=("id",), sequence_by=("seq",), apply_as_deletes="op = 'D'") == one.spec
    assert AutoCdc(keys=("id",), sequence_by=("at",), apply_as_deletes="gone") == other.spec
    assert not one.once
    assert one.shares_columns


def test_a_flow_of_dumps_takes_nothing_of_changes() -> None:
    """Sequence and conditions of the model are for its other flows."""
    _, dump = parsed(
        Block("feed", {}),
        Block("dump", {"snapshot_version": "taken", "once": True, "max_delete_ratio": 0.5}),
        full_refresh=False,
    )
    expected = AutoCdcSnapshot(
        keys=("id",), snapshot_version="taken", max_delete_ratio=0.5, full_refresh=False
    )
    assert expected == dump.spec
    assert dump.once
    assert dump.is_snapshot


def test_one_list_of_columns_stands_for_both() -> None:
    """What a flow keeps does not contradict what the model leaves out."""
    _, other = parsed(Block("one", {}), Block("other", {"column_list": ["id"]}), except_column_list=["op"])
    assert (("id",), None) == (other.spec.column_list, other.spec.except_column_list)
    assert not other.shares_columns


def test_options_may_be_left_to_the_flows() -> None:
    """Keys and sequence are missed only where neither model nor flow has them; null counts as not set."""
    flows, problems = parse_flows(
        [Block("one", {"keys": ["id"], "sequence_by": "seq"}), Block("two", {"keys": ["id"], "once": None})],
        {},
        {},
    )
    assert ["flow two: sequence_by is missing; name the column that orders the events"] == problems
    assert ["one"] == [flow.name for flow in flows]


def test_problems_of_the_model_are_said_once() -> None:
    """And those of a flow with its name."""
    _, problems = parse_flows(
        [Block("one", {}), Block("two", {"apply_as_delete": "x"})], {**MODEL, "stored_as_scd_type": 3}, {}
    )
    assert [
        "stored_as_scd_type is 3; write 1, 2 or bitemporal",
        "flow two: unknown option apply_as_delete; did you mean apply_as_deletes?",
    ] == problems


def test_what_a_run_reads() -> None:
    """A once flow until it is done; from a part of the source nothing that has to be whole."""
    flows = parsed(
        Block("history", {"once": True}),
        Block("feed", {}),
        Block("dump", {"snapshot_version": "taken"}),
    )

    def reads(done: tuple[str, ...] = (), partial: str = "") -> list[str]:
        return [flow.name for flow in read_by(flows, done, partial)]

    assert ["history", "feed", "dump"] == reads()
    assert ["feed", "dump"] == reads(("history", "gone long ago"))
    assert ["feed"] == reads((), "--empty")


def test_the_guide_names_every_option_of_a_flow() -> None:
    """And no other."""
    section = (
        GUIDE.read_text(encoding="utf-8")
        .split("## What a flow may be set to")[1]
        .split("\nEverything else")[0]
    )
    options = {option.name for kind in (CdcFlow, SnapshotFlow) for option in fields(kind)}
    assert options == {
        name
        for line in section.splitlines()
        for name in re.findall(r"`(\w+)`", line.split("|")[1] if "|" in line else "")
    }


# -- Blocks in the model's SQL -----------------------------------------------------------------------------------------

ODD = """
select '-- auto_cdc: end of flow' as a, $$;$$ as b -- one; two
/* ) as src */ from feed;
-- the end
"""


def test_blocks_are_cut_as_they_were_written() -> None:
    """Text and comments that look like ours, semicolons and options in any script come back as they were."""
    options = {"apply_as_deletes": "op = 'Ö\n\"D\"'", "once": True, "column_list": ["a", "b"]}
    found = blocks.cut("users", compiled(FlowSql("ä b", ODD, options), FlowSql("two", "select 1")))
    assert ["ä b", "two"] == [block.name for block in found]
    assert options == found[0].options
    assert (
        "select '-- auto_cdc: end of flow' as a, $$;$$ as b -- one; two\n/* ) as src */ from feed"
        == found[0].sql
    )


def test_a_model_without_flows_has_no_blocks() -> None:
    """Whatever else it has."""
    assert () == blocks.cut("users", "select 1 -- auto_cdc: flows are great")


def test_a_with_clause_is_for_all_blocks() -> None:
    """As dbt puts ephemeral models before a model."""
    sql = "with a as (select 1 as x), b as (select 2)\n" + compiled(
        FlowSql("one", "select * from a"), FlowSql("two", "with c as (select 3) select * from c")
    )
    one, two = blocks.cut("users", sql)
    assert "with a as (select 1 as x), b as (select 2)\nselect * from (\nselect * from a\n) as src" == one.sql
    assert "with c as (select 3) select * from c\n) as src" in two.sql


@pytest.mark.parametrize(
    ("before", "between", "after"),
    [("select 1 union all", "", ""), ("", "-- fine\nunion", ""), ("", "", "where x > 1")],
)
def test_nothing_else_stands_beside_blocks(before: str, between: str, after: str) -> None:
    """Comments apart."""
    one, two = (compiled(FlowSql(name, "select 1")) for name in ("one", "two"))
    with pytest.raises(AutoCdcError, match="beside its flows the model has"):
        blocks.cut("users", f"/* ; */ {before}\n{one}\n{between}\n{two}\n{after} -- end")


def test_a_flow_inside_another() -> None:
    """Is refused by both names' worth."""
    inner = compiled(FlowSql("inner", "select 1"))
    with pytest.raises(AutoCdcError, match="flow outer has another flow inside"):
        blocks.cut("users", compiled(FlowSql("outer", f"select * from ({inner}) as x")))


def test_the_name_of_the_option_is_reserved() -> None:
    """Where flows are noted is nothing that a user writes."""
    assert "auto_cdc_flows" == names.FLOWS
    macro = Path(__file__).resolve().parents[2] / "macros" / "flow.sql"
    assert f"'{names.FLOWS}'" in macro.read_text(encoding="utf-8")
