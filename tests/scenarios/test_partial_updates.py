"""Partial updates around the events: bad input, columns that come and go, options that change, rows written by hand.

Straight on the engine. Not here: streams of events in any order (`properties/test_partial_updates`), dbt.
"""

from __future__ import annotations

from typing import Any

import pytest

from dbt_auto_cdc.errors import AutoCdcError
from tests.changing import Changing, MakeChanging
from tests.databases import here
from tests.flow_sql import FlowSql, compiled

KEYS: dict[str, Any] = {"keys": ["id"], "sequence_by": "seq", "apply_as_deletes": "op = 'D'"}
SCD1: dict[str, Any] = {**KEYS, "except_column_list": ["op", "seq"]}
SCD2: dict[str, Any] = {**SCD1, "stored_as_scd_type": 2}
IGNORE: dict[str, Any] = {"ignore_null_updates": True}
LISTS: dict[str, Any] = {"columns_to_update": "cols", "except_column_list": ["op", "seq", "cols"]}
MODES = pytest.mark.parametrize("mode", [SCD1, SCD2], ids=["scd1", "scd2"])
# What rows say of themselves where events begin to leave something out: in a history, what versions do.
PRESUMED = pytest.mark.parametrize(
    "mode",
    [
        pytest.param(SCD1, marks=pytest.mark.transactional, id="scd1"),
        pytest.param(SCD2, marks=pytest.mark.altering, id="scd2"),
    ],
)
FEED = "id, seq, a varchar, b varchar"
LISTED = "id, seq, cols varchar[], a varchar, b varchar"


def rows(target: Changing) -> list[tuple[Any, ...]]:
    """Return the rows in the order of keys and, in a history, of starts."""
    bounds = [name for name in target.columns() if name.lower() == "__start_at"]
    return target.query(f"select * from target order by {', '.join(['id', *bounds])}")


def companion(target: Changing) -> set[str]:
    return {name for name in target.columns("target__auto_cdc") if name.startswith("__auto_cdc_")}


# -- Bad input ---------------------------------------------------------------------------------------------------------


@MODES
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"ignore_null_updates_column_list": ["a", "nope"]},
            "ignore_null_updates_column_list names nope, which is not a column of the model; there are: id, a, b",
        ),
        (
            {"ignore_null_updates_except_column_list": ["seq"]},
            (
                "ignore_null_updates_except_column_list names seq, which is not an output column; leave it out,"
                " or select it"
            ),
        ),
        (
            {"columns_to_update": "nope"},
            "columns_to_update names nope, which is not a column of the model; did you mean op?",
        ),
        (
            {"columns_to_update": "a"},
            (
                "columns_to_update names a, which has type VARCHAR; it must hold lists of text: the names of the"
                " columns that an event writes, or null for all of them"
            ),
        ),
    ],
)
def test_unfit_columns(
    changing: MakeChanging, mode: dict[str, Any], options: dict[str, Any], said: str
) -> None:
    """Names that are no output columns, and a list column that holds no lists, are refused with what to write."""
    target = changing()
    target.given({**mode, **IGNORE}, FEED, "1 | 1 | 'a' | 'b'")
    assert here(said) == target.refused({**mode, **options}, FEED, "1 | 2 | 'a' | 'b'")


@MODES
@pytest.mark.parametrize(
    ("listed", "example"), [("array['a', 'bb']", "bb"), ("array['a', null]", "null"), ("array['a.x']", "a.x")]
)
def test_unknown_names_in_a_list(
    changing: MakeChanging, mode: dict[str, Any], listed: str, example: str
) -> None:
    """They are counted over the new upserts, with an example, before anything is written."""
    target, config = changing(), {**mode, **LISTS}
    target.given(config, LISTED, "1 | 1 | null | 'a' | 'b'")
    said = target.refused(config, LISTED, f"1 | 2 | {listed} | 'x' | 'x'", f"2 | 2 | {listed} | 'x' | 'x'")
    assert said == (
        f"columns_to_update cols names in 2 of the new rows what is no column of the model, for example {example};"
        f" there are: id, seq, cols, a, b, op"
    )


@MODES
def test_a_delete_may_list_anything(changing: MakeChanging, mode: dict[str, Any]) -> None:
    """What a delete carries beside its key is never read."""
    target, config = changing(), {**mode, **LISTS}
    target.given(
        config, f"{LISTED}, op", "1 | 1 | null | 'a' | 'b' | 'U'", "1 | 2 | array['nope'] | null | null | 'D'"
    )
    assert (0 if mode is SCD1 else 1) == len(rows(target))


def test_ties_name_the_ways_out(changing: MakeChanging) -> None:
    """Two values of one column at one sequence are a tie; two columns are not, and come together."""
    target, config = changing(), {**SCD1, **IGNORE}
    target.given(config, FEED, "1 | 1 | 'a' | null", "1 | 1 | null | 'b'")
    assert [(1, "a", "b")] == rows(target)
    said = target.refused(config, FEED, "1 | 2 | 'x' | null", "1 | 2 | 'y' | 'b'")
    assert said.startswith("1 time a key has different events at one sequence, for example id=1 at 2; ")
    target.given(config, FEED, "1 | 2 | 'x' | null", "1 | 2 | 'y' | 'b'", sequence_ties="allow")
    assert [(1, "y", "b")] == rows(target)


@pytest.mark.parametrize("options", [IGNORE, LISTS], ids=["nulls", "lists"])
def test_nothing_passes_a_delete_that_beats_an_upsert(
    changing: MakeChanging, options: dict[str, Any]
) -> None:
    """What an upsert sent where a delete ties with it is gone: later versions do not inherit it."""
    target, config = changing(), {**SCD2, **options, "sequence_ties": "allow"}
    tied = ["1 | 2 | array['a', 'b'] | 'leak' | 'b2' | 'U'", "1 | 2 | array['a', 'b'] | null | null | 'D'"]
    target.given(config, f"{LISTED}, op", "1 | 1 | array['a', 'b'] | 'a1' | 'b1' | 'U'")
    target.given(config, f"{LISTED}, op", *tied, "1 | 3 | array['b'] | null | 'b3' | 'U'")
    shown = "select a, b, __START_AT, __END_AT from target order by __START_AT"
    assert [("a1", "b1", 1, 2), (None, "b3", 3, None)] == target.query(shown)


# -- Known events ------------------------------------------------------------------------------------------------------


@MODES
def test_a_column_may_still_be_written_at_a_known_sequence(
    changing: MakeChanging, mode: dict[str, Any]
) -> None:
    """What the event at a key and sequence did not send may come later; what it sent is known."""
    target, config = changing(), {**mode, **IGNORE}
    target.given(config, FEED, "1 | 1 | 'a1' | 'b1'", "1 | 2 | 'a2' | null")
    target.given(config, FEED, "1 | 2 | 'other' | 'b2'")
    wanted = [(1, "a2", "b2")] if mode is SCD1 else [(1, "a1", "b1", 1, 2), (1, "a2", "b2", 2, None)]
    assert wanted == rows(target)
    before = target.sees()
    target.given(config, FEED, "1 | 2 | 'a2' | null", "1 | 2 | 'other' | 'b2'", sequence_ties="allow")
    assert before == target.sees()


def test_columns_that_say_what_an_event_is_are_always_written(changing: MakeChanging) -> None:
    """Sequence, condition and list columns that are output columns have the last event's value, null or not."""
    target = changing()
    config = {**KEYS, **IGNORE, "sequence_by": ["seq"]}
    target.given(config, f"{FEED}, op varchar", "1 | 1 | 'a' | 'b' | 'U'", "1 | 2 | 'c' | null | null")
    assert [(1, 2, "c", "b", None)] == rows(target)


def test_nulls_are_written_where_a_list_says_so(changing: MakeChanging) -> None:
    """A listed null overwrites, in any case; an unlisted value does not count; a null list means every column."""
    target, config = changing(), {**SCD1, **LISTS}
    target.given(config, LISTED, "1 | 1 | null | 'a' | 'b'", "1 | 2 | array['A'] | null | 'unlisted'")
    assert [(1, None, "b")] == rows(target)
    target.given(config, LISTED, "1 | 3 | array[] | 'x' | 'x'")
    assert [(1, None, "b")] == rows(target)
    target.given(config, LISTED, "1 | 4 | null | null | null", "2 | 1 | array[] | 'x' | 'x'")
    assert [(1, None, None), (2, None, None)] == rows(target)


# -- Deletes and truncates ---------------------------------------------------------------------------------------------


def test_a_truncate_takes_parts_of_rows_that_outlive_it(changing: MakeChanging) -> None:
    """Of a row whose last event is above the truncate goes what was written below it, though no event touches it."""
    target, config = changing(), {**SCD1, **IGNORE, "apply_as_truncates": "op = 'T'"}
    columns = f"{FEED}, op"
    target.given(
        config, columns, "1 | 1 | 'a' | 'b' | 'U'", "1 | 5 | 'a5' | null | 'U'", "2 | 2 | 'a' | 'b' | 'U'"
    )
    target.given(config, columns, "null::integer | 3 | null | null | 'T'")
    assert [(1, "a5", None)] == rows(target)
    target.given(config, columns, "1 | 2 | 'late' | 'late' | 'U'", "1 | 4 | 'late' | 'b4' | 'U'")
    assert [(1, "a5", "b4")] == rows(target)


def test_a_late_delete_takes_what_is_older(changing: MakeChanging) -> None:
    """It lies below the row's last event, so the row stays; what was written before it goes, also if it comes late."""
    target, config = changing(), {**SCD1, **IGNORE}
    target.given(config, FEED, "1 | 1 | 'a' | 'b'", "1 | 5 | 'a5' | null")
    target.given(config, f"{FEED}, op", "1 | 3 | null | null | 'D'")
    target.given(config, FEED, "1 | 2 | null | 'late'")
    assert [(1, "a5", None)] == rows(target)


def test_tombstones_go_after_their_time(changing: MakeChanging) -> None:
    """With a delete goes what it kept out; one below a living row stays with the row."""
    target, config = changing(), {**SCD1, **IGNORE, "tombstone_retention": 10}
    target.given(
        config,
        f"{FEED}, op",
        "1 | 5 | null | null | 'D'",
        "2 | 5 | null | null | 'D'",
        "2 | 6 | 'a' | null | 'U'",
    )
    target.given(config, FEED, "3 | 100 | 'c' | null")
    target.given(config, FEED, "1 | 4 | 'old' | null", "2 | 4 | 'old' | 'old'")
    assert [(1, "old", None), (2, "a", None), (3, "c", None)] == rows(target)


# -- Columns that come and go ------------------------------------------------------------------------------------------


@MODES
@pytest.mark.parametrize("options", [IGNORE, LISTS], ids=["nulls", "lists"])
def test_a_lost_column_is_not_sent(
    changing: MakeChanging, mode: dict[str, Any], options: dict[str, Any]
) -> None:
    """It keeps its value in newer events, and is null after a delete; when it comes back it is written again."""
    target, config = changing(), {**mode, **options}
    columns, lost = (
        (FEED, "id, seq, a varchar") if options is IGNORE else (LISTED, "id, seq, cols varchar[], a varchar")
    )
    null = "" if options is IGNORE else " | null"
    target.given(config, columns, f"1 | 1{null} | 'a' | 'b'", f"2 | 1{null} | 'a' | 'b'")
    target.given(config, lost, f"1 | 2{null} | 'a2'")
    target.given(config, f"{lost}, op", f"2 | 2{null} | null | 'D'", f"2 | 3{null} | 'a3' | 'U'")
    shown = target.query("select id, a, b from target" + (" where __END_AT is null" if mode is SCD2 else ""))
    assert [(1, "a2", "b"), (2, "a3", None)] == sorted(shown)
    target.given(config, columns, f"1 | 3{null} | 'a3' | 'b3'", f"2 | 2{null} | 'late' | 'late'")
    shown = target.query("select id, a, b from target" + (" where __END_AT is null" if mode is SCD2 else ""))
    assert [(1, "a3", "b3"), (2, "a3", None)] == sorted(shown)


@pytest.mark.transactional
def test_a_lost_column_that_wrote_its_nulls(changing: MakeChanging) -> None:
    """A column outside the option writes its nulls, but once the source lost it, it is not sent either."""
    target, config = changing(), {**SCD1, "ignore_null_updates_column_list": ["a"]}
    target.given(config, FEED, "1 | 1 | 'a' | 'b'")
    target.given(config, "id, seq, a varchar", "1 | 2 | 'a2'")
    assert [(1, "a2", "b")] == rows(target)
    target.given(config, FEED, "1 | 3 | null | null")
    assert [(1, "a2", None)] == rows(target)
    assert {"__auto_cdc_author_a"} == {name for name in companion(target) if "author" in name}


@pytest.mark.altering
@MODES
def test_a_new_column_fills_up_from_late_events(changing: MakeChanging, mode: dict[str, Any]) -> None:
    """Nobody wrote it in older events, so a late one does."""
    target, config = changing(), {**mode, **IGNORE}
    target.given(config, "id, seq, a varchar", "1 | 3 | 'a3'")
    target.given(config, FEED, "1 | 1 | 'a1' | 'b1'")
    wanted = [("a3", "b1")] if mode is SCD1 else [("a1", "b1"), ("a3", "b1")]
    assert wanted == target.query("select a, b from target order by a")


@pytest.mark.rare_types
@pytest.mark.only_on("duckdb")  # PostgreSQL has structs with a type's name only
@MODES
def test_a_struct_that_gets_a_field(changing: MakeChanging, mode: dict[str, Any]) -> None:
    """The new leaf is filled, and the others keep who wrote them."""
    target, config = changing(), {**mode, **IGNORE}
    target.given(config, "id, seq, p struct(x integer)", "1 | 1 | {'x': 1}", "1 | 3 | {'x': 3}")
    wide = "id, seq, p struct(x integer,y integer)"
    target.given(config, wide, "1 | 2 | {'x': 2, 'y': 2}", "1 | 4 | {'x': null, 'y': null}")
    shown = target.query("select p.x, p.y from target" + (" where __END_AT is null" if mode is SCD2 else ""))
    assert [(3, 2)] == shown


# -- Options that change -----------------------------------------------------------------------------------------------


@PRESUMED
@pytest.mark.parametrize("options", [IGNORE, LISTS], ids=["nulls", "lists"])
def test_partial_updates_may_be_switched_on(
    changing: MakeChanging, mode: dict[str, Any], options: dict[str, Any]
) -> None:
    """What a row has counts as written by its last event, so that no older event takes its place; nulls fill up."""
    target, config = changing(), {**mode, **options}
    columns, null = (FEED, "") if options is IGNORE else (LISTED, " | null")
    without = {**mode, "except_column_list": config["except_column_list"]}
    target.given(without, columns, f"1 | 1{null} | 'a1' | 'b1'", f"1 | 5{null} | 'a5' | null")
    listed = "" if options is IGNORE else " | array['a']"
    target.given(config, columns, f"1 | 6{listed} | 'a6' | null")
    target.given(
        config, columns, f"1 | 4{null} | 'a4' | null" if mode is SCD2 else f"1 | 4{null} | 'late' | 'b4'"
    )
    if mode is SCD1:
        assert [(1, "a6", "b4")] == rows(target)
    else:
        now = target.query("select a, b, __START_AT from target order by __START_AT")
        assert [
            ("a1", "b1", 1),
            ("a4", "b1" if options is IGNORE else None, 4),
            ("a5", None, 5),
            ("a6", None, 6),
        ] == now


@pytest.mark.altering
@MODES
def test_partial_updates_may_be_switched_off(changing: MakeChanging, mode: dict[str, Any]) -> None:
    """From then on every event writes all columns, and the companion keeps nothing about them."""
    target = changing()
    target.given({**mode, **IGNORE}, FEED, "1 | 1 | 'a' | 'b'", "1 | 3 | 'a3' | null")
    target.given(mode, FEED, "1 | 4 | 'a4' | null")
    shown = target.query("select a, b from target" + (" where __END_AT is null" if mode is SCD2 else ""))
    assert [("a4", None)] == shown
    assert not [name for name in companion(target) if "author" in name or "sent" in name or "floor" in name]
    target.given(mode, FEED, "1 | 2 | 'late' | 'late'")
    assert [("a4", None)] == target.query(
        "select a, b from target" + (" where __END_AT is null" if mode is SCD2 else "")
    )


@pytest.mark.altering
@MODES
def test_another_form_takes_over(changing: MakeChanging, mode: dict[str, Any]) -> None:
    """From all columns to one: the others write their nulls, and the one goes on as it was."""
    target = changing()
    target.given({**mode, **IGNORE}, FEED, "1 | 1 | 'a' | 'b'", "1 | 3 | null | 'b3'")
    target.given(
        {**mode, "ignore_null_updates_column_list": ["a"]}, FEED, "1 | 4 | null | null", "1 | 2 | 'a2' | null"
    )
    shown = target.query("select a, b from target" + (" where __END_AT is null" if mode is SCD2 else ""))
    assert [("a2", None)] == shown


@MODES
def test_a_full_refresh_starts_over(changing: MakeChanging, mode: dict[str, Any]) -> None:
    """What was remembered of columns goes with the rows."""
    target, config = changing(), {**mode, **IGNORE}
    target.given(config, FEED, "1 | 5 | 'a' | 'b'")
    sql = "select 1 as id, 1 as seq, 'new' as a, cast(null as varchar) as b, 'U' as op"
    target.run(config, sql=sql, full_refresh=True)
    assert [("new", None)] == target.query("select a, b from target")


# -- Several flows -----------------------------------------------------------------------------------------------------


def flow(name: str, columns: str, *rows: str) -> FlowSql:
    """Give a flow of events with these columns."""
    return FlowSql(name, f"select * from (values {', '.join(rows)}) as events ({columns})")


@MODES
@pytest.mark.parametrize(
    "options",
    [IGNORE, {"ignore_null_updates_column_list": ["a"]}, {"ignore_null_updates_except_column_list": ["a"]}],
)
def test_flows_may_select_other_columns(
    changing: MakeChanging, mode: dict[str, Any], options: dict[str, Any]
) -> None:
    """What a flow does not select it does not send, also where its nulls would be written."""
    target, config = changing(), {**mode, **options}
    names = flow("names", "id, a, seq, op", "(1, 'a1', 1, 'U')", "(1, 'a5', 5, 'U')", "(2, 'a', 1, 'U')")
    places = flow("places", "ID, seq, op, b", "(1, 2, 'U', 'b2')", "(1, 7, 'U', 'b7')")
    target.run(config, sql=compiled(names, places))
    shown = f"select id, a, b from target {'where __END_AT is null' if mode is SCD2 else ''} order by id"
    assert [(1, "a5", "b7"), (2, "a", None)] == target.query(shown)
    late = flow("places", "id, seq, op, b", "(2, 1, 'U', 'b1')", "(1, 6, 'U', 'late')")
    target.run(config, sql=compiled(flow("names", "id, a, seq, op", "(2, 'a3', 3, 'U')"), late))
    assert [(1, "a5", "b7"), (2, "a3", "b1")] == target.query(shown)
    before = target.sees()
    target.run(config, sql=compiled(names, places))
    assert before == target.sees()


@MODES
def test_a_flow_that_lists_its_columns_beside_one_that_does_not(
    changing: MakeChanging, mode: dict[str, Any]
) -> None:
    """A flow without the list column writes all that it selects."""
    target, config = (
        changing(),
        {**mode, **LISTS, "track_history_column_list": ["b"] if mode is SCD2 else None},
    )
    lists = flow(
        "lists",
        "id, a, b, seq, op, cols",
        "(1, 'a1', 'b1', 1, 'U', array['a', 'b'])",
        "(1, 'x', null, 3, 'U', array['B'])",
    )
    other = flow("other", "id, a, seq, op", "(1, null, 2, 'U')", "(2, 'a2', 2, 'U')")
    target.run(config, sql=compiled(lists, other))
    shown = f"select id, a, b from target {'where __END_AT is null' if mode is SCD2 else ''} order by id"
    assert [(1, None, None), (2, "a2", None)] == target.query(shown)
    said = "columns_to_update cols names in 1 of the new rows what is no column of the model, for example c; there are:"
    wrong = flow("lists", "id, a, b, seq, op, cols", "(1, 'a1', 'b1', 4, 'U', array['c'])")
    with pytest.raises(AutoCdcError) as refused:
        target.run(config, sql=compiled(wrong, other))
    assert str(refused.value).endswith(f"{said} id, a, b, seq, op, cols")


def test_what_flows_are_ordered_by_is_always_written(changing: MakeChanging) -> None:
    """A column that a flow's condition names has the null of the flow's last event; one it lacks is left alone."""
    target, config = changing(), {**KEYS, **IGNORE, "except_column_list": ["seq"]}
    one = flow("one", "id, a, seq, op", "(1, 'a1', 1, 'U')", "(2, 'a1', 1, 'U')", "(2, null, 3, null)")
    two = FlowSql("two", "select 1 as id, 2 as seq, 'b' as b, false as op", {"apply_as_deletes": "op"})
    with pytest.raises(AutoCdcError, match="column op has types that do not go together"):
        target.run(config, sql=compiled(one, two))
    two = FlowSql("two", "select 1 as id, 2 as seq, 'b' as b, false as gone", {"apply_as_deletes": "gone"})
    target.run(config, sql=compiled(one, two))
    assert [(1, "a1", "U", "b", False), (2, "a1", None, None, None)] == rows(target)
    assert ["id", "a", "op", "b", "gone"] == list(target.columns())


@pytest.mark.altering
@MODES
def test_flows_may_be_added_with_columns_of_their_own(changing: MakeChanging, mode: dict[str, Any]) -> None:
    """A flow that comes later brings a new column to rows that others keep; one that is gone leaves its values."""
    target, config = changing(), {**mode, **IGNORE}
    names = flow("names", "id, a, seq, op", "(1, 'a1', 1, 'U')")
    places = flow("places", "id, seq, op, b", "(1, 2, 'U', 'b2')")
    target.run(config, sql=compiled(names))
    target.run(config, sql=compiled(names, places))
    target.run(config, sql=compiled(flow("names", "id, a, seq, op", "(1, 'a3', 3, 'U')")))
    shown = f"select a, b from target {'where __END_AT is null' if mode is SCD2 else ''}"
    assert [("a3", "b2")] == target.query(shown)


@MODES
@pytest.mark.parametrize("policy", ["sync_all_columns", "fail", "ignore", "append_new_columns"])
def test_a_flow_that_was_read_once_keeps_its_columns(
    changing: MakeChanging, mode: dict[str, Any], policy: str
) -> None:
    """A column of its own is not lost when the flow is not read any more, whatever the policy for lost columns."""
    target, config = changing(), {**mode, **IGNORE, "on_schema_change": policy}
    first, rest = (flow("changes", "id, a, seq, op", f"(1, 'a{number}', {number}, 'U')") for number in (2, 3))
    once = FlowSql("history", "select 1 as id, 1 as seq, 'a1' as a, 'b1' as b, 'U' as op", {"once": True})
    target.run(config, sql=compiled(once, first))
    target.run(config, sql=compiled(once, rest))
    shown = f"select a, b from target {'where __END_AT is null' if mode is SCD2 else ''}"
    assert [("a3", "b1")] == target.query(shown)


def test_whole_dumps_leave_nothing_out(changing: MakeChanging) -> None:
    """Dumps beside changes take no partial updates."""
    dump = FlowSql("dump", "select 1 as id, 5 as taken, 'a' as a", {"snapshot_version": "taken"})
    with pytest.raises(
        AutoCdcError, match="flow dump has snapshot_version, and ignore_null_updates is for targets of"
    ):
        changing().run(
            {**SCD1, **IGNORE}, sql=compiled(flow("names", "id, a, seq, op", "(1, 'a', 1, 'U')"), dump)
        )


# -- Rows written by hand ----------------------------------------------------------------------------------------------


def test_type_1_rows_by_hand(changing: MakeChanging) -> None:
    """A row put in is older than any event, a value changed has its author, a row taken out waits for a newer event."""
    target, config = changing(), {**SCD1, **IGNORE}
    target.given(config, FEED, "1 | 5 | 'a' | null", "2 | 5 | 'a' | 'b'", "3 | 5 | 'a' | 'b'")
    target.query("insert into target values (4, 'hand', 'hand')")
    target.query("update target set a = 'hand' where id = 1")
    target.query("delete from target where id in (2, 3)")
    target.given(
        config,
        FEED,
        "1 | 4 | 'late' | 'b4'",
        "2 | 4 | 'late' | 'late'",
        "3 | 6 | 'a6' | null",
        "4 | 1 | 'a' | null",
    )
    assert [(1, "hand", "b4"), (3, "a6", None), (4, "a", "hand")] == rows(target)


def test_type_2_values_by_hand(changing: MakeChanging) -> None:
    """A value changed in a version was written there: it stands, and flows on; so does one that was inherited."""
    target, config = changing(), {**SCD2, **IGNORE}
    target.given(config, FEED, "1 | 1 | 'a1' | 'b1'", "1 | 5 | 'a5' | null", "1 | 9 | 'a9' | null")
    target.query("update target set b = 'hand' where __START_AT >= 5")
    target.given(config, FEED, "1 | 3 | null | 'b3'", "1 | 7 | 'a7' | null")
    assert [
        (1, "a1", "b1", 1, 3),
        (1, "a1", "b3", 3, 5),
        (1, "a5", "hand", 5, 7),
        (1, "a7", "hand", 7, 9),
        (1, "a9", "hand", 9, None),
    ] == rows(target)


@pytest.mark.altering
def test_type_2_nulls_by_hand_and_from_before(changing: MakeChanging) -> None:
    """A null below which a value stands was written, by hand or before events left anything out: it stays a null."""
    target = changing()
    target.given(SCD2, FEED, "1 | 1 | 'a1' | 'b1'", "1 | 5 | 'a5' | null")
    target.given({**SCD2, **IGNORE}, FEED, "1 | 3 | 'a3' | 'b3'")
    assert [(1, "a1", "b1", 1, 3), (1, "a3", "b3", 3, 5), (1, "a5", None, 5, None)] == rows(target)


def test_it_is_refused_before_anything_is_written(changing: MakeChanging) -> None:
    """The three forms and the list exclude one another, in one message."""
    with pytest.raises(AutoCdcError) as refused:
        changing().given({**SCD1, **LISTS, **IGNORE}, LISTED, "1 | 1 | null | 'a' | 'b'")
    (problem,) = refused.value.problems
    assert problem == (
        "ignore_null_updates and columns_to_update are set together, and each says in its own way which columns an"
        " event leaves out; write one of them"
    )
