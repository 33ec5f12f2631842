"""Cutting a text out of the memory whose sessions stay: a secret that redaction missed.

It becomes a known secret of its own (`redaction/forgotten_texts.py`), so that sessions, documents
and memories that hold it are redacted again without it, and those to come never have it. When that
is done, all files in which deleted rows may still stand are rewritten. Both can be repeated.
"""

from __future__ import annotations

from collections.abc import Callable

from memory_assets.errors import ConfigurationError
from memory_assets.pipeline.indexes.keywords import forget_keywords
from memory_assets.pipeline.redact.known_secrets import mark_affected
from memory_assets.pipeline.removal.forget import forget_vectors, lock_all_writers
from memory_assets.pipeline.stage.components import Components
from memory_assets.redaction.edits import FORGOTTEN_TEXT
from memory_assets.redaction.forgotten_texts import LONGEST, hash_of_text
from memory_assets.redaction.propagation import spellings
from memory_assets.stores.agents.journal import has_journal
from memory_assets.stores.files.sqlite import compact


def note_text(components: Components, text: str) -> int:
    """Have a text taken out of all that is redacted from now on, and mark the sessions that hold
    it to be redacted again; return the number of its spellings that were not known before.

    Raises:
        ConfigurationError: it is longer than `LONGEST`.
    """
    if len(text) > LONGEST:
        raise ConfigurationError(f"a text to cut out has at most {LONGEST:,} characters")
    key = components.install_key
    hashes = {hash_of_text(spelling, key): FORGOTTEN_TEXT for spelling in spellings(text)}
    added = components.catalog.known_secrets.add("", hashes)
    mark_affected(components)
    return added


def is_noted(components: Components, text: str) -> bool:
    """Whether a text was cut out before."""
    rules = components.catalog.known_secrets.rules()
    return hash_of_text(text, components.install_key) in rules


def rewrite_stores(components: Components, progress: Callable[[str], None]) -> None:
    """Rewrite every file in which rows may stand that were replaced.

    Raises:
        StoreBusy: another process writes the memory.
        StoreError: a store cannot be used.
    """
    with lock_all_writers(components, []):
        forget_vectors(components, set(), progress=progress)
        progress("rewriting the index of words and the catalogue")
        forget_keywords(components, set())
        compact(components.catalog.path)
        if has_journal(components.data_dir):
            components.journal.compact()
