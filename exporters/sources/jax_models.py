"""Models of JAX as pure functions of named values: flax modules, equinox modules, functions.

Each kind of model becomes the same thing: values by name (parameters, batch statistics), and for
each call a function of these values and the arguments, whose result is the call's and the values
that the call changed. Nothing here knows graphs.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from tfx.core.errors import InvalidArgumentError
from tfx.exporters.example_calls import ExampleCall

EXTRA = 'pip install "tfx-onnx[jax]"'

Values: TypeAlias = "dict[str, Any]"
# Takes values and arguments; gives the result, and the values that changed.
Pure: TypeAlias = "Callable[[Values, tuple[Any, ...], dict[str, Any]], tuple[Any, Values]]"


@dataclass(frozen=True)
class JaxModel:
    """A model as named values and pure functions.

    Attributes:
        label: Its class or name, for messages.
        kind: What it is: ``"flax.linen"``, ``"flax.nnx"``, ``"pytree"`` or ``"function"``.
        values: All values by name.
        trainable: Names of those to train.
        pure: Makes the function of a call.
        shown: The Python callable of a method, for its parameters' names.
    """

    label: str
    kind: str
    values: Values
    trainable: frozenset[str]
    pure: Callable[[ExampleCall], Pure]
    shown: Callable[[str], Any]


def require_jax() -> Any:
    """JAX, and what its exporter needs.

    Raises:
        ImportError: one is missing; the message names the extra.
    """
    for package in ("jax", "jax2onnx"):
        try:
            importlib.import_module(package)
        except ImportError as e:
            raise ImportError(f"{package} is needed for models of JAX: {EXTRA}") from e
    return importlib.import_module("jax")


def jax_model(model: Any, variables: Any) -> JaxModel:
    """A model as named values and pure functions.

    Args:
        model: A module of flax (linen or nnx), a callable pytree such as an equinox module, or a
            function.
        variables: The variables of a linen module, or the tree of parameters that a function takes
            first; None: the model has its own, or none.

    Raises:
        InvalidArgumentError: it is none of these, or ``variables`` are missing or too many.
    """
    linen, nnx = _loaded("flax.linen"), _loaded("flax.nnx")
    if linen is not None and isinstance(model, linen.Module):
        return _linen(model, variables)
    if variables is not None:
        if not callable(model):
            raise _unknown(model)
        return _function(model, variables)
    if nnx is not None and isinstance(model, nnx.Module):
        return _nnx(model, nnx)
    if not callable(model):
        raise _unknown(model)
    jax = importlib.import_module("jax")
    leaves = jax.tree_util.tree_leaves(model)
    if any(leaf is model for leaf in leaves):
        return _function(model, None)
    return _pytree(model)


def _unknown(model: Any) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"model is {model!r:.100} of type {type(model).__name__}, expected a function, a module of "
        "flax, or a callable pytree of arrays."
    )


def _loaded(module: str) -> Any:
    """A module, if the program has imported its package: models of it exist only then."""
    return sys.modules.get(module)


def named_leaves(tree: Any) -> tuple[Values, Any]:
    """The leaves of a tree by path (``"params/Dense_0/kernel"``), and its structure."""
    util = importlib.import_module("jax").tree_util
    pairs, structure = util.tree_flatten_with_path(tree)
    named: Values = {}
    for path, leaf in pairs:
        name = util.keystr(path, simple=True, separator="/")
        if name in named:
            raise InvalidArgumentError(
                f"two parameters of the model are called {name!r}; give them different keys."
            )
        named[name] = leaf
    return named, structure


def _is_array(leaf: Any) -> bool:
    return hasattr(leaf, "dtype") and hasattr(leaf, "shape")


def _floating(values: Values) -> frozenset[str]:
    numpy = importlib.import_module("jax.numpy")
    return frozenset(n for n, v in values.items() if numpy.issubdtype(v.dtype, numpy.floating))


def _function(model: Callable[..., Any], variables: Any) -> JaxModel:
    jax = importlib.import_module("jax")
    label = getattr(model, "__name__", type(model).__name__)
    if variables is None:

        def bare(values: Values, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            return model(*args, **kwargs), {}

        return JaxModel(label, "function", {}, frozenset(), lambda call: bare, lambda name: model)
    values, structure = named_leaves(variables)
    _check_arrays(values)

    def pure(values: Values, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return model(jax.tree_util.tree_unflatten(structure, values.values()), *args, **kwargs), {}

    shown = _without_first(model)
    return JaxModel(label, "function", values, _floating(values), lambda c: pure, lambda n: shown)


def _without_first(model: Callable[..., Any]) -> Callable[..., Any]:
    """A callable that shows all parameters but the first one."""
    inspect = importlib.import_module("inspect")

    def shown(*args: Any, **kwargs: Any) -> None:
        return None

    parameters = list(inspect.signature(model).parameters.values())[1:]
    vars(shown)["__signature__"] = inspect.Signature(parameters)
    return shown


def _check_arrays(values: Values) -> None:
    for name, value in values.items():
        if not _is_array(value):
            raise InvalidArgumentError(
                f"parameter {name!r} is {value!r:.100} of type {type(value).__name__}, expected an "
                "array."
            )


def _pytree(model: Any) -> JaxModel:
    """A callable object that is a tree of arrays and other things (equinox)."""
    jax = importlib.import_module("jax")
    leaves, structure = named_leaves(model)
    values = {n: v for n, v in leaves.items() if _is_array(v)}

    def made(values: Values) -> Any:
        return jax.tree_util.tree_unflatten(
            structure, [values.get(n, v) for n, v in leaves.items()]
        )

    def of_call(call: ExampleCall) -> Pure:
        def pure(values: Values, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            return _method(made(values), call.method)(*args, **kwargs), {}

        return pure

    return JaxModel(
        type(model).__name__,
        "pytree",
        values,
        _floating(values),
        of_call,
        lambda name: _method(model, name),
    )


def _method(model: Any, name: str) -> Any:
    found = model if name == "__call__" else getattr(model, name, None)
    if not callable(found):
        raise InvalidArgumentError(f"{type(model).__name__} has no method {name!r}.")
    return found


def _linen(model: Any, variables: Any) -> JaxModel:
    jax = importlib.import_module("jax")
    label = type(model).__name__
    if not isinstance(variables, Mapping):
        raise InvalidArgumentError(
            f"{label} is a module of flax.linen, which has no values itself: give them with "
            "variables=, as its init returns them."
        )
    if "params" not in variables and not any(isinstance(v, Mapping) for v in variables.values()):
        raise InvalidArgumentError(
            f"variables has {', '.join(map(str, list(variables)[:10]))}, expected collections such "
            'as {"params": ...}, as init returns them.'
        )
    values, structure = named_leaves(dict(variables))
    state = [name for name in variables if name != "params"]

    def of_call(call: ExampleCall) -> Pure:
        method = None if call.method == "__call__" else _method(model, call.method)

        def pure(values: Values, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            tree = jax.tree_util.tree_unflatten(structure, values.values())
            if not call.training or not state:
                return model.apply(tree, *args, method=method, **kwargs), {}
            result, new = model.apply(tree, *args, method=method, mutable=state, **kwargs)
            return result, _changed(values, named_leaves(dict(new))[0])

        return pure

    trainable = frozenset(n for n in _floating(values) if n.split("/")[0] == "params")
    return JaxModel(
        label, "flax.linen", values, trainable, of_call, lambda name: _method(model, name)
    )


def _changed(old: Values, new: Values) -> Values:
    return {name: value for name, value in new.items() if value is not old.get(name)}


def _nnx(model: Any, nnx: Any) -> JaxModel:
    jax = importlib.import_module("jax")
    definition, state = nnx.split(model)
    values, _ = named_leaves(nnx.to_pure_dict(state))
    parameters = named_leaves(nnx.to_pure_dict(nnx.state(model, nnx.Param)))[0]
    # Keys of random generators are no numbers that a graph could take.
    kept = {
        n: v for n, v in values.items() if not jax.dtypes.issubdtype(v.dtype, jax.dtypes.prng_key)
    }

    def of_call(call: ExampleCall) -> Pure:
        def pure(given: Values, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            named = {**values, **given}
            pure_state = _filled(nnx.to_pure_dict(state), named)
            copy = nnx.clone(model)
            nnx.replace_by_pure_dict(fresh := nnx.state(copy), pure_state)
            nnx.update(copy, fresh)
            (copy.train if call.training else copy.eval)()
            result = _method(copy, call.method)(*args, **kwargs)
            after = named_leaves(nnx.to_pure_dict(nnx.state(copy)))[0]
            return result, {n: v for n, v in _changed(named, after).items() if n in given}

        return pure

    del definition
    return JaxModel(
        type(model).__name__,
        "flax.nnx",
        kept,
        frozenset(n for n in _floating(kept) if n in parameters),
        of_call,
        lambda name: _method(model, name),
    )


def _filled(tree: Any, named: Values, path: tuple[str, ...] = ()) -> Any:
    if isinstance(tree, Mapping):
        return {k: _filled(v, named, (*path, str(k))) for k, v in tree.items()}
    return named["/".join(path)]
