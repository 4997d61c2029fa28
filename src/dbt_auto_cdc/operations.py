"""What the run-operations of this package may call: the other half of `bridge`, for work between runs.

Not here: runs (`bridge`), and the decisions, which live in `materializations`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dbt_auto_cdc import commands, names, served
from dbt_auto_cdc import explain as explanation
from dbt_auto_cdc.engines import required
from dbt_auto_cdc.errors import AutoCdcError
from dbt_auto_cdc.materializations import adopt, clone, forget, journal, move, reset, trim
from dbt_auto_cdc.materializations.tables import Table
from dbt_auto_cdc.observe import (
    Existing,
    describe,
    indexes_of,
    knows_feed,
    observe,
    positions_of,
    there_now,
)
from dbt_auto_cdc.relations import Beside, quarantine_identifier, relations_of
from dbt_auto_cdc.repeats import begun_again
from dbt_auto_cdc.resolve import sequence_columns
from dbt_auto_cdc.scd.changes import sequence_expression
from dbt_auto_cdc.spec import AppendFlow, AutoCdc, RecomputedTable, ReplaceUsing, ReplaceWhere, Spec, unquoted

if TYPE_CHECKING:
    from dbt_auto_cdc.bridge import Model
    from dbt_auto_cdc.execute import Outcome
    from dbt_auto_cdc.plan import Plan
    from dbt_auto_cdc.state import Ask, State


# What a target is called that keeps neither the latest row of a key nor its history.
_REPLACED: dict[type[Spec], str] = {
    ReplaceUsing: "rows replaced by key",
    ReplaceWhere: "rows replaced by range",
    RecomputedTable: "rows computed anew",
    AppendFlow: "rows appended",
}


@dataclass(frozen=True)
class Forgetting:
    """A plan of forgetting keys, with what is needed to tell what it did."""

    place: forget.Place
    plan: Plan


def find_models(*, resolver: Any, wanted: Sequence[str] | None) -> list[Any]:
    """Return the project's models of our materializations: all, or the wanted ones."""
    from dbt_auto_cdc.bridge import MATERIALIZATIONS

    return commands.find_models(resolver.manifest.nodes, MATERIALIZATIONS, wanted)


def call_in_model(
    *, resolver: Any, name: str, macro: str, full_refresh: bool, arguments: Mapping[str, object]
) -> object:
    """Call a macro of this package as the materialization of model `name` would, the model compiled."""
    (node,) = find_models(resolver=resolver, wanted=[name])
    return commands.call_in_model(resolver, node, macro, full_refresh=full_refresh, arguments=arguments)


def explain(*, model: Model, plan: Plan) -> str:
    """Return the plan of the next run as text for a person."""
    spec = model.spec
    if isinstance(spec, ReplaceUsing | ReplaceWhere | RecomputedTable | AppendFlow):
        kind = _REPLACED[type(spec)]
    else:
        scd_type = spec.stored_as_scd_type
        kind = f"SCD type {scd_type}" if scd_type.isdigit() else scd_type
    return explanation.explain(plan, model.relations, kind)


def plan_adoption(
    *, model: Model, ask: Ask, target_exists: bool, target_is_view: bool, companion_exists: bool
) -> Plan:
    """Observe through `ask` and return the plan of taking the table that is there over."""
    served.refuse_operation(model.engine, model.name, "adopt")
    existing = Existing(target_exists, companion_exists, target_is_view)
    existing = replace(existing, **there_now(model, ask))
    spec, state = observe(model, existing, ask)
    return adopt.plan(
        Table(model.name, spec, state, model.relations, model.engine),
        holds_expression=target_exists and _holds_expression(model, state, ask),
    )


def _holds_expression(model: Model, state: State, ask: Ask) -> bool:
    """Tell whether sequence_by is an expression that the table's own columns answer, in the same type."""
    spec = model.spec
    if (
        model.flows
        or not isinstance(spec, AutoCdc)
        or len(spec.sequence_by) > 1
        or sequence_columns(spec.sequence_by, state.feed)
    ):
        return False
    expression = sequence_expression(spec.sequence_by, (), model.engine)
    query = f"select {expression} as {names.SEQUENCE} from {model.relations.target} as src"
    try:
        columns = describe(model.engine, ask, query)
    except Exception:  # noqa: BLE001 - every adapter has its own exceptions, and no is an answer here
        return False
    return columns[0].type == state.sequence_type


def adopted(*, model: Model, outcome: Outcome) -> str:
    """Return what an adoption did, as a sentence for the log."""
    left = adopt.told(model.spec, outcome.measures)
    return f"auto_cdc: model {model.name}: took {model.relations.target} over; {left}"


def plan_reset(
    *, model: Model, ask: Ask, companion_exists: bool, streams: Sequence[str] | str | None
) -> Plan:
    """Return the plan of forgetting how far a model's streams were read, all or those that are named."""
    companion = model.relations.companion
    companion_exists = there_now(model, ask).get("companion", companion_exists)
    if companion_exists and not model.engine.transactions and journal.was_stopped(companion, ask):
        problem = "a run of it was stopped while it wrote, and would still remember how far it read"
        raise AutoCdcError(model.name, [f"{problem}; run the model, which finishes that, and then reset it"])
    positions = positions_of(model, ask) if companion_exists else ()
    return reset.plan(model, positions, streams)


def plan_forget(  # noqa: PLR0913 - one call from Jinja, all by name
    *, model: Model, ask: Ask, target_exists: bool, target_is_view: bool, beside: Sequence[str], keys: object
) -> Forgetting:
    """Return the plan of forgetting keys; `beside` names the tables that there are beside the target."""
    served.refuse_operation(model.engine, model.name, "forget")
    spec, relations, engine = model.spec, model.relations, model.engine
    found = there_now(model, ask)
    target_exists = found.get("target", target_exists)
    if found.get("target_is_view", target_is_view):
        raise AutoCdcError(
            model.name, [f"{relations.target} is a view, so it was cloned; forget keys in the original"]
        )
    words = {
        names.COMPANION: (forget.COMPANION, "companion"),
        names.CHANGES: (forget.CHANGES, "changes"),
        names.QUARANTINE: (forget.QUARANTINE, "quarantine"),
    }
    there = {forget.TARGET: relations.target} if target_exists else {}
    there |= {
        words[suffix][0]: relation
        for suffix, (name, relation) in zip(names.BESIDE, relations.beside, strict=True)
        if suffix in words and found.get(words[suffix][1], name in beside)
    }
    held = {
        word: forget.Held(relation, describe(engine, ask, f"select * from {relation}"))
        for word, relation in there.items()
    }
    keyed: Sequence[str] = getattr(spec, "keys", ()) or getattr(spec, "replace_using", ())
    starts = {"2": names.BOUNDS["2"][:1], "bitemporal": (names.START_AT, names.SYSTEM_START_AT)}
    place = forget.Place(
        model=model.name,
        relations=relations,
        engine=engine,
        keys=tuple(unquoted(name.strip()) for name in keyed),
        held=held,
        starts=starts.get(spec.stored_as_scd_type, ()),
        counts_versions=forget.COMPANION in there and knows_feed(model, ask),
    )
    return Forgetting(place, forget.plan(place, keys))


def forgotten(*, forgetting: Forgetting, outcome: Outcome) -> str:
    """Return what went, as a sentence for the log."""
    told = forget.forgotten(forgetting.place, outcome.measures)
    return f"auto_cdc: model {forgetting.place.model}: {told}"


def plan_trim(  # noqa: PLR0913 - one call from Jinja, all by name
    *,
    name: str,
    adapter_type: str,
    feed: str,
    quarantine: str,
    log: str,
    companion: str,
    keep_last: object,
    older_than: object,
    tables: object,
) -> list[Plan]:
    """Return the plans of trimming what grows; a table is empty where there is none of that kind."""
    engine = required(adapter_type, name)
    served.refuse_operation(engine, name, "trim")
    chosen = trim.chosen(name, tables)
    limits = trim.limits(model=name, keep_last=keep_last, older_than=older_than)
    plans: list[Plan] = []
    if feed and trim.CHANGES in chosen:
        plans.append(trim.trim_changes(name, feed, limits, engine=engine, companion=companion))
    if quarantine and trim.QUARANTINE in chosen:
        plans.append(trim.trim_quarantine(name, quarantine, limits, engine))
    return [*plans, *([trim.trim_log(log, limits, engine)] if log and trim.EVENT_LOG in chosen else [])]


def plan_move(  # noqa: PLR0913 - one call from Jinja, all by name
    *,
    model: Model,
    adapter_type: str,
    source: Any,
    destination: Any,
    source_beside: Sequence[str],
    destination_beside: Sequence[str],
    source_kind: str,
    destination_kind: str,
    contract: str,
    ask: Ask,
) -> Plan:
    """Return the plan of moving a target, and all that is beside it, from `source` to `destination`.

    The kinds are dbt's words for what is there, empty where nothing is; `..._beside` name what there is beside them.
    """
    served.refuse_operation(model.engine, model.name, "move_companions")
    engine = model.engine
    old = relations_of(adapter_type, source.identifier, target=str(source), beside=source.incorporate)
    new = model.relations
    pairs = {old.target: (new.target, new.identifier)} if source_kind else {}
    for (name, relation), (moved_name, moved) in zip(old.beside, new.beside, strict=True):
        if name in source_beside:
            pairs[relation] = (moved, moved_name)
    taken = [new.target] if destination_kind else []
    taken += [relation for name, relation in new.beside if name in destination_beside]
    indexes = indexes_of(engine, ask, old.target, moved_to=new.target) if source_kind == "table" else ()
    return move.plan(
        move.Move(
            model=model.name,
            source=old,
            destination=new,
            schema=destination.schema,
            is_other_schema=source.schema != destination.schema,
            tables=pairs,
            taken=tuple(taken),
            source_is_view=source_kind == "view",
            is_other_database=source.database != destination.database,
            indexes=tuple(index.create for index in indexes),
            contract=contract,
        ),
        engine,
    )


def schema_cloned_from(*, schema: str, target_schema: str, from_schema: str) -> str:
    """Return where a model's original is, given where those in the target's own schema are.

    A custom schema is by default the target's with a suffix, and its original's then has the suffix as well.
    """
    return from_schema + schema.removeprefix(target_schema) if schema.startswith(target_schema) else schema


def clone_arguments(
    *, schema: str, target_schema: str, database: str, original_schema: str, original_database: str
) -> str:
    """Return what `clone_companions` has to be told, for a model whose original dbt knows."""
    custom = schema.removeprefix(target_schema) if schema.startswith(target_schema) else ""
    arguments = f"from_schema: {original_schema.removesuffix(custom)}"
    return arguments if database == original_database else f"{arguments}, from_database: {original_database}"


def plan_clone(
    *, name: str, adapter_type: str, identifier: str, target: str, beside: Beside, **there: Any
) -> Plan:
    """Return the plan of giving one model's clone its companion; no steps where there is nothing to do.

    `there` says what the catalog has of both, field by field of `clone.Clone`.
    """
    engine = required(adapter_type, name)
    served.refuse_operation(engine, name, "clone_companions")
    relations = relations_of(adapter_type, identifier, target=target, beside=beside)
    return clone.plan(clone.Clone(model=name, relations=relations, **there), engine)


EXPORTS: dict[str, Callable[..., object]] = {
    "adopted": adopted,
    "begun_again": begun_again,
    "call_in_model": call_in_model,
    "clone_arguments": clone_arguments,
    "explain": explain,
    "find_models": find_models,
    "plan_adoption": plan_adoption,
    "plan_clone": plan_clone,
    "plan_reset": plan_reset,
    "plan_forget": plan_forget,
    "plan_trim": plan_trim,
    "plan_move": plan_move,
    "quarantine_identifier": quarantine_identifier,
    "forgotten": forgotten,
    "schema_cloned_from": schema_cloned_from,
}
