"""How many chunks of a directory's files have the size that is aimed at, by type of file.

python -m benchmarks.chunk_sizes DIRECTORY...
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

from memory_assets.documents import file_type
from memory_assets.documents.chunk import CHUNKERS, sections
from memory_assets.embedding import load_word_pieces

MAX_BYTES = 1_000_000


def main(directories: list[str]) -> None:
    """Print a table with a row for each type of file."""
    pieces = load_word_pieces()
    files: dict[str, int] = defaultdict(int)
    sizes: dict[str, list[int]] = defaultdict(list)
    for path in sorted(path for each in directories for path in Path(each).rglob("*")):
        if not path.is_file() or path.is_symlink() or path.stat().st_size > MAX_BYTES:
            continue
        content = path.read_bytes()
        if b"\0" in content:
            continue
        text = content.decode(errors="replace")
        found = file_type(path.as_posix(), text)
        files[found] += 1
        sizes[found] += [pieces.count_tokens(chunk.text) for chunk in sections(str(path), text)]
    print("| type | tokens | files | chunks | median | below | within | above |")
    print("|---|---|---|---|---|---|---|---|")
    for found, (_, size) in CHUNKERS.items():
        if not (counts := sorted(sizes[found])):
            continue
        below = sum(count < size.low for count in counts)
        above = sum(count > size.high for count in counts)
        shares = [
            f"{100 * part / len(counts):.0f} %"
            for part in (below, len(counts) - below - above, above)
        ]
        print(
            f"| {found} | {size.low} to {size.high} | {files[found]} | {len(counts)} | "
            f"{counts[len(counts) // 2]} | {' | '.join(shares)} |"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
