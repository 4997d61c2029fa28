"""`append_flow` step by step, straight on the engine.

Not here: random streams (`properties/test_streams`), and what dbt does around a model (`dbt/test_streams`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from dbt_auto_cdc.errors import AutoCdcError
from tests.databases import Connection, columns_of, create_table, engine_of, here
from tests.direct import Direct
from tests.flow_sql import FlowSql, compiled
from tests.stream_sql import stream

STREAM = f"select * from {stream('feed', offset='n')} as s"
FEED = {"id": "INTEGER", "n": "BIGINT"}


def deliver(connection: Connection, *rows: Mapping[str, Any], **types: str) -> None:
    create_table(connection, "feed", types or FEED, rows)


def make(connection: Connection, name: str = "target") -> Direct:
    return Direct(connection, name, materialized="append_flow")


def appended(target: Direct, sql: str = STREAM, config: Mapping[str, Any] | None = None, **how: Any) -> int:
    return target.run(config or {}, sql=sql, **how).figures["num_output_rows"]


def refused(target: Direct, sql: str = STREAM, config: Mapping[str, Any] | None = None) -> str:
    with pytest.raises(AutoCdcError) as error:
        target.run(config or {}, sql=sql)
    return str(error.value)


def test_the_line_and_the_figures(connection: Connection) -> None:
    """What is added is all there is to say."""
    deliver(connection, {"id": 1, "n": 1})
    outcome = make(connection).run({}, sql=STREAM)
    assert ({"num_output_rows": 1}, "AUTO CDC 1 appended") == (outcome.figures, outcome.message)
    outcome = make(connection).run({}, sql=STREAM)
    assert ({"num_output_rows": 0}, "AUTO CDC 0 appended") == (outcome.figures, outcome.message)


def test_without_a_stream_every_run_adds_everything(connection: Connection) -> None:
    """Equal rows are rows as well."""
    deliver(connection, {"id": 1, "n": 1}, {"id": 1, "n": 1})
    target = make(connection)
    assert [2, 2] == [appended(target, "select * from feed") for _ in range(2)]
    assert [(1, 1)] * 2 + [(1, 2)] * 2 == sorted((row["id"], row["__auto_cdc_run"]) for row in target.rows())


def test_columns_are_matched_by_name(connection: Connection) -> None:
    """Whatever their order, and in any case."""
    deliver(connection, {"id": 1, "n": 2})
    target = make(connection)
    appended(target, "select id, n from feed")
    appended(target, f"select n as {engine_of(connection).quote('N')}, id from feed")
    assert [(1, 2), (1, 2)] == [(row["id"], row["n"]) for row in target.rows()]


@pytest.mark.parametrize(
    "policy",
    [
        *(
            pytest.param(name, marks=pytest.mark.altering)
            for name in ("append_new_columns", "sync_all_columns")
        ),
        "ignore",
        "fail",
    ],
)
def test_columns_that_come_and_go(connection: Connection, policy: str) -> None:
    """As on_schema_change says; the number of the run stays what it is, and last runs' rows are null in new columns.

    The new column could hold the numbers of runs, were rows written by their place.
    """
    deliver(connection, {"id": 1, "n": 2})
    target, config = make(connection), {"on_schema_change": policy}
    appended(target, "select id, n from feed", config)
    changed = "select id, cast(7 as bigint) as more from feed"
    if policy == "fail":
        assert "new: more; gone: n" in refused(target, changed, config)
        return
    appended(target, changed, config)
    columns = {
        "append_new_columns": {"id", "n", "more"},
        "sync_all_columns": {"id", "more"},
        "ignore": {"id", "n"},
    }[policy]
    assert columns | {"__auto_cdc_run"} == set(target.rows()[0])
    assert [1, 2] == sorted(row["__auto_cdc_run"] for row in target.rows())
    if policy == "append_new_columns":
        assert [(2, None), (None, 7)] == [(row["n"], row["more"]) for row in in_order(target)]


def in_order(target: Direct) -> list[dict[str, Any]]:
    return sorted(target.rows(), key=lambda row: (row["__auto_cdc_run"], row["id"]))


@pytest.mark.indexed
def test_wider_columns_beside_an_index(connection: Connection) -> None:
    """A table that has to be copied keeps the numbers of its runs."""
    deliver(connection, {"id": 1, "n": 2})
    target = make(connection)
    appended(target, "select id from feed")
    connection.execute("create index of_ids on target (id)")
    appended(target, "select cast(id as bigint) as id from feed")
    assert [(1, 1), (1, 2)] == [(row["id"], row["__auto_cdc_run"]) for row in in_order(target)]


def test_a_rebuilt_table_goes_on_counting(connection: Connection) -> None:
    """So that a stream of it notices, and is refused until it starts over itself."""
    deliver(connection, {"id": 1, "n": 1}, {"id": 2, "n": 2})
    target, further = make(connection), make(connection, "further")
    of_target = f"select * from {stream('target', model='further')} as s"
    appended(target)
    assert 2 == appended(further, of_target)
    assert 2 == appended(target, full_refresh=True)
    assert {2} == {row["__auto_cdc_run"] for row in target.rows()}
    said = refused(further, of_target)
    assert here('stream target: "target" has no row any more of the runs that were read, up to run 1') in said
    assert 2 == appended(further, of_target, full_refresh=True)
    assert ["id", "n", "__auto_cdc_run"] == list(columns_of(connection, "further"))


def test_a_reader_gets_no_number(connection: Connection) -> None:
    """What selects everything of an append_flow, by stream or not, keeps the columns that are a user's."""
    deliver(connection, {"id": 1, "n": 1})
    appended(make(connection))
    for number, materialized in enumerate(("auto_cdc", "append_flow")):
        options = {"keys": ["id"], "sequence_by": "n"} if materialized == "auto_cdc" else {}
        for sql in ("select * from target", f"select * from {stream('target')} as s"):
            reader = Direct(connection, f"reader_{number}_{len(sql)}", materialized=materialized)
            reader.run(options, sql=sql)
            assert {"id", "n"} == {name for name in reader.rows()[0] if not name.startswith("__")}


def test_rows_removed_by_hand_stay_away(connection: Connection) -> None:
    """From the target; a stream of it goes on, and its later runs have higher numbers."""
    deliver(connection, {"id": 1, "n": 1})
    target, further = make(connection), make(connection, "further")
    of_target = f"select * from {stream('target', model='further')} as s"
    appended(target)
    appended(further, of_target)
    connection.execute("delete from target")
    assert 0 == appended(further, of_target)
    connection.execute("insert into feed values (2, 2)")
    assert 1 == appended(target)
    assert 2 == target.rows()[0]["__auto_cdc_run"]


def test_rows_put_in_by_hand_need_a_number(connection: Connection) -> None:
    """A stream of the table is refused until they have one, reads them then, and the next run's number is higher."""
    deliver(connection, {"id": 1, "n": 1})
    target, further = make(connection), make(connection, "further")
    of_target = f"select * from {stream('target', model='further')} as s"
    appended(target)
    appended(further, of_target)
    connection.execute("insert into target values (5, 5, null)")
    said = refused(further, of_target)
    assert "offset __auto_cdc_run is null in 1 row of" in said
    assert "set it to a number above the greatest one" in said
    connection.execute("update target set __auto_cdc_run = 2 where id = 5")
    assert 1 == appended(further, of_target)
    connection.execute("insert into feed values (2, 2)")
    assert 1 == appended(target)
    assert 1 == appended(further, of_target)
    assert [1, 2, 5] == sorted(row["id"] for row in further.rows())


def test_a_sample_has_to_be_rebuilt(connection: Connection) -> None:
    """Its rows would come a second time."""
    deliver(connection, {"id": 1, "n": 1})
    target = make(connection)
    outcome = target.run({}, sql=STREAM, partial="--sample")
    assert any("rebuild it with --full-refresh" in warning for warning in outcome.warnings)
    assert here('stream feed: "target" was built from a sample of it') in refused(target)
    assert 1 == appended(target, full_refresh=True)
    assert 0 == appended(target)
    target.run({}, sql=STREAM, partial="--sample")
    assert 1 == len(target.rows())


def test_an_empty_build_goes_on(connection: Connection) -> None:
    """With --empty, dbt gives no row; the next run reads all."""
    deliver(connection)
    target = make(connection)
    assert 0 == appended(target, partial="--empty")
    deliver(connection, {"id": 1, "n": 1})
    assert 1 == appended(target)


def test_bad_flows_are_refused(connection: Connection) -> None:
    """Options of changes have no meaning here; misspelt ones are told from them."""
    deliver(connection, {"id": 1, "n": 1})
    sql = compiled(
        FlowSql("one", STREAM, {"onec": True}),
        FlowSql("two", "select * from feed", {"keys": ["id"]}),
        FlowSql("three", "select * from feed", {"once": "yes"}),
        FlowSql("Two", "select * from feed"),
    )
    said = refused(make(connection), sql)
    assert "flow one: unknown option onec; did you mean once?" in said
    assert "flow two: unknown option keys" in said
    assert "flow three: once is 'yes'; write true or false" in said
    assert "2 flows are called two" in said


def test_flows_of_types_that_do_not_go_together(connection: Connection) -> None:
    """Named with the flows; types of which one holds the other are widened."""
    deliver(connection, {"id": 1, "n": 1})
    wider = compiled(FlowSql("one", "select id from feed"), FlowSql("two", "select n as id from feed"))
    target = make(connection)
    assert 2 == appended(target, wider)
    apart = compiled(FlowSql("one", "select id from feed"), FlowSql("two", "select current_date as id"))
    assert "flow two: column id was " in refused(target, apart)
    assert "column id has types that do not go together (one: " in refused(make(connection, "other"), apart)


def test_expectations_of_rows_and_of_flows(connection: Connection) -> None:
    """Dropped rows are not added, and not read again."""
    deliver(connection, {"id": 1, "n": 1}, {"id": None, "n": 2})
    target, config = make(connection), {"expect_all_or_drop": {"has_id": "id is not null"}}
    outcome = target.run(config, sql=STREAM)
    assert "AUTO CDC 1 appended, 1 dropped" == outcome.message
    assert 0 == appended(target, STREAM, config)
    flows = compiled(
        FlowSql("one", STREAM, {"expect_all": {"small": "id < 1"}}),
        FlowSql(
            "two", "select 5 as id, 5 as n", {"once": True, "expect_all_or_drop": {"even": "id % 2 = 0"}}
        ),
    )
    other = make(connection, "other")
    outcome = other.run(config, sql=flows)
    assert {
        "has_id": {"passed": 2, "failed": 1},
        "small": {"passed": 0, "failed": 2},
        "even": {"passed": 0, "failed": 1},
    } == outcome.expectations
    assert [1] == [row["id"] for row in other.rows()]


def test_the_table_of_another_materialization_is_refused(connection: Connection) -> None:
    """It means something else."""
    deliver(connection, {"id": 1, "n": 1})
    Direct(connection).run({"keys": ["id"], "sequence_by": "n"}, sql="select * from feed")
    assert "materialized was auto_cdc in the last run and is append_flow now" in refused(make(connection))


@pytest.mark.altering
def test_a_table_that_lost_its_numbers_is_not_gone_on_with(connection: Connection) -> None:
    """Something else rebuilt it."""
    deliver(connection, {"id": 1, "n": 1})
    target = make(connection)
    appended(target)
    connection.execute("alter table target drop column __auto_cdc_run")
    assert "was rebuilt by something else, and feed was read in part" in refused(target)


def test_without_its_companion_it_has_to_be_rebuilt(connection: Connection) -> None:
    """Nothing else tells what it has, so that it cannot be taken over as other tables can."""
    deliver(connection, {"id": 1, "n": 1})
    target = make(connection)
    appended(target)
    connection.execute("drop table target__auto_cdc")
    said = refused(target)
    assert "exists without its companion" in said
    assert "--full-refresh" in said
    assert "adopt" not in said
    assert 1 == appended(target, full_refresh=True)
