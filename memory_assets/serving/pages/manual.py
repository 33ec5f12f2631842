"""The files of docs/ as pages, for whoever follows a link from Dagster's UI."""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise

from markdown_it import MarkdownIt
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from memory_assets.paths import SHIPPED
from memory_assets.serving.pages.rendering import page

MANUAL_PATH = "/docs/"
_NAME = re.compile(r"[a-z-]+\.md")
_PICTURE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
_NOT_OF_WORDS = re.compile(r"[^\w\- ]")


def manual_page(request: Request) -> Response:
    """Return the file of docs/ that the path names, as HTML."""
    name = request.url.path.removeprefix(MANUAL_PATH)
    file = SHIPPED / "docs" / name
    if not (_NAME.fullmatch(name) and file.is_file()):
        message = "There is no such document."
        return page(request, "problem.html", 404, title="Not in docs", message=message)
    body = _html(file.read_text(encoding="utf-8"))
    return page(request, "manual.html", title=name, body=body)


@cache
def _markdown() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable("table")


def _html(text: str) -> Markup:
    """Return Markdown of ours as HTML, with an id at each heading by which links name it, and
    without pictures: an installed package has none."""
    parser = _markdown()
    tokens = parser.parse(_PICTURE.sub("", text))
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            words = _NOT_OF_WORDS.sub("", inline.content.lower())
            opening.attrSet("id", words.replace(" ", "-"))
    return Markup(parser.renderer.render(tokens, parser.options, {}))
