"""Codex compresses rollouts that rest, and goes on in further files: the session stays one."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from memory_assets import status as overview
from memory_assets.pipeline.scan import on_disk
from memory_assets.recall.sessions.resume import resume_command
from memory_assets.transcripts.containers import zstd_library
from memory_assets_tests.pipeline.conftest import SampleMemory

ZSTD = zstd_library()
SESSION = "019dd3a0-6c41-7d52-9b0e-2f8e61c7a930"
SEGMENT = "019e0000-0000-7000-8000-00000000b001"


def _prompt(text: str) -> str:
    event = {"type": "user_message", "message": text, "images": []}
    return json.dumps(
        {"timestamp": "2026-06-01T10:00:00.000Z", "type": "event_msg", "payload": event}
    )


def _of_session(memory: SampleMemory) -> list[str]:
    rows = memory.rows("user_prompts")
    return [row["text"] for row in rows if row["session_id"] == SESSION]


def _compress(path: Path) -> Path:
    packed = path.with_name(f"{path.name}.zst")
    packed.write_bytes(ZSTD.compress(path.read_bytes()))
    path.unlink()
    return packed


def test_a_rollout_that_is_compressed_and_unpacked_again_stays_the_session(
    wordy: SampleMemory,
) -> None:
    """Nothing is gone, nothing is made anew, `resume` still works; a turn that is appended to the
    unpacked file is found."""
    plain = wordy.path(SESSION)
    before = wordy.lake_state()
    packed = _compress(plain)
    found = resume_command(wordy.components, SESSION)
    assert "deleted" not in str(found["missing"]) and "compressed" in str(found["notes"])
    reports = wordy.run()
    assert not any(report.details.get("gone") for report in reports.values())
    assert wordy.lake_state() == before
    assert wordy.behind() == [] and "held back" not in str(overview.held_back(_status(wordy)))
    plain.write_bytes(
        ZSTD.decompress(packed.read_bytes()) + f"{_prompt('and the zanzibar clock?')}\n".encode()
    )
    packed.unlink()
    wordy.run()
    assert _of_session(wordy)[-1] == "and the zanzibar clock?" and wordy.behind() == []


def test_a_damaged_file_is_held_back_alone(wordy: SampleMemory) -> None:
    """Where it was read before, what was read stays; the status says what to do."""
    plain = wordy.path(SESSION)
    before = _of_session(wordy)
    noise = random.Random(7).randbytes(300_000).hex()
    plain.write_text(f"{plain.read_text()}{_prompt(noise)}\n{_prompt('the end')}\n")
    packed = _compress(plain)
    whole = packed.read_bytes()
    packed.write_bytes(whole[:-9])
    wordy.run()
    (held,) = wordy.components.catalog.quarantine.entries()
    assert (held.session_id, held.stage, held.passing) == (SESSION, "raw_sessions", False)
    assert "cut off" in held.reason and "restore it" in held.remedy
    packed.write_bytes(whole[:90])
    (unlisted,) = _status(wordy)["unlisted"]
    assert unlisted["path"] == str(packed) and "restore it" in unlisted["remedy"]
    assert _of_session(wordy) == before
    packed.write_bytes(whole)
    wordy.run()
    assert _of_session(wordy)[-1] == "the end"
    assert wordy.components.catalog.quarantine.entries() == [] and wordy.behind() == []


def test_a_thread_that_goes_on_in_another_file_is_one_session(wordy: SampleMemory) -> None:
    """Its turns follow, the status counts it once, a change of either file is work."""
    plain = wordy.path(SESSION)
    meta = plain.read_text().splitlines()[0]
    prompts = len(_of_session(wordy))
    more = plain.with_name(f"rollout-2026-06-01T10-00-00-{SESSION}_{SEGMENT}.jsonl")
    more.write_text(f"{meta}\n{_prompt('and the zanzibar clock?')}\n")
    assert wordy.behind()
    wordy.run()
    assert _of_session(wordy)[prompts:] == ["and the zanzibar clock?"]
    assert wordy.turns(SESSION) == sorted(set(wordy.turns(SESSION)))
    assert wordy.behind() == [] and _status(wordy)["freshness"]["pending_files"] == 0
    known = wordy.components.catalog.sources
    assert known.files_of(str(more)) == known.files_of(str(plain)) == [str(plain), str(more)]
    assert known.project_of(str(more)) == known.project_of(str(plain)) is not None
    (source,) = [
        source
        for sources in on_disk.find_sources(wordy.components).values()
        for source in sources
        if source.session_id == SESSION
    ]
    assert source.files == (plain, more)
    _compress(more)
    wordy.run()
    assert _of_session(wordy)[prompts:] == ["and the zanzibar clock?"] and wordy.behind() == []


def _status(memory: SampleMemory) -> dict[str, Any]:
    return overview.status(memory.settings)
