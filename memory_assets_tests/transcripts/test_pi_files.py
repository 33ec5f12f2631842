"""Pi's files: the layouts of its directories, runs of subagents, branches in one file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memory_assets.models import ABANDONED, PROGRAM, Record
from memory_assets.paths import transcript_roots
from memory_assets.transcripts import Source, discover, read_session

SESSION = "019f1111-0000-7000-8000-000000000001"
RUN = "019f1111-0000-7000-8000-0000000000aa"
STEM = f"2026-08-13T09-00-00-000Z_{SESSION}"


def write(path: Path, *entries: tuple[str, str | None, str, str], **header: Any) -> Path:
    """Write a session of entries (id, parent, role, text), a minute apart."""
    first = {"type": "session", "version": 3, "id": SESSION, "cwd": "/home/ada/shop"}
    lines = [first | {"timestamp": "2026-08-13T09:00:00.000Z"} | header]
    for place, (entry_id, parent, role, text) in enumerate(entries, 1):
        message = {"role": role, "content": [{"type": "text", "text": text}]}
        stamp = f"2026-08-13T09:{place:02}:00.000Z"
        entry = {"type": "message", "id": entry_id, "parentId": parent, "timestamp": stamp}
        lines.append(entry | {"message": message})
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


def sources(root: Path) -> list[Source]:
    """Return the sources in a directory of Pi's."""
    return list(discover({"pi": (root,)}))


def read(source: Source) -> list[Record]:
    """Return the records of a source."""
    return list(read_session(source.path, source=source, end=source.size))


ONE = ("a1", None, "user", "fix it")


@pytest.mark.parametrize(
    ("place", "variables"),
    [
        ("moved/sessions/--shop--", {"PI_CODING_AGENT_DIR": "moved"}),
        ("flat", {"PI_CODING_AGENT_SESSION_DIR": "flat"}),
        ("flat/--shop--", {"PI_CODING_AGENT_SESSION_DIR": "flat", "PI_CODING_AGENT_DIR": "x"}),
        ("own", {"PI_CODING_AGENT_DIR": "with-settings"}),
        ("home/.pi/agent/sessions/--shop--", {"PI_CODING_AGENT_DIR": ""}),
        ("home/elsewhere", {"PI_CODING_AGENT_SESSION_DIR": "~/elsewhere"}),
    ],
)
def test_pi_is_read_from_where_its_variables_and_settings_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, variables: dict[str, str]
) -> None:
    """In directories of projects, or flat; the directory of sessions counts most."""
    settings = tmp_path / "with-settings" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"sessionDir": str(tmp_path / "own")}))
    write(tmp_path / place / f"{STEM}.jsonl", ONE)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        named = value if value[:1] in ("", "~") else str(tmp_path / value)
        monkeypatch.setenv(name, named)
    roots = transcript_roots({}, ("claude-code", "codex", "pi"))
    (source,) = discover(roots)
    assert (source.agent, source.project) == ("pi", "-home-ada-shop")
    assert source.session_id == SESSION


def test_settings_of_pi_that_cannot_be_read_name_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are Pi's to complain about."""
    home = tmp_path / ".pi" / "agent"
    write(home / "sessions" / "--shop--" / f"{STEM}.jsonl", ONE)
    monkeypatch.setenv("HOME", str(tmp_path))
    for text in ("{", "[]", '{"sessionDir": 3}', '{"sessionDir": " "}'):
        (home / "settings.json").write_text(text)
        assert transcript_roots({}, ("pi",)) == {"pi": (tmp_path / ".pi",)}


@pytest.mark.parametrize("runs", [("1faf1a98/run-0",), ("1faf/run-0", "1faf/run-1", "2b/run-0")])
@pytest.mark.parametrize("project", ["--home-ada-shop--", "."])
def test_runs_of_subagents_belong_to_the_session_beside_them(
    tmp_path: Path, runs: tuple[str, ...], project: str
) -> None:
    """Each is a subagent, with the session's project, and its prompts are an agent's."""
    folder = tmp_path / "sessions" / project
    write(folder / f"{STEM}.jsonl", ONE)
    for place, run in enumerate(runs):
        work = ("a1", None, "user", "Task: review"), ("a2", "a1", "assistant", f"line {place}")
        own = f"{RUN[:-1]}{place}"
        write(folder / STEM / run / "session.jsonl", *work, id=own, cwd="/tmp/worktree")
    found = sources(tmp_path)
    assert {(one.session_id, one.project) for one in found} == {(SESSION, "-home-ada-shop")}
    agents = {one.agent_id for one in found}
    assert agents == {None, *(f"{RUN[:-1]}{place}" for place in range(len(runs)))}
    of_runs = [record for one in found if one.agent_id for record in read(one)]
    assert [record.subtype for record in of_runs] == ["agent-prompt", ""] * len(runs)


def test_what_a_run_was_asked_that_lies_beside_no_session_no_person_typed(tmp_path: Path) -> None:
    """An extension may be told to keep all runs in one directory; a person's session is none."""
    task = [("a1", None, "user", "Map the quay."), ("a2", "a1", "assistant", "It is long.")]
    write(tmp_path / "subagent" / "1faf1a98" / "run-0" / "session.jsonl", *task, id=RUN)
    write(tmp_path / "--home-ada-shop--" / f"{STEM}.jsonl", *task)
    asked = {
        source.session_id: [each.subtype for each in read(source) if each.kind == "prompt"]
        for source in sources(tmp_path)
    }
    assert asked == {RUN: [PROGRAM], SESSION: [""]}


def test_a_forked_subagent_does_not_repeat_the_conversation(tmp_path: Path) -> None:
    """What it was given of its session has been read there."""
    folder = tmp_path / "sessions" / "--shop--"
    main = write(folder / f"{STEM}.jsonl", ONE, ("a2", "a1", "assistant", "on it"))
    entries = [ONE, ("a2", "a1", "assistant", "on it"), ("a3", "a2", "user", "Task: review")]
    run = folder / STEM / "1faf1a98" / "run-0" / "session.jsonl"
    began = "2026-08-13T09:02:30.000Z"
    write(run, *entries, id=RUN, timestamp=began, parentSession=str(main))
    (of_run,) = (one for one in sources(tmp_path) if one.agent_id)
    assert [record.text for record in read(of_run)] == ["Task: review"]


def branches(tmp_path: Path, *entries: tuple[str, str | None, str, str]) -> list[tuple[str, bool]]:
    """Return the texts of a session with these entries, and whether each is abandoned."""
    write(tmp_path / "sessions" / f"{STEM}.jsonl", *entries)
    (source,) = sources(tmp_path)
    return [(record.text, record.subtype == ABANDONED) for record in read(source)]


def test_what_was_said_on_an_abandoned_branch_is_marked(tmp_path: Path) -> None:
    """The last entry is the end of the branch that counts."""
    assert branches(
        tmp_path,
        ("a1", None, "user", "SQLite or JSON?"),
        ("a2", "a1", "assistant", "SQLite"),
        ("a3", "a2", "user", "go with SQLite"),
        ("a4", "a3", "assistant", "decided on SQLite"),
        ("a5", "a2", "user", "no, JSON"),
        ("a6", "a5", "assistant", "decided on JSON"),
    ) == [
        ("SQLite or JSON?", False),
        ("SQLite", False),
        ("go with SQLite", True),
        ("decided on SQLite", True),
        ("no, JSON", False),
        ("decided on JSON", False),
    ]


def test_a_branch_that_is_taken_up_again_counts(tmp_path: Path) -> None:
    """Then the other one is abandoned; so is a first prompt that was said anew."""
    marked = branches(
        tmp_path,
        ("a1", None, "user", "one"),
        ("b1", None, "user", "two"),
        ("b2", "b1", "user", "three"),
        ("b3", "b1", "user", "four"),
        ("b4", "b2", "user", "five"),
    )
    assert [text for text, abandoned in marked if abandoned] == ["one", "four"]


def test_nothing_before_a_gap_counts_as_abandoned(tmp_path: Path) -> None:
    """An entry that was lost is no branch."""
    marked = branches(
        tmp_path,
        ("a1", None, "user", "one"),
        ("a2", "a1", "user", "two"),
        ("a4", "a3", "user", "after the gap"),
        ("a5", "a4", "user", "astray"),
        ("a6", "a4", "user", "on"),
    )
    assert [text for text, abandoned in marked if abandoned] == ["astray"]
