"""What commands need of dbt and macros cannot reach: the models of the project, and a model's own Jinja context.

Not here: what is done with a model (macros) and what is printed about it (`explain`). A run needs none of this.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from dbt_auto_cdc.errors import AutoCdcError, did_you_mean, listed


def find_models(nodes: Mapping[str, Any], kinds: frozenset[str], wanted: Sequence[str] | None) -> list[Any]:
    """Return the models that are materialized as one of `kinds`: the wanted ones, or all, in order of their ids.

    A model is wanted by its name, `package.name`, or unique id, a version with `.v2` behind it. Raises
    `AutoCdcError` for a name that fits none, or more than one.
    """
    models = [
        node
        for _, node in sorted(nodes.items())
        if node.resource_type == "model" and node.config.get("materialized") in kinds
    ]
    if wanted is None:
        return models
    if isinstance(wanted, str):
        raise AutoCdcError(wanted, [f"models is the text {wanted!r}; write a list: [{wanted}]"])
    return [_find(name, models, nodes, kinds) for name in wanted]


def _find(name: str, models: Sequence[Any], nodes: Mapping[str, Any], kinds: frozenset[str]) -> Any:
    found = [node for node in models if name in _names(node)]
    if len(found) == 1:
        return found[0]
    if found:
        several = listed(node.unique_id for node in found)
        raise AutoCdcError(name, [f"the name fits {several}; write one of these"])
    others = [node for node in nodes.values() if node.resource_type == "model" and name in _names(node)]
    if others:
        kind = others[0].config.get("materialized")
        raise AutoCdcError(
            name, [f"it is materialized as {kind}; name a model materialized as {listed(sorted(kinds))}"]
        )
    near = did_you_mean(name, [node.name for node in models])
    raise AutoCdcError(name, [f"there is no such model; {near}"])


def _names(node: Any) -> set[str]:
    names = {node.unique_id, node.name, f"{node.package_name}.{node.name}"}
    version = getattr(node, "version", None)
    return names if version is None else names | {f"{name}.v{version}" for name in names}


def call_in_model(
    resolver: Any, node: Any, macro: str, *, full_refresh: bool, arguments: Mapping[str, object]
) -> object:
    """Compile a model and call one of our macros as the model's materialization would: with `model`, `this`, `config`.

    `resolver` is dbt's `ref`, which knows the project. dbt compiles models in commands that select nodes only, and a
    run-operation has no model; so this does for one model what `dbt run` does, up to the materialization. dbt is
    imported here, because planning has to work where there is none.
    """
    from dbt.compilation import Compiler
    from dbt.context.providers import generate_runtime_model_context

    compiled = copy.deepcopy(node)

    def context() -> dict[str, Any]:
        jinja: dict[str, Any] = generate_runtime_model_context(compiled, resolver.config, resolver.manifest)
        # A run-operation has no --full-refresh; `flags` is this context's own copy.
        jinja["flags"].FULL_REFRESH = full_refresh
        return jinja

    flags = {"flags": context()["flags"]}
    Compiler(resolver.config).compile_node(compiled, resolver.manifest, flags, write=False)
    return context()["auto_cdc"][macro](**arguments)
