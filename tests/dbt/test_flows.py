"""Models of several flows as models of a dbt project: what is compiled, shown, tested, explained, run and refused.

Not here: what any order of changes and dumps adds up to (`properties/test_flows`).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.dbt_project import Project

pytestmark = pytest.mark.dbt

OPTIONS = "keys=['id'], sequence_by='seq', except_column_list=['op', 'seq']"
MODEL = """
{{ config(materialized='auto_cdc', %s) }}
-- the table from before the feed, then the feed
{%% call auto_cdc.flow('history', once=true) %%}
select id, city, seq from {{ source('raw', 'history') }}
{%% endcall %%}

{%% call auto_cdc.flow('feed', apply_as_deletes="op = 'D'") %%}
with lines as (select * from {{ ref('events') }} {%% if auto_cdc.is_applying() %%} where seq > 0 {%% endif %%})
select op, seq, city, id from lines -- all of it
{%% endcall %%}
"""
DUMPED = """
{{ config(materialized='auto_cdc', keys=['id'], sequence_by='seq', except_column_list=['op', 'seq']%s) }}
{%% call auto_cdc.flow('feed', apply_as_deletes="op = 'D'") %%}
select * from {{ ref('events') }}
{%% endcall %%}
{%% call auto_cdc.flow('dump', snapshot_version='taken'%s) %%}
select * from {{ source('raw', 'dump') }};
{%% endcall %%}
"""


@pytest.fixture
def shop(project: Project) -> Project:
    """Give a project with a history, a feed behind an ephemeral model, and a dump."""
    project.execute(
        """
        create schema raw;
        create table raw.history as from (values (1, 'Oslo', 10), (2, 'Rome', 11)) as rows (id, city, seq);
        create table raw.feed as from (values (1, 'Kiel', 20, 'U')) as rows (id, city, seq, op);
        create table raw.dump as from (values (1, 'Bonn', 15), (4, 'Nice', 15)) as rows (id, city, taken);
        """
    )
    tables = "[{name: history}, {name: feed}, {name: dump}]"
    project.write("models/_sources.yml", f"sources:\n  - name: raw\n    schema: raw\n    tables: {tables}\n")
    project.write(
        "models/events.sql",
        "{{ config(materialized='ephemeral') }} select * from {{ source('raw', 'feed') }}",
    )
    return project


def users(project: Project) -> list[tuple[object, ...]]:
    return project.query("select id, city from users order by id")


# -- One legal SELECT --------------------------------------------------------------------------------------------------


def test_a_model_compiles_to_one_select(shop: Project) -> None:
    """What is compiled can be run as it is, dbt's clause for the ephemeral model before it; `dbt show` does that."""
    shop.write("models/users.sql", MODEL % OPTIONS)
    shop.succeed("compile")
    compiled = shop.read("target/compiled/shop/models/users.sql")
    assert [(1, "Kiel", 20, "U"), (1, "Oslo", 10, None), (2, "Rome", 11, None)] == shop.query(
        f"select id, city, seq, op from ({compiled}) order by 1, 2"
    )
    shop.succeed("show", "--select", "users")
    assert "Kiel" in shop.log


def test_refs_stay_in_the_graph(shop: Project) -> None:
    """What a flow reads is what the model depends on."""
    shop.write("models/users.sql", MODEL % OPTIONS)
    shop.writes_manifest = True
    shop.succeed("parse")
    manifest = json.loads(shop.read("target/manifest.json"))
    assert {"source.shop.raw.history", "model.shop.events"} == set(
        manifest["nodes"]["model.shop.users"]["depends_on"]["nodes"]
    )


def test_a_unit_test_sees_the_rows_of_all_flows(shop: Project) -> None:
    """dbt puts its fixtures in the place of what the flows read."""
    shop.write("models/events.sql", "select * from {{ source('raw', 'feed') }}")
    shop.write("models/users.sql", MODEL % OPTIONS)
    shop.write(
        "models/_tests.yml",
        """
        unit_tests:
          - name: all_flows
            model: users
            given:
              - input: source('raw', 'history')
                rows: [{id: 7, city: Bari, seq: 1}]
              - input: ref('events')
                rows: [{id: 8, city: Metz, seq: 2, op: D}]
            expect:
              rows: [{id: 7, city: Bari, seq: 1, op: null}, {id: 8, city: Metz, seq: 2, op: D}]
        """,
    )
    shop.succeed("run")
    shop.succeed("test", "--select", "test_type:unit")
    assert "PASS=1" in shop.log


def test_a_contract_is_for_what_the_flows_write(shop: Project) -> None:
    """It is compared with the target's columns, whatever else the flows select."""
    shop.write("models/users.sql", MODEL % (OPTIONS + ", contract={'enforced': true}"))
    columns = "[{name: id, data_type: integer}, {name: city, data_type: varchar}]"
    shop.write("models/_users.yml", f"models: [{{name: users, columns: {columns}}}]")
    shop.succeed("run")
    shop.succeed("run")
    assert [(1, "Kiel"), (2, "Rome")] == users(shop)
    shop.write("models/_users.yml", "models: [{name: users, columns: [{name: id, data_type: integer}]}]")
    assert "city" in shop.fail("run")


def test_flows_of_a_loop(shop: Project) -> None:
    """Flows may be made by Jinja, also in a macro of one's own."""
    shop.write(
        "macros/region.sql",
        """
        {% macro region(name) %}
          {%- call auto_cdc.flow(name) -%}
            select {{ name | length }} as id, city, seq from {{ source('raw', 'history') }} where id = 1
          {%- endcall -%}
        {% endmacro %}
        """,
    )
    shop.write(
        "models/users.sql",
        """
        {{ config(materialized='auto_cdc', keys=['id'], sequence_by='seq') }}
        {% for name in ['no', 'ital'] %}{{ region(name) }}{% endfor %}
        """,
    )
    shop.succeed("run")
    assert [(2, "Oslo"), (4, "Oslo")] == users(shop)


# -- Runs --------------------------------------------------------------------------------------------------------------


def test_a_history_is_read_once(shop: Project) -> None:
    """Then only the feed goes on, until a full refresh; the source of the history may go meanwhile."""
    shop.write("models/users.sql", MODEL % OPTIONS)
    shop.succeed("run")
    assert [(1, "Kiel"), (2, "Rome")] == users(shop)
    shop.execute(
        "insert into raw.history values (3, 'late', 99); insert into raw.feed values (2, '', 12, 'D')"
    )
    shop.succeed("run")
    assert [(1, "Kiel")] == users(shop)
    shop.execute("alter table raw.history rename to archived")
    shop.succeed("run")
    shop.execute("alter table raw.archived rename to history")
    shop.succeed("run", "--full-refresh")
    assert [(1, "Kiel"), (3, "late")] == users(shop)


def test_a_history_comes_later_and_goes(shop: Project) -> None:
    """A once flow is added to a living target, in SCD type 2 puts versions before those there, and may be removed."""
    options = f"{OPTIONS}, stored_as_scd_type=2"
    history = MODEL.split("{%% call")[1]
    without = MODEL.replace(f"{{%% call{history}", "")
    shop.write("models/users.sql", without % options)
    shop.succeed("run")
    versions = "select id, city, __START_AT, __END_AT from users order by 1, 3"
    assert [(1, "Kiel", 20, None)] == shop.query(versions)
    for model in (MODEL, MODEL, without):
        shop.write("models/users.sql", model % options)
        shop.succeed("run")
        expected = [(1, "Oslo", 10, 20), (1, "Kiel", 20, None), (2, "Rome", 11, None)]
        assert expected == shop.query(versions)


def test_a_lost_target_is_not_built_from_a_half(shop: Project) -> None:
    """Where a flow was read once, a target that is gone is built again by a full refresh only."""
    shop.write("models/users.sql", MODEL % OPTIONS)
    shop.succeed("run")
    shop.execute("drop table users")
    said = shop.fail("run")
    assert "flow history was read once; to build the target again" in " ".join(said.split())
    assert "--full-refresh" in said
    shop.succeed("run", "--full-refresh")
    assert [(1, "Kiel"), (2, "Rome")] == users(shop)


def test_a_dump_beside_a_feed(shop: Project) -> None:
    """The feed's newer row stays, the dump's others come; a newer dump removes what it lacks, older events stay out."""
    shop.write("models/users.sql", DUMPED % ("", ""))
    shop.succeed("run")
    assert [(1, "Kiel"), (4, "Nice")] == users(shop)
    shop.execute("insert into raw.feed values (4, 'Metz', 15, 'U'), (5, 'old', 14, 'U'), (1, '', 21, 'D')")
    shop.succeed("run")
    assert [(4, "Metz")] == users(shop)
    assert "6 read, 1 late, 1 skipped" in shop.log
    shop.execute("delete from raw.dump; insert into raw.dump values (5, 'Sete', 30), (6, 'Lyon', 30)")
    shop.succeed("run")
    assert [(5, "Sete"), (6, "Lyon")] == users(shop)
    assert "AUTO CDC 2 upserted, 1 deleted, 6 read, 2 late" in shop.log


def test_a_dump_as_a_baseline(shop: Project) -> None:
    """A once flow of a dump is the state that the feed goes on from; later dumps are not looked at."""
    shop.write("models/users.sql", DUMPED % ("", ", once=true"))
    shop.succeed("run")
    shop.execute("drop table raw.dump; insert into raw.feed values (5, 'old', 14, 'U'), (6, 'new', 16, 'U')")
    shop.succeed("run")
    assert [(1, "Kiel"), (4, "Nice"), (6, "new")] == users(shop)
    assert "skipped" not in shop.log


def test_empty_runs_take_nothing_for_read_or_gone(shop: Project) -> None:
    """With --empty no flow counts as read once, and no dump deletes."""
    shop.write("models/users.sql", MODEL % OPTIONS)
    shop.write("models/dumped.sql", DUMPED % ("", ""))
    shop.succeed("run", "--empty")
    shop.succeed("run")
    assert [(1, "Kiel"), (2, "Rome")] == users(shop)
    shop.execute("update raw.dump set taken = 40")
    shop.succeed("run", "--empty")
    assert [(1, "Kiel"), (4, "Nice")] == shop.query("select id, city from dumped order by id")
    shop.succeed("run")
    assert [(1, "Bonn"), (4, "Nice")] == shop.query("select id, city from dumped order by id")


def test_a_table_taken_over_gets_its_history(shop: Project) -> None:
    """An adopted table has read no flow yet; its rows are older than any event."""
    shop.execute("create table users as from (values (1, 'old'), (9, 'kept')) as rows (id, city)")
    shop.write("models/users.sql", MODEL % OPTIONS)
    shop.succeed("run-operation", "auto_cdc.adopt", "--args", "{model: users}")
    shop.succeed("run")
    assert [(1, "Kiel"), (2, "Rome"), (9, "kept")] == users(shop)


def test_a_flow_over_a_python_model(shop: Project) -> None:
    """A Python model is read by a flow like any other."""
    shop.write(
        "models/computed.py",
        """
        def model(dbt, session):
            dbt.config(materialized="table")
            return session.sql("from (values (1, 'Linz', 30), (9, 'Graz', 31)) as rows (id, city, seq)")
        """,
    )
    shop.write(
        "models/users.sql",
        MODEL % OPTIONS
        + "{% call auto_cdc.flow('computed') %}\nselect * from {{ ref('computed') }}\n{% endcall %}",
    )
    shop.succeed("run")
    assert [(1, "Linz"), (2, "Rome"), (9, "Graz")] == users(shop)


def test_flows_are_explained(shop: Project, capfd: pytest.CaptureFixture[str]) -> None:
    """The plan of the next run says which flows it reads."""
    shop.write("models/users.sql", MODEL % OPTIONS)
    shop.succeed("run")
    capfd.readouterr()
    shop.succeed("run-operation", "auto_cdc.explain", "--args", "{model: users}")
    printed = capfd.readouterr().out
    assert "-- flow       history: changes, once, read by an earlier run\n" in printed
    assert "-- flow       feed: changes\n" in printed
    assert "raw" in printed
    assert "history" not in printed.split("-- stage the model's rows")[1]


# -- Refusals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "block", "said"),
    [
        ("", "'feed', sequense_by='seq'", "flow feed: unknown option sequense_by; did you mean sequence_by?"),
        ("", "'feed', unique_key='id'", "flow feed: unique_key is not an option of a flow; write keys"),
        ("", "'feed', stored_as_scd_type=2", "stored_as_scd_type is an option of the whole model"),
        ("", "'feed', once='yes'", "flow feed: once is 'yes'; write true or false"),
        ("", "'history'", "2 flows are called history; give each a name of its own"),
        (
            "",
            "'feed', keys=['id', 'city']",
            "its flows have different keys (history: id; feed: id, city); they need the same, in the same order",
        ),
        (
            "",
            "'feed', max_delete_ratio=0.5",
            "max_delete_ratio is for whole dumps; set snapshot_version as well",
        ),
        (
            "",
            "'feed', snapshot_version='seq', sequence_by='seq'",
            "flow feed: sequence_by is for changes, and snapshot_version makes its rows whole dumps",
        ),
        ("", "'feed', snapshot_version='auto'", "a number of runs has no place in the order of the changes"),
        (
            ", stored_as_scd_type=2",
            "'feed', snapshot_version='seq'",
            "whole dumps go together with changes in SCD type 1 only",
        ),
        (", flows=['feed']", "'feed'", "flows is no option; write each flow as a block"),
        (", once=true", "'feed'", "once is an option of a flow"),
    ],
)
def test_bad_options_are_refused_while_dbt_parses(shop: Project, options: str, block: str, said: str) -> None:
    """Misspelt, misplaced and contradictory options of flows, with the model, its file and what to write."""
    shop.write(
        "models/users.sql",
        (MODEL % (OPTIONS + options)).replace("'feed', apply_as_deletes=\"op = 'D'\"", block),
    )
    found = " ".join(shop.fail("parse").split())
    assert "model users (models/users.sql)" in found
    assert said in found
    assert [] == shop.query("select 1 from duckdb_tables() where table_name = 'users'")


def test_two_flows_of_dumps_are_refused(shop: Project) -> None:
    """Also flows of dumps without any changes."""
    shop.write(
        "models/users.sql",
        (DUMPED % ("", "")).replace("apply_as_deletes=\"op = 'D'\"", "snapshot_version='seq'"),
    )
    found = shop.fail("parse")
    assert "flows feed, dump all have snapshot_version" in found
    assert "write materialized='auto_cdc_snapshot' and no flow" in found


@pytest.mark.parametrize(
    ("materialized", "said"),
    [
        ("auto_cdc_snapshot", "write materialized='auto_cdc', and snapshot_version as an option of the flow"),
        ("replace_using", "bring them together in one SELECT with union all"),
        ("replace_where", "bring them together in one SELECT with union all"),
        ("table", "its flows need materialized='auto_cdc'"),
    ],
)
def test_flows_belong_to_auto_cdc(shop: Project, materialized: str, said: str) -> None:
    """Other materializations have one query, and say what to write instead."""
    shop.write("models/users.sql", (MODEL % OPTIONS).replace("'auto_cdc'", f"'{materialized}'", 1))
    found = " ".join(shop.fail("parse").split())
    assert said in found
    assert "model users (models/users.sql)" in found


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("{{ auto_cdc.flow('feed') }}", "a flow has no SELECT; write {% call auto_cdc.flow('name') %}"),
        ("{% call auto_cdc.flow() %}select 1{% endcall %}", "a flow has the name None"),
        (
            "{% call auto_cdc.flow('feed', 'seq') %}select 1{% endcall %}",
            "name every option: sequence_by='seq'",
        ),
        (
            "{% call auto_cdc.flow('feed', sequence_by=nobody) %}select 1{% endcall %}",
            "flow feed: sequence_by has no value that dbt knows",
        ),
    ],
)
def test_a_call_that_is_no_flow(shop: Project, written: str, said: str) -> None:
    """What cannot be written down is refused where it stands."""
    shop.write("models/users.sql", f"{{{{ config(materialized='auto_cdc', {OPTIONS}) }}}}\n{written}")
    assert said in " ".join(shop.fail("parse").split())


@pytest.mark.parametrize(
    ("instead", "said"),
    [
        ("{% endcall %} union all select 1", "beside its flows the model has 'union all select 1'"),
        ("{% endcall %} {% call auto_cdc.flow('x') %} -- nothing {% endcall %}", "flow x has no SELECT"),
    ],
)
def test_what_stands_beside_flows_is_refused(shop: Project, instead: str, said: str) -> None:
    """A model with flows has nothing else."""
    shop.write("models/users.sql", (MODEL % OPTIONS).rstrip().removesuffix("{% endcall %}") + instead)
    assert said in " ".join(shop.fail("run").split())
    assert [] == shop.query("select 1 from duckdb_tables() where table_name = 'users'")
