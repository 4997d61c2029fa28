"""Looks at the feed, the target and the companion before a run, through a function that sends one query.

Not here: what follows from the observation; nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dbt_auto_cdc import names
from dbt_auto_cdc.engines.base import Engine
from dbt_auto_cdc.errors import AutoCdcError
from dbt_auto_cdc.resolve import quoted_text, sequence_columns
from dbt_auto_cdc.scd.changes import sequence_expression
from dbt_auto_cdc.spec import AutoCdc
from dbt_auto_cdc.sql import comma, indented
from dbt_auto_cdc.state import Column, Control, Relations, State

Rows = Sequence[Sequence[object]]
Ask = Callable[[str], Rows]


@dataclass(frozen=True)
class Existing:
    """What the caller's catalog knows: which of the two relations exist, and whether the target is a view."""

    target: bool = False
    companion: bool = False
    target_is_view: bool = False


def observe(
    model: str,
    spec: AutoCdc,
    model_sql: str,
    relations: Relations,
    engine: Engine,
    existing: Existing,
    ask: Ask,
) -> State:
    """Return the state before a run; raises `AutoCdcError` for an option whose SQL the engine refuses."""
    feed = describe(engine, ask, model_sql)
    target = describe(engine, ask, f"select * from {relations.target}") if existing.target else None
    companion = describe(engine, ask, f"select * from {relations.companion}") if existing.companion else None
    return State(
        model_sql=model_sql,
        feed=feed,
        sequence_type=_sequence_type(model, spec, model_sql, feed, engine, ask),
        target=target,
        companion=companion,
        control=_control(model, relations.companion, ask) if companion else None,
        target_is_view=existing.target_is_view,
    )


def describe(engine: Engine, ask: Ask, query: str) -> tuple[Column, ...]:
    """Return a query's columns without reading its rows."""
    return tuple(Column(str(row[0]).removeprefix("="), str(row[1])) for row in ask(engine.describe(query)))


def _control(model: str, companion: str, ask: Ask) -> Control | None:
    rows = ask(f"select {names.CONTROL} from {companion} where {names.KIND} = 'control'")
    if not rows:
        return None
    try:
        return Control.from_json(str(rows[0][0]))
    except ValueError as error:
        raise AutoCdcError(
            model,
            [
                f"the companion {companion} cannot be read ({error}); install the release that wrote it, or rebuild"
                f" the target with --full-refresh"
            ],
        ) from error


def _sequence_type(
    model: str, spec: AutoCdc, model_sql: str, feed: tuple[Column, ...], engine: Engine, ask: Ask
) -> str:
    """Return the sequence's type, having let the engine check the SQL of every option in one go."""
    parts = sequence_columns(spec, feed)
    if len(parts) != len(spec.sequence_by) and len(spec.sequence_by) > 1:
        return ""  # a part is unknown, which `resolve` reports
    expressions = {"sequence_by": sequence_expression(spec, parts, engine)}
    for option in ("apply_as_deletes", "apply_as_truncates"):
        condition = getattr(spec, option)
        if condition is not None and not quoted_text(condition, feed):
            expressions[option] = f"case when (\n{indented(condition)}\n) then 1 end"
    try:
        columns = _probe(engine, ask, model_sql, list(expressions.values()))
    except Exception as refused:
        raise AutoCdcError(model, _refused(expressions, engine, ask, model_sql, feed)) from refused
    return columns[0].type


def _probe(engine: Engine, ask: Ask, model_sql: str, expressions: list[str]) -> tuple[Column, ...]:
    listed = [f"{expression} as {names.PREFIX}{number}" for number, expression in enumerate(expressions)]
    return describe(engine, ask, f"select\n    {comma(listed)}\nfrom (\n{indented(model_sql)}\n) as src")


def _refused(
    expressions: dict[str, str], engine: Engine, ask: Ask, model_sql: str, feed: tuple[Column, ...]
) -> list[str]:
    """Find the option that the engine refuses, by asking for each alone."""
    problems = []
    for option, expression in expressions.items():
        try:
            _probe(engine, ask, model_sql, [expression])
        except Exception as error:  # noqa: BLE001 - every adapter has its own exceptions
            said = " ".join(str(error).split())
            problems.append(
                f"{option} is not valid SQL over the model's columns ({', '.join(c.name for c in feed)});"
                f" {engine.name} says: {said}"
            )
    return problems
