"""`memory ingest`, `verify` and `doctor`: their options. What they do is imported when it is done,
because that takes up to a second, and not when `memory --help` lists them."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import click

from memory_assets.cli.commands import JSON, PATH, PROJECTS, command, completed, flag
from memory_assets.errors import ConfigurationError
from memory_assets.paths import KNOWN_AGENTS
from memory_assets.settings import Settings, load_settings


@command("memory ingest --project . --agent=-gemini")
@flag("--once", help="Ingest what changed, then stop (the default).")
@flag("--watch", help="Keep running and ingest changes until Ctrl-C.")
@click.option(
    "--limit", type=click.IntRange(1), help="Ingest at most this many new or changed files."
)
@click.option(
    "--projects-dir",
    type=PATH,
    multiple=True,
    help="Read only this projects directory of Claude Code; repeatable.",
)
@PROJECTS
@click.option(
    "--agent",
    multiple=True,
    shell_complete=completed(lambda: KNOWN_AGENTS),
    help="Only this agent; `--agent=-gemini`: all but this. Repeatable.",
)
@flag("--full", help="Rebuild everything, even if unchanged.")
@JSON
def ingest(
    once: bool,
    watch: bool,
    limit: int | None,
    projects_dir: Sequence[Path],
    project: Sequence[str],
    agent: Sequence[str],
    full: bool,
    json: bool,
) -> None:
    """Ingest new and changed transcripts.

    Finds the transcripts of Claude Code, Codex, Copilot, Cursor, Gemini and other agents in their
    places (docs/agents.md), redacts them and updates all tables and indexes. Without changes it
    does nothing.
    """
    settings = load_settings(projects_dir=list(projects_dir) or None, agents=agent or None)
    if watch:
        if limit is not None or project or full or json:
            raise ConfigurationError(
                "--watch cannot be combined with --limit, --project, --full or --json"
            )
        from memory_assets.cli.ingesting.watch_command import watch_directories

        sys.exit(watch_directories(settings))
    _compile_the_scanner_first(settings)
    gc.disable()  # modules and the plan's rows stay; `ingest_once` enables it before the work
    from memory_assets.cli.ingesting.ingest_command import ingest_once

    gc.freeze()
    sys.exit(ingest_once(settings, limit=limit, projects=project, full=full, as_json=json))


def _compile_the_scanner_first(settings: Settings) -> None:
    """Compile the independent scanner, if this will be a first ingest: it is what takes longest to
    start, and is ready when the imports are done."""
    roots = chain.from_iterable(settings.transcript_roots().values())
    transcripts = (root.rglob("*.jsonl*") for root in roots)
    if not (settings.data_dir / "catalog.db").exists() and any(map(any, transcripts)):
        from memory_assets.pipeline.checks.kingfisher import compile_kingfisher

        compile_kingfisher()


@command("memory verify --deep --project .")
@flag("--deep", help="Also search every byte on disk for known secrets.")
@PROJECTS
@click.option(
    "--canary-file",
    type=PATH,
    help="With --deep: a file of values that must not be found, one a line.",
)
@JSON
def verify(deep: bool, project: Sequence[str], canary_file: Path | None, json: bool) -> None:
    """Check all data against the transcripts.

    Runs every check without Dagster and reads the transcripts again: rows that are missing, rows
    that differ, and secrets that were not redacted are reported with exit code 4.
    """
    from memory_assets.cli.verify_command import verify_memory

    settings = load_settings()
    sys.exit(
        verify_memory(settings, projects=project, deep=deep, canary_file=canary_file, as_json=json)
    )


@command()
@JSON
def doctor(json: bool) -> None:
    """Check this installation.

    Prints what is found, what is missing, and what to do about it.
    """
    from memory_assets.cli.doctor_command import show_diagnosis

    sys.exit(show_diagnosis(load_settings(), as_json=json))
