"""How many sentences of real prompts would become memories with MEMORY_PROMOTE=on, and which.

    python benchmarks/promotion.py

Of the dev transcripts; the sentences are printed as they are, to be judged by who reads them.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from dev_data import unpack

from memory_assets.agent_memory.promotion import is_typed, promotable
from memory_assets.errors import TranscriptError
from memory_assets.redaction import load_redactor
from memory_assets.session_analysis.sentences import sentences
from memory_assets.transcripts import read_session

AGENTS = {"claude", "codex", "pi"}


def main() -> None:
    """Print each sentence with its type, then the numbers of prompts and sessions."""
    redactor = load_redactor()
    prompts: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for path in sorted(unpack("transcripts.tar.xz", Path(scratch)).rglob("*.jsonl")):
            if "growth" in path.parts or not AGENTS & set(path.parts):
                continue
            try:
                for record in read_session(path):
                    if record.kind == "prompt" and record.agent_id is None:
                        prompts[record.text] = record.session_id
            except TranscriptError:
                continue
    count = 0
    for text in filter(is_typed, prompts):
        for sentence in sentences(redactor.redact(text).text):
            if found := promotable(sentence.text):
                count += 1
                print(f"{found.type}: {sentence.text}")
    print(f"{count} of {len(prompts)} prompts of {len(set(prompts.values()))} sessions")


if __name__ == "__main__":
    main()
