"""A copy of a session in Markdown: nothing of a transcript acts where it is shown."""

from __future__ import annotations

import pytest
from markdown_it import MarkdownIt

from memory_assets.recall.sessions.conversation import Entry
from memory_assets.serving.exports import _entries_markdown, _line, inert_markdown
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
    "<\u200bimg src=x>",
    "!\u200b[pixel](https://evil.example/p.png) \x1b[0m<\x00b\nonclick=x>",
    "[a](javascript:1) [b\\](javascript:2) ![c\\](data:text/html,x)",
    "<u>a</u>\n\n[b\\]: javascript:2\n\n[b\\\\]: javascript:2\n\n[b\\]",
    "[click](java&Tab;script:alert(1)) [click](java&NewLine;script:1) [click](/\\evil.example)",
    "| a | b |\n|---|---|\n| `c | <img src=x> ` |",
)


@sweep("text", ACTING)
def test_nothing_of_a_text_acts(text: str) -> None:
    """Rendered with HTML allowed it has no element of its own, no image, no link that runs."""
    _requires_nothing_acting(inert_markdown(text))


def _requires_nothing_acting(text: str) -> None:
    acting = ("<script", "<img", "<u>", "<b\n", "<!--", 'href="java', 'href="data')
    for dialect in ("commonmark", "gfm-like"):
        parser = MarkdownIt(dialect, {"html": True, "linkify": False})
        parser.validateLink = lambda url: True  # type: ignore[method-assign]
        html = parser.render(text).lower()
        assert not any(each in html for each in (*acting, 'href="//', 'href="/%5c')), html


@sweep("text", [*ACTING, "~~~ <img src=x>", "``` <img src=x>", "<div\n"])
def test_nothing_of_a_line_acts(text: str) -> None:
    """As a title, where nothing begins a block of code, and as an item of a list, where it does."""
    for mark in ("# ", "- "):
        _requires_nothing_acting(mark + _line(text))


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a[^1]\n\n[^1]: a note\n\n    <b>", "a[^1]\n\n[^1&#93;: a note\n\n    <b>"),
        ("www.x.y/` <b> `", "www.x.y/` &lt;b> `"),
        ("http://x.y/\\<b>", "http://x.y/\\&lt;b>"),
        ("- [ ] [a]: b:c", "- [ ] [a&#93;: b:c"),
    ],
)
def test_what_acts_where_github_reads_it_is_escaped(text: str, escaped: str) -> None:
    """Footnotes, bare addresses and tasks, which `markdown_it` does not know."""
    assert inert_markdown(text) == escaped


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
