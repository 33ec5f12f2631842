"""Secrets that span lines or lists: private keys in PEM armour, cookies, Kubernetes Secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memory_assets.redaction.rules.judging import values
from memory_assets.redaction.rules.judging.likelihood import is_generated

_PEM_WORDS = re.compile(r"KEY(?: BLOCK)?-----")
_PEM_HEAD = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE $")
_PEM_TAIL = re.compile(r"-----END [A-Z0-9 ]{0,40}-----")
_PEM_TAIL_BEGIN = re.compile(r"-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE $")
_PEM_LINES_REVERSED = re.compile(
    r"(?:[\s|→+>\d]{1,14}|n\\(?:r\\)?)[A-Za-z0-9+/=]{1,80}"
    r"(?:(?:[\s|→+>\d]{1,14}|n\\(?:r\\)?)[A-Za-z0-9+/=]{40,80}){0,600}"
)
_PEM_LONGEST = 40_000
_PEM_BODY = re.compile(r"[A-Za-z0-9+/]{16,}")
_PEM_CUT_OFF = re.compile(r"(?:[\s\\rn\"'`+,|→:\d]{0,24}[A-Za-z0-9+/=]{16,80}){1,600}")
_COOKIE_JAR = re.compile(
    r"(?i:cookies?)\\?[\"']?[ \t]{0,4}[:=][ \t]{0,4}\\?[\"']?(?P<jar>[^\r\n\"'\\]{8,8000})"
)
_COOKIE = re.compile(r"[\w.\-]{1,100}=(?P<value>[^\s;,=]{12,4000}={0,2})")
_DRAWN = 12
_KIND_SECRET = re.compile(
    r"(?im)^[ \t]{0,20}[\"']?kind[\"']?[ \t]{0,4}:[ \t]{0,4}[\"']?secret[\"']?[ \t,]{0,20}\r?$"
)
_DOCUMENT_END = re.compile(r"(?m)^(?:---|\.\.\.)")
_DATA = re.compile(
    r"(?m)^(?P<indent>[ \t]{0,20})[\"']?(?:data|stringData)[\"']?[ \t]{0,4}:[ \t{]{0,4}\r?$"
)
_ENTRY = re.compile(
    r"^(?P<indent>[ \t]{1,40})[\"']?[\w.\-/]{1,200}[\"']?[ \t]{0,4}:[ \t]{0,8}[\"']?"
    r"(?P<value>[^\s\"'{}][^\n\"'{}]{2,200000}[^\s\"'{}])"
)
_BLOCK_SCALAR = re.compile(
    r"^[ \t]{1,40}[\"']?[\w.\-/]{1,200}[\"']?[ \t]{0,4}:[ \t]{1,8}[|>][-+]?[ \t]{0,8}\r?$"
)
_DOCUMENT_LONGEST = 60_000


def find_private_key(text: str, key_position: int) -> tuple[int, int] | None:
    """Return the PEM or PGP private key with `KEY` of its first line at `key_position`.

    Line ends may be real or escaped. An incomplete block is taken as far as it goes; a mere mention
    of a header, without a body, is not a key. Lines before a footer without a header count as well.
    """
    words = _PEM_WORDS.match(text, key_position)
    if words is None or text[max(key_position - 8, 0) : key_position] != "PRIVATE ":
        return None
    before = text[max(key_position - 60, 0) : key_position]
    head = _PEM_HEAD.search(before)
    if head is None:
        tail = _PEM_TAIL_BEGIN.search(before)
        return tail and _headless_key(text, key_position - len(before) + tail.start(), words.end())
    start = key_position - (head.end() - head.start())
    tail = _PEM_TAIL.search(text, words.end(), words.end() + _PEM_LONGEST)
    if tail is not None:
        inside = _PEM_BODY.search(text, words.end(), tail.start())
        return (start, tail.end()) if inside else None
    rest = _PEM_CUT_OFF.match(text, words.end())
    return (start, rest.end()) if rest else None


def _headless_key(text: str, tail: int, end: int) -> tuple[int, int] | None:
    """Return the base64 lines before a private key's last line at `tail`, and that line, if the
    first line is missing."""
    body = _PEM_LINES_REVERSED.match(text[max(tail - _PEM_LONGEST, 0) : tail][::-1])
    if body is None or not any(map(values.is_random, _PEM_BODY.findall(body.group()))):
        return None
    return tail - body.end(), end


def find_cookies(text: str, position: int) -> tuple[list[tuple[int, int]], int]:
    """Return the values in a cookie header at `position` that look generated, and the end of the
    header (`position` itself if there is none)."""
    jar = _COOKIE_JAR.match(text, position)
    if jar is None:
        return [], position
    spans: list[tuple[int, int]] = []
    for cookie in _COOKIE.finditer(text, *jar.span("jar")):
        value = cookie["value"]
        if (values.is_random(value, 10) or is_generated(value, _DRAWN)) and not values.is_reference(
            value
        ):
            spans.append(cookie.span("value"))
    return spans, jar.end()


def find_kubernetes_secret(text: str, position: int) -> tuple[list[tuple[int, int]], int]:
    """Return the values under `data:` in the Secret manifest whose `kind` is near `position`, and
    the end of the manifest (`position` itself if there is none)."""
    line_start = text.rfind("\n", max(position - 60, 0), position) + 1
    if _KIND_SECRET.match(text, line_start) is None:
        return [], position
    floor = max(position - _DOCUMENT_LONGEST, 0)
    begin = max(text.rfind("\n---", floor, position), floor)
    break_ = _DOCUMENT_END.search(text, position, position + _DOCUMENT_LONGEST)
    end = break_.start() if break_ else min(position + _DOCUMENT_LONGEST, len(text))
    entries: list[tuple[int, int]] = []
    for data in _DATA.finditer(text, begin, end):
        entries.extend(_entries(text, data.end() + 1, end, len(data["indent"])))
    return entries, end


def _entries(text: str, start: int, end: int, indent: int) -> Iterator[tuple[int, int]]:
    scalar = False
    while start < end:
        stop = text.find("\n", start, end)
        stop = end if stop < 0 else stop
        line = text[start:stop]
        entry = _ENTRY.match(line)
        if line.lstrip().startswith("#"):
            pass
        elif scalar and entry is None and line[: indent + 1].isspace() and line.strip():
            yield start + len(line) - len(line.lstrip()), stop
        elif _BLOCK_SCALAR.match(line):
            scalar = True
        elif entry is None or len(entry["indent"]) <= indent:
            if line.strip():
                return
        elif not values.is_placeholder(entry["value"]) and not values.is_reference(entry["value"]):
            scalar = False
            yield start + entry.start("value"), start + entry.end("value")
        start = stop + 1
