"""DuckDB: what is peculiar about it.

Not here: MotherDuck, and DuckLake (`ducklake`), which share the dialect but not the facts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from dbt_auto_cdc.engines.base import Engine
from dbt_auto_cdc.sql import Query, all_of, text
from dbt_auto_cdc.state import Index

_UNORDERED = ("map", "json", "variant", "union", '"null"')
UNSIGNED = {"utinyint": 8, "usmallint": 16, "uinteger": 32, "ubigint": 64, "uhugeint": 128}
_FLOATS = {"float": 24, "double": 53}
_TIMES = {"date": 0, "timestamp_s": 1, "timestamp_ms": 2, "timestamp": 3}
ARRAY = re.compile(r"(?P<element>.*)(?P<size>\[\d*\])", re.DOTALL)
_QUOTED = r'"(?:[^"]|"")*"'
_MARKS = re.compile(rf"{_QUOTED}|'(?:[^']|'')*'|[(),]")
_MEMBER = re.compile(rf"(?P<name>{_QUOTED}|\S+)\s+(?P<type>.*)", re.DOTALL)
_INDEX = re.compile(
    rf"(?P<create>CREATE.* INDEX) (?:{_QUOTED}|\w+) ON (?:(?:{_QUOTED}|\w+)\.?)+(?P<columns>.*)", re.DOTALL
)


def parts_of(type_name: str) -> tuple[str, list[str]]:
    """Return the word that a type begins with, and what stands between its parentheses, cut at the commas."""
    head, _, inside = type_name.removesuffix(")").partition("(")
    cuts, depth = [-1], 0
    for mark in _MARKS.finditer(inside):
        depth += {"(": 1, ")": -1}.get(mark[0], 0)
        if mark[0] == "," and depth == 0:
            cuts.append(mark.start())
    return head.lower(), [
        inside[start + 1 : end].strip() for start, end in zip(cuts, [*cuts[1:], len(inside)], strict=True)
    ]


def _names(relation: str) -> list[str]:
    """Return the database, schema and table of a relation, as far as they are written."""
    return [_unquoted(name) for name in re.findall(_QUOTED, relation)]


def is_at(relation: str, kind: str = "table") -> list[str]:
    """Return the conditions on DuckDB's catalog for one table, or one view."""
    *place, table = _names(relation)
    schema, database = place[-1:], place[-2:-1]
    return [
        f"{kind}_name = {text(table)}",
        f"schema_name = {text(schema[0]) if schema else 'current_schema()'}",
        f"database_name = {text(database[0]) if database else 'current_database()'}",
    ]


def members_of(parts: list[str]) -> dict[str, str]:
    """Return the members of a struct or union with their types; names differ by more than case."""
    members = [found for part in parts if (found := _MEMBER.fullmatch(part))]
    return {found["name"].strip('"').lower(): found["type"] for found in members}


def patterns_of(path: str, inside: str = "*") -> list[str]:
    """Return what DuckDB has to look for: a pattern as it is, else the file of that name and those of the folder.

    DuckDB takes a file of an object store for granted, and fails where there is none; a pattern is looked up.
    """
    scheme, _, place = path.rpartition("://")
    if set(path) & set("*?[") or scheme.lower() in {"http", "https"}:
        return [path]
    files = f"{path.rstrip('/')}/{inside}"
    if path.endswith("/") or (scheme and "/" not in place):
        return [files]
    return [f"{path[:-1]}[{path[-1]}]" if scheme and path[-1].isalnum() else path, files]


def _unquoted(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name


def _folded(names: str) -> str:
    return f"list_transform({names}, lambda entry: lower(entry))"


class DuckDB(Engine):
    """An embedded DuckDB database: transactions, working tables, row ids, structs that compare."""

    @property
    def integers(self) -> dict[str, int]:
        """Signed integer types by their bits."""
        return {"tinyint": 8, **super().integers, "hugeint": 128}

    def utc_now(self) -> str:
        """Return the time in UTC, whatever the session's time zone is and without the extension that knows zones."""
        return "make_timestamp(epoch_us(now()))"

    def composite(self, parts: dict[str, str], type_name: str = "") -> str:
        """Return a struct of named expressions that compares field by field."""
        del type_name
        return "{" + ", ".join(f"{text(name)}: {expression}" for name, expression in parts.items()) + "}"

    def fields(self, type_name: str) -> tuple[tuple[str, str], ...]:
        """Return the fields of a struct type with their types, in order."""
        if ARRAY.fullmatch(type_name):
            return ()
        head, parts = parts_of(type_name)
        found = [_MEMBER.fullmatch(part) for part in parts] if head == "struct" else []
        return tuple((_unquoted(member["name"]), member["type"]) for member in found if member)

    def field(self, expression: str, name: str) -> str:
        """Return a field of a struct."""
        return f"struct_extract({expression}, {text(name)})"

    def latest(self, value: str, type_name: str, *, order: list[str], where: str) -> str:
        """Return the first value of a group: with one thing to order by, DuckDB keeps but one row of the group."""
        del type_name
        if len(order) == 1 and order[0].endswith(" desc"):
            if where == f"{value} is not null":
                return f"arg_max({value}, {order[0].removesuffix(' desc')})"
            return f"arg_max_null({value}, {order[0].removesuffix(' desc')}) filter (where {where})"
        return f"first({value} order by {', '.join(order)}) filter (where {where})"

    def carried(self, value: str, type_name: str, *, where: str, window: str) -> str:
        """Return the last value so far; in a struct of its own, so that a null in it is none that is passed over."""
        del type_name
        return (
            f"(last_value(case when {where} then {{'value': {value}}} end ignore nulls) over {window}).value"
        )

    def is_listed(self, name: str, names: str) -> str:
        """Return the condition that a list has a name."""
        return f"list_contains({_folded(names)}, {text(name.lower())})"

    def not_among(self, names: str, allowed: list[str]) -> str:
        """Return a name of a list that is none of the allowed ones."""
        known = ", ".join(text(name.lower()) for name in allowed)
        unknown = f"list_filter({names}, lambda entry: entry is null or lower(entry) not in ({known}))"
        return f"case when len({unknown}) > 0 then coalesce({unknown}[1], 'null') end"

    def packed(self, name: str, columns: list[str], condition: str) -> list[str]:
        """Return one list of no or one struct: a column of nulls costs a temporary table as much as one of values."""
        if not columns:
            return []
        values = ", ".join(f"{column} := {column}" for column in columns)
        return [f"case when {condition} then [struct_pack({values})] end as {name}"]

    def unpacked(self, packed: str, column: str) -> str:
        """Return one of the columns that `packed` kept."""
        return f"({packed})[1].{column}"

    def is_orderable(self, type_name: str) -> bool:
        """Whether values of a type have an order."""
        if found := ARRAY.fullmatch(type_name):
            return self.is_orderable(found["element"])
        head, parts = parts_of(type_name)
        if head == "struct":
            return all(map(self.is_orderable, members_of(parts).values()))
        return head not in _UNORDERED

    def has_groups(self, type_name: str) -> bool:
        """Whether rows can be put together by values of a type: whatever has an order, for maps depend on theirs."""
        return self.is_orderable(type_name)

    def is_condition(self, type_name: str) -> bool:
        """Whether values of a type are true or false; an always missing one is neither, and that is false."""
        return type_name.lower() in {"boolean", '"null"'}

    def distance_of(self, type_name: str) -> str:
        """Return what a distance between two values is."""
        if ARRAY.fullmatch(type_name):
            return ""
        folded = type_name.lower()
        if folded.startswith(("date", "timestamp")):
            return "interval"
        numeric = (*self.integers, *UNSIGNED, *_FLOATS, "decimal")
        return "number" if folded.startswith(numeric) else ""

    def widens(self, stored: str, incoming: str) -> bool:
        """Whether every value of `stored` is the same value in `incoming`; structs are cast field by field."""
        if stored in {incoming, '"NULL"'}:
            return True
        narrow, wide = ARRAY.fullmatch(stored), ARRAY.fullmatch(incoming)
        if narrow and wide:
            return narrow["size"] == wide["size"] and self.widens(narrow["element"], wide["element"])
        (old, old_parts), (new, new_parts) = parts_of(stored), parts_of(incoming)
        is_plain = bool(narrow or wide or old != new)
        if not is_plain and self._widens_nested(old, old_parts, new_parts):
            return True
        is_text = new == "varchar" and old in {"enum", "json"} and not narrow
        return is_text or self._widens_plain(stored.lower(), incoming.lower())

    def _widens_nested(self, head: str, stored: list[str], incoming: list[str]) -> bool:
        if head in {"struct", "union"}:
            kept, members = members_of(stored), members_of(incoming)
            return all(name in members and self.widens(kept[name], members[name]) for name in kept)
        if head == "map":
            return all(map(self.widens, stored, incoming))
        return head == "enum" and set(stored) <= set(incoming)

    def _widens_plain(self, narrow: str, wide: str) -> bool:
        if super().widens(narrow, wide):
            return True
        if narrow in UNSIGNED:
            bits = UNSIGNED[narrow]
            return bits < self.integers.get(wide, 0) or bits <= max(
                UNSIGNED.get(wide, 0), _FLOATS.get(wide, 0)
            )
        if wide in _FLOATS:
            return self.integers.get(narrow, 99) <= _FLOATS[wide] or narrow == "float"
        return narrow in _TIMES and _TIMES[narrow] <= _TIMES.get(wide, -1)

    def has_table(self, relation: str) -> str:
        """Return the query that has a row if a table is there."""
        return f"select 1 from duckdb_tables()\nwhere {all_of(is_at(relation))}"

    def list_indexes(self, relation: str) -> str:
        """Return the query of a table's indexes, with which DuckDB refuses to alter or drop any of its columns."""
        where = is_at(relation)
        return f"select '=' || index_name, sql\nfrom duckdb_indexes()\nwhere {all_of(where)}\norder by index_name"

    def index(self, relation: str, name: str, sql: str) -> Index:
        """Return an index of a table: the catalog's statement lacks the database and at times the schema."""
        found = _INDEX.fullmatch(sql)
        assert found is not None  # noqa: S101 - DuckDB writes the statement itself
        place = "".join(f"{self.quote(part)}." for part in _names(relation)[:-1])
        columns = found["columns"].rstrip("; ")
        create = f"{found['create'].lower()} {self.quote(name)} on {relation} {columns}"
        return Index(f"{place}{self.quote(name)}", create, columns)

    def describe(self, query: str) -> str:
        """Return the statement that tells a query's column names and types without reading it."""
        return f"select '=' || column_name, column_type from (describe\n{query}\n)"

    def list_files(self, path: str) -> str:
        """Return the query of the files under a path or glob, none where there is none.

        The content is left out, so no file is read. The condition holds always: without a look at the size, DuckDB
        asks an object store for every single file, though the listing has told it all.
        """
        patterns = ", ".join(map(text, patterns_of(path)))
        return (
            "select filename as path, parse_filename(filename) as name, size, last_modified as modification_time\n"
            f"from read_blob([{patterns}])\n"
            "where size is not null or filename is not null"
        )

    def create_working(self, name: str, query: Query, *, keys: Sequence[str] = ()) -> str:
        """Return the statement that fills a working table, replacing what a failed run left."""
        del keys
        return f"create or replace temp table {name} as\n{query.render()}"

    def create_view(self, name: str, query: Query) -> str:
        """Return the statement that makes a view, replacing what a failed run left."""
        return f"create or replace temp view {name} as\n{query.render()}"

    def delete_matching(self, relation: str, keys: list[str], query: Query) -> str:
        """Return the statement that removes the rows whose keys a query gives."""
        on = all_of(f"tgt.{key} = gone.{key}" for key in keys)
        return f"delete from {relation} as tgt using (\n{query.render()}\n) as gone where {on}"


ENGINE = DuckDB(
    name="DuckDB",
    locator="rowid",
    identifier_limit=255,
    comparable_structs=True,
    union="union all by name",
    reads_files=True,
)
