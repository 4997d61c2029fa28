"""`read_files` from an object store and over http, on this machine's network, and of Avro files."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import duckdb
import pytest

from dbt_auto_cdc.errors import AutoCdcError
from tests.dbt_project import Project
from tests.direct import Direct
from tests.extensions.services import BUCKET, ObjectStore, write_profile
from tests.file_reads import read_files

APPENDS = {"materialized": "append_flow"}


def lines(*rows: dict[str, object]) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


@pytest.fixture
def target(object_store: ObjectStore, extension_directory: str) -> Iterator[Direct]:
    """Give a target in a database that has the object store."""
    secret = ", ".join(f"{name} '{value}'" for name, value in object_store.secret.items())
    with duckdb.connect(config={"extension_directory": extension_directory}) as connection:
        connection.execute(f"load httpfs; create secret ({secret})")
        yield Direct(connection)


def test_objects_are_read_once(target: Direct, object_store: ObjectStore) -> None:
    """Also where they are overwritten; a run that finds nothing new asks for lists and for no object."""
    sql = f"select * from {read_files(f's3://{BUCKET}/landing/*.json', metadata=True)} as files"
    sql = sql.replace("select *", "select id, city, _metadata.file_name as name, _metadata.file_size as size")
    object_store.put("landing/odd [1] ünï.json", lines({"id": 1, "city": "Oslo"}))
    target.run(APPENDS, sql=sql)
    object_store.put("landing/b.json", lines({"id": 2, "city": "Rome"}, {"id": 3}))
    object_store.put("landing/odd [1] ünï.json", lines({"id": 9}))
    target.run(APPENDS, sql=sql)
    rows = target.connection.execute("select id, city, name from target order by id").fetchall()
    assert [(1, "Oslo", "odd [1] ünï.json"), (2, "Rome", "b.json"), (3, None, "b.json")] == rows
    for number in range(60):
        object_store.put(f"landing/many_{number:02}.json", lines({"id": 100 + number}))
    target.run(APPENDS, sql=sql)
    object_store.requests.clear()
    target.run(APPENDS, sql=sql)
    assert [(63,)] == target.connection.execute("select count(*) from target").fetchall()
    assert all(request.startswith(f"GET /{BUCKET}/?") for request in object_store.requests)
    assert 1 <= len(object_store.requests) < 10


def test_overwritten_objects_are_read_again(target: Direct, object_store: ObjectStore) -> None:
    """Where that is allowed, as of files on a disk."""
    config = {"keys": ["id"], "sequence_by": "n"}
    sql = f"select id, n from {read_files(f's3://{BUCKET}/landing/', format='json', allow_overwrites=True)} as files"
    object_store.put("landing/a.json", lines({"id": 1, "n": 1}))
    target.run(config, sql=sql)
    object_store.put("landing/a.json", lines({"id": 1, "n": 1}, {"id": 2, "n": 22}))
    assert 2 == target.run(config, sql=sql).figures["num_read_rows"]
    assert 0 == target.run(config, sql=sql).figures["num_read_rows"]


def test_parquet_objects(target: Direct, object_store: ObjectStore, tmp_path: Path) -> None:
    """With a column that comes later."""
    sql = f"select * from {read_files(f's3://{BUCKET}/stock/**/*.parquet')} as files"
    for day, columns in (("1", "1 as id"), ("2", "2 as id, 'x' as city")):
        file = tmp_path / f"{day}.parquet"
        target.connection.execute(f"copy (select {columns}) to '{file}'")
        object_store.put(f"stock/day={day}/part.parquet", file.read_bytes())
        target.run(APPENDS, sql=sql)
    rows = target.connection.execute("select id, city from target order by id").fetchall()
    assert [(1, None), (2, "x")] == rows


def test_avro_files(target: Direct, tmp_path: Path) -> None:
    """Typed columns, also where a later run brings a file with another one."""
    target.connection.execute("load avro")
    sql = f"select * from {read_files(f'{tmp_path}/*.avro', metadata=True)} as files"
    sql = sql.replace("select *", "select * exclude (_metadata), _metadata.file_name as name")
    for name, columns in (("a", "1 as id"), ("b", "2 as id, 'x' as city")):
        target.connection.execute(f"copy (select {columns}) to '{tmp_path}/{name}.avro' (format avro)")
        target.run(APPENDS, sql=sql)
    rows = target.connection.execute("select id, city, name from target order by id").fetchall()
    assert [(1, None, "a.avro"), (2, "x", "b.avro")] == rows
    with pytest.raises(
        AutoCdcError, match=r"a\.avro has the fields id, and .*b\.avro has id, city, and files of format avro"
    ):
        target.run(APPENDS, sql=sql, full_refresh=True)


def test_files_that_go_away_need_a_newer_duckdb(target: Direct, tmp_path: Path) -> None:
    """An option that this release of DuckDB has no word for is refused, and not passed over."""
    sql = f"select * from {read_files(f'{tmp_path}/*.json', ignore_missing_files=True)} as files"
    with pytest.raises(AutoCdcError, match=r"ignore_missing_files needs DuckDB 2\.0 or newer"):
        target.run(APPENDS, sql=sql)


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def site(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """Serve a folder over http, and give folder and address."""
    folder = tmp_path / "site"
    folder.mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield folder, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_file_over_http(target: Direct, site: tuple[Path, str]) -> None:
    """It is read once; one that is not there is refused."""
    folder, address = site
    (folder / "a.csv").write_text("id,city\n1,Oslo\n")
    sql = f"select * from {read_files(f'{address}/a.csv')} as files"
    target.run(APPENDS, sql=sql)
    target.run(APPENDS, sql=sql)
    assert [(1, "Oslo")] == target.connection.execute("select id, city from target").fetchall()
    with pytest.raises(AutoCdcError, match=r"nothing\.json"):
        Direct(target.connection, "other").run(
            APPENDS, sql=f"select * from {read_files(f'{address}/nothing.json', model='other')} as files"
        )


@pytest.mark.dbt
def test_through_dbt(project: Project, object_store: ObjectStore, extension_directory: str) -> None:
    """The profile has the extension and the secret; nothing else is needed."""
    write_profile(project, extension_directory, extensions=["httpfs"], secrets=[object_store.secret])
    project.write(
        "models/bronze.sql",
        f"""
        {{{{ config(materialized='append_flow') }}}}
        select id from {{{{ auto_cdc.read_files('s3://{BUCKET}/landing/*.json') }}}}
        """,
    )
    for number in (1, 2):
        object_store.put(f"landing/{number}.json", lines({"id": number}))
        project.succeed("run")
    assert [(1,), (2,)] == project.query("select id from bronze order by id")
