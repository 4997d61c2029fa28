"""Random events on two axes that leave columns out, straight on the engine: each run's target is the model's.

Not here: events that bring all their columns (`test_bitemporal`), one axis (`test_partial_updates`).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, Literal, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbt_auto_cdc.errors import AutoCdcError
from tests.bitemporal_model import SYSTEM_END, PartialBitemporal, overlaps
from tests.databases import Connection
from tests.followed import Target, untouched_versions_stay
from tests.partial_model import Change, PartialConfig
from tests.properties.test_partial_updates import MARKS, PAYLOAD, STRUCTS, TYPES, VALUES, structs
from tests.reference_model import Refused, Row
from tests.watched import examples

Form = Literal["all", "list", "except"]
Order = Literal["any", "system", "both"]
Known = tuple[Change, int]


@dataclass(frozen=True)
class Sparse:
    """A stream of events that leave columns out, in runs, and the options of its target."""

    form: Form
    named: tuple[str, ...]
    output: tuple[str, ...]
    tracked: tuple[str, ...] | None
    ties: Literal["fail", "warn", "allow"]
    runs: tuple[tuple[Known, ...], ...]

    @property
    def config(self) -> PartialConfig:
        """The options for the model."""
        every = {*PAYLOAD}
        found = {"all": every, "list": {*self.named}, "except": every - {*self.named}}
        others = tuple(name for name in self.output if name != "id")
        return PartialConfig(
            keys=("id",),
            columns=self.output,
            ignoring=frozenset(found[self.form]),
            always=frozenset({"seq", "op", "st"}),
            structs=STRUCTS,
            tracked=others if self.tracked is None else self.tracked,
            sequence_ties=self.ties,
        )

    @property
    def options(self) -> dict[str, Any]:
        """The options as a user writes them."""
        options: dict[str, Any] = {
            "keys": ["id"],
            "sequence_by": "seq",
            "system_sequence_by": "st",
            "apply_as_deletes": "op = 'D'",
            "column_list": list(self.output),
            "stored_as_scd_type": "bitemporal",
            "sequence_ties": self.ties,
            **{
                "all": {"ignore_null_updates": True},
                "list": {"ignore_null_updates_column_list": [name.upper() for name in self.named]},
                "except": {"ignore_null_updates_except_column_list": list(self.named)},
            }[self.form],
        }
        if self.tracked:
            options["track_history_column_list"] = list(self.tracked)
        elif self.tracked is not None:
            options["track_history_except_column_list"] = [name for name in self.output if name != "id"]
        return options

    @property
    def types(self) -> dict[str, str]:
        """The columns of the feed."""
        return {**{name: TYPES[name] for name in ("id", *PAYLOAD, "seq", "op")}, "st": "bigint"}

    def feed_row(self, known: Known) -> Row:
        """The row in which the source sends an event."""
        change, system = known
        values = {name: change.values.get(name) for name in PAYLOAD}
        mark = MARKS[change.kind]
        return {"id": change.key[0], "seq": change.sequence, "st": system, "op": mark, **values}


@st.composite
def sparse(draw: st.DrawFn, *, order: Order = "any", with_ties: bool = False, max_runs: int = 4) -> Sparse:
    """Few places and columns, and deletes at one event in four, so that words about one place are the rule."""
    form: Form = draw(st.sampled_from(["all", "list", "except"]))
    span = draw(st.integers(2, 6))
    place = st.tuples(st.sampled_from([1, 1, 2]), st.integers(1, span), st.integers(1, span))
    # Few columns at a time: what a statement costs here is what its text is long.
    kept = draw(st.lists(st.sampled_from(PAYLOAD), min_size=1, max_size=3, unique=True))
    events: list[Known] = []
    for key, sequence, system in draw(st.lists(place, min_size=1, max_size=12, unique=not with_ties)):
        values = {name: draw(st.sampled_from(VALUES[name])) for name in kept if name in VALUES}
        if "p" in kept:
            values["p"] = draw(structs(without_nulls=with_ties and form != "all"))
        kind = cast("Any", draw(st.sampled_from(["upsert"] * 3 + ["delete"])))
        values |= {"seq": sequence, "op": MARKS[kind], "st": system}
        events.append((Change(kind, (key,), sequence, values), system))
    events += draw(st.lists(st.sampled_from(events), max_size=2))
    if order == "any":
        events = draw(st.permutations(events))
    else:
        events.sort(key=lambda known: (known[1], known[0].sequence if order == "both" else 0))
    cuts = sorted(draw(st.lists(st.integers(0, len(events)), max_size=max_runs - 1)))
    more = draw(st.lists(st.sampled_from(["seq", "op", "st"]), max_size=1))
    some = st.lists(st.sampled_from([*kept, *more]), unique=True).map(tuple)
    return Sparse(
        form=form,
        named=draw(st.lists(st.sampled_from(kept), min_size=1, unique=True).map(tuple)),
        output=draw(st.permutations(["id", *kept, *more]).map(tuple)),
        tracked=draw(st.one_of(st.none(), some)),
        ties=draw(st.sampled_from(["fail", "warn", "allow"])) if with_ties else "fail",
        runs=tuple(tuple(events[start:end]) for start, end in itertools.pairwise([0, *cuts, len(events)])),
    )


def follow(connection: Connection, stream: Sparse, *, rereads: bool = False) -> None:
    """Run a stream beside the model; a run of nothing but known events writes nothing."""
    target, model = Target(connection, stream), PartialBitemporal(stream.config)
    applied: list[Known] = []
    for run in stream.runs:
        sent = [*applied, *run] if rereads else [*run]
        before = target.contents()
        try:
            expected = model.apply(sent)
        except Refused:
            with pytest.raises(AutoCdcError, match=r"different events at one sequence and one system"):
                target.send(sent)
            assert before == target.contents()
            continue
        figures = target.send(sent)
        after = target.places()
        assert model.rows() == target.rows(*stream.output)
        assert expected == (figures["num_upserted_rows"], figures["num_deleted_rows"])
        assert model.tied == figures["num_tied_rows"]
        assert [] == overlaps(list(after.values()), ["id"])
        untouched_versions_stay(before[0], after, SYSTEM_END)
        applied += run
    before = target.contents()
    figures = target.send(applied)
    assert [0, 0] == [figures[name] for name in ("num_upserted_rows", "num_deleted_rows")]
    assert before[0] == target.places()
    if applied:
        assert before == target.contents()


@settings(max_examples=examples(8, 3000))
@given(stream=sparse(), rereads=st.booleans())
def test_both_axes_in_any_order(connection: Connection, stream: Sparse, rereads: bool) -> None:
    """Every form and tracking, structs, many deletes: late values flow on, on either axis; replays do nothing."""
    follow(connection, stream, rereads=rereads)


@settings(max_examples=examples(5, 2000))
@given(stream=st.one_of(sparse(order="system", max_runs=6), sparse(order="both", max_runs=6)))
def test_in_order_of_system_time(connection: Connection, stream: Sparse) -> None:
    """Events that come as they become known, a system time that goes on included."""
    follow(connection, stream)


@settings(max_examples=examples(5, 2000))
@given(stream=sparse(with_ties=True))
def test_ties(connection: Connection, stream: Sparse) -> None:
    """Two values of a column at one place refuse the run, or the greatest wins; other columns come together."""
    follow(connection, stream)


@settings(max_examples=examples(4, 1000))
@given(stream=sparse())
def test_any_cut_leaves_the_same_table(connection: Connection, stream: Sparse) -> None:
    """All events at once, and in runs: the same target."""
    in_runs, at_once = Target(connection, stream), Target(connection, stream, name="other")
    for run in stream.runs:
        in_runs.send(run)
    at_once.send([known for run in stream.runs for known in run])
    assert at_once.rows() == in_runs.rows()
