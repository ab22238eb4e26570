"""What was loaded from a bundle is pickled by the bundle's path, with what changed since."""

from __future__ import annotations

import copy
import pickle
import shutil
import subprocess
import sys
from typing import Any, NamedTuple

import numpy as np
import pytest

import tfx as tf


class Pair(NamedTuple):
    a: Any
    b: Any


class Model(tf.Module):
    def __init__(self):
        super().__init__()
        self.w = tf.Variable(np.eye(64, dtype=np.float32))
        self.count = tf.Variable(0.0)
        self.pair = Pair(tf.Variable(1.0), 2)

    @tf.function(input_signature=[tf.TensorSpec([None, 64], tf.float32)])
    def __call__(self, x):
        return tf.matmul(x, self.w) + self.count

    @tf.function(input_signature=[])
    def step(self):
        return self.count.assign_add(1.0) + 0.0


@pytest.fixture
def folder(tmp_path):
    model = Model()
    tf.saved_model.save(model, tmp_path / "m", signatures={"serve": model.__call__})
    return tmp_path / "m"


def clone(x):
    return pickle.loads(pickle.dumps(x))


X = np.ones((1, 64), np.float32)


def test_an_object_carries_the_path_and_not_the_weights(folder):
    loaded = tf.saved_model.load(folder)
    data = pickle.dumps(loaded)
    assert str(folder).encode() in data
    assert len(data) < 2000 < loaded.w.numpy().nbytes
    again = pickle.loads(data)
    np.testing.assert_array_equal(again(X), loaded(X))
    assert again.pair == (again.pair.a, 2)
    assert float(again.pair.a) == 1.0


def test_variables_stay_shared(folder):
    again = clone(tf.saved_model.load(folder))
    again.w.assign(2.0 * np.eye(64, dtype=np.float32))
    assert float(again.step()) == 1.0
    np.testing.assert_array_equal(again(X), 2 * X + 1)
    np.testing.assert_array_equal(again.signatures["serve"](X)["output_0"], 2 * X + 1)


def test_what_was_assigned_is_carried(folder):
    loaded = tf.saved_model.load(folder)
    loaded.step()
    loaded.w.assign(3.0 * np.eye(64, dtype=np.float32))
    again = clone(loaded)
    np.testing.assert_array_equal(again(X), 3 * X + 1)
    assert float(again.step()) == 2.0
    assert float(loaded.count) == 1.0
    assert float(clone(again).count) == 2.0


def test_parts(folder):
    loaded = tf.saved_model.load(folder)
    loaded.step()
    step, count = clone((loaded.step, loaded.count))
    assert float(step()) == float(count) == 2.0
    signature = clone(loaded.signatures["serve"])
    np.testing.assert_array_equal(signature(X)["output_0"], X + 1)
    assert signature.structured_outputs == loaded.signatures["serve"].structured_outputs
    variable = clone(loaded.w)
    np.testing.assert_array_equal(variable, loaded.w)
    assert len(pickle.dumps(loaded.w)) < 1000
    (concrete,) = clone(loaded.step.concrete_functions)
    assert float(concrete()) == 2.0


def test_copies_share_the_files(folder):
    loaded = tf.saved_model.load(folder)
    loaded.step()
    other = copy.deepcopy(loaded)
    other.step()
    again = clone(other)
    assert float(again.step()) == 3.0
    assert float(again.count) == 3.0
    assert float(loaded.count) == 1.0
    assert len(pickle.dumps(other)) < 2000


def test_another_bundle_in_the_folder_is_refused(folder):
    data = pickle.dumps(tf.saved_model.load(folder))
    other = Model()
    other.count.assign(9.0)
    tf.saved_model.save(other, folder)
    with pytest.raises(tf.errors.FailedPreconditionError, match="another bundle is in the folder"):
        pickle.loads(data)
    shutil.rmtree(folder)
    with pytest.raises(tf.errors.NotFoundError):
        pickle.loads(data)


def test_in_another_process(folder):
    loaded = tf.saved_model.load(folder)
    loaded.step()
    program = (
        "import pickle, sys\n"
        "import numpy as np\n"
        "model = pickle.load(sys.stdin.buffer)\n"
        "print(float(model(np.ones((1, 64), np.float32))[0, 0]), float(model.step()))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=pickle.dumps(loaded),
        capture_output=True,
        check=True,
    )
    assert done.stdout.split() == [b"2.0", b"2.0"]


def test_bundles_of_the_loader(folder):
    with tf.loaders.Bundle.open(folder) as bundle:
        bundle.variables["count"] = np.float32(4.0)
        data = pickle.dumps(bundle)
        assert len(data) < 2000
        with pickle.loads(data) as again:
            assert again.path == bundle.path
            np.testing.assert_array_equal(again.call("serve", {"x": X})["output_0"], X + 4)
        with copy.deepcopy(bundle) as again:
            np.testing.assert_array_equal(again.variables["count"], 4.0)
    with pytest.raises(tf.errors.FailedPreconditionError, match="was closed"):
        pickle.dumps(bundle)
    tf.saved_model.save(Model(), folder)
    with pytest.raises(tf.errors.FailedPreconditionError, match="another bundle"):
        pickle.loads(data)
