"""Trace a search hit to the bytes of the transcript that it was made from.

Chroma document -> row of the lake -> redacted records -> source file and byte range -> the runs
that made each, and the rules that were applied. Every step is compared with its present state; what
is missing or differs is reported, not raised. Nothing here holds transcript text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import pyarrow.compute as pc

from memory_assets.chunking import content_hash
from memory_assets.errors import (
    ConfigurationError,
    NotFound,
    StoreError,
    StoreReadOnly,
    TranscriptError,
)
from memory_assets.models import RedactedRecord
from memory_assets.paths import is_gone
from memory_assets.recall.agent_rows import NamedRow, journal_rows, lake_rows, trail_of, written_row
from memory_assets.recall.documents import NamedDocument, chunk_rows, document_named, state_of_file
from memory_assets.recall.names import MemoryId, resolve_id
from memory_assets.recall.rows import not_in_memory, rows_of, stored_vectors
from memory_assets.recall.sessions.records import session_turns
from memory_assets.search_kinds import SEARCH_KINDS, SearchKind
from memory_assets.status.ledger_sources import source_of
from memory_assets.stores.agents.journal import FILE_NAME
from memory_assets.stores.catalog.catalog import Catalog
from memory_assets.stores.catalog.schema import Product, SourceRow
from memory_assets.stores.lake.lake import Lake
from memory_assets.stores.lake.schemas import (
    AGENT_HISTORY,
    AGENT_MEMORY,
    COMMIT_LINKS,
    HISTORY_SUMMARIES,
    REDACTED_RECORDS,
    REDACTION_AUDIT,
    SESSION_COMMITS,
    TABLES,
    WORKSPACE_CHUNKS,
    WORKSPACE_DOCUMENTS,
    Table,
)
from memory_assets.stores.runs.ledger import KEPT, STARTED, EndedRun, RunLedger, ledger_of
from memory_assets.stores.stores import Stores
from memory_assets.transcripts import Content, reader_of, take_fingerprint

_SHOWN = (
    *("agent_id", "seq", "record_uuid", "kind", "byte_start", "byte_end"),
    *("redactions", "ruleset_version"),
)
"""The columns of a record that an audit shows."""
_PAGES = "http://127.0.0.1:3000/runs"
"""Where `memory dev` shows runs, at its default address."""
_KEYWORD_INDEXES = {kind.keywords: kind.keyword_asset for kind in SEARCH_KINDS.values()}
"""The asset of each stage that indexes words."""


_KINDS: dict[str, tuple[Table, SearchKind | None, str]] = {
    **{
        name: (TABLES[SEARCH_KINDS[kind].table], SEARCH_KINDS[kind], version)
        for name, kind, version in (
            ("turn", "sessions", "chunker_version"),
            ("prompt", "prompts", ""),
            ("summary", "summaries", "summarizer_id"),
            ("observation", "observations", "observer_id"),
        )
    },
    "commit": (SESSION_COMMITS, None, "attribution_version"),
    "link": (COMMIT_LINKS, None, ""),
    "document": (WORKSPACE_CHUNKS, SEARCH_KINDS["workspace"], "chunker_version"),
    "memory": (AGENT_MEMORY, SEARCH_KINDS["memory"], "ruleset_version"),
    "message": (AGENT_HISTORY, SEARCH_KINDS["history"], "ruleset_version"),
    "history-summary": (HISTORY_SUMMARIES, SEARCH_KINDS["history_summaries"], "summarizer_id"),
}
"""The kinds of rows that an audit starts from: the table, the kind of search (None if Chroma does
not hold it), and the column with the version that made the row."""


@dataclass(frozen=True)
class Audit:
    """The origin of an id. `rows` are the rows of the table, each with the state of its document in
    Chroma ("present", "differs", "missing", "unreachable", "not asked" where the data directory
    cannot be written, or "none" if Chroma need not hold it);
    `records` are the records they were made from, with byte ranges into `sources`; `redactions`
    counts what was redacted in these records; `runs` has the Dagster run of each stage of the
    session (`_runs`); `trail` is what happened to a memory of an agent."""

    id: str
    kind: str
    project: str
    agent: str
    session_id: str
    rows: list[dict[str, Any]]
    records: list[dict[str, Any]]
    sources: list[SourceState]
    redactions: list[dict[str, Any]]
    runs: list[dict[str, Any]]
    trail: list[dict[str, Any]] = field(default_factory=list)

    @property
    def intact(self) -> bool:
        """True if every document in Chroma that could be asked for equals the row of the lake."""
        fine = ("present", "none", "not asked")
        return all(row["document"] in fine and row["hash_matches"] for row in self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON contract of `memory audit`."""
        return {**asdict(self), "intact": self.intact}


def audit(stores: Stores, any_id: str, key: bytes, unneeded: str = "") -> Audit:
    """Return the origin of a passage, turn, prompt, summary, observation, commit or link, or of a
    session (its summary), by its id. `key` is the install key, for the fingerprints of source
    files. `unneeded` is why no row is missing in Chroma, where none has to be there.

    Raises:
        ConfigurationError: it does not look like an id.
        NotFound: nothing of that id is in memory.
    """
    audited = _audit(stores, any_id, key)
    if not unneeded:
        return audited
    nowhere = {"document": "none", "reason": unneeded}
    rows = [
        row | nowhere if row["document"] in ("missing", "unreachable") else row
        for row in audited.rows
    ]
    return replace(audited, rows=rows)


def _audit(stores: Stores, any_id: str, key: bytes) -> Audit:
    if written := written_row(stores, any_id.strip()):
        return _audit_agent_row(stores, written)
    if document := document_named(stores, any_id.strip()):
        return _audit_document(stores, document, any_id.strip(), key)
    named = resolve_id(stores, any_id)
    any_id, project, parsed = named.id, named.project, named.parts
    kind = "summary" if parsed.kind == "session" else parsed.kind
    products = stores.catalog.products.of_session(project, parsed.session_id)
    rows = _rows(stores.lake, project, any_id, parsed, kind)
    if not rows:
        raise not_in_memory(stores, project, parsed.session_id, f"{kind} {any_id}")
    records = _records(stores, project, parsed, rows, kind)
    return Audit(
        id=any_id,
        kind=kind,
        project=project,
        agent=records[0].agent if records else str(rows[0].get("agent", "")),
        session_id=parsed.session_id,
        rows=_with_documents(stores, project, parsed.session_id, rows, kind, products),
        records=[{name: getattr(record, name) for name in _SHOWN} for record in records],
        sources=source_states(stores.catalog, project, parsed.session_id, records, key),
        redactions=_redactions(stores.lake, project, parsed.session_id, records),
        runs=_runs(stores, project, products),
    )


def _audit_agent_row(stores: Stores, named: NamedRow) -> Audit:
    """Return the origin of a memory or turn that an agent wrote: the journal."""
    rows = (ingested := lake_rows(stores, named)) or journal_rows(stores, named)
    size, key = len(rows[0]["text"].encode()), (named.partition, named.session_id)
    source = SourceState(None, str(stores.data_dir / FILE_NAME), "unchanged", size, size, 0, size)
    return Audit(
        id=named.id,
        kind=named.kind,
        project=named.partition,
        agent=rows[0]["agent"],
        session_id=named.session_id,
        rows=_with_documents(stores, *key, rows, named.kind, named.products, bool(ingested)),
        records=[],
        sources=[source],
        redactions=[],
        runs=_runs(stores, named.partition, named.products),
        trail=trail_of(stores, named.id) if named.kind == "memory" else [],
    )


def _audit_document(stores: Stores, named: NamedDocument, any_id: str, key: bytes) -> Audit:
    """Return the origin of a chunk or document: its lines, and the file that they are in."""
    project, path = named.partition, named.path
    rows = chunk_rows(stores, named)
    (document,) = rows_of(stores.lake, WORKSPACE_DOCUMENTS, project, path)
    where, state, size = state_of_file(stores, named, key)
    version = document["ruleset_version"]
    return Audit(
        id=any_id,
        kind="document",
        project=project,
        agent=document["agent"],
        session_id=path,
        rows=_with_documents(stores, project, path, rows, "document", named.products),
        records=[{name: row[name] for name in ("id", "line_start", "line_end")} for row in rows],
        sources=[SourceState(None, where, state, document["size"], size, 0, document["size"])],
        redactions=[
            {
                "rule": rule,
                "tag": rule,
                "ruleset_version": version,
                "engine_version": version.rpartition("-")[0],
                "fields": ["text"],
                "count": count,
            }
            for rule, count in sorted(
                named.products[WORKSPACE_DOCUMENTS.name].facts.get("rules", {}).items()
            )
        ],
        runs=_runs(stores, project, named.products),
    )


def _runs(stores: Stores, project: str, products: Mapping[str, Product]) -> list[dict[str, Any]]:
    """Return for each stage of a session the run that made its product: job, partition, times,
    status, versions and checks. `history` says whether Dagster still has it ("kept", "pruned",
    "unknown"; "" of a run of the command line, and outside of runs), `page` where."""
    runs = []
    with closing(ledger_of(stores.data_dir)) as ledger:
        for stage, product in products.items():
            if "/" in stage:
                continue
            run_id = product.run_id
            asset = _KEYWORD_INDEXES.get(stage, stage)
            production = ledger.made(run_id, project, asset)
            run = _run(ledger, run_id)
            runs.append(
                {
                    "stage": stage,
                    "made_at": product.made_at,
                    "rows": product.rows,
                    **asdict(run),
                    "partition": project,
                    "page": f"{_PAGES}/{run_id}" if run.history == KEPT else "",
                    **asdict(production),
                }
            )
    return runs


def _run(ledger: RunLedger, run_id: str) -> EndedRun:
    """Return a run as the ledger has it, ended or not."""
    if not run_id:
        return EndedRun("", status="", history="")
    for run in ledger.begun(run_id):
        return EndedRun(run_id, run.job, STARTED, run.started_at, history=run.history)
    return ledger.ended(run_id) or EndedRun(run_id, status="")


def _rows(
    lake: Lake, project: str, any_id: str, parsed: MemoryId, kind: str
) -> list[dict[str, Any]]:
    """Return the rows with an id: all passages of a turn, or one row; none if there are none."""
    rows = rows_of(lake, _KINDS[kind][0], project, parsed.session_id)
    if parsed.turn_index is not None:
        rows = [row for row in rows if row["turn_index"] == parsed.turn_index]
    of_one_row = parsed.turn_index is None and kind != "summary"
    if of_one_row or "::part::" in any_id or (any_id.count("::") > 2 and kind == "prompt"):
        rows = [row for row in rows if row["id"] == any_id]
    return rows


def _records(
    stores: Stores, project: str, parsed: MemoryId, rows: list[dict[str, Any]], kind: str
) -> list[RedactedRecord]:
    """Return the records behind rows: those of their turns, of their prompt, or (for a summary) of
    the whole session."""
    if kind in ("summary", "prompt"):
        every = stores.lake.read_rows(REDACTED_RECORDS, project, parsed.session_id)
        uuids = {row["record_uuid"] for row in rows} if kind == "prompt" else set()
        return [record for record in every if not uuids or record.record_uuid in uuids]
    turns = session_turns(stores, project, parsed.session_id)
    turn_ids = {of for row in rows for of in row.get("turn_ids") or [row.get("turn_id")]}
    return [record for turn in turns if turn.id in turn_ids for record in turn.records]


def _with_documents(
    stores: Stores,
    project: str,
    session_id: str,
    rows: list[dict[str, Any]],
    kind: str,
    products: Mapping[str, Product],
    ingested: bool = True,
) -> list[dict[str, Any]]:
    """Return rows as `Audit.rows` has them."""
    table, searched, version = _KINDS[kind]
    collection, reason = "", "commits are kept in the lake alone"
    if not ingested:
        searched, reason = None, "not ingested yet"
    file = stores.lake.file(table, project, session_id) or ""
    vectors: dict[str, tuple[str, Any]] = {}
    documents: dict[str, str] | str = "none"
    if searched is not None:
        indexed = products.get(searched.asset)
        collection = indexed.facts["collection"] if indexed is not None else ""
        vectors = stored_vectors(stores.lake, TABLES[searched.embeddings], [(project, session_id)])
        documents, reason = _documents(stores, collection, [row["id"] for row in rows], vectors)
    return [
        {
            "id": row["id"],
            "collection": collection,
            "document": _document_state(row, documents),
            "reason": reason,
            "table": table.name,
            "file": str(file),
            "content_hash": row["content_hash"] if searched else "",
            "hash_matches": not searched
            or content_hash(row["text"], row.get("context", ""), row.get("embedded"))
            == row["content_hash"],
            "embedder_id": vectors[row["id"]][0] if row["id"] in vectors else "",
            "version": row.get(version, ""),
        }
        for row in rows
    ]


def _document_state(row: Mapping[str, Any], documents: Mapping[str, str] | str) -> str:
    if isinstance(documents, str):
        return documents
    if row["id"] not in documents:
        return "missing"
    return "present" if documents[row["id"]] == row["text"] else "differs"


def _documents(
    stores: Stores, collection: str, ids: list[str], vectors: Mapping[str, tuple[str, Any]]
) -> tuple[dict[str, str] | str, str]:
    """Return the documents of Chroma by id. If Chroma cannot be asked, return the state of them
    all, and the reason."""
    if not collection:
        return {}, "not indexed yet"
    if vectors.keys().isdisjoint(ids):
        return {}, "not embedded yet"
    try:
        documents = stores.vectors.get(collection).documents(ids)
    except StoreReadOnly:
        return "not asked", "its server cannot be started in a directory that is read-only here"
    except (StoreError, NotFound) as error:
        return "unreachable", str(error)
    return {document.id: document.text for document in documents}, ""


def _redactions(
    lake: Lake, project: str, session_id: str, records: list[RedactedRecord]
) -> list[dict[str, Any]]:
    """Return the redactions of these records, counted by rule, tag and versions, with the
    fields."""
    keys = {(record.agent_id, record.seq) for record in records}
    counts: Counter[tuple[str, ...]] = Counter()
    fields: dict[tuple[str, ...], set[str]] = {}
    names = ("rule", "tag", "ruleset_version", "engine_version")
    for row in rows_of(lake, REDACTION_AUDIT, project, session_id):
        if (row["agent_id"], row["seq"]) in keys:
            what = tuple(row[name] for name in names)
            counts[what] += 1
            fields.setdefault(what, set()).add(row["field"].partition("[")[0])
    return [
        {**dict(zip(names, what, strict=True)), "fields": sorted(fields[what]), "count": count}
        for what, count in sorted(counts.items())
    ]


@dataclass(frozen=True)
class SourceState:
    """One source file of records. `state` is "unchanged", "grown" (bytes were appended),
    "rewritten", "gone" or "unreadable"; `byte_start` and `byte_end` bound the records, `line_start`
    and `line_end` are the numbers of their lines, from 1 (None where it cannot be read).

    `path` is a locator (`opencode.db#ses_...`) for a session of a store; its lines are those that
    it is rendered to."""

    agent_id: str | None
    path: str
    state: str
    size_read: int
    size_now: int | None
    byte_start: int | None
    byte_end: int | None
    line_start: int | None = None
    line_end: int | None = None


def source_states(
    catalog: Catalog,
    project: str,
    session_id: str,
    records: Sequence[RedactedRecord],
    key: bytes,
) -> list[SourceState]:
    """Return the source files of these records, main file first. Each is read once, to compute its
    keyed fingerprint."""
    ranges: dict[str, list[RedactedRecord]] = {}
    for record in records:
        ranges.setdefault(record.agent_id or "", []).append(record)
    states = []
    for row in catalog.sources.rows(project):
        if row.session_id == session_id and (own := ranges.get(row.agent_id)):
            start, end = min(part.byte_start for part in own), max(part.byte_end for part in own)
            state, size_now, lines = _state_of(row, key, (start, end))
            of, size_read = row.agent_id or None, row.facts.get("rendered", row.size)
            states.append(SourceState(of, row.path, state, size_read, size_now, start, end, *lines))
    return states


_Lines = tuple[int | None, int | None]
_NO_LINES: _Lines = (None, None)


def _state_of(row: SourceRow, key: bytes, span: tuple[int, int]) -> tuple[str, int | None, _Lines]:
    """Return the state of a source, its size now, and the numbers of the lines of `span`."""
    if not row.path or is_gone(row.path):
        return "gone", None, _NO_LINES
    source = source_of(row)
    read = row.facts.get("rendered", row.size)
    complete = read - row.facts.get("pending_bytes", 0)
    size = None
    try:
        if reader_of(source).renders(source) and reader_of(source).state(source) is None:
            return "gone", None, _NO_LINES
        contents = reader_of(source).contents(source)
        size = sum(content.size for content in contents)
        same = size >= complete and take_fingerprint(contents, complete, key) == row.fingerprint
        lines = _line_numbers(contents, *span) if same else _NO_LINES
    except TranscriptError:
        return "unreadable", size, _NO_LINES
    if same:
        return ("grown" if size > read else "unchanged"), size, lines
    finished = row.facts.get("finished", 0)
    goes_on = (
        finished and take_fingerprint(contents, finished, key) == row.facts["finished_fingerprint"]
    )
    return ("grown" if goes_on else "rewritten"), size, lines


def _line_numbers(contents: Sequence[Content], start: int, end: int) -> tuple[int, int]:
    """Return the numbers of the lines that the bytes from `start` to `end` are in."""
    first = last = 1
    at = 0
    for content in contents:
        for block in content.text():
            if at >= end:
                return first, last
            first += block.count(b"\n", 0, max(start - at, 0))
            last += block.count(b"\n", 0, max(end - at, 0))
            at += len(block)
    return first, last


_TAG = re.compile(r"<?(?:redacted:)?(?:(?P<rule>[a-z0-9-]{1,60}):)?(?P<digest>[0-9a-f]{12})>?")
_COLUMNS = ["agent", "tag", "rule", "field"]
_OTHER_TABLES = (WORKSPACE_CHUNKS, AGENT_HISTORY, AGENT_MEMORY, HISTORY_SUMMARIES)
"""Tables that belong to no session; a tag is looked for in the text of their rows."""


def is_tag(text: str) -> bool:
    """Return True if a text is a tag: whole, without its brackets, or only its 12 digits."""
    return _TAG.fullmatch(text) is not None


def tag_holders(lake: Lake, tag: str) -> dict[str, Any]:
    """Return the sessions that contain a tag, most occurrences first, and `others`: passages of
    documents, memories, turns of agents and summaries of them. It is the JSON of `memory audit
    TAG`; `count` is that of the sessions.

    Only the digits are compared, whatever rule found the secret: equal keys have equal digits.
    Guessable values have other digits in each session.

    Raises:
        ConfigurationError: it is no tag.
        NotFound: nothing holds it.
    """
    match = _TAG.fullmatch(tag)
    if match is None:
        raise ConfigurationError(f"{tag!r} is not a tag; tags look like <redacted:RULE:DIGEST>")
    ending = f":{match['digest']}>"
    holders = [
        holder
        for project in lake.projects(REDACTION_AUDIT)
        for session_id in lake.sessions(REDACTION_AUDIT, project)
        if (holder := _holder(lake, project, session_id, ending)) is not None
    ]
    others = _others(lake, ending)
    if not (holders or others):
        raise NotFound(f"nothing holds {tag}; tags stand in what `memory show` prints")
    holders.sort(key=lambda holder: (-holder["count"], holder["project"], holder["session_id"]))
    count = sum(holder["count"] for holder in holders)
    return {"tag": tag, "count": count, "sessions": holders, "others": others}


def _others(lake: Lake, ending: str) -> list[dict[str, Any]]:
    """Return `id`, `project` and `count` of the rows of other tables whose text has the tag."""
    holders: dict[str, dict[str, Any]] = {}  # while an ingest moves a row, it is there twice
    for table in _OTHER_TABLES:
        for project in lake.projects(table):
            rows = lake.read_partition(table, project, ["id", "project", "text"])
            holding = rows.filter(pc.match_substring(rows["text"], ending))
            for row in holding.to_pylist():
                count = row.pop("text").count(ending)
                holders[row["id"]] = {**row, "count": count}
    return [holders[row_id] for row_id in sorted(holders)]


def _holder(lake: Lake, project: str, session_id: str, ending: str) -> dict[str, Any] | None:
    table = lake.read(REDACTION_AUDIT, project, session_id, _COLUMNS)
    rows = table.filter(pc.ends_with(table["tag"], ending)).to_pylist()
    if not rows:
        return None
    return {
        "project": project,
        "session_id": session_id,
        "agent": rows[0]["agent"],
        "count": len(rows),
        "rules": sorted({row["rule"] for row in rows}),
        "fields": sorted({row["field"].partition("[")[0] for row in rows}),
    }
