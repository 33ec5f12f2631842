"""`memory uninstall`: what this program left on the machine goes, and nothing else."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from memory_assets.cli import exit_codes
from memory_assets.stores.files.shared import locked
from memory_assets_tests.command_line import run_here

Run = Callable[..., CompletedProcess[str]]
OWN_SETTINGS = '{\n  "permissions": {"allow": ["Bash(make:*)"]}\n}\n'
OWN_SERVER = '{\n  "mcpServers": {\n    "other": {\n      "command": "other"\n    }\n  }\n}\n'
OWN_HOOK = "#!/bin/sh\necho pulled\n"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """What runs a command in a checkout, with a memory of words and a home of its own."""
    project = tmp_path / "project"
    project.mkdir()
    subprocess.run(["git", "init", "--quiet", project], check=True)
    monkeypatch.chdir(project)
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "QWEN_HOME"):
        monkeypatch.delenv(name, raising=False)
    environment = {
        **{"HOME": str(tmp_path / "home"), "XDG_CONFIG_HOME": str(tmp_path / "home" / "config")},
        **{"MEMORY_DATA_DIR": str(tmp_path / "memory"), "MEMORY_EMBEDDER": "none"},
    }
    own_cache = {"XDG_CACHE_HOME": str(tmp_path / "home" / "cache")}  # that of the tests stays

    def run(*arguments: str) -> CompletedProcess[str]:
        more = own_cache if arguments[0] == "uninstall" else {}
        return run_here({**environment, **more}, *arguments)

    return run


def _files(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file() and "objects" not in path.parts
    }


def test_all_that_was_installed_goes_and_all_else_stays(run: Run, tmp_path: Path) -> None:
    """Listed before, without a change; then hooks, entries, plugin, memory, caches and key go,
    from files that hold other things, too."""
    project = tmp_path / "project"
    (project / ".claude").mkdir()
    (project / ".claude" / "settings.local.json").write_text(OWN_SETTINGS)
    (project / ".git" / "hooks").mkdir(exist_ok=True)
    (project / ".git" / "hooks" / "post-merge").write_text(OWN_HOOK)
    (project / ".git" / "hooks" / "post-merge").chmod(0o755)
    (project / ".mcp.json").write_text(OWN_SERVER)
    before = _files(project)
    assert run("ingest").returncode == exit_codes.FINE
    for installed in (
        ("install-hooks",),
        ("install-hooks", "--agent", "claude"),
        ("install-hooks", "--agent", "gemini", "--user"),
        ("init-workspace",),
        ("plugin",),
        ("remember", "We use pnpm."),
    ):
        assert run(*installed).returncode == exit_codes.FINE, installed
    (tmp_path / "memory" / "thesis.odt").write_text("not ours")
    (tmp_path / "home" / "transcripts.jsonl").write_text("{}")
    rules = tmp_path / "home" / "cache" / "memory_assets" / "rules.db"
    rules.parent.mkdir(parents=True)
    rules.write_text("compiled")
    changed, memory = _files(project), _files(tmp_path / "memory")
    told = run("uninstall")
    assert "Nothing was changed" in told.stdout and "settings.local.json\n" in told.stdout
    assert "thesis.odt: nothing of this program" in told.stdout
    assert _files(project) == changed and _files(tmp_path / "memory") == memory
    done = run("uninstall", "--yes")
    assert done.returncode == exit_codes.FINE, done.stderr
    assert _files(project) == before
    assert _files(tmp_path / "memory") == {"thesis.odt": b"not ours"}
    assert set(_files(tmp_path / "home")) == {"transcripts.jsonl"}
    assert "Nothing is left to remove" in run("uninstall").stdout


def test_hooks_alone_can_go(run: Run, tmp_path: Path) -> None:
    """With --keep-data the memory stays."""
    run("remember", "We use pnpm.")
    run("install-hooks", "--agent", "codex")
    assert run("uninstall", "--keep-data", "--yes").returncode == exit_codes.FINE
    assert not (tmp_path / "project" / ".codex" / "hooks.json").exists()
    assert "We use pnpm." in run("memories").stdout


def test_nothing_goes_while_a_process_writes(run: Run, tmp_path: Path) -> None:
    """It says which lock is held."""
    run("remember", "We use pnpm.")
    with locked(tmp_path / "memory" / "ingest.lock", 1, "busy"):
        refused = run("uninstall", "--yes")
    assert refused.returncode == exit_codes.ERROR and "ingest.lock" in refused.stderr
    assert "We use pnpm." in run("memories").stdout
