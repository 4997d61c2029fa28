"""The command `auto-cdc`: what people ask between runs, without writing a run-operation by hand.

Not here: what is printed; each command hands over to one of the macros, run by dbt in this process.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import click

from dbt_auto_cdc import __version__

_DBT_OPTIONS = ("project-dir", "profiles-dir", "profile", "target", "vars")


def _dbt_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add dbt's options for finding a project and its target."""
    for name in reversed(_DBT_OPTIONS):
        command = click.option(f"--{name}", metavar="TEXT", help=f"As in `dbt run --{name}`.")(command)
    return command


@click.group()
@click.version_option(__version__, prog_name="auto-cdc")
def main() -> None:
    """Look after tables that dbt-auto-cdc keeps."""


@main.command()
@click.argument("model")
@click.option("--full-refresh", is_flag=True, help="Explain a run with --full-refresh.")
@_dbt_options
def explain(model: str, *, full_refresh: bool, **where: str | None) -> None:
    """Print the plan of the next run of MODEL: its statements, what they write, and why it builds or goes on.

    Nothing is run and nothing is written: neither in the database nor, other than dbt's own log and parse cache, in
    the project.
    """
    _run_operation("explain", {"model": model, "full_refresh": full_refresh}, where)


@main.command(name="log")
@click.argument("model", required=False)
@click.option(
    "--last", type=click.IntRange(min=1), default=20, show_default=True, help="How many runs to show."
)
@click.option("--failed", is_flag=True, help="Show only runs that were refused or ended with an error.")
@_dbt_options
def show_log(model: str | None, *, last: int, failed: bool, **where: str | None) -> None:
    """Print the last runs of MODEL, or of all models, from the event log: when, how long, and what they did."""
    _run_operation("show_event_log", {"model": model, "last": last, "failed": failed}, where)


def _run_operation(macro: str, arguments: dict[str, object], where: dict[str, str | None]) -> None:
    """Run one of our macros by dbt, quietly; ends the command with dbt's verdict."""
    from dbt.cli.main import dbtRunner  # here, because `auto-cdc --help` should not take dbt's seconds

    given = [
        text for name, value in where.items() if value for text in (f"--{name.replace('_', '-')}", value)
    ]
    # Artifacts stay those of the last run: `dbt retry` and others read them.
    flags = ["--quiet", "--no-write-json"]
    if not sys.stdout.isatty():
        flags.append("--no-use-colors")
    operation = ["run-operation", f"auto_cdc.{macro}", "--args", json.dumps(arguments)]
    result = dbtRunner().invoke([*flags, *operation, *given])
    if result.exception is not None:
        click.echo(str(result.exception), err=True)
    if not result.success:
        raise SystemExit(1 if result.exception is None else 2)
