"""The tokens of real Claude Code sessions, held against a count made apart from the reader: that of
ccusage, by message and request over all files at once."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from memory_assets.transcripts import ReadReport, discover, read_session

_FIELDS = (
    *("input_tokens", "output_tokens"),
    *("cache_read_input_tokens", "cache_creation_input_tokens"),
)


def test_real_sessions_took_what_ccusage_counts(dev_transcripts: Path) -> None:
    """Within one in two hundred: forks are ours once and warm-ups not at all, which are half a
    percent of what was given without a cache, and a hundredth of that of the rest."""
    roots = {"claude-code": sorted(dev_transcripts.glob("*/claude"))}
    sources = list(discover(roots))
    ours: Counter[str] = Counter()
    met: set[str] = set()
    for source in sources:
        for record in read_session(source.path, source=source, report=ReadReport()):
            if record.tokens and record.record_uuid not in met:
                met.add(record.record_uuid)
                ours.update(dict(zip(_FIELDS, record.tokens, strict=False)))
    counted = _counted([source.path for source in sources])
    for name in _FIELDS:
        assert abs(ours[name] - counted[name]) <= counted[name] / 200, (name, ours, counted)


def _counted(paths: list[Path]) -> Counter[str]:
    answers: dict[tuple[str, str], dict[str, int]] = {}
    for path in paths:
        for line in path.read_bytes().splitlines():
            try:
                record: dict[str, Any] = json.loads(line)
                message = record["message"]
                usage = {name: message["usage"].get(name, 0) for name in _FIELDS}
            except (ValueError, KeyError, TypeError, AttributeError):
                continue
            key = (message.get("id", ""), record.get("requestId", ""))
            if sum(usage.values()) > sum(answers.get(key, {}).values()):
                answers[key] = usage
    total: Counter[str] = Counter()
    for usage in answers.values():
        total.update(usage)
    return total
