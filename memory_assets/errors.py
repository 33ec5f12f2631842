"""Every exception this project raises on purpose.

    MemoryAssetsError
    ├── ConfigurationError      a setting is wrong; says which and what to put there
    ├── TranscriptError         a source file cannot be read at all
    │   └── ResumeFailed        it is not what it was when reading stopped: read it whole
    ├── RedactionUnavailable    the redactor cannot load or fails its self-test
    ├── RedactionFailed         the redactor raised on a record: quarantine the session
    ├── EmbedderUnavailable     model weights are missing or not the expected ones
    ├── StoreError              the lake, the catalogue or Chroma cannot be used
    │   ├── DamagedFile         one file of the lake cannot be read; names it
    │   ├── StoreDamaged        its files were found damaged and set aside; says what to run
    │   ├── StoreBusy           another process holds it; says which and how long we waited
    │   └── StoreMismatch       it was built with other versions; names the command to run
    ├── GitFailed               git is missing, took too long, or refused
    ├── NotFound                an id or a project is not in memory
    └── UnexpectedFailure       something that was not foreseen; says what and where alone

Messages never contain transcript text: ids, paths of files, counts and names only.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_HERE = Path(__file__)
_PACKAGE = _HERE.parent


class MemoryAssetsError(Exception):
    """Base of all errors raised on purpose; its text is fit to be shown to a user."""


class ConfigurationError(MemoryAssetsError):
    """A setting is wrong."""


class TranscriptError(MemoryAssetsError):
    """A transcript file cannot be read at all."""


class ResumeFailed(TranscriptError):
    """A transcript file is not what it was when reading it stopped."""


class RedactionUnavailable(MemoryAssetsError):
    """The redactor cannot be loaded; nothing may be written."""


class RedactionFailed(MemoryAssetsError):
    """Redacting one record failed; its session must be quarantined."""


class EmbedderUnavailable(MemoryAssetsError):
    """The embedding model is missing or is not the one expected."""


class StoreError(MemoryAssetsError):
    """A store cannot be used."""


class DamagedFile(StoreError):
    """One file of the lake cannot be read."""


class StoreDamaged(StoreError):
    """The files of a store that can be made again were found damaged, and set aside."""


class StoreBusy(StoreError):
    """Another process holds the store."""


class StoreMismatch(StoreError):
    """The store was built with other versions."""


class GitFailed(MemoryAssetsError):
    """Git is missing, took too long, or refused; never says what it printed."""


class NotFound(MemoryAssetsError):
    """What was asked for is not in memory."""


class UnexpectedFailure(MemoryAssetsError):
    """An error that we did not raise, reduced to its type and the place in our code."""


@contextmanager
def no_text_in_errors() -> Iterator[None]:
    """Let no error leave this block, or the function it decorates, with text of a record.

    The message of an error that we did not raise may quote anything, and so may the errors
    behind one of ours: whoever logs errors (Dagster keeps them for good) gets ours without
    their causes, and an `UnexpectedFailure` with the same traceback for any other.
    """
    try:
        yield
    except MemoryAssetsError as error:
        error.__cause__ = error.__context__ = None
        raise
    except Exception as error:  # noqa: BLE001 - every error but ours, so that none gets by
        raise unexpected(error).with_traceback(error.__traceback__) from None


def unexpected(error: Exception) -> UnexpectedFailure:
    """Return what may be told of an error that was not foreseen."""
    frames = [
        (Path(frame.f_code.co_filename), line)
        for frame, line in traceback.walk_tb(error.__traceback__)
    ]
    ours = [place for place in frames if _PACKAGE in place[0].parents and place[0] != _HERE]
    where = ""
    if ours:
        path, line = ours[-1]
        where = f" in {path.relative_to(_PACKAGE)}, line {line}"
    return UnexpectedFailure(
        f"{type(error).__name__}{where} (its message is not shown: it may quote a transcript)"
    )


def safe_reason(error: Exception) -> str:
    """Return what may be told of an error: our own message, or the bare type of an error
    that we did not raise, because its message may quote a transcript."""
    return str(error) if isinstance(error, MemoryAssetsError) else type(error).__name__
