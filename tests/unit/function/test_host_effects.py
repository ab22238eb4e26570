"""What Python does in graphs: in branches and loops, in order with everything else, and saved."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

import tfx as tf

Invalid = tf.errors.InvalidArgumentError


class Notes(list[str]):
    """Notes taken by host calls."""

    def __call__(self, text: str, *tensors: Any) -> None:
        """Note a text and the contents of tensors."""

        def note(*values: tf.Tensor) -> None:
            self.append(" ".join([text, *[f"{v.numpy():g}" for v in values]]))

        tf.py_function(note, tensors, [])

    def taken(self) -> list[str]:
        found = list(self)
        self.clear()
        return found


def test_branches() -> None:
    notes = Notes()

    @tf.function
    def f(x: tf.Tensor) -> tf.Tensor:
        def positive() -> tf.Tensor:
            notes("positive", x)
            tf.debugging.assert_less(x, 5.0, "too large")
            return tf.py_function(lambda a: a * a, [x], tf.TensorSpec([], tf.float32))

        def other() -> tf.Tensor:
            notes("other", x)
            return tf.debugging.check_numerics(-x, "other")

        y = tf.cond(x > 0.0, positive, other)
        notes("after", y)
        return y

    def slope(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x)

    assert float(f(tf.constant(3.0))) == 9.0
    assert notes.taken() == ["positive 3", "after 9"]
    assert float(f(tf.constant(-1.0))) == 1.0
    assert notes.taken() == ["other -1", "after 1"]
    with pytest.raises(Invalid, match="too large"):
        f(tf.constant(7.0))
    with pytest.raises(Invalid, match=r"other : .*NaN"):
        f(tf.constant(float("nan")))
    assert notes.taken() == ["positive 7", "other nan"]
    assert [float(slope(tf.constant(x))) for x in (3.0, -1.0)] == [6.0, -1.0]
    assert notes.taken() == ["positive 3", "after 9", "other -1", "after 1"]


def test_loops() -> None:
    notes = Notes()

    @tf.function
    def f(n: tf.Tensor, x: tf.Tensor) -> Any:
        def body(i: tf.Tensor, y: tf.Tensor) -> Any:
            notes("i", i)
            tf.debugging.assert_less(i, 4, "too long")
            return i + 1, tf.py_function(lambda a: a * a, [y], tf.TensorSpec([], tf.float32))

        i, y = tf.while_loop(lambda i, y: i < n, body, [tf.constant(0), x])
        notes("end", i)
        return y

    assert float(f(tf.constant(3), tf.constant(2.0))) == 256.0
    assert notes.taken() == ["i 0", "i 1", "i 2", "end 3"]
    with pytest.raises(Invalid, match="too long"):
        f(tf.constant(9), tf.constant(1.0))
    assert notes.taken() == ["i 0", "i 1", "i 2", "i 3", "i 4"]
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(tf.constant(3), x)
    assert float(tape.gradient(y, x)) == 8 * 2.0**7
    assert notes.taken() == ["i 0", "i 1", "i 2", "end 3"]


def test_summaries_in_a_loop(tmp_path: Path) -> None:
    @tf.function
    def f(n: tf.Tensor) -> tf.Tensor:
        def body(i: tf.Tensor) -> Any:
            with tf.summary.record_if(i % 2 == 0):
                tf.summary.scalar("i", i, step=tf.cast(i, tf.int64))
            return (i + 1,)

        return tf.while_loop(lambda i: i < n, body, [tf.constant(0)])[0]

    writer = tf.summary.create_file_writer(tmp_path)
    f(tf.constant(3))
    with writer.as_default():
        assert int(f(tf.constant(5))) == 5
    writer.close()
    (path,) = tmp_path.iterdir()
    assert path.read_bytes().count(b"scalars") == 3


def portable(x: tf.Tensor) -> tf.Tensor:
    tf.print("x", x)
    tf.debugging.assert_positive(x)
    tf.Assert(tf.reduce_all(x < 9.0), ["large", x])
    wrote = tf.summary.scalar("x", tf.reduce_sum(x))
    y = tf.debugging.check_numerics(x, "x") * 2.0
    return tf.where(wrote, y, y + 1.0)


def test_what_is_dropped_when_saved(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    module = tf.Module()
    module.f = tf.function(portable, input_signature=[tf.TensorSpec([None])])
    tf.saved_model.save(module, str(tmp_path / "bundle"))
    (record,) = [r for r in caplog.records if r.levelno == logging.WARNING]
    for kind in ("print", "assert", "summary", "check_numerics", "test_host_effects.py"):
        assert kind in record.getMessage()
    loaded = tf.saved_model.load(str(tmp_path / "bundle"))
    assert loaded.f(tf.constant([-1.0, 20.0])).numpy().tolist() == [-1.0, 41.0]
    model = module.f.get_concrete_function().as_onnx()
    assert not {n.op_type for n in model.graph.node} & {"Host", "ReduceMin", "IsNaN", "Less"}


def test_what_cannot_be_saved(tmp_path: Path) -> None:
    def helper(a: Any) -> Any:
        return a

    for call in (tf.py_function, tf.numpy_function):
        module = tf.Module()
        module.f = tf.function(
            lambda x, call=call: call(helper, [x], tf.float32),
            input_signature=[tf.TensorSpec([None])],
        )
        for save in (
            module.f.get_concrete_function().as_onnx,
            lambda module=module: tf.saved_model.save(module, str(tmp_path / "bundle")),
        ):
            with pytest.raises(Invalid, match=rf"{call.__name__} helper.*cannot be saved"):
                save()


@pytest.mark.parametrize("place", ["top", "branch", "loop", "call"])
@pytest.mark.parametrize("inside", [False, True], ids=["eager tape", "tape in a function"])
def test_what_custom_gradients_do(place: str, inside: bool) -> None:
    notes = Notes()

    @tf.custom_gradient
    def double(x: tf.Tensor) -> Any:
        def grad(dy: tf.Tensor) -> tf.Tensor:
            notes("backward", dy)
            return dy * 10.0

        notes("forward", x)
        return x * 2.0, grad

    inner = tf.function(double)

    @tf.function
    def f(x: tf.Tensor) -> Any:
        if place == "top":
            return double(x)
        if place == "call":
            return inner(x)
        if place == "branch":
            return tf.cond(x > 0.0, lambda: double(x), lambda: x)
        start = (tf.constant(0), x)
        return tf.while_loop(lambda i, x: i < 2, lambda i, x: (i + 1, double(x)), start)[1]

    def gradient(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x)

    result = float((tf.function(gradient) if inside else gradient)(tf.constant(3.0)))
    if place == "loop":
        assert result == 100.0
        expected = ["forward 3", "forward 6", "backward 1", "backward 10"]
    else:
        assert result == 10.0
        expected = ["forward 3", "backward 1"]
    assert notes.taken() == expected


def test_what_comes_first_does_not_wait(capfd: pytest.CaptureFixture[str]) -> None:
    @tf.function
    def f(x: tf.Tensor) -> tf.Tensor:
        tf.print("begins with", x)
        y = tf.while_loop(lambda y: y < 1e30, lambda y: (y + 0.0,), (x,))[0]
        tf.print("ends")
        return y

    with pytest.raises(tf.errors.DeadlineExceededError):
        f.with_options(tf.RunOptions(timeout_in_ms=200))(tf.constant(1.0))
    assert capfd.readouterr().err == "begins with 1\n"
