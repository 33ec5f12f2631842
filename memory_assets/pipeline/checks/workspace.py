"""A check of the chunks of documents: each is where it says it is."""

from __future__ import annotations

from collections.abc import Set

from memory_assets.pipeline.checks.verify import Verdict
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.pending_checks import note_passed
from memory_assets.redaction import TAG
from memory_assets.stores.lake.schemas import WORKSPACE_CHUNKS, WORKSPACE_DOCUMENTS

_CHECK = "placed"
_LISTED = 10


def lines_conserved(components: Components, partition: str) -> Verdict:
    """Whether every line of every chunk is one of its document, within the lines that the chunk
    names where it does not repeat a header. `lines_left_out` counts lines that are in no chunk:
    extension keys of interfaces (docs/workspace.md)."""
    lake, catalog = components.lake, components.catalog
    sessions = components.pending_sessions(
        partition, WORKSPACE_CHUNKS, _CHECK, compared_to=WORKSPACE_DOCUMENTS
    )
    misplaced: set[str] = set()
    chunks = left_out = 0
    for each in sessions:
        key = (partition, each.session_id)
        (document,) = lake.read_texts(WORKSPACE_DOCUMENTS, *key)
        lines = document[2].split("\n")
        columns = ["line_start", "line_end", "text"]
        known, covered = set(lines), set[int]()
        for row in lake.read(WORKSPACE_CHUNKS, *key, columns).to_pylist():
            start, end = row["line_start"], row["line_end"]
            if not _is_made_of(row["text"], known, document[2]):
                misplaced.add(each.session_id)
            covered.update(range(start, end + 1))
            chunks += 1
        left_out += sum(
            bool(line.strip()) and number not in covered
            for number, line in enumerate(lines, start=1)
        )
    passed = (each for each in sessions if each.session_id not in misplaced)
    note_passed(catalog, passed, components.run_id)
    counts: dict[str, int | str] = {
        "documents_compared": len(sessions),
        "chunks": chunks,
        "misplaced": len(misplaced),
        "lines_left_out": left_out,
        "documents": ", ".join(sorted(misplaced)[:_LISTED]),
    }
    return Verdict(not misplaced, counts, "Run `memory index --full`.")


def _is_made_of(text: str, lines: Set[str], whole: str) -> bool:
    """Whether each line of a text is a line of a document, or a part of one; a line with a tag may
    have been redacted further."""
    return all(
        line in lines or line in whole or TAG.search(line) is not None for line in text.split("\n")
    )
