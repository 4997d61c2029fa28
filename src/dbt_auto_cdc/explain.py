"""A plan as text for a person: what the next run would do, which relations it uses, and every statement.

Not here: how the plan is made; nothing is sent.
"""

from __future__ import annotations

import re

from dbt_auto_cdc import names
from dbt_auto_cdc.plan import Plan, Step
from dbt_auto_cdc.sql import code_of
from dbt_auto_cdc.state import Relations

# A statement that writes begins a line, wherever it stands: in a CTE, in a block, after another one. Those that a run
# notes in its companion stand in a text of one line.
_WRITES = re.compile(
    r"""^[ \t]*(?:execute[ ]\$\w*\$)?
    (?:insert[ ]into|merge[ ]into|delete[ ]from|update|analyze|alter[ ](?:table|type)|drop[ ](?:table|view|type)
    |create[ ](?:or[ ]replace[ ])?(?:temp[ ]|temporary[ ]|transient[ ])?(?:table|view|type)
    |create[ ](?:unique[ ])?index(?:[ ]\S+)?[ ]on)
    [ ](?:if[ ](?:not[ ])?exists[ ])?(?P<relation>(?:"(?:[^"]|"")*"|`[^`]*`|[^\s("`;])+)""",
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
_BLOCK = re.compile(r"^do (?P<tag>\$\w*\$)(?P<body>.*)(?P=tag)$", re.DOTALL)


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
    words = {
        relations.target: "target",
        relations.companion: "companion",
        relations.rebuilt_target: "target, aside",
        relations.rebuilt_companion: "companion, aside",
        relations.quarantine: "quarantine",
        relations.changes: "change feed",
        relations.files: "record of files",
        relations.struct: "type",
        relations.rebuilt_struct: "type, aside",
    }
    block = _BLOCK.match(step.sql)
    written = [found["relation"] for found in _WRITES.finditer(code_of(block["body"] if block else step.sql))]
    found = [words.get(name, "working table") for name in written if name in words or names.COMPANION in name]
    if not found:
        return "nothing, measures" if step.measures else "nothing"
    # What is only used for the rest of it need not be told.
    return " and ".join(dict.fromkeys(word for word in found if word != "working table")) or "working table"
