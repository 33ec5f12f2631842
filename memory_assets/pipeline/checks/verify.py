"""Checks of a project's tables and collections.

Each function returns a `Verdict` with counts, never with text. Nothing is repaired here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow.compute as pc

from memory_assets.errors import NotFound
from memory_assets.pipeline.indexes.collections import IndexedTable
from memory_assets.pipeline.redact import redacted_records as redact
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.pending_checks import Batch, note_passed, pending_sessions
from memory_assets.stores.catalog.facts import RETAINED
from memory_assets.stores.chroma.collections import Collection
from memory_assets.stores.lake.lake import Lake, redacted_values
from memory_assets.stores.lake.schemas import (
    REDACTED_RECORDS,
    REDACTION_AUDIT,
    TURN_CHUNKS,
    TURN_EMBEDDINGS,
    Table,
)

_LISTED = 10


@dataclass(frozen=True)
class Verdict:
    """The result of a check: whether it passed, the counts, and the remedy if it did not.

    `warning`: a failure is reported, and stops nothing.
    """

    passed: bool
    counts: Mapping[str, int | str] = field(default_factory=dict)
    remedy: str = ""
    warning: bool = False


_NO_EMBEDDER = Verdict(True, {"embedder": "none: no vectors are made, none are looked at"})


def no_secrets_remain(components: Components, project: str, table: Table) -> Verdict:
    """Whether the redactor finds no secret in the free text of a table on disk.

    A file that passed is not read again until it or the rules change.
    """
    catalog, lake = components.catalog, components.lake
    version = components.ruleset_version
    sessions = pending_sessions(catalog, lake, project, table, "clean", version)
    found: Counter[str] = Counter()
    dirty: set[str] = set()
    for batch in components.rows_to_check.batches(project, table, sessions):
        for part in batch.split() if _rules_found(components, table, batch) else ():
            rules = _rules_found(components, table, part)
            if rules:
                found.update(rules)
                dirty.add(part.sessions[0].session_id)
    note_passed(catalog, (session for session in sessions if session.session_id not in dirty))
    counts: dict[str, int | str] = {
        "files_scanned": len(sessions),
        "secrets_found": found.total(),
        "files_with_secrets": len(dirty),
        "sessions": ", ".join(sorted(dirty)[:_LISTED]),
    }
    counts.update({f"rule_{rule}": count for rule, count in sorted(found.items())})
    return Verdict(
        not found,
        counts,
        f"Run `memory ingest --full --project={project}`; if it stays, report the rule by name.",
    )


def _rules_found(components: Components, table: Table, batch: Batch) -> Counter[str]:
    find = components.redactor.find
    values = redacted_values(table, batch.rows)
    return Counter(finding.rule for value in values for finding in find(value))


def rows_conserved(components: Components, project: str) -> Verdict:
    """Whether every record read was kept, dropped for a stated reason, or a bad line; and every
    block kept is a row of redacted_records, a copy, or was removed by retention."""
    unbalanced: list[str] = []
    totals: Counter[str] = Counter()
    for session_id, product in components.catalog.products.of_project(
        redact.STAGE, project
    ).items():
        facts = product.facts
        dropped, retained_away = sum(facts["dropped"].values()), facts.get(RETAINED, 0)
        on_disk = _rows_on_disk(components, project, session_id)
        totals.update(
            records=facts["records"],
            kept=facts["kept"],
            dropped=dropped,
            bad_lines=facts["bad_lines"],
            blocks=facts["blocks"],
            rows=on_disk,
            copied=facts["copied_blocks"],
            retained_away=retained_away,
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
        f"Run `memory ingest --full --project={project}`.",
    )


def audit_matches_records(components: Components, project: str) -> Verdict:
    """Whether redaction_audit has as many entries for each record as its `redactions` counts."""
    catalog, lake = components.catalog, components.lake
    sessions = pending_sessions(
        catalog, lake, project, REDACTED_RECORDS, "audited", compared_to=REDACTION_AUDIT
    )
    differing: list[str] = []
    entries = records = 0
    for session_id in (session.session_id for session in sessions):
        said = _redactions_said(components, project, session_id)
        traced = _redactions_traced(components, project, session_id)
        records += len(said)
        entries += traced.total()
        if traced != said:
            differing.append(session_id)
    note_passed(catalog, (each for each in sessions if each.session_id not in differing))
    return Verdict(
        not differing,
        {
            "sessions_compared": len(sessions),
            "records_with_redactions": records,
            "entries": entries,
            "sessions_that_differ": len(differing),
            "sessions": ", ".join(differing[:_LISTED]),
        },
        f"Run `memory ingest --full --project={project}`.",
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
    """Whether each human prompt of redacted_records begins in exactly one chunk."""
    catalog, lake = components.catalog, components.lake
    sessions = pending_sessions(
        catalog, lake, project, REDACTED_RECORDS, "prompted", compared_to=TURN_CHUNKS
    )
    missing = repeated = extra = prompts = 0
    for session in sessions:
        wanted, starts = _prompts_and_starts(lake, project, session.session_id)
        prompts += len(wanted)
        missing += len(wanted - starts.keys())
        extra += len(starts.keys() - wanted)
        repeated += sum(count > 1 for count in starts.values())
    if missing == repeated == extra == 0:
        note_passed(catalog, sessions)
    return Verdict(
        missing == repeated == extra == 0,
        {
            "sessions_compared": len(sessions),
            "prompts": prompts,
            "missing": missing,
            "repeated": repeated,
            "unknown": extra,
        },
        f"Run `memory ingest --full --project={project}`.",
    )


def collection_matches(components: Components, project: str, index: IndexedTable) -> Verdict:
    """Whether the ids in the collections are exactly those of the table."""
    if not components.embeds:
        return _NO_EMBEDDER
    products = components.catalog.products.of_project(index.stage, project).values()
    wanted: dict[str, set[str]] = {made.facts["collection"]: set() for made in products}
    for row in components.lake.read_partition(index.table, project, ["id", "agent"]).to_pylist():
        wanted.setdefault(index.collection(row["agent"]), set()).add(row["id"])
    missing = extra = rows = 0
    for name, ids in wanted.items():
        collection = _collection(components, name)
        indexed = collection.ids({"project": project}) if collection else set()
        rows += len(indexed)
        missing += len(ids - indexed)
        extra += len(indexed - ids)
    return Verdict(
        missing == extra == 0,
        {"rows": rows, "missing": missing, "extra": extra},
        f"Run `memory ingest --full --project={project}`.",
    )


def embedder_consistent(components: Components, project: str, index: IndexedTable) -> Verdict:
    """Whether all vectors of the project, and the collections they are in, were made by
    the embedder of the settings."""
    if not components.embeds:
        return _NO_EMBEDDER
    wanted = components.embedder.embedder_id
    others: Counter[str] = Counter()
    rows = components.lake.read_partition(index.embeddings, project, ["embedder_id"])
    others.update(row["embedder_id"] for row in rows.to_pylist())
    products = components.catalog.products.of_project(index.stage, project).values()
    for name in sorted({product.facts["collection"] for product in products}):
        collection = _collection(components, name)
        if collection is not None and collection.embedder_id != wanted:
            others[collection.embedder_id] += 1
    vectors = others.pop(wanted, 0)
    return Verdict(
        not others,
        {"vectors": vectors, "of_other_embedders": others.total(), "embedder_id": wanted},
        "Run `memory ingest --full` to embed everything with the model of the settings.",
    )


def vectors_complete(components: Components, project: str) -> Verdict:
    """Whether turn_embeddings holds exactly one vector for each chunk."""
    if not components.embeds:
        return _NO_EMBEDDER
    catalog, lake = components.catalog, components.lake
    sessions = pending_sessions(
        catalog, lake, project, TURN_CHUNKS, "embedded", compared_to=TURN_EMBEDDINGS
    )
    vectors = missing = extra = repeated = 0
    for session in sessions:
        wanted, found = (
            _ids_and_hashes(lake, table, project, session.session_id)
            for table in (TURN_CHUNKS, TURN_EMBEDDINGS)
        )
        vectors += len(found)
        missing += len(set(wanted) - set(found))
        extra += len(set(found) - set(wanted))
        repeated += len(found) - len(set(found))
    if missing == extra == repeated == 0:
        note_passed(catalog, sessions)
    return Verdict(
        missing == extra == repeated == 0,
        {
            "sessions_compared": len(sessions),
            "vectors": vectors,
            "missing": missing,
            "extra": extra,
            "repeated": repeated,
        },
        f"Run `memory ingest --full --project={project}`.",
    )


def _ids_and_hashes(
    lake: Lake, table: Table, project: str, session_id: str
) -> list[tuple[str, str]]:
    try:
        rows = lake.read(table, project, session_id, ["id", "content_hash"])
    except NotFound:
        return []
    ids, hashes = rows["id"].to_pylist(), rows["content_hash"].to_pylist()
    return [(str(row_id), str(content)) for row_id, content in zip(ids, hashes, strict=True)]


def _collection(components: Components, name: str) -> Collection | None:
    try:
        return components.vectors.get(name)
    except NotFound:
        return None


def _prompts_and_starts(lake: Lake, project: str, session_id: str) -> tuple[set[str], Counter[str]]:
    """Return the ids of a session's prompts, and the number of chunks that begin with each."""
    wanted: set[str] = set()
    try:
        records = lake.read(REDACTED_RECORDS, project, session_id, ["record_uuid", "kind"])
    except NotFound:
        pass
    else:
        prompts = records.filter(pc.field("kind") == "prompt")
        wanted = {str(name) for name in prompts["record_uuid"].to_pylist()}
    try:
        chunks = lake.read(TURN_CHUNKS, project, session_id, ["prompt_uuid"])
    except NotFound:
        return wanted, Counter()
    return wanted, Counter(str(name) for name in chunks["prompt_uuid"].to_pylist() if name)


def _redactions_said(components: Components, project: str, session_id: str) -> Counter[str]:
    columns = ["agent_id", "seq", "redactions"]
    try:
        rows = components.lake.read(REDACTED_RECORDS, project, session_id, columns)
    except NotFound:
        return Counter()
    counts = rows.filter(pc.field("redactions") > 0).to_pylist()
    return Counter({f"{row['agent_id']}:{row['seq']}": row["redactions"] for row in counts})


def _redactions_traced(components: Components, project: str, session_id: str) -> Counter[str]:
    try:
        rows = components.lake.read(REDACTION_AUDIT, project, session_id, ["agent_id", "seq"])
    except NotFound:
        return Counter()
    return Counter(f"{row['agent_id']}:{row['seq']}" for row in rows.to_pylist())


def _rows_on_disk(components: Components, project: str, session_id: str) -> int:
    try:
        return components.lake.read_footer(REDACTED_RECORDS, project, session_id)[0].rows
    except NotFound:
        return 0
