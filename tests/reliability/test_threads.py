"""Many models at once in one dbt run: they share a connection's catalog, and nothing else.

Not here: what a single model does with its events.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests import databases
from tests.dbt_project import Project
from tests.strategies import streams
from tests.watched import Modelled, drawn, run_dbt

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.dbt

MODELS = 40
RUNS = 3


@pytest.fixture
def threaded(tmp_path: Path, engine: str) -> Iterator[Project]:
    with databases.server_schema(engine) as schema:
        project = Project(tmp_path, threads=4, schema=schema)
        yield project
        project.close()


def test_models_side_by_side(threaded: Project) -> None:
    """Four threads and forty models, first run and later ones: every table and every figure is right.

    The first models to start make the event log side by side; each run of each model has one row there.
    """
    models = [
        Modelled(f"model_{number}", stream, rereads=number % 2 == 1)
        for number, stream in enumerate(drawn(40, MODELS, streams(with_truncates=True, max_runs=RUNS)))
    ]
    for model in models:
        threaded.write(f"models/{model.name}.sql", model.sql)
    for index in range(RUNS):
        run_dbt(threaded, models, index)
    assert 4 == len(threads_of(threaded))
    logged = "select run_id, model from auto_cdc_event_log where status = 'success'"
    rows = threaded.query(logged)
    run_ids, names = (len(set(column)) for column in zip(*rows, strict=True))
    assert (RUNS * MODELS, RUNS, MODELS) == (len(set(rows)), run_ids, names)
    assert len(rows) == len(set(rows))


def threads_of(project: Project) -> set[str]:
    """Return the threads that took part in the last run."""
    results = json.loads(project.read("target/run_results.json"))["results"]
    return {result["thread_id"] for result in results}
