"""Strategies with one device: what programs for several run on where there is one.

A program that is written for ``MirroredStrategy`` runs as it stands: there is one replica, and what
is reduced over the replicas is what that one gave. Several devices are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from tfx.core.errors import UnimplementedError
from tfx.distribute.default import RunOptions, Strategy, StrategyExtended, entered
from tfx.framework.device import device
from tfx.runtime.devices import list_physical_devices


def the_device(devices: Sequence[str] | str | None, strategy: str) -> str:
    """The one device of a strategy for several: the first GPU, else the CPU, if none is given.

    Raises:
        ValueError: more than one device, or none.
    """
    if devices is None:
        devices = ["/gpu:0" if list_physical_devices("GPU") else "/cpu:0"]
    names = [devices] if isinstance(devices, str) else list(devices)
    if len(names) != 1:
        raise ValueError(
            f"{strategy} got {len(names)} devices, {names!r}; tfx computes on one device "
            "at a time: give one."
        )
    return names[0]


class OnOneDevice(Strategy):
    """What the strategies have in common, none of which is another, as in TensorFlow.

    Args:
        device: The device's name.
    """

    def __init__(self, device: str) -> None:
        super().__init__()
        self._device = device
        self.extended = _OneDeviceExtended(self, device)

    @contextmanager
    def scope(self) -> Iterator[Strategy]:
        """A block in which this is the strategy, and its device the one that is used."""
        with entered(self), device(self._device):
            yield self

    def run(
        self,
        fn: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Any = None,
        options: RunOptions | None = None,
    ) -> Any:
        """Call a function on the device; see ``Strategy.run``."""
        with self.scope():
            return super().run(fn, args, kwargs, options)


class OneDeviceStrategy(OnOneDevice):
    """All variables and operations of its scope on one device.

    Args:
        device: The device's name, ``"/gpu:0"`` say.

    Example:
        >>> import tfx as tf
        >>> strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
        >>> with strategy.scope():
        ...     v = tf.Variable(1.0)
        >>> float(strategy.run(lambda: v + 1.0))
        2.0
    """


class MirroredStrategy(OnOneDevice):
    """Copies of the variables on all devices of this machine, of which tfx uses one.

    Args:
        devices: The name of a device, or a list with one; None: the first GPU, else the CPU.
        cross_device_ops: Accepted for compatibility.

    Raises:
        ValueError: more than one device, or none.

    Example:
        >>> import tfx as tf
        >>> strategy = tf.distribute.MirroredStrategy(["/cpu:0"])
        >>> strategy.num_replicas_in_sync
        1
        >>> per_replica = strategy.run(lambda x: x * 2.0, args=(tf.constant([1.0, 2.0]),))
        >>> float(strategy.reduce("MEAN", per_replica, axis=0))
        3.0
    """

    def __init__(
        self, devices: Sequence[str] | str | None = None, cross_device_ops: Any = None
    ) -> None:
        super().__init__(the_device(devices, type(self).__name__))


class TPUStrategy(Strategy):
    """A strategy for TPUs, which ONNX Runtime does not have: it can be named, not made.

    Args:
        tpu_cluster_resolver: As in TensorFlow.
        experimental_device_assignment: As in TensorFlow.
        experimental_spmd_xla_partitioning: As in TensorFlow.

    Raises:
        UnimplementedError: always.

    Example:
        >>> import tfx as tf
        >>> isinstance(tf.distribute.get_strategy(), tf.distribute.TPUStrategy)
        False
    """

    def __init__(
        self,
        tpu_cluster_resolver: Any = None,
        experimental_device_assignment: Any = None,
        experimental_spmd_xla_partitioning: bool = False,
    ) -> None:
        raise UnimplementedError(
            "TPUStrategy: ONNX Runtime computes on CPUs and GPUs, not on TPUs; use "
            'tf.distribute.OneDeviceStrategy("/cpu:0") or ("/gpu:0").'
        )


class _OneDeviceExtended(StrategyExtended):
    def __init__(self, strategy: Strategy, name: str) -> None:
        super().__init__(strategy)
        self._name = name

    @property
    def worker_devices(self) -> tuple[str, ...]:
        """The device."""
        return (self._name,)

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        """The device."""
        return (self._name,)


class DistributedDataset:
    """What a dataset becomes where there are several replicas: no object is one.

    ``experimental_distribute_dataset`` gives the dataset itself.
    """

    def __init__(self) -> NoReturn:
        raise TypeError(
            "a DistributedDataset comes from Strategy.experimental_distribute_dataset, which gives "
            "the dataset itself where there is one replica."
        )


class DistributedIterator(DistributedDataset):
    """An iterator over such a dataset: no object is one."""


class DistributedValues(DistributedDataset):
    """The values of several replicas: no object is one, as ``run`` gives the value itself."""
