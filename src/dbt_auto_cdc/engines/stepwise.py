"""What engines share whose statements commit one by one, or whose adapter in dbt may let them do so.

Not here: how a run is made of such statements (`materializations.journal`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dbt_auto_cdc import names
from dbt_auto_cdc.engines.base import NEXT, Engine
from dbt_auto_cdc.errors import ANOTHER_RUN, AutoCdcError
from dbt_auto_cdc.spec import PARTIAL, written_option
from dbt_auto_cdc.sql import Query, all_of, code_of, comma

# What their steps are not written down for, or what is spelled too differently: aggregates of lists, passing views.
NOT_SERVED = (
    "version_query",
    *PARTIAL,
    "change_data_feed",
)


def head(type_name: str) -> str:
    """Return the word that a type begins with: `timestamp_ntz` of `TIMESTAMP_NTZ(9)`."""
    return type_name.lower().partition("(")[0].partition("<")[0].strip()


def listed(value: object) -> list[str]:
    """Return an option that is one name or a list of them as a list."""
    if not value:
        return []
    return [str(each) for each in value] if isinstance(value, list | tuple) else [str(value)]


class Stepwise(Engine):
    """No transactions, no places of rows, working tables that are tables beside the target.

    A row of a target or companion is found again by what tells it, as text; a working table gets a column that tells
    its rows apart. `number` is the expression for that, and `creates` begins the statement that makes such a table,
    where one takes the place of another at once; `ordered` are the types that have an order, and `untold` those whose
    values no text tells apart.
    """

    number = "cast(row_number() over () as varchar)"
    creates = "create or replace table"
    between = " || "
    ordered: tuple[str, ...] = ()
    untold: tuple[str, ...] = ()

    def configured(self, config: Mapping[str, Any], model: str) -> Engine:
        """Return the engine with how the rows of the model's target lie."""
        if problems := self.problems_of(config):
            raise AutoCdcError(model, problems)
        return replace(self, layout=self.layout_of_target(config))

    def problems_of(self, config: Mapping[str, Any]) -> list[str]:
        """Return what is wrong with options that are not ours alone to read."""
        if written_option(config, "event_log") is not True:
            return []
        return [f"event_log is true, and there is no event log on {self.name}; leave it out there"]

    def layout_of_target(self, config: Mapping[str, Any]) -> str:
        """Return what the options of the adapter say of how rows lie, as it follows the columns of a table."""
        del config
        return ""

    # names and values

    def working(self, identifier: str, target: str = "") -> str:
        """Return the name of a working table, which stands beside its target."""
        schema, dot, _ = target.rpartition(".")
        return f"{schema}{dot}{self.quote(identifier)}"

    def statements(self, sql: str) -> list[str]:
        """Return the statements of a text, which are sent one by one."""
        return sql.split(NEXT)

    def gives_rows(self, sql: str) -> bool:
        """Whether a statement is a query: of others Spark's thrift client cannot read even that there is no row."""
        return code_of(sql).split(maxsplit=1)[0].lower() in {"select", "with", "describe", "show"}

    def place(self, alias: str, identity: Iterable[tuple[str, str]]) -> str:
        """Return what tells a row as one text, in which no two rows look the same."""
        return self.between.join(self.told(f"{alias}.{name}", kind) for name, kind in identity)

    def told(self, value: str, type_name: str) -> str:
        """Return a value as text behind its length; null is a text too."""
        exact = self.exact(value, type_name)
        return f"coalesce(cast(length({exact}) as {self.text_type}) || ':' || {exact}, '-')"

    def exact(self, value: str, type_name: str) -> str:
        """Return a value as a text that differs where values do, whatever the session's settings are."""
        del type_name
        return self.as_text(value)

    def is_same(self, left: str, right: str, *, type_name: str) -> str:
        """Return the condition that two values are the same, null being one: of texts, by which joins find rows."""
        return f"{self.told(left, type_name)} = {self.told(right, type_name)}"

    # types

    def is_orderable(self, type_name: str) -> bool:
        """Whether values of a type have an order."""
        return head(type_name) in self.ordered

    def has_equality(self, type_name: str) -> bool:
        """Whether values of a type can be joined by, and told apart as text."""
        return head(type_name) not in self.untold

    def distance_of(self, type_name: str) -> str:
        """Return what a distance between two values is."""
        kind = head(type_name)
        if kind.startswith(("date", "timestamp")):
            return "interval"
        return "number" if self.is_orderable(type_name) and "char" not in kind and kind != "string" else ""

    # statements

    def is_conflict(self, said: str) -> bool:
        """Whether an error says that another process was in the way: in words of the engine, or in ours."""
        return ANOTHER_RUN in said or super().is_conflict(said)

    def create_working(self, name: str, query: Query, *, keys: Sequence[str] = ()) -> str:
        """Return the statement that fills a working table, in the place of an older one."""
        del keys
        return f"{self.refill(name)}\n{self._numbered(query)}"

    def _made(self, relation: str, creates: str = "create or replace table") -> str:
        """Return the beginning of the statements that make a table in the place of an older one."""
        if self.replaces_tables:
            return f"{creates} {relation}"
        return f"{self.drop_table(relation)}{NEXT}create table {relation}"

    def refill(self, relation: str) -> str:
        """Return the beginning of the statements that make a table of a query's rows, in the place of an older one."""
        return f"{self._made(relation, self.creates)}{self.table_options} as"

    def add_working(self, name: str, columns: list[str], query: Query) -> str:
        """Return the statement that adds a query's rows to a working table, told apart like the others."""
        return f"insert into {name} ({', '.join([*columns, self.locator])})\n{self._numbered(query)}"

    def _numbered(self, query: Query) -> str:
        return f"select src.*, {self.number} as {self.locator}\nfrom (\n{query.render()}\n) as src"

    def drop_working(self, working: list[str]) -> str:
        """Return the statements that free working tables."""
        return NEXT.join(self.drop_table(name) for name in working)

    def define(self, relation: str, types: Mapping[str, str], *, is_new: bool = False) -> str:
        """Return the statements that make an empty table, in the place of an older one."""
        columns = (f"{name} {kind}" for name, kind in types.items())
        made = f"create table {relation}" if is_new else self._made(relation)
        return f"{made} (\n    {comma(columns)}\n){self.table_options}"

    def insert(self, relation: str, columns: list[str], query: Query) -> str:
        """Return the statement that adds a query's rows; without names they have all columns in their order."""
        listed_columns = f" ({', '.join(columns)})" if columns else ""
        return f"insert into {relation}{listed_columns}\n{query.render()}"

    def delete_matching(self, relation: str, keys: list[str], query: Query) -> str:
        """Return the statement that removes the rows whose keys a query gives."""
        gone = f"select distinct {', '.join(keys)} from (\n{query.render()}\n) as found"
        if self.merges:
            on = all_of(f"tgt.{key} = gone.{key}" for key in keys)
            return (
                f"merge into {relation} as tgt using (\n{gone}\n) as gone\non {on}\nwhen matched then delete"
            )
        name = relation.rpartition(".")[2]
        on = all_of(f"gone.{key} = {name}.{key}" for key in keys)
        return f"delete from {relation} where exists (\nselect 1 from (\n{gone}\n) as gone where {on}\n)"

    def delete_below(self, relation: str, condition: str, column: str, bound: str) -> str:
        """Return the statement that removes rows that meet a condition, below the one value that a query gives."""
        if not self.merges:
            return super().delete_below(relation, condition, column, bound)
        on = f"{condition} and {column} < src.bound"
        return f"merge into {relation} as tgt using (\n{bound}\n) as src\non {on}\nwhen matched then delete"

    def widen_column(self, relation: str, column: str, type_name: str) -> str:
        """Return the statement that gives a column a wider type."""
        return f"alter table {relation} alter column {column} set data type {type_name}"


def described_as(engine: Engine, query: str, kind: str) -> str:
    """Return the beginning of `describe`: a relation beside the target with the query's columns."""
    no_rows = f"select * from (\n{query}\n) as described where false"
    return f"drop {kind} if exists {engine.scratch}{NEXT}create {kind} {engine.scratch} as\n{no_rows}"


def facts(**own: Any) -> dict[str, Any]:
    """Return the facts of an engine with those that all of these share."""
    shared = {
        "locator": names.ROW,
        "locator_type": own.get("text_type", "varchar"),
        "transactions": False,
        "logs_runs": False,
        "is_run": False,
        "not_served": NOT_SERVED,
    }
    return {**shared, **own}
