"""How long a search takes, warm with every filter, and cold from the command line.

    python benchmarks/queries.py [--sizes 10000 100000 300000] [--work DIR] [--queries N]
                                 [--kind sessions|workspace]

A keyword index of so many passages is made of invented sessions: words drawn as often as
words are (Zipf), 2,000 files, 12 projects, ten tools, random unit vectors, a year of
times; of `workspace`, as many passages of documents of five types. Latency does not depend on what
the words mean. Questions are ten words, drawn the
same way, and each is embedded. Times are wall clock and CPU of this process; judge by CPU
where the machine is shared. `--work` keeps the indexes.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from memory_assets.embedding import load_embedder
from memory_assets.keywords import text_terms
from memory_assets.recall import open_memory
from memory_assets.redacted_text import compose
from memory_assets.search_kinds import SEARCH_KINDS
from memory_assets.settings import load_settings
from memory_assets.stores.catalog.catalog import Catalog
from memory_assets.stores.catalog.schema import Product
from memory_assets.stores.keyword_index.blocks import (
    BLOCK_ROWS,
    TERM_UNIT,
    KeywordRow,
    facet_mark,
    file_mark,
    pack_columns,
    pack_postings,
    pack_vectors,
    row_hash,
    tool_mark,
)
from memory_assets.stores.keyword_index.files import FILE_NAME, open_for_writing

PROJECTS, TOOLS, FILES = 12, 10, 2_000
TYPES = ("python", "markdown", "openapi", "java", "yaml")
ROWS_PER_SESSION, ROWS_PER_TURN, WORDS = 60, 2, 110
YEAR = 365 * 86_400.0
START = datetime(2025, 1, 1, tzinfo=UTC).timestamp()


def main() -> None:
    """Print a table a size."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--sizes", nargs="*", type=int, default=[10_000, 100_000, 300_000])
    parser.add_argument("--work", type=Path, help="directory to keep the indexes in")
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--kind", choices=("sessions", "workspace"), default="sessions")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        for size in options.sizes:
            data = (options.work or Path(scratch)) / f"{options.kind}-{size}"
            if not (data / "complete").exists():
                build(data, size, options.kind)
                (data / "complete").touch()
            measure(data, size, options.queries, options.kind)


def vocabulary() -> list[str]:
    """Return 60,000 invented words."""
    random = np.random.default_rng(1)
    syllables = [a + b for a in "bcdfglmnprstvz" for b in ("a", "e", "i", "o", "u", "ar", "en")]
    return ["".join(random.choice(syllables, int(n))) for n in random.integers(2, 5, 60_000)]


class Words:
    """Words drawn as often as words are; the terms of each are known beforehand."""

    def __init__(self, seed: int) -> None:
        """Set up the draw."""
        self._random = np.random.default_rng(seed)
        self._words = np.array(vocabulary())
        self._terms = [tuple(text_terms(str(word))) for word in self._words]
        weights = 1.0 / np.arange(3, len(self._words) + 3)
        self._cumulated = np.cumsum(weights) / weights.sum()

    def draw(self, n: int) -> str:
        """Return a text of `n` words."""
        return " ".join(self._words[self._places(n)])

    def draw_terms(self, n: int) -> Counter[str]:
        """Return the terms of a text of `n` words, counted."""
        return Counter(term for place in self._places(n) for term in self._terms[place])

    def _places(self, n: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        places = np.searchsorted(self._cumulated, self._random.random(n))
        return np.minimum(places, len(self._words) - 1)


def rows_of(session: int, words: Words, random: np.random.Generator) -> Iterator[KeywordRow]:
    """Yield the rows of one invented session."""
    project, name = f"-project-{session % PROJECTS}", f"session-{session}"
    begun = START + random.random() * YEAR
    for at in range(ROWS_PER_SESSION):
        said = words.draw_terms(WORDS)
        text = compose("A passage of the benchmark.")
        turn, part = divmod(at, ROWS_PER_TURN)
        vector = random.standard_normal(384, dtype=np.float32)
        turn_id = f"session::{name}::turn::{turn}"
        moment = begun + 60.0 * turn
        yield KeywordRow(
            id=f"{turn_id}::part::{part}" if part else turn_id,
            turn_index=turn,
            part=part,
            ts_epoch=moment,
            text=text,
            metadata={
                "turn_id": turn_id,
                "file_path": f"docs/{name}.md",
                "section_heading": words.draw(4),
                "kind": "docs",
                "session_id": name,
                "project": project,
                "ts_epoch": moment,
            },
            terms={term: count * TERM_UNIT for term, count in said.items()},
            marks=[
                tool_mark(f"Tool{random.integers(TOOLS)}"),
                file_mark(f"src/module_{random.integers(FILES)}.py"),
                facet_mark("file_type", TYPES[random.integers(len(TYPES))]),
            ]
            if part == 0
            else [],
            length=said.total(),
            symbols=0.05,
            vector=vector / np.linalg.norm(vector),
            row_hash=row_hash(turn_id, str(part)),
        )


def add_block(
    connection: sqlite3.Connection,
    where: tuple[str, str, str],
    rows: Sequence[KeywordRow],
    embedder_id: str,
) -> None:
    """Write the rows of a kind, project and session, at most a block of them, as
    `KeywordIndex.write` does, but the postings unsorted: to sort 300,000 rows' once takes minutes,
    to insert them hours."""
    if len(rows) > BLOCK_ROWS:
        raise ValueError(f"{len(rows)} rows are more than a block")
    block = (
        connection.execute(
            "INSERT INTO blocks (kind, project, session_id, agent, place, rows, columns)"
            " VALUES (?,?,?,'claude-code',0,?,?)",
            (*where, len(rows), pack_columns(rows)),
        ).lastrowid
        or 0
    )
    connection.executemany(
        "INSERT INTO rows VALUES (?,?,?,?,?)",
        [
            (block * BLOCK_ROWS + at, row.id, row.row_hash, row.text, json.dumps(row.metadata))
            for at, row in enumerate(rows)
        ],
    )
    connection.execute(
        "INSERT INTO vectors VALUES (?,?,?)", (block, embedder_id, pack_vectors(rows))
    )
    connection.executemany(
        "INSERT INTO unsorted VALUES (?,?,?)",
        [(term, block, places) for term, places in pack_postings(rows).items()],
    )


def build(data: Path, size: int, kind: str) -> None:
    """Make an index of `size` rows, and a catalogue that says that it is complete."""
    about = SEARCH_KINDS[kind]
    stages = (about.table, about.archive, about.keywords, about.asset)
    data.mkdir(parents=True, exist_ok=True)
    began, cpu = time.perf_counter(), time.process_time()
    words, random = Words(2), np.random.default_rng(3)
    embedder_id = load_embedder().embedder_id
    open_for_writing(data / FILE_NAME).close()
    catalog = Catalog(data / "catalog.db")
    (data / "chroma").mkdir()
    (data / "chroma" / "chroma.sqlite3").touch()
    with closing(sqlite3.connect(data / FILE_NAME, isolation_level=None)) as connection:
        for pragma in ("synchronous = OFF", "secure_delete = OFF", "cache_size = -400000"):
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("BEGIN")
        connection.execute("CREATE TABLE unsorted (term TEXT, block INTEGER, places BLOB)")
        for session in range(size // ROWS_PER_SESSION):
            project, name = f"-project-{session % PROJECTS}", f"session-{session}"
            rows = list(rows_of(session, words, random))
            add_block(connection, (kind, project, name), rows, embedder_id)
            for stage in stages:
                catalog.products.put(Product(stage, project, name, "", "", rows=len(rows)))
        connection.execute("INSERT INTO postings SELECT * FROM unsorted ORDER BY term, block")
        connection.execute("DROP TABLE unsorted")
        connection.execute("UPDATE about SET value = value + 1 WHERE name = 'generation'")
        connection.execute("COMMIT")
        connection.execute("VACUUM")
    megabytes = (data / FILE_NAME).stat().st_size / 1e6
    print(
        f"{size} rows written in {time.perf_counter() - began:.0f} s "
        f"({time.process_time() - cpu:.0f} s of CPU), {megabytes:.0f} MB",
        flush=True,
    )


def measure(data: Path, size: int, queries: int, kind: str) -> None:
    """Print how long searches take."""
    print(f"\n{size} passages, {queries} questions")
    print(f"{'':28}  p50 ms  p95 ms  CPU ms  its p95", flush=True)
    memory = open_memory(load_settings(data_dir=data))
    words = Words(4)
    questions = [words.draw(10) for _ in range(queries)]
    half = datetime.fromtimestamp(START + YEAR / 2, UTC)
    filters: dict[str, dict[str, Any]] = {
        "no filter": {},
        "project (1/12)": {"project": "-project-3"},
        "session (60 passages)": {"session": "session-15"},
        "time (half)": {"since": half},
        "tool (1/10)": {"tool": "Tool4"},
        "file": {"file": "module_7.py"},
        "words alone": {"mode": "keyword"},
        "meaning alone": {"mode": "semantic"},
    }
    if kind == "workspace":
        filters = {name: filters[name] for name in ("no filter", "file", *list(filters)[-2:])}
        filters["type (1/5)"] = {"file_type": "python"}
    memory.search("warm up", kinds=(kind,), n=10)
    for title, given in filters.items():
        walls, cpus = [], []
        for question in questions:
            began, cpu = time.perf_counter(), time.process_time()
            memory.search(question, kinds=(kind,), n=10, **given)
            walls.append(time.perf_counter() - began)
            cpus.append(time.process_time() - cpu)
        figures = [*np.percentile(walls, [50, 95]), np.mean(cpus), np.percentile(cpus, 95)]
        print(f"{title:28}" + "".join(f" {1e3 * each:7.1f}" for each in figures))
    for mode in ("hybrid", "keyword"):
        print(f"cold `memory search --mode {mode}`: {cold(data, mode, kind)}", flush=True)


def cold(data: Path, mode: str, kind: str) -> str:
    """Return how long the command line takes, the fastest of five."""
    script = str(Path(sys.executable).with_name("memory"))
    command = [script, "search", "lenbo", "--mode", mode, "--in", kind]
    environment = {**os.environ, "MEMORY_DATA_DIR": str(data), "HOME": str(data)}
    walls, cpus = [], []
    for _ in range(5):
        began, before = time.perf_counter(), os.times()
        subprocess.run(command, env=environment, check=False, capture_output=True)
        after = os.times()
        walls.append(time.perf_counter() - began)
        cpus.append(
            after.children_user
            + after.children_system
            - before.children_user
            - before.children_system
        )
    return f"{min(walls):.2f} s, {min(cpus):.2f} s of CPU"


if __name__ == "__main__":
    main()
