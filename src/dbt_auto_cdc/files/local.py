"""Lists the files of a folder of this machine for DuckDB, which is embedded here: by itself it looks at each of them.

Not here: which of them are to be read (`duckdb`, `reading`).
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager


def names_of(pattern: str) -> list[str] | None:
    """Return the files that a pattern names, each path as DuckDB's `glob` has it; None where that is left to DuckDB.

    A folder without marks and `*` and `?` in the name are what is listed here. A folder that is not there has no files.
    """
    folder, _, name = pattern.rpartition("/")
    is_simple = not set(folder) & set("*?[\\~") and not set(name) & set("[\\") and set(name) & set("*?")
    is_plain = "//" not in pattern and not {".", ".."} & set(folder.split("/"))
    if os.sep != "/" or not is_simple or not is_plain or "**" in name:
        return None
    marks = {"*": ".*", "?": "."}
    fits = re.compile("".join(marks.get(sign, re.escape(sign)) for sign in name), re.DOTALL).fullmatch
    before = pattern[: len(pattern) - len(name)]
    try:
        with os.scandir(before or ".") as entries:
            found = [before + entry.name for entry in entries if fits(entry.name) and entry.is_file()]
        return found if _is_text("".join(found)) else None
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError:
        return None


def _is_text(names: str) -> bool:
    """Whether names are text, without line breaks: a file's name may be any bytes."""
    try:
        names.encode()
    except UnicodeEncodeError:
        return False
    return "\n" not in names


@contextmanager
def listings(patterns: Sequence[str]) -> Iterator[dict[str, str]]:
    """Give, for patterns that are listed here, a file with the names, one on each line; gone afterwards."""
    with ExitStack() as stack:
        found = {}
        for pattern in patterns:
            listed = names_of(pattern)
            if listed is not None:
                file = stack.enter_context(tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8"))
                file.write("\n".join(listed))
                file.flush()
                found[pattern] = file.name
        yield found
