"""A loop variable while its loop is traced: what goes in, what comes out, what the ``Loop`` keeps.

A tensor is carried, unless it counts the iterations. A tensor array becomes, by what the body did
with it, nothing at all (it was only read), a scan output (each iteration wrote one element; unless
at its own number, the indices are another one) or a carried sequence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tfx.control_flow import sequences
from tfx.control_flow.structured_results import place_of, spelled
from tfx.control_flow.tensor_array_state import ArrayState
from tfx.core import dtypes
from tfx.core.dims import sizes_alone
from tfx.core.shapes import TensorShape
from tfx.framework.body_graph import LoopGraph
from tfx.framework.builder import ox
from tfx.framework.context import using
from tfx.framework.convert import int64_constant
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.graph.copy_body import replace_values, uses
from tfx.graph.formulas.shapes import reversed_along
from tfx.graph.ir import CALL, Graph, RawShape, Value
from tfx.graph.symbolic_shapes import elements
from tfx.graph.tags import Mark
from tfx.ops.common.arguments import as_int64, cast_to

if TYPE_CHECKING:
    from tfx.control_flow.induction_variables import InductionVariables


class ShapeVariesError(Exception):
    """A dimension of unknown size is not the same in every iteration: trace again."""

    def __init__(self, where: tuple[int, int]) -> None:
        super().__init__()
        self.where = where


class Carried:
    """A value that goes from iteration to iteration.

    Attributes:
        before: The tensor that enters the loop.
        inside: The body's input.
        after: The body's result.
        shape: The static shape of the loop's result.
    """

    def __init__(self, before: Tensor, inside: Value, after: Value, shape: RawShape) -> None:
        self.before = before
        self.inside = inside
        self.after = after
        self.shape = shape


class LoopVariable:
    """A leaf of the loop variables that is None."""

    result: Any = None

    def enter(self, loop: LoopGraph) -> Any:
        """Return the variable as the body receives it."""
        return None

    def leave(self, loop: LoopGraph, leaf: Any, body: Callable[..., Any]) -> None:
        """Take what the body returned.

        Raises:
            TypeError: of another kind or dtype.
            ValueError: of a shape that does not fit.
        """
        if leaf is not None:
            raise TypeError(
                f"A loop variable is None before the loop, and {spelled(leaf)} after one iteration "
                f"of the body ({place_of(body)}). Give it an initial value of that dtype and shape."
            )

    def choose_form(
        self, loop: LoopGraph, numbers: InductionVariables, whole: Tensor | None
    ) -> None:
        """Decide what the loop keeps, now that the body is complete."""

    def carried(self) -> Sequence[Carried]:
        """Return the values that are carried from iteration to iteration."""
        return ()

    def scans(self) -> Sequence[Value]:
        """Return the values that are collected over the iterations."""
        return ()

    def finish(self, ends: list[SymbolicTensor], rows: list[SymbolicTensor]) -> Any:
        """The variable after the loop."""
        return None


def slot_of(
    number: int, leaf: Any, shape: Any, varying: set[tuple[int, int]], *, strict: bool = True
) -> LoopVariable:
    """The slot for a leaf of the loop variables; strict ones enter in the shape that is stated."""
    if leaf is None:
        return LoopVariable()
    if isinstance(leaf, ArrayState):
        return ArraySlot(leaf)
    return TensorSlot(number, leaf, shape, varying, strict)


class TensorSlot(LoopVariable):
    """A tensor."""

    def __init__(
        self,
        number: int,
        initial: Tensor,
        shape: TensorShape | None,
        varying: set[tuple[int, int]],
        strict: bool = True,
    ) -> None:
        self.initial = initial
        self._number = number
        self._given = shape
        known = initial.shape
        if shape is None:
            raw = known.symbolic
            if raw is not None:
                raw = tuple(None if (number, i) in varying else d for i, d in enumerate(raw))
            wanted = raw
        else:
            wanted = raw = sizes_alone(shape.symbolic)
            if not _includes(shape, known) and strict:
                raise ValueError(
                    f"The shape invariant specified for {initial!r} is not compatible with the "
                    f"initial shape of the loop variable. It enters the loop with shape {known}, "
                    f"but the specified shape invariant is {shape}."
                )
            if not _includes(shape, known):
                raw = None  # the first iteration sees another shape than those that follow
        self.shape: RawShape = raw
        self._wanted: RawShape = wanted
        self.inside: Value | None = None
        self.after: Value | None = None
        # What it is after the loop, where that is known without carrying it.
        self.last: SymbolicTensor | None = None

    def enter(self, loop: LoopGraph) -> Any:
        """See ``LoopVariable``."""
        name = loop.graph.unique_name("loop_var")
        self.inside = Value(name, self.initial.dtype.onnx, self.shape)
        return SymbolicTensor(self.inside, loop)

    def leave(self, loop: LoopGraph, leaf: Any, body: Callable[..., Any]) -> None:
        """See ``LoopVariable``."""
        if not isinstance(leaf, Tensor):
            raise TypeError(self._says(leaf, body, "became something else"))
        if leaf.dtype is not self.initial.dtype:
            raise TypeError(
                self._says(leaf, body, "its dtype must not change; use tfx.cast in the body")
            )
        self._check_shape(leaf, body)
        self.after = loop.value_of(leaf)
        self.result = leaf

    def _check_shape(self, leaf: Tensor, body: Callable[..., Any]) -> None:
        found, wanted = leaf.shape.symbolic, self._wanted
        if wanted is None or (found is None and self.shape is None):
            return
        if found is None or len(found) != len(wanted):
            raise ValueError(self._says(leaf, body, _WAY_OUT))
        for axis, (have, want) in enumerate(zip(found, wanted, strict=True)):
            if want is None or have == want:
                continue
            if isinstance(want, int):
                raise ValueError(self._says(leaf, body, _WAY_OUT))
            raise ShapeVariesError((self._number, axis))

    def _says(self, leaf: Any, body: Callable[..., Any], hint: str) -> str:
        shape = TensorShape(self._wanted)
        stated = "" if self._given is None else f" (its shape invariant is {shape})"
        return (
            f"Input tensor {spelled(self.initial)} enters the loop with shape {shape}{stated}, but "
            f"is {spelled(leaf)} after one iteration of the body ({place_of(body)}): {hint}"
        )

    def carried(self) -> Sequence[Carried]:
        """See ``LoopVariable``."""
        if self.last is not None:
            return ()
        assert self.inside is not None
        assert self.after is not None
        return (Carried(self.initial, self.inside, self.after, self.shape),)

    def finish(self, ends: list[SymbolicTensor], rows: list[SymbolicTensor]) -> Any:
        """See ``LoopVariable``."""
        return ends[0] if self.last is None else self.last


_WAY_OUT = (
    "to allow the shape to vary across iterations, use the `shape_invariants` argument of "
    "tf.while_loop to specify a less-specific shape."
)


def _includes(general: TensorShape, special: TensorShape) -> bool:
    """True if every tensor of the special shape has the general one."""
    if general.rank is None:
        return True
    if special.rank != general.rank:
        return False
    return all(g is None or g == s for g, s in zip(general, special, strict=True))


class ArraySlot(LoopVariable):
    """A tensor array."""

    def __init__(self, initial: ArrayState) -> None:
        self.initial = initial
        self._inside: Value | None = None
        self._carried: list[Carried] = []
        self._scan: list[Value] = []
        self._whole = False
        # Written from the last element to the first.
        self._turned = False

    def enter(self, loop: LoopGraph) -> Any:
        """See ``LoopVariable``."""
        initial = self.initial
        name = loop.graph.unique_name("tensor_array")
        code = dtypes.SEQUENCE + sequences.stored(initial.kept_dtype).onnx
        self._inside = Value(name, code, None)
        # How many elements there are does not change unless the array grows.
        count = None if initial.dynamic_size else initial.size()
        return initial.with_sequence(SymbolicTensor(self._inside, loop), count)

    def leave(self, loop: LoopGraph, leaf: Any, body: Callable[..., Any]) -> None:
        """See ``LoopVariable``."""
        if not isinstance(leaf, ArrayState):
            raise TypeError(
                f"A loop variable is a TensorArray before the loop, and {spelled(leaf)} after one "
                f"iteration of the body ({place_of(body)}): return the TensorArray."
            )
        if leaf.dtype is not self.initial.dtype:
            raise TypeError(
                f"A loop variable is a TensorArray of {self.initial.dtype.name} before the loop, "
                f"and one of {leaf.dtype.name} after one iteration of the body ({place_of(body)})."
            )
        with using(graph=loop, tapes=()):
            if leaf.sequence is None:
                leaf = leaf.with_sequence(leaf.as_sequence())
        self.result = leaf

    def choose_form(
        self, loop: LoopGraph, numbers: InductionVariables, whole: Tensor | None
    ) -> None:
        """See ``LoopVariable``."""
        body, inside = loop.graph, self._inside
        assert inside is not None
        after = loop.value_of(self.result.sequence)
        if after is inside:
            self._only_read(loop)
            return
        node = after.node
        index = node.inputs[1] if node is not None and node.tag is Mark.ARRAY_WRITE else None
        upwards = numbers.start_of(index) == 0
        downwards = not upwards and numbers.falls_from_end(index, self.initial.size())
        self._turned = downwards and not self.initial.dynamic_size
        if (
            node is not None
            and node.tag is Mark.ARRAY_WRITE
            and node in body.nodes
            and node.inputs[0] is inside
            and self.initial.is_blank
            and (upwards or not self.initial.dynamic_size)
            and uses(body, inside) == 1
            and uses(body, after) == 0
            and _steady(node.inputs[2])
        ):
            body.nodes.remove(node)
            element = node.inputs[2]
            assert element is not None
            self._scan = [element]
            if index is not None and not upwards and not downwards:
                self._scan.append(index)
                return
            self._whole = self.initial.dynamic_size or _same_number(whole, self.initial.size())
            return
        learned = self.result.element_shape
        before = self.initial.with_shape(learned).as_sequence(learned)
        self._carried = [Carried(before, inside, after, None)]

    def _only_read(self, loop: LoopGraph) -> None:
        """The array is what it was: reads become reads of what is outside."""
        inside, dense = self._inside, self.initial.dense
        assert inside is not None
        if dense is not None and _only_elements(loop.graph, inside):
            stored = sequences.to_stored(dense)
            outer = loop.parent.value_of(stored)
            loop.outer.setdefault(id(outer), (outer, stored))
            _read_from(loop.graph, inside, outer)
            return
        if uses(loop.graph, inside):
            sequence = self.initial.as_sequence()
            outer = loop.parent.value_of(sequence)
            loop.outer.setdefault(id(outer), (outer, sequence))
            replace_values(loop.graph, {id(inside): outer})

    def carried(self) -> Sequence[Carried]:
        """See ``LoopVariable``."""
        return self._carried

    def scans(self) -> Sequence[Value]:
        """See ``LoopVariable``."""
        return self._scan

    def finish(self, ends: list[SymbolicTensor], rows: list[SymbolicTensor]) -> Any:
        """See ``LoopVariable``."""
        result = self.initial.with_shape(self.result.element_shape)
        if ends:
            count = None if self.initial.dynamic_size else self.initial.size()
            return result.with_sequence(ends[0], count)
        if not rows:
            return self.initial
        dense: Tensor = rows[0]
        if len(rows) > 1:
            dense = _placed(dense, rows[1], self.initial.size(), self._scan[0].shape)
            return result.with_dense(cast_to(dense, self.initial.kept_dtype))
        if self._turned:
            dense = reversed_along(ox, dense)
        if not self._whole:
            shape = self._scan[0].shape
            dense = _filled_up(dense, self.initial.size(), shape, in_front=self._turned)
        elif isinstance(dense, SymbolicTensor) and not self.initial.dynamic_size:
            size = self.initial._known_size()
            if size is not None and dense.shape.rank:
                dense.set_shape([size, *dense.shape[1:]])
        return result.with_dense(cast_to(dense, self.initial.kept_dtype))


def _placed(rows: Tensor, places: Tensor, size: Tensor, shape: RawShape) -> Tensor:
    """The rows at their places; of several the last one, zeros where there is none."""
    known = [d for d in shape or () if isinstance(d, int)]
    if shape is not None and len(known) == len(shape):
        rest: Tensor = int64_constant(known)
        # Without an iteration the rows have no shape yet.
        rows = ox.Reshape(rows, int64_constant([-1, *known])) if 0 not in known else rows
    else:
        rest = ox.Shape(rows, start=1)
    count = ox.Reshape(ox.Shape(rows, end=1), int64_constant([]))
    numbers = ox.Range(int64_constant(0), count, int64_constant(1))
    none = ox.Expand(int64_constant([-1]), ox.Reshape(as_int64(size), int64_constant([1])))
    where = ox.Reshape(places, int64_constant([-1, 1]))
    latest = ox.ScatterND(none, where, numbers, reduction="max")
    # Number -1 is the last row: zeros.
    target = ox.Concat(int64_constant([1]), rest, axis=0)
    padded = ox.Concat(rows, sequences.zeros_of_shape(rows.dtype, target), axis=0)
    return ox.Gather(padded, latest)


def _filled_up(rows: Tensor, size: Tensor, shape: RawShape, *, in_front: bool) -> Tensor:
    """Zeros behind, or in front of, the rows until there are ``size``; more rows are refused."""
    have = ox.Shape(rows, end=1)
    want = ox.Reshape(as_int64(size), int64_constant([1]))
    known = [d for d in shape or () if isinstance(d, int)]
    if shape is not None and len(known) == len(shape):
        rest: Tensor = int64_constant(known)
    else:
        rest = ox.Shape(rows, start=1)
    # More rows than elements were writes out of range: Expand refuses a negative length.
    missing = ox.Sub(want, have)
    target = ox.Concat(missing, rest, axis=0)
    blank = sequences.zeros_of_shape(rows.dtype, target)
    if shape is not None and len(known) == len(shape):
        rows = ox.Reshape(rows, int64_constant([-1, *known])) if 0 not in known else rows
    return ox.Concat(*((blank, rows) if in_front else (rows, blank)), axis=0)


def _steady(value: Value | None) -> bool:
    """True if a value has one shape in all iterations, as a scan output must."""
    return value is not None and value.shape is not None and None not in value.shape


def _same_number(a: Tensor | None, b: Tensor) -> bool:
    """True if two integer scalars are known to be equal."""
    if a is None:
        return False
    if a is b:
        return True
    if not isinstance(a, SymbolicTensor) or not isinstance(b, SymbolicTensor):
        return False
    x, y = _origin(a._symbol), _origin(b._symbol)
    if x is y:
        return True
    first, second = elements(x), elements(y)
    return first is not None and first == second and len(first) == 1 and first[0] is not None


def _origin(value: Value) -> Value:
    """Return the value that `value` is a copy of, in the same or another integer type."""
    while value.node is not None and value.node.op in ("Identity", "Cast", "Max"):
        source, *others = value.node.inputs
        assert source is not None
        if source.dtype not in (6, 7) or any(elements(v) != (0,) for v in others):
            break  # a number of elements is never less than 0
        value = source
    return value


def _only_elements(body: Graph, sequence: Value) -> bool:
    """True if a body only takes elements of a sequence."""
    if any(v is sequence for v in body.outputs):
        return False
    for node in body.nodes:
        if node.op != "SequenceAt" and any(v is sequence for v in node.inputs):
            return False
        if node.op != CALL and not all(_only_elements(b, sequence) for b in node.bodies()):
            return False
    return True


def _read_from(body: Graph, sequence: Value, dense: Value) -> None:
    """Take slices of a tensor in the place of a sequence's elements."""
    for i, node in enumerate(body.nodes):
        if node.op == "SequenceAt" and node.inputs[0] is sequence:
            slice_ = node.replaced((dense, node.inputs[1]), {}, op="Gather")
            body.nodes[i] = slice_.make_outputs()
            if node.outputs[0].shape is None and dense.shape is not None:
                node.outputs[0].shape = dense.shape[1:]
        elif node.op != CALL:
            for inner in node.bodies():
                _read_from(inner, sequence, dense)
