"""The stage of workspace_chunks: the sections, operations and definitions of each document."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import PurePosixPath

from memory_assets.chunking import content_hash
from memory_assets.chunking.chunks import MAX_TOKENS
from memory_assets.chunking.passages import split_passages
from memory_assets.document_models import WorkspaceChunk, WorkspaceDocument
from memory_assets.documents import CHUNKER_VERSION, Section
from memory_assets.documents.embedded import embedded_by_name, embedded_length
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.report import StageReport
from memory_assets.pipeline.tables.derive import DerivedRows, DerivedTable, derive_table
from memory_assets.redaction import keep_lines
from memory_assets.stores.catalog.schema import Product
from memory_assets.stores.lake.schemas import WORKSPACE_CHUNKS, WORKSPACE_DOCUMENTS


def chunk_documents(components: Components, partition: str) -> StageReport:
    """Make the chunks of the documents that changed, and return the report."""
    return derive_table(components, partition, CHUNKED)


def _chunks_of(components: Components, source: Product) -> DerivedRows:
    from memory_assets.documents.chunk import sections  # loads a parser for each type of file

    if not source.rows:
        return [], {}
    key = (source.project, source.session_id)
    (document,) = components.lake.read_rows(WORKSPACE_DOCUMENTS, *key)
    parts = sections(document.session_id, document.text)
    by_name = embedded_by_name(document.session_id, document.file_type, document.text)
    rows = [
        row
        for number, section in enumerate(parts)
        for row in _passages(components, document, number, section, by_name)
    ]
    return rows, {"chunks": len(parts), "by_name": int(by_name and bool(parts))}


def _passages(
    components: Components,
    document: WorkspaceDocument,
    number: int,
    section: Section,
    by_name: bool,
) -> Iterator[WorkspaceChunk]:
    """Yield the rows of a chunk, each short enough for the embedder. Rows of a chunk that repeats a
    header have the line numbers of the whole chunk."""
    # Parts of a redacted text are redacted again: a cut may split a tag, or bring a name and a
    # value together.
    redact = partial(components.redactor_of(document.id).redact, session_id=document.id)
    whole = redact(section.text).text
    chunk_id = f"{document.id}::{number}"
    heading = redact(section.heading).text
    file_name = PurePosixPath(document.session_id).name
    context = redact(file_name if by_name else section.context).text
    follows = whole.count("\n") == section.line_end - section.line_start
    spans = split_passages(whole, components.tokens, MAX_TOKENS)
    for part, (start, end) in enumerate(spans):
        text = whole.cut(start, end)
        if len(spans) > 1:
            # The end of a drawing's base64 looks like a token where the rest of it is not there,
            # and a word like a password where the sentence before it is not.
            text = keep_lines(text, redact(text))
        embedded = 0 if by_name else embedded_length(document.file_type, text, components.tokens)
        first = section.line_start + whole.count("\n", 0, start)
        yield WorkspaceChunk(
            id=f"{chunk_id}::part::{part}" if part else chunk_id,
            chunk_id=chunk_id,
            part=part,
            document_id=document.id,
            project=document.project,
            project_root=document.project_root,
            agent=document.agent,
            session_id=document.session_id,
            chunk_index=number,
            file_path=document.file_path,
            file_type=document.file_type,
            chunk_type=section.chunk_type,
            section_heading=heading,
            line_start=first if follows else section.line_start,
            line_end=first + text.count("\n") if follows else section.line_end,
            kind=document.kind,
            bucket=document.bucket,
            service=document.service,
            domain=document.domain,
            source_repo_slug=document.source_repo_slug,
            timestamp=document.timestamp,
            files=(document.file_path,),
            text=text,
            embedded=embedded,
            context=context,
            content_hash=content_hash(text, context, embedded),
            chunker_version=CHUNKER_VERSION,
        )


CHUNKED = DerivedTable(
    WORKSPACE_CHUNKS, CHUNKER_VERSION, upstream=WORKSPACE_DOCUMENTS, make=_chunks_of
)
