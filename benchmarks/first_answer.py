"""When the first ingest of a full home gives its first answer, all words, and all vectors.

    python benchmarks/first_answer.py [--generated MB] [--embedder none] [--keep DIR]

Starts `memory ingest` on the dev transcripts (generated ones where the data is absent) in a
data directory and a home of their own, and asks the memory until the command ends: a question
about the newest session by words, and `status()`. Seconds count from the start of the command;
CPU seconds are those of all its processes, Chroma's server included.

The question is the eight rarest words of the newest session's last prompt; the answer is right
if that session is among the first three hits. This process asks, so that asking costs no start
of Python, and pauses nine times as long as an answer took: at most a tenth of a core, which is
printed and not in the figures. The other moments are when `status()` first counted the rows
that it counted at the end, and kept counting them.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dev_data import transcripts
from process_tree import adopt_orphans, snapshot

from memory_assets.errors import MemoryAssetsError
from memory_assets.recall import Memory, open_memory
from memory_assets.settings import load_settings
from memory_assets.stores.chroma import server as chroma_server
from memory_assets.transcripts import ReadReport, discover, read_session

MEMORY = Path(sys.executable).with_name("memory")
_SHORTEST_PAUSE = 0.1
_RAREST = 8
_COUNTED: Mapping[str, Callable[[Mapping[str, Any]], int]] = {
    "every session by words": lambda covered: covered["sessions"]["keywords"],
    "prompts, summaries and observations by words, too": lambda covered: sum(
        each["keywords"] for each in covered.values()
    ),
    "all by meaning": lambda covered: sum(each["indexed"] for each in covered.values()),
}


class Sample(NamedTuple):
    """What the memory held after so many seconds."""

    wall: float
    cpu: float
    rows: Mapping[str, int]


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--generated", type=int, help="so many MB of generated transcripts")
    parser.add_argument("--embedder", help="MEMORY_EMBEDDER, such as none")
    parser.add_argument("--keep", type=Path, help="leave the memory in this directory")
    options = parser.parse_args()
    adopt_orphans()
    with tempfile.TemporaryDirectory(prefix="first-answer-") as name:
        scratch = Path(name)
        for variable in [each for each in os.environ if each.startswith("MEMORY_")]:
            if variable != "MEMORY_BENCH_DATA":
                del os.environ[variable]
        os.environ |= transcripts(scratch / "transcripts", options.generated)
        os.environ |= {
            "HOME": str(scratch / "home"),
            "MEMORY_DATA_DIR": str(options.keep or scratch / "memory"),
        }
        if options.embedder:
            os.environ["MEMORY_EMBEDDER"] = options.embedder
        (scratch / "home").mkdir()
        settings = load_settings()
        session, question = newest_session(settings.transcript_roots())
        try:
            measure(session, question)
        finally:
            chroma_server.stop(settings.data_dir)


def newest_session(roots: Mapping[str, Sequence[Path]]) -> tuple[str, str]:
    """Return the id of the session with the newest record and the rarest words of its last
    prompt. Gives each file the time of its last record, as where an agent wrote it."""
    last: dict[str, tuple[float, str]] = {}
    prompts: Counter[str] = Counter()
    for source in discover(roots):
        report, said = ReadReport(), ""
        for record in read_session(source.path, source=source, report=report):
            if record.kind == "prompt":
                prompts.update(_words(record.text))
                said = record.text if len(_words(record.text)) >= _RAREST else said
        if report.last_timestamp is None:
            continue
        when = report.last_timestamp.timestamp()
        os.utime(source.path, (when, when))
        if said and when > last.get(source.session_id, (0.0, ""))[0]:
            last[source.session_id] = when, said
    newest = max(last, key=lambda session: last[session][0])
    words = sorted(_words(last[newest][1]), key=lambda word: (prompts[word], word))
    return newest, " ".join(words[:_RAREST])


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z][a-z_]{2,}", text.lower()))


def measure(session: str, question: str) -> None:
    """Start `memory ingest`, ask until it ends, and print when what was there."""
    memory: Memory | None = None
    first: Sample | None = None
    samples: list[Sample] = []
    before, asking, started = snapshot().total, time.process_time(), time.perf_counter()

    def sample(rows: Mapping[str, int]) -> Sample:
        return Sample(time.perf_counter() - started, snapshot().total - before, rows)

    with subprocess.Popen([MEMORY, "ingest"], stdout=subprocess.DEVNULL) as ingest:
        ended = False
        while not ended:
            ended = ingest.poll() is not None
            asked = time.perf_counter()
            try:
                memory = memory or open_memory()
                covered = memory.status()["coverage"]
                samples.append(sample({name: of(covered) for name, of in _COUNTED.items()}))
                if first is None:
                    hits = memory.search(question, mode="keyword", n=3).hits
                    if any(hit.metadata["session_id"] == session for hit in hits):
                        first = sample({})
            except MemoryAssetsError:
                pass  # nothing is there yet
            if not ended:
                time.sleep(max(_SHORTEST_PAUSE, 9 * (time.perf_counter() - asked)))
    done = sample({})
    print(f"exit code {ingest.returncode}, {samples[-1].rows['every session by words']} passages")
    print("\n| from the start until | wall s | CPU s |\n|---|---|---|")
    _row("a right first answer by words, about the newest session", first)
    for name in _COUNTED:
        _row(f"{name} ({samples[-1].rows[name]} rows)", _complete(samples, name))
    _row("the command ended", done)
    print(f"\nasking: {time.process_time() - asking:.1f} CPU s in {len(samples)} times, not above")
    if ingest.returncode or first is None:
        sys.exit("the ingest failed, or the newest session was not found")


def _complete(samples: list[Sample], name: str) -> Sample | None:
    """Return the first sample after the last with fewer rows than the end, None if it has none."""
    final = samples[-1].rows[name]
    behind = [at for at, each in enumerate(samples) if each.rows[name] < final]
    return samples[behind[-1] + 1 if behind else 0] if final else None


def _row(name: str, when: Sample | None) -> None:
    cells = ("-", "-") if when is None else (f"{when.wall:.1f}", f"{when.cpu:.1f}")
    print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
