"""The SELECT over files: for each field a column of its type, and what is rescued; every value is looked at once.

Not here: which fields become columns (`reading`), how a value gets a type (`values`), how files are read (`duckdb`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dbt_auto_cdc import names
from dbt_auto_cdc.engines.base import Engine
from dbt_auto_cdc.files import values
from dbt_auto_cdc.files.duckdb import FILE, TEXTS, Files
from dbt_auto_cdc.files.values import Converted, Rescued
from dbt_auto_cdc.sql import any_of, comma, indented, text

METADATA = "_metadata"
_METADATA_TYPE = (
    "struct(file_path varchar, file_name varchar, file_size bigint, file_modification_time timestamptz)"
)
_VALUE = names.PREFIX + "value_"
_MISFIT = names.PREFIX + "misfit_"
_KEYS = names.PREFIX + "fields"
_UNKNOWN = names.UNKNOWN


@dataclass(frozen=True)
class Shape:
    """The columns of files with their types, in order, and the fields that go into each: of JSON maybe several.

    `stored` has the fields with the types that they have in the files.
    """

    types: Mapping[str, str] = field(default_factory=dict)
    spellings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    stored: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Column:
    """One column: how its value is computed and checked, what the SELECT has of it, and what is rescued."""

    entry: str
    value: str = ""
    misfit: str = ""
    lost: tuple[Rescued, ...] = ()


@dataclass(frozen=True)
class Rows:
    """The rows of files as SQL."""

    files: Files
    shape: Shape
    engine: Engine

    def none(self) -> str:
        """Return a relation of the same columns without rows."""
        options, quote = self.files.options, self.engine.quote
        columns = [
            f"cast(null as {type_name}) as {quote(name)}" for name, type_name in self.shape.types.items()
        ]
        columns.append(f"cast(null as varchar) as {quote(options.rescued_data_column)}")
        if options.metadata:
            columns.append(f"cast(null as {_METADATA_TYPE}) as {METADATA}")
        return f"select\n    {comma(columns)}\nwhere false"

    def select(self, paths: str) -> str:
        """Return the rows of the files at some paths, in three steps: what is read, values, and what did not fit."""
        options, quote = self.files.options, self.engine.quote
        columns = [self._column(number, name) for number, name in enumerate(self.shape.types)]
        lost = [part for column in columns for part in column.lost]
        steps: dict[str, list[str]] = {
            "value": [column.value for column in columns if column.value],
            "misfit": [column.misfit for column in columns if column.misfit],
        }
        if options.schema_evolution_mode != "none" and options.format == "json":
            lost.append(self._unknown())
            steps["value"].append(f"json_keys(rec.json) as {_KEYS}")
            steps["misfit"].append(f"{self._has_unknown()} as {_UNKNOWN}")
        elif options.schema_evolution_mode != "none":
            lost += self._beside()
        entries = [
            f"{column.entry} as {quote(name)}" for column, name in zip(columns, self.shape.types, strict=True)
        ]
        entries.append(f"{values.rescued(lost, f'rec.{FILE}')} as {quote(options.rescued_data_column)}")
        source, joined = self.files.rows(paths, self._texts()), ""
        for parts in steps.values():
            if parts:
                source = f"(\n{indented(f'select *, {comma(parts)}' + chr(10) + f'from {source} as rec')}\n)"
        if options.metadata:
            entries.append(f"{self.files.metadata()} as {METADATA}")
            joined = f"\njoin {self.files.facts(paths)} as facts on facts.path = rec.{FILE}"
        return f"select\n    {comma(entries)}\nfrom {source} as rec{joined}"

    def _texts(self) -> dict[str, str]:
        """The fields that are taken out of a JSON record at once, with the types of their columns."""
        if self.files.options.format != "json":
            return {}
        return {ones[0]: self.shape.types[name] for name, ones in self.shape.spellings.items() if ones}

    def _column(self, number: int, name: str) -> _Column:
        spellings, type_name = self.shape.spellings.get(name, ()), self.shape.types[name]
        if not spellings:
            return _Column(self.engine.null(type_name))
        if self.files.options.format == "json":
            return self._json_column(number, type_name, spellings)
        (one,) = spellings
        source, seen = f"rec.{self.engine.quote(one)}", f"rec.{_VALUE}{number}"
        if self.files.options.format == "csv":
            found = values.from_text(source, type_name, self.engine.fields, seen=seen)
        else:
            found = values.from_typed(source, self.shape.stored[one], type_name, seen=seen)
        raw = f"cast(to_json({source}) as varchar)"
        return _in_steps(number, found, (Rescued("", values.member(one, raw)),))

    def _json_column(self, number: int, type_name: str, spellings: tuple[str, ...]) -> _Column:
        """A column's value is that of the first of its spellings which a record has; what a second has is rescued."""
        sources = [f"struct_extract(rec.{TEXTS}, {text(spellings[0])})"]
        sources += [_extracted(one, type_name) for one in spellings[1:]]
        source = sources[0] if len(sources) == 1 else f"coalesce({', '.join(sources)})"
        seen = f"rec.{_VALUE}{number}"
        found = values.from_text(source, type_name, self.engine.fields, seen=seen, is_json=True)
        raws = [f"cast(json_extract(rec.json, {text(values.pointer(one))}) as varchar)" for one in spellings]
        lost, second = [], []
        for place, (one, raw) in enumerate(zip(spellings, raws, strict=True)):
            earlier = any_of(f"{before} is not null" for before in sources[:place])
            decides = f"{sources[place]} is not null and not ({earlier})" if len(spellings) > 1 else ""
            lost.append(Rescued(decides, values.member(one, raw)))
            if place:
                when = f"({earlier}) and {sources[place]} is not null"
                second.append(Rescued(when, values.member(one, raw)))
        column = _in_steps(number, found, tuple(lost))
        return _Column(column.entry, column.value, column.misfit, (*column.lost, *second))

    @property
    def _known(self) -> str:
        """The fields of a JSON record that go into columns, as a list."""
        return f"[{', '.join(text(one) for ones in self.shape.spellings.values() for one in ones) or chr(39) * 2}]"

    def _has_unknown(self) -> str:
        """The condition that a JSON record has others, or one twice; most have the same fields in the same order."""
        keys = f"rec.{_KEYS}"
        differs = f"len(list_intersect({self._known}, {keys})) < len({keys})"
        return f"case when {keys} <> {self._known} then {differs} else false end"

    def _unknown(self) -> Rescued:
        """What a JSON record has beside the columns, whatever it is called: also a field that it had before."""
        keys = f"rec.{_KEYS}"
        field, value = f"{keys}[place]", "json_extract(rec.json, '$.*')[place]"
        is_other = f"not list_contains({self._known}, {field}) or list_position({keys}, {field}) < place"
        places = f"list_filter(range(1, len({keys}) + 1), lambda place: {is_other})"
        entry = f"cast(to_json({field}) as varchar) || ':' || cast({value} as varchar)"
        members = f"array_to_string(list_transform({places}, lambda place: {entry}), ',')"
        return Rescued(f"rec.{_UNKNOWN}", members)

    def _beside(self) -> list[Rescued]:
        """What files with columns have beside ours."""
        known = {one for ones in self.shape.spellings.values() for one in ones}
        rescued = []
        for one in self.shape.stored:
            if one not in known:
                source = f"rec.{self.engine.quote(one)}"
                raw = values.member(one, f"cast(to_json({source}) as varchar)")
                rescued.append(Rescued(f"{source} is not null", raw))
        return rescued


def _extracted(name: str, type_name: str) -> str:
    """A field of a JSON record, nested ones as JSON; null where it is JSON's null."""
    place = f"rec.json, {text(values.pointer(name))}"
    if values.is_nested(type_name):
        return f"case when json_type({place}) <> 'NULL' then json_extract({place}) end"
    return f"json_extract_string({place})"


def _in_steps(number: int, found: Converted, lost: tuple[Rescued, ...]) -> _Column:
    """Return a column whose value is kept in one step and checked in the next; `lost` says what of it is rescued."""
    if not found.misfit:
        return _Column(found.value)
    value, misfit = f"{_VALUE}{number}", f"{_MISFIT}{number}"
    entry = f"case when not rec.{misfit} then rec.{value} end" if found.is_rough else f"rec.{value}"
    rescued = tuple(
        Rescued(f"(rec.{misfit} and {part.when})" if part.when else f"rec.{misfit}", part.members)
        for part in lost
    )
    return _Column(entry, f"{found.value} as {value}", f"{found.misfit} as {misfit}", rescued)
