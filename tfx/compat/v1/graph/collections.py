"""Collections: named lists of anything that belong to a graph."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any


class GraphKeys:
    """The names of the usual collections."""

    GLOBAL_VARIABLES = "variables"
    VARIABLES = "variables"
    LOCAL_VARIABLES = "local_variables"
    METRIC_VARIABLES = "metric_variables"
    MODEL_VARIABLES = "model_variables"
    TRAINABLE_VARIABLES = "trainable_variables"
    TRAINABLE_RESOURCE_VARIABLES = "trainable_resource_variables"
    MOVING_AVERAGE_VARIABLES = "moving_average_variables"
    CONCATENATED_VARIABLES = "concatenated_variables"
    SUMMARIES = "summaries"
    QUEUE_RUNNERS = "queue_runners"
    TABLE_INITIALIZERS = "table_initializer"
    ASSET_FILEPATHS = "asset_filepaths"
    REGULARIZATION_LOSSES = "regularization_losses"
    LOSSES = "losses"
    WEIGHTS = "weights"
    BIASES = "biases"
    ACTIVATIONS = "activations"
    UPDATE_OPS = "update_ops"
    SAVERS = "savers"
    SAVEABLE_OBJECTS = "saveable_objects"
    RESOURCES = "resources"
    LOCAL_RESOURCES = "local_resources"
    TRAIN_OP = "train_op"
    GLOBAL_STEP = "global_step"
    INIT_OP = "init_op"
    LOCAL_INIT_OP = "local_init_op"
    READY_OP = "ready_op"
    READY_FOR_LOCAL_INIT_OP = "ready_for_local_init_op"
    SUMMARY_OP = "summary_op"
    EVAL_STEP = "eval_step"
    COND_CONTEXT = "cond_context"
    WHILE_CONTEXT = "while_context"


class Collections:
    """Named lists; part of ``Graph``."""

    def __init__(self) -> None:
        self._collections: dict[Any, list[Any]] = {}

    @property
    def collections(self) -> list[Any]:
        """The names of the collections that exist."""
        return list(self._collections)

    def get_all_collection_keys(self) -> list[str]:
        """The names that are texts."""
        return [name for name in self._collections if isinstance(name, str)]

    def add_to_collection(self, name: Any, value: Any) -> None:
        """Append a value to a collection; it may be there already."""
        self._collections.setdefault(name, []).append(value)

    def add_to_collections(self, names: Any, value: Any) -> None:
        """Append a value to several collections, to each at most once in this call."""
        for name in _unique(names):
            self.add_to_collection(name, value)

    def get_collection_ref(self, name: Any) -> list[Any]:
        """The list itself: changing it changes the collection."""
        return self._collections.setdefault(name, [])

    def get_collection(self, name: Any, scope: str | None = None) -> list[Any]:
        """A copy of a collection.

        Args:
            name: The collection's name; one that nothing was added to is empty.
            scope: Keep only what has a ``name`` that begins so (a regular expression).
        """
        found = list(self._collections.get(name, ()))
        if scope is None:
            return found
        pattern = re.compile(scope)
        return [x for x in found if hasattr(x, "name") and pattern.match(x.name)]

    def clear_collection(self, name: Any) -> None:
        """Remove a collection."""
        self._collections.pop(name, None)


def _unique(names: Any) -> Iterable[Any]:
    return (names,) if isinstance(names, str) else dict.fromkeys(names)
