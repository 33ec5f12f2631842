"""Arguments of a cross-query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memory_assets.errors import BadArgument, ConfigurationError
from memory_assets.requests.arguments import Arguments, argument

MAX_DOCUMENTS = 50


def parse_conditions(given: Mapping[str, str] | Sequence[str]) -> dict[str, str]:
    """Return conditions on metadata by key, from a mapping or from `KEY=VALUE` texts.

    Raises:
        ConfigurationError: one is not of this form.
    """
    if isinstance(given, Mapping):
        pairs = list(given.items())
    else:
        pairs = [(key, value) for key, _, value in (str(each).partition("=") for each in given)]
    if not all(key and value and isinstance(value, str) for key, value in pairs):
        raise BadArgument("where: give KEY=VALUE, as in --where bucket=docs")
    return dict(pairs)


@dataclass(frozen=True)
class CrossQueryRequest(Arguments):
    """A search of another collection and the sessions by a question or a document's text.
    `document` is an id in `collection`, which may be left out if there is only one other
    collection. `where` restricts documents to those with equal metadata."""

    query: str = argument(
        "",
        "A question, or the text of a document.",
        hint="question or text",
        names={"http": "q", "cli": "query"},
        max_length=20_000,
    )
    document: str | None = argument(
        None,
        "The id of a document in that collection, instead of a query.",
        hint="id in the collection",
        max_length=1_000,
    )
    collection: str | None = argument(
        None, "The other collection; required if there are several.", max_length=512
    )
    where: Mapping[str, str] | None = argument(
        None,
        "Only documents with this metadata, as KEY=VALUE.",
        hint="metadata to match",
        wire=dict[str, str],
        reads=parse_conditions,
        names={"http": None},
    )
    project: str | None = argument(None, "Only this project.", max_length=1_000)
    n: int = argument(
        10, "Number of documents and of sessions.", names={"cli": "-n"}, ge=1, le=MAX_DOCUMENTS
    )
    assume_same_embedder: bool = argument(
        False, "Treat its vectors as made by all-MiniLM-L6-v2 although it does not say so."
    )

    def check_together(self) -> None:
        """Raise for a request with neither query nor document.

        Raises:
            ConfigurationError: neither query nor document is given.
        """
        if not self.query.strip() and not self.document:
            raise ConfigurationError("give a query, or the id of a document in the collection")
