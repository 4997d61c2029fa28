"""The statements that change rows of a target which goes on, and of its companion: modes write through these.

Not here: new targets (`materializations.tables`), and which rows there are to write. Where the engine has no
transactions, `materializations.journal` makes other statements of what the steps say they do.
"""

from __future__ import annotations

from dataclasses import replace

from dbt_auto_cdc.plan import Step, Write
from dbt_auto_cdc.scd.job import Job
from dbt_auto_cdc.sql import Query


def forget(job: Job, name: str, gone: Query, *, only_if: tuple[str, ...]) -> Step:
    """Remove the rows of the companion whose locators a query gives."""
    return Step(name, job.engine.delete_located(job.companion, gone), only_if, keeps=Write(gone=gone))


def remember(  # noqa: PLR0913 - what a step is, most of it by name
    job: Job, name: str, columns: list[str], born: Query, *, only_if: tuple[str, ...], apart: bool = False
) -> Step:
    """Add the rows that a query gives to the companion."""
    sql = job.engine.insert(job.companion, columns, born)
    return Step(name, sql, only_if, keeps=Write(tuple(columns), born=born, apart=apart))


def change(job: Job, name: str, columns: list[str], changed: Query, *, only_if: tuple[str, ...]) -> Step:
    """Give rows of the companion other values: a query gives their locators, as such, and the values in order.

    Where these are told by one of the columns, none that is changed comes to be told like another one.
    """
    sql = job.engine.overwrite_located(job.companion, columns, changed)
    return Step(name, sql, only_if, keeps=Write(tuple(columns), ended=changed, apart=True))


def alter(job: Job, name: str, altered: Query, *, column: str, only_if: tuple[str, ...]) -> Step:
    """Give one column of rows of the companion another value: a query gives their locators and the values."""
    sql = job.engine.set_located(job.companion, column, altered)
    return Step(name, sql, only_if, keeps=Write((column,), ended=altered))


def delete(  # noqa: PLR0913 - what a step is, most of it by name
    job: Job, name: str, gone: Query, *, only_if: tuple[str, ...], counts: str = "", past: Query | None = None
) -> Step:
    """Remove the rows whose locators a query gives; with `past` they are kept until the run ends, to be put back."""
    sql, columns = job.engine.delete_located(job.target, gone), _columns(job) if past else ()
    return Step(name, sql, only_if, counts=counts, writes=Write(columns, gone=gone, past=past))


def delete_touched(job: Job, name: str, touched: str, *, only_if: tuple[str, ...]) -> Step:
    """Remove the rows of the keys that `touched` has, as they are found; nobody may have to know which."""
    sql = job.engine.delete_touched(job.target, touched, same_key=job.same_key("won", "tgt"))
    return Step(name, sql, only_if, measures=True)


def overwrite_touched(job: Job, name: str, born: Query, *, only_if: tuple[str, ...]) -> Step:
    """Put the rows that a query gives in the place of those of their keys; nobody may have to know which."""
    same_key = job.same_key("won", "tgt")
    sql = job.engine.overwrite_touched(job.target, job.output, born, same_key=same_key)
    return Step(name, sql, only_if)


def insert(job: Job, name: str, born: Query, *, only_if: tuple[str, ...], counts: str = "") -> Step:
    """Add the rows that a query gives, in the order of the target's columns."""
    sql = job.engine.insert(job.target, list(_columns(job)), born)
    return Step(name, sql, only_if, counts=counts, writes=Write(_columns(job), born=born))


def _columns(job: Job) -> tuple[str, ...]:
    """The target's columns: those of the output, then the bounds and what is unseen."""
    return (*job.output, *job.bounds, *job.unseen)


def unless_odd(step: Step, odd: str, *, has_rows_if: str, added: bool = False) -> Step:
    """Say that what a step does to rows can be done in place unless a measure tells what is `odd`; see `Write`."""
    assert step.writes is not None  # noqa: S101 - it deletes from the target or inserts into it
    return replace(step, writes=replace(step.writes, odd=odd, added=added, has_rows_if=(has_rows_if,)))


def end(job: Job, name: str, ended: Query, *, column: str, only_if: tuple[str, ...]) -> Step:
    """Give one column of rows another value: a query gives their locators and the values."""
    sql = job.engine.set_located(job.target, column, ended)
    return Step(name, sql, only_if, writes=Write((column,), ended=ended))
