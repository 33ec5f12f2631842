"""Text of transcripts as HTML: Markdown of the prose without its links and images, diffs line by
line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from markdown_it import MarkdownIt
from markupsafe import Markup, escape

from memory_assets.serving.pages.tags import marked_text, tag_link, with_tags
from memory_assets.serving.visible_text import HEADING, MARKS, visible

_MOST_CHARACTERS = 40_000
"""Longer prose is shown as it was written."""
_LINKING = ["link", "image", "autolink", "reference", "html_block", "html_inline"]
_ESCAPED_TAG = re.compile(r"&lt;redacted:([a-z0-9-]{1,60}):([0-9a-f]{12})&gt;")
_ATTRIBUTES = {"heading_open": {"class": "heading"}, "table_open": {"tabindex": "0"}}
"""A table that is wider than its page scrolls, with keys too."""
_STARS = re.compile(
    rf"{MARKS.pattern}|(?P<stars>(?P<half>(?<!\S)\*\*(?=\S)|(?<=[^\s/*])\*\*(?![\w/*]))|\*\*)"
)
"""Code and strong words, and stars that are neither: `half` is one end of strong words."""
_OF_LINE = {"+": "added", "-": "removed", "@": "place"}


@cache
def _markdown() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable("table").disable(_LINKING)


def prose(text: str, query: str = "") -> Markup:
    """Return prose as HTML, with the words of a query marked. Its links and images stay text;
    headings become paragraphs, so that the page keeps its own order of headings; no text gets into
    an attribute."""
    if len(text) > _MOST_CHARACTERS:
        return Markup("<pre>{}</pre>").format(with_tags(text, query))
    parser = _markdown()
    tokens = parser.parse(visible(text))
    for token in tokens:
        _made_plain(token, query)
    html = parser.renderer.render(tokens, parser.options, {})
    # Text is in elements alone, where the renderer escaped it, so that a tag is one of ours.
    return Markup(_ESCAPED_TAG.sub(lambda tag: tag_link(*tag.groups()), html))


def said_inline(text: str, query: str = "") -> Markup:
    """Return a stretch of prose on one line as HTML: its emphasis and code, with the words of a
    query marked; its links and images stay text. A mark without its second half is left out."""
    if text.count("`") % 2:
        text = "".join(text.rpartition("`")[::2])
    is_open = text.count("**") % 2 == 1

    def kept(stars: re.Match[str]) -> str:
        if stars["stars"] is None:
            return stars[0]
        return "" if is_open and stars["half"] else stars["stars"].replace("*", r"\*")

    text = _STARS.sub(kept, text)
    parser = _markdown()
    tokens = parser.parseInline(HEADING.sub("", visible(text)))
    for token in tokens:
        _made_plain(token, query)
    html = parser.renderer.render(tokens, parser.options, {})
    return Markup(_ESCAPED_TAG.sub(lambda tag: tag_link(*tag.groups()), html))


def _made_plain(token: Any, query: str) -> None:
    token.info = ""
    if query and token.type in ("text", "code_inline"):
        shown = marked_text(token.content, query)
        if token.type == "code_inline":
            shown = Markup("<code>{}</code>").format(shown)
        token.type, token.content = "html_inline", str(shown)
    token.attrs = dict(_ATTRIBUTES.get(token.type, {}))
    if token.type.startswith("heading"):
        token.tag = "p"
    for child in token.children or ():
        _made_plain(child, query)


def diff_lines(diff: str) -> Markup:
    """Return a diff as HTML, a span a line."""
    return Markup("\n").join(_diff_lines(visible(diff)))


def _diff_lines(diff: str) -> Iterator[Markup]:
    for line in diff.split("\n"):
        kind = _OF_LINE.get(line[:1], "")
        shown = with_tags(line)
        yield Markup('<span class="{}">{}</span>').format(kind, shown) if kind else escape(shown)
