"""`memory uninstall`: everything that this program left on the machine, listed and removed.

The data directory may be any directory that somebody named. Nothing is removed from one without a
memory. From one with a memory files go by the names that this program gives, and directories whose
names are of general use (lake, dagster, ...) only with what it writes into them; the directory
itself goes when nothing else is left in it.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

from memory_assets.cli.commands import command, flag
from memory_assets.cli.completion import without_completion
from memory_assets.cli.installing.agent_hooks import hooked_files, without_hook
from memory_assets.cli.installing.agent_plugin import is_plugin
from memory_assets.cli.installing.git_hooks import checkouts_with_hooks, hooks_of
from memory_assets.cli.installing.init_workspace import files_with_entries
from memory_assets.cli.installing.other_programs import replace_file
from memory_assets.cli.printing.rendering import print_lines
from memory_assets.errors import ConfigurationError, MemoryAssetsError, StoreBusy
from memory_assets.install_key import KEY_FILE
from memory_assets.paths import (
    DATA_DIR,
    SETTINGS_FILE,
    tombstones_copies,
    tombstones_copy,
    user_cache_dir,
    user_config_dir,
)
from memory_assets.private_files import OURS
from memory_assets.settings import Settings, load_settings
from memory_assets.status.words import counted
from memory_assets.stores.agents.waiting import waiting_files
from memory_assets.stores.files.shared import REPLICA_FILE, is_locked

_MARKS = ("agent_memory.db", "catalog.db", "forgotten.db", "lineage.db", "workspaces.json")
"""Files of which each memory has at least one."""
_WORKING = (
    *("ingest.lock", "watcher.lock", "workspaces-watcher.lock", "index.lock"),
    *("dagster/dev.lock", "dagster/instance.lock", "rebuild.lock"),
)
"""Locks of processes that write there."""


_REMOVED = (
    "Removed. The program itself: pip uninstall memory-assets, or delete its checkout.",
    "Claude Code's plugin, if you installed it: claude plugin uninstall memory",
)


@dataclass
class Installed:
    """What this program left on a machine.

    `edited`: files of other programs, and their contents without what was added (b"" if nothing
    else is in them). `removed`: files and directories to delete, with their sizes. `kept`: others,
    and why they stay.
    """

    edited: dict[Path, bytes] = field(default_factory=dict)
    removed: dict[Path, int] = field(default_factory=dict)
    kept: dict[Path, str] = field(default_factory=dict)


@command()
@flag("--yes", help="Remove it; without this, only list it.")
@flag("--keep-data", help="Remove hooks and entries alone, not the memory.")
def uninstall(yes: bool, keep_data: bool) -> None:
    """Remove hooks, services, caches and data.

    Lists what this program left on the machine; with --yes removes it. Transcripts of agents are
    never touched. The program itself is removed with pip, or with its checkout.
    """
    settings = load_settings()
    plan = find_installed(settings, keep_data=keep_data)
    print_lines(_lines(plan))
    if not plan.edited and not plan.removed:
        print_lines(["Nothing is left to remove."])
    elif not yes:
        print_lines(["Nothing was changed. `memory uninstall --yes` removes all of this."])
    else:
        remove_installed(settings, plan)
        print_lines(_REMOVED)


def find_installed(settings: Settings, *, keep_data: bool = False) -> Installed:
    """Return what is on this machine, with the hooks in the user's settings and in the projects
    and workspaces on record."""
    plan = Installed(edited=dict(without_completion()))
    directories = list(_directories(settings))
    for path in hooked_files(directories):
        plan.edited[path] = without_hook(path) or b""
    for directory in directories:
        plan.edited |= dict([*hooks_of(directory), *files_with_entries(directory)])
    if keep_data:
        return plan
    key = user_config_dir() / KEY_FILE
    own = list(_of_memory(settings.data_dir))
    of_default = bool(own) and settings.data_dir == DATA_DIR
    key_goes = of_default and not (DATA_DIR / "tenants").exists()
    waiting = waiting_files(settings.data_dir)
    copies = tombstones_copies(settings.data_dir)
    for path in (*own, user_cache_dir(), *copies, *waiting, *([key] if key_goes else [])):
        if path.exists():
            plan.removed[path] = _size(path)
    if key.exists() and not key_goes:
        plan.kept[key] = "all memories of this user need it; delete it after the last of them"
    if SETTINGS_FILE.exists():
        plan.kept[SETTINGS_FILE] = "you wrote it"
    plan.kept |= _others(settings.data_dir, own)
    return plan


def remove_installed(settings: Settings, plan: Installed) -> None:
    """Remove what was found; the key last, because without it the rest is unreadable.

    Raises:
        StoreBusy: a process is writing there.
        ConfigurationError: something cannot be removed; what was before it is gone.
    """
    from memory_assets.stores.chroma import server

    from_data = any(path.is_relative_to(settings.data_dir) for path in plan.removed)
    if from_data:
        busy = [name for name in _WORKING if is_locked(settings.data_dir / name)]
        if busy:
            raise StoreBusy(
                f"a process holds {', '.join(busy)} in {settings.data_dir}: end `memory ingest`, "
                "`memory dev` and watchers, then run the command again"
            )
        server.stop(settings.data_dir)
    try:
        for path, content in plan.edited.items():
            replace_file(path, content)
        for path in plan.removed:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
    except OSError as error:
        raise ConfigurationError(f"{error.filename} cannot be removed: {error.strerror}") from None
    copies = tombstones_copy(settings.data_dir).parent
    for directory in ([settings.data_dir] if from_data else []) + [copies, user_config_dir()]:
        with suppress(OSError):  # something else is in it, which was listed
            directory.rmdir()


def _directories(settings: Settings) -> Iterator[Path]:
    """Yield the directories of the projects, workspaces and checkouts with hooks on record that
    are on this machine."""
    from memory_assets.stores.catalog.catalog import catalog_of
    from memory_assets.stores.workspaces import Workspaces

    directories: dict[Path, None] = dict.fromkeys(
        [Path.cwd(), *checkouts_with_hooks(settings.data_dir)]
    )
    with suppress(MemoryAssetsError):
        directories |= dict.fromkeys(
            workspace.root for workspace in Workspaces(settings.data_dir).all()
        )
    with suppress(MemoryAssetsError), closing(catalog_of(settings.data_dir)) as catalog:
        roots = catalog.rows("SELECT DISTINCT directory FROM sources")
        directories |= {Path(str(root)): None for (root,) in roots if root}
    yield from (
        directory for directory in directories if directory.is_absolute() and directory.is_dir()
    )


def _has_memory(data_dir: Path) -> bool:
    return data_dir == DATA_DIR or any((data_dir / name).is_file() for name in _MARKS)


def _of_memory(data_dir: Path) -> Iterator[Path]:
    """Yield what this program wrote into a data directory: a directory as a whole if nothing else
    is in it, else its parts."""
    patterns = OURS if _has_memory(data_dir) else ("claude-plugin", "hooked_checkouts.*")
    for path in (path for pattern in patterns for path in sorted(data_dir.glob(pattern))):
        if not path.is_dir():
            yield path
            continue
        ours = _parts(path)
        whole = ours == sorted(path.iterdir())
        if not whole or path.is_symlink():  # a link goes after what it leads to
            yield from ours
        if whole:
            yield path


def _parts(directory: Path) -> list[Path]:
    """Return what in a directory of the data directory was written by this program."""
    from memory_assets.stores.chroma.files import DATABASE
    from memory_assets.stores.lake.schemas import TABLES

    inside = sorted(directory.iterdir())
    match directory.name:
        case "lake":
            return [path for path in inside if path.name in (*TABLES, "locks")]
        case "shards":
            notes = (REPLICA_FILE, "pull.lock")
            return [path for path in inside if any((path / note).exists() for note in notes)]
        case "dagster":
            is_own = (directory / "instance.lock").exists()
        case "chroma":
            beside = ("chroma.lock", "chroma.token")
            locked = any((directory.parent / name).exists() for name in beside)
            is_own = locked and (directory / DATABASE).exists()
        case "claude-plugin":
            is_own = is_plugin(directory)
        case _:
            is_own = True
    return inside if is_own else []


def _others(data_dir: Path, own: Sequence[Path]) -> dict[Path, str]:
    """Return what stays of a data directory, and why."""
    if not data_dir.is_dir():
        return {}
    if not _has_memory(data_dir):
        return {data_dir: "it holds no memory, so the rest of it stays"}
    remaining = {}
    for path in sorted(set(data_dir.iterdir()) - set(own)):
        if path.name == "tenants":
            remaining[path] = "memories of tenants; run the command with the MEMORY_TENANT of each"
        elif any(path in our.parents for our in own):
            others = sorted(set(path.iterdir()) - set(own))
            remaining |= dict.fromkeys(others, "this program did not write it")
        elif any(path.match(pattern) for pattern in OURS):
            remaining[path] = "nothing in it shows that this program wrote it"
        else:
            remaining[path] = "nothing of this program has that name"
    return remaining


def _size(path: Path) -> int:
    if path.is_symlink():
        return 0
    files: Sequence[Path] = [path] if path.is_file() else list(path.rglob("*"))
    return sum(file.lstat().st_size for file in files if file.is_file() and not file.is_symlink())


def _lines(plan: Installed) -> Iterator[str]:
    """Yield what is there, in words."""
    if plan.edited:
        lose = "loses" if len(plan.edited) == 1 else "lose"
        yield f"{counted(len(plan.edited), 'file')} of other programs {lose} what was added:"
        for path, text in plan.edited.items():
            yield f"  {path}" if text else f"  {path} (nothing else is in it)"
    if plan.removed:
        size = sum(plan.removed.values())
        yield f"Files and directories of this program, {size / 1e6:.1f} MB:"
        for path in plan.removed:
            warning = ": memories in other directories need it, too; copy it if there are any"
            yield f"  {path}{warning if path.name == KEY_FILE else ''}"
    if plan.kept:
        yield "These stay:"
        yield from (f"  {path}: {why}" for path, why in plan.kept.items())
