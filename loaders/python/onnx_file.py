"""An ONNX file of a bundle, before ONNX Runtime sees it.

Owns two things. First the questions whose wrong answer would make ONNX Runtime read where it must
not, or never come back: where tensors' bytes are, and how far local functions expand. Second the
change of an initializer: into an input, or to another value. Must not know of bundles, nor what an
operator does. The one decision: it reads the wire format itself, because the onnx package takes
longer to import than a session to open, and a model rebuilt from objects would be a copy of all its
weights.

The numbers of fields are those of onnx.proto.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy.typing as npt

from tfx.bundle.dtypes import BY_NUMBER
from tfx.bundle.python_values import Shape
from tfx.bundle.tensor_bytes import encode
from tfx.core.errors import BundleError
from tfx.core.wire_format import (
    Field,
    WireError,
    bytes_field,
    fields,
    number_field,
    packed_varints,
)

MAX_EXPANDED_NODES = 2_000_000
"""Nodes after local functions are inlined: beyond it, a file of a kilobyte could stop the process
for a week. Honest models have some ten thousands."""

_MAX_DEPTH = 40
"""Graphs within graphs; protobuf itself stops at about 33."""

_NOT_A_TENSOR = -1

_GRADIENT = "tfx.gradient"
"""Domain of functions that compute gradients of nodes; key of the metadata that names one."""

# Domain, name and overload.
_Operator: TypeAlias = tuple[str, str, str]


class External(NamedTuple):
    """The location of a tensor's bytes, in a file below the model's folder."""

    location: str
    offset: int
    length: int


class Initializer(NamedTuple):
    """A constant of the main graph; ``start`` and ``end`` are its place in the file."""

    name: str
    dtype: int
    dims: tuple[int, ...]
    external: External | None
    start: int
    end: int


class _Body:
    """The nodes and operators of a graph or function, with all graphs inside it."""

    __slots__ = ("nodes", "operators")

    def __init__(self) -> None:
        self.nodes = 0
        self.operators: Counter[_Operator] = Counter()


class OnnxFile:
    """A model as bytes that were walked once from end to end.

    Args:
        data: The content of the file.
        path: The file, for messages.

    Attributes:
        inputs: ONNX's number of the dtype of each input of the main graph, by name (0: not said).
        outputs: The same of its outputs.
        initializers: Constants of the main graph by name.
        has_branches: Whether there is an ``If`` anywhere.

    Raises:
        BundleError: It is no ONNX model, or one that must not be run.
    """

    def __init__(self, data: bytes, path: str) -> None:
        """Walk the bytes."""
        self.data = data
        self.path = path
        self.inputs: dict[str, int] = {}
        self.outputs: dict[str, int] = {}
        self.initializers: dict[str, Initializer] = {}
        self.has_branches = False
        self._graph: Field | None = None
        try:
            self._walk_model()
        except (WireError, UnicodeDecodeError) as error:
            raise BundleError(
                f"{path}: not an ONNX model ({error}); the file is damaged: copy or save the "
                "bundle again"
            ) from error

    def with_inputs(self, names: Mapping[str, tuple[int, Shape]]) -> bytes:
        """Return the model with some initializers turned into inputs.

        Args:
            names: Number of the dtype and shape of the new inputs, by the initializer's name.

        Returns:
            The serialized model.
        """
        graph = self._graph
        assert graph is not None
        parts = []
        position = graph.begin
        for item in self.initializers.values():
            if item.name in names:
                parts.append(self.data[position : item.start])
                position = item.end
        parts.append(self.data[position : graph.end])
        parts += [
            bytes_field(11, _value_info(name, *info))
            for name, info in names.items()
            if name not in self.inputs
        ]
        content = b"".join(parts)
        return self.data[: graph.start] + bytes_field(7, content) + self.data[graph.end :]

    def without(self, names: Collection[str]) -> bytes:
        """Return the model without some initializers, and without the name of what wrote it."""
        assert self._graph is not None
        parts = []
        for field in fields(self.data, 0, len(self.data)):
            if field == self._graph:
                position = field.begin
                for item in self.initializers.values():
                    if item.name in names:
                        parts.append(self.data[position : item.start])
                        position = item.end
                parts.append(self.data[position : field.end])
            elif field.number not in (2, 3):  # producer_name, producer_version
                # A varint ends where it says, not where its content begins.
                parts.append(self.data[field.start : max(field.begin, field.end)])
        return b"".join(parts)

    def with_values(self, values: Mapping[str, npt.NDArray[Any]]) -> bytes:
        """Return the model with other values in initializers that lie inside of it.

        Args:
            values: Arrays of the initializer's dtype and shape, by name; strings as ``str``.

        Returns:
            The serialized model.
        """
        graph = self._graph
        assert graph is not None
        parts = []
        position = graph.begin
        for item in self.initializers.values():
            if item.name in values:
                tensor = _tensor_proto(item, values[item.name])
                parts += [self.data[position : item.start], bytes_field(5, tensor)]
                position = item.end
        content = b"".join([*parts, self.data[position : graph.end]])
        return self.data[: graph.start] + bytes_field(7, content) + self.data[graph.end :]

    def _fail(self, problem: str) -> BundleError:
        return BundleError(f"{self.path}: {problem}")

    def _text(self, item: Field) -> str:
        return self.data[item.begin : item.end].decode()

    def _walk_model(self) -> None:
        main = _Body()
        functions: dict[_Operator, _Body] = {}
        for item in fields(self.data, 0, len(self.data)):
            if item.number == 7:
                if self._graph is not None:
                    raise self._fail("it has two main graphs, expected one")
                self._graph = item
                self._walk_graph(item, main, 0)
            elif item.number == 25:
                key, body = self._walk_function(item)
                if key in functions:
                    raise self._fail(f"two local functions are named {key!r}, expected one")
                functions[key] = body
        if self._graph is None:
            raise self._fail("it has no graph; it is not an ONNX model: save the bundle again")
        self._check_expansion(main, functions)

    def _walk_graph(self, graph: Field, body: _Body, depth: int) -> None:
        if depth > _MAX_DEPTH:
            raise self._fail(f"graphs are nested more than {_MAX_DEPTH} deep")
        for item in fields(self.data, graph.begin, graph.end):
            if item.number == 1:
                self._walk_node(item, body, depth)
            elif item.number == 5:
                tensor = self._tensor(item)
                if depth == 0:
                    self._add_initializer(tensor)
                elif tensor.external is not None:
                    raise self._external_elsewhere(tensor.name)
            elif item.number == 15:
                self._walk_sparse(item)
            elif depth == 0 and item.number in (11, 12):
                name, dtype = self._value(item)
                if item.number == 11 and name in self.inputs:
                    raise self._fail(f"two inputs are named {name!r}, expected one")
                (self.inputs if item.number == 11 else self.outputs)[name] = dtype

    def _add_initializer(self, tensor: Initializer) -> None:
        if tensor.name in self.initializers:
            raise self._fail(f"two initializers are named {tensor.name!r}, expected one")
        self.initializers[tensor.name] = tensor

    def _walk_node(self, node: Field, body: _Body, depth: int) -> None:
        body.nodes += 1
        kind = domain = overload = ""
        for item in fields(self.data, node.begin, node.end):
            if item.number == 5:
                self._walk_attribute(item, body, depth)
            elif item.number == 4:
                kind = self._text(item)
            elif item.number == 7:
                domain = self._text(item)
            elif item.number == 8:
                overload = self._text(item)
            elif item.number == 9:
                key, value = self._entry(item)
                if key == _GRADIENT:  # expanded where the graph is differentiated
                    body.operators[_operator(_GRADIENT, value, "")] += 1
        self.has_branches = self.has_branches or kind == "If"
        body.operators[_operator(domain, kind, overload)] += 1

    def _walk_attribute(self, attribute: Field, body: _Body, depth: int) -> None:
        for item in fields(self.data, attribute.begin, attribute.end):
            if item.number in (6, 11):
                self._walk_graph(item, body, depth + 1)
            elif item.number in (5, 10):
                tensor = self._tensor(item)
                if tensor.external is not None:
                    raise self._external_elsewhere(tensor.name)
            elif item.number in (22, 23):
                self._walk_sparse(item)

    def _walk_sparse(self, sparse: Field) -> None:
        for item in fields(self.data, sparse.begin, sparse.end):
            if item.number in (1, 2):
                tensor = self._tensor(item)
                if tensor.external is not None:
                    raise self._external_elsewhere(tensor.name)

    def _walk_function(self, function: Field) -> tuple[_Operator, _Body]:
        body = _Body()
        name = domain = overload = ""
        for item in fields(self.data, function.begin, function.end):
            if item.number == 7:
                self._walk_node(item, body, 1)
            elif item.number == 11:
                self._walk_attribute(item, body, 1)
            elif item.number == 1:
                name = self._text(item)
            elif item.number == 10:
                domain = self._text(item)
            elif item.number == 13:
                overload = self._text(item)
        return _operator(domain, name, overload), body

    def _external_elsewhere(self, name: str) -> BundleError:
        return self._fail(
            f"tensor {name!r} has external data, expected that of initializers of the main graph "
            "only; save the bundle again"
        )

    def _tensor(self, tensor: Field) -> Initializer:
        name, dtype, dims = "", 0, []
        is_external = False
        entries: list[tuple[str, str]] = []
        for item in fields(self.data, tensor.begin, tensor.end):
            if item.number == 1:
                dims += packed_varints(self.data, item)
            elif item.number == 2:
                dtype = item.value or 0
            elif item.number == 8:
                name = self._text(item)
            elif item.number == 13:
                entries.append(self._entry(item))
            elif item.number == 14:
                is_external = item.value == 1
        external = self._external(name, entries) if is_external or entries else None
        return Initializer(name, dtype, tuple(dims), external, tensor.start, tensor.end)

    def _entry(self, entry: Field) -> tuple[str, str]:
        parts = {
            item.number: self._text(item) for item in fields(self.data, entry.begin, entry.end)
        }
        return parts.get(1, ""), parts.get(2, "")

    def _external(self, name: str, entries: list[tuple[str, str]]) -> External:
        table = dict(entries)
        offset, length = table.get("offset", ""), table.get("length", "")
        is_whole = len(table) == len(entries) and bool(table.get("location"))
        # isascii: Python takes other digits for numbers too.
        is_ascii = (offset + length).isascii()
        if not (is_whole and is_ascii and offset.isdigit() and length.isdigit()):
            raise self._fail(
                f"tensor {name!r} has the external data {entries!r:.200}, expected a location, an "
                "offset and a length, each once; save the bundle again"
            )
        return External(table["location"], int(offset), int(length))

    def _value(self, value: Field) -> tuple[str, int]:
        name, dtype = "", 0
        for item in fields(self.data, value.begin, value.end):
            if item.number == 1:
                name = self._text(item)
            elif item.number == 2:
                for kind in fields(self.data, item.begin, item.end):
                    if kind.number == 1:
                        found = [
                            f.value
                            for f in fields(self.data, kind.begin, kind.end)
                            if f.number == 1
                        ]
                        dtype = (found[-1] if found else 0) or 0
                    elif kind.number != 6:  # the denotation says nothing of the type
                        dtype = _NOT_A_TENSOR
        return name, dtype

    def _check_expansion(self, main: _Body, functions: Mapping[_Operator, _Body]) -> None:
        """Refuse local functions that call themselves, or each other too often."""
        sizes: dict[_Operator, int] = {}
        open_: set[_Operator] = set()
        stack = [key for key in main.operators if key in functions]
        while stack:
            key = stack[-1]
            callees = [name for name in functions[key].operators if name in functions]
            waiting = [name for name in callees if name not in sizes]
            if not waiting:
                sizes[key] = _expanded(functions[key], sizes)
                open_.discard(key)
                stack.pop()
            elif key in open_ and any(name in open_ for name in waiting):
                raise self._fail(f"the local function {key!r} calls itself; it cannot be run")
            else:
                open_.add(key)
                stack += waiting
        total = _expanded(main, sizes)
        if total > MAX_EXPANDED_NODES:
            raise self._fail(
                f"it has {total} nodes once its local functions are inlined, limit "
                f"{MAX_EXPANDED_NODES}; it cannot be run"
            )


def _operator(domain: str, name: str, overload: str) -> _Operator:
    return "" if domain == "ai.onnx" else domain, name, overload


def _expanded(body: _Body, sizes: Mapping[_Operator, int]) -> int:
    return body.nodes + sum(sizes.get(key, 0) * n for key, n in body.operators.items())


def _tensor_proto(item: Initializer, array: npt.NDArray[Any]) -> bytes:
    head = [number_field(1, dim) for dim in item.dims]
    head += [number_field(2, item.dtype), bytes_field(8, item.name.encode())]
    if array.dtype == object:
        texts = (text.encode("utf-8", "surrogateescape") for text in array.ravel().tolist())
        return b"".join([*head, *(bytes_field(6, text) for text in texts)])
    row = BY_NUMBER[item.dtype]
    return b"".join([*head, bytes_field(9, bytes(encode(array, row.name).buffer()))])


def _value_info(name: str, dtype: int, shape: Shape) -> bytes:
    tensor = number_field(1, dtype)
    if shape is not None:
        # A name would tie the dimension to others of that name in the graph: sizes only.
        dims = [number_field(1, dim) if isinstance(dim, int) else b"" for dim in shape]
        tensor += bytes_field(2, b"".join(bytes_field(1, dim) for dim in dims))
    return bytes_field(1, name.encode()) + bytes_field(2, bytes_field(1, tensor))
