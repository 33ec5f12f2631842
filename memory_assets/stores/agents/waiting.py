"""Turns and memories that wait in a file until the memory can be written.

The file is in the user's configuration directory, because the data directory is not available. Only
redacted text is accepted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

from memory_assets.errors import StoreDamaged, StoreError
from memory_assets.paths import name_of, user_config_dir
from memory_assets.redacted_text import require_redacted
from memory_assets.stores.files.shared import cannot_write, locked, replace_text

_LOCK_SECONDS = 10.0
_TEXTS = ("text", "entities", "tags")
_MOST_CHARACTERS = 10_000_000
"""Characters that may wait: a directory that is never writable must not fill the disk."""


def waiting_files(data_dir: Path) -> Iterator[Path]:
    """Yield the files of entries that wait for the memory of a data directory."""
    yield from user_config_dir().glob(f"waiting-{name_of(data_dir)}*")


def drop_waiting(data_dir: Path, is_meant: Callable[[dict[str, Any]], bool]) -> int:
    """Delete the waiting entries of a memory, or of another store that its chat uses, for which
    `is_meant` is true, and return their number.

    Raises:
        StoreBusy, StoreError: a file cannot be used.
    """
    files = (path for path in waiting_files(data_dir) if path.suffix == ".jsonl")
    return sum(Waiting(path).drop(is_meant) for path in files)


class Waiting:
    """The entries that wait in a file, in order. Processes may share the file.

    Raises:
        StoreBusy, StoreError: by `add` and `send`; the file cannot be used.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    @classmethod
    def of(cls, data_dir: Path, store: str = "") -> Waiting:
        """Return the entries that wait for a data directory, or for another store of its chat."""
        hashed = blake2b(store.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
        name = f"waiting-{name_of(data_dir)}{f'-{hashed}' if store else ''}.jsonl"
        return cls(user_config_dir() / name)

    def drop(self, is_meant: Callable[[dict[str, Any]], bool]) -> int:
        """Delete entries, and return their number."""
        with self._locked():
            before = self.entries()
            left = [entry for entry in before if not is_meant(entry)]
            if len(left) < len(before):
                self._put([json.dumps(entry) for entry in left])
        return len(before) - len(left)

    def entries(self) -> list[dict[str, Any]]:
        """Return the waiting entries.

        Raises:
            StoreDamaged: the file cannot be read.
        """
        try:
            return [json.loads(line) for line in self._lines()]
        except ValueError:
            raise self._damaged() from None

    def add(self, entry: Mapping[str, Any]) -> None:
        """Add an entry, unless it is there already.

        Raises:
            TypeError: a text of it is not redacted.
            StoreError: more than `_MOST_CHARACTERS` characters would wait.
        """
        for name in _TEXTS:
            texts = entry.get(name) or ()
            require_redacted([texts] if isinstance(texts, str) else texts)
        line = json.dumps(entry)
        with self._locked():
            lines = self._lines()
            if line in lines:
                return
            if sum(map(len, lines)) + len(line) > _MOST_CHARACTERS:
                remedy = "See to it that the memory can be written, then run `memory ingest`."
                raise StoreError(f"{self._path} has all that may wait for the memory. {remedy}")
            self._put([*lines, line])

    def send(self, send: Callable[[dict[str, Any]], None]) -> int:
        """Call `send` with each entry, in order, remove those that were sent, and return their
        number. The first error is raised, and the other entries stay."""
        if not self._path.exists():
            return 0
        with self._locked():
            left, sent = self.entries(), 0
            try:
                while left:
                    send(left[0])
                    left.pop(0)
                    sent += 1
            finally:
                if sent:
                    self._put([json.dumps(entry) for entry in left])
        return sent

    def _lines(self) -> list[str]:
        try:
            return self._path.read_text("utf-8").splitlines()
        except FileNotFoundError:
            return []
        except (OSError, ValueError):
            raise self._damaged() from None

    def _damaged(self) -> StoreDamaged:
        remedy = "Correct it, or move it away: what waited is in it."
        return StoreDamaged(f"{self._path} is damaged. {remedy}")

    def _put(self, lines: list[str]) -> None:
        try:
            if lines:
                replace_text(self._path, "".join(f"{line}\n" for line in lines))
            else:
                self._path.unlink(missing_ok=True)
        except OSError as error:
            raise cannot_write(self._path, error) from None

    def _locked(self) -> Any:
        busy = "another process has been sending what waits for the memory; try again"
        return locked(self._path.with_suffix(".lock"), _LOCK_SECONDS, busy)
