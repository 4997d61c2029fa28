"""The loop that runs a plan, with statements that nobody sends."""

from __future__ import annotations

import pytest

from dbt_auto_cdc import execute as loop
from dbt_auto_cdc.execute import Sent, execute
from dbt_auto_cdc.plan import Plan, Step

STEPS = (Step("read", "select 1"), Step("skip", "select 2", only_if=("none",)), Step("write", "select 3"))
PLAN = Plan(model="customers", action="apply", steps=STEPS)


def test_a_short_run_says_nothing() -> None:
    """Progress is for long work only."""
    told: list[str] = []
    execute(PLAN, lambda _name, _sql: Sent(), told.append)
    assert [] == told


def test_a_long_run_tells_where_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    """After ten seconds each further statement that is sent is named, with its place in the plan."""
    clock = iter(range(0, 1000, 6))
    monkeypatch.setattr(loop.time, "perf_counter", lambda: float(next(clock)))
    told: list[str] = []
    execute(PLAN, lambda _name, _sql: Sent(), told.append)
    assert ["auto_cdc: model customers: step 3 of 3, after 18 s: write"] == told
