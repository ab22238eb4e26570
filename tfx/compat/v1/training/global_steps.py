"""The global step: a variable that counts training steps."""

from __future__ import annotations

import logging
from typing import Any

from tfx.compat.v1.graph.collections import GraphKeys
from tfx.compat.v1.graph.default_graph import building
from tfx.compat.v1.graph.graph import Graph
from tfx.compat.v1.variables.initializer_classes import Zeros
from tfx.compat.v1.variables.scopes import VariableScope
from tfx.core import dtypes
from tfx.framework.context import using
from tfx.framework.variable import Variable

_log = logging.getLogger("tfx")


def get_global_step(graph: Graph | None = None) -> Any:
    """The variable that counts training steps; None: there is none, or there are several.

    Where the graph's collection names none, it is a variable or tensor named ``global_step:0``.

    Args:
        graph: The graph; None: the default one.

    Raises:
        TypeError: it is not an integer scalar.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> with tf.Graph().as_default():
        ...     _ = tf.Variable(0, name="global_step", dtype=tf.int64)
        ...     tf.train.get_global_step().name
        'global_step:0'
    """
    target = graph or building()
    found = target.get_collection(GraphKeys.GLOBAL_STEP)
    if len(found) > 1:
        _log.error("There are %d global steps in the graph; expected one.", len(found))
        return None
    step = found[0] if found else _named_global_step(target)
    if step is not None:
        assert_global_step(step)
    return step


def _named_global_step(graph: Graph) -> Any:
    for variable in graph.get_collection(GraphKeys.GLOBAL_VARIABLES):
        if variable.name == "global_step:0":
            return variable
    try:
        return graph.get_tensor_by_name("global_step:0")
    except KeyError:
        return None


def create_global_step(graph: Graph | None = None) -> Any:
    """Make the variable that counts training steps, named ``global_step``.

    Args:
        graph: The graph; None: the default one.

    Raises:
        ValueError: there is one.
    """
    target = graph or building()
    if get_global_step(target) is not None:
        raise ValueError('"global_step" already exists.')
    with target.as_default(), using(scope=""):
        step = VariableScope(False).get_variable(
            "global_step",
            [],
            dtypes.int64,
            initializer=Zeros(),
            trainable=False,
            collections=[GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP],
        )
    return step


def get_or_create_global_step(graph: Graph | None = None) -> Any:
    """The variable that counts training steps, made if there is none.

    Args:
        graph: The graph; None: the default one.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> with tf.Graph().as_default():
        ...     tf.train.get_or_create_global_step()
        <tf.Variable 'global_step:0' shape=() dtype=int64>
    """
    step = get_global_step(graph)
    return create_global_step(graph) if step is None else step


def assert_global_step(global_step_tensor: Any) -> None:
    """Refuse what cannot count steps.

    Raises:
        TypeError: not an integer scalar variable or tensor.
    """
    x = global_step_tensor
    if not x.dtype.is_integer or x.shape.rank not in (0, None):
        raise TypeError(f"Existing 'global_step' must be a scalar integer; got {x!r}.")


def global_step(sess: Any, global_step_tensor: Variable) -> int:
    """The number of steps that a session has counted.

    Args:
        sess: The session.
        global_step_tensor: The variable.
    """
    return int(sess.run(global_step_tensor))
