"""Bad configuration and bad data are refused: one clear message, nothing written, and the next good run works.

Straight on DuckDB. Not here: what the parser of the options refuses alone (`unit/test_spec`) and dbt (`dbt`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from dbt_auto_cdc.errors import AutoCdcError
from dbt_auto_cdc.execute import Outcome
from tests.databases import (
    UNTYPED_NULLS,
    Connection,
    adapter_of,
    columns_of,
    engine_error,
    engine_of,
    here,
    speaks,
    spoken,
    tables_of,
    takes_lists,
    with_values,
)
from tests.direct import Direct

FEED = "id integer, region text, seq bigint, pos integer, op text, city text, note text"
FIRST = """
(1, 'n', 1, 1, 'U', 'Oslo', 'a'), (1, 'n', 2, 1, 'U', 'Oslo', 'b'), (2, 'n', 1, 1, 'U', 'Rome', 'a'),
(3, 's', 1, 1, 'U', 'Bari', 'a'), (3, 's', 2, 1, 'D', null, null)
"""
COLUMNS = "id, region, seq, pos, op, city, note"
A_TIME = "timestamp '2026-01-01' + seq * interval '1 day'"
GOOD: dict[str, Any] = {
    "keys": ["id"],
    "sequence_by": "seq",
    "apply_as_deletes": "op = 'D'",
    "except_column_list": ["op", "pos"],
}
SCD1: dict[str, Any] = {**GOOD, "stored_as_scd_type": 1}
SCD2: dict[str, Any] = {
    **GOOD,
    "stored_as_scd_type": 2,
    "track_history_column_list": ["city"],
}


class Kept(Direct):
    """A target that has had its first good run, and a close look at what is stored."""

    def sees(self) -> dict[str, Any]:
        """Return the columns, rows and indexes of everything that is stored."""
        run, tables = self.connection.execute, tables_of(self.connection)
        quote = engine_of(self.connection).quote
        indexes = "select index_name, sql from duckdb_indexes()"
        if adapter_of(self.connection) == "postgres":
            indexes = "select indexname, indexdef from pg_indexes where schemaname = current_schema()"
        return {
            "tables": tables,
            "indexes": [] if speaks() == "spark" else sorted(run(indexes).fetchall()),
            **{
                name: (
                    columns_of(self.connection, quote(name)),
                    sorted(run(f"select * from {quote(name)}").fetchall(), key=repr),
                )
                for name in tables
            },
        }

    def refuses(self, config: dict[str, Any], *, sql: str = "select * from feed") -> str:
        """Run, which has to be refused and to change nothing, and return the message."""
        before = self.sees()
        with pytest.raises(AutoCdcError) as refusal:
            self.run(config, sql=sql)
        assert before == self.sees()
        return str(refusal.value)

    def problems(self, config: dict[str, Any], *, sql: str = "select * from feed") -> tuple[str, ...]:
        """Return the problems of a run that has to be refused."""
        before = self.sees()
        with pytest.raises(AutoCdcError) as refusal:
            self.run(config, sql=sql)
        assert before == self.sees()
        assert str(refusal.value).startswith("auto_cdc: model target: ")
        assert 1 == str(refusal.value).count("model target")
        return refusal.value.problems

    def problem(self, config: dict[str, Any], *, sql: str = "select * from feed") -> str:
        """Return the only problem of a run that has to be refused."""
        (problem,) = self.problems(config, sql=sql)
        return problem

    def feeds(self, *rows: str) -> None:
        """Let the feed have these rows and no others."""
        self.connection.execute("delete from feed")
        if rows:
            self.connection.execute(f"insert into feed values {', '.join(rows)}")


def empty(connection: Connection) -> Kept:
    """Return a target before its first run, with a feed that has no rows, in an empty place."""
    for table, kind in tables_of(connection).items():
        connection.execute(f'drop {"view" if kind == "VIEW" else "table"} "{table}"')
    connection.execute(f"create table feed ({FEED})")
    return Kept(connection)


def kept(connection: Connection, config: dict[str, Any]) -> Kept:
    """Return a target after a first run."""
    target = empty(connection)
    target.connection.execute(f"insert into feed values {FIRST}")
    target.run(config)
    return target


@pytest.fixture(params=[SCD1, SCD2], ids=["scd1", "scd2"])
def config(request: pytest.FixtureRequest) -> dict[str, Any]:
    return dict(request.param)


@pytest.fixture
def target(connection: Connection, config: dict[str, Any]) -> Iterator[Kept]:
    """Give a target after its first run; after the test a good run with a new event has to work."""
    target = kept(connection, config)
    yield target
    works_on(target, config)


def works_on(target: Kept, config: dict[str, Any]) -> Outcome:
    """Run with a new event, which has to arrive."""
    target.feeds("(9, 'n', 9, 9, 'U', 'Kiel', 'z')")
    outcome = target.run(config)
    assert 1 == outcome.figures["num_upserted_rows"]
    assert [("Kiel", "z")] == [(row["city"], row["note"]) for row in target.rows() if row["id"] == 9]
    return outcome


# -- Names -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("keys", ["idd"], "keys names idd, which is not a column of the model; did you mean id?"),
        (
            "keys",
            ["id", "reigon"],
            "keys names reigon, which is not a column of the model; did you mean region?",
        ),
        ("keys", ["feed.id"], "keys names feed.id; write the column without its table: id"),
        ("sequence_by", "sq", "sequence_by names sq, which is not a column of the model; did you mean seq?"),
        (
            "sequence_by",
            '"sq"',
            "sequence_by names sq, which is not a column of the model; did you mean seq?",
        ),
        (
            "sequence_by",
            ["seq", "pso"],
            "sequence_by names pso, which is not a column of the model; did you mean pos?",
        ),
        (
            "except_column_list",
            ["op", "pos", "cty"],
            "except_column_list names cty, which is not a column of the model; did you mean city?",
        ),
        (
            "apply_as_deletes",
            "is_deleted",
            f"apply_as_deletes names is_deleted, which is not a column of the model; there are: {COLUMNS}",
        ),
    ],
)
def test_unknown_columns(target: Kept, config: dict[str, Any], option: str, value: object, said: str) -> None:
    """An unknown name is refused with the nearest one, whatever option has it."""
    value = spoken(target.connection, value) if isinstance(value, str) else value
    assert said in target.problems({**config, option: value})


def test_unknown_columns_to_keep(target: Kept, config: dict[str, Any]) -> None:
    """`column_list` as well; a key that is not in it is no key."""
    chosen = {**config, "except_column_list": None, "column_list": ["region", "seq", "city", "notes"]}
    assert (
        "column_list names notes, which is not a column of the model; did you mean note?",
        "key id is not among the output columns; name it in column_list, or take it out of except_column_list",
    ) == target.problems(chosen)


def test_keys_have_to_be_kept(target: Kept, config: dict[str, Any]) -> None:
    """A key that is left out, from the first run or later, is refused."""
    assert (
        "key id is not among the output columns; name it in column_list, or take it out of except_column_list"
    ) in target.problems({**config, "except_column_list": ["op", "pos", "id"]})
    new = Direct(target.connection, "other")
    with pytest.raises(AutoCdcError, match="key id is not among the output columns"):
        new.run({**config, "except_column_list": ["id"]})


@pytest.mark.parametrize("option", ["track_history_column_list", "track_history_except_column_list"])
def test_tracked_names(connection: Connection, option: str) -> None:
    """Keys are never tracked, nor is what is not kept; both lists say so."""
    target = kept(connection, {**SCD2, "track_history_column_list": None})
    config = {**GOOD, "stored_as_scd_type": 2, option: ["id", "op", "citty"]}
    assert {
        f"{option} names id, which is a key; keys are never tracked, leave it out",
        f"{option} names op, which is not an output column; leave it out, or select it",
        f"{option} names citty, which is not a column of the model; did you mean city?",
    } <= set(target.problems(config))


@pytest.mark.altering
@pytest.mark.parametrize("name", ["__START_AT", "__end_at"])
def test_bounds_are_reserved(connection: Connection, name: str) -> None:
    """With history the bounds are ours; SCD type 1 may carry those of its source."""
    sql = f'select *, 1 as "{name}" from feed'
    target = kept(connection, SCD2)
    assert target.problem(SCD2, sql=sql) == here(
        f"output column {name} has a name that auto_cdc or DuckDB needs for itself; rename it in the model, or leave"
        f" it out with except_column_list"
    )
    target.run({**SCD2, "except_column_list": ["op", "pos", name]}, sql=sql)
    other = kept(connection, SCD1)
    other.run(SCD1, sql=sql)
    assert {1} >= {row[name] for row in other.rows()} - {None}


@pytest.mark.parametrize(
    "name",
    ["__auto_cdc_sequence", "__AUTO_CDC_mine", pytest.param("rowid", marks=pytest.mark.only_on("duckdb"))],
)
def test_hidden_names_are_reserved(target: Kept, config: dict[str, Any], name: str) -> None:
    """Our prefix in any case, and DuckDB's own address of a row, which such a column would hide."""
    sql = f'select *, 1 as "{name}" from feed'
    said = here(f"output column {name} has a name that auto_cdc or DuckDB needs")
    assert said in target.refuses(config, sql=sql)
    target.run({**config, "except_column_list": ["op", "pos", name]}, sql=sql)


@pytest.mark.only_on("sail", "spark")  # elsewhere a null has a type, or columns without one are stored
def test_columns_without_a_type(connection: Connection, config: dict[str, Any]) -> None:
    """A column that is always null has no type there, of which a table could be made."""
    target = empty(connection)
    assert target.problem(config, sql="select *, null as more from feed") == (
        "Spark has no tables with the type of column more (void); cast it in the model to one that it stores, such as"
        " string"
    )


@pytest.mark.only_on("duckdb")  # PostgreSQL refuses such a query itself
def test_duplicate_columns(target: Kept, config: dict[str, Any]) -> None:
    """Two columns of one name are refused, because neither is the right one."""
    sql = "select feed.*, 'x' as CITY, seq from feed"
    assert "the model has column city, seq more than once; give each its own name" in target.problems(
        config, sql=sql
    )


# -- Values ------------------------------------------------------------------------------------------------------------


def test_null_keys(target: Kept, config: dict[str, Any]) -> None:
    """The message has the count and an example; truncates need no key, deletes do."""
    target.feeds(
        "(null, 'n', 7, 1, 'U', 'x', 'x')",
        "(null, 'n', 8, 1, 'D', null, null)",
        "(4, 'n', 9, 1, 'U', 'x', 'x')",
    )
    assert target.problem(config) == (
        "key column id is null in 2 of the new rows, for example at seq 7; filter such rows out in the model, or give"
        " them a key"
    )


def test_null_key_below_a_truncate(connection: Connection) -> None:
    """A row without a key is refused even where nothing would come of it."""
    config = {**SCD1, "apply_as_truncates": "op = 'T'"}
    target = kept(connection, config)
    target.feeds("(null, null, 50, 1, 'T', null, null)")
    target.run(config)
    target.feeds("(null, 'n', 7, 1, 'U', 'x', 'x')")
    assert target.problem(config).startswith(
        "key column id is null in 1 of the new rows, for example at seq 7; "
    )


def test_several_null_keys_on_a_first_run(connection: Connection, config: dict[str, Any]) -> None:
    """Each key column has its own count; nothing is created."""
    target = empty(connection)
    target.feeds("(null, null, 7, 1, 'U', 'x', 'x')", "(1, null, 8, 1, 'U', 'x', 'x')")
    before = target.sees()
    problems = target.problems({**config, "keys": ["id", "region"]})
    said = ("key column id is null in 1 of the new rows", "key column region is null in 2 of the new rows")
    assert list(said) == [problem[: len(start)] for problem, start in zip(problems, said, strict=True)]
    assert before == target.sees()


def test_null_sequence(target: Kept, config: dict[str, Any]) -> None:
    """The message has the count and the key of an example, and comes together with a null key's."""
    target.feeds(
        "(7, 'n', null, 1, 'U', 'x', 'x')",
        "(null, 'n', null, 1, 'U', 'x', 'x')",
        "(4, 'n', 9, 1, 'U', 'x', 'x')",
    )
    sequence, key = target.problems(config)
    assert sequence == (
        "sequence_by seq is null in 2 of the new rows, for example id=7; a null has no place in the order: filter"
        " such rows out in the model, or compute a value"
    )
    assert key == (
        "key column id is null in 1 of the new rows, for example at seq null; filter such rows out in the model, or"
        " give them a key"
    )


@pytest.mark.composite
def test_a_null_part_of_a_sequence(connection: Connection, config: dict[str, Any]) -> None:
    """One null part of a list is as bad as a null."""
    config = {**config, "sequence_by": ["seq", "pos"]}
    target = kept(connection, config)
    target.feeds("(7, 'n', 3, null, 'U', 'x', 'x')", "(4, 'n', 9, 1, 'U', 'x', 'x')")
    assert target.problem(config).startswith(
        "sequence_by seq, pos has a null among them in 1 of the new rows, for example id=7; "
    )
    works_on(target, config)


@pytest.mark.only_on("duckdb")  # the types are DuckDB's; PostgreSQL's are among the contract's
@pytest.mark.parametrize(
    ("type_name", "value"),
    [
        ("MAP(INTEGER, INTEGER)", "map {1: 1}"),
        ("MAP(INTEGER, INTEGER)[]", "[map {1: 1}]"),
        ("STRUCT(a JSON)", "{'a': '1'::json}"),
        ("JSON", "'1'::json"),
        ("VARIANT", "1::variant"),
        ("UNION(a INTEGER)", "union_value(a := 1)"),
        pytest.param('"NULL"', "null", marks=UNTYPED_NULLS),
    ],
)
def test_sequences_without_order(
    connection: Connection, config: dict[str, Any], type_name: str, value: str
) -> None:
    """A type whose values have no order is refused before anything is read."""
    target = empty(connection)
    said = here(
        f"sequence_by has type {type_name}, which has no order; use a number, a date, a timestamp or text, or a list"
        f" of such columns"
    )
    assert said in target.problems({**config, "sequence_by": value})


@pytest.mark.parametrize(
    ("sequence", "retention", "said"),
    [
        ("seq", "36 hours", "is 36 hours, but sequence_by has type BIGINT; write a number like 1000"),
        (
            A_TIME,
            5,
            "is 5, but sequence_by has type TIMESTAMP; write a distance like 2 days",
        ),
        (
            "city",
            5,
            "is 5, but sequence_by has type VARCHAR; it works with numbers, dates and timestamps only",
        ),
        pytest.param(
            ["seq", "pos"],
            5,
            "is 5, but sequence_by has type STRUCT(seq BIGINT, pos INTEGER); it works with numbers",
            marks=pytest.mark.composite,
        ),
    ],
)
def test_retention_in_another_unit(
    connection: Connection, config: dict[str, Any], sequence: object, retention: object, said: str
) -> None:
    """A distance is in the sequence's own unit, and some sequences have none."""
    target = empty(connection)
    sequence = spoken(connection, sequence) if isinstance(sequence, str) else sequence
    problem = target.problem({**config, "sequence_by": sequence, "tombstone_retention": retention})
    assert problem.startswith(here(f"tombstone_retention {said}"))


def test_ties(target: Kept, config: dict[str, Any]) -> None:
    """Count, an example with key and sequence, and the ways out: a finer sequence, a filter, the option."""
    target.feeds(
        "(5, 'n', 7, 1, 'U', 'x', 'x')",
        "(5, 'n', 7, 2, 'U', 'y', 'x')",
        "(6, 'n', 7, 1, 'U', 'x', 'x')",
        "(6, 'n', 7, 1, 'D', 'x', 'x')",
        "(7, 'n', 7, 1, 'U', 'same', 'x')",
        "(7, 'n', 7, 2, 'U', 'same', 'x')",
    )
    assert target.problem(config) == here(
        "2 times a key has different events at one sequence, for example id=5 at 7; make sequence_by finer (a list"
        " adds a tie-breaker: ['seq', 'log_position']), filter before-images out in the model, or set sequence_ties"
        " to allow"
    )
    assert (
        target.run({**config, "sequence_ties": "warn"}).warnings[0].startswith("2 times a key has different")
    )


@pytest.mark.composite
def test_ties_of_a_list(connection: Connection, config: dict[str, Any]) -> None:
    """The example shows every key and the whole sequence."""
    config = {**config, "keys": ["id", "region"], "sequence_by": ["seq", "pos"]}
    other = kept(connection, config)
    other.feeds("(5, 'n', 7, 1, 'U', 'x', 'x')", "(5, 'n', 7, 1, 'U', 'y', 'x')")
    said = other.problem(config)
    shown = "{'seq': 7, 'pos': 1}" if adapter_of(connection) == "duckdb" else "(7,1)"
    assert f"for example id=5, region=n at {shown}; " in said
    assert "['seq', 'pos', 'log_position']" in said


# -- SQL of the options ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("opp = 'D'", 'DuckDB says: Binder Error: Referenced column "opp" not found in FROM clause!'),
        ("op = 'D", "DuckDB says: Parser Error: "),
        ("op = 'D';", "DuckDB says: Parser Error: "),
        pytest.param(
            "op == 1 x",
            "DuckDB says: Parser Error: ",
            marks=pytest.mark.only_on("duckdb", "postgres", "spark"),  # Sail reads `(op == 1 x)` as a struct
        ),
        ("nofunction(op)", "DuckDB says: Catalog Error: "),
        ("sum(seq) > 1", "DuckDB says: Binder Error: "),
    ],
)
@pytest.mark.parametrize("option", ["apply_as_deletes", "apply_as_truncates"])
def test_conditions_that_are_no_sql(connection: Connection, option: str, condition: str, said: str) -> None:
    """The option is named, with the model's columns and the engine's own words in one line."""
    target = kept(connection, SCD1)
    problem = target.problem({**SCD1, option: condition})
    valid = "is not valid SQL over the model's columns (id, region, seq, pos, op, city, note); "
    assert problem.startswith(here(f"{option} {valid}{said}"))
    assert "__auto_cdc" not in problem
    assert "\n" not in problem
    assert "LINE" not in problem
    works_on(target, SCD1)


def test_a_sequence_that_is_no_sql(target: Kept, config: dict[str, Any]) -> None:
    """The same for an expression that orders."""
    said = target.problem({**config, "sequence_by": "seq + "})
    assert said.startswith("sequence_by is not valid SQL over the model's columns (id, ")


def test_every_option_that_is_no_sql_is_named_at_once(connection: Connection) -> None:
    """All of them, together with what is wrong elsewhere."""
    target = kept(connection, SCD1)
    config = {
        **SCD1,
        "keys": ["idd"],
        "sequence_by": "seq seq seq",
        "apply_as_deletes": "x = 1",
        "apply_as_truncates": "op",
    }
    assert ["apply_as_deletes", "apply_as_truncates", "keys", "sequence_by"] == sorted(
        problem.split()[0] for problem in target.problems(config)
    )


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("op", "has type VARCHAR and is no condition; compare it with a value, as in op = 'D'"),
        ("seq", "has type BIGINT and is no condition; compare it with a value, as in seq = 1"),
        ("seq + 1", "has type BIGINT and is no condition; compare it with a value, as in seq + 1 = 1"),
        ("'D'", "has type VARCHAR and is no condition; "),
    ],
)
def test_conditions_that_are_none(target: Kept, config: dict[str, Any], condition: str, said: str) -> None:
    """What is neither true nor false is refused, and not bent into it."""
    problem = target.problem({**config, "apply_as_deletes": condition})
    assert problem.startswith(here(f"apply_as_deletes {said}"))


@pytest.mark.only_on("duckdb", "postgres")
@pytest.mark.parametrize(
    "condition",
    ['op = "DELETE"', '"DELETE" = op -- it\'s', "op in ('x', \"DELETE\")", 'op = /* \' */ "DELETE"'],
)
def test_text_in_double_quotes(target: Kept, config: dict[str, Any], condition: str) -> None:
    """Lakeflow's examples write text in double quotes, where SQL has names."""
    said = 'apply_as_deletes has "DELETE" in double quotes, which names a column and there is none; for text write'
    assert target.problem({**config, "apply_as_deletes": condition}) == f"{said} 'DELETE'"


@pytest.mark.only_on("sail", "spark")
def test_double_quotes_that_hold_text(target: Kept, config: dict[str, Any]) -> None:
    """There text may be written like that, as in Lakeflow's examples."""
    target.feeds("(1, 'n', 50, 1, 'D', null, null)")
    target.run({**config, "apply_as_deletes": 'op = "D"'})
    assert 1 not in {row["id"] for row in target.rows() if row.get("__END_AT") is None}


@pytest.mark.parametrize(
    "condition",
    [
        pytest.param("\"OP\" = 'D'", marks=pytest.mark.only_on("duckdb")),  # elsewhere case counts in quotes
        "op = 'say \"D\"'",
        "op = 'D' -- \"D\"",
        "op = 'D' /* \"D\" */",
        "src.\"op\" = 'D'",
        "\"src\".op = 'D'",
        'op = $$"D"$$',
    ],
)
def test_double_quotes_that_are_right(target: Kept, config: dict[str, Any], condition: str) -> None:
    """Names of columns, and double quotes inside of text or comments."""
    target.run({**config, "apply_as_deletes": spoken(target.connection, condition)})


@pytest.mark.parametrize(
    "condition", ["op = 'D' -- the end", "op = 'D'\n-- the end", "op = 'D' /* the end */"]
)
def test_conditions_may_end_in_comments(target: Kept, config: dict[str, Any], condition: str) -> None:
    """A comment does not swallow what follows."""
    target.feeds("(1, 'n', 50, 1, 'D', null, null)")
    assert 2 > target.run({**config, "apply_as_deletes": condition}).figures["num_deleted_rows"]


def test_a_null_condition_is_false(target: Kept, config: dict[str, Any]) -> None:
    """Also one that is always null."""
    target.feeds("(1, 'n', 50, 1, null, 'Kiel', null)")
    target.run({**config, "apply_as_deletes": "null"})
    assert "Kiel" in {row["city"] for row in target.rows()}


# -- Against the last run ----------------------------------------------------------------------------------------------

AGAIN = "; rebuild the target with --full-refresh, or change it back"
CAST = "; change it back or cast it in the model, or rebuild the target with --full-refresh"


def test_changed_keys(target: Kept, config: dict[str, Any]) -> None:
    """Was and is; case, quotes and order are no change."""
    said = f"keys was id in the last run and is id, region now{AGAIN}"
    assert said == target.problem({**config, "keys": ["region", "id"]})
    target.run({**config, "keys": ['"ID"']})


def test_changed_type_of_a_key(target: Kept, config: dict[str, Any]) -> None:
    """A key never widens, though its values would survive."""
    sql = with_values(target.connection, "feed", id="id::bigint")
    assert target.problem(config, sql=sql) == here(
        "key column id was INTEGER and is now BIGINT, and keys never change their type; cast it to INTEGER in the"
        " model, or rebuild the target with --full-refresh"
    )


@pytest.mark.altering
def test_type_of_a_key_changed_by_hand(connection: Connection, config: dict[str, Any]) -> None:
    """A target whose key was altered no longer fits its companion."""
    target = kept(connection, config)
    target.connection.execute("alter table target alter column id type bigint")
    said = here(f"the type of the keys was INTEGER in the last run and is BIGINT now{CAST}")
    assert said == target.problem(config)


@pytest.mark.parametrize("sequence", ["seq::integer", "seq::varchar", A_TIME])
def test_changed_type_of_the_sequence(target: Kept, config: dict[str, Any], sequence: str) -> None:
    """A sequence never changes its type, not even to a narrower one."""
    said = target.problem({**config, "sequence_by": spoken(target.connection, sequence)})
    assert said.startswith(here("the type of sequence_by was BIGINT in the last run and is "))
    assert said.endswith(CAST)


@pytest.mark.composite
def test_sequence_that_became_a_list(target: Kept, config: dict[str, Any]) -> None:
    """One part more is another type."""
    said = here(
        f"the type of sequence_by was BIGINT in the last run and is STRUCT(seq BIGINT, pos INTEGER) now{CAST}"
    )
    assert said == target.problem({**config, "sequence_by": ["seq", "pos"]})


@pytest.mark.parametrize(("first", "then"), [(SCD1, SCD2), (SCD2, SCD1)], ids=["to 2", "to 1"])
@pytest.mark.parametrize("policy", ["append_new_columns", "fail", "sync_all_columns"])
def test_changed_scd_type(
    connection: Connection, first: dict[str, Any], then: dict[str, Any], policy: str
) -> None:
    """Was and is, and nothing about tracking and bounds on top."""
    target = kept(connection, first)
    was, now = first["stored_as_scd_type"], then["stored_as_scd_type"]
    said = f"stored_as_scd_type was {was} in the last run and is {now} now{AGAIN}"
    assert said == target.problem({**then, "on_schema_change": policy})


@pytest.mark.parametrize(
    ("option", "now"),
    [
        ({}, "of all columns"),
        ({"track_history_column_list": ["city", "note"]}, "track_history_column_list city, note"),
        ({"track_history_except_column_list": ["note"]}, "track_history_except_column_list note"),
    ],
)
def test_changed_tracking(connection: Connection, option: dict[str, Any], now: str) -> None:
    """The option as written is compared, not what it comes to."""
    target = kept(connection, SCD2)
    said = f"tracking was track_history_column_list city in the last run and is {now} now{AGAIN}"
    assert said == target.problem({**SCD2, "track_history_column_list": None, **option})
    works_on(target, {**SCD2, "track_history_column_list": ['"CITY"']})


def test_all_changes_at_once(connection: Connection) -> None:
    """Whatever changed is named in one message, beside what is wrong otherwise."""
    target = kept(connection, SCD2)
    config = {**SCD2, "keys": ["region"], "sequence_by": "pos", "track_history_column_list": ["note", "x"]}
    said = [
        "track_history_column_list names x",
        "keys was id in the last run and is region now",
        "tracking was track_history_column_list city in the last run",
        here("the type of sequence_by was BIGINT in the last run and is INTEGER now"),
    ]
    problems = target.problems(config)
    assert said == [problem[: len(start)] for problem, start in zip(problems, said, strict=True)]


def test_a_full_refresh_takes_every_change(target: Kept, config: dict[str, Any]) -> None:
    """The way out that the messages name works."""
    config = {
        **config,
        "keys": ["id", "region"],
        "sequence_by": ["seq", "pos"] if takes_lists() else "seq * 10 + pos",
        "stored_as_scd_type": 3 - config["stored_as_scd_type"],
        "track_history_column_list": None,
    }
    target.run(config, full_refresh=True)
    target.feeds("(9, 'n', 9, 8, 'U', 'Kiel', 'z')")
    assert 1 == target.run(config).figures["num_upserted_rows"]
    target.connection.execute("drop table target")


def test_a_protected_target_is_not_refreshed(target: Kept, config: dict[str, Any]) -> None:
    """`full_refresh: false` makes --full-refresh an ordinary run, which refuses what an ordinary run refuses."""
    protected = {**config, "keys": ["region"], "full_refresh": False}
    before = target.sees()
    with pytest.raises(AutoCdcError, match="keys was id in the last run"):
        target.run(protected, full_refresh=True)
    assert before == target.sees()


# -- Relations that are not ours ---------------------------------------------------------------------------------------


def test_companion_missing(connection: Connection, config: dict[str, Any]) -> None:
    """The message names the three ways out; a rebuild is one that works."""
    target = kept(connection, config)
    target.connection.execute("drop table target__auto_cdc")
    said = target.problem(config)
    assert said.startswith(here('"target" exists without its companion "target__auto_cdc"'))
    for way in ("clone_companions", "adopt", "--full-refresh"):
        assert way in said
    target.run(config, full_refresh=True)
    works_on(target, config)


@pytest.mark.parametrize(
    "made", ["table", pytest.param("view", marks=pytest.mark.only_on("duckdb", "postgres"))]
)  # of Spark's views nothing is told
def test_a_foreign_target(connection: Connection, config: dict[str, Any], made: str) -> None:
    """A table or view that somebody else made is left alone."""
    target = empty(connection)
    target.connection.execute("create table mine as select 1 as id, 'mine' as what")
    target.connection.execute(f"create {made} target as select * from mine")
    assert here('"target" exists without its companion') in target.refuses(config)


def test_a_foreign_companion(connection: Connection, config: dict[str, Any]) -> None:
    """A table that has the companion's name by chance is left alone, by a rebuild too."""
    target = empty(connection)
    target.connection.execute("create table target__auto_cdc as select 1 as id")
    said = target.problem(config)
    assert said.startswith(here('"target__auto_cdc" was not made by auto_cdc'))
    assert said.endswith("; rename that table, or give the model another alias")
    before = target.sees()
    with pytest.raises(AutoCdcError, match="was not made by auto_cdc"):
        target.run(config, full_refresh=True)
    assert before == target.sees()
    target.connection.execute("drop table target__auto_cdc")
    works_on(target, config)


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (json.dumps({"format": 99, "keys": ["id"]}), "written by a newer release"),
        (json.dumps({"format": 1, "keys": ["id"]}), "damaged: "),
        (json.dumps([1]), "not a record"),
        ("{", "Expecting property name"),
    ],
)
def test_a_companion_that_cannot_be_read(
    connection: Connection, config: dict[str, Any], record: str, said: str
) -> None:
    """A newer release's format, or a damaged record; a rebuild gets past it."""
    target = kept(connection, config)
    target.connection.execute(
        "update target__auto_cdc set __auto_cdc_control = ? where __auto_cdc_kind = 'control'", [record]
    )
    problem = target.problem(config)
    assert problem.startswith(here('the companion "target__auto_cdc" cannot be read (') + said)
    assert problem.endswith("; install the release that wrote it, or rebuild the target with --full-refresh")
    target.run(config, full_refresh=True)
    works_on(target, config)


# -- Types and policies ------------------------------------------------------------------------------------------------


def test_unsafe_change_of_a_type(target: Kept, config: dict[str, Any]) -> None:
    """A type that not every stored value survives is refused, naming both."""
    sql = with_values(target.connection, "feed", city="1")
    assert target.problem(config, sql=sql) == here(
        "column city was VARCHAR and is now INTEGER, which not every value survives; cast it to VARCHAR in the model,"
        " or rebuild the target with --full-refresh"
    )


def test_invalid_on_schema_change(target: Kept, config: dict[str, Any]) -> None:
    """dbt's own policies, and nothing near them."""
    said = "on_schema_change is 'sync_columns'; write sync_all_columns"
    assert said == target.problem({**config, "on_schema_change": "sync_columns"})


def test_a_condition_that_fails_on_a_value(target: Kept, config: dict[str, Any]) -> None:
    """What only the data shows is the engine's own error: nothing is written all the same."""
    target.feeds("(5, 'n', 7, 1, 'U', 'x', 'x')")
    before = target.sees()
    with pytest.raises(engine_error()):
        target.run({**config, "apply_as_deletes": "cast(op as integer) = 1"})
    assert before == target.sees()
