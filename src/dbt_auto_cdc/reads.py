"""Reads: relations in a model's SQL that give each committed run only what is new, and how they stand there.

Not here: what a kind of read observes and remembers (`streams`, and others in `KINDS`), and where its steps stand in a
plan (`materializations.tables`).

A read is legal SQL as it stands, and gives everything: in `dbt show`, unit tests and other tools. A run of ours puts
another relation in its place.
"""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from dbt_auto_cdc.errors import AutoCdcError
from dbt_auto_cdc.state import Ask, Position, Reading, Relations

if TYPE_CHECKING:
    from dbt_auto_cdc.engines.base import Engine

# The kinds of reads, each with the module that has its `problems` and `observe`.
KINDS = {"stream": "dbt_auto_cdc.streams", "files": "dbt_auto_cdc.files.reading"}

_BEGIN = "-- auto_cdc: read "
_END = "-- auto_cdc: end of read"
# The marks may have been indented, with what stands around them.
_MARKED = re.compile(
    rf"\([ ]{_BEGIN}(?P<header>{{[^\n]*}})\n(?P<sql>.*?)\n\s*{_END}\n\s*\)",
    re.DOTALL,
)


@dataclass(frozen=True)
class Read:
    """One read as it stands in a model: its kind, its name there, its options, and SQL that gives everything."""

    kind: str
    name: str
    options: Mapping[str, Any]
    sql: str = ""

    @property
    def noted(self) -> dict[str, Any]:
        """Kind, name and options, as they are kept in the model's SQL and its configuration."""
        return {"kind": self.kind, "name": self.name, **self.options}

    @property
    def header(self) -> str:
        """What is noted, as text: two reads with one header are one."""
        return json.dumps(self.noted, sort_keys=True)

    @classmethod
    def of(cls, noted: Mapping[str, Any], sql: str = "") -> Read:
        """Return a read from what was noted of it."""
        options = {name: value for name, value in noted.items() if name not in {"kind", "name"}}
        return cls(noted["kind"], noted["name"], options, sql)


def marked(read: Read) -> str:
    """Return a read as a relation for FROM; no alias, for the caller gives one."""
    return f"( {_BEGIN}{read.header}\n{read.sql}\n{_END}\n)"


def cut(sql: str) -> tuple[Read, ...]:
    """Return the reads of a compiled model, each once, in their order."""
    if _BEGIN not in sql:
        return ()
    found = (Read.of(json.loads(mark["header"]), mark["sql"].strip()) for mark in _MARKED.finditer(sql))
    return tuple({read.header: read for read in found}.values())


def replaced(sql: str, by: Mapping[str, str], *, marks: bool = False) -> str:
    """Return SQL with other relations in the place of its reads, by their headers.

    With `marks` they go on being reads. What is in no other's place stays as it is.
    """

    def relation(mark: re.Match[str]) -> str:
        read = Read.of(json.loads(mark["header"]))
        if read.header not in by:
            return mark[0]
        return marked(replace(read, sql=by[read.header])) if marks else f"(\n{by[read.header]}\n)"

    return _MARKED.sub(relation, sql) if _BEGIN in sql else sql


# what may be written


def problems_of(reads: Sequence[Read], materialized: str) -> list[str]:
    """Return what is wrong with a model's reads, as far as it can be told without looking at anything."""
    problems = [problem for read in reads for problem in _module(read.kind).problems(read, materialized)]
    named: dict[str, int] = {}
    for read in {read.header: read for read in reads}.values():
        named[read.name.lower()] = named.get(read.name.lower(), 0) + 1
    problems += [
        f"{count} reads are called {name}, and each remembers under its name what was read; give each a name of its"
        f" own, as in name='{name}_2', or write the same options in all of them"
        for name, count in named.items()
        if name and count > 1
    ]
    return list(dict.fromkeys(problems))


# what a run makes of them


@dataclass(frozen=True)
class Around:
    """What a kind of read may look at: the model, the positions that it left, and a way to ask the engine.

    `goes_on` tells that the target that is there is kept; without that a read starts over. `appends` says that rows
    that are read twice are there twice. `whole` has the headers of reads of which every run needs
    everything. `partial` is the flag under which the model reads a part of its source. `flows` are those that
    have a read, by its header; `named` has the names of all reads that the model has, in lower case, read now or not;
    `run` tells the run from others, where its working tables have to.
    """

    model: str
    relations: Relations
    engine: Engine
    ask: Ask
    goes_on: bool
    appends: bool
    whole: frozenset[str] = frozenset()
    partial: str = ""
    positions: Mapping[str, Position] = field(default_factory=dict)
    named: frozenset[str] = frozenset()
    flows: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    run: str = ""


def observed(reads: Sequence[Read], around: Around) -> tuple[Reading, ...]:
    """Look at what each read is of; raises `AutoCdcError` with everything that stands against them."""
    readings, problems = [], list[str]()
    for number, read in enumerate(reads):
        try:
            reading = _module(read.kind).observe(read, around, number)
        except AutoCdcError as error:
            problems += error.problems
        else:
            readings.append(reading)
    if problems:
        raise AutoCdcError(around.model, problems)
    return tuple(readings)


def _module(kind: str) -> Any:
    return importlib.import_module(KINDS[kind])
