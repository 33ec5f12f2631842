"""The coding agents whose sessions are read: names, places and commands, as data.

One row an agent; what reads its sessions is in `transcripts`. Nothing here imports a reader, so
that settings and requests can name the agents and start fast.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

LIST = "an agent's own list of its sessions or prompts"
NOTES = "what an agent wrote for itself beside its transcripts"
LOG = "an agent's own log"
TITLES = "titles, which are read with their sessions"
COPY = "a copy that an agent made of a session"
WORKSPACE = "working trees and files that an agent worked on"
REQUESTS = "requests that the agent made of its own accord"


@dataclass(frozen=True, slots=True)
class Variable:
    """An agent's own variable that names its home, or what of it has the transcripts; `below` is
    where they are in there."""

    name: str
    below: str = ""


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent. `places` are its directories where no variable names one: `~` is the user's home;
    `{config}`, `{share}`, `{apps}` and `{local}` are the platform's (`paths.py`); `{code}` are the
    user directories of VS Code and its relatives; `{NAME:default}` is what that variable names, or
    the default, `{NAME:}/..` the directory of the file that it names. A place that a platform lacks
    is left out.
    """

    name: str
    title: str
    layout: str
    """Where transcripts lie below a directory, in words."""
    places: tuple[str, ...] = ()
    variables: tuple[Variable, ...] = ()
    folders: frozenset[str] = frozenset()
    """Directories in which every file should be a transcript."""
    other_files: tuple[tuple[str, str], ...] = ()
    """Names of files and ends of paths that are none, each with its reason."""
    resume: tuple[str, ...] = ()
    """The command that resumes a session: `{session}` is its id, `{path}` its file."""
    resumes: str = ""
    """What is in the place of a session that the command resumes, where it does not resume all."""
    of_lines: bool = False
    """Whether every session is a file of lines."""
    of_others: bool = False
    """Whether they are made of other agents' sessions, of which they have the ids."""
    watched: frozenset[str] = frozenset()
    """Directories in which alone its sessions are, where much else changes below its places; none:
    anywhere."""
    in_projects: bool = False
    """Whether its places are projects, which are looked through once a minute instead of being
    watched with all that is installed in them."""

    def is_other(self, name: str) -> bool:
        """Return whether a file of this name is no transcript."""
        return any(fnmatchcase(name, pattern) for pattern, _ in self.other_files)


HISTORY_FILE = "history.jsonl"
"""The list of prompts beside the transcripts of Claude Code and Codex."""

CLAUDE_CODE = Agent(
    "claude-code",
    "Claude Code",
    "PROJECT/SESSION.jsonl",
    ("~/.claude/projects", "{config}/claude/projects"),
    (Variable("CLAUDE_CONFIG_DIR", "projects"),),
    frozenset({"projects"}),
    (
        ("sessions-index.json", LIST),
        (HISTORY_FILE, LIST),
        ("journal.jsonl", NOTES),
        ("*.meta.json", NOTES),
        ("memory/*", NOTES),
        ("tool-results/*", "the rest of an output that the model did not see"),
        ("agent-aprompt_suggestion-*", REQUESTS),
        ("agent-acompact-*", REQUESTS),
    ),
    ("claude", "--resume", "{session}"),
    of_lines=True,
)
CODEX = Agent(
    "codex",
    "Codex",
    "sessions/YYYY/MM/DD/rollout-*.jsonl",
    ("~/.codex",),
    (Variable("CODEX_HOME"),),
    frozenset({"sessions", "archived_sessions"}),
    (
        ("session_index.jsonl", LIST),
        (HISTORY_FILE, LIST),
        ("state_*.sqlite*", LIST),
        ("logs_*.sqlite*", LOG),
        ("goals_*.sqlite*", NOTES),
        ("memories_*.sqlite*", NOTES),
        ("worktrees/*", "working trees of repositories"),
    ),
    ("codex", "resume", "{session}"),
    of_lines=True,
)
PI = Agent(
    "pi",
    "Pi",
    "agent/sessions/PROJECT/*.jsonl",
    ("~/.pi",),
    (Variable("PI_CODING_AGENT_SESSION_DIR"), Variable("PI_CODING_AGENT_DIR")),
    frozenset({"sessions"}),
    # Every version of Pi takes the path of the file; only newer ones take an id.
    resume=("pi", "--session", "{path}"),
    of_lines=True,
)
_OTHERS = (
    Agent(
        "copilot-cli",
        "GitHub Copilot CLI",
        "SESSION/events.jsonl",
        ("~/.copilot/session-state", "~/.copilot/history-session-state"),
        (Variable("COPILOT_HOME", "session-state"),),
        other_files=(
            ("workspace.yaml", TITLES),
            ("plan.md", NOTES),
            ("*.db*", NOTES),
            ("*.lock", NOTES),
            ("checkpoints/*", NOTES),
            ("files/*", WORKSPACE),
            ("research/*", NOTES),
        ),
        resume=("copilot", "--resume", "{session}"),
        of_lines=True,
    ),
    Agent(
        "gemini",
        "Gemini CLI",
        "PROJECT/chats/session-*.jsonl",
        ("~/.gemini/tmp",),
        (Variable("GEMINI_CLI_HOME", ".gemini/tmp"),),
        frozenset({"chats"}),
        (
            ("logs.json", LIST),
            (".project_root", LIST),
            ("checkpoint-*.json", COPY),
            ("checkpoints/*", COPY),
            ("*.tmp-*", COPY),
            ("*.unreadable-*", COPY),
            ("tool-outputs/*", "the rest of an output that the model did not see"),
            ("shell_history", LIST),
        ),
        ("gemini", "--resume", "{session}"),
    ),
    Agent(
        "qwen",
        "Qwen Code",
        "PROJECT/chats/SESSION.jsonl",
        ("~/.qwen/projects",),
        (Variable("QWEN_HOME", "projects"),),
        frozenset({"chats"}),
        (("memory/*", NOTES),),
        ("qwen", "--resume", "{session}"),
        of_lines=True,
    ),
    Agent(
        "droid",
        "Factory Droid",
        "PROJECT/SESSION.jsonl",
        ("~/.factory/sessions",),
        other_files=(("*.settings.json", "models, which are read with their sessions"),),
        resume=("droid", "--resume", "{session}"),
        of_lines=True,
    ),
    Agent(
        "openclaw",
        "OpenClaw",
        "AGENT/sessions/SESSION.jsonl",
        ("~/.openclaw/agents", "~/.clawdbot/agents", "~/.moltbot/agents"),
        (Variable("OPENCLAW_STATE_DIR", "agents"),),
        folders=frozenset({"sessions"}),
        other_files=(
            ("sessions.json", LIST),
            ("*.checkpoint.*", COPY),
            ("*.deleted.*", COPY),
            ("*.reset.*", COPY),
        ),
        of_lines=True,
    ),
    Agent(
        "cowork",
        "Claude desktop",
        "ORGANISATION/WORKSPACE/local_ID/.claude/projects/PROJECT/SESSION.jsonl",
        (
            "{apps}/Claude/local-agent-mode-sessions",
            "{local}/Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude"
            "/local-agent-mode-sessions",
        ),
        other_files=(
            ("local_*.json", TITLES),
            ("audit.jsonl", COPY),
            ("outputs/*", WORKSPACE),
            ("uploads/*", WORKSPACE),
            *CLAUDE_CODE.other_files,
        ),
        of_lines=True,
    ),
    Agent(
        "opencode",
        "OpenCode",
        "opencode.db, or storage/session/PROJECT/SESSION.json",
        ("{share}/opencode", "{OPENCODE_DB:}/.."),
        folders=frozenset({"storage"}),
        other_files=(("storage/*", "parts of sessions"), ("snapshot/*", WORKSPACE), ("log/*", LOG)),
        resume=("opencode", "--session", "{session}"),
    ),
    Agent(
        "kilo",
        "Kilo Code",
        "kilo.db, or tasks/TASK/ui_messages.json",
        ("{share}/kilo", "{KILO_DB:}/..", "{code}/globalStorage/kilocode.kilo-code"),
        other_files=(("snapshot/*", WORKSPACE), ("log/*", LOG)),
        resume=("kilo", "--session", "{session}"),
        resumes="#",
    ),
    Agent(
        "crush",
        "Crush",
        "projects.json, or PROJECT/.crush/crush.db",
        ("{share}/crush", "{local}/crush"),
        (Variable("CRUSH_GLOBAL_DATA"),),
        other_files=(("logs/*", LOG),),
    ),
    Agent(
        "goose",
        "Goose",
        "sessions.db",
        ("{share}/goose/sessions", "{appdata}/Block/goose/data/sessions"),
        (Variable("GOOSE_PATH_ROOT", "data/sessions"),),
        resume=("goose", "session", "--resume", "--session-id", "{session}"),
    ),
    Agent(
        "hermes",
        "Hermes",
        "state.db",
        ("~/.hermes",),
        (Variable("HERMES_HOME"),),
        resume=("hermes", "--resume", "{session}"),
    ),
    Agent(
        "zed",
        "Zed",
        "threads/threads.db",
        (
            "{share}/zed",
            "~/Library/Application Support/Zed",
            "~/.var/app/dev.zed.Zed/data/zed",
            "{local}/Zed",
        ),
    ),
    Agent(
        "vscode-copilot",
        "Copilot Chat of VS Code",
        "workspaceStorage/ID/chatSessions/SESSION.jsonl",
        ("{code}",),
        watched=frozenset({"chatSessions", "emptyWindowChatSessions", "transferredChatSessions"}),
    ),
    Agent(
        "cursor",
        "Cursor",
        "state.vscdb, HASH/CHAT/store.db, or PROJECT/agent-transcripts/SESSION.jsonl",
        (
            "{apps}/Cursor/User",
            "~/.cursor-server/data/User",
            "{CURSOR_CONFIG_DIR:~/.cursor}/chats",
            "{CURSOR_CONFIG_DIR:~/.cursor}/projects",
        ),
        folders=frozenset({"agent-transcripts"}),
        resume=("cursor-agent", "--resume={session}"),
        resumes="store.db#",
        other_files=(("agent-tools/*", "the rest of an output that the model did not see"),),
    ),
    Agent(
        "cline",
        "Cline",
        "tasks/TASK/ui_messages.json, or sessions/SESSION/SESSION.messages.json",
        (
            "{code}/globalStorage/saoudrizwan.claude-dev",
            "{CLINE_DIR:~/.cline}/data",
            "{CLINE_DATA_DIR:}",
            "{CLINE_SESSION_DATA_DIR:}",
        ),
    ),
    Agent(
        "roo",
        "Roo Code",
        "tasks/TASK/ui_messages.json",
        ("{code}/globalStorage/rooveterinaryinc.roo-cline",),
    ),
    Agent(
        "atif",
        "ATIF documents",
        "*.json",
        ("{share}/devin/cli/transcripts",),
    ),
    # Texts in the projects themselves: only below a directory that the user names (MEMORY_ROOTS).
    Agent("aider", "Aider", "PROJECT/.aider.chat.history.md", in_projects=True),
    Agent(
        "specstory",
        "SpecStory",
        "PROJECT/.specstory/history/SESSION.md",
        of_others=True,
        in_projects=True,
    ),
)
AGENTS: dict[str, Agent] = {agent.name: agent for agent in (CLAUDE_CODE, CODEX, PI, *_OTHERS)}
"""By name, in the order in which they are read."""
