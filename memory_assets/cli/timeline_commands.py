"""`memory timeline`, `memory summarize` and `memory cross-query`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import typer

from memory_assets.cli import exit_codes, rendering
from memory_assets.cli.request_options import takes
from memory_assets.requests.by_id import SessionRequest
from memory_assets.requests.cross_query import CrossQueryRequest
from memory_assets.requests.timeline import TimelineRequest


@takes(TimelineRequest)
def timeline(asked: TimelineRequest, as_json: bool) -> None:
    """Show what happened around an event.

    Lists prompts, turns, observations, commits and summaries before and after the anchor, grouped
    by session.
    """
    from memory_assets.recall import open_memory
    from memory_assets.recall.timeline import timeline as around

    found = around(open_memory(), asked).to_dict()
    if as_json:
        rendering.print_json(found)
    else:
        _print_timeline(found)
    if not found["sessions"]:
        raise typer.Exit(exit_codes.NOTHING_FOUND)


@takes(SessionRequest)
def summarize(asked: SessionRequest, as_json: bool) -> None:
    """Show a session's summary and an index of it."""
    from memory_assets.recall import open_memory
    from memory_assets.recall.session import session_overview

    found = session_overview(open_memory(), asked.session).to_dict()
    if as_json:
        rendering.print_json(found)
        return
    summary = found["summary"] or {"id": found["session_id"], "project": found["project"]}
    rendering.print_rows([summary], "")
    _print_items([*found["turns"], *found["observations"], *found["commits"]])
    _print_missing(found["missing"])


@takes(CrossQueryRequest)
def cross_query(asked: CrossQueryRequest, as_json: bool) -> None:
    """Search sessions and another collection.

    The other collection is one of your own in the same Chroma. Prints its documents, the sessions
    that match, and pairs of the two that are about one subject.
    """
    from memory_assets.recall import open_memory
    from memory_assets.recall.cross_query import cross_query as ask

    found = ask(open_memory(), asked).to_dict()
    if as_json:
        rendering.print_json(found)
    else:
        _print_cross(found)
    if not found["documents"] and not found["sessions"]:
        raise typer.Exit(exit_codes.NOTHING_FOUND)


def _print_timeline(found: dict[str, Any]) -> None:
    console = rendering.open_console()
    anchor = found["anchor"]
    if anchor["id"] is None:
        console.print(f"Around {rendering.escaped(str(anchor['time']))}")
    for part in found["sessions"]:
        title = rendering.escaped(part["title"])
        console.print(f"\n[bold]{rendering.escaped(part['session_id'])}[/bold]  {title}")
        _print_items(part["items"])
    notes = rendering.open_console(stderr=True)
    if anchor["also"]:
        notes.print(f"Other matches: {rendering.escaped(', '.join(anchor['also']))}")
    if found["more"]:
        notes.print(f"There is more {' and '.join(found['more'])}.")
    _print_missing(found["missing"])


def _print_items(items: Sequence[dict[str, Any]]) -> None:
    console = rendering.open_console()
    for item in items:
        mark = "[bold]>[/bold]" if item.get("anchor") else " "
        when = str(item["time"] or "")[:16].replace("T", " ")
        console.print(
            f"{mark} {when:16}  {item['kind']:11}  [cyan]{rendering.escaped(item['id'])}[/cyan]  "
            f"{rendering.escaped(item['text'])}"
        )


def _print_missing(missing: dict[str, str]) -> None:
    for why in missing.values():
        rendering.open_console(stderr=True).print(f"[dim]{rendering.escaped(why)}[/dim]")


def _print_cross(found: dict[str, Any]) -> None:
    console = rendering.open_console()
    about = found["collection"]
    console.print(f"[bold]{rendering.escaped(about['name'])}[/bold] ({about['evidence']})")
    for each in found["documents"]:
        console.print(f"  {each['score']:.2f}  [cyan]{rendering.escaped(each['id'])}[/cyan]")
    for each in found["sessions"]:
        console.print(
            f"[bold]{rendering.escaped(each['session_id'])}[/bold]  "
            f"{rendering.escaped(', '.join(each['why']))}  {rendering.escaped(each['project'])}"
        )
        for turn in each["turns"][:3]:
            console.print(f"  {turn['score']:.2f}  [cyan]{rendering.escaped(turn['id'])}[/cyan]")
    for each in found["overlap"]:
        shared = [
            *each["shared_terms"],
            *([f"touched {each['touched']}"] if each["touched"] else []),
        ]
        console.print(
            f"{each['similarity']:.2f}  {rendering.escaped(each['document'])} ~ "
            f"{rendering.escaped(each['turn_id'])}  {rendering.escaped(', '.join(shared))}"
        )
