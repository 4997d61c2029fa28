"""Writes the tables of options, made from the specification, into the pages that show them.

`make reference` calls it after a change of src/dbt_auto_cdc/spec.py or of an engine; tests/unit/test_readme.py fails
until then. The table of engines stands at `<!-- engines: made by make reference -->`, with links as they are in the
guides where it says so. A page
shows the options of a materialization where it has `<!-- options of NAME: made by make reference -->`; `the others`
stands for what the other materializations have beside those of `auto_cdc`; `arguments of read_files` are those of the macro.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any

from dbt_auto_cdc.engines import adapter_of, required, supported
from dbt_auto_cdc.files.options import Options
from dbt_auto_cdc.served import lacks
from dbt_auto_cdc.spec import DBT_OPTIONS, SPECS, options_of

ROOT = Path(__file__).resolve().parents[1]
PAGES = (ROOT / "README.md", ROOT / "docs" / "configuration.md", ROOT / "docs" / "guides" / "engines.md")
FIRST, OTHERS, FILES = "auto_cdc", "the others", "read_files"
PLACE = re.compile(
    r"(?P<start><!-- (?:options|arguments) of (?P<of>[\w ]+): made by make reference -->)\n.*?(?P<end><!-- end of options -->)",
    re.DOTALL,
)

ENGINES = re.compile(
    r"(?P<start><!-- engines(?P<inside> in the guides)?: made by make reference -->)\n.*?(?P<end><!-- end of engines -->)",
    re.DOTALL,
)
RENDERED = "rendered, parsed, not run"


@dataclass(frozen=True)
class Setup:
    """What a row of the table of engines stands for, how sure it is, and what facts of the engine do not say."""

    title: str
    adapter: str
    sure: str = RENDERED
    config: tuple[tuple[str, str], ...] = ()
    lacks: str = ""


SETUPS = (
    Setup("DuckDB", "duckdb", "**run**, on every change: all of this repository's tests"),
    Setup(
        "PostgreSQL 15 and 18",
        "postgres",
        "**run**: the worked examples, bad and odd input, changes of columns, random streams of events, reads step by"
        " step, expectations, change feeds, what dbt does around a model, two runs at once; a part of it with 18 on every change, all of it with both"
        " by `make test-postgres`",
        lacks="struct columns (PostgreSQL has named row types only), so no leaf-by-leaf partial updates; `boolean`,"
        " `uuid` and `citext` as sequences; keys of type `json`, `xml` or a geometric one",
    ),
    Setup(
        "DuckLake with its catalog in PostgreSQL",
        "ducklake",
        "**run in part**, by `make test-ducklake`: the worked examples, bad input, streams, bitemporal tables, partial"
        " updates, change feeds, a sample of random streams, several processes that write one target, and some that are"
        " killed ([what exactly](docs/guides/ducklake.md#what-is-tested))",
        lacks="columns that are structs, `ENUM`, `UNION`, `BIT`, `BIGNUM` or arrays of a fixed size; wider columns but"
        " integers and decimals of the same scale; keys, `unique`, `check` and collations in contracts; indexes",
    ),
    Setup(
        "Spark 3.5 with Iceberg",
        "spark",
        "**run in part**, by `make test-spark`: the worked examples, every mode step by step, random runs, those that are"
        " stopped, and two at once; a run of every mode on every change"
        " ([what exactly](docs/guides/spark.md#what-is-tested))",
        (("file_format", "iceberg"),),
    ),
    Setup(
        "Sail 0.7 with Delta",
        "spark",
        "**run in part**, by `make test-sail`: the worked examples, random streams of every kind, runs that are stopped, and"
        " two at once; not a place for tables that are to stay",
        (("file_format", "delta"),),
    ),
    Setup("Databricks with Delta", "databricks", lacks="wider columns"),
    Setup("Snowflake", "snowflake"),
    Setup("BigQuery", "bigquery"),
    Setup("Trino with Iceberg", "trino"),
    Setup("Redshift", "redshift"),
)


def engines() -> str:
    """Return the table of engines: of each set-up how sure it is, and what it does not serve."""
    assert set(supported()) == {adapter_of(setup.adapter) for setup in SETUPS}
    groups: dict[tuple[str, str], list[str]] = {}
    for setup in SETUPS:
        engine = required(setup.adapter, "any").configured(dict(setup.config), "any")
        assert engine.is_run == (setup.sure != RENDERED)
        missing = [*lacks(engine), *([setup.lacks] if setup.lacks else [])]
        groups.setdefault((setup.sure, "; ".join(missing) or "-"), []).append(setup.title)
    lines = ["| engine | how sure | not served |", "|---|---|---|"]
    lines += [f"| {', '.join(titles)} | {sure} | {missing} |" for (sure, missing), titles in groups.items()]
    return "\n".join(lines)


def table(materialized: str) -> str:
    """Return all options of a materialization as a Markdown table."""
    lines = ["| option | value | meaning |", "|---|---|---|"]
    for name, option in in_order(options_of(materialized)).items():
        lines.append(f"| `{name}` | {option.metadata['values']} | {meaning(option)} |")
    return "\n".join(lines)


def in_order(options: dict[str, Any]) -> dict[str, Any]:
    """Return options in another order: those that a model must have first, those that dbt has too last."""
    names = sorted(options, key=lambda name: (options[name].default is not MISSING, name in DBT_OPTIONS))
    return {name: options[name] for name in names}


def arguments() -> str:
    """Return the arguments of `read_files` as a Markdown table."""
    lines = ["| argument | value | meaning |", "|---|---|---|"]
    lines += [f"| `{item.name}` | {item.metadata['values']} | {meaning(item)} |" for item in fields(Options)]
    return "\n".join(lines)


def others() -> str:
    """Return the options of the other materializations that mean something else in `auto_cdc`, or nothing there."""
    lines = ["| materialization | option | value | meaning |", "|---|---|---|---|"]
    shared: dict[str, list[str]] = {}
    for materialized in SPECS:
        if materialized != FIRST:
            own = own_options(materialized)
            lines += [
                f"| `{materialized}` | `{name}` | {option.metadata['values']} | {meaning(option)} |"
                for name, option in own.items()
            ]
            rest = listed([name for name in options_of(materialized) if name not in own])
            shared.setdefault(rest, []).append(materialized)
    lines.append("")
    lines += [f"* {listed(names)} also: {options}." for options, names in shared.items()]
    return "\n".join(lines)


def own_options(materialized: str) -> dict[str, Any]:
    """Return the options that are not those of `auto_cdc`."""
    known = {name: option.metadata["doc"] for name, option in options_of(FIRST).items()}
    return {
        name: option
        for name, option in options_of(materialized).items()
        if known.get(name) != option.metadata["doc"]
    }


def meaning(option: Any) -> str:
    """Return an option's sentence, and what it is when nobody sets it."""
    if option.default is MISSING:
        return f"{option.metadata['doc']} Required."
    if option.default in {None, "", ()}:
        return str(option.metadata["doc"])
    default = str(option.default).lower() if isinstance(option.default, bool) else option.default
    return f"{option.metadata['doc']} Default: `{default}`."


def listed(names: list[str]) -> str:
    *most, last = (f"`{name}`" for name in names)
    return f"{', '.join(most)} and {last}" if most else last


def shown(page: str) -> Iterator[str]:
    """Yield the materializations of which a page shows the options."""
    yield from (place["of"] for place in PLACE.finditer(page) if place["of"] != FILES)


def with_tables(page: str) -> str:
    """Return a page's text with the tables between their markers."""

    def filled(place: re.Match[str]) -> str:
        special = {OTHERS: others, FILES: arguments}.get(place["of"])
        made = special() if special else table(place["of"])
        return f"{place['start']}\n{made}\n{place['end']}"

    def of_engines(place: re.Match[str]) -> str:
        made = engines().replace("docs/guides/", "") if place["inside"] else engines()
        return f"{place['start']}\n{made}\n{place['end']}"

    return PLACE.sub(filled, ENGINES.sub(of_engines, page))


def main() -> int:
    for page in PAGES:
        before = page.read_text(encoding="utf-8")
        after = with_tables(before)
        if after != before:
            page.write_text(after, encoding="utf-8")
            print(f"{page.relative_to(ROOT)} brought up to date")
    return 0


if __name__ == "__main__":
    sys.exit(main())
