"""Trino with Iceberg tables: what is peculiar about it. Rendered and parsed here, not run.

Not here: its other connectors, most of which can neither merge nor delete single rows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from dbt_auto_cdc.engines.base import NEXT
from dbt_auto_cdc.engines.stepwise import Stepwise, described_as, facts, head
from dbt_auto_cdc.sql import text

_INTEGERS = {"tinyint": 8, "smallint": 16, "integer": 32, "bigint": 64}
_DAY = 24 * 60 * 60
_NAME = re.compile(r'"(?:[^"]|"")*"|[^."]+')


class Trino(Stepwise):
    """Each statement commits itself; names are in small letters, in quotes too."""

    number = "cast(uuid() as varchar)"
    ordered = (*_INTEGERS, "decimal", "varchar", "char", "date", "time", "timestamp")
    # Two zeros are one number and two texts.
    untold = ("real", "double", "array", "map", "row", "json", "variant")

    def folded(self, name: str) -> str:
        """Return a name as Trino stores it."""
        return name.lower()

    def exact(self, value: str, type_name: str) -> str:
        """Return a value as text: one moment is one text, in whatever zone it is written."""
        if head(type_name) == "varbinary":
            return f"to_hex({value})"
        has_zone = type_name.lower().endswith("with time zone")
        return self.as_text(f"{value} at time zone 'UTC'" if has_zone else value)

    def comparable(self, expression: str, type_name: str) -> str:
        """Return the expression in a form with equality and order: of maps there is no order."""
        return f"json_format(cast({expression} as json))" if "map(" in type_name.lower() else expression

    @property
    def integers(self) -> dict[str, int]:
        """Signed integer types by their bits."""
        return _INTEGERS

    def widens(self, stored: str, incoming: str) -> bool:
        """Whether every value of `stored` is the same value in `incoming`."""
        narrow, wide = stored.lower(), incoming.lower()
        if super().widens(narrow, wide) or wide == "varchar" == head(narrow):
            return True
        return wide == "double" and (narrow == "real" or self.integers.get(narrow, 99) <= 32)

    def alters(self, stored: str, incoming: str) -> bool:
        """Whether a column can be given a wider type: where no file has to be written anew."""
        narrow, wide = stored.lower(), incoming.lower()
        scales = [kind.rpartition(",")[2].strip() for kind in (narrow, wide)]
        is_decimal = narrow.startswith("decimal(") and scales[0] == scales[1]
        return is_decimal or (narrow, wide) in {("integer", "bigint"), ("real", "double")}

    def minus(self, sequence: str, distance: float | timedelta) -> str:
        """Return the sequence that lies `distance` below another: from dates only whole days can be taken."""
        if not isinstance(distance, timedelta):
            return super().minus(sequence, distance)
        seconds = int(distance.total_seconds())
        number, unit = (seconds, "second") if seconds % _DAY else (seconds // _DAY, "day")
        return f"{sequence} - interval '{number}' {unit}"

    def halved(self, number: str, times: str) -> str:
        """Return a whole number that is halved so many times."""
        return f"bitwise_right_shift({number}, {times})"

    def utc_now(self) -> str:
        """Return the time in UTC."""
        return f"cast(current_timestamp at time zone 'UTC' as {self.moment_type})"

    def describe(self, query: str) -> str:
        """Return the statements that tell a query's columns: with the types that they would have in a table."""
        return f"{described_as(self, query, 'table')}{NEXT}{self.describe_relation(self.scratch)}"

    def describe_relation(self, relation: str) -> str:
        """Return the query of the columns of a relation."""
        *catalog, schema, table = (part.strip('"').replace('""', '"') for part in _NAME.findall(relation))
        views = ".".join([*map(self.quote, catalog), "information_schema.columns"])
        return (
            f"select '=' || column_name, data_type\nfrom {views}\nwhere table_schema = {text(schema.lower())}"
            f" and table_name = {text(table.lower())}\norder by ordinal_position"
        )

    def described(self) -> str:
        """Return the statement that drops the table."""
        return self.drop_table(self.scratch)

    def layout_of_target(self, config: Mapping[str, Any]) -> str:
        """Return the properties of the target, as dbt-trino has them, its partitioning among them."""
        properties = config.get("properties")
        if not isinstance(properties, Mapping) or not properties:
            return ""
        return f" with ({', '.join(f'{name} = {value}' for name, value in properties.items())})"


# Not every catalog knows how to replace a table.
ENGINE = Trino(
    **facts(
        name="Trino",
        identifier_limit=128,
        moment_type="timestamp(6)",
        replaces_tables=False,
        conflict="ICEBERG_COMMIT_ERROR|TRANSACTION_CONFLICT",
    )
)
