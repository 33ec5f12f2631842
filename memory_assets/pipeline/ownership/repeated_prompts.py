"""Recognising sessions of orchestrators by repetition: the same prompt, word for word, begins many
sessions, and nobody adds a prompt in them.

People repeat themselves, too, but shortly ("continue", a command), or they go on talking. Of 204
sessions of 27 repositories that people led, at most two begin with the same long prompt; the short
ones that begin up to five are 6 characters at most.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from memory_assets.models import NOT_TYPED, PROGRAM, Record
from memory_assets.record_identity import RecordIdentity
from memory_assets.stores.catalog.schema import SourceRow

_SHORTEST_REPEATED = 60
"""Fewest letters of a prompt that nobody types repeatedly."""
_WIDE = re.compile(r"[\u2e80-\ud7ff]")
"""A character of Chinese, Japanese or Korean, which counts as three letters."""
_FEWEST_SESSIONS = 5
"""Fewest sessions that begin with the same prompt of an orchestrator."""
_ONE_PROMPT_SHARE = 0.9
"""The least share of them without another prompt."""
_MOMENT = re.compile(
    r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?|\b\d\d?:\d\d\b"
    r"|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"
    r"|\b(?:run|round|iteration|attempt|batch|shard|worker)(?: (?:no\.?|number|id))? #?\d+\b",
    re.IGNORECASE,
)
"""Parts of an orchestrator's prompt that differ each time: date, time, and the run's id or
number."""


class Opening:
    """The first prompt of a session: pass its records to `see`, then read `fact`."""

    def __init__(self, identity: RecordIdentity) -> None:
        self._identity = identity
        self._prompts = 0
        self._first = ""

    def see(self, record: Record) -> None:
        """Note a prompt that somebody may have typed."""
        if record.kind == "prompt" and record.subtype not in NOT_TYPED:
            self._prompts += 1
            if self._prompts == 1 and not record.subtype:
                self._first = " ".join(_MOMENT.sub("", record.text).split())

    @property
    def fact(self) -> tuple[int, int] | None:
        """The keyed hash of the first prompt and the number of all; None if it is short, or a
        command."""
        if len(self._first) + 2 * len(_WIDE.findall(self._first)) < _SHORTEST_REPEATED:
            return None
        said = self._first.encode("utf-8", "surrogatepass")
        return self._identity.content_of(said), self._prompts


def orchestrated_sessions(rows: Iterable[SourceRow]) -> frozenset[str]:
    """Return the sessions of a project, whose files are these rows, that orchestrators started."""
    begun: defaultdict[int, dict[str, int]] = defaultdict(dict)
    for row in rows:
        fact = row.facts.get("opening")
        if fact is not None and not row.agent_id:
            begun[int(fact[0])][row.session_id] = int(fact[1])
    names: set[str] = set()
    for sessions in begun.values():
        alone = {name for name, prompts in sessions.items() if prompts == 1}
        if len(alone) >= _FEWEST_SESSIONS and len(alone) >= _ONE_PROMPT_SHARE * len(sessions):
            names |= alone
    return frozenset(names)


def asked_by(record: Record, repeats: bool) -> Record:
    """Return a record, marked as a program's prompt if its session is an orchestrator's."""
    if not repeats or record.kind != "prompt" or record.subtype:
        return record
    return replace(record, subtype=PROGRAM)
