"""Finds tokens by their shape: every long run of token characters is looked up once.

Text is masked to token characters and others, long runs are found in the mask, and each
run is dispatched on its first two characters (or on what stands just before it) to the
few formats that begin so. The cost does not grow with the number of formats.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from memory_assets.redaction.rules.contexts import CONTEXTS
from memory_assets.redaction.rules.formats import Template, compile_template
from memory_assets.redaction.rules.judging import values
from memory_assets.redaction.rules.judging.names import NameKind, name_kind, says_public
from memory_assets.redaction.rules.mentioned.tokens import is_hash_below_key, is_mentioned
from memory_assets.redaction.rules.prefixed import find_prefixed

SHORTEST_RUN = 16
TOKEN_BYTES = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-"
MASK = bytes(byte in TOKEN_BYTES for byte in range(256))
RUNS = re.compile(b"\x01" * SHORTEST_RUN + b"\x01*")

Found = tuple[int, int, str]
"""Start, end and rule of a token."""

_ESCAPES = frozenset("\\%[")
_JOINTS = frozenset(":!.")
_JOINT_BYTES = frozenset(joint.encode() for joint in _JOINTS)
_SHAPE_ENDS = frozenset((b".", b":"))
_LONGEST_VALUE = 600
_NO_VALUE = frozenset(" \t\n\r\"'`,;()[]{}<>|&\\$?*#^")
"""Characters next to a run that do not belong to its value."""
_SHORT_RUN = re.compile(r"[\w\-]{0,40}")
_FIRST_RUN = re.compile(r"[A-Za-z0-9_\-]*")
_OUTSIDE = re.compile(r"^(?P<outside>.*[^A-Za-z0-9_\-])?(?P<inside>[A-Za-z0-9_\-]*)$")
_ESCAPED = re.compile(
    r"(?<=\\)[nrtbf]|(?<=%)[0-9A-Fa-f]{2}|(?<=\\)u00[0-9A-Fa-f]{2}|(?<=\[)\d{1,3}m"
)
_LEFT = re.compile(r"[\w.~%+/=!:@\-]*")
_EXTENSION = re.compile(r"[\w.~%+/=!\-]{0,2000}")
_ASSIGNED_TO = re.compile(
    r"""(?x) [\\"'`@]{0,6} \s{0,40} [:=>,(]{1,3} [ \t]{0,24} [\\"'`\]\[)*]{0,6} [ \t]{0,8}
        (?: [=:] [ \t]* (?:eulav|tluafed) ["'\s{]{0,24} )?
        (?P<name> [\w.\-]{1,48} (?: [ ] [\w.\-]{1,24} ){0,3} )"""
)
_RESOURCE = re.compile(r"(?<!\w)[au]rn:\S*$")
"""The beginning of a resource's name (ARN, URN), which holds no secret."""
_LONG_PIECE = re.compile(r"[A-Za-z0-9]{12}")
"""Occurs in every machine-made value; searching for it is cheap."""
PREFIXED_BODY = (
    r"[_\-.](?:[A-Za-z0-9]{8}(?:[A-Za-z0-9]{12}|(?:-[A-Za-z0-9]{4}){3})"
    r"|(?:(?<=(?i:key)[_-])|(?<=(?i:token)[_-])|(?<=(?i:secret)[_-]))[A-Za-z0-9][\w-]{19})"
)
"""Occurs in every token of `prefixed.py`; in runs of token characters only."""
_PREFIXED_BODY = re.compile(PREFIXED_BODY, re.ASCII)
SLUG = r"(?:[0-9]{1,11}|[A-Za-z]{1,11})(?:[_\-]{1,2}(?:[0-9]{1,11}|[A-Za-z]{1,11}))+[_\-]?"
"""A run of words and numbers: `2026-06-06-001-notes-on-x`. Never a named secret."""
_SLUG_RUN = re.compile(SLUG)
_NOTHING = "(?!)"
"""A pattern that matches nothing, where there are no formats."""
_DIGEST_BEFORE = re.compile(r"(?i)(?:sha\d{1,3}|md5|h1|blake\w{0,2})[-:=]/{0,2}$")
_TAG_BEFORE = re.compile(r"<redacted:[\w:-]{1,80}>([\s\"'`]{0,8})$")
_WRAPPED_LINES = re.compile(r"(?:\r?\n[A-Za-z0-9+/_\-]{16,4000}={0,2}(?![^\r\n])){1,5000}")
_LIST_QUOTES = ('"', "'")
_LISTED = re.compile(r"[\"'](?:\s{0,4},\s{0,24}[\"'][\w+/=.~-]{12,200}[\"']){1,20}")
"""The further values of a list, from the quote after the first one."""
_QUOTED = re.compile(r"[\w+/=.~-]{12,200}")
_NEARBY = re.compile(
    r"(?i)(?:api|access|auth|secret|private|bearer|client|deploy|server|service|license|personal"
    r"|refresh)"
    r"[\w -]{0,12}(?:key|token|secret|pat)\b|\b(?:token|secret|password|apikey)\b|credential"
)
_NOT_SECRET_NEARBY = re.compile(
    r"(?i)sha\d*|digest|checksum|integrity|commit|revision|etag|uuid|guid|signature|thumbprint|public"
    r"|hash|csrf|xsrf|_id\b|(?-i:[a-z]I)ds?\b|request|session|trace|fingerprint|\bid\b|redacted"
)


@dataclass(frozen=True, slots=True)
class TokenFormat:
    """One row of the table with its templates compiled."""

    name: str
    templates: tuple[Template, ...]


def compile_formats(rows: Iterable[tuple[str, ...]]) -> tuple[TokenFormat, ...]:
    """Return the rows with their templates compiled.

    Raises:
        ValueError: a template is malformed.
    """
    return tuple(
        TokenFormat(name, tuple(compile_template(source) for source in sources))
        for name, *sources in rows
    )


class TokenIndex:
    """The formats, indexed so that a run of token characters is matched against few of them."""

    def __init__(self, formats: Iterable[TokenFormat]) -> None:
        inside: dict[str, list[tuple[str, Template]]] = {}
        outside: dict[str, list[tuple[str, Template]]] = {}
        shapes: list[tuple[str, Template]] = []
        short: list[tuple[str, Template]] = []
        for token_format in formats:
            for template in token_format.templates:
                entry = (token_format.name, template)
                split = _OUTSIDE.match(template.prefix)
                before = split["outside"] if split and split["outside"] else ""
                start = template.prefix[len(before) :]
                first_run = _FIRST_RUN.match(template.sample, len(before))
                if first_run is not None and first_run.end() - len(before) < SHORTEST_RUN:
                    short.append(entry)
                elif before:
                    outside.setdefault(before[-3:], []).append(entry)
                elif len(start) >= 2:
                    inside.setdefault(start[:2], []).append(entry)
                else:
                    shapes.append(entry)
        self._inside = {key: _Bucket(entries) for key, entries in inside.items()}
        self._outside = {key: _Bucket(entries) for key, entries in outside.items()}
        self._shapes = _Bucket(shapes)
        self._short = _Bucket(short)
        self._outside_ends = frozenset(key[-1] for key in outside)
        heads = "|".join(re.escape(head) for head in sorted(inside)) or _NOTHING
        self._after_separator = re.compile(f"[_-](?={heads})")

    def find(self, text: str, start: int, end: int, has_digit: bool) -> list[Found]:
        """Return the tokens that begin in a run of token characters or just before it."""
        tokens: list[Found] = []
        bucket = self._inside.get(text[start : start + 2])
        if bucket is not None:
            bucket.match(text, start, tokens)
        begin = start
        before = text[start - 1] if start else " "
        if before in self._outside_ends:
            self._find_with_lead(text, start, tokens)
        elif before in _ESCAPES:
            begin = _after_escape(text, start)
            bucket = self._inside.get(text[begin : begin + 2])
            if bucket is not None:
                bucket.match(text, begin, tokens)
        if has_digit:
            if before in _JOINTS:
                self._find_with_short_part(text, start, tokens)
            for separator in self._after_separator.finditer(text, start, end):
                bucket = self._inside[text[separator.end() : separator.end() + 2]]
                bucket.match(text, separator.end(), tokens)
            if text[end : end + 1] in (".", ":") or 33 < end - start < 100:
                self._shapes.match(text, begin, tokens)
        return tokens

    def _find_with_lead(self, text: str, start: int, tokens: list[Found]) -> None:
        """Add the tokens whose prefix ends directly before a run: `SG.`, `hvs.`."""
        bucket = self._outside.get(text[max(start - 3, 0) : start])
        bucket = bucket or self._outside.get(text[start - 2 : start])
        if bucket is not None:
            for lead in bucket.leads:
                if start >= lead:
                    bucket.match(text, start - lead, tokens)

    def _find_with_short_part(self, text: str, start: int, tokens: list[Found]) -> None:
        """Add the tokens whose first part is too short to be a run: `1234567890:AA...`."""
        hop = start
        while hop > start - 48 and hop and text[hop - 1] in _JOINTS:
            before = _SHORT_RUN.match(text[max(hop - 41, 0) : hop - 1][::-1])
            hop -= 1 + (before.end() if before else 0)
            self._short.match(text, _after_escape(text, hop), tokens)


def may_be_shape(before: bytes, after: bytes, length: int) -> bool:
    """Return True if `TokenIndex.find` tries formats without a literal beginning for a run of this
    length between these two bytes."""
    return before in _JOINT_BYTES or after in _SHAPE_ENDS or 33 < length < 100


def _after_escape(text: str, position: int) -> int:
    """Return `position`, moved past the rest of an escape sequence such as `\\n` or `%3D`."""
    escaped = _ESCAPED.match(text, position)
    return position if escaped is None else escaped.end()


class _Bucket:
    """Formats with a common beginning, as one alternation, the longest prefix first."""

    def __init__(self, entries: list[tuple[str, Template]]) -> None:
        entries.sort(key=lambda entry: (len(entry[1].prefix), len(entry[1].sample)), reverse=True)
        self._entries = entries
        self.leads = tuple(
            {len(split["outside"] or "") for _, t in entries if (split := _OUTSIDE.match(t.prefix))}
        )

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        formats = (
            f"(?P<r{number}>{template.pattern}){_right_edge(template)}"
            for number, (_, template) in enumerate(self._entries)
        )
        return re.compile("|".join(formats) or _NOTHING)

    def match(self, text: str, position: int, tokens: list[Found]) -> None:
        """Add the token that begins at `position`, if there is one."""
        token = self._pattern.match(text, position)
        if token is None or token.lastgroup is None:
            return
        name, template = self._entries[int(token.lastgroup[1:])]
        if values.is_plausible_token(token.group()[len(template.prefix) :]) or values.is_proven(
            name, token.group()
        ):
            tokens.append((token.start(), token.end(), name))


def _right_edge(template: Template) -> str:
    """Return the look-ahead after a token of fixed length."""
    return "" if template.pattern.endswith(",4000}") else r"(?![A-Za-z0-9])"


_KEY_MEMBER = re.compile(r"[\"']key[\"']\s?:\s?[\"']$")


def find_named(text: str, start: int, end: int, vendored: bool = True) -> Found | None:
    """Return the machine-made value around a run if a name or a vendor precedes it or it has the
    prefix of a token; else None.

    These values have no format of their own: `CODECOV_TOKEN`, `ollama key = ...`,
    `setProperty("X_TOKEN", "...")`, `Access Token      ...`. `vendored`: a vendor's name may
    precede it.
    """
    if _SLUG_RUN.fullmatch(text, start, end) is not None:
        return None
    begin, value_end = start, end
    # a look at the neighbour saves most of the searches
    if start and text[start - 1] not in _NO_VALUE:
        left = _LEFT.match(text[max(start - 64, 0) : start][::-1])
        if left is not None and left.end():
            joined = left.group()[::-1]
            cut = max(joined.rfind("="), joined.rfind(":"), joined.rfind("//"))
            begin = start - (len(joined) - cut - 1)
    if end < len(text) and text[end] not in _NO_VALUE:
        extension = _EXTENSION.match(text, end)
        value_end = extension.end() if extension else end
    value = text[begin:value_end].rstrip(".!:")
    if (
        begin
        and text[begin - 1] in "-:=/"
        and _DIGEST_BEFORE.search(text[max(begin - 9, 0) : begin])
    ):
        return None
    before = text[max(begin - 144, 0) : begin]
    if before.endswith(") = ") and values.is_checksum(before[:-4], value):
        return None
    if before.endswith("::") or values.is_key_of_element(before):
        return None  # a name in a scope, or a key among elements of a page
    if values.is_id_of_thing(value) and _KEY_MEMBER.search(before) is not None:
        return None
    if before.endswith((":", "/")) and _RESOURCE.search(before) is not None:
        return None
    if is_hash_below_key(before, value):
        return None
    rule = CONTEXTS.rule_for(text, begin, value) if vendored else None
    if rule is not None:
        return begin, begin + len(value), rule
    drawn = _LONG_PIECE.search(value) is not None and _is_drawn(value)
    if (
        ((drawn and _is_named(text, begin, value)) or is_mentioned(text, start, begin, value))
        and not values.is_identifier_of_something(value)
        and not values.is_placeholder(value)
        and not values.is_reference(value)
    ):
        return begin, _last_end(text, begin, begin + len(value)), "named-secret"
    if _PREFIXED_BODY.search(text, max(start - 1, 0), end) is None:
        return None
    prefixed = find_prefixed(text, start, end)
    return None if prefixed is None else (*prefixed, "prefixed-token")


def _is_named(text: str, begin: int, value: str) -> bool:
    """Return True if the text before `value` names it as a secret."""
    line = text[max(begin - 96, 0) : begin]
    tag = _TAG_BEFORE.search(line) if "<redacted:" in line else None
    if tag is not None:  # only the rest of a token that was wrapped onto a line of its own
        return "\n" in tag[1] and text[begin + len(value) : begin + len(value) + 1] in ("", "\n")
    is_uuid = values.is_uuid(value)
    assigned = _ASSIGNED_TO.match(line[::-1])
    if assigned is not None:
        name = assigned["name"][::-1]
        kind = name_kind(name)
        if kind is NameKind.PLAIN and says_public(name):
            return False
        if kind >= NameKind.TOKEN or (kind is NameKind.VENDOR and not is_uuid):
            return True
    if is_uuid or values.is_hex(value):
        return False
    context = line[-48:].rsplit("\n", 1)[-1]
    return _NEARBY.search(context) is not None and _NOT_SECRET_NEARBY.search(context) is None


def _last_end(text: str, begin: int, end: int) -> int:
    """Return `end`, moved past the further values of a list of quoted values if all of them look
    random, or past the further lines of a wrapped token."""
    listed = _LISTED.match(text, end) if text[begin - 1 : begin] in _LIST_QUOTES else None
    if listed is None:
        return _wrapped_end(text, begin, end)
    further_values = _QUOTED.findall(listed.group())
    return listed.end() - 1 if all(map(_is_drawn, further_values)) else end


def _wrapped_end(text: str, begin: int, end: int) -> int:
    """Return `end`, moved past all further lines of a token whose first lines are a tag already, so
    that one pass removes them all instead of one each."""
    if _TAG_BEFORE.search(text, max(begin - 96, 0), begin) is None:
        return end
    lines = _WRAPPED_LINES.match(text, end)
    return lines.end() if lines else end


def _is_drawn(value: str) -> bool:
    """Return True if `value` looks randomly generated."""
    return len(value) <= _LONGEST_VALUE and (
        values.is_random(value)
        or values.is_uuid(value)
        or (values.is_hex(value) and len(value) >= 20)
    )
