"""One session's own file of one table on disk.

    <session>.parquet        the rows

Versions before wrote what was appended to a long session into a second file:

    <session>.tail.parquet   what replaces everything after the first `keep` rows of the base

Both are read as one until the session is written again, which removes the tail. It names the base
that it belongs to; one that names another base is left from before that was rewritten, and ignored.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from hashlib import blake2b
from pathlib import Path

import pyarrow as pa

from memory_assets.stores.lake.parquet_files import (
    OUTPUT_HASH,
    FileFacts,
    Footer,
    SessionRows,
    footer_of,
    open_file,
    staged,
    whole_file,
    write_file,
)

SUFFIX = ".parquet"
TAIL_SUFFIX = ".tail.parquet"
_GENERATION = "generation"
_TAIL_OF = "tail_of"
_KEEP = "keep"
_CUT = "cut"
"""In the footer of a base from which the rows that its tail replaces were removed."""
_NAME = "session_of_file"
"""In the footer of a file whose name is hashed."""
_OWN = frozenset({_GENERATION, _TAIL_OF, _KEEP, _CUT, _NAME, "ARROW:schema"})
_TRIES = 10
"""How often a reader looks again because a writer replaced a file meanwhile."""


@contextmanager
def opened(path: Path) -> Iterator[SessionRows]:
    """Give the rows of the session whose base is at `path`.

    Raises:
        FileNotFoundError: there is no base.
        pa.ArrowInvalid, OSError: one of the files is not readable as Parquet.
    """
    with ExitStack() as files:
        yield open_rows(path, files)


def open_rows(path: Path, files: ExitStack) -> SessionRows:
    """Return what `opened` gives; `files` closes it."""
    for _ in range(_TRIES):
        # The tail first: a base that is replaced after that does not fit it, and is newer.
        try:
            tail, tail_bytes = open_file(tail_path(path), files)
        except FileNotFoundError:
            tail, tail_bytes = None, 0
        base, base_bytes = open_file(path, files)
        footer = footer_of(base.metadata)
        name = footer.get(_GENERATION) or footer.get(OUTPUT_HASH, "")
        last = {} if tail is None else footer_of(tail.metadata)
        if last.get(_TAIL_OF) != name:
            tail, last, tail_bytes = None, {}, 0
        of_base, base_rows = int(last.get(_KEEP, base.metadata.num_rows)), base.metadata.num_rows
        if of_base <= base_rows and (tail is not None or _CUT not in footer):
            extents = [whole_file(base, of_base)] + ([whole_file(tail)] if tail is not None else [])
            own = {key: value for key, value in (last or footer).items() if key not in _OWN}
            total, size = sum(each.rows for each in extents), base_bytes + tail_bytes
            facts = FileFacts(total, size, own.get(OUTPUT_HASH, ""))
            return SessionRows(path, extents, facts, own)
    raise pa.ArrowInvalid("the tail of this base is missing")


def tail_path(path: Path) -> Path:
    """Return where the tail of the base at `path` is, or would be."""
    return path.with_name(path.name.removesuffix(SUFFIX) + TAIL_SUFFIX)


def named(session_id: str, footer: Footer) -> Footer:
    """Return a footer that says whose file it is in, for `name_in`."""
    return lambda: {**footer(), _NAME: session_id}


def name_in(path: Path) -> str | None:
    """Return whose file this is, if its footer says so.

    Raises:
        FileNotFoundError: it is gone.
        pa.ArrowInvalid: it is not readable as Parquet.
    """
    with ExitStack() as files:
        file, _ = open_file(path, files)
        return footer_of(file.metadata).get(_NAME)


def remove(path: Path) -> None:
    """Remove a session's file, if it is there."""
    path.unlink(missing_ok=True)
    tail_path(path).unlink(missing_ok=True)


def write_whole(
    path: Path,
    schema: pa.Schema,
    parts: Iterable[pa.Table],
    footer: Footer,
    content: blake2b | str,
) -> FileFacts:
    """Replace a session's file by a base of these rows; without any, remove it.

    `content` is looked at, and `footer` called, after the last row.
    """
    own = {_GENERATION: secrets.token_hex(8)}
    with staged(path) as staging:
        rows = write_file(staging, schema, parts, lambda: _with_own(footer, content, own))
        facts = FileFacts(rows, staging.stat().st_size, _hex(content))
        if rows:
            staging.replace(path)
        else:
            path.unlink(missing_ok=True)
        tail_path(path).unlink(missing_ok=True)
    return facts


def tidy_tail(tail: Path) -> None:
    """Remove a tail that its base does not have."""
    base = tail.with_name(tail.name.removesuffix(TAIL_SUFFIX) + SUFFIX)
    with ExitStack() as files:
        try:
            opened = open_rows(base, files)
        except FileNotFoundError:
            tail.unlink()
            return
        if len(opened.extents) == 1:
            tail.unlink()


def _with_own(footer: Footer, content: blake2b | str, own: Mapping[str, str]) -> Mapping[str, str]:
    return {**footer(), OUTPUT_HASH: _hex(content), **own}


def _hex(content: blake2b | str) -> str:
    return content if isinstance(content, str) else content.hexdigest()
