"""Runs on an engine without transactions: written down first, then done, so that one that was stopped can be finished.

Not here: which rows there are to write (`scd.writes` says it of each step), and the statements that write them
(`materializations.row_changes`).

A run on a target that goes on first puts everything that is to change into two working tables, one for the target and
one for the companion; but for what working tables have already, from which the same rows come until the run ends. Then
one statement puts the statements that are left into the companion, into its row of kind `journal`; these are sent, and
the last one takes them out of that row. Each of them may be sent again, after it and after those that follow: all rows
that go or come are looked for by what tells them, and rows that come take the place of themselves. So a run that finds
such a note sends them again before anything else, and one that finds none has nothing to repair. Rows that are only
added are the exception: they would come twice, once from the run that is finished and once from the next; so there the
note tells how to take them back, or, where rows are read step by step, how to remember what was read. So it does
where rows are added to those of their key (`equal_sequence: append`): the rows of such keys are kept as they were.

Two runs at once are kept apart by the same row, which begins with what tells the last run that wrote from all others:

* A run puts its note there only if the row is what it was when the run began to look at things, which is one UPDATE,
  and then asks whether it did. Else another run has written since, and this one gives up, with nothing written. What is
  staged stands in tables with the run's name in theirs; what others left there goes once none of them can write any
  more, which is after the note.
* A note that is found may be that of a run which is alive, and both then send its statements. They are the same, the
  engine lets only one of two win that write the same rows, and no later run can write before nothing is left to do.
  After that the run's working tables are dropped, and the note is crossed off; a run that finds it there drops them
  itself before it writes. So whoever is late with one of its statements after that finds no table to read, and fails.
  Where there is only one such table the note stays: that the next run drops it costs less than to cross the note off.
* Rows that are only added are not looked for, so there the note is claimed: either the run crosses it off, or another
  one takes its rows back, remembers its number, and later runs take them back once more if they came all the same.
  Rows that are added to those of their key have no number: a statement that was sent before the note was claimed meets
  the rows that were put back, and loses; where all its keys were new, nothing is put back, and its rows may come twice.

A first build has no need of a note: its companion is filled last, and one without a record is not finished. It is made
with the row that tells whose it is, and filled only if that row is still there. Who finds that it is not may have
replaced the target of another build, and makes that one unfinished too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from dbt_auto_cdc import names
from dbt_auto_cdc.engines.base import NEXT, Engine
from dbt_auto_cdc.errors import ANOTHER_RUN, AutoCdcError
from dbt_auto_cdc.materializations.row_changes import UNION, RowChanges
from dbt_auto_cdc.plan import Plan, Rule, Step, Turn, Write, whenever_sent
from dbt_auto_cdc.scd.job import Job
from dbt_auto_cdc.sql import Query
from dbt_auto_cdc.state import Ask, State

WORKING = (names.TARGET_CHANGES, names.COMPANION_CHANGES)
_NOTED = "write down what is left to do"
_CROSSED_OFF = "cross it off"
_SEE = "see that it is claimed"
_FILLED = "create the target"
_TURN = "lost_turn"
# What follows the run in the row of kind `journal`, where another one takes it back.
_CLAIMED = "!"
_TAKING = (_NOTED, "see whose turn it is")
_CAME_BETWEEN = f"{ANOTHER_RUN} wrote while this one read, so nothing of this one was written; run it again"
_TAKEN_OVER = (
    f"{ANOTHER_RUN} came in between and wrote what this one had left to write, so that its rows are there; run it"
    " again for what came since"
)
_TAKEN_BACK = f"{ANOTHER_RUN} began before this one was complete, and took its rows back; run it again"
_TOUCHED = f"{ANOTHER_RUN} began before this one was complete, and finished it or took it back; run it again"
IS_WRITING = f"{ANOTHER_RUN} is writing; run it again when that one has ended"
_BUILT_TWICE = f"{ANOTHER_RUN} built the target at the same time, so that it is not complete; run it again"


def journaled(
    job: Job,
    steps: Sequence[Step],
    target_types: Mapping[str, str],
    companion_types: Mapping[str, str],
    *,
    frees: Callable[[Sequence[Step]], str],
) -> tuple[tuple[Step, ...], Turn | None]:
    """Return the steps of a run on a target that goes on, such that it can be stopped after any of them.

    `frees` gives the statements that drop the working tables that steps use. Nothing is told apart where nothing is
    written.
    """
    target, companion, first, settled = _sorted(job, steps, target_types, companion_types)
    if not target.writes and not companion.writes and not settled:
        return (*first, *_freed(frees(first))), None
    if job.spec.appends:
        return _appended(job, target, first, settled, frees=frees)
    writing = [step for step, _ in (*target.writes, *companion.writes)]
    whenever = whenever_sent([*writing, *settled])
    # What settles something else, such as how far a stream was read, may be all that a run has to do.
    has_others = bool(settled) and not set(whenever_sent(settled) or [""]) <= set(whenever_sent(writing))
    target.is_sent_alone = companion.is_sent_alone = has_others or not whenever
    run, goes_back = job.state.run, target.goes_back
    written_down = (*target.wrote_down(whenever), *companion.wrote_down(whenever))
    changes_target = [
        Step(f"change {target.relation}", sql, target.odd or whenever)
        for sql in target.applied(turn=_while(job.companion, is_of(run)) if goes_back else "")
    ]
    # Of two ways to do it one is gone.
    ways = [target.as_told(), changes_target] if target.odd else [changes_target]
    free = frees((*first, *written_down, *changes_target))
    rest = _noted(job, [], frees=free)
    is_done_with_it = bool(companion.writes) and job.engine.merges
    then = [
        *((step.name, _settled(job, step)) for step in settled),
        *(
            (f"change {companion.relation}", sql)
            for sql in companion.applied(done=(is_of(run, "tgt."), rest) if is_done_with_it else None)
        ),
        *(
            []
            if is_done_with_it
            else [("note that all is written", _changed(job.engine, job.companion, rest, is_of(run)))]
        ),
    ]
    notes = [
        _noted(job, _going_back(job, target, free), frees=free)
        if goes_back
        else _noted(job, [*((step.name, step.sql) for step in way), *then], frees=free)
        for way in ways
    ]
    noting = [
        _noting(job, notes[0], whenever, unless=target.odd),
        *(_noting(job, note, target.odd) for note in notes[1:]),
    ]
    rests = _rests(job.engine, free)
    crossed_off = Step(_CROSSED_OFF, _crossed_off(job.engine, job.companion, run), whenever)
    return (
        *_freed_before(job),
        *first,
        *written_down,
        *_taking_turns(job, noting, whenever),
        *(step for way in ways for step in way),
        *(Step(name, sql, whenever) for name, sql in then),
        *(
            (_see_whose_turn(job.companion, is_of(run), whenever, otherwise=_TAKEN_BACK),)
            if goes_back
            else ()
        ),
        *_freed(free),
        *(() if rests else (crossed_off,)),
    ), _turn(
        job,
        free,
        taken_over=_TAKEN_BACK if goes_back else _TAKEN_OVER,
        ends="" if rests else _CROSSED_OFF,
    )


def _while(companion: str, is_there: str) -> str:
    """Return the join that leaves rows as they are while a row of the companion is there, and no row after that."""
    return f"cross join (select 1 as one from {companion} where {is_there}) as turn"


def _going_back(job: Job, target: RowChanges, free: str) -> list[tuple[str, str]]:
    """Return what another run does in the place of one that was stopped: it takes back what that one may have written.

    It claims the note first. Whoever still has the statement to send after that changes nothing, and one that is
    on its way meets the rows that were put back.
    """
    return _claimed(job, [("take back what the run before wrote", sql) for sql in target.taken_back()], free)


def _claimed(job: Job, rest: Sequence[tuple[str, str]], free: str) -> list[tuple[str, str]]:
    """Return how another run does the rest: it puts a note of its own into the place of that of the run, and sees."""
    claimed = f"{job.state.run}{_CLAIMED}"
    note = _noted(job, rest, frees=free, run=claimed)
    return [
        ("claim it", _changed(job.engine, job.companion, note, is_of(job.state.run))),
        (_SEE, claimed),
        *rest,
    ]


def _rests(engine: Engine, free: str) -> bool:
    """Whether a run leaves its note there, which says only what it drops: the next one drops that, if it is there."""
    return bool(free) and len(engine.statements(free)) == 1


def _freed_before(job: Job) -> tuple[Step, ...]:
    """Drop what the run before had to drop, and left to this one to be sure of."""
    frees = _left_to_free(job.state.turn)
    return (Step("drop what the run before wrote from", frees),) if frees else ()


def _left_to_free(turn: str) -> str:
    """Return the statements by which the run that wrote last is still to free its working tables."""
    _, _, note = turn.partition(" ")
    return str(json.loads(note)["frees"]) if note else ""


def _freed(free: str) -> tuple[Step, ...]:
    return (Step("free the working tables", free),) if free else ()


def _noting(job: Job, note: str, only_if: tuple[str, ...] = (), *, unless: tuple[str, ...] = ()) -> Step:
    """Put a note into the companion if nobody wrote since that was read."""
    sql = _changed(job.engine, job.companion, note, _says(job.state.turn))
    return Step(_NOTED, sql, only_if, unless=unless)


def _taking_turns(job: Job, noting: Iterable[Step], whenever: tuple[str, ...]) -> tuple[Step, ...]:
    """Put a note into the companion, and give up if somebody wrote since that was read.

    After that no run can write that began before, so that what such runs left can be dropped.
    """
    return (
        *noting,
        _see_whose_turn(job.companion, is_of(job.state.run), whenever),
        *_left_over(job, whenever),
    )


def _see_whose_turn(
    companion: str, is_ours: str, whenever: tuple[str, ...] = (), *, otherwise: str = _CAME_BETWEEN
) -> Step:
    sql = f"select case when count(*) = 0 then 1 else 0 end as {_TURN}\nfrom {companion} where {is_ours}"
    return Step(_TAKING[1], sql, whenever, measures=True, rules=(Rule(_TURN, otherwise),))


def _left_over(job: Job, whenever: tuple[str, ...] = ()) -> tuple[Step, ...]:
    tables = list(job.state.left_over)
    return (Step("drop what other runs left", job.engine.drop_working(tables), whenever),) if tables else ()


def _asks(companion: str) -> str:
    return f"select {names.CONTROL} as turn from {companion} where {names.KIND} = '{names.JOURNAL}'"


def _asks_afresh(engine: Engine, companion: str) -> str:
    """Return how to ask whose turn it is after others may have written."""
    return NEXT.join(filter(None, (engine.afresh(companion), _asks(companion))))


def is_of(run: str, alias: str = "") -> str:
    """Return the condition that a row of the companion is the note of a run, which has not crossed it off."""
    begun = f"substr({alias}{names.CONTROL}, 1, {len(run) + 1}) = '{run} '"
    return f"{alias}{names.KIND} = '{names.JOURNAL}' and {begun}"


def _says(turn: str) -> str:
    """Return the condition that a row of the companion tells that nobody wrote after some run; it may have a note."""
    run, _, note = turn.partition(" ")
    return is_of(run) if note else f"{names.KIND} = '{names.JOURNAL}' and {names.CONTROL} = '{run}'"


def _changed(engine: Engine, companion: str, note: str, where: str) -> str:
    """Return the statement that puts a note into the place of another one."""
    return f"update {companion} set {names.CONTROL} = {engine.text(note)}\nwhere {where}"


def _settled(job: Job, step: Step) -> str:
    """Return the statement that changes a note of the companion while the run's own is there."""
    if step.told is None or not job.engine.merges:
        return step.sql
    kind, note = step.told
    return (
        f"merge into {job.companion} as tgt using (\n"
        f"select {job.engine.text(note)} as {names.CONTROL} from {job.companion} as own\n"
        f"where {is_of(job.state.run, 'own.')}\n"
        f") as src\non tgt.{names.KIND} = '{kind}'\n"
        f"when matched then update set {names.CONTROL} = src.{names.CONTROL}"
    )


def _sorted(
    job: Job, steps: Sequence[Step], target_types: Mapping[str, str], companion_types: Mapping[str, str]
) -> tuple[RowChanges, RowChanges, list[Step], list[Step]]:
    """Return what becomes of target and companion, the steps before that, and those that settle things after it."""
    target = RowChanges(
        job.engine,
        (job.target, job.working(names.TARGET_CHANGES)),
        target_types,
        identity=job.identity_in_target,
        changing=(job.target, job.companion),
    )
    companion = RowChanges(
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


def _appended(
    job: Job,
    target: RowChanges,
    first: Sequence[Step],
    settled: Sequence[Step],
    *,
    frees: Callable[[Sequence[Step]], str],
) -> tuple[tuple[Step, ...], Turn]:
    """Add rows in one statement.

    A run that was stopped is taken back where the next one reads its rows again. Where these are read step by step, or
    once, it is finished if its rows are there.
    """
    run, number, companion = job.state.run, job.state.last_run + 1, job.companion
    of_the_run = f"from {job.target} where {names.RUN} = {number}"
    free = frees((*first, *(step for step, _ in target.writes)))
    rest = [(step.name, _settled(job, step)) for step in settled]
    taken_back = _taken_back(job, number, free)
    if job.state.reads or job.spec.read_now:
        asks = f"select 1 {of_the_run} limit 1"
        note = _noted(job, rest, frees=free, asks=asks, otherwise=taken_back)
    else:
        note = _noted(job, taken_back, frees=free)
    is_claimed = f"({is_of(run + _CLAIMED)}) or ({_is_lost(number)})"
    turn = f"select count(*) as claims from {companion} where {is_claimed}"
    counted = f"select count(*) as added {of_the_run}"
    lost = ", ".join(map(str, job.state.lost))
    again = f"delete from {job.target} where {names.RUN} in ({lost})"
    added = [
        Step(step.name, job.engine.insert(job.target, list(write.columns), _in_turn(job, write)))
        for step, write in target.writes
        if write.born
    ]
    steps = (
        *first,
        *_taking_turns(job, [_noting(job, note)], ()),
        *((Step("take back what came from runs that were taken back", again),) if lost else ()),
        *added,
        *(Step(name, sql) for name, sql in rest),
        Step(_CROSSED_OFF, _crossed_off(job.engine, companion, run)),
        *_freed(free),
        Step(
            "count what is written",
            f"select counted.added as {job.spec.COUNTS},\n"
            f"    case when turn.claims > 0 then 1 else 0 end as {_TURN}\n"
            f"from ({counted}) as counted\ncross join ({turn}) as turn",
            measures=True,
            rules=(Rule(_TURN, _TAKEN_BACK),),
        ),
    )
    turn_of_run = _turn(job, free, taken_over=_TOUCHED)
    return steps, replace(turn_of_run, written=added[0].name, takes_back=_while_lost(job, number))


def _turn(job: Job, free: str, *, taken_over: str, ends: str = _CROSSED_OFF) -> Turn:
    return Turn(
        _asks_afresh(job.engine, job.companion),
        before=job.state.turn,
        came_between=_CAME_BETWEEN,
        taken_over=taken_over,
        run=job.state.run,
        noted=_NOTED,
        taking=_TAKING,
        ends=ends,
        frees=free,
    )


def _in_turn(job: Job, write: Write) -> Query:
    """Return the rows that a run adds, none if its note is there no more."""
    assert write.born is not None  # noqa: S101 - what rows that are added come from
    columns = ", ".join(f"added.{name}" for name in write.columns)
    turn = _while(job.companion, is_of(job.state.run))
    return write.born.then("in_turn", f"select {columns}\nfrom {write.born.last} as added\n{turn}")


def _taken_back(job: Job, number: int, free: str) -> list[tuple[str, str]]:
    """Return what another run does in the place of one that was stopped: it claims the note, and takes rows back.

    Rows may come after that, of a statement that was on its way: they are known by their number.
    """
    rest = [
        ("remember that its rows do not count", _marked_lost(job, number)),
        ("take back the rows of the run before", _while_lost(job, number)),
    ]
    return _claimed(job, rest, free)


def _is_lost(number: int) -> str:
    return f"{names.KIND} = '{names.LOST}' and {names.CONTROL} = '{number}'"


def _marked_lost(job: Job, number: int) -> str:
    if not job.engine.merges:
        row = Query().then("lost_run", f"select '{names.LOST}', '{number}'")
        return job.engine.insert(job.companion, [names.KIND, names.CONTROL], row)
    rows = f"select '{number}' as {names.CONTROL}"
    return _merged_note(
        job.engine, job.companion, names.LOST, rows, same=f" and tgt.{names.CONTROL} = src.{names.CONTROL}"
    )


def _while_lost(job: Job, number: int) -> str:
    """Return the statement that removes the rows of a run if they do not count."""
    lost = f"from {job.companion} where {_is_lost(number)}"
    if not job.engine.merges:
        return f"delete from {job.target} where {names.RUN} = {number} and exists (select 1 {lost})"
    return (
        f"merge into {job.target} as tgt using (\nselect distinct 1 as one {lost}\n) as src\n"
        f"on tgt.{names.RUN} = {number}\nwhen matched then delete"
    )


def _noted(  # noqa: PLR0913 - what a note has, all by name
    job: Job,
    to_do: Sequence[tuple[str, str]],
    *,
    frees: str,
    asks: str = "",
    otherwise: Sequence[tuple[str, str]] = (),
    run: str = "",
) -> str:
    """Return the note with which a run will be finished, by itself or by the next one.

    The next one does what is left `to_do` only where the query that it `asks` gives a row, `otherwise` something else.
    Where rows are only added this is crossed off before the working tables are dropped, because one of them tells how
    far the run read: there the note itself keeps statements that are late from doing harm.
    """
    engine = job.engine
    note = {
        "to_do": to_do,
        "frees": frees,
        "asks": asks,
        "otherwise": otherwise,
        "appends": job.spec.appends,
    }
    written = f"{run or job.state.run} {json.dumps(note)}"
    if engine.text_limit and len(written.encode()) > engine.text_limit:
        problem = (
            f"the statements that write its rows are {len(written.encode())} bytes, and {engine.name} keeps no text of"
            f" more than {engine.text_limit}; leave columns out with except_column_list, or give them shorter names"
        )
        raise AutoCdcError(job.model, [problem])
    return written


def noted_once(  # noqa: PLR0913 - what a note is, all by name
    engine: Engine, companion: str, kind: str, *, was: str, rows: str, run: str
) -> str:
    """Return the statement that puts a note into the companion, in the place of what it `was`; it may be sent twice.

    `rows` is the query of the note, and may give none; none is written but while the `run` has its own note there.
    """
    same = f" and tgt.{names.CONTROL} in ({engine.text(was)}, src.{names.CONTROL})"
    turn = _while(companion, is_of(run))
    return _merged_note(engine, companion, kind, rows, same=same, turn=f"\n{turn}")


def _merged_note(  # noqa: PLR0913 - what a note is, all by name
    engine: Engine, companion: str, kind: str, rows: str, *, same: str = "", turn: str = ""
) -> str:
    told = (
        f"select cast('{kind}' as {engine.text_type}) as {names.KIND}, told.* from (\n{rows}\n) as told{turn}"
    )
    own = f"{names.KIND}, {names.CONTROL}"
    return (
        f"merge into {companion} as tgt using (\n{told}\n) as src\n"
        f"on tgt.{names.KIND} = src.{names.KIND}{same}\n"
        f"when matched then update set {names.CONTROL} = src.{names.CONTROL}\n"
        f"when not matched then insert ({own}) values (src.{names.KIND}, src.{names.CONTROL})"
    )


def _crossed_off(engine: Engine, companion: str, run: str) -> str:
    """Return the statement that takes what is left to do out of the note of a run: only that it wrote last stays."""
    return _changed(engine, companion, run, is_of(run))


def was_stopped(companion: str, ask: Ask) -> bool:
    """Tell whether an earlier run was stopped while it wrote, or is writing."""
    rows = ask(_asks(companion))
    return bool(rows) and is_left(str(rows[0][0]))


def is_left(turn: str) -> bool:
    """Tell whether the row of kind `journal` says that something is left to write."""
    _, _, note = turn.partition(" ")
    return bool(note) and any(json.loads(note)[part] for part in ("to_do", "otherwise"))


def finished(engine: Engine, model: str, companion: str, *, turn: str, ask: Ask) -> Plan | None:
    """Return the plan that finishes an earlier run, where it wrote down that something is left to do."""
    if not is_left(turn):
        return None
    run, _, text = turn.partition(" ")
    note = json.loads(text)
    to_do = note["to_do"] if not note["asks"] or ask(note["asks"]) else note["otherwise"]
    claimed = [sql for name, sql in to_do if name == _SEE]
    crossed_off = Step(_CROSSED_OFF, _crossed_off(engine, companion, claimed[0] if claimed else run))
    last = (*_freed(note["frees"]), crossed_off)
    return Plan(
        model=model,
        action="finish the run before",
        steps=(
            *(
                _see_whose_turn(companion, is_of(sql), otherwise=IS_WRITING)
                if name == _SEE
                else Step(name, sql)
                for name, sql in to_do
            ),
            *(reversed(last) if note["appends"] else last),
        ),
        turn=Turn(
            _asks_afresh(engine, companion), before=turn, came_between=IS_WRITING, taken_over=IS_WRITING
        ),
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
    engine, dropped, run = job.engine, list[Step](), before.run
    if before.target_is_view:
        dropped.append(Step("drop the old view", engine.drop_view(job.target)))
    elif before.target is not None and not engine.replaces_tables:
        dropped.append(Step("drop the old target", engine.drop_table(job.target)))
    types, remembered = companion
    counted = f"select count(*) as {job.spec.COUNTS} from {job.target}"
    complete = f"{names.KIND} = 'control' and exists (select 1 from {job.companion} where {_says(run)})"
    return (
        *_taken(job, before),
        *dropped,
        *(Step("create the companion", sql) for sql in _begun(job, types, is_new=before.companion is None)),
        *(Step(_FILLED, sql) for sql in engine.fill(job.target, target, rows)),
        Step("count the rows", counted, measures=True),
        Step("fill the companion", _remembered(job, types, remembered)),
        _see_whose_turn(job.companion, complete, otherwise=_BUILT_TWICE),
        # Another run with --full-refresh may have taken the turn before, and would replace a complete companion by one
        # that it could not fill.
        *(() if before.full_refresh else _left_over(job)),
    )


def turn_of_build(job: Job, frees: str) -> Turn:
    """Return how a build finds out that it lost its turn: what it has replaced by then has no complete companion."""
    kinds = f"('control', '{names.JOURNAL}')"
    return Turn(
        _asks_afresh(job.engine, job.companion),
        before=job.state.turn,
        came_between=_CAME_BETWEEN,
        taken_over=_BUILT_TWICE,
        run=job.state.run,
        frees=frees,
        written=_FILLED,
        takes_back=f"delete from {job.companion} where {names.KIND} in {kinds}",
    )


def _taken(job: Job, before: State) -> Iterable[Step]:
    """Take the turn before anything is replaced, and see that no older run can write any more."""
    if not before.turn:
        return
    yield Step("take the turn", _changed(job.engine, job.companion, before.run, _says(before.turn)))
    yield _see_whose_turn(job.companion, _says(before.run))
    if frees := _left_to_free(before.turn):
        yield Step("drop what the run before was going to write", frees)


def _begun(job: Job, types: Mapping[str, str], *, is_new: bool) -> list[str]:
    """Return the statements that make a companion with one row; where they are two, another build may come between."""
    engine, whose = job.engine, _whose(job, types)
    options = engine.companion_options if job.remembers else engine.table_options
    laid_out = replace(engine, layout=engine.layout_of_companion(job.keys), table_options=options)
    made, *filled = laid_out.fill(job.companion, types, whose, is_new=is_new)
    nobody = f"not exists (select 1 from {job.companion} where {names.KIND} = '{names.JOURNAL}')"
    listed = ", ".join(f"whose.{name}" for name in types)
    row = Query().then(
        "row_of_nobody", f"select {listed} from (\n{whose.render()}\n) as whose\nwhere {nobody}"
    )
    return [made, *(engine.insert(job.companion, list(types), row) for _ in filled)]


def _whose(job: Job, types: Mapping[str, str]) -> Query:
    """Return the one row that a new companion has before it is filled."""
    own = {names.KIND: f"'{names.JOURNAL}'", names.CONTROL: f"'{job.state.run}'"}
    return Query().then("whose", f"select\n    {job.engine.row(types, own)}")


def _remembered(job: Job, types: Mapping[str, str], remembered: Query) -> str:
    """Return the statement that fills the companion, if its row still says whose it is; that row is written anew."""
    engine, columns = job.engine, ", ".join(types)
    listed = ", ".join(f"told.{name}" for name in types)
    turn = _while(job.companion, _says(job.state.run))
    every, own = (
        f"select {listed} from (\n{query.render()}\n) as told\n{turn}"
        for query in (remembered, _whose(job, types))
    )
    if not engine.merges:
        return engine.insert(job.companion, list(types), Query().then("in_turn", every))
    source = f"{every}{UNION}{own}"
    values = ", ".join(f"src.{name}" for name in types)
    return (
        f"merge into {job.companion} as tgt using (\n{source}\n) as src\n"
        f"on tgt.{names.KIND} = src.{names.KIND}\n"
        f"when matched then update set {names.CONTROL} = src.{names.CONTROL}\n"
        f"when not matched then insert ({columns}) values ({values})"
    )
