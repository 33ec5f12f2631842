"""The model's graph, changed so that starting it costs half: looked up first, scaled after.

The packaged graph turns the whole int8 table of word vectors into floats (47 MB, in several
copies) to look up a few rows. Here the rows are looked up in the int8 table, and they alone
become floats: the same products of the same numbers, so the same vectors, bit for bit (a
test compares them). A graph that does not look as expected is left as it is.

Field numbers are those of ONNX's onnx.proto: ModelProto.graph 7; GraphProto.node 1;
NodeProto.input 1, output 2, name 3, op_type 4, attribute 5.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

_GRAPH, _NODE = 7, 1
_INPUT, _OUTPUT, _NAME, _OPERATOR = 1, 2, 3, 4
_BYTES = 2
_FIXED = {1: 8, 5: 4}


def lean(model: bytes) -> bytes:
    """Return the model with its largest table looked up before it is made floats."""
    whole = memoryview(model)  # 22 MB, to be copied once
    for field, start, body, end in _fields(model, 0, len(model)):
        if field == _GRAPH:
            graph = _lean_graph(whole[body:end])
            if graph is None:
                return model
            size = sum(len(part) for part in graph)
            return b"".join((whole[:start], _head(_GRAPH, size), *graph, whole[end:]))
    return model


def _lean_graph(graph: memoryview) -> Sequence[bytes | memoryview] | None:
    """Return the graph with Gather(Mul(Cast(table), scale), ids) turned inside out, in parts."""
    nodes = {}
    for field, start, body, end in _fields(graph, 0, len(graph)):
        if field == _NODE:
            node = bytes(graph[body:end])
            nodes[_strings(node, _OUTPUT)[0]] = (start, end, node)
    for output, (start, end, gather) in nodes.items():
        if _operator(gather) != b"Gather":
            continue
        scaled, ids = _strings(gather, _INPUT)
        multiply = nodes.get(scaled)
        if multiply is None or _operator(multiply[2]) != b"Mul":
            continue
        floats, scale = _strings(multiply[2], _INPUT)
        cast = nodes.get(floats)
        if cast is None or _operator(cast[2]) != b"Cast":
            continue
        table = _strings(cast[2], _INPUT)[0]
        looked_up = (
            _rewired(gather, [table, ids], output + b".int8"),
            _rewired(gather, [scale, ids], output + b".scale"),
            _rewired(cast[2], [output + b".int8"], output + b".float"),
            _rewired(multiply[2], [output + b".float", output + b".scale"], output),
        )
        replaced = {
            start: (end, b"".join(_message(_NODE, node) for node in looked_up)),
            multiply[0]: (multiply[1], b""),
            cast[0]: (cast[1], b""),
        }
        return _spliced(graph, replaced)
    return None


def _spliced(
    graph: memoryview, replaced: dict[int, tuple[int, bytes]]
) -> Sequence[bytes | memoryview]:
    parts: list[bytes | memoryview] = []
    at = 0
    for start in sorted(replaced):
        end, instead = replaced[start]
        parts += [graph[at:start], instead]
        at = end
    return [*parts, graph[at:]]


def _rewired(node: bytes, inputs: Sequence[bytes], output: bytes) -> bytes:
    """Return a node of the same operator and attributes between other values."""
    kept = [
        node[start:end]
        for field, start, _, end in _fields(node, 0, len(node))
        if field not in (_INPUT, _OUTPUT, _NAME)
    ]
    named = [_message(_INPUT, name) for name in inputs]
    return b"".join((*named, _message(_OUTPUT, output), _message(_NAME, output), *kept))


def _operator(node: bytes) -> bytes:
    return _strings(node, _OPERATOR)[0]


def _strings(message: bytes, wanted: int) -> list[bytes]:
    return [
        message[body:end]
        for field, _, body, end in _fields(message, 0, len(message))
        if field == wanted
    ]


def _fields(data: bytes | memoryview, at: int, stop: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield number, start, start of content and end of each field of a protobuf message."""
    while at < stop:
        start = at
        key, at = _varint(data, at)
        number, kind = key >> 3, key & 7
        body = at
        if kind == _BYTES:
            size, body = _varint(data, at)
            at = body + size
        elif kind in _FIXED:
            at += _FIXED[kind]
        else:
            _, at = _varint(data, at)
        yield number, start, body, at


def _varint(data: bytes | memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def _message(field: int, content: bytes) -> bytes:
    return _head(field, len(content)) + content


def _head(field: int, size: int) -> bytes:
    encoded = bytearray([field << 3 | _BYTES])
    while size > 127:
        encoded.append(size & 127 | 128)
        size >>= 7
    encoded.append(size)
    return bytes(encoded)
