"""Pi: sessions of formats 1 to 3, the layouts of its directories, runs of subagents, branches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memory_assets.models import ABANDONED, PROGRAM, Record
from memory_assets.paths import transcript_roots
from memory_assets.transcripts import Source, discover, read_session
from memory_assets_tests.sweep import sweep
from memory_assets_tests.transcripts.conftest import Builders, PiLines, Read


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_conversation_reads_the_same_in_every_version(
    build: Builders, read: Read, version: int
) -> None:
    """Prompts, prose, calls and results are found with and without entry ids."""
    pi = build.pi(version=version)
    pi.header()
    pi.prompt("fix it")
    blocks = [
        {"type": "thinking", "thinking": "hm", "thinkingSignature": "AAAA"},
        {"type": "text", "text": "looking"},
        {"type": "toolCall", "id": "t1|blob==", "name": "read", "arguments": {"path": "a.py"}},
        {"type": "toolCall", "id": "t2", "name": "bash", "arguments": {"command": "make"}},
    ]
    pi.message("assistant", blocks, model="gpt-5-mini", stopReason="toolUse", responseId="r1")
    done = [{"type": "text", "text": "x = 1"}]
    pi.message("toolResult", done, toolCallId="t1|blob==", toolName="read", isError=False)
    pi.message("toolResult", done, toolCallId="t2", toolName="bash", isError=True)
    found = read(pi, f"2026-03-01T09-00-00-000Z_{build.session}.jsonl")
    assert found.said == ["fix it"]
    assert found.kinds == [
        "prompt",
        "thinking",
        "assistant_text",
        "tool_use",
        "tool_use",
        "tool_result",
        "tool_result",
    ]
    first, second = found.records[-2:]
    assert (first.tool_use_id, first.tool_name, first.paths) == ("t1", "read", ("a.py",))
    assert (second.command, second.is_error) == ("make", True)
    assert {record.session_id for record in found.records} == {build.session}
    assert found.records[1].model == "gpt-5-mini"
    assert found.records[1].message_id == "r1"
    assert found.report.agent_versions == {f"v{version}"}
    assert found.report.first_cwd == found.records[0].cwd == "/home/ada/engine"


def test_a_humans_shell_command_is_a_call_and_its_result(pi: PiLines, read: Read) -> None:
    """`!cmd` is kept as what ran and what it printed, and is no prompt."""
    pi.message("bashExecution", command="ls", output="a.py\n", exitCode=1, cancelled=False)
    call, result = read(pi).records
    assert (call.kind, call.role, call.command) == ("tool_use", "user", "ls")
    assert (result.kind, result.text, result.is_error) == ("tool_result", "a.py\n", True)


def test_summaries_titles_and_injected_texts_have_their_kinds(pi: PiLines, read: Read) -> None:
    """Compactions, branch summaries, names and extension messages are no one's words."""
    pi.entry("compaction", summary="# So far", tokensBefore=9, firstKeptEntryId="x")
    pi.entry("branch_summary", summary="Went astray")
    pi.entry("session_info", name="Setup script")
    pi.entry("session_info", name="Setup script")
    pi.entry("custom_message", content="be kind", customType="x")
    pi.message("custom", "and brief")
    pi.entry("custom", data={})
    pi.entry("model_change", modelId="m")
    found = read(pi)
    assert [(record.kind, record.subtype) for record in found.records] == [
        ("summary", "compact-summary"),
        ("summary", "branch-summary"),
        ("title", "session-name"),
        ("system", "injected"),
        ("system", "injected"),
    ]
    assert found.report.dropped == {"session-header": 1, "repeated": 1, "session-state": 2}


def test_errors_and_aborts_are_system_records(pi: PiLines, read: Read) -> None:
    """What the provider answered instead of a message is kept beside what it said."""
    pi.message("assistant", [], stopReason="error", errorMessage="429 slow down")
    part = [{"type": "text", "text": "I was"}]
    pi.message("assistant", part, stopReason="aborted", errorMessage="Request was aborted")
    assert [(record.subtype, record.is_error) for record in read(pi).records] == [
        ("api-error", True),
        ("", False),
        ("interrupt", False),
    ]


def test_an_entry_names_the_one_above_it(pi: PiLines, read: Read) -> None:
    """Two branches have the same one."""
    pi.prompt("one")
    pi.prompt("two, then undone")
    pi.entry("message", parentId="00000001", message={"role": "user", "content": "two"})
    first, second, third = read(pi).prompts
    assert second.parent_uuid == third.parent_uuid == first.record_uuid


@pytest.mark.parametrize("version", [1, 3])
def test_a_fork_keeps_ids_and_names_its_origin(build: Builders, read: Read, version: int) -> None:
    """Copied entries have the ids that they had, and are counted."""
    original = build.pi(version=version)
    original.header()
    original.prompt("one")
    fork = build.pi(version=version, lines=list(original.lines))
    origin = "/home/ada/.pi/agent/sessions/--x--/2026-03-01T09-00-00-000Z_abc-1.jsonl"
    field = "branchedFrom" if version == 1 else "parentSession"
    header = fork.header(**{field: origin})
    fork.lines = [fork.lines[-1], fork.lines[1]]
    assert header["timestamp"] > "2026-03-01T09:00:01"
    fork.prompt("two")
    first, forked = read(original), read(fork)
    assert forked.prompts[0].record_uuid == first.prompts[0].record_uuid
    assert forked.report.parent_session == "abc-1"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('<file name="/x/a.py">\nx = 1\n</file>\nexplain', "@/x/a.py\nexplain"),
        (
            '<skill name="brave" location="/s">\nlong\n</skill>\n\nsearch cats',
            "/skill:brave search cats",
        ),
        ("why <b>bold</b>?", "why <b>bold</b>?"),
    ],
)
def test_files_and_skills_put_into_a_prompt_are_named_only(
    pi: PiLines, read: Read, text: str, said: str
) -> None:
    """Pi puts in whole what the human only named."""
    pi.prompt(text)
    assert read(pi).said == [said]


def test_times_come_from_the_message_where_the_entry_has_none(pi: PiLines, read: Read) -> None:
    """message.timestamp is in Unix milliseconds."""
    message = {"role": "user", "content": "hi", "timestamp": 1763681581544}
    pi.entry("message", timestamp=None, message=message)
    [record] = read(pi).records
    assert record.timestamp and record.timestamp.isoformat() == "2025-11-20T23:33:01.544000+00:00"


def test_unknown_entries_and_roles_are_counted(pi: PiLines, read: Read) -> None:
    """New entry types, roles and blocks are left out and named."""
    pi.entry("telepathy")
    pi.message("oracle", "x")
    pi.message("assistant", [{"type": "new_block"}])
    assert read(pi).report.unknown_types == {
        "telepathy": 1,
        "message/oracle": 1,
        "assistant/new_block": 1,
    }


@pytest.mark.parametrize("version", [1, 3])
def test_an_entry_that_is_written_again_is_one(build: Builders, read: Read, version: int) -> None:
    """A copy of an entry has its id, so it is counted and no further record."""
    pi = build.pi(version=version)
    pi.header()
    typed = pi.prompt("use make -j")
    for _ in range(4):
        pi.add(**typed)
    pi.prompt("use make -j")
    found = read(pi)
    assert found.said == ["use make -j"] * 2
    assert len({record.record_uuid for record in found.prompts}) == 2
    assert found.report.dropped["duplicate-uuid"] == 4


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


@sweep(
    "entries, abandoned",
    [
        # The last entry is the end of the branch that counts.
        (
            "a1<- SQLite?, a2<-a1 yes, a3<-a2 go on, a4<-a3 done, a5<-a2 no, a6<-a5 JSON",
            "go on|done",
        ),
        # A branch may be taken up again; a first prompt may be said anew.
        ("a1<- one, b1<- two, b2<-b1 three, b3<-b1 four, b4<-b2 five", "one|four"),
        # An entry that was lost is no branch.
        ("a1<- one, a2<-a1 two, a4<-a3 after the gap, a5<-a4 astray, a6<-a4 on", "astray"),
    ],
)
def test_what_was_said_on_an_abandoned_branch_is_marked(
    tmp_path: Path, entries: str, abandoned: str
) -> None:
    """`a2<-a1 yes` is an entry, the one above it, and its text."""
    lines = [(*entry.partition(" ")[0].split("<-"), entry) for entry in entries.split(", ")]
    tree = [(own, above or None, "user", entry.split(" ", 1)[1]) for own, above, entry in lines]
    write(tmp_path / "sessions" / f"{STEM}.jsonl", *tree)
    (source,) = sources(tmp_path)
    marked = [record.text for record in read(source) if record.subtype == ABANDONED]
    assert (len(read(source)), "|".join(marked)) == (len(tree), abandoned)
