"""A chat in the terminal that remembers, with any OpenAI-compatible model.

    OPENAI_BASE_URL=http://127.0.0.1:11434/v1 OPENAI_MODEL=llama3.2 python agent-app/app.py [ID]

Reads a message a line and prints the answer. `ID` names the conversation to go on with. The turn
of a person is kept before the model is asked, so that it stays if no answer comes.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from memory_gateway import Outbox, open_builder, open_memory
from memory_policy import ASK, read_answer

from memory_assets.agent_memory.context import ContextBuilder
from memory_assets.agent_memory.gateway import MemoryGateway
from memory_assets.agent_memory.history import checked_turn
from memory_assets.agent_memory.policy import in_utc
from memory_assets.errors import MemoryAssetsError, StoreError
from memory_assets.http.client import HttpServer, NoAnswer
from memory_assets.pipeline.stage.engines import Engines
from memory_assets.private_files import create_private_files
from memory_assets.settings import load_settings

_SECONDS = 120.0
_SYSTEM = f"You are a helpful assistant. {ASK}"


class NoModelAnswer(Exception):
    """The model gave no answer; says why, and quotes nothing."""


class Model:
    """A model at an endpoint of OpenAI's form (`/chat/completions`)."""

    def __init__(self, url: str, name: str, key: str | None) -> None:
        self._server, self._name = HttpServer(url.rstrip("/"), key, _SECONDS), name

    def answer(self, prompt: str) -> str:
        """Return the answer to a prompt.

        Raises:
            NoModelAnswer: there is none, or an empty one.
        """
        messages = [
            {"role": "system", "content": _SYSTEM},
            {"role": "user", "content": prompt},
        ]
        asked = json.dumps({"model": self._name, "messages": messages}).encode()
        try:
            status, answered = self._server.send("POST", "/chat/completions", asked)
        except NoAnswer as error:
            raise NoModelAnswer(f"the model does not answer ({error})") from None
        if status == 429:
            raise NoModelAnswer("the model is asked too often (HTTP 429); wait, then say it again")
        if status != 200:
            raise NoModelAnswer(f"the model refuses (HTTP {status})")
        try:
            said = str(json.loads(answered)["choices"][0]["message"]["content"] or "").strip()
        except (ValueError, TypeError, KeyError, IndexError):
            raise NoModelAnswer("the model answers in another form than OpenAI's") from None
        if not said:
            raise NoModelAnswer("the model's answer is empty")
        return said


class Chat:
    """One conversation."""

    def __init__(
        self,
        gateway: MemoryGateway,
        builder: ContextBuilder,
        model: Model,
        conversation_id: str,
        outbox: Outbox,
    ) -> None:
        self._gateway, self._builder, self._model = gateway, builder, model
        self._id, self._outbox = conversation_id, outbox

    def say(self, text: str) -> str:
        """Keep a message, answer it, keep the answer and what is to be remembered of it. An answer
        that cannot be kept is returned with the reason below it.

        Raises:
            NoModelAnswer: the message is kept, and has no answer.
            StoreError: memory cannot be reached; the message is kept, and sent before the next.
            MemoryAssetsError: memory refuses the message.
        """
        self._append("user", text)
        context = self._builder.build_context(self._id, text)
        answer, candidates = read_answer(self._model.answer(context.text))
        try:
            if answer:
                self._append("assistant", answer)
            for each in candidates:
                self._gateway.write_memory(
                    each.text, each.type, each.confidence, datetime.now(UTC), self._id
                )
        except MemoryAssetsError as error:
            return f"{answer}\n[not all of it is kept: {error}]"
        return answer

    def _append(self, role: str, text: str) -> None:
        """Append a turn after those that wait, or let it wait, too, if it can be stored at all."""
        turn = {"conversation": self._id, "role": role, "ts": datetime.now(UTC).isoformat()}
        try:
            self._outbox.waiting.send(self._send)
            self._send({**turn, "text": text})
        except StoreError:
            kept = checked_turn(self._outbox.redaction, self._id, role, text, 0, turn["ts"])
            self._outbox.waiting.add({**turn, "text": kept.text})
            raise

    def _send(self, turn: Mapping[str, Any]) -> None:
        last = self._gateway.tail_history(turn["conversation"], 1)
        if last and (last[-1].role, last[-1].ts) == (turn["role"], in_utc(turn["ts"])):
            return  # it was stored, and only the answer was lost
        place = last[-1].turn_index + 1 if last else 0
        self._gateway.append_history(
            turn["conversation"], turn["role"], turn["text"], place, turn["ts"]
        )


def open_chat(conversation_id: str) -> Chat:
    """Return the conversation of an id, as settings and environment say.

    Raises:
        MemoryAssetsError: a setting is wrong.
        KeyError: `OPENAI_BASE_URL` or `OPENAI_MODEL` is missing.
    """
    engines = Engines(load_settings())
    gateway = open_memory(engines)
    url, name = os.environ["OPENAI_BASE_URL"], os.environ["OPENAI_MODEL"]
    model = Model(url, name, os.environ.get("OPENAI_API_KEY"))
    builder = open_builder(engines, gateway)
    return Chat(gateway, builder, model, conversation_id, Outbox.of(engines))


def answers(chat: Chat, lines: Iterable[str]) -> Iterator[str]:
    """Yield what to print for each message: its answer, or why there is none."""
    for line in filter(None, map(str.strip, lines)):
        try:
            yield chat.say(line)
        except StoreError as error:
            yield f"[{error} The line is kept, and sent before the next that memory takes.]"
        except (NoModelAnswer, MemoryAssetsError) as error:
            yield f"[{error}]"


def main() -> int:
    """Answer lines of standard input until it ends."""
    create_private_files()
    try:
        chat = open_chat(sys.argv[1] if len(sys.argv) > 1 else f"chat-{datetime.now(UTC):%Y%m%d}")
    except (MemoryAssetsError, KeyError) as error:
        missing = isinstance(error, KeyError)
        print(f"set {error.args[0]}" if missing else error, file=sys.stderr)  # noqa: T201
        return 2
    for said in answers(chat, sys.stdin):
        print(said, flush=True)  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
