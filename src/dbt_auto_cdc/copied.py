"""Target and companion that were copied from another engine, whose names of types the companion's record has.

The types of the columns that are there stand in for them. Not here: how tables are copied, which is the user's work.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from dbt_auto_cdc import names
from dbt_auto_cdc.engines.base import Engine
from dbt_auto_cdc.errors import listed
from dbt_auto_cdc.spec import AutoCdc
from dbt_auto_cdc.state import Ask, Column, Control, Copied, columns_in

# What wrote a record that does not say it, and names types that are not those of the columns.
ANOTHER = "another engine"
MANUAL = "docs/guides/engines.md says how, under Taking tables along"
_SEQUENCES = {names.SEQUENCE, names.RUN_START, names.FLOOR}
_OF_SYSTEM = {names.SYSTEM_START_AT.lower(), names.SYSTEM_END_AT.lower()}


@dataclass(frozen=True)
class Types:
    """The types that keys and sequences have in a run; those of the keys by their names in the target.

    A sequence whose type is not known has none: what is wrong with it is told elsewhere.
    """

    keys: Mapping[str, str]
    sequence: str
    system: str


def as_here(
    control: Control, engine: Engine, ask: Ask, *, target: str, companion: str
) -> tuple[Control, Copied | None]:
    """Return a record with the types as this engine has them, and the columns of tables that were copied.

    There may be no target, which is empty then.
    """
    if control.engine == engine.name:
        return control, None
    columns = columns_in(ask(engine.describe_stored(companion)))
    kinds = {column.name.lower(): engine.out_of_order(column.type) for column in columns}
    stored = replace(
        control,
        key_types=tuple(kinds.get(key, "") for key in control.keys),
        sequence_type=kinds.get(names.SEQUENCE, ""),
        system_type=control.system_type and kinds.get(names.SYSTEM_SEQUENCE, ""),
    )
    if stored == control and not control.engine:
        return control, None
    beside = columns_in(ask(engine.describe_stored(target))) if target else ()
    return replace(stored, engine=control.engine or ANOTHER), Copied(beside, columns)


def unfit_columns(copied: Copied, spec: AutoCdc, types: Types, engine: Engine) -> list[str]:
    """Return which columns of copied tables are not of the types that they have to be."""
    bounds = names.bounds_of(spec.stored_as_scd_type)
    wrong = [*_unfit_companion(copied.companion, spec, types, engine)]
    for column in copied.target:
        name = column.name.lower()
        wanted = types.system if name in _OF_SYSTEM else types.sequence
        if name in bounds and wanted and engine.out_of_order(column.type) != wanted:
            wrong.append(_is_of(column, "target", wanted))
    return wrong


def _unfit_companion(
    columns: tuple[Column, ...], spec: AutoCdc, types: Types, engine: Engine
) -> Iterator[str]:
    needed = [*types.keys, names.SEQUENCE]
    needed += [names.RUN_START] if spec.scd2 else []
    needed += [names.SYSTEM_SEQUENCE] if spec.bitemporal else []
    # Where names are folded they are of one case.
    told_by = (lambda name: name) if engine.folded("A") != "A" else str.lower
    there = {told_by(column.name) for column in columns}
    missing = [name for name in needed if told_by(name) not in there]
    keys = {told_by(name): kind for name, kind in types.keys.items()}
    yield from (f"the companion has no column {name}" for name in missing)
    for column in columns:
        name = told_by(column.name)
        is_ordered = name not in keys
        wanted = keys.get(name, "")
        if name in _SEQUENCES or name.startswith(names.AUTHOR):
            wanted = types.sequence
        elif name == names.SYSTEM_SEQUENCE:
            wanted = types.system
        stored = column.type if is_ordered else engine.out_of_order(column.type)
        wanted = engine.in_order(wanted, wanted) if is_ordered else wanted
        if wanted and stored != wanted:
            yield _is_of(column, "companion", wanted)


def _is_of(column: Column, table: str, wanted: str) -> str:
    return f"column {column.name} of the {table} has type {column.type} and has to be of type {wanted}"


def problem(wrong: list[str], writer: str) -> str:
    """Return the message about columns of copied tables that are of wrong types."""
    said = f"target and companion were copied from {writer}, and {listed(wrong)}"
    return f"{said}; copy them into such columns ({MANUAL})"
