"""Progress bars of the command line: how far it is, and how long it still takes."""

from __future__ import annotations

import io
import logging
import os
import sys
import time

import pytest
from rich.console import Console

from memory_assets.cli.ingesting.index_command import _shown_progress
from memory_assets.cli.printing import rendering
from memory_assets.cli.printing.rendering import open_console


def test_a_name_between_colons_stays_as_it_is() -> None:
    """`agent-memory:x:` is a project and a colon, no picture."""
    console = open_console()
    with console.capture() as printed:
        console.print("agent-memory:x: changed files")
    assert printed.get() == "agent-memory:x: changed files\n"


def test_what_an_ingest_says_is_wrapped_at_words_on_a_terminal_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A pipe gets whole lines."""
    said = "Twenty sessions of a person, and no more, were read"
    monkeypatch.setenv("COLUMNS", "20")
    for terminal, lines in ("1", 3), ("", 1):
        monkeypatch.setenv("TTY_INTERACTIVE", terminal)
        monkeypatch.setenv("FORCE_COLOR", terminal)
        console = open_console()
        with console.capture() as printed:
            console.print(said)
        shown = printed.get().splitlines()
        assert len(shown) == lines and " ".join(line.strip() for line in shown) == said


def test_a_notice_goes_to_where_standard_error_leads_by_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """While a line of progress is shown, that is above the line."""
    first, later = io.StringIO(), io.StringIO()
    monkeypatch.setattr(first, "isatty", lambda: True)
    notices = logging.getLogger("memory_assets")
    monkeypatch.setattr(notices, "handlers", [])
    monkeypatch.setattr(notices, "level", notices.level)
    monkeypatch.setattr(sys, "stderr", first)
    rendering.show_notices()
    monkeypatch.setattr(sys, "stderr", later)
    notices.info("Compiling ...")
    assert (first.getvalue(), later.getvalue()) == ("", "Compiling ...\n")


def test_a_notice_to_a_terminal_that_went_away_stops_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What tells of it goes on, as it would without a terminal."""
    ours, terminal = os.openpty()
    notices = logging.getLogger("memory_assets")
    monkeypatch.setattr(notices, "handlers", [])
    monkeypatch.setattr(notices, "level", notices.level)
    gone = os.fdopen(terminal, "w", buffering=1)
    monkeypatch.setattr(sys, "stderr", gone)
    rendering.show_notices()
    os.close(ours)
    notices.warning("Compiling ...")
    with pytest.raises(OSError):  # what it was given could not be written
        gone.close()


def test_what_takes_long_says_so_on_a_terminal_alone(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """And what does not, says nothing."""
    for is_terminal, seconds, lines in (True, 0.0, 1), (True, 60.0, 0), (False, 0.0, 0):
        monkeypatch.setattr(sys.stderr, "isatty", lambda shown=is_terminal: shown)
        with rendering.notice_if_slow(seconds):
            time.sleep(0.2)
        assert capfd.readouterr().err.count("Looking through") == lines


def test_an_index_says_from_when_on_words_can_be_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once, when the first document is embedded, if that took more than a moment."""
    console = Console(file=io.StringIO(), width=100)
    for worth_saying, times in ((3600.0, 0), (-1.0, 1)):
        monkeypatch.setattr(rendering, "WORTH_SAYING_SECONDS", worth_saying)
        with _shown_progress("indexing", console) as show, console.capture() as printed:
            for table in ("workspace_chunks", "workspace_embeddings"):
                for number in range(3):
                    show("workspace:w", table, number, 3)
        assert printed.get().count("Searchable by words after") == times
