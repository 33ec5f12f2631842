"""What a search finds when a line of tool output, a line that was said, or a name from an edit is
pasted into it.

    python benchmarks/error_lines.py [--work DIR]

Asked of the real sessions of benchmarks/retrieval.py. Of each session at most three lines that
look like errors, of calls that failed and of calls that did not, chosen by a fixed seed among the
lines of 30 to 200 characters and four words that at most three turns contain; lines of code and
output of commands that only show files are left out. Right is every turn that contains the line.
`changed` are the same lines with other numbers, and without their first three words. Lines that
were said are of prompts and replies: those that look like errors, and others of 40 to 200
characters and seven words. Names are identifiers in what edits wrote, again of at most three turns.
Halves are of different sessions, and nothing was chosen on `report`.
"""

from __future__ import annotations

import argparse
import random
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from retrieval import real

from memory_assets.chunking import build_turns
from memory_assets.models import RedactedRecord
from memory_assets.recall import Memory
from memory_assets.stores.chroma import server as chroma_server
from memory_assets.stores.lake.schemas import REDACTED_RECORDS

_ERROR = re.compile(
    r"\b(?:error|fatal|panic|exception|failed|failure|denied|refused|not found|no such|cannot|can't"
    r"|unable|timed out|timeout|invalid|undefined|unexpected|conflict|rejected)\b"
    r"|[a-z](?:Error|Exception)\b",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"[{};,(\[]$|^\W*\d+\s*[:→|-]|^[^\s:]+\.\w+[:-]\d+[:-](?!\d)|^[-+*#/|>│]|=>|:=|\\n|^[\"'{<]"
    r"|\b(?:return|func|const|let|def|class|import|assert\w*|expect|if|throw|raise|else|elif|case"
    r"|except|catch)\b.*[(){}=:]"
)
_ONLY_SHOWS = re.compile(
    r"(?:\s*cd \S+\s*(?:&&|;)\s*)?(?:cat|sed|grep|rg|head|tail|nl|find|ls|awk|jq|echo|curl|gh"
    r"|git (?:diff|show|log|blame|grep))\b"
)
_PROGRAMS = frozenset({"Bash", "bash", "exec_command", "shell", "write_stdin", "LSP"})
_EDITS = frozenset({"Edit", "edit", "Write", "write", "MultiEdit", "apply_patch"})
_NAME = re.compile(r"\b(?:[a-z]+(?:[A-Z][a-z]+){2,4}|[a-z]{2,}(?:_[a-z]+){2,4})\b")
Asked = tuple[str, str, frozenset[str]]
"""Half and kind, what is pasted, and the turns that contain it."""


def main() -> None:
    """Print a row for each half, kind and mode."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--work", type=Path, help="directory to keep the memory in")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        memory, _ = real((options.work or Path(scratch)) / "real", None)
        try:
            report(memory, list(pasted(memory)))
        finally:
            chroma_server.stop(memory.data_dir)


def report(memory: Memory, asked: Sequence[Asked]) -> None:
    """Print how many are found at places 1, 3 and 10, and how many first hits are called weak."""
    for mode in ("hybrid", "keyword"):
        rows: dict[str, list[tuple[int, bool]]] = defaultdict(list)
        for kind, text, turns in asked:
            hits = memory.search(text, mode=mode, n=10).hits
            place = next((at for at, hit in enumerate(hits) if hit.turn_id in turns), 10)
            rows[kind].append((place, bool(hits) and hits[0].weak))
        for kind, found in sorted(rows.items()):
            within = " ".join(f"{sum(at < n for at, _ in found):4}" for n in (1, 3, 10))
            weak = sum(is_weak for _, is_weak in found)
            print(f"{mode:8} {kind:28} of {len(found):3}: {within}   weak {weak:3}", flush=True)


def pasted(memory: Memory) -> Iterator[Asked]:
    """Yield lines and names, chosen session by session."""
    chance = random.Random(13)
    lines, said, names, turns_with = _candidates(memory)
    for session_id in sorted(lines.keys() | said.keys() | names.keys()):
        half = "report" if int(sha256(session_id.encode()).hexdigest(), 16) % 2 else "choose"
        for failed, found in sorted(lines[session_id].items(), reverse=True):
            title = f"{half}, call {'failed' if failed else 'did not fail'}"
            for line in _rare(found, turns_with, chance):
                yield title, line, frozenset(turns_with[line])
                yield f"{title}, changed", _changed(line), frozenset(turns_with[line])
        for kind, found in sorted(said[session_id].items()):
            for line in _rare(found, turns_with, chance):
                yield f"{half}, {kind}", line, frozenset(turns_with[line])
                yield f"{half}, {kind}, changed", _changed(line), frozenset(turns_with[line])
        for name in _rare(names[session_id], turns_with, chance):
            yield f"{half}, name", name, frozenset(turns_with[name])


def _candidates(
    memory: Memory,
) -> tuple[
    dict[str, dict[bool, list[str]]],
    dict[str, dict[str, list[str]]],
    dict[str, list[str]],
    Mapping[str, set[str]],
]:
    lines: dict[str, dict[bool, list[str]]] = defaultdict(lambda: defaultdict(list))
    said: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    names: dict[str, list[str]] = defaultdict(list)
    turns_with: dict[str, set[str]] = defaultdict(set)
    for project in memory.lake.projects(REDACTED_RECORDS):
        for session_id in memory.lake.sessions(REDACTED_RECORDS, project):
            for turn in build_turns(memory.lake.read_rows(REDACTED_RECORDS, project, session_id)):
                for record in turn.records:
                    if record.kind == "tool_result":
                        printed = [" ".join(line.split()) for line in record.text.split("\n")]
                        for line in printed:
                            turns_with[line].add(turn.id)
                        if record.tool_name in _PROGRAMS and not _ONLY_SHOWS.match(record.command):
                            lines[session_id][record.is_error] += filter(_is_error, printed)
                    elif record.kind == "tool_use":
                        for name in _NAME.findall(record.text):
                            turns_with[name].add(turn.id)
                        names[session_id] += _names_written(record)
                    elif record.kind in ("prompt", "assistant_text"):
                        for line in (" ".join(line.split()) for line in record.text.split("\n")):
                            turns_with[line].add(turn.id)
                            if _is_error(line):
                                said[session_id]["said, error"].append(line)
                            elif _is_prose(line):
                                said[session_id]["said, other"].append(line)
    return lines, said, names, turns_with


def _names_written(record: RedactedRecord) -> list[str]:
    return _NAME.findall(record.text) if record.tool_name in _EDITS else []


def _is_error(line: str) -> bool:
    words = re.findall(r"[A-Za-z]{3,}", line)
    fits = 30 <= len(line) <= 200 and len(words) >= 4
    return fits and bool(_ERROR.search(line)) and not _CODE.search(line)


def _is_prose(line: str) -> bool:
    return 40 <= len(line) <= 200 and len(line.split()) >= 7 and not _CODE.search(line)


def _rare(
    found: Iterable[str], turns_with: Mapping[str, set[str]], chance: random.Random
) -> list[str]:
    rare = [each for each in dict.fromkeys(found) if len(turns_with[each]) <= 3]
    return chance.sample(rare, min(3, len(rare)))


def _changed(line: str) -> str:
    other = re.sub(r"\d", lambda digit: str((int(digit[0]) + 3) % 10), line)
    words = other.split()
    return " ".join(words[3:]) if len(words) > 7 else other


if __name__ == "__main__":
    main()
