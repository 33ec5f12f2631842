"""What stands in several files is on record once, whichever is met first or moves."""

from __future__ import annotations

import json
import shutil

from memory_assets.pipeline.stage.engines import redaction_settings
from memory_assets.redaction import load_redactor
from memory_assets_tests.pipeline.conftest import BEFORE_CHROMA, NEW_TURN, SampleMemory


def test_a_fork_is_counted_from_where_it_left_the_original(finished: SampleMemory) -> None:
    """The copied turn is indexed once, with the original; the fork's turn numbers go on
    behind it, and none of its passages repeats one of the original's."""
    rows = finished.rows("turn_chunks", finished.harbor)
    texts = {
        session: {row["text"] for row in rows if row["session_id"] == session}
        for session in (finished.flaky, finished.fork)
    }
    assert finished.turns(finished.flaky) == [0, 1, 2, 3]
    assert finished.turns(finished.fork) == [1, 2]
    assert not texts[finished.flaky] & texts[finished.fork]
    prompts = [row["text"] for row in finished.rows("user_prompts", finished.harbor)]
    assert len(prompts) == len(set(prompts))


def test_a_fork_that_is_met_before_its_original_ends_the_same(
    fresh: SampleMemory, finished: SampleMemory
) -> None:
    """The original comes later: the copied turn moves to it, and the fork's own turns keep
    the ids that they had from the beginning."""
    original, aside = fresh.path(fresh.flaky), fresh.root / "aside"
    aside.mkdir()
    for path in (original, original.with_suffix("")):
        path.rename(aside / path.name)
    fresh.run(BEFORE_CHROMA, [fresh.harbor])
    assert fresh.turns(fresh.fork) == [0, 1, 2]
    before = {row["id"]: row["text"] for row in fresh.rows("turn_chunks", fresh.harbor)}
    for path in (original, original.with_suffix("")):
        (aside / path.name).rename(path)
    fresh.run(BEFORE_CHROMA)
    assert fresh.lake_state() == finished.lake_state()
    after = {row["id"]: row["text"] for row in fresh.rows("turn_chunks", fresh.harbor)}
    lost = before.keys() - after.keys()
    assert {row_id.partition("::part")[0] for row_id in lost} == {f"session::{fresh.fork}::turn::0"}
    assert {row_id for row_id in before.keys() - lost if before[row_id] != after[row_id]} == set()


def test_an_original_that_grows_after_its_fork_keeps_its_turns(memory: SampleMemory) -> None:
    """Though the fork wrote its own first prompt earlier than the original went on: its copies
    say where they are from."""
    original, fork = memory.path(memory.flaky), memory.path(memory.fork)
    lines = [json.loads(line) for line in original.read_text().splitlines()]
    forked = [json.loads(line) for line in fork.read_text().splitlines()]
    written = {line["uuid"] for line in lines if "uuid" in line}
    copied = {line["uuid"] for line in forked if line.get("uuid") in written}
    for line in forked:
        if line.get("uuid") in copied:
            line["forkedFrom"] = {"sessionId": memory.flaky, "messageUuid": line["uuid"]}
    fork.write_text("".join(json.dumps(line) + "\n" for line in forked))
    shared = [line for line in lines if line.get("uuid") in copied]
    original.write_text("".join(json.dumps(line) + "\n" for line in shared))
    memory.run(BEFORE_CHROMA, [memory.harbor])
    assert (memory.turns(memory.flaky), memory.turns(memory.fork)) == ([0], [1, 2])
    memory.append(memory.flaky, *NEW_TURN, at="2026-05-01T10:00:00.000Z")
    memory.run(BEFORE_CHROMA, [memory.harbor])
    assert (memory.turns(memory.flaky), memory.turns(memory.fork)) == ([0, 1], [1, 2])


def test_a_project_directory_that_moved_loses_and_repeats_nothing(memory: SampleMemory) -> None:
    """All its files vanish and appear under another name: each turn stays on record once."""
    before = sorted(row["id"] for row in memory.rows("turn_chunks"))
    place = memory.transcripts / "claude" / "projects"
    (place / "-Users-jonas-work-tidepool-web").rename(place / "-Users-jonas-work-renamed")
    for _ in range(2):
        memory.run()
    assert sorted(row["id"] for row in memory.rows("turn_chunks")) == before
    memory.assert_collections_equal_the_lake()
    assert memory.behind() == []


def test_a_session_in_two_projects_is_kept_in_one(memory: SampleMemory) -> None:
    """A copy of a whole file under another project adds nothing and takes nothing away."""
    before = sorted(row["id"] for row in memory.rows("turn_chunks"))
    place = memory.transcripts / "claude" / "projects" / "-home-mara-code-backup"
    place.mkdir()
    shutil.copy(memory.path(memory.fork), place)
    for _ in range(2):
        memory.run()
    assert sorted(row["id"] for row in memory.rows("turn_chunks")) == before
    memory.assert_collections_equal_the_lake()
    assert memory.behind() == []


def test_under_another_key_copies_are_still_told(memory: SampleMemory) -> None:
    """The key was lost: every file is read again, so that a fork's copies, and those of one
    that is new, are told by the same key."""
    before = sorted(row["id"] for row in memory.rows("user_prompts"))
    key = bytes(reversed(range(32)))
    memory.reopen(install_key=key, redactor=load_redactor(redaction_settings(memory.settings), key))
    assert {"changed" in work.reason for work in memory.behind()} == {True}
    lines = memory.path(memory.flaky).read_text().splitlines()
    memory.path(memory.flaky).with_name("second-fork.jsonl").write_text("\n".join(lines[:9]))
    memory.run(BEFORE_CHROMA)
    assert sorted(row["id"] for row in memory.rows("user_prompts")) == before
    assert (memory.turns(memory.flaky), memory.turns(memory.fork)) == ([0, 1, 2, 3], [1, 2])
