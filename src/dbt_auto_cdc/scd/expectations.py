"""Expectations: what a model's rows have to satisfy, checked before anything else is done with them.

Not here: the options (`spec`), and what becomes of the rows that count (`changes` reads them from here).
"""

from __future__ import annotations

from dbt_auto_cdc import names
from dbt_auto_cdc.plan import Rule, Step
from dbt_auto_cdc.scd import changes, check
from dbt_auto_cdc.scd.job import Job
from dbt_auto_cdc.spec import Expectation, SnapshotEvents
from dbt_auto_cdc.sql import Query, any_of, comma, indented

DROPPED = "num_dropped_rows"
# How many columns of a row without a key are shown.
_SHOWN = 5


def checked(job: Job) -> tuple[Step, ...]:
    """Read the model's rows, see which expectations each satisfies, and refuse what must not fail; else nothing.

    Everything that is the user's SQL is evaluated here, once, and kept in a working table that the stage reads.
    """
    if not job.spec.expectations:
        return ()
    return _read(job), _measured(job)


def _read(job: Job) -> Step:
    """In: the model's rows. Out: the same, with sequences, kind, and what each expectation says: null is no word."""
    orders = changes.orders_over_feed(job)
    own = {*orders, names.KIND}
    columns = [f"src.{job.engine.quote(c.name)}" for c in job.state.feed if c.name not in own]
    columns += [f"{value} as {name}" for name, value in orders.items()]
    kind = changes.kind_expression(job.spec, job.state.feed, job.engine)
    columns.append(f"{kind} as {names.KIND}")
    source = f"from (\n{indented(job.state.model_sql)}\n) as src"
    query = Query().then("evaluated", f"select\n    {comma(columns)}\n{source}")
    expected = job.spec.expectations
    said = [f"{_satisfies(job, one)} as {names.PASSES}{one.number}" for one in expected]
    query = query.then("judged", f"select\n    {comma(['src.*', *said])}\nfrom evaluated as src")
    drops = [f"not coalesce(src.{names.PASSES}{one.number}, true)" for one in expected if one.drops]
    if drops:
        query = query.then(
            "checked", f"select src.*, ({any_of(drops)}) as {names.DROPPED}\nfrom judged as src"
        )
    return Step(
        "read the model's rows, and check what is expected of them",
        job.engine.create_working(job.working(names.CHECKED), query),
    )


def _satisfies(job: Job, one: Expectation) -> str:
    """Whether a row called src satisfies an expectation: null is a violation, and null is said of what is exempt."""
    if one.column:
        said = f"src.{one.column}"
    else:
        said = f"coalesce({changes.condition_expression(one.condition, job.state.feed, job.engine)}, false)"
    has_others = job.spec.apply_as_deletes or job.spec.apply_as_truncates
    if one.on_deletes or not has_others:
        return said
    return f"case when src.{names.KIND} = 'upsert' then {said} end"


def _measured(job: Job) -> Step:
    """Count the rows that pass and fail, and those that are dropped: they were read as well."""
    columns, rules = [], []
    for one in job.spec.expectations:
        said = f"chk.{names.PASSES}{one.number}"
        columns.append(f"count(case when {said} then 1 end) as {one.passed}")
        columns.append(f"count(case when not {said} then 1 end) as {one.failed}")
        if one.fails:
            columns.append(f"min(case when not {said} then {_example(job)} end) as {one.failed}_example")
            rules.append(_rule(job, one))
    if any(one.drops for one in job.spec.expectations):
        dropped = f"count(case when chk.{names.DROPPED} then 1 end)"
        columns += [f"{dropped} as {DROPPED}", f"{dropped} as {check.READ}"]
    sql = f"select\n    {comma(columns)}\nfrom {job.working(names.CHECKED)} as chk"
    return Step("count what is as expected", sql, measures=True, rules=tuple(rules))


def _rule(job: Job, one: Expectation) -> Rule:
    ways = "expect_all" if isinstance(job.spec, SnapshotEvents) else "expect_all_or_drop or expect_all"
    return Rule(
        one.failed,
        f"expectation {one.name} ({' '.join(one.condition.split())}) fails in {{count}} row{{s}}, for example"
        f" {{example}}; correct such rows at the source, or move the expectation from expect_all_or_fail to {ways}",
    )


def _example(job: Job) -> str:
    """An expression that shows a row in a message: its key and its place in the order, else its first columns."""
    keys = [column.source for column in job.layout.keys if column.source is not None]
    every = [column.name for column in job.state.feed if not names.is_reserved(column.name)]
    shown = " || ', ' || ".join(
        f"{job.engine.text(name + '=')} || coalesce({job.engine.as_text(f'chk.{job.engine.quote(name)}')}, 'null')"
        for name in keys or every[:_SHOWN]
    )
    if not keys:
        return shown
    return f"{shown} || ' at ' || coalesce({job.engine.as_text(f'chk.{names.SEQUENCE}')}, 'null')"
