"""How the Python half gets into dbt, and what users read when it does not.

What the tables hold is tested elsewhere.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import dbt.context.base
import pytest
from dbt.config.runtime import RuntimeConfig
from dbt.plugins.manager import PluginManager
from dbt_common.exceptions import CompilationError

import dbt_auto_cdc.bridge
from dbt_auto_cdc import __version__
from dbt_auto_cdc.errors import AutoCdcError
from dbt_auto_cdc.plugin import AutoCdcPlugin, guarded, install_bridge, install_macros
from tests.dbt_project import Project

pytestmark = pytest.mark.dbt

PROBE = """
{% materialization probe, default %}
  {% set target = this.incorporate(type='table') %}
  {% call statement('main') %}create or replace table {{ target }} as {{ sql }}{% endcall %}
  {% set figures = {'num_upserted_rows': 2, 'num_deleted_rows': 1} %}
  {% do store_result('main', auto_cdc._python().response('CDC +2 -1', figures)) %}
  {% do adapter.commit() %}
  {{ return({'relations': [target]}) }}
{% endmaterialization %}
"""
ASK = """
{% macro ask() %}
  {% do log('python: ' ~ (auto_cdc._python() is defined), info=true) %}
{% endmacro %}
"""
BROKEN = "{{ config(materialized='auto_cdc') }} select 1 as id, 2 as seq"


def carry_macros(project: Project, root: Path, *, version: str = __version__) -> None:
    """Install a copy of the package's macros by packages.yml, one macro richer than the bundled ones."""
    package = project.root / "by_hand"
    shutil.copytree(root / "macros", package / "macros")
    shutil.copy(root / "src/dbt_auto_cdc/dbt_project/dbt_project.yml", package)
    file = package / "macros/run/_python.sql"
    file.write_text(file.read_text().replace(__version__, version))
    project.write("by_hand/macros/only_here.sql", "{% macro only_here() %}{% endmacro %}")
    project.write("packages.yml", "packages:\n  - local: by_hand\n")
    project.succeed("deps")


def take_python_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make dbt forget the plugin, as in an environment where only the macros are installed."""
    monkeypatch.setattr(PluginManager, "get_prefixed_modules", classmethod(lambda _: {}))
    monkeypatch.setattr("dbt.plugins.manager._MODULES_CACHE", None)
    for owner, name in ((dbt.context.base, "get_context_modules"), (RuntimeConfig, "load_projects")):
        patched = getattr(owner, name)
        monkeypatch.setattr(owner, name, getattr(patched, "__wrapped__", patched))


def test_one_pip_install_brings_bridge_and_macros(project: Project) -> None:
    """A project without packages.yml reaches the macros and, through them, the Python half."""
    project.write("macros/ask.sql", ASK)
    project.succeed("run-operation", "ask")

    manifest = project.succeed("parse").result
    assert "macro.auto_cdc._python" in manifest.macros


def test_nothing_of_the_demo_reaches_a_users_project(project: Project) -> None:
    """The package adds macros and not one node, disabled ones included."""
    project.write("models/one.sql", "select 1 as id")
    manifest = project.succeed("parse").result

    assert set(manifest.nodes) == {"model.shop.one"}
    assert not manifest.disabled
    assert not manifest.sources


def test_patches_are_laid_once() -> None:
    """dbt starts the plugin in each command: the second start changes nothing."""
    install_bridge()
    install_macros()
    before = (dbt.context.base.get_context_modules, RuntimeConfig.load_projects)
    AutoCdcPlugin(project_name="shop")
    assert before == (dbt.context.base.get_context_modules, RuntimeConfig.load_projects)


def test_a_failing_patch_is_noted_and_dbt_goes_on(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later dbt that lacks what we patch still runs the projects that do not need us."""

    def broken() -> None:
        raise AttributeError("load_projects")

    monkeypatch.setattr("dbt_auto_cdc.plugin.install_macros", broken)
    project.write("models/one.sql", "select 1 as id")
    project.succeed("run")
    assert [(1,)] == project.query("select id from one")


def test_a_plugin_that_cannot_be_imported_is_no_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    """dbt asks for `plugins` in every project of the environment: an import error there gives none."""
    assert [AutoCdcPlugin] == dbt_auto_cdc.plugins
    monkeypatch.setitem(sys.modules, "dbt_auto_cdc.plugin", None)
    assert [] == dbt_auto_cdc.plugins


def test_figures_stand_in_run_results(project: Project) -> None:
    """The message is in dbt's result line, every figure in run_results.json."""
    project.write("macros/probe.sql", PROBE)
    project.write("models/one.sql", "{{ config(materialized='probe') }} select 1 as id")
    result = project.succeed("run")

    assert "CDC +2 -1" == result.result.results[0].message
    expected = {"_message": "CDC +2 -1", "code": "AUTO_CDC", "num_upserted_rows": 2, "num_deleted_rows": 1}
    assert expected == project.responses["one"]


# -- Validation while dbt parses ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["parse", "ls", "compile", "run"])
def test_all_bad_models_are_named_at_once(project: Project, command: str) -> None:
    """Every model's problems come in one message, with the file, before any SQL is sent."""
    project.write("models/first.sql", BROKEN)
    project.write("models/deep/second.sql", BROKEN)
    said = project.fail(command)

    assert "Parsing Error" in said
    assert re.search(r"auto_cdc: model first \(models/first\.sql\): 2 problems\s+- keys is missing", said)
    assert re.search(
        r"auto_cdc: model second \(models/deep/second\.sql\): 2 problems\s+- keys is missing", said
    )
    assert not project.database.exists()


def test_an_error_found_once_is_found_again(project: Project) -> None:
    """Partial parsing stores nothing of the validation: the second command refuses as well, and a repair ends it."""
    project.write("models/first.sql", BROKEN)
    project.fail("parse")
    project.fail("parse")
    project.write("models/first.sql", "select 1 as id")
    project.succeed("parse")


def test_validation_while_parsing_can_be_put_off(project: Project) -> None:
    """One bad model need not stop the others: it is then refused when it runs."""
    project.write("models/first.sql", BROKEN)
    project.write("models/other.sql", "select 1 as id")
    off = {"AUTO_CDC_PARSE_VALIDATION": "0"}
    project.succeed("run", "--select", "other", env=off)
    assert [(1,)] == project.query("select id from other")


def test_options_of_dbt_itself_are_seen_where_they_were_set(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`unique_key` and `on_schema_change` come along from SQL, YAML and dbt_project.yml; dbt's defaults do not."""
    seen: dict[str, dict[str, object]] = {}

    def listen(**inputs: object) -> tuple[list[str], list[str]]:
        config = dict(inputs["config"])  # type: ignore[call-overload]
        seen[str(config.pop("keys")[0])] = config
        assert "indexes" in inputs["adapter_options"]  # type: ignore[operator]
        assert {"note": "here"} == inputs["meta"]
        return [], []

    monkeypatch.setattr(dbt_auto_cdc.bridge, "config_problems", listen)
    project.write(
        "dbt_project.yml",
        """
        name: shop
        profile: shop
        models:
          +meta: {note: here}
          shop:
            deep:
              +on_schema_change: sync_all_columns
              +sequence_by: at
        """,
    )
    model = "select 1 as id -- {{ config(materialized='auto_cdc', keys=['%s']%s) }}"
    project.write("models/sql.sql", model % ("sql", ", unique_key='id', on_schema_change='ignore'"))
    project.write("models/deep/folder.sql", model % ("folder", ""))
    project.write("models/yml.sql", model % ("yml", ""))
    project.write("models/none.sql", model % ("none", ""))
    project.write(
        "models/_models.yml",
        """
        models:
          - name: yml
            config: {full_refresh: false, on_schema_change: fail, sequence_by: seq}
        """,
    )
    project.succeed("parse")

    expected = {
        "sql": {"unique_key": "id", "on_schema_change": "ignore"},
        "folder": {"on_schema_change": "sync_all_columns", "sequence_by": "at"},
        "yml": {"full_refresh": False, "on_schema_change": "fail", "sequence_by": "seq"},
        "none": {},
    }
    assert expected == seen


def test_warnings_are_dbts_warnings(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A doubtful option warns and goes on, and stops the command under --warn-error."""
    monkeypatch.setattr(dbt_auto_cdc.bridge, "config_problems", lambda **_: ([], ["this is doubtful"]))
    project.write("models/first.sql", BROKEN)
    project.succeed("parse")
    assert "auto_cdc: model first (models/first.sql): this is doubtful" in project.log
    assert "this is doubtful" in project.fail("--warn-error", "parse")


def test_a_fault_of_ours_in_validation_stops_nobody(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unforeseen exception while validating is left to the run of that model."""

    def broken(**_: object) -> tuple[list[str], list[str]]:
        raise KeyError("x")

    monkeypatch.setattr(dbt_auto_cdc.bridge, "config_problems", broken)
    project.write("models/first.sql", BROKEN)
    project.succeed("parse")


# -- Errors ------------------------------------------------------------------------------------------------------------


def test_our_errors_become_dbts_compilation_errors() -> None:
    """The text is passed on as it is; dbt adds model and file."""

    def refuse() -> None:
        raise AutoCdcError("m", ["no `keys`; write keys=['id']", "no `sequence_by`"])

    with pytest.raises(CompilationError) as refusal:
        guarded(refuse)()
    expected = "auto_cdc: model m: 2 problems\n  - no `keys`; write keys=['id']\n  - no `sequence_by`"
    assert expected == refusal.value.msg
    assert refusal.value.__suppress_context__


@pytest.mark.parametrize("error", [ValueError("odd"), KeyError("odd"), TypeError("odd")])
def test_unforeseen_errors_say_that_they_are_ours(error: Exception) -> None:
    """dbt alone would show the bare text of the exception, without a model."""

    def plan() -> None:
        raise error

    with pytest.raises(CompilationError, match=r"auto_cdc: internal error in plan: .*odd"):
        guarded(plan)()


def test_dbts_own_errors_pass() -> None:
    """What a macro called from Python raises is shown as dbt means it."""
    inner = CompilationError("from a macro")

    def plan() -> None:
        raise inner

    with pytest.raises(CompilationError) as passed:
        guarded(plan)()
    assert passed.value is inner


# -- Two halves --------------------------------------------------------------------------------------------------------


def test_packages_yml_works_beside_pip(project: Project, root: Path) -> None:
    """Macros by packages.yml: dbt takes that copy and the bundled one stays out."""
    carry_macros(project, root)
    project.write("macros/ask.sql", ASK)
    project.succeed("run-operation", "ask")
    assert "macro.auto_cdc.only_here" in project.succeed("parse").result.macros


def test_the_repository_itself_is_a_package_without_nodes(project: Project, root: Path) -> None:
    """Macros by git bring the whole repository: its models, seeds and tests stay out, even as disabled nodes."""
    project.write("packages.yml", f"packages:\n  - local: {root}\n")
    project.write("models/one.sql", "select 1 as id")
    project.succeed("deps")
    manifest = project.succeed("--warn-error", "parse").result

    assert "macro.auto_cdc._python" in manifest.macros
    assert set(manifest.nodes) == {"model.shop.one"}
    assert not manifest.disabled


def test_halves_of_two_versions_are_refused(project: Project, root: Path) -> None:
    """The message names both versions and how to make them one."""
    carry_macros(project, root, version="0.0.9")
    project.write("macros/ask.sql", ASK)
    said = project.fail("run-operation", "ask")

    assert "the macros are of version 0.0.9" in said
    assert f"the Python package is of version {__version__}" in said
    assert "pip install dbt-auto-cdc==0.0.9" in said
    assert f"revision: v{__version__}" in said


def test_a_missing_python_half_is_named(
    project: Project, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Macros alone, as in an environment without the package or under a dbt that cannot load Python."""
    take_python_away(monkeypatch)
    carry_macros(project, root)
    project.write("macros/ask.sql", ASK)
    said = project.fail("run-operation", "ask")

    assert "the Python half of this package is missing" in said
    assert f"pip install dbt-auto-cdc=={__version__}" in said
    assert "dbt Fusion and dbt v2 cannot load Python packages" in said
    assert "import finder" in said


def test_without_the_package_dbt_is_what_it_was(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests' way of taking the plugin away really does, and the patches come off cleanly."""
    take_python_away(monkeypatch)
    project.write("models/one.sql", "select 1 as id, '{{ modules.auto_cdc is defined }}' as bridge")
    manifest = project.succeed("run") and project.succeed("parse").result
    assert not any(macro.startswith("macro.auto_cdc.") for macro in manifest.macros)
    assert [(1, "False")] == project.query("select id, bridge from one")
