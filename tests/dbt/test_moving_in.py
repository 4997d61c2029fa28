"""Histories that `dbt snapshot` really kept, adopted as the guide tells it, and gone on with.

Not here: what adoption refuses of tables made by hand (`test_operations`).
"""

from __future__ import annotations

import dbt.version
import pytest

from tests.dbt_project import Project

pytestmark = [
    pytest.mark.dbt,
    pytest.mark.skipif(dbt.version.__version__.startswith("1.8."), reason="hard_deletes came with dbt 1.9"),
]

# How a snapshot is configured, and what of its columns has another name or another way of saying "still".
SNAPSHOTS = {
    "stamped_new_record": "strategy: timestamp, updated_at: updated_at, hard_deletes: new_record",
    "stamped_invalidate": "strategy: timestamp, updated_at: updated_at, hard_deletes: invalidate",
    "checked_new_record": "strategy: check, check_cols: [city], hard_deletes: new_record",
    "checked_invalidate": "strategy: check, check_cols: all, hard_deletes: invalidate",
    "far_ahead": (
        "strategy: timestamp, updated_at: updated_at, hard_deletes: invalidate,"
        " dbt_valid_to_current: \"timestamp '9999-12-31'\""
    ),
    "renamed": (
        "strategy: check, check_cols: all, hard_deletes: new_record, snapshot_meta_column_names:"
        " {dbt_valid_from: seen_from, dbt_valid_to: seen_to, dbt_is_deleted: is_gone}"
    ),
}
ADOPT = """
{% macro adopt_all(models) %}
  {% for model in models %}{% do auto_cdc.adopt(model) %}{% endfor %}
{% endmacro %}
"""
HISTORY = "select id, city, __END_AT is null from {} order by id, __START_AT, __END_AT"


def imported(name: str) -> str:
    """Return the query that brings a snapshot into the shape of a target, as the guide has it."""
    start, end, is_deleted = (
        ("seen_from", "seen_to", "is_gone")
        if name == "renamed"
        else ("dbt_valid_from", "dbt_valid_to", "dbt_is_deleted")
    )
    known_end = f"nullif({end}, timestamp '9999-12-31')" if name == "far_ahead" else end
    kept = f"where {is_deleted} = 'False'" if name.endswith(("new_record", "renamed")) else ""
    return f"""
        select
            id, part, city,
            greatest({start}, lag({end}) over (partition by id, part order by {start}, {end})) as __START_AT,
            {known_end} as __END_AT
        from {name} {kept}
    """


def hold(project: Project, *rows: tuple[int, str, str]) -> None:
    """Let the source hold these rows and no others."""
    project.execute("delete from crm")
    for number, city, updated_at in rows:
        project.execute("insert into crm values (?, 1, ?, ?)", [number, city, updated_at])


@pytest.fixture
def shop(project: Project) -> Project:
    """Give a project whose snapshots saw a change, a deletion, and the return of what was deleted."""
    project.execute("create table crm (id integer, part integer, city varchar, updated_at timestamp)")
    project.execute(
        "create table feed (id integer, part integer, city varchar, op varchar, changed_at timestamp)"
    )
    project.write("models/_sources.yml", "sources: [{name: raw, schema: main, tables: [{name: crm}]}]\n")
    snapshots = "".join(
        f"  - {{name: {name}, relation: \"source('raw', 'crm')\", config: {{unique_key: [id, part], {config}}}}}\n"
        for name, config in SNAPSHOTS.items()
    )
    project.write("snapshots/_snapshots.yml", f"snapshots:\n{snapshots}")
    project.write("macros/adopt_all.sql", ADOPT)
    first = [(1, "Oslo", "2026-01-01"), (2, "Rome", "2026-01-01"), (3, "Kiel", "2026-01-01")]
    hold(project, *first)
    project.succeed("snapshot")
    hold(project, (1, "Bari", "2026-01-05"), first[2])
    project.succeed("snapshot")
    hold(project, (1, "Bari", "2026-01-05"), *first[1:])
    project.succeed("snapshot")
    return project


def adopt(project: Project, suffix: str, model: str) -> list[str]:
    """Make a target of every snapshot's rows, adopt them all, and return their names."""
    names = [f"{name}_{suffix}" for name in SNAPSHOTS]
    for name in SNAPSHOTS:
        project.execute(f"create table {name}_{suffix} as {imported(name)}")
        project.write(f"models/{name}_{suffix}.sql", model)
    project.succeed("run-operation", "adopt_all", "--args", f"{{models: [{', '.join(names)}]}}")
    return names


CARRIED = [(1, "Oslo", False), (1, "Bari", True), (2, "Rome", False), (2, "Rome", True), (3, "Kiel", True)]


def test_into_auto_cdc_snapshot(shop: Project) -> None:
    """All versions are kept, the source as it was changes nothing, and what happens next ends and begins versions."""
    names = adopt(
        shop,
        "dumped",
        """
        {{ config(
            materialized='auto_cdc_snapshot', keys=['id', 'part'], snapshot_version='seen_at', stored_as_scd_type=2,
            full_refresh=false,
        ) }}
        select id, part, city, {{ dbt.snapshot_get_time() }} as seen_at from {{ source('raw', 'crm') }}
        """,
    )
    shop.succeed("run")
    for name in names:
        assert CARRIED == shop.query(HISTORY.format(name)), name
        assert 0 == shop.responses[name]["num_upserted_rows"]
    hold(shop, (1, "Hamar", "2026-02-01"), (2, "Rome", "2026-01-01"), (4, "Nice", "2026-02-01"))
    shop.succeed("run")
    expected = [
        (1, "Oslo", False),
        (1, "Bari", False),
        (1, "Hamar", True),
        (2, "Rome", False),
        (2, "Rome", True),
        (3, "Kiel", False),
        (4, "Nice", True),
    ]
    for name in names:
        assert expected == shop.query(HISTORY.format(name)), name


def test_into_auto_cdc(shop: Project) -> None:
    """All versions are kept, a late event is put between them, and new events go on with them."""
    names = adopt(
        shop,
        "fed",
        """
        {{ config(
            materialized='auto_cdc', keys=['id', 'part'], sequence_by='changed_at', apply_as_deletes="op = 'D'",
            column_list=['id', 'part', 'city'], stored_as_scd_type=2, full_refresh=false,
        ) }}
        select * from main.feed
        """,
    )
    shop.execute(
        """
        insert into feed values
            (1, 1, 'Paris', 'U', '2026-01-03'), (1, 1, 'Hamar', 'U', '2126-01-01'),
            (3, 1, null, 'D', '2126-01-01'), (4, 1, 'Nice', 'U', '2126-01-01')
        """
    )
    for _ in range(2):
        shop.succeed("run")
        for name in names:
            # By the source's clock Oslo came before Paris; by dbt's, which looked later, after it.
            before = ["Oslo", "Paris"] if name.startswith(("stamped", "far")) else ["Paris", "Oslo"]
            expected = [
                *((1, city, False) for city in (*before, "Bari")),
                (1, "Hamar", True),
                *CARRIED[2:4],
                (3, "Kiel", False),
                (4, "Nice", True),
            ]
            assert expected == shop.query(HISTORY.format(name)), name
