"""Prompts that exist only in Claude Code's queue: text typed while the agent works.

The records (observed in 1.0.x to 2.1.x):

- `enqueue` carries `content`: a human prompt, a bare slash command, or a machine's task
  notification (`<task-notification>`, or JSON that begins with `{"task_id"`). Pasted
  images only: no content.
- `remove` (no content): the text goes into the running turn. Up to 2.1.100 no other
  record has it; from 2.1.101 an `attachment` of type `queued_command` follows, and
  some versions append it as a text block to the next tool result.
- `dequeue` (no content): a turn ends, and the text follows as a user record; several
  dequeued ones may be joined into one. SDK and desktop sessions enqueue every prompt so.
- `popAll` (with content): the human took it back into the editor.

`remove` and `dequeue` do not name their entry. Human entries are taken before those of
machines, and older ones first; this explains every sequence in the evaluation data.

A removed prompt is held until the agent's next message, because a record of its own, with
a uuid, may follow and replaces it. An equal text after the agent's message was typed again
and counts again. A dequeued prompt is held until the next prompt record, which replaces it.
Prompts that are held or queued when the file ends are emitted last, delivered ones first.
When the file has grown, its prompts come in an unchanged order, except for those that were
still queued.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from memory_assets.transcripts.claude.prompts import classify_queued
from memory_assets.transcripts.fields import content_text, derived_id, mark, text_field
from memory_assets.transcripts.lines import JsonObject
from memory_assets.transcripts.session import Frame, Held


class Resolved(NamedTuple):
    """A queued text whose fate is known: `reason` is "" if it is to be emitted."""

    queued: Held
    reason: str


DUPLICATE = "queued-duplicate"
WITHDRAWN = "queued-withdrawn"
MACHINE = "queued-machine-text"
MAX_WAITING = 1_000


def queued_text(record: JsonObject, frame: Frame) -> Held:
    """Return the text that an `enqueue` record puts into the queue."""
    said = classify_queued(content_text(record.get("content")))
    frame.record_uuid = derived_id("queued", text_field(record, "timestamp"), said.text)
    if said.kind != "prompt":
        said = said._replace(text="")
    return Held(said, frame)


def _left_over(item: Held) -> Resolved:
    return Resolved(item, "" if item.is_human else MACHINE)


class PromptQueue:
    """Follows the queue through one file and emits the entries that become prompts."""

    def __init__(self) -> None:
        self._waiting: list[Held] = []
        self._removed: list[Held] = []
        self._dequeued: list[Held] = []
        self._emitted: Counter[int] = Counter()

    def enqueue(self, queued: Held) -> list[Resolved]:
        """Note a text that was typed or notified; resolves the oldest of too many."""
        self._waiting.append(queued)
        if len(self._waiting) <= MAX_WAITING:
            return []
        return [_left_over(self._waiting.pop(0))]

    def remove(self) -> list[Resolved]:
        """The next text went into the running turn."""
        return self._take(self._removed)

    def dequeue(self) -> list[Resolved]:
        """The next text is about to be sent as a user record."""
        return self._take(self._dequeued)

    def pop_all(self, text: str) -> list[Resolved]:
        """The human took `text`, or if it is not queued all their texts, back."""
        taken = [item for item in self._waiting if item.is_human and item.said.text == text][:1]
        taken = taken or [item for item in self._waiting if item.is_human or not item.said.text]
        for item in taken:
            self._waiting.remove(item)
        return [Resolved(item, WITHDRAWN) for item in taken]

    def prompt_sent(self, text: str) -> list[Resolved]:
        """A user record carries the human prompt `text`."""
        resolved = [
            Resolved(item, DUPLICATE if item.said.text == text else "") for item in self._removed
        ]
        resolved += [Resolved(item, DUPLICATE) for item in self._dequeued]
        self._removed, self._dequeued = [], []
        return resolved + self._drop(self._waiting, text)

    def prompt_delivered(self, text: str) -> tuple[list[Resolved], bool]:
        """A queued command or a tool result's text block carries the human prompt `text`.

        Returns the entries to emit, and whether `text` has been emitted before.
        """
        resolved = self._drop(self._removed, text)
        if not resolved and self._emitted[mark(text)]:
            self._emitted[mark(text)] -= 1
            return [], True
        return resolved or self._drop(self._waiting, text), False

    def agent_spoke(self) -> list[Resolved]:
        """Return the prompts that went into the running turn: the agent has read them."""
        if not self._removed:
            return []
        resolved = [Resolved(item, "") for item in self._removed]
        self._emitted.update(mark(item.said.text) for item in self._removed)
        self._removed = []
        return resolved

    def end(self) -> list[Resolved]:
        """The file ends: resolve all that is left, delivered texts first."""
        left = [*self._removed, *self._dequeued, *self._waiting]
        self._removed, self._dequeued = [], []
        self._waiting.clear()
        return [_left_over(item) for item in left]

    @staticmethod
    def _drop(items: list[Held], text: str) -> list[Resolved]:
        """Take the first human prompt that says `text` from `items`, as a duplicate."""
        for item in items:
            if item.is_human and item.said.text == text:
                items.remove(item)
                return [Resolved(item, DUPLICATE)]
        return []

    def _take(self, destination: list[Held]) -> list[Resolved]:
        if not self._waiting:
            return []
        item = next((item for item in self._waiting if item.is_human), self._waiting[0])
        self._waiting.remove(item)
        if item.is_human:
            destination.append(item)
            return []
        return [Resolved(item, MACHINE)]
