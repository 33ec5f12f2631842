"""The part of a text that a question is about: what is shown of a long passage."""

from __future__ import annotations

from memory_assets.keywords import query_terms, text_terms

_LEAST_GAIN = 0.5
"""A stretch further on has to hold so much more than the beginning does: a word of the
question is 1, one that only makes it a question .2."""


def excerpt(text: str, query: str, most: int) -> str:
    """Return the stretch of a text, on one line and at most `most` characters long, that
    holds most of a question's words; the beginning where none holds clearly more. What was
    left out before or after it is marked by `…`."""
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
    """Return the word that the best stretch begins with: the last one that begins a sentence,
    where that loses nothing."""
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
