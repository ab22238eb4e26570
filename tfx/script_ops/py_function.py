"""``py_function`` and ``numpy_function``: Python code as an operation.

Eagerly and in a graph the same happens: the function gets eager tensors (or arrays), what it
returns is checked against ``Tout``, and its exceptions become errors of tfx.

The gradient of a ``py_function`` is that of the eager operations it carries out. Once a gradient
was asked for, a run keeps its tape under a number that is one more output; the backward call gets
that number and finds the tape, so the function's effects happen once. A tape that is gone, because
it was used already or too many are waiting, is made again by running the function again.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tfx.autodiff.tape import GradientTape, UnconnectedGradients
from tfx.core import dtypes, nest
from tfx.core.dtypes import DType
from tfx.core.errors import ConversionError, InvalidArgumentError, OpError
from tfx.core.specs import TensorSpec
from tfx.framework.composite import leaves as structures
from tfx.framework.context import current, using
from tfx.framework.convert import convert_to_tensor
from tfx.framework.host_call import host_call
from tfx.framework.rules import OpRecord
from tfx.framework.tensor import EagerTensor, Tensor, from_array
from tfx.function.execution.python_errors import error_of
from tfx.function.recompute.random_replay import active_logs, run_once
from tfx.graph.ir import HOST, HostCall, RawShape
from tfx.ops.array.creation import zeros_like
from tfx.ops.common.arguments import tensor

# Eager tensors and whether a tape watches -> results.
_Body: TypeAlias = "Callable[[Sequence[EagerTensor], bool], Sequence[EagerTensor]]"
# How many runs of one py_function may wait for their backward call.
_KEPT = 64
_NO_TAPE = -1
_numbers = itertools.count()


def py_function(
    func: Any = None,
    inp: Any = None,
    Tout: Any = None,  # noqa: N803
    name: str | None = None,
) -> Any:
    """Call a Python function with eager tensors, as an operation.

    Inside a function it is called whenever that runs, in the order of the program: a variable that
    it reads has the value that the function assigned before. What ``func`` assigns itself takes
    effect at once, but the function's own operations go on with the values that they began with;
    a variable that the function assigns too is refused. Gradients flow to the tensors in ``inp``,
    of any order; for orders above the first ``func`` is called again. A function with a
    ``py_function`` cannot be saved.

    Args:
        func: Takes as many eager tensors as ``inp`` has, returns what ``Tout`` says, or None for no
            outputs. Without it the call is a decorator, ``@tf.py_function(Tout=...)``.
        inp: Tensors, variables (which are read) or values convertible to tensors.
        Tout: Dtype of the result, or a list of dtypes for as many. A ``TensorSpec`` instead of a
            dtype also says the shape. Ragged and sparse tensors have specs of their own, and may
            be in ``inp``.
        name: Accepted for compatibility.

    Returns:
        A tensor, or a list if ``Tout`` is one.

    Raises:
        ValueError: ``func`` cannot be called.
        InvalidArgumentError: ``func`` returned something else, or raised a TypeError or ValueError.
        FailedPreconditionError: ``func`` assigned a variable that the function assigns.
        OpError: for other exceptions: ``OutOfRangeError`` for StopIteration,
            ``ResourceExhaustedError`` for MemoryError, ``UnimplementedError`` for
            NotImplementedError, ``UnknownError`` for the rest; an error of tfx is raised as it is.
            The exception is the cause.

    Example:
        >>> import tfx as tf
        >>> @tf.function
        ... def double(x):
        ...     return tf.py_function(lambda x: x + float(x), [x], tf.float32)
        >>> float(double(tf.constant(3.0)))
        6.0
    """
    if func is None and inp is None:
        return _decorator(py_function, Tout)
    given = [] if inp is None else list(inp)
    if any(map(_is_composite, given)) or any(map(_is_composite, nest.flatten(Tout))):
        return _with_composites(func, given, Tout)
    site = _Site(func, Tout, "py_function")
    operation = _Differentiable(site.run_tensors, site.types, site.name)
    return site.packed(operation.call(_tensors(inp)))


def numpy_function(
    func: Any = None,
    inp: Any = None,
    Tout: Any = None,  # noqa: N803
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """Call a Python function with NumPy arrays, as an operation. It has no gradient.

    See ``py_function``, which differs in what the function gets.

    Args:
        func: Takes as many arrays as ``inp`` has (NumPy scalars for scalars, bytes for strings),
            returns what ``Tout`` says, or None for no outputs.
        inp: Tensors, variables or values convertible to tensors. Outside of functions also other
            objects, None among them: the function gets them as NumPy arrays of objects.
        Tout: Dtype of the result, or a list of dtypes for as many.
        stateful: Whether it must be called if nothing uses its results.
        name: Accepted for compatibility.

    Returns:
        A tensor, or a list if ``Tout`` is one.

    Raises:
        ValueError: ``func`` cannot be called.
        InvalidArgumentError: ``func`` returned something else.
        OpError: see ``py_function``; outside of functions its exceptions are raised as they are.

    Example:
        >>> import numpy as np
        >>> import tfx as tf
        >>> tf.numpy_function(np.sinh, [tf.constant(0.0)], tf.float32).numpy()
        np.float32(0.0)
    """
    if func is None and inp is None:
        return _decorator(numpy_function, Tout, stateful=stateful)
    site = _Site(func, Tout, "numpy_function")
    if current().graph is None:
        arrays = [_array(x) for x in (() if inp is None else inp)]
        logs = active_logs()
        if logs:
            return site.packed(run_once(logs, lambda: site.run_arrays(arrays))[0])
        return site.packed(site.run_arrays(arrays))
    inputs = _tensors(inp)

    def run(given: Sequence[EagerTensor]) -> Sequence[EagerTensor]:
        try:
            with _outside():
                return site.run_arrays([x.numpy() for x in given])
        except OpError:
            raise
        except Exception as e:
            raise error_of(e, site.place) from e

    call = HostCall("numpy_function", run, site.name, effect=stateful, portable=False)
    return site.packed(host_call(call, inputs, site.types))


def _is_composite(value: Any) -> bool:
    """True for a ragged or sparse tensor, an extension type, or the spec of one."""
    return hasattr(type(value), "_tfx_expanded_kind")


def _with_composites(func: Any, given: list[Any], tout: Any) -> Any:
    """The same, where what consists of several tensors is given or returned."""
    values = [x if _is_composite(x) else tensor(x) for x in given]
    single = not isinstance(tout, list | tuple)

    def apart(*tensors: EagerTensor) -> list[Any]:
        returned = func(*structures.pack(values, tensors, _is_composite))
        results = [returned] if single else returned
        return [
            part
            for spec, x in zip([tout] if single else tout, results, strict=True)
            for part in (structures.flatten(x, _is_composite) if _is_composite(spec) else [x])
        ]

    functools.update_wrapper(apart, func)
    inputs, types = (structures.flatten(x, _is_composite) for x in (values, [tout]))
    return structures.pack(tout, py_function(apart, inputs, types), _is_composite)


def _decorator(operation: Callable[..., Any], tout: Any, **options: Any) -> Any:
    """Return a decorator for ``@tf.py_function(Tout=...)``: the function then takes tensors."""

    def decorate(func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def applied(*args: Any, **kwargs: Any) -> Any:
            bound = inspect.signature(func).bind(*args, **kwargs)
            bound.apply_defaults()
            return operation(func, list(bound.args), tout, **options)

        return applied

    return decorate


def _tensors(inp: Any) -> list[Tensor]:
    return [tensor(x) for x in (() if inp is None else inp)]


def _array(value: Any) -> Any:
    """What the function gets outside of graphs; no tensor holds None and other objects."""
    try:
        found: Any = tensor(value)
    except ConversionError:
        return np.array(value)
    return found.numpy()


_AS_IT_IS = nullcontext()


def _outside() -> AbstractContextManager[Any]:
    """Return the context of the Python code: no graph, tapes or name scope."""
    context = current()
    if context.graph is None and not context.tapes and not context.scope:
        return _AS_IT_IS
    return using(graph=None, tapes=(), scope="")


class _Site:
    """One use of a Python function: what it is called, and what it must return."""

    def __init__(self, func: Any, tout: Any, kind: str) -> None:
        if not callable(func):
            raise ValueError(
                f"Expected func to be callable. Received func={func!r} of type {type(func)}."
            )
        self._func = func
        self.name = getattr(func, "__name__", None) or type(func).__name__
        self.place = f"{kind} {self.name}"
        self._single = not isinstance(tout, list | tuple)
        given: Iterable[Any] = (tout,) if self._single else tout
        self._specs = [
            s if isinstance(s, TensorSpec) else TensorSpec(None, dtypes.as_dtype(s)) for s in given
        ]
        self.types: list[tuple[DType, RawShape]] = [
            (s.dtype, s.shape.symbolic) for s in self._specs
        ]

    def packed(self, results: Sequence[Tensor]) -> Any:
        """The results as ``Tout`` has them."""
        return results[0] if self._single else list(results)

    def run_tensors(self, given: Sequence[EagerTensor], watched: bool) -> Sequence[EagerTensor]:
        """Call it with tensors, and make tensors of what it returns."""
        try:
            returned = self._func(*given)
        except OpError:
            raise
        except Exception as e:
            raise error_of(e, self.place) from e
        return self._checked(self._values(returned), convert_to_tensor)

    def run_arrays(self, given: Sequence[Any]) -> Sequence[EagerTensor]:
        """Call it with arrays."""
        returned = self._func(*given)
        return self._checked(self._values(returned), _typed)

    def _values(self, returned: Any) -> Sequence[Any]:
        if returned is None:
            values: Sequence[Any] = ()
        else:
            values = returned if isinstance(returned, list | tuple) else (returned,)
        if len(values) != len(self._specs):
            raise InvalidArgumentError(
                f"{self.name} returns {len(values)} values, but expects to see "
                f"{len(self._specs)} values (Tout); in {self.place}."
            )
        return values

    def _checked(
        self, values: Sequence[Any], convert: Callable[[Any, DType], Any]
    ) -> list[EagerTensor]:
        results = []
        for i, (value, spec) in enumerate(zip(values, self._specs, strict=True)):
            try:
                result = convert(value, spec.dtype)
            except (TypeError, ValueError) as e:
                found = getattr(value, "dtype", None)
                kind = type(value).__name__ if found is None else getattr(found, "name", found)
                raise InvalidArgumentError(
                    f"{i}-th value returned by {self.name} is {kind}, but expects "
                    f"{spec.dtype.name} (Tout): {e}"
                ) from e
            if not spec.shape.is_compatible_with(result.shape):
                raise InvalidArgumentError(
                    f"{i}-th value returned by {self.name} has shape {result.shape}, but expects "
                    f"{spec.shape} (Tout)."
                )
            results.append(result)
        return results


def _typed(value: Any, dtype: DType) -> Tensor:
    """A result of a function of arrays: of the dtype that it has; Python numbers have none."""
    array = value.numpy() if isinstance(value, EagerTensor) else value
    if isinstance(array, np.ndarray | np.generic) and array.dtype.kind not in "OSUT":
        if dtypes.as_dtype(array.dtype) is not dtype:
            raise TypeError("NumPy values are not cast.")
        return from_array(np.array(array))
    return convert_to_tensor(array, dtype)


class _Run(NamedTuple):
    """A run under a tape."""

    tape: GradientTape
    inputs: Sequence[EagerTensor]
    results: Sequence[EagerTensor]


class _Differentiable:
    """A Python function of eager tensors as an operation with a gradient.

    Args:
        body: Computes the results.
        types: Dtype and static shape of each.
        name: For messages and listings.
        effect: Whether it must run although nothing uses its results.
    """

    def __init__(
        self,
        body: _Body,
        types: Sequence[tuple[DType, RawShape]],
        name: str,
        *,
        effect: bool = True,
    ) -> None:
        self._body = body
        self._types = types
        self._name = name
        self._call = HostCall(
            "py_function",
            self._run_in_graph,
            name,
            effect=effect,
            portable=False,
            gradient=self._gradient,
            expect_gradient=self._expect_gradient,
        )
        # Whether some gradient needs the tapes of runs in graphs.
        self._wanted = False
        self._kept: OrderedDict[int, _Run] = OrderedDict()
        self._lock = threading.Lock()

    def call(self, inputs: Sequence[Tensor]) -> Sequence[Tensor]:
        """Apply it, and record it on the tapes."""
        context = current()
        watched = any(tape.depends(x) for tape in context.tapes for x in inputs)
        if context.graph is not None:
            self._wanted = self._wanted or watched
            results = host_call(self._call, inputs, [*self._types, (dtypes.int64, ())])
        else:
            logs, call = active_logs(), self._call
            if logs:  # what may be done again is done once, under a tape
                found, call = run_once(logs, lambda: self._alone(inputs, True), call)
                results = tuple(found)
            else:
                results = tuple(self._alone(inputs, watched))
            for tape in context.tapes:
                tape.record(HOST, {"call": call}, inputs, results)
        return results[:-1]

    def _alone(self, inputs: Sequence[Tensor], watched: bool) -> list[EagerTensor]:
        with _outside():
            return self._run(inputs, watched)  # type: ignore[arg-type]

    def _expect_gradient(self) -> None:
        self._wanted = True

    def _run_in_graph(self, given: Sequence[EagerTensor]) -> Sequence[EagerTensor]:
        with _outside():
            return self._run(given, self._wanted)

    def _run(self, given: Sequence[EagerTensor], keep: bool) -> list[EagerTensor]:
        """The results and the number of the tape."""
        if not keep:
            return [*self._body(given, False), _number(_NO_TAPE)]
        run = self._taped(given)
        number = next(_numbers)
        with self._lock:
            self._kept[number] = run
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        # New objects: to a tape a result that is an input would be no result.
        return [*[EagerTensor(y._raw, y._dtype) for y in run.results], _number(number)]

    def _taped(self, given: Sequence[EagerTensor]) -> _Run:
        with GradientTape(watch_accessed_variables=False) as tape:
            for x in given:
                if x.dtype.is_floating:
                    tape.watch(x)
            return _Run(tape, given, self._body(given, True))

    def _gradient(self, op: OpRecord, *dys: Tensor | None) -> list[Tensor | None]:
        """Another operation of this kind: from inputs and gradients of results to gradients."""
        self._wanted = True
        *results, number = op.outputs
        inputs = list(op.inputs)
        floating = [i for i, x in enumerate(inputs) if x.dtype.is_floating]
        given = [
            zeros_like(y) if dy is None else dy
            for y, dy in zip(results, dys, strict=False)
            if y.dtype.is_floating
        ]
        types = [(inputs[i].dtype, inputs[i].shape.symbolic) for i in floating]
        count = len(inputs)

        def body(tensors: Sequence[EagerTensor], watched: bool) -> list[EagerTensor]:
            return self._backward(tensors[0], tensors[1 : count + 1], tensors[count + 1 :], watched)

        backward = _Differentiable(body, types, f"gradient of {self._name}", effect=False)
        found = backward.call([number, *inputs, *given])
        gradients: list[Tensor | None] = [None] * count
        for i, gradient in zip(floating, found, strict=True):
            gradients[i] = gradient
        return gradients

    def _backward(
        self,
        number: EagerTensor,
        inputs: Sequence[EagerTensor],
        dys: Sequence[EagerTensor],
        watched: bool,
    ) -> list[EagerTensor]:
        """Gradients of the floating inputs. A tape around wants to see the whole computation."""
        with self._lock:
            kept = None if watched else self._kept.pop(int(number), None)
        run = self._taped(inputs) if kept is None else kept
        found: Any = run.tape.gradient(
            [y for y in run.results if y.dtype.is_floating],
            [x for x in run.inputs if x.dtype.is_floating],
            list(dys),
            unconnected_gradients=UnconnectedGradients.ZERO,
        )
        return [convert_to_tensor(g) for g in found]  # type: ignore[misc]


def _number(value: int) -> EagerTensor:
    return from_array(np.array(value, np.int64), owned=True)
