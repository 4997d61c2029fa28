"""dlt's scd2 merge of the table `source` into the same database: run by the Python of its own environment.

    python peer_dlt.py DATABASE '["column", ...]'

Prints one JSON line. The row's version is a digest of its values, as dlt's documentation advises for data that comes as arrow tables; the CPU
seconds are those of the run alone, after imports.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import dlt
import duckdb

DATABASE, COLUMNS = Path(sys.argv[1]), json.loads(sys.argv[2])


def rows() -> Iterator[object]:
    """The source as arrow batches, read before dlt opens the database."""
    values = ", ".join(f"coalesce(cast({name} as varchar), '-')" for name in COLUMNS)
    with duckdb.connect(str(DATABASE), read_only=True) as con:
        yield con.execute(
            f"select id, {', '.join(COLUMNS)}, md5(concat_ws('|', id, {values})) as row_version from source"
        ).to_arrow_table()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        pipeline = dlt.pipeline(
            "bench",
            pipelines_dir=folder,
            destination=dlt.destinations.duckdb(str(DATABASE)),
            dataset_name="dlt",
        )
        cpu, wall = time.process_time(), time.perf_counter()
        resource = dlt.resource(
            rows,
            name="target",
            write_disposition={
                "disposition": "merge",
                "strategy": "scd2",
                "row_version_column_name": "row_version",
            },
        )
        pipeline.run(resource())
        figures = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
    with duckdb.connect(str(DATABASE)) as con:
        ((figures["rows"],),) = con.execute("select count(*) from dlt.target").fetchall()
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
