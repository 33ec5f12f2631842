"""None of the sample's planted secrets is in any byte that a full run leaves behind."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_assets.cli.ingesting.ingest import run_plans
from memory_assets.pipeline.checks.deep_scan import deep_scan
from memory_assets.pipeline.checks.value_search import MIN_CANARY_BYTES
from memory_assets.pipeline.plan import plan
from memory_assets.pipeline.scan import on_disk
from memory_assets.pipeline.stage.components import Components
from memory_assets.redaction.known_secrets import KnownValues
from memory_assets.settings import Settings, load_settings
from memory_assets.stores.chroma import server as chroma_server
from memory_assets.stores.lake.schemas import TURN_CHUNKS
from memory_assets.transcripts import discover
from memory_assets_tests.pipeline.bytes_at_rest import found_words
from memory_assets_tests.pipeline.conftest import SampleMemory
from memory_assets_tests.pipeline.guessable import (
    CLAUDE,
    ORIGINAL,
    PASSWORDS,
    Transcripts,
    write_transcripts,
)
from memory_assets_tests.pipeline.guesses import confirmed, guesses

_PIECE = 20


def _pieces(secret: str) -> set[str]:
    """The secret whole; of a long one also its parts and lines, so that no rest counts as
    redacted. (A JWT's first part and a webhook's host are the same for all.)"""
    lines = [line for line in secret.splitlines() if "-----" not in line]
    pieces = {line[at : at + _PIECE] for line in lines for at in range(0, len(line), _PIECE)}
    return {secret} | {
        piece
        for piece in pieces
        if len(piece) == _PIECE and not piece.startswith(("eyJhbGciOi", "https://hooks"))
    }


def test_no_planted_secret_is_there_in_any_form(
    finished: SampleMemory, secrets: dict[str, str]
) -> None:
    """Nor escaped, percent-encoded, in base64 or UTF-16, nor inside a database's pages: the
    deep scan with the planted values as canaries."""
    canaries = [
        (name, piece)
        for name, secret in secrets.items()
        for piece in _pieces(secret)
        if len(piece.encode()) >= MIN_CANARY_BYTES
    ]
    assert {name for name, _ in canaries} == secrets.keys()
    roots = [finished.data_dir, finished.root / "home"]
    scanned = deep_scan(roots, canaries, KnownValues(bytes(32)))
    assert scanned.hits == [] and scanned.unreadable == [] and scanned.files > 50


def test_what_stood_beside_the_secrets_is_kept(finished: SampleMemory) -> None:
    """Redaction leaves a tag in the place of a secret and the words around it."""
    texts = "\n".join(row["text"] for row in finished.rows("redacted_records"))
    assert len(set(re.findall("<redacted:([a-z0-9-]+):[0-9a-f]{12}>", texts))) >= 8
    assert "<redacted-file-contents-of-" in texts


@pytest.fixture
def transcripts(tmp_path: Path) -> Transcripts:
    """Sessions of all three agents that say a guessable password in every place."""
    made = write_transcripts(tmp_path / "agents")
    path = made.root / "claude" / "projects" / CLAUDE / f"{ORIGINAL}.jsonl"
    line = json.loads(path.read_text().splitlines()[0])
    line |= {"uuid": str(uuid.uuid4()), "forkedFrom": {"sessionId": made.say("parent")}}
    with path.open("a") as file:
        file.write(json.dumps(line) + "\n")
    return made


@pytest.fixture
def settings(tmp_path: Path, transcripts: Transcripts) -> Iterator[Settings]:
    """Settings that read them."""
    made = load_settings(
        data_dir=tmp_path / "memory", chroma_idle_seconds=60.0, **transcripts.roots
    )
    yield made
    chroma_server.stop(made.data_dir)


def _ingest(settings: Settings) -> None:
    components = Components(settings)
    result = run_plans(settings, plan.plan(components, on_disk.find_sources(components)))
    assert result.failed == {}
    assert components.catalog.quarantine.entries() == []
    components.catalog.close()


def test_no_hash_of_a_guessed_sentence_stands_anywhere(
    settings: Settings, transcripts: Transcripts
) -> None:
    """Every column of every table and database, every footer, file name, metadata value and
    byte is held against every hash of every right guess, also once the files have grown and
    were gone on with. A hash of text that the memory holds redacted is found so."""
    _ingest(settings)
    for path in transcripts.files():
        if path.name != "history.jsonl":
            content = path.read_text()
            path.write_text(content + content.splitlines()[-1] + "\n")
    _ingest(settings)
    chroma_server.stop(settings.data_dir)

    stored = {path.name for path in settings.data_dir.rglob("*")}
    assert {"catalog.db", "keywords.db", "chroma.sqlite3", "lineage.db"} <= stored
    assert len(transcripts.sentences) > 100
    assert found_words(settings.data_dir, set(transcripts.sentences)) == {}
    sources = list(discover(settings.transcript_roots()))
    assert len(sources) > len(transcripts.files())
    tried = guesses(sources, transcripts.sentences) | set(PASSWORDS)
    assert confirmed(settings.data_dir, tried) == {}
    (row, *_) = Components(settings).lake.read_partition(TURN_CHUNKS, CLAUDE).to_pylist()
    assert "chroma.sqlite3" in confirmed(settings.data_dir / "chroma", {row["text"]})
