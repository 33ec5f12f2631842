"""Names of forgotten sessions and projects, found in whatever Dagster wrote them into."""

from __future__ import annotations

from memory_assets.cli.dagster.traces import Mentions
from memory_assets.pipeline.removal.forget import Names

UUID = "3d0f6a52-8c1e-4b7d-9f32-6a1f0c9be741"


def _mentions(sessions: set[str], projects: set[str]) -> Mentions:
    return Mentions(Names(frozenset(sessions), frozenset(projects)))


def test_names_are_found_in_every_spelling() -> None:
    """As they are, in JSON, in JSON within JSON, percent-encoded, in bytes."""
    mentions = _mentions({UUID, "séance"}, {"-home-mära-code"})
    for text in (
        f"x{UUID.upper()}y",
        '"s\\u00e9ance"',
        '\\"s\\\\u00e9ance\\"',
        "project=-home-m%C3%A4ra-code/x",
        "'-home-m\\u00e4ra-code'",
    ):
        assert mentions.are_in(text), text
        assert mentions.are_in(text.encode()), text
    assert not mentions.are_in(None)
    assert not mentions.are_in(3)
    assert not _mentions(set(), set()).are_in("anything")


def test_a_project_is_named_by_whole_words_only() -> None:
    """Another project may begin or end the same."""
    mentions = _mentions(set(), {"-home-mara"})
    assert mentions.are_in("/projects/-home-mara/x.jsonl")
    assert mentions.are_in("-home-mara:f:1")
    assert not mentions.are_in("-home-mara-code")
    assert not mentions.are_in("x-home-mara")
