"""``Function``: a Python function that runs as graphs, one for each kind of arguments."""

from __future__ import annotations

import copy
import types
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, overload

from tfx.core.tracebacks import cover
from tfx.framework.context import Context, current
from tfx.framework.function_wrappers import present
from tfx.framework.graph_api import WithVariables
from tfx.function.execution.concrete_function import ConcreteFunction
from tfx.function.execution.function_with_options import TakesOptions
from tfx.function.inspection.function_type import FunctionType, of_python
from tfx.function.inspection.placement import Placements
from tfx.function.pickling.by_name_or_value import (
    chosen,
    lookup,
    place_of,
    provide,
    reduced,
    source_of,
)
from tfx.function.pickling.concrete_functions import carry
from tfx.function.tracing.callables import checked_callable, name_of, weak_method
from tfx.function.tracing.declared_signature import DeclaredSignature
from tfx.function.tracing.input_signature import parse
from tfx.function.tracing.key_functions import MISMATCH, KeyFunctions
from tfx.function.tracing.parameters import Parameters
from tfx.function.tracing.recursion import RecursionRoom
from tfx.function.tracing.retracing import RetraceReport
from tfx.function.tracing.settings import functions_run_eagerly as _run_eagerly
from tfx.function.tracing.trace_key import TraceKey
from tfx.function.tracing.tracer import Tracer, trace_lock

if TYPE_CHECKING:
    from tfx.framework.func_graph import FuncGraph


@cover
class Function(TakesOptions, WithVariables):
    """A callable that traces a Python function into ONNX graphs and runs them.

    Made by ``tfx.function``.

    Args:
        python_function: The function to trace.
        name: Name of the graphs.
        input_signature: Specs of the arguments; one trace serves every call.
        reduce_retracing: Generalise a dimension of an argument once it has varied.
        autograph: Convert Python control flow on tensors.
        fuses: Whether plans use the fused kernels; None: where that is quicker.
    """

    def __init__(
        self,
        python_function: Callable[..., Any],
        name: str,
        input_signature: Sequence[Any] | None = None,
        reduce_retracing: bool = False,
        autograph: bool = True,
        fuses: bool | None = None,
    ) -> None:
        self._python_function = python_function
        self._name = name
        self.input_signature = parse(input_signature)
        self._reduce_retracing = reduce_retracing
        self._autograph = autograph
        self._fuses = fuses
        self._parameters = Parameters(python_function)
        self._declared: DeclaredSignature | None = None
        if self.input_signature is not None:
            self._declared = DeclaredSignature(self.input_signature, name, self._parameters)
        self._tracer = Tracer(
            python_function, name, self._parameters, reduce_retracing, autograph, fuses
        )
        self._cache = self._tracer.cache
        self._served = self._cache.served
        self._forms = KeyFunctions(self._parameters, name)
        self._extractors = self._forms.by_spelling
        # Of a method: the instance that it is bound to.
        self._instance: weakref.ref[Any] | None = None
        self._bound: dict[int, Binding] = {}
        # Made of a ``staticmethod``: no method, wherever it is an attribute.
        self._is_static = False
        present(self, python_function, self._parameters.signature)

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

    @property
    def function_type(self) -> FunctionType:
        """The parameters of the Python function, with what an input signature says of them."""
        specs = () if self._declared is None else self._declared.by_parameter()
        return of_python(self._parameters.signature, specs)

    def experimental_get_tracing_count(self) -> int:
        """Return how many times the Python function was traced."""
        return self._tracer.count

    @property
    def concrete_functions(self) -> list[ConcreteFunction]:
        """The traces that the function has, in the order in which they were made."""
        return [entry.concrete for entry in self._cache.entries()]

    @property
    def variables(self) -> tuple[Any, ...]:
        """The variables that the traces use."""
        found = {id(v): v for c in self.concrete_functions for v in c.variables}
        return tuple(found.values())

    @property
    def graph(self) -> FuncGraph:
        """The graph of the only trace, or of the input signature.

        Raises:
            AttributeError: there is no trace, or more than one: name one by its arguments with
                ``get_concrete_function(...).graph``.

        Example:
            >>> import tfx as tf
            >>> f = tf.function(lambda x: x + 1.0, input_signature=[tf.TensorSpec([None])])
            >>> [op.type for op in f.graph.get_operations()]
            ['Placeholder', 'Const', 'Add']
        """
        return self._only_trace("graph").graph

    def as_onnx(self, /, *args: Any, **kwargs: Any) -> Any:
        """The graph of a trace as an ``onnx.ModelProto`` that stock ONNX Runtime runs.

        Its inputs are arguments and variables, its outputs results and variables' new values.

        Args:
            *args: Arguments as for ``get_concrete_function``; none for the only trace, or the
                input signature.
            **kwargs: The same by name.

        Raises:
            AttributeError: no arguments are given, and there is no trace or more than one.
            TypeError: the arguments do not fit the parameters or the input signature.
            InvalidArgumentError: the function calls Python code that its results depend on.

        Example:
            >>> import tfx as tf
            >>> f = tf.function(lambda x: x + 1.0)
            >>> [node.op_type for node in f.as_onnx(tf.TensorSpec([None])).graph.node]
            ['Add']
        """
        if args or kwargs:
            return self.get_concrete_function(*args, **kwargs).as_onnx()
        return self._only_trace("as_onnx").as_onnx()

    def _only_trace(self, attribute: str) -> ConcreteFunction:
        traces = self.concrete_functions
        if len(traces) == 1:
            return traces[0]
        if self._declared is not None or not (traces or self._parameters.names):
            return self.get_concrete_function()
        raise AttributeError(
            f"{self._name}.{attribute} needs one trace, and the function has {len(traces)}; "
            f"expected get_concrete_function(...).{attribute} with the arguments of one."
        )

    def placement(self, device: str | None = None) -> Placements:
        """Return the placement of the nodes of each trace made so far; print it for a table.

        Args:
            device: A GPU that need not exist: what it would run, and what would be copied. None:
                the device of each trace. See ``ConcreteFunction.placement``.

        Example:
            >>> import tfx as tf
            >>> @tf.function
            ... def double(x):
            ...     return x * 2.0
            >>> _ = double(tf.constant(1.0))
            >>> [(row.op, row.device, row.provider) for row in double.placement()[0]]
            [('Mul', 'CPU:0', 'CPUExecutionProvider')]
        """
        return Placements(concrete.placement(device) for concrete in self.concrete_functions)

    def pretty_printed_concrete_signatures(self, verbose: bool = True) -> str:
        """The signatures of the traces, as text.

        Args:
            verbose: False: one line for each.
        """
        separator = "\n\n" if verbose else "\n"
        return separator.join(c.pretty_printed_signature(verbose) for c in self.concrete_functions)

    def explain_retraces(self) -> RetraceReport:
        """Return a report on why the function was traced each time.

        Returns:
            A sequence with one item for each trace: the nearest earlier trace, and how each
            argument differs from that. ``str()`` makes a table of it.

        Example:
            >>> import tfx as tf
            >>> f = tf.function(lambda x, n: x * n)
            >>> results = [f(tf.ones([2]), 1.0), f(tf.ones([2]), 2.0), f(tf.ones([3]), 2.0)]
            >>> for trace in f.explain_retraces()[1:]:
            ...     print(trace.number, trace.nearest, trace.reason)
            2 1 n: number 1.0 -> 2.0
            3 2 x: shape float32[2] -> float32[3]
        """
        return self._tracer.history.explain()

    def _decorate(self, decorator: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        """Put a decorator around the Python function; libraries do so with methods of modules.

        Args:
            decorator: Gets the Python function, returns what is traced in its place.

        Raises:
            ValueError: it was traced already.
        """
        counts = [known.state["_tracer"].count for known in self._bound.values()]
        if self._tracer.count or any(counts):
            raise ValueError(
                f"Functions cannot be decorated after they have been traced; {self._name!r} was "
                "called before."
            )
        _, *rest = self._parts
        given = (decorator(self._python_function), self._name, *self._made_with)
        self._make(given, *rest)

    def keep_created_variables(self) -> None:
        """Let every trace create variables, and keep them alive: what ``defun`` promises."""
        self._tracer.keeps_variables = True

    # Calling

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run the graph for these arguments, tracing it first if they are of a new kind."""
        context = current()
        extract = self._extractors.get((len(args), *kwargs) if kwargs else len(args))
        if extract is not None:
            # The hot path: arguments of a form that was met before.
            try:
                key, tensors = extract(context.key, args, kwargs)
                served = self._served.get(key)
            except MISMATCH:
                pass
            else:
                if served is not None and not context.eager_functions and not _run_eagerly():
                    return served.call_flat(tensors)
        return self._call_first(context, args, kwargs)

    def _call_first(self, context: Context, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call that the short cut does not serve; it may serve the next one of its kind."""
        if context.eager_functions or _run_eagerly():
            return self._python_function(*args, **kwargs)
        concrete, tensors = self._concrete_for(args, kwargs)
        if self._tracer.is_fresh(concrete):
            # Not yet for the short cut: whether a trace is ever used again is seen here.
            with RecursionRoom():
                return concrete.call_flat(tensors)
        if not concrete.graph.captured:
            key = self._forms.key_of(context.key, args, kwargs, tensors)
            if key is not None and (
                not self._forms.has_addresses(key) or self._cache.holds(concrete)
            ):
                self._cache.serve(key, concrete)
        return concrete.call_flat(tensors)

    def get_concrete_function(self, /, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """The trace for the given arguments, made if there is none.

        Args:
            *args: Arguments of the function; ``TensorSpec`` stands for any tensor of its kind. A
                spec with a name gives its argument that name in the concrete function.
            **kwargs: The same by name.

        Raises:
            TypeError: the arguments do not fit the parameters or the input signature.
        """
        if self._declared is not None and not args and not kwargs:
            args, kwargs = self._declared.call()
        return self._concrete_for(args, kwargs, exact=True)[0]

    def _concrete_for(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], *, exact: bool = False
    ) -> tuple[ConcreteFunction, list[Any]]:
        values = self._parameters.bind(self._name, args, kwargs)
        if self._declared is not None:
            values = self._declared.cast(values)
        arguments = self._arguments(values)
        if arguments.spec is not None and not exact:
            raise TypeError(
                f"{self._name}(): argument {arguments.spec!r} is a TensorSpec, which has no "
                "contents; give it to get_concrete_function, and call that with tensors."
            )
        specs = arguments if self._declared is None else self._declared.specs(values)
        return self._tracer.trace_for(specs, arguments, exact), arguments.tensors

    def _arguments(self, values: tuple[Any, ...]) -> TraceKey:
        return TraceKey(values, self._parameters.names)

    def _cast_to_signature(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        return values if self._declared is None else self._declared.cast(values)

    # Methods

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None or self._is_static:
            return self
        known = self._bound.get(id(instance))
        if known is None or known.reference() is not instance:
            known = self._bind(instance)
            if known is None:
                # Named tuples, classes with slots: the instance is an argument like any other.
                return types.MethodType(self, instance)
        method = known.method() if known.method is not None else None
        if method is None:
            method = Method.__new__(Method)
            method.__dict__ = known.state
            method.__self__ = instance
            known.method = weakref.ref(method)
        return method

    def _bind(self, instance: Any) -> Binding | None:
        """The method of one instance: traces and variables of its own, no reference to it."""
        key, everyone = id(instance), self._bound
        try:
            reference = weakref.ref(instance, lambda _: everyone.pop(key, None))
        except TypeError:
            return None
        with trace_lock:
            known = everyone.get(key)
            if known is not None and known.reference() is instance:
                return known
            method = weak_method(self._python_function, reference)
            bound = Function(method, self._name, *self._made_with)
            bound._tracer.keeps_variables = self._tracer.keeps_variables
            bound._instance = reference
            bound.__dict__["__func__"] = self
            known = everyone[key] = Binding(reference, bound.__dict__)
        return known

    # Copies

    def __reduce__(self) -> Any:
        """Pickle by name if it can be imported, or else with code for picklers that take code.

        A pickler that takes names alone gets the traces of a local function, without code. In all
        other cases an unpickled function is as if never called.
        """
        instance = None if self._instance is None else self._instance()
        if instance is not None:
            return (getattr, (instance, self._python_function.__name__))
        return reduced(self, self._coded, self._carrying)

    def _carrying(self) -> Any:
        traces = self.concrete_functions if _is_local(self._python_function) else ()
        return carry(self, traces) if traces else None

    def _coded(self) -> Any:
        """Return the pickled state of the function with its code, for ``__setstate__``."""
        return tuple, ((*self._parts, source_of(self._python_function)),)

    @property
    def _parts(self) -> tuple[Any, ...]:
        """Return the parts that the function is made from, except its traces."""
        given = (self._python_function, self._name, *self._made_with)
        return given, self._tracer.keeps_variables, self._is_static

    def __setstate__(self, state: Any) -> None:
        """The other half of ``__reduce__``."""
        coded = chosen(state)
        if coded:
            *parts, source = coded
            provide(source)
            self._make(*parts)

    def _make(self, given: tuple[Any, ...], keeps_variables: bool, is_static: bool) -> None:
        self.__init__(*given)  # type: ignore[misc]
        self._tracer.keeps_variables = keeps_variables
        self._is_static = is_static

    def __copy__(self) -> Function:
        """The function itself, as a copy of a Python function is."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """Traces are made again: a copied function is as if never called."""
        instance = None if self._instance is None else self._instance()
        if instance is not None:
            return getattr(copy.deepcopy(instance, memo), self._python_function.__name__)
        if place_of(self) is not None:
            return self
        made = memo[id(self)] = Function.__new__(Function)
        made._make(*copy.deepcopy(self._parts, memo))
        return made

    @property
    def _made_with(self) -> tuple[Any, ...]:
        return self.input_signature, self._reduce_retracing, self._autograph, self._fuses

    def __repr__(self) -> str:
        return f"<tfx.function {self._name}{self._parameters.text}>"


def _is_local(function: Any) -> bool:
    """True if a Python function cannot be imported by its name."""
    if not isinstance(function, types.FunctionType):
        return False
    place = lookup(function.__module__, function.__qualname__)
    # The decorated name leads to the function that ``tfx.function`` made of it.
    return place is not function and getattr(place, "python_function", None) is not function


@cover
class Method(Function):
    """A function that is bound to an instance, which it keeps alive as any bound method does.

    Its traces do not, nor does the class: they belong to the state that all bound methods of one
    instance share.
    """

    __slots__ = ("__self__",)
    _tfx_is_method = True
    __self__: Any
    __func__: Function


@cover
class Binding:
    """The state that the methods of one instance share.

    Attributes:
        reference: The instance.
        state: The attributes of the function that is bound to it.
        method: The bound method that the program has at the moment, if any.
    """

    __slots__ = ("method", "reference", "state")

    def __init__(self, reference: weakref.ref[Any], state: dict[str, Any]) -> None:
        self.reference = reference
        self.state = state
        self.method: weakref.ref[Method] | None = None


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
            traced and calls that do not fit are refused. ``(dtype, shape)`` is a spec, too;
            ``tfx.PYTHON_VALUE`` stands for a Python argument, ``tfx.TRACE_ON_NEW_VALUE`` for any
            dtype or shape, ``[spec, ...]`` for a list of any length: each new value of these gets
            a graph.
        autograph: Turn Python's ``if``, ``while`` and ``for`` on tensors into operations, here and
            in the functions called from here. False: the function runs as it is, and such control
            flow is refused with the ways out.
        jit_compile: Run element-wise operators together, by the fused kernels: None: where that is
            quicker; True: and refuse to run where there are no such kernels; False: never. Results
            are the same within rounding, and what is saved does not depend on it.
        reduce_retracing: Generalise a dimension once it has varied, instead of tracing each size;
            where ranks varied, the whole shape.
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
    fuses = experimental_compile if jit_compile is None else jit_compile

    def decorate(python_function: Any) -> Function:
        return make_function(python_function, input_signature, relax, autograph, fuses)

    return decorate if func is None else decorate(func)


def make_function(
    given: Any,
    input_signature: Sequence[Any] | None = None,
    relax: bool = False,
    autograph: bool = True,
    fuses: bool | None = None,
) -> Function:
    """A ``Function`` of whatever was decorated.

    Args:
        given: A callable, a ``staticmethod``, or another traced function.
        input_signature: As ``function`` takes it.
        relax: Whether to generalise what varied.
        autograph: Whether to convert control flow; a traced function keeps what it has turned off.
        fuses: Whether plans use the fused kernels; None: where that is quicker.

    Raises:
        TypeError: it cannot be called, or the signature is none.
    """
    static = isinstance(given, staticmethod)
    if static:
        given = given.__func__
    wrapped = given
    if isinstance(given, Function):
        autograph = autograph and given._autograph
    if isinstance(given, Method):
        given = types.MethodType(given.__func__.python_function, given.__self__)
    elif isinstance(given, Function):
        given = given.python_function
    python_function = checked_callable(given)
    name = name_of(python_function)
    made = Function(python_function, name, input_signature, relax, autograph, fuses)
    made._is_static = static
    if isinstance(wrapped, Function):
        made.__dict__["__wrapped__"] = wrapped
    return made
