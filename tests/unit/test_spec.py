"""What the parser of the options accepts, and what it answers to the rest.

Not here: what needs the columns of a relation (`scenarios/test_bad_input`).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import pytest

from dbt_auto_cdc.bridge import config_problems
from dbt_auto_cdc.errors import AutoCdcError, listed, message, nearest, said_by
from dbt_auto_cdc.spec import OPTIONS, AutoCdc, parse

GOOD: dict[str, object] = {"keys": ["id"], "sequence_by": "seq"}


def parsed(**options: object) -> AutoCdc:
    """Return the parsed options, which have to be good, on top of keys and sequence."""
    spec, problems = parse({**GOOD, **options})
    assert [] == problems
    assert spec is not None
    return spec


def problems_of(
    config: Mapping[str, object], meta: Mapping[str, object] | None = None, **names: frozenset[str]
) -> list[str]:
    """Return the problems of options that have to be bad."""
    spec, problems = parse(config, meta, **names)
    assert spec is None
    return problems


def problem_of(**options: object) -> str:
    """Return the only problem of options on top of keys and sequence."""
    (problem,) = problems_of({**GOOD, **options})
    return problem


# -- What is accepted --------------------------------------------------------------------------------------------------


def test_defaults() -> None:
    """Keys and sequence are enough; the rest has Lakeflow's defaults."""
    assert AutoCdc(keys=("id",), sequence_by=("seq",)) == parsed()
    assert "1" == parsed().stored_as_scd_type
    assert "fail" == parsed().sequence_ties
    assert "append_new_columns" == parsed().on_schema_change


def test_an_option_that_is_suggested_is_not_missed() -> None:
    """One problem for one mistake, though there is nothing to go on with."""
    assert ["unique_key is not an option of auto_cdc; write keys"] == problems_of(
        {"unique_key": "id", "sequence_by": "seq"}
    )


def test_none_is_not_set() -> None:
    """What dbt hands over for an option that nobody wrote counts for nothing."""
    assert parsed() == parsed(column_list=None, unique_key=None, kyes=None, full_refresh=None)


@pytest.mark.parametrize("value", [1, "1", 2, "2"])
def test_scd_type_is_a_number_or_its_text(value: object) -> None:
    """YAML gives a number or a text, depending on how it was written."""
    assert str(value) == parsed(stored_as_scd_type=value).stored_as_scd_type


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("seq", ("seq",)),
        (" seq ", (" seq ",)),
        ("coalesce(a, b)", ("coalesce(a, b)",)),
        (["a", "b"], ("a", "b")),
        (["a"], ("a",)),
        ("struct(a, b)", ("a", "b")),
        ("STRUCT( a ,\n b )", ("a", "b")),
        ('Struct("a b", `c`)', ('"a b"', "`c`")),
        ("structure(a, b)", ("structure(a, b)",)),
    ],
)
def test_sequence_is_a_column_an_expression_or_a_list(value: object, expected: tuple[str, ...]) -> None:
    """Lakeflow's STRUCT(a, b) is another way of writing a list."""
    assert expected == parsed(sequence_by=value).sequence_by


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, 0),
        (1000, 1000),
        (1.5, 1.5),
        ("2 days", timedelta(days=2)),
        ("1 WEEK", timedelta(weeks=1)),
        (" 90second ", timedelta(seconds=90)),
    ],
)
def test_retention_is_a_number_or_an_interval(value: object, expected: object) -> None:
    """A distance in the sequence's own unit."""
    assert expected == parsed(tombstone_retention=value).tombstone_retention


def test_tracking_as_written_is_compared_without_case_order_and_quotes() -> None:
    """Two ways of writing one option are no change of the definition."""
    first = parsed(stored_as_scd_type=2, track_history_column_list=["City", '"name"'])
    second = parsed(stored_as_scd_type=2, track_history_column_list=["NAME", "city"])
    assert ("on", "city", "name") == first.track_history
    assert first.track_history == second.track_history
    assert ("all",) == parsed(stored_as_scd_type=2).track_history
    excepted = parsed(stored_as_scd_type=2, track_history_except_column_list=["city"])
    assert ("except", "city") == excepted.track_history


def test_options_in_meta_count() -> None:
    """Flat names under meta are options, and what else stands there is somebody else's."""
    meta = {"keys": ["id"], "sequence_by": "seq", "owner": "me", "sequence": 1, "foo": {"keys": []}}
    spec, problems = parse({}, meta)
    assert [] == problems
    assert parsed() == spec


def test_an_option_without_a_value_is_that_of_meta() -> None:
    """A null in config says nothing: what is doubtful is found where the option has its value."""
    _, doubts = config_problems(
        materialized="auto_cdc_snapshot",
        config={"keys": ["id"], "snapshot_version": None},
        meta={"snapshot_version": "auto"},
        adapter_options=frozenset(),
        elsewhere=frozenset(),
        raw_code="select * from dumps {% if auto_cdc.is_applying() %} where is_new {% endif %}",
    )
    (doubt,) = doubts
    assert "snapshot_version is 'auto'" in doubt


def test_config_and_meta_may_say_the_same() -> None:
    """A project on its way from one form to the other."""
    spec, problems = parse({**GOOD, "stored_as_scd_type": 2}, {"keys": ["id"], "stored_as_scd_type": 2})
    assert [] == problems
    assert spec is not None
    assert spec.scd2


def test_declared_names_are_no_misspellings() -> None:
    """`event_time` and `on_configuration_change` are dbt's own, however much they look like options of ours."""
    theirs = {"event_time": "at", "on_configuration_change": "apply", "column_types": {}}
    spec, problems = parse({**GOOD, **theirs}, known=frozenset(theirs))
    assert [] == problems
    assert spec is not None


# -- Names -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("sequence_byy", "sequence_by"),
        ("sequnce_by", "sequence_by"),
        ("Sequence_By", "sequence_by"),
        ("sequence-by", "sequence_by"),
        ("kyes", "keys"),
        ("key", "keys"),
        ("apply_as_delete", "apply_as_deletes"),
        ("apply_as_truncate_when", "apply_as_truncates"),
        ("columns_list", "column_list"),
        ("scd_type", "stored_as_scd_type"),
        ("stored_as_scd", "stored_as_scd_type"),
        ("track_history_columns", "track_history_column_list"),
        ("track_history_except_columns", "track_history_except_column_list"),
        ("sequence_tie", "sequence_ties"),
        ("on_schema_changes", "on_schema_change"),
    ],
)
def test_misspelt_options_are_named_with_the_nearest(name: str, meant: str) -> None:
    """A misspelt option would otherwise be none."""
    assert f"unknown option {name}; did you mean {meant}?" == problem_of(**{name: ["x"]})


def test_a_misspelt_required_option_is_one_problem() -> None:
    """It is not called missing on top."""
    assert ["unknown option kyes; did you mean keys?"] == problems_of({"kyes": ["id"], "sequence_by": "seq"})
    said = ["unique_key is not an option of auto_cdc; write keys"]
    assert said == problems_of({"unique_key": "id", "sequence_by": "seq"})


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("merge_exclude_columns", "has no counterpart"),
        ("merge_update_columns", "has no counterpart"),
    ],
)
def test_what_is_not_here_is_said_to_be(name: str, said: str) -> None:
    """An option that the user has reason to expect is not called a misspelling."""
    (problem,) = problems_of({**GOOD, name: ["id"]})
    assert problem.startswith(f"{name} {said}")


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("unique_key", "keys"),
        ("primary_key", "keys"),
        ("updated_at", "sequence_by"),
        ("check_cols", "track_history_column_list"),
        ("hard_deletes", "apply_as_deletes"),
        ("invalidate_hard_deletes", "apply_as_deletes"),
    ],
)
def test_words_of_other_tools_are_translated(name: str, ours: str) -> None:
    """`unique_key` and its like say what to write, even where dbt or the adapter know the word."""
    config = {**GOOD, name: "id"}
    assert [f"{name} is not an option of auto_cdc; write {ours}"] == problems_of(
        config, known=frozenset({name})
    )


def test_unknown_options_are_refused_where_all_names_are_known() -> None:
    """With the whole project at hand, an option that nobody has heard of is refused with all that there are."""
    config = {**GOOD, "colour": "red", "sql_header": "set x", "indexes": []}
    (problem,) = problems_of(config, known=frozenset({"indexes"}), elsewhere=frozenset({"sql_header"}))
    assert problem.startswith("unknown option colour; there are: keys, sequence_by, ")
    assert problem.endswith("; what is meant for others goes under meta")
    assert all(name in problem for name in OPTIONS)
    spec, problems = parse(config)
    assert [] == problems
    assert spec is not None


def test_a_misspelling_is_one_even_if_others_make_it_too() -> None:
    """That another model has the same wrong option makes it no better."""
    config = {**GOOD, "apply_as_delete": "x"}
    said = ["unknown option apply_as_delete; did you mean apply_as_deletes?"]
    assert said == problems_of(config, elsewhere=frozenset({"apply_as_delete"}))


def test_misspelt_options_in_meta() -> None:
    """Meta belongs to everybody: only what is all but an option is taken for one."""
    meta = {"sequnce_by": "seq", "apply_as_delete": "x", "key": "x", "columns": 1, "sequence": 2}
    assert [
        "unknown option sequnce_by in meta; did you mean sequence_by?",
        "unknown option apply_as_delete in meta; did you mean apply_as_deletes?",
    ] == problems_of({"keys": ["id"]}, meta)


def test_config_and_meta_that_differ() -> None:
    """Neither is taken for the right one."""
    problems = problems_of({**GOOD, "stored_as_scd_type": 2}, {"keys": ["no"], "stored_as_scd_type": 1})
    assert [
        "keys is ['id'] in config and ['no'] in meta; write it in one place",
        "stored_as_scd_type is 2 in config and 1 in meta; write it in one place",
    ] == problems


# -- Values ------------------------------------------------------------------------------------------------------------


def test_missing_keys_and_sequence() -> None:
    """Both are named, with what they are for."""
    assert [
        "keys is missing; list the columns that identify a row",
        "sequence_by is missing; name the column that orders the events",
    ] == problems_of({})


LISTS = [name for name, item in OPTIONS.items() if item.metadata["values"] == "list of columns"]


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("id", "is the text 'id'; write a list: ['id']"),
        ("id, city", "is the text 'id, city'; write a list: ['id', 'city']"),
        (1, "is 1; write a list of column names: ['id']"),
        (True, "is True; write a list of column names: ['id']"),
        ({"id": 1}, "is {'id': 1}; write a list of column names: ['id']"),
        (["id", 1], "has 1 among its names; write names as text, and quote those that YAML takes for"),
        (["id", None], "has None among its names; write names as text"),
        ([["id"]], "has ['id'] among its names; write names as text"),
        ([""], "has '' among its names; write names as text"),
        (["id", "ID"], "names id more than once; write each column once"),
        (["id", '"id"'], "names id more than once; write each column once"),
    ],
)
def test_lists_of_columns(name: str, value: object, said: str) -> None:
    """Every option that lists columns says what is wrong with its value."""
    problems = problems_of({**GOOD, "stored_as_scd_type": 2, name: value})
    assert 1 == len(problems)
    assert problems[0].startswith(f"{name} {said}")


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("keys", "list the columns that identify a row"),
        ("sequence_by", "name the column that orders the events"),
        ("column_list", "leave it out to keep every column, or name the others in except_column_list"),
        ("except_column_list", "leave it out to keep every column"),
        (
            "track_history_column_list",
            "to track no column, name them all in track_history_except_column_list",
        ),
        ("track_history_except_column_list", "leave it out to track every column"),
    ],
)
def test_empty_lists(name: str, instead: str) -> None:
    """An empty list says one thing to its writer and another to the reader: the except form says it plainly."""
    assert f"{name} is an empty list; {instead}" == problem_of(**{"stored_as_scd_type": 2, name: []})


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("sequence_by", 3, "is 3; write a column name, a SQL expression as text, or a list of columns"),
        ("sequence_by", "  ", "is '  '; write a column name or a SQL expression as text"),
        ("sequence_by", ["a", 1], "has 1 among its names; "),
        ("sequence_by", ["a", "A"], "names a more than once; write each column once"),
        ("sequence_by", "struct(a, b + 1)", "is 'struct(a, b + 1)'; name plain columns inside struct(...)"),
        ("apply_as_deletes", True, "is True; write a column name or a SQL expression as text"),
        ("apply_as_deletes", ["op"], "is ['op']; write a column name or a SQL expression as text"),
        ("apply_as_truncates", "", "is ''; write a column name or a SQL expression as text"),
        ("stored_as_scd_type", 3, "is 3; write 1, 2 or bitemporal"),
        ("stored_as_scd_type", "SCD2", "is 'SCD2'; write 1, 2 or bitemporal"),
        ("stored_as_scd_type", True, "is True; write 1, 2 or bitemporal"),
        ("stored_as_scd_type", 2.0, "is 2.0; write 1, 2 or bitemporal"),
        ("stored_as_scd_type", [2], "is [2]; write 1, 2 or bitemporal"),
        ("sequence_ties", "allwo", "is 'allwo'; write allow"),
        ("sequence_ties", True, "is True; write fail or warn or allow"),
        ("on_schema_change", "append", "is 'append'; write append_new_columns"),
        ("on_schema_change", "sync", "is 'sync'; write "),
        ("on_schema_change", ["fail"], "is ['fail']; write fail"),
        ("tombstone_retention", "soon", "is 'soon'; write a number for a numeric sequence or, for a date or"),
        ("tombstone_retention", -1, "is -1; write a number"),
        ("tombstone_retention", True, "is True; write a number"),
        ("tombstone_retention", float("inf"), "is inf; write a number"),
        ("tombstone_retention", float("nan"), "is nan; write a number"),
        ("tombstone_retention", "2 moons", "is '2 moons'; write a number"),
        ("full_refresh", "false", "is 'false'; write true or false"),
        ("full_refresh", 0, "is 0; write true or false"),
    ],
)
def test_wrong_values(name: str, value: object, said: str) -> None:
    """The message has the option, its value, and what may stand there."""
    assert problem_of(**{name: value}).startswith(f"{name} {said}")


def test_every_option_refuses_a_wrong_type() -> None:
    """No option takes whatever it is given."""
    for name in OPTIONS:
        problems = problems_of({**GOOD, "stored_as_scd_type": 2, name: {7: "of no type"}})
        assert any(problem.startswith(f"{name} ") and "; write " in problem for problem in problems), name


# -- Options that do not go together -----------------------------------------------------------------------------------


def test_both_forms_of_a_list() -> None:
    """One of the two is meant, and only the writer knows which."""
    assert "column_list and except_column_list are both set; write one of them" == problem_of(
        column_list=["id"], except_column_list=["x"]
    )
    said = "track_history_column_list and track_history_except_column_list are both set; write one of them"
    tracked = {"track_history_column_list": ["a"], "track_history_except_column_list": ["b"]}
    assert said == problem_of(stored_as_scd_type=2, **tracked)


@pytest.mark.parametrize("name", ["track_history_column_list", "track_history_except_column_list"])
def test_tracking_needs_history(name: str) -> None:
    """SCD type 1 has nothing to track."""
    assert f"{name} needs history; set stored_as_scd_type to 2 or leave {name} out" == problem_of(
        **{name: ["a"]}
    )


def test_no_truncate_with_history() -> None:
    """As in Lakeflow."""
    problem = problem_of(stored_as_scd_type="2", apply_as_truncates="op = 'T'")
    assert problem.startswith(
        "apply_as_truncates works with SCD type 1 only; leave it out, or turn truncates into"
    )


def test_a_wrong_scd_type_brings_no_further_problems() -> None:
    """Whether tracking is right cannot be told then."""
    config = {**GOOD, "stored_as_scd_type": 7, "track_history_column_list": ["a"], "apply_as_truncates": "x"}
    assert ["stored_as_scd_type is 7; write 1, 2 or bitemporal"] == problems_of(config)


def test_all_problems_come_at_once() -> None:
    """Whoever repairs one finds no second behind it."""
    config = {
        "sequnce_by": "seq",
        "unique_key": "id",
        "column_list": [],
        "except_column_list": "x",
        "sequence_ties": "no",
        "track_history_column_list": ["a"],
    }
    expected = [
        "unknown option sequnce_by; did you mean sequence_by?",
        "unique_key is not an option of auto_cdc; write keys",
        "column_list is an empty list",
        "except_column_list is the text 'x'",
        "sequence_ties is 'no'",
        "column_list and except_column_list are both set",
        "track_history_column_list needs history",
    ]
    problems = problems_of(config)
    assert expected == [problem[: len(said)] for problem, said in zip(problems, expected, strict=True)]


# -- Messages ----------------------------------------------------------------------------------------------------------


def test_a_message_names_the_model_once() -> None:
    """One problem stands on the line of the model's name, several below it."""
    assert "auto_cdc: model m: a is wrong; write b" == str(AutoCdcError("m", ["a is wrong; write b"]))
    expected = "auto_cdc: model m (models/m.sql): 2 problems\n  - one\n  - two"
    assert expected == message("m (models/m.sql)", ["one", "two"])


def test_long_lists_are_cut() -> None:
    """A model of 300 columns does not fill the screen."""
    assert "none" == listed([])
    assert "a, b" == listed(iter("ab"))
    assert listed(str(n) for n in range(300)).endswith(", 18, 19 and 280 more")
    assert listed(str(n) for n in range(20)).endswith(", 18, 19")


def test_nearest_is_blind_to_case() -> None:
    """The candidate is given back as it is written."""
    assert "City" == nearest("CITTY", ["City", "Zip"])
    assert nearest("q", ["City", "Zip"]) is None


def test_an_engines_words_are_one_line() -> None:
    """Neither dbt's headline nor the excerpt of a statement that nobody wrote is of use to the reader."""
    error = RuntimeError(
        'Runtime Error\n  Binder Error: no column "x"!\n  Candidate: "y"\n\n  LINE 3: (x)\n   ^'
    )
    assert 'DuckDB says: Binder Error: no column "x"! Candidate: "y"' == said_by("DuckDB", error)
    unknown = "[UNRESOLVED_COLUMN] A column with name `x` cannot be resolved."
    passed = "org.apache.hive.HiveSQLException: Error: [U] org.apache.spark.sql.AnalysisException: "
    error = f"{passed}{unknown}; line 7 pos 4;"
    assert f"Spark says: {unknown}" == said_by("Spark", f"{error}\n'Project [id#1L]\n+- SubqueryAlias src")
    wrong = "[PARSE_SYNTAX_ERROR] Syntax error at or near ')'."
    assert f"Spark says: {wrong}" == said_by("Spark", f"{wrong}(line 3, pos 4)\n\n== SQL ==\nselect\n----^^^")


# -- Expectations ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"expect_all": "id > 0"},
            "expect_all is 'id > 0'; write a name and a condition for each expectation: {'valid_id",
        ),
        ({"expect_all": {}}, "expect_all is empty; leave it out, or write a name and a condition"),
        ({"expect_all_or_drop": {1: "id > 0"}}, "expect_all_or_drop has the name 1; write a name as text"),
        (
            {"expect_all_or_fail": {"x": True}},
            "expect_all_or_fail has True for x; write a SQL condition as text",
        ),
        (
            {"expect_all": {"valid": "a"}, "expect_all_or_drop": {"VALID": "b"}},
            "expectation valid is set 2 times (in expect_all, expect_all_or_drop); give each its own name",
        ),
        ({"expect_all": {"a": "x", "A": "y"}}, "expectation a is set 2 times"),
        (
            {"expect_or_drop": {"a": "x"}},
            "expect_or_drop is not an option of auto_cdc; write expect_all_or_drop",
        ),
        ({"expect_al": {"a": "x"}}, "unknown option expect_al; did you mean expect_all?"),
        ({"expectations_on_deletes": True}, "expectations_on_deletes is set, and nothing is expected"),
        (
            {"expect_all": {"valid_id": "x"}, "expectations_on_deletes": ["valid_di"]},
            "expectations_on_deletes names valid_di, and no expectation is called so; did you mean valid_id?",
        ),
        (
            {"expect_all": {"a": "x"}, "expectations_on_deletes": "a"},
            "expectations_on_deletes is 'a'; write true, or",
        ),
    ],
)
def test_expectations_that_are_no_such(options: dict[str, object], said: str) -> None:
    """Each is a name with a condition, the names differ in all three options, and a list names what is there."""
    assert said in problem_of(**options)


def test_snapshots_drop_nothing() -> None:
    """A row that is dropped from a snapshot would read as a delete."""
    spec, problems = parse(
        {"keys": ["id"], "snapshot_version": "v", "expect_all_or_drop": {"a": "x"}},
        materialized="auto_cdc_snapshot",
    )
    assert spec is None
    assert [
        "expect_all_or_drop is not for whole snapshots, where a row that is dropped would read as a delete"
    ] == [problem.split(";")[0] for problem in problems]
