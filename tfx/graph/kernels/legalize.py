"""Use only kernels that the CPU provider has: compute in a wider type where it lacks one.

ONNX allows ``Add`` on bfloat16 and ``Where`` on uint16, ONNX Runtime's CPU provider does not. Such
a node is written between casts to the nearest wider type it does have. The result is plain ONNX,
so this is also what a bundle contains.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from tfx.core import dtypes
from tfx.graph import ir, schema
from tfx.graph.ir import Graph, Node, Value
from tfx.graph.kernels import (
    accurate_activations,
    accurate_sums,
    clip,
    concat,
    dft,
    empty_inputs,
    indexing,
    inner_sums,
    integers,
    long_products,
    losses,
    nan_extremes,
    normalizations,
    pad,
    recurrent,
    reductions,
    sum_blocks,
)
from tfx.graph.kernels.float64 import DECOMPOSITIONS, EXPANDED
from tfx.graph.kernels.gpu_probe import runs_on_gpu
from tfx.graph.rewrite import Inputs, Rewriter
from tfx.graph.tags import Mark
from tfx.runtime.kernels import cpu_kernels

_FLOAT, _UINT8, _INT8, _UINT16, _INT16, _INT32, _INT64 = 1, 2, 3, 4, 5, 6, 7
_BOOL, _FLOAT16, _DOUBLE, _UINT32, _UINT64, _BFLOAT16 = 9, 10, 11, 12, 13, 16

# What to try instead of a type, nearest first. The last resort of float64 is float32.
_WIDER: dict[int, tuple[int, ...]] = {
    _FLOAT16: (_FLOAT, _DOUBLE),
    _BFLOAT16: (_FLOAT, _DOUBLE),
    _FLOAT: (_DOUBLE,),
    _DOUBLE: (_FLOAT,),
    _BOOL: (_INT32, _UINT8, _INT64, _FLOAT),
    _INT8: (_INT32, _INT64, _FLOAT, _DOUBLE),
    _UINT8: (_INT32, _INT64, _FLOAT, _DOUBLE),
    _INT16: (_INT32, _INT64, _FLOAT, _DOUBLE),
    _UINT16: (_INT32, _INT64, _FLOAT, _DOUBLE),
    _INT32: (_INT64, _DOUBLE, _FLOAT),
    _UINT32: (_INT64, _UINT64, _DOUBLE),
    _INT64: (_DOUBLE, _INT32, _FLOAT),
    _UINT64: (_INT64, _DOUBLE),
}

Correction = Callable[[Graph, Node], bool]


def _in_turn(*tables: dict[str, Correction]) -> dict[str, tuple[Correction, ...]]:
    found: dict[str, tuple[Correction, ...]] = {}
    for table in tables:
        for op, correct in table.items():
            found[op] = (*found.get(op, ()), correct)
    return found


# Kernels that sum much, and are wrong on CPUs.
_CORRECTIONS_OF_SUMS = (
    accurate_sums.CORRECTIONS,
    inner_sums.CORRECTIONS,
    losses.CORRECTIONS,
    long_products.CORRECTIONS,
)
# Kernels that exist and are wrong.
_CORRECTIONS = _in_turn(
    clip.CORRECTIONS,
    empty_inputs.CORRECTIONS,
    dft.CORRECTIONS,
    reductions.CORRECTIONS,
    integers.CORRECTIONS,
    concat.CORRECTIONS,
    nan_extremes.CORRECTIONS,
    pad.CORRECTIONS,
    indexing.CORRECTIONS,
    recurrent.CORRECTIONS,
    accurate_activations.CORRECTIONS,
)


def legalize(graph: Graph, device: str = "CPU:0", *, portable: bool = False) -> Graph:
    """A copy of the graph, bodies and callees included, in which every node has a kernel.

    Args:
        graph: The graph.
        device: Where it will run. On a GPU a kernel of either provider will do.
        portable: It is written to a file, for other builds of the runtime too.
    """
    with sum_blocks.portable(portable):
        return _Legalizer(device).run(graph)


class _Legalizer(Rewriter):
    def __init__(self, device: str) -> None:
        super().__init__()
        self._device = device
        # For the current graph and its enclosing ones: by ``id``, results whose kernel is kept.
        self._kept: list[Collection[int]] = []
        self._is_loop = False

    def enter(self, graph: Graph, out: Graph) -> None:
        gates = accurate_activations.gates(graph) if self._is_loop else set()
        self._kept.append(accurate_activations.clipped(graph.nodes) | gates)
        self._is_loop = False

    def leave(self, out: Graph) -> None:
        self._kept.pop()

    def body(self, graph: Graph, node: Node) -> Graph:
        self._is_loop = node.op in ("Loop", "Scan")
        return self.callee(graph)  # each once, also bodies: corrections share them

    def rewrite(self, node: Node, inputs: Inputs, out: Graph) -> None:
        self._append(out, node, self._kept[-1])

    def _append(self, out: Graph, node: Node, left: Collection[int]) -> None:
        if left and id(node.outputs[0]) in left:
            out.nodes.append(node)
        else:
            self._correct(out, node)

    def _correct(self, out: Graph, node: Node) -> None:
        node = self.rewired(node, node.inputs)
        if node.op == ir.CALL or node.op in ir.KERNEL_OPERATORS:
            out.nodes.append(node)
            return
        if empty_inputs.without_elements(out, node):
            return
        # What asks for the size asks whether it is 0 as well.
        if self._corrected_sum(normalizations.CORRECTIONS, out, node):
            return
        for correct in _CORRECTIONS.get(node.op, ()):
            if self._corrected(correct, out, node):
                return
        for table in _CORRECTIONS_OF_SUMS:
            if self._corrected_sum(table, out, node):
                return
        key = tuple(None if v is None else v.dtype for v in node.inputs)
        if any(code is not None and code > dtypes.SEQUENCE for code in key):
            out.nodes.append(node)
            return
        replaced = replacement(node.op, key, tuple(v.dtype for v in node.outputs))
        expanded = node.op in EXPANDED and DECOMPOSITIONS[node.op](out, node)
        if expanded:
            return
        if replaced is None or runs_on_gpu(node, self._device):
            out.nodes.append(node)
            return
        decompose = DECOMPOSITIONS.get(node.op)
        if decompose is not None and decompose(out, node):
            return
        _emit_between_casts(out, node, *replaced)

    def _corrected_sum(
        self, table: dict[str, accurate_sums.Correction], out: Graph, node: Node
    ) -> bool:
        """Replace a node that sums much, on the CPU."""
        correct = table.get(node.op)
        if correct is None or not self._device.startswith("CPU"):
            return False
        asks = len(self._kept) == 1
        return self._corrected(lambda o, n: correct(o, n, asks), out, node)

    def _corrected(self, correct: Correction, out: Graph, node: Node) -> bool:
        """Replace a node whose kernel is wrong; what replaces it must be legal as well."""
        mark = len(out.nodes)
        if not correct(out, node):
            return False
        made = out.nodes[mark:]
        del out.nodes[mark:]
        clipped = accurate_activations.clipped(made)
        for part in made:
            self._append(out, part, clipped)
        return True


Retyped = tuple[tuple[int | None, ...], tuple[int, ...]]


@functools.lru_cache(maxsize=4096)
def replacement(
    op: str, inputs: tuple[int | None, ...], outputs: tuple[int, ...]
) -> Retyped | None:
    """Types to compute with instead; None: the types as given have a kernel (or nothing helps)."""
    operator = schema.operator(op)
    kernels = cpu_kernels(op, operator.version)
    input_vars = _type_variables(operator.schema.inputs, len(inputs))
    output_vars = _type_variables(operator.schema.outputs, len(outputs))
    given = [
        *zip(input_vars, inputs, strict=True),
        *zip(output_vars, outputs, strict=True),
    ]
    types: dict[str, int] = {}
    for variable, code in given:
        if code is not None:
            types.setdefault(variable, code)
    described = operator.schema
    if not kernels and not (described.has_function or described.has_context_dependent_function):
        return None
    for trial in _trials(types, bool(kernels)):
        if not kernels or _has_kernel(kernels, trial):
            if trial == types:
                return None
            return (
                tuple(
                    None if c is None else trial[v] for v, c in zip(input_vars, inputs, strict=True)
                ),
                tuple(trial[v] for v in output_vars),
            )
    return None


def _trials(types: dict[str, int], has_kernels: bool) -> Iterator[dict[str, int]]:
    """Types to compute with, best first: as given, one type variable wider, or all of one type.

    An operator without a kernel is expanded into its function body by ONNX Runtime, which has
    kernels for what is in there, but none for bfloat16.
    """
    if not has_kernels:
        yield {v: _FLOAT if c == _BFLOAT16 else c for v, c in types.items()}
        return
    yield types
    for variable, code in types.items():
        for wider in _WIDER.get(code, ()):
            yield {**types, variable: wider}
    for code in dict.fromkeys(types.values()):
        for wider in _WIDER.get(code, ()):
            yield {v: wider if c == code else c for v, c in types.items()}


def _type_variables(parameters: Iterable[Any], count: int) -> list[str]:
    """The type variable (``T``) of each parameter; a fixed type has the parameter's name."""
    names = [p.type_str if not p.type_str.startswith("tensor(") else p.name for p in parameters]
    return names[:count] + names[-1:] * (count - len(names))


def _has_kernel(kernels: tuple[Any, ...], types: dict[str, int]) -> bool:
    return any(
        all(name not in types or types[name] in allowed for name, allowed in k.items())
        for k in kernels
    )


def cast(out: Graph, value: Value, dtype: int, node: Node) -> Value:
    """``value`` cast to ``dtype``; made for ``node``, whose source line it shares."""
    if value.dtype == dtype:
        return value
    made = out.add_node(
        "Cast",
        (value,),
        {"to": dtype},
        [(dtype, value.shape)],
        name=f"{node.name}_cast",
        source=node.source,
    )
    return made.outputs[0]


def _emit_between_casts(
    out: Graph, node: Node, inputs: tuple[int | None, ...], outputs: tuple[int, ...]
) -> None:
    casts: dict[tuple[int, int], Value] = {}
    values: list[Value | None] = []
    for value, code in zip(node.inputs, inputs, strict=True):
        if value is None or code is None:
            values.append(None)
            continue
        key = (id(value), code)
        if key not in casts:
            casts[key] = cast(out, value, code, node)
        values.append(casts[key])
    attrs = dict(node.attrs)
    results = tuple(
        v if v.dtype == code else Value(out.unique_name(f"{v.name}_wide"), code, v.shape)
        for v, code in zip(node.outputs, outputs, strict=True)
    )
    tag = node.tag if node.tag is Mark.PART_OF_SUM else None
    wide = Node(node.op, tuple(values), attrs, node.name, node.source, results, tag=tag)
    for value, made in zip(node.outputs, results, strict=True):
        if made is not value:
            made.node = wide
    out.nodes.append(wide)
    for value, made in zip(node.outputs, wide.outputs, strict=True):
        if made is not value:
            back = Node(
                "Cast",
                (made,),
                {"to": value.dtype},
                out.unique_name(f"{node.name}_back"),
                node.source,
                outputs=(value,),
            )
            out.nodes.append(back)
