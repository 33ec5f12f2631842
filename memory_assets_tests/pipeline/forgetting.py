"""What the tests of forgetting share: doing it, and looking for what it left."""

from __future__ import annotations

from typing import Any

from memory_assets.pipeline.removal import forget
from memory_assets.pipeline.removal.selection import Selection, select
from memory_assets_tests.pipeline.conftest import SampleMemory


def no_dagster(names: forget.Names) -> int:
    """Where Dagster has kept nothing."""
    return 0


def forget_sessions(memory: SampleMemory, **selection: Any) -> forget.ForgetReport:
    """Forget what is selected, and return the report."""
    found = select(memory.components, Selection(**selection))
    return forget.forget(memory.components, found, erase_traces=no_dagster)


def files_naming(memory: SampleMemory, *words: str) -> list[str]:
    """The files of the memory in whose name or bytes one of the words stands."""
    return [
        str(path.relative_to(memory.data_dir))
        for path in sorted(memory.data_dir.rglob("*"))
        if any(word in path.name for word in words)
        or (path.is_file() and any(word.encode() in path.read_bytes() for word in words))
    ]
