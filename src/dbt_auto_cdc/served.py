"""What an engine does not serve of a model: refused with its name and the option's, before anything is looked at.

Not here: what is wrong on every engine (`spec`, `resolve`).
"""

from __future__ import annotations

from collections.abc import Sequence

from dbt_auto_cdc.engines.base import Engine
from dbt_auto_cdc.errors import AutoCdcError
from dbt_auto_cdc.flows import Flow
from dbt_auto_cdc.reads import Read
from dbt_auto_cdc.spec import Spec

# What people call several options, where none of them is served.
_TOGETHER = {
    "partial updates": {
        "ignore_null_updates",
        "ignore_null_updates_column_list",
        "ignore_null_updates_except_column_list",
        "columns_to_update",
    },
    "expectations": {"expect_all", "expect_all_or_fail", "expect_all_or_drop"},
}


def problems_of(
    engine: Engine, materialized: str, spec: Spec, *, flows: Sequence[Flow], reads: Sequence[Read]
) -> list[str]:
    """Return what a model asks for that its engine does not serve."""
    problems = []
    for each in engine.not_served:
        option, _, wrong = each.partition("=")
        value = materialized if option == "materialized" else getattr(spec, option, None)
        if wrong and str(value) == wrong:
            problems.append(
                f"{option} is {wrong}, which is not served on {engine.name}; use another engine for it"
            )
        elif not wrong and value:
            instead = "set it to false" if value is True else "leave it out"
            problems.append(f"{option} is set, which is not served on {engine.name}; {instead} there")
    if flows and "flows" in engine.not_served:
        problems.append(
            f"it has flows, which are not served on {engine.name}; bring them together in one SELECT with union all"
        )
    elif not engine.transactions and any(flow.is_snapshot for flow in flows):
        problems.append(
            f"it has a flow of whole dumps beside changes, which is not served on {engine.name}; use another engine for"
            f" it"
        )
    if reads and "reads" in engine.not_served:
        problems.append(
            f"it reads step by step, which is not served on {engine.name}; select from the relation itself"
        )
    elif not engine.transactions and any(read.options.get("change_feed") for read in reads):
        problems.append(
            f"it streams a change feed, which is not served on {engine.name}; name an offset, or select from the"
            f" relation itself"
        )
    return problems


def lacks(engine: Engine) -> list[str]:
    """Return what an engine does not serve, for people, with options as they are written."""
    left = list(engine.not_served)
    found = []
    for word, options in _TOGETHER.items():
        if options <= set(left):
            found.append(word)
            left = [option for option in left if option not in options]
    found += [f"`{option.replace('=', ': ')}`" for option in left if option not in {"flows", "reads"}]
    if not engine.transactions:
        found.append("flows" if "flows" in left else "whole dumps beside changes")
        found += ["`stream`"] if "reads" in left else []
        found += ["enforced contracts", "operations that change tables"]
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
        problem = f"the operation {operation} is not served on {engine.name}; use another engine for it"
        raise AutoCdcError(name, [problem])
