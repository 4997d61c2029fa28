"""Spark and Sail through dbt: what the adapter does around a model, and a run that is stopped.

Not here: what a plan does (`test_spark`).
"""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dbt_auto_cdc.materializations import journal
from tests import databases
from tests.databases import create_table, tables_of

if TYPE_CHECKING:
    from dbt_auto_cdc.plan import Plan
    from tests.dbt_project import Project

pytestmark = [pytest.mark.only_on("sail", "spark"), pytest.mark.dbt]

COLUMNS = {"id": "INTEGER", "city": "VARCHAR", "op": "VARCHAR", "at": "BIGINT"}
FIRST = [(1, "Oslo", "I", 1), (1, "Bergen", "U", 3), (2, "Rome", "I", 2)]
LATER = [(1, "Paris", "U", 2), (2, None, "D", 4)]
MODELS = {
    "customers": "materialized='auto_cdc', keys=['id'], sequence_by='at', apply_as_deletes=\"op = 'D'\","
    " except_column_list=['op', 'at']",
    "history": "materialized='auto_cdc', keys=['id'], sequence_by='at', apply_as_deletes=\"op = 'D'\","
    " except_column_list=['op', 'at'], stored_as_scd_type=2",
    "log": "materialized='append_flow'",
    "ones": "materialized='replace_where', replace_where='id = 1'",
    "latest": "materialized='replace_using', replace_using=['id'], sequence_by='at'",
}


# dbt as a process of its own.
DBT = "from dbt.cli.main import cli; cli()"


def feed(project: Project, rows: list[tuple[object, ...]]) -> None:
    with project._connection() as connection:
        create_table(connection, "feed", COLUMNS, [dict(zip(COLUMNS, row, strict=True)) for row in rows])


@pytest.fixture
def shop(project: Project) -> Project:
    """Return a project with a feed and a model of each kind."""
    file_format = "delta" if databases.chosen() == "sail" else "iceberg"
    project.write("dbt_project.yml", f"name: shop\nprofile: shop\nmodels: {{+file_format: {file_format}}}\n")
    for name, config in MODELS.items():
        project.write(
            f"models/{name}.sql", f"{{{{ config({config}) }}}}\nselect * from {project.schema}.feed"
        )
    feed(project, FIRST)
    return project


def rows(project: Project, query: str) -> list[tuple[object, ...]]:
    return sorted(project.query(query), key=repr)


def test_two_runs(shop: Project) -> None:
    """Each kind of model is built, goes on, and tells its figures."""
    shop.succeed("run")
    feed(shop, LATER)
    shop.succeed("run")
    assert [(1, "Bergen")] == rows(shop, "select id, city from customers")
    history = "select id, city, __START_AT, __END_AT from history"
    expected = [(1, "Bergen", 3, None), (1, "Oslo", 1, 2), (1, "Paris", 2, 3), (2, "Rome", 2, 4)]
    assert expected == rows(shop, history)
    assert [*sorted(FIRST + LATER, key=repr)] == rows(shop, "select id, city, op, at from log")
    assert [(1, "Paris")] == rows(shop, "select id, city from ones")
    assert [(1, "Bergen"), (2, None)] == rows(shop, "select id, city from latest")
    told = shop.responses["history"]
    assert (3, 0, 2, 1) == tuple(
        told[name] for name in ("num_upserted_rows", "num_deleted_rows", "num_read_rows", "num_late_rows")
    )
    assert "2 appended" in shop.responses["log"]["_message"]


# The versions above the last one, one at a time, and the dump of one version.
NEXT = """
    select version from {{ target.schema }}.dumps
    where version > (select version from {{ auto_cdc.last_snapshot_version() }})
    or not exists (select 1 from {{ auto_cdc.last_snapshot_version() }})
    order by version limit 1
"""
DUMPS = """
select id, city from {{ target.schema }}.dumps
where version = (select version from {{ auto_cdc.current_snapshot_version() }})
"""
ARRIVED = [(1, "Oslo", 1), (2, "Rome", 1), (1, "Kiel", 2), (3, "Bari", 2), (1, "Kiel", 4), (2, "Rome", 4)]


def test_a_version_query(shop: Project) -> None:
    """One run applies all snapshots that wait, one after another; the next ones only what is new, or nothing."""
    options = "materialized='auto_cdc_snapshot', keys=['id'], stored_as_scd_type=2"
    model = f'{{{{ config({options}, version_query="{NEXT}") }}}}\n{DUMPS}'
    shop.write("models/users.sql", model)
    columns = {"id": "INTEGER", "city": "VARCHAR", "version": "INTEGER"}
    for waiting, expected in ((4, 2), (6, 1), (6, 0)):
        dumps = [dict(zip(columns, row, strict=True)) for row in ARRIVED[:waiting]]
        with shop._connection() as connection:
            create_table(connection, "dumps", columns, dumps)
        shop.succeed("run", "--select", "users")
        assert expected == shop.log.count("applied version")
    history = [
        (1, "Kiel", 2, None),
        (1, "Oslo", 1, 2),
        (2, "Rome", 1, 2),
        (2, "Rome", 4, None),
        (3, "Bari", 2, 4),
    ]
    assert history == rows(shop, "select id, city, __START_AT, __END_AT from users")
    with shop._connection() as connection:
        left = {name for name in tables_of(connection) if name.startswith("users")}
    assert {"users", "users__auto_cdc"} == left


def test_a_run_that_was_stopped(shop: Project) -> None:
    """What an earlier run wrote down is done first, whatever the model reads by then; dbt says so."""
    shop.succeed("run", "--select", "customers")
    left = f"insert into {shop.schema}.customers select 7, ''Lima'' from {shop.schema}.feed limit 1"
    note = f'run {{"to_do": [["add a row", "{left}"]], "frees": "", "asks": "", "otherwise": [], "appends": false}}'
    note = note.replace("''", "\\'")
    is_note = "where __auto_cdc_kind = 'journal'"
    shop.execute(f"update customers__auto_cdc set __auto_cdc_control = '{note}' {is_note}")
    shop.succeed("run", "--select", "customers")
    assert "finishing the run before" in shop.log
    assert [(1, "Bergen"), (2, "Rome"), (7, "Lima")] == rows(shop, "select id, city from customers")
    if databases.chosen() == "spark":
        shop.execute("refresh table customers__auto_cdc")
    ((turn,),) = shop.query(f"select __auto_cdc_control from customers__auto_cdc {is_note}")
    assert not journal.is_left(turn)


def test_a_note_that_another_session_crosses_off(shop: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever finishes a run and is late with it sees that, though it has read the companion, and begins again."""
    shop.succeed("run", "--select", "customers")
    left = f"insert into {shop.schema}.dropped_meanwhile select 1"
    note = f'run {{"to_do": [["add a row", "{left}"]], "frees": "", "asks": "", "otherwise": [], "appends": false}}'
    written = "update customers__auto_cdc set __auto_cdc_control = '{}' where __auto_cdc_kind = 'journal'"
    shop.execute(written.format(note))
    finished = journal.finished

    def overtaken(*given: Any, **named: Any) -> Plan | None:
        plan = finished(*given, **named)
        if plan:
            shop.execute(written.format("run"))
        return plan

    monkeypatch.setattr(journal, "finished", overtaken)
    shop.succeed("run", "--select", "customers")
    assert "finishing the run before" in shop.log
    assert f"another run wrote to {shop.schema}.customers first" in shop.log
    assert [(1, "Bergen"), (2, "Rome")] == rows(shop, "select id, city from customers")


@pytest.mark.parametrize("is_there", [True, False], ids=["next_run", "first_build"])
def test_two_processes_at_once(shop: Project, *, is_there: bool) -> None:
    """Whichever is in the way of the other, that one is begun again, and the rows are those that should be."""
    models, where = (
        ("customers", "history"),
        ["--project-dir", str(shop.root), "--profiles-dir", str(shop.root)],
    )
    if is_there:
        shop.succeed("run", "--select", *models)
    events = list(FIRST)
    for number in range(1 if databases.chosen() == "spark" else 2):
        events += [(key, f"Oslo {number}", "U", 10 * number + key + 5) for key in range(4)]
        feed(shop, events)
        processes = [
            subprocess.Popen(
                [
                    *(sys.executable, "-c", DBT, "run", "--select", *models, *where),
                    *("--target-path", str(shop.root / f"target_{each}")),
                    *("--log-path", str(shop.root / f"log_{each}")),
                ],
                cwd=shop.root,
                stdout=subprocess.PIPE,
                text=True,
            )
            for each in range(2)
        ]
        for process in processes:
            said, _ = process.communicate()
            assert 0 == process.returncode, said
    shop.succeed("run", "--select", *models)
    newest = {key: (at, city) for key, city, _, at in sorted(events, key=lambda event: event[3])}
    assert [(key, city) for key, (_, city) in sorted(newest.items())] == rows(
        shop, "select id, city from customers"
    )
    starts = sorted(((key, city, at) for key, city, _, at in events), key=repr)
    assert starts == rows(shop, "select id, city, __START_AT from history")
    assert [(4,)] == shop.query("select count(*) from history where __END_AT is null")


def test_reading_step_by_step(shop: Project) -> None:
    """A stream goes on where it was, until that is forgotten; rows that expectations drop are kept beside it."""
    options = "materialized='append_flow', expect_all_or_drop={'named': 'city is not null'}"
    relation = "api.Relation.create(schema=target.schema, identifier='feed')"
    shop.write(
        "models/streamed.sql",
        f"{{{{ config({options}, expectations_quarantine=true) }}}}\n"
        f"select * from {{{{ auto_cdc.stream({relation}, offset='at') }}}} as s",
    )
    shop.succeed("run", "--select", "streamed")
    feed(shop, [*FIRST, (3, "Nice", "I", 5), (4, None, "I", 6)])
    shop.succeed("run", "--select", "streamed")
    assert "1 appended, 1 dropped" in shop.responses["streamed"]["_message"]
    assert [(1, 1), (1, 3), (2, 2), (3, 5)] == rows(shop, "select id, at from streamed")
    kept = "select id, _failed_expectations from streamed__auto_cdc_quarantine"
    assert [(4, "named")] == rows(shop, kept)
    shop.succeed("run-operation", "auto_cdc.reset_streams", "--args", "{model: streamed}")
    shop.succeed("run", "--select", "streamed")
    assert "4 appended, 1 dropped" in shop.responses["streamed"]["_message"]
    assert [(4, "named")] == rows(shop, kept)


def test_what_is_refused(shop: Project) -> None:
    """A model of tables whose rows cannot be changed is refused with what to write; so is an operation."""
    shop.write(
        "models/plain.sql", "{{ config(materialized='append_flow', file_format='parquet') }}\nselect 1 as id"
    )
    assert "file_format is parquet" in shop.fail("run", "--select", "plain")
    said = shop.fail("run-operation", "auto_cdc.adopt", "--args", "{model: customers}")
    assert "the operation adopt is not served on Spark" in said
    shop.write("models/changed.sql", "select * from {{ auto_cdc.table_changes(ref('customers'), 1) }}")
    shop.succeed("parse")
    assert "there are no change feeds on Spark" in shop.fail("run", "--select", "changed")


@pytest.mark.only_on("sail")
def test_a_table_without_its_companion(shop: Project) -> None:
    """What is to be done about it is what is served."""
    shop.write("models/history.sql", "{{ config(materialized='table') }} select 1 as id, 'Oslo' as city")
    shop.succeed("run", "--select", "history")
    shop.write(
        "models/history.sql", f"{{{{ config({MODELS['history']}) }}}} select * from {shop.schema}.feed"
    )
    said = shop.fail("run", "--select", "history")
    assert "without it; copy the companion along (docs/guides/engines.md says how" in said
    assert "or rebuild it with --full-refresh; what the feed does not hold, copy to" in said
    assert "run-operation" not in said
    shop.succeed("run", "--select", "history", "--full-refresh")
    with shop._connection() as connection:
        connection.execute("drop table history")
        connection.execute("create view history as select 1 as id, 'Oslo' as city")
    said = shop.fail("run", "--select", "history")
    assert "need not fit it; rebuild it with --full-refresh" in said
    shop.succeed("run", "--select", "history", "--full-refresh")


@pytest.mark.only_on("sail")
def test_nothing_is_left_in_the_session(shop: Project) -> None:
    """Columns are told by views, each of which is dropped, also where a run is refused: the session is shared."""
    shop.succeed("run")
    shop.write(
        "models/refused.sql", f"{{{{ config({MODELS['ones'].replace('id =', 'idd =')}) }}}} select 1 as id"
    )
    shop.fail("run", "--select", "refused")
    with shop._connection() as connection:
        assert [] == [name for name, *_ in connection.execute("show views").fetchall() if "auto_cdc" in name]


def test_there_is_no_event_log(shop: Project) -> None:
    """A project that reads it is parsed and compiled as elsewhere; what runs is refused, and says why."""
    shop.write("models/runs.sql", "select * from {{ auto_cdc.event_log() }}")
    shop.write("analyses/failed.sql", "select * from {{ auto_cdc.event_log(schema='other') }}")
    shop.succeed("parse")
    shop.succeed("compile")
    assert "from other.auto_cdc_event_log" in shop.read("target/compiled/shop/analyses/failed.sql")
    shop.succeed("run", "--select", "ones")
    said = "there is no event log on Spark; leave out there what reads it"
    assert f"auto_cdc: model runs: {said}" in shop.fail("run", "--select", "runs")
    assert said in shop.fail("run-operation", "auto_cdc.show_event_log")
    assert said in shop.fail("run-operation", "auto_cdc.show_event_log", "--args", "{model: history}")


SEED = """
number,name,counted,is_member,large,at
1,,1,true,9007199254740993,2026-03-01 10:00:00
2,back\\slash,,false,1,
"""
TYPED = "{counted: int, is_member: boolean, large: bigint, at: timestamp_ntz}"


@pytest.mark.only_on("sail")
def test_what_becomes_of_seeds(shop: Project) -> None:
    """As the manual has it: when any of it is mended, the page can say less."""
    shop.write("seeds/typed.csv", SEED)
    shop.write("seeds/typed.yml", f"seeds: [{{name: typed, config: {{column_types: {TYPED}}}}}]")
    shop.succeed("seed")
    at = datetime(2026, 3, 1, 10, 0)  # noqa: DTZ001 - a time without a zone
    assert [(1, "None", 1, True, 2**53 + 1, at), (2, "backslash", None, False, 1, None)] == rows(
        shop, "select * from typed"
    )
    for column, said in {
        "name\nO'Hara": "found end of input",
        "one\ntrue": "Unsupported CAST",
        "n,m\n1,1\n,1": "'None'",
    }.items():
        shop.write("seeds/typed.csv", f"{column}\n")
        shop.write("seeds/typed.yml", "seeds: []")
        assert said in shop.fail("seed", "--full-refresh")
    shop.write("seeds/typed.csv", f"large\n{2**53 + 1}\n")
    shop.succeed("seed", "--full-refresh")
    assert [(2**53,)] == shop.query("select large from typed")


@pytest.mark.only_on("sail")
def test_a_model_in_the_place_of_a_seed(shop: Project) -> None:
    """That of the manual: texts with quotes, nulls, booleans and times without a zone arrive as they are written."""
    page = (Path(__file__).parents[2] / "docs" / "guides" / "spark.md").read_text(encoding="utf-8")
    found = re.search(r'```sql title="models/customer_changes.sql"\n(.*?)```', page, re.DOTALL)
    assert found
    shop.write("models/customer_changes.sql", found[1])
    shop.succeed("run", "--select", "customer_changes")
    times = datetime(2026, 3, 1, 10, 0), datetime(2026, 3, 2, 11, 30)  # noqa: DTZ001 - without a zone
    assert [(1, "O'Brien", True, times[0]), (2, None, None, times[1])] == rows(
        shop, "select * from customer_changes"
    )
