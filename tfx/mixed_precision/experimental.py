"""``tf.mixed_precision.experimental``: where TensorFlow 2.1 to 2.3 had loss scales and policies."""

from __future__ import annotations

from tfx.core.namespaces import complete as _complete
from tfx.framework.precision.dtype_policy import Policy as Policy
from tfx.framework.precision.dtype_policy import global_policy as global_policy
from tfx.framework.precision.dtype_policy import set_global_policy as set_policy
from tfx.optimizers.loss_scale import DynamicLossScale as DynamicLossScale
from tfx.optimizers.loss_scale import FixedLossScale as FixedLossScale
from tfx.optimizers.loss_scale import LossScale as LossScale
from tfx.optimizers.loss_scale_optimizer import LossScaleOptimizer as LossScaleOptimizer

set_policy = set_policy

_complete(__name__)
