"""The files of Codex's threads: compressed, copied, and several to a thread."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from memory_assets.errors import DamagedTranscript
from memory_assets.transcripts import ReadReport, Source, Unlisted, discover, read_session
from memory_assets.transcripts.content import zstd_library
from memory_assets_tests.transcripts.conftest import CodexLines

ZSTD = zstd_library()
THREAD = "019d7e36-577c-7d90-9f1c-a447ba2254b4"
SEGMENTS = ("01a03d5c-e4b7-7e02-b2d8-00000000b001", "01a0416c-e4b7-7e02-b2d8-00000000b002")
PLAIN = f"rollout-2026-04-01T10-00-00-{THREAD}.jsonl"

Pack = Callable[[bytes], bytes]


def rollout(*prompts: str, thread: str = THREAD) -> bytes:
    """Return a rollout with these prompts, each answered."""
    lines = CodexLines(thread=thread)
    lines.meta()
    for prompt in prompts:
        lines.prompt(prompt)
        lines.says(f"done: {prompt}")
    return lines.bytes()


def put(root: Path, content: bytes, name: str = PLAIN, folder: str = "sessions/2026/04/01") -> Path:
    """Write a file into Codex's home."""
    path = root / folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def found_in(root: Path) -> tuple[list[Source], list[Unlisted]]:
    """Return the sources of Codex's home, and what could not be looked at."""
    unlisted: list[Unlisted] = []
    return list(discover({"codex": (root,)}, note=unlisted.append)), unlisted


def said(source: Source, report: ReadReport | None = None) -> list[str]:
    """Return the prompts of a source."""
    records = read_session(source.path, source=source, report=report, end=source.size)
    return [record.text for record in records if record.kind == "prompt"]


@pytest.mark.parametrize(("ending", "pack"), [(".zst", ZSTD.compress), (".gz", gzip.compress)])
@pytest.mark.parametrize("folder", ["sessions/2026/04/01", "archived_sessions"])
def test_a_compressed_rollout_is_read_as_the_plain_one(
    tmp_path: Path, ending: str, pack: Pack, folder: str
) -> None:
    """With the same session, records and offsets."""
    content = rollout("fix it", "thanks")
    (plain,), _ = found_in(put(tmp_path / "plain", content).parents[4])
    put(tmp_path / "packed", pack(content), PLAIN + ending, folder)
    (packed,), unlisted = found_in(tmp_path / "packed")
    assert (packed.session_id, packed.project) == (THREAD, plain.project)
    assert [*read_session(packed.path, source=packed)] == [*read_session(plain.path, source=plain)]
    assert said(packed) == ["fix it", "thanks"] and not unlisted


@pytest.mark.parametrize(
    "folder", ["sessions/2026/04/01", "sessions/2026/03/31", "archived_sessions"]
)
def test_of_a_plain_and_a_compressed_file_the_plain_one_counts(tmp_path: Path, folder: str) -> None:
    """Wherever the other one lies: they are one session."""
    put(tmp_path, ZSTD.compress(rollout("old")), f"{PLAIN}.zst", "sessions/2026/04/01")
    put(tmp_path, rollout("old", "new"), PLAIN, folder)
    (source,), _ = found_in(tmp_path)
    assert said(source) == ["old", "new"]


def frames(content: bytes) -> bytes:
    """Compress each half by itself, as an appending writer does."""
    middle = len(content) // 2
    return b"".join(map(ZSTD.compress, (content[:middle], content[middle:])))


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda packed: packed[:-40], "cut off"),
        (lambda packed: packed[:-400] + bytes(400), "damaged"),
        (lambda packed: packed + b"{}", "damaged"),
    ],
)
def test_what_cannot_be_unpacked_is_said(tmp_path: Path, spoil: Pack, reason: str) -> None:
    """When it is found, or when it is read; whole frames in a row are no damage."""
    noise = random.Random(7).randbytes(200_000).hex()
    packed = frames(rollout("first", noise))
    path = put(tmp_path, packed, f"{PLAIN}.zst")
    (source,), _ = found_in(tmp_path)
    assert said(source)[0] == "first"
    path.write_bytes(spoil(packed))
    with pytest.raises(DamagedTranscript, match=reason):
        list(read_session(path, source=source))
    path.write_bytes(b"(\xb5/\xfd" + bytes(9))
    sources, (unlisted,) = found_in(tmp_path)
    assert not sources and PLAIN in unlisted.path and "compressed" in unlisted.reason


def test_a_small_file_that_unpacks_to_very_much_is_not_read(tmp_path: Path) -> None:
    """More than 64 MiB and a thousand times its size is no transcript."""
    path = put(tmp_path, ZSTD.compress(bytes(65 << 20)), f"{PLAIN}.zst")
    with pytest.raises(DamagedTranscript, match="more than can be a transcript"):
        list(read_session(path, source=Source("codex", "p", THREAD, None, path, 1, 1)))


def segments(root: Path, order: tuple[int, ...], pack_last: bool = False) -> None:
    """Write a thread of three files in some order of arrival."""
    names = [PLAIN]
    for place, segment in enumerate(SEGMENTS):
        # the clock of the second was set back: its name sorts first
        names.append(f"rollout-2026-0{4 - place}-02T10-00-00-{THREAD}_{segment}.jsonl")
    for place in order:
        content = rollout(f"prompt {place}")
        packed = pack_last and place == 2
        put(root, ZSTD.compress(content) if packed else content, names[place] + ".zst" * packed)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
@pytest.mark.parametrize("pack_last", [False, True])
def test_the_files_of_a_thread_are_one_session_in_order(
    tmp_path: Path, order: tuple[int, ...], pack_last: bool
) -> None:
    """In that of their segments, whatever came first; one may be compressed."""
    segments(tmp_path, order, pack_last)
    (source,), _ = found_in(tmp_path)
    report = ReadReport()
    assert source.session_id == THREAD and len(source.files) == 3
    assert said(source, report) == ["prompt 0", "prompt 1", "prompt 2"]
    assert source.size == sum(path.stat().st_size for path in source.files)
    assert not report.pending_bytes
    records = list(read_session(source.path, source=source))
    assert [record.seq for record in records] == list(range(len(records)))
    starts = [record.byte_start for record in records if record.kind == "prompt"]
    assert starts == sorted(starts)


TURN = (
    b'{"timestamp": "2026-09-05T09:15:10.000Z", "type": "turn_context", "payload": {"cwd": "/k"}}'
)


@pytest.mark.parametrize(
    ("torn", "project"),
    [
        (lambda first: first[:90] + first, "-home-ada-engine"),
        (lambda first: first[:90] + b"\0" * 30 + first, "-home-ada-engine"),
        (lambda first: first[:90], "-k"),
        (lambda first: first[:90] + b"\n" + first, "-home-ada-engine"),
        (lambda first: b"", "-k"),
    ],
)
def test_a_torn_first_line_does_not_hide_the_directory(
    tmp_path: Path, torn: Pack, project: str
) -> None:
    """What can be recovered of it names the project, else the first turn does."""
    first, *others = rollout("fix it").split(b"\n")
    put(tmp_path, b"\n".join([torn(first), TURN, *others]))
    (source,), _ = found_in(tmp_path)
    assert (source.project, source.session_id) == (project, THREAD)
    assert said(source) == ["fix it"]


def test_a_thread_whose_first_file_is_gone_is_still_that_thread(tmp_path: Path) -> None:
    """Its later files name it."""
    segments(tmp_path, (2, 1))
    (source,), _ = found_in(tmp_path)
    assert source.session_id == THREAD and said(source) == ["prompt 1", "prompt 2"]


def test_only_the_last_file_of_a_thread_can_be_half_written(tmp_path: Path) -> None:
    """A cut-off line in an earlier one is bad, and the next file is read."""
    put(tmp_path, rollout("prompt 0") + b'{"timestamp":"2026')
    name = f"rollout-2026-04-02T10-00-00-{THREAD}_{SEGMENTS[0]}.jsonl"
    put(tmp_path, rollout("prompt 1") + b'{"timestamp":"2026', name)
    (source,), _ = found_in(tmp_path)
    report = ReadReport()
    assert said(source, report) == ["prompt 0", "prompt 1"]
    assert (report.bad_line_count, report.pending_bytes) == (1, 18)
