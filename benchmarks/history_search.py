"""How well a search in history finds turns of conversations and summaries of them, before and after
retention has cut the turns that are not the user's.

    python benchmarks/history_search.py

LoCoMo's dev conversations are appended as agents would, one conversation a session, and asked its
questions. Prints for turns alone, and for turns with their summaries: how many questions have a
turn of the evidence in the first five and ten hits; or, in ten, a summary that covers one.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from dev_data import unpack

from memory_assets.pipeline.agent_memory.gateway import open_gateway
from memory_assets.pipeline.ingest.passes import WRITTEN, Task, run_task
from memory_assets.pipeline.ingest.steps import StepFailed
from memory_assets.pipeline.plan.plan import plan_agent_memory
from memory_assets.pipeline.removal.retention import retain
from memory_assets.pipeline.stage.components import Components
from memory_assets.recall.memory import Memory
from memory_assets.settings import Settings, load_settings
from memory_assets.stores.agents.partitions import partition_of
from memory_assets.stores.chroma import server

_BEGIN = datetime(2025, 1, 1, tzinfo=UTC)
_N = 10
_DEEP = 200
Places = dict[tuple[str, str], tuple[str, int]]
"""Conversation and place of each message of a collection."""


def main() -> None:
    """Print four lines of shares."""
    with tempfile.TemporaryDirectory() as scratch:
        root = unpack("retrieval.tar.xz", Path(scratch)) / "locomo_dev"
        messages, questions = (
            [json.loads(line) for line in (root / name).read_text("utf-8").splitlines()]
            for name in ("messages.jsonl", "queries.jsonl")
        )
        settings = load_settings(data_dir=Path(scratch) / "memory", retention="30d")
        places = append(Components(settings), messages)
        ingest(settings)
        report("whole", settings, questions, places)
        cut = retain(Components(settings))
        ingest(settings)
        report(f"{cut.blocks} of {len(messages)} turns cut", settings, questions, places)
        server.stop(settings.data_dir)


def append(components: Components, messages: list[dict[str, Any]]) -> Places:
    """Append each session as a conversation, and return where each message is."""
    turns: Counter[str] = Counter()
    places: Places = {}
    for message in messages:
        project = message["collection"]
        name = f"{project}.{message['session']}"
        at, day = turns.setdefault(name, 0), timedelta(days=list(turns).index(name))
        moment = _BEGIN + day + timedelta(minutes=at)
        gateway = open_gateway(components, project)
        gateway.append_history(name, message["role"], message["text"], at, moment)
        places[project, message["turn_id"]] = (name, at)
        turns[name] += 1
    return places


def ingest(settings: Settings) -> None:
    """Take in what was appended, or cut."""
    components = Components(settings)
    for work in list(plan_agent_memory(components)):
        outcomes = run_task(components, Task(work.project, WRITTEN.assets))
        assert not any(isinstance(each, StepFailed) for each in outcomes)


def report(title: str, settings: Settings, questions: list[dict[str, Any]], places: Places) -> None:
    """Print the shares of turns alone, and of turns and summaries as a search has them."""
    memory = Memory(settings)
    counts: dict[str, Counter[str]] = {"turns": Counter(), "with summaries": Counter()}
    for question in questions:
        project = question["collection"]
        wanted = {places[project, each] for each in question["evidence"]}
        asked: dict[str, Any] = {"kinds": ("history",), "project": partition_of(project)}
        hits = memory.search(question["query"], n=_N, **asked).hits
        deep = memory.search(question["query"], n=_DEEP, **asked).hits
        turns = [hit for hit in deep if "turn_index" in hit.metadata][:_N]
        for name, found in (("turns", turns), ("with summaries", hits)):
            answers = [_answers(hit.metadata, wanted) for hit in found]
            counts[name]["R@5"] += "turn" in answers[:5]
            counts[name]["R@10"] += "turn" in answers
            counts[name]["turn or summary in 10"] += any(answers)
    for name, of in counts.items():
        shares = ", ".join(f"{what} {count / len(questions):.3f}" for what, count in of.items())
        print(f"{title}, {name}: {shares}")


def _answers(of: Any, wanted: set[tuple[str, int]]) -> str:
    """Return what a hit that holds any of the evidence is: "turn" or "summary"; else ""."""
    if "turn_index" in of:
        return "turn" if (of["session_id"], of["turn_index"]) in wanted else ""
    places = range(of["first_turn"], of["last_turn"] + 1)
    return "summary" if any((of["session_id"], at) in wanted for at in places) else ""


if __name__ == "__main__":
    main()
