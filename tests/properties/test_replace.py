"""Random rows for REPLACE USING and REPLACE WHERE, straight on the engine: after every run the target is the model's.

Not here: dbt, refusals (`scenarios/test_bad_replace`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.databases import Connection, create_table
from tests.direct import Direct
from tests.reference_model import Row, sorted_rows
from tests.replace_model import Figures, ReplaceUsing, ReplaceWhere
from tests.watched import examples, placed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dbt_auto_cdc.execute import Outcome

TYPES = {"region": "VARCHAR", "day": "INTEGER", "seq": "BIGINT", "amount": "DOUBLE"}
KEYS = [("region",), ("region", "day"), ("day",)]
Equal = Literal["replace", "append"]


@st.composite
def rows(draw: st.DrawFn, *, max_size: int = 10) -> list[Row]:
    """Rows of few keys, with nulls among their parts, and copies."""
    row = st.fixed_dictionaries(
        {
            "region": st.sampled_from(["n", "", None]),
            "day": st.sampled_from([1, None]),
            "seq": st.integers(1, 3),
            "amount": st.sampled_from([None, 0.5, 1.0]),
        }
    )
    return [{name: found[name] for name in TYPES} for found in draw(st.lists(row, max_size=max_size))]


@dataclass
class Watched:
    """One target, run after run."""

    connection: Connection
    options: dict[str, Any]
    materialized: str = "replace_using"
    direct: Direct = field(init=False)

    def __post_init__(self) -> None:
        self.direct = Direct(self.connection, materialized=self.materialized)
        for table in ("target", "target__auto_cdc"):
            self.connection.execute(f"drop table if exists {table}")

    def send(self, batch: Sequence[Row], **options: Any) -> Outcome:
        create_table(self.connection, "feed", TYPES, batch)
        return self.direct.run({**self.options, **options})

    def rows(self) -> list[Row]:
        return sorted_rows(self.direct.rows())

    def places(self) -> dict[Any, Row]:
        """Return the rows by their places."""
        return placed(self.connection, "target")


def counted(outcome: Outcome) -> Figures:
    figures = outcome.figures
    return Figures(*(figures[f"num_{name}_rows"] for name in ("upserted", "deleted", "read", "late")))


def using(connection: Connection, keys: Sequence[str], equal: Equal) -> tuple[Watched, ReplaceUsing]:
    """Return a target of REPLACE USING with its model."""
    options = {"replace_using": list(keys), "sequence_by": "seq", "equal_sequence": equal}
    return Watched(connection, options), ReplaceUsing(keys, "seq", equal=equal)


@settings(max_examples=examples(60, 3000))
@given(
    runs=st.lists(rows(), min_size=1, max_size=5),
    keys=st.sampled_from(KEYS),
    equal=st.sampled_from(["replace", "append"]),
)
def test_replace_using(
    connection: Connection, runs: list[list[Row]], keys: tuple[str, ...], equal: Equal
) -> None:
    """Rows and figures after every run: null keys and parts, copies, late rows, keys that stay away."""
    follow_using(connection, runs, keys, equal=equal)


def follow_using(
    connection: Connection, runs: list[list[Row]], keys: tuple[str, ...], *, equal: Equal
) -> None:
    """Run them beside the model; rows of keys that do not change stay where they are."""
    target, model = using(connection, keys, equal)
    for run in runs:
        before = target.places() if model.stored or run is not runs[0] else {}
        stored = model.rows()
        assert model.apply(run) == counted(target.send(run))
        assert model.rows() == target.rows()
        after = target.places()
        for place, row in before.items():
            of_key = [[r for r in side if is_of(row, r, keys)] for side in (stored, model.rows())]
            if of_key[0] == of_key[1]:
                assert row == after.get(place)


def is_of(row: Row, other: Row, keys: Sequence[str]) -> bool:
    return all(row[name] == other[name] for name in keys)


@settings(max_examples=examples(30, 2000))
@given(
    runs=st.lists(rows(), min_size=2, max_size=4),
    keys=st.sampled_from(KEYS),
    order=st.randoms(use_true_random=False),
)
def test_a_source_read_again_and_again(
    connection: Connection, runs: list[list[Row]], keys: tuple[str, ...], order: Any
) -> None:
    """Where each run reads the whole source, its cut and order change nothing; the last run again writes nothing."""
    target, model = using(connection, keys, "replace")
    source: list[Row] = []
    for run in runs:
        source += run
        target.send(order.sample(source, len(source)))
    model.apply(source)
    assert model.rows() == target.rows()
    places = target.places()
    figures = counted(target.send(order.sample(source, len(source))))
    assert (0, 0) == (figures.upserted, figures.deleted)
    assert places == target.places()


@settings(max_examples=examples(30, 2000))
@given(
    source=rows(max_size=12),
    cuts=st.lists(st.integers(0, 12), max_size=4),
    keys=st.sampled_from(KEYS),
    order=st.randoms(use_true_random=False),
)
def test_rows_read_once_in_any_order_and_cut(
    connection: Connection,
    source: list[Row],
    cuts: list[int],
    keys: tuple[str, ...],
    order: Any,
) -> None:
    """With `append` each row is read once: whatever comes first, all rows at a key's greatest sequence are there."""
    target, model = using(connection, keys, "append")
    model.apply(source)
    arriving = order.sample(source, len(source))
    ends = sorted({*(cut for cut in cuts if cut < len(source)), len(source)})
    for start, end in zip([0, *ends[:-1]], ends, strict=True):
        target.send(arriving[start:end])
    assert model.rows() == target.rows()


Predicate = Callable[[Row], bool | None]


def at_least(limit: int) -> Predicate:
    return lambda row: None if row["day"] is None else row["day"] >= limit


RANGES: list[tuple[str, Predicate]] = [
    ("day >= 1", at_least(1)),
    ("day >= 2", at_least(2)),
    (
        "day >= 1 and (region = 'n' or region is null)",
        lambda row: (row["day"] or 0) >= 1 and row["region"] in {"n", None},
    ),
    ("amount > 0.7", lambda row: None if row["amount"] is None else row["amount"] > 0.7),
    ("true", lambda _: True),
    ("cast(null as boolean)", lambda _: None),
    ("not (day >= 1) -- and so on", lambda row: None if row["day"] is None else row["day"] < 1),
]


ranges = st.lists(
    st.tuples(rows(), st.sampled_from(RANGES), st.lists(st.integers(0, 9), max_size=2)),
    min_size=1,
    max_size=5,
)


@settings(max_examples=examples(60, 3000))
@given(runs=ranges)
def test_replace_where(connection: Connection, runs: list[Any]) -> None:
    """Rows and figures after every run, with another range each: what is null is outside, what is outside stays.

    Between the runs somebody writes rows by hand: outside of the next range they stay, inside they go.
    """
    follow_where(connection, runs)


def follow_where(connection: Connection, runs: list[Any]) -> None:
    """Run them beside the model."""
    target, model = Watched(connection, {}, "replace_where"), ReplaceWhere()
    for run, (predicate, holds), by_hand in runs:
        before = target.places() if run is not runs[0][0] else {}
        assert model.apply(run, holds) == counted(target.send(run, replace_where=predicate))
        assert model.rows() == target.rows()
        after = target.places()
        assert [] == [row for place, row in before.items() if not holds(row) and after.get(place) != row]
        for number in by_hand:
            row = {"region": "hand", "day": number - 3, "seq": None, "amount": 0.6 + number / 10}
            model.stored = [*model.stored, row]
            connection.execute("insert into target values (?, ?, ?, ?)", list(row.values()))


@settings(max_examples=examples(20, 1000))
@given(source=rows(), chosen=st.sampled_from(RANGES), order=st.randoms(use_true_random=False))
def test_the_same_rows_again_write_nothing(
    connection: Connection, source: list[Row], chosen: tuple[str, Predicate], order: Any
) -> None:
    """Read again in any order, the same rows in the range leave every row where it is."""
    target = Watched(connection, {"replace_where": chosen[0]}, "replace_where")
    target.send(source)
    places = target.places()
    figures = counted(target.send(order.sample(source, len(source))))
    assert (0, 0, len(source)) == (figures.upserted, figures.deleted, figures.read)
    assert places == target.places()
