"""Flow blocks: how a model's flows stand in its compiled SQL, which stays one SELECT, and how they are cut out again.

Not here: what a flow's options mean and what becomes of its rows (`flows`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbt_auto_cdc.errors import AutoCdcError
from dbt_auto_cdc.sql import code_of

_BEGIN = "-- auto_cdc: flow "
_END = "-- auto_cdc: end of flow"
_BLOCK = re.compile(
    r"(?:union all(?: by name)?\n)?select \* from \( "
    rf"{_BEGIN}(?P<header>{{[^\n]*}})\n(?P<sql>.*?)\n{_END}\n\) as src\b",
    re.DOTALL,
)
SPELLING = "{% call auto_cdc.flow('name') %} select ... {% endcall %}"


@dataclass(frozen=True)
class Block:
    """One flow as it stands in the model: its name, its options as written, and its SELECT."""

    name: str
    options: Mapping[str, object]
    sql: str = ""

    @property
    def noted(self) -> dict[str, object]:
        """Name and options, as they are kept in the model's SQL and its configuration."""
        return {"name": self.name, **self.options}

    @classmethod
    def of(cls, noted: Mapping[str, Any], sql: str = "") -> Block:
        """Return a block from what was noted of it."""
        return cls(noted["name"], {name: value for name, value in noted.items() if name != "name"}, sql)


def marked(block: Block, union: str) -> str:
    """Return a block as a part of the model's SELECT, behind `union` if others stand before it.

    Its name and options are kept in a comment, where no engine reads them and `cut` finds them.
    """
    header = json.dumps(block.noted)
    joined = f"{union}\n" if union else ""
    sql = block.sql.strip("\n")
    return f"{joined}select * from ( {_BEGIN}{header}\n{sql}\n{_END}\n) as src\n"


def cut(model: str, sql: str) -> tuple[Block, ...]:
    """Return the blocks of a compiled model, none where it has none; raises `AutoCdcError` for what stands beside them.

    What stands before them may be a WITH clause, such as dbt's of ephemeral models: each block gets it.
    """
    if _BEGIN not in sql:
        return ()
    found = list(_BLOCK.finditer(sql))
    ends = [0, *(block.end() for block in found)]
    starts = [*(block.start() for block in found), len(sql)]
    shared, *between = [sql[end:start] for end, start in zip(ends, starts, strict=True)]
    has_clause = re.match(r"with\b", code_of(shared).strip(), re.IGNORECASE)
    beside = between if has_clause else [shared, *between]
    problems = [problem for text in beside if (problem := _stray(text))]
    blocks = []
    for block in found:
        select = _behind(shared, block["sql"]) if has_clause else block["sql"]
        blocks.append(Block.of(json.loads(block["header"]), select))
        problems += _unfit(blocks[-1].name, block["sql"])
    if problems:
        raise AutoCdcError(model, problems)
    return tuple(blocks)


def _behind(clause: str, sql: str) -> str:
    return f"{clause.strip()}\nselect * from (\n{sql}\n) as src"


def _stray(text: str) -> str | None:
    code = " ".join(code_of(text).split())
    if not code:
        return None
    shown = code if len(code) <= 40 else f"{code[:40]}..."
    return f"beside its flows the model has {shown!r}; put that into a flow of its own, or into one of them: {SPELLING}"


def _unfit(name: str, sql: str) -> list[str]:
    if _BEGIN in sql:
        return [f"flow {name} has another flow inside; close it before the next begins"]
    return [] if code_of(sql).strip() else [f"flow {name} has no SELECT; write one: {SPELLING}"]


def noted(
    model: str, name: object, sql: object, *, options: Mapping[str, object], others: Sequence[object]
) -> Block:
    """Return a block from what a call of the macro has; raises `AutoCdcError` where it cannot be written down."""
    if sql is None:
        problem = f"a flow has no SELECT; write {SPELLING}"
    elif not isinstance(name, str) or not name.strip():
        problem = f"a flow has the name {name!r}; give it one, as text: {SPELLING}"
    elif others:
        problem = f"flow {name} has {others[0]!r} without a name; name every option: sequence_by='seq'"
    else:
        odd = [option for option, value in options.items() if not _is_plain(value)]
        if not odd:
            return Block(name, options, str(sql))
        problem = (
            f"flow {name}: {odd[0]} has no value that dbt knows; write text, a number, true, false, or a list"
        )
    raise AutoCdcError(model, [problem])


def _is_plain(value: object) -> bool:
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return False
    return True
