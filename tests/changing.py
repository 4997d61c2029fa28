"""A target whose model has other columns from run to run, straight on the engine.

Not here: what has to come of it (`scenarios/test_schema_changes`, `scenarios/test_partial_updates`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dbt_auto_cdc.errors import AutoCdcError
from tests.databases import columns_of, engine_of, in_order, indexes_of, spelled, tables_of, type_of
from tests.direct import Direct


class Changing(Direct):
    """A target whose model has other columns from run to run."""

    def given(self, config: dict[str, Any], columns: str, *events: str, **options: Any) -> None:
        """Run with events: SQL values in the order of the columns, which may carry types; op is U unless named."""
        names, types = [], []
        for column in columns.split(", "):
            name, _, type_name = column.partition(" ")
            names.append(name)
            types.append(spelled(self.connection, type_name) if type_name else "")
        selects = []
        for event in events:
            values = [part.strip() for part in event.split(" | ")]
            cast = [f"cast({v} as {t})" if t else v for v, t in zip(values, types, strict=True)]
            row = [f"{value} as {name}" for value, name in zip(cast, names, strict=True)]
            selects.append("select " + ", ".join([*row, *(() if "op" in names else ("'U' as op",))]))
        self.run({**config, **options}, sql="\nunion all\n".join(selects))

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        return self.connection.execute(sql).fetchall()

    def columns(self, table: str = "target") -> dict[str, str]:
        """Return a table's columns with their types."""
        return columns_of(self.connection, f'"{table}"')

    def stored(self) -> list[tuple[Any, ...]]:
        """Return the target's rows in the order of their values."""
        return in_order(self.query("select * from target"))

    def type_of(self, duckdb_type: str) -> str:
        """Return what the engine calls a type that is written as on DuckDB."""
        return type_of(self.connection, duckdb_type)

    def bounds(self) -> list[str]:
        """Return the bounds as the engine calls them."""
        return [engine_of(self.connection).folded(name) for name in ("__START_AT", "__END_AT")]

    def sees(self) -> object:
        """Return all that is stored."""
        tables = sorted(tables_of(self.connection))
        rows = {table: sorted(self.query(f'select * from "{table}"'), key=repr) for table in tables}
        return {table: self.columns(table) for table in tables}, rows, indexes_of(self.connection)

    def refused(self, config: dict[str, Any], columns: str, *events: str, **options: Any) -> str:
        """Run, which has to be refused with one problem and to change nothing, and return the problem."""
        before = self.sees()
        with pytest.raises(AutoCdcError) as refusal:
            self.given(config, columns, *events, **options)
        assert before == self.sees()
        (problem,) = refusal.value.problems
        return problem


MakeChanging = Callable[[], Changing]
