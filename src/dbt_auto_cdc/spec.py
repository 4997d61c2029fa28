"""The options of each materialization as one typed, frozen value: the single source of the README's table.

Not here: anything that needs the columns of a relation; `resolve` does that.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from datetime import timedelta
from typing import Any, ClassVar

from dbt_auto_cdc import names
from dbt_auto_cdc.errors import did_you_mean, listed, nearest

SCD1 = "1"
SCD2 = "2"
BITEMPORAL = "bitemporal"
SCD_TYPES = (SCD1, SCD2, BITEMPORAL)
TIE_POLICIES = ("fail", "warn", "allow")
SCHEMA_CHANGES = ("append_new_columns", "fail", "ignore", "sync_all_columns")


class Problem(ValueError):
    """What is wrong with the value of one option, and what to write instead."""


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise Problem(f"is {value!r}; write a column name or a SQL expression as text")
    return value


_NAME = re.compile(r"""\w+|"[^"]*"|`[^`]*`""")


def is_name(written: str) -> bool:
    """Tell whether an option that takes a column or SQL has nothing but a name."""
    return _NAME.fullmatch(written.strip()) is not None


def unquoted(name: str) -> str:
    """Return a column's name as written in an option without the quotes around it."""
    for quote in '"`':
        if len(name) > 2 and name[0] == name[-1] == quote:
            return name[1:-1].replace(quote * 2, quote)
    return name


def _names(instead_of_empty: str) -> Callable[[object], tuple[str, ...]]:
    """Return the parser of a list of columns; the argument says what to write instead of an empty one."""

    def parse(value: object) -> tuple[str, ...]:
        if isinstance(value, str):
            raise Problem(
                f"is the text {value!r}; write a list: {[name.strip() for name in value.split(',')]}"
            )
        if not isinstance(value, (list, tuple)):
            raise Problem(f"is {value!r}; write a list of column names: ['id']")
        odd = [name for name in value if not isinstance(name, str) or not name.strip()]
        if odd:
            raise Problem(
                f"has {odd[0]!r} among its names; write names as text, and quote those that YAML takes for"
                f" something else, such as 'on', 'null' and '1'"
            )
        if not value:
            raise Problem(f"is an empty list; {instead_of_empty}")
        folded = [unquoted(name).lower() for name in value]
        repeated = sorted({name for name in folded if folded.count(name) > 1})
        if repeated:
            raise Problem(f"names {', '.join(repeated)} more than once; write each column once")
        return tuple(value)

    return parse


_sequence_list = _names("name the column that orders the events")


_STRUCT = re.compile(r"^\s*struct\s*\((?P<parts>.*)\)\s*$", re.IGNORECASE | re.DOTALL)
_PART = re.compile(r'\s*("(?:[^"]|"")+"|`[^`]+`|[^",`()\s]+)\s*(?:,|$)')


def _sequence(value: object) -> tuple[str, ...]:
    """Return one entry for a column or expression, several for a composite sequence."""
    if isinstance(value, str):
        struct = _STRUCT.match(value)
        if struct is None:
            return (_text(value),)
        parts = _PART.findall(struct["parts"])
        if "".join(_PART.split(struct["parts"])[::2]).strip():
            raise Problem(
                f"is {value!r}; name plain columns inside struct(...), or compute them in the model"
            )
        return _sequence_list(parts)
    if not isinstance(value, (list, tuple)):
        raise Problem(f"is {value!r}; write a column name, a SQL expression as text, or a list of columns")
    return _sequence_list(value)


def _column(value: object) -> str:
    if not isinstance(value, str) or not value.strip() or _STRUCT.match(value):
        raise Problem(f"is {value!r}; write the name of one column")
    return value


def _scd_type(value: object) -> str:
    if isinstance(value, str) and value.lower() == BITEMPORAL:
        raise Problem(
            f"is {value!r}, which needs events with a system time, and snapshots have none; write 1 or 2, or use"
            f" materialized auto_cdc"
        )
    if isinstance(value, bool) or str(value) not in {SCD1, SCD2}:
        raise Problem(f"is {value!r}; write 1 or 2")
    return str(value)


def _scd_type_of_events(value: object) -> str:
    if isinstance(value, bool) or str(value).lower() not in SCD_TYPES:
        raise Problem(f"is {value!r}; write 1, 2 or bitemporal")
    return str(value).lower()


def one_of(*allowed: str) -> Callable[[object], str]:
    """Return the parser of one word of several."""

    def parse(value: object) -> str:
        if value not in allowed:
            near = nearest(str(value), allowed)
            raise Problem(f"is {value!r}; write {near or ' or '.join(allowed)}")
        return str(value)

    return parse


_INTERVAL = re.compile(r"^\s*(\d+)\s*(second|minute|hour|day|week)s?\s*$", re.IGNORECASE)


class _Interval(timedelta):
    """An interval that is told as it was written."""

    written: str

    def __str__(self) -> str:
        return self.written


def distance(value: object) -> int | float | timedelta:
    """Return a distance between two places in an order: a number, or an interval written as text."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < math.inf:
        return value
    interval = _INTERVAL.match(value) if isinstance(value, str) else None
    if interval is None:
        raise Problem(
            f"is {value!r}; write a number for a numeric sequence or, for a date or timestamp, text like '2 days', in"
            f" seconds, minutes, hours, days or weeks"
        )
    found = _Interval(**{interval[2].lower() + "s": int(interval[1])})
    found.written = interval[0].strip()
    return found


def instead_of_distance(given: float | timedelta, wanted: str) -> str:
    """Return what to write in the place of a distance, where those of an order are of another kind, or there are none.

    `wanted` is `number`, `interval`, or nothing, as an engine says of the order's type.
    """
    if wanted == ("interval" if isinstance(given, timedelta) else "number"):
        return ""
    instead = {"interval": "write a distance like 2 days", "number": "write a number like 1000"}
    return instead.get(wanted, "it works with numbers, dates and timestamps only, so leave it out")


def flag(value: object) -> bool:
    """Return true or false as they are written."""
    if not isinstance(value, bool):
        raise Problem(f"is {value!r}; write true or false")
    return value


def _ratio(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise Problem(f"is {value!r}; write a number from 0 to 1, such as 0.2")
    return float(value)


def _expectations(value: object) -> dict[str, str]:
    """Return the conditions of one of the three dictionaries by the names of the expectations."""
    example = "{'valid_id': 'id is not null'}"
    if not isinstance(value, Mapping):
        raise Problem(f"is {value!r}; write a name and a condition for each expectation: {example}")
    if not value:
        raise Problem(f"is empty; leave it out, or write a name and a condition: {example}")
    for name, condition in value.items():
        if not isinstance(name, str) or not name.strip():
            raise Problem(f"has the name {name!r}; write a name as text: {example}")
        if not isinstance(condition, str) or not condition.strip():
            raise Problem(f"has {condition!r} for {name}; write a SQL condition as text: {example}")
    return dict(value)


_expectation_names = _names("write true for all of them, or leave it out")


def _on_deletes(value: object) -> bool | tuple[str, ...]:
    if isinstance(value, (bool, list, tuple)):
        return value if isinstance(value, bool) else _expectation_names(value)
    raise Problem(f"is {value!r}; write true, or a list of names of expectations")


@dataclass(frozen=True)
class Expectation:
    """What is expected of every row: its name, the option and the condition as written, and its number in the run.

    `on_deletes` says that deletes and truncates have to satisfy it too. Where a model has flows, `column` of their
    common feed tells whether a row satisfies it, null where the row's flow has no such expectation.
    """

    name: str
    option: str
    condition: str
    number: int
    on_deletes: bool = False
    column: str = ""

    @property
    def drops(self) -> bool:
        """Whether a row that fails it is dropped."""
        return self.option == "expect_all_or_drop"

    @property
    def fails(self) -> bool:
        """Whether a row that fails it stops the run."""
        return self.option == "expect_all_or_fail"

    @property
    def passed(self) -> str:
        """The measure of the rows that satisfy it."""
        return f"expectation_{self.number}_passed"

    @property
    def failed(self) -> str:
        """The measure of the rows that do not."""
        return f"expectation_{self.number}_failed"


def option(parse: Callable[[object], Any], values: str, doc: str, default: Any = MISSING) -> Any:
    """Declare an option: how it is parsed, what may be written, and its sentence for the README."""
    metadata = {"parse": parse, "values": values, "doc": doc}
    return field(metadata=metadata) if default is MISSING else field(default=default, metadata=metadata)


@dataclass(frozen=True, kw_only=True)
class _Keyed:
    keys: tuple[str, ...] = option(
        _names("list the columns that identify a row"),
        "list of columns",
        "The columns that identify a row.",
    )


@dataclass(frozen=True, kw_only=True)
class _Events:
    sequence_by: tuple[str, ...] = option(
        _sequence,
        "column, SQL expression, or list of columns",
        "The logical order of a key's events. A list compares column by column and is stored as a struct.",
    )
    system_sequence_by: tuple[str, ...] | None = option(
        _sequence,
        "column, SQL expression, or list of columns",
        "When an event became known (bitemporal only): the order in which what is believed of a key changed.",
        default=None,
    )
    apply_as_deletes: str | None = option(
        _text, "SQL condition", "Events for which it is true delete their key.", default=None
    )
    apply_as_truncates: str | None = option(
        _text,
        "SQL condition",
        "Events for which it is true remove everything with a lower sequence (SCD type 1 only).",
        default=None,
    )


@dataclass(frozen=True, kw_only=True)
class _Selected:
    column_list: tuple[str, ...] | None = option(
        _names("leave it out to keep every column, or name the others in except_column_list"),
        "list of columns",
        "The columns to keep; the default is all.",
        default=None,
    )
    except_column_list: tuple[str, ...] | None = option(
        _names("leave it out to keep every column"),
        "list of columns",
        "The columns to leave out of the target.",
        default=None,
    )


@dataclass(frozen=True, kw_only=True)
class _Columns(_Selected):
    stored_as_scd_type: str = option(
        _scd_type, "`1` or `2`", "`1` keeps the latest row of a key, `2` its history.", default=SCD1
    )
    track_history_column_list: tuple[str, ...] | None = option(
        _names("to track no column, name them all in track_history_except_column_list"),
        "list of columns",
        "A new version opens only when one of these changes (SCD type 2, bitemporal); the default is all.",
        default=None,
    )
    track_history_except_column_list: tuple[str, ...] | None = option(
        _names("leave it out to track every column"),
        "list of columns",
        "Changes of these alone open no new version (SCD type 2, bitemporal).",
        default=None,
    )

    @property
    def scd2(self) -> bool:
        """Whether history is kept, on one axis."""
        return self.stored_as_scd_type == SCD2

    @property
    def bitemporal(self) -> bool:
        """Whether history is kept on two axes: what held when, and what was believed when."""
        return self.stored_as_scd_type == BITEMPORAL

    @property
    def keeps_history(self) -> bool:
        """Whether history is kept, on one axis or two."""
        return self.scd2 or self.bitemporal

    @property
    def track_history(self) -> tuple[str, ...]:
        """The tracking option as written, in a form that can be compared between runs."""
        if self.track_history_column_list is not None:
            return ("on", *sorted(unquoted(name).lower() for name in self.track_history_column_list))
        if self.track_history_except_column_list is not None:
            return (
                "except",
                *sorted(unquoted(name).lower() for name in self.track_history_except_column_list),
            )
        return ("all",)


@dataclass(frozen=True, kw_only=True)
class _Partial:
    ignore_null_updates: bool = option(
        flag,
        "`true` or `false`",
        "In every column a null means that the event did not send it.",
        default=False,
    )
    ignore_null_updates_column_list: tuple[str, ...] | None = option(
        _names("leave it out, or set ignore_null_updates to true for all columns"),
        "list of columns",
        "In these columns a null means that the event did not send it.",
        default=None,
    )
    ignore_null_updates_except_column_list: tuple[str, ...] | None = option(
        _names("set ignore_null_updates to true for all columns"),
        "list of columns",
        "In all columns but these a null means that the event did not send it.",
        default=None,
    )
    columns_to_update: str | None = option(
        _column,
        "column",
        "The column that holds, for each event, the list of the columns that it writes; null means all.",
        default=None,
    )

    @property
    def partial(self) -> bool:
        """Whether an event may leave columns out."""
        names_some = self.ignore_null_updates_column_list or self.ignore_null_updates_except_column_list
        return self.ignore_null_updates or bool(names_some) or self.columns_to_update is not None


@dataclass(frozen=True, kw_only=True)
class _Memory:
    sequence_ties: str = option(
        one_of(*TIE_POLICIES),
        "`fail`, `warn` or `allow`",
        "What to do when one run brings two different events of a key at one sequence.",
        default="fail",
    )
    tombstone_retention: int | float | timedelta | None = option(
        distance,
        "number, or text like `2 days`",
        "How far behind the greatest sequence a delete is remembered; the default is for ever.",
        default=None,
    )


@dataclass(frozen=True, kw_only=True)
class _Versions:
    snapshot_version: str = option(
        _text,
        "column, SQL expression, or `auto`",
        "The version of the snapshot a row belongs to; `auto` counts the runs' snapshots 0, 1, 2 and so on. This or"
        " `version_query` is required.",
        default="",
    )


@dataclass(frozen=True, kw_only=True)
class _VersionQuery:
    version_query: str | None = option(
        _text,
        "SQL query",
        "Gives the version of the next snapshot, or no row; asked until it gives none, with a commit for each version.",
        default=None,
    )


@dataclass(frozen=True, kw_only=True)
class _Guards:
    allow_empty_snapshot: bool = option(
        flag, "`true` or `false`", "Let a snapshot without rows delete every row.", default=False
    )
    max_delete_ratio: float | None = option(
        _ratio,
        "number from 0 to 1",
        "Refuse a snapshot that deletes a greater share of the rows; the default is no limit.",
        default=None,
    )


@dataclass(frozen=True, kw_only=True)
class _Once:
    once: bool = option(
        flag,
        "`true` or `false`",
        "Read the source once, and again only after `--full-refresh`.",
        default=False,
    )


@dataclass(frozen=True, kw_only=True)
class _Expected:
    expect_all: Mapping[str, str] | None = option(
        _expectations,
        "names with SQL conditions",
        "Count the rows that fail a condition.",
        default=None,
    )
    expect_all_or_fail: Mapping[str, str] | None = option(
        _expectations,
        "names with SQL conditions",
        "Stop the run, and write nothing, where a row fails a condition.",
        default=None,
    )

    @property
    def expectations(self) -> tuple[Expectation, ...]:
        """What is expected of every row, whatever follows where it fails."""
        on_deletes = getattr(self, "expectations_on_deletes", False)
        listed_names = () if isinstance(on_deletes, bool) else {name.lower() for name in on_deletes}
        found = [
            (name, option_name, condition)
            for option_name in EXPECTATIONS
            for name, condition in (getattr(self, option_name, None) or {}).items()
        ]
        return tuple(
            Expectation(*one, number, on_deletes is True or one[0].lower() in listed_names)
            for number, one in enumerate(found)
        )


@dataclass(frozen=True, kw_only=True)
class _Dropping(_Expected):
    expect_all_or_drop: Mapping[str, str] | None = option(
        _expectations,
        "names with SQL conditions",
        "Drop the rows that fail a condition, as if the source had never sent them.",
        default=None,
    )


@dataclass(frozen=True, kw_only=True)
class _Keeping(_Dropping):
    expectations_quarantine: bool = option(
        flag,
        "`true` or `false`",
        "Keep rows that are dropped in a table beside the target.",
        default=False,
    )


@dataclass(frozen=True, kw_only=True)
class _OnDeletes(_Keeping):
    expectations_on_deletes: bool | tuple[str, ...] = option(
        _on_deletes,
        "`true`, or list of names",
        "Expect the same, or what is named, of deletes and truncates too.",
        default=False,
    )


@dataclass(frozen=True, kw_only=True)
class _Table:
    # Of a required option: another that does in its place.
    INSTEAD: ClassVar[Mapping[str, str]] = {}

    on_schema_change: str = option(
        one_of(*SCHEMA_CHANGES),
        "`append_new_columns`, `fail`, `ignore` or `sync_all_columns`",
        "What to do when the model's columns differ from the target's.",
        default="append_new_columns",
    )
    full_refresh: bool | None = option(
        flag, "`true` or `false`", "`false` protects the target from `--full-refresh`.", default=None
    )
    change_data_feed: bool = option(
        flag,
        "`true` or `false`",
        "Keep in a table beside the target which rows each run inserted, updated and deleted.",
        default=False,
    )
    event_log: bool = option(
        flag, "`true` or `false`", "Write a row for each run into the event log of the schema.", default=True
    )


@dataclass(frozen=True, kw_only=True)
class AutoCdc(_Table, _OnDeletes, _Memory, _Partial, _Columns, _Events, _Keyed):
    """One `auto_cdc` model as the user wrote it, parsed; names are not yet matched with columns.

    `KIND` is the materialization, `KEYS` and `ORDER` the options that name the keys and order the events, `COUNTS` the
    figure that counts the rows that are written.
    """

    KIND: ClassVar[str] = "auto_cdc"
    COUNTS: ClassVar[str] = "num_upserted_rows"
    KEYS: ClassVar[str] = "keys"
    ORDER: ClassVar[str] = "sequence_by"
    REQUIRED: ClassVar[Mapping[str, str]] = {
        "keys": "list the columns that identify a row",
        "sequence_by": "name the column that orders the events",
    }

    stored_as_scd_type: str = option(
        _scd_type_of_events,
        "`1`, `2` or `bitemporal`",
        "`1` keeps the latest row of a key, `2` its history, `bitemporal` also what was believed of it when.",
        default=SCD1,
    )

    @property
    def sequence_fields(self) -> tuple[str, ...]:
        """The fields of a sequence of several columns."""
        return tuple(unquoted(name.strip()) for name in self.sequence_by)

    @property
    def written_order(self) -> tuple[str, ...]:
        """What orders the events, as the user wrote it: for messages."""
        return self.sequence_by

    @property
    def written_system_order(self) -> tuple[str, ...]:
        """What orders what is believed, as the user wrote it: for messages."""
        return self.system_sequence_by or ()

    @property
    def conditions(self) -> dict[str, str]:
        """The conditions as written, by their options; expectations by option and name, unless flows evaluate them."""
        found = {name: getattr(self, name, None) for name in CONDITIONS}
        found |= {f"{one.option} {one.name}": one.condition for one in self.expectations if not one.column}
        return {name: condition for name, condition in found.items() if condition is not None}

    @property
    def appends(self) -> bool:
        """Whether rows are only added, without telling one from another."""
        return self.KIND == "append_flow"

    @property
    def read_now(self) -> tuple[str, ...]:
        """The flows that this run reads and no later one."""
        return ()

    @property
    def leaves_flows_out(self) -> bool:
        """Whether flows that were read once, and may have columns of their own, are left out of this run."""
        return False


@dataclass(frozen=True, kw_only=True)
class AutoCdcSnapshot(_Table, _Expected, _Once, _Guards, _Columns, _VersionQuery, _Versions, _Keyed):
    """One `auto_cdc_snapshot` model as the user wrote it, parsed; names are not yet matched with columns."""

    REQUIRED: ClassVar[Mapping[str, str]] = {
        "keys": "list the columns that identify a row",
        "snapshot_version": (
            "name the column that tells which snapshot a row belongs to, write an expression such as"
            " date '2026-11-29', write auto to count the snapshots, or set version_query instead"
        ),
    }
    INSTEAD: ClassVar[Mapping[str, str]] = {"snapshot_version": "version_query"}


@dataclass(frozen=True, kw_only=True)
class CdcFlow(_Dropping, _Once, _Selected, _Events, _Keyed):
    """The options that a flow of changes may have of its own."""


@dataclass(frozen=True, kw_only=True)
class SnapshotFlow(_Expected, _Once, _Guards, _Selected, _Versions, _Keyed):
    """The options that a flow of whole dumps may have of its own."""


@dataclass(frozen=True, kw_only=True)
class FlowEvents(AutoCdc):
    """What a model of several flows is to the planner: one feed of events that are evaluated flow by flow.

    `orders` and `system_orders` are the flows' sequences as written, `sequence_names` the names of a sequence's columns
    where the feed has others; `read_once` the flows that are to be recorded as
    read, `left_out` those that were read and are not now, `told` says of each flow what this run does with it.
    `snapshot` has the options of a flow of whole dumps, `snapshot_sql` its rows. Under partial updates `written_list`
    is columns_to_update as written, `always` are the columns that flows' sequences and conditions name, `selected`
    tells of columns that not all flows select which column of the feed says whether a row's flow does, and `beside`
    are the columns of flows that are not output. `judged` is what flows expect of changes, `judged_dumps` of dumps.
    """

    orders: tuple[str, ...]
    system_orders: tuple[str, ...] = ()
    sequence_names: tuple[str, ...] = ()
    read_once: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    told: tuple[str, ...] = ()
    snapshot: AutoCdcSnapshot | None = None
    snapshot_sql: str = ""
    written_list: str | None = None
    always: tuple[str, ...] = ()
    selected: Mapping[str, str] = field(default_factory=dict)
    beside: tuple[str, ...] = ()
    judged: tuple[Expectation, ...] = ()
    judged_dumps: tuple[Expectation, ...] = ()

    @property
    def expectations(self) -> tuple[Expectation, ...]:
        """What the flows of changes expect of their rows."""
        return self.judged

    @property
    def sequence_fields(self) -> tuple[str, ...]:
        """The fields of a sequence of several columns."""
        return self.sequence_names or super().sequence_fields

    @property
    def written_order(self) -> tuple[str, ...]:
        """What orders the events, as the user wrote it: for messages."""
        return self.orders

    @property
    def written_system_order(self) -> tuple[str, ...]:
        """What orders what is believed, as the user wrote it: for messages."""
        return self.system_orders

    @property
    def read_now(self) -> tuple[str, ...]:
        """The flows that this run reads and no later one."""
        return self.read_once

    @property
    def leaves_flows_out(self) -> bool:
        """Whether flows that were read once, and may have columns of their own, are left out of this run."""
        return bool(self.left_out)


@dataclass(frozen=True, kw_only=True)
class SnapshotEvents(AutoCdc):
    """What an `auto_cdc_snapshot` model is to the planner: events ordered by the snapshot's version."""

    KIND: ClassVar[str] = "auto_cdc_snapshot"
    ORDER: ClassVar[str] = "snapshot_version"

    once: bool = False
    judged: tuple[Expectation, ...] = ()

    @property
    def expectations(self) -> tuple[Expectation, ...]:
        """What is expected of every row; of dumps beside changes the flows have said it."""
        return self.judged or super().expectations

    @property
    def read_now(self) -> tuple[str, ...]:
        """The flows that this run reads and no later one."""
        return (names.ONLY,) if self.once else ()

    @property
    def snapshot_version(self) -> str:
        """The version as SQL."""
        return self.sequence_by[0]


@dataclass(frozen=True, kw_only=True)
class ReplaceUsing(_Table, _Keeping):
    """One `replace_using` model as the user wrote it, parsed; names are not yet matched with columns."""

    REQUIRED: ClassVar[Mapping[str, str]] = {
        "replace_using": "list the columns whose rows are replaced together",
        "sequence_by": "name the column that tells newer rows of a key from older ones",
    }
    stored_as_scd_type: ClassVar[str] = SCD1
    scd2: ClassVar[bool] = False

    replace_using: tuple[str, ...] = option(
        _names("list the columns whose rows are replaced together"),
        "list of columns",
        "The columns whose rows are replaced together; a key may own many rows, and may be null.",
    )
    sequence_by: str = option(
        _column,
        "column",
        "The column that tells newer rows of a key from older ones; it is stored in the target.",
    )
    equal_sequence: str = option(
        one_of("replace", "append"),
        "`replace` or `append`",
        "What rows at the stored sequence of their key do: take its rows' place, or be added to them.",
        default="replace",
    )


@dataclass(frozen=True, kw_only=True)
class ReplaceWhere(_Table, _Keeping):
    """One `replace_where` model as the user wrote it, parsed."""

    REQUIRED: ClassVar[Mapping[str, str]] = {
        "replace_where": "write the condition that tells which rows of the target the model computes anew"
    }
    stored_as_scd_type: ClassVar[str] = SCD1
    scd2: ClassVar[bool] = False

    replace_where: str = option(
        _text,
        "SQL condition",
        "The rows of the target that are replaced by the model's rows for which it is true.",
    )


@dataclass(frozen=True, kw_only=True)
class RecomputedTable(_Table, _Keeping):
    """One `recomputed_table` model as the user wrote it, parsed."""

    REQUIRED: ClassVar[Mapping[str, str]] = {}
    stored_as_scd_type: ClassVar[str] = SCD1
    scd2: ClassVar[bool] = False

    change_data_feed: bool = option(
        flag,
        "`true` or `false`",
        "Keep in a table beside the target which rows each run inserted and deleted.",
        default=True,
    )


@dataclass(frozen=True, kw_only=True)
class AppendFlow(_Table, _Keeping):
    """One `append_flow` model as the user wrote it, parsed."""

    REQUIRED: ClassVar[Mapping[str, str]] = {}
    stored_as_scd_type: ClassVar[str] = SCD1
    scd2: ClassVar[bool] = False


@dataclass(frozen=True, kw_only=True)
class KeyedRows(AutoCdc):
    """What a `replace_using` model is to the planner."""

    KIND: ClassVar[str] = "replace_using"
    KEYS: ClassVar[str] = "replace_using"


@dataclass(frozen=True, kw_only=True)
class RowsInRange(AutoCdc):
    """What a `replace_where` model is to the planner: rows without key or order."""

    KIND: ClassVar[str] = "replace_where"
    replace_where: str


@dataclass(frozen=True, kw_only=True)
class RecomputedRows(RowsInRange):
    """What a `recomputed_table` model is to the planner: the range is the whole table."""

    KIND: ClassVar[str] = "recomputed_table"


@dataclass(frozen=True, kw_only=True)
class AppendedRows(AutoCdc):
    """What an `append_flow` model, or a flow of one, is to the planner: rows without key or order."""

    KIND: ClassVar[str] = "append_flow"
    COUNTS: ClassVar[str] = "num_output_rows"


@dataclass(frozen=True, kw_only=True)
class AppendedFlows(FlowEvents):
    """What an `append_flow` model of several flows is to the planner."""

    KIND: ClassVar[str] = "append_flow"
    COUNTS: ClassVar[str] = "num_output_rows"


# The materializations and their options.
Spec = AutoCdc | AutoCdcSnapshot | ReplaceUsing | ReplaceWhere | RecomputedTable | AppendFlow
SPECS: dict[
    str, type[AutoCdc | AutoCdcSnapshot | ReplaceUsing | ReplaceWhere | RecomputedTable | AppendFlow]
] = {
    "auto_cdc": AutoCdc,
    "auto_cdc_snapshot": AutoCdcSnapshot,
    "replace_using": ReplaceUsing,
    "replace_where": ReplaceWhere,
    "recomputed_table": RecomputedTable,
    "append_flow": AppendFlow,
}


def options_of(materialized: str) -> dict[str, Any]:
    """Return the options of a materialization by name."""
    return {item.name: item for item in fields(SPECS[materialized])}


OPTIONS = options_of("auto_cdc")

# Those that add rows without telling whether they were there before.
APPENDING = ("append_flow", "replace_using")
# Those whose SQL has to give everything in every run.
WHOLE = ("auto_cdc_snapshot", "replace_where", "recomputed_table")

# Options that order events.
SEQUENCES = ("sequence_by", "system_sequence_by")

# Options that hold a dictionary of expectations.
EXPECTATIONS = ("expect_all", "expect_all_or_drop", "expect_all_or_fail")

# Options that hold a SQL condition.
CONDITIONS = ("apply_as_deletes", "apply_as_truncates", "replace_where")

# Options that dbt has too, and fills in where the user wrote nothing.
DBT_OPTIONS = ("on_schema_change", "full_refresh", "unique_key")

# Options under which events leave columns out.
PARTIAL = (
    "ignore_null_updates",
    "ignore_null_updates_column_list",
    "ignore_null_updates_except_column_list",
    "columns_to_update",
)

# Words that other tools have for the same thing.
_OTHER_WORDS = {
    "unique_key": ("keys", "replace_using"),
    "primary_key": ("keys", "replace_using"),
    "keys": ("replace_using",),
    "updated_at": ("sequence_by", "snapshot_version"),
    "sequence_by": ("snapshot_version",),
    "snapshot_version": ("sequence_by",),
    "check_cols": ("track_history_column_list",),
    "invalidate_hard_deletes": ("apply_as_deletes",),
    "hard_deletes": ("apply_as_deletes",),
    "expect": ("expect_all",),
    "expect_or_drop": ("expect_all_or_drop",),
    "expect_or_fail": ("expect_all_or_fail",),
    "expectations": ("expect_all",),
}
# What Lakeflow has beside, and other tools' options without a counterpart.
_NOT_HERE = {
    "flows": "is no option; write each flow as a block: {% call auto_cdc.flow('name') %} select ... {% endcall %}",
    "version_query": "is an option of auto_cdc_snapshot; for changes write sequence_by, for a flow of whole dumps"
    " snapshot_version",
    "once": "is an option of a flow; write {% call auto_cdc.flow('name', once=true) %} select ... {% endcall %}",
    "expect_all_or_drop": "is not for whole snapshots, where a row that is dropped would read as a delete; write"
    " expect_all_or_fail or expect_all, or filter such rows out in the model if they are to be deleted",
    "expectations_quarantine": "keeps rows that are dropped, and a snapshot drops none; leave it out",
    "expectations_on_deletes": "is for changes with apply_as_deletes, and here all rows are checked; leave it out",
    **dict.fromkeys(
        ("merge_update_columns", "merge_exclude_columns"),
        "has no counterpart: a merge keeps the first value of a column that it leaves out of updates, and here every"
        " event brings all its columns; leave it out",
    ),
}
# What macros of dbt and of adapters read without declaring it, and looks like an option of ours.
_LIKE_OURS = frozenset({"incremental_predicates", "on_configuration_change", "runtime_version"})
# Where tables lie and how, as adapters are told: dbt passes over what is for another one, so that one model is for all.
_OF_ADAPTERS = {
    "spark": "file_format location_root partition_by clustered_by buckets tblproperties",
    "databricks": "liquid_clustered_by auto_liquid_cluster databricks_tags compression",
    "postgres": "unlogged indexes",
    "redshift": "dist sort sort_type bind backup",
    "snowflake": "cluster_by automatic_clustering transient copy_grants query_tag snowflake_warehouse table_format"
    " external_volume base_location_root base_location_subpath",
    "bigquery": "labels kms_key_name hours_to_expiration require_partition_filter partition_expiration_days",
    "trino": "properties",
    "duckdb": "partitioned_by",
}
_TRACKING = ("track_history_column_list", "track_history_except_column_list")
_EXCLUSIVE = (
    ("column_list", "except_column_list"),
    _TRACKING,
    ("snapshot_version", "version_query"),
    ("once", "version_query"),
)


def parse(
    config: Mapping[str, object],
    meta: Mapping[str, object] | None = None,
    *,
    known: frozenset[str] = frozenset(),
    elsewhere: frozenset[str] | None = None,
    materialized: str = "auto_cdc",
) -> tuple[Any, list[str]]:
    """Return the parsed options, a value of the materialization's class in `SPECS`, and every problem found.

    `config` holds the options set on the model at any level, `meta` the model's meta, whose flat names count as
    options too; `known` are further option names that dbt or the adapter declares; `elsewhere` those that macros
    read or other models set, or None where nobody can tell, so that only misspelt names are refused. The options
    are None when there are problems. None values count as not set.
    """
    written, unknown = read_options(
        config, meta or {}, known=known, elsewhere=elsewhere, materialized=materialized
    )
    spec, problems = build(materialized, written, unknown)
    if spec is not None:
        problems = unfit_expectations(spec, [spec])
    problems = [*unknown, *problems]
    return (None, problems) if problems else (spec, [])


def read_options(
    config: Mapping[str, object],
    meta: Mapping[str, object],
    *,
    known: frozenset[str],
    elsewhere: frozenset[str] | None,
    materialized: str,
) -> tuple[dict[str, object], list[str]]:
    """Return the options as they are written, by name, and what is wrong with the names; see `parse`."""
    options, problems = options_of(materialized), list[str]()
    written = _merged(options, config, meta, problems)
    unknown = unknown_options(options, config, materialized, known=known, elsewhere=elsewhere)
    return written, [*problems, *(unknown | _misspelt(options, meta)).values()]


def build(
    materialized: str, written: Mapping[str, object], unknown: Sequence[str] = ()
) -> tuple[Any, list[str]]:
    """Return the parsed options of a materialization, and what is wrong with their values.

    `unknown` are problems with names: an option that one of them suggests is not missed. The options are None when
    there are problems of either kind.
    """
    spec, options, problems = SPECS[materialized], options_of(materialized), list[str]()
    values: dict[str, Any] = {}
    for name, value in written.items():
        try:
            values[name] = options[name].metadata["parse"](value)
        except Problem as problem:
            problems.append(f"{name} {problem}")
    problems += [
        f"{name} is missing; {instead}"
        for name, instead in spec.REQUIRED.items()
        if name not in written
        and spec.INSTEAD.get(name) not in written
        and not any(text.endswith((f" {name}", f" {name}?")) for text in unknown)
    ]
    problems += _conflicts(written, values)
    return (None if problems or unknown else spec(**values)), problems


def written_option(config: Mapping[str, Any], name: str, meta: Mapping[str, Any] | None = None) -> Any:
    """Return one option of a model's config, which may stand in its meta instead; None where it stands nowhere.

    Where `meta` is not given it is part of `config`.
    """
    value = config.get(name)
    if value is not None:
        return value
    return ((config.get("meta") or {}) if meta is None else meta).get(name)


def _merged(
    options: Mapping[str, object],
    config: Mapping[str, object],
    meta: Mapping[str, object],
    problems: list[str],
) -> dict[str, object]:
    written: dict[str, object] = {}
    for name in options:
        value, flat = written_option(config, name, meta), meta.get(name)
        if flat is not None and value != flat:
            problems.append(f"{name} is {value!r} in config and {flat!r} in meta; write it in one place")
        if value is not None:
            written[name] = value
    return written


def unknown_options(
    options: Mapping[str, object],
    config: Mapping[str, object],
    of: str,
    *,
    known: frozenset[str] = frozenset(),
    elsewhere: frozenset[str] | None = frozenset(),
) -> dict[str, str]:
    """Return a problem for each name in the configuration `of` something that nobody understands."""
    problems, known = {}, known.union(*map(str.split, _OF_ADAPTERS.values()))
    for name, value in config.items():
        if name in options or value is None or name in {names.FLOWS, names.READS}:
            continue
        if name in _NOT_HERE:
            problems[name] = f"{name} {_NOT_HERE[name]}"
            continue
        instead = next((word for word in _OTHER_WORDS.get(name, ()) if word in options), None)
        if instead:
            problems[name] = f"{name} is not an option of {of}; write {instead}"
        elif name not in known | _LIKE_OURS and (near := nearest(name, options)):
            problems[name] = f"unknown option {name}; did you mean {near}?"
        elif elsewhere is not None and name not in known | elsewhere:
            problems[name] = (
                f"unknown option {name}; there are: {', '.join(options)}; what is meant for others goes under meta"
            )
    return problems


def _misspelt(options: Mapping[str, object], meta: Mapping[str, object]) -> dict[str, str]:
    """Return a problem for each name in meta that is all but an option: meta belongs to everybody."""
    near = {name: nearest(name, options, likeness=0.9) for name in meta if name not in options}
    return {
        name: f"unknown option {name} in meta; did you mean {found}?" for name, found in near.items() if found
    }


def _conflicts(written: Mapping[str, object], values: Mapping[str, Any]) -> list[str]:
    problems = [
        f"{first} and {second} are both set; write one of them"
        for first, second in _EXCLUSIVE
        if first in written and second in written
    ]
    partial = [name for name in PARTIAL if written.get(name, False) is not False]
    if len(partial) > 1:
        problems.append(
            f"{' and '.join(partial)} are set together, and each says in its own way which columns an event leaves"
            f" out; write one of them"
        )
    problems += _repeated_expectations(values)
    keys = {unquoted(name.strip()).lower() for name in values.get("keys", ())}
    for name in PARTIAL[1:]:
        found = values.get(name) or ()
        problems += [
            f"{name} names {column}, which is a key; every event brings its key, leave it out"
            for column in ((found,) if isinstance(found, str) else found)
            if unquoted(column.strip()).lower() in keys
        ]
    if "stored_as_scd_type" in written and "stored_as_scd_type" not in values:
        return problems
    scd_type = values.get("stored_as_scd_type", SCD1)
    if scd_type == SCD1:
        problems += [
            f"{name} needs history; set stored_as_scd_type to 2 or leave {name} out"
            for name in _TRACKING
            if name in written
        ]
    if scd_type != SCD1 and "apply_as_truncates" in written:
        problems.append(
            "apply_as_truncates works with SCD type 1 only; leave it out, or turn truncates into one delete per key"
        )
    return problems + _bitemporal_conflicts(scd_type, written)


def _repeated_expectations(values: Mapping[str, Any]) -> list[str]:
    having: dict[str, list[str]] = {}
    for option_name in EXPECTATIONS:
        for name in values.get(option_name) or ():
            having.setdefault(name.lower(), []).append(option_name)
    return [
        f"expectation {name} is set {len(options)} times (in {listed(options)}); give each its own name"
        for name, options in having.items()
        if len(options) > 1
    ]


def unfit_expectations(of_table: Any, specs: Sequence[_Expected]) -> list[str]:
    """Return what is wrong with a model's options about the expectations that it and its flows have."""
    known = list(dict.fromkeys(one.name for spec in specs for one in spec.expectations))
    on_deletes = getattr(of_table, "expectations_on_deletes", False)
    folded, problems = {name.lower() for name in known}, list[str]()
    if on_deletes and not known:
        problems.append(
            "expectations_on_deletes is set, and nothing is expected; leave it out, or set expect_all_or_drop"
        )
    elif not isinstance(on_deletes, bool):
        problems += [
            f"expectations_on_deletes names {name}, and no expectation is called so; {did_you_mean(name, known)}"
            for name in on_deletes
            if name.lower() not in folded
        ]
    drops = any(one.drops for spec in specs for one in spec.expectations)
    if getattr(of_table, "expectations_quarantine", False) and not drops:
        problems.append(
            "expectations_quarantine keeps rows that are dropped, and none are; set expect_all_or_drop, or leave it out"
        )
    return problems


def _bitemporal_conflicts(scd_type: str, written: Mapping[str, object]) -> list[str]:
    if scd_type != BITEMPORAL:
        instead = "set stored_as_scd_type to bitemporal, or leave system_sequence_by out"
        return (
            [f"system_sequence_by needs two axes of time; {instead}"]
            if "system_sequence_by" in written
            else []
        )
    problems = []
    if "columns_to_update" in written:
        problems.append(
            "columns_to_update works with SCD types 1 and 2 only, as in Lakeflow; leave it out, or write nulls for what"
            " an event leaves out and set ignore_null_updates"
        )
    if "system_sequence_by" not in written:
        problems.append(
            "stored_as_scd_type is bitemporal and system_sequence_by is missing; name the column that tells when an"
            " event became known, or set stored_as_scd_type to 2"
        )
    if "tombstone_retention" in written:
        problems.append(
            "tombstone_retention works with SCD types 1 and 2 only, because a bitemporal target remembers every event;"
            " leave it out"
        )
    return problems


def partial_options(spec: AutoCdc) -> list[str]:
    """Return the options under which events leave columns out, as far as they are set."""
    return [name for name in PARTIAL if getattr(spec, name)]


def unknown_name(option_name: str, name: str, candidates: list[str]) -> str:
    """Return the problem of a column name in an option that matches no column."""
    if "." in name and nearest(name.rsplit(".", 1)[1], candidates):
        return f"{option_name} names {name}; write the column without its table: {name.rsplit('.', 1)[1]}"
    return f"{option_name} names {name}, which is not a column of the model; {did_you_mean(name, candidates)}"
