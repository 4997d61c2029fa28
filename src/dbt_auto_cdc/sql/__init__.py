"""Text helpers and the query value: SQL as ordered, named SELECTs.

Not here: anything an engine spells in its own way; that is `engines`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

INDENT = "    "


@dataclass(frozen=True)
class Query:
    """Named SELECT steps, rendered as one statement: all but the last become CTEs.

    A step's name says which rows it holds; a step may read the steps before it by name.
    """

    steps: tuple[tuple[str, str], ...] = ()

    def then(self, name: str, select: str) -> Query:
        """Return the query with one more step."""
        return Query((*self.steps, (name, select.strip())))

    @property
    def last(self) -> str:
        """The name of the last step."""
        return self.steps[-1][0]

    def render(self) -> str:
        """Return the SQL text, without a closing semicolon."""
        *ctes, (_, last) = self.steps
        if not ctes:
            return last
        rendered = ",\n".join(f"{name} as (\n{indented(select)}\n)" for name, select in ctes)
        return f"with {rendered}\n{last}"


# What may hold a line break that belongs to it.
_SPANS = r"""'(?:[^']|'')*'|\$(?P<tag>\w*)\$.*?\$(?P=tag)\$|"(?:[^"]|"")*"|`[^`]*`|--[^\n]*|/\*.*?\*/"""
_BREAKS = re.compile(rf"(?P<span>{_SPANS})|\n(?=[^\n])", re.DOTALL)


def is_read(relation: str, sql: str) -> bool:
    """Tell whether the text names a relation, and not one whose name begins like its name."""
    return re.search(rf"(?<![\w`.\"]){re.escape(relation)}(?![\w`\"])", sql) is not None


def indented(sql: str) -> str:
    """Return SQL one level deeper; text and names that go over several lines stay what they are."""
    return INDENT + _BREAKS.sub(lambda found: found["span"] or f"\n{INDENT}", sql)


def comma(parts: Iterable[str]) -> str:
    """Join select-list entries, one a line."""
    return f",\n{INDENT}".join(parts)


def named(columns: Mapping[str, str]) -> list[str]:
    """Return select-list entries for expressions by their names; a column of its own name goes without `as`."""
    return [value if value.endswith(f".{name}") else f"{value} as {name}" for name, value in columns.items()]


def all_of(conditions: Iterable[str]) -> str:
    """Join conditions with AND; true if there are none."""
    return " and ".join(conditions) or "true"


def any_of(conditions: Iterable[str]) -> str:
    """Join conditions with OR; false if there are none."""
    return " or ".join(conditions) or "false"


def text(value: str) -> str:
    """Return a SQL text literal."""
    return "'" + value.replace("'", "''") + "'"


_LEXEMES = re.compile(
    r"""(?P<text>'(?:[^']|'')*'|\$(?P<tag>\w*)\$.*?\$(?P=tag)\$)
    |(?P<name>"(?:[^"]|"")*"|`[^`]*`)
    |(?P<comment>--[^\n]*|/\*.*?\*/)
    |(?P<end>;)
    |(?P<space>\s+)
    |(?P<code>[^'"`$;/\s-]+|.)""",
    re.DOTALL | re.VERBOSE,
)


def code_of(sql: str) -> str:
    """Return SQL text without what stands in its text literals and comments; quoted names stay."""
    return "".join(
        {"text": "''", "comment": " "}.get(str(found.lastgroup), found[0]) for found in _LEXEMES.finditer(sql)
    )


def without_semicolon(sql: str) -> str:
    """Return a statement without a closing semicolon and what follows it."""
    end, is_ended = 0, False
    for found in _LEXEMES.finditer(sql):
        if found.lastgroup not in {"end", "space", "comment"}:
            end, is_ended = found.end(), False
        is_ended = is_ended or found.lastgroup == "end"
    return sql[:end] if is_ended else sql
