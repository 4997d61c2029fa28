"""Fixtures of what is tried on an engine itself."""

from __future__ import annotations

import pytest

from tests import databases
from tests.databases import Connection


@pytest.fixture
def connection(connection: Connection) -> Connection:
    """Return a connection to an empty place that takes the engine's own SQL."""
    return databases.plain(connection)
