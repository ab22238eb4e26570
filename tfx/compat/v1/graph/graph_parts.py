"""``graph_util`` and ``write_graph``: graphs as messages, cut, frozen and written to files."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from tfx.compat.v1.graph.collections import GraphKeys
from tfx.core.gfile import GFile, makedirs
from tfx.core.shapes import TensorShape
from tfx.graph.serialization.graph_parts import (
    part_of,
    require_graph_def,
    with_constants,
    without_copies,
)
from tfx.graph.serialization.protos import text_of_message


def extract_sub_graph(graph_def: Any, dest_nodes: Sequence[str]) -> Any:
    """The part of a graph that some operations need.

    Args:
        graph_def: What ``Graph.as_graph_def`` returns.
        dest_nodes: The names of the operations.

    Returns:
        A new ``GraphDef``, whose outputs are the results of the operations.

    Raises:
        TypeError: something else than a graph, or one name alone.
        AssertionError: no operation of that name.
    """
    graph = require_graph_def(graph_def)
    return part_of(graph, _names(dest_nodes, "dest_nodes"))


def _names(given: Any, argument: str) -> list[str]:
    if isinstance(given, str):
        raise TypeError(f"{argument} must be an iterable of strings; got {given!r}.")
    return list(given)


def convert_variables_to_constants(
    sess: Any,
    input_graph_def: Any,
    output_node_names: Sequence[str],
    variable_names_whitelist: Collection[str] | None = None,
    variable_names_blacklist: Collection[str] | None = None,
) -> Any:
    """The part of a graph that some operations need, with the values of its variables inside.

    Args:
        sess: The session that holds the values.
        input_graph_def: What ``Graph.as_graph_def`` returns.
        output_node_names: The names of the operations.
        variable_names_whitelist: Names of the variables to replace; None: all.
        variable_names_blacklist: Names of variables that stay inputs.

    Returns:
        A new ``GraphDef``, for ``import_graph_def``.

    Raises:
        TypeError: something else than a graph, or one name alone.
        AssertionError: no operation of that name.
        FailedPreconditionError: a variable has no value yet.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> with tf.Graph().as_default() as graph, tf.Session() as session:
        ...     x = tf.placeholder(tf.float32, name="x")
        ...     y = tf.multiply(x, tf.get_variable("w", initializer=3.0), name="y")
        ...     session.run(tf.global_variables_initializer())
        ...     frozen = tf.graph_util.convert_variables_to_constants(
        ...         session, session.graph_def, ["y"]
        ...     )
        >>> with tf.Graph().as_default(), tf.Session() as session:
        ...     (y,) = tf.import_graph_def(frozen, return_elements=["y:0"], name="")
        ...     session.run(y, {"x:0": 2.0})
        np.float32(6.0)
    """
    part = extract_sub_graph(input_graph_def, _names(output_node_names, "output_node_names"))
    inputs = {x.name for x in part.input}
    chosen = []
    for variable in _variables(sess.graph):
        name = variable.name.removesuffix(":0")
        listed = variable_names_whitelist is None or name in variable_names_whitelist
        if name in inputs and listed and name not in (variable_names_blacklist or ()):
            chosen.append((name, variable))
    values = sess.run([variable for _, variable in chosen])
    contents = {n: np.asarray(v) for (n, _), v in zip(chosen, values, strict=True)}
    return with_constants(part, contents)


def _variables(graph: Any) -> list[Any]:
    """The variables of a graph, each once."""
    known = [*graph.get_collection(GraphKeys.GLOBAL_VARIABLES)]
    known += [*graph.get_collection(GraphKeys.LOCAL_VARIABLES), *graph.owned]
    return list({id(v): v for v in known}.values())


def remove_training_nodes(input_graph: Any, protected_nodes: Sequence[str] | None = None) -> Any:
    """A graph without operations that only pass something on.

    Args:
        input_graph: What ``Graph.as_graph_def`` returns.
        protected_nodes: Names of operations that stay.

    Raises:
        TypeError: something else than a graph.
    """
    return without_copies(require_graph_def(input_graph), set(protected_nodes or ()))


def tensor_shape_from_node_def_name(graph: Any, input_name: str) -> TensorShape:
    """The shape of the first result of an operation.

    Args:
        graph: The ``Graph``.
        input_name: The operation's name.
    """
    name = input_name if ":" in input_name else f"{input_name}:0"
    found: TensorShape = graph.get_tensor_by_name(name).shape
    return found


def write_graph(
    graph_or_graph_def: Any, logdir: str | os.PathLike[str], name: str, as_text: bool = True
) -> str:
    """Write a graph to a file.

    Args:
        graph_or_graph_def: A ``Graph``, or what its ``as_graph_def`` returns.
        logdir: The folder, which is made if there is none.
        name: The file's name.
        as_text: Whether it is written as text; otherwise for ``GraphDef.FromString``.

    Returns:
        The path of the file.

    Example:
        >>> import tempfile
        >>> import tfx.compat.v1 as tf
        >>> with tf.Graph().as_default() as graph, tempfile.TemporaryDirectory() as folder:
        ...     y = tf.square(tf.placeholder(tf.float32, name="x"), name="y")
        ...     path = tf.train.write_graph(graph, folder, "graph.pb", as_text=False)
        ...     with tf.gfile.GFile(path, "rb") as file:
        ...         found = tf.GraphDef.FromString(file.read())
        >>> [node.name for node in found.node]
        ['y']
    """
    given = graph_or_graph_def
    message = require_graph_def(given.as_graph_def() if hasattr(given, "as_graph_def") else given)
    makedirs(logdir)
    path = os.path.join(os.fspath(logdir), name)
    if as_text:
        with GFile(path, "w") as file:
            file.write(text_of_message(message))
    else:
        with GFile(path, "wb") as file:
            file.write(message.SerializeToString())
    return path
