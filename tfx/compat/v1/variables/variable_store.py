"""``get_variable``'s memory: the variables of a graph by name, made when first asked for."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from tfx.compat.v1.graph.collections import GraphKeys
from tfx.compat.v1.graph.default_graph import building, graph_of_variables
from tfx.compat.v1.variables.graph_variable import GraphVariable
from tfx.compat.v1.variables.initializer_classes import GlorotUniform
from tfx.compat.v1.variables.partitioned import (
    PartitionedVariable,
    SaveSliceInfo,
    initializer_of_piece,
    partitions_of,
)
from tfx.core import dtypes
from tfx.core.dtypes import DType
from tfx.core.shapes import TensorShape
from tfx.framework.context import current, using
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.framework.variable import Variable
from tfx.framework.variable_creators import create
from tfx.ops.array import creation


class VariableStore:
    """The variables of a graph that ``get_variable`` made, and how often scopes were opened.

    Attributes:
        variables: Variables by their full names, without ``:0``.
        partitioned: Those that are in pieces, which are variables of their own.
        opened: How often a variable scope of a name was opened.
        scope: The current ``VariableScope``.
    """

    def __init__(self) -> None:
        self.variables: dict[str, Any] = {}
        self.partitioned: dict[str, PartitionedVariable] = {}
        self.opened: dict[str, int] = {}
        self.scope: Any = None

    def open_scope(self, name: str) -> None:
        """A variable scope of this full name was entered."""
        self.opened[name] = self.opened.get(name, 0) + 1

    def close_subscopes(self, name: str) -> None:
        """A scope was left: below it names count from the start again."""
        for known in self.opened:
            if not name or known.startswith(f"{name}/"):
                self.opened[known] = 0

    def unique_scope(self, parent: str, name: str) -> str:
        """``name``, or ``name_1``... if a scope of that name was opened below ``parent``."""
        prefix = f"{parent}/" if parent else ""
        if not self.opened.get(prefix + name):
            return name
        number = 1
        while self.opened.get(f"{prefix}{name}_{number}"):
            number += 1
        return f"{name}_{number}"


def store_of() -> VariableStore:
    """The store of the default graph."""
    graph = building()
    if graph.variable_store is None:
        graph.variable_store = VariableStore()
    store: VariableStore = graph.variable_store
    return store


def get_or_make(
    *,
    name: str,
    shape: Any,
    dtype: DType,
    initializer: Any,
    regularizer: Any,
    reuse: Any,
    auto: bool,
    trainable: bool | None,
    collections: Any,
    validate_shape: bool,
    constraint: Any,
    **options: Any,
) -> Any:
    """The variable of a full name.

    Args:
        name: Full name, variable scopes included.
        shape: Shape of a new one, or what an existing one must fit; None: not said.
        dtype: Element type.
        initializer: Makes the initial value, or is it.
        regularizer: Makes a loss from the new variable.
        reuse: True: it must exist. False: it must not.
        auto: Whether an existing one is used and a missing one made.
        trainable: See ``Variable``.
        collections: See ``Variable``.
        validate_shape: See ``Variable``.
        constraint: See ``Variable``.
        **options: What else a variable is made with.

    Raises:
        ValueError: it exists and should not, or the other way round; what is said of it does not
            fit; or there is no way to make it.
    """
    static = None if shape is None else TensorShape(shape)
    graph = graph_of_variables()
    known = None if graph is None else store_of().variables.get(name)
    if graph is not None and name in store_of().partitioned and (reuse or auto):
        return store_of().partitioned[name]
    if known is not None:
        if not reuse and not auto:
            where = known.made_at if isinstance(known, GraphVariable) else ""
            raise ValueError(
                f"Variable {name} already exists, disallowed. Did you mean to set reuse=True or "
                f"reuse=tf.compat.v1.AUTO_REUSE in VarScope?{where}"
            )
        _check_shared(name, known, static, dtype)
        return known
    if reuse and not auto:
        if graph is None:
            raise RuntimeError(
                "When eager execution is enabled variable reuse is not supported: keep the "
                f"variable {name} in a Python variable, or build a graph."
            )
        raise ValueError(
            f"Variable {name} does not exist, or was not created with "
            "tf.compat.v1.get_variable(). Did you mean to set reuse=tf.compat.v1.AUTO_REUSE in "
            "VarScope?"
        )
    initial, kind = _initial(name, static, dtype, initializer)
    with using(scope=""):
        variable = _make(
            name,
            initial,
            kind,
            trainable=trainable,
            collections=collections,
            validate_shape=validate_shape,
            constraint=constraint,
            **options,
        )
    if graph is not None:
        store_of().variables[name] = variable
        with using(graph=graph):
            _regularize(name, variable, regularizer)
    return variable


def get_or_make_partitioned(
    partitioner: Any, *, name: str, shape: Any, initializer: Any, reuse: Any, **options: Any
) -> Any:
    """The variable of a full name, in pieces; a scalar is in none.

    Args:
        partitioner: Says how many pieces there are along each axis.
        name: As ``get_or_make``'s, as all others.
        shape: Shape; None: that of the initializer, which is a value.
        initializer: Makes the values, or is them.
        reuse: Whether it must exist.
        **options: The others.

    Raises:
        ValueError: the shape is not known, the partitioner is wrong, or it exists and should not,
            or in other pieces.
    """
    if shape is None and initializer is not None and not callable(initializer):
        shape = convert_to_tensor(initializer).shape
    whole = TensorShape(shape)
    if whole.rank == 0:
        return get_or_make(name=name, shape=shape, initializer=initializer, reuse=reuse, **options)
    if not whole.is_fully_defined():
        raise ValueError(
            f"Shape of a new partitioned variable ({name}) must be fully defined, but instead was "
            f"{whole}."
        )
    places = partitions_of(partitioner, name, whole, options["dtype"])
    known = None if graph_of_variables() is None else store_of().partitioned.get(name)
    if known is not None:
        _check_reused(known, reuse or options["auto"], places)
        return known
    if initializer is None:
        initializer = default_initializer(name, options["dtype"])
    elif inspect.isclass(initializer):
        initializer = initializer()
    given = callable(initializer) and not isinstance(initializer, Tensor)
    pieces = []
    for number, place in enumerate(places):
        piece = get_or_make(
            name=f"{name}/part_{number}",
            shape=place.var_shape if given else None,
            initializer=initializer_of_piece(initializer, place, call_initializer),
            reuse=reuse,
            **options,
        )
        piece._set_save_slice_info(place)
        pieces.append(piece)
    counts = [1] * len(places[0].full_shape)
    for axis, (size, of_piece) in enumerate(zip(whole, places[0].var_shape, strict=True)):
        counts[axis] = len(places) if size != of_piece else 1
    found = PartitionedVariable(name, whole, pieces[0].dtype, pieces, counts)
    if graph_of_variables() is not None:
        store_of().partitioned[name] = found
    return found


def _check_reused(known: PartitionedVariable, reuse: Any, places: list[SaveSliceInfo]) -> None:
    if not reuse:
        raise ValueError(
            f"Partitioned variable with name {known.name} already exists. Did you mean to set "
            "reuse=True or reuse=tf.compat.v1.AUTO_REUSE in VarScope?"
        )
    shapes = [p.shape.as_list() for p in known]
    if shapes != [p.var_shape for p in places]:
        raise ValueError(
            f"Trying to reuse partitioned variable {known.name}, but specified pieces "
            f"{[p.var_shape for p in places]} and found pieces {shapes}."
        )


def _check_shared(name: str, known: Any, shape: TensorShape | None, dtype: DType) -> None:
    if shape is not None and not shape.is_compatible_with(known.shape):
        raise ValueError(
            f"Trying to share variable {name}, but specified shape {shape} and found shape "
            f"{known.shape}."
        )
    if dtype is not known.dtype:
        raise ValueError(
            f"Trying to share variable {name}, but specified dtype {dtype.name} and found dtype "
            f"{known.dtype.name}."
        )


def _make(name: str, initial: Any, dtype: DType | None, **options: Any) -> Any:
    collections = options.pop("collections")
    graph = graph_of_variables()
    if graph is not None:
        given = {"initial_value": initial, "dtype": dtype, "collections": collections, **options}
        # The name holds all scopes already.
        with using(graph=graph):
            return create(functools.partial(GraphVariable, full_name=name), {**given, "name": name})
    return Variable(initial, dtype=dtype, name=name, **options)


def _initial(
    name: str, shape: TensorShape | None, dtype: DType, initializer: Any
) -> tuple[Any, DType | None]:
    """Return the initial value, or a function that makes it; and its dtype if given."""
    if initializer is None:
        if shape is None:
            raise ValueError(
                f"Variable {name} did not get an initializer, so its `shape` argument must be "
                "specified."
            )
        initializer = default_initializer(name, dtype)
    if not callable(initializer) or isinstance(initializer, Tensor):
        if shape is not None and shape.is_fully_defined():
            given = convert_to_tensor(initializer).shape
            if not isinstance(initializer, Tensor | Variable) or not given.is_compatible_with(
                shape
            ):
                raise ValueError("If initializer is a constant, do not specify shape.")
        return initializer, None
    if inspect.isclass(initializer):
        initializer = initializer()
    if shape is not None and shape.is_fully_defined():
        dims = shape.as_list()
        return lambda: call_initializer(initializer, dims, dtype), dtype
    if _takes_nothing(initializer):
        return initializer, None
    if shape is None:
        raise ValueError(
            f"Variable {name} needs a shape: its initializer {initializer!r} makes a value of a "
            "given shape."
        )
    raise ValueError(
        f"The initializer passed is not valid. Shape of a new variable ({name}) must be fully "
        f"defined, but instead was {shape}; or pass a function without arguments and no shape."
    )


def call_initializer(
    initializer: Callable[..., Any], shape: Any, dtype: DType, partition_info: Any = None
) -> Any:
    """The value that an initializer makes; it may not want to know the dtype."""
    try:
        parameters = inspect.signature(initializer).parameters
    except (TypeError, ValueError):
        return initializer(shape, dtype)
    anything = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    options: dict[str, Any] = {}
    if "dtype" in parameters or anything:
        options["dtype"] = dtype
    if "partition_info" in parameters:
        options["partition_info"] = partition_info
    return initializer(shape, **options)


def _takes_nothing(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return all(
        p.default is not p.empty or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters
    )


def default_initializer(name: str, dtype: DType) -> Callable[..., Any]:
    """Return the initializer of a variable that is given none: Glorot's uniform, or zeros."""
    if dtype.is_floating:
        return GlorotUniform()
    if dtype.is_integer or dtype.is_bool or dtype is dtypes.string:
        return _zeros
    raise ValueError(f"An initializer for variable {name} of {dtype.name} is required")


def _zeros(shape: Any, dtype: DType) -> Tensor:
    if dtype is dtypes.string:
        return creation.fill(shape, "")
    return creation.zeros(shape, dtype)


def _regularize(name: str, variable: Any, regularizer: Any) -> None:
    if regularizer is None:
        return
    with using(scope=f"{name}/Regularizer/"):
        loss = regularizer(variable)
    graph = current().graph
    if loss is not None and graph is not None:
        building().add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)
