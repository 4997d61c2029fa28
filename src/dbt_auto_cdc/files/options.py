"""What may be written in `read_files`, as one typed value.

Not here: what the files are like (`reading`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date, datetime
from typing import Any

from dbt_auto_cdc import names
from dbt_auto_cdc.errors import did_you_mean, listed
from dbt_auto_cdc.spec import Problem, flag, one_of, option, unquoted

FORMATS = ("avro", "csv", "json", "parquet")
EVOLUTION = ("add_new_columns", "rescue", "fail_on_new_columns", "none")
_ENDINGS = {
    **dict.fromkeys(("json", "jsonl", "ndjson"), "json"),
    **dict.fromkeys(("csv", "tsv"), "csv"),
    "parquet": "parquet",
    "avro": "avro",
}
_ENDING = re.compile(r"\.(\w+?)(?:\.(?:gz|zst))?$")
# What the engine's own reader may be told beside, by format: what does not change which columns there are.
READER_OPTIONS = {
    "avro": (),
    "csv": (
        *(
            "allow_quoted_nulls",
            "buffer_size",
            "compression",
            "decimal_separator",
            "encoding",
            "max_line_size",
        ),
        *("new_line", "null_padding", "parallel", "strict_mode", "thousands"),
    ),
    "json": ("compression", "format", "maximum_object_size"),
    "parquet": ("binary_as_string", "encryption_config"),
}
# How the parts of a CSV line are told, with the reader's own word.
CSV_OPTIONS = {
    "header": "header",
    "delimiter": "delim",
    "quote": "quote",
    "escape": "escape",
    "comment": "comment",
    "null_value": "nullstr",
    "skip_rows": "skip",
}


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise Problem(f"is {value!r}; write text")
    return value


def _mark(value: object) -> str:
    if not isinstance(value, str):
        raise Problem(f"is {value!r}; write text")
    return value


def _number(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise Problem(f"is {value!r}; write a whole number above zero")
    return value


def _column(value: object) -> str:
    name = _text(value)
    if names.is_reserved(name):
        raise Problem(f"is {value!r}, and names that begin so are reserved; write another name")
    return name


def _moment(value: object) -> str:
    if isinstance(value, (date, datetime)):
        return value.isoformat()
    try:
        return datetime.fromisoformat(str(value)).isoformat()
    except ValueError:
        raise Problem(f"is {value!r}; write a time such as '2026-03-01 12:00:00+01:00'") from None


def _hints(value: object) -> tuple[tuple[str, str], ...]:
    """Return columns with their types, from `id bigint, name varchar` or a mapping."""
    if isinstance(value, Mapping):
        found = [(str(name), str(type_name)) for name, type_name in value.items()]
    elif isinstance(value, str):
        found = [_hint(part) for part in _at_commas(value) if part.strip()]
    else:
        found = []
    if not found or not all(name.strip() and type_name.strip() for name, type_name in found):
        raise Problem(f"is {value!r}; write columns with their types: 'id bigint, changed_at timestamp'")
    folded = [name.lower() for name, _ in found]
    repeated = sorted({name for name in folded if folded.count(name) > 1})
    if repeated:
        raise Problem(f"names {listed(repeated)} more than once; write each column once")
    return tuple(found)


_HINT = re.compile(r'\s*(?P<name>"(?:[^"]|"")+"|`[^`]+`|[^\s:]+)\s*:?\s+(?P<type>.+?)\s*', re.DOTALL)


def _hint(part: str) -> tuple[str, str]:
    found = _HINT.fullmatch(part)
    if not found:
        return part, ""
    return unquoted(found["name"]), found["type"]


def _at_commas(written: str) -> list[str]:
    parts, depth, begun = [], 0, 0
    for place, mark in enumerate(written):
        depth += {"(": 1, "<": 1, ")": -1, ">": -1}.get(mark, 0)
        if mark == "," and depth == 0:
            parts.append(written[begun:place])
            begun = place + 1
    return [*parts, written[begun:]]


def _mapping(value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise Problem(f"is {value!r}; write names with values: {{'compression': 'gzip'}}")
    return value


@dataclass(frozen=True, kw_only=True)
class Options:
    """The arguments of `read_files` but the path, parsed."""

    format: str = option(
        one_of(*FORMATS),
        "`json`, `csv`, `parquet` or `avro`",
        "The default is what the path ends in.",
        default="",
    )
    name: str = option(
        _text, "text", "What the model remembers the files by, where it reads several times.", default=""
    )
    schema_hints: tuple[tuple[str, str], ...] = option(
        _hints,
        "`'id bigint, at timestamp'` or a mapping",
        "Columns with their types, for what inference cannot know; they are there in any case.",
        default=(),
    )
    schema_evolution_mode: str = option(
        one_of(*EVOLUTION),
        "`add_new_columns`, `rescue`, `fail_on_new_columns` or `none`",
        "What becomes of a field that is new: a column, rescued data, a refused run, or nothing.",
        default="add_new_columns",
    )
    infer_column_types: bool = option(
        flag,
        "`true` or `false`",
        "`false` makes every column text, unless a hint says otherwise.",
        default=True,
    )
    rescued_data_column: str = option(
        _column, "column", "Where what fits no column is kept, as JSON.", default="_rescued_data"
    )
    metadata: bool = option(
        flag,
        "`true` or `false`",
        "Adds the column `_metadata`: path, name, size and time of the file.",
        default=False,
    )
    include_existing_files: bool = option(
        flag, "`true` or `false`", "`false` reads only what comes after the first run.", default=True
    )
    allow_overwrites: bool = option(
        flag, "`true` or `false`", "Read a file again when its size or time has changed.", default=False
    )
    max_files_per_trigger: int | None = option(
        _number, "number", "How many files one run reads, the oldest first; the default is all.", default=None
    )
    modified_after: str | None = option(_moment, "time", "Only files that were modified later.", default=None)
    modified_before: str | None = option(
        _moment, "time", "Only files that were modified earlier.", default=None
    )
    path_glob_filter: str | None = option(
        _text, "pattern", "Only files whose name it matches, such as `*.json`.", default=None
    )
    recursive_file_lookup: bool = option(
        flag, "`true` or `false`", "Read the folders inside the folder as well.", default=False
    )
    ignore_corrupt_files: bool = option(
        flag,
        "`true` or `false`",
        "Leave files out that cannot be read, with a warning; they are read once they have changed.",
        default=False,
    )
    ignore_missing_files: bool = option(
        flag,
        "`true` or `false`",
        "Go on when a file goes away while it is read (DuckDB 2.0 or newer).",
        default=False,
    )
    header: bool | None = option(
        flag, "`true` or `false`", "CSV: whether the first line has the names.", default=None
    )
    delimiter: str | None = option(_mark, "text", "CSV: what stands between values.", default=None)
    quote: str | None = option(_mark, "text", "CSV: what stands around values.", default=None)
    escape: str | None = option(
        _mark, "text", "CSV: what stands before a quote inside a value.", default=None
    )
    comment: str | None = option(_mark, "text", "CSV: what a line that is no data begins with.", default=None)
    null_value: str | None = option(_mark, "text", "CSV: what stands for null.", default=None)
    skip_rows: int | None = option(
        _number, "number", "CSV: how many lines to leave out at the top.", default=None
    )
    options: Mapping[str, object] | None = option(
        _mapping,
        "mapping",
        "What else the engine's reader is told, such as `{'compression': 'gzip'}`.",
        default=None,
    )

    @property
    def reader(self) -> dict[str, object]:
        """What the engine's reader is told, in its own words."""
        csv = {word: getattr(self, name) for name, word in CSV_OPTIONS.items()}
        return {word: value for word, value in csv.items() if value is not None} | dict(self.options or {})


def parse(path: object, given: Mapping[str, object]) -> tuple[Options, list[str]]:
    """Return the options, and everything that is wrong with them; the format is told from the path if it is not set."""
    known, problems = {item.name: item for item in fields(Options)}, list[str]()
    if not isinstance(path, str) or not path.strip():
        problems.append(f"is given {path!r}; write a folder, a file or a pattern such as 'landing/*.json'")
    values: dict[str, Any] = {}
    for name, value in given.items():
        if name not in known:
            problems.append(f"has no option {name}; {did_you_mean(name, known)}")
            continue
        try:
            values[name] = known[name].metadata["parse"](value)
        except Problem as problem:
            problems.append(f"{name} {problem}")
    found = _ENDING.search(str(path).lower())
    values.setdefault("format", _ENDINGS.get(found[1] if found else "", ""))
    if not values["format"] and "format" not in given and isinstance(path, str):
        problems.append(f"cannot tell the format of {path!r}; set format to {' or '.join(FORMATS)}")
    return Options(**values), [*problems, *_together(values)]


def _together(values: Mapping[str, Any]) -> list[str]:
    kind = values["format"]
    problems = [
        f"{name} is for format csv, and this is {kind}; leave it out"
        for name in CSV_OPTIONS
        if name in values and kind and kind != "csv"
    ]
    allowed = READER_OPTIONS.get(kind, ())
    problems += [
        f"options has {name!r}, which a reader of {kind} is not told here; {did_you_mean(str(name), allowed)}"
        for name in values.get("options", {})
        if kind and name not in allowed
    ]
    if kind == "csv" and values.get("ignore_corrupt_files"):
        problems.append(
            "ignore_corrupt_files does not go with format csv, where only reading all of a file tells; leave it out"
        )
    ours = {str(values.get("rescued_data_column", "_rescued_data")).lower(), "_metadata"}
    problems += [
        f"schema_hints names {name}, and read_files has a column of that name itself; leave it out"
        for name, _ in values.get("schema_hints", ())
        if name.lower() in ours or names.is_reserved(name)
    ]
    after, before = values.get("modified_after"), values.get("modified_before")
    if after and before and after >= before:
        problems.append(
            f"modified_after is {after} and modified_before {before}, and no file is later and earlier; write a later"
            f" modified_before"
        )
    return problems


def wrong(path: object, given: Mapping[str, object], others: Sequence[object]) -> list[str]:
    """Return what is wrong with a call, as far as it tells by itself."""
    problems = parse(path, given)[1]
    if others:
        problems.append(f"has {others[0]!r} without a name; name every argument but the path: format='json'")
    return [
        f"read_files {problem}" if problem[:3] in {"is ", "has", "can"} else f"read_files: {problem}"
        for problem in problems
    ]
