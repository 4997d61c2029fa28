"""The worked examples of SCD type 1, 2 and bitemporal, straight on the engine: run by run, in any order and cut.

Not here: the examples themselves (`case_data` reads them), dbt.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest

from dbt_auto_cdc.errors import AutoCdcError
from tests import databases
from tests.case_data import Case, Rows, Run, assert_run, load_cases
from tests.databases import create_table, engine_of, tables_of
from tests.direct import Direct

if TYPE_CHECKING:
    from dbt_auto_cdc.execute import Outcome
    from tests.databases import Connection

NOT_SERVED = {
    "ducklake": {
        "scd2-ignore-null-nested-fields": "a column is a struct, which DuckLake does not give back",
        "scd2-struct-sequence": "a list as sequence_by makes a struct",
        "IC29": "a list as sequence_by makes a struct",
    },
    "postgres": {
        "scd2-ignore-null-nested-fields": "a column is a struct, which PostgreSQL has as named types only"
    },
    "sail": {
        "scd2-evolve-column-added": "Sail alters no tables",
        "scd2-ignore-null-column-added-later": "Sail alters no tables",
        "scd2-struct-sequence": "Sail orders no structs in windows",
        "IC29": "Sail orders no structs in windows",
    },
}
"""The examples that an engine cannot even hold, each with the reason: they are skipped there, and no others."""


def served(case: Case) -> Any:
    """Return a case as a parameter, skipped where the engine cannot hold its feed."""
    reason = NOT_SERVED.get(databases.chosen(), {}).get(case.id)
    return pytest.param(case, id=case.id, marks=[pytest.mark.skip(reason=reason)] if reason else [])


CASES = load_cases("scd1", "scd2", "bitemporal")
REARRANGED = [case for case in CASES if case.order_insensitive]
REFUSED = [case for case in CASES if case.error is not None]

MESSAGES = {
    "null_sequence": r"sequence_by seq is null in \d+ of the new rows",
    "ties": r"\b1 .*different events at one sequence, for example id=1 at 10; .*sequence_by.*tie-breaker",
    "key_not_found": r"keys names nokey, which is not a column of the model; there are: k, v",
    "column_not_found": r"column_list names nope, which is not a column of the model",
    "qualified_name": r"keys names src\.k; write the column without its table: k",
    "conflicting_options": r"ignore_null_updates and ignore_null_updates_column_list are set together",
    "ignored_key": r"ignore_null_updates_column_list names k, which is a key; .*leave it out",
    "missing_sequence_by": r"sequence_by is missing",
    "missing_system_sequence_by": r"bitemporal and system_sequence_by is missing; name the column",
    "key_drift": r"(?i)\bk was INT(?:EGER)? and is now BIGINT.*--full-refresh",
    "scd_type_drift": r"stored_as_scd_type was 1 in the last run and is 2 now.*--full-refresh",
    "sequence_type_drift": (
        r"(?i)type of sequence_by was BIGINT in the last run and is INT(?:EGER)? now.*--full-refresh"
    ),
}
"""What the message of each kind of refusal must say."""
WRITTEN_OUT = {
    "IC19": "null_sequence",
    "IC24": "ties",
    "IC59": "missing_system_sequence_by",
    "scd2-config-ignore-null-on-key": "ignored_key",
}
"""The kind of refusal of cases that describe it in a sentence, or say it more broadly than the message."""


@pytest.fixture
def target(connection: Connection) -> Direct:
    return Direct(connection)


def contents(target: Direct) -> list[list[Any]]:
    """Return all rows of the target and its companion, each with its place."""
    tables, engine = tables_of(target.connection), engine_of(target.connection)
    kept = [engine.quote(name) for name in (target.name, f"{target.name}__auto_cdc") if name in tables]
    if not engine.transactions:
        found = [target.connection.execute(f"select * from {name}").fetchall() for name in kept]
        return [sorted(map(list, rows), key=repr) for rows in found]
    return [target.connection.execute(f"select {engine.locator}, * from {name}").fetchall() for name in kept]


def apply(target: Direct, run: Run, rows: Rows | None = None) -> Outcome:
    """Make the feed of a run, or of other rows in its shape, and run on it."""
    create_table(target.connection, "feed", run.columns, run.rows if rows is None else rows)
    return target.run(run.config, full_refresh=run.is_full_refresh)


def test_the_cases_are_there() -> None:
    """Every case of these modes is run, those of partial updates among them."""
    assert len(CASES) >= 92
    assert len(REARRANGED) >= 41
    assert 17 == sum(case.uses_partial_updates for case in CASES)
    assert all(WRITTEN_OUT.get(case.id, case.error) in MESSAGES for case in REFUSED)


@pytest.mark.parametrize("case", [*map(served, CASES)])
def test_case(target: Direct, case: Case) -> None:
    """After every run the target is the documented one; a refused run says why and leaves what was there."""
    for run in case.runs:
        before = contents(target)
        if run.is_refused:
            with pytest.raises(AutoCdcError) as refused:
                apply(target, run)
            kind = WRITTEN_OUT.get(case.id, str(case.error))
            assert re.search(MESSAGES[kind], str(refused.value))
            assert "model target" in str(refused.value)
            assert before == contents(target)
        else:
            apply(target, run)
        if contents(target):
            assert_run(target.connection, target.name, run)


@pytest.mark.parametrize("case", [*map(served, REARRANGED)])
def test_case_in_any_order(target: Direct, case: Case) -> None:
    """All at once, one by one, reversed, at random: examples that do not depend on it end in the same table."""
    last = case.runs[-1]
    for seed in range(4):
        rearranged(target, case, case.rearranged(seed))
        assert_run(target.connection, target.name, last)


def rearranged(target: Direct, case: Case, runs: Sequence[Rows]) -> None:
    """Build the target anew from the rows of a case in other runs."""
    for table in (target.name, f"{target.name}__auto_cdc"):
        target.connection.execute(f"drop table if exists {engine_of(target.connection).quote(table)}")
    for rows in runs:
        apply(target, case.runs[-1], rows)


@pytest.mark.only_on("duckdb", "postgres")
def test_many_ties_beside_versions_that_are_there(connection: Connection) -> None:
    """Of many events that share a key and sequence the greater counts, however far apart working tables keep them."""
    config = {"keys": ["id"], "sequence_by": "seq", "stored_as_scd_type": 2, "sequence_ties": "allow"}
    columns = {"id": "INTEGER", "seq": "BIGINT", "v": "VARCHAR"}
    target = Direct(connection)
    first = [{"id": number, "seq": 1, "v": "a" * 90} for number in range(300)]
    create_table(connection, "feed", columns, first)
    target.run(config)
    tied = [{"id": number, "seq": 2, "v": v} for number in range(300) for v in ("b", "c")]
    create_table(connection, "feed", columns, tied)
    target.run(config)
    assert {"c"} == {str(row["v"]) for row in target.rows() if row["seq"] == 2}
