"""The examples of the page on scheduling parse, name their time zone, and let no two runs overlap."""

from __future__ import annotations

import ast
import re
import zoneinfo

import pytest
import yaml

from tests.docs.documentation import ROOT, blocks

FILES = {
    block.value: block.text for block in blocks(ROOT / "docs/guides/scheduling.md") if block.marker == "file"
}
DAYS = {name: str(number) for number, name in enumerate(("sun", "mon", "tue", "wed", "thu", "fri", "sat"))}
LIMITS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))


def crontab() -> tuple[str, str, str]:
    """Return zone, schedule and command of the crontab."""
    settings = dict(re.findall(r"^(\w+)=(.+)$", FILES["crontab"], re.MULTILINE))
    (job,) = re.findall(r"^((?:\S+ ){4}\S+) +(.+)$", FILES["crontab"], re.MULTILINE)
    return settings["CRON_TZ"], re.sub(r"[a-z]{3}", lambda day: DAYS[day[0]], job[0]), job[1]


def workflow() -> dict[str, object]:
    """Return the workflow; a bare `on` is true in YAML 1.1."""
    loaded = yaml.safe_load(FILES[".github/workflows/build.yml"])
    return {"on" if key is True else key: value for key, value in loaded.items()}


def dag() -> dict[str, ast.expr]:
    """Return the arguments of the DAG."""
    calls = [node for node in ast.walk(ast.parse(FILES["dags/shop.py"])) if isinstance(node, ast.Call)]
    (found,) = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "DAG"]
    return {str(keyword.arg): keyword.value for keyword in found.keywords}


def schedules() -> dict[str, tuple[str, str]]:
    """Return time zone and schedule of each example."""
    zone, times, _ = crontab()
    (timer,) = workflow()["on"]["schedule"]  # type: ignore[index]
    start = dag()["start_date"]
    assert isinstance(start, ast.Call)
    (tz,) = [ast.literal_eval(keyword.value) for keyword in start.keywords if keyword.arg == "tz"]
    return {
        "cron": (zone, times),
        "actions": (timer["timezone"], timer["cron"]),
        "airflow": (tz, ast.literal_eval(dag()["schedule"])),
    }


@pytest.mark.parametrize("name", ["cron", "actions", "airflow"])
def test_schedule_names_a_time_zone_and_five_fields(name: str) -> None:
    """The zone is one of the IANA database, and each field is within its limits."""
    zone, times = schedules()[name]
    assert zone == zoneinfo.ZoneInfo(zone).key
    fields = times.split()
    assert 5 == len(fields)
    for text, (lowest, highest) in zip(fields, LIMITS, strict=True):
        assert re.fullmatch(r"\*|\d+(-\d+)?", text), text
        assert all(lowest <= int(number) <= highest for number in re.findall(r"\d+", text))


def test_examples_run_at_the_same_times() -> None:
    """What the page says of one schedule it says of all."""
    assert 1 == len(set(schedules().values()))


def test_no_two_runs_overlap() -> None:
    """A lock, a group of runs, or a limit of one keeps the second run out; none is cancelled, none is made up for."""
    assert re.match(r"flock --nonblock \S+ sh -c '.*dbt .*build'$", crontab()[2])
    assert {"group": "build", "cancel-in-progress": False} == workflow()["concurrency"]
    assert 1 == ast.literal_eval(dag()["max_active_runs"])
    assert ast.literal_eval(dag()["catchup"]) is False
