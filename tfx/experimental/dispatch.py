"""Operations that act on types of the user's own: ``dispatch_for_api`` and its relatives.

A public function that is given an implementation is replaced, wherever modules of tfx hold it, by
one that looks at its arguments first. Programs that use none of this pay nothing for it. The first
ragged tensor of a program has the operations replaced that take such tensors, too; so does the
first sparse one. One thread at a time replaces functions; those that call them take no lock.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Union, get_args, get_origin, get_type_hints

from tfx.core import first_use
from tfx.core.lazy_namespaces import put_in_place
from tfx.core.namespaces import Namespace
from tfx.core.source import TRANSPARENT, is_own
from tfx.core.tracebacks import cover
from tfx.framework.function_wrappers import plain_of, stands_for
from tfx.ragged_ops import handlers
from tfx.ragged_ops.ragged_tensor import RaggedTensor
from tfx.ragged_ops.ragged_tensor_spec import RaggedTensorSpec
from tfx.sparse_ops import handlers as sparse_handlers
from tfx.sparse_ops.sparse_tensor import SparseTensor

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
# Where else functions stand; loaded later they would have the plain ones.
_FACES = ("bitwise", "debugging", "dtypes", "image", "linalg", "math", "nn", "signal", "strings")
# What takes the arguments of a call and says who carries it out; None: nobody of ours.
_Rule = Callable[[Mapping[str, Any]], bool]
# The replacement of a function, or the function itself -> its rules, newest first.
_registered: dict[Any, list[tuple[_Rule, Callable[..., Any], Any]]] = {}
_dispatching: dict[Any, Any] = {}
# The function itself -> what carries it out for ragged tensors, if something does, and whether it
# takes lists of them; and what carries it out for sparse tensors.
_for_ragged: dict[Any, list[Any]] = {}
_RAGGED = (RaggedTensor, RaggedTensorSpec)
# A node is named after the operation that the user called, not after what found its function.
TRANSPARENT.add(__file__)


def dispatch_for_api(api: Any, *signatures: Mapping[str, Any]) -> Callable[[Any], Any]:
    """Let a function carry out a public operation for arguments of given types.

    Args:
        api: A public function, ``tf.abs`` say.
        *signatures: Types by the names of the operation's parameters; without any, they are the
            annotations of the function. A type may be ``list[T]`` or a union.

    Returns:
        A decorator for a function with the operation's parameters.

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
    plain = _plain(api)
    names = list(inspect.signature(plain).parameters)

    def register(target: Any) -> Any:
        hints = get_type_hints(target)
        hints.pop("return", None)
        for wanted in signatures or (hints,):
            if not wanted or set(wanted) - set(names):
                raise ValueError(
                    f"dispatch_for_api of {plain.__name__} needs types of its parameters {names}; "
                    f"got {dict(wanted)}."
                )
            _add(api, _matching(dict(wanted)), target, target)
        return target

    return register


def _matching(wanted: dict[str, Any]) -> _Rule:
    return lambda given: all(n in given and _is(given[n], kind) for n, kind in wanted.items())


def _is(value: Any, kind: Any) -> bool:
    """True if a value is of an annotated type."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return any(_is(value, each) for each in inner)
    if origin in (list, tuple):
        items = isinstance(value, list | tuple)
        return items and bool(value) and all(_is(v, inner[0]) for v in value)
    return isinstance(value, type(None) if kind is None else kind)


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
        for plain in _functions(listed):
            names = list(inspect.signature(plain).parameters)[: len(kinds)]
            rule = _matching(dict(zip(names, kinds, strict=True)))
            _add(plain, rule, _handled(plain, handler, names), handler)
        return handler

    return register


def _handled(plain: Any, handler: Any, names: list[str]) -> Callable[..., Any]:
    signature = inspect.signature(plain)

    def carry_out(*args: Any, **kwargs: Any) -> Any:
        given = dict(signature.bind(*args, **kwargs).arguments)
        values = [given.pop(n) for n in names]
        again = _dispatching.get(plain, plain)

        def operation(*tensors: Any) -> Any:
            return again(**dict(zip(names, tensors, strict=True)), **given)

        return handler(functools.update_wrapper(operation, plain), *values)

    return carry_out


def _functions(listed: str, optional: bool = False) -> list[Any]:
    """The functions themselves that are public under names, also where others are in their place.

    Args:
        listed: The names.
        optional: Leave out those that there are not.
    """
    import tfx

    found: dict[Any, None] = {}
    for path in listed.split():
        item: Any = tfx
        for part in path.split("."):
            item = getattr(item, part, None) if optional else getattr(item, part)
        # A program may have put something of its own in the place of what tables name.
        plain = _ours_in(item) if optional else _plain(item)
        if plain is not None:
            found[plain] = None
    return list(found)


def unregister_dispatch_for(dispatch_target: Any) -> None:
    """Take back what a decorated function was registered for.

    Raises:
        ValueError: it was not registered.
    """
    count = 0
    with first_use.lock:
        for rules in _registered.values():
            kept = [rule for rule in rules if rule[2] is not dispatch_target]
            count += len(rules) - len(kept)
            rules[:] = kept
    if not count:
        raise ValueError(f"Function {dispatch_target!r} was not registered.")


def _plain(api: Any) -> Any:
    """The function itself, without dispatch."""
    found = plain_of(api)
    # The code says whose it is: programs may set, and their wrappers copy, the name of the module.
    if not _is_ours(inspect.unwrap(found, stop=lambda each: not _is_ours(each))):
        raise ValueError(f"{api!r} does not support dispatch: expected a function of tfx.")
    return found


def _ours_in(item: Any) -> Any:
    """The function of tfx that an object is, stands for or wraps; None: there is none."""
    found = plain_of(item)
    while found is not None and not _is_ours(found):
        found = plain_of(getattr(found, "__wrapped__", None))
    return found


def _is_ours(function: Any) -> bool:
    return isinstance(function, types.FunctionType) and is_own(function.__code__.co_filename)


def _add(api: Any, rule: _Rule, target: Callable[..., Any], owner: Any) -> None:
    plain = _plain(api)
    with first_use.lock:
        _prepare([plain])
        _registered[plain].insert(0, (rule, target, owner))


def _prepare(functions: Iterable[Any]) -> None:
    """Have functions look at their arguments, if they do not do so yet; the caller has the lock."""
    new = {}
    for plain in functions:
        if plain not in _dispatching:
            # What an attempt left that was interrupted goes on being used.
            rules = _registered.setdefault(plain, [])
            entry = _for_ragged.setdefault(plain, [None, False, None])
            new[plain] = _replacement(plain, rules, entry)
    if new:
        _replace(new)
        _dispatching.update(new)


def take_ragged_tensors() -> None:
    """Have the public operations that take ragged tensors look for them."""
    found = {
        plain: [make(plain), handlers.takes_lists(path)]
        for path, make in handlers.table().items()
        for plain in _functions(path, optional=True)
    }
    with first_use.lock:
        _prepare(found)
        for plain, entry in found.items():
            _for_ragged[plain][:2] = entry


def take_sparse_tensors() -> None:
    """Have the public operations that take sparse tensors look for them."""
    found = {
        plain: make(plain)
        for path, make in sparse_handlers.table().items()
        for plain in _functions(path, optional=True)
    }
    with first_use.lock:
        _prepare(found)
        for plain, carry_out in found.items():
            _for_ragged[plain][2] = carry_out


def _holds_ragged(values: Any, lists: bool) -> bool:
    for value in values:
        kind = type(value)
        if kind is RaggedTensor or kind is RaggedTensorSpec:
            return True
        inner = value.values() if kind is dict else value if kind in (list, tuple) else ()
        if lists and _holds_ragged(inner, True):
            return True
    return False


def _replacement(
    plain: Any, rules: list[tuple[_Rule, Callable[..., Any], Any]], for_ragged: list[Any]
) -> Any:
    signature = inspect.signature(plain)

    @functools.wraps(plain)
    def dispatching(*args: Any, **kwargs: Any) -> Any:
        if rules:
            try:
                given = signature.bind(*args, **kwargs).arguments
            except TypeError:
                return plain(*args, **kwargs)
            for rule, target, _ in tuple(rules):  # others may come meanwhile
                if rule(given):
                    return target(*args, **kwargs)
        carry_out, lists, of_sparse = for_ragged
        if of_sparse is not None:
            value = args[0] if args else next(iter(kwargs.values()), None)
            if type(value) is SparseTensor:
                return of_sparse(*args, **kwargs)
        if carry_out is not None:
            for value in args:  # written out: dense tensors pass here, too
                kind = type(value)
                if kind is RaggedTensor or (lists and _holds_ragged((value,), True)):
                    return carry_out(*args, **kwargs)
            if kwargs and _holds_ragged(kwargs.values(), lists):
                return carry_out(*args, **kwargs)
        return plain(*args, **kwargs)

    stands_for(dispatching, plain)
    return cover(dispatching)


def _replace(others: Mapping[Any, Any]) -> None:
    """Put functions in place of others in the public modules."""
    import tfx

    for name in _FACES:
        importlib.import_module(f"tfx.{name}")
    for plain, other in others.items():
        getattr(tfx, plain.__name__, None)  # which loads it
        put_in_place(plain, other)
    by_number = {id(plain): other for plain, other in others.items()}
    # The shortest name comes last and stays, whatever a program has loaded in which order.
    for name, module in sorted(_holders(), key=lambda held: held[0].count("."), reverse=True):
        for attribute, value in list(vars(module).items()):
            found = by_number.get(id(value))
            if found is not None:
                setattr(module, attribute, found)
                # Where it is pickled by name.
                if not name.startswith("tfx.compat.") and not attribute.startswith("_"):
                    found.__module__, found.__qualname__ = name, attribute


def _holders() -> list[tuple[str, types.ModuleType]]:
    """The modules in which programs find public functions, by name."""
    return [
        (name, module)
        for name, module in sorted(sys.modules.copy().items())
        if (name == "tfx" or (name.startswith("tfx.") and name.count(".") == 1))
        or (name.startswith("tfx.") and isinstance(module, Namespace))  # tfx.math.special
        or (name.startswith("tfx.compat.v1") and "__getattr__" in vars(module))
    ]
