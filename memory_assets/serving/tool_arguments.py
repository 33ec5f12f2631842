"""The MCP tools' arguments: one model a tool, from which its schema is made. Short on
purpose: every client pays for these words in each conversation."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

MAX_IDS = 20


class Arguments(BaseModel):
    """Arguments of a tool; what is not listed is refused."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)


Project = Annotated[str | None, Field(max_length=500)]
Time = Annotated[str | None, Field(description="7d, 12h, 2w ago or ISO date", max_length=40)]


class RecallArguments(Arguments):
    """What `recall` takes."""

    query: str = Field("", max_length=2_000)
    kind: Literal["sessions", "prompts", "summaries", "observations", "all"] = "sessions"
    project: Project = None
    agent: Literal["claude-code", "codex", "pi"] | None = None
    session: str | None = Field(None, max_length=200)
    since: Time = None
    until: Annotated[str | None, Field(max_length=40)] = None
    tool: str | None = Field(None, description="tool called", max_length=200)
    file: str | None = Field(None, description="path touched, or its end", max_length=1_000)
    concept: str | None = Field(None, max_length=200)
    type: Literal["bugfix", "feature", "refactor", "decision", "discovery", "change"] | None = None
    n: int = Field(8, ge=1, le=50)


class TimelineArguments(Arguments):
    """What `timeline` takes."""

    anchor: str = Field(
        description="id, session, commit, file path or time", min_length=1, max_length=1_000
    )
    before: int | str = Field(5, description="count (0-50) or 2h, 3d")
    after: int | str = 5
    kinds: list[Literal["prompts", "turns", "observations", "commits", "summaries"]] | None = Field(
        None, min_length=1
    )
    scope: Literal["project", "session", "all"] | None = None
    project: Project = None
    full: bool = False


class GetArguments(Arguments):
    """What `get` takes."""

    ids: list[Annotated[str, Field(max_length=500)]] = Field(min_length=1, max_length=MAX_IDS)
    page: int = Field(1, ge=1, le=1_000)


class CrossQueryArguments(Arguments):
    """What `cross_query` takes."""

    query: str = Field("", description="question or text", max_length=20_000)
    document: str | None = Field(None, description="id in the collection", max_length=1_000)
    collection: str | None = Field(None, max_length=512)
    where: dict[str, str] | None = Field(None, description="metadata to match")
    project: Project = None
    n: int = Field(5, ge=1, le=20)
    assume_same_embedder: bool = False


class SessionArguments(Arguments):
    """What `summarize_session` takes."""

    session: str = Field(min_length=1, max_length=500)


class LinkArguments(Arguments):
    """What `link_session_to_commit` takes."""

    session: str = Field(min_length=1, max_length=500)
    commit: str = Field(pattern=r"^[0-9a-fA-F]{7,40}$")


class NoArguments(Arguments):
    """For a tool that takes none."""


_SAID_ELSEWHERE = ("title", "maxLength", "minLength", "minItems", "default")


def input_schema(model: type[Arguments]) -> dict[str, Any]:
    """Return a tool's input schema without what its reader does not need."""
    properties = {
        name: _plain(schema)
        for name, schema in model.model_json_schema().get("properties", {}).items()
    }
    required = [name for name, field in model.model_fields.items() if field.is_required()]
    return {
        "type": "object",
        "properties": properties,
        **({"required": required} if required else {}),
        "additionalProperties": False,
    }


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in schema.items() if name not in _SAID_ELSEWHERE}
    choices = [choice for choice in kept.pop("anyOf", []) if choice != {"type": "null"}]
    if len(choices) == 1:
        kept = {**_plain(choices[0]), **kept}
    elif choices:
        kept["type"] = [choice["type"] for choice in choices]
    if "enum" in kept:
        kept.pop("type", None)
    if "items" in kept:
        kept["items"] = _plain(kept["items"])
    default = schema.get("default")
    if default not in (None, "", False):
        kept["default"] = default
    return kept
