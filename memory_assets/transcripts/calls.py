"""Open tool calls: name, paths and command of each call, kept until its result is read."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from memory_assets.transcripts.checkpoint import Extent

MAX_OPEN_CALLS = 2_000


@dataclass(frozen=True, slots=True)
class Call:
    """The part of a tool call that its result carries too."""

    tool_name: str
    paths: tuple[str, ...] = ()
    command: str = ""


FindCall = Callable[[Extent, str], Call | None]
"""Reads the call with an id from the object that made it."""


class OpenCalls:
    """Calls by id, each until it is answered; the oldest go when there are too many."""

    def __init__(self, limit: int = MAX_OPEN_CALLS) -> None:
        self._calls: OrderedDict[str, tuple[Call | None, Extent]] = OrderedDict()
        self._limit = limit
        self._find: FindCall = lambda at, call_id: None

    def open(self, call_id: str, call: Call, at: Extent) -> None:
        """Remember `call`, found in the object at `at`."""
        if not call_id:
            return
        self._calls[call_id] = (call, at)
        if len(self._calls) > self._limit:
            self._calls.popitem(last=False)

    def close(self, call_id: str) -> Call | None:
        """Return the call that `call_id` answers and forget it; None if it is not known."""
        call, at = self._calls.pop(call_id, (None, None))
        return self._find(at, call_id) if call is None and at is not None else call

    def state(self) -> list[tuple[str, int, int]]:
        """Return the ids of the open calls, and where each was made."""
        return [(call_id, *at) for call_id, (_, at) in self._calls.items()]

    def restore(self, state: Sequence[Sequence[object]], find: FindCall) -> None:
        """Open the calls of a state again; `find` is asked for those that are answered."""
        self._find = find
        for call_id, start, end in state:
            self._calls[str(call_id)] = (None, (int(str(start)), int(str(end))))
