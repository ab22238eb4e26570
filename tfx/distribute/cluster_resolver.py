"""``tf.distribute.cluster_resolver``: what knows a cluster of processes."""

from __future__ import annotations

from tfx.core.namespaces import complete as _complete
from tfx.distribute.cluster import ClusterResolver as ClusterResolver
from tfx.distribute.cluster import SimpleClusterResolver as SimpleClusterResolver
from tfx.distribute.cluster import TFConfigClusterResolver as TFConfigClusterResolver

_complete(__name__)
