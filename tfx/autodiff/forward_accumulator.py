"""``ForwardAccumulator``: Jacobian-vector products, computed along with the operations.

It keeps the tangent of every tensor that depends on the primals. An operation that happens while
it is active has its tangents computed at once, and those computations are seen by the recorders
entered before it, never by those entered after it. Eager tensors take their tangents with them
when they are gone.
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, Self

from tfx.autodiff.jvp import accumulate_with, push
from tfx.autodiff.tape import UnconnectedGradients
from tfx.core import nest
from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.composite.indexed_slices import IndexedSlices
from tfx.framework.context import Recorder, current, set_context, using
from tfx.framework.convert import convert_to_tensor
from tfx.framework.rules import EXTENDED_CONTROL, ExtendedControl, OpRecord, forward_rule_of
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.framework.variable import Variable, variable_of
from tfx.ops.array import creation
from tfx.ops.array.reshape import broadcast_to

_log = logging.getLogger("tfx")


class _Watched(weakref.ref[Any]):
    """A weak reference to a tensor that knows the tensor's ``id``."""

    __slots__ = ("key",)
    key: int


class ForwardAccumulator:
    """Compute Jacobian-vector products by forward-mode differentiation.

    What the program computes inside the ``with`` block gets a tangent: the derivative along
    ``tangents``, at a cost that does not depend on how many results there are. Nothing is kept for
    a walk back.

    Accumulators and gradient tapes can be nested in any order. Operations that an accumulator
    carries out for itself are seen by those around it and not by those inside it, so second
    derivatives come from the outer one: ``outer.jvp(inner.jvp(y))``. A tape inside an accumulator
    gives Hessian-vector products: ``acc.jvp(tape.gradient(y, x))``.

    Where an operator has no forward rule of its own its gradient rule is used twice.

    Args:
        primals: A tensor or variable to differentiate by, or a structure of them.
        tangents: A tensor for each, of the same structure, dtypes and shapes: the vector.

    Raises:
        ValueError: something is among the primals twice, or the structures differ.
        TypeError: a primal is neither a tensor nor a variable, or the structures' types differ.
        InvalidArgumentError: a tangent has another shape than its primal.

    Example:
        >>> import tfx as tf
        >>> x = tf.constant([1.0, 2.0, 3.0])
        >>> with tf.autodiff.ForwardAccumulator(x, tf.constant([1.0, 0.0, 1.0])) as acc:
        ...     y = x * x
        >>> acc.jvp(y).numpy()
        array([2., 0., 6.], dtype=float32)
        >>> v = tf.Variable([1.0, 2.0])
        >>> with tf.autodiff.ForwardAccumulator(v, tf.constant([1.0, 0.0])) as acc:
        ...     with tf.GradientTape() as tape:
        ...         y = tf.reduce_sum(v**3.0)
        ...     gradient = tape.gradient(y, v)
        >>> acc.jvp(gradient).numpy()  # the Hessian times [1, 0]
        array([6., 0.], dtype=float32)
    """

    def __init__(self, primals: Any, tangents: Any) -> None:
        self._start()
        seen: set[int] = set()
        for primal in nest.flatten(primals):
            if id(primal) in seen:
                raise ValueError(
                    f"Tensor {primal!r} was specified as a primal multiple times. This may "
                    "indicate an error. If it was intended, please sum the corresponding tangents."
                )
            seen.add(id(primal))
        self._watch(primals, tangents)

    def _start(self) -> None:
        # By the ``id`` of a tensor or variable: what keeps the id its own, and the tangent.
        self._tangents: dict[int, tuple[Any, Tensor]] = {}
        self._forget = _forgetting(self._tangents)
        # By the ``id`` of an ``If`` or ``Loop``, what was added to it.
        self.widened: dict[int, Any] = {}
        self._active = False

    @classmethod
    def over(cls, pairs: Iterable[tuple[Any, Tensor]]) -> ForwardAccumulator:
        """Make an accumulator of given tangents, which the caller has checked."""
        self = cls.__new__(cls)
        self._start()
        for x, tangent in pairs:
            self.set_tangent(x, tangent)
        return self

    def __enter__(self) -> Self:
        self._push_accumulator()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._active:
            self._pop_accumulator()

    def _push_accumulator(self) -> None:
        if self._active:
            raise ValueError("Accumulator is already recording.")
        self._active = True
        set_context(tapes=(*current().tapes, self))

    def _pop_accumulator(self) -> None:
        if not self._active:
            raise ValueError("Accumulator is not recording.")
        self._active = False
        set_context(tapes=tuple(t for t in current().tapes if t is not self))

    def _watch(self, primals: Any, tangents: Any) -> None:
        nest.map_structure(self._watch_one, primals, tangents)

    def _watch_one(self, primal: Any, tangent: Any) -> None:
        primal = variable_of(primal)
        if not isinstance(primal, Tensor | Variable):
            raise TypeError(
                f"Cannot watch {primal!r} of type {type(primal).__name__!r}: a primal must be a "
                "Tensor or Variable; convert values with tf.convert_to_tensor first."
            )
        if not primal.dtype.has_gradients:
            _log.warning(
                "The dtype of the watched primal must be floating (e.g. tf.float32), got %r",
                primal.dtype,
            )
        tangent = convert_to_tensor(tangent, primal.dtype)
        if not primal.dtype.has_gradients:
            return
        if not tangent.shape.is_compatible_with(primal.shape):
            tangent = _broadcast(tangent, primal)
        known = self.tangent_of(primal)
        self.set_tangent(primal, tangent if known is None else ox.Add(known, tangent))

    # Called by the framework

    def tangent_of(self, x: Any) -> Tensor | None:
        """The tangent of a tensor or variable, None if there is none."""
        known = self._tangents.get(id(x))
        return None if known is None else known[1]

    def set_tangent(self, x: Any, tangent: Tensor) -> None:
        """Give a tensor or variable a tangent."""
        # A tensor of a graph stays with it; its maker asks for its tangents later.
        holder = x
        if not isinstance(x, SymbolicTensor):
            holder = _Watched(x, self._forget)
            holder.key = id(x)
        self._tangents[id(x)] = (holder, tangent)

    def depends(self, x: Any) -> bool:
        """True if an operation on a tensor or variable would get tangents."""
        return self._active and id(x) in self._tangents

    def tensors(self) -> list[Any]:
        """The tensors of graphs that have a tangent."""
        return [x for x, _ in self._tangents.values() if isinstance(x, SymbolicTensor)]

    def watch_variable(self, variable: Variable) -> None:
        """Variables have a tangent only if they are among the primals."""

    def around(self) -> tuple[Recorder, ...]:
        """The recorders that see what this one computes: those entered before it."""
        tapes = current().tapes
        for i, tape in enumerate(tapes):
            if tape is self:
                return tapes[:i]
        return tapes

    def record(
        self, op: str, attrs: dict[str, Any], inputs: Sequence[Any], outputs: Sequence[Tensor]
    ) -> None:
        """An operation happened: compute the tangents of its results."""
        known = self._tangents
        for x in inputs:
            if id(x) in known:
                break
        else:
            return
        if not self._active:  # another task still has it in its context
            return
        tangents = [self.tangent_of(x) for x in inputs]
        with using(tapes=self.around()):
            found = push(OpRecord(op, attrs, inputs, outputs), tangents)
        for y, tangent in zip(outputs, found, strict=True):
            if tangent is not None:
                self.set_tangent(y, tangent)

    def extend_control(
        self,
        around: tuple[Recorder, ...],
        op: str,
        attrs: dict[str, Any],
        inputs: Sequence[Any],
        outputs: Sequence[Tensor],
    ) -> tuple[dict[str, Any], Sequence[Any], Sequence[Tensor]]:
        """A branch or loop was added, or got more results: let it compute tangents too.

        Returns:
            Attributes, inputs and results for the recorders around this one.
        """
        if not self._active or not any(id(x) in self._tangents for x in inputs):
            return attrs, inputs, outputs
        rule = forward_rule_of(op)
        assert rule is not None
        record = OpRecord(op, {**attrs, EXTENDED_CONTROL: self.widened}, inputs, outputs)
        with using(tapes=around):
            found: Any = rule(record, *(self.tangent_of(x) for x in inputs))
        assert isinstance(found, ExtendedControl)
        for y, tangent in zip(outputs, found.tangents, strict=True):
            if tangent is not None:
                self.set_tangent(y, tangent)
        return found.attrs, found.inputs, found.outputs

    # Public

    def jvp(
        self,
        primals: Any,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
    ) -> Any:
        """The tangents of what was computed; nothing is computed here.

        Args:
            primals: A tensor or variable, or a structure of them.
            unconnected_gradients: What to return for one that depends on no primal, or was
                computed while the accumulator was not active: None, or zeros.

        Returns:
            The structure of ``primals`` with a tensor (or None) for each.

        Raises:
            ValueError: ``unconnected_gradients`` is unknown.
            TypeError: something that is neither a tensor nor a variable.
        """
        try:
            unconnected = UnconnectedGradients(unconnected_gradients)
        except ValueError:
            raise ValueError(
                f"{unconnected_gradients!r} is not a valid UnconnectedGradients; expected "
                "UnconnectedGradients.NONE or UnconnectedGradients.ZERO."
            ) from None
        return nest.map_structure(lambda x: self._fetch(x, unconnected), primals)

    def _fetch(self, x: Any, unconnected: UnconnectedGradients) -> Any:
        if isinstance(x, IndexedSlices):
            values = self._fetch(x.values, unconnected)
            return None if values is None else IndexedSlices(values, x.indices, x.dense_shape)
        x = variable_of(x)
        if not isinstance(x, Tensor | Variable):
            raise TypeError(
                f"jvp takes tensors and variables; got {x!r} of type {type(x).__name__!r}, which "
                "no accumulator can know."
            )
        tangent = self.tangent_of(x)
        if tangent is None and unconnected is UnconnectedGradients.ZERO:
            return creation.zeros_like(x)
        return tangent


def _forgetting(tangents: dict[int, tuple[Any, Tensor]]) -> Callable[[Any], None]:
    """Return a callback that removes a freed tensor's tangent, without a reference to the owner."""

    def forget(ref: Any) -> None:
        tangents.pop(ref.key, None)

    return forget


def _broadcast(tangent: Tensor, primal: Any) -> Tensor:
    """A tangent of fewer elements than its primal, such as a scalar."""
    have, want = tangent.shape, primal.shape
    if have.rank is not None and want.is_fully_defined() and have.rank <= want.rank:
        tail = want.as_list()[want.rank - have.rank :]
        if all(a in (1, b) for a, b in zip(have.as_list(), tail, strict=True)):
            return broadcast_to(tangent, want.as_list())
    raise InvalidArgumentError(
        f"The tangent of {primal!r} has shape {have}; expected the primal's shape {want}."
    )


accumulate_with(ForwardAccumulator.over)
