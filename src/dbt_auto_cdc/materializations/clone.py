"""After `dbt clone`: a clone gets the companion of the target it was cloned from, as of one moment.

Not here: which relations there are (`macros/operations`); the original is only read.
"""

from __future__ import annotations

from dataclasses import dataclass

from dbt_auto_cdc.engines.base import Engine
from dbt_auto_cdc.errors import AutoCdcError
from dbt_auto_cdc.plan import Plan, Step
from dbt_auto_cdc.sql import Query
from dbt_auto_cdc.state import Relations

ROWS = "num_companion_rows"


@dataclass(frozen=True)
class Clone:
    """A model whose target may be a clone, and what there is of both.

    `wanted` says that the model was named, so that nothing to do is a mistake; `original_files` is the table of the
    files that the original has read, empty where there is none.
    """

    model: str
    relations: Relations
    original_companion: str
    original_has_companion: bool
    exists: bool
    is_view: bool
    has_companion: bool
    wanted: bool = False
    original_files: str = ""

    @property
    def is_left_alone(self) -> bool:
        """Whether it is kept already: only a view is surely a fresh clone."""
        return self.has_companion and not self.is_view


def plan(clone: Clone, engine: Engine) -> Plan:
    """Return the plan, without a step where there is nothing to copy; raises `AutoCdcError` if it must not be. Pure.

    A view shows the original's rows of the moment, and the companion has to fit them: so the view becomes a table in
    the same transaction. A table with a companion is no fresh clone, and is left alone.
    """
    target, companion, original = clone.relations.target, clone.relations.companion, clone.original_companion
    refused = _refused(clone)
    if refused:
        raise AutoCdcError(clone.model, [refused])
    if not clone.exists:
        return Plan(clone.model, f"nothing to do: {target} does not exist, so it was not cloned", ())
    if clone.is_left_alone:
        return Plan(clone.model, f"nothing to do: {target} is a table with its companion", ())
    copied = engine.copy_companion(companion, original)
    steps = (
        *(table_of_view(clone.relations, engine) if clone.is_view else ()),
        Step("drop the companion of what was there before", engine.drop_table(companion)),
        Step("copy the companion", copied, counts=ROWS),
        *_files(clone, engine),
    )
    return Plan(clone.model, f"copied {original} to {companion}", steps)


def _refused(clone: Clone) -> str:
    """Return what stands against it, or nothing."""
    target, original = clone.relations.target, clone.original_companion
    if original == clone.relations.companion:
        return (
            f"{original} cannot be cloned from itself; name the schema that `dbt clone` read in from_schema"
        )
    if not clone.exists:
        return f"{target} does not exist; run `dbt clone` first" if clone.wanted else ""
    if not clone.is_left_alone and not clone.original_has_companion:
        return f"{original}, the companion to copy, does not exist; name the schema `dbt clone` read in from_schema"
    return ""


def _files(clone: Clone, engine: Engine) -> tuple[Step, ...]:
    """Copy what is on record of files, which the clone has the rows of."""
    if not clone.original_files:
        return ()
    files = clone.relations.files
    return (
        Step("drop the record of files that was there before", engine.drop_table(files)),
        Step("copy the record of files", engine.create_table(files, _everything(clone.original_files))),
    )


def _everything(relation: str) -> Query:
    return Query().then("rows", f"select * from {relation}")


def table_of_view(relations: Relations, engine: Engine) -> tuple[Step, ...]:
    """Turn a target that is a view of another table into a table of its own."""
    aside, target = relations.rebuilt_target, relations.target
    return (
        Step("clear what an earlier run left", engine.drop_table(aside)),
        Step("copy the cloned rows", engine.create_table(aside, _everything(target))),
        Step("drop the clone", engine.drop_view(target)),
        Step("put the copy in its place", engine.rename_table(aside, relations.identifier)),
    )
