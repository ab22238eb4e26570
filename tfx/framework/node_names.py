"""Names of nodes: after the function that the user called, as TensorFlow names operations.

``tf.square(x)`` makes an operation ``Square``, ``tf.matmul(x, w, name="scores")`` one named
``scores``, ``x + y`` one named ``add``; scopes prefix them. Where a function makes several nodes
the last one, which is its result, has the function's name and the others are below it:
``tf.nn.conv2d(x, w, 1, "SAME", name="c")`` makes ``c/Transpose``, ``c/Conv`` and ``c``.

The functions themselves know nothing of this and eager calls pay nothing for it: while tracing, the
stack is searched for the user's line anyway, and the frame just inside of it is the function that
was called. Which nodes belong to one call is remembered in that frame.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from types import CodeType
from typing import TYPE_CHECKING, Any, NamedTuple

from tfx.core.source import SourceLocation, user_call
from tfx.framework.context import current
from tfx.graph.ir import Graph, Node

if TYPE_CHECKING:
    from tfx.framework.func_graph import FuncGraph

# Under this name a frame's variables hold the call that its nodes belong to.
_KEY = "%tfx_call"
_VALID = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*")


def _words(text: str) -> list[str]:
    return text.split()


def _table(text: str) -> dict[str, str]:
    """``function=name`` pairs."""
    return dict(pair.split("=") for pair in text.split())


# Functions that TensorFlow names otherwise than by their words, capitalised.
_LABELS = _table(
    """
    accumulate_n=AddN argmax=ArgMax argmin=ArgMin assign=AssignVariableOp
    assign_add=AssignAddVariableOp assign_sub=AssignSubVariableOp conv1d=Conv1D conv2d=Conv2D
    conv3d=Conv3D crelu=CRelu divide=truediv divide_no_nan=div_no_nan floormod=FloorMod
    gather=GatherV2 matmul=MatMul matvec=MatVec multiply=Mul negative=Neg part_of=strided_slice
    realdiv=RealDiv reduce_all=All reduce_any=Any reduce_euclidean_norm=EuclideanNorm
    reduce_logsumexp=ReduceLogSumExp reduce_max=Max reduce_mean=Mean reduce_min=Min
    reduce_prod=Prod reduce_sum=Sum sequence_mask=SequenceMask
    sigmoid_cross_entropy_with_logits=logistic_loss subtract=Sub tensor_diag=Diag
    tensor_diag_part=DiagPart top_k=TopKV2 truncatediv=TruncateDiv truncatemod=TruncateMod
    weighted_cross_entropy_with_logits=logistic_loss where=SelectV2
    """
)
# Those that it names by their own names.
_AS_THEY_ARE = frozenset(
    _words(
        """
        adjoint argsort batch_normalization bincount boolean_mask clip_by_global_norm clip_by_norm
        clip_by_value concat count_nonzero dropout embedding_lookup erfcinv erfinv eye floordiv
        global_norm is_non_decreasing is_strictly_increasing l2_normalize lbeta log_poisson_loss
        matrix_transpose meshgrid moments multiply_no_nan ndtri norm normalize one_hot ones
        ones_like range reciprocal_no_nan reduce_std reduce_variance
        softmax_cross_entropy_with_logits sort split stack strided_slice tensordot transpose
        truediv tuple unstack xdivy xlog1py zero_fraction zeros zeros_like
        """
    )
)
# What Python's operators are called, by the function that does their work.
_OPERATORS = _table(
    """
    _getitem=strided_slice _invert=LogicalNot _matmul=matmul _negate=Neg _absolute=Abs
    divide=truediv floormod=mod multiply=mul subtract=sub
    """
)


class _Face(NamedTuple):
    """The properties of a function that name the nodes made in its frame.

    Attributes:
        assigns: Whether the function is a variable's method, which has assigned when it is done.
        label: Name for a call that gives none; empty: the operator's own.
        named: Whether a parameter ``name`` holds the name that the user gave.
        operator: Whether it is a method behind one of Python's operators.
        code: The function's code.
        one: Whether the function is an operation, whose last node has its name; otherwise its
            nodes all stand below the name.
    """

    label: str
    named: bool
    operator: bool
    one: bool
    assigns: bool
    code: CodeType


class NodeName:
    """A name for a node that is about to be made.

    Attributes:
        text: The name, not yet unique.
        source: The user's line.
    """

    __slots__ = ("source", "text")

    def __init__(self, text: str, source: SourceLocation) -> None:
        self.text = text
        self.source = source

    def given_to(self, node: Node) -> None:
        """The node was made."""


class _Call(NodeName):
    """One call of an operation by the user, and its nodes in one graph.

    Attributes:
        graph: The graph.
        name: The name of the newest node; before there is one, the name that it will ask for.
    """

    __slots__ = ("_last", "_own", "graph", "name")

    def __init__(self, name: str, source: SourceLocation, graph: Graph) -> None:
        self.text = self.name = name
        self.source = source
        self.graph = graph
        self._last: Node | None = None
        # The name below the call's that the newest node gets back when another one follows.
        self._own: str | None = None

    def next(self, op: str, source: SourceLocation) -> None:
        """Be the name of one more node."""
        self.source = source
        if self._last is not None:
            if self._own is None:
                self._own = self.graph.unique_name(f"{self.name}/{self._last.op}")
            self.text = f"{self.name}/{op}"

    def given_to(self, node: Node) -> None:
        """The node was made: it is the result of the call as long as no other follows."""
        last = self._last
        if last is None:
            self.name = node.name
        else:
            assert self._own is not None
            last.name, self._own, node.name = self._own, node.name, self.name
        self._last = node


# By the code's address, as code hashes slowly; a face keeps its code alive.
_faces: dict[int, _Face] = {}


class Place(NamedTuple):
    """The common part of the names of nodes that one call of the user makes.

    Attributes:
        scope: The name scope.
        prefix: What stands before the operator.
        source: The user's line.
    """

    scope: str
    prefix: str
    source: SourceLocation

    def of_layer(self, layer: str) -> Place:
        """The place of nodes that are made there for a layer."""
        if layer == self.source.layer:
            return self
        return self._replace(source=self.source._replace(layer=layer))


@contextlib.contextmanager
def one_place(graph: FuncGraph | None) -> Iterator[None]:
    """Name all nodes of a graph that are made within it alike, without looking at the stack.

    Only code of this library may run within it: code of the user has lines of its own.
    """
    if graph is None:
        yield
        return
    outer = graph.shared_name
    graph.shared_name = outer or _place_of(graph)
    try:
        yield
    finally:
        graph.shared_name = outer


@contextlib.contextmanager
def other_places(graph: FuncGraph | None) -> Iterator[None]:
    """Look at the stack again inside of ``one_place``, because code of the user may run."""
    if graph is None or graph.shared_name is None:
        yield
        return
    outer, graph.shared_name = graph.shared_name, None
    try:
        yield
    finally:
        graph.shared_name = outer


def _place_of(graph: FuncGraph) -> Place | None:
    """None: the current call names its nodes one by one."""
    scope = current().scope
    source, frame = user_call(current().layer)
    if frame is None or not graph.named_after_calls:
        return Place(scope, scope, source)
    code = frame.f_code
    face = _faces.get(id(code)) or _faces.setdefault(id(code), _face_of(code))
    if face.one:
        return None
    return Place(scope, _prefix(scope, face, frame.f_locals), source)


def _prefix(scope: str, face: _Face, variables: dict[str, Any]) -> str:
    """Return the name prefix for nodes of a call that is not one single operation."""
    if not face.label or scope.endswith(f"{face.label}/"):
        return scope
    return _base(scope, face, variables) + "/"


def name_node(graph: FuncGraph, op: str, *, result: bool = True) -> NodeName:
    """The name of a node that the current call of the user makes.

    Args:
        graph: Where the node will be.
        op: Its operator, or what else it is called where the call gives no name.
        result: Whether it can be the result of the call; False for an assignment, which is one
            only where the user assigns.

    Raises:
        ValueError: the user gave a name that no operation can have.
    """
    context = current()
    scope = context.scope
    place = graph.shared_name
    if place is not None and place.scope == scope and result:
        return NodeName(place.prefix + op, place.source)
    source, frame = user_call(context.layer)
    if frame is None or not graph.named_after_calls:
        return NodeName(scope + op, source)
    code = frame.f_code
    face = _faces.get(id(code)) or _faces.setdefault(id(code), _face_of(code))
    if not face.label and not face.operator:
        return NodeName(scope + op, source)
    variables = frame.f_locals
    call: _Call | None = variables.get(_KEY)
    if call is not None and call.graph is not graph.graph:
        call = None
    if not result and not face.assigns:
        below = scope[:-1] if call is None else call.name
        return NodeName(f"{below}/{op}" if below else op, source)
    if call is not None:
        call.next(op, source)
        return call
    if not face.one:
        return NodeName(_prefix(scope, face, variables) + op, source)
    base = _base(scope, face, variables)
    given = variables.get("name") if face.named else None
    if isinstance(given, str) and given.endswith("/"):  # the scope's own name, not one within it
        graph.graph.release_scope(base)
    call = variables[_KEY] = _Call(base or scope + op, source, graph.graph)
    return call


def _base(scope: str, face: _Face, variables: dict[str, Any]) -> str:
    given = variables.get("name") if face.named else None
    if isinstance(given, str) and given:
        if _VALID.fullmatch(scope + given):
            return given[:-1] if given.endswith("/") else scope + given
        if face.one:  # of other functions it may be the name of something else
            raise ValueError(
                f"{given!r} is not a valid name of an operation; expected letters, digits and "
                "_ . \\ / > - with a letter, digit or point first."
            )
    label = face.label
    if face.operator:
        function = variables.get("general") or variables.get("function")
        name = getattr(function, "__name__", "")
        label = label or _OPERATORS.get(name, "" if name.startswith("_") else name)
    return scope + label if label else ""


def _face_of(code: CodeType) -> _Face:
    file = code.co_filename.replace("\\", "/").rpartition("/tfx/")[2]
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    operator = file == "ops/common/operator_overloads.py"
    one = file.startswith(("ops/", "framework/", "compat/v1/ops/"))
    if operator:
        label = _OPERATORS.get(code.co_name, "")
    else:
        label = "" if file == "raw.py" else _label(code.co_name, one)
    assigns = file in ("framework/variable.py", "ops/array/slice_assignment.py")
    return _Face(label, "name" in parameters, operator, one, assigns, code)


def _label(function: str, one: bool) -> str:
    if function.startswith(("_", "<")):
        return ""
    if not one or function in _AS_THEY_ARE:
        return function
    return _LABELS.get(function) or "".join(w[:1].upper() + w[1:] for w in function.split("_"))
