"""Databricks with Delta tables: what is different from Spark. Rendered and parsed here, not run.

Not here: Lakeflow's own AUTO CDC, whose tables Databricks keeps itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dbt_auto_cdc.engines.base import Engine
from dbt_auto_cdc.engines.spark import ENGINE as SPARK
from dbt_auto_cdc.engines.spark import Spark
from dbt_auto_cdc.engines.stepwise import listed


class Databricks(Spark):
    """Delta is what it makes of tables unless told otherwise; their rows lie as clusters or partitions say.

    Its transactions of several statements are not counted on.
    """

    formats = ("delta",)

    def configured(self, config: Mapping[str, Any], model: str) -> Engine:
        """Return the engine with what Delta can do here and not on Sail."""
        plain = super().configured({**config, "file_format": config.get("file_format") or "delta"}, model)
        return replace(plain, alters_tables=True, replaces_tables=True, comparable_structs=True)

    def layout_of_target(self, config: Mapping[str, Any]) -> str:
        """Return the clusters of the target, or its partitions."""
        clusters = listed(config.get("liquid_clustered_by"))
        return f" cluster by ({', '.join(clusters)})" if clusters else super().layout_of_target(config)

    def alters(self, stored: str, incoming: str) -> bool:
        """Whether a column can be given a wider type: a table has to be prepared for that, so none is."""
        return stored.lower() == incoming.lower()

    def layout_of_companion(self, keys: list[str]) -> str:
        """Return the clustering of the companion, where the target has one; partitions by key would be too small."""
        return f" cluster by ({', '.join(keys[:4])})" if "cluster by" in self.layout and keys else ""


ENGINE = Databricks(**{**vars(SPARK), "name": "Databricks", "identifier_limit": 255, "is_run": False})
