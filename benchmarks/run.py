"""Runs the jobs of the benchmark, every competitor once a round, and prints tables with medians and ratios.

    python benchmarks/run.py [--quick | --full] [--rounds 5] [--only TEXT] [--no-dbt] [--json FILE] [--work FOLDER]

CPU seconds are user and system time of the engine step: stage, checks, apply, commit and checkpoint, in a fresh process on a fresh copy of
an on-disk database. For dbt they are net: the run of the node less a no-op run in the same process.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import databases
import workload

HERE = Path(__file__).parent
PLAIN = {1: "scd1_plain_ctas", 2: "scd2_plain_ctas"}
LIMITS = {1: ("scd1_clean_target",), 2: ("scd2_rewrite_rows", "scd2_update_ends")}
FILTERED = {1: ("scd1_filtered",), 2: ("scd2_filtered_rewrite_rows", "scd2_filtered_update_ends")}
REREAD = {1: ("scd1_reread", "scd1_filtered"), 2: ("scd2_reread", "scd2_filtered_rewrite_rows")}


@dataclass(frozen=True)
class Job:
    """A kind of run and its competitors; `keys` is zero where a whole feed of `rows` events is read again."""

    scd_type: int
    rows: int
    keys: int = 0
    more: int = 0
    with_peers: bool = True

    @property
    def name(self) -> str:
        what = (
            f"{self.rows:,} rows, {self.keys:,} keys"
            if self.keys
            else f"re-read of {self.rows:,} events, {self.more:,} new"
        )
        return f"SCD{self.scd_type}: {what}"

    @property
    def denominators(self) -> tuple[str, ...]:
        """The cheapest of these is what the others are divided by."""
        return LIMITS[self.scd_type] if self.keys else (PLAIN[self.scd_type],)

    @property
    def competitors(self) -> list[str]:
        kind = self.scd_type
        names = [*self.denominators, *(FILTERED[kind] if self.keys else REREAD[kind])]
        names += [f"auto_cdc scd{kind}", f"auto_cdc scd{kind} partial", f"auto_cdc dbt scd{kind}"]
        if self.keys and self.with_peers:
            names += (
                ["dbt merge", "dbt delete+insert"]
                if kind == 1
                else ["dbt snapshot timestamp", "dbt snapshot check"]
            )
        return names


QUICK = [
    *(Job(kind, 100_000, keys=1_000) for kind in (1, 2)),
    *(Job(kind, 100_000, more=more) for kind in (1, 2) for more in (0, 1_000)),
]
USUAL = [
    *(
        Job(kind, 1_000_000, keys=keys, with_peers=keys > 1_000)
        for keys in (1_000, 10_000, 100_000)
        for kind in (1, 2)
    ),
    *(Job(kind, 1_000_000, more=more) for kind in (1, 2) for more in (0, 1_000)),
]
FULL = [*USUAL, *(Job(kind, 10_000_000, keys=1_000, with_peers=kind == 1) for kind in (1, 2))]


class Bench:
    """Builds what a job needs, measures its competitors in turn, keeps every figure."""

    def __init__(self, work: Path, *, threads: int, with_dbt: bool) -> None:
        self.work, self.threads, self.with_dbt = work, threads, with_dbt

    def database(self, job: Job, competitor: str) -> Path:
        family = _family(competitor)
        size = f"{job.rows}_{job.keys or f'feed_{job.more}'}"
        path = self.work / f"{family}_{job.scd_type}_{size}.duckdb".replace(" ", "_")
        if not path.exists():
            building = path.with_suffix(".building")
            building.unlink(missing_ok=True)
            try:
                self._build(job, competitor, family, building)
            except Exception as error:
                raise RuntimeError(f"{job.name}, {competitor}: no database to start from: {error}") from error
            building.rename(path)
        return path

    def _build(self, job: Job, competitor: str, family: str, path: Path) -> None:
        folder = self.folder(job)
        if not job.keys:
            databases.whole_feed(path, folder, family=family, scd_type=job.scd_type, more=bool(job.more))
        elif "snapshot" in family:
            databases.snapshots_after_one(path, folder, competitor=competitor)
        else:
            databases.batches_after_one(path, folder, family=family, scd_type=job.scd_type)

    def folder(self, job: Job) -> Path:
        folder = self.work / f"workload_{job.rows}_{job.keys or 'feed'}"
        if not (folder / "meta.json").exists():
            if job.keys:
                workload.write_batches(folder, rows=job.rows, keys=job.keys, batches=2)
            else:
                workload.write_feed(folder, events=job.rows)
        return folder

    def expected(self, job: Job) -> list[str] | None:
        """The digest of the right answer; too dear to find for the largest tables."""
        if job.rows > 1_000_000:
            return None
        folder = self.folder(job)
        events = (
            databases.batch_events(folder) if job.keys else databases.feed_events(folder, more=bool(job.more))
        )
        return databases.expected_digest(events, scd_type=job.scd_type)

    def measure(self, job: Job, competitor: str, *, with_digest: bool) -> dict[str, object]:
        task = {
            "competitor": competitor, "scd_type": job.scd_type, "threads": self.threads, "digest": with_digest,
            "database": str(self.database(job, competitor)), "scratch": str(self.work),
        }  # fmt: skip
        done = subprocess.run(
            [sys.executable, str(HERE / "measure.py"), json.dumps(task)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{job.name}, {competitor}:\n{done.stderr[-800:]}")
        return json.loads(done.stdout.splitlines()[-1])

    def run(self, job: Job, *, rounds: int) -> dict[str, list[dict[str, object]]]:
        competitors = [name for name in job.competitors if self.with_dbt or "dbt" not in name]
        figures: dict[str, list[dict[str, object]]] = {name: [] for name in competitors}
        expected = self.expected(job)
        for number in range(rounds):
            for competitor in _rotated(competitors, number):
                if "dbt" in competitor and number >= max(3, rounds // 2):
                    continue
                try:
                    found = self.measure(job, competitor, with_digest=number == 0 and expected is not None)
                except RuntimeError as failed:  # the others are still worth their figures
                    print(failed, file=sys.stderr, flush=True)
                    continue
                if "digest" in found and found["digest"] != expected:
                    found["wrong"] = True
                figures[competitor].append(found)
        return figures


def _family(competitor: str) -> str:
    """Competitors of one family start from the same database."""
    if competitor.startswith("auto_cdc"):
        return "product partial" if "partial" in competitor else "product"
    if competitor in {"dbt merge", "dbt delete+insert"}:
        return "incremental"
    return competitor if "snapshot" in competitor else "limit"


def _rotated(names: list[str], by: int) -> Iterator[str]:
    shift = by % len(names)
    yield from names[shift:] + names[:shift]


def median(figures: list[dict[str, object]], name: str) -> float:
    return statistics.median(float(str(found[name])) for found in figures)


def denominator(job: Job, figures: dict[str, list[dict[str, object]]]) -> float:
    return min(median(figures[name], "cpu") for name in job.denominators)


def table(job: Job, figures: dict[str, list[dict[str, object]]]) -> str:
    over = denominator(job, figures)
    memory = min(median(figures[name], "rss_mb") for name in job.denominators)
    lines = [
        f"### {job.name}",
        "",
        f"| competitor | CPU s | min - max | / {'limit' if job.keys else 'plain CTAS'} | wall s | peak MB | / | statements | n |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, found in figures.items():
        if not found:
            lines.append(f"| {name} | failed | | | | | | | 0 |")
            continue
        cpu = [float(str(one["cpu"])) for one in found]
        rss, mark = (
            median(found, "rss_mb"),
            " **wrong result**" if any(one.get("wrong") for one in found) else "",
        )
        lines.append(
            f"| {name}{mark} | {statistics.median(cpu):.3f} | {min(cpu):.3f} - {max(cpu):.3f} | {statistics.median(cpu) / over:.2f} "
            f"| {median(found, 'wall'):.2f} | {rss:.0f} | {rss / memory:.2f} | {_statements(found)} | {len(found)} |"
        )
    return "\n".join(lines) + "\n"


def _statements(found: list[dict[str, object]]) -> str:
    planning = (
        f" (planned in {1000 * median(found, 'planning_seconds'):.0f} ms)"
        if "planning_seconds" in found[0]
        else ""
    )
    return f"{found[0].get('statements', '')}{planning}"


def growth(results: dict[Job, dict[str, list[dict[str, object]]]]) -> str:
    """The same 1,000 keys on tables of two sizes."""
    lines = [
        "### Growth: 1,000 keys",
        "",
        "| competitor | small CPU s | large CPU s | large / small |",
        "|---|---|---|---|",
    ]
    for large in (job for job in results if job.rows > 1_000_000):
        small = next(
            (
                job
                for job in results
                if job.rows < large.rows and (job.scd_type, job.keys) == (large.scd_type, large.keys)
            ),
            None,
        )
        for name in results[large] if small else ():
            if results[small].get(name) and results[large][name]:
                before, after = median(results[small][name], "cpu"), median(results[large][name], "cpu")
                lines.append(f"| {name} | {before:.3f} | {after:.3f} | {after / before:.1f} |")
    return "\n".join(lines) + "\n"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="100,000 rows, one minute")
    size.add_argument("--full", action="store_true", help="with 10,000,000 rows")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="jobs whose name contains this text")
    parser.add_argument("--no-dbt", action="store_true", help="only what runs straight on DuckDB")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--json", type=Path, help="default: results.json beside this file, not written by --quick"
    )
    parser.add_argument("--work", type=Path, help="keep databases here; default: a temporary folder")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    jobs = [
        job
        for job in (QUICK if options.quick else FULL if options.full else USUAL)
        if options.only in job.name
    ]
    file = options.json or (None if options.quick else HERE / "results.json")
    results = {}
    with tempfile.TemporaryDirectory() as temporary:
        work = options.work or Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        bench = Bench(work, threads=options.threads, with_dbt=not options.no_dbt)
        for job in jobs:
            results[job] = bench.run(job, rounds=options.rounds)
            print(table(job, results[job]), flush=True)
            if file:
                file.write_text(
                    json.dumps({one.name: figures for one, figures in results.items()}, indent=1) + "\n",
                    encoding="utf-8",
                )
    if any(job.rows > 1_000_000 for job in jobs):
        print(growth(results))


if __name__ == "__main__":
    main()
