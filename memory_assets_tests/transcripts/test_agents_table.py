"""The table in docs/agents.md: each cell says what the readers do with what the agents write.

Places, variables and the command that resumes are held to the code in `test_agents.py`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from memory_assets.agents import AGENTS
from memory_assets.settings import load_settings
from memory_assets.tool_names import kind_of_tool
from memory_assets.transcripts import Source, discover, read_session, reader_of
from memory_assets.transcripts.readers.specstory import _framed
from memory_assets.transcripts.session import call_of
from memory_assets_tests.test_agents import ROWS
from memory_assets_tests.transcripts import agent_files
from memory_assets_tests.transcripts.agent_homes import furnish
from memory_assets_tests.transcripts.other_agents import LINES
from memory_assets_tests.transcripts.test_agent_samples import ROOTS

rows = pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0].strip("`"))
SHIPPED = "the sample that ships with the package"
VERSIONS: dict[str, dict[str, str]] = {
    "claude-code": {"1.0.x to 2.1.x": SHIPPED},
    "codex": {"0.2x to 0.14x": SHIPPED},
    "pi": {"formats 1 to 3": SHIPPED},
    "copilot-cli": {"1.0.64 to 1.0.71": "copilot-cli/.copilot/session-state"},
    "gemini": {
        "documents (2025)": "GeminiDocument",
        "logs (April 2026)": "gemini/jsonl/.gemini/tmp",
    },
    "qwen": {"0.18": "qwen/.qwen"},
    "droid": {"format 2": "droid/.factory"},
    "openclaw": {"Pi's format 3": "openclaw/.openclaw"},
    "cowork": {"Claude Code's": "cowork/.config/Claude/local-agent-mode-sessions"},
    "opencode": {
        "1.0 to 1.1 (files)": "OpenCodeTree",
        "1.2 and later (database)": "OpenCode",
        "exports": "opencode/export",
    },
    "kilo": {"tasks of the editor": "KiloTasks", "the database since April 2026": "Kilo"},
    "crush": {"databases of 2026": "Crush"},
    "goose": {"schemas up to 15": "Goose", "files of lines of 2025": "goose/.local/share/goose"},
    "hermes": {"databases of 2026": "Hermes"},
    "zed": {"threads 0.1 to 0.3.0": "Zed"},
    "vscode-copilot": {
        "documents (version 3)": "VsCode",
        "logs of operations (1.109)": "VsCodeLog",
    },
    "cursor": {
        "databases since November 2024": "Cursor",
        "chats of the command line": "CursorChat",
        "transcripts since 2025": "cursor/agent/.cursor",
    },
    "cline": {"tasks of the editor": "Cline", "sessions of CLI 3": "ClineProgram"},
    "roo": {"March 2025 to May 2026": "Roo"},
    "atif": {"1.0 to 1.8": "Atif"},
    "aider": {"0.86": "Aider"},
    "specstory": {"texts of 2025": "specstory", "2.1": "SpecStory"},
}
"""Generations of formats, and where each is read: a directory of the samples, all of whose figures
are held to in `test_agent_samples.py`, or a store of `agent_files.py`."""

_AS = {"openclaw": "pi", "cowork": "claude-code"}
"""Agents whose sessions another agent's reader reads."""
EDITS: dict[str, tuple[str, dict[str, Any]]] = {
    "openclaw": ("edit", {"path": "shop.py", "oldText": "x", "newText": "y"}),
    "cowork": ("Edit", {"file_path": "shop.py", "old_string": "x", "new_string": "y"}),
    "gemini": ("replace", {"file_path": "shop.py", "old_string": "x", "new_string": "y"}),
    "opencode": ("edit", {"filePath": "shop.py", "oldString": "x", "newString": "y"}),
    "kilo": ("apply_patch", {"patchText": "*** Update File: shop.py\n-x\n+y"}),
    "crush": ("multiedit", {"file_path": "shop.py", "edits": []}),
    "goose": ("developer__text_editor", {"command": "str_replace", "path": "shop.py"}),
    "hermes": ("patch", {"path": "shop.py", "old_string": "x", "new_string": "y"}),
    "zed": ("edit_file", {"path": "shop.py", "mode": "edit"}),
    "vscode-copilot": ("copilot_replaceString", {"filePath": "shop.py", "oldString": "x"}),
    "cursor": ("search_replace", {"file_path": "shop.py", "old_string": "x"}),
    "cline": ("replace_in_file", {"path": "shop.py", "diff": "x"}),
    "roo": ("apply_diff", {"path": "shop.py", "diff": "x"}),
    "atif": ("str_replace_editor", {"path": "shop.py", "old_str": "x"}),
}
"""How agents change a file, of those whose fixtures run a command alone."""


@pytest.fixture(scope="module")
def taken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Counter[str]]:
    """What is taken from a session of every agent: counts by agent."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        furnish(home)
        roots = load_settings(roots=f"aider={home}/code,specstory={home}/code").transcript_roots()
    told: dict[str, Counter[str]] = defaultdict(Counter)
    for source in discover(roots):
        for record in read_session(source.path, source=source):
            is_call = record.kind == "tool_use"
            writes = is_call and kind_of_tool(record.tool_name) == "write" and bool(record.paths)
            is_answered = record.kind == "tool_result"
            counts = {"prompts": record.kind == "prompt", "tools": is_answered, "edits": writes}
            told[source.agent].update({**counts, "tokens": any(record.tokens)})
    return told


@rows
def test_versions_are_those_of_samples_and_fixtures(row: list[str]) -> None:
    """Each that the cell names is read somewhere in the tests."""
    agent = row[0].strip("`")
    named = VERSIONS[agent]
    rest = row[2]
    for phrase, place in named.items():
        assert phrase in rest
        rest = rest.replace(phrase, "", 1)
        store: Any = getattr(agent_files, place, None)
        assert place == SHIPPED or ROOTS.get(place) == agent or store.agent == agent
    assert rest.replace("and", "").strip(" ,") == ""


@rows
def test_what_is_taken_is_what_the_table_says(
    row: list[str], taken: dict[str, Counter[str]]
) -> None:
    """Prompts, tools, edits and tokens."""
    agent = row[0].strip("`")
    prompts, tools, edits, tokens = row[3:7]
    counts = taken[agent]
    assert (prompts == "yes") == (counts["prompts"] > 0)
    assert tools == ("yes" if (counts + taken[_AS.get(agent, agent)])["tools"] else "no")
    assert (tokens == "yes") == ((counts + taken[_AS.get(agent, agent)])["tokens"] > 0)
    if agent in EDITS:
        call = call_of(*EDITS[agent])
        assert (kind_of_tool(call.tool_name), call.paths) == ("write", ("shop.py",))
    elif agent == "specstory":
        part = _framed("Tool use: **Edit**\n\nEdit file: `./shop.py`\n")
        assert (part["name"], part["given"]) == ("Edit", "Edit file: `./shop.py`")
    else:
        assert counts["edits"] > 0
    assert edits == ("paths" if agent in ("aider", "specstory") else "yes")


def test_every_agent_is_tried_as_it_grows() -> None:
    """The tests of stores and of lines try growth, changes in place, deletion and a writer that
    writes meanwhile, those of Claude Code, Codex and Pi have files of their own."""
    tried = {store.agent for store in agent_files.STORES} | LINES.keys()  # type: ignore[attr-defined]
    assert tried | {"claude-code", "codex", "pi"} == set(AGENTS)
    for row in ROWS:
        by_minute = AGENTS[row[0].strip("`")].in_projects
        assert row[8] == ("within a minute" if by_minute else "yes")


def test_a_source_of_every_agent_says_its_state(tmp_path: Path) -> None:
    """At the cost of a `stat`, or of one question of a database that changed."""
    furnish(Path.home())
    code = Path.home() / "code"
    roots = load_settings(roots=f"aider={code},specstory={code}").transcript_roots()
    sources: list[Source] = list(discover(roots))
    assert {source.agent for source in sources} == set(AGENTS)
    for source in sources:
        assert reader_of(source).state(source) == (source.size, source.mtime_ns)
