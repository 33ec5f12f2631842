"""`memory blame` and `memory link`, end to end: a real repository, transcripts of sessions that
worked in it, the stages, the question."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from memory_assets.errors import ConfigurationError, NotFound
from memory_assets.paths import project_slug
from memory_assets.pipeline.removal.forget import forget
from memory_assets.pipeline.removal.selection import Selection, select
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.tables import session_commits as commits
from memory_assets.pipeline.tables.commit_links import link_commit, links_of, unlink_commit
from memory_assets.recall.files.blame import blame, proof_in_words
from memory_assets.recall.files.names import only_file
from memory_assets.recall.memory import Memory
from memory_assets.recall.show import whole_text
from memory_assets.settings import load_settings
from memory_assets.stores.lake.schemas import COMMIT_LINKS, SESSION_COMMITS
from memory_assets_tests.command_line import run_here
from memory_assets_tests.git_commands import git
from memory_assets_tests.loaded_engines import give, load_engines
from memory_assets_tests.own_files import altered
from memory_assets_tests.pipeline.conftest import UP_TO_SUMMARIES, run_stages
from memory_assets_tests.transcript_files import claude_line, write_lines

NOW = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=2)
FIRST, SECOND = "1f6b1f04-27d5-4c38-b0e9-f14d2a7c5e60", "2a6b1f04-27d5-4c38-b0e9-f14d2a7c5e61"
LINES = [f"def gate_of_oak_{n}(key): return open_with(key, {n})" for n in range(4)]
STAGES = (*UP_TO_SUMMARIES, "session_commits")


@dataclass
class Shop:
    """A repository, the memory of the sessions that worked in it, and a clock."""

    root: Path
    components: Components
    shas: dict[str, str]

    @property
    def repository(self) -> Path:
        """Where the repository is."""
        return self.root / "shop"

    @property
    def project(self) -> str:
        """The name of its project."""
        return project_slug(str(self.repository))

    def git(self, *arguments: str, at: datetime = NOW) -> str:
        """Run git at a time."""
        return git(self.repository, *arguments, at=at)

    def commit(self, subject: str, at: datetime) -> str:
        """The human commits everything."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "-m", subject, at=at)
        return self.git("rev-parse", "HEAD").strip()

    def ingest(self) -> None:
        """Run the stages."""
        run_stages(self.components, STAGES, self.project)

    def memory(self) -> Memory:
        """The memory as a reader has it."""
        return Memory(self.components.settings)

    def blame(self, target: str) -> Any:
        """Ask from within the repository."""
        return blame(self.memory(), target, self.repository)

    def sessions(self, target: str) -> dict[str, tuple[str, str | None]]:
        """Evidence and turn by session, of the first commit of the answer."""
        commit = self.blame(target)["commits"][0]
        return {one["session_id"]: (one["evidence"], one["turn_id"]) for one in commit["sessions"]}

    def transcript(
        self, session_id: str, *calls: tuple[datetime, str, dict[str, str], str]
    ) -> None:
        """Write a session: a prompt, then calls at their times."""
        cwd = str(self.repository)
        lines = [claude_line(session_id, 0, f"Work in {session_id}", cwd, NOW)]
        for number, (at, name, given, output) in enumerate(calls, 1):
            use = {"type": "tool_use", "id": f"t{number}", "name": name, "input": given}
            answer = {"type": "tool_result", "tool_use_id": f"t{number}", "content": output}
            later = at + timedelta(seconds=2)
            lines.append(claude_line(session_id, 2 * number - 1, [use], cwd, at))
            lines.append(claude_line(session_id, 2 * number, [answer], cwd, later))
        write_lines(self.root / "projects" / self.project / f"{session_id}.jsonl", lines)


@pytest.fixture(scope="module")
def engines() -> dict[str, Any]:
    """The real redactor and word pieces, loaded once."""
    return load_engines("redactor", "tokens")


@pytest.fixture
def shop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engines: dict[str, Any]
) -> Iterator[Shop]:
    """Two sessions: the first made a commit, the second wrote lines that the human committed
    before it was taken in, and others that nobody committed yet."""
    monkeypatch.setenv("HOME", str(tmp_path))
    roots = {"projects_dir": "projects", "codex_dir": "codex", "pi_dir": "pi"}
    settings = load_settings(
        data_dir=tmp_path / "data",
        embedder="none",
        **{name: tmp_path / place for name, place in roots.items()},
    )
    made = Shop(tmp_path, Components(settings), {})
    give(made.components, engines)
    made.repository.mkdir()
    made.git("init", "--quiet", "--initial-branch=main")
    (made.repository / "README.md").write_text("# Shop\n")
    made.shas["begin"] = made.commit("Begin", NOW - timedelta(days=30))
    gate, quay = made.repository / "src/gate.py", made.repository / "src/quay.py"
    gate.parent.mkdir()
    gate.write_text(f"{LINES[0]}\n{LINES[1]}\n")
    made.git("add", "--all")
    at = NOW + timedelta(minutes=5)
    printed = made.git("commit", "-m", "Add a gate", at=at + timedelta(seconds=1))
    made.shas["gate"] = made.git("rev-parse", "HEAD").strip()
    wrote = {"file_path": str(gate), "content": f"{LINES[0]}\n{LINES[1]}"}
    command = {"command": 'git add -A && git commit -m "Add a gate"'}
    made.transcript(
        FIRST, (NOW + timedelta(minutes=1), "Write", wrote, "ok"), (at, "Bash", command, printed)
    )
    quay.write_text(f"{LINES[2]}\n{LINES[3]}\n")
    made.shas["quay"] = made.commit("Add a quay", NOW + timedelta(minutes=20))
    draft = made.repository / "src/draft.py"
    draft.write_text("not_committed_by_anybody = True\n")
    wrote = {"file_path": str(quay), "content": f"{LINES[2]}\n{LINES[3]}"}
    second = {"file_path": str(draft), "content": "not_committed_by_anybody = True"}
    made.transcript(
        SECOND,
        (NOW + timedelta(minutes=10), "Write", wrote, "ok"),
        (NOW + timedelta(minutes=30), "Write", second, "ok"),
    )
    made.ingest()
    yield made
    made.components.catalog.close()


def test_a_commit_a_file_and_a_line_lead_to_the_session_and_its_turn(shop: Shop) -> None:
    """By SHA, its beginning, a revision, a path, and a line."""
    expected = {FIRST: ("printed", f"session::{FIRST}::turn::0")}
    sha = shop.shas["gate"]
    for target in (sha, sha[:8], "HEAD~1", "src/gate.py", "src/gate.py:2"):
        assert shop.sessions(target) == expected, target
    answer = shop.blame("src/gate.py:2")
    assert (answer["kind"], answer["commits"][0]["lines"]) == ("line", [2])
    assert answer["commits"][0]["subject"] == "Add a gate"


def test_a_file_is_found_by_its_name_alone(shop: Shop) -> None:
    """In the repository first, then among the files that sessions touched."""
    for name, full in (("gate.py", "src/gate.py"), ("gate.py:2", "src/gate.py:2")):
        found = shop.blame(name)
        assert found["target"] == full
        assert found == shop.blame(full)
    (shop.repository / "src" / "draft.py").unlink()
    found = shop.blame("draft.py")
    assert found["target"].endswith("shop/src/draft.py")
    assert [turn["session_id"] for turn in found["turns"]] == [SECOND]
    with pytest.raises(NotFound):
        shop.blame("nobody.py")


def test_several_files_of_one_name_are_listed(shop: Shop) -> None:
    """Those of the repository; more of the path decides."""
    other = shop.repository / "tests" / "gate.py"
    other.parent.mkdir()
    other.write_text("from shop import gate\n")
    shop.commit("Test the gate", NOW)
    for line in ("", ":1"):
        with pytest.raises(ConfigurationError, match=r"can mean src/gate.py, tests/gate.py; give"):
            shop.blame(f"gate.py{line}")
    assert shop.blame("src/gate.py")["target"] == "src/gate.py"


def test_what_no_session_committed_is_told_as_what_it_is(shop: Shop) -> None:
    """The human's commit of a session's lines, by time and files; a commit of nobody's; a file that
    is not committed, by the turns that changed it."""
    assert shop.sessions("src/quay.py") == {
        SECOND: ("time-and-files", f"session::{SECOND}::turn::0")
    }
    answer = shop.blame("README.md")
    assert not answer["turns"] and answer["commits"][0]["sessions"] == []
    assert answer["notes"] == ["commits without a proven session: 1 of 1"]
    answer = shop.blame("src/draft.py")
    assert answer["commits"] == []
    assert [(turn["turn_id"], turn["here"]) for turn in answer["turns"]] == [
        (f"session::{SECOND}::turn::0", True)
    ]


def test_what_nobody_knows_is_not_found(shop: Shop) -> None:
    """Neither git nor the memory; nothing to blame is a mistake, as is a link of what either does
    not know."""
    for target in ("nowhere.py", "deadbeefdead", "x" * 300, f"{'x' * 300}:3"):
        with pytest.raises(NotFound):
            shop.blame(target)
    with pytest.raises(ConfigurationError):
        shop.blame(" ")
    for session, commit in (("nobody", "HEAD"), (SECOND, "no-such-branch")):
        with pytest.raises(NotFound):
            link_commit(shop.components, session, commit, shop.repository)


def test_a_commit_made_since_the_ingest_is_claimed_at_once(shop: Shop) -> None:
    """Git is asked as it is now: a rebase, or the human's commit, after the session."""
    sha = shop.commit("Add the draft", NOW + timedelta(minutes=50))
    assert shop.sessions(sha) == {}  # one line proves nothing
    shop.git("switch", "--quiet", "-c", "other", shop.shas["begin"])
    shop.git("cherry-pick", shop.shas["gate"], at=NOW + timedelta(minutes=55))
    assert shop.sessions("HEAD") == {FIRST: ("same-change", f"session::{FIRST}::turn::0")}


def test_sessions_of_the_last_days_are_looked_at_again_when_the_repository_changed(
    shop: Shop,
) -> None:
    """At the next run of the project, though no transcript changed; and then no more."""
    shop.git("switch", "--quiet", "-c", "other", shop.shas["begin"])
    shop.git("cherry-pick", shop.shas["gate"], at=NOW + timedelta(minutes=55))
    picked = shop.git("rev-parse", "HEAD").strip()
    report = commits.attribute_project(shop.components, shop.project)
    assert report.changed == 2
    rows = shop.components.lake.read_partition(SESSION_COMMITS, shop.project).to_pylist()
    assert picked in {row["commit"] for row in rows}
    assert commits.attribute_project(shop.components, shop.project).unchanged


def test_without_the_repository_the_sessions_word_remains(shop: Shop, tmp_path: Path) -> None:
    """A SHA that git printed is found by its beginning; a path by the turns' own calls."""
    (tmp_path / "shop").rename(tmp_path / "moved")
    memory = shop.memory()
    found = blame(memory, shop.shas["gate"][:7], tmp_path)
    assert [one["session_id"] for one in found["commits"][0]["sessions"]] == [FIRST]
    by_path = blame(memory, "src/gate.py", tmp_path)
    assert [(turn["session_id"], turn["here"]) for turn in by_path["turns"]] == [(FIRST, False)]


def test_a_link_by_hand_outweighs_all_and_survives_the_catalogue(shop: Shop) -> None:
    """It is a file of the lake that no ingest rewrites."""
    link = link_commit(shop.components, SECOND, "HEAD~2", shop.repository)
    assert link.commit == shop.shas["begin"]
    link_commit(shop.components, SECOND, shop.shas["begin"], shop.repository)
    shop.components.catalog.close()
    (shop.components.data_dir / "catalog.db").unlink()
    engines = {name: getattr(shop.components, name) for name in ("install_key", "redactor")}
    shop.components = Components(shop.components.settings)
    give(shop.components, engines)
    shop.ingest()
    assert len(links_of(shop.components, shop.project, SECOND)) == 1
    assert shop.sessions("README.md") == {SECOND: ("by-hand", None)}


def test_a_commit_that_no_repository_has_is_linked_by_force_alone(shop: Shop) -> None:
    """The evidence, blame and the session's page then say that nobody checked it."""
    with pytest.raises(NotFound, match=r"no commit 'deadbee' in .*shop; .*--force"):
        link_commit(shop.components, SECOND, "deadbee", shop.repository)
    with pytest.raises(NotFound, match=r"no commit 'main~99'"):
        link_commit(shop.components, SECOND, "main~99", shop.repository, force=True)
    assert links_of(shop.components, shop.project, SECOND) == []
    link = link_commit(shop.components, SECOND, "deadbee", shop.repository, force=True)
    assert (link.evidence, link.subject) == ("by-hand-unchecked", "")
    assert shop.sessions("deadbee") == {SECOND: ("by-hand-unchecked", None)}
    assert whole_text(shop.memory(), link.id)["text"] == "deadbee (linked by hand unchecked)"


def test_a_link_has_the_subject_of_its_commit_without_secrets(shop: Shop) -> None:
    """As it is shown; and the session's own repository is asked from elsewhere, too."""
    secret = "ghp_" + "Zq4xW7" * 6
    sha = shop.commit(f"Revoke {secret} of the gate", NOW)
    link = link_commit(shop.components, SECOND, sha[:10], Path("/"))
    assert (link.commit, link.evidence) == (sha, "by-hand")
    assert link.subject.startswith("Revoke ") and secret not in link.subject
    assert (
        f"{sha[:12]} {link.subject} (linked by hand)" in whole_text(shop.memory(), link.id)["text"]
    )


def test_a_link_is_removed_by_its_commit(shop: Shop) -> None:
    """By a revision, or the beginning of its hash, whoever has it; other links stay."""
    for commit in ("HEAD", "HEAD~1"):
        link_commit(shop.components, SECOND, commit, shop.repository)
    link_commit(shop.components, SECOND, "deadbeef", shop.repository, force=True)
    assert unlink_commit(shop.components, SECOND, "deadbee", shop.repository).subject == ""
    assert unlink_commit(shop.components, SECOND, "HEAD~1", shop.repository).subject
    with pytest.raises(NotFound, match=r"not linked to 'HEAD~1'; its links: [0-9a-f]{12}$"):
        unlink_commit(shop.components, SECOND, "HEAD~1", shop.repository)
    (left,) = links_of(shop.components, shop.project, SECOND)
    assert unlink_commit(shop.components, SECOND, left.commit, Path("/")) == left
    with pytest.raises(NotFound, match="its links: none"):
        unlink_commit(shop.components, SECOND, "HEAD", shop.repository)


def test_links_of_earlier_versions_are_read(shop: Shop) -> None:
    """They have neither subject nor evidence."""
    link = link_commit(shop.components, SECOND, "HEAD", shop.repository)
    lake, of_links = shop.components.lake, (COMMIT_LINKS, shop.project, SECOND)
    altered(lake, *of_links, lake.read(*of_links).drop_columns(["subject", "evidence"]))
    assert shop.sessions("HEAD") == {SECOND: ("by-hand", None)}
    assert "(linked by hand)" in whole_text(shop.memory(), link.id)["text"]
    link_commit(shop.components, SECOND, "HEAD~1", shop.repository)
    before, after = links_of(shop.components, shop.project, SECOND)
    assert (before.evidence, before.subject) == ("by-hand", "") and after.subject


def test_a_line_that_the_file_does_not_have_is_no_line_that_is_not_committed(shop: Shop) -> None:
    """The one is a mistake in the question, the other the state of the file."""
    file = shop.repository / "README.md"
    lines = file.read_text().count("\n")
    with pytest.raises(NotFound, match=rf"no line {lines + 2} in README.md: it has {lines}"):
        shop.blame(f"README.md:{lines + 2}")
    file.write_text(f"{file.read_text()}one more\n")
    assert shop.blame(f"README.md:{lines + 1}")["notes"] == ["this line is not committed yet"]


def test_a_path_as_windows_writes_it_is_found(shop: Shop) -> None:
    """With backslashes, and with a line."""
    path = next(path for path in shop.git("ls-files").split() if "/" in path)
    for target in (path, f"{path}:1"):
        slashed, there = shop.blame(target), shop.blame(target.replace("/", "\\"))
        assert there["commits"] == slashed["commits"] != []


def test_forgetting_a_session_forgets_its_claims_and_links(shop: Shop) -> None:
    """Nothing of either is left in the lake."""
    link_commit(shop.components, FIRST, "HEAD", shop.repository)
    selected = select(shop.components, Selection(session=FIRST))
    forget(shop.components, selected, erase_traces=lambda names: 0)
    assert not [path for path in shop.components.lake.root.rglob("*") if FIRST in path.name]
    assert shop.sessions(shop.shas["gate"]) == {}


def test_the_commands_print_json_and_exit_codes(
    shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`memory link` and `memory blame`, from within the repository."""
    monkeypatch.chdir(shop.repository)
    own = {"MEMORY_DATA_DIR": str(shop.components.data_dir), "HOME": str(tmp_path)}
    run = partial(run_here, {**own, "MEMORY_PROJECTS_DIR": str(tmp_path / "projects")})
    assert run("blame", "README.md").returncode == 3
    refused = run("link", FIRST[:10], "deadbee")
    assert (refused.returncode, "no commit 'deadbee'" in refused.stderr) == (3, True)
    linked = run("link", FIRST[:10], "HEAD~2")
    assert linked.stdout.strip().endswith(", by-hand") and linked.returncode == 0
    assert run("unlink", FIRST[:10], "HEAD~2").stdout.startswith("no longer linked: ")
    assert run("link", FIRST[:10], "HEAD~2").returncode == 0
    told = run("blame", "README.md:1", "--json")
    assert told.returncode == 0, told.stderr
    (commit,) = json.loads(told.stdout)["commits"]
    assert [one["evidence"] for one in commit["sessions"]] == ["by-hand"]
    assert FIRST[:8] in run("blame", "README.md").stdout


def test_a_file_with_and_without_its_directory_is_one() -> None:
    """Sessions of one agent name the directory, those of another only the whole path."""
    known = {"stock.py": "/srv/shop/stock.py", "/srv/shop/stock.py": "/srv/shop/stock.py"}
    assert only_file("stock.py", known) == "/srv/shop/stock.py"


def test_evidence_that_this_version_has_no_words_for_is_named_as_it_is() -> None:
    """A memory that was pulled may be of a newer version."""
    assert proof_in_words({"score": 1.0, "evidence": "notarized"}) == "notarized"
