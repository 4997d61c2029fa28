"""The loop that runs a plan, with statements that nobody sends."""

from __future__ import annotations

import time

import pytest

from dbt_auto_cdc import execute as loop
from dbt_auto_cdc.errors import AutoCdcError
from dbt_auto_cdc.execute import Sent, execute
from dbt_auto_cdc.plan import Plan, Step, Turn

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
    assert ["auto_cdc: model customers: step 3 of 3, after 30 s: write"] == told


def test_a_first_statement_that_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is named while it runs, once, and those that follow are named as they begin."""
    monkeypatch.setattr(loop, "_LONG", 0.05)
    told: list[str] = []
    told_by_then: list[list[str]] = []

    def send(_name: str, _sql: str) -> Sent:
        time.sleep(0.3)
        told_by_then.append(told[:])
        return Sent()

    execute(PLAN, send, told.append)
    first, last = (
        f"auto_cdc: model customers: step {step}"
        for step in ("1 of 3, after 0 s: read", "3 of 3, after 0 s: write")
    )
    assert [[first], [first, last]] == told_by_then
    assert [first, last] == told


def test_a_run_that_was_long_in_the_planning() -> None:
    """The time counts from the beginning of the model, so that the first statement may be named already."""
    told: list[str] = []
    execute(PLAN, lambda _name, _sql: Sent(), told.append, passed=30)
    assert "auto_cdc: model customers: step 1 of 3, after 30 s: read" == told[0]


class Server:
    """What answers a run that is no transaction: it fails at one statement, and says who wrote last."""

    def __init__(self, fails: str, says: str) -> None:
        self.fails, self.says, self.sent = fails, says, list[str]()

    def __call__(self, name: str, sql: str) -> Sent:
        self.sent.append(name)
        if name == self.fails:
            raise RuntimeError("the table is gone")
        return Sent({"turn": self.says} if sql == TURN.asks else {})


TURN = Turn(
    "select turn",
    before="before",
    came_between="another wrote",
    taken_over="another finished",
    run="own",
    noted="note",
    taking=("note", "see"),
    ends="end",
    frees="drop table working",
)
STEPWISE = Plan(
    "customers",
    "apply",
    tuple(Step(name, name) for name in ("read", "note", "see", "write", "end")),
    turn=TURN,
)


@pytest.mark.parametrize(
    ("fails", "says", "said", "is_freed"),
    [
        ("read", "before", "the table is gone", True),
        ("read", "other", "another wrote", True),
        ("note", "before", "the table is gone", True),
        ("note", "other {}", "another wrote", True),
        ("note", "own {}", "the table is gone", False),
        ("write", "own {}", "the table is gone", False),
        ("write", "own", "another finished", False),
        ("write", "other", "another finished", True),
        ("end", "own {}", "the table is gone", False),
    ],
)
def test_a_run_that_fails_between_others(fails: str, says: str, said: str, is_freed: bool) -> None:
    """It says so if another one came in between, and keeps its working tables only where the next one needs them."""
    server = Server(fails, says)
    with pytest.raises((AutoCdcError, RuntimeError), match=said):
        execute(STEPWISE, server)
    assert is_freed == ("free the working tables" in server.sent)


def test_what_was_left_to_do_fails() -> None:
    """Who finishes another run says so, and the way out if that fails for ever; the engine's words follow."""
    finishing = Turn("select turn", before="other {}", came_between="is writing", taken_over="is writing")
    plan = Plan("customers", "finish the run before", (Step("write", "write"),), turn=finishing)
    with pytest.raises(
        AutoCdcError, match=r"left to do fails; .* --full-refresh; the engine says: the table is gone"
    ):
        execute(plan, Server("write", "other {}"))
