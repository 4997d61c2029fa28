"""Streams as dbt would compile them, for tests that run plans without dbt.

Not here: dbt, which is what calls the macro.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from dbt_auto_cdc import bridge
from dbt_auto_cdc.engines import engine_for
from tests import databases


@dataclass(frozen=True)
class Named:
    """What `ref` gives, as far as a stream looks at it."""

    identifier: str
    is_cte: bool = False

    def incorporate(self, path: dict[str, str], type: str) -> Named:  # noqa: A002 - as dbt calls it
        del type
        return replace(self, identifier=path["identifier"])

    def __str__(self) -> str:
        engine = engine_for(databases.ENGINES[databases.chosen()])
        assert engine is not None
        return engine.quote(self.identifier)


def stream(relation: object, *others: object, model: str = "target", **options: Any) -> str:
    """Return a stream of a table, by its name or as `ref` gives it, as it stands in a compiled model."""
    return bridge.EXPORTS["stream"](  # type: ignore[return-value]
        model=model,
        adapter_type=databases.ENGINES[databases.chosen()],
        relation=Named(relation) if isinstance(relation, str) else relation,
        options=options,
        others=others,
        before=[],
        executes=True,
    )
