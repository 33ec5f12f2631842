"""`Redactor`: text and records in, `RedactedText` out, or an exception."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from memory_assets.errors import RedactionUnavailable, StoreError, Unsettled
from memory_assets.install_key import load_install_key
from memory_assets.paths import user_cache_dir
from memory_assets.redacted_text import RedactedText, seal
from memory_assets.redaction.at_rest import AtRest
from memory_assets.redaction.edits import FILE_CONTENTS, Edit, Rendered, merge_edits
from memory_assets.redaction.engine.kept_files import code_digest, kept, kept_path
from memory_assets.redaction.engine.scanner import Scanner, load_scanner
from memory_assets.redaction.engine.selftest import run_self_test
from memory_assets.redaction.engine.token_runs import TokenFormat, compile_formats
from memory_assets.redaction.engine.triggers import ADDRESSES, NO_CLUES
from memory_assets.redaction.findings import Finding, Redaction, secret_and_personal
from memory_assets.redaction.pii import PersonalData
from memory_assets.redaction.policy.contents import ContentPolicy
from memory_assets.redaction.policy.sensitive_paths import is_sensitive
from memory_assets.redaction.rules.anchored import ANCHORED_RULES, AnchoredRule
from memory_assets.redaction.rules.tokens import TOKEN_FORMATS
from memory_assets.redaction.session_redactor import SessionRedactor
from memory_assets.redaction.settings import RedactionSettings
from memory_assets.redaction.tags import Tagger
from memory_assets.redaction.time_budget import check_budget
from memory_assets.redaction.version import version_of
from memory_assets.redaction.views.sightings import find_secrets

_MOST_PASSES = 8


def load_redactor(
    settings: RedactionSettings | None = None, key: bytes | None = None, *, test: bool = False
) -> Redactor:
    """Return a redactor whose every rule was compiled and found its canary.

    `key` is the key of tags and known hashes; None means the install key, created on first use.
    The canaries were looked for now (always with `test`), or by an earlier process with the same
    code, Python and compiled patterns.

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
    """Return a redactor over the given rule table, after its self-test. If the rules are the
    `shipped` ones, a self-test that an earlier process passed counts.

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

    def test() -> bytes:
        run_self_test(scanner, formats, anchored)
        return b""

    passed = _passed_path(scanner) if shipped else None
    if passed is None:
        test()
    else:
        kept(passed, test)
    version = version_of(settings, rows, anchored)
    return Redactor(scanner, settings, version, key)


class Redactor:
    """Replaces secrets and personal data by tags. Made by `load_redactor` only.

    Of what it has read it keeps only hashes of texts in which it found nothing; `session` returns
    a redactor that keeps secrets.
    """

    def __init__(
        self, scanner: Scanner, settings: RedactionSettings, ruleset_version: str, key: bytes
    ) -> None:
        self.ruleset_version = ruleset_version
        self.key = key
        self.policy = ContentPolicy(settings)
        self._scanner = scanner
        self.record_seconds = settings.record_seconds
        self._personal = PersonalData(settings.personal)
        self._tagger = Tagger(key)
        self._at_rest = AtRest()

    def __repr__(self) -> str:
        return f"Redactor({self.ruleset_version!r})"

    def redact(self, text: str, path: str | None = None, *, session_id: str = "") -> Redaction:
        """Return `text` without its secrets and personal data. One that came to rest before is not
        scanned again.

        `path` is the path of the file if the text is its contents. Tags of guessable values are
        keyed to `session_id`.

        Raises:
            Unsettled: the text does not come to rest; nothing of it may be kept.
        """
        if path is None and isinstance(text, str) and text in self._at_rest:
            return Redaction(seal(text), ())
        tagger = Tagger(self.key, session_id) if session_id else self._tagger
        if path is None or not self.policy.cut_contents(text, (path,)):
            scanned, _ = self.apply(text, tagger)
            # tags may have made it larger than may stay
            if path is None or not self.policy.cut_contents(scanned.text, (path,)):
                return scanned
        redaction, _ = self.apply(text, tagger, [Edit(0, len(text), FILE_CONTENTS, "")])
        return redaction

    def is_sensitive(self, path: str) -> bool:
        """Whether a path names a file that exists to hold secrets, of which nothing is read."""
        return is_sensitive(path)

    def find(self, text: str) -> tuple[Finding, ...]:
        """Return the secrets that `redact` would remove; none on text that was redacted."""
        return self.redact(text).findings

    def session(self, session_id: str, known: frozenset[bytes] = frozenset()) -> SessionRedactor:
        """Return a redactor for one session's records, which remembers the secrets it finds.

        `known` are hashes (`known_secrets.value_hash`) of secrets of other sessions, which are
        removed wherever they occur.
        """
        return SessionRedactor(self, session_id, known)

    def secrets(self, text: str) -> list[Edit]:
        """Return the secrets of `text`, unmerged, with values in the clear."""
        return find_secrets(self._scanner, text)

    def apply(
        self,
        text: str,
        tagger: Tagger,
        given: Sequence[Edit] = (),
        also: Callable[[str], Iterable[Edit]] | None = None,
    ) -> tuple[Redaction, Sequence[Edit]]:
        """Apply the `given` edits, scan, replace and scan again until neither the rules nor `also`
        find anything. Return the redaction, and the secrets found, with values in the clear.

        Removing a secret can reveal another one; repeating until nothing is found makes redaction
        idempotent by construction.

        Raises:
            Unsettled: the text does not come to rest.
        """
        if not isinstance(text, str):
            raise TypeError("only text can be redacted")
        personal = self._personal
        always = personal.always
        seen: list[Edit] = []
        edits = [*given, *personal.directories(text)]
        clues = None if edits else self._scanner.look(text)
        if clues is NO_CLUES and not (always or also):
            return self._clean(Redaction(seal(text), ())), ()
        edits = merge_edits(text, edits)
        for _ in range(_MOST_PASSES):
            check_budget()
            rendered = Rendered(text, edits, tagger)
            more = personal.directories(rendered.text) if edits else []
            if clues is None or edits:
                clues = self._scanner.look(rendered.text)
                if clues is NO_CLUES and not (more or always or also):
                    return self._clean(_redaction(rendered)), seen
            secrets = find_secrets(self._scanner, rendered.text, clues)
            if also is not None:
                secrets.extend(also(rendered.text))
            seen += secrets
            more += secrets
            if (clues.asks | always) & ADDRESSES:
                more += personal.others(rendered.text)
            if not more:
                return self._clean(_redaction(rendered)), seen
            edits = merge_edits(text, [*edits, *map(rendered.way_back.moved, more)])
        raise Unsettled("the text does not come to rest")

    def _clean(self, redaction: Redaction) -> Redaction:
        """Remember that nothing more is found in a redacted text, and return its redaction."""
        self._at_rest.add(redaction.text)
        return redaction


def keep_lines(text: str, redaction: Redaction) -> RedactedText:
    """Return the redacted text of `text` with each line where it was: what was taken out leaves its
    line feeds behind its tag."""
    taken = sorted((*redaction.findings, *redaction.personal), key=lambda each: each.start)
    pieces: list[str] = []
    position = 0
    for each in taken:
        feeds = "\n" * text.count("\n", each.start, each.end)
        pieces += (text[position : each.start], each.tag, feeds)
        position = each.end
    return seal("".join([*pieces, text[position:]])) if taken else redaction.text


def _passed_path(scanner: Scanner) -> Path | None:
    """Return the path of the file that says that the shipped rules passed the self-test, as they
    are and as they were compiled; None if that cannot be told."""
    code = code_digest()
    if not code:
        return None
    return kept_path(user_cache_dir(), "self-test", f"{code} {scanner.digest}", ".passed")


def _redaction(rendered: Rendered) -> Redaction:
    return Redaction(seal(rendered.text), *secret_and_personal(rendered.findings))
