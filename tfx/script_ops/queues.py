"""``tf.queue``: queues between threads, which Python keeps.

An element is a list of arrays. In a function each call of a method is a step of the plan, in
program order; a queue is no part of what is saved. Each session has elements of its own.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfx.core import dtypes
from tfx.core.dtypes import DType
from tfx.core.errors import InvalidArgumentError
from tfx.core.shapes import TensorShape
from tfx.framework.convert import convert_to_tensor
from tfx.framework.operation import Operation
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.ops.array.static_value import get_static_value
from tfx.ops.common.python_ops import by_python
from tfx.script_ops.queue_elements import Element, QueueElements
from tfx.script_ops.session_resources import PerSession

_numbers = itertools.count()


class QueueBase:
    """What all queues have.

    Args:
        capacity: How many elements it holds; negative: any number.
        dtypes: The dtype of each component, or that of a single one.
        shapes: The shape of each component; None: any.
        names: Names of the components: elements are dicts then.
        name: For messages.
    """

    def __init__(self, capacity: int, dtypes: Any, shapes: Any, names: Any, name: str) -> None:
        given = list(dtypes) if isinstance(dtypes, list | tuple) else [dtypes]
        self._dtypes = [_as_dtype(d) for d in given]
        self._shapes = _shapes_of(shapes, len(given))
        self._check_shapes(shapes is not None)
        self._names = None if names is None else [names] if isinstance(names, str) else list(names)
        if self._names is not None and len(self._names) != len(given):
            raise ValueError(f"Queue has {len(given)} components, but {len(self._names)} names.")
        self._capacity = capacity if capacity >= 0 else None
        self._name = f"_{next(_numbers)}_{name}"
        self._held = PerSession(self._nothing, QueueElements.end)

    @property
    def dtypes(self) -> list[DType]:
        """The dtype of each component."""
        return self._dtypes

    @property
    def shapes(self) -> list[TensorShape]:
        """The shape of each component, as far as it is known."""
        return self._shapes

    @property
    def names(self) -> list[str] | None:
        """The names of the components, None without."""
        return self._names

    @property
    def name(self) -> str:
        """The name in messages."""
        return self._name

    def enqueue(self, vals: Any, name: str | None = None) -> Operation | None:
        """Add an element, once there is room.

        Args:
            vals: A value for each component: one, a list, or a dict by the names.
            name: Accepted for compatibility.

        Returns:
            The operation in a graph, None where the element was added at once.

        Raises:
            CancelledError: the queue is closed.
            ValueError: another number of components, or shapes that do not fit.
        """
        return self._run(
            "enqueue",
            self._components(vals, many=False),
            lambda parts: self._held.get().add([parts]),
        )

    def enqueue_many(self, vals: Any, name: str | None = None) -> Operation | None:
        """Add the slices along the first axes, one after the other; see ``enqueue``."""

        def add(parts: Element) -> None:
            self._held.get().add([list(rows) for rows in zip(*parts, strict=True)])

        return self._run("enqueue_many", self._components(vals, many=True), add)

    def dequeue(self, name: str | None = None) -> Any:
        """Take an element, once there is one.

        Returns:
            Its single component, a list of components, or a dict by the names.

        Raises:
            OutOfRangeError: the queue is closed, and empty.
        """
        shapes = [s.as_list() if s.rank is not None else None for s in self._shapes]
        return self._packed(self._taken("dequeue", shapes, lambda: self._held.get().take(1, 1)[0]))

    def dequeue_many(self, n: Any, name: str | None = None) -> Any:
        """Take n elements, once there are as many, joined along a new first axis; see ``dequeue``.

        Raises:
            OutOfRangeError: the queue is closed, and holds fewer.
        """
        return self._joined("dequeue_many", n, least=None)

    def dequeue_up_to(self, n: Any, name: str | None = None) -> Any:
        """The same, but of a closed queue what is left, if that is at least one element."""
        return self._joined("dequeue_up_to", n, least=1)

    def close(
        self, cancel_pending_enqueues: bool = False, name: str | None = None
    ) -> Operation | None:
        """Take no more elements; those that are there can still be taken.

        Args:
            cancel_pending_enqueues: End the calls that wait for room with a ``CancelledError``;
                otherwise they still add what they have.
            name: Accepted for compatibility.

        Returns:
            The operation in a graph, None where it was closed at once.
        """

        def close(_: Element) -> None:
            self._held.get().close(cancel_pending_enqueues)

        return self._run("close", [], close)

    def is_closed(self, name: str | None = None) -> Tensor:
        """Whether it is closed: a scalar of bools."""
        return self._told("is_closed", lambda: self._held.get().closed, dtypes.bool)

    def size(self, name: str | None = None) -> Tensor:
        """The number of elements: an int32 scalar."""
        return self._told("size", lambda: len(self._held.get()), dtypes.int32)

    def take_array(self) -> Any:
        """Take an element of one component, as an array, once there is one.

        Raises:
            OutOfRangeError: the queue is closed, and empty.
        """
        return self._held.get().take(1, 1)[0][0]

    # What kinds of queues differ in

    _left = 0

    def _chooser(self) -> Callable[[Sequence[Element]], int]:
        """Tells the place of the next element."""
        return lambda elements: 0

    def _check_shapes(self, given: bool) -> None:
        """Refuse shapes that elements cannot be joined by."""
        if given and not all(s.is_fully_defined() for s in self._shapes):
            raise ValueError(f"All shapes must be fully defined: {self._shapes}")

    def _stacked(self, rows: Sequence[Any]) -> Any:
        """A component of several elements."""
        return np.stack(rows)

    # Elements

    def _components(self, vals: Any, many: bool) -> list[Tensor]:
        if isinstance(vals, dict):
            if self._names is None or set(vals) != set(self._names):
                raise ValueError(
                    f"The names of {self._name} are {self._names}; got {sorted(vals)}."
                )
            vals = [vals[n] for n in self._names]
        elif self._names is not None:
            raise ValueError(f"{self._name} has named components: give a dict by {self._names}.")
        given = list(vals) if isinstance(vals, list | tuple) else [vals]
        if len(given) != len(self._dtypes):
            if len(self._dtypes) != 1:
                raise ValueError(
                    f"{self._name} takes {len(self._dtypes)} components; got {len(given)}."
                )
            given = [vals]
        found = [convert_to_tensor(x, d) for x, d in zip(given, self._dtypes, strict=True)]
        for x, shape in zip(found, self._shapes, strict=True):
            have = x.shape[1:] if many and x.shape.rank else x.shape
            if not have.is_compatible_with(shape):
                raise ValueError(f"Shape {have} is not that of {self._name}, {shape}.")
        return found

    def _nothing(self) -> QueueElements:
        title = f"{type(self).__name__} '{self._name}'"
        return QueueElements(title, self._capacity, self._chooser(), self._left)

    def _joined(self, kind: str, n: Any, least: int | None) -> Any:
        count = convert_to_tensor(n, dtypes.int32)
        known = None if least is not None else get_static_value(count)
        size = None if known is None else int(known)
        shapes = [None if s.rank is None else [size, *s.as_list()] for s in self._shapes]

        def take(wanted: Any) -> Element:
            number = int(wanted)
            if None in shapes:
                raise InvalidArgumentError(
                    f"{type(self).__name__}'s DequeueMany and DequeueUpTo require the components "
                    "to have specified shapes."
                )
            if not number:
                return [
                    np.zeros((0, *(d or 0 for d in s.as_list())), t.as_numpy_dtype)
                    for s, t in zip(self._shapes, self._dtypes, strict=True)
                ]
            rows = self._held.get().take(number, number if least is None else least)
            return [self._stacked(part) for part in zip(*rows, strict=True)]

        return self._packed(self._taken(kind, shapes, take, count))

    def _packed(self, parts: Sequence[Tensor]) -> Any:
        if self._names is not None:
            return dict(zip(self._names, parts, strict=True))
        return parts[0] if len(parts) == 1 else list(parts)

    # Steps of a plan

    def _run(
        self, kind: str, given: list[Tensor], act: Callable[[Element], None]
    ) -> Operation | None:
        def run(*arrays: Any) -> list[Any]:
            act(list(arrays))
            return [np.array(True)]

        (done,) = by_python(f"queue.{kind}", run, given, [(dtypes.bool, ())], effect=True)
        return done.op if isinstance(done, SymbolicTensor) else None

    def _taken(
        self, kind: str, shapes: Sequence[Any], take: Callable[..., Element], *given: Tensor
    ) -> Sequence[Tensor]:
        outputs = [
            (d, None if s is None else tuple(s)) for d, s in zip(self._dtypes, shapes, strict=True)
        ]
        return by_python(f"queue.{kind}", take, given, outputs, effect=True)

    def _told(self, kind: str, tell: Callable[[], Any], dtype: DType) -> Tensor:
        return by_python(f"queue.{kind}", lambda: [tell()], [], [(dtype, ())], effect=True)[0]


def _as_dtype(given: Any) -> DType:
    return dtypes.as_dtype(given)


def _shapes_of(shapes: Any, count: int) -> list[TensorShape]:
    if shapes is None:
        return [TensorShape(None)] * count
    several = isinstance(shapes, list | tuple) and len(shapes) == count
    several = several and all(not isinstance(s, int) and s is not None for s in shapes)
    given = list(shapes) if several else [shapes]
    if len(given) != count:
        raise ValueError(f"A queue of {count} components needs as many shapes; got {shapes!r}.")
    return [TensorShape(s) for s in given]


class FIFOQueue(QueueBase):
    """A queue whose elements come out in the order in which they went in.

    Args:
        capacity: How many elements it holds; ``enqueue`` waits where it is full.
        dtypes: The dtype of each component of an element, or that of a single one.
        shapes: The shape of each component; None: any.
        names: Names of the components: elements are dicts then.
        shared_name: Accepted for compatibility.
        name: For messages.

    Example:
        >>> import tfx as tf
        >>> queue = tf.queue.FIFOQueue(3, [tf.float32], shapes=[[]])
        >>> queue.enqueue_many([[1.0, 2.0, 3.0]])
        >>> float(queue.dequeue()), queue.dequeue_many(2).numpy().tolist()
        (1.0, [2.0, 3.0])
    """

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "fifo_queue",
    ) -> None:
        super().__init__(capacity, dtypes, shapes, names, name)


class PaddingFIFOQueue(FIFOQueue):
    """A ``FIFOQueue`` that fills elements of different sizes up with zeros where it joins them."""

    def _check_shapes(self, given: bool) -> None:
        if not given:
            raise ValueError("A PaddingFIFOQueue needs the shapes of its components: give shapes.")
        if any(s.rank is None for s in self._shapes):
            raise ValueError(f"All shapes must have a defined rank: {self._shapes}")

    def _stacked(self, rows: Sequence[Any]) -> Any:
        sizes = np.max([r.shape for r in rows], axis=0).astype(int) if rows[0].ndim else ()
        found = np.zeros((len(rows), *sizes), rows[0].dtype)
        if found.dtype == object:
            found[...] = b""
        for place, row in zip(found, rows, strict=True):
            place[tuple(slice(d) for d in row.shape)] = row
        return found if len(sizes) else np.stack(rows)


class PriorityQueue(QueueBase):
    """A queue whose elements come out by their first component, an int64: the least first.

    Args:
        capacity: How many elements it holds.
        types: The dtypes of the components behind the priority.
        shapes: Their shapes.
        names: Names of all components, the priority's first.
        shared_name: Accepted for compatibility.
        name: For messages.
    """

    def __init__(
        self,
        capacity: int,
        types: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "priority_queue",
    ) -> None:
        behind = list(types) if isinstance(types, list | tuple) else [types]
        known = _shapes_of(shapes, len(behind))
        kinds = [dtypes.int64, *behind]
        super().__init__(capacity, kinds, [TensorShape([]), *known], names, name)

    def _chooser(self) -> Callable[[Sequence[Element]], int]:
        return lambda elements: min(range(len(elements)), key=lambda i: int(elements[i][0]))


class RandomShuffleQueue(QueueBase):
    """A queue whose elements come out in a random order.

    Args:
        capacity: How many elements it holds.
        min_after_dequeue: How many must be left, until it is closed: the more, the better mixed.
        dtypes: The dtype of each component, or that of a single one.
        shapes: The shape of each component.
        names: Names of the components.
        seed: For the order to be the same each time.
        shared_name: Accepted for compatibility.
        name: For messages.
    """

    def __init__(
        self,
        capacity: int,
        min_after_dequeue: int,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        seed: int | None = None,
        shared_name: str | None = None,
        name: str = "random_shuffle_queue",
    ) -> None:
        super().__init__(capacity, dtypes, shapes, names, name)
        self._left = min_after_dequeue
        self._seed = seed

    def _chooser(self) -> Callable[[Sequence[Element]], int]:
        order = random.Random(self._seed)
        return lambda elements: order.randrange(len(elements))
