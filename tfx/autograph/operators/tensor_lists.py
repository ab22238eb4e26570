"""``TensorList``: what a Python list becomes when a loop of the graph makes it longer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tfx.autograph.operators.staging import as_tensor, is_tensor_like, where
from tfx.control_flow.tensor_array import TensorArray
from tfx.core.errors import OperatorNotAllowedInGraphError
from tfx.core.shapes import TensorShape
from tfx.framework.tensor import Tensor


class TensorList:
    """A list of tensors of one dtype whose length is known only when the graph runs.

    Attributes:
        array: Its elements.
    """

    def __init__(self, array: TensorArray) -> None:
        self.array = array

    @classmethod
    def of(cls, before: Sequence[Any], after: Sequence[Any]) -> TensorList:
        """A list with the elements that it had before a loop.

        Args:
            before: Its elements before the loop.
            after: Its elements after an iteration: they tell the dtype.

        Raises:
            TypeError: it holds something else than tensors of one dtype.
        """
        if any(not is_tensor_like(x) or isinstance(x, TensorArray) for x in after):
            raise TypeError(
                f"A list that grows in a loop of the graph can hold tensors only; got {after!r} "
                f"[{where()}]."
            )
        tensors = [as_tensor(x) for x in after]
        dtypes = {t.dtype for t in tensors}
        if len(dtypes) > 1:
            names = ", ".join(sorted(d.name for d in dtypes))
            raise TypeError(
                f"A list that grows in a loop of the graph must hold tensors of one dtype; got "
                f"{names} [{where()}]. Make them agree with tfx.cast."
            )
        (dtype,) = dtypes
        shapes = [t.shape for t in tensors]
        shape = shapes[0] if all(s == shapes[0] for s in shapes) else TensorShape(None)
        array = TensorArray(
            dtype,
            size=len(before),
            dynamic_size=True,
            clear_after_read=False,
            infer_shape=shape.rank is not None,
            element_shape=shape,
        )
        for i, element in enumerate(before):
            array = array.write(i, as_tensor(element))
        return cls(array)

    @property
    def dtype(self) -> Any:
        """Dtype of the elements."""
        return self.array.dtype

    def append(self, element: Any) -> None:
        """Add an element at the end."""
        self.array = self.array.write(self.array.size(), element)

    def stack(self) -> Tensor:
        """The elements as one tensor."""
        return self.array.stack()

    def size(self) -> Tensor:
        """How many elements there are."""
        return self.array.size()

    def __getitem__(self, index: Any) -> Tensor:
        number = as_tensor(index)
        if not isinstance(index, Tensor) and index < 0:
            number = self.array.size() + number
        return self.array.read(number)

    def __len__(self) -> int:
        raise OperatorNotAllowedInGraphError(
            "A list that grew in a loop of the graph has no length before the graph runs; use "
            "its size() or tf.stack of it."
        )

    def __iter__(self) -> Iterator[Any]:
        raise OperatorNotAllowedInGraphError(
            "A list that grew in a loop of the graph cannot be iterated by Python; iterate over "
            "tf.stack of it."
        )

    def __tf_tensor__(self, dtype: Any = None, name: str | None = None) -> Tensor:
        """The elements as one tensor."""
        return self.stack()

    def __tf_flatten__(self) -> tuple[tuple[()], tuple[TensorArray]]:
        """As a structure: it can be a loop variable, and the result of a branch."""
        return (), (self.array,)

    @classmethod
    def __tf_unflatten__(cls, metadata: Any, components: Sequence[Any]) -> TensorList:
        """See ``__tf_flatten__``."""
        return cls(components[0])
