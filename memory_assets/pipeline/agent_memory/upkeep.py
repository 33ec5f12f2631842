"""The upkeep of memories: faded ones are archived, other wordings of one memory are merged, and
findings of sessions and sentences that users said to be remembered are promoted to memories.

An archived memory is in no context any more; it is still found by a search, shown and audited, and
restored when it is said again. Nothing is deleted.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from memory_assets.agent_memory.memory import comparable, said_again
from memory_assets.agent_memory.policy import NOTE
from memory_assets.agent_memory.ports import StoredMemory, TrailEntry
from memory_assets.agent_memory.promotion import is_typed, promotable
from memory_assets.agent_memory.similarity import relation
from memory_assets.errors import BadArgument, EmbedderUnavailable, RedactionFailed, StoreBusy
from memory_assets.pipeline.agent_memory.gateway import open_gateway, policy_of, vectors_of
from memory_assets.pipeline.agent_memory.session_promotion import promote_from_sessions
from memory_assets.pipeline.stage.components import Components
from memory_assets.pipeline.stage.engines import Engines
from memory_assets.session_analysis.sentences import parse_sentences
from memory_assets.stores.agents.partitions import MESSAGE_HEAD, partition_of
from memory_assets.stores.lake.schemas import REDACTED_RECORDS

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_DAY = 86_400.0
_WHO = "upkeep"


@dataclass
class UpkeepReport:
    """The number of memories, of archived ones, and of those that this upkeep archived because they
    had faded, merged into others, promoted from conversations, or promoted from sessions."""

    memories: int = 0
    memories_archived: int = 0
    faded: int = 0
    merged: int = 0
    promoted: int = 0
    promoted_from_sessions: int = 0

    def to_dict(self) -> dict[str, int | str]:
        """Return the report for JSON and for Dagster's metadata; `work` says whether anything was
        changed."""
        changes = self.faded + self.merged + self.promoted + self.promoted_from_sessions
        return {"work": "done" if changes else "nothing to do", **asdict(self)}


def keep_up(components: Components) -> UpkeepReport:
    """Archive and merge memories of every project, and with MEMORY_PROMOTE=on promote new ones. A
    call that is killed leaves each project done or untouched, and the next call goes on."""
    report = UpkeepReport()
    promotes = components.settings.promote == "on"
    if promotes:
        for project in components.lake.projects(REDACTED_RECORDS):
            with suppress(StoreBusy):  # a project that is being written waits for the next night
                report.promoted_from_sessions += promote_from_sessions(components, project)
    if not components.has_journal:
        return report
    journal = components.journal
    for project in journal.projects():
        if promotes:
            with suppress(StoreBusy):
                report.promoted += promote(components, project)
        with journal.transaction():
            for memory in _faded_memories(components, project):
                half = components.settings.half_life
                why = f"not said again, and worth too little (half after {half} days)"
                _archive(components, memory, why, ())
                report.faded += 1
            report.merged += _merge(components, project)
            report.memories += len(journal.memories({"project": project}))
    report.memories_archived = len(journal.archived())
    journal.keep_copy()
    return report


def _faded_memories(components: Engines, project: str) -> list[StoredMemory]:
    policy, now = policy_of(components.settings), components.clock()
    return [
        memory
        for memory in components.journal.memories({"project": project}, archived=False)
        if memory.type != NOTE
        and policy.has_faded(memory.confidence, (now - _last_said(memory)) / _DAY)
    ]


def _last_said(memory: StoredMemory) -> float:
    """Return when a memory was stored or said last, whichever is later: one that is imported may
    be old."""
    return max(memory.ts.timestamp(), memory.stored_at)


def _archive(components: Engines, memory: StoredMemory, why: str, of: tuple[str, ...]) -> None:
    at = components.clock()
    components.journal.archive(memory.memory_id, why)
    components.journal.note(TrailEntry(memory.memory_id, at, "archived", _WHO, of, why))


def _merge(components: Engines, project: str) -> int:
    """Merge each memory that says the same as an older one into it; return the number merged. Such
    memories were stored without an embedder, or under another rule of sameness."""
    journal = components.journal
    memories = journal.memories({"project": project}, archived=False, sort="stored_at")
    cosines = _cosines(components, memories)
    if cosines is None:
        return 0
    distinct: list[int] = []
    merged = 0
    for number, memory in enumerate(memories):
        older = next(
            (
                other
                for other in distinct
                if memories[other].type == memory.type
                and comparable(memory, memories[other])
                and relation(memory.text, memories[other].text, float(cosines[number, other]))
                == "same"
            ),
            None,
        )
        if older is None:
            distinct.append(number)
            continue
        known = memories[older] = said_again(memories[older], memory, merged=True)
        also = tuple(dict.fromkeys((*known.also, *memory.also)))
        memories[older] = replace(known, also=also)
        journal.put_memories([memories[older]])
        entry = TrailEntry(known.memory_id, components.clock(), "merged", _WHO, (memory.memory_id,))
        journal.note(replace(entry, why="another wording of it was on record"))
        for step in journal.trail(memory.memory_id):
            if step.what == "merged":  # names the sources of its other wordings
                journal.note(replace(step, memory_id=known.memory_id))
        _archive(components, memory, "another wording of one that is kept", (known.memory_id,))
        merged += 1
    return merged


def _cosines(components: Engines, memories: list[StoredMemory]) -> npt.NDArray[np.float32] | None:
    """Return the cosines of all pairs of memories; None without an embedder or a pair."""
    import numpy as np

    if len(memories) < 2 or not components.embeds:
        return None
    try:
        vectors = vectors_of(components.journal, components.embedder, memories)
    except EmbedderUnavailable:
        return None
    rows = np.stack([vectors[memory.memory_id] for memory in memories])
    cosines: npt.NDArray[np.float32] = rows @ rows.T
    return cosines


def promote(components: Components, project: str) -> int:
    """Write sentences that a user said to be remembered, from a project's new turns, as memories
    under the policy of all memories, and return the number not refused. Each turn is read once; a
    conversation in which a call was killed is read again, which renews its memories.

    Raises:
        StoreBusy: another process held the project's lock for longer than the lock timeout.
    """
    # Else a turn that is forgotten after it was read would be stored again.
    with components.project_lock(partition_of(project)):
        return _promote(components, project)


def _promote(components: Components, project: str) -> int:
    journal, count = components.journal, 0
    memory = open_gateway(components, project)
    for conversation in sorted(journal.conversation_states(project)):
        turns = journal.unpromoted(conversation)
        for turn in turns:
            if turn.role != "user" or not is_typed(turn.text):
                continue
            for sentence in parse_sentences(turn.text):
                if (promotion := promotable(sentence.text)) is None:
                    continue
                said = (sentence.text, promotion.type, promotion.confidence, turn.ts, conversation)
                try:
                    written = memory.write_memory(*said, source="chat")
                except (BadArgument, RedactionFailed):  # the other sentences are written
                    continue
                if written.outcome != "refused":
                    of = (conversation, f"{MESSAGE_HEAD}{turn.message_id}")
                    why = "the user said that it lasts"
                    at = components.clock()
                    entry = TrailEntry(written.memory_id, at, "promoted", "upkeep", of, why)
                    journal.note(entry)
                    count += 1
        if turns:
            journal.note_promoted(turns[-1])
    return count
