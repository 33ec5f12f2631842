"""One session's file of one table on disk: a base, and a tail where the base is big.

    <session>.parquet        the rows as last written whole
    <session>.tail.parquet   what replaces everything after the first `keep` rows of the base

So appending to a long session costs only what is added. The tail names the base that it
belongs to. A tail that names another base is left from before the base was rewritten, and is
ignored. Both are replaced by atomic rename, the base first. Then rows of the base that the tail
replaces are removed from the base, so that other programs, which read all files, see none twice.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

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
TAIL_FROM_BYTES = 1 << 20
"""A smaller base is rewritten whole, which costs less than a second file."""
MOST_TAIL_BYTES = 1 << 20
"""A tail that has outgrown this is merged into its base."""
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


@dataclass(frozen=True)
class _Opened:
    """Base and tail of a session, open for reading, and the base's own rows and name."""

    rows: SessionRows
    base_name: str
    base_rows: int
    base_footer: Mapping[str, str]


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
    return _open_both(path, files).rows


def _open_both(path: Path, files: ExitStack) -> _Opened:
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
            return _Opened(SessionRows(path, extents, of_base, facts, own), name, base_rows, footer)
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


def write_after(
    path: Path,
    schema: pa.Schema,
    keep: int,
    parts: Iterable[pa.Table],
    footer: Footer,
    content: blake2b | str,
) -> FileFacts:
    """Replace the rows after the first `keep` of a session's file by these.

    Raises:
        FileNotFoundError: there is no base.
        pa.ArrowInvalid, OSError: a file is not readable as Parquet.
        ValueError: it has fewer rows than `keep`.
    """
    with ExitStack() as files:
        opened = _open_both(path, files)
        before = opened.rows
        require_rows(before, keep)
        if path.stat().st_size <= TAIL_FROM_BYTES:
            return write_whole(path, schema, chain(before.parts(0, keep), parts), footer, content)
        of_base = min(keep, before.of_base)
        own = {_TAIL_OF: opened.base_name, _KEEP: str(of_base)}
        with staged(tail_path(path)) as staging:
            added = chain(before.parts(of_base, keep), parts)
            rows = write_file(staging, schema, added, lambda: _with_own(footer, content, own))
            if staging.stat().st_size > MOST_TAIL_BYTES:
                with pq.ParquetFile(staging) as tail:
                    merged = chain(before.parts(0, of_base), whole_file(tail).slices(0, rows, None))
                    return write_whole(path, schema, merged, footer, content)
            staging.replace(tail_path(path))
        if of_base < opened.base_rows:
            _cut(path, opened, of_base)
    size = path.stat().st_size + tail_path(path).stat().st_size
    return FileFacts(of_base + rows, size, _hex(content))


def require_rows(before: SessionRows, keep: int) -> None:
    """Raise ValueError if a session has fewer rows than are to be kept."""
    if before.facts.rows < keep:
        rows = before.facts.rows
        raise ValueError(f"{before.path.name} has {rows} rows, {keep} are to be kept")


def tidy_tail(tail: Path) -> None:
    """Finish what a writer of this tail was killed at: remove a tail that its base does not
    have, or the rows of the base that it replaces."""
    base = tail.with_name(tail.name.removesuffix(TAIL_SUFFIX) + SUFFIX)
    with ExitStack() as files:
        try:
            opened = _open_both(base, files)
        except FileNotFoundError:
            tail.unlink()
            return
        if len(opened.rows.extents) == 1:
            tail.unlink()
        elif opened.rows.of_base < opened.base_rows:
            _cut(base, opened, opened.rows.of_base)


def _cut(path: Path, opened: _Opened, rows: int) -> None:
    """Remove the rows of a base after the first ones, which its tail replaces."""
    schema = opened.rows.extents[0].metadata.schema.to_arrow_schema()
    footer = {**opened.base_footer, _GENERATION: opened.base_name, _CUT: "true"}
    footer.pop("ARROW:schema", None)
    with staged(path) as staging:
        write_file(staging, schema, opened.rows.parts(0, rows), lambda: footer)
        staging.replace(path)


def _with_own(footer: Footer, content: blake2b | str, own: Mapping[str, str]) -> Mapping[str, str]:
    return {**footer(), OUTPUT_HASH: _hex(content), **own}


def _hex(content: blake2b | str) -> str:
    return content if isinstance(content, str) else content.hexdigest()
