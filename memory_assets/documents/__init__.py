"""Files of a workspace to chunks: sections of documents, operations, definitions.

Belongs here: knowing what a file is, where its chunks begin, how large they are. Does not:
finding or reading files, redaction, ids, stores. docs/workspace.md has the rules.
`chunk.sections` is not imported here: the parsers that it needs are no use to sessions.
"""

from memory_assets.documents.document import CHUNK_TYPES, CHUNKER_VERSION, Section
from memory_assets.documents.file_types import KIND_OF, file_type

__all__ = ["CHUNKER_VERSION", "CHUNK_TYPES", "KIND_OF", "Section", "file_type"]
