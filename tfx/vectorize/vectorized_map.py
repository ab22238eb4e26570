"""``vectorized_map``: a function of one element applied to all at once.

The function is traced on placeholders of one element and converted (see ``convert``). Eagerly the
operations happen at once, so tapes see them one by one; a graph with branches, loops or Python
inside becomes a session instead, as a traced function would.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfx.control_flow import element_structures
from tfx.control_flow.tensor_array import TensorArray
from tfx.core.errors import InvalidArgumentError
from tfx.framework.builder import ox
from tfx.framework.context import using
from tfx.framework.convert import convert_to_tensor, int64_constant
from tfx.framework.tensor import Tensor
from tfx.graph.ir import Value
from tfx.ops.common.batching import concat_shapes
from tfx.vectorize.element_graph import ElementGraph
from tfx.vectorize.loop_fallback import Fallback
from tfx.vectorize.run_batched import Elements


def vectorized_map(
    fn: Callable[[Any], Any],
    elems: Any,
    fallback_to_while_loop: bool = True,
    warn: bool = True,
) -> Any:
    """Apply ``fn`` to all slices of ``elems`` along the first axis at once, and stack the results.

    What ``map_fn`` computes one after another is computed by operations on the whole batch:
    usually much faster, with more memory. Elements must not depend on each other. Tensors and
    variables from outside are the same for all elements; random numbers differ.

    Args:
        fn: Takes a slice (of a structure: a structure of slices) and returns a structure of
            tensors, whose shapes must not depend on what the slice contains.
        elems: A tensor, or a structure of tensors, with the elements along the first axis. All have
            equally many, or one, which is used for all.
        fallback_to_while_loop: Run an operator that has no batching rule in a loop over the
            elements, everything else at once; False: refuse it.
        warn: Warn of such loops.

    Returns:
        What ``fn`` returns, with the results of all slices stacked. A result that does not depend
        on the slice is repeated.

    Raises:
        ValueError: no tensors in ``elems``, scalars among them, an operator without a rule
            (``fallback_to_while_loop=False``), or a variable that is assigned a value that differs
            between elements.
        InvalidArgumentError: different numbers of elements.

    Example:
        >>> import tfx as tf
        >>> w = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        >>> tf.vectorized_map(lambda x: tf.linalg.matvec(w, x), tf.eye(2)).numpy()
        array([[1., 3.],
               [2., 4.]], dtype=float32)
    """
    if not callable(fn):
        raise TypeError(f"fn must be callable; got {fn!r}.")
    tensors = _tensors(elems)
    size, static_size = _size(tensors)
    element = ElementGraph(getattr(fn, "__name__", "vectorized_map"))
    rows: list[tuple[Value, Tensor, bool]] = []
    with using(graph=element, tapes=(), scope=""):
        given = []
        for i, x in enumerate(tensors):
            raw = x.shape.symbolic
            placeholder = element.placeholder(
                f"x{i}", x.dtype.onnx, None if raw is None else raw[1:]
            )
            given.append(placeholder)
        returned = fn(element_structures.pack(element_structures.of_slices(elems), given))
        leaves = [_leaf(x, fn) for x in element_structures.flatten(returned)]
        results = [x for x in leaves if x is not None]
        element.graph.outputs = [element.value_of(x) for x in results]
    for placeholder, x in zip(given, tensors, strict=True):
        rows.append((placeholder._symbol, *_row(x, size, static_size)))
    elements = Elements(element, size, static_size, Fallback(fallback_to_while_loop, warn))
    found = iter(elements.run(rows))
    flat = [None if x is None else next(found) for x in leaves]
    return element_structures.pack(element_structures.of_rows(returned, static_size), flat)


def _tensors(elems: Any) -> list[Tensor]:
    flat = element_structures.flatten(elems)
    if not flat:
        raise ValueError(
            f"elems must be a Tensor or a structure of Tensors; got {elems!r}, which contains none."
        )
    tensors = [convert_to_tensor(x) for x in flat]
    for x in tensors:
        if x.shape.rank == 0:
            raise ValueError(
                "elems must have the elements along their first axis, and so at least one axis; "
                f"got the scalar {x!r}."
            )
    return tensors


def _size(tensors: Sequence[Tensor]) -> tuple[Tensor, int | None]:
    """The number of elements as an int64 scalar, and as a number where it is known.

    Raises:
        InvalidArgumentError: different numbers.
    """
    leads = [x.shape[0] if x.shape.rank else None for x in tensors]
    known = {n for n in leads if n is not None}
    several = known - {1}
    if len(several) > 1:
        raise InvalidArgumentError(
            "All of elems must have equally many elements along their first axis (or one, which is "
            f"used for all); got the shapes {[str(x.shape) for x in tensors]}."
        )
    if several or None not in leads:
        number = several.pop() if several else 1
        return int64_constant(number), number
    counts = [
        ox.Gather(ox.Shape(x), int64_constant(0), axis=0)
        for x, n in zip(tensors, leads, strict=True)
        if n is None
    ]
    if len(counts) == 1 and 1 not in known:
        return counts[0], None
    return ox.Max(*([*counts, int64_constant(1)] if 1 in known else counts)), None


def _row(x: Tensor, size: Tensor, static_size: int | None) -> tuple[Tensor, bool]:
    """Return one of ``elems`` and whether it is batched: a single element serves all."""
    lead = x.shape[0] if x.shape.rank else None
    if lead == 1 and static_size != 1:
        return ox.Squeeze(x, int64_constant([0])), False
    if lead is None:
        rank = x.shape.rank
        if rank is None:
            raise InvalidArgumentError(
                f"The rank of {x!r} must be known for a vectorized function; state it with "
                "tfx.ensure_shape."
            )
        lead_of = ox.Unsqueeze(size, int64_constant([0]))
        ones = int64_constant([1] * (rank - 1))
        x = ox.Expand(x, concat_shapes(lead_of, ones))
    return x, True


def _leaf(x: Any, fn: Callable[..., Any]) -> Tensor | None:
    if x is None:
        return None
    if isinstance(x, TensorArray):
        raise TypeError(
            f"{fn!r} returned a TensorArray, whose elements cannot be stacked; return what its "
            "stack() returns."
        )
    return convert_to_tensor(x)
