"""OpenAPI by operation and schema, AsyncAPI by channel, operation, message and schema.

Extension keys (`x-...`) are left out wherever a chunk begins and directly in operations,
channels and schemas; deeper ones stay, because a chunk's text is the file's own lines.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import PurePosixPath

from memory_assets.documents.document import Cut, Malformed, Source
from memory_assets.documents.structure import Node, begin, read, whole

_METHODS = {"get", "put", "post", "delete", "options", "head", "patch", "trace", "query"}
_OPENAPI_COMPONENTS = {
    "definitions": "Schema",
    "parameters": "parameters",
    "responses": "responses",
    "securityDefinitions": "securityDefinitions",
}
"""Components of version 2, which stand at the top level, with the heading of each."""
_NAMED = {"schemas": "Schema", "messages": "Message"}
_MAX_REFERENCES = 20
_MAX_SUMMARY = 120


def openapi(source: Source) -> list[Cut]:
    """Cut at info, each operation, each schema, and each other component."""
    outline = _Outline(source, _root(source))
    for key, value in outline.entries(outline.root):
        if key.value in ("paths", "webhooks"):
            for path, item in outline.entries(value, key):
                outline.add_path(path, item)
        elif key.value == "components":
            outline.add_components(key, value)
        elif key.value in _OPENAPI_COMPONENTS:
            outline.add_each(key, value, _OPENAPI_COMPONENTS[key.value])
        else:
            outline.add_info(key)
    return outline.finished()


def asyncapi(source: Source) -> list[Cut]:
    """Cut at info, each channel with the messages that it refers to, each operation, message
    and schema."""
    outline = _Outline(source, _root(source))
    for key, value in outline.entries(outline.root):
        if key.value == "channels":
            for name, channel in outline.entries(value, key):
                outline.add_channel(name, channel)
        elif key.value == "operations":
            for name, operation in outline.entries(value, key):
                action = operation.text("action").upper() or "OPERATION"
                outline.add(name, "endpoint", _heading_of(f"{action} {name.value}", operation))
                channel_key = operation.get("channel")
                outline.refer(channel_key.text("$ref") if channel_key else "")
                outline.leave_out(operation)
        elif key.value == "components":
            outline.add_components(key, value)
        else:
            outline.add_info(key)
    return outline.finished()


def _root(source: Source) -> Node:
    documents = read(source)
    if len(documents) != 1 or documents[0].kind != "mapping":
        raise Malformed
    return documents[0]


def _escaped(name: str) -> str:
    """Return a key as references write it (RFC 6901)."""
    return name.replace("~", "~0").replace("/", "~1")


def _heading_of(name: str, node: Node) -> str:
    """Return a name with the summary of what it names, if it has one."""
    summary = node.text("summary") or node.text("title") or node.text("description")
    return f"{name} -- {summary[:_MAX_SUMMARY]}" if summary else name


@dataclass
class _Outline:
    """The cuts of one document, in the order of its keys."""

    source: Source
    root: Node
    cuts: list[Cut] = field(default_factory=list)
    addresses: dict[str, list[str]] = field(default_factory=dict)
    """Reference to a channel, message or schema -> the addresses of the channels that use it."""
    references: dict[int, str] = field(default_factory=dict)
    """Number of a cut -> the reference to what it is of."""
    left_out: list[tuple[int, int]] = field(default_factory=list)
    opened: int | None = None
    """Where the key of a list of chunks begins, until the first of them is added."""

    def entries(self, node: Node, key: Node | None = None) -> Iterator[tuple[Node, Node]]:
        """Yield a mapping's entries but extensions, which are left out. The line of `key`
        goes on the first chunk that is added."""
        if key is not None and self.opened is None:
            self.opened = begin(self.source, key)
        for name, value in node.items():
            if name.value.startswith("x-"):
                self.left_out.append(whole(self.source, name, value))
            else:
                yield name, value

    def add(self, key: Node, chunk_type: str, heading: str, group: str = "") -> None:
        """Begin a chunk at a key, or at the list's key if it is the first of one."""
        start = begin(self.source, key) if self.opened is None else self.opened
        self.opened = None
        title = PurePosixPath(self.source.path).stem
        self.cuts.append(Cut(start, chunk_type, heading, group, title=title))

    def refer(self, reference: str) -> None:
        """Note how the document refers to what the last chunk is of."""
        self.references[len(self.cuts) - 1] = reference

    def leave_out(self, node: Node) -> None:
        """Leave out the extensions directly in a node."""
        for _ in self.entries(node):
            pass

    def add_info(self, key: Node) -> None:
        """Add a key that describes the whole interface to the chunk of such keys."""
        if self.opened is not None or not (self.cuts and self.cuts[-1].chunk_type == "info"):
            info = self.root.get("info")
            title = info.text("title") if info else ""
            is_first = all(cut.chunk_type != "info" for cut in self.cuts)
            name = "Info" if is_first else f"Info: {key.value}"
            self.add(key, "info", f"{name} -- {title}" if title else name)
        if key.value == "info" and (node := self.root.get("info")):
            self.leave_out(node)

    def add_path(self, path: Node, item: Node) -> None:
        """Add a chunk for each operation of a path. What the path says for all of them
        (parameters, servers) is repeated in each."""
        entries = list(self.entries(item))
        operations = [entry for entry in entries if entry[0].value in _METHODS]
        if not operations:
            self.add(path, "endpoint", _heading_of(path.value, item))
            return
        first = operations[0][0]
        head = (begin(self.source, path), begin(self.source, first))
        shared = [
            whole(self.source, *entry)
            for entry in entries
            if entry[0].value not in _METHODS and entry[0].start > first.start
        ]
        if any(key.start < first.start for key, _ in entries):
            shared.insert(0, head)
        elif shared:
            shared.insert(0, (head[0], self.source.line_starts[self.source.line(path.start)]))
        for key, operation in operations:
            heading = _heading_of(f"{key.value.upper()} {path.value}", operation)
            self.add(path if key is first else key, "endpoint", heading)
            self.cuts[-1] = replace(self.cuts[-1], context=tuple(shared))
            self.leave_out(operation)

    def add_channel(self, name: Node, channel: Node) -> None:
        """Add a chunk for a channel, with the messages and payloads that it refers to."""
        address = channel.text("address") or name.value
        self.add(name, "channel", _heading_of(f"Channel: {address}", channel))
        self.leave_out(channel)
        self.addresses[f"#/channels/{_escaped(name.value)}"] = [address]
        referred: dict[str, tuple[int, int]] = {}
        waiting = [channel]
        while waiting and len(referred) < _MAX_REFERENCES:
            for reference in _references(waiting.pop()):
                entry = self._resolve(reference)
                if entry is not None and reference not in referred:
                    referred[reference] = whole(self.source, *entry)
                    self.addresses.setdefault(reference, []).append(address)
                    waiting.append(entry[1])
        self.cuts[-1] = replace(self.cuts[-1], context=tuple(referred.values()))

    def add_components(self, key: Node, components: Node) -> None:
        """Add a chunk for each component."""
        for name, group in self.entries(components, key):
            within = f"#/components/{name.value}"
            self.add_each(name, group, _NAMED.get(name.value, name.value), within)

    def add_each(self, key: Node, components: Node, heading: str, within: str = "") -> None:
        """Add a chunk for each entry, which is referred to as one of `within`; small ones that are
        no schemas are merged."""
        is_schema = heading in ("Schema", "Message")
        before = len(self.cuts)
        for name, value in self.entries(components, key):
            group = "" if is_schema else heading
            self.add(name, "schema" if is_schema else "key", f"{heading}: {name.value}", group)
            self.refer(f"{within}/{_escaped(name.value)}")
            self.leave_out(value)
        if len(self.cuts) == before:
            self.add(key, "key", key.value)

    def finished(self) -> list[Cut]:
        """Return the cuts, each with what is left out of it and without context that it has
        itself."""
        if not self.cuts:
            raise Malformed
        left_out = sorted(self.left_out)
        starts = [begin for begin, _ in left_out]
        bounds = [0, *(cut.start for cut in self.cuts[1:]), len(self.source.text)]
        finished = []
        for number, (start, end) in enumerate(pairwise(bounds)):
            cut = self.cuts[number]
            if addresses := self.addresses.get(self.references.get(number, "")):
                cut = replace(cut, title=f"{cut.title} on {', '.join(addresses)}")
            context = tuple(part for part in cut.context if part[1] <= start or part[0] >= end)
            ranges = [(start, end), *context]
            inside = [
                part
                for first, last in ranges
                for part in left_out[bisect_left(starts, first) : bisect_left(starts, last)]
            ]
            finished.append(replace(cut, context=context, left_out=tuple(sorted(inside))))
        return finished

    def _resolve(self, reference: str) -> tuple[Node, Node] | None:
        """Return the key and value that a reference within the document leads to."""
        entry: tuple[Node, Node] | None = None
        node: Node | None = self.root
        for part in reference.removeprefix("#/").split("/"):
            name = part.replace("~1", "/").replace("~0", "~")
            items = node.items() if node else iter(())
            entry = next((item for item in items if item[0].value == name), None)
            node = entry[1] if entry else None
        return entry


def _references(node: Node) -> Iterator[str]:
    """Yield the references to messages and schemas of this document within a node."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        for key, value in node.items():
            if key.value == "$ref" and value.value.startswith("#/components/"):
                yield value.value
        waiting += reversed(node.children)
