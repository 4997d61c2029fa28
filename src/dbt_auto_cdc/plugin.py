"""The way into dbt, and the only module that imports it: Jinja's `modules`, the macros folder, the parse hook.

What macros may call lives in bridge.py; nothing here decides anything about tables.

dbt instantiates the plugin once per command, in every project of the environment. So every patch is idempotent, and
a failure is noted and left to the macro `_python`, which speaks up only in the projects that need us.
"""

from __future__ import annotations

import os
import re
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import wraps
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dbt.context.base
from dbt.adapters.contracts.connection import AdapterResponse
from dbt.adapters.factory import get_config_class_by_name
from dbt.config.runtime import RuntimeConfig
from dbt.contracts.graph.model_config import NodeConfig
from dbt.events.types import JinjaLogInfo, JinjaLogWarning
from dbt.exceptions import ParsingError
from dbt.plugins.manager import dbtPlugin
from dbt_common.events.base_types import EventLevel
from dbt_common.events.contextvars import get_node_info
from dbt_common.events.functions import fire_event, warn_or_error
from dbt_common.events.types import Note
from dbt_common.exceptions import CompilationError, DbtBaseException

from dbt_auto_cdc import __version__
from dbt_auto_cdc.errors import AutoCdcError, message
from dbt_auto_cdc.names import FLOWS, READS

PACKAGE = "auto_cdc"


@dataclass
class AutoCdcResponse(AdapterResponse):
    """A result whose figures stand beside dbt's own fields in run_results.json."""

    figures: dict[str, Any] = field(default_factory=dict)

    def __post_serialize__(self, data: dict[str, Any], context: object = None) -> dict[str, Any]:
        """Lay the figures flat: this is dbt's hook behind `to_dict`, which itself is generated per class."""
        return {**{key: value for key, value in data.items() if key != "figures"}, **self.figures}


def response(
    message: str, figures: Mapping[str, int], expectations: Mapping[str, Mapping[str, int]] | None = None
) -> AutoCdcResponse:
    """Return what a materialization stores as `main`: `message` is shown in dbt's result line."""
    told: dict[str, Any] = {name: int(value) for name, value in figures.items()}
    if expectations:
        told["expectations"] = {name: dict(counts) for name, counts in expectations.items()}
    return AutoCdcResponse(_message=message, code="AUTO_CDC", figures=told)


def tell(line: str) -> None:
    """Show one line to the person who runs dbt: what a macro would do by `log`, and other than that from any thread."""
    fire_event(JinjaLogInfo(msg=line, node_info=get_node_info()))


def handshake(macro_version: str) -> None:
    """Refuse macros of another release: the two halves change together."""
    if macro_version != __version__:
        raise CompilationError(
            f"auto_cdc: the macros are of version {macro_version} and the Python package is of version {__version__}; "
            f"install the same version of both: `pip install dbt-auto-cdc=={macro_version}`, or set "
            f"`revision: v{__version__}` in packages.yml and run `dbt deps`, or leave the package out of packages.yml "
            f"(the Python package brings its macros along)"
        )


def guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Turn what `function` raises into the one exception that dbt shows with the model's name and file."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except AutoCdcError as error:
            raise CompilationError(str(error)) from None
        except DbtBaseException:
            raise
        except Exception as error:
            fire_event(Note(msg=traceback.format_exc()), level=EventLevel.DEBUG)
            raise CompilationError(
                f"auto_cdc: internal error in {function.__name__}: {error!r}; "
                f"please report it with the traceback from the debug log (logs/dbt.log)"
            ) from error

    return call


def install_bridge() -> None:
    """Add `modules.auto_cdc` to every Jinja context."""
    inner = dbt.context.base.get_context_modules
    if PACKAGE in inner():
        return
    from dbt_auto_cdc.bridge import EXPORTS
    from dbt_auto_cdc.engines import adapter_of

    def open_model(**arguments: Any) -> object:
        return EXPORTS["open_model"](
            **arguments, known=_declared_options(adapter_of(arguments["adapter_type"]))
        )

    exports: dict[str, Callable[..., Any]] = {
        **EXPORTS,
        "open_model": open_model,
        "response": response,
        "tell": tell,
        "handshake": handshake,
    }
    # A namespace and not a dict: on a dict, Jinja would take `.keys` and `.update` for the dict's own methods.
    namespace = SimpleNamespace(**{name: guarded(function) for name, function in exports.items()})

    @wraps(inner)
    def get_context_modules() -> dict[str, Any]:
        return {**inner(), PACKAGE: namespace}

    dbt.context.base.get_context_modules = get_context_modules


def install_macros() -> None:
    """Give our macros to projects that do not list the package in packages.yml; an installed copy wins."""
    inner = RuntimeConfig.load_projects
    if hasattr(inner, "_auto_cdc"):
        return

    @wraps(inner)
    def load_projects(self: Any, paths: Iterable[Path]) -> Iterator[tuple[str, Any]]:
        seen = {self.project_name}
        for name, project in inner(self, paths):
            seen.add(name)
            yield name, project
        if PACKAGE not in seen:
            yield from inner(self, [packaged_project()])

    load_projects._auto_cdc = True  # type: ignore[attr-defined]  # noqa: SLF001 - makes the patch idempotent
    RuntimeConfig.load_projects = load_projects


def packaged_project() -> Path:
    """Return the dbt project in the wheel, or the repository itself in an editable install."""
    carried = Path(__file__).parent / "dbt_project"
    return carried if (carried / "macros").is_dir() else Path(__file__).parents[2]


class AutoCdcPlugin(dbtPlugin):
    """What dbt finds: it discovers top-level modules called `dbt_*` that have `plugins`."""

    def initialize(self) -> None:
        """Patch dbt, once. Raising here would break every command of the environment."""
        for step in (install_bridge, install_macros):
            try:
                step()
            except Exception as error:  # noqa: BLE001 - see above
                fire_event(Note(msg=f"auto_cdc: {step.__name__} failed, dbt goes on without it: {error!r}"))

    def get_manifest_artifacts(self, manifest: Any) -> dict[str, Any]:
        """Validate all our models in one go, before dbt sends any SQL.

        dbt skips this hook with --no-write-json, `docs generate` and a manifest handed over: the materializations
        therefore validate again. A bad model stops every command of the project, as dbt's own parse errors do;
        AUTO_CDC_PARSE_VALIDATION=0 is the way round.
        """
        if os.environ.get("AUTO_CDC_PARSE_VALIDATION") != "0":
            problems, warnings = _findings(manifest)
            for warning in warnings:
                warn_or_error(JinjaLogWarning(msg=warning))
            if problems:
                way_round = "(AUTO_CDC_PARSE_VALIDATION=0 in the environment leaves this check to the models' own runs)"
                raise ParsingError("\n".join([*problems, way_round]))
        return {}

    # Not dbt's decorator: that one prefixes the hook's name and turns the error into a runtime error.
    get_manifest_artifacts.is_dbt_hook = True  # type: ignore[attr-defined]


def _findings(manifest: Any) -> tuple[list[str], list[str]]:
    from dbt_auto_cdc.bridge import MATERIALIZATIONS, config_problems

    problems: list[str] = []
    warnings: list[str] = []
    declared = _declared_options(manifest.metadata.adapter_type)
    elsewhere = _used_elsewhere(manifest, MATERIALIZATIONS)
    for node in manifest.nodes.values():
        flows = node.config._extra.get(FLOWS, ())  # noqa: SLF001 - see _user_config
        reads = node.config._extra.get(READS, ())  # noqa: SLF001 - see _user_config
        if node.config.get("materialized") not in MATERIALIZATIONS and not flows and not reads:
            continue
        try:
            wrong, doubtful = config_problems(
                materialized=node.config.materialized,
                config=_user_config(node),
                meta=dict(node.config.meta),
                adapter_options=declared,
                elsewhere=elsewhere,
                raw_code=node.raw_code,
                noted_flows=flows,
                noted_reads=reads,
                language=getattr(node, "language", "sql"),
            )
        except Exception:  # noqa: BLE001 - a fault of ours must not stop the project; the run reports it for the model
            fire_event(Note(msg=traceback.format_exc()), level=EventLevel.DEBUG)
            continue
        place = f"{node.name} ({node.original_file_path})"
        if wrong:
            problems.append(message(place, wrong))
        warnings += [message(place, [text]) for text in doubtful]
    return problems, warnings


def _user_config(node: Any) -> dict[str, object]:
    from dbt_auto_cdc.spec import DBT_OPTIONS

    # Attributes of dbt's own config class, which dbt fills in.
    own = {name: getattr(node.config, name) for name in DBT_OPTIONS if name in node.unrendered_config}
    return {**node.config._extra, **own}  # noqa: SLF001 - where dbt keeps the keys that it does not know


def _declared_options(adapter_type: str | None) -> frozenset[str]:
    """Return the names of the options that dbt and the adapter declare."""
    adapters = fields(get_config_class_by_name(adapter_type)) if adapter_type else ()
    return frozenset(option.name for option in (*fields(NodeConfig), *adapters))


_READ = re.compile(r"""config\.(?:get|require)\(\s*['"](\w+)""")


def _used_elsewhere(manifest: Any, ours: frozenset[str]) -> frozenset[str]:
    """Return the names of options that a macro reads (adapters declare few of theirs) or another model has."""
    read = {name for macro in manifest.macros.values() for name in _READ.findall(macro.macro_sql)}
    others = [node for node in manifest.nodes.values() if node.config.get("materialized") not in ours]
    return frozenset(read.union(*(node.config._extra for node in others)))  # noqa: SLF001 - see above
