"""The domain of each service, read from metadata files of the workspace.

Read are YAML and JSON files at most three directories deep that are called `domains`, `services`,
`service-catalog` or `catalog-info`: a list or mapping `domains` whose entries have `services` (in a
file called `domains` it may be all there is), or entries that have a name and a `domain` (Backstage
has it in `spec`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from memory_assets.documents.document import Malformed, Source
from memory_assets.documents.structure import Node, read
from memory_assets.embedding import load_word_pieces

_METADATA = re.compile(
    r"(?:[^/]+/){0,3}(?:domains?|services?|service-catalog|catalog-info)\.(?:ya?ml|json)", re.I
)
_MAX_BYTES = 1_000_000
_NAMES = ("service", "name", "id", "key")


def domains_of(root: Path, paths: Iterable[str]) -> tuple[dict[str, str], list[str]]:
    """Return service -> domain of a workspace with these files, and the paths of the metadata files
    that cannot be read or parsed. The first file that names a service counts."""
    domains, unread = dict[str, str](), list[str]()
    for path in sorted(
        filter(_METADATA.fullmatch, paths), key=lambda path: (path.count("/"), path)
    ):
        try:
            content = (root / path).read_bytes()[:_MAX_BYTES]
            roots = read(Source(path, content.decode(), load_word_pieces()))
        except (OSError, UnicodeDecodeError, Malformed):
            unread.append(path)
            continue
        of_domains = path.rpartition("/")[2].lower().startswith("domain")
        for node in roots:
            bare = of_domains and not node.get("domains")
            for service, domain in _domains_within(node) if bare else _service_domains(node, ""):
                domains.setdefault(service, domain)
    return domains, unread


def _service_domains(node: Node, domain: str) -> Iterator[tuple[str, str]]:
    """Yield the services that a node names, with their domains; `domain` is the one around it."""
    spec, metadata = node.get("spec"), node.get("metadata")
    own = node.text("domain") or (spec.text("domain") if spec else "")
    name = node.first_text(_NAMES) or (metadata.text("name") if metadata else "")
    if own and name:
        yield name, own
    for key, value in node.items():
        if key.value == "domains":
            yield from _domains_within(value)
        elif key.value == "services" and (domain or own):
            yield from ((service, domain or own) for service, _ in _named_entries(value))
        elif value.kind != "scalar":
            yield from _service_domains(value, domain)
    if node.kind == "sequence":
        for child in node.children:
            yield from _service_domains(child, domain)


def _domains_within(node: Node) -> Iterator[tuple[str, str]]:
    for domain, child in _named_entries(node):
        yield from _service_domains(child, domain)


def _named_entries(node: Node) -> Iterator[tuple[str, Node]]:
    """Yield the entries of a mapping or list by their names."""
    yield from ((key.value, value) for key, value in node.items())
    for child in node.children if node.kind == "sequence" else ():
        if name := child.value or child.first_text(_NAMES):
            yield name, child
