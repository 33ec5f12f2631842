"""How far the claims of `session_commits` can be trusted, on a repository made for it.

    python benchmarks/commits.py [--sessions 40] [--seeds 3] [--json]

Sessions and a human work in one real git repository at once: commits printed, quiet, made by
scripts, signed by trailers; amended, rebased, squashed, cherry-picked, reverted, by the
session and by the human; commits that the human makes of a session's lines, beside a session
in other files, and in the same file; logs that quote commits; short SHAs that collide. Each
claim is compared with the truth.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.commit_deeds import live
from benchmarks.commit_world import World
from memory_assets.chunking import build_turns
from memory_assets.commits import Repository, attribute, session_work, without_contested_guesses
from memory_assets.redaction import load_redactor
from memory_assets.session_analysis import SessionTurns, session_turns
from memory_assets.transcripts import discover, read_session


def read(world: World, projects: Path) -> list[SessionTurns]:
    """Return the sessions as the pipeline would: read, redacted, cut into turns."""
    redactor = load_redactor(key=bytes(32))
    for session in world.sessions:
        session.write(projects)
    found = []
    for source in discover({"claude-code": (projects,)}):
        session = redactor.session(source.session_id)
        records = [
            session.redact_record(each, project=source.project, project_root=each.cwd).record
            for each in read_session(source.path, source=source)
        ]
        found.append(session_turns(records, build_turns(records)))
    return found


def measure(seed: int, sessions: int) -> dict[str, Counter[str]]:
    """Return, by evidence and by kind of commit, how many claims were right, wrong, missed."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        world = live(root, seed, sessions)
        turns = read(world, root / "projects")
        repository = Repository.at(world.directory)
        started = time.process_time()
        rows = [
            _Row(claim.sha, str(claim.evidence), session.session_id)
            for session in turns
            for claim in attribute(session_work(session), repository)
            if claim.sha
        ]
        print(f"seed {seed}: {len(world.must)} commits, {time.process_time() - started:.1f} CPU s "
              "in Python", file=sys.stderr)  # fmt: skip
        return _compared(
            world, without_contested_guesses((row.commit, row.evidence, row) for row in rows)
        )


class _Row:
    def __init__(self, commit: str, evidence: str, session_id: str) -> None:
        self.commit, self.evidence, self.session_id = commit, evidence, session_id


def _compared(world: World, rows: list[_Row]) -> dict[str, Counter[str]]:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    claimed: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        full = [sha for sha in world.must if sha.startswith(row.commit)]
        sha = full[0] if len(full) == 1 else row.commit
        claimed[sha].add(row.session_id)
        allowed = world.must.get(sha, set()) | world.may.get(sha, set())
        verdict = "right" if row.session_id in allowed else "wrong"
        counts[f"evidence: {row.evidence}"][verdict] += 1
        counts["all"][verdict] += 1
        if verdict == "wrong":
            counts[f"truth: {world.kinds.get(sha, 'unknown')}"]["wrong"] += 1
    for sha, must in world.must.items():
        for session_id in must:
            verdict = "found" if session_id in claimed[sha] else "missed"
            counts[f"truth: {world.kinds[sha]}"][verdict] += 1
            counts["all"][verdict] += 1
    return counts


def main() -> None:
    """Print precision and recall; exit with 1 where precision is below .95."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sessions", type=int, default=40)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    total: dict[str, Counter[str]] = defaultdict(Counter)
    for seed in range(options.seeds):
        for name, counts in measure(seed, options.sessions).items():
            total[name].update(counts)
    whole = total["all"]
    precision = whole["right"] / max(1, whole["right"] + whole["wrong"])
    recall = whole["found"] / max(1, whole["found"] + whole["missed"])
    if options.json:
        print(json.dumps({"precision": precision, "recall": recall, "counts": total}))
    else:
        for name in sorted(total):
            print(f"{name:45} {dict(total[name])}")
        print(f"precision {precision:.3f}, recall {recall:.3f}")
    sys.exit(0 if precision >= 0.95 else 1)


if __name__ == "__main__":
    main()
