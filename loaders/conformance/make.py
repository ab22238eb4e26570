"""Make the conformance bundles: small models with what every loader must make of them.

Run as ``python loaders/conformance/make.py FOLDER``; the folder gets one folder for each case.
README.md beside this file says what is in them.
"""

from __future__ import annotations

import math
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import archive_cases
import generation_cases
import hostile
import keras_cases
import numpy as np
import precision_cases
import rare_cases
import state_cases
import zoo_cases
from case import Case, spec

import tfx as tf
from tfx.bundle import limits

FLOATS = ("float32", "float64", "float16")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def dtypes(case: Case) -> None:
    """Each dtype in and out, at its limits."""

    class Model(tf.Module):
        pass

    model = Model()
    model.functions = {}
    signatures = {}
    for dtype in (*FLOATS, *INTEGERS, "bool", "string"):
        function = tf.function(
            lambda x: {"twice": tf.concat([x, x], 0), "back": tf.gather(x, [1, 0])},
            input_signature=[spec(["n"], dtype, "x")],
        )
        model.functions[dtype] = function
        signatures[f"twice_{dtype}"] = function
    case.save(model, signatures)
    for dtype in (*FLOATS, *INTEGERS, "bool", "string"):
        if dtype == "string":
            x = tf.constant(["", "Grüße, 世界"])
        elif dtype == "bool":
            x = tf.constant([True, False])
        else:
            t = tf.as_dtype(dtype)
            x = tf.constant([t.min, t.max], t)
        given = tf.concat([x, x], 0)
        case.call(f"twice_{dtype}", {"x": x}, {"twice": given, "back": tf.gather(x, [1, 0])})
    x = tf.constant([math.nan, math.inf, -math.inf, -0.0])
    case.call(
        "twice_float32",
        {"x": x},
        {"twice": tf.concat([x, x], 0), "back": tf.gather(x, [1, 0])},
    )


def shapes(case: Case) -> None:
    """Named and unknown dimensions, scalars, empty tensors, and what does not fit."""

    class Model(tf.Module):
        @tf.function(input_signature=[spec(["n", 3], name="x"), spec(["n"], name="y")])
        def weigh(self, x, y):
            return {"sum": tf.reduce_sum(x * y[:, None], 0), "n": tf.shape(x)[0]}

        @tf.function(input_signature=[spec([], name="x")])
        def scalar(self, x):
            return {"y": x + 1.0}

        @tf.function(input_signature=[spec([None, None], name="x")])
        def transpose(self, x):
            return {"y": tf.transpose(x)}

    model = Model()
    case.save(model, {"weigh": model.weigh, "scalar": model.scalar, "transpose": model.transpose})
    x, y = np.arange(6, dtype=np.float32).reshape(2, 3), np.array([1, 2], np.float32)
    case.call("weigh", {"x": x, "y": y}, {"sum": (x * y[:, None]).sum(0), "n": np.int32(2)})
    none = np.zeros((0, 3), np.float32)
    case.call(
        "weigh",
        {"x": none, "y": np.zeros(0, np.float32)},
        {"sum": np.zeros(3, np.float32), "n": np.int32(0)},
    )
    case.fails("weigh", {"x": x, "y": np.zeros(3, np.float32)}, "InvalidArgument")
    case.fails("weigh", {"x": x[:, :2], "y": y}, "InvalidArgument")
    case.fails("weigh", {"x": x}, "InvalidArgument")
    case.fails("weigh", {"x": x, "y": y, "z": y}, "InvalidArgument")
    case.fails("weigh", {"x": x.astype(np.float64), "y": y}, "DTypeMismatch")
    case.fails("way", {"x": x, "y": y}, "NotFound")
    case.call("scalar", {"x": np.float32(2)}, {"y": np.float32(3)})
    case.call("transpose", {"x": x}, {"y": x.T})


def structures(case: Case) -> None:
    """Arguments and results in nested structures; their leaves are named."""

    class Model(tf.Module):
        @tf.function(
            input_signature=[
                {"a": spec([2], name="a"), "b": [spec([], name="b0"), spec([], name="b1")]}
            ]
        )
        def mix(self, x):
            return {"first": x["a"] * x["b"][0], "second": x["a"] + x["b"][1]}

    model = Model()
    case.save(model, {"mix": model.mix})
    case.call(
        "mix",
        {"a": np.array([1, 2], np.float32), "b0": np.float32(3), "b1": np.float32(4)},
        {"first": np.array([3, 6], np.float32), "second": np.array([5, 6], np.float32)},
    )


def control_flow(case: Case) -> None:
    """If, Loop, nested functions, and loops that collect."""

    @tf.function
    def half(x):
        return tf.where(x % 2 == 0, x // 2, 3 * x + 1)

    class Model(tf.Module):
        @tf.function(input_signature=[spec([], "int32", "x")])
        def collatz(self, x):
            steps = tf.constant(0)
            while x != 1:
                x = half(x)
                steps += 1
            return {"steps": steps}

        @tf.function(input_signature=[spec(["n"], name="x")])
        def sign(self, x):
            if tf.reduce_sum(x) > 0.0:
                y = half(tf.cast(x, tf.int32))
            else:
                y = -tf.cast(x, tf.int32)
            return {"y": y}

        @tf.function(input_signature=[spec(["n", 2], name="x")])
        def running(self, x):
            return {"y": tf.scan(lambda a, b: a + b, x)}

    model = Model()
    case.save(model, {"collatz": model.collatz, "sign": model.sign, "running": model.running})
    case.call("collatz", {"x": np.int32(27)}, {"steps": np.int32(111)})
    case.call("collatz", {"x": np.int32(1)}, {"steps": np.int32(0)})
    case.call("sign", {"x": np.array([4, 5], np.float32)}, {"y": np.array([2, 16], np.int32)})
    case.call("sign", {"x": np.array([-4, 1], np.float32)}, {"y": np.array([4, -1], np.int32)})
    x = np.arange(8, dtype=np.float32).reshape(4, 2)
    case.call("running", {"x": x}, {"y": np.cumsum(x, 0)})


class Net(tf.Module):
    """A small network that is trained by Adam, and counts its steps."""

    def __init__(self) -> None:
        super().__init__()
        rng = np.random.default_rng(0)
        self.kernel = tf.Variable(rng.normal(size=(3, 4)).astype(np.float32), name="kernel")
        self.head = tf.Variable(rng.normal(size=(4,)).astype(np.float32), name="head")
        self.steps = tf.Variable(0, dtype=tf.int64, trainable=False, name="steps")
        self.optimizer = tf.optimizers.Adam(0.05)
        self.optimizer.build([self.kernel, self.head])

    @tf.function(input_signature=[spec(["n", 3], name="x")])
    def predict(self, x):
        return {"y": tf.tensordot(tf.tanh(x @ self.kernel), self.head, 1)}

    @tf.function(input_signature=[spec(["n", 3], name="x"), spec(["n"], name="y")])
    def train_step(self, x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self.predict(x)["y"] - y))
        variables = [self.kernel, self.head]
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        self.steps.assign_add(1)
        return {"loss": loss}

    @tf.function(input_signature=[])
    def count(self):
        return {"steps": self.steps.read_value()}


def training(case: Case) -> None:
    """A train step over shared weights with optimizer slots and a counter; saved half way."""
    net = Net()
    signatures = {"predict": net.predict, "train_step": net.train_step, "count": net.count}
    case.save(net, signatures)
    rng = np.random.default_rng(1)
    x = rng.normal(size=(8, 3)).astype(np.float32)
    y = np.sin(x.sum(1))
    case.call("predict", {"x": x}, net.predict(x))
    for step in range(20):
        case.call("train_step", {"x": x, "y": y}, net.train_step(x, y))
        if step == 9:
            case.call("predict", {"x": x}, net.predict(x))
            case.fails("train_step", {"x": x, "y": y[:3]}, "InvalidArgument")
            case.save_again()
    case.call("count", {}, {"steps": np.int64(20)})
    case.variables({"kernel": net.kernel, "head": net.head, "steps": net.steps})
    case.assign({"head": np.zeros(4, np.float32)})
    case.call("predict", {"x": x}, {"y": np.zeros(8, np.float32)})


def storage(case: Case) -> None:
    """Variables of dtypes that are stored in special ways, and of no elements, in several files."""

    class Model(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.texts = tf.Variable(["a", "", "世界"], name="texts")
            self.none = tf.Variable(np.zeros((0, 4), np.float32), name="none")
            self.table = tf.Variable(np.arange(3000, dtype=np.float32), name="table")
            self.wide = tf.Variable(np.arange(2000, dtype=np.float64), name="wide")

        @tf.function(input_signature=[spec(["n"], "int32", "i")])
        def look(self, i):
            return {
                "text": tf.gather(self.texts, i % 3),
                "number": tf.gather(self.table, i),
                "wide": tf.gather(self.wide, i),
                "none": tf.shape(self.none)[0],
            }

        @tf.function(input_signature=[spec([], "float32", "by")])
        def shift(self, by):
            self.table.assign_add(tf.fill([3000], by))
            return {"first": self.table[0]}

    model = Model()
    most = limits.MAX_SHARD_BYTES
    try:
        from tfx.bundle import shards

        shards.write_store.__kwdefaults__["max_shard_bytes"] = 12_000
        case.save(model, {"look": model.look, "shift": model.shift})
    finally:
        shards.write_store.__kwdefaults__["max_shard_bytes"] = most
    i = np.array([0, 1999, 2], np.int32)
    table = np.arange(3000, dtype=np.float32)

    def found() -> dict[str, Any]:
        return {
            "text": tf.gather(model.texts, i % 3),
            "number": table[i],
            "wide": np.arange(2000.0)[i],
            "none": np.int32(0),
        }

    case.call("look", {"i": i}, found())
    case.call("shift", {"by": np.float32(0.5)}, {"first": np.float32(0.5)})
    table += 0.5
    case.call("look", {"i": i}, found())
    case.save_again()
    case.call("look", {"i": i}, found())
    case.variables({"none": np.zeros((0, 4), np.float32)})


def large(case: Case) -> None:
    """A file of weights of several pieces, of which a call uses few, and one that changes some."""

    class Model(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = tf.Variable(np.arange(1 << 16, dtype=np.float32), name="a")
            self.b = tf.Variable(np.full(17 << 18, 2, np.float32), name="b")

        @tf.function(input_signature=[spec(["n"], "int32", "i")])
        def look(self, i):
            return {"y": tf.gather(self.a, i)}

        @tf.function(input_signature=[spec([], "float32", "by")])
        def move(self, by):
            self.b.assign_add(tf.fill([17 << 18], by))
            return {"last": self.b[-1]}

    model = Model()
    case.save(model, {"look": model.look, "move": model.move})
    i = np.array([0, (1 << 16) - 1], np.int32)
    case.call("look", {"i": i}, {"y": i.astype(np.float32)})
    case.call("move", {"by": np.float32(0.5)}, {"last": np.float32(2.5)})
    case.save_again()
    case.call("move", {"by": np.float32(1)}, {"last": np.float32(3.5)})


def narrow(case: Case) -> None:
    """Weights in bfloat16; nothing else in the graph is."""

    class Model(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = tf.Variable(tf.constant([0.5, -2.0, 3.0], tf.bfloat16), name="w")

        @tf.function(input_signature=[spec([3], name="x")])
        def scale(self, x):
            return {"y": tf.cast(self.w, tf.float32) * x}

    model = Model()
    case.save(model, {"scale": model.scale})
    x = np.array([1, 2, 3], np.float32)
    case.call("scale", {"x": x}, {"y": x * np.array([0.5, -2, 3], np.float32)})


def lines(case: Case) -> None:
    """A graph that knows the lines of the program, and a kernel that refuses its values."""

    class Model(tf.Module):
        @tf.function(input_signature=[spec(["n"], "int32", "i")])
        def pick(self, i):
            return {"y": tf.gather(tf.constant([10.0, 20.0]), i)}

    model = Model()
    options = tf.saved_model.SaveOptions(save_debug_info=True)
    tf.saved_model.save(model, str(case.bundle), signatures={"pick": model.pick}, options=options)
    case.call("pick", {"i": np.array([1, 0], np.int32)}, {"y": np.array([20, 10], np.float32)})
    case.fails("pick", {"i": np.array([7], np.int32)}, "InvalidArgument", kernel=True)


CASES: dict[str, Callable[[Case], None]] = {
    "dtypes": dtypes,
    "shapes": shapes,
    "structures": structures,
    "control_flow": control_flow,
    "training": training,
    "storage": storage,
    "large": large,
    "narrow": narrow,
    "lines": lines,
    **archive_cases.CASES,
    **state_cases.CASES,
    **rare_cases.CASES,
    **keras_cases.CASES,
    **generation_cases.CASES,
    **zoo_cases.CASES,
    **precision_cases.CASES,
}


def main(folder: Path) -> None:
    """Make every case below ``folder``, which is made anew."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, make in CASES.items():
        (folder / name).mkdir(parents=True)
        case = Case(folder / name, (make.__doc__ or "").strip())
        make(case)
        case.finish()
    hostile.make(folder / "training" / "bundle", folder)
    hostile.make_large(folder / "large" / "bundle", folder)
    archive_cases.make_hostile(folder / "training" / "bundle", folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
