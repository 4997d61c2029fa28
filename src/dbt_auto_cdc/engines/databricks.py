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
from dbt_auto_cdc.errors import AutoCdcError


class Databricks(Spark):
    """Delta is what it makes of tables unless told otherwise; their rows lie as clusters or partitions say.

    Its transactions of several statements are not counted on.
    """

    def configured(self, config: Mapping[str, Any], model: str) -> Engine:
        """Return the engine with how the rows of the model's target lie."""
        chosen = str(config.get("file_format") or "delta").lower()
        if chosen != "delta":
            wrong = (
                f"file_format is {chosen}, which is not served on {self.name}; leave it out, or write delta"
            )
            raise AutoCdcError(model, [wrong])
        plain = super().configured({**config, "file_format": chosen}, model)
        clusters = listed(config.get("liquid_clustered_by"))
        layout = f" cluster by ({', '.join(clusters)})" if clusters else plain.layout
        return replace(
            plain, layout=layout, alters_tables=True, replaces_tables=True, comparable_structs=True
        )

    def alters(self, stored: str, incoming: str) -> bool:
        """Whether a column can be given a wider type: a table has to be prepared for that, so none is."""
        return stored.lower() == incoming.lower()

    def layout_of_companion(self, keys: list[str]) -> str:
        """Return the clustering of the companion, where the target has one; partitions by key would be too small."""
        return f" cluster by ({', '.join(keys[:4])})" if "cluster by" in self.layout and keys else ""


ENGINE = Databricks(**{**vars(SPARK), "name": "Databricks", "identifier_limit": 255, "is_run": False})
