"""Files of public repositories, one or more of each type, against outlines that were read over.

The files are evaluation data, each with its repository's licence: `documents.tar.xz` beside the
checkout. `real_files.outline` names each file with its type, and the lines, types and headings of
its chunks.
"""

from __future__ import annotations

import re
import tarfile
from pathlib import Path

import pytest

from memory_assets.documents import KIND_OF, file_type
from memory_assets_tests.conftest import bench_data_dir
from memory_assets_tests.documents.test_every_line import check
from memory_assets_tests.documents.test_golden import outline

OUTLINES = Path(__file__).with_name("real_files.outline").read_text()


def _outlines() -> dict[str, str]:
    """The outline of each file, under its name and type."""
    parts = re.split(r"^== (.+)\n", OUTLINES, flags=re.MULTILINE)[1:]
    return {name: text.rstrip("\n") for name, text in zip(parts[::2], parts[1::2], strict=True)}


def test_files_of_public_repositories_have_the_chunks_of_their_outlines() -> None:
    """No file is left out, and no line of one is lost."""
    archive = bench_data_dir() / "documents.tar.xz"
    if not archive.is_file():
        pytest.skip("documents.tar.xz is not beside the checkout (set MEMORY_BENCH_DATA)")
    found = {}
    with tarfile.open(archive, "r:xz") as tar:
        for member in filter(tarfile.TarInfo.isfile, tar):
            path = member.name.removeprefix("./")
            content = tar.extractfile(member)
            if content is None or "LICENSE" in path or path == "MANIFEST.md":
                continue
            text = content.read().decode()
            found[f"{path} ({file_type(path, text)})"] = outline(check(path, text)).rstrip("\n")
    assert found == _outlines()


def test_every_type_of_file_but_windows_of_text_has_an_outline() -> None:
    """So that no chunker is tried on made-up files alone; AsciiDoc is cut as Markdown is."""
    outlined = {re.findall(r"\((\w+)\)$", name)[0] for name in _outlines()}
    assert outlined == {*KIND_OF} - {"text", "asciidoc"}
