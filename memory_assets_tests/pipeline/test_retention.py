"""MEMORY_RETENTION: an old session keeps its prompts and its summary, and nothing else of it
is left; it counts as kept, and it comes back whole if that is wanted and can be."""

from __future__ import annotations

import base64
import json
import re
import shutil
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memory_assets.pipeline.indexes import keywords
from memory_assets.pipeline.indexes.indexed_tables import INDEX_OF
from memory_assets.pipeline.ownership.removed_records import REMOVED_RECORDS, read_removed_records
from memory_assets.pipeline.redact.known_secrets import mark_affected
from memory_assets.pipeline.removal import forget, retention
from memory_assets.pipeline.removal.retention import retain
from memory_assets.recall import open_memory
from memory_assets.record_identity import RecordIdentity, text_hash
from memory_assets.redacted_text import seal
from memory_assets.redaction import RedactionSettings, load_redactor, value_hash
from memory_assets.status.status import status as status_of
from memory_assets.stores.chroma import server as chroma_server
from memory_assets.stores.lake.lake import Lake
from memory_assets.stores.lake.schemas import REDACTED_RECORDS
from memory_assets.stores.vector_store import Metadata
from memory_assets.transcripts import read_session
from memory_assets_tests.kills import killed_at
from memory_assets_tests.nested import strings_in
from memory_assets_tests.own_files import own_file
from memory_assets_tests.pipeline.bytes_at_rest import (
    found_words,
    let_chroma_save_its_vectors,
    vectors_found,
)
from memory_assets_tests.pipeline.conftest import SampleMemory
from memory_assets_tests.pipeline.retaining import (
    DAYS,
    NOW,
    OLD,
    TIDEPOOL,
    assert_all_holds,
    is_of,
    reopened,
    retained,
    run,
)
from memory_assets_tests.transcript_files import claude_line, source_of, write_lines

KEPT = {"user_prompts", "prompt_embeddings", "session_summaries", "summary_embeddings"}


@pytest.fixture(autouse=True)
def _the_day_in_question(memory: SampleMemory) -> None:
    memory.clock = NOW.timestamp
    memory.reopen()


def _rows_of(state: dict[str, list[dict[str, Any]]], *, old: bool) -> dict[str, list[Any]]:
    return {name: [row for row in rows if is_of(OLD, row) == old] for name, rows in state.items()}


def test_an_old_session_keeps_its_prompts_and_its_summary(memory: SampleMemory) -> None:
    """Prompts and summaries stay as they were, with their vectors, and are found; of the rest
    the prompts alone are left. Others are as before. It is no work for the next run, passes
    all checks, and status counts it."""
    before = memory.lake_state()
    report = retained(memory)
    after = memory.lake_state()
    assert (report.due, report.cut, report.waiting) == (3, 3, 0)
    assert _rows_of(after, old=False) == _rows_of(before, old=False)
    was, now = _rows_of(before, old=True), _rows_of(after, old=True)
    assert {name: now[name] for name in KEPT} == {name: was[name] for name in KEPT}
    prompts = [row for row in was["redacted_records"] if row["kind"] == "prompt"]
    assert now["redacted_records"] == prompts
    assert report.blocks == len(was["redacted_records"]) - len(prompts)
    said = "\n".join(row["text"] for row in prompts)
    assert 0 < len(now["turn_chunks"]) < len(was["turn_chunks"])
    assert all(line in said for row in now["turn_chunks"] for line in row["text"].splitlines())
    assert_all_holds(memory)
    assert retain(reopened(memory, retention=str(DAYS))).cut == 0
    status = status_of(memory.settings)
    assert status["archive"]["sessions_retained"] == 3
    assert all(each["complete"] for each in status["coverage"].values())
    asked = open_memory(memory.settings)
    for kind in ("prompts", "summaries"):
        row = now["user_prompts" if kind == "prompts" else "session_summaries"][0]
        for mode in ("semantic", "keyword"):
            hits = asked.search(row["text"], kinds=(kind,), mode=mode, n=3).hits
            assert row["id"] in {hit.id for hit in hits}, (kind, mode)


def test_nothing_is_let_go_of_unless_it_is_asked_for(wordy: SampleMemory) -> None:
    """By default all is kept; with a policy, a run of the pipeline alone lets go of nothing."""
    before = wordy.lake_state()
    assert retain(wordy.components).cut == 0
    reopened(wordy, retention=f"{DAYS}d")
    assert wordy.behind() == []
    run(wordy)
    assert wordy.lake_state() == before


def test_a_wider_policy_brings_a_session_back_whole(wordy: SampleMemory) -> None:
    """From its own file, with the tags it had; the policy need only reach further back. One
    whose file is gone by then stays what it is, and stays in order."""
    before = wordy.lake_state()
    retained(wordy)
    gone = wordy.path("71b3e8c6-0f2d-4a95-8e47-d6c1905ab2f3")
    content = gone.read_bytes()
    gone.unlink()
    reopened(wordy, retention="5000d")
    assert [work.project for work in wordy.behind()] == [TIDEPOOL, wordy.harbor]
    run(wordy)
    assert_all_holds(wordy)
    assert wordy.rows("redacted_records", wordy.harbor) == [
        row for row in before["redacted_records"] if row["project"] == wordy.harbor
    ]
    records = wordy.rows("redacted_records", TIDEPOOL)
    lost = [row for row in records if row["session_id"] in gone.name]
    assert lost and {row["kind"] for row in lost} == {"prompt"}
    gone.write_bytes(content)
    reopened(wordy, retention="all")
    run(wordy)
    assert_all_holds(wordy)
    after = wordy.lake_state()
    assert all(after[name] == before[name] for name in after if "embeddings" not in name)


def test_a_session_that_goes_on_comes_back_whole(wordy: SampleMemory) -> None:
    """It is not old any more, and its file holds all of it."""
    retained(wordy)
    wordy.append(wordy.flaky, "one more thing", "Done.", at="2026-07-01T10:00:00.000Z")
    run(wordy)
    rows = [row for row in wordy.rows("redacted_records") if is_of({wordy.flaky}, row)]
    assert Counter(row["kind"] for row in rows)["prompt"] == 5
    assert len(rows) == 53
    assert_all_holds(wordy)


def test_a_touched_file_or_new_rules_do_not_bring_it_back(wordy: SampleMemory) -> None:
    """Under other rules its prompts are redacted again as those of a file that is gone."""
    retained(wordy)
    after = wordy.lake_state()
    with wordy.path(wordy.flaky).open("ab") as file:
        file.write(b'{"type":"mode","mode":"plan"}\n')
    retained(wordy)
    assert wordy.lake_state() == after
    redactor = load_redactor(RedactionSettings(max_file_bytes=4_000), bytes(range(32)))
    reopened(wordy).opened["redactor"] = redactor
    run(wordy)
    kinds = {row["kind"] for row in wordy.rows("redacted_records") if is_of(OLD, row)}
    assert kinds == {"prompt"}
    versions = {row["ruleset_version"] for row in wordy.rows("redacted_records")}
    assert versions == {wordy.components.redactor.ruleset_version}
    assert_all_holds(wordy)


def test_a_session_that_is_not_up_to_date_waits(wordy: SampleMemory) -> None:
    """What has grown since, or has no summary yet, is left to the next time: the summary is
    made of the whole session."""
    wordy.append(wordy.flaky, "one more thing", "Done.", at="2026-03-30T08:30:00.000Z")
    wordy.run(["raw_sessions", "redacted_records"])
    report = retain(reopened(wordy, retention=f"{DAYS}d"))
    assert (report.cut, report.waiting) == (2, 1)
    run(wordy)
    assert retained(wordy).cut == 1
    assert_all_holds(wordy)


def test_a_summary_loses_a_secret_that_becomes_known_later(wordy: SampleMemory) -> None:
    """Its records are gone, so it is searched itself, and redacted again by the next run."""
    word = "kelp7tide42moor9drift1"
    said = f"The cause is the label {word} of the report."
    wordy.append(wordy.flaky, "why is it late?", said, at="2026-03-30T08:30:00.000Z")
    run(wordy)
    retained(wordy)
    (row,) = [row for row in wordy.rows("session_summaries") if is_of({wordy.flaky}, row)]
    assert word in row["learned"]
    assert word not in json.dumps(wordy.rows("redacted_records"), default=str)
    hashed = value_hash(word, wordy.components.install_key)
    assert hashed is not None, word
    wordy.components.catalog.known_secrets.add("elsewhere", {hashed: "password"})
    mark_affected(wordy.components)
    assert wordy.harbor in {work.project for work in wordy.behind()}
    run(wordy)
    (now,) = [row for row in wordy.rows("session_summaries") if is_of({wordy.flaky}, row)]
    assert word not in json.dumps(now, default=str)
    assert "<redacted:known-secret" in now["learned"]
    assert_all_holds(wordy)


STEPS: tuple[tuple[Any, str, int], ...] = (
    (retention, "redact_project", 1),
    (retention, "forget_vectors", 0),
    (forget, "rewrite_files", 0),
    (retention, "forget_keywords", 0),
    (Lake, "delete", 7),
)
"""What ends, and before which call of it."""


@pytest.mark.parametrize("steps", [STEPS[::2], pytest.param(STEPS[1::2], marks=pytest.mark.long)])
def test_killed_in_the_middle_it_is_completed_by_the_next_time(
    memory: SampleMemory, steps: tuple[tuple[Any, str, int], ...]
) -> None:
    """`kill -9` in turn within each step, with a run of the pipeline in between: in the end
    all is as if it had been done at once, and nothing says that it was begun. The full form,
    with kills of the whole command, is `benchmarks/crash_safety.py --command retain`."""
    whole = _removed_lines(memory)
    for owner, step, after in steps:
        assert _killed(memory, owner, step, after) == -signal.SIGKILL
        reopened(memory, retention=f"{DAYS}d")
        assert _archive(memory)["retention_unfinished"]
        run(memory)
        assert memory.behind() == []
    report = retained(memory)
    assert report.retained == report.cut == 3
    assert not _archive(memory)["retention_unfinished"]
    assert_all_holds(memory)
    chroma_server.stop(memory.data_dir)
    memory.close()
    assert found_words(memory.data_dir, whole, set()) == {}


DECIDED = "5b7c1e90-3f2a-4d86-a1c4-e8d05f6b9273"
"""A session in which a person alone decides something."""
_DECISION = "We should use Postgres instead of SQLite, because two services write at once."


def test_killed_behind_the_words_the_next_run_indexes_what_is_made_again_as_it_was(
    wordy: SampleMemory,
) -> None:
    """An observation that comes from prompts alone is the same before and after."""
    _write_session(wordy, DECIDED, {0: _DECISION, 1: "I looked at the services."})
    run(wordy)
    observed = [row for row in wordy.rows("observations") if is_of({DECIDED}, row)]
    assert _killed(wordy, keywords, "compact", 0) == -signal.SIGKILL
    reopened(wordy, retention=f"{DAYS}d")
    run(wordy)
    assert [row for row in wordy.rows("observations") if is_of({DECIDED}, row)] == observed != []
    assert_all_holds(wordy)


def test_killed_behind_the_collections_their_number_of_rows_hides_nothing(
    memory: SampleMemory,
) -> None:
    """As many rows as are gone may have been written by another run that was killed."""
    _write_session(memory, DECIDED, {0: _DECISION, 1: "I looked at the services."})
    run(memory)
    name = INDEX_OF["observations"].collection("claude-code")
    before = memory.components.vectors.get(name).count()
    assert _killed(memory, retention, "forget_keywords", 0) == -signal.SIGKILL
    collection = reopened(memory, retention=f"{DAYS}d").vectors.get(name)
    gone = before - collection.count()
    others = [f"other {number}" for number in range(gone)]
    where: list[Metadata] = [{"project": "-another"}] * gone
    collection.upsert(others, np.eye(gone, 384, dtype=np.float32), list(map(seal, others)), where)
    memory.run(projects=[memory.harbor])
    run(memory)
    collection.delete(others)
    memory.assert_collections_equal_the_lake()


def _archive(memory: SampleMemory) -> dict[str, Any]:
    archive: dict[str, Any] = status_of(memory.settings)["archive"]
    return archive


def _killed(memory: SampleMemory, owner: Any, step: str, after: int) -> int:
    """Let a process of its own begin, and kill itself in a step; return its exit code."""
    memory.close()
    return killed_at(owner, step, after, lambda: retain(reopened(memory, retention=f"{DAYS}d")))


def test_no_byte_of_the_rest_is_left(memory: SampleMemory) -> None:
    """Lines and vectors of what is let go of stand in the lake, Chroma and the keyword index
    before; afterwards nowhere in the data directory, nor in a store that was set aside. Prompts
    and summaries still do."""
    lines, vectors = _removed_lines(memory), _removed_vectors(memory)
    kept = {
        line
        for row in memory.rows("user_prompts")
        if is_of(OLD, row)
        for line in row["text"].splitlines()
        if len(line) > 30
    }
    let_chroma_save_its_vectors(memory.components)
    chroma_server.stop(memory.data_dir)
    memory.close()
    assert len(lines) > 40 and len(kept) > 5 and len(vectors) > 5
    shutil.copytree(memory.data_dir / "chroma", memory.data_dir / "chroma.broken-20260301T000000")
    before = found_words(memory.data_dir, lines, set())
    assert set().union(*before.values()) == lines
    assert {name.split("/")[0] for name in before} >= {"lake", "chroma", "keywords.db"}
    assert any(name.endswith(".bin") for name in vectors_found(memory.data_dir, vectors))
    report = retained(memory)
    assert report.collection_rows > 0 and report.keyword_rows > 0
    chroma_server.stop(memory.data_dir)
    memory.close()
    assert found_words(memory.data_dir, lines, set()) == {}
    assert vectors_found(memory.data_dir, vectors) == set()
    assert set().union(*found_words(memory.data_dir, kept).values()) == kept


def _of_prompts(memory: SampleMemory) -> set[str]:
    """The ids of observations of old sessions that only repeat a prompt, which stays: they are made
    again."""
    prompts = " ".join(" ".join(row["text"].split()) for row in memory.rows("user_prompts"))
    return {
        row["id"]
        for row in memory.rows("observations")
        if is_of(OLD, row)
        and all(
            part.strip().rstrip(".") in prompts
            for part in re.split(r"The user said:|Asked:", row["narrative"])
        )
    }


def _removed_lines(memory: SampleMemory) -> set[str]:
    """Lines of old sessions that stand in no prompt, no summary and no other session."""
    removed: set[str] = set()
    stays: list[str] = []
    again = _of_prompts(memory)
    for name, rows in memory.lake_state().items():
        for row in rows:
            texts = list(strings_in(row))
            kept = name in KEPT or row.get("kind") == "prompt" or row.get("id") in again
            if is_of(OLD, row) and not kept:
                removed.update(line.strip() for text in texts for line in text.splitlines())
            else:
                stays += texts
    everything_else = "\n".join(stays)
    return {line for line in removed if len(line) >= 30 and line not in everything_else}


def _removed_vectors(memory: SampleMemory) -> Any:
    rows = [(name, row) for name, rows in memory.lake_state().items() for row in rows]
    made = [(name, row) for name, row in rows if name.endswith("_embeddings")]
    again = _of_prompts(memory)
    old = [is_of(OLD, row) and name not in KEPT and row["id"] not in again for name, row in made]
    mine = [row["vector"] for (_, row), is_old in zip(made, old, strict=True) if is_old]
    rest = [row["vector"] for (_, row), is_old in zip(made, old, strict=True) if not is_old]
    removed, others = np.array(mine, dtype=np.float32), np.array(rest, dtype=np.float32)
    return removed[(removed @ others.T).max(axis=1) < 0.98]


MUTE = "0d9e4b52-6a1c-4f07-9b38-c5e17a2d8f64"
"""A session in which nobody asked anything."""


def _subagent(memory: SampleMemory) -> Path:
    (found,) = memory.path(memory.flaky).with_suffix("").rglob("*.jsonl")
    return found


def test_it_outlives_the_catalogue_and_its_file(wordy: SampleMemory) -> None:
    """The lake says itself what was let go of. A fork that is still on disk knows its copies as
    those of the other, and does not bring them back."""
    retained(wordy)
    after = wordy.lake_state()
    for gone in (wordy.flaky, "71b3e8c6-0f2d-4a95-8e47-d6c1905ab2f3"):
        wordy.path(gone).unlink()
    wordy.lose_the_catalogue()
    run(wordy)
    assert wordy.lake_state() == after
    assert_all_holds(wordy)


def test_what_was_let_go_of_is_known_by_keyed_ids(wordy: SampleMemory) -> None:
    """An agent's id may be a hash of what was said: what is left has keyed hashes alone, which
    under another install key are those of no record."""
    path = wordy.path(wordy.flaky)
    ids = {record.record_uuid for record in read_session(path, source=source_of(path))}
    marks = {text_hash(each).to_bytes(8, "little") for each in ids}
    retained(wordy)
    lake, key = wordy.components.lake, wordy.components.install_key
    path = own_file(lake, REDACTED_RECORDS, wordy.harbor, wordy.flaky)
    _, footer = lake.read_footer(REDACTED_RECORDS, wordy.harbor, wordy.flaky)
    family, records = read_removed_records(footer[REMOVED_RECORDS])
    keyed = set(map(RecordIdentity(key).id_of, ids))
    assert family is not None
    assert len(keyed.intersection(records["id"].tolist())) > 30
    content = path.read_bytes() + base64.b85decode(footer[REMOVED_RECORDS].partition(":")[2])
    assert not [each for each in marks if each in content or each.hex().encode() in content]


def test_a_subagents_file_that_is_left_does_not_undo_it(wordy: SampleMemory) -> None:
    """The agent deleted the session's own file and left the subagent's: neither the next
    ingest, nor the loss of the catalogue, nor a wider policy brings a part of it back."""
    retained(wordy)
    after = wordy.lake_state()
    assert _subagent(wordy).exists()
    wordy.path(wordy.flaky).unlink()
    run(wordy)
    assert wordy.lake_state() == after
    reopened(wordy, retention="5000d")
    run(wordy)
    mine = [row for row in wordy.rows("redacted_records") if is_of({wordy.flaky}, row)]
    assert mine == [row for row in after["redacted_records"] if is_of({wordy.flaky}, row)]
    assert_all_holds(wordy)
    before = wordy.lake_state()
    wordy.lose_the_catalogue()
    run(wordy)
    assert wordy.lake_state() == before
    assert_all_holds(wordy)


def test_a_session_without_prompts_keeps_its_summary(wordy: SampleMemory) -> None:
    """Its summary is all that is left; it stays, counted as one session, when its file and the
    catalogue are lost."""
    _write_mute(wordy)
    run(wordy)
    (summary,) = [row for row in wordy.rows("session_summaries") if is_of({MUTE}, row)]
    assert retained(wordy).cut == 4
    after = wordy.lake_state()
    assert summary in after["session_summaries"]
    assert not [row for row in after["redacted_records"] if is_of({MUTE}, row)]
    assert_all_holds(wordy)
    wordy.path(MUTE).unlink()
    run(wordy)
    wordy.lose_the_catalogue()
    run(wordy)
    assert wordy.lake_state() == after
    assert (wordy.harbor, MUTE) in wordy.components.catalog.products.of_stage("redacted_records")
    assert_all_holds(wordy)


def _write_mute(memory: SampleMemory) -> None:
    said = ("The ledger is off by one.", "I fixed the rounding in src/ledger.py; all tests pass.")
    _write_session(memory, MUTE, {1: said[0], 3: said[1]})


def _write_session(memory: SampleMemory, name: str, said: dict[int, str]) -> None:
    """Write a session with messages of these numbers; a person's are even."""
    path = memory.path(memory.flaky).with_name(f"{name}.jsonl")
    cwd, when = "/home/mara/code/harbor-api", "2026-03-20T10:00:00.000Z"
    write_lines(path, [claude_line(name, at, text, cwd, when) for at, text in said.items()])
