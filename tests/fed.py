"""Targets with a change feed that is checked after every run: it has to lead from the rows before to those after.

Not here: what the rows have to be; the tests of each mode know, and run on these targets too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from dbt_auto_cdc.execute import Outcome
from dbt_auto_cdc.names import is_reserved
from tests.databases import Connection, serves, tables_of
from tests.direct import Direct
from tests.reference_model import Row, comparable

FEED = "__auto_cdc_changes"
OF_THE_FEED = ("_change_type", "_commit_version", "_commit_timestamp")
_MULTISETS = ("replace_using", "replace_where", "recomputed_table", "append_flow")


def read(connection: Connection, relation: str) -> list[Row]:
    """Return a relation's rows, none where it does not exist."""
    if relation not in tables_of(connection):
        return []
    cursor = connection.execute(f'select * from "{relation}"')
    columns = [column[0].lower() for column in cursor.description or ()]
    return [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]


def columns_of(connection: Connection, relation: str) -> list[str]:
    """Return a relation's columns, without those that nobody is to see."""
    cursor = connection.execute(f'select * from "{relation}" where false')
    columns = [column[0].lower() for column in cursor.description or ()]
    return [column for column in columns if not is_reserved(column)]


class Fed(Direct):
    """One target in one database, run after run, whose change feed is compared with its rows, where there is one."""

    def run(self, config: Mapping[str, object], **how: Any) -> Outcome:
        if not serves("change_data_feed"):
            return super().run(config, **how)
        connection, feed = self.connection, self.name + FEED
        if f"{self.name}__auto_cdc" not in tables_of(connection):
            connection.execute(f'drop table if exists "{feed}"')
        before, written = read(connection, self.name), read(connection, feed)
        try:
            outcome = super().run({"change_data_feed": True, **config}, **how)
        except Exception:
            assert written == read(connection, feed), "a refused run wrote to the feed"
            raise
        self.check(before, written, self.identity(config))
        return outcome

    def identity(self, config: Mapping[str, object]) -> list[list[str]]:
        """Return what identifies a row: of each part the columns of which the first that is no null counts."""
        if config.get("materialized", self.materialized) in _MULTISETS:
            return []
        keys = [[str(key).lower()] for key in config["keys"]]  # type: ignore[attr-defined]
        kind = str(config.get("stored_as_scd_type", 1))
        if kind == "2":
            return [*keys, ["__start_at", "__end_at"]]
        return [*keys, ["__start_at"], ["__system_start_at"]] if kind == "bitemporal" else keys

    def check(self, before: list[Row], written: list[Row], identity: list[list[str]]) -> None:
        """Fail unless what is new in the feed leads from the rows before to those that are there."""
        connection, feed = self.connection, self.name + FEED
        columns, after = columns_of(connection, self.name), read(connection, self.name)
        assert sorted([*columns, *OF_THE_FEED]) == sorted(columns_of(connection, feed))
        last = max((row["_commit_version"] for row in written), default=0)
        new = [row for row in read(connection, feed) if row["_commit_version"] > last]
        assert len(read(connection, feed)) == len(written) + len(new)
        assert {last + 1} >= {row["_commit_version"] for row in new}

        def images(*kinds: str) -> Counter[Any]:
            return counted((row for row in new if row["_change_type"] in kinds), columns)

        gone, come = images("delete", "update_preimage"), images("insert", "update_postimage")
        stood, stands = counted(before, columns), counted(after, columns)
        assert gone <= stood, "the feed removes what was not there"
        assert stands == (stood - gone) + come
        if identity:
            self._check_pairs(new, identity, len(stood) == len(before))
        else:
            assert not images("update_preimage", "update_postimage")
            assert not gone & come, "an unchanged row is in the feed"

    @staticmethod
    def _check_pairs(new: list[Row], identity: list[list[str]], are_unique: bool) -> None:
        """Images come in pairs of one row that differ, and no row is deleted and inserted."""
        by_kind: dict[str, Counter[Any]] = {}
        values: dict[tuple[str, Any], Any] = {}
        for row in new:
            place = tuple(next((row[n] for n in part if row[n] is not None), None) for part in identity)
            place = tuple(map(repr, place))
            by_kind.setdefault(row["_change_type"], Counter())[place] += 1
            values[row["_change_type"], place] = {n: v for n, v in row.items() if n != "_change_type"}
        before, after = by_kind.get("update_preimage"), by_kind.get("update_postimage")
        assert before == after
        assert not by_kind.get("insert", Counter()) & by_kind.get("delete", Counter())
        for place in before or () if are_unique else ():
            assert values["update_preimage", place] != values["update_postimage", place], "unchanged"


def counted(rows: Any, columns: list[str]) -> Counter[Any]:
    """Return rows as a multiset over the columns; what a row lacks is null."""
    return Counter(comparable({name: row.get(name) for name in columns}) for row in rows)
