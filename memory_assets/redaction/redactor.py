"""`Redactor`: text and records in, `RedactedText` out, or an exception."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

from memory_assets.errors import RedactionFailed, RedactionUnavailable
from memory_assets.models import Record, RedactedRecord
from memory_assets.redacted_text import seal
from memory_assets.redaction import names, policy, values
from memory_assets.redaction.anchored import ANCHORED_RULES, AnchoredRule
from memory_assets.redaction.engine import Scanner, Span, merge
from memory_assets.redaction.findings import Finding, Redaction
from memory_assets.redaction.selftest import run_self_test
from memory_assets.redaction.settings import RedactionSettings
from memory_assets.redaction.token_runs import TokenFormat, compile_formats
from memory_assets.redaction.tokens import TOKEN_FORMATS
from memory_assets.redaction.views import without_terminal_escapes

ENGINE_VERSION = "re-1"
"""Raised by hand whenever the engine's code changes what is found."""

FILE_CONTENTS = "file-contents"
_MOST_PASSES = 8
_SHORT = 256
_REMEMBERED = 8_192
_PLAIN_ID = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?:toolu_|msg_|call_|x-)[A-Za-z0-9]{8,48}"
)
"""Ids as agents make them: too short on structure to hide a secret, so not scanned."""
_ID_FIELDS = (
    "session_id",
    "agent_id",
    "record_uuid",
    "parent_uuid",
    "tool_use_id",
    "message_id",
    "spawned_agent_id",
)


def load_redactor(settings: RedactionSettings | None = None) -> Redactor:
    """Return a redactor whose every rule compiled and found its canary.

    Raises:
        RedactionUnavailable: a rule failed; the message names it, never the text.
    """
    return build_redactor(settings or RedactionSettings(), TOKEN_FORMATS, ANCHORED_RULES)


def build_redactor(
    settings: RedactionSettings,
    format_rows: Iterable[tuple[str, ...]],
    anchored: tuple[AnchoredRule, ...],
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
    scanner = Scanner(formats, anchored)
    run_self_test(scanner, formats, anchored)
    return Redactor(scanner, settings, _version(rows, anchored, settings))


def _version(
    rows: tuple[tuple[str, ...], ...],
    anchored: tuple[AnchoredRule, ...],
    settings: RedactionSettings,
) -> str:
    table = (
        ENGINE_VERSION,
        rows,
        [(rule.name, rule.anchor, rule.pattern.pattern) for rule in anchored],
        names.word_lists(),
        values.pattern_sources(),
        sorted(policy.READ_TOOLS | policy.WRITE_TOOLS | policy.READ_PROGRAMS),
        policy.SENSITIVE_NAMES,
        settings.max_file_bytes,
        settings.allowlist,
    )
    return f"{ENGINE_VERSION}-{hashlib.sha256(repr(table).encode()).hexdigest()[:12]}"


class Redactor:
    """Replaces secrets by `<redacted:RULE>`. Made by `load_redactor` only."""

    def __init__(self, scanner: Scanner, settings: RedactionSettings, ruleset_version: str) -> None:
        self.ruleset_version = ruleset_version
        self._scanner = scanner
        self._policy = policy.ContentPolicy(settings)
        self._clean: dict[str, Redaction] = {}

    def __repr__(self) -> str:
        return f"Redactor({self.ruleset_version!r})"

    def redact(self, text: str, path: str | None = None) -> Redaction:
        """Return `text` without its secrets; `path` names the file it is the contents of.

        Raises:
            RedactionFailed: the text does not come to rest; nothing of it may be kept.
        """
        if path is None:
            return self._redact(text, ())
        if not self._policy.cut_contents(text, (path,)):
            scanned = self._redact(text, ())
            # tags may have made it larger than may stay
            if not self._policy.cut_contents(scanned.text, (path,)):
                return scanned
        return self._redact(text, ((0, len(text)),))

    def find(self, text: str) -> tuple[Finding, ...]:
        """Return what `redact` would take out; empty on text that is already redacted."""
        return self._redact(text, ()).findings

    def redact_record(self, record: Record, *, project: str, project_root: str) -> RedactedRecord:
        """Return `record` with every free string redacted and file contents cut by policy.

        Raises:
            RedactionFailed: anything went wrong inside; the message holds ids only.
        """
        try:
            return self._redact_record(record, project, project_root)
        except Exception as error:  # noqa: BLE001  the fail-closed boundary
            reason = str(error) if isinstance(error, RedactionFailed) else type(error).__name__
        raise RedactionFailed(f"record {record.seq} could not be redacted: {reason}")

    def _redact_record(self, record: Record, project: str, project_root: str) -> RedactedRecord:
        for name in _ID_FIELDS:
            value = getattr(record, name)
            if value and not _PLAIN_ID.fullmatch(value) and not self._is_clean(value):
                raise RedactionFailed(f"its {name} looks like a secret")
        if not self._is_clean(project):
            raise RedactionFailed("its project's name looks like a secret")
        text = self._redact(record.text, self._policy.cuts(record, project_root))
        command = self._redact(record.command, self._policy.heredocs(record.command))
        paths = [self._short(path) for path in record.paths]
        root, tool_name, cwd, git_branch, subtype, model, agent_version = fields = [
            self._short(value)
            for value in (
                project_root,
                record.tool_name,
                record.cwd,
                record.git_branch,
                record.subtype,
                record.model,
                record.agent_version,
            )
        ]
        count = sum(len(part.findings) for part in (text, command, *fields, *paths))
        return RedactedRecord(
            project=project,
            project_root=root.text,
            agent=record.agent,
            session_id=record.session_id,
            agent_id=record.agent_id,
            seq=record.seq,
            record_uuid=record.record_uuid,
            parent_uuid=record.parent_uuid,
            byte_start=record.byte_start,
            byte_end=record.byte_end,
            timestamp=record.timestamp,
            role=record.role,
            kind=record.kind,
            text=text.text,
            subtype=str(subtype.text),
            tool_name=tool_name.text,
            tool_use_id=record.tool_use_id,
            is_error=record.is_error,
            paths=tuple(path.text for path in paths),
            command=command.text,
            cwd=cwd.text,
            git_branch=git_branch.text,
            model=str(model.text),
            agent_version=str(agent_version.text),
            is_sidechain=record.is_sidechain,
            message_id=record.message_id,
            spawned_agent_id=record.spawned_agent_id,
            redactions=count,
            ruleset_version=self.ruleset_version,
        )

    def _short(self, text: str) -> Redaction:
        """Return the redaction of a string that many records share; remembers clean ones."""
        known = self._clean.get(text)
        if known is None:
            known = self._redact(text, ())
            if not known.findings and len(text) <= _SHORT:
                if len(self._clean) >= _REMEMBERED:
                    self._clean.clear()
                self._clean[text] = known
        return known

    def _is_clean(self, text: str) -> bool:
        return not self._short(text).findings

    def _redact(self, text: str, contents: Iterable[tuple[int, int]]) -> Redaction:
        """Scan, replace and scan again until nothing more is found.

        Taking a secret out can bring a further one to light; going on until the text is
        at rest makes redaction idempotent by construction.
        """
        if not text:
            return Redaction(seal(text), ())
        spans = [Span(start, end, FILE_CONTENTS) for start, end in contents]
        if not spans:
            spans = self._spans(text)
            if not spans:
                return Redaction(seal(text), ())
        for _ in range(_MOST_PASSES):
            rendered = _Rendered(text, spans)
            more = self._spans(rendered.text)
            if not more:
                return Redaction(seal(rendered.text), rendered.findings)
            spans = _merged_under(spans, [rendered.original(span) for span in more])
        raise RedactionFailed("the text does not come to rest")

    def _spans(self, text: str) -> list[Span]:
        view = without_terminal_escapes(text)
        if view is None:
            return self._scanner.scan(text)
        found = self._scanner.scan(view.text)
        return [Span(*view.original_span(start, end), rule) for start, end, rule in found]


def _merged_under(spans: list[Span], more: list[Span]) -> list[Span]:
    """Return all spans merged; file contents keep their name whatever joins them."""
    contents = [span for span in spans if span.rule == FILE_CONTENTS]
    merged = merge([*spans, *more])
    return [
        span._replace(rule=FILE_CONTENTS)
        if any(span.start <= c.start and c.end <= span.end for c in contents)
        else span
        for span in merged
    ]


class _Rendered:
    """A text with spans replaced by their tags, and the way back to its positions."""

    def __init__(self, text: str, spans: list[Span]) -> None:
        pieces: list[str] = []
        findings: list[Finding] = []
        self._tags: list[tuple[int, int, Span]] = []
        position = length = 0
        for span in spans:
            kept = text[position : span.start]
            secret = text[span.start : span.end]
            is_contents = span.rule == FILE_CONTENTS
            tag = policy.contents_tag(secret) if is_contents else f"<redacted:{span.rule}>"
            pieces += (kept, tag)
            length += len(kept)
            self._tags.append((length, length + len(tag), span))
            length += len(tag)
            position = span.end
            findings.append(Finding(span.rule, span.start, span.end, tag))
        pieces.append(text[position:])
        self.text = "".join(pieces)
        self.findings = tuple(findings)

    def original(self, span: Span) -> Span:
        """Return where a span of the rendered text stands in the original."""
        return Span(self._position(span.start, False), self._position(span.end, True), span.rule)

    def _position(self, position: int, is_end: bool) -> int:
        shift = 0
        for start, end, span in self._tags:
            if position <= start:
                break
            if position < end:
                return span.end if is_end else span.start
            shift = span.end - end
        return position + shift
