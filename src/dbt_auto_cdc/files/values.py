"""How what stands in a file becomes a value of a column, and what is rescued of what does not fit: SQL for DuckDB.

A field of JSON or CSV comes as text, one of parquet or Avro with a type of its own. A value fits a type if it is the
same value there: `1.5` is no integer, and `2026-03-01 12:00` no date.

Not here: which files and columns there are (`reading`), and how files are read (`duckdb`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from dbt_auto_cdc.sql import any_of, text

TEXT = "VARCHAR"
JSON = "JSON"
_WHOLE = re.compile(r"U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?|DECIMAL\(.*\)", re.IGNORECASE)
_TIME = re.compile(r"DATE|TIMESTAMP(?:_\w+)?", re.IGNORECASE)
# What stands behind a time of day, and is no part of it.
_ZONE = r":.*[-+a-zA-Z]"
# Types whose values are compared in a wider one, to see whether something was cut off.
_WIDER = {"DATE": "TIMESTAMP", "TIMESTAMP_S": "TIMESTAMP", "TIMESTAMP_MS": "TIMESTAMP"}


@dataclass(frozen=True)
class Converted:
    """A value in its column's type, and the condition that something was lost on the way; empty if nothing can be.

    The condition speaks of the value as `seen`, which is what it was kept as. Where it holds, the value is null, or
    stands for nothing (`is_rough`).
    """

    value: str
    misfit: str = ""
    is_rough: bool = False

    @property
    def whole(self) -> str:
        """The value, null where something was lost, as one expression."""
        return f"case when not {self.misfit} then {self.value} end" if self.is_rough else self.value


Fields = Callable[[str], tuple[tuple[str, str], ...]]


def is_nested(type_name: str) -> bool:
    """Whether a type has values within; in JSON they stand as they are, and not as the text of a string."""
    return type_name == JSON or type_name.endswith("]") or type_name.startswith(("STRUCT(", "MAP("))


def from_text(  # noqa: PLR0913 - all but the first three by name
    source: str, type_name: str, fields: Fields, *, seen: str = "", depth: int = 0, is_json: bool = False
) -> Converted:
    """Return text as a value of a type; `fields` tells those of a struct type.

    With `is_json`, what is nested is JSON already; `depth` counts lists in lists.
    """
    if type_name == TEXT:
        return Converted(source)
    if type_name == JSON and is_json:
        return Converted(source)
    if is_nested(type_name) and not is_json:
        found = from_text(f"try_cast({source} as json)", type_name, fields, depth=depth, is_json=True)
        misfit = f" or {found.misfit}" if found.misfit else ""
        return Converted(
            found.value, f"({source} is not null and try_cast({source} as json) is null{misfit})"
        )
    if members := fields(type_name):
        return _struct(source, members, fields, depth)
    if type_name.endswith("[]"):
        return _list(source, type_name[:-2], fields, depth)
    value = _cast(source, type_name)
    seen = seen or value
    lost = [f"{seen} is null"]
    if _WHOLE.fullmatch(type_name):
        # Only a number that is written with a point or a power can be another one.
        is_written_so = " or ".join(f"contains({source}, '{mark}')" for mark in ".eE")
        is_another = f"cast({seen} as double) <> try_cast({source} as double)"
        # A CASE, because DuckDB computes both sides of an AND.
        lost.append(f"case when {is_written_so} then {is_another} else false end")
    elif type_name in _WIDER:
        wider = _WIDER[type_name]
        lost.append(f"cast({seen} as {wider}) <> {_cast(source, wider)}")
    misfit = f"({source} is not null and ({any_of(lost)}))"
    return Converted(value, misfit, is_rough=len(lost) > 1)


def _cast(source: str, type_name: str) -> str:
    """Return text as a value of a type, null where it is none; a time with a zone is what it is in UTC.

    DuckDB itself leaves the zone out, or goes by it, depending on its release.
    """
    plain = f"try_cast({source} as {type_name})"
    if not _TIME.fullmatch(type_name):
        return plain
    in_utc = f"make_timestamp(epoch_us(try_cast({source} as timestamptz)))"
    has_zone = f"regexp_matches({source}, {text(_ZONE)})"
    return f"case when {has_zone} then try_cast({in_utc} as {type_name}) else {plain} end"


def _struct(source: str, members: tuple[tuple[str, str], ...], fields: Fields, depth: int) -> Converted:
    """Field by field; what is no object, and what has other fields, does not fit."""
    shape = structure((name, type_name) for name, type_name in members)
    texts = f"from_json({source}, {text(shape)})"
    parts, misfits = {}, []
    for name, type_name in members:
        part = from_text(
            f"struct_extract({texts}, {text(name)})", type_name, fields, depth=depth, is_json=True
        )
        parts[name] = part.whole
        misfits += [part.misfit] if part.misfit else []
    packed = "{" + ", ".join(f"{text(name)}: {value}" for name, value in parts.items()) + "}"
    known = ", ".join(text(name) for name in parts)
    is_other = f"(json_type({source}) <> 'OBJECT' or not list_has_all([{known}], json_keys({source})))"
    return Converted(
        f"case when {source} is not null then {packed} end",
        f"({source} is not null and ({any_of([is_other, *misfits])}))",
    )


def _list(source: str, element: str, fields: Fields, depth: int) -> Converted:
    shape = json.dumps([_shape(element)])
    texts, entry = f"from_json({source}, {text(shape)})", f"entry_{depth}"
    part = from_text(entry, element, fields, depth=depth + 1, is_json=True)
    misfits = [f"json_type({source}) <> 'ARRAY'"]
    if part.misfit:
        misfits.append(f"list_bool_or(list_transform({texts}, lambda {entry}: {part.misfit}))")
    return Converted(
        f"list_transform({texts}, lambda {entry}: {part.whole})",
        f"({source} is not null and ({any_of(misfits)}))",
    )


def structure(members: Iterable[tuple[str, str]]) -> str:
    """Return what `from_json` is told of an object's fields, so that each comes as text; JSON stays as it stands."""
    return json.dumps({name: _shape(type_name) for name, type_name in members}, ensure_ascii=False)


def _shape(type_name: str) -> str:
    return JSON if is_nested(type_name) else TEXT


def from_typed(source: str, stored: str, type_name: str, seen: str = "") -> Converted:
    """Return a typed value as one of another type: what does not come back the same does not fit."""
    if stored == type_name:
        return Converted(source)
    if type_name == TEXT:
        return Converted(f"cast({source} as varchar)")
    value = f"try_cast({source} as {type_name})"
    seen = seen or value
    back = f"try_cast({seen} as {stored})"
    misfit = f"({source} is not null and ({seen} is null or {back} is distinct from {source}))"
    return Converted(value, misfit, is_rough=True)


# inference

_DATE = r"^\d{4}-\d\d-\d\d$"
_TIMESTAMP = r"^\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d(:?\d\d)?)?$"


def kind_of_text(value: str) -> str:
    """Return the SQL that tells what text looks like: a date, a timestamp, or nothing but text."""
    return (
        f"when substr({value}, 5, 1) <> '-' then 'VARCHAR'"
        f" when regexp_matches({value}, {text(_DATE)}) and try_cast({value} as date) is not null then 'DATE'"
        f" when regexp_matches({value}, {text(_TIMESTAMP)}) and try_cast({value} as timestamp) is not null"
        f" then 'TIMESTAMP' else 'VARCHAR'"
    )


def kind_of_word(value: str) -> str:
    """Return the SQL that tells what a value of a CSV file looks like."""
    return (
        f"case when {value} is null then null when lower({value}) in ('true', 'false') then 'BOOLEAN'"
        f" when regexp_matches({value}, '^[+-]?(0|[1-9]\\d*)$') then"
        f" case when try_cast({value} as bigint) is not null then 'BIGINT' else 'VARCHAR' end"
        f" when regexp_matches({value}, '^[+-]?(0|[1-9]\\d*)\\.\\d+([eE][+-]?\\d+)?$') then 'DOUBLE'"
        f" {kind_of_text(value)} end"
    )


def kind_of_json(record: str, pointer: str) -> str:
    """Return the SQL that tells what a value of a JSON record looks like."""
    value = f"json_extract_string({record}, {text(pointer)})"
    return (
        f"case json_type({record}, {text(pointer)}) when 'NULL' then null when 'BOOLEAN' then 'BOOLEAN'"
        f" when 'OBJECT' then 'JSON' when 'ARRAY' then 'JSON'"
        # A whole number that is too large for JSON's reader is told as a DOUBLE.
        f" when 'DOUBLE' then case when not regexp_matches({value}, '^-?\\d+$') then 'DOUBLE'"
        f" when try_cast({value} as hugeint) is not null then 'HUGEINT' else 'VARCHAR' end"
        f" when 'BIGINT' then 'BIGINT' when 'UBIGINT' then"
        f" case when try_cast({value} as bigint) is not null then 'BIGINT' else 'HUGEINT' end"
        f" when 'VARCHAR' then case {kind_of_text(value)} end end"
    )


def type_of(kinds: Iterable[str]) -> str:
    """Return the type of a column whose values look like this; text where they have nothing in common."""
    found = set(kinds)
    if len(found) == 1:
        return found.pop()
    if JSON in found:
        return JSON
    for wider in (("HUGEINT", "BIGINT"), ("DOUBLE", "BIGINT", "HUGEINT"), ("TIMESTAMP", "DATE")):
        if found and found <= set(wider):
            return wider[0]
    return TEXT


def pointer(name: str) -> str:
    """Return where a field stands in a JSON record."""
    return "/" + name.replace("~", "~0").replace("/", "~1")


# rescue


@dataclass(frozen=True)
class Rescued:
    """A part of what is rescued of a record: when, and the JSON members, as SQL."""

    when: str
    members: str


def member(name: str, value: str) -> str:
    """Return a member of a JSON object, from SQL that gives its value as JSON."""
    return f"{text(json.dumps(name, ensure_ascii=False) + ':')} || {value}"


def rescued(parts: Iterable[Rescued], file: str) -> str:
    """Return what is rescued of a record as a JSON object with the file's path, null where all fitted."""
    parts = list(parts)
    if not parts:
        return "cast(null as varchar)"
    members = [f"case when {part.when} then {part.members} end" for part in parts]
    members.append(member("_file_path", f"cast(to_json({file}) as varchar)"))
    when = any_of(part.when for part in parts)
    return f"case when {when} then '{{' || concat_ws(',', {', '.join(members)}) || '}}' end"
