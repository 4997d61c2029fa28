"""Runs a plan through a function that sends one statement: skips, checks, counts.

Not here: what the statements are; the same loop serves dbt, tests and benchmarks.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import NoReturn

from dbt_auto_cdc.errors import AutoCdcError, said_by
from dbt_auto_cdc.plan import Plan, Step, Turn
from dbt_auto_cdc.spec import Expectation


@dataclass(frozen=True)
class Sent:
    """What came back from one statement: the first row by column name, and the number of rows written."""

    row: Mapping[str, object] = field(default_factory=dict)
    count: int = 0


Send = Callable[[str, str], Sent]
Tell = Callable[[str], object]

# What begins an error that a statement of ours raises by itself.
OWN = "auto_cdc: "

# What is said where a run finishes another one, and cannot.
_STUCK = (
    "the run before was stopped while it wrote, and what it left to do fails; run it again, and if it fails for ever,"
    " build the target anew with --full-refresh"
)
# How often a run that gives up tries to clear up behind itself.
_TRIES = 3

# From how many seconds on a person wants to see where a run stands.
_LONG = 10.0

# What counts the rows of a run in which rows are only added, and all the figures that it has.
APPENDED = "num_output_rows"
_OF_APPENDS = (APPENDED, "num_dropped_rows")

# The figures of dbt's result line, in its order, with their words there.
FIGURES = {
    APPENDED: "appended",
    "num_upserted_rows": "upserted",
    "num_deleted_rows": "deleted",
    "num_read_rows": "read",
    "num_late_rows": "late",
    "num_duplicate_rows": "duplicate",
    "num_tied_rows": "tied",
    "num_skipped_versions": "skipped",
    "num_dropped_rows": "dropped",
}
# Only where a run can have it at all.
_OWN_TO_SOME = (APPENDED, "num_skipped_versions", "num_dropped_rows")
_ALWAYS_SHOWN = (APPENDED, "num_upserted_rows", "num_deleted_rows", "num_read_rows")


@dataclass
class Outcome:
    """What a run did: measures so far, warnings, and seconds per statement."""

    measures: dict[str, int] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    expected: tuple[Expectation, ...] = ()

    def add(self, other: Outcome) -> None:
        """Add what a further run of the same model did."""
        for name, count in other.measures.items():
            self.measures[name] = self.measures.get(name, 0) + count
        for name, seconds in other.seconds.items():
            self.seconds[name] = self.seconds.get(name, 0.0) + seconds
        self.warnings += other.warnings
        self.expected = other.expected or self.expected

    @property
    def expectations(self) -> dict[str, dict[str, int]]:
        """How many rows passed and failed each expectation, by its name."""
        return {
            one.name: {
                "passed": self.measures.get(one.passed, 0),
                "failed": self.measures.get(one.failed, 0),
            }
            for one in self.expected
        }

    @property
    def figures(self) -> dict[str, int]:
        """The figures of the run: rows of the visible target upserted and deleted, events read, late and so on."""
        if APPENDED in self.measures:
            # What is read is added or dropped, so that it need not be counted.
            return {name: self.measures[name] for name in _OF_APPENDS if name in self.measures}
        return {
            name: self.measures.get(name, 0)
            for name in FIGURES
            if name in self.measures or name not in _OWN_TO_SOME
        }

    @property
    def message(self) -> str:
        """The figures as words for dbt's result line; what is zero and unusual is left out."""
        shown = {name: n for name, n in self.figures.items() if n or name in _ALWAYS_SHOWN}
        return "AUTO CDC " + ", ".join(f"{count} {FIGURES[name]}" for name, count in shown.items())


def execute(
    plan: Plan,
    send: Send,
    tell: Tell | None = None,
    outcome: Outcome | None = None,
    *,
    passed: float = 0.0,
) -> Outcome:
    """Send the plan's statements in order; raises `AutoCdcError` as soon as a rule is broken.

    `tell` shows a line to a person: where a run that takes long stands, which began so many seconds ago as have
    `passed`; it is called from another thread while a statement runs. What is measured goes into `outcome`, which then
    has it also of a run that is refused.
    """
    outcome = outcome or Outcome()
    if plan.appends:
        outcome.measures.setdefault(APPENDED, 0)
    outcome.warnings += plan.warnings
    outcome.expected = plan.expected
    sent = list[str]()
    try:
        _send_all(plan, send, tell=tell, outcome=outcome, sent=sent, passed=passed)
    except Exception as error:
        if plan.turn is None:
            raise
        _give_up(plan, plan.turn, send, sent=sent, error=error)
    return outcome


def _send_all(  # noqa: PLR0913 - what `execute` takes, by name
    plan: Plan, send: Send, *, tell: Tell | None, outcome: Outcome, sent: list[str], passed: float
) -> None:
    """Send the plan's statements, and note the names of those that were sent, whatever became of them."""
    with _watched(plan, tell, passed) as comes:
        for number, step in enumerate(plan.steps, start=1):
            if not step.is_sent(outcome.measures):
                continue
            comes(number, step)
            sent.append(step.name)
            started = time.perf_counter()
            got = _sent(plan, step.among(outcome.measures), send)
            outcome.seconds[step.name] = time.perf_counter() - started
            if step.measures:
                _judge(plan.model, step, got.row, outcome)
            if step.counts:
                outcome.measures[step.counts] = outcome.measures.get(step.counts, 0) + got.count


@contextmanager
def _watched(plan: Plan, tell: Tell | None, passed: float) -> Iterator[Callable[[int, Step], None]]:
    """Give what is to be called with each step that comes, so that a person sees it once the run takes long.

    What is under way by then is named by a thread of its own: this one waits for the engine.
    """
    begun, under_way = time.perf_counter() - passed, list[tuple[int, Step]]()

    def say() -> None:
        try:
            number, step = under_way.pop()
        except IndexError:  # the other thread has said it
            return
        place = f"step {number} of {len(plan.steps)}, after {time.perf_counter() - begun:.0f} s"
        if tell:
            tell(f"auto_cdc: model {plan.model}: {place}: {step.title}")

    def comes(number: int, step: Step) -> None:
        under_way[:] = [(number, step)]
        if time.perf_counter() - begun > _LONG:
            say()

    # dbt knows by its context of which model a line is.
    timer = threading.Timer(_LONG - passed, copy_context().run, [say])
    timer.daemon = True
    if tell:
        timer.start()
    try:
        yield comes
    finally:
        timer.cancel()


def _give_up(plan: Plan, turn: Turn, send: Send, *, sent: list[str], error: Exception) -> NoReturn:
    """Say why a run fails that is no transaction, where another one came in between, and leave nothing behind.

    What the next run needs to finish this one stays.
    """
    is_noted, is_written, says = turn.noted in sent, turn.written in sent, None
    with suppress(Exception):
        says = str(next(iter(send("ask whose turn it is", turn.asks).row.values()), ""))
    run, _, note = (says or "").partition(" ")
    is_ours = bool(run) and run == turn.run
    is_lost = says is not None and not is_ours and (is_written or says != turn.before)
    if is_lost or not is_noted or says == turn.before:
        _send_one(send, "free the working tables", turn.frees)
    if is_lost and is_written:
        # With it goes the note of who went on from there, so that nobody writes what that note says.
        _send_one(send, "free the working tables", json.loads(note)["frees"] if note else "")
        _send_one(send, "take back what was written", turn.takes_back)
    if isinstance(error, AutoCdcError):
        raise error
    is_accepted = is_written or (is_noted and sent[-1] not in turn.taking)
    if is_lost:
        raise AutoCdcError(plan.model, [turn.taken_over if is_accepted else turn.came_between]) from error
    if is_ours and is_accepted and is_noted and not note and turn.ends not in sent:
        raise AutoCdcError(plan.model, [turn.taken_over]) from error
    if not turn.run:
        text = f"{_STUCK}; {said_by('the engine', error)}"
        raise AutoCdcError(plan.model, [text]) from error
    raise error


def _send_one(send: Send, name: str, sql: str) -> None:
    """Send a statement, if there is one, again where another process was writing the same rows."""
    for _ in range(_TRIES if sql else 0):
        with suppress(Exception):
            send(name, sql)
            return


def _sent(plan: Plan, step: Step, send: Send) -> Sent:
    """Send one statement; what the plan knows of an engine's error is said in front of it."""
    try:
        return send(step.name, step.text)
    except Exception as error:
        fault = next((fault for fault in plan.faults if fault.says.search(str(error))), None)
        if fault is None:
            raise
        own = str(error).partition(OWN)[2].splitlines()
        said = own[0] if own else said_by("the engine", error)
        raise AutoCdcError(plan.model, [f"{fault.text}; {said}"]) from error


def _judge(model: str, step: Step, row: Mapping[str, object], outcome: Outcome) -> None:
    measured = {name.lower(): value for name, value in row.items()}
    for name, value in measured.items():
        if not name.endswith("_example"):
            outcome.measures[name] = outcome.measures.get(name, 0) + int(str(value or 0))
    problems: list[str] = []
    for rule in step.rules:
        if outcome.measures.get(rule.measure):
            text = rule.says(outcome.measures[rule.measure], measured.get(f"{rule.measure}_example"))
            (outcome.warnings if rule.warns else problems).append(text)
    if problems:
        raise AutoCdcError(model, problems)
