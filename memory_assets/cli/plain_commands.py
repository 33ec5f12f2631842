"""Plain `memory ingest`, `status`, `search`, `context`, `mcp` and what asks, which skip `cli.py`:
its imports and typer take .2 s of CPU."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from itertools import chain
from typing import Any

from memory_assets.cli.exit_codes import run_reporting_errors
from memory_assets.cli.mcp_command import serve_stdio
from memory_assets.cli.prepare import prepare
from memory_assets.cli.search_command import run_search
from memory_assets.errors import MemoryAssetsError
from memory_assets.private_files import create_private_files, keep_temporary_files
from memory_assets.requests.arguments import OF_WORDS, Arguments, declared
from memory_assets.requests.search import SearchRequest
from memory_assets.settings import Settings, load_settings

_Command = Callable[[Settings], object]
_ASKING = {
    "ask_commands": ("show", "sessions", "usage", "timeline", "summarize", "blame", "audit"),
    "action_commands": ("how", "friction"),
}
"""Commands that take a request, by their module."""


def run() -> None:
    """Run the command line; an interrupt ends it with a line."""
    create_private_files()
    with suppress(MemoryAssetsError):  # a wrong setting is told by what needs it
        keep_temporary_files(load_settings().data_dir)
    name, given = "".join(sys.argv[1:2]), sys.argv[2:]
    if name == "context" and (print_it := plain_context(given)):
        run_reporting_errors(print_it)
        return
    command = _plain_command(name, given)
    if command is None:
        from memory_assets.cli.cli import main as run_any

        run_any()
        return
    plain = command

    def answer() -> None:
        settings = load_settings()
        prepare(settings)
        plain(settings)

    run_reporting_errors(answer)


def plain_arguments(
    given: Sequence[str], request: type[Arguments] = SearchRequest
) -> dict[str, str | bool] | None:
    """Return the values of a request by option, words without a dash as its positional argument, or
    None if typer has to parse them: `--help`, a mistake, a short option with its value attached, an
    option that is given twice or lists several values."""
    options = {name: spec for spec in declared(request) if (name := spec.name_at("cli"))}
    booleans = {name: spec.default is True for name, spec in options.items() if spec.type is bool}
    flags = {("--no-" + name[2:] if on else name): (name, not on) for name, on in booleans.items()}
    flags["--json"] = ("--json", True)
    positional = [name for name in options if not name.startswith("-")]
    values: dict[str, str | bool] = {}
    words = []
    left = list(given)
    while left:
        word = left.pop(0)
        name, equals, value = word.partition("=")
        if word in flags:
            name, values[name] = flags[word]
        elif not word.startswith("-"):
            words.append(word)
        elif word in options.keys() - booleans - values.keys() and left:
            values[word] = left.pop(0)
        elif equals and name.startswith("--") and name in options.keys() - booleans - values.keys():
            values[name] = value
        else:
            return None
    lists = {name for name, spec in options.items() if spec.repeatable and name in values}
    if any("," in str(values[name]) for name in lists):
        return None
    if not positional:
        return None if words else values
    name = positional[0]
    least = int(options[name].required)
    most = len(words) if name in OF_WORDS else 1
    fits = len(positional) == 1 and least <= len(words) <= most
    named = {name: " ".join(words)} if words or name in OF_WORDS else {}
    return {**values, **named} if fits else None


def _plain_command(name: str, given: Sequence[str]) -> _Command | None:
    """Return a command with plain arguments, or None if `cli.py` has to parse them."""
    if name == "search":
        return _with_request(_search, SearchRequest, given)
    if name == "ingest" and set(given) <= {"--once", "--json"}:
        return lambda settings: sys.exit(ingest_plainly(settings, as_json="--json" in given))
    if name == "status" and set(given) <= {"--json"}:
        from memory_assets.cli.status_command import show_status

        return lambda settings: show_status(settings, as_json=bool(given))
    if name == "mcp" and set(given) <= {"--write"}:
        return lambda settings: serve_stdio(settings, write=bool(given))
    module = next((module for module, names in _ASKING.items() if name in names), None)
    if module is not None:
        gc.disable()  # what is imported stays; `answered` enables it
        command = getattr(import_module(f"memory_assets.cli.{module}"), name)
        return _with_request(command, command.request, given)
    return None


def _with_request(
    command: Callable[[Any, bool], object], request: type[Arguments], given: Sequence[str]
) -> _Command | None:
    values = plain_arguments(given, request)
    if values is None:
        return None
    as_json = bool(values.pop("--json", False))
    return lambda settings: command(request.given("cli", values), as_json)


def _search(asked: SearchRequest, as_json: bool) -> None:
    sys.exit(run_search(asked, as_json=as_json))


def plain_context(given: Sequence[str]) -> Callable[[], object] | None:
    """Return what prints a context, or None if typer has to parse its arguments. It prepares by
    itself: a session that begins may not fail for that."""
    from memory_assets.cli.context_answer import print_context
    from memory_assets.requests.agent_memory import ContextRequest

    values = plain_arguments(given, ContextRequest)
    if values is None:
        return None
    as_json = bool(values.pop("--json", False))

    def answer() -> None:
        gc.disable()  # what is imported stays
        try:
            asked = ContextRequest.given("cli", values)
            print_context(asked, as_json=as_json, prepare=prepare)
        finally:
            gc.enable()

    return answer


def ingest_plainly(settings: Settings, *, as_json: bool) -> int:
    """Ingest all that is new or changed, report, and return the exit code. In a first ingest, the
    independent scanner, which is what takes longest to start, is compiled during the imports."""
    roots = chain.from_iterable(settings.transcript_roots().values())
    transcripts = (root.rglob("*.jsonl*") for root in roots)
    if not (settings.data_dir / "catalog.db").exists() and any(map(any, transcripts)):
        from memory_assets.pipeline.checks.kingfisher import compile_kingfisher

        compile_kingfisher()
    gc.disable()  # modules and the plan's rows stay; `ingest_once` enables it before the work
    from memory_assets.cli.ingesting.ingest_command import ingest_once

    gc.freeze()
    return ingest_once(settings, limit=None, projects=[], full=False, as_json=as_json)
