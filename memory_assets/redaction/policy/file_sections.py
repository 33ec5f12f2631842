"""Texts that contain several files: patches, diffs, listings of matches.

Each function yields `(path, start, end)`: a range of the text and its file. All are linear in the
length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from memory_assets.redaction.time_budget import within_budget

_COLOUR = r"(?:\x1b\[[0-9;]{0,20}m)*+"
_PATCH_HEADER = re.compile(
    r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (?P<path>[^\n]{1,1000})$"
    r"|^(?P<end>\*\*\* End Patch)\b",
    re.MULTILINE,
)
_DIFF_HEADER = re.compile(
    rf"^{_COLOUR}(?:diff --(?:git|cc|combined) (?P<names>[^\n\x1b]{{1,2000}})"
    rf"|--- (?P<old>[^\n\x1b]{{1,1000}}){_COLOUR}\n{_COLOUR}\+\+\+ (?P<new>[^\n\x1b]{{1,1000}})"
    rf"|(?P<end>commit [0-9a-f]{{7,64}}\b))[^\n]*+",
    re.MULTILINE,
)
_DIFF_MARKS = ("diff --", "\n+++ ")
_MATCH = re.compile(
    rf"^{_COLOUR}(?P<path>(?:[A-Za-z]:(?=[\\/]))?[^:\n\x1b]{{1,1000}}+){_COLOUR}(?P<mark>:)",
    re.MULTILINE,
)
_ESCAPES = re.compile(r"\x1b\[[0-9;]{0,20}[mK]")
_NUMBERED = re.compile(r"-(?=\d{1,9}-)")
_HEADING_LINE = re.compile(r"\d{1,9}[:-]")


class Section(NamedTuple):
    """A range of a text, and the file that it belongs to."""

    path: str
    start: int
    end: int


def has_sections(text: str) -> bool:
    """Return False, quickly, if a text has neither a diff nor a patch."""
    return _has_patch(text) or _has_diff(text)


def _has_patch(text: str) -> bool:
    return "*** " in text


def _has_diff(text: str) -> bool:
    git, unified = _DIFF_MARKS
    return git in text or unified in text or text.startswith("--- ")


def patch_sections(text: str) -> Iterator[Section]:
    """Yield the body of each file of an apply_patch text, without its header line."""
    if not _has_patch(text):
        return
    path, begin = "", 0
    for header in within_budget(_PATCH_HEADER.finditer(text)):
        if path and header.start() - 1 > begin:
            yield Section(path, begin, header.start() - 1)
        path, begin = header["path"] or "", header.end() + 1
    if path and len(text) > begin:
        yield Section(path, begin, len(text))


def diff_sections(text: str) -> Iterator[Section]:
    """Yield the body of each file of unified diffs, without the line that names the file.

    A body with two names (old and new) is yielded once for each.
    """
    if not _has_diff(text):
        return
    names: tuple[str, ...] = ()
    begin = 0
    for header in within_budget(_DIFF_HEADER.finditer(text)):
        if (
            header["old"]
            and names
            and text[begin - 1 : begin] == "\n"
            and _is_head(text[begin : header.start()])
        ):
            continue  # the `---` and `+++` of a `diff --git` that was seen
        if header.start() - 1 > begin:
            yield from (Section(name, begin, header.start() - 1) for name in names)
        names, begin = _diff_names(header), header.end() + 1
    if len(text) > begin:
        yield from (Section(name, begin, len(text)) for name in names)


def _is_head(between: str) -> bool:
    """Return True if there is only a diff's extended header between, and no hunk."""
    return len(between) < 4_000 and "\n@@" not in between and not between.startswith("@@")


def _diff_names(header: re.Match[str]) -> tuple[str, ...]:
    if header["end"]:
        return ()
    if header["names"]:
        names = header["names"].split()
    else:
        names = [header["old"].split("\t")[0], header["new"].split("\t")[0]]
    plain = (re.sub(r"^[abciow]/", "", name.strip('"')) for name in names)
    return tuple(dict.fromkeys(name for name in plain if name != "/dev/null"))


def match_sections(text: str, wanted: Callable[[str], bool]) -> Iterator[Section]:
    """Yield the lines of a search's output that belong to `wanted` files: `path:12:line`,
    `path-13-context`, or a line with the path alone and `12:line` below it.

    The path at the start of the first line of a group is not part of its range.
    """
    lines = text.split("\n")
    names = {line.partition(":")[0] for line in lines}
    seen = {name for name in map(_uncoloured, names) if _may_be_path(name) and wanted(name)}
    if not seen:
        return
    run: Section | None = None
    heading = ""
    position = 0
    for line in within_budget(lines):
        path, prefix = _match_path(line, seen)
        if not path and heading and _HEADING_LINE.match(line):
            path = heading
        elif not path:
            name = line.strip()
            heading = name if name in seen else ""
        end = position + len(line)
        if run and run.path == path:
            run = Section(path, run.start, end)
        else:
            if run:
                yield run
            run = Section(path, position + prefix, end) if path else None
        position = end + 1
    if run:
        yield run


def _uncoloured(name: str) -> str:
    return _ESCAPES.sub("", name) if "\x1b" in name else name.rstrip("\r")


def _may_be_path(name: str) -> bool:
    return 0 < len(name) <= 1_000 and (" " not in name or "/" in name or "\\" in name)


def _match_path(line: str, seen: set[str]) -> tuple[str, int]:
    """Return the wanted path that a line begins with, and where the file's text begins."""
    if (hit := _MATCH.match(line)) and hit["path"] in seen:
        return hit["path"], hit.end()
    for mark in _NUMBERED.finditer(line, 0, 1_000):
        if line[: mark.start()] in seen:
            return line[: mark.start()], mark.end()
    for path in seen:
        if line.startswith(f"{path}-"):
            return path, len(path) + 1
    return "", 0
