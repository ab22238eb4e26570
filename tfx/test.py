"""``tf.test``: the test case of programs that were written for TensorFlow, and facts for tests."""

from __future__ import annotations

from tfx.core.namespaces import complete as _complete
from tfx.testing.facts import compute_gradient as compute_gradient
from tfx.testing.facts import gpu_device_name as gpu_device_name
from tfx.testing.facts import is_built_with_cuda as is_built_with_cuda
from tfx.testing.facts import is_built_with_cuda as is_built_with_gpu_support
from tfx.testing.facts import is_built_with_rocm as is_built_with_rocm
from tfx.testing.facts import is_built_with_xla as is_built_with_xla
from tfx.testing.facts import is_cpu_target_available as is_cpu_target_available
from tfx.testing.facts import is_gpu_available as is_gpu_available
from tfx.testing.test_case import TestCase as TestCase
from tfx.testing.test_case import main as main

__all__ = [
    "TestCase",
    "compute_gradient",
    "gpu_device_name",
    "is_built_with_cuda",
    "is_built_with_gpu_support",
    "is_built_with_rocm",
    "is_built_with_xla",
    "is_cpu_target_available",
    "is_gpu_available",
    "main",
]

_complete(__name__)
