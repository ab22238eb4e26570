"""``tf.data.Options``: what a pipeline may be told beside its steps.

Most of TensorFlow's options steer a C++ runtime that is not here; they are kept so that programs
run, and merged as there. What has an effect: ``deterministic``,
``threading.private_threadpool_size``,
``experimental_optimization.map_vectorization`` (False: functions run element by element even
before ``batch``) and ``autotune.cpu_budget``.
"""

from __future__ import annotations

import copy
import enum
from typing import Any, ClassVar


class AutoShardPolicy(enum.IntEnum):
    """How a distribution strategy would divide a dataset; there is one process here."""

    OFF = -1
    AUTO = 0
    FILE = 1
    DATA = 2
    HINT = 3


class ExternalStatePolicy(enum.Enum):
    """What saving a pipeline does about state outside of it."""

    WARN = 0
    IGNORE = 1
    FAIL = 2


class AutotuneAlgorithm(enum.Enum):
    """Names of TensorFlow's tuning algorithms, none of which is needed here."""

    DEFAULT = 0
    HILL_CLIMB = 1
    GRADIENT_DESCENT = 2
    MAX_PARALLELISM = 3
    STAGE_BASED = 4


class _Options:
    """A fixed set of fields, None where nobody said anything."""

    _fields: ClassVar[tuple[str, ...]] = ()
    _parts: ClassVar[dict[str, type[_Options]]] = {}

    def __init__(self) -> None:
        for name in self._fields:
            object.__setattr__(self, name, None)
        for name, part in self._parts.items():
            object.__setattr__(self, name, part())

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._fields and name not in self._parts:
            raise AttributeError(
                f"Cannot set the property {name!r} on {type(self).__name__}; it has "
                f"{', '.join((*self._fields, *self._parts))}."
            )
        if name in self._parts and not isinstance(value, self._parts[name]):
            raise TypeError(f"{name} must be of type {self._parts[name].__name__}; got {value!r}.")
        object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def merge(self, options: Any) -> Any:
        """These options with what others say in addition, who win where both do.

        Args:
            options: Options of the same class.
        """
        found = copy.deepcopy(self)
        for name in self._fields:
            value = getattr(options, name)
            if value is not None:
                object.__setattr__(found, name, value)
        for name in self._parts:
            object.__setattr__(found, name, getattr(self, name).merge(getattr(options, name)))
        return found

    def __repr__(self) -> str:
        said = [(n, getattr(self, n)) for n in self._fields]
        parts = [f"{n}={v!r}" for n, v in said if v is not None]
        whole = [(n, getattr(self, n)) for n in self._parts]
        parts += [f"{n}={v!r}" for n, v in whole if v != type(v)()]
        return f"{type(self).__name__}({', '.join(parts)})"


class AutotuneOptions(_Options):
    """What TensorFlow's tuning is told; ``cpu_budget`` limits the threads of ``map``, too."""

    _fields = ("autotune_algorithm", "cpu_budget", "enabled", "initial_parallelism",
               "min_parallelism", "ram_budget")  # fmt: skip


class DistributeOptions(_Options):
    """What distribution strategies are told; kept, without effect."""

    _fields = ("auto_shard_policy", "num_devices")


class OptimizationOptions(_Options):
    """Which rewrites of the pipeline are allowed; ``map_vectorization=False`` has an effect."""

    _fields = (
        "apply_default_optimizations", "filter_fusion", "filter_parallelization", "inject_prefetch",
        "map_and_batch_fusion", "map_and_filter_fusion", "map_fusion", "map_parallelization",
        "map_vectorization", "noop_elimination", "parallel_batch", "seq_interleave_prefetch",
        "shuffle_and_repeat_fusion",
    )  # fmt: skip


class ServiceOptions(_Options):
    """What TensorFlow's data service is told; kept, without effect."""

    _fields = ("pinned",)


class ThreadingOptions(_Options):
    """How many threads there may be: ``private_threadpool_size`` limits those of ``map``."""

    _fields = ("max_intra_op_parallelism", "private_threadpool_size")


class Options(_Options):
    """Options of a dataset, given to ``Dataset.with_options``.

    Example:
        >>> import tfx as tf
        >>> options = tf.data.Options()
        >>> options.deterministic = False
        >>> tf.data.Dataset.range(3).with_options(options).options().deterministic
        False
    """

    _fields = (
        "dataset_name", "deterministic",
        "experimental_external_state_policy", "experimental_slack",
        "experimental_symbolic_checkpoint", "experimental_warm_start", "framework_type",
    )  # fmt: skip
    _parts: ClassVar[dict[str, type[_Options]]] = {
        "autotune": AutotuneOptions,
        "experimental_distribute": DistributeOptions,
        "experimental_optimization": OptimizationOptions,
        "experimental_service": ServiceOptions,
        "threading": ThreadingOptions,
    }
    deterministic: Any
    experimental_optimization: Any
    threading: Any
    autotune: Any

    def __setattr__(self, name: str, value: Any) -> None:
        # Older names of two of them.
        name = {
            "experimental_threading": "threading",
            "experimental_deterministic": "deterministic",
        }.get(name, name)
        super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        if name == "experimental_threading":
            return self.threading
        raise AttributeError(f"Options have no property {name!r}.")
