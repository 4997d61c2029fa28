"""The worked examples at the root: what `make demo` and a plain `dbt build` do with them."""

from __future__ import annotations

import csv
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import databases
from tests.case_data import load_cases

pytestmark = pytest.mark.dbt

ROOT = Path(__file__).resolve().parents[2]
CASES = {
    case.id: case
    for case in load_cases("scd1", "scd2", "bitemporal", "snapshot_scd1", "snapshot_scd2", "replace_using")
}
# Models whose tables are documented ones, with their case. The others are examples of our own.
DOCUMENTED = {
    "users_scd1": "s0_users_scd1",
    "users_scd1_truncate": "s0_users_scd1_truncate",
    "users_scd2": "s0_users_scd2",
    "users_scd2_track_except_city": "s0_users_scd2_track_except_city",
    "users_periodic_scd1": "s0_snapshot_periodic_scd1",
    "users_periodic_scd2": "s0_snapshot_periodic_scd2",
    "users_versioned_scd2": "s0_snapshot_versioned_scd2",
    "regions": "s2_replace_using_regions",
}
EXPECTED = {path.stem.removesuffix("__expected") for path in (ROOT / "seeds").rglob("*__expected.csv")}


def seed(name: str) -> list[dict[str, str]]:
    (path,) = (ROOT / "seeds").rglob(f"{name}.csv")
    return rows_of(path)


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def as_text(rows: list[dict[str, object]]) -> list[tuple[tuple[str, str], ...]]:
    """Return rows as a CSV has them, in an order of their own."""
    return sorted(
        tuple(sorted((name, "" if value is None else str(value)) for name, value in row.items()))
        for row in rows
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Copy what the demo needs, so that a test may spoil it."""
    for part in ("macros", "models", "seeds", "dumps", "tests/singular", "profiles", "scripts"):
        shutil.copytree(ROOT / part, tmp_path / part)
    shutil.copy(ROOT / "dbt_project.yml", tmp_path)
    return tmp_path


def run(root: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AUTO_CDC_")}
    environment |= variables
    return subprocess.run(
        [sys.executable, *command],
        cwd=root,
        env={**environment, "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


@pytest.mark.parametrize("scenario", DOCUMENTED)
def test_expected_seeds_are_the_documented_tables(scenario: str) -> None:
    """What the demo compares with is what the cases hold."""
    case = CASES[DOCUMENTED[scenario]]
    assert case.expected_final is not None
    assert as_text(case.expected_final) == as_text([dict(row) for row in seed(f"{scenario}__expected")])


@pytest.mark.parametrize("change", [1, 2, 3, 4])
def test_company_a_is_the_documented_one(change: int) -> None:
    """After each change the table is the documented one, and so is the change."""
    run = CASES["s3_bitemporal_company_a"].runs[change - 1]
    (wanted,) = run.acceptable
    expected = [dict(row) for row in seed(f"company_a_after_{change}__expected")]
    fed = [row for row in seed("company_changes") if row.pop("change") == str(change)]
    for documented, ours in ((wanted, expected), (run.rows, fed)):
        assert as_text([dict(row) for row in documented]) == as_text(
            [{name: re.sub(r"(?<=\d) (?=\d)", "T", value) for name, value in row.items()} for row in ours]
        )


def test_feed_holds_the_documented_events() -> None:
    """The feed is the documented one, in another order and with the run in which each event arrives."""
    fed = [
        {name: value for name, value in row.items() if name != "arrival"}
        | {"userId": row["userId"], "sequenceNum": row["sequenceNum"]}
        for row in seed("users_feed")
    ]
    events = [event for run in CASES["s0_users_scd1_truncate"].runs for event in run.rows]
    assert as_text(events) == as_text([dict(row) for row in fed])


def test_dumps_hold_the_documented_rows() -> None:
    """The dumps are the documented ones, in the order of their versions; another file comes late."""
    files = [
        {"version": re.findall(r"\d+", path.stem)[0], **row}
        for path in sorted((ROOT / "dumps").glob("*.csv"))
        if path.name != "snapshot_0.csv"
        for row in rows_of(path)
    ]
    dumps = [{name: row[name] for name in ("version", "userId", "city")} for row in seed("users_dumps")]
    for rows, case in ((dumps, "s0_snapshot_periodic_scd2"), (files, "s0_snapshot_versioned_scd2")):
        wanted = [
            {**row, "version": step.version}
            for run in CASES[case].runs
            for step in run.steps
            for row in step.rows
        ]
        assert as_text(wanted) == as_text([dict(row) for row in rows])


def test_regions_get_the_documented_rows() -> None:
    """What happens in the regions is documented, and in which of two runs."""
    wanted = [
        {**row, "arrival": run.index + 1}
        for run in CASES["s2_replace_using_regions"].runs
        for row in run.rows
    ]
    assert as_text(wanted) == as_text([dict(row) for row in seed("region_events")])


def test_every_expected_seed_is_compared_and_shown(copy: Path) -> None:
    """A scenario is a model and a seed; the demo forgets none."""
    compared = {
        name
        for path in (copy / "models").rglob("*.yml")
        for name in re.findall(r"ref\('(\w+)__expected'\)", path.read_text(encoding="utf-8"))
    }
    shown = run(copy, "-c", "import sys; sys.path.insert(0, 'scripts'); import demo; print(*demo.EVERY)")
    assert EXPECTED == compared == set(shown.stdout.split())


def test_demo_prints_the_tables_and_is_content(copy: Path) -> None:
    """Without a terminal the demo prints no colour codes and no line that its reader has to scroll sideways."""
    done = run(copy, "scripts/demo.py")
    assert (0, "") == (done.returncode, done.stderr)
    assert "26 tables as documented" in done.stdout
    assert "+ 125     Mercedes  Mexicali              5         6" in done.stdout
    assert "1 snapshot version is not above the last one applied" in done.stdout
    assert "\x1b" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_demo_shows_what_is_wrong_and_fails(copy: Path) -> None:
    """A table that is not as expected ends in the rows that differ and exit code 1."""
    expected = copy / "seeds/auto_cdc/users_scd2__expected.csv"
    expected.write_text(expected.read_text().replace("Mexicali,5,6", "Mexicali,5,7"))
    done = run(copy, "scripts/demo.py")
    assert done.returncode == 1
    assert "1 of 26 tables not as documented" in done.stdout
    assert "- 125     Mercedes  Mexicali           5         7  missing" in done.stdout
    assert "+ 125     Mercedes  Mexicali           5         6  not expected" in done.stdout


def test_demo_says_what_dbt_could_not_do(copy: Path) -> None:
    """A run that dbt refuses ends the demo with dbt's words."""
    model = copy / "models/auto_cdc/users_scd2.sql"
    model.write_text(model.read_text().replace("sequence_by='sequenceNum'", "sequence_by='sequenceNo'"))
    done = run(copy, "scripts/demo.py")
    assert done.returncode == 1
    assert "sequenceNo" in done.stderr


# What `dbt build` at the root leaves out on an engine, as the properties files say.
NOT_FILES = {"users_versioned_scd2"}
NOT_SPARK = {*NOT_FILES, "members_baseline_and_feed", "members_dump_and_feed"}
LEFT_OUT = {
    "duckdb": set[str](),
    "ducklake": set[str](),
    "postgres": NOT_FILES,
    "spark": NOT_SPARK,
    "sail": {*NOT_SPARK, "devices", *(name for name in EXPECTED if name.startswith("sparse_"))},
}


def test_build_at_the_root_is_green_twice(copy: Path, engine: str) -> None:
    """`dbt build` gives the documented tables from all events at once, and again from the same events.

    Neither time it warns of anything, though the second reads all dumps again. Another engine is another target, and no
    other change.
    """
    (copy / "scripts/build.py").write_text(
        "from dbt.cli.main import dbtRunner\n"
        "build = ['build', '--profiles-dir', 'profiles', '--no-use-colors']\n"
        "assert dbtRunner().invoke(['--warn-error', *build]).success\n"
        "warned = []\n"
        "listen = lambda event: event.info.level == 'warn' and warned.append(event.info.msg)\n"
        "again = dbtRunner(callbacks=[listen]).invoke(build)\n"
        "assert again.success\n"
        "tests = [each.node for each in again.result if each.node.name.startswith('equals_')]\n"
        "print('COMPARED', *(test.attached_node.split('.')[-1] for test in tests))\n"
        "print('WARNED', *sorted(text.strip() for text in warned), sep='\\n')\n"
    )
    with databases.server_schema(engine) as schema:
        done = run(copy, "scripts/build.py", **databases.server_variables(schema) if schema else {})
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("Completed successfully") == 2
    said, warned = done.stdout.split("WARNED\n")
    assert [] == warned.splitlines()
    compared = set(said.split("COMPARED ")[1].split())
    assert EXPECTED - LEFT_OUT[engine] == compared
