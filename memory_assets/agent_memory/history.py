"""The turns of conversations: appended once each, redacted before they are stored."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from memory_assets.agent_memory.policy import MOST_CHARACTERS, MOST_TURNS, ROLES, in_utc, one_of
from memory_assets.agent_memory.ports import ConversationTurn, Redaction
from memory_assets.errors import BadArgument

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@-]{0,199}")


@dataclass(frozen=True)
class Appended:
    """The id of a turn, and whether it is new; False if it was stored before."""

    message_id: str
    new: bool


def checked_turn(
    redaction: Redaction,
    conversation_id: str,
    role: str,
    text: str,
    turn_index: int,
    ts: datetime | str,
    *,
    message_id: str = "",
    channel: str = "",
) -> ConversationTurn:
    """Return a turn as it is to be stored, without its project.

    Raises:
        BadArgument: a value is not allowed.
        RedactionUnavailable, RedactionFailed: the text cannot be redacted.
    """
    named(redaction, "conversation_id", conversation_id)
    if isinstance(turn_index, bool) or not isinstance(turn_index, int) or turn_index < 0:
        raise BadArgument("turn_index: give a whole number from 0 on")
    if turn_index > MOST_TURNS:
        raise BadArgument(f"turn_index: give at most {MOST_TURNS}")
    if not text.strip():
        raise BadArgument("text: is empty; give what was said")
    if len(text) > MOST_CHARACTERS:
        raise BadArgument(f"text: {len(text)} characters are more than {MOST_CHARACTERS}")
    if not message_id:
        identity = "\0".join((conversation_id, str(turn_index), role, text))
        message_id = f"m-{redaction.fingerprint(identity)}"
    return ConversationTurn(
        message_id=named(redaction, "message_id", message_id),
        conversation_id=conversation_id,
        turn_index=turn_index,
        role=one_of("role", role, ROLES),
        ts=in_utc(ts),
        text=redaction.redact(text),
        channel=named(redaction, "channel", channel) if channel else "",
    )


def named(redaction: Redaction, field: str, name: str) -> str:
    """Return the name from a client unchanged, if it may be stored.

    Raises:
        BadArgument: it has other characters than names have, or looks like a secret; does not
            quote it.
    """
    if not _NAME.fullmatch(name):
        raise BadArgument(f"{field}: give up to 200 letters, digits, dots, dashes, colons or @")
    if not redaction.is_safe(name):
        raise BadArgument(f"{field}: holds what looks like a secret or an address; give another")
    return name
