"""What a run makes of `read_files`: which files are new, which columns they have, and what is remembered of both.

Files that were read are rows of a table beside the target, the columns are part of the read's position; both are
written in the transaction that writes the rows.

Not here: what may be written (`options`), and how an engine spells it (`duckdb`, `values`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dbt_auto_cdc import names, reads
from dbt_auto_cdc.engines import engine_for
from dbt_auto_cdc.engines.base import Engine
from dbt_auto_cdc.errors import AutoCdcError, listed, said_by
from dbt_auto_cdc.files import values
from dbt_auto_cdc.files.duckdb import (
    CAN_MISS_FILES,
    FAULTS,
    LOOKS_ELSEWHERE,
    MISSING,
    NOT_CORRUPT,
    REGISTRY_COLUMNS,
    TRANSACTION,
    Files,
)
from dbt_auto_cdc.files.local import listings
from dbt_auto_cdc.files.options import Options, parse, wrong
from dbt_auto_cdc.files.rows import METADATA, Rows, Shape
from dbt_auto_cdc.plan import Fault, Step
from dbt_auto_cdc.reads import Around, Read
from dbt_auto_cdc.spec import SPECS
from dbt_auto_cdc.sql import comma, text
from dbt_auto_cdc.state import Ask, Position, Reading, columns_in

KIND = "files"

# Where files are read once. Everywhere else, and for whole dumps, they are all read whenever the SQL is.
_STEP_BY_STEP = ("auto_cdc", "append_flow", "replace_using")


# what may be written


def read_files(  # noqa: PLR0913 - one call from Jinja, all by name
    *,
    model: str,
    adapter_type: str,
    path: Any,
    options: Mapping[str, object],
    others: Sequence[object],
    before: list[dict[str, object]],
    looks: bool,
    ask: Ask,
) -> str:
    """Return files as a relation for FROM, and note it in `before`, which has the model's reads before it.

    As it stands it gives the rows of all files that are there: with `looks`, in the columns that they have now. Raises
    `AutoCdcError` for what is wrong with the arguments by themselves, and for an engine that reads no files.
    """
    given = {name: value for name, value in options.items() if value is not None}
    problems = wrong(path, given, others)
    if problems:
        raise AutoCdcError(model, problems)
    parsed, _ = parse(path, given)
    noted = {"path": path, "given": {name: _plain(value) for name, value in given.items()}}
    read = Read(KIND, parsed.name or KIND, noted)
    if looks:
        engine = _reading_engine(adapter_type, model)
        found = _Found(
            read, parsed, engine, model, ask, Files(path, parsed, read.name, f"{names.PREFIX}{KIND}")
        )
        read = replace(read, sql=found.plain())
    else:
        read = replace(read, sql=f"select cast(null as varchar) as {parsed.rescued_data_column}")
    before.append(read.noted)
    return reads.marked(read)


def _plain(value: object) -> object:
    """A value as it can be noted: dates are text there."""
    return value if isinstance(value, (bool, int, float, str, list, dict)) else str(value)


def _reading_engine(adapter_type: str, model: str) -> Engine:
    engine = engine_for(adapter_type)
    return _reading(engine, engine.name if engine else adapter_type, model)


def _reading(engine: Engine | None, called: str, model: str) -> Engine:
    if engine is None or not engine.reads_files:
        problem = (
            f"read_files is for DuckDB, and {called} reads no files in SQL; load them into a table first, and read that"
            f" with stream(ref(...))"
        )
        raise AutoCdcError(model, [problem])
    return engine


def problems(read: Read, materialized: str) -> list[str]:
    """Return why files do not go with a model's materialization: they go with every one, or are all read there."""
    given = read.options["given"]
    if materialized in _STEP_BY_STEP:
        return []
    return [
        f"read_files {read.name} has {name}, and a model materialized as {materialized} reads all files in every run;"
        f" leave it out"
        for name in ("allow_overwrites", "include_existing_files", "max_files_per_trigger")
        if name in given
    ]


# what is found


@dataclass(frozen=True)
class _Found:
    """The files of a read, and what is known of their columns from earlier runs."""

    read: Read
    options: Options
    engine: Engine
    model: str
    ask: Ask
    files: Files
    recorded: Mapping[str, str] = field(default_factory=dict)

    def _refuse(self, problem: str) -> AutoCdcError:
        return AutoCdcError(self.model, [f"read_files {self.read.name}: {problem}"])

    def _asked(self, query: str) -> Sequence[Sequence[object]]:
        """Ask the engine about what is in files; a file that cannot be read is refused in words."""
        try:
            return self.ask(query)
        except Exception as error:
            raise self._refuse(f"{_fault(self.read)} {said_by(self.engine.name, error)}") from error

    # files

    def look(self) -> tuple[int, int]:
        """Look for files that are to be read; returns their number and their bytes."""
        if self.options.ignore_missing_files and not self.ask(CAN_MISS_FILES):
            raise self._refuse(
                "ignore_missing_files needs DuckDB 2.0 or newer; leave it out, and run again instead"
            )
        self._list_names()
        if not self._has_names():
            return 0, 0
        self._asked(self.files.list_files())
        return self._count()

    def _list_names(self) -> None:
        """Put new names into a variable."""
        patterns = () if self.files.is_looked_at or self.ask(LOOKS_ELSEWHERE) else self.files.patterns
        with listings(patterns) as found:
            self._asked(self.files.list_names(found))

    def _count(self) -> tuple[int, int]:
        number, size, *_ = self._told(self.files.told())
        if number:
            for statement in self.files.choose():
                self.ask(statement)
        return int(str(number)), int(str(size))

    def _has_names(self) -> bool:
        return bool(self._told(f"select count(*) where {self.files.value('names')} is not null")[0])

    def has_empty(self) -> bool:
        """Whether there are files without a byte, which are read when they have some."""
        return self._has_names() and bool(self._told(self.files.count_empty())[0])

    def _told(self, query: str) -> Sequence[object]:
        return self._asked(query)[0]

    def leave_corrupt_out(self, number: int) -> tuple[int, int, dict[str, str]]:
        """Take files that cannot be read from those that are; returns number and bytes of the rest.

        And the others, with what the engine says of each.
        """
        said = dict[int, str]()
        # In a transaction an attempt that fails would end it, and with it what a hook did.
        if self.ask(TRANSACTION) == self.ask(TRANSACTION):
            self._asked(self.files.guess_corrupt())
        else:
            said = self._refused(1, number)
            self.ask(self.files.note_corrupt(sorted(said)))
        found = self._told(f"select cast(to_json({self.files.value('corrupt')}) as varchar)")[0]
        corrupt = json.loads(str(found)) if found is not None else []
        self.ask(self.files.part("skipped"))
        if corrupt:
            self.ask(self.files.part("files"))
        reasons = [said[place] for place in sorted(said)] or [""] * len(corrupt)
        return *self._count(), dict(zip(corrupt, reasons, strict=True))

    def _refused(self, first: int, last: int) -> dict[int, str]:
        """Return which files the reader refuses, with its words: all are tried at once, then halves of what fails."""
        try:
            self.ask(self.files.attempt(first, last))
        except Exception as error:  # noqa: BLE001 - `_reason` raises what is not of the file
            if first == last:
                return {first: self._reason(first, error)}
        else:
            return {}
        middle = (first + last) // 2
        return self._refused(first, middle) | self._refused(middle + 1, last)

    def _reason(self, place: int, error: Exception) -> str:
        """Return what is wrong with a file; raises `AutoCdcError` where it is not the file."""
        said = said_by(self.engine.name, error)
        path = str(self._told(self.files.path_of(place))[0])
        if re.search(NOT_CORRUPT, said.replace(path, "")):
            raise self._refuse(f"{_fault(self.read)} {said}") from error
        return said

    # columns

    def shape(self, *, has_files: bool) -> tuple[Shape, list[str]]:
        """Return the columns, and the fields that are new to a read that goes on."""
        hints = self._hints()
        fields = self._fields() if has_files else {}
        known = {**self.recorded}
        for name, type_name in hints.items():
            known[_same(name, known) or name] = type_name
        mode = self.options.schema_evolution_mode
        new = [name for name in fields if not _same(name, known) and self._is_fit(name)]
        new = list({name.lower(): name for name in reversed(new)}.values())[::-1]
        takes = mode == "add_new_columns" or not self.recorded
        types = {**known, **(self._infer(new, fields) if takes and new else {})}
        spellings = {
            name: tuple(
                sorted((one for one in fields if one.lower() == name.lower()), key=lambda one: one != name)
            )
            for name in types
        }
        return Shape(types, spellings, fields), [] if takes and not self.recorded else new

    def _is_fit(self, name: str) -> bool:
        """Whether a field can be a column; a name that we use ourselves is rescued."""
        ours = {self.options.rescued_data_column.lower(), METADATA}
        return bool(name) and not names.is_reserved(name) and name.lower() not in ours

    def _hints(self) -> dict[str, str]:
        """Return the hinted types in the engine's words."""
        hints = dict(self.options.schema_hints)
        if not hints:
            return {}
        nulls = comma(
            f"cast(null as {type_name}) as {self.engine.quote(name)}" for name, type_name in hints.items()
        )
        try:
            rows = self.ask(self.engine.describe(f"select\n    {nulls}"))
        except Exception as error:
            said = said_by(self.engine.name, error)
            raise self._refuse(
                f"schema_hints has a type that {self.engine.name} does not know; {said}"
            ) from error
        return dict(zip(hints, (str(row[1]) for row in rows), strict=True))

    def _fields(self) -> dict[str, str]:
        """Return the fields in the files, with the types that they have there; text for JSON and CSV."""
        if self.options.format == "json":
            first, every = (json.loads(str(one or "[]")) or [] for one in self._told(self.files.fields()))
            return dict.fromkeys([*first, *(one for one in every if one not in first)], values.TEXT)
        if self.options.format == "avro":
            return self._fields_of_each()
        return self._described(self.files.describe())

    def _described(self, query: str) -> dict[str, str]:
        rows = self._asked(self.engine.describe(query))
        return {column.name: column.type for column in columns_in(rows)}

    def _fields_of_each(self) -> dict[str, str]:
        """Return the fields of files that have to be alike: DuckDB takes those of the first, and leaves others out."""
        listed_paths = self._told(f"select cast(to_json({self.files.value('paths')}) as varchar)")[0]
        fields = {
            path: self._described(self.files.describe(text(path))) for path in json.loads(str(listed_paths))
        }
        first, *others = fields
        if other := next((path for path in others if fields[path] != fields[first]), None):
            raise self._refuse(
                f"{first} has the fields {listed(fields[first])}, and {other} has {listed(fields[other])}, and files of"
                f" format avro that are read in one run have to be alike; set max_files_per_trigger to 1"
            )
        return fields[first]

    def _infer(self, new: Sequence[str], fields: Mapping[str, str]) -> dict[str, str]:
        """Return the types of new columns."""
        if self.options.format in {"parquet", "avro"}:
            return {name: fields[name] for name in new}
        if not self.options.infer_column_types:
            return dict.fromkeys(new, values.TEXT)
        kinds = json.loads(str(self._told(self.files.kinds(new))[0]))
        return {name: values.type_of(found or []) for name, found in zip(new, kinds, strict=True)}

    # SQL

    def no_rows(self, shape: Shape) -> str:
        """Return a relation of the same columns without rows."""
        return Rows(self.files, shape, self.engine).none()

    def rows(self, shape: Shape) -> str:
        """Return the rows of the files that are to be read."""
        return self._rows(shape, self.files.value("paths"))

    def _rows(self, shape: Shape, paths: str) -> str:
        return Rows(self.files, shape, self.engine).select(paths)

    def plain(self) -> str:
        """Return the rows of all files that are there now, which the SQL names one by one."""
        number, _ = self.look()
        if number and self.options.ignore_corrupt_files:
            number, *_ = self.leave_corrupt_out(number)
        has_rows = bool(number)
        shape, _ = self.shape(has_files=has_rows)
        if not has_rows:
            return Rows(self.files, shape, self.engine).none()
        listed_paths = self._told(f"select cast(to_json({self.files.value('paths')}) as varchar)")[0]
        paths = "[" + ", ".join(map(text, json.loads(str(listed_paths or "[]")))) + "]"
        return self._rows(shape, paths) if paths != "[]" else Rows(self.files, shape, self.engine).none()


def _same(name: str, known: Mapping[str, str]) -> str | None:
    """Return how a name is spelt among known ones."""
    return next((one for one in known if one.lower() == name.lower()), None)


def _fault(read: Read) -> str:
    return (
        f"a file of {read.options['path']} cannot be read; mend it or take it away, and write files aside and move them"
        f" in when they are whole;"
    )


# what a run makes of it


def observe(read: Read, around: Around, number: int) -> Reading:
    """Look at which files are new and what they have; raises `AutoCdcError` with what stands against reading them."""
    engine = _reading(around.engine, around.engine.name, around.model)
    options, _ = parse(read.options["path"], read.options["given"])
    is_whole = read.header in around.whole
    if is_whole:
        around = replace(around, positions={}, goes_on=False, partial="--empty" if around.partial else "")
    position = around.positions.get(read.name.lower()) if around.goes_on else None
    _refuse_unfit(read, around, position)
    registry = around.relations.files if not is_whole and _has_registry(around) else ""
    if position is not None and not registry:
        problem = (
            f"{around.relations.files}, where the files stand that were read, is gone; bring it back, or rebuild the"
            f" target with --full-refresh"
        )
        raise AutoCdcError(around.model, [f"read_files {read.name}: {problem}"])
    variable = f"{names.PREFIX}{around.relations.identifier}_{number}"
    files = Files(
        str(read.options["path"]),
        options,
        read.name,
        variable,
        registry=registry if position is not None else "",
    )
    recorded = dict(position.more.get("columns", {})) if position is not None else {}  # type: ignore[call-overload]
    found = _Found(read, options, engine, around.model, around.ask, files, recorded)
    return _Run(found, around, position).reading()


def _refuse_unfit(read: Read, around: Around, position: Position | None) -> None:
    if position is None:
        return
    problem = ""
    if position.is_sample:
        problem = (
            f"{around.relations.target} was built with a part of it; rebuild the target with --full-refresh"
        )
    elif position.kind != KIND:
        problem = f"it was read as {position.kind} before; give it another name, as in name='{read.name}_2'"
    if problem:
        raise AutoCdcError(around.model, [f"read_files {read.name}: {problem}"])


def _has_registry(around: Around) -> bool:
    """Tell whether the table of the files that were read is there; raises `AutoCdcError` for somebody else's."""
    table = around.relations.files
    if not around.ask(around.engine.has_table(table)):
        return False
    found = around.ask(around.engine.describe_relation(table))
    if not set(REGISTRY_COLUMNS) <= {column.name.lower() for column in columns_in(found)}:
        problem = (
            f"{table} was not made by auto_cdc, which keeps there which files were read; rename that table, or give"
            f" the model another alias"
        )
        raise AutoCdcError(around.model, [problem])
    return True


@dataclass(frozen=True)
class _Run:
    """One run's view of a read."""

    found: _Found
    around: Around
    position: Position | None

    @property
    def _is_first(self) -> bool:
        return self.position is None

    def reading(self) -> Reading:
        """Return what the run does with the files."""
        found, read = self.found, self.found.read
        number, size = found.look()
        corrupt = dict[str, str]()
        if number and found.options.ignore_corrupt_files:
            number, size, corrupt = found.leave_corrupt_out(number)
        shape, new = found.shape(has_files=bool(number))
        if not shape.types:
            raise self._lacks(number, corrupt)
        self._refuse(new)
        only_noted = self._is_first and not found.options.include_existing_files
        empty = found.no_rows(shape)
        is_whole = read.header in self.around.whole
        reads_none = not number or only_noted or self.around.partial == "--empty"
        told = f"files {read.name}: {number} of {read.options['path']}, {size} bytes"
        return Reading(
            name=read.name,
            header=read.header,
            look=empty,
            sql=empty if reads_none else found.rows(shape),
            record=()
            if is_whole
            else self._record(shape, number=number, corrupt=len(corrupt), noted=only_noted),
            warnings=self._warnings(corrupt),
            told=told + (", noted and not read" if only_noted and number else ""),
            faults=self._faults(),
        )

    def _lacks(self, files: int, corrupt: Mapping[str, str]) -> AutoCdcError:
        """What is said where nothing tells the columns."""
        path = self.found.read.options["path"]
        if files:
            there = f"no file of {path} has a field yet"
        elif corrupt:
            there = f"no file of {path} can be read yet{_example(corrupt)}"
        elif self.found.has_empty():
            there = f"there are only empty files of {path} yet"
        else:
            there = f"no file of {path} is there yet"
        problem = (
            f"{there}, so its columns are not known; let a file come, or name columns with their types,"
            f" schema_hints='id bigint, ...', and the run goes on without"
        )
        return AutoCdcError(self.around.model, [f"read_files {self.found.read.name}: {problem}"])

    def _refuse(self, new: Sequence[str]) -> None:
        if new and self.found.options.schema_evolution_mode == "fail_on_new_columns":
            number, them = ("a new field", "it") if len(new) == 1 else (f"{len(new)} new fields", "them")
            problem = (
                f"the files have {number}, {listed(new)}, and schema_evolution_mode is fail_on_new_columns; add {them}"
                f" to schema_hints, or set it to add_new_columns or rescue"
            )
            raise AutoCdcError(self.around.model, [f"read_files {self.found.read.name}: {problem}"])

    def _warnings(self, corrupt: Mapping[str, str]) -> tuple[str, ...]:
        if not corrupt:
            return ()
        number, change = (
            ("1 file", "it changes") if len(corrupt) == 1 else (f"{len(corrupt)} files", "they change")
        )
        text = f"{number} cannot be read, and left out until {change}{_example(corrupt)}"
        if self.found.read.header not in self.around.whole:
            text += f"; in {self.around.relations.files}, state is 'skipped' for such files"
        return (f"read_files {self.found.read.name}: {text}",)

    def _faults(self) -> tuple[Fault, ...]:
        read = self.found.read
        gone = f"read_files {read.name}: a file went away while it was read; run again"
        return (
            Fault(re.compile(MISSING), gone),
            Fault(re.compile(FAULTS), f"read_files {read.name}: {_fault(read).rstrip(';')}"),
        )

    def _record(self, shape: Shape, *, number: int, corrupt: int, noted: bool) -> tuple[Step, ...]:
        """Remember files and columns."""
        around, files, name = self.around, self.found.files, self.found.read.name
        companion = around.relations.companion
        if around.partial:
            if not around.appends or around.goes_on or around.partial == "--empty":
                return ()
            return (_insert_position(companion, Position(KIND, name, is_sample=True)),)
        registry = around.relations.files
        steps = [Step("make the table of the files that were read", files.create_registry(registry))]
        if not around.goes_on or self._is_first:
            steps.append(Step(f"forget the files of {name} that were read", files.forget(registry)))
        else:
            steps = []
            if number or corrupt:
                steps.append(
                    Step("make room for files that are read again", self._again(registry, number, corrupt))
                )
        if number:
            state = "existing" if noted else "read"
            steps.append(Step(f"remember the files of {name}", files.record(registry, "files", state)))
        if corrupt:
            steps.append(
                Step(f"remember the files of {name} left out", files.record(registry, "skipped", "skipped"))
            )
        now = Position(KIND, name, more={"columns": dict(shape.types)})
        if self.position is None:
            steps.append(_insert_position(companion, now))
        elif self.position.text != now.text:
            where = f"{names.KIND} = 'position' and {names.CONTROL} = {text(self.position.written)}"
            sql = f"update {companion} set {names.CONTROL} = {text(now.text)}\nwhere {where}"
            steps.append(Step(f"remember the columns of {name}", sql))
        return tuple(steps)

    def _again(self, registry: str, number: int, corrupt: int) -> str:
        held = [what for what, count in (("files", number), ("skipped", corrupt)) if count]
        return self.found.files.forget(registry, held)


def _example(corrupt: Mapping[str, str]) -> str:
    path, said = next(iter(corrupt.items()))
    return f", for example {path}" + (f" ({said.strip()})" if said else "")


def _insert_position(companion: str, position: Position) -> Step:
    sql = (
        f"insert into {companion} ({names.KIND}, {names.CONTROL}) values ('position', {text(position.text)})"
    )
    return Step(f"remember the columns of {position.name}", sql)


def reads_in_steps(*, materialized: str, command: str) -> bool:
    """Tell whether a model is run by one of our materializations, which looks at the files by itself.

    So do operations on such a model, which compile it, as far as they need its rows.
    """
    return materialized in SPECS and command in {"run", "build", "retry", "clone", "run-operation"}


EXPORTS: dict[str, Callable[..., object]] = {"read_files": read_files, "reads_in_steps": reads_in_steps}
