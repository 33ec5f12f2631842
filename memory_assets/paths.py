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


def transcript_roots(explicit: Mapping[str, Path | None], agents: Sequence[str]) -> dict[str, Path]:
    """Return the directory to read per agent; empty values are left out.

    A directory given explicitly replaces all defaults, so that `--projects-dir` never
    drags in another agent's home. Without any, each agent's own default is used where it
    exists, and the shipped sample where none does. A home that the agent's own variable names is
    among them if it is missing, so that this is an error and not a reason to read something else.
    """
    roots = {agent: path for agent, path in explicit.items() if path is not None}
    if not roots:
        homes, named = _agent_homes(), _named_homes()
        lost = {agent for agent, home in named.items() if not _may_be_read(home)}
        roots = {a: path for a, path in homes.items() if a in lost or _may_be_read(path)}
        roots = roots or {agent: homes[agent] for agent in named} or sample_roots()
    return {agent: path for agent, path in roots.items() if agent in agents}


def sample_roots() -> dict[str, Path]:
    """Return the directories of the sample sessions, which ship with the package, per agent."""
    return {
        "claude-code": SAMPLE_DIR / "claude" / "projects",
        "codex": SAMPLE_DIR / "codex",
        "pi": SAMPLE_DIR / "pi",
    }


def is_sample(roots: Mapping[str, Path]) -> bool:
    """Return whether these are the sample's directories, and no other."""
    return bool(roots) and all(path.is_relative_to(SAMPLE_DIR) for path in roots.values())


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


def home_variables() -> dict[str, str]:
    """Return the variable that names each agent's home, of those that are set."""
    return {
        agent: next(name for name in names if os.environ.get(name))
        for agent, names in _HOME_VARIABLES.items()
        if any(map(os.environ.get, names))
    }


def _named_homes() -> dict[str, Path]:
    named = home_variables()
    homes = {agent: on_this_machine(os.environ[name]) for agent, name in named.items()}
    if named.get("pi") != _PI_SESSIONS:
        moved = _pi_sessions(homes.get("pi", Path.home() / ".pi" / "agent"))
        homes |= {"pi": moved} if moved is not None else {}
    return homes


def _pi_sessions(agent_dir: Path) -> Path | None:
    """Return the directory that Pi's own settings name for its sessions."""
    try:
        settings = json.loads((agent_dir / "settings.json").read_bytes())
    except (OSError, ValueError):
        return None
    named = settings.get("sessionDir") if isinstance(settings, dict) else None
    return on_this_machine(named) if isinstance(named, str) and named.strip() else None


def _agent_homes() -> dict[str, Path]:
    """Return where each agent keeps its transcripts, named or by default."""
    home, named = Path.home(), _named_homes()
    claude = named.get("claude-code", home / ".claude")
    codex = named.get("codex", home / ".codex")
    pi = named.get("pi", home / ".pi")
    return {"claude-code": claude / "projects", "codex": codex, "pi": pi}
