"""One file of Windows is one file in `restore`, `blame` and filters by file."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_assets.recall.files.blame import blame, touching_turns
from memory_assets.recall.files.restore import restore
from memory_assets.recall.memory import Memory
from memory_assets.requests.questions import RestoreRequest
from memory_assets.stores.lake.schemas import TURN_CHUNKS
from memory_assets_tests.recall.worked import Call, Worked, shell

SHOP = r"C:\Users\ada\shop"
SPELLINGS = (
    r"C:\Users\ada\shop\conf\app.json",
    "c:/Users/ada/shop/conf/app.json",
    r"C:\Users\ada\shop/conf\app.json",
    r"conf\app.json",
)


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Memory:
    """A file that was written once in each spelling, and another file of its name."""
    worked = Worked(tmp_path_factory.mktemp("windows"))
    written = [
        Call("Write", {"file_path": path, "content": f'{{"a": {place}}}\n'}, "written")
        for place, path in enumerate(SPELLINGS)
    ]
    worked.session("1", shell("dir"), *written, cwd=SHOP)
    return worked.memory()


@pytest.mark.parametrize("name", ["app.json", "conf/app.json", *SPELLINGS])
def test_a_file_that_was_written_in_four_spellings_is_one(
    memory: Memory, name: str, tmp_path: Path
) -> None:
    """Each is a name of it, and what was written last is in it."""
    found = restore(memory, RestoreRequest(file=name), tmp_path)
    assert (found["text"], len(found["events"]), found["complete"]) == ('{"a": 3}\n', 4, True)


def test_it_is_one_file_of_its_turn(memory: Memory, tmp_path: Path) -> None:
    """In the turn's list of files, in search by file, and in blame."""
    projects = memory.lake.projects(TURN_CHUNKS)
    for name in ("conf/app.json", r"conf\app.json", "app.json"):
        (turn,) = touching_turns(memory.lake, projects, [name])
        assert [str(path) for path in turn["files"]] == ["conf/app.json"]
        assert [one["turn_id"] for one in blame(memory, name, tmp_path)["turns"]] == [
            turn["turn_id"]
        ]
