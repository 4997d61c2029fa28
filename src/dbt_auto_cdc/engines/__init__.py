"""Finds the engine of an adapter type: `engines/<adapter type>.py` with an `ENGINE`.

What is peculiar about some of an adapter's tables has such a file too, and its name takes the place of the type.
Not here: facts about engines.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from dbt_auto_cdc.engines.base import Engine
from dbt_auto_cdc.errors import AutoCdcError, listed

# Files beside the engines: what all of them share, and what those do that have no transactions.
_SHARED = {"base", "stepwise"}
# What is peculiar about some of the tables of an adapter, whose type it has.
_VARIANTS = {"ducklake": "duckdb"}
HOW_TO_ADD_ONE = "docs/guides/adding-an-engine.md"


def supported() -> list[str]:
    """Return the adapter types there is an engine for."""
    return sorted(_engines() - {*_VARIANTS})


def adapter_of(adapter_type: str) -> str:
    """Return dbt's own type of the adapter, for what may be the word for some of its tables."""
    return _VARIANTS.get(adapter_type, adapter_type)


@cache
def _engines() -> set[str]:
    return {module.name for module in pkgutil.iter_modules(__path__)} - _SHARED


def engine_for(adapter_type: str) -> Engine | None:
    """Return the engine of an adapter type, or None if nobody wrote one."""
    if adapter_type not in _engines():
        return None
    engine = importlib.import_module(f"{__name__}.{adapter_type}").ENGINE
    assert isinstance(engine, Engine)  # noqa: S101 - an engine file without an engine is our own mistake
    return engine


def engine_called(name: str) -> Engine | None:
    """Return the engine of a name that people read, or None if there is none of that name."""
    every = map(engine_for, sorted(_engines()))
    return next((engine for engine in every if engine is not None and engine.name == name), None)


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
