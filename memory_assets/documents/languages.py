"""What a definition looks like in the syntax tree of each programming language."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import MappingProxyType

from tree_sitter import Language, Parser


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


def _words(words: str) -> frozenset[str]:
    return frozenset(words.split())


_JAVASCRIPT_DEFINITIONS = "function_declaration generator_function_declaration method_definition"
SYNTAX = MappingProxyType(
    {
        "python": Syntax(
            "tree_sitter_python",
            containers=_words("class_definition"),
            definitions=_words("function_definition"),
            wrappers=_words("decorated_definition"),
        ),
        "java": Syntax(
            "tree_sitter_java",
            containers=_words(
                "class_declaration interface_declaration enum_declaration record_declaration "
                "annotation_type_declaration enum_body_declarations"
            ),
            definitions=_words(
                "method_declaration constructor_declaration compact_constructor_declaration "
                "annotation_type_element_declaration static_initializer"
            ),
            leading=_words("line_comment block_comment"),
            imports_first=True,
        ),
        "javascript": Syntax(
            "tree_sitter_javascript",
            containers=_words("class_declaration"),
            definitions=_words(_JAVASCRIPT_DEFINITIONS),
            wrappers=_words("export_statement lexical_declaration variable_declaration"),
            leading=_words("comment decorator"),
        ),
        "typescript": Syntax(
            "tree_sitter_typescript",
            language="language_typescript",
            containers=_words(
                "class_declaration abstract_class_declaration internal_module module"
            ),
            definitions=_words(
                f"{_JAVASCRIPT_DEFINITIONS} interface_declaration type_alias_declaration "
                "enum_declaration function_signature abstract_method_signature"
            ),
            wrappers=_words(
                "export_statement lexical_declaration variable_declaration ambient_declaration "
                "expression_statement"
            ),
            leading=_words("comment decorator"),
        ),
        "go": Syntax(
            "tree_sitter_go",
            containers=frozenset(),
            definitions=_words("function_declaration method_declaration type_declaration"),
        ),
        "rust": Syntax(
            "tree_sitter_rust",
            containers=_words("impl_item trait_item mod_item"),
            definitions=_words(
                "function_item function_signature_item struct_item enum_item union_item "
                "macro_definition type_item"
            ),
            leading=_words("line_comment block_comment attribute_item"),
        ),
    }
)
"""file_type -> how its definitions are found."""
