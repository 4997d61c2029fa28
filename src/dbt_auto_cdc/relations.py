"""The names of a model's relations: what stands beside its target, now and while it is rebuilt.

Not here: suffixes and how names are shortened (`names`), and which relations exist (macros).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dbt_auto_cdc import names
from dbt_auto_cdc.engines import engine_for
from dbt_auto_cdc.engines.base import Engine
from dbt_auto_cdc.state import Relations

# The limit of an engine that nobody described: PostgreSQL's, the shortest in use.
_SHORTEST_LIMIT = 63

Beside = Callable[..., object]


def relations_of(adapter_type: str, identifier: str, *, target: str, beside: Beside) -> Relations:
    """Return a target's relations; `beside(path={"identifier": ...})` gives a relation in the target's schema."""
    companion = companion_identifier(identifier, adapter_type)
    changes = _with_suffix(identifier, names.CHANGES, adapter_type)
    quarantine = _with_suffix(identifier, names.QUARANTINE, adapter_type)
    struct = _with_suffix(identifier, names.STRUCT, adapter_type)

    def at(name: str) -> str:
        return str(beside(path={"identifier": name}))

    return Relations(
        target=target,
        companion=at(companion),
        identifier=identifier,
        companion_identifier=companion,
        rebuilt_target=at(_with_suffix(identifier, names.REBUILT, adapter_type)),
        rebuilt_companion=at(_with_suffix(companion, names.REBUILT, adapter_type)),
        files=at(files_identifier(identifier, adapter_type)),
        struct=at(struct),
        struct_identifier=struct,
        rebuilt_struct=at(_with_suffix(struct, names.REBUILT, adapter_type)),
        changes=at(changes),
        changes_identifier=changes,
        quarantine=at(quarantine),
        quarantine_identifier=quarantine,
        beside=tuple((name, at(name)) for name in beside_identifiers(identifier, adapter_type)),
    )


def is_relation(value: Any) -> bool:
    """Whether what a macro was given is one of dbt's relations."""
    return value is not None and not isinstance(value, str) and hasattr(value, "identifier")


def companion_identifier(identifier: str, adapter_type: str) -> str:
    """Return the name of a target's companion."""
    return _with_suffix(identifier, names.COMPANION, adapter_type)


def beside_identifiers(identifier: str, adapter_type: str) -> tuple[str, ...]:
    """Return the names of all tables that may stand beside a target and belong to it, its companion first."""
    return tuple(_with_suffix(identifier, suffix, adapter_type) for suffix in names.BESIDE)


def files_identifier(identifier: str, adapter_type: str) -> str:
    """Return the name of the table of the files that a target was read from."""
    return _with_suffix(identifier, names.FILES, adapter_type)


def quarantine_identifier(identifier: str, adapter_type: str) -> str:
    """Return the name of the table of the rows that a target's expectations dropped."""
    return _with_suffix(identifier, names.QUARANTINE, adapter_type)


def feed_identifier(identifier: str, adapter_type: str) -> str:
    """Return the name of a target's change feed."""
    return _with_suffix(identifier, names.CHANGES, adapter_type)


def working_relation(engine: Engine, identifier: str, suffix: str, *, target: str = "") -> str:
    """Return the name of a working table that belongs to a target."""
    return engine.working(names.with_suffix(identifier, suffix, engine.identifier_limit), target)


def _with_suffix(identifier: str, suffix: str, adapter_type: str) -> str:
    engine = engine_for(adapter_type)
    return names.with_suffix(identifier, suffix, engine.identifier_limit if engine else _SHORTEST_LIMIT)
