"""``hessians``: second derivatives by walking the graph being traced, without a tape."""

from __future__ import annotations

from typing import Any

from tfx.autodiff.differentiated import flat_sources_of
from tfx.autodiff.tape import GradientTape
from tfx.framework.context import current
from tfx.framework.rules import OpRecord
from tfx.framework.tensor import Tensor
from tfx.framework.variable import Variable
from tfx.function.gradients.symbolic_gradients import GraphRecords, gradients
from tfx.ops.array.indexed_slices import dense


def hessians(
    ys: Any,
    xs: Any,
    gate_gradients: bool = False,
    aggregation_method: Any = None,
    name: str = "hessians",
) -> list[Tensor]:
    """Second derivatives of the sum of ``ys`` with respect to each of ``xs``, inside a function.

    One backward pass for all elements of an ``x``; see ``GradientTape.jacobian``.

    Args:
        ys: Tensor or list of tensors of the function being traced.
        xs: Tensor, variable or list of them.
        gate_gradients: Accepted for compatibility.
        aggregation_method: Accepted for compatibility.
        name: Accepted for compatibility.

    Returns:
        A list with a tensor of the shape of ``x`` twice for each ``x`` of ``xs``. Where the
        gradient does not depend on ``x`` that is zeros, an error in TensorFlow 2.21.

    Raises:
        RuntimeError: no function is being traced.
        ValueError: ``ys`` do not depend on an ``x``.
        TypeError: one of ``xs`` is neither a tensor nor a variable.

    Example:
        >>> import tfx as tf
        >>> @tf.function
        ... def curvature(x):
        ...     return tf.hessians(tf.reduce_sum(x**3.0), x)[0]
        >>> curvature(tf.constant([1.0, 2.0])).numpy()
        array([[ 6.,  0.],
               [ 0., 12.]], dtype=float32)
    """
    slopes = gradients(ys, xs)
    results = []
    for number, (x, slope) in enumerate(zip(flat_sources_of(xs), slopes, strict=True)):
        if slope is None:
            raise ValueError(
                f"None values not supported: the Hessian with respect to xs[{number}], {x!r}, "
                "does not exist, since ys do not depend on it. Leave it out of xs."
            )
        whole = dense(slope)  # made before the graph is walked
        results.append(_Walk(x).hessian(whole))
    return results


class _Walk(GradientTape):
    """A tape that takes its records from the nodes of the graph being traced.

    Args:
        x: What to differentiate by.
    """

    def __init__(self, x: Any) -> None:
        super().__init__(persistent=True)
        graph = current().graph
        assert graph is not None
        self._nodes = GraphRecords(graph, ())
        self._source = x if isinstance(x, Variable) else self._nodes.tensor_of(x)

    def hessian(self, slope: Tensor) -> Tensor:
        """The Jacobian of a gradient."""
        self._watched = {id(self._source)}
        target = self._nodes.tensor_of(slope)
        result: Tensor = self.jacobian(target, self._source, unconnected_gradients="zero")
        return result

    def _take_records(self) -> list[OpRecord]:
        return list(self._nodes)
