"""A search: the question, what is searched, and the filters; of sessions, of documents, or of both
together."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass
from datetime import datetime
from typing import Any, Literal, get_args

from memory_assets.errors import BadArgument, ConfigurationError
from memory_assets.paths import KNOWN_AGENTS
from memory_assets.requests.arguments import (
    COUNT,
    NOT_OVER_MCP,
    PAGER,
    PROJECT,
    WORKSPACE,
    Arguments,
    argument,
    chosen,
    listed_names,
    one_of,
)
from memory_assets.requests.times import TIME, is_within, require_order
from memory_assets.search_kinds import SEARCH_KINDS

Mode = Literal["hybrid", "semantic", "keyword", "exact"]
Sort = Literal["relevance", "date"]
ObservationType = Literal["bugfix", "feature", "refactor", "change", "decision", "discovery"]
Concept = Literal[
    "how-it-works", "why-it-exists", "what-changed", "problem-solution", "gotcha", "trade-off"
]
KINDS = tuple(SEARCH_KINDS)
MODES: tuple[str, ...] = get_args(Mode)
"""How a search can match; all but the last one rank."""
MAX_HITS = 200
FEW_HITS = 8
"""Hits of an answer that an agent reads, unless it asks for more."""
_KIND_NAMES = (*(name for name, kind in SEARCH_KINDS.items() if not kind.within), "all")
"""The kinds that are offered; one that another includes can be asked for alone, too."""
EXACT_KINDS = {"sessions", "prompts", "workspace", "memory", "history"}
"""Kinds in which text can be found as it is written; the others are composed of what these hold."""
_QUOTED = re.compile(r'^"([^"]+)"$', re.DOTALL)
_FILTERS = (
    *("project", "agent", "session", "since", "until", "tool", "file", "concept", "type"),
    "workspace",
)
OF_DOCUMENTS = ("file_type", "service", "domain")
"""Filters that only documents of workspaces have."""


def parse_kinds(name: str | Sequence[str]) -> tuple[str, ...]:
    """Return the kinds for one or several names, each with those that are searched with it; `all`
    means every kind.

    Raises:
        ConfigurationError: there is none, or one is not known.
    """
    names = tuple([name] if isinstance(name, str) else name)
    kind_of = {name: chosen(name, (*KINDS, "all")) for name in names}
    unknown = [str(spelling) for spelling, kind in kind_of.items() if kind is None]
    if unknown or not names:
        raise BadArgument(
            f"cannot search in {', '.join(unknown) or 'nothing'}; "
            f"choose from {', '.join(_KIND_NAMES)}"
        )
    kinds = set(kind_of.values())
    if "all" in kinds:
        return KINDS
    wanted = [name for name in kind_of.values() if name is not None]
    within = [name for name, kind in SEARCH_KINDS.items() if kind.within in kinds]
    return tuple(dict.fromkeys((*wanted, *within)))


@dataclass(frozen=True)
class SearchRequest(Arguments):
    """One search. `since` and `until` bound the time of the turn (UTC, since inclusive). `concept`
    and `type` are filters for observations. Without a query, the newest that pass the filters are
    the hits. `sort` orders the best hits; by `date`, the newest comes first. With `recent`, hits
    older than the setting RECENT_DAYS are counted, not listed."""

    answers = ("query", "mode", "coverage", "weak", "hits")

    query: str = argument(
        "",
        "A question or keywords; of more than 2,000 characters, the middle is left out.",
        names={"http": "q", "cli": "query"},
        max_length=2_000,
        cut=True,
    )
    kinds: tuple[str, ...] = argument(
        ("sessions",),
        "What to search.",
        wire=one_of(_KIND_NAMES),
        reads=parse_kinds,
        names={"http": "in", "mcp": "kind", "cli": "--in"},
    )
    mode: Mode = argument(
        "hybrid", "What to match: words and meaning, meaning, words, or the text as it is written."
    )
    exact: bool = argument(
        False,
        "Find the text as it is written, in tool output, too; so do double quotes around it.",
        names={"mcp": None},
    )
    project: str | None = argument(None, **PROJECT)
    agent: str | None = argument(None, "Only this agent.", wire=one_of(KNOWN_AGENTS) | None)
    session: str | None = argument(
        None,
        "Only this session: its id, or the beginning of it.",
        aliases=("session_id",),
        max_length=500,
    )
    since: datetime | None = argument(
        None,
        "Not older than this: 7d, yesterday, last monday or a date; local time.",
        hint="7d, 2w ago or ISO date",
        **TIME,
    )
    until: datetime | None = argument(
        None, "Older than this: 7d, yesterday, last monday or a date; local time.", **TIME
    )
    tool: str | None = argument(None, "Only turns that called this tool.", max_length=1_000)
    file: str | None = argument(
        None,
        "Only turns and observations that touched this file or directory.",
        hint="path or its end",
        aliases=("file_path", "filePath"),
        max_length=1_000,
    )
    concept: Concept | None = argument(None, "Only observations with this concept.")
    type: ObservationType | None = argument(None, "Only observations of this type.")
    file_type: str | None = argument(
        None, "Only documents of this type: markdown, openapi, python.", max_length=100
    )
    service: str | None = argument(None, "Only documents of this service.", max_length=500)
    domain: str | None = argument(None, "Only documents of this domain.", max_length=500)
    workspace: str | None = argument(None, **WORKSPACE)
    n: int = argument(10, "Number of hits.", le=MAX_HITS, **COUNT)
    page: int = argument(1, "Which page of the n hits.", names={"http": None, "cli": None}, ge=1)
    sort: Sort = argument("relevance", "Order of the hits: the best or the newest first.")
    recent: bool = argument(False, "Only recent hits (MEMORY_RECENT_DAYS); older ones are counted.")
    machine: bool = argument(False, "Also what programs asked, and no person.", **NOT_OVER_MCP)
    hidden: bool = argument(False, "Also hidden sessions.", **NOT_OVER_MCP)
    full: bool = argument(
        False, "Print whole texts, not stretches of them.", names={"http": None, "mcp": None}
    )
    pager: bool = argument(True, **PAGER)
    interactive: bool = argument(
        False,
        "Go through the hits with keys, and open them.",
        names={"http": None, "mcp": None, "cli": "-i"},
    )
    over: tuple[str, ...] | None = argument(
        None,
        "Search these memories: `all`, addresses of shards that were pulled, or the ends of these.",
        hint="pulled memories",
        wire=str | None,
        reads=listed_names,
        max_length=2_000,
    )
    least: float = argument(
        0.0,
        "A probability that hits must have to be of use; of others only the best one is told.",
        names={"cli": None, "http": None, "mcp": None},
        ge=0,
        le=1,
    )
    fallback: bool = argument(
        True,
        "Whether keywords alone may answer if the store of vectors cannot be reached.",
        names={"mcp": None},
    )

    @property
    def literal(self) -> str | None:
        """The text that is to be found as it is written, None for a question: what `exact` asks
        for, or the whole query if it is in double quotes."""
        text = self.query.strip()
        if self.exact or self.mode == "exact":
            return _QUOTED.sub(r"\1", text)
        return text[1:-1] if self.mode == "hybrid" and _QUOTED.fullmatch(text) else None

    @property
    def selects_observations(self) -> bool:
        """True if observations are only filtered, which reads the lake; ranking them by a query
        uses the indexes."""
        if self.type or self.concept:
            return True
        return self.kinds == ("observations",) and bool(self.file or not self.query.strip())

    @property
    def filters(self) -> dict[str, Any]:
        """The filters that are set, by name."""
        given = {name: getattr(self, name) for name in (*_FILTERS, *OF_DOCUMENTS)}
        return {name: value for name, value in given.items() if value is not None}

    @property
    def of_documents(self) -> dict[str, str]:
        """The filters that only documents have: column and wanted value."""
        return {name: value for name in OF_DOCUMENTS if (value := getattr(self, name)) is not None}

    @property
    def of_session(self) -> dict[str, str]:
        """The filters that a whole session passes or fails: column and wanted value."""
        wanted = {"project": self.project, "session_id": self.session, "agent": self.agent}
        return {name: value for name, value in wanted.items() if value is not None}

    def covers(self, moment: datetime | None) -> bool:
        """Return True if a time is within `since` and `until`; see `is_within`."""
        return is_within(moment, self.since, self.until)

    def check_together(self) -> None:
        """Raise `ConfigurationError` for filters that the kind does not have, for a time range
        that holds no time, and for a search without query and filters."""
        require_order(self.since, self.until)
        if self.kinds == ("sessions",) and (self.of_documents or self.workspace):
            object.__setattr__(self, "kinds", ("workspace",))
        if self.literal is not None:
            self._check_exact()
        elif self.selects_observations:
            if self.tool:
                raise ConfigurationError("observations cannot be filtered by tool")
            if self.mode == "keyword":
                raise ConfigurationError(
                    "observations are found by filters and by meaning, not by keywords"
                )
        elif self.tool and self.kinds != ("sessions",):
            raise ConfigurationError("tool filters sessions only")
        elif self.file and self.kinds not in (("sessions",), ("workspace",)):
            raise ConfigurationError("file filters one of sessions, observations and workspace")
        elif (self.of_documents or self.workspace) and self.kinds != ("workspace",):
            raise ConfigurationError(
                "--file-type, --service, --domain and --workspace filter documents: add --in "
                "workspace"
            )
        elif self.workspace and self.project:
            raise ConfigurationError("give a project or a workspace")
        elif not (self.query.strip() or self.filters or self.recent or self.sort == "date"):
            raise ConfigurationError(
                "the query is empty; say what you are looking for, or give a filter, such as since"
            )

    def _check_exact(self) -> None:
        """Raise `ConfigurationError` for what an exact search does not have."""
        if not str(self.literal).strip():
            raise ConfigurationError("the query is empty; say which text is to be found")
        if not set(self.kinds) & EXACT_KINDS:
            raise ConfigurationError(
                f"exact text is found in {', '.join(sorted(EXACT_KINDS))}; sessions, the default,"
                " are all that they hold, tool output included"
            )
        if self.file or self.type or self.concept or self.of_documents:
            raise ConfigurationError(
                "an exact search can be filtered by project, agent, session, tool and time"
            )


@dataclass(frozen=True)
class WorkspaceSearchRequest(Arguments):
    """A search of documents by the names that other memories give its arguments."""

    query: str = argument(
        MISSING, "A question or keywords.", min_length=1, max_length=2_000, cut=True
    )
    top_k: int = argument(5, "Number of hits.", ge=1, le=20)
    file_type: str | None = argument(None, "Only documents of this type.", max_length=100)
    service: str | None = argument(None, "Only documents of this service.", max_length=500)
    domain: str | None = argument(None, "Only documents of this domain.", max_length=500)
    workspace: str | None = argument(None, **WORKSPACE)

    def meant(self, here: str | None = None) -> SearchRequest:
        """Return the search that it stands for; `here`: the workspace if none is named."""
        return SearchRequest(
            self.query,
            kinds=("workspace",),
            n=self.top_k,
            file_type=self.file_type,
            service=self.service,
            domain=self.domain,
            workspace=self.workspace or here,
        )


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
        raise BadArgument("give KEY=VALUE, as in --where bucket=docs")
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
    n: int = argument(10, "Number of documents and of sessions.", le=MAX_DOCUMENTS, **COUNT)
    assume_same_embedder: bool = argument(
        False, "Treat its vectors as made by all-MiniLM-L6-v2 although it does not say so."
    )
    pager: bool = argument(True, **PAGER)

    def check_together(self) -> None:
        """Raise `ConfigurationError` for a request without query, document and session, and for a
        time range that holds no time."""
        require_order(self.since, self.until)
        if self.workspace and self.collection not in (None, "workspace"):
            raise ConfigurationError(f"{self.collection} is no workspace; leave one of them out")
        queries = (self.query, self.corpus_query, self.session_query)
        if not any(text.strip() for text in queries) and not self.document and not self.session:
            raise ConfigurationError(
                "give a query, the id of a document in the collection, or a session"
            )
