"""``CheckpointOptions`` and sharding policies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tests.unit.train.objects import Keeper, module, v
from tfx.train import Checkpoint, CheckpointOptions


def test_skipping_slots(tmp_path: Path) -> None:
    def made(value: float) -> tuple[Any, Keeper]:
        model, keeper = module(x=v([value, value])), Keeper()
        keeper.build([model.x])
        keeper.slot(model.x).assign([value * 10, value * 10])
        return model, keeper

    model, keeper = made(1.0)
    path = Checkpoint(model=model, optimizer=keeper).write(tmp_path / "c")
    other, fresh = made(2.0)
    options = CheckpointOptions(experimental_skip_slot_variables=True)
    Checkpoint(model=other, optimizer=fresh).read(path, options).expect_partial()
    np.testing.assert_array_equal(other.x.numpy(), [1.0, 1.0])
    np.testing.assert_array_equal(fresh.slot(other.x).numpy(), [20.0, 20.0])


def test_a_policy_divides_the_files(tmp_path: Path) -> None:
    checkpoint = Checkpoint(a=v(np.zeros(100, np.float32)), b=v(np.ones(100, np.float32)))
    policy = tf.train.experimental.MaxShardSizePolicy(max_shard_size=400)
    options = CheckpointOptions(experimental_sharding_callback=policy)
    checkpoint.read(checkpoint.write(tmp_path / "c", options)).assert_consumed()
    assert len(list(tmp_path.glob("c.*.safetensors"))) == 2
    options.experimental_sharding_callback = tf.train.experimental.ShardByDevicePolicy()
    checkpoint.write(tmp_path / "d", options)
    assert len(list(tmp_path.glob("d*"))) == 1
    assert policy.description == "Split tensors into shards with a max shard size."


def test_what_options_refuse() -> None:
    with pytest.raises(ValueError, match="at most one argument"):
        CheckpointOptions(experimental_write_callbacks=[lambda a, b: None])
    with pytest.raises(ValueError, match="expected a ShardingCallback"):
        CheckpointOptions(experimental_sharding_callback=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="positive"):
        tf.train.experimental.MaxShardSizePolicy(0)
