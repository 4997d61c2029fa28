"""The data tests that users put on their histories: what they find and what they let pass."""

from __future__ import annotations

from collections.abc import Iterable

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


def failures(project: Project, models: Iterable[str]) -> dict[str, dict[str, int | None]]:
    """Run the data tests, and return for each model which fail, and with how many rows."""
    found: dict[str, dict[str, int | None]] = {name: {} for name in models}
    for result in project.run("test").result.results:
        if str(result.status) != "pass":
            model = result.node.attached_node.rpartition(".")[2]
            found[model][result.node.test_metadata.name] = result.failures
    return found


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

    assert {name: faults for name, (_, faults) in HISTORIES.items()} == failures(project, HISTORIES)


# name: rows of key 1 as (start, end, system start, system end), and what finds fault with them
BELIEFS = {
    "one_belief_after_another": ("(10, null, 100, 200), (10, 20, 200, null), (20, null, 200, null)", {}),
    "taken_back_and_open_twice_in_all": (
        "(10, null, 100, 200), (12, null, 200, 300), (11, null, 300, null)",
        {},
    ),
    "overlapping_once_believed": (
        "(10, 30, 100, 300), (20, null, 200, 300)",
        {"no_overlapping_rectangles": 1},
    ),
    "overlapping_now": (
        "(10, 30, 100, null), (20, null, 200, null)",
        {"no_overlapping_rectangles": 1, "no_overlapping_versions": 1},
    ),
    "open_twice_now": (
        "(10, null, 100, null), (20, null, 200, null)",
        {"no_overlapping_rectangles": 1, "no_overlapping_versions": 1, "one_open_version": 1},
    ),
    "known_before_it_was_known": ("(10, 20, 200, 200), (10, 20, 300, 100)", {"no_overlapping_rectangles": 2}),
    "without_system_start": ("(10, 20, null, 300)", {"no_overlapping_rectangles": 1}),
}


@pytest.mark.parametrize("config", ["", "where: id < 9"], ids=["whole tables", "where"])
def test_bitemporal_tables_are_found_right_or_wrong(project: Project, config: str) -> None:
    """Two of the tests look at what is believed now, one at every belief; `where` gives them a sub-query."""
    yaml = ["models:"]
    for name, (rows, _) in BELIEFS.items():
        project.write(
            f"models/{name}.sql",
            f"select 1 as id, 'x' as \"the region\", * from (values {rows})"
            " as v(__START_AT, __END_AT, __SYSTEM_START_AT, __SYSTEM_END_AT)\n"
            "union all select null, 'x', 1, null, 1, null\nunion all select null, null, 1, null, 1, null\n",
        )
        yaml += [f"  - name: {name}", "    data_tests:"]
        for test in ("no_overlapping_rectangles", "no_overlapping_versions", "one_open_version"):
            yaml.append(
                f"      - auto_cdc.{test}: {{arguments: {{keys: [id, '\"the region\"']}}, config: {{{config}}}}}"
            )
    project.write("models/_models.yml", "\n".join(yaml) + "\n")
    project.succeed("compile")
    project.succeed("run")
    assert {name: faults for name, (_, faults) in BELIEFS.items()} == failures(project, BELIEFS)


def test_many_versions_of_a_key(project: Project) -> None:
    """A key with thousands of versions is looked through without comparing them in pairs, with the same outcome."""
    rows = "from range(3000) as v(t)"
    learned = (
        "select t as __START_AT, cast(null as bigint) as __END_AT, t as __SYSTEM_START_AT, t + 1 as __SYSTEM_END_AT"
        f" {rows}"
        f" union all select t, t + 1, t + 1, null {rows}"
    )
    project.write("models/sound.sql", f"select 1 as id, * from ({learned})")
    project.write(
        "models/broken.sql", "select * from {{ ref('sound') }} union all select 1, 1500, 1501, 2000, 2001"
    )
    test = "data_tests: [{auto_cdc.no_overlapping_rectangles: {arguments: {keys: id}}}]"
    project.write("models/_models.yml", f"models: [{{name: sound, {test}}}, {{name: broken, {test}}}]")
    project.succeed("run")
    assert {"sound": {}, "broken": {"no_overlapping_rectangles": 1}} == failures(project, ["sound", "broken"])


# name: rows of the table as (id, city), and how many rows differ from the open versions of HISTORY
TABLES = {
    "same": ("(1, 'Bergen'), (2, null), (3, 'Rome')", 0),
    "other_value": ("(1, 'Oslo'), (2, null), (3, 'Rome')", 2),
    "value_for_null": ("(1, 'Bergen'), (2, 'x'), (3, 'Rome')", 2),
    "lacks_a_key": ("(1, 'Bergen'), (2, null)", 1),
    "has_one_more": ("(1, 'Bergen'), (2, null), (3, 'Rome'), (4, 'Bonn')", 1),
    "has_one_twice": ("(1, 'Bergen'), (1, 'Bergen'), (2, null), (3, 'Rome')", 1),
    "empty": ("(1, 'x') limit 0", 3),
}
HISTORY = "(1, 'Oslo', 10, 20), (1, 'Bergen', 20, null), (2, null, 10, null), (3, 'Rome', 10, null), (4, 'Bonn', 1, 5)"


@pytest.mark.parametrize("bitemporal", [False, True], ids=["history", "bitemporal"])
def test_a_table_of_latest_rows_equals_the_open_versions(project: Project, bitemporal: bool) -> None:
    """Rows that are missing, too many, repeated or different are found on either side; null equals null."""
    system = ", 100 as __SYSTEM_START_AT, cast(null as integer) as __SYSTEM_END_AT" if bitemporal else ""
    once = " union all select 1, 'believed once', 10, null, 50, 100" if bitemporal else ""
    project.write(
        "models/history.sql",
        f"select *{system} from (values {HISTORY}) as v(id, city, __START_AT, __END_AT){once}",
    )
    yaml = ["models:"]
    for name, (rows, _) in TABLES.items():
        project.write(
            f"models/{name}.sql", f"select id, city, 7 as other from (values {rows}) as v(id, city)"
        )
        yaml.append(
            f"  - {{name: {name}, data_tests: [{{auto_cdc.equals_open_versions: {{arguments:"
            " {history: ref('history'), columns: [id, city]}}}]}"
        )
    project.write("models/_models.yml", "\n".join(yaml) + "\n")
    project.succeed("run")
    expected = {name: {"equals_open_versions": rows} if rows else {} for name, (_, rows) in TABLES.items()}
    assert expected == failures(project, TABLES)


def test_targets_of_one_feed_agree(project: Project) -> None:
    """What runs make of a feed, late events, deletes and all, passes every test in the build that makes it."""
    project.execute(
        "create schema raw; create table raw.feed (id integer, city varchar, op varchar, seq integer);"
        "insert into raw.feed values (1, 'Oslo', 'U', 10), (1, 'Bergen', 'U', 30), (2, null, 'U', 10), (3, 'x', 'U', 5)"
    )
    for name, scd_type in (("latest", 1), ("history", 2)):
        project.write(
            f"models/{name}.sql",
            "{{ config(materialized='auto_cdc', keys=['id'], sequence_by='seq', apply_as_deletes=\"op = 'D'\","
            f" column_list=['id', 'city'], stored_as_scd_type={scd_type}) }}}} select * from raw.feed",
        )
    project.write(
        "models/_models.yml",
        """
        models:
          - name: latest
            data_tests:
              - auto_cdc.equals_open_versions:
                  arguments: {history: ref('history'), columns: [id, city]}
          - name: history
            data_tests:
              - auto_cdc.no_overlapping_versions: {arguments: {keys: id}}
              - auto_cdc.one_open_version: {arguments: {keys: id}}
        """,
    )
    project.succeed("build")
    project.execute(
        "insert into raw.feed values (1, 'Paris', 'U', 20), (3, null, 'D', 9), (2, 'Rome', 'U', 9)"
    )
    project.succeed("build")
    project.execute("update latest set city = 'by hand' where id = 1")
    assert {"latest": {"equals_open_versions": 2}, "history": {}} == failures(project, ["latest", "history"])


@pytest.mark.parametrize(
    ("test", "argument"),
    [
        (
            "no_overlapping_versions: {}",
            "no_overlapping_versions: keys is missing; write keys: [<column>, ...]",
        ),
        ("one_open_version: {arguments: {keys: []}}", "one_open_version: keys is missing"),
        ("no_overlapping_rectangles: {}", "no_overlapping_rectangles: keys is missing"),
        (
            "equals_open_versions: {arguments: {history: ref('prices')}}",
            "equals_open_versions: columns is missing",
        ),
    ],
)
def test_a_forgotten_argument_is_named(project: Project, test: str, argument: str) -> None:
    """It would render as nothing, and the engine's complaint would be about SQL that nobody wrote."""
    project.write("models/prices.sql", "select 1 as sku, 1 as __START_AT, cast(null as integer) as __END_AT")
    project.write("models/_models.yml", f"models: [{{name: prices, data_tests: [{{auto_cdc.{test}}}]}}]")
    assert argument in project.fail("build")


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
