"""Retention where something else is lost too: catalogue, files, prompts there never were."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from memory_assets.pipeline.ownership.removed_records import REMOVED_RECORDS, read_removed_records
from memory_assets.record_identity import RecordIdentity, mark
from memory_assets.stores.lake.schemas import REDACTED_RECORDS
from memory_assets.transcripts import read_session
from memory_assets_tests.own_files import own_file
from memory_assets_tests.pipeline.conftest import SampleMemory
from memory_assets_tests.pipeline.retaining import (
    NOW,
    assert_all_holds,
    is_of,
    reopened,
    retained,
    run,
)

MUTE = "0d9e4b52-6a1c-4f07-9b38-c5e17a2d8f64"
"""A session in which nobody asked anything."""


@pytest.fixture(autouse=True)
def _the_day_in_question(memory: SampleMemory) -> None:
    memory.clock = NOW.timestamp
    memory.reopen()


def _lose_the_catalogue(memory: SampleMemory) -> None:
    memory.close()
    for path in memory.data_dir.glob("catalog.db*"):
        path.unlink()
    reopened(memory)


def _subagent(memory: SampleMemory) -> Path:
    (found,) = memory.path(memory.flaky).with_suffix("").rglob("*.jsonl")
    return found


def test_a_fork_does_not_bring_back_what_was_let_go_of(wordy: SampleMemory) -> None:
    """With the catalogue lost, and the file of the session that owned it, a fork that is still
    on disk, knows its copies as those of the other."""
    memory = wordy
    retained(memory)
    after = memory.lake_state()
    memory.path(memory.flaky).unlink()
    _lose_the_catalogue(memory)
    run(memory)
    assert memory.lake_state() == after
    assert_all_holds(memory)


def test_what_was_let_go_of_is_known_by_keyed_ids(wordy: SampleMemory) -> None:
    """An agent's id may be a hash of what was said: what is left has keyed hashes alone, which
    under another install key are those of no record."""
    memory = wordy
    ids = {record.record_uuid for record in read_session(memory.path(memory.flaky))}
    marks = {mark(each).to_bytes(8, "little") for each in ids}
    retained(memory)
    lake, key = memory.components.lake, memory.components.install_key
    path = own_file(lake, REDACTED_RECORDS, memory.harbor, memory.flaky)
    _, footer = lake.read_footer(REDACTED_RECORDS, memory.harbor, memory.flaky)
    family, records = read_removed_records(footer[REMOVED_RECORDS])
    keyed = set(map(RecordIdentity(key).id_of, ids))
    assert family is not None
    assert len(keyed.intersection(records["id"].tolist())) > 30
    content = path.read_bytes() + base64.b85decode(footer[REMOVED_RECORDS].partition(":")[2])
    assert not [each for each in marks if each in content or each.hex().encode() in content]


def test_a_subagents_file_that_is_left_does_not_undo_it(wordy: SampleMemory) -> None:
    """The agent deleted the session's own file and left the subagent's: neither the next
    ingest, nor the loss of the catalogue, nor a wider policy brings a part of it back."""
    memory = wordy
    retained(memory)
    after = memory.lake_state()
    assert _subagent(memory).exists()
    memory.path(memory.flaky).unlink()
    run(memory)
    assert memory.lake_state() == after
    reopened(memory, retention="5000d")
    run(memory)
    mine = [row for row in memory.rows("redacted_records") if is_of({memory.flaky}, row)]
    assert mine == [row for row in after["redacted_records"] if is_of({memory.flaky}, row)]
    assert_all_holds(memory)
    before = memory.lake_state()
    _lose_the_catalogue(memory)
    run(memory)
    assert memory.lake_state() == before
    assert_all_holds(memory)


def test_a_session_without_prompts_keeps_its_summary(wordy: SampleMemory) -> None:
    """Its summary is all that is left; it stays, counted as one session, when its file and the
    catalogue are lost."""
    memory = wordy
    _write_mute(memory)
    run(memory)
    (summary,) = [row for row in memory.rows("session_summaries") if is_of({MUTE}, row)]
    assert retained(memory).cut == 4
    after = memory.lake_state()
    assert summary in after["session_summaries"]
    assert not [row for row in after["redacted_records"] if is_of({MUTE}, row)]
    assert_all_holds(memory)
    memory.path(MUTE).unlink()
    run(memory)
    _lose_the_catalogue(memory)
    run(memory)
    assert memory.lake_state() == after
    assert (memory.harbor, MUTE) in memory.components.catalog.products.of_stage("redacted_records")
    assert_all_holds(memory)


def _write_mute(memory: SampleMemory) -> None:
    path = memory.path(memory.flaky).with_name(f"{MUTE}.jsonl")
    said = ("The ledger is off by one.", "I fixed the rounding in src/ledger.py; all tests pass.")
    with path.open("w") as file:
        for number, text in enumerate(said):
            record = {
                "type": "assistant",
                "uuid": f"00000000-0000-4000-8000-00000000000{number}",
                "parentUuid": None,
                "isSidechain": False,
                "sessionId": MUTE,
                "timestamp": f"2026-03-20T10:00:0{number}.000Z",
                "cwd": "/home/mara/code/harbor-api",
                "version": "2.1.129",
                "message": {
                    "role": "assistant",
                    "content": [{"type": "text", "text": text}],
                    "id": f"msg_{number}",
                },
            }
            file.write(json.dumps(record) + "\n")
