"""Names of forgotten sessions and projects, found in whatever Dagster wrote them into."""

from __future__ import annotations

from memory_assets.cli.dagster.traces import Mentions
from memory_assets.pipeline.removal.forget import Names

UUID = "3d0f6a52-8c1e-4b7d-9f32-6a1f0c9be741"


def _mentions(sessions: set[str], projects: set[str]) -> Mentions:
    return Mentions(Names(frozenset(sessions), frozenset(projects)))


def test_names_are_found_in_whatever_is_printed() -> None:
    """Sessions anywhere, in whatever case."""
    mentions = _mentions({UUID, "séance"}, {"-home-mära-code"})
    for value in (f"x{UUID.upper()}y", {"why": ("séance",)}, "project=-home-mära-code/x"):
        assert mentions.are_in(value), value
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
