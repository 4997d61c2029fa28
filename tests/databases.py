"""The engines that tests run on, behind one kind of connection: DuckDB's own, and those of others made like it.

Not here: servers (`scripts/with-postgres` starts one and says where), and what is tested.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import re
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from dbt_auto_cdc import names
from dbt_auto_cdc.engines import engine_for, required
from dbt_auto_cdc.engines.base import Engine
from dbt_auto_cdc.sql import Query
from tests import words

if TYPE_CHECKING:
    import psycopg2.extensions

ENGINES = {
    "duckdb": "duckdb",
    "ducklake": "duckdb",
    "postgres": "postgres",
    "sail": "spark",
    "spark": "spark",
}
"""What tests can run on, with whose language it speaks: Sail is another server for that of Spark."""
SPARKS = ("sail", "spark")
DUCKLAKE = {name: value for name, value in os.environ.items() if name.startswith("AUTO_CDC_DUCKLAKE_")}
SPARK = {name: value for name, value in os.environ.items() if name.startswith("AUTO_CDC_SPARK_")}
POSTGRES = {name: value for name, value in os.environ.items() if name.startswith("AUTO_CDC_POSTGRES_")}
"""Where the server is: the only variables of our own that `conftest` lets be."""

# DuckDB's names of types, in which tests are written, as PostgreSQL has them.
_POSTGRES_TYPES = {
    "varchar": "text",
    "double": "double precision",
    "tinyint": "smallint",
    "timestamptz": "timestamp with time zone",
    "json": "json",
    "blob": "bytea",
}
# Ways out that lead nowhere where sequences are no lists, and what is said there.
_WITHOUT_LISTS = {
    "a list adds a tie-breaker: ['seq', 'log_position']": "one expression of seq and a tie-breaker such as"
    " log_position",
    ", or a list of such columns": "",
}
_CAST = r"cast\(\? as .+?\)(?=, cast|$)"
_CHOSEN = "TESTED_ENGINE"
UNTYPED_NULLS = pytest.mark.skipif(duckdb.__version__ < "2", reason="this DuckDB takes a null for a number")
_numbers = itertools.count()


class Postgres:
    """A connection to PostgreSQL that takes the few calls which tests make of DuckDB's, in a schema of its own."""

    def __init__(self, connection: psycopg2.extensions.connection) -> None:
        self.raw = connection
        self.raw.autocommit = True

    def execute(self, sql: str, parameters: Sequence[object] | None = None) -> Result:
        cursor = self.raw.cursor()
        if parameters is not None:
            parameters = [_as_row(value) if isinstance(value, dict) else value for value in parameters]
            sql = sql.replace("%", "%%").replace("?", "%s")
        try:
            cursor.execute(sql, parameters)
        except Exception:
            cursor.close()
            raise
        return Result(cursor)

    def executemany(self, sql: str, rows: Sequence[Sequence[object]]) -> None:
        for row in rows:
            self.execute(sql, row)


class Spark:
    """A connection to Sail, or to the thrift server of Spark, that takes the same calls, in a schema of its own."""

    def __init__(self, send: Callable[[str], tuple[list[str], list[tuple[Any, ...]]]], schema: str) -> None:
        self.send = send
        self.schema = schema
        self.stop_after: int | None = None
        self.stops = stop
        self.counts = writes
        self.sent = 0

    def execute(self, sql: str, parameters: Sequence[object] | None = None) -> Rows:
        if parameters is not None:
            pieces = sql.split("?")
            sql = "".join(
                piece + literal
                for piece, literal in zip(pieces, [*map(_spark_literal, parameters), ""], strict=True)
            )
        found = Rows([], [])
        statements = engine_of(self).statements(sql)
        for statement in statements:
            sent = self._sent(statement)
            if len(statements) == 1 or engine_of(self).gives_rows(statement):
                found = Rows(*sent)
        return found

    def _sent(self, statement: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Send one statement, unless it is one that writes and so many of these were sent already."""
        if self.stop_after is not None and not engine_of(self).gives_rows(statement):
            if self.stop_after == 0:
                self.stop_after = None
                self.stops()
            else:
                self.stop_after -= self.counts(statement)
        self.sent += 1
        return self.send(statement)

    def executemany(self, sql: str, rows: Sequence[Sequence[object]]) -> None:
        """Send the rows in one statement, because each takes seconds."""
        head, values = sql.split(" select ", 1)
        named = ", ".join(f"{each} as c{number}" for number, each in enumerate(re.findall(_CAST, values)))
        selects = " union all ".join([f"select {named}"] * len(rows))
        self.execute(f"{head} {selects}", [value for row in rows for value in row])


class Spoken(Spark):
    """The same, for SQL that is written as DuckDB has it; `plain` is for that of the product."""

    def __init__(self, plain: Spark) -> None:
        super().__init__(plain.send, plain.schema)
        self.plain = plain

    def execute(self, sql: str, parameters: Sequence[object] | None = None) -> Rows:
        found = Rows([], [])
        for statement in words.statements(sql):
            if isinstance(statement, words.Made):
                self._make(statement)
            else:
                found = self.plain.execute(statement, parameters)
        return found

    def _make(self, made: words.Made) -> None:
        """Make a table in which rows can be changed, and which takes nulls, whatever is in it now."""
        types = made.types or columns_of(self.plain, f"(\n{made.query}\n) as made")
        engine = engine_of(self)
        if not made.query:
            self.plain.execute(engine.define(made.name, types, is_new=True))
            return
        quoted_types = {engine.quote(name): kind for name, kind in types.items()}
        for statement in engine.fill(made.name, quoted_types, Query().then("rows", made.query), is_new=True):
            self.plain.execute(statement)


def plain(connection: Connection) -> Connection:
    """Return the connection as it takes SQL of the product."""
    return connection.plain if isinstance(connection, Spoken) else connection


def spoken(connection: Connection, sql: str) -> str:
    """Return a query that is written as DuckDB has it in the words of the connection's engine."""
    return words.spoken(sql) if isinstance(connection, Spoken) else sql


def writes(statement: str) -> bool:
    """Tell whether a statement that gives no rows writes something."""
    return "temporary view" not in statement and f"drop view `{names.PREFIX}described" not in statement


def writes_what_stays(statement: str) -> bool:
    """The same, of a table that no other run makes anew before it is read."""
    made = r"(-- .*\n)?(drop table if exists|create (or replace )?table|insert into)"
    return writes(statement) and not re.match(rf"{made} `\w+__auto_cdc_(?!quarantine|changes)", statement)


class Stopped(BaseException):
    """What a test raises in the place of a statement, as if the process had been killed before it."""


def stop() -> None:
    raise Stopped


class Rows:
    """What a statement gave, all of it."""

    def __init__(self, columns: list[str], rows: list[tuple[Any, ...]]) -> None:
        self.description = [(name,) for name in columns]
        self._rows = iter(rows)

    def fetchall(self) -> list[tuple[Any, ...]]:
        return list(self._rows)

    def fetchone(self) -> tuple[Any, ...] | None:
        return next(self._rows, None)


def _spark_literal(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, float) and not math.isfinite(value):
        return f"'{value}'"
    if isinstance(value, bool | int | float):
        return str(value).lower()
    if isinstance(value, list):
        return f"array({', '.join(map(_spark_literal, value))})"
    if isinstance(value, Mapping):
        return (
            "named_struct("
            + ", ".join(f"'{name}', {_spark_literal(part)}" for name, part in value.items())
            + ")"
        )
    escaped = str(value).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _as_row(value: Mapping[str, object]) -> str:
    """Return a struct as the text of a row."""
    return f"({','.join(str(part) for part in value.values())})"


class Result:
    """What one statement gave."""

    def __init__(self, cursor: psycopg2.extensions.cursor) -> None:
        self._cursor = cursor
        self.description = cursor.description
        self.rowcount = cursor.rowcount

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self._cursor.fetchall() if self.description else []

    def fetchone(self) -> tuple[Any, ...] | None:
        return self._cursor.fetchone()


def chosen() -> str:
    """Return the engine that this run of the tests is about, as conftest was told it."""
    return os.environ.get(_CHOSEN, "duckdb")


def choose(engine: str) -> None:
    """Say, for this process and those that it starts, which engine the tests are about."""
    os.environ[_CHOSEN] = engine


def speaks() -> str:
    """Return whose language the engine of this run of the tests speaks."""
    return ENGINES[chosen()]


Connection = duckdb.DuckDBPyConnection | Postgres | Spark


@contextmanager
def connect(engine: str) -> Iterator[Connection]:
    """Give a connection to an empty place: a DuckDB in memory, or a schema of a server or of the lake."""
    if engine == "duckdb":
        with duckdb.connect(config={"threads": 1}) as connection:
            yield connection
        return
    if engine == "ducklake":
        with lake_schema() as schema, raw_lake(schema) as connection:
            yield connection
        return
    if engine in SPARKS:
        with spark_schema() as spark:
            yield Spoken(spark)
        return
    with postgres_schema() as schema, raw_postgres(schema) as raw:
        yield Postgres(raw)


@contextmanager
def connect_to_duckdb() -> Iterator[duckdb.DuckDBPyConnection]:
    """Give an empty place for what only DuckDB does: in memory, or in the lake where tests are about one."""
    with connect("ducklake" if chosen() == "ducklake" else "duckdb") as connection:
        assert isinstance(connection, duckdb.DuckDBPyConnection)
        yield connection


@contextmanager
def lake_schema() -> Iterator[str]:
    """Give an empty schema of the lake, and drop it with all those that were made since."""
    schema = f"test_{os.getpid()}_{next(_numbers)}"
    listed = "select schema_name from duckdb_schemas() where database_name = 'lake'"
    with raw_lake() as admin:
        before = set(admin.execute(listed).fetchall())
        admin.execute(f"create schema {schema}")
        try:
            yield schema
        finally:
            for (made,) in set(admin.execute(listed).fetchall()) - before:
                admin.execute(f'drop schema "{made}" cascade')


@contextmanager
def raw_lake(schema: str = "main") -> Iterator[duckdb.DuckDBPyConnection]:
    """Give a connection to the lake that all tests of this process share."""
    with _lake().cursor() as connection:
        connection.execute(f"use lake.{schema}")
        yield connection


@lru_cache
def _lake() -> duckdb.DuckDBPyConnection:
    """Return this process's DuckDB, with the lake attached."""
    if not DUCKLAKE:
        pytest.skip("there is no DuckLake: make test-ducklake starts one")
    config = {"extension_directory": DUCKLAKE["AUTO_CDC_DUCKLAKE_EXTENSIONS"], "threads": 1}
    connection = duckdb.connect(config=config)
    connection.execute("load ducklake; load postgres_scanner")
    options = ", ".join(f"{name} '{value}'" for name, value in _lake_options().items())
    connection.execute(f"attach '{_lake_path()}' as lake ({options})")
    return connection


@lru_cache
def _lake_options() -> dict[str, str]:
    """Return what makes a lake one of this process alone: commits of others to any of its tables slow down all."""
    own = f"lake_{os.getpid()}"
    return {"data_path": f"{DUCKLAKE['AUTO_CDC_DUCKLAKE_DATA']}{own}/", "metadata_schema": own}


def _lake_path() -> str:
    words = {"host": "HOST", "port": "PORT", "user": "USER", "dbname": "DATABASE"}
    place = " ".join(f"{word}={POSTGRES[f'AUTO_CDC_POSTGRES_{name}']}" for word, name in words.items())
    return f"ducklake:postgres:{place}"


def lake_output(schema: str) -> dict[str, Any]:
    """Return the output of a dbt profile for a schema of the lake."""
    return {
        "type": "duckdb",
        "path": ":memory:",
        "database": "lake",
        "schema": schema,
        "extensions": ["ducklake", "postgres_scanner"],
        "settings": {"schema": f"lake.{schema}"},
        "config_options": {"extension_directory": DUCKLAKE["AUTO_CDC_DUCKLAKE_EXTENSIONS"]},
        "attach": [{"path": _lake_path(), "alias": "lake", "options": _lake_options()}],
    }


@contextmanager
def spark_schema() -> Iterator[Spark]:
    """Give a connection whose schema is empty, and drop what was made in it."""
    send = _spark_sender()
    schema = f"test_{os.getpid()}_{next(_numbers)}"
    send(f"create schema {schema}")
    connection = spark_connection(schema)
    try:
        yield connection
    finally:
        for table, kind in tables_of(connection).items():
            send(f"drop {kind} if exists `{table}`")
        # Sail counts views among tables.
        for _, view, _ in send("show views")[1] if chosen() == "spark" else ():
            send(f"drop view if exists `{view}`")
        send("use schema default" if chosen() == "sail" else "use default")
        send(f"drop schema if exists {schema}")


def spark_connection(schema: str) -> Spark:
    """Return a connection to the server whose statements are about a schema."""
    send = _spark_sender()
    send(f"use schema {schema}" if chosen() == "sail" else f"use {schema}")
    return Spark(send, schema)


@lru_cache
def _sail_session() -> str:
    """Return where Sail is, and the one session of this process: a catalog in memory belongs to its session."""
    return f"{SPARK['AUTO_CDC_SPARK_REMOTE']}/;session_id={uuid.uuid4()}"


def _as_it_is(value: Any) -> Any:
    return value


# PyHive reads times and decimals.
_LEFT_AS_TEXT: dict[str, Callable[[Any], Any]] = {"DATE_TYPE": date.fromisoformat, "ARRAY_TYPE": json.loads}


@lru_cache
def _spark_sender() -> Callable[[str], tuple[list[str], list[tuple[Any, ...]]]]:
    """Return what sends one statement to the server of this run, which one connection is open to."""
    if not SPARK:
        pytest.skip("there is no such server: make test-sail and make test-spark start one")
    if chosen() == "sail":
        from pyspark.sql import SparkSession

        session = SparkSession.builder.remote(_sail_session()).getOrCreate()
        session.conf.set("spark.sql.warehouse.dir", SPARK["AUTO_CDC_SPARK_WAREHOUSE"])
        session.conf.set("spark.sql.session.timeZone", "UTC")

        def send(sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
            frame = session.sql(sql)
            return frame.columns, [tuple(row) for row in frame.collect()]

        return send
    from pyhive import hive

    spark = engine_for("spark")
    assert spark is not None
    cursor = hive.connect(SPARK["AUTO_CDC_SPARK_HOST"], int(SPARK["AUTO_CDC_SPARK_PORT"])).cursor()

    def send_by_thrift(sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        cursor.execute(sql)
        if not spark.gives_rows(sql):
            return [], []
        reads = [_LEFT_AS_TEXT.get(column[1], _as_it_is) for column in cursor.description]
        rows = [
            tuple(value if value is None else read(value) for read, value in zip(reads, row, strict=True))
            for row in cursor.fetchall()
        ]
        return [column[0] for column in cursor.description], rows

    return send_by_thrift


@contextmanager
def postgres_schema() -> Iterator[str]:
    """Give an empty schema of the PostgreSQL server, and drop it."""
    schema = f"test_{os.getpid()}_{next(_numbers)}"
    with raw_postgres() as admin:
        admin.cursor().execute(f'create schema "{schema}"')
        try:
            yield schema
        finally:
            admin.cursor().execute(f'drop schema "{schema}" cascade')


@contextmanager
def raw_postgres(schema: str = "public") -> Iterator[psycopg2.extensions.connection]:
    import psycopg2

    if not POSTGRES:
        pytest.skip("there is no PostgreSQL server: make test-postgres starts one")
    raw = psycopg2.connect(
        host=POSTGRES["AUTO_CDC_POSTGRES_HOST"],
        port=POSTGRES["AUTO_CDC_POSTGRES_PORT"],
        user=POSTGRES["AUTO_CDC_POSTGRES_USER"],
        dbname=POSTGRES["AUTO_CDC_POSTGRES_DATABASE"],
        options=f"-c search_path={schema} -c client_min_messages=warning",
    )
    raw.autocommit = True
    try:
        yield raw
    finally:
        raw.close()


@contextmanager
def held(connection: Connection, target: str) -> Iterator[Callable[[int], None]]:
    """Hold back all runs of a target, and give a function that waits until so many of them wait."""
    with raw_postgres() as holder:
        cursor = holder.cursor()
        cursor.execute("select pg_advisory_lock(hashtextextended(%s, 0))", [target])

        def wait_for(number: int) -> None:
            waiting = "select count(*) from pg_locks where locktype = 'advisory' and not granted"
            for _ in range(3000):
                if connection.execute(waiting).fetchall()[0][0] >= number:
                    return
                time.sleep(0.05)
            raise AssertionError(f"{number} runs should be waiting by now")

        yield wait_for


def postgres_output(schema: str) -> dict[str, Any]:
    """Return the output of a dbt profile for a schema of the PostgreSQL server."""
    place = {name.removeprefix("AUTO_CDC_POSTGRES_").lower(): value for name, value in POSTGRES.items()}
    return {
        "type": "postgres",
        "host": place["host"],
        "port": int(place["port"]),
        "user": place["user"],
        "password": "",
        "dbname": place["database"],
        "schema": schema,
        "search_path": schema,
    }


def server_output(schema: str) -> dict[str, Any]:
    """Return the output of a dbt profile for a schema of the chosen server."""
    if chosen() == "postgres":
        return postgres_output(schema)
    if chosen() == "ducklake":
        return lake_output(schema)
    if chosen() == "sail":
        settings = {
            "spark.remote": _sail_session(),
            "spark.sql.warehouse.dir": SPARK["AUTO_CDC_SPARK_WAREHOUSE"],
            "spark.sql.session.timeZone": "UTC",
        }
        return {
            "type": "spark",
            "method": "session",
            "host": "NA",
            "schema": schema,
            "server_side_parameters": settings,
        }
    place = {"host": SPARK["AUTO_CDC_SPARK_HOST"], "port": int(SPARK["AUTO_CDC_SPARK_PORT"])}
    return {"type": "spark", "method": "thrift", **place, "user": "dbt", "schema": schema}


def server_variables(schema: str) -> dict[str, str]:
    """Return the variables by which the repository's own profile finds a schema of the chosen server."""
    place = {f"AUTO_CDC_{server}_SCHEMA": schema for server in ("POSTGRES", "DUCKLAKE", "SPARK")}
    if chosen() == "ducklake":
        lake = _lake_options()
        place["AUTO_CDC_DUCKLAKE_CATALOG"] = lake["metadata_schema"]
        place["AUTO_CDC_DUCKLAKE_DATA"] = lake["data_path"]
    return {**POSTGRES, **DUCKLAKE, **SPARK, **place, "AUTO_CDC_TARGET": chosen()}


@contextmanager
def server_schema(engine: str) -> Iterator[str]:
    """Give an empty schema of the engine's server, and drop it; no name where the engine is a library."""
    if engine == "duckdb":
        yield ""
    elif engine == "ducklake":
        with lake_schema() as schema:
            yield schema
    elif engine == "postgres":
        with postgres_schema() as schema:
            yield schema
    else:
        with spark_schema() as connection:
            yield connection.schema


def adapter_of(connection: Connection) -> str:
    """Return the adapter type of a connection's engine, or the word for what is peculiar about its tables."""
    if isinstance(connection, Spark):
        return "spark"
    if isinstance(connection, Postgres):
        return "postgres"
    return "ducklake" if chosen() == "ducklake" else "duckdb"


def options_of(connection: Connection) -> dict[str, str]:
    """Return what a model has to be configured with on the connection's engine, whatever it is."""
    return _spark_options() if isinstance(connection, Spark) else {}


def _spark_options() -> dict[str, str]:
    return {"file_format": "delta" if chosen() == "sail" else "iceberg"}


def engine_of(connection: Connection) -> Engine:
    """Return the engine of a connection."""
    engine = engine_for(adapter_of(connection))
    assert engine is not None
    return engine.configured(options_of(connection), "test")


def spelled(connection: Connection, duckdb_type: str) -> str:
    """Return a type that is written as DuckDB has it in the words of the connection's engine."""
    if isinstance(connection, Spark) and not isinstance(connection, Spoken):
        return words.spark_type(duckdb_type)
    if not isinstance(connection, Postgres):
        return duckdb_type
    base, rest = re.fullmatch(r"(\w+)(.*)", duckdb_type.lower()).groups()  # type: ignore[union-attr]
    # `varchar(3)` and `double precision` are PostgreSQL's own.
    return duckdb_type if rest[:1] in {"(", " "} else _POSTGRES_TYPES.get(base, base) + rest


def lake_stores(duckdb_type: str) -> bool:
    """Tell whether a DuckLake has columns of a type."""
    return required("ducklake", "test").stores(duckdb_type)


def alters(stored: str, incoming: str) -> bool:
    """Tell whether the engine that the tests are about gives a column another type; types are in DuckDB's words."""
    if chosen() == "ducklake":
        return required("ducklake", "test").alters(stored, incoming)
    if chosen() not in SPARKS:
        return True
    engine = required("spark", "test").configured(_spark_options(), "test")
    return engine.alters(words.spark_type(stored), words.spark_type(incoming))


def takes_lists() -> bool:
    """Tell whether a sequence may be a list of columns on the engine that the tests are about."""
    return chosen() not in {"ducklake", "sail"}


def serves(option: str) -> bool:
    """Tell whether the engine that the tests are about serves an option, or `option=value`."""
    engine = engine_for("ducklake" if chosen() == "ducklake" else speaks())
    assert engine is not None
    return option not in engine.not_served


def engine_error() -> type[Exception]:
    """Return what the client of the engine that the tests are about raises where the engine refuses a statement."""
    if speaks() == "duckdb":
        return duckdb.Error
    if chosen() == "sail":
        from pyspark.errors import PySparkException

        return PySparkException
    if chosen() == "spark":
        from pyhive.exc import Error

        return Error
    import psycopg2

    return psycopg2.Error


def here(said: str) -> str:
    """Return a message, which is written as on DuckDB, as the engine that the tests are about words it.

    Of what DuckDB itself says only that there is something stays.
    """
    if chosen() == "duckdb":
        return said
    for way, other in () if takes_lists() else _WITHOUT_LISTS.items():
        said = said.replace(way, other)
    if speaks() == "duckdb":
        return said.replace("DuckDB", "DuckLake")
    if speaks() == "spark":
        said = re.sub(r'"(\w+)"', r"`\1`", said).replace("DuckDB", "Spark")
        said = re.sub("(Spark says: ).*", r"\1", said)
        return re.sub("[A-Z]{3,}", lambda found: words.TYPES.get(found[0].lower(), found[0]), said)
    in_postgres = {"DuckDB": "PostgreSQL", "VARCHAR": "text", "TIMESTAMP": "timestamp without time zone"}
    in_postgres |= {"STRUCT": "row"} | {
        name: name.lower() for name in ("BIGINT", "INTEGER", "DATE", "BOOLEAN")
    }
    said = re.sub("(DuckDB says: ).*", r"\1", said)
    return re.sub(r"\w+", lambda found: in_postgres.get(found[0], found[0]), said)


def with_values(connection: Connection, relation: str, **values: str) -> str:
    """Return the query of a relation's rows with other values in some of its columns."""
    columns = columns_of(connection, relation)
    shown = (f"{values[name]} as {quoted(name)}" if name in values else quoted(name) for name in columns)
    return f"select {', '.join(shown)} from {relation}"


def remake(connection: Connection, table: str, **values: str) -> None:
    """Give some columns of a table other values, and thereby types, also where no column is altered to such a type."""
    connection.execute(f"create table remade as {with_values(connection, table, **values)}")
    connection.execute(f"drop table {table}")
    connection.execute(f"create table {table} as select * from remade")
    connection.execute("drop table remade")


def type_of(connection: Connection, duckdb_type: str) -> str:
    """Return what the engine itself calls a type, however it is written."""
    null = f"cast(null as {spelled(connection, duckdb_type)})"
    return columns_of(connection, f"(select {null} as of_the_type) as one")["of_the_type"]


def columns_of(connection: Connection, relation: str) -> dict[str, str]:
    """Return a relation's columns with their types."""
    described = engine_of(connection).describe(f"select * from {spoken(connection, relation)}")
    connection = plain(connection)
    return {row[0].removeprefix("="): row[1] for row in connection.execute(described).fetchall()}


def numbers(count: int) -> str:
    """Return the relation of the numbers from 0, so many of them."""
    return f"range({count})" if chosen() == "duckdb" else f"generate_series(0, {count - 1})"


def in_order(rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return rows in the order of their values from left to right, null last."""
    return sorted(rows, key=lambda row: [(value is None, value) for value in row])


def indexes_of(connection: Connection) -> list[tuple[str, str]]:
    """Return the indexes with their statements, those of companions left out: they are ours, or none."""
    if isinstance(connection, Spark):
        return []
    query = "select index_name, sql from duckdb_indexes()"
    if isinstance(connection, Postgres):
        query = "select indexname, indexdef from pg_indexes where schemaname = current_schema()"
    indexes = connection.execute(query).fetchall()
    return sorted(index for index in indexes if names.COMPANION not in index[1])


def tables_of(connection: Connection) -> dict[str, str]:
    """Return the names of the tables and views, each with its kind."""
    if isinstance(connection, Spark):
        shown = connection.execute("show tables").fetchall()
        return {name: "TABLE" for _, name, is_temporary in shown if not is_temporary}
    if isinstance(connection, Postgres):
        query = "select relname, case relkind when 'v' then 'VIEW' else 'BASE TABLE' end from pg_class"
        here = "relnamespace = current_schema()::regnamespace and relkind in ('r', 'p', 'v')"
        return dict(connection.execute(f"{query} where {here}").fetchall())
    # Half as dear as the information schema, which counts where it is asked several times a run.
    tables = "select table_name, 'BASE TABLE' from duckdb_tables()"
    views = "select view_name, 'VIEW' from duckdb_views()"
    here = "where database_name = current_database() and schema_name = current_schema() and not internal"
    return dict(connection.execute(f"{tables} {here} union all {views} {here}").fetchall())


def create_table(
    connection: Connection, table: str, columns: Mapping[str, str], rows: Sequence[Mapping[str, Any]]
) -> None:
    """Create or replace a table with exactly these columns, in DuckDB's words; values are cast to their type."""
    connection = plain(connection)
    types = {name: spelled(connection, duckdb_type) for name, duckdb_type in columns.items()}
    engine = engine_of(connection)
    declared = ", ".join(f"{engine.quote(name)} {type_name}" for name, type_name in types.items())
    connection.execute(f"drop table if exists {table}")
    connection.execute(f"create table {table} ({declared}){engine.table_options}")
    add_rows(connection, table, columns, rows)


def add_rows(
    connection: Connection, table: str, columns: Mapping[str, str], rows: Sequence[Mapping[str, Any]]
) -> None:
    """Add rows to a table of these columns, in one statement where each takes long."""
    if not rows:
        return
    connection = plain(connection)
    types = [spelled(connection, duckdb_type) for duckdb_type in columns.values()]
    select = f"select {', '.join(f'cast(? as {type_name})' for type_name in types)}"
    values = [[row.get(name) for name in columns] for row in rows]
    if adapter_of(connection) == "ducklake":
        selects = " union all ".join([select] * len(values))
        connection.execute(f"insert into {table} {selects}", [value for row in values for value in row])
    else:
        connection.executemany(f"insert into {table} {select}", values)


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
