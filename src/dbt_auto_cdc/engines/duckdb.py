"""DuckDB: what is peculiar about it.

Not here: MotherDuck and DuckLake, which share the dialect but not the facts.
"""

from __future__ import annotations

from dbt_auto_cdc.engines.base import Engine
from dbt_auto_cdc.sql import Query, all_of, text

_UNORDERED = ("map(", "json", "variant", "union(", '"null"')
_UNSIGNED = {"utinyint": 8, "usmallint": 16, "uinteger": 32, "ubigint": 64}
_FLOATS = {"float": 24, "double": 53}
_TIMES = {"date": 0, "timestamp_s": 1, "timestamp_ms": 2, "timestamp": 3}


class DuckDB(Engine):
    """An embedded DuckDB database: transactions, working tables, row ids, structs that compare."""

    @property
    def integers(self) -> dict[str, int]:
        """Signed integer types by their bits."""
        return {"tinyint": 8, **super().integers, "hugeint": 128}

    def composite(self, parts: dict[str, str]) -> str:
        """Return a struct of named expressions that compares field by field."""
        return "{" + ", ".join(f"{text(name)}: {expression}" for name, expression in parts.items()) + "}"

    def is_orderable(self, type_name: str) -> bool:
        """Whether values of a type have an order."""
        return not type_name.lower().startswith(_UNORDERED)

    def distance_of(self, type_name: str) -> str:
        """Return what a distance between two values is."""
        folded = type_name.lower()
        if folded.startswith(("date", "timestamp")):
            return "interval"
        numeric = (*self.integers, *_UNSIGNED, *_FLOATS, "decimal")
        return "number" if folded.startswith(numeric) else ""

    def widens(self, stored: str, incoming: str) -> bool:
        """Whether every value of `stored` is the same value in `incoming`."""
        narrow, wide = stored.lower(), incoming.lower()
        if super().widens(stored, incoming) or narrow == '"null"':
            return True
        if narrow in _UNSIGNED:
            signed = self.integers.get(wide, 0)
            return _UNSIGNED[narrow] < signed or _UNSIGNED[narrow] <= _UNSIGNED.get(wide, 0)
        if wide in _FLOATS:
            return self.integers.get(narrow, 99) <= _FLOATS[wide] or narrow == "float"
        if narrow in _TIMES:
            return _TIMES[narrow] <= _TIMES.get(wide, -1)
        return wide == "varchar" and narrow.startswith("enum(")

    def describe(self, query: str) -> str:
        """Return the statement that tells a query's column names and types without reading it."""
        return f"select '=' || column_name, column_type from (describe\n{query}\n)"

    def create_working(self, name: str, query: Query) -> str:
        """Return the statement that fills a working table, replacing what a failed run left."""
        return f"create or replace temp table {name} as\n{query.render()}"

    def delete_matching(self, relation: str, keys: list[str], query: Query) -> str:
        """Return the statement that removes the rows whose keys a query gives."""
        on = all_of(f"tgt.{key} = gone.{key}" for key in keys)
        return f"delete from {relation} as tgt using (\n{query.render()}\n) as gone where {on}"

    def set_located(self, relation: str, column: str, query: Query) -> str:
        """Return the statement that sets one column: DuckDB writes just that column's blocks anew."""
        return (
            f"update {relation} as tgt set {column} = changed.value\n"
            f"from (\n{query.render()}\n) as changed\nwhere tgt.{self.locator} = changed.locator"
        )


ENGINE = DuckDB(name="DuckDB", locator="rowid", identifier_limit=255, comparable_structs=True)
