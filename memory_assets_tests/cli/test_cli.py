"""`memory` as a user runs it: a fresh home, the shipped sample. What is about processes runs
in one of its own; what is about arguments and answers, in that of the tests."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from memory_assets import __version__
from memory_assets.cli import exit_codes
from memory_assets.paths import SAMPLE_DIR
from memory_assets.status.status import VERSIONS_FILE
from memory_assets.stores.chroma import server as chroma_server
from memory_assets.stores.runs.ledger import ledger_of
from memory_assets.stores.runs.names import INGEST_BATCH
from memory_assets_tests import command_line

MEMORY = Path(sys.executable).with_name("memory")


Done = subprocess.CompletedProcess[str]


class Cli:
    """A home and a data directory of their own, and `memory` in them."""

    def __init__(self, directory: Path) -> None:
        self.data_dir = directory / "memory"
        home = directory / "home"
        home.mkdir(parents=True)
        self.own = {"HOME": str(home), "MEMORY_DATA_DIR": str(self.data_dir), "COLUMNS": "200"}

    @property
    def environment(self) -> dict[str, str]:
        """What a process gets."""
        others = {name: value for name, value in os.environ.items() if "MEMORY_" not in name}
        return {**others, **self.own}

    def run(self, *arguments: str) -> Done:
        """Run `memory` in the tests' own process."""
        return command_line.run_here(self.own, *arguments)


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Cli, str]]:
    """A memory of the sample, made by `memory ingest` in a home without any agent."""
    cli = Cli(tmp_path_factory.mktemp("cli"))
    done = cli.run("ingest")
    assert done.returncode == 0, done.stdout + done.stderr
    yield cli, done.stdout
    chroma_server.stop(cli.data_dir)


@pytest.fixture
def empty(tmp_path: Path) -> Cli:
    """A command line whose memory is empty."""
    return Cli(tmp_path / "cli")


def test_ingest_takes_the_sample_where_no_agent_lives(ingested: tuple[Cli, str]) -> None:
    """It says so, counts what it took, and suggests a search."""
    _, printed = ingested
    assert "ingesting the sample sessions" in printed
    assert re.search(r"^9 sessions \(6 claude-code, 2 codex, 1 pi\) in 3 projects", printed, re.M)
    assert "Everything on record can be found." in printed


def test_status_says_that_another_version_made_what_is_in_memory(
    ingested: tuple[Cli, str],
) -> None:
    """Its rules of redaction may find more."""
    cli, _ = ingested
    noted = cli.data_dir / VERSIONS_FILE
    before = noted.read_text()
    assert "This program is version" not in cli.run("status").stdout
    noted.write_text(json.dumps({**json.loads(before), "memory_assets": "0.1.0"}))
    assert f"This program is version {__version__}" in cli.run("status").stdout
    noted.write_text(before)


@pytest.mark.parametrize(
    ("variable", "layout"),
    [
        ("MEMORY_PROJECTS_DIR", "PROJECT/SESSION.jsonl"),
        ("MEMORY_CODEX_DIR", "sessions/YYYY/MM/DD/rollout-*.jsonl"),
        ("MEMORY_PI_DIR", "agent/sessions/PROJECT/*.jsonl"),
    ],
)
def test_ingest_of_a_directory_without_transcripts_finds_nothing(
    empty: Cli, tmp_path: Path, variable: str, layout: str
) -> None:
    """It names the directory, the setting and the expected layout, takes no sample, and does not
    say that all is well."""
    directory = tmp_path / "nothing"
    directory.mkdir()
    empty.own[variable] = str(directory)
    done = empty.run("ingest")
    assert done.returncode == exit_codes.NOTHING_FOUND
    assert f"{directory} holds no transcripts" in done.stderr
    assert variable in done.stderr and layout in done.stderr
    assert "sample" not in done.stdout and "can be found" not in done.stdout


def test_ingest_warns_of_one_directory_without_transcripts(empty: Cli, tmp_path: Path) -> None:
    """The other agent's sessions are ingested all the same."""
    directory = tmp_path / "nothing"
    directory.mkdir()
    empty.own |= {
        "MEMORY_PROJECTS_DIR": str(directory),
        "MEMORY_PI_DIR": str(SAMPLE_DIR / "pi"),
        "MEMORY_EMBEDDER": "none",
    }
    done = empty.run("ingest")
    assert done.returncode == exit_codes.FINE, done.stdout + done.stderr
    assert f"{directory} holds no transcripts of claude-code" in done.stdout
    assert "holds no transcripts of pi" not in done.stdout
    assert "1 session (1 pi)" in done.stdout


def test_nothing_found_is_exit_code_3(ingested: tuple[Cli, str]) -> None:
    """A filter that nothing passes, an id that does not exist, and weak hits for a word that
    occurs nowhere; weak hits for words that do occur may be what is asked for."""
    cli, _ = ingested
    assert cli.run("search", "database", "--until", "2001-01-01").returncode == 3
    assert cli.run("show", "session::nope::turn::0").returncode == 3
    nothing_close = cli.run("search", "zzzzqqqq")
    assert nothing_close.returncode == 3 and "1. " in nothing_close.stdout
    assert "'zzzzqqqq' is nowhere in memory" in nothing_close.stdout
    unsure = cli.run("search", "does the browser save the image of the worker")
    assert unsure.returncode == 0 and "Not sure; nearest:" in unsure.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("search", " "), "query is empty"),
        (("search", "x", "--in", "everything"), "choose from sessions"),
        (("search", "x", "--mode", "fuzzy"), "choose from hybrid"),
        (("search", "x", "-n", "0"), "1 to 200"),
        (("search", "x", "--since", "yesterday-ish"), "--since: 'yesterday-ish' is not"),
        (("costs", "--since", "never"), "--since: 'never' is not a time"),
        (("show", "a::b"), "is not an id"),
        (("show", "a", "--page", "2"), "ask for records"),
        (("ingest", "--projects-dir", "/does/not/exist"), "does not exist"),
        (("ingest", "--agent", "clippy"), "unknown agent"),
        (("ingest", "--limit", "0"), "x>=1. See `memory ingest --help`."),
        (("serch", "x"), "error no such command 'serch'. (Did you mean one of: 'search'"),
    ],
)
def test_wrong_usage_is_exit_code_2_and_says_what_is_right(
    ingested: tuple[Cli, str], arguments: tuple[str, ...], says: str
) -> None:
    """One line on standard error, no traceback."""
    cli, _ = ingested
    refused = cli.run(*arguments)
    assert refused.returncode == 2
    assert says in refused.stderr
    assert refused.stderr.startswith("error ") and refused.stderr.count("\n") == 1


def test_asking_an_empty_memory_says_what_to_run(empty: Cli) -> None:
    """Search, show and status before any ingest."""
    for arguments in (("search", "x"), ("show", "session::a::turn::0"), ("status",)):
        refused = empty.run(*arguments)
        assert refused.returncode == 3
        assert "memory ingest" in refused.stderr


@pytest.mark.long
def test_limit_takes_that_many_files_and_the_next_ingest_the_rest(empty: Cli) -> None:
    """--limit 2 reads two files; afterwards everything is taken in. Without vectors, which
    change nothing about it."""
    empty.own["MEMORY_EMBEDDER"] = "none"
    first = json.loads(empty.run("ingest", "--limit", "2", "--json").stdout)
    assert sum(counts["files"] for counts in first["status"]["agents"].values()) == 2
    second = json.loads(empty.run("ingest", "--json").stdout)
    assert sum(counts["files"] for counts in second["status"]["agents"].values()) == 10
    assert second["status"]["coverage"]["sessions"]["turns"] == 28
    chroma_server.stop(empty.data_dir)


def test_project_takes_just_that_project(empty: Cli) -> None:
    """--project restricts the runs; an unknown one is refused with the known ones. Without
    vectors, which report and status say, and that all can be found by its words."""
    empty.own["MEMORY_EMBEDDER"] = "none"
    done = empty.run("ingest", "--project=-home-mara-code-lantern")
    assert done.returncode == 0, done.stderr
    by_words = "Everything on record can be found by its words; no vectors are made"
    assert by_words in done.stdout
    current = json.loads(empty.run("status", "--json").stdout)
    assert list(current["projects"]) == ["-home-mara-code-lantern"]
    for kind in ("workspace", "memory", "history", "history_summaries"):
        assert current["coverage"].pop(kind)["rows"] == 0
    for kind, covered in current["coverage"].items():
        assert covered["complete"] and covered["keywords"] == covered["rows"] > 0, kind
        assert (covered["vectors"], covered["indexed"]) == (False, 0), kind
    assert current["freshness"]["newest_indexed_at"]
    refused = empty.run("ingest", "--project=nope")
    assert refused.returncode == 2 and refused.stderr.endswith(": api, lantern, web\n")


def test_from_a_directory_that_is_gone_works_what_needs_none(
    ingested: tuple[Cli, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As a removed worktree: what is relative to it is refused with what to do, nothing else is."""
    cli, _ = ingested
    hit = json.loads(cli.run("search", "deploys fail", "--json").stdout)["hits"][0]
    session = hit["metadata"]["session_id"]
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    works: list[tuple[tuple[str, ...], int]] = [
        (("search", "deploys fail"), 0),
        (("status",), 0),
        (("timeline", session), 0),
        (("ingest",), 0),
        (("blame", "/nowhere/harbor.py"), 3),
        (("blame", "abcdef1234"), 3),
        (("restore", "/nowhere/harbor.py"), 3),
        (("link", session, "abcdef1234"), 3),
    ]
    for command, code in works:
        done = cli.run(*command)
        assert done.returncode == code, (command, done.stdout, done.stderr)
        assert "current directory is gone" not in done.stderr
    refused: list[tuple[str, ...]] = [
        ("blame", "harbor.py"),
        ("restore", "harbor.py"),
        ("search", "deploys fail", "--project", "."),
        ("link", session, "HEAD"),
        ("index", "."),
        ("forget", "--project", "./here", "--dry-run"),
    ]
    for command in refused:
        done = cli.run(*command)
        said = done.stdout + done.stderr
        assert done.returncode == 1, command
        assert said == "error the current directory is gone: cd to another one\n"


_KILLED = """
import os, signal
from dataclasses import replace
from memory_assets.pipeline.ingest.steps import STEPS
kill = lambda *given: os.kill(os.getpid(), signal.SIGKILL)
STEPS["turn_chunks"] = replace(STEPS["turn_chunks"], run=kill)
from memory_assets.cli.start import main
main()
"""
"""An ingest that is killed when the first project is to be chunked."""


def test_a_killed_ingest_is_completed_by_the_next_one(empty: Cli) -> None:
    """kill -9 in the middle: the next ingest ends with everything, and the killed run does
    not stay under way, where it would hold back its project. The kill
    comes before any vector is made, so there are none; and Codex's two sessions will do."""
    empty.own |= {"MEMORY_EMBEDDER": "none", "MEMORY_AGENTS": "codex"}
    killed = subprocess.run(
        [sys.executable, "-c", _KILLED, "ingest"], env=empty.environment, capture_output=True
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert (empty.data_dir / "lake" / "redacted_records").is_dir()
    assert not (empty.data_dir / "lake" / "turn_chunks").exists()
    again = json.loads(empty.run("ingest", "--json").stdout)
    assert again["failed"] == {} and again["checks_failed"] == []
    assert again["status"]["coverage"]["sessions"]["turns"] == 5
    assert json.loads(empty.run("ingest", "--json").stdout)["work"] == []
    with closing(ledger_of(empty.data_dir)) as ledger:
        runs = ledger.last_runs()
    ended = [run["status"] for run in runs["ended"] if run["job"] == INGEST_BATCH]
    assert sorted(ended) == ["FAILURE", "SUCCESS"] and runs["under_way"] == 0
