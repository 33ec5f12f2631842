"""JSON schemas of declared arguments, by pydantic: short ones for the tools of MCP, because every
client pays for each word in each conversation, and full ones for OpenAPI."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field, create_model

from memory_assets.requests.arguments import Argument, Arguments, Door, declared

_NO_NUL = r"^[^\x00]*$"
_SAID_ELSEWHERE = ("title", "maxLength", "minLength", "minItems", "maxItems", "default")


def tool_schema(request: type[Arguments], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return the input schema of a tool, with the tool's own defaults in place of the declared
    ones."""
    whole = _schema(request, "mcp", defaults)
    properties = {name: _short(schema) for name, schema in whole["properties"].items()}
    required = {"required": whole["required"]} if "required" in whole else {}
    return {
        "type": "object", "properties": properties, **required, "additionalProperties": False,
    }  # fmt: skip


def query_parameters(request: type[Arguments]) -> list[dict[str, Any]]:
    """Return OpenAPI's parameters of a request: the one named `id` in the path, the others in the
    query; lists are separated by commas."""
    whole = _schema(request, "http", {})
    return [
        {
            "name": name,
            "in": "path" if name == "id" else "query",
            "required": name in whole.get("required", ()),
            "description": schema.pop("description", ""),
            **({"style": "form", "explode": False} if schema.get("type") == "array" else {}),
            "schema": schema,
        }
        for name, given in whole["properties"].items()
        for schema in [_without_null(given)]
    ]


def _schema(request: type[Arguments], door: Door, defaults: Mapping[str, Any]) -> dict[str, Any]:
    given: dict[str, Any] = {
        name: _field(argument, door, defaults.get(argument.name, argument.default))
        for argument in declared(request)
        if (name := argument.name_at(door)) is not None
    }
    schema = create_model(request.__name__, **given).model_json_schema()
    return {"properties": {}, **schema}


def _field(argument: Argument, door: Door, default: Any) -> tuple[Any, Any]:
    kind, limits = argument.type, dict(argument.limits)
    if argument.flag is not None and door != "http":
        kind, default, limits = bool, False, {}
    elif argument.reads is not None and door == "mcp":
        limits = {}
    elif kind in (str, str | None) and "pattern" not in limits:
        limits["pattern"] = _NO_NUL
    if kind == int | str and door == "http":
        kind, default = str, str(default)
    if isinstance(default, tuple):
        default = default[0]
    if argument.required:
        default = ...
    elif default is None:
        kind = kind | None
    description = argument.description if door == "http" else argument.hint
    return kind, Field(default, description=description or None, **limits)


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a type without null, because an absent argument is left out."""
    kept = {name: value for name, value in schema.items() if name not in ("title", "anyOf")}
    for choice in schema.get("anyOf", ()):
        if choice != {"type": "null"}:
            kept = {**choice, **kept}
    if kept.get("default", "") is None:
        del kept["default"]
    return kept


def _short(schema: dict[str, Any]) -> dict[str, Any]:
    choices = [choice for choice in schema.get("anyOf", ()) if choice != {"type": "null"}]
    kept = {**_without_null(schema)} if len(choices) < 2 else dict(schema)
    if len(choices) > 1:
        kept["type"] = [choice["type"] for choice in choices]
    default = kept.get("default")
    for name in (*_SAID_ELSEWHERE, "anyOf"):
        kept.pop(name, None)
    if kept.get("pattern") == _NO_NUL:
        del kept["pattern"]
    if "enum" in kept:
        kept.pop("type", None)
    if "items" in kept:
        kept["items"] = _short(kept["items"])
    return {**kept, "default": default} if default not in (None, "", False, True) else kept
