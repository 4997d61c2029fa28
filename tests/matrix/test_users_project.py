"""A user's project from `pip install` to the second `dbt build`, by the dbt command itself.

`make test-matrix` repeats this in fresh environments, one for each minor of dbt-core, with the built wheel.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

pytestmark = [pytest.mark.matrix, pytest.mark.dbt]

DBT = Path(sys.executable).parent / "dbt"
HEADER = "customer_id,city,operation,changed_at\n"
FIRST = "1,Oslo,UPSERT,10\n2,Rome,UPSERT,10\n3,Kiel,UPSERT,10\n1,Bergen,UPSERT,30\n"
# Customer 1's move to Paris comes late: it belongs between two rows that are there already.
SECOND = "1,Paris,UPSERT,20\n2,Milan,UPSERT,40\n3,,DELETE,50\n"
FILES = {
    "seeds/customer_changes.csv": HEADER + FIRST,
    "dbt_project.yml": "name: shop\nprofile: shop\nflags: {send_anonymous_usage_stats: false}\n",
    "profiles.yml": "shop: {target: dev, outputs: {dev: {type: duckdb, path: warehouse.duckdb}}}\n",
    "models/customers.sql": """{{ config(
    materialized='auto_cdc',
    keys=['customer_id'],
    sequence_by='changed_at',
    apply_as_deletes="operation = 'DELETE'",
) }}
select customer_id, city, operation, changed_at from {{ ref('customer_changes') }}
""",
    "models/customers_history.sql": "select * from {{ ref('customer_changes') }}\n",
    "models/_models.yml": """
models:
  - name: customers_history
    config:
      materialized: auto_cdc
      keys: [customer_id]
      sequence_by: changed_at
      stored_as_scd_type: 2
      apply_as_deletes: operation = 'DELETE'
      except_column_list: [operation, changed_at]
""",
}


def dbt(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(DBT), "--no-use-colors", *arguments, "--profiles-dir", "."]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)


def build(root: Path, changes: str) -> str:
    (root / "seeds/customer_changes.csv").write_text(HEADER + changes)
    done = dbt(root, "build")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def rows(root: Path, query: str) -> list[tuple[object, ...]]:
    with duckdb.connect(str(root / "warehouse.duckdb"), read_only=True) as connection:
        return connection.execute(query).fetchall()


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    return tmp_path


def test_a_late_event_finds_its_place(shop: Path) -> None:
    """Two builds give the current rows (type 1) and the history (type 2), the late event sorted in."""
    current = "select customer_id, city, changed_at from customers order by 1"
    history = "select customer_id, city, __START_AT, __END_AT from customers_history order by 1, 3"
    build(shop, FIRST)
    assert [(1, "Bergen", 30), (2, "Rome", 10), (3, "Kiel", 10)] == rows(shop, current)
    expected = [(1, "Oslo", 10, 30), (1, "Bergen", 30, None), (2, "Rome", 10, None), (3, "Kiel", 10, None)]
    assert expected == rows(shop, history)

    build(shop, SECOND)
    assert [(1, "Bergen", 30), (2, "Milan", 40)] == rows(shop, current)
    expected = [
        (1, "Oslo", 10, 20),
        (1, "Paris", 20, 30),
        (1, "Bergen", 30, None),
        (2, "Rome", 10, 40),
        (2, "Milan", 40, None),
        (3, "Kiel", 10, 50),
    ]
    assert expected == rows(shop, history)


def test_a_misspelt_option_is_refused_before_any_sql(shop: Path) -> None:
    """The command ends with the model's name, its file and the option meant."""
    file = shop / "models/customers.sql"
    file.write_text(file.read_text().replace("sequence_by", "sequnce_by"))
    done = dbt(shop, "run")
    assert done.returncode == 2
    assert "auto_cdc: model customers (models/customers.sql):" in done.stdout
    assert "sequence_by" in done.stdout
    assert not (shop / "warehouse.duckdb").exists()
