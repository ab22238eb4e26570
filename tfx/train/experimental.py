"""``tf.train.experimental``: policies that say how a checkpoint is divided among files."""

from __future__ import annotations

from tfx.core.namespaces import complete as _complete
from tfx.train.options import MaxShardSizePolicy as MaxShardSizePolicy
from tfx.train.options import ShardByDevicePolicy as ShardByDevicePolicy
from tfx.train.options import ShardingCallback as ShardingCallback

_complete(__name__)
