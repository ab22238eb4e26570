"""Variables of a graph by collection, and the operations that give them initial values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfx.compat.v1.graph import pseudo_ops
from tfx.compat.v1.graph.collections import GraphKeys
from tfx.compat.v1.graph.default_graph import building, is_building
from tfx.compat.v1.graph.pseudo_ops import Query
from tfx.compat.v1.ops.grouping import group, no_op
from tfx.compat.v1.variables.graph_variable import GraphVariable
from tfx.core import dtypes
from tfx.framework.context import current
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import SymbolicTensor, Tensor
from tfx.ops.array import creation


def get_collection(key: Any, scope: str | None = None) -> list[Any]:
    """A copy of a collection of the default graph; see ``Graph.get_collection``."""
    return building().get_collection(key, scope)


def get_collection_ref(key: Any) -> list[Any]:
    """A collection of the default graph itself; see ``Graph.get_collection_ref``."""
    return building().get_collection_ref(key)


def add_to_collection(name: Any, value: Any) -> None:
    """Append to a collection of the default graph."""
    building().add_to_collection(name, value)


def add_to_collections(names: Any, value: Any) -> None:
    """Append to several collections of the default graph."""
    building().add_to_collections(names, value)


def global_variables(scope: str | None = None) -> list[Any]:
    """The variables of the default graph, in order of creation.

    Args:
        scope: Keep those whose name begins so (a regular expression).
    """
    return get_collection(GraphKeys.GLOBAL_VARIABLES, scope)


def all_variables() -> list[Any]:
    """Older name of ``global_variables``."""
    return global_variables()


def local_variables(scope: str | None = None) -> list[Any]:
    """The variables that are local to a process: not saved; see ``global_variables``."""
    return get_collection(GraphKeys.LOCAL_VARIABLES, scope)


def model_variables(scope: str | None = None) -> list[Any]:
    """The variables of the collection of that name; see ``global_variables``."""
    return get_collection(GraphKeys.MODEL_VARIABLES, scope)


def trainable_variables(scope: str | None = None) -> list[Any]:
    """The variables that optimizers change; see ``global_variables``."""
    return get_collection(GraphKeys.TRAINABLE_VARIABLES, scope)


def moving_average_variables(scope: str | None = None) -> list[Any]:
    """The variables that moving averages are kept of; see ``global_variables``."""
    return get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


def variables_initializer(var_list: Sequence[Any], name: str | None = "init") -> Any:
    """An operation that gives variables their initial values.

    Args:
        var_list: Variables.
        name: Name of the operation.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> with tf.Graph().as_default(), tf.Session() as session:
        ...     v, w = tf.Variable(1.0), tf.Variable(2.0)
        ...     session.run(tf.variables_initializer([v]))
        ...     session.run(tf.report_uninitialized_variables())
        array([b'Variable_1'], dtype=object)
    """
    if not var_list or not is_building():
        return no_op(name=name)
    return group(*[v.initializer for v in var_list], name=name)


def global_variables_initializer() -> Any:
    """An operation that gives all variables their initial values.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> with tf.Graph().as_default(), tf.Session() as session:
        ...     v = tf.Variable(1.0)
        ...     session.run(tf.global_variables_initializer())
        ...     session.run(v)
        np.float32(1.0)
    """
    own = [v for v in global_variables() if isinstance(v, GraphVariable)]
    return variables_initializer(own)


def local_variables_initializer() -> Any:
    """The same for local variables."""
    return variables_initializer(local_variables())


def initialize_all_variables() -> Any:
    """Older name of ``global_variables_initializer``."""
    return global_variables_initializer()


def initialize_variables(var_list: Sequence[Any], name: str = "init") -> Any:
    """Older name of ``variables_initializer``."""
    return variables_initializer(var_list, name)


def initialize_local_variables() -> Any:
    """Older name of ``local_variables_initializer``."""
    return local_variables_initializer()


def tables_initializer(name: str = "init_all_tables") -> Any:
    """An operation that fills the lookup tables of the default graph."""
    return group(*get_collection(GraphKeys.TABLE_INITIALIZERS), name=name)


def is_variable_initialized(variable: Any) -> Tensor:
    """Return whether a session holds a value of a variable, as a tensor."""
    if isinstance(variable, GraphVariable) and is_building():
        return variable.is_initialized()
    return creation.ones([], dtypes.bool)


def report_uninitialized_variables(
    var_list: Sequence[Any] | None = None, name: str = "report_uninitialized_variables"
) -> Tensor:
    """The names of variables without a value, as a vector of strings.

    Args:
        var_list: The variables; None: all global and local ones.
        name: Name of the operation.

    Returns:
        Outside of a graph none: variables have their values from the beginning.
    """
    if not is_building():
        return convert_to_tensor(np.zeros([0], object), dtypes.string)
    graph = building()
    variables = global_variables() + local_variables() if var_list is None else list(var_list)
    states = [graph.state_of(v) for v in variables]
    node = graph.add_pseudo(
        pseudo_ops.UNINITIALIZED_NAMES,
        (),
        [(dtypes.string.onnx, (None,))],
        name=f"{current().scope}{name}",
        tag=Query(states),
    )
    return SymbolicTensor(node.outputs[0], graph)


def assert_variables_initialized(var_list: Sequence[Any] | None = None) -> Any:
    """An operation that fails while some variable has no value.

    Args:
        var_list: The variables; None: all global and local ones.
    """
    if not is_building():
        return no_op()
    variables = global_variables() + local_variables() if var_list is None else list(var_list)
    return group(*[v.value() for v in variables], name="assert_variables_initialized")
