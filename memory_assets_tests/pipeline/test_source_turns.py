"""`memory verify` reads the agents' files again: what they hold is found, or it is told which
session lacks what, and why."""

from __future__ import annotations

import json
import os
from collections import Counter
from contextlib import closing

from memory_assets.pipeline.checks.source_turns import Gap, SourceCount, count_sources
from memory_assets.pipeline.indexes.keywords import keywords_path
from memory_assets.pipeline.removal.forget import forget
from memory_assets.pipeline.removal.selection import Selection, select
from memory_assets.stores.keyword_index import files as keyword_files
from memory_assets.stores.lake.schemas import REDACTED_RECORDS, SESSION_SUMMARIES, TURN_CHUNKS
from memory_assets_tests.pipeline.conftest import SampleMemory


def _counted(memory: SampleMemory) -> SourceCount:
    return count_sources(memory.components, memory.projects())


def _totals(count: SourceCount) -> dict[str, tuple[int, dict[str, int]]]:
    return {name: (each.at_source, dict(each.found)) for name, each in count.sets.items()}


def test_every_turn_on_disk_is_found_in_every_place(memory: SampleMemory) -> None:
    """Each once: a fork's copies are the original's turns."""
    read: list[tuple[int, int]] = []
    count = count_sources(memory.components, memory.projects(), lambda *sizes: read.append(sizes))
    assert sum(size for size, _ in read) == count.bytes == read[0][1]
    turns = len({row["turn_id"] for row in memory.rows("turn_chunks")})
    everywhere = {"table": turns, "collection": turns, "keywords": turns}
    assert count.gaps == [] and count.passed
    assert (count.files, count.sessions, count.archived) == (10, 9, 0)
    assert _totals(count) == {
        "sessions": (turns, everywhere),
        "prompts": (turns, everywhere),
        "summaries": (9, dict.fromkeys(everywhere, 9)),
    }


def test_what_is_lost_is_told_though_the_ledger_says_otherwise(memory: SampleMemory) -> None:
    """A chunk file, a row in Chroma, a row of keywords: each is missed in its own place, by
    session, and fails the verification; nothing in the catalogue knows of it."""
    components, flaky = memory.components, memory.flaky
    collection = components.vectors.get("claude-code-sessions")
    collection.delete([f"session::{flaky}::turn::1"])
    with closing(keyword_files.open_for_writing(keywords_path(components))) as index:
        index.remove([(memory.harbor, flaky)], "prompts")
    lost = "5c8e7a13-b94f-4d26-a071-e3f2d6890b5c"
    components.lake.delete(TURN_CHUNKS, "-Users-jonas-work-tidepool-web", lost)
    count = _counted(memory)
    assert not count.passed
    gaps = {gap.session_id: gap for gap in count.gaps}
    assert gaps[flaky].missing == Counter({"sessions.collection": 1, "prompts.keywords": 4})
    assert gaps[lost].missing["sessions.table"] == 4
    assert not any(gap.reason for gap in count.gaps)
    assert count.sets["sessions"].at_source - count.sets["sessions"].found["table"] == 4


def test_what_is_not_yet_taken_in_is_missing_with_its_reason(memory: SampleMemory) -> None:
    """A turn written since, and a session that is held back: they close by themselves, so
    they do not fail it, and are told."""
    memory.append(memory.flaky, "one more thing", "Done.")
    count = _counted(memory)
    (gap,) = count.gaps
    assert gap.session_id == memory.flaky and gap.missing["sessions.table"] == 1
    assert "memory ingest" in gap.reason and count.passed
    memory.run(projects=[memory.harbor])
    assert _counted(memory).gaps == []


def test_a_session_that_says_nothing_needs_no_summary(wordy: SampleMemory) -> None:
    """One with no more than a greeting has none, and that is not missing; one that lost its own
    is."""
    records = map(json.loads, wordy.path(wordy.flaky).read_text().splitlines())
    greeting = next(record for record in records if record["type"] == "user")
    greeting |= {"sessionId": "said-hi", "uuid": "0" * 32, "parentUuid": None}
    greeting["message"]["content"] = "hi"
    wordy.path(wordy.flaky).with_name("said-hi.jsonl").write_text(json.dumps(greeting) + "\n")
    wordy.run()
    count = _counted(wordy)
    assert count.gaps == [] and count.sets["summaries"].at_source == 9
    wordy.components.lake.delete(SESSION_SUMMARIES, wordy.harbor, wordy.flaky)
    (gap,) = _counted(wordy).gaps
    assert (gap.session_id, gap.missing["summaries.table"]) == (wordy.flaky, 1)


def test_a_summary_is_missed_where_records_are_gone_too(wordy: SampleMemory) -> None:
    """Whether the session says anything cannot be told then, and it is not an error."""
    for table in (SESSION_SUMMARIES, REDACTED_RECORDS):
        wordy.components.lake.delete(table, wordy.harbor, wordy.flaky)
    with closing(keyword_files.open_for_writing(keywords_path(wordy.components))) as index:
        index.remove([(wordy.harbor, wordy.flaky)], "summaries")
    (gap,) = _counted(wordy).gaps
    assert (gap.session_id, gap.missing["summaries.table"]) == (wordy.flaky, 1)


def test_a_turn_that_its_file_does_not_have_is_extra(memory: SampleMemory) -> None:
    """Unlike those of a session whose file is gone, which is archived."""
    path = memory.path(memory.flaky)
    status = path.stat()
    lines = path.read_text().splitlines()
    prompts = [
        place
        for place, line in enumerate(lines)
        if json.loads(line).get("type") == "user"
        and isinstance(json.loads(line)["message"]["content"], str)
    ]
    blank = " " * (len(lines[prompts[-1]]) - 2)
    lines[prompts[-1]] = "{" + blank + "}"
    path.write_text("\n".join(lines) + "\n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    (gap,) = _counted(memory).gaps
    assert gap == Gap(memory.harbor, memory.flaky, extra=1)
    path.unlink()
    count = _counted(memory)
    assert (count.gaps, count.archived) == ([], 1)


def test_copies_of_what_was_forgotten_are_not_missed(memory: SampleMemory) -> None:
    """A fork's copies of a forgotten session's turns stay away on purpose."""
    found = select(memory.components, Selection(session=memory.flaky))
    forget(memory.components, found, erase_traces=lambda names: 0)
    memory.run(projects=[memory.harbor])
    assert _counted(memory).gaps == []


def test_sessions_of_subagents_alone_are_counted_apart(wordy: SampleMemory) -> None:
    """They are in memory, and there is no file of the session itself to compare."""
    before = _counted(wordy)
    (file,) = wordy.path(wordy.flaky).parents[1].rglob("subagents/*.jsonl")
    alone = file.parents[2] / "alone" / "subagents"
    alone.mkdir(parents=True)
    (alone / file.name).write_text(file.read_text().replace(file.parents[1].name, "alone"))
    wordy.run()
    count = _counted(wordy)
    assert (before.without_main, count.without_main) == (0, 1)
    assert count.sessions == before.sessions
