"""The rules of `.gitignore` files, read and matched as Git does, byte for byte.

https://git-scm.com/docs/gitignore. No rule is expensive: between two wildcards the first match is
always right, so that the expressions never backtrack into it (`(?>...)`).
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

_LONGEST_RULE = 4_096
"""Bytes; no path is longer."""
_SPECIAL = re.compile(rb"[*?\[\\]")
_MANY_STARS = re.compile(rb"\*{3,}")
_CLASSES = {
    b"alnum": rb"0-9A-Za-z",
    b"alpha": rb"A-Za-z",
    b"blank": rb" \t",
    b"cntrl": rb"\x00-\x1f\x7f",
    b"digit": rb"0-9",
    b"graph": rb"!-~",
    b"lower": rb"a-z",
    b"print": rb" -~",
    b"punct": rb"!-/:-@\[-`{-~",
    b"space": rb" \t-\r",
    b"upper": rb"A-Z",
    b"xdigit": rb"0-9A-Fa-f",
}
"""POSIX classes, as the inside of a class of a regular expression."""
_ONE = rb"(?:\\.|[^\]\\])"
_TOKEN = re.compile(
    rb"(?P<stars>\*+)|(?P<any>\?)|\\(?P<escaped>.)|(?P<plain>[^\[\\*?])"
    rb"|\[(?P<negated>[!^]?+)"
    rb"(?P<inside>(?:\](?:-%b)?)?+(?:\[:[^\]]*:\]|%b(?:-%b)?)*+)\]" % (_ONE, _ONE, _ONE),
    re.DOTALL,
)
_ITEM = re.compile(rb"\[:(?P<class>[^\]]*):\]|\\?(?P<low>.)(?:-\\?(?P<high>.))?", re.DOTALL)
"""What is between square brackets: classes, characters and ranges."""


class InvalidRule(ValueError):
    """A rule that can match nothing, because it is not complete or names an unknown class."""


@dataclass(frozen=True)
class Rule:
    """A rule: its pattern, and whether it leaves matching paths out or includes them again."""

    pattern: bytes
    leaves_out: bool
    directories_only: bool

    @cached_property
    def _expression(self) -> re.Pattern[bytes]:
        return re.compile(expression(self.pattern), re.DOTALL)

    def matches(self, path: bytes, name: bytes) -> bool:
        """Return True if the rule matches a path, relative to its file; `name` is the last part."""
        return self._expression.fullmatch(path if b"/" in self.pattern else name) is not None


@dataclass(frozen=True)
class RuleFile:
    """The rules of a file, the last one first, and the number of lines that are not valid."""

    rules: tuple[Rule, ...] = ()
    invalid: int = 0

    def verdict(self, path: bytes, is_directory: bool) -> bool | None:
        """Return True if the rules leave out a path, False if they include it, else None."""
        name = path.rpartition(b"/")[2]
        for rule in self.rules:
            if (is_directory or not rule.directories_only) and rule.matches(path, name):
                return rule.leaves_out
        return None


def rules_at(path: Path) -> RuleFile | None:
    """Return the rules of a file; None if it is not there, or is no plain file."""
    try:
        status = os.stat(path)  # noqa: PTH116 - twice for each directory of a walk
        return rules_of_state(path, status.st_ino, status.st_size, status.st_mtime_ns)
    except OSError:
        return None


@lru_cache(maxsize=4_096)
def rules_of_state(path: Path, inode: int, size: int, mtime_ns: int) -> RuleFile:
    """Return the rules of a file in this state; cached, as a watcher needs them at each save."""
    return parsed(path.read_bytes())


def parsed(content: bytes) -> RuleFile:
    """Return the rules of a file with this content."""
    rules: list[Rule] = []
    invalid = 0
    for line in content.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        text = _strip_trailing_blanks(line.removesuffix(b"\r").partition(b"\0")[0])
        if not text or line.startswith(b"#"):
            continue
        pattern = _MANY_STARS.sub(b"**", text.removeprefix(b"!"))
        bare = pattern.removesuffix(b"/")
        try:
            expression(bare)
        except InvalidRule:
            invalid += 1
        else:
            rules.append(Rule(bare, not text.startswith(b"!"), bare != pattern))
    return RuleFile(tuple(reversed(rules)), invalid)


def _strip_trailing_blanks(line: bytes) -> bytes:
    """Return a line without trailing blanks, except one after a backslash."""
    bare = line.rstrip(b" ")
    backslashes = len(bare) - len(bare.rstrip(b"\\"))
    return bare + b" " if backslashes % 2 and bare != line else bare


def expression(pattern: bytes) -> bytes:
    """Return a rule's pattern as a regular expression of whole paths, or of whole names if it has
    no slash.

    Raises:
        InvalidRule: it can match nothing.
    """
    if not pattern or len(pattern) > _LONGEST_RULE:
        raise InvalidRule
    pattern = pattern.removeprefix(b"/")
    special = _SPECIAL.search(pattern)
    plain = pattern[: special.start()] if special else pattern
    # Git compares the plain beginning first, so that `a**/b` is `a` and `**/b`.
    groups: list[list[bytes]] = [[]]
    parts = _parts(pattern[len(plain) :])
    if [] in parts[1:]:
        raise InvalidRule
    for part in parts:
        if part == [b"**"] and len(parts) > 1:
            groups.append([])
        else:
            groups[-1].append(_part_expression(part))
    first_group, *between = [rb"/".join(group) for group in groups]
    if not between:
        return re.escape(plain) + first_group
    last_group = between.pop()
    regex = re.escape(plain) + (first_group + rb"/" if groups[0] else b"")
    for group in filter(None, between):
        regex += rb"(?>(?:[^/]*+/)*?" + group + rb"/)"
    return regex + (rb"(?:[^/]*+/)*?" + last_group if last_group else rb".*+")


def _parts(pattern: bytes) -> list[list[bytes]]:
    """Return the elements of each part between slashes: asterisks, or expressions of one byte."""
    parts: list[list[bytes]] = [[]]
    at = 0
    while at < len(pattern):
        token = _TOKEN.match(pattern, at)
        if token is None:
            raise InvalidRule
        at = token.end()
        byte = token["escaped"] or token["plain"]
        if byte == b"/":
            parts.append([])
        elif token["inside"] is not None:
            parts[-1].append(_byte_class(token["inside"], negated=bool(token["negated"])))
        else:
            parts[-1].append(re.escape(byte) if byte else token["stars"] or rb"[^/]")
    return parts


def _part_expression(elements: list[bytes]) -> bytes:
    """Return the expression of a part between two slashes."""
    chunks: list[bytes] = [b""]
    for element in elements:
        if not element.startswith(b"*"):
            chunks[-1] += element
        elif chunks[-1] or len(chunks) == 1:
            chunks.append(b"")
    first_chunk, *later_chunks = chunks
    if not later_chunks:
        return first_chunk
    between = b"".join(rb"(?>[^/]*?" + chunk + rb")" for chunk in later_chunks[:-1])
    last_chunk = rb"(?>[^/]*" + later_chunks[-1] + rb"(?![^/]))" if later_chunks[-1] else rb"[^/]*+"
    return first_chunk + between + last_chunk


def _byte_class(inside: bytes, *, negated: bool) -> bytes:
    """Return the expression of one byte that is, or is not, one of those in square brackets."""
    listed = b""
    for item in _ITEM.finditer(inside):
        low, high = item["low"], item["high"]
        if low is None:
            try:
                listed += _CLASSES[item["class"]]
            except KeyError:
                raise InvalidRule from None
        else:
            listed += re.escape(low)
            if high is not None and low <= high:
                listed += re.escape(low) + b"-" + re.escape(high)
    return (rb"(?!/)[^" if negated else rb"(?!/)[") + listed + b"]"
