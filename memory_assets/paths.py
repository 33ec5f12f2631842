"""Default paths: the memory's data, its settings file, what ships with the package, the
agents' directories.

In a checkout, data and settings are in the project's directory. Installed from a wheel,
they are where the platform keeps a user's data and configuration. No pydantic here, so that
commands that must start fast can import it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote, unquote

from platformdirs import PlatformDirs, user_data_path
from platformdirs.api import PlatformDirsABC

from memory_assets.agents import AGENTS

_NAME = "memory_assets"


def user_config_dir(platform: type[PlatformDirsABC] = PlatformDirs) -> Path:
    """Return the directory of the user's configuration, which no data directory contains."""
    names = platform(_NAME, appauthor=False)
    if names.user_config_path == names.user_data_path:  # macOS, Windows
        names = platform(f"{_NAME}-config", appauthor=False)
    return _unless_earlier(names.user_config_path, "XDG_CONFIG_HOME", ".config")


def tombstones_copy(data_dir: Path) -> Path:
    """Return where the copy of a data directory's tombstones is, which goes by its path: outside,
    so that a directory that comes back from a backup is updated with what was forgotten since."""
    return user_config_dir() / "forgotten" / f"{name_of(data_dir)}.db"


def tombstones_copies(data_dir: Path) -> list[Path]:
    """Return the copies of a data directory's tombstones that are there: the one, and those that
    made room for it, as they were damaged or of another install key."""
    path = tombstones_copy(data_dir)
    return sorted(path.parent.glob(f"{path.stem}*.db"))


def name_of(data_dir: Path) -> str:
    """Return a name for what is kept of a data directory outside of it: a hash of its path,
    whatever links lead to it."""
    return hashlib.blake2b(os.fsencode(data_dir.resolve()), digest_size=16).hexdigest()


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
PLUGIN_DIR = _PACKAGE / "serving" / "plugin"
"""The plugin for Claude Code (MCP server, hook, skill, slash commands), which starts the `memory`
that is on the PATH."""
SAMPLE_DIR = SHIPPED / "data" / "sample"
DATA_DIR = IMPORT_ROOT / "data" if IS_CHECKOUT else user_data_path(_NAME, appauthor=False)
"""The data directory where MEMORY_DATA_DIR is not set."""
SETTINGS_FILE = (IMPORT_ROOT if IS_CHECKOUT else user_config_dir()) / "memory.toml"
KNOWN_AGENTS = tuple(AGENTS)
NO_EMBEDDER = "none"
NO_VECTORS = f"no vectors are made (MEMORY_EMBEDDER={NO_EMBEDDER})"
NO_COLLECTIONS = "no collections are kept (VECTOR_BACKEND=none)"
UNKNOWN_PROJECT = "-unknown"
_NOT_ALPHANUMERIC = re.compile(r"[^A-Za-z0-9]")


def project_slug(cwd: str) -> str:
    """Return the project name of a directory, made as Claude Code names its folders.

    Each character outside A-Z a-z 0-9 becomes "-": 76 of 76 folders whose true path was
    known agree. Lossy and colliding: never decode it.
    """
    return _NOT_ALPHANUMERIC.sub("-", cwd) or UNKNOWN_PROJECT


Roots = dict[str, tuple[Path, ...]]
"""The directories with transcripts, by agent."""


def transcript_roots(
    explicit: Mapping[str, Sequence[Path] | None],
    agents: Sequence[str],
    more: Mapping[str, Sequence[Path]] | None = None,
) -> Roots:
    """Return the directories to read per agent, each once; agents without one are left out. `more`
    are directories in place of those of single agents.

    Directories given explicitly replace all defaults, so that `--projects-dir` never
    drags in another agent's home. Without any, each agent's own defaults are used where they
    exist, and the shipped sample where none does. A home that the agent's own variable names is
    among them if it is missing, so that this is an error and not a reason to read something else.
    """
    roots = {agent: tuple(given) for agent, given in explicit.items() if given}
    others: Roots = {agent: tuple(given) for agent, given in (more or {}).items()}
    if not roots:
        homes = _named_homes()
        own = ((agent, _own_directories(agent, homes)) for agent in KNOWN_AGENTS)
        roots = {agent: read for agent, read in own if read and agent not in others}
        named = {agent: _in_homes(agent, of_agent) for agent, of_agent in homes.items()}
        roots = roots or ({} if others else named or sample_roots())
    roots |= others
    wanted = [agent for agent in KNOWN_AGENTS if agent in roots and agent in agents]
    return {agent: _distinct(roots[agent]) for agent in wanted}


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


WHERE_ROOTS_ARE_SET = "MEMORY_PROJECTS_DIR, MEMORY_CODEX_DIR, MEMORY_PI_DIR or MEMORY_ROOTS"
"""The settings that name directories of agents."""


_FEW_AGENTS = 4


def roots_in_words(roots: Roots) -> str:
    """Return the directories with their agents in one line; of many agents, how many there are."""
    if len(roots) > _FEW_AGENTS:
        number = sum(map(len, roots.values()))
        return f"{number} directories of {len(roots)} agents (`memory doctor` lists them)"
    return ", ".join(f"{agent}: {places_in_words(paths)}" for agent, paths in roots.items())


def places_in_words(paths: Sequence[Path]) -> str:
    """Return directories in one line, the user's home as `~`."""
    home = f"{Path.home()}{os.sep}"
    return ", ".join(str(path).replace(home, f"~{os.sep}", 1) for path in paths)


def listed_paths(given: str) -> list[Path]:
    """Return the directories that a text lists, as in PATH: with `:` (Windows: `;`) between them,
    or commas, as other programs write `CLAUDE_CONFIG_DIR`. What is there as a whole is one."""
    parts = [given] if _is_there(given) else given.split(os.pathsep)
    whole = (part if _is_there(part.strip()) else part.replace(",", "\0") for part in parts)
    split = (path.strip() for part in whole for path in part.split("\0"))
    return [on_this_machine(path) for path in split if path]


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
_PARENT = "/.."
_CODE = (
    *("Code", "Code - Insiders", "Code - OSS", "VSCodium", "Cursor", "Windsurf", "Trae"),
    *("Kiro", "Antigravity"),
)
_CODE_SERVERS = (".vscode-server", ".vscode-server-insiders", ".vscode-remote", ".cursor-server")
"""VS Code and its relatives, by the directory of their data, on this machine and as a server."""


def home_variables() -> dict[str, str]:
    """Return the variable that names each agent's home, of those that are set; the first counts."""
    set_of = {
        name: [variable.name for variable in agent.variables if os.environ.get(variable.name)]
        for name, agent in AGENTS.items()
    }
    return {name: variables[0] for name, variables in set_of.items() if variables}


def own_places(agent: str) -> tuple[Path, ...]:
    """Return where an agent keeps its transcripts by default, whether anything is there or not."""
    directories = _platform_directories()
    places = AGENTS[agent].places
    return tuple(on_this_machine(path) for place in places for path in _filled(place, directories))


def _filled(place: str, directories: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield a place of `agents.py` with each of the platform's directories that it begins with."""
    name, closed, rest = place.removeprefix("{").partition("}")
    variable, named, default = name.partition(":")
    if not closed:
        yield place
    elif named:
        base = os.environ.get(variable) or default
        if rest == _PARENT:
            base, rest = os.path.dirname(base) if os.path.isabs(base) else "", ""  # noqa: PTH117, PTH120
        yield from [f"{base}{rest}"] if base else ()
    else:
        yield from (f"{directory}{rest}" for directory in directories[name])


def _platform_directories() -> dict[str, Sequence[str]]:
    """Return the directories that places of agents are in: none for what the platform lacks."""
    config = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    share = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    own = {"darwin": "~/Library/Application Support", "win32": os.environ.get("APPDATA", "")}
    apps = own.get(sys.platform, config)
    local = os.environ.get("LOCALAPPDATA", "") if sys.platform == "win32" else ""
    roaming = apps if sys.platform == "win32" else ""
    code = [f"{apps}/{name}/User" for name in _CODE] if apps else []
    if portable := os.environ.get("VSCODE_PORTABLE"):
        code.append(f"{portable}/user-data/User")
    listed = {"config": config, "share": share, "apps": apps, "local": local, "appdata": roaming}
    return {
        **{name: (path,) if path else () for name, path in listed.items()},
        "code": [*code, *(f"~/{name}/data/User" for name in _CODE_SERVERS)],
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


def _own_directories(agent: str, named: Roots) -> tuple[Path, ...]:
    """Return where an agent keeps its transcripts: of the homes that are named those with any and
    those that are missing, else of those by default those that are there."""
    homes = named.get(agent)
    if homes is None:
        return tuple(filter(_may_be_read, own_places(agent)))
    places = zip(homes, _in_homes(agent, homes), strict=True)
    return tuple(path for home, path in places if _may_be_read(path) or not _may_be_read(home))


def _in_homes(agent: str, homes: Sequence[Path]) -> tuple[Path, ...]:
    """Return where the transcripts are in each of the homes that an agent's variable names."""
    variable = home_variables().get(agent)
    below = {variable.name: variable.below for variable in AGENTS[agent].variables}
    return tuple(home / below.get(variable or "", "") for home in homes)
