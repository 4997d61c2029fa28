"""The flows of a model that has several: what each may be set to, and which of them a run reads.

Not here: how flows stand in a model's SQL (`blocks`), and how their rows become one feed (`gather`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from dbt_auto_cdc.blocks import Block
from dbt_auto_cdc.errors import listed
from dbt_auto_cdc.resolve import as_events
from dbt_auto_cdc.spec import (
    EXPECTATIONS,
    OPTIONS,
    SCD1,
    AppendFlow,
    AutoCdc,
    AutoCdcSnapshot,
    CdcFlow,
    SnapshotFlow,
    build,
    partial_options,
    read_options,
    unfit_expectations,
    unknown_options,
    unquoted,
)

OF_CHANGES = {option.name: option for option in fields(CdcFlow)}
OF_SNAPSHOTS = {option.name: option for option in fields(SnapshotFlow)}
_LISTS = ("column_list", "except_column_list")


@dataclass(frozen=True)
class Flow:
    """One flow: the model's options with its own laid over them, parsed; names are not yet matched with columns.

    `shares_columns` says that its lists of columns are those of the model, which are for other flows as well.
    """

    name: str
    spec: AutoCdc | AutoCdcSnapshot
    once: bool
    shares_columns: bool
    sql: str = ""

    @property
    def is_snapshot(self) -> bool:
        """Whether its rows are whole dumps."""
        return isinstance(self.spec, AutoCdcSnapshot)


# Options


def parse_flows(
    blocks: Sequence[Block],
    config: Mapping[str, object],
    meta: Mapping[str, object],
    *,
    known: frozenset[str] = frozenset(),
    elsewhere: frozenset[str] | None = None,
) -> tuple[tuple[Flow, ...], list[str]]:
    """Return a model's flows with their options, and every problem found, of the model's own options too.

    The model's options are those of `spec.parse`, and defaults for its flows.
    """
    written, problems = read_options(config, meta, known=known, elsewhere=elsewhere, materialized="auto_cdc")
    flows, wrong = list[Flow](), dict[str, list[str]]()
    for block in blocks:
        flow, wrong[block.name] = _flow(block, written, problems)
        flows += [flow] if flow else []
    problems += by_flow(wrong)
    problems += _repeated(blocks)
    if not problems:
        problems = [*_together(flows), *_of_expectations(flows, written)]
    return tuple(flows), problems


def _of_expectations(
    flows: Sequence[Flow], written: Mapping[str, object], of_table: AppendFlow | None = None
) -> list[str]:
    """Return what is wrong with the expectations of flows together; `of_table` has options that flows have not."""
    dumps, problems = [flow.name for flow in flows if flow.is_snapshot], list[str]()
    if dumps and "expect_all_or_drop" in written:
        problems.append(
            f"expect_all_or_drop would drop rows of flow {listed(dumps)} as well, which has whole dumps, and a row that"
            f" is dropped from a dump would read as a delete; write it in the flows of changes"
        )
    options: dict[str, set[str]] = {}
    for flow in flows:
        for one in flow.spec.expectations:
            options.setdefault(one.name.lower(), set()).add(one.option)
    problems += [
        f"expectation {name} is set in {listed(sorted(found))} by different flows; give each its own name"
        for name, found in options.items()
        if len(found) > 1
    ]
    of_changes = next((flow.spec for flow in flows if not flow.is_snapshot), None)
    return [*problems, *unfit_expectations(of_table or of_changes, [flow.spec for flow in flows])]


def parse_appends(
    blocks: Sequence[Block],
    config: Mapping[str, object],
    meta: Mapping[str, object],
    *,
    known: frozenset[str] = frozenset(),
    elsewhere: frozenset[str] | None = None,
) -> tuple[AppendFlow | None, tuple[Flow, ...], list[str]]:
    """Return the options of a model that appends the rows of several flows, the flows, and every problem found."""
    written, problems = read_options(
        config, meta, known=known, elsewhere=elsewhere, materialized="append_flow"
    )
    spec, wrong_values = build("append_flow", written, problems)
    problems += wrong_values
    flows, wrong = list[Flow](), dict[str, list[str]]()
    for block in blocks:
        flow, wrong[block.name] = _appended(block, written)
        flows += [flow] if flow else []
    of_flows = by_flow(
        {name: [text for text in texts if text not in problems] for name, texts in wrong.items()}
    )
    problems += [*of_flows, *_repeated(blocks)]
    problems = problems or _of_expectations(flows, written, spec)
    return (None if problems else spec), tuple(flows), problems


def _appended(block: Block, written: Mapping[str, object]) -> tuple[Flow | None, list[str]]:
    """Return one flow whose rows are appended, or what is wrong with it."""
    own = {name: value for name, value in block.options.items() if value is not None}
    once, allowed = (
        own.pop("once", False),
        {name: option for name, option in OF_CHANGES.items() if name in EXPECTATIONS},
    )
    problems = list(unknown_options({"once": None, **allowed}, own, "a flow that is appended").values())
    if not isinstance(once, bool):
        problems.append(f"once is {once!r}; write true or false")
    own, repeated = _with_expectations({name: own[name] for name in own if name in allowed}, written)
    spec, wrong = build("append_flow", {**written, **own}, problems)
    problems += [*repeated, *wrong]
    if problems:
        return None, problems
    return Flow(block.name, as_events(spec, ()), bool(once), True, block.sql), []


def _flow(
    block: Block, written: Mapping[str, object], unknown: Sequence[str]
) -> tuple[Flow | None, list[str]]:
    """Return one flow, or what is wrong with it."""
    own = {name: value for name, value in block.options.items() if value is not None}
    is_snapshot = "snapshot_version" in own
    allowed, materialized = (OF_SNAPSHOTS, "auto_cdc_snapshot") if is_snapshot else (OF_CHANGES, "auto_cdc")
    problems = _unknown(own, allowed, is_snapshot=is_snapshot)
    own = {name: value for name, value in own.items() if name in allowed}
    once = own.pop("once", False)
    if not isinstance(once, bool):
        problems.append(f"once is {once!r}; write true or false")
    shares_columns = not any(name in own for name in _LISTS)
    laid_over = (*OF_SNAPSHOTS, *_OF_THE_TABLE) if is_snapshot else (*OPTIONS,)
    inherited = {
        name: value
        for name, value in written.items()
        if name in laid_over and (shares_columns or name not in _LISTS)
    }
    own, repeated = _with_expectations(own, inherited)
    problems += repeated
    spec, wrong = build(materialized, {**inherited, **own}, [*unknown, *problems])
    problems += wrong
    if problems:
        return None, problems
    return Flow(block.name, spec, bool(once), shares_columns, block.sql), []


def _with_expectations(
    own: Mapping[str, object], inherited: Mapping[str, object]
) -> tuple[dict[str, object], list[str]]:
    """Return a flow's own options, the model's expectations beside its own, and which of both have one name."""
    merged, problems = dict(own), list[str]()
    of_model = {name.lower() for option in EXPECTATIONS for name in _mapping(inherited.get(option))}
    for option in EXPECTATIONS:
        expected = _mapping(own.get(option))
        repeated = [name for name in expected if str(name).lower() in of_model]
        problems += [
            f"expectation {name} is the model's too, and holds for every flow; give it another name"
            for name in repeated
        ]
        kept = {name: condition for name, condition in expected.items() if name not in repeated}
        if expected and option in inherited:
            merged[option] = {**_mapping(inherited[option]), **kept}
        elif repeated:
            merged.pop(option)
    return merged, problems


def _mapping(value: object) -> Mapping[str, object]:
    """Return a dictionary of expectations; what is none is refused where it is parsed."""
    return value if isinstance(value, Mapping) else {}


# What a snapshot flow takes over from the model, beside the options that it may have of its own.
_OF_THE_TABLE = ("stored_as_scd_type", "on_schema_change", "full_refresh", "change_data_feed")


def _unknown(own: Mapping[str, object], allowed: Mapping[str, object], *, is_snapshot: bool) -> list[str]:
    problems, rest = [], dict[str, object]()
    for name, value in own.items():
        if name in allowed:
            continue
        if is_snapshot and name in OF_CHANGES:
            problems.append(
                f"{name} is for changes, and snapshot_version makes its rows whole dumps; leave one out"
            )
        elif not is_snapshot and name in OF_SNAPSHOTS:
            problems.append(f"{name} is for whole dumps; set snapshot_version as well, or leave it out")
        elif name in OPTIONS:
            problems.append(f"{name} is an option of the whole model; write it in config(...)")
        else:
            rest[name] = value
    return [*problems, *unknown_options(allowed, rest, "a flow").values()]


def by_flow(problems: Mapping[str, Sequence[str]]) -> list[str]:
    """Return each problem once, with the flows that have it, unless all of several do: then it is the model's."""
    having: dict[str, list[str]] = {}
    for flow, texts in problems.items():
        for text in texts:
            having.setdefault(text, []).append(flow)
    are_several = len(problems) > 1
    return [
        text if are_several and len(flows) == len(problems) else f"flow {listed(flows)}: {text}"
        for text, flows in having.items()
    ]


def _repeated(blocks: Sequence[Block]) -> list[str]:
    folded = [block.name.lower() for block in blocks]
    return [
        f"{folded.count(name)} flows are called {name}; give each a name of its own"
        for name in dict.fromkeys(folded)
        if folded.count(name) > 1
    ]


def _together(flows: Sequence[Flow]) -> list[str]:
    """Return what is wrong with flows that are right each by itself."""
    problems = []
    dumps = [flow for flow in flows if flow.is_snapshot]
    if len(dumps) > 1:
        problems.append(
            f"flows {listed(flow.name for flow in dumps)} all have snapshot_version, and a target has one flow of whole"
            f" dumps at most; bring the dumps together in one flow"
        )
    if dumps and len(dumps) == len(flows):
        problems.append(
            "all it has are whole dumps; write materialized='auto_cdc_snapshot' and no flow, or add a flow of changes"
        )
    for flow in dumps:
        if flow.spec.stored_as_scd_type != SCD1:
            problems.append(
                f"flow {flow.name} has snapshot_version, and whole dumps go together with changes in SCD type 1 only;"
                f" set stored_as_scd_type to 1, or keep the dumps in a model of their own (auto_cdc_snapshot)"
            )
        leaving_out = {
            name for other in flows if isinstance(other.spec, AutoCdc) for name in partial_options(other.spec)
        }
        if leaving_out:
            problems.append(
                f"flow {flow.name} has snapshot_version, and {listed(sorted(leaving_out))} is for targets of changes"
                f" alone, because a whole dump leaves nothing out; keep the dumps in a model of their own"
                f" (auto_cdc_snapshot)"
            )
        assert isinstance(flow.spec, AutoCdcSnapshot)  # noqa: S101 - what is_snapshot says
        if flow.spec.snapshot_version.strip().lower() == "auto":
            problems.append(
                f"flow {flow.name} counts its dumps (snapshot_version auto), and a number of runs has no place in the"
                f" order of the changes; name the column or write the value that tells when a dump was taken"
            )
    return [*problems, *_other_keys(flows)]


def _other_keys(flows: Sequence[Flow]) -> list[str]:
    keys = {flow.name: tuple(unquoted(name.strip()).lower() for name in flow.spec.keys) for flow in flows}
    if len(set(keys.values())) < 2:
        return []
    shown = "; ".join(f"{name}: {listed(flow_keys)}" for name, flow_keys in keys.items())
    return [
        f"its flows have different keys ({shown}); they need the same, in the same order: rename them in the SELECTs"
    ]


# Which flows a run reads


def read_by(flows: Sequence[Flow], done: Sequence[str], partial: str) -> tuple[Flow, ...]:
    """Return the flows that a run reads: not those that `done` has, nor, from a part of the source, what must be whole.

    `partial` is the flag under which a run beside a target that is there reads a part of its source, if it does.
    """
    return tuple(
        flow
        for flow in flows
        if not (flow.once and flow.name in done) and not (partial and (flow.once or flow.is_snapshot))
    )


def told(flow: Flow, reads: Sequence[Flow], done: Sequence[str]) -> str:
    """Return what a run does with a flow, for a person."""
    what = "whole dumps" if flow.is_snapshot else "changes"
    if isinstance(flow.spec, AutoCdc) and flow.spec.appends:
        what = "rows"
    if flow.once:
        what += ", once"
    if flow in reads:
        return f"{flow.name}: {what}"
    return f"{flow.name}: {what}, {'read by an earlier run' if flow.name in done else 'left out'}"
