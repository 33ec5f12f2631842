"""Twelve questions and their answers, made from the sample sessions, in benchmarks/notes:
`python -m benchmarks.twelve_questions` writes them there."""

from __future__ import annotations

import shlex
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memory_assets.cli.printing.hit_view import terminal_lines
from memory_assets.cli.search_command import search
from memory_assets.paths import sample_roots
from memory_assets.pipeline.stage.components import Components
from memory_assets.recall import Memory, open_memory
from memory_assets.requests.search import SearchRequest
from memory_assets.serving.answer_lines import search_notes
from memory_assets.serving.layout import Layout
from memory_assets.serving.tool_answers import answer_tool
from memory_assets.settings import load_settings
from memory_assets.stores.chroma import server as chroma_server
from memory_assets_tests.conftest import forget_own_settings
from memory_assets_tests.pipeline.conftest import STAGES, run_stages

DOCUMENT = Path(__file__).resolve().parents[1] / "benchmarks/notes/twelve-questions.md"
MARK = "<!-- answers -->\n"
NOW = datetime(2026, 11, 23, 12, 0, tzinfo=UTC)
"""As of when the answers are, so that ages stay."""
WITH_AN_ANSWER = (
    "why is the report wrong after the clocks changed -n 1",
    "what blocked the migration -n 2",
    "why does the login loop in safari -n 1",
    "why does the release binary crash in the alpine image --agent codex -n 1",
    "database is locked with two workers -n 1",
    "lock_timout of the migraton -n 1",
    "'fatal: The current branch has no upstream branch' -n 1",
    "--file days.py --sort date -n 2",
)
WITHOUT = (
    "zzzzqqqq -n 1",
    "who repaired the kitchen sink -n 1",
    "how do we roll back a kubernetes deployment -n 1",
    "which colours did the designer choose for the logo -n 1",
)
_COLUMNS = 100


def answers(memory: Memory) -> str:
    """The section of the document, in Markdown."""
    return "\n".join(
        line for words in (*WITH_AN_ANSWER, *WITHOUT) for line in _asked(memory, words)
    )


def _asked(memory: Memory, words: str) -> Iterator[str]:
    given = search.make_context("search", shlex.split(words)).params
    said = {name: value for name, value in given.items() if value not in (None, (), False)}
    asked = SearchRequest(**{**said, "query": " ".join(given["query"])})
    answer = memory.ask(asked)
    by_time = asked.sort == "date" or not asked.query
    yield f"```console\n$ memory search {words}"
    yield from terminal_lines(memory, answer, Layout(_COLUMNS), by_time=by_time, now=NOW)
    yield from search_notes(answer)
    told = [line for line in answer_tool(memory, "recall", asked)[1].splitlines() if line]
    first = next(at for at, line in enumerate(told) if line.startswith("<recalled-memory"))
    last = next(at for at, line in enumerate(told) if line.startswith("</recalled-memory"))
    yield "```\n\n```text"
    yield from (*told[first + 1 : last], *told[last + 1 :])
    yield "```\n"


@contextmanager
def sample_memory(root: Path) -> Iterator[Memory]:
    """The memory of the sample sessions, with vectors, in a zone that is UTC."""
    with pytest.MonkeyPatch.context() as patch:
        forget_own_settings(patch, root / "home")
        patch.setenv("TZ", "UTC")
        time.tzset()
        directories = zip(
            ("projects_dir", "codex_dir", "pi_dir"), sample_roots().values(), strict=True
        )
        settings = load_settings(data_dir=root / "data", **dict(directories))
        components = Components(settings)
        components.opened["install_key"] = bytes(range(32))
        run_stages(components, STAGES)
        try:
            yield open_memory(settings)
        finally:
            chroma_server.stop(settings.data_dir)
    time.tzset()


def main() -> None:
    """Write the answers of today below the mark in the document."""
    with tempfile.TemporaryDirectory() as root, sample_memory(Path(root)) as memory:
        head = DOCUMENT.read_text().split(MARK)[0]
        DOCUMENT.write_text(f"{head}{MARK}\n{answers(memory)}")


if __name__ == "__main__":
    main()
