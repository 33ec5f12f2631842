"""The structure is enforced: who may import whom, where heavy packages may be imported,
and how large modules and functions may grow."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import memory_assets

PACKAGE = Path(memory_assets.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))

FOUNDATION = {"models", "errors", "redacted_text", "settings", "places", "install_key"}
READS_SESSIONS = {"summaries", "observations", "commits"}
DOMAIN = {
    "transcripts",
    "redaction",
    "chunking",
    "embedding",
    "keywords",
    "sessions",
} | READS_SESSIONS
DAGSTER_LAYER = {
    "assets",
    "checks",
    "definitions",
    "event_log",
    "jobs",
    "metadata",
    "partitions",
    "resources",
    "sensors",
    "superseded_runs",
}
MAY_IMPORT = {
    **{name: {"models", "errors", "redacted_text"} for name in DOMAIN},
    "redaction": {"models", "errors", "redacted_text", "install_key"},
    **{name: {"models", "errors", "redacted_text", "sessions"} for name in READS_SESSIONS},
    "stores": FOUNDATION - {"settings", "install_key"},
    "overview": FOUNDATION | {"stores", "transcripts"},
    "pipeline": FOUNDATION | DOMAIN | {"stores", "overview"},
    "recall": FOUNDATION | DOMAIN | {"stores", "overview"},
    "serving": FOUNDATION | {"chunking", "recall", "overview", "pipeline"},
    "watching": FOUNDATION | DOMAIN | {"stores", "pipeline"},
    **{
        name: FOUNDATION | DOMAIN | DAGSTER_LAYER | {"stores", "pipeline"} for name in DAGSTER_LAYER
    },
}
DAGSTER_ENTRYPOINTS = {"ingest.py", "dagster_home.py", "dagster_traces.py", "watch_runs.py"}
MAX_MODULE_LINES = 400
MAX_FUNCTION_LINES = 60
BANNED_NAMES = {"utils.py", "helpers.py", "common.py", "misc.py"}


def _part(module: Path) -> str:
    """The package (or top-level module) that a module belongs to."""
    return module.relative_to(PACKAGE).parts[0].removesuffix(".py")


@cache
def _tree(module: Path) -> ast.Module:
    return ast.parse(module.read_text())


def _imports(module: Path, *, top_level_only: bool = False) -> Iterator[str]:
    tree = _tree(module)
    nodes = tree.body if top_level_only else list(ast.walk(tree))
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def _ids(module: Path) -> str:
    return str(module.relative_to(PACKAGE))


@pytest.mark.parametrize("module", MODULES, ids=_ids)
def test_imports_run_one_way(module: Path) -> None:
    """A package imports only what stands below it."""
    part = _part(module)
    if part not in MAY_IMPORT:
        return
    ours = {name.split(".")[1] for name in _imports(module) if name.startswith("memory_assets.")}
    assert ours - {part} <= MAY_IMPORT[part]


@pytest.mark.parametrize("module", MODULES, ids=_ids)
def test_dagster_stays_in_its_layer(module: Path) -> None:
    """Only the Dagster layer, and the two entry points that run it, import Dagster."""
    if _part(module) in DAGSTER_LAYER:
        return
    if _part(module) == "entrypoints" and module.name in DAGSTER_ENTRYPOINTS:
        return
    assert not [name for name in _imports(module) if name.split(".")[0] == "dagster"]


@pytest.mark.parametrize("module", MODULES, ids=_ids)
def test_heavy_packages_are_imported_in_one_place_and_late(module: Path) -> None:
    """chromadb only in stores/vectors.py and its connection (and its server), Great
    Expectations only in checks/expectations.py, onnxruntime only in embedding/; all inside
    functions."""
    homes = {
        "chromadb": {"stores/vectors.py", "stores/chroma_connection.py"},
        "chromadb_rust_bindings": {"stores/chroma_server.py"},
        "great_expectations": {"checks/expectations.py"},
    }
    path = module.relative_to(PACKAGE).as_posix()
    for name in _imports(module):
        root = name.split(".")[0]
        assert path in homes.get(root, {path}), f"{root} is imported in {path}"
        assert root != "onnxruntime" or _part(module) == "embedding"
    heavy = {*homes, "onnxruntime", "dagster_webserver"}
    assert not [
        name for name in _imports(module, top_level_only=True) if name.split(".")[0] in heavy
    ]


@pytest.mark.parametrize("module", MODULES, ids=_ids)
def test_only_the_redactor_and_the_lake_seal_text(module: Path) -> None:
    """`seal` marks text as redacted: only what redacts, or reads redacted text back from
    a store, may call it."""
    allowed = {
        "stores/keyword_index.py",
        "stores/lake_rows.py",
        "stores/vectors.py",
        "redacted_text.py",
    }
    path = module.relative_to(PACKAGE).as_posix()
    if path in allowed or _part(module) == "redaction":
        return
    called = {node.id for node in ast.walk(_tree(module)) if isinstance(node, ast.Name)}
    assert "seal" not in called


@pytest.mark.parametrize("module", MODULES, ids=_ids)
def test_modules_and_functions_stay_small(module: Path) -> None:
    """400 lines a module, 60 a function, and no grab-bag modules."""
    assert module.name not in BANNED_NAMES
    assert len(module.read_text().splitlines()) <= MAX_MODULE_LINES
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.FunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            assert length <= MAX_FUNCTION_LINES, f"{node.name} has {length} lines"


@pytest.mark.parametrize("part", ["recall", "serving"])
def test_answering_needs_no_pipeline(part: str) -> None:
    """Neither recall nor the servers import Dagster, Great Expectations or pandas, anywhere."""
    for module in (PACKAGE / part).rglob("*.py"):
        roots = {name.split(".")[0] for name in _imports(module)}
        assert not roots & {"dagster", "great_expectations", "pandas"}, module


def test_a_server_does_not_load_recall_before_it_is_asked() -> None:
    """So that a client's handshake waits for the SDK alone."""
    heavy = "{'pyarrow', 'memory_assets.recall', 'chromadb', 'onnxruntime', 'dagster'}"
    code = (
        "import sys, memory_assets.serving.mcp_server, memory_assets.serving.http_api;"
        "import memory_assets.entrypoints.cli;"
        f"print(sorted({heavy} & set(sys.modules)))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert loaded.stdout.strip() == "[]"


def test_the_read_path_loads_neither_dagster_nor_great_expectations() -> None:
    """Importing recall and the command line starts fast."""
    heavy = "{'dagster', 'great_expectations', 'chromadb', 'onnxruntime', 'pandas'}"
    code = (
        "import sys, memory_assets.recall, memory_assets.entrypoints.cli;"
        f"print(sorted({heavy} & set(sys.modules)))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert loaded.stdout.strip() == "[]"
