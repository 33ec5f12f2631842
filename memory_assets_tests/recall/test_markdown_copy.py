"""A copy of a session in Markdown: nothing of a transcript acts where it is shown."""

from __future__ import annotations

import pytest
from markdown_it import MarkdownIt

from memory_assets.recall.sessions.conversation import Entry
from memory_assets.serving.exports import _entries_markdown, inert_markdown
from memory_assets_tests.sweep import sweep

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


@sweep("text", ACTING)
def test_nothing_of_a_text_acts(text: str) -> None:
    """Rendered with HTML allowed it has no element of its own, no image, no link that runs."""
    _requires_nothing_acting(inert_markdown(text))


def _requires_nothing_acting(text: str) -> None:
    parser = MarkdownIt("commonmark", {"html": True})
    parser.validateLink = lambda url: True  # type: ignore[method-assign]
    html = parser.render(text).lower()
    for acting in ("<script", "<img", "<b\n", "<!--", 'href="javascript', 'href="data', 'href="//'):
        assert acting not in html, html


@pytest.mark.parametrize(
    "texts",
    [
        ("```\nopen", "```\n<script>\n"),
        ("~~~~ html\n<img src=x>", "~~~~\n\n<script>"),
        ("[click][y] ![x][y]", "[y]: javascript:alert(1)"),
        ("[click][y] ![x][y]", "`\n\n[y]: javascript:alert(1)\n\n`"),
        ("[y]: data:text/html,x", "> - [y]"),
        ("- a\n\n  ```\n  b", "  ```\n  <script>"),
        ("- a", "    <script>"),
        ("- a", "\n\t<script>"),
        ("\t<script>", "x `"),
        ("<![CDATA[<b x", "]]>`<script>` <img src=x>"),
        ("x\u2028```\n```\n<script>\n```", "a\r```\r<script>\r```\r<script>"),
    ],
)
@pytest.mark.parametrize("kinds", ["prompt", "assistant_text", "call", "call assistant_text"])
def test_nothing_acts_by_what_stands_before_it(texts: tuple[str, str], kinds: str) -> None:
    """Of prompts, prose and calls: what one leaves open or defines, another may not end or use."""
    entries = [
        Entry(kind, 0, None, None, text, tool=text, subject=text)
        for text in (*texts, *texts[::-1])
        for kind in kinds.split()
    ]
    _requires_nothing_acting("\n".join(_entries_markdown(entries)))


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
    assert inert_markdown(text) == text


def test_code_beside_what_acts_stays_readable() -> None:
    """Only what is outside of it is escaped."""
    text = "`<b>` is code\n\n```\n<i>\n```\n\n<u>this is not</u>"
    assert inert_markdown(text) == "`<b>` is code\n\n```\n<i>\n```\n\n&lt;u>this is not&lt;/u>"
