"""Partial updates in random streams, straight on the engine: after every run the target is what the plain model says.

Not here: the worked examples (`scenarios/test_cases`), schema changes (`scenarios/test_partial_updates`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbt_auto_cdc.errors import AutoCdcError
from tests import databases
from tests.databases import Connection
from tests.followed import Target
from tests.partial_model import Change, Kind, PartialConfig, PartialModel
from tests.reference_model import Refused, Row, comparable
from tests.watched import examples

TYPES = {
    "id": "integer",
    "a": "integer",
    "B": "varchar",
    "p": 'struct(x integer, "Q q" struct(y varchar, z integer))',
    "l": "integer[]",
    "seq": "bigint",
    "op": "varchar",
    "cols": "varchar[]",
}
STRUCTS = {"p": {"x": None, "Q q": {"y": None, "z": None}}}
VALUES = {"a": (None, 0, 1), "B": (None, "", "x"), "l": (None, [], [1])}
# PostgreSQL has no structs that a feed could bring as they are.
PAYLOAD = ("a", "B", "p", "l") if databases.chosen() == "duckdb" else ("a", "B", "l")
MARKS = {"upsert": "U", "delete": "D", "truncate": "T"}

Form = Literal["all", "list", "except", "columns"]


@dataclass(frozen=True)
class Partial:
    """A stream of events that leave columns out, in runs, and the options of its target."""

    form: Form
    named: tuple[str, ...]
    output: tuple[str, ...]
    tracked: tuple[str, ...] | None
    scd_type: Literal[1, 2]
    ties: Literal["fail", "warn", "allow"]
    runs: tuple[tuple[Change, ...], ...]

    @property
    def config(self) -> PartialConfig:
        """The options for the model."""
        every = {*PAYLOAD, "cols"}
        found = {"all": every, "list": {*self.named}, "except": every - {*self.named}, "columns": set[str]()}
        return PartialConfig(
            keys=("id",),
            columns=self.output,
            ignoring=frozenset(found[self.form]),
            lists=self.form == "columns",
            always=frozenset({"seq", "op", *(["cols"] if self.form == "columns" else [])}),
            structs=STRUCTS,
            tracked=tuple(name for name in self.output if name != "id")
            if self.tracked is None
            else self.tracked,
            scd_type=self.scd_type,
            sequence_ties=self.ties,
        )

    @property
    def options(self) -> dict[str, Any]:
        """The options as a user writes them."""
        options: dict[str, Any] = {
            "keys": ["id"],
            "sequence_by": "seq",
            "apply_as_deletes": "op = 'D'",
            "column_list": list(self.output),
            "stored_as_scd_type": self.scd_type,
            "sequence_ties": self.ties,
            **{
                "all": {"ignore_null_updates": True},
                "list": {"ignore_null_updates_column_list": [name.upper() for name in self.named]},
                "except": {"ignore_null_updates_except_column_list": list(self.named)},
                "columns": {"columns_to_update": "COLS"},
            }[self.form],
        }
        if any(change.kind == "truncate" for run in self.runs for change in run):
            options["apply_as_truncates"] = "op = 'T'"
        if self.tracked:
            options["track_history_column_list"] = list(self.tracked)
        elif self.tracked is not None:
            options["track_history_except_column_list"] = [name for name in self.output if name != "id"]
        return options

    @property
    def types(self) -> dict[str, str]:
        """The columns of the feed."""
        return {name: kind for name, kind in TYPES.items() if name in PAYLOAD or name not in {*VALUES, "p"}}

    def feed_row(self, change: Change) -> Row:
        """The row in which the source sends an event."""
        return {
            "id": change.key[0] if change.kind != "truncate" else None,
            "seq": change.sequence,
            "op": MARKS[change.kind],
            "cols": None if change.listed is None else list(change.listed),
            **{name: change.values.get(name) for name in PAYLOAD},
        }


@st.composite
def structs(draw: st.DrawFn, *, without_nulls: bool) -> Any:
    """Structs; of two that are set against each other as wholes, engines disagree where a null in them belongs."""
    if draw(st.booleans()):
        return None
    if without_nulls:
        return {"x": draw(st.integers(0, 1)), "Q q": {"y": draw(st.sampled_from(["", "y"])), "z": 0}}
    inner = {"y": draw(st.sampled_from([None, "", "y"])), "z": draw(st.sampled_from([None, 0]))}
    return {"x": draw(st.sampled_from([None, 0, 1])), "Q q": draw(st.sampled_from([None, inner]))}


@st.composite
def changes_of(draw: st.DrawFn, *, form: Form, with_ties: bool, with_truncates: bool) -> list[Change]:
    """Events of one or two keys, at most of the sequences, so that late ones fall between others."""
    places = draw(
        st.lists(
            st.tuples(st.sampled_from([1, 1, 2]), st.integers(1, 4 if with_ties else 8)),
            min_size=2,
            max_size=12,
            unique=not with_ties,
        )
    )
    found = []
    for key, sequence in places:
        values = {name: draw(st.sampled_from(options)) for name, options in VALUES.items()}
        if "p" in PAYLOAD:
            values["p"] = draw(structs(without_nulls=with_ties and form != "all"))
        named = [name if draw(st.booleans()) else name.upper() for name in (*PAYLOAD, "id", "op")]
        kind: Kind = draw(st.sampled_from(["upsert"] * 4 + ["delete"]))
        listed = draw(st.one_of(st.none(), st.lists(st.sampled_from(named), max_size=3)))
        values |= {"seq": sequence, "op": MARKS[kind], "cols": listed}
        found.append(Change(kind, (key,), sequence, values, None if listed is None else tuple(listed)))
    if with_truncates and draw(st.booleans()):
        found += [
            Change("truncate", (None,), draw(st.integers(1, 8))) for _ in range(draw(st.integers(1, 2)))
        ]
    return found


@st.composite
def partials(
    draw: st.DrawFn, scd_type: Literal[1, 2], *, with_ties: bool = False, with_truncates: bool = False
) -> Partial:
    form: Form = draw(st.sampled_from(["all", "list", "except", "columns"]))
    with_truncates = with_truncates and scd_type == 1
    changes = draw(changes_of(form=form, with_ties=with_ties, with_truncates=with_truncates))
    arriving = [*changes, *draw(st.lists(st.sampled_from(changes), max_size=3))]
    arriving = draw(st.permutations(arriving))
    cuts = sorted(draw(st.lists(st.integers(0, len(arriving)), max_size=5)))
    runs = tuple(
        tuple(arriving[start:end]) for start, end in zip([0, *cuts], [*cuts, len(arriving)], strict=True)
    )
    # Few columns at a time: what a statement costs here is what its text is long.
    kept = draw(st.lists(st.sampled_from(PAYLOAD), min_size=1, max_size=3, unique=True))
    more = draw(st.lists(st.sampled_from(["seq", "op", "cols"]), max_size=1))
    some = st.lists(st.sampled_from([*kept, *more]), unique=True).map(tuple)
    return Partial(
        form=form,
        named=draw(st.lists(st.sampled_from(kept), min_size=1, unique=True).map(tuple)),
        output=draw(st.permutations(["id", *kept, *more]).map(tuple)),
        tracked=draw(st.one_of(st.none(), some)) if scd_type == 2 else None,
        scd_type=scd_type,
        ties=draw(st.sampled_from(["fail", "warn", "allow"])) if with_ties else "fail",
        runs=runs,
    )


def identified(rows: list[Row]) -> dict[Any, Any]:
    return {(row["id"], row.get("__START_AT")): comparable(row) for row in rows}


def follow(connection: Connection, partial: Partial, *, rereads: bool) -> None:
    """Run a stream beside the model; a run of nothing but known events writes nothing."""
    target, model = Target(connection, partial), PartialModel(partial.config)
    applied: list[Change] = []
    for run in partial.runs:
        sent = [*applied, *run] if rereads else [*run]
        before, contents = identified(model.rows()), target.contents()
        try:
            model.apply(sent)
        except Refused:
            with pytest.raises(AutoCdcError, match=r"different events.*sequence_ties"):
                target.send(sent)
            assert contents == target.contents()
            continue
        figures = target.send(sent)
        assert model.rows() == target.rows(*partial.output)
        after = identified(model.rows())
        changed = sum(row not in before or before[row] != after[row] for row in after)
        assert model.tied == figures["num_tied_rows"]
        assert sum(row not in after for row in before) == figures["num_deleted_rows"]
        if partial.scd_type == 2:
            assert changed == figures["num_upserted_rows"]
        else:
            assert (
                changed <= figures["num_upserted_rows"] <= len({change.key for change in sent}) + len(after)
            )
        applied += run
    target.send([])
    contents = target.contents()
    figures = target.send(applied)
    assert [0, 0] == [figures["num_upserted_rows"], figures["num_deleted_rows"]]
    assert contents == target.contents()


@settings(max_examples=examples(60, 4000))
@given(partial=partials(1, with_truncates=True), rereads=st.booleans())
def test_type_1(connection: Connection, partial: Partial, rereads: bool) -> None:
    """Every form, with structs, deletes and truncates, in any order and cut, each run looked at; replays do nothing."""
    follow(connection, partial, rereads=rereads)


@settings(max_examples=examples(50, 4000))
@given(partial=partials(2), rereads=st.booleans())
def test_type_2(connection: Connection, partial: Partial, rereads: bool) -> None:
    """Every form and tracking, with structs and deletes: late values flow on, and only what changes is written."""
    follow(connection, partial, rereads=rereads)


def settled(partial: Partial) -> Partial:
    """Leave out deletes at the place of an upsert of an earlier run: type 1 forgets upserts that nothing shows."""
    upserts: set[Any] = set()
    runs = []
    for run in partial.runs:
        kept = [c for c in run if c.kind != "delete" or (c.key, c.sequence) not in upserts]
        upserts |= {(c.key, c.sequence) for c in kept if c.kind == "upsert"}
        runs.append(tuple(kept))
    return replace(partial, runs=tuple(runs))


@settings(max_examples=examples(40, 4000))
@given(partial=partials(1, with_ties=True, with_truncates=True).map(settled))
def test_ties_in_type_1(connection: Connection, partial: Partial) -> None:
    """Two values of a column that decide refuse the run, or the greatest wins; other columns come together."""
    follow(connection, partial, rereads=False)


@settings(max_examples=examples(40, 4000))
@given(partial=partials(2, with_ties=True))
def test_ties_in_type_2(connection: Connection, partial: Partial) -> None:
    """The same in a history, where every tie decides."""
    follow(connection, partial, rereads=False)


@settings(max_examples=examples(25, 2000))
@given(partial=st.one_of(partials(1, with_truncates=True), partials(2)))
def test_any_cut_leaves_the_same_table(connection: Connection, partial: Partial) -> None:
    """All events at once, and in runs: the same target."""
    in_runs, at_once = Target(connection, partial), Target(connection, partial, name="other")
    for run in partial.runs:
        in_runs.send(run)
    at_once.send([change for run in partial.runs for change in run])
    assert at_once.rows() == in_runs.rows()
