"""`memory uninstall`: what this program left on the machine goes, and nothing else."""

from __future__ import annotations

import gc
import re
import subprocess
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from subprocess import CompletedProcess

import pytest

import memory_assets
from memory_assets.cli import exit_codes
from memory_assets.install_key import KEY_FILE
from memory_assets.private_files import OURS
from memory_assets.stores.files.shared import locked
from memory_assets.stores.under_way import TRANSCRIPTS, WORKSPACES
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


@pytest.mark.parametrize("before", [None, "alias tide=ebb\n", "alias tide=ebb", "\n# \xfc\n\n"])
@pytest.mark.parametrize(
    ("shell", "name"),
    [
        ("bash", "home/.bashrc"),
        ("zsh", "zsh/.zshrc"),
        ("fish", "home/config/fish/completions/memory.fish"),
    ],
)
def test_the_line_of_completion_goes_and_no_other(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    shell: str,
    name: str,
    before: str | None,
) -> None:
    """From the file that the shell reads, whatever stands before and behind it; a file that held
    nothing else goes."""
    monkeypatch.setenv("SHELL", f"/bin/{shell}")
    monkeypatch.setenv("ZDOTDIR", str(tmp_path / "zsh"))
    file, behind = tmp_path / name, "alias ebb=tide\n" if before else ""
    file.parent.mkdir(parents=True, exist_ok=True)
    if before is not None:
        file.write_text(before, "latin-1")
    assert run("--install-completion").returncode == 0
    with file.open("a") as configuration:
        configuration.write(behind)
    listed = run("uninstall", "--keep-data").stdout
    assert f"  {file}" in listed and "_MEMORY_COMPLETE" in file.read_text("latin-1")
    assert run("uninstall", "--keep-data", "--yes").returncode == 0
    if before is None:
        assert not file.exists()
    else:
        ended = before if before.endswith("\n") else f"{before}\n"
        assert file.read_text("latin-1") == ended + behind


def test_all_that_was_installed_goes_and_all_else_stays(run: Run, tmp_path: Path) -> None:
    """Listed before, without a change; then hooks, entries, plugin, memory and caches go, from
    files that hold other things, too."""
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
    gc.collect()  # closes the journal that `remember` left open in this process
    changed, memory = _files(project), _files(tmp_path / "memory")
    told = run("uninstall")
    assert "Nothing was changed" in told.stdout and "settings.local.json\n" in told.stdout
    assert "thesis.odt: nothing of this program" in told.stdout
    assert _files(project) == changed and _files(tmp_path / "memory") == memory
    done = run("uninstall", "--yes")
    assert done.returncode == exit_codes.FINE, done.stderr
    assert _files(project) == before
    assert _files(tmp_path / "memory") == {"thesis.odt": b"not ours"}
    key = "config/memory_assets/install.key"
    assert set(_files(tmp_path / "home")) == {"transcripts.jsonl", key}
    assert "Nothing is left to remove" in run("uninstall").stdout


def test_hooks_alone_can_go(run: Run, tmp_path: Path) -> None:
    """With --keep-data the memory stays."""
    run("remember", "We use pnpm.")
    run("install-hooks", "--agent", "codex")
    other = tmp_path / "elsewhere"  # a checkout that nothing else on record names
    subprocess.run(["git", "init", "--quiet", other], check=True)
    assert run("install-hooks", str(other)).returncode == exit_codes.FINE
    assert f"{other}/.git/hooks/post-merge" in run("uninstall").stdout
    assert run("uninstall", "--keep-data", "--yes").returncode == exit_codes.FINE
    assert not (tmp_path / "project" / ".codex" / "hooks.json").exists()
    assert "We use pnpm." in run("memories").stdout
    assert not (other / ".git" / "hooks" / "post-merge").exists()


def test_nothing_goes_while_a_process_writes(run: Run, tmp_path: Path) -> None:
    """It says which lock is held."""
    run("remember", "We use pnpm.")
    with locked(tmp_path / "memory" / "ingest.lock", 1, "busy"):
        refused = run("uninstall", "--yes")
    assert refused.returncode == exit_codes.ERROR and "ingest.lock" in refused.stderr
    assert "We use pnpm." in run("memories").stdout


def _names_in_data_directories() -> set[str]:
    """What modules of the product append to `data_dir`: literals, and constants, of other modules
    if they are public."""
    texts = [path.read_text() for path in Path(memory_assets.__file__).parent.rglob("*.py")]
    public = [each for text in texts for each in re.findall(r'(?m)^([A-Z]\w*) = "([^"]+)"', text)]
    names = set[str]()
    for text in texts:
        constants = [*public, *re.findall(r'(?m)^(_\w+) = "([^"]+)"', text)]
        for part in re.findall(r"\bdata_dir / ([\w.\"-]+)", text):
            named = {value for name, value in constants if name == part.rpartition(".")[2]}
            names |= {part.strip('"')} if part.startswith('"') else named
    return names - {"beside", "instance.lock"}  # other constants that are called FOLDER and LOCK


def test_every_name_that_the_product_gives_in_a_data_directory_is_known() -> None:
    """Otherwise it would stay, and be said to be somebody else's."""
    names = _names_in_data_directories()
    assert {"catalog.db", "lake", "chroma.token", "excluded.txt", "shard.json", "shards"} <= names
    names |= {f"{of}.{end}" for of in (TRANSCRIPTS, WORKSPACES) for end in ("lock", "json")}
    unknown = {name for name in names if not any(fnmatchcase(name, each) for each in OURS)}
    assert not unknown


def test_what_shards_and_exclusions_left_goes(run: Run, tmp_path: Path) -> None:
    """Replicas, the note of the own shard and its lock; what else is called alike stays."""
    run("remember", "We use pnpm.")
    memory = tmp_path / "memory"
    for name in ("shards/laptop-0a1b2c3d/replica.json", "shard.json", "shard.lock"):
        (memory / name).parent.mkdir(parents=True, exist_ok=True)
        (memory / name).write_text("{}")
    (memory / "excluded.txt").write_text("/secret\n")
    (memory / "history.jsonl").write_text("not ours")
    gc.collect()
    assert run("uninstall", "--yes").returncode == exit_codes.FINE
    assert _files(memory) == {"history.jsonl": b"not ours"}


def test_a_link_to_settings_does_not_dangle(run: Run, tmp_path: Path) -> None:
    """The file that it leads to is without content then, and is found no more."""
    target = tmp_path / "dotfiles.json"
    target.write_text("{}\n")
    link = tmp_path / "project" / ".claude" / "settings.local.json"
    link.parent.mkdir()
    link.symlink_to(target)
    installed = run("install-hooks", "--agent", "claude")
    assert installed.returncode == exit_codes.FINE, installed.stderr
    assert b"memory" in target.read_bytes()
    assert run("uninstall", "--yes").returncode == exit_codes.FINE
    assert link.is_symlink() and target.read_text() == "{}\n"
    assert "Nothing is left to remove" in run("uninstall").stdout


STRANGERS = (
    *("lake/boats.csv", "dagster/dagster.yaml", "dagster/storage/runs.db", "chroma/palette.txt"),
    *("shards/0001.bin", "claude-plugin/.claude-plugin/plugin.json"),
)
"""Files of others in directories that are called as ours are."""


def _write(directory: Path, names: Sequence[str]) -> dict[str, bytes]:
    for name in names:
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text("not ours")
    return dict.fromkeys(names, b"not ours")


def test_nothing_goes_from_a_directory_without_a_memory(run: Run, tmp_path: Path) -> None:
    """Whatever the files in it are called, and whoever holds their locks."""
    names = ("index.json", "chroma.log", "ingest.lock", "versions.json", "keywords.db")
    before = _write(tmp_path / "memory", [*STRANGERS, *names])
    with locked(tmp_path / "memory" / "index.lock", 1, "busy"):
        done = run("uninstall", "--yes")
    assert done.returncode == exit_codes.FINE and "it holds no memory" in done.stdout
    left = _files(tmp_path / "memory")
    assert {name: content for name, content in left.items() if name != "index.lock"} == before


def test_of_directories_with_general_names_only_ours_go(run: Run, tmp_path: Path) -> None:
    """Beside a memory, too; what stays in them is listed, and why."""
    memory = tmp_path / "memory"
    run("remember", "We use pnpm.")
    before = _write(memory, STRANGERS)
    for name in ("lake/turn_chunks/project=a/segment+1.parquet", "lake/locks/a.lock"):
        (memory / name).parent.mkdir(parents=True)
        (memory / name).touch()
    gc.collect()
    done = run("uninstall", "--yes")
    assert done.returncode == exit_codes.FINE, done.stderr
    assert f"{memory / 'lake' / 'boats.csv'}: this program did not write it" in done.stdout
    assert f"{memory / 'chroma'}: nothing in it shows" in done.stdout
    assert _files(memory) == before and not (memory / "lake" / "locks").exists()


def test_what_links_in_the_data_directory_lead_to_goes(run: Run, tmp_path: Path) -> None:
    """A lake may have been moved to another disk; its tables are ours there, too."""
    run("remember", "We use pnpm.")
    (tmp_path / "disk" / "turn_chunks").mkdir(parents=True)
    (tmp_path / "memory" / "lake").symlink_to(tmp_path / "disk")
    gc.collect()
    assert run("uninstall", "--yes").returncode == exit_codes.FINE
    assert not (tmp_path / "memory").exists() and list((tmp_path / "disk").iterdir()) == []


@pytest.mark.parametrize("place", ["named", "default", "with tenants", "empty"])
def test_the_key_goes_only_with_the_default_memory(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """Other memories of the user need it: of another directory, or of tenants. Where it goes, the
    list says so."""
    memory, key = tmp_path / "memory", tmp_path / "home" / "config" / "memory_assets" / KEY_FILE
    _write(key.parent, [KEY_FILE])
    if place != "named":
        monkeypatch.setattr("memory_assets.cli.installing.uninstall.DATA_DIR", memory)
    if place != "empty":
        _write(memory, ["workspaces.json"])
    if place == "with tenants":
        _write(memory, ["tenants/a/catalog.db"])
    done = run("uninstall", "--yes")
    assert done.returncode == exit_codes.FINE, done.stderr
    assert key.exists() == (place != "default")
    said = "copy it if there are any" if place == "default" else "all memories of this user need it"
    assert f"{key}: " in done.stdout and said in done.stdout
    assert not (memory / "workspaces.json").exists()
