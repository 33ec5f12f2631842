"""Every option of the project, read once by the composition roots (`dagster/definitions.py`
and `cli/`), never by domain code.

Values come from, in this order: explicit arguments, `MEMORY_*` environment variables,
`memory.toml` (in a checkout beside the project, else in the user's configuration
directory), the defaults below.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from memory_assets.errors import ConfigurationError
from memory_assets.paths import (
    DATA_DIR,
    KNOWN_AGENTS,
    NO_EMBEDDER,
    SAMPLE_DIR,
    SETTINGS_FILE,
    sample_roots,
    transcript_roots,
)

__all__ = [
    "KNOWN_AGENTS",
    "NO_EMBEDDER",
    "SAMPLE_DIR",
    "Settings",
    "load_settings",
    "sample_roots",
]
PERSONAL_DATA = ("home-directory", "email", "phone", "ipv4")


class Settings(BaseSettings):
    """The project's options; see docs/settings.md for the same list in prose."""

    model_config = SettingsConfigDict(
        env_prefix="MEMORY_",
        env_ignore_empty=True,
        toml_file=SETTINGS_FILE,
        extra="ignore",
        frozen=True,
    )

    data_dir: Path = Field(
        DATA_DIR, description="Where the lake, Chroma, the catalogue and Dagster live."
    )
    projects_dir: Path | None = Field(None, description="Claude Code's projects directory.")
    codex_dir: Path | None = Field(None, description="Codex's home directory.")
    pi_dir: Path | None = Field(None, description="Pi's home directory.")
    agents: Annotated[tuple[str, ...], NoDecode] = Field(
        KNOWN_AGENTS, description="Agents to ingest, comma-separated."
    )
    chroma_url: str | None = Field(
        None, description="A Chroma server to use; unset: a local one that we start ourselves."
    )
    chroma_idle_seconds: float = Field(
        600.0, gt=0, description="The local Chroma server stops after this long without use."
    )
    lock_timeout_seconds: float = Field(
        120.0, gt=0, description="How long a writer waits for another one."
    )
    embedder: str = Field(
        "all-MiniLM-L6-v2", description="Name of the embedding model; `none` for keywords alone."
    )
    summarizer: str = Field("extractive", description="Name of the summarizer.")
    rest_minutes: float = Field(
        5.0,
        ge=0,
        description="How long a long session must rest before its summary is made again.",
    )
    max_file_bytes: int = Field(
        8_192, gt=0, description="Contents of files larger than this are replaced by their size."
    )
    allowlist: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="Globs of paths whose contents may be kept when large, comma-separated."
    )
    scanner_ignored_rules: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="Rules of the independent scanner that are not to count, comma-separated."
    )
    personal_data: Annotated[tuple[str, ...], NoDecode] = Field(
        PERSONAL_DATA[:2],
        description="Kinds of personal data to take out, comma-separated; `none` for none.",
    )
    redaction_engine: Literal["auto", "hyperscan", "re"] = Field(
        "auto", description="What finds the places to look at; the findings are the same."
    )
    recent_days: int = Field(
        90, gt=0, description="What `--recent` takes for recent; older hits are counted."
    )
    http_token: SecretStr | None = Field(
        None, description="Bearer token of `memory serve`; needed for any address but loopback."
    )
    ingest_workers: int | None = Field(
        None, gt=0, description="Processes of `memory ingest`; unset: one a CPU, if worth it."
    )
    retention: int | None = Field(
        None,
        ge=1,
        description="Days after which a session keeps its prompts and summary only; `all`: never.",
    )
    runs_kept: int | None = Field(
        3, ge=1, description="Whole runs kept of each project in Dagster's history, or `all`."
    )
    sensor_projects_per_tick: int = Field(
        200, gt=0, description="Projects that the run of one sensor tick may be for."
    )
    sensor_seconds_per_tick: float = Field(20.0, gt=0, description="Time a sensor tick may take.")
    watch_sweep_seconds: float = Field(
        60.0, gt=0, description="A watcher looks at every file this often, events or not."
    )

    @field_validator("agents", "allowlist", "scanner_ignored_rules", "personal_data", mode="before")
    @classmethod
    def _split_commas(cls, value: Any) -> Any:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    @field_validator("retention", mode="before")
    @classmethod
    def _days(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        if value.strip().lower() == "all":
            return None
        days = value.strip().lower().removesuffix("d")
        if not (days.isascii() and days.isdigit()):
            raise ValueError("say `all`, or a number of days such as 365d")
        return int(days)

    @field_validator("runs_kept", mode="before")
    @classmethod
    def _all_runs(cls, value: Any) -> Any:
        return None if isinstance(value, str) and value.strip().lower() == "all" else value

    @field_validator("agents")
    @classmethod
    def _known_agents(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        unknown = sorted(set(value) - set(KNOWN_AGENTS))
        if unknown:
            raise ValueError(f"unknown agent {unknown[0]!r}; known: {', '.join(KNOWN_AGENTS)}")
        return value

    @field_validator("personal_data")
    @classmethod
    def _known_kinds(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if value == ("none",):
            return ()
        unknown = sorted(set(value) - set(PERSONAL_DATA))
        if unknown:
            known = ", ".join(PERSONAL_DATA)
            raise ValueError(f"unknown kind {unknown[0]!r}; known: {known}, or none alone")
        return value

    @field_validator("data_dir", "projects_dir", "codex_dir", "pi_dir")
    @classmethod
    def _absolute(cls, value: Path | None) -> Path | None:
        return None if value is None else value.expanduser().absolute()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments, then environment, then memory.toml; no .env and no secret files."""
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)

    @property
    def dagster_dir(self) -> Path:
        """`DAGSTER_HOME`: the Dagster instance's configuration and storage."""
        return self.data_dir / "dagster"

    def transcript_roots(self) -> dict[str, Path]:
        """Return the directory to read per agent; see `paths.transcript_roots`."""
        explicit = {"claude-code": self.projects_dir, "codex": self.codex_dir, "pi": self.pi_dir}
        return transcript_roots(explicit, self.agents)


def load_settings(**overrides: Any) -> Settings:
    """Return the settings, with `overrides` on top; None means "not given".

    Raises:
        ConfigurationError: a value is wrong; the message names the setting.
    """
    given = {name: value for name, value in overrides.items() if value is not None}
    try:
        return Settings(**given)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        name = ".".join(str(part) for part in first["loc"]).upper()
        raise ConfigurationError(
            f"setting MEMORY_{name} is wrong: {first['msg']}. Correct it in the environment "
            "or in memory.toml."
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        path = Settings.model_config.get("toml_file")
        raise ConfigurationError(f"{path} cannot be read as TOML: {error}") from None
