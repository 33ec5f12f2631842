"""All small stores of agents that tests write: databases, and files."""

from __future__ import annotations

from collections.abc import Callable

from memory_assets_tests.transcripts.agent_databases import (
    Crush,
    Cursor,
    CursorChat,
    Goose,
    Hermes,
    Kilo,
    OpenCode,
    Store,
    Zed,
)
from memory_assets_tests.transcripts.agent_files import (
    Aider,
    Atif,
    Cline,
    ClineProgram,
    GeminiDocument,
    KiloTasks,
    OpenCodeTree,
    Roo,
    SpecStory,
    VsCode,
    VsCodeLog,
)

DATABASES: tuple[Callable[..., Store], ...] = (
    *(OpenCode, Kilo, Crush, Goose, Hermes, Zed),
    *(Cursor, CursorChat),
)
FILES: tuple[Callable[..., Store], ...] = (
    *(VsCode, VsCodeLog, Cline, Roo, KiloTasks, ClineProgram),
    *(OpenCodeTree, GeminiDocument, Atif, Aider, SpecStory),
)
STORES = (*DATABASES, *FILES)
