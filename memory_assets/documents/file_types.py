"""The type of a file, by its name or, where that is not enough, by its content."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from types import MappingProxyType

_TYPES = {
    "markdown": ("docs", "md markdown mdx mdown"),
    "asciidoc": ("docs", "adoc asciidoc"),
    "adr": ("docs", ""),
    "text": ("docs", ""),
    "openapi": ("api", ""),
    "asyncapi": ("api", ""),
    "java": ("code", "java"),
    "python": ("code", "py pyi"),
    "typescript": ("code", "ts tsx mts cts"),
    "javascript": ("code", "js jsx mjs cjs"),
    "go": ("code", "go"),
    "rust": ("code", "rs"),
    "shell": ("code", "sh bash zsh ksh"),
    "yaml": ("config", "yaml yml"),
    "json": ("config", "json"),
    "toml": ("config", "toml"),
    "dockerfile": ("config", "dockerfile containerfile"),
    "makefile": ("config", "mk mak make"),
    "plantuml": ("diagram", "puml plantuml pu iuml"),
}
"""By type its kind (docs, api, code, config or diagram), and the endings of such files."""
KIND_OF = MappingProxyType({file_type: kind for file_type, (kind, _) in _TYPES.items()})
_BY_SUFFIX = {
    suffix: file_type for file_type, (_, suffixes) in _TYPES.items() for suffix in suffixes.split()
}
_BY_NAME = re.compile(
    r"(?P<dockerfile>(?:dockerfile|containerfile)(?:\..+)?)|(?P<makefile>(?:gnu)?makefile)|"
    r"(?P<shell>\.(?:bash|zsh)rc|\.(?:bash_)?profile)",
    re.IGNORECASE,
)
_SHEBANG = re.compile(r"#!.*?\b(?:(?P<shell>(?:ba|z|k|da)?sh)|(?P<python>python)|(?P<node>node))")
_VERSION_KEY = re.compile(
    r"""^(?P<quote>["']?)(?P<key>openapi|swagger|asyncapi)(?P=quote)[ \t]*:[ \t]*["']?\d""",
    re.MULTILINE,
)
_JSON_VERSION_KEY = re.compile(r'"(?P<key>openapi|swagger|asyncapi)"\s*:\s*"?\d')
_JSON_STRING_OR_BRACE = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]')
_ADR_FOLDERS = {"adr", "adrs", "decisions"}
_ADR_INDEXES = {"readme", "index", "template"}
_ADR_HEADING = re.compile(
    r"^(?:#{2,3}[ \t]+(?P<atx>.+?)[ \t]*#*|(?P<setext>\S.*)\r?\n-+)[ \t]*\r?$", re.MULTILINE
)
_ADR_TITLES = (
    ("context",),
    ("decision outcome", "decision", "outcome"),
    (
        "considered options",
        "options considered",
        "alternatives considered",
        "decision drivers",
        "pros and cons of the options",
        "consequences",
        "positive consequences",
    ),
)


def file_type(path: str, text: str) -> str:
    """Return markdown, asciidoc, adr, openapi, asyncapi, yaml, json, toml, java, python,
    typescript, javascript, go, rust, plantuml, dockerfile, makefile, shell, or text for anything
    else."""
    pure = PurePosixPath(path.replace("\\", "/"))
    hit = _BY_NAME.fullmatch(pure.name)
    by_name = hit.lastgroup if hit else _BY_SUFFIX.get(pure.suffix[1:].lower())
    if by_name in ("yaml", "json"):
        return _interface(text) or by_name
    if by_name == "markdown" and _is_adr(pure, text):
        return "adr"
    if by_name is None and (shebang := _SHEBANG.match(text.removeprefix("\ufeff"))):
        return {"node": "javascript"}.get(shebang.lastgroup or "", shebang.lastgroup or "text")
    return by_name or "text"


def _interface(text: str) -> str | None:
    """Return openapi or asyncapi if the version key of one stands at the top level, wherever
    in the text."""
    if text.lstrip("\ufeff \t\r\n")[:1] != "{":
        match = _VERSION_KEY.search(text.removeprefix("\ufeff"))
    elif match := _JSON_VERSION_KEY.search(text):
        match = _at_top_level(text)
    if match is None:
        return None
    return "asyncapi" if match["key"] == "asyncapi" else "openapi"


def _at_top_level(text: str) -> re.Match[str] | None:
    depth = 0
    for token in _JSON_STRING_OR_BRACE.finditer(text):
        if token[0][0] != '"':
            depth += 1 if token[0] in "{[" else -1
        elif depth == 1 and (match := _JSON_VERSION_KEY.match(text, token.start())):
            return match
    return None


def _is_adr(path: PurePosixPath, text: str) -> bool:
    """Return True for a record of a decision, by its folder or by its headings."""
    if path.stem.lower() not in _ADR_INDEXES and _ADR_FOLDERS & {
        part.lower() for part in path.parts[:-1]
    }:
        return True
    titles = {
        (match["atx"] or match["setext"]).strip().lower() for match in _ADR_HEADING.finditer(text)
    }
    return all(
        any(
            title in titles or (title == "context" and "context and problem statement" in titles)
            for title in choices
        )
        for choices in _ADR_TITLES
    )
