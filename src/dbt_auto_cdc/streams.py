"""`stream`: a relation of which each committed run reads only the rows above the greatest offset that was read.

Not here: how reads stand in a model's SQL (`reads`), and where their steps stand in a plan (`materializations.tables`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbt_auto_cdc import first_read, names, reads
from dbt_auto_cdc.engines import engine_called
from dbt_auto_cdc.engines.base import Engine
from dbt_auto_cdc.errors import AutoCdcError, did_you_mean, listed, said_by
from dbt_auto_cdc.materializations import journal
from dbt_auto_cdc.plan import Rule, Step
from dbt_auto_cdc.reads import Around, Read
from dbt_auto_cdc.relations import companion_identifier, feed_identifier, is_relation, working_relation
from dbt_auto_cdc.resolve import Columns
from dbt_auto_cdc.scd.changes import condition_expression
from dbt_auto_cdc.spec import (
    APPENDING,
    SPECS,
    Problem,
    distance,
    instead_of_distance,
    is_name,
    unknown_name,
    unquoted,
)
from dbt_auto_cdc.sql import Query, all_of, comma
from dbt_auto_cdc.state import Column, Position, Reading, columns_in

KIND = "stream"
# What a position remembers beside its value: the flows that read up to there.
_FLOWS = "flows"
_ARGUMENTS = ("offset", "look_back", "change_feed", "name")

# Types whose values are others where the same text is read with more digits.
_INEXACT = {"float", "real"}

# Where a part of the rows would do harm.
_UNFIT = {
    "auto_cdc_snapshot": "gives new rows only, and what a snapshot lacks is taken for deleted; select from the relation"
    " itself",
    "recomputed_table": "gives new rows only, and what the table had from others would go; select from the relation"
    " itself",
    "replace_where": "gives new rows only, and those of the range that were read before would go; select the whole"
    " range from the relation itself",
}

# what may be written


def stream(  # noqa: PLR0913 - one call from Jinja, all by name
    *,
    model: str,
    adapter_type: str,
    relation: Any,
    options: Mapping[str, object],
    others: Sequence[object],
    before: list[dict[str, object]],
    executes: bool,
) -> str:
    """Return a stream as a relation for FROM, and note it in `before`, which has the model's reads before it.

    `executes` is false while dbt parses and relations have no names yet. Raises `AutoCdcError` for what is wrong with
    the arguments by themselves.
    """
    given = {name: value for name, value in options.items() if value is not None}
    problems = _wrong_arguments(relation, given, others)
    if problems:
        raise AutoCdcError(model, problems)
    is_cte = bool(getattr(relation, "is_cte", False))
    read_from, noted = relation, {name: value for name, value in given.items() if name != "name"}
    if given.get("change_feed") and not is_cte:
        feed, companion = (
            relation.incorporate(
                path={"identifier": of(str(relation.identifier), adapter_type)}, type="table"
            )
            for of in (feed_identifier, companion_identifier)
        )
        read_from = feed
        noted |= {"target": str(relation), "companion": str(companion)}
    noted |= {"relation": str(read_from), "is_cte": is_cte}
    name = str(given.get("name", relation.identifier if executes else ""))
    read = Read(KIND, name, noted, f"select * from {read_from}")
    before.append(read.noted)
    return reads.marked(read)


def _wrong_arguments(relation: Any, given: Mapping[str, Any], others: Sequence[object]) -> list[str]:
    problems = []
    if not is_relation(relation):
        problems.append(
            f"stream is given {relation!r}, which is no relation; write stream(ref('<model>'), ...) or source(...)"
        )
    if others:
        problems.append(
            f"stream has {others[0]!r} without a name; name every argument but the first: offset='id'"
        )
    problems += [
        f"stream has no argument {name}; {did_you_mean(name, _ARGUMENTS)}"
        for name in given
        if name not in _ARGUMENTS
    ]
    offset, feed, name = given.get("offset"), given.get("change_feed", False), given.get("name", "x")
    if offset is not None and (not isinstance(offset, str) or not offset.strip()):
        problems.append(f"stream: offset is {offset!r}; write one column, or a SQL expression, as text")
    if not isinstance(feed, bool):
        problems.append(f"stream: change_feed is {feed!r}; write true or false")
    elif feed and offset is not None:
        problems.append(
            "stream: offset and change_feed are both set, and a change feed is read by its own versions; leave offset"
            " out"
        )
    if not isinstance(name, str) or not name.strip():
        problems.append(f"stream: name is {name!r}; write text, or leave it out")
    if "look_back" in given:
        try:
            distance(given["look_back"])
        except Problem as problem:
            problems.append(f"stream: look_back {problem}".replace("numeric sequence", "numeric offset"))
    return problems


def problems(read: Read, materialized: str) -> list[str]:
    """Return why a stream does not go with a model's materialization, if it does not."""
    shown = f"stream {read.name}" if read.name else "a stream"
    if materialized in _UNFIT:
        return [f"{shown} {_UNFIT[materialized]}"]
    if materialized not in SPECS and materialized != "ephemeral":
        return [
            (
                f"{shown} stands in a model materialized as {materialized}, which would read everything in every run;"
                f" write materialized='append_flow', or another of this package, or select from the relation itself"
            )
        ]
    if materialized in APPENDING and read.options.get("look_back") is not None:
        return [
            (
                f"{shown} has look_back, and {materialized} would have the rows that are read again twice; leave it"
                f" out, or read the stream in an auto_cdc model, which knows events again"
            )
        ]
    return []


# what a run makes of it


def observe(read: Read, around: Around, number: int) -> Reading:
    """Look at a stream's relation and position; raises `AutoCdcError` with what stands against reading it."""
    if read.options.get("is_cte"):
        raise AutoCdcError(
            around.model,
            [
                (
                    f"stream {read.name} is of an ephemeral model, which is no relation that rows could be added to;"
                    f" materialize it as a view or table"
                )
            ],
        )
    if around.partial:
        return _of_a_part(read, around)
    return _observed(read, around, number).reading()


def _of_a_part(read: Read, around: Around) -> Reading:
    """Under a flag that reads a part of the source: no position moves, and none is looked at."""
    told = f"stream {read.name}: all that {around.partial} gives, without a record"
    record, reached = tuple[Step, ...](), ""
    if around.appends and not around.goes_on and around.partial != "--empty":
        head = around.engine.text(Position(KIND, read.name, is_sample=True).head)
        sql = (
            f"insert into {around.relations.companion} ({names.KIND}, {names.CONTROL})"
            f" values ('position', {head})"
        )
        record = (Step(f"remember that stream {read.name} was read in part", sql),)
        reached = f"select {head} as {names.CONTROL}"
    return Reading(read.name, read.header, read.sql, read.sql, record=record, reached=reached, told=told)


@dataclass(frozen=True)
class _Stream:
    """A stream that can be read: its columns, its offset as SQL over rows called src, and the type of that."""

    read: Read
    around: Around
    number: int
    columns: tuple[Column, ...]
    by: str
    offset: str
    type: str
    position: Position | None
    as_it_is: first_read.AsItIs | None = None

    @property
    def relation(self) -> str:
        return str(self.read.options["relation"])

    @property
    def reach(self) -> str:
        """The working table that holds where the stream ends in this run."""
        engine, identifier = self.around.engine, self.around.relations.identifier
        suffix = names.of_run(f"{names.REACH}_{self.number}", self.around.run)
        return working_relation(engine, identifier, suffix, target=self.around.relations.target)

    def reading(self) -> Reading:
        """Return what a run does with the stream."""
        if self.as_it_is is not None:
            return self._of_the_table(self.as_it_is)
        rows = self._columns()
        since = self._since()
        until = f"{self.offset} <= (select {names.GREATEST} from {self.reach})"
        source = f"select {rows}\nfrom {self.relation} as src"
        return Reading(
            name=self.read.name,
            header=self.read.header,
            look=source,
            sql=f"{source}\nwhere {all_of([*since, until])}",
            first=(self._see_how_far(), self._check()),
            record=(self._remember(),),
            reached=self._reached(),
            working=(self.reach,),
            told=self._told(),
        )

    def _of_the_table(self, taken: first_read.AsItIs) -> Reading:
        """Read the rows that the table has in the place of a feed that lacks some."""
        engine, identifier = self.around.engine, self.around.relations.identifier
        suffix = names.of_run(f"{names.AS_IT_IS}_{self.number}", self.around.run)
        working = working_relation(engine, identifier, suffix, target=self.around.relations.target)
        reach = Step(
            f"see how far stream {self.read.name} reaches",
            engine.create_working(self.reach, taken.reach(working)),
        )
        return Reading(
            name=self.read.name,
            header=self.read.header,
            look=f"select {self._columns()}\nfrom {self.relation} as src",
            sql=taken.read(working),
            first=(
                Step(
                    f"take the rows of {taken.target} as they are",
                    engine.create_working(working, taken.rows()),
                ),
                reach,
                self._check(),
            ),
            record=(self._remember(),),
            reached=self._reached(),
            working=(working, self.reach),
            told=(
                f"stream {self.read.name}: the rows of {taken.target} as they are, for its change feed does not begin"
                f" with its first rows"
            ),
        )

    def _told(self) -> str:
        by = f"by {self.by}" if self.by != names.RUN else "by its runs"
        since = f"above {self.position.value}" if self.position else "from its beginning"
        again = self.read.options.get("look_back")
        return f"stream {self.read.name}: {by}, {since}{f', and {again} before' if again and self.position else ''}"

    def _columns(self) -> str:
        """The relation's columns, but the number of a run, which is no value of a row."""
        kept = [column.name for column in self.columns if column.name.lower() != names.RUN]
        if len(kept) == len(self.columns):
            return "src.*"
        return comma(f"src.{self.around.engine.quote(name)}" for name in kept)

    @property
    def _last(self) -> str:
        """The position as SQL."""
        assert self.position is not None  # noqa: S101 - asked only where there is one
        return f"cast({self.around.engine.text(self.position.value)} as {self.type})"

    def _since(self) -> list[str]:
        if self.position is None:
            return []
        look_back = self.read.options.get("look_back")
        if look_back is None:
            return [f"{self.offset} > {self._last}"]
        below = self.around.engine.short_of(self.position.value, self.type, distance(look_back))
        return [f"{self.offset} > {below}"]

    def _see_how_far(self) -> Step:
        """Fix the end of the stream. Out: one row, the greatest offset and how many rows have none.

        Two sub-queries, because each is answered by an index or by statistics where there are any.
        """
        source = f"from {self.relation} as src"
        greatest = self.around.engine.extreme("max", self.offset, self.type)
        parts = {
            names.GREATEST: f"select {greatest} {source}",
            names.UNKNOWN: f"select count(*) {source} where {self.offset} is null",
        }
        if self._first_at_most:
            parts[names.FIRST] = f"select min({self.offset}) {source}"
        columns = comma(f"({select}) as {name}" for name, select in parts.items())
        query = Query().then("reach", f"select\n    {columns}")
        sql = self.around.engine.create_working(self.reach, query)
        return Step(f"see how far stream {self.read.name} reaches", sql)

    @property
    def _counts_versions(self) -> bool:
        """Whether it is a change feed: it must still hold the version that follows."""
        return bool(self.read.options.get("change_feed")) and self.as_it_is is None

    @property
    def _first_at_most(self) -> str:
        """At most what the least offset may be, as SQL, or nothing where that says nothing.

        The number of runs tells a table that was built anew, whatever came since.
        """
        if self._counts_versions:
            return "1" if self.position is None else f"{self._last} + 1"
        return self._last if self.by == names.RUN and self.position is not None else ""

    @property
    def _moved(self) -> str:
        return f"stream_{self.number}_moved"

    def _check(self) -> Step:
        """Refuse a stream that lost its order. Out: one row of measures."""
        greatest, prefix = names.GREATEST, f"stream_{self.number}"
        missing, behind = f"{prefix}_missing", f"{prefix}_behind"
        moved, fell = f"{greatest} is not null", "false"
        if self.position is not None:
            moved, fell = f"{greatest} > {self._last}", f"{greatest} < {self._last}"
        anew = f"{names.FIRST} > {self._first_at_most}" if self._first_at_most else "false"
        sql = (
            f"select\n    {names.UNKNOWN} as {missing},\n"
            f"    case when {fell} then 1 else 0 end as {behind},\n"
            f"    case when {anew} then 1 else 0 end as {prefix}_anew,\n"
            f"    {self.around.engine.as_text(greatest)} as {behind}_example,\n"
            f"    case when {moved} then 1 else 0 end as {self._moved}\nfrom {self.reach}"
        )
        return Step(f"check stream {self.read.name}", sql, measures=True, rules=tuple(self._rules(prefix)))

    @property
    def _instead_of_null(self) -> str:
        if self.by == names.RUN:
            return "they were put in by hand: set it to a number above the greatest one"
        return "give them one, or stream a view without them"

    def _rules(self, prefix: str) -> list[Rule]:
        name, model = self.read.name, self.around.model
        rules = [
            Rule(
                f"{prefix}_missing",
                f"stream {name}: offset {self.by} is null in {{count}} row{{s}} of {self.relation}, which could never"
                f" be read; {self._instead_of_null}",
            )
        ]
        if self.position is not None:
            rules.append(
                Rule(
                    f"{prefix}_behind",
                    f"stream {name}: the greatest {self.by} of {self.relation} is {{example}}, and a run before read up"
                    f" to {self.position.value}, so rows were removed, or the relation was built anew;"
                    f" {_ways_out(model, name)}",
                )
            )
            lost = (
                f"lacks versions behind {self.position.value}, up to which it was read: it was trimmed, or began anew"
                if self._counts_versions
                else f"has no row any more of the runs that were read, up to run {self.position.value}, so it was"
                f" built anew"
            )
            rules.append(
                Rule(f"{prefix}_anew", f"stream {name}: {self.relation} {lost}; {_ways_out(model, name)}")
            )
        elif self._counts_versions:
            trimmed = f"{self.relation} was trimmed, or began anew, while this run began; run it again"
            rules.append(Rule(f"{prefix}_anew", f"stream {name}: {trimmed}"))
        return rules

    def _remember(self) -> Step:
        """Remember the greatest offset that the source has, whatever the model makes of its rows."""
        companion, engine, value = self.around.relations.companion, self.around.engine, self._value()
        moved = () if self._is_told_anew else (self._moved,)
        name = f"remember how far stream {self.read.name} was read"
        if not engine.transactions:
            written = self.position.written if self.position is not None else ""
            sql = journal.noted_once(
                engine, companion, "position", was=written, rows=self._reached(), run=self.around.run
            )
            return Step(name, sql, moved, settles=True)
        if self.position is not None:
            sql = (
                f"update {companion} set {names.CONTROL} = (select {value} from {self.reach})\n"
                f"where {names.KIND} = 'position' and {names.CONTROL} = {engine.text(self.position.written)}"
            )
        else:
            rows = f"select 'position', {value} from {self.reach}"
            sql = f"insert into {companion} ({names.KIND}, {names.CONTROL})\n{rows}"
        return Step(name, sql, moved)

    def _reached(self) -> str:
        """Return the query of the position; no row where there is none yet."""
        value = self._value()
        return f"select {value} as {names.CONTROL} from {self.reach} where {value} is not null"

    def _value(self) -> str:
        """Return the position over the table that holds where the stream ends."""
        engine = self.around.engine
        more = {_FLOWS: self._read_by}
        now = Position(KIND, self.read.name, type=self.type, by=self.by, more=more, engine=engine.name)
        reached = engine.exactly(names.GREATEST, self.type)
        if self._is_told_anew:
            # Whether or not there was anything new.
            reached = f"coalesce({reached}, {engine.exactly(self._last, self.type)})"
        return f"{engine.text(now.head)} || {reached}"

    @property
    def _read_by(self) -> list[str]:
        """The flows that have read it with this run."""
        return sorted({*(name for name in self._recorded_flows if name), *self._flows})

    @property
    def _is_told_anew(self) -> bool:
        """Whether flows read it now that had not before, or the position is in the words of another engine."""
        position = self.position
        if position is None:
            return False
        return self._read_by != self._recorded_flows or position.engine != self.around.engine.name

    @property
    def _flows(self) -> tuple[str, ...]:
        """The flows that read it now; without a name where the model has none."""
        return self.around.flows.get(self.read.header, ("",))

    @property
    def _recorded_flows(self) -> list[str]:
        """The flows that read it up to its position."""
        recorded = self.position.more.get(_FLOWS) if self.position is not None else None
        return [str(name) for name in recorded] if isinstance(recorded, list) else []

    @property
    def new_flows(self) -> list[str]:
        """The flows that would miss what others read before; where the model itself read it, there are none."""
        before = {name.lower() for name in self._recorded_flows}
        if not before or "" in before:
            return []
        return [name for name in self._flows if name and name.lower() not in before]


def _ways_out(model: str, name: str) -> str:
    return (
        f"to read all of it again, forget how far it was read (dbt run-operation auto_cdc.reset_streams --args"
        f" '{{model: {model}, streams: [{name}]}}'), or rebuild the target with --full-refresh"
    )


def _observed(read: Read, around: Around, number: int) -> _Stream:
    """Ask the engine about a stream's relation and offset, and set them beside the position."""
    columns = _columns_of(read, around)
    by = _what_it_goes_by(read, around, columns)
    offset, type_name = _offset(read, around, columns, by)
    position = around.positions.get(read.name.lower()) if around.goes_on else None
    taken = _as_it_is(read, around, columns) if position is None and read.options.get("change_feed") else None
    found = _Stream(read, around, number, columns, by, offset, type_name, position, taken)
    wrong = [*_unfit_type(found), *_unfit_look_back(found), *_unfit_position(found)]
    if wrong:
        raise AutoCdcError(around.model, wrong)
    return found


def _columns_of(read: Read, around: Around) -> tuple[Column, ...]:
    relation = str(read.options["relation"])
    try:
        return columns_in(around.ask(around.engine.describe_relation(relation)))
    except Exception as error:
        said = said_by(around.engine.name, error)
        problem = f"stream {read.name}: {relation} cannot be read; {said}"
        if read.options.get("change_feed"):
            problem += (
                " (it is the change feed of a model that has change_data_feed=true, from its next run on)"
            )
        raise AutoCdcError(around.model, [problem]) from error


def _as_it_is(read: Read, around: Around, columns: tuple[Column, ...]) -> first_read.AsItIs | None:
    """Return what is read in the place of a feed that does not begin with the table's first rows, else nothing."""
    feed, target, companion = (str(read.options[name]) for name in ("relation", "target", "companion"))
    looked_at = companion
    try:
        if first_read.has_everything(around.ask, feed, companion):
            return None
        looked_at = target
        found = columns_in(around.ask(around.engine.describe_relation(target)))
    except Exception as error:
        said = said_by(around.engine.name, error)
        problem = (
            f"stream {read.name}: {looked_at} cannot be read, which is looked at before a change feed is read for the"
            f" first time; {said}"
        )
        raise AutoCdcError(around.model, [problem]) from error
    return first_read.AsItIs(feed, target, companion, columns, found, around.engine)


def _what_it_goes_by(read: Read, around: Around, columns: tuple[Column, ...]) -> str:
    """Return the offset as written, or the column by which our own tables are read."""
    relation, there = read.options["relation"], {column.name.lower() for column in columns}
    if read.options.get("change_feed"):
        if names.COMMIT_VERSION not in there:
            problem = f"{relation} has no column {names.COMMIT_VERSION}, so it is no change feed"
            raise AutoCdcError(
                around.model, [f"stream {read.name}: {problem}; leave change_feed out, and name an offset"]
            )
        return names.COMMIT_VERSION
    if offset := read.options.get("offset"):
        return str(offset)
    if names.RUN not in there:
        problem = (
            f"stream {read.name}: {relation} is no append_flow target, so name what grows with every row that is added:"
            f" stream(..., offset='id'); a target of another kind is streamed by its changes: stream(...,"
            f" change_feed=true)"
        )
        raise AutoCdcError(around.model, [problem])
    return names.RUN


def _offset(read: Read, around: Around, columns: tuple[Column, ...], by: str) -> tuple[str, str]:
    """Return the offset as SQL over rows called src, and its type, which the engine tells."""
    engine, relation = around.engine, read.options["relation"]
    expression = condition_expression(by, columns, engine)
    # The relation's own columns come first, so that an aggregate is refused; a condition refuses a window function.
    query = (
        f"select src.*, {expression} as {names.SEQUENCE}\nfrom {relation} as src\n"
        f"where {expression} is not null"
    )
    try:
        type_name = columns_in(around.ask(engine.describe(query)))[-1].type
    except Exception as error:
        known = [column.name for column in columns]
        if is_name(by) and Columns(columns).find(by) is None:
            problem = unknown_name("offset", unquoted(by.strip()), known).replace(
                "of the model", f"of {relation}"
            )
        else:
            problem = f"offset {by} is not valid SQL over {relation}; {said_by(engine.name, error)}"
        raise AutoCdcError(around.model, [f"stream {read.name}: {problem}"]) from error
    return engine.in_order(expression, type_name), type_name


def _unfit_type(found: _Stream) -> list[str]:
    engine, type_name = found.around.engine, found.type
    if engine.is_orderable(type_name) and not engine.fields(type_name) and not type_name.endswith("]"):
        return []
    return [
        f"stream {found.read.name}: offset {found.by} has type {type_name}; use a number, a date, a timestamp or text"
    ]


def _unfit_look_back(found: _Stream) -> list[str]:
    look_back = found.read.options.get("look_back")
    if look_back is None:
        return []
    instead = instead_of_distance(distance(look_back), found.around.engine.distance_of(found.type))
    problem = (
        f"stream {found.read.name}: look_back is {look_back}, but offset {found.by} has type {found.type}"
    )
    return [f"{problem}; {instead}"] if instead else []


def _unfit_position(found: _Stream) -> list[str]:
    position, name, model = found.position, found.read.name, found.around.model
    if position is None:
        return _unfit_beginning(found)
    if position.is_sample:
        target = found.around.relations.target
        problem = f"stream {name}: {target} was built from a sample of it, whose rows would come twice"
        return [f"{problem}; rebuild the target with --full-refresh"]
    if position.kind != KIND:
        return [
            f"{name} was read as {position.kind} before; give the stream another name, as in name='{name}_2'"
        ]
    facts = {"offset": (position.by, found.by)}
    if not _is_alike(found.around.engine, position, found.type):
        facts["the type of its offset"] = (position.type, found.type)
    copied = (
        ""
        if position.engine
        else ", or, where the target was copied from another engine, run the model there with this release first and"
        " copy it again"
    )
    return [
        f"stream {name}: {what} was {was} in the last run and is {now} now; change it back{copied}, or,"
        f" {_ways_out(model, name)}"
        for what, (was, now) in facts.items()
        if was.lower() != now.lower()
    ] + [
        f"stream {name}: flow {flow} would miss what other flows read of it, up to {position.value}; for a flow that is"
        f" new give it a name of its own, as in name='{name}_2', and for one that got another name write the old one"
        for flow in found.new_flows
    ]


def _unfit_beginning(found: _Stream) -> list[str]:
    """Refuse a stream without a position where it may be one that had another name: its rows would come twice."""
    around, name = found.around, found.read.name
    if not (around.appends and around.goes_on):
        return []
    gone = [
        position
        for folded, position in around.positions.items()
        if position.kind == KIND and folded not in around.named
    ]
    if not gone:
        return []
    left, model = gone[0].name, around.model
    shown = listed(position.name for position in gone)
    problem = (
        f"stream {name} was never read, and {shown}, which {'was' if len(gone) == 1 else 'were'} read before, is not in"
        f" the model any more, so the rows of a relation that was renamed would come twice"
    )
    forget = f"dbt run-operation auto_cdc.reset_streams --args '{{model: {model}, streams: [{left}]}}'"
    return [
        (
            f"{problem}; if {name} is {left} under another name, write name='{left}', which goes on there; if it is"
            f" another one, forget {left} ({forget}), or rebuild the target with --full-refresh"
        )
    ]


def _is_alike(engine: Engine, position: Position, now: str) -> bool:
    """Whether the value of a position has the same place in the order of the offset as it had when it was read."""
    writer = engine_called(position.engine) if position.engine != engine.name else None
    if writer is None:
        return _is_as_wide(engine, position.type, now)
    order = writer.order_of(position.type)
    return order != "" and order == engine.order_of(now)


def _is_as_wide(engine: Engine, was: str, now: str) -> bool:
    """Whether what was read, as text, has the same place in the order of a type as it had in another."""
    if was.lower() == now.lower():
        return True
    if was.lower() in _INEXACT:
        return False
    alike = engine.distance_of(was) or was.partition("(")[0], engine.distance_of(now) or now.partition("(")[0]
    return alike[0].lower() == alike[1].lower() and engine.widens(was, now)


EXPORTS: dict[str, Callable[..., object]] = {"stream": stream}
