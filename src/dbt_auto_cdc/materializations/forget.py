"""Forgetting keys: their rows go from the target and from all that stands beside it, in one transaction.

Not here: which tables there are (macros look), and the source, from which a run may read a key again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dbt_auto_cdc import names
from dbt_auto_cdc.engines.base import Engine
from dbt_auto_cdc.errors import AutoCdcError, did_you_mean, listed
from dbt_auto_cdc.materializations.tables import marked
from dbt_auto_cdc.plan import Plan, Rule, Step
from dbt_auto_cdc.relations import working_relation
from dbt_auto_cdc.sql import Query, all_of, text
from dbt_auto_cdc.state import Column, Relations

UNKNOWN = "num_unknown_keys"
TOLD = "num_told_rows"
# The words for the tables, in messages and figures.
TARGET, COMPANION, CHANGES, QUARANTINE = "target", "companion", "change feed", "quarantine"
_WHOLE = re.compile(r"[+-]?\d+")


@dataclass(frozen=True)
class Held:
    """A table that is there, with its columns."""

    relation: str
    columns: tuple[Column, ...]

    def find(self, name: str) -> Column | None:
        """Return a column by its name, in any case."""
        return next((column for column in self.columns if column.name.lower() == name.lower()), None)


@dataclass(frozen=True)
class Place:
    """A model's target with what there is beside it, by the words for the tables.

    `keys` are the columns that are kept together, none for a model without keys; `starts` those that tell the rows of
    a key from each other in a history. `counts_versions` says that the companion knows the change feed's last version.
    """

    model: str
    relations: Relations
    engine: Engine
    keys: tuple[str, ...]
    held: Mapping[str, Held] = field(default_factory=dict)
    starts: tuple[str, ...] = ()
    counts_versions: bool = False

    @property
    def main(self) -> Held:
        """The table whose columns have the keys' types."""
        return self.held.get(TARGET) or self.held[COMPANION]


def plan(place: Place, keys: object) -> Plan:
    """Return the plan of forgetting keys; raises `AutoCdcError` with everything that is wrong with them. Pure.

    Of the change feed the older rows of the keys go; what remains is that they were deleted, in rows with nothing but
    what identifies a row.
    """
    if not {TARGET, COMPANION} & place.held.keys():
        raise AutoCdcError(
            place.model, [f"there is no {place.relations.target}, so there is nothing to forget"]
        )
    wanted = _wanted(place, keys)
    work = _Work(place, tuple(wanted[0]))
    feed = work.tables.get(CHANGES)
    listing = place.engine.create_working(work.wanted, _listing(place, wanted))
    free = place.engine.drop_working([work.wanted, work.gone])
    return Plan(
        place.model,
        f"forget {len(wanted)} key{'s' if len(wanted) > 1 else ''}",
        (
            Step("list the keys", listing),
            work.unknown(),
            *((work.kept(feed),) if feed else ()),
            *work.removed(),
            *(work.told(feed) if feed else ()),
            *(marked(place.engine, place.relations.companion) if COMPANION in place.held else ()),
        ),
        closing=(Step("free the working tables", free),) if free else (),
    )


def forgotten(place: Place, measures: Mapping[str, int]) -> str:
    """Return what went, in a sentence."""
    counts = {word: measures.get(f"num_{word}_rows", 0) for word in place.held}
    told = listed(f"{count} row{'' if count == 1 else 's'} of the {word}" for word, count in counts.items())
    if not any(counts.values()):
        return f"forgot nothing: {told}"
    return f"forgot {told}; erase it at the source too, for a run that reads the key again brings it back"


# what is wanted


def _wanted(place: Place, given: object) -> list[dict[str, object]]:
    """Return the keys, each as columns with values."""
    if given is None or given in ([], {}, ""):
        example = ", ".join(f"{key}: ..." for key in place.keys or ("<column>",))
        raise AutoCdcError(place.model, [f"forget needs to know the keys; write keys: [{{{example}}}]"])
    problems: list[str] = []
    entries = given if isinstance(given, list | tuple) else [given]
    found = [_columns_of(place, entry, problems) for entry in entries]
    if not problems and len({frozenset(entry) for entry in found}) > 1:
        problems.append("keys name different columns; write the same ones for each key")
    if problems:
        raise AutoCdcError(place.model, list(dict.fromkeys(problems)))
    return found


def _columns_of(place: Place, entry: object, problems: list[str]) -> dict[str, object]:
    """Return one key by its columns."""
    if not isinstance(entry, Mapping):
        if len(place.keys) != 1:
            example = ", ".join(f"{key}: ..." for key in place.keys or ("<column>",))
            why = f"its keys are {listed(place.keys)}" if place.keys else "it has no keys"
            problems.append(f"{why}, and {entry!r} names no column; write keys: [{{{example}}}]")
            return {}
        entry = {place.keys[0]: entry}
    known = place.keys or tuple(c.name for c in place.main.columns if not names.is_reserved(c.name))
    by_name = {name.lower(): name for name in known}
    what = "key" if place.keys else "column"
    problems += [
        f"keys name {name}, which is no {what} of {place.relations.target}; {did_you_mean(str(name), list(known))}"
        for name in entry
        if str(name).lower() not in by_name
    ]
    found = {
        by_name[str(name).lower()]: value for name, value in entry.items() if str(name).lower() in by_name
    }
    missing = [key for key in place.keys if key not in found]
    if missing:
        problems.append(f"keys lack {listed(missing)}; name every column of a key: {listed(place.keys)}")
    for name, value in found.items():
        problems += _unfit(place, name, value)
    return {name: found[name] for name in known if name in found}


def _unfit(place: Place, name: str, value: object) -> list[str]:
    """Return what is wrong with a value that the engine's own cast would make something else of."""
    column = place.main.find(name)
    if isinstance(value, list | tuple | Mapping):
        return [f"{name} is {value!r}; write one value, as text where it is neither number nor date"]
    is_whole = column is not None and column.type.lower() in place.engine.integers
    if (
        not is_whole
        or value is None
        or (not isinstance(value, bool) and _WHOLE.fullmatch(str(value).strip()))
    ):
        return []
    return [
        f"{name} is {value!r}, and the column has type {column.type if column else ''}; write a whole number"
    ]


def _listing(place: Place, wanted: Sequence[Mapping[str, object]]) -> Query:
    """Return the keys as rows, in the columns' types."""

    def literal(name: str, value: object) -> str:
        column = place.main.find(name)
        shown = str(value).lower() if isinstance(value, bool) else str(value)
        return f"cast({'null' if value is None else text(shown)} as {column.type if column else 'varchar'})"

    rows = [
        ", ".join(
            f"{literal(name, value)} as k{number}" for number, (name, value) in enumerate(entry.items())
        )
        for entry in wanted
    ]
    return Query().then("keys", "\nunion\n".join(f"select {row}" for row in rows))


# what is done


@dataclass(frozen=True)
class _Work:
    """The statements, over the columns that name the keys."""

    place: Place
    columns: tuple[str, ...]

    @property
    def wanted(self) -> str:
        return working_relation(self.place.engine, self.place.relations.identifier, names.WANTED)

    @property
    def gone(self) -> str:
        return working_relation(self.place.engine, self.place.relations.identifier, names.GONE)

    @property
    def tables(self) -> dict[str, Held]:
        """The tables that may have rows of the keys; raises `AutoCdcError` for one of which nobody can tell."""
        held = {word: table for word, table in self.place.held.items() if all(map(table.find, self.columns))}
        blind = self.place.held.get(QUARANTINE)
        if blind and QUARANTINE not in held:
            lacking = listed(name for name in self.columns if not blind.find(name))
            problem = f"{blind.relation} has no column {lacking}, so nobody can tell whose rows it has"
            raise AutoCdcError(
                self.place.model, [f"{problem}; delete them there by hand, and drop or rename the table"]
            )
        return held

    @property
    def identifying(self) -> list[str]:
        """The columns that tell a row of the target from others."""
        return [*self.columns, *(name for name in self.place.starts if name not in self.columns)]

    def _joined(self, word: str, held: Held) -> str:
        """Return the FROM of the rows, tbl, of the keys; of the companion those that are about rows."""
        of_rows = f" and tbl.{names.KIND} in ('upsert', 'delete')" if word == COMPANION else ""
        return (
            f"from {held.relation} as tbl\njoin {self.wanted} as wanted on {self._is_wanted(held)}{of_rows}"
        )

    def _is_wanted(self, held: Held) -> str:
        """The condition that tbl has the key of wanted; a null is a key's part like any other."""
        conditions = []
        for number, name in enumerate(self.columns):
            column = held.find(name)
            assert column is not None  # noqa: S101 - `tables` has no others
            value = f"cast(wanted.k{number} as {column.type})"
            stored = f"tbl.{self.place.engine.quote(column.name)}"
            conditions.append(self.place.engine.is_same(stored, value, type_name=column.type))
        return all_of(conditions)

    def unknown(self) -> Step:
        """Warn of keys that are nowhere."""
        shown = " || ', ' || ".join(
            f"{text(name + '=')} || coalesce({self.place.engine.as_text(f'wanted.k{number}')}, 'null')"
            for number, name in enumerate(self.columns)
        )
        nowhere = all_of(
            f"not exists (select 1 from {held.relation} as tbl where {self._is_wanted(held)})"
            for held in self.tables.values()
        )
        sql = f"select count(*) as {UNKNOWN}, min({shown}) as {UNKNOWN}_example\nfrom {self.wanted} as wanted"
        rule = Rule(
            UNKNOWN, "{count} of the keys {is} nowhere to be found, for example {example}", warns=True
        )
        return Step("look for keys that are nowhere", f"{sql}\nwhere {nowhere}", measures=True, rules=(rule,))

    def kept(self, feed: Held) -> Step:
        """Keep what identifies the rows that go: those of the target, and those of which the feed tells.

        With each stands where the feed begins.
        """
        parts = []
        for word in (TARGET, CHANGES):
            if held := self.tables.get(word):
                found = [column for name in self.identifying if (column := held.find(name))]
                chosen = [
                    f"tbl.{self.place.engine.quote(column.name)} as i{number}"
                    for number, column in enumerate(found)
                ]
                parts.append(f"select {', '.join(chosen)}\n{self._joined(word, held)}")
        first = f"(select min({names.COMMIT_VERSION}) from {feed.relation}) as first_version"
        first += f", (select min({names.COMMIT_TIMESTAMP}) from {feed.relation}) as first_at"
        query = Query().then("identities", "\nunion\n".join(parts))
        query = query.then("gone", f"select src.*, {first}\nfrom identities as src")
        return Step("keep what identifies the rows", self.place.engine.create_working(self.gone, query))

    def removed(self) -> tuple[Step, ...]:
        """Remove the rows."""
        locator = self.place.engine.locator
        return tuple(
            Step(
                f"forget the keys in the {word}",
                self.place.engine.delete_located(
                    held.relation, Query().then("gone", f"select tbl.{locator}\n{self._joined(word, held)}")
                ),
                counts=f"num_{word}_rows",
            )
            for word, held in self.tables.items()
        )

    def told(self, feed: Held) -> tuple[Step, ...]:
        """Write down that the rows were deleted, under the next version, without a value."""
        engine, companion = self.place.engine, self.place.relations.companion
        of_the_feed = f"where {names.KIND} = {text(names.FEED)}"
        last = f"(select coalesce(max({names.COMMIT_VERSION}), 0) from {feed.relation})"
        if self.place.counts_versions:
            last = f"(select cast({names.CONTROL} as bigint) from {companion} {of_the_feed})"
        steps = [Step("tell the change feed", self._tell(feed, f"{last} + 1", engine.utc_now()), counts=TOLD)]
        if self.place.counts_versions:
            following = f"cast(cast({names.CONTROL} as bigint) + 1 as varchar)"
            sql = f"update {companion} set {names.CONTROL} = {following}\n{of_the_feed}"
            steps.append(Step("count the version", sql, (TOLD,)))
        # Who reads the feed takes one that begins later than it did for one that was trimmed.
        lost = f"not exists (select 1 from {feed.relation} as tbl where tbl.{names.COMMIT_VERSION} = src.first_version)"
        begins = self._tell(feed, "src.first_version", "src.first_at", f"\nwhere {lost}\nlimit 1")
        return (*steps, Step("let the change feed begin where it began", begins, (TOLD,)))

    def _tell(self, feed: Held, version: str, when: str, which: str = "") -> str:
        """Return the statement that puts rows that went into the feed as deleted."""
        engine = self.place.engine
        columns = [engine.quote(column.name) for name in self.identifying if (column := feed.find(name))]
        values = [*(f"src.i{number}" for number in range(len(columns))), "'delete'", version, when]
        query = Query().then("told", f"select {', '.join(values)}\nfrom {self.gone} as src{which}")
        return engine.insert(feed.relation, [*columns, *names.FEED_COLUMNS], query)
