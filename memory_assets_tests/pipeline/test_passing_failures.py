"""A failure of the environment holds sessions back for as long as it lasts, and no longer: the
next run of any kind tries again, though neither the files nor the code have changed."""

from __future__ import annotations

import errno
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pytest

from memory_assets.errors import (
    StoreError,
    TranscriptError,
    environment,
    printable,
    safe_reason,
)
from memory_assets.pipeline.scan import on_disk
from memory_assets.pipeline.scan.raw_sessions import scan_project
from memory_assets.status.status import status as status_of
from memory_assets.status.words import can_be_helped, held_back, in_words
from memory_assets.stores.lake.schemas import TURN_CHUNKS
from memory_assets_tests.command_line import run_code
from memory_assets_tests.pipeline.conftest import BEFORE_CHROMA, NEW_TURN, SampleMemory
from memory_assets_tests.sweep import sweep

EMBEDDINGS = ("turn_embeddings", "prompt_embeddings", "summary_embeddings")
BEFORE_EMBEDDINGS = tuple(name for name in BEFORE_CHROMA if not name.endswith("_embeddings"))
IN_LITTLE_MEMORY = """
import resource, sys
from pathlib import Path
from memory_assets.pipeline.stage.components import Components
from memory_assets.settings import load_settings
from memory_assets_tests.pipeline.conftest import STAGES

data_dir, project, megabytes, *stages = sys.argv[1:]
components = Components(load_settings(data_dir=Path(data_dir)))
components.opened["install_key"] = bytes(range(32))
real = components.embedder.embed

def in_little_memory(texts):
    status = Path("/proc/self/status").read_text()
    used = int(status.partition("VmSize:")[2].split()[0]) * 1024
    limit = used + int(megabytes) * 1_000_000
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
    try:
        return real(texts)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)

components.embedder.embed = in_little_memory
for stage in stages:
    STAGES[stage](components, project)
"""


@contextmanager
def _no_more_files() -> Iterator[None]:
    """Let this process open no further file, whichever files it closes meanwhile."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _status(memory: SampleMemory) -> dict[str, Any]:
    return status_of(memory.settings)


def _told(memory: SampleMemory) -> str:
    current = _status(memory)
    lines = [line for _, line in in_words(current["coverage"])]
    return "\n".join([*lines, *held_back(current, {})])


def test_an_unreadable_file_is_tried_again_until_it_can_be_read(memory: SampleMemory) -> None:
    """An input/output error: the session is held back with cause and remedy, and with it its
    subagent's file; the status does not say that everything can be found, each plan asks for a run,
    and the run heals it."""
    main = memory.path(memory.flaky)
    files = [main, *main.with_suffix("").rglob("agent-*.jsonl")]
    contents = {path: path.read_bytes() for path in files}
    assert len(contents) == 2
    for path in contents:
        path.unlink()
        path.symlink_to("/proc/self/mem")  # a regular file whose first byte cannot be read
    for _ in range(2):
        (work,) = memory.behind()
        assert work.project == memory.harbor
        memory.run(BEFORE_CHROMA, [memory.harbor])
        (held,) = memory.components.catalog.quarantine.entries()
        assert (held.session_id, held.stage, held.passing) == (memory.flaky, "raw_sessions", True)
        assert held.reason.endswith("input/output error")
    assert memory.reports["raw_sessions", memory.harbor].quarantined == 1
    assert memory.reports["redacted_records", memory.harbor].unchanged
    (work,) = memory.behind()
    assert work.held_back and work.reason == "1 session held back, to be tried again"
    assert "Everything on record" not in _told(memory)
    assert memory.flaky in _told(memory) and "to do: look after the disk" in _told(memory)
    assert can_be_helped(_status(memory))
    for path, content in contents.items():
        path.unlink()
        path.write_bytes(content)
    memory.append(memory.flaky, *NEW_TURN)
    memory.run(BEFORE_CHROMA, [memory.harbor])
    assert memory.components.catalog.quarantine.entries() == []
    assert memory.reports["raw_sessions", memory.harbor].changed == 2
    assert "zanzibar clock" in repr(memory.rows("user_prompts", memory.harbor))


def test_a_session_whose_file_is_gone_is_not_held_back_for_ever(memory: SampleMemory) -> None:
    """A new file that could not be read, and then vanished: the plan asks for the run that
    releases it, and nothing is left to do."""
    new = memory.path(memory.flaky).with_name("00000000-0000-4000-8000-000000000001.jsonl")
    new.symlink_to("/proc/self/mem")
    memory.run(BEFORE_CHROMA, [memory.harbor])
    assert len(memory.components.catalog.quarantine.entries()) == 1
    new.unlink()
    assert [work.project for work in memory.behind()] == [memory.harbor]
    memory.run(BEFORE_CHROMA, [memory.harbor])
    assert memory.components.catalog.quarantine.entries() == []
    assert memory.behind() == []


def test_too_many_open_files_hold_back_what_could_not_be_opened(memory: SampleMemory) -> None:
    """The reason says so in a user's words; with files to open again the session comes in."""
    memory.append(memory.flaky, *NEW_TURN)
    components = memory.components
    walked = on_disk.walk_once(components)[memory.harbor]
    with components.project_lock(memory.harbor):
        components.redactor, components.catalog.sources.rows()
        with _no_more_files():
            scan_project(components, memory.harbor, walked=walked)
    (held,) = components.catalog.quarantine.entries()
    assert held.reason.endswith("too many open files") and "ulimit -n" in held.remedy
    assert memory.behind()[0].held_back
    memory.run(BEFORE_CHROMA, [memory.harbor])
    assert components.catalog.quarantine.entries() == []
    assert not any(work.held_back for work in memory.behind())


def test_directories_that_cannot_be_listed_have_lost_nothing(memory: SampleMemory) -> None:
    """With no file to open no directory can be listed: each is reported, and no session counts as
    gone."""
    components = memory.components
    before = components.catalog.sources.rows()
    with _no_more_files():
        found = on_disk.look_for_sources(components)
        behind = memory.behind()
    assert found.sources == {}
    assert "files vanished" not in {work.reason for work in behind}
    assert {each.reason for each in found.unlisted} == {"too many open files"}
    assert {each.agent for each in found.unlisted} == {"claude-code", "codex", "pi"}
    assert components.catalog.sources.rows() == before


def test_a_table_that_cannot_be_opened_is_not_damaged(memory: SampleMemory) -> None:
    """Where the limit of open files is reached the error says that, and not that a file has to
    be moved away; the session is not held back for good."""
    lake = memory.components.lake
    assert memory.components.catalog.projects()
    with _no_more_files(), pytest.raises(StoreError, match="too many open files") as caught:
        lake.read(TURN_CHUNKS, memory.harbor, memory.flaky)
    assert type(caught.value) is StoreError


@pytest.mark.parametrize("megabytes", [20, pytest.param(60, marks=pytest.mark.long)])
def test_too_little_memory_for_the_model_is_healed_by_the_next_run(
    memory: SampleMemory, megabytes: int
) -> None:
    """The model raises a MemoryError, or an error of its own that names a failed allocation:
    both hold the session back with that reason, and a plain run makes the vectors."""
    memory.append(memory.flaky, *NEW_TURN)
    memory.run(BEFORE_EMBEDDINGS, [memory.harbor])
    arguments = [str(memory.data_dir), memory.harbor, str(megabytes), "turn_embeddings"]
    run_code(IN_LITTLE_MEMORY, *arguments)
    (held,) = memory.components.catalog.quarantine.entries()
    assert (held.session_id, held.stage) == (memory.flaky, "turn_embeddings")
    assert held.reason == "not enough memory for the embedding model" and held.passing
    assert "memory" in held.remedy
    assert memory.behind()[0].held_back
    memory.run(EMBEDDINGS, [memory.harbor])
    assert memory.components.catalog.quarantine.entries() == []


def test_the_redactor_tells_memory_from_a_record_that_cannot_be_redacted(
    engines: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its boundary turns every error into `RedactionFailed`, which holds a session back for
    good; memory that ran out goes through."""
    session = engines["redactor"].session("s")

    def exhausted(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(type(session), "_redact_record", exhausted)
    with pytest.raises(MemoryError):
        session.redact_record(object(), project="p", project_root="")


@sweep(
    "error, reason",
    [
        (PermissionError(errno.EACCES, "x", "/secret"), "permission denied"),
        (OSError(errno.EMFILE, "x"), "too many open files"),
        (OSError(errno.ENOSPC, "x"), "no space left on the disk"),
        (pa.lib.ArrowException("Failed to launch worker thread: x"), "not enough memory"),
        (MemoryError("secret"), "not enough memory"),
        (RuntimeError("can't start new thread"), "not enough memory"),
        (ImportError("x.so: failed to map segment from shared object"), "not enough memory"),
    ],
)
def test_a_failure_of_the_environment_has_a_cause_and_a_remedy(
    error: Exception, reason: str
) -> None:
    """No class name and nothing of the error's own message; also behind one of our errors."""
    cause = environment(error)
    assert cause is not None and cause.reason == reason and cause.remedy
    assert safe_reason(error) == reason
    ours = TranscriptError("x")
    ours.__cause__ = error
    assert environment(ours) == cause


@pytest.mark.parametrize("error", [ValueError("bad_alloc"), RuntimeError("x"), KeyError("y")])
def test_any_other_error_is_not_of_the_environment(error: Exception) -> None:
    """What an error says of itself may be a transcript's text: only errors of libraries that
    report a failed allocation are looked into."""
    assert environment(error) is None
    assert safe_reason(error) == f"a fault of memory_assets ({type(error).__name__})"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (os.fsdecode(b"a\xff\xe4.jsonl"), r"a\xff\xe4.jsonl"),
        ("tab\there\nand\x1b[31m", r"tab\there\nand\x1b[31m"),
        ("left\u202eright", r"left\u202eright"),
        ("\ud800", r"\ud800"),
        ("Grüße 日本.jsonl", "Grüße 日本.jsonl"),
    ],
)
def test_any_name_can_be_printed(name: str, shown: str) -> None:
    """Bytes that are not UTF-8, control and invisible characters stand as escapes."""
    assert printable(name) == shown
    assert printable(name).encode()
