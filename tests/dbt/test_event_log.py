"""The event log: a row for each run of a model, committed with what the run did, and one for each that is refused.

Not here: what the figures are (`properties`), many models at once and runs that are killed (`reliability`).
"""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from tests.dbt.test_explain import command
from tests.dbt.test_operations import write_model
from tests.dbt_project import Project

pytestmark = pytest.mark.dbt

LOG = "auto_cdc_event_log"
FEED = "select * from feed"


@pytest.fixture
def shop(project: Project) -> Project:
    """Give a project with a feed of two events and a model over it."""
    project.execute("create table feed (id integer, city varchar, op varchar, seq integer)")
    project.execute("insert into feed values (1, 'Oslo', 'U', 1), (2, 'Rome', 'D', 1)")
    write_model(project, sql=FEED, scd_type=1)
    return project


def runs(project: Project, columns: str) -> list[tuple[Any, ...]]:
    return project.query(f"select {columns} from {LOG} order by ended_at")


def test_a_row_for_each_run(shop: Project) -> None:
    """Who ran when and did what: readable columns, figures, and the rest as JSON; a refused run tells why.

    Nothing but the row is left of a refused run, and the same model runs again.
    """
    began = datetime.now(tz=timezone.utc).replace(tzinfo=None)
    write_model(shop, sql=FEED, scd_type=1, expect_all={"has_city": "city is not null"})
    shop.succeed("run")
    shop.execute("insert into feed values (1, 'Bari', 'U', 2), (1, 'Kiel', 'U', 2)")
    said = shop.fail("run")
    shop.execute("delete from feed where city = 'Kiel'")
    shop.succeed("run")
    assert [
        ("success", "build the target", 1, 0, 2, 1),
        ("refused", "apply the new events", None, None, 4, None),
        ("success", "apply the new events", 1, 0, 3, 1),
    ] == runs(shop, "status, action, num_upserted_rows, num_deleted_rows, num_read_rows, num_tombstones")
    first, refused, last = runs(shop, "run_id, model, materialized, scd_type, release, message, details")
    assert 3 == len({first[0], refused[0], last[0]})
    assert ("model.shop.users", "auto_cdc", "1", "0.1.0", "AUTO CDC 1 upserted, 0 deleted, 2 read") == first[
        1:6
    ]
    assert refused[5].startswith("auto_cdc: model users: 1 time a key has different events at one sequence")
    assert " ".join(refused[5].split()) in " ".join(said.split())
    assert {"has_city": {"passed": 3, "failed": 0}} == json.loads(refused[6])["expectations"]
    assert {"has_city": {"passed": 2, "failed": 0}} == json.loads(last[6])["expectations"]
    assert "stage the model's rows" in json.loads(last[6])["steps"]
    for started, ended, seconds in runs(shop, "started_at, ended_at, seconds"):
        assert began < started < ended < began + timedelta(minutes=5)
        assert abs((ended - started).total_seconds() - seconds) < 0.001


def test_details_in_the_words_of_the_engine(shop: Project, engine: str) -> None:
    """The manual's path into the JSON is one that this engine knows: of another's it would say null."""
    page = (Path(__file__).parents[2] / "docs" / "guides" / "event-log.md").read_text(encoding="utf-8")
    operator = "#>" if engine == "postgres" else "->"
    (path,) = re.findall(rf"details::json {operator} '[^']+'", page)
    write_model(shop, sql=FEED, scd_type=1, expect_all={"has_sensor": "city = 'Kiel'"})
    shop.succeed("run")
    assert [("1",)] == runs(shop, f"cast({path} as varchar)")


def test_what_goes_wrong_on_the_way(shop: Project) -> None:
    """Errors of the engine, of options and of hooks have rows as well, and dbt goes on with the next model.

    A hook that fails after the commit takes nothing back: the run has the row that was committed with it.
    """
    write_model(shop, "a_cast", sql="select id, city, op, cast(city as integer) as seq from feed", scd_type=1)
    write_model(shop, "b_option", sql=FEED, scd_type=1, keys=["idd"])
    write_model(shop, "c_hook", sql=FEED, scd_type=1, post_hook="select nothing_there")
    late = {"sql": "select nothing_there", "transaction": False}
    write_model(shop, "d_late_hook", sql=FEED, scd_type=1, post_hook=late)
    shop.fail("run")
    assert [
        ("model.shop.a_cast", "error", "build the target"),
        ("model.shop.b_option", "refused", None),
        ("model.shop.c_hook", "error", "build the target"),
        ("model.shop.d_late_hook", "success", "build the target"),
        ("model.shop.users", "success", "build the target"),
    ] == runs(shop, "model, status, action")
    messages = dict(runs(shop, "model, message"))
    assert "Oslo" in messages["model.shop.a_cast"]
    assert "keys names idd" in messages["model.shop.b_option"]
    assert "nothing_there" in messages["model.shop.c_hook"]
    there = {name for (name,) in shop.query("select table_name from information_schema.tables")}
    assert {"d_late_hook", "users"} == there & {"a_cast", "b_option", "c_hook", "d_late_hook", "users"}


def test_a_log_of_an_older_release(shop: Project) -> None:
    """It is given the columns that it lacks, and its rows stay."""
    shop.execute(
        f"create table {LOG} (run_id varchar, model varchar, status varchar, started_at timestamp, ended_at timestamp,"
        f" release varchar, details varchar)"
    )
    shop.execute(
        f"insert into {LOG} (run_id, model, ended_at) values ('old', 'x', timestamp '2020-01-01 00:00:00')"
    )
    shop.succeed("run")
    assert [("old", None), ("model.shop.users", 1)] == [
        (run_id if run_id == "old" else model, upserted)
        for run_id, model, upserted in runs(shop, "run_id, model, num_upserted_rows")
    ]


def test_somebody_elses_relation_of_that_name(shop: Project) -> None:
    """A table or a view that is no event log is left alone, and the run is refused with the ways out."""
    shop.execute(f"create table {LOG} (id integer, status varchar)")
    said = " ".join(shop.fail("run").split())
    assert f'{LOG}" was not made by auto_cdc, which keeps a row for each run in a table of that name' in said
    assert "rename that relation, or set event_log to false for the model, or for the project with" in said
    shop.execute(f"drop table {LOG}; create view {LOG} as select 1 as id")
    assert f'{LOG}" was not made by auto_cdc' in " ".join(shop.fail("run").split())
    shop.write("dbt_project.yml", "name: shop\nprofile: shop\nmodels: {+event_log: false}\n")
    shop.succeed("run")
    assert [(1,)] == shop.query(f"select * from {LOG}")


def test_a_version_query(project: Project) -> None:
    """Each version is a run of its own: a row for each, and one for a run that finds nothing waiting."""
    project.execute("create table dumps (id integer, v integer)")
    project.execute("insert into dumps values (1, 1), (1, 2), (2, 2)")
    query = (
        "select min(v) from dumps where v > coalesce((select max(version) from"
        " {{ auto_cdc.last_snapshot_version() }}), 0) having min(v) is not null"
    )
    project.write(
        "models/users.sql",
        f"""
        {{{{ config(materialized='auto_cdc_snapshot', keys=['id'], version_query="{query}") }}}}
        select id from dumps where v = (select version from {{{{ auto_cdc.current_snapshot_version() }}}})
        """,
    )
    project.succeed("run")
    project.succeed("run")
    assert [("1", 1), ("2", 1), (None, 0)] == runs(project, "version, num_upserted_rows")


def test_the_last_runs(shop: Project) -> None:
    """The command prints them, newest last: of all models or one, all or those that went wrong.

    `event_log()` gives the table to a query.
    """
    write_model(shop, "quiet", sql=FEED, scd_type=1, event_log=False)
    shop.write("analyses/slow.sql", "select max(seconds) from {{ auto_cdc.event_log() }}")
    shop.succeed("run")
    shop.execute("insert into feed values (1, 'Bari', 'U', 2), (1, 'Kiel', 'U', 2)")
    shop.fail("run", "--select", "users")
    header, first, second = printed(shop).splitlines()
    assert "ended (UTC)          model  status   seconds  what it did" == header
    assert first.endswith("AUTO CDC 1 upserted, 0 deleted, 2 read")
    assert " users  success" in first
    assert " users  refused" in second
    assert "  1 time a key has different events at one sequence" in second
    assert second.split()[0] in {str(datetime.now(tz=timezone.utc).date()), first.split()[0]}
    assert [header, second] == printed(shop, "--failed").splitlines()
    assert [header, second] == printed(shop, "users", "--last", "1").splitlines()
    assert "auto_cdc: the event log has no such run" == printed(shop, "quiet")
    assert "last is 0; write how many runs to show" in shop.fail(
        "run-operation", "auto_cdc.show_event_log", "--args", "{last: 0}"
    )
    shop.succeed("compile")
    assert LOG in shop.read("target/compiled/shop/analyses/slow.sql")


def printed(project: Project, *arguments: str) -> str:
    """Return what `auto-cdc log` prints."""
    done = command(project, "log", *arguments)
    assert 0 == done.returncode, done.stderr
    return done.stdout.strip()
