"""``simple_save`` and ``simple_load``: a part of a graph as a bundle, and back."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from tfx.compat.v1.graph.placeholders import add_placeholder
from tfx.compat.v1.session.plans import check_initialized, signature_of
from tfx.compat.v1.session.resolve_state import resolve
from tfx.exporters.native import save
from tfx.framework.context import using
from tfx.framework.module import Module
from tfx.framework.tensor import SymbolicTensor
from tfx.function.execution.concrete_function import ConcreteFunction
from tfx.saved_model.load import load

_DEFAULT = "serving_default"


def simple_save(
    session: Any,
    export_dir: str | os.PathLike[str],
    inputs: Mapping[str, Any],
    outputs: Mapping[str, Any],
    legacy_init_op: Any = None,
) -> None:
    """Save what computes some tensors from others, with the values that a session holds.

    The bundle has one signature, ``serving_default``; any ONNX Runtime runs it.

    Args:
        session: The session.
        export_dir: The folder.
        inputs: Tensors by the names of the signature's arguments.
        outputs: Tensors by the names of its results.
        legacy_init_op: Accepted for compatibility.

    Raises:
        InvalidArgumentError: a placeholder is needed that is not among the inputs.
        FailedPreconditionError: a variable has no value yet.
        AlreadyExistsError: the folder exists and is not a bundle.

    Example:
        >>> import tempfile
        >>> import tfx.compat.v1 as tf
        >>> with tf.Graph().as_default(), tempfile.TemporaryDirectory() as folder:
        ...     x = tf.placeholder(tf.float32, [None])
        ...     w = tf.get_variable("w", initializer=3.0)
        ...     with tf.Session() as session:
        ...         session.run(w.initializer)
        ...         tf.saved_model.simple_save(session, folder + "/m", {"x": x}, {"y": x * w})
        ...     with tf.Session() as session:
        ...         given, found = tf.saved_model.simple_load(session, folder + "/m")
        ...         session.run(found["y"], {given["x"]: [2.0]})
        array([6.], dtype=float32)
    """
    concrete = part_of_graph(session, inputs, outputs, _DEFAULT)
    save_signatures(export_dir, {_DEFAULT: concrete})


def part_of_graph(
    session: Any, inputs: Mapping[str, Any], outputs: Mapping[str, Any], name: str
) -> ConcreteFunction:
    """What computes some tensors from others, as a function over a session's variables.

    Args:
        session: The session.
        inputs: Tensors, or their names, by the names of the arguments.
        outputs: The same by the names of the results.
        name: Its name.

    Raises:
        InvalidArgumentError: a placeholder is needed that is not among the inputs.
        FailedPreconditionError: a variable has no value yet.
    """
    graph = session.graph
    given = [(name, graph.as_graph_element(x)._symbol) for name, x in inputs.items()]
    wanted = {name: graph.as_graph_element(y)._symbol for name, y in outputs.items()}
    part = resolve(
        graph.ordered,
        list(wanted.values()),
        [],
        [(v, n) for n, v in given],
        memory=session.memory,
        name=name,
        device=graph.home,
    ).func_graph
    results = {name: SymbolicTensor(v, part) for name, v in wanted.items()}
    signature = signature_of(part.arguments)
    concrete = ConcreteFunction(part, signature, results, graph.home)
    check_initialized(part)
    return concrete


def save_signatures(
    export_dir: str | os.PathLike[str], signatures: Mapping[str, ConcreteFunction]
) -> None:
    """Save a bundle of functions.

    Args:
        export_dir: The folder.
        signatures: They, by the names of the signatures.
    """
    holder = Module()
    for i, function in enumerate(signatures.values()):
        setattr(holder, f"serve{i or ''}", function)
    with using(graph=None, tapes=(), scope=""):
        save(holder, export_dir, signatures=dict(signatures))


def simple_load(session: Any, export_dir: str | os.PathLike[str]) -> Any:
    """Add a bundle's default signature to a session's graph.

    Args:
        session: The session.
        export_dir: The folder.

    Returns:
        Placeholders by the names of the arguments, and tensors by the names of the results. The
        values of variables are there at once.

    Raises:
        NotFoundError: there is no bundle.
        KeyError: it has no signature of that name.
    """
    graph = session.graph
    with using(graph=None, tapes=(), scope=""):
        loaded = load(os.fspath(export_dir))
    if _DEFAULT not in loaded.signatures:
        raise KeyError(
            f"{os.fspath(export_dir)}: no signature {_DEFAULT!r}; it has "
            f"{', '.join(map(repr, loaded.signatures)) or 'none'}."
        )
    inputs, outputs = added(graph, loaded.signatures[_DEFAULT])
    graph.owned_objects.append(loaded)
    return inputs, outputs


def added(graph: Any, function: Any) -> tuple[dict[str, Any], Any]:
    """Placeholders for a function's arguments in a graph, and its results."""
    with graph.as_default():
        specs = function.structured_input_signature[1]
        inputs = {
            name: add_placeholder(graph, spec.dtype, spec.shape, name)
            for name, spec in specs.items()
        }
        return inputs, function(**inputs)
