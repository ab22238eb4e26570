"""Compute now what does not depend on any input: constant expressions.

Sizes of static shapes and arithmetic on them are known since the graph was traced. Everything else
is computed by the kernels that would run it, all of a graph at once, so the results are the same to
the last bit. ONNX Runtime folds too, but not in what is saved, and not where there are branches
(see ``fold_branches``).
"""

from __future__ import annotations

import hashlib
import math
import threading
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.errors import OpError
from tfx.graph.ir import CALL, HOST, KERNEL_OPERATORS, Graph, Node, Value, attributes_key
from tfx.graph.rewrite import Inputs, Rewriter
from tfx.graph.serialization.serialize import to_model
from tfx.graph.shape_code import contents, sizes
from tfx.graph.traits import traits
from tfx.runtime.fork_safe_locks import fork_safe
from tfx.runtime.session import Session
from tfx.runtime.values import to_numpy

# What a folded node may take in and give out, in bytes. Beyond the least size a result must not be
# larger than what it is made from: a vector of zeros is better made than stored.
_MOST_IN = 1 << 20
_MOST_OUT = 1 << 14
_LEAST_OUT = 1 << 10
_INTEGERS = (dtypes.int64.onnx, dtypes.int32.onnx)

# Results by what computes them: functions are compiled several times.
_known: dict[bytes, np.ndarray[Any, Any]] = {}
_KNOWN_LIMIT = 4096
_lock = fork_safe(threading.Lock())


def fold_constants(graph: Graph) -> Graph:
    """A copy of the graph, bodies and callees included, without constant expressions.

    Args:
        graph: The graph. Constants that nothing uses any more stay: dead code is another pass's
            business.
    """
    folder = _Folder(runs=True)
    result = folder.run(graph)
    try:
        folder.compute()
    except OpError:  # a division by zero is for the run to report
        folder = _Folder(runs=False)
        result = folder.run(graph)
    return result


def fold_sizes(graph: Graph) -> Graph:
    """The same with nothing computed: only sizes of static shapes, and what follows from them."""
    return _Folder(runs=False).run(graph)


def may_fold_sizes(node: Node) -> bool:
    """True if ``fold_sizes`` may do anything about a node."""
    if traits(node.op).bodies:
        return True
    value = node.outputs[0]
    return value.dtype in _INTEGERS and (node.op == "Shape" or value.dims is not None)


class _Folder(Rewriter):
    """Args: runs: Whether kernels may be run; False: only what shapes tell is folded."""

    def __init__(self, runs: bool) -> None:
        super().__init__()
        self._runs = runs
        # id of a constant whose contents come later -> the node that computes it, and the number
        # of its result.
        self._pending: dict[int, tuple[Node, int]] = {}
        self._nodes: list[Node] = []
        # id of a constant -> what computes it, down to the contents of what it is made from.
        self._keys: dict[int, bytes] = {}
        self._homes: dict[int, Graph] = {}
        self._used: dict[int, Value] = {}

    def rewrite(self, node: Node, inputs: Inputs, out: Graph) -> None:
        """Take constant nodes out; ``compute`` fills in the contents of what they made."""
        if not self._folded(node, inputs, out):
            self._use(inputs)
            out.nodes.append(self.rewired(node, inputs))

    def leave(self, out: Graph) -> None:
        self._use(tuple(out.outputs))

    def compute(self) -> None:
        """Give the constants that are used their contents.

        Raises:
            OpError: a kernel refuses.
        """
        missing: list[Value] = []
        for value in self._used.values():
            self._homes[id(value)].constants.append(value)
            value.const = _known.get(self._keys[id(value)])
            if value.const is None:
                missing.append(value)
        if missing:
            with _lock:
                if len(_known) > _KNOWN_LIMIT:
                    _known.clear()
            for value, array in zip(missing, self._computed(missing), strict=True):
                array.flags.writeable = False
                value.const = _known[self._keys[id(value)]] = array

    def _use(self, values: tuple[Value | None, ...]) -> None:
        if self._pending:
            for v in values:
                if v is not None and id(v) in self._pending:
                    self._used[id(v)] = v

    def _folded(self, node: Node, inputs: tuple[Value | None, ...], out: Graph) -> bool:
        if (
            node.tag is not None
            or not traits(node.op).foldable
            or traits(node.op).random
            or not inputs
        ):
            return False
        if len(node.outputs) == 1:
            array = _told_by_shapes(node)
            if array is not None:
                self._put(node.outputs[0], array, out)
                return True
        if not self._runs or not self._is_constant(node, inputs):
            return False
        alone = node.replaced(inputs)
        self._nodes.append(alone)
        key = (node.op, attributes_key(node.attrs), *[v and self._key(v) for v in inputs])
        for number, value in enumerate(node.outputs):
            constant = self._put(value, None, out)
            self._pending[id(constant)] = (alone, number)
            self._keys[id(constant)] = _digest((number, *key))
        return True

    def _put(self, value: Value, array: np.ndarray[Any, Any] | None, out: Graph) -> Value:
        constant = Value(value.name, value.dtype, value.shape, const=array)
        constant.dims = value.dims
        self._homes[id(constant)] = out
        if array is not None:
            out.constants.append(constant)
        self.use(value, constant)
        return constant

    def _is_constant(self, node: Node, inputs: tuple[Value | None, ...]) -> bool:
        taken = 0
        for v in inputs:
            if v is None:
                continue
            if v.const is not None:
                taken += v.const.nbytes
            elif id(v) in self._pending:
                taken += _size(v) or 0
            else:
                return False
        # Sessions that compute constants have no operators of our kernels.
        if node.op in (CALL, HOST) or node.op in KERNEL_OPERATORS:
            return False
        if any(True for _ in node.bodies()) or taken > _MOST_IN:
            return False
        most = min(max(taken, _LEAST_OUT), _MOST_OUT)
        made = [_size(v) for v in node.outputs]
        return all(size is not None and size <= most for size in made)

    def _key(self, value: Value) -> bytes:
        key = self._keys.get(id(value))
        if key is None:
            key = self._keys[id(value)] = _contents_key(value)
        return key

    def _computed(self, wanted: list[Value]) -> list[np.ndarray[Any, Any]]:
        part = Graph("constants")
        needed = {id(self._pending[id(v)][0]) for v in wanted}
        for node in reversed(self._nodes):
            if id(node) in needed:
                sources = [self._pending.get(id(v)) for v in node.inputs]
                needed.update(id(source[0]) for source in sources if source is not None)
        given: dict[int, Value] = {}
        for node in self._nodes:
            if id(node) in needed:
                part.nodes.append(node.replaced([self._source(v, given) for v in node.inputs]))
        part.constants = list(given.values())
        part.outputs = [
            node.outputs[number] for node, number in (self._pending[id(v)] for v in wanted)
        ]
        model = to_model(part, output_names=[f"c{i}" for i in range(len(wanted))])
        found = Session(model.SerializeToString(), folds=False).run({})
        return [np.array(to_numpy(found[i])) for i in range(len(wanted))]

    def _source(self, value: Value | None, given: dict[int, Value]) -> Value | None:
        """Return a node's input for the folding run: a pending node's result, or a constant."""
        if value is None:
            return None
        pending = self._pending.get(id(value))
        if pending is None:
            return given.setdefault(id(value), value)
        node, number = pending
        return node.outputs[number]


def _told_by_shapes(node: Node) -> np.ndarray[Any, Any] | None:
    """The contents of a result that follow from static shapes alone."""
    value = node.outputs[0]
    if value.dtype not in _INTEGERS:
        return None
    if node.op == "Shape" and node.inputs[0] is not None and _static(node.inputs[0]) is not None:
        return np.array(sizes(node.inputs[0], node.attrs), np.int64)
    return contents(value)


def _static(value: Value) -> list[int] | None:
    if value.shape is None:
        return None
    known = [d for d in value.shape if isinstance(d, int)]
    return known if len(known) == len(value.shape) else None


def _size(value: Value) -> int | None:
    """Bytes of a value of static shape; None: not known, or of no fixed size."""
    shape = _static(value)
    if shape is None or value.dtype > dtypes.SEQUENCE:
        return None
    dtype = dtypes.from_onnx(value.dtype)
    if dtype == dtypes.string or not dtype.size:
        return None
    return math.prod(shape) * dtype.size


def _digest(key: Any) -> bytes:
    return hashlib.blake2b(repr(key).encode(), digest_size=16).digest()


def _contents_key(value: Value) -> bytes:
    const = value.const
    assert const is not None
    contents = repr(const.tolist()).encode() if const.dtype.hasobject else const.tobytes()
    return _digest((value.dtype, const.shape, hashlib.blake2b(contents, digest_size=16).digest()))
