"""REPLACE USING and REPLACE WHERE: bad configuration and bad rows are refused, nothing is written, the next run works.

Straight on DuckDB. Not here: what the parser of the options refuses alone (`unit/test_spec`) and dbt (`dbt`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dbt_auto_cdc import bridge
from dbt_auto_cdc.errors import AutoCdcError
from tests.databases import Connection, chosen, engine_error, here, with_values
from tests.scenarios.test_bad_input import Kept

SOURCE = "region text, day integer, seq bigint, amount double precision"
FIRST = ("('n', 1, 1, 1.5)", "('n', 1, 1, 2.5)", "('s', 1, 1, 3.5)", "(null, 2, 1, 4.5)")
USING: dict[str, Any] = {"replace_using": ["region"], "sequence_by": "seq"}
WHERE: dict[str, Any] = {"replace_where": "day >= 1"}
AGAIN = "; rebuild the target with --full-refresh, or change it back"
CAST = "; change it back or cast it in the model, or rebuild the target with --full-refresh"


def first_run(connection: Connection, materialized: str, *rows: str) -> Kept:
    """Return a target before its first run."""
    target = Kept(connection, materialized=materialized)
    target.connection.execute(f"create table feed ({SOURCE})")
    target.feeds(*rows)
    return target


@pytest.fixture
def using(connection: Connection) -> Iterator[Kept]:
    """Give a REPLACE USING target after its first run; after the test newer rows of a key have to replace it."""
    target = first_run(connection, "replace_using", *FIRST)
    target.run(USING)
    yield target
    target.feeds("('n', 7, 9, 9.5)")
    figures = target.run(USING).figures
    assert (1, 2) == (figures["num_upserted_rows"], figures["num_deleted_rows"])


@pytest.fixture
def where(connection: Connection) -> Iterator[Kept]:
    """Give a REPLACE WHERE target after its first run; after the test the range has to be replaced."""
    target = first_run(connection, "replace_where", *FIRST)
    target.run(WHERE)
    yield target
    target.feeds("('n', 7, 9, 9.5)")
    target.run(WHERE)
    assert [("n", 7, 9, 9.5)] == [tuple(row.values()) for row in target.rows()]


# -- REPLACE USING -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        (
            "replace_using",
            ["rejion"],
            "replace_using names rejion, which is not a column of the model; did you mean",
        ),
        (
            "replace_using",
            [],
            "replace_using is an empty list; list the columns whose rows are replaced together",
        ),
        (
            "replace_using",
            ["region", "REGION"],
            "replace_using names region more than once; write each column once",
        ),
        (
            "replace_using",
            "region, day",
            "replace_using is the text 'region, day'; write a list: ['region', 'day']",
        ),
        (
            "replace_using",
            None,
            "replace_using is missing; list the columns whose rows are replaced together",
        ),
        (
            "sequence_by",
            None,
            "sequence_by is missing; name the column that tells newer rows of a key from older ones",
        ),
        ("sequence_by", ["seq"], "sequence_by is ['seq']; write the name of one column"),
        ("sequence_by", ["seq", "day"], "sequence_by is ['seq', 'day']; write the name of one column"),
        (
            "sequence_by",
            "sqe",
            "sequence_by names sqe, which is not a column of the model; did you mean seq?",
        ),
        (
            "sequence_by",
            "seq + 1",
            "sequence_by is 'seq + 1', which is no column; compute it in the model, and name",
        ),
        (
            "sequence_by",
            "STRUCT(seq, day)",
            "sequence_by is 'STRUCT(seq, day)'; write the name of one column",
        ),
        (
            "sequence_by",
            "cast(1 as bigint)",
            "sequence_by is 'cast(1 as bigint)', which is no column; compute it in the model, and name the column",
        ),
        ("equal_sequence", "add", "equal_sequence is 'add'; write "),
        ("unique_key", ["region"], "unique_key is not an option of replace_using; write replace_using"),
        ("keys", ["region"], "keys is not an option of replace_using; write replace_using"),
    ],
)
def test_options_of_replace_using(using: Kept, option: str, value: object, said: str) -> None:
    """Each with what to write instead; repeated names are found in any case."""
    assert using.problem({**USING, option: value}).startswith(said)


def test_null_sequence(using: Kept) -> None:
    """How many rows, and the key of one, where a null is shown."""
    using.feeds("('n', 1, null, 1.5)", "(null, 1, null, 1.5)", "('s', 1, 2, 1.5)")
    assert using.problem(USING) == (
        "sequence_by seq is null in 2 rows, for example region=n; a null has no place in the order: filter such rows"
        " out in the model, or compute a value"
    )
    using.feeds("(null, 1, null, 1.5)")
    assert "for example region=null; " in using.problem(USING)


def test_null_sequence_in_a_first_run(connection: Connection) -> None:
    """Nothing is created."""
    target = first_run(connection, "replace_using", "('n', 1, null, 1.5)")
    assert target.problem(USING).startswith("sequence_by seq is null in 1 row, for example region=n; ")


@pytest.mark.only_on("duckdb")  # the types are DuckDB's
@pytest.mark.parametrize(
    ("value", "type_name"),
    [
        ("map {1: 1}", "MAP(INTEGER, INTEGER)"),
        ("'1'::json", "JSON"),
        ("1::variant", "VARIANT"),
        ("[map {1: 1}]", "MAP(INTEGER, INTEGER)[]"),
    ],
)
def test_keys_without_order(connection: Connection, value: str, type_name: str) -> None:
    """Maps and variants are no keys, and no sequences."""
    target = first_run(connection, "replace_using", *FIRST)
    sql = f"select *, {value} as odd from feed"
    assert target.problem({**USING, "replace_using": ["region", "odd"]}, sql=sql) == (
        f"replace_using names odd, of type {type_name}, which has no order; name a column of another type"
    )
    assert target.problem({**USING, "sequence_by": "odd"}, sql=sql).startswith(
        f"sequence_by has type {type_name}, which has no order; "
    )


def test_changes_of_replace_using(using: Kept) -> None:
    """Was and is for keys, their types, the sequence's type and the materialization."""
    said = f"replace_using was region in the last run and is day, region now{AGAIN}"
    assert said == using.problem({**USING, "replace_using": ["region", "day"]})
    said = here(f"the type of sequence_by was BIGINT in the last run and is INTEGER now{CAST}")
    assert said == using.problem({**USING, "sequence_by": "day"})
    sql = with_values(using.connection, "feed", region="1")
    assert here("key column region was VARCHAR and is now INTEGER") in using.problem(USING, sql=sql)
    sql = with_values(using.connection, "feed", seq="seq::numeric(38, 0)")
    said = here("the type of sequence_by was BIGINT in the last run and is ")
    assert any(said in problem for problem in using.problems(USING, sql=sql))
    where = {**WHERE, "materialized": "replace_where"}
    assert (
        f"materialized was replace_using in the last run and is replace_where now{AGAIN}"
        in using.problems(where)
    )
    events = {"materialized": "auto_cdc", "keys": ["region"], "sequence_by": "seq"}
    assert (
        using.problem(events) == f"materialized was replace_using in the last run and is auto_cdc now{AGAIN}"
    )


def test_a_sequence_that_the_target_lacks(using: Kept) -> None:
    """Where new columns stay out, the sequence cannot be one of them."""
    sql = "select *, seq as seq_2 from feed"
    config = {**USING, "sequence_by": "seq_2", "on_schema_change": "ignore"}
    assert using.problem(config, sql=sql) == (
        "sequence_by names seq_2, which the target does not have and on_schema_change ignore keeps out; set it to"
        " append_new_columns, or rebuild the target with --full-refresh"
    )


def test_equal_sequence_may_change(using: Kept) -> None:
    """What equal rows do is a matter of each run."""
    appends = {**USING, "equal_sequence": "append"}
    using.feeds("('s', 1, 1, 3.5)")
    assert 1 == using.run(appends).figures["num_upserted_rows"]
    assert 1 == using.run(USING).figures["num_deleted_rows"]


@pytest.mark.parametrize("flag", ["--empty", "--sample"])
@pytest.mark.parametrize("equal", ["replace", "append"])
def test_a_part_of_the_source_replaces_nothing(using: Kept, flag: str, equal: str) -> None:
    """A key that the sample has half would lose its other rows: no row is changed."""
    using.feeds("('n', 1, 1, 1.5)", "('s', 1, 5, 1.5)")
    before = using.sees()
    outcome = using.run({**USING, "equal_sequence": equal}, partial=flag)
    assert before == using.sees()
    assert (flag == "--sample") == bool(outcome.warnings)


# -- REPLACE WHERE -----------------------------------------------------------------------------------------------------

VALID = "replace_where is not valid SQL over the model's columns (region, day, seq, amount); DuckDB says: "


@pytest.mark.parametrize(
    ("predicate", "said"),
    [
        ("dya >= 1", f'{VALID}Binder Error: Referenced column "dya" not found in FROM clause!'),
        ("day >=", f"{VALID}Parser Error: "),
        ("day >= 1;", f"{VALID}Parser Error: "),
        ("day >= 'x", f"{VALID}Parser Error: "),
        ("nofunction(day)", f"{VALID}Catalog Error: "),
        ("max(day) > 1", f"{VALID}Binder Error: "),
        ("target.day >= 1", f"{VALID}Binder Error: "),
        ("dya", "replace_where names dya, which is not a column of the model; did you mean day?"),
        ("day", "replace_where has type INTEGER and is no condition; compare it with a value, as in day = 1"),
        (
            "region",
            "replace_where has type VARCHAR and is no condition; compare it with a value, as in region = 'D'",
        ),
        ("'true'", "replace_where has type VARCHAR and is no condition; "),
        pytest.param(
            'region = "north"',
            'replace_where has "north" in double quotes, which names a column and there is none; for text write',
            marks=pytest.mark.only_on("duckdb", "postgres"),  # for Spark it is text
        ),
        (True, "replace_where is True; write a column name or a SQL expression as text"),
        ("  ", "replace_where is '  '; write a column name or a SQL expression as text"),
        (
            None,
            "replace_where is missing; write the condition that tells which rows of the target the model computes",
        ),
    ],
)
def test_predicates(where: Kept, predicate: object, said: str) -> None:
    """The option is named, with the engine's own words or what to write instead."""
    assert where.problem({"replace_where": predicate}).startswith(here(said))
    assert "\n" not in where.problem({"replace_where": predicate})


@pytest.mark.parametrize(
    "predicate",
    [
        "day >= 1 -- the end",
        "day >= 1\n-- the end",
        "src.day >= 1",
        pytest.param('"DAY" >= 1', marks=pytest.mark.only_on("duckdb")),  # elsewhere case counts in quotes
        "region = 'say \"x\"' or day > 0",
        "day <= (select max(day) from feed) or day > 0",
        # Spark has these only where rows are chosen.
        pytest.param(
            "day in (select seq from feed) or day > 0", marks=pytest.mark.only_on("duckdb", "postgres")
        ),
    ],
)
def test_predicates_that_are_right(where: Kept, predicate: str) -> None:
    """Comments, names in quotes, sub-queries, and the alias that conditions of events may use too."""
    before = where.rows()
    where.run({"replace_where": predicate})
    assert before == where.rows()


def test_a_predicate_that_fails_on_a_value(where: Kept) -> None:
    """What only the data shows is the engine's own error; nothing is written."""
    before = where.sees()
    # Spark makes nulls of what is no number.
    fails = "raise_error(region) is null" if chosen() == "spark" else "region::integer = 1"
    with pytest.raises(engine_error()):
        where.run({"replace_where": fails})
    assert before == where.sees()


def test_a_predicate_over_a_column_that_the_target_lacks(where: Kept) -> None:
    """Where new columns stay out, no stored row can be in the range."""
    config = {"replace_where": "day > 0 and Extra = 1", "on_schema_change": "ignore"}
    assert where.problem(config, sql="select *, 1 as extra from feed") == (
        "replace_where names extra, which the target does not have and on_schema_change ignore keeps out; set it to"
        " append_new_columns, or rebuild the target with --full-refresh"
    )


def test_changes_of_replace_where(where: Kept) -> None:
    """The predicate may change; the materialization may not."""
    where.run({"replace_where": "day > 100"})
    using = {**USING, "materialized": "replace_using"}
    assert (
        f"materialized was replace_where in the last run and is replace_using now{AGAIN}"
        in where.problems(using)
    )


@pytest.mark.parametrize("flag", ["--empty", "--sample"])
def test_a_part_of_the_source_deletes_nothing(where: Kept, flag: str) -> None:
    """What the part lacks is not gone."""
    for rows in ((), ("('n', 1, 1, 8.5)",)):
        where.feeds(*rows)
        before = where.sees()
        outcome = where.run(WHERE, partial=flag)
        assert before == where.sees()
        assert (flag == "--sample") == bool(outcome.warnings)


def test_options_of_replace_where(where: Kept) -> None:
    """Rows have neither keys nor order, and no history."""
    with pytest.raises(AutoCdcError) as refused:
        where.run({**WHERE, "replace_were": "x", "keys": ["day"], "stored_as_scd_type": 2})
    assert "unknown option replace_were; did you mean replace_where?" in refused.value.problems


# -- One run with another predicate ------------------------------------------------------------------------------------


def opened(overrides: object, *, name: str = "sales", materialized: str = "replace_where") -> bridge.Model:
    config = WHERE if materialized == "replace_where" else USING
    return bridge.open_model(
        name=name,
        adapter_type="duckdb",
        config={**config, "materialized": materialized},
        written=config,
        identifier=name,
        target=name,
        sql="select 1",
        beside=lambda path: path["identifier"],
        replace_where_overrides=overrides,
        overridable=["sales", "orders"],
    )


def predicate_of(model: bridge.Model) -> object:
    return model.spec.replace_where  # type: ignore[union-attr]


def test_an_override_counts_for_its_model() -> None:
    """The others keep theirs; no variable, or an empty one, changes nothing."""
    assert "day = 3" == predicate_of(opened({"sales": "day = 3"}))
    for overrides in ({"orders": "day = 3"}, {}, None, ""):
        assert "day >= 1" == predicate_of(opened(overrides))


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (
            {"slaes": "day = 3"},
            "the variable replace_where_overrides names slaes, which is no model materialized as replace_where; did",
        ),
        (
            "sales",
            "the variable replace_where_overrides is 'sales'; write {<model>: \"<condition>\"}",
        ),
        ({"sales": True}, "replace_where is True; write a column name or a SQL expression as text"),
        ({"sales": None}, "replace_where is missing; write the condition"),
    ],
)
def test_overrides_that_mean_nothing(overrides: object, said: str) -> None:
    """A misspelt name would leave the run with the usual range: it is refused, by every such model."""
    with pytest.raises(AutoCdcError) as refused:
        opened(overrides)
    assert refused.value.problems[0].startswith(said)


def test_overrides_do_not_concern_other_models() -> None:
    """A model of another materialization goes its way, whatever the variable says."""
    for overrides in ({"slaes": "x"}, "sales", {"keyed": "x"}):
        assert USING["replace_using"] == list(
            opened(overrides, name="keyed", materialized="replace_using").spec.replace_using  # type: ignore[union-attr]
        )
