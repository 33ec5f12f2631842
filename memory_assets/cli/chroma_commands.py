"""`memory rebuild` and `memory chroma`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from memory_assets.cli import exit_codes, rendering
from memory_assets.cli.request_options import Json
from memory_assets.errors import ConfigurationError, NotFound


def rebuild(
    collection: Annotated[
        list[str] | None, typer.Option(help="Only this collection; repeatable.")
    ] = None,
    json: Json = False,
) -> None:
    """Rebuild the Chroma collections.

    Copies rows and stored vectors from the lake into new collections, then swaps them with the
    old ones. Nothing is embedded, and searches keep working meanwhile.
    """
    from memory_assets.pipeline.indexes.rebuild import rebuild as rebuild_collections
    from memory_assets.pipeline.stage.components import Components
    from memory_assets.settings import load_settings

    components = Components(load_settings())
    if not components.exists:
        raise NotFound(f"there is no memory in {components.data_dir} yet; run `memory ingest`")
    if not components.embeds:
        raise ConfigurationError("MEMORY_EMBEDDER is none: there are no collections to rebuild")
    console = rendering.open_console(stderr=json)
    with console.status("rebuilding") as shown:
        made = rebuild_collections(components, collection or [], shown.update)
    if json:
        rendering.print_json({"collections": [asdict(each) for each in made]})
        return
    for each in made:
        console.print(
            f"{rendering.escaped(each.collection)}: {each.rows} rows of {each.sessions} sessions "
            f"in {each.seconds} s"
        )
        if each.left_out:
            console.print(
                f"  {each.left_out} sessions have no vectors of the present model; "
                "run `memory ingest` to add them"
            )


def chroma(json: Json = False) -> None:
    """Print the URL of the Chroma server.

    Starts the server if it is not running. Other programs can connect with the header
    `Authorization: Bearer TOKEN`; the file that contains the token is printed, too. The server
    stops after MEMORY_CHROMA_IDLE_SECONDS without a request and keeps its port.
    """
    from memory_assets.settings import load_settings
    from memory_assets.stores.chroma import server as chroma_server
    from memory_assets.stores.stores import Stores

    settings = load_settings()
    stores = Stores(
        settings.data_dir,
        chroma_url=settings.chroma_url,
        chroma_idle_seconds=settings.chroma_idle_seconds,
    )
    url = settings.chroma_url
    if url is None:
        if not stores.has_chroma_files:
            raise NotFound(f"there is no Chroma in {stores.chroma_dir} yet; run `memory ingest`")
        url = chroma_server.ensure_running(stores.data_dir, settings.chroma_idle_seconds).url
    answer: dict[str, Any] = {"url": url, "collections": stores.vectors.names()}
    if settings.chroma_url is None:
        answer["token_file"] = str(stores.data_dir / chroma_server.TOKEN_FILE)
    if json:
        rendering.print_json(answer)
    else:
        typer.echo(url)
        if "token_file" in answer:
            typer.echo(f"Authorization: Bearer, then the token in {answer['token_file']}", err=True)
    raise typer.Exit(exit_codes.FINE)
