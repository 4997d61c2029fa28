"""The reference model against the worked examples and against what must hold of any history.

Not here: the product. A model that were wrong would make every property test that leans on it worthless.
"""

from __future__ import annotations

import filecmp
from datetime import datetime, timedelta, timezone
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.case_data import (
    COPIED_CASES,
    SHARED_CASES,
    Case,
    Row,
    Rows,
    Run,
    assert_rows,
    assert_run,
    create_table,
    load_cases,
)
from tests.databases import quoted
from tests.reference_model import END, START, Config, Event, Figures, Kind, Model, Refused, sorted_rows
from tests.strategies import Stream, Ties, arrivals_of, streams

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


def is_about_events(case: Case) -> bool:
    """Cases that the model covers: no partial updates, no new columns, no fault in the configuration."""
    is_config_fault = case.error is not None and {"config_validation", "config_drift"} & set(case.tags)
    return not (case.uses_partial_updates or case.changes_columns or is_config_fault)


CASES = [case for case in load_cases("scd1", "scd2") if is_about_events(case)]
SHUFFLED = [case for case in CASES if case.order_insensitive]


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield connection


class CaseReader:
    """Turns the runs of a case into events of the model and the model's rows back into a table."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, case: Case) -> None:
        self.connection = connection
        self.case = case
        self.first = case.runs[0]
        by_name = {name.lower(): name for name in self.first.columns}
        options = self.first.config
        named = {
            option: tuple(by_name[name.lower()] for name in options.get(option) or ())
            for option in (
                "keys",
                "column_list",
                "except_column_list",
                "track_history_column_list",
                "track_history_except_column_list",
            )
        }
        keys = named["keys"]
        columns = tuple(
            name
            for name in self.first.columns
            if name not in named["except_column_list"]
            and (not named["column_list"] or name in named["column_list"])
        )
        tracked = tuple(
            name
            for name in columns
            if name not in keys
            and name not in named["track_history_except_column_list"]
            and (not named["track_history_column_list"] or name in named["track_history_column_list"])
        )
        self.config = Config(
            keys=keys,
            columns=columns,
            tracked=tracked,
            scd_type=2 if case.mode == "scd2" else 1,
            sequence_ties=options.get("sequence_ties", "fail"),
        )

    def events(self, run: Run, rows: Rows) -> list[Event]:
        """Read rows as events, expressions evaluated by DuckDB."""
        create_table(self.connection, "feed", self.case.columns, rows)
        parts = self._sequence_parts(run)
        conditions = [
            f"coalesce({run.config.get(option) or 'false'}, false)"
            for option in ("apply_as_truncates", "apply_as_deletes")
        ]
        select = [*conditions, *parts.values(), *map(quoted, self.config.columns)]
        found = self.connection.execute(f"select {', '.join(select)} from feed").fetchall()
        return [self._event(len(parts), row) for row in found]

    def create_target(self, rows: Rows) -> None:
        """Store the model's rows in a table with the types of the feed and of the sequence."""
        types = {name: self.first.columns[name] for name in self.config.columns}
        if self.config.scd_type == 2:
            parts = self._sequence_parts(self.first)
            fields = ", ".join(f"{quoted(name)} := {part}" for name, part in parts.items())
            bound = next(iter(parts.values())) if len(parts) == 1 else f"struct_pack({fields})"
            self.first.create_feed(self.connection)
            bound_type = str(self.connection.sql(f"select {bound} from feed").types[0])
            types |= {START: bound_type, END: bound_type}
            rows = [{**row, **{name: _struct(parts, row[name]) for name in (START, END)}} for row in rows]
        create_table(self.connection, "target", types, rows)

    def _sequence_parts(self, run: Run) -> dict[str, str]:
        """Return the parts of `sequence_by` as SQL: a column where one matches, else an expression."""
        written = run.config["sequence_by"]
        if isinstance(written, str) and written.upper().startswith("STRUCT("):
            written = [part.strip() for part in written[len("STRUCT(") : -1].split(",")]
        by_name = {name.lower(): quoted(name) for name in run.columns}
        parts = [written] if isinstance(written, str) else written
        return {part: by_name.get(part.lower(), f"({part})") for part in parts}

    def _event(self, sequence_parts: int, row: Sequence[Any]) -> Event:
        truncates, deletes, *rest = row
        sequence = rest[0] if sequence_parts == 1 else tuple(rest[:sequence_parts])
        values = dict(zip(self.config.columns, rest[sequence_parts:], strict=True))
        kind: Kind = "truncate" if truncates else "delete" if deletes else "upsert"
        return Event(kind, tuple(values[key] for key in self.config.keys), sequence, values)


def _struct(parts: Iterable[str], bound: Any) -> Any:
    return dict(zip(parts, bound, strict=True)) if isinstance(bound, tuple) else bound


# The worked examples


def test_copied_cases_equal_the_shared_ones() -> None:
    """The copy of the cases in the project is that of the shared folder, where that exists."""
    if not SHARED_CASES.is_dir():
        pytest.skip("no shared folder beside this checkout")
    names = {file.name for file in SHARED_CASES.glob("*.json")}
    assert names == {file.name for file in COPIED_CASES.glob("*.json")}
    assert sorted(names) == sorted(filecmp.cmpfiles(SHARED_CASES, COPIED_CASES, names, shallow=False)[0])


def test_the_cases_are_there() -> None:
    """No case of these modes is left out but for partial updates, new columns and faulty configuration."""
    left_out = {case.id for case in load_cases("scd1", "scd2")} - {case.id for case in CASES}
    assert len(CASES) >= 65, sorted(left_out)
    assert len(SHUFFLED) >= 41, sorted(left_out)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_case(connection: duckdb.DuckDBPyConnection, case: Case) -> None:
    """After every run the model holds what the example says; a run that must be refused changes nothing."""
    reader = CaseReader(connection, case)
    model = Model(reader.config)
    for run in case.runs:
        events, before = reader.events(run, run.rows), model.rows()
        if run.is_refused:
            with pytest.raises(Refused):
                model.apply(events)
            assert before == model.rows()
        else:
            model.apply(events)
        reader.create_target(model.rows())
        assert_run(connection, "target", run)


@pytest.mark.parametrize("case", SHUFFLED, ids=lambda case: case.id)
def test_case_in_any_order(connection: duckdb.DuckDBPyConnection, case: Case) -> None:
    """Examples that do not depend on order and cut end the same in any of them."""
    reader = CaseReader(connection, case)
    for seed in range(8):
        model = Model(reader.config)
        for rows in case.rearranged(seed):
            model.apply(reader.events(case.runs[-1], rows))
        reader.create_target(model.rows())
        assert_run(connection, "target", case.runs[-1])


def test_comparison_sees_a_wrong_row(connection: duckdb.DuckDBPyConnection) -> None:
    """The comparison that the cases rest on counts rows, tells null from a value, and prints both sides."""
    create_table(connection, "target", {"k": "integer", "v": "varchar"}, [{"k": 1, "v": None}] * 2)
    assert_rows(connection, "target", [{"K": 1, "V": None}] * 2)
    null, empty = {"k": 1, "v": None}, {"k": 1, "v": ""}
    wrong_rows: list[Rows] = [[], [null], [null] * 3, [null, empty], [{"k": 1}] * 2]
    for wrong in wrong_rows:
        with pytest.raises(AssertionError, match="target"):
            assert_rows(connection, "target", wrong)
    assert_rows(connection, "target", [{"k": 1}] * 2, compare_columns=["k"])


# What must hold of any stream without ties


@given(st.data(), streams(with_truncates=True))
def test_set_law(data: st.DataObject, stream: Stream) -> None:
    """The rows are those of the set of events: order, cut and repeats change nothing."""
    at_once, in_runs, otherwise = (Model(stream.shape.config) for _ in range(3))
    at_once.apply(stream.events)
    for run in stream.runs:
        in_runs.apply(run)
    for run in data.draw(arrivals_of(set_of(stream.events))):
        otherwise.apply(run)
    assert at_once.rows() == in_runs.rows()
    assert at_once.rows() == otherwise.rows()


@given(streams(2))
def test_history_is_what_the_last_event_said(stream: Stream) -> None:
    """At every sequence a key shows what its last event said of tracked columns, or nothing if deleted."""
    config, rows = stream.shape.config, applied(stream).rows()
    for key in {event.key for event in stream.events}:
        events = sorted((e for e in stream.events if e.key == key), key=lambda event: event.sequence)
        for at in {event.sequence for event in stream.events}:
            shown = [row for row in rows if key_of(config, row) == key and holds_at(row, at)]
            said = [event for event in events if event.sequence <= at][-1:]
            expected = [
                [event.values[name] for name in config.tracked] for event in said if event.kind == "upsert"
            ]
            assert expected == [[row[name] for name in config.tracked] for row in shown]


@given(streams(2))
def test_history_has_no_needless_rows(stream: Stream) -> None:
    """A key's rows never overlap, only the last may be open, and touching ones differ where tracked."""
    config, rows = stream.shape.config, applied(stream).rows()
    for key in {key_of(config, row) for row in rows}:
        own = sorted((row for row in rows if key_of(config, row) == key), key=lambda row: row[START])
        assert all(row[END] is None or row[START] < row[END] for row in own)
        for earlier, later in pairwise(own):
            assert earlier[END] is not None
            assert earlier[END] <= later[START]
            if earlier[END] == later[START]:
                assert any(earlier[name] != later[name] for name in config.tracked)


@given(streams(2))
def test_open_rows_are_the_type_1_rows(stream: Stream) -> None:
    """Without truncates the open rows of type 2 are the rows of type 1 for the same events."""
    config = stream.shape.config
    type_1 = Model(Config(config.keys, config.columns))
    type_1.apply(stream.events)
    open_rows = [row for row in applied(stream).rows() if row[END] is None]
    assert type_1.rows() == sorted_rows({name: row[name] for name in config.columns} for row in open_rows)


@given(streams(with_truncates=True))
def test_a_replay_of_everything_changes_nothing(stream: Stream) -> None:
    """All events once more: no row moves, nothing is counted but replays and duplicates."""
    model = applied(stream)
    before = model.rows()
    figures = model.apply(stream.events)
    assert before == model.rows()
    assert (0, 0, 0, 0) == (figures.upserted, figures.deleted, figures.late, figures.tied)
    assert len(stream.events) == figures.read == figures.replays


@given(streams(with_truncates=True, with_ties=True))
def test_figures_explain_the_rows(stream: Stream) -> None:
    """Rows grow by at most upserted and shrink by deleted; only ties are refused, changing nothing."""
    model = Model(stream.shape.config)
    for run in stream.runs:
        before = model.rows()
        figures, reasons = applied_or_refused(model, run)
        if reasons:
            assert ("fail", ("ties",)) == (stream.shape.sequence_ties, reasons)
            assert before == model.rows()
            continue
        growth = len(model.rows()) - len(before)
        assert -figures.deleted <= growth <= figures.upserted - figures.deleted
        assert (figures.upserted, figures.deleted) == (0, 0) or figures.read > figures.replays


def set_of(events: Sequence[Event]) -> list[Event]:
    return list({(event.kind, event.key, event.sequence): event for event in events}.values())


def applied(stream: Stream) -> Model:
    model = Model(stream.shape.config)
    for run in stream.runs:
        model.apply(run)
    return model


def applied_or_refused(model: Model, run: Sequence[Event]) -> tuple[Figures, tuple[str, ...]]:
    try:
        return model.apply(run), ()
    except Refused as refused:
        return Figures(), refused.reasons


def key_of(config: Config, row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in config.keys)


def holds_at(row: Row, at: Any) -> bool:
    return row[START] <= at and (row[END] is None or at < row[END])


# Rule by rule

SCD1 = Config(keys=("k",), columns=("k", "v", "w"))
SCD2 = Config(keys=("k",), columns=("k", "v", "w"), tracked=("v",), scd_type=2)


def upsert(k: Any, sequence: Any, v: Any = None, w: Any = None) -> Event:
    return Event("upsert", (k,), sequence, {"k": k, "v": v, "w": w})


def delete(k: Any, sequence: Any) -> Event:
    return Event("delete", (k,), sequence, {"k": k, "v": "noise"})


def truncate(sequence: Any) -> Event:
    return Event("truncate", (None,), sequence)


def with_ties(config: Config, sequence_ties: Ties) -> Config:
    return Config(config.keys, config.columns, config.tracked, config.scd_type, sequence_ties)


def row(k: Any, v: Any = None, w: Any = None) -> Row:
    return {"k": k, "v": v, "w": w}


@pytest.mark.parametrize("config", [SCD1, SCD2], ids=["scd1", "scd2"])
@pytest.mark.parametrize(
    ("bad", "reasons"),
    [
        ([upsert(None, 1)], ("null_key",)),
        ([delete(None, 1)], ("null_key",)),
        ([upsert(1, None)], ("null_sequence",)),
        ([upsert(1, (1, None))], ("null_sequence",)),
        ([upsert(None, None)], ("null_sequence", "null_key")),
        ([upsert(1, 1, "x"), upsert(1, 1, "y")], ("ties",)),
        ([upsert(1, 1, "x", "p"), upsert(1, 1, "x", "q")], ("ties",)),
        ([upsert(1, 1, "x"), delete(1, 1)], ("ties",)),
    ],
)
def test_bad_events_are_refused(config: Config, bad: list[Event], reasons: tuple[str, ...]) -> None:
    """Nulls in key or sequence and ties refuse the whole run: rows, memory and figures stay."""
    model = Model(config)
    model.apply([upsert(1, 0, "old")])
    before, figures = model.rows(), model.figures
    with pytest.raises(Refused) as refused:
        model.apply([upsert(2, 5, "good"), *bad])
    assert reasons == refused.value.reasons
    assert (before, figures) == (model.rows(), model.figures)
    assert 1 == model.apply([upsert(2, 5, "good")]).upserted


def test_truncates_belong_to_type_1() -> None:
    """A truncate is refused in type 2; in type 1 it needs no key but a sequence."""
    for model, event, reason in (
        (Model(SCD2), truncate(1), "truncate"),
        (Model(SCD1), truncate(None), "null_sequence"),
    ):
        with pytest.raises(Refused, match=reason):
            model.apply([event])


def test_a_truncate_removes_what_is_lower() -> None:
    """Events below the greatest truncate are dead, at it they live, also in later runs and of new keys."""
    model = Model(SCD1)
    model.apply([upsert(1, 4), upsert(2, 5), truncate(5), truncate(3)])
    model.apply([upsert(3, 4), upsert(4, 6)])
    assert [row(2), row(4)] == model.rows()


@pytest.mark.parametrize("config", [SCD1, SCD2], ids=["scd1", "scd2"])
@pytest.mark.parametrize("sequence_ties", ["warn", "allow"])
@pytest.mark.parametrize("is_reversed", [False, True])
def test_who_wins_a_tie(config: Config, sequence_ties: Ties, is_reversed: bool) -> None:
    """A delete beats an upsert; of upserts the greatest by output columns wins, null lowest; in any order."""
    model = Model(with_ties(config, sequence_ties))
    batch = [
        *(upsert(1, 1, "b", None), upsert(1, 1, "a", "z"), upsert(1, 1, "b", "a")),
        *(upsert(2, 1, None, "z"), upsert(2, 1, "", None)),
        *(upsert(3, 0), upsert(3, 1, "x"), delete(3, 1)),
    ]
    figures = model.apply(batch[::-1] if is_reversed else batch)
    visible = [{name: r[name] for name in "kvw"} for r in model.rows() if r.get(END) is None]
    assert [row(1, "b", "a"), row(2, "", None)] == visible
    assert 3 == figures.tied


def test_ties_that_decide_nothing_pass_in_type_1() -> None:
    """A tie below the key's winner of this or an earlier run, or below a truncate, is let through."""
    tie = [upsert(1, 3, "x"), upsert(1, 3, "y")]
    for first, second in (
        ([], [*tie, upsert(1, 4, "z")]),
        ([upsert(1, 4, "z")], tie),
        ([delete(1, 4)], tie),
        ([], [*tie, truncate(4)]),
        ([truncate(4)], tie),
    ):
        model = Model(SCD1)
        model.apply(first)
        assert 0 == model.apply(second).tied


def test_ties_at_a_truncate_decide() -> None:
    """At the truncate's own sequence an upsert lives: two make a tie, one and the truncate do not."""
    with pytest.raises(Refused, match="ties"):
        Model(SCD1).apply([upsert(1, 3, "x"), upsert(1, 3, "y"), truncate(3)])
    assert Figures(upserted=1, read=2) == Model(SCD1).apply([upsert(1, 3, "x"), truncate(3)])


def test_ties_in_hidden_history_count_in_type_2() -> None:
    """In type 2 every tie counts, also one that lies before rows that stay."""
    model = Model(SCD2)
    model.apply([upsert(1, 4, "z")])
    with pytest.raises(Refused, match="ties"):
        model.apply([upsert(1, 3, "x"), upsert(1, 3, "y")])


@pytest.mark.parametrize("config", [SCD1, SCD2], ids=["scd1", "scd2"])
def test_a_known_key_and_sequence_is_a_replay(config: Config) -> None:
    """An event whose key and sequence an earlier run applied changes nothing and ties with nothing."""
    model = Model(config)
    model.apply([upsert(1, 1, "x"), upsert(2, 1, "x")])
    before = model.rows()
    figures = model.apply([upsert(1, 1, "other"), delete(1, 1), delete(2, 1)])
    assert before == model.rows()
    assert Figures(read=3, replays=3) == figures


def test_equal_events_are_duplicates_not_ties() -> None:
    """Copies of an event count as duplicates; what a delete carries besides its key makes no difference."""
    model = Model(SCD2)
    other_delete = Event("delete", (1,), 2, {"v": "other"})
    figures = model.apply([upsert(1, 1, "x"), upsert(1, 1, "x"), delete(1, 2), other_delete])
    assert Figures(upserted=1, read=4, duplicates=2) == figures


def test_nan_and_null_equal_themselves() -> None:
    """Values are compared as values: a repeated NaN or null continues the run."""
    model = Model(SCD2)
    model.apply([upsert(1, 1, float("nan")), upsert(1, 2, float("nan")), upsert(2, 1), upsert(2, 2)])
    assert 2 == len(model.rows())


def test_figures_of_type_1() -> None:
    """A winning upsert counts as written, with equal values too; a delete of nothing visible does not."""
    model = Model(SCD1)
    model.apply([upsert(1, 5, "x"), upsert(2, 5, "x"), upsert(3, 5, "x")])
    late = [upsert(2, 4, "late"), upsert(2, 3, "late")]
    figures = model.apply([upsert(1, 6, "x"), *late, delete(3, 6), delete(4, 1), upsert(3, 5)])
    assert Figures(upserted=1, rewritten=1, deleted=1, read=6, late=2, replays=1) == figures


def test_figures_of_type_2() -> None:
    """A late event that cuts a row in two writes three; one that moves a start writes one, deletes one."""
    model = Model(SCD2)
    model.apply([upsert(1, 2, "x"), upsert(1, 4, "x"), upsert(2, 4, "y")])
    assert Figures(upserted=3, read=1, late=1) == model.apply([upsert(1, 3, "late")])
    assert Figures(upserted=1, deleted=1, read=1, late=1) == model.apply([upsert(2, 1, "y")])
    figures = model.apply([upsert(2, 2, "y"), upsert(2, 1, "y")])
    assert Figures(read=2, late=1, late_replays=1, replays=1) == figures


def test_expired_tombstones_let_older_events_in() -> None:
    """A delete further than the retention behind the greatest sequence seen no longer keeps its key out."""
    model = Model(Config(("k",), ("k",), tombstone_retention=timedelta(days=2)))
    first = datetime(2026, 1, 1, tzinfo=timezone.utc)
    day = timedelta(days=1)
    model.apply([delete(1, first + 4 * day), delete(2, first + 5 * day)])
    model.apply([upsert(3, first + 7 * day)])
    model.apply([upsert(1, first), upsert(2, first)])
    assert [{"k": 1}, {"k": 3}] == model.rows()


def test_expired_tombstones_keep_visible_ends() -> None:
    """In type 2 a delete that ends a visible row stays; one that hides behind it is forgotten."""
    model = Model(Config(("k",), ("k",), scd_type=2, tombstone_retention=2))
    model.apply([upsert(1, 1), delete(1, 3), delete(1, 5), upsert(2, 9)])
    model.apply([upsert(1, 4), upsert(1, 2)])
    bounds = [(r["k"], r[START], r[END]) for r in model.rows()]
    assert [(1, 1, 3), (1, 4, None), (2, 9, None)] == bounds
