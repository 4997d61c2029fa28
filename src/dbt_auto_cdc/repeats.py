"""Beginning again what another process got ahead of, where an engine says so when the later one commits.

Not here: which errors say that (`engines`), and what is done (`event_log` for runs, `operations` for what is between).
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from dbt_auto_cdc.engines import engine_for
from dbt_auto_cdc.errors import AutoCdcError
from dbt_auto_cdc.execute import OWN, Tell

if TYPE_CHECKING:
    from dbt_auto_cdc.engines.base import Engine

# How often something is begun that others get ahead of, and for how many seconds it waits at most.
_ATTEMPTS = 10
_LONGEST_WAIT = 20.0

_Done = TypeVar("_Done")


@dataclass(frozen=True)
class Writer:
    """Who writes what: a model by its name, and its target, on an engine if there is one."""

    engine: Engine | None
    name: str
    target: str


def repeated(
    writer: Writer,
    attempt: Callable[[], _Done],
    tell: Tell,
    *,
    is_over: Callable[[], bool] = lambda: False,
    repeat: Callable[[], object] = lambda: None,
) -> _Done:
    """Attempt it, and again as long as another process wrote the same tables first, which the engine rolled back.

    What others committed is observed anew, and planned from that. Nothing is begun again when it `is_over`; before each
    further attempt `repeat` is called.
    """
    for number in range(_ATTEMPTS):
        try:
            return attempt()
        except Exception as error:
            said = message_of(error)
            if is_over() or writer.engine is None or not writer.engine.is_conflict(said):
                raise
            if number + 1 == _ATTEMPTS:
                raise AutoCdcError(writer.name, [_overtaken(writer, said)]) from error
            # Not all at once again, and not the same one first for ever.
            longest = min(_LONGEST_WAIT, 0.25 * 2**number)
            seconds = random.uniform(longest / 2, longest)  # noqa: S311 - nothing to guess
            tell(
                f"{OWN}model {writer.name}: another run wrote to {writer.target} first; again in {seconds:.1f} s"
            )
            time.sleep(seconds)
            repeat()
    raise AssertionError  # the last attempt returns or raises


def message_of(error: Exception) -> str:
    """Return what an error says, of one of dbt's without what dbt puts around it."""
    return str(getattr(error, "msg", error))


def _overtaken(writer: Writer, said: str) -> str:
    return (
        f"other runs wrote to {writer.target} first, {_ATTEMPTS} times in a row ({said.splitlines()[-1]}); run it again"
        f" when fewer processes write to it"
    )


def begun_again(  # noqa: PLR0913 - one call from Jinja, all by name
    *,
    adapter_type: str,
    name: str,
    target: str,
    run: Callable[..., object],
    arguments: Mapping[str, object],
    tell: Tell,
) -> object:
    """Call a macro, or a function, that does all of it in one transaction, as often as it takes."""
    writer = Writer(engine_for(adapter_type), name, target)
    return repeated(writer, lambda: run(**arguments), tell)
