"""The stores and engines that the stages work with, opened once and only when used."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout

from memory_assets.chunking import CHUNKER_VERSION
from memory_assets.embedding import Embedder, load_embedder
from memory_assets.errors import StoreBusy
from memory_assets.http.endpoint_use import EndpointUse, is_endpoint
from memory_assets.http.model_endpoint import RateLimit
from memory_assets.pipeline.stage.engines import Engines, redaction_settings
from memory_assets.pipeline.stage.pool import Pool
from memory_assets.pipeline.stage.session_cache import ReadRecords, SessionCache
from memory_assets.record_identity import RecordIdentity
from memory_assets.redaction import Redactor, SessionRedactor, ruleset_version
from memory_assets.redaction.edits import FORGOTTEN_TEXT
from memory_assets.settings import Settings
from memory_assets.stores.files.shared import cannot_write
from memory_assets.stores.gateway_usage import FILE_NAME as USAGE_FILE
from memory_assets.stores.gateway_usage import request_noter, tokens_since
from memory_assets.stores.runs.ledger import FILE_NAME, RunLedger
from memory_assets.stores.stores import opened_once
from memory_assets.stores.tombstones import FILE_NAME as TOMBSTONES_FILE
from memory_assets.stores.tombstones import Tombstones
from memory_assets.stores.vector_store import CollectionVersions
from memory_assets.summaries import Summarizer, load_summarizer

if TYPE_CHECKING:
    from memory_assets.documents.walk import Walk

_LOG = logging.getLogger(__name__)
_DAY_SECONDS = 86_400
Progress = Callable[[str, str, int, int], None]
"""Called before each session is processed: project, table, the session's number, their count."""
Enough = Callable[[int], bool]
"""Given how many sessions a stage has tried: whether to leave the rest to the next run."""


class Components(Engines):
    """The stores and engines of one memory, made from the settings; each is opened or loaded on
    first use. `clock` returns the present time in Unix seconds, by which stages tell what is old.
    """

    run_id = ""
    """The run that makes the products; "" outside of runs."""
    pool: Pool | None = None
    """Worker processes that compute rows before the stages need them."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.time) -> None:
        super().__init__(settings, clock)
        self.progress: Progress = lambda project, table, number, count: None
        self.enough: Enough = lambda rows: False

    def for_run(
        self, run_id: str, progress: Progress | None = None, enough: Enough | None = None
    ) -> Components:
        """Return the components of one run, which shares all opened stores and engines."""
        copy = Components(self.settings, self.clock)
        copy.opened, copy.run_id, copy.progress = self.opened, run_id, progress or self.progress
        copy.enough = enough or self.enough
        return copy

    def precomputed(self, session: tuple[str, str], key: Hashable) -> Any | None:
        """Return the result of a worker process for a session under this key, or None.

        Raises:
            ProcessEnded: the session's job has crashed two processes.
        """
        return self.pool.take(session, key) if self.pool is not None else None

    @opened_once
    def walks(self) -> dict[Path, Walk]:
        """The files of workspaces by root, while several steps need them (`workspace/files.py`)."""
        return {}

    @opened_once
    def read_records(self) -> ReadRecords:
        """The records of scanned files, for redaction."""
        return ReadRecords()

    @opened_once
    def _project_locks(self) -> dict[str, FileLock]:
        return {}

    @opened_once
    def identity(self) -> RecordIdentity:
        """The keyed hashes of record ids and contents."""
        return RecordIdentity(self.install_key)

    @property
    def tombstones(self) -> Tombstones:
        """The tombstones of this memory; the install key is read only if there are any."""
        path = self.data_dir / TOMBSTONES_FILE
        return Tombstones(path, self.install_key if path.exists() else b"")

    @opened_once
    def runs(self) -> RunLedger:
        """The runs behind the products on record."""
        return RunLedger(self.data_dir / FILE_NAME)

    @opened_once
    def sessions(self) -> SessionCache:
        """The records of sessions, for the stages that follow redaction."""
        return SessionCache(self.lake)

    def redactor_of(self, session_id: str) -> Redactor | SessionRedactor:
        """Return the redactor for text composed from a session, or from elsewhere, such as Git; it
        also removes texts that `memory forget` cut."""
        cut = self.catalog.known_secrets.hashes(FORGOTTEN_TEXT)
        return self.redactor.session(session_id, cut) if cut else self.redactor

    @property
    def ruleset_version(self) -> str:
        """The version of the redaction rules; does not load the redactor."""
        loaded: Redactor | None = self.opened.get("redactor")
        return loaded.ruleset_version if loaded is not None else self._version_of_settings

    @opened_once
    def _version_of_settings(self) -> str:
        return ruleset_version(redaction_settings(self.settings))

    @cached_property
    def embedder(self) -> Embedder:
        """The embedding model; requests to one at an endpoint are noted with the run."""
        name, key = self.settings.embedder, self.settings.embedder_key
        if not is_endpoint(name):
            return self._model
        parallel = self.settings.embedder_parallel
        return load_embedder(
            name, key=key, note=self._note, parallel=parallel, limit=self._rate_limit
        )

    @opened_once
    def _rate_limit(self) -> RateLimit:
        """The rate limit of requests for vectors, shared by all runs."""
        return RateLimit(self.settings.embedder_per_minute)

    @opened_once
    def _model(self) -> Embedder:
        return load_embedder(self.settings.embedder)

    @cached_property
    def _note(self) -> Callable[[EndpointUse], None]:
        return request_noter(self.data_dir / USAGE_FILE, "ingest", self.run_id)

    @cached_property
    def summarizer(self) -> Summarizer:
        """The summarizer."""
        name, usage = self.settings.summarizer, self.data_dir / USAGE_FILE
        if not is_endpoint(name):
            return load_summarizer(name)
        from memory_assets.summaries.endpoint import ROUTE, load_endpoint_summarizer

        def left() -> int:
            today = self.clock() // _DAY_SECONDS * _DAY_SECONDS
            return self.settings.summarizer_daily_tokens - tokens_since(usage, today, ROUTE)

        return load_endpoint_summarizer(
            name,
            key=self.settings.summarizer_key,
            note=self._note,
            redact=lambda text: self.redactor.redact(text).text,
            left=left,
        )

    @opened_once
    def collection_versions(self) -> CollectionVersions:
        """The versions with which rows of the collections are made now."""
        return CollectionVersions(
            embedder_id=self.embedder.embedder_id,
            dimension=self.embedder.dimension,
            chunker_version=CHUNKER_VERSION,
            ruleset_version=self.ruleset_version,
        )

    @contextmanager
    def project_lock(self, project: str, seconds: float | None = None) -> Iterator[None]:
        """Lock a project against other writers for the block; the lock is reentrant.

        Raises:
            StoreBusy: another process held the lock for longer than `seconds`, or the lock timeout.
            StoreError: the data directory cannot be written.
        """
        if "catalog" not in self.opened and self.lake.all_projects():
            _ = self.catalog  # made anew, it locks all projects, to move files of a version before
        lock = self._project_locks.get(project)
        if lock is None:
            path = self.lake.lock_path(project)
            lock = FileLock(path)
            lock = self._project_locks.setdefault(project, lock)
        if lock.is_locked:
            yield
            return
        timeout = self.settings.lock_timeout_seconds if seconds is None else seconds
        self._acquire(lock, project, timeout)
        try:
            yield
        finally:
            lock.release()

    def _acquire(self, lock: FileLock, project: str, seconds: float) -> None:
        """Acquire a lock, with a warning if another process holds it."""
        path = Path(lock.lock_file)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            lock.acquire(blocking=False)
        except Timeout:
            if seconds:
                _LOG.warning(
                    "another process is at work on %s; waiting for up to %.0f s", project, seconds
                )
            try:
                lock.acquire(timeout=seconds)
            except Timeout:
                writes = f"has been writing project {project} for {seconds:.0f} s"
                raise StoreBusy(
                    f"another process {writes if seconds else f'is writing project {project}'}; "
                    "see `memory status`, then try again"
                ) from None
        except OSError as error:
            raise cannot_write(path, error) from error


@lru_cache(maxsize=4)
def components_of(settings: Settings) -> Components:
    """Return the stores and engines of one memory, which are opened once for each process."""
    return Components(settings)
