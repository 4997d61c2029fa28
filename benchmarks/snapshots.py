"""Snapshots and REPLACE USING: what one run costs beside hand-written SQL, dbt snapshot, SQLMesh and dlt.

    python benchmarks/snapshots.py [--rows 1000000] [--rounds 3] [--only TEXT] [--peers all|dbt|none] [--work FOLDER]

Jobs: one snapshot with 1 % and 10 % of the keys touched, ten versions that wait, and REPLACE USING with 1 % of the keys. Every measurement is a
process of its own on a fresh copy of an on-disk database; CPU seconds are user and system time up to the end of a checkpoint.

SQLMesh and dlt are installed, as `peers-requirements.txt` pins them, into environments of their own below the work folder.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

import databases
import duckdb
import measure
import peers
import workload
from limits import Statement, check, of, statement
from product import Direct
from workload import COLUMNS

HERE = Path(__file__).parent
VALUES = ", ".join(COLUMNS)
VERSIONS = 10
SNAPSHOT = {"keys": ["id"], "snapshot_version": "version", "stored_as_scd_type": 2}
REPLACE = {"replace_using": ["id"], "sequence_by": "seq"}
DBT = ("dbt snapshot timestamp", "dbt snapshot check")
OTHERS = ("dlt scd2", "SQLMesh SCD_TYPE_2_BY_COLUMN")

# ---- by hand

DIFFERS = " or ".join(f"src.{name} is distinct from old.{name}" for name in COLUMNS)
DIFF = statement(
    "differing",
    f"""
create temp table differing as
select old.rid, src.id, {of("src")}
from (select rowid as rid, id, {VALUES} from target where end_at is null) as old full join source as src on old.id = src.id
where old.id is null or src.id is null or {DIFFERS}
""",
)
WRITE = [
    statement("ends", "update target set end_at = 2 from differing where target.rowid = differing.rid"),
    statement("rows", f"insert into target select id, {VALUES}, 2, null from differing where id is not null"),
]
# the refusals of the product: a null key or version, a key that comes twice
REFUSALS = check(
    "refusals",
    """
select count(*) - count(id), count(*) - count(version), (select count(*) from (select id from source group by id having count(*) > 1))
from source
""",
)
REPLACING = [
    statement(
        "newest",
        f"create temp table newest as select id, {VALUES}, seq from source qualify rank() over (partition by id order by seq desc) = 1",
    ),
    statement("out", "delete from target where id in (select id from newest)"),
    statement("in", "insert into target from newest"),
]
BY_HAND: dict[str, list[Statement]] = {
    "by hand: full join": [DIFF, *WRITE],
    "by hand: full join, refusals": [REFUSALS, DIFF, *WRITE],
    "by hand: DELETE IN + INSERT": REPLACING,
}

# The least that a pass over several versions can do, with nothing kept, refused or written.
BARE = {
    "bare: compare": f"""
select count(*) from source as src left join target as old on old.id = src.id and old."__END_AT" is null where {DIFFERS}
""",
    "bare: group": f"select count(*) from (select id, {VALUES}, count(*) from source group by id, {VALUES})",
    "bare: copy": "create temp table copied as select * from source",
}

# ---- jobs: what competes, the first being the denominator

JOBS = {
    "snapshot, 1 %": (100, ["by hand: full join", "by hand: full join, refusals", "auto_cdc", *DBT, *OTHERS]),
    "snapshot, 10 %": (10, ["by hand: full join", "by hand: full join, refusals", "auto_cdc", *DBT, *OTHERS]),
    f"{VERSIONS} versions, 1 % each": (
        100,
        ["auto_cdc, one run each", "auto_cdc, one pass", "bare: compare", "bare: group", "bare: copy"],
    ),
    "REPLACE USING, 1 %": (100, ["by hand: DELETE IN + INSERT", "auto_cdc"]),
}


def source(folder: Path, number: int) -> str:
    """The source table after a batch, with the batch's number as its version."""
    batches = [f"from read_parquet('{folder}/batch_{one}.parquet')" for one in range(1, number + 1)]
    events = " union all by name ".join([f"from {databases.BASE.format(folder=folder)}", *batches])
    return (
        f"select id, {VALUES}, timestamp '2025-01-01' + to_milliseconds(seq) as updated_at, cast({number} as bigint) as version"
        f" from (from ({events}) qualify row_number() over (partition by id order by seq desc) = 1) where op <> 'D'"
    )


def family_of(competitor: str) -> str:
    """Those of one family start from the same database."""
    if competitor.startswith("by hand"):
        return "hand"
    return "auto" if competitor.startswith(("auto", "bare")) else competitor


def built(work: Path, job: str, competitor: str, rows: int) -> Path:
    """The database that a competitor's earlier runs have left; `source` holds what the run to come reads."""
    share, _ = JOBS[job]
    several, replaces = "versions" in job, "REPLACE" in job
    batches = VERSIONS + 1 if several else 2
    folder = work / f"snapshots_{rows}_{share}_{batches}"
    if not (folder / "meta.json").exists():
        workload.write_batches(folder, rows=rows, keys=rows // share, batches=batches)
    family = family_of(competitor)
    # The name of the file is that of the database, which SQLMesh keeps; copies have it too.
    path = work / f"{'replace' if replaces else folder.name}_{family}".replace(" ", "_") / "warehouse.duckdb"
    if path.exists():
        return path
    path.parent.mkdir()
    if family in OTHERS:  # SQLMesh brings an older DuckDB
        duckdb.connect(str(path), config={"storage_compatibility_version": "v1.2.0"}).close()
    with databases.connect(path) as con:
        if replaces:
            con.execute(
                f"create table source as select id, {VALUES}, seq from read_parquet('{folder}/base.parquet')"
            )
        else:
            con.execute(f"create table source as {source(folder, 1)}")
        if family == "auto":
            product(con, job).run(REPLACE if replaces else SNAPSHOT, sql=model(job))
        elif family == "hand":
            bounds = "" if replaces else ", version as start_at, cast(null as bigint) as end_at"
            con.execute(
                f"create table target as select id, {VALUES}{', seq' if replaces else bounds} from source"
            )
    if family in DBT:
        dbt_snapshot(path, competitor)
    elif family in OTHERS:
        other(path, competitor, work)
    second = f"select id, {VALUES}, seq from read_parquet('{folder}/batch_1.parquet') where op <> 'D'"
    fill(path, [second] if replaces else [source(folder, number) for number in range(2, batches + 1)])
    settle(path)
    return path


def fill(database: Path, queries: list[str]) -> None:
    """Put what the run to come reads into `source`."""
    with databases.connect(database) as con:
        con.execute(f"create or replace table source as {queries[0]}")
        for query in queries[1:]:
            con.execute(f"insert into source {query}")
        con.execute("checkpoint")


def settle(database: Path) -> None:
    """Do what DuckDB leaves to the first checkpoint of the next process, such as packing row groups: no part of a run."""
    with databases.connect(database) as con:
        con.execute("create table settled as select 1 as one")
        con.execute("drop table settled")
        con.execute("checkpoint")


def product(con: duckdb.DuckDBPyConnection, job: str) -> Direct:
    return Direct(con, materialized="replace_using" if "REPLACE" in job else "auto_cdc_snapshot")


def model(job: str, which: str = "") -> str:
    return f"select id, {VALUES}, {'seq' if 'REPLACE' in job else 'version'} from main.source{which}"


def dbt_snapshot(database: Path, competitor: str) -> None:
    with tempfile.TemporaryDirectory() as project:
        peers.write_project(Path(project), competitor=competitor, database=database, threads=2)
        command = [sys.executable, "-c", "from dbt.cli.main import cli; cli()", "--quiet", "snapshot"]
        folders = ["--project-dir", project, "--profiles-dir", project]
        subprocess.run([*command, *folders], check=True, cwd=project)


# ---- one measurement


def run_by_hand(con: duckdb.DuckDBPyConnection, statements: list[Statement]) -> None:
    con.execute("begin")
    for step in statements:
        result = con.execute(step.sql)
        if step.is_check and any(result.fetchone()):
            raise ValueError(step.name)
    con.execute("commit")


def run_product(con: duckdb.DuckDBPyConnection, job: str, competitor: str) -> measure.Clock:
    """Run the plans; the clock starts when the first one is made."""
    target, options = product(con, job), REPLACE if "REPLACE" in job else SNAPSHOT
    if competitor != "auto_cdc, one run each":
        plan = target.plan(options, sql=model(job))
        clock = measure.Clock()
        target.execute(plan)
        return clock
    clock = measure.Clock()
    for number in range(2, VERSIONS + 2):
        target.run(options, sql=model(job, f" where version = {number}"))
        con.execute("checkpoint")
    return clock


def measured(task: dict[str, str]) -> dict[str, object]:
    """Run one competitor on a copy of its database."""
    job, competitor, work = task["job"], task["competitor"], Path(task["work"])
    with tempfile.TemporaryDirectory(dir=work) as folder:
        database = Path(folder) / "warehouse.duckdb"
        shutil.copyfile(task["database"], database)
        if competitor in DBT:
            return measure.dbt_run(database, competitor=competitor, threads=2)
        if competitor in OTHERS:
            return other(database, competitor, work)
        with duckdb.connect() as warm:  # imports and first use are paid outside the measurement
            warm.execute(f"create table source as select id, seq, seq as version, {VALUES} from {nothing()}")
            product(warm, job).run(REPLACE if "REPLACE" in job else SNAPSHOT, sql=model(job))
        with databases.connect(database) as con:
            clock = measure.Clock()
            if competitor in BARE:
                con.execute(BARE[competitor]).fetchall()
                return clock.read() | {"rss_mb": measure.peak_mb()}
            if competitor in BY_HAND:
                run_by_hand(con, BY_HAND[competitor])
            else:
                clock = run_product(con, job, competitor)
            con.execute("checkpoint")
            figures = clock.read() | {"rss_mb": measure.peak_mb()}
            bounds = '"__START_AT", "__END_AT"' if competitor.startswith("auto") else "start_at, end_at"
            columns = f"id, {VALUES}, {'seq' if 'REPLACE' in job else bounds}"
            return figures | {"digest": databases.digest(con, "target", columns=columns)}


def nothing() -> str:
    values = ", ".join(f"cast(null as {kind}) as {name}" for name, kind in COLUMNS.items())
    return f"(select cast(null as bigint) as id, cast(null as bigint) as seq, {values} limit 0)"


# ---- SQLMesh and dlt


def environment(work: Path, competitor: str) -> Path:
    """The Python of an environment that holds the peer alone."""
    name = competitor.split(maxsplit=1)[0].lower()
    python = work / f"environment_{name}" / "bin" / "python"
    if not python.exists():
        venv.create(python.parents[1], with_pip=True)
        pinned = [
            line for line in (HERE / "peers-requirements.txt").read_text().split() if line.startswith(name)
        ]
        subprocess.run([python, "-m", "pip", "install", "--quiet", *pinned], check=True)
    return python


def other(database: Path, competitor: str, work: Path) -> dict[str, object]:
    """Run a peer on a database, in a process of its own, which measures itself less its imports."""
    script = HERE / f"peer_{competitor.split(maxsplit=1)[0].lower()}.py"
    command = [
        environment(work.resolve(), competitor),
        script,
        str(database.resolve()),
        json.dumps(list(COLUMNS)),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=database.parent)
    if done.returncode:
        raise RuntimeError(f"{competitor}:\n{done.stdout[-500:]}\n{done.stderr[-800:]}")
    return json.loads(done.stdout.splitlines()[-1])


# ---- tables


def bench(options: argparse.Namespace, work: Path) -> None:
    for job, (_, competitors) in JOBS.items():
        if options.only not in job:
            continue
        left_out = {"all": (), "dbt": OTHERS, "none": (*DBT, *OTHERS)}[options.peers]
        chosen = [one for one in competitors if one not in left_out]
        figures: dict[str, list[dict[str, object]]] = {one: [] for one in chosen}
        for number in range(options.rounds):
            shift = number % len(chosen)
            for competitor in chosen[shift:] + chosen[:shift]:
                try:
                    database = built(work, job, competitor, options.rows)
                    task = {
                        "job": job,
                        "competitor": competitor,
                        "database": str(database),
                        "work": str(work),
                    }
                    command = [sys.executable, __file__, "--measure", json.dumps(task)]
                    done = subprocess.run(command, capture_output=True, text=True, check=True)
                    figures[competitor].append(json.loads(done.stdout.splitlines()[-1]))
                except (subprocess.CalledProcessError, RuntimeError) as failed:
                    said = getattr(failed, "stderr", None) or str(failed)
                    print(f"{job}, {competitor}: failed: {said[-600:]}", file=sys.stderr, flush=True)
        print(table(job, figures), flush=True)


def table(job: str, figures: dict[str, list[dict[str, object]]]) -> str:
    over = statistics.median(float(str(one["cpu"])) for one in next(iter(figures.values())))
    digests = {str(one["digest"]) for found in figures.values() for one in found if "digest" in one}
    lines = [
        f"### {job}{'' if len(digests) == 1 else ' **different results**'}",
        "",
        "| competitor | CPU s | min - max | / first | wall s | peak MB | n |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, found in figures.items():
        if not found:
            lines.append(f"| {name} | failed | | | | | 0 |")
            continue
        cpu = sorted(float(str(one["cpu"])) for one in found)
        wall = statistics.median(float(str(one["wall"])) for one in found)
        peak = max(int(str(one.get("rss_mb", 0))) for one in found)
        middle = statistics.median(cpu)
        lines.append(
            f"| {name} | {middle:.3f} | {cpu[0]:.3f} - {cpu[-1]:.3f} | {middle / over:.2f} | {wall:.2f} | {peak or ''} | {len(cpu)} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="jobs whose name contains this text")
    parser.add_argument(
        "--peers", choices=["all", "dbt", "none"], default="all", help="what runs beside SQL by hand"
    )
    parser.add_argument("--work", type=Path, help="keep databases here; default: a temporary folder")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measured(json.loads(options.measure))))
        return
    with tempfile.TemporaryDirectory() as temporary:
        work = options.work or Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        began = time.perf_counter()
        bench(options, work)
        print(f"{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
