"""The worked examples at the root: what `make demo` and a plain `dbt build` do with them."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.case_data import load_cases

pytestmark = pytest.mark.dbt

ROOT = Path(__file__).resolve().parents[2]
CASES = {case.id: case for case in load_cases("scd1", "scd2")}
SCENARIOS = ("users_scd1", "users_scd1_truncate", "users_scd2", "users_scd2_track_except_city")


def seed(name: str) -> list[dict[str, str]]:
    with (ROOT / "seeds" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
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
    for part in ("macros", "models", "seeds", "tests/singular", "profiles", "scripts"):
        shutil.copytree(ROOT / part, tmp_path / part)
    shutil.copy(ROOT / "dbt_project.yml", tmp_path)
    return tmp_path


def run(root: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AUTO_CDC_")}
    return subprocess.run(
        [sys.executable, *command],
        cwd=root,
        env={**environment, "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_expected_seeds_are_the_documented_tables(scenario: str) -> None:
    """What the demo compares with is what the cases hold."""
    case = CASES[f"s0_{scenario}"]
    assert case.expected_final is not None
    assert as_text(case.expected_final) == as_text([dict(row) for row in seed(f"{scenario}__expected")])


def test_feed_holds_the_documented_events() -> None:
    """The feed is the documented one, in another order and with the run in which each event arrives."""
    fed = [
        {name: value for name, value in row.items() if name != "arrival"}
        | {"userId": row["userId"], "sequenceNum": row["sequenceNum"]}
        for row in seed("users_feed")
    ]
    events = [event for run in CASES["s0_users_scd1_truncate"].runs for event in run.rows]
    assert as_text(events) == as_text([dict(row) for row in fed])


def test_demo_prints_the_tables_and_is_content(copy: Path) -> None:
    """Without a terminal the demo prints no colour codes and no line that its reader has to scroll sideways."""
    done = run(copy, "scripts/demo.py")
    assert (0, "") == (done.returncode, done.stderr)
    assert "4 tables as documented" in done.stdout
    assert "+ 125     Mercedes  Mexicali              5         6" in done.stdout
    assert "\x1b" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_demo_shows_what_is_wrong_and_fails(copy: Path) -> None:
    """A table that is not as expected ends in the rows that differ and exit code 1."""
    expected = copy / "seeds/users_scd2__expected.csv"
    expected.write_text(expected.read_text().replace("Mexicali,5,6", "Mexicali,5,7"))
    done = run(copy, "scripts/demo.py")
    assert done.returncode == 1
    assert "1 of 4 tables not as documented" in done.stdout
    assert "- 125     Mercedes  Mexicali           5         7  missing" in done.stdout
    assert "+ 125     Mercedes  Mexicali           5         6  not expected" in done.stdout


def test_demo_says_what_dbt_could_not_do(copy: Path) -> None:
    """A run that dbt refuses ends the demo with dbt's words."""
    model = copy / "models/users_scd2.sql"
    model.write_text(model.read_text().replace("sequence_by='sequenceNum'", "sequence_by='sequenceNo'"))
    done = run(copy, "scripts/demo.py")
    assert done.returncode == 1
    assert "sequenceNo" in done.stderr


def test_build_at_the_root_is_green_twice(copy: Path) -> None:
    """`dbt build` gives the documented tables from all events at once, and again from the same events."""
    (copy / "scripts/build.py").write_text(
        "from dbt.cli.main import dbtRunner\n"
        "for _ in range(2):\n"
        "    assert dbtRunner().invoke(['--warn-error', 'build', '--profiles-dir', 'profiles']).success\n"
    )
    done = run(copy, "scripts/build.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("Completed successfully") == 2
