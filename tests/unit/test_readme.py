"""What README and manual say of the options is what the specification says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dbt_auto_cdc.engines import required, supported
from dbt_auto_cdc.served import lacks
from dbt_auto_cdc.spec import SPECS, options_of
from scripts.reference import (
    ENGINES,
    FIRST,
    OTHERS,
    PAGES,
    RENDERED,
    SETUPS,
    engines,
    in_order,
    others,
    own_options,
    shown,
    table,
    with_tables,
)

README, CONFIGURATION, GUIDE = PAGES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_tables_of_options_are_the_specification(page: Path) -> None:
    """After a change of spec.py: make reference."""
    text = page.read_text(encoding="utf-8")
    assert with_tables(text) == text


def test_every_materialization_is_in_readme_and_manual() -> None:
    """The README has the options of `auto_cdc` and what is different in the others, the manual has all of each."""
    assert [FIRST, OTHERS] == list(shown(README.read_text(encoding="utf-8")))
    assert list(SPECS) == list(shown(CONFIGURATION.read_text(encoding="utf-8")))


@pytest.mark.parametrize("materialized", SPECS)
def test_table_names_every_option_once(materialized: str) -> None:
    """One line for each option, with its values and its meaning."""
    lines = table(materialized).splitlines()[2:]
    assert list(in_order(options_of(materialized))) == [re.findall(r"`(\w+)`", line)[0] for line in lines]
    assert {4} == {line.count("|") for line in lines}


@pytest.mark.parametrize("materialized", [name for name in SPECS if name != FIRST])
def test_others_names_every_option(materialized: str) -> None:
    """An option of another materialization has a line of its own, or is named among the shared ones."""
    lines = others().splitlines()
    own = [re.findall(r"`(\w+)`", line)[1] for line in lines if line.startswith(f"| `{materialized}` ")]
    (sentence,) = re.findall(rf"^\* .*`{materialized}`.* also: (.+)\.$", "\n".join(lines), re.MULTILINE)
    assert list(own_options(materialized)) == own
    assert sorted(options_of(materialized)) == sorted([*own, *re.findall(r"`(\w+)`", sentence)])


def test_every_option_has_a_section_of_its_own() -> None:
    """The reference explains what one sentence cannot."""
    text = CONFIGURATION.read_text(encoding="utf-8").split("## The options one by one")[1]
    explained = [name for heading in headings(text) for name in re.findall(r"`(\w+)`", heading)]
    assert sorted({name for spec in SPECS for name in options_of(spec)}) == sorted(explained)


def test_readme_says_of_each_engine_what_is_sure_and_what_it_lacks() -> None:
    """Every engine has its row, with what it refuses by the names of the options; those not run say so."""
    text = README.read_text(encoding="utf-8")
    assert [1, 1] == [len(ENGINES.findall(page)) for page in (text, GUIDE.read_text(encoding="utf-8"))]
    rows = engines().splitlines()[2:]
    for setup in SETUPS:
        (row,) = [row for row in rows if setup.title in row.split("|")[1].strip().split(", ")]
        engine = required(setup.adapter, "any").configured(dict(setup.config), "any")
        assert engine.is_run == (RENDERED not in row)
        assert all(missing in row for missing in lacks(engine))


def test_an_engine_lacks_what_it_refuses() -> None:
    """Each option that is not served is told by its name, or as one of several that people call by one."""
    engine = required("snowflake", "any")
    told = "; ".join(lacks(engine))
    assert {"ignore_null_updates", "version_query"} <= set(engine.not_served)
    for option in engine.not_served:
        words = {"ignore": "partial updates", "columns": "partial updates"}
        word = words.get(option.partition("_")[0], f"`{option.replace('=', ': ')}`")
        assert word in told


def test_profiles_have_an_output_for_each_engine() -> None:
    """The table's engines are those of profiles/profiles.yml, each of its adapter's type."""
    written = (README.parent / "profiles" / "profiles.yml").read_text(encoding="utf-8")
    assert set(supported()) == set(re.findall(r"^      type: (\w+)$", written, re.MULTILINE))


def test_readme_says_which_materialization_is_for_what() -> None:
    """One line for each."""
    section = (
        README.read_text(encoding="utf-8")
        .split("## Which materialization for which source")[1]
        .split("\n## ")[0]
    )
    assert list(SPECS) == re.findall(r"^\|[^`|]+\| `(\w+)` \|[^|]+\|$", section, re.MULTILINE)


def headings(text: str) -> list[str]:
    return re.findall(r"^### (.+)$", text, re.MULTILINE)
