"""The run-operations that make a table a target: `auto_cdc.adopt` and `auto_cdc.clone_companions`, end to end.

What runs make of a target afterwards is shown only as far as it proves the operation.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from dbt_auto_cdc.names import EVENT_LOG
from tests.dbt_project import Project

pytestmark = pytest.mark.dbt

FEED = "select * from {}.feed"
HISTORY = "select id, city, __START_AT, __END_AT from {} order by id, __START_AT"


def write_model(
    project: Project,
    name: str = "users",
    *,
    sql: str = "",
    scd_type: int = 2,
    **config: object,
) -> None:
    """Write a model over the feed, or over what `sql` gives."""
    options = {
        "materialized": "auto_cdc",
        "keys": ["id"],
        "sequence_by": "seq",
        "apply_as_deletes": "op = 'D'",
        "except_column_list": ["op", "seq"],
        "stored_as_scd_type": scd_type,
        **config,
    }
    written = ", ".join(f"{key}={value!r}" for key, value in options.items())
    project.write(f"models/{name}.sql", f"{{{{ config({written}) }}}}\n{sql or FEED.format(project.raw)}\n")


@pytest.fixture
def shop(project: Project) -> Project:
    """Give a project with an empty feed and a model over it."""
    project.execute(
        "create schema raw; create table raw.feed (id integer, city varchar, op varchar, seq integer)"
    )
    write_model(project)
    return project


def arrive(project: Project, *events: tuple[Any, ...]) -> None:
    """Put events into the feed."""
    for event in events:
        project.execute(f"insert into {project.raw}.feed values (?, ?, ?, ?)", event)


def operate(project: Project, macro: str, arguments: str) -> str:
    """Run an operation and return what it said."""
    project.succeed("run-operation", f"auto_cdc.{macro}", "--args", arguments)
    return project.log


def refuse(project: Project, macro: str, arguments: str) -> str:
    """Run an operation that has to be refused, and return what it said."""
    return project.fail("run-operation", f"auto_cdc.{macro}", "--args", arguments)


def relations(project: Project, schema: str = "main") -> list[tuple[str, str]]:
    """Return names and kinds of the relations of a schema, but for the event log."""
    query = "select table_name, table_type from information_schema.tables where table_schema = ? order by 1"
    return [(name, kind) for name, kind in project.query(query, [schema]) if name != EVENT_LOG]


# -- adopt, SCD type 2 -------------------------------------------------------------------------------------------------

BY_HAND = "(1, 'Oslo', 10, 30), (1, 'Bari', 30, null), (2, 'Rome', 10, 20)"


def make_history(project: Project, rows: str, bound: str = "integer") -> None:
    """Make a table as somebody else's SCD type 2 would have left it."""
    project.execute(
        f"create table users (city varchar, id integer, __START_AT {bound}, __END_AT {bound});"
        f"insert into users (id, city, __START_AT, __END_AT) values {rows}"
    )


def test_a_history_made_by_hand_goes_on_with_late_events(shop: Project) -> None:
    """Its versions stay; events later and in between find their place; what it shows is known and changes nothing."""
    make_history(shop, BY_HAND)
    assert "adopt --args '{model: users}'" in shop.fail("run")
    said = operate(shop, "adopt", "{model: users}")
    assert 'took "warehouse"."main"."users" over; its 3 versions stay as they are' in said

    arrive(
        shop,
        (1, "Oslo", "U", 10),
        (2, None, "D", 20),
        (1, "Kiel", "U", 20),
        (2, "Nice", "U", 25),
        (1, None, "D", 40),
    )
    shop.succeed("run")
    expected = [
        (1, "Oslo", 10, 20),
        (1, "Kiel", 20, 30),
        (1, "Bari", 30, 40),
        (2, "Rome", 10, 20),
        (2, "Nice", 25, None),
    ]
    assert expected == shop.query(HISTORY.format("users"))


def test_an_adopted_history_equals_one_that_was_run(shop: Project) -> None:
    """Take the companion away and adopt: where nothing was hidden, the next runs give the same table."""
    arrive(shop, (1, "Oslo", "U", 10), (1, "Bari", "U", 30), (2, "Rome", "U", 10), (2, None, "D", 20))
    write_model(shop, "twin")
    shop.succeed("run")
    record = shop.query("select * from users__auto_cdc")
    shop.execute("drop table users__auto_cdc")
    operate(shop, "adopt", "{model: users}")
    assert record == shop.query("select * from users__auto_cdc")

    arrive(shop, (1, "Kiel", "U", 20), (2, "Nice", "U", 15), (3, "Rome", "U", 1))
    shop.succeed("run")
    assert shop.query(HISTORY.format("twin")) == shop.query(HISTORY.format("users"))


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        (
            "(1, 'Oslo', 10, 30), (1, 'Bari', 20, null)",
            "1 version of .* ends after .* example id=1 from 10 to 30",
        ),
        (
            "(1, 'Oslo', 10, null), (1, 'Bari', 20, null)",
            "1 version of .* has no end .* id=1 from 10 to null",
        ),
        ("(1, 'Oslo', 10, 10)", "1 version of .* ends at the start .* id=1 from 10 to 10"),
        ("(1, 'Oslo', null, 10)", "1 version of .* has no __START_AT, for example id=1 from null to 10"),
        ("(null, 'Oslo', 10, null)", "key column id is null in 1 row of"),
    ],
    ids=["overlap", "two open versions", "empty version", "no start", "no key"],
)
def test_a_history_that_no_run_could_have_written_is_refused(
    shop: Project, rows: str, complaint: str
) -> None:
    """With how many there are, an example and what to do; nothing is written."""
    make_history(shop, rows)
    said = refuse(shop, "adopt", "{model: users}")
    assert re.search(complaint, said), said
    assert [("users", "BASE TABLE")] == relations(shop)


def test_bounds_of_another_type_are_refused(shop: Project) -> None:
    """Both bounds are named, with the type they need."""
    make_history(shop, "(1, 'Oslo', 10, 30)", bound="bigint")
    said = refuse(shop, "adopt", "{model: users}")
    assert (
        'column __START_AT of "warehouse"."main"."users" has type BIGINT and sequence_by has type INTEGER'
        in said
    )
    assert "column __END_AT" in said


def test_a_table_without_bounds_is_refused_as_a_history(shop: Project) -> None:
    """The message says what the columns are for."""
    shop.execute("create table users as select 1 as id, 'Oslo' as city")
    said = refuse(shop, "adopt", "{model: users}")
    assert "has no column __START_AT, which says from when to when a version holds" in said
    assert [("users", "BASE TABLE")] == relations(shop)


# -- adopt, SCD type 1 -------------------------------------------------------------------------------------------------


def test_rows_without_a_sequence_are_older_than_any_event(shop: Project) -> None:
    """Whatever comes for a key replaces its row; the others stay."""
    write_model(shop, scd_type=1)
    shop.execute("create table users as from (values (1, 'by hand'), (2, 'by hand')) as t(id, city)")
    said = operate(shop, "adopt", "{model: users}")
    assert "its 2 rows are older than any event, because they do not hold sequence_by" in said
    arrive(shop, (1, "Oslo", "U", 10))
    shop.succeed("run")
    assert [(1, "Oslo"), (2, "by hand")] == shop.query("select id, city from users order by 1")


@pytest.mark.parametrize(
    "sequence", ["seq", "seq + 0", ["seq", "part"]], ids=["column", "expression", "list"]
)
def test_sequences_that_the_rows_hold_are_remembered(shop: Project, sequence: str | list[str]) -> None:
    """A late event stays out, a newer one comes in, and a row without its sequence is older than any event."""
    shop.execute("alter table raw.feed add column part integer default 0")
    write_model(shop, scd_type=1, sequence_by=sequence, except_column_list=["op"])
    shop.execute(
        "create table users (id integer, city varchar, seq integer, part integer);"
        "insert into users values (1, 'by hand', 20, 0), (2, 'by hand', 20, 0), (3, 'by hand', null, null)"
    )
    said = operate(shop, "adopt", "{model: users}")
    assert "the sequences of 2 of its 3 rows are remembered" in said
    arrive_wide = (
        "insert into raw.feed values (1, 'late', 'U', 10, 0), (2, 'new', 'U', 30, 0), (3, 'first', 'U', 1, 0)"
    )
    shop.execute(arrive_wide)
    shop.succeed("run")
    assert [(1, "by hand"), (2, "new"), (3, "first")] == shop.query("select id, city from users order by 1")


def test_a_sequence_of_another_type_is_refused(shop: Project) -> None:
    """Remembered sequences have to compare with those of events."""
    write_model(shop, scd_type=1, except_column_list=["op"])
    shop.execute("create table users (id integer, city varchar, seq bigint)")
    said = refuse(shop, "adopt", "{model: users}")
    assert "has type BIGINT and the model's has type INTEGER" in said


def test_two_rows_of_a_key_are_refused(shop: Project) -> None:
    """An SCD type 1 target has one row a key."""
    write_model(shop, scd_type=1)
    shop.execute("create table users as from (values (1, 'Oslo'), (1, 'Rome'), (2, 'Nice')) as t(id, city)")
    said = refuse(shop, "adopt", "{model: users}")
    assert "1 key has more than one row" in said
    assert "for example id=1" in said
    assert [("users", "BASE TABLE")] == relations(shop)


# -- adopt, both -------------------------------------------------------------------------------------------------------


def test_columns_that_do_not_fit_the_model_are_refused(shop: Project) -> None:
    """As in a run: a key that was text stays text."""
    write_model(shop, scd_type=1)
    shop.execute("create table users (id varchar, city varchar)")
    assert "column id was VARCHAR and is now INTEGER" in refuse(shop, "adopt", "{model: users}")


def test_there_has_to_be_a_table_and_no_companion(shop: Project) -> None:
    """Nothing to take over, or taken over already."""
    said = refuse(shop, "adopt", "{model: users}")
    assert (
        '"warehouse"."main"."users" does not exist, so there is nothing to take over; `dbt run` builds it'
        in said
    )
    arrive(shop, (1, "Oslo", "U", 10))
    shop.succeed("run")
    said = refuse(shop, "adopt", "{model: users}")
    assert 'has its companion "warehouse"."main"."users__auto_cdc" already' in said


def test_a_view_becomes_a_table_when_it_is_adopted(shop: Project) -> None:
    """A clone whose original's companion is out of reach: its rows of this moment are taken over."""
    shop.execute(
        f"create schema prod; create table prod.users as from (values {BY_HAND}) t(id, city, __START_AT, __END_AT)"
    )
    shop.execute("create view users as from prod.users")
    operate(shop, "adopt", "{model: users}")
    assert [("users", "BASE TABLE"), ("users__auto_cdc", "BASE TABLE")] == relations(shop)
    assert 3 == len(shop.query("from users"))


def test_the_definition_is_recorded(shop: Project) -> None:
    """A later change of the keys is refused, as after a run."""
    make_history(shop, BY_HAND)
    operate(shop, "adopt", "{model: users}")
    write_model(shop, keys=["id", "city"])
    assert "keys was id in the last run and is city, id now" in shop.fail("run")


# -- clone_companions --------------------------------------------------------------------------------------------------


@pytest.fixture
def production(shop: Project) -> Project:
    """Give a project that ran in production, with hidden events in its companions, and was cloned to development."""
    shop.write(
        "profiles.yml",
        f"""
        shop:
          target: dev
          outputs:
            dev: {{type: duckdb, path: '{shop.database}', schema: dev}}
            prod: {{type: duckdb, path: '{shop.database}', schema: prod}}
        """,
    )
    write_model(shop)
    write_model(shop, "latest", scd_type=1, schema="sales")
    arrive(shop, (1, "Oslo", "U", 10), (1, "Oslo", "U", 40), (2, "Rome", "U", 10), (2, None, "D", 20))
    shop.writes_manifest = True
    shop.succeed("run", "--target", "prod")
    (shop.root / "target").rename(shop.root / "state")
    shop.succeed("clone", "--state", str(shop.root / "state"))
    return shop


LATE = [(1, "Kiel", "U", 20), (2, "late", "U", 15), (3, "Nice", "U", 10)]


def test_a_clone_goes_on_as_its_original_does(production: Project) -> None:
    """The same late events give the same tables in development and, later, in production."""
    said = operate(production, "clone_companions", "{from_schema: prod}")
    assert (
        'model users: copied "warehouse"."prod"."users__auto_cdc" to "warehouse"."dev"."users__auto_cdc" (2 rows)'
        in said
    )
    assert 'model latest: copied "warehouse"."prod_sales"."latest__auto_cdc"' in said
    arrive(production, *LATE)
    before = production.query("from prod.users order by all")
    production.succeed("run")
    assert before == production.query("from prod.users order by all")

    production.succeed("run", "--target", "prod")
    expected = [
        (1, "Oslo", 10, 20),
        (1, "Kiel", 20, 40),
        (1, "Oslo", 40, None),
        (2, "Rome", 10, 15),
        (2, "late", 15, 20),
    ]
    assert [*expected, (3, "Nice", 10, None)] == production.query(HISTORY.format("dev.users"))
    for table in ("{}.users", "{}_sales.latest", "{}.users__auto_cdc", "{}_sales.latest__auto_cdc"):
        query = f"select * from {table} order by all"
        assert production.query(query.format("prod")) == production.query(query.format("dev"))


def test_clone_and_companion_show_one_moment(production: Project) -> None:
    """The clone is a table from then on: what production does next is not seen."""
    operate(production, "clone_companions", "{from_schema: prod}")
    before = production.query(HISTORY.format("dev.users"))
    arrive(production, *LATE)
    production.succeed("run", "--target", "prod")
    assert before == production.query(HISTORY.format("dev.users"))
    assert [("users", "BASE TABLE"), ("users__auto_cdc", "BASE TABLE")] == relations(production, "dev")


def test_what_runs_already_is_left_alone(production: Project) -> None:
    """A second call, or a target of development's own, keeps its companion; a fresh clone replaces the old one."""
    operate(production, "clone_companions", "{from_schema: prod}")
    arrive(production, *LATE)
    production.succeed("run")
    own = production.query("from dev.users__auto_cdc order by all")
    said = operate(production, "clone_companions", "{from_schema: prod}")
    assert 'model users: nothing to do: "warehouse"."dev"."users" is a table with its companion' in said
    assert own == production.query("from dev.users__auto_cdc order by all")

    production.succeed("clone", "--full-refresh", "--state", str(production.root / "state"))
    operate(production, "clone_companions", "{from_schema: prod}")
    query = "from {}.users__auto_cdc order by all"
    assert production.query(query.format("prod")) == production.query(query.format("dev"))


def test_models_can_be_chosen(production: Project) -> None:
    """The others stay views without a companion."""
    operate(production, "clone_companions", "{from_schema: prod, models: [users]}")
    assert [("users", "BASE TABLE"), ("users__auto_cdc", "BASE TABLE")] == relations(production, "dev")
    assert [("latest", "VIEW")] == relations(production, "dev_sales")


def test_models_that_were_not_cloned_are_passed_over(production: Project) -> None:
    """Named ones are a mistake, though."""
    write_model(production, "fresh")
    said = operate(production, "clone_companions", "{from_schema: prod}")
    assert 'model fresh: nothing to do: "warehouse"."dev"."fresh" does not exist' in said
    said = refuse(production, "clone_companions", "{from_schema: prod, models: [fresh]}")
    assert '"warehouse"."dev"."fresh" does not exist; run `dbt clone` first' in said


def test_a_wrong_schema_is_refused_before_anything_is_written(production: Project) -> None:
    """There is no companion to copy, or it is the clone's own; the names are in the message."""
    before = relations(production, "dev")
    said = refuse(production, "clone_companions", "{from_schema: nowhere}")
    assert '"warehouse"."nowhere_sales"."latest__auto_cdc", the companion to copy, does not exist' in said
    said = refuse(production, "clone_companions", "{from_schema: dev}")
    assert "cannot be cloned from itself" in said
    assert before == relations(production, "dev")


def test_from_another_database(shop: Project) -> None:
    """Production is an attached database that is only read."""
    prod = shop.root / "prod.duckdb"
    shop.write(
        "profiles.yml",
        f"""
        shop:
          target: dev
          outputs:
            dev: {{type: duckdb, path: '{shop.database}', attach: [{{path: '{prod}', alias: prod}}]}}
        """,
    )
    arrive(shop, (1, "Oslo", "U", 10), (1, "Oslo", "U", 40))
    write_model(shop, database="prod")
    shop.succeed("run")
    write_model(shop)
    shop.execute(f"attach '{prod}' as prod; create table users as from prod.main.users")
    operate(shop, "clone_companions", "{from_schema: main, from_database: prod}")
    arrive(shop, *LATE[:1])
    shop.succeed("run")
    expected = [(1, "Oslo", 10, 20), (1, "Kiel", 20, 40), (1, "Oslo", 40, None)]
    assert expected == shop.query(HISTORY.format("users"))


@pytest.mark.parametrize(
    ("operation", "argument"), [("explain", "model"), ("adopt", "model"), ("clone_companions", "from_schema")]
)
def test_an_operation_without_its_argument_says_what_to_write(
    project: Project, operation: str, argument: str
) -> None:
    """No internal error: the message has the command with the argument."""
    project.run("run-operation", f"auto_cdc.{operation}")
    assert f"write dbt run-operation auto_cdc.{operation} --args '{{{argument}: ...}}'" in project.log
