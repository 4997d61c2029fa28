"""Fixtures that every folder of tests may use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests import databases

if TYPE_CHECKING:
    from tests.databases import Connection
    from tests.dbt_project import Project

ROOT = Path(__file__).resolve().parents[1]

# Shared machines stall now and then: a slow example is no failure. CI draws the same examples each time, so that red
# means changed; everybody else, and the nightly run, draws new ones.
settings.register_profile("patient", deadline=None, print_blob=True, derandomize="CI" in os.environ)
settings.load_profile("patient")

# For dbt in this process and for the commands that tests start.
os.environ["DBT_SEND_ANONYMOUS_USAGE_STATS"] = "false"
kept = {*databases.POSTGRES, *databases.SPARK, *databases.DUCKLAKE}
for name in [name for name in os.environ if name.startswith("AUTO_CDC_") and name not in kept]:
    del os.environ[name]


# What tests are marked with that are about something which some engines have not, or refuse.
LACKING = {
    "altering": ({"sail"}, "columns that come and go, and no table is altered"),
    "composite": ({"ducklake", "sail"}, "lists as sequences, which are refused"),
    "dumps_beside_changes": (databases.SPARKS, "whole dumps beside changes, which are refused"),
    "fed": (databases.SPARKS, "change feeds, which are refused"),
    "indexed": ({"ducklake", *databases.SPARKS}, "indexes, and tables have none"),
    "rare_types": ({"ducklake"}, "columns of types that are refused"),
    "transactional": (databases.SPARKS, "transactions, and statements of their own for places of rows"),
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--engine", choices=[*databases.ENGINES], default="duckdb", help="the engine of tests that run on any"
    )


def pytest_configure(config: pytest.Config) -> None:
    databases.choose(str(config.getoption("--engine")))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what is about another engine, or about what the engine has not."""
    engine = databases.chosen()
    # DuckLake is DuckDB with other tables; Sail is another engine than Spark, whose language it speaks.
    here = {engine, "duckdb"} if databases.speaks() == "duckdb" else {engine}
    for item in items:
        about = item.get_closest_marker("only_on")
        if about and not here & set(about.args):
            item.add_marker(pytest.mark.skip(reason=f"about {' and '.join(about.args)}"))
        for name, (engines, what) in LACKING.items():
            if engine in engines and item.get_closest_marker(name):
                item.add_marker(pytest.mark.skip(reason=f"about {what}"))


@pytest.fixture(scope="session")
def engine() -> str:
    """Return the adapter type of the engine that tests run on."""
    return databases.chosen()


@pytest.fixture
def connection(engine: str) -> Iterator[Connection]:
    """Give a connection to an empty place of the engine."""
    with databases.connect(engine) as connection:
        yield connection


@pytest.fixture(scope="session")
def root() -> Path:
    """Return the repository's root."""
    return ROOT


@pytest.fixture
def project(tmp_path: Path, engine: str) -> Iterator[Project]:
    """Give a stranger's dbt project on a DuckDB file, or in a schema of a server, of its own."""
    from tests.dbt_project import Project

    with databases.server_schema(engine) as schema:
        project = Project(tmp_path, schema=schema)
        yield project
        project.close()
