"""What knows a cluster of processes that would train together; there are some of one, too."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from tfx.core.cluster_spec import ClusterSpec

_VARIABLE = "TF_CONFIG"


class ClusterResolver:
    """What knows a cluster, and which of its tasks this process is.

    Args:
        cluster_spec: The cluster; empty: this process alone.
        task_type: The job that this process belongs to.
        task_id: Its number in the job.
        rpc_layer: Accepted for compatibility.
        environment: Accepted for compatibility.
    """

    def __init__(
        self,
        cluster_spec: ClusterSpec,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
        environment: str = "",
    ) -> None:
        self._cluster = ClusterSpec(cluster_spec)
        self.task_type, self.task_id = task_type, task_id
        self.rpc_layer, self.environment = rpc_layer, environment or ""

    def cluster_spec(self) -> ClusterSpec:
        """The cluster."""
        return self._cluster

    def master(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
    ) -> str:
        """The address of a task, of this process if none is named; empty: there is none."""
        kind = self.task_type if task_type is None else task_type
        number = self.task_id if task_id is None else task_id
        if kind is None or number is None or not self._cluster:
            return ""
        address = self._cluster.task_address(kind, number)
        layer = rpc_layer or self.rpc_layer
        return f"{layer}://{address}" if layer else address


class SimpleClusterResolver(ClusterResolver):
    """A cluster that the program names.

    Args:
        cluster_spec: The cluster.
        master: The address that ``master()`` gives.
        task_type: The job that this process belongs to.
        task_id: Its number in the job.
        environment: Accepted for compatibility.
        num_accelerators: Accepted for compatibility.
        rpc_layer: Accepted for compatibility.

    Example:
        >>> import tfx as tf
        >>> spec = tf.train.ClusterSpec({"worker": ["localhost:2222"]})
        >>> resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        ...     spec, task_type="worker", task_id=0
        ... )
        >>> resolver.cluster_spec().num_tasks("worker")
        1
    """

    def __init__(
        self,
        cluster_spec: ClusterSpec,
        master: str = "",
        task_type: str | None = None,
        task_id: int | None = None,
        environment: str = "",
        num_accelerators: Any = None,
        rpc_layer: str | None = None,
    ) -> None:
        super().__init__(cluster_spec, task_type, task_id, rpc_layer, environment)
        self._master = master

    def master(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
    ) -> str:
        """The address of a task; if none is named, the one that was given."""
        if task_type is None or task_id is None:
            return self._master
        return super().master(task_type, task_id, rpc_layer)


class TFConfigClusterResolver(ClusterResolver):
    """The cluster of the environment variable ``TF_CONFIG``; without it, this process alone.

    Args:
        task_type: Instead of the variable's.
        task_id: Instead of the variable's.
        rpc_layer: Accepted for compatibility.
        environment: Accepted for compatibility.

    Raises:
        ValueError: the variable holds no JSON object.

    Example:
        >>> import tfx as tf
        >>> resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
        >>> bool(resolver.cluster_spec())
        False
    """

    def __init__(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
        environment: str | None = None,
    ) -> None:
        config = _configuration()
        task = config.get("task", {})
        if not isinstance(task, Mapping):
            raise ValueError(f"{_VARIABLE} must have an object as its 'task'; got {task!r}.")
        number = task.get("index") if task_id is None else task_id
        super().__init__(
            ClusterSpec(config.get("cluster", {})),
            task.get("type") if task_type is None else task_type,
            None if number is None else int(number),
            rpc_layer or config.get("rpc_layer"),
            environment or config.get("environment", ""),
        )


def _configuration() -> dict[str, Any]:
    text = os.environ.get(_VARIABLE, "")
    try:
        found = json.loads(text) if text else {}
    except ValueError as e:
        raise ValueError(f"{_VARIABLE} must be a JSON object; got {text!r}: {e}") from e
    if not isinstance(found, dict):
        raise ValueError(f"{_VARIABLE} must be a JSON object; got {text!r}.")
    return found
