"""The search for values that must not be stored, in every byte that this project keeps on disk."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from memory_assets.errors import ConfigurationError, printable
from memory_assets.pipeline.checks.deep_scan_files import pieces_of
from memory_assets.pipeline.checks.deep_scan_forms import MIN_CANARY_BYTES, ValueSearch
from memory_assets.redaction.known_secrets import KnownValues

CANARIES_FILE = "canaries.txt"
MAX_HITS = 1_000

Progress = Callable[[int], None]
"""Called with the number of bytes of files that were read since the last call."""


@dataclass(frozen=True)
class Hit:
    """A place where a value was found: file, offset (in packed content, from its start), name
    and form of the value; never the value itself."""

    path: str
    place: str
    offset: int
    what: str
    form: str


@dataclass
class DeepScan:
    """The result of a scan. `bytes` is the size of the files, `searched` includes unpacked
    content; `excluded` are the paths that were left out on purpose."""

    files: int = 0
    bytes: int = 0
    searched: int = 0
    seconds: float = 0.0
    canaries: int = 0
    known_values: int = 0
    hits: list[Hit] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    roots: list[str] = field(default_factory=list)
    excluded: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether everything could be read, and nothing was found."""
        return not self.hits and not self.unreadable


def read_canaries(paths: Iterable[Path]) -> list[tuple[str, str]]:
    """Return the canaries of files with one value a line, each with a name that says file
    and line and not the value. Empty lines and lines that begin with `#` are skipped.

    Raises:
        ConfigurationError: a file cannot be read, or a value is too short to mean anything.
    """
    found = []
    for path in paths:
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(
                f"cannot read canaries from {path}: {type(error).__name__}"
            ) from None
        for number, line in enumerate(lines, start=1):
            value = line.strip()
            if not value or value.startswith("#"):
                continue
            if len(value.encode()) < MIN_CANARY_BYTES:
                raise ConfigurationError(
                    f"line {number} of {path} has fewer than {MIN_CANARY_BYTES} bytes: too "
                    "little to tell it from other text. Use a longer canary."
                )
            found.append((f"canary of line {number}", value))
    return found


def deep_scan(
    roots: Sequence[Path],
    canaries: Sequence[tuple[str, str]],
    known: KnownValues,
    *,
    excluded: Sequence[Path] = (),
    progress: Progress = lambda count: None,
) -> DeepScan:
    """Search every byte of every file under `roots` (files or directories) for values.

    Memory stays flat: files are read in blocks. A file that vanishes meanwhile is none of
    ours any more; one that cannot be read is reported, because nothing is proven of it.
    """
    begun = time.monotonic()
    search = ValueSearch(canaries, known)
    result = DeepScan(
        canaries=len(canaries),
        known_values=len(known.hashes),
        roots=[printable(root) for root in roots if root.exists()],
        excluded=[printable(path) for path in excluded if path.exists()],
    )
    for path in files_under(roots, excluded, result.unreadable):
        try:
            _scan_file(path, search, result, progress)
        except FileNotFoundError:
            continue
        except OSError:
            result.unreadable.append(printable(path))
    result.seconds = time.monotonic() - begun
    return result


def files_under(
    roots: Sequence[Path], excluded: Sequence[Path], unreadable: list[str] | None = None
) -> Iterator[Path]:
    """Yield the regular files under `roots` but not under `excluded`, each once, in order.
    What is excluded can only be a part of a root, never one itself or what holds it.
    Directories that cannot be listed are appended to `unreadable`."""
    tops = {root.resolve() for root in roots}
    left_out = {
        real
        for real in (path.resolve() for path in excluded)
        if not any(top == real or real in top.parents for top in tops)
    }
    seen: set[Path] = set()
    for root in roots:
        for path in _walk(root, [] if unreadable is None else unreadable):
            real = path.resolve()
            if real in seen or real in left_out or left_out & set(real.parents):
                continue
            seen.add(real)
            if _is_regular(real):
                yield path


def _walk(root: Path, unreadable: list[str]) -> Iterator[Path]:
    def note(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError | NotADirectoryError):
            unreadable.append(printable(error.filename))

    if root.is_file():
        yield root
    for directory, subdirectories, names in os.walk(root, onerror=note):
        subdirectories.sort()
        yield from (Path(directory) / name for name in sorted(names))


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return False


def _scan_file(path: Path, search: ValueSearch, result: DeepScan, progress: Progress) -> None:
    found: dict[tuple[str, int, str, str], Hit] = {}
    in_name = search.matches(os.fsencode(path.name))
    shown = str(path.parent / "(a file whose name holds the value)") if in_name else printable(path)
    for match in in_name:
        found["name", 0, match.what, match.form] = Hit(shown, "name", 0, match.what, match.form)
    result.files += 1
    for piece in pieces_of(path):
        for match in search.matches(piece.data):
            hit = Hit(shown, piece.place, piece.offset + match.offset, match.what, match.form)
            found[hit.place, hit.offset, hit.what, hit.form] = hit
        result.searched += piece.fresh
        if not piece.place:
            result.bytes += piece.fresh
            progress(piece.fresh)
    result.hits += list(found.values())[: MAX_HITS - len(result.hits)]
