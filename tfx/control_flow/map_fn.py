"""``map_fn``, ``scan``, ``foldl``, ``foldr``: a function for each slice along the first axis.

All four are a loop with a known number of iterations. What they read is sliced by the iteration's
number and what they collect is written at it, so in a graph both become plain slices and scan
outputs of one ``Loop``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfx.control_flow import element_structures as elements
from tfx.control_flow.structured_results import place_of
from tfx.control_flow.tensor_array import TensorArray
from tfx.control_flow.while_loop import WhileLoop
from tfx.core import dtypes
from tfx.core.dtypes import DType
from tfx.core.errors import OutOfRangeError
from tfx.core.shapes import TensorShape
from tfx.core.specs import TensorSpec
from tfx.framework.builder import ox
from tfx.framework.context import current
from tfx.framework.convert import convert_to_tensor, int64_constant
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.graph.formulas.shapes import reversed_along
from tfx.ops.common.arguments import static_int
from tfx.ops.math.cast import stop_gradient

Function = Callable[..., Any]


def map_fn(
    fn: Function,
    elems: Any,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
    fn_output_signature: Any = None,
) -> Any:
    """Apply ``fn`` to each slice of ``elems`` along the first axis and stack the results.

    Args:
        fn: Takes a slice (of a structure: a structure of slices).
        elems: A tensor with at least one axis, or a structure of such of one length.
        dtype: Older name of ``fn_output_signature``.
        parallel_iterations: Accepted for compatibility.
        back_prop: False: no gradient flows through.
        swap_memory: Accepted for compatibility.
        infer_shape: Require results of one shape.
        name: Prefix of the node's name.
        fn_output_signature: A structure of dtypes or specs of what ``fn`` returns; None: the
            structure and dtypes of ``elems``.

    Returns:
        What ``fn`` returns, with the results of all slices stacked.

    Raises:
        TypeError: ``fn`` is not callable.
        ValueError: no elements, scalars, different lengths, or a result of another structure.
        InvalidArgumentError: a result of another dtype.

    Example:
        >>> import tfx as tf
        >>> tf.map_fn(lambda x: x * x, tf.constant([1, 2, 3])).numpy()
        array([1, 4, 9], dtype=int32)
    """
    _require_callable(fn)
    if dtype is not None and fn_output_signature is None:
        fn_output_signature = dtype
    slices = _Slices(elems)
    if fn_output_signature is None:
        structure: Any = slices.structure
        specs = [_Result(t.dtype, None) for t in slices.tensors]
    else:
        structure = fn_output_signature
        specs = [_result(s) for s in elements.flatten(fn_output_signature)]
    arrays = [s.array(slices.count, infer_shape) for s in specs]

    def body(i: Tensor, arrays: list[TensorArray]) -> tuple[Tensor, list[TensorArray]]:
        returned = fn(slices.at(i))
        _check_result(structure, returned, fn)
        flat = elements.flatten(returned)
        return _next(i), [a.write(i, x) for a, x in zip(arrays, flat, strict=True)]

    _, arrays = _loop(body, (int64_constant(0), arrays), slices.count, name or "map")
    flat = [a.stack() for a in arrays]
    _state_lengths(flat, slices)
    return _finish(elements.pack(elements.of_rows(structure, slices.length), flat), back_prop)


def scan(
    fn: Function,
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """Combine the slices of ``elems`` one after another and return all intermediate results.

    Args:
        fn: Takes the result so far and a slice, returns the next result.
        elems: A tensor with at least one axis, or a structure of such of one length.
        initializer: The result before the first slice; None: the first slice.
        parallel_iterations: Accepted for compatibility.
        back_prop: False: no gradient flows through.
        swap_memory: Accepted for compatibility.
        infer_shape: Require results of one shape.
        reverse: Begin with the last slice.
        name: Prefix of the node's name.

    Returns:
        The results stacked, the one of each slice in its place.

    Raises:
        TypeError: ``fn`` is not callable.
        ValueError: no elements, scalars, different lengths, or a result of another structure.
        OutOfRangeError: no slice and no ``initializer``.

    Example:
        >>> import tfx as tf
        >>> tf.scan(lambda total, x: total + x, tf.constant([1, 2, 3])).numpy()
        array([1, 3, 6], dtype=int32)
    """
    _require_callable(fn)
    slices = _Slices(elems, backwards=reverse)
    structure, accumulated, first = _begin(slices, initializer)
    arrays = [_Result(x.dtype, None).array(slices.count, infer_shape) for x in accumulated]

    def body(
        i: Tensor, so_far: list[Tensor], arrays: list[TensorArray]
    ) -> tuple[Tensor, list[Tensor], list[TensorArray]]:
        returned = fn(_packed(structure, so_far), slices.at(i))
        _check_result(structure, returned, fn)
        flat = [convert_to_tensor(x) for x in elements.flatten(returned)]
        return _next(i), flat, [a.write(i, x) for a, x in zip(arrays, flat, strict=True)]

    state = (int64_constant(0), accumulated, arrays)
    _, _, arrays = _loop(body, state, slices.count, name or "scan")
    flat = [a.stack() for a in arrays]
    if first:
        row = int64_constant([0])
        heads = [ox.Unsqueeze(x, row) for x in accumulated]
        # No step has told the array of other results what shape they have.
        alone = slices.length == 0
        flat = (
            heads if alone else [ox.Concat(h, x, axis=0) for h, x in zip(heads, flat, strict=True)]
        )
    if reverse:
        flat = [reversed_along(ox, x) for x in flat]
    _state_lengths(flat, slices, first)
    length = None if slices.length is None else slices.length + first
    return _finish(_packed(elements.of_rows(structure, length), flat), back_prop)


def foldl(
    fn: Function,
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """Combine the slices of ``elems`` one after another, beginning with the first.

    Args:
        fn: Takes the result so far and a slice, returns the next result.
        elems: A tensor with at least one axis, or a structure of such of one length.
        initializer: The result before the first slice; None: the first slice.
        parallel_iterations: Accepted for compatibility.
        back_prop: False: no gradient flows through.
        swap_memory: Accepted for compatibility.
        name: Prefix of the node's name.

    Returns:
        The last result.

    Raises:
        TypeError: ``fn`` is not callable.
        ValueError: no elements, scalars, different lengths, or a result of another structure.
        OutOfRangeError: no slice and no ``initializer``.

    Example:
        >>> import tfx as tf
        >>> tf.foldl(lambda total, x: total - x, tf.constant([1, 2, 3])).numpy()
        np.int32(-4)
    """
    return _fold(fn, elems, initializer, back_prop, name or "foldl", backwards=False)


def foldr(
    fn: Function,
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """Combine the slices of ``elems`` one after another, beginning with the last.

    Args:
        fn: Takes the result so far and a slice, returns the next result.
        elems: A tensor with at least one axis, or a structure of such of one length.
        initializer: The result before the last slice; None: the last slice.
        parallel_iterations: Accepted for compatibility.
        back_prop: False: no gradient flows through.
        swap_memory: Accepted for compatibility.
        name: Prefix of the node's name.

    Returns:
        The last result.

    Raises:
        TypeError: ``fn`` is not callable.
        ValueError: no elements, scalars, different lengths, or a result of another structure.
        OutOfRangeError: no slice and no ``initializer``.

    Example:
        >>> import tfx as tf
        >>> tf.foldr(lambda total, x: total - x, tf.constant([1, 2, 3])).numpy()
        np.int32(0)
    """
    return _fold(fn, elems, initializer, back_prop, name or "foldr", backwards=True)


def _fold(
    fn: Function, elems: Any, initializer: Any, back_prop: bool, name: str, *, backwards: bool
) -> Any:
    _require_callable(fn)
    slices = _Slices(elems, backwards=backwards)
    structure, accumulated, _ = _begin(slices, initializer)

    def body(i: Tensor, so_far: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        returned = fn(_packed(structure, so_far), slices.at(i))
        _check_result(structure, returned, fn)
        return _next(i), [convert_to_tensor(x) for x in elements.flatten(returned)]

    _, last = _loop(body, (int64_constant(0), accumulated), slices.count, name)
    return _finish(_packed(structure, last), back_prop)


class _Slices:
    """The slices of a structure of tensors along their first axes.

    Args:
        elems: A tensor or a structure of tensors.
        backwards: Number them from the last to the first.

    Attributes:
        count: How many there are, an int64 scalar.
        structure: What has the structure of a slice.
    """

    def __init__(self, elems: Any, *, backwards: bool = False) -> None:
        flat = elements.flatten(elems)
        if not flat:
            raise ValueError(
                "elems must be a Tensor or (possibly nested) sequence of Tensors. Got "
                f"{elems!r}, which does not contain any Tensors."
            )
        self.tensors = [convert_to_tensor(x) for x in flat]
        for x in self.tensors:
            if x.shape.rank == 0:
                raise ValueError(
                    f"Elements in elems must be 1+ dimensional Tensors, not scalars; got {x!r}."
                )
        self.structure = elements.of_slices(elems)
        self._backwards = backwards
        self.length: int | None = None
        for x in self.tensors:
            length = x.shape[0] if x.shape.rank else None
            if length is not None and self.length is not None and length != self.length:
                raise ValueError(
                    f"Dimensions {self.length} and {length} are not compatible: all elems must "
                    "have the same length along their first axis."
                )
            self.length = self.length if length is None else length
        if self.length is not None:
            self.count: Tensor = int64_constant(self.length)
        else:
            shape = ox.Shape(self.tensors[0])
            self.count = ox.Gather(shape, int64_constant(0))
        if backwards:
            self.tensors = [reversed_along(ox, x) for x in self.tensors]

    def at(self, i: Tensor) -> Any:
        """The slices number ``i``."""
        flat = [ox.Gather(x, i) for x in self.tensors]
        return elements.pack(self.structure, flat)

    def drop_first(self) -> None:
        """Leave the first slices out."""
        one, end, axis = int64_constant([1]), int64_constant([2**62]), int64_constant([0])
        self.tensors = [ox.Slice(x, one, end, axis) for x in self.tensors]
        self.count = ox.Sub(self.count, int64_constant(1))
        self.length = None if self.length is None else self.length - 1


class _Result:
    """The dtype and shape of one tensor of a result, as far as they are known."""

    def __init__(self, dtype: DType, shape: TensorShape | None) -> None:
        self.dtype = dtype
        self.shape = shape

    def array(self, count: Tensor, infer_shape: bool) -> TensorArray:
        """An array for one result of each slice."""
        return TensorArray(
            self.dtype,
            size=count,
            infer_shape=infer_shape,
            element_shape=self.shape,
            clear_after_read=False,
        )


def _result(spec: Any) -> _Result:
    if isinstance(spec, TensorSpec):
        return _Result(spec.dtype, spec.shape)
    return _Result(dtypes.as_dtype(spec), None)


def _require_callable(fn: Any) -> None:
    if not callable(fn):
        raise TypeError(f"The provided function is not callable: fn={fn!r}.")


def _loop(body: Function, state: tuple[Any, ...], count: Tensor, name: str) -> Any:
    """Run ``body`` a number of times."""
    graph = current().graph
    if graph is not None:
        return WhileLoop(graph, body, body, state, None, name).add(exact=count)
    for number in range(static_int(count) or 0):
        state = body(int64_constant(number), *state[1:])
    return state


def _begin(slices: _Slices, initializer: Any) -> tuple[Any, list[Tensor], int]:
    """The structure of the results, the first result, and how many slices that took."""
    if initializer is not None:
        flat = [convert_to_tensor(x) for x in elements.flatten(initializer)]
        return initializer, flat, 0
    if slices.length == 0:
        raise OutOfRangeError(
            "Tried to read from index 0 but array size is: 0; without an initializer the first "
            "slice of elems is needed."
        )
    first = elements.flatten(slices.at(int64_constant(0)))
    slices.drop_first()
    return slices.structure, first, 1


def _check_result(structure: Any, returned: Any, fn: Function) -> None:
    try:
        elements.assert_same_structure(structure, returned)
    except (TypeError, ValueError) as e:
        raise type(e)(
            f"fn ({place_of(fn)}) returned another structure than expected; state it with "
            f"fn_output_signature (map_fn) or initializer (scan, foldl, foldr): {e}"
        ) from e


def _packed(structure: Any, flat: Sequence[Any]) -> Any:
    return elements.pack(structure, list(flat))


def _next(i: Tensor) -> Tensor:
    return ox.Add(i, int64_constant(1))


def _state_lengths(results: Sequence[Tensor], slices: _Slices, more: int = 0) -> None:
    """Set the static length of results in a graph: one row for each slice."""
    for x in results:
        rank = x.shape.rank
        if isinstance(x, SymbolicTensor) and rank and slices.length is not None:
            x.set_shape([slices.length + more, *x.shape[1:]])


def _finish(results: Any, back_prop: bool) -> Any:
    if back_prop:
        return results
    return elements.map_leaves(lambda x: stop_gradient(x) if x.dtype.has_gradients else x, results)
