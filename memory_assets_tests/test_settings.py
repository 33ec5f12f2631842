"""Settings come from arguments, environment, memory.toml and defaults, in that order."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memory_assets import paths
from memory_assets.errors import ConfigurationError
from memory_assets.paths import DATA_DIR, KNOWN_AGENTS, SAMPLE_DIR, sample_roots
from memory_assets.settings import KEYS, load_settings

DEFAULT_ROOTS = {"claude-code": ".claude/projects", "codex": ".codex", "pi": ".pi"}


@pytest.fixture(autouse=True)
def toml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """What writes the memory.toml that is read; without it there is none."""
    path = tmp_path / "memory.toml"
    monkeypatch.setattr(paths, "SETTINGS_FILE", path)

    def write(text: str) -> None:
        path.write_text(text)

    return write


@pytest.fixture
def home(tmp_path: Path) -> Callable[..., Path]:
    """What puts agents' directories into the (empty) home."""

    def with_agents(*agents: str) -> Path:
        for agent in agents:
            (tmp_path / "home" / DEFAULT_ROOTS[agent]).mkdir(parents=True)
        return tmp_path / "home"

    return with_agents


def test_without_any_setting_everything_is_local() -> None:
    """The data beside the project, our own Chroma server, the local model."""
    settings = load_settings()
    assert settings.data_dir == DATA_DIR
    assert settings.chroma_url is None
    assert settings.embedder == "all-MiniLM-L6-v2"
    assert settings.summarizer == "extractive"
    assert settings.max_file_bytes == 8_192
    assert settings.allowlist == ()
    assert settings.agents == KNOWN_AGENTS


def test_the_environment_sets_every_option(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each as MEMORY_<NAME>, converted to its type; others' variables are ignored."""
    monkeypatch.setenv("MEMORY_DATA_DIR", "/somewhere/memory")
    monkeypatch.setenv("MEMORY_AGENTS", "codex, pi")
    monkeypatch.setenv("MEMORY_ALLOWLIST", "docs/**, *.md ,")
    monkeypatch.setenv("MEMORY_CHROMA_URL", "http://chroma:8000")
    monkeypatch.setenv("MEMORY_CHROMA_IDLE_SECONDS", "7.5")
    monkeypatch.setenv("MEMORY_MAX_FILE_BYTES", "100")
    monkeypatch.setenv("MEMORY_NO_SUCH_OPTION", "x")
    settings = load_settings()
    assert settings.data_dir == Path("/somewhere/memory")
    assert settings.agents == ("codex", "pi")
    assert settings.allowlist == ("docs/**", "*.md")
    assert settings.chroma_url == "http://chroma:8000"
    assert (settings.chroma_idle_seconds, settings.max_file_bytes) == (7.5, 100)


def test_an_empty_variable_is_one_that_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """Above all, an empty directory does not mean the current one."""
    for name in ("PROJECTS_DIR", "DATA_DIR", "CHROMA_URL", "AGENTS", "MAX_FILE_BYTES"):
        monkeypatch.setenv(f"MEMORY_{name}", "")
    assert load_settings() == load_settings(data_dir=DATA_DIR)
    assert load_settings().projects_dir is None


def test_arguments_beat_the_environment_which_beats_the_file(
    monkeypatch: pytest.MonkeyPatch, toml: Callable[[str], None]
) -> None:
    """An argument of None is one that was not given."""
    toml('data_dir = "/from/file"\nembedder = "from-file"\nsummarizer = "from-file"\n')
    monkeypatch.setenv("MEMORY_EMBEDDER", "from-environment")
    monkeypatch.setenv("MEMORY_SUMMARIZER", "from-environment")
    settings = load_settings(summarizer="from-argument", embedder=None)
    assert settings.data_dir == Path("/from/file")
    assert settings.embedder == "from-environment"
    assert settings.summarizer == "from-argument"


def test_paths_become_absolute(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, home: Callable[..., Path]
) -> None:
    """Relative ones from where the command runs, ~ from the home directory: a process
    started elsewhere with these settings means the same places."""
    monkeypatch.chdir(tmp_path)
    settings = load_settings(data_dir="here", projects_dir="~/transcripts")
    assert settings.data_dir == tmp_path / "here"
    assert settings.projects_dir == (home() / "transcripts",)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("MEMORY_AGENTS", "claude-code,clippy", "unknown agent 'clippy'; known: claude-code"),
        ("MEMORY_MAX_FILE_BYTES", "many", "whole number"),
        ("MEMORY_MAX_FILE_BYTES", "0", "greater than 0"),
        ("MEMORY_CHROMA_IDLE_SECONDS", "-1", "greater than 0"),
        ("MEMORY_LOCK_TIMEOUT_SECONDS", "soon", "number"),
        ("MEMORY_SENSOR_PROJECTS_PER_TICK", "0", "greater than 0"),
        ("MEMORY_CONFIDENCE_MIN", "nan", "0 to 1"),
        ("MEMORY_MAX_PER_WINDOW", "none", "whole number"),
        ("HISTORY_TAIL_N", "-1", "0 to 10000"),
        ("MEMORY_CHROMA_URL", "http://ann:harbor@127.0.0.1:8000", "leave out user and password"),
        ("QDRANT_URL", "https://harbor@example.com", "leave out user and password"),
    ],
)
def test_a_wrong_value_is_an_error_that_names_its_variable(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, message: str
) -> None:
    """And says what is wrong with it and where to correct it, whichever way the value came."""
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigurationError) as raised:
        load_settings()
    assert name in str(raised.value)
    assert message in str(raised.value)
    assert "harbor@" not in str(raised.value)
    assert "memory.toml" in str(raised.value)
    monkeypatch.delenv(name)
    with pytest.raises(ConfigurationError, match=name):
        load_settings(**{name.removeprefix("MEMORY_").lower(): value})


@pytest.mark.parametrize("text", ["data_dir = ", "agents = 7", "\x00"])
def test_a_settings_file_that_cannot_be_read_is_an_error(
    toml: Callable[[str], None], text: str
) -> None:
    """Not a stack trace."""
    toml(text)
    with pytest.raises(ConfigurationError, match=r"memory\.toml"):
        load_settings()


def test_agents_are_read_where_they_live(home: Callable[..., Path]) -> None:
    """Of the agents' default directories, those that are there."""
    at = home("claude-code", "pi")
    assert load_settings().transcript_roots() == {
        "claude-code": (at / ".claude/projects",),
        "pi": (at / ".pi",),
    }


@pytest.mark.parametrize("separator", [os.pathsep, ",", ", "])
def test_an_agents_own_variable_may_list_homes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, separator: str
) -> None:
    """As in PATH, or with commas; one that is missing is among them, and so becomes an error."""
    homes = [tmp_path / name for name in ("work", "private", "lost")]
    for home in homes[:2]:
        (home / "projects").mkdir(parents=True)
        (home / "agent" / "sessions").mkdir(parents=True)
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "PI_CODING_AGENT_DIR"):
        monkeypatch.setenv(name, separator.join(map(str, homes)))
    assert load_settings().transcript_roots() == {
        "claude-code": tuple(home / "projects" for home in homes),
        "codex": tuple(homes),
        "pi": tuple(homes),
    }


def test_a_directory_whose_name_has_a_separator_is_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """If it is there as it is written."""
    odd, other = tmp_path / "a,b", tmp_path / f"c{os.pathsep}d"
    odd.mkdir()
    other.mkdir()
    for given, read in ((f"{odd}{os.pathsep}{tmp_path}", (odd, tmp_path)), (other, (other,))):
        monkeypatch.setenv("PI_CODING_AGENT_SESSION_DIR", str(given))
        assert load_settings().transcript_roots()["pi"] == read


def test_claude_code_lives_below_the_configuration_too(
    home: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In ~/.config/claude or where XDG_CONFIG_HOME says, with ~/.claude or without it; where one
    is a link to the other, it is read once."""
    at = home()
    old, new = at / ".claude", at / ".config" / "claude"
    (new / "projects").mkdir(parents=True)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    assert load_settings().transcript_roots() == {"claude-code": (new / "projects",)}
    (old / "projects").mkdir(parents=True)
    both = old / "projects", new / "projects"
    assert load_settings().transcript_roots() == {"claude-code": both}
    (new / "projects").rmdir()
    (new / "projects").symlink_to(old / "projects")
    assert load_settings().transcript_roots() == {"claude-code": both[:1]}
    (tmp_path / "moved" / "claude" / "projects").mkdir(parents=True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "moved"))
    moved = tmp_path / "moved" / "claude" / "projects"
    assert load_settings().transcript_roots() == {"claude-code": (old / "projects", moved)}


@pytest.mark.parametrize("given", ["text", "list"])
def test_a_setting_may_list_directories(
    toml: Callable[[str], None], tmp_path: Path, given: str
) -> None:
    """In the file as a list, or as in PATH."""
    paths = [str(tmp_path / "a"), str(tmp_path / "b")]
    value = json.dumps(paths if given == "list" else os.pathsep.join(paths))
    toml(f"codex_dir = {value}")
    assert load_settings().transcript_roots() == {"codex": (tmp_path / "a", tmp_path / "b")}


def test_an_agent_may_have_several_roots(tmp_path: Path) -> None:
    """Each as a pair of its own."""
    places = [tmp_path / name for name in "abc"]
    roots = f"aider={places[0]},Gemini={places[1]},aider={places[2]}"
    assert load_settings(roots=roots).transcript_roots() == {
        "aider": (places[0], places[2]),
        "gemini": (places[1],),
    }


def test_where_no_agent_lives_the_sample_is_read() -> None:
    """The three agents of it, and all their directories are there."""
    roots = load_settings().transcript_roots()
    assert roots == sample_roots()
    assert tuple(roots) == KNOWN_AGENTS[:3]
    paths = [path for (path,) in roots.values()]
    assert all(path.is_dir() and path.is_relative_to(SAMPLE_DIR) for path in paths)


@pytest.mark.parametrize(
    ("name", "agent"), [("projects_dir", "claude-code"), ("codex_dir", "codex"), ("pi_dir", "pi")]
)
def test_a_directory_that_is_given_replaces_all_defaults(
    home: Callable[..., Path], tmp_path: Path, name: str, agent: str
) -> None:
    """Nobody's own sessions get in beside it, nor the sample when it does not exist."""
    home(*DEFAULT_ROOTS)
    given: dict[str, Any] = {name: tmp_path / "not-there"}
    assert load_settings(**given).transcript_roots() == {agent: (tmp_path / "not-there",)}


def test_agents_that_are_not_wanted_are_not_read(home: Callable[..., Path]) -> None:
    """Neither where they live nor in the sample; and the sample does not stand in for an
    agent that is not there."""
    assert load_settings(agents=("pi",)).transcript_roots().keys() == {"pi"}
    home("claude-code", "codex")
    assert load_settings(agents=("codex",)).transcript_roots().keys() == {"codex"}
    assert load_settings(agents=("pi",)).transcript_roots() == {}


@pytest.mark.parametrize("key", KEYS)
def test_a_key_in_memory_toml_is_refused(toml: Callable[[str], None], key: str) -> None:
    """The error names the variable to set instead, and does not show the key."""
    toml(f'{key} = "made-up-key"\n')
    with pytest.raises(ConfigurationError, match=f"MEMORY_{key.upper()}") as raised:
        load_settings()
    assert "made-up-key" not in str(raised.value)


def test_the_store_of_vectors_is_chosen_by_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """By the variables that others use, too. One that is not known is refused with those that are,
    qdrant without an address with what to set; a directory is made absolute."""
    monkeypatch.setenv("VECTOR_BACKEND", "milvus")
    with pytest.raises(ConfigurationError, match=r"VECTOR_BACKEND .*chromadb.*qdrant"):
        load_settings()
    monkeypatch.setenv("VECTOR_BACKEND", "qdrant")
    with pytest.raises(ConfigurationError, match="needs QDRANT_URL"):
        load_settings()
    monkeypatch.setenv("QDRANT_URL", "http://vectors:6333")
    monkeypatch.setenv("QDRANT_API_KEY", "made-up-key")
    settings = load_settings()
    assert (settings.vectors_url, settings.vectors_key) == ("http://vectors:6333", "made-up-key")
    assert "made-up-key" not in repr(settings)
    monkeypatch.chdir(tmp_path)
    assert load_settings(qdrant_url="vectors").vectors_url == str(tmp_path / "vectors")
    assert load_settings(vector_backend="chromadb", chroma_url="x").vectors_url == "x"
