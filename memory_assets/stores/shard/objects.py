"""The object stores of shards: a directory, or a bucket of S3, with one contract.

An object is created under a new key, and never changed. So only creation must be atomic: by link(2)
in a directory, which fails for an existing name, also over NFS, and needs no lock that a killed
process or a file server could lose; by `If-None-Match: *` in S3.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from memory_assets.errors import ConfigurationError, NotFound, StoreError

if TYPE_CHECKING:
    from obstore.store import S3Store

_TRIES = 3


class Objects(Protocol):
    """Objects by key, below one address. Keys have parts between slashes.

    Raises:
        StoreError: by each method; the store cannot be reached, or refuses.
    """

    url: str

    def create(self, key: str, content: bytes) -> bool:
        """Store an object whole, or return False because there is one with this key."""

    def get(self, key: str) -> bytes:
        """Return the content of an object; raise `NotFound` where there is none."""

    def keys(self, prefix: str) -> list[str]:
        """Return all keys that begin with `prefix` and a slash, sorted."""

    def folders(self, prefix: str) -> list[str]:
        """Return the names of the next part of the keys that begin with `prefix` (all where it is
        empty), of those that have further parts."""

    def delete(self, keys: Iterable[str]) -> None:
        """Delete objects; those that are not there are ignored."""

    def is_away(self) -> bool:
        """Whether the store is empty and may be elsewhere, as the directory of a share that is not
        mounted."""


def open_objects(url: str) -> Objects:
    """Return the objects below an address: `s3://bucket/prefix`, or a directory.

    Raises:
        ConfigurationError: it is neither, or obstore is not installed.
        StoreError: S3 cannot be used as the environment says.
    """
    if "://" not in url:
        return DirectoryObjects(Path(url).expanduser().absolute())
    try:
        scheme, bucket, *_ = urlsplit(url)
    except ValueError:
        scheme = bucket = ""
    if scheme != "s3" or not bucket:
        raise ConfigurationError(f"{url} is no shard: give s3://bucket/prefix, or a directory")
    return S3Objects(url.rstrip("/"))


class DirectoryObjects:
    """Objects as files below a directory, which machines may share. Whoever may read the directory
    may read the files, whatever the umask of the process. Links below it, which somebody else may
    have put there, are not followed: keys through them are refused, and they are not listed."""

    def __init__(self, root: Path) -> None:
        self.url = str(root)
        self._root = root

    def create(self, key: str, content: bytes) -> bool:
        """Write a file beside, then link it to its name."""
        path = self._path(key)
        staging = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        with self._errors(key):
            for _ in range(_TRIES):
                try:
                    mode = self._make_directory(path.parent)
                    return _link_new_file(staging, path, content, mode & 0o666)
                except FileNotFoundError:  # a sweep removed the directory, which was empty
                    continue
            raise StoreError(f"{path.parent} is removed again and again; try again")

    def get(self, key: str) -> bytes:
        """Return a file's content."""
        with self._errors(key):
            try:
                path = self._path(key)
                if path.exists() and not path.is_file():  # a device or a pipe may never end
                    raise StoreError(f"cannot use {path}: it is no file")
                return path.read_bytes()
            except FileNotFoundError:
                raise _not_found(self.url, key) from None

    def keys(self, prefix: str) -> list[str]:
        """Return the files below a directory, those that killed writers left among them."""
        with self._errors(prefix):
            if self._root.exists():
                os.scandir(self._root).close()  # `rglob` passes over what cannot be read
            paths = (path for path in self._path(prefix).rglob("*") if path.is_file())
            files = (path for path in paths if not path.is_symlink())
            return sorted(path.relative_to(self._root).as_posix() for path in files)

    def folders(self, prefix: str) -> list[str]:
        """Return the directories in a directory."""
        with self._errors(prefix):
            try:
                with os.scandir(self._path(prefix)) as entries:
                    directories = (
                        entry for entry in entries if entry.is_dir(follow_symlinks=False)
                    )
                    return sorted(entry.name for entry in directories)
            except FileNotFoundError:
                return []

    def delete(self, keys: Iterable[str]) -> None:
        """Remove files, and their directory if it is empty then."""
        for key in keys:
            with self._errors(key):
                path = self._path(key)
                path.unlink(missing_ok=True)
            with suppress(OSError):  # it is not empty, or gone
                path.parent.rmdir()

    def is_away(self) -> bool:
        """Whether the directory is missing or empty."""
        with self._errors(""):
            return not self._root.exists() or not any(self._root.iterdir())

    def _path(self, key: str) -> Path:
        path = self._root
        for part in key.split("/"):
            path /= part
            if path.is_symlink() and path != self._root:
                raise StoreError(f"cannot use {path}: links in a shard are not followed")
        return path

    def _make_directory(self, directory: Path) -> int:
        """Make a directory that is missing, with the mode of the root, and return that mode."""
        self._root.mkdir(parents=True, exist_ok=True)
        mode = self._root.stat().st_mode
        for path in reversed([directory, *directory.parents]):
            if path.is_relative_to(self._root) and not path.is_dir():
                path.mkdir(exist_ok=True)
                path.chmod(mode & 0o7777)
        return mode

    @contextmanager
    def _errors(self, key: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise StoreError(f"cannot use {self._root / key}: {reason}") from error


def _link_new_file(staging: Path, path: Path, content: bytes, mode: int) -> bool:
    try:
        with staging.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        staging.chmod(mode)
        path.hardlink_to(staging)
    except FileExistsError:
        return False
    finally:
        staging.unlink(missing_ok=True)
    return True


class S3Objects:
    """Objects in a bucket, below a prefix. Address, region and credentials are those of the
    environment (`AWS_*`), or of the machine's role."""

    def __init__(self, url: str) -> None:
        try:
            import obstore
            from obstore.store import S3Store
        except ImportError:
            raise ConfigurationError(
                f"{url} needs obstore: pip install 'memory-assets[s3]'"
            ) from None
        self.url = url
        self._obstore = obstore
        plain = os.environ.get("AWS_ENDPOINT_URL", "").startswith("http://")
        with self._errors(""):
            self._store: S3Store = S3Store.from_url(url, client_options={"allow_http": plain})

    def create(self, key: str, content: bytes) -> bool:
        """Put an object if there is none."""
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        with self._errors(key):
            try:
                self._obstore.put(self._store, key, content, mode="create", use_multipart=False)
            except (AlreadyExistsError, PreconditionError):
                return False
        return True

    def get(self, key: str) -> bytes:
        """Return an object's content."""
        from obstore.exceptions import NotFoundError

        with self._errors(key):
            try:
                return bytes(self._obstore.get(self._store, key).bytes())
            except (NotFoundError, FileNotFoundError):
                raise _not_found(self.url, key) from None

    def keys(self, prefix: str) -> list[str]:
        """Return the keys below a prefix."""
        with self._errors(prefix):
            chunks = self._obstore.list(self._store, prefix)
            return sorted(entry["path"] for chunk in chunks for entry in chunk)

    def folders(self, prefix: str) -> list[str]:
        """Return the common prefixes."""
        with self._errors(prefix):
            listing = self._obstore.list_with_delimiter(self._store, prefix or None)
            return sorted(path.rpartition("/")[2] for path in listing["common_prefixes"])

    def delete(self, keys: Iterable[str]) -> None:
        """Delete objects, a thousand a request."""
        some = list(keys)
        with self._errors("objects"):
            if some:
                self._obstore.delete(self._store, some)

    def is_away(self) -> bool:
        """Never: a bucket that is not there is an error of each request."""
        return False

    @contextmanager
    def _errors(self, key: str) -> Iterator[None]:
        from obstore.exceptions import BaseError

        try:
            yield
        except BaseError as error:
            raise StoreError(
                f"{self.url}/{key} cannot be used ({type(error).__name__}). Check "
                "AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and "
                "what they may do."
            ) from error


def _not_found(url: str, key: str) -> NotFound:
    return NotFound(f"{url}/{key} is not there")
