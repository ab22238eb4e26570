"""``keras.Variable``: a variable of tfx with a name, a path and Keras' dtype policy."""

from __future__ import annotations

from typing import Any

from keras.src.backend.common import KerasVariable
from keras.src.backend.common.stateless_scope import in_stateless_scope

import tfx as tf
from tfx.keras_backend.conversion import convert_to_tensor


class Variable(KerasVariable):
    """The state of a layer; ``value`` is the ``tf.Variable`` that keeps it."""

    _value: Any
    _initializer: Any

    def __tf_variable__(self) -> Any:
        """The variable of tfx: what tapes differentiate by and checkpoints keep."""
        return self._value

    def __tf_tensor__(self, dtype: Any = None, name: str | None = None) -> Any:
        return tf.convert_to_tensor(self.value, dtype)

    @property
    def shape(self) -> tf.TensorShape:
        """The shape, as tensors have it."""
        return tf.TensorShape(super().shape)

    def numpy(self) -> Any:
        """The current value as an array."""
        return self.value.numpy()

    def _initialize(self, value: Any) -> None:
        if isinstance(value, tf.Variable):
            self._value = value
            return
        self._value = tf.Variable(
            value,
            dtype=self._dtype,
            trainable=self.trainable,
            name=self.name,
            aggregation=_AGGREGATIONS[self.aggregation],
        )

    def _initialize_with_initializer(self, initializer: Any) -> None:
        with tf.init_scope():
            value = initializer(self._shape, dtype=self._dtype)
            self._initialize(convert_to_tensor(value, self._dtype))

    def _deferred_initialize(self) -> None:
        if self._value is None and not in_stateless_scope():
            self._initialize_with_initializer(self._initializer)
            self._initializer = None
        else:
            super()._deferred_initialize()

    def _direct_assign(self, value: Any) -> None:
        self._value.assign(value)

    def _convert_to_tensor(self, value: Any, dtype: Any = None) -> Any:
        return convert_to_tensor(value, dtype)


_AGGREGATIONS: dict[str, Any] = {
    "none": tf.VariableAggregation.NONE,
    "sum": tf.VariableAggregation.SUM,
    "mean": tf.VariableAggregation.MEAN,
    "only_first_replica": tf.VariableAggregation.ONLY_FIRST_REPLICA,
}
