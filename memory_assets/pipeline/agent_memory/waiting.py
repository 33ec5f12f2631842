"""What agents say while the memory cannot be written: redacted, and kept until it can."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any

from memory_assets.agent_memory.history import id_of_turn, named
from memory_assets.agent_memory.memory import Written
from memory_assets.agent_memory.policy import MOST_TOKENS
from memory_assets.agent_memory.ports import Redaction
from memory_assets.errors import StoreError
from memory_assets.paths import user_config_dir
from memory_assets.pipeline.agent_memory.gateway import EVERYWHERE, policy_of, redaction_for
from memory_assets.pipeline.stage.engines import Engines
from memory_assets.redacted_text import RedactedText
from memory_assets.settings import Settings
from memory_assets.stores.agents.waiting import Waiting

_LABELS = ("entities", "tags")


def waiting_for(settings: Settings, store: str = "") -> Waiting:
    """Return what waits for this memory, or for another `store` of it."""
    named = f"{settings.data_dir.absolute()}\0{store}".encode("utf-8", "surrogatepass")
    digest = blake2b(named, digest_size=8).hexdigest()
    return Waiting(user_config_dir() / f"waiting-{digest}.jsonl")


def redaction_to_wait(engines: Engines) -> Redaction:
    """Return the redaction of what waits: the secrets known from sessions are taken out, too,
    unless they cannot be read. What waited is redacted once more when it is stored."""
    whole = redaction_for(engines, EVERYWHERE)

    def redact(text: str) -> RedactedText:
        try:
            return whole.redact(text)
        except StoreError:
            return engines.redactor.session(EVERYWHERE, frozenset()).redact(text).text

    return replace(whole, redact=redact)


def let_turn_wait(
    settings: Settings, asked: Mapping[str, Any], error: StoreError
) -> dict[str, Any]:
    """Let a message of a conversation wait, and return the answer to who appended it. `asked` has
    the fields of an `AppendRequest`; `error` is why it cannot be stored now.

    Raises:
        StoreError: it cannot be kept, either.
    """
    redaction = redaction_to_wait(Engines(settings))
    entry = _entry(redaction, asked)
    message_id = asked["message_id"] or id_of_turn(
        redaction, asked["conversation"], asked["turn_index"], asked["role"], asked["text"]
    )
    waiting_for(settings).keep(entry | {"message_id": message_id})
    return {"message_id": message_id, "new": True, "waits": str(error)}


def let_memory_wait(
    settings: Settings, asked: Mapping[str, Any], error: StoreError
) -> dict[str, Any]:
    """Let a memory wait, and return the answer to who wrote it, as JSON of a `Written`. `asked` has
    the fields of a `RememberRequest`; `error` is why it cannot be stored now.

    Raises:
        StoreError: as many memories wait as may be stored in a window, or it is too long.
    """
    engines = Engines(settings)
    redaction, waiting, policy = (
        redaction_to_wait(engines),
        waiting_for(settings),
        policy_of(settings),
    )
    entry = _entry(redaction, asked)
    if not policy.should_store_memory(asked["confidence"], asked["type"]):
        reason = f"confidence {asked['confidence']} is below {policy.confidence_min}"
        return asdict(Written("refused", reason=reason))
    memories = sum("role" not in other for other in waiting.entries())
    too_long = engines.tokens.count_tokens(entry["text"]) > MOST_TOKENS
    if memories >= policy.max_per_window or too_long:
        raise error
    given = {name: labels for name in _LABELS if (labels := asked[name])}
    waiting.keep(entry | {name: [*map(redaction.redact, labels)] for name, labels in given.items()})
    return asdict(Written("waits", reason=str(error)))


def _entry(redaction: Redaction, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is kept of a request: its text redacted, its project as a path, its time.

    Raises:
        BadArgument: a name in it is none, or looks like a secret.
    """
    for name in ("conversation", "message_id", "channel"):
        if given := asked.get(name):
            named(redaction, name, given)
    project = asked["project"]
    if project and (project.startswith((".", "~")) or "/" in project):
        project = str(Path(project).expanduser().absolute())
    ts = asked["ts"] or datetime.now(UTC).isoformat()
    return {**asked, "text": redaction.redact(asked["text"]), "ts": ts, "project": project}
