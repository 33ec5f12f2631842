"""The entry point of the console script. Plain `memory status`, `search` and `mcp` skip
`cli.py`, whose imports take longer than these commands."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from memory_assets.cli.exit_codes import run_reporting_errors
from memory_assets.private_files import create_private_files, take_from_others
from memory_assets.settings import Settings, load_settings

_Command = Callable[[Settings], object]


def main() -> None:
    """Run the command line."""
    create_private_files()
    command = _plain_command("".join(sys.argv[1:2]), sys.argv[2:])
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
    from memory_assets.cli import rendering

    rendering.show_notices()
    take_from_others(settings.data_dir)
    path = settings.data_dir / "forgotten.db"
    if path.exists():
        from memory_assets.stores.tombstones import unfinished

        if unfinished(path):
            from memory_assets.cli.forget_command import complete_forgetting

            complete_forgetting(settings)


def serve_stdio(settings: Settings) -> None:
    """Serve MCP on standard input and output until the client disconnects."""
    with _models_built_when_used():
        from memory_assets.serving import mcp_server
    mcp_server.run_stdio(settings)


def _plain_command(name: str, given: Sequence[str]) -> _Command | None:
    """Return a command with plain arguments, or None if `cli.py` has to parse them."""
    if name == "search":
        from memory_assets.cli.search_command import plain_arguments, search_plainly

        asked = plain_arguments(given)
        return None if asked is None else lambda settings: sys.exit(search_plainly(asked))
    if name == "status" and set(given) <= {"--json"}:
        from memory_assets.cli.status_command import show_status

        return lambda settings: show_status(settings, as_json=bool(given))
    return serve_stdio if name == "mcp" and not given else None


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
