"""Operations that act on types of the user's own: ``dispatch_for_api`` and its relatives.

Owns who carries out a public operation, given its arguments: what the user has registered, what
takes ragged or sparse tensors or linear operators, or the operation itself. A function looks at its
arguments only once there is something to look for: a function that a program registers, or the
first such tensor or operator. Then its calls are diverted (``tfx.core.diverted_calls``), so it is
no matter where a program has the function from, and since when. One thread at a time changes what
is looked for; those that call the functions take no lock.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import types
from abc import ABCMeta
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

import numpy as np

from tfx._exports import NAMES
from tfx.core import first_use
from tfx.core.diverted_calls import Diversion
from tfx.core.dtypes import DType
from tfx.core.lazy_namespaces import fetch
from tfx.core.shapes import TensorShape
from tfx.core.source import TRANSPARENT, is_own
from tfx.framework.tensor import EagerTensor, SymbolicTensor
from tfx.framework.variable import Variable
from tfx.linear_operators import handlers as operator_handlers
from tfx.linear_operators.operator import LinearOperator
from tfx.ragged_ops import handlers, sparse_mapping
from tfx.ragged_ops.dynamic_ragged_shape import DynamicRaggedShape
from tfx.ragged_ops.ragged_tensor import RaggedTensor
from tfx.ragged_ops.ragged_tensor_spec import RaggedTensorSpec
from tfx.sparse_ops import handlers as sparse_handlers
from tfx.sparse_ops.sparse_tensor import SparseTensor
from tfx.sparse_ops.sparse_tensor_spec import SparseTensorSpec

_UNARY = """
    abs acos acosh asin asinh atan atanh cast clip_by_value cos cosh exp floor identity negative
    ones_like round saturate_cast sigmoid sign sin sinh sqrt square stop_gradient tan tanh
    zeros_like math.ceil math.digamma math.erf math.erfc math.erfinv math.expm1 math.is_finite
    math.is_inf math.is_nan math.lgamma math.log math.log1p math.log_sigmoid math.logical_not
    math.ndtri math.reciprocal math.rint math.rsqrt math.softplus nn.elu nn.gelu nn.leaky_relu
    nn.relu nn.relu6 nn.selu nn.silu nn.softsign nn.dropout debugging.check_numerics
"""
_BINARY = """
    add atan2 divide equal greater greater_equal less less_equal maximum minimum multiply not_equal
    pow subtract truediv math.floordiv math.floormod math.logical_and math.logical_or
    math.logical_xor math.divide_no_nan math.multiply_no_nan math.squared_difference math.xdivy
    math.xlog1py math.xlogy bitwise.bitwise_and bitwise.bitwise_or bitwise.bitwise_xor
    bitwise.left_shift bitwise.right_shift
"""
_ASSERTIONS = """
    debugging.assert_equal debugging.assert_greater debugging.assert_greater_equal
    debugging.assert_less debugging.assert_less_equal debugging.assert_none_equal
    debugging.assert_near
"""
# What most arguments are, which nobody looks for; calls with no others are not looked at.
_TENSORS = (EagerTensor, SymbolicTensor, Variable)
_ARRAYS = (np.ndarray, np.float32, np.float64, np.int32, np.int64)
_VALUES = (bool, int, float, complex, str, bytes, type(None), type, types.FunctionType)
_USUAL = frozenset((*_TENSORS, *_ARRAYS, *_VALUES, DType, TensorShape))
_CONTAINERS = frozenset((list, tuple, dict))
# A node is named after the operation that the user called, not after what calls it for a handler.
TRANSPARENT.add(__file__)


class _Rule(NamedTuple):
    """Who carries out an operation for some arguments.

    Attributes:
        wanted: Types by the names of parameters.
        target: Carries it out.
        owner: The function that was registered.
    """

    wanted: Mapping[str, Any]
    target: Callable[..., Any]
    owner: Any

    def fits(self, given: Mapping[str, Any]) -> bool:
        """True if the arguments of a call are of the types."""
        return all(n in given and _is(given[n], kind) for n, kind in self.wanted.items())

    def is_for_usual_arguments(self) -> bool:
        """True if there may be arguments that it fits among those that are not looked at."""
        kinds = (*_USUAL, list, tuple)
        return all(any(_may_be(k, each) for k in kinds) for each in self.wanted.values())


class _Operation:
    """A public function that looks at its arguments.

    Attributes:
        diversion: The function and what it does itself.
        of_ragged: What carries it out for ragged tensors, if something does.
        takes_lists: Whether it takes lists of them.
        of_sparse: What carries it out for sparse tensors, if something does.
        of_sparse_rows: What carries it out where any argument, or the spec of a result, is sparse.
        of_operators: What carries it out for linear operators, if something does.
        rules: What the user has registered, newest first.
    """

    def __init__(self, function: types.FunctionType) -> None:
        self.diversion = Diversion(function, self.look)
        self.of_ragged: Callable[..., Any] | None = None
        self.of_sparse: Callable[..., Any] | None = None
        self.of_sparse_rows: Callable[..., Any] | None = None
        self.of_operators: Callable[..., Any] | None = None
        self.takes_lists = False
        self.rules: tuple[_Rule, ...] = ()
        self._signature = inspect.signature(function)
        parameters = self._signature.parameters.items()
        self._defaults = {n: p.default for n, p in parameters if p.default is not p.empty}

    def look(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Carry out a call with an argument of an unusual kind."""
        if self.rules:
            try:
                given = {**self._defaults, **self._signature.bind(*args, **kwargs).arguments}
            except TypeError:  # the plain function says what is wrong
                return self.diversion.plain(*args, **kwargs)
            for rule in self.rules:
                if rule.fits(given):
                    return rule.target(*args, **kwargs)
        values = (*args, *kwargs.values())
        if self.of_sparse is not None and values and type(values[0]) is SparseTensor:
            return self.of_sparse(*args, **kwargs)
        if self.of_sparse_rows is not None and _holds(values, _SPARSE, self.takes_lists):
            return self.of_sparse_rows(*args, **kwargs)
        if self.of_operators is not None and any(isinstance(x, LinearOperator) for x in values):
            return self.of_operators(*args, **kwargs)
        if self.of_ragged is not None and _holds(values, _RAGGED, self.takes_lists):
            self._check_settings(args, kwargs)
            return self.of_ragged(*args, **kwargs)
        return self.diversion.plain(*args, **kwargs)

    def _check_settings(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Refuse ragged tensors where none can be, which the handlers do not look for."""
        for name, value in (*zip(self._signature.parameters, args, strict=False), *kwargs.items()):
            if name in _SETTINGS and type(value) is RaggedTensor:
                operation = self.diversion.plain.__name__
                raise TypeError(f"{operation}: `{name}` cannot be a RaggedTensor; got {value!r}.")

    def update(self) -> None:
        """Look for what there is to look for from now on; the caller has the lock."""
        handlers = (self.of_ragged, self.of_sparse, self.of_sparse_rows, self.of_operators)
        if not (self.rules or any(handlers)):
            self.diversion.stop()
        elif any(rule.is_for_usual_arguments() for rule in self.rules):
            self.diversion.start(frozenset())
        elif self.rules or self.takes_lists:
            self.diversion.start(_USUAL, lists=self.takes_lists)
        else:
            self.diversion.start(_USUAL | _CONTAINERS)


# By the function.
_operations: dict[Any, _Operation] = {}


def dispatch_for_api(api: Any, *signatures: Mapping[str, Any]) -> Callable[[Any], Any]:
    """Let a function carry out a public operation for arguments of given types.

    Args:
        api: A public function, ``tf.abs`` say.
        *signatures: Types by the names of the operation's parameters; without any, they are the
            annotations of the function. A type may be ``list[T]`` or a union.

    Returns:
        A decorator for a function with the operation's parameters. It is given what differs from
        the operation's defaults; for all else its own defaults hold. In TensorFlow a default of the
        operation that the call spells out is given, too.

    Raises:
        ValueError: not an operation, no types, or parameters that it does not have.

    Example:
        >>> import tfx as tf
        >>> class Celsius(tf.experimental.ExtensionType):
        ...     degrees: tf.Tensor
        >>> @tf.experimental.dispatch_for_api(tf.abs, {"x": Celsius})
        ... def _(x, name=None):
        ...     return Celsius(tf.abs(x.degrees))
        >>> float(tf.abs(Celsius(-3.0)).degrees)
        3.0
    """
    function = _function_of(api)
    names = list(inspect.signature(function).parameters)

    def register(target: Any) -> Any:
        hints = get_type_hints(target)
        hints.pop("return", None)
        for wanted in signatures or (hints,):
            if not wanted or set(wanted) - set(names):
                raise ValueError(
                    f"dispatch_for_api of {function.__name__} needs types of its parameters "
                    f"{names}; got {dict(wanted)}."
                )
            _add(function, _Rule(dict(wanted), target, target))
        return target

    return register


def _is(value: Any, kind: Any) -> bool:
    """True if a value is of an annotated type."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return any(_is(value, each) for each in inner)
    if origin in (list, tuple):
        items = isinstance(value, list | tuple)
        return items and bool(value) and all(_is(v, inner[0]) for v in value)
    return isinstance(value, type(None) if kind is None else kind)


def _may_be(kind: type, annotated: Any) -> bool:
    """True if values of exactly a kind, or lists of them, may be of an annotated type."""
    if get_origin(annotated) in (Union, types.UnionType, list, tuple):
        return any(_may_be(kind, each) for each in get_args(annotated) if each is not ...)
    if annotated is None:
        return kind is type(None)
    decides = getattr(type(annotated), "__instancecheck__", None)
    if decides not in (type.__instancecheck__, ABCMeta.__instancecheck__):
        return True  # it looks at the value
    return issubclass(kind, annotated)


def dispatch_for_unary_elementwise_apis(x_type: Any) -> Callable[[Any], Any]:
    """Let a function carry out all operations on single elements for a type.

    Args:
        x_type: The type of the first argument.

    Returns:
        A decorator for a function that takes the operation and the value; other arguments of the
        call are part of the operation.

    Example:
        >>> import tfx as tf
        >>> class Metres(tf.experimental.ExtensionType):
        ...     length: tf.Tensor
        >>> @tf.experimental.dispatch_for_unary_elementwise_apis(Metres)
        ... def _(api, x):
        ...     return Metres(api(x.length))
        >>> float(tf.math.ceil(Metres(1.5)).length)
        2.0
    """
    return _for_all(_UNARY, [x_type])


def dispatch_for_binary_elementwise_apis(x_type: Any, y_type: Any) -> Callable[[Any], Any]:
    """Let a function carry out all operations on pairs of elements for two types.

    Args:
        x_type: The type of the first argument; may be a union.
        y_type: That of the second.

    Returns:
        A decorator for a function that takes the operation and both values.
    """
    return _for_all(_BINARY, [x_type, y_type])


def dispatch_for_binary_elementwise_assert_apis(x_type: Any, y_type: Any) -> Callable[[Any], Any]:
    """Let a function carry out all assertions on pairs of elements for two types.

    Args:
        x_type: The type of the first argument; may be a union.
        y_type: That of the second.

    Returns:
        A decorator for a function that takes the assertion and both values.
    """
    return _for_all(_ASSERTIONS, [x_type, y_type])


def _for_all(listed: str, kinds: list[Any]) -> Callable[[Any], Any]:
    def register(handler: Any) -> Any:
        for path in listed.split():
            function = _function_of(_public(path))
            names = list(inspect.signature(function).parameters)[: len(kinds)]
            wanted = dict(zip(names, kinds, strict=True))
            _add(function, _Rule(wanted, _handled(function, handler, names), handler))
        return handler

    return register


def _handled(function: Any, handler: Any, names: list[str]) -> Callable[..., Any]:
    signature = inspect.signature(function)

    def carry_out(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments
        values = [given[n] for n in names]
        if len(given) == len(names):
            return handler(function, *values)

        def operation(*tensors: Any) -> Any:
            filled: Any = {**given, **dict(zip(names, tensors, strict=True))}
            again = inspect.BoundArguments(signature, filled)
            return function(*again.args, **again.kwargs)

        return handler(functools.update_wrapper(operation, function), *values)

    return carry_out


def _public(path: str) -> Any:
    """What is public under a name, such as ``math.ceil``; None: nothing."""
    if path in NAMES:
        return fetch(NAMES[path], path)
    namespace, _, name = path.rpartition(".")
    return getattr(importlib.import_module(f"tfx.{namespace}"), name, None)


def unregister_dispatch_for(dispatch_target: Any) -> None:
    """Take back what a decorated function was registered for.

    Raises:
        ValueError: it was not registered.
    """
    count = 0
    with first_use.lock:
        for operation in _operations.values():
            kept = tuple(r for r in operation.rules if r.owner is not dispatch_target)
            if len(kept) < len(operation.rules):
                count += len(operation.rules) - len(kept)
                operation.rules = kept
                operation.update()
    if not count:
        raise ValueError(f"Function {dispatch_target!r} was not registered.")


def _function_of(api: Any) -> Any:
    """The function of tfx that an argument is.

    Raises:
        ValueError: it is none.
    """
    # The code says whose it is: programs may set, and their wrappers copy, the name of the module.
    if not _is_ours(inspect.unwrap(api, stop=lambda each: not _is_ours(each))):
        raise ValueError(f"{api!r} does not support dispatch: expected a function of tfx.")
    return api


def _is_ours(function: Any) -> bool:
    return isinstance(function, types.FunctionType) and is_own(function.__code__.co_filename)


def _add(function: Any, rule: _Rule) -> None:
    with first_use.lock:
        operation = _operation(function)
        operation.rules = (rule, *operation.rules)
        operation.update()


def _operation(function: Any) -> _Operation:
    """The operation that a function is; the caller has the lock."""
    found = _operations.get(function)
    if found is None:
        found = _operations[function] = _Operation(function)
    return found


def _those_of(table: Mapping[str, Any]) -> Iterator[tuple[str, _Operation]]:
    """The operations that a table names, by these names; the caller has the lock."""
    for path in table:
        function = _public(path)
        # A program may have put a wrapper, or something of its own, in the place of a function.
        while function is not None and not _is_ours(function):
            function = getattr(function, "__wrapped__", None)
        if function is not None:
            yield path, _operation(function)


def take_ragged_tensors() -> None:
    """Have the public operations that take ragged tensors look for them."""
    table = handlers.table()
    with first_use.lock:
        for path, operation in _those_of(table):
            operation.of_ragged = table[path](operation.diversion.plain)
            operation.takes_lists |= handlers.takes_lists(path)
            operation.update()


def take_sparse_tensors() -> None:
    """Have the public operations that take sparse tensors look for them."""
    table = sparse_handlers.table()
    with first_use.lock:
        for path, operation in _those_of(table):
            operation.of_sparse = table[path](operation.diversion.plain)
            operation.update()
        for path, operation in _those_of(_OF_SPARSE_ROWS):
            operation.of_sparse_rows = _OF_SPARSE_ROWS[path]
            operation.takes_lists = True
            operation.update()


def take_linear_operators() -> None:
    """Have the public operations that take linear operators look for them."""
    table = operator_handlers.table()
    with first_use.lock:
        for path, operation in _those_of(table):
            operation.of_operators = table[path]
            operation.update()


# Parameters of operations on ragged tensors that are no data.
_SETTINGS = frozenset(("axis", "keepdims", "message", "summarize", "name"))
_RAGGED = frozenset((RaggedTensor, RaggedTensorSpec, DynamicRaggedShape))
_SPARSE = frozenset((SparseTensor, SparseTensorSpec))
_OF_SPARSE_ROWS = {"map_fn": sparse_mapping.map_fn}


def _holds(values: Any, kinds: frozenset[type], lists: bool) -> bool:
    for value in values:
        kind = type(value)
        if kind in kinds:
            return True
        inner = value.values() if kind is dict else value if kind in (list, tuple) else ()
        if lists and _holds(inner, kinds, True):
            return True
    return False
