"""Sessions of databases, from the agent's store to what is on record."""

from __future__ import annotations

import hashlib
import json
import random
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memory_assets.paths import project_slug
from memory_assets.pipeline.redact import redacted_records as redact
from memory_assets.pipeline.scan import on_disk
from memory_assets.pipeline.scan import raw_sessions as scan
from memory_assets.pipeline.stage.components import Components
from memory_assets.recall.audit.audit import SourceState, source_states
from memory_assets.recall.sessions.resume import resume_command
from memory_assets.settings import Settings, load_settings
from memory_assets.status.disk import look
from memory_assets.status.status import status as status_of
from memory_assets.status.words import held_back
from memory_assets.stores.lake.schemas import REDACTED_RECORDS
from memory_assets.transcripts.content import zstd_library
from memory_assets_tests.pipeline.conftest import SampleMemory
from memory_assets_tests.transcripts.agent_databases import CWD, OpenCode
from memory_assets_tests.transcripts.agent_files import GeminiDocument

PROJECT = project_slug(CWD)


@pytest.fixture
def store(tmp_path: Path) -> OpenCode:
    """A store with one turn."""
    made = OpenCode(tmp_path / "opencode")
    made.say("Why is the stock negative?", "A sale is counted twice.")
    return made


@pytest.fixture
def components(tmp_path: Path, store: OpenCode, monkeypatch: pytest.MonkeyPatch) -> Components:
    """A memory that reads this store alone."""
    roots = {"opencode": (store.root,)}
    monkeypatch.setattr(Settings, "transcript_roots", lambda self: roots)
    return Components(load_settings(data_dir=tmp_path / "data", embedder="none"))


def ingest(components: Components) -> tuple[int, int]:
    """Scan and redact; return how many sessions each had to do."""
    scanned = scan.scan_project(components, PROJECT)
    redacted = redact.redact_project(components, PROJECT)
    assert (scanned.quarantined, redacted.quarantined) == (0, 0)
    return scanned.changed, redacted.changed


def said(components: Components, session: str = OpenCode.session) -> list[str]:
    """Return what was said in a session, as the lake has it."""
    rows = components.lake.read_rows(REDACTED_RECORDS, PROJECT, session)
    return [str(row.text) for row in rows if row.kind in ("prompt", "assistant_text")]


def pending(components: Components) -> tuple[int, int, int]:
    """Return how many sessions a look at the disk counts, finds changed, and finds gone."""
    roots = components.settings.transcript_roots()
    found = look(components.catalog, roots, components.settings.data_dir)
    return found.files, len(found.pending), found.vanished


def state_of_source(components: Components) -> SourceState:
    """Return the state of the session's source, as an audit has it."""
    records = components.lake.read_rows(REDACTED_RECORDS, PROJECT, OpenCode.session)
    catalog, key = components.catalog, components.install_key
    [state] = source_states(catalog, PROJECT, OpenCode.session, records, key)
    return state


def test_a_session_is_ingested_once_and_grows(components: Components, store: OpenCode) -> None:
    """A turn that is appended, in the write-ahead log alone, is found; nothing else is done."""
    assert pending(components) == (1, 1, 0)
    assert ingest(components) == (1, 1)
    assert said(components) == ["Why is the stock negative?", "A sale is counted twice."]
    assert pending(components) == (1, 0, 0)
    assert ingest(components) == (0, 0)
    writer = store.open()
    store.say("And the price?", "It is right.", writer)
    assert pending(components) == (1, 1, 0)
    assert ingest(components) == (1, 1)
    assert said(components)[2:] == ["And the price?", "It is right."]
    writer.close()
    assert ingest(components)[1] == 0


def test_an_answer_edited_in_place_is_replaced(components: Components, store: OpenCode) -> None:
    """It is on record once, as it is now."""
    ingest(components)
    store.edit("counted twice", "counted three times")
    assert ingest(components) == (1, 1)
    assert said(components)[1] == "A sale is counted three times."


def test_a_deleted_session_is_gone_and_not_lost(components: Components, store: OpenCode) -> None:
    """What was said stays; the ledger knows that its agent deleted it."""
    store.begin_another()
    ingest(components)
    store.delete()
    assert pending(components) == (1, 0, 1)
    report = scan.scan_project(components, PROJECT)
    assert report.details["newly_gone"] == 1
    assert said(components) == ["Why is the stock negative?", "A sale is counted twice."]
    assert state_of_source(components).state == "gone"


def test_an_unchanged_database_is_not_asked(
    components: Components, store: OpenCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Size and time of it and of its log say that nothing changed."""
    ingest(components)
    on_disk.look_for_sources(components)

    def refuse(*given: object) -> None:
        raise AssertionError("the database was opened")

    monkeypatch.setattr("memory_assets.transcripts.stored.open_database", refuse)
    [source] = on_disk.find_sources(components)[PROJECT]
    assert source.member == OpenCode.session
    assert pending(components) == (1, 0, 0)


def test_a_database_that_cannot_be_read_keeps_its_sessions(
    components: Components, store: OpenCode
) -> None:
    """It is reported with a remedy; nothing counts as deleted, and nothing is lost."""
    ingest(components)
    whole = store.path.read_bytes()
    store.path.write_bytes(b"\x00" * 4096)
    found = on_disk.look_for_sources(components)
    assert [each.reason for each in found.unlisted] == ["it is no SQLite database"]
    assert [source.member for source in found.sources[PROJECT]] == [OpenCode.session]
    assert scan.scan_project(components, PROJECT).details["newly_gone"] == 0
    store.path.write_bytes(whole)
    assert ingest(components)[1] == 0


def test_a_database_of_which_nothing_is_on_record_is_asked_until_it_can_be_read(
    components: Components, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each look says what is wrong, though the file stays as it is; what was locked, and did not
    change since, is taken in."""
    store = OpenCode(tmp_path / "locked", wal=False)
    store.say("Why?", "Because.")
    monkeypatch.setattr(Settings, "transcript_roots", lambda self: {"opencode": (store.root,)})
    monkeypatch.setattr("memory_assets.transcripts.databases.BUSY_SECONDS", 0.01)
    with closing(store.open()) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        for _ in range(2):
            assert len(on_disk.look_for_sources(components).unlisted) == 1
    assert [*on_disk.find_sources(components)] == [PROJECT]
    with closing(store.open()) as writer:
        writer.execute("ALTER TABLE message RENAME TO messages")
        writer.commit()
    for _ in range(2):
        assert len(on_disk.look_for_sources(components).unlisted) == 1


def test_a_project_known_by_a_hash_gets_its_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As soon as its agent's list names it; the session stays where it is, and is read once."""
    store = GeminiDocument(tmp_path / ".gemini" / "tmp")
    store.say("Why?", "Because.")
    folder = store.path.parent.parent
    (folder / ".project_root").unlink()
    hashed = hashlib.sha256(CWD.encode()).hexdigest()
    folder.rename(folder.with_name(hashed))
    monkeypatch.setattr(Settings, "transcript_roots", lambda self: {"gemini": (store.root,)})
    components = Components(load_settings(data_dir=tmp_path / "data", embedder="none"))

    def roots() -> set[str]:
        redact.redact_project(components, hashed)
        rows = components.lake.read_rows(REDACTED_RECORDS, hashed, GeminiDocument.session)
        return {str(row.project_root) for row in rows}

    assert scan.scan_project(components, hashed).changed == 1
    assert roots() == {""}
    listed = tmp_path / ".gemini" / "projects.json"
    listed.write_text(json.dumps({"projects": {CWD: "shop"}}))
    assert scan.scan_project(components, hashed).changed == 1
    assert roots() == {"~/shop"}
    assert scan.scan_project(components, hashed).changed == 0


def test_an_audit_leads_to_the_session_and_its_lines(
    components: Components, store: OpenCode
) -> None:
    """With the state that the session is in now."""
    ingest(components)
    before = state_of_source(components)
    assert before.path == f"{store.path}#{OpenCode.session}"
    assert (before.state, before.line_start, before.line_end) == ("unchanged", 2, 4)
    assert before.size_read == before.size_now
    store.say("And the price?", "It is right.")
    assert state_of_source(components).state == "grown"
    store.edit("counted twice", "counted three times")
    assert state_of_source(components).state == "rewritten"
    store.path.unlink()
    assert state_of_source(components).state == "gone"


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
    assert wordy.behind() == [] and "held back" not in str(held_back(_status(wordy), {}))
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
    return status_of(memory.settings)
