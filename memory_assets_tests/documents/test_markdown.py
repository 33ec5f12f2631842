"""Markdown by H2, and records of decisions by the sections of MADR."""

from __future__ import annotations

from memory_assets.documents import Section
from memory_assets.documents.chunk import sections

PARAGRAPH = "The gateway retries a request twice before it gives up and answers 503. " * 20


def _headings(chunks: list[Section]) -> list[str]:
    return [chunk.heading for chunk in chunks]


def test_each_second_level_heading_begins_a_chunk() -> None:
    """What stands before the first is headed Preamble."""
    install = f"## Install\n\n{PARAGRAPH}\n\n### On Linux"
    text = f"# Title\n\n{PARAGRAPH}\n\n{install}\n\n## Use ##\n\n{PARAGRAPH}"
    chunks = sections("docs/guide.md", text)
    assert _headings(chunks) == ["Preamble", "Install", "Use"]
    assert [(chunk.line_start, chunk.line_end) for chunk in chunks] == [(1, 3), (5, 9), (11, 13)]
    assert chunks[1].text == install


def test_a_long_section_is_cut_at_the_headings_within() -> None:
    """At the next level that there is, and a long one of these again. Short ones stay together, and
    so does a document of one level."""
    deep = f"### Go on\n\n#### Retries\n\n{PARAGRAPH}\n\n#### Limits\n\n{PARAGRAPH}"
    text = f"# Gate\n\n## Run\n\n{PARAGRAPH}\n\n### Set up\n\nOnce.\n\n{deep}\n\n## End"
    chunks = sections("a.md", text)
    assert _headings(chunks) == [
        "Preamble / Run",
        "Run: Set up / Go on / Go on: Retries",
        "Run: Go on: Limits / End",
    ]
    assert chunks[2].context == "Gate: Run: Go on: Limits / End"
    flat = f"# Gate\n\n### Run\n\n{PARAGRAPH}\n\n### End\n\n{PARAGRAPH}"
    assert _headings(sections("a.md", flat)) == ["Preamble / Run", "End"]


def test_a_heading_within_a_fence_begins_no_chunk() -> None:
    """Nor does one in HTML, a quotation or a list."""
    text = f"## Use\n{PARAGRAPH}\n```sh\n## not this\n```\n> ## nor this\n\n- ## nor this\n"
    assert _headings(sections("a.md", text)) == ["Use"]


def test_a_heading_may_be_underlined() -> None:
    """The heading's text and its line of dashes stay together."""
    text = f"Title\n=====\n\n{PARAGRAPH}\n\nInstall\n-------\n\n{PARAGRAPH}\n"
    chunks = sections("a.md", text)
    assert _headings(chunks) == ["Preamble", "Install"]
    assert chunks[1].text.startswith("Install\n-------\n")


def test_front_matter_stays_on_the_first_chunk() -> None:
    """Its closing dashes are no heading."""
    text = f"---\ntitle: Guide\n## a comment\n---\n## Use\n\n{PARAGRAPH}\n"
    chunks = sections("a.md", text)
    assert _headings(chunks) == ["Use"]
    assert chunks[0].text.startswith("---\ntitle: Guide\n")


def test_a_section_has_its_document_as_context() -> None:
    """Title and heading; the file's name where there is no title, nothing where there is neither.
    Code has none: what it does is in the code."""
    body = f"## Options\n\n{PARAGRAPH}\n"
    assert [chunk.context for chunk in sections("adr/7.md", f"# Use a queue\n\n{body}")] == [
        "Use a queue: Options"
    ]
    assert [chunk.context for chunk in sections("guide.md", body)] == ["guide: Options"]
    assert [chunk.context for chunk in sections("note.md", PARAGRAPH)] == [""]
    text = "openapi: 3.0.0\npaths:\n  /orders:\n    get:\n      summary: List orders\n"
    (*_, operation) = sections("orders.yaml", text)
    assert operation.context == "orders: GET /orders -- List orders"
    assert [chunk.context for chunk in sections("a.py", "def run() -> None:\n    pass\n")] == [""]
