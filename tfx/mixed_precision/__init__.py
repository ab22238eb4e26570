"""``tfx.mixed_precision``: compute in half precision, keep variables in float32, scale the loss.

TensorFlow has these names in ``tf.keras.mixed_precision``, which here is Keras' own, for Keras'
layers; these are for modules, functions and optimizers of tfx. docs/mixed-precision.md has a guide.
"""

from __future__ import annotations

from tfx.core.namespaces import complete as _complete
from tfx.framework.precision.autocast_scope import autocast as autocast
from tfx.framework.precision.autocast_variable import AutoCastVariable as AutoCastVariable
from tfx.framework.precision.autocast_variable import (
    create_autocast_variable as create_autocast_variable,
)
from tfx.framework.precision.dtype_policy import Policy as Policy
from tfx.framework.precision.dtype_policy import global_policy as global_policy
from tfx.framework.precision.dtype_policy import policy_scope as policy_scope
from tfx.framework.precision.dtype_policy import set_global_policy as set_global_policy
from tfx.mixed_precision import experimental as experimental
from tfx.optimizers.graph_rewrite import (
    disable_mixed_precision_graph_rewrite as disable_mixed_precision_graph_rewrite,
)
from tfx.optimizers.graph_rewrite import (
    enable_mixed_precision_graph_rewrite as enable_mixed_precision_graph_rewrite,
)
from tfx.optimizers.loss_scale import DynamicLossScale as DynamicLossScale
from tfx.optimizers.loss_scale import FixedLossScale as FixedLossScale
from tfx.optimizers.loss_scale import LossScale as LossScale
from tfx.optimizers.loss_scale_optimizer import LossScaleOptimizer as LossScaleOptimizer

_complete(__name__, "experimental")
