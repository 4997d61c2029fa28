"""Random snapshots, straight on the engine: after every run the target is what the plain model says.

Not here: dbt, refusals of bad rows (`scenarios/test_bad_snapshots`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbt_auto_cdc.errors import AutoCdcError
from dbt_auto_cdc.scd import scd2, snapshot
from tests.databases import Connection, create_table, spelled, tables_of
from tests.direct import Direct
from tests.reference_model import END, Refused, Row, comparable, sorted_rows
from tests.snapshot_model import Config, Model, Snapshot
from tests.strategies import Tracking, trackings
from tests.watched import ends_in_place, examples, placed

if TYPE_CHECKING:
    pass

VERSION = "taken"
TYPES = {"id": "INTEGER", "part": "VARCHAR", "a": "INTEGER", "b": "VARCHAR", "c": "DOUBLE"}
KEYS: dict[tuple[str, ...], list[tuple[Any, ...]]] = {
    ("id",): [(1,), (2,), (3,)],
    ("id", "part"): [(1, "x"), (1, ""), (2, "x"), (2, "y")],
}
NAN = float("nan")
VALUES: dict[str, list[Any]] = {"a": [None, 0, 1], "b": [None, "", "x"], "c": [None, 0.5, NAN]}
VERSIONS: dict[str, list[Any]] = {
    "BIGINT": list(range(-1, 7)),
    "DATE": [date(2026, 11, 26) + timedelta(days=day) for day in range(8)],
    "TIMESTAMP": [datetime(2026, 11, 30, 12) + timedelta(microseconds=step) for step in range(8)],  # noqa: DTZ001
    # In the order of their bytes, which is no alphabet's.
    "VARCHAR": ["", "1", "10", "2", "B", "a", "b", "é"],
}


@dataclass(frozen=True)
class Shape:
    """A target and its source: keys, values and the version, in this order."""

    scd_type: Literal[1, 2]
    keys: tuple[str, ...]
    values: tuple[str, ...]
    tracking: Tracking
    version_type: str
    max_delete_ratio: float | None = None
    allow_empty: bool = True

    @property
    def config(self) -> Config:
        tracked = self.tracking.resolved(self.values) if self.scd_type == 2 else ()
        columns = self.keys + self.values
        return Config(self.keys, columns, tracked, self.scd_type, self.allow_empty, self.max_delete_ratio)

    @property
    def types(self) -> dict[str, str]:
        return {name: TYPES[name] for name in self.keys + self.values}

    @property
    def options(self) -> dict[str, Any]:
        options: dict[str, Any] = {
            "keys": list(self.keys),
            "stored_as_scd_type": self.scd_type,
            "allow_empty_snapshot": self.allow_empty,
            "max_delete_ratio": self.max_delete_ratio,
        }
        if self.scd_type == 2 and self.tracking.form != "all":
            option = {
                "columns": "track_history_column_list",
                "except": "track_history_except_column_list",
            }[self.tracking.form]
            options[option] = list(self.tracking.names)
        return options


@dataclass(frozen=True)
class Arrival:
    """The snapshots that one run reads; `is_fixed` says that there is one and its version is no column."""

    snapshots: tuple[Snapshot, ...]
    is_fixed: bool = False


@dataclass(frozen=True)
class Stream:
    shape: Shape
    runs: tuple[Arrival, ...]


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    values = draw(st.sampled_from([("a",), ("a", "b"), ("a", "b", "c")]))
    return Shape(
        scd_type=draw(st.sampled_from([1, 2, 2])),
        keys=draw(st.sampled_from(list(KEYS))),
        values=values,
        tracking=draw(trackings(values)),
        version_type=draw(st.sampled_from(list(VERSIONS))),
    )


@st.composite
def snapshots(draw: st.DrawFn, shape: Shape, *, min_keys: int = 0) -> tuple[Row, ...]:
    """The rows of one snapshot in any order: few keys, few values."""
    keys = draw(st.lists(st.sampled_from(KEYS[shape.keys]), min_size=min_keys, max_size=4, unique=True))
    values = st.fixed_dictionaries({name: st.sampled_from(VALUES[name]) for name in shape.values})
    return tuple({**dict(zip(shape.keys, key, strict=True)), **draw(values)} for key in keys)


@st.composite
def ascending(draw: st.DrawFn, *, max_versions: int = 6) -> tuple[Shape, list[Snapshot]]:
    """A shape with snapshots of ascending versions, none of them empty."""
    shape = draw(shapes())
    pool = st.sampled_from(VERSIONS[shape.version_type])
    versions = sorted(draw(st.lists(pool, min_size=1, max_size=max_versions, unique=True)))
    return shape, [Snapshot(version, draw(snapshots(shape, min_keys=1))) for version in versions]


@st.composite
def streams(draw: st.DrawFn) -> Stream:
    """Runs with some versions each, in any order: those that are not above the last one are too late."""
    shape = draw(shapes())
    runs = []
    for _ in range(draw(st.integers(1, 5))):
        versions = draw(st.lists(st.sampled_from(VERSIONS[shape.version_type]), max_size=3, unique=True))
        is_fixed = len(versions) == 1 and draw(st.booleans())
        taken = [Snapshot(v, draw(snapshots(shape, min_keys=0 if is_fixed else 1))) for v in versions]
        runs.append(Arrival(tuple(taken), is_fixed))
    return Stream(shape, tuple(runs))


@dataclass
class Watched:
    """One target, run after run, with the model beside it."""

    connection: Connection
    shape: Shape
    name: str = "target"
    model: Model = field(init=False)

    def __post_init__(self) -> None:
        self.model = Model(self.shape.config)
        self.direct = Direct(self.connection, self.name, materialized="auto_cdc_snapshot")
        for table in (self.name, f"{self.name}__auto_cdc"):
            self.connection.execute(f"drop table if exists {table}")

    def send(self, arrival: Arrival) -> dict[str, int]:
        """Give the product one run, and leave the model alone."""
        shape, types = self.shape, dict(self.shape.types)
        rows = [{**row, VERSION: taken.version} for taken in arrival.snapshots for row in taken.rows]
        version = VERSION
        if arrival.is_fixed:
            version_type = spelled(self.connection, shape.version_type)
            version = f"cast('{arrival.snapshots[0].version}' as {version_type})"
        else:
            types[VERSION] = shape.version_type
        create_table(self.connection, "feed", types, rows)
        return self.direct.run({**shape.options, "snapshot_version": version}).measures

    def run(self, arrival: Arrival) -> None:
        """Give product and model one run; fail unless rows, figures and row ids are right."""
        before = self.look()
        try:
            expected = self.model.apply(arrival.snapshots)
        except Refused:
            with pytest.raises(AutoCdcError):
                self.send(arrival)
            assert before == self.look()
            return
        measures = self.send(arrival)
        after = self.look()
        assert self.model.rows() == sorted_rows(after[0].values())
        assert (expected.upserted, expected.deleted, expected.read, expected.skipped) == tuple(
            measures.get(name, 0)
            for name in ("num_upserted_rows", "num_deleted_rows", "num_read_rows", "num_skipped_versions")
        )
        assert [self.last_version] == [row["__auto_cdc_sequence"] for row in after[1]]
        self._rows_that_stay_do_not_move(before[0], after[0])

    @property
    def last_version(self) -> Any:
        return self.model._applied[-1].version if self.model._applied else None

    def look(self) -> tuple[dict[Any, Row], list[Row]]:
        """Return the target's rows by their places, and the companion's row of the last version."""
        if self.name not in tables_of(self.connection):
            return {}, []
        companion = self._read(f"{self.name}__auto_cdc").values()
        return self._read(self.name), [row for row in companion if row["__auto_cdc_kind"] == "snapshot"]

    def _read(self, relation: str) -> dict[Any, Row]:
        rows = placed(self.connection, relation)
        return {place: {name: one_nan(value) for name, value in row.items()} for place, row in rows.items()}

    def _rows_that_stay_do_not_move(self, before: dict[Any, Row], after: dict[Any, Row]) -> None:
        """A row whose values stay is not written; one that ends may be written anew, where that costs less."""
        compared = without_end if ends_in_place(self.connection) else comparable
        kept = [compared(row) for row in after.values()]
        for place, row in before.items():
            if compared(row) in kept:
                assert place in after, f"{row} moved"
                assert compared(row) == compared(after[place])


def one_nan(value: Any) -> Any:
    """Return the value; of NaNs always the same one, which is then found equal to itself."""
    return NAN if isinstance(value, float) and math.isnan(value) else value


def without_end(row: Row) -> Any:
    return comparable({name: value for name, value in row.items() if name != END})


@settings(max_examples=examples(60, 3000))
@given(stream=streams(), rereads=st.booleans(), anew=st.booleans(), crowded=st.booleans())
def test_snapshots(connection: Connection, stream: Stream, rereads: bool, anew: bool, crowded: bool) -> None:
    """Rows, figures and row ids after every run: several versions, late ones, gaps, empty ones, fixed versions.

    Where the source keeps its snapshots, each run reads all earlier ones again; versions that end are written anew
    or in place; more than a few versions at once count as a crowd, which is told apart in another way.
    """
    with pytest.MonkeyPatch.context() as patch:
        if crowded:
            patch.setattr(snapshot, "WEIGHED", 2)
        if anew:
            patch.setattr(scd2, "IN_PLACE_FROM", 0)
        follow(Watched(connection, stream.shape), stream, rereads=rereads)


def follow(target: Watched, stream: Stream, *, rereads: bool) -> None:
    """Run a stream beside the model."""
    kept: dict[Any, Snapshot] = {}
    for run in stream.runs:
        new = {taken.version: taken for taken in run.snapshots}
        target.run(Arrival(tuple({**kept, **new}.values())) if rereads and not run.is_fixed else run)
        kept |= {version: taken for version, taken in new.items() if taken.rows}


@settings(max_examples=examples(30, 3000))
@given(drawn=ascending(), cuts=st.lists(st.integers(0, 6), max_size=3))
def test_any_cut_gives_the_same_table(
    connection: Connection, drawn: tuple[Shape, list[Snapshot]], cuts: list[int]
) -> None:
    """One at a time, some at once, all at once: the same rows, and the same last version."""
    shape, taken = drawn
    ends = sorted({*cuts, len(taken)})
    parts = [taken[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)]
    found = []
    for runs in ([[one] for one in taken], parts, [taken]):
        target = Watched(connection, shape)
        for run in runs:
            target.send(Arrival(tuple(run)))
        rows, kept = target.look()
        found.append((sorted_rows(rows.values()), kept))
    assert [found[0]] * 3 == found


@settings(max_examples=examples(20, 2000))
@given(drawn=ascending(max_versions=3))
def test_nothing_is_written_where_nothing_changed(
    connection: Connection, drawn: tuple[Shape, list[Snapshot]]
) -> None:
    """The last snapshot again, as it was or at a newer version: no row moves; all of them again: nothing at all."""
    shape, taken = drawn
    target = Watched(connection, shape)
    for one in taken:
        target.send(Arrival((one,)))
    before = target.look()
    target.send(Arrival(tuple(taken)))
    assert before == target.look()
    newer = VERSIONS[shape.version_type][-1]
    if newer > taken[-1].version:
        figures = target.send(Arrival((Snapshot(newer, taken[-1].rows),)))
        assert (0, 0) == (figures.get("num_upserted_rows", 0), figures.get("num_deleted_rows", 0))
        assert before[0] == target.look()[0]


@st.composite
def guarded_streams(draw: st.DrawFn) -> Stream:
    """Streams whose snapshots must not delete too much, or must not be empty."""
    stream = draw(streams())
    shape, ratio = stream.shape, draw(st.sampled_from([None, 0, 0.3, 0.5, 1]))
    guarded = Shape(
        shape.scd_type,
        shape.keys,
        shape.values,
        shape.tracking,
        shape.version_type,
        max_delete_ratio=ratio,
        allow_empty=ratio is not None and draw(st.booleans()),
    )
    return Stream(guarded, stream.runs)


@settings(max_examples=examples(30, 2000))
@given(stream=guarded_streams())
def test_guards(connection: Connection, stream: Stream) -> None:
    """A snapshot that is empty, or deletes too great a share of the one before, refuses the run: nothing changes."""
    target = Watched(connection, stream.shape)
    for run in stream.runs:
        target.run(run)


@settings(max_examples=examples(12, 1000))
@given(data=st.data(), scd_type=st.sampled_from([1, 2]))
def test_counted_versions(connection: Connection, data: st.DataObject, scd_type: Literal[1, 2]) -> None:
    """With `auto` each run is a snapshot, and they are counted from zero on."""
    shape = Shape(scd_type, ("id",), ("a", "b"), Tracking("all"), "BIGINT")
    target = Watched(connection, shape)
    taken = data.draw(st.lists(snapshots(shape), min_size=1, max_size=5))
    for number, rows in enumerate(taken):
        create_table(connection, "feed", shape.types, rows)
        target.direct.run({**shape.options, "snapshot_version": "auto"})
        target.model.apply([Snapshot(number, rows)])
        assert target.model.rows() == sorted_rows(target.look()[0].values())
        assert [number] == [row["__auto_cdc_sequence"] for row in target.look()[1]]
