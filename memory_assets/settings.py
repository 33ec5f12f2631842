"""Every option of the project, read once by the composition roots (`dagster/definitions.py`
and `cli/`), never by domain code.

Values come from, in this order: explicit arguments, `MEMORY_*` environment variables,
`memory.toml` (in a checkout beside the project, else in the user's configuration
directory), the defaults below. They are declared and checked as the arguments of a request are:
pydantic takes .14 s of CPU to import, a cold search by words .3 s.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from memory_assets import paths
from memory_assets.agent_memory.policy import MEMORY_TYPES
from memory_assets.errors import ConfigurationError
from memory_assets.paths import DATA_DIR, KNOWN_AGENTS, Roots, listed_paths, transcript_roots
from memory_assets.requests.arguments import Arguments, argument, chosen, declared
from memory_assets.search_kinds import HISTORY_COLLECTIONS, MEMORY_COLLECTIONS

PERSONAL_DATA = ("home-directory", "email", "phone", "ipv4")
_PREFIX = "MEMORY_"
_TENANTS = "tenants"
ALIASES = (
    "HISTORY_TAIL_N",
    "CONTEXT_TOKEN_BUDGET",
    "VECTOR_BACKEND",
    "QDRANT_URL",
    "QDRANT_API_KEY",
    "SUMMARIZER",
    "MCP_ENDPOINT",
    "MCP_PREFIX",
)
"""Variables that are read without the prefix, too; with it they take precedence."""
KEYS = ("embedder_key", "qdrant_api_key", "summarizer_key")
"""Settings that are read from the environment only."""


def _absolute(value: str | Path) -> Path:
    if not isinstance(value, str | Path):
        raise ConfigurationError("give a path")
    return Path(value).expanduser().absolute()


def _shard(value: str | Path) -> str:
    scheme, remote, place = str(value).partition("://")
    return f"{scheme}://{place.rstrip('/')}" if remote else str(_absolute(value))


def _directories(value: str | Path | Iterable[str | Path]) -> tuple[Path, ...]:
    """Return the directories of a list, or of a text as in PATH."""
    if isinstance(value, str):
        value = listed_paths(value)
    given = [value] if isinstance(value, Path) or not isinstance(value, Iterable) else list(value)
    if not given:
        raise ConfigurationError("give one or more directories")
    return tuple(map(_absolute, given))


def _url(value: str) -> str:
    """Return the address of a server, which errors and `memory status` print."""
    if not isinstance(value, str):
        raise ConfigurationError("give a URL")
    if "@" in value.partition("://")[2].partition("/")[0]:
        raise ConfigurationError("leave out user and password: they are not sent; set the token")
    return value


def _url_or_directory(value: str) -> str:
    if not isinstance(value, str):
        raise ConfigurationError("give a URL, or a directory")
    return _url(value) if "://" in value else str(_absolute(value))


def _listed(value: str | Iterable[str]) -> tuple[str, ...]:
    """Return the parts of a comma-separated text, or of a list."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    if not isinstance(value, Iterable):
        raise ConfigurationError("give a list, or a text with commas")
    return tuple(map(str, value))


def _agents(value: str | Iterable[str]) -> tuple[str, ...]:
    """Return agents that are listed, or all but those that are listed with a dash before them."""
    given = _listed(value)
    without = _known(tuple(name[1:] for name in given if name[:1] == "-"), KNOWN_AGENTS, "agent")
    wanted = _known(tuple(name for name in given if name[:1] != "-"), KNOWN_AGENTS, "agent")
    all_of = wanted or (KNOWN_AGENTS if without else ())
    return tuple(name for name in all_of if name not in without)


def _roots(value: str | Iterable[str]) -> tuple[str, ...]:
    """Return the parts of a list of `agent=directory`, the agents spelled as we spell them."""
    pairs = [pair.partition("=") for pair in _pairs(value)]
    return tuple(
        f"{_known((name,), KNOWN_AGENTS, 'agent')[0]}={_absolute(path)}" for name, _, path in pairs
    )


def _personal_data(value: str | Iterable[str]) -> tuple[str, ...]:
    kinds = _listed(value)
    return () if kinds == ("none",) else _known(kinds, PERSONAL_DATA, "kind")


def _known(given: tuple[str, ...], known: tuple[str, ...], what: str) -> tuple[str, ...]:
    matches = {spelling: chosen(spelling, known) for spelling in given}
    unknown = sorted(spelling for spelling, name in matches.items() if name is None)
    if unknown:
        raise ConfigurationError(f"unknown {what} {unknown[0]!r}; known: {', '.join(known)}")
    return tuple(filter(None, matches.values()))


def _each(form: str, remedy: str) -> Callable[[str | Iterable[str]], tuple[str, ...]]:
    """Return a function that returns the parts of a list, all of one form, and else refuses it."""

    def parts(value: str | Iterable[str]) -> tuple[str, ...]:
        given = _listed(value)
        if not all(re.fullmatch(form, part, re.DOTALL) for part in given):
            raise ConfigurationError(remedy)
        return given

    return parts


_pairs = _each(r"[^=]+=.+", "give name=value, several with commas between them")
_prices = _each(
    r"[^\s=,]+=\d+(?:\.\d+)?(?:/\d+(?:\.\d+)?){2,3}",
    "say each price as model=input/output/cache read, in dollars",
)
# What Dagster takes as a tag and as an owner.
_tags = _each(
    r"(?:[\w.-]{1,63}/)?[\w.-]{1,63}=[\w.-]{0,63}",
    "say each tag as key=value, of letters, digits, `_`, `-` and `.`",
)
_owners = _each(
    r"team:[\w]+|[\w.%+-]+@[\w-]+(?:\.[\w-]+)+",
    "say each owner as an e-mail address or as team:<name>",
)


def _routes(value: str | Iterable[str]) -> tuple[str, ...]:
    """Return the parts of a list of `type=collection`, of memories and of `history`, spelled as we
    spell them."""
    routes = dict[str, str]()
    for name, _, collection in (pair.partition("=") for pair in _pairs(value)):
        (of_type,) = _known((name,), (*MEMORY_TYPES, "history"), "type")
        if of_type in routes:
            raise ConfigurationError(f"type {of_type!r} is given twice; give each type once")
        known = HISTORY_COLLECTIONS if of_type == "history" else MEMORY_COLLECTIONS
        (routes[of_type],) = _known((collection,), known, "collection")
    return tuple(map("=".join, routes.items()))


def _count_or_all(value: str | int) -> int | None:
    """Return a count, of days (`365d`) or runs; None for `all`."""
    text = str(value).strip().lower()
    if text == "all":
        return None
    count = text.removesuffix("d")
    if not (count.isascii() and count.isdigit() and int(count)):
        raise ConfigurationError("say `all`, or a number such as 365, for days 365d too")
    return int(count)


@dataclass(frozen=True)
class Settings(Arguments):
    """The project's options; see docs/settings.md for the same list in prose."""

    data_dir: Path = argument(
        DATA_DIR, "Where the lake, Chroma, the catalogue and Dagster live.", reads=_absolute
    )
    tenant: str | None = argument(
        None,
        "Whose memory it is; each tenant has one of its own, of which the others see nothing.",
        pattern=r"^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$",
    )
    shard: str | None = argument(
        None,
        "Where this memory, and others of the same person, are pushed to: `s3://bucket/prefix`, or "
        "a directory.",
        reads=_shard,
    )
    shard_name: str | None = argument(
        None,
        "The name of this machine's own shard there; unset: that of the machine.",
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$",
    )
    derive_from: str | None = argument(
        None,
        "Of workers: where the shards of all people are, from which others are derived.",
        reads=_shard,
    )
    derive_to: str | None = argument(
        None, "Of workers: where derived shards are written.", reads=_shard
    )
    derive_on: Literal["processes", "ray"] = argument(
        "processes", "What runs the workers of a batch: processes of this machine, or Ray."
    )
    delta: str | None = argument(
        None,
        "Where the redacted tables are published as Delta tables, for analysts: "
        "`s3://bucket/prefix`, or a directory; unset: nowhere.",
        reads=_shard,
    )
    projects_dir: tuple[Path, ...] | None = argument(
        None, "Claude Code's projects directories.", reads=_directories
    )
    codex_dir: tuple[Path, ...] | None = argument(
        None, "Codex's home directories.", reads=_directories
    )
    pi_dir: tuple[Path, ...] | None = argument(None, "Pi's home directories.", reads=_directories)
    roots: tuple[str, ...] = argument(
        (), "Directories of other agents: `gemini=/moved/.gemini`, comma-separated.", reads=_roots
    )
    agents: tuple[str, ...] = argument(
        KNOWN_AGENTS,
        "Agents to ingest, comma-separated; with a dash before it (`-gemini`), all but this.",
        reads=_agents,
    )
    exclude: tuple[str, ...] = argument(
        (),
        "Globs of directories, projects and agents that are never read, comma-separated.",
        reads=_listed,
    )
    chroma_url: str | None = argument(
        None, "A Chroma server to use; unset: a local one that we start ourselves.", reads=_url
    )
    chroma_token: str | None = argument(
        None, "What the server at `chroma_url` demands as a bearer token.", secret=True
    )
    chroma_idle_seconds: float = argument(
        600.0, "The local Chroma server stops after this long without use.", gt=0
    )
    vector_backend: Literal["chromadb", "qdrant", "none"] = argument(
        "chromadb",
        "What holds the collections; `qdrant` is at `qdrant_url`; `none`: there are none, and "
        "searches compare the vectors of the keyword index.",
    )
    qdrant_url: str | None = argument(
        None, "A qdrant server, or a directory for one process.", reads=_url_or_directory
    )
    qdrant_api_key: str | None = argument(
        None, "What that server demands as a key; from the environment only.", secret=True
    )
    lock_timeout_seconds: float = argument(120.0, "How long a writer waits for another.", gt=0)
    embedder: str = argument(
        "all-MiniLM-L6-v2",
        "Name of the embedding model; `none` for keywords alone; `openai:MODEL@URL` for a model "
        "at an OpenAI-compatible endpoint.",
    )
    embedder_key: str | None = argument(
        None,
        "What that endpoint demands as a bearer token; from the environment only.",
        secret=True,
    )
    embedder_parallel: int = argument(
        4, "Requests to that endpoint that an ingest has under way at once.", ge=1, le=64
    )
    embedder_per_minute: int | None = argument(
        None,
        "Requests to it that an ingest begins in a minute, at most; `all`: no limit.",
        reads=_count_or_all,
    )
    summarizer: str = argument(
        "extractive", "`extractive`, or `openai:MODEL@URL` for a model at an endpoint."
    )
    summarizer_key: str | None = argument(
        None,
        "What that endpoint demands as a bearer token; from the environment only.",
        secret=True,
    )
    summarizer_daily_tokens: int = argument(
        200_000, "Tokens of a day (UTC) that summaries may take.", ge=0
    )
    rest_minutes: float = argument(
        5.0, "How long a long session must rest before its summary is made again.", ge=0
    )
    max_file_bytes: int = argument(
        8_192, "Contents of files larger than this are replaced by their size.", gt=0
    )
    allowlist: tuple[str, ...] = argument(
        (),
        "Globs of paths whose contents may be kept when large, comma-separated.",
        reads=_listed,
        max_length=100_000,
    )
    scanner_ignored_rules: tuple[str, ...] = argument(
        (),
        "Rules of the independent scanner that are not to count, comma-separated.",
        reads=_listed,
        max_length=100_000,
    )
    personal_data: tuple[str, ...] = argument(
        PERSONAL_DATA[:2],
        "Kinds of personal data to take out, comma-separated; `none` for none.",
        reads=_personal_data,
    )
    redaction_engine: Literal["auto", "hyperscan", "re"] = argument(
        "auto", "What finds the places to look at; the findings are the same."
    )
    workspaces: tuple[str, ...] = argument(
        (),
        "Directories whose documents and code are indexed, comma-separated.",
        reads=_listed,
        max_length=100_000,
    )
    workspace_services: tuple[str, ...] = argument(
        (),
        "Services of paths without a part `svc-*`: `services/pay/*=payments`, comma-separated.",
        reads=_pairs,
        max_length=100_000,
    )
    workspace_domains: tuple[str, ...] = argument(
        (),
        "Domains of services: `svc-orders=sales`, comma-separated.",
        reads=_pairs,
        max_length=100_000,
    )
    record_seconds: float = argument(
        10.0, "CPU seconds after which a record that is being redacted is withheld whole.", gt=0
    )
    recent_days: int = argument(
        90, "What `--recent` takes for recent; older hits are counted.", gt=0
    )
    http_token: str | None = argument(
        None, "Bearer token of `memory serve`; needed for any address but loopback.", secret=True
    )
    dagster_url: str = argument(
        "http://127.0.0.1:3000",
        "Address of Dagster's web UI, to which the pages lead.",
        pattern=r"^https?://[^\s\"'<>]+$",
    )
    model_prices: tuple[str, ...] = argument(
        (),
        "Dollars for a million tokens that the list lacks or has wrong: "
        "`model=input/output/cache read[/cache write]`, comma-separated.",
        reads=_prices,
        max_length=100_000,
    )
    ingest_workers: int | None = argument(
        None, "Processes that work for an ingest or index; unset: one a CPU, if worth it.", gt=0
    )
    retention: int | None = argument(
        None,
        "Days after which a session keeps its prompts and summary only; `all`: never.",
        reads=_count_or_all,
    )
    runs_kept: int | None = argument(
        3, "Whole runs kept of each project in Dagster's history, or `all`.", reads=_count_or_all
    )
    asset_owners: tuple[str, ...] = argument(
        ("team:memory",),
        "Owners of the assets in Dagster: addresses or `team:<name>`.",
        reads=_owners,
    )
    asset_tags: tuple[str, ...] = argument(
        (), "Tags of the assets in Dagster, as in `domain=agents,tier=2`.", reads=_tags
    )
    sensor_projects_per_tick: int = argument(
        200, "Projects that the run of one sensor tick may be for.", gt=0
    )
    sensor_seconds_per_tick: float = argument(20.0, "Time a sensor tick may take.", gt=0)
    watch_sweep_seconds: float = argument(
        60.0, "A watcher looks at every file this often, events or not.", gt=0
    )
    confidence_min: float = argument(
        0.7, "Confidence from which a memory of an agent is stored.", ge=0, le=1
    )
    max_per_window: int = argument(3, "Most new memories in a window.", ge=1, le=1_000)
    window_turns: int = argument(
        16, "Turns of a conversation that are a window.", ge=1, le=1_000_000
    )
    window_minutes: float = argument(
        60.0, "Minutes that are a window where there is no conversation.", gt=0
    )
    half_life: int | None = argument(
        180,
        "Days in which a memory that is not said again loses half its worth; `all`: none.",
        reads=_count_or_all,
    )
    routes: tuple[str, ...] = argument(
        (),
        "The collection of each type of memory, as in fact=mem_semantic, else `memory`; of turns "
        "history=history_messages, else `history`.",
        reads=_routes,
    )
    promote: Literal["on", "off"] = argument(
        "off", "Whether what users ask to be remembered, and what sessions show, becomes a memory."
    )
    top_k: int = argument(8, "Most memories in a context.", ge=0, le=200)
    context_near: float = argument(
        0.25, "Least cosine of a memory with the message of a context.", ge=-1, le=1
    )
    history_tail_n: int = argument(16, "Most turns in a context.", ge=0, le=10_000)
    context_token_budget: int = argument(
        2_000, "Most word pieces of a context.", ge=200, le=1_000_000
    )
    mcp_endpoint: str | None = argument(
        None,
        "chroma-mcp over HTTP, where agent-app keeps history and memory; unset: our journal.",
        pattern=r"^https?://[^\s\"'<>]+$",
    )
    mcp_prefix: str = argument(
        "",
        "What the names of the collections `history` and `memory` there begin with.",
        pattern=r"^(?:[A-Za-z0-9][A-Za-z0-9._-]{0,60})?$",
    )
    context: Literal["on", "off"] = argument(
        "on", "Whether `memory context` prints anything; `off` for none."
    )

    @property
    def dagster_dir(self) -> Path:
        """`DAGSTER_HOME`: the Dagster instance's configuration and storage."""
        return self.data_dir / "dagster"

    @property
    def no_collections(self) -> str:
        """Why there are no collections that vectors are copied into; empty if there are."""
        if self.embedder == paths.NO_EMBEDDER:
            return paths.NO_VECTORS
        return paths.NO_COLLECTIONS if self.vector_backend == "none" else ""

    @property
    def keeps_collections(self) -> bool:
        """Whether vectors are made, and copied into collections."""
        return not self.no_collections

    @property
    def vectors_url(self) -> str | None:
        """Where the collections are; None for our own Chroma, and where none are kept."""
        urls = {"chromadb": self.chroma_url, "qdrant": self.qdrant_url}
        return urls.get(self.vector_backend)

    @property
    def vectors_key(self) -> str | None:
        """The token or key of the server at `vectors_url`; None without one."""
        return self.chroma_token if self.vector_backend == "chromadb" else self.qdrant_api_key

    def transcript_roots(self) -> Roots:
        """Return the directories to read per agent; see `paths.transcript_roots`."""
        explicit = {"claude-code": self.projects_dir, "codex": self.codex_dir, "pi": self.pi_dir}
        more = dict[str, list[Path]]()
        for root in self.roots:
            agent, _, path = root.partition("=")
            more.setdefault(agent, []).append(Path(path))
        return transcript_roots(explicit, self.agents, more)


def load_settings(**overrides: Any) -> Settings:
    """Return the settings, with `overrides` on top; None means "not given".

    Raises:
        ConfigurationError: a value is wrong; the message names the setting.
    """
    environment = {name.lower(): value for name in ALIASES if (value := os.environ.get(name))} | {
        name.upper().removeprefix(_PREFIX).lower(): value
        for name, value in os.environ.items()
        if name.upper().startswith(_PREFIX) and value
    }
    given = {name: value for name, value in overrides.items() if value is not None}
    of_file = _from_file(paths.SETTINGS_FILE)
    for key in KEYS:
        if key in of_file:
            name = f"{_PREFIX}{key.upper()}"
            raise ConfigurationError(
                f"{paths.SETTINGS_FILE} holds a key; give {key} as {name} instead"
            )
    values = {**of_file, **environment, **given}
    checked = {}
    for setting in declared(Settings):
        if setting.name in values:
            try:
                checked[setting.name] = setting.checked(values[setting.name])
            except ConfigurationError as error:
                reason = str(error).removeprefix(f"{setting.name}: ")
                plain = setting.name.upper()
                alias = plain in ALIASES and f"{_PREFIX}{plain}" not in os.environ
                raise ConfigurationError(
                    f"setting {'' if alias else _PREFIX}{plain} is wrong: {reason}. Correct it in "
                    "the environment or in memory.toml."
                ) from None
    if checked.get("vector_backend") == "qdrant" and not checked.get("qdrant_url"):
        raise ConfigurationError(
            "VECTOR_BACKEND=qdrant needs QDRANT_URL: the server's address, such as "
            "http://localhost:6333, or a directory for one process"
        )
    settings = Settings(**checked)
    return replace(settings, data_dir=_of_tenant(settings.data_dir, settings.tenant))


def _of_tenant(data_dir: Path, tenant: str | None) -> Path:
    """Return the data directory of a tenant; a process that was started for one is given it."""
    inner = Path(_TENANTS, tenant or "")
    return data_dir if tenant is None or data_dir.parts[-2:] == inner.parts else data_dir / inner


def _from_file(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    import tomllib

    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise ConfigurationError(f"{path} cannot be read as TOML: {error}") from None
