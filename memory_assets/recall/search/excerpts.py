"""The excerpt of a long passage that fits a question best."""

from __future__ import annotations

from memory_assets.keywords import query_terms, text_terms

_LEAST_GAIN = 0.5
"""How much more a later part has to score than the beginning: a word of the question counts 1, a
question word (such as "how") .2."""


def excerpt(text: str, query: str, most: int) -> str:
    """Return the part of a text, on one line and at most `most` characters long, that contains most
    of a question's words; the beginning, unless another part contains clearly more. `…` marks what
    was left out."""
    words = text.split()
    start = _best_start(words, query_terms(query), most) if query.strip() else 0
    shown = words[start] if words else ""
    at = start + 1
    room = most - 2
    while at < len(words) and len(shown) + 1 + len(words[at]) <= room:
        shown = f"{shown} {words[at]}"
        at += 1
    if len(shown) > room:
        shown, at = shown[:room], 0
    before = "…" if start else ""
    return f"{before}{shown}{'…' if at < len(words) else ''}"


def _best_start(words: list[str], asked: dict[str, float], most: int) -> int:
    """Return the index of the word at which the best excerpt starts: the start of a sentence, if
    that costs none of the question's words."""
    held = [{term for term in text_terms(word) if term in asked} for word in words]
    worth = [0.0] * len(words)
    for start in range(len(words)):
        if start and not held[start] and not _begins_sentence(words, start):
            continue
        size, seen = 0, set()
        for at in range(start, len(words)):
            size += len(words[at]) + 1
            if size > most:
                break
            seen |= held[at]
        worth[start] = sum(asked[term] for term in seen)
    if not words:
        return 0
    highest = max(worth)
    if highest < worth[0] + _LEAST_GAIN:
        return 0
    best = [start for start, value in enumerate(worth) if value == highest]
    return next((start for start in reversed(best) if _begins_sentence(words, start)), best[0])


def _begins_sentence(words: list[str], start: int) -> bool:
    return start == 0 or words[start - 1][-1] in ".!?:" or words[start][0] in "#-*`"
