"""Models of several flows as dbt would compile them, for tests that run plans without dbt.

Not here: dbt, which is what calls the macro.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dbt_auto_cdc import bridge
from tests import databases


@dataclass(frozen=True)
class FlowSql:
    """One flow: its SELECT, and its own options."""

    name: str
    sql: str
    options: dict[str, Any] = field(default_factory=dict)


def compiled(*flows: FlowSql, model: str = "target") -> str:
    """Return the SELECT of a model with these flows."""
    before: list[dict[str, object]] = []
    return "\n\n".join(
        bridge.flow(
            model=model,
            adapter_type=databases.ENGINES[databases.chosen()],
            before=before,
            name=flow.name,
            options=flow.options,
            others=(),
            sql=f"\n{flow.sql}\n",
        )
        for flow in flows
    )
