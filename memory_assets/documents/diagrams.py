"""Cut PlantUML into diagrams, without styling; the participants are embedded with each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from memory_assets.documents.document import Cut, Source

_START = re.compile(r"^[ \t]*@start(?P<kind>\w+)(?:[ \t]+(?P<name>[^\r\n]*\S))?", re.MULTILINE)
_TITLE = re.compile(r"^[ \t]*(?:title|caption)[ \t]+(?P<text>[^\r\n]*\S)", re.MULTILINE)
_PARTICIPANT = re.compile(
    r"^[ \t]*(?:participant|actor|boundary|control|entity|database|collections|queue|component|"
    r"node|cloud|interface|class|package|rectangle|usecase|state|artifact|storage|(?:System|Person|"
    r"Container|Component)\w*\([ \t]*\w+[ \t]*,)[ \t]+"
    r"(?:\"(?P<quoted>[^\"\r\n]+)\"|(?P<name>[\w.-]+))",
    re.MULTILINE,
)
"""plantuml.com/sequence-diagram, /component-diagram, /class-diagram; C4-PlantUML's macros."""
_STYLE = re.compile(
    r"^[ \t]*(?:skinparam\b[^\r\n{]*(?:\{[^}]{0,5000}\})?[^\r\n]*|"
    r"<style>.{0,5000}?</style>[^\r\n]*|!(?:include\w*|theme|import)\b[^\r\n]*|"
    r"hide[ \t]+(?:footbox|empty)[^\r\n]*|"
    r"(?:scale|autonumber)\b[^\r\n]*)(?:\r\n?|\n|\Z)",
    re.MULTILINE | re.DOTALL,
)
"""Lines that say how a diagram looks."""
_MARKUP = re.compile(r"<[^<>\n]{1,40}>|\\n|[*_~\"]{2,}")
_MAX_PARTICIPANTS = 12


def plantuml(source: Source) -> Iterator[Cut]:
    """Cut at each `@start...`. The heading is the diagram's title, or its name, or the file's; its
    participants are embedded with it."""
    starts = list(_START.finditer(source.text))
    style = [match.span() for match in _STYLE.finditer(source.text)]
    for number, match in enumerate(starts):
        start = match.start() if number else 0
        end = starts[number + 1].start() if number + 1 < len(starts) else len(source.text)
        title = _TITLE.search(source.text, match.start(), end)
        name = title["text"] if title else match["name"] or ""
        heading = " ".join(_MARKUP.sub(" ", name).split())
        yield Cut(
            start,
            "section" if len(starts) > 1 else "full_file",
            heading or PurePosixPath(source.path).stem,
            left_out=tuple(part for part in style if start <= part[0] < end),
            title=_participants(source.text[match.start() : end])
            or PurePosixPath(source.path).stem,
        )
    if not starts:
        yield Cut(0, "full_file", PurePosixPath(source.path).name, left_out=tuple(style))


def _participants(diagram: str) -> str:
    names = (match["quoted"] or match["name"] for match in _PARTICIPANT.finditer(diagram))
    plain = (" ".join(_MARKUP.sub(" ", name).split()) for name in names)
    return ", ".join(list(dict.fromkeys(plain))[:_MAX_PARTICIPANTS])
