"""Conformance cases about what few programs use: imported operators, rare dtypes, strings."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from case import Case, spec
from onnx import TensorProto, helper

import tfx as tf


def scan(case: Case) -> None:
    """A Scan of a model that was imported: two states, reversed inputs, outputs on both sides."""
    vector = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2]) for n in "sxp"]
    body = helper.make_graph(
        [
            helper.make_node("Add", ["s", "x"], ["t"]),
            helper.make_node("Mul", ["p", "x"], ["q"]),
            helper.make_node("Identity", ["t"], ["seen"]),
        ],
        "body",
        [vector[0], vector[2], vector[1]],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2]) for n in ("t", "q", "seen")],
    )
    node = helper.make_node(
        "Scan",
        ["start", "one", "x"],
        ["sum", "product", "running"],
        body=body,
        num_scan_inputs=1,
        scan_input_directions=[1],
        scan_output_directions=[1],
    )
    ports = [("start", [2]), ("one", [2]), ("x", ["n", 2])]
    outputs = [("sum", [2]), ("product", [2]), ("running", ["n", 2])]
    graph = helper.make_graph(
        [node],
        "scan",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in ports],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in outputs],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    imported = tf.import_onnx(model)
    case.save(imported, imported.signatures)
    x = np.arange(1, 7, dtype=np.float32).reshape(3, 2)
    start, one = np.array([0, 10], np.float32), np.ones(2, np.float32)
    (name,) = imported.signatures
    case.call(
        name,
        {"start": start, "one": one, "x": x},
        {
            "sum": start + x.sum(0),
            "product": x.prod(0),
            "running": (start + np.cumsum(x[::-1], 0))[::-1],
        },
    )


def strings(case: Case) -> None:
    """Text of any script as inputs, weights, new values of variables, and empty."""

    class Model(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.names = tf.Variable(["rot", "grün", "青", "🟨"], name="names")

        @tf.function(input_signature=[spec(["n"], "int64", "i")])
        def pick(self, i):
            return {"name": tf.gather(self.names, i)}

        @tf.function(input_signature=[spec([4], "string", "names")])
        def rename(self, names):
            before = self.names.read_value()
            self.names.assign(names)
            return {"before": before}

    model = Model()
    case.save(model, {"pick": model.pick, "rename": model.rename})
    i = np.array([3, 1], np.int64)
    case.call("pick", {"i": i}, model.pick(i))
    case.call("pick", {"i": i[:0]}, model.pick(i[:0]))
    names = tf.constant(["", "a\n\t\"'", "x" * 1000, "\u0301é"])
    case.call("rename", {"names": names}, model.rename(names))
    case.call("pick", {"i": i}, model.pick(i))


def halves(case: Case) -> None:
    """A matrix product in float16, in and out, and its weights trained in float16."""

    class Model(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            start = np.array([[0.5, -0.25], [2, 1]], np.float16)
            self.w = tf.Variable(start, name="w")

        @tf.function(input_signature=[spec(["n", 2], "float16", "x")])
        def apply(self, x):
            return {"y": x @ self.w}

        @tf.function(input_signature=[spec(["n", 2], "float16", "x")])
        def step(self, x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.square(x @ self.w))
            self.w.assign_sub(tf.constant(0.0625, tf.float16) * tape.gradient(loss, self.w))
            return {"loss": loss}

    model = Model()
    case.save(model, {"apply": model.apply, "step": model.step})
    x = np.array([[1, 2], [0.5, -1]], np.float16)
    for _ in range(3):
        case.call("apply", {"x": x}, model.apply(x))
        case.call("step", {"x": x}, model.step(x))


def brain_floats(case: Case) -> None:
    """bfloat16 in and out of a graph, which JavaScript's runtimes have no tensors of."""

    class Model(tf.Module):
        @tf.function(input_signature=[spec(["n"], "bfloat16", "x")])
        def halve(self, x):
            return {"y": tf.cast(tf.cast(x, tf.float32) * 0.5, tf.bfloat16)}

    model = Model()
    case.save(model, {"halve": model.halve})
    x = tf.constant([1.0, -3.0, 256.0], tf.bfloat16)
    case.call("halve", {"x": x}, {"y": tf.constant([0.5, -1.5, 128.0], tf.bfloat16)})


def tiny_floats(case: Case) -> None:
    """Weights in the two kinds of 8-bit floats, which the graph casts."""

    class Model(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.narrow = tf.Variable(
                tf.cast(tf.constant([0.5, -448.0, 0.0, 2.0, 1.0]), tf.float8_e4m3fn), name="narrow"
            )
            self.wide = tf.Variable(
                tf.cast(tf.constant([0.5, -57344.0, 0.0, 2.0, 1.0]), tf.float8_e5m2), name="wide"
            )

        @tf.function(input_signature=[spec([5], name="x")])
        def scale(self, x):
            weights = {"narrow": self.narrow, "wide": self.wide}
            return {name: tf.cast(w, tf.float32) * x for name, w in weights.items()}

    model = Model()
    case.save(model, {"scale": model.scale})
    x = np.array([1, 2, 3, 4, 5], np.float32)
    case.call("scale", {"x": x}, model.scale(x))
    case.save_again()
    case.call("scale", {"x": x}, model.scale(x))


CASES: dict[str, Callable[[Case], None]] = {
    "scan": scan,
    "strings": strings,
    "halves": halves,
    "brain_floats": brain_floats,
    "tiny_floats": tiny_floats,
}
