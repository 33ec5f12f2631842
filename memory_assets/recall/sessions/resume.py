"""The command with which a session's own agent resumes it, and the directory to run it in."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator
from contextlib import suppress
from glob import escape as glob_escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory_assets.agents import AGENTS, CLAUDE_CODE
from memory_assets.errors import ConfigurationError
from memory_assets.paths import is_gone, on_this_machine, project_slug
from memory_assets.recall.names import resolve_session
from memory_assets.recall.rows import rows_of
from memory_assets.stores.lake.schemas import REDACTED_RECORDS
from memory_assets.transcripts import COMPRESSED, is_compressed, plain_name

if TYPE_CHECKING:
    from memory_assets.stores.stores import Stores

_COMPRESSED = "the transcript is compressed; the agent unpacks it when it resumes the session"


def resume_command(memory: Stores, session: str) -> dict[str, Any]:
    """Return how a session is resumed: `session_id`, `agent`, `directory`, `command` (a list),
    `line` (directory and command for a shell), `missing`: what the agent needs for it and is
    not on this machine, and `notes`: what else is worth knowing.

    `session` is its id, the beginning of the id, or the id of any of its rows.

    Raises:
        ConfigurationError: its agent has no command to resume a session.
        NotFound: there is no such session.
    """
    project, session_id = resolve_session(memory, session)
    sources = [
        row
        for row in memory.catalog.sources.rows(project)
        if row.session_id == session_id and not row.agent_id
    ]
    columns = ["agent", "agent_id", "cwd", "project_root"]
    rows = rows_of(memory.lake, REDACTED_RECORDS, project, session_id, columns)
    agent = str(rows[0]["agent"]) if rows else sources[0].agent
    if agent not in AGENTS or not AGENTS[agent].resume:
        raise ConfigurationError(f"{agent} has no command that resumes a session")
    resumed = AGENTS[agent].resumes
    if resumed and not any(resumed in row.path for row in sources):
        raise ConfigurationError(f"{agent} has no command that resumes a session of this kind")
    path = _present_path(next((row.path for row in sources), ""), session_id)
    own = [row["cwd"] for row in rows if row["agent_id"] is None]
    folder = os.path.basename(os.path.dirname(path)) or project  # noqa: PTH119, PTH120
    directory = _start_directory([*own, *(row["project_root"] for row in rows[:1])], folder)
    named = {"session": session_id, "path": path or session_id}
    command = [part.format(**named) for part in AGENTS[agent].resume]
    missing = []
    if not directory or not os.path.isdir(directory):  # noqa: PTH112
        missing.append(f"the directory {directory or 'of the session'} is not on this machine")
    elif agent == CLAUDE_CODE.name and folder and project_slug(directory) != folder:
        missing.append(f"Claude Code finds the session only in the directory of {folder}")
    if not path or is_gone(path):
        missing.append(f"{agent} has deleted the transcript, so it cannot resume the session")
    line = shlex.join(command)
    return {
        "session_id": session_id,
        "agent": agent,
        "directory": directory,
        "command": command,
        "line": f"cd {shlex.quote(directory)} && {line}" if directory else line,
        "missing": missing,
        "notes": [_COMPRESSED] if path and is_compressed(path) else [],
    }


def _present_path(path: str, session_id: str) -> str:
    """Return a transcript's path, or the one that it has since it was compressed or unpacked, or
    since its folder was renamed or its file was put into an archive."""
    plain = plain_name(path)
    others = (plain, *(f"{plain}{ending}" for ending in COMPRESSED)) if path else ()
    here = next((other for other in (path, *others) if other and not is_gone(other)), "")
    return here or next(_find_moved(Path(plain), session_id), path) if path else path


def _find_moved(path: Path, session_id: str) -> Iterator[str]:
    """Yield the files of a session below the directories that its transcript lay in: beside its
    folder (Claude Code, Pi), or in Codex's archive."""
    names = (f"*{glob_escape(session_id)}*.jsonl", f"*{glob_escape(session_id)}*.jsonl.*")
    places = [path.parent.parent, *(parent for parent in path.parents if parent.name == "sessions")]
    if archive := next((parent for parent in path.parents if parent.name == "sessions"), None):
        places += [archive.parent / "archived_sessions", archive.parent]
    for place in dict.fromkeys(places):
        for name in names:
            with suppress(OSError):
                yield from map(str, sorted(place.glob(name)))
                yield from map(str, sorted(place.glob(f"*/{name}")))


def _start_directory(paths: Iterable[str], folder: str) -> str:
    """Return the directory that a session began in, which Claude Code names its folder of
    transcripts after, and finds no session elsewhere; else the first that is known."""
    known = [str(on_this_machine(path)) for path in dict.fromkeys(paths) if path]
    return next((path for path in known if project_slug(path) == folder), next(iter(known), ""))
