"""A search over several memories: this one, and shards that were pulled to this machine.

Scores of two memories cannot be compared: how rare a word is, and how far a hit is above others,
depends on what else is there. The probability that a hit answers can (`search/confidence.py`): it
is fitted on memories of all sizes. So hits are merged by it. Nothing is written, and no request
leaves the machine.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from memory_assets.errors import MemoryAssetsError, NotFound, StoreError, UnknownName
from memory_assets.install_key import load_install_key
from memory_assets.recall.documents import document_named
from memory_assets.recall.names import resolve_id
from memory_assets.recall.search.answer import (
    Answer,
    Coverage,
    Hit,
    keep_passing,
    newest_first,
    session_of,
)
from memory_assets.recall.searchable import Searchable
from memory_assets.requests.search import SearchRequest
from memory_assets.stores.shard.replicas import Replica, is_below, notes_of, replicas_of
from memory_assets.stores.tombstones import FILE_NAME as TOMBSTONES
from memory_assets.stores.tombstones import Tombstones, travelling_name

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memory_assets.embedding import Embedder

OWN, ALL = "this memory", "all"


T = TypeVar("T", bound=Searchable)


class Others(Generic[T]):
    """The replicas on this machine as memories, each opened once, and with one model for all."""

    def __init__(self, own: T) -> None:
        self._own = own
        self._opened: dict[str, T] = {}
        self._replicas = lru_cache(maxsize=1)(lambda notes: replicas_of(own.data_dir))

    def named(self, over: Sequence[str]) -> dict[str, T]:
        """Return the memories that are meant, by name: all, those whose shard is below an address,
        or whose address ends so. The own one is among them if its shard would be, and with `all`.

        Raises:
            UnknownName: nothing is meant; lists what could be.
        """
        # All are read again when one has changed: of a hundred that takes 60 ms.
        replicas = self._replicas(notes_of(self._own.data_dir))
        chosen = {
            replica.url: replica
            for replica in replicas
            if any(_matches_name(replica.url, name) for name in over)
        }
        names = short_labels([replica.url for replica in replicas])
        memories = {names[url]: self._memory(replica) for url, replica in sorted(chosen.items())}
        shard = self._own.settings.shard
        if self._own.has_catalog and any(
            name == ALL or (shard is not None and is_below(shard, name)) for name in over
        ):
            memories = {OWN: self._own, **memories}
        if memories:
            return memories
        there = ", ".join(names.values()) or "none"
        raise UnknownName(
            f"no memory {', '.join(over)} was pulled to this machine (there are: {there}); run "
            "`memory pull ADDRESS` first"
        )

    def pulled(self) -> Iterator[T]:
        """Yield the memories that were pulled, each opened when it is asked for."""
        yield from map(self._memory, replicas_of(self._own.data_dir))

    def is_forgotten(self, memory: T, any_id: str) -> bool:
        """Whether what an id names in a pulled memory was forgotten here.

        Raises:
            NotFound: that memory has nothing of this id.
        """
        if not self._forgotten:
            return False
        if document := document_named(memory, any_id.strip()):
            session = document.partition, document.path
        else:
            named = resolve_id(memory, any_id)
            session = named.project, named.parts.session_id
        return travelling_name(*session) in self._forgotten

    def search(self, request: SearchRequest) -> Answer:
        """Return the best hits of several memories; `metadata.memory` has the name of each one's.
        What was forgotten here is none, though a shard still has it.

        Raises:
            MemoryAssetsError: none of the memories can answer.
        """
        answers: dict[str, Answer] = {}
        failed: dict[str, MemoryAssetsError] = {}
        memories, alone = self.named(request.over or ()), replace(request, over=None)
        best: dict[tuple[str, str], float] = {}
        for name, memory in memories.items():
            try:
                answers[name] = self._visible_answer(
                    memory, replace(alone, least=_least_probability(best, alone))
                )
                best |= {
                    _key(hit): max(_probability(hit), best.get(_key(hit), 0.0))
                    for hit in answers[name].hits
                }
            except (NotFound, UnknownName, StoreError) as error:
                failed[name] = error
        if not answers:
            raise next(iter(failed.values()))
        # A project or session that a memory does not have is no failure of it.
        unavailable = {
            name: str(failure)
            for name, failure in failed.items()
            if isinstance(failure, StoreError)
        }
        answer, holders = merge_answers(answers, request, unavailable)
        places: dict[str, list[int]] = {}
        for place, names in enumerate(holders):
            places.setdefault(names[0], []).append(place)
        hits = dict(enumerate(answer.hits))
        for name, hits_of_memory in places.items():
            with_turns = memories[name].with_later([hits[place] for place in hits_of_memory], alone)
            hits.update(zip(hits_of_memory, with_turns, strict=True))
        named = tuple(
            replace(hit, metadata={**hit.metadata, "memory": ", ".join(names)})
            for hit, names in zip(hits.values(), holders, strict=True)
        )
        return replace(answer, hits=named)

    def _visible_answer(self, memory: T, request: SearchRequest) -> Answer:
        """Return a memory's answer without what was forgotten here, or is hidden here and not asked
        for, in whose place others come."""
        left_out = self._forgotten
        if not (request.hidden or request.session is not None):
            left_out |= {travelling_name(*session) for session in self._own.hidden.all()}
        if memory is self._own or not left_out:
            return memory.search_own(request)
        return keep_passing(
            memory.search_own,
            request,
            lambda hit: travelling_name(*_session(memory, hit)) not in left_out,
        )

    @property
    def _forgotten(self) -> frozenset[str]:
        path = self._own.data_dir / TOMBSTONES
        return Tombstones(path, load_install_key()).travelling() if path.exists() else frozenset()

    def _memory(self, replica: Replica) -> T:
        if replica.url not in self._opened:
            settings = replace(
                self._own.settings,
                data_dir=replica.directory,
                vector_backend="none",
                tenant=None,
                shard=None,
            )
            memory = type(self._own)(settings)
            memory.embedder = self._embedder
            self._opened[replica.url] = memory
        return self._opened[replica.url]

    @cached_property
    def _embedder(self) -> Embedder:
        return _CachingEmbedder(lambda: self._own.embedder)


class _CachingEmbedder:
    """An embedder that is loaded when it is needed, and keeps the vectors of the last questions,
    which every memory asks for."""

    def __init__(self, load: Callable[[], Embedder]) -> None:
        self._load = load
        self._embedded = lru_cache(maxsize=64)(lambda texts: load().embed(texts))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._load(), name)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors: NDArray[np.float32] = self._embedded(tuple(texts))
        return vectors


def _least_probability(best: Mapping[tuple[str, str], float], request: SearchRequest) -> float:
    """Return the probability below which no hit of a further memory can be among the best n: most
    memories have none, and need not make ten hits ready for nothing."""
    if request.sort == "date" or len(best) < request.n:
        return 0.0
    return heapq.nlargest(request.n, best.values())[-1]


def merge_answers(
    answers: Mapping[str, Answer], request: SearchRequest, failed: Mapping[str, str]
) -> tuple[Answer, list[tuple[str, ...]]]:
    """Return the answers of several memories, by name, as one, and the memories of each hit. What
    is in several, as where one person's machines have the same transcripts, is one hit."""
    hits: dict[tuple[str, str], Hit] = {}
    holders: dict[tuple[str, str], tuple[str, ...]] = {}
    for name, answer in answers.items():
        for hit in answer.hits:
            key = _key(hit)
            hits[key] = max(filter(None, (hits.get(key), hit)), key=_probability)
            holders[key] = (*holders.get(key, ()), name)
    by_time = request.sort == "date" or not any(hit.score for hit in hits.values())
    ranked = sorted(hits.values(), key=lambda hit: (-_probability(hit), -hit.score, hit.id))
    if by_time:
        ranked = newest_first(ranked)
    first, every = next(iter(answers.values())), list(answers.values())
    missing = set.intersection(*(set(reply.missing) for reply in every))
    asked = [word for reply in every for word in reply.corrected]
    corrected = {  # a word that another memory knows is none that is nowhere
        word: to
        for reply in every
        for word, to in reply.corrected.items()
        if asked.count(word) == len(every)
    }
    degraded = next((reply.degraded for reply in every if reply.degraded), None)
    best = tuple(ranked[: request.n])
    answer = replace(
        first,
        hits=best,
        coverage=_sum_coverage([reply.coverage for reply in every]),
        degraded=degraded,
        reason="; ".join(_reasons(answers, failed)) or None,
        older=sum(reply.older for reply in every),
        machine=sum(reply.machine for reply in every),
        corrected=corrected,
        missing=tuple(word for word in first.missing if word in missing),
        filters={**first.filters, "over": ", ".join(answers)},
    )
    return answer, [holders[_key(hit)] for hit in best]


def _reasons(answers: Mapping[str, Answer], failed: Mapping[str, str]) -> Iterator[str]:
    yield from (f"{name}: {answer.reason}" for name, answer in answers.items() if answer.reason)
    yield from (f"{name} was not searched: {reason}" for name, reason in failed.items())


def _sum_coverage(parts: Sequence[Coverage]) -> Coverage:
    counts = ("sessions", "turns", "rows", "indexed", "quarantined", "waiting")
    return Coverage(
        **{name: sum(getattr(part, name) for part in parts) for name in counts},
        as_of=min((part.as_of for part in parts if part.as_of), default=""),
        ingest=next((part.ingest for part in parts if part.ingest), ""),
        held_back=tuple(line for part in parts for line in part.held_back),
    )


def _probability(hit: Hit) -> float:
    return float(hit.why.get("answers", 0.0))


def _session(memory: Searchable, hit: Hit) -> tuple[str, str]:
    if document := document_named(memory, hit.id):
        return document.partition, document.path
    return session_of(hit)


def _key(hit: Hit) -> tuple[str, str]:
    return hit.id, str(hit.text)


def _matches_name(url: str, name: str) -> bool:
    return name == ALL or is_below(url, name) or f"/{url}".endswith(f"/{name}")


def pulled_names(data_dir: Path) -> list[str]:
    """Return the names of the memories that were pulled to a machine."""
    return list(short_labels(replica.url for replica in replicas_of(data_dir)).values())


def short_labels(urls: Iterable[str]) -> dict[str, str]:
    """Return a name for each address: its last two parts, or as many as no other one ends with."""
    names: dict[str, str] = {}
    waiting, parts = sorted(set(urls)), 2
    while waiting:
        ends = {url: "/".join(url.split("/")[-parts:]) for url in waiting}
        count = Counter(ends.values())
        alone = {url: end for url, end in ends.items() if count[end] == 1 or end == url}
        names |= alone
        waiting, parts = [url for url in waiting if url not in alone], parts + 1
    return names
