"""``apply``: the one place where an operator is executed or becomes a node.

Under a trace the operator is appended to the graph, otherwise its kernel runs: an ONNX Runtime
session of a single node, kept by operator, attributes and dtypes. Then the tapes record it. Traced
and eager programs give the same numbers because the same kernels run.
"""

from __future__ import annotations

import functools
import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.dims import is_static
from tfx.core.dtypes import DType
from tfx.core.errors import LeakedTensorError, OpError
from tfx.core.source import user_frame
from tfx.framework.compiled_graphs import alike, compiled
from tfx.framework.composite.adapted_reads import answer
from tfx.framework.composite.complex_rules import of_complex
from tfx.framework.context import Context, current
from tfx.framework.device import DEFAULT_DEVICE, placed
from tfx.framework.node_names import name_node
from tfx.framework.tensor import EagerTensor, SymbolicTensor, Tensor, label, raw_of
from tfx.graph import ir
from tfx.graph.fusion.failures import is_in_program
from tfx.graph.infer import infer, refusal
from tfx.graph.kernels import long_products, losses, normalizations, sum_blocks
from tfx.graph.kernels.empty_inputs import GUARDED
from tfx.graph.kernels.sum_blocks import LEAST, SUMMED, WIDE, Blocks, blocks_for
from tfx.graph.passes.pipeline import prepare
from tfx.graph.serialization.serialize import to_model
from tfx.graph.tags import Mark
from tfx.graph.traits import operators, traits
from tfx.kernels.library import usable_library
from tfx.runtime import interrupts, run_hooks
from tfx.runtime.fork_safe_locks import fork_safe
from tfx.runtime.options import RUN_OPTIONS
from tfx.runtime.session import Session, kernel_reason, translate
from tfx.runtime.values import RawValue, from_numpy

NO_ATTRS: dict[str, Any] = {}
KERNEL_CACHE_SIZE = 4096
_COMPLEX = frozenset((dtypes.complex64.onnx, dtypes.complex128.onnx))
# What sums in its kernel.
STAGED = sum_blocks.STAGED | losses.LOSSES | normalizations.NORMALIZED | long_products.MULTIPLIED
_CHECKED_FIRST = GUARDED.union(STAGED, operators(lambda t: t.refuse))
# What our kernels do where there are many elements, and of which types; None: of all.
_INTEGERS = frozenset(t.onnx for t in (dtypes.int32, dtypes.int64, dtypes.uint32, dtypes.uint64))
_OURS: dict[str, frozenset[int] | None] = {
    "Atanh": frozenset((dtypes.float32.onnx,)),
    "MatMul": _INTEGERS,
    "ReduceMax": _INTEGERS,
    "ReduceMin": _INTEGERS,
    "ReduceSum": _INTEGERS,
    "ScatterElements": None,
    "ScatterND": None,
    "Unique": None,
    "Where": None,
}
_MANY = 1 << 13
# The last dimension of a factor that may be too long for the kernel.
_LONG_PRODUCT = [long_products.LEAST]
_NOT_AT_ONCE = _CHECKED_FIRST - {"MatMul"}


class Kernel:
    """An operator compiled for given dtypes."""

    __slots__ = (
        "__weakref__",
        "dtypes",
        "input_names",
        "op",
        "output_names",
        "plain",
        "run_raw",
        "session",
    )

    def __init__(
        self,
        op: str,
        attrs: dict[str, Any],
        inputs: Sequence[DType | None],
        outputs: int | None,
        device: str,
        shapes: Sequence[Any] | None = None,
        blocks: Blocks | None = None,
        ours: bool = False,
    ) -> None:
        self.op = op
        # The same without our kernels, once one of them has refused.
        self.plain: Callable[[], Kernel] | None = None
        graph = ir.Graph(op)
        given = [
            None if t is None else graph.add_input(f"x{i}", t.onnx, shapes[i] if shapes else None)
            for i, t in enumerate(inputs)
        ]
        types = [
            (code, shape if shapes else None) for code, shape in infer(op, given, attrs, outputs)
        ]
        node = graph.add_node(op, given, attrs, types, name=op)
        if op in STAGED:  # how long it is is decided call by call
            node.tag = Mark.PART_OF_SUM if blocks is None and shapes is None else blocks
        graph.outputs = list(node.outputs)
        if ours:
            self.session = compiled(graph, device)
            self.plain = functools.cache(lambda: Kernel(op, attrs, inputs, outputs, device, shapes))
        else:
            model = to_model(
                prepare(graph, device=device), output_names=[f"y{i}" for i in range(len(types))]
            )
            self.session = Session(model.SerializeToString(), device=device)
        self.run_raw = self.session.run_raw
        self.input_names = [f"x{i}" for i in range(len(inputs))]
        self.output_names = self.session.output_names
        self.dtypes = [dtypes.from_onnx(code) for code, _ in types]
        run_hooks.register(self)


# Least recently made is dropped first; hits must not pay for bookkeeping. Whoever changes it holds
# the lock, and lets go of kernels behind it: closing a session lets other threads run, which in the
# middle of a change would find, and leave, the dictionary broken.
_kernels: OrderedDict[Any, Kernel] = OrderedDict()
_kernels_lock = fork_safe(threading.RLock())  # a signal's handler may run operations, too
# How often kernels of GPUs were forgotten: one that was made meanwhile is not kept.
_gpu_settings = 0


def kernel_count() -> int:
    """Return the number of cached single-operator sessions."""
    return len(_kernels)


def forget_gpu_kernels() -> None:
    """Compile the operators of GPUs again, with the settings of now, when they are next used."""
    global _gpu_settings
    with _kernels_lock:
        _gpu_settings += 1
        gone = [key for key, k in _kernels.items() if k.session.device.startswith("GPU")]
        dropped = [_kernels.pop(key) for key in gone]
    del dropped


def _make_kernel(
    key: Any,
    op: str,
    attrs: dict[str, Any],
    inputs: Sequence[Tensor | None],
    outputs: int | None,
    device: str = DEFAULT_DEVICE,
    shapes: Sequence[Any] | None = None,
    blocks: Blocks | None = None,
    ours: bool = False,
) -> Kernel:
    kinds = [None if t is None else t.dtype for t in inputs]
    settings = _gpu_settings
    try:
        if traits(op).window:  # kernels take some attributes that gradients cannot
            infer(op, _described(inputs), attrs)
        kernel = Kernel(op, attrs, kinds, outputs, device, shapes, blocks, ours)
    except OpError as e:
        if e.source is not None:
            raise
        raise _failure(e, op, inputs, attrs) from None
    dropped = None
    with _kernels_lock:
        known = _kernels.get(key)
        if known is not None:  # another thread came first
            return known
        if settings != _gpu_settings and not device.startswith("CPU"):
            return kernel
        if len(_kernels) >= KERNEL_CACHE_SIZE:
            _, dropped = _kernels.popitem(last=False)
        _kernels[key] = kernel
    del dropped
    return kernel


def apply(op: str, inputs: Sequence[Tensor | None], attrs: dict[str, Any] = NO_ATTRS) -> Tensor:
    """Apply an operator that has one output, or whose first output is the only one wanted.

    Args:
        op: ONNX operator type.
        inputs: Tensors of the dtypes that the operator takes; None for an optional input left out.
        attrs: ONNX attributes.

    Returns:
        The first output: eager in eager mode, symbolic while a function is traced.

    Raises:
        InvalidArgumentError: the operator does not take these inputs.
    """
    context = current()
    if context.graph is not None:
        return _emit(context, op, inputs, attrs, None)[0]
    if len(inputs) == 2 and not attrs and context.device is None and op not in _NOT_AT_ONCE:
        # The hot path: a binary operator without attributes, on the default device.
        x, y = inputs
        if (
            type(x) is EagerTensor
            and type(y) is EagerTensor
            and (
                op != "MatMul"
                or (x._raw.shape()[-1:] < _LONG_PRODUCT and x._dtype.onnx not in _INTEGERS)
            )
        ):
            key: Any = (op, x._dtype.onnx, y._dtype.onnx)
            kernel = _kernels.get(key)
            if kernel is None:
                lowered = of_complex(op, inputs, attrs, None)
                if lowered is not None:
                    return lowered[0]
                kernel = _make_kernel(key, op, attrs, inputs, None)
            try:
                raw = kernel.run_raw(
                    {"x0": x._raw, "x1": y._raw}, kernel.output_names, RUN_OPTIONS
                )[0]
            except Exception as e:
                raw = _rescued(e, kernel, op, inputs, attrs)[0]
            result = EagerTensor(raw, kernel.dtypes[0])
            if context.tapes:
                _record(context, op, attrs, inputs, (result,))
            return result
    return _execute(context, op, inputs, attrs, None)[0]


def apply_n(
    op: str,
    inputs: Sequence[Tensor | None],
    attrs: dict[str, Any] = NO_ATTRS,
    outputs: int | None = None,
) -> tuple[Tensor, ...]:
    """Apply an operator and return all its outputs.

    Args:
        op: ONNX operator type.
        inputs: See ``apply``.
        attrs: ONNX attributes.
        outputs: How many outputs are wanted; None: those that the operator always has.
    """
    context = current()
    if context.graph is not None:
        return _emit(context, op, inputs, attrs, outputs)
    return _execute(context, op, inputs, attrs, outputs)


def _execute(
    context: Context,
    op: str,
    inputs: Sequence[Tensor | None],
    attrs: dict[str, Any],
    outputs: int | None,
) -> tuple[Tensor, ...]:
    kinds = tuple(
        [
            None if t is None else t._dtype.onnx if type(t) is EagerTensor else _leaked(t)
            for t in inputs
        ]
    )
    if not _COMPLEX.isdisjoint(kinds) or op == "Cast":
        lowered = of_complex(op, inputs, attrs, outputs)
        if lowered is not None:
            return lowered
    device = context.device
    if device is not None:
        device = placed(device, op, op, inputs)
    key: Any = (op, kinds, ir.attributes_key(attrs) if attrs else None, outputs, device)
    shapes = blocks = None
    ours = False
    if op in _CHECKED_FIRST and (op != "Gemm" or _may_be_long(inputs)):
        if traits(op).refuse == "always":
            infer(op, _described(inputs), attrs)
        shapes = _shapes_if_empty(inputs)
        if shapes is not None and traits(op).refuse == "empty":
            infer(op, _described(inputs), attrs)
            shapes = None
        if shapes is None and op in STAGED:
            blocks, shapes = _stages(op, inputs, attrs)
            if blocks is not None:
                key = (*key, blocks)
        if shapes is not None:
            key = (*key, shapes)
    if op in _OURS and shapes is None and blocks is None:
        shapes = _sizes_if_many(op, inputs, device)
        if shapes is not None:
            ours, key = True, (*key, shapes, "ours")
    kernel = _kernels.get(key)
    if kernel is None:
        kernel = _make_kernel(
            key, op, attrs, inputs, outputs, device or DEFAULT_DEVICE, shapes, blocks, ours
        )
    given: Any = inputs  # eager tensors
    feeds = {n: t._raw for n, t in zip(kernel.input_names, given, strict=True) if t is not None}
    try:
        raw = kernel.run_raw(feeds, kernel.output_names, RUN_OPTIONS)
    except Exception as e:
        raw = _rescued(e, kernel, op, inputs, attrs)
    # By number: an iterator over ONNX Runtime's vector costs 35 us.
    results = tuple([EagerTensor(raw[i], d) for i, d in enumerate(kernel.dtypes)])
    if device is not None:
        for result in results:
            label(result, device)
    if context.tapes:
        _record(context, op, attrs, inputs, results)
    return results


def _rescued(
    error: Exception,
    kernel: Kernel,
    op: str,
    inputs: Sequence[Tensor | None],
    attrs: dict[str, Any],
) -> Sequence[RawValue]:
    """The results of an operator that refused to run, if there are some after all."""
    try:
        given = zip(kernel.input_names, inputs, strict=True)
        feeds = {n: raw_of(t) for n, t in given if t is not None}
        if kernel.plain is not None and is_in_program(error):
            kernel = kernel.plain()
            return kernel.run_raw(feeds, kernel.output_names, RUN_OPTIONS)
        return interrupts.repeated(error, kernel, feeds, kernel.output_names)
    except Exception as e:
        rescued = _of_nothing(op, inputs, attrs, len(kernel.dtypes))
        if rescued is None:
            raise _failure(e, op, inputs, attrs) from None
        return rescued


def _shapes_if_empty(inputs: Sequence[Any]) -> tuple[Any, ...] | None:
    """The shapes of the inputs where one has no elements."""
    for t in inputs:
        if t is not None and 0 in t._raw.shape():
            return tuple([None if t is None else tuple(t._raw.shape()) for t in inputs])
    return None


def _sizes_if_many(op: str, inputs: Sequence[Any], device: str | None) -> tuple[Any, ...] | None:
    """Shapes that say which sizes are the same, if our kernels do an operator on these inputs."""
    kinds = _OURS[op]
    if (device is not None and not device.startswith("CPU")) or usable_library() is None:
        return None
    if kinds is not None and inputs[0]._dtype.onnx not in kinds:
        return None
    given = [None if t is None else t._raw.shape() for t in inputs]
    if all(shape is None or math.prod(shape) < _MANY for shape in given):
        return None
    return alike(given)


def _stages(
    op: str, inputs: Sequence[Any], attrs: dict[str, Any]
) -> tuple[Blocks | None, tuple[Any, ...] | None]:
    """Return the blocks for a long sum, and the shapes its kernel must know; None if not needed."""
    x = inputs[0]
    shape = x._raw.shape()
    if math.prod(shape) <= LEAST:
        return None, None
    if op not in SUMMED:
        if not _is_long(op, inputs, shape, attrs):
            return None, None
        return None, tuple([None if t is None else tuple(t._raw.shape()) for t in inputs])
    axes: Any = None
    if op in ("Softmax", "LogSoftmax"):
        axes = (attrs.get("axis", -1),)
    elif len(inputs) > 1 and inputs[1] is not None:
        axes = tuple(inputs[1].view().reshape(-1).tolist())
        if not axes:
            axes = () if attrs.get("noop_with_empty_axes") else None
    blocks = blocks_for(op, x._dtype.onnx, tuple(shape), axes)
    if blocks is None or not blocks.length:
        return None if blocks is None else WIDE, None
    return blocks, ((None,) * len(shape), *[None] * (len(inputs) - 1))


def _may_be_long(inputs: Sequence[Any]) -> bool:
    """True if a product of matrices might be long: the quickest test."""
    return bool(max(inputs[0]._raw.shape()) >= long_products.LEAST)


def _is_long(op: str, inputs: Sequence[Any], shape: Sequence[int], attrs: dict[str, Any]) -> bool:
    """Return whether an operator sums more elements than its kernel sums accurately."""
    if op in long_products.MULTIPLIED:
        return long_products.is_long(op, shape, inputs[1]._raw.shape(), attrs)
    if op in losses.LOSSES:
        return losses.is_long(op, shape, attrs)
    if op in normalizations.NORMALIZED:
        return normalizations.is_long(op, shape, attrs)
    return sum_blocks.is_long(op, shape, attrs)


def _of_nothing(
    op: str, inputs: Sequence[Any], attrs: dict[str, Any], outputs: int
) -> list[Any] | None:
    """The results of an operator that refused to run, if they have no elements.

    Many kernels take no empty input, though its result is clear.
    """
    given = _described(inputs)
    if not any(v is not None and v.shape is not None and 0 in v.shape for v in given):
        return None
    try:
        types = infer(op, given, attrs, outputs)
    except OpError:
        return None
    results = []
    for code, shape in types:
        if shape is None or 0 not in shape or not is_static(shape):
            return None
        kind = dtypes.from_onnx(code).as_numpy_dtype
        results.append(from_numpy(np.zeros(shape, kind)))
    return results


def _leaked(tensor: Tensor) -> int:
    assert isinstance(tensor, SymbolicTensor)
    raise LeakedTensorError(
        f"{tensor!r} belongs to function {tensor._graph.name!r} and was used outside of it: it "
        "leaked out of the trace. Return it from the function, or store it in a Variable."
    )


def _emit(
    context: Context,
    op: str,
    inputs: Sequence[Tensor | None],
    attrs: dict[str, Any],
    outputs: int | None,
) -> tuple[Tensor, ...]:
    graph = context.graph
    assert graph is not None
    if graph.overrides is not None:
        found = graph.overrides(op, inputs, attrs, outputs)
        if found is not None:
            return found
    lowered = of_complex(op, inputs, attrs, outputs)
    if lowered is not None:
        return lowered
    answered = answer(op, inputs, attrs)
    if answered is not None:
        return answered
    values = [None if t is None else graph.value_of(t) for t in inputs]
    place, name = graph.shared_name, None
    if place is not None and place.scope == context.scope:
        text, source = place.prefix + op, place.source
    else:
        name = name_node(graph, op)
        text, source = name.text, name.source
    try:
        node = graph.add_op(op, values, attrs, outputs, name=text, source=source)
    except OpError as e:
        if source.text() not in e.message:
            e.message, e.source = f"{e.message} [{source.text()}]", source
        raise
    if name is not None:
        name.given_to(node)
    results = tuple([SymbolicTensor(v, graph) for v in node.outputs])
    if context.tapes:
        _record(context, op, attrs, inputs, results)
    return results


def _record(
    context: Context,
    op: str,
    attrs: dict[str, Any],
    inputs: Sequence[Any],
    results: Sequence[Tensor],
) -> None:
    for tape in context.tapes:
        tape.record(op, attrs, inputs, results)


def _described(inputs: Sequence[Tensor | None]) -> list[ir.Value | None]:
    """Eager inputs as values with their real shapes and, of short vectors, their contents."""
    given: list[ir.Value | None] = []
    for i, tensor in enumerate(inputs):
        if isinstance(tensor, EagerTensor):
            shape = tuple(tensor._raw.shape())
            const = tensor.view() if tensor.dtype.is_integer and tensor.shape.rank == 1 else None
            given.append(ir.Value(f"x{i}", tensor.dtype.onnx, shape, const=const))
        else:
            given.append(None)
    return given


def _failure(
    error: Exception, op: str, inputs: Sequence[Tensor | None], attrs: dict[str, Any]
) -> OpError:
    """Return the exception for a kernel's failure, with onnx's message for these shapes if any."""
    translated = translate(error)
    given = _described(inputs)
    source = user_frame()
    try:
        infer(op, given, attrs)
        message = refusal(op, given, kernel_reason(str(error)))
    except OpError as e:
        message = e.message
        translated = e
    return type(translated)(f"{message} [{source.text()}]", op=op, source=source)
