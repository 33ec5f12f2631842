"""Facts from files: the agents' transcripts compared with the catalogue, and the other files in
their directories: known and left out for a reason, or unknown."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory_assets.agents import AGENTS, HISTORY_FILE
from memory_assets.errors import printable
from memory_assets.paths import SAMPLE_DIR, Roots, is_gone, is_sample, split_locator
from memory_assets.settings import Settings
from memory_assets.status.excluded import NOTHING_EXCLUDED, Exclusions
from memory_assets.stores.catalog.catalog import Catalog

if TYPE_CHECKING:
    from memory_assets.transcripts import Source, Unlisted


_DESKTOP = "written by file managers, editors and version control"
_DESKTOP_FILES = tuple((name, _DESKTOP) for name in (".DS_Store", "Thumbs.db", "*~", ".git/*"))
_LINK = "links to directories that are looked into"
_COPY = "another copy of a transcript that is read"
_SETTINGS = "settings and caches of the agent beside its transcripts"
_MAY_BE_TRANSCRIPTS = re.compile(
    r"\.(jsonl|ndjson|zst|gz|xz|bz2|zip|tar|tgz|db|sqlite3?|vscdb)(-wal|-shm)?\Z"
)
_NAME_ENDING = re.compile(r"(?:\.[a-z]{1,5})?\.[A-Za-z0-9]{1,8}(?:-wal|-shm)?\Z")
_SHOWN = 5


@dataclass
class OtherFiles:
    """How many files are left out, by reason, and how many nobody knows, by agent and kind
    (`codex *.jsonl.zst`), with the `first` of each kind."""

    left_out: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)

    def add(self, agent: str, root: Path, path: str, *, is_copy: bool = False) -> None:
        """Add a file, or a directory too deep to be looked into (it ends with "/"), below an
        agent's directory; `is_copy`: a transcript of its name is read."""
        if reason := _COPY if is_copy else _reason(agent, root, path):
            self.left_out[reason] += 1
        else:
            kind = f"{agent} {_kind(path)}"
            self.unknown[kind] += 1
            self.first.setdefault(kind, printable(path))

    def to_dict(self) -> dict[str, Any]:
        """Return the counts, and the first unknown files, as JSON has them."""
        return {
            "files_left_out": dict(self.left_out),
            "files_unknown": dict(self.unknown),
            "files_unknown_first": self.first,
        }

    def sentence(self) -> str:
        """Return which files nobody knows, as one line; "" if there are none."""
        if not self.unknown:
            return ""
        kinds = ", ".join(f"{kind} ({number})" for kind, number in self.unknown.most_common(_SHOWN))
        more = len(self.unknown) - _SHOWN
        rest = f" and {more} more kinds" if more > 0 else ""
        number = self.unknown.total()
        files = f"{number} file{'s' * (number != 1)} in the agents' directories"
        return f"{files} that no reader knows: {kinds}{rest}"


def _reason(agent: str, root: Path, path: str) -> str:
    """Return why a file is not read, "" if nobody knows."""
    if leads_back(root, path):
        return _LINK
    may_be_read = path.endswith("/") or _MAY_BE_TRANSCRIPTS.search(path) is not None
    folders = _session_folders(agent, root)
    inside = path[len(str(root)) :]
    if not may_be_read and folders and not _is_in(folders, inside[1:]):
        return _SETTINGS
    for pattern, reason in (*AGENTS[agent].other_files, *_DESKTOP_FILES):
        if fnmatchcase(inside, f"*/{pattern}"):
            return reason
    return ""


def leads_back(root: Path, path: str) -> bool:
    """Return whether a path is a link to a directory in the agent's own, which is looked into under
    its own name."""
    given = Path(path)
    is_link = given.is_symlink() and given.is_dir()
    return is_link and given.resolve().is_relative_to(root.resolve())


def _is_in(folders: Set[str], path: str) -> bool:
    """Return whether a path begins with one of these folders, or has one below its first."""
    first, _, rest = path.partition("/")
    return first in folders or rest.partition("/")[0] in folders


@lru_cache(maxsize=16)
def _session_folders(agent: str, root: Path) -> frozenset[str]:
    """Return the names of the folders with transcripts below a home; none if `root` is one."""
    names = AGENTS[agent].folders
    places = (root / above / name for above in ("", "agent") for name in names)
    is_home = root.name not in names and any(place.is_dir() for place in places)
    return names if is_home else frozenset()


def _kind(path: str) -> str:
    if path.endswith("/"):
        return "directories too deep to be looked into"
    suffix = _NAME_ENDING.search(path)
    return f"*{suffix.group()}" if suffix else "files without a suffix"


_SUFFIX = ".jsonl"
_ENDINGS = (_SUFFIX, f"{_SUFFIX}.zst", f"{_SUFFIX}.gz")
_DEPTH = 8
_LINE_AGENTS = frozenset(name for name, agent in AGENTS.items() if agent.of_lines)
"""Agents all of whose transcripts are files with these endings; the sessions of the others are
listed by their readers."""
_OTHER_NAMES = frozenset({HISTORY_FILE, "journal.jsonl", "session_index.jsonl"})
_OTHER_PREFIXES = ("agent-aprompt_suggestion-", "agent-acompact-")
"""Names of files that no reader accepts; the readers decide on all others."""

Facts = tuple[int, int]
"""Size and mtime in nanoseconds."""


@dataclass
class Disk:
    """Files of transcripts on disk, those that differ from the ledger (`pending`: project and when
    they were written, by path), paths that the ledger believes in and that are gone, and those
    that could not be listed, read or named."""

    files: int = 0
    bytes: int = 0
    newest_ns: int = 0
    pending: dict[str, tuple[str, int]] = field(default_factory=dict)
    vanished: int = 0
    unlisted: list[Unlisted] = field(default_factory=list)
    others: OtherFiles = field(default_factory=OtherFiles)
    """Files that are no transcripts on record, nor pending."""
    excluded: int = 0
    """Files of transcripts that are never read."""
    troubled: bool = False
    """True if a path was found which the readers may not be able to read."""


def roots_to_read(settings: Settings, catalog: Catalog) -> Roots:
    """Return the directories to read per agent, as set or by default, but never the sample's for a
    memory that has sessions of other directories: their agent's home is missing, and nothing
    stands in for it."""
    roots = settings.transcript_roots()
    return {} if is_sample(roots) and has_own_sessions(catalog, settings.data_dir) else roots


def stored_roots(roots: Roots) -> list[tuple[str, Path]]:
    """Return agent and directory of the roots whose sessions only a reader can list."""
    return [(agent, root) for agent in roots if agent not in _LINE_AGENTS for root in roots[agent]]


def has_own_sessions(catalog: Catalog, data_dir: Path) -> bool:
    """Return whether a memory has sessions of others than the sample's. One whose catalogue was
    lost counts as such: whose sessions the lake has is not known before it is made again."""
    own, of_sample = _projects(catalog)
    nothing_known = not own and not of_sample
    return bool(own) or (nothing_known and (data_dir / "lake" / "redacted_records").exists())


def sample_beside_own(catalog: Catalog) -> list[str]:
    """Return the projects of the sample, where they are on record beside sessions of others."""
    own, of_sample = _projects(catalog)
    return of_sample if own else []


def _projects(catalog: Catalog) -> tuple[list[str], list[str]]:
    """Return the projects with files that are not the sample's, and those with files of it."""
    sample = f"{SAMPLE_DIR}{os.sep}"
    rows = catalog.rows(
        "SELECT DISTINCT substr(path, 1, ?) = ?, project FROM sources ORDER BY 2",
        len(sample),
        sample,
    )
    of_sample = [project for is_of_sample, project in rows if is_of_sample]
    return [project for is_of_sample, project in rows if not is_of_sample], of_sample


def look(
    catalog: Catalog, roots: Roots, data_dir: Path, excluded: Exclusions = NOTHING_EXCLUDED
) -> Disk:
    """Return the state of the files on disk, at the cost of one `stat` per file."""
    known: dict[str, tuple[int, int, bool]] = {}
    projects: dict[str, str] = {}
    parts: dict[str, str] = {}
    left_out: set[str] = set()
    for row in catalog.rows(
        "SELECT path, size, mtime_ns, gone_at, project, facts ->> '$.parts', agent,"
        " IFNULL(directory, '') FROM sources"
    ):
        known[row[0]] = row[1], row[2], row[3] is not None
        projects[row[0]] = row[4]
        parts |= dict.fromkeys(json.loads(row[5]) if row[5] else (), row[0])
        if excluded.cover(row[6], row[4], row[7], row[0]):
            left_out.add(row[0])
    disk = Disk()
    unknown: dict[str, Facts] = {}
    seen: set[str] = set()
    agents: dict[str, tuple[str, Path]] = {}
    visited = set[str]()
    of_lines = {agent: paths for agent, paths in roots.items() if agent in _LINE_AGENTS}
    for agent, root in ((agent, root) for agent, paths in of_lines.items() for root in paths):
        files = _files(str(root), _DEPTH, disk, (agent, root), visited)
        for path, facts in _join_parts(files, parts):
            noted = known.get(path)
            if noted is None:
                unknown[path] = facts
                agents[path] = agent, root
                continue
            seen.add(path)
            _count(disk, facts)
            if noted != (*facts, False) and path not in left_out:
                disk.pending[path] = projects[path], facts[1]
    if unknown or disk.pending or disk.troubled:
        for source, project in _transcripts(catalog, of_lines, data_dir, disk.unlisted):
            is_excluded = excluded.cover_source(source)
            for path in map(str, source.files):
                if path in unknown:
                    del agents[path]
                    disk.excluded += is_excluded
                    if is_excluded or project is None or path != str(source.path):
                        continue  # or forgotten, or counted with the first
                    _count(disk, unknown[path])
                    disk.pending[path] = project, unknown[path][1]
    stored = {agent: paths for agent, paths in roots.items() if agent not in _LINE_AGENTS}
    in_stores = _transcripts(catalog, stored, data_dir, disk.unlisted) if stored else ()
    containers = _look_at_stores(disk, in_stores, known, projects, seen, excluded)
    _add_unread(disk, agents, {*seen, *disk.pending})
    disk.excluded += len(left_out & seen)
    disk.vanished = sum(
        not gone
        and bool(path)
        and path not in seen
        and (is_gone(path) or ("#" in path and split_locator(path)[0] in containers))
        for path, (_, _, gone) in known.items()
    )
    return disk


def _look_at_stores(
    disk: Disk,
    sources: Iterable[tuple[Source, str | None]],
    known: Mapping[str, tuple[int, int, bool]],
    projects: Mapping[str, str],
    seen: set[str],
    excluded: Exclusions,
) -> Set[str]:
    """Count the sessions of stores that are no files of lines, note those that are on record in
    `seen`, and return the paths of the stores."""
    containers = set[str]()
    for source, project in sources:
        path = source.locator
        facts = source.size, source.mtime_ns
        noted = known.get(path)
        containers.add(str(source.path))
        if excluded.cover_source(source):
            disk.excluded += noted is None  # what is on record is counted with the files
            seen |= {path} if noted else set()
            continue
        if noted is None and project is None:
            continue
        seen.add(path)
        _count(disk, facts)
        if noted != (*facts, False):
            disk.pending[path] = project or projects[path], facts[1]
    return containers


def _add_unread(disk: Disk, agents: Mapping[str, tuple[str, Path]], read: Set[str]) -> None:
    """Add the files that no reader takes, by path with their agent and its directory, but for
    those that could not be read."""
    unlisted = tuple(path.path for path in disk.unlisted)
    names = {_plain_name(path) for path in read}
    for path, (agent, root) in agents.items():
        if not printable(path).startswith(unlisted):
            disk.others.add(agent, root, path, is_copy=_plain_name(path) in names)


def _plain_name(path: str) -> str:
    """Return a file's name as it is when it is not compressed."""
    name = path.rpartition(os.sep)[2]
    return f"{name.partition(_SUFFIX)[0]}{_SUFFIX}"


def _join_parts(
    files: Iterable[tuple[str, Facts]], parts: Mapping[str, str]
) -> Iterator[tuple[str, Facts]]:
    """Yield path and facts of each source: those of a file whose `parts` (path of the first file by
    that of a further one) are other files are the sum of their sizes and the newest time."""
    several = set(parts.values())
    sums: dict[str, Facts] = {}
    for path, facts in files:
        first = parts.get(path, path)
        if first not in several:
            yield path, facts
            continue
        size, newest = sums.get(first, (0, 0))
        sums[first] = size + facts[0], max(newest, facts[1])
    yield from sums.items()


def _count(disk: Disk, facts: Facts) -> None:
    disk.files += 1
    disk.bytes += facts[0]
    disk.newest_ns = max(disk.newest_ns, facts[1])


def _files(
    directory: str, depth: int, disk: Disk, place: tuple[str, Path], visited: set[str]
) -> Iterator[tuple[str, Facts]]:
    """Yield path and facts of each file that may be a transcript; all else is added as another, of
    the agent and its directory in `place`. Directories in `visited` are passed over, and others
    added to it: one root may be in another, and a link lead to what was seen."""
    real = os.path.realpath(directory)
    if real in visited:
        return
    visited.add(real)
    try:
        entries = list(os.scandir(directory))
    except OSError as error:
        disk.troubled |= not isinstance(error, FileNotFoundError)
        return
    for entry in entries:
        if not entry.name.isprintable():
            disk.troubled = True
        try:
            if entry.name.endswith(_ENDINGS):
                if entry.name not in _OTHER_NAMES and not entry.name.startswith(_OTHER_PREFIXES):
                    status = entry.stat()
                    yield entry.path, (status.st_size, status.st_mtime_ns)
                    continue
            elif entry.is_dir() and not (entry.is_symlink() and leads_back(place[1], entry.path)):
                if depth:
                    yield from _files(entry.path, depth - 1, disk, place, visited)
                else:
                    disk.others.add(*place, f"{entry.path}/")
                continue
            disk.others.add(*place, entry.path)
        except OSError:
            disk.troubled = True


def _transcripts(
    catalog: Catalog, roots: Roots, data_dir: Path, unlisted: list[Unlisted]
) -> Iterator[tuple[Source, str | None]]:
    """Yield each transcript with its project, None for one that was forgotten; append those that
    cannot be read to `unlisted`. Files that the catalogue knows are not opened."""
    from memory_assets.install_key import load_install_key
    from memory_assets.status.found_sources import find_all
    from memory_assets.status.ledger_sources import LedgerSources
    from memory_assets.stores.tombstones import FILE_NAME, Forgotten, Tombstones

    tombstones = data_dir / FILE_NAME
    forgotten = Forgotten()
    if tombstones.exists():
        forgotten = Tombstones(tombstones, load_install_key()).forgotten()
    rows = catalog.sources.rows()
    known = LedgerSources(rows, catalog.sources.containers())
    for source in find_all(rows, roots, known, unlisted.append):
        was_forgotten = (source.project, source.session_id) in forgotten
        yield source, None if was_forgotten else source.project
