"""The first read of a change feed that does not begin with its table's first rows: the rows of the table as they are.

Not here: how a feed that has everything is read, and one that was read before (`streams`).
"""

from __future__ import annotations

from dataclasses import dataclass

from dbt_auto_cdc import names
from dbt_auto_cdc.engines.base import Engine
from dbt_auto_cdc.sql import Query, comma, text
from dbt_auto_cdc.state import Ask, Column, was_fed


def has_everything(ask: Ask, feed: str, companion: str) -> bool:
    """Tell whether a feed leads from nothing to the table's rows.

    Version 1 is only ever that of the first rows: a feed that begins otherwise leaves it out, and trimming removes it.
    A feed is empty where there were no rows yet.
    """
    kinds = f"('control', {text(names.FEED)})"
    rows = ask(f"select {names.KIND}, {names.CONTROL} from {companion} where {names.KIND} in {kinds}")
    is_kept = any(was_fed(str(written)) for kind, written in rows if kind == "control")
    counted = [int(str(written)) for kind, written in rows if kind == names.FEED]
    ((first,),) = ask(f"select min({names.COMMIT_VERSION}) from {feed}")
    begins = counted == [0] if first is None else int(str(first)) == 1
    return is_kept and begins


@dataclass(frozen=True)
class AsItIs:
    """A table that is read in the place of its feed, both with their columns; the companion knows the version."""

    feed: str
    target: str
    companion: str
    columns: tuple[Column, ...]
    stored: tuple[Column, ...]
    engine: Engine

    def rows(self) -> Query:
        """Return the table's rows as inserts at its last version, and one that tells this version also of an empty one.

        All in one statement, which sees one moment: a run that commits meanwhile is in rows and version, or in neither.
        """
        values, nothing = [], []
        for column in self.columns:
            name = self.engine.quote(column.name)
            values.append(f"{self._value(column)} as {name}")
            is_version = column.name.lower() == names.COMMIT_VERSION
            nothing.append(
                f"{self._value(column) if is_version else self.engine.null(column.type)} as {name}"
            )
        rows = f"select\n    {comma([*values, f'1 as {names.PLACE}'])}\nfrom {self.target} as tgt"
        version = f"select\n    {comma([*nothing, f'0 as {names.PLACE}'])}"
        return Query().then("as_it_is", f"{rows}\nunion all\n{version}")

    def reach(self, working: str) -> Query:
        """Return where the stream ends: the version at which the rows were taken."""
        return Query().then(
            "reach",
            f"select max({names.COMMIT_VERSION}) as {names.GREATEST}, 0 as {names.UNKNOWN}\nfrom {working}",
        )

    def read(self, working: str) -> str:
        """Return the rows that were taken, in the feed's columns."""
        columns = comma(f"src.{self.engine.quote(column.name)}" for column in self.columns)
        return f"select {columns}\nfrom {working} as src\nwhere src.{names.PLACE} = 1"

    def _value(self, column: Column) -> str:
        """Return what a row has in a column of the feed; null where the table has no such column any more."""
        folded = column.name.lower()
        own = {names.CHANGE_TYPE: "'insert'", names.COMMIT_VERSION: self._version}
        own[names.COMMIT_TIMESTAMP] = self._moment
        found = next((there for there in self.stored if there.name.lower() == folded), None)
        if folded not in own and found is not None and found.type == column.type:
            return f"tgt.{self.engine.quote(found.name)}"
        stored = f"tgt.{self.engine.quote(found.name)}" if found is not None else "null"
        return f"cast({own.get(folded, stored)} as {column.type})"

    @property
    def _version(self) -> str:
        kept = f"from {self.companion} where {names.KIND} = {text(names.FEED)}"
        told = f"select max({names.COMMIT_VERSION}) from {self.feed}"
        return f"coalesce((select max(cast({names.CONTROL} as bigint)) {kept}), ({told}), 0)"

    @property
    def _moment(self) -> str:
        """The time of the last version, or of this run where the feed has none."""
        last = f"select max({names.COMMIT_VERSION}) from {self.feed}"
        told = (
            f"select max({names.COMMIT_TIMESTAMP}) from {self.feed} where {names.COMMIT_VERSION} = ({last})"
        )
        return f"coalesce(({told}), {self.engine.utc_now()})"
