"""Fixtures: DuckDB's extensions, and the servers that they speak to; `make test-extensions` has all of it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.extensions.services import ObjectStore

EXTENSIONS = ("avro", "httpfs", "postgres_scanner", "sqlite_scanner")
# Prints where the server is, and keeps it until nobody listens any more.
WAIT = """
import json, os, sys
print(json.dumps({n: v for n, v in os.environ.items() if n.startswith("AUTO_CDC_POSTGRES_")}), flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="session")
def extension_directory(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Install the extensions that came as packages, and return the folder in which DuckDB finds them."""
    reason = "DuckDB's extensions are not here as packages: make test-extensions"
    packages = pytest.importorskip("duckdb_extensions", reason=reason)
    folder = str(tmp_path_factory.mktemp("extensions"))
    with duckdb.connect(config={"extension_directory": folder}) as connection:
        for name in EXTENSIONS:
            packages.import_extension(name, con=connection)
    return folder


@pytest.fixture(scope="session")
def s3_endpoint(extension_directory: str) -> Iterator[str]:
    """Start a stand-in for S3 on a free port and return where it is."""
    assert extension_directory
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"{host}:{port}"
    server.stop()


@pytest.fixture
def object_store(s3_endpoint: str, monkeypatch: pytest.MonkeyPatch) -> ObjectStore:
    """Give an empty object store that notes what it is asked."""
    import werkzeug.serving

    requests: list[str] = []

    def note(handler: Any, *_: object) -> None:
        requests.append(f"{handler.command} {handler.path}")

    monkeypatch.setattr(werkzeug.serving.WSGIRequestHandler, "log_request", note)
    return ObjectStore(s3_endpoint, requests)


@pytest.fixture(scope="session")
def postgres_server(extension_directory: str, root: Path) -> Iterator[str]:
    """Start a PostgreSQL server of our own and return how to connect to it."""
    assert extension_directory
    command = [sys.executable, str(root / "scripts/with-postgres"), sys.executable, "-c", WAIT]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        place = json.loads(process.stdout.readline())
        words = {"host": "HOST", "port": "PORT", "user": "USER", "dbname": "DATABASE"}
        yield " ".join(f"{word}={place[f'AUTO_CDC_POSTGRES_{name}']}" for word, name in words.items())
        process.stdin.close()
        assert process.wait(timeout=60) == 0
