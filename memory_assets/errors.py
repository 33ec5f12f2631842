"""Every exception this project raises on purpose.

    MemoryAssetsError
    ├── ConfigurationError      a setting is wrong; says which and what to put there
    ├── TranscriptError         a source file cannot be read at all
    ├── RedactionUnavailable    the redactor cannot load or fails its self-test
    ├── RedactionFailed         the redactor raised on a record: quarantine the session
    ├── EmbedderUnavailable     model weights are missing or not the expected ones
    ├── StoreError              the lake, the catalogue or Chroma cannot be used
    │   ├── DamagedFile         one file of the lake cannot be read; names it
    │   ├── StoreBusy           another process holds it; says which and how long we waited
    │   └── StoreMismatch       it was built with other versions; names the command to run
    └── NotFound                an id or a project is not in memory

Messages never contain transcript text: ids, paths of files, counts and names only.
"""

from __future__ import annotations


class MemoryAssetsError(Exception):
    """Base of all errors raised on purpose; its text is fit to be shown to a user."""


class ConfigurationError(MemoryAssetsError):
    """A setting is wrong."""


class TranscriptError(MemoryAssetsError):
    """A transcript file cannot be read at all."""


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


class StoreBusy(StoreError):
    """Another process holds the store."""


class StoreMismatch(StoreError):
    """The store was built with other versions."""


class NotFound(MemoryAssetsError):
    """What was asked for is not in memory."""


def safe_reason(error: Exception) -> str:
    """Return what may be told of an error: our own message, or the bare type of an error
    that we did not raise, because its message may quote a transcript."""
    return str(error) if isinstance(error, MemoryAssetsError) else type(error).__name__
