"""What stands in several files is on record once, whichever is met first or moves."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from memory_assets.paths import on_this_machine
from memory_assets.pipeline.checks.source_turns import count_sources
from memory_assets.pipeline.removal.forget import forget
from memory_assets.pipeline.removal.selection import Selection, select
from memory_assets.pipeline.stage.engines import redaction_settings
from memory_assets.recall import open_memory
from memory_assets.redaction import load_redactor
from memory_assets_tests.pipeline.conftest import BEFORE_CHROMA, NEW_TURN, SampleMemory
from memory_assets_tests.pipeline.retaining import assert_all_holds
from memory_assets_tests.unprivileged import WITHOUT_PRIVILEGES


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


def test_a_directory_that_moved_and_a_copied_file_lose_and_repeat_nothing(
    memory: SampleMemory,
) -> None:
    """All files of a project vanish and appear under another name, and one of another project is
    copied into a third: each turn stays on record once."""
    before = sorted(row["id"] for row in memory.rows("turn_chunks"))
    place = memory.transcripts / "claude" / "projects"
    (place / "-Users-jonas-work-tidepool-web").rename(place / "-Users-jonas-work-renamed")
    (place / "-home-mara-code-backup").mkdir()
    shutil.copy(memory.path(memory.fork), place / "-home-mara-code-backup")
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


@pytest.mark.parametrize("cwd", ["~\\project", "~nosuchuser/x", "~nosuchuser\\x.py"])
def test_a_working_directory_below_no_known_home_is_an_unknown_path(
    memory: SampleMemory, cwd: str
) -> None:
    """The session is taken in at every stage, as with any path that is not on this machine."""
    path = memory.path(memory.flaky)
    memory.append(memory.flaky, *NEW_TURN)
    path.write_text(
        path.read_text().replace("/home/mara/code/harbor-api", cwd.replace("\\", "\\\\"))
    )
    memory.run(BEFORE_CHROMA, [memory.harbor])
    assert memory.components.catalog.quarantine.entries() == []
    assert "zanzibar clock" in repr(memory.rows("user_prompts", memory.harbor))
    commits = memory.components.catalog.products.of_project("session_commits", memory.harbor)
    assert memory.flaky in commits


def test_a_home_that_is_known_is_resolved(monkeypatch: pytest.MonkeyPatch) -> None:
    """`~` stands for this user's home; what no home fits is returned as it is."""
    monkeypatch.setenv("HOME", "/home/ada")
    assert on_this_machine("~/engine") == Path("/home/ada/engine")
    assert on_this_machine("~nosuchuser/x") == Path("~nosuchuser/x")


def test_a_working_directory_that_may_not_be_looked_at_is_an_unknown_path(tmp_path: Path) -> None:
    """Whoever reads another user's transcripts may not enter that user's home: the path is taken
    as it is, and the session is not held back for it."""
    closed = tmp_path / "closed"
    inside = closed / "project"
    inside.mkdir(parents=True)
    closed.chmod(0)
    code = (
        "import sys; from pathlib import Path;"
        "from memory_assets.commits import Repository;"
        "from memory_assets.pipeline.scan.raw_sessions import project_root;"
        "print(project_root(sys.argv[1]), Repository.at(Path(sys.argv[1])))"
    )
    done = subprocess.run(
        [*WITHOUT_PRIVILEGES, sys.executable, "-c", code, str(inside)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ,
    )
    closed.chmod(0o700)
    assert done.stdout.strip() == f"{inside} None", done.stderr


FORGED = "00000000-0000-4000-8000-00000000f0f0"
TEXT = "the aardvark of the forged session"


def _forge(memory: SampleMemory, session_id: str) -> Path:
    """An older file with the ids of a session: another name, time and text."""
    lines = [json.loads(line) for line in memory.path(session_id).read_text().splitlines()]
    own = {"type": "user", "uuid": FORGED, "timestamp": "2020-01-01T00:00:00.000Z"}
    said = {"role": "user", "content": f"{TEXT} began"}
    forged = [{**own, "sessionId": FORGED, "message": said}]
    for number, line in enumerate(line for line in lines if line.get("uuid")):
        line |= {"sessionId": FORGED, "timestamp": f"2020-01-01T00:{number // 60:02}:00.000Z"}
        if line["type"] in ("user", "assistant"):
            said = {"role": line["type"], "content": f"{TEXT}, number {number}"}
            forged.append({**line, "message": said})
    path = memory.path(session_id).with_name(f"{FORGED}.jsonl")
    path.write_text("".join(json.dumps(line) + "\n" for line in forged))
    return path


@pytest.mark.parametrize(
    "first",
    [
        "the forged one",
        pytest.param("the session", marks=pytest.mark.long),
        pytest.param("both", marks=pytest.mark.long),
    ],
)
def test_an_older_file_with_the_same_ids_takes_no_text_away(
    memory: SampleMemory, fresh: SampleMemory, first: str
) -> None:
    """Whichever comes first, both are in memory and found, every id in the tables and the
    collections is there once, nothing is left to be done, and the verification passes."""
    made = memory if first == "the session" else fresh.without_vectors()
    path = made.path(made.flaky)
    before = memory.rows("turn_chunks", memory.harbor)
    forged = _forge(made, made.flaky)
    if first == "the forged one":
        aside = {each: each.read_text() for each in (path, made.path(made.fork))}
        for each in aside:
            each.unlink()
        made.run()
        for each, text in aside.items():
            each.write_text(text)
    made.run()

    after = made.rows("turn_chunks", made.harbor)
    told = {row["id"]: row["text"] for row in after}
    assert {row["id"]: row["text"] for row in before}.items() <= told.items()
    of_forged = [row["text"] for row in after if row["session_id"] == FORGED]
    assert sum(text.count("aardvark") for text in of_forged) > 10
    for table in ("turn_chunks", "user_prompts", "observations", "session_summaries"):
        ids = Counter(row["id"] for row in made.rows(table))
        assert ids.most_common(1)[0][1] == 1
    assert_all_holds(made)
    asked = open_memory(made.settings)
    own = next(row for row in before if row["session_id"] == made.flaky)
    for session_id, text in ((FORGED, TEXT), (made.flaky, own["text"])):
        hits = asked.search(text, n=10).hits
        assert any(session_id in hit.id for hit in hits)
    counted = count_sources(made.components, made.projects())
    assert counted.gaps == []
    assert forged.exists()


def test_forgetting_a_forged_file_leaves_the_session_whole(wordy: SampleMemory) -> None:
    """Its tombstones name the ids of both; only what it said is kept away."""
    before = wordy.rows("turn_chunks", wordy.harbor)
    _forge(wordy, wordy.flaky)
    wordy.run()
    chosen = select(wordy.components, Selection(session=FORGED))
    forget(wordy.components, chosen, erase_traces=lambda names: 0)
    wordy.run()
    assert wordy.rows("turn_chunks", wordy.harbor) == before
    wordy.path(wordy.flaky).touch()
    wordy.components.catalog.products.forget_project(wordy.harbor)
    wordy.run()
    assert wordy.rows("turn_chunks", wordy.harbor) == before
