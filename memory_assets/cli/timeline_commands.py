"""`memory timeline`, `memory summarize` and `memory cross-query`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from memory_assets.cli import exit_codes, rendering
from memory_assets.errors import ConfigurationError

_Json = Annotated[bool, typer.Option("--json", help="Print JSON; its fields are stable.")]
_Project = Annotated[str | None, typer.Option(help="Only this project.")]


def timeline(
    anchor: Annotated[
        str, typer.Argument(help="An id, a session, a commit, a file path or a time.")
    ],
    before: Annotated[
        str,
        typer.Option(help="A number of items before the anchor (0-50), or a time: 30m, 2h, 3d."),
    ] = "10",
    after: Annotated[
        str, typer.Option(help="A number of items after the anchor (0-50), or a time: 30m, 2h, 3d.")
    ] = "10",
    kind: Annotated[
        list[str] | None,
        typer.Option(help="Only prompts, turns, observations, commits or summaries; repeatable."),
    ] = None,
    scope: Annotated[
        str | None,
        typer.Option(
            help="Show the anchor's session, its project, or all projects: session, project, all."
        ),
    ] = None,
    project: _Project = None,
    full: Annotated[
        bool, typer.Option("--full", help="Print whole texts instead of one line each.")
    ] = False,
    json: _Json = False,
) -> None:
    """Show what happened around an event.

    Lists prompts, turns, observations, commits and summaries before and after the anchor, grouped
    by session.
    """
    from memory_assets.recall import open_memory
    from memory_assets.recall.timeline.items import ITEM_KINDS
    from memory_assets.recall.timeline.timeline import timeline as around

    found = around(
        open_memory(),
        anchor,
        before=before,
        after=after,
        kinds=kind or ITEM_KINDS,
        scope=scope,
        project=project,
        detail="full" if full else "index",
    ).to_dict()
    if json:
        rendering.print_json(found)
    else:
        _print_timeline(found)
    if not found["sessions"]:
        raise typer.Exit(exit_codes.NOTHING_FOUND)


def summarize(
    session: Annotated[
        str, typer.Argument(help="A session id, its beginning, or the id of one of its rows.")
    ],
    json: _Json = False,
) -> None:
    """Show a session's summary and an index of it."""
    from memory_assets.recall import open_memory
    from memory_assets.recall.summarize import session_overview

    found = session_overview(open_memory(), session).to_dict()
    if json:
        rendering.print_json(found)
        return
    summary = found["summary"] or {"id": found["session_id"], "project": found["project"]}
    rendering.print_rows([summary], "")
    _print_items([*found["turns"], *found["observations"], *found["commits"]])
    _print_missing(found["missing"])


def cross_query(
    query: Annotated[str, typer.Argument(help="A question, or the text of a document.")] = "",
    collection: Annotated[
        str | None, typer.Option(help="The other collection; required if there are several.")
    ] = None,
    document: Annotated[
        str | None,
        typer.Option(help="The id of a document in that collection, instead of a query."),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(help="Only documents with this metadata, as KEY=VALUE; repeatable."),
    ] = None,
    project: _Project = None,
    n: Annotated[int, typer.Option("-n", help="Number of documents and of sessions.")] = 10,
    assume_same_embedder: Annotated[
        bool,
        typer.Option(
            "--assume-same-embedder",
            help="Treat its vectors as made by all-MiniLM-L6-v2 although it does not say so.",
        ),
    ] = False,
    json: _Json = False,
) -> None:
    """Search sessions and another collection.

    The other collection is one of your own in the same Chroma. Prints its documents, the sessions
    that match, and pairs of the two that are about one subject.
    """
    from memory_assets.recall import open_memory
    from memory_assets.recall.cross_query import cross_query as ask

    found = ask(
        open_memory(),
        query,
        document=document,
        collection=collection,
        where=_conditions(where or ()),
        project=project,
        n=n,
        assume_same_embedder=assume_same_embedder,
    ).to_dict()
    if json:
        rendering.print_json(found)
    else:
        _print_cross(found)
    if not found["documents"] and not found["sessions"]:
        raise typer.Exit(exit_codes.NOTHING_FOUND)


def _conditions(given: Sequence[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in given]
    for key, sign, value in pairs:
        if not (key and sign and value):
            raise ConfigurationError("--where takes KEY=VALUE, as in --where bucket=docs")
    return {key: value for key, _, value in pairs}


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
        notes.print(f"Also meant: {rendering.escaped(', '.join(anchor['also']))}")
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
        told = [*each["shared_terms"], *([f"touched {each['touched']}"] if each["touched"] else [])]
        console.print(
            f"{each['similarity']:.2f}  {rendering.escaped(each['document'])} ~ "
            f"{rendering.escaped(each['turn_id'])}  {rendering.escaped(', '.join(told))}"
        )
