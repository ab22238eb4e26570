"""A train step that was saved and loaded goes on as if nothing had happened, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfx as tf
from tests.unit.saved_model.models import Trainer, batch, run_python, saved

OPTIMIZERS = {
    "sgd": lambda: tf.optimizers.SGD(0.1, momentum=0.9, nesterov=True),
    "adam": lambda: tf.optimizers.Adam(0.05),
    "adamw with a schedule": lambda: tf.optimizers.AdamW(
        tf.optimizers.schedules.ExponentialDecay(0.1, 3, 0.5), weight_decay=0.01
    ),
    "averages and clipping": lambda: tf.optimizers.Adam(0.05, use_ema=True, clipnorm=1.0),
}


def states(model: Any) -> list[np.ndarray]:
    return [v.numpy() for v in model.train_step.variables]


@pytest.mark.parametrize("optimizer", OPTIMIZERS.values(), ids=OPTIMIZERS.keys())
@pytest.mark.parametrize("steps", [0, 3])
def test_training_continues_identically(optimizer: Any, steps: int, tmp_path: Any) -> None:
    model = Trainer(optimizer=optimizer())
    for i in range(steps):
        model.train_step(*batch(i))
    back = saved(model, tmp_path / "m", signatures=model.signatures)
    by_signature = tf.saved_model.load(tmp_path / "m").signatures
    for i in range(steps, steps + 5):
        x, y = batch(i)
        loss = model.train_step(x, y)["loss"].numpy()
        assert back.train_step(x, y)["loss"].numpy() == loss
        assert by_signature["train_step"](x=x, y=y)["loss"].numpy() == loss
        logits = model.predict(x)["logits"].numpy()
        np.testing.assert_array_equal(back.predict(x)["logits"], logits)
        np.testing.assert_array_equal(by_signature["serving_default"](x=x)["logits"], logits)
    np.testing.assert_array_equal(back.w.numpy(), model.w.numpy())
    assert int(back.optimizer.iterations) == steps + 5


def test_saving_between_steps_changes_nothing(tmp_path: Any) -> None:
    straight, interrupted = Trainer(), Trainer()
    for i in range(4):
        straight.train_step(*batch(i))
        interrupted.train_step(*batch(i))
        interrupted = saved(interrupted, tmp_path / f"m{i}")
    for i in range(4, 6):
        a = straight.train_step(*batch(i))["loss"].numpy()
        assert interrupted.train_step(*batch(i))["loss"].numpy() == a


def test_a_failed_step_changes_nothing(tmp_path: Any) -> None:
    back = saved(Trainer(), tmp_path / "m")
    before = states(back)
    x, _ = batch()
    with pytest.raises(tf.errors.OpError):
        back.train_step(x, tf.constant(np.zeros((4, 3), np.float32)))
    for a, b in zip(before, states(back), strict=True):
        np.testing.assert_array_equal(a, b)


OTHER_PROCESS = """
import sys
import numpy as np
import tfx as tf
from tests.unit.saved_model.models import batch
back = tf.saved_model.load(sys.argv[1])
for i in range(3, 6):
    print(back.train_step(*batch(i))["loss"].numpy().tobytes().hex())
"""


def test_training_continues_identically_in_another_process(tmp_path: Any) -> None:
    model = Trainer()
    for i in range(3):
        model.train_step(*batch(i))
    tf.saved_model.save(model, tmp_path / "m", signatures=model.signatures)
    expected = [model.train_step(*batch(i))["loss"].numpy().tobytes().hex() for i in range(3, 6)]
    assert run_python(OTHER_PROCESS, tmp_path / "m").split() == expected


def test_variables_are_named_as_in_checkpoints(tmp_path: Any) -> None:
    from tfx.bundle.manifest import read_manifest

    model = Trainer()
    model.train_step(*batch())
    tf.saved_model.save(model, tmp_path / "m")
    tf.train.Checkpoint(model).write(tmp_path / "checkpoint")
    names = {v.name for v in read_manifest(tmp_path / "m").variables}
    listed = {name for name, _ in tf.train.list_variables(str(tmp_path / "checkpoint"))}
    assert names <= listed | {"save_counter"}
    assert {"w", "b", "scale", "optimizer/iterations"} <= names


def test_a_loaded_object_can_be_trained_by_new_code(tmp_path: Any) -> None:
    back = saved(Trainer(), tmp_path / "m")
    optimizer = tf.optimizers.SGD(0.1)
    x, y = batch()

    @tf.function
    def step() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((back.predict(x)["logits"] - y) ** 2)
        variables = [v for v in back.trainable_variables if v is back.w or v is back.b]
        gradients = tape.gradient(loss, variables)
        optimizer.apply_gradients(zip(gradients, variables, strict=True))
        return loss

    losses = [float(step()) for _ in range(20)]
    assert losses[-1] < 0.8 * losses[0]
    assert np.all(np.diff(losses) < 0)
