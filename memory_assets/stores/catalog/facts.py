"""Facts of source files and products: values without a column, stored as JSON in SQLite.

Any key may be missing: each stage writes its own, and products of earlier versions have fewer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypedDict, cast

RETAINED: Final = "retained_blocks"
"""Fact of a session whose records were cut to its prompts: how many blocks were removed."""


class SourceFacts(TypedDict, total=False):
    """The counts of a source file, and the sessions, project and versions that it names."""

    lines: int
    records: int
    blocks: int
    prompts: int
    bad_lines: int
    dropped: Mapping[str, int]
    unknown_records: int
    unknown_types: Mapping[str, int]
    pending_bytes: int
    rendered: int
    """Bytes of the lines that a store's session was rendered to."""
    finished: int
    finished_fingerprint: str
    """The bytes of them that do not change when the session grows, and their keyed hash."""
    first_timestamp: str | None
    last_timestamp: str | None
    project_root: str
    named_session: str | None
    """The session that most records name as their own; in a fork, the original one."""
    parent_session: str | None
    opening: Sequence[int] | None
    """Keyed hash of the main file's first prompt, and the number of prompts; None if it is
    short."""
    agent_versions: Sequence[str]
    parts: Sequence[str]
    """Paths of the files that continue the file at the row's path, in order."""
    text_bytes: int
    """Bytes of text in the file, which are compared with the reader's records."""
    text_beyond: int
    """Bytes of them that could not be compared, because the file is too large."""
    text_unexplained: Mapping[str, Sequence[int | str]]
    """By unknown path of keys: bytes of text, and the agent's versions that wrote it."""


class RecordFacts(TypedDict, total=False):
    """Redacted records: the conservation counts of a session."""

    agent: str
    copied_from: Sequence[Sequence[str]]
    """Project and session of each owner of records that this session only copied."""
    records: int
    kept: int
    bad_lines: int
    blocks: int
    copied_blocks: int
    copied_prompts: int
    prompts: int
    redactions: int
    personal: int
    withheld: int
    """Records replaced by a tag, because redacting them took too long."""
    dropped: Mapping[str, int]
    retained_blocks: int


class CheckFacts(TypedDict, total=False):
    """A passed check of a long session: its version, and hashes of the parts that passed
    (`pipeline/checks/pending.py`)."""

    version: str
    parts: Sequence[str]


class DocumentFacts(TypedDict, total=False):
    """A document of a workspace: its file when it was read, and its versions."""

    size: int
    mtime_ns: int
    fingerprint: str
    """Keyed hash of the content."""
    skipped: str
    """The reason why the file has no rows."""
    domain: str
    """Keyed hash of its service's domain."""
    chunks: int
    """The number of chunks; rows are their passages."""
    by_name: int
    """1 if its passages have the vector of its name (`documents/embedded.py`), else 0."""
    made_with: str
    """The version of what made the rows of a document, session or conversation."""
    known: int
    """The number of the last known secret that the document was searched for."""
    same_rules: bool
    """Whether the former document was made with that version, too."""


class ConversationFacts(TypedDict, total=False):
    """A conversation of an agent: its state in the journal."""

    journal: str


class ProductFacts(RecordFacts, CheckFacts, DocumentFacts, ConversationFacts, total=False):
    """The facts of a product of any stage."""

    lineage: str | None
    """The output hash of the last product that changed or dropped former rows; later ones only
    added."""
    rules: Mapping[str, int]
    """Redaction audit: findings by rule."""
    turns: int
    asked: int
    typed: int
    """Chunks: the numbers of a session's turns, of those that a human began, and of those whose
    prompt a human typed."""
    turn_states: Sequence[tuple[str, int]]
    """Chunks of long sessions: a hash of each turn, and the number of its rows."""
    made_of: tuple[str | None, int, str]
    """Deferrable tables (`pipeline/tables/derive.py`): lineage and number of the records, and the
    version of the code."""
    ended: str | None
    repository: str
    state: str
    """Session commits: the end of the session, the repository and its state."""
    collection: str
    embedder: str
    """The collection that a session's rows are in, and the embedder that made their vectors."""
    tokens: int
    dollars: float
    """Session usage: the tokens of all turns, and the price of those that have one."""
    memory_type: str
    """The type of an agent's memory."""


class _LazyJson(Mapping[str, Any]):
    """A JSON object that is parsed on first access, because most products are read for their hashes
    only."""

    __slots__ = ("_text", "_values")

    def __init__(self, text: str) -> None:
        self._text = text
        self._values: dict[str, Any] | None = None

    def __getitem__(self, name: str) -> Any:
        return self._parsed()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parsed())

    def __len__(self) -> int:
        return len(self._parsed())

    def __repr__(self) -> str:
        return f"Facts({self._text})"

    def _parsed(self) -> dict[str, Any]:
        if self._values is None:
            self._values = json.loads(self._text)
        return self._values


def source_facts(text: str) -> SourceFacts:
    """Return the facts of a source file from what the catalogue keeps."""
    return cast("SourceFacts", _LazyJson(text))


def product_facts(text: str) -> ProductFacts:
    """Return the facts of a product from what the catalogue, or a footer, keeps."""
    return cast("ProductFacts", _LazyJson(text))


def count(facts: SourceFacts | ProductFacts, name: str) -> int:
    """Return one of the counts among facts; 0 where it is missing."""
    return cast("Mapping[str, int]", facts).get(name, 0)


def to_json(facts: SourceFacts | ProductFacts) -> str:
    """Return facts as the catalogue keeps them."""
    return json.dumps(dict(facts), sort_keys=True)
