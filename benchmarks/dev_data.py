"""Where the third-party evaluation data is, and how its transcripts are laid out as one home.

The data is looked for in MEMORY_BENCH_DATA, else in ../shared/data beside the checkout.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import lifelike

from memory_assets.transcripts import Source, readers_by_agent
from memory_assets.transcripts.lines import read_head

REPOSITORY = Path(__file__).resolve().parent.parent
_LAYOUT = {
    "claude/projects": ("claude", "MEMORY_PROJECTS_DIR"),
    "codex": ("codex", "MEMORY_CODEX_DIR"),
    "pi": ("pi", "MEMORY_PI_DIR"),
}


def data_dir() -> Path:
    """Return the directory of the evaluation data, or end with a message that says where
    it was looked for."""
    directory = _data_dir()
    if not directory.is_dir():
        sys.exit(f"no evaluation data in {directory}; set MEMORY_BENCH_DATA to where it is")
    return directory


def _data_dir() -> Path:
    return Path(os.environ.get("MEMORY_BENCH_DATA", REPOSITORY.parent / "shared" / "data"))


def transcripts(into: Path, generated_megabytes: int | None = None) -> dict[str, str]:
    """Lay out the dev transcripts below `into`, or generated ones where the data is absent or a
    size is given; return the environment variables that point `memory` at them."""
    if generated_megabytes is None and (_data_dir() / "transcripts.tar.xz").is_file():
        roots = merge_homes(unpack("transcripts.tar.xz", into / "raw"), into / "roots")
        shutil.rmtree(into / "raw")
        return roots
    size = generated_megabytes or 100
    lifelike.generate(into, 1, size * 1_000_000, 10 * size, 3 + size // 4)
    return {variable: str(into / path) for path, (_, variable) in _LAYOUT.items()}


def ingested(work: Path) -> Path:
    """Bring a memory of the dev transcripts below `work` up to date, without vectors, and return
    its data directory; what is done is told on standard error. Ends where there is no such data."""
    work = work.absolute()
    roots = work / "roots"
    if not roots.exists():
        print("unpacking the transcripts", file=sys.stderr)
        merge_homes(unpack("transcripts.tar.xz", work / "raw"), work / "unfinished")
        shutil.rmtree(work / "raw")
        (work / "unfinished").rename(roots)
    (work / "home").mkdir(exist_ok=True)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("MEMORY_")},
        "HOME": str(work / "home"),
        "MEMORY_DATA_DIR": str(work / "memory"),
        "MEMORY_EMBEDDER": "none",
        **{variable: str(roots / name) for name, variable in _LAYOUT.values()},
    }
    command = [str(Path(sys.executable).with_name("memory")), "ingest"]
    print("ingesting them, which takes minutes the first time", file=sys.stderr)
    subprocess.run(command, env=environment, check=True, stdout=sys.stderr)
    return work / "memory"


def unpack(archive: str, into: Path) -> Path:
    """Unpack one archive of the evaluation data."""
    with tarfile.open(data_dir() / archive, "r:xz") as tar:
        tar.extractall(into, filter="data")
    return into


def source_of(path: Path) -> Source:
    """Return the source that an unpacked file is, of the agent that a folder above is named
    after."""
    agents = {"codex": "codex", "pi": "pi", "copilot": "copilot-cli"}
    folders = (agents[part] for part in reversed(path.parts) if part in agents)
    agent = next(folders, "claude-code")
    ids = readers_by_agent(agent)[0].identify(path, read_head(path))[:2]
    return Source(agent, "-benchmark", *ids, path, path.stat().st_size, 0)


def merge_homes(unpacked: Path, into: Path) -> dict[str, str]:
    """Copy every repository's transcripts into one directory an agent, and return the
    environment variables that point `memory` at them."""
    environment = {}
    for inner, (name, variable) in _LAYOUT.items():
        target = into / name
        for repository in sorted(unpacked.iterdir()):
            if (repository / inner).is_dir():
                shutil.copytree(repository / inner, target, dirs_exist_ok=True)
        environment[variable] = str(target)
    return environment
