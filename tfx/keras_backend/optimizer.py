"""What every Keras optimizer inherits here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keras.src.backend.common import KerasVariable
from keras.src.optimizers import base_optimizer

import tfx as tf
from tfx.framework.deferred_restores import AutoTrackable
from tfx.keras_backend.layer import trackable_children
from tfx.keras_backend.sparse import dense, rows_once

# Optimizers, by Keras' names, whose update moves every row: rows alone would save them nothing.
_MOVE_ALL = frozenset(("Adam", "Adamax", "Ftrl", "Lamb", "Lion", "Muon", "Nadam"))


class BackendOptimizer(AutoTrackable, base_optimizer.BaseOptimizer):
    """Base class of optimizers: a checkpoint has their slots, gradients may be slices."""

    _tfx_parts_are_attributes = False  # `_momentums` is `momentums`, and lists grow

    def _trackable_children(self) -> dict[str, Any]:
        return trackable_children(self)

    def apply(self, grads: Any, trainable_variables: Any = None) -> None:
        """Update variables by their gradients, ``IndexedSlices`` among them."""
        if any(type(g) is tf.IndexedSlices for g in grads) and not self._keeps_rows():
            grads = [dense(g) for g in grads]
        super().apply(grads, trainable_variables)

    def _keeps_rows(self) -> bool:
        """Whether an update by a few rows is one of these rows."""
        if any(kind.__name__ in _MOVE_ALL for kind in type(self).__mro__):
            return False
        settings = ("momentum", "centered", "gradient_accumulation_steps", "global_clipnorm")
        return not any(getattr(self, name, None) for name in (*settings, "loss_scale_factor"))

    def assign(self, variable: Any, value: Any) -> None:
        """Give a variable another value, or the rows of slices other values."""
        if type(value) is tf.IndexedSlices:
            value = rows_once(value)
        _assigned(variable, value, super().assign, "scatter_update")

    def assign_add(self, variable: Any, value: Any) -> None:
        """Add to a variable, or to the rows of slices."""
        _assigned(variable, value, super().assign_add, "scatter_add")

    def assign_sub(self, variable: Any, value: Any) -> None:
        """Subtract from a variable, or from the rows of slices."""
        _assigned(variable, value, super().assign_sub, "scatter_sub")

    def _clip_by_norm(self, values: Any, axes: Any = None) -> Any:
        if type(values) is tf.IndexedSlices:
            return tf.clip_by_norm(rows_once(values), self.clipnorm, axes)
        return super()._clip_by_norm(values, axes)


def _assigned(variable: Any, value: Any, whole: Callable[..., None], rows: str) -> None:
    """Assign a tensor by one method of Keras, slices by one of ``tf.Variable``."""
    if type(value) is not tf.IndexedSlices:
        whole(variable, value)
        return
    target = variable.value if isinstance(variable, KerasVariable) else variable
    if isinstance(target, tf.Variable):
        getattr(target, rows)(tf.cast(value, target.dtype))
    elif rows == "scatter_update":  # of a stateless scope, in which values are tensors
        at = tf.cast(tf.convert_to_tensor(value.indices), tf.int64)[:, None]
        new = tf.cast(value.values, target.dtype)
        whole(variable, tf.tensor_scatter_nd_update(target, at, new))
    else:
        whole(variable, dense(value))
