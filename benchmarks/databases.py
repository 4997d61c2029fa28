"""The on-disk databases that measurements start from: what each competitor's earlier runs have left, and the feed of the run to come.

Not here: the timed run. A database is built once per competitor family and size, and copied for every measurement.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb
import limits
import peers
import product
from check import apply
from limits import VALUES

BASE = "(select id, 'I' as op, seq, * exclude (id, seq) from read_parquet('{folder}/base.parquet'))"
EMPTY = {
    1: "create table state (id bigint, seq bigint, deleted boolean)",
    2: "create table hidden (id bigint, seq bigint, kind varchar)",
}
APPLY = {1: "scd1_clean_target", 2: "scd2_update_ends"}


def connect(database: Path, *, threads: int = 2) -> duckdb.DuckDBPyConnection:
    return duckdb.connect(str(database), config={"threads": threads})


def batches_after_one(database: Path, folder: Path, *, family: str, scd_type: int) -> None:
    """The base rows and batch 1 are in; `feed` holds batch 2."""
    with connect(database) as con:
        base, first, second = (
            BASE.format(folder=folder),
            f"read_parquet('{folder}/batch_1.parquet')",
            f"read_parquet('{folder}/batch_2.parquet')",
        )
        if family == "limit":
            bounds = ", seq as start_at, cast(null as bigint) as end_at" if scd_type == 2 else ""
            con.execute(f"create table target as select id, {VALUES}{bounds} from {base}")
            con.execute(EMPTY[scd_type])
            if scd_type == 1:
                con.execute(f"insert into state select id, seq, false from {base}")
            con.execute(f"create temp table feed as from {first}")
            apply(con, limits.SHAPES[APPLY[scd_type]][1])
        elif family.startswith("product"):
            for events in (base, first):
                con.execute(f"create view feed as from {events}")
                product.apply(product.prepare(con, scd_type=scd_type, partial="partial" in family))
                con.execute("drop view feed")
        elif family == "incremental":
            con.execute(
                f"create table target as select id, {VALUES}, seq, op = 'D' as is_deleted"
                f" from (from {base} union all by name from {first}) qualify row_number() over (partition by id order by seq desc) = 1"
            )
        if family == "snapshot":
            _source(con, base, first)
        else:
            con.execute(f"create table feed as from {second}")
        con.execute("checkpoint")


def whole_feed(database: Path, folder: Path, *, family: str, scd_type: int, more: bool) -> None:
    """The feed was applied once; `feed` holds it again, with or without new events at its end."""
    with connect(database) as con:
        con.execute(f"create table feed as from read_parquet('{folder}/feed.parquet')")
        if family.startswith("product"):
            product.apply(product.prepare(con, scd_type=scd_type, partial="partial" in family))
        else:
            for step in limits.BUILD[scd_type]:
                con.execute(step.sql)
        if more:
            con.execute(f"insert into feed from read_parquet('{folder}/more.parquet')")
        con.execute("checkpoint")


def snapshots_after_one(database: Path, folder: Path, *, competitor: str) -> None:
    """A dbt snapshot of the source after batch 1; `source` holds the source after batch 2."""
    batches_after_one(database, folder, family="snapshot", scd_type=2)
    with tempfile.TemporaryDirectory() as project:
        peers.write_project(Path(project), competitor=competitor, database=database, threads=2)
        command = [
            sys.executable,
            "-c",
            "from dbt.cli.main import cli; cli()",
            "--quiet",
            "snapshot",
            "--project-dir",
            project,
            "--profiles-dir",
            project,
        ]
        subprocess.run(command, check=True, cwd=project)
    with connect(database) as con:
        _source(
            con,
            BASE.format(folder=folder),
            f"read_parquet(['{folder}/batch_1.parquet', '{folder}/batch_2.parquet'])",
        )
        con.execute("checkpoint")


def _source(con: duckdb.DuckDBPyConnection, base: str, batches: str) -> None:
    con.execute(
        f"create or replace table source as select id, {VALUES}, timestamp '2025-01-01' + to_milliseconds(seq) as updated_at"
        f" from (from (from {base} union all by name from {batches}) qualify row_number() over (partition by id order by seq desc) = 1)"
        " where op <> 'D'"
    )


def digest(con: duckdb.DuckDBPyConnection, relation: str, *, columns: str) -> list[str]:
    """Rows and the sum of their hashes: equal for equal tables, in any order."""
    found = con.execute(f"select count(*), sum(hash({columns})::hugeint) from {relation}").fetchone()
    return [str(value) for value in found]


def expected_digest(events: list[str], *, scd_type: int) -> list[str]:
    """The digest of the plain window query over all events."""
    bounds = ", start_at, end_at" if scd_type == 2 else ""
    with duckdb.connect(config={"threads": 2}) as con:
        con.execute(
            "create temp view feed as "
            + " union all by name ".join(f"from {relation}" for relation in events)
        )
        plain = limits.PLAIN_SCD1 if scd_type == 1 else limits.PLAIN_SCD2
        return digest(con, f"({plain})", columns=f"id, {VALUES}{bounds}")


def batch_events(folder: Path) -> list[str]:
    return [
        BASE.format(folder=folder),
        f"read_parquet('{folder}/batch_1.parquet')",
        f"read_parquet('{folder}/batch_2.parquet')",
    ]


def feed_events(folder: Path, *, more: bool) -> list[str]:
    return [
        f"read_parquet('{folder}/feed.parquet')",
        *([f"read_parquet('{folder}/more.parquet')"] if more else []),
    ]
