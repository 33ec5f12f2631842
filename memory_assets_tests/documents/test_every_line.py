"""What holds of every file: no line is lost, sizes are kept, one change changes one chunk."""

from __future__ import annotations

import json
import re
from itertools import pairwise

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_assets.documents import Section, file_type
from memory_assets.documents.chunk import CHUNKERS, sections
from memory_assets.documents.sizing import OVERLAP
from memory_assets.embedding import load_word_pieces
from memory_assets_tests.sweep import sweep

TYPES = {
    "chunk.md": "markdown", "decisions/chunk.md": "adr", "api.yaml": "openapi",
    "api.json": "openapi", "events.yaml": "asyncapi", "events.json": "asyncapi",
    "chunk.yaml": "yaml", "chunk.json": "json", "chunk.toml": "toml", "Chunk.java": "java",
    "chunk.py": "python", "chunk.ts": "typescript", "chunk.tsx": "typescript",
    "chunk.js": "javascript", "chunk.go": "go", "chunk.rs": "rust", "chunk.puml": "plantuml",
    "Dockerfile": "dockerfile", "Makefile": "makefile", "chunk.sh": "shell", "chunk.txt": "text",
}  # fmt: skip
VERSIONS = {"openapi": "openapi: 3.1.0\n", "asyncapi": "asyncapi: 3.0.0\n"}
CHUNK_TYPES = {
    "endpoint", "schema", "info", "channel", "section", "method", "definition", "key",
    "full_file", "window",
}  # fmt: skip
PIECES = load_word_pieces()

LINES = st.sampled_from(
    """# Title|## Use|### Consequences|Head|----|===|---|```|~~~|| a | b |||- x|> q|<div>|x: 1|y:
  z: &a [1, 2]|  - *a|  <<: *a|paths:|  /a/{id}:|    parameters: []|    get:|      summary: s
x-internal: 1|      x-code: ||components:|  schemas:|    A: {type: object}|channels:|{|}|[|]
"a": {"b": [1]},|[table]|[[list]]|k = 1|def f(x):|    return x|class A:|    def m(self): pass
@wraps|    # note|// note|/** doc|*/|public class B {|  int x;|  void m() {}|  record R(int a) {}
export const f = () => {|function g() {|func (s *S) Run() {|type T struct {|impl<T> A for B {
#[test]|fn h() {}|FROM a AS b|RUN x|all: dep|\tmake|.PHONY: all|x=1|run() {|@startuml|A -> B
é😀 日本|\x0c|\t|   |word word word|\u2028|'''|\"\"\"|%TAG|!!python/object:os.system x|    put:
""".replace("\n", "|").split("|")
)
TEXTS = st.tuples(
    st.sampled_from(["", "\ufeff"]),
    st.lists(LINES | st.text(max_size=30), max_size=60),
    st.sampled_from(["\n", "\r\n", "\r"]),
).map(lambda parts: parts[0] + parts[2].join(parts[1]))


def _lines(text: str) -> list[str]:
    return re.split(r"\r\n?|\n", text.removeprefix("\ufeff"))


def check(path: str, text: str) -> list[Section]:
    """Check what holds of the chunks of any file, and return them."""
    chunks = sections(path, text)
    lines = _lines(text)
    covered: set[int] = set()
    found = file_type(path, text)
    for chunk in chunks:
        assert chunk.chunk_type in CHUNK_TYPES
        assert chunk.text.strip()
        assert 1 <= chunk.line_start <= chunk.line_end <= len(lines)
        assert PIECES.count_tokens(chunk.text) <= max(CHUNKERS[found][1].high, 500)
        place = chunk.line_start
        for part in _lines(chunk.text):  # its lines in their order, or parts of them
            rest = range(place, chunk.line_end + 1)
            whole = (at for at in rest if lines[at - 1] == part)
            within = (at for at in rest if part in lines[at - 1])
            place = next(whole, 0) or next(within, 0)
            assert place, (path, chunk)
            covered.add(place)
            place += place < chunk.line_end
    missing = {n for n, line in enumerate(lines, 1) if line.strip() and n not in covered}
    if found in VERSIONS:
        missing -= _extensions(lines, missing)
    assert not missing, (path, missing, chunks)
    return chunks


def _extensions(lines: list[str], missing: set[int]) -> set[int]:
    """Return the missing lines that follow the line of an extension without a gap."""
    found: set[int] = set()
    inside = False
    for number, line in enumerate(lines, 1):
        inside = (number in missing and (inside or "x-" in line)) or (inside and not line.strip())
        found |= {number} if inside else set()
    return found


@pytest.mark.parametrize("path", TYPES)
@settings(max_examples=8, deadline=None)
@given(text=TEXTS)
def test_the_chunks_hold_every_line(path: str, text: str) -> None:
    """Of any text under any name, with LF, CR LF, CR or a byte order mark: each line that is
    not blank is in a chunk that says so, but for extensions of interfaces."""
    check(path, text)
    version = VERSIONS.get(TYPES[path])
    if version and path.endswith("yaml"):
        check(path, version + text)


KEYS = st.sampled_from(
    ["/pets", "/pets/{id}", "get", "put", "parameters", "x-note", "schemas", "Pet", "messages",
     "summary", "paths", "channels", "components", "operations", "info", "$ref", "ü😀", "payload"]
)  # fmt: skip
LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=20) | KEYS
TREES = st.dictionaries(
    KEYS,
    st.recursive(
        LEAVES, lambda node: st.lists(node, max_size=3) | st.dictionaries(KEYS, node, max_size=5)
    ),
    max_size=8,
)


@pytest.mark.parametrize(
    "version", [{}, {"openapi": "3.1.0"}, {"swagger": "2.0"}, {"asyncapi": "3.0.0"}]
)
@pytest.mark.parametrize("style", ["block", "flow", "pretty", "minified"])
@settings(max_examples=4, deadline=None)
@given(tree=TREES)
def test_the_chunks_hold_every_line_of_any_tree(
    version: dict[str, str], style: str, tree: dict[str, object]
) -> None:
    """Whatever stands where an operation or a schema is expected."""
    document = {**tree, **version}
    if style in ("block", "flow"):
        text = yaml.safe_dump(document, default_flow_style=style == "flow", allow_unicode=True)
        check("api.yaml", text)
    else:
        check("api.json", json.dumps(document, indent=2 if style == "pretty" else None))


PARTS = {
    "long.md": "## Part {0}\n\n{1}\n\n",
    "adr/long.md": "## Consequences {0}\n\n{1}\n\n",
    "long.py": "def part_{0}(value):\n    # {1}\n    return {0}\n\n\n",
    "long.go": "// {1}\nfunc part{0}() int {{\n\treturn {0}\n}}\n\n",
    "long.yaml": "part_{0}:\n  text: {1}\n",
    "long.toml": "[part{0}]\ntext = '{1}'\n",
    "long.sh": "part_{0}() {{\n  # {1}\n  return {0}\n}}\n",
    "small.md": "## Part {0}\n\nA few words of part {0}.\n\n",
    "small.py": "def part_{0}(value):\n    return {0}\n\n\n",
    "small.yaml": "part_{0}: {0}\n",
    "long.txt": "{0} {1}\n{0}\n\n",
}
FIRST = {"md": "A new line.\n\n", "go": "// A new line.\n"}


@sweep("path", PARTS)
def test_a_line_at_the_top_changes_one_chunk(path: str) -> None:
    """The texts of all others are equal, in files of 400 chunks; where small parts are merged,
    and in a text that has no parts, the next one may change too."""
    words = [f"word{number * 7919 % 1000} and some more of it" for number in range(4000)]
    text = "".join(
        PARTS[path].format(number, " ".join(words[number * 9 : number * 9 + 40]))
        for number in range(400)
    )
    new_line = FIRST.get(path.split(".")[1], "# A new line.\n")
    before = [chunk.text for chunk in sections(path, text)]
    after = [chunk.text for chunk in sections(path, new_line + text)]
    if path.count("long") and path != "long.txt":
        assert len(before) == 400
        assert len(set(before) - set(after)) <= 1
    else:  # merged parts, windows
        assert len(before) > 10
        assert len(set(before) - set(after)) <= 2


def test_passages_of_a_long_section_overlap() -> None:
    """Each begins with whole lines, at most 50 tokens, of the one before, under one heading."""
    lines = [f"Line {number} says that something holds.\n" for number in range(600)]
    chunks = sections("a.md", "## Long\n\n" + "".join(lines))
    assert len(chunks) > 2
    assert {chunk.heading for chunk in chunks} == {"Long"}
    for one, other in pairwise(chunks):
        shared = one.text.splitlines()[-(one.line_end - other.line_start + 1) :]
        assert shared == other.text.splitlines()[: len(shared)]
        assert 25 <= PIECES.count_tokens("\n".join(shared)) - 2 <= OVERLAP


@pytest.mark.parametrize("text", ["", " ", "\n\n", "\ufeff", "\ufeff\r\n\t\n"])
@pytest.mark.parametrize("path", TYPES)
def test_a_blank_file_has_no_chunks(path: str, text: str) -> None:
    """Empty, white space, or a byte order mark only."""
    assert sections(path, text) == []
