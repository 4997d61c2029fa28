"""Moving a target along with all that stands beside it: its model has another name, or is in another schema now.

Not here: which tables there are (macros look). No row is changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dbt_auto_cdc.engines.base import Engine
from dbt_auto_cdc.errors import AutoCdcError, listed
from dbt_auto_cdc.plan import Plan, Step
from dbt_auto_cdc.sql import Query
from dbt_auto_cdc.state import Relations


@dataclass(frozen=True)
class Move:
    """Where a model's tables are and where they are to be.

    `tables` are the relations that are there, with where each is to be: its relation and its name. `taken` are those
    places at which there is something already. `indexes` are statements that make the target's indexes anew, where the
    engine renames no table that has some; `contract` has the columns and constraints of an enforced contract.
    """

    model: str
    source: Relations
    destination: Relations
    schema: str
    is_other_schema: bool
    tables: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    taken: tuple[str, ...] = ()
    source_is_view: bool = False
    is_other_database: bool = False
    indexes: tuple[str, ...] = ()
    contract: str = ""


def plan(move: Move, engine: Engine) -> Plan:
    """Return the plan; raises `AutoCdcError` with everything that stands against it. Pure."""
    problems = _problems(move)
    if problems:
        raise AutoCdcError(move.model, problems)
    steps = [step for relation in move.tables for step in _moved(move, relation, engine)]
    type_moved = engine.move_type(
        move.source.struct,
        move.destination.struct,
        move.destination.struct_identifier,
        schema=move.schema if move.is_other_schema else "",
    )
    if type_moved:
        steps.append(Step("move the type of the sequence", type_moved))
    moved = f"moved {listed(move.tables)} to {move.destination.target}"
    return Plan(
        move.model, f"{moved}, with the same beside it" if len(move.tables) > 1 else moved, tuple(steps)
    )


def _problems(move: Move) -> list[str]:
    source, destination = move.source.target, move.destination.target
    if source == destination:
        return [
            f"{destination} is where it is to go; write from_name: <old name>, or from_schema: <old schema>"
        ]
    if move.is_other_database:
        other = f"{source} is in another database than {destination}, and one transaction writes one"
        return [f"{other}; copy the tables yourself, the target and those beside it"]
    if source not in move.tables:
        missing = f"{source} does not exist, so there is nothing to move"
        return [f"{missing}; write from_name: <old name>, or from_schema: <old schema>"]
    problems = []
    if move.source_is_view:
        problems.append(f"{source} is a view, so it was cloned; move the original, or clone it again")
    if move.taken:
        problems.append(f"{listed(move.taken)} is there already; drop or rename it, if nobody needs it")
    return problems


def _moved(move: Move, relation: str, engine: Engine) -> tuple[Step, ...]:
    there, identifier = move.tables[relation]
    is_target = relation == move.source.target
    name = f"move {relation}"
    if not move.is_other_schema and not (is_target and move.indexes):
        return (Step(name, engine.rename_table(relation, identifier)),)
    if engine.moves_tables:
        return (Step(name, engine.move_table(relation, there, identifier, schema=move.schema)),)
    return _copied(move, relation, engine)


def _copied(move: Move, relation: str, engine: Engine) -> tuple[Step, ...]:
    """Copy a table, because its engine moves none, or none that has indexes."""
    there, _ = move.tables[relation]
    is_target = relation == move.source.target
    rows = Query().then("rows", f"select * from {relation}")
    steps = [Step(f"copy {relation}", engine.create_table(there, rows))]
    if is_target and move.contract:
        steps = [
            Step("make a table as the contract says", f"create table {there} {move.contract}"),
            Step(f"copy {relation}", f"insert into {there} by name\n{rows.render()}"),
        ]
    steps.append(Step(f"drop {relation}", engine.drop_table(relation)))
    if is_target:
        steps += [Step("make an index again", sql) for sql in move.indexes]
    return tuple(steps)
