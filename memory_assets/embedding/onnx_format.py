"""Read the tensors of an ONNX file, and write one, without the `onnx` package (20 MB, 0.2 s).

Field numbers are those of ONNX's onnx.proto: ModelProto.ir_version 1, graph 7,
opset_import 8; OperatorSetIdProto.domain 1, version 2; GraphProto.node 1, name 2,
initializer 5, input 11, output 12; NodeProto.input 1, output 2, op_type 4, attribute 5,
domain 7; AttributeProto.name 1, f 2, i 3, g 6, type 20; TensorProto.dims 1, data_type 2,
name 8, raw_data 9; ValueInfoProto.name 1, type 2.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_IR_VERSION = 10
_OPSET = 18
CONTRIB = "com.microsoft"
"""The domain of onnxruntime's own operators."""
# Wire types of Protocol Buffers.
_VARINT = 0
_BYTES = 2
_FIXED32 = 5
_WIDTHS = {1: 8, _FIXED32: 4}
# Values of AttributeProto.type.
_FLOAT_ATTRIBUTE = 1
_INT_ATTRIBUTE = 2
_GRAPH_ATTRIBUTE = 5
_DTYPES = {1: "<f4", 2: "u1", 3: "i1", 7: "<i8"}
_CODES = {np.dtype(name): code for code, name in _DTYPES.items()}


def read_tensors(model: bytes) -> dict[str, Array]:
    """Return the initializers of a model by name, in the file's order, sharing its bytes.
    Those of other types than float32, uint8, int8 and int64 are left out."""
    tensors = {}
    for field, graph in _fields(memoryview(model)):
        if field != 7:
            continue
        for number, tensor in _fields(graph):
            if number == 5 and (read := _tensor(tensor)) is not None:
                tensors[read[0]] = read[1]
    return tensors


def _tensor(message: memoryview) -> tuple[str, Array] | None:
    shape: list[int] = []
    code, name = 0, ""
    data = memoryview(b"")
    for field, value in _fields(message):
        if field == 1:
            shape += _varints(value)
        elif field == 2:
            (code,) = _varints(value)
        elif field == 8:
            name = bytes(value).decode()
        elif field == 9:
            data = value
    if code not in _DTYPES:
        return None
    return name, np.frombuffer(data, dtype=_DTYPES[code]).reshape(shape)


def _fields(message: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Yield the number and the bytes of each field of a protobuf message."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        number, kind = key >> 3, key & 7
        start = at
        if kind == _BYTES:
            size, start = _varint(message, at)
            at = start + size
        elif kind in _WIDTHS:
            at += _WIDTHS[kind]
        else:
            _, at = _varint(message, at)
        yield number, message[start:at]


def _varints(packed: memoryview) -> list[int]:
    values, at = [], 0
    while at < len(packed):
        value, at = _varint(packed, at)
        values.append(value)
    return values


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


class Graph:
    """An ONNX graph under construction: tensors and nodes, each named by what it gives."""

    def __init__(self) -> None:
        """Start with an empty graph."""
        self._parts: list[bytes] = []

    def tensor(self, name: str, values: Array) -> str:
        """Add an initializer and return its name."""
        content = [_number(1, size) for size in values.shape]
        content += [_number(2, _CODES[values.dtype]), _text(8, name)]
        self._parts.append(_message(5, *content, _message(9, values.tobytes())))
        return name

    def node(
        self,
        operator: str,
        inputs: Sequence[str],
        output: str | Sequence[str],
        domain: str = "",
        **attributes: float | bytes,
    ) -> str:
        """Add a node and return the name of its (first) output. An attribute may be a graph, as
        `body` returns it."""
        outputs = [output] if isinstance(output, str) else output
        content = [_text(1, name) for name in inputs] + [_text(2, name) for name in outputs]
        content += [_text(4, operator), _text(7, domain)]
        content += [_attribute(name, value) for name, value in attributes.items()]
        self._parts.append(_message(1, *content))
        return outputs[0]

    def model(self, inputs: Mapping[str, type], outputs: Mapping[str, type]) -> bytes:
        """Return the graph as a model file, with the element types of what goes in and out."""
        opsets = [
            _message(8, _text(1, domain), _number(2, version))
            for domain, version in (("", _OPSET), (CONTRIB, 1))
        ]
        graph = _message(7, self.body(inputs, outputs))
        return b"".join((_number(1, _IR_VERSION), graph, *opsets))

    def body(self, inputs: Mapping[str, type], outputs: Mapping[str, type]) -> bytes:
        """Return the graph as an attribute of a node of another graph, which runs it."""
        ends = [_value(11, *item) for item in inputs.items()]
        ends += [_value(12, *item) for item in outputs.items()]
        return b"".join((_text(2, "graph"), *self._parts, *ends))


def _attribute(name: str, value: float | bytes) -> bytes:
    if isinstance(value, bytes):
        return _message(5, _text(1, name), _message(6, value), _number(20, _GRAPH_ATTRIBUTE))
    if isinstance(value, int):
        return _message(5, _text(1, name), _number(3, value), _number(20, _INT_ATTRIBUTE))
    single = _key(2, _FIXED32) + struct.pack("<f", value)
    return _message(5, _text(1, name), single, _number(20, _FLOAT_ATTRIBUTE))


def _value(field: int, name: str, element: type) -> bytes:
    tensor_type = _message(1, _number(1, _CODES[np.dtype(element)]))
    return _message(field, _text(1, name), _message(2, tensor_type))


def _text(field: int, text: str) -> bytes:
    return _message(field, text.encode())


def _message(field: int, *content: bytes) -> bytes:
    return b"".join((_key(field, _BYTES), _encoded(sum(map(len, content))), *content))


def _number(field: int, value: int) -> bytes:
    return _key(field, _VARINT) + _encoded(value & (1 << 64) - 1)


def _key(field: int, kind: int) -> bytes:
    return _encoded(field << 3 | kind)


def _encoded(value: int) -> bytes:
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
