"""Account for the text of all transcripts of the evaluation data: what of it the readers took,
what they leave out for which reason, and what is in places that no reader knows.

    python benchmarks/account.py [--timed]

Prints Markdown tables with counts alone. `--timed` reads the dev transcripts three times with and
without an account, in turns.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from dev_data import source_of, unpack

from memory_assets.agents import AGENTS
from memory_assets.errors import TranscriptError
from memory_assets.stores.catalog.text_account import version_key
from memory_assets.transcripts import (
    Account,
    Balance,
    ReadReport,
    Source,
    discover,
    read_session,
    reader_of,
)
from memory_assets.transcripts.account import Tally

_ROOTS = {"claude-code": "claude/projects", "codex": "codex", "pi": "pi"}
_ROUNDS = 3
_SHOWN_STEPS = 4


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--timed", action="store_true", help="measure what an account costs")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        dev = unpack("transcripts.tar.xz", Path(scratch) / "dev")
        others = unpack("agents.tar.xz", Path(scratch) / "agents")
        if arguments.timed:
            _time(dev)
            return 0
        sets = {
            "dev": list(_transcripts(dev)),
            "growth": list(map(source_of, sorted(dev.glob("*/growth/**/*.jsonl")))),
            "samples": list(_samples(others)),
        }
        unread = sum(
            path.is_file() for folder in _folders(others, False) for path in folder.rglob("*")
        )
        balances = {
            (name, agent): _balance(source for source in sources if source.agent == agent)
            for name, sources in sets.items()
            for agent in AGENTS
            if any(source.agent == agent for source in sources)
        }
        numbers = {name: Counter(source.agent for source in sets[name]) for name in sets}
    _print_sums(balances, numbers)
    print(f"\n{unread} files are samples of agents that no reader knows.")
    of_agents = {agent: Balance() for _, agent in balances}
    for (_, agent), balance in balances.items():
        of_agents[agent].add(balance)
    _print_reasons(of_agents)
    _print_unexplained(of_agents)
    return 0


def _transcripts(unpacked: Path) -> Iterator[Source]:
    for repository in sorted(unpacked.iterdir()):
        for agent, inner in _ROOTS.items():
            yield from discover({agent: (repository / inner,)})


def _folders(samples: Path, known: bool) -> list[Path]:
    """Return the folders of samples, which are named after agents: of those known, or the rest."""
    folders = (path for path in sorted(samples.iterdir()) if path.is_dir())
    return [path for path in folders if (path.name in AGENTS) is known]


def _samples(samples: Path) -> Iterator[Source]:
    """Yield the sessions in the folder of each agent: any directory in it may be the agent's."""
    for folder in _folders(samples, True):
        places = (folder, *(path for path in sorted(folder.rglob("*")) if path.is_dir()))
        yield from discover({folder.name: places})


def _balance(sources: Iterator[Source]) -> Balance:
    total = Balance()
    for source in sources:
        account = Account(reader_of(source).left_out_of(source))
        try:
            _read(source, account)
        except TranscriptError:
            continue
        total.add(account.balance())
    return total


def _read(source: Source, account: Account | None) -> None:
    report = ReadReport(account=account)
    for _ in read_session(source.path, source=source, report=report):
        pass


def _print_sums(
    balances: Mapping[tuple[str, str], Balance], numbers: Mapping[str, Counter[str]]
) -> None:
    print("| transcripts | files | text, kB | on record | left out | unexplained | not compared |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for (name, agent), balance in balances.items():
        left_out = balance.left_out.total()
        kept = balance.total - left_out - balance.missing - balance.beyond
        sizes = (balance.total, kept, left_out, balance.missing, balance.beyond)
        shown = " | ".join(f"{size / 1e3:,.1f}" for size in sizes)
        print(f"| {name}, {agent} | {numbers[name][agent]} | {shown} |")


def _print_reasons(balances: Mapping[str, Balance]) -> None:
    print("\n| agent | left out | kB |\n|---|---|---:|")
    for agent, balance in balances.items():
        for why, size in balance.left_out.most_common():
            print(f"| {agent} | {why} | {size / 1e3:,.1f} |")


def _print_unexplained(balances: Mapping[str, Balance]) -> None:
    print("\n| agent | unexplained at | bytes | versions |\n|---|---|---:|---|")
    for agent, balance in balances.items():
        places: dict[str, Tally] = {}
        for path, tally in balance.unexplained.items():
            place = ".".join(path.split(".")[:_SHOWN_STEPS])
            places.setdefault(place, Tally()).add(tally.bytes, tally.versions)
        for path, tally in sorted(places.items(), key=lambda each: -each[1].bytes):
            versions = sorted(tally.versions, key=version_key)
            span = " to ".join(dict.fromkeys((versions[0], versions[-1]))) if versions else ""
            print(f"| {agent} | `{path}` | {tally.bytes} | {span} |")


def _time(dev: Path) -> None:
    sources = list(_transcripts(dev))
    for _ in range(_ROUNDS):
        seconds = []
        for counted in (False, True):
            started = time.process_time()
            for source in sources:
                rows = reader_of(source).left_out_of(source)
                account = Account(rows) if counted else None
                _read(source, account)
                if account is not None:
                    account.balance()
            seconds.append(time.process_time() - started)
        print(f"{seconds[0]:.2f} s of CPU without an account, {seconds[1]:.2f} s with one")


if __name__ == "__main__":
    sys.exit(main())
