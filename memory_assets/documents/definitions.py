"""Cut source code into functions, methods and types, each with the comments above it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import PurePosixPath
from types import MappingProxyType

from tree_sitter import Language, Node, Parser

from memory_assets.documents.document import Chunker, Cut, Malformed, Source
from memory_assets.word_lists import word_set

_MAX_ERROR_SHARE = 0.3
"""A file is refused if more of it than this is not the language that its name says."""
_MAX_NESTING = 20
_MAX_HEADING = 80
_SMALL_TYPE = 100
"""Tokens below which a type is one chunk with its methods."""
_FUNCTIONS = {"arrow_function", "function_expression", "generator_function", "class"}
_NAMED_VALUES = {"variable_declarator", "public_field_definition", "field_definition"}
_IMPORT = re.compile(r"import|package|use_|future_import")
_RECEIVER = re.compile(r"([\w.]+)(?:\[[^\]]*\])?\s*\)$")


def definitions(file_type: str) -> Chunker:
    """Return the chunker of a programming language."""
    syntax = SYNTAX[file_type]

    def chunker(source: Source) -> list[Cut]:
        is_tsx = file_type == "typescript" and source.path.endswith("x")
        content = source.text.encode(errors="replace")
        tree = syntax.parser("language_tsx" if is_tsx else "").parse(content)
        errors = _error_bytes(tree.root_node)
        if errors > _MAX_ERROR_SHARE * len(content):
            raise Malformed
        outline = _Outline(source, syntax, _line_bytes(source))
        outline.visit(tree.root_node)
        if errors and not any(cut.chunk_type != "section" for cut in outline.cuts):
            raise Malformed
        return outline.cuts or [Cut(0, "full_file", PurePosixPath(source.path).name)]

    return chunker


def _line_bytes(source: Source) -> list[int]:
    """Return the offset in UTF-8 of each line's beginning."""
    starts = source.line_starts
    offsets = [0]
    for start, end in pairwise(starts):
        offsets.append(offsets[-1] + len(source.text[start:end].encode(errors="replace")))
    return offsets


def _error_bytes(root: Node) -> int:
    """Return how many bytes of a tree the parser could not place."""
    errors = 0
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.is_error or node.is_missing:
            errors += max(1, node.end_byte - node.start_byte)
        elif node.has_error:
            waiting += node.children
    return errors


@dataclass
class _Outline:
    """The cuts of a syntax tree, gathered in order. Each begins at a line's start."""

    source: Source
    syntax: Syntax
    line_bytes: list[int]
    cuts: list[Cut] = field(default_factory=list)

    def visit(self, node: Node, scope: str = "", depth: int = 0) -> None:
        """Add the cuts of a node's children. Fields of a type go with the method after them,
        or with the type's header; at the top level, statements are chunks of their own."""
        pending: int | None = None
        in_statements = bool(scope)
        previous = self._line(_body_start(node)) if scope else -1
        for child in _members(node):
            first, last = self._line(child.start_byte), self._line(_last_byte(child))
            is_trailing, previous = first <= previous, max(last, previous)
            if is_trailing or not child.is_named:
                continue
            start = first if pending is None else pending
            if (defined := _unwrap_definition(child, self.syntax)) is not None:
                self._add(child, defined, start, scope, depth)
                pending, in_statements = None, False
            elif child.type in self.syntax.leading or (scope and not in_statements):
                pending = start
            else:
                if not in_statements:
                    self._add_statements(child, start)
                pending, in_statements = None, True

    def _line(self, byte: int) -> int:
        return bisect_right(self.line_bytes, byte) - 1

    def _add(self, node: Node, defined: Node, line: int, scope: str, depth: int) -> None:
        name = f"{scope}.{_name(defined)}" if scope else _name(defined)
        is_method = bool(scope) or "method" in defined.type
        start = self.source.line_starts[line]
        title = PurePosixPath(self.source.path).stem if is_method else ""
        kind = "method" if is_method else "definition"
        own = Cut(start, kind, name, group=scope or "file", title=title)
        body = defined.child_by_field_name("body")
        before = len(self.cuts)
        self.cuts.append(own)
        if defined.type in self.syntax.containers and body is not None and depth < _MAX_NESTING:
            self.cuts[before] = replace(own, chunk_type="definition")
            if not self._is_small(line, self._line(_last_byte(node))):
                self.visit(body, name, depth + 1)
        if len(self.cuts) > before + 1:
            self.cuts[before] = replace(own, chunk_type="definition", group=name, joins_next=True)

    def _is_small(self, first: int, last: int) -> bool:
        starts = [*self.source.line_starts, len(self.source.text)]
        return self.source.size(starts[first], starts[last + 1]) < _SMALL_TYPE

    def _add_statements(self, node: Node, line: int) -> None:
        start = self.source.line_starts[line]
        joins = self.syntax.imports_first and not self.cuts
        content = (node.text or b"").decode(errors="replace").strip(" \"'\r\n")
        heading = "imports" if _IMPORT.match(node.type) else content.split("\n")[0].strip()
        self.cuts.append(Cut(start, "section", heading[:_MAX_HEADING], "file", joins))


def _members(node: Node) -> Iterator[Node]:
    """Yield a node's children, those of an enum after its constants included."""
    for child in node.children:
        yield from child.children if child.type == "enum_body_declarations" else [child]


def _body_start(body: Node) -> int:
    """Return where a type's body opens: at its brace, or at the colon before it."""
    braced = bool(body.children) and not body.children[0].is_named
    before = None if braced else body.prev_sibling
    return body.start_byte if before is None else before.start_byte


def _last_byte(node: Node) -> int:
    """Return the last byte of a node; a line comment may include the line's end."""
    text = node.text or b""
    return max(node.start_byte, node.start_byte + len(text.rstrip(b"\r\n")) - 1)


def _unwrap_definition(node: Node, syntax: Syntax) -> Node | None:
    """Return the definition in a node: itself, or the one inside of a wrapper."""
    if node.type in syntax.definitions:
        return node
    if node.type in syntax.containers:
        return node if node.child_by_field_name("body") is not None else None
    value = node.child_by_field_name("value")
    if node.type in _NAMED_VALUES and value is not None and value.type in _FUNCTIONS:
        return node
    if node.type not in syntax.wrappers:
        return None
    functions = (
        child if child.type in _FUNCTIONS else _unwrap_definition(child, syntax)
        for child in node.named_children
    )
    return next((function for function in functions if function is not None), None)


def _name(node: Node) -> str:
    """Return the name of a definition; of a Go method with its receiver's type."""
    specs = [child for child in node.named_children if child.type in ("type_spec", "type_alias")]
    if specs and node.type == "type_declaration":
        return ", ".join(_name(spec) for spec in specs)
    fields = (node.child_by_field_name(name) for name in ("name", "property", "type"))
    named = next((candidate for candidate in fields if candidate is not None), None)
    name = _text(named) if named is not None else node.type.split("_")[0]
    receiver = node.child_by_field_name("receiver")
    match = _RECEIVER.search(_text(receiver)) if receiver is not None else None
    return f"{match[1]}.{name}" if match else name


def _text(node: Node) -> str:
    """Return a node's text without type parameters, in one line."""
    text = (node.text or b"").decode(errors="replace")
    return " ".join(text.split("<")[0].split())[:_MAX_HEADING]


@dataclass(frozen=True)
class Syntax:
    """Node types of a grammar: `containers` have definitions in their body, `wrappers` stand
    around a definition, `leading` belongs to what follows. If `imports_first`, what stands
    before the first definition belongs to it."""

    grammar: str
    containers: frozenset[str]
    definitions: frozenset[str]
    wrappers: frozenset[str] = frozenset()
    leading: frozenset[str] = frozenset({"comment"})
    language: str = "language"
    imports_first: bool = False

    def parser(self, language: str = "") -> Parser:
        """Return a parser; grammars are loaded when first used."""
        return _parser(self.grammar, language or self.language)


@cache
def _parser(grammar: str, language: str) -> Parser:
    return Parser(Language(getattr(import_module(grammar), language)()))


_JAVASCRIPT_DEFINITIONS = "function_declaration generator_function_declaration method_definition"
SYNTAX = MappingProxyType(
    {
        "python": Syntax(
            "tree_sitter_python",
            containers=word_set("class_definition"),
            definitions=word_set("function_definition"),
            wrappers=word_set("decorated_definition"),
        ),
        "java": Syntax(
            "tree_sitter_java",
            containers=word_set(
                "class_declaration interface_declaration enum_declaration record_declaration "
                "annotation_type_declaration enum_body_declarations"
            ),
            definitions=word_set(
                "method_declaration constructor_declaration compact_constructor_declaration "
                "annotation_type_element_declaration static_initializer"
            ),
            leading=word_set("line_comment block_comment"),
            imports_first=True,
        ),
        "javascript": Syntax(
            "tree_sitter_javascript",
            containers=word_set("class_declaration"),
            definitions=word_set(_JAVASCRIPT_DEFINITIONS),
            wrappers=word_set("export_statement lexical_declaration variable_declaration"),
            leading=word_set("comment decorator"),
        ),
        "typescript": Syntax(
            "tree_sitter_typescript",
            language="language_typescript",
            containers=word_set(
                "class_declaration abstract_class_declaration internal_module module"
            ),
            definitions=word_set(
                f"{_JAVASCRIPT_DEFINITIONS} interface_declaration type_alias_declaration "
                "enum_declaration function_signature abstract_method_signature"
            ),
            wrappers=word_set(
                "export_statement lexical_declaration variable_declaration ambient_declaration "
                "expression_statement"
            ),
            leading=word_set("comment decorator"),
        ),
        "go": Syntax(
            "tree_sitter_go",
            containers=frozenset(),
            definitions=word_set("function_declaration method_declaration type_declaration"),
        ),
        "rust": Syntax(
            "tree_sitter_rust",
            containers=word_set("impl_item trait_item mod_item"),
            definitions=word_set(
                "function_item function_signature_item struct_item enum_item union_item "
                "macro_definition type_item"
            ),
            leading=word_set("line_comment block_comment attribute_item"),
        ),
    }
)
"""file_type -> how its definitions are found."""
