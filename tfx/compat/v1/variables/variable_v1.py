"""``Variable`` with TensorFlow 1's arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfx.compat.v1.graph.default_graph import graph_of_variables
from tfx.compat.v1.variables.graph_variable import GraphVariable
from tfx.core.dtypes import DTypeLike
from tfx.framework import variable as framework
from tfx.framework.context import using
from tfx.framework.variable import VariableAggregation, VariableSynchronization
from tfx.framework.variable_creators import create


class _Kind(type):
    """Calling the class makes a variable of the kind that is meant here."""

    def __call__(
        cls,
        initial_value: Any = None,
        trainable: bool | None = None,
        collections: Sequence[Any] | None = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: None = None,
        dtype: DTypeLike | None = None,
        expected_shape: Any = None,
        import_scope: str | None = None,
        constraint: Callable[..., Any] | None = None,
        use_resource: bool | None = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
        shape: Any = None,
    ) -> Any:
        options: dict[str, Any] = {
            "trainable": trainable,
            "validate_shape": validate_shape,
            "caching_device": caching_device,
            "name": name,
            "dtype": dtype,
            "constraint": constraint,
            "synchronization": synchronization,
            "aggregation": aggregation,
            "shape": expected_shape if shape is None else shape,
        }
        graph = graph_of_variables()
        if graph is not None:
            given = {"initial_value": initial_value, "collections": collections, **options}
            with using(graph=graph):
                return create(GraphVariable, given)
        return framework.Variable(initial_value, **options)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, framework.Variable)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, framework.Variable)


class Variable(metaclass=_Kind):
    """A variable: in a graph one whose values sessions hold, otherwise one that exists at once.

    Args:
        initial_value: A tensor, numbers, or a function without arguments that returns one.
        trainable: Whether optimizers change it; None means True.
        collections: The collections to add it to; None: the global variables.
        validate_shape: Accepted for compatibility: ``shape`` says what is left open.
        caching_device: Accepted for compatibility.
        name: Name; scopes prefix it, and a number makes it unique.
        variable_def: Not supported: pass None.
        dtype: Element type that ``initial_value`` is converted to.
        expected_shape: Older name of ``shape``.
        import_scope: Accepted for compatibility.
        constraint: Called by optimizers with the new value, returns the value to store.
        use_resource: Accepted for compatibility.
        synchronization: Accepted for compatibility.
        aggregation: Accepted for compatibility.
        shape: Static shape.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> with tf.Graph().as_default():
        ...     tf.Variable([1.0, 2.0], name="v")
        <tf.Variable 'v:0' shape=(2,) dtype=float32>
    """
