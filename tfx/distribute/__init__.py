"""``tf.distribute``: strategies for one process with one replica.

Libraries ask for the strategy around them and reduce over its replicas; here that is always this
one, and what is reduced is what was given.
"""

from __future__ import annotations

from tfx.core.namespaces import complete as _complete
from tfx.distribute import cluster_resolver as cluster_resolver
from tfx.distribute import experimental as experimental
from tfx.distribute.default import InputContext as InputContext
from tfx.distribute.default import ReduceOp as ReduceOp
from tfx.distribute.default import ReplicaContext as ReplicaContext
from tfx.distribute.default import RunOptions as RunOptions
from tfx.distribute.default import Strategy as Strategy
from tfx.distribute.default import StrategyExtended as StrategyExtended
from tfx.distribute.default import get_replica_context as get_replica_context
from tfx.distribute.default import get_strategy as get_strategy
from tfx.distribute.default import has_strategy as has_strategy
from tfx.distribute.default import in_cross_replica_context as in_cross_replica_context
from tfx.distribute.multi_worker import MultiWorkerMirroredStrategy as MultiWorkerMirroredStrategy
from tfx.distribute.one_device import DistributedDataset as DistributedDataset
from tfx.distribute.one_device import DistributedIterator as DistributedIterator
from tfx.distribute.one_device import DistributedValues as DistributedValues
from tfx.distribute.one_device import MirroredStrategy as MirroredStrategy
from tfx.distribute.one_device import OneDeviceStrategy as OneDeviceStrategy
from tfx.distribute.one_device import TPUStrategy as TPUStrategy
from tfx.distribute.options import CrossDeviceOps as CrossDeviceOps
from tfx.distribute.options import HierarchicalCopyAllReduce as HierarchicalCopyAllReduce
from tfx.distribute.options import InputOptions as InputOptions
from tfx.distribute.options import InputReplicationMode as InputReplicationMode
from tfx.distribute.options import NcclAllReduce as NcclAllReduce
from tfx.distribute.options import ReductionToOneDevice as ReductionToOneDevice

_complete(__name__, "cluster_resolver", "experimental")
