"""``TensorArray``: an array of tensors that loops read and write.

Where element numbers are known (eagerly, and in a trace outside of loops) it is a Python list. What
``unstack`` made is one tensor until something is written. Inside of a loop of a graph it is an ONNX
sequence, and when the loop is finished it turns out what it really is: written once in each
iteration, at the iteration's own number, its elements become a scan output of the ``Loop``.
"""

from __future__ import annotations

from typing import Any

from tfx.control_flow import packed_sequences, sequences
from tfx.control_flow.cond import Branching
from tfx.control_flow.tensor_array_spec import TensorArraySpec as TensorArraySpec
from tfx.control_flow.tensor_array_spec import spec_of
from tfx.control_flow.tensor_array_state import ArrayState, first_length, shape_of
from tfx.control_flow.while_loop import while_loop
from tfx.core import dtypes
from tfx.core.dtypes import DTypeLike
from tfx.core.errors import InvalidArgumentError
from tfx.core.shapes import TensorShape
from tfx.framework.builder import ox
from tfx.framework.context import current
from tfx.framework.convert import convert_to_tensor, int64_constant
from tfx.framework.tensor import Tensor
from tfx.ops.array.concat import concat, stack, unstack
from tfx.ops.array.concat import split as split_tensor
from tfx.ops.array.gather import rows_at
from tfx.ops.common.arguments import as_int64, cast_to, static_int, static_ints


class TensorArray(ArrayState):
    """An array of tensors of one dtype, each written at its index.

    In a function being traced every method that changes the array returns the changed one and
    leaves this one as it is. Eagerly the array itself changes and is returned.

    Args:
        dtype: The elements' dtype.
        size: How many elements there are. Elements never written are zeros.
        dynamic_size: Whether writing behind the end makes the array longer.
        clear_after_read: Eagerly, whether an element can be read only once; None means True. In
            graphs elements stay.
        tensor_array_name: Accepted for compatibility.
        handle: Not supported: pass None.
        flow: Another array's ``flow`` to start from; ``size`` is not needed then.
        infer_shape: Require elements of one shape.
        element_shape: What is known of the elements' shape.
        colocate_with_first_write_call: Accepted for compatibility.
        name: Accepted for compatibility.

    Raises:
        ValueError: no ``size``, or a ``handle``.

    Example:
        >>> import tfx as tf
        >>> ta = tf.TensorArray(tf.float32, size=2)
        >>> ta = ta.write(0, 1.0).write(1, 2.0)
        >>> ta.stack().numpy()
        array([1., 2.], dtype=float32)
    """

    def __init__(
        self,
        dtype: DTypeLike,
        size: Any = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: Any = None,
        flow: Any = None,
        infer_shape: bool = True,
        element_shape: Any = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        if handle is not None:
            raise ValueError(
                f"TensorArray handles are not supported; got handle={handle!r}, expected None."
            )
        super().__init__(
            dtypes.as_dtype(dtype),
            bool(dynamic_size),
            clear_after_read is None or bool(clear_after_read),
            infer_shape,
            TensorShape(element_shape),
        )
        if flow is not None:
            self._copy_elements(_flow_array(flow))
        elif size is None:
            raise ValueError("Size must be declared for TensorArrays; got size=None.")
        else:
            self._start(convert_to_tensor(size))

    # Facts

    def _tfx_spec(self) -> TensorArraySpec:
        return spec_of(self)

    @property
    def flow(self) -> Flow:
        """A stand-in for the array's present elements."""
        return Flow(self)

    @property
    def handle(self) -> None:
        """Arrays have no handles."""
        return None

    # One element

    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        """Set the element at ``index``.

        Args:
            index: An integer scalar.
            value: The element.
            name: Accepted for compatibility.

        Returns:
            The array with the element.

        Raises:
            OutOfRangeError: ``index`` is not in the array, and the array does not grow.
            InvalidArgumentError: ``value`` has another dtype.
            ValueError: ``value`` has a shape that does not fit the elements'.
        """
        element = self._element(value)
        shape = self._fitting(element.shape)
        place = _index(index)
        known = static_int(place)
        if known is not None:
            self._check_written(known)
            items = self._as_items(list(element.shape) is not None)
            if items is not None:
                return self._with_item(items, known, element, shape)
        sequence = self.as_sequence(shape)
        stored = sequences.to_stored(element)
        written = sequences.write(sequence, place, stored, grows=self._dynamic_size)
        result = self.with_sequence(written)
        result._shape = shape
        if not self._dynamic_size:
            result._count = self._count if self._count is not None else self.size()
        return result

    def read(self, index: Any, name: str | None = None) -> Tensor:
        """The element at ``index``.

        Raises:
            OutOfRangeError: there is no such element.
            InvalidArgumentError: eagerly, it was read already (see ``clear_after_read``); or it
                was never written and its shape is not known.
        """
        place = _index(index)
        known = static_int(place)
        if known is not None:
            self._check_read(known)
        if self._items is not None and known is not None:
            element = self._items[known]
            result = self._absent() if element is None else element
            self._clear(known)
            return self._given_back(result)
        dense = self._as_dense()
        if dense is not None:
            if known is not None:
                self._clear(known)
            result = ox.Gather(dense, place)
        else:
            result = cast_to(sequences.at(self.as_sequence(), place), self._dtype)
        return self._given_back(self._shaped(result))

    # All elements

    def stack(self, name: str | None = None) -> Tensor:
        """All elements, stacked along a new first axis.

        Raises:
            InvalidArgumentError: the elements have different shapes; or none was written and
                their shape is not known.
        """
        return self._given_back(self._stacked())

    def _stacked(self) -> Tensor:
        """The same of what is kept."""
        if self._items is not None:
            elements = self._filled()
            self._clear_all()
            return stack(elements) if elements else self._none()
        if self._dense is not None:
            self._clear_all()
            return self._dense
        if self._blank is not None:
            return self._blanks()
        assert self._sequence is not None
        join = sequences.stacked
        if not self._shape.is_fully_defined():
            join = packed_sequences.stacked_alike
        return self._shaped(self._nonempty(join), (None,))

    def concat(self, name: str | None = None) -> Tensor:
        """All elements, one after another along their first axis.

        Raises:
            InvalidArgumentError: the elements are scalars.
        """
        if self.element_shape.rank == 0:
            raise InvalidArgumentError(
                "Concat saw a scalar shape at index 0 but requires at least vectors."
            )
        return self._given_back(self._concatenated())

    def _concatenated(self) -> Tensor:
        """The same of what is kept."""
        if self._items is not None:
            elements = self._filled()
            self._clear_all()
            return concat(elements, 0) if elements else self._none(concatenated=True)
        if self._sequence is not None:
            return self._nonempty(sequences.concatenated)
        dense = self._stacked()
        rest = ox.Slice(shape_of(dense), int64_constant([2]), int64_constant([2**62]))
        target = ox.Concat(int64_constant([-1]), rest, axis=0)
        return ox.Reshape(dense, target)

    def gather(self, indices: Any, name: str | None = None) -> Tensor:
        """The elements at ``indices``, stacked."""
        places = convert_to_tensor(indices)
        known = static_ints(places) if places.shape.rank == 1 else None
        if self._items is not None and known is not None:
            for i in known:
                self._check_read(i)
            chosen = self._filled(known)
            for i in known:
                self._clear(i)
            return self._given_back(stack(chosen) if chosen else self._none())
        dense = self._as_dense()
        return self._given_back(rows_at(self._stacked() if dense is None else dense, places))

    def unstack(self, value: Any, name: str | None = None) -> TensorArray:
        """Make the slices of ``value`` along its first axis the elements.

        Raises:
            ValueError: there are more than the array's size, and it does not grow; or the slices'
                shape does not fit.
        """
        tensor = self._element(value)
        if tensor.shape.rank == int(self._whole.is_complex):
            raise ValueError(f"unstack needs a tensor with at least one axis; got {tensor!r}.")
        shape = self._fitting(tensor.shape[1:])
        count, size = tensor.shape[0] if tensor.shape.rank else None, self._known_size()
        if count is not None and size is not None and count > size and not self._dynamic_size:
            raise ValueError(
                f"Cannot unstack {count} tensors into a TensorArray of static size {size} "
                f"(list shape: {tensor.shape}); give it that size or dynamic_size=True."
            )
        result = self._changed()
        result._reset(shape)
        result._dense = tensor
        return result

    def scatter(self, indices: Any, value: Any, name: str | None = None) -> TensorArray:
        """Write the slices of ``value`` along its first axis at ``indices``."""
        tensor = self._given_back(self._element(value))
        places = convert_to_tensor(indices)
        known = static_ints(places)
        result: TensorArray = self
        if known is not None:
            for i, part in zip(known, unstack(tensor, num=len(known)), strict=True):
                result = result.write(i, part)
            return result
        return _scatter_in_loop(self, places, tensor)

    def split(self, value: Any, lengths: Any, name: str | None = None) -> TensorArray:
        """Cut ``value`` along its first axis into elements of the given lengths.

        Raises:
            InvalidArgumentError: the lengths do not add up, or the array has another size and does
                not grow.
        """
        tensor, parts = self._element(value), as_int64(lengths)
        known = static_ints(parts)
        result = self._changed()
        if known is None:
            stored = sequences.to_stored(tensor)
            sequence = ox.SplitToSequence(stored, parts, axis=0, keepdims=1)
            result._reset(self._shape)
            result._sequence = sequence
            return result
        size, rows = self._known_size(), tensor.shape[0]
        if size is not None and size != len(known) and not self._dynamic_size:
            raise InvalidArgumentError(
                f"TensorArray's size is not equal to the size of lengths ({size} vs. "
                f"{len(known)}), and the TensorArray is not marked as dynamically resizeable."
            )
        if rows is not None and rows != sum(known):
            raise InvalidArgumentError(
                "Expected sum of lengths to be equal to values.shape[0], but sum of lengths is "
                f"{sum(known)} and value's shape is: {tensor.shape} "
            )
        items = split_tensor(tensor, known) if known else []
        result._reset(self._shape)
        result._items = list(items)
        return result

    # The array itself

    def identity(self) -> TensorArray:
        """The same array."""
        return self._copy() if current().graph is not None else self

    def close(self, name: str | None = None) -> None:
        """Forget the elements (eagerly)."""
        if current().graph is None and self._items is not None:
            del self._items[:]

    def grad(self, source: str, flow: Any = None, name: str | None = None) -> Any:
        """Refused: tapes differentiate what was done with an array."""
        raise NotImplementedError(
            "TensorArray.grad is not supported: gradients of operations that use TensorArrays are "
            "computed by tf.GradientTape and tf.gradients without it."
        )

    def __repr__(self) -> str:
        size = self._known_size()
        return (
            f"<tf.TensorArray dtype={self._whole.name} size={'unknown' if size is None else size} "
            f"element_shape={self.element_shape}>"
        )

    def _nonempty(self, join: Any) -> Tensor:
        """``join(sequence)``, which ONNX Runtime refuses for an empty one."""
        sequence = self._sequence
        assert sequence is not None
        size = self._known_size()
        if size:
            return cast_to(join(sequence), self._dtype)
        graph = current().graph
        assert graph is not None
        some = ox.Greater(sequences.length(sequence), int64_constant(0))
        concatenated = join is sequences.concatenated
        either = Branching(graph, some, "joined", ("elements", "none"))
        result: Tensor = either.add(
            lambda: cast_to(join(sequence), self._dtype),
            lambda: self._none(concatenated=concatenated),
        )
        return result


class Flow:
    """The result of ``TensorArray.flow``: the elements at one point of the program."""

    def __init__(self, array: TensorArray) -> None:
        self._array = array

    def array(self) -> TensorArray:
        """The array."""
        return self._array


def _flow_array(flow: Any) -> TensorArray:
    if not isinstance(flow, Flow):
        raise TypeError(f"flow must be another TensorArray's flow; got {flow!r}.")
    return flow.array()


def _scatter_in_loop(array: TensorArray, places: Tensor, values: Tensor) -> TensorArray:
    """Write at indices whose number is known only at run time."""
    count = first_length(places)

    def body(i: Tensor, result: TensorArray) -> tuple[Tensor, TensorArray]:
        index = ox.Gather(places, i)
        element = ox.Gather(values, i)
        return ox.Add(i, int64_constant(1)), result.write(index, element)

    start = int64_constant(0)
    _, written = while_loop(lambda i, _: ox.Less(i, count), body, (start, array))
    result: TensorArray = written
    return result


def _index(index: Any) -> Tensor:
    tensor = convert_to_tensor(index)
    if not tensor.dtype.is_integer:
        raise TypeError(
            f"An index of a TensorArray must be an integer; got {index!r} of dtype "
            f"{tensor.dtype.name}."
        )
    return as_int64(tensor)


TensorArraySpec._tfx_arrays = TensorArray
