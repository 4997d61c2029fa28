"""How SQL of users is read: what is text in it, where it ends, and that no text changes."""

from __future__ import annotations

import duckdb
import pytest

from dbt_auto_cdc.sql import code_of, indented, without_semicolon


@pytest.mark.parametrize(
    "sql",
    [
        "select 'a\nb', 'it''s\nhere', \"odd\nname\", $$dollar's\nquote$$, $x$a $$\n b$x$",
        "select e'don\\'t\nstop', 'a\nb'",
        "select e'\\'' || e'\\'', 'a\nb', E'x\\\\', 'c\nd'",
        "select 'C:\\', 'D:\\', 'a\nb'",
        "select 'C:\\', 'D:\\', 'E:\\', 'a\nb'",
        "select 1 -- don't\n, 'a\nb'",
        "select 1 /* don't\nstop */, 'a\nb'",
        "select 1 /* a /* nested */ don't */, 'a\nb'",
        "select 7 // 2, 'a\nb'",
    ],
)
def test_texts_stay_what_they_are(sql: str) -> None:
    """Over several lines too, however deep the SELECT comes to stand."""
    with duckdb.connect() as connection:
        connection.execute('create table t as select 1 as "odd\nname"')
        sql += " from t"
        expected = connection.execute(sql).fetchall()
        assert expected == connection.execute(f"select * from (\n{indented(indented(sql))}\n)").fetchall()


@pytest.mark.parametrize(
    "text",
    [
        "'don\\'t\nstop'",
        "'\\'', 'a\nb'",
        "'\\'', '\\'', 'a\nb'",
        "'it\\'s' or '\\'tis\nnot'",
        '"it\\"s\ngone"',
        "'a\\\\', 'b\nc'",
    ],
)
def test_texts_of_spark(text: str) -> None:
    """A backslash hides a quote in all of them: told by what else would stand in code."""
    assert f"    select {text},\n        1" == indented(f"select {text},\n    1")


def test_lines_are_indented() -> None:
    """All but empty ones; so is SQL with a backslash or a comment, if it is clear what it says."""
    assert "    select 1,\n\n      2\n" == indented("select 1,\n\n  2\n")
    assert "    select '\\',\n\n      2 /* x\n */\n" == indented("select '\\',\n\n  2 /* x\n */\n")
    assert "    select 'a\n, '''" == indented("select 'a\n, '''")


@pytest.mark.parametrize("escapes", [False, True])
@pytest.mark.parametrize(
    ("sql", "left"),
    [
        ("select 1; -- done", "select 1"),
        ("select 'a;' -- b", "select 'a;' -- b"),
        ("select e'a\\'; b', 'C:\\';", "select e'a\\'; b', 'C:\\'"),
        ("select 'it\\'s; b' as v;", "select 'it\\'s; b' as v"),
        ("select 'C:\\', 'D:\\'; -- it's done", "select 'C:\\', 'D:\\'"),
    ],
)
def test_a_closing_semicolon(sql: str, left: str, *, escapes: bool) -> None:
    """It goes with the comment behind it; one in a text stays."""
    assert left == without_semicolon(sql, escapes=escapes)


def test_where_only_the_engine_tells() -> None:
    """Both are SQL: a text and a comment, and a text alone."""
    sql = "select 'a\\'; -- b' as v"
    assert sql == without_semicolon(sql, escapes=True)
    assert "select 'a\\'" == without_semicolon(sql, escapes=False)


def test_code() -> None:
    """Neither texts nor comments are code, whatever way a quote in them is written."""
    assert "op = ''   and x" == code_of("op = 'it\\'s' /* y */ and x")
    assert "op = '' and v = ''" == code_of("op = e'it\\'s' and v = 'C:\\'")
