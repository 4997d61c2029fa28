"""What models read: the files under a path, and what is doubtful about a model's query before it runs.

Not here: the options (`spec`), and what an engine makes of a path.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from dbt_auto_cdc.engines import engine_for
from dbt_auto_cdc.errors import AutoCdcError
from dbt_auto_cdc.resolve import words_of

_JINJA_COMMENT = re.compile(r"{#.*?#}", re.DOTALL)
# Words beside which nothing but a column could give a row a version of its own.
_FIXED = frozenset(
    ("as", "current_date", "current_timestamp", "null", "time", "timestamp", "with", "without", "zone")
)
_USED = re.compile(r"\b(is_incremental|is_applying)\s*\(")


def list_files(*, path: object, adapter_type: str, model: str) -> str:
    """Return the files under a path or glob as a relation for a FROM.

    Raises `AutoCdcError` for a path that is none, and where the engine lists no files.
    """
    engine = engine_for(adapter_type)
    if not isinstance(path, str) or not path.strip():
        problem = f"list_files is given {path!r}; write a folder, a file or a pattern such as 'dumps/*.csv'"
    elif query := engine.list_files(path) if engine else "":
        return f"(\n{query}\n)"
    else:
        problem = (
            f"list_files has no answer for adapter {adapter_type}, which lists no files in SQL; keep a table of the"
            f" files' names and select from that, or write a macro {adapter_type}__list_files(path) that returns a"
            f" relation with the columns path, name, size and modification_time"
        )
    raise AutoCdcError(model, [problem])


def python_problem(materialized: str) -> str:
    """Return why a Python model cannot have one of our materializations, and what to write instead."""
    return (
        f"a Python model cannot be materialized as {materialized}, which is planned from a SELECT; give it"
        f" materialized='table' and another name, and move these options to a SQL model that selects from it by ref"
    )


def doubts(materialized: str, snapshot_version: object, raw_code: str) -> list[str]:
    """Return what looks like a mistake in a model's SQL, as warnings: nothing is wrong until it runs."""
    used = set(_USED.findall(_JINJA_COMMENT.sub("", raw_code)))
    doubt = ""
    if used and materialized == "auto_cdc_snapshot" and _stands_for_all_rows(snapshot_version):
        doubt = (
            f"the SQL uses {' and '.join(sorted(used))}() and snapshot_version is {snapshot_version!r}, so the rows of"
            f" a run are one whole snapshot: what a later run filters out is taken for deleted; select everything, or"
            f" name a column in snapshot_version that tells which snapshot a row belongs to"
        )
    elif "is_incremental" in used:
        doubt = (
            "the SQL uses is_incremental(), which is always false in this materialization; write"
            " auto_cdc.is_applying()"
        )
    return [doubt] if doubt else []


def unread_version(version_query: object, raw_code: str) -> list[str]:
    """Return a warning where a model asks for versions and never reads the one that it was given."""
    if not version_query or "current_snapshot_version" in _JINJA_COMMENT.sub("", raw_code):
        return []
    doubt = (
        "version_query asks for one version after another, and the SQL never uses auto_cdc.current_snapshot_version(),"
        " so every version has the same rows; select those of (select version from"
        " {{ auto_cdc.current_snapshot_version() }})"
    )
    return [doubt]


def read_again(raw_code: str, *, are_once: bool) -> list[str]:
    """Return a warning where a model that appends reads everything in every run; `are_once` says that flows do not."""
    if are_once or "is_applying" in _JINJA_COMMENT.sub("", raw_code):
        return []
    return [
        (
            "append_flow adds every row that its SQL gives to the target, in each run again; read what is new with"
            " {{ auto_cdc.stream(ref('...'), offset='...') }}, or filter it with auto_cdc.is_applying()"
        )
    ]


def _stands_for_all_rows(snapshot_version: object) -> bool:
    """Whether a version is counted or fixed, as far as its words tell: columns are not known before a run."""
    if not isinstance(snapshot_version, str):
        return False
    words = {word.lower() for word in words_of(snapshot_version)}
    return words <= {"auto"} or words <= _FIXED


EXPORTS: dict[str, Callable[..., object]] = {"list_files": list_files}
