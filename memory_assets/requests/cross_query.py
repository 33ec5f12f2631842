"""The question that is asked of another collection and of the sessions together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from memory_assets.errors import BadArgument, ConfigurationError
from memory_assets.paths import KNOWN_AGENTS
from memory_assets.requests.arguments import WORKSPACE, Arguments, argument, one_of
from memory_assets.requests.times import TIME, require_order

MAX_DOCUMENTS = 50


def parse_conditions(given: Mapping[str, str] | Sequence[str]) -> dict[str, str]:
    """Return conditions on metadata by key, from a mapping or from `KEY=VALUE` texts; raise
    `BadArgument` if one is not of this form."""
    if isinstance(given, Mapping):
        pairs = list(given.items())
    else:
        pairs = [
            (key, value) for key, _, value in (str(condition).partition("=") for condition in given)
        ]
    if not all(key and value and isinstance(value, str) for key, value in pairs):
        raise BadArgument("where: give KEY=VALUE, as in --where bucket=docs")
    return dict(pairs)


@dataclass(frozen=True)
class CrossQueryRequest(Arguments):
    """A search of documents and the sessions by a question or a document's text, or by a question
    for each side. The documents are those of another collection, or (`workspace`) of the
    workspaces; `collection` may be left out if there is only one. `document` is an id in it, of
    workspaces a path too. `where` restricts documents to those with equal metadata; `project`,
    `session`, `agent`, `since` and `until` restrict the sessions. A session without a query stands
    for the documents that it retrieved."""

    answers = ("documents", "sessions", "overlap")

    query: str = argument(
        "",
        "A question, or the text of a document.",
        hint="question or text",
        names={"http": "q", "cli": "query"},
        max_length=20_000,
        cut=True,
    )
    corpus_query: str = argument(
        "", "What to ask the other collection, instead of the query.", max_length=20_000, cut=True
    )
    session_query: str = argument(
        "", "What to ask the sessions, instead of the query.", max_length=1_000, cut=True
    )
    document: str | None = argument(
        None,
        "A document's id (in a workspace, id or path), instead of a query.",
        hint="id in the collection",
        max_length=1_000,
    )
    collection: str | None = argument(
        None, "The other collection, or workspace; needed if there are several.", max_length=512
    )
    where: Mapping[str, str] | None = argument(
        None,
        "Only documents with this metadata, as KEY=VALUE.",
        hint="metadata to match",
        wire=dict[str, str],
        reads=parse_conditions,
        names={"http": None},
    )
    workspace: str | None = argument(None, **WORKSPACE)
    project: str | None = argument(None, "Only sessions of this project.", max_length=1_000)
    session: str | None = argument(
        None,
        "Only this session; without a query, the documents that it retrieved.",
        aliases=("session_id",),
        max_length=500,
    )
    agent: str | None = argument(
        None, "Only sessions of this agent.", wire=one_of(KNOWN_AGENTS) | None
    )
    since: datetime | None = argument(
        None, "Only turns not older than this: 7d, yesterday or a date.", **TIME
    )
    until: datetime | None = argument(
        None, "Only turns older than this: 7d, yesterday or a date.", **TIME
    )
    n: int = argument(
        10,
        "Number of documents and of sessions.",
        names={"cli": "-n"},
        aliases=("limit",),
        ge=1,
        le=MAX_DOCUMENTS,
    )
    assume_same_embedder: bool = argument(
        False, "Treat its vectors as made by all-MiniLM-L6-v2 although it does not say so."
    )

    def check_together(self) -> None:
        """Raise `ConfigurationError` for a request without query, document and session, and for a
        time range that holds no time."""
        require_order(self.since, self.until)
        if self.workspace and self.collection not in (None, "workspace"):
            raise ConfigurationError(f"{self.collection} is no workspace; leave one of them out")
        asked = (self.query, self.corpus_query, self.session_query)
        if not any(text.strip() for text in asked) and not self.document and not self.session:
            raise ConfigurationError(
                "give a query, the id of a document in the collection, or a session"
            )
