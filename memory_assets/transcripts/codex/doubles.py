"""Drop one of the two copies that Codex writes of each message, in one pass.

A message is written as `response_item` (sent to the model) and as `event_msg` (shown in the
UI). An assistant's event comes just before its item, in older versions just after; texts
may differ (plans and citations are wrapped in the item). The item is kept; an event without
an item is kept, too. A user's item comes just before its event; only submitted texts have an
event, so the event is kept. An item without an event is kept only until the first event is
seen, because some versions write none.

A held text is released by the next record of another type, so every prefix of a file gives
a prefix of its prompts.
"""

from __future__ import annotations

from collections import OrderedDict

from memory_assets.transcripts.authorship import ClassifiedText
from memory_assets.transcripts.ids import text_hash
from memory_assets.transcripts.session import HeldText

_REMEMBERED = 64
_NOTHING = text_hash("")


class RecentTexts:
    """The last texts of one stream, each to be matched once."""

    def __init__(self) -> None:
        self._marks: OrderedDict[int, None] = OrderedDict()

    def add(self, text: str) -> None:
        """Remember `text`."""
        self._marks[text_hash(text.strip())] = None
        if len(self._marks) > _REMEMBERED:
            self._marks.popitem(last=False)

    def match(self, text: str) -> bool:
        """Return whether `text` is remembered, and forget it."""
        key = text_hash(text.strip())
        if key not in self._marks:
            return False
        del self._marks[key]
        return True


class Doubles:
    """The held texts of one file."""

    def __init__(self) -> None:
        self._events: list[HeldText] = []
        self._user_item: HeldText | None = None
        self._items_kept = RecentTexts()
        self._events_kept = RecentTexts()
        self._just_submitted = _NOTHING
        self._without_item = _NOTHING
        self._events_exist = False

    def agent_event(self, held: HeldText) -> bool:
        """Hold an assistant's event; return False if its text is held or kept already."""
        self.agent_acted()
        text = held.content.text.strip()
        if any(other.content.text.strip() == text for other in self._events):
            return False
        if self._items_kept.match(text):
            return False
        self._events.append(held)
        return True

    def agent_item(self, text: str) -> tuple[bool, int]:
        """Return whether to keep an assistant's item, and how many held events it doubles."""
        self.agent_acted()
        if self._events_kept.match(text):
            return False, 0
        self._items_kept.add(text)
        if not self._events:
            return True, 0
        texts = [held.content.text.strip() for held in self._events]
        del self._events[texts.index(text.strip()) if text.strip() in texts else 0]
        return True, 1

    def agent_acted(self) -> None:
        """Note that the agent answers: an equal text from now on was typed again."""
        self._just_submitted = self._without_item = _NOTHING

    def user_item(self, held: HeldText) -> bool:
        """Hold a user's item; return False if it doubles the event just kept."""
        if text_hash(held.content.text) == self._without_item:
            self._without_item = _NOTHING
            return False
        self._user_item = held
        return True

    def user_event(self, text: str) -> tuple[bool, int]:
        """Return whether to keep a submitted text, and how many held items it doubles."""
        self._events_exist = True
        doubled = 1 if self._user_item is not None else 0
        key = text_hash(text)
        if not doubled and key == self._just_submitted:
            return False, 0
        self._user_item = None
        self._just_submitted = key
        self._without_item = _NOTHING if doubled else key
        return True, doubled

    def release_user(self, *, at_end: bool = False) -> list[HeldText]:
        """Return the user's item that no event came for, if one is held."""
        held, self._user_item = self._user_item, None
        if held is None:
            return []
        if self._events_exist and not at_end and held.content.kind == "prompt":
            held = HeldText(ClassifiedText("system", "meta", held.content.text), held.frame)
        return [held]

    def release(self, *, at_end: bool = False) -> list[HeldText]:
        """Return all that no double came for, in order."""
        released = [*self.release_user(at_end=at_end), *self._events]
        for held in self._events:
            self._events_kept.add(held.content.text)
        self._events.clear()
        return released
