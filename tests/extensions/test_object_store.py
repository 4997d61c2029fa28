"""Snapshots from an object store: listed, read as CSV and as parquet, over the network of this machine."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from dbt_auto_cdc.sources import list_files
from tests.dbt_project import Project
from tests.extensions.services import BUCKET, ObjectStore, write_profile

pytestmark = pytest.mark.dbt

HISTORY = "select id, city, __START_AT, __END_AT from users order by id, __START_AT"
ODD = "dumps/it's 100% ünïcode [1] .csv"


def listed(store: ObjectStore, extensions: str, path: str, columns: str = "path") -> list[tuple[object, ...]]:
    """Return the files under a path of the bucket, and forget what was asked before."""
    listing = list_files(path=f"s3://{BUCKET}/{path}", adapter_type="duckdb", model="users")
    secret = ", ".join(f"{name} '{value}'" for name, value in store.secret.items())
    with duckdb.connect(config={"extension_directory": extensions}) as connection:
        connection.execute(f"load httpfs; create secret ({secret})")
        store.requests.clear()
        return connection.execute(f"select {columns} from {listing} as files order by all").fetchall()


@pytest.fixture
def filled(object_store: ObjectStore) -> ObjectStore:
    """Give an object store with a few objects."""
    for key in (
        "dumps/users_1.csv",
        "dumps/users_2.csv",
        ODD,
        "dumps/old/users_0.csv",
        "dumps2/a.csv",
        "one.csv",
    ):
        object_store.put(key, "id\n1\n")
    return object_store


@pytest.mark.parametrize(
    ("path", "keys"),
    [
        ("dumps", [ODD, "dumps/users_1.csv", "dumps/users_2.csv"]),
        ("dumps/", [ODD, "dumps/users_1.csv", "dumps/users_2.csv"]),
        ("dumps/users_*.csv", ["dumps/users_1.csv", "dumps/users_2.csv"]),
        ("dumps/**/users_*.csv", ["dumps/old/users_0.csv", "dumps/users_1.csv", "dumps/users_2.csv"]),
        ("one.csv", ["one.csv"]),
        ("", ["one.csv"]),
        ("nothing", []),
        ("nothing.csv", []),
        ("nothing/*.csv", []),
    ],
)
def test_listings(filled: ObjectStore, extension_directory: str, path: str, keys: list[str]) -> None:
    """As on a disk: a folder with and without slash, patterns, one object; nothing is no rows and no error."""
    expected = [(f"s3://{BUCKET}/{key}",) for key in keys]
    assert expected == listed(filled, extension_directory, path)


def test_a_listing_asks_for_no_object(filled: ObjectStore, extension_directory: str) -> None:
    """Whichever columns are wanted, the store is asked for lists and never for one of the objects."""
    for number in range(60):
        filled.put(f"many/{number:02}.csv", "id\n1\n")
    assert [("59.csv", 60)] == listed(filled, extension_directory, "many", "max(name), count(*)")
    found = listed(
        filled, extension_directory, "many/*", "max(path), max(size), max(modification_time) is null"
    )
    assert [(f"s3://{BUCKET}/many/59.csv", 5, False)] == found
    assert all(request.startswith(f"GET /{BUCKET}/?") for request in filled.requests), filled.requests
    assert 1 <= len(filled.requests) < 10


@pytest.fixture
def shop(project: Project, object_store: ObjectStore, extension_directory: str) -> Project:
    """Give a project whose profile has the object store."""
    write_profile(project, extension_directory, extensions=["httpfs"], secrets=[object_store.secret])
    return project


def test_csv_files_with_the_version_in_their_names(shop: Project, object_store: ObjectStore) -> None:
    """Two that wait, one more, and one that comes late."""
    shop.write(
        "models/users.sql",
        f"""
        {{{{ config(
            materialized='auto_cdc_snapshot', keys=['id'], stored_as_scd_type=2, except_column_list=['filename'],
            snapshot_version="cast(regexp_extract(filename, 'users_([0-9]+)', 1) as integer)",
        ) }}}}
        select * from read_csv('s3://{BUCKET}/dumps/users_*.csv', filename=true)
        """,
    )
    object_store.put("dumps/users_1.csv", "id,city\n1,Oslo\n2,Rome\n")
    object_store.put("dumps/users_2.csv", "id,city\n1,Kiel\n2,Rome\n")
    shop.succeed("run")
    expected = [(1, "Oslo", 1, 2), (1, "Kiel", 2, None), (2, "Rome", 1, None)]
    assert expected == shop.query(HISTORY)
    object_store.put("dumps/users_3.csv", "id,city\n1,Kiel\n")
    object_store.put("dumps/users_0.csv", "id,city\n9,late\n")
    shop.succeed("run")
    assert [*expected[:2], (2, "Rome", 1, 3)] == shop.query(HISTORY)
    assert 3 == shop.responses["users"]["num_skipped_versions"]


def test_parquet_files_and_only_those_that_are_new(
    shop: Project, object_store: ObjectStore, tmp_path: Path
) -> None:
    """The listing says which file is the newest; a model that reads that one alone has whole snapshots."""
    shop.write(
        "models/users.sql",
        f"""
        {{{{ config(
            materialized='auto_cdc_snapshot', keys=['id'], snapshot_version='dumped', stored_as_scd_type=2,
        ) }}}}
        select id, city, cast(regexp_extract(filename, '([0-9-]+)[.]parquet', 1) as date) as dumped
        from read_parquet('s3://{BUCKET}/stock/*.parquet', filename=true)
        where filename = (select max(path) from {{{{ auto_cdc.list_files('s3://{BUCKET}/stock') }}}} as files)
        """,
    )
    with duckdb.connect() as connection:
        for day, city in (("2026-03-01", "Oslo"), ("2026-03-02", "Kiel")):
            file = tmp_path / f"{day}.parquet"
            connection.execute(f"copy (select 1 as id, '{city}' as city) to '{file}'")
            object_store.put(f"stock/{day}.parquet", file.read_bytes())
            shop.succeed("run")
    found = shop.query("select city, __START_AT::varchar, __END_AT::varchar from users order by 2")
    assert [("Oslo", "2026-03-01", "2026-03-02"), ("Kiel", "2026-03-02", None)] == found
