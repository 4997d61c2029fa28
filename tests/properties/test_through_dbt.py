"""Random streams through dbt itself: one project, a model for each stream, a run of dbt for each run of events.

Not here: what a single run does to rows and figures in detail; `test_auto_cdc` looks closer and at far more streams.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.strategies import streams
from tests.watched import Modelled, drawn, examples, run_dbt

if TYPE_CHECKING:
    from tests.dbt_project import Project

pytestmark = pytest.mark.dbt

RUNS = 4


def test_streams_through_dbt(project: Project) -> None:
    """dbt's runs, one after the other, leave the rows and report the figures that the reference model says."""
    models = [
        Modelled(f"seed_{number}_{place}", stream, rereads=place % 2 == 1)
        for number in range(examples(5, 20))
        for place, stream in enumerate(drawn(number, 4, streams(with_truncates=True, max_runs=RUNS)))
    ]
    for model in models:
        project.write(f"models/{model.name}.sql", model.sql)
    for index in range(RUNS):
        run_dbt(project, models, index)
