"""A finished memory of the sample sessions and of one more, to be asked and not changed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from memory_assets.pipeline.stage.components import Components
from memory_assets.recall import Memory, open_memory
from memory_assets.serving.pages.site import build_site
from memory_assets.settings import Settings
from memory_assets.stores.chroma import server as chroma_server
from memory_assets.stores.lake.schemas import TABLES
from memory_assets_tests.conftest import (
    copy_memory,
    copy_sample,
    forget_own_settings,
    made_once,
    settings_of_copy,
)
from memory_assets_tests.foreign_programs import chroma_client
from memory_assets_tests.pipeline.conftest import STAGES, run_stages
from memory_assets_tests.transcript_files import claude_line
from memory_assets_tests.workspaces.conftest import Indexed, write

HARBOR = "-home-mara-code-harbor-api"
REPORTS = "3d0f6a52-8c1e-4b7d-9f32-6a1f0c9be741"
LOGIN = "5c8e7a13-b94f-4d26-a071-e3f2d6890b5c"
TURN = f"session::{REPORTS}::turn::2"
TOKEN = "a-token-of-the-tests-alone"
LONG = "aaaaaaaa-0000-4000-8000-000000000001"
RETRIEVING = "bbbbbbbb-0000-4000-8000-000000000001"
LOCAL = "http://127.0.0.1:8765"
"""Where a browser on this machine has the pages."""
_PARAGRAPHS = 70
_CWD = "/home/mara/code/harbor-api"
CORPUS = "context-vigilance-corpus"
DOCUMENTS: dict[str, tuple[str, dict[str, Any]]] = {
    "harbor-api::docs/reports.md::0": (
        "The daily report covers a day in the customer's time zone. Day bounds are computed in "
        "src/harbor/reports.py, not in UTC.",
        {"source_repo_slug": "mara/harbor-api", "kind": "doc", "bucket": "docs", "chunk_index": 0},
    ),
    "harbor-api::docs/migrations.md::0": (
        "Alembic migrations on staging need a lock_timeout, else an ALTER TABLE waits in the "
        "lock queue and blocks every query.",
        {"source_repo_slug": "mara/harbor-api", "kind": "doc", "bucket": "ops", "chunk_index": 0},
    ),
    "bakery::recipes/bread.md::0": (
        "Knead the dough for ten minutes, then let it rise for an hour in a warm place.",
        {"source_repo_slug": "ada/bakery", "kind": "doc", "bucket": "docs", "chunk_index": 0},
    ),
}

WORKSPACE = Path("harbor-api")
REPORT_DAYS = "docs/adr/0014-report-days-as-ranges.md"
WORKSPACE_FILES = {
    REPORT_DAYS: "# Report days as ranges\n\n## Context\n\nA day in Europe/Lisbon may have 23 "
    "hours when the clocks change.\n\n## Decision\n\nThe bounds of a report's day are local "
    "midnights, each turned into UTC by itself; no hours are added.\n",
    "Dockerfile": "FROM python:3.13\nRUN pip install harbor\n",
    "services/svc-mail/worker.py": '"""The e-mail worker."""\n\n\ndef send(letter: str) -> None:\n'
    '    """Send one letter, and release its memory."""\n',
}


@dataclass
class Asked:
    """The memory, how it was made, and its tables to compare answers with."""

    memory: Memory
    components: Components
    settings: Settings
    harbor = HARBOR
    long_session = LONG

    def rows(self, table: str) -> list[dict[str, Any]]:
        """All rows of a table."""
        lake, of = self.components.lake, TABLES[table]
        return [
            row for name in lake.projects(of) for row in lake.read_partition(of, name).to_pylist()
        ]


def _long_session() -> list[dict[str, Any]]:
    """One turn of many passages, one of a line on the same thing, one without any time."""
    answer = "\n\n".join(
        f"Lighthouse keeping, part {number}. " + f"Step {number} of tending the lamp. " * 12
        for number in range(_PARAGRAPHS)
    )
    said = [
        ("how does one keep a lighthouse?", "2026-02-01T08:00:00.000Z"),
        (answer, "2026-02-01T08:01:00.000Z"),
        ("and who paints the lighthouse door?", "2026-02-02T08:00:00.000Z"),
        ("The keeper's cousin paints it.", "2026-02-02T08:01:00.000Z"),
        ("is a lighthouse timeless?", ""),
        ("This one has no clock.", ""),
    ]
    return [
        claude_line(LONG, number, text, _CWD, moment) for number, (text, moment) in enumerate(said)
    ]


def _retrieving_session() -> list[dict[str, Any]]:
    """A session that asks Chroma's MCP server; the shapes of its answers are those of chroma-mcp
    0.2 (`collection.query`, `collection.get`), the last one cut short."""
    reports, migrations, bread = DOCUMENTS
    collection = {"collection_name": CORPUS}
    queried = {"ids": [[migrations, reports]], "documents": [["a", "b"]], "distances": [[0.1, 0.9]]}
    calls = [
        ("query_documents", {**collection, "query_texts": ["lock"]}, json.dumps(queried, indent=2)),
        (
            "get_documents",
            {**collection, "ids": [bread]},
            f'{{"ids": ["{bread}"], "documents": ["Kn',
        ),
        ("get_documents", {"collection_name": "another"}, json.dumps({"ids": [reports]})),
        ("list_collections", {}, json.dumps([CORPUS])),
    ]
    said: list[Any] = ["what do our documents say about locks?"]
    for number, (tool, given, answer) in enumerate(calls):
        name, call = f"mcp__chroma__chroma_{tool}", f"toolu_{number}"
        said.append([{"type": "tool_use", "id": call, "name": name, "input": given}])
        result = [{"type": "text", "text": answer}]
        said.append([{"type": "tool_result", "tool_use_id": call, "content": result}])
    said.append("Set a lock timeout.")
    return [
        claude_line(RETRIEVING, at, each, _CWD, f"2026-03-01T08:{at:02}:00.000Z")
        for at, each in enumerate(said)
    ]


def components_of(memory: Memory) -> Components:
    """The stores and engines of a memory, for tests that change it."""
    assert isinstance(memory.settings, Settings)
    return Components(memory.settings)


@pytest.fixture(scope="session")
def asked(tmp_path_factory: pytest.TempPathFactory, of_all_workers: Path) -> Iterator[Asked]:
    """The memory that all tests of this package ask; its Chroma server runs."""
    original = made_once(of_all_workers, "asked-once", _make_asked)
    root = tmp_path_factory.mktemp("asked") / "copy"
    copy_memory(original, root)
    with pytest.MonkeyPatch.context() as patch:
        forget_own_settings(patch, root / "home")
        components = _with_the_key(settings_of_copy(root))
        assert components.redactor and components.embedder  # loaded while nothing else is known
        made = Asked(open_memory(components.settings), components, components.settings)
    yield made
    chroma_server.stop(root / "data")


def _make_asked(root: Path) -> None:
    copy_sample(root / "transcripts")
    for name, records in ((LONG, _long_session()), (RETRIEVING, _retrieving_session())):
        lines = "".join(json.dumps(record) + "\n" for record in records)
        (root / "transcripts" / "claude" / "projects" / HARBOR / f"{name}.jsonl").write_text(lines)
    with pytest.MonkeyPatch.context() as patch:
        forget_own_settings(patch, root / "home")
        components = _with_the_key(settings_of_copy(root))
        run_stages(components, STAGES)
    chroma_server.stop(root / "data")
    components.catalog.close()


def _with_the_key(settings: Settings) -> Components:
    components = Components(settings)
    components.opened["install_key"] = bytes(range(32))
    return components


@pytest.fixture(scope="session")
def client(asked: Asked) -> Iterator[TestClient]:
    """A browser on this machine, without a token."""
    with TestClient(build_site(asked.settings), base_url=LOCAL) as client:
        yield client


@pytest.fixture
def copied(asked: Asked, tmp_path: Path) -> Iterator[Callable[..., Memory]]:
    """What opens a copy of the memory, for tests that break something."""
    chroma_server.stop(asked.settings.data_dir)
    shutil.copytree(asked.settings.data_dir, tmp_path / "copy" / "data")

    def opened(**given: Any) -> Memory:
        return open_memory(settings_of_copy(tmp_path / "copy", **given))

    yield opened
    chroma_server.stop(tmp_path / "copy" / "data")


@pytest.fixture(scope="session")
def documented(asked: Asked, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """A copy of the memory that has a workspace as well: another clone of a project."""
    chroma_server.stop(asked.settings.data_dir)
    root = tmp_path_factory.mktemp("documented")
    shutil.copytree(asked.settings.data_dir, root / "data")
    workspace = root / WORKSPACE.name
    write(workspace, WORKSPACE_FILES)
    engines = {
        name: getattr(asked.components, name) for name in ("install_key", "redactor", "embedder")
    }
    domains = {"workspace_domains": ("svc-mail=post",)}
    indexed = Indexed(workspace, root / "data", engines, domains)
    indexed.index()
    yield open_memory(settings_of_copy(root))
    indexed.close()


@pytest.fixture
def corpus(asked: Asked) -> Iterator[Callable[..., str]]:
    """What makes a collection beside ours; it is gone afterwards."""
    client = chroma_client(asked.memory.data_dir)
    made: list[str] = []

    def make(name: str = CORPUS, *, vectors: Any = None, **given: Any) -> str:
        texts = [text for text, _ in DOCUMENTS.values()]
        client.create_collection(name, **given).add(
            ids=list(DOCUMENTS),
            embeddings=asked.components.embedder.embed(texts) if vectors is None else vectors,
            documents=texts,
            metadatas=[dict(metadata) for _, metadata in DOCUMENTS.values()],
        )
        made.append(name)
        return name

    yield make
    for name in made:
        client.delete_collection(name)
