"""How many sentences of real prompts would become memories with MEMORY_PROMOTE=on, and which.

    python benchmarks/promotion.py

Of the dev transcripts; the sentences are printed as they are, to be judged by who reads them. What
the rule finds in agents' answers and in LoCoMo's conversations is counted, too, though only
what a user says is promoted.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable
from pathlib import Path

from dev_data import unpack

from memory_assets.agent_memory.promotion import is_typed, promotable
from memory_assets.errors import TranscriptError
from memory_assets.redaction import Redactor, load_redactor
from memory_assets.session_analysis.sentences import sentences
from memory_assets.transcripts import read_session

AGENTS = {"claude", "codex", "pi"}
LOCOMO = "locomo_dev/messages.jsonl"


def main() -> None:
    """Print each sentence with its type, then how many there are in how many texts."""
    redactor = load_redactor()
    prompts: dict[str, str] = {}
    answers: set[str] = set()
    with tempfile.TemporaryDirectory() as scratch:
        for path in sorted(unpack("transcripts.tar.xz", Path(scratch)).rglob("*.jsonl")):
            if "growth" in path.parts or not AGENTS & set(path.parts):
                continue
            try:
                for record in read_session(path):
                    if record.kind == "prompt" and record.agent_id is None:
                        prompts[record.text] = record.session_id
                    elif record.kind == "assistant_text":
                        answers.add(record.text)
            except TranscriptError:
                continue
        lines = (unpack("retrieval.tar.xz", Path(scratch)) / LOCOMO).read_text().splitlines()
    of_sessions = f"prompts of {len(set(prompts.values()))} sessions"
    print_found(redactor, filter(is_typed, prompts), f"{len(prompts)} {of_sessions}")
    print_found(redactor, sorted(answers), f"{len(answers)} answers of agents")
    said = [json.loads(line)["text"] for line in lines]
    print_found(redactor, said, f"{len(said)} messages of LoCoMo")


def print_found(redactor: Redactor, texts: Iterable[str], of: str) -> None:
    """Print the sentences that the rule finds in texts, and their number."""
    count = 0
    for text in texts:
        for sentence in sentences(redactor.redact(text).text):
            if found := promotable(sentence.text):
                count += 1
                print(f"{found.type}: {sentence.text}")
    print(f"{count} of {of}\n")


if __name__ == "__main__":
    main()
