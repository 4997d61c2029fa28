"""Amazon Redshift: what is peculiar about it. Rendered and parsed here, not run.

Not here: its external tables, which nothing can change row by row.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from dbt_auto_cdc import names
from dbt_auto_cdc.engines.base import NEXT, Engine
from dbt_auto_cdc.engines.stepwise import Stepwise, facts, head, listed
from dbt_auto_cdc.sql import text

_LONGEST = 65535
_TEXT = f"varchar({_LONGEST})"
_NUMBERS = ("smallint", "integer", "bigint", "numeric")
_VARCHAR = re.compile(r"character varying\((?P<length>\d+)\)")
_ZONED = "timestamp with time zone"


class Redshift(Stepwise):
    """It has transactions, but dbt-redshift may send none: it commits each statement by default.

    Its MERGE takes no conditions and no query, so rows are written by DELETE, UPDATE and INSERT. A `varchar` without a
    length would cut text off.
    """

    number = "cast(row_number() over () as varchar(20))"
    ordered = (*_NUMBERS, "character varying", "character", "date", "time without time zone", "timestamp")
    # The text of a float leaves digits out.
    untold = ("real", "double precision", "super", "geometry", "geography", "hllsketch")

    def folded(self, name: str) -> str:
        """Return a name as Redshift stores it."""
        return name.lower()

    def text(self, value: str) -> str:
        """Return a text literal, in which a backslash begins an escape."""
        return super().text(value.replace("\\", "\\\\"))

    def as_text(self, expression: str) -> str:
        """Return the expression as text."""
        return f"cast({expression} as {_TEXT})"

    def exact(self, value: str, type_name: str) -> str:
        """Return a value as text: one moment is one text, and of true and false there is none by itself."""
        kind = head(type_name)
        if kind == "boolean":
            return f"case when {value} then 'true' when not {value} then 'false' end"
        if kind in {"binary varying", "varbyte"}:
            return f"to_hex({value})"
        if kind in {"character varying", "character"}:
            # Blanks at the end count for a length, and for no comparison.
            return f"rtrim({value})"
        return self.as_text(f"{value} at time zone 'UTC'" if kind == _ZONED else value)

    def differs(self, left: str, right: str) -> str:
        """Return the condition that two values are not the same, where null is a value."""
        return f"not coalesce({left} = {right}, {left} is null and {right} is null)"

    def comparable(self, expression: str, type_name: str) -> str:
        """Return the expression in a form with equality and order."""
        kind = head(type_name)
        if kind in {"geometry", "geography"}:
            return f"st_asewkt({expression})"
        return f"json_serialize({expression})" if kind == "super" else expression

    def is_orderable(self, type_name: str) -> bool:
        """Whether values of a type have an order."""
        kind = head(type_name)
        return super().is_orderable(kind) or kind.startswith("timestamp")

    def distance_of(self, type_name: str) -> str:
        """Return what a distance between two values is."""
        return "number" if head(type_name) in _NUMBERS else Stepwise.distance_of(self, type_name)

    def widens(self, stored: str, incoming: str) -> bool:
        """Whether every value of `stored` is the same value in `incoming`."""
        limits = [_VARCHAR.fullmatch(kind.lower()) for kind in (stored, incoming)]
        if limits[0] and limits[1]:
            return int(limits[0]["length"]) <= int(limits[1]["length"])
        return super().widens(stored, incoming)

    def alters(self, stored: str, incoming: str) -> bool:
        """Whether a column can be given a wider type: only text that has a longer limit."""
        return all(_VARCHAR.fullmatch(kind.lower()) for kind in (stored, incoming))

    def widen_column(self, relation: str, column: str, type_name: str) -> str:
        """Return the statement that gives a column a wider type."""
        return Engine.widen_column(self, relation, column, type_name)

    def utc_now(self) -> str:
        """Return the time in UTC, which the clock of a session may not show."""
        return "timezone('UTC', cast(getdate() as timestamp with time zone))"

    def describe(self, query: str) -> str:
        """Return the statements that tell a query's columns: those of a temporary table without rows."""
        table = names.DESCRIBED
        filled = f"create temporary table {table} as\nselect * from (\n{query}\n) as described where false"
        told = (
            f"select '=' || attname, format_type(atttypid, atttypmod)\nfrom pg_attribute\n"
            f"where attrelid = {text(table)}::regclass and attnum > 0 and not attisdropped\norder by attnum"
        )
        return NEXT.join([f"drop table if exists {table}", filled, told])

    def layout_of_target(self, config: Mapping[str, Any]) -> str:
        """Return distribution and order of the target, as dbt-redshift has them."""
        dist, keys = str(config.get("dist") or ""), listed(config.get("sort"))
        style = f" diststyle {dist}" if dist in {"all", "even", "auto"} else ""
        if dist and not style:
            style = f" diststyle key distkey ({dist})"
        kind = f"{config.get('sort_type') or 'compound'} sortkey"
        return style + (f" {kind} ({', '.join(keys)})" if keys else "")

    def layout_of_companion(self, keys: list[str]) -> str:
        """Return the order of the companion, where the target has one."""
        return f" compound sortkey ({', '.join(keys)})" if self.layout and keys else ""


ENGINE = Redshift(
    **facts(
        name="Redshift",
        identifier_limit=127,
        replaces_tables=False,
        text_type=_TEXT,
        merges=False,
        escapes=True,
        text_limit=_LONGEST,
        conflict="serializable isolation violation",
    )
)
