"""The one exception of the project, and how its messages are put together.

Not here: which rules exist; they stand beside what they guard.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

from dbt_auto_cdc import names

_MOST_LISTED = 20
# What a message has that says so, after which a run may be begun again.
ANOTHER_RUN = "another run of it"
# The rest of a statement, where a quote of the user's is not closed.
_OURS = re.compile(rf" at or near \".*{names.PREFIX}.*", re.DOTALL)
# What Spark puts before a message, the Java classes that it went through, and behind it, its plan or the statement.
_SPARKS = re.compile(
    r"^.*\b(?:\w+\.){2,}\w+Exception: |; line \d+ pos \d+;.*|\s*\(line \d+, pos \d+\)\s+== SQL.*"
)


class AutoCdcError(Exception):
    """One or more problems of one model, each with what to write instead.

    `problems` are finished sentences without the model's name; the text names it once.
    """

    def __init__(self, model: str, problems: Sequence[str]) -> None:
        self.model = model
        self.problems = tuple(problems)
        super().__init__(message(model, problems))


def message(model: str, problems: Sequence[str]) -> str:
    """Return the text of a model's problems: one on the line that names the model, several below it."""
    place = f"auto_cdc: model {model}:"
    if len(problems) == 1:
        return f"{place} {problems[0]}"
    return "\n  - ".join([f"{place} {len(problems)} problems", *problems])


def nearest(name: str, candidates: Iterable[str], likeness: float = 0.6) -> str | None:
    """Return the candidate most like `name`, without regard to case, or None if none is near."""
    by_folded = {candidate.lower(): candidate for candidate in candidates}
    found = difflib.get_close_matches(name.lower(), by_folded, n=1, cutoff=likeness)
    return by_folded[found[0]] if found else None


def listed(entries: Iterable[str]) -> str:
    """Return names as text for a message: `a, b, c`; of very many just the first."""
    every = list(entries)
    if len(every) > _MOST_LISTED:
        return f"{', '.join(every[:_MOST_LISTED])} and {len(every) - _MOST_LISTED} more"
    return ", ".join(every) or "none"


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """Return the closing words of a message about an unknown name."""
    candidates = tuple(candidates)
    near = nearest(name, candidates)
    return f"did you mean {near}?" if near else f"there are: {listed(candidates)}"


def said_by(engine: str, error: Exception | str) -> str:
    """Return an engine's refusal in one line, without the excerpt of a statement that the user never wrote."""
    lines = [line.strip() for line in str(error).splitlines()]
    kept = [line for line in lines if line and not line.endswith(" Error")]
    ends = next((number for number, line in enumerate(kept) if line.startswith("LINE ")), len(kept))
    return f"{engine} says: {_SPARKS.sub('', _OURS.sub('', ' '.join(kept[:ends])))}"
