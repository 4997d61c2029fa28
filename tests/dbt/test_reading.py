"""The macros for reading histories, through dbt: `auto_cdc.as_of`, `auto_cdc.current` and `auto_cdc.with_bounds`.

How the tables come about is tested elsewhere.
"""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from tests.dbt_project import Project

pytestmark = pytest.mark.dbt

VERSIONS = "(1, 'Oslo', 10, 20), (1, 'Bergen', 20, null), (2, 'Rome', 10, 15), (3, 'Bonn', 30, null)"
# Customer 1 was in Oslo from 10 on; at 200 it was learned that he had moved at 20, at 300 that it had been at 25.
BELIEFS = """
    (1, 'Oslo', 10, null, 100, 200),
    (1, 'Oslo', 10, 20, 200, 300), (1, 'Bergen', 20, null, 200, 300),
    (1, 'Oslo', 10, 25, 300, null), (1, 'Bergen', 25, null, 300, null)
"""


@pytest.fixture
def shop(project: Project) -> Project:
    """Give a project with a history and a bitemporal table that others made, in a schema of sources."""
    project.execute(
        f"""
        create schema raw;
        create table raw.customers (id integer, city varchar, __START_AT integer, __END_AT integer);
        insert into raw.customers values {VERSIONS};
        create table raw."Odd beliefs" (
            id integer, "the city" varchar, __START_AT integer, __END_AT integer,
            __SYSTEM_START_AT integer, __SYSTEM_END_AT integer
        );
        insert into raw."Odd beliefs" values {BELIEFS};
        create table raw.latest (id integer, city varchar);
        """
    )
    project.write(
        "models/_sources.yml",
        """
        sources:
          - name: raw
            tables:
              - name: customers
              - name: latest
              - name: beliefs
                identifier: Odd beliefs
                quoting: {identifier: true}
        """,
    )
    return project


def read(
    project: Project, expression: str, relation: str = "source('raw', 'customers')"
) -> list[tuple[object, ...]]:
    """Return the rows of a model that selects from a macro, which `expression` calls on `{}`."""
    project.write("models/read.sql", "select * from {{ auto_cdc." + expression.format(relation) + " }}\n")
    project.succeed("run", "--select", "read")
    return project.query("select * from read order by all")


BELIEVED = "source('raw', 'beliefs')"


# -- as_of -------------------------------------------------------------------------------------------------------------


HELD = {
    9: [],
    10: [(1, "Oslo"), (2, "Rome")],
    14: [(1, "Oslo"), (2, "Rome")],
    15: [(1, "Oslo")],
    19: [(1, "Oslo")],
    20: [(1, "Bergen")],
    30: [(1, "Bergen"), (3, "Bonn")],
    10**6: [(1, "Bergen"), (3, "Bonn")],
}


def test_a_version_holds_from_its_start_to_before_its_end(shop: Project) -> None:
    """The intervals are half-open, and what has no end holds for ever."""
    for time in HELD:
        source = "{{ auto_cdc.as_of(source('raw', 'customers'), " + str(time) + ") }}"
        shop.write(f"models/at_{time}.sql", f"select id, city from {source}")
    shop.succeed("run")
    assert {time: shop.query(f"from at_{time} order by all") for time in HELD} == HELD


def test_rows_come_with_their_bounds(shop: Project) -> None:
    """So a reader sees since when, and the columns are the table's own."""
    assert [(1, "Oslo", 10, 20)] == read(shop, "as_of({}, 17)")
    assert ["id", "city", "__START_AT", "__END_AT"] == shop.columns("read")


BELIEVED_THEN = {
    "22": [("Oslo", 10, 25)],
    "25": [("Bergen", 25, None)],
    "22, 99": [],
    "22, 100": [("Oslo", 10, None)],
    "22, 199": [("Oslo", 10, None)],
    "22, 200": [("Bergen", 20, None)],
    "22, system_time='250'": [("Bergen", 20, None)],
    "22, 300": [("Oslo", 10, 25)],
}


def test_a_bitemporal_table_tells_what_was_believed(shop: Project) -> None:
    """With one time it is what is believed now; with two, what was believed then."""
    for number, times in enumerate(BELIEVED_THEN):
        source = "{{ auto_cdc.as_of(source('raw', 'beliefs'), " + times + ") }}"
        shop.write(f"models/m{number}.sql", f'select "the city", __START_AT, __END_AT from {source}')
    shop.succeed("run")
    found = {times: shop.query(f"from m{number}") for number, times in enumerate(BELIEVED_THEN)}
    assert found == BELIEVED_THEN


@pytest.mark.parametrize(
    "time",
    [
        "\"date '2026-03-01'\"",
        "\"cast('2026-02-28' as date) + 1\"",
        '"(select max(day) from raw.days)"',
        "modules.datetime.date(2026, 3, 1)",
        "modules.datetime.datetime(2026, 3, 1, 12, 30)",
        "var('day')",
    ],
)
def test_a_time_is_sql_or_a_date(shop: Project, time: str) -> None:
    """Text is SQL, whatever it holds; a date, as YAML gives it for a variable, is written as a literal."""
    shop.execute(
        "create table raw.days as select date '2026-03-01' as day;"
        "create or replace table raw.customers as select 1 as id, date '2026-03-01' as __START_AT,"
        " cast(null as date) as __END_AT union all select 2, date '2026-02-01', date '2026-03-01'"
    )
    shop.write("dbt_project.yml", "name: shop\nprofile: shop\nvars: {day: 2026-03-01}\n")
    assert [1] == [row[0] for row in read(shop, f"as_of({{}}, {time})")]


def test_a_join_by_each_rows_time(shop: Project) -> None:
    """A column of a row beside it is a time too, in a lateral join."""
    shop.write(
        "models/joined.sql",
        """
        select orders.id, history.city
        from (values (1, 1, 12), (2, 1, 20), (3, 2, 15), (4, 3, 40)) as orders(id, customer_id, placed_at)
        left join lateral {{ auto_cdc.as_of(source('raw', 'customers'), 'orders.placed_at') }} as history
            on history.id = orders.customer_id
        """,
    )
    shop.succeed("run")
    assert [(1, "Oslo"), (2, "Bergen"), (3, None), (4, "Bonn")] == shop.query("from joined order by all")


# -- current -----------------------------------------------------------------------------------------------------------


def test_current_rows_are_those_without_an_end(shop: Project) -> None:
    """Of a bitemporal table, those that are believed now."""
    assert [(1, "Bergen", 20, None), (3, "Bonn", 30, None)] == read(shop, "current({})")
    assert [(1, "Bergen", 25, None, 300, None)] == read(shop, "current({})", BELIEVED)


# -- with_bounds -------------------------------------------------------------------------------------------------------


def test_bounds_under_other_names(shop: Project) -> None:
    """They stand where they stood, and the originals are gone."""
    rows = read(shop, "with_bounds({})")
    assert ["id", "city", "valid_from", "valid_to"] == shop.columns("read")
    assert (1, "Bergen", 20, None) in rows
    read(shop, "with_bounds({}, start_at='since', end_at='\"up to\"')")
    assert ["id", "city", "since", "up to"] == shop.columns("read")


def test_another_open_end(shop: Project) -> None:
    """The names may stay, and a date may be one from YAML."""
    rows = read(shop, "with_bounds({}, start_at='__START_AT', end_at='__END_AT', open_end=9999)")
    assert [(1, "Bergen", 20, 9999), (1, "Oslo", 10, 20)] == rows[:2]
    assert ["id", "city", "__START_AT", "__END_AT"] == shop.columns("read")


def test_both_pairs_of_a_bitemporal_table(shop: Project) -> None:
    """Each has its names and its open end."""
    rows = read(shop, "with_bounds({}, system_open_end='900', system_end_at='known_to')", BELIEVED)
    expected = ["id", "the city", "valid_from", "valid_to", "system_from", "known_to"]
    assert expected == shop.columns("read")
    assert (1, "Bergen", 25, None, 300, 900) in rows


# -- Relations of every kind -------------------------------------------------------------------------------------------

FEED = """
select * from (values
    (1, 'Oslo', 'U', 10), (1, 'Bergen', 'U', 20), (2, 'Rome', 'U', 10), (2, null, 'D', 15)
) as feed(id, city, op, seq)
"""


def write_targets(project: Project) -> None:
    """Write an SCD type 2 target, and one of dumps, that hold the same versions."""
    project.write(
        "models/history.sql",
        "{{ config(materialized='auto_cdc', keys=['id'], sequence_by='seq', stored_as_scd_type=2,"
        " apply_as_deletes=\"op = 'D'\", column_list=['id', 'city']) }}" + FEED,
    )
    project.write(
        "models/dumps.sql",
        "{{ config(materialized='auto_cdc_snapshot', keys=['id'], snapshot_version='seq', stored_as_scd_type=2) }}"
        " select * from (values (1, 'Oslo', 10), (2, 'Rome', 10), (1, 'Oslo', 15), (1, 'Bergen', 20))"
        " as dumps(id, city, seq)",
    )


@pytest.mark.parametrize("target", ["history", "dumps"])
def test_targets_of_this_package_are_read(project: Project, target: str) -> None:
    """Views over a target, in one build with it."""
    write_targets(project)
    for name, call in {
        "then": "as_of(ref('{}'), 12)",
        "now": "current(ref('{}'))",
        "shown": "with_bounds(ref('{}'), open_end=99)",
    }.items():
        project.write(f"models/{name}.sql", "select * from {{ auto_cdc." + call.format(target) + " }}")
    project.succeed("build")
    assert [(1, "Oslo", 10, 20), (2, "Rome", 10, 15)] == project.query("from 'then' order by all")
    assert [(1, "Bergen", 20, None)] == project.query("from now order by all")
    expected = [(1, "Bergen", 20, 99), (1, "Oslo", 10, 20), (2, "Rome", 10, 15)]
    assert expected == project.query("select id, city, valid_from, valid_to from shown order by all")


@pytest.mark.skipif(
    find_spec("dbt_auto_cdc.scd.bitemporal") is None, reason="there are no bitemporal targets yet"
)
def test_bitemporal_targets_are_read(project: Project) -> None:
    """As believed now or then, in one build with the target; every belief of it passes the tests."""
    project.execute(
        "create schema raw; create table raw.feed (id integer, city varchar, op varchar, day integer, known integer);"
        "insert into raw.feed values (1, 'Oslo', 'U', 10, 100), (1, 'Bergen', 'U', 20, 200), (2, 'Rome', 'U', 10, 100)"
    )
    project.write(
        "models/beliefs.sql",
        "{{ config(materialized='auto_cdc', keys=['id'], sequence_by='day', system_sequence_by='known',"
        " apply_as_deletes=\"op = 'D'\", column_list=['id', 'city'], stored_as_scd_type='bitemporal') }}"
        " select * from raw.feed",
    )
    for name, call in {
        "now": "current(ref('beliefs'))",
        "then": "as_of(ref('beliefs'), 22)",
        "once": "as_of(ref('beliefs'), 22, 250)",
        "shown": "with_bounds(ref('beliefs'))",
    }.items():
        project.write(f"models/{name}.sql", "select * from {{ auto_cdc." + call + " }}")
    project.write(
        "models/_models.yml",
        """
        models:
          - name: beliefs
            data_tests:
              - auto_cdc.no_overlapping_rectangles: {arguments: {keys: id}}
              - auto_cdc.no_overlapping_versions: {arguments: {keys: id}}
              - auto_cdc.one_open_version: {arguments: {keys: id}}
        """,
    )
    project.succeed("build")
    project.execute(
        "insert into raw.feed values"
        " (1, 'Paris', 'U', 21, 300), (2, null, 'D', 30, 300), (1, 'Bergen', 'U', 25, 400)"
    )
    project.succeed("build")
    rows = "select id, city, __START_AT from {} order by 1, 3"
    assert [(1, "Bergen", 25)] == project.query(rows.format("now"))
    assert [(1, "Paris", 21), (2, "Rome", 10)] == project.query(rows.format('"then"'))
    assert [(1, "Bergen", 20), (2, "Rome", 10)] == project.query(rows.format("once"))
    assert ["id", "city", "valid_from", "valid_to", "system_from", "system_to"] == project.columns("shown")


@pytest.mark.parametrize("command", [("compile",), ("docs", "generate"), ("ls",), ("parse",)], ids=" ".join)
def test_before_the_first_run(project: Project, command: tuple[str, ...]) -> None:
    """There is no table yet whose columns could be asked for, and nothing is refused."""
    write_targets(project)
    project.write(
        "models/reader.sql",
        """
        select then_.id
        from {{ auto_cdc.as_of(ref('history'), 12) }} as then_
        join {{ auto_cdc.current(ref('history')) }} as now_ on now_.id = then_.id
        join {{ auto_cdc.with_bounds(ref('dumps')) }} as shown on shown.id = then_.id
        """,
    )
    project.succeed(*command)
    project.succeed("run")
    project.succeed(*command)
    assert {(1,)} == set(project.query("from reader"))


def test_without_rows(project: Project) -> None:
    """Under --empty, dbt gives the relation a sub-query of its own."""
    write_targets(project)
    project.write("models/reader.sql", "select * from {{ auto_cdc.as_of(ref('history'), 12) }}")
    project.write("models/shown.sql", "select * from {{ auto_cdc.with_bounds(ref('history')) }}")
    project.succeed("run", "--empty")
    assert [] == project.query("from reader")
    assert ["id", "city", "valid_from", "valid_to"] == project.columns("shown")


def test_an_ephemeral_model(shop: Project) -> None:
    """Its columns cannot be asked for: renamed bounds stand behind all columns."""
    shop.write(
        "models/chosen.sql",
        "{{ config(materialized='ephemeral') }} select * from {{ source('raw', 'customers') }} where id < 3",
    )
    assert [(1, "Oslo", 10, 20), (2, "Rome", 10, 15)] == read(shop, "as_of({}, 12)", "ref('chosen')")
    assert [(1, "Bergen", 20, None)] == read(shop, "current({})", "ref('chosen')")
    rows = read(shop, "with_bounds({}, open_end=99)", "ref('chosen')")
    assert ["id", "city", "__START_AT", "__END_AT", "valid_from", "valid_to"] == shop.columns("read")
    assert (1, "Bergen", 20, None, 20, 99) in rows


def test_unit_tests_of_a_model_that_reads(shop: Project) -> None:
    """The given rows stand for the table; of a bitemporal one, those not believed any more stay out as in a run."""
    shop.write(
        "models/reader.sql",
        """
        select then_.id, then_.city, shown.valid_to, believed."the city" as believed_city
        from {{ auto_cdc.as_of(source('raw', 'customers'), 12) }} as then_
        join {{ auto_cdc.with_bounds(source('raw', 'customers'), open_end=99) }} as shown on shown.id = then_.id
        join {{ auto_cdc.current(source('raw', 'beliefs')) }} as believed on believed.id = then_.id
        """,
    )
    shop.write(
        "models/_unit_tests.yml",
        """
        unit_tests:
          - name: reads_then
            model: reader
            given:
              - input: source('raw', 'customers')
                rows:
                  - {id: 1, city: Nice, __START_AT: 12}
                  - {id: 2, city: Rome, __START_AT: 13}
              - input: source('raw', 'beliefs')
                rows:
                  - {id: 1, the city: Ulm, __START_AT: 1, __SYSTEM_START_AT: 5}
                  - {id: 1, the city: Graz, __START_AT: 1, __SYSTEM_START_AT: 1, __SYSTEM_END_AT: 5}
            expect:
              rows:
                - {id: 1, city: Nice, valid_to: 99, believed_city: Ulm}
        """,
    )
    shop.succeed("build", "--select", "reader")


def test_show_and_operations(shop: Project) -> None:
    """Where no model is run, the columns are asked for as well."""
    said = shop.succeed(
        "show", "--inline", "select * from {{ auto_cdc.with_bounds(source('raw', 'customers')) }}"
    )
    assert said.success
    assert "valid_from" in shop.log
    shop.write(
        "macros/look.sql",
        """
        {% macro look() %}
          {% set query = 'select id from ' ~ auto_cdc.current(source('raw', 'beliefs')) %}
          {% if execute %}{% do log('found ' ~ run_query(query).rows | length, info=true) %}{% endif %}
        {% endmacro %}
        """,
    )
    shop.succeed("run-operation", "look")
    assert "found 1" in shop.log


# -- Refused -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        ("as_of({}, none)", "as_of: business_time is missing; write SQL"),
        ("as_of({}, '')", "as_of: business_time is missing; write SQL"),
        ("as_of({}, forgotten)", "as_of: business_time is missing; write SQL"),
        ("as_of({}, true)", "as_of: business_time is True; write SQL"),
        ("as_of({}, ['x'])", "as_of: business_time is ['x']; write SQL"),
        ("as_of({}, '2026-03-01')", "which SQL takes for a subtraction; write \"date '2026-03-01'\""),
        ("as_of({}, '2026-03-01 10:00')", "write \"timestamp '2026-03-01 10:00'\""),
        ("as_of({}, modules.datetime.datetime.now(modules.pytz.utc))", "a time without a zone, or a number"),
        ("as_of({}, 12, 100)", "has no columns __SYSTEM_START_AT and __SYSTEM_END_AT"),
        (
            "as_of('raw.customers', 12)",
            "as_of: 'raw.customers' is no relation; write as_of(ref('<model>'), ...)",
        ),
        ("as_of(none, 12)", "as_of: None is no relation"),
        ("as_of(source('raw', 'latest'), 12)", "has no columns __START_AT and __END_AT, so it is no history"),
        ("current(source('raw', 'latest'))", 'current: "warehouse"."raw"."latest" has no columns'),
        ("with_bounds({}, end_at='city')", "has a column city already; give the bound another name"),
        ("with_bounds({}, start_at='at', end_at='AT')", "has a column AT already"),
        ("with_bounds({}, start_at='')", "__START_AT cannot be shown as ''; write a column name"),
        (
            "with_bounds({}, open_end='9999-12-31')",
            "open_end is 9999-12-31, which SQL takes for a subtraction",
        ),
    ],
)
def test_wrong_arguments_are_refused(shop: Project, call: str, complaint: str) -> None:
    """With the model, the macro and what to write instead."""
    shop.write(
        "models/read.sql", "select * from {{ auto_cdc." + call.format("source('raw', 'customers')") + " }}"
    )
    said = shop.fail("run")
    assert complaint in said
    assert "auto_cdc: model read: " in said
