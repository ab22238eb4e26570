"""``CheckpointOptions``, and the policies that say how a checkpoint is divided among files."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tfx.bundle import limits


class ShardingCallback:
    """Base class of the policies; make one of ``MaxShardSizePolicy`` or ``ShardByDevicePolicy``."""

    @property
    def description(self) -> str:
        """A description of the policy."""
        return "One file, or several where one would be too large."

    @property
    def limit(self) -> int:
        """Most bytes of data that a file gets."""
        return limits.MAX_SHARD_BYTES


class MaxShardSizePolicy(ShardingCallback):
    """Files of at most so many bytes of data; a larger tensor gets a file of its own.

    Args:
        max_shard_size: The limit in bytes.

    Raises:
        ValueError: it is not positive.
    """

    def __init__(self, max_shard_size: int) -> None:
        if max_shard_size <= 0:
            raise ValueError(f"Expected a positive max_shard_size, got {max_shard_size!r}.")
        self.max_shard_size = max_shard_size

    @property
    def description(self) -> str:
        """A description of the policy."""
        return "Split tensors into shards with a max shard size."

    @property
    def limit(self) -> int:
        """Most bytes of data that a file gets."""
        return self.max_shard_size


class ShardByDevicePolicy(ShardingCallback):
    """One file: all variables of a process are in one memory by the time they are written."""

    @property
    def description(self) -> str:
        """A description of the policy."""
        return "Split tensors into shards based on their device spec task."


@dataclass(slots=True)
class CheckpointOptions:
    """Options of saving and restoring.

    Attributes:
        experimental_io_device: Accepted for compatibility.
        experimental_enable_async_checkpoint: Write in the background, as ``background=True`` does.
        experimental_write_callbacks: Called when a checkpoint is written, with its path if they
            take an argument.
        enable_async: The same as ``experimental_enable_async_checkpoint``.
        experimental_skip_slot_variables: Do not restore optimizers' slots.
        experimental_sharding_callback: A policy; None divides above 4 GiB.
        max_shard_bytes: Most data a file gets; a larger checkpoint becomes several files.

    Raises:
        ValueError: a callback takes more than one argument, or the policy is none.
    """

    experimental_io_device: str | None = None
    experimental_enable_async_checkpoint: bool = False
    experimental_write_callbacks: list[Callable[..., Any]] | None = None
    enable_async: bool = False
    experimental_skip_slot_variables: bool = False
    experimental_sharding_callback: ShardingCallback | None = None
    max_shard_bytes: int | None = None

    def __post_init__(self) -> None:
        """Check the options."""
        for callback in self.experimental_write_callbacks or ():
            if not takes_argument(callback) and not _binds(callback):
                raise ValueError(
                    f"The write callback {callback!r} cannot be called with the path or without "
                    "arguments, expected a function of at most one argument."
                )
        policy = self.experimental_sharding_callback
        if policy is not None and not isinstance(policy, ShardingCallback):
            raise ValueError(
                f"experimental_sharding_callback is {policy!r} of type {type(policy).__name__}, "
                "expected a ShardingCallback such as tf.train.experimental.MaxShardSizePolicy."
            )

    @property
    def background(self) -> bool:
        """True if checkpoints are written in the background, by either name of the option."""
        return self.enable_async or self.experimental_enable_async_checkpoint

    @property
    def shard_limit(self) -> int:
        """Most bytes of data that a file gets."""
        if self.max_shard_bytes is not None:
            return self.max_shard_bytes
        policy = self.experimental_sharding_callback
        return limits.MAX_SHARD_BYTES if policy is None else policy.limit


def takes_argument(callback: Callable[..., Any]) -> bool:
    """True if a callback wants the path."""
    return _binds(callback, "path")


def _binds(callback: Callable[..., Any], *arguments: Any) -> bool:
    try:
        inspect.signature(callback).bind(*arguments)
    except (TypeError, ValueError):
        return False
    return True
