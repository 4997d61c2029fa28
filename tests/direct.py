"""Runs `auto_cdc` plans straight on a connection: no dbt, the same planner and the same loop.

Not here: dbt projects (`dbt_project`) and expected tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from dbt_auto_cdc import bridge, operations
from dbt_auto_cdc.execute import Outcome, Sent
from dbt_auto_cdc.materializations import journal
from dbt_auto_cdc.plan import Plan
from tests.databases import Connection, Result, adapter_of, engine_of, options_of, plain, spoken, tables_of


@dataclass
class Direct:
    """One target in one database, run after run."""

    connection: Connection
    name: str = "target"
    materialized: str = "auto_cdc"
    statements: int = 0

    def plan(
        self,
        config: Mapping[str, object],
        *,
        sql: str = "select * from feed",
        full_refresh: bool = False,
        partial: str = "",
    ) -> Plan:
        """Return the plan of the next run; `partial` is the flag under which dbt reads a part of the feed."""
        return self._planned(self._model(config, sql), full_refresh=full_refresh, partial=partial)

    @property
    def _plain(self) -> Connection:
        return plain(self.connection)

    def _model(self, config: Mapping[str, object], sql: str) -> bridge.Model:
        config = {**options_of(self.connection), **config}
        quote = engine_of(self.connection).quote
        given = {key: value for key, value in config.items() if value is not None}
        given.setdefault("materialized", self.materialized)
        return bridge.open_model(
            name=self.name,
            adapter_type=adapter_of(self.connection),
            config=given,
            written=config,
            identifier=self.name,
            target=quote(self.name),
            sql=spoken(self.connection, sql),
            beside=lambda path: quote(path["identifier"]),
            known=frozenset(options_of(self.connection)),
        )

    def _planned(self, model: bridge.Model, *, full_refresh: bool, partial: str) -> Plan:
        kinds = tables_of(self.connection)
        return bridge.make_plan(
            model=model,
            ask=lambda query: self._plain.execute(query).fetchall(),
            target_exists=self.name in kinds,
            target_is_view=kinds.get(self.name) == "VIEW",
            companion_exists=model.relations.companion_identifier in kinds,
            full_refresh=full_refresh,
            partial=partial,
            beside=list(kinds),
            schema=list(kinds),
        )

    def run(
        self,
        config: Mapping[str, object],
        *,
        sql: str = "select * from feed",
        full_refresh: bool = False,
        partial: str = "",
    ) -> Outcome:
        """Plan and run in one transaction; a refused run is rolled back and raises."""
        model = self._model(config, sql)
        self._finish(model, full_refresh=full_refresh)
        lock = bridge.lock(model=model)
        if not lock:
            return self.execute(self._planned(model, full_refresh=full_refresh, partial=partial))
        with self._transaction():
            self._plain.execute(lock)
            plan = self._planned(model, full_refresh=full_refresh, partial=partial)
            outcome = bridge.run_plan(plan=plan, send=self._send)
        self._close(plan)
        return outcome

    def _finish(self, model: bridge.Model, *, full_refresh: bool) -> None:
        """Finish a run that was stopped before, where that can have left something."""
        if engine_of(self.connection).transactions:
            return
        plan = bridge.unfinished(
            model=model,
            companion_exists=model.relations.companion_identifier in tables_of(self.connection),
            full_refresh=full_refresh,
            ask=lambda query: self._plain.execute(query).fetchall(),
        )
        if plan:
            self.execute(plan)

    def reset_streams(self, streams: Sequence[str] | str | None) -> str:
        """Forget how far streams were read, as the operation does, and return what was done."""
        model = self._model({"materialized": "append_flow"}, "select 1")
        plan = operations.plan_reset(
            model=model,
            ask=lambda query: self._plain.execute(query).fetchall(),
            companion_exists=model.relations.companion_identifier in tables_of(self.connection),
            streams=streams,
        )
        self.execute(plan)
        return plan.action

    def execute(self, plan: Plan) -> Outcome:
        """Run a plan in one transaction; a refused run is rolled back and raises."""
        with self._transaction():
            outcome = bridge.run_plan(plan=plan, send=self._send)
        self._close(plan)
        return outcome

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        if not engine_of(self.connection).transactions:
            yield
            return
        self._plain.execute(bridge.begin(adapter_type=adapter_of(self.connection)) or "begin")
        try:
            yield
        except BaseException:
            self._plain.execute("rollback")
            raise
        self._plain.execute("commit")

    def _close(self, plan: Plan) -> None:
        for step in plan.closing:
            self._plain.execute(step.text)

    def _send(self, name: str, sql: str) -> Sent:
        del name
        self.statements += 1
        cursor = self._plain.execute(sql)
        columns = [column[0] for column in cursor.description or ()]
        rows = cursor.fetchall()
        if columns == ["Count"] and rows:
            return Sent(count=int(rows[0][0]))
        if isinstance(cursor, Result) and not columns:
            return Sent(count=cursor.rowcount)
        return Sent(row=dict(zip(columns, rows[0], strict=True)) if rows else {})

    def turn(self) -> str:
        """Return which run wrote last, with its note; nothing where no target was built to the end."""
        if f"{self.name}__auto_cdc" not in tables_of(self.connection):
            return ""
        companion = engine_of(self.connection).quote(f"{self.name}__auto_cdc")
        noted = f"select __auto_cdc_control from {companion} where __auto_cdc_kind = 'journal'"
        built = f"exists (select 1 from {companion} where __auto_cdc_kind = 'control')"
        found = self._plain.execute(f"{noted} and {built}").fetchone()
        return str(found[0]) if found else ""

    def rows(self) -> list[dict[str, object]]:
        """Return the target's rows."""
        cursor = self._plain.execute(f"select * from {engine_of(self.connection).quote(self.name)}")
        columns = [column[0] for column in cursor.description or ()]
        return [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]


def has_written(target: Direct, before: str = "") -> bool:
    """Tell whether all is written by a run that was stopped, so that it had only to drop working tables.

    `before` is what `turn` gave before that run.
    """
    turn = target.turn()
    return turn != before and not journal.is_left(turn)
