"""What is known of each agent: its places on each platform, and the table in docs/agents.md."""

from __future__ import annotations

import json
import os
import re
import sys
from contextlib import closing
from pathlib import Path

import pytest

from memory_assets.agents import AGENTS
from memory_assets.errors import ConfigurationError
from memory_assets.paths import own_places
from memory_assets.settings import load_settings
from memory_assets.tool_names import kind_of_tool
from memory_assets.transcripts import READERS, Unlisted, discover
from memory_assets_tests.command_line import run_code
from memory_assets_tests.sweep import sweep
from memory_assets_tests.transcripts.agent_databases import Cursor, Kilo, OpenCode, Store
from memory_assets_tests.transcripts.agent_homes import furnish

ROOT = Path(__file__).resolve().parent.parent
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (ROOT / "docs" / "agents.md").read_text().splitlines()
    if line.startswith("| `")
]


def test_each_agent_has_a_row() -> None:
    """And no other one has."""
    names = [row[0].strip("`") for row in ROWS]
    assert sorted(names) == sorted(AGENTS)
    assert {reader.agent for reader in READERS} == set(AGENTS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0].strip("`"))
def test_a_row_has_places_variables_and_the_command(row: list[str]) -> None:
    """As the code has them."""
    agent = AGENTS[row[0].strip("`")]
    places, _, variables = row[1].partition(";")
    assert tuple(re.findall(r"`([^`]+)`", places)) == agent.places
    assert re.findall(r"`([^`]+)`", variables) == [each.name for each in agent.variables]
    command = " ".join(agent.resume).format(session="ID", path="FILE")
    assert row[7] == (f"`{command}`" if command else "no")


@pytest.mark.parametrize(
    ("platform", "agent", "place"),
    [
        ("linux", "cowork", "{home}/.config/Claude/local-agent-mode-sessions"),
        ("darwin", "cowork", "{home}/Library/Application Support/Claude/local-agent-mode-sessions"),
        ("win32", "cowork", "{roaming}/Claude/local-agent-mode-sessions"),
        ("linux", "cursor", "{home}/.config/Cursor/User"),
        ("darwin", "cursor", "{home}/Library/Application Support/Cursor/User"),
        ("win32", "cursor", "{roaming}/Cursor/User"),
        ("linux", "vscode-copilot", "{home}/.config/Code - Insiders/User"),
        ("linux", "vscode-copilot", "{home}/.vscode-server/data/User"),
        ("win32", "vscode-copilot", "{roaming}/VSCodium/User"),
        (
            "darwin",
            "roo",
            "{home}/.cursor-server/data/User/globalStorage/rooveterinaryinc.roo-cline",
        ),
        ("win32", "opencode", "{home}/.local/share/opencode"),
        ("linux", "goose", "{home}/.local/share/goose/sessions"),
        ("win32", "goose", "{roaming}/Block/goose/data/sessions"),
        ("win32", "zed", "{local}/Zed"),
        ("darwin", "gemini", "{home}/.gemini/tmp"),
    ],
)
def test_places_are_those_of_the_platform(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, platform: str, agent: str, place: str
) -> None:
    """On Linux, macOS and Windows."""
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setenv("APPDATA", str(tmp_path / "roaming"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    folders = {"roaming": tmp_path / "roaming", "local": tmp_path / "local"}
    assert Path(place.format(home=Path.home(), **folders)) in own_places(agent)


def test_a_platform_has_no_places_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a directory of Windows is not known, nothing stands in for it."""
    monkeypatch.setattr(sys, "platform", "linux")
    assert own_places("goose") == (Path.home() / ".local/share/goose/sessions",)


@pytest.mark.parametrize(
    ("variable", "agent", "below"),
    [
        ("CLAUDE_CONFIG_DIR", "claude-code", "projects"),
        ("CODEX_HOME", "codex", ""),
        ("COPILOT_HOME", "copilot-cli", "session-state"),
        ("GEMINI_CLI_HOME", "gemini", ".gemini/tmp"),
        ("QWEN_HOME", "qwen", "projects"),
        ("CURSOR_CONFIG_DIR", "cursor", "projects"),
        ("XDG_DATA_HOME", "opencode", "opencode"),
        ("GOOSE_PATH_ROOT", "goose", "data/sessions"),
        ("CRUSH_GLOBAL_DATA", "crush", ""),
        ("HERMES_HOME", "hermes", ""),
        ("CLINE_DIR", "cline", "data"),
        ("CLINE_DATA_DIR", "cline", ""),
        ("CLINE_SESSION_DATA_DIR", "cline", ""),
        ("OPENCLAW_STATE_DIR", "openclaw", "agents"),
        ("VSCODE_PORTABLE", "vscode-copilot", "user-data/User"),
    ],
)
def test_the_agents_own_variables_move_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, agent: str, below: str
) -> None:
    """As the agents themselves understand them."""
    (tmp_path / "moved" / below).mkdir(parents=True)
    monkeypatch.setenv(variable, str(tmp_path / "moved"))
    assert load_settings().transcript_roots() == {agent: (tmp_path / "moved" / below,)}


@pytest.mark.parametrize(("agent", "make"), [("opencode", OpenCode), ("kilo", Kilo)])
def test_a_database_that_a_variable_names_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agent: str, make: type[Store]
) -> None:
    """In whatever directory and by whatever name; no other database there is opened."""
    store = make(tmp_path / "moved", wal=False)
    store.say("Why?", "Because.")
    (tmp_path / "moved" / "other.db").write_bytes(b"not to be read")
    own = store.path.rename(store.path.with_name("mine.sqlite"))
    monkeypatch.setenv(f"{agent.upper()}_DB", str(own))
    roots = load_settings().transcript_roots()
    assert roots == {agent: (tmp_path / "moved",)}
    unlisted: list[Unlisted] = []
    assert [source.path for source in discover(roots, note=unlisted.append)] == [own]
    assert unlisted == []
    monkeypatch.setenv(f"{agent.upper()}_DB", ":memory:")
    assert agent not in load_settings().transcript_roots()


def test_an_agent_can_be_left_out_by_its_name() -> None:
    """With a dash before it all others are read; names are spelled as one likes."""
    for name in ("qwen", "droid"):
        (Path.home() / AGENTS[name].places[0].removeprefix("~/")).mkdir(parents=True)
    assert load_settings().transcript_roots().keys() == {"qwen", "droid"}
    assert load_settings(agents="-qwen").transcript_roots().keys() == {"droid"}
    assert load_settings(agents="-Qwen,-droid").transcript_roots() == {}
    assert load_settings(agents="qwen").transcript_roots().keys() == {"qwen"}
    with pytest.raises(ConfigurationError, match="unknown agent"):
        load_settings(agents="-emacs")


def test_a_directory_can_be_named_for_any_agent(tmp_path: Path) -> None:
    """In place of the agent's own; the others are read where they are."""
    (Path.home() / ".qwen" / "projects").mkdir(parents=True)
    (Path.home() / ".factory" / "sessions").mkdir(parents=True)
    settings = load_settings(roots=f"qwen={tmp_path / 'moved'},atif={tmp_path / 'runs'}")
    assert settings.transcript_roots() == {
        "qwen": (tmp_path / "moved",),
        "droid": (Path.home() / ".factory" / "sessions",),
        "atif": (tmp_path / "runs",),
    }
    with pytest.raises(ConfigurationError, match="unknown agent"):
        load_settings(roots=f"emacs={tmp_path}")


@sweep(
    "name, kind",
    [
        ("Edit", "write"),
        ("StrReplace", "write"),
        ("apply_patch", "write"),
        ("developer__text_editor", "write"),
        ("copilot_replaceString", "write"),
        ("replace_string_in_file", "write"),
        ("Shell", "shell"),
        ("container.exec", "shell"),
        ("run_in_terminal", "shell"),
        ("run_shell_command", "shell"),
        ("Execute", "shell"),
        ("read_many_files", "read"),
        ("view", "read"),
        ("search_file_content", "search"),
        ("LS", "list"),
        ("think", ""),
    ],
)
def test_tools_of_all_agents_are_in_one_table(name: str, kind: str) -> None:
    """By their last name, in any case."""
    assert kind_of_tool(name) == kind


def test_first_run_finds_every_agent_in_its_place(tmp_path: Path) -> None:
    """And nothing of those that keep texts in projects, before the user names a directory."""
    furnish(Path.home())
    named = {"aider", "specstory"}
    found = {source.agent for source in discover(load_settings().transcript_roots())}
    assert found == set(AGENTS) - named
    code = Path.home() / "code"
    roots = load_settings(roots=f"aider={code},specstory={code}").transcript_roots()
    assert {source.agent for source in discover(roots)} == set(AGENTS)


_OPENED = """
import json, sys
from pathlib import Path
opened = []
sys.addaudithook(
    lambda event, given: opened.append(str(given[0])) if event in ("open", "sqlite3.connect") else 0
)
from memory_assets.settings import load_settings
from memory_assets.transcripts import discover, read_session
texts = []
for source in discover(load_settings(roots=sys.argv[1]).transcript_roots()):
    texts += [each.text for each in read_session(source.path, source=source)]
print(json.dumps([opened, texts]))
"""
SECRETS = (
    *("auth.json", "oauth_creds.json", "google_accounts.json", "credentials.json", "secrets.json"),
    *("mcp.json", "mcp_settings.json", "cline_mcp_settings.json", "mcp-oauth-tokens.json", ".env"),
    *(".credentials.json", "config.json", "settings.local.json", "id_ed25519", "session.key"),
)


def test_secrets_beside_transcripts_are_never_opened() -> None:
    """Files with tokens in every directory of every agent, the programs' own tokens in Cursor's
    database and what OpenCode shares sessions with: a process that reads all sessions opens none
    of these files, and returns nothing of those rows."""
    rows: dict[type[Store], str] = {
        Cursor: "INSERT INTO ItemTable VALUES('cursorAuth/refreshToken', 'hunter2')",
        OpenCode: "INSERT INTO session_share VALUES('s', 'i', 'hunter2', 'u')",
    }
    for store in furnish(Path.home()):
        if type(store) in rows:
            with closing(store.open()) as database:
                database.execute(rows[type(store)])
                database.commit()
    homes = [Path(folder) for folder, _, _ in os.walk(Path.home())]
    for folder in homes:
        for name in SECRETS:
            if not (folder / name).exists():
                (folder / name).write_text('{"token": "hunter2"}')
    code = Path.home() / "code"
    ran = run_code(
        _OPENED, f"aider={code},specstory={code}", env={**os.environ, "HOME": str(Path.home())}
    )
    opened, texts = json.loads(ran.stdout)
    at_home = [path for path in opened if str(Path.home()) in path]
    assert len(at_home) > len(AGENTS)
    assert [path for path in at_home if Path(path.split("?")[0]).name in SECRETS] == []
    assert not any("hunter2" in text for text in texts)
