"""How much of a document is embedded."""

from __future__ import annotations

import pytest

from memory_assets.documents.embedded import EMBEDDED_TOKENS, embedded_by_name, embedded_length
from memory_assets.documents.file_types import file_type
from memory_assets.embedding import load_word_pieces
from memory_assets_tests.sweep import sweep

PIECES = load_word_pieces()


def test_the_first_word_pieces_of_a_passage_are_embedded() -> None:
    """As many as the vector is made of, and not one more; of a short one all."""
    text = "close_quay(at=nine)\n" * 60
    part = text[: embedded_length("python", text, PIECES)]
    assert PIECES.count_tokens(part) == EMBEDDED_TOKENS
    for short in ("a", "close_quay(at=nine)", "lamp " * (EMBEDDED_TOKENS - 2)):
        assert embedded_length("yaml", short, PIECES) == len(short)
    longer = "lamp " * (EMBEDDED_TOKENS - 1)
    assert embedded_length("yaml", longer, PIECES) < len(longer)


def test_prose_is_embedded_whole() -> None:
    """Any sentence of a section may be asked for."""
    text = "The quay closes at nine. " * 40
    assert embedded_length("markdown", text, PIECES) == embedded_length("adr", text, PIECES)
    assert embedded_length("markdown", text, PIECES) == len(text)


@sweep(
    "path",
    [
        "specs/0001-overlay.patch",
        "a.DIFF",
        "web/package-lock.json",
        "Cargo.lock",
        "go.sum",
        "docs/flow.svg",
        "dist/app.min.js",
    ],
)
def test_what_programs_wrote_is_embedded_by_its_name(path: str) -> None:
    """Patches, lists of resolved dependencies, drawings, minified code."""
    assert embedded_by_name(path, file_type(path, ""), "")


@pytest.mark.parametrize("path", ["patch.md", "lock.py", "package.json", "src/map.ts", "go.mod"])
def test_what_people_wrote_is_not(path: str) -> None:
    """Though its name has such a word."""
    assert not embedded_by_name(path, file_type(path, ""), "")


def test_what_has_lines_that_nobody_writes_is_embedded_by_its_name() -> None:
    """Icons, bundles and dumps. An interface in one line and a page of long paragraphs are not, and
    neither are long sentences in a file of settings."""
    long = "\n".join("0123456789" * 600 for _ in range(9))
    assert all(embedded_by_name(path, file_type(path, long), long) for path in ("a.json", "a.js"))
    interface = f'{{"openapi": "3.0.0", "paths": {{"/a": "{long}"}}}}'.replace("\n", " ")
    paragraphs = "\n".join(f"note: {'the quay closes ' * 60}" for _ in range(40))
    others = (("api.json", interface), ("page.md", long), ("notes.yaml", paragraphs))
    assert not any(embedded_by_name(path, file_type(path, text), text) for path, text in others)
