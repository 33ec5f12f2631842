"""The entry point of the console script. Plain `memory ingest`, `status`, `search`, `context` and
`mcp` skip `cli.py`, whose imports take .17 s of CPU."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from shutil import get_terminal_size

from memory_assets.cli import exit_codes, rendering
from memory_assets.cli.exit_codes import run_reporting_errors
from memory_assets.private_files import create_private_files, take_from_others
from memory_assets.requests.arguments import Arguments, declared
from memory_assets.requests.search import SearchRequest
from memory_assets.settings import Settings, load_settings

_Command = Callable[[Settings], object]


def main() -> None:
    """Run the command line."""
    create_private_files()
    name, given = "".join(sys.argv[1:2]), sys.argv[2:]
    if name == "context" and (print_it := plain_context(given)):
        run_reporting_errors(print_it)
        return
    command = _plain_command(name, given)
    if command is None:
        from memory_assets.cli.cli import main as run

        run()
        return
    plain = command

    def answer() -> None:
        settings = load_settings()
        prepare(settings)
        plain(settings)

    run_reporting_errors(answer)


def prepare(settings: Settings) -> None:
    """Do what comes before each command: notices on, file modes corrected, a forgetting that was
    interrupted completed."""
    rendering.show_notices()
    take_from_others(settings.data_dir)
    path = settings.data_dir / "forgotten.db"
    if path.exists():
        from memory_assets.stores.tombstones import unfinished

        if unfinished(path):
            from memory_assets.cli.removal_commands import complete_forgetting

            complete_forgetting(settings)


def serve_stdio(settings: Settings, *, write: bool = False) -> None:
    """Serve MCP on standard input and output until the client disconnects; with `write`, agents
    may write memory."""
    with _models_built_when_used():
        from memory_assets.serving import mcp_server
    mcp_server.run_stdio(settings, write=write)


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


def run_search(asked: SearchRequest, *, as_json: bool) -> int:
    """Search, print the answer, and return the exit code."""
    from memory_assets.recall import open_memory
    from memory_assets.serving.answer_lines import search_lines, search_notes

    if asked.interactive:
        from memory_assets.cli.browse import browse, require_terminal

        require_terminal()
    memory = open_memory()
    answer = memory.ask(asked)
    by_time = asked.sort == "date" or not asked.query.strip()
    if asked.interactive:
        browse(memory, answer, by_time=by_time)
        rendering.print_lines(search_notes(answer), stderr=True)
    elif as_json or not sys.stdout.isatty():
        rendering.print_recalled(
            answer, as_json, search_lines(answer, full=asked.full), search_notes(answer)
        )
    else:
        from memory_assets.cli.hit_view import terminal_lines

        width, colours = get_terminal_size().columns, rendering.has_colours(sys.stdout)
        lines = terminal_lines(
            memory, answer, width=width, colours=colours, full=asked.full, by_time=by_time
        )
        rendering.write_lines(lines, sys.stdout)
        rendering.print_lines(search_notes(answer), stderr=True)
    answered = answer["hits"] and not answer["weak"]
    return exit_codes.FINE if answered else exit_codes.NOTHING_FOUND


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
    return lambda: print_context(
        ContextRequest.given("cli", values), as_json=as_json, prepare=prepare
    )


def ingest_plainly(settings: Settings, *, as_json: bool) -> int:
    """Ingest all that is new or changed, report, and return the exit code. In a first ingest, the
    independent scanner, which is what takes longest to start, is compiled during the imports."""
    transcripts = (root.rglob("*.jsonl") for root in settings.transcript_roots().values())
    if not (settings.data_dir / "catalog.db").exists() and any(map(any, transcripts)):
        from memory_assets.pipeline.checks.kingfisher import compile_kingfisher

        compile_kingfisher()
    from memory_assets.cli.ingest_command import ingest_once

    return ingest_once(settings, limit=None, projects=[], full=False, as_json=as_json)


@contextmanager
def _models_built_when_used() -> Iterator[None]:
    """Import the SDK's several hundred pydantic models without building validators until they are
    used, and without collecting garbage meanwhile: saves .4 s of CPU."""
    from pydantic import BaseModel, ConfigDict

    before = BaseModel.model_config
    BaseModel.model_config = ConfigDict(defer_build=True)
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        BaseModel.model_config = before
