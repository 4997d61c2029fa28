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
    ways = _BREAKS_BESIDE_BACKSLASHES if "\\" in sql else (_BREAKS,)
    found = {deeper for breaks in ways if (deeper := _deeper(breaks, sql)) is not None}
    return INDENT + (found.pop() if len(found) == 1 else sql)


def _deeper(breaks: re.Pattern[str], sql: str) -> str | None:
    """Return SQL with its lines but the first indented, null where it is not to be read so."""
    strays = []

    def put(found: re.Match[str]) -> str:
        if found["stray"]:
            strays.append(found.start())
        return found["span"] or f"\n{INDENT}"

    deeper = breaks.sub(put, sql)
    return None if strays else deeper


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
_E_TEXT = rf"(?<!\w)[eE]{_TEXT_ESCAPED}"
_DOLLARS = r"\$(?P<tag>\w*)\$.*?\$(?P=tag)\$"
_COMMENT = r"--[^\n]*|/\*.*?\*/"


def _breaks(*spans: str) -> re.Pattern[str]:
    """Find what may hold a line break of its own, what stands in no code that is read in the right way, and breaks."""
    every = "|".join((*spans, _DOLLARS, "`[^`]*`", _COMMENT))
    return re.compile(rf"(?P<span>{every})|(?P<stray>[\\'\"`])|\n(?=[^\n])", re.DOTALL)


def _lexemes(text: str, name: str) -> re.Pattern[str]:
    return re.compile(
        rf"""(?P<text>{_E_TEXT}|{text}|{_DOLLARS})
        |(?P<name>{name}|`[^`]*`)
        |(?P<comment>{_COMMENT})
        |(?P<end>;)
        |(?P<space>\s+)
        |(?P<code>\w+|[^\w'"`$;/\s-]+|.)""",
        re.DOTALL | re.VERBOSE,
    )


_BREAKS = _breaks(_TEXT, _NAME)
_BREAKS_BESIDE_BACKSLASHES = (_breaks(_E_TEXT, _TEXT, _NAME), _breaks(_E_TEXT, _TEXT_ESCAPED, _NAME_ESCAPED))
_PLAIN, _ESCAPED = _lexemes(_TEXT, _NAME), _lexemes(_TEXT_ESCAPED, _NAME_ESCAPED)


def _read(sql: str, *, escapes: bool) -> list[re.Match[str]]:
    """Return the lexemes of SQL: those of the other reading where a backslash or a lone quote would stand in code."""
    likely, other = (_ESCAPED, _PLAIN) if escapes else (_PLAIN, _ESCAPED)
    found = list(likely.finditer(sql))
    if _is_right(found):
        return found
    otherwise = list(other.finditer(sql))
    return otherwise if _is_right(otherwise) else found


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
