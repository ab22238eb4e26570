"""``Variable``: a named, mutable value with identity.

Eagerly a variable holds an immutable ORT value and an assignment replaces it. While a function is
traced the graph holds its current SSA value instead (see ``func_graph``). Values are never written
in place, so a value that was read stays as it was.
"""

from __future__ import annotations

import itertools
import operator
import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from enum import Enum
from itertools import repeat
from typing import TYPE_CHECKING, Any, Protocol

from tfx.core.dtypes import DType, DTypeLike
from tfx.core.errors import InvalidArgumentError
from tfx.core.references import Reference
from tfx.core.shapes import TensorShape
from tfx.framework import deferred_restores, variable_locks
from tfx.framework.apply import apply
from tfx.framework.builder import ox
from tfx.framework.context import current, using
from tfx.framework.device import DEFAULT_DEVICE, placed, trace_device
from tfx.framework.operand import Operand
from tfx.framework.tensor import EagerTensor, Tensor, label, raw_of
from tfx.framework.variable_creators import VariableKind
from tfx.framework.variables.creation import initial_tensor, register_created
from tfx.framework.variables.observers import observers, tell_observers
from tfx.framework.variables.scatter_updates import ScatterUpdates, matching
from tfx.framework.variables.session_names import SessionNames
from tfx.runtime import values
from tfx.runtime.devices import full_name
from tfx.runtime.fork_safe_locks import fork_safe
from tfx.runtime.values import RawValue

if TYPE_CHECKING:
    from tfx.framework.composite.adapted_reads import Adaptation
    from tfx.framework.variable_state import VariableState

READ_VARIABLE = "ReadVariable"

# Numbers of variables, in the order of creation.
new_variable_number = itertools.count().__next__
# Every variable by its number.
living: weakref.WeakValueDictionary[int, Variable] = weakref.WeakValueDictionary()
# Guards every variable's set of plans: the sets are touched when something changes only.
_plans_lock = fork_safe(threading.Lock())


class Origin(Protocol):
    """Files that a variable was loaded from."""

    def reduced(self, variable: Variable) -> tuple[Any, ...] | None:
        """Return the variable's pickle; None if its value is no longer the one in the files."""


class VariableSynchronization(Enum):
    """Accepted for compatibility; there is one replica."""

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregation(Enum):
    """Accepted for compatibility; there is one replica."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3


def _mode(given: Any, otherwise: Any, name: str) -> Any:
    """How replicas keep a variable, as one of the modes that there are."""
    if given is None:
        return otherwise
    if not isinstance(given, type(otherwise)):
        what = type(otherwise).__name__.removeprefix("Variable").lower()
        raise ValueError(
            f"Invalid variable {what} mode: {given!r} for variable {name}; it is one of "
            f"{', '.join(str(mode) for mode in type(otherwise))}."
        )
    return given


class Variable(ScatterUpdates, SessionNames, Operand, metaclass=VariableKind):
    """A value that programs and functions can change.

    Args:
        initial_value: Tensor, anything convertible to one, or a callable without arguments that
            returns one.
        trainable: Whether tapes watch it by themselves; None means True, but for variables that
            are synchronized ``ON_READ``, such as statistics.
        validate_shape: Accepted for compatibility; ``shape=TensorShape(None)`` frees the shape.
        caching_device: Accepted for compatibility.
        name: Name; scopes prefix it. Names need not be unique.
        variable_def: Not supported: pass None.
        dtype: Element type that ``initial_value`` is converted to.
        import_scope: Accepted for compatibility.
        constraint: Called by optimizers with the new value, returns the value to store.
        synchronization: Kept; there is one replica.
        aggregation: Kept; there is one replica.
        shape: Static shape; ``TensorShape(None)`` lets assignments change it.

    Raises:
        ValueError: no initial value; or created by a function on a call other than its first; or
            no such synchronization or aggregation.

    Example:
        >>> import tfx as tf
        >>> v = tf.Variable([1.0, 2.0])
        >>> v.assign_add([1.0, 1.0]).numpy()
        array([2., 3.], dtype=float32)
    """

    __slots__ = (
        "__dict__",
        "__weakref__",
        "_constraint",
        "_dtype",
        "_home",
        "_lock_number",
        "_name",
        "_number",
        "_plans",
        "_raw",
        "_shape",
        # What gives the value of a variable that is not ready; see ``variable_state``.
        "_state",
        "_trainable",
        "aggregation",
        # Of a random generator's state: makes the state of another sequence of it.
        "aside",
        "origin",
        "seeds",
        "synchronization",
    )
    _state: VariableState | None

    __array_priority__ = 100
    _is_tfx_variable = True
    _asks_creators = True
    # What reads give in place of the value; see ``adapted_reads``.
    _adaptation: Adaptation | None = None

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool | None = None,
        validate_shape: bool = True,
        caching_device: str | None = None,
        name: str | None = None,
        variable_def: None = None,
        dtype: DTypeLike | None = None,
        import_scope: str | None = None,
        constraint: Callable[[Tensor], Any] | None = None,
        synchronization: VariableSynchronization | None = VariableSynchronization.AUTO,
        aggregation: VariableAggregation | None = VariableAggregation.NONE,
        shape: Any = None,
    ) -> None:
        if initial_value is None:
            raise ValueError(
                "tf.Variable() came without an initial_value; expected a tensor, numbers, an array "
                "or a function without arguments that returns one, such as tf.Variable([1.0, 2.0])."
            )
        value = initial_tensor(initial_value, dtype)
        context = current()
        self._name = f"{context.scope}{name or 'Variable'}:0"
        self._dtype = value.dtype
        self._constraint = constraint
        self.synchronization = _mode(synchronization, VariableSynchronization.AUTO, self._name)
        self.aggregation = _mode(aggregation, VariableAggregation.NONE, self._name)
        if trainable is None:
            trainable = self.synchronization is not VariableSynchronization.ON_READ
        self._trainable = bool(trainable)
        self._lock_number = variable_locks.new_number()
        self._number = new_variable_number()
        self._plans: weakref.WeakSet[Any] | None = None
        self.aside: Callable[[Any, int], Any] | None = None
        # Of the state of one random operation in a graph, what it begins with: two seeds, or none
        # of them. Graphs keep such a variable alive, as nobody else has it.
        self.seeds: tuple[int, ...] | None = None
        # Files that it was loaded from: they pickle it while its value is theirs.
        self.origin: Origin | None = None
        if shape is None:
            self._shape = value.shape
        else:
            self._shape = TensorShape(shape)
            if not self._shape.is_compatible_with(value.shape):
                raise ValueError(
                    f"The initial value's shape ({value.shape}) is not compatible with the "
                    f"explicitly supplied `shape` argument ({self._shape})."
                )
        # Values that are assigned come here, wherever they were computed.
        self._home = trace_device(placed(context.device, "VariableV2", self._name, (value,)))
        self._raw: RawValue = values.copy_to_device(value._raw, self._home)
        if context.graph is not None:
            register_created(context.graph, self)
        living[self._number] = self
        deferred_restores.created(self)

    # Facts

    @property
    def name(self) -> str:
        """Name with TensorFlow's ``:0`` suffix."""
        return self._name

    @property
    def dtype(self) -> DType:
        """Element type; fixed."""
        return self._dtype

    @property
    def shape(self) -> TensorShape:
        """Static shape."""
        return self._shape

    @property
    def ndim(self) -> int | None:
        """Number of dimensions, None if unknown."""
        return self._shape.rank

    @property
    def trainable(self) -> bool:
        """True if tapes watch it by themselves."""
        return self._trainable

    @property
    def constraint(self) -> Callable[[Tensor], Any] | None:
        """The function that optimizers apply to each new value, or None."""
        return self._constraint

    @property
    def device(self) -> str:
        """The device of the value: that of the device scope in which the variable was made."""
        return full_name(self._home)

    @property
    def handle(self) -> Variable:
        """The variable itself: here a variable is its own resource."""
        return self

    @property
    def _shared_name(self) -> str:
        """The name without ``:0``; libraries use it, as they use TensorFlow's."""
        return self._name.removesuffix(":0")

    @property
    def _unique_id(self) -> str:
        """A text that no other variable of the process has."""
        return f"{self._shared_name}_{self._number}"

    def get_shape(self) -> TensorShape:
        """Same as ``shape``."""
        return self._shape

    def set_shape(self, shape: Any) -> None:
        """Narrow the static shape."""
        self._shape = self._shape.merge_with(shape)

    def ref(self) -> Reference:
        """A hashable stand-in (variables compare by element, so they do not hash)."""
        return Reference(self)

    def __hash__(self) -> int:
        raise TypeError("Variable is unhashable. Instead, use variable.ref() as the key.")

    # Reading

    def value(self) -> Tensor:
        """The current value as a tensor; of an adapted weight, with its change."""
        adaptation = self._adaptation
        if adaptation is not None:
            return adaptation.adapted(self._value())
        context = current()
        if context.graph is None and not context.tapes and self._home == DEFAULT_DEVICE:
            return EagerTensor(self._raw, self._dtype)  # without another call
        return self._value()

    def stored_value(self) -> Tensor:
        """The current value as a tensor, without what an adapter adds to it."""
        return self.value() if self._adaptation is None else self._value()

    def _value(self) -> Tensor:
        context = current()
        graph = context.graph
        tensor: Tensor
        if graph is None:
            tensor = EagerTensor(self._raw, self._dtype)
            if self._home != DEFAULT_DEVICE:
                label(tensor, self._home)
        else:
            tensor = graph.read(self)
        for tape in context.tapes:
            if self._trainable:
                tape.watch_variable(self)
            tape.record(READ_VARIABLE, {}, (self,), (tensor,))
        return tensor

    def read_value(self) -> Tensor:
        """The current value as a tensor, on the device of the scope around."""
        tensor = self.value()
        context = current()
        if context.graph is None and trace_device(context.device) != self._home:
            return ox.Identity(tensor)
        return tensor

    def numpy(self) -> Any:
        """The stored value as a new array, as an assignment replaces it and a checkpoint holds it.

        Of a weight with an adapter (``tf.adapt.lora``) this is without its change; what programs
        compute with is ``variable.value().numpy()``.

        Raises:
            NotImplementedError: while a function is traced.
        """
        graph = current().graph
        if graph is not None:
            return graph.read(self).numpy()
        return EagerTensor(self._raw, self._dtype).numpy()

    def initialized_value(self) -> Tensor:
        """The current value: variables are always initialized."""
        return self.value()

    # Writing

    @property
    def op(self) -> Any:
        """The operation that assigned the variable last, in a function.

        So ``v.assign(x).op`` can be waited for, as in TensorFlow.

        Raises:
            AttributeError: eagerly, where nothing is to be waited for; or the function that is
                traced has not assigned the variable.
        """
        graph = current().graph
        if graph is None:
            raise Tensor._undefined("op")
        if not graph.is_assigned(self):
            raise AttributeError(f"'{self._name}' has no op: this function has not assigned it.")
        return graph.assignment_of(self)

    def assign(
        self,
        value: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Replace the value.

        Args:
            value: Anything convertible to a tensor of the variable's dtype and shape.
            use_locking: Accepted for compatibility.
            name: Accepted for compatibility.
            read_value: False: return nothing, or the operation while a function is traced.

        Returns:
            The variable.

        Raises:
            TypeError: a tensor of another dtype, or a value that does not fit.
            InvalidArgumentError: a shape that the variable does not take.
        """
        tensor = matching(self, value)
        self.check_shape(tensor.shape)
        graph = current().graph
        if graph is None:
            with variable_locks.writing((self._lock_number,)):
                self._swap(raw_of(tensor))
            return self if read_value else None
        changed: Any = graph.assign(self, tensor)
        return changed if read_value else graph.assignment_of(self)

    def check_shape(self, shape: TensorShape) -> None:
        """Refuse a value that does not fit the variable's shape.

        Raises:
            InvalidArgumentError: naming the variable and both shapes.
        """
        if not self._shape.is_compatible_with(shape):
            raise InvalidArgumentError(
                f"Cannot assign value to variable '{self._name}': Shape mismatch. The variable "
                f"shape {self._shape}, and the assigned value shape {shape} are incompatible."
            )

    def assign_add(
        self,
        delta: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Add ``delta``; see ``assign``."""
        return self._update("Add", delta, read_value)

    def assign_sub(
        self,
        delta: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Subtract ``delta``; see ``assign``."""
        return self._update("Sub", delta, read_value)

    def _update(self, op: str, delta: Any, read_value: bool) -> Any:
        tensor = matching(self, delta)

        def changed(value: Tensor) -> Tensor:
            # No broadcasting, as in TensorFlow: a wrong gradient must not go unnoticed.
            if not value.shape.is_compatible_with(tensor.shape):
                raise InvalidArgumentError(
                    f"Cannot update variable '{self._name}' of shape {value.shape} with a value of "
                    f"shape {tensor.shape}: the shapes must be equal."
                )
            return apply(op, (value, tensor))

        result = self._change(changed)
        if read_value:
            return result
        graph = current().graph
        return None if graph is None else graph.assignment_of(self)

    def _change(self, function: Callable[[Tensor], Tensor]) -> Variable:
        """Replace the value by a function of itself; no other thread comes between."""
        graph = current().graph
        if graph is not None:
            changed: Variable = self.assign(function(graph.read(self)))
            return changed
        with variable_locks.writing((self._lock_number,)):
            result = self._at_home(function)
            self.check_shape(result.shape)
            self._swap(raw_of(result))
        return self

    def _snapshot(self) -> EagerTensor:
        """The current value as a tensor, on the variable's device."""
        tensor = EagerTensor(self._raw, self._dtype)
        return tensor if self._home == DEFAULT_DEVICE else label(tensor, self._home)

    def _at_home(self, function: Callable[[Tensor], Tensor]) -> Tensor:
        """A function of the value, run on the variable's device."""
        if self._home == DEFAULT_DEVICE and current().device is None:
            return function(EagerTensor(self._raw, self._dtype))
        with using(device=None if self._home == DEFAULT_DEVICE else self._home):
            return function(self._snapshot())

    def _peek(self) -> Any:
        """The value for an update: no tape needs to know of this read."""
        graph = current().graph
        return self._snapshot() if graph is None else graph.read(self)

    def _swap(self, value: RawValue) -> None:
        """Install a new value of the right dtype and shape; the caller holds the lock.

        Frozen plans learn of it before this returns.
        """
        if values.gpu_in_use:
            value = values.copy_to_device(value, self._home)
        if observers:
            tell_observers(self)
        self._raw = value
        if self._plans is not None:
            self._tell_plans()

    def _tell_plans(self) -> None:
        with _plans_lock:
            plans, self._plans = self._plans, None
        for plan in plans or ():
            plan.variable_changed()

    def add_plan(self, plan: Any) -> None:
        """Call ``plan.variable_changed()`` at the next assignment."""
        with _plans_lock:
            if self._plans is None:
                self._plans = weakref.WeakSet()
            self._plans.add(plan)

    # Python protocols (operators are attached by ops.operators)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self._peek().__array__(dtype, copy)

    def __bool__(self) -> bool:
        return bool(self._peek())

    def __int__(self) -> int:
        return int(self._peek())

    def __float__(self) -> float:
        return float(self._peek())

    def __index__(self) -> int:
        return operator.index(self._peek())

    def __len__(self) -> int:
        return len(self._peek())

    def __iter__(self) -> Any:
        return iter(self.value())

    def __dlpack__(self, **options: Any) -> Any:
        return self._peek().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return EagerTensor(self._raw, self._dtype).__dlpack_device__()

    def __repr__(self) -> str:
        head = f"<tf.Variable '{self._name}' shape={self._shape} dtype={self._dtype.name}"
        if current().graph is not None:
            return head + ">"
        return f"{head}, numpy={EagerTensor(self._raw, self._dtype)._text_repr()}>"

    def __deepcopy__(self, memo: dict[int, Any]) -> Variable:
        with using(device=self._home):
            copied = _remade(self._snapshot(), self._facts)
        memo[id(self)] = copied
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        if self.origin is not None:
            reduced = self.origin.reduced(self)
            if reduced is not None:
                return reduced
        return (_remade, (EagerTensor(self._raw, self._dtype), self._facts))

    @property
    def _facts(self) -> dict[str, Any]:
        """Return the properties that copies share, except the value; defaults are left out."""
        facts = {
            "trainable": self._trainable,
            "name": self._name.removesuffix(":0"),
            "shape": self._shape,
            "constraint": self._constraint,
            "synchronization": self.synchronization,
            "aggregation": self.aggregation,
            "aside": self.aside,
        }
        return {k: v for k, v in facts.items() if _FACTS.get(k, _NO_DEFAULT) is not v}


_NO_DEFAULT = object()
_FACTS = {
    "constraint": None,
    "synchronization": VariableSynchronization.AUTO,
    "aggregation": VariableAggregation.NONE,
    "aside": None,
}


def variable_of(value: Any) -> Any:
    """The variable that another library's object stands for, or ``value`` itself.

    Such an object has a method ``__tf_variable__()`` that returns its variable, which tapes watch
    and differentiate by and optimizers update; ``__tf_tensor__()`` makes it a tensor elsewhere.
    """
    meant = getattr(value, "__tf_variable__", None)
    return value if meant is None else meant()


def install(variables: Sequence[Variable], new: Sequence[RawValue]) -> None:
    """``Variable._swap`` for many: a signal finds all of them changed, or none.

    Args:
        variables: What changes; the caller holds their locks, and ``installs``.
        new: A value for each.
    """
    if values.gpu_in_use:
        new = [values.copy_to_device(n, v._home) for v, n in zip(variables, new, strict=True)]
    for variable in variables:
        if observers:
            tell_observers(variable)
        if variable._plans is not None:  # nobody makes another one during an installation
            variable._tell_plans()
    # One call of C code, inside of which Python serves no signals.
    deque(map(setattr, variables, repeat("_raw"), new), maxlen=0)


def _remade(value: EagerTensor, facts: dict[str, Any]) -> Variable:
    """A copy of a variable."""
    given = {k: v for k, v in facts.items() if k != "aside"}
    copied = Variable(value, **given)
    if "aside" in facts:
        copied.aside = facts["aside"]
    return copied


def seeds_of(variable: Variable) -> tuple[int, ...] | None:
    """Return the initial state of a graph's random operation; None for other variables."""
    return getattr(variable, "seeds", None)  # variables of sessions have none
