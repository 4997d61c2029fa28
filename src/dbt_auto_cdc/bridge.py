"""What Jinja and the plugin may call: options in, plan out; a sender in, figures out.

Not here: dbt (only `plugin` imports it) and decisions, which live behind `plan`.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dbt_auto_cdc import (
    blocks,
    copied,
    event_log,
    names,
    operations,
    reading,
    reads,
    served,
    sources,
    streams,
    table_changes,
)
from dbt_auto_cdc.blocks import Block
from dbt_auto_cdc.engines import engine_for, required
from dbt_auto_cdc.engines.base import Engine
from dbt_auto_cdc.errors import AutoCdcError, did_you_mean
from dbt_auto_cdc.event_log import Entry
from dbt_auto_cdc.execute import Outcome, Send, Sent, Tell, execute
from dbt_auto_cdc.files import reading as file_reading
from dbt_auto_cdc.flows import Flow, parse_appends, parse_flows
from dbt_auto_cdc.materializations import append_flow, auto_cdc, auto_cdc_snapshot, journal
from dbt_auto_cdc.materializations import replace as replace_rows
from dbt_auto_cdc.materializations.tables import Table
from dbt_auto_cdc.materializations.version_query import (
    NO_VERSION,
    VERSION,
    Turns,
    last_version,
    look_up,
    relation,
)
from dbt_auto_cdc.observe import Existing, columns_of, notes_of, observe, there_now
from dbt_auto_cdc.plan import Plan
from dbt_auto_cdc.reads import Read
from dbt_auto_cdc.rectangles import overlapping_rectangles
from dbt_auto_cdc.relations import (
    beside_identifiers,
    companion_identifier,
    files_identifier,
    relations_of,
    working_relation,
)
from dbt_auto_cdc.spec import DBT_OPTIONS, SPECS, AutoCdcSnapshot, Spec, options_of, parse, written_option
from dbt_auto_cdc.sql import indented, without_semicolon
from dbt_auto_cdc.state import Ask, Relations, Rows, State

MATERIALIZATIONS = frozenset(SPECS)
_PLANS = {
    "auto_cdc": auto_cdc.plan,
    "auto_cdc_snapshot": auto_cdc_snapshot.plan,
    "replace_using": replace_rows.plan_using,
    "replace_where": replace_rows.plan_where,
    "recomputed_table": replace_rows.plan_where,
    "append_flow": append_flow.plan,
}

_ONE_QUERY = (
    "its rows come from one query, and it has flows; bring them together in one SELECT with union all"
)
_NO_FLOWS = {
    "auto_cdc_snapshot": "it has flows, which work in auto_cdc and append_flow; for whole dumps beside changes write"
    " materialized='auto_cdc', and snapshot_version as an option of the flow with the dumps",
    "replace_using": _ONE_QUERY,
    "replace_where": _ONE_QUERY,
    "recomputed_table": _ONE_QUERY,
}


@dataclass
class Model:
    """One model, ready to be observed: what Jinja carries from one call to the next.

    Where it has flows, `spec` is that of one of them, for what they have in common. `run` tells the run that is planned
    from all others, where it is no transaction. `answers` are what was asked already, a moment before it is planned;
    they are used up by that, and nothing else of a model changes.
    """

    name: str
    materialized: str
    spec: Spec
    engine: Engine
    relations: Relations
    sql: str
    flows: tuple[Flow, ...] = ()
    run: str = ""
    answers: dict[str, Rows] = field(default_factory=dict)

    @property
    def feeds(self) -> bool:
        """Whether a run writes its changes down."""
        return self.spec.change_data_feed

    @property
    def quarantines(self) -> bool:
        """Whether rows that expectations drop are kept."""
        return not isinstance(self.spec, AutoCdcSnapshot) and self.spec.expectations_quarantine

    def afresh(self, relation: str) -> str:
        """Return the statement to send before a table is read that others may have written since; there may be none."""
        return self.engine.afresh(relation)


def config_problems(  # noqa: PLR0913 - one call from the plugin, all by name
    *,
    materialized: str,
    config: Mapping[str, object],
    meta: Mapping[str, object],
    adapter_options: frozenset[str],
    elsewhere: frozenset[str],
    raw_code: str,
    noted_flows: Sequence[Mapping[str, Any]] = (),
    noted_reads: Sequence[Mapping[str, Any]] = (),
    language: str = "sql",
) -> tuple[list[str], list[str]]:
    """Return the problems and the warnings of one model's configuration, without looking at any table.

    `adapter_options` are the names that dbt and the adapter declare, `elsewhere` those that somebody else in the
    project uses: what is neither is refused. `noted_flows` are the model's flows as its macro noted them, `noted_reads`
    the relations that it reads step by step.
    """
    wrong_reads = reads.problems_of([Read.of(noted) for noted in noted_reads], materialized)
    if materialized not in SPECS and not noted_flows:
        return wrong_reads, []
    if language != "sql":
        return [sources.python_problem(materialized)], []
    found = [Block.of(noted) for noted in noted_flows]
    _, _, problems = _parsed(materialized, config, meta, found, known=adapter_options, elsewhere=elsewhere)
    version, query = (written_option(config, name, meta) for name in ("snapshot_version", "version_query"))
    doubts = [*sources.doubts(materialized, version, raw_code), *sources.unread_version(query, raw_code)]
    if materialized == "append_flow" and not noted_reads:
        doubts += sources.read_again(
            raw_code, are_once=bool(found) and all(b.options.get("once") for b in found)
        )
    return [*problems, *wrong_reads], doubts


def open_model(  # noqa: PLR0913 - one call from Jinja, all by name
    *,
    name: str,
    adapter_type: str,
    config: Mapping[str, Any],
    written: Mapping[str, object],
    identifier: str,
    target: str,
    sql: str,
    beside: Callable[..., object],
    known: frozenset[str] = frozenset(),
    current_version: str = "",
    replace_where_overrides: object = None,
    overridable: Sequence[str] = (),
    cloned_from: str = "",
) -> Model:
    """Return a model with parsed options and the names of its relations.

    `config` is dbt's whole configuration of the model, `written` what the user set of it (dbt fills in the rest);
    `beside(path={"identifier": ...})` gives a relation in the target's schema; `known` are the option names that
    dbt and the adapter declare; `current_version` is the relation that holds the version that a version query gave;
    `replace_where_overrides` gives models among `overridable` another predicate for this
    run; `cloned_from` is what `clone_companions` has to be told of the schema to which dbt defers. Raises
    `AutoCdcError` for every problem of the configuration at once.
    """
    engine = required(adapter_type, name).configured(config, name)
    materialized = str(config.get("materialized", "auto_cdc"))
    known_options = options_of(materialized)
    options = {
        key: value
        for key, value in config.items()
        if key in written or (key in known_options and key not in DBT_OPTIONS)
    }
    overrides, misled = _overrides(replace_where_overrides, overridable)
    if materialized == "replace_where" and name in overrides:
        options["replace_where"] = overrides[name]
    sql = without_semicolon(sql, escapes=engine.escapes)
    found = blocks.cut(name, sql)
    spec, flows, problems = _parsed(materialized, options, config.get("meta"), found, known=known)
    problems += misled if materialized == "replace_where" else []
    problems += reads.problems_of(reads.cut(sql), materialized)
    problems += _reads_of_dumps(flows)
    if spec is not None:
        problems += served.problems_of(engine, spec, flows=flows, reads=reads.cut(sql))
    if problems:
        raise AutoCdcError(name, problems)
    relations = relations_of(adapter_type, identifier, target=target, beside=beside)
    described = names.of_run(names.DESCRIBED, _new_run(engine))
    engine = replace(engine, scratch=working_relation(engine, identifier, described, target=target))
    if cloned_from:
        relations = replace(relations, cloned_from=cloned_from)
    if isinstance(spec, AutoCdcSnapshot) and spec.version_query:
        if target in spec.version_query:
            raise AutoCdcError(name, [_RENDERED_TOO_EARLY])
        spec = replace(spec, snapshot_version=f"(select {VERSION} from {current_version})")
    return Model(name, materialized, spec, engine, relations, sql, flows)


def _parsed(  # noqa: PLR0913 - what spec.parse takes, and the flows
    materialized: str,
    options: Mapping[str, object],
    meta: Mapping[str, object] | None,
    found: Sequence[Block],
    *,
    known: frozenset[str],
    elsewhere: frozenset[str] | None = None,
) -> tuple[Any, tuple[Flow, ...], list[str]]:
    """Return a model's options, its flows, and every problem found; the options of flows are those of the first."""
    if not found:
        spec, problems = parse(options, meta, known=known, elsewhere=elsewhere, materialized=materialized)
        return spec, (), problems
    if materialized == "append_flow":
        return parse_appends(found, options, meta or {}, known=known, elsewhere=elsewhere)
    if materialized != "auto_cdc":
        return (
            None,
            (),
            [
                _NO_FLOWS.get(
                    materialized, f"its flows need materialized='auto_cdc', and it is a {materialized}"
                )
            ],
        )
    flows, problems = parse_flows(found, options, meta or {}, known=known, elsewhere=elsewhere)
    of_changes = [flow.spec for flow in flows if not flow.is_snapshot]
    return (of_changes[0] if of_changes else None), flows, problems


def _reads_of_dumps(flows: Sequence[Flow]) -> list[str]:
    """Return what is wrong with the reads in flows of whole dumps."""
    return [problem for flow in flows if flow.is_snapshot for problem in _wrong_reads(flow.name, flow.sql)]


def _wrong_reads(flow_name: str, sql: str) -> list[str]:
    """Return what is wrong with the reads of a flow of whole dumps."""
    found = reads.problems_of(reads.cut(sql), "auto_cdc_snapshot")
    return [f"flow {flow_name}: {problem}" for problem in found]


_RENDERED_TOO_EARLY = (
    "version_query names the model itself, for dbt rendered it before it knew the project; write Jinja inside it as"
    " text: version_query=\"select min(loaded_at) from {{ ref('dumps') }} where ...\""
)


def _overrides(given: object, overridable: Sequence[str]) -> tuple[Mapping[str, object], list[str]]:
    """Return the predicates that models have for one run, and what is wrong with them."""
    if not given:
        return {}, []
    if not isinstance(given, Mapping):
        example = '{<model>: "<condition>"}'
        return {}, [f"the variable replace_where_overrides is {given!r}; write {example}"]
    unknown = [str(name) for name in given if name not in overridable]
    return given, [
        f"the variable replace_where_overrides names {name}, which is no model materialized as replace_where;"
        f" {did_you_mean(name, overridable)}"
        for name in unknown
    ]


def make_plan(  # noqa: PLR0913 - one call from Jinja, all by name
    *,
    model: Model,
    ask: Ask,
    target_exists: bool,
    companion_exists: bool,
    target_is_view: bool = False,
    full_refresh: bool = False,
    contract_sql: str = "",
    partial: str = "",
    waits: bool = False,
    beside: Sequence[str] = (),
    schema: Sequence[str] = (),
    run_id: str = "",
) -> Plan:
    """Observe through `ask`, which answers one query with its rows, and return the plan of the next run.

    `partial` names the flag, `--empty` or `--sample`, under which the model reads a part of its source; `waits` tells
    that a version query found no snapshot, so that the model has no rows whatever its SQL says; `beside` names what
    there is beside the target, of what may be there, and `schema` all tables of its schema, among which may be what
    other runs left; `run_id` is dbt's name of the run.
    """
    model, ask = replace(model, run=_new_run(model.engine)), _answered(model.answers, ask)
    rebuilt = full_refresh and model.spec.full_refresh is not False
    existing = Existing(
        target=target_exists,
        companion=companion_exists,
        target_is_view=target_is_view,
        rebuilt=rebuilt,
        changes=model.relations.changes_identifier in beside,
        quarantine=model.relations.quarantine_identifier in beside,
    )
    existing = replace(existing, **there_now(model, ask))
    existing = replace(existing, quarantine=model.quarantines and existing.quarantine)
    if existing.target_is_view and existing.companion and not rebuilt:
        raise AutoCdcError(model.name, [_refused_clone(model.relations, model.engine)])
    if waits:
        model = replace(model, sql=f"select * from (\n{indented(model.sql)}\n) as nothing where false")
    spec, state = observe(model, existing, ask, partial)
    state = replace(
        state,
        full_refresh=full_refresh,
        contract_sql=contract_sql,
        partial=partial,
        waits=waits,
        run_id=run_id,
        left_over=_left_over(model, schema, run_id),
    )
    if journal.is_left(state.turn) and not rebuilt:
        raise AutoCdcError(model.name, [_refused_note(model, state)])
    return _PLANS[model.materialized](Table(model.name, spec, state, model.relations, model.engine))


def _answered(answers: dict[str, Rows], ask: Ask) -> Ask:
    """Return a way to ask that gives an answer which is there already, once."""
    return lambda query: answers.pop(query) if query in answers else ask(query)


def _new_run(engine: Engine) -> str:
    """Return what tells a run from all others; nothing where it is a transaction, which needs no such thing."""
    return "" if engine.transactions else secrets.token_hex(names.RUN_BYTES)


def tables_in(*, model: Model, adapter: Any, database: str | None, schema: str) -> list[str]:
    """Return the names of a schema's tables as dbt has them in its cache, where runs that are stopped leave some.

    dbt gives Jinja no way to ask for them but by name, so that its wrapper of the adapter is looked into; without what
    is there, nothing is found and tables stay until somebody drops them.
    """
    listed = getattr(getattr(adapter, "_adapter", None), "list_relations", None)
    if model.engine.transactions or listed is None:
        return []
    return [str(relation.identifier) for relation in listed(database, schema) if not relation.is_view]


def look_again(*, adapter_type: str, adapter: Any, relation: Any) -> None:
    """Let dbt know the tables in a relation's schema that others made since it looked, or a run that is begun again.

    Where a run is a transaction the engine is asked for them anyhow, and of its own none is left.
    """
    engine, inner = engine_for(adapter_type), getattr(adapter, "_adapter", None)
    if inner is None or engine is None or engine.transactions:
        return
    for found in inner.list_relations_without_caching(relation.without_identifier()):
        inner.cache_added(found)


def _left_over(model: Model, schema: Sequence[str], run_id: str) -> tuple[str, ...]:
    """Return the working tables of other runs among the tables of a schema."""
    engine, there = model.engine, model.relations
    return tuple(
        engine.working(name, there.target)
        for name in sorted(schema)
        if names.is_of_a_run(name, there.identifier, engine.identifier_limit)
        and not name.endswith(names.told_by(run_id))
    )


def begin(*, adapter_type: str) -> str:
    """Return the statements that open a transaction where dbt does not; empty where it does."""
    engine = engine_for(adapter_type)
    return engine.begin if engine else ""


def lock(*, model: Model) -> str:
    """Return the statement with which a run waits for another one of its model; empty where the engine needs none."""
    return model.engine.lock(model.relations.target, model.relations.companion)


def unfinished(*, model: Model, companion_exists: bool, full_refresh: bool, ask: Ask) -> Plan | None:
    """Return the plan that finishes an earlier run which was stopped; None where there is none.

    Only where the engine has no transactions: elsewhere such a run has done nothing. What is built anew anyhow need not
    be finished, nor can it always be: somebody may have dropped the working tables.
    """
    if model.engine.transactions or not companion_exists or full_refresh:
        return None
    companion, answers = model.relations.companion, dict[str, Rows]()

    def noted(query: str) -> Rows:
        answers[query] = ask(query)
        return answers[query]

    columns = {column.name.lower() for column in columns_of(model.engine, noted, companion)}
    if not {names.KIND, names.CONTROL} <= columns:
        return None
    turns = [str(note) for kind, note in notes_of(companion, noted) if kind == names.JOURNAL]
    plan = journal.finished(model.engine, model.name, companion, turn=turns[0], ask=ask) if turns else None
    if plan is None:
        # Nothing was done since, so that planning need not ask once more.
        model.answers.update(answers)
    return plan


def statements(*, adapter_type: str, sql: str) -> list[str]:
    """Return the statements of a text, in their order; the last of those that `gives_rows` has its rows."""
    engine = engine_for(adapter_type)
    return engine.statements(sql) if engine else [sql]


def gives_rows(*, adapter_type: str, sql: str) -> bool:
    """Tell whether one may ask for the rows of a statement."""
    engine = engine_for(adapter_type)
    return engine is None or engine.gives_rows(sql)


def _refused_clone(there: Relations, engine: Engine) -> str:
    """A view is a fresh clone: what stands beside it was the companion of the table before, or fits no more."""
    operation = f"dbt run-operation auto_cdc.clone_companions --args '{{{there.cloned_from}}}'"
    copied = f"give it that of its original ({operation}), or " if engine.transactions else ""
    return (
        f"{there.target} is a view, so it was cloned, and its companion {there.companion} need not fit it;"
        f" {copied}rebuild it with --full-refresh"
    )


def _refused_note(model: Model, state: State) -> str:
    """A run has something left to write; where runs are transactions, one on the engine that it was copied from."""
    if not model.engine.transactions:
        return journal.IS_WRITING
    writer = state.control.engine if state.control is not None else copied.ANOTHER
    return (
        f"{model.relations.companion} was copied from {writer} when a run there had not written everything; run the"
        f" model there, and copy target and companion again"
    )


def flow(  # noqa: PLR0913 - one call from Jinja, all by name
    *,
    model: str,
    adapter_type: str,
    before: list[dict[str, object]],
    name: object,
    options: Mapping[str, object],
    others: Sequence[object],
    sql: object,
) -> str:
    """Return a flow of a model as a part of its SELECT, and note it in `before`, which has those that stand before it.

    `others` are what was given without a name, `sql` is None where there is no block. Raises `AutoCdcError` for what
    cannot be written down; what the options mean is for `open_model` to say.
    """
    engine = engine_for(adapter_type)
    block = blocks.noted(model, name, sql, options=options, others=others)
    # Only here is it known while dbt parses which reads stand in which flow.
    wrong = _wrong_reads(block.name, block.sql) if options.get("snapshot_version") is not None else []
    if wrong:
        raise AutoCdcError(model, wrong)
    union = (engine.union if engine else Engine.union) if before else ""
    before.append(block.noted)
    sql = without_semicolon(block.sql, escapes=engine is not None and engine.escapes)
    return blocks.marked(replace(block, sql=sql), union)


def has_bounds(*, config: Mapping[str, Any], adapter_type: str, target: str, ask: Ask) -> bool:
    """Tell whether a target that is there has the bounds it needs; without them the next run builds it anew."""
    engine = engine_for(adapter_type)
    bounds = names.bounds_of(str(written_option(config, "stored_as_scd_type")).lower())
    if config.get("materialized") == "append_flow":
        bounds = {names.RUN}
    if not bounds or engine is None:
        return True
    columns = {column.name.lower() for column in columns_of(engine.configured(config, target), ask, target)}
    return bounds <= columns


def refuse_swap(*, model: Model, plan: Plan) -> None:
    """Refuse a plan that puts another table in the target's place: called where a foreign key forbids it."""
    there = model.relations
    if model.engine.rename_table(there.rebuilt_target, there.identifier) in {step.sql for step in plan.steps}:
        problem = (
            f"its contract has a foreign key, and {model.engine.name} cannot put a table with one in the place of"
            f" another ({plan.action}); drop {there.target} and {there.companion} yourself and run again, or leave the"
            f" foreign key out of the contract"
        )
        raise AutoCdcError(model.name, [problem])


def turns(*, model: Model, entry: Entry, partial: str = "", run_id: str = "") -> Turns:
    """Return the turns of a run: as many as a version query returns versions, else one.

    Of a run that is repeated, those that are left.
    """
    asks = isinstance(model.spec, AutoCdcSnapshot) and model.spec.version_query is not None
    return entry.takes(
        Turns(model.name, model.relations, model.engine, asks=asks, partial=bool(partial), run_id=run_id)
    )


def ask_version(*, turns: Turns, query: str, applying: bool, ask: Ask, send: Send) -> None:
    """Ask a version query for the next version; `applying` tells whether the target that is there goes on."""
    look_up(
        turns, without_semicolon(query, escapes=turns.engine.escapes), applying=applying, ask=ask, send=send
    )


def version_relation(*, adapter_type: str, identifier: str, target: str, last: bool, run_id: str) -> str:
    """Return the relation that holds the last version applied, or the one to be applied, while a model runs."""
    engine = required(adapter_type, identifier)
    return relation(engine=engine, identifier=identifier, target=target, last=last, run_id=run_id)


def run_plan(*, plan: Plan, send: Send, tell: Tell | None = None, entry: Entry | None = None) -> Outcome:
    """Send the plan's statements through `send` and return the figures and warnings; `tell` shows progress.

    `entry` is the run's in the event log, where it has one.
    """
    outcome = Outcome()
    if entry is not None:
        entry.begins(plan, outcome)
    return execute(plan, send, tell, outcome, passed=entry.seconds if entry else 0.0)


def sent(result: Mapping[str, Any]) -> Sent:
    """Return what dbt's result of a statement says: its first row by column name, and how many rows it wrote.

    Adapters give the number as the response's `rows_affected`, or as the only row of a table with column Count.
    """
    table = result["table"]
    row = dict(zip(table.column_names, table.rows[0], strict=True)) if len(table.rows) else {}
    written = row.get("Count", result["response"].rows_affected)
    return Sent(row, int(written or 0))


EXPORTS: dict[str, Callable[..., object]] = {
    **event_log.EXPORTS,
    **operations.EXPORTS,
    **reading.EXPORTS,
    **sources.EXPORTS,
    **table_changes.EXPORTS,
    **streams.EXPORTS,
    **file_reading.EXPORTS,
    "open_model": open_model,
    "companion_identifier": companion_identifier,
    "files_identifier": files_identifier,
    "beside_identifiers": beside_identifiers,
    "flow": flow,
    "begin": begin,
    "lock": lock,
    "tables_in": tables_in,
    "look_again": look_again,
    "unfinished": unfinished,
    "statements": statements,
    "gives_rows": gives_rows,
    "make_plan": make_plan,
    "overlapping_rectangles": overlapping_rectangles,
    "has_bounds": has_bounds,
    "refuse_swap": refuse_swap,
    "run_plan": run_plan,
    "sent": sent,
    "turns": turns,
    "ask_version": ask_version,
    "version_relation": version_relation,
    "last_version": last_version,
    "no_version": lambda: NO_VERSION,
    "written_option": written_option,
}
