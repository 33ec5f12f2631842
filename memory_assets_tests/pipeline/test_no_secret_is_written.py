"""None of the sample's planted secrets is in any byte that a full run leaves behind."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from memory_assets.pipeline.checks.deep_scan import deep_scan
from memory_assets.pipeline.checks.value_search import MIN_CANARY_BYTES
from memory_assets.redaction.known_secrets import KnownValues
from memory_assets_tests.nested import strings_in
from memory_assets_tests.pipeline.conftest import SampleMemory

_PIECE = 20


def _everything_written(directory: Path) -> str:
    """Every byte of every file, and every string of the Parquet files, which compress."""
    parts = []
    for path in sorted(directory.rglob("*")):
        if path.is_file():
            parts.append(path.read_bytes().decode("latin-1"))
        if path.suffix == ".parquet":
            file = pq.ParquetFile(path)
            parts.extend(strings_in(file.read().to_pylist()))
            parts.append(repr(file.metadata.metadata))
    return "\n".join(parts)


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


def _forms(piece: str) -> set[str]:
    return {piece, json.dumps(piece)[1:-1]}


def test_no_planted_secret_is_in_anything_that_was_written(
    finished: SampleMemory, secrets: dict[str, str]
) -> None:
    """Lake, catalogue, Chroma, logs, locks and the home directory; whole or in parts."""
    written = _everything_written(finished.data_dir) + _everything_written(finished.root / "home")
    found = {
        name
        for name, secret in secrets.items()
        for piece in _pieces(secret)
        for form in _forms(piece)
        if form in written
    }
    assert found == set()


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
    assert len({name for name, _ in canaries}) >= 8
    roots = [finished.data_dir, finished.root / "home"]
    scanned = deep_scan(roots, canaries, KnownValues(bytes(32)))
    assert scanned.hits == [] and scanned.unreadable == [] and scanned.files > 50


def test_the_search_for_secrets_would_find_them(
    finished: SampleMemory, secrets: dict[str, str]
) -> None:
    """In the transcripts all of them are found this way, so the test above means something."""
    words = [
        text
        for path in finished.transcripts.rglob("*.jsonl")
        for line in path.read_text().splitlines()
        for text in strings_in(_parsed(line))
    ]
    written = "\n".join(words)
    assert {name for name, secret in secrets.items() if secret in written} == secrets.keys()


def test_what_stood_beside_the_secrets_is_kept(finished: SampleMemory) -> None:
    """Redaction leaves a tag in the place of a secret and the words around it."""
    texts = "\n".join(row["text"] for row in finished.rows("redacted_records"))
    assert len(set(re.findall("<redacted:([a-z0-9-]+):[0-9a-f]{12}>", texts))) >= 8
    assert "<redacted-file-contents-of-" in texts


def _parsed(line: str) -> Any:
    try:
        return json.JSONDecoder().raw_decode(line)[0]
    except ValueError:
        return None
