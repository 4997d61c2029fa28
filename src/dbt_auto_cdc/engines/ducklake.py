"""DuckLake: tables in files, with a catalog that many processes of DuckDB share; what is peculiar beside DuckDB.

Not here: DuckDB's language, and how dbt tells that a target is in one (`macros/run/_adapter_type`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from dbt_auto_cdc.engines.base import DECIMAL, Engine
from dbt_auto_cdc.engines.duckdb import ARRAY, UNSIGNED, DuckDB, is_at, parts_of
from dbt_auto_cdc.errors import AutoCdcError
from dbt_auto_cdc.sql import all_of

_NOT_STORED = ("struct", "bit", "bignum", "enum", "union", '"null"')
# Words that are reserved: no column has them for a name without quotes.
_NOT_IN_CONTRACTS = re.compile(
    r"\b(?:primary\s+key|unique|check|foreign\s+key|references|collate)\b", re.IGNORECASE
)
_LAYOUTS = {"partitioned": ("partitioned_by", "partition_by"), "sorted": ("sorted_by", "sort_by")}
_QUOTED = re.compile(r""""(?:[^"]|"")*"|'(?:[^']|'')*'""")


class DuckLake(DuckDB):
    """A DuckLake: transactions that conflict when they commit; no indexes, no keys, fewer types than DuckDB."""

    def configured(self, config: Mapping[str, object], model: str) -> Engine:
        """Return the engine with the layout of the model's table, by dbt-duckdb's options; there are no indexes."""
        if config.get("indexes"):
            raise AutoCdcError(model, [f"indexes is set, and {self.name} has none; leave it out there"])
        found = []
        for word, options in _LAYOUTS.items():
            written = next((config[option] for option in options if config.get(option)), ())
            columns = written if isinstance(written, list | tuple) else [str(written)]
            found += [f"set {word} by ({', '.join(columns)})"] if columns else []
        return replace(self, layout="\n".join(found))

    def define(self, relation: str, types: Mapping[str, str], *, is_new: bool = False) -> str:
        """Return the statement that makes an empty table of columns with types."""
        del is_new
        columns = ", ".join(f"{name} {type_name}" for name, type_name in types.items())
        return f"create table {relation} ({columns})"

    def laid_out(self, relation: str) -> list[str]:
        """Return the statements that lay out a table; while it is made that works only as long as it has no rows."""
        return [f"alter table {relation} {clause}" for clause in self.layout.splitlines()]

    def stores(self, type_name: str) -> bool:
        """Whether a table can have a column of a type.

        DuckLake 1.5.5 takes structs, and JSON in lists. But few rows of a commit are kept in the catalog, as text where
        that is PostgreSQL, and of these text it makes other values, or none: a quote is lost, a date ends the process.
        """
        if found := ARRAY.fullmatch(type_name):
            return found["size"] == "[]" and self._holds(found["element"])
        head, inside = parts_of(type_name)
        return head not in _NOT_STORED and (head != "map" or all(map(self._holds, inside)))

    def _holds(self, type_name: str) -> bool:
        return type_name.lower() != "json" and self.stores(type_name)

    def lacking_in(self, contract: str) -> list[str]:
        """Return what an enforced contract has that tables cannot have."""
        found = _NOT_IN_CONTRACTS.findall(_QUOTED.sub("", contract))
        return sorted({" ".join(word.lower().split()) for word in found})

    def alters(self, stored: str, incoming: str) -> bool:
        """Whether a column can be given a wider type.

        DuckLake does it, but goes on with the greatest and least value of each file as they were written: where these
        are written in another way in the new type, such as 7 and 7.0, it then skips files that have what is asked for.
        """
        narrow, wide = ARRAY.fullmatch(stored), ARRAY.fullmatch(incoming)
        if narrow and wide:
            return self.alters(narrow["element"], wide["element"])
        (old, old_parts), (new, new_parts) = parts_of(stored), parts_of(incoming)
        if stored == incoming or {old, new} <= {*self.integers, *UNSIGNED}:
            return True
        if old == new == "map":
            return all(map(self.alters, old_parts, new_parts))
        decimals = DECIMAL.match(stored.lower()), DECIMAL.match(incoming.lower())
        return all(decimals) and len({found[2] for found in decimals if found}) == 1

    def lock(self, target: str, companion: str) -> str:
        """Return a statement that opens the transaction before the run is planned: it then knows what it may rely on.

        Nobody waits: of two runs the one that commits later is refused, and tried again.
        """
        del target, companion
        return "select 1"

    def list_tables(self, *relations: str) -> str:
        """Return the query of the names of those relations that exist, and whether each is a view."""
        kinds = {"table": "false", "view": "true"}
        return "\nunion all\n".join(
            f"select '=' || {kind}_name, {is_view}\nfrom duckdb_{kind}s()\n"
            f"where {' or '.join(f'({all_of(is_at(relation, kind))})' for relation in relations)}"
            for kind, is_view in kinds.items()
        )


ENGINE = DuckLake(
    name="DuckLake",
    locator="rowid",
    identifier_limit=255,
    union="union all by name",
    reads_files=True,
    marks_runs=True,
    # Also one that DuckLake has tried to commit past until it gave up, and those of the catalog's own database.
    conflict=r"TransactionContext Error.*(?:conflict|maximum retry count|could not serialize|deadlock|duplicate key)",
)
