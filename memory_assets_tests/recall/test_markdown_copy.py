"""A copy of a session in Markdown: nothing of a transcript acts where it is shown."""

from __future__ import annotations

import pytest
from markdown_it import MarkdownIt

from memory_assets.serving.pages.markdown_copy import inert

ACTING = (
    "<script>alert(1)</script>",
    "see <img src=x onerror=alert(1)> there",
    "a <b\nonclick=x>c</b>",
    "<!-- a comment --> text",
    "![pixel](https://evil.example/p.png?u=1)",
    "![pixel][ref]\n\n[ref]: https://evil.example/p.png",
    "[click](javascript:alert(1))",
    "[click](java&#115;cript:alert(1))",
    "[click](<javascript:alert(1)>)",
    "[click][ref]\n\n[ref]: javascript:alert(1)",
    "[click](data:text/html,x)",
    "[click](//evil.example)",
    "<javascript:alert(1)>",
    "a ` b\nc ` <img src=x> ` d",
    "\\`<img src=x>`",
    "- ```\n  code\n  ```\n  <img src=x>",
    "> ```\n<img src=x>",
    "```\nunclosed",
    "~~~\n```\n~~~\n<img src=x>\n~~~",
    "1. a\n\n       code\n\n   <img src=x>",
)


@pytest.mark.parametrize("text", ACTING)
def test_nothing_of_a_text_acts(text: str) -> None:
    """Rendered with HTML allowed it has no element of its own, no image, no link that runs."""
    parser = MarkdownIt("commonmark", {"html": True})
    parser.validateLink = lambda url: True  # type: ignore[method-assign]
    html = parser.render(inert(text)).lower()
    for acting in ("<script", "<img", "<b\n", "<!--", 'href="javascript', 'href="data', 'href="//'):
        assert acting not in html, html


@pytest.mark.parametrize(
    "text",
    [
        "Use `<img src=x>` and `![a](b)` in the template.",
        "```html\n<script>alert(1)</script>\n![a](https://x/y.png)\n```",
        "    <b>indented code</b>",
        "[docs](https://example.com/a_b) and <https://example.com>, 1 < 2, a -> b",
        "[above](#part), [mail](mailto:ann@example.com)",
    ],
)
def test_code_and_ordinary_links_stay_as_they_are(text: str) -> None:
    """Byte for byte."""
    assert inert(text) == text


def test_code_beside_what_acts_stays_readable() -> None:
    """Only what is outside of it is escaped."""
    text = "`<b>` is code\n\n```\n<i>\n```\n\n<u>this is not</u>"
    assert inert(text) == "`<b>` is code\n\n```\n<i>\n```\n\n&lt;u>this is not&lt;/u>"
