"""A run that others get ahead of is begun again, from what they committed; any other error goes on as it was.

Not here: databases that conflict (`engines/test_ducklake`), and processes that do (`engines/test_ducklake_dbt`).
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dbt_auto_cdc import event_log, repeats
from dbt_auto_cdc.engines import required
from dbt_auto_cdc.errors import AutoCdcError
from dbt_auto_cdc.event_log import Entry
from dbt_auto_cdc.execute import Outcome
from dbt_auto_cdc.materializations import journal
from dbt_auto_cdc.materializations.version_query import Turns
from dbt_auto_cdc.plan import Plan
from dbt_auto_cdc.relations import relations_of

CONFLICT = (
    "TransactionContext Error: Failed to commit: Failed to commit DuckLake transaction.\n"
    "Transaction conflict - attempting to insert into table with index 2 - but another transaction has altered it"
)


class Runs:
    """A run that fails so many times, with what it told, waited and left in the log."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, failures: int, said: str = CONFLICT) -> None:
        self.failures, self.said = failures, said
        self.began, self.told, self.waited, self.refused = 0, list[str](), list[float](), list[str]()
        monkeypatch.setattr(repeats.time, "sleep", self.waited.append)

    def __call__(self, entry: Entry) -> object:
        del entry
        self.began += 1
        if self.began <= self.failures:
            raise RuntimeError(self.said)
        return "done"

    def go(self, entry: Entry, run: Callable[[Entry], object] | None = None) -> object:
        return event_log.logged(
            entry=entry,
            run=run or self,
            prepare=lambda _: None,
            refuse=self.refused.append,
            tell=self.told.append,
        )


def entry_on(adapter_type: str, **config: object) -> Entry:
    return event_log.open_entry(
        run_id="run",
        model="model.shop.cities",
        name="cities",
        target="lake.cities",
        relation="lake.auto_cdc_event_log",
        kind="table",
        adapter_type=adapter_type,
        config=config,
    )


@pytest.mark.parametrize("config", [{}, {"event_log": False}])
def test_begun_again(monkeypatch: pytest.MonkeyPatch, config: dict[str, object]) -> None:
    """As often as others get ahead, each time after a longer wait, which is told; no row says that it failed."""
    runs, entry = Runs(monkeypatch, failures=4), entry_on("ducklake", **config)
    assert "done" == runs.go(entry)
    assert (5, 4, []) == (runs.began, entry.repeats, runs.refused)
    assert ["auto_cdc: model cities: another run wrote to lake.cities first"] * 4 == [
        line.partition(";")[0] for line in runs.told
    ]
    longest = [0.25, 0.5, 1, 2]
    assert all(most / 2 <= wait <= most for wait, most in zip(runs.waited, longest, strict=True)), runs.waited


def test_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """After ten runs it is refused, in words, and the log has one row for it."""
    runs = Runs(monkeypatch, failures=99)
    with pytest.raises(
        AutoCdcError, match=r"model cities: other runs wrote .* 10 times in a row .*; run it again when"
    ):
        runs.go(entry_on("ducklake"))
    assert (10, 9, 1) == (runs.began, len(runs.waited), len(runs.refused))
    assert max(runs.waited) <= 20


@pytest.mark.parametrize(
    ("adapter_type", "said"),
    [
        ("spark", "Failed to commit transaction: a concurrent transaction deleted the same data"),
        (
            "spark",
            "org.apache.iceberg.exceptions.CommitFailedException: Cannot commit, the table was updated",
        ),
        (
            "spark",
            "org.apache.iceberg.exceptions.ValidationException: Cannot determine history between snapshot 7 and 9",
        ),
        ("spark", f"auto_cdc: model cities: {journal.IS_WRITING}"),
        (
            "databricks",
            "[DELTA_CONCURRENT_APPEND] Files were added to the root of the table by a concurrent update",
        ),
        ("bigquery", "Could not serialize access to table shop.cities due to concurrent update"),
    ],
)
def test_one_statement_refused(monkeypatch: pytest.MonkeyPatch, adapter_type: str, said: str) -> None:
    """Where statements commit one by one the engine refuses one, or another run of the model is in the way."""
    runs = Runs(monkeypatch, failures=2, said=said)
    assert "done" == runs.go(entry_on(adapter_type))
    assert (3, 2) == (runs.began, len(runs.waited))


@pytest.mark.parametrize(
    ("adapter_type", "said"), [("duckdb", CONFLICT), ("ducklake", "Conversion Error: there is no conflict")]
)
def test_other_errors(monkeypatch: pytest.MonkeyPatch, adapter_type: str, said: str) -> None:
    """An error that would come again, and one on an engine that does not conflict, are errors at once."""
    runs = Runs(monkeypatch, failures=1, said=said)
    with pytest.raises(RuntimeError, match=said.splitlines()[0]):
        runs.go(entry_on(adapter_type))
    assert (1, [], 1) == (runs.began, runs.waited, len(runs.refused))


def test_what_is_committed_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """A conflict after the commit, as of a hook that follows it, repeats nothing."""
    runs, entry = Runs(monkeypatch, failures=1), entry_on("ducklake")
    entry.commits()
    with pytest.raises(RuntimeError):
        runs.go(entry)
    assert (1, []) == (runs.began, runs.refused)


def test_turns_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a run with several commits those that were made are counted, and only the rest is done again."""
    runs, entry = Runs(monkeypatch, failures=0), entry_on("ducklake")
    relations = relations_of("ducklake", "cities", target="cities", beside=lambda path: path["identifier"])
    done: list[tuple[int, int]] = []
    conflicts = [1, 3, 3]

    def run(entry: Entry) -> object:
        turns = entry.takes(Turns("cities", relations, required("ducklake", "cities"), asks=True))
        for turn in turns:
            if turn.number == 5:
                turn.waits = True
                turn.done()
                continue
            turn.done(Plan("cities", "apply", (), creates=turn.is_first), Outcome({"num_read_rows": 1}))
            if conflicts[:1] == [turn.number]:
                raise RuntimeError(CONFLICT + str(conflicts.pop(0)))
            done.append((turn.number, entry.repeats))
            entry.keeps()
        return turns

    turns = runs.go(entry, run)
    assert isinstance(turns, Turns)
    assert [(1, 1), (2, 1), (3, 3), (4, 3)] == done
    assert (True, 4) == (turns.creates, turns.outcome.figures["num_read_rows"])
