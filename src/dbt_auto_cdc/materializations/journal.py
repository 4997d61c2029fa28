"""Runs on an engine without transactions: written down first, then done, so that one that was stopped can be finished.

Not here: which rows there are to write (`scd.writes` says it of each step).

A run on a target that goes on first puts everything that is to change into two working tables, one for the target and
one for the companion; but for what working tables have already, from which the same rows come until the run ends. Then
one statement puts the statements that are left into the companion, as its row of kind `journal`; these are sent, and
the last one removes that row. Each of them may be sent again, after it and after those that follow: all rows that go or
come are looked for by what tells them, and rows that come take the place of themselves. So a run that finds such a row
sends them again before anything else, and one that finds none has nothing to repair. Rows that are only added are the
exception: they would come twice, once from the run that is finished and once from the next; so there the row tells how
to take them back, or, where rows are read step by step, how to remember what was read.

A first build has no need of it: its companion is filled last, and one without a record is not finished.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence

from dbt_auto_cdc import names
from dbt_auto_cdc.engines.base import Engine
from dbt_auto_cdc.errors import AutoCdcError
from dbt_auto_cdc.plan import Part, Plan, Step, Write, whenever_sent
from dbt_auto_cdc.scd.job import Job
from dbt_auto_cdc.sql import Query, comma, indented, is_read
from dbt_auto_cdc.state import State

GONE, BORN, ENDED = "gone", "born", "ended"
_UNION = "\nunion all\n"
_NO_ROW = "(select 1 as one) as nothing\nwhere false"
WORKING = (names.TARGET_CHANGES, names.COMPANION_CHANGES)


class _Changes:
    """What a run is going to do to one relation, and the working table that holds it."""

    def __init__(
        self,
        engine: Engine,
        tables: tuple[str, str],
        types: Mapping[str, str],
        *,
        identity: Mapping[str, str],
        changing: tuple[str, ...],
    ) -> None:
        self.engine = engine
        self.relation, self.table = tables
        self.types, self.identity = types, identity
        self.changing = changing
        self.writes: list[tuple[Step, Write]] = []

    def wrote_down(self, whenever: tuple[str, ...]) -> Iterable[Step]:
        """Put the rows that go, come and end into the working table. Out: each with what tells it.

        The table is there `whenever` the statements are sent that read it, if need be without a row.
        """
        if self.writes and not self.is_settled:
            nothing = Part(self._row({}, place=self._null_place, action=("", 0)) + _NO_ROW)
            parts = (nothing, *self._parts())
            sql = self.engine.refill(self.table)
            yield Step(f"write down what becomes of {self.relation}", sql, whenever, parts=parts)
        yield from self._counted(whenever)

    @property
    def is_settled(self) -> bool:
        """Whether the rows come from working tables alone, and all or none of them: nothing need be written down."""
        queries = [
            query.render()
            for _, write in self.writes
            for query in (write.gone, write.born, write.ended)
            if query is not None
        ]
        reads = any(is_read(relation, query) for relation in self.changing for query in queries)
        return self.engine.merges and len({step.only_if for step, _ in self.writes}) == 1 and not reads

    @property
    def _source(self) -> str:
        """The rows that go, come and end, as something to select from."""
        if not self.is_settled:
            return self.table
        return f"(\n{indented(_UNION.join(part.sql for part in self._parts()))}\n) as changes"

    @property
    def _ending(self) -> Iterable[str]:
        """The columns that get another value in rows that end, each once."""
        return dict.fromkeys(name for _, write in self.writes if write.ended for name in write.columns)

    @property
    def _null_place(self) -> str:
        return self.engine.null(self.engine.text_type)

    def _counted(self, whenever: tuple[str, ...]) -> Iterable[Step]:
        """Count what is written, which the engine does not tell."""
        counts: dict[str, list[str]] = {}
        for number, (step, write) in enumerate(self.writes):
            if step.counts:
                action = GONE if write.gone else BORN
                counts.setdefault(step.counts, []).append(
                    f"{names.STEP} = {number} and {names.ACTION} = '{action}'"
                )
        if counts:
            figures = comma(
                f"count(case when {' or '.join(which)} then 1 end) as {name}"
                for name, which in counts.items()
            )
            yield Step(
                "count what is written",
                f"select\n    {figures}\nfrom {self._source}",
                whenever,
                measures=True,
            )

    def _parts(self) -> list[Part]:
        """Return the SELECTs of the rows of all steps."""
        return [
            Part(sql, step.only_if)
            for number, (step, write) in enumerate(self.writes)
            for sql in self._rows(number, write)
        ]

    def _rows(self, number: int, write: Write) -> Iterable[str]:
        """Return the SELECTs of the rows of one step, its number with them."""
        kind = self.engine.text_type
        if write.gone:
            gone = f"{self.engine.named(write.gone, 'gone', {'place': kind})} where place is not null"
            yield self._row({}, place="place", action=(GONE, number)) + gone
        if write.ended:
            (column,) = write.columns
            ended = self.engine.named(write.ended, "ended", {"place": kind, "value": self.types[column]})
            yield self._row({column: "value"}, place="place", action=(ENDED, number)) + ended
        if write.born:
            values = comma(
                f"born.{name}" if name in write.columns else f"{self.engine.null(kind)} as {name}"
                for name, kind in self.types.items()
            )
            given = self.engine.named(write.born, "born", {name: self.types[name] for name in write.columns})
            place = self.engine.place("row_born", self.identity.items())
            every = {name: f"row_born.{name}" for name in self.types}
            row = self._row(every, place=place, action=(BORN, number))
            yield f"{row}(\nselect\n    {values}\nfrom {given}\n) as row_born"

    def _row(self, values: Mapping[str, str], *, place: str, action: tuple[str, int]) -> str:
        """Return a SELECT of the working table's columns, without what is selected from."""
        columns = [
            f"cast({values[name]} as {kind}) as {name}"
            if name in values
            else f"{self.engine.null(kind)} as {name}"
            for name, kind in self.types.items()
        ]
        what, number = action
        told = f"cast('{what}' as {self.engine.text_type})"
        columns += [f"{place} as {names.LOCATOR}", f"{told} as {names.ACTION}", f"{number} as {names.STEP}"]
        return f"select\n    {comma(columns)}\nfrom "

    def applied(self, *, crosses_off: bool = False) -> list[str]:
        """Return the statement that does it: whatever is told like a row that goes or comes goes, then rows come.

        That of a companion also `crosses_off` what was written down as left to do, where it is one statement.
        """
        if not self.writes:
            return []
        if not self.engine.merges:
            return self._applied_in_parts()
        nulls = [f"{self.engine.null(kind)} as {name}" for name, kind in self.types.items()]
        columns = ", ".join(self.types)
        source_rows = self._source
        told = f"select {names.LOCATOR} from {source_rows}\nwhere {names.ACTION} in ('{GONE}', '{BORN}')"
        going = f"select\n    {comma(nulls)},\n    {names.LOCATOR}, '{GONE}' as {names.ACTION}\n"
        going += f"from (\n{told}\ngroup by {names.LOCATOR}\n) as going"
        staying = f"select {columns}, {names.LOCATOR}, {names.ACTION}\nfrom {source_rows}\n"
        staying += f"where {names.ACTION} = '{ENDED}'"
        coming = (
            f"select {columns}, {self._null_place} as {names.LOCATOR}, {names.ACTION}\n"
            f"from {source_rows}\nwhere {names.ACTION} = '{BORN}'"
        )
        source = [going, coming]
        place = self.engine.place("tgt", self.identity.items())
        if crosses_off:
            note = f"from {self.relation} as tgt where tgt.{names.KIND} = '{names.JOURNAL}'"
            source.append(f"select\n    {comma(nulls)},\n    {place}, '{GONE}' as {names.ACTION}\n{note}")
        matched = [f"when matched and src.{names.ACTION} = '{GONE}' then delete"]
        for column in self._ending:
            source.append(staying)
            matched.append(
                f"when matched and src.{names.ACTION} = '{ENDED}' then update set {column} = src.{column}"
            )
        values = ", ".join(f"src.{name}" for name in self.types)
        union = _UNION.join(source)
        return [
            "\n".join(
                [
                    f"merge into {self.relation} as tgt using (\n{union}\n) as src",
                    f"on {place} = src.{names.LOCATOR}",
                    *matched,
                    f"when not matched and src.{names.ACTION} = '{BORN}' then insert ({columns}) values ({values})",
                ]
            )
        ]

    def _applied_in_parts(self) -> list[str]:
        """Return statements that do the same: sent again after any of them, they leave the same rows."""
        place = self.engine.place(self.relation.rpartition(".")[2], self.identity.items())
        going = f"select {names.LOCATOR} from {self.table} where {names.ACTION} in ('{GONE}', '{BORN}')"
        columns = list(self.types)
        coming = f"select {', '.join(columns)} from {self.table} where {names.ACTION} = '{BORN}'"
        return [
            f"delete from {self.relation} where {place} in (\n{going}\n)",
            *(
                f"update {self.relation} set {column} = src.{column}\nfrom {self.table} as src\n"
                f"where {place} = src.{names.LOCATOR} and src.{names.ACTION} = '{ENDED}'"
                for column in self._ending
            ),
            self.engine.insert(self.relation, columns, Query().then("born", coming)),
        ]


def journaled(
    job: Job, steps: Sequence[Step], target_types: Mapping[str, str], companion_types: Mapping[str, str]
) -> tuple[Step, ...]:
    """Return the steps of a run on a target that goes on, such that it can be stopped after any of them."""
    target, companion, first, settled = _sorted(job, steps, target_types, companion_types)
    if not target.writes and not companion.writes:
        return (*first, *settled)
    if job.spec.appends:
        return (*first, *_appended(job, target, settled))
    is_crossed_off = bool(companion.writes) and job.engine.merges
    to_do = [
        *((f"change {target.relation}", sql) for sql in target.applied()),
        *((step.name, step.sql) for step in settled),
        *((f"change {companion.relation}", sql) for sql in companion.applied(crosses_off=True)),
        *([] if is_crossed_off else [("cross it off", _crossed_off(job.companion))]),
    ]
    whenever = whenever_sent([*(step for step, _ in (*target.writes, *companion.writes)), *settled])
    return (
        *first,
        *target.wrote_down(whenever),
        *companion.wrote_down(whenever),
        Step("write down what is left to do", _noted(job, to_do), whenever),
        *(Step(name, sql, whenever) for name, sql in to_do),
    )


def _sorted(
    job: Job, steps: Sequence[Step], target_types: Mapping[str, str], companion_types: Mapping[str, str]
) -> tuple[_Changes, _Changes, list[Step], list[Step]]:
    """Return what becomes of target and companion, the steps before that, and those that settle things after it."""
    target = _Changes(
        job.engine,
        (job.target, job.working(names.TARGET_CHANGES)),
        target_types,
        identity=job.identity_in_target,
        changing=(job.target, job.companion),
    )
    companion = _Changes(
        job.engine,
        (job.companion, job.working(names.COMPANION_CHANGES)),
        companion_types,
        identity=job.identity_in_companion,
        changing=(job.target, job.companion),
    )
    first: list[Step] = []
    settled: list[Step] = []
    for step in steps:
        if step.writes:
            target.writes.append((step, step.writes))
        elif step.keeps:
            companion.writes.append((step, step.keeps))
        else:
            (settled if step.settles else first).append(step)
    return target, companion, first, settled


def _appended(job: Job, target: _Changes, settled: Sequence[Step]) -> tuple[Step, ...]:
    """Add rows in one statement.

    A run that was stopped is taken back where the next one reads its rows again. Where these are read step by step, or
    once, it is finished if its rows are there.
    """
    number = job.state.last_run + 1
    of_the_run = f"from {job.target} where {names.RUN} = {number}"
    if job.state.reads or job.spec.read_now:
        rest = [(step.name, step.sql) for step in settled]
        sql = _noted(job, rest, asks=f"select 1 {of_the_run} limit 1")
        noted = Step("write down what is left to do", sql)
    else:
        rest = [("take back the rows of the run before", f"delete {of_the_run}")]
        # Its number is used up: who streams the target may have read up to there.
        rest += [(step.name, step.sql) for step in settled if job.spec.COUNTS in step.only_if]
        noted = Step("write down how to take it back", _noted(job, rest))
    added = (Step(step.name, step.sql) for step, _ in target.writes)
    return (
        noted,
        *added,
        Step("count what is written", f"select count(*) as {job.spec.COUNTS} {of_the_run}", measures=True),
        *(Step(step.name, step.sql) for step in settled),
        Step("cross it off", _crossed_off(job.companion)),
    )


def _noted(job: Job, to_do: Sequence[tuple[str, str]], *, asks: str = "") -> str:
    """Return the one statement after which a run will be finished, by itself or by the next one.

    The next one does so only where the query that it `asks` gives a row.
    """
    engine, written = job.engine, json.dumps([asks, [list(each) for each in to_do]])
    if engine.text_limit and len(written.encode()) > engine.text_limit:
        problem = (
            f"the statements that write its rows are {len(written.encode())} bytes, and {engine.name} keeps no text of"
            f" more than {engine.text_limit}; leave columns out with except_column_list, or give them shorter names"
        )
        raise AutoCdcError(job.model, [problem])
    if not engine.merges:
        # There is no such row: a run that finds one finishes that first.
        row = Query().then("to_do", f"select '{names.JOURNAL}', {engine.text(written)}")
        return engine.insert(job.companion, [names.KIND, names.CONTROL], row)
    rows = f"select cast({engine.text(written)} as {engine.text_type}) as {names.CONTROL}"
    return _merged_note(engine, job.companion, names.JOURNAL, rows)


def noted_once(engine: Engine, companion: str, kind: str, *, was: str, rows: str) -> str:
    """Return the statement that puts a note into the companion, in the place of what it `was`; it may be sent twice.

    `rows` is the query of the note, and may give none.
    """
    same = f" and tgt.{names.CONTROL} in ({engine.text(was)}, src.{names.CONTROL})"
    return _merged_note(engine, companion, kind, rows, same=same)


def _merged_note(engine: Engine, companion: str, kind: str, rows: str, *, same: str = "") -> str:
    told = f"select cast('{kind}' as {engine.text_type}) as {names.KIND}, told.* from (\n{rows}\n) as told"
    own = f"{names.KIND}, {names.CONTROL}"
    return (
        f"merge into {companion} as tgt using (\n{told}\n) as src\n"
        f"on tgt.{names.KIND} = src.{names.KIND}{same}\n"
        f"when matched then update set {names.CONTROL} = src.{names.CONTROL}\n"
        f"when not matched then insert ({own}) values (src.{names.KIND}, src.{names.CONTROL})"
    )


def _crossed_off(companion: str) -> str:
    return f"delete from {companion} where {names.KIND} = '{names.JOURNAL}'"


def left_over(companion: str, ask: Callable[[str], Sequence[Sequence[object]]]) -> Sequence[Sequence[object]]:
    """Return the note of an earlier run that was stopped while it wrote, in a row of its own, if there is one."""
    return ask(f"select {names.CONTROL} from {companion} where {names.KIND} = '{names.JOURNAL}'")


def finished(model: str, companion: str, ask: Callable[[str], Sequence[Sequence[object]]]) -> Plan | None:
    """Return the plan that finishes an earlier run, where it wrote down that something is left to do."""
    rows = left_over(companion, ask)
    if not rows:
        return None
    asks, noted = json.loads(str(rows[0][0]))
    is_left = not asks or ask(asks)
    to_do = [Step(str(name), str(sql)) for name, sql in noted if is_left]
    return Plan(
        model=model,
        action="finish the run before",
        steps=(*to_do, Step("cross it off", _crossed_off(companion))),
    )


def built(
    job: Job,
    before: State,
    rows: Query,
    *,
    target: Mapping[str, str],
    companion: tuple[Mapping[str, str], Query],
) -> tuple[Step, ...]:
    """Make target and companion, in the place of what is there.

    The companion's rows, its record among them, come last: a companion without a record is that of a run that was
    stopped, and the next one starts over. Where no table takes the place of another one at once, the target is gone
    in between: one without a companion would be taken for somebody else's.
    """
    engine, dropped = job.engine, list[Step]()
    if before.target_is_view:
        dropped.append(Step("drop the old view", engine.drop_view(job.target)))
    elif before.target is not None and not engine.replaces_tables:
        dropped.append(Step("drop the old target", engine.drop_table(job.target)))
    types, remembered = companion
    counted = f"select count(*) as {job.spec.COUNTS} from {job.target}"
    return (
        *dropped,
        Step(
            "create the companion",
            engine.define(job.companion, types) + engine.layout_of_companion(job.keys),
        ),
        *(Step("create the target", sql) for sql in engine.fill(job.target, target, rows)),
        Step("count the rows", counted, measures=True),
        Step("fill the companion", engine.insert(job.companion, list(types), remembered)),
    )
