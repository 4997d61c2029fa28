"""Expectations through dbt: where they may be written, what is shown of them, and the quarantine over several runs.

Not here: what they do to rows (`properties/test_expectations`) and what is refused (`scenarios/test_expectations`).
"""

from __future__ import annotations

import json

import pytest

from tests.dbt_project import Project

pytestmark = pytest.mark.dbt

MODEL = """
{{ config(materialized='auto_cdc', keys=['id'], sequence_by='seq', apply_as_deletes="op = 'D'") }}
select id, city, op, seq from feed
"""
PROPERTIES = """
models:
  - name: users
    config:
      expect_all_or_drop:
        has_city: city is not null
        has_id: id is not null
      expectations_quarantine: true
"""


@pytest.fixture
def shop(project: Project) -> Project:
    """Give a project with a feed, of whose three rows two are not as they should be."""
    project.execute("create table feed (id integer, city varchar, op varchar, seq integer)")
    project.execute("insert into feed values (1, 'Oslo', 'U', 1), (2, null, 'U', 1), (null, null, 'U', 1)")
    return project


def test_from_yaml_to_run_results(shop: Project) -> None:
    """Dictionaries in a YAML file and in the project's file; counts in results and log; the quarantine over two runs.

    A row in quarantine tells the run that first saw it.
    """
    shop.write("models/users.sql", MODEL)
    shop.write("models/_models.yml", PROPERTIES)
    project_file = "name: shop\nprofile: shop\nmodels:\n  +expect_all: {short: length(city) < 4}\n"
    shop.write("dbt_project.yml", project_file)
    shop.succeed("run")
    counts = {
        "short": {"passed": 0, "failed": 3},
        "has_city": {"passed": 1, "failed": 2},
        "has_id": {"passed": 2, "failed": 1},
    }
    assert counts == shop.responses["users"]["expectations"]
    assert "AUTO CDC 1 upserted, 0 deleted, 3 read, 2 dropped" == shop.responses["users"]["_message"]
    shop.execute("insert into feed values (3, null, 'U', 2)")
    shop.succeed("run")
    kept = """
        select found.id, found._failed_expectations, run.num_dropped_rows
        from users__auto_cdc_quarantine as found join auto_cdc_event_log as run on run.run_id = found._run_id
        order by found.id
    """
    assert [
        (2, "short, has_city", 2),
        (3, "short, has_city", 3),
        (None, "short, has_city, has_id", 2),
    ] == shop.query(kept)
    details = shop.query("select details from auto_cdc_event_log order by ended_at")
    assert counts == json.loads(details[0][0])["expectations"]
    [(moment, started)] = shop.query(
        "select max(_quarantined_at), max(started_at) from users__auto_cdc_quarantine cross join auto_cdc_event_log"
    )
    assert abs((moment - started).total_seconds()) < 300


def test_flows_and_refusals(shop: Project) -> None:
    """A flow has its own dictionary; a misspelt name stops dbt while it parses, a row that must not fail the run."""
    shop.write(
        "models/users.sql",
        """
        {{ config(materialized='auto_cdc', keys=['id'], sequence_by='seq', expect_all={'dated': 'seq > 0'}) }}
        {% call auto_cdc.flow('all', expect_all_or_drop={'has_id': 'id is not null', 'it is': "city <> 'it''s'"}) %}
        select * from feed
        {% endcall %}
        """,
    )
    shop.succeed("run")
    assert [("Oslo",)] == shop.query("select city from users")
    assert {"dated", "has_id", "it is"} == shop.responses["users"]["expectations"].keys()
    text = shop.read("models/users.sql")
    shop.write("models/users.sql", text.replace("expect_all_or_drop", "expect_all_or_dorp"))
    assert "flow all: unknown option expect_all_or_dorp; did you mean expect_all_or_drop?" in shop.fail(
        "parse"
    )
    shop.write("models/users.sql", text.replace("expect_all_or_drop", "expect_all_or_fail"))
    said = " ".join(shop.fail("run").split())
    assert "auto_cdc: model users: 2 problems" in said
    assert "expectation has_id (id is not null) fails in 1 row, for example id=null at 1;" in said
    assert "expectation it is (city <> 'it''s') fails in 2 rows" in said
