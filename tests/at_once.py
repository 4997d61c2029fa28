"""Two runs of one model at once, statement by statement: one comes in before some statement of the other.

Not here: how many places there are to come in at, which the tests of each engine choose.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dbt_auto_cdc.errors import AutoCdcError
from tests.databases import Connection, add_rows, create_table, stop
from tests.direct import Direct

Rows = list[dict[str, Any]]


@dataclass
class Both:
    """A target that two runs write at once, beside a plain one that is written by one run after the other.

    `events` gives some rows of the feed by a number: later ones with greater ones. They take the place of those before,
    or, where it is `streamed`, stand behind them.
    """

    target: Direct
    plain: Direct
    config: Mapping[str, object]
    columns: Mapping[str, str]
    events: Callable[[int], Rows]
    sql: str = "select * from feed"
    streamed: bool = False

    @property
    def appends(self) -> bool:
        """Whether rows are added that are read again, so that it counts how many runs there were."""
        adds = (
            self.config.get("materialized") == "append_flow" or self.config.get("equal_sequence") == "append"
        )
        return adds and not self.streamed

    def feeds(self, rows: Rows) -> None:
        """Give both the same rows to read."""
        for each in (self.target, self.plain):
            self._feed(each.connection, rows)

    def _feed(self, connection: Connection, rows: Rows) -> None:
        give = add_rows if self.streamed else create_table
        give(connection, "feed", self.columns, rows)

    def run(self, **how: bool) -> None:
        """Run on both sides, with nobody else."""
        for each in (self.target, self.plain):
            each.run(self.config, sql=self.sql, **how)

    def at_once(self, number: int, after: int, **how: bool) -> list[str] | None:
        """Run, and before the statement after so many that write run once more, with more events.

        Returns what is said by a run that gives up; None where there are not so many statements. Where rows are only
        added both read the same.
        """
        # No event of the one is at the sequence of one of the other: which came first would decide.
        own, more = (
            [{**row, "seq": 2 * row["seq"] + later} for row in self.events(2 * number + later)]
            for later in (0, 1)
        )
        every = own if self.appends else more if self.streamed else [*own, *more]

        def other() -> None:
            self._feed(self.target.connection, every)
            self.target.run(self.config, sql=self.sql, **how)

        said, connection = list[str](), self.target.connection
        self.feeds(own)
        connection.stop_after, connection.stops = after, other  # type: ignore[union-attr]
        try:
            self.target.run(self.config, sql=self.sql, **how)
        except AutoCdcError as error:
            said.append(str(error))
        came_in = connection.stop_after is None  # type: ignore[union-attr]
        connection.stop_after, connection.stops = None, stop  # type: ignore[union-attr]
        self._feed(self.plain.connection, every)
        assert all("another run of it" in each for each in said)
        return said if came_in else None

    def assert_same(self, *told: object) -> None:
        """The two targets have the same rows, but for the numbers of runs, some of which are left out."""
        found, expected = (
            sorted(
                tuple(str(value) for name, value in row.items() if name != "__auto_cdc_run")
                for row in each.rows()
            )
            for each in (self.target, self.plain)
        )
        assert expected == found, told


def runs_at_once(both: Both, *, stride: int, most: int) -> list[str]:
    """Let two runs of a target that goes on meet at every place, or each so many, and return what is said."""
    found = list[str]()
    for each in (both.target, both.plain):
        create_table(each.connection, "feed", both.columns, both.events(0))
    both.run()
    for number in range(most):
        said = both.at_once(number + 1, after=number * stride)
        if said is None:
            assert found
            return found
        for _ in range(2 - len(said) if both.appends else 1):
            both.plain.run(both.config, sql=both.sql)
        both.assert_same(number, said)
        both.run()
        both.assert_same(number, said)
        found += said
    raise AssertionError(f"a run has more than {most * stride} statements")


def builds_at_once(begin: Callable[[], Both], *, is_there: bool, stride: int, most: int) -> None:
    """The same of first builds, or of --full-refresh, each in an empty place; the run after them puts it right."""
    for number in range(most):
        both = begin()
        if is_there:
            both.feeds(both.events(0))
            both.run()
        said = both.at_once(1, after=number * stride, full_refresh=is_there)
        if said is None:
            return
        both.target.run(both.config)
        both.plain.run(both.config, full_refresh=is_there)
        # How often rows are added that are read again depends on which runs gave up.
        for _ in range(len(both.target.rows()) // max(len(both.plain.rows()), 1) - 1):
            assert both.appends
            both.plain.run(both.config)
        both.assert_same(number, said)
    raise AssertionError(f"a build has more than {most * stride} statements")
