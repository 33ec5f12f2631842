"""The account of the text of many source files, in one sum and one sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from memory_assets.errors import printable
from memory_assets.stores.catalog.facts import SourceFacts, count
from memory_assets.stores.catalog.schema import SourceRow

UNEXPLAINED_SHARE = 0.001
"""The share of a session's text in unknown places above which there is a warning."""
_SHOWN = 3


@dataclass
class TextAccount:
    """Bytes of text: all, those not compared because files are too large (`beyond`), and those in
    places that no reader knows (`unexplained`, by path of keys, with the agent's versions).
    `sessions`: text and unexplained text by (project, id). `uncounted` files were read by an
    earlier version, without an account. `kinds` counts records, and parts of records, of unknown
    kinds; the text of an unknown tag ("tag/...") is stored all the same. `strange` are the paths of
    transcripts that gave no prompt and of whose text most is unexplained, or that gave nothing and
    have lines that are no JSON objects."""

    text: int = 0
    beyond: int = 0
    uncounted: int = 0
    unexplained: dict[str, tuple[int, set[str]]] = field(default_factory=dict)
    sessions: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    kinds: Counter[str] = field(default_factory=Counter)
    strange: list[str] = field(default_factory=list)

    @property
    def missing(self) -> int:
        """Bytes at places that no reader knows."""
        return sum(size for size, _ in self.unexplained.values())

    @property
    def over(self) -> int:
        """The number of sessions with a larger unexplained share than `UNEXPLAINED_SHARE`."""
        return sum(size > UNEXPLAINED_SHARE * text for text, size in self.sessions.values())

    def places(self, most: int) -> str:
        """Return the paths with the most text and their newest version, as one line."""
        ranked = sorted(self.unexplained.items(), key=lambda item: (-item[1][0], item[0]))
        named = [
            f"{path} ({max(versions, key=version_key)})" if versions else path
            for path, (_, versions) in ranked
        ]
        return _listed(named, most)

    def sentence(self) -> str:
        """Return what is missing, as one line; "" if nothing is."""
        lines = []
        if self.missing:
            number = sum(size > 0 for _, size in self.sessions.values())
            lines.append(
                f"{_amount(self.missing)} of text in {number} session{'s' * (number != 1)} are in "
                f"places that no reader knows: {self.places(_SHOWN)}"
            )
        if self.beyond:
            lines.append(f"{_amount(self.beyond)} of text in large transcripts were not compared")
        if self.uncounted:
            lines.append(
                f"{self.uncounted} transcript{'s' * (self.uncounted != 1)} read without an account "
                "of their text: run `memory ingest`"
            )
        return "; ".join(lines)

    def kinds_sentence(self) -> str:
        """Return which kinds of records no reader knows, as one line; "" if there are none."""
        unread = {kind: n for kind, n in self.kinds.items() if not kind.startswith("tag/")}
        number = sum(unread.values())
        ranked = sorted(unread, key=lambda kind: (-unread[kind], kind))
        records = f"{number} record{'s' * (number != 1)} of kinds that no reader knows"
        return f"{records}: {_listed(ranked, _SHOWN)}" if number else ""

    def to_dict(self) -> dict[str, Any]:
        """Return the sums, and by path of keys `bytes` and `versions`, as JSON has them."""
        return {
            "text": self.text,
            "not_compared": self.beyond,
            "transcripts_without_account": self.uncounted,
            "unknown_kinds": dict(self.kinds),
            "transcripts_unknown": self.strange,
            "unexplained": {
                path: {"bytes": size, "versions": sorted(versions, key=version_key)}
                for path, (size, versions) in self.unexplained.items()
            },
        }


def account_of(rows: Iterable[SourceRow]) -> TextAccount:
    """Return the account of source files from their rows; files that are gone do not count."""
    account = TextAccount()
    for row in rows:
        if row.gone_at is None:
            _add(account, row, row.facts)
    return account


def _add(account: TextAccount, row: SourceRow, facts: SourceFacts) -> None:
    account.kinds.update(facts.get("unknown_types", {}))
    if "text_bytes" not in facts:
        account.uncounted += 1
        return
    missing = 0
    for path, (size, *versions) in facts.get("text_unexplained", {}).items():
        before, known = account.unexplained.get(path, (0, set()))
        account.unexplained[path] = (before + int(size), known | {*map(str, versions)})
        missing += int(size)
    session = (row.project, row.session_id)
    text, unexplained = account.sessions.get(session, (0, 0))
    account.sessions[session] = (text + count(facts, "text_bytes"), unexplained + missing)
    no_lines = count(facts, "bad_lines") > 0 and not count(facts, "blocks")
    if no_lines or (not count(facts, "prompts") and missing > count(facts, "text_bytes") / 2):
        account.strange.append(printable(row.path))
    account.text += count(facts, "text_bytes")
    account.beyond += count(facts, "text_beyond")


def version_key(version: str) -> list[tuple[int, str]]:
    """Return what sorts versions by the numbers in them."""
    return [(int(part) if part.isdigit() else -1, part) for part in version.split(".")]


def _listed(names: Sequence[str], most: int) -> str:
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def _amount(size: int) -> str:
    if size < 1_000:
        return f"{size} B"
    return f"{size / 1e3:.0f} kB" if size < 1_000_000 else f"{size / 1e6:.1f} MB"
