"""A linear model of few weights, which are lines of a text file."""

from __future__ import annotations

import re
from collections.abc import Set
from pathlib import Path

ALWAYS = "<always>"
NAME = re.compile(
    r"\w[./_:@#-]\w|[a-z][A-Z]|\w\(|\b[A-Z]{2,}\b|[a-z]\d|\d[a-z]|--\w"
    r"|(?<=[^.!?:→] )[A-Z][a-z]\w+|<redacted|\"[^\"]{2,40}\""
)
"""What has a name of its own, by how it is written: `auth.py`, MCP, getUser, --flag, Redis."""


class Linear:
    """Features (what is seen of a thing, by name), and the weights of those that count."""

    def __init__(self, path: Path) -> None:
        lines = path.read_text(encoding="utf-8").splitlines()
        pairs = (line.split("\t") for line in lines if line and not line.startswith("#"))
        self.weights = {feature: float(weight) for weight, feature in pairs}

    def takes(self, features: Set[str]) -> bool:
        """Return True if a thing of these features is taken for what the model looks for."""
        return self.value(features) >= 0

    def value(self, features: Set[str]) -> float:
        """Return how surely it is taken for it: the sum of its weights, from 0 on."""
        return self.weights[ALWAYS] + sum(self.weights.get(one, 0.0) for one in sorted(features))
