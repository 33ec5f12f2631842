"""`memory uninstall`: everything that this program left on the machine, listed and removed.

The data directory may be any directory that somebody named, so only files by names that this
program gives are removed from it; the directory goes when nothing else is left in it.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from memory_assets.cli.installing.agent_hooks import hooked_files, without_hook
from memory_assets.cli.installing.git_hooks import hooks_of
from memory_assets.cli.installing.init_workspace import files_with_entries
from memory_assets.cli.installing.other_programs import remove_emptied, replace_file
from memory_assets.errors import ConfigurationError, MemoryAssetsError, StoreBusy
from memory_assets.install_key import KEY_FILE
from memory_assets.paths import SETTINGS_FILE, user_cache_dir, user_config_dir
from memory_assets.settings import Settings, load_settings
from memory_assets.status import counted
from memory_assets.stores.files.shared import is_locked

DATA = (
    *("agent_memory.db*", "catalog.db*", "chroma", "chroma.*", "claude-plugin", "dagster"),
    *("excluded.txt", "forgotten.db*", "forgotten.lock", "gateway_usage.db*"),
    *("index.json*", "index.lock", "ingest.json*", "ingest.lock", "keywords.db*", "lake"),
    *("lineage.db*", "rebuild.lock", "retention.begun", "shard.json*", "shard.lock", "shards"),
    *("versions.json*", "watcher.json*", "watcher.lock", "workspaces.json*"),
)
"""Patterns of the names that this program gives in the data directory."""
_WORKING = ("ingest.lock", "watcher.lock", "index.lock", "dagster/instance.lock", "rebuild.lock")
"""Locks of processes that write there."""


@dataclass
class Found:
    """What is there: `edited` are files of other programs that only lose what was added, with
    their contents without it (b"" if nothing else is in them); `removed` are files and directories
    with their sizes; `kept` are others, and why."""

    edited: dict[Path, bytes] = field(default_factory=dict)
    removed: dict[Path, int] = field(default_factory=dict)
    kept: dict[Path, str] = field(default_factory=dict)


def uninstall(
    yes: Annotated[
        bool, typer.Option("--yes", help="Remove it; without this, only list it.")
    ] = False,
    keep_data: Annotated[
        bool, typer.Option("--keep-data", help="Remove hooks and entries alone, not the memory.")
    ] = False,
) -> None:
    """Remove hooks, services, caches and data.

    Lists what this program left on the machine; with --yes removes it. Transcripts of agents are
    never touched. The program itself is removed with pip, or with its checkout.
    """
    settings = load_settings()
    found = find(settings, keep_data=keep_data)
    for line in _lines(found):
        typer.echo(line)
    if not found.edited and not found.removed:
        typer.echo("Nothing is left to remove.")
        return
    if not yes:
        typer.echo("Nothing was changed. `memory uninstall --yes` removes all of this.")
        return
    remove(settings, found, keep_data=keep_data)
    typer.echo("Removed. The program itself: pip uninstall memory-assets, or delete its checkout.")
    typer.echo("Claude Code's plugin, if you installed it: claude plugin uninstall memory")


def find(settings: Settings, *, keep_data: bool = False) -> Found:
    """Return what is on this machine, looking for hooks in the user's settings and in the
    projects and workspaces on record."""
    found = Found()
    directories = list(_directories(settings))
    for path in hooked_files(directories):
        found.edited[path] = without_hook(path) or b""
    for directory in directories:
        found.edited |= dict([*hooks_of(directory), *files_with_entries(directory)])
    if keep_data:
        return found
    caches, own = user_cache_dir(), user_config_dir()
    for path in (*_of_memory(settings.data_dir), caches, own / KEY_FILE):
        if path.exists():
            found.removed[path] = _size(path)
    if SETTINGS_FILE.exists():
        found.kept[SETTINGS_FILE] = "you wrote it"
    if settings.data_dir.is_dir():
        for path in settings.data_dir.iterdir():
            if path not in found.removed:
                found.kept[path] = "nothing of this program has that name"
    return found


def remove(settings: Settings, found: Found, *, keep_data: bool = False) -> None:
    """Remove what was found; the key last, without which the rest says nothing.

    Raises:
        StoreBusy: a process is writing there.
        ConfigurationError: something cannot be removed; what was before it is gone.
    """
    from memory_assets.stores.chroma import server

    if not keep_data:
        busy = [name for name in _WORKING if is_locked(settings.data_dir / name)]
        if busy:
            raise StoreBusy(
                f"a process holds {', '.join(busy)} in {settings.data_dir}: end `memory ingest`, "
                "`memory dev` and watchers, then run the command again"
            )
        server.stop(settings.data_dir)
    try:
        for path, content in found.edited.items():
            if content:
                replace_file(path, content)
            else:
                remove_emptied(path)
        for path in found.removed:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
    except OSError as error:
        raise ConfigurationError(f"{error.filename} cannot be removed: {error.strerror}") from None
    for directory in (settings.data_dir, user_config_dir()):
        with suppress(OSError):  # something else is in it, which was listed
            directory.rmdir()


def _directories(settings: Settings) -> Iterator[Path]:
    """Yield the directories of the projects and workspaces on record that are on this machine."""
    from memory_assets.stores.catalog.catalog import Catalog
    from memory_assets.stores.stores import CATALOG_FILE
    from memory_assets.stores.workspaces import Workspaces

    known: dict[Path, None] = {Path.cwd(): None}
    with suppress(MemoryAssetsError):
        known |= dict.fromkeys(each.root for each in Workspaces(settings.data_dir).all())
    if (settings.data_dir / CATALOG_FILE).exists():
        with suppress(MemoryAssetsError):
            catalog = Catalog(settings.data_dir / CATALOG_FILE)
            roots = catalog.rows("SELECT DISTINCT directory FROM sources")
            known |= {Path(str(root)): None for (root,) in roots if root}
    yield from (each for each in known if each.is_absolute() and each.is_dir())


def _of_memory(data_dir: Path) -> Iterator[Path]:
    for pattern in DATA:
        yield from sorted(data_dir.glob(pattern))


def _size(path: Path) -> int:
    files: Sequence[Path] = [path] if path.is_file() else list(path.rglob("*"))
    return sum(each.lstat().st_size for each in files if each.is_file() and not each.is_symlink())


def _lines(found: Found) -> Iterator[str]:
    """Yield what is there, in words."""
    if found.edited:
        yield f"{counted(len(found.edited), 'file')} of other programs lose what was added:"
        for path, text in found.edited.items():
            yield f"  {path}" if text else f"  {path} (nothing else is in it)"
    if found.removed:
        size = sum(found.removed.values())
        yield f"Files and directories of this program, {size / 1e6:.1f} MB:"
        yield from (f"  {path}" for path in found.removed)
    if found.kept:
        yield "These stay:"
        yield from (f"  {path}: {why}" for path, why in found.kept.items())
