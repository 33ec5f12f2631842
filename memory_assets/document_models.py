"""The rows of the tables of workspaces: documents, and the chunks that are embedded.

The columns that both have in common with the rows of sessions (`project`, `session_id`, ...)
are what the lake, the indexes and the catalogue find rows by: a workspace is a partition, and a
document in it has the place of a session.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from memory_assets.models import ContentHash, Int32
from memory_assets.redacted_text import RedactedText

Partition = Annotated[str, "Partition key: `workspace:<name>`."]
Root = Annotated[RedactedText, "Directory of the workspace, redacted."]
Agent = Annotated[str, "Always `workspace`: no agent wrote it."]
Path = Annotated[str, "Path of the file in the workspace."]
FilePath = Annotated[RedactedText, "Path of the file in the workspace."]
FileType = Annotated[str, "markdown, adr, openapi, asyncapi, python, java, ..."]
Kind = Annotated[str, "docs, api, code, config or diagram."]
Bucket = Annotated[RedactedText, "First directory of the path; empty for a file of the root."]
Service = Annotated[RedactedText, "Service that the file belongs to; empty if none is known."]
Domain = Annotated[RedactedText, "Domain of the service, by MEMORY_WORKSPACE_DOMAINS."]
Slug = Annotated[RedactedText, "Repository as its remote names it, or the directory's name."]
Changed = Annotated[datetime | None, "When the file was last written."]
"""Columns of both tables."""


@dataclass(frozen=True, slots=True)
class WorkspaceDocument:
    """A row of `workspace_documents`: a file of a workspace, redacted. What was taken out leaves
    its line feeds, so that every line has the number that it has in the file."""

    id: Annotated[str, "`<workspace>::<path>`."]
    project: Partition
    project_root: Root
    agent: Agent
    session_id: Path
    file_path: FilePath
    file_type: FileType
    kind: Kind
    bucket: Bucket
    service: Service
    domain: Domain
    source_repo_slug: Slug
    timestamp: Changed
    size: Annotated[int, "Bytes of the file."]
    lines: Annotated[Int32, "Lines of the file."]
    git_blob: Annotated[str, "Git's hash of the content; empty if something was redacted."]
    redactions: Annotated[Int32, "Secrets and personal data that were taken out."]
    text: Annotated[RedactedText, "The content, redacted."]
    content_hash: ContentHash
    ruleset_version: Annotated[str, "Rules and settings that were applied."]


@dataclass(frozen=True, slots=True)
class WorkspaceChunk:
    """A row of `workspace_chunks`: a section, definition or operation of a document, in the file's
    own lines; of a long one, a passage that the embedder reads whole."""

    id: Annotated[str, "`chunk_id`; of its k-th further passage `<chunk_id>::part::<k>`."]
    chunk_id: Annotated[str, "`<workspace>::<path>::<chunk_index>`."]
    part: Annotated[Int32, "Passage of the chunk, from 0."]
    document_id: Annotated[str, "Document that it is a part of."]
    project: Partition
    project_root: Root
    agent: Agent
    session_id: Path
    chunk_index: Annotated[Int32, "Chunk of the document, from 0."]
    file_path: FilePath
    file_type: FileType
    chunk_type: Annotated[str, "endpoint, schema, section, method, definition, key, window, ..."]
    section_heading: Annotated[RedactedText, "Heading, signature or operation."]
    line_start: Annotated[Int32, "First line in the file, from 1."]
    line_end: Annotated[Int32, "Last line in the file."]
    kind: Kind
    bucket: Bucket
    service: Service
    domain: Domain
    source_repo_slug: Slug
    timestamp: Changed
    files: Annotated[tuple[RedactedText, ...], "The file, as filters compare it."]
    text: Annotated[RedactedText, "What is searched and shown."]
    embedded: Annotated[Int32, "Characters of the text that are embedded; 0: the context alone."]
    context: Annotated[RedactedText, "Title and heading, embedded with the text; or empty."]
    content_hash: Annotated[str, "Hash of text, context and, if it is a part, what is embedded."]
    chunker_version: Annotated[str, "Chunker that made it."]
