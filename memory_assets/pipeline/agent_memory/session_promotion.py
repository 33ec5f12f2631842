"""Promotion: findings that recur in the sessions of a project become memories of agents."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

from memory_assets.agent_memory.memory import FROM_SESSIONS
from memory_assets.agent_memory.policy import MemoryPolicy
from memory_assets.agent_memory.ports import StoredMemory, TrailEntry
from memory_assets.agent_memory.promotion import is_typed, promotable
from memory_assets.errors import BadArgument, NotFound, RedactionFailed
from memory_assets.pipeline.agent_memory.gateway import open_gateway, policy_of
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.report import input_hash
from memory_assets.procedures.project import Findings, Lasting, findings, lasting_of, shown_by
from memory_assets.procedures.uses import Seen
from memory_assets.session_analysis import SessionTurns
from memory_assets.session_analysis.sentences import parse_sentences
from memory_assets.stores.agents.partitions import MEMORY_HEAD, partition_of
from memory_assets.stores.lake.schemas import REDACTED_RECORDS

PROMOTER_ID = "promoter-2"
"""Changes whenever the same sessions would yield other candidates."""
MOST_SESSIONS = 200
"""Number of newest sessions of a project that are read, at 20 ms of CPU each."""
_TOPIC_CHARACTERS = 120
_SOURCE, _WHO = "import", "upkeep"
_SESSION_ORIGINS = (_SOURCE, _WHO)
"""The authors of trail entries of memories that were promoted from sessions alone."""


def candidates(sessions: Iterable[SessionTurns]) -> list[Lasting]:
    """Return the candidates for memories from the sessions of a project: recurring findings, and
    sentences of users about what shall last; the most confident first."""
    all_findings: list[Findings] = []
    occurrences: dict[str, list[tuple[str, float, Seen]]] = {}
    for session in sessions:
        all_findings += [one] if (one := findings(session)) is not None else []
        for text, kind, confidence, seen in _lasting_sentences(session):
            occurrences.setdefault(text, []).append((kind, confidence, seen))
    shown = lasting_of(all_findings)
    for text, same in occurrences.items():
        kind, confidence, _ = same[0]
        lasting = shown_by(f"said {text}", text, [seen for _, _, seen in same])
        shown.append(replace(lasting, type=kind, confidence=confidence))
    return sorted(shown, key=lambda lasting: (-lasting.confidence, lasting.topic))


def _lasting_sentences(session: SessionTurns) -> Iterator[tuple[str, str, float, Seen]]:
    for turn in session.turns:
        if turn.typed is None or not is_typed(turn.typed.text):
            continue
        for sentence in parse_sentences(turn.typed.text):
            if (promotion := promotable(sentence.text)) is not None:
                seen = Seen(session.session_id, turn.id, turn.typed.timestamp)
                yield str(sentence.text), promotion.type, promotion.confidence, seen


def promote_from_sessions(components: Components, project: str) -> int:
    """Write the candidates from a project's sessions as memories, under the policy of all memories,
    and return the number stored or renewed. Nothing is read while no session changes. Candidates
    beyond the policy's number for one window are written by the next call.

    Raises:
        StoreBusy: another process held the project's lock for longer than the lock timeout.
    """
    # Else a session that is forgotten after it was read would be stored again.
    with components.project_lock(project):
        products = components.catalog.products.of_project(REDACTED_RECORDS.name, project)
        marks = sorted(f"{name}:{candidate.output_hash}" for name, candidate in products.items())
        state = input_hash(PROMOTER_ID, *marks)
        journal = components.journal
        if not products or journal.sessions_seen(project) == state:
            return 0

        writer = _Writer(components, project)
        for candidate in candidates(sessions_read(components, project)):
            writer.write(candidate)
        if not writer.waiting:
            journal.note_sessions_seen(project, state)
        return writer.count


def sessions_read(components: Components, project: str) -> Iterator[SessionTurns]:
    """Yield the newest sessions of a project, the oldest of them first."""
    ended: dict[str, str] = defaultdict(str)
    for row in components.catalog.sources.rows(project):
        at = str(row.facts.get("last_timestamp") or "")
        ended[row.session_id] = max(ended[row.session_id], at)
    products = components.catalog.products.of_project(REDACTED_RECORDS.name, project)
    for name in sorted(products, key=lambda name: (ended[name], name))[-MOST_SESSIONS:]:
        with suppress(NotFound):  # forgotten or retained meanwhile
            if (session := components.sessions.session(products[name])) is not None:
                yield session


def promoted_from(
    components: Components, sessions: Iterable[tuple[str, str]]
) -> list[tuple[str, str]]:
    """Return partition and name of the memories that were promoted from any of these sessions
    (project, id), and have no source but sessions."""
    if not components.has_journal:
        return []
    keys = list(sessions)
    promoted: list[tuple[str, str]] = []
    for project in sorted({project for project, _ in keys}):
        ids = {session_id for of, session_id in keys if of == project}
        for memory in _memories_from_sessions(components, project):
            if not shown_only(components, memory):
                continue
            sources = _source_turns(components, memory.memory_id)
            if any(session_of(turn) in ids for turn in sources):
                name = memory.memory_id.removeprefix(MEMORY_HEAD)
                promoted.append((partition_of(project), name))
    return promoted


def shown_only(components: Components, memory: StoredMemory) -> bool:
    """Whether a memory has no source but sessions. An agent's memory that an earlier version
    promoted has the tag, too, but its trail names the agent."""
    trail = components.journal.trail(memory.memory_id)
    return FROM_SESSIONS in memory.tags and all(entry.who in _SESSION_ORIGINS for entry in trail)


class _Writer:
    """Writes candidates from sessions of a project. `waiting`: the policy refused one for now."""

    def __init__(self, components: Components, project: str) -> None:
        self._components, self._journal = components, components.journal
        self._policy: MemoryPolicy = policy_of(components.settings)
        self._memory = open_gateway(components, project)
        self._partition = partition_of(project)
        self._forgotten = components.tombstones.forgotten()
        self._known = {
            memory.entities: memory for memory in _memories_from_sessions(components, project)
        }
        self.count, self.waiting = 0, False

    def write(self, candidate: Lasting) -> None:
        """Store a new candidate, renew one seen again since, and archive the memory it replaces."""
        if not self._policy.should_store_memory(candidate.confidence, candidate.type):
            return
        try:
            topic = (self._memory.redacted(candidate.topic[:_TOPIC_CHARACTERS]),)
            memory_id = self._memory.id_of(candidate.text)
            known = self._known.get(topic)
            if (self._partition, memory_id.removeprefix(MEMORY_HEAD)) in self._forgotten:
                return
            if known is not None and (candidate.at is None or candidate.at <= known.ts):
                return  # nothing newer supports it: retention may have cut its sources
            before = None if known is None or known.memory_id == memory_id else known
            with self._journal.transaction():
                if not self._was_said_by_agent(memory_id):
                    self._write(candidate, topic[0], before)
        except (BadArgument, RedactionFailed):  # the other candidates are written
            return

    def _was_said_by_agent(self, memory_id: str) -> bool:
        """Whether a memory is on record that an agent or a conversation wrote."""
        on_record = self._journal.memories({"memory_id": memory_id})
        return any(FROM_SESSIONS not in memory.tags for memory in on_record)

    def _write(self, candidate: Lasting, topic: str, before: StoredMemory | None) -> None:
        now = self._components.clock()
        archived = self._journal.archived()
        if before is not None:
            self._journal.archive(before.memory_id, "said anew, with what was seen since")
        moment = candidate.at or datetime.fromtimestamp(now, UTC)
        written = self._memory.write_memory(
            candidate.text,
            candidate.type,
            candidate.confidence,
            moment,
            entities=(topic,),
            tags=(FROM_SESSIONS,),
            source=_SOURCE,
        )
        if written.outcome == "refused":
            self.waiting = True
            if before is not None and before.memory_id not in archived:
                self._journal.restore([before.memory_id])
            return
        if before is not None:
            why = "said anew, with what was seen since"
            entry = TrailEntry(before.memory_id, now, "archived", _WHO, (written.memory_id,), why)
            self._journal.note(entry)
        named = set(_source_turns(self._components, written.memory_id))
        new = tuple(turn for turn in candidate.sources if turn not in named)
        why = "sessions show it"
        self._journal.note(TrailEntry(written.memory_id, now, "promoted", _WHO, new, why))
        self.count += 1


def _memories_from_sessions(components: Components, project: str) -> Sequence[StoredMemory]:
    """Return the memories of a project that came from sessions, archived ones first."""
    archived = components.journal.archived()
    stored = components.journal.memories({"project": project}, sort="stored_at")
    shown = [memory for memory in stored if FROM_SESSIONS in memory.tags]
    return sorted(shown, key=lambda memory: memory.memory_id not in archived)


def _source_turns(components: Components, memory_id: str) -> list[str]:
    """Return the turns that a memory was promoted from."""
    trail = components.journal.trail(memory_id)
    return [turn for entry in trail if entry.what == "promoted" for turn in entry.of]


def session_of(turn_id: str) -> str:
    """Return the session of a turn that a memory was promoted from."""
    return turn_id.removeprefix("session::").rsplit("::turn::", 1)[0]
