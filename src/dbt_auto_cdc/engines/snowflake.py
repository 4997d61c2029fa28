"""Snowflake: what is peculiar about it. Rendered and parsed here, not run.

Not here: its streams and dynamic tables, which models may select from like from any table.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from dbt_auto_cdc.engines.base import NEXT
from dbt_auto_cdc.engines.stepwise import Stepwise, facts, head, listed
from dbt_auto_cdc.sql import Query

_NUMBER = re.compile(r"number\((?P<precision>\d+),\s*(?P<scale>\d+)\)")
_TEXT = re.compile(r"varchar\((?P<length>\d+)\)")
_TIMES = ("timestamp_ntz", "timestamp_ltz", "timestamp_tz")
_MOMENT = "YYYY-MM-DD HH24:MI:SS.FF9"
# How text is written that the settings of the session would have a part in.
_WRITTEN = {
    "date": "YYYY-MM-DD",
    "time": "HH24:MI:SS.FF9",
    "binary": "HEX",
    **dict.fromkeys(_TIMES, f"{_MOMENT} TZH:TZM"),
    "timestamp_ntz": _MOMENT,
}


class Snowflake(Stepwise):
    """A statement that defines a table commits what is open, so a run counts on no transaction.

    Working tables are transient: a temporary one would be gone when the next run looks for what is left to do.
    """

    number = "uuid_string()"
    creates = "create or replace transient table"
    ordered = ("number", "varchar", "date", "time", *_TIMES)
    # The text of a float leaves digits out.
    untold = ("float", "variant", "object", "array", "map", "vector", "geography", "geometry")

    def folded(self, name: str) -> str:
        """Return a name as Snowflake takes it without quotes."""
        return name.upper()

    def text(self, value: str) -> str:
        """Return a text literal, in which a backslash begins an escape."""
        return super().text(value.replace("\\", "\\\\"))

    def exact(self, value: str, type_name: str) -> str:
        """Return a value as text: times by what the settings of the session have no part in."""
        kind = head(type_name)
        if kind in _TIMES:
            return f"cast(date_part(epoch_nanosecond, {value}) as varchar)"
        return self.exactly(value, type_name)

    def is_same(self, left: str, right: str, *, type_name: str) -> str:
        """Return the condition that two values are the same, null being one: joins find rows by it."""
        del type_name
        return f"equal_null({left}, {right})"

    def comparable(self, expression: str, type_name: str) -> str:
        """Return the expression in a form with equality and order."""
        kind = head(type_name)
        if kind in {"geography", "geometry"}:
            return f"st_astext({expression})"
        return f"to_json({expression})" if kind in {"variant", "object", "array", "map"} else expression

    def widens(self, stored: str, incoming: str) -> bool:
        """Whether every value of `stored` is the same value in `incoming`."""
        narrow, wide = stored.lower(), incoming.lower()
        numbers, texts = [[found.fullmatch(kind) for kind in (narrow, wide)] for found in (_NUMBER, _TEXT)]
        if numbers[0] and numbers[1]:
            (digits, scale), (more, finer) = (tuple(map(int, one.groups())) for one in numbers if one)
            return finer >= scale and more - finer >= digits - scale
        if texts[0] and texts[1]:
            return int(texts[0]["length"]) <= int(texts[1]["length"])
        return narrow == wide

    def alters(self, stored: str, incoming: str) -> bool:
        """Whether a column can be given a wider type: not one with more digits behind the point."""
        scales = {kind.rpartition(",")[2].strip() for kind in (stored, incoming)}
        return len(scales) == 1 or "," not in incoming

    def exactly(self, expression: str, type_name: str) -> str:
        """Return the expression as text that gives the same value when it is cast back, in whatever session."""
        written = _WRITTEN.get(head(type_name))
        return f"to_varchar({expression}, '{written}')" if written else self.as_text(expression)

    def halved(self, number: str, times: str) -> str:
        """Return a whole number that is halved so many times."""
        return f"bitshiftright({number}, {times})"

    def utc_now(self) -> str:
        """Return the time in UTC."""
        return f"cast(sysdate() as {self.moment_type})"

    def named(self, query: Query, alias: str, columns: Mapping[str, str]) -> str:
        """Return a query to select from, by other names of its columns."""
        return f"(\nwith {alias} ({', '.join(columns)}) as (\n{query.render()}\n)\nselect * from {alias}\n) as {alias}"

    def describe(self, query: str) -> str:
        """Return the statements that tell a query's columns: those of the result of a query without rows."""
        return f"select * from (\n{query}\n) as described limit 0{NEXT}describe result last_query_id()"

    def layout_of_target(self, config: Mapping[str, Any]) -> str:
        """Return the clustering of the target, as dbt-snowflake has it."""
        keys = listed(config.get("cluster_by"))
        return f" cluster by ({', '.join(keys)})" if keys else ""

    def layout_of_companion(self, keys: list[str]) -> str:
        """Return the clustering of the companion: it costs something, so only where the target has one."""
        return f" cluster by ({', '.join(keys)})" if self.layout and keys else ""


ENGINE = Snowflake(**facts(name="Snowflake", identifier_limit=255, moment_type="timestamp_ntz", escapes=True))
