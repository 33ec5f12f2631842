"""Default paths: the memory's data, its settings file, what ships with the package, the
agents' directories.

In a checkout, data and settings are in the project's directory. Installed from a wheel,
they are where the platform keeps a user's data and configuration. No pydantic here, so that
commands that must start fast can import it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote, unquote

from platformdirs import PlatformDirs, user_data_path
from platformdirs.api import PlatformDirsABC

_NAME = "memory_assets"


def user_config_dir(platform: type[PlatformDirsABC] = PlatformDirs) -> Path:
    """Return the directory of the user's configuration, which no data directory contains."""
    names = platform(_NAME, appauthor=False)
    if names.user_config_path == names.user_data_path:  # macOS, Windows
        names = platform(f"{_NAME}-config", appauthor=False)
    return _unless_earlier(names.user_config_path, "XDG_CONFIG_HOME", ".config")


def user_cache_dir(platform: type[PlatformDirsABC] = PlatformDirs) -> Path:
    """Return the directory of files that can be deleted at any time."""
    path = platform(_NAME, appauthor=False).user_cache_path
    return _unless_earlier(path, "XDG_CACHE_HOME", ".cache")


def _unless_earlier(path: Path, variable: str, at_home: str) -> Path:
    """Return the platform's directory, or where versions before had it, if it is there alone, or
    if `variable` says so: a key that was made there must be found."""
    base = os.environ.get(variable)
    earlier = (Path(base) if base else Path.home() / at_home) / _NAME
    return earlier if base or (earlier.exists() and not path.exists()) else path


_PACKAGE = Path(__file__).resolve().parent
IMPORT_ROOT = _PACKAGE.parent
"""The directory that the package is imported from: a checkout, or site-packages."""
IS_CHECKOUT = (IMPORT_ROOT / "pyproject.toml").is_file() and (IMPORT_ROOT / "data").is_dir()
SHIPPED = IMPORT_ROOT if IS_CHECKOUT else _PACKAGE / "shipped"
"""The directory of dagster.yaml, workspace.yaml, data/sample and docs; setup.py puts copies into
a wheel."""
SAMPLE_DIR = SHIPPED / "data" / "sample"
DATA_DIR = IMPORT_ROOT / "data" if IS_CHECKOUT else user_data_path(_NAME, appauthor=False)
"""The data directory where MEMORY_DATA_DIR is not set."""
SETTINGS_FILE = (IMPORT_ROOT if IS_CHECKOUT else user_config_dir()) / "memory.toml"
KNOWN_AGENTS = ("claude-code", "codex", "pi")
NO_EMBEDDER = "none"
NO_VECTORS = f"no vectors are made (MEMORY_EMBEDDER={NO_EMBEDDER})"
UNKNOWN_PROJECT = "-unknown"
_NOT_ALPHANUMERIC = re.compile(r"[^A-Za-z0-9]")


def project_of(cwd: str) -> str:
    """Return the project name of a directory, made as Claude Code names its folders.

    Each character outside A-Z a-z 0-9 becomes "-": 76 of 76 folders whose true path was
    known agree. Lossy and colliding: never decode it.
    """
    return _NOT_ALPHANUMERIC.sub("-", cwd) or UNKNOWN_PROJECT


Roots = dict[str, tuple[Path, ...]]
"""The directories with transcripts, by agent."""


def transcript_roots(explicit: Mapping[str, Sequence[Path] | None], agents: Sequence[str]) -> Roots:
    """Return the directories to read per agent, each once; agents without one are left out.

    Directories given explicitly replace all defaults, so that `--projects-dir` never
    drags in another agent's home. Without any, each agent's own defaults are used where they
    exist, and the shipped sample where none does. A home that the agent's own variable names is
    among them if it is missing, so that this is an error and not a reason to read something else.
    """
    roots = {agent: tuple(given) for agent, given in explicit.items() if given}
    if not roots:
        homes = {agent: read for agent in KNOWN_AGENTS if (read := _own_directories(agent))}
        named = {agent: _in_homes(agent, of_agent) for agent, of_agent in _named_homes().items()}
        roots = homes or named or sample_roots()
    return {agent: _distinct(roots[agent]) for agent in roots if agent in agents}


def sample_roots() -> Roots:
    """Return the directories of the sample sessions, which ship with the package, per agent."""
    return {
        "claude-code": (SAMPLE_DIR / "claude" / "projects",),
        "codex": (SAMPLE_DIR / "codex",),
        "pi": (SAMPLE_DIR / "pi",),
    }


def is_sample(roots: Roots) -> bool:
    """Return whether these are the sample's directories, and no other."""
    paths = [path for of_agent in roots.values() for path in of_agent]
    return bool(paths) and all(path.is_relative_to(SAMPLE_DIR) for path in paths)


def roots_in_words(roots: Roots) -> str:
    """Return the directories with their agents, in one line."""
    return ", ".join(f"{agent}: {path}" for agent, paths in roots.items() for path in paths)


def listed_paths(given: str) -> list[Path]:
    """Return the directories that a text lists, as in PATH: with `:` (Windows: `;`) between them,
    or commas, as other programs write `CLAUDE_CONFIG_DIR`. What is there as a whole is one."""
    parts = [given] if _is_there(given) else given.split(os.pathsep)
    whole = (part if _is_there(part.strip()) else part.replace(",", "\0") for part in parts)
    split = (each.strip() for part in whole for each in part.split("\0"))
    return [on_this_machine(each) for each in split if each]


def _is_there(given: str) -> bool:
    return not is_gone(on_this_machine(given))


def _distinct(paths: Sequence[Path]) -> tuple[Path, ...]:
    """Return the paths, of those that lead to one directory the first."""
    return tuple({os.path.realpath(path): path for path in reversed(paths)}.values())[::-1]


def _may_be_read(root: Path) -> bool:
    """Return True if a directory exists or cannot be looked at; the latter is reported by the
    reader."""
    return not is_gone(root) and not os.path.isfile(root)  # noqa: PTH113


def is_gone(path: str | os.PathLike[str]) -> bool:
    """Return True if nothing exists at a path, or at that of a locator's container. A path that
    cannot be looked at (permissions, a disk that does not answer) counts as existing."""
    try:
        os.stat(path)  # noqa: PTH116 - strings of the ledger, on the hot path
    except (FileNotFoundError, NotADirectoryError):
        container, member = split_locator(os.fspath(path))
        return not member or is_gone(container)
    except (OSError, ValueError):
        return False
    return False


def locator_of(path: str | os.PathLike[str], member: str) -> str:
    """Return the one string that names a member of a container, a path where there is none. No
    path of a transcript reads as a locator: those end with a suffix, members have no dot."""
    if not member:
        return os.fspath(path)
    return f"{os.fspath(path)}#{quote(member, safe='-_:@=+,~$').replace('.', '%2E')}"


def split_locator(locator: str) -> tuple[str, str]:
    """Return container and member of a locator; the member is "" for a path."""
    container, mark, member = locator.rpartition("#")
    if not mark or "." in member or "/" in member or os.sep in member or not member:
        return locator, ""
    return container, unquote(member)


def on_this_machine(named: str) -> Path:
    """Return the path that a transcript names, with the home directory in place of `~`. A name
    without a home here (`~\\project`, `~nobody/x`) is returned unchanged, as an unknown path."""
    try:
        return Path(named).expanduser()
    except (RuntimeError, ValueError):
        return Path(named)


_PI_SESSIONS = "PI_CODING_AGENT_SESSION_DIR"
_HOME_VARIABLES = {
    "claude-code": ("CLAUDE_CONFIG_DIR",),
    "codex": ("CODEX_HOME",),
    "pi": (_PI_SESSIONS, "PI_CODING_AGENT_DIR"),
}
"""The agents' own variables that name their homes, or what of them has the transcripts; the first
that is set counts."""
_DEFAULT_HOMES = {
    "claude-code": (".claude", "{config}/claude"),
    "codex": (".codex",),
    "pi": (".pi",),
}
"""The homes of agents without such a variable, below the user's; `{config}`: XDG_CONFIG_HOME."""


def home_variables() -> dict[str, str]:
    """Return the variable that names each agent's home, of those that are set."""
    return {
        agent: next(name for name in names if os.environ.get(name))
        for agent, names in _HOME_VARIABLES.items()
        if any(map(os.environ.get, names))
    }


def _named_homes() -> Roots:
    """Return the homes that the agents' variables and settings name."""
    named = home_variables()
    homes = {agent: tuple(listed_paths(os.environ[name])) for agent, name in named.items()}
    if named.get("pi") != _PI_SESSIONS:
        own = homes.get("pi", (Path.home() / ".pi" / "agent",))
        moved = [_pi_sessions(home) for home in own]
        if "pi" in homes or any(moved):
            pairs = zip(own, moved, strict=True)
            homes["pi"] = tuple(there or home for home, there in pairs)
    return homes


def _pi_sessions(agent_dir: Path) -> Path | None:
    """Return the directory that Pi's own settings name for its sessions."""
    try:
        settings = json.loads((agent_dir / "settings.json").read_bytes())
    except (OSError, ValueError):
        return None
    named = settings.get("sessionDir") if isinstance(settings, dict) else None
    return on_this_machine(named) if isinstance(named, str) and named.strip() else None


def _own_directories(agent: str) -> tuple[Path, ...]:
    """Return where an agent keeps its transcripts: of the homes that are named those with any and
    those that are missing, else of those by default those that are there."""
    named = _named_homes().get(agent)
    if named is None:
        return tuple(filter(_may_be_read, _in_homes(agent, _default_homes(agent))))
    places = zip(named, _in_homes(agent, named), strict=True)
    return tuple(path for home, path in places if _may_be_read(path) or not _may_be_read(home))


def _default_homes(agent: str) -> list[Path]:
    config = os.environ.get("XDG_CONFIG_HOME") or ".config"
    return [Path.home() / place.format(config=config) for place in _DEFAULT_HOMES[agent]]


def _in_homes(agent: str, homes: Sequence[Path]) -> tuple[Path, ...]:
    """Return where the transcripts are in each of an agent's homes."""
    return tuple(home / "projects" if agent == "claude-code" else home for home in homes)
