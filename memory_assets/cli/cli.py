"""The console script `memory`. Parsing and printing only.

Exit codes: 0 fine, 1 error, 2 usage, 3 found nothing, 4 a check failed. Dagster is
imported by the commands that run it (`ingest` with work to do, `dev`), never by the
others.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory_assets import __version__
from memory_assets.cli import (
    blame_commands,
    chroma_commands,
    exit_codes,
    rendering,
    retain_command,
    serving_commands,
    timeline_commands,
)
from memory_assets.cli.failures import run_told
from memory_assets.errors import ConfigurationError
from memory_assets.private_files import create_private_files, take_from_others
from memory_assets.status import quick_where

if TYPE_CHECKING:
    from memory_assets.settings import Settings


def load_settings(**overrides: Any) -> Settings:
    """Return all settings. A search does with few, and pydantic takes longer than it."""
    from memory_assets import settings

    return settings.load_settings(**overrides)


app = typer.Typer(
    name="memory",
    help="Search what your coding agents did before.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

_Json = Annotated[bool, typer.Option("--json", help="Print JSON, a stable contract.")]


def main() -> None:
    """Run the command line; errors of ours become one line and an exit code."""
    create_private_files()
    run_told(app)


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        typer.echo(__version__)
        raise typer.Exit
    rendering.show_notices()
    where = quick_where()
    data_dir = where.data_dir if where else load_settings().data_dir
    take_from_others(data_dir)
    path = data_dir / "forgotten.db"
    if path.exists():
        from memory_assets.stores import tombstones

        if tombstones.unfinished(path):
            from memory_assets.cli.forget_command import complete_forgetting

            complete_forgetting(load_settings())


@app.command()
def ingest(
    once: Annotated[
        bool, typer.Option("--once", help="Take in what changed, then stop (the default).")
    ] = True,
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on: take in what changes, until Ctrl-C.")
    ] = False,
    limit: Annotated[
        int | None, typer.Option(min=1, help="At most this many new or changed files.")
    ] = None,
    projects_dir: Annotated[
        Path | None, typer.Option(help="Claude Code's projects directory to read, and no other.")
    ] = None,
    project: Annotated[
        list[str] | None, typer.Option(help="Only this project; repeatable.")
    ] = None,
    agent: Annotated[list[str] | None, typer.Option(help="Only this agent; repeatable.")] = None,
    full: Annotated[bool, typer.Option(help="Make everything again, changed or not.")] = False,
    json: _Json = False,
) -> None:
    """Bring the memory up to date with the agents' transcripts."""
    settings = load_settings(projects_dir=projects_dir, agents=tuple(agent) if agent else None)
    if watch:
        if limit is not None or project or full or json:
            raise ConfigurationError("--watch takes everything in; leave --limit and the like out")
        from memory_assets.cli.watch_command import watch_directories

        raise typer.Exit(watch_directories(settings))
    from memory_assets.cli.ingest_command import ingest_once

    outcome = ingest_once(settings, limit=limit, projects=project or [], full=full, as_json=json)
    raise typer.Exit(outcome)


@app.command()
def search(
    query: Annotated[str, typer.Argument(help="What you are looking for, in your own words.")],
    kind: Annotated[
        str, typer.Option("--in", help="sessions, prompts, summaries, observations or all.")
    ] = "sessions",
    mode: Annotated[str, typer.Option(help="hybrid, semantic or keyword.")] = "hybrid",
    project: Annotated[str | None, typer.Option(help="Only this project.")] = None,
    agent: Annotated[str | None, typer.Option(help="Only this agent.")] = None,
    since: Annotated[str | None, typer.Option(help="Since 7d, 12h, 2w or a date.")] = None,
    until: Annotated[str | None, typer.Option(help="Before 7d, 12h, 2w ago or a date.")] = None,
    tool: Annotated[str | None, typer.Option(help="Turns that called this tool.")] = None,
    file: Annotated[str | None, typer.Option(help="Turns or observations of this path.")] = None,
    session: Annotated[str | None, typer.Option(help="Only this session.")] = None,
    recent: Annotated[
        bool, typer.Option("--recent", help="Only the last days; older hits are counted.")
    ] = False,
    n: Annotated[int, typer.Option("-n", help="How many hits.")] = 10,
    json: _Json = False,
) -> None:
    """Find the turns that answer a question."""
    from memory_assets.cli.search_command import SearchArguments, run_search

    asked = SearchArguments(
        query, kind, mode, project, agent, since, until, tool, file, session, recent, n, json
    )
    raise typer.Exit(run_search(asked))


@app.command()
def show(
    id: Annotated[
        str, typer.Argument(help="A turn, prompt, summary, observation, commit or session id.")
    ],
    around: Annotated[int, typer.Option(min=0, max=50, help="Turns before and after.")] = 0,
    json: _Json = False,
) -> None:
    """Print a turn, an observation or a commit in full, or a session's summary."""
    from memory_assets.recall import open_memory

    rows = open_memory().show(id, around)
    if json:
        rendering.print_json({"id": id, "rows": rows})
    else:
        rendering.print_rows(rows, id)


@app.command()
def audit(
    id: Annotated[str, typer.Argument(help="An id, as `memory search` prints it, or a tag.")],
    json: _Json = False,
) -> None:
    """Walk back from a hit to its source file, run and redactions; or list a tag's sessions."""
    from memory_assets.cli.audit_command import print_audit

    if not print_audit(id, as_json=json):
        raise typer.Exit(exit_codes.CHECK_FAILED)


@app.command()
def status(json: _Json = False) -> None:
    """Say what is in memory, how complete and fresh it is, and what is held back."""
    from memory_assets.cli.status_command import show_status
    from memory_assets.status import where_of

    show_status(where_of(load_settings()), as_json=json)


@app.command()
def doctor(json: _Json = False) -> None:
    """Check this installation: what is found, what is missing, what to do."""
    from memory_assets.cli.doctor_command import show_diagnosis

    raise typer.Exit(show_diagnosis(load_settings(), as_json=json))


@app.command()
def verify(
    deep: Annotated[
        bool, typer.Option("--deep", help="Search every byte at rest for known secrets, too.")
    ] = False,
    project: Annotated[
        list[str] | None, typer.Option(help="Only this project; repeatable.")
    ] = None,
    canary_file: Annotated[
        Path | None, typer.Option(help="With --deep: values that must be nowhere, one a line.")
    ] = None,
    json: _Json = False,
) -> None:
    """Check that what is in memory is complete, whole and free of secrets."""
    from memory_assets.cli.verify_command import verify_memory

    raise typer.Exit(
        verify_memory(
            load_settings(),
            projects=project or [],
            deep=deep,
            canary_file=canary_file,
            as_json=json,
        )
    )


@app.command()
def forget(
    session: Annotated[
        str | None, typer.Argument(help="A session id, its beginning, or any id of its rows.")
    ] = None,
    project: Annotated[
        str | None,
        typer.Option(help="The sessions that this project has now; not those to come."),
    ] = None,
    containing_tag: Annotated[
        str | None,
        typer.Option(help="Sessions that hold this tag: <redacted:RULE:DIGEST> or its digest."),
    ] = None,
    before: Annotated[
        str | None, typer.Option(help="Sessions that ended before 90d, 12w ago or a date.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do it without asking.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be removed.")
    ] = False,
    json: _Json = False,
) -> None:
    """Remove sessions from the memory for good; they are not taken in again.

    What is given must all hold. The agents' own transcript files stay where they are.
    """
    from memory_assets.cli.forget_command import forget_sessions

    outcome = forget_sessions(
        load_settings(),
        session=session,
        project=project,
        containing_tag=containing_tag,
        before=before,
        confirmed=yes,
        dry_run=dry_run,
        as_json=json,
    )
    raise typer.Exit(outcome)


app.command()(blame_commands.blame)
app.command()(blame_commands.link)
app.command()(retain_command.retain)
app.command()(chroma_commands.rebuild)
app.command()(chroma_commands.chroma)
app.command()(timeline_commands.timeline)
app.command()(timeline_commands.summarize)
app.command("cross-query")(timeline_commands.cross_query)
app.command()(serving_commands.mcp)
app.command()(serving_commands.serve)


@app.command()
def dev(
    host: Annotated[
        str, typer.Option(help="Address; any but 127.0.0.1 needs MEMORY_HTTP_TOKEN.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 for any free.")] = 3000,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="Another name that clients use for this machine; repeatable."),
    ] = None,
) -> None:
    """Start Dagster's web page, daemon and sensor on this memory."""
    from memory_assets.cli.dev_command import run_dev

    def say(url: str) -> None:
        typer.echo(f"Dagster is at {url} (Ctrl-C ends it)", err=True)

    run_dev(load_settings(), host, port, say, allowed_hosts=allow_host or ())
