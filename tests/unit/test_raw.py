"""``tfx.raw``: the operators one to one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tfx as tf
from tfx import raw
from tfx.core.errors import DTypeMismatchError, InvalidArgumentError

ROOT = Path(__file__).parents[2]


def test_attributes_are_keywords() -> None:
    result = raw.Softmax([[1.0, 2.0], [3.0, 4.0]], axis=0)
    np.testing.assert_allclose(result.numpy().sum(0), [1.0, 1.0], rtol=1e-6)


def test_several_outputs() -> None:
    values, indices = raw.TopK([3.0, 1.0, 2.0], [2])
    np.testing.assert_array_equal(values.numpy(), [3.0, 2.0])
    np.testing.assert_array_equal(indices.numpy(), [0, 2])


def test_python_values_follow_the_dtype_of_tensors() -> None:
    assert raw.Add(tf.constant([1, 2], tf.int64), 1).dtype == tf.int64
    with pytest.raises(DTypeMismatchError, match="input 1 is float32, expected int64"):
        raw.Add(tf.constant([1, 2], tf.int64), tf.constant(1.0))


def test_works_while_tracing() -> None:
    f = tf.function(lambda x: raw.Relu(raw.Neg(x)))
    np.testing.assert_array_equal(f(tf.constant([1.0, -2.0])).numpy(), [0.0, 2.0])


def test_unknown_attribute_and_operator_are_named() -> None:
    with pytest.raises(InvalidArgumentError, match=r"Softmax has no attribute 'axes'; it has axis"):
        raw.Softmax([1.0], axes=1)
    with pytest.raises(AttributeError, match="Did you mean 'Softmax'"):
        raw.Sofmax  # noqa: B018
    with pytest.raises(AttributeError, match="takes graphs"):
        raw.Loop  # noqa: B018


@pytest.mark.parametrize("tool", ["gen_operator_stubs.py", "gen_api_stub.py"])
def test_stub_is_fresh(tool: str) -> None:
    command = [sys.executable, str(ROOT / "tools" / tool), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
