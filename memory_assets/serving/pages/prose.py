"""Text of transcripts as HTML: redaction tags as links, the words of a query marked, Markdown of
the prose without its links and images, diffs line by line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from markdown_it import MarkdownIt
from markupsafe import Markup, escape

from memory_assets.serving.visible_text import HEADING, MARKS, link_text, visible

_TAG = re.compile(r"<redacted:(?P<rule>[a-z0-9-]{1,60}):(?P<digest>[0-9a-f]{12})>")
_DAGSTER_LINK = re.compile(r'<a href="[^"]*"(?: title="[^"]*")? rel="noreferrer">(.*?)</a>')
_ONLY_LEADS = ("lineage", "Lineage in Dagster", "Report in Dagster")
_TAG_LINK = re.compile(r'<a class="redacted"[^>]*>([a-z0-9-]+)</a>')
"""A link of ours in HTML, where text cannot look like one."""
_BREAKS = re.compile(r"(?<=[/\\_])(?=\w)")


def with_tags(text: str, query: str = "") -> Markup:
    """Return text as HTML, with each redaction tag as a link to where else its value stood, and the
    words of a query marked."""
    return Markup("").join(_pieces(visible(text), query))


def _pieces(text: str, query: str) -> Iterator[Markup]:
    place = 0
    for tag in _TAG.finditer(text):
        yield marked_text(text[place : tag.start()], query)
        yield tag_link(tag["rule"], tag["digest"])
        place = tag.end()
    yield marked_text(text[place:], query)


def marked_text(text: str, query: str) -> Markup:
    """Return text without tags as HTML, with the words of a query marked."""
    if not query:
        return escape(text)
    from memory_assets.recall.search.excerpts import marked_words

    return Markup("").join(
        Markup("<mark>{}</mark>").format(word) if is_match else escape(word)
        for word, is_match in marked_words(text, query)
    )


def tag_link(rule: str, digest: str) -> Markup:
    """Return a redaction tag as a link to where else its value stood."""
    return Markup(
        '<a class="redacted" href="/page/tag/{}:{}" title="Redacted by the rule {}. '
        'Follow it to see where else the same value stood.">{}</a>'
    ).format(rule, digest, rule, rule)


def with_plain_tags(text: str, query: str = "") -> Markup:
    """Return text as `with_tags` does, its tags leading nowhere: for what is pressed itself."""
    return Markup(without_tag_links(with_tags(text, query)))


def breakable(path: str) -> Markup:
    """Return a path as HTML that may be broken after its slashes and underscores."""
    return Markup(_BREAKS.sub("<wbr>", str(escape(visible(path)))))


def without_dagster_links(html: str) -> str:
    """Return HTML that leads nowhere in Dagster's UI: words of links stay."""
    return _DAGSTER_LINK.sub(lambda link: "" if link[1] in _ONLY_LEADS else link[1], str(html))


def without_tag_links(html: str) -> str:
    """Return HTML whose redaction tags lead nowhere."""
    return _TAG_LINK.sub(r'<span class="redacted">\1</span>', str(html))  # Markup would escape


_MOST_CHARACTERS = 40_000
"""Longer prose is shown as it was written."""
_LINKING = ["link", "image", "autolink", "reference", "html_block", "html_inline"]
_ESCAPED_TAG = re.compile(r"&lt;redacted:([a-z0-9-]{1,60}):([0-9a-f]{12})&gt;")
_ATTRIBUTES = {"heading_open": {"class": "heading"}, "table_open": {"tabindex": "0"}}
"""A table that is wider than its page scrolls, with keys too."""
_STARS = re.compile(
    rf"{MARKS.pattern}"
    r"|(?P<stars>(?P<half>(?<!\S)\*\*(?=\S)|(?<=[^\s/*])\*\*(?![\w/*]))|\*\*|(?<!\w)\*(?!\w)|_)"
)
"""Code, strong words and links, and marks that are none: `half` is one end of strong words; a star
without a word beside it is of a pattern of paths, `_` of a name."""
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
    return _rendered(_markdown().parse(visible(text)), query)


def inline_prose(text: str, query: str = "") -> Markup:
    """Return a stretch of prose on one line as HTML: its emphasis and code, with the words of a
    query marked; of links their text, images stay as they are. A mark without its second half is
    left out."""
    if text.count("`") % 2:
        text = "".join(text.rpartition("`")[::2])
    is_open = text.count("**") % 2 == 1

    def replacement(stars: re.Match[str]) -> str:
        if stars["linked"]:
            return link_text(stars, stars["linked"])
        if stars["stars"] is None:
            return stars[0]
        return "" if is_open and stars["half"] else re.sub(r"([*_])", r"\\\1", stars["stars"])

    text = _STARS.sub(replacement, text)
    return _rendered(_markdown().parseInline(HEADING.sub("", visible(text))), query)


def _rendered(tokens: list[Any], query: str) -> Markup:
    parser = _markdown()
    for token in tokens:
        _strip_attributes(token, query)
    html = parser.renderer.render(tokens, parser.options, {})
    # Text is in elements alone, where the renderer escaped it, so that a tag is one of ours.
    return Markup(_ESCAPED_TAG.sub(lambda tag: tag_link(*tag.groups()), html))


def _strip_attributes(token: Any, query: str) -> None:
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
        _strip_attributes(child, query)


def diff_lines(diff: str) -> Markup:
    """Return a diff as HTML, a span a line."""
    return Markup("\n").join(_diff_lines(visible(diff)))


def _diff_lines(diff: str) -> Iterator[Markup]:
    for line in diff.split("\n"):
        kind = _OF_LINE.get(line[:1], "")
        shown = with_tags(line)
        yield Markup('<span class="{}">{}</span>').format(kind, shown) if kind else escape(shown)
