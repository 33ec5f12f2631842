"""Plain `memory ingest`, `status`, `search`, `context` and `mcp`, which skip `cli.py`: its imports
take .17 s of CPU."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import chain

from memory_assets.cli.exit_codes import run_reporting_errors
from memory_assets.cli.mcp_command import serve_stdio
from memory_assets.cli.prepare import prepare
from memory_assets.cli.search_command import run_search
from memory_assets.errors import MemoryAssetsError
from memory_assets.private_files import create_private_files, keep_temporary_files
from memory_assets.requests.arguments import Arguments, declared
from memory_assets.requests.search import SearchRequest
from memory_assets.settings import Settings, load_settings

_Command = Callable[[Settings], object]


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
    """Return the values of a request by option, words without a dash as the query, or None if typer
    has to parse them: `--help`, a mistake, a short option with its value attached."""
    options = {name: each for each in declared(request) if (name := each.name_at("cli"))}
    booleans = {name: each.default is True for name, each in options.items() if each.type is bool}
    flags = {("--no-" + name[2:] if on else name): (name, not on) for name, on in booleans.items()}
    flags["--json"] = ("--json", True)
    values: dict[str, str | bool] = {}
    queries = []
    left = list(given)
    while left:
        word = left.pop(0)
        name, equals, value = word.partition("=")
        if word in flags:
            name, values[name] = flags[word]
        elif not word.startswith("-"):
            queries.append(word)
        elif word in options.keys() - booleans and left:
            values[word] = left.pop(0)
        elif equals and name.startswith("--") and name in options.keys() - booleans:
            values[name] = value
        else:
            return None
    return {**values, "query": " ".join(queries)}


def search_plainly(values: Mapping[str, str | bool]) -> int:
    """Search with the values of plain arguments, and return the exit code."""
    asked = {name: value for name, value in values.items() if name != "--json"}
    return run_search(SearchRequest.given("cli", asked), as_json="--json" in values)


def _plain_command(name: str, given: Sequence[str]) -> _Command | None:
    """Return a command with plain arguments, or None if `cli.py` has to parse them."""
    if name == "search":
        asked = plain_arguments(given)
        return None if asked is None else lambda settings: sys.exit(search_plainly(asked))
    if name == "ingest" and set(given) <= {"--once", "--json"}:
        return lambda settings: sys.exit(ingest_plainly(settings, as_json="--json" in given))
    if name == "status" and set(given) <= {"--json"}:
        from memory_assets.cli.status_command import show_status

        return lambda settings: show_status(settings, as_json=bool(given))
    if name == "mcp" and set(given) <= {"--write"}:
        return lambda settings: serve_stdio(settings, write=bool(given))
    return None


def plain_context(given: Sequence[str]) -> Callable[[], object] | None:
    """Return what prints a context, or None if typer has to parse its arguments. It prepares by
    itself: a session that begins may not fail for that."""
    from memory_assets.cli.context_answer import print_context
    from memory_assets.requests.agent_memory import ContextRequest

    values = plain_arguments(given, ContextRequest)
    if values is None or values.pop("query"):
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
