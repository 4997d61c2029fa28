"""Runs the worked examples batch by batch, prints what arrived and the tables that came of it, and checks them.

`make demo` calls it. One feed, whose events come out of order, keeps four tables, which are drawn after each batch; the
other materializations are shown as they end. What the tables have to hold in the end are the seeds called
`<table>__expected`. The exit code is 1 unless all are as documented.
"""

from __future__ import annotations

import csv
import os
import re
import shutil
import sys
import textwrap
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "target" / "demo"
KEY, SEQUENCE, START, END = "userId", "sequenceNum", "__START_AT", "__END_AT"
NUMBERS = frozenset(
    {SEQUENCE, START, END, "seq", "total_amount", "booking_update_id", "orders", "amount", "battery"}
)

TABLES = {
    "users_scd1": "the latest row of each user",
    "users_scd1_truncate": "the same, truncates applied",
    "users_scd2": "the history of each user",
    "users_scd2_track_except_city": "the same, a new city opens no version",
}
# The tables that are shown once, as they end.
ENDINGS = {
    "Events that leave columns out: partial updates": {
        "sparse_ignore_null": "a null means not sent",
        "sparse_ignore_null_in_list": "in the column email only",
        "sparse_ignore_null_except_list": "in all but city",
        "devices": "each event lists what it writes",
        "sparse_history": "late values flow on",
        "documents": "a marker stands for what was not sent",
    },
    "What was believed when, on 18 July 2025: auto_cdc, bitemporal": {
        "company_a_after_1": "XFv1 holds, it is said at 10:05",
        "company_a_after_2": "XFv2 holds, it is said at 12:20",
        "company_a_after_3": "XFv3 came between, it is said at 12:25, late",
        "company_a_after_4": "it ended, it is said at 12:30",
        "two_axes": "a fact of 10 known at 100, one of 20 at 200",
    },
    "Whole dumps instead of changes: auto_cdc_snapshot": {
        "users_periodic_scd1": "the latest of dumps 0, 1",
        "users_periodic_scd2": "the history of both",
        "users_versioned_scd2": "the history of files 1 and 2; file 0 comes last, too late",
    },
    "Several flows into one table: auto_cdc": {
        "members_dump_and_feed": "dumps at 100 and 200, changes between",
        "members_baseline_and_feed": "the first dump only, then changes",
        "users_three_feeds": "users_scd2, from three feeds",
    },
    "Rows that are replaced together: replace_using": {
        "regions": "the latest delivery of each",
        "payments": "each one's latest state",
        "bookings": "by number",
        "bookings_by_property": "by property and number",
    },
    "A window of seven days that is computed anew: replace_where": {
        "daily_sales": "a late order for 4 March counts, one for 2 March comes too late",
    },
}
EVERY = [*TABLES, *(name for tables in ENDINGS.values() for name in tables)]

Row = tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """Columns and rows as text; null is the empty text."""

    columns: Row
    rows: tuple[Row, ...] = ()

    def named(self, row: Row) -> dict[str, str]:
        return dict(zip(self.columns, row, strict=True))

    def identity(self, row: Row) -> Row:
        """Tell rows apart: by key and, in a history, by start."""
        return tuple(value for name, value in self.named(row).items() if name in {KEY, START})

    def in_order(self) -> Table:
        return Table(self.columns, tuple(sorted(self.rows, key=lambda row: (self.identity(row), row))))


def read_seed(name: str) -> Table:
    (path,) = (ROOT / "seeds").rglob(f"{name}.csv")
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    return Table(tuple(header), tuple(map(tuple, rows)))


class Dbt:
    """Runs dbt commands in this process, on a database of the demo's own."""

    def __init__(self) -> None:
        shutil.rmtree(WORK / "warehouse", ignore_errors=True)
        (WORK / "warehouse").mkdir(parents=True)
        os.environ["AUTO_CDC_DUCKDB_PATH"] = str(WORK / "warehouse" / "demo.duckdb")
        os.environ["DBT_SEND_ANONYMOUS_USAGE_STATS"] = "false"
        from dbt.cli.main import dbtRunner

        self.warnings: list[str] = []
        self._runner = dbtRunner(callbacks=[self._listen])

    def _listen(self, event: Any) -> None:
        """Keep what a model of ours is warned about."""
        if event.info.level == "warn" and "auto_cdc: model " in event.info.msg:
            self.warnings.append(event.info.msg.strip())

    def run(self, *command: str) -> list[Any]:
        """Run a command and return its nodes' results. What dbt cannot do ends the demo."""
        where = [
            "--project-dir",
            str(ROOT),
            "--profiles-dir",
            str(ROOT / "profiles"),
            "--target-path",
            str(WORK),
        ]
        done = self._runner.invoke(["--log-level", "none", "--log-path", str(WORK), *command, *where])
        results = list(getattr(done.result, "results", ()))
        problems = [str(node.message) for node in results if str(node.status) == "error"]
        if done.exception or problems:
            raise SystemExit("\n".join([f"dbt {command[0]} failed", str(done.exception or ""), *problems]))
        return results

    def tables(self, wanted: Mapping[str, Table]) -> dict[str, Table]:
        """Return the rows of some tables, fetched by one query."""
        width = max(len(table.columns) for table in wanted.values())
        selects = []
        for name, table in wanted.items():
            columns = [*table.columns, *["null"] * (width - len(table.columns))]
            texts = [f"cast({column} as varchar(40)) as c{number}" for number, column in enumerate(columns)]
            selects.append(f"select '{name}' as table_name, {', '.join(texts)} from {{{{ ref('{name}') }}}}")
        shown = self.run("show", "--inline", "\nunion all\n".join(selects), "--limit", "-1")
        rows: dict[str, list[Row]] = {name: [] for name in wanted}
        for name, *values in shown[0].agate_table.rows:
            kept = values[: len(wanted[name].columns)]
            rows[name].append(tuple("" if value is None else str(value) for value in kept))
        return {name: Table(table.columns, tuple(rows[name])).in_order() for name, table in wanted.items()}


class Screen:
    """Colours where the output is a terminal; plain text in pipes and logs."""

    def __init__(self) -> None:
        plain = "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb" or not sys.stdout.isatty()
        self._codes = {} if plain else {"bold": 1, "dim": 2, "red": 31, "green": 32, "yellow": 33}
        self.width = min(shutil.get_terminal_size((100, 24)).columns, 160)
        draws = "utf" in (sys.stdout.encoding or "").lower()
        self.rule, self.bar, self.arrow, self.yes, self.no = "─━▶✔✘" if draws else "-=>+x"

    def styled(self, text: str, *styles: str) -> str:
        codes = ";".join(str(self._codes[style]) for style in styles if style in self._codes)
        return f"\x1b[{codes}m{text}\x1b[0m" if codes and text else text

    def line(self, text: str = "") -> None:
        title = f"{text} " if text else ""
        print(self.styled(title, "bold") + self.styled(self.rule * (self.width - len(title)), "dim"))

    def pair(self, left: Sequence[str], right: Sequence[str]) -> None:
        """Print two blocks of lines side by side, or one below the other where the terminal is too narrow."""
        width, other_width = (max(map(visible, block), default=0) for block in (left, right))
        if width + 4 + other_width > self.width:
            print("\n".join([*left, "", *right] if right else left))
        else:
            for one, other in zip_longest(left, right, fillvalue=""):
                print(f"{one}{' ' * (width + 4 - visible(one))}{other}".rstrip())
        print()


def visible(text: str) -> int:
    """Return how many characters of a text are seen: colours take no room."""
    return len(re.sub(r"\x1b\[[0-9;]*m", "", text))


def aligned(columns: Sequence[str], rows: Sequence[Row]) -> Iterator[str]:
    """Yield a header and rows as lines of one width, numbers to the right."""
    lines = [tuple(columns), *rows]
    widths = [max(len(line[place]) for line in lines) for place in range(len(columns))]
    for line in lines:
        cells = zip(columns, line, widths, strict=True)
        yield "  ".join(v.rjust(w) if name in NUMBERS else v.ljust(w) for name, v, w in cells)


def without_day(rows: Sequence[Row]) -> list[Row]:
    """Return rows with the times alone, where all of them are of one day, which the title tells."""
    is_time = re.compile(r"\d{4}-\d\d-\d\d (?=\d\d:)")
    days = {found[0] for row in rows for value in row if (found := is_time.match(value))}
    return [tuple(is_time.sub("", value) if len(days) == 1 else value for value in row) for row in rows]


@dataclass(frozen=True)
class Run:
    """What dbt said of the models in one run."""

    figures: Mapping[str, str]
    warnings: Sequence[str]

    def said(self, name: str) -> str:
        return self.figures[name].removeprefix("AUTO CDC ")

    def warned(self, name: str) -> list[str]:
        """Return the warnings about a model in lines of a table's width."""
        texts = [text.split(f"model {name}: ")[1] for text in self.warnings if f"model {name}: " in text]
        return [line for text in texts for line in textwrap.wrap(text, 60)]


class Report:
    """What arrived, what became of it, and the verdict. Not here: dbt."""

    def __init__(self, screen: Screen, feed: Table, wanted: Mapping[str, Table]) -> None:
        self.screen, self.feed, self.wanted = screen, feed, wanted
        self.events = [feed.named(row) for row in feed.rows]
        self.arrivals = sorted({int(event["arrival"]) for event in self.events})
        self.last = max(int(event[SEQUENCE]) for event in self.events)

    def opening(self) -> None:
        print(
            self.screen.styled(
                "One feed of changes, four tables kept by auto_cdc, one dbt run a batch.", "bold"
            )
        )
        print("Marked is what a run did to each table: + new, ~ changed, - gone.")
        print("What the other materializations made of their sources stands at the end.\n")

    def batch(self, arrival: int) -> None:
        """Print the events of a batch, each marked late that is below what its user had."""
        self.screen.line(f"Batch {arrival} of {len(self.arrivals)}")
        shown = [name for name in self.feed.columns if name != "arrival"]
        events = [event for event in self.events if int(event["arrival"]) == arrival]
        header, *lines = aligned(shown, [tuple(event[name] for name in shown) for event in events])
        print(self.screen.styled(f"  arrived  {header}", "dim"))
        for event, line in zip(events, lines, strict=True):
            late = self.screen.styled("  late", "yellow", "bold") if self._is_late(event) else ""
            print(f"           {line}{late}")
        print()

    def _is_late(self, event: Mapping[str, str]) -> bool:
        """Tell whether its user has a later event from an earlier batch; a truncate concerns every user."""
        before = [
            int(other[SEQUENCE])
            for other in self.events
            if int(other["arrival"]) < int(event["arrival"]) and (not event[KEY] or other[KEY] == event[KEY])
        ]
        return int(event[SEQUENCE]) < max(before, default=0)

    def tables(
        self, before: Mapping[str, Table], after: Mapping[str, Table], figures: Mapping[str, str]
    ) -> None:
        """Print the tables in pairs, each with dbt's result line."""
        blocks = [
            [
                self.screen.styled(name, "bold") + self.screen.styled(f"  {what}", "dim"),
                *self._rows(before[name], after[name]),
                self.screen.styled(f"  {figures[name]}", "dim"),
            ]
            for name, what in TABLES.items()
        ]
        self._in_pairs(blocks)

    def endings(self, found: Mapping[str, Table], runs: Sequence[Run]) -> None:
        """Print the other tables as they are in the end, each with what dbt said of every run."""
        for title, tables in ENDINGS.items():
            self.screen.line(title)
            blocks = []
            for name, what in tables.items():
                header, *lines = aligned(found[name].columns, without_day(found[name].rows))
                block = [self.screen.styled(name, "bold") + self.screen.styled(f"  {what}", "dim")]
                block += [self.screen.styled(f"  {header}", "dim"), *(f"  {line}" for line in lines)]
                for number, run in enumerate(runs, start=1):
                    block.append(self.screen.styled(f"  run {number}: {run.said(name)}", "dim"))
                    block += [self.screen.styled(f"    {line}", "yellow") for line in run.warned(name)]
                blocks.append(block)
            self._in_pairs(blocks)

    def _in_pairs(self, blocks: Sequence[Sequence[str]]) -> None:
        for left, right in zip_longest(blocks[::2], blocks[1::2], fillvalue=[]):
            self.screen.pair(left, right)

    def _rows(self, before: Table, after: Table) -> Iterator[str]:
        """Yield a table's lines, what the run did marked; a history is also drawn along the sequence."""
        old, new = ({table.identity(row): row for row in table.rows} for table in (before, after))
        identities = sorted({*old, *new})
        rows = [new.get(identity) or old[identity] for identity in identities]
        header, *lines = aligned(after.columns, rows)
        is_history = START in after.columns
        scale = "   " + " ".join(map(str, range(1, self.last + 1))) if is_history else ""
        yield self.screen.styled(f"  {header}{scale}".rstrip(), "dim")
        for identity, row, line in zip(identities, rows, lines, strict=True):
            mark, style = " ", ""
            if identity not in new:
                mark, style = "-", "red"
            elif identity not in old:
                mark, style = "+", "green"
            elif old[identity] != row:
                mark, style = "~", "yellow"
            bar = f"   {self._bar(after.named(row))}" if is_history and identity in new else ""
            yield self.screen.styled(f"{mark} {line}{bar}".rstrip(), style)
        if not rows:
            yield "  no rows"

    def _bar(self, version: Mapping[str, str]) -> str:
        """Draw from when to when a version holds, two characters a step; an open one ends in an arrow."""
        start, end = int(version[START]), int(version[END] or self.last + 1)
        bar = self.screen.bar * (2 * (end - start) - 1)
        return "  " * (start - 1) + bar + (self.screen.bar if version[END] else self.screen.arrow)

    def verdict(self, found: Mapping[str, Table], tests: Sequence[Any], seconds: float) -> int:
        """Print what dbt's data tests say, and return the exit code."""
        screen, failed = self.screen, [test for test in tests if str(test.status) != "pass"]
        screen.line()
        if not failed:
            said = f"{screen.yes} {len(self.wanted)} tables as documented"
            passed = f"   {len(tests)} data tests passed, {seconds:.0f} s"
            print(screen.styled(said, "green", "bold") + screen.styled(passed, "dim"))
            return 0
        models = {node.rpartition(".")[2] for test in failed for node in test.node.depends_on.nodes}
        wrong = [name for name in self.wanted if name in models]
        said = f"{screen.no} {len(wrong)} of {len(self.wanted)} tables not as documented"
        print(screen.styled(said, "red", "bold"))
        for name in wrong:
            print("\n".join([f"\n{name}", *self._difference(self.wanted[name], found[name])]))
        print(f"\nfailed in dbt: {', '.join(test.node.name for test in failed)}")
        return 1

    def _difference(self, wanted: Table, found: Table) -> Iterator[str]:
        """Yield the rows that are missing and those that should not be there."""
        missing = [row for row in wanted.rows if row not in found.rows]
        surplus = [row for row in found.rows if row not in wanted.rows]
        header, *lines = aligned(wanted.columns, [*missing, *surplus])
        yield self.screen.styled(f"    {header}", "dim")
        for number, line in enumerate(lines):
            if number < len(missing):
                yield self.screen.styled(f"  - {line}  missing", "red")
            else:
                yield self.screen.styled(f"  + {line}  not expected", "green")


def main() -> int:
    started = time.monotonic()
    wanted = {name: read_seed(f"{name}__expected") for name in EVERY}
    drawn = {name: wanted[name] for name in TABLES}
    report = Report(Screen(), read_seed("users_feed"), wanted)
    report.opening()
    dbt = Dbt()
    dbt.run("seed")
    found = {name: Table(table.columns) for name, table in drawn.items()}
    runs: list[Run] = []
    for arrival in report.arrivals:
        os.environ["AUTO_CDC_ARRIVAL"] = str(arrival)
        dbt.warnings = []
        figures = {node.node.name: str(node.message) for node in dbt.run("run")}
        runs.append(Run(figures, dbt.warnings))
        before, found = found, dbt.tables(drawn)
        report.batch(arrival)
        report.tables(before, found, figures)
    found = dbt.tables(wanted)
    report.endings(found, runs)
    return report.verdict(found, dbt.run("test"), time.monotonic() - started)


if __name__ == "__main__":
    sys.exit(main())
