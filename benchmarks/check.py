"""Every shape of `limits.py` against the plain window query over all events so far.

    python benchmarks/check.py [--streams 150] [SHAPE ...]

Random streams (few keys, two values, many late events and replays, any cut into runs), then three batches of the benchmark's workload.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from pathlib import Path

import duckdb
import limits
import workload
from limits import BUILD, COMPANION, SHAPES


def apply(con: duckdb.DuckDBPyConnection, statements: list[limits.Statement]) -> None:
    """Run one shape in one transaction and drop its temporary tables."""
    con.execute("begin")
    for step in statements:
        result = con.execute(step.sql)
        if step.is_check and any(result.fetchone()):
            con.execute("rollback")
            raise ValueError(step.name)
    con.execute("commit")
    drop_temporary(con)


def drop_temporary(con: duckdb.DuckDBPyConnection) -> None:
    for (name,) in con.execute("select table_name from duckdb_tables() where temporary").fetchall():
        con.execute(f'drop table temp.main."{name}"')


def differences(con: duckdb.DuckDBPyConnection, scd_type: int) -> dict[str, int]:
    """Rows that the tables and a rebuild from the view `feed` do not share; the tables stay as they are."""
    tables = ["target", COMPANION[scd_type]]
    for table in tables:
        con.execute(f"alter table {table} rename to got_{table}")
    for step in BUILD[scd_type]:
        con.execute(step.sql)
    found = {}
    for table in tables:
        found[table] = con.execute(
            f"select count(*) from ((from got_{table} except all from {table}) union all (from {table} except all from got_{table}))"
        ).fetchone()[0]
        con.execute(f"drop table {table}")
        con.execute(f"alter table got_{table} rename to {table}")
    return found


def random_stream(shape: str, seed: int) -> None:
    rnd = random.Random(seed)
    scd_type, statements = SHAPES[shape]
    events = [
        (key, "D" if rnd.random() < 0.25 else "U", seq, rnd.randint(0, 1))
        for key in range(3)
        for seq in rnd.sample(range(1, 25), rnd.randint(1, 12))
    ]
    delivered = events + rnd.choices(events, k=len(events) // 3)
    rnd.shuffle(delivered)
    runs = rnd.randint(1, 6)
    values = ", ".join(
        f"case when op <> 'D' then cast({'make_timestamp(v)' if kind == 'timestamp' else 'v'} as {kind}) end as {name}"
        for name, kind in workload.COLUMNS.items()
    )
    con = duckdb.connect(config={"threads": 1})
    con.execute("create table event_log (id bigint, op varchar, seq bigint, v bigint, run integer)")
    con.executemany(
        "insert into event_log values (?, ?, ?, ?, ?)", [(*event, rnd.randrange(runs)) for event in delivered]
    )

    def feed(condition: str) -> None:
        con.execute(
            f"create or replace temp table feed as select id, op, seq, {values} from event_log where {condition}"
        )

    feed("false")
    for step in BUILD[scd_type]:
        con.execute(step.sql)
    for run in range(runs):
        feed(f"run = {run}" if rnd.random() < 0.7 else f"run <= {run}")
        apply(con, statements)
        feed(f"run <= {run}")
        found = differences(con, scd_type)
        assert not any(found.values()), f"{shape}: stream {seed}, run {run}: {found}"
    con.close()


def refusals(shape: str) -> None:
    """A null key, a null sequence and a tie are refused; equal copies are not."""
    values = ", ".join(f"cast(null as {kind}) as {name}" for name, kind in workload.COLUMNS.items())
    bad = {
        "null key": "(null, 'U', 5)",
        "null sequence": "(1, 'U', null)",
        "tie": "(1, 'U', 5), (1, 'D', 5)",
        "": "(1, 'U', 5), (1, 'U', 5)",
    }
    for problem, events in bad.items():
        con = duckdb.connect()
        con.execute(
            f"create temp table feed as select id, op, seq::bigint as seq, {values} from (values {events}) event(id, op, seq) limit 0"
        )
        for step in BUILD[SHAPES[shape][0]]:
            con.execute(step.sql)
        con.execute(
            f"insert into feed select id, op, seq, {values} from (values {events}) event(id, op, seq)"
        )
        try:
            apply(con, SHAPES[shape][1])
        except ValueError:
            assert problem, f"{shape} refuses equal copies"
        else:
            assert not problem, f"{shape} lets through: {problem}"
        con.close()


def batches(shape: str, folder: Path, *, count: int) -> None:
    scd_type, statements = SHAPES[shape]
    con = duckdb.connect(config={"threads": 2})
    history = f"select id, 'I' as op, seq, * exclude (id, seq) from read_parquet('{folder}/base.parquet')"
    for number in range(count + 1):
        if number:
            con.execute(f"create temp table feed as from read_parquet('{folder}/batch_{number}.parquet')")
            apply(con, statements)
            history += f" union all by name from read_parquet('{folder}/batch_{number}.parquet')"
        con.execute(f"create temp view feed as {history}")
        if number:
            found = differences(con, scd_type)
            assert not any(found.values()), f"{shape}: batch {number}: {found}"
        else:
            for step in BUILD[scd_type]:
                con.execute(step.sql)
        con.execute("drop view feed")
    con.close()


def main() -> None:
    shapes = [name for name in SHAPES if "plain" not in name]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("shapes", nargs="*", default=shapes)
    parser.add_argument("--streams", type=int, default=150)
    parser.add_argument("--rows", type=int, default=200_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        workload.write_batches(Path(folder), rows=options.rows, keys=options.rows // 20, batches=4)
        for shape in options.shapes:
            for seed in range(options.streams):
                random_stream(shape, seed)
            refusals(shape)
            batches(shape, Path(folder), count=4)
            print(
                f"{shape}: {options.streams} random streams and 4 batches of {options.rows} rows as the plain window query",
                flush=True,
            )


if __name__ == "__main__":
    main()
