"""The data tests that users put on their histories: what they find and what they let pass."""

from __future__ import annotations

import pytest

from tests.dbt_project import Project

pytestmark = pytest.mark.dbt

# name: versions of key 1 as (start, end), which test finds fault with them, and in how many rows
HISTORIES = {
    "good": ("(1, 3), (3, 5), (7, null)", {}),
    "overlapping": ("(1, 4), (3, 5)", {"no_overlapping_versions": 1}),
    "one_inside_another": ("(1, 9), (2, 3), (4, 5)", {"no_overlapping_versions": 1}),
    "ending_where_it_starts": ("(1, 3), (3, 3)", {"no_overlapping_versions": 1}),
    "without_start": ("(null, 3), (3, 5)", {"no_overlapping_versions": 1}),
    "open_before_another": ("(1, null), (3, 5)", {"no_overlapping_versions": 1}),
    "open_twice": ("(1, null), (3, null)", {"no_overlapping_versions": 1, "one_open_version": 1}),
    "started_twice": ("(1, null), (1, null)", {"no_overlapping_versions": 1, "one_open_version": 1}),
}


def test_histories_are_found_right_or_wrong(project: Project) -> None:
    """Each broken history is found by the test that is about it, and key 2, which is sound, is not."""
    yaml = ["models:"]
    for name, (versions, _) in HISTORIES.items():
        project.write(
            f"models/{name}.sql",
            f"select 1 as id, 'x' as \"the region\", * from (values {versions}) as v(__START_AT, __END_AT)\n"
            "union all select 2, 'x', 1, null\n",
        )
        yaml += [f"  - name: {name}", "    data_tests:"]
        for test in ("no_overlapping_versions", "one_open_version"):
            yaml.append(f"      - auto_cdc.{test}: {{arguments: {{keys: [id, '\"the region\"']}}}}")
    project.write("models/_models.yml", "\n".join(yaml) + "\n")
    project.succeed("run")

    found: dict[str, dict[str, int]] = {name: {} for name in HISTORIES}
    for result in project.run("test").result.results:
        if str(result.status) != "pass":
            model = result.node.attached_node.rpartition(".")[2]
            found[model][result.node.test_metadata.name] = result.failures
    assert {name: faults for name, (_, faults) in HISTORIES.items()} == found


def test_keys_may_be_one_name(project: Project) -> None:
    """A single key need not be a list."""
    project.write("models/prices.sql", "select 1 as sku, 1 as __START_AT, cast(null as integer) as __END_AT")
    project.write(
        "models/_models.yml",
        """
        models:
          - name: prices
            data_tests:
              - auto_cdc.no_overlapping_versions: {arguments: {keys: sku}}
              - auto_cdc.one_open_version: {arguments: {keys: sku}}
        """,
    )
    project.succeed("build")
