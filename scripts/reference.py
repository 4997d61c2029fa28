"""Writes the table of options, made from the specification, into the pages that show it.

`make reference` calls it after a change of src/dbt_auto_cdc/spec.py; tests/unit/test_readme.py fails until then.
"""

from __future__ import annotations

import re
import sys
from dataclasses import MISSING
from pathlib import Path

from dbt_auto_cdc.spec import OPTIONS

ROOT = Path(__file__).resolve().parents[1]
PAGES = (ROOT / "README.md", ROOT / "docs" / "configuration.md")
START, END = "<!-- options: made by make reference -->", "<!-- end of options -->"


def table() -> str:
    """Return all options as a Markdown table, those that a model must have first."""
    lines = ["| option | value | meaning |", "|---|---|---|"]
    for name, option in OPTIONS.items():
        facts = [option.metadata["doc"]]
        if option.default is MISSING:
            facts.append("Required.")
        elif option.default is not None:
            facts.append(f"Default: `{option.default}`.")
        lines.append(f"| `{name}` | {option.metadata['values']} | {' '.join(facts)} |")
    return "\n".join(lines)


def with_table(page: str) -> str:
    """Return a page's text with the table between its markers."""
    between = re.compile(f"{re.escape(START)}.*{re.escape(END)}", re.DOTALL)
    if len(between.findall(page)) != 1:
        raise SystemExit(f"the page has no place for the options, or several: {START} ... {END}")
    return between.sub(lambda _: f"{START}\n{table()}\n{END}", page)


def main() -> int:
    for page in PAGES:
        before = page.read_text(encoding="utf-8")
        after = with_table(before)
        if after != before:
            page.write_text(after, encoding="utf-8")
            print(f"{page.relative_to(ROOT)} brought up to date")
    return 0


if __name__ == "__main__":
    sys.exit(main())
