"""What Jinja would pass over in silence: a misspelt attribute of a Python value renders as nothing.

What the macros do is tested by running dbt.
"""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from dbt_auto_cdc.bridge import EXPORTS, Model
from dbt_auto_cdc.event_log import Entry
from dbt_auto_cdc.execute import Outcome
from dbt_auto_cdc.plan import Plan, Step
from dbt_auto_cdc.state import Relations

MACROS = sorted((Path(__file__).resolve().parents[2] / "macros").rglob("*.sql"))
# The names under which macros hold our values; a macro that needs another adds it here.
VALUES = {
    "plan": Plan,
    "opened": Model,
    "outcome": Outcome,
    "step": Step,
    "relations": Relations,
    "entry": Entry,
}
# What the plugin adds, because it needs dbt.
FROM_PLUGIN = {"response", "tell", "handshake"}


def attributes(value: type) -> set[str]:
    """Return what a macro may read of a value."""
    return {name for name in dir(value) if not name.startswith("_")} | {field.name for field in fields(value)}


@pytest.mark.parametrize("file", MACROS, ids=lambda file: file.stem)
def test_macros_read_only_what_there_is(file: Path) -> None:
    """Every attribute read from a plan, a step, a model or an outcome exists."""
    text = re.sub(r"{#.*?#}|'[^']*'", "", file.read_text(encoding="utf-8"), flags=re.DOTALL)
    read = re.findall(rf"\b({'|'.join(VALUES)})\.(\w+)", text)
    assert [] == [f"{name}.{read}" for name, read in read if read not in attributes(VALUES[name])]


@pytest.mark.parametrize("file", MACROS, ids=lambda file: file.stem)
def test_macros_call_only_what_there_is(file: Path) -> None:
    """Every function called of the Python half is one that it gives away."""
    text = file.read_text(encoding="utf-8")
    called = re.findall(r"(?:\bcdc|auto_cdc\._python\(\)|modules\.auto_cdc)\.(\w+)", text)
    assert set() == set(called) - set(EXPORTS) - FROM_PLUGIN


@pytest.mark.parametrize("file", MACROS, ids=lambda file: file.stem)
def test_a_macro_is_short_and_has_the_name_of_its_file(file: Path) -> None:
    """One macro a file, under sixty lines, with a comment above it."""
    text = file.read_text(encoding="utf-8")
    assert len(text.splitlines()) < 60
    assert text.startswith("{#")
    assert [file.stem] == re.findall(r"{%-?\s*(?:macro|materialization|test)\s+(\w+)", text)
