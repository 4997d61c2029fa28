"""Trimming what grows beside targets: change feeds, quarantines and event logs lose their oldest rows.

Not here: which tables there are (macros look). What a run needs is never trimmed.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

from dbt_auto_cdc import names
from dbt_auto_cdc.engines.base import Engine
from dbt_auto_cdc.errors import AutoCdcError, did_you_mean
from dbt_auto_cdc.materializations.tables import marked
from dbt_auto_cdc.plan import Plan, Step
from dbt_auto_cdc.spec import Problem, distance
from dbt_auto_cdc.sql import text
from dbt_auto_cdc.table_changes import point

CHANGES, QUARANTINE, EVENT_LOG = "changes", "quarantine", "event_log"
TABLES = (CHANGES, QUARANTINE, EVENT_LOG)
ROWS = "num_trimmed_rows"
_WRITE = "write older_than: 30 days, older_than: '2026-01-01', or keep_last: 100"


@dataclass(frozen=True)
class Limits:
    """What is to stay: the `keep_last` versions or runs, or what is not older than a distance or a time."""

    keep_last: int | None = None
    distance: timedelta | None = None
    time: str = ""

    def oldest(self, engine: Engine) -> str:
        """Return the time from which on everything stays."""
        return (
            engine.minus(engine.utc_now(), self.distance) if self.distance else f"timestamp {text(self.time)}"
        )


def limits(*, model: str, keep_last: object, older_than: object) -> Limits:
    """Return what is to stay; raises `AutoCdcError` where that is not said, said twice, or makes no sense."""
    if (keep_last is None) == (older_than is None):
        found = (
            "trim was not told what is to go"
            if keep_last is None
            else "keep_last and older_than are both set"
        )
        raise AutoCdcError(model, [f"{found}; {_WRITE}"])
    if keep_last is not None:
        if isinstance(keep_last, bool) or not isinstance(keep_last, int) or keep_last < 1:
            raise AutoCdcError(model, [f"keep_last is {keep_last!r}; write a whole number from 1"])
        return Limits(keep_last=keep_last)
    with suppress(Problem):
        far = distance(older_than)
        if isinstance(far, timedelta) and far:
            return Limits(distance=far)
    time = point(older_than)
    if isinstance(time, str) or isinstance(time.value, int):
        raise AutoCdcError(model, [f"older_than is {older_than!r}; {_WRITE}"])
    return Limits(time=str(time.value))


def chosen(model: str, tables: object) -> tuple[str, ...]:
    """Return which tables are meant, all unless some are named; raises `AutoCdcError` for unknown ones."""
    if tables is None:
        return TABLES
    named = list(tables) if isinstance(tables, list | tuple) else [str(tables)]
    problems = [
        f"tables names {name}; {did_you_mean(str(name), list(TABLES))}"
        for name in named
        if name not in TABLES
    ]
    if problems:
        raise AutoCdcError(model, problems)
    return tuple(named)


def trim_changes(model: str, feed: str, limits: Limits, *, engine: Engine, companion: str) -> Plan:
    """Return the plan of trimming a change feed from its first version on; its last version stays in any case. Pure.

    Whoever forgets a key notes where the feed begins, so that the two must not pass each other.
    """
    version, last = names.COMMIT_VERSION, f"(select max({names.COMMIT_VERSION}) from {feed})"
    if limits.keep_last:
        going = f"{version} <= {last} - {limits.keep_last}"
    else:
        recent = f"where {names.COMMIT_TIMESTAMP} >= {limits.oldest(engine)}"
        going = f"{version} < coalesce((select min({version}) from {feed} {recent}), {last})"
    step = Step("trim the change feed", f"delete from {feed} where {going}", counts=ROWS)
    return Plan(model, f"trimmed {feed}", (step, *(marked(engine, companion) if companion else ())))


def trim_quarantine(model: str, quarantine: str, limits: Limits, engine: Engine) -> Plan:
    """Return the plan of trimming a quarantine, by the runs that dropped rows. Pure."""
    oldest, at = limits.oldest(engine) if not limits.keep_last else "", names.QUARANTINED_AT
    if limits.keep_last:
        runs = f"select distinct {at} as moment from {quarantine} order by 1 desc limit {limits.keep_last}"
        oldest = f"(select min(moment) from (\n{runs}\n) as runs)"
    step = Step("trim the quarantine", f"delete from {quarantine} where {at} < {oldest}", counts=ROWS)
    return Plan(model, f"trimmed {quarantine}", (step,))


def trim_log(log: str, limits: Limits, engine: Engine) -> Plan:
    """Return the plan of trimming an event log. Pure."""
    if limits.keep_last:
        place = "row_number() over (partition by src.model order by src.started_at desc) as place"
        ranked = f"select src.{engine.locator}, {place}\nfrom {log} as src"
        old = f"select {engine.locator} from (\n{ranked}\n) as ranked where place > {limits.keep_last}"
        going = f"{engine.locator} in (\n{old}\n)"
    else:
        going = f"started_at < {limits.oldest(engine)}"
    return Plan(
        log, f"trimmed {log}", (Step("trim the event log", f"delete from {log} where {going}", counts=ROWS),)
    )
