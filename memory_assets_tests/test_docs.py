"""Documentation fails the build when it stops being true."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
from dagster import AssetKey, AssetsDefinition, AssetSpec

from memory_assets import __version__
from memory_assets.dagster.definitions import defs
from memory_assets.requests.arguments import declared
from memory_assets.settings import Settings
from memory_assets_tests.cli import commands_reference
from memory_assets_tests.stores import tables_reference

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
PACKAGE = ROOT / "memory_assets"
NOTES = ROOT / "benchmarks" / "notes"
FOLDERS = (ROOT, ROOT / "docs", NOTES, TESTS)
DOCUMENTS = [document for folder in FOLDERS for document in folder.glob("*.md")]
SPECS = defs.resolve_all_asset_specs()
SETTINGS = {each.name: each for each in declared(Settings)}


@pytest.mark.parametrize("name", sorted(SETTINGS))
def test_every_setting_is_documented(name: str) -> None:
    """docs/settings.md has a row for each setting, and its default where it is a number."""
    rows = (ROOT / "docs" / "settings.md").read_text().splitlines()
    row = [line for line in rows if line.startswith(f"| `MEMORY_{name.upper()}`")]
    assert len(row) == 1
    default = SETTINGS[name].default
    if isinstance(default, int | float):
        assert f"| {default:g} |" in row[0]


def test_no_setting_is_documented_that_does_not_exist() -> None:
    """Every `MEMORY_X` row of docs/settings.md is a setting."""
    text = (ROOT / "docs" / "settings.md").read_text()
    documented = set(re.findall(r"^\| `MEMORY_([A-Z_]+)`", text, re.M))
    assert documented == {name.upper() for name in SETTINGS}


@pytest.mark.parametrize("command", commands_reference.commands())
def test_every_command_is_in_the_readme(command: str) -> None:
    """README names each command of the console script."""
    assert f"memory {command}" in (ROOT / "README.md").read_text()


def test_the_reference_of_commands_is_what_the_command_line_says() -> None:
    """docs/commands.md is the output of `make reference`."""
    assert (ROOT / "docs" / "commands.md").read_text() == commands_reference.reference()


def test_the_architecture_says_where_each_asset_is() -> None:
    """Each asset has a row with the module that defines it and the stage that it calls."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)\.py` \| `([\w/]+\.py)` \|$", text, re.M)
    assert {name for name, _, _ in rows} == {spec.key.to_user_string() for spec in SPECS}
    for name, module, stage in rows:
        defined = vars(importlib.import_module(f"memory_assets.dagster.assets.{module}")).values()
        assets = [one for each in defined for one in (each if isinstance(each, list) else [each])]
        keys = {key for each in assets if isinstance(each, AssetsDefinition) for key in each.keys}
        keys |= {each.key for each in assets if isinstance(each, AssetSpec)}
        assert AssetKey(name) in keys
        assert (PACKAGE / "pipeline" / stage).exists()


def test_the_architecture_names_each_folder() -> None:
    """Each package has its name, followed by a slash, in ARCHITECTURE.md."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    folders = [path.parent for path in PACKAGE.rglob("__init__.py") if path.parent != PACKAGE]
    assert [str(folder) for folder in folders if f"{folder.name}/`" not in text] == []


def test_the_graph_of_the_readme_is_the_graph() -> None:
    """Its arrows are the dependencies of all assets but those that run once a night."""
    drawing = (ROOT / "README.md").read_text().split("## The graph")[1].split("```")[1]
    drawn = set()
    for line in drawing.splitlines():
        groups = [re.findall(r"\w+", group) for group in line.split("-->")]
        drawn |= {(a, b) for left, right in pairwise(groups) for a in left for b in right}
    nightly = {"retained_sessions", "kept_memories", "memory_status"}
    assert drawn == {
        (dep.asset_key.to_user_string(), spec.key.to_user_string())
        for spec in SPECS
        for dep in spec.deps
        if spec.key.to_user_string() not in nightly
    }


def test_the_reference_of_tables_is_what_the_models_say() -> None:
    """docs/tables.md is the output of `make reference`."""
    assert (ROOT / "docs" / "tables.md").read_text() == tables_reference.reference()


def test_files_that_the_documents_name_exist() -> None:
    """Paths of this repository that the documents name lead somewhere, but for the new files
    of the recipes."""
    named = (
        r"(?<![\w/.~])(?<!new file `)"
        r"(?:docs|benchmarks|memory_assets|memory_assets_tests|data/sample)/[\w/.-]*\w"
    )
    missing = [
        f"{document.name}: {path}"
        for document in DOCUMENTS
        for path in re.findall(named, document.read_text())
        if not (ROOT / path).exists()
    ]
    assert missing == []


def test_imports_in_the_documents_work() -> None:
    """Every `from memory_assets... import` in a code block of docs/ names what is there."""
    line = re.compile(r"^ *from (memory_assets[\w.]*) import ([\w, ]+)$", re.M)
    missing = [
        f"{document.name}: {module}.{name}"
        for document in (ROOT / "docs").glob("*.md")
        for module, names in line.findall(document.read_text())
        for name in names.split(", ")
        if not hasattr(importlib.import_module(module), name)
    ]
    assert missing == []


def test_links_between_the_documents_lead_to_a_heading() -> None:
    """Each relative link leads to a file, and its anchor to a heading there."""
    broken = []
    for document in DOCUMENTS:
        for target in re.findall(r"\]\(([^)\s]+)\)", document.read_text()):
            if target.startswith("http"):
                continue
            path, _, anchor = target.partition("#")
            file = document.parent / path if path else document
            if not file.exists() or (anchor and anchor not in _anchors(file)):
                broken.append(f"{document.name}: {target}")
    assert broken == []


def test_tests_that_the_documents_name_exist() -> None:
    """A claim that names its test in backquotes names one that is there."""
    sources = {path.name: path.read_text() for path in TESTS.rglob("test_*.py")}
    cited = [
        (document.name, *names)
        for document in DOCUMENTS
        for names in re.findall(r"`(?:[\w/]+/)?(test_\w+\.py)(?:::(\w+))?`", document.read_text())
    ]
    assert [
        cite for cite in cited if cite[1] not in sources or f"def {cite[2]}" not in sources[cite[1]]
    ] == []


def _anchors(document: Path) -> set[str]:
    """The anchors that GitHub gives to a document's headings."""
    headings = re.findall(r"^#+ (.+)$", document.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_what_is_released_together_has_one_version() -> None:
    """The newest release of CHANGELOG.md, which has a date, and the extension, with its file."""
    releases = re.findall(
        r"^## (\d\S+) \(\d{4}-\d\d-\d\d\)$", (ROOT / "CHANGELOG.md").read_text(), re.M
    )
    extension = json.loads((ROOT / "extension/package.json").read_text())["version"]
    assert releases[0] == extension == __version__
    assert f"memory-assets-{__version__}.vsix" in (ROOT / "extension/README.md").read_text()


def test_imports_in_the_benchmarks_work() -> None:
    """No other test starts most of these programs."""
    missing = [
        f"{program.name}: {node.module}.{alias.name}"
        for program in sorted((ROOT / "benchmarks").glob("*.py"))
        for node in ast.walk(ast.parse(program.read_text()))
        if isinstance(node, ast.ImportFrom)
        and node.module is not None
        and node.module.split(".")[0] == "memory_assets"
        for alias in node.names
        if not hasattr(importlib.import_module(node.module), alias.name)
        and importlib.util.find_spec(f"{node.module}.{alias.name}") is None
    ]
    assert missing == []


def test_programs_that_use_the_tests_or_each_other_by_full_name_find_them() -> None:
    """Only the package is installed: `make pictures` failed where nobody had set a path."""
    for program in sorted((ROOT / "benchmarks").glob("*.py")):
        text = program.read_text()
        uses = re.search(r"^from (memory_assets_tests|benchmarks)\b", text, re.MULTILINE)
        if uses and f"python benchmarks/{program.name}" in text:
            before = text[: uses.start()]
            assert "sys.path.insert" in before or "from sample_site" in before, program.name


def test_the_readme_runs_the_two_commands_that_ci_and_users_rely_on() -> None:
    """`make ingest` and `make test` are in README, Makefile and .ci/run."""
    readme = (ROOT / "README.md").read_text()
    makefile = (ROOT / "Makefile").read_text()
    assert "make ingest" in readme and "make test" in readme
    assert "\ningest:" in makefile and "\ntest:" in makefile
    assert "make test" in (ROOT / ".ci" / "run").read_text()
