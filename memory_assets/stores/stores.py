"""The stores of one data directory, each opened when it is first used."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from importlib.abc import MetaPathFinder
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from memory_assets.errors import NotFound, StoreError
from memory_assets.stores.catalog.catalog import CATALOG_FILE, Catalog
from memory_assets.stores.chroma import files as chroma_files
from memory_assets.stores.files.shared import cannot_write, locked, replace_text

HIDDEN_FILE = "hidden.txt"
"""The file in the data directory, with lines of project, tab and session."""
SessionKey = tuple[str, str]


class HiddenSessions:
    """The hidden sessions of one data directory, by project and id."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def all(self) -> frozenset[SessionKey]:
        """Return the hidden sessions.

        Raises:
            StoreError: their file cannot be read.
        """
        try:
            lines = self._path.read_text("utf-8", "replace").split("\n")
        except FileNotFoundError:
            return frozenset()
        except OSError as error:
            reason = f"cannot read {self._path}: {error.strerror}. It says what is hidden"
            raise StoreError(f"{reason}: correct its permissions.") from None
        parted = (line.rpartition("\t") for line in lines)
        return frozenset((project, session) for project, tab, session in parted if tab)

    def add(self, sessions: Iterable[SessionKey]) -> bool:
        """Hide sessions, and return whether any was not hidden before.

        Raises:
            StoreBusy, StoreError: the file cannot be written.
        """
        return self._note(frozenset[SessionKey].union, sessions)

    def remove(self, sessions: Iterable[SessionKey]) -> bool:
        """Show sessions again, and return whether any was hidden.

        Raises:
            StoreBusy, StoreError: the file cannot be written.
        """
        return self._path.exists() and self._note(frozenset[SessionKey].difference, sessions)

    def _note(
        self,
        change: Callable[[frozenset[SessionKey], Iterable[SessionKey]], frozenset[SessionKey]],
        sessions: Iterable[SessionKey],
    ) -> bool:
        with locked(self._path.with_suffix(".lock"), 30.0, f"{self._path} is being written"):
            before = self.all()
            after = change(before, sessions)
            if after == before:
                return False
            lines = (f"{project}\t{session}\n" for project, session in sorted(after))
            try:
                replace_text(self._path, "".join(lines))
            except OSError as error:
                raise cannot_write(self._path, error) from None
        return True


STORE_NAMES = {"chromadb": "Chroma", "qdrant": "qdrant", "none": "Collections"}
"""Names of the stores of vectors, by the value of `vector_backend`."""
_TRUST_SECONDS = 1.0
"""How long a vector server that answered is taken to be running, without asking again."""

T = TypeVar("T")

if TYPE_CHECKING:  # a search needs none of them, and pyarrow takes 70 ms
    from memory_assets.stores.agents.journal import AgentJournal
    from memory_assets.stores.lake.lake import Lake
    from memory_assets.stores.vector_store import VectorStore


def require_memory(data_dir: Path) -> None:
    """Raise `NotFound` if nothing was ever ingested into a data directory."""
    if not (data_dir / CATALOG_FILE).exists():
        raise NotFound(
            f"there is no memory in {data_dir} yet; run `memory ingest` first, or "
            "`memory index ROOT` for documents"
        )


class _NoPandas(MetaPathFinder):
    def find_spec(self, name: str, path: object, target: object = None) -> None:
        if name == "pandas":
            raise ImportError(name)


def _keep_pandas_out() -> None:
    """Have pyarrow's first conversions find no pandas. They import it (.4 s of CPU) only to
    recognise its types; `to_pandas` looks for it again."""
    import pyarrow as pa

    if "pandas" not in sys.modules:
        sys.meta_path.insert(0, finder := _NoPandas())
        try:
            pa.array([0])
            pa.scalar(0, pa.timestamp("us", tz="UTC")).as_py()
        finally:
            sys.meta_path.remove(finder)


class opened_once(Generic[T]):  # noqa: N801 - written as `cached_property` is
    """A property of `Stores` that is computed on first use, by one thread, and kept in `opened`, so
    that all objects with the same `opened` share it; so is the lock that other threads wait for."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, stores: Stores | None, owner: type | None = None) -> T:
        if stores is None:  # of the class
            return self  # type: ignore[return-value]
        if self._name not in stores.opened:
            with stores.opened.setdefault(f"lock of {self._name}", RLock()):
                if self._name not in stores.opened:
                    stores.opened[self._name] = self._make(stores)
        store: T = stores.opened[self._name]
        return store


class Stores:
    """Lake, catalogue and collections of a data directory. `vectors_url` None: its own Chroma,
    whose token is known. At a `vectors_url` the collections of a `tenant` begin with its name."""

    journal_seconds = 30.0
    """How long the journal waits for a lock of another process."""

    def __init__(
        self,
        data_dir: Path,
        *,
        vector_backend: str,
        vectors_url: str | None,
        vectors_key: str | None,
        chroma_idle_seconds: float,
        tenant: str | None = None,
    ) -> None:
        self.data_dir = data_dir
        self.opened: dict[str, Any] = {}
        """The stores and engines that are open, by the names of their properties."""
        self.chroma_dir = data_dir / "chroma"
        self.vectors_name = STORE_NAMES[vector_backend]
        self.vectors_url = vectors_url
        self._vectors_key = vectors_key
        self._prefix = f"{tenant}." if tenant and vectors_url else ""
        self._chroma_idle_seconds = chroma_idle_seconds

    @property
    def has_catalog(self) -> bool:
        """Whether anything was ever ingested; opening the catalogue would create it."""
        return (self.data_dir / CATALOG_FILE).exists()

    @property
    def hidden(self) -> HiddenSessions:
        """The sessions that a person hid."""
        return HiddenSessions(self.data_dir / HIDDEN_FILE)

    @property
    def has_chroma_files(self) -> bool:
        """Whether this directory's own Chroma ever stored anything that is still there."""
        return chroma_files.has_database(self.chroma_dir)

    @opened_once
    def lake(self) -> Lake:
        """The Parquet tables. The catalogue, if there is one, is opened first, which migrates files
        of earlier versions."""
        from memory_assets.stores.lake.lake import Lake

        _keep_pandas_out()
        if (self.data_dir / CATALOG_FILE).exists():
            _ = self.catalog
        return Lake(self.data_dir / "lake")

    @opened_once
    def catalog(self) -> Catalog:
        """The catalogue, created if there is none."""
        return Catalog(self.data_dir / CATALOG_FILE)

    @opened_once
    def journal(self) -> AgentJournal:
        """The journal of what agents wrote themselves, created if there is none."""
        from memory_assets.stores.agents.journal import FILE_NAME, AgentJournal

        return AgentJournal(self.data_dir / FILE_NAME, seconds=self.journal_seconds)

    @property
    def vectors(self) -> VectorStore:
        """The connection to the collections. A local server that stopped (idle, killed) is started
        again, if its last check is more than a second ago."""
        store, checked_at = self._checked_store
        if time.monotonic() - checked_at > _TRUST_SECONDS:
            store.find_server()
            self.opened["_checked_store"] = store, time.monotonic()
        return store

    @opened_once
    def _checked_store(self) -> tuple[VectorStore, float]:
        """The connection, and the time at which its server last answered."""
        return self._connect(), time.monotonic()

    def _connect(self) -> VectorStore:
        if self.vectors_name == "qdrant":
            from memory_assets.stores.qdrant.collections import QdrantStore

            return QdrantStore(str(self.vectors_url), self._vectors_key, self._prefix)
        from memory_assets.stores.chroma.collections import ChromaStore

        return ChromaStore(
            self.data_dir,
            url=self.vectors_url,
            token=self._vectors_key,
            idle_seconds=self._chroma_idle_seconds,
            prefix=self._prefix,
        )
