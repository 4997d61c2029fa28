"""What README and manual say of the options is what the specification says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dbt_auto_cdc.spec import OPTIONS
from scripts.reference import PAGES, table, with_table

CONFIGURATION = Path(__file__).resolve().parents[2] / "docs" / "configuration.md"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_table_of_options_is_the_specification(page: Path) -> None:
    """After a change of spec.py: make reference."""
    text = page.read_text(encoding="utf-8")
    assert with_table(text) == text


def test_table_names_every_option_once() -> None:
    """One line for each option, with its values and its meaning."""
    lines = table().splitlines()[2:]
    assert list(OPTIONS) == [re.findall(r"`(\w+)`", line)[0] for line in lines]
    assert {4} == {line.count("|") for line in lines}


def test_every_option_has_a_section_of_its_own() -> None:
    """The reference explains what one sentence cannot."""
    headings = re.findall(r"^### (.+)$", CONFIGURATION.read_text(encoding="utf-8"), re.MULTILINE)
    explained = [name for heading in headings for name in re.findall(r"`(\w+)`", heading)]
    assert sorted(OPTIONS) == sorted(explained)
