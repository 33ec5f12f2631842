"""Promotion: what a user said in a conversation, to be remembered, becomes a memory."""

from __future__ import annotations

from memory_assets.agent_memory.promotion import is_typed, promotable
from memory_assets.agent_memory.trail import TrailEntry
from memory_assets.errors import BadArgument, RedactionFailed
from memory_assets.pipeline.agent_memory.gateway import open_gateway
from memory_assets.pipeline.stage.components import Components
from memory_assets.session_analysis.sentences import sentences
from memory_assets.stores.agents.partitions import MESSAGE_HEAD, partition_of


def promote(components: Components, project: str) -> int:
    """Write the sentences of a project's new turns that say that they last as memories, under the
    policy of all memories, and return the number that was not refused. Each turn is read once;
    killed within a conversation, the next call reads it again, which renews what is stored.

    Raises:
        StoreBusy: another process held the project's lock for longer than the lock timeout.
    """
    # Or what is forgotten after a turn was read would be stored again.
    with components.project_lock(partition_of(project)):
        return _promote(components, project)


def _promote(components: Components, project: str) -> int:
    journal, count = components.journal, 0
    memory = open_gateway(components, project).memory
    for conversation in sorted(journal.conversation_states(project)):
        turns = journal.unpromoted(conversation)
        for turn in turns:
            if turn.role != "user" or not is_typed(turn.text):
                continue
            for sentence in sentences(turn.text):
                if (found := promotable(sentence.text)) is None:
                    continue
                said = (sentence.text, found.type, found.confidence, turn.ts, conversation)
                try:
                    written = memory.write(*said, source="chat")
                except (BadArgument, RedactionFailed):  # of this one; the others are written
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
