"""The first read of a change feed: of the feed where it leads from nothing to the table, else of the table as it is.

Not here: how streams go on (`scenarios/test_streams`), and source runs at the same time (`engines/test_postgres`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbt_auto_cdc import operations
from dbt_auto_cdc.errors import AutoCdcError
from tests import databases
from tests.databases import Connection, adapter_of, create_table
from tests.direct import Direct
from tests.stream_sql import stream
from tests.watched import examples

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.fed
SOURCE: dict[str, Any] = {
    "keys": ["id"],
    "sequence_by": "seq",
    "apply_as_deletes": "v is null",
    "except_column_list": ["seq"],
}
COPY: dict[str, Any] = {
    "keys": ["id"],
    "sequence_by": "_commit_version",
    "apply_as_deletes": "_change_type = 'delete'",
    "except_column_list": ["_change_type", "_commit_version", "_commit_timestamp"],
}
TYPES = {"id": "INTEGER", "v": "VARCHAR", "seq": "BIGINT"}
CHANGES = "select * from {} as s where _change_type <> 'update_preimage'"


@pytest.fixture(scope="module")
def shared(engine: str) -> Iterator[Connection]:
    with databases.connect(engine) as connection:
        yield connection


class Place:
    """A source, a table that follows its feed, and one that keeps all that it read of it."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        for table in databases.tables_of(connection):
            connection.execute(f'drop table "{table}"')
        self.source = Direct(connection, "source")
        self.copy = Direct(connection, "copy")
        self.log = Direct(connection, "log", materialized="append_flow")
        self.seq, self.fed = 0, False

    def deliver(self, events: dict[int, str | None], *, fed: bool = True, **how: Any) -> None:
        """Give the source one run, over these events."""
        self.seq += 1
        rows = [{"id": key, "v": value, "seq": self.seq} for key, value in events.items()]
        create_table(self.connection, "feed", TYPES, rows)
        self.source.run({**SOURCE, "change_data_feed": fed}, **how)
        self.fed = fed

    def trim(self, keep: int) -> None:
        for plan in operations.plan_trim(
            name="source",
            adapter_type=adapter_of(self.connection),
            feed='"source__auto_cdc_changes"',
            quarantine="",
            log="",
            companion="",
            keep_last=keep,
            older_than=None,
            tables=None,
        ):
            self.source.execute(plan)

    def drop_feed(self) -> None:
        self.connection.execute('drop table if exists "source__auto_cdc_changes"')

    def drop_feed_of(self, _: int) -> None:
        """Drop the feed; nobody can read it until the next run."""
        self.drop_feed()

    @property
    def is_fed(self) -> bool:
        """Whether there is a feed that the last run of the source wrote to."""
        return self.fed and "source__auto_cdc_changes" in databases.tables_of(self.connection)

    def forget(self, key: int) -> None:
        """Let the source forget a key, with all that its feed tells of it but that it went."""
        forgetting = operations.plan_forget(
            model=self.source._model({**SOURCE, "change_data_feed": True}, "select * from feed"),
            ask=lambda query: self.connection.execute(query).fetchall(),
            target_exists=True,
            target_is_view=False,
            beside=list(databases.tables_of(self.connection)),
            keys=[key],
        )
        self.source.execute(forgetting.plan)

    def read(self, **how: Any) -> None:
        self.copy.run(COPY, sql=CHANGES.format(stream("source", model="copy", change_feed=True)), **how)
        self.log.run({}, sql=CHANGES.format(stream("source", model="log", change_feed=True)), **how)

    def check(self) -> None:
        """Both readers have what the source has."""
        assert values(self.source.rows()) == values(self.copy.rows())
        assert values(self.source.rows()) == values(self.replayed())

    def replayed(self) -> list[dict[str, Any]]:
        """Return the rows to which all that was read leads: each comes when it is not there, and goes when it is."""
        there: dict[int, dict[str, Any]] = {}
        order = {"delete": 0, "insert": 1, "update_postimage": 1}
        for row in sorted(
            self.log.rows(), key=lambda r: (r["_commit_version"], order[str(r["_change_type"])])
        ):
            kind, key = row["_change_type"], row["id"]
            assert (key in there) == (kind != "insert"), "a row is told twice, or was never told"
            there.pop(key, None)
            if kind != "delete":
                there[key] = row
        return list(there.values())

    def told(self) -> list[tuple[Any, ...]]:
        """Return what the log has: version, key, value and kind."""
        shown = ("_commit_version", "id", "v", "_change_type")
        return sorted((tuple(row[name] for name in shown) for row in self.log.rows()), key=repr)


def values(rows: list[dict[str, Any]]) -> list[Any]:
    return sorted((row["id"], row["v"]) for row in rows)


@pytest.fixture
def place(shared: Connection) -> Place:
    return Place(shared)


def test_a_feed_from_the_beginning_is_read_as_it_is(place: Place) -> None:
    """From version 1, also where the table was empty at first: all that happened, not only what came of it."""
    place.deliver({})
    place.read()
    assert [] == place.told()
    place.deliver({1: "a", 2: "b"})
    place.deliver({1: None})
    place.read()
    assert [(1, 1, "a", "insert"), (1, 2, "b", "insert"), (2, 1, "a", "delete")] == place.told()
    place.check()


def test_a_trimmed_feed(place: Place) -> None:
    """A new reader gets the rows as they are, at the last version and its time, and goes on from there."""
    place.deliver({1: "a", 2: "b"})
    place.deliver({1: "A", 3: "c"})
    place.trim(1)
    place.read()
    assert [(2, 1, "A", "insert"), (2, 2, "b", "insert"), (2, 3, "c", "insert")] == place.told()
    stamps = "select distinct _commit_timestamp from {}"
    ((expected,),) = place.connection.execute(stamps.format("source__auto_cdc_changes")).fetchall()
    assert {expected} == {row["_commit_timestamp"] for row in place.log.rows()}
    place.read()
    place.deliver({2: None})
    place.read()
    assert (3, 2, "b", "delete") == place.told()[-1]
    place.check()


def test_a_reader_that_is_rebuilt(place: Place) -> None:
    """--full-refresh of the reader alone, or of the source as well, over a feed that was trimmed or not."""
    place.deliver({1: "a", 2: "b"})
    place.read()
    place.deliver({1: "b", 2: "b"}, full_refresh=True)
    place.read(full_refresh=True)
    place.check()
    place.trim(1)
    place.read(full_refresh=True)
    place.check()
    place.deliver({2: "c", 3: "c"}, full_refresh=True)
    place.trim(1)
    place.read(full_refresh=True)
    place.check()
    place.deliver({3: "d"})
    place.read()
    place.check()


def test_a_feed_that_was_switched_on_later(place: Place) -> None:
    """It lacks what was there before; the time is that of the read as long as it is empty."""
    place.deliver({1: "a", 2: "b"}, fed=False)
    place.deliver({})
    place.read()
    assert [(1, 1, "a", "insert"), (1, 2, "b", "insert")] == place.told()
    assert None not in {row["_commit_timestamp"] for row in place.log.rows()}
    place.deliver({1: "A"})
    place.read()
    place.check()
    place.read(full_refresh=True)
    place.check()


def test_a_feed_that_began_anew(place: Place) -> None:
    """Its table was dropped: a reader that did not know it before starts with the rows as they are."""
    place.deliver({1: "a", 2: "b"})
    place.drop_feed()
    place.deliver({1: "c", 2: "b"}, full_refresh=True)
    place.read()
    place.check()
    place.deliver({2: "d"}, fed=False)
    with pytest.raises(AutoCdcError, match="lacks changes"):
        place.deliver({2: "e"})
    place.read(full_refresh=True)
    place.check()
    place.drop_feed()
    place.deliver({3: "f"})
    with pytest.raises(AutoCdcError, match="lacks versions behind"):
        place.read()
    place.read(full_refresh=True)
    place.check()


def test_an_empty_table_has_a_version(place: Place) -> None:
    """Rows that come and go before the first read are not told, and the next version is read."""
    place.deliver({1: "a"})
    place.deliver({1: None})
    place.trim(1)
    place.read()
    assert [] == place.told()
    place.deliver({1: "b"})
    place.read()
    assert [(3, 1, "b", "insert")] == place.told()
    place.check()


def test_columns_of_the_feed_that_the_table_has_in_another_order(place: Place) -> None:
    """Columns are found by name; one that came later is there as well."""
    place.deliver({1: "a"})
    place.trim(1)
    types = {"more": "INTEGER", **TYPES}
    create_table(place.connection, "feed", types, [{"id": 2, "v": "b", "seq": 5, "more": 7}])
    place.source.run({**SOURCE, "change_data_feed": True})
    place.trim(1)
    place.read()
    assert [(1, "a", None), (2, "b", 7)] == sorted((r["id"], r["v"], r["more"]) for r in place.copy.rows())


def test_what_it_does_is_told(place: Place) -> None:
    """The plan says that the table is read; without its companion nothing is known of the feed's beginning."""
    place.deliver({1: "a"})
    place.deliver({1: "b"})
    place.trim(1)
    sql = CHANGES.format(stream("source", change_feed=True))
    plan = place.copy.plan(COPY, sql=sql)
    (told,) = plan.reads
    assert 'the rows of "source" as they are, for its change feed does not begin with its first rows' in told
    place.connection.execute('drop table "source__auto_cdc"')
    with pytest.raises(AutoCdcError, match='stream source: "source__auto_cdc" cannot be read'):
        place.copy.run(COPY, sql=sql)


def test_a_feed_that_is_trimmed_when_a_run_has_begun(place: Place) -> None:
    """What was whole when it was looked at, and is not when it is read, is refused: the next run knows better."""
    place.deliver({1: "a"})
    place.deliver({2: "b"})
    plan = place.copy.plan(COPY, sql=CHANGES.format(stream("source", change_feed=True)))
    place.trim(1)
    with pytest.raises(AutoCdcError, match="was trimmed, or began anew, while this run began; run it again"):
        place.copy.execute(plan)
    place.read()
    place.check()


BATCHES = st.dictionaries(st.integers(1, 4), st.sampled_from(["a", "b", None]), min_size=1, max_size=3)
TO_THE_SOURCE = st.one_of(
    st.tuples(st.just("deliver"), BATCHES),
    st.tuples(st.sampled_from(["off", "rebuild"]), BATCHES),
    st.tuples(st.just("trim"), st.integers(1, 2)),
    st.tuples(st.sampled_from(["drop", "forget"]), st.integers(1, 4)),
)
READ = st.tuples(st.sampled_from(["read", "read", "reread"]), st.just(0))


@settings(max_examples=examples(12, 1500))
@given(
    before=st.lists(TO_THE_SOURCE, min_size=3, max_size=8),
    after=st.lists(st.one_of(TO_THE_SOURCE, READ), max_size=6),
)
def test_whenever_a_reader_is_built(
    shared: Connection, before: list[tuple[str, Any]], after: list[tuple[str, Any]]
) -> None:
    """It has what the source has, and goes on, or is refused until it is rebuilt.

    Meanwhile the feed is trimmed, switched on and off, dropped, and the source rebuilt.
    """
    place = Place(shared)
    deeds = [*before, ("read", 0), *after, ("read", 0)]
    for deed, what in deeds:
        if deed not in {"read", "reread"}:
            to_the_source(place, deed, what)
        elif place.is_fed:
            to_the_readers(place, again=deed == "reread")
            assert values(place.source.rows()) == values(place.copy.rows())
            # Who forgets a key tells of its end also where nothing was told of it.
            if not any(name == "forget" for name, _ in deeds):
                place.check()


def to_the_source(place: Place, deed: str, what: Any) -> None:
    """Do something with the source or its feed, where that is possible."""
    if deed in {"deliver", "rebuild"}:
        if not place.is_fed and deed == "deliver":
            place.drop_feed()
        place.deliver(what, full_refresh=deed == "rebuild")
    elif deed == "off":
        place.deliver(what, fed=False)
    elif place.is_fed:
        {"trim": place.trim, "drop": place.drop_feed_of, "forget": place.forget}[deed](what)


def to_the_readers(place: Place, *, again: bool) -> None:
    """Let the readers run, and rebuild them where they lack something."""
    try:
        place.read(full_refresh=again)
    except AutoCdcError as error:
        assert "lacks versions behind" in str(error) or "so rows were removed" in str(error)  # noqa: PT017
        place.read(full_refresh=True)
