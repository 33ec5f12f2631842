"""The answer of a search: hits, and how much of the memory they were chosen from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from memory_assets.redacted_text import RedactedText
from memory_assets.requests.search import MAX_HITS, SearchRequest
from memory_assets.search_kinds import SEARCH_KINDS, sessions_waiting
from memory_assets.status.words import held_back
from memory_assets.stores.agents.partitions import MESSAGE_HEAD, SUMMARY_HEAD
from memory_assets.stores.catalog.catalog import Catalog
from memory_assets.stores.catalog.schema import HELD_BY_CHECK, Quarantined

if TYPE_CHECKING:
    from memory_assets.stores.keyword_index.index import KeywordIndex

RAW_SESSIONS, REDACTED_RECORDS = "raw_sessions", "redacted_records"
"""Stages of which all that is searched is made."""
MOST_HELD_BACK = 20
ORIGIN = ("project", "project_root", "agent", "session_id", "timestamp")
"""The arguments of `hit_metadata`, as columns of the tables that can be searched."""


@dataclass(frozen=True)
class Later:
    """What came of a turn: the later one that `answered` what it asked or was asked, `disputed`
    what it said, `reverted` or `superseded` what it did or `fixed` what it found, and the words."""

    turn_id: str
    how: Literal["answered", "disputed", "reverted", "superseded", "fixed"]
    text: str


@dataclass(frozen=True)
class Hit:
    """One hit. In hybrid mode, `score` is the weighted sum of the two values in `why` (`words`:
    share of the question's words found, weighted by rarity; `meaning`: cosine of its passages); in
    the other modes it is one of them. `weak`: it is not probable that the hit answers. The first
    `prompt_length` characters of `text` are the prompt of the turn. `beside`: sentences that
    may answer, of its other passages, or of the turn that answered it. `later`: what came of it."""

    id: str
    turn_id: str
    score: float
    text: RedactedText
    metadata: Mapping[str, Any]
    why: Mapping[str, float | str] = field(default_factory=dict)
    weak: bool = False
    prompt_length: int = 0
    beside: str = ""
    later: Later | None = None


@dataclass(frozen=True)
class Coverage:
    """How many of the stored rows the search could find, and as of when. `ingest` says how far
    an ingest has come that is under way. `quarantined` counts the sessions held back that the
    search could else have found something in; `held_back` has each with reason and remedy.
    `waiting` counts the sessions on record of which nothing was made: a check failed, or an ingest
    was stopped."""

    sessions: int
    turns: int
    rows: int
    indexed: int
    quarantined: int
    as_of: str
    ingest: str = ""
    held_back: tuple[str, ...] = ()
    waiting: int = 0

    @property
    def complete(self) -> bool:
        """True if every row of the lake is in the searched index."""
        return self.rows == self.indexed


@dataclass(frozen=True)
class Answer:
    """The hits of one search, best first. `degraded` is "keyword-only" if vectors were not used,
    `reason` says why. `older` counts hits outside the requested window of
    recent days, `machine` the turns in which programs asked and that were left out where
    nothing else answers. `filters` are those of the request as they were understood: names
    written out, times in UTC. `corrected`: words of the query that occur nowhere, and what was
    searched for instead. `missing`: where no hit is sure, words of the query that carry content
    and occur nowhere in memory."""

    query: str
    mode: str
    coverage: Coverage
    hits: tuple[Hit, ...]
    degraded: str | None = None
    reason: str | None = None
    older: int = 0
    machine: int = 0
    filters: Mapping[str, str] = field(default_factory=dict)
    corrected: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()

    @property
    def weak(self) -> bool:
        """True if there are hits and all of them are weak: it is not sure that any answers."""
        return bool(self.hits) and all(hit.weak for hit in self.hits)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON of an answer (docs/contracts.md): what it lacks only where no hit is
        sure, which may be one of another project, or of what agents wrote just now."""
        is_unsure = all(hit.weak for hit in self.hits)
        return {
            "query": self.query,
            "mode": self.mode,
            "filters": dict(self.filters),
            "coverage": {
                **asdict(self.coverage),
                "held_back": list(self.coverage.held_back),
                "complete": self.coverage.complete and not self.coverage.waiting,
            },
            "degraded": self.degraded,
            "reason": self.reason,
            "older": self.older,
            "machine": self.machine if is_unsure else 0,
            "weak": self.weak,
            "corrected": dict(self.corrected),
            "missing": list(self.missing) if is_unsure else [],
            "hits": [
                {
                    "id": hit.id,
                    "turn_id": hit.turn_id,
                    "score": round(hit.score, 4),
                    "weak": hit.weak,
                    "text": str(hit.text),
                    "prompt_length": hit.prompt_length,
                    "beside": hit.beside,
                    "metadata": dict(hit.metadata),
                    "why": dict(hit.why),
                    "later": asdict(hit.later) if hit.later else None,
                }
                for hit in self.hits
            ],
        }


def hit_metadata(
    project: str, root: str, agent: str, session_id: str, time: datetime | None
) -> dict[str, Any]:
    """Return the metadata of hits of all kinds: where a row of the lake is from, and its time."""
    return {
        "project": project,
        "project_root": str(root),
        "agent": agent,
        "session_id": session_id,
        "timestamp": time.isoformat() if time else "",
        "ts_epoch": time.timestamp() if time else 0.0,
    }


def joined_answer(answers: Sequence[Answer], most: int) -> Answer:
    """Return the `most` best hits of several projects, and what is held back in any of them; the
    rest is that of the first."""
    hits = sorted(
        (hit for answer in answers for hit in answer.hits), key=lambda hit: (-hit.score, hit.id)
    )
    held_back = [line for answer in answers for line in answer.coverage.held_back]
    coverage = replace(
        answers[0].coverage,
        quarantined=sum(answer.coverage.quarantined for answer in answers),
        held_back=tuple(held_back[:MOST_HELD_BACK]),
    )
    return replace(
        answers[0],
        coverage=coverage,
        hits=tuple(hits[:most]),
        older=sum(answer.older for answer in answers),
        machine=sum(answer.machine for answer in answers),
        missing=next((answer.missing for answer in answers if answer.missing), ()),
    )


def newest_first(hits: Iterable[Hit]) -> list[Hit]:
    """Return hits by time, those whose time is not known last."""
    return sorted(hits, key=lambda hit: -float(hit.metadata.get("ts_epoch") or 0.0))


def with_summaries_last(hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits, with summaries moved to the end whose turns are all on record: the turns
    answer better (docs/agent-memory.md). Such a summary is left out if one of its turns is a hit;
    the first of these names it (`summary` in its metadata). A summary of turns that retention has
    cut keeps its place."""
    kept = [hit for hit in hits if not _is_on_record(hit)]
    last: list[Hit] = []
    for summary in filter(_is_on_record, hits):
        place = next((at for at, hit in enumerate(kept) if _covers(summary, hit)), None)
        if place is None:
            last.append(summary)
        else:
            named = {**kept[place].metadata, "summary": summary.id}
            kept[place] = replace(kept[place], metadata=named)
    return [*kept, *last]


def _is_on_record(hit: Hit) -> bool:
    """Return True for a summary whose turns are all on record."""
    return hit.id.startswith(SUMMARY_HEAD) and not hit.metadata.get("cut_turns")


def _covers(summary: Hit, hit: Hit) -> bool:
    """Whether a hit is a turn that a summary covers."""
    of = summary.metadata
    return (
        hit.id.startswith(MESSAGE_HEAD)
        and all(hit.metadata[name] == of[name] for name in ("project", "session_id"))
        and of["first_turn"] <= hit.metadata["turn_index"] <= of["last_turn"]
    )


def keep_passing(
    ask: Callable[[SearchRequest], Answer], request: SearchRequest, passes: Callable[[Hit], bool]
) -> Answer:
    """Return an answer with the hits that pass; in place of the others come further ones, of the
    best `MAX_HITS`."""
    wanted = request.n
    while True:
        answer = ask(replace(request, n=wanted))
        hits = tuple(filter(passes, answer.hits))
        is_last = len(answer.hits) < wanted or wanted == MAX_HITS or hits == answer.hits
        if len(hits) >= request.n or is_last:
            return replace(answer, hits=hits[: request.n])
        wanted = min(wanted * 4, MAX_HITS)


def session_of(hit: Hit) -> tuple[str, str]:
    """Return project and id of the session of a hit."""
    return str(hit.metadata.get("project", "")), str(hit.metadata.get("session_id", ""))


def with_held_back(catalog: Catalog, coverage: Coverage, request: SearchRequest) -> Coverage:
    """Return the coverage of a search with the sessions held back that it concerns: those that
    pass its filters, held back by a check or at a stage on which the kinds searched depend."""
    entries = catalog.quarantine.entries()
    if not entries:
        return replace(coverage, quarantined=0)
    kinds = [SEARCH_KINDS[kind] for kind in request.kinds]
    stages = {RAW_SESSIONS, REDACTED_RECORDS, HELD_BY_CHECK}
    for kind in kinds:
        stages |= {kind.table, kind.embeddings, kind.asset, kind.keywords}
    concerned = [
        entry for entry in entries if entry.stage in stages and _passes(catalog, entry, request)
    ]
    shown = [{**asdict(entry), "passing": entry.passing} for entry in concerned[:MOST_HELD_BACK]]
    return replace(
        coverage,
        quarantined=len({(entry.project, entry.session_id) for entry in concerned}),
        held_back=tuple(
            held_back({"quarantined": shown, "unlisted": ()}, catalog.spoken_projects())
        ),
    )


def _passes(catalog: Catalog, entry: Quarantined, request: SearchRequest) -> bool:
    """Return whether a session that is held back may pass the filters of a request: what is not
    known of it passes."""
    if request.project not in (None, entry.project):
        return False
    if request.session not in (None, entry.session_id):
        return False
    rows = catalog.rows(
        "SELECT agent, json_extract(facts, '$.first_timestamp') AS first,"
        " json_extract(facts, '$.last_timestamp') AS last FROM sources"
        " WHERE project = ? AND session_id = ?",
        entry.project,
        entry.session_id,
    )
    if not rows:
        return True
    if request.agent is not None and all(row["agent"] != request.agent for row in rows):
        return False
    if entry.stage == RAW_SESSIONS:  # its file has changed since: the times are older
        return True
    first = [datetime.fromisoformat(row["first"]) for row in rows if row["first"]]
    last = [datetime.fromisoformat(row["last"]) for row in rows if row["last"]]
    too_new = request.until is not None and bool(first) and min(first) >= request.until
    too_old = request.since is not None and bool(last) and max(last) < request.since
    return not (too_new or too_old)


def coverages(
    catalog: Catalog, kinds: Sequence[str], index: KeywordIndex | None = None
) -> tuple[Coverage, Coverage]:
    """Return how many rows of these kinds are in the keyword index, and in the collections; with
    an `index`, in place of the latter how many have their vectors there."""
    wanted = [SEARCH_KINDS[kind] for kind in kinds]
    totals = catalog.products.totals()
    quarantined = len(catalog.quarantine.entries())
    waiting = sessions_waiting(totals, quarantined) if "sessions" in kinds else 0

    def total(stages: Sequence[str], name: str) -> int:
        return sum(int(totals.get(stage, {}).get(name) or 0) for stage in stages)

    def coverage_in(stages: Sequence[str]) -> Coverage:
        times = (totals.get(stage, {}).get("made_at") for stage in stages)
        return Coverage(
            sessions=total(["redacted_records"], "sessions"),
            turns=total(["turn_chunks"], "turns"),
            rows=total([kind.table for kind in wanted], "rows"),
            indexed=total(stages, "rows"),
            quarantined=quarantined,
            as_of=max((str(time or "") for time in times), default=""),
            waiting=waiting,
        )

    by_words = coverage_in([kind.keywords for kind in wanted])
    if index is None:
        return by_words, coverage_in([kind.asset for kind in wanted])
    of_lake = {kind.name: total([kind.embeddings], "rows") for kind in wanted}
    own = sum(min(rows, index.rows_with_vectors(name)) for name, rows in of_lake.items())
    return by_words, replace(by_words, indexed=own)
