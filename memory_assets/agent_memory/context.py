"""The context of an agent's next answer: memories and turns within a token budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory_assets.agent_memory.gateway import MemoryGateway
from memory_assets.agent_memory.policy import LEAST_BUDGET, NOTE
from memory_assets.agent_memory.ports import ConversationTurn, Found, StoredMemory
from memory_assets.agent_memory.similarity import NEAR_FROM, difference
from memory_assets.errors import BadArgument

if TYPE_CHECKING:  # its import takes longer than building a context
    from memory_assets.agent_memory_models import HistorySummary

CUT = " … (cut)"


@dataclass(frozen=True)
class ContextLimits:
    """The most tokens of a context, turns of the conversation, and memories. If there is a message,
    memories whose cosine with it is below `near` are left out (without vectors: those that have no
    word in common with it)."""

    budget: int = 2_000
    tail_n: int = 16
    top_k: int = 8
    near: float = NEAR_FROM


@dataclass(frozen=True)
class Context:
    """A context as text, its length in tokens, and the ids of the turns and memories that did not
    fit; `cut`: the latest message was cut."""

    text: str
    tokens: int
    dropped: tuple[str, ...] = ()
    cut: bool = False


class ContextBuilder:
    """Builds contexts. `count_tokens` counts in the unit of the budget; `frame` puts lines between
    marks that their text cannot close, always the same for the same lines; `summaries_beside`
    returns the summaries of a conversation's other turns, in order; `work` are lines on earlier
    work in the project; `shorten` abbreviates the id of a note's target. The `gateway` is None if
    nothing was ever written."""

    def __init__(
        self,
        gateway: MemoryGateway | None,
        count_tokens: Callable[[str], int],
        frame: Callable[[Sequence[str]], str],
        limits: ContextLimits,
        summaries_beside: Callable[
            [Sequence[ConversationTurn]], Sequence[HistorySummary]
        ] = lambda turns: (),
        work: Sequence[str] = (),
        shorten: Callable[[str], str] = str,
    ) -> None:
        if limits.budget < LEAST_BUDGET:
            raise BadArgument(f"budget: give at least {LEAST_BUDGET} tokens, not {limits.budget}")
        self._gateway = gateway
        self._count = count_tokens
        self._frame = frame
        self._limits = limits
        self._summaries_beside = summaries_beside
        self._work = work
        self._shorten = shorten

    def build_context(self, conversation_id: str, latest_user_text: str = "") -> Context:
        """Return the memories near the latest message, then earlier work, summaries of earlier
        turns, the last turns in order, and the message. If they do not fit, these are left out in
        turn: the work, the oldest summaries, the oldest turns, the weakest memories. A message that
        alone is too long is cut with a mark. The context is empty if there is nothing to show."""
        limits = self._limits
        gateway = self._gateway
        turns = gateway.tail_history(conversation_id, limits.tail_n) if gateway else []
        is_whole = not turns or turns[-1].turn_index == len(turns) - 1
        earlier = [] if is_whole else list(self._summaries_beside(turns))
        latest = latest_user_text.strip()
        if turns and turns[-1].role == "user" and turns[-1].text.strip() == latest:
            turns.pop()
        memories = []
        if gateway:
            recalled = gateway.recall_memory(latest, limits.top_k)
            memories = self._near(recalled) if latest else [hit.memory for hit in recalled]
        work = list(self._work)
        strongest = sorted(
            range(len(memories)), key=lambda at: (-memories[at].confidence, at)
        )  # places, the weakest last
        dropped: list[str] = []
        while True:
            kept = [memories[at] for at in sorted(strongest)]
            text = self._text(earlier, turns, kept, work, latest)
            if not text or self._count(text) <= limits.budget:
                break
            if work:
                work.clear()
            elif earlier:
                dropped.append(earlier.pop(0).id)
            elif turns:
                dropped.append(turns.pop(0).message_id)
            elif strongest:
                dropped.append(memories[strongest.pop()].memory_id)
            else:
                text = self._cut(latest)
                return Context(text, self._count(text), tuple(dropped), cut=True)
        return Context(text, self._count(text) if text else 0, tuple(dropped))

    def _near(self, recalled: Sequence[Found]) -> list[StoredMemory]:
        """Return the memories near the message, and those that contradict one of them."""
        near = {
            hit.memory.memory_id
            for hit in recalled
            if hit.similarity >= self._limits.near or (hit.by_words and hit.similarity > 0)
        }
        memories = [hit.memory for hit in recalled]
        return [memory for memory in memories if near & {memory.memory_id, *memory.contradicts}]

    def _text(
        self,
        earlier: Sequence[HistorySummary],
        turns: Sequence[ConversationTurn],
        memories: Sequence[StoredMemory],
        work: Sequence[str],
        latest: str,
    ) -> str:
        lines: list[str] = []
        if memories:
            lines += ("Remembered:", *(self._bullet(memory, memories) for memory in memories))
        lines += work
        if earlier:
            lines += ("Said earlier, in short:", *map(_summary, earlier))
        if turns:
            lines += ("Said before:", *map(_line, turns))
        parts = [self._frame(lines)] if lines else []
        return "\n\n".join((*parts, latest) if latest else parts)

    def _bullet(self, memory: StoredMemory, memories: Sequence[StoredMemory]) -> str:
        """Return the line of a memory, with the contradictions to those of `memories`."""
        contradicted = (other for other in memories if other.memory_id in memory.contradicts)
        note = "; ".join(difference(memory.text, other.text) for other in contradicted)
        note = f", newer than and contrary to one below: {note}" if note else ""
        text = " ".join(memory.text.split())
        day = memory.ts.date()
        if memory.type == NOTE:
            targets = ", ".join(map(self._shorten, memory.entities))
            return f"- {text} (the user's note on {targets}, {day})"
        return f"- {text} ({memory.type}, {day}, confidence {memory.confidence:g}{note})"

    def _cut(self, latest: str) -> str:
        """Return the longest beginning of the message that fits the budget, with a mark."""
        low, high = 0, len(latest)
        while low < high:
            middle = (low + high + 1) // 2
            fits = self._count(latest[:middle] + CUT) <= self._limits.budget
            low, high = (middle, high) if fits else (low, middle - 1)
        return latest[:low] + CUT


def _summary(part: HistorySummary) -> str:
    text = " ".join(part.text.split())
    return f"- turns {part.first_turn} to {part.last_turn}, {part.ended_at.date()}: {text}"


def _line(turn: ConversationTurn) -> str:
    text = turn.text.replace("\n", "\n  ")
    return f"{turn.role}, {turn.ts:%Y-%m-%d %H:%M}Z: {text}"
