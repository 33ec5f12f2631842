"""Vectors of documents' texts that have gone, kept so that a text that comes back (a branch that is
switched to and back) is not embedded again."""

from __future__ import annotations

from collections.abc import Container
from hashlib import blake2b

from memory_assets.errors import DamagedFile, NotFound
from memory_assets.pipeline.stage.components import Components
from memory_assets.stores.lake.schemas import WORKSPACE_EMBEDDINGS


def vector_key(components: Components, content_hash: str) -> bytes:
    """Return the keyed hash under which the catalogue has a text's vector by the present
    embedder."""
    named = f"{content_hash}\0{components.embedder.embedder_id}".encode()
    return blake2b(named, key=components.install_key, digest_size=16).digest()


def keep_vectors(
    components: Components, partition: str, path: str, version: str, but: Container[str] = ()
) -> None:
    """Keep the vectors of a document, except those of the texts that it still has (`but`, by
    hash); `version`: what made the document. Nothing if there are none."""
    if not components.embeds:
        return
    try:
        stored = components.lake.read_vectors(WORKSPACE_EMBEDDINGS, partition, path)
    except (NotFound, DamagedFile):
        return
    present = components.embedder.embedder_id
    rows = zip(stored.content_hashes, stored.embedder_ids, stored.vectors, strict=True)
    leaving = {
        vector_key(components, content_hash): vector.tobytes()
        for content_hash, made_by, vector in rows
        if made_by == present and content_hash not in but
    }
    components.catalog.kept_vectors.put(partition, path, version, leaving)
