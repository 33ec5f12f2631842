"""Adversarial texts through everything that one record passes through.

    python benchmarks/hostile_texts.py [--length 12000] [--drawn 200] [--seed 1] [--megabytes 100]

Prints each step and text for which four times the length takes more than 6 times the CPU time,
and the slowest by character. With `--megabytes` it then redacts one record of so many megabytes
of one letter, of words and of assignments, under the default limit of time.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from memory_assets.embedding import load_word_pieces
from memory_assets.redaction import RedactionSettings, load_redactor
from memory_assets_tests.hostile_texts import RECORDS, Stages, growth, shapes

STEEP = 6.0
LARGE = {"one letter": "a", "words": "the quick brown fox ", "assignments": "PASSWORD=a1b2c3d4e5\n"}


def main() -> None:
    """Measure, and print what stands out."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--length", type=int, default=12_000)
    parser.add_argument("--drawn", type=int, default=200, help="random combinations of units")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="steps whose names begin so")
    parser.add_argument("--megabytes", type=int, default=0)
    options = parser.parse_args()
    redactor = load_redactor(RedactionSettings(record_seconds=600.0), key=bytes(32))
    with tempfile.TemporaryDirectory() as directory:
        steps = Stages(redactor, load_word_pieces(), Path(directory)).steps()
        for name, step in steps.items():
            if not name.startswith(options.only):
                continue
            tried = steep = 0
            for shape in shapes(options.drawn, options.seed):
                tried += 1
                times = growth(step, shape, options.length)
                if times > STEEP:
                    steep += 1
                    print(f"{name}: {times:.1f} times as long: {shape}", flush=True)
            print(f"{name}: {tried} texts, {steep} of them steep", flush=True)
    limited = load_redactor(key=bytes(32))
    for name, unit in LARGE.items() if options.megabytes else ():
        text = unit * (options.megabytes * 1_000_000 // len(unit))
        begin = time.thread_time()
        record = RECORDS["prompt"](text)
        left = limited.session("s").redact_record(record, project="p", project_root="/srv").record
        seconds = time.thread_time() - begin
        print(f"{options.megabytes} MB of {name}: {seconds:.1f} CPU s, left {left.text[:24]!r}")


if __name__ == "__main__":
    main()
