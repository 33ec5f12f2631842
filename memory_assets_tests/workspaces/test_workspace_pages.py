"""Documents of a workspace on the page: found by the same search, shown, traced to their file."""

from __future__ import annotations

import re
from html import unescape

from starlette.testclient import TestClient

from memory_assets.serving.pages.site import build_site
from memory_assets_tests.workspaces.conftest import FILES, Indexed, write


def test_documents_are_found_shown_and_traced(wordy: Indexed) -> None:
    """A hit leads to its chunk, that to the whole document, both to where they come from. It says
    what its path is worth, and names a copy."""
    write(wordy.root, {"old/adr/0001-queue.md": FILES["docs/adr/0001-queue.md"]})
    wordy.index()
    client = TestClient(build_site(wordy.components.settings), base_url="http://127.0.0.1")
    text = client.get("/page/hits?in=workspace&q=queue").text
    hit = re.search(r'href="(/page/document/harbor%3A%3Adocs/adr/0001-queue\.md[^"]*)"', text)
    assert hit is not None, text
    assert re.search(r"\d hits? among \d+ passages of documents\.", text)
    assert 'title="harbor::old/adr/0001-queue.md::' in text and "<span>heading <meter" in text
    chunk = client.get(unescape(hit[1]))
    assert chunk.status_code == 200 and "docs/adr/0001-queue.md:" in chunk.text
    whole = re.search(r'href="([^"]+)">The whole document', chunk.text)
    assert whole is not None
    shown = client.get(unescape(whole[1]))
    assert "<h1>docs/adr/0001-queue.md</h1>" in shown.text
    traced = re.search(r'href="([^"]+)">Where it comes from', shown.text)
    assert traced is not None
    assert "docs/adr/0001-queue.md" in client.get(unescape(traced[1])).text
    assert client.get("/page/document/harbor::nothing.md").status_code in (404, 422)
