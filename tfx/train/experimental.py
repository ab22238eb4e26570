"""``tf.train.experimental``: how a checkpoint is divided among files, and mixed precision."""

from __future__ import annotations

from tfx.core.namespaces import complete as _complete
from tfx.optimizers.graph_rewrite import (
    disable_mixed_precision_graph_rewrite as disable_mixed_precision_graph_rewrite,
)
from tfx.optimizers.graph_rewrite import (
    enable_mixed_precision_graph_rewrite as enable_mixed_precision_graph_rewrite,
)
from tfx.optimizers.loss_scale import DynamicLossScale as DynamicLossScale
from tfx.optimizers.loss_scale import FixedLossScale as FixedLossScale
from tfx.optimizers.loss_scale import LossScale as LossScale
from tfx.train.options import MaxShardSizePolicy as MaxShardSizePolicy
from tfx.train.options import ShardByDevicePolicy as ShardByDevicePolicy
from tfx.train.options import ShardingCallback as ShardingCallback
from tfx.train.python_state import PythonState as PythonState

_complete(__name__)
