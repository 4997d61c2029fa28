"""What the macros for reading a history put into FROM: a time picked out, the open rows, other names for the bounds.

Not here: which columns a relation has (macros ask), and what a run writes. The bounds are named without quotes, for
they are created in the engine's own case; a version holds for `start <= x < end`, and null is an open end.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from dbt_auto_cdc import names
from dbt_auto_cdc.errors import AutoCdcError, listed
from dbt_auto_cdc.relations import is_relation
from dbt_auto_cdc.sql import all_of, comma, text

# `--vars '{day: "2026-03-01"}'` and forgotten quotes give this, and SQL would subtract.
_BARE_TIME = re.compile(r"\d{4}-\d\d?-\d\d?(?P<clock>[ T]\d.*)?")


@dataclass(frozen=True)
class History:
    """A relation that a macro was given, by the macro's name and the model that calls it.

    `columns` is empty where they cannot be known: the relation is an ephemeral model, or `dbt compile` comes before the
    first run. Then nothing is refused, and the relation counts as one without system times.
    """

    model: str
    macro: str
    relation: str
    columns: tuple[str, ...]

    def has(self, *columns: str) -> bool:
        """Tell whether the relation is known to have all of some columns."""
        return {column.lower() for column in columns} <= {column.lower() for column in self.columns}

    @property
    def is_bitemporal(self) -> bool:
        """Whether the relation is known to keep beliefs."""
        return bool(believed(columns=self.columns))

    def refuse(self, problem: str) -> AutoCdcError:
        """Return the error for something that is wrong with the macro's arguments."""
        return AutoCdcError(self.model, [f"{self.macro}: {problem}"])


def history(*, model: str, macro: str, relation: Any, columns: Sequence[str]) -> History:
    """Return what a macro was given; raises `AutoCdcError` where it is no relation, or one without bounds."""
    given = History(model, macro, str(relation), tuple(columns))
    if not is_relation(relation):
        raise given.refuse(f"{relation!r} is no relation; write {macro}(ref('<model>'), ...)")
    if columns and not given.has(names.START_AT, names.END_AT):
        raise given.refuse(
            f"{relation} has no columns {names.START_AT} and {names.END_AT}, so it is no history (there are:"
            f" {listed(columns)}); name a target of SCD type 2. The rows of SCD type 1 are the current ones as they are"
        )
    return given


def believed(*, columns: Sequence[str]) -> list[str]:
    """Return the conditions on the rows that are believed now: none for a relation that keeps no system times."""
    system = {names.SYSTEM_START_AT.lower(), names.SYSTEM_END_AT.lower()}
    is_bitemporal = system <= {column.lower() for column in columns}
    return [f"{names.SYSTEM_END_AT} is null"] if is_bitemporal else []


def as_of(*, source: History, business_time: object, system_time: object = None) -> str:
    """Return the rows that held at a time, as a sub-query: as believed at a system time, or as believed now."""
    conditions = _holds(names.START_AT, names.END_AT, _point(source, "business_time", business_time))
    if system_time is not None:
        if source.columns and not source.is_bitemporal:
            raise source.refuse(
                f"{source.relation} has no columns {names.SYSTEM_START_AT} and {names.SYSTEM_END_AT}, so it keeps no"
                f" system times; leave system_time out, or name a bitemporal target"
            )
        point = _point(source, "system_time", system_time)
        conditions += _holds(names.SYSTEM_START_AT, names.SYSTEM_END_AT, point)
    else:
        conditions += believed(columns=source.columns)
    return _subquery(source, "*", conditions)


def current(*, source: History) -> str:
    """Return the open rows, as a sub-query: of a bitemporal relation those that are believed now."""
    return _subquery(source, "*", [f"{names.END_AT} is null", *believed(columns=source.columns)])


@dataclass(frozen=True)
class Bound:
    """A bound, the name it is shown under, and what stands for null in it; `option` names the argument that says so."""

    column: str
    shown_as: str
    open_end: object = None
    option: str = ""


def with_bounds(*, source: History, quote: Callable[[str], str], **shown: Any) -> str:
    """Return all rows with the bounds under other names, as a sub-query.

    `shown` has the macro's arguments. Where the columns are not known, the renamed bounds stand behind all columns.
    """
    bounds = _bounds(source, **shown)
    by_column = {bound.column.lower(): _shown(source, bound) for bound in bounds}
    if not source.columns:
        return _subquery(source, comma(["*", *by_column.values()]), [])
    taken = {column.lower() for column in source.columns} - set(by_column)
    for bound in bounds:
        if bound.shown_as.strip('"`').lower() in taken:
            raise source.refuse(
                f"{source.relation} has a column {bound.shown_as} already; give the bound another name"
            )
        taken.add(bound.shown_as.strip('"`').lower())
    return _subquery(source, comma(by_column.get(name.lower(), quote(name)) for name in source.columns), [])


def _bounds(  # noqa: PLR0913 - the macro's arguments, all by name
    source: History,
    *,
    start_at: str,
    end_at: str,
    open_end: object,
    system_start_at: str,
    system_end_at: str,
    system_open_end: object,
) -> list[Bound]:
    bounds = [Bound(names.START_AT, start_at), Bound(names.END_AT, end_at, open_end, "open_end")]
    if source.is_bitemporal:
        end = Bound(names.SYSTEM_END_AT, system_end_at, system_open_end, "system_open_end")
        bounds += [Bound(names.SYSTEM_START_AT, system_start_at), end]
    return bounds


def _shown(source: History, bound: Bound) -> str:
    if not isinstance(bound.shown_as, str) or not bound.shown_as.strip():
        raise source.refuse(f"{bound.column} cannot be shown as {bound.shown_as!r}; write a column name")
    if bound.open_end is None:
        return f"{bound.column} as {bound.shown_as}"
    return f"coalesce({bound.column}, {_point(source, bound.option, bound.open_end)}) as {bound.shown_as}"


def _holds(start: str, end: str, point: str) -> list[str]:
    return [f"{start} <= {point}", f"({point} < {end} or {end} is null)"]


def _point(source: History, argument: str, value: object) -> str:
    """Return a point in time as SQL: text is SQL already; dates, naive times and numbers are written as literals."""
    if isinstance(value, str) and value.strip():
        if found := _BARE_TIME.fullmatch(value.strip()):
            literal = f"{'timestamp' if found['clock'] else 'date'} {text(value.strip())}"
            raise source.refuse(
                f'{argument} is {value}, which SQL takes for a subtraction; write "{literal}"'
            )
        return f"({value})"
    literal = _literal(value)
    if not literal:
        is_missing = value is None or not str(value)
        raise source.refuse(
            f"{argument} is {'missing' if is_missing else repr(value)}; write SQL, such as"
            f" \"date '2026-03-01'\", or give a date, a time without a zone, or a number"
        )
    return literal


def _literal(value: object) -> str:
    """Return a value of Jinja as SQL, or nothing for one that engines write in different ways."""
    if isinstance(value, dt.datetime):
        return "" if value.tzinfo else f"timestamp {text(value.isoformat(sep=' '))}"
    if isinstance(value, dt.date):
        return f"date {text(value.isoformat())}"
    is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    return str(value) if is_number else ""


def _subquery(source: History, columns: str, conditions: list[str]) -> str:
    # No alias: the caller gives one, and the relation may bring its own (as with --empty).
    where = f"\nwhere {all_of(conditions)}" if conditions else ""
    return f"(\nselect {columns}\nfrom {source.relation}{where}\n)"


EXPORTS: dict[str, Callable[..., object]] = {
    "as_of": as_of,
    "believed": believed,
    "current": current,
    "history": history,
    "with_bounds": with_bounds,
}
