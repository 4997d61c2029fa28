"""Bad configuration as dbt shows it: while parsing, in a run, as a warning; and good options wherever dbt takes them.

Not here: every single refusal (`unit/test_spec`, `scenarios/test_bad_input`).
"""

from __future__ import annotations

import re

import pytest

from dbt_auto_cdc.names import EVENT_LOG
from tests.dbt_project import Project

pytestmark = pytest.mark.dbt

COLUMNS = "id, seq, city, op"
FEED = "create table feed as select 1 as id, 1 as seq, 'Oslo' as city, 'U' as op"
GOOD = "{{ config(materialized='auto_cdc', keys=['id'], sequence_by='seq'%s) }}\nselect * from feed"


@pytest.fixture
def shop(project: Project) -> Project:
    """Give a project with a feed."""
    project.execute(FEED)
    return project


def tables(project: Project) -> list[str]:
    """Return the names of what is stored, temporary tables included, but for the event log."""
    names = project.query("select table_name from information_schema.tables order by 1")
    return [name for (name,) in names if name != EVENT_LOG]


def failure(project: Project, *args: str) -> str:
    """Run a command that has to fail in one model, and return what its result says."""
    result = project.run(*args)
    (node,) = [node for node in result.result.results if str(node.status) == "error"]
    return str(node.message)


# -- While dbt parses --------------------------------------------------------------------------------------------------


def test_all_bad_models_in_one_message(shop: Project) -> None:
    """Each model is named once, with its file and all its problems, before any SQL is sent; good ones are not named."""
    shop.write("models/good.sql", GOOD % "")
    shop.write(
        "models/one.sql", "{{ config(materialized='auto_cdc', unique_key='id', sequence_by=3) }} select 1"
    )
    shop.write("models/deep/two.sql", GOOD % ", stored_as_scd_type=3, column_list=[], colour='red'")
    shop.write("models/three.sql", GOOD % ", apply_as_delete='x'")
    result = shop.run("run")
    said = str(result.exception)

    assert not result.success
    assert said.startswith("Parsing Error\n")
    lines = [line.strip() for line in said.splitlines()]
    one = lines.index("auto_cdc: model one (models/one.sql): 2 problems")
    assert [
        "- unique_key is not an option of auto_cdc; write keys",
        "- sequence_by is 3; write a column name, a SQL expression as text, or a list of columns",
    ] == lines[one + 1 : one + 3]
    two = lines.index("auto_cdc: model two (models/deep/two.sql): 3 problems")
    assert lines[two + 1].startswith("- unknown option colour; there are: keys, sequence_by, ")
    assert lines[two + 2].startswith("- column_list is an empty list; ")
    assert "- stored_as_scd_type is 3; write 1, 2 or bitemporal" == lines[two + 3]
    three = "auto_cdc: model three (models/three.sql): unknown option apply_as_delete; did you mean apply_as_deletes?"
    assert three in lines
    assert "good" not in said
    for name in ("model one", "model two", "model three"):
        assert 1 == said.count(name)
    assert ["feed"] == tables(shop)


@pytest.mark.parametrize(
    "options",
    [
        "event_time='at', on_configuration_change='apply', tags=['x'], group=none, docs={'show': true}",
        "indexes=[{'columns': ['id']}], persist_docs={'relation': true}, sql_header='set threads = 1;'",
        "partitioned_by='id', incremental_predicates=['x'], merge_update_condition='x'",
        "meta={'owner': 'me', 'sequence': 1, 'columns': []}",
        "file_format='iceberg', partition_by=['bucket(8, id)'], tblproperties={'a': 'b'}, cluster_by=['id'], dist='id'",
    ],
)
def test_options_of_others_pass(shop: Project, options: str) -> None:
    """What dbt, an adapter or one of its macros understands is nothing unknown, nor is anything in meta.

    A model may be for several engines, and say how its table lies on each.
    """
    shop.write("models/good.sql", GOOD % f", {options}")
    shop.succeed("parse")
    shop.succeed("--no-write-json", "run")


def test_options_that_the_project_gives_to_all_models_pass(shop: Project) -> None:
    """Tools that read an option of their own from every model go on doing so."""
    shop.write(
        "dbt_project.yml",
        """
        name: shop
        profile: shop
        models:
          +required_docs: true
          +dbt-osmosis: "{model}.yml"
        """,
    )
    shop.write("models/good.sql", GOOD % "")
    shop.write("models/other.sql", "select 1 as id")
    shop.succeed("run")


def test_an_unknown_option_is_refused_where_it_stands(shop: Project) -> None:
    """In SQL, in YAML and in dbt_project.yml alike."""
    shop.write("models/good.sql", GOOD % "")
    shop.write("models/_models.yml", "models: [{name: good, config: {apply_as_truncate: x}}]")
    assert "unknown option apply_as_truncate; did you mean apply_as_truncates?" in shop.fail("parse")
    shop.write("models/_models.yml", "models: [{name: good, config: {meta: {apply_as_truncate: x}}}]")
    assert "unknown option apply_as_truncate in meta; did you mean apply_as_truncates?" in shop.fail("parse")
    shop.write("models/_models.yml", "models: []")
    project = "name: shop\nprofile: shop\nmodels: {shop: {+sequence_tie: allow}}\n"
    shop.write("dbt_project.yml", project)
    assert "unknown option sequence_tie; did you mean sequence_ties?" in shop.fail("parse")


def test_is_incremental_is_warned_about(shop: Project) -> None:
    """It is always false in our models; a comment about it does no harm."""
    shop.write("models/good.sql", GOOD % "" + "{% if is_incremental() %} where seq > 1 {% endif %}")
    shop.write(
        "models/other.sql", GOOD % "" + "{# not is_incremental() #} where {{ not auto_cdc.is_applying() }}"
    )
    shop.succeed("run")
    assert (
        "auto_cdc: model good (models/good.sql): the SQL uses is_incremental(), which is always false"
        in shop.log
    )
    assert "write auto_cdc.is_applying()" in shop.log
    assert "model other" not in shop.log
    assert [(1,)] == shop.query("select id from good")


# -- In a run ----------------------------------------------------------------------------------------------------------


def test_a_run_validates_again(shop: Project) -> None:
    """With --no-write-json dbt skips the validation while parsing: the run refuses the model, and only that."""
    shop.write("models/bad.sql", GOOD % ", stored_as_scd_type=3, apply_as_delete='x'")
    shop.write("models/good.sql", GOOD % "")
    said = failure(shop, "--no-write-json", "run")
    assert "auto_cdc: model bad: 2 problems" in said
    assert "  - unknown option apply_as_delete; did you mean apply_as_deletes?" in said
    assert "  - stored_as_scd_type is 3; write 1, 2 or bitemporal" in said
    assert 1 == said.count("auto_cdc: model bad")
    assert ["feed", "good", "good__auto_cdc"] == tables(shop)


def test_several_problems_of_a_run(shop: Project) -> None:
    """Columns, SQL and double quotes: one message, each problem on one line, the engine's words without dbt's."""
    shop.write(
        "models/bad.sql",
        GOOD % """, column_list=['id', 'ctiy'], apply_as_deletes='op = "D"', apply_as_truncates='opp = 1'""",
    )
    said = failure(shop, "run")
    body = said[said.index("auto_cdc: model bad") :].split("\n  \n")[0]
    assert [
        "auto_cdc: model bad: 3 problems",
        f"- apply_as_truncates is not valid SQL over the model's columns ({COLUMNS}); DuckDB says: Binder Error:",
        "- column_list names ctiy, which is not a column of the model; did you mean city?",
        "- apply_as_deletes has \"D\" in double quotes, which names a column and there is none; for text write 'D'",
    ] == [re.sub(r"(Binder Error:) .*", r"\1", line.strip()) for line in body.splitlines()]
    assert "Runtime Error" not in body
    assert ["feed"] == tables(shop)


def test_bad_data(shop: Project) -> None:
    """Nulls and ties are refused with count and example; nothing is written, and the next good run works."""
    shop.write("models/bad.sql", GOOD % ", stored_as_scd_type=2, apply_as_deletes=\"op = 'D'\"")
    shop.succeed("run")
    before = {name: shop.query(f"from {name} order by all") for name in ("bad", "bad__auto_cdc")}
    shop.execute(
        "insert into feed values (null, 2, 'x', 'U'), (2, null, 'x', 'U'), (3, 5, 'x', 'U'), (3, 5, 'y', 'U')"
    )
    said = failure(shop, "run")
    assert "auto_cdc: model bad: 3 problems" in said
    assert "sequence_by seq is null in 1 of the new rows, for example id=2; " in said
    assert "key column id is null in 1 of the new rows, for example at seq 2; " in said
    assert "1 time a key has different events at one sequence, for example id=3 at 5; " in said
    assert before == {name: shop.query(f"from {name} order by all") for name in ("bad", "bad__auto_cdc")}
    assert ["bad", "bad__auto_cdc", "feed"] == tables(shop)
    shop.execute("delete from feed where id is null or seq is null or city = 'x'")
    shop.succeed("run")
    assert [(1, "Oslo"), (3, "y")] == shop.query("select id, city from bad order by 1")


def test_ties_that_warn(shop: Project) -> None:
    """`sequence_ties: warn` lets the run go on and says so, with the model's name."""
    shop.execute("insert into feed values (1, 1, 'Bari', 'U')")
    shop.write("models/tied.sql", GOOD % ", sequence_ties='warn'")
    shop.succeed("run")
    assert (
        "auto_cdc: model tied: 1 time a key has different events at one sequence, for example id=1 at 1;"
        in shop.log
    )
    assert [("Oslo",)] == shop.query("select city from tied")


def test_a_changed_definition(shop: Project) -> None:
    """Was and is, and the way out that works."""
    shop.write("models/good.sql", GOOD % "")
    shop.succeed("run")
    shop.write("models/good.sql", GOOD % ", stored_as_scd_type=2")
    said = failure(shop, "run")
    assert (
        "stored_as_scd_type was 1 in the last run and is 2 now; rebuild the target with --full-refresh"
        in said
    )
    shop.succeed("run", "--full-refresh")
    shop.succeed("run")


def test_a_foreign_table(shop: Project) -> None:
    """What dbt's `table` materialization made is left alone, until a rebuild is asked for."""
    shop.write("models/good.sql", "{{ config(materialized='table') }} select 1 as id")
    shop.succeed("run")
    shop.write("models/good.sql", GOOD % "")
    said = failure(shop, "run")
    assert re.search(r'"good" exists without its companion \S*"good__auto_cdc"', said)
    assert "--full-refresh" in said
    assert [(1,)] == shop.query("from good")
    shop.succeed("run", "--full-refresh")
    assert [(1, 1, "Oslo", "U")] == shop.query("from good")


def test_without_transactions(shop: Project) -> None:
    """A profile with `disable_transactions` takes away what makes a run all or nothing: every run says so."""
    shop.write("models/good.sql", GOOD % "")
    profile = shop.read("profiles.yml")
    shop.write("profiles.yml", profile.replace("threads: 1", "threads: 1\n      disable_transactions: true"))
    for _ in range(2):
        shop.succeed("run")
        assert "auto_cdc: model good: disable_transactions is set in the profile" in shop.log
    assert [(1,)] == shop.query("select id from good")
    shop.close()


# -- Options wherever dbt takes them -----------------------------------------------------------------------------------


def test_options_everywhere(shop: Project) -> None:
    """In `config(...)`, under config or meta in YAML, and in dbt_project.yml, mixed as one likes."""
    shop.write(
        "dbt_project.yml",
        """
        name: shop
        profile: shop
        models:
          shop:
            +sequence_by: seq
            cdc:
              +materialized: auto_cdc
              +stored_as_scd_type: 2
              +meta: {except_column_list: [op, seq]}
        """,
    )
    shop.write("models/cdc/sql.sql", "{{ config(keys=['id']) }} select * from feed")
    shop.write("models/cdc/yml.sql", "select * from feed")
    shop.write("models/cdc/meta.sql", "select * from feed")
    shop.write(
        "models/cdc/both.sql", "{{ config(meta={'keys': ['id']}, stored_as_scd_type=1) }} select * from feed"
    )
    shop.write("models/plain.sql", "select * from feed")
    shop.write(
        "models/_models.yml",
        """
        models:
          - name: yml
            config: {keys: [id]}
          - name: meta
            config: {meta: {keys: [id], apply_as_deletes: op = 'D'}}
        """,
    )
    shop.succeed("run")
    history = [(1, "Oslo", 1, None)]
    for name in ("sql", "yml", "meta"):
        assert history == shop.query(f"from {name}")
    assert [(1, "Oslo")] == shop.query('from "both"')
    shop.execute("insert into feed values (1, 2, null, 'D')")
    shop.succeed("run")
    assert [(1, "Oslo", 1, 2)] == shop.query("from meta")


def test_yaml_words_as_names(shop: Project) -> None:
    """Columns called null, on and 1 work when they are quoted, and the refusal says so when they are not."""
    shop.execute(
        """create table words as select 1 as "1", 1 as "null", true as "on", 'x' as "true", 'y' as "None" """
    )
    shop.write("models/words.sql", "{{ config(alias='w') }}select * from main.words")
    model = "models: [{name: words, config: {materialized: auto_cdc, keys: [%s], sequence_by: '%s', %s}}]"
    shop.write("models/_models.yml", model % ("1", "null", "stored_as_scd_type: 2"))
    assert (
        "keys has 1 among its names; write names as text, and quote those that YAML takes for"
        in shop.fail("run")
    )
    options = "stored_as_scd_type: 2, apply_as_deletes: 'not \"on\"'"
    options += ", track_history_except_column_list: ['None', 'null']"
    shop.write("models/_models.yml", model % ("'1'", "null", options))
    shop.succeed("run")
    shop.execute(
        "insert into words values (1, 2, true, 'x', 'z'), (1, 3, false, null, null), (2, 3, true, null, 'n')"
    )
    shop.succeed("run")
    expected = [(1, 2, True, "x", "z", 1, 3), (2, 3, True, None, "n", 3, None)]
    assert expected == shop.query('from w order by "1"')


def test_odd_sql_through_dbt(shop: Project) -> None:
    """Braces, percent signs, quotes, comments and a closing semicolon arrive as they were written."""
    shop.write(
        "models/odd_model.sql",
        """
        {{ config(
            materialized='auto_cdc', keys=['it''s "{id}" 100%'], sequence_by='se q', alias='odd target',
            stored_as_scd_type=2, apply_as_deletes="op in ('%s', '{{', '--', $${ 'x' }$$)",
        ) }}
        with feed as (
            select id as "it's ""{id}"" 100%", seq as "se q", '{% raw %}{{ x }} %s{% endraw %}' as text, op
            from main.feed
        )
        select * from feed; -- the end
        """.replace("it''s", "it\\'s"),
    )
    shop.succeed("run")
    shop.execute("insert into feed values (1, 2, null, '%s'), (2, 2, null, 'U'), (3, 3, null, '{{')")
    shop.succeed("run")
    expected = [(1, "{{ x }} %s", 1, 2), (2, "{{ x }} %s", 2, None)]
    assert expected == shop.query('select #1, text, __START_AT, __END_AT from "odd target" order by 1')
    shop.execute("insert into feed values (4, 2, null, 'x'), (4, 2, null, 'y')")
    said = failure(shop, "run")
    assert """for example it's "{id}" 100%=4 at 2; """ in said
