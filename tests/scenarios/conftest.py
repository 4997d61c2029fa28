"""Fixtures of the scenarios."""

from __future__ import annotations

import pytest

from tests.changing import Changing, MakeChanging
from tests.databases import Connection, tables_of


@pytest.fixture
def changing(connection: Connection) -> MakeChanging:
    """Return what makes a new target, where there is nothing beside it."""

    def make() -> Changing:
        for table in tables_of(connection):
            connection.execute(f'drop table "{table}"')
        return Changing(connection)

    return make
