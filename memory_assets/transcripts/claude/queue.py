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

from memory_assets.transcripts.authorship import ClassifiedText, text_in_tag
from memory_assets.transcripts.claude.prompts import classify_queued
from memory_assets.transcripts.fields import text_field
from memory_assets.transcripts.ids import derived_id, text_hash
from memory_assets.transcripts.lines import JsonObject
from memory_assets.transcripts.session import Frame, HeldText
from memory_assets.transcripts.texts import content_text


class ResolvedEntry(NamedTuple):
    """A queued text whose fate is known: `reason` is "" if it is to be emitted."""

    queued: HeldText
    reason: str


DUPLICATE = "queued-duplicate"
WITHDRAWN = "queued-withdrawn"
MACHINE = "queued-machine-text"
MAX_WAITING = 1_000


def queued_text(record: JsonObject, frame: Frame) -> HeldText:
    """Return the text that an `enqueue` record puts into the queue."""
    content = classify_queued(content_text(record.get("content")))
    frame.record_uuid = derived_id("queued", text_field(record, "timestamp"), content.text)
    return HeldText(content, frame)


def _resolve_given(item: HeldText) -> ResolvedEntry:
    """An entry that no other record has: it is told, but for commands to the CLI itself."""
    of_the_cli = item.content.subtype == "local-command"
    return ResolvedEntry(item, MACHINE if of_the_cli else "")


def _is_same_text(item: HeldText, content: ClassifiedText) -> bool:
    """Whether a record says what was queued; frames of machines differ in their attributes."""
    if item.is_human or content.kind == "prompt":
        return item.content.text == content.text
    return text_in_tag(item.content.text) == text_in_tag(content.text)


def _content_hash(content: ClassifiedText) -> int:
    return text_hash(content.text if content.kind == "prompt" else text_in_tag(content.text))


class PromptQueue:
    """Follows the queue through one file and emits the entries that become prompts."""

    def __init__(self) -> None:
        self._waiting: list[HeldText] = []
        self._removed: list[HeldText] = []
        self._dequeued: list[HeldText] = []
        self._emitted: Counter[int] = Counter()

    def enqueue(self, queued: HeldText) -> list[ResolvedEntry]:
        """Note a text that was typed or notified; resolves the oldest of too many."""
        self._waiting.append(queued)
        if len(self._waiting) <= MAX_WAITING:
            return []
        return [_resolve_given(self._waiting.pop(0))]

    def remove(self, named: HeldText) -> bool:
        """The text that a record names, or if that has none the next one, went into the turn.
        Return whether it was never queued, so that the record stands for it."""
        return self._take(self._removed, named)

    def dequeue(self, named: HeldText) -> bool:
        """The text that a record names, or the next one, is about to be sent as a user record.
        Return whether it was never queued."""
        return self._take(self._dequeued, named)

    def pop_all(self, text: str) -> list[ResolvedEntry]:
        """The human took `text`, or if it is not queued all their texts, back."""
        withdrawn = [item for item in self._waiting if item.is_human and item.content.text == text][
            :1
        ]
        withdrawn = withdrawn or [
            item for item in self._waiting if item.is_human or not item.content.text
        ]
        for item in withdrawn:
            self._waiting.remove(item)
        return [ResolvedEntry(item, WITHDRAWN) for item in withdrawn]

    def prompt_sent(self, content: ClassifiedText) -> list[ResolvedEntry]:
        """A user record carries a prompt, or a command to the CLI (with no text)."""
        resolved = [
            ResolvedEntry(item, DUPLICATE) if _is_same_text(item, content) else _resolve_given(item)
            for item in self._removed
        ]
        resolved += [
            ResolvedEntry(item, DUPLICATE)
            if item.is_human or _is_same_text(item, content)
            else _resolve_given(item)
            for item in self._dequeued
        ]
        self._removed, self._dequeued = [], []
        return resolved + self._drop(self._waiting, content)

    def delivered(self, content: ClassifiedText) -> tuple[list[ResolvedEntry], bool]:
        """A queued command, a tool result's text block, or a machine's user record carries a text.

        Returns the entries to emit, and whether the text has been emitted before.
        """
        resolved = self._drop(self._removed, content)
        if not resolved and content.kind != "prompt":
            resolved = self._drop(self._dequeued, content)
        if not resolved and self._emitted[_content_hash(content)]:
            self._emitted[_content_hash(content)] -= 1
            return [], True
        return resolved or self._drop(self._waiting, content), False

    def agent_spoke(self) -> list[ResolvedEntry]:
        """Return the texts that went into the running turn: the agent has read them."""
        answered = [item for item in self._dequeued if not item.is_human]
        if not self._removed and not answered:
            return []
        read = [*self._removed, *answered]
        self._dequeued = [item for item in self._dequeued if item.is_human]
        self._removed = []
        self._emitted.update(_content_hash(item.content) for item in read)
        return [_resolve_given(item) for item in read]

    def end(self) -> list[ResolvedEntry]:
        """The file ends: resolve all that is left, delivered texts first."""
        remaining = [*self._removed, *self._dequeued, *self._waiting]
        self._removed, self._dequeued = [], []
        self._waiting.clear()
        return [_resolve_given(item) for item in remaining]

    @staticmethod
    def _drop(items: list[HeldText], content: ClassifiedText) -> list[ResolvedEntry]:
        """Take the first entry that says the same from `items`, as a duplicate."""
        for item in items:
            if _is_same_text(item, content):
                items.remove(item)
                return [ResolvedEntry(item, DUPLICATE)]
        return []

    def _take(self, destination: list[HeldText], named: HeldText) -> bool:
        if named.content.text:
            fitting = [item for item in self._waiting if _is_same_text(item, named.content)]
        else:
            fitting = [item for item in self._waiting if item.is_human] or self._waiting
        if fitting:
            destination.append(fitting[0])
            self._waiting.remove(fitting[0])
        elif named.content.text:
            destination.append(named)
        return bool(named.content.text) and not fitting
