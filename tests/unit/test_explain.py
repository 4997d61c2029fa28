"""What an explained plan says of each statement, of each mode on each engine.

Not here: what is asked of a database for it (`tests/dbt/test_explain`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from dbt_auto_cdc.explain import explain
from dbt_auto_cdc.plan import Step
from dbt_auto_cdc.sql import code_of
from tests.golden import EVERYWHERE, MODES, plans, table_of


@dataclass(frozen=True)
class Told:
    """A step, and what the header of the plan says that it writes."""

    step: Step
    writes: str


def told(name: str) -> Iterator[Told]:
    """Yield the steps of all modes that an engine serves, of first runs and of next ones."""
    for config in MODES.values():
        table = table_of(name, config)
        for plan in plans(name, config) if table else ():
            header, _, _ = explain(plan, table.relations, "").partition("\n\n")  # type: ignore[union-attr]
            rows = re.findall(r"^-- (?:\d+|end) +(.*)", header, flags=re.MULTILINE)
            for row, step in zip(rows, (*plan.steps, *plan.closing), strict=True):
                assert row.startswith(step.title)
                yield Told(step, re.split(r" {2,}", row.removeprefix(step.title).strip())[0])


def is_query(step: Step) -> bool:
    """Tell whether a step is nothing but a SELECT."""
    words = code_of(step.sql).lower().split()
    return words[0] in {"select", "with"} and not {"delete", "insert", "update", "merge"} & {*words}


@pytest.mark.parametrize("name", EVERYWHERE)
def test_what_writes_is_told_to_write(name: str) -> None:
    """And what is only asked is told to write nothing."""
    steps = [*told(name)]
    assert len(steps) > 100
    wrong = [
        f"{one.step.title}: {one.writes}"
        for one in steps
        if is_query(one.step) is not one.writes.startswith("nothing")
    ]
    assert [] == wrong


@pytest.mark.parametrize("name", EVERYWHERE)
def test_rows_of_target_and_companion_are_told_apart(name: str) -> None:
    """Whatever kind of statement changes them."""
    wrong = [
        f"{one.step.title}: {one.writes}"
        for one in told(name)
        if (one.step.writes and one.writes != "target") or (one.step.keeps and one.writes != "companion")
    ]
    assert [] == wrong


@pytest.mark.parametrize(
    ("name", "title", "writes"),
    [
        ("postgres", "write the rows", "target"),
        ("postgres", "change the sequences of known keys", "companion"),
        ("postgres", "delete the rows of the touched keys", "target"),
        ("postgres", "end versions in place", "target"),
        ("postgres", "remember the last version", "companion"),
        ("postgres", "make the companion quick to read", "companion"),
        ("sail", "change shop.customers", "target"),
        ("sail", "change shop.customers__auto_cdc", "companion"),
        ("sail", "write down what becomes of shop.customers", "working table"),
        ("sail", "write down what is left to do", "companion"),
        ("sail", "see whose turn it is", "nothing, measures"),
        ("snowflake", "stage the model's rows", "working table"),
        ("redshift", "keep the rows that were dropped", "quarantine"),
    ],
)
def test_each_kind_of_statement_is_told(name: str, title: str, writes: str) -> None:
    """Blocks, CTEs that write, merges, tables that do not outlive a run, and what is noted of other statements."""
    assert {writes} == {one.writes for one in told(name) if one.step.title == title}
