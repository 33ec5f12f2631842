"""The recipes of CONTRIBUTING.md, held to the code."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path

import pytest

import memory_assets
from memory_assets.redaction.rules.formats import sample_characters
from memory_assets_tests.command_line import run_code, run_program
from memory_assets_tests.transcript_files import claude_line, write_lines

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path(memory_assets.__file__).parent
READ = """
import json
from memory_assets.settings import load_settings
from memory_assets.transcripts import ReadReport, discover, read_session

roots = load_settings(agents="acorn").transcript_roots()
(source,) = discover(roots)
report = ReadReport()
records = list(read_session(source.path, source=source, report=report))
print(json.dumps({
    "roots": {agent: [str(path) for path in paths] for agent, paths in roots.items()},
    "source": [source.agent, source.project, source.session_id],
    "records": [[one.kind, one.text, one.is_error] for one in records],
    "unknown": dict(report.unknown_types),
    "conserved": report.records == report.kept + report.dropped.total(),
}))
"""
REDACT = """
import sys
from memory_assets.redaction import RedactionSettings, load_redactor
redactor = load_redactor(RedactionSettings(engine="re"), bytes(32))
sys.stdout.write(redactor.redact(sys.argv[1]).text)
"""

PROJECT = "-home-ada-engine"
STEP = re.compile(
    r"[Ii]n (?:the new file )?`(?P<file>memory_assets/\S+\.py)`"
    r"(?:, (?P<where>at the end|before the line `(?P<before>[^`]+)`"
    r"|after the line `(?P<after>[^`]+)`))?:\n\n```(?:python|text)\n(?P<code>.*?)```\n",
    re.DOTALL,
)
TRY = f"""
import json
import dagster as dg
from memory_assets.cli.dagster.home import open_instance
from memory_assets.dagster.definitions import build_defs
from memory_assets.stores.runs.names import INGEST_JOB
from memory_assets.dagster.partitions import add_keys
from memory_assets.pipeline.checks.checks import verify_project
from memory_assets.pipeline.stage.components import Components
from memory_assets.recall import open_memory
from memory_assets.settings import load_settings
from memory_assets.stores.chroma import server
from memory_assets.stores.lake.schemas import TABLES

settings = load_settings()
with open_instance(settings) as instance:
    add_keys(instance, ["{PROJECT}"])
    run = build_defs(settings).resolve_job_def(INGEST_JOB).execute_in_process(
        instance=instance, partition_key="{PROJECT}", raise_on_error=False
    )
checks = run.get_asset_check_evaluations()
verified = verify_project(Components(settings), "{PROJECT}")
hits = open_memory().search("how does the lantern work", kinds=("questions",)).hits
rows = Components(settings).lake.read_partition(TABLES["questions"], "{PROJECT}")
server.stop(settings.data_dir)
print(json.dumps({{
    "success": run.success,
    "made": [event.asset_key.to_user_string() for event in run.get_asset_materialization_events()],
    "checks": {{f"{{check.asset_key.to_user_string()}}.{{check.check_name}}": check.passed
               for check in checks}},
    "verified": {{f"{{each.subject}}.{{each.name}}": each.verdict.passed for each in verified}},
    "rows": rows["text"].to_pylist(),
    "hits": [hit.id for hit in hits],
}}))
"""


def _recipe(heading: str) -> str:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    return text.split(f"## {heading}\n")[1].split("\n### ")[0]


def test_adding_a_reader_takes_three_files(tmp_path: Path) -> None:
    """Followed in a copy of the package, the recipe reads the sessions of an agent that nobody knew
    before, from its place: found, read, resumed, and chosen by its name."""
    copy = tmp_path / "scratch"
    shutil.copytree(PACKAGE, copy / "memory_assets")
    assert len(set(_follow(_recipe("Add a reader"), copy))) == 3
    session = tmp_path / "home" / ".acorn" / "sessions" / "a-1.jsonl"
    session.parent.mkdir(parents=True)
    lines: list[dict[str, object]] = [
        {"type": "session", "acorn": 1, "directory": "/home/ada/engine", "title": "The lantern"},
        {"type": "asked", "text": "how does the lantern burn?"},
        {"type": "asked", "by": "hook", "text": "be brief"},
        {"type": "said", "text": "With oil.", "model": "oak-1"},
        {"type": "call", "call": "c", "name": "bash", "input": {"command": "trim wick"}},
        {"type": "result", "call": "c", "text": "no wick", "failed": True},
        {"type": "leaf"},
    ]
    session.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    told = run_code(
        READ,
        env={**os.environ, "PYTHONPATH": str(copy), "HOME": str(tmp_path / "home")},
        cwd=tmp_path,
    )
    found = json.loads(told.stdout)
    assert found["roots"] == {"acorn": [str(session.parent)]}
    assert found["source"] == ["acorn", "-home-ada-engine", "a-1"]
    assert found["records"] == [
        ["title", "The lantern", False],
        ["prompt", "how does the lantern burn?", False],
        ["system", "be brief", False],
        ["assistant_text", "With oil.", False],
        ["tool_use", "command: trim wick", False],
        ["tool_result", "no wick", True],
    ]
    assert found["unknown"] == {"leaf": 1}
    assert found["conserved"]


def test_the_recipe_for_a_redaction_rule_is_one_row(tmp_path: Path) -> None:
    """The row of the recipe, added to a scratch copy, makes its tokens disappear."""
    shutil.copytree(PACKAGE, tmp_path / "memory_assets")
    (row,) = re.findall(r"`(\(\"acme-token\".*?\))`", _recipe("Add a redaction rule"))
    theme = tmp_path / "memory_assets/redaction/rules/token_formats/products.py"
    source = theme.read_text()
    first_row = source.index("= (\n") + len("= (\n")
    theme.write_text(f"{source[:first_row]}    {row},\n{source[first_row:]}")
    token = "acme_live_" + sample_characters("A-Za-z0-9", 40)
    text = f"deployed with {token} yesterday"
    redacted = run_code(REDACT, text, cwd=tmp_path).stdout
    assert re.fullmatch(r"deployed with <redacted:acme-token:\w+> yesterday", redacted)


def _follow(recipe: str, root: Path) -> list[str]:
    """Do what a recipe says in a copy of the package; return the files touched."""
    touched = []
    for step in STEP.finditer(recipe):
        path = root / step["file"]
        touched.append(step["file"])
        if step["where"] is None:
            assert not path.exists()
            path.write_text(step["code"])
        elif step["where"] == "at the end":
            path.write_text(f"{path.read_text()}\n\n{step['code']}")
        else:
            line = f"\n{step['before'] or step['after']}\n"
            found = path.read_text()
            assert found.count(line) == 1, (step["file"], line)
            new = f"\n{step['code']}{line[1:]}" if step["before"] else f"{line}{step['code']}"
            path.write_text(found.replace(line, new))
    return touched


def _session(path: Path) -> None:
    """Write a session of two turns, one of which begins with a question."""
    said = ["how does the lantern burn?", "with oil", "then trim the wick", "done"]
    lines = [claude_line(path.stem, at, text, "/home/ada/engine") for at, text in enumerate(said)]
    write_lines(path, lines)


@pytest.mark.long
@pytest.mark.usefixtures("compiled_rules")
def test_adding_an_asset_takes_five_files(tmp_path: Path) -> None:
    """Followed in a copy of the package, the recipe makes a table that is ingested, checked by
    Dagster and by `memory verify`, embedded, put in a collection, and found."""
    copy = tmp_path / "scratch"
    shutil.copytree(PACKAGE, copy / "memory_assets")
    (copy / "memory_assets" / "shipped").mkdir()  # as a wheel has them
    for name in ("dagster.yaml", "workspace.yaml"):
        shutil.copy(ROOT / name, copy / "memory_assets" / "shipped")
    touched = _follow(_recipe("Add an asset"), copy)
    assert len(set(touched)) == 5
    _session(tmp_path / "projects" / PROJECT / "5f0c7a1e-3b52-4d7a-9d8b-1c2e3f405162.jsonl")
    tried = run_code(
        TRY,
        env={
            **os.environ,
            "PYTHONPATH": str(copy),
            "MEMORY_DATA_DIR": str(tmp_path / "data"),
            "MEMORY_PROJECTS_DIR": str(tmp_path / "projects"),
            "MEMORY_CHROMA_IDLE_SECONDS": "60",
        },
        cwd=tmp_path,
    )
    told = json.loads(tried.stdout.splitlines()[-1])
    assert told["success"]
    assert {"questions", "question_embeddings", "question_collection"} <= set(told["made"])
    for checks in (told["checks"], told["verified"]):
        assert all(checks.values())
        assert {"questions.matches_schema", "questions.no_secrets_remain"} <= checks.keys()
        assert "question_collection.ids_match_table" in checks
    assert told["rows"] == ["how does the lantern burn?"]
    assert told["hits"] == ["question::5f0c7a1e-3b52-4d7a-9d8b-1c2e3f405162::0"]


@pytest.fixture
def followed(tmp_path: Path) -> list[str]:
    """What the recipes that add files touch, in a copy of the package at `tmp_path`."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(
        PACKAGE, tmp_path / "memory_assets", ignore=shutil.ignore_patterns("__pycache__")
    )
    recipes = [_recipe(name) for name in ("Add an asset", "Add a reader")]
    return sorted({file for recipe in recipes for file in _follow(recipe, tmp_path)})


def _passes(directory: Path, *command: str) -> None:
    module = [sys.executable, "-m", *command]
    run_program(module, cwd=directory)


def test_the_code_of_the_recipes_is_written_as_ours(tmp_path: Path, followed: list[str]) -> None:
    """What they add passes the linter and the formatter of `make check`."""
    _passes(tmp_path, "ruff", "check", *followed)
    _passes(tmp_path, "ruff", "format", "--check", *followed)


@pytest.mark.long
def test_the_code_of_the_recipes_is_typed_as_ours(
    tmp_path: Path, followed: list[str], pytestconfig: pytest.Config
) -> None:
    """What they add passes mypy as `make check` runs it."""
    assert pytestconfig.cache is not None
    types = f"--cache-dir={pytestconfig.cache.mkdir('mypy')}"  # of runs before: 7 s of CPU less
    _passes(tmp_path, "mypy", types, "--follow-imports=silent", *followed)
