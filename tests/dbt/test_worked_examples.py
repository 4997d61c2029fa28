"""All worked examples through dbt on the engine at hand: one project, a model for each, a run of dbt for each run.

Not here: the same in any order and cut (`scenarios/test_cases`), snapshots that wait for each other, the demo.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from tests import databases
from tests.case_data import Case, Run, assert_run
from tests.scenarios import test_cases as changes
from tests.scenarios import test_snapshot_and_replace_cases as others

if TYPE_CHECKING:
    from tests.dbt_project import Project

pytestmark = pytest.mark.dbt

CASES = {
    parameter.values[0].id.lower().replace("-", "_"): parameter.values[0]
    for parameter in [*map(changes.served, changes.CASES), *map(others.served, others.CASES)]
    if not parameter.marks
}
PARSED = {
    "conflicting_options",
    "ignored_key",
    "missing_sequence_by",
    "missing_system_sequence_by",
}
"""What is refused while dbt parses, before anything is run."""


KINDS = {
    "scd1": ("scd1",),
    "scd2": ("scd2",),
    "others": ("bitemporal", "snapshot_scd1", "snapshot_scd2", "replace_using", "replace_where"),
}
"""The modes of one project each, so that several can be at work."""


def kind_of(case: Case) -> str:
    """Return the kind of message with which a case is refused; empty where it is not."""
    return changes.WRITTEN_OUT.get(case.id, case.error or "")


def model_of(case: Case, run: Run, feed: str) -> str:
    """Return the model as a user would write it."""
    materialized = others.materialized_of(case) if case in others.CASES else "auto_cdc"
    config: dict[str, Any] = {"materialized": materialized, **others.options_of(run)}
    given = ", ".join(f"{name}={value!r}" for name, value in config.items() if value is not None)
    return f"{{{{ config({given}) }}}}\nselect * from {{{{ target.schema }}}}.{feed}\n"


@pytest.fixture
def shop(project: Project) -> Project:
    """Return a project whose tables are of a format that the engine can change."""
    with project._connection() as connection:
        options = {f"+{name}": value for name, value in databases.options_of(connection).items()}
    project.write("dbt_project.yml", f"name: shop\nprofile: shop\nmodels: {options}\n")
    return project


@pytest.mark.parametrize("modes", KINDS.values(), ids=KINDS)
def test_worked_examples(shop: Project, modes: tuple[str, ...]) -> None:
    """After each run each table is the documented one; one that is refused says why and stays, and stops no other."""
    running = {
        name: case for name, case in CASES.items() if case.mode in modes and kind_of(case) not in PARSED
    }
    assert len(running) >= 10
    number = 0
    while running := {name: case for name, case in running.items() if number < len(case.runs)}:
        runs = {name: case.runs[number] for name, case in running.items()}
        with shop._connection() as connection:
            for name, run in runs.items():
                others.deliver(connection, run, f"feed_of_{name}")
                shop.write(f"models/{name}.sql", model_of(running[name], run, f"feed_of_{name}"))
        result = shop.run("run", "--select", *runs)
        said = {each.node.name: each for each in result.result or ()}
        assert runs.keys() == said.keys(), result.exception
        refused = {name for name, run in runs.items() if run.is_refused}
        assert refused == {name for name, each in said.items() if each.status != "success"}, [
            said[name].message for name in said.keys() - refused if said[name].status != "success"
        ]
        for name in refused:
            message = said[name].message
            assert re.search(changes.MESSAGES[kind_of(running[name])], message), message
        with shop._connection() as connection:
            for name in runs.keys() & databases.tables_of(connection).keys():
                assert_run(connection, name, runs[name])
        number += 1


@pytest.mark.only_on("duckdb")
@pytest.mark.parametrize("case", [case for case in CASES.values() if kind_of(case) in PARSED])
def test_refused_while_dbt_parses(shop: Project, case: Case) -> None:
    """What no look at a table is needed for is said before anything is run."""
    shop.write("models/target.sql", model_of(case, case.runs[0], "feed"))
    assert re.search(changes.MESSAGES[kind_of(case)], shop.fail("parse"))
