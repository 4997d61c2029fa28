"""`read_files` as dbt would compile it, for tests that run plans without dbt. Not here: dbt, which calls the macro."""

from __future__ import annotations

from typing import Any

from dbt_auto_cdc import bridge
from tests import databases


def read_files(path: object, *others: object, model: str = "target", **options: Any) -> str:
    """Return files as a relation, as it stands in a compiled model that our materializations run."""
    return bridge.EXPORTS["read_files"](  # type: ignore[return-value]
        model=model,
        adapter_type=databases.chosen(),
        path=path,
        options=options,
        others=others,
        before=[],
        looks=False,
        ask=lambda _: [],
    )
