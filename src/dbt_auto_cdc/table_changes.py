"""What the macro `table_changes` puts into FROM: the rows of a change feed from one version or time to another.

Not here: how a feed is written (`materializations.change_feed`). Nothing is written.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dbt_auto_cdc import names
from dbt_auto_cdc.engines import engine_for
from dbt_auto_cdc.errors import AutoCdcError
from dbt_auto_cdc.relations import feed_identifier, is_relation
from dbt_auto_cdc.sql import all_of, text
from dbt_auto_cdc.state import Ask

_WRITE = "write a version, such as 3, or a time in UTC, such as '2026-03-01 12:00'"


@dataclass(frozen=True)
class Point:
    """An end of the range: a version, or a time in UTC."""

    value: int | dt.datetime

    @property
    def column(self) -> str:
        """The feed's column that it is compared with."""
        return names.COMMIT_VERSION if isinstance(self.value, int) else names.COMMIT_TIMESTAMP

    @property
    def sql(self) -> str:
        """The value as SQL."""
        return str(self.value) if isinstance(self.value, int) else f"timestamp {text(str(self.value))}"


def feed_of(*, model: str, relation: Any, adapter_type: str) -> Any:
    """Return the relation of a model's change feed; raises `AutoCdcError` where the argument is no relation."""
    if not is_relation(relation):
        problem = f"table_changes: {relation!r} is no relation; write table_changes(ref('<model>'), 1)"
        raise AutoCdcError(model, [problem])
    identifier = feed_identifier(relation.identifier, adapter_type)
    return relation.incorporate(path={"identifier": identifier}, type="table")


def table_changes(  # noqa: PLR0913 - one call from Jinja, all by name
    *,
    model: str,
    relation: Any,
    feed: Any,
    adapter_type: str,
    exists: bool,
    start: object,
    end: object,
    ask: Ask,
) -> str:
    """Return a feed's rows from `start` to `end`, both included, as a sub-query; to the last one without `end`.

    Raises `AutoCdcError` for arguments that are no versions or times, and for a start that the feed does not reach.
    """

    def refuse(problem: str) -> AutoCdcError:
        return AutoCdcError(model, [f"table_changes: {problem}"])

    engine = engine_for(adapter_type)
    if not exists and engine and "change_data_feed" in engine.not_served:
        raise refuse(f"there are no change feeds on {engine.name}; leave out there what reads {relation}'s")
    if not exists:
        raise refuse(
            f"{relation} has no change feed ({feed}); set change_data_feed to true in its model, and run it"
        )
    points = {"start": point(start), "end": None if end is None else point(end)}
    for option, found in points.items():
        if isinstance(found, str):
            raise refuse(f"{option} {found}; {_WRITE}")
    first, last = points["start"], points["end"]
    assert isinstance(first, Point)  # noqa: S101 - the others were refused
    assert last is None or isinstance(last, Point)  # noqa: S101
    if last and first.column == last.column and _is_above(first, last):
        raise refuse(f"start {first.value} is above end {last.value}; write the lower one first")
    problem = _out_of_range(feed, ask(_range(feed, first))[0], {"start": first, "end": last})
    if problem:
        raise refuse(problem)
    conditions = [f"{first.column} >= {first.sql}"]
    conditions += [f"{last.column} <= {last.sql}"] if last else []
    return f"(select * from {feed} where {all_of(conditions)})"


def point(written: object) -> Point | str:
    """Return an end of the range, or what is wrong with it."""
    if isinstance(written, int) and not isinstance(written, bool):
        return Point(written)
    if isinstance(written, str) and written.strip().isdigit():
        return Point(int(written))
    if isinstance(written, dt.date) and not isinstance(written, dt.datetime):
        return Point(dt.datetime(written.year, written.month, written.day))  # noqa: DTZ001 - UTC, as the feed
    time = written
    if isinstance(written, str):
        try:
            time = dt.datetime.fromisoformat(written.strip().replace("Z", "+00:00"))
        except ValueError:
            return f"is {written!r}"
    if not isinstance(time, dt.datetime):
        return f"is {written!r}"
    return Point(time.astimezone(dt.timezone.utc).replace(tzinfo=None) if time.tzinfo else time)


def _is_above(first: Point, last: Point) -> bool:
    return first.value > last.value  # type: ignore[operator]  # both are of one kind


def _range(feed: Any, first: Point) -> str:
    """The query of what the feed holds: its first and last version, their times, and whether the start lies before."""
    is_before = f"case when {first.sql} < min({first.column}) then 1 else 0 end"
    times = [f"cast({end}({names.COMMIT_TIMESTAMP}) as varchar)" for end in ("min", "max")]
    versions = [f"{end}({names.COMMIT_VERSION})" for end in ("min", "max")]
    return f"select {', '.join([*versions, *times, is_before])} from {feed}"


def _out_of_range(feed: Any, held: Sequence[object], points: dict[str, Point | None]) -> str:
    """Return what lies outside of what the feed holds; a time above the last one has seen all that there is."""
    if held[0] is None:
        asked = next((point for point in points.values() if point and point.value not in (0, 1)), None)
        is_version = asked is not None and isinstance(asked.value, int)
        return f"{feed} holds no changes yet; read it from version 1" if is_version else ""
    low, high = int(str(held[0])), int(str(held[1]))
    holds = f"{feed} holds versions {low} to {high}, of {held[2]} to {held[3]}"
    if int(str(held[4])):
        first = points["start"]
        return (
            f"start {first.value if first else ''} lies before what is kept: {holds}; start there, or later"
        )
    above = [
        (name, p.value) for name, p in points.items() if p and isinstance(p.value, int) and p.value > high
    ]
    if above:
        return (
            f"{above[0][0]} {above[0][1]} is above the last version: {holds}; leave end out to read up to it"
        )
    return ""


EXPORTS: dict[str, Callable[..., object]] = {"feed_of": feed_of, "table_changes": table_changes}
