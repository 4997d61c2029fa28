"""The worked examples of snapshots, REPLACE USING and REPLACE WHERE, straight on the engine: run by run and at once.

Not here: the examples themselves (`case_data` reads them), dbt.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from tests import databases
from tests.case_data import Case, Run, assert_run, load_cases
from tests.databases import create_table
from tests.direct import Direct

if TYPE_CHECKING:
    from dbt_auto_cdc.execute import Outcome
    from tests.databases import Connection

VERSION = "snapshot"


def is_built(case: Case) -> bool:
    """Tell whether the product has all the options of a case: the one place that says what it lacks."""
    return not any("expect_all_or_drop" in run.config for run in case.runs)


CASES = [
    case
    for case in load_cases("snapshot_scd1", "snapshot_scd2", "replace_using", "replace_where")
    if is_built(case)
]
SNAPSHOTS = [case for case in CASES if case.mode.startswith("snapshot")]
APPENDED = [case for case in CASES if case.config.get("equal_sequence") == "append"]


def served(case: Case, *, at_once: bool = False) -> Any:
    """Return a case as a parameter, skipped where the engine cannot hold it; `at_once` its columns stay."""
    reason = ""
    if databases.chosen() == "sail" and case.changes_columns and not at_once:
        reason = "Sail alters no tables"
    return pytest.param(case, id=case.id, marks=[pytest.mark.skip(reason=reason)] if reason else [])


def materialized_of(case: Case) -> str:
    """Return the materialization that keeps the target of a case."""
    return "auto_cdc_snapshot" if case.mode.startswith("snapshot") else case.mode


def target_of(connection: Connection, case: Case) -> Direct:
    return Direct(connection, materialized=materialized_of(case))


def options_of(run: Run) -> dict[str, Any]:
    """Return the options as a user would write them; a snapshot's version is a column of the feed."""
    if run.mode.startswith("snapshot"):
        return {**run.config, "snapshot_version": VERSION}
    return run.config


def deliver(connection: Connection, run: Run, feed: str = "feed") -> None:
    """Make the feed of a run, that of a snapshot with its version."""
    run.create_feed(connection, feed, version_column=VERSION if run.mode.startswith("snapshot") else None)


def apply(target: Direct, run: Run) -> Outcome:
    """Make the feed of a run and run on it."""
    deliver(target.connection, run)
    return target.run(options_of(run), full_refresh=run.is_full_refresh)


def test_the_cases_are_there() -> None:
    """Every case of these modes is run but for those with options that are not built; none is to be refused."""
    assert 20 == len(CASES)
    assert 12 == len(SNAPSHOTS)
    assert [] == [case.id for case in CASES if case.error is not None]


@pytest.mark.parametrize("case", [*map(served, CASES)])
def test_case(connection: Connection, case: Case) -> None:
    """After every run the target is the documented one; the same run once more changes nothing but what it adds."""
    target = target_of(connection, case)
    for run in case.runs:
        apply(target, run)
        assert_run(connection, target.name, run)
        if case not in APPENDED:
            figures = target.run(options_of(run)).figures
            assert (0, 0) == (figures["num_upserted_rows"], figures["num_deleted_rows"])
            assert_run(connection, target.name, run)


@pytest.mark.parametrize("case", SNAPSHOTS, ids=lambda case: case.id)
def test_all_snapshots_in_one_run(connection: Connection, case: Case) -> None:
    """Versions that wait are applied in ascending order in one pass, whichever way they came in the example."""
    target, last = target_of(connection, case), case.runs[-1]
    columns = {name: kind for run in case.runs for name, kind in run.columns.items()}
    versions = ascending(case)
    rows = [{**row, VERSION: version} for version, snapshot in versions for row in snapshot]
    create_table(connection, "feed", {**columns, VERSION: last.version_type}, rows)
    target.run(options_of(last))
    assert_run(connection, target.name, last)


def ascending(case: Case) -> list[tuple[Any, list[dict[str, Any]]]]:
    """Return the versions of an example that count: each above those before it."""
    found: list[tuple[Any, list[dict[str, Any]]]] = []
    for step in (step for run in case.runs for step in run.steps):
        if not found or step.version > found[-1][0]:
            found.append((step.version, step.rows))
    return found


@pytest.mark.parametrize("case", [*map(partial(served, at_once=True), APPENDED)])
def test_all_rows_in_one_run(connection: Connection, case: Case) -> None:
    """With `append` it is all the same whether rows of a key's greatest sequence come together or one by one."""
    rows = [row for run in case.runs for row in run.rows]
    for runs in ([rows], [[row] for row in rows], [[row] for row in reversed(rows)]):
        for table in ("target", "target__auto_cdc"):
            connection.execute(f"drop table if exists {table}")
        target = target_of(connection, case)
        for arriving in runs:
            create_table(connection, "feed", case.runs[-1].columns, arriving)
            target.run(case.runs[-1].config)
        assert_run(connection, target.name, case.runs[-1])
