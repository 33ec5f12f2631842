"""The memory of a server: opened by the first request, and retried until it exists; and its errors
as readers are told them."""

from __future__ import annotations

import re
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from memory_assets.errors import MemoryAssetsError, StoreError
from memory_assets.status.words import told_error

if TYPE_CHECKING:
    from memory_assets.recall import Memory
    from memory_assets.requests.arguments import Interface
    from memory_assets.settings import Settings

_CALLS: tuple[tuple[str, dict[Interface, str]], ...] = (
    ("sessions", {"mcp": 'ask(verb="sessions")', "http": "GET /sessions"}),
    (
        r"summarize (\S+)",
        {"mcp": r'summarize_session(session="\1")', "http": r"GET /sessions/\1"},
    ),
    (
        r"show (\S+) --records",
        {"mcp": r'get(ids=["\1"], records=true)', "http": r"GET /turns/\1?records=1"},
    ),
    (r"search --in (\w+)", {"mcp": r'recall(kind=["\1"])', "http": r"GET /search?in=\1"}),
)
"""The commands of `memory` that errors name and other interfaces have, too, with what a client
calls there. Other commands are for people, whichever interface names them."""


class OpenedMemory:
    """One memory for all requests of a server. The server may start before the memory exists."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._memory: Memory | None = None
        self._lock = Lock()

    def error_message(self, error: MemoryAssetsError, interface: Interface = "cli") -> str:
        """Return what an error says, as readers are told it: with calls of the interface that they
        use; pages show commands."""
        message = told_error(error, self._settings.data_dir)
        for command, calls in _CALLS:
            if interface in calls:
                message = re.sub(f"`memory {command}`", f"`{calls[interface]}`", message)
        return message

    @property
    def is_open(self) -> bool:
        """Whether the memory was there when it was last asked for."""
        return self._memory is not None

    def agents_on_record(self) -> tuple[str, ...]:
        """Return the agents with sessions on record, by name; none if they cannot be read now."""
        from memory_assets.status.status import agents_on_record

        try:
            return agents_on_record(self._settings.data_dir)
        except StoreError:
            return ()

    def has_workspaces(self) -> bool:
        """Return whether documents of a workspace are on record, or will be."""
        from memory_assets.status.workspaces import has_workspaces

        try:
            return has_workspaces(self._settings.data_dir)
        except StoreError:
            return False

    def workspace_here(self) -> str | None:
        """Return the workspace that the server was started in, None if it is in none."""
        from memory_assets.status.workspaces import workspace_of

        return workspace_of(self._settings.data_dir, Path.cwd())

    def get(self) -> Memory:
        """Return the memory, or raise `NotFound` if nothing was ever ingested."""
        from memory_assets.recall import open_memory

        with self._lock:
            if self._memory is None:
                self._memory = open_memory(self._settings)
            return self._memory
