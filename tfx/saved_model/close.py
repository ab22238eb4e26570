"""Opening the sessions of a loaded object ahead of its calls, and giving everything back.

Owns what ``warmup`` and ``close`` do to the functions and variables of a loaded object. The one
decision: a closed variable has a state that refuses to give its value, so neither variables nor
functions become slower for those that are open.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable
from typing import Any, NoReturn, cast

from tfx.core.errors import NotFoundError
from tfx.framework import variable_locks
from tfx.framework.context import init_scope
from tfx.framework.variable import Variable, _plans_lock
from tfx.framework.variable_state import VariableState, clear, set_state, state_of
from tfx.function.execution.concrete_function import ConcreteFunction
from tfx.loaders.messages import nearest
from tfx.runtime.release_memory import release_memory
from tfx.runtime.values import RawValue
from tfx.saved_model.traces import LoadedFiles
from tfx.saved_model.variable_swap import files_of


def warmup(loaded: Any, signature: str | None = None) -> None:
    """Open the sessions of a loaded object, so that first calls need not.

    Args:
        loaded: What ``load`` returned, or a part of it.
        signature: Only that of this signature; None: of all functions that were saved.

    Raises:
        NotFoundError: there is no such signature.
        BundleError: a file is damaged.
        FailedPreconditionError: it was closed.
        InvalidArgumentError: the object was not loaded.

    Example:
        >>> import tempfile
        >>> import tfx as tf
        >>> m = tf.Module()
        >>> m.f = tf.function(lambda x: x + 1.0, input_signature=[tf.TensorSpec([])])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tf.saved_model.save(m, folder + "/m")
        ...     loaded = tf.saved_model.load(folder + "/m")
        ...     tf.saved_model.warmup(loaded)
        ...     float(loaded.f(1.0))
        2.0
    """
    files = files_of(loaded)
    files.refuse_closed()
    names = {s.name: s.concrete_function for s in files.manifest.signatures}
    if signature is not None and signature not in names:
        known = nearest(signature, names)
        raise NotFoundError(f"{files.root} has no signature {signature!r}; {known}")
    everything = range(len(files.manifest.concrete_functions))
    with init_scope():
        for number in everything if signature is None else (names[signature],):
            concrete = files.trace(number).concrete
            concrete.warm_up()
            for variable in concrete.variables:
                variable._raw  # noqa: B018  its file is checked


def close(loaded: Any) -> None:
    """Give the sessions and variables of a loaded object, and their memory, back.

    Calls that are under way come to their end. Later ones are refused, and so is the use of a
    variable, also by functions of other objects that use it. Tensors that were handed out stay as
    they are. Closing again does nothing.

    Args:
        loaded: What ``load`` returned, or a part of it; all of the bundle is closed.

    Raises:
        InvalidArgumentError: the object was not loaded.

    Example:
        >>> import tempfile
        >>> import tfx as tf
        >>> m = tf.Module()
        >>> m.v = tf.Variable(2.0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tf.saved_model.save(m, folder + "/m")
        ...     loaded = tf.saved_model.load(folder + "/m")
        ...     value = loaded.v.read_value()
        ...     tf.saved_model.close(loaded)
        >>> float(value)
        2.0
        >>> try:
        ...     loaded.v.numpy()
        ... except tf.errors.FailedPreconditionError:
        ...     print("closed")
        closed
    """
    files = files_of(loaded)
    for trace in files.close():
        _close_function(trace.concrete, files)
    with variable_locks.writing(variable_locks.in_order(v._lock_number for v in files.variables)):
        variable_locks.installs.during(_close_variables, files.variables)
    gc.collect()  # graphs and the tensors in them refer to each other
    release_memory()


def _close_function(concrete: ConcreteFunction, files: LoadedFiles) -> None:
    """Let go of its sessions and derivatives; whoever has the function gets an error."""
    plan = _ClosedPlan(f"function {concrete.name!r}", files)
    concrete.close(plan.refuse, plan)


def _close_variables(variables: Iterable[Variable]) -> None:
    for variable in variables:
        _close_variable(variable)


def _close_variable(variable: Variable) -> None:
    if state_of(variable) is not _closed:
        set_state(variable, _closed)
        clear(variable)
        with _plans_lock:
            plans, variable._plans = variable._plans, None
        for plan in plans or ():
            plan.variable_changed()


class Closed(VariableState):
    """A variable of a loaded object that was closed: its value cannot be obtained."""

    __slots__ = ()

    def read(self, variable: Variable) -> RawValue:
        """Refuse."""
        _refuse(variable)

    def write(self, variable: Variable, value: RawValue) -> None:
        """Refuse."""
        _refuse(variable)

    def describe(self, variable: Variable) -> str:
        """The ``repr`` without a value."""
        dtype, shape = variable.dtype.name, variable.shape
        return f"<tf.Variable '{variable.name}' shape={shape} dtype={dtype}, closed>"


def _refuse(variable: Variable) -> NoReturn:
    cast(LoadedFiles, variable.origin).refuse(f"variable {variable.name!r}")


_closed = Closed()


class _ClosedPlan:
    """The plan of a function of a closed object: every use of it raises."""

    def __init__(self, what: str, files: LoadedFiles) -> None:
        self._what, self._files = what, files

    def refuse(self) -> NoReturn:
        """Say that the bundle was closed."""
        self._files.refuse(self._what)

    def __getattr__(self, name: str) -> NoReturn:
        self.refuse()
