"""The SQL of tests, which is written as DuckDB has it, in the words of Spark.

Not here: messages (`databases`), and SQL of the product, which has to be right as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

TYPES = {
    "bigint": "bigint",
    "date": "date",
    "boolean": "boolean",
    "integer": "int",
    "varchar": "string",
    "text": "string",
    "timestamptz": "timestamp",
    "timestamp": "timestamp_ntz",
    "blob": "binary",
    "json": "string",
}
_LEXEMES = re.compile(
    r"""'(?P<text>(?:[^']|'')*)'|\$\$(?P<dollars>.*?)\$\$|"(?P<name>(?:[^"]|"")*)"
    |(?P<kept>`[^`]*`|--[^\n]*|/\*.*?\*/)|(?P<end>;)|(?P<code>[^'"`$;/-]+|.)""",
    re.DOTALL | re.VERBOSE,
)
_TYPE = r"[A-Za-z]+(?:\([^()]*(?:\([^()]*\)[^()]*)*\))?(?:\[\])?"
_OPERAND = r"(?:'(?:[^'\\]|\\.)*'|`[^`]*`|\w+(?:\.\w+)*(?:\([^()]*\))?|\((?:[^()]|\([^()]*\))*\))"
_CAST = re.compile(rf"({_OPERAND})::({_TYPE})")
_CAST_AS = re.compile(rf"\bas ({_TYPE})\)")
_LIST = re.compile(r"\barray\[([^\[\]]*)\]")
_SERIES = re.compile(r"\bgenerate_series\((\d+), (\d+)\)")
_TIME = re.compile(r"\btimestamp(tz)?\s*$")
_CREATE = re.compile(
    r"\s*create table (?P<name>`[^`]*`|\S+) (?:\((?P<columns>.*)\)|as\s+(?P<query>.*))\s*", re.DOTALL
)
_COLUMN = re.compile(r"(`[^`]*`|\w+)\s+((?:[^,(]|\([^()]*\))+)")


@dataclass(frozen=True)
class Made:
    """A statement that makes a table, of columns with types, or else of a query's rows."""

    name: str
    types: dict[str, str]
    query: str


def spark_type(duckdb_type: str) -> str:
    """Return a type as Spark calls it."""
    if duckdb_type.endswith("[]"):
        return f"array<{spark_type(duckdb_type[:-2])}>"
    if found := re.fullmatch(r"(?i)struct\((.*)\)", duckdb_type):
        members = (member.split(maxsplit=1) for member in found[1].split(","))
        return "struct<" + ", ".join(f"{name}: {spark_type(kind)}" for name, kind in members) + ">"
    if duckdb_type.lower() == "double precision":
        return "double"
    base, rest = re.fullmatch(r"(\w+)(.*)", duckdb_type.lower()).groups()  # type: ignore[union-attr]
    return TYPES.get(base, base) + rest


def spoken(sql: str) -> str:
    """Return SQL in the words of Spark."""
    said = _LIST.sub(r"array(\1)", "".join(_words(sql)))
    said = _SERIES.sub(lambda found: f"range({found[1]}, {int(found[2]) + 1})", said)
    said = _CAST_AS.sub(lambda found: f"as {spark_type(found[1])})", said)
    return _CAST.sub(lambda found: f"cast({found[1]} as {spark_type(found[2])})", said)


def statements(sql: str) -> Iterator[str | Made]:
    """Give the statements of a text in these words, those apart that make tables."""
    said = [""]
    for found in _LEXEMES.finditer(sql):
        if found["end"]:
            said.append("")
        else:
            said[-1] += found[0]
    for statement in filter(str.strip, said):
        made = _CREATE.fullmatch(spoken(statement))
        if made is None:
            yield spoken(statement)
            continue
        columns = _COLUMN.findall(made["columns"] or "")
        yield Made(made["name"], {name: spark_type(kind) for name, kind in columns}, made["query"] or "")


def _words(sql: str) -> Iterator[str]:
    """Give the lexemes as Spark has them."""
    for found in _LEXEMES.finditer(sql):
        kind = found.lastgroup
        if kind == "text":
            yield _literal(found["text"].replace("''", "'"))
        elif kind == "dollars":
            yield _literal(found["dollars"])
        elif kind == "name":
            yield "`" + found["name"].replace('""', '"').replace("`", "``") + "`"
        elif kind == "code" and sql[found.end() : found.end() + 1] == "'":
            yield _TIME.sub(lambda time: "timestamp " if time[1] else "timestamp_ntz ", found[0])
        else:
            yield found[0]


def _literal(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
