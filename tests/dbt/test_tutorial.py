"""The tutorial's pipeline in examples/cdc_tutorial, run as its README says, against plain Python."""

from __future__ import annotations

import datetime as dt
import json
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from examples.cdc_tutorial.generate import DATE_FORMAT, OPERATIONS, messages, write
from tests.dbt_project import Project
from tests.docs.documentation import ROOT, blocks
from tests.reference_model import END, START, Config, Event, Model

FOLDER = ROOT / "examples/cdc_tutorial"
COLUMNS = ("id", "firstname", "lastname", "email", "address")
MONTH_FIRST = r"\d\d-\d\d-\d{4} \d\d:\d\d:\d\d"
Message = dict[str, Any]


class Pipeline:
    """What the tables must hold, computed anew from all messages so far."""

    def __init__(self) -> None:
        self.bronze: list[Message] = []
        self.clean: list[Message] = []
        tracked = tuple(name for name in COLUMNS if name != "id")
        self.customers = Model(Config(("id",), COLUMNS))
        self.history = Model(Config(("id",), COLUMNS, tracked, scd_type=2))

    def run(self, arrived: list[Message]) -> None:
        """Take the messages of one run."""
        self.bronze += arrived
        usable = [
            {**message, "operation_date": date(message["operation_date"])}
            for message in arrived
            if message["id"] is not None
            and message["operation"] in {"APPEND", "DELETE", "UPDATE"}
            and re.fullmatch(MONTH_FIRST, message["operation_date"])
        ]
        self.clean += usable
        for table in (self.customers, self.history):
            table.apply(event(message) for message in usable)

    @property
    def counts(self) -> list[tuple[Any, ...]]:
        """Return how often each customer is in the history; the generator leaves no value out."""
        versions = Counter(row["id"] for row in self.history.rows())
        return [(customer, count, count, count, count) for customer, count in versions.items()]


def date(text: str) -> dt.datetime:
    """Return the date that a message tells, month first."""
    return dt.datetime.strptime(text, DATE_FORMAT)  # noqa: DTZ007


def event(message: Message) -> Event:
    """Return what a usable message says."""
    kind = "delete" if message["operation"] == "DELETE" else "upsert"
    values = {name: message[name] for name in COLUMNS}
    return Event(kind, (message["id"],), message["operation_date"], values)


def delivery(folder: Path, number: int, month: dt.date) -> list[Message]:
    """Write a delivery as the generator does, and return it."""
    made = list(messages(300, seed=7, month=month, delivery=number))
    write(folder, iter(made), delivery=number, files=6)
    return made


def odd_file(folder: Path) -> list[Message]:
    """Write an id that is none, a new field, and a date that is none, and return the messages as bronze has them."""
    wrong, grown, undated = messages(3, seed=8, month=dt.date(2027, 1, 1))
    # The generator leaves out ids and operations; here both have to be there.
    wrong |= {"id": "gone wrong", "operation": "APPEND"}
    grown |= {"id": "00000000-0000-4000-8000-000000000000", "operation": "APPEND"}
    undated |= {
        "id": "00000000-0000-4000-8000-000000000001",
        "operation": "UPDATE",
        "operation_date": "2027-01-31",
    }
    lines = map(json.dumps, (wrong, {**grown, "phone": "123"}, undated))
    (folder / "odd.json").write_text("\n".join(lines), encoding="utf-8")
    return [{**wrong, "id": None}, grown, undated]


def in_order(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(rows, key=repr)


def check(project: Project, expected: Pipeline) -> None:
    """Compare every table with what it must hold."""

    def rows(columns: tuple[str, ...], table: str) -> list[tuple[Any, ...]]:
        selected = ", ".join(f"cast({name} as varchar)" if name == "id" else name for name in columns)
        return in_order(project.query(f"select {selected} from {table}"))

    messages_columns = (*COLUMNS, "operation", "operation_date")
    history_columns = (*COLUMNS, START, END)
    for table, held, columns in (
        ("customers_cdc_bronze", expected.bronze, messages_columns),
        ("customers_cdc_clean", expected.clean, messages_columns),
        ("customers", expected.customers.rows(), COLUMNS),
        ("customers_history", expected.history.rows(), history_columns),
    ):
        assert in_order([tuple(row[name] for name in columns) for row in held]) == rows(columns, table), table
    counts = ("id", "address_count", "email_count", "firstname_count", "lastname_count")
    assert in_order(expected.counts) == rows(counts, "customers_history_agg")


@pytest.mark.dbt
@pytest.mark.only_on("duckdb")
def test_pipeline_reads_new_files_only_and_keeps_every_table(project: Project) -> None:
    """Two deliveries around a year's end give what plain Python gives; the files of the first are not read again."""
    for file in ("dbt_project.yml", "models"):
        source = FOLDER / file
        (shutil.copytree if source.is_dir() else shutil.copy)(source, project.root / file)
    project.write(
        "dbt_project.yml", project.read("dbt_project.yml").replace("profile: cdc_tutorial", "profile: shop")
    )
    landing, expected = project.root / "landing", Pipeline()

    arrived = delivery(landing, 1, dt.date(2026, 12, 1))
    project.succeed("build")
    expected.run(arrived)
    check(project, expected)
    assert len(arrived) == project.responses["customers_cdc_bronze"]["num_output_rows"]

    # What a second look at the first files would find.
    for file in landing.glob("*.json"):
        file.write_text('{"id": "gone wrong"}\n', encoding="utf-8")
    known = {message["id"] for message in expected.clean}
    arrived = delivery(landing, 2, dt.date(2027, 1, 1))
    arrived += odd_file(landing)
    assert known & {message["id"] for message in arrived}, "no customer changes in both years"
    project.succeed("build")
    expected.run(arrived)
    check(project, expected)
    assert len(arrived) == project.responses["customers_cdc_bronze"]["num_output_rows"]

    assert [("gone wrong",)] == project.query(
        "select json_extract_string(_rescued_data, '$.id') from customers_cdc_bronze where _rescued_data is not null"
    )
    assert [("123",)] == project.query("select phone from customers_cdc_bronze where phone is not null")

    assert [("success", len(expected.bronze) - len(expected.clean))] == project.query(
        """
        select distinct status, sum(num_dropped_rows) over () from auto_cdc_event_log
        where model like '%.customers_cdc_clean'
        """
    )

    project.succeed("build")
    check(project, expected)
    assert 0 == project.responses["customers_cdc_bronze"]["num_output_rows"]


def test_generator_makes_the_same_messages_again_and_some_ids_twice() -> None:
    """Seed, month and delivery decide; the shares are the tutorial's, and a second delivery knows ids of the first."""
    month = dt.date(2026, 12, 1)
    first = list(messages(1500, seed=1, month=month))
    assert first == list(messages(1500, seed=1, month=month))
    assert first[:20] != list(messages(20, seed=2, month=month))
    ids = Counter(message["id"] for message in first)
    assert 0.01 < ids.pop(None) / 1500 < 0.03
    assert sum(1 for count in ids.values() if count > 1) > 150
    shares = Counter(message["operation"] for message in first)
    for operation, share in OPERATIONS.items():
        assert abs(shares[operation] / 1500 - share / sum(OPERATIONS.values())) < 0.03, operation
    second = {message["id"] for message in messages(1500, seed=1, month=month, delivery=2)}
    assert len(second & set(ids)) > 100
    assert all(
        re.fullmatch(r"12-\d\d-2026 \d\d:\d\d:\d\d", str(message["operation_date"])) for message in first
    )


def test_a_file_is_complete_when_it_gets_its_name(tmp_path: Path) -> None:
    """A delivery is dealt out to its files in turn, each a JSON message in a line, and nothing unfinished stays."""
    made = list(messages(10, month=dt.date(2026, 12, 1)))
    paths = write(tmp_path / "landing", iter(made), delivery=3, files=4)
    assert paths == sorted((tmp_path / "landing").iterdir())
    assert ["customers-003-0000.json", "customers-003-0003.json"] == [paths[0].name, paths[-1].name]
    lines = [path.read_text(encoding="utf-8").splitlines() for path in paths]
    assert made == [json.loads(lines[number % 4][number // 4]) for number in range(10)]


def test_readme_shows_the_files_that_are_there() -> None:
    """A block with a title is that file, every model is shown, and so is the first message."""
    first = next(messages(100_000, month=dt.date(2026, 11, 1)))
    assert [first] == [
        json.loads(block.text) for block in blocks(FOLDER / "README.md") if block.language == "json"
    ]
    shown = {block.value: block.text for block in blocks(FOLDER / "README.md") if block.marker == "file"}
    assert {f"models/{path.name}" for path in (FOLDER / "models").glob("*.sql")} <= set(shown)
    for name, text in shown.items():
        assert (FOLDER / name).read_text(encoding="utf-8") == text, name
