"""What every Keras optimizer inherits here."""

from __future__ import annotations

from typing import Any

from keras.src.optimizers import base_optimizer

from tfx.framework.deferred_restores import AutoTrackable
from tfx.keras_backend.layer import trackable_children


class BackendOptimizer(AutoTrackable, base_optimizer.BaseOptimizer):
    """Base class of optimizers: a checkpoint has their slots."""

    def _trackable_children(self) -> dict[str, Any]:
        return trackable_children(self)
