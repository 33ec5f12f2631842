"""Every exception this project raises on purpose.

    MemoryAssetsError
    ├── ConfigurationError      a setting is wrong; says which and what to put there
    │   ├── BadArgument         an argument of a request is not allowed by itself
    │   │   └── BadTime         a time or a length of time
    │   └── UnknownName         a request names a project or session that is not in memory
    ├── TranscriptError         a source file cannot be read at all
    │   ├── DamagedTranscript   for a reason that stays until the file changes
    │   └── BusyTranscript      for one that passes: its agent holds it
    ├── RedactionUnavailable    the redactor cannot load or fails its self-test
    ├── RedactionFailed         the redactor raised on a record: quarantine the session
    │   └── Unsettled           redacting a text again always changes it: withhold it whole
    ├── EmbedderUnavailable     model weights are missing or not the expected ones
    ├── OutOfMemory             the machine has too little memory for one part of the work
    ├── StoreError              the lake, the catalogue or Chroma cannot be used
    │   ├── DamagedFile         one file of the lake cannot be read; names it
    │   ├── StoreDamaged        its files were found damaged and set aside; says what to run
    │   ├── StoreReadOnly       the data directory cannot be written, as in an agent's sandbox
    │   ├── StoreBusy           another process holds it; says which and how long we waited
    │   └── StoreMismatch       it was built with other versions; names the command to run
    ├── GitFailed               git is missing, took too long, or refused
    ├── NotFound                an id or a project is not in memory
    └── UnexpectedFailure       something that was not foreseen; says what and where alone

Messages never contain transcript text: ids, paths of files, counts and names only.
"""

from __future__ import annotations

import errno
import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

_HERE = Path(__file__)
_PACKAGE = _HERE.parent


class MemoryAssetsError(Exception):
    """Base of all errors raised on purpose; its text is fit to be shown to a user."""


class ConfigurationError(MemoryAssetsError):
    """A setting is wrong."""


class BadArgument(ConfigurationError):
    """An argument of a request is not known, missing, of another type or out of bounds. The message
    begins with the name of the `argument`, if it is known."""

    def __init__(self, message: str, argument: str = "") -> None:
        super().__init__(f"{argument}: {message}" if argument else message)
        self.argument = argument
        self._message = message

    def named(self, name: str) -> Self:
        """Return the error with the name that the argument has at an interface."""
        return type(self)(self._message, name)


class BadTime(BadArgument):
    """An argument is no time, or no length of time, or two are in the wrong order."""


class UnknownName(ConfigurationError):
    """A request names a project or a session that is not in memory."""


class TranscriptError(MemoryAssetsError):
    """A transcript file cannot be read at all."""


class DamagedTranscript(TranscriptError):
    """A compressed transcript cannot be unpacked, or a store not be read, for a `reason` that
    quotes nothing of it. `remedy`: what the user can do about it."""

    remedy = "restore it, or unpack what can be unpacked; it is read again when it changes"

    def __init__(self, message: str, reason: str, remedy: str = "") -> None:
        super().__init__(message)
        self.reason = reason
        self.remedy = remedy or self.remedy


class BusyTranscript(TranscriptError):
    """A store is locked or changes while it is read: the next run may succeed."""

    reason = "its agent holds it locked"
    remedy = "nothing if its agent runs: the next ingest tries it again; else close what holds it"


class RedactionUnavailable(MemoryAssetsError):
    """The redactor cannot be loaded; nothing may be written."""


class RedactionFailed(MemoryAssetsError):
    """Redacting one record failed; its session must be quarantined."""


class Unsettled(RedactionFailed):
    """Removing what was found in a text reveals more, pass after pass."""


class EmbedderUnavailable(MemoryAssetsError):
    """The embedding model is missing or is not the one expected."""


class ProcessEnded(MemoryAssetsError):
    """Work on a session ended every process that was given it."""


class OutOfMemory(MemoryAssetsError):
    """The machine has too little memory for one part of the work; says which part."""


class StoreError(MemoryAssetsError):
    """A store cannot be used."""


class DamagedFile(StoreError):
    """One file of the lake cannot be read."""


class StoreDamaged(StoreError):
    """The files of a store that can be made again were found damaged, and set aside."""


class StoreReadOnly(StoreError):
    """The data directory can be read, but not written."""


class StoreBusy(StoreError):
    """Another process holds the store."""


class StoreUnanswering(StoreError):
    """The server of a store cannot be reached, or does not answer: to ask at once again is no
    use."""


class StoreMismatch(StoreError):
    """The store was built with other versions."""


class GitFailed(MemoryAssetsError):
    """Git is missing, took too long, or refused; never says what it printed."""


class NotFound(MemoryAssetsError):
    """What was asked for is not in memory."""


class UnexpectedFailure(MemoryAssetsError):
    """An error that we did not raise, reduced to its type and the place in our code."""


@dataclass(frozen=True, slots=True)
class Cause:
    """A failure of the environment in a user's words, and what the user can do about it."""

    reason: str
    remedy: str


_MORE_MEMORY = Cause(
    "not enough memory", "close other programs, or raise the memory limit of this process"
)
_MORE_FILES = "close other programs, or raise the limit (`ulimit -n 4096`)"
_MORE_SPACE = "free space on the disk"
_NETWORK = "look whether the network disk is connected"
_CAUSES = {
    errno.EACCES: Cause(
        "permission denied",
        "give the user who runs `memory` the right to read it (`chmod u+r` for a file, `u+rx` for "
        "a directory)",
    ),
    errno.EPERM: Cause("operation not permitted", "look at its owner, permissions and attributes"),
    errno.EMFILE: Cause("too many open files", _MORE_FILES),
    errno.ENFILE: Cause("too many open files in the whole system", _MORE_FILES),
    errno.ENOMEM: _MORE_MEMORY,
    errno.EAGAIN: Cause("a resource is busy", "stop other programs, or raise the limit (`ulimit`)"),
    errno.EBUSY: Cause("the file is busy", "stop the program that uses it"),
    errno.ENOSPC: Cause("no space left on the disk", _MORE_SPACE),
    errno.EDQUOT: Cause("the disk quota is used up", _MORE_SPACE),
    errno.EROFS: Cause("the disk is read-only", "mount it for writing"),
    errno.EIO: Cause("input/output error", "look after the disk: the system's log has details"),
    errno.ENOENT: Cause("no such file or directory", "nothing, if its agent deleted it"),
    errno.EISDIR: Cause("it is a directory", "move the directory away"),
    errno.ENAMETOOLONG: Cause("its name is too long", "rename it"),
    errno.ELOOP: Cause("its symbolic links form a loop", "remove the link"),
    errno.ESTALE: Cause("stale file handle", _NETWORK),
    errno.ETIMEDOUT: Cause("the disk does not answer", _NETWORK),
    errno.ENOTCONN: Cause("the disk is not connected", _NETWORK),
}
"""Failures of the environment, which do not depend on a file's contents, by error number."""

_OUT_OF_MEMORY = (
    "can't start new thread",
    "Failed to launch worker thread",
    "bad_alloc",
    "bad allocation",
    "failed to map segment",
    "allocate memory",
)
"""Messages of Python, C++ libraries and the loader of shared objects when memory, also that for the
stack of a thread, ran out."""
_LIBRARIES = ("onnxruntime", "pyarrow")
"""Libraries with exceptions of their own for that, whose messages quote no transcript."""


def environment(error: BaseException | None) -> Cause | None:
    """Return the cause of an error if it, or the error it was raised from, is a failure of the
    environment (permissions, limits, memory, disk); None for any other. No message of an error
    is returned: it may quote a transcript."""
    while error is not None:
        if isinstance(error, OSError):
            return _of_system(error.errno)
        if is_out_of_memory(error):
            return _MORE_MEMORY
        error = error.__cause__
    return None


def is_out_of_memory(error: BaseException) -> bool:
    """Return True if an error of Python or of a C++ library means that memory ran out."""
    if isinstance(error, MemoryError | OutOfMemory):
        return True
    of_library = type(error).__module__.startswith(_LIBRARIES)
    if not (of_library or isinstance(error, RuntimeError | ImportError)):
        return False
    return any(phrase in str(error) for phrase in _OUT_OF_MEMORY)


def _of_system(number: int | None) -> Cause:
    known = _CAUSES.get(number or errno.EIO)
    return known or Cause(os.strerror(number or errno.EIO).lower(), "see the system's log")


def unreadable(path: str | os.PathLike[str], error: OSError) -> TranscriptError:
    """Return the error for a transcript that cannot be read, with its path and the cause. Raise it
    `from error`, so that `environment` finds the cause."""
    return TranscriptError(f"{printable(path)}: cannot be read: {_of_system(error.errno).reason}")


def printable(name: str | os.PathLike[str]) -> str:
    """Return a path or name that can be printed and encoded: bytes that are not UTF-8, control
    characters and invisible ones are written as backslash escapes."""
    text = os.fspath(name)
    try:
        text = os.fsencode(text).decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:  # a surrogate that stands for no byte
        text = text.encode("utf-8", "backslashreplace").decode()
    if text.isprintable():
        return text
    return "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode() for one in text
    )


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
    """Return an error that can be shown for an unexpected one: its type and the place in our code,
    never its message."""
    if isinstance(error, FileNotFoundError) and error.filename is None:  # of os.getcwd alone
        return UnexpectedFailure("the current directory is gone: cd to another one")
    where = _place(error)
    cause = environment(error)
    if cause is not None:
        return UnexpectedFailure(f"{cause.reason}{where}: {cause.remedy}")
    return UnexpectedFailure(
        f"{type(error).__name__}{where} (its message is not shown: it may quote a transcript)"
    )


def safe_reason(error: Exception) -> str:
    """Return a reason that can be shown for any error: our own message, the cause of a failure of
    the environment, or type and place of another error, whose message may quote a transcript."""
    if isinstance(error, MemoryAssetsError):
        return str(error)
    cause = environment(error)
    if cause is not None:
        return cause.reason
    return f"a fault of memory_assets{_place(error)} ({type(error).__name__})"


def _place(error: Exception) -> str:
    """Return the last place in our code that an error went through; "" if there is none."""
    for frame, line in reversed([*traceback.walk_tb(error.__traceback__)]):
        path = Path(frame.f_code.co_filename)
        if _PACKAGE in path.parents and path != _HERE:
            return f" in {path.relative_to(_PACKAGE)}, line {line}"
    return ""
