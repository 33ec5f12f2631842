"""The tokens that Claude Code's answers took.

An answer is written as several lines, one a block, each of which repeats the answer's usage as far
as it is known then. As ccusage does (its adapter for Claude, version 20), lines of one message and
one request are counted once, by the largest count; a side chain may repeat a message of its session
under another request, which counts once, too.
"""

from __future__ import annotations

from memory_assets.models import Tokens
from memory_assets.transcripts.fields import count_field, object_field, text_field
from memory_assets.transcripts.lines import JsonObject


class AnswerTokens:
    """What the answers of one file took so far."""

    def __init__(self) -> None:
        self._counted: dict[tuple[str, str], Tokens] = {}
        self._messages: dict[str, bool] = {}

    def new(self, record: JsonObject, *, is_sidechain: bool) -> Tokens:
        """Return by how much a line raises what its answer took."""
        message = object_field(record, "message")
        tokens = _tokens(object_field(message, "usage"))
        name = text_field(message, "id")
        if not name or not any(tokens):
            return tokens
        key = (name, text_field(record, "requestId"))
        before = self._counted.get(key)
        if before is None and name in self._messages and (is_sidechain or self._messages[name]):
            return Tokens()
        self._messages.setdefault(name, is_sidechain)
        before = before or Tokens()
        if sum(tokens[:4]) <= sum(before[:4]):
            return Tokens()
        self._counted[key] = tokens
        return Tokens(*(now - then for now, then in zip(tokens, before, strict=True)))


def _tokens(usage: JsonObject) -> Tokens:
    return Tokens(
        count_field(usage, "input_tokens"),
        count_field(usage, "output_tokens"),
        count_field(usage, "cache_read_input_tokens"),
        count_field(usage, "cache_creation_input_tokens"),
        count_field(object_field(usage, "cache_creation"), "ephemeral_1h_input_tokens"),
    )
