"""Derive shards in processes of this machine, or by Ray on any. Both are an `Executor` of the
standard library. A worker gets names and settings and returns counts. No credentials are sent to
Ray: its workers use those of their own environment.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, as_completed
from contextlib import suppress
from dataclasses import fields, replace
from functools import partial
from typing import Any

from memory_assets.errors import ConfigurationError, MemoryAssetsError, StoreBusy, safe_reason
from memory_assets.pipeline.checks.kingfisher import kingfisher
from memory_assets.pipeline.stage.engines import redaction_settings
from memory_assets.pipeline.stage.pool import Processes, worker_count
from memory_assets.redaction import load_redactor
from memory_assets.settings import Settings, load_settings
from memory_assets.shards.derive import DeriveReport, Work, derive

_TRIES = 3
_CREDENTIALS = tuple(field.name for field in fields(Settings) if not field.repr)


class RayExecutor(Executor):
    """Ray at RAY_ADDRESS, or one that is started here. It listens on all addresses whatever it is
    told, so one that asks for no token is not used."""

    def __init__(self, workers: int) -> None:
        # All are read when it is imported.
        if os.environ.setdefault("RAY_AUTH_MODE", "token") != "token":
            raise ConfigurationError("set RAY_AUTH_MODE=token: Ray listens on all addresses")
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            import ray
        except ImportError as error:
            raise ConfigurationError("MEMORY_DERIVE_ON: install memory-assets[ray]") from error
        local_options: dict[str, Any] = {"num_cpus": workers, "_node_ip_address": "127.0.0.1"}
        ray.init(
            include_dashboard=False,
            log_to_driver=False,
            **({} if os.environ.get("RAY_ADDRESS") else local_options),
        )
        self._ray = ray

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run a function on a CPU somewhere; again if its process or machine ends."""
        remote = self._ray.remote(num_cpus=1, max_retries=_TRIES)(fn)
        future: Future[Any] = remote.remote(*args, **kwargs).future()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leave Ray; one that was started here ends."""
        self._ray.shutdown()


def derive_all(settings: Settings, works: Sequence[Work]) -> Iterator[DeriveReport]:
    """Derive shards, and yield what came of each as it is done. One that fails stops no other; one
    whose process ended is tried once more, alone."""
    count = min(worker_count(settings), len(works))
    elsewhere = settings.derive_on == "ray"
    executor = partial(RayExecutor, count) if elsewhere else partial(Processes, count, __name__)
    function = derive_elsewhere if elsewhere else derive_safely
    works = [without_credentials(work) for work in works] if elsewhere else works
    interrupted = list[Work]()
    if count:
        with executor() as pool:
            futures = {pool.submit(function, work): work for work in works}
            for future in as_completed(futures):
                try:
                    yield future.result()
                except BrokenExecutor:
                    interrupted.append(futures[future])
    for work in interrupted:
        try:
            with executor() as pool:
                yield pool.submit(function, work).result()
        except BrokenExecutor:
            yield DeriveReport(work.name, failed="it ended two processes that worked on it")


def without_credentials(work: Work) -> Work:
    """Return the work as it may be sent to another machine."""
    none: dict[str, Any] = dict.fromkeys(_CREDENTIALS)
    return replace(work, settings=replace(work.settings, **none))


def derive_elsewhere(work: Work) -> DeriveReport:
    """Derive a shard with the credentials of this machine's own environment."""
    try:
        own = load_settings()
    except MemoryAssetsError as error:
        return DeriveReport(work.name, failed=safe_reason(error))
    held = {name: getattr(own, name) for name in _CREDENTIALS}
    return derive_safely(replace(work, settings=replace(work.settings, **held)))


def derive_safely(work: Work) -> DeriveReport:
    """Derive a shard, again if another worker was first; an error becomes a reason."""
    try:
        try:
            return derive(work)
        except StoreBusy:
            return derive(work)
    except Exception as error:  # noqa: BLE001 - one shard does not stop the others
        return DeriveReport(work.name, failed=safe_reason(error))


def prepare() -> None:
    """Compile what the first worker in a home would, for an image: the patterns of both scanners
    for secrets, and the redactor's self-test. It makes no key, of which each home has its own."""
    load_redactor(redaction_settings(load_settings()), bytes(32))
    with suppress(ImportError):  # no wheel for this platform
        kingfisher()


if __name__ == "__main__":
    prepare()
