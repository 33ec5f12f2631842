"""The chunks of whole files, as `golden/` has them, and of files of public repositories."""

from __future__ import annotations

import json
import re
import tarfile
from pathlib import Path

import pytest

from memory_assets.documents import KIND_OF, Section, file_type
from memory_assets.documents.chunk import sections
from memory_assets_tests.conftest import bench_data_dir
from memory_assets_tests.documents.test_every_line import check

GOLDEN = Path(__file__).parent / "golden"
FILES = sorted(
    path.relative_to(GOLDEN).as_posix()
    for path in GOLDEN.rglob("*")
    if path.is_file() and path.suffix != ".outline" and path.name != "README.md"
)


def outline(chunks: list[Section]) -> str:
    """Return a line for each chunk: lines, type and heading."""
    return "".join(
        f"{chunk.line_start}-{chunk.line_end} {chunk.chunk_type} {chunk.heading}\n"
        for chunk in chunks
    )


@pytest.mark.parametrize("path", FILES)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_a_file_has_the_chunks_of_its_outline(path: str, line_end: str) -> None:
    """Lines, types and headings are the same with LF and CR LF, and no line is lost."""
    text = (GOLDEN / path).read_text().replace("\n", line_end)
    assert outline(check(path, text)) == (GOLDEN / f"{path}.outline").read_text()


def _chunk(path: str, heading: str) -> Section:
    found = [c for c in sections(path, (GOLDEN / path).read_text()) if c.heading == heading]
    assert len(found) == 1
    return found[0]


def test_each_operation_has_the_parameters_of_its_path() -> None:
    """Those of the path, not the operations between; lines are those of the file."""
    text = _chunk("orders.yaml", "DELETE /orders/{orderId} -- Cancel an order.").text
    assert "X-Tenant" in text and "# Only before it is shipped." in text
    assert "Read an order" not in text
    get = _chunk("payments.json", "GET /payments -- List payments").text
    assert '"tenant"' in get and "Paid" not in get


def test_extensions_are_in_no_chunk() -> None:
    """At the top level, of info, of an operation and of a schema, with all that is in them."""
    texts = "".join(c.text for c in sections("orders.yaml", (GOLDEN / "orders.yaml").read_text()))
    assert "x-" not in texts and "curl" not in texts and "/metrics" not in texts


def test_a_channel_has_the_schemas_of_its_messages() -> None:
    """The message it refers to, and the payload that the message refers to."""
    text = _chunk("events.yaml", "Channel: orders.placed -- An order was placed and paid.").text
    assert "name: OrderPlaced" in text and "placedAt" in text
    assert "reason" not in text


def test_a_method_has_its_comment_and_the_first_the_header_of_the_class() -> None:
    """With package, imports and fields."""
    first = sections("OrderService.java", (GOLDEN / "OrderService.java").read_text())[0].text
    assert first.startswith("package com.example.orders;")
    assert "import java.util.List;" in first and "this.orders = orders;" in first
    place = _chunk("OrderService.java", "OrderService.place").text
    assert place.lstrip().startswith("/**") and "@Transactional" in place


def test_one_line_of_json_is_cut_within_the_line() -> None:
    """The same operations and schemas are found in a minified file."""
    text = json.dumps(json.loads((GOLDEN / "payments.json").read_text()))
    headings = [chunk.heading for chunk in check("payments.json", text)]
    whole = sections("payments.json", (GOLDEN / "payments.json").read_text())
    assert headings == [chunk.heading for chunk in whole]


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
