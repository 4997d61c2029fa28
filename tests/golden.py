"""The plans that are pinned as text: of each mode on each engine, a first build and a run that goes on.

They are made as `explain` makes them, of a state written by hand: no database is asked. `make golden` writes them into
tests/engines/golden.

Not here: what is expected of them (`tests/unit/test_golden`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dbt_auto_cdc import names, served
from dbt_auto_cdc.bridge import _PLANS as PLANS
from dbt_auto_cdc.engines import required
from dbt_auto_cdc.engines.base import Engine
from dbt_auto_cdc.materializations import tables
from dbt_auto_cdc.materializations.tables import Table
from dbt_auto_cdc.plan import Plan
from dbt_auto_cdc.relations import relations_of, working_relation
from dbt_auto_cdc.spec import parse
from dbt_auto_cdc.state import Column, State

FOLDER = Path(__file__).parent / "engines" / "golden"

EVENTS = {"keys": ["id"], "sequence_by": "changed_at", "apply_as_deletes": "operation = 'D'"}
MODES: dict[str, dict[str, Any]] = {
    "scd1": {**EVENTS, "apply_as_truncates": "operation = 'T'", "except_column_list": ["operation"]},
    "scd2": {
        **EVENTS,
        "stored_as_scd_type": 2,
        "except_column_list": ["operation", "changed_at"],
        "track_history_except_column_list": ["note"],
        "sequence_ties": "warn",
    },
    "append_flow": {"materialized": "append_flow"},
    "replace_using": {"materialized": "replace_using", "replace_using": ["id"], "sequence_by": "changed_at"},
    "replace_where": {"materialized": "replace_where", "replace_where": "changed_at >= '2026-03-01'"},
}
"""What a model of each mode is configured with."""


@dataclass(frozen=True)
class Place:
    """What a plan has to be told of an engine: how it spells types and relations, and what a model has to say there."""

    whole_number: str
    text: str
    time: str
    config: tuple[tuple[str, Any], ...] = ()
    schema: str = "shop."


PLACES = {
    "postgres": Place("integer", "text", "timestamp without time zone"),
    "spark": Place("int", "string", "timestamp_ntz", (("file_format", "iceberg"),)),
    "databricks": Place("int", "string", "timestamp", (("liquid_clustered_by", ["id"]),)),
    "snowflake": Place("NUMBER(38,0)", "VARCHAR(16777216)", "TIMESTAMP_NTZ(9)", (("cluster_by", "id"),)),
    "bigquery": Place("INT64", "STRING", "DATETIME", (("cluster_by", ["id"]),)),
    "trino": Place("integer", "varchar", "timestamp(6)"),
    "redshift": Place("integer", "character varying(200)", "timestamp without time zone", (("sort", "id"),)),
}


def engine_of(name: str) -> Engine:
    """Return an engine as a model has it."""
    return required(name, "customers").configured(dict(PLACES[name].config), "customers")


def table_of(name: str, mode: str) -> Table | None:
    """Return a model's table before its first run, or None where the engine does not serve the mode."""
    place, engine, config = PLACES[name], engine_of(name), dict(MODES[mode])
    materialized = config.pop("materialized", "auto_cdc")
    spec, problems = parse(config, None, known=frozenset(), materialized=materialized)
    assert [] == problems
    if served.problems_of(engine, materialized, spec, flows=(), reads=()):
        return None
    kinds = {"id": place.whole_number, "name": place.text, "note": place.text}
    kinds |= {"operation": place.text, "changed_at": place.time}
    feed = tuple(Column(engine.folded(column), kind) for column, kind in kinds.items())
    relations = relations_of(
        name,
        "customers",
        target=f"{place.schema}customers",
        beside=lambda path: f"{place.schema}{path['identifier']}",
    )
    scratch = working_relation(engine, "customers", names.DESCRIBED, target=relations.target)
    state = State(
        model_sql="select id, name, note, operation, changed_at\nfrom shop.customer_changes",
        feed=feed,
        sequence_type=place.time,
    )
    return Table("customers", spec, state, relations, replace(engine, scratch=scratch))


def going_on(table: Table) -> Table:
    """Return a table as it is after a first build."""
    job = table.job(builds=True)
    after = replace(
        table.state,
        target=_columns(tables.target_types(job)),
        companion=_columns(tables.companion_types(job)),
        control=tables.definition(job),
        last_run=1,
    )
    return replace(table, state=after)


def plans(name: str, mode: str) -> Iterator[Plan]:
    """Yield the plans of a first build and of the run after it; none where the engine does not serve the mode."""
    table = table_of(name, mode)
    if table is not None:
        plan = PLANS[MODES[mode].get("materialized", "auto_cdc")]
        yield plan(table)
        yield plan(going_on(table))


def _columns(types: dict[str, str]) -> tuple[Column, ...]:
    return tuple(Column(name.strip('`"'), kind) for name, kind in types.items())


def pinned() -> Iterator[tuple[Path, str]]:
    """Yield every file with the text that belongs into it."""
    for name in PLACES:
        for mode in MODES:
            scripts = [plan.script for plan in plans(name, mode)]
            if scripts:
                yield FOLDER / name / f"{mode}.sql", "\n".join(scripts)


def main() -> int:
    """Write all files anew, and remove those that are none any more."""
    wanted = dict(pinned())
    for path in FOLDER.rglob("*.sql"):
        if path not in wanted:
            path.unlink()
    for path, text in wanted.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
