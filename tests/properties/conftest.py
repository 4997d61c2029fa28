"""Fixtures of the random streams."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests import databases
from tests.databases import Connection


@pytest.fixture(scope="module")
def connection(engine: str) -> Iterator[Connection]:
    """Give one connection to all the examples of a file: one for each would cost more than they do."""
    with databases.connect(engine) as connection:
        yield connection
