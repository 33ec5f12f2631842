"""What a tool call asked, remembered until its result comes."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

MAX_OPEN_CALLS = 2_000


@dataclass(frozen=True, slots=True)
class Call:
    """The part of a tool call that its result carries too."""

    tool_name: str
    paths: tuple[str, ...] = ()
    command: str = ""


class OpenCalls:
    """Calls by id, each until it is answered; the oldest go when there are too many."""

    def __init__(self, limit: int = MAX_OPEN_CALLS) -> None:
        self._calls: OrderedDict[str, Call] = OrderedDict()
        self._limit = limit

    def open(self, call_id: str, call: Call) -> None:
        """Remember `call`."""
        if not call_id:
            return
        self._calls[call_id] = call
        if len(self._calls) > self._limit:
            self._calls.popitem(last=False)

    def close(self, call_id: str) -> Call | None:
        """Return the call that `call_id` answers and forget it; None if it is not known."""
        return self._calls.pop(call_id, None)
