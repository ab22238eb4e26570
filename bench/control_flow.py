"""Control flow: loops and branches beside hand-written ONNX, memory of gradients, conversion.

The comparison with other frameworks is in ``bench.peers``.
"""

from __future__ import annotations

import importlib.util
import itertools
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import tfx as tf
from bench.measure import Result, best_of

_HAND = "hand-written ONNX, C-level run_with_ort_values"
_OPSET = 21
_LINES = 200

# Prints peak bytes beyond those before the call, for a number of steps.
_TRAIN = """
import sys
import numpy as np
import tfx as tf

kind, steps = sys.argv[1], int(sys.argv[2])
w = tf.Variable(np.eye(64, dtype=np.float32) * 0.9)

def step(h):
    return tf.tanh(tf.matmul(h, w))

def several(h, count):
    return tf.while_loop(lambda i, h: i < count, lambda i, h: (i + 1, step(h)), (0, h))[1]

def segmented(h, count):
    inner = tf.recompute_grad(lambda h: several(h, 100))
    return tf.while_loop(
        lambda i, h: i < count // 100, lambda i, h: (i + 1, inner(h)), (0, h))[1]

@tf.function
def train(h, count):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum((segmented if kind == "recompute" else several)(h, count) ** 2)
    w.assign_sub(1e-6 * tape.gradient(loss, w))
    return loss

def status(name):
    with open("/proc/self/status") as file:
        return next(int(l.split()[1]) * 1024 for l in file if l.startswith(name))

h = tf.constant(np.ones((64, 64), np.float32))
train(h, tf.constant(100))
before = status("VmRSS")
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")
train(h, tf.constant(steps))
print(status("VmHWM") - before)
"""
_KEPT = 64 * 64 * 4  # bytes of one step's state


def run(effort: float = 1.0) -> list[Result]:
    """All of it.

    Args:
        effort: Less than 1 makes fewer calls and shorter loops.
    """
    iterations = max(2, int(1000 * min(1.0, effort * 10)))
    return [
        *_loops(iterations, effort),
        _branch(effort),
        *_arrays(effort),
        *_memory(max(400, int(10_000 * min(1.0, effort)))),
        _conversion(effort),
    ]


# Loops and branches


def _loops(iterations: int, effort: float) -> list[Result]:
    """Tiny iterations in three spellings."""

    def functional(x: Any) -> Any:
        def body(i: Any, y: Any) -> Any:
            return i + 1, y * 1.001 + 0.5

        return tf.while_loop(lambda i, _: i < iterations, body, (0, x))[1]

    def converted_while(x: Any) -> Any:
        i = tf.constant(0)
        while i < iterations:
            x = x * 1.001 + 0.5
            i += 1
        return x

    def converted_for(x: Any) -> Any:
        for _ in tf.range(iterations):  # type: ignore[attr-defined]
            x = x * 1.001 + 0.5
        return x

    def until(x: Any) -> Any:
        return tf.while_loop(lambda y, _: y < iterations, _grown, (tf.constant(0.0), x))[1]

    x = tf.constant(np.ones((2, 2), np.float32))
    counted = _raw(_loop_model(iterations, tests=False), x)
    tested = _raw(_loop_model(iterations, tests=True), x)
    rows = [
        ("tf.while_loop", functional, counted),
        ("while, converted", converted_while, counted),
        ("for in tf.range, converted", converted_for, counted),
        ("tf.while_loop until a sum is reached", until, tested),
    ]
    results = []
    for name, python, reference in rows:
        function = tf.function(python)
        np.testing.assert_allclose(function(x).numpy(), reference().numpy(), rtol=1e-4)
        calls = [lambda f=function: f(x), reference]  # type: ignore[misc]
        ours, raw = best_of(calls, number=max(1, int(5 * effort)), repeats=_rounds(effort))
        what = f"{iterations:,} tiny iterations, {name}"
        results.append(Result(what, ours, raw, "us", 1.5, _HAND))
    return results


def _grown(y: Any, x: Any) -> Any:
    return y + 1.0, x * 1.001 + 0.5


def _loop_model(iterations: int, *, tests: bool) -> onnx.ModelProto:
    """The loop as one would write it by hand: counted, or with a condition on what it carries."""
    given = [
        helper.make_tensor_value_info("i", TensorProto.INT64, []),
        helper.make_tensor_value_info("going", TensorProto.BOOL, []),
        helper.make_tensor_value_info("a", TensorProto.FLOAT, [2, 2]),
    ]
    nodes = [
        helper.make_node("Mul", ["a", "factor"], ["scaled"]),
        helper.make_node("Add", ["scaled", "half"], ["next"]),
    ]
    after = [helper.make_tensor_value_info("next", TensorProto.FLOAT, [2, 2])]
    if tests:
        given.append(helper.make_tensor_value_info("y", TensorProto.FLOAT, []))
        after.append(helper.make_tensor_value_info("grown", TensorProto.FLOAT, []))
        nodes.append(helper.make_node("Add", ["y", "one"], ["grown"]))
        nodes.append(helper.make_node("Less", ["grown", "end"], ["more"]))
    else:
        nodes.append(helper.make_node("Identity", ["going"], ["more"]))
    more = helper.make_tensor_value_info("more", TensorProto.BOOL, [])
    body = helper.make_graph(nodes, "body", given, [more, *after])
    inputs = ["", "", "x", "zero"] if tests else ["count", "", "x"]
    loop = helper.make_node("Loop", inputs, ["out", "sum"][: len(after)], body=body)
    constants = {"factor": np.float32(1.001), "half": np.float32(0.5)}
    if tests:
        constants |= {"one": np.float32(1), "end": np.float32(iterations), "zero": np.float32(0)}
    else:
        constants["count"] = np.int64(iterations)  # type: ignore[assignment]
    return _model([loop], constants)


def _branch(effort: float) -> Result:
    """A condition known at run time only."""

    @tf.function
    def ours(x: Any) -> Any:
        return tf.cond(tf.reduce_sum(x) > 0.0, lambda: x * 1.001, lambda: x - 0.5)

    out = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 2])]
    other = [helper.make_tensor_value_info("z", TensorProto.FLOAT, [2, 2])]
    then = helper.make_graph([helper.make_node("Mul", ["x", "factor"], ["y"])], "then", [], out)
    less = helper.make_graph([helper.make_node("Sub", ["x", "half"], ["z"])], "else", [], other)
    nodes = [
        helper.make_node("ReduceSum", ["x"], ["sum"], keepdims=0),
        helper.make_node("Greater", ["sum", "zero"], ["positive"]),
        helper.make_node("If", ["positive"], ["out"], then_branch=then, else_branch=less),
    ]
    constants = {"factor": np.float32(1.001), "half": np.float32(0.5), "zero": np.float32(0)}
    x = tf.constant(np.ones((2, 2), np.float32))
    reference = _raw(_model(nodes, constants), x)
    np.testing.assert_allclose(ours(x).numpy(), reference().numpy(), rtol=1e-6)
    calls = [lambda: ours(x), reference]
    mine, raw = best_of(calls, number=max(1, int(1000 * effort)), repeats=_rounds(effort))
    return Result("call of a function with tf.cond", mine, raw, "us", 1.5, _HAND)


def _model(nodes: list[onnx.NodeProto], constants: dict[str, Any]) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "by_hand",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 2])],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, [2, 2])],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    imports = [helper.make_opsetid("", _OPSET)]
    return helper.make_model(graph, opset_imports=imports, ir_version=10)


class _Output:
    """What ONNX Runtime returned."""

    def __init__(self, values: Any) -> None:
        self._values = values

    def numpy(self) -> Any:
        return self._values[0].numpy()


def _raw(model: onnx.ModelProto, x: Any) -> Callable[[], Any]:
    tf.add(x, x)  # the first session of ours makes the threads that all share
    options = onnxruntime.SessionOptions()
    options.use_per_session_threads = False
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    raw, quickest = session._sess.run_with_ort_values, onnxruntime.RunOptions()
    return lambda: _Output(raw({"x": x._raw}, ["out"], quickest))


# Tensor arrays


def _arrays(effort: float) -> list[Result]:
    """Elements written, at the number of the iteration and elsewhere."""
    results = []
    for name, place in (("its own number", _same), ("any index", _shuffled)):
        times = []
        sizes = [max(2, int(n * min(1.0, effort * 10))) for n in (100, 1000, 4000)]
        for size in sizes:
            function, x = tf.function(_writer(size, place)), tf.constant(np.ones((32, 128), "f4"))
            number = max(1, int(400 * effort / size))
            (us,) = best_of([lambda f=function, x=x: f(x)], number=number, repeats=_rounds(effort))  # type: ignore[misc]
            times.append(us / size)
        for size, us in zip(sizes[1:], times[1:], strict=True):
            what = f"TensorArray.write at {name}, {size:,} iterations, each"
            results.append(Result(what, us, times[0], "us", None, f"{sizes[0]:,} iterations, each"))
    return results


def _same(i: Any, size: int) -> Any:
    return i


def _shuffled(i: Any, size: int) -> Any:
    return (i * 7) % size


def _writer(size: int, place: Callable[[Any, int], Any]) -> Callable[[Any], Any]:
    def write(x: Any) -> Any:
        def body(i: Any, rows: Any) -> Any:
            return i + 1, rows.write(place(i, size), x)

        rows = tf.TensorArray(tf.float32, size, element_shape=(32, 128))
        return tf.while_loop(lambda i, _: i < size, body, (0, rows))[1].stack()

    return write


# Memory


def _memory(steps: int) -> list[Result]:
    """Peaks of training loops; Linux only."""
    if not sys.platform.startswith("linux"):
        return []
    quarter, plain = _peak("plain", steps // 4), _peak("plain", steps)
    again = _peak("recompute", steps)
    kept = steps * _KEPT
    whole = f"memory of a training loop of {steps:,} steps"
    first = f"the states, {_KEPT >> 10} KiB a step"
    growth = "as many times more steps"
    return [
        Result(whole, plain / 1e6, kept / 1e6, "MB", None, first),
        Result(f"{whole}: growth from a quarter", plain / quarter, 4.0, "x", 1.2, growth),
        Result(f"{whole}, recompute_grad", again / 1e6, kept / 1e6, "MB", 0.5, first),
    ]


def _peak(kind: str, steps: int) -> int:
    command = [sys.executable, "-c", _TRAIN, kind, str(steps)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return max(_KEPT, int(done.stdout))


# Conversion


def _conversion(effort: float) -> Result:
    """A function of 200 lines, converted for the first time."""
    from tfx.autograph import to_graph

    seconds = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(max(1, int(10 * effort))):
            path = Path(folder) / f"long_{number}.py"
            path.write_text(_long_function(_LINES))
            spec = importlib.util.spec_from_file_location(path.stem, path)
            assert spec is not None
            assert spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            sys.modules[path.stem] = module
            try:
                spec.loader.exec_module(module)
                started = time.perf_counter()
                to_graph(module.long)
                seconds.append(time.perf_counter() - started)
            finally:
                del sys.modules[path.stem]
    name = f"conversion of a function of {_LINES} lines"
    return Result(name, min(seconds) * 1e3, 50.0, "ms", 1.0, "50 ms allowed")


def _long_function(lines: int) -> str:
    """Source with all kinds of statements."""
    block = [
        "    if x > {n}:",
        "        y = x * {n}",
        "    else:",
        "        y = x - {n}",
        "    for i in range({n}):",
        "        if y > i and x < i:",
        "            continue",
        "        y += helper(i, x)",
        "    while y < {n}:",
        "        y = y + 1 if x > 0 else y + 2",
        "        if y == 5:",
        "            break",
        "    items.append(max(x, y))",
        "    x = [a for a in items][-1]",
    ]
    body = itertools.chain.from_iterable(
        [line.format(n=n) for line in block] for n in range(lines // len(block) + 1)
    )
    head = ["def helper(a, b):", "    return a + b", "", "", "def long(x):", "    items = []"]
    whole = [*head, *itertools.islice(body, lines - 3), "    return x"]
    while not whole[-2].startswith("    items") and not whole[-2].startswith("    x ="):
        del whole[-2]
        whole.insert(6, "    x = x + 1")
    return "\n".join(whole) + "\n"


def _rounds(effort: float) -> int:
    return 40 if effort == 1 else 3
