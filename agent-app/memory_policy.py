"""What a model wants remembered, read from its answer. What of it is stored is decided by
`memory_assets.agent_memory.policy.MemoryPolicy`, as for everybody."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memory_assets.agent_memory.policy import MEMORY_TYPES

_LINE = re.compile(r"^\s*REMEMBER (\w+) ([\d.]+): *(\S.*)\n?", re.MULTILINE)
ASK = (
    "What should be known in later conversations, end your answer with, a line each: "
    f"REMEMBER <type> <confidence from 0 to 1>: <one sentence>. Types: {', '.join(MEMORY_TYPES)}."
)
"""The part of the system prompt that asks for such lines."""


@dataclass(frozen=True)
class Candidate:
    """Something that a model wants remembered."""

    type: str
    confidence: float
    text: str


def read_answer(answer: str) -> tuple[str, list[Candidate]]:
    """Return an answer without the lines that ask for a memory, and what they ask for; lines with
    another type or without a number stay in the answer."""
    found = []

    def taken(line: re.Match[str]) -> str:
        try:
            candidate = Candidate(line[1], float(line[2]), line[3].strip())
        except ValueError:
            return line[0]
        if candidate.type not in MEMORY_TYPES or candidate.confidence > 1:
            return line[0]
        found.append(candidate)
        return ""

    return _LINE.sub(taken, answer).strip(), found
