"""`load_redactor`: the redactor of texts and of sessions, tested before it is used."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from pathlib import Path

from memory_assets.errors import RedactionUnavailable, StoreError
from memory_assets.install_key import load_install_key
from memory_assets.paths import user_cache_dir
from memory_assets.redaction.engine.pattern_cache import code_digest, kept, kept_path
from memory_assets.redaction.engine.scanner import Scanner, load_scanner
from memory_assets.redaction.engine.selftest import run_self_test
from memory_assets.redaction.engine.token_runs import TokenFormat, compile_formats
from memory_assets.redaction.rules.anchored.table import ANCHORED_RULES, AnchoredRule
from memory_assets.redaction.rules.token_formats.tokens import TOKEN_FORMATS
from memory_assets.redaction.session_redactor import SessionRedactor
from memory_assets.redaction.settings import RedactionSettings
from memory_assets.redaction.text_redactor import TextRedactor
from memory_assets.redaction.version import version_of

_LOG = logging.getLogger("memory_assets.redaction")


class Redactor(TextRedactor):
    """Redacts texts, and records session by session. Only `load_redactor` creates it."""

    def session(self, session_id: str, known: frozenset[bytes] = frozenset()) -> SessionRedactor:
        """Return a redactor for the records of one session, which remembers the secrets it finds.

        `known` are hashes (`known_secrets.value_hash`) of secrets of other sessions, which it
        removes, too.
        """
        return SessionRedactor(self, session_id, known)


def load_redactor(
    settings: RedactionSettings | None = None, key: bytes | None = None, *, test: bool = False
) -> Redactor:
    """Return a redactor whose every rule was compiled and found its canary.

    `key` is the key of tags and known hashes; None means the install key, created on first use.
    The self-test ran now (always with `test`), or in an earlier process with the same code, Python
    and compiled patterns.

    Raises:
        RedactionUnavailable: a rule failed, or there is no key; the message names it,
            never the text.
    """
    if key is None:
        try:
            key = load_install_key()
        except StoreError as error:
            raise RedactionUnavailable(str(error)) from None
    settings = settings or RedactionSettings()
    return build_redactor(settings, TOKEN_FORMATS, ANCHORED_RULES, key, shipped=not test)


def build_redactor(
    settings: RedactionSettings,
    format_rows: Iterable[tuple[str, ...]],
    anchored: tuple[AnchoredRule, ...],
    key: bytes,
    *,
    shipped: bool = False,
) -> Redactor:
    """Return a redactor over the given rules after its self-test; for the `shipped` rules, one that
    an earlier process passed is enough. If the engine is "auto" and Hyperscan fails the test, the
    standard library is used instead.

    Raises:
        RedactionUnavailable: as `load_redactor`.
    """
    rows = tuple(format_rows)
    formats: tuple[TokenFormat, ...] = ()
    for row in rows:
        try:
            formats += compile_formats([row])
        except (ValueError, KeyError, re.error, OverflowError):
            raise RedactionUnavailable(f"redaction rule {row[0]} does not compile") from None
    scanner = load_scanner(formats, anchored, settings.engine)
    try:
        _test(scanner, formats, anchored, shipped)
    except RedactionUnavailable as error:
        if settings.engine != "auto" or not scanner.digest:
            raise
        _LOG.warning("redacting without Hyperscan, some ten times slower: with it, %s", error)
        scanner = load_scanner(formats, anchored, "re")
        _test(scanner, formats, anchored, shipped)
    version = version_of(settings, rows, anchored)
    return Redactor(scanner, settings, version, key)


def _test(
    scanner: Scanner,
    formats: tuple[TokenFormat, ...],
    anchored: tuple[AnchoredRule, ...],
    shipped: bool,
) -> None:
    """Run the self-test, unless an earlier process passed it with the `shipped` rules."""

    def test() -> bytes:
        run_self_test(scanner, formats, anchored)
        return b""

    passed = _passed_path(scanner) if shipped else None
    if passed is None:
        test()
    else:
        kept(passed, test)


def _passed_path(scanner: Scanner) -> Path | None:
    """Return the path of the file that shows that the shipped rules, as compiled, passed the
    self-test; None if the source cannot be read."""
    code = code_digest()
    if not code:
        return None
    return kept_path(user_cache_dir(), "self-test", f"{code} {scanner.digest}", ".passed")
