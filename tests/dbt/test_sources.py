"""Where snapshots come from: listed files, folders of files, attached databases, Python models.

Not here: object stores and other databases, which need DuckDB's extensions (`tests/extensions`).
"""

from __future__ import annotations

import os
from pathlib import Path

import duckdb
import pytest

from dbt_auto_cdc.errors import AutoCdcError
from dbt_auto_cdc.sources import doubts, list_files
from tests.dbt_project import Project

pytestmark = pytest.mark.dbt

HISTORY = "select id, city, __START_AT, __END_AT from users order by id, __START_AT"


def listing(path: str) -> str:
    return list_files(path=path, adapter_type="duckdb", model="users")


def listed(path: str, column: str = "path") -> list[str]:
    """Return one column of the files under a path."""
    with duckdb.connect() as connection:
        found = connection.execute(f"select {column} from {listing(path)} as files order by all").fetchall()
    return [value for (value,) in found]


# -- list_files --------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a folder of files with plain and odd names, beside an empty one."""
    monkeypatch.chdir(tmp_path)
    for name in ODD_NAMES:
        file = tmp_path / "dumps" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("id\n")
    (tmp_path / "dumps/a.csv").write_text("id\n1\n2\n")
    (tmp_path / "empty").mkdir()
    return tmp_path


ODD_NAMES = [
    ".hidden",
    "a.csv",
    "b.csv",
    'it\'s "odd" [1] {x} %20 $1.csv',
    "st*r?.csv",
    "ünïcode 数.csv",
    "two\nlines.csv",
    "sub/a.csv",
    "sub/deep/a.csv",
]


def test_a_folder_lists_its_own_files(folder: Path) -> None:
    """With a slash at its end or not, as a relative or an absolute path; what lies deeper is not there."""
    expected = sorted(f"dumps/{name}" for name in ODD_NAMES if "/" not in name)
    assert expected == listed("dumps") == listed("dumps/") == listed("dumps/*")
    assert sorted(str(folder / path) for path in expected) == listed(str(folder / "dumps"))
    assert sorted(name for name in ODD_NAMES if "/" not in name) == listed("dumps", "name")


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("dumps/?.csv", ["dumps/a.csv", "dumps/b.csv"]),
        ("dumps/[b-z].csv", ["dumps/b.csv"]),
        ("dumps/**/a.csv", ["dumps/a.csv", "dumps/sub/a.csv", "dumps/sub/deep/a.csv"]),
        ("*/sub/*", ["dumps/sub/a.csv"]),
        ("dumps/a.csv", ["dumps/a.csv"]),
        ("dumps/it's*[[]1]*", ['dumps/it\'s "odd" [1] {x} %20 $1.csv']),
        ("dumps/st[*]r[?].csv", ["dumps/st*r?.csv"]),
        ("empty", []),
        ("empty/*.csv", []),
        ("nowhere", []),
        ("nowhere/*", []),
        ("dumps/c.csv", []),
    ],
)
def test_patterns_and_files(folder: Path, pattern: str, expected: list[str]) -> None:
    """A pattern lists what it matches, a file itself; where there is nothing there are no rows, and no error."""
    assert folder.exists()
    assert expected == listed(pattern)


def test_what_a_listing_tells(folder: Path) -> None:
    """Path, name, size and time of modification, and nothing is read: this file would not fit into any memory."""
    with (folder / "empty/huge.bin").open("wb") as file:
        file.truncate(10**13)
    os.utime(folder / "empty/huge.bin", (1_000_000_000, 1_000_000_000))
    with duckdb.connect() as connection:
        query = f"select path, name, size, epoch(modification_time)::bigint as seen from {listing('empty')} as files"
        found = connection.execute(query)
        assert [("empty/huge.bin", "huge.bin", 10**13, 1_000_000_000)] == found.fetchall()
        everything = connection.execute(f"select * from {listing('empty')}")
        assert ["path", "name", "size", "modification_time"] == [
            column[0] for column in everything.description
        ]


@pytest.mark.parametrize(
    ("path", "patterns"),
    [
        ("s3://bucket/dumps/", "['s3://bucket/dumps/*']"),
        ("s3://bucket/dumps", "['s3://bucket/dump[s]', 's3://bucket/dumps/*']"),
        ("s3://bucket", "['s3://bucket/*']"),
        ("s3://bucket/dumps/*.csv", "['s3://bucket/dumps/*.csv']"),
        ("https://host/a.csv", "['https://host/a.csv']"),
        ("/", "['/*']"),
    ],
)
def test_what_is_looked_for(path: str, patterns: str) -> None:
    """An object store has no folders, and what is not there is no error: both are asked for by pattern."""
    assert f"read_blob({patterns})" in listing(path)


def test_ten_thousand_files(tmp_path: Path) -> None:
    """All of them are listed, in one statement."""
    for number in range(10_000):
        (tmp_path / f"users_{number:05}.csv").touch()
    assert 10_000 == len(listed(str(tmp_path)))
    assert [str(tmp_path / "users_09999.csv")] == listed(str(tmp_path), "max(path)")


@pytest.mark.parametrize("path", [None, "", "  ", 7, ["a", "b"]])
def test_a_path_that_is_none_is_refused(path: object) -> None:
    """As a misspelt variable would be."""
    with pytest.raises(AutoCdcError) as refused:
        list_files(path=path, adapter_type="duckdb", model="users")
    said = f"auto_cdc: model users: list_files is given {path!r}; write a folder, a file or a pattern"
    assert said in str(refused.value)


def test_an_engine_without_listings_is_refused() -> None:
    """Saying what to do there."""
    with pytest.raises(AutoCdcError) as refused:
        list_files(path="dumps", adapter_type="snowflake", model="users")
    said = str(refused.value)
    assert "list_files has no answer for adapter snowflake" in said
    assert "write a macro snowflake__list_files(path)" in said


def test_a_model_selects_from_a_listing(project: Project) -> None:
    """Usable like a table: with an alias, in a sub-query and in `dbt show`; the folder may be empty."""
    project.write(
        "models/latest.sql",
        """
        {{ config(materialized='table') }}
        select max(files.name) as latest, count(*) as many
        from {{ auto_cdc.list_files(var('folder', 'dumps')) }} as files
        where path in (select path from {{ auto_cdc.list_files('dumps/*.csv') }})
        """,
    )
    (project.root / "dumps").mkdir()
    project.succeed("run")
    assert [(None, 0)] == project.query("from latest")
    for name in ("users_1.csv", "users_2.csv", "readme.txt"):
        project.write(f"dumps/{name}", "id\n1\n")
    project.succeed("run")
    assert [("users_2.csv", 2)] == project.query("from latest")
    project.succeed("show", "--inline", "select count(*) from {{ auto_cdc.list_files('dumps') }}")
    said = project.fail("run", "--vars", "{folder: null}")
    assert "auto_cdc: model latest: list_files is given None; write a folder" in said


def test_a_listing_says_which_version_is_next(project: Project) -> None:
    """In a version query: file after file, each a commit of its own, and nothing where there is no other."""
    number = "cast(regexp_extract({}, 'users_([0-9]+)', 1) as integer)"
    project.write(
        "models/users.sql",
        f"""
        {{{{ config(
            materialized='auto_cdc_snapshot', keys=['id'], stored_as_scd_type=2,
            version_query="
                select {number.format("name")} as version from {{{{ auto_cdc.list_files('dumps') }}}} as files
                where {number.format("name")}
                    > coalesce((select version from {{{{ auto_cdc.last_snapshot_version() }}}}), 0)
                order by version limit 1
            ",
        ) }}}}
        select id, city from read_csv('dumps/*.csv', filename=true)
        where {number.format("filename")} = (select version from {{{{ auto_cdc.current_snapshot_version() }}}})
        """,
    )
    project.write("dumps/users_1.csv", "id,city\n1,Oslo\n2,Rome\n")
    project.write("dumps/users_10.csv", "id,city\n1,Kiel\n")
    project.write("dumps/users_9.csv", "id,city\n1,Bari\n2,Rome\n")
    expected = [(1, "Oslo", 1, 9), (1, "Bari", 9, 10), (1, "Kiel", 10, None), (2, "Rome", 1, 10)]
    for _ in range(2):
        project.succeed("run")
        assert expected == project.query(HISTORY)


def test_a_project_can_list_files_in_its_own_way(project: Project) -> None:
    """A macro of the project comes first, as dbt's dispatch has it."""
    project.write(
        "macros/own.sql",
        "{% macro duckdb__list_files(path) %}(select '{{ path }}/own' as path){% endmacro %}",
    )
    project.write(
        "models/latest.sql",
        "{{ config(materialized='table') }} select * from {{ auto_cdc.list_files('dumps') }}",
    )
    project.succeed("run")
    assert [("dumps/own",)] == project.query("from latest")


# -- Python models -----------------------------------------------------------------------------------------------------

PYTHON_SNAPSHOT = """
from pathlib import Path


def model(dbt, session):
    dbt.config(materialized="table")
    rows = []
    for file in sorted(Path("dumps").glob("*.txt")):
        for line in file.read_text().splitlines():
            rows.append((int(line[:3]), line[3:].strip(), int(file.stem)))
    listed = ", ".join("(%d, '%s', %d)" % row for row in rows)
    return session.sql(f"select * from (values {listed}) as t(id, city, version)")
"""
PYTHON_FEED = """
def model(dbt, session):
    changes = dbt.ref("raw_changes").fetchall()
    rows = ", ".join("(%d, '%s', '%s', %d)" % (id, city.title(), op, seq) for id, city, op, seq in changes)
    return session.sql(f"select * from (values {rows}) as t(id, city, op, seq)")
"""


def test_a_python_model_is_a_source_of_snapshots(project: Project) -> None:
    """What Python reads from files of fixed width, two versions at once and another one later."""
    project.write("models/dumped.py", PYTHON_SNAPSHOT)
    project.write(
        "models/users.sql",
        """
        {{ config(
            materialized='auto_cdc_snapshot', keys=['id'], snapshot_version='version', stored_as_scd_type=2,
        ) }}
        select * from {{ ref('dumped') }}
        """,
    )
    project.write("dumps/1.txt", "001Oslo \n002Rome \n")
    project.write("dumps/2.txt", "001Kiel \n002Rome \n")
    project.succeed("run")
    expected = [(1, "Oslo", 1, 2), (1, "Kiel", 2, None), (2, "Rome", 1, None)]
    assert expected == project.query(HISTORY)
    project.write("dumps/3.txt", "001Kiel \n")
    project.succeed("run")
    assert [*expected[:2], (2, "Rome", 1, 3)] == project.query(HISTORY)


def test_a_python_model_is_a_feed(project: Project) -> None:
    """Changes that Python puts right arrive late and are put where they belong."""
    project.execute("create table raw_feed as select 1 as id, 'oslo' as city, 'U' as op, 1 as seq")
    project.write("models/raw_changes.sql", "select * from raw_feed")
    project.write("models/changes.py", PYTHON_FEED)
    project.write(
        "models/users.sql",
        """
        {{ config(
            materialized='auto_cdc', keys=['id'], sequence_by='seq', apply_as_deletes="op = 'D'",
            column_list=['id', 'city'], stored_as_scd_type=2,
        ) }}
        select * from {{ ref('changes') }}
        """,
    )
    project.succeed("run")
    project.execute("insert into raw_feed values (1, 'bari', 'U', 5), (1, 'x', 'D', 9)")
    project.succeed("run")
    project.execute("insert into raw_feed values (1, 'kiel', 'U', 3)")
    project.succeed("run")
    assert [(1, "Oslo", 1, 3), (1, "Kiel", 3, 5), (1, "Bari", 5, 9)] == project.query(HISTORY)


@pytest.mark.parametrize("materialized", ["auto_cdc", "auto_cdc_snapshot", "replace_using", "replace_where"])
def test_a_python_model_of_our_materializations_is_refused(project: Project, materialized: str) -> None:
    """While dbt parses, with what to do instead; where that check is off, dbt's own words stop the run."""
    project.write("models/raw.py", PYTHON_FEED.replace('ref("raw_changes")', 'source("raw", "changes")'))
    project.write("models/_sources.yml", "sources: [{name: raw, schema: main, tables: [{name: changes}]}]\n")
    project.write("models/raw.yml", f"models: [{{name: raw, config: {{materialized: {materialized}}}}}]\n")
    said = project.fail("run")
    assert (
        f"auto_cdc: model raw (models/raw.py): a Python model cannot be materialized as {materialized}, which is"
        " planned from a SELECT; give it materialized='table' and another name, and move these options to a SQL model"
        " that selects from it by ref" in said
    )
    project.execute("create table changes as select 1 as id, 'oslo' as city, 'U' as op, 1 as seq")
    said = project.fail("run", env={"AUTO_CDC_PARSE_VALIDATION": "0"})
    assert "only supports languages ['sql']" in said


# -- A query that is a part of a snapshot ------------------------------------------------------------------------------

PARTIAL = "{% if auto_cdc.is_applying() %} where id > 1 {% endif %}"


@pytest.mark.parametrize(
    ("version", "is_doubtful"),
    [
        ("auto", True),
        (" AUTO ", True),
        ("date '2026-11-29'", True),
        ("cast('2026-11-29' as timestamp)", True),
        ("timestamp with time zone '2026-11-29 00:00:00+00'", True),
        ("'2026-11-29'::date", True),
        ("7", True),
        ("current_date", True),
        (None, False),
        (7, False),
        ("taken", False),
        ("taken + 1", False),
        ('"auto dump"', False),
        ("cast(regexp_extract(filename, '([0-9]+)', 1) as integer)", False),
    ],
)
def test_a_filter_on_whole_snapshots_is_doubtful(version: object, *, is_doubtful: bool) -> None:
    """What it leaves out would be deleted; where each row tells its snapshot, a filter is right."""
    for macro in ("auto_cdc.is_applying", "is_incremental"):
        found = doubts("auto_cdc_snapshot", version, PARTIAL.replace("auto_cdc.is_applying", macro))
        assert is_doubtful == any(
            "what a later run filters out is taken for deleted" in doubt for doubt in found
        )
        assert len(found) == (is_doubtful or macro == "is_incremental")
    for harmless in ("", "{# auto_cdc.is_applying() #}", "select is_applying from feed"):
        assert [] == doubts("auto_cdc_snapshot", version, harmless)
    assert [] == doubts("auto_cdc", version, PARTIAL)


def test_a_filter_on_whole_snapshots_is_warned_about(project: Project) -> None:
    """While dbt parses, wherever the version is written; `--warn-error` makes a stop of it."""
    project.execute("create table feed as select 1 as id, 'Oslo' as city")
    for name, options in {
        "one": "keys=['id'], snapshot_version='auto'",
        "two": "meta={'keys': ['id'], 'snapshot_version': \"date '2026-11-29'\"}",
    }.items():
        config = f"{{{{ config(materialized='auto_cdc_snapshot', {options}) }}}}"
        project.write(f"models/{name}.sql", f"{config} select * from feed {PARTIAL}")
    project.succeed("run")
    said = "auto_cdc: model {0} (models/{0}.sql): the SQL uses is_applying() and snapshot_version is {1}, so the rows"
    assert said.format("one", "'auto'") in project.log
    assert said.format("two", "\"date '2026-11-29'\"") in project.log
    assert "what a later run filters out is taken for deleted" in project.fail("--warn-error", "parse")
