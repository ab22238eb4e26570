"""What a test may ask about the machine, and gradients beside differences as Jacobians."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfx.autodiff.tape import GradientTape
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import Tensor
from tfx.runtime.devices import list_physical_devices


def is_gpu_available(
    cuda_only: bool = False, min_cuda_compute_capability: tuple[int, int] | None = None
) -> bool:
    """True if there is a GPU that operations can run on.

    Args:
        cuda_only: Accepted for compatibility: all of them are CUDA's.
        min_cuda_compute_capability: Accepted for compatibility.
    """
    return bool(list_physical_devices("GPU"))


def gpu_device_name() -> str:
    """The name of the first GPU, ``"/device:GPU:0"``; empty if there is none."""
    return "/device:GPU:0" if is_gpu_available() else ""


def is_built_with_cuda() -> bool:
    """True if operations can run on CUDA GPUs."""
    return is_gpu_available()


def is_built_with_rocm() -> bool:
    """False: there is no such device."""
    return False


def is_built_with_xla() -> bool:
    """False: ONNX Runtime compiles graphs."""
    return False


def is_cpu_target_available(target: str) -> bool:
    """True if operations can run on a kind of processor: that of this machine.

    Args:
        target: ``"x86_64"``, ``"aarch64"``, ``"arm"`` or another name that compilers give.

    Example:
        >>> import platform
        >>> import tfx as tf
        >>> tf.test.is_cpu_target_available(platform.machine())
        True
    """
    wanted, here = (_PROCESSORS.get(x.lower(), x.lower()) for x in (target, platform.machine()))
    return wanted == here


# Names of one kind of processor.
_PROCESSORS = {"amd64": "x86_64", "x64": "x86_64", "arm64": "aarch64"}


def compute_gradient(
    f: Callable[..., Any], x: Sequence[Any], delta: float | None = None
) -> tuple[list[Any], list[Any]]:
    """The Jacobian of a function by each argument: by its gradient, and by central differences.

    Args:
        f: Takes as many tensors as ``x`` has, returns one floating tensor.
        x: The arguments.
        delta: Half of the step of the differences; None: 1 / 1024.

    Returns:
        Two lists with an array ``[size of the result, size of the argument]`` for each argument.

    Raises:
        ValueError: ``x`` is no list or tuple.

    Example:
        >>> import tfx as tf
        >>> theoretical, numerical = tf.test.compute_gradient(tf.square, [[1.0, 2.0]])
        >>> theoretical[0]
        array([[2., 0.],
               [0., 4.]], dtype=float32)
    """
    if not isinstance(x, list | tuple):
        raise ValueError(f"`x` must be a list or tuple of arguments; got {type(x).__name__}.")
    arguments = [convert_to_tensor(v) for v in x]
    step = 1 / 1024 if delta is None else delta
    return (
        [_by_gradient(f, arguments, i) for i in range(len(arguments))],
        [_by_differences(f, arguments, i, step) for i in range(len(arguments))],
    )


def _by_gradient(f: Callable[..., Any], arguments: list[Tensor], i: int) -> Any:
    x = arguments[i]
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = f(*arguments)
    slope = tape.jacobian(y, x)
    rows, columns = _size(y), _size(x)
    if slope is None:
        return np.zeros((rows, columns), x.dtype.as_numpy_dtype)
    return np.asarray(convert_to_tensor(slope)).reshape(rows, columns)


def _by_differences(f: Callable[..., Any], arguments: list[Tensor], i: int, step: float) -> Any:
    x = np.array(arguments[i])
    columns = []
    for place in range(x.size):
        values = []
        for sign in (1, -1):
            moved = x.copy()
            moved.reshape(-1)[place] += sign * step
            given = [*arguments[:i], convert_to_tensor(moved), *arguments[i + 1 :]]
            values.append(np.asarray(f(*given)).reshape(-1))
        columns.append((values[0] - values[1]) / (2 * step))
    if columns:
        return np.stack(columns, 1)
    return np.zeros((_size(f(*arguments)), 0), x.dtype)


def _size(x: Any) -> int:
    return int(np.prod(x.shape.as_list(), dtype=int))
