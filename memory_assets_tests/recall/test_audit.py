"""From a hit back to the bytes it came from, and from a tag to the sessions that hold it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memory_assets.errors import ConfigurationError, NotFound
from memory_assets.recall.audit.audit import Audit, audit, is_tag, tag_holders
from memory_assets.requests.questions import AuditRequest
from memory_assets.stores.lake.schemas import TURN_CHUNKS, TURN_EMBEDDINGS
from memory_assets_tests.recall.conftest import REPORTS, Asked


def _audit(asked: Asked, any_id: str, stores: Any = None) -> Audit:
    return audit(stores or asked.memory, any_id, asked.components.install_key)


def test_a_turn_leads_to_the_bytes_of_its_records(asked: Asked) -> None:
    """Each byte range of the source file is one JSON object, that of the record."""
    found = _audit(asked, f"session::{REPORTS}::turn::1")
    assert found.kind == "turn" and found.intact
    (main,) = [source for source in found.sources if source.agent_id is None]
    data = Path(main.path).read_bytes()
    own = [record for record in found.records if record["agent_id"] is None]
    assert own
    for record in own:
        line = json.loads(data[record["byte_start"] : record["byte_end"]])
        assert line["uuid"] == record["record_uuid"]
    assert (main.state, main.size_now) == ("unchanged", len(data))
    assert main.byte_start == own[0]["byte_start"]


def test_the_subagent_that_a_turn_started_is_part_of_its_trail(asked: Asked) -> None:
    """With its own file, beside the session's."""
    turns = {row["turn_id"] for row in asked.rows("turn_chunks") if row["session_id"] == REPORTS}
    trails = [_audit(asked, turn) for turn in sorted(turns)]
    with_subagent = [found for found in trails if len(found.sources) == 2]
    assert with_subagent
    assert all(source.state == "unchanged" for source in with_subagent[0].sources)


def test_a_passage_leads_to_its_own_row_alone(asked: Asked) -> None:
    """And the turn's id to all of its passages."""
    turn = f"session::{asked.long_session}::turn::0"
    whole = _audit(asked, turn)
    assert len(whole.rows) > 1
    part = _audit(asked, f"{turn}::part::1")
    assert [row["id"] for row in part.rows] == [f"{turn}::part::1"]
    assert part.records == whole.records


def test_a_prompt_leads_to_the_one_record_it_was_typed_in(asked: Asked) -> None:
    """Not to what was answered."""
    row = next(row for row in asked.rows("user_prompts") if row["session_id"] == REPORTS)
    found = _audit(asked, row["id"])
    assert {record["record_uuid"] for record in found.records} == {row["record_uuid"]}
    assert {record["kind"] for record in found.records} == {"prompt"}
    assert found.rows[0]["document"] == "present"


@pytest.mark.parametrize("any_id", [REPORTS, f"summary::{REPORTS}"])
def test_a_session_leads_to_its_summary_and_all_of_its_records(asked: Asked, any_id: str) -> None:
    """Whichever way it is asked."""
    found = _audit(asked, any_id)
    rows = [row for row in asked.rows("redacted_records") if row["session_id"] == REPORTS]
    assert found.kind == "summary" and len(found.records) == len(rows)
    assert found.rows[0]["id"] == f"summary::{REPORTS}"


def test_an_observation_leads_to_the_records_of_the_turns_it_comes_from(asked: Asked) -> None:
    """And to its document in Chroma."""
    turns = {row["turn_id"]: row for row in asked.rows("turn_chunks")}
    for row in asked.rows("observations"):
        found = _audit(asked, row["id"])
        assert found.kind == "observation" and found.intact
        assert (found.rows[0]["id"], found.rows[0]["document"]) == (row["id"], "present")
        trails = [_audit(asked, turn).records for turn in row["turn_ids"] if turn in turns]
        wanted = {(each["agent_id"], each["seq"]) for trail in trails for each in trail}
        assert {(each["agent_id"], each["seq"]) for each in found.records} >= wanted
        assert found.records


def test_a_commit_leads_to_the_records_of_its_turn(asked: Asked) -> None:
    """It has no document in Chroma, which is nothing wrong."""
    (row, *_) = asked.rows("session_commits")
    found = _audit(asked, row["id"])
    assert found.kind == "commit" and found.intact
    assert (found.rows[0]["document"], found.rows[0]["table"]) == ("none", "session_commits")
    assert found.records == _audit(asked, row["turn_id"]).records
    with pytest.raises(NotFound, match="no observation"):
        _audit(asked, f"observation::{row['session_id']}::999999")


def test_every_stage_says_which_run_made_it(asked: Asked) -> None:
    """Nothing, where it was made outside Dagster."""
    runs = {run["stage"]: run for run in _audit(asked, REPORTS).runs}
    assert {"redacted_records", "turn_chunks", "session_collection"} <= runs.keys()
    assert {run["run_id"] for run in runs.values()} == {""}
    assert all(run["made_at"] for run in runs.values())


def test_the_redactions_of_the_records_are_told_and_no_others(asked: Asked) -> None:
    """By rule, tag and versions; as many as the records count."""
    seen = 0
    for row in asked.rows("turn_chunks"):
        found = _audit(asked, row["turn_id"])
        counted = sum(record["redactions"] for record in found.records)
        assert sum(entry["count"] for entry in found.redactions) == counted
        for entry in found.redactions:
            assert entry["tag"].startswith("<redacted")
            assert entry["ruleset_version"].startswith(entry["engine_version"])
        seen += counted
    assert seen > 0


def test_nothing_of_the_text_is_in_an_audit(asked: Asked) -> None:
    """It may be pasted into a ticket."""
    row = next(r for r in asked.rows("turn_chunks") if "lighthouse" in r["text"])
    assert "lighthouse" not in json.dumps(_audit(asked, row["id"]).to_dict(), default=str)


def test_what_is_missing_or_differs_in_chroma_is_said(asked: Asked, copied: Any) -> None:
    """Row by row; the rest of the trail is told all the same."""
    memory = copied()
    lost, other = f"session::{REPORTS}::turn::0", f"session::{REPORTS}::turn::1"
    collection = memory.vectors.get("claude-code-sessions")
    collection.delete([lost])
    project = memory.catalog.products.project_of(REPORTS)
    vectors = memory.lake.read_vectors(TURN_EMBEDDINGS, project, REPORTS)
    rows = memory.lake.read_texts(TURN_CHUNKS, project, REPORTS)
    texts = {row_id: text for row_id, _, text in rows}
    collection.upsert(
        [other],
        vectors.vectors[:1],
        [texts[other].cut(0, 5)],
        [{"project": project, "session_id": REPORTS}],
    )
    states = {
        row["id"]: row["document"]
        for turn in (lost, other)
        for row in _audit(asked, turn, memory).rows
    }
    assert (states[lost], states[other]) == ("missing", "differs")
    assert not _audit(asked, lost, memory).intact


def test_where_nothing_embeds_no_row_is_missing(asked: Asked, copied: Any) -> None:
    """A memory of words alone is intact; what Chroma does hold is compared all the same."""
    memory = copied(embedder="none")
    turn = f"session::{REPORTS}::turn::0"
    memory.vectors.get("claude-code-sessions").delete([turn])
    found = memory.ask(AuditRequest(turn))
    assert found["intact"] and found["rows"][0]["document"] == "none"
    assert {row["document"] for row in found["rows"][1:]} == {"present"}


def test_without_chroma_the_rest_of_the_trail_is_told(asked: Asked, copied: Any) -> None:
    """A store that cannot be reached is a state, not an error."""
    memory = copied(chroma_url="http://127.0.0.1:9")
    found = _audit(asked, f"session::{REPORTS}::turn::0", memory)
    assert {row["document"] for row in found.rows} == {"unreachable"}
    assert found.records and found.sources


@pytest.mark.parametrize(
    ("change", "state"),
    [("append", "grown"), ("rewrite", "rewritten"), ("cut", "rewritten"), ("remove", "gone")],
)
def test_the_source_is_compared_with_what_was_read(asked: Asked, change: str, state: str) -> None:
    """By its keyed fingerprint: a file may grow, but what was read must still be there."""
    turn = f"session::{asked.long_session}::turn::0"
    path = Path(_audit(asked, turn).sources[0].path)
    whole = path.read_bytes()
    changed = {
        "append": whole + b"{}\n",
        "rewrite": whole.replace(b"lighthouse", b"lighthause"),
        "cut": whole[:-200],
        "remove": b"",
    }[change]
    try:
        if change == "remove":
            path.unlink()
        else:
            path.write_bytes(changed)
        assert _audit(asked, turn).sources[0].state == state
    finally:
        path.write_bytes(whole)


@pytest.mark.parametrize(
    "any_id",
    [
        "session::nobody::turn::0",
        f"session::{REPORTS}::turn::99",
        f"session::{REPORTS}::turn::0::part::99",
        f"prompt::{REPORTS}::99",
        "nobody",
    ],
)
def test_what_is_not_in_memory_is_not_found(asked: Asked, any_id: str) -> None:
    """With the command that lists what is."""
    with pytest.raises(NotFound, match=r"memory (summarize|sessions)"):
        _audit(asked, any_id)


def test_a_tag_leads_to_every_session_that_holds_it(asked: Asked) -> None:
    """In whole, without brackets, or by its digits alone; how often, in which fields."""
    counts: dict[str, dict[str, int]] = {}
    for row in asked.rows("redaction_audit"):
        if row["tag"].startswith("<redacted:"):
            sessions = counts.setdefault(row["tag"], {})
            sessions[row["session_id"]] = sessions.get(row["session_id"], 0) + 1
    tag, sessions = max(counts.items(), key=lambda item: (len(item[1]), item[0]))
    for spelling in (tag, tag.strip("<>"), tag[-13:-1]):
        assert is_tag(spelling)
        found = tag_holders(asked.memory.lake, spelling)
        assert {each["session_id"]: each["count"] for each in found["sessions"]} == sessions
        assert found["count"] == sum(sessions.values())


def test_a_tag_that_nobody_holds_is_not_found(asked: Asked) -> None:
    """And what is no tag is refused."""
    with pytest.raises(NotFound, match="memory show"):
        tag_holders(asked.memory.lake, "<redacted:github-token:000000000000>")
    with pytest.raises(ConfigurationError, match="tags look like"):
        tag_holders(asked.memory.lake, "<redacted:github-token>")
