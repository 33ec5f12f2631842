"""One `memory` command that tells its stages to a pipe, for `crash_safety.py` to kill.

The product's code runs as it is, but for three things: texts are embedded by a hash instead of
the model, which makes a round cheap; and Chroma saves its HNSW files every 100 rows instead of
every 1,000, and every stage packs small files, so that there is much to hit.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

import memory_assets.embedding as embedding

DIMENSION = 384
STAGES = {
    "scan": ("memory_assets.pipeline.scan.raw_sessions", ("scan_project",)),
    "redact": ("memory_assets.pipeline.redact.redacted_records", ("redact_project",)),
    "publish": ("memory_assets.stores.lake.lake", ("LakeBatch.publish",)),
    "compact": ("memory_assets.stores.lake.lake", ("LakeBatch.compact",)),
    "move": ("memory_assets.stores.lake.lake", ("Lake.move_own_files",)),
    "chunk": ("memory_assets.pipeline.tables.turn_chunks", ("chunk_project",)),
    "prompts": ("memory_assets.pipeline.tables.turn_chunks", ("extract_prompts",)),
    "summaries": ("memory_assets.pipeline.tables.whole_sessions", ("summarise_project",)),
    "embed": ("memory_assets.pipeline.tables.embeddings", ("embed_project",)),
    "keywords": ("memory_assets.pipeline.indexes.keywords", ("index_keywords",)),
    "checks": (
        "memory_assets.pipeline.checks.verify",
        (
            "no_secrets_remain",
            "rows_conserved",
            "audit_matches_records",
            "prompts_in_one_chunk",
            "vectors_complete",
            "collection_matches",
        ),
    ),
}

REMOVAL_STAGES = {
    "retain": ("memory_assets.pipeline.removal.retention", ("retain",)),
    "tombstones": ("memory_assets.stores.tombstones", ("Tombstones.begin",)),
    "lake": ("memory_assets.stores.lake.lake", ("Lake.delete", "Lake.remove_sessions")),
    "forks": ("memory_assets.pipeline.removal.forget", ("forget_references",)),
    "vectors": ("memory_assets.pipeline.removal.forget", ("forget_vectors",)),
    "copy": ("memory_assets.stores.chroma.copies", ("copy_collection",)),
    "swap": ("memory_assets.stores.chroma.files", ("swap",)),
    "keywords": ("memory_assets.pipeline.indexes.keywords", ("forget_keywords",)),
    "catalogue": ("memory_assets.stores.catalog.products", ("remove_sessions",)),
    "runs": ("memory_assets.cli.dagster.traces", ("erase_traces",)),
}
"""Of `memory retain` and `memory forget`. That `retain` cuts a session's records down is
told as "redact", as all redaction is."""


INDEX_STAGES = {
    "documents": ("memory_assets.pipeline.workspace.documents", ("read_documents",)),
    "cut": ("memory_assets.pipeline.workspace.chunks", ("chunk_documents",)),
}
"""Of `memory index`, beside those that all tables have."""
AGENT_STAGES = {
    "agents": (
        "memory_assets.pipeline.agent_memory.tables",
        ("make_history", "make_memories"),
    ),
}
"""Of the tables of what agents wrote, in `memory ingest`."""


class HashEmbedder:
    """Vectors that depend on the text alone, made by a hash."""

    embedder_id = "hash-for-crash-tests"
    family = "hash"
    dimension = DIMENSION
    in_process = True

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return a unit vector a text, from a generator seeded by the text's hash."""
        rows = []
        for text in texts:
            seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
            row = np.random.default_rng(seed).normal(size=DIMENSION).astype(np.float32)
            rows.append(row / np.linalg.norm(row))
        return np.array(rows, dtype=np.float32).reshape(-1, DIMENSION)

    def knows(self, text: str) -> bool:
        """Whether its vector says something of a text: always."""
        return True


def use_hash_embedder() -> None:
    """Let whoever loads an embedder from now on get the hashing one."""
    embedding.load_embedder = lambda *_, **__: HashEmbedder()


def save_often(rows: int = 100) -> None:
    """Let Chroma save its index every so many rows, in collections made from now on."""
    from memory_assets.stores.chroma import collections as vectors

    hnsw = {"space": "cosine", "sync_threshold": rows, "batch_size": min(rows, 100)}
    vectors._CONFIGURATION = {"hnsw": hnsw}  # type: ignore[dict-item]


def pack_always() -> None:
    """Let every stage pack all small files of its table, and not only many of them."""
    from memory_assets.stores.lake import partition

    partition._MOST_SMALL_FILES = 0


def tell_stages(pipe: int, stages: Mapping[str, tuple[str, Sequence[str]]] = STAGES) -> None:
    """Write a line to the pipe whenever a stage begins or ends."""

    def told(stage: str, real: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(real)
        def run(*args: Any, **kwargs: Any) -> Any:
            os.write(pipe, f"+{stage}\n".encode())
            try:
                return real(*args, **kwargs)
            finally:
                os.write(pipe, f"-{stage}\n".encode())

        return run

    for stage, (module_name, names) in stages.items():
        module = import_module(module_name)
        for name in names:
            owner, _, attribute = name.rpartition(".")
            if owner:
                held = getattr(module, owner)
                setattr(held, attribute, told(stage, getattr(held, attribute)))
            else:
                real = getattr(module, attribute)
                _put_in_place_of(real, told(stage, real))
    from memory_assets.stores.chroma.collections import ChromaCollection

    ChromaCollection.upsert = told("upsert", ChromaCollection.upsert)  # type: ignore[method-assign]


def _put_in_place_of(real: object, other: object) -> None:
    """Let every module of the project that has imported a function have the other one."""
    for name, module in list(sys.modules.items()):
        if name.startswith("memory_assets"):
            for attribute, value in list(vars(module).items()):
                if value is real:
                    setattr(module, attribute, other)


def main() -> None:
    """Run `memory` with the arguments given; the first is the pipe's number."""
    pipe = int(sys.argv[1])
    use_hash_embedder()
    removes = sys.argv[2] in ("retain", "forget")
    indexes = sys.argv[2] == "index"
    save_often(20 if removes or indexes else 100)
    pack_always()
    others = REMOVAL_STAGES if removes else INDEX_STAGES if indexes else {}
    tell_stages(pipe, {**STAGES, **AGENT_STAGES, **others})
    from memory_assets.cli.cli import main as memory

    sys.argv = ["memory", *sys.argv[2:]]
    memory()


if __name__ == "__main__":
    main()
