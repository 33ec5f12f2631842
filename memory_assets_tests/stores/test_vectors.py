"""Stores of vectors hold what was put, refuse what does not fit, and quote nothing: a Chroma server
of its own process, and qdrant-client in a directory."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from memory_assets.errors import ConfigurationError, NotFound, StoreBusy, StoreError, StoreMismatch
from memory_assets.redacted_text import RedactedText, seal
from memory_assets.stores.chroma import server as chroma_server
from memory_assets.stores.chroma.collections import ChromaStore
from memory_assets.stores.qdrant.collections import QdrantStore
from memory_assets.stores.vector_store import Collection, CollectionVersions, Metadata, VectorStore
from memory_assets_tests.stores.conftest import Servers

VERSIONS = CollectionVersions("model-a", 384, "c1", "r1")
CLOSED_PORT = "http://127.0.0.1:9"


@pytest.fixture(scope="module", params=["chromadb", "qdrant"])
def connect(
    request: pytest.FixtureRequest,
    module_servers: Servers,
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[str], VectorStore]:
    """What connects to a local server of this module's own, or to a directory, with a prefix."""
    if request.param == "qdrant":
        directory = str(tmp_path_factory.mktemp("qdrant"))
        return lambda prefix: QdrantStore(directory, prefix=prefix)
    data_dir = module_servers.data_dir()
    module_servers.start(data_dir)
    return lambda prefix: ChromaStore(data_dir, url=None, idle_seconds=60.0, prefix=prefix)


@pytest.fixture(scope="module")
def store(connect: Callable[[str], VectorStore]) -> VectorStore:
    """A connection without a prefix."""
    return connect("")


@pytest.fixture
def collection(store: VectorStore) -> Collection:
    """A new, empty collection."""
    return store.open(f"c-{uuid.uuid4().hex}", VERSIONS)


def _vectors(count: int, seed: int = 0) -> npt.NDArray[np.float32]:
    drawn = np.random.default_rng(seed).normal(size=(count, 384)).astype(np.float32)
    unit: npt.NDArray[np.float32] = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    return unit


def _texts(count: int) -> list[RedactedText]:
    return [seal(f"text {number}") for number in range(count)]


def _fill(collection: Collection, count: int) -> list[str]:
    ids = [f"row-{number:03}" for number in range(count)]
    metadatas: list[Metadata] = [
        {"even": number % 2 == 0, "row_hash": f"h{number}"} for number in range(count)
    ]
    collection.upsert(ids, _vectors(count), _texts(count), metadatas)
    return ids


def test_two_prefixes_have_collections_of_their_own(connect: Callable[[str], VectorStore]) -> None:
    """Under one name each: listed, opened, replaced and dropped without the other's being there."""
    ada, bob = connect("ada."), connect("bob.")
    _fill(ada.open("memory", VERSIONS), 1)
    assert (ada.names(), bob.names()) == (["memory"], [])
    with pytest.raises(NotFound):
        bob.get("memory")
    _fill(bob.open("memory", VERSIONS), 2)
    _fill(bob.begin_replacement("memory"), 3)
    bob.replace("memory")
    assert [each.get("memory").count() for each in (ada, bob)] == [1, 3]
    bob.drop("memory")
    assert (ada.names(), bob.names()) == (["memory"], [])
    ada.drop("memory")


def test_repeating_an_upsert_changes_nothing(collection: Collection) -> None:
    """Same ids, same rows; a changed row replaces the old one whole."""
    ids = _fill(collection, 5)
    _fill(collection, 5)
    assert collection.count() == 5
    collection.upsert(ids[:1], _vectors(1), [seal("changed")], [{"row_hash": "new"}])
    assert collection.count() == 5
    assert collection.row_hashes({"row_hash": "new"}) == {ids[0]: "new"}
    ((best, _),) = collection.nearest(_vectors(1)[0], 1)
    assert (best.id, best.text) == (ids[0], "changed")


def test_more_rows_than_a_request_takes_are_all_stored(collection: Collection) -> None:
    """1,100 rows: upserted, listed and deleted in batches; an id that is not there is ignored."""
    count = 1_100
    vectors = np.repeat(_vectors(11), 100, axis=0)
    ids = [f"r{number}" for number in range(count)]
    metadatas: list[Metadata] = [{"row_hash": name} for name in ids]
    collection.upsert(ids, vectors, _texts(count), metadatas)
    assert collection.count() == count
    assert collection.row_hashes({"row_hash": {"$ne": ""}}) == {name: name for name in ids}
    collection.delete([*ids[:1_050], "nobody"])
    assert collection.ids({"row_hash": {"$ne": ""}}) == set(ids[1_050:])


def test_no_rows_are_no_work(collection: Collection) -> None:
    """Upserting and deleting nothing is allowed."""
    collection.upsert([], np.empty((0, 384), np.float32), [], [])
    collection.delete([])
    assert collection.count() == 0
    assert collection.nearest(_vectors(1)[0], 3) == []


def test_ids_and_hashes_are_listed_by_filter(collection: Collection) -> None:
    """Only the rows that match."""
    ids = _fill(collection, 6)
    assert collection.ids({"even": True}) == set(ids[::2])
    some = {"row_hash": {"$in": ["h1", "h2", "elsewhere"]}}
    assert collection.values({"$and": [{"even": False}, some]}, "row_hash", "nothing") == {
        ids[1]: ("h1", "")
    }
    assert collection.row_hashes({"even": False}) == {ids[n]: f"h{n}" for n in (1, 3, 5)}


def test_the_nearest_rows_are_those_of_the_exact_product(collection: Collection) -> None:
    """In its order, with its scores, and with the rows' texts and metadata."""
    ids = _fill(collection, 60)
    for query in _vectors(5, seed=9):
        found = collection.nearest(query, 10)
        exactly = sorted(zip(_vectors(60) @ query, ids, strict=True), reverse=True)[:10]
        assert [document.id for document, _ in found] == [row_id for _, row_id in exactly]
        assert np.allclose(
            [score for _, score in found], [score for score, _ in exactly], atol=1e-5
        )
        assert all(document.text == f"text {int(document.id[4:])}" for document, _ in found)
        assert all(
            document.metadata["row_hash"] == f"h{int(document.id[4:])}" for document, _ in found
        )


def test_the_nearest_obey_the_filter_and_the_given_ids(collection: Collection) -> None:
    """Asking for more than there are gives all that match; unknown ids are left out."""
    ids = _fill(collection, 20)
    (query,) = _vectors(1, seed=3)
    matching = collection.nearest(query, 50, {"even": True})
    assert {document.id for document, _ in matching} == set(ids[::2])
    assert {document.id for document in collection.documents([*ids[:3], "nobody"])} == set(ids[:3])


def test_a_plain_string_is_refused(collection: Collection) -> None:
    """Nothing of the call is stored, and the error does not quote the text."""
    texts = [seal("fine"), "words that were never redacted"]
    with pytest.raises(TypeError) as refused:
        collection.upsert(["a", "b"], _vectors(2), texts, [{"k": 1}, {"k": 1}])  # type: ignore[arg-type]
    assert "never redacted" not in str(refused.value)
    assert collection.count() == 0


def test_vectors_of_another_embedder_are_refused(store: VectorStore) -> None:
    """For writing; the error names the setting and the command. Who compares vectors asks for
    himself (recall/test_search.py, recall/test_cross_query.py)."""
    name = f"c-{uuid.uuid4().hex}"
    store.open(name, VERSIONS)
    other = replace(VERSIONS, embedder_id="model-b")
    with pytest.raises(StoreMismatch, match=r"MEMORY_EMBEDDER back"):
        store.open(name, other)
    assert store.get(name).embedder_id == "model-a"


def test_a_new_chunker_or_rule_set_keeps_the_collection(store: VectorStore) -> None:
    """Its record of versions is brought up to date; rows and incarnation stay."""
    name = f"c-{uuid.uuid4().hex}"
    first = store.open(name, VERSIONS)
    _fill(first, 2)
    newer = replace(VERSIONS, chunker_version="c2", ruleset_version="r2")
    again = store.open(name, newer)
    assert again.incarnation == store.get(name).incarnation == first.incarnation
    assert again.count() == 2
    assert vars(newer).items() <= store.get(name).metadata.items()
    ((found, similarity),) = again.nearest(_vectors(2)[1], 1)
    assert (found.id, round(similarity, 4)) == ("row-001", 1.0)


def test_a_collection_made_anew_is_another_incarnation(store: VectorStore) -> None:
    """Opening it again is the same one; dropping is idempotent."""
    name = f"c-{uuid.uuid4().hex}"
    first = store.open(name, VERSIONS).incarnation
    assert store.open(name, VERSIONS).incarnation == first
    assert name in store.names()
    for _ in range(2):
        store.drop(name)
    assert name not in store.names()
    assert store.open(name, VERSIONS).incarnation != first


def test_a_collection_that_is_not_there_is_not_found(store: VectorStore) -> None:
    """The error names it and the command that makes it."""
    with pytest.raises(NotFound, match="no collection nobody; run `memory ingest`"):
        store.get("nobody")
    assert "nobody" not in store.names()


def test_a_replacement_takes_the_place_of_a_collection(store: VectorStore) -> None:
    """It is empty and apart until then; what an interrupted one left is dropped."""
    name = f"c-{uuid.uuid4().hex}"
    with pytest.raises(NotFound):
        store.begin_replacement(name)
    old = store.open(name, VERSIONS)
    _fill(old, 3)
    before = store.names()
    left = store.begin_replacement(name)
    _fill(left, 1)
    new = store.begin_replacement(name, replace(VERSIONS, chunker_version="c2"))
    assert (new.count(), old.count(), store.get(name).count()) == (0, 3, 3)
    assert len({new.incarnation, left.incarnation, old.incarnation}) == 3
    ids = _fill(new, 2)
    store.replace(name)
    assert store.names() == before
    assert store.get(name).ids({"row_hash": {"$ne": ""}}) == set(ids)
    assert store.get(name).incarnation == new.incarnation
    assert store.get(name).metadata["chunker_version"] == "c2"
    assert old.count() == 2
    store.drop_leftovers(name)
    assert store.open(name, VERSIONS).count() == 2


def test_a_replacement_that_was_never_swapped_in_can_be_dropped(store: VectorStore) -> None:
    """The collection stays, and says that there is something to drop; with Chroma also that there
    is not."""
    name = f"c-{uuid.uuid4().hex}"
    _fill(store.open(name, VERSIONS), 1)
    left = store.begin_replacement(name)
    assert store.open(name, VERSIONS).may_have_leftovers
    store.drop_leftovers(name)
    reopened = store.open(name, VERSIONS)
    assert reopened.may_have_leftovers != isinstance(store, ChromaStore)
    with pytest.raises((StoreError, NotFound)):
        left.count()
    assert store.get(name).count() == 1


def test_errors_of_qdrant_never_carry_what_was_sent(tmp_path: Path) -> None:
    """Neither message nor cause, whatever the client says; a comparison that it is not asked for is
    refused."""
    collection = QdrantStore(str(tmp_path)).open("things", VERSIONS)
    wrong_size = np.zeros((1, 7), np.float32)
    with pytest.raises(StoreError, match=f"qdrant at {tmp_path} failed") as failed:
        collection.upsert(["private-id"], wrong_size, [seal("private-text")], [{"k": "private"}])
    assert "private" not in str(failed.value)
    assert failed.value.__cause__ is None and failed.value.__suppress_context__
    with pytest.raises(ConfigurationError, match=r"\$gt"):
        collection.ids({"k": {"$gt": 1}})


def test_a_directory_of_qdrant_is_open_in_one_process(tmp_path: Path) -> None:
    """Another is told so, and what to do; the same process opens it again."""
    from qdrant_client import QdrantClient  # takes a second

    here, there = str(tmp_path / "here"), str(tmp_path / "there")
    QdrantStore(here).open("things", VERSIONS)
    assert QdrantStore(here).names() == ["things"]
    with closing(QdrantClient(path=there)), pytest.raises(StoreBusy, match="set QDRANT_URL"):
        QdrantStore(there)
    assert QdrantStore(there).names() == []


def test_a_qdrant_server_that_does_not_answer_is_an_error() -> None:
    """It names the address; so is a URL that is none."""
    with pytest.raises(StoreError, match=r"qdrant at http://127.0.0.1:9 failed"):
        QdrantStore("http://127.0.0.1:9", "made-up-key")
    with pytest.raises(StoreError, match=r"QDRANT_URL.*http://host:6333"):
        QdrantStore("http://h:port")


@pytest.mark.parametrize("url", ["localhost:8000", "nonsense", "http://", "http://h:port"])
def test_a_url_that_is_none_is_refused(tmp_path: Any, url: str) -> None:
    """The error names the setting and shows what one looks like."""
    with pytest.raises(StoreError, match=r"MEMORY_CHROMA_URL.*http://host:8000"):
        ChromaStore(tmp_path, url=url, idle_seconds=1.0)


def test_a_server_that_does_not_answer_is_an_error(tmp_path: Any) -> None:
    """It names the address, and starts no server of its own."""
    with pytest.raises(StoreError, match=CLOSED_PORT):
        ChromaStore(tmp_path, url=CLOSED_PORT, idle_seconds=1.0)
    assert list(tmp_path.glob("chroma*")) == []


def test_errors_never_carry_what_was_sent(servers: Servers) -> None:
    """The server is gone in the middle: message and cause hold neither text nor metadata."""
    data_dir = servers.data_dir()
    url, token = servers.start(data_dir).url, chroma_server.token(data_dir)
    store = ChromaStore(data_dir, url=url, idle_seconds=60.0, token=token)
    collection = store.open("things", VERSIONS)
    _fill(collection, 1)
    wrong_size = np.zeros((1, 7), np.float32)
    metadata: list[Metadata] = [{"k": "private-metadata"}]
    errors = []
    with pytest.raises(StoreError) as refused:
        collection.upsert(["private-id"], wrong_size, [seal("private-text")], metadata)
    errors.append(refused.value)
    servers.close()
    for fail in (
        lambda: collection.upsert(["private-id"], _vectors(1), [seal("private-text")], metadata),
        lambda: collection.ids({"k": "private-metadata"}),
        lambda: collection.nearest(_vectors(1)[0], 1, {"k": "private-metadata"}),
        collection.count,
    ):
        with pytest.raises(StoreError, match="memory status") as failed:
            fail()
        errors.append(failed.value)
    for error in errors:
        assert "private" not in str(error)
        assert error.__cause__ is None and error.__suppress_context__
