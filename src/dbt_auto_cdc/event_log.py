"""The event log: a table in each target schema with a row for each run of a model, refused ones among them.

Not here: how statements reach the database (`macros/run`), and what a run does. Its timestamps are the only ones that
the project has from the clock of its own machine.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from dbt_auto_cdc import __version__, names
from dbt_auto_cdc.engines import engine_for, required
from dbt_auto_cdc.errors import AutoCdcError, said_by
from dbt_auto_cdc.execute import FIGURES, OWN, Outcome, Tell
from dbt_auto_cdc.plan import Plan, Step
from dbt_auto_cdc.repeats import Writer, message_of, repeated
from dbt_auto_cdc.spec import AutoCdc, AutoCdcSnapshot, Spec, written_option
from dbt_auto_cdc.sql import comma, text
from dbt_auto_cdc.state import Ask, Position, columns_in

if TYPE_CHECKING:
    from dbt_auto_cdc.bridge import Model
    from dbt_auto_cdc.engines.base import Engine
    from dbt_auto_cdc.materializations.version_query import Turns

SUCCESS, REFUSED, FAILED = "success", "refused", "error"

# The columns with their types; a table of an older release is given what it lacks.
COLUMNS: dict[str, str] = {
    **dict.fromkeys(
        ("run_id", "model", "target", "materialized", "scd_type", "status", "action", "version"), "text"
    ),
    **dict.fromkeys(("started_at", "ended_at"), "timestamp"),
    "seconds": "double precision",
    **dict.fromkeys((*FIGURES, "num_tombstones"), "bigint"),
    **dict.fromkeys(("message", "release", "details"), "text"),
}
# What any release's table has, and hardly another one.
_CORE = {"run_id", "model", "status", "started_at", "release", "details"}
# Figures of what was written, which a run that was rolled back has not.
_WRITTEN = ("num_upserted_rows", "num_deleted_rows", "num_output_rows")
_ATTEMPTS = 5

# The logs that were looked at in this process, by invocation: models of one invocation run side by side.
_ready: set[tuple[str, str]] = set()
_making = threading.Lock()


def _now() -> datetime:
    return datetime.now(tz=timezone.utc).replace(tzinfo=None)


@dataclass
class Entry:
    """The row of a run in the making; a version query makes one for every version.

    `relation` is the log, `kind` what the catalog has of that name. A run tells what it `opened`, and `run_plan` what
    it does; without an engine, or where the model wants no log, it is not `is_on` and nothing is written.
    """

    run_id: str
    model: str
    name: str
    target: str
    relation: str
    kind: str
    materialized: str
    engine: Engine | None
    is_on: bool
    started: datetime = field(default_factory=_now)
    opened: Model | None = None
    plan: Plan | None = None
    outcome: Outcome | None = None
    is_committed: bool = False
    turns: Turns | None = None
    kept: Turns | None = None
    repeats: int = 0

    @property
    def seconds(self) -> float:
        """How long ago the run began."""
        return (_now() - self.started).total_seconds()

    def opens(self, opened: Model) -> None:
        """Take up the model, with its options parsed."""
        self.opened = opened

    def commits(self) -> None:
        """Note that what was done stays, whatever follows."""
        self.is_committed = True

    def begins(self, plan: Plan, outcome: Outcome) -> None:
        """Take up what is about to be done; the outcome fills while it is done."""
        self.plan, self.outcome = plan, outcome

    def takes(self, turns: Turns) -> Turns:
        """Return the turns of the run: those that it is given, or what is left of them where it is repeated."""
        self.turns = self.turns or turns
        return self.turns

    def keeps(self) -> None:
        """Note that the turns so far are committed, whatever becomes of those that follow."""
        self.kept = deepcopy(self.turns)

    def repeat(self) -> None:
        """Be ready for the same run once more: what it committed stays, whatever else it did was rolled back."""
        self.repeats += 1
        self.plan, self.outcome = None, None
        self.turns = deepcopy(self.kept)

    def ends(self) -> None:
        """Be ready for another run of the model, whose plan is not yet made."""
        self.started, self.plan, self.outcome = _now(), None, None


def open_entry(  # noqa: PLR0913 - one call from Jinja, all by name
    *,
    run_id: str,
    model: str,
    name: str,
    target: str,
    relation: str,
    kind: str,
    adapter_type: str,
    config: Mapping[str, Any],
) -> Entry:
    """Return the entry of a run that begins; its options are not parsed yet."""
    engine = engine_for(adapter_type)
    return Entry(
        run_id=run_id,
        model=model,
        name=name,
        target=target,
        relation=relation,
        kind=kind,
        materialized=str(config.get("materialized", "")),
        engine=engine,
        is_on=engine is not None and engine.logs_runs and written_option(config, "event_log") is not False,
    )


# around a run


def logged(
    *,
    entry: Entry,
    run: Callable[[Entry], object],
    prepare: Callable[[Entry], object],
    refuse: Callable[[str], object],
    tell: Tell,
) -> object:
    """Run, and see to it that a run that fails has a row as well; what it raised goes on as it was.

    `refuse` rolls back and writes one statement in a transaction of its own, `tell` shows a line to a person.
    """
    if not entry.is_on:
        return _repeated(entry, run, tell)
    prepare(entry)
    try:
        return _repeated(entry, run, tell)
    except Exception as error:
        if not entry.is_committed:
            said = message_of(error)
            status = REFUSED if said.startswith(OWN) else FAILED
            # What the run has to say is more important than its row, which may be impossible to write.
            with suppress(Exception):
                refuse(row(entry, status, said))
        raise


def _repeated(entry: Entry, run: Callable[[Entry], object], tell: Tell) -> object:
    """Run, and begin anew what others get ahead of, up to the commit."""
    return repeated(
        Writer(entry.engine, entry.name, entry.target),
        lambda: run(entry),
        tell,
        is_over=lambda: entry.is_committed,
        repeat=entry.repeat,
    )


def prepare(
    *,
    entry: Entry,
    begin: Callable[[], object],
    ask: Ask,
    send: Callable[[str, str], object],
    commit: Callable[[], object],
) -> None:
    """Make the log where there is none, and give one of an older release the columns that it lacks.

    Once in an invocation, in a transaction of its own that is over before the model's own begins. Where another
    process does the same, a statement may fail and is tried again.
    """
    with _making:
        if (entry.run_id, entry.relation) in _ready:
            return
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                begin()
                _make(entry, ask, send)
                commit()
                break
            except AutoCdcError:
                raise
            except Exception as error:
                if attempt == _ATTEMPTS:
                    raise _not_made(entry, error) from error
                time.sleep(0.1 * attempt)
        _ready.add((entry.run_id, entry.relation))


def _make(entry: Entry, ask: Ask, send: Callable[[str, str], object]) -> None:
    engine = entry.engine
    assert engine is not None  # noqa: S101 - without an engine no entry is on
    lock, asked = engine.lock_log(entry.relation), engine.list_tables(entry.relation)
    if lock:
        _send(send, "wait for whoever makes the event log", lock)
    kind = entry.kind
    if asked:
        kind = next(("view" if view else "table" for _, view in ask(asked)), "")
    if not kind:
        columns = comma(f"{engine.quote(name)} {type_name}" for name, type_name in COLUMNS.items())
        _send(send, "make the event log", f"create table if not exists {entry.relation} (\n    {columns}\n)")
    described = ask(engine.describe_relation(entry.relation))
    there = {column.name.lower() for column in columns_in(described)}
    if kind == "view" or not _CORE <= there:
        raise AutoCdcError(entry.name, [_not_ours(entry)])
    for name, type_name in COLUMNS.items():
        if name not in there:
            column = engine.add_column(entry.relation, engine.quote(name), type_name)
            _send(send, f"add {name} to the event log", column)


def _send(send: Callable[[str, str], object], name: str, sql: str) -> None:
    step = Step(name, sql)
    send(step.name, step.text)


_WAYS = "or set event_log to false for the model, or for the project with +event_log: false"


def _not_ours(entry: Entry) -> str:
    return (
        f"{entry.relation} was not made by auto_cdc, which keeps a row for each run in a table of that name; rename"
        f" that relation, {_WAYS}"
    )


def _not_made(entry: Entry, error: Exception) -> AutoCdcError:
    assert entry.engine is not None  # noqa: S101 - without an engine no entry is on
    said = said_by(entry.engine.name, error)
    return AutoCdcError(
        entry.name, [f"the event log {entry.relation} cannot be made; {said}; repair that, {_WAYS}"]
    )


# a row


def row(entry: Entry, status: str, message: str, *, positions: Sequence[str] = (), version: str = "") -> str:
    """Return the statement that adds the row of a run; `positions` are those that the companion has after it."""
    engine, plan, ended = entry.engine, entry.plan, _now()
    assert engine is not None  # noqa: S101 - without an engine no entry is on
    outcome = entry.outcome or Outcome()
    opened = entry.opened
    texts = {
        "run_id": entry.run_id,
        "model": entry.model,
        "target": entry.target,
        "materialized": entry.materialized,
        "scd_type": _scd_type(opened.spec) if opened else "",
        "status": status,
        "action": plan.action if plan else "",
        "version": version,
        "message": message,
        "release": __version__,
        "details": json.dumps(_details(plan, outcome, positions)),
    }
    values = {name: text(value) if value else engine.null("text") for name, value in texts.items()}
    values |= {name: f"timestamp '{at}'" for name, at in (("started_at", entry.started), ("ended_at", ended))}
    values["seconds"] = f"{(ended - entry.started).total_seconds():.6f}"
    figures = outcome.figures
    if status != SUCCESS:
        figures = {
            name: n for name, n in figures.items() if name in outcome.measures and name not in _WRITTEN
        }
    values |= {name: str(figures[name]) if name in figures else engine.null("bigint") for name in FIGURES}
    values["num_tombstones"] = _tombstones(entry, engine) if status == SUCCESS else engine.null("bigint")
    columns = ", ".join(engine.quote(name) for name in COLUMNS)
    selected = comma(values[name] for name in COLUMNS)
    return f"insert into {entry.relation} ({columns})\nselect\n    {selected}"


def _scd_type(spec: Spec) -> str:
    return spec.stored_as_scd_type if isinstance(spec, AutoCdc | AutoCdcSnapshot) else ""


def _tombstones(entry: Entry, engine: Engine) -> str:
    """How many deletes are remembered, where a model has any."""
    opened = entry.opened
    specs: list[Spec] = [flow.spec for flow in opened.flows] or [opened.spec] if opened else []
    if opened and any(isinstance(spec, AutoCdc) and spec.apply_as_deletes for spec in specs):
        return f"(select count(*) from {opened.relations.companion} where {names.KIND} = 'delete')"
    return engine.null("bigint")


def _details(plan: Plan | None, outcome: Outcome, positions: Sequence[str]) -> dict[str, Any]:
    """What has no column of its own; what there is nothing of is left out."""
    told = {
        "expectations": outcome.expectations,
        "positions": _moved(plan, positions),
        "reads": list(plan.reads) if plan else [],
        "flows": list(plan.flows) if plan else [],
        "warnings": outcome.warnings,
        "steps": {name: round(seconds, 6) for name, seconds in outcome.seconds.items()},
    }
    return {name: value for name, value in told.items() if value}


def _moved(plan: Plan | None, positions: Sequence[str]) -> dict[str, dict[str, str | None]]:
    before = {position.name: position.value for position in plan.positions} if plan else {}
    after = {position.name: position.value for position in map(Position.of, positions)}
    return {name: {"before": before.get(name), "after": after[name]} for name in after}


def log_row(*, entry: Entry, ask: Ask, send: Callable[[str, str], object], version: str = "") -> None:
    """Write the row of what was done since the last one, if anything was, in the transaction that did it."""
    plan, outcome = entry.plan, entry.outcome
    if not entry.is_on or plan is None or outcome is None or entry.opened is None:
        return
    positions: list[str] = []
    if plan.reads:
        companion = entry.opened.relations.companion
        asked = ask(f"select {names.CONTROL} from {companion} where {names.KIND} = 'position'")
        positions = [str(found[0]) for found in asked]
    _send(
        send,
        "write the event log",
        row(entry, SUCCESS, outcome.message, positions=positions, version=version),
    )
    entry.ends()


# a look at it


def require_log(*, name: str, adapter_type: str) -> None:
    """Refuse to read the log where runs leave no rows: that there is nothing in it would say that all went well."""
    engine = required(adapter_type, name)
    if not engine.logs_runs:
        problem = (
            f"there is no event log on {engine.name}; leave out there what reads it, and look into dbt's own log for"
            f" what runs did"
        )
        raise AutoCdcError(name, [problem])


_HEADERS = ("ended (UTC)", "model", "status", "seconds", "what it did")
_CHOSEN = ("ended_at", "model", "version", "status", "seconds", "action", "message")


def log_query(*, relations: Sequence[str], model: object, last: object, failed: object) -> str:
    """Return the query of the last runs in several logs, newest first; of one model, or of those that went wrong.

    Empty where there is no log. Raises `AutoCdcError` for arguments that are none.
    """
    problems = []
    if model is not None and not isinstance(model, str):
        problems.append(f"model is {model!r}; write the name of a model: model: customers")
    if isinstance(last, bool) or not isinstance(last, int) or last < 1:
        problems.append(f"last is {last!r}; write how many runs to show: last: 20")
    if not isinstance(failed, bool):
        problems.append(f"failed is {failed!r}; write true or false")
    if problems:
        raise AutoCdcError(str(model or "(all)"), problems)
    if not relations:
        return ""
    conditions = []
    if model:
        name = text(str(model))
        conditions.append(f"(model = {name} or right(model, length({name}) + 1) = '.' || {name})")
    if failed:
        conditions.append(f"status <> '{SUCCESS}'")
    where = f"\nwhere {' and '.join(conditions)}" if conditions else ""
    chosen = ", ".join(_CHOSEN)
    logs = "\nunion all\n".join(f"select {chosen} from {relation}{where}" for relation in relations)
    return f"select * from (\n{logs}\n) as runs\norder by ended_at desc\nlimit {last}"


def log_text(*, rows: Sequence[Sequence[object]]) -> str:
    """Return runs as a table for a person, newest last, as a log reads."""
    if not rows:
        return "auto_cdc: the event log has no such run"
    shown = [_shown(dict(zip(_CHOSEN, found, strict=True))) for found in reversed(rows)]
    widths = [max(len(cells[column]) for cells in [_HEADERS, *shown]) for column in range(4)]
    lines = []
    for cells in [_HEADERS, *shown]:
        first = [
            cell.rjust(width) if header == "seconds" else cell.ljust(width)
            for cell, width, header in zip(cells, widths, _HEADERS, strict=False)
        ]
        begin = "  ".join(first)
        said, *others = cells[4].splitlines() or [""]
        lines += [f"{begin}  {said}".rstrip(), *(f"{' ' * len(begin)}  {line}".rstrip() for line in others)]
    return "\n".join(lines)


def _shown(run: Mapping[str, object]) -> tuple[str, ...]:
    # model.shop.customers, and model.shop.users.v2
    name = str(run["model"]).split(".", 2)[-1]
    version = f" (version {run['version']})" if run["version"] else ""
    said = str(run["message"]).removeprefix(OWN).removeprefix(f"model {name.split('.')[0]}: ")
    seconds = float(str(run["seconds"]))
    return (str(run["ended_at"])[:19], name, str(run["status"]), f"{seconds:.2f}", f"{said}{version}")


EXPORTS: dict[str, Callable[..., object]] = {
    "event_log_identifier": lambda: names.EVENT_LOG,
    "log_query": log_query,
    "log_row": log_row,
    "log_text": log_text,
    "logged": logged,
    "open_entry": open_entry,
    "prepare_log": prepare,
    "require_log": require_log,
}
