"""Coverage: how many stored rows a search can find, per set, by words and by meaning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memory_assets.search_kinds import SEARCH_KINDS

SETS = {name: (kind.table, kind.asset, kind.keywords) for name, kind in SEARCH_KINDS.items()}
"""Table, its collection in Chroma and its keyword rows, by what a search may ask for."""


def coverage(
    stages: Mapping[str, Mapping[str, Any]],
    *,
    at_source: int,
    quarantined: int,
    vectors: bool,
    unlisted: int = 0,
) -> dict[str, dict[str, Any]]:
    """Return, by set, the rows on record, those in the collection (`indexed`) and in the
    keyword index, and whether all are in both; without `vectors`, in the latter. `quarantined`
    counts the sessions held back, `unlisted` the files and directories."""

    def count(stage: str, name: str) -> int:
        return int(stages.get(stage, {}).get(name) or 0)

    made: dict[str, dict[str, Any]] = {}
    for kind, (table, collection, keywords) in SETS.items():
        rows = count(table, "rows")
        indexed, worded = count(collection, "rows"), count(keywords, "rows")
        made[kind] = {
            "sessions": count("redacted_records", "sessions"),
            "turns": count("turn_chunks", "turns"),
            "rows": rows,
            "indexed": indexed,
            "keywords": worded,
            "vectors": vectors,
            "quarantined": quarantined,
            "unlisted": unlisted,
            "as_of": str(stages.get(collection if vectors else keywords, {}).get("made_at") or ""),
            "complete": rows == worded and (rows == indexed or not vectors),
        }
    made["prompts"] |= {"at_source": at_source, "in_records": count("redacted_records", "prompts")}
    return made


def in_words(covered: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[bool, str]]:
    """Yield the coverage as lines for a human, each with True if everything can be found."""
    behind = {kind: each for kind, each in covered.items() if not each["complete"]}
    held = max((each["quarantined"] + each["unlisted"] for each in covered.values()), default=0)
    if held:
        yield (
            False,
            f"Not everything was taken in, {held} held back: `memory status` says why and what "
            "to do.",
        )
    elif not behind:
        vectors = all(each["vectors"] for each in covered.values())
        by_words = " by its words; no vectors are made (MEMORY_EMBEDDER=none)"
        yield True, f"Everything on record can be found{'' if vectors else by_words}."
    for kind, each in behind.items():
        by_meaning = f", {each['indexed']} by their meaning" if each["vectors"] else ""
        yield (
            False,
            f"{kind}: {each['keywords']} of {each['rows']} rows can be found by their "
            f"words{by_meaning}; run `memory ingest`",
        )
