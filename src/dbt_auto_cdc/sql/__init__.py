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


def is_read(relation: str, sql: str) -> bool:
    """Tell whether the text names a relation, and not one whose name begins like its name."""
    return re.search(rf"(?<![\w`.\"]){re.escape(relation)}(?![\w`\"])", sql) is not None


def indented(sql: str) -> str:
    """Return SQL one level deeper; text and names that go over several lines stay what they are.

    SQL that cannot be read for certain stays as it is.
    """
    if not _ODD.search(sql):
        return INDENT + _BREAKS.sub(lambda found: found["span"] or f"\n{INDENT}", sql)
    found = [reading for reading in _readings(sql) if _is_right(reading)]
    if not found or len({tuple(each.span() for each in reading) for reading in found}) > 1:
        return INDENT + sql
    *before, last = found[0]
    parts = [_deeper(each[0]) if each.lastgroup == "space" else each[0] for each in before]
    return "".join((INDENT, *parts, last[0]))


def _deeper(space: str) -> str:
    """Return the space between two words with the last line that it begins indented."""
    above, line, rest = space.rpartition("\n")
    return f"{above}{line}{INDENT}{rest}" if line else space


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


_TEXT = r"'(?:[^']|'')*'"
_NAME = r'"(?:[^"]|"")*"'
# A backslash in them takes the letter behind it: in e'...' everywhere, on Spark and others like it in all texts.
_TEXT_ESCAPED = r"'(?:[^'\\]|\\.|'')*'"
_NAME_ESCAPED = r'"(?:[^"\\]|\\.|"")*"'
_DOLLARS = r"\$(?P<tag>\w*)\$.*?\$(?P=tag)\$"
_REST = r"`[^`]*`|--[^\n]*|/\*.*?\*/"
# What may hold a line break that belongs to it, in SQL without anything that may be read in two ways.
_BREAKS = re.compile(rf"(?P<span>{_TEXT}|{_DOLLARS}|{_NAME}|{_REST})|\n(?=[^\n])", re.DOTALL)
_ODD = re.compile(r"\\|/\*|//|#")


def _lexemes(text: str, name: str) -> re.Pattern[str]:
    return re.compile(
        rf"""(?P<text>[eE]{_TEXT_ESCAPED}|{text}|{_DOLLARS})
        |(?P<name>{name}|`[^`]*`)
        |(?P<comment>--[^\n]*|/\*.*?\*/)
        |(?P<end>;)
        |(?P<space>\s+)
        |(?P<code>\w+|[^\w'"`$;/\s-]+|.)""",
        re.DOTALL | re.VERBOSE,
    )


_PLAIN, _ESCAPED = _lexemes(_TEXT, _NAME), _lexemes(_TEXT_ESCAPED, _NAME_ESCAPED)


def _readings(sql: str) -> list[list[re.Match[str]]]:
    """Return the lexemes of SQL as they are without backslashes that hide quotes in texts, and with them."""
    return [list(lexemes.finditer(sql)) for lexemes in ((_PLAIN, _ESCAPED) if "\\" in sql else (_PLAIN,))]


def _read(sql: str, *, escapes: bool) -> list[re.Match[str]]:
    """Return the lexemes of SQL: those of the other reading where a backslash or a lone quote would stand in code."""
    readings = _readings(sql)
    likely = readings[::-1] if escapes else readings
    return next(filter(_is_right, likely), likely[0])


def _is_right(found: Iterable[re.Match[str]]) -> bool:
    return not any(each.lastgroup == "code" and any(mark in each[0] for mark in "\\'\"`") for each in found)


def code_of(sql: str) -> str:
    """Return SQL text without what stands in its text literals and comments; quoted names stay."""
    found = _read(sql, escapes=False)
    return "".join({"text": "''", "comment": " "}.get(str(each.lastgroup), each[0]) for each in found)


def without_semicolon(sql: str, *, escapes: bool) -> str:
    """Return a statement without a closing semicolon and what follows it.

    `escapes` tells whether a backslash hides a quote in the engine's texts, where only that says what is a text.
    """
    end, is_ended = 0, False
    for found in _read(sql, escapes=escapes):
        if found.lastgroup not in {"end", "space", "comment"}:
            end, is_ended = found.end(), False
        is_ended = is_ended or found.lastgroup == "end"
    return sql[:end] if is_ended else sql
