"""A plan as text for a person: what the next run would do, which relations it uses, and every statement.

Not here: how the plan is made; nothing is sent.
"""

from __future__ import annotations

import re

from dbt_auto_cdc.plan import Plan, Step
from dbt_auto_cdc.state import Relations

_WRITES = re.compile(
    r"^(?:create (?:or replace )?(?:temp(?:orary)? )?(?:table|view)|insert into|delete from|update|alter table"
    r"|drop (?:table|view))(?: if (?:not )?exists)? (?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)


def explain(plan: Plan, relations: Relations, kind: str) -> str:
    """Return the plan with a header of SQL comments above it, so that the whole can be pasted where SQL runs."""
    facts = {
        "action": plan.action,
        "target": f"{relations.target}, {kind}, {'built' if plan.creates else 'goes on'}",
        "companion": f"{relations.companion}, {'built' if plan.creates else 'goes on'}",
    }
    width = max(map(len, facts))
    lines = [f"-- auto_cdc: the next run of model {plan.model}; nothing was run, nothing was written"]
    lines += [f"-- {name:{width}}  {value}" for name, value in facts.items()]
    lines += [f"-- {'flow':{width}}  {flow}" for flow in plan.flows]
    lines += [f"-- {'read':{width}}  {read}" for read in plan.reads]
    lines += [f"-- {'warning':{width}}  {warning}" for warning in plan.warnings]
    lines += ["--", *_table(plan, relations), "--"]
    lines += ["-- Hooks, grants, docs and indexes come on top, as for any model of dbt."]
    return "\n".join(lines) + "\n\n" + plan.script


def _table(plan: Plan, relations: Relations) -> list[str]:
    rows = [("", "statement", "writes", "only if")]
    for number, step in enumerate(plan.steps, start=1):
        rows.append((str(number), step.title, _writes(step, relations), step.condition))
    rows += [("end", step.title, _writes(step, relations), "") for step in plan.closing]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return [
        "-- "
        + "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]]).rstrip()
        for row in rows
    ]


def _writes(step: Step, relations: Relations) -> str:
    """Return what a statement writes, in one word or two."""
    found = _WRITES.match(step.sql)
    if found is None:
        return "nothing, measures" if step.measures else "nothing"
    parts = {
        "target": relations.target,
        "companion": relations.companion,
        "target, aside": relations.rebuilt_target,
        "companion, aside": relations.rebuilt_companion,
        "quarantine": relations.quarantine,
    }
    for word, relation in parts.items():
        if re.match(re.escape(relation) + r"(?:\s|\(|;|$)", found["rest"]):
            return word
    return "working table"
