"""The first page: a search, or the newest sessions if nothing is asked; and the palette (Ctrl-K),
which offers pages, projects, sessions and files for what is typed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import Response

from memory_assets.errors import MemoryAssetsError, NotFound
from memory_assets.requests.search import SearchRequest
from memory_assets.serving.answer_lines import (
    distinct_project_names,
    later_lines,
    project_name,
    search_notes,
    with_spoken_names,
)
from memory_assets.serving.pages.form import filled_form, given_arguments
from memory_assets.serving.pages.rendering import NAVIGATION, lineage_url, page

if TYPE_CHECKING:
    from memory_assets.recall import Memory

_NEWEST = 40
_NEWEST_SUMMARIES = SearchRequest(kinds=("summaries",), sort="date", n=_NEWEST)
"""Sessions of the side list."""
_EXCERPT = 420
_OF_ANY_MEMORY = ("/page/session/", "/page/document/")
"""The pages that show what a pulled memory has, too."""
_INSTANT = timedelta(microseconds=1)
_TABLES = {
    "session": "turn_chunks",
    "prompt": "user_prompts",
    "summary": "session_summaries",
    "observation": "observations",
    "document": "workspace_chunks",
    "memory": "agent_memory",
    "message": "agent_history",
    "history-summary": "history_summaries",
}
"""The asset that a hit is a row of, by what its id begins with."""


def search_page(memory: Memory, request: Request) -> Response:
    """Return the search with its form, or the newest sessions if nothing is asked."""
    return page(request, "search.html", **_answered(memory, request))


def hits_fragment(memory: Memory, request: Request) -> Response:
    """Return the hits alone, for a form that is being filled in."""
    answer = _answered(memory, request)
    return page(request, "hits.html", 400 if answer["problem"] else 200, **answer)


def observations_page(memory: Memory, request: Request) -> Response:
    """Return the newest observations, to be filtered by type and concept."""
    kinds = {"in": "observations", "sort": "date", "n": "50"}
    answer = _answered(memory, request, kinds)
    chosen = {field.name: field for field in answer["fields"]}
    status = 400 if answer["problem"] else 200
    return page(request, "observations.html", status, chosen=chosen, **answer)


def _answered(
    memory: Memory, request: Request, defaults: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return what the templates show: the form, and the answer or why there is none. `defaults` are
    arguments that hold unless they are given."""
    with filled_form(memory, request, SearchRequest) as values:
        values |= {"notes": [], "hits": [], "older": ""}
        values["given"] = arguments = {**(defaults or {}), **values["given"]}
        if arguments and "q" not in arguments:  # filters alone: the newest that pass them
            arguments = {**arguments, "sort": "date"}
        question = SearchRequest.from_values("http", arguments) if arguments else _NEWEST_SUMMARIES
        values["answer"] = memory.search(question).to_dict()
    del values["status"]  # the page is there, whatever is wrong with what was typed
    if (answer := values["answer"]) is None:
        return values
    spoken = {
        **answer,
        "filters": with_spoken_names(answer["filters"], memory.catalog.spoken_projects),
    }
    return {
        **values,
        **({} if arguments else newest_listed(memory)),
        "hits": by_session(shown_hits(memory, answer)),
        "found": len(answer["hits"]),
        "machine": answer["machine"],
        "notes": [note for note in search_notes(spoken) if "--" not in note],
        "older": _older(request, question, answer["hits"]),
    }


def _older(request: Request, question: SearchRequest, hits: list[dict[str, Any]]) -> str:
    """Return the address of the next page of a list sorted by date; "" if this page is not full or
    its last hit has no time. The next page begins with the instant of that hit, so it repeats hits
    of that instant, unless this page has no others."""
    if question.sort != "date" or len(hits) < question.n or not hits[-1]["metadata"]["timestamp"]:
        return ""
    path = request.url.path if request.url.path.startswith("/page/observations") else "/"
    arguments = given_arguments(request.query_params) or {"in": question.kinds[0], "sort": "date"}
    first, last = (datetime.fromisoformat(hits[at]["metadata"]["timestamp"]) for at in (0, -1))
    until = last if first == last else last + _INSTANT
    return f"{path}?{urlencode({**arguments, 'until': until.isoformat()})}"


def shown_hits(memory: Memory, answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the hits of an answer as templates show them."""
    titles = memory.titles(
        (row["metadata"]["project"], row["metadata"]["session_id"]) for row in answer["hits"]
    )
    return [_hit_values(memory, hit, answer["query"], titles) for hit in answer["hits"]]


def by_session(hits: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one hit per session: its best, with its other hits as `also`. Documents, and turns and
    memories that agents wrote, are not grouped."""
    groups: dict[str, dict[str, Any]] = {}
    for hit in hits:
        is_turn = "::turn::" in str(hit["turn_id"]) and hit["kind"] in ("turn", "prompt")
        group = str(hit["metadata"]["session_id"]) if is_turn else hit["id"]
        groups.setdefault(group, {**hit, "also": []})["also"].append(hit)
    return [{**best, "also": best["also"][1:]} for best in groups.values()]


def newest_listed(memory: Memory) -> dict[str, Any]:
    """Return the newest sessions of those that are listed without filters, and their number."""
    from memory_assets.recall.sessions.listing import newest_sessions

    newest, of_persons = newest_sessions(memory, _NEWEST)
    return {"newest": newest, "of_persons": of_persons}


def _hit_values(
    memory: Memory, hit: Mapping[str, Any], query: str, titles: Mapping[str, str]
) -> dict[str, Any]:
    """Return a hit with its title, its address, what it is, and the stretch that answers."""
    from memory_assets.recall.over import OWN
    from memory_assets.recall.search.excerpts import excerpt

    metadata = hit["metadata"]
    title = metadata.get("title") or titles.get(metadata["session_id"]) or hit["text"][:120]
    if "file_path" in metadata:
        title = f"{metadata['file_path']}:{metadata['line_start']}"
    head = hit["id"].partition("::")[0]
    kind = "document" if "file_path" in metadata else head
    answering = excerpt(hit["text"], query, _EXCERPT, hit["prompt_length"], hit["beside"])
    turn = hit["turn_id"].rpartition("::turn::")[2].partition("::")[0] if hit["turn_id"] else ""
    is_own = OWN in str(metadata.get("memory", OWN)).split(", ")
    address = address_of(hit, query)
    return {
        **hit,
        "title": title,
        "is_own": is_own,
        "address": address if is_own or address.startswith(_OF_ANY_MEMORY) else "",
        "kind": "turn" if kind == "session" else kind,
        "turn": turn if turn.isdigit() else "",
        "lineage": lineage_url(memory, _TABLES.get(kind, "redacted_records"), metadata["project"]),
        "came_of_it": [(line, turn_address(hit["later"]["turn_id"])) for line in later_lines(hit)],
        "excerpt": answering.removeprefix(title).lstrip(". ") or answering,
    }


def address_of(hit: Mapping[str, Any], query: str = "") -> str:
    """Return the address of a hit's page: its turn within its session, in which the words of the
    query are marked, or within its conversation, a memory, or a document."""
    if "file_path" in hit["metadata"]:
        return f"/page/document/{quote(hit['id'])}"
    if hit["id"].startswith("memory::"):
        return f"/page/memory/{quote(hit['id'])}"
    if hit["id"].startswith("message::"):
        return f"/page/conversation/{quote(hit['metadata']['session_id'])}#{quote(hit['id'])}"
    if hit["id"].startswith("history-summary::"):
        first = f"turn-{hit['metadata']['first_turn']}"
        return f"/page/conversation/{quote(hit['metadata']['session_id'])}#{first}"
    if "::turn::" not in hit["turn_id"]:
        return f"/page/session/{quote(hit['metadata']['session_id'])}"
    return turn_address(hit["turn_id"], query)


def turn_address(turn_id: str, query: str = "") -> str:
    """Return the address of a turn, in which the words of a query are marked."""
    session, _, turn = turn_id.removeprefix("session::").partition("::turn::")
    number = turn.partition("::")[0]
    marked = f"&q={quote(query)}" if query else ""
    return f"/page/session/{quote(session)}?turn={number}{marked}#turn-{number}"


_OF_A_KIND = 8
"""Most offers of a kind."""
_LOOKED_AT = 50
"""Hits of a search for sessions, of which those with a fitting title are offered."""
_FAR = 5
"""The distance of a name that does not fit what is typed."""
_LEAST_SHARE = 0.5
_LONGEST = 200
"""Characters of what is typed that are used."""
Offer = tuple[str, str, str]
"""Address, name, and what it is."""


def palette(memory: Memory, request: Request) -> Response:
    """Return the offers that fit the typed text, a few of each kind, the best first; without text
    the pages and the newest sessions."""
    typed = request.query_params.get("q", "").strip()[:_LONGEST]
    offers = [
        *_pages(typed),
        *_projects(memory, typed),
        *_sessions(memory, typed),
        *_files(memory, typed),
    ]
    if typed:
        offers.sort(key=lambda offer: _distance(typed, _compared_name(offer)))
        offers.append((f"/?{urlencode({'q': typed})}", typed, "search"))
    return page(request, "palette.html", offers=offers)


def _compared_name(offer: Offer) -> str:
    """Return the part of an offer's name that is compared with what is typed: of a file its last
    part, of a project the name without the directory that distinguishes it from namesakes."""
    _, name, kind = offer
    if kind == "file":
        return re.split(r"[/\\]", name)[-1]
    return name.split("  ")[0] if kind == "project" else name


def _distance(typed: str, name: str) -> int:
    """Return the distance of a name from what is typed: 0 if they are equal, 1 if the name begins
    with it, 2 if it contains it, 3 if it has all of its words, 4 if it has half of them, else
    `_FAR`."""
    from memory_assets.recall.search.excerpts import share_of_words

    typed_words, name_words = (" ".join(text.casefold().split()) for text in (typed, name))
    if typed_words in name_words:
        return (name_words != typed_words) + (not name_words.startswith(typed_words))
    share = share_of_words(name_words, typed_words)
    return _FAR if share < _LEAST_SHARE else 3 + (share < 1)


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
    for row, name in zip(rows, distinct_project_names(rows), strict=True):
        yield f"/page/project/{quote(row['project'])}", name, "project"


def _sessions(memory: Memory, typed: str) -> Iterator[Offer]:
    """Yield the sessions whose title fits best, of those whose summary has the words, or the newest
    ones."""
    if typed:
        question = SearchRequest(typed, kinds=("summaries",), mode="keyword", n=_LOOKED_AT)
    else:
        question = SearchRequest(kinds=("summaries",), sort="date", n=_OF_A_KIND)
    try:
        hits = memory.search(question).hits
    except MemoryAssetsError:
        return
    titles = {hit.metadata["session_id"]: hit.metadata["title"] for hit in hits}
    fitting = [id_ for id_, title in titles.items() if _distance(typed, title or id_) < _FAR]
    fitting.sort(key=lambda id_: _distance(typed, titles[id_] or id_))
    for session_id in fitting[:_OF_A_KIND]:
        yield f"/page/session/{quote(session_id)}", titles[session_id] or session_id, "session"


def _files(memory: Memory, typed: str) -> Iterator[Offer]:
    """Yield files that turns touched whose name begins so."""
    if not typed:
        return
    try:
        paths = memory.searcher.files_beginning(typed)
    except NotFound:
        return
    for path in paths[:_OF_A_KIND]:
        yield f"/page/timeline?{urlencode({'anchor': f'file:{path}'})}", path, "file"
