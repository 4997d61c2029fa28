"""A target kept by the product, with the reference model beside it and a close look at both after every run.

Not here: which events come (`strategies`), what they mean (`reference_model`), how a plan is run (`direct`).
"""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import pytest
from hypothesis import Phase, given, seed, settings
from hypothesis import strategies as st

from dbt_auto_cdc.errors import AutoCdcError
from dbt_auto_cdc.scd import scd2
from tests import databases
from tests.bitemporal_model import SYSTEM_END, SYSTEM_START
from tests.databases import Connection, Spark, adapter_of, create_table, engine_of, tables_of
from tests.direct import Direct
from tests.reference_model import (
    END,
    START,
    Event,
    Figures,
    Key,
    Model,
    Refused,
    Row,
    comparable,
    sorted_rows,
)

if TYPE_CHECKING:
    from dbt_auto_cdc.execute import Outcome
    from tests.dbt_project import Project
    from tests.strategies import Shape, Stream

IS_NIGHTLY = os.environ.get("NIGHTLY", "") not in {"", "0"}
nightly = pytest.mark.skipif(not IS_NIGHTLY, reason="takes minutes: NIGHTLY=1 runs it")


def examples(usual: int, at_night: int) -> int:
    """Return how many examples a property is tried on: enough for every push, or for a night.

    The rules are DuckDB's business to prove; another engine, asked over a wire, is to show that it keeps them too. CI
    draws the same examples each time, and more of them would find in the hundredth run no more than in the first.
    """
    share = 1 if databases.chosen() == "duckdb" else 8
    if "CI" in os.environ and not IS_NIGHTLY:
        share *= 3
    return max(1, (at_night if IS_NIGHTLY else usual) // share)


def options_of(shape: Shape, *, truncates: bool = True) -> dict[str, Any]:
    """Return the options that make the product keep such a target."""
    options: dict[str, Any] = {
        "keys": list(shape.keys),
        "sequence_by": shape.sequence[0] if len(shape.sequence) == 1 else list(shape.sequence),
        "apply_as_deletes": "op = 'D'",
        "except_column_list": list(shape.excluded),
        "stored_as_scd_type": shape.scd_type,
        "sequence_ties": shape.sequence_ties,
    }
    if shape.scd_type == 1 and truncates:
        options["apply_as_truncates"] = "op = 'T'"
    if shape.scd_type == 2 and shape.tracking.form != "all":
        option = {"columns": "track_history_column_list", "except": "track_history_except_column_list"}
        options[option[shape.tracking.form]] = list(shape.tracking.names)
    return options


def plain(row: Row) -> Row:
    """Return an engine's row as the reference model writes it: bounds by their names, a struct as a tuple."""
    return {name: _plain(value) for name, value in with_names(row).items()}


def with_names(row: Row) -> Row:
    """Return an engine's row with the bounds by the names that they have where the engine does not fold them."""
    bounds = {name.lower(): name for name in (START, END, SYSTEM_START, SYSTEM_END)}
    return {bounds.get(name, name): value for name, value in row.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple(value.values())
    is_row = isinstance(value, str) and re.fullmatch(r"\(\d+,\d+\)", value)  # as PostgreSQL's client gives it
    return tuple(map(int, value[1:-1].split(","))) if is_row else value


def ends_in_place(connection: Connection) -> bool:
    """Tell whether a version that ends stays where it is; PostgreSQL moves whatever it writes."""
    return bool(scd2.IN_PLACE_FROM) and adapter_of(connection) == "duckdb"


def placed(connection: Connection, relation: str, as_model: Callable[[Row], Row] = plain) -> dict[Any, Row]:
    """Return a relation's rows by their places; where rows have none, by what they hold."""
    place = "" if isinstance(connection, Spark) else f"{engine_of(connection).locator} as place, "
    cursor = connection.execute(f"select {place}* from {relation}")
    columns = [column[0] for column in cursor.description or ()]
    rows = [as_model(dict(zip(columns, row, strict=True))) for row in cursor.fetchall()]
    if place:
        return {row.pop("place"): row for row in rows}
    alike: Counter[str] = Counter()
    found = {}
    for row in rows:
        held = repr(sorted(row.items()))
        alike[held] += 1
        found[held, alike[held]] = row
    return found


@dataclass(frozen=True)
class Look:
    """Target, companion, change feed and quarantine at one moment: the target's rows by row id, and no times."""

    target: dict[Any, Row]
    companion: Counter[Any]
    feed: Counter[Any] = field(default_factory=Counter)
    quarantine: Counter[Any] = field(default_factory=Counter)

    @property
    def rows(self) -> list[Row]:
        return sorted_rows(self.target.values())


def look_at(connection: Connection, name: str) -> Look:
    """Return what a target and the tables beside it hold; nothing before the first run."""
    tables = tables_of(connection)
    suffixes = ("", "__auto_cdc", "__auto_cdc_changes", "__auto_cdc_quarantine")
    target, *beside = (
        placed(connection, f"{name}{suffix}") if f"{name}{suffix}" in tables else {} for suffix in suffixes
    )
    return Look(target, *(Counter(comparable(_timeless(row)) for row in rows.values()) for rows in beside))


def _timeless(row: Row) -> Row:
    return {name: v for name, v in row.items() if name not in {"_commit_timestamp", "_quarantined_at"}}


@dataclass
class Watched:
    """One target of a shape, run after run; `model` is what it must equal.

    Unless it `is_new`, what is there of that name stays; the model knows nothing of it.
    """

    connection: Connection
    shape: Shape
    name: str = "target"
    truncates: bool = True
    retention: int | None = None
    is_new: bool = True
    model: Model = field(init=False)

    def __post_init__(self) -> None:
        self.model = Model(replace(self.shape.config, tombstone_retention=self.retention))
        self.direct = Direct(self.connection, self.name)
        self.options = options_of(self.shape, truncates=self.truncates) | {
            "tombstone_retention": self.retention
        }
        left = (self.name, self.companion, f"{self.companion}_changes", f"{self.companion}_quarantine")
        for table in left if self.is_new else ():
            self.connection.execute(f"drop table if exists {table}")

    @property
    def companion(self) -> str:
        return f"{self.name}__auto_cdc"

    def look(self) -> Look:
        """Return what target and companion hold; nothing before the first run."""
        return look_at(self.connection, self.name)

    def send(self, events: Iterable[Event]) -> Outcome:
        """Give the product one run of events, and leave the model alone."""
        create_table(
            self.connection, "feed", self.shape.types, [self.shape.feed_row(event) for event in events]
        )
        return self.direct.run(self.options)

    def run(self, events: Sequence[Event], *, counts: bool = True) -> Outcome | None:
        """Give product and model one run of events; fail unless rows, figures and row ids are right.

        Returns None where both refuse the run. Where rows were written by hand, the figures need not count.
        """
        before, expected = self.look(), Expected(self.model, events)
        if expected.refused:
            with pytest.raises(AutoCdcError, match=r"different events.*sequence_ties"):
                self.send(events)
            assert before == self.look()
            return None
        outcome = self.send(events)
        after = self.look()
        assert self.model.rows() == after.rows
        assert {1} == set(after.companion.values()), "remembered twice"
        assert not counts or expected.figures == outcome.figures
        self._only_touched_rows_move(before, after, expected)
        if not expected.touched and not expected.truncates:
            assert not before.target or before == after
        return outcome

    def replay(self, events: Sequence[Event]) -> None:
        """Give the product events that it knows: nothing is written, not a row, not a byte of the companion."""
        before = self.look()
        outcome = self.send(events)
        figures = outcome.figures
        written = [figures[name] for name in ("num_upserted_rows", "num_deleted_rows", "num_tied_rows")]
        assert [0, 0, 0] == written
        assert before == self.look()

    def _only_touched_rows_move(self, before: Look, after: Look, expected: Expected) -> None:
        """Rows of untouched keys stay where they are; in SCD type 2 all rows whose values stay do."""
        for place, row in before.target.items():
            stays = after.target.get(place)
            if tuple(row[name] for name in self.shape.keys) not in expected.touched:
                assert stays == row or (expected.truncates and row not in after.rows), f"{row} moved"
            elif self.shape.scd_type == 2 and not ends_in_place(self.connection):
                assert stays == row or row not in after.rows, f"{row} moved"
            elif self.shape.scd_type == 2:
                same_version = [now for now in after.rows if without_end(now) == without_end(row)]
                assert same_version == ([without_end(row) | {END: stays[END]}] if stays else []), (
                    f"{row} moved"
                )


class Expected:
    """What one run has to do, asked of the model, which is brought up to date with it.

    Two figures are the product's own variants of the model's. Both follow from what it keeps: of a type 1 key only
    the greatest event above the latest truncate. So a type 1 event counts as late, known or not, if it lies below
    that event; and known events are gone before duplicates are counted.
    """

    def __init__(self, model: Model, events: Sequence[Event]) -> None:
        self.config = model.config
        known, winners = dict(model._events), model._winners()
        heads = {key: winner.sequence for key, winner in winners.items()}
        self.truncates = {e.sequence for e in events if e.kind == "truncate"} - model._truncates
        try:
            figures = model.apply(events)
        except Refused as refused:
            self.refused = refused.reasons == ("ties",)
            if not self.refused:
                raise
            return
        self.refused = False
        latest = max(model._truncates, default=None)
        changes = [event for event in events if event.kind != "truncate"]
        if self.config.scd_type == 2:
            new = [event for event in changes if (event.key, event.sequence) not in known]
            late = figures.late
        else:
            new = [
                event
                for event in changes
                if (event.key not in heads or event.sequence > heads[event.key])
                and (latest is None or event.sequence >= latest)
            ]
            late = sum(event.key in heads and event.sequence < heads[event.key] for event in changes)
        self.touched: set[Key] = {event.key for event in new}
        self.figures = self._figures(figures, late, _copies(model, new))

    @staticmethod
    def _figures(figures: Figures, late: int, duplicates: int) -> dict[str, int]:
        return {
            "num_upserted_rows": figures.upserted,
            "num_deleted_rows": figures.deleted,
            "num_read_rows": figures.read,
            "num_late_rows": late,
            "num_duplicate_rows": duplicates,
            "num_tied_rows": figures.tied,
        }


def without_end(row: Row) -> Row:
    return {name: value for name, value in row.items() if name != END}


def _copies(model: Model, events: Iterable[Event]) -> int:
    """Count the events that repeat another one of the run."""
    contents: dict[Any, int] = defaultdict(int)
    for event in events:
        contents[model._content(event)] += 1
    return sum(copies - 1 for copies in contents.values())


# Through dbt


Drawn = TypeVar("Drawn")


def drawn(number: int, count: int, strategy: st.SearchStrategy[Drawn]) -> list[Drawn]:
    """Draw examples that depend on nothing but the number; the first that hypothesis tries are too simple."""
    found: list[Drawn] = []

    @seed(number)
    @settings(max_examples=4 * count, database=None, phases=[Phase.generate])
    @given(strategy)
    def collect(example: Drawn) -> None:
        found.append(example)

    collect()
    return found[-count:]


class Modelled:
    """A model of a dbt project that reads a stream's feed, with the reference model beside it."""

    def __init__(self, name: str, stream: Stream, *, rereads: bool) -> None:
        self.name, self.stream, self.rereads = name, stream, rereads
        self.model = Model(stream.shape.config)
        self.applied: list[Event] = []

    @property
    def sql(self) -> str:
        """The file a user would write."""
        options = options_of(self.stream.shape)
        listed = ", ".join(f"{name}={value!r}" for name, value in options.items())
        return f"{{{{ config(materialized='auto_cdc', {listed}) }}}}\nselect * from feed_of_{self.name}\n"

    def deliver(self, connection: Connection, index: int) -> dict[str, Any]:
        """Put the events of a run into the feed, give them to the model, and return the figures to expect."""
        new = self.stream.runs[index] if index < len(self.stream.runs) else ()
        events: Sequence[Event] = [*self.applied, *new] if self.rereads else new
        self.applied += new
        shape = self.stream.shape
        create_table(
            connection, f"feed_of_{self.name}", shape.types, [shape.feed_row(event) for event in events]
        )
        return Expected(self.model, events).figures

    def rows(self, connection: Connection) -> list[Row]:
        cursor = connection.execute(f"select * from {self.name}")
        columns = [column[0] for column in cursor.description or ()]
        return sorted_rows(plain(dict(zip(columns, row, strict=True))) for row in cursor.fetchall())


def run_dbt(project: Project, models: Iterable[Modelled], index: int) -> None:
    """Run dbt once, and compare every model's rows and figures."""
    with project._connection() as connection:
        expected = {model.name: model.deliver(connection, index) for model in models}
    project.succeed("run")
    figures = {
        name: {figure: response[figure] for figure in expected[name]}
        for name, response in project.responses.items()
    }
    assert expected == figures
    with project._connection() as connection:
        for model in models:
            assert model.model.rows() == model.rows(connection), f"{model.name}, run {index}: {model.stream}"
