"""Rounds of `crash_safety.py` in which a server that writes memory is killed, and an ingest of it.

    python benchmarks/crash_safety.py --command remember [--rounds 20] [--seed 7]

Each round starts `memory mcp --write` on the memory of the rounds before, has it answer a few
calls of `append_history` and `remember`, sends one more and kills the server with SIGKILL at a
random moment of it. What was answered must be in the journal once, the call in flight once or not
at all; it is the first of the next round, and must then be there once. In every other round
`memory ingest` is killed, too, within the stage that the round aims at, and run again: the tables
and collections must have each turn and each memory once.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.crash_world import Command, Outcomes, World, aim_and_kill
from benchmarks.mcp_lines import HANDSHAKE, tool_call

AIMS = ("agents", "publish", "embed", "upsert", "checks")
_MOST_CALLS = 6
_FIRST_SECONDS = 2.0
"""How long a first call takes, which loads the rules of redaction, until one was measured."""
_Call = tuple[str, dict[str, Any]]


class Writer:
    """A server process that writes memory, and its calls."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        memory = Path(sys.executable).with_name("memory")
        self._process = subprocess.Popen(
            [memory, "mcp", "--write"],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        for message in HANDSHAKE:
            self._send(message)
        self._answer()

    def call(self, call: _Call) -> Mapping[str, Any]:
        """Return the structured answer to a call."""
        self.begin(call)
        result = self._answer()["result"]
        if result.get("isError"):
            raise SystemExit(f"{call[0]} was refused: {result['content']}")
        answer: Mapping[str, Any] = result["structuredContent"]
        return answer

    def begin(self, call: _Call) -> None:
        """Send a call, and do not await its answer."""
        self._send(tool_call(*call))

    def kill(self) -> None:
        """Kill the process with SIGKILL."""
        self._process.kill()
        self._process.communicate()

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer


def run_rounds(world: World, rounds: int) -> Outcomes:
    """Run the rounds, print a line for each, and return how they ended."""
    from memory_assets.stores.chroma import server as chroma_server

    world.take_home()
    transcripts, data_dir = world.directory / "none", world.directory / "memory"
    world.write_nothing(transcripts)
    environment = world.environment(data_dir, transcripts)
    environment["MEMORY_MAX_PER_WINDOW"] = "1000"
    draw = random.Random(world.seed)
    calls = map(_call_of, range(10**6))
    answered: list[_Call] = []
    in_flight = next(calls)
    took: dict[bool, list[float]] = {True: [_FIRST_SECONDS], False: [0.05]}
    usual, outcomes = Command(environment), Outcomes()
    usual.finish()
    for number in range(rounds):
        writer = Writer({**environment, "MEMORY_EMBEDDER": "none"})
        finished = draw.randint(0, _MOST_CALLS)
        for at in range(finished):
            began = time.monotonic()
            writer.call(in_flight)
            took[at == 0].append(time.monotonic() - began)
            answered.append(in_flight)
            in_flight = next(calls)
        writer.begin(in_flight)
        time.sleep(draw.uniform(0, 1.2 * median(took[finished == 0])))
        writer.kill()
        stored = _in_journal(data_dir)
        wrong = _differences(answered, in_flight, stored)
        where = "stored" if stored[_key(in_flight)] else "not stored"
        outcomes.hit[f"a call, then {where}"] += 1
        if number % 2:
            aim = AIMS[number // 2 % len(AIMS)]
            ingest = Command(environment)
            and_server = draw.random() < 1 / 3
            outcomes.hit[aim_and_kill(ingest, aim, draw, usual, data_dir, and_server)] += 1
            again = Command(environment)
            error = again.finish()
            usual = again if again.entered["agents"] else usual
            wrong += [error] if error else _not_ingested(data_dir, stored)
        outcomes.bad += bool(wrong)
        print(
            f"{number:3} {len(answered)} answered, one more {where}: {wrong or 'right'}", flush=True
        )
    chroma_server.stop(data_dir)
    return outcomes


def _call_of(number: int) -> _Call:
    """Return a call that differs from all others: two turns, then a memory."""
    if number % 3 < 2:
        at = number // 3 * 2 + number % 3
        turn = {"role": "user", "text": f"Turn {at} of the harbour.", "turn_index": at}
        return "append_history", {"conversation": "c1", "ts": "2026-11-23T09:00:00Z", **turn}
    word = "".join(chr(ord("a") + int(digit)) for digit in str(number))
    text = f"Pier {word} {word}{word} belongs to {word}{word}{word}."
    return "remember", {"text": text, "confidence": 0.9}


def _key(call: _Call) -> str:
    return str(call[1]["text"])


def _in_journal(data_dir: Path) -> Counter[str]:
    """Return how often each text is in the journal, as another process reads it."""
    from memory_assets.stores.agents.journal import FILE_NAME, AgentJournal

    if not (data_dir / FILE_NAME).exists():
        return Counter()
    journal = AgentJournal(data_dir / FILE_NAME)
    texts = Counter(str(turn.text) for turn in journal.turns("c1"))
    texts.update(str(each.text) for each in journal.memories())
    journal.close()
    return texts


def _differences(answered: list[_Call], in_flight: _Call, stored: Counter[str]) -> list[str]:
    """Return what was answered and is not stored once, and what is stored and was not sent."""
    expected = Counter(map(_key, answered))
    lost = [f"lost or double: {text}" for text in expected if stored[text] != 1]
    extra = stored.keys() - expected.keys() - {_key(in_flight)}
    double = [_key(in_flight)] if stored[_key(in_flight)] > 1 else []
    return [*lost, *(f"extra: {text}" for text in (*extra, *double))]


def _not_ingested(data_dir: Path, stored: Counter[str]) -> list[str]:
    """Return what tables and collections do not have once."""
    from memory_assets.pipeline.stage.components import Components
    from memory_assets.settings import load_settings
    from memory_assets.stores.lake.schemas import AGENT_HISTORY, AGENT_MEMORY

    components = Components(load_settings(data_dir=data_dir, chroma_idle_seconds=60))
    wrong = []
    rows = Counter[str]()
    for table, collection in ((AGENT_HISTORY, "history"), (AGENT_MEMORY, "memory")):
        kept = components.lake.read_partition(table, "agent-memory").to_pylist()
        rows.update(row["text"] for row in kept)
        ids = sorted(components.vectors.get(collection).ask("get", include=[])["ids"])
        if ids != sorted(row["id"] for row in kept):
            wrong.append(f"collection {collection} has {len(ids)} of {len(kept)} rows")
    components.catalog.close()
    return wrong if rows == stored else [*wrong, f"tables have {rows.total()} of {stored.total()}"]
