"""BigQuery: what is peculiar about it. Rendered and parsed here, not run.

Not here: its scripts and sessions; dbt sends each statement as a job of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from dbt_auto_cdc.engines.base import NEXT
from dbt_auto_cdc.engines.stepwise import Stepwise, facts, head, listed
from dbt_auto_cdc.sql import Query

_NESTED = ("array", "struct", "json", "range")
_WIDER = {"int64": {"numeric", "bignumeric"}, "numeric": {"bignumeric"}}


class BigQuery(Stepwise):
    """Each statement is a job and commits itself; a relation's columns are told by the views on its dataset."""

    number = "generate_uuid()"
    between = " || ',' || "
    ordered = ("int64", "numeric", "bignumeric", "string", "date", "datetime", "time", "timestamp")
    # It partitions by no float.
    untold = ("float64", "geography", *_NESTED)

    def quote(self, name: str) -> str:
        """Return the identifier in backticks."""
        return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"

    def text(self, value: str) -> str:
        """Return a text literal, which is on one line and has escapes."""
        escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\r", "\\r").replace("\n", "\\n")
        return f"'{escaped}'"

    def as_text(self, expression: str) -> str:
        """Return the expression as text."""
        return f"cast({expression} as string)"

    def told(self, value: str, type_name: str) -> str:
        """Return a value as JSON, in which null is a word and a comma stands between values."""
        del type_name
        return f"to_json_string({value})"

    def comparable(self, expression: str, type_name: str) -> str:
        """Return the expression in a form with equality and order."""
        kind = head(type_name)
        if kind == "geography":
            return f"st_astext({expression})"
        return f"to_json_string({expression})" if kind in _NESTED else expression

    def widens(self, stored: str, incoming: str) -> bool:
        """Whether every value of `stored` is the same value in `incoming`."""
        narrow, wide = head(stored), head(incoming)
        is_limited = "(" in incoming
        known = narrow == wide or wide in _WIDER.get(narrow, set())
        return super().widens(stored, incoming) or (known and not is_limited and narrow not in _NESTED)

    def minus(self, sequence: str, distance: float | timedelta) -> str:
        """Return the sequence that lies `distance` below another."""
        if isinstance(distance, timedelta):
            return f"{sequence} - interval {int(distance.total_seconds())} second"
        return super().minus(sequence, distance)

    def utc_now(self) -> str:
        """Return the time in UTC."""
        return "current_datetime('UTC')"

    def named(self, query: Query, alias: str, columns: Mapping[str, str]) -> str:
        """Return a query to select from, by other names of its columns: those of what it is added to."""
        nulls = ", ".join(f"{self.null(kind)} as {column}" for column, kind in columns.items())
        return f"(\n(select {nulls} limit 0)\nunion all\n(\n{query.render()}\n)\n) as {alias}"

    def describe(self, query: str) -> str:
        """Return the statements that tell a query's columns: those of a view, for which nothing is read."""
        view = f"create or replace view {self.scratch} as\n{query}"
        return f"{view}{NEXT}{self.describe_relation(self.scratch)}"

    def describe_relation(self, relation: str) -> str:
        """Return the query of the columns of a relation."""
        dataset, _, table = relation.rpartition(".")
        return (
            f"select concat('=', column_name), data_type\nfrom {dataset}.INFORMATION_SCHEMA.COLUMNS\n"
            f"where table_name = {self.text(table.strip('`'))}\norder by ordinal_position"
        )

    def described(self) -> str:
        """Return the statement that drops the view."""
        return f"drop view if exists {self.scratch}"

    def refill(self, relation: str) -> str:
        """Return the beginning of the statement that makes a working table, of which no layout can be another one."""
        return f"{self.creates} {relation} as"

    def layout_of_target(self, config: Mapping[str, Any]) -> str:
        """Return how the target is partitioned and clustered, as dbt-bigquery has it."""
        keys = listed(config.get("cluster_by"))
        clustered = f" cluster by {', '.join(keys)}" if keys else ""
        return self._partitioned(config.get("partition_by")) + clustered

    def _partitioned(self, by: Any) -> str:
        if not isinstance(by, Mapping):
            return ""
        field, kind = str(by["field"]), str(by.get("data_type", "date")).lower()
        granularity = str(by.get("granularity", "day")).lower()
        if kind == "int64":
            ends = by["range"]
            steps = f"generate_array({ends['start']}, {ends['end']}, {ends['interval']})"
            return f" partition by range_bucket({field}, {steps})"
        is_plain = kind == "date" and granularity == "day"
        return f" partition by {field if is_plain else f'{kind}_trunc({field}, {granularity})'}"

    def layout_of_companion(self, keys: list[str]) -> str:
        """Return the clustering of the companion, by no more columns than there may be."""
        return f" cluster by {', '.join(keys[:4])}" if self.layout and keys else ""


ENGINE = BigQuery(
    **facts(
        name="BigQuery",
        identifier_limit=300,
        text_type="string",
        moment_type="datetime",
        escapes=True,
        # No table takes the place of one that is partitioned or clustered by something else.
        replaces_tables=False,
        conflict="could not serialize access to table",
    )
)
