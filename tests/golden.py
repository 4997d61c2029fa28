"""The plans that are pinned as text: of each mode on each engine, a first build and a run that goes on.

They are made as `explain` makes them, of a state written by hand: no database is asked. `make golden` writes them into
tests/engines/golden, and what they read of large tables into the manual.

Not here: what is expected of them (`tests/unit/test_golden`).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dbt_auto_cdc import names, served
from dbt_auto_cdc.bridge import _PLANS as PLANS
from dbt_auto_cdc.engines import required
from dbt_auto_cdc.engines.base import Engine
from dbt_auto_cdc.materializations import tables
from dbt_auto_cdc.materializations.tables import Table
from dbt_auto_cdc.plan import Plan, Step
from dbt_auto_cdc.relations import relations_of, working_relation
from dbt_auto_cdc.spec import parse
from dbt_auto_cdc.sql import code_of
from dbt_auto_cdc.state import Column, State

FOLDER = Path(__file__).parent / "engines" / "golden"
SCALE = Path(__file__).parents[1] / "docs" / "guides" / "scale.md"
# What tells the run that goes on from the one before.
RUN = "c0ffee000002"
PLACE_OF_SCANS = re.compile(
    r"(?P<start><!-- scans: made by make golden -->)\n.*?(?P<end><!-- end of scans -->)", re.DOTALL
)

EVENTS = {"keys": ["id"], "sequence_by": "changed_at", "apply_as_deletes": "operation = 'D'"}
MODES: dict[str, dict[str, Any]] = {
    "scd1": {**EVENTS, "apply_as_truncates": "operation = 'T'", "except_column_list": ["operation"]},
    "scd1_plain": {**EVENTS, "except_column_list": ["operation"]},
    "scd2": {
        **EVENTS,
        "stored_as_scd_type": 2,
        "except_column_list": ["operation", "changed_at"],
        "track_history_except_column_list": ["note"],
        "sequence_ties": "warn",
    },
    "snapshot_scd1": {
        "materialized": "auto_cdc_snapshot",
        "keys": ["id"],
        "snapshot_version": "changed_at",
        "max_delete_ratio": 0.5,
    },
    "snapshot_scd2": {
        "materialized": "auto_cdc_snapshot",
        "keys": ["id"],
        "snapshot_version": "changed_at",
        "stored_as_scd_type": 2,
        "track_history_except_column_list": ["note"],
    },
    "scd1_expectations": {
        **EVENTS,
        "except_column_list": ["operation"],
        "expect_all": {"named": "name is not null"},
        "expect_all_or_drop": {"recent": "changed_at >= '2020-01-01'"},
        "expectations_quarantine": True,
        "tombstone_retention": "2 days",
    },
    "scd1_partial": {**EVENTS, "except_column_list": ["operation"], "ignore_null_updates": True},
    "scd2_partial": {
        **EVENTS,
        "stored_as_scd_type": 2,
        "except_column_list": ["operation", "changed_at"],
        "ignore_null_updates_column_list": ["note"],
    },
    "bitemporal": {
        **EVENTS,
        "stored_as_scd_type": "bitemporal",
        "system_sequence_by": "known_at",
        "except_column_list": ["operation", "changed_at", "known_at"],
    },
    "append_flow": {"materialized": "append_flow"},
    "replace_using": {"materialized": "replace_using", "replace_using": ["id"], "sequence_by": "changed_at"},
    "replace_where": {"materialized": "replace_where", "replace_where": "changed_at >= '2026-03-01'"},
}
"""What a model of each mode is configured with."""


# What the manual counts the statements and scans of, on an engine without places for rows: nothing that costs more.
COUNTED: dict[str, dict[str, Any]] = {
    "`auto_cdc`, SCD type 1": MODES["scd1_plain"],
    "`auto_cdc`, SCD type 2": {
        **EVENTS,
        "stored_as_scd_type": 2,
        "except_column_list": ["operation", "changed_at"],
    },
    "`auto_cdc_snapshot`, SCD type 1": MODES["snapshot_scd1"],
    "`auto_cdc_snapshot`, SCD type 2": MODES["snapshot_scd2"],
    **{f"`{mode}`": MODES[mode] for mode in ("append_flow", "replace_using", "replace_where")},
}


@dataclass(frozen=True)
class Place:
    """What a plan has to be told of an engine: how it spells types and relations, and what a model has to say there."""

    whole_number: str
    text: str
    time: str
    config: tuple[tuple[str, Any], ...] = ()
    schema: str = "shop."
    adapter: str = ""


PLACES = {
    "postgres": Place("integer", "text", "timestamp without time zone"),
    "spark": Place("int", "string", "timestamp_ntz", (("file_format", "iceberg"),)),
    "databricks": Place("int", "string", "timestamp", (("liquid_clustered_by", ["id"]),)),
    "snowflake": Place("NUMBER(38,0)", "VARCHAR(16777216)", "TIMESTAMP_NTZ(9)", (("cluster_by", "id"),)),
    "bigquery": Place("INT64", "STRING", "DATETIME", (("cluster_by", ["id"]),)),
    "trino": Place("integer", "varchar", "timestamp(6)"),
    "redshift": Place("integer", "character varying(200)", "timestamp without time zone", (("sort", "id"),)),
}
# Those whose plans are not pinned: every plan of the tests is run there, or it is another engine's but for a few words.
EVERYWHERE = {
    **PLACES,
    "duckdb": Place("INTEGER", "VARCHAR", "TIMESTAMP"),
    "ducklake": Place("INTEGER", "VARCHAR", "TIMESTAMP"),
    "sail": Place("int", "string", "timestamp_ntz", (("file_format", "delta"),), adapter="spark"),
}


def engine_of(name: str) -> Engine:
    """Return an engine as a model has it."""
    place = EVERYWHERE[name]
    return required(place.adapter or name, "customers").configured(dict(place.config), "customers")


def table_of(name: str, config: Mapping[str, Any]) -> Table | None:
    """Return a model's table before its first run, or None where the engine does not serve its options."""
    place, engine, config = EVERYWHERE[name], engine_of(name), dict(config)
    materialized = config.pop("materialized", "auto_cdc")
    spec, problems = parse(config, None, known=frozenset(), materialized=materialized)
    assert [] == problems
    if served.problems_of(engine, spec, flows=(), reads=()):
        return None
    kinds = {"id": place.whole_number, "name": place.text, "note": place.text}
    kinds |= {"operation": place.text, "changed_at": place.time}
    if "system_sequence_by" in config:
        kinds["known_at"] = place.time
    feed = tuple(Column(engine.folded(column), kind) for column, kind in kinds.items())
    relations = relations_of(
        place.adapter or name,
        "customers",
        target=f"{place.schema}customers",
        beside=lambda path: f"{place.schema}{path['identifier']}",
    )
    scratch = working_relation(engine, "customers", names.DESCRIBED, target=relations.target)
    state = State(
        model_sql=f"select {', '.join(kinds)}\nfrom shop.customer_changes",
        feed=feed,
        sequence_type=place.time,
        system_type=place.time if "known_at" in kinds else "",
        run="" if engine.transactions else RUN,
        expected_rows=1000 if engine.expect("select 1") else None,
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
        turn="" if table.engine.transactions else "c0ffee000001",
    )
    return replace(table, state=after)


def plans(name: str, config: Mapping[str, Any]) -> Iterator[Plan]:
    """Yield the plans of a first build and of the run after it; none where the engine does not serve the options."""
    table = table_of(name, config)
    if table is not None:
        plan = PLANS[config.get("materialized", "auto_cdc")]
        yield plan(table)
        yield plan(going_on(table))


def _columns(types: dict[str, str]) -> tuple[Column, ...]:
    return tuple(Column(name.strip('`"'), kind) for name, kind in types.items())


def pinned() -> Iterator[tuple[Path, str]]:
    """Yield every file with the text that belongs into it."""
    for name in PLACES:
        for mode, config in MODES.items():
            scripts = [plan.script for plan in plans(name, config)]
            if scripts:
                yield FOLDER / name / f"{mode}.sql", "\n".join(scripts)


def scans() -> str:
    """Return how often the statements of a run read target and companion, as a Markdown table."""
    lines = [
        "| materialization | first run | next run | reads the target | reads the companion |",
        "|---|---|---|---|---|",
    ]
    for title, config in COUNTED.items():
        first, following = plans("snowflake", config)
        found = {name: list(_scanning(following, name)) for name in ("customers", "customers__auto_cdc")}
        target, companion = ("; ".join(steps) for steps in found.values())
        lines.append(f"| {title} | {len(_sent(first))} | {len(_sent(following))} | {target} | {companion} |")
    return "\n".join(lines)


def _sent(plan: Plan) -> list[str]:
    engine = engine_of("snowflake")
    return [sql for step in (*_usual(plan), *plan.closing) for sql in engine.statements(step.sql)]


def _usual(plan: Plan) -> list[Step]:
    """Return the steps without those of another way that is gone where something is odd."""
    odd = {name for step in plan.steps for name in step.unless}
    return [step for step in plan.steps if not step.only_if or not odd.issuperset(step.only_if)]


def _scanning(plan: Plan, relation: str) -> Iterator[str]:
    """Yield the names of the steps that read a relation, and how often where that is more than once."""
    for step in _usual(plan):
        read = re.findall(rf"(?:from|join|merge into|update) shop\.{relation}\b", code_of(step.sql))
        if read:
            name = re.sub(r"shop\.\S+", lambda found: _WORDS.get(found[0], found[0]), step.name)
            yield f"*{name}*{f' {len(read)} times' if len(read) > 1 else ''}"


_WORDS = {"shop.customers": "the target", "shop.customers__auto_cdc": "the companion"}


def with_scans(page: str) -> str:
    """Return the page on large tables with its table."""
    return PLACE_OF_SCANS.sub(lambda place: f"{place['start']}\n{scans()}\n{place['end']}", page)


def main() -> int:
    """Write all files anew, and remove those that are none any more."""
    SCALE.write_text(with_scans(SCALE.read_text(encoding="utf-8")), encoding="utf-8")
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
