"""A small dbt project, run in this process: what a stranger's repository looks like to dbt.

No fixtures live here (see conftest.py), and no expectations.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import dbt_common.tests
import duckdb
import yaml
from dbt.adapters.duckdb.connections import DuckDBConnectionManager
from dbt.cli.main import dbtRunner
from dbt.contracts.graph.manifest import Manifest
from dbt.deprecations import reset_deprecations
from dbt_common.behavior_flags import BehaviorFlagRendered

from tests import databases

if TYPE_CHECKING:
    from dbt.cli.main import dbtRunnerResult
    from dbt_common.events.base_types import EventMsg

# Jinja parses of dbt's own macros are kept between projects: 0.5 s instead of 3 s for each test.
dbt_common.tests.enable_test_caching()

# For a message that no test reads, dbt looks each time through all calls for the module that makes an adapter: 0.4 s.
BehaviorFlagRendered._default_source = staticmethod(lambda: __name__)


class Project:
    """A project in `root` with the profile of a stranger; feeds and targets live in its own DuckDB file.

    dbt keeps the file open in this process, and a second project of the process would meet the first one's
    connection: so each project has a file of its own, and every look at it from here closes dbt's connection first.
    With a `schema` of a server they live there, and nothing has to be closed. The manifest, which takes a third of all
    the time to write, is a file only with `writes_manifest`.
    """

    def __init__(self, root: Path, name: str = "shop", *, threads: int = 1, schema: str = "") -> None:
        self.root = root
        self.name = name
        # No dot in the stem: older dbt-duckdb takes what precedes it for the database's name.
        self.database = root / "warehouse.duckdb"
        self.schema = schema
        # What is not ours to make: on a server no other project may have a schema of that name.
        self.raw = f"{schema}_raw" if schema else "raw"
        self.messages: list[str] = []
        self.writes_manifest = False
        self.write("dbt_project.yml", f"name: {name}\nprofile: {name}\n")
        output = {"type": "duckdb", "path": str(self.database)}
        if schema:
            output = databases.server_output(schema)
        outputs = {"dev": {**output, "threads": threads}}
        self.write(
            "profiles.yml", yaml.safe_dump({name: {"target": "dev", "outputs": outputs}}, sort_keys=False)
        )

    def write(self, path: str, text: str) -> Path:
        """Write one file of the project, its text freed of common indentation."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(dedent(text).lstrip("\n"), encoding="utf-8")
        return file

    def read(self, path: str) -> str:
        """Return the text of a file of the project, such as target/run/…/model.sql."""
        return (self.root / path).read_text(encoding="utf-8")

    def run(self, *args: str, env: Mapping[str, str] | None = None) -> dbtRunnerResult:
        """Run one dbt command, `run` and the like, and keep what dbt said in `messages` and `log`."""
        self.messages = []
        # Else dbt counts what earlier projects of this process were warned of.
        reset_deprecations()
        where = ["--project-dir", str(self.root), "--profiles-dir", str(self.root)]
        quiet = ["--quiet", "--no-use-colors", "--log-path", str(self.root / "logs")]
        with _surroundings(self.root, env or {}), self._manifest():
            return dbtRunner(callbacks=[self._listen]).invoke([*quiet, *args, *where])

    def succeed(self, *args: str, env: Mapping[str, str] | None = None) -> dbtRunnerResult:
        """Run one dbt command that has to go well."""
        result = self.run(*args, env=env)
        assert result.success, self._complaint(args, result)
        return result

    def fail(self, *args: str, env: Mapping[str, str] | None = None) -> str:
        """Run one dbt command that has to be refused, and return all that dbt said about it."""
        result = self.run(*args, env=env)
        assert not result.success, f"dbt {' '.join(args)} went well:\n{self.log}"
        return "\n".join([str(result.exception or ""), *_node_messages(result), self.log])

    @property
    def log(self) -> str:
        """All that dbt said in the last command, at the levels that its console may show."""
        return "\n".join(self.messages)

    @property
    def responses(self) -> dict[str, dict[str, Any]]:
        """The adapter responses of the last command by model name, as run_results.json has them."""
        results = json.loads(self.read("target/run_results.json"))["results"]
        return {result["unique_id"].split(".")[2]: result["adapter_response"] for result in results}

    def execute(self, sql: str, parameters: Sequence[object] | None = None) -> None:
        """Change the warehouse behind dbt's back: a feed that grows, a row written by hand."""
        with self._connection() as connection:
            connection.execute(sql, parameters)

    def query(self, sql: str, parameters: Sequence[object] | None = None) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        with self._connection() as connection:
            return connection.execute(sql, parameters).fetchall()

    def columns(self, table: str) -> list[str]:
        """Return the column names of a table, in order."""
        with self._connection() as connection:
            return list(databases.columns_of(connection, table))

    def close(self) -> None:
        """Let go of the DuckDB file, so that a dbt command or the next project can have it."""
        environment = None if self.schema else DuckDBConnectionManager._ENV
        if environment is not None:
            environment.close()
            DuckDBConnectionManager.close_all_connections()

    def _manifest(self) -> AbstractContextManager[object]:
        """Have the manifest written, or only what dbt does before: --no-write-json would leave out its hook as well."""
        return nullcontext() if self.writes_manifest else patch.object(Manifest, "write", _written_nowhere)

    @contextmanager
    def _connection(self) -> Iterator[databases.Connection]:
        if self.schema and databases.chosen() in databases.SPARKS:
            yield databases.spark_connection(self.schema)
            return
        if self.schema and databases.chosen() == "ducklake":
            with databases.raw_lake(self.schema) as lake:
                yield lake
            return
        if self.schema:
            with databases.raw_postgres(self.schema) as raw:
                yield databases.Postgres(raw)
            return
        self.close()
        with duckdb.connect(str(self.database)) as connection:
            yield connection

    def _listen(self, event: EventMsg) -> None:
        if event.info.level != "debug":
            self.messages.append(event.info.msg)

    def _complaint(self, args: Sequence[str], result: dbtRunnerResult) -> str:
        said = "\n".join([*map(str, filter(None, [result.exception])), *_node_messages(result)])
        return f"dbt {' '.join(args)} failed:\n{said}\n{self.log}"


def _written_nowhere(manifest: Manifest, path: str) -> None:
    del manifest, path


def _node_messages(result: dbtRunnerResult) -> list[str]:
    nodes = getattr(result.result, "results", None) or []
    return [str(node.message) for node in nodes if str(node.status) in {"error", "fail"}]


@contextmanager
def _surroundings(root: Path, env: Mapping[str, str]) -> Iterator[None]:
    """Stand in the project, for dbt takes relative paths from there, and go back: dbt itself changes the directory."""
    before = Path.cwd()
    saved = {name: os.environ.get(name) for name in env}
    os.environ.update(env)
    os.chdir(root)
    try:
        yield
    finally:
        os.chdir(before)
        for name, value in saved.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
