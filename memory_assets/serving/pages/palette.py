"""What the palette (Ctrl-K) offers for what is typed: pages, projects, sessions and files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import Response

from memory_assets.errors import MemoryAssetsError, NotFound
from memory_assets.requests.search import SearchRequest
from memory_assets.serving.answer_lines import project_name, told_apart
from memory_assets.serving.pages.rendering import NAVIGATION, page

if TYPE_CHECKING:
    from memory_assets.recall import Memory

_OF_A_KIND = 8
_LONGEST = 200
Offer = tuple[str, str, str]
"""Address, name, and what it is."""


def palette(memory: Memory, request: Request) -> Response:
    """Return what fits the text that is typed, a few of each kind; the pages and the newest
    sessions if there is none."""
    typed = request.query_params.get("q", "").strip()[:_LONGEST]
    offers = [
        *_pages(typed),
        *_projects(memory, typed),
        *_sessions(memory, typed),
        *_files(memory, typed),
    ]
    if typed:
        offers.append((f"/?{urlencode({'q': typed})}", typed, "search"))
    return page(request, "palette.html", offers=offers)


def _pages(typed: str) -> Iterator[Offer]:
    for address, name in NAVIGATION:
        if typed.lower() in name.lower():
            yield address, name, "page"


def _projects(memory: Memory, typed: str) -> Iterator[Offer]:
    if not typed:
        return
    roots = memory.catalog.sources.project_roots()
    named = {
        key: project_name({"project": key, "project_root": root}) for key, root in roots.items()
    }
    fitting = [key for key, name in named.items() if typed.lower() in name.lower()]
    fitting.sort(key=lambda key: (len(named[key]), key))
    rows = [{"project": key, "project_root": roots[key]} for key in fitting[:_OF_A_KIND]]
    for row, name in zip(rows, told_apart(rows), strict=True):
        yield f"/page/project/{quote(row['project'])}", name, "project"


def _sessions(memory: Memory, typed: str) -> Iterator[Offer]:
    """Yield the sessions whose summary has the words, or the newest ones."""
    if typed:
        asked = SearchRequest(typed, kinds=("summaries",), mode="keyword", n=_OF_A_KIND)
    else:
        asked = SearchRequest(kinds=("summaries",), sort="date", n=_OF_A_KIND)
    try:
        hits = memory.search(asked).hits
    except MemoryAssetsError:
        return
    for hit in hits:
        session_id = hit.metadata["session_id"]
        yield f"/page/session/{quote(session_id)}", hit.metadata["title"] or session_id, "session"


def _files(memory: Memory, typed: str) -> Iterator[Offer]:
    """Yield files that turns touched whose name begins so."""
    if not typed:
        return
    try:
        paths = memory.files_beginning(typed)
    except NotFound:
        return
    for path in paths[:_OF_A_KIND]:
        yield f"/page/timeline?{urlencode({'anchor': f'file:{path}'})}", path, "file"
