"""Fixtures that every folder of tests may use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from tests.dbt_project import Project

ROOT = Path(__file__).resolve().parents[1]

# Shared machines stall now and then: a slow example is no failure. CI draws the same examples each time, so that red
# means changed; everybody else, and the nightly run, draws new ones.
settings.register_profile("patient", deadline=None, print_blob=True, derandomize="CI" in os.environ)
settings.load_profile("patient")

# For dbt in this process and for the commands that tests start.
os.environ["DBT_SEND_ANONYMOUS_USAGE_STATS"] = "false"
for name in [name for name in os.environ if name.startswith("AUTO_CDC_")]:
    del os.environ[name]


@pytest.fixture(scope="session")
def root() -> Path:
    """Return the repository's root."""
    return ROOT


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """Give a stranger's dbt project on a DuckDB file of its own."""
    from tests.dbt_project import Project

    project = Project(tmp_path)
    yield project
    project.close()
