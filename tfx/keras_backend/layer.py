"""What every Keras layer inherits here: tfx finds its variables, for checkpoints and bundles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from keras.src.backend.common import KerasVariable

import tfx as tf
from tfx.framework.deferred_restores import AutoTrackable

# What Keras keeps for itself: lists that repeat the attributes, and functions that were made.
_BOOKKEEPING = frozenset(
    """_trainable_variables _non_trainable_variables _layers _metrics _seed_generators _tracker
    _parent_path _inbound_nodes _outbound_nodes _losses _loss_ids _build_shapes_dict
    train_function test_function predict_function history""".split()
)


class TfxLayer(AutoTrackable):
    """Base class of layers: a checkpoint has their variables under the names of attributes."""

    def _trackable_children(self) -> dict[str, Any]:
        return trackable_children(self)


def trackable_children(owner: Any) -> dict[str, Any]:
    """The variables and layers among an object's attributes, by name."""
    return dict(_children(owner))


def _children(owner: Any) -> Iterator[tuple[str, Any]]:
    for name, value in sorted(vars(owner).items()):
        if name in _BOOKKEEPING:
            continue
        if isinstance(value, KerasVariable):
            yield name, value.__tf_variable__()
        elif isinstance(value, list | tuple):
            yield name, [_plain(item) for item in value]
        elif isinstance(value, dict):
            yield name, {str(key): _plain(item) for key, item in value.items()}
        elif isinstance(value, tf.Variable | AutoTrackable):
            yield name, value


def _plain(item: Any) -> Any:
    return item.__tf_variable__() if isinstance(item, KerasVariable) else item
