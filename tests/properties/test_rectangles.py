"""The data test for bitemporal tables finds exactly the versions that reach into an earlier one of their key.

That dbt runs it is tested in tests/dbt/test_data_tests.py.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbt_auto_cdc.rectangles import overlapping_rectangles
from tests.databases import Connection
from tests.watched import examples

Version = tuple[int | None, int | None, int | None, int | None, int | None]

# Compared in pairs, all by cells, and both.
QUERIES = [
    overlapping_rectangles(relation="versions", keys="version", in_pairs=in_pairs)
    for in_pairs in (1000, 0, 3)
]


@pytest.fixture(scope="module")
def warehouse(connection: Connection) -> Connection:
    """Return a table of versions whose key is called like a step of the query."""
    connection.execute(
        "create table versions as select 1 as version, 1 as __START_AT, 1 as __END_AT,"
        " 1 as __SYSTEM_START_AT, 1 as __SYSTEM_END_AT limit 0"
    )
    return connection


def in_order(version: Version) -> tuple[tuple[bool, int], ...]:
    """Return what versions are looked at by: null last, system start first."""
    key, start, end, system_start, system_end = version
    parts = (key, system_start, start, end, system_end)
    return tuple((part is None, part or 0) for part in parts)


def is_broken(version: Version) -> bool:
    _, start, end, system_start, system_end = version
    if start is None or system_start is None:
        return True
    return (end is not None and end <= start) or (system_end is not None and system_end <= system_start)


def meet(one: Version, other: Version) -> bool:
    """Tell whether two sound versions of a key overlap on both axes."""
    return one[0] == other[0] and all(
        (one[end] is None or other[start] < one[end]) and (other[end] is None or one[start] < other[end])  # type: ignore[operator]
        for start, end in ((1, 2), (3, 4))
    )


def expected(versions: list[Version]) -> list[Version]:
    """Return what is wrong, by comparing each with each."""
    sound = sorted((version for version in versions if not is_broken(version)), key=in_order)
    found = [one for place, one in enumerate(sound) if any(meet(one, earlier) for earlier in sound[:place])]
    return sorted([*found, *filter(is_broken, versions)], key=in_order)


def bounds(greatest: int) -> st.SearchStrategy[tuple[int | None, int | None]]:
    """Draw an interval, mostly sound, and now and then open."""
    sound = st.tuples(st.integers(0, greatest), st.integers(1, greatest)).map(
        lambda pair: (pair[0], sum(pair))
    )
    opened = st.integers(0, greatest).map(lambda start: (start, None))
    wild = st.tuples(st.none() | st.integers(0, 3), st.none() | st.integers(0, 3))
    return st.one_of(sound, sound, sound, opened, wild)


@given(data=st.data())
@settings(max_examples=examples(100, 3000))
def test_what_reaches_into_an_earlier_version_is_found(warehouse: Connection, data: st.DataObject) -> None:
    """Few versions over many bounds, or many over few: each and only those, null keys and repeats included."""
    greatest = data.draw(st.sampled_from([2, 6, 40]), label="greatest bound")
    version = st.tuples(st.sampled_from([1, 1, 2, None]), bounds(greatest), bounds(greatest)).map(
        lambda parts: (parts[0], *parts[1], *parts[2])
    )
    versions = data.draw(st.lists(version, max_size=12), label="versions")
    warehouse.execute("truncate versions")
    if versions:
        warehouse.executemany("insert into versions values (?, ?, ?, ?, ?)", versions)
    for query in QUERIES:
        assert expected(versions) == sorted(warehouse.execute(query).fetchall(), key=in_order)
