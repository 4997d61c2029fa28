"""Forgetting how far streams were read, so that the next run reads them from their beginning.

Not here: what a run reads (`streams`); no row of the target is changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dbt_auto_cdc import names
from dbt_auto_cdc.errors import AutoCdcError, did_you_mean, listed
from dbt_auto_cdc.materializations.tables import marked
from dbt_auto_cdc.plan import Plan, Step
from dbt_auto_cdc.state import Position

if TYPE_CHECKING:
    from dbt_auto_cdc.bridge import Model


def plan(model: Model, positions: Sequence[Position], wanted: Sequence[str] | str | None) -> Plan:
    """Return the plan of forgetting all positions or the wanted ones, by the names of their streams. Pure.

    Raises `AutoCdcError` for a name that nothing is remembered by.
    """
    chosen = [wanted] if isinstance(wanted, str) else wanted
    known = {position.name.lower(): position for position in positions}
    unknown = [name for name in chosen or () if str(name).lower() not in known]
    if unknown:
        shown = [position.name for position in positions]
        problems = [
            f"nothing is remembered of a stream {name}; {did_you_mean(str(name), shown)}" for name in unknown
        ]
        raise AutoCdcError(model.name, problems)
    forgotten = [known[str(name).lower()] for name in chosen] if chosen is not None else list(positions)
    if not forgotten:
        return Plan(model.name, "nothing to do: it has read no stream", ())
    steps = tuple(
        Step(
            f"forget how far stream {position.name} was read",
            f"delete from {model.relations.companion}\n"
            f"where {names.KIND} = 'position' and {names.CONTROL} = {model.engine.text(position.written)}",
        )
        for position in forgotten
    )
    told = listed(
        f"{position.name} (read up to {position.value})" if position.value else position.name
        for position in forgotten
    )
    steps = (*steps, *marked(model.engine, model.relations.companion))
    return Plan(model.name, f"the next run reads from the beginning: {told}", steps)
