"""The graph in memory: ``Graph``, ``Node``, ``Value``. No protobufs, no tensors, no variables.

Nodes are kept in program order, which is a topological order because a node can only be made from
values that exist. Element types are ONNX's integer codes and shapes raw tuples (int, symbol name
or None for a dimension; None for an unknown rank): the types of the layers above cost too much to
make for every node.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, final

import numpy as np

from tfx.core.source import SourceLocation
from tfx.graph.tags import Tag

RawDim: TypeAlias = int | str | None
RawShape: TypeAlias = tuple[RawDim, ...] | None
# int, float, str, bytes, tuples of these, np.ndarray (tensor) or Graph (body of If, Loop, Scan)
Attributes: TypeAlias = dict[str, Any]


class Unchanged(enum.Enum):
    """What is not given, where None means something."""

    UNCHANGED = enum.auto()


UNCHANGED: Final = Unchanged.UNCHANGED
# The operator of a node that calls another graph; its attribute "graph" holds the callee.
CALL = "Call"
# The operator of a node that Python carries out; its attribute "call" is a ``HostCall``.
HOST = "Host"
# The operator of a node that runs a program of the fused kernels, its attribute "program"; only
# plans of the machine at hand have such.
FUSED = "Fused"
# The operator that does so again and again, alone in the body of a ``Loop``.
FUSED_LOOP = "FusedLoop"
# Sums over all axes but the last one, of one tensor or of the products of two.
COLUMN_SUM = "ColumnSum"
# Sums over the last axis, likewise.
ROW_SUM = "RowSum"
# Rows of a tensor that are added to those of another one, by an index.
ADD_ROWS = "AddRows"
# What ``Unique`` gives of a vector, in the order of first places.
DISTINCT = "Distinct"
# The operator ``LSTM``, which also returns gates and cells, and its gradient.
LSTM = "Lstm"
LSTM_GRADIENT = "LstmGradient"
# The operator ``Softmax`` along the last axis behind a mask, and its gradient.
MASKED_SOFTMAX = "MaskedSoftmax"
SOFTMAX_GRADIENT = "SoftmaxGradient"
# Softmax of products of queries and keys, times values, and its gradient.
ATTENTION = "FlashAttention"
ATTENTION_GRADIENT = "FlashAttentionGradient"
# A product of two matrices, and a bias.
PRODUCT = "Product"
# The same of integers, which wrap around.
INTEGER_PRODUCT = "IntegerProduct"
# Routines on square matrices, which the attribute ``operation`` numbers: a part of programs.
MATRIX_ROUTINE = "MatrixRoutine"
# Operators of images with the channels last, each with the attribute ``window``.
CHANNELS_LAST_CONV = "ChannelsLastConv"
CHANNELS_LAST_CONV_AT_POINTS = "ChannelsLastConvAtPoints"
CHANNELS_LAST_CONV_INPUT_GRADIENT = "ChannelsLastConvInputGradient"
CHANNELS_LAST_CONV_FILTER_GRADIENT = "ChannelsLastConvFilterGradient"
CHANNELS_LAST_DEPTHWISE = "ChannelsLastDepthwise"
CHANNELS_LAST_DEPTHWISE_INPUT_GRADIENT = "ChannelsLastDepthwiseInputGradient"
CHANNELS_LAST_DEPTHWISE_FILTER_GRADIENT = "ChannelsLastDepthwiseFilterGradient"
CHANNELS_LAST_MAX_POOL = "ChannelsLastMaxPool"
CHANNELS_LAST_MAX_POOL_GRADIENT = "ChannelsLastMaxPoolGradient"
KERNEL_OPERATORS = frozenset(
    (
        FUSED,
        FUSED_LOOP,
        COLUMN_SUM,
        ROW_SUM,
        ADD_ROWS,
        DISTINCT,
        LSTM,
        LSTM_GRADIENT,
        MASKED_SOFTMAX,
        SOFTMAX_GRADIENT,
        ATTENTION,
        ATTENTION_GRADIENT,
        PRODUCT,
        INTEGER_PRODUCT,
        MATRIX_ROUTINE,
        CHANNELS_LAST_CONV,
        CHANNELS_LAST_CONV_AT_POINTS,
        CHANNELS_LAST_CONV_INPUT_GRADIENT,
        CHANNELS_LAST_CONV_FILTER_GRADIENT,
        CHANNELS_LAST_DEPTHWISE,
        CHANNELS_LAST_DEPTHWISE_INPUT_GRADIENT,
        CHANNELS_LAST_DEPTHWISE_FILTER_GRADIENT,
        CHANNELS_LAST_MAX_POOL,
        CHANNELS_LAST_MAX_POOL_GRADIENT,
    )
)


@dataclass(frozen=True, eq=False, slots=True)
class HostCall:
    """A Python call in the middle of a graph: print, check, write a summary, call a function.

    Attributes:
        kind: What it is: ``"print"``, ``"assert"``, ``"summary"``, ``"py_function"``...
        run: Does it, given one eager tensor for each input of the node; returns one for each
            output, None where there are none.
        description: For messages and listings.
        effect: Whether it must run although nothing uses its outputs.
        portable: Whether a graph that is saved may leave it out, with outputs, which must be
            scalars, of zero or False; False: saving is refused.
        gradient: Rule as in ``framework.rules``; None: no gradient flows through it.
        expect_gradient: Called before runs whose gradient will be asked for.
    """

    kind: str
    run: Callable[[Sequence[Any]], Sequence[Any] | None]
    description: str = ""
    effect: bool = True
    portable: bool = True
    gradient: Callable[..., Any] | None = None
    expect_gradient: Callable[[], None] | None = None

    def __repr__(self) -> str:
        return f"{self.kind} {self.description}".rstrip()


class Value:
    """One result of a node, an input of the graph or a constant.

    Attributes:
        name: Unique in the graph.
        dtype: ONNX element type code.
        shape: Raw shape.
        node: The node that makes it, None for inputs and constants.
        const: Contents where they are known while tracing (constants; read-only).
        dims: For small integer vectors computed from shapes: the symbolic elements, so that
            ``reshape(x, [shape(x)[0], -1])`` keeps its static shape.
    """

    __slots__ = ("const", "dims", "dtype", "name", "node", "shape")

    def __init__(
        self,
        name: str,
        dtype: int,
        shape: RawShape,
        node: Node | None = None,
        const: np.ndarray[Any, Any] | None = None,
    ) -> None:
        self.name = name
        self.dtype = dtype
        self.shape = shape
        self.node = node
        self.const = const
        self.dims: tuple[RawDim, ...] | None = None

    def __repr__(self) -> str:
        return f"%{self.name}"


@final
class Node:
    """One ONNX operator applied to values.

    What it computes never changes: ``replaced`` makes another node, which a graph under
    construction puts in its place. Only ``If``, ``Loop`` and calls grow, in ``graph.control``, when
    a gradient needs more of them. Name, device and tag are notes, set while the graph is made.

    Attributes:
        op: The operator.
        inputs: What it is applied to (None: an optional input left out).
        attrs: Its attributes.
        name: Unique in the graph.
        source: The line of the program that it comes from.
        outputs: Its results.
        device: Canonical name of the device that it was placed on; None: the graph's own.
        tag: What a layer wants to know again (e.g. "this output is a variable's new value").
    """

    __slots__ = ("attrs", "device", "inputs", "name", "op", "outputs", "source", "tag")

    def __init__(
        self,
        op: str,
        inputs: tuple[Value | None, ...],
        attrs: Attributes,
        name: str,
        source: SourceLocation | None,
        outputs: tuple[Value, ...] = (),
        device: str | None = None,
        tag: Tag | None = None,
    ) -> None:
        self.op: Final = op
        self.inputs: Final = inputs
        self.attrs: Final = attrs
        self.name = name
        self.source: Final = source
        self.outputs: Final = outputs
        self.device = device
        self.tag = tag

    def replaced(
        self,
        inputs: Sequence[Value | None] | None = None,
        attrs: Attributes | None = None,
        *,
        op: str | None = None,
        name: str | None = None,
        outputs: tuple[Value, ...] | None = None,
        device: str | Unchanged | None = UNCHANGED,
        tag: Tag | Unchanged | None = UNCHANGED,
    ) -> Node:
        """A node in the place of this one that differs in what is given."""
        return Node(
            self.op if op is None else op,
            self.inputs if inputs is None else tuple(inputs),
            self.attrs if attrs is None else attrs,
            self.name if name is None else name,
            self.source,
            self.outputs if outputs is None else outputs,
            self.device if device is UNCHANGED else device,
            self.tag if tag is UNCHANGED else tag,
        )

    def make_outputs(self) -> Node:
        """Be the node that its outputs are made by; the node itself."""
        for value in self.outputs:
            value.node = self
        return self

    def bodies(self) -> Iterator[Graph]:
        """The graphs held in attributes: callee, branches, loop bodies."""
        for value in self.attrs.values():
            if isinstance(value, Graph):
                yield value

    def __repr__(self) -> str:
        results, given = ", ".join(map(repr, self.outputs)), ", ".join(map(repr, self.inputs))
        return f"{results} = {self.op}({given})"


class Graph:
    """A sequence of nodes between inputs and outputs.

    Attributes:
        name: Name of the traced function.
        inputs: Values that must be given.
        constants: Values whose contents are part of the graph, in order of creation.
        nodes: In program order.
        outputs: May repeat values and may be inputs or constants.
        parent: The graph around this one if this is a body, whose values it may use freely.
        slopes: For a graph of this library that computes element by element and whose one result
            has known derivatives: each by an input, as a function of the inputs (``framework``'s
            tensors). What differentiates a call of it need not look inside.
        routine: For a graph of this library: computes the same from eager tensors by a library of
            Python's, which plans of the CPU use where it is called outside of branches and loops.
        routine_from: Elements of the first input from which that is worth a step of a plan, which
            it is where sizes are not known; None: it is for matrices that are not small.
        kernel: For a graph of this library: the number of the fused kernels' routine on matrices
            that computes its first result; those behind it have the following ones.
        library: Whether it is a part of this library, of which people want to see the name only.
        fuses: Whether plans of it use the fused kernels; None: where that is quicker.
    """

    library = False
    fuses: bool | None = None
    slopes: Sequence[Callable[..., Any] | None] = ()
    routine: Callable[[Sequence[Any]], Sequence[Any]] | None = None
    routine_from: int | None = None
    kernel: int | None = None

    def __init__(self, name: str, parent: Graph | None = None) -> None:
        self.name = name
        self.parent = parent
        self.inputs: list[Value] = []
        self.constants: list[Value] = []
        self.nodes: list[Node] = []
        self.outputs: list[Value] = []
        self._names: dict[str, int] = parent._names if parent is not None else {}
        # Those of scopes, which the result of what stands in a scope may have.
        self._scopes: set[str] = parent._scopes if parent is not None else set()

    def unique_name(self, base: str) -> str:
        """``base``, or ``base_1``, ``base_2``... if it is taken (in the parents too)."""
        count = self._names.get(base)
        if count is None:
            self._names[base] = 1
            return base
        while (name := f"{base}_{count}") in self._names:
            count += 1
        self._names[base] = count + 1
        self._names[name] = 1
        return name

    def unique_scope(self, base: str) -> str:
        """A unique name of a scope; see ``release_scope``."""
        name = self.unique_name(base)
        self._scopes.add(name)
        return name

    def release_scope(self, name: str) -> None:
        """Let the next node have the name of a scope, unless another one has it."""
        if name in self._scopes:
            self._scopes.discard(name)
            self._names.pop(name, None)

    def add_input(self, name: str, dtype: int, shape: RawShape) -> Value:
        """A new required input."""
        value = Value(self.unique_name(name), dtype, shape)
        self.inputs.append(value)
        return value

    def add_constant(self, array: np.ndarray[Any, Any], dtype: int, name: str = "const") -> Value:
        """A new constant; the array must never change afterwards."""
        value = Value(self.unique_name(name), dtype, array.shape, const=array)
        self.constants.append(value)
        return value

    def add_node(
        self,
        op: str,
        inputs: Sequence[Value | None],
        attrs: Attributes,
        types: Sequence[tuple[int, RawShape]],
        *,
        name: str | None = None,
        source: SourceLocation | None = None,
        device: str | None = None,
        tag: Tag | None = None,
    ) -> Node:
        """Append a node whose output types are already known (see ``infer``)."""
        unique = self.unique_name(name or op)
        outputs: tuple[Value, ...]
        if len(types) == 1:
            dtype, shape = types[0]
            outputs = (Value(self.unique_name(unique + "_out"), dtype, shape),)
        else:
            outputs = tuple(
                Value(self.unique_name(f"{unique}_out{i}"), dtype, shape)
                for i, (dtype, shape) in enumerate(types)
            )
        node = Node(op, tuple(inputs), attrs, unique, source, outputs, device, tag).make_outputs()
        self.nodes.append(node)
        return node

    def add_another(
        self,
        node: Node,
        inputs: Sequence[Value | None],
        attrs: Attributes,
        types: Sequence[tuple[int, RawShape]],
    ) -> Node:
        """Append a node like one of another graph, with results of its own (see ``add_node``)."""
        return self.add_node(
            node.op,
            inputs,
            attrs,
            types,
            name=node.name,
            source=node.source,
            device=node.device,
            tag=node.tag,
        )

    def replace_node(self, old: Node, new: Node) -> Node:
        """Put a node in the place of another one, and have its outputs know it.

        Args:
            old: A node of this graph.
            new: What takes its place: see ``Node.replaced``.

        Returns:
            ``new``.
        """
        place = next(i for i, node in enumerate(self.nodes) if node is old)
        self.nodes[place] = new.make_outputs()
        return new

    def subgraphs(self) -> Iterator[Graph]:
        """All graphs below this one, callees included, each once, innermost last."""
        seen: set[int] = set()
        stack = [self]
        while stack:
            graph = stack.pop()
            for node in graph.nodes:
                for body in node.bodies():
                    if id(body) not in seen:
                        seen.add(id(body))
                        stack.append(body)
                        yield body

    def all_nodes(self) -> Iterator[Node]:
        """The nodes of this graph and then of all below it."""
        yield from self.nodes
        for graph in self.subgraphs():
            yield from graph.nodes

    def copy(self) -> Graph:
        """The same nodes and values in new lists: passes rewrite copies, never what was traced."""
        other = Graph(self.name, self.parent)
        other.inputs = list(self.inputs)
        other.constants = list(self.constants)
        other.nodes = list(self.nodes)
        other.outputs = list(self.outputs)
        other._names = dict(self._names) if self.parent is None else self._names
        other._scopes = set(self._scopes) if self.parent is None else self._scopes
        other.fuses = self.fuses
        return other

    def __repr__(self) -> str:
        return (
            f"<Graph {self.name}: {len(self.inputs)} inputs, {len(self.nodes)} nodes, "
            f"{len(self.outputs)} outputs>"
        )


def free_values(graph: Graph) -> list[Value]:
    """Values of enclosing graphs that a body (If, Loop, Scan) uses, in order of first use."""
    known = {id(v) for v in graph.inputs}
    known.update(id(v) for v in graph.constants)
    free: dict[int, Value] = {}
    for node in graph.nodes:
        for value in node.inputs:
            if value is not None and id(value) not in known:
                free.setdefault(id(value), value)
        if node.op != CALL:
            for body in node.bodies():
                for value in free_values(body):
                    if id(value) not in known:
                        free.setdefault(id(value), value)
        known.update(id(v) for v in node.outputs)
    for value in graph.outputs:
        if id(value) not in known:
            free.setdefault(id(value), value)
    return list(free.values())


def bodies_below(graph: Graph) -> list[Graph]:
    """Branch and loop bodies at any depth, called graphs and what is in them left out."""
    found: list[Graph] = []
    for node in graph.nodes:
        if node.op != CALL:
            for body in node.bodies():
                found += [body, *bodies_below(body)]
    return found


def attributes_key(attrs: Mapping[str, Any]) -> tuple[Any, ...]:
    """A hashable stand-in for attributes, equal exactly when they are."""
    return tuple(
        [
            (name, (int, value) if type(value) is int else _attribute_key(value))
            for name, value in sorted(attrs.items())
        ]
    )


def _attribute_key(value: Any) -> Any:
    if type(value) in (tuple, list) and all(type(v) is int for v in value):
        return tuple(value)
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            return (value.shape, tuple(value.reshape(-1).tolist()))
        return (value.dtype.str, value.shape, value.tobytes())
    if isinstance(value, Graph):
        return id(value)
    if isinstance(value, float):
        return (float, value.hex())  # 1.0 is not 1, -0.0 is not 0.0
    if isinstance(value, list | tuple):
        return tuple([_attribute_key(v) for v in value])
    return (type(value), value)
