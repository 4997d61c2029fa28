"""From the model's SELECT to new events: staged, told from known ones, one per key and sequence.

Not here: what is refused (`check`), and what the events do to the target (`scd1`, `scd2`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from dbt_auto_cdc import names
from dbt_auto_cdc.engines.base import Engine
from dbt_auto_cdc.plan import Step
from dbt_auto_cdc.resolve import Columns, Output, Part
from dbt_auto_cdc.scd.job import Job, of
from dbt_auto_cdc.spec import AutoCdc, unquoted
from dbt_auto_cdc.sql import Query, all_of, any_of, comma, indented
from dbt_auto_cdc.state import Column

EVENT = (names.SEQUENCE, names.KIND)


@dataclass(frozen=True)
class Known:
    """How a mode tells known events while staging, where one narrow join does it.

    `join` follows the evaluated feed, called src; `is_new` says whether an event has to be applied and `is_late`
    whether it lies below its key's greatest sequence, `locator` where that is remembered. `is_common` says that
    known rows are to be expected, so that it pays to stage them without their values. `more` are further columns by
    name, kept of events that are to be applied.
    """

    join: str
    is_new: str
    is_late: str
    locator: str
    is_common: bool = True
    more: Mapping[str, str] = field(default_factory=dict)


def stage(
    job: Job, known: Known | None = None, *, among_key: Mapping[str, str] = MappingProxyType({})
) -> Step:
    """Evaluate the user's SQL, once.

    In: the model's rows. Out: one row per row of the model, with the output columns in the target's types, the
    sequence and the kind. No row is dropped; where known events are told here, they keep no values but their keys,
    so that a feed that is read again costs a narrow table. `among_key` are columns by name that tell of an event what
    it is among those of its key.
    """
    query, placed = evaluated(job), [f"{value} as {name}" for name, value in among_key.items()]
    if known and placed and job.engine.transactions:
        # What is known of events is found faster in the order of their keys.
        query, placed = (
            query.then("placed", f"select src.*, {', '.join(placed)}\nfrom {query.last} as src"),
            [],
        )
    if known:
        marks = [
            f"{known.is_new} as {names.IS_NEW}",
            f"{known.is_late} as {names.IS_LATE}",
            f"{known.locator} as {names.HIDDEN}",
            *(f"{value} as {name}" for name, value in known.more.items()),
            *placed,
        ]
        kept = [
            f"case when {names.IS_NEW} then {name} end as {name}"
            if known.is_common and name not in job.keys
            else name
            for name in (names.HIDDEN, *known.more, *job.staged)
        ]
        query = query.then(
            "told", f"select src.*, {', '.join(marks)}\nfrom {query.last} as src\n{known.join}"
        )
        # First what every later step looks at: PostgreSQL reads a row up to the last column that is asked for.
        first = [names.IS_NEW, names.IS_LATE, *among_key]
        query = query.then("stage", f"select\n    {comma([*first, *EVENT, *kept])}\nfrom told")
    elif placed:
        query = query.then("stage", f"select src.*, {', '.join(placed)}\nfrom {query.last} as src")
    return staged(job, query)


def staged(job: Job, query: Query) -> Step:
    """Return the one step that reads what the model selects."""
    name, engine = job.working(names.STAGE), job.engine
    # A key's greatest event is found by sorting; all else that is done with events looks for keys.
    is_scanned = job.spec.KIND == AutoCdc.KIND and not (
        job.spec.keeps_history or job.partial or job.keeps_events
    )
    filled = (
        engine.create_scanned(name, query)
        if is_scanned
        else engine.create_working(name, query, keys=job.keys)
    )
    return Step("stage the model's rows", filled)


def _orders(job: Job) -> dict[str, str]:
    """Return the sequences' expressions by the columns that hold them; where rows were checked, they are there."""
    spec = job.spec
    if spec.expectations:
        system = [names.SYSTEM_SEQUENCE] if spec.system_sequence_by else []
        return {name: f"src.{name}" for name in (names.SEQUENCE, *system)}
    return orders_over_feed(job)


def orders_over_feed(job: Job) -> dict[str, str]:
    """Return the sequences' expressions over the rows that the model selects."""
    spec, layout, engine = job.spec, job.layout, job.engine
    orders = {names.SEQUENCE: stored_sequence(job, layout.sequence)}
    if spec.system_sequence_by:
        system = sequence_expression(spec.system_sequence_by, layout.system, engine)
        orders[names.SYSTEM_SEQUENCE] = engine.in_order(system, layout.system_type)
    return orders


def evaluated(job: Job) -> Query:
    """Return the model's rows with the output columns, the sequences and the kind, each expression evaluated once.

    A sequence that is a struct is null as soon as one part of it is. Where there are expectations, the model's SQL was
    read when they were checked, and what they drop is left out here.
    """
    columns = [f"{value} as {name}" for name, value in zip(job.staged, _values(job), strict=True)]
    columns += [f"{value} as {name}" for name, value in _orders(job).items()]
    columns.append(f"{_kind(job)} as {names.KIND}")
    query = Query().then("evaluated", f"select\n    {comma(columns)}\n{_source(job)}")
    wholes = [_whole_sequence(job, name) for name in _orders(job)]
    if wholes == of("src", _orders(job)):
        return query
    columns = [*of("src", job.staged), *wholes, f"src.{names.KIND}"]
    return query.then("whole", f"select {', '.join(columns)} from evaluated as src")


def _kind(job: Job) -> str:
    if job.spec.expectations:
        return f"src.{names.KIND}"
    return kind_expression(job.spec, job.state.feed, job.engine)


def _source(job: Job) -> str:
    """Return the FROM clause of the model's rows that count."""
    if not job.spec.expectations:
        return f"from (\n{indented(job.state.model_sql)}\n) as src"
    drops = any(one.drops for one in job.spec.expectations)
    kept = f"\nwhere not src.{names.DROPPED}" if drops else ""
    return f"from {job.working(names.CHECKED)} as src{kept}"


def _whole_sequence(job: Job, name: str) -> str:
    """Return a sequence that was evaluated, or null where a part of it is; a list of columns was seen to already."""
    layout, sequence = job.layout, f"src.{name}"
    parts, type_name = (
        (layout.sequence, layout.sequence_type)
        if name == names.SEQUENCE
        else (layout.system, layout.system_type)
    )
    missing = job.engine.null_parts(sequence, type_name)
    if not missing or len(parts) > 1:
        return sequence
    return f"case when {any_of(missing)} then null else {sequence} end as {name}"


def _values(job: Job) -> list[str]:
    """Return the expression over the feed of everything that is staged of an event, in that order."""
    types = {column.name: column.type for column in job.state.feed}
    parts = job.layout.parts
    values = [_value(job, part, types) for part in parts]
    marks = [_is_sent(job, *sent) for sent in zip(parts, values, strict=True) if sent[0].marked]
    return [*values, *marks, *([_unknown(job)] if job.layout.list_column else [])]


def _value(job: Job, part: Part, types: dict[str, str]) -> str:
    column = part.column
    if column.source is None:
        return job.engine.null(part.type)
    source = f"src.{job.engine.quote(column.source)}"
    value = source if types[column.source] == column.type else f"cast({source} as {column.type})"
    return _leaf(job, value, part)


def _leaf(job: Job, value: str, part: Part) -> str:
    for name in part.path:
        value = job.engine.field(value, name)
    return value


def stored_part(job: Job, part: Part, alias: str) -> str:
    """Return a part of a row of the target."""
    return _leaf(job, f"{alias}.{job.engine.quote(part.column.name)}", part)


def whole(job: Job, alias: str) -> list[str]:
    """Return the output columns as select-list entries over the parts of a working table."""
    return [
        value if value == f"{alias}.{name}" else f"{value} as {name}"
        for value, name in zip(wholes(job, alias, job.layout.output), job.output, strict=True)
    ]


def wholes(job: Job, alias: str, columns: Iterable[Output]) -> list[str]:
    """Return expressions for output columns over the parts of a working table."""
    return [_whole(job, alias, 0, job.parts_of([column])) for column in columns]


def _whole(job: Job, alias: str, depth: int, parts: tuple[Part, ...]) -> str:
    """Return what has the given parts: null if they are all null."""
    if len(parts) == 1 and len(parts[0].path) == depth:
        return f"{alias}.{job.engine.quote(parts[0].name)}"
    fields = {
        name: _whole(job, alias, depth + 1, tuple(part for part in parts if part.path[depth] == name))
        for name in dict.fromkeys(part.path[depth] for part in parts)
    }
    missing = all_of(f"{alias}.{job.engine.quote(part.name)} is null" for part in parts)
    return f"case when {missing} then null else {job.engine.composite(fields)} end"


def _is_sent(job: Job, part: Part, value: str) -> str:
    """The condition that a row of the feed sends a part that may be left out."""
    conditions = [f"{value} is not null"] if part.ignores else []
    if part.listed and job.layout.list_column:
        listed = f"src.{job.engine.quote(job.layout.list_column)}"
        conditions.append(f"({listed} is null or {job.engine.is_listed(part.column.name, listed)})")
    if part.selected:
        conditions.append(f"src.{part.selected}")
    return all_of(conditions)


def _unknown(job: Job) -> str:
    """A name in the list of a row of the feed that is no column, null if there is none."""
    assert job.layout.list_column is not None  # noqa: S101 - asked only where there is one
    known = [*job.feed, *(column.name for column in job.layout.output)]
    return job.engine.not_among(f"src.{job.engine.quote(job.layout.list_column)}", list(dict.fromkeys(known)))


def stored_sequence(job: Job, parts: tuple[str, ...]) -> str:
    """Return the sequence over rows called src, in the form in which it is stored and compared."""
    kind = job.layout.sequence_type
    return job.engine.in_order(sequence_expression(job.spec.sequence_by, parts, job.engine, kind), kind)


def sequence_expression(
    written: tuple[str, ...], parts: tuple[str, ...], engine: Engine, type_name: str = ""
) -> str:
    """Return a sequence over the feed's rows; null as soon as one part of a composite is null.

    `written` is the option, `parts` are the feed's columns that make it up; empty for a SQL expression. A composite's
    fields are called as the option has them, so that a feed whose names change their case goes on; `type_name` is its
    type, where it has a name.
    """
    if not parts:
        return f"(\n{indented(written[0])}\n)"
    columns = [f"src.{engine.quote(part)}" for part in parts]
    if len(parts) == 1:
        return columns[0]
    missing = any_of(f"{column} is null" for column in columns)
    fields = dict(zip((unquoted(name.strip()) for name in written), columns, strict=True))
    return f"case when {missing} then null else {engine.composite(fields, type_name)} end"


def condition_expression(condition: str, feed: tuple[Column, ...], engine: Engine) -> str:
    """Return a condition over the feed's rows: the column of that name if there is one, else SQL."""
    column = Columns(feed).find(condition)
    return f"src.{engine.quote(column.name)}" if column else f"(\n{indented(condition)}\n)"


def kind_expression(spec: AutoCdc, feed: tuple[Column, ...], engine: Engine) -> str:
    """Return what kind of event a row of the feed is."""
    branches = [
        f"when {condition_expression(condition, feed, engine)} then '{kind}'"
        for kind, condition in (("truncate", spec.apply_as_truncates), ("delete", spec.apply_as_deletes))
        if condition
    ]
    return f"case {' '.join(branches)} else 'upsert' end" if branches else "'upsert'"


def events(job: Job, query: Query) -> Step:
    """Keep the new events.

    In: a query that gives the stage's rows that are not known. Out: the same grain; rows without key or sequence
    are kept, so that the check can refuse them.
    """
    filled = job.engine.create_working(job.events, query, keys=job.keys)
    return Step("keep the events that are new", filled)


def by_sequence(job: Job, part: Part) -> list[str]:
    """Return the ORDER BY entries among events, called evt, that sent a part: first the one whose value counts."""
    order = [f"evt.{names.SEQUENCE} desc"]
    if job.spec.sequence_ties != "fail":
        value = job.engine.comparable(f"evt.{job.engine.quote(part.name)}", part.type)
        order.append(job.engine.descending(value))
    return order


def repeated(job: Job) -> str:
    """Return the SELECT of what identifies an event, where more than one new event has it."""
    group = ", ".join(job.identity)
    source = f"from {job.events} as evt where {names.KIND} <> 'truncate'"
    return f"select {group} {source} group by {group} having count(*) > 1"


def by_precedence(job: Job, alias: str) -> list[str]:
    """Return the ORDER BY entries among events of one key and sequence: first the one that counts.

    Copies are equal unless ties are let through; then a delete comes before an upsert, and of two upserts the
    greater by the output columns in their order, null lowest.
    """
    if job.spec.sequence_ties == "fail":
        return []
    values = (
        job.engine.comparable(f"{alias}.{name}", column.type)
        for name, column in zip(job.output, job.layout.output, strict=True)
    )
    return [f"{alias}.{names.KIND}", *map(job.engine.descending, values)]


def copies(job: Job, among: str = "") -> str:
    """Return the SELECT of the locators of events that do not count; it follows `repeated`.

    `among` is the working table whose locators they are, where the events stand in another one as well.
    """
    group = ", ".join(of("evt", job.identity))
    order = ", ".join(by_precedence(job, "evt") or [f"evt.{job.engine.locator}"])
    return f"""
select locator from (
    select evt.{job.engine.locator} as locator,
        row_number() over (partition by {group} order by {order}) as place
    from {among or job.events} as evt
    join repeated on {job.same_event("evt", "repeated")}
) as ranked where place > 1"""
