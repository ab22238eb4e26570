"""The graph of a pipeline: nodes that say what to do, stages that do it.

A ``Node`` is a dataset without its public face: immutable, with other nodes as its inputs. A
``Stage`` is one run over a node's elements, with a position that can be saved. Nodes that are made
while a function is traced may have symbolic tensors among their parameters; ``symbols`` finds
them, ``bound`` puts values in their place.
"""

from __future__ import annotations

import copy
import itertools
import threading
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tfx.core.errors import FailedPreconditionError
from tfx.data.leaves import Leaves, is_known, number, tensor_of
from tfx.data.options import Options
from tfx.data.position import HasPosition
from tfx.data.structure import Structure
from tfx.framework.tensor import SymbolicTensor

if TYPE_CHECKING:
    from tfx.data.dataset import Dataset
    from tfx.data.indexed import Indexed

INFINITE_CARDINALITY = INFINITE = -1
UNKNOWN_CARDINALITY = UNKNOWN = -2


class Stage(HasPosition):
    """One run over the elements of a node.

    Errors do not end it: the next call goes on with the next element, as in TensorFlow.

    Args:
        *inputs: The stages that it takes elements from.
    """

    __slots__ = ("__weakref__", "inputs")

    def __init__(self, *inputs: Stage) -> None:
        self.inputs = list(inputs)

    def next(self) -> Leaves:
        """The components of the next element.

        Raises:
            StopIteration: there is none.
        """
        raise NotImplementedError

    def save(self) -> Any:
        """See ``HasPosition``."""
        return {**super().save(), "inputs": [stage.save() for stage in self.inputs]}

    def restore(self, state: Any) -> None:
        """See ``HasPosition``."""
        for stage, saved in zip(self.inputs, state["inputs"], strict=True):
            stage.restore(saved)
        super().restore(state)

    def close(self) -> None:
        """End threads and let go of files; ``next`` must not be called any more."""
        for stage in self.inputs:
            stage.close()


@dataclass(slots=True)
class Run:
    """What the stages of one iteration have in common.

    Attributes:
        options: Those of the dataset that is iterated over.
    """

    options: Options = field(default_factory=Options)

    @property
    def deterministic(self) -> bool:
        """Whether elements keep their order where nothing else is said."""
        return self.options.deterministic is not False


class Node:
    """A step of a pipeline.

    Attributes:
        structure: That of its elements.
    """

    structure: Structure

    def stage(self, run: Run) -> Stage:
        """A new run over the elements; ``open_stage`` is what others call."""
        found = self.indexed(run, False)
        if found is None:
            raise NotImplementedError
        return found.elements()

    def indexed(self, run: Run, functions: bool) -> Indexed | None:
        """The same as positions in arrays, where that is what it is; see ``indexed``.

        Args:
            run: The iteration.
            functions: Whether functions of one element may be left to whoever makes batches.
        """
        return None

    def cardinality(self) -> int:
        """How many elements there are, ``INFINITE`` or ``UNKNOWN``."""
        return UNKNOWN

    def resolved(self) -> Node:
        """The node to take in the place of this copy, whose parameters have just got values."""
        return self

    def options(self) -> Options:
        """The options of the pipeline so far."""
        found = Options()
        for node in self.inputs():
            found = found.merge(node.options())
        return found

    def inputs(self) -> list[Node]:
        """The nodes that it takes elements from."""
        found: list[Node] = []
        for value in vars(self).values():
            if isinstance(value, Node):
                found.append(value)
            elif isinstance(value, tuple):
                found += [part for part in value if isinstance(part, Node)]
        return found


class Unary(Node):
    """A node with one input, whose structure and number of elements it has unless it says so."""

    def __init__(self, source: Node, structure: Structure | None = None) -> None:
        self.source = source
        self.structure = source.structure if structure is None else structure

    def cardinality(self) -> int:
        """See ``Node``."""
        return self.source.cardinality()


class UnknownMany(Unary):
    """A node of which nobody knows how many elements it has, unless its input has none."""

    def cardinality(self) -> int:
        """See ``Node``."""
        return UNKNOWN if self.source.cardinality() else 0


@dataclass(frozen=True, slots=True)
class Opaque:
    """What holds no parameters, and is not looked through for them."""

    value: Any


def open_stage(node: Node, run: Run) -> Stage:
    """Begin a run over a node's elements, by positions where that is possible."""
    found = node.indexed(run, False)
    return node.stage(run) if found is None else found.elements()


def known(node: Any, *names: str) -> bool:
    """True if parameters of a node have values."""
    return all(is_known(getattr(node, name)) for name in names)


def known_number(value: Any) -> int | None:
    """A parameter as a number; None where it is a symbolic tensor."""
    return number(value) if is_known(value) else None


# Parameters that get values later


class Parametric:
    """Base of other objects with parameters: they are looked through like nodes."""


def _rebuilt(value: Any, replace: Callable[[SymbolicTensor], Any]) -> Any:
    if isinstance(value, SymbolicTensor):
        return replace(value)
    if isinstance(value, Node | Parametric):
        before = vars(value)
        after = {name: _rebuilt(part, replace) for name, part in before.items()}
        if all(after[name] is before[name] for name in before):
            return value
        made = copy.copy(value)
        vars(made).update(after)
        return made.resolved() if isinstance(made, Node) else made
    if type(value) in (list, tuple):
        parts = [_rebuilt(part, replace) for part in value]
        changed = any(a is not b for a, b in zip(parts, value, strict=True))
        return type(value)(parts) if changed else value
    return value


def symbols(node: Node) -> list[SymbolicTensor]:
    """The symbolic tensors among the parameters of a pipeline, in order."""
    found: list[SymbolicTensor] = []

    def note(tensor: SymbolicTensor) -> SymbolicTensor:
        found.append(tensor)
        return tensor

    _rebuilt(node, note)
    return found


def bound(node: Node, values: Iterator[Any]) -> Node:
    """A pipeline with values in the place of its ``symbols``, in their order."""
    made: Node = _rebuilt(node, lambda _: next(values))
    return made


# Numbers that stand for objects in graphs

_numbers = itertools.count(1)
_objects: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
_given: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def handle_of(target: Any) -> int:
    """A number that stands for a node or an iterator in a graph while that lives."""
    with _lock:
        found = _given.get(target)
        if found is None:
            found = _given[target] = next(_numbers)
            _objects[found] = target
        return found


def target_of(handle: Any) -> Any:
    """What a number stands for.

    Raises:
        FailedPreconditionError: it is gone.
    """
    found = _objects.get(number(handle))
    if found is None:
        raise FailedPreconditionError(
            f"The dataset or iterator that a function got as number {number(handle)} is gone; keep "
            "a reference to it while functions use it."
        )
    return found


class HandleNode(Node):
    """A dataset that a traced function gets as an argument."""

    def __init__(self, handle: Any, structure: Structure) -> None:
        self.handle = handle
        self.structure = structure

    def resolved(self) -> Node:
        """The dataset that the function is called with."""
        found: Node = target_of(self.handle)
        return found


# The public class, which wraps nodes that are components of elements.
_wrappers: list[Callable[[Node], Dataset]] = []


def wrap_with(wrapper: Callable[[Node], Dataset]) -> None:
    """Tell what makes the public form of a node."""
    _wrappers.append(wrapper)


def wrapped(node: Node) -> Dataset:
    """The public form of a node."""
    return _wrappers[0](node)


def user_leaf(leaf: Any) -> Any:
    """A component as users see it: a tensor, None or a dataset."""
    return wrapped(leaf) if isinstance(leaf, Node) else tensor_of(leaf)
