"""Redact one text: apply the rules and further searches until nothing is found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from memory_assets.errors import RedactionFailed
from memory_assets.redacted_text import seal
from memory_assets.redaction.edits import Edit, Rendered, merge_edits
from memory_assets.redaction.engine.scanner import Scanner
from memory_assets.redaction.engine.triggers import ADDRESSES, HOMES, HOMES_FIRST, NO_CLUES
from memory_assets.redaction.findings import Finding, Redaction
from memory_assets.redaction.pii import PersonalData
from memory_assets.redaction.policy.contents import ContentPolicy
from memory_assets.redaction.settings import PERSONAL_KINDS, RedactionSettings
from memory_assets.redaction.tags import Tagger
from memory_assets.redaction.views.sightings import find_secrets

_MOST_PASSES = 8


class TextRedactor:
    """The rules of one ruleset version, under one key. It keeps nothing of what it has read."""

    def __init__(
        self, scanner: Scanner, settings: RedactionSettings, ruleset_version: str, key: bytes
    ) -> None:
        self.ruleset_version = ruleset_version
        self.key = key
        self.policy = ContentPolicy(settings)
        self._scanner = scanner
        self._personal = PersonalData(settings.personal)

    def __repr__(self) -> str:
        return f"TextRedactor({self.ruleset_version!r})"

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
            RedactionFailed: the text does not come to rest.
        """
        if not isinstance(text, str):
            raise TypeError("only text can be redacted")
        personal = self._personal
        always = personal.always
        clues = self._scanner.look(text, personal.wants_directories)
        if clues is NO_CLUES and not (always or given or also):
            return Redaction(seal(text), ()), ()
        seen: list[Edit] = []
        homes: list[Edit] = []
        if clues is HOMES_FIRST:
            homes = personal.directories(text)
            if not (given or homes):
                clues = self._scanner.look(text)
        edits = merge_edits(text, [*given, *homes]) if given or homes else []
        for _ in range(_MOST_PASSES):
            rendered = Rendered(text, edits, tagger)
            if edits:
                clues = self._scanner.look(rendered.text)
                if clues is NO_CLUES and not (always or also):
                    return _redaction(rendered), seen
            more = find_secrets(self._scanner, rendered.text, clues)
            if also is not None:
                more.extend(also(rendered.text))
            seen.extend(more)
            if (clues.asks | always) & ADDRESSES:
                more += personal.others(rendered.text)
            if edits and clues.asks & HOMES:
                more += personal.directories(rendered.text)
            if not more:
                return _redaction(rendered), seen
            edits = merge_edits(text, [*edits, *(_moved(edit, rendered) for edit in more)])
        raise RedactionFailed("the text does not come to rest")


def _moved(edit: Edit, rendered: Rendered) -> Edit:
    if not rendered.findings:
        return edit
    start, end = rendered.way_back.original(edit.start, edit.end)
    return edit._replace(start=start, end=end)


def _redaction(rendered: Rendered) -> Redaction:
    if not rendered.findings:
        return Redaction(seal(rendered.text), ())
    secrets: list[Finding] = []
    personal: list[Finding] = []
    for finding in rendered.findings:
        (personal if finding.rule in PERSONAL_KINDS else secrets).append(finding)
    return Redaction(seal(rendered.text), tuple(secrets), tuple(personal))
