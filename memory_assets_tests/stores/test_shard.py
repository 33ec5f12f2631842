"""What both stores of objects, and a shard in them, promise."""

from __future__ import annotations

import json
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from memory_assets.errors import (
    ConfigurationError,
    NotFound,
    StoreDamaged,
    StoreError,
    StoreMismatch,
)
from memory_assets.settings import load_settings
from memory_assets.stores.shard.objects import Objects, open_objects
from memory_assets.stores.shard.shard import Head, Manifest, Shard, shards_below
from memory_assets_tests.foreign_programs import s3_bucket
from memory_assets_tests.sweep import sweep

Opened = Callable[[], Objects]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of an S3 server on loopback, with a bucket."""
    with s3_bucket("memories") as address:
        yield address


@pytest.fixture(params=["directory", "s3"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Opened:
    """What opens a store of objects that is empty at first."""
    if request.param == "directory":
        return lambda: open_objects(str(tmp_path / "objects"))
    request.getfixturevalue("server")
    return lambda: open_objects(f"s3://memories/{tmp_path.name}")


def test_an_object_is_created_once(opened: Opened) -> None:
    """Whoever comes second is told, and changes nothing; also over another connection."""
    objects = opened()
    assert objects.create("a/b", b"first")
    assert not objects.create("a/b", b"second")
    assert not opened().create("a/b", b"third")
    assert opened().get("a/b") == b"first"


def test_of_many_writers_at_once_one_creates_it(tmp_path: Path) -> None:
    """Eight threads with a directory each, ten objects: each is of one writer, who knows it. (S3
    promises it of a conditional PUT; moto's server asks, then writes, and lets two through.)"""
    stores = [open_objects(str(tmp_path)) for _ in range(8)]
    for number in range(10):

        def create(at: int, key: str = f"heads/{number}") -> bool:
            return stores[at].create(key, str(at).encode())

        with ThreadPoolExecutor(8) as threads:
            created = list(threads.map(create, range(8)))
        assert created.count(True) == 1
        assert stores[0].get(f"heads/{number}") == str(created.index(True)).encode()


def test_who_may_read_the_directory_may_read_what_is_in_it(tmp_path: Path) -> None:
    """A directory of a team, although what we write elsewhere is for its owner alone."""
    root = tmp_path / "team"
    root.mkdir()
    root.chmod(0o2750)
    umask = os.umask(0o077)
    try:
        open_objects(str(root)).create("laptop/heads/1", b"")
    finally:
        os.umask(umask)
    modes = {path.name: path.stat().st_mode & 0o7777 for path in root.rglob("*")}
    assert modes == {"laptop": 0o2750, "heads": 0o2750, "1": 0o640}


def test_objects_are_listed_and_deleted(opened: Opened) -> None:
    """Whole names, also of what is deeper; a prefix ends with a part of a name."""
    objects = opened()
    assert objects.keys("a") == objects.folders("") == []
    for key in ("a/1", "a/b/2", "ab/3", "c/d/4"):
        objects.create(key, b"")
    assert objects.keys("a") == ["a/1", "a/b/2"]
    assert objects.folders("") == ["a", "ab", "c"] and objects.folders("a") == ["b"]
    objects.delete(["a/1", "a/b/2", "never/there"])
    assert objects.keys("a") == [] and objects.keys("ab") == ["ab/3"]
    with pytest.raises(NotFound, match="a/1"):
        objects.get("a/1")


def test_a_store_that_cannot_be_used_is_an_error_that_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file in the directory's place; another scheme; S3 without obstore."""
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StoreError, match="cannot use"):
        open_objects(str(tmp_path / "file")).create("a", b"")
    with pytest.raises(ConfigurationError, match="s3://bucket/prefix"):
        open_objects("gs://bucket")
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(ConfigurationError, match="memory-assets\\[s3\\]"):
        open_objects("s3://bucket")


@sweep("url", ["s3://", "s3:///", "s3:///x", "s3://[", "file:///x", "://x"])
def test_an_address_without_a_bucket_is_none(url: str) -> None:
    """It is no directory of that name, either."""
    with pytest.raises(ConfigurationError, match="s3://bucket/prefix"):
        open_objects(load_settings(shard=url).shard or "")
    assert load_settings(shard="s3://bucket/a/").shard == "s3://bucket/a"


@pytest.mark.parametrize("url", ["s3://bucket", "s3://bucket//x"])
def test_what_s3_does_not_take_is_an_error_that_says_what_to_check(
    monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    """Half of a pair of keys; an address with an empty part."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY", raising=False)
    with pytest.raises(StoreError, match="AWS_SECRET_ACCESS_KEY"):
        open_objects(url)


def head_of(generation: int, **projects: str) -> Head:
    """A head with these manifests."""
    return Head(generation, "2026-11-28T09:00:00+00:00", projects)


def test_a_head_takes_effect_once_and_in_order(opened: Opened) -> None:
    """Of two writers of a generation one wins; the next generation follows it."""
    shard = Shard(opened(), "laptop")
    assert shard.head() is None and shard.generation() == 0
    first = shard.swap_head(head_of(1, p="x"))
    assert first is not None and shard.swap_head(head_of(1, p="y")) is None
    assert shard.head() == first and first.projects == {"p": "x"}
    second = shard.swap_head(head_of(2, p="z"))
    assert shard.head() == second and shard.generation() == 2


def test_a_writer_that_was_long_away_changes_nothing(opened: Opened) -> None:
    """The head that it knew was swept, so that nothing is in the way of its generation."""
    shard = Shard(opened(), "laptop")
    for generation in (1, 2, 3):
        newest = shard.swap_head(head_of(generation))
    assert newest is not None and shard.sweep(newest, ()) == 2
    assert shard.swap_head(head_of(2, p="late")) is None
    assert shard.head() == newest


def test_a_sweep_leaves_what_is_named_and_what_others_are_sending(opened: Opened) -> None:
    """Blobs of the head, of whatever generation, and those of one that is to come."""
    shard = Shard(opened(), "laptop")
    old, kept = shard.put_blob(1, b"old"), shard.put_blob(1, b"kept")
    new, coming = shard.put_blob(2, b"new"), shard.put_blob(3, b"coming")
    shard.swap_head(head_of(1))
    head = shard.swap_head(head_of(2))
    assert head is not None and shard.sweep(head, (kept, new)) == 2
    assert [shard.get(key) for key in (kept, new, coming)] == [b"kept", b"new", b"coming"]
    with pytest.raises(NotFound):
        shard.get(old)


def test_a_blob_that_was_changed_is_refused(tmp_path: Path) -> None:
    """Its key is its hash."""
    shard = Shard(open_objects(str(tmp_path)), "laptop")
    key = shard.put_blob(1, b"as it was")
    (tmp_path / "laptop" / key).write_bytes(b"as it is")
    with pytest.raises(StoreDamaged, match="hash"):
        shard.get(key)


@pytest.mark.parametrize(
    "key",
    ["../{}", "/etc/{}", "blobs/../../{}", "blobs/000000000001/../{}", "heads/000000000001/{}"],
)
def test_a_key_that_leads_out_of_the_blobs_is_refused(opened: Opened, key: str) -> None:
    """Whatever is there has the hash that the key says: another machine wrote both."""
    shard, digest = Shard(opened(), "laptop"), sha256(b"letter").hexdigest()
    shard.put_blob(1, b"letter")
    with pytest.raises(StoreDamaged, match="no blob of its own"):
        shard.get(key.format(digest))


@pytest.mark.parametrize("link", ["laptop", "laptop/heads", "laptop/blobs", "laptop/blobs/1"])
def test_links_in_a_directory_lead_nowhere(tmp_path: Path, link: str) -> None:
    """Who may write in a shared directory has nothing read, written or deleted elsewhere."""
    outside, root = tmp_path / "outside", tmp_path / "shard"
    outside.mkdir()
    (outside / "000000000001").write_bytes(b"letter")
    (root / link).parent.mkdir(parents=True)
    (root / link).symlink_to(outside)
    objects = open_objects(str(root))
    for use in (
        lambda: objects.get(f"{link}/000000000001"),
        lambda: objects.keys(link),
        lambda: objects.folders(link),
        lambda: objects.create(f"{link}/000000000002", b"x"),
        lambda: objects.delete([f"{link}/000000000001"]),
    ):
        with pytest.raises(StoreError, match="links in a shard are not followed"):
            use()
    assert [path.read_bytes() for path in outside.iterdir()] == [b"letter"]


def test_what_is_no_file_in_a_directory_is_no_object(tmp_path: Path) -> None:
    """A link, a pipe that nobody writes to, and links that go round, of which there are many."""
    objects = open_objects(str(tmp_path))
    objects.create("laptop/heads/000000000001", head_of(1).to_bytes())
    os.mkfifo(tmp_path / "laptop" / "heads" / "000000000002")
    (tmp_path / "laptop" / "heads" / "000000000003").symlink_to("/dev/zero")
    for name in ("a", "b", "c"):
        (tmp_path / name).symlink_to(tmp_path)
    (shard,) = shards_below(objects)
    assert shard.generation() == 1
    with pytest.raises(StoreError, match="no file"):
        objects.get("laptop/heads/000000000002")


def test_shards_are_found_below_an_address_at_any_depth(opened: Opened) -> None:
    """A person's machines, a team's people; and the shard at the address itself."""
    objects = opened()
    for name in ("alice/laptop", "alice/desk", "bob"):
        Shard(objects, name).swap_head(head_of(1))
    assert [shard.name for shard in shards_below(objects)] == ["alice/desk", "alice/laptop", "bob"]
    below = open_objects(f"{objects.url}/bob")
    assert [shard.url for shard in shards_below(below)] == [f"{objects.url}/bob"]
    assert Shard(objects, "alice/desk").delete() == 1
    assert [shard.name for shard in shards_below(objects, "alice")] == ["alice/laptop"]


def test_what_a_newer_version_wrote_is_refused(tmp_path: Path) -> None:
    """A head, and a manifest, of another format."""
    shard = Shard(open_objects(str(tmp_path)), "laptop")
    shard.swap_head(head_of(1))
    (path,) = (tmp_path / "laptop" / "heads").iterdir()
    path.write_bytes(path.read_bytes().replace(b'"format": 1', b'"format": 2'))
    with pytest.raises(StoreMismatch, match="newer"):
        shard.head()
    made = Manifest("p", {"turn_chunks/a.parquet": ("blobs/1/x", 3)}, [["s"]], [["claude"]])
    assert Manifest.of(made.to_bytes()) == made


MANIFEST: dict[str, Any] = {"format": 1, "project": "p", "files": {}, "products": [], "sources": []}
DAMAGED = {
    "not compressed": b"{}",
    "cut off": zlib.compress(json.dumps(MANIFEST).encode())[:-6],
    "no JSON": zlib.compress(b"{"),
    "a list": zlib.compress(b"[]"),
    "too deep": zlib.compress(b"[" * 100_000),
    "no UTF-8": zlib.compress(b"\xff"),
    "files without sizes": zlib.compress(json.dumps(MANIFEST | {"files": {"a": ["k"]}}).encode()),
    "files in a list": zlib.compress(json.dumps(MANIFEST | {"files": ["a"]}).encode()),
    "no project": zlib.compress(json.dumps({"format": 1, "files": {}}).encode()),
    "another field": zlib.compress(json.dumps(MANIFEST | {"more": 1}).encode()),
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED.keys())
def test_what_is_no_manifest_is_an_error_that_says_so(content: bytes) -> None:
    """Whatever another machine, or a disk, has made of it."""
    with pytest.raises(StoreDamaged):
        Manifest.of(content)


def test_a_manifest_is_not_unpacked_beyond_what_one_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kilobyte can become a megabyte; and so a megabyte what no machine can hold."""
    monkeypatch.setattr("memory_assets.stores.shard.shard._LARGEST_MANIFEST", 10_000)
    text = json.dumps(MANIFEST).encode()
    assert Manifest.of(zlib.compress(text)).project == "p"
    with pytest.raises(StoreDamaged, match="too large"):
        Manifest.of(zlib.compress(text + b" " * 1_000_000))


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"\xff", b"[]", b'"x"', b'{"format": 1}', b'{"format": 1, "forgotten": 3}'),
        b'{"format": 1, "forgotten": [], "projects": ["p"], "generation": 1, "written_at": ""}',
        b'{"format": 1, "forgotten": [], "projects": {}, "generation": "1", "written_at": ""}',
        b'{"format": 1, "forgotten": [], "projects": {}, "generation": 9, "written_at": ""}',
    ],
)
def test_what_is_no_head_is_an_error_that_says_so(tmp_path: Path, content: bytes) -> None:
    """It names the shard."""
    objects = open_objects(str(tmp_path))
    objects.create("laptop/heads/000000000001", content)
    with pytest.raises(StoreDamaged, match="laptop"):
        Shard(objects, "laptop").head()
