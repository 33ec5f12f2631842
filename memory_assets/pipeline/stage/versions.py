"""The versions of all parts, written to a file that `memory status` reads without loading
them."""

from __future__ import annotations

import contextlib
import json
from importlib.metadata import version

from memory_assets import __version__
from memory_assets.chunking import CHUNKER_VERSION
from memory_assets.paths import NO_EMBEDDER
from memory_assets.pipeline.stage.components import Components
from memory_assets.status.status import VERSIONS_FILE
from memory_assets.stores.files.shared import replace_text
from memory_assets.transcripts import READER_VERSIONS


def present_versions(components: Components) -> dict[str, str]:
    """Return the version of each part that a product depends on, and of Chroma."""
    return {
        "memory_assets": __version__,
        "readers": ", ".join(f"{agent}:{READER_VERSIONS[agent]}" for agent in READER_VERSIONS),
        "ruleset": components.ruleset_version,
        "chunker": CHUNKER_VERSION,
        "embedder": components.embedder.embedder_id if components.embeds else NO_EMBEDDER,
        "summarizer": components.summarizer.summarizer_id,
        "chroma": version("chromadb"),
    }


def note_versions(components: Components) -> None:
    """Write the present versions to the data directory, for `memory status`. A failure to
    write is ignored."""
    path = components.data_dir / VERSIONS_FILE
    text = json.dumps(present_versions(components), indent=2)
    with contextlib.suppress(OSError):
        if not path.exists() or path.read_bytes() != text.encode():
            components.data_dir.mkdir(parents=True, exist_ok=True)
            replace_text(path, text)
