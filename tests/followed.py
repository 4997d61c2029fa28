"""A target that a stream of a test's own feeds, run after run, looked at by the places of its rows.

Not here: streams and models, each beside its properties; `watched` has those of plain events.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar

from tests.databases import Connection, create_table, tables_of
from tests.direct import Direct
from tests.reference_model import Row, comparable, sorted_rows
from tests.watched import placed, with_names

Told_contra = TypeVar("Told_contra", contravariant=True)


class Feed(Protocol[Told_contra]):
    """What a target has to know of the stream that feeds it; `Told_contra` is one of its events."""

    @property
    def types(self) -> Mapping[str, str]:
        """The columns of the feed."""

    @property
    def options(self) -> dict[str, Any]:
        """The options of the target, as a user writes them."""

    def feed_row(self, event: Told_contra, /) -> Row:
        """Return the row in which the source sends an event."""


class Target:
    """A target of the product; what is there of its name goes."""

    def __init__(self, connection: Connection, feed: Feed[Any], name: str = "target") -> None:
        self.connection, self.feed, self.name = connection, feed, name
        self.direct = Direct(connection, name)
        for table in (name, f"{name}__auto_cdc"):
            connection.execute(f"drop table if exists {table}")

    def send(self, events: Sequence[Any]) -> dict[str, int]:
        """Give the product one run of events, and return its figures."""
        rows = [self.feed.feed_row(event) for event in events]
        create_table(self.connection, "feed", self.feed.types, rows)
        return dict(self.direct.run(self.feed.options).figures)

    def places(self, suffix: str = "") -> dict[Any, Row]:
        """Return the rows of the target, or of a table beside it, by their places; none before the first run."""
        table = self.name + suffix
        return placed(self.connection, table, with_names) if table in tables_of(self.connection) else {}

    def contents(self) -> tuple[dict[Any, Row], dict[Any, Row]]:
        """Return all that target and companion hold, by their places."""
        return self.places(), self.places("__auto_cdc")

    def rows(self, *output: str) -> list[Row]:
        """Return the rows of the target, sorted, the output columns as the model has them in front."""
        return sorted_rows(
            {name: row[name] for name in (*output, *(name for name in row if name not in output))}
            for row in self.places().values()
        )


def untouched_versions_stay(before: Mapping[Any, Row], after: Mapping[Any, Row], ends: str) -> None:
    """A version whose values stay is where it was; of one that ended, the column `ends` may have been set in place."""
    now = [comparable(row) for row in after.values()]
    for place, row in before.items():
        if place in after:
            assert {**after[place], ends: None} == {**row, ends: None}, f"{row} was overwritten"
        else:
            assert comparable(row) not in now, f"{row} moved"
