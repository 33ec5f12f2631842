"""`Redactor`: text and records in, `RedactedText` out, or an exception."""

from __future__ import annotations

import re
from collections.abc import Iterable

from memory_assets.errors import RedactionUnavailable, StoreError
from memory_assets.install_key import load_install_key
from memory_assets.models import Record, RedactedRecord
from memory_assets.redaction.edits import FILE_CONTENTS, Edit
from memory_assets.redaction.engine.scanner import load_scanner
from memory_assets.redaction.engine.selftest import run_self_test
from memory_assets.redaction.engine.token_runs import TokenFormat, compile_formats
from memory_assets.redaction.findings import Finding, Redaction
from memory_assets.redaction.rules.anchored import ANCHORED_RULES, AnchoredRule
from memory_assets.redaction.rules.tokens import TOKEN_FORMATS
from memory_assets.redaction.session_redactor import SessionRedactor
from memory_assets.redaction.settings import RedactionSettings
from memory_assets.redaction.tags import Tagger
from memory_assets.redaction.text_redactor import TextRedactor
from memory_assets.redaction.version import version_of


def load_redactor(settings: RedactionSettings | None = None, key: bytes | None = None) -> Redactor:
    """Return a redactor whose every rule was compiled and found its canary.

    `key` is the key of tags and known hashes; None means the install key, created on first use.

    Raises:
        RedactionUnavailable: a rule failed, or there is no key; the message names it,
            never the text.
    """
    if key is None:
        try:
            key = load_install_key()
        except StoreError as error:
            raise RedactionUnavailable(str(error)) from None
    return build_redactor(settings or RedactionSettings(), TOKEN_FORMATS, ANCHORED_RULES, key)


def build_redactor(
    settings: RedactionSettings,
    format_rows: Iterable[tuple[str, ...]],
    anchored: tuple[AnchoredRule, ...],
    key: bytes,
) -> Redactor:
    """Return a redactor over the given rule table, after its self-test.

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
    run_self_test(scanner, formats, anchored)
    version = version_of(settings, rows, anchored)
    return Redactor(TextRedactor(scanner, settings, version, key))


class Redactor:
    """Replaces secrets and personal data by tags. Made by `load_redactor` only.

    It keeps nothing of what it has read; `session` returns a redactor that does.
    """

    def __init__(self, texts: TextRedactor) -> None:
        self.ruleset_version = texts.ruleset_version
        self.policy = texts.policy
        self._texts = texts
        self._tagger = Tagger(texts.key)

    def __repr__(self) -> str:
        return f"Redactor({self.ruleset_version!r})"

    def redact(self, text: str, path: str | None = None, *, session_id: str = "") -> Redaction:
        """Return `text` without its secrets and personal data.

        `path` is the path of the file if the text is its contents. Tags of guessable values are
        keyed to `session_id`.

        Raises:
            RedactionFailed: the text does not come to rest; nothing of it may be kept.
        """
        tagger = Tagger(self._texts.key, session_id) if session_id else self._tagger
        if path is None or not self.policy.cut_contents(text, (path,)):
            scanned, _ = self._texts.apply(text, tagger)
            # tags may have made it larger than may stay
            if path is None or not self.policy.cut_contents(scanned.text, (path,)):
                return scanned
        redaction, _ = self._texts.apply(text, tagger, [Edit(0, len(text), FILE_CONTENTS, "")])
        return redaction

    def find(self, text: str) -> tuple[Finding, ...]:
        """Return the secrets that `redact` would remove; none on text that was redacted."""
        return self.redact(text).findings

    def session(self, session_id: str, known: frozenset[bytes] = frozenset()) -> SessionRedactor:
        """Return a redactor for one session's records, which remembers the secrets it finds.

        `known` are hashes (`known_secrets.value_hash`) of secrets of other sessions, which are
        removed wherever they occur.
        """
        return SessionRedactor(self._texts, session_id, known)

    def redact_record(self, record: Record, *, project: str, project_root: str) -> RedactedRecord:
        """Return `record` with every free string redacted and file contents cut by policy.

        Raises:
            RedactionFailed: anything went wrong inside; the message holds ids only.
        """
        session = self.session(record.session_id)
        return session.redact_record(record, project=project, project_root=project_root).record
