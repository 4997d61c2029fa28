"""`auto_cdc.explain` and `auto-cdc explain` print what the next run would do, and do nothing.

Whether the plan itself is right is tested elsewhere.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.dbt_project import Project

pytestmark = pytest.mark.dbt

COMMAND = Path(sys.executable).parent / "auto-cdc"
MODEL = """
{{ config(materialized='auto_cdc', keys=['id'], sequence_by='seq', stored_as_scd_type=2, except_column_list=['seq']) }}
select * from {{ ref('events') }}
{% if auto_cdc.is_applying() %} where id > 0 -- and is in {{ this }}
{% endif %}
"""


@pytest.fixture
def shop(project: Project) -> Project:
    """Give a project with a model over an ephemeral one over a feed."""
    project.execute("create table feed as select 1 as id, 'Oslo' as city, 10 as seq")
    project.write("models/events.sql", "{{ config(materialized='ephemeral') }} select * from feed")
    project.write("models/users.sql", MODEL)
    return project


def explain(project: Project, capfd: pytest.CaptureFixture[str], model: str = "users", **more: object) -> str:
    """Return what the run-operation prints."""
    capfd.readouterr()
    arguments = ", ".join(f"{name}: {value}" for name, value in {"model": model, **more}.items())
    project.succeed("run-operation", "auto_cdc.explain", "--args", f"{{{arguments}}}")
    return capfd.readouterr().out


def command(project: Project, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command `auto-cdc` in the project's folder, as people do."""
    project.close()
    return subprocess.run(
        [COMMAND, *arguments], cwd=project.root, capture_output=True, text=True, check=False
    )


def statements(printed: str) -> list[str]:
    """Return the names of the statements in the header's table."""
    return re.findall(r"^-- \d+ +(.+?) {2,}", printed, flags=re.MULTILINE)


def test_the_first_run_is_explained(shop: Project, capfd: pytest.CaptureFixture[str]) -> None:
    """The header says that target and companion are built; the feed is read as the model reads it."""
    printed = explain(shop, capfd)
    assert "-- action     build the target\n" in printed
    assert '-- target     "warehouse"."main"."users", SCD type 2, built\n' in printed
    assert '-- companion  "warehouse"."main"."users__auto_cdc", built\n' in printed
    assert "select * from feed" in printed
    assert "where id > 0" not in printed
    assert "create the target" in statements(printed)


def test_a_later_run_is_explained(shop: Project, capfd: pytest.CaptureFixture[str]) -> None:
    """The model is compiled as it stands now, with is_applying() and `this`; the warnings of the plan are there."""
    shop.succeed("run")
    printed = explain(shop, capfd)
    assert "-- action     apply the new events\n" in printed
    assert "SCD type 2, goes on\n" in printed
    assert 'where id > 0 -- and is in "warehouse"."main"."users"' in printed
    assert re.search(r"^-- \d+ +insert versions +target +num_\w+$", printed, flags=re.MULTILINE)


def test_what_is_explained_is_what_runs(shop: Project, capfd: pytest.CaptureFixture[str]) -> None:
    """The statements are those of the next run, which dbt keeps in target/run."""
    for _ in range(2):
        printed = explain(shop, capfd)
        shop.succeed("run")
        ran = shop.read("target/run/shop/models/users.sql")
        assert ran.startswith("-- auto_cdc: model users: ")
        assert ran.strip() in printed


def test_explaining_writes_nothing(shop: Project, capfd: pytest.CaptureFixture[str]) -> None:
    """Neither before the first run nor later is a table made or changed."""
    everything = "select table_name, estimated_size from duckdb_tables() order by 1"
    explain(shop, capfd)
    assert [("feed", 1)] == shop.query(everything)
    shop.succeed("run")
    shop.execute("insert into feed values (1, 'Rome', 20)")
    before = shop.query(everything), shop.query("from users"), shop.query("from users__auto_cdc")
    explain(shop, capfd)
    explain(shop, capfd, full_refresh="true")
    assert before == (shop.query(everything), shop.query("from users"), shop.query("from users__auto_cdc"))


def test_a_full_refresh_is_explained(shop: Project, capfd: pytest.CaptureFixture[str]) -> None:
    """The model is compiled for it, and the swap is part of the plan."""
    shop.succeed("run")
    printed = explain(shop, capfd, full_refresh="true")
    assert "-- action     rebuild the target (--full-refresh)\n" in printed
    assert "where id > 0" not in printed
    assert "put the new target in its place" in statements(printed)


def test_a_plan_that_is_refused_is_refused_here_too(shop: Project) -> None:
    """What the next run would say is said now."""
    shop.succeed("run")
    shop.write("models/users.sql", MODEL.replace("keys=['id']", "keys=['city']"))
    said = shop.fail("run-operation", "auto_cdc.explain", "--args", "{model: users}")
    assert "auto_cdc: model users: " in said
    assert "--full-refresh" in said


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("usrs", "auto_cdc: model usrs: there is no such model; did you mean users?"),
        (
            "events",
            "auto_cdc: model events: it is materialized as ephemeral; name a model materialized as append_flow",
        ),
    ],
)
def test_a_name_that_fits_no_model_is_refused(shop: Project, name: str, complaint: str) -> None:
    """With the nearest one, or what it is instead."""
    assert complaint in shop.fail("run-operation", "auto_cdc.explain", "--args", f"{{model: {name}}}")


def test_a_model_may_be_named_in_full(shop: Project, capfd: pytest.CaptureFixture[str]) -> None:
    """By package or by unique id, as dbt shows it."""
    assert explain(shop, capfd, "shop.users") == explain(shop, capfd, "model.shop.users")


def test_versions_are_told_apart(shop: Project, capfd: pytest.CaptureFixture[str]) -> None:
    """A versioned model is named with its version; the bare name fits several and is refused."""
    shop.write("models/users_v2.sql", MODEL)
    (shop.root / "models/users.sql").rename(shop.root / "models/users_v1.sql")
    shop.write("models/_users.yml", "models: [{name: users, latest_version: 2, versions: [{v: 1}, {v: 2}]}]")
    assert '"main"."users_v2"' in explain(shop, capfd, "users.v2")
    said = shop.fail("run-operation", "auto_cdc.explain", "--args", "{model: users}")
    assert "the name fits model.shop.users.v1, model.shop.users.v2; write one of these" in said


def test_the_header_of_a_model_is_sent_and_taken_back(
    shop: Project, capfd: pytest.CaptureFixture[str]
) -> None:
    """`sql_header` is needed to look at the feed; what it makes is gone after the explanation."""
    header = "create table by_header as select 1 as one"
    shop.write(
        "models/users.sql", MODEL.replace("keys=", f"sql_header='{header}', keys=") + " cross join by_header"
    )
    assert "cross join by_header" in explain(shop, capfd)
    assert [] == shop.query("from duckdb_tables() where table_name = 'by_header'")


# -- the command -------------------------------------------------------------------------------------------------------


def test_the_command_prints_the_plan_and_nothing_else(
    shop: Project, capfd: pytest.CaptureFixture[str]
) -> None:
    """What the run-operation prints, ready to be piped; dbt's artifacts stay those of the last run."""
    shop.succeed("run")
    expected = explain(shop, capfd)
    shop.succeed("run")
    results = shop.read("target/run_results.json")
    done = command(shop, "explain", "users")
    assert (0, "") == (done.returncode, done.stderr)
    assert done.stdout.startswith(
        "-- auto_cdc: the next run of model users; nothing was run, nothing was written\n"
    )
    assert done.stdout.strip() in expected
    assert results == shop.read("target/run_results.json")


def test_the_command_takes_dbts_options(shop: Project, tmp_path_factory: pytest.TempPathFactory) -> None:
    """From anywhere, for another target, for a full refresh."""
    shop.succeed("run")
    profiles = tmp_path_factory.mktemp("profiles")
    text = shop.read("profiles.yml") + f"    prod: {{type: duckdb, path: '{shop.database}', schema: prod}}\n"
    (profiles / "profiles.yml").write_text(text, encoding="utf-8")
    where = ("--project-dir", str(shop.root), "--profiles-dir", str(profiles))
    done = command(shop, "explain", "users", *where, "--target", "prod", "--vars", "{unused: 1}")
    assert '-- target     "warehouse"."prod"."users", SCD type 2, built' in done.stdout
    done = command(shop, "explain", "users", *where, "--full-refresh")
    assert "-- action     rebuild the target (--full-refresh)" in done.stdout


def test_the_command_fails_where_dbt_does(shop: Project) -> None:
    """Another exit code and dbt's message: for a model that is not there, and for a project that is not."""
    done = command(shop, "explain", "usrs")
    assert 1 == done.returncode
    assert "did you mean users?" in done.stdout
    done = command(shop, "explain", "users", "--project-dir", "/nowhere")
    assert 2 == done.returncode
    assert "/nowhere" in done.stderr


def test_the_command_tells_its_version() -> None:
    """`auto-cdc --version` and `--help` work anywhere."""
    done = subprocess.run([COMMAND, "--version"], capture_output=True, text=True, check=True)
    assert re.fullmatch(r"auto-cdc, version \d+\.\d+\.\d+\n", done.stdout)
