"""``Function``: a Python function that runs as graphs, one for each kind of arguments."""

from __future__ import annotations

import functools
import sys
import threading
import types
import weakref
from collections.abc import Callable, Sequence
from typing import Any, overload

from tfx.core import nest
from tfx.core.specs import TensorSpec
from tfx.framework import deferred
from tfx.framework.context import current
from tfx.framework.func_graph import FuncGraph
from tfx.framework.tensor import EagerTensor, Tensor
from tfx.function.arguments import check_names, fit, has_named_dims
from tfx.function.concrete import ConcreteFunction
from tfx.function.settings import functions_run_eagerly as _run_eagerly
from tfx.function.signature import (
    Arguments,
    Parameters,
    accepts,
    leaf_names,
    spec_shape,
    tensor_key,
)
from tfx.function.trace import Trace

DEFAULT_DEVICE = "CPU:0"
# One for all functions: two that call each other, traced from two threads, would wait for ever.
_trace_lock = threading.RLock()
_FAST_LIMIT = 1024


class Function:
    """A callable that traces a Python function into ONNX graphs and runs them.

    Made by ``tfx.function``.

    Args:
        python_function: The function to trace.
        name: Name of the graphs.
        input_signature: Specs of the arguments; one trace serves every call.
        reduce_retracing: Generalise a dimension of an argument once it has varied.
    """

    def __init__(
        self,
        python_function: Callable[..., Any],
        name: str,
        input_signature: Sequence[Any] | None = None,
        reduce_retracing: bool = False,
    ) -> None:
        self._python_function = python_function
        self._name = name
        self.input_signature = _checked_signature(input_signature)
        self._reduce_retracing = reduce_retracing
        self._parameters = Parameters(python_function)
        self._arity = self._parameters.simple
        self._cache: dict[Any, ConcreteFunction] = {}
        # Device, dtypes and shapes of calls with nothing but eager tensors -> what serves them.
        self._fast: dict[Any, ConcreteFunction] = {}
        # The input signature by parameters, and taken apart; made at the first call.
        self._specified: tuple[Any, ...] | None = None
        self._signature_specs: Arguments | None = None
        self._concrete: list[ConcreteFunction] = []
        self._traces = 0
        # Of a method: the instance that it is bound to.
        self._instance: weakref.ref[Any] | None = None
        self._bound: dict[int, tuple[weakref.ref[Any], Function]] = {}
        self._seen_shapes: dict[Any, list[Any]] = {}
        # Variables may be created by the first trace only.
        self._first_call_done = False
        functools.update_wrapper(self, python_function, updated=())

    @property
    def python_function(self) -> Callable[..., Any]:
        """The function that is traced."""
        return self._python_function

    @property
    def name(self) -> str:
        """Name of the graphs."""
        return self._name

    @property
    def function_spec(self) -> Parameters:
        """The parameters of the Python function."""
        return self._parameters

    def experimental_get_tracing_count(self) -> int:
        """How many times the Python function was traced."""
        return self._traces

    def concrete_functions(self) -> list[ConcreteFunction]:
        """The traces made so far."""
        return list(self._concrete)

    @property
    def variables(self) -> tuple[Any, ...]:
        """The variables that the traces made so far use."""
        found = {id(v): v for c in self._concrete for v in c.variables}
        return tuple(found.values())

    @property
    def trainable_variables(self) -> tuple[Any, ...]:
        """Those of ``variables`` that are trainable."""
        return tuple(v for v in self.variables if v.trainable)

    def pretty_printed_concrete_signatures(self) -> str:
        """The signatures of the traces made so far, as text."""
        return "\n\n".join(c.pretty_printed_signature() for c in self._concrete)

    # Calling

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run the graph for these arguments, tracing it first if they are of a new kind."""
        context = current()
        key: Any = None
        if not kwargs and len(args) == self._arity:
            # The hot path: nothing but eager tensors.
            parts: list[Any] = [context.device]
            for x in args:
                if type(x) is not EagerTensor:
                    break
                parts.append((x._dtype.onnx, *x._value.shape()))
            else:
                key = tuple(parts)
                served = self._fast.get(key)
                if served is not None and not context.eager_functions and not _run_eagerly():
                    return served.call_flat(args)
        if context.eager_functions or _run_eagerly():
            return self._python_function(*args, **kwargs)
        concrete, tensors = self._concrete_for(args, kwargs)
        if key is not None and not concrete.graph.captures:
            if len(self._fast) >= _FAST_LIMIT:
                self._fast.clear()
            self._fast[key] = concrete
        return concrete.call_flat(tensors)

    def get_concrete_function(self, /, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """The trace for the given arguments, made if there is none.

        Args:
            *args: Arguments of the function; ``TensorSpec`` stands for any tensor of its kind.
            **kwargs: The same by name.
        """
        if self.input_signature is not None and not args and not kwargs:
            args, kwargs = self._parameters.call_of(self._signature_by_parameter())
        return self._concrete_for(args, kwargs, exact=True)[0]

    def _concrete_for(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], *, exact: bool = False
    ) -> tuple[ConcreteFunction, list[Any]]:
        values = self._parameters.bind(self._name, args, kwargs)
        if self.input_signature is not None:
            values = self._cast_to_signature(values)
        arguments = self._arguments(values)
        if arguments.spec is not None and not exact:
            raise TypeError(
                f"{self._name}(): argument {arguments.spec!r} is a TensorSpec, which has no "
                "contents; give it to get_concrete_function, and call that with tensors."
            )
        context = current()
        specs = arguments if self.input_signature is None else self._specs(values)
        key = (context.device, *specs.key)
        found = self._lookup(key, context.graph)
        if found is None:
            with _trace_lock:
                found = self._lookup(key, context.graph)
                if found is None and not exact:
                    found = self._general(key, context.graph)
                if found is None:
                    found = self._trace(key, specs, arguments)
        return found, arguments.tensors

    def _arguments(self, values: tuple[Any, ...]) -> Arguments:
        return Arguments(values, self._parameters.names)

    def _lookup(self, key: Any, graph: FuncGraph | None) -> ConcreteFunction | None:
        concrete = self._cache.get(key)
        if concrete is not None and concrete.graph.captures:
            # It uses tensors of the function it was traced in: good only inside that one.
            outer = concrete.graph.parent
            while graph is not None and graph is not outer:
                graph = graph.parent
            if graph is None:
                return None
        return concrete

    def _general(self, key: Any, graph: FuncGraph | None) -> ConcreteFunction | None:
        """An existing trace for more general shapes; remembered under this key."""
        for known in reversed(list(self._cache)):
            found = self._lookup(known, graph) if _key_accepts(key, known, {}) else None
            if found is not None:
                self._cache[key] = found
                return found
        return None

    def _trace(self, key: Any, arguments: Arguments, given: Arguments) -> ConcreteFunction:
        context = current()
        device = context.device or DEFAULT_DEVICE
        first = not self._first_call_done
        shapes = self._generalised(arguments) if self._reduce_retracing else None
        trace = self._new_trace(arguments, given, shapes)
        concrete = trace.run(device, allow_variables=first)
        created = trace.func_graph.created_variables or ()
        if first:
            self._first_call_done = True
            if created:
                # The behaviour from now on is that of a call that finds its variables there.
                trace = self._new_trace(arguments, given, shapes)
                concrete = trace.run(device, allow_variables=False)
        # A checkpoint that was restored before these variables existed may hold their values.
        deferred.traced(concrete.variables, created)
        if shapes is not None:
            key = (context.device, *_generalised_key(key[1:], iter(shapes)))
        self._cache[key] = concrete
        self._concrete.append(concrete)
        return concrete

    def _new_trace(
        self, arguments: Arguments, given: Arguments, shapes: Sequence[Any] | None
    ) -> Trace:
        self._traces += 1
        return Trace(self._python_function, self._name, self._parameters, arguments, given, shapes)

    def _generalised(self, arguments: Arguments) -> list[Any] | None:
        """Shapes with unknown dimensions where earlier calls of the same kind had others."""
        tensors = [x for x in arguments.leaves if isinstance(x, Tensor | TensorSpec)]
        keys = [leaf_key(x, f"arg{i}") for i, x in enumerate(tensors)]
        kind = tuple((d, None if s is None else len(s)) for d, s in keys)
        shapes = [s for _, s in keys]
        previous = self._seen_shapes.get(kind)
        if previous is None:
            self._seen_shapes[kind] = shapes
            return None
        merged = [
            _merge(a, b, f"arg{i}") for i, (a, b) in enumerate(zip(previous, shapes, strict=True))
        ]
        self._seen_shapes[kind] = merged
        return merged

    # Input signatures

    def _specs(self, values: tuple[Any, ...]) -> Arguments:
        """The arguments with specs in place of those that the signature covers."""
        signature = self._specified or ()
        if len(signature) < len(values):
            return self._arguments(signature + values[len(signature) :])
        if self._signature_specs is None:
            self._signature_specs = self._arguments(signature)
        return self._signature_specs

    def _signature_by_parameter(self) -> tuple[Any, ...]:
        """Specs for each parameter. Made late: a method's is not known before it has its instance.

        Raises:
            TypeError: the signature and the parameters do not match.
        """
        if self._specified is None:
            self._specified = self._parameters.assign_specs(self._name, self.input_signature or ())
        return self._specified

    def _cast_to_signature(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """Arguments as tensors that fit the signature.

        Raises:
            TypeError: the structure differs, or the signature and the parameters do not match.
            InvalidArgumentError: a dtype or shape does not fit.
        """
        signature, names = self._signature_by_parameter(), self._parameters.names
        cast = [fit(self._name, n, s, v) for n, s, v in zip(names, signature, values, strict=False)]
        specs = nest.flatten(signature)
        if has_named_dims(specs):
            leaves = leaf_names(names[: len(cast)], signature)
            check_names(self._name, leaves, specs, nest.flatten(cast))
        return tuple(cast) + values[len(cast) :]

    # Methods

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        known = self._bound.get(id(instance))
        if known is not None and known[0]() is instance:
            return known[1]
        return self._bind(instance)

    def _bind(self, instance: Any) -> Any:
        """The method of one instance: traces and variables of its own, no reference to it."""
        key, everyone = id(instance), self._bound
        try:
            reference = weakref.ref(instance, lambda _: everyone.pop(key, None))
        except TypeError:
            # Named tuples, classes with slots: the instance is an argument like any other.
            return types.MethodType(self, instance)
        with _trace_lock:
            known = everyone.get(key)
            if known is not None and known[0]() is instance:
                return known[1]
            method = _weak_method(self._python_function, reference)
            bound = Function(method, self._name, self.input_signature, self._reduce_retracing)
            bound._instance = reference
            everyone[key] = (reference, bound)
        return bound

    # Copies

    def __reduce__(self) -> Any:
        """Traces are made anew: a copied or unpickled function is as if never called."""
        instance = None if self._instance is None else self._instance()
        if instance is not None:
            return (getattr, (instance, self._python_function.__name__))
        name = getattr(self, "__qualname__", "")
        place: Any = sys.modules.get(getattr(self, "__module__", ""))
        for part in name.split("."):
            place = getattr(place, part, None)
        if place is self:
            return name
        options = (self._name, self.input_signature, self._reduce_retracing)
        return (Function, (self._python_function, *options))

    def __repr__(self) -> str:
        return f"<tfx.function {self._name}{self._parameters.signature}>"


def _weak_method(function: Callable[..., Any], reference: weakref.ref[Any]) -> Callable[..., Any]:
    """The function with its first parameter bound to what the reference holds."""

    @functools.wraps(function)
    def method(*args: Any, **kwargs: Any) -> Any:
        instance = reference()
        if instance is None:
            raise ReferenceError(
                f"The object whose method {function.__name__!r} was called is gone."
            )
        return function(instance, *args, **kwargs)

    signature = Parameters(function).signature
    parameters = list(signature.parameters.values())
    if parameters and parameters[0].kind.name.startswith("POSITIONAL_"):
        parameters = parameters[1:]
    method.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return method


def _checked_signature(signature: Any) -> tuple[Any, ...] | None:
    if signature is None:
        return None
    if not isinstance(signature, list | tuple) or not all(
        isinstance(s, TensorSpec) for s in nest.flatten(signature)
    ):
        raise TypeError(
            "input_signature must be a possibly nested sequence of TensorSpec objects, got "
            f"{signature!r}."
        )
    return tuple(signature)


def leaf_key(leaf: Any, name: str) -> tuple[int, Any]:
    """Dtype and raw shape of a tensor or spec; dimensions that it leaves open begin with a name."""
    if isinstance(leaf, TensorSpec):
        return (leaf.dtype.onnx, spec_shape(leaf, name))
    return tensor_key(leaf)


def _is_tensor_key(key: Any) -> bool:
    return (
        type(key) is tuple
        and len(key) == 2
        and type(key[0]) is int
        and (key[1] is None or type(key[1]) is tuple)
    )


def _key_accepts(have: Any, want: Any, sizes: dict[str, Any]) -> bool:
    """Whether a trace made for ``want`` serves a call with key ``have``.

    Args:
        have: Key of the call, or a part of it.
        want: Key of the trace, or the same part.
        sizes: Gets what the trace's dimension names stand for.
    """
    if _is_tensor_key(have) and _is_tensor_key(want):
        return accepts(have, want, sizes)
    if type(have) is tuple and type(want) is tuple and len(have) == len(want):
        return all(_key_accepts(h, w, sizes) for h, w in zip(have, want, strict=True))
    return type(have) is type(want) and bool(have == want)


def _merge(a: Any, b: Any, name: str) -> Any:
    if a is None or b is None:
        return None
    return tuple(x if x == y else f"{name}.r{i}" for i, (x, y) in enumerate(zip(a, b, strict=True)))


def _generalised_key(key: Any, shapes: Any) -> Any:
    if _is_tensor_key(key):
        return (key[0], next(shapes))
    if type(key) is tuple:
        return tuple(_generalised_key(k, shapes) for k in key)
    return key


@overload
def function(
    func: Callable[..., Any],
    input_signature: Sequence[Any] | None = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    experimental_implements: str | None = None,
    experimental_autograph_options: Any = None,
    experimental_attributes: Any = None,
    experimental_relax_shapes: bool | None = None,
    experimental_compile: bool | None = None,
    experimental_follow_type_hints: bool | None = None,
) -> Function: ...
@overload
def function(
    func: None = None,
    input_signature: Sequence[Any] | None = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    experimental_implements: str | None = None,
    experimental_autograph_options: Any = None,
    experimental_attributes: Any = None,
    experimental_relax_shapes: bool | None = None,
    experimental_compile: bool | None = None,
    experimental_follow_type_hints: bool | None = None,
) -> Callable[[Callable[..., Any]], Function]: ...
def function(
    func: Callable[..., Any] | None = None,
    input_signature: Sequence[Any] | None = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    experimental_implements: str | None = None,
    experimental_autograph_options: Any = None,
    experimental_attributes: Any = None,
    experimental_relax_shapes: bool | None = None,
    experimental_compile: bool | None = None,
    experimental_follow_type_hints: bool | None = None,
) -> Any:
    """Compile a Python function into ONNX graphs that are traced when it is called.

    The function is traced once for each kind of arguments: dtype and shape of tensors, structure,
    and the value of everything else. Variables that it uses are captured; assignments happen in
    program order.

    Args:
        func: The function; None makes a decorator.
        input_signature: ``TensorSpec`` (or nests of them) for the arguments; exactly one graph is
            traced and calls that do not fit are refused.
        autograph: Accepted; Python control flow on tensors is refused with the ways out.
        jit_compile: Accepted for compatibility: graphs are always compiled by ONNX Runtime.
        reduce_retracing: Generalise a dimension once it has varied, instead of tracing each size.
        experimental_implements: Accepted for compatibility.
        experimental_autograph_options: Accepted for compatibility.
        experimental_attributes: Accepted for compatibility.
        experimental_relax_shapes: Older name of ``reduce_retracing``.
        experimental_compile: Older name of ``jit_compile``.
        experimental_follow_type_hints: Accepted for compatibility.

    Returns:
        A ``Function``, or a decorator.

    Raises:
        TypeError: ``input_signature`` is not a sequence of ``TensorSpec``.

    Example:
        >>> import tfx as tf
        >>> @tf.function
        ... def f(x, y):
        ...     return x * y + 1.0
        >>> f(tf.constant(2.0), tf.constant(3.0)).numpy()
        np.float32(7.0)
    """
    relax = reduce_retracing or bool(experimental_relax_shapes)

    def decorate(python_function: Callable[..., Any]) -> Function:
        if isinstance(python_function, Function):
            python_function = python_function.python_function
        if not callable(python_function):
            raise TypeError(f"tfx.function takes a callable; got {python_function!r}.")
        name = getattr(python_function, "__name__", type(python_function).__name__)
        name = "lambda" if name == "<lambda>" else name
        return Function(python_function, name, input_signature, relax)

    return decorate if func is None else decorate(func)
