"""What every Keras layer inherits here: tfx finds its variables, for checkpoints and bundles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from keras.src.backend.common import KerasVariable
from keras.src.random.seed_generator import SeedGenerator

import tfx as tf
from tfx.framework.deferred_restores import AutoTrackable

# Attributes of Keras itself: lists of what other attributes hold, and what was made of the model.
_BOOKKEEPING = {
    "_variables",
    "_trainable_variables",
    "_non_trainable_variables",
    "_layers",
    "_metrics",
    "_seed_generators",
    "_tracker",
    "_losses",
    "_loss_ids",
    "_inbound_nodes",
    "_outbound_nodes",
    "_operations",
    "_operations_by_depth",
    "_nodes",
    "_nodes_by_depth",
    "_functional",
    "_build_shapes_dict",
    "_compile_config",
    "_tracked",
    "_compile_loss",
    "train_function",
    "test_function",
    "predict_function",
    "history",
}


class BackendLayer(AutoTrackable):
    """Base class of layers: a checkpoint has their variables under the names of attributes."""

    _tfx_parts_are_attributes = False  # `_kernel` is `kernel`, and lists grow

    def _trackable_children(self) -> dict[str, Any]:
        return trackable_children(self)


def trackable_children(owner: Any) -> dict[str, Any]:
    """The variables and layers of a Keras object by name.

    Those among its attributes have their names; layers that it keeps in a list of its own, as
    ``Sequential`` does, have numbers.
    """
    found: dict[str, Any] = {}
    for name, value in _attributes(owner):  # `_kernel` is `kernel`, unless that is something else
        public = name.lstrip("_")
        found[name if public in found or not public else public] = value
    held = {id(part) for part in found.values()}
    # By number: names of layers go on counting from model to model.
    layers = [part for part in getattr(owner, "_layers", ()) if id(part) not in held]
    found["layers"] = [None, *layers] if _awaits_input(owner) else layers
    found["metrics"] = [_state(part) for part in _metrics(owner)]
    return found


def _awaits_input(owner: Any) -> bool:
    """Whether it is a ``Sequential`` that is yet to get the layer of its input, its number 0."""
    from keras.src.layers.core.input_layer import InputLayer  # which import this module
    from keras.src.models.sequential import Sequential

    return isinstance(owner, Sequential) and not (
        owner._layers and isinstance(owner._layers[0], InputLayer)
    )


def _attributes(owner: Any) -> Iterator[tuple[str, Any]]:
    for name, value in sorted(vars(owner).items()):
        if name in _BOOKKEEPING:
            continue
        if isinstance(value, KerasVariable):
            yield name, value.__tf_variable__()
        elif isinstance(value, SeedGenerator):
            yield name, _state(value)
        elif isinstance(value, list | tuple):
            yield name, [_variable_or_item(item) for item in value]
        elif isinstance(value, dict):
            yield name, {str(key): _variable_or_item(item) for key, item in value.items()}
        elif isinstance(value, tf.Variable | AutoTrackable):
            yield name, value


def _variable_or_item(item: Any) -> Any:
    return item.__tf_variable__() if isinstance(item, KerasVariable) else item


def _metrics(owner: Any) -> list[Any]:
    """The metrics that a compiled model updates, each once."""
    if not getattr(owner, "compiled", False):
        return []
    return list(owner.metrics)


def _state(part: Any) -> dict[str, Any]:
    """The variables of a metric or of a generator of seeds."""
    if isinstance(part, SeedGenerator):
        return {"state": part.state.__tf_variable__()}
    return {str(number): v.__tf_variable__() for number, v in enumerate(part.variables)}
