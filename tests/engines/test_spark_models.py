"""Random streams on Sail and Spark, beside the models in plain Python: after every run the target is what these say.

Not here: many of them, and each property on its own (`tests/properties`); runs that are stopped (`test_spark`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import strategies as st

from tests.properties import test_auto_cdc as plain
from tests.properties import test_bitemporal as bitemporal
from tests.properties import test_bitemporal_partial as sparse
from tests.properties import test_partial_updates as partial
from tests.properties import test_replace as replaced
from tests.properties import test_snapshots as snapshots
from tests.strategies import crowded_streams, streams
from tests.watched import drawn

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from tests.databases import Connection

pytestmark = pytest.mark.only_on("sail", "spark")

STREAMS = 2


def _snapshots(connection: Connection, stream: snapshots.Stream, *, rereads: bool) -> None:
    snapshots.follow(snapshots.Watched(connection, stream.shape), stream, rereads=rereads)


def _using(connection: Connection, runs: list[Any], *, rereads: bool) -> None:
    del rereads  # where a source is read again, the model of rows that come once does not tell the figures
    replaced.follow_using(connection, runs, ("region", "day"), equal="replace")


def _where(connection: Connection, runs: list[Any], *, rereads: bool) -> None:
    del rereads
    replaced.follow_where(connection, runs)


MODES: dict[str, tuple[st.SearchStrategy[Any], Callable[..., None]]] = {
    "scd1": (
        st.one_of(streams(1, with_truncates=True), crowded_streams(1, with_truncates=True)),
        plain.follow,
    ),
    "scd2": (st.one_of(streams(2), crowded_streams(2)), plain.follow),
    "ties": (streams(with_truncates=True, with_ties=True), plain.follow),
    "scd1_partial": (partial.partials(1, with_truncates=True), partial.follow),
    "scd2_partial": (partial.partials(2), partial.follow),
    "bitemporal": (bitemporal.streams(), bitemporal.follow),
    "bitemporal_partial": (sparse.sparse(), sparse.follow),
    "snapshots": (snapshots.streams(), _snapshots),
    "replace_using": (st.lists(replaced.rows(), min_size=2, max_size=4), _using),
    "replace_where": (replaced.ranges, _where),
}


@pytest.mark.parametrize("mode", MODES)
def test_a_stream(connection: Connection, mode: str) -> None:
    """Rows and figures are right after every run, whether it reads what is new or all again; a replay does nothing."""
    strategy, follow = MODES[mode]
    for number, stream in enumerate(drawn(1, STREAMS, strategy)):
        follow(connection, stream, rereads=number % 2 == 1)
