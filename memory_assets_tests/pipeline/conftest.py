"""A memory of the sample sessions: made once by every stage, copied for each test that
changes something."""

from __future__ import annotations

import json
import pickle
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from memory_assets.paths import NO_EMBEDDER, SAMPLE_DIR
from memory_assets.pipeline.indexes import collections as index
from memory_assets.pipeline.indexes import indexed_tables, keywords
from memory_assets.pipeline.plan.plan import ProjectPlan, plan
from memory_assets.pipeline.redact import redacted_records as redact
from memory_assets.pipeline.scan import on_disk
from memory_assets.pipeline.scan import raw_sessions as scan
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.report import StageReport
from memory_assets.pipeline.stages import SESSIONS, TURNS
from memory_assets.pipeline.stages import STAGES as STAGES_OF_TABLES
from memory_assets.settings import Settings, load_settings
from memory_assets.stores.chroma import server as chroma_server
from memory_assets.stores.lake.schemas import TABLES
from memory_assets_tests.conftest import copy_memory, copy_sample, forget_own_settings, made_once
from memory_assets_tests.loaded_engines import give, load_engines

Stage = Callable[[Components, str], StageReport]
INDEXES = indexed_tables.SESSION_INDEXES


def _indexing(of: indexed_tables.IndexedTable) -> Stage:
    return lambda components, project: index.index_project(components, project, of)


STAGES: Mapping[str, Stage] = {
    "raw_sessions": scan.scan_project,
    "redacted_records": redact.redact_project,
    **{
        stage.table.name: stage.run
        for stage in STAGES_OF_TABLES
        if stage.group in (TURNS, SESSIONS)
    },
    **{of.stage: _indexing(of) for of in INDEXES},
    keywords.STAGE: keywords.index_keywords,
}
EMBEDDINGS = {of.embeddings.name: of.table.name for of in INDEXES}
COLLECTIONS = {of.stage: of.table.name for of in INDEXES}
WITHOUT_VECTORS = tuple(name for name in STAGES if name not in (*EMBEDDINGS, *COLLECTIONS))
BEFORE_CHROMA = tuple(name for name in STAGES if name not in (*COLLECTIONS, keywords.STAGE))
UP_TO_SUMMARIES = (
    "raw_sessions",
    "redacted_records",
    "turn_chunks",
    "user_prompts",
    "session_summaries",
)
NEW_TURN = (
    "what about the zanzibar clock?",
    [{"type": "tool_use", "id": "toolu_clock", "name": "Read", "input": {"file_path": "clock.py"}}],
    [{"type": "tool_result", "tool_use_id": "toolu_clock", "content": "offset = 3"}],
    "The root cause is that the zanzibar clock has no summer time.",
)
"""A turn of which each stage makes something: it looks, and states a cause."""


def run_stages(components: Components, stages: Iterable[str], *projects: str) -> None:
    """Run stages by name over these projects, or over all on disk."""
    for project in projects or sorted(on_disk.find_sources(components)):
        for stage in stages:
            STAGES[stage](components, project)


@dataclass
class SampleMemory:
    """A copy of the sample's transcripts, and the memory that the stages make of it."""

    root: Path
    engines: Mapping[str, Any]
    given: dict[str, Any] = field(default_factory=dict)
    vectors: bool = True
    clock: Callable[[], float] = time.time
    reports: dict[tuple[str, str], StageReport] = field(default_factory=dict)

    flaky = "3d0f6a52-8c1e-4b7d-9f32-6a1f0c9be741"
    """Has a subagent; `fork` begins with copies of its first turn."""
    fork = "9a6b1f04-27d5-4c38-b0e9-f14d2a7c5e60"
    harbor = "-home-mara-code-harbor-api"
    """The project of both, and of two more sessions."""

    def __post_init__(self) -> None:
        self.components = self._opened()

    @property
    def settings(self) -> Settings:
        """Settings that read the copied transcripts, and nothing else."""
        roots = {"projects_dir": "claude/projects", "codex_dir": "codex", "pi_dir": "pi"}
        return load_settings(
            data_dir=self.data_dir,
            chroma_idle_seconds=60.0,
            **({} if self.vectors else {"embedder": NO_EMBEDDER}),
            **{name: self.transcripts / place for name, place in roots.items()} | self.given,
        )

    @property
    def data_dir(self) -> Path:
        """Where the memory is."""
        return self.root / "data"

    @property
    def transcripts(self) -> Path:
        """Where the transcripts are."""
        return self.root / "transcripts"

    def _opened(self) -> Components:
        components = Components(self.settings, self.clock)
        give(components, self.engines)
        return components

    def reopen(self, **given: Any) -> Components:
        """Start over as a new process would, with other settings or engines if given."""
        self.close()
        engines = {name: given.pop(name) for name in list(given) if name in self.engines}
        self.given = given
        self.components = self._opened()
        give(self.components, engines)
        return self.components

    def without_vectors(self) -> SampleMemory:
        """Go on without vectors and Chroma, for what is not about them: it takes a third of the
        time."""
        self.close()
        shutil.rmtree(self.data_dir / "chroma", ignore_errors=True)
        self.vectors = False
        self.components = self._opened()
        return self

    def lose_the_catalogue(self) -> None:
        """Delete it, and start over as a new process would."""
        self.close()
        for path in self.data_dir.glob("catalog.db*"):
            path.unlink()
        self.components = self._opened()

    def close(self) -> None:
        """Close what is open in this process."""
        if "catalog" in self.components.opened:
            self.components.catalog.close()

    def projects(self) -> list[str]:
        """Every project on disk or on record."""
        known = {row.project for row in self.components.catalog.sources.rows()}
        return sorted(known | on_disk.find_sources(self.components).keys())

    def run(
        self, stages: Sequence[str] | None = None, projects: Sequence[str] | None = None
    ) -> dict[tuple[str, str], StageReport]:
        """Run stages over projects (all over all, but for vectors where none are made) and return
        their reports."""
        if stages is None:
            stages = tuple(STAGES) if self.vectors else WITHOUT_VECTORS
        self.reports = {
            (stage, project): STAGES[stage](self.components, project)
            for project in (projects or self.projects())
            for stage in stages
        }
        return self.reports

    def behind(self) -> list[ProjectPlan]:
        """What a new process would find to do."""
        return plan(self.components, on_disk.find_sources(self.components))

    def path(self, session_id: str) -> Path:
        """A session's main file."""
        (found,) = self.transcripts.rglob(f"*{session_id}.jsonl")
        return found

    def append(self, session_id: str, *texts: Any, at: str = "2026-04-01T10:00:00.000Z") -> None:
        """Let a Claude Code session go on: prompt, answer, prompt, answer, ..., each a text or the
        blocks of a message."""
        path = self.path(session_id)
        last = [json.loads(line) for line in path.read_text().splitlines() if "uuid" in line][-1]
        with path.open("a") as file:
            for number, text in enumerate(texts):
                said = [{"type": "text", "text": text}] if number % 2 else text
                said = said if isinstance(text, str) else text
                role = "assistant" if number % 2 else "user"
                record = {
                    "type": role,
                    "uuid": f"{abs(hash((session_id, str(text), number))):032x}",
                    "parentUuid": None,
                    "isSidechain": False,
                    "sessionId": session_id,
                    "timestamp": at,
                    "cwd": last.get("cwd", ""),
                    "version": "2.1.129",
                    "message": {"role": role, "content": said, "id": f"msg_{number}_{len(text)}"},
                }
                file.write(json.dumps(record) + "\n")

    def rows(self, table: str, project: str | None = None) -> list[dict[str, Any]]:
        """The rows of a table, of one project or of all, without written columns."""
        of = TABLES[table]
        names = [name for name in of.schema.names if name not in of.written_columns]
        lake = self.components.lake
        projects = [project] if project else lake.projects(of)
        return [
            row for name in projects for row in lake.read_partition(of, name, names).to_pylist()
        ]

    def turns(self, session_id: str) -> list[int]:
        """The numbers of a session's turns."""
        rows = self.rows("turn_chunks")
        return sorted({row["turn_index"] for row in rows if row["session_id"] == session_id})

    def lake_state(self, project: str | None = None) -> dict[str, list[dict[str, Any]]]:
        """All that the lake holds (of one project, or of all), but for when it was written;
        the records of a session by source file, whatever the order in which its files grew."""
        return {name: sorted(self.rows(name, project), key=_in_source_order) for name in TABLES}

    def lake_files(self) -> dict[str, int]:
        """When each file of the lake was written."""
        files = (path for path in (self.settings.data_dir / "lake").rglob("*") if path.is_file())
        return {
            str(path.relative_to(self.data_dir)): path.stat().st_mtime_ns
            for path in files
            if "locks" not in path.parts
        }

    def stamps(self) -> dict[tuple[str, str, str], str]:
        """What identifies the rows of each session in each table, wherever they are."""
        lake = self.components.lake
        return {
            (table.name, project, session_id): entry.stamp
            for table in TABLES.values()
            for project in lake.projects(table)
            for session_id, entry in lake.partition(table, project).entries().items()
        }

    def assert_collections_equal_the_lake(self) -> None:
        """Same ids, texts, vectors and metadata in Chroma as in the tables."""
        for of in INDEXES:
            wanted: dict[str, dict[str, dict[str, Any]]] = {}
            vectors = {row["id"]: row["vector"] for row in self.rows(of.embeddings.name)}
            for row in self.rows(of.table.name):
                wanted.setdefault(of.collection(row["agent"]), {})[row["id"]] = row
            for name, rows in wanted.items():
                collection = self.components.vectors.get(name)
                everything = collection.ids({"project": {"$ne": ""}})
                assert everything == rows.keys(), name
                for row_id, row in rows.items():
                    (found,) = collection.documents([row_id])
                    assert found.vector @ vectors[row_id] == pytest.approx(1.0, abs=1e-4)
                    assert found.text == row["text"]
                    assert found.metadata["session_id"] == row["session_id"]
                    assert found.metadata["content_hash"] == row["content_hash"]


class Renamed:
    """An engine under another name: same work, another version."""

    def __init__(self, inner: Any, **names: str) -> None:
        self._inner = inner
        vars(self).update(names)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def _in_source_order(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Sort key that leaves the order of rows within a file as it is."""
    session = (row.get("project", ""), row.get("session_id", ""))
    return (*session, row.get("agent_id") or "", row.get("seq", 0))


@pytest.fixture(scope="session")
def expected() -> dict[str, Any]:
    """What the sample's own generator says is in it."""
    facts: dict[str, Any] = json.loads((SAMPLE_DIR / "expected.json").read_text())
    return facts


@pytest.fixture(scope="session")
def engines() -> dict[str, Any]:
    """The real redactor, embedder and summarizer, loaded once, and the key of them all."""
    return load_engines("redactor", "embedder", "summarizer")


@pytest.fixture(scope="session")
def finished(
    tmp_path_factory: pytest.TempPathFactory, of_all_workers: Path, engines: dict[str, Any]
) -> Iterator[SampleMemory]:
    """The sample after one run of every stage, with its reports. Not to be changed, and
    its Chroma server is stopped: see `memory`."""

    def make(root: Path) -> None:
        copy_sample(root / "transcripts")
        (root / "home").mkdir()
        with pytest.MonkeyPatch.context() as patch:
            forget_own_settings(patch, root / "home")
            made = SampleMemory(root, engines)
            made.run()
            chroma_server.stop(made.data_dir)
            made.close()
        (root / "reports.pickle").write_bytes(pickle.dumps(made.reports))

    original = made_once(of_all_workers, "finished", make)
    root = tmp_path_factory.mktemp("finished-here")
    copied = _copied(original, root, engines)
    shutil.copytree(original / "home", root / "home")
    copied.reports = pickle.loads((original / "reports.pickle").read_bytes())
    yield copied
    copied.close()


@pytest.fixture
def memory(tmp_path: Path, finished: SampleMemory) -> Iterator[SampleMemory]:
    """A copy of `finished` at a place of its own, to be changed at will."""
    shutil.copytree(finished.root / "home", tmp_path / "home", dirs_exist_ok=True)
    copied = _copied(finished.root, tmp_path / "sample", finished.engines)
    yield copied
    chroma_server.stop(copied.data_dir)
    copied.close()


def _copied(original: Path, root: Path, engines: Mapping[str, Any]) -> SampleMemory:
    copy_memory(original, root)
    return SampleMemory(root, engines)


@pytest.fixture
def fresh(tmp_path: Path, engines: dict[str, Any]) -> Iterator[SampleMemory]:
    """The transcripts of the sample, and nothing made of them yet."""
    root = tmp_path / "fresh"
    copy_sample(root / "transcripts")
    made = SampleMemory(root, engines)
    yield made
    chroma_server.stop(made.data_dir)
    made.close()


@pytest.fixture
def wordy(memory: SampleMemory) -> SampleMemory:
    """A copy of `finished` that has no vectors any more and makes none."""
    return memory.without_vectors()


@pytest.fixture(scope="session")
def fake_token() -> str:
    """A token in GitHub's form, which is nobody's; put together here so that no scanner
    of this repository takes it for a real one."""
    return "ghp_" + "Zq4xW7" * 6
