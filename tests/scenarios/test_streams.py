"""Streams step by step, straight on the engine: what a run reads, remembers and refuses.

Not here: random streams (`properties/test_streams`), kills (`reliability`), and dbt (`dbt/test_streams`).
"""

from __future__ import annotations

from typing import Any

import pytest

from dbt_auto_cdc.errors import AutoCdcError
from tests.databases import Connection, create_table
from tests.direct import Direct
from tests.stream_sql import stream

KEYED = {"keys": ["id"], "sequence_by": "n"}
FEED = {"id": "INTEGER", "n": "BIGINT"}


def add(connection: Connection, *rows: tuple[Any, ...], feed: str = "feed") -> None:
    for row in rows:
        connection.execute(f"insert into {feed} values ({', '.join('?' for _ in row)})", list(row))


def make(connection: Connection, *rows: tuple[Any, ...], feed: str = "feed", **types: str) -> None:
    """Make a feed of these rows."""
    create_table(connection, feed, types or FEED, [])
    add(connection, *rows, feed=feed)


def select(relation: object = "feed", **options: Any) -> str:
    return f"select * from {stream(relation, **options)} as s"


def run(target: Direct, sql: str, config: dict[str, Any] = KEYED, **how: Any) -> int:
    """Run once, and return how many rows were read."""
    return target.run(config, sql=sql, **how).measures["num_read_rows"]


def refused(target: Direct, sql: str, config: dict[str, Any] = KEYED, **how: Any) -> str:
    with pytest.raises(AutoCdcError) as error:
        target.run(config, sql=sql, **how)
    return str(error.value)


def ids(target: Direct) -> list[Any]:
    return sorted(row["id"] for row in target.rows())


def test_each_run_reads_what_is_new(connection: Connection) -> None:
    """The first run reads everything, later ones what came since, a run that finds nothing new nothing."""
    make(connection, (1, 1), (2, 2))
    target = Direct(connection)
    assert 2 == run(target, select(offset="n"))
    assert 0 == run(target, select(offset="n"))
    add(connection, (3, 3), (4, 5))
    assert 2 == run(target, select(offset="n"))
    add(connection, (5, 4))
    assert 0 == run(target, select(offset="n")), "what appears at or below the position is not read"
    assert [1, 2, 3, 4] == ids(target)
    assert 5 == run(target, select(offset="n"), full_refresh=True)
    assert [1, 2, 3, 4, 5] == ids(target)
    assert 0 == run(target, select(offset="n"))


def test_what_the_model_drops_was_seen(connection: Connection) -> None:
    """The position is the greatest offset in the source, whatever the model's WHERE lets through."""
    make(connection, (1, 1), (2, 2))
    target, sql = Direct(connection), select(offset="n") + " where id < 2"
    assert 1 == run(target, sql)
    assert 0 == run(target, select(offset="n"))
