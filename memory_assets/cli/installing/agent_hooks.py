"""`memory install-hooks --agent NAME`: a new session of an agent begins with what `memory context`
prints. One that is resumed has it already.

The hook stands in the agent's settings, which people edit. What a `SessionStart` hook prints, the
model reads: as it is (https://code.claude.com/docs/en/hooks,
https://developers.openai.com/codex/hooks) or as a field of a JSON object
(https://geminicli.com/docs/hooks/reference, https://qwenlm.github.io/qwen-code-docs).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memory_assets.agents import AGENTS
from memory_assets.cli.installing.jsonc import Step, value_at, with_value, without_value
from memory_assets.cli.installing.other_programs import replace_file, shell_command
from memory_assets.errors import ConfigurationError
from memory_assets.paths import listed_paths
from memory_assets.requests.arguments import chosen
from memory_assets.settings import Settings


@dataclass(frozen=True)
class _Hooks:
    """Where an agent's hooks are, and what ours contains.

    `user_file` is below the agent's home, which the environment variable `variable` may name, and
    `project_file` below a project. `matchers` select new sessions. `timeout` is 10 seconds in the
    agent's unit. `arguments` are those of `memory`.
    """

    home: str
    variable: str
    user_file: str
    project_file: str
    matchers: tuple[str, ...]
    timeout: int | None
    arguments: str = "context --project ."
    note: str = ""


_HOOKS = {
    "claude-code": _Hooks(
        *(".claude", "CLAUDE_CONFIG_DIR", "settings.json", ".claude/settings.local.json"),
        *(("startup|clear|compact",), 10),
    ),
    "codex": _Hooks(
        *(".codex", "CODEX_HOME", "hooks.json", ".codex/hooks.json"),
        *(("startup|clear|compact",), 10),
        note="; Codex runs it once you trust it under /hooks",
    ),
    "gemini": _Hooks(
        *(".gemini", "", "settings.json", ".gemini/settings.json"),
        *(("startup", "clear"), 10_000, "context --project . --hook"),
    ),
    "qwen": _Hooks(
        *(".qwen", "QWEN_HOME", "settings.json", ".qwen/settings.json"),
        *(("startup", "clear", "compact"), None, "context --project . --hook"),
    ),
}
"""The agents with a documented hook whose output the model reads."""
_PLACE = ("hooks", "SessionStart")
_OURS = re.compile(r"(?:^|[\s/\\'\"])memory(?:\.exe)?['\"]? context --project \.")


def change_hook(settings: Settings, agent: str, project: Path | None, uninstall: bool) -> str:
    """Add the hook to an agent's settings for a project, or for all of the user's (None), or remove
    it; return what was done, in words. What else is in the file stays as it is.

    Raises:
        ConfigurationError: the agent has no such hook, or its settings cannot be changed.
    """
    name = chosen(agent, tuple(_HOOKS))
    if name is None:
        raise ConfigurationError(
            f"--agent: no hook for {agent!r:.40} is known; choose from {', '.join(_HOOKS)}"
        )
    hooks = _HOOKS[name]
    if project is not None and not project.is_dir():
        raise ConfigurationError(f"{project} is no directory; give that of a project")
    path = _settings_file(hooks, project)
    try:
        before = path.read_text() if path.exists() else ""
        after = _without_ours(before)
        if not uninstall:
            command = f"{shell_command(settings)} {hooks.arguments}"
            after = _with_hook(after, hooks, command)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not JSON"
        raise ConfigurationError(f"{path} cannot be changed: {reason}; correct it") from None
    if after != before:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, b"" if uninstall and _is_empty(after) else after.encode())
    begins = "no longer begin" if uninstall else "begin"
    note = "" if uninstall else hooks.note
    return f"Sessions of {AGENTS[name].title} {begins} with what is remembered ({path}){note}"


def hooked_files(projects: Iterable[Path]) -> list[Path]:
    """Return the settings of agents that have the hook: the user's, and those of these projects."""
    places = [None, *projects]
    files = {_settings_file(hooks, place) for hooks in _HOOKS.values() for place in places}
    return sorted(path for path in files if without_hook(path) is not None)


def without_hook(path: Path) -> bytes | None:
    """Return the contents of an agent's settings without the hook, b"" if nothing else is in them;
    None if the hook is not there, or they cannot be read."""
    try:
        text = path.read_text()
        left = _without_ours(text)
    except (OSError, ValueError):
        return None
    if left == text:
        return None
    return b"" if _is_empty(left) else left.encode()


def _is_empty(settings: str) -> bool:
    return settings.strip() in ("", "{}")


def _settings_file(hooks: _Hooks, project: Path | None) -> Path:
    """Return the file of the hooks of all of a user's projects, or of one. Claude Code has one for
    those that are not committed, because the hook names a path of this machine."""
    if project is not None:
        return project / hooks.project_file
    own = os.environ.get(hooks.variable) if hooks.variable else None
    return (listed_paths(own)[0] if own else Path.home() / hooks.home) / hooks.user_file


def _with_hook(text: str, hooks: _Hooks, command: str) -> str:
    hook: dict[str, Any] = {"type": "command", "command": command}
    hook |= {} if hooks.timeout is None else {"timeout": hooks.timeout}
    for matcher in hooks.matchers:
        group: tuple[Step, ...] = (*_PLACE, ("matcher", matcher))
        if value_at(text, group) is None:
            text = with_value(text, group, {"matcher": matcher, "hooks": [hook]})
        else:
            text = with_value(text, (*group, "hooks", ("command", command)), hook)
    return text


def _without_ours(text: str) -> str:
    """Return settings without the hook, whichever installation it starts, and without what is
    empty then."""
    groups = value_at(text, _PLACE)
    numbered = list(enumerate(groups)) if isinstance(groups, list) else []
    for position, group in reversed(numbered):
        for command in filter(_OURS.search, _commands(group)):
            place: list[Step] = [*_PLACE, position, "hooks"]
            text = without_value(text, [*place, ("command", command)])
            if value_at(text, place) == []:
                text = without_value(text, place[:-1])
            for container in (_PLACE, _PLACE[:1]):
                if value_at(text, container) in ([], {}):
                    text = without_value(text, container)
    return text


def _commands(group: Any) -> list[str]:
    hooks = group.get("hooks") if isinstance(group, dict) else None
    commands = [hook.get("command") for hook in hooks or () if isinstance(hook, dict)]
    return [hook for hook in commands if isinstance(hook, str)]
