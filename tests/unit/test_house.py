"""Rules of the house that machines can keep. What the code does is tested elsewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import dbt_auto_cdc

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
MACROS = sorted((ROOT / "macros").rglob("*.sql"))
# Spelt in two parts, so that this file need not be an exception to its own rule.
PREFIX = "__auto" + "_cdc_"


def macro_names(text: str) -> list[str]:
    """Return the names of the macros in a file, materializations and tests left out."""
    return re.findall(r"{%-?\s*macro\s+(\w+)\s*\(", text)


def test_readme_names_the_two_commands() -> None:
    """Whoever clones the repository finds what to type."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "make demo" in readme
    assert "make test" in readme


@pytest.mark.parametrize("file", [*SOURCES, *MACROS], ids=lambda file: str(file.relative_to(ROOT)))
def test_reserved_prefix_is_spelt_in_one_file(file: Path) -> None:
    """`names.py` answers what is ours: nobody else spells the prefix."""
    if file.name != "names.py":
        assert PREFIX not in file.read_text(encoding="utf-8").lower()


def test_a_name_is_declared_once() -> None:
    """`names.py` is long, and what stands there twice is soon two things."""
    text = (ROOT / "src/dbt_auto_cdc/names.py").read_text(encoding="utf-8")
    declared = re.findall(r"^([A-Z_]+) = ", text, re.MULTILINE)
    assert len(declared) > 100
    assert sorted(set(declared)) == sorted(declared)


def test_an_operation_is_refused_by_its_name() -> None:
    """Where an engine does not serve an operation, the message calls it as the user did."""
    text = (ROOT / "src/dbt_auto_cdc/operations.py").read_text(encoding="utf-8")
    refused = re.findall(r'refuse_operation\(.*"(\w+)"\)', text)
    assert len(refused) >= 5
    assert set(refused) <= {file.stem for file in (ROOT / "macros/operations").glob("*.sql")}


def test_macros_and_package_have_one_version() -> None:
    """The literal that the handshake compares is the package's version."""
    text = (ROOT / "macros/run/_python.sql").read_text(encoding="utf-8")
    assert [dbt_auto_cdc.__version__] == re.findall(r"set version = '([^']+)'", text)


def test_changelog_names_the_version() -> None:
    """A release that users cannot read about is none."""
    assert f"## [{dbt_auto_cdc.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_every_public_macro_is_documented() -> None:
    """Each macro without a leading underscore stands in `_macros.yml`, with a description and its arguments."""
    documented = yaml.safe_load((ROOT / "macros/_macros.yml").read_text(encoding="utf-8"))["macros"]
    described = {macro["name"] for macro in documented if macro.get("description")}
    public = {
        name
        for file in MACROS
        for name in macro_names(file.read_text(encoding="utf-8"))
        # dispatch targets such as default__hash belong to the macro that dispatches
        if not name.startswith("_") and "__" not in name
    }
    assert public == described
    for macro in documented:
        for argument in macro.get("arguments", []):
            assert argument.get("description"), f"{macro['name']}: argument {argument['name']}"


def test_macros_are_called_by_their_package() -> None:
    """Inside a user's project an unqualified name is not found; the root demo hides that mistake."""
    names = {name for file in MACROS for name in macro_names(file.read_text(encoding="utf-8"))}
    calls = re.compile(rf"(?<![\w.'\"])({'|'.join(sorted(names))})\s*\(")
    found = []
    for file in MACROS:
        text = re.sub(r"{#.*?#}", "", file.read_text(encoding="utf-8"), flags=re.DOTALL)
        text = re.sub(r"{%-?\s*macro\s+\w+", "", text)
        found += [f"{file.name}: {name}" for name in calls.findall(text)]
    assert [] == found


def test_planning_imports_no_dbt() -> None:
    """Planning is pure: it runs where there is no dbt. The plugin and the commands are the way to dbt."""
    imports = re.compile(r"^\s*(?:from|import)\s+(dbt|dbt_common|agate|duckdb)\b", re.MULTILINE)
    doors = {"plugin.py", "commands.py", "cli.py"}
    offenders = [
        file.name
        for file in SOURCES
        if file.name not in doors and imports.search(file.read_text(encoding="utf-8"))
    ]
    assert [] == offenders


def test_importing_the_package_imports_nothing_else() -> None:
    """dbt does it in every command of the environment."""
    code = "import sys; before = set(sys.modules); import dbt_auto_cdc; print(*sorted(set(sys.modules) - before))"
    command = [sys.executable, "-c", code]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert ["dbt_auto_cdc"] == loaded


def test_planning_needs_no_dbt() -> None:
    """The bridge with all that it plans loads without dbt and without an engine."""
    code = "import sys, dbt_auto_cdc.bridge; print(*sys.modules)"
    command = [sys.executable, "-c", code]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert set() == {"dbt", "dbt_common", "agate", "duckdb"} & set(loaded)
