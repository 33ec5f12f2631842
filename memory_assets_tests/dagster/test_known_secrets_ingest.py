"""`memory ingest` finds a secret today, and takes it out of what it wrote yesterday."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memory_assets.cli.exit_codes import FINE
from memory_assets.cli.ingesting.ingest_command import ingest_once
from memory_assets.pipeline.stage.components import Components
from memory_assets.settings import Settings, load_settings
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, TABLES

BARE = "hK4" + "wMz8Qp2Vt6Xc9Bn3Lf7Gs5"
"""A value that no rule knows by its looks."""
SESSIONS = {
    "-home-mara-code-mill": "bbbbbbbb-0000-4000-8000-000000000001",
    "-home-mara-code-oven": "bbbbbbbb-0000-4000-8000-000000000002",
}


def _say(root: Path, project: str, *texts: str) -> None:
    path = root / project / f"{SESSIONS[project]}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        for number, text in enumerate(texts):
            role = "assistant" if number % 2 else "user"
            record = {
                "type": role,
                "uuid": f"{abs(hash((project, text))):032x}",
                "sessionId": SESSIONS[project],
                "timestamp": "2026-03-01T08:00:00.000Z",
                "cwd": "/home/mara/code",
                "message": {"role": role, "content": [{"type": "text", "text": text}]},
            }
            file.write(json.dumps(record) + "\n")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Two projects; the first one holds the value bare. No vectors: they hold no text."""
    mill, oven = SESSIONS
    _say(tmp_path / "projects", mill, f"what is {BARE}?", f"I do not know {BARE}.")
    _say(tmp_path / "projects", oven, "is the oven on?", "It is.")
    return load_settings(
        data_dir=tmp_path / "memory", projects_dir=tmp_path / "projects", embedder="none"
    )


def _ingest(settings: Settings) -> int:
    return ingest_once(settings, limit=None, projects=[], full=False, as_json=True)


def _lake(settings: Settings) -> str:
    lake = Components(settings).lake
    return "".join(
        repr(lake.read_partition(table, project).to_pydict())
        for table in TABLES.values()
        for project in lake.projects(table)
    )


def test_one_ingest_takes_a_new_secret_out_of_every_session(
    settings: Settings, capfd: pytest.CaptureFixture[str]
) -> None:
    """Given away in one project, it goes from the other one's records, chunks, prompts and
    summary in the same command, in runs that the page shows; a further ingest has nothing
    to do and says so."""
    mill, oven = SESSIONS
    assert _ingest(settings) == FINE
    assert BARE in _lake(settings)
    (projects,) = settings.transcript_roots()["claude-code"]
    _say(projects, oven, f"export OVEN_API_KEY={BARE}", "Done.")
    capfd.readouterr()
    assert _ingest(settings) == FINE
    report = json.loads(capfd.readouterr().out)
    assert [(work["project"], work["reason"]) for work in report["work"]] == [
        (oven, "1 new or changed file"),
        (mill, "1 session holds a secret found since"),
    ]
    assert BARE not in _lake(settings)
    catalog = Components(settings).catalog
    assert (
        catalog.known_secrets.affected_sessions() == {}
        and not catalog.known_secrets.has_unchecked_sessions()
    )
    made = catalog.products.of_stage(REDACTED_RECORDS.name)
    assert all(product.run_id for product in made.values())
    assert _ingest(settings) == FINE
    assert json.loads(capfd.readouterr().out)["work"] == []
