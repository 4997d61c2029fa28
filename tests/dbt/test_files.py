"""`read_files` through dbt: in models of every kind, in commands that only look, and in refusals.

Not here: what the files hold (`scenarios/test_files`).
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.dbt_project import Project

pytestmark = pytest.mark.dbt


def put(project: Project, name: str, *rows: dict[str, object]) -> Path:
    return project.write(f"landing/{name}", "".join(f"{json.dumps(row)}\n" for row in rows))


def write_models(project: Project) -> None:
    """Bronze takes each file once, customers and a history follow, beside them models that read all files."""
    project.write(
        "models/bronze.sql",
        """
        {{ config(materialized='append_flow') }}
        select * exclude (_metadata), _metadata.file_name as file_name
        from {{ auto_cdc.read_files('landing/*.json', metadata=true) }}
        """,
    )
    project.write(
        "models/customers.sql",
        """
        {{ config(materialized='auto_cdc', keys=['id'], sequence_by='day') }}
        select id, city, day from {{ auto_cdc.read_files('landing', format='json', schema_hints='day date') }}
        """,
    )
    project.write(
        "models/dump.sql",
        """
        {{ config(materialized='auto_cdc_snapshot', keys=['id'], snapshot_version='auto', stored_as_scd_type=2) }}
        select id, max(city) as city from {{ auto_cdc.read_files('landing/*.json') }} group by id
        """,
    )
    for kind in ("table", "view"):
        project.write(
            f"models/{kind}_of_all.sql",
            f"""
            {{{{ config(materialized='{kind}') }}}}
            select id, city, day, _rescued_data from {{{{ auto_cdc.read_files('{project.root}/landing/*.json') }}}}
            """,
        )


def test_models_of_every_kind(project: Project) -> None:
    """Those of ours read each file once, whole dumps and dbt's own read all; what reads on only sees what is new."""
    write_models(project)
    put(project, "a.json", {"id": 1, "city": "Oslo", "day": "2026-03-01"})
    project.succeed("run")
    put(
        project,
        "b.json",
        {"id": 1, "city": "Kiel", "day": "2026-03-02"},
        {"id": 2, "city": None, "day": "soon"},
    )
    assert "sequence_by day is null in" in project.fail("run")
    bronze = "select id, city, day::varchar, file_name, _rescued_data is null from bronze order by all"
    expected = [
        (1, "Kiel", "2026-03-02", "b.json", True),
        (1, "Oslo", "2026-03-01", "a.json", True),
        (2, None, None, "b.json", False),
    ]
    assert expected == project.query(bronze)
    assert [(1, "Oslo")] == project.query("select id, city from customers")
    put(project, "b.json", {"id": 1, "city": "Kiel", "day": "2026-03-02"})
    project.succeed("run")
    assert expected == project.query(bronze)
    assert [(1, "Kiel")] == project.query("select id, city from customers")
    assert 0 == project.responses["bronze"]["num_output_rows"]
    history = [(1, "Oslo", 0, 1), (1, "Oslo", 1, None)]
    assert history[1:] != project.query("select id, city, __START_AT, __END_AT from dump where false")
    assert [("Oslo", None)] == project.query(
        "select city, __END_AT from dump where __END_AT is null and id = 1"
    )
    for kind in ("table", "view"):
        assert 2 == len(project.query(f"select * from {kind}_of_all"))


def test_commands_that_only_look(project: Project) -> None:
    """Compile, show and explain look at all files, or at those that are new, and write nothing."""
    write_models(project)
    put(project, "a.json", {"id": 1, "city": "Oslo", "day": "2026-03-01"})
    project.succeed("compile")
    compiled = project.read(f"target/compiled/{project.name}/models/bronze.sql")
    assert "read_json_objects(['landing/a.json']" in compiled
    shown = project.succeed("show", "--select", "bronze", "--output", "json")
    assert shown.success
    assert [] == project.query("select * from duckdb_tables() where not temporary")
    project.succeed("run", "--select", "bronze customers")
    put(project, "b.json", {"id": 3, "city": "Rome", "day": "2026-03-05"})
    project.succeed("run-operation", "auto_cdc.explain", "--args", "{model: bronze}")
    assert "files: 1 of landing/*.json" in project.log
    assert 1 == len(project.query("select * from bronze"))
    project.succeed("run", "--select", "bronze", "--empty")
    assert 1 == len(project.query("select * from bronze"))
    project.succeed("run", "--select", "bronze")
    assert [(1,), (3,)] == project.query("select id from bronze order by 1")


def test_refusals(project: Project) -> None:
    """A misspelt argument stops dbt while it parses; no files, and a file that is cut short, stop the model's run."""
    model = """
        {{{{ config(materialized='append_flow') }}}}
        select id from {{{{ auto_cdc.read_files('landing/*.json'{}) }}}}
        """
    project.write("models/bronze.sql", model.format(", schema_hint='id int'"))
    said = project.fail("parse")
    assert "read_files has no option schema_hint; did you mean schema_hints?" in said
    project.write("models/bronze.sql", model.format(""))
    assert "model bronze: read_files files: no file of landing/*.json is there yet" in project.fail("run")
    project.write("landing/a.json", '{"id": 1}\n{"id"')
    said = project.fail("run")
    assert "auto_cdc: model bronze: read_files files: a file of landing/*.json cannot be read" in said
    assert 'Malformed JSON in file "landing/a.json"' in said
    project.write("landing/a.json", '{"id": 1}\n5')
    assert "file landing/a.json has a record that is no JSON object: 5" in project.fail("run")
    project.write("models/bronze.sql", model.format(", schema_hints='id int', ignore_corrupt_files=true"))
    project.succeed("run")
    assert "1 file cannot be read, and left out until it changes, for example landing/a.json" in project.log
    project.succeed("show", "--select", "bronze")
    project.succeed("compile")
    compiled = project.read(f"target/compiled/{project.name}/models/bronze.sql")
    assert "where false" in compiled
    project.write("models/bronze.sql", model.format(", schema_hints='id int'"))
    project.succeed("run-operation", "auto_cdc.forget", "--args", "{model: bronze, keys: {id: 9}}")
    project.write("models/bronze.sql", model.format(", schema_hints='id int', ignore_corrupt_files=true"))
    project.write("landing/a.json", '{"id": 1}')
    project.succeed("run")
    assert [(1,)] == project.query("select id from bronze")


def test_a_clone_has_read_what_its_original_has(project: Project) -> None:
    """The record of files is copied along, so that the clone reads what comes next and nothing twice."""
    outputs = ", ".join(
        f"{name}: {{type: duckdb, path: '{project.database}', schema: {name}}}" for name in ("dev", "prod")
    )
    project.write("profiles.yml", f"{project.name}: {{target: dev, outputs: {{{outputs}}}}}\n")
    project.write(
        "models/bronze.sql",
        "{{ config(materialized='append_flow') }} select id from {{ auto_cdc.read_files('landing/*.json') }}",
    )
    put(project, "a.json", {"id": 1})
    project.writes_manifest = True
    project.succeed("run", "--target", "prod")
    (project.root / "target").rename(project.root / "state")
    project.succeed("clone", "--state", str(project.root / "state"))
    project.succeed("run-operation", "auto_cdc.clone_companions", "--args", "{from_schema: prod}")
    put(project, "b.json", {"id": 2})
    project.succeed("run")
    assert [(1,), (2,)] == project.query("select id from dev.bronze order by 1")
    assert [(1,)] == project.query("select id from prod.bronze")
