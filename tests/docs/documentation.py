"""Reads README and manual as scripts: a block's title or an HTML comment above it says what the block is.

    <!-- project -->            what follows belongs to a new, empty dbt project called shop
    ```sql title="PATH"         the block is that file of the project
    <!-- append -->             the block is added to the file that its title names
    <!-- dbt -->                the block's commands that begin with dbt are run and go well
    <!-- says -->               dbt's last command said these lines
    <!-- refused: dbt run -->   that command fails, and says this
    <!-- execute -->            the block's SQL is run in the warehouse, in the project's folder
    <!-- query -->              the block's SQL gives the table of rows that follows
    <!-- rows -->               the table of rows; `<!-- rows: SQL -->` where the page does not show the query
    <!-- not run: WHY -->       the block cannot be run, for this reason

Not here: the tests that use it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from tests.case_data import difference
from tests.dbt_project import Project, _surroundings

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# Blocks in these languages are run, or say why not.
RUNNABLE = frozenset({"sql", "yaml", "yml", "csv", "sh", "jinja"})

_MARKER = re.compile(r"<!--\s*(?P<name>[a-z][a-z ]*?)\s*(?::\s*(?P<value>.*?))?\s*-->", re.DOTALL)
_FENCE = re.compile(r'^(?P<indent> *)```(?P<language>\w*)(?: title="(?P<title>[^"]+)")?$')
_MARKERS = frozenset({"project", "append", "dbt", "says", "refused", "execute", "query", "rows", "not run"})


@dataclass(frozen=True)
class Block:
    """One step of an example: a fenced block or a table, with the marker above it."""

    marker: str
    value: str
    language: str
    text: str
    line: int


@dataclass
class Example:
    """The steps of one project of a page."""

    page: Path
    number: int
    heading: str
    steps: list[Block] = field(default_factory=list)

    def __str__(self) -> str:
        name = "-".join(re.findall(r"\w+", self.heading.lower()))
        return f"{self.page.stem}-{self.number}-{name}"


def examples(page: Path) -> list[Example]:
    """Return the examples of a page."""
    found: list[Example] = []
    heading = page.stem
    for item in _items(page):
        if isinstance(item, str):
            heading = item
        elif item.marker == "project":
            found.append(Example(page, len(found) + 1, heading))
        elif item.marker and item.marker != "not run":
            assert found, f"{page.name}:{item.line}: a step before the first <!-- project -->"
            found[-1].steps.append(item)
    return found


def blocks(page: Path) -> list[Block]:
    """Return the blocks of a page."""
    return [item for item in _items(page) if isinstance(item, Block)]


def unmarked(page: Path) -> list[str]:
    """Return the places of blocks that ought to be run and do not say how."""
    return [
        f"{page.name}:{item.line} ({item.language})"
        for item in blocks(page)
        if not item.marker and item.language in RUNNABLE
    ]


def _items(page: Path) -> Iterator[Block | str]:
    """Yield the headings of a page as text, and its blocks."""
    lines = page.read_text(encoding="utf-8").splitlines()
    marker, value, number = "", "", 0
    while number < len(lines):
        line = lines[number]
        found, fence = _MARKER.fullmatch(line.strip()), _FENCE.match(line)
        if found and found["name"] in _MARKERS:
            marker, value = found["name"], found["value"] or ""
            if marker == "project":
                yield Block(marker, value, "", "", number + 1)
                marker = ""
        elif fence:
            end = next(n for n in range(number + 1, len(lines)) if lines[n].strip() == "```")
            indent = len(fence["indent"])
            text = "\n".join(part[indent:] for part in lines[number + 1 : end]) + "\n"
            title = fence["title"]
            kind = marker or ("file" if title else "")
            yield Block(kind, value or title or "", fence["language"], text, number + 1)
            marker, value, number = "", "", end
        elif line.lstrip().startswith("|"):
            end = number
            while end < len(lines) and lines[end].lstrip().startswith("|"):
                end += 1
            yield Block(marker, value, "table", "\n".join(lines[number:end]), number + 1)
            marker, value, number = "", "", end - 1
        elif line.startswith("#"):
            yield line.lstrip("# ")
        elif line.strip():
            assert not marker, f"{page.name}:{number + 1}: <!-- {marker} --> stands above text"
        number += 1


class Reader:
    """Follows an example as a reader would, in a project of its own, and is told off where it does not hold."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.query = ""

    def follow(self, example: Example) -> None:
        """Take all steps; fails with the line of the page where the first does not hold."""
        self.project.writes_manifest = any("--state" in step.text for step in example.steps)
        for step in example.steps:
            try:
                getattr(self, "_" + step.marker)(step)
            except AssertionError as error:
                raise AssertionError(f"{example.page.name}:{step.line}: {error}") from None

    def _file(self, step: Block) -> None:
        self.project.write(step.value, step.text)

    def _append(self, step: Block) -> None:
        self.project.write(step.value, self.project.read(step.value) + step.text)

    def _dbt(self, step: Block) -> None:
        said: list[str] = []
        commands = [line for line in step.text.splitlines() if line.startswith("dbt ")]
        assert commands, "no dbt command"
        for command in commands:
            self.project.succeed(*shlex.split(command)[1:])
            said += self.project.messages
        self.project.messages = said

    def _says(self, step: Block) -> None:
        said = _spaced_once(self.project.log)
        for line in filter(None, map(_spaced_once, step.text.splitlines())):
            assert line in said, f"dbt did not say: {line}\n{self.project.log}"

    def _refused(self, step: Block) -> None:
        said = self.project.fail(*shlex.split(step.value)[1:])
        assert _spaced_once(step.text) in _spaced_once(said), f"dbt said instead: {said}"

    def _execute(self, step: Block) -> None:
        with _surroundings(self.project.root, {}):
            self.project.execute(step.text)

    def _query(self, step: Block) -> None:
        self.query = step.text.strip().rstrip(";")

    def _rows(self, step: Block) -> None:
        header, _, *rows = [_cells(line) for line in step.text.splitlines()]
        expected = [dict(zip(header, row, strict=True)) for row in rows]
        self.project.close()
        with duckdb.connect(str(self.project.database)) as connection:
            query = f"({step.value or self.query})"
            found = difference(connection, query, expected)
            assert found is None, found
            assert len(rows) == len(connection.execute(f"from {query}").fetchall())


def _spaced_once(text: str) -> str:
    return " ".join(text.split())


def _cells(line: str) -> list[str | None]:
    cells = [cell.strip().strip("`") for cell in line.strip().strip("|").split("|")]
    return [None if cell in {"", "null"} else cell for cell in cells]
