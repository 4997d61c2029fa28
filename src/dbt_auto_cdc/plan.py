"""A plan: the statements of one run as data, in order, with what is measured and refused between them.

Not here: how a plan is made (`materializations`) or run (`execute`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dbt_auto_cdc.spec import Expectation
    from dbt_auto_cdc.state import Position

from dbt_auto_cdc.sql import Query

_NUMBER = {
    "s": ("", "s"),
    "v": ("s", ""),
    "is": ("is", "are"),
    "was": ("was", "were"),
    "has": ("has", "have"),
}


@dataclass(frozen=True)
class Rule:
    """Something that must not be: when `measure` of the measured row is above zero, the run stops (or warns).

    `text` may use {count} and {example}; the example is read from the measured column `<measure>_example`. What
    follows the count agrees with it: row{s}, {is}, {was}, {has}, and a verb's ending, lack{v}. Other braces stand
    for themselves: they come from names in the user's configuration.
    """

    measure: str
    text: str
    warns: bool = False

    def says(self, count: int, example: object) -> str:
        """Return the text about what was measured."""
        values = {name: one if count == 1 else many for name, (one, many) in _NUMBER.items()}
        values |= {"count": str(count), "example": "null" if example is None else str(example)}
        return re.sub(rf"\{{({'|'.join(values)})\}}", lambda found: values[found[1]], self.text)


@dataclass(frozen=True)
class Write:
    """What a step does to rows of the target, for what has to know of every row that changes.

    `gone` gives the locators of rows that go, `born` gives rows that come, in `columns`; `ended` gives locators with
    the values that `columns` get in these rows. `past` gives rows that go, whole, in `columns`: those that are put back
    if the run is stopped, where the next one would do the same once more. `apart` says that nothing a run does to the
    relation is said twice: each row that comes or ends is told like no other of these, and none goes. `odd` names the
    measure that is above zero unless the same holds of rows that go and come, and each that comes takes the place of
    just one that is there, or of none if it is `added`. `has_rows_if` names measures like a step's `only_if`: the step
    may be sent more often.
    """

    columns: tuple[str, ...] = ()
    gone: Query | None = None
    born: Query | None = None
    ended: Query | None = None
    past: Query | None = None
    apart: bool = False
    odd: str = ""
    added: bool = False
    has_rows_if: tuple[str, ...] = ()


@dataclass(frozen=True)
class Part:
    """A SELECT among those whose rows one statement takes, left out like a step by what `only_if` names."""

    sql: str
    only_if: tuple[str, ...] = ()


@dataclass(frozen=True)
class Fault:
    """What an engine may say of what it reads, as a pattern, and what that means to the user."""

    says: re.Pattern[str]
    text: str


@dataclass(frozen=True)
class Step:
    """One statement.

    `only_if` names measures of earlier steps: unless one of them is above zero the statement is not sent. A step
    that `measures` returns one row of named numbers, checked against its `rules`. `counts` names the figure that
    the number of rows it wrote adds to. `writes` says what it does to rows of a target that goes on, `keeps` the same
    of its companion; one that `settles` may be sent twice, and reads no table but the one that it writes. One that has
    only to change a note of the companion has in `told` the note's kind and its new text. Its `parts`
    follow the statement's beginning, those that are not left out, with a union between them. `unless` names measures
    like `only_if`: the statement is not sent if one of them is above zero.
    """

    name: str
    sql: str
    only_if: tuple[str, ...] = ()
    measures: bool = False
    rules: tuple[Rule, ...] = ()
    counts: str = ""
    writes: Write | None = None
    keeps: Write | None = None
    settles: bool = False
    told: tuple[str, str] | None = None
    parts: tuple[Part, ...] = ()
    unless: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The step's name on one line: it may have a column's name in it, and that a line break."""
        return " ".join(self.name.split())

    @property
    def text(self) -> str:
        """The statement with its name as a comment above it."""
        return f"-- auto_cdc: {self.title}\n{self.sql}"

    @property
    def condition(self) -> str:
        """What has to be measured for the statement to be sent, in words."""
        unless = f"unless {' or '.join(self.unless)}" if self.unless else ""
        return ", ".join(filter(None, (" or ".join(self.only_if), unless)))

    def is_sent(self, measures: Mapping[str, int]) -> bool:
        """Tell whether the statement is sent."""
        return is_met(self.only_if, measures) and not any(measures.get(name) for name in self.unless)

    def among(self, measures: Mapping[str, int]) -> Step:
        """Return the step with those of its parts whose measures are above zero, as one statement."""
        if not self.parts:
            return self
        sent = [part.sql for part in self.parts if is_met(part.only_if, measures)]
        return replace(self, sql=self._before(sent), parts=())

    @property
    def script(self) -> str:
        """The statement as text for a person to read: a part that may be left out says when it is not."""
        parts = [
            f"-- only if {' or '.join(part.only_if)}\n{part.sql}" if part.only_if else part.sql
            for part in self.parts
        ]
        return self._before(parts) if parts else self.sql

    def _before(self, selects: Sequence[str]) -> str:
        return f"{self.sql}\n" + "\nunion all\n".join(selects)


def is_met(only_if: tuple[str, ...], measures: Mapping[str, int]) -> bool:
    """Tell whether something is not left out: always, or because one of its measures is above zero."""
    return not only_if or any(measures.get(name) for name in only_if)


def whenever_sent(steps: Sequence[Step] | Sequence[Part]) -> tuple[str, ...]:
    """Return the measures one of which has to be above zero for any of these to be sent; none if one always is."""
    if not all(step.only_if for step in steps):
        return ()
    return tuple(dict.fromkeys(name for step in steps for name in step.only_if))


@dataclass(frozen=True)
class Turn:
    """How a run that is no transaction finds out, when it fails, whether another one came in between.

    `asks` gives what the companion says of the last run that wrote, which was `before` when this one was planned, and
    begins with `run` once this one may write. From the step `noted` on, until the step `ends`, the next run may need
    the working tables; before that `frees` drops them. The steps `taking` are those by which it may write. From the
    step `written` on `takes_back` undoes what no other run knows of. `came_between` says what is wrong where nothing
    was written, `taken_over` where something was.
    """

    asks: str
    before: str
    came_between: str
    taken_over: str
    run: str = ""
    noted: str = ""
    taking: tuple[str, ...] = ()
    ends: str = ""
    frees: str = ""
    written: str = ""
    takes_back: str = ""


@dataclass(frozen=True)
class Plan:
    """The statements of one run; `closing` ones follow the commit of the others and only free what was used.

    `creates` says whether the target is made by this run, so that indexes and such are made once, `appends` that rows
    are only added; `shape` is an
    empty SELECT with the target's columns; `flows` says what the run does with each flow of a model that has several,
    `reads` where it goes on with what the model reads step by step, `positions` how far earlier runs came with that;
    `expected` is what the steps check of every row, `turn` how runs at once are kept apart that are no transactions.
    """

    model: str
    action: str
    steps: tuple[Step, ...]
    closing: tuple[Step, ...] = ()
    creates: bool = False
    appends: bool = False
    shape: str = ""
    warnings: tuple[str, ...] = ()
    flows: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    faults: tuple[Fault, ...] = ()
    positions: tuple[Position, ...] = ()
    expected: tuple[Expectation, ...] = ()
    turn: Turn | None = None

    @property
    def script(self) -> str:
        """The whole plan as text, for a person to read."""
        lines = [f"-- auto_cdc: model {self.model}: {self.action}"]
        for step in (*self.steps, *self.closing):
            condition = f"  (only if {step.condition})" if step.condition else ""
            sql = step.script
            lines.append(f"\n-- {step.title}{condition}\n{sql}{'' if sql.endswith(';') else ';'}")
        return "\n".join(lines) + "\n"
