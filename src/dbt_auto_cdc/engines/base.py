"""What every engine shares: plain SQL for each statement, and the facts a small file overrides.

Not here: the peculiarities of one engine; each has a file of its own, found by adapter type.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from dbt_auto_cdc import names
from dbt_auto_cdc.sql import Query, all_of, comma, named, text
from dbt_auto_cdc.state import Index

# Between statements that have to be sent one by one.
NEXT = "\n-- auto_cdc: next statement\n"
INTEGERS = {"smallint": 16, "integer": 32, "bigint": 64}
DECIMAL = re.compile(r"^(?:decimal|numeric)\((\d+),\s*(\d+)\)$")
_INEXACT = ("float", "real", "double")
_TEXTS = dict.fromkeys(("text", "varchar", "string", "character varying"), "text")
_TIMES = {
    "timestamp without time zone": "time",
    "timestamp with time zone": "moment",
}
_DIGITS = {8: 3, 16: 5, 32: 10, 64: 19, 128: 39}


@dataclass(frozen=True)
class Engine:
    """One engine: facts as fields, spelling as methods.

    `locator` is the expression for a row's place in a table, stable within a transaction as long as the row is
    not written. With `named_structs` a struct is of a type that has to be created: one a target, beside it. `begin`
    opens a transaction where dbt does not. `union` joins the SELECTs of flows where dbt or a person runs a model's SQL
    as it is. With `moves_tables` a table goes to another schema as it is; else it is copied. With `overwrites` a row
    is better changed where it is than removed and added anew. With `loses_lengths` most expressions forget the length
    or precision of a type, so that new tables are made of casts. Without `transactions` a run writes down what it is
    going to do before it does it (`materializations.journal`); `table_options` are what follows the columns of a table
    there, `companion_options` what follows those of a companion with more than notes, and `not_served` names options
    that mean too much for it. One that `merges` does what is written down in one statement; `layout` is how the
    target's rows lie, as the model has it configured, and `text_limit` how many bytes a text has at most, if there is a
    limit. One that `replaces_tables` puts a new table in the place of one that is there at once. One that `adds_apart`
    changes rows faster where none are added in the same statement. `scratch` is where a query's columns are told, by a
    relation beside the target.
    `moment_type` is the type of a time in UTC. Where it `escapes`, a backslash in a text takes the next letter.
    `is_run` says that this repository's tests run on it.
    With `marks_runs` transactions that write the same rows conflict, and those that add the same rows do not: there a
    run that writes also writes the record of its companion anew. `conflict` is a pattern of what an engine says, in
    letters of any case, where it refuses the later of two that wrote the same rows.
    """

    name: str
    locator: str
    locator_type: str = "bigint"
    identifier_limit: int = 63
    comparable_structs: bool = False
    named_structs: bool = False
    reads_files: bool = False
    begin: str = ""
    union: str = "union all"
    moves_tables: bool = False
    overwrites: bool = False
    loses_lengths: bool = False
    transactions: bool = True
    logs_runs: bool = True
    text_type: str = "varchar"
    moment_type: str = "timestamp"
    alters_tables: bool = True
    replaces_tables: bool = True
    adds_apart: bool = False
    table_options: str = ""
    companion_options: str = ""
    is_run: bool = True
    merges: bool = True
    layout: str = ""
    text_limit: int = 0
    escapes: bool = False
    scratch: str = ""
    not_served: tuple[str, ...] = ()
    marks_runs: bool = False
    conflict: str = ""

    def configured(self, config: Mapping[str, object], model: str) -> Engine:
        """Return the engine as a model's configuration has it; raises `AutoCdcError` for what does not work with it."""
        del config, model
        return self

    @property
    def with_tables(self) -> str:
        """The engine's name for messages about what its tables lack: of some engines only those of one format do."""
        return self.name

    # names and values

    def quote(self, name: str) -> str:
        """Return the identifier in quotes."""
        return '"' + name.replace('"', '""') + '"'

    def folded(self, name: str) -> str:
        """Return a name in the case that the engine gives it where it is not quoted."""
        return name

    def working(self, identifier: str, target: str = "") -> str:
        """Return the name of a working table, which lives as long as the connection; `target` is whose it is."""
        del target
        return self.quote(identifier)

    def text(self, value: str) -> str:
        """Return a text literal."""
        return text(value)

    def place(self, alias: str, identity: Iterable[tuple[str, str]]) -> str:
        """Return where a row of a table that stays is found again; `identity` are columns with types that tell it."""
        del identity
        return f"{alias}.{self.locator}"

    def place_type(self, identity: Iterable[tuple[str, str]]) -> str:
        """Return the type of such a place."""
        del identity
        return self.locator_type

    def is_at(self, alias: str, identity: Iterable[tuple[str, str]], place: str, *, apart: bool) -> str:
        """Return the condition that a row stands at a place, in a form that joins find rows by.

        `apart` says that places tell keys, of which each has one row, or the kind of a row without one.
        """
        del apart
        return f"{self.place(alias, identity)} = {place}"

    def statements(self, sql: str) -> list[str]:
        """Return the statements of a text, where they are sent one by one; the last one that `gives_rows` has them."""
        return [sql]

    def as_text(self, expression: str) -> str:
        """Return the expression as text, for a message."""
        return f"cast({expression} as varchar)"

    def exactly(self, expression: str, type_name: str) -> str:
        """Return the expression as text that gives the same value when it is cast back, in whatever session."""
        del type_name
        return self.as_text(expression)

    def null(self, type_name: str) -> str:
        """Return a null of a type."""
        return f"cast(null as {type_name})"

    def row(self, types: Mapping[str, str], own: Mapping[str, str]) -> str:
        """Return the select list of a row with columns of these types, all null but those that it has its own of."""
        return comma(f"{own.get(name) or self.null(kind)} as {name}" for name, kind in types.items())

    def composite(self, parts: dict[str, str], type_name: str = "") -> str:
        """Return a struct of named expressions that compares field by field; `type_name` is one of `named_structs`."""
        raise NotImplementedError

    def extreme(self, function: str, expression: str, type_name: str, *, over: str = "") -> str:
        """Return the aggregate `max` or `min` of a sequence, `over` a window if there is one."""
        del type_name
        return f"{function}({expression}){over}"

    def fields(self, type_name: str) -> tuple[tuple[str, str], ...]:
        """Return the fields of a struct type with their types, in order; none for any other type."""
        del type_name
        return ()

    def field(self, expression: str, name: str) -> str:
        """Return a field of a struct."""
        raise NotImplementedError

    def latest(self, value: str, type_name: str, *, order: list[str], where: str) -> str:
        """Return the aggregate of a group's first value by an order, among the rows for which a condition is true.

        Null is a value: that of the first row counts, null or not.
        """
        del type_name
        return f"(array_agg({value} order by {', '.join(order)}) filter (where {where}))[1]"

    def firsts(
        self, columns: Mapping[str, str], source: str, *, groups: Sequence[str], order: Sequence[str]
    ) -> Query:
        """Return the query of each group's first row by an order; `columns` are expressions by their names there."""
        place = f"row_number() over (partition by {', '.join(groups)} order by {', '.join(order)})"
        ranked = f"select {', '.join(named(columns))},\n    {place} as {names.PLACE}\n{source}"
        firsts = f"select {', '.join(columns)} from ranked where {names.PLACE} = 1"
        return Query().then("ranked", ranked).then("firsts", firsts)

    def each_once(self, columns: Sequence[str], source: str) -> str:
        """Return the SELECT of the values of columns, each once, in whatever order another table is then read best."""
        return f"select distinct {', '.join(columns)} from {source}"

    def carried(self, value: str, type_name: str, *, where: str, window: str) -> str:
        """Return the value of the last row, up to this one in a named window, for which a condition is true.

        Null is a value; null as well where there is no such row. Window's frame ends with the current row.
        """
        del type_name
        written = f"(array_agg({value}) filter (where {where}) over {window})"
        return f"{written}[count(*) filter (where {where}) over {window}]"

    def differs(self, left: str, right: str) -> str:
        """Return the condition that two values are not the same, where null is a value."""
        return f"{left} is distinct from {right}"

    def is_same(self, left: str, right: str, *, type_name: str) -> str:
        """Return the condition that two values are the same, null being one, in a form that joins find rows by."""
        del type_name
        return f"{left} is not distinct from {right}"

    def comparable(self, expression: str, type_name: str) -> str:
        """Return the expression in a form that can be compared and grouped."""
        del type_name
        return expression

    def in_order(self, expression: str, type_name: str) -> str:
        """Return a sequence in a form that is ordered in the same way on every engine."""
        del type_name
        return expression

    def out_of_order(self, type_name: str) -> str:
        """Return a type without what `in_order` adds to it, as `describe_stored` tells it."""
        return type_name

    def null_parts(self, expression: str, type_name: str) -> list[str]:
        """Return the conditions that a part of a struct is null, at whatever depth; none for what has no parts."""
        found = []
        for name, member in self.fields(type_name):
            part = self.field(expression, name)
            found += [f"{part} is null", *self.null_parts(part, member)]
        return found

    def packed(self, name: str, columns: list[str], condition: str) -> list[str]:
        """Return the select list that keeps columns where a condition holds, for one that mostly does not."""
        del name
        return [f"case when {condition} then {column} end as {column}" for column in columns]

    def unpacked(self, packed: str, column: str) -> str:
        """Return one of the columns that `packed` kept; `packed` is its name, with the relation's before it."""
        relation, _, _ = packed.partition(".")
        return f"{relation}.{column}"

    def descending(self, expression: str) -> str:
        """Return an ORDER BY entry: greatest first, null last."""
        return f"{expression} desc nulls last"

    def minus(self, sequence: str, distance: float | timedelta) -> str:
        """Return the sequence that lies `distance` below another."""
        if isinstance(distance, timedelta):
            return f"{sequence} - interval {text(f'{int(distance.total_seconds())} seconds')}"
        return f"{sequence} - {distance}"

    def short_of(self, value: str, type_name: str, distance: float | timedelta) -> str:
        """Return what lies `distance` below a value that is given as text; of numbers also below what a type holds."""
        stored = f"cast({text(value)} as {type_name})"
        if isinstance(distance, timedelta):
            return self.minus(stored, distance)
        below = Decimal(value) - Decimal(str(distance))
        return f"({below:f})" if below.is_finite() else stored

    def halved(self, number: str, times: str) -> str:
        """Return a whole number that is halved so many times, each time rounded down."""
        return f"({number}) >> {times}"

    def utc_now(self) -> str:
        """Return the time at which the transaction began, as a timestamp in UTC."""
        raise NotImplementedError

    def gives_rows(self, sql: str) -> bool:
        """Whether the rows of a statement may be asked for: some clients have to know that beforehand."""
        del sql
        return True

    # types

    def takes_list(self, option: str) -> bool:
        """Whether a sequence may be a list of columns, which is a struct of them: types with names are made for one."""
        return self.comparable_structs and not (self.named_structs and option == "system_sequence_by")

    def is_orderable(self, type_name: str) -> bool:
        """Whether values of a type have an order that every part of the engine agrees on."""
        raise NotImplementedError

    def stores(self, type_name: str) -> bool:
        """Whether a table can have a column of a type."""
        del type_name
        return True

    def has_equality(self, type_name: str) -> bool:
        """Whether values of a type can be joined by."""
        del type_name
        return True

    def has_groups(self, type_name: str) -> bool:
        """Whether rows can be put together by values of a type."""
        return self.has_equality(type_name)

    def is_condition(self, type_name: str) -> bool:
        """Whether values of a type are true or false."""
        return type_name.lower() in {"boolean", "bool"}

    def is_text_list(self, type_name: str) -> bool:
        """Whether values of a type are lists of text."""
        return type_name.lower() in {"text[]", "varchar[]", "character varying[]"}

    def is_listed(self, name: str, names: str) -> str:
        """Return the condition that a list of text has a name, without regard to case."""
        found = f"select 1 from unnest({names}) as listed(entry) where lower(entry) = {text(name.lower())}"
        return f"exists ({found})"

    def not_among(self, names: str, allowed: list[str]) -> str:
        """Return an entry of a list of text that is none of the allowed names, in any case; null if all are."""
        known = ", ".join(text(name.lower()) for name in allowed)
        unknown = f"entry is null or lower(entry) not in ({known})"
        first = "select min(coalesce(entry, 'null'))"
        return f"({first} from unnest({names}) as listed(entry) where {unknown})"

    def distance_of(self, type_name: str) -> str:
        """Return what a distance between two values is: `number`, `interval` or "" where there is none."""
        raise NotImplementedError

    def order_of(self, type_name: str) -> str:
        """Return in what order values lie, in a word that all engines share; "" where no other has that for sure.

        A `moment` is a time that knows its zone, or how far that is from UTC.
        """
        kind = type_name.lower()
        if self.distance_of(type_name) == "number":
            return "" if kind.startswith(_INEXACT) else "number"
        if kind == "date" or kind in _TEXTS:
            return _TEXTS.get(kind, kind)
        return {self.moment_type: "time", **_TIMES}.get(kind, "")

    def widens(self, stored: str, incoming: str) -> bool:
        """Whether every value of `stored` is the same value in `incoming`."""
        narrow, wide = stored.lower(), incoming.lower()
        if narrow == wide:
            return True
        integers = self.integers
        if narrow in integers and wide in integers:
            return integers[narrow] <= integers[wide]
        if found := DECIMAL.match(wide):
            precision, scale = int(found[1]), int(found[2])
            if narrow in integers:
                return precision - scale >= _DIGITS[integers[narrow]]
            if old := DECIMAL.match(narrow):
                return precision - scale >= int(old[1]) - int(old[2]) and scale >= int(old[2])
        return False

    def alters(self, stored: str, incoming: str) -> bool:
        """Whether a column can be given a type that is wider."""
        del stored, incoming
        return self.alters_tables

    @property
    def integers(self) -> dict[str, int]:
        """Signed integer types by their bits."""
        return INTEGERS

    # statements

    def afresh(self, relation: str) -> str:
        """Return the statement after which a session sees what others have written to a table; mostly none."""
        del relation
        return ""

    def lock(self, target: str, companion: str) -> str:
        """Return the statement with which a run waits for another of its model; empty where the engine sees to that."""
        del target, companion
        return ""

    def is_conflict(self, said: str) -> bool:
        """Whether an error says that another process wrote first what this one was about to write."""
        return bool(self.conflict) and re.search(self.conflict, said, re.IGNORECASE | re.DOTALL) is not None

    def lacking_in(self, contract: str) -> list[str]:
        """Return what an enforced contract, as the columns and constraints of a table, has that no table can have."""
        del contract
        return []

    def lock_log(self, relation: str) -> str:
        """Return the statement with which whoever makes the event log waits for another; empty where none can be."""
        del relation
        return ""

    def list_tables(self, *relations: str) -> str:
        """Return the query of the names, behind a `=`, of those relations that exist, and whether each is a view.

        Empty where nobody can have made one since dbt looked.
        """
        del relations
        return ""

    def has_table(self, relation: str) -> str:
        """Return the query that has a row if a table is there; asked where the engine reads files."""
        raise NotImplementedError

    def list_indexes(self, relation: str) -> str:
        """Return the query of the names, behind a `=`, and statements of the indexes that forbid to alter a table.

        Empty where the engine alters tables whatever indexes they have.
        """
        del relation
        return ""

    def index(self, relation: str, name: str, sql: str) -> Index:
        """Return one of the indexes of a table, from what `list_indexes` tells."""
        del relation
        return Index(self.quote(name), sql, sql)

    def describe(self, query: str) -> str:
        """Return the statement that tells a query's column names, behind a `=`, and types without reading it.

        The sign keeps dbt from taking a column called `null` or `1` for a value.
        """
        raise NotImplementedError

    def describe_stored(self, relation: str) -> str:
        """Return the query of the columns of a table, with types that also tell in what order values are."""
        return self.describe_relation(relation)

    def describe_relation(self, relation: str) -> str:
        """Return the statement that tells a relation's columns in the same way."""
        return self.describe(f"select * from {relation}")

    def described(self) -> str:
        """Return the statement that drops what `describe` needed; empty where nothing is left."""
        return ""

    def expect(self, query: str) -> str:
        """Return the statement that guesses how many rows a query gives: the first row has it behind `rows=`.

        Empty where nothing depends on it.
        """
        del query
        return ""

    def try_columns(self, together: str, alone: list[str]) -> str:
        """Return the query that tries queries without reading them, where one that fails would end the transaction.

        `alone` is a list of queries, and `together` has at its end the last column of each. It gives a row for each:
        its number from 0, and the type of its last column or, null before it, what is wrong. Empty where a query that
        fails does no harm.
        """
        del together, alone
        return ""

    def list_files(self, path: str) -> str:
        """Return the query of the files under a path or glob: path, name, size, modification_time.

        It reads no file. Empty where the engine lists none by itself.
        """
        del path
        return ""

    def create_working(self, name: str, query: Query, *, keys: Sequence[str] = ()) -> str:
        """Return the statement that fills a working table.

        `keys` are the columns, quoted, by which the rows of a wide table are found, beside those that are ours.
        """
        del keys
        return f"create temporary table {name} as\n{query.render()}"

    def create_scanned(self, name: str, query: Query) -> str:
        """Return the statement that fills a working table in which nothing is looked up: it is read as a whole."""
        return self.create_working(name, query)

    def add_working(self, name: str, columns: list[str], query: Query) -> str:
        """Return the statement that adds a query's rows to a working table."""
        return self.insert(name, columns, query)

    def create_view(self, name: str, query: Query) -> str:
        """Return the statement that makes a view which lives as long as the connection."""
        return f"create temporary view {name} as\n{query.render()}"

    def create_empty_view(self, name: str, column: str, query: str) -> str:
        """Return the statement that makes such a view of no row, its column of a type that suits `query`."""
        del query
        return self.create_view(name, Query().then("nothing", f"select null as {column} where false"))

    def free_view(self, name: str) -> str:
        """Return the statement that frees such a view; empty where the commit does."""
        return self.drop_view(name)

    def drop_working(self, names: list[str]) -> str:
        """Return the statements that free working tables; empty where the commit does."""
        return "\n".join(f"drop table if exists {name};" for name in names)

    def create_table(self, relation: str, query: Query, *, is_overwritten: bool = False) -> str:
        """Return the statement that makes a table of a query's rows, which are overwritten by and by or stay."""
        del is_overwritten
        return f"create table {relation} as\n{query.render()}"

    def ready(self, relation: str, keys: list[str]) -> str:
        """Return the statements that make a new companion quick to read by key; empty where it is."""
        del relation, keys
        return ""

    def copy_companion(self, relation: str, original: str) -> str:
        """Return the statement that makes a companion from another one, as quick to read as that is."""
        everything = Query().then("rows", f"select * from {original}")
        return self.create_table(relation, everything, is_overwritten=True)

    def ready_to_stream(self, relation: str, column: str) -> str:
        """Return the statement that makes a new table quick to read from some number of a run on; empty where it is."""
        del relation, column
        return ""

    def define(self, relation: str, types: Mapping[str, str], *, is_new: bool = False) -> str:
        """Return the statement that makes an empty table of columns with types, in the place of an older one.

        It fails if there is one that should not be, where it `is_new`. Asked without `transactions`.
        """
        raise NotImplementedError

    def compact(self, relation: str) -> str:
        """Return the statement that writes a companion's files anew; empty where a run leaves none that only add up."""
        del relation
        return ""

    def fill(
        self, relation: str, types: Mapping[str, str], query: Query, *, is_new: bool = False
    ) -> list[str]:
        """Return the statements that make a table of columns with types and fill it, in the place of an older one.

        Asked without `transactions`, and `is_new` as in `define`.
        """
        made = self.define(relation, types, is_new=is_new) + self.layout
        return [made, self.insert(relation, list(types), query)]

    def refill(self, relation: str) -> str:
        """Return what has to stand before a query to make a table of its rows, in the place of an older one.

        Asked without `transactions`.
        """
        raise NotImplementedError

    def laid_out(self, relation: str) -> list[str]:
        """Return the statements that lay out an empty table as `layout` says, where creating it cannot."""
        del relation
        return []

    def layout_of_companion(self, keys: list[str]) -> str:
        """Return how a companion's rows lie; nothing is said of it where nothing is of the target's."""
        del keys
        return ""

    def named(self, query: Query, alias: str, columns: Mapping[str, str]) -> str:
        """Return a query to select from, by other names of its columns, which have about these types."""
        return f"(\n{query.render()}\n) as {alias}({', '.join(columns)})"

    def insert(self, relation: str, columns: list[str], query: Query) -> str:
        """Return the statement that adds a query's rows; `columns` are quoted and in the query's order."""
        return f"insert into {relation} ({', '.join(columns)})\n{query.render()}"

    def is_located(self, alias: str, query: Query) -> str:
        """Return the condition that a query gives a row's locator."""
        return f"{alias}.{self.locator} in (\n{query.render()}\n)"

    def delete_located(self, relation: str, query: Query) -> str:
        """Return the statement that removes the rows whose locators a query gives."""
        return f"delete from {relation} where {self.locator} in (\n{query.render()}\n)"

    def delete_below(self, relation: str, condition: str, column: str, bound: str) -> str:
        """Return the statement that removes rows that meet a condition, below the one value that a query gives."""
        return f"delete from {relation} where {condition} and {column} < (\n{bound}\n)"

    def delete_matching(self, relation: str, keys: list[str], query: Query) -> str:
        """Return the statement that removes the rows whose keys a query gives."""
        on = all_of(f"tgt.{key} = gone.{key}" for key in keys)
        gone = f"select 1 from (\n{query.render()}\n) as gone where {on}"
        return f"delete from {relation} as tgt where exists (\n{gone}\n)"

    def delete_touched(self, relation: str, touched: str, *, same_key: str) -> str:
        """Return the query that removes the rows of the keys that a query has, and counts those of deletes.

        In `same_key` they are called tgt and won. It is asked where the engine `overwrites`.
        """
        raise NotImplementedError

    def overwrite_touched(self, relation: str, columns: list[str], query: Query, *, same_key: str) -> str:
        """Return the statement that puts a query's rows, one a key, in the place of those of their keys.

        In `same_key` they are called tgt and won. It is asked where the engine `overwrites`.
        """
        raise NotImplementedError

    def set_located(self, relation: str, column: str, query: Query) -> str:
        """Return the statement that sets one column of the rows a query gives as (locator, value)."""
        return (
            f"update {relation} as tgt set {column} = changed.value\n"
            f"from (\n{query.render()}\n) as changed\nwhere tgt.{self.locator} = changed.locator"
        )

    def move_table(self, relation: str, there: str, identifier: str, *, schema: str) -> str:
        """Return the statements that give a table another schema and name, with all that belongs to it."""
        raise NotImplementedError

    def move_type(self, old: str, new: str, identifier: str, *, schema: str) -> str:
        """Return the statements that give the type of a struct another name, and schema if there is one to give.

        Empty where such types have no names.
        """
        del old, new, identifier, schema
        return ""

    def overwrite_located(self, relation: str, columns: list[str], query: Query) -> str:
        """Return the statement that gives rows other values: a query has them by their columns, and the `locator`s."""
        values = ", ".join(f"{column} = changed.{column}" for column in columns)
        return (
            f"update {relation} as tgt set {values}\n"
            f"from (\n{query.render()}\n) as changed\nwhere tgt.{self.locator} = changed.locator"
        )

    def create_type(self, name: str, fields: dict[str, str]) -> str:
        """Return the statements that make the type of a struct anew, of fields with their types."""
        raise NotImplementedError

    def replace_type(self, old: str, new: str, identifier: str) -> str:
        """Return the statements that drop the type `old`, if it is there, and give its name to `new`, if any."""
        raise NotImplementedError

    def add_column(self, relation: str, column: str, type_name: str) -> str:
        """Return the statement that adds an empty column."""
        return f"alter table {relation} add column {column} {type_name}"

    def drop_column(self, relation: str, column: str) -> str:
        """Return the statement that drops a column."""
        return f"alter table {relation} drop column {column}"

    def widen_column(self, relation: str, column: str, type_name: str) -> str:
        """Return the statement that gives a column a wider type."""
        return f"alter table {relation} alter column {column} type {type_name}"

    def drop_table(self, relation: str) -> str:
        """Return the statement that drops a table, if it is there."""
        return f"drop table if exists {relation}"

    def drop_view(self, relation: str) -> str:
        """Return the statement that drops a view."""
        return f"drop view {relation}"

    def rename_table(self, relation: str, identifier: str) -> str:
        """Return the statement that gives a table another name in its schema."""
        return f"alter table {relation} rename to {self.quote(identifier)}"
