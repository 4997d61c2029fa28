"""The seam between the benchmark and dbt-auto-cdc: the only file here that knows the product.

Not here: databases, timing, tables of figures.

Every job calls these on an on-disk DuckDB database whose table `feed` (id, op, seq, 8 values) holds what the run delivers. The target is
the table `target` in the schema `main`; companions are the product's own business.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

# the scripts here are run as files; `tests` is a folder of the repository
sys.path.append(str(Path(__file__).parents[1]))

from tests.direct import Direct

if TYPE_CHECKING:
    import duckdb

    from dbt_auto_cdc.plan import Plan

MODEL_SQL = "select * from main.feed"
BOUNDS = {1: (), 2: ("__START_AT", "__END_AT")}  # columns of the target beside id and the values


@dataclass(frozen=True)
class Planned:
    """A plan that is ready to be applied, and the CPU seconds from options to plan, observing queries included."""

    target: Direct
    plan: Plan
    cpu_seconds: float


def options(scd_type: int | str, *, partial: bool = False) -> dict[str, object]:
    """The model's configuration, the same for a direct run and for dbt; partial updates bring the same events.

    A bitemporal target takes the sequence for its system time as well: events that come in order on both axes.
    """
    return {
        "keys": ["id"],
        "sequence_by": "seq",
        "apply_as_deletes": "op = 'D'",
        "except_column_list": ["op", "seq"],
        "stored_as_scd_type": scd_type,
        **({"ignore_null_updates": True} if partial else {}),
        "system_sequence_by": "seq" if scd_type == "bitemporal" else None,
    }


def prepare(con: duckdb.DuckDBPyConnection, *, scd_type: int | str, partial: bool = False) -> Planned:
    """Observe, and plan one apply of `MODEL_SQL` into `main.target`."""
    target = Direct(con)
    started = time.process_time()
    plan = target.plan(options(scd_type, partial=partial), sql=MODEL_SQL)
    return Planned(target, plan, time.process_time() - started)


def apply(planned: Planned) -> int:
    """Run the plan, commit included, and return how many statements were sent (no BEGIN, COMMIT or metadata)."""
    planned.target.execute(planned.plan)
    return planned.target.statements


def dbt_model(scd_type: int) -> str:
    """The model file that does the same through dbt, over the tables that `apply` made."""
    config = ", ".join(f"{name}={value!r}" for name, value in options(scd_type).items() if value is not None)
    return "{{ config(materialized='auto_cdc', alias='target', " + config + ") }}\n" + MODEL_SQL + "\n"
