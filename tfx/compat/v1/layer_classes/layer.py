"""The base of TensorFlow 1's layers: names, variable scopes, and what a layer has made."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from tfx.compat.v1.graph.collections import GraphKeys
from tfx.compat.v1.graph.default_graph import building, graph_of_variables
from tfx.compat.v1.variables.scopes import VariableScope, get_variable, variable_scope
from tfx.core import dtypes, nest
from tfx.core.dtypes import DTypeLike
from tfx.core.shapes import TensorShape
from tfx.framework.context import using
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor


class InputSpec:
    """What a layer says of an input.

    Args:
        dtype: Element type.
        shape: Shape, None for any size.
        ndim: Number of axes.
        max_ndim: At most as many axes.
        min_ndim: At least as many axes.
        axes: Sizes of some axes, by number.
        allow_last_axis_squeeze: Accepted for compatibility.
        name: Name of the input.
        optional: Accepted for compatibility.
    """

    def __init__(
        self,
        dtype: DTypeLike | None = None,
        shape: Any = None,
        ndim: int | None = None,
        max_ndim: int | None = None,
        min_ndim: int | None = None,
        axes: dict[int, int] | None = None,
        allow_last_axis_squeeze: bool = False,
        name: str | None = None,
        optional: bool = False,
    ) -> None:
        self.dtype = None if dtype is None else dtypes.as_dtype(dtype).name
        self.shape = None if shape is None else tuple(TensorShape(shape).as_list())
        self.ndim = ndim if self.shape is None else len(self.shape)
        self.max_ndim, self.min_ndim = max_ndim, min_ndim
        self.axes = {int(k): size for k, size in (axes or {}).items()}
        self.allow_last_axis_squeeze = allow_last_axis_squeeze
        self.name, self.optional = name, optional

    def check(self, layer: str, x: Tensor) -> None:
        """Refuse an input.

        Args:
            layer: The layer's name, for messages.
            x: The input.

        Raises:
            ValueError: it is not what is said here.
        """
        rank = x.shape.rank
        if rank is None:
            return
        start = f"Input 0 of layer {layer} is incompatible with the layer: "
        if self.ndim is not None and rank != self.ndim:
            raise ValueError(
                f"{start}expected ndim={self.ndim}, found ndim={rank}. Full shape received: "
                f"{x.shape}"
            )
        if self.min_ndim is not None and rank < self.min_ndim:
            raise ValueError(
                f"{start}expected min_ndim={self.min_ndim}, found ndim={rank}. Full shape "
                f"received: {x.shape}"
            )
        if self.max_ndim is not None and rank > self.max_ndim:
            raise ValueError(f"{start}expected max_ndim={self.max_ndim}, found ndim={rank}")
        for axis, size in self.axes.items():
            found = x.shape[axis]
            if found is not None and size is not None and found != size:
                raise ValueError(
                    f"{start}expected axis {axis} of input shape to have value {size} but "
                    f"received input with shape {x.shape}"
                )


class Layer:
    """A layer: a function with variables, which it makes when it is first called.

    A subclass gives ``call``, and ``build`` where it has variables, which ``add_variable`` makes.

    Args:
        trainable: Whether its variables are.
        name: Its name, and that of its variable scope; None: the class's in small letters, with a
            number where it is taken.
        dtype: Element type of its variables; None: that of the first input.
        **kwargs: ``_scope``, a variable scope or its name; ``_reuse``, whether its variables
            exist; ``activity_regularizer``, a function of the output.

    Raises:
        TypeError: another argument.
    """

    input_spec: InputSpec | None = None

    def __init__(
        self,
        trainable: bool = True,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        **kwargs: Any,
    ) -> None:
        scope = kwargs.pop("_scope", None)
        self._reuse = kwargs.pop("_reuse", None)
        self.activity_regularizer = kwargs.pop("activity_regularizer", None)
        if kwargs:
            raise TypeError(f"Keyword argument not understood: {sorted(kwargs)}")
        self.trainable = trainable
        self.dtype = None if dtype is None else dtypes.as_dtype(dtype).name
        self.built = False
        self._base_name = name or _snake_case(type(self).__name__)
        self._name = name
        self._trainable_weights: list[Any] = []
        self._non_trainable_weights: list[Any] = []
        self._updates: list[Any] = []
        self._losses: list[Any] = []
        self._scope: VariableScope | None = None
        if scope is not None:
            with variable_scope(scope) as captured:
                self._scope = captured

    @property
    def name(self) -> str:
        """Its name."""
        if self._name is None:
            return self._base_name if self._scope is None else self._scope.name.rpartition("/")[2]
        return self._name

    @property
    def scope_name(self) -> str:
        """The name of its variable scope.

        Raises:
            ValueError: it was not called yet.
        """
        if self._scope is None:
            raise ValueError(
                f'No name available for layer scope because the layer "{self.name}" has not been '
                "used yet. The scope name is determined the first time the layer instance is "
                "called. You must therefore call the layer before querying `scope_name`."
            )
        return self._scope.name

    @property
    def graph(self) -> Any:
        """The graph that it is built in."""
        return building()

    @property
    def trainable_weights(self) -> list[Any]:
        """The variables that are trained."""
        return list(self._trainable_weights) if self.trainable else []

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The variables that are not trained."""
        if self.trainable:
            return list(self._non_trainable_weights)
        return [*self._trainable_weights, *self._non_trainable_weights]

    @property
    def weights(self) -> list[Any]:
        """All its variables."""
        return [*self.trainable_weights, *self.non_trainable_weights]

    variables = weights
    trainable_variables = trainable_weights
    non_trainable_variables = non_trainable_weights

    @property
    def updates(self) -> list[Any]:
        """Operations that keep its statistics up to date, for ``GraphKeys.UPDATE_OPS``."""
        return list(self._updates)

    @property
    def losses(self) -> list[Any]:
        """Losses of regularizers."""
        return list(self._losses)

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Add losses to its own and to ``GraphKeys.REGULARIZATION_LOSSES``.

        Args:
            losses: A tensor, or several.
            inputs: Accepted for compatibility.
        """
        for loss in nest.flatten(losses):
            self._losses.append(loss)
            building().add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)

    def add_update(self, updates: Any) -> None:
        """Add operations to its own and to ``GraphKeys.UPDATE_OPS``.

        Args:
            updates: An operation, or several.
        """
        for update in nest.flatten(updates):
            self._updates.append(update)
            building().add_to_collection(GraphKeys.UPDATE_OPS, update)

    def add_weight(
        self,
        name: str,
        shape: Any,
        dtype: DTypeLike | None = None,
        initializer: Any = None,
        regularizer: Any = None,
        trainable: bool | None = None,
        constraint: Any = None,
        use_resource: bool | None = None,
        synchronization: Any = None,
        aggregation: Any = None,
        partitioner: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Make a variable of the layer, or find it.

        Args:
            name: Its name in the layer.
            shape: Its shape.
            dtype: Element type; None: the layer's.
            initializer: See ``get_variable``, as the other arguments.
            regularizer: A function from the variable to a loss.
            trainable: Whether it is trained; None: if the layer is.
            constraint: Called by optimizers with the new value.
            use_resource: Accepted for compatibility.
            synchronization: Accepted for compatibility.
            aggregation: Accepted for compatibility.
            partitioner: Refused.
            **kwargs: Accepted for compatibility.
        """
        trains = self.trainable if trainable is None else trainable and self.trainable
        before = len(building().get_collection(GraphKeys.REGULARIZATION_LOSSES))
        variable = get_variable(
            name,
            shape,
            dtype or self.dtype or dtypes.float32,
            initializer=initializer,
            regularizer=regularizer,
            trainable=trains,
            constraint=constraint,
            partitioner=partitioner,
        )
        if graph_of_variables() is not None:
            made = building().get_collection(GraphKeys.REGULARIZATION_LOSSES)[before:]
            self._losses.extend(made)
        elif regularizer is not None:
            self._losses.append(regularizer(variable))
        wanted = trainable is None or trainable
        (self._trainable_weights if wanted else self._non_trainable_weights).append(variable)
        return variable

    add_variable = add_weight

    def build(self, input_shape: Any) -> None:
        """Make the variables.

        Args:
            input_shape: The shape of the input.
        """
        self.built = True

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """The output.

        Args:
            inputs: The input.
            *args: What else it was called with.
            **kwargs: The same.
        """
        return inputs

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """The output, with the variables made at the first call.

        Args:
            inputs: A tensor, or a structure of them.
            *args: What ``call`` takes besides.
            **kwargs: The same; ``scope`` is the variable scope, at the first call.

        Raises:
            ValueError: an input that does not fit.
        """
        inputs = nest.map_structure(convert_to_tensor, inputs)
        self._set_scope(kwargs.pop("scope", None))
        assert self._scope is not None
        reuse = True if self.built else self._reuse
        with variable_scope(self._scope, reuse=reuse):
            leaves = nest.flatten(inputs)
            if self.input_spec is not None:
                self.input_spec.check(self.name, leaves[0])
            if not self.built:
                if self.dtype is None and leaves and leaves[0].dtype.is_floating:
                    self.dtype = leaves[0].dtype.name
                self._build(nest.map_structure(lambda x: x.shape, inputs))
                self.built = True
            outputs = self.call(inputs, *args, **kwargs)
            if self.activity_regularizer is not None:
                for output in nest.flatten(outputs):
                    self.add_loss(self.activity_regularizer(output))
        return outputs

    def _build(self, input_shape: Any) -> None:
        """Make the variables in the graph around loops and branches."""
        graph = graph_of_variables()
        if graph is None:
            self.build(input_shape)
            return
        with using(graph=graph):
            self.build(input_shape)

    def apply(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Call the layer."""
        return self(inputs, *args, **kwargs)

    def _set_scope(self, scope: Any = None) -> None:
        if self._scope is not None:
            return
        if self._reuse:
            entered = variable_scope(self._base_name if scope is None else scope)
        else:
            entered = variable_scope(scope, default_name=self._base_name)
        with entered as captured:
            self._scope = captured


def _snake_case(name: str) -> str:
    parts = re.sub(r"(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", parts).lower()


def activated(outputs: Tensor, activation: Callable[[Tensor], Tensor] | None) -> Tensor:
    """The output behind an activation, if there is one."""
    return outputs if activation is None else activation(outputs)


def channels_first(data_format: str) -> bool:
    """Whether the channels are axis 1.

    Raises:
        ValueError: neither of the two formats.
    """
    if data_format not in ("channels_first", "channels_last"):
        raise ValueError(
            "The `data_format` argument must be one of 'channels_first', 'channels_last'. "
            f"Received: {data_format!r}."
        )
    return data_format == "channels_first"


def numbers(value: Any, count: int, name: str) -> tuple[int, ...]:
    """One number for each axis.

    Args:
        value: A number for all, or one for each.
        count: How many axes there are.
        name: The argument, for messages.

    Raises:
        ValueError: another number of numbers.
    """
    if isinstance(value, int):
        return (value,) * count
    found: Sequence[Any] = tuple(value)
    if len(found) != count:
        raise ValueError(
            f"The `{name}` argument must be a tuple of {count} integers. Received: {value!r}."
        )
    return tuple(map(int, found))


def padding_of(padding: str, allowed: Sequence[str] = ("valid", "same")) -> str:
    """A padding in small letters.

    Raises:
        ValueError: another one.
    """
    found = str(padding).lower()
    if found not in allowed:
        raise ValueError(
            f"The `padding` argument must be one of {', '.join(map(repr, allowed))}. Received: "
            f"{padding!r}."
        )
    return found


def channels_of(input_shape: Any, axis: int, layer: str) -> int:
    """The size of the axis of the channels.

    Raises:
        ValueError: it is not known.
    """
    size = None if input_shape.rank is None else input_shape[axis]
    if size is None:
        raise ValueError(
            f"The channel dimension of the inputs to `{layer}` should be defined. Found `None`: "
            f"the shape is {input_shape}."
        )
    return int(size)
