"""The change feed, at random: the tests of every mode once more, with a feed that leads from run to run.

Not here: when a feed begins and ends, and what is read of it (`scenarios/test_change_feed.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings

from tests import databases
from tests.fed import Fed
from tests.properties import (
    test_auto_cdc,
    test_bitemporal,
    test_bitemporal_partial,
    test_dml,
    test_flows,
    test_partial_updates,
    test_replace,
    test_snapshots,
)
from tests.watched import examples

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.databases import Connection

pytestmark = pytest.mark.fed
# With how many examples each is tried: where much can be between two rows, more.
TRIED = {
    test_auto_cdc.test_type_1: 15,
    test_auto_cdc.test_type_2: 15,
    test_auto_cdc.test_type_2_where_few_versions_end: 9,
    test_auto_cdc.test_ties: 6,
    test_bitemporal.test_both_axes_in_any_order: 4,
    test_bitemporal.test_where_few_versions_end: 4,
    test_bitemporal_partial.test_both_axes_in_any_order: 4,
    test_dml.test_type_1: 9,
    test_dml.test_type_2: 9,
    test_flows.test_dumps_beside_changes: 12,
    test_partial_updates.test_type_1: 9,
    test_partial_updates.test_type_2: 6,
    test_replace.test_replace_using: 12,
    test_replace.test_replace_where: 12,
    test_snapshots.test_snapshots: 12,
}
ON_DUCKDB_ALONE = (test_bitemporal, test_bitemporal_partial, test_partial_updates)


@pytest.fixture(scope="module")
def connection(engine: str) -> Iterator[Connection]:
    with databases.connect(engine) as connection:
        yield connection


@pytest.mark.parametrize(
    "tested", TRIED, ids=lambda test: f"{test.__module__.rpartition('test_')[2]}-{test.__name__}"
)
def test_the_feed_leads_from_run_to_run(
    connection: Connection, monkeypatch: pytest.MonkeyPatch, tested: Callable[..., None]
) -> None:
    """The rows before a run, less what the feed says went, with what it says came, are the rows after it.

    No unchanged row is in it, images come in pairs, and a run that changes nothing has no version; with rows written
    by hand between the runs, truncates, late events and events that come again.
    """
    if databases.chosen() != "duckdb" and tested.__module__ in {m.__name__ for m in ON_DUCKDB_ALONE}:
        pytest.skip("it looks at DuckDB's own tables")
    for module in {test.__module__ for test in TRIED}:
        monkeypatch.setattr(f"{module}.Direct", Fed, raising=False)
    monkeypatch.setattr("tests.watched.Direct", Fed)
    handle: Any = tested.hypothesis  # type: ignore[attr-defined]
    again = given(**handle._given_kwargs)(handle.inner_test)
    settings(max_examples=max(examples(TRIED[tested], 1000), 8))(again)(connection=connection)
