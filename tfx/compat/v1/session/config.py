"""``ConfigProto``: settings of sessions that TensorFlow 1 programs make."""

from __future__ import annotations

from typing import Any


class GPUOptions:
    """Settings of GPUs, kept for the program: memory is the runtime's business.

    Args:
        allow_growth: Accepted for compatibility.
        per_process_gpu_memory_fraction: Accepted for compatibility.
        visible_device_list: Accepted for compatibility.
        allocator_type: Accepted for compatibility.
    """

    def __init__(
        self,
        *,
        allow_growth: bool = False,
        per_process_gpu_memory_fraction: float = 0.0,
        visible_device_list: str = "",
        allocator_type: str = "",
    ) -> None:
        self.allow_growth = allow_growth
        self.per_process_gpu_memory_fraction = per_process_gpu_memory_fraction
        self.visible_device_list = visible_device_list
        self.allocator_type = allocator_type


class ConfigProto:
    """Settings of a session, kept for the program; threads and devices are set in ``tf.config``.

    Args:
        device_count: Accepted for compatibility.
        intra_op_parallelism_threads: Accepted for compatibility.
        inter_op_parallelism_threads: Accepted for compatibility.
        allow_soft_placement: Accepted for compatibility.
        log_device_placement: Accepted for compatibility.
        gpu_options: ``GPUOptions``.
        use_per_session_threads: Accepted for compatibility.

    Example:
        >>> import tfx.compat.v1 as tf
        >>> config = tf.ConfigProto(allow_soft_placement=True)
        >>> config.gpu_options.allow_growth = True
        >>> with tf.Graph().as_default(), tf.Session(config=config) as session:
        ...     session.run(tf.constant(1))
        np.int32(1)
    """

    def __init__(
        self,
        *,
        device_count: dict[str, int] | None = None,
        intra_op_parallelism_threads: int = 0,
        inter_op_parallelism_threads: int = 0,
        allow_soft_placement: bool = False,
        log_device_placement: bool = False,
        gpu_options: GPUOptions | None = None,
        use_per_session_threads: bool = False,
    ) -> None:
        self.device_count: dict[str, Any] = dict(device_count or {})
        self.intra_op_parallelism_threads = intra_op_parallelism_threads
        self.inter_op_parallelism_threads = inter_op_parallelism_threads
        self.allow_soft_placement = allow_soft_placement
        self.log_device_placement = log_device_placement
        self.gpu_options = GPUOptions() if gpu_options is None else gpu_options
        self.use_per_session_threads = use_per_session_threads
