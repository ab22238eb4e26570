"""``placeholder``: a tensor whose contents every run is given."""

from __future__ import annotations

from typing import Any

from tfx.compat.v1.graph import pseudo_ops
from tfx.compat.v1.graph.default_graph import is_building
from tfx.compat.v1.graph.graph import Graph
from tfx.core import dtypes
from tfx.core.dims import is_automatic_dim, sizes_alone
from tfx.core.dtypes import DTypeLike
from tfx.core.shapes import TensorShape
from tfx.framework.context import current
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import SymbolicTensor
from tfx.ops.math.cast import identity


def placeholder(dtype: DTypeLike, shape: Any = None, name: str | None = None) -> Any:
    """A tensor whose contents are given to ``Session.run`` with ``feed_dict``.

    Args:
        dtype: Element type.
        shape: Shape that the contents must have; None: any.
        name: Name of the operation.

    Returns:
        A tensor of the default graph.

    Raises:
        RuntimeError: operations run at once, or a function is being traced.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> with tf.Graph().as_default():
        ...     tf.placeholder(tf.float32, [None, 3], name="x")
        <tf.Tensor 'x:0' shape=(None, 3) dtype=float32>
    """
    kind = dtypes.as_dtype(dtype)
    graph = current().graph
    if graph is None:
        raise RuntimeError(
            "tf.compat.v1.placeholder() is not compatible with eager execution. Make it inside "
            "`with tf.compat.v1.Graph().as_default():`, or call "
            "tf.compat.v1.disable_eager_execution() first; wrap_function takes a tf.TensorSpec."
        )
    if not isinstance(graph, Graph):
        raise RuntimeError(
            f"tf.compat.v1.placeholder() cannot be used inside the tf.function {graph.name!r}: "
            "make the tensor an argument of it. What sessions run is built inside `with "
            "tf.compat.v1.Graph().as_default():`."
        )
    return add_placeholder(graph, kind, TensorShape(shape), name or "Placeholder")


def add_placeholder(
    graph: Graph, dtype: dtypes.DType, shape: TensorShape, name: str
) -> SymbolicTensor:
    """A placeholder in a graph."""
    unique = graph.ordered.unique_name(f"{current().scope}{name}/dims").removesuffix("/dims")
    raw = shape.symbolic
    if raw is not None:
        # Unknown dimensions have distinct names, so that shapes computed from them stay known.
        raw = tuple(
            f"{unique}.d{i}" if d is None or is_automatic_dim(d) else d for i, d in enumerate(raw)
        )
    node = graph.add_pseudo(
        pseudo_ops.PLACEHOLDER, (), [(dtype.onnx, raw)], name=f"{current().scope}{name}"
    )
    return SymbolicTensor(node.outputs[0], graph)


def placeholder_with_default(input: Any, shape: Any, name: str | None = None) -> Any:
    """A tensor that is ``input`` unless ``feed_dict`` gives it other contents.

    Args:
        input: The default; its shape must fit ``shape``.
        shape: Shape that the contents must have; None in it: any.
        name: Name of the operation.

    Raises:
        ValueError: ``input`` does not fit ``shape``.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> with tf.Graph().as_default(), tf.Session() as session:
        ...     rate = tf.placeholder_with_default(0.5, [])
        ...     session.run(rate), session.run(rate, {rate: 2.0})
        (np.float32(0.5), np.float32(2.0))
    """
    tensor = convert_to_tensor(input)
    wanted = TensorShape(shape)
    if not wanted.is_compatible_with(tensor.shape):
        raise ValueError(
            f"The default of shape {tensor.shape} does not fit the placeholder's shape {wanted}."
        )
    copy = identity(tensor)
    if isinstance(copy, SymbolicTensor):  # in a function, too, it stands for other contents
        copy._symbol.shape = sizes_alone(wanted.symbolic)
        copy._shape = None
        copy._symbol.dims = None
        node = copy._symbol.node
        graph = copy.graph
        if is_building() and node is not None and isinstance(graph, Graph):
            node.name = graph.ordered.unique_name(
                f"{current().scope}{name or 'PlaceholderWithDefault'}"
            )
    return copy
