"""The structure is enforced: who may import whom, where heavy packages may be imported,
and how large modules and functions may grow."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Collection
from functools import cache
from pathlib import Path

import pytest

import memory_assets
from memory_assets.dagster.undocumented import TRIED
from memory_assets_tests.command_line import run_code

PACKAGE = Path(memory_assets.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))

FOUNDATION = {
    "agents",
    "models",
    "tool_names",
    "errors",
    "redacted_text",
    "record_identity",
    "settings",
    "paths",
    "path_spelling",
    "word_lists",
    "project_names",
    "private_files",
    "http",
    "search_kinds",
    "install_key",
    "document_models",
    "agent_memory_models",
}
READS_SESSIONS = {"summaries", "observations", "commits", "procedures"}
DOMAIN = {
    "transcripts",
    "redaction",
    "chunking",
    "documents",
    "embedding",
    "keywords",
    "writing_systems",
    "session_analysis",
    "agent_memory",
} | READS_SESSIONS
MAY_IMPORT = {
    **dict.fromkeys(FOUNDATION, FOUNDATION),
    "settings": FOUNDATION | {"requests", "agent_memory"},
    **{name: {"models", "errors", "redacted_text", "word_lists"} for name in DOMAIN},
    "chunking": {"models", "errors", "redacted_text", "path_spelling", "keywords"},
    "session_analysis": {
        "models",
        "errors",
        "redacted_text",
        "path_spelling",
        "tool_names",
        "word_lists",
        "writing_systems",
    },
    "keywords": {"writing_systems"},
    "writing_systems": set(),
    "embedding": {"errors", "redacted_text", "http"},
    "redaction": {
        *("models", "errors", "redacted_text", "record_identity", "install_key", "paths"),
        *("tool_names", "word_lists"),
    },
    "transcripts": {
        *("agents", "models", "errors", "redacted_text", "record_identity", "paths"),
        *("project_names", "word_lists"),
    },
    "documents": {"chunking", "commits", "embedding", "word_lists"},
    "agent_memory": {
        *("errors", "redacted_text", "keywords", "agent_memory_models", "word_lists"),
    },
    **{
        name: {"models", "errors", "redacted_text", "session_analysis", "word_lists"}
        | {"writing_systems"}
        for name in READS_SESSIONS
    },
    "summaries": {"models", "errors", "redacted_text", "session_analysis", "http", "word_lists"},
    "requests": {"agents", "errors", "paths", "search_kinds", "agent_memory"},
    "stores": FOUNDATION - {"settings", "install_key"} | {"agent_memory"},
    "status": FOUNDATION | {"requests", "stores", "transcripts"},
    "pipeline": FOUNDATION | DOMAIN | {"stores", "status"},
    "recall": FOUNDATION | DOMAIN | {"requests", "stores", "status"},
    "serving": FOUNDATION | {"chunking", "requests", "recall", "status", "pipeline"},
    "watching": FOUNDATION | DOMAIN | {"stores", "status", "pipeline"},
    "shards": FOUNDATION | {"stores", "pipeline", "redaction"},
    "dagster": FOUNDATION | DOMAIN | {"stores", "status", "pipeline", "shards"},
}
DAGSTER_PACKAGES = {"dagster", "dagster_webserver"}
PRIVATE_DAGSTER = {"dagster/undocumented.py"}
"""The module that uses what Dagster does not promise to keep; it says what for."""
HOMES = {
    "chromadb": set(),
    "deltalake": {"shards/delta.py"},
    "chromadb_rust_bindings": {"stores/chroma/process.py"},
    "great_expectations": {"dagster/expectations.py"},
    "onnxruntime": {"embedding/minilm.py"},
    "obstore": {"stores/shard/objects.py"},
    "ray": {"shards/workers.py"},
    "qdrant_client": {"stores/qdrant/collections.py", "stores/qdrant/connection.py"},
}
"""The only modules that may import a heavy package, and only inside functions."""
WITHOUT = {
    **{name: {"dagster", "great_expectations", "pandas"} for name in ("recall", "serving")},
    "agent_memory": {"sqlite3", "chromadb", "mcp", "mcp_types", "numpy"},
}
"""What packages may import nowhere."""
SEALS = {
    "stores/agents/journal.py",
    "stores/agents/rows.py",
    "stores/keyword_index/index.py",
    "stores/lake/rows.py",
    "redacted_text.py",
}
"""Modules outside redaction/ that may mark text as redacted: they read it from a store."""
PIPELINE_FLOORS = (
    {"ingest"},
    {"removal"},
    {"plan"},
    {"checks"},
    {"stages"},
    {"workspace", "agent_memory"},
    {"tables"},
    {"indexes", "redact"},
    {"scan"},
    {"ownership"},
    {"stage"},
)
"""The rooms of the pipeline (and the module `stages.py`) from top to bottom; each imports only
rooms further down."""
BANNED_WORDS = {
    "buried",
    "claims_now",
    "doomed",
    "firm",
    "gave_way_to",
    "grown",
    "let_go",
    "provisional",
    "resting",
    "settle",
    "settled",
    "teachers",
    "told_elsewhere",
    "toldelsewhere",
    "unpassed",
    "waits",
}
"""Names that stand for a concept that has a word of the field: docs/glossary.md."""
RIDDLES = re.compile(r"^(?:The same|Those)\b|^Return the same\b|\b[Ll]ikewise\b|\bsays? of\b")
"""What makes a docstring depend on the one above it, or leaves its subject to be guessed."""
MAX_DOORS = 12
"""The most modules and folders of a package that are imported from outside it."""
MORE_DOORS = {"stores": 16}
"""Packages that have more, and how many at most."""
MAX_MODULE_LINES = 600
MAX_FUNCTION_LINES = 60
BANNED_NAMES = {"utils.py", "helpers.py", "common.py", "misc.py"}


def _part(module: Path) -> str:
    """The package (or top-level module) that a module belongs to."""
    return module.relative_to(PACKAGE).parts[0].removesuffix(".py")


@cache
def _tree(module: Path) -> ast.Module:
    return ast.parse(module.read_text())


@cache
def _nodes(module: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(_tree(module)))


@cache
def _imports(module: Path, *, top_level_only: bool = False) -> tuple[str, ...]:
    found: list[str] = []
    for node in _tree(module).body if top_level_only else _nodes(module):
        if isinstance(node, ast.Import):
            found += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.append(node.module)
    return tuple(found)


def _dotted(module: Path) -> str:
    parts = module.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def _imported_modules(module: Path, known: Collection[str]) -> set[str]:
    """The modules of the package that a module imports, by name or a name from them."""
    found = set[str]()
    for node in _nodes(module):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            within = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (within & set(known)) or {node.module}
    return found & set(known) - {_dotted(module)}


def _path(module: Path) -> str:
    return module.relative_to(PACKAGE).as_posix()


def _roots(module: Path, *, top_level_only: bool = False) -> set[str]:
    """The packages that a module imports from, by their first name."""
    return {name.split(".")[0] for name in _imports(module, top_level_only=top_level_only)}


def test_imports_run_one_way() -> None:
    """A package imports only what stands below it."""
    offenders = []
    for module in MODULES:
        part = _part(module)
        if part not in MAY_IMPORT:
            continue
        ours = {
            name.split(".")[1] for name in _imports(module) if name.startswith("memory_assets.")
        }
        offenders += [f"{_path(module)}: {name}" for name in ours - {part} - MAY_IMPORT[part]]
    assert offenders == []


def test_the_rooms_of_the_pipeline_import_downwards() -> None:
    """No room of `pipeline/` imports one of its own floor or above."""
    floor = {room: number for number, rooms in enumerate(PIPELINE_FLOORS) for room in rooms}
    offenders = []
    modules = [*(PACKAGE / "pipeline").glob("*/*.py"), PACKAGE / "pipeline" / "stages.py"]
    for module in modules:
        room = module.stem if module.stem == "stages" else module.parent.name
        names = [name.split(".") for name in _imports(module)]
        used = {name[2] for name in names if name[:2] == ["memory_assets", "pipeline"] and name[2:]}
        offenders += [
            f"{_path(module)}: {other}" for other in used - {room} if floor[other] <= floor[room]
        ]
    assert offenders == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Wherever the imports stand, in functions and for types, too."""
    known = {_dotted(module): module for module in MODULES}
    names = {dotted: _imported_modules(module, known) for dotted, module in known.items()}
    while leaves := [dotted for dotted, imported in names.items() if not imported & names.keys()]:
        for dotted in leaves:
            del names[dotted]
    while tops := names.keys() - set[str]().union(*names.values()):
        for dotted in tops:
            del names[dotted]
    assert sorted(names) == []


def test_no_room_has_many_doors() -> None:
    """Who works in a package can keep in mind what others use of it."""
    known = {_dotted(module): module for module in MODULES}
    doors: dict[str, set[str]] = {}
    for dotted, module in known.items():
        for imported in _imported_modules(module, known):
            room, _, door = imported.rpartition(".")
            while room != PACKAGE.name and room and not f"{dotted}.".startswith(f"{room}."):
                doors.setdefault(room.removeprefix(f"{PACKAGE.name}."), set()).add(door)
                room, _, door = room.rpartition(".")
    many = {room: len(names) for room, names in doors.items()}
    assert {
        room: number for room, number in many.items() if number > MORE_DOORS.get(room, MAX_DOORS)
    } == {}


def test_dagster_stays_in_its_layer() -> None:
    """Only the Dagster layer, and the entry points that run it, import Dagster."""
    homes = (PACKAGE / "dagster", PACKAGE / "cli" / "dagster")
    outside = [module for module in MODULES if not any(map(module.is_relative_to, homes))]
    assert [_path(module) for module in outside if _roots(module) & DAGSTER_PACKAGES] == []


def test_what_is_private_to_dagster_is_used_in_one_module() -> None:
    """And only of the versions that it was tried with: another one is refused when the package is
    installed."""
    private = {
        _path(module)
        for module in MODULES
        if re.search(
            r"\bdagster(_\w+)?(\._| import _)|\bfrom dagster_webserver", module.read_text("utf-8")
        )
    }
    assert private == PRIVATE_DAGSTER
    wanted = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text())["project"]
    oldest, newest = TRIED
    for name in ("dagster", "dagster-webserver"):
        assert f"{name}>={oldest},<={newest}" in wanted["dependencies"]
    libraries = [version.replace("1.13.", "0.29.") for version in TRIED]  # numbered so
    postgres = "dagster-postgres>={},<={}".format(*libraries)
    for extra in ("postgres", "dev"):
        assert postgres in wanted["optional-dependencies"][extra]


def test_heavy_packages_are_imported_in_one_place_and_late() -> None:
    """Chroma, Great Expectations and onnxruntime: in their own modules, inside functions."""
    offenders = [
        f"{_path(module)}: {name}"
        for module in MODULES
        for name, homes in HOMES.items()
        if (name in _roots(module) and _path(module) not in homes)
        or name in _roots(module, top_level_only=True)
    ]
    assert offenders == []


def test_only_the_redactor_and_the_stores_seal_text() -> None:
    """`seal` marks text as redacted: only what redacts, or reads redacted text back from
    a store, may call it."""
    offenders = [
        _path(module)
        for module in MODULES
        if _part(module) != "redaction"
        and _path(module) not in SEALS
        and any(isinstance(node, ast.Name) and node.id == "seal" for node in _nodes(module))
    ]
    assert offenders == []


def test_arrow_opens_the_files_it_reads() -> None:
    """A Python file's buffer that an Arrow thread frees at exit aborts the process."""
    offenders = [_path(module) for module in MODULES if "PythonFile" in module.read_text()]
    assert offenders == []


def test_modules_and_functions_stay_small() -> None:
    """600 lines a module, 60 a function, and no grab-bag modules."""
    offenders = [_path(module) for module in MODULES if module.name in BANNED_NAMES]
    for module in MODULES:
        lines = len(module.read_text().splitlines())
        if lines > MAX_MODULE_LINES:
            offenders.append(f"{_path(module)}: {lines} lines")
        for node in _nodes(module):
            if isinstance(node, ast.FunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                if length > MAX_FUNCTION_LINES:
                    offenders.append(f"{_path(module)}: {node.name} has {length} lines")
    assert offenders == []


def test_names_are_words_of_the_glossary() -> None:
    """No variable, function, class or module has a name that the glossary replaced."""
    offenders = [_path(module) for module in MODULES if module.stem in BANNED_WORDS]
    for module in MODULES:
        named = {
            getattr(node, field).strip("_").lower()
            for node in _nodes(module)
            for field in ("id", "attr", "arg", "name")
            if isinstance(getattr(node, field, None), str)
        }
        offenders += [f"{_path(module)}: {name}" for name in sorted(named & BANNED_WORDS)]
    assert offenders == []


def test_each_docstring_names_its_subject() -> None:
    """Nobody has to read the definition above to understand a docstring."""
    offenders = [
        f"{_path(module)}:{statement.lineno}"
        for module in MODULES
        for node in _nodes(module)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        for statement in node.body
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if RIDDLES.search(str(statement.value.value))
    ]
    assert offenders == []


def test_packages_do_without_what_others_are_for() -> None:
    """What answers needs no pipeline, and what may be stored of agents is decided without a store
    and a protocol."""
    offenders = [
        _path(module)
        for module in MODULES
        if _roots(module) & WITHOUT.get(_part(module), set()) != set()
    ]
    assert offenders == []


def test_one_module_knows_the_tools_of_chroma_mcp() -> None:
    """So that another version of it, or another server, is a change of one file."""
    tool = re.compile(r"\bchroma_(?:list|create|peek|get|add|query|update|delete|modify|fork)_")
    knowing = {_path(module) for module in MODULES if tool.search(module.read_text())}
    assert knowing == {"stores/chroma_mcp/adapter.py"}


@pytest.mark.parametrize(
    ("modules", "heavy"),
    [
        (
            "memory_assets.serving.mcp_server, memory_assets.serving.pages.site",
            {"pyarrow", "memory_assets.recall.memory", "chromadb", "onnxruntime", "dagster"},
        ),
        (
            "memory_assets.recall",
            {"dagster", "great_expectations", "chromadb", "onnxruntime", "pandas"},
        ),
        (
            "memory_assets.dagster.definitions",
            {"great_expectations", "chromadb", "onnxruntime", "pandas", "deltalake", "obstore"},
        ),
    ],
)
def test_what_is_slow_to_load_is_loaded_when_it_is_needed(modules: str, heavy: set[str]) -> None:
    """A client's handshake with a server waits for the SDK alone, reading and a code server
    start fast; so does the command line beside each."""
    code = f"import sys, {modules}, memory_assets.cli.cli; print({heavy} & set(sys.modules))"
    assert run_code(code).stdout.strip() == "set()"
