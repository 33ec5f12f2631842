"""Prompts that exist only in Claude Code's queue: text typed while the agent works.

The records (observed in 1.0.x to 2.1.x):

- `enqueue` carries `content`: a human prompt, a bare slash command, or a machine's task
  notification (`<task-notification>`, or JSON that begins with `{"task_id"`). Pasted
  images only: no content.
- `remove` (no content in any session seen; with it in the samples of another reader): the text
  goes into the running turn. Up to 2.1.100 no other record has it; from 2.1.101 an `attachment` of
  type `queued_command` follows, and some versions append it as a text block to the next tool
  result.
- `dequeue` (no content): a turn ends, and the text follows as a user record; several
  dequeued ones may be joined into one. SDK and desktop sessions enqueue every prompt so.
- `popAll` (with content): the human took it back into the editor.

A `remove` or `dequeue` without content does not name its entry: human entries are taken before
those of machines, and older ones first; this explains every sequence in the evaluation data. One
with a content that was never queued, as at the beginning of a file cut short, counts as queued.

A removed text is held until the agent's next message, because a record of its own, with
a uuid, may follow and replaces it. An equal text after the agent's message was typed again
and counts again. A dequeued prompt is held until the next prompt record, which replaces it; a
machine's text only until the agent answers. Prompts that are held or queued when the file ends
are emitted last, delivered ones first. When the file has grown, its prompts come in an unchanged
order, except for those that were still queued.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from memory_assets.transcripts.authorship import said_inside
from memory_assets.transcripts.claude.prompts import classify_queued
from memory_assets.transcripts.fields import content_text, derived_id, mark, text_field
from memory_assets.transcripts.lines import JsonObject
from memory_assets.transcripts.session import Frame, Held, Said


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
    return Held(said, frame)


def _given(item: Held) -> Resolved:
    """An entry that no other record has: it is told, but for commands to the CLI itself."""
    of_the_cli = item.said.subtype == "local-command"
    return Resolved(item, MACHINE if of_the_cli else "")


def _same(item: Held, said: Said) -> bool:
    """Whether a record says what was queued; frames of machines differ in their attributes."""
    if item.is_human or said.kind == "prompt":
        return item.said.text == said.text
    return said_inside(item.said.text) == said_inside(said.text)


def _mark(said: Said) -> int:
    return mark(said.text if said.kind == "prompt" else said_inside(said.text))


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
        return [_given(self._waiting.pop(0))]

    def remove(self, named: Held) -> bool:
        """The text that a record names, or if that has none the next one, went into the turn.
        Return whether it was never queued, so that the record stands for it."""
        return self._take(self._removed, named)

    def dequeue(self, named: Held) -> bool:
        """The text that a record names, or the next one, is about to be sent as a user record.
        Return whether it was never queued."""
        return self._take(self._dequeued, named)

    def pop_all(self, text: str) -> list[Resolved]:
        """The human took `text`, or if it is not queued all their texts, back."""
        taken = [item for item in self._waiting if item.is_human and item.said.text == text][:1]
        taken = taken or [item for item in self._waiting if item.is_human or not item.said.text]
        for item in taken:
            self._waiting.remove(item)
        return [Resolved(item, WITHDRAWN) for item in taken]

    def prompt_sent(self, said: Said) -> list[Resolved]:
        """A user record carries a prompt, or a command to the CLI (with no text)."""
        resolved = [
            Resolved(item, DUPLICATE) if _same(item, said) else _given(item)
            for item in self._removed
        ]
        resolved += [
            Resolved(item, DUPLICATE) if item.is_human or _same(item, said) else _given(item)
            for item in self._dequeued
        ]
        self._removed, self._dequeued = [], []
        return resolved + self._drop(self._waiting, said)

    def delivered(self, said: Said) -> tuple[list[Resolved], bool]:
        """A queued command, a tool result's text block, or a machine's user record carries a text.

        Returns the entries to emit, and whether the text has been emitted before.
        """
        resolved = self._drop(self._removed, said)
        if not resolved and said.kind != "prompt":
            resolved = self._drop(self._dequeued, said)
        if not resolved and self._emitted[_mark(said)]:
            self._emitted[_mark(said)] -= 1
            return [], True
        return resolved or self._drop(self._waiting, said), False

    def agent_spoke(self) -> list[Resolved]:
        """Return the texts that went into the running turn: the agent has read them."""
        answered = [item for item in self._dequeued if not item.is_human]
        if not self._removed and not answered:
            return []
        read = [*self._removed, *answered]
        self._dequeued = [item for item in self._dequeued if item.is_human]
        self._removed = []
        self._emitted.update(_mark(item.said) for item in read)
        return [_given(item) for item in read]

    def end(self) -> list[Resolved]:
        """The file ends: resolve all that is left, delivered texts first."""
        left = [*self._removed, *self._dequeued, *self._waiting]
        self._removed, self._dequeued = [], []
        self._waiting.clear()
        return [_given(item) for item in left]

    @staticmethod
    def _drop(items: list[Held], said: Said) -> list[Resolved]:
        """Take the first entry that says the same from `items`, as a duplicate."""
        for item in items:
            if _same(item, said):
                items.remove(item)
                return [Resolved(item, DUPLICATE)]
        return []

    def _take(self, destination: list[Held], named: Held) -> bool:
        if named.said.text:
            fitting = [item for item in self._waiting if _same(item, named.said)]
        else:
            fitting = [item for item in self._waiting if item.is_human] or self._waiting
        if fitting:
            destination.append(fitting[0])
            self._waiting.remove(fitting[0])
        elif named.said.text:
            destination.append(named)
        return bool(named.said.text) and not fitting
