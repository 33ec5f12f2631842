"""Files that are made to cost time, or to make the reader run something."""

from __future__ import annotations

from collections.abc import Callable

from memory_assets.documents.chunk import sections
from memory_assets_tests.proportion import in_proportion
from memory_assets_tests.sweep import sweep

FILES: dict[str, Callable[[int], str]] = {
    "line.js": lambda n: "var a=1;" + "function f(a){return a+1};" * (n // 26),
    "letters.js": lambda n: "a" * n,
    "spaces.md": lambda n: "## a\n" + " " * n + "b",
    "levels.md": lambda n: "".join("#" * (k % 200 + 1) + f" Level {k}\n" for k in range(n // 100)),
    "quotes.md": lambda n: ">" * n,
    "front.md": lambda n: "---\n" + "a\n" * (n // 2),
    "nested.yaml": lambda n: "a: " + "[" * n,
    "nested.json": lambda n: "[" * n + "]" * n,
    "flat.json": lambda n: "[" + "1," * (n // 2) + "1]",
    "nested.js": lambda n: "(" * (n // 20) + ")" * (n // 20),
    "nested.py": lambda n: "\n".join(" " * k + "if x:" for k in range(int(n**0.5))),
    "Nested.java": lambda n: "class A {\n" * (n // 10) + "}\n" * (n // 10),
    "tags.yaml": lambda n: "".join(f"k{k}: !!python/object:os.x {{}}\n" for k in range(n // 30)),
    "open.yaml": lambda n: (
        "openapi: 3.0.0\npaths:\n"
        + "".join(f"  /p{k}:\n    get:\n      summary: s\n" for k in range(n // 40))
    ),
    "open.toml": lambda n: "a = '''" + "[x]\n" * (n // 4),
    "comments.sh": lambda n: "# a\n" * (n // 4) + "f() {\n",
    "functions.sh": lambda n: "f() {\n" * (n // 6),
    "targets.mk": lambda n: ("# a\n" * 20 + "a b: c\n") * (n // 90),
    "colons.mk": lambda n: "a " * (n // 2),
    "styles.puml": lambda n: "@startuml\n" + "<style>\nskinparam {\n" * (n // 20),
    "signs.txt": lambda n: "!?" * (n // 2),
}


@sweep("path", FILES)
def test_time_grows_with_the_size_of_a_file(path: str) -> None:
    """No construct of a language makes its reader compare everything with everything."""
    sections(path, FILES[path](1_000))
    assert in_proportion(lambda size: sections(path, FILES[path](size)), 25_000)


def test_aliases_are_not_expanded() -> None:
    """A bomb of a billion names stays as long as it is written."""
    lines = ["a0: &a0 [x, x]"]
    lines += [f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 10)}]" for k in range(1, 40)]
    chunks = sections("bomb.yaml", "\n".join(lines))
    assert sum(len(chunk.text) for chunk in chunks) < 2 * len("\n".join(lines))


def test_tags_are_not_constructed(tmp_path: object) -> None:
    """What a tag asks to be run is text."""
    (chunk,) = sections("a.yaml", "a: !!python/object/apply:os.abort []\n")
    assert (chunk.chunk_type, chunk.heading) == ("key", "a")


@sweep(
    "path, text",
    [
        ("a.yaml", "a: [1\nb: }\n"),
        ("a.yaml", "a: \x00\n"),
        ("a.json", '{"a": 1,'),
        ("openapi.json", '{"openapi": "3.0.0",'),
        ("openapi.yaml", "openapi: 3.0.0\npaths: [\n"),
        ("a.toml", "a = \n"),
        ("a.py", "def broken(:\n  ((((\n"),
        ("A.java", "this is not Java at all {{{ ((( \n"),
    ],
)
def test_a_malformed_file_is_one_chunk(path: str, text: str) -> None:
    """Headed by its name; windows if it is long."""
    (chunk,) = sections(path, text)
    assert (chunk.chunk_type, chunk.heading) == ("full_file", path)
    long = sections(path, text + "more of it ]\n" * 1000 + text)
    assert len(long) > 1
    assert {chunk.chunk_type for chunk in long} == {"window"}
