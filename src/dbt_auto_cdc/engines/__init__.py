"""Finds the engine of an adapter type: `engines/<adapter type>.py` with an `ENGINE`.

Not here: facts about engines.
"""

from __future__ import annotations

import importlib
import pkgutil

from dbt_auto_cdc.engines.base import Engine
from dbt_auto_cdc.errors import AutoCdcError, listed

# Files beside the engines: what all of them share, and what those do that have no transactions.
_SHARED = {"base", "stepwise"}
HOW_TO_ADD_ONE = "docs/guides/engines.md"


def supported() -> list[str]:
    """Return the adapter types there is an engine for."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if module.name not in _SHARED)


def engine_for(adapter_type: str) -> Engine | None:
    """Return the engine of an adapter type, or None if nobody wrote one."""
    if adapter_type not in supported():
        return None
    engine = importlib.import_module(f"{__name__}.{adapter_type}").ENGINE
    assert isinstance(engine, Engine)  # noqa: S101 - an engine file without an engine is our own mistake
    return engine


def required(adapter_type: str, model: str) -> Engine:
    """Return the engine of an adapter type; raises `AutoCdcError`, naming the model, if nobody wrote one."""
    engine = engine_for(adapter_type)
    if engine is None:
        problem = (
            f"there is no engine for adapter {adapter_type}; there is: {listed(supported())}. An engine is one small"
            f" file of differences: {HOW_TO_ADD_ONE} of the dbt-auto-cdc repository says how to write it"
        )
        raise AutoCdcError(model, [problem])
    return engine
