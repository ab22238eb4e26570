"""``tf.data.Iterator``: a position in a dataset, eagerly and in traced functions.

Eagerly the elements come from the stages. A traced function knows an iterator as a number, an int64
scalar that is an argument like any other, so one trace serves all iterators with elements of one
spec; what it takes from it is a host call. Such a function runs in Python only.
"""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from tfx.core import dtypes
from tfx.core.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    OperatorNotAllowedInGraphError,
    OutOfRangeError,
)
from tfx.core.specs import TensorSpec
from tfx.core.tracebacks import cover
from tfx.data.leaves import Array, array_of, tensor_of
from tfx.data.nodes import (
    HandleNode,
    Node,
    Run,
    Stage,
    bound,
    handle_of,
    open_stage,
    symbols,
    target_of,
    user_leaf,
    wrapped,
)
from tfx.data.position_variable import PositionVariable
from tfx.data.structure import (
    DatasetSpec,
    NoneTensorSpec,
    SpecOfElements,
    Structure,
    flatten,
    is_whole,
    map_whole,
)
from tfx.framework.composite.optional import Optional
from tfx.framework.composite.sparse import is_sparse
from tfx.framework.context import current, using
from tfx.framework.host_call import host_call
from tfx.framework.tensor import EagerTensor, Tensor, from_array
from tfx.graph.ir import HostCall

# How many iterators that functions began, and did not finish, are kept.
_MOST_OPEN = 256
# How often a trace may call ``next`` until it is taken for a loop of Python.
_MOST_USES = 1000
_END = "End of sequence"


class SpecKey:
    """An ``element_spec`` as part of the key of a trace."""

    _tfx_is_fixed = True
    __slots__ = ("_hash", "structure")

    def __init__(self, structure: Structure) -> None:
        self.structure = structure
        self._hash = hash((tuple(structure.specs), repr(structure.spec)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SpecKey) or self._hash != other._hash:
            return False
        mine, theirs = self.structure, other.structure
        return mine.specs == theirs.specs and repr(mine.spec) == repr(theirs.spec)

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return repr(self.structure.spec)


class Live:
    """An iterator as it runs: its stages, and whose turn it is.

    Attributes:
        structure: That of the elements.
        moves: How often the position has changed.
        last: The last element, whose nested datasets a function may still need.
    """

    def __init__(self, node: Node) -> None:
        self.structure = node.structure
        self.moves = 0
        self.last: tuple[Any, ...] = ()
        self._lock = threading.RLock()
        self._stage: Stage = open_stage(node, Run(node.options()))
        weakref.finalize(self, self._stage.close)

    def next(self) -> tuple[Any, ...]:
        """The components of the next element.

        Raises:
            StopIteration: there is none.
        """
        context = current()
        with self._lock:
            self.moves += 1
            if context.graph is None and not context.tapes and not context.scope:
                return self._stage.next()
            # Tapes do not see what a pipeline computes.
            with using(graph=None, tapes=(), scope=""):
                return self._stage.next()

    def save(self) -> Any:
        """The position."""
        with self._lock:
            return self._stage.save()

    def restore(self, state: Any) -> None:
        """Continue from a position."""
        with self._lock:
            self.moves += 1
            self._stage.restore(state)


class IteratorSpec(SpecOfElements):
    """The spec of an iterator that is an argument of a function.

    Args:
        element_spec: The spec of its elements.

    Example:
        >>> import tfx as tf
        >>> tf.data.IteratorSpec(tf.TensorSpec([], tf.int64)).element_spec
        TensorSpec(shape=(), dtype=tf.int64, name=None)
    """

    __slots__ = ()

    def _tfx_argument(self) -> Iterator:
        """What an input signature has in the place of an iterator."""
        made = object.__new__(Iterator)
        handle: Any = TensorSpec([], dtypes.int64)
        made._handle, made._key = handle, SpecKey(Structure(self._element_spec))
        return made

    def is_subtype_of(self, other: object) -> bool:
        """True if it is the other one."""
        return self == other

    def most_specific_common_supertype(self, others: Sequence[Any]) -> IteratorSpec | None:
        """The spec itself, if all the others are equal."""
        return self if all(self == other for other in others) else None

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """True for iterators with such elements."""
        return bool(getattr(spec_or_value, "element_spec", None) == self._element_spec)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IteratorSpec) and self._element_spec == other._element_spec

    def __hash__(self) -> int:
        return hash((IteratorSpec, tuple(flatten(self._element_spec))))

    def __repr__(self) -> str:
        return f"IteratorSpec({self._element_spec!r}, TensorShape([]))"


@cover
class Iterator:
    """The elements of a dataset, one after the other. Made by ``iter(dataset)``.

    It is a Python iterator, also in a ``tf.function`` that gets it as an argument or from outside:
    there ``next`` and ``get_next`` take an element each time the function runs. A checkpoint that
    holds it saves and restores its position.

    Example:
        >>> import tfx as tf
        >>> iterator = iter(tf.data.Dataset.range(2))
        >>> next(iterator).numpy(), iterator.get_next().numpy()
        (np.int64(0), np.int64(1))
        >>> bool(iterator.get_next_as_optional().has_value())
        False
    """

    # What a traced function takes apart: a number that is a tensor, and what never varies.
    _tfx_fields = ("_handle", "_key")
    # No ``__dict__``: what a trace keeps of an argument must not keep the stages alive.
    __slots__ = ("__weakref__", "_handle", "_key", "_live", "_pack", "_uses", "_variable")

    _handle: Tensor
    _key: SpecKey
    _live: Live
    _uses: tuple[int, int]
    _variable: PositionVariable

    def __init__(self, node: Node) -> None:
        self._live = live = Live(node)
        self._key = SpecKey(live.structure)
        self._handle = number_tensor(live)
        self._pack: Callable[[Any], Any] = live.structure.pack

    @property
    def element_spec(self) -> Any:
        """The spec of the elements.

        Example:
            >>> import tfx as tf
            >>> iter(tf.data.Dataset.range(2)).element_spec
            TensorSpec(shape=(), dtype=tf.int64, name=None)
        """
        return self._key.structure.spec

    @property
    def output_types(self) -> Any:
        """The dtypes of the components."""
        return self._key.structure.pack([getattr(s, "dtype", None) for s in self._specs()])

    @property
    def output_shapes(self) -> Any:
        """The shapes of the components."""
        return self._key.structure.pack([s.shape for s in self._specs()])

    def _specs(self) -> list[Any]:
        return self._key.structure.specs

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        graph = current().graph
        if graph is not None:
            self._count_uses(id(graph))
            return self.get_next()
        leaves = self._running().next()
        return self._pack([x if type(x) is EagerTensor else user_leaf(x) for x in leaves])

    next = __next__

    def _count_uses(self, graph: int) -> None:
        """Notice a loop of Python over what ends only when the graph runs."""
        before, uses = getattr(self, "_uses", (0, 0))
        self._uses = (graph, uses + 1 if before == graph else 1)
        if self._uses[1] > _MOST_USES:
            raise OperatorNotAllowedInGraphError(
                f"A function that is traced took {_MOST_USES:,} elements of {self!r} one after the "
                "other: Python's loops do not end there. Let AutoGraph convert the `for` statement "
                "(it does not with autograph=False, in comprehensions, and in libraries), or use "
                "Dataset.reduce."
            )

    def get_next(self, name: str | None = None) -> Any:
        """The next element.

        Args:
            name: Accepted for compatibility.

        Raises:
            OutOfRangeError: there is none.
        """
        if current().graph is None:
            try:
                return self.__next__()
            except StopIteration:
                raise OutOfRangeError(_END, op="IteratorGetNext") from None
        return _packed(self._structure(), _take(self._handle, self._structure()))

    def get_next_as_optional(self) -> Optional:
        """The next element as an optional, which has no value at the end."""
        structure = self._structure()
        if current().graph is None:
            try:
                return Optional.from_value(self.__next__())
            except StopIteration:
                return Optional.empty(structure.spec)
        return TracedOptional(structure, *_take_if_any(self._handle, structure))

    def _structure(self) -> Structure:
        return self._key.structure

    def _running(self) -> Live:
        try:
            return self._live
        except AttributeError:  # it came out of a function, as a number
            self._live = target_of(self._handle)
            self._pack = self._live.structure.pack
            return self._live

    def _trackable_children(self) -> dict[str, Any]:
        """The position, as a variable."""
        try:
            variable = self._variable
        except AttributeError:
            variable = self._variable = PositionVariable(self._running())
        variable.look()
        return {"position": variable}

    def _tfx_loop(self) -> Loop | None:
        """What a ``for`` statement of a traced function does with it."""
        return None if current().graph is None else Loop(self._handle, self._structure())

    def __reduce__(self) -> Any:
        raise InvalidArgumentError(
            "An iterator of a dataset cannot be pickled; save it with tf.train.Checkpoint."
        )

    def __repr__(self) -> str:
        return f"<tf.data.Iterator element_spec={self.element_spec!r}>"


@cover
class NumpyIterator:
    """The elements of a dataset as NumPy arrays. Made by ``Dataset.as_numpy_iterator``."""

    __slots__ = ("_live", "_pack")

    def __init__(self, node: Node) -> None:
        self._live = Live(node)
        self._pack = self._live.structure.pack

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        leaves = self._live.next()
        if self._live.structure.has_ragged:
            return map_whole(_numpy_of_whole, self._pack([tensor_of(x) for x in leaves]))
        return self._pack([_numpy_leaf(x) for x in leaves])

    next = __next__


def _numpy_of_whole(component: Any) -> Any:
    if is_sparse(component):
        return component._numpy()  # the dense array, as in TensorFlow
    if is_whole(component):
        return component.numpy()
    return _numpy_leaf(component)


def _numpy_leaf(leaf: Any) -> Any:
    if leaf is None:
        return None
    if isinstance(leaf, Node):
        return wrapped(leaf).as_numpy_iterator()
    array: Array = array_of(leaf)
    if array.ndim == 0:
        return array[()]
    view = array.view()
    view.flags.writeable = False
    return view


def number_tensor(target: Any) -> EagerTensor:
    """The number of an object as a tensor."""
    return from_array(np.array(handle_of(target), np.int64), owned=True)


# In graphs


def _outputs(structure: Structure) -> list[tuple[Any, Any]]:
    """Dtype and shape of what a host call returns for an element."""
    found = []
    for spec in structure.specs:
        if isinstance(spec, TensorSpec):
            found.append((spec.dtype, spec.shape.symbolic))
        elif isinstance(spec, DatasetSpec):
            found.append((TensorSpec([], "int64").dtype, ()))
    return found


def element_results(live: Live, leaves: tuple[Any, ...]) -> list[EagerTensor]:
    """What a host call returns for an element."""
    live.last = leaves
    return [
        number_tensor(x) if isinstance(x, Node) else tensor_of(x) for x in leaves if x is not None
    ]


def _nothing(structure: Structure) -> list[EagerTensor]:
    """Tensors in the place of an element that there is not."""
    found = []
    for spec in structure.specs:
        if isinstance(spec, TensorSpec):
            shape = [d or 0 for d in spec.shape.as_list()] if spec.shape.rank is not None else []
            kind = spec.dtype.as_numpy_dtype
            found.append(from_array(np.full(shape, b"" if kind is object else 0, kind)))
        elif isinstance(spec, DatasetSpec):
            found.append(from_array(np.array(0, np.int64)))
    return found


def _packed(structure: Structure, tensors: Sequence[Tensor]) -> Any:
    """An element as the user's code in a function gets it."""
    rest = iter(tensors)
    leaves: list[Any] = []
    for spec in structure.specs:
        if isinstance(spec, NoneTensorSpec):
            leaves.append(None)
        elif isinstance(spec, DatasetSpec):
            leaves.append(wrapped(HandleNode(next(rest), Structure(spec.element_spec))))
        else:
            leaves.append(next(rest))
    return structure.pack(leaves)


def _call(
    kind: str, run: Callable[[Sequence[Any]], Any], inputs: Sequence[Tensor], out: Any
) -> Any:
    return host_call(HostCall(kind, run, effect=True, portable=False), inputs, out)


def element_call(
    kind: str,
    run: Callable[[Sequence[Any]], Any],
    structure: Structure | None = None,
    inputs: Sequence[Tensor] = (),
) -> Any:
    """A host call that gives an element, or else a truth value."""
    if structure is None:
        return _call(kind, run, inputs, [(_BOOL, ())])
    return _packed(structure, _call(kind, run, inputs, _outputs(structure)))


_BOOL = TensorSpec([], "bool").dtype
_INT64 = TensorSpec([], "int64").dtype


def _take(handle: Tensor, structure: Structure) -> Sequence[Tensor]:
    def run(given: Sequence[Any]) -> list[EagerTensor]:
        live: Live = target_of(given[0])
        try:
            return element_results(live, live.next())
        except StopIteration:
            raise OutOfRangeError(_END, op="IteratorGetNext") from None

    found: Sequence[Tensor] = _call("iterator_get_next", run, [handle], _outputs(structure))
    return found


def _take_if_any(handle: Tensor, structure: Structure) -> tuple[Tensor, Sequence[Tensor]]:
    def run(given: Sequence[Any]) -> list[EagerTensor]:
        live: Live = target_of(given[0])
        try:
            return [from_array(np.array(True)), *element_results(live, live.next())]
        except StopIteration:
            return [from_array(np.array(False)), *_nothing(structure)]

    outputs = [(_BOOL, ()), *_outputs(structure)]
    has, *tensors = _call("iterator_get_next_as_optional", run, [handle], outputs)
    return has, tensors


class TracedOptional(Optional):
    """An optional of a function: whether it has a value is known when that runs."""

    __slots__ = ("_has", "_structure", "_tensors")

    def __init__(self, structure: Structure, has: Tensor, tensors: Sequence[Tensor]) -> None:
        self._spec = structure.spec
        self._value = ()
        self._structure = structure
        self._has = has
        self._tensors = tensors

    def has_value(self, name: str | None = None) -> Tensor:
        """See ``Optional``."""
        return self._has

    def get_value(self, name: str | None = None) -> Any:
        """See ``Optional``; without a value it is zeros."""
        return _packed(self._structure, self._tensors)


class Loop:
    """A ``for`` over an iterator in a graph: what AutoGraph needs of it.

    Args:
        handle: The iterator's number.
        structure: That of its elements.
        owned: Whether the loop began the iterator, and ends it.
    """

    def __init__(self, handle: Tensor, structure: Structure, owned: bool = False) -> None:
        self._handle = handle
        self._structure = structure
        self._owned = owned

    def advance(self) -> Tensor:
        """Take the next element; whether there is one."""

        def run(given: Sequence[Any]) -> list[EagerTensor]:
            live: Live = target_of(given[0])
            try:
                live.last = live.next()
            except StopIteration:
                return [from_array(np.array(False))]
            return [from_array(np.array(True))]

        found: Tensor = _call("iterator_advance", run, [self._handle], [(_BOOL, ())])[0]
        return found

    def item(self) -> Any:
        """The element that was taken."""

        def run(given: Sequence[Any]) -> list[EagerTensor]:
            live: Live = target_of(given[0])
            return element_results(live, live.last)

        outputs = _outputs(self._structure)
        return _packed(self._structure, _call("iterator_item", run, [self._handle], outputs))

    def close(self) -> None:
        """The loop has ended."""
        if self._owned:

            def run(given: Sequence[Any]) -> list[EagerTensor]:
                _open.pop(int(given[0]), None)
                return []

            _call("iterator_close", run, [self._handle], [])


# The iterators that functions began, by number.
_open: OrderedDict[int, Live] = OrderedDict()
_open_lock = threading.Lock()


def traced_handle(node: Node) -> Tensor:
    """Begin to iterate over a dataset when the function that is traced runs."""
    parameters = symbols(node)

    def run(given: Sequence[Any]) -> list[EagerTensor]:
        live = Live(bound(node, iter(given)) if given else node)
        number = handle_of(live)
        with _open_lock:
            _open[number] = live
            while len(_open) > _MOST_OPEN:
                _open.popitem(last=False)
        return [from_array(np.array(number, np.int64))]

    found: Tensor = _call("make_iterator", run, parameters, [(_INT64, ())])[0]
    return found


def traced_iterator(node: Node) -> Iterator:
    """An iterator that begins when the function that is traced runs."""
    made = Iterator.__new__(Iterator)
    made._key = SpecKey(node.structure)
    made._handle = traced_handle(node)
    return made


def in_graph(
    kind: str, node: Node, compute: Callable[[Node], Sequence[Any]], structure: Structure
) -> Any:
    """What is computed of a dataset when the function that is traced runs.

    Args:
        kind: What it is called.
        node: The dataset.
        compute: Gives the components of the result.
        structure: That of the result.
    """
    parameters = symbols(node)

    def run(given: Sequence[Any]) -> list[EagerTensor]:
        with using(graph=None, tapes=(), scope=""):
            found = compute(bound(node, iter(given)) if given else node)
        return [tensor_of(x) for x in found if x is not None]

    return _packed(structure, _call(kind, run, parameters, _outputs(structure)))


def eager_only(what: str) -> None:
    """Refuse in a function what happens once.

    Raises:
        FailedPreconditionError: a function is being traced.
    """
    if current().graph is not None:
        raise FailedPreconditionError(f"{what} is for eager code; a function is being traced.")
