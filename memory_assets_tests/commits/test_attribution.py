"""Which commits a session stands behind: what it says of itself, what proves it, and what does
not."""

from __future__ import annotations

import json
import sys
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from memory_assets.commits import Evidence, without_contested_guesses
from memory_assets.commits.attribution import same_file
from memory_assets.commits.work import Written, telling_line
from memory_assets.models import Turn
from memory_assets.redacted_text import seal
from memory_assets_tests.command_line import run_program
from memory_assets_tests.commits.conftest import Session, Workshop
from memory_assets_tests.sweep import sweep


def test_what_git_printed_in_answer_to_git_commit_is_claimed(session: Session) -> None:
    """With the full SHA and more trust where git confirms it."""
    sha = session.commits("src/harbor.py", "Add a harbor")
    (claim,) = session.claims().values()
    assert (claim.sha, claim.evidence, claim.score) == (sha, Evidence.PRINTED, 0.98)
    assert claim.known is not None
    assert claim.known.subject == claim.subject == "Add a harbor"
    (said,) = session.claims(asked=False).values()
    assert sha.startswith(said.sha) and said.score < claim.score and said.known is None


@pytest.mark.parametrize(
    "command", ["git log --oneline -3", "cat ci.log", "grep -rn 'git commit' docs; cat ci.log"]
)
def test_a_commit_that_output_only_quotes_is_not_claimed(
    shop: Workshop, session: Session, command: str
) -> None:
    """A log of another's commits proves nothing, with git or without."""
    shop.save("a.py", "import nothing_of_the_session")
    shop.git("add", "--all")
    told = shop.git("commit", "-m", "Human work")
    session.run(command, told)
    assert session.claims(asked=False) == session.claims() == {}


def test_an_old_commit_in_the_output_of_a_real_one_is_not_claimed(
    shop: Workshop, session: Session
) -> None:
    """Git made it at another time than the call ran."""
    shop.save("a.py", "import nothing_of_the_session")
    shop.git("add", "--all")
    told = shop.git("commit", "-m", "Human work", later=300)
    shop.now += timedelta(hours=1)
    session.run("cat last.log; git commit -m 'Not yet'", told + "nothing to commit")
    assert session.claims() == {}


def test_a_commit_that_the_session_amended_says_what_took_its_place(
    shop: Workshop, session: Session
) -> None:
    """By its full SHA where git has both; one that a reset took back says so."""
    old = session.commits("src/harbor.py", "Add a harbor")
    amend = "git commit --amend -m 'Add a port'"
    session.run(amend, lambda: shop.git("commit", "--amend", "-m", "Add a port"))
    new = shop.git("rev-parse", "HEAD").strip()
    gone = session.commits("src/pier.py", "Add a pier")
    session.run("git reset --soft HEAD~1", lambda: shop.git("reset", "--soft", "HEAD~1"))
    claims = session.claims()
    assert {sha: claims[sha].replaced_by for sha in (old, new, gone)} == {
        old: new,
        new: "",
        gone: "reset",
    }
    quietly = (
        "git commit -q --amend --no-edit",
        lambda: shop.git("commit", "-q", "--amend", "-m", "x"),
    )
    session.run(*quietly)
    assert session.claims()[new].replaced_by == "amended"
    said = {one.sha: one.replaced_by for one in session.claims(asked=False).values()}
    assert [new.startswith(by) and bool(by) for sha, by in said.items() if old.startswith(sha)]


def test_a_commit_that_is_amended_twice_is_replaced_twice(shop: Workshop, session: Session) -> None:
    """Git prints when it was written first, however late it is amended; one that the human wrote
    long before takes the place of none of the session."""
    shop.save("src/pier.py", "old = True")
    shop.git("checkout", "--quiet", "-b", "side")
    shop.commit("Human work")
    shop.git("checkout", "--quiet", "main", later=4_000)
    shas = [session.commits("src/harbor.py", "Add a harbor")]
    for subject in ("Add-a-port", "Add-a-pier"):
        shop.now += timedelta(hours=1)
        amend = ("commit", "--amend", "-m", subject)
        session.run(f"git {' '.join(amend)}", partial(shop.git, *amend))
        shas.append(shop.git("rev-parse", "HEAD").strip())
    shop.git("branch", "--quiet", "-M", "main", "own")
    shop.git("checkout", "--quiet", "-B", "main", "side")
    session.run("git commit --amend -m Tidy", lambda: shop.git("commit", "--amend", "-m", "Tidy"))
    claims = session.claims()
    assert [claims[sha].replaced_by for sha in shas] == [*shas[1:], ""]


def test_a_quiet_commit_is_found_by_time_and_subject(shop: Workshop, session: Session) -> None:
    """Git printed nothing; its own record of that second does."""
    session.write("src/a.py", "def first(): return 1_000_000")

    def act() -> str:
        shop.git("add", "--all")
        return shop.git("commit", "--quiet", "-m", "Add the first")

    session.run('git add -A && git commit -q -m "Add the first"', act)
    (claim,) = session.claims().values()
    assert (claim.sha, claim.evidence) == (shop.git("rev-parse", "HEAD").strip(), Evidence.PRINTED)
    assert session.claims(asked=False) == {}


def test_a_trailer_that_names_the_session_is_the_strongest_evidence(
    shop: Workshop, session: Session
) -> None:
    """By its id, or by the address that its own commits are signed with."""
    named = shop.commit(f"Tidy\n\nEntire-Session: 2026-03-30-{session.id}")
    address = "https://claude.ai/code/session_01ABCDEFGH"
    signed = f"Add a quay\n\nClaude-Session: {address}"

    def act() -> str:
        shop.save("q.py", "def quay(): return 'the quay of the harbor'")
        shop.git("add", "--all")
        return shop.git("commit", "-m", signed)

    session.run(f"git commit -m \"$(cat <<'EOF'\n{signed}\nEOF\n)\"", act)
    later = shop.commit(f"Squashed elsewhere\n\nClaude-Session: {address}", later=9000)
    stranger = shop.commit("Other\n\nClaude-Session: https://claude.ai/code/session_99ZZZZZZZZ")
    claims = session.claims()
    assert {named, later} <= claims.keys() and stranger not in claims
    assert {claim.evidence for claim in claims.values()} == {Evidence.TRAILER}


@pytest.mark.parametrize("lost", [False, True], ids=["kept", "collected"])
def test_a_rebased_commit_is_claimed_as_the_same_change(
    shop: Workshop, session: Session, lost: bool
) -> None:
    """By author time and subject, also where git has the original no more."""
    shop.git("switch", "--quiet", "-c", "work")
    original = session.commits("src/harbor.py", "Add a harbor")
    shop.git("switch", "--quiet", "main")
    human = shop.commit("Meanwhile")
    shop.git("switch", "--quiet", "work")
    shop.git("rebase", "--quiet", "main", later=3600)
    if lost:
        shop.git("reflog", "expire", "--expire=now", "--all")
        shop.git("gc", "--quiet", "--prune=now")
    rebased = shop.git("rev-parse", "HEAD").strip()
    claim = session.claims()[rebased]
    assert claim.evidence == Evidence.SAME_CHANGE
    assert original.startswith(claim.from_commit)
    assert human not in session.claims()


def test_a_squash_is_claimed_by_its_lines(shop: Workshop, session: Session) -> None:
    """They are those of the session's commits."""
    shop.git("switch", "--quiet", "-c", "work")
    session.commits("src/a.py", "Add a")
    session.commits("src/b.py", "Add b")
    shop.git("switch", "--quiet", "main")
    shop.git("merge", "--squash", "--quiet", "work", later=3600)
    shop.git("commit", "--quiet", "-m", "Everything")
    squashed = shop.git("rev-parse", "HEAD").strip()
    assert session.claims()[squashed].evidence == Evidence.TIME_AND_FILES


def test_a_revert_is_its_makers_alone(shop: Workshop, session: Session, other: Any) -> None:
    """The session whose work was reverted did not do that."""
    sha = session.commits("src/harbor.py", "Add a harbor")
    other.run(f"git revert --no-edit {sha[:7]}", lambda: shop.git("revert", "--no-edit", sha))
    revert = shop.git("rev-parse", "HEAD").strip()
    assert revert not in session.claims()
    assert other.claims()[revert].evidence == Evidence.PRINTED


LINES = (
    "def open_the_gate(name): return gates[name].open()",
    "def close_the_gate(name): return gates[name].close()",
    "def paint_the_gate(name, colour): return gates[name].paint(colour)",
)


def test_the_humans_commit_of_the_sessions_lines_is_claimed(
    shop: Workshop, session: Session
) -> None:
    """With less trust than what was printed."""
    session.write("src/gates.py", *LINES)
    sha = shop.commit("Gates", later=1800)
    claim = session.claims()[sha]
    assert claim.evidence == Evidence.TIME_AND_FILES
    assert claim.score < 0.9
    assert session.claims(asked=False) == {}


@pytest.mark.parametrize("case", ["other file", "before", "mostly human", "same words elsewhere"])
def test_time_and_files_alone_prove_nothing(shop: Workshop, session: Session, case: str) -> None:
    """The lines must be the session's, written before, into that file."""
    mine = [f"def human_{number}(): return {number}" for number in range(9)]
    if case == "other file":
        session.write("src/gates.py", *LINES)
        (shop.root / "src/gates.py").unlink()
        shop.save("src/doors.py", *mine)
    elif case == "before":
        shop.save("src/gates.py", *LINES)
        sha = shop.commit("Gates")
        session.write("src/gates.py", *LINES)
        assert sha not in session.claims()
        return
    elif case == "mostly human":
        session.write("src/gates.py", *LINES)
        shop.save("src/gates.py", *mine)
    else:
        session.write("src/gates.py", *LINES, into="/elsewhere/other/project/lib/gates.py")
    assert session.claims() == {} or case == "same words elsewhere"
    sha = shop.commit("Human work")
    assert sha not in session.claims()


def test_two_commits_with_one_short_sha_are_told_apart_by_their_time(
    shop: Workshop, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that git made while the call ran is meant."""
    sha = session.commits("src/harbor.py", "Add a harbor")
    later = shop.commit("Human work", later=86_400)
    repository = shop.repository()
    real = repository.resolve
    monkeypatch.setattr(
        type(repository),
        "resolve",
        lambda self, name: [later, sha] if sha.startswith(name) else real(name),
    )
    assert [claim.sha for claim in session.claims().values()] == [sha]


def test_the_merge_of_an_opened_pull_request_is_claimed(shop: Workshop, session: Session) -> None:
    """One that the session only looked at is not."""
    address = "https://github.com/mara/shop/pull/41"
    session.run("gh pr create --fill", f"Creating pull request\n{address}\n")
    session.run("gh pr view 42", "https://github.com/mara/shop/pull/42")
    merged = shop.commit("Better gates (#41)", later=7200)
    foreign = shop.commit("Better doors (#42)")
    claims = session.claims()
    assert claims[merged].evidence == claims[address].evidence == Evidence.PULL_REQUEST
    assert foreign not in claims and len(claims) == 2


def test_a_pull_request_may_be_opened_by_a_tool(shop: Workshop, session: Session) -> None:
    """Of GitHub's server for agents, under whatever name its client knows it."""
    address = "https://github.com/mara/shop/pull/43"
    call = {"tool_name": seal("mcp__github__create_pull_request"), "tool_use_id": "p1"}
    session.add("assistant", "tool_use", "title: Better gates", **call)
    session.add("tool", "tool_result", f'{{"id": "3314404826", "url": "{address}"}}', **call)
    merged = shop.commit("Better gates (#43)", later=7200)
    assert session.claims()[merged].evidence == Evidence.PULL_REQUEST


def test_a_pr_link_of_the_agent_links_but_opens_nothing(shop: Workshop, session: Session) -> None:
    """The pull request is named, its merge is not claimed."""
    address = "https://github.com/mara/shop/pull/7"
    session.add("system", "attachment", address, subtype="pr-link")
    merged = shop.commit("Something (#7)", later=60)
    assert list(session.claims()) == [address]
    assert merged not in session.claims()


def test_better_evidence_of_another_session_outweighs_lines(
    shop: Workshop, session: Session, other: Any
) -> None:
    """Who typed most of the lines is not named beside the one who committed them."""
    session.write("src/gates.py", *LINES)

    def act() -> str:
        shop.git("add", "--all")
        return shop.git("commit", "-m", "All of it")

    other.run("git add -A && git commit -m 'All of it'", act)

    rows = [(one.sha, str(one.evidence), "first") for one in session.claims().values()]
    rows += [(one.sha, str(one.evidence), "other") for one in other.claims().values()]
    assert {name for _, _, name in rows} == {"first", "other"}
    assert without_contested_guesses(rows) == ["other"]


def test_only_what_an_edit_wrote_counts_as_written(session: Session) -> None:
    """Not what it replaced, and no line that could stand anywhere."""
    text = (
        "file_path: a.py\nold_string:\nreplaced = compute_the_old_thing()\nnew_string:\n"
        "    written = compute_the_new_thing()\n}\n\nreplace_all: false"
    )
    session.add(
        "assistant", "tool_use", text, tool_name=seal("Edit"), tool_use_id="e",
        paths=(seal("a.py"),),
    )  # fmt: skip
    (written,) = session.work().written
    assert written.lines == {"written = compute_the_new_thing()"}


def test_the_added_lines_of_a_patch_count_as_written(session: Session) -> None:
    """For each file that it names."""
    patch = (
        "*** Begin Patch\n*** Update File: src/a.py\n@@\n-gone = 'an old line of it'\n"
        "+fresh = 'a new line of it'\n*** End Patch"
    )
    session.add("assistant", "tool_use", patch, tool_name=seal("apply_patch"), tool_use_id="p")
    (written,) = session.work().written
    assert (written.path, written.lines) == (
        seal("src/a.py"),
        frozenset({"fresh = 'a new line of it'"}),
    )


def test_a_call_that_failed_wrote_nothing(session: Session) -> None:
    """Rejected by the human, or stale."""
    more = {"tool_name": seal("Edit"), "tool_use_id": "e", "paths": (seal("a.py"),)}
    session.add("assistant", "tool_use", "new_string: a_line_of_code()", **more)
    session.add("tool", "tool_result", "rejected", is_error=True, **more)
    assert session.work().written == []


@sweep(
    "path, cwd, asked, same",
    [
        ("/home/mara/shop/src/a.py", "/home/mara/shop", "src/a.py", True),
        ("/home/mara/shop/lib/src/a.py", "/home/mara/shop", "src/a.py", False),
        ("~/shop/src/a.py", "~/shop", "src/a.py", True),
        ("/worktrees/shop-2/src/a.py", "/worktrees/shop-2", "src/a.py", True),
        ("/elsewhere/a.py", "/home/mara/shop", "a.py", False),
        ("src/a.py", "/home/mara/shop", "src/a.py", True),
        ("a.py", "/home/mara/shop/src", "src/a.py", True),
        ("b.py", "/home/mara/shop", "src/a.py", False),
    ],
)
def test_paths_are_matched_by_their_end_with_care(
    path: str, cwd: str, asked: str, same: bool
) -> None:
    """Below a known root exactly; from elsewhere only with a directory."""
    written = Written(Turn("s1", 0, None, ()), seal(path), seal(cwd), None, frozenset())
    root = "~/shop" if path.startswith("~") else "/home/mara/shop"
    assert same_file(written, root, asked) is same


@pytest.mark.parametrize("line", ["}", "", "else:", "    return None", "+ ]);"])
def test_lines_that_stand_in_any_file_tell_nothing(line: str) -> None:
    """Fewer than eight letters and digits, or a bare `return`."""
    assert telling_line(line) == "" or line.strip() == "return None"


BENCHMARK = Path(__file__).parent.parent.parent / "benchmarks" / "commits.py"


@pytest.mark.long  # each deed is tried in test_attribution.py
def test_precision_on_a_repository_made_for_it() -> None:
    """At least .95 of the claims are right, and .9 of what should be claimed is, in a world in
    which each deed of the benchmark is done at least once."""
    done = run_program(
        [sys.executable, str(BENCHMARK), "--sessions", "6", "--seeds", "1", "--json"]
    )
    told = json.loads(done.stdout)
    assert told["precision"] >= 0.95
    assert told["recall"] >= 0.9
    assert sum(told["counts"]["all"].values()) > 60
