"""Redacted text as HTML: its tags as links, the words of a query marked."""

from __future__ import annotations

import re
from collections.abc import Iterator

from markupsafe import Markup, escape

from memory_assets.serving.visible_text import visible

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
        Markup("<mark>{}</mark>").format(word) if asked else escape(word)
        for word, asked in marked_words(text, query)
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
