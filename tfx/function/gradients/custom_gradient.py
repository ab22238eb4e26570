"""``custom_gradient`` and two uses of it: ``recompute_grad`` and ``grad_pass_through``.

In eager mode the tapes get a record that calls the Python gradient function. While a function is
traced the gradient function is traced with it, into a graph that a marker holds (see
``gradient_marker``), so that a derivative of the traced function, whenever it is asked for, uses
it. A function whose gradient calls the function itself would have no end: inside of its own
gradient it is traced again only when somebody asks for the next derivative (see
``repeated_gradient``).
"""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, overload

from tfx.autodiff.tape import GradientTape
from tfx.control_flow.control_nodes import assigned_states
from tfx.core import nest
from tfx.core.signatures import ShownSignature
from tfx.core.source import user_frame
from tfx.core.tracebacks import cover
from tfx.framework.composite.indexed_slices import IndexedSlices
from tfx.framework.context import current, using
from tfx.framework.convert import convert_to_tensor, converts_itself
from tfx.framework.func_graph import FuncGraph
from tfx.framework.function_wrappers import present, remake_with
from tfx.framework.tensor import EagerTensor, Tensor
from tfx.framework.variable import Variable
from tfx.function.gradients.gradient_marker import (
    Backward,
    CustomGradient,
    GradientGraph,
    mark,
    record,
)
from tfx.function.gradients.inline_graph import run_gradient
from tfx.function.gradients.repeated_gradient import (
    is_closed,
    nesting,
    repeated_gradient,
    tracing_gradient_of,
    unknown_gradient,
)
from tfx.function.pickling.by_name_or_value import chosen, provide, reduced, source_of
from tfx.function.recompute.barrier import after
from tfx.function.recompute.random_replay import Draws
from tfx.function.recompute.variable_rollback import VariableRollback
from tfx.ops.array.indexed_slices import dense, dense_shape_of
from tfx.ops.math.cast import identity

# How many gradients of one function are traced inside of each other, where its gradient calls it
# and both need values of the trace.
_TRACED_AT_ONCE = 3


@overload
def custom_gradient(f: Callable[..., Any]) -> Callable[..., Any]: ...
@overload
def custom_gradient(f: None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]: ...
def custom_gradient(f: Callable[..., Any] | None = None) -> Any:
    """Give a function a gradient of its own.

    Args:
        f: Returns ``(result, grad)``. ``grad(*dy)`` gets the gradient of each tensor of the result
            and returns the gradient (or None) of each tensor in the positional arguments. If ``f``
            reads trainable variables that are not among its arguments, ``grad`` must take the
            keyword ``variables`` and return ``(gradients of the arguments, gradients of the
            variables)``.

    Returns:
        The function of the same arguments that returns ``result``. A traced function that is saved
        and loaded again has this gradient too.

    Raises:
        TypeError: (when called) ``f`` does not return a pair, or ``grad`` ignores variables.
        ValueError: (when differentiated) the number of gradients is wrong.

    Example:
        >>> import tfx as tf
        >>> @tf.custom_gradient
        ... def log1pexp(x):
        ...     e = tf.exp(x)
        ...     return tf.math.log(1 + e), lambda dy: dy * (1 - 1 / (1 + e))
        >>> x = tf.constant(100.0)
        >>> with tf.GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = log1pexp(x)
        >>> tape.gradient(y, x).numpy()
        np.float32(1.0)
    """
    return CustomGradientFunction if f is None else CustomGradientFunction(f)


@cover
class CustomGradientFunction:
    """A callable whose gradient another function computes. Made by ``custom_gradient``."""

    __signature__ = ShownSignature("_function")

    # Whether its gradient calls nothing but what the function itself calls: that has an end.
    _ends = False

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        present(self, function)

    def __reduce__(self) -> Any:
        """Pickle by name if it can be imported, as functions are, else with the function's code."""
        function = self._function
        if inspect.ismethod(function):
            return getattr, (function.__self__, function.__name__)
        return reduced(self, lambda: (tuple, ((function, source_of(function)),)))

    def __setstate__(self, state: Any) -> None:
        """The other half of ``__reduce__``."""
        coded = chosen(state)
        if coded:
            function, source = coded
            provide(source)
            self.__init__(function)  # type: ignore[misc]

    def __copy__(self) -> CustomGradientFunction:
        """Itself, as a copy of a Python function is."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> CustomGradientFunction:
        """Itself, unless it is bound to what is copied."""
        if not inspect.ismethod(self._function):
            return self
        return type(self)(copy.deepcopy(self._function, memo))

    def __get__(self, instance: Any, owner: type | None = None) -> CustomGradientFunction:
        if instance is None:
            return self
        return type(self)(self._function.__get__(instance, owner))

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Compute the result; tapes record it with the given gradient."""
        context = current()
        if context.graph is not None:
            # Outside of the function: what a conversion reads is no variable of the function.
            args = nest.map_structure(_converted, args)
        watcher = _VariableWatcher()
        with using(tapes=(*context.tapes, watcher)):
            returned = self._function(*args, **kwargs)
        if not isinstance(returned, tuple) or len(returned) != 2 or not callable(returned[1]):
            raise TypeError(
                f"@tf.custom_gradient function {self._name} must return its result and a function "
                f"that computes gradients, as a pair; got {returned!r}."
            )
        result, grad = returned
        flat_args = nest.flatten(list(args))
        given = [*flat_args, *nest.flatten(kwargs)]
        variables = [v for v in watcher.variables if all(v is not x for x in given)]
        if variables and not _takes_variables(grad):
            raise TypeError(
                "@tf.custom_gradient grad_fn must accept keyword argument 'variables', since "
                f"{self._name} uses variables: {[v.name for v in variables]}."
            )
        results = [convert_to_tensor(r) for r in nest.flatten(result)]
        if context.graph is not None or context.tapes:
            inputs = [convert_to_tensor(x) for x in flat_args if x is not None]
            inputs += [v.stored_value() for v in variables]
            rule = _Rule(self._name, grad, flat_args, inputs, variables)
            if context.graph is None:
                results = _record_eager(rule, results)
            else:
                tag = None if self._ends else self._traced_later(rule, args, kwargs, results)
                if tag is not None:
                    results = _record_later(tag, rule, results, context.graph)
                else:
                    with tracing_gradient_of(self._function):
                        results = _record_traced(rule, results, context.graph)
        return nest.pack_sequence_as(result, results)

    def _traced_later(
        self, rule: _Rule, args: tuple[Any, ...], kwargs: dict[str, Any], results: Sequence[Tensor]
    ) -> CustomGradient | None:
        """The tag of a marker inside of the function's own gradient; None: it is traced now."""
        around, name = nesting(self._function), rule.name
        if not around:
            return None
        if rule.variables or not is_closed(self._function, kwargs):
            later = around >= _TRACED_AT_ONCE
            return unknown_gradient(name, rule.inputs, results) if later else None

        def differentiate(flat: Sequence[Any], inputs: Sequence[Tensor], dys: Any) -> Any:
            _, grad = self._function(*nest.pack_sequence_as(list(args), flat), **kwargs)
            with tracing_gradient_of(self._function):
                return _Rule(name, grad, flat, inputs, ())(*dys)

        return repeated_gradient(name, nest.flatten(list(args)), results, differentiate)

    def __tfx_remade__(self, convert: Callable[[Any], Any]) -> CustomGradientFunction:
        """The same of the function's conversion, for ``autograph``."""
        return type(self)(convert(self._function))

    @property
    def _name(self) -> str:
        return getattr(self._function, "__name__", type(self._function).__name__)

    def __repr__(self) -> str:
        return f"<custom_gradient {self._name}>"


class _RecomputedFunction(CustomGradientFunction):
    """A function that its gradient calls again."""

    _ends = True
    __wrapped__: Callable[..., Any]


def _converted(argument: Any) -> Any:
    if type(argument) is IndexedSlices or not converts_itself(argument):
        return argument
    return convert_to_tensor(argument)


class _VariableWatcher:
    """A recorder that only notes which trainable variables are read."""

    def __init__(self) -> None:
        self.variables: list[Variable] = []

    def record(
        self, op: str, attrs: dict[str, Any], inputs: Sequence[Any], outputs: Sequence[Tensor]
    ) -> None:
        """Operations are of no interest."""

    def depends(self, x: Any) -> bool:
        """Return False: nothing is recorded."""
        return False

    def watch_variable(self, variable: Variable) -> None:
        """Note a variable once."""
        if all(variable is not v for v in self.variables):
            self.variables.append(variable)


class _Rule:
    """The user's gradient function as one of all inputs: arguments but None, then variables."""

    def __init__(
        self,
        name: str,
        grad: Callable[..., Any],
        arguments: Sequence[Any],
        inputs: Sequence[Tensor],
        variables: Sequence[Variable],
    ) -> None:
        self.name = name
        self.grad = grad
        self.given = [x is not None for x in arguments]
        self.inputs = inputs
        self.variables = variables

    @property
    def read(self) -> Sequence[Tensor]:
        """The values of the variables among the inputs."""
        return self.inputs[len(self.inputs) - len(self.variables) :]

    def __call__(self, *dys: Tensor) -> list[Tensor | None]:
        if self.variables:
            of_arguments, of_variables = self.grad(*dys, variables=list(self.variables))
            found = nest.flatten(of_variables)
            if len(found) != len(self.variables):
                raise ValueError(
                    "Must return gradient for each variable from @custom_gradient grad_fn: "
                    f"{self.name} uses {len(self.variables)}, got {len(found)} gradients."
                )
        else:
            of_arguments, found = self.grad(*dys), []
        flat = nest.flatten(of_arguments)
        count = sum(self.given)
        if len(flat) == len(self.given):
            flat = [g for g, given in zip(flat, self.given, strict=True) if given]
        if len(flat) != count:
            raise ValueError(
                f"custom_gradient function expected to return {count} gradients, but returned "
                f"{len(flat)} instead (in the gradient of {self.name})."
            )
        return [_gradient(g, x) for g, x in zip([*flat, *found], self.inputs, strict=True)]


def _gradient(g: Any, x: Tensor) -> Any:
    """Return a gradient function's result for one input; slices stay slices in eager mode."""
    if g is None or not x.dtype.has_gradients:
        return None
    if type(g) is not IndexedSlices:
        return convert_to_tensor(g, x.dtype)
    if g.dense_shape is None:
        g = IndexedSlices(g.values, g.indices, dense_shape_of(x))
    return g if current().graph is None else dense(g)


def _takes_variables(grad: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(grad).parameters.values()
    except (TypeError, ValueError):  # a builtin without a signature
        return False
    return any(p.name == "variables" or p.kind is p.VAR_KEYWORD for p in parameters)


def _record_eager(rule: _Rule, results: Sequence[Tensor]) -> list[Tensor]:
    """Results of their own, so that no gradient flows through what computed them."""
    own: list[Tensor] = []
    for result in results:
        assert isinstance(result, EagerTensor)
        own.append(EagerTensor(result._raw, result._dtype))
    record(rule, rule.inputs, own)
    return own


def _record_traced(rule: _Rule, results: Sequence[Tensor], graph: FuncGraph) -> list[Tensor]:
    """The same through a marker that holds the gradient's graph."""
    traced = GradientGraph(f"{rule.name}_gradient", graph, rule.read)
    with using(graph=traced, tapes=(), scope=""):
        dys = []
        for i, result in enumerate(results):
            value = graph.value_of(result)
            dys.append(traced.add_argument(f"dy{i}", value.dtype, value.shape))
        found = rule(*dys)
        traced.graph.outputs = [traced.value_of(g) for g in found if g is not None]
    if traced.written_states():
        names = [s.name for s in traced.written_states()]
        raise ValueError(
            f"The gradient function of {rule.name} assigns the variables {names}; assign them in "
            "the function itself or after the gradient was computed."
        )
    tag = CustomGradient(traced.graph, tuple(g is not None for g in found), len(results))
    tensors = [*results, *rule.inputs, *traced.used]
    again = [state.variable() for state in assigned_states([traced.graph])]
    leaves = {id(v): v for v in again if v.trainable}
    backward: Backward = functools.partial(run_gradient, tag, tensors, leaves=leaves)
    return list(mark(tag, tensors, graph, backward, name=rule.name, source=user_frame()))


def _record_later(
    tag: CustomGradient, rule: _Rule, results: Sequence[Tensor], graph: FuncGraph
) -> list[Tensor]:
    """The same where the gradient is traced when it is asked for.

    Tapes of this trace call it as it is, since everything that it uses is at hand.
    """
    tensors = [*results, *rule.inputs, *rule.inputs]
    return list(mark(tag, tensors, graph, rule, name=rule.name, source=user_frame()))


def recompute_grad(f: Callable[..., Any]) -> Callable[..., Any]:
    """Save memory: let the gradient of a function compute its intermediate values again.

    Args:
        f: A function of tensors; it may read variables.

    Returns:
        The function of the same arguments; a tape keeps nothing of it but its arguments. Random
        numbers (``tf.random``, ``tf.nn.dropout``, generators) are the same the second time. What
        ONNX's own random operators draw, and what Python returned, is kept: Python is called once.

    Example:
        >>> import tfx as tf
        >>> x = tf.constant(2.0)
        >>> with tf.GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = tf.recompute_grad(lambda x: x * x * x)(x)
        >>> tape.gradient(y, x).numpy()
        np.float32(12.0)
    """
    made = _RecomputedFunction(_recomputed(f))
    made.__wrapped__ = f
    return made


def _recomputed(f: Callable[..., Any]) -> Callable[..., Any]:
    # Hardly any code, and no state: it may be pickled by value, with a function of the user's.
    @functools.wraps(f)
    def recomputed(*args: Any, **kwargs: Any) -> Any:
        return _call_recomputed(f, args, kwargs)

    remake_with(recomputed, lambda convert: _recomputed(convert(f)))
    return recomputed


def _call_recomputed(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    start, draws = VariableRollback(), Draws()
    tapes = [t for t in current().tapes if not isinstance(t, GradientTape)]
    with start.first(), draws.first([*tapes, start]):
        result = f(*args, **kwargs)

    def grad(*dys: Tensor, variables: Sequence[Variable] = ()) -> Any:
        given = [convert_to_tensor(x) for x in nest.flatten(list(args))]

        def apart(tensors: Sequence[Tensor]) -> Sequence[Tensor]:
            traced = current().graph is not None and dys[0].dtype.has_gradients
            return after(tensors, dys[0]) if traced else tensors

        with GradientTape() as tape:
            own = apart([identity(x) for x in given])
            tape.watch([x for x in own if x.dtype.has_gradients])
            with start.again(apart), draws.again():
                again = nest.flatten(f(*nest.pack_sequence_as(list(args), own), **kwargs))
        pairs = [(y, dy) for y, dy in zip(again, dys, strict=True) if y.dtype.has_gradients]
        found = tape.gradient(
            [y for y, _ in pairs], [*own, *variables], output_gradients=[dy for _, dy in pairs]
        )
        of_arguments, of_variables = found[: len(own)], found[len(own) :]
        return (of_arguments, of_variables) if variables else of_arguments

    return result, grad


def grad_pass_through(f: Callable[..., Any]) -> Callable[..., Any]:
    """Let gradients pass a function as if it returned its arguments.

    Args:
        f: A function that returns as many tensors as it takes, such as ``tf.round``.

    Returns:
        The function of the same arguments; variables that it reads get no gradient from it.

    Example:
        >>> import tfx as tf
        >>> x = tf.constant(1.6)
        >>> with tf.GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = 3.0 * tf.grad_pass_through(tf.round)(x)
        >>> float(y), float(tape.gradient(y, x))
        (6.0, 3.0)
    """
    return CustomGradientFunction(_passed(f))


def _passed(f: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(f)
    def passed(*args: Any, **kwargs: Any) -> Any:
        def grad(*dys: Tensor, variables: Sequence[Variable] = ()) -> Any:
            return (dys, [None] * len(variables)) if variables else dys

        return f(*args, **kwargs), grad

    remake_with(passed, lambda convert: _passed(convert(f)))
    return passed
