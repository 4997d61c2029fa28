"""Apache Spark with Iceberg tables, and Sail, which speaks its language, with Delta tables: what is peculiar.

Not here: Databricks, which has transactions of its own, and tables of other formats, whose rows nothing can change.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from dbt_auto_cdc import names
from dbt_auto_cdc.engines.base import NEXT, Engine
from dbt_auto_cdc.engines.stepwise import Stepwise, head, listed
from dbt_auto_cdc.sql import Query, all_of

_INTEGERS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_FLOATS = {"float": 24, "double": 53}
_TIMES = ("date", "timestamp", "timestamp_ntz")
_ORDERED = (*_INTEGERS, *_FLOATS, *_TIMES, "string", "decimal", "varchar", "char")
# Options of dbt-spark that would lay out tables in a way that is not taken over, with what to write instead.
_NOT_LAID_OUT = {
    "location_root": "leave it out, tables lie where the schema does",
    "clustered_by": "write buckets into partition_by, such as bucket(16, id)",
}
# A run changes few rows of a companion, and these anywhere: what changes is written beside its files, unless the
# model's properties say otherwise, and these are written anew only by `compact`, an update.
_BESIDE_FILES = {"format-version": "2", "write.merge.mode": "merge-on-read"}
_ANEW = {"write.update.mode": "copy-on-write"}
_MEMBER = re.compile(r"(?P<name>[^:]+):(?P<type>.*)", re.DOTALL)


def _members(type_name: str) -> list[tuple[str, str]]:
    """Return the fields of a struct, of `struct<a:int,b:struct<c:string>>`; none for other types."""
    if head(type_name) != "struct":
        return []
    inside, depth, parts = type_name[len("struct<") : -1], 0, [""]
    for letter in inside:
        depth += {"<": 1, "(": 1, ">": -1, ")": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    found = [_MEMBER.fullmatch(part.strip()) for part in parts]
    return [(member["name"].strip("`"), member["type"].strip()) for member in found if member]


def _format_of(config: Mapping[str, Any]) -> str:
    return str(config.get("file_format") or "").lower()


class Spark(Stepwise):
    """Statements that are atomic one by one; tables are of one of the `formats`, those of Delta being Sail's."""

    number = "monotonically_increasing_id()"
    formats: tuple[str, ...] = ("iceberg", "delta")

    def configured(self, config: Mapping[str, Any], model: str) -> Engine:
        """Return the engine with the format of the model's tables.

        Delta tables are those of Sail, which alters no tables, and cannot order structs in windows.
        """
        plain = super().configured(config, model)
        chosen, properties = _format_of(config), dict(config.get("tblproperties") or {})
        # The first version of Iceberg's format has no files of what goes.
        is_layered = chosen == "iceberg" and str(properties.get("format-version")) != "1"
        of_companion = {**_BESIDE_FILES, **properties, **_ANEW} if is_layered else properties
        return replace(
            plain,
            table_options=f" using {chosen}{self._properties(properties)}",
            companion_options=f" using {chosen}{self._properties(of_companion)}",
            alters_tables=chosen == "iceberg",
            replaces_tables=chosen == "iceberg",
            adds_apart=chosen == "iceberg",
            comparable_structs=chosen == "iceberg",
        )

    def problems_of(self, config: Mapping[str, Any]) -> list[str]:
        """Return what is wrong with options of the adapter, the format of tables among them."""
        problems, chosen = super().problems_of(config), _format_of(config)
        if chosen not in self.formats:
            problems.append(
                f"file_format is {chosen or 'not set'}, and rows of such tables cannot be changed; write"
                f" file_format: {' or '.join(self.formats)}, in the model or in dbt_project.yml"
            )
        if not isinstance(config.get("tblproperties") or {}, Mapping):
            problems.append("tblproperties is no mapping; write names with their values")
        for option, instead in _NOT_LAID_OUT.items():
            if config.get(option):
                problems.append(f"{option} is set, which is not served on {self.name}; {instead}")
        return problems

    def _properties(self, properties: Mapping[str, Any]) -> str:
        """Return the clause of a table's properties: the model's are those of its companion and working tables too."""
        # A `true` of YAML is written as Python has it, as dbt-spark does too: it is read in any case.
        pairs = [f"{self.text(str(name))} = {self.text(str(value))}" for name, value in properties.items()]
        return f" tblproperties ({', '.join(pairs)})" if pairs else ""

    def layout_of_target(self, config: Mapping[str, Any]) -> str:
        """Return the partitions of the target."""
        parts = listed(config.get("partition_by"))
        return f" partitioned by ({', '.join(parts)})" if parts else ""

    @property
    def is_sail(self) -> bool:
        """Whether tables are Delta's, of which Sail knows less than Spark does of Iceberg's."""
        return not self.replaces_tables

    @property
    def with_tables(self) -> str:
        """The engine's name, with the format of tables that lack what Iceberg's have."""
        return f"{self.name} with Delta tables" if self.is_sail else self.name

    # places

    def place(self, alias: str, identity: Iterable[tuple[str, str]]) -> str:
        """Return what tells a row as a struct: a text of it takes longer to make, and to sort by."""
        if not self.comparable_structs:
            return super().place(alias, identity)
        return self.composite({f"at_{n}": f"{alias}.{name}" for n, (name, _) in enumerate(identity)})

    def place_type(self, identity: Iterable[tuple[str, str]]) -> str:
        """Return the type of such a struct."""
        if not self.comparable_structs:
            return super().place_type(identity)
        return f"struct<{', '.join(f'at_{n}: {kind}' for n, (_, kind) in enumerate(identity))}>"

    def is_at(self, alias: str, identity: Iterable[tuple[str, str]], place: str, *, apart: bool) -> str:
        """Return the condition that a row stands at a place: of column by column, by which large tables are joined.

        Whoever joins by a value and by whether it is null sorts by both, so that keys, which are never null, are only
        compared, and the kind of a row without one is looked at when it was found. Where keys may be null, a row of no
        place would be found at that of nulls.
        """
        if not self.comparable_structs:
            return super().is_at(alias, identity, place, apart=apart)
        columns = [name for name, _ in identity]
        is_same = [f"{alias}.{name} <=> {place}.at_{n}" for n, name in enumerate(columns)]
        if not apart:
            return all_of([f"{place} is not null", *is_same])
        if columns[-1] != names.KIND:
            return all_of(f"{alias}.{name} = {place}.at_{n}" for n, name in enumerate(columns))
        return all_of([*is_same[:-1], f"({place}.at_0 is not null or {is_same[-1]})"])

    # names and values

    def quote(self, name: str) -> str:
        """Return the identifier in backticks."""
        return "`" + name.replace("`", "``") + "`"

    def text(self, value: str) -> str:
        """Return a text literal, in which a backslash begins an escape, and two quotes are the end and a beginning."""
        escaped = value.replace("\\", "\\\\").replace("'", "\\'")
        return f"'{escaped}'"

    def told(self, value: str, type_name: str) -> str:
        """Return a value as text behind its length; a struct is all that its fields are."""
        fields = self.fields(type_name)
        if not fields:
            return super().told(value, type_name)
        parts = self.between.join(self.told(self.field(value, name), kind) for name, kind in fields)
        return f"case when {value} is null then '-' else {parts} end"

    def exact(self, value: str, type_name: str) -> str:
        """Return a value as text: times of a zone are written in that of the session, which may be another one."""
        written = {"timestamp": f"unix_micros({value})", "binary": f"hex({value})"}
        return self.as_text(written.get(head(type_name), value))

    def as_text(self, expression: str) -> str:
        """Return the expression as text."""
        return f"cast({expression} as string)"

    def exactly(self, expression: str, type_name: str) -> str:
        """Return the expression as text; a time of a zone says how far it is from UTC."""
        if head(type_name) == "timestamp":
            return f"date_format({expression}, 'yyyy-MM-dd HH:mm:ss.SSSSSSXXX')"
        return self.as_text(expression)

    def composite(self, parts: dict[str, str], type_name: str = "") -> str:
        """Return a struct of named expressions, which compares field by field."""
        del type_name
        return f"named_struct({', '.join(f'{self.text(name)}, {value}' for name, value in parts.items())})"

    def fields(self, type_name: str) -> tuple[tuple[str, str], ...]:
        """Return the fields of a struct type with their types, in order."""
        return tuple(_members(type_name))

    def field(self, expression: str, name: str) -> str:
        """Return a field of a struct."""
        return f"{expression}.{self.quote(name)}"

    def differs(self, left: str, right: str) -> str:
        """Return the condition that two values are not the same, where null is a value."""
        return f"not ({left} <=> {right})"

    def is_same(self, left: str, right: str, *, type_name: str) -> str:
        """Return the condition that two values are the same, null being one."""
        del type_name
        return f"{left} <=> {right}"

    def extreme(self, function: str, expression: str, type_name: str, *, over: str = "") -> str:
        """Return the aggregate, of a column in words that Sail does not filter by.

        Sail runs the source of a `merge` twice. What `max` of a column has found the first time filters the rows of the
        second, so that there is nothing left to find: rows stay that should go, or are there twice.
        """
        if over or not expression.replace(".", "_").isidentifier():
            return super().extreme(function, expression, type_name, over=over)
        return f"{function}_by({expression}, {expression})"

    def latest(self, value: str, type_name: str, *, order: list[str], where: str) -> str:
        """Return the greatest value's by an order whose entries all descend, which is all that is asked for."""
        del type_name
        by = [entry.removesuffix(" nulls last").removesuffix(" desc") for entry in order]
        first = by[0] if len(by) == 1 else self.composite({f"by_{n}": each for n, each in enumerate(by)})
        return f"max_by(named_struct('value', {value}), {first}) filter (where {where}).value"

    def carried(self, value: str, type_name: str, *, where: str, window: str) -> str:
        """Return the last value so far; in a struct of its own, so that a null in it is none that is passed over."""
        del type_name
        held = f"case when {where} then named_struct('value', {value}) end"
        return f"(last_value({held}, true) over {window}).value"

    def is_listed(self, name: str, names: str) -> str:
        """Return the condition that a list has a name."""
        return f"exists({names}, entry -> lower(entry) = {self.text(name.lower())})"

    def not_among(self, names: str, allowed: list[str]) -> str:
        """Return a name of a list that is none of the allowed ones."""
        known = ", ".join(self.text(name.lower()) for name in allowed)
        unknown = f"filter({names}, entry -> entry is null or lower(entry) not in ({known}))"
        return f"coalesce(get({unknown}, 0), case when size({unknown}) > 0 then 'null' end)"

    def minus(self, sequence: str, distance: float | timedelta) -> str:
        """Return the sequence that lies `distance` below another."""
        if isinstance(distance, timedelta):
            return f"{sequence} - interval '{int(distance.total_seconds())}' second"
        return f"{sequence} - {distance}"

    def halved(self, number: str, times: str) -> str:
        """Return a whole number that is halved so many times."""
        return f"shiftright({number}, {times})"

    def utc_now(self) -> str:
        """Return the time in UTC."""
        return "cast(to_utc_timestamp(current_timestamp(), current_timezone()) as timestamp_ntz)"

    # types

    def is_orderable(self, type_name: str) -> bool:
        """Whether values of a type have an order."""
        members = _members(type_name)
        if members:
            return all(self.is_orderable(member) for _, member in members)
        return head(type_name) in _ORDERED

    def stores(self, type_name: str) -> bool:
        """Whether a table can have a column of a type: of none whose values are all null, as `null` has it."""
        return head(type_name) != "void"

    def has_equality(self, type_name: str) -> bool:
        """Whether values of a type can be joined by, and told apart as text."""
        return head(type_name) in {*_ORDERED, "boolean", "binary"}

    def is_text_list(self, type_name: str) -> bool:
        """Whether values of a type are lists of text."""
        return type_name.lower() == "array<string>"

    def distance_of(self, type_name: str) -> str:
        """Return what a distance between two values is."""
        kind = head(type_name)
        if kind in _TIMES:
            return "interval"
        return "number" if kind in {*_INTEGERS, *_FLOATS, "decimal"} else ""

    def order_of(self, type_name: str) -> str:
        """Return in what order values lie; a timestamp knows its zone."""
        return "moment" if head(type_name) == "timestamp" else super().order_of(type_name)

    def widens(self, stored: str, incoming: str) -> bool:
        """Whether every value of `stored` is the same value in `incoming`."""
        narrow, wide = (kind.lower().replace(" ", "") for kind in (stored, incoming))
        if narrow.startswith("array<") and wide.startswith("array<"):
            return self.widens(narrow[len("array<") : -1], wide[len("array<") : -1])
        if super().widens(narrow, wide):
            return True
        if wide in _FLOATS:
            return self.integers.get(narrow, 99) <= _FLOATS[wide] or narrow == "float"
        return (narrow, wide) == ("date", "timestamp_ntz")

    def alters(self, stored: str, incoming: str) -> bool:
        """Whether a column can be given a wider type: Iceberg does it where no file has to be written anew."""
        narrow, wide = stored.lower(), incoming.lower()
        scales = [kind.rpartition(",")[2] for kind in (narrow, wide)]
        is_decimal = narrow.startswith("decimal(") and scales[0] == scales[1]
        known = {("int", "bigint"), ("float", "double")}
        return self.alters_tables and (is_decimal or narrow == wide or (narrow, wide) in known)

    @property
    def integers(self) -> dict[str, int]:
        """Signed integer types by their bits."""
        return _INTEGERS

    # statements

    def describe(self, query: str) -> str:
        """Return the statements that tell a query's columns: those of a view, which would stay as long as the session.

        DESCRIBE QUERY is not known to Sail. Sessions may be shared between threads, hence a name for each one of a run.
        """
        if not self.is_sail:
            return f"describe query\n{query}"
        view = self.quote(described_name(self.scratch + query))
        made = f"create or replace temporary view {view} as\n{query}"
        return NEXT.join([made, f"describe table {view}", f"drop view {view}"])

    def create_view(self, name: str, query: Query) -> str:
        """Return the statement that makes a view of the session, replacing what a failed run left."""
        return f"create or replace temporary view {name} as\n{query.render()}"

    def add_working(self, name: str, columns: list[str], query: Query) -> str:
        """Return the statement that adds a query's rows to a working table, numbered for themselves."""
        del columns
        return f"insert into {name}\n{self._numbered(query)}"

    def drop_table(self, relation: str) -> str:
        """Return the statement that drops a table with its files, which Iceberg would leave where they are."""
        files = " purge" if self.table_options.startswith(" using iceberg") else ""
        return f"drop table if exists {relation}{files}"

    def afresh(self, relation: str) -> str:
        """Return the statement for an Iceberg table, which a session reads as it did before until it writes there."""
        return "" if self.is_sail else f"refresh table {relation}"

    def compact(self, relation: str) -> str:
        """Return the statement that writes the files of an Iceberg companion anew, with what lies beside them."""
        if self.companion_options == self.table_options:
            return ""
        return f"update {relation} set {names.KIND} = {names.KIND}"

    def fill(
        self, relation: str, types: Mapping[str, str], query: Query, *, is_new: bool = False
    ) -> list[str]:
        """Return the statement that makes a table of a query's rows; readers see the old one until it is complete.

        Not of Delta tables: Sail would forbid nulls in those columns in which there are none yet.
        """
        if self.is_sail:
            return super().fill(relation, types, query, is_new=is_new)
        values = ",\n    ".join(f"cast(added.{name} as {kind}) as {name}" for name, kind in types.items())
        rows = f"select\n    {values}\nfrom (\n{query.render()}\n) as added({', '.join(types)})"
        made = "create table" if is_new else "create or replace table"
        return [f"{made} {relation}{self.table_options}{self.layout} as\n{rows}"]

    def insert(self, relation: str, columns: list[str], query: Query) -> str:
        """Return the statement that adds a query's rows: all of the table's columns, by their names.

        A column that came later lies behind those that come last elsewhere. None comes on Sail, which does not find
        names in capitals there.
        """
        by_name = "" if self.is_sail else f" ({', '.join(columns)})"
        return f"insert into {relation}{by_name}\nselect * from (\n{query.render()}\n) as added"

    def add_column(self, relation: str, column: str, type_name: str) -> str:
        """Return the statement that adds an empty column."""
        return f"alter table {relation} add columns ({column} {type_name})"

    def widen_column(self, relation: str, column: str, type_name: str) -> str:
        """Return the statement that gives a column a wider type."""
        return f"alter table {relation} alter column {column} type {type_name}"

    def rename_table(self, relation: str, identifier: str) -> str:
        """Return the statement that gives a table another name in its schema."""
        schema, dot, _ = relation.rpartition(".")
        return f"alter table {relation} rename to {schema}{dot}{self.quote(identifier)}"


def described_name(query: str) -> str:
    """Return the name of the view by which a query is described."""
    return f"{names.PREFIX}described_{hashlib.sha256(query.encode()).hexdigest()[:12]}"


ENGINE = Spark(
    name="Spark",
    locator=names.ROW,
    locator_type="string",
    text_type="string",
    moment_type="timestamp_ntz",
    # Of Hive's metastore; a folder of a table may not have a much longer name either.
    identifier_limit=128,
    escapes=True,
    comparable_structs=True,
    transactions=False,
    logs_runs=False,
    not_served=("change_data_feed",),
    # Of Iceberg, of Delta, and of Delta on Sail.
    conflict=r"CommitFailedException"
    r"|ValidationException: (?:Found (?:new )?conflicting|Cannot (?:commit|determine history)|Missing required)"
    r"|(?:Concurrent|MetadataChanged)\w*Exception|DELTA_(?:CONCURRENT|METADATA_CHANGED)|Failed to commit transaction",
)
