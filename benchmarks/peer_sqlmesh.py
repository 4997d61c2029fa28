"""SQLMesh's SCD_TYPE_2_BY_COLUMN over the table `source` of the same database: run by the Python of its own environment.

    python peer_sqlmesh.py DATABASE '["column", ...]'

Prints one JSON line. The first call makes the project and its plan, the next ones run it a day later; the CPU seconds are those of the plan or
the run, after imports and loading.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path

import duckdb
from sqlmesh import Context
from sqlmesh.core.config import Config, DuckDBConnectionConfig, GatewayConfig, ModelDefaultsConfig

DATABASE, COLUMNS = Path(sys.argv[1]), json.loads(sys.argv[2])
MODEL = """MODEL (
    name bench.target,
    kind SCD_TYPE_2_BY_COLUMN (unique_key id, columns [{columns}], invalidate_hard_deletes true),
    cron '@daily', start '2026-01-01', columns (id bigint, {typed})
);
select id, {columns} from main.source
"""


def main() -> None:
    with duckdb.connect(str(DATABASE)) as con:
        types = {name: kind for name, kind, *_ in con.execute("describe source").fetchall()}
        known = con.execute(
            "select 1 from duckdb_schemas() where schema_name = 'bench' and not internal"
        ).fetchall()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "models").mkdir()
        typed = ", ".join(f"{name} {types[name]}" for name in COLUMNS)
        text = MODEL.format(columns=", ".join(COLUMNS), typed=typed)
        (Path(folder) / "models/target.sql").write_text(text, encoding="utf-8")
        gateway = GatewayConfig(connection=DuckDBConnectionConfig(database=str(DATABASE)))
        defaults = ModelDefaultsConfig(dialect="duckdb")
        context = Context(paths=folder, config=Config(gateways={"": gateway}, model_defaults=defaults))
        cpu, wall = time.process_time(), time.perf_counter()
        if known:
            later = datetime.now(timezone.utc) + timedelta(days=1)
            context.run(ignore_cron=True, execution_time=later, end=later)
        else:
            context.plan(auto_apply=True, no_prompts=True)
        figures = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
        ((figures["rows"],),) = context.fetchdf("select count(*) as n from bench.target").to_numpy().tolist()
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
