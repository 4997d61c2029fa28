"""The one exception of the project, and how its messages are put together.

Not here: which rules exist; they stand beside what they guard.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence


class AutoCdcError(Exception):
    """One or more problems of one model, each with what to write instead.

    `problems` are finished sentences without the model's name; the text names it once per problem.
    """

    def __init__(self, model: str, problems: Sequence[str]) -> None:
        self.model = model
        self.problems = tuple(problems)
        super().__init__("\n".join(f"auto_cdc: model {model}: {problem}" for problem in problems))


class SqlOptionError(Exception):
    """The SQL of one option was refused by the engine; carries the option's name and the engine's words."""


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate most like `name`, without regard to case, or None if none is near."""
    by_folded = {candidate.lower(): candidate for candidate in candidates}
    found = difflib.get_close_matches(name.lower(), by_folded, n=1, cutoff=0.6)
    return by_folded[found[0]] if found else None


def listed(names: Iterable[str]) -> str:
    """Return names as text for a message: `a, b, c`."""
    return ", ".join(names) or "none"


def did_you_mean(name: str, candidates: Sequence[str]) -> str:
    """Return the closing words of a message about an unknown name."""
    near = nearest(name, candidates)
    return f"did you mean {near}?" if near else f"there are: {listed(candidates)}"
