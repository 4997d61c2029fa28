"""Every example of README and manual is followed step by step, and every link leads somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.dbt_project import Project
from tests.docs.documentation import PAGES, ROOT, Example, Reader, examples, unmarked

EXAMPLES = [example for page in PAGES for example in examples(page)]


@pytest.mark.dbt
@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_example_does_what_the_page_says(project: Project, example: Example) -> None:
    """Files, commands, messages and tables of an example agree with each other."""
    Reader(project).follow(example)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_is_run_or_says_why_not(page: Path) -> None:
    """No SQL, YAML, CSV or command of a page goes untested in silence."""
    assert [] == unmarked(page)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    """Links within the repository name a file that is there, and a heading that it has."""
    dead = []
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            dead.append(link)
    assert [] == dead


def anchors(page: Path) -> set[str]:
    """Return the headings of a page as links name them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}
