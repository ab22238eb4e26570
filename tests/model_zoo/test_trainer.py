"""The trainer: what it refuses, how it stops, and that a killed program goes on to the same end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tfx as tf
from tfx.model_zoo import trainer


class Line(tf.Module):
    """Learns the logarithm of a sum, which ends where that is negative."""

    def __init__(self, rate: float = 0.01) -> None:
        super().__init__("line")
        self.w = tf.Variable(tf.ones([3]), name="w")
        self.optimizer = tf.optimizers.SGD(rate, momentum=0.1)

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, 3], name="x"),
            tf.TensorSpec([None], tf.int64, name="label"),
        ]
    )
    def train_step(self, x, label):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.math.log(tf.matmul(x, self.w[:, None])))
        self.optimizer.apply_gradients([(tape.gradient(loss, self.w), self.w)])
        return {"loss": loss}


def data(x=None, labels=None):
    x = np.ones((8, 3), np.float32) if x is None else x
    labels = np.zeros(len(x), np.int64) if labels is None else labels
    return tf.data.Dataset.from_tensor_slices((x, labels)).repeat().batch(4)


def options(folder: Path, **changes) -> trainer.Options:
    return trainer.Options(**{"out": folder, "steps": 40} | changes)


def test_data_that_does_not_fit_is_refused_by_the_name_of_the_argument(tmp_path):
    with pytest.raises(ValueError, match=r"'x' of the data is float32.*4.*train_step takes"):
        trainer.Trainer(Line(), data(np.ones((8, 4), np.float32)), options(tmp_path))
    with pytest.raises(ValueError, match=r"'label' of the data is float32.*int64"):
        trainer.Trainer(Line(), data(labels=np.zeros(8, np.float32)), options(tmp_path))
    one = tf.data.Dataset.from_tensor_slices(np.ones((8, 3), np.float32)).batch(4)
    with pytest.raises(ValueError, match=r"1 parts, train_step takes \(x, label\)"):
        trainer.Trainer(Line(), one, options(tmp_path))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("wrong", [-1, 10])
def test_labels_out_of_range_are_refused(wrong):
    with pytest.raises(ValueError, match=rf"labels must be in \[0, 10\), but number 2 is {wrong}"):
        trainer.check_labels("labels", [0, 9, wrong], classes=10)
    with pytest.raises(ValueError, match="labels must be integers, got float64"):
        trainer.check_labels("labels", [0.5], classes=10)


def test_a_loss_that_is_not_finite_names_step_node_and_last_good_checkpoint(tmp_path):
    training = trainer.Trainer(Line(rate=0.3), data(), options(tmp_path, steps=400))
    with pytest.raises(FloatingPointError) as caught:
        training.run()
    message = str(caught.value)
    assert "the loss of step " in message
    assert '"Log"' in message
    assert "test_trainer.py" in message
    last = tf.train.latest_checkpoint(tmp_path / "checkpoints")
    assert f"The last good checkpoint is {last}" in message
    assert np.isfinite(tf.train.load_variable(last, "model/w")).all()


def test_an_earlier_run_is_not_overwritten(tmp_path):
    trainer.Trainer(Line(), data(), options(tmp_path, steps=2)).run()
    with pytest.raises(FileExistsError, match="give --resume"):
        trainer.Trainer(Line(), data(), options(tmp_path))
    again = trainer.Trainer(Line(), data(), options(tmp_path, resume=True))
    assert [row["step"] for row in again.history] == [1, 2]
    assert int(again.step) == 2
    again.run()  # nothing is left to do, and the momentum that waits for a step is no surprise
    np.testing.assert_array_equal(tf.function(lambda: again.model.w + 0.0)(), again.model.w)
    assert any((tmp_path / "summaries").iterdir())


PROGRAM = """
import os, signal, sys
from tests.model_zoo.test_trainer import Line, data, options
from tfx.model_zoo import trainer
from pathlib import Path
folder, kill = Path(sys.argv[1]), int(sys.argv[2])
x = __import__("numpy").random.default_rng(0).uniform(1, 2, (50, 3)).astype("f")
shuffled = data(x).unbatch().shuffle(20, seed=3).batch(4)
training = trainer.Trainer(Line(), shuffled, options(folder, steps=60, resume=True))
one_step = training.one_step
def step():
    if int(training.step) == kill:
        os.kill(os.getpid(), signal.SIGKILL)
    return one_step()
training.one_step = step
training.run()
print(training.model.w.numpy().tobytes().hex(), training.history[-1])
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
def test_a_killed_program_ends_with_the_same_numbers(tmp_path):
    def run(folder: str, kill: int) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", PROGRAM, str(tmp_path / folder), str(kill)]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)

    whole = run("whole", -1)
    assert whole.returncode == 0, whole.stderr
    for kill in (17, 44):
        assert run("killed", kill).returncode == -signal.SIGKILL
    resumed = run("killed", -1)
    assert resumed.stdout.splitlines()[0].startswith("goes on from")
    assert resumed.stdout.splitlines()[-1] == whole.stdout.splitlines()[-1]


class Scaled(tf.Module):
    """Learns in float16, with a scale that is too large at first; the data can be so, too."""

    def __init__(self, rate: float = 0.01) -> None:
        super().__init__("scaled")
        self.w = tf.mixed_precision.AutoCastVariable(tf.ones([3]), name="w")
        self.optimizer = tf.mixed_precision.LossScaleOptimizer(
            tf.optimizers.SGD(rate), initial_scale=2.0**18
        )

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, 3], name="x"),
            tf.TensorSpec([None], tf.int64, name="label"),
        ]
    )
    def train_step(self, x, label):
        with tf.GradientTape() as tape:
            with tf.mixed_precision.autocast("mixed_float16"):
                y = tf.matmul(tf.cast(x, tf.float16), self.w[:, None])
            loss = tf.reduce_mean(tf.math.log(tf.cast(y, tf.float32)))
            scaled = self.optimizer.scale_loss(loss)
        self.optimizer.apply_gradients([(tape.gradient(scaled, self.w), self.w)])
        return {"loss": loss}


def test_steps_that_a_loss_scale_skips_are_no_error(tmp_path):
    x = np.ones((8, 3), np.float32)
    training = trainer.Trainer(Scaled(), data(x), options(tmp_path, steps=10))
    training.run()
    optimizer = training.model.optimizer
    assert 1 <= 10 - int(optimizer.iterations) <= 6
    assert float(optimizer.loss_scale) < 2.0**18
    assert all(np.isfinite(row["loss"]) for row in training.history)
    assert np.isfinite(training.model.w.numpy()).all()


def test_losses_of_skipped_steps_are_left_out(tmp_path):
    x = np.ones((8, 3), np.float32)
    x[4:] = 70000.0  # every second batch leaves the range of float16
    training = trainer.Trainer(Scaled(), data(x), options(tmp_path, steps=20))
    training.run()
    rows = [row["loss"] for row in training.history]
    assert sum(np.isfinite(rows)) == 10  # what is left out is where nothing else is to report
    assert float(training.model.optimizer.loss_scale) <= 2.0**8
    assert np.isfinite(training.model.w.numpy()).all()


def test_what_no_scale_helps_is_an_error_and_not_the_skipped_step(tmp_path):
    training = trainer.Trainer(Scaled(rate=0.5), data(), options(tmp_path, steps=400))
    with pytest.raises(FloatingPointError) as caught:
        training.run()
    message = str(caught.value)
    assert '"Log"' in message
    assert "Cast" not in message
    assert "The last good checkpoint is" in message
