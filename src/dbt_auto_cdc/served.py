"""What an engine does not serve of a model: refused with its name and the option's, before anything is looked at.

Not here: what is wrong on every engine (`spec`, `resolve`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from dbt_auto_cdc.engines.base import Engine
from dbt_auto_cdc.errors import AutoCdcError
from dbt_auto_cdc.flows import Flow
from dbt_auto_cdc.reads import Read
from dbt_auto_cdc.spec import PARTIAL, Spec

_INSTEAD = {
    "adopt": "let the model read the old history as events: docs/guides/moving-in.md says how, under Without adoption"
}


def problems_of(engine: Engine, spec: Spec, *, flows: Sequence[Flow], reads: Sequence[Read]) -> list[str]:
    """Return what a model asks for that its engine does not serve."""
    problems = []
    for option in engine.not_served:
        value = getattr(spec, option, None)
        if value:
            says = "is set"
            if value in {field.default for field in fields(spec) if field.name == option}:
                says = f"is {str(value).lower()} unless the model sets it"
            missed = [f"write {name}" for name, other in spec.INSTEAD.items() if other == option]
            instead = missed[0] if missed else f"set {option} to false" if value is True else "leave it out"
            problems.append(f"{option} {says}, which is not served on {engine.name}; {instead} there")
    if not engine.transactions and any(flow.is_snapshot for flow in flows):
        problems.append(
            f"it has a flow of whole dumps beside changes, which is not served on {engine.name}; use another engine for"
            f" it"
        )
    if not engine.transactions and any(read.options.get("change_feed") for read in reads):
        problems.append(
            f"it streams a change feed, which is not served on {engine.name}; name an offset, or select from the"
            f" relation itself"
        )
    return problems


def lacks(engine: Engine) -> list[str]:
    """Return what an engine does not serve, for people, with options as they are written."""
    found = [f"`{option}`" for option in engine.not_served if option not in PARTIAL]
    if set(engine.not_served) & set(PARTIAL):
        found.insert(0, "partial updates")
    if not engine.transactions:
        found += ["whole dumps beside changes", "enforced contracts", "operations that change tables"]
    if not engine.reads_files:
        found.append("`read_files`")
    if not engine.logs_runs:
        found.append("the event log")
    if not engine.comparable_structs:
        found.append("a list as `sequence_by`")
    if not engine.alters_tables:
        found.append("new, wider and dropped columns")
    return found


def refuse_operation(engine: Engine, name: str, operation: str) -> None:
    """Refuse an operation whose statements have to be one transaction, where there are none."""
    if not engine.transactions:
        instead = _INSTEAD.get(operation, "use another engine for it")
        raise AutoCdcError(name, [f"the operation {operation} is not served on {engine.name}; {instead}"])
