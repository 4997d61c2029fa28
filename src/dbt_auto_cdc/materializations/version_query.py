"""A version query: asks for one snapshot's version after another, each of which is a run of its own.

Not here: what a snapshot does to the target (`auto_cdc_snapshot`). The macros `last_snapshot_version` and
`current_snapshot_version` give the two relations that are made here, both with one column, `version`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from dbt_auto_cdc import names
from dbt_auto_cdc.engines.base import Engine
from dbt_auto_cdc.errors import AutoCdcError, listed, said_by
from dbt_auto_cdc.execute import Outcome, Send
from dbt_auto_cdc.observe import describe
from dbt_auto_cdc.plan import Plan, Step
from dbt_auto_cdc.relations import working_relation
from dbt_auto_cdc.sql import Query, indented
from dbt_auto_cdc.state import Ask, Relations

VERSION = "version"
NO_VERSION = f"select null as {VERSION} where false"


@dataclass
class Turns:
    """The turns of one run of a model: one, or with a version query one for every version that it returns.

    A caller iterates, does the turn, and tells `done`. `waits` tells that no snapshot was found, `version` shows the
    one that was; `outcome` adds up what the turns did. A run that reads a part of its source (`partial`) has one turn,
    for it records no version.
    """

    model: str
    relations: Relations
    engine: Engine
    asks: bool = False
    partial: bool = False
    number: int = 0
    run_id: str = ""
    waits: bool = False
    version: str = ""
    creates: bool = False
    ended: bool = False
    outcome: Outcome = field(default_factory=Outcome)
    closing: tuple[Step, ...] = ()

    def __iter__(self) -> Iterator[Turns]:
        """Give the turns, until one finds that nothing is waiting."""
        while not self.ended:
            self.number += 1
            yield self

    @property
    def is_first(self) -> bool:
        """Whether the target is as the run found it."""
        return self.number == 1

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to do but to stop; a first turn looks after the table in any case."""
        return self.waits and not self.is_first

    def done(self, plan: Plan | None = None, outcome: Outcome | None = None) -> None:
        """Take up what a turn did; without a plan it did nothing."""
        self.ended = not self.asks or self.partial or self.waits
        self.closing = (*(plan.closing if plan else ()), *self._versions_freed())
        if plan and outcome:
            self.creates = self.creates or plan.creates
            self.outcome.add(outcome)

    def _versions_freed(self) -> tuple[Step, ...]:
        if not self.asks:
            return ()
        freed = {
            "free the last version": self.engine.free_view(self.holder(last=True)),
            "free the next version": self.engine.drop_working([self.holder(last=False)]),
        }
        return tuple(Step(name, sql) for name, sql in freed.items() if sql)

    def holder(self, *, last: bool) -> str:
        """Return the relation that holds the last version applied, or the one to be applied."""
        return relation(
            engine=self.engine,
            identifier=self.relations.identifier,
            target=self.relations.target,
            last=last,
            run_id=self.run_id,
        )


def relation(*, engine: Engine, identifier: str, target: str, last: bool, run_id: str) -> str:
    """Return the relation that holds the version to be applied, or the last one applied, while a model runs.

    The last one is in a view of the session, which has no place beside the target. The model's SQL names it before
    anything is planned, so that dbt's name of the run tells it from that of another run.
    """
    run = "" if engine.transactions else names.told_by(run_id)
    if last:
        return working_relation(engine, identifier, names.of_run(names.LAST_VERSION, run))
    return working_relation(engine, identifier, names.of_run(names.NEXT_VERSION, run), target=target)


def last_version(companion: str) -> str:
    """Return the SELECT of the last version applied: one row, or none before the first."""
    sequence = names.SEQUENCE
    return (
        f"select max({sequence}) as {VERSION} from {companion} where {names.KIND} = 'snapshot'"
        f" having max({sequence}) is not null"
    )


def look_up(turns: Turns, query: str, *, applying: bool, ask: Ask, send: Send) -> None:
    """Ask for the next version, and keep it beside the last one for the model's SQL to read.

    `applying` says whether the run goes on with the target that is there. Raises `AutoCdcError` where the query
    does not return one version, or nothing.
    """
    engine, is_there = turns.engine, applying or not turns.is_first
    following = turns.holder(last=False)
    last = turns.holder(last=True)
    known = Query().then("last_version", last_version(turns.relations.companion))
    send(
        "show the last version",
        engine.create_view(last, known) if is_there else engine.create_empty_view(last, VERSION, query),
    )
    try:
        columns = describe(engine, ask, query)
    except Exception as error:
        raise AutoCdcError(
            turns.model, [f"version_query is not valid SQL; {said_by(engine.name, error)}"]
        ) from error
    if len(columns) != 1:
        found = listed(column.name for column in columns)
        raise AutoCdcError(
            turns.model, [f"version_query has the columns {found}; let it select the version alone"]
        )
    asked = f"select {engine.quote(columns[0].name)} as {VERSION}\nfrom (\n{indented(query)}\n) as asked_for"
    send("ask for the next version", engine.create_working(following, Query().then("asked", asked)))
    shown = engine.as_text(f"max(ver.{VERSION})")
    counted = (
        f"select count(*) as found, count(ver.{VERSION}) as valued, {shown} as shown\nfrom {following} as ver"
    )
    row = {name.lower(): value for name, value in send("look at the version", counted).row.items()}
    turns.waits, turns.version = not row["found"], str(row["shown"])
    if problem := _problem(int(str(row["found"])), int(str(row["valued"]))):
        raise AutoCdcError(turns.model, [problem])


def _problem(found: int, valued: int) -> str:
    if found > 1:
        return (
            f"version_query returned {found} rows; let it return one, the least version that is waiting: add order by"
            f" version limit 1"
        )
    if found > valued:
        return (
            "version_query returned null; let it return no row where no snapshot is waiting: an aggregate without group"
            " by always returns a row, so add having min(version) is not null"
        )
    return ""
