"""Checks of a project's tables and collections.

Each function returns a `Verdict` with counts, never with text, and repairs nothing. A session that
passed is not checked again until it changes (`pending.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Set
from contextlib import ExitStack
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from memory_assets.errors import NotFound
from memory_assets.pipeline.checks.pending import (
    CheckBatch,
    Report,
    Verdict,
    note_passed,
    scan_pending,
    sessions_to_check,
)
from memory_assets.pipeline.indexes.indexed_tables import INDEX_OF, IndexedTable, collection_for
from memory_assets.pipeline.indexes.keywords import keywords_path, stage_of
from memory_assets.pipeline.redact import redacted_records as redact
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.quarantine import names_held
from memory_assets.pipeline.stage.report import input_hash
from memory_assets.redaction import TAG
from memory_assets.stores.agents.partitions import is_agent_memory
from memory_assets.stores.catalog.catalog import Catalog
from memory_assets.stores.catalog.facts import RETAINED, ProductFacts
from memory_assets.stores.catalog.text_account import account_of
from memory_assets.stores.keyword_index import files as keyword_files
from memory_assets.stores.keyword_index.index import KeywordIndex
from memory_assets.stores.lake.lake import Lake, redacted_values
from memory_assets.stores.lake.schemas import (
    REDACTED_RECORDS,
    REDACTION_AUDIT,
    TURN_CHUNKS,
    TURN_EMBEDDINGS,
    WORKSPACE_CHUNKS,
    WORKSPACE_DOCUMENTS,
    Table,
)
from memory_assets.stores.vector_store import Collection, Where
from memory_assets.stores.workspaces import is_workspace

_LISTED = 10
_FEW_SESSIONS = 50


def _rebuild_command(catalog: Catalog, partition: str) -> str:
    """Return the advice to rebuild a project or the workspaces; for a project that is in the lake
    but not in the catalogue, what else can be done."""
    if is_workspace(partition):
        return "Run `memory index --full`"
    if is_agent_memory(partition):
        return "Run `memory ingest --full`"
    if not catalog.products.has_rows(REDACTED_RECORDS.name, partition):
        return (
            "Nothing is on record of this project, as if its files were of another memory: move "
            "catalog.db away to adopt them, or their directories in the lake to leave them out; "
            "then run `memory ingest`"
        )
    return f"Run `memory ingest --full --project={partition}`"


_NO_COLLECTIONS = Verdict(True, {"vector_backend": "none: there are no collections"})
_NO_EMBEDDER = Verdict(True, {"embedder": "none: no vectors are made, none are looked at"})


def no_secrets_remain(components: Components, project: str, table: Table) -> Verdict:
    """Whether the redactor finds no secret in the free text of a table on disk.

    A file that passed is not read again until it or the rules change.
    """

    def scan(batch: CheckBatch) -> list[Report]:
        session_id = batch.notes[0].session_id
        find = components.redactor.find
        values = redacted_values(table, batch.rows)
        return [
            Report(f"rule_{match.rule}", session_id) for value in values for match in find(value)
        ]

    version = components.ruleset_version
    files, reports = scan_pending(components, project, table, "clean", version, scan)
    sessions = sorted({report.session_id for report in reports})
    counts: dict[str, int | str] = {
        "files_scanned": files,
        "secrets_found": len(reports),
        "files_with_secrets": len(sessions),
        "sessions": ", ".join(sessions[:_LISTED]),
        **Counter(sorted(report.rule for report in reports)),
    }
    return Verdict(
        not reports,
        counts,
        f"{_rebuild_command(components.catalog, project)}; if it stays, report the rule by name.",
        reports=reports,
    )


def rows_conserved(components: Components, project: str) -> Verdict:
    """Whether every record read was kept, dropped for a stated reason, or a bad line; and every
    block kept is a row of redacted_records, a copy, or was removed by retention."""
    unbalanced: list[str] = []
    totals: Counter[str] = Counter()
    products = components.catalog.products.of_project(redact.STAGE, project)
    entries = components.lake.partition(REDACTED_RECORDS, project).entries()
    for session_id, product in products.items():
        facts = product.facts
        dropped, retained_away = sum(facts["dropped"].values()), facts.get(RETAINED, 0)
        on_disk = entries[session_id].rows if session_id in entries else 0
        totals.update(
            records=facts["records"],
            kept=facts["kept"],
            dropped=dropped,
            bad_lines=facts["bad_lines"],
            blocks=facts["blocks"],
            rows=on_disk,
            copied=facts["copied_blocks"],
            retained_away=retained_away,
            withheld=facts.get("withheld", 0),
        )
        balanced = (
            facts["records"] == facts["kept"] + dropped
            and facts["blocks"] == on_disk + facts["copied_blocks"] + retained_away
        )
        if not balanced:
            unbalanced.append(session_id)
    return Verdict(
        not unbalanced,
        {**totals, "unbalanced": len(unbalanced), "sessions": ", ".join(unbalanced[:_LISTED])},
        f"{_rebuild_command(components.catalog, project)}.",
    )


Keys = Callable[[pa.Table], Iterable[object]]
"""Returns the keys of a table's rows by which another table is compared with it."""


def _compare(
    components: Components,
    project: str,
    check: str,
    source: tuple[Table, list[str], Keys],
    target: tuple[Table, list[str], Keys],
    *,
    counted: str,
    skipped: Container[str] = (),
) -> Verdict:
    """Whether, session by session, the second table has each key of the first exactly as often.
    Sessions that passed are skipped until a file of theirs changes, and those in `skipped`.
    `counted` names the number of keys in the second table."""
    lake = components.lake
    candidates = sessions_to_check(components, project, source[0], check, compared_to=target[0])
    sessions = [candidate for candidate in candidates if candidate.session_id not in skipped]
    counts = Counter(dict.fromkeys((counted, "missing", "repeated", "extra"), 0))
    differing: set[str] = set()
    for session in sessions:
        expected, actual = (
            Counter(keys(_rows(lake, table, project, session.session_id, columns)))
            for table, columns, keys in (source, target)
        )
        missing, surplus = expected - actual, actual - expected
        repeated = sum(number for key, number in surplus.items() if key in expected)
        counts.update({counted: actual.total(), "missing": missing.total(), "repeated": repeated})
        counts["extra"] += surplus.total() - repeated
        if missing or surplus:
            differing.add(session.session_id)
    note_passed(components, sessions, but=differing)
    return Verdict(
        not differing,
        {
            "sessions_compared": len(sessions),
            **counts,
            "sessions_that_differ": len(differing),
            "sessions": ", ".join(sorted(differing)[:_LISTED]),
        },
        f"{_rebuild_command(components.catalog, project)}.",
    )


def _rows(lake: Lake, table: Table, project: str, session_id: str, columns: list[str]) -> pa.Table:
    """Return columns of a session's rows; no rows where it has no file."""
    try:
        return lake.read(table, project, session_id, columns)
    except NotFound:
        return table.schema.empty_table().select(columns)


def _count(lake: Lake, table: Table, project: str) -> int:
    return sum(entry.rows for entry in lake.partition(table, project).entries().values())


def _tuples(rows: pa.Table) -> Iterator[tuple[object, ...]]:
    return zip(*(rows[name].to_pylist() for name in rows.column_names), strict=True)


def audit_matches_records(components: Components, project: str) -> Verdict:
    """Whether redaction_audit has as many entries for each record as its `redactions` counts."""

    def counted(rows: pa.Table) -> Iterator[tuple[object, object]]:
        for row in rows.filter(pc.field("redactions") > 0).to_pylist():
            yield from ((row["agent_id"], row["seq"]),) * row["redactions"]

    return _compare(
        components,
        project,
        "audited",
        (REDACTED_RECORDS, ["agent_id", "seq", "redactions"], counted),
        (REDACTION_AUDIT, ["agent_id", "seq"], _tuples),
        counted="entries",
    )


def nothing_quarantined(components: Components, project: str) -> Verdict:
    """Whether no session of the project is quarantined; the counts have reason and time of each."""
    held = components.catalog.quarantine.entries(project)
    reasons = {
        entry.session_id: f"{entry.reason} (since {entry.since}); to do: {entry.remedy}"
        for entry in held
    }
    return Verdict(
        not held,
        {"quarantined": len(held), **dict(list(reasons.items())[:_LISTED])},
        "See `memory status`: after a failure that may pass every run tries a session again, "
        "else when its file, the rules or the code change.",
    )


def prompts_in_one_chunk(components: Components, project: str) -> Verdict:
    """Whether each human prompt of redacted_records begins in exactly one chunk, but for sessions
    that a check holds back, of which no chunks are made."""

    def prompts(rows: pa.Table) -> set[object]:
        return {name for name, kind in _tuples(rows) if kind == "prompt"}

    def starts(rows: pa.Table) -> Iterator[object]:
        return (name for (name,) in _tuples(rows) if name)

    return _compare(
        components,
        project,
        "prompted",
        (REDACTED_RECORDS, ["record_uuid", "kind"], prompts),
        (TURN_CHUNKS, ["prompt_uuid"], starts),
        counted="prompts",
        skipped=names_held(components, project),
    )


def collection_matches(components: Components, project: str, index: IndexedTable) -> Verdict:
    """Whether the ids in the collections are exactly those of the table. A session that matched is
    compared again when its rows were written, when a collection was replaced, or when a collection
    does not have the number of rows written to it."""
    if not components.settings.keeps_collections:
        return _NO_COLLECTIONS if components.embeds else _NO_EMBEDDER
    products = components.catalog.products.of_project(index.stage, project)
    names = sorted({product.facts["collection"] for product in products.values()})
    collections = {name: _collection(components, name) for name in names}
    incarnations = (one.incarnation if one else "" for one in collections.values())
    pending_sessions = partial(
        sessions_to_check,
        *(components, project, index.table, index.stage, input_hash(*incarnations)),
        beside=dict.fromkeys(products),
    )
    written = components.catalog.products.rows_by_collection(index.stage)
    as_written = all(
        collection is not None and collection.count() == written.get(name, 0)
        for name, collection in collections.items()
    )
    sessions = pending_sessions()
    where: Where = {"project": project}
    if as_written and len(sessions) <= _FEW_SESSIONS:
        where = {"$and": [where, {"session_id": {"$in": [one.session_id for one in sessions]}}]}
    else:
        sessions = pending_sessions(everything=True)
    expected: dict[str, set[str]] = {name: set() for name in names if sessions}
    for session_id in (one.session_id for one in sessions):
        of_session = _rows(components.lake, index.table, project, session_id, ["id", "agent"])
        archived = ProductFacts()
        if components.settings.routes:  # else the agent alone decides
            archived = components.catalog.products.facts(index.archive, project, session_id)
        for row_id, agent in _tuples(of_session):
            facts = archived or ProductFacts(agent=str(agent))
            expected.setdefault(collection_for(components, index, facts), set()).add(str(row_id))
    missing = extra = 0
    for name, ids in expected.items():
        collection = collections.get(name) or _collection(components, name)
        indexed = collection.ids(where) if collection else set()
        missing += len(ids - indexed)
        extra += len(indexed - ids)
    if missing == extra == 0:
        note_passed(components, sessions)
    rows = _count(components.lake, index.table, project)
    return Verdict(
        missing == extra == 0,
        {"rows": rows - missing + extra, "missing": missing, "extra": extra},
        f"{_rebuild_command(components.catalog, project)}.",
    )


def embedder_consistent(components: Components, project: str, index: IndexedTable) -> Verdict:
    """Whether all vectors of the project, and the collections they are in, were made by
    the embedder of the settings."""
    if not components.embeds:
        return _NO_EMBEDDER
    expected = components.embedder.embedder_id
    others: Counter[str] = Counter()
    sessions = sessions_to_check(components, project, index.embeddings, "embedder", expected)
    for session in sessions:
        where = (index.embeddings, project, session.session_id)
        ids = _rows(components.lake, *where, ["embedder_id"])
        others.update(str(made_by) for (made_by,) in _tuples(ids) if made_by != expected)
    if not others:
        note_passed(components, sessions)
    vectors = _count(components.lake, index.embeddings, project) - others.total()
    products = components.catalog.products.of_project(index.stage, project).values()
    kept = components.settings.keeps_collections
    for name in sorted({product.facts["collection"] for product in products if kept}):
        collection = _collection(components, name)
        if collection is not None and collection.embedder_id != expected:
            others[collection.embedder_id] += 1
    return Verdict(
        not others,
        {"vectors": vectors, "of_other_embedders": others.total(), "embedder_id": expected},
        "Run `memory ingest`, which embeds everything with the model of the settings.",
    )


def vectors_complete(components: Components, project: str) -> Verdict:
    """Whether turn_embeddings holds exactly one vector for each chunk."""
    if not components.embeds:
        return _NO_EMBEDDER
    columns = ["id", "content_hash"]
    return _compare(
        components,
        project,
        "embedded",
        (TURN_CHUNKS, columns, lambda rows: set(_tuples(rows))),
        (TURN_EMBEDDINGS, columns, _tuples),
        counted="vectors",
    )


def keywords_match(components: Components, project: str) -> Verdict:
    """Whether the keyword index has exactly the ids of the lake's tables, and its blocks of rows
    are as they were written. A session that matched is not compared again until its rows are
    written, here or there.

    Raises:
        StoreError: the index cannot be read.
    """
    counts = Counter[str]()
    with ExitStack() as opened:
        try:
            index = keyword_files.open_for_reading(keywords_path(components))
            opened.callback(index.close)
        except NotFound:
            index = None
        for kind in INDEX_OF:
            differing = _keyword_differences(components, project, kind, index)
            counts.update({f"{kind}_{what}": n for what, n in differing.items() if n})
    return Verdict(not counts, counts, f"{_rebuild_command(components.catalog, project)}.")


def _keyword_differences(
    components: Components, project: str, kind: str, index: KeywordIndex | None
) -> dict[str, int]:
    """Return the numbers of rows of a kind that are missing in the index, or extra, and of changed
    blocks."""
    places = index.places(kind, project) if index else {}
    incarnation = index.incarnation if index else ""
    check = components, project, INDEX_OF[kind].table, stage_of(kind), incarnation
    sessions = {note.session_id: note for note in sessions_to_check(*check, beside=places)}
    indexed = index.ids_of(kind, project, sessions) if index and sessions else {}
    blocks = (block for name in sessions for block in places.get(name, ()))
    changed = index.changed(blocks) if index else set[int]()
    counts = {"missing": 0, "extra": 0, "changed": len(changed)}
    differing = set[str]()
    for name in sessions:
        rows = _rows(components.lake, INDEX_OF[kind].table, project, name, ["id"])
        in_lake, in_index = set(map(str, rows["id"].to_pylist())), indexed.get(name, set())
        counts["missing"] += len(in_lake - in_index)
        counts["extra"] += len(in_index - in_lake)
        if in_lake != in_index or not changed.isdisjoint(places.get(name, ())):
            differing.add(name)
    note_passed(components, sessions.values(), but=differing)
    return counts


def _collection(components: Components, name: str) -> Collection | None:
    try:
        return components.vectors.get(name)
    except NotFound:
        return None


_LISTED_PLACES = 20


def text_is_explained(components: Components, project: str) -> Verdict:
    """Whether the records of each session have all text of its file, except for the places that the
    readers leave out on purpose."""
    account = account_of(components.catalog.sources.rows(project))
    counts: dict[str, int | str] = {
        "text": account.text,
        "unexplained": account.missing,
        "sessions": account.over,
        "not_compared": account.beyond,
        "unexplained_at": account.places(_LISTED_PLACES),
    }
    remedy = "The agent writes something new: see whether a newer memory_assets reads it."
    return Verdict(account.over == 0, counts, remedy)


def lines_conserved(components: Components, partition: str) -> Verdict:
    """Whether every line of every chunk is a line of its document. `lines_left_out` counts lines in
    no chunk: extension keys of interfaces (docs/workspace.md)."""
    lake = components.lake
    sessions = sessions_to_check(
        components, partition, WORKSPACE_CHUNKS, "placed", compared_to=WORKSPACE_DOCUMENTS
    )
    misplaced: set[str] = set()
    chunks = left_out = 0
    for session in sessions:
        key = (partition, session.session_id)
        (document,) = lake.read_texts(WORKSPACE_DOCUMENTS, *key)
        lines = document[2].split("\n")
        columns = ["line_start", "line_end", "text"]
        known, covered = set(lines), set[int]()
        for row in lake.read(WORKSPACE_CHUNKS, *key, columns).to_pylist():
            start, end = row["line_start"], row["line_end"]
            if not _has_lines_of(row["text"], known, document[2]):
                misplaced.add(session.session_id)
            covered.update(range(start, end + 1))
            chunks += 1
        left_out += sum(
            bool(line.strip()) and number not in covered
            for number, line in enumerate(lines, start=1)
        )
    note_passed(components, sessions, but=misplaced)
    counts: dict[str, int | str] = {
        "documents_compared": len(sessions),
        "chunks": chunks,
        "misplaced": len(misplaced),
        "lines_left_out": left_out,
        "documents": ", ".join(sorted(misplaced)[:_LISTED]),
    }
    return Verdict(not misplaced, counts, "Run `memory index --full`.")


def _has_lines_of(text: str, lines: Set[str], whole: str) -> bool:
    """Whether each line of a text is a line of a document, or a part of one; a line with a tag may
    have been redacted further."""
    return all(
        line in lines or line in whole or TAG.search(line) is not None for line in text.split("\n")
    )
