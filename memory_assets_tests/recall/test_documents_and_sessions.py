"""One call asks the documents of workspaces and the sessions: which sessions worked on a file, and
what is written where something was done."""

from __future__ import annotations

import pytest

from memory_assets.errors import BadArgument, NotFound
from memory_assets.recall import Memory
from memory_assets.recall.cross_query.cross_query import cross_query
from memory_assets.serving.answer_lines import cross_query_lines
from memory_assets_tests.recall.conftest import REPORT_DAYS, Asked

WRITER = "9a6b1f04-27d5-4c38-b0e9-f14d2a7c5e60"
"""The session that wrote the decision, in the clone of a user who is called mara."""
QUESTION = "which hours does a day of the report have when the clocks change"


def test_a_question_finds_documents_sessions_and_where_they_meet(documented: Memory) -> None:
    """No collection has to be named: the workspaces are the only documents."""
    found = cross_query(documented, QUESTION, n=3)
    assert (found.collection, found.space.evidence) == ("workspace", "workspace")
    best = found.documents[0]
    assert best["id"].startswith(f"harbor-api::{REPORT_DAYS}::")
    assert best["metadata"]["file_type"] == "adr" and "clocks change" in best["text"]
    assert found.sessions[0].session_id == WRITER and found.sessions[0].title
    meeting = found.overlap[0]
    assert meeting.session_id == WRITER and str(meeting.touched).endswith(REPORT_DAYS)
    lines = "\n".join(cross_query_lines(found.to_dict()))
    assert found.sessions[0].title in lines and "local midnights" in lines


@pytest.mark.parametrize(
    "name", [REPORT_DAYS, f"harbor-api::{REPORT_DAYS}", "0014-report-days-as-ranges.md"]
)
def test_a_file_names_the_sessions_that_touched_it(documented: Memory, name: str) -> None:
    """By its path, the end of it, or its id; in another clone too."""
    found = cross_query(documented, document=name)
    assert {each["metadata"]["file_path"] for each in found.documents} == {REPORT_DAYS}
    touched = {each.session_id for each in found.sessions if "touched" in each.why}
    assert touched == {WRITER}


def test_a_file_at_the_top_is_not_that_of_another_project(documented: Memory) -> None:
    """A session elsewhere edited a file of that name."""
    turns = documented.search("", file="Dockerfile").hits
    assert turns, "some session touched a Dockerfile"
    found = cross_query(documented, document="harbor-api::Dockerfile")
    assert not any("touched" in each.why for each in found.sessions)


def test_each_side_is_asked_and_narrowed_by_itself(documented: Memory) -> None:
    """Documents by type, service and domain; sessions by agent and time."""
    found = cross_query(
        documented,
        corpus_query="send a letter",
        session_query="lighthouse",
        where={"service": "svc-mail"},
        since="2026-02-01",
        until="2026-02-03",
        agent="claude-code",
    )
    assert {each["metadata"]["service"] for each in found.documents} == {"svc-mail"}
    assert {turn["time"][:7] for each in found.sessions for turn in each.turns} == {"2026-02"}
    with pytest.raises(BadArgument, match="no bucket; known are: file_type, service, domain"):
        cross_query(documented, "letter", where={"bucket": "docs"})
    with pytest.raises(NotFound, match=r"nowhere\.md"):
        cross_query(documented, document="nowhere.md")


def test_without_documents_the_error_names_the_command(asked: Asked) -> None:
    """Nothing was indexed there."""
    with pytest.raises(NotFound, match="run `memory index ROOT`"):
        cross_query(asked.memory, QUESTION, collection="workspace")
    with pytest.raises(NotFound, match="run `memory index ROOT`"):
        asked.memory.search(QUESTION, kinds=("workspace",))


@pytest.mark.parametrize(
    "question, favoured",
    [
        ("why was a range decided for a day", "adr"),
        ("which method releases the memory of a letter", "python"),
        ("what is in the image", None),
    ],
)
def test_documents_of_the_type_that_a_question_names_are_favoured(
    documented: Memory, question: str, favoured: str | None
) -> None:
    """By a part of the score, which the hit shows, as it does what heading and path are worth; not
    by meaning alone."""
    hits = documented.search(question, kinds=("workspace",)).hits
    assert {hit.metadata["file_type"] for hit in hits} > {"adr", "python"}
    assert {hit.metadata["file_type"] for hit in hits if "type" in hit.why} == (
        {favoured} if favoured else set()
    )
    for hit in hits:
        weight = float(hit.why["meaning_weight"])
        both = weight * float(hit.why["meaning"]) + (1 - weight) * float(hit.why["words"])
        named = sum(float(hit.why.get(part, 0)) for part in ("type", "heading"))
        assert hit.score == pytest.approx(both + named, abs=0.01)
    semantic = documented.search(question, kinds=("workspace",), mode="semantic").hits
    assert not any({"type", "heading"} & hit.why.keys() for hit in semantic)
