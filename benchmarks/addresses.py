"""How many of the secrets in addresses are found, by part.

    python benchmarks/addresses.py [--seed 1] [--missed]

A template a line, `name|address`: `<S kind>` is a secret, `<N kind>` is drawn and harmless. Those
of `addresses.txt`, of some 300 services, are put in one of ten frames; those of
`addresses_whole.txt` are whole texts (`\\n` breaks a line), and the ones without a secret are to
be left alone. Each is filled with two to five values. A hash of the name says which part it is in:
`chosen`, which rules may be chosen on and `--missed` shows, or `aside`, of which only the total is
looked at.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from address_values import VARIANTS, Values
from redaction_engines import engines
from redaction_scores import Item, is_caught

TEMPLATES = (
    Path(__file__).with_name("addresses.txt"),
    Path(__file__).with_name("addresses_whole.txt"),
)
_SLOT = re.compile(r"<([SN]) (\w+)>")


def part(service: str) -> str:
    """Return the part that a service is in."""
    return ("aside", "chosen")[hashlib.sha256(f"n14{service}".encode()).digest()[0] & 1]


def read_addresses(file: Path, seed: int) -> Iterator[tuple[str, Item]]:
    """Yield the part and the item, with text and spans, of every filled template of `file`."""
    for line in file.read_text(encoding="utf-8").splitlines():
        name, _, template = line.partition("|")
        is_whole = file != TEMPLATES[0]
        template = template.replace("\\n", "\n") if is_whole else template
        kinds = [kind for _, kind in _SLOT.findall(template)]
        for variant in range(max((VARIANTS.get(kind, 2) for kind in kinds), default=1)):
            values = Values(f"{seed}{template}{variant}")
            yield part(name), _filled(template, values, variant, is_whole)


def _filled(template: str, values: Values, variant: int, is_whole: bool) -> Item:
    first, frame = values.below(11), values.frame()
    before, _, after = ("{}" if is_whole else frame).format("\0").partition("\0")
    text, done, spans = before, 0, []
    for slot in _SLOT.finditer(template):
        text += template[done : slot.start()]
        form = first + 2 * variant if slot[2] == "pw" else variant
        value = values.draw(slot[2], form)
        if slot[1] == "S":
            spans.append((len(text), len(text) + len(value)))
        text, done = text + value, slot.end()
    return {"text": text + template[done:] + after, "spans": spans}


def main() -> int:
    """Print the share found of each part, and how many harmless texts are touched."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--missed", action="store_true", help="show those of the chosen part")
    given = options.parse_args()
    redactor = next(iter(engines().values()))
    print(f"ruleset {redactor.ruleset_version}, seed {given.seed}")
    for file in TEMPLATES:
        counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        for name, item in read_addresses(file, given.seed):
            found = [(each.start, each.end, each.rule) for each in redactor.find(item["text"])]
            hit = is_caught(item, found) if item["spans"] else bool(found)
            count = counts[name if item["spans"] else f"{name}, harmless"]
            count[0] += hit
            count[1] += 1
            if given.missed and name == "chosen" and hit != bool(item["spans"]):
                print(item["text"].replace("\n", " "), *(rule for _, _, rule in found))
        for name, (hits, all_of_it) in sorted(counts.items()):
            print(f"{file.name}, {name}: {hits} of {all_of_it}, {hits / all_of_it:.1%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
