"""``TensorList``: what a Python list becomes when a loop of the graph makes it longer.

The elements are in tensor arrays, one for each leaf of an element, and a number says how many
there are: what counts up by one in each iteration makes an array a plain output of the loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NoReturn, Self

from tfx.autograph.operators.staging import as_tensor, is_staged, is_tensor_like, shown, where
from tfx.control_flow.tensor_array import TensorArray
from tfx.core import dtypes, nest
from tfx.core.errors import OperatorNotAllowedInGraphError
from tfx.core.shapes import TensorShape
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.ops.array import shape as shape_ops
from tfx.ops.array.concat import concat
from tfx.ops.array.reshape import reshape
from tfx.ops.array.transpose import transpose
from tfx.ops.common.arguments import cast_to


class TensorList:
    """A list of tensors, or of structures of them, whose length only the running graph knows.

    Attributes:
        changes_in_place: It is a container as Python's are.
        arrays: The leaves of the elements.
        count: How many elements there are, an int32 scalar.
        like: An element's structure.
        shrinks: Whether elements are taken away: then there may be more in the arrays.
    """

    def __init__(
        self, arrays: Sequence[TensorArray], count: Tensor, like: Any = None, shrinks: bool = False
    ) -> None:
        self.arrays = list(arrays)
        self.count = count
        self.like = like
        self.shrinks = shrinks

    changes_in_place = True

    @classmethod
    def of(
        cls, before: Sequence[Any], after: Sequence[Any], like: TensorList | None = None
    ) -> TensorList:
        """A list with the elements that it had before a loop or branch.

        Args:
            before: Its elements then.
            after: Its elements afterwards, which tell their dtype and structure.
            like: A list of the graph that it must agree with.

        Raises:
            TypeError: the elements are something else than tensors of one dtype, or structures.
        """
        elements = [*after, *before]
        if like is not None:
            made = cls([_blank_like(a) for a in like.arrays], _number(0), like.like, like.shrinks)
        else:
            first = elements[0]
            _check_alike(elements)
            columns = zip(*(nest.flatten(e) for e in elements), strict=True)
            arrays = [_array_of(column) for column in columns]
            made = cls(arrays, _number(0), nest.map_structure(lambda _: None, first))
        for element in before:
            made.append(element)
        return made

    @property
    def array(self) -> TensorArray:
        """The elements of a list of plain tensors."""
        (array,) = self.arrays
        return array

    @property
    def dtype(self) -> Any:
        """Dtype of the elements of a list of plain tensors."""
        return self.array.dtype

    # What lists do

    def append(self, element: Any) -> None:
        """Add an element at the end.

        Raises:
            TypeError: it has another structure or dtype than the others.
        """
        leaves = self._leaves(element)
        self.arrays = [
            a.write(self.count, x) for a, x in zip(self._fitting(leaves), leaves, strict=True)
        ]
        self.count = self.count + 1

    def extend(self, elements: Iterable[Any]) -> None:
        """Add elements at the end.

        Raises:
            OperatorNotAllowedInGraphError: they are a tensor of the graph.
        """
        if is_staged(elements) or isinstance(elements, TensorList):
            raise OperatorNotAllowedInGraphError(
                f"extend cannot add the rows of {shown(elements)} to a list that grows in a loop "
                f"of the graph [{where()}]; append them in a `for` statement."
            )
        for element in elements:
            self.append(element)

    def __iadd__(self, elements: Iterable[Any]) -> Self:
        self.extend(elements)
        return self

    def __add__(self, elements: Iterable[Any]) -> Self:
        """A list with more elements at the end."""
        if not isinstance(elements, list):
            return NotImplemented
        longer = type(self)(self.arrays, self.count, self.like, self.shrinks)
        longer.extend(elements)
        return longer

    def __radd__(self, elements: Any) -> NoReturn:
        """Refused."""
        self._refuse("+ with it on the right", "a list of the graph can only grow at its end")

    def pop(self, position: Any = -1) -> Any:
        """Take the last element away, and return it.

        Raises:
            OperatorNotAllowedInGraphError: another element is asked for.
        """
        if position != -1:
            self._refuse(f"pop({position!r})", "only the last element can be taken away")
        self.count = self.count - 1
        self.shrinks = True
        return self._packed([a.read(self.count) for a in self.arrays])

    def insert(self, position: Any, element: Any) -> NoReturn:
        """Refused."""
        self._refuse("insert", "append the elements, and tf.reverse what tf.stack makes of them")

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return nest.map_structure(lambda x: x[index], self.stack())
        number = self._place(index)
        return self._packed([a.read(number) for a in self.arrays])

    def __setitem__(self, index: Any, element: Any) -> None:
        number, leaves = self._place(index), self._leaves(element)
        self.arrays = [
            a.write(number, x) for a, x in zip(self._fitting(leaves), leaves, strict=True)
        ]

    def shrinking(self) -> TensorList:
        """Return the same list, from which elements will be removed."""
        return TensorList(self.arrays, self.count, self.like, True)

    def size(self) -> Tensor:
        """Return the number of elements."""
        return self.count

    def stack(self) -> Any:
        """The elements as one tensor, or as a structure of tensors."""
        stacked = [a.stack() for a in self.arrays]
        if self.shrinks:
            stacked = [x[: self.count] for x in stacked]
        return self._packed(stacked)

    def __len__(self) -> int:
        self._refuse("len", "inside of converted code len gives a tensor, elsewhere use size()")

    def __bool__(self) -> bool:
        self._refuse("bool", "compare its size()")

    def __iter__(self) -> Iterator[Any]:
        self._refuse("Python's iteration", "use a `for` statement, or tf.stack of it")

    def __tf_tensor__(self, dtype: Any = None, name: str | None = None) -> Tensor:
        """The elements as one tensor."""
        stacked: Tensor = self.stack()
        return stacked

    def __tf_stack__(self, axis: int) -> Tensor:
        """Return the result of ``tf.stack`` for this list."""
        stacked = convert_to_tensor(self.stack())
        rank = stacked.shape.rank
        if axis == 0 or rank is None:
            return stacked
        place = axis % rank
        others = list(range(1, rank))
        return transpose(stacked, [*others[:place], 0, *others[place:]])

    def __tf_concat__(self, axis: Any) -> Tensor:
        """Return the result of ``tf.concat`` for this list."""
        array = self.array
        if axis == 0 and not self.shrinks:
            return array.concat()
        rank = array.element_shape.rank
        if not isinstance(axis, int) or rank is None:
            self._refuse(f"tf.concat along axis {axis!r}", "its elements' rank must be known")
        stacked = self.__tf_stack__(axis % rank)
        sizes = shape_ops.shape(stacked)
        place = axis % rank
        return reshape(stacked, concat([sizes[:place], [-1], sizes[place + 2 :]], 0))

    def __repr__(self) -> str:
        return f"<list of the graph: {self.arrays!r}>"

    # Inside

    def _refuse(self, what: str, way: str) -> NoReturn:
        raise OperatorNotAllowedInGraphError(
            f"{what} is not possible for a list that grew in a loop of the graph [{where()}]: its "
            f"length is known when the graph runs; {way}."
        )

    def _place(self, index: Any) -> Tensor:
        number = convert_to_tensor(index)
        if not isinstance(index, Tensor) and index < 0:
            return self.count + cast_to(number, dtypes.int32)
        return number

    def _leaves(self, element: Any) -> list[Tensor]:
        try:
            nest.assert_same_structure(self.like, nest.map_structure(lambda _: None, element))
        except (TypeError, ValueError):
            raise TypeError(
                f"The elements of a list that grows in a loop of the graph must have one "
                f"structure; got {shown(element)} for elements like {self.arrays!r} [{where()}]."
            ) from None
        found = []
        for leaf, array in zip(nest.flatten(element), self.arrays, strict=True):
            tensor = as_tensor(leaf, array)
            if tensor.dtype is not array.dtype:
                raise TypeError(
                    f"A list that grows in a loop of the graph must hold tensors of one dtype; got "
                    f"{shown(leaf)} for elements of {array.dtype.name} [{where()}]. Make them "
                    "agree with tfx.cast."
                )
            found.append(tensor)
        return found

    def _fitting(self, leaves: Sequence[Tensor]) -> list[TensorArray]:
        """The arrays, which know no more of the elements' shape than holds for these, too."""
        return [
            a
            if a.element_shape.is_compatible_with(x.shape)
            else a.with_shape(a.element_shape.most_specific_compatible_shape(x.shape))
            for a, x in zip(self.arrays, leaves, strict=True)
        ]

    def _packed(self, leaves: Sequence[Any]) -> Any:
        return nest.pack_sequence_as(self.like, list(leaves))

    def __tf_flatten__(self) -> tuple[tuple[Any, bool], tuple[Any, ...]]:
        """Return the list as a structure, which can be a loop variable or a branch's result."""
        return (self.like, self.shrinks), (self.count, *self.arrays)

    @classmethod
    def __tf_unflatten__(cls, metadata: Any, components: Sequence[Any]) -> TensorList:
        """See ``__tf_flatten__``."""
        return cls(components[1:], components[0], *metadata)


def plain(value: Any) -> Any:
    """A result of a function: lists of the graph become tensors, all else stays."""
    if isinstance(value, TensorList):
        return value.stack()
    if isinstance(value, list | tuple | dict) and any(
        isinstance(x, TensorList | list | tuple | dict)
        for x in (value.values() if isinstance(value, dict) else value)
    ):
        if isinstance(value, dict):
            made = {k: plain(v) for k, v in value.items()}
            same = all(made[k] is v for k, v in value.items())
        else:
            parts = [plain(v) for v in value]
            same = all(x is y for x, y in zip(parts, value, strict=True))
            named = hasattr(value, "_fields")
            made = type(value)(*parts) if named else type(value)(parts)  # type: ignore[assignment]
        return value if same else made
    return value


def _number(value: int) -> Tensor:
    return convert_to_tensor(value, dtypes.int32)


def _check_alike(elements: Sequence[Any]) -> None:
    leaves = [x for e in elements for x in nest.flatten(e)]
    first, rest = elements[0], elements[1:]
    if any(not is_tensor_like(x) and not isinstance(x, str | bytes) for x in leaves) or any(
        isinstance(x, TensorArray) for x in leaves
    ):
        raise TypeError(
            f"A list that grows in a loop of the graph can hold tensors, and structures of "
            f"tensors; got {shown(first)} [{where()}]. Use one list for the tensors, or a "
            "tf.TensorArray."
        )
    for element in rest:
        try:
            nest.assert_same_structure(first, element)
        except (TypeError, ValueError):
            raise TypeError(
                "The elements of a list that grows in a loop of the graph must have one "
                f"structure; got {shown(first)} and {shown(element)} [{where()}]."
            ) from None


def _array_of(column: Sequence[Any]) -> TensorArray:
    """An array without elements for leaves like these."""
    typed = next((x for x in column if isinstance(x, Tensor)), column[0])
    tensors = [as_tensor(x, typed) for x in column]
    names = sorted({t.dtype.name for t in tensors})
    if len(names) > 1:
        raise TypeError(
            "A list that grows in a loop of the graph must hold tensors of one dtype; got "
            f"{', '.join(names)} [{where()}]. Make them agree with tfx.cast."
        )
    shape = tensors[0].shape
    for tensor in tensors[1:]:
        shape = shape.most_specific_compatible_shape(tensor.shape)
    return _empty(tensors[0].dtype, shape)


def _blank_like(array: TensorArray) -> TensorArray:
    return _empty(array.dtype, array.element_shape)


def _empty(dtype: Any, shape: TensorShape) -> TensorArray:
    return TensorArray(
        dtype,
        size=0,
        dynamic_size=True,
        clear_after_read=False,
        infer_shape=False,
        element_shape=shape,
    )
