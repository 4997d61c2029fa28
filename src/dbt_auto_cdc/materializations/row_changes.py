"""What becomes of the rows of a table where no place finds them: one statement, which may be sent twice.

Rows that go, come or end are looked for by what tells them, and rows that come take the place of themselves.

Not here: when it is sent, and what of a run is written down before (`materializations.journal`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

from dbt_auto_cdc import names
from dbt_auto_cdc.engines.base import Engine
from dbt_auto_cdc.plan import Part, Step, Write, whenever_sent
from dbt_auto_cdc.sql import Query, comma, indented, is_read

GONE, BORN, ENDED, PAST, DONE = "gone", "born", "ended", "past", "done"
_DELETED = f"when matched and src.{names.ACTION} = '{GONE}' then delete"
UNION = "\nunion all\n"
_NO_ROW = "(select 1 as one) as nothing\nwhere false"


class RowChanges:
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
        self.is_sent_alone = False

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

    @cached_property
    def is_settled(self) -> bool:
        """Whether the rows come from working tables alone, and all or none of them: nothing need be written down.

        It is asked when all `writes` are there, and when it is known whether what reads the rows `is_sent_alone`, also
        where there is none of them: then it may not read working tables that are left out.
        """
        queries = [
            query.render()
            for _, write in self.writes
            for query in (write.gone, write.born, write.ended, write.past)
            if query is not None
        ]
        reads = any(is_read(relation, query) for relation in self.changing for query in queries)
        left_out = {step.only_if for step, _ in self.writes}
        lacks = self.is_sent_alone and left_out != {()}
        return self.engine.merges and len(left_out) <= 1 and not reads and not lacks

    @property
    def odd(self) -> tuple[str, ...]:
        """The measures that are above zero where the rows that are there are not as the run expects them."""
        is_told = self.is_settled and all(write.odd for _, write in self.writes)
        return tuple(dict.fromkeys(write.odd for _, write in self.writes)) if is_told else ()

    @property
    def _source(self) -> str:
        """The rows that go, come and end, as something to select from."""
        return self._settled(self._parts()) if self.is_settled else self.table

    @staticmethod
    def _settled(parts: Iterable[Part]) -> str:
        return f"(\n{indented(UNION.join(part.sql for part in parts))}\n) as changes"

    @property
    def goes_back(self) -> bool:
        """Whether the rows that go are kept, to be put back if the run is stopped."""
        return any(write.past for _, write in self.writes)

    @property
    def is_apart(self) -> bool:
        """Whether no two rows of the run are told alike."""
        return all(write.apart for _, write in self.writes)

    @property
    def _ending(self) -> list[str]:
        """The columns that get other values in rows that end: the same in all of them."""
        return next((list(write.columns) for _, write in self.writes if write.ended), [])

    @property
    def _place_type(self) -> str:
        return self.engine.place_type(self.identity.items())

    @property
    def _null_place(self) -> str:
        return self.engine.null(self._place_type)

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

    def _parts(self, *, added: bool | None = None) -> list[Part]:
        """Return the SELECTs of the rows of all steps, or of those whose rows are `added`, or are not."""
        return [
            Part(sql, write.has_rows_if or step.only_if)
            for number, (step, write) in enumerate(self.writes)
            if added is None or write.added == added
            for sql in self._rows(number, write)
        ]

    def _rows(self, number: int, write: Write) -> Iterable[str]:
        """Return the SELECTs of the rows of one step, its number with them."""
        kind = self._place_type
        if write.gone:
            gone = f"{self.engine.named(write.gone, 'gone', {'place': kind})} where place is not null"
            yield self._row({}, place="place", action=(GONE, number)) + gone
        if write.ended:
            given = {f"value_{n}": self.types[name] for n, name in enumerate(write.columns)}
            ended = self.engine.named(write.ended, "ended", {"place": kind, **given})
            changed = dict(zip(write.columns, given, strict=True))
            yield self._row(changed, place="place", action=(ENDED, number)) + ended
        if write.born:
            yield self._whole(write.born, write, action=(BORN, number))
        if write.past:
            yield self._whole(write.past, write, action=(PAST, number))

    def _whole(self, rows: Query, write: Write, *, action: tuple[str, int]) -> str:
        """Return the SELECT of rows with the values of all columns."""
        listed = comma(
            f"born.{name}" if name in write.columns else f"{self.engine.null(kind)} as {name}"
            for name, kind in self.types.items()
        )
        born = self.engine.named(rows, "born", {name: self.types[name] for name in write.columns})
        place = self.engine.place("row_born", self.identity.items())
        every = {name: f"row_born.{name}" for name in self.types}
        row = self._row(every, place=place, action=action)
        return f"{row}(\nselect\n    {listed}\nfrom {born}\n) as row_born"

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

    def applied(self, *, done: tuple[str, str] | None = None, turn: str = "") -> list[str]:
        """Return the statement that does it: whatever is told like a row that goes or comes goes, then rows come.

        It does nothing unless the join `turn` finds a row. That of a companion also changes the note of a run, where
        it is one statement: `done` is the condition that a row called tgt is that note, and what it is when nothing is
        left but to drop the run's working tables.
        """
        if not self.writes:
            return []
        if not self.engine.merges:
            return self._in_parts(self._in_turn(turn), BORN)
        if self.is_apart:
            source = [self._each_once(self._source)]
            cases = self._overwritten
        else:
            source = self._each_told(self._in_turn(turn), BORN)
            cases = [_DELETED]
        if self._ending:
            cases.append(self._updated(ENDED, self._ending))
        if done:
            is_note, note = done
            source.append(self._done(note))
            cases.append(self._updated(DONE, [names.CONTROL], only_if=f" and {is_note}"))
        return [self._merged(UNION.join(source), [*cases, self._inserted(BORN)], apart=self.is_apart)]

    def taken_back(self) -> list[str]:
        """Return the statement that undoes it: of all that is told like a row that went or came there is what was."""
        if not self.engine.merges:
            return self._in_parts(self._source, PAST)
        rows = UNION.join(self._each_told(self._source, PAST))
        return [self._merged(rows, [_DELETED, self._inserted(PAST)], apart=False)]

    def _in_turn(self, turn: str) -> str:
        """The rows that go, come and end, as something to select from; none unless a join finds a row."""
        if not turn:
            return self._source
        return f"(\nselect changes.*\nfrom {self._source} as changes\n{turn}\n) as changes"

    def as_told(self) -> list[Step]:
        """Return the steps that do it where no measure says that what is there is `odd`: rows change where they are.

        Where the engine adds rows apart, they are merged by themselves. A statement of the others only looks for those
        that change, to which a large table need not be sorted, and one that finds nothing to change only adds.
        """
        if not self.engine.adds_apart:
            cases = [_DELETED, *self._overwritten, self._inserted(BORN)]
            return [self._as_told("change", cases, added=None)]
        return [
            self._as_told("change", [_DELETED, *self._overwritten], added=False),
            self._as_told("add to", [*self._overwritten, self._inserted(BORN)], added=True),
        ]

    def _as_told(self, what: str, cases: list[str], *, added: bool | None) -> Step:
        parts = self._parts(added=added)
        sql = self._merged(self._each_once(self._settled(parts)), cases, apart=True)
        return Step(f"{what} {self.relation}", sql, whenever_sent(parts), unless=self.odd)

    def _merged(self, source: str, cases: Iterable[str], *, apart: bool) -> str:
        place = f"src.{names.LOCATOR}"
        is_at = self.engine.is_at("tgt", self.identity.items(), place, apart=apart)
        merge = f"merge into {self.relation} as tgt using (\n{source}\n) as src\non {is_at}"
        return "\n".join([merge, *cases])

    @property
    def _overwritten(self) -> list[str]:
        """The case of a row that takes the place of the one that is told like it; none where nothing else tells it."""
        changing = [name for name in self.types if name not in self.identity]
        return [self._updated(BORN, changing)] if changing else []

    def _inserted(self, comes: str) -> str:
        columns, values = ", ".join(self.types), ", ".join(f"src.{name}" for name in self.types)
        return (
            f"when not matched and src.{names.ACTION} = '{comes}' then insert ({columns}) values ({values})"
        )

    @staticmethod
    def _updated(action: str, columns: Iterable[str], *, only_if: str = "") -> str:
        values = ", ".join(f"{name} = src.{name}" for name in columns)
        return f"when matched and src.{names.ACTION} = '{action}'{only_if} then update set {values}"

    def _done(self, note: str) -> str:
        """The row of the merge that changes the note of a run."""
        own = {names.KIND: self.engine.text(names.JOURNAL), names.CONTROL: self.engine.text(note)}
        place = self.engine.place("own", self.identity.items())
        columns = f"{', '.join(self.types)}, {place}, '{DONE}' as {names.ACTION}"
        return f"select {columns}\nfrom (\nselect\n    {self.engine.row(self.types, own)}\n) as own"

    def _each_once(self, source: str) -> str:
        """The rows of the merge where no two of them are told alike: one that comes takes the place of itself."""
        return f"select {', '.join(self.types)}, {names.LOCATOR}, {names.ACTION}\nfrom {source}"

    def _each_told(self, source: str, comes: str) -> list[str]:
        """The rows of the merge where there may be more of one place: what is told like one that comes goes first."""
        columns = ", ".join(self.types)
        nulls = [f"{self.engine.null(kind)} as {name}" for name, kind in self.types.items()]
        told = f"select {names.LOCATOR} from {source}\nwhere {names.ACTION} in ('{GONE}', '{BORN}')"
        going = f"select\n    {comma(nulls)},\n    {names.LOCATOR}, '{GONE}' as {names.ACTION}\n"
        going += f"from (\n{told}\ngroup by {names.LOCATOR}\n) as going"
        coming = (
            f"select {columns}, {self._null_place} as {names.LOCATOR}, {names.ACTION}\n"
            f"from {source}\nwhere {names.ACTION} = '{comes}'"
        )
        staying = f"select {columns}, {names.LOCATOR}, {names.ACTION}\nfrom {source}\n"
        staying += f"where {names.ACTION} = '{ENDED}'"
        return [going, coming, *([staying] if self._ending else [])]

    def _in_parts(self, source: str, comes: str) -> list[str]:
        """Return statements that do the same: sent again after any of them, they leave the same rows."""
        place = self.engine.place(self.relation.rpartition(".")[2], self.identity.items())
        going = f"select {names.LOCATOR} from {source} where {names.ACTION} in ('{GONE}', '{BORN}')"
        columns = list(self.types)
        coming = f"select {', '.join(columns)} from {source} where {names.ACTION} = '{comes}'"
        return [
            f"delete from {self.relation} where {place} in (\n{going}\n)",
            *self._ended_in_parts(place),
            self.engine.insert(self.relation, columns, Query().then("born", coming)),
        ]

    def _ended_in_parts(self, place: str) -> Iterable[str]:
        values = ", ".join(f"{column} = src.{column}" for column in self._ending)
        if values:
            yield (
                f"update {self.relation} set {values}\nfrom {self.table} as src\n"
                f"where {place} = src.{names.LOCATOR} and src.{names.ACTION} = '{ENDED}'"
            )
