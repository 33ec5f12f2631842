"""`TextRedactor`: text in, `RedactedText` out, or an exception."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from memory_assets.errors import Unsettled
from memory_assets.redacted_text import RedactedText, seal
from memory_assets.redaction.at_rest import AtRest
from memory_assets.redaction.edits import FILE_CONTENTS, Edit, Rendered, merge_edits
from memory_assets.redaction.engine.scanner import UNSETTLED, Scanner
from memory_assets.redaction.engine.triggers import ADDRESSES, NO_CLUES
from memory_assets.redaction.findings import Finding, Redaction, secret_and_personal
from memory_assets.redaction.pii import PersonalData
from memory_assets.redaction.policy.contents import ContentPolicy
from memory_assets.redaction.policy.sensitive_paths import is_sensitive
from memory_assets.redaction.settings import RedactionSettings
from memory_assets.redaction.tags import Tagger
from memory_assets.redaction.time_budget import check_budget
from memory_assets.redaction.views.sightings import find_secrets

_MOST_PASSES = 8
"""Passes that replace single findings; as many further passes withhold whole lines instead."""


class TextRedactor:
    """Replaces secrets and personal data by tags. It keeps nothing of a text but the hash of one
    that has no findings."""

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
        self.at_rest = AtRest()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.ruleset_version!r})"

    def redact(self, text: str, path: str | None = None, *, session_id: str = "") -> Redaction:
        """Return `text` without its secrets and personal data.

        `path` is the path of the file if the text is its contents. Tags of guessable values are
        keyed to `session_id`.

        Raises:
            Unsettled: every pass finds something new; nothing of the text may be kept.
        """
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

    def secrets(self, text: str) -> list[Edit]:
        """Return the secrets of `text`, unmerged, with values in the clear."""
        return find_secrets(self._scanner, text)

    def apply(
        self,
        text: str,
        tagger: Tagger,
        initial_edits: Sequence[Edit] = (),
        search: Callable[[str], Iterable[Edit]] | None = None,
    ) -> tuple[Redaction, Sequence[Edit]]:
        """Apply `initial_edits`, then scan and replace until neither the rules nor `search` find
        anything. Return the redaction, and the secrets found, with values in the clear. A text
        known to have none is not scanned again.

        Removing a secret can reveal another one; repeating until nothing is found makes redaction
        idempotent by construction. Lines that still have findings after that are withheld.

        Raises:
            Unsettled: every pass finds something new.
        """
        if not isinstance(text, str):
            raise TypeError("only text can be redacted")
        if not (initial_edits or search) and text in self.at_rest:
            return Redaction(seal(text), ()), ()
        personal = self._personal
        always = personal.always
        seen: list[Edit] = []
        edits = [*initial_edits, *personal.directories(text)]
        clues = None if edits else self._scanner.look(text)
        if clues is NO_CLUES and not (always or search):
            return self._remember_clean(Redaction(seal(text), ())), ()
        edits = merge_edits(text, edits)
        for pass_number in range(2 * _MOST_PASSES):
            check_budget()
            rendered = Rendered(text, edits, tagger)
            more = personal.directories(rendered.text) if edits else []
            if clues is None or edits:
                clues = self._scanner.look(rendered.text)
                if clues is NO_CLUES and not (more or always or search):
                    return self._remember_clean(_sealed_redaction(rendered)), seen
            secrets = find_secrets(self._scanner, rendered.text, clues)
            if search is not None:
                secrets.extend(search(rendered.text))
            seen += secrets
            more += secrets
            if (clues.asks | always) & ADDRESSES:
                more += personal.others(rendered.text)
            if not more:
                return self._remember_clean(_sealed_redaction(rendered)), seen
            new = [rendered.way_back.moved(edit) for edit in more]
            if pass_number >= _MOST_PASSES:
                new = [_withhold_lines(text, edit) for edit in new]
            edits = merge_edits(text, [*edits, *new])
        raise Unsettled("the text does not come to rest")

    def _remember_clean(self, redaction: Redaction) -> Redaction:
        """Return a redaction, after noting that its text has no more findings."""
        self.at_rest.add(redaction.text)
        return redaction


def _withhold_lines(text: str, edit: Edit) -> Edit:
    """Return the edit that withholds the lines of `edit`."""
    start = text.rfind("\n", 0, edit.start) + 1
    end = text.find("\n", edit.end)
    end = len(text) if end < 0 else end
    return Edit(start, end, UNSETTLED, text[start:end])


def keep_lines(text: str, redaction: Redaction) -> RedactedText:
    """Return the redacted text of `text` with the same number of lines: after each tag stand the
    line feeds of what it replaces."""
    taken = sorted((*redaction.findings, *redaction.personal), key=lambda finding: finding.start)
    pieces: list[str] = []
    position = 0
    for finding in taken:
        feeds = "\n" * text.count("\n", finding.start, finding.end)
        pieces += (text[position : finding.start], finding.tag, feeds)
        position = finding.end
    return seal("".join([*pieces, text[position:]])) if taken else redaction.text


def _sealed_redaction(rendered: Rendered) -> Redaction:
    """Return a rendered text, sealed as redacted, with its findings."""
    return Redaction(seal(rendered.text), *secret_and_personal(rendered.findings))
