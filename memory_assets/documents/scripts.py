"""Cut Dockerfiles at stages, makefiles at targets, shell scripts at functions."""

from __future__ import annotations

import re

from memory_assets.documents.document import Cut, Source

_STAGE = re.compile(r"^[ \t]*(FROM[ \t]+[^\r\n#]+)", re.MULTILINE | re.IGNORECASE)
_TARGET = re.compile(r"^(?![.\t#])([^\s:=#][^:=#\r\n]*?)[ \t]*::?(?![:=])", re.MULTILINE)
_PHONY = re.compile(r"\.[A-Z_]+[ \t]*:")
_FUNCTION = re.compile(
    r"^[ \t]*(?:function[ \t]+(?P<named>[\w:.-]+)|(?P<name>[\w:.-]+)[ \t]*\([ \t]*\))[^\r\n]*",
    re.MULTILINE,
)
_CLOSING = re.compile(r"^[)}][^\r\n]*(?:\r\n?|\n|\Z)", re.MULTILINE)
_MAX_HEADING = 120


def dockerfile(source: Source) -> list[Cut]:
    """Cut at each FROM; what stands before the first goes with it."""
    cuts = [
        Cut(source.with_comments(match.start()), "section", _line(match[1]), "stages")
        for match in _STAGE.finditer(source.text)
    ]
    return _after_head(source, cuts, joins=True)


def makefile(source: Source) -> list[Cut]:
    """Cut at each target, with the comments and the .PHONY line above it."""
    cuts = []
    for match in _TARGET.finditer(source.text):
        start = source.with_comments(match.start())
        line = source.line(start)
        if line and _PHONY.match(source.text, source.line_starts[line - 1]):
            start = source.with_comments(source.line_starts[line - 1])
        cuts.append(Cut(start, "definition", _line(match[1]), "targets"))
    return _after_head(source, cuts, joins=False)


def shell(source: Source) -> list[Cut]:
    """Cut at each function, and at the commands that follow one."""
    cuts: list[Cut] = []
    end = 0
    for match in _FUNCTION.finditer(source.text):
        if match.start() < end:
            continue
        start = max(end, source.with_comments(match.start()))
        cuts += _commands(source, end, start)
        cuts.append(Cut(start, "definition", match["named"] or match["name"], "file"))
        closing = _CLOSING.search(source.text, match.end())
        if match[0].rstrip().endswith(("}", ")")) and not match[0].rstrip().endswith("()"):
            end = match.end()  # the whole function in one line
        else:
            end = closing.end() if closing else len(source.text)
    return cuts + _commands(source, end, len(source.text))


def _commands(source: Source, start: int, end: int) -> list[Cut]:
    lines = (line.strip() for line in source.text[start:end].splitlines())
    first = next((line for line in lines if line and not line.startswith("#")), "")
    return [Cut(start, "section", _line(first), "file")] if source.text[start:end].strip() else []


def _after_head(source: Source, cuts: list[Cut], *, joins: bool) -> list[Cut]:
    """Return the cuts with one before them, if anything stands there."""
    first = cuts[0].start if cuts else len(source.text)
    head = source.text[:first].strip()
    if not head:
        return cuts
    heading = _line(next((line for line in head.splitlines() if not line.startswith("#")), head))
    return [Cut(0, "section", heading, cuts[0].group if cuts else "", joins), *cuts]


def _line(text: str) -> str:
    lines = text.strip().splitlines()
    return " ".join(lines[0].split())[:_MAX_HEADING] if lines else ""
