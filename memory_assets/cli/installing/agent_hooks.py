"""`memory install-hooks --agent claude`: Claude Code begins a session with what `memory context`
prints.

The hook stands in its settings, which people edit: https://code.claude.com/docs/en/hooks. What a
`SessionStart` hook prints, the model reads. A session that is resumed has it already.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from shlex import quote
from typing import Any

from memory_assets.cli.installing.jsonc import Step, put, value_at, without
from memory_assets.cli.installing.other_programs import memory_program, replace_file, variables
from memory_assets.errors import ConfigurationError
from memory_assets.paths import listed_paths
from memory_assets.requests.arguments import chosen
from memory_assets.settings import Settings

_AGENTS = ("claude-code",)
_PLACE = ("hooks", "SessionStart")
_WHEN = "startup|clear|compact"
_SECONDS = 10
_ARGUMENTS = "context --project ."
_OURS = re.compile(rf"(?:^|[\s/\\'\"])memory(?:\.exe)?['\"]? {re.escape(_ARGUMENTS)}")


def change_hook(settings: Settings, agent: str, project: Path | None, uninstall: bool) -> str:
    """Add the hook to an agent's settings for a project, or for all of the user's (None), or remove
    it; return what was done, in words. What else is in the file stays as it is.

    Raises:
        ConfigurationError: the agent has no such hook, or its settings cannot be changed.
    """
    if chosen(agent, _AGENTS) is None:
        raise ConfigurationError(f"--agent: no hook for {agent!r:.40} is known; give claude")
    if project is not None and not project.is_dir():
        raise ConfigurationError(f"{project} is no directory; give that of a project")
    path = _settings_file(project)
    try:
        before = path.read_text() if path.exists() else ""
        after = _without_ours(before)
        if not uninstall:
            after = _with_hook(after, _command(settings))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not JSON"
        raise ConfigurationError(f"{path} cannot be changed: {reason}; correct it") from None
    if after == before:
        pass
    elif uninstall and after.strip() in ("", "{}") and not path.is_symlink():
        path.unlink()
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, after.encode())
    begins = "no longer begin" if uninstall else "begin"
    return f"Sessions of Claude Code {begins} with what is remembered ({path})"


def _settings_file(project: Path | None) -> Path:
    """Return the file of the user's settings, of all projects or of one; the latter is not
    committed, as the hook names a path of this machine."""
    if project is None:
        own = os.environ.get("CLAUDE_CONFIG_DIR")
        return (listed_paths(own)[0] if own else Path.home() / ".claude") / "settings.json"
    return project / ".claude" / "settings.local.json"


def _command(settings: Settings) -> str:
    given = "".join(f"{name}={quote(value)} " for name, value in variables(settings).items())
    return f"{given}{quote(memory_program())} {_ARGUMENTS}"


def _with_hook(text: str, command: str) -> str:
    hook = {"type": "command", "command": command, "timeout": _SECONDS}
    group: tuple[Step, ...] = (*_PLACE, ("matcher", _WHEN))
    if value_at(text, group) is None:
        return put(text, group, {"matcher": _WHEN, "hooks": [hook]})
    return put(text, (*group, "hooks", ("command", command)), hook)


def _without_ours(text: str) -> str:
    """Return settings without the hook, whichever installation it starts, and without what is
    empty then."""
    groups = value_at(text, _PLACE)
    numbered = list(enumerate(groups)) if isinstance(groups, list) else []
    for at, group in reversed(numbered):
        for command in filter(_OURS.search, _commands(group)):
            place: list[Step] = [*_PLACE, at, "hooks"]
            text = without(text, [*place, ("command", command)])
            if value_at(text, place) == []:
                text = without(text, place[:-1])
            for container in (_PLACE, _PLACE[:1]):
                if value_at(text, container) in ([], {}):
                    text = without(text, container)
    return text


def _commands(group: Any) -> list[str]:
    hooks = group.get("hooks") if isinstance(group, dict) else None
    given = [each.get("command") for each in hooks or () if isinstance(each, dict)]
    return [each for each in given if isinstance(each, str)]
