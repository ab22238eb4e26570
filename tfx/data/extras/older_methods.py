"""Methods that datasets have in TensorFlow 1, as functions in TensorFlow 2."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfx.data.extras.graph_iterators import (
    get_output_classes,
    get_output_shapes,
    get_output_types,
    make_initializable_iterator,
    make_one_shot_iterator,
)


class OlderMethods:
    """Part of ``Dataset``."""

    __slots__ = ()

    def make_one_shot_iterator(self) -> Any:
        """``tf.compat.v1.data.make_one_shot_iterator`` of the dataset.

        Example:
            >>> import tfx.compat.v1 as tf
            >>> with tf.Graph().as_default(), tf.Session() as session:
            ...     element = tf.data.Dataset.range(5).make_one_shot_iterator().get_next()
            ...     session.run(element), session.run(element)
            (np.int64(0), np.int64(1))
        """
        return make_one_shot_iterator(self)

    def make_initializable_iterator(self, shared_name: str | None = None) -> Any:
        """``tf.compat.v1.data.make_initializable_iterator`` of the dataset.

        Args:
            shared_name: Accepted for compatibility.
        """
        return make_initializable_iterator(self, shared_name)

    @property
    def output_types(self) -> Any:
        """The dtypes of the components of elements."""
        return get_output_types(self)

    @property
    def output_shapes(self) -> Any:
        """The shapes of the components of elements."""
        return get_output_shapes(self)

    @property
    def output_classes(self) -> Any:
        """The classes of the components of elements."""
        return get_output_classes(self)

    def map_with_legacy_function(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
    ) -> Any:
        """The same as ``map``."""
        own: Any = self
        return own.map(map_func, num_parallel_calls, deterministic)

    def filter_with_legacy_function(self, predicate: Callable[..., Any]) -> Any:
        """The same as ``filter``."""
        own: Any = self
        return own.filter(predicate)
