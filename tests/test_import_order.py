"""No result depends on what was imported, or used, before."""

from __future__ import annotations

import functools
import json
import subprocess
import sys

import pytest

from tests import import_order
from tfx.framework import rules
from tfx.framework.indexed_slices_rules import SLICE_RULES

_V1 = """
import numpy as np
import tfx.compat.v1 as tf
tf.disable_eager_execution()
def run(y, feeds=None):
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        print(s.run(y, feeds))
"""
_TF = """
import numpy as np
import tfx as tf
def show(*tensors):
    for x in tf.nest.flatten(tensors):
        print(np.asarray(x).round(4).tolist())
"""
_MODEL = """
import onnx, os, tempfile
from onnx import helper as h, TensorProto as T, numpy_helper as nh
def model(nodes, inputs, outputs, weights=()):
    graph = h.make_graph(nodes, "g",
        [h.make_tensor_value_info(n, T.FLOAT, s) for n, s in inputs],
        [h.make_tensor_value_info(n, T.FLOAT, s) for n, s in outputs],
        [nh.from_array(a, n) for n, a in weights])
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 21)], ir_version=10)
def loop(body, trip):
    return [h.make_node("Constant", [], ["n"], value_int=trip),
            h.make_node("Constant", [], ["c"], value=nh.from_array(np.array(True))),
            h.make_node("Loop", ["n", "c", "x"], ["y"], body=body)]
def doubling():
    return h.make_graph(
        [h.make_node("Mul", ["s", "s"], ["t"]), h.make_node("Identity", ["go"], ["again"])], "b",
        [h.make_tensor_value_info("i", T.INT64, []), h.make_tensor_value_info("go", T.BOOL, []),
         h.make_tensor_value_info("s", T.FLOAT, [2])],
        [h.make_tensor_value_info("again", T.BOOL, []),
         h.make_tensor_value_info("t", T.FLOAT, [2])])
"""
_SAVED = """
import tempfile
folder = tempfile.mkdtemp()
"""

# Name: source. Each begins in a process that has imported nothing of tfx.
PROGRAMS: dict[str, str] = {
    "v1 gradient of while_loop": _V1
    + """
x = tf.placeholder(tf.float32, [2])
y = tf.while_loop(lambda i, z: i < 3, lambda i, z: (i + 1, z * z), (0, x))[1]
run(tf.gradients(y, x)[0], {x: [1.0, 2.0]})
""",
    "v1 gradient of while_loop, unknown batch": _V1
    + """
x = tf.placeholder(tf.float32, [None, 2])
y = tf.while_loop(lambda i, z: i < 3, lambda i, z: (i + 1, z * z), (0, x))[1]
run(tf.gradients(y, x)[0], {x: [[1.0, 2.0]]})
""",
    "v1 gradient of while_loop, unknown rank": _V1
    + """
x = tf.placeholder(tf.float32, None)
y = tf.while_loop(lambda i, z: i < 3, lambda i, z: (i + 1, z * z), (0, x))[1]
run(tf.gradients(y, x)[0], {x: [[1.0, 2.0]]})
""",
    "v1 gradient of a while_loop that grows": _V1
    + """
x = tf.placeholder(tf.float32, [None, 2])
y = tf.while_loop(lambda i, z: i < 2, lambda i, z: (i + 1, tf.concat([z, z * z], 0)), (0, x),
    shape_invariants=(tf.TensorShape([]), tf.TensorShape([None, 2])))[1]
run(tf.gradients(y, x)[0], {x: [[1.0, 2.0]]})
""",
    "v1 gradient of cond": _V1
    + """
x = tf.placeholder(tf.float32, [None])
y = tf.cond(tf.reduce_sum(x) > 0, lambda: x * x, lambda: x)
run(tf.gradients(y, x)[0], {x: [1.0, 2.0]})
""",
    "v1 gradient of TensorArray": _V1
    + """
x = tf.placeholder(tf.float32, [None])
def body(i, a):
    return i + 1, a.write(i, x[i] * x[i])
n = tf.shape(x)[0]
a = tf.while_loop(lambda i, a: i < n, body, (0, tf.TensorArray(tf.float32, n)))[1]
run(tf.gradients(a.stack(), x)[0], {x: [1.0, 2.0]})
""",
    "v1 TensorArray by itself": _V1
    + """
x = tf.placeholder(tf.float32, [2])
a = tf.TensorArray(tf.float32, 2).write(1, x * x).write(0, x)
run(tf.gradients(a.stack(), x)[0], {x: [1.0, 2.0]})
""",
    "v1 optimizer": _V1
    + """
v = tf.get_variable("v", [2], initializer=tf.ones_initializer())
step = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(v * v))
with tf.control_dependencies([step]):
    run(tf.identity(v.read_value()))
""",
    "v1 map_fn and scan": _V1
    + """
x = tf.placeholder(tf.float32, [None])
y = tf.map_fn(lambda e: e * e, x) + tf.scan(lambda a, e: a * e, x)
run(tf.gradients(y, x)[0], {x: [1.0, 2.0]})
""",
    "v1 custom_gradient": _V1
    + """
x = tf.placeholder(tf.float32, [2])
@tf.custom_gradient
def f(x):
    return x * x, lambda dy: dy * 7.0
run(tf.gradients(f(x), x)[0], {x: [1.0, 2.0]})
""",
    "v1 py_func": _V1
    + """
x = tf.placeholder(tf.float32, [2])
run(tf.py_func(lambda a: a * 2, [x], tf.float32), {x: [1.0, 2.0]})
""",
    "v1 hessians": _V1
    + """
x = tf.placeholder(tf.float32, [2])
run(tf.hessians(tf.reduce_sum(x * x * x), x)[0], {x: [1.0, 2.0]})
""",
    "eager while_loop": _TF
    + """
x = tf.constant([1.0, 2.0])
with tf.GradientTape() as t:
    t.watch(x)
    y = tf.while_loop(lambda i, z: i < 3, lambda i, z: (i + 1, z * z), (0, x))[1]
show(t.gradient(y, x))
""",
    "gradients in a function": _TF
    + """
@tf.function
def f(x):
    y = tf.while_loop(lambda i, z: i < 3, lambda i, z: (i + 1, z * z), (0, x))[1]
    return tf.gradients(y, x)
show(f(tf.constant([1.0, 2.0])))
""",
    "tape in a function": _TF
    + """
@tf.function
def f(x):
    with tf.GradientTape() as t:
        t.watch(x)
        y = tf.cond(tf.reduce_sum(x) > 0, lambda: x * x, lambda: x)
    return t.gradient(y, x)
show(f(tf.constant([1.0, 2.0])))
""",
    "tape around a function": _TF
    + """
@tf.function
def f(x):
    for i in range(3):
        x = x * x
    return x
x = tf.constant([1.0, 2.0])
with tf.GradientTape() as t:
    t.watch(x)
    y = f(x)
show(t.gradient(y, x))
""",
    "jvp": _TF
    + """
x = tf.constant([1.0, 2.0])
with tf.autodiff.ForwardAccumulator(x, tf.ones([2])) as a:
    y = tf.while_loop(lambda i, z: i < 3, lambda i, z: (i + 1, z * z), (0, x))[1]
show(a.jvp(y))
""",
    "jvp of a function": _TF
    + """
@tf.function
def f(x):
    return tf.cond(tf.reduce_sum(x) > 0, lambda: tf.map_fn(lambda e: e * e, x), lambda: x)
x = tf.constant([1.0, 2.0])
with tf.autodiff.ForwardAccumulator(x, tf.ones([2])) as a:
    y = f(x)
show(a.jvp(y))
""",
    "jvp in a function": _TF
    + """
@tf.function
def f(x):
    with tf.autodiff.ForwardAccumulator(x, tf.ones([2])) as a:
        y = tf.while_loop(lambda i, z: i < 3, lambda i, z: (i + 1, z * z), (0, x))[1]
    return a.jvp(y)
show(f(tf.constant([1.0, 2.0])))
""",
    "vectorized_map": _TF
    + """
def f(r):
    return tf.cond(r[0] > 1, lambda: r * r, lambda: r)
show(tf.vectorized_map(f, tf.constant([[1.0], [2.0]])))
""",
    "vectorized_map of a loop": _TF
    + """
show(tf.vectorized_map(
    lambda r: tf.while_loop(lambda i, z: i < 3, lambda i, z: (i + 1, z * r), (0, r))[1],
    tf.constant([[1.0], [2.0]])))
""",
    "jacobian": _TF
    + """
x = tf.constant([1.0, 2.0])
with tf.GradientTape() as t:
    t.watch(x)
    y = tf.while_loop(lambda i, z: i < 3, lambda i, z: (i + 1, z * z), (0, x))[1]
show(t.jacobian(y, x))
""",
    "raw operators": _TF
    + """
from tfx import raw
x = tf.constant([1.0, 2.0])
with tf.GradientTape(persistent=True) as t:
    t.watch(x)
    y = raw.Celu(x) + raw.ThresholdedRelu(x) + raw.Softplus(x)
    s = raw.TopK(x, tf.constant([1], tf.int64))[0]
show(t.gradient(y, x), t.gradient(s, x))
""",
    "raw operators in forward mode": _TF
    + """
from tfx import raw
x = tf.constant([1.0, 2.0])
with tf.autodiff.ForwardAccumulator(x, tf.ones([2])) as a:
    y = raw.Celu(x) + raw.ThresholdedRelu(x) + raw.Softplus(x)
    s = raw.TopK(x, tf.constant([1], tf.int64))[0]
show(a.jvp(y), a.jvp(s))
""",
    "raw operators batched": _TF
    + """
from tfx import raw
show(tf.vectorized_map(lambda r: raw.Celu(r) + raw.Softplus(r), tf.constant([[1.0], [2.0]])))
""",
    "raw GRU": _TF
    + """
from tfx import raw
x = tf.ones([3, 1, 2])
w, r = tf.ones([1, 6, 2]), tf.ones([1, 6, 2])
with tf.GradientTape() as t:
    t.watch(x)
    y = raw.GRU(x, w, r, hidden_size=2)[0]
show(t.gradient(y, x))
""",
    "raw GRU batched": _TF
    + """
from tfx import raw
x = tf.ones([2, 3, 1, 2])
w, r = tf.ones([1, 6, 2]), tf.ones([1, 6, 2])
show(tf.vectorized_map(lambda e: raw.GRU(e, w, r, hidden_size=2)[0], x))
""",
    "raw Dropout": _TF
    + """
from tfx import raw
x = tf.ones([3])
with tf.GradientTape() as t:
    t.watch(x)
    y = raw.Dropout(x, tf.constant(0.0), tf.constant(True))[0]
show(t.gradient(y, x))
""",
    "import_onnx": _TF
    + _MODEL
    + """
f = tf.import_onnx(model(loop(doubling(), 3), [("x", [2])], [("y", [2])]))
x = tf.constant([1.0, 2.0])
with tf.GradientTape() as t:
    t.watch(x)
    y = f(x)
show(t.gradient(y, x))
""",
    "import_onnx in forward mode": _TF
    + _MODEL
    + """
f = tf.import_onnx(model(loop(doubling(), 3), [("x", [2])], [("y", [2])]))
x = tf.constant([1.0, 2.0])
with tf.autodiff.ForwardAccumulator(x, tf.ones([2])) as a:
    y = f(x)
show(a.jvp(y))
""",
    "import_onnx batched": _TF
    + _MODEL
    + """
f = tf.import_onnx(model(loop(doubling(), 3), [("x", [2])], [("y", [2])]))
show(tf.vectorized_map(f, tf.constant([[1.0, 2.0], [3.0, 4.0]])))
""",
    "import_onnx of a GRU": _TF
    + _MODEL
    + """
f = tf.import_onnx(model([h.make_node("GRU", ["x", "w", "r"], ["y"], hidden_size=2)],
    [("x", [3, 1, 2])], [("y", [3, 1, 1, 2])],
    [("w", np.ones((1, 6, 2), "f")), ("r", np.ones((1, 6, 2), "f"))]))
x = tf.ones([3, 1, 2])
with tf.GradientTape() as t:
    t.watch(x)
    y = f(x)
show(t.gradient(y, x), [t.shape for t in f.trainable_variables])
""",
    "saved_model.load": _TF
    + _SAVED
    + """
class M(tf.Module):
    def __init__(self):
        self.v = tf.Variable([1.0, 2.0])
    @tf.function(input_signature=[tf.TensorSpec([None, 2])])
    def __call__(self, x):
        for i in range(2):
            x = x * self.v
        return x
import os
if os.fork() == 0:
    tf.saved_model.save(M(), folder)
    os._exit(0)
os.wait()
m = tf.saved_model.load(folder)
x = tf.constant([[1.0, 2.0]])
with tf.GradientTape(persistent=True) as t:
    t.watch(x)
    y = m(x)
show(t.gradient(y, x), t.gradient(y, m.v))
with tf.autodiff.ForwardAccumulator(x, tf.ones([1, 2])) as a:
    y = m(x)
show(a.jvp(y), tf.vectorized_map(m, tf.ones([2, 1, 2])))
""",
    "pickled function": _TF
    + """
import pickle, os, sys, types
here = types.ModuleType("here"); sys.modules["here"] = here
exec("import tfx as tf\\nclass M(tf.Module):\\n  v = None", here.__dict__)
m = here.M()
m.v = tf.Variable([1.0, 2.0])
m = pickle.loads(pickle.dumps(m))
with tf.GradientTape() as t:
    y = m.v * m.v
show(t.gradient(y, m.v))
""",
    "optimizer": _TF
    + """
v = tf.Variable([1.0, 2.0])
opt = tf.optimizers.Adam(0.1)
with tf.GradientTape() as t:
    y = v * v
opt.apply_gradients([(t.gradient(y, v), v)])
show(v)
""",
    "optimizer in a function": _TF
    + """
v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
opt = tf.optimizers.Adam(0.1)
@tf.function
def step():
    with tf.GradientTape() as t:
        y = tf.reduce_sum(tf.gather(v, [0, 0]) ** 2.0)
    opt.apply_gradients([(t.gradient(y, v), v)])
step()
show(v)
""",
    "sparse gradient around a function": _TF
    + """
v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
@tf.function
def f():
    return tf.gather(v, [0, 0]) * 2.0
with tf.GradientTape() as t:
    y = f()
g = t.gradient(y, v)
print(type(g).__name__)
show(tf.convert_to_tensor(g))
""",
    "custom_gradient": _TF
    + """
@tf.custom_gradient
def f(x):
    return x * x, lambda dy: dy * 7.0
@tf.function
def g(x):
    return f(x)
x = tf.constant([1.0, 2.0])
with tf.GradientTape() as t:
    t.watch(x)
    y = g(x) + f(x)
show(t.gradient(y, x))
""",
    "recompute_grad": _TF
    + """
x = tf.constant([1.0, 2.0])
with tf.GradientTape() as t:
    t.watch(x)
    y = tf.recompute_grad(lambda x: x * x)(x)
show(t.gradient(y, x))
""",
    "py_function": _TF
    + """
@tf.function
def f(x):
    return tf.py_function(lambda x: x * x, [x], tf.float32)
x = tf.constant([1.0, 2.0])
with tf.GradientTape() as t:
    t.watch(x)
    y = f(x)
show(t.gradient(y, x))
""",
    "RegisterGradient refuses what is known": _TF
    + """
for op in ("Loop", "If", "GRU", "SequenceInsert", "Sin", "Call", "Host"):
    try:
        tf.RegisterGradient(op)(lambda op, dy: dy)
    except KeyError as e:
        print(op, str(e)[:40])
""",
    "batch_jacobian of a function": _TF
    + """
@tf.function
def f(x):
    for i in range(2):
        x = x * x
    return x
x = tf.constant([[1.0, 2.0]])
with tf.GradientTape() as t:
    t.watch(x)
    y = f(x)
show(t.batch_jacobian(y, x))
""",
    "operators of tensors of raw alone": """
import numpy as np
from tfx import raw
x = raw.Relu(np.array([1.0, -2.0], "f"))
print((x + x).numpy(), (-x).numpy(), x[0].numpy())
""",
    "operators of tensors of a submodule alone": """
from tfx.random import uniform
x = uniform([2])
print((x - x).numpy(), x[:1].shape)
""",
    "operators of tensors of compat": """
from tfx.compat import v2
x = v2.constant([1.0, -2.0])
print((x + x).numpy(), (-x).numpy(), x[0].numpy())
""",
    "arrays": """
import tfx.experimental.numpy as tnp
x = tnp.array([1.0, -2.0])
print((x + x).numpy(), (-x).numpy(), x[0].numpy())
""",
    "variable operators": _TF
    + """
v = tf.Variable([1.0, 2.0])
show(v + v, -v, v[0], 1.0 - v)
""",
    "linalg": _TF
    + """
x = tf.constant([[2.0, 1.0], [1.0, 3.0]])
with tf.GradientTape() as t:
    t.watch(x)
    y = tf.linalg.cholesky(x)
show(t.gradient(y, x))
""",
    "signatures in forward mode": _TF
    + """
@tf.function(input_signature=[tf.TensorSpec([None])])
def f(x):
    return tf.scan(lambda a, e: a * e, x)
x = tf.constant([1.0, 2.0])
with tf.autodiff.ForwardAccumulator(x, tf.ones([2])) as a, tf.GradientTape() as t:
    t.watch(x)
    y = f(x)
show(a.jvp(y), t.gradient(y, x))
""",
    "export of a training model": _TF
    + """
@tf.function(input_signature=[tf.TensorSpec([None])])
def f(x):
    with tf.GradientTape() as t:
        t.watch(x)
        y = tf.scan(lambda a, e: a * e, x)
    return t.gradient(y, x)
model = f.get_concrete_function().as_onnx()
import onnxruntime
s = onnxruntime.InferenceSession(model.SerializeToString())
show(s.run(None, {s.get_inputs()[0].name: np.array([1, 2], "f")}))
""",
    "control_flow alone": """
import numpy as np
from tfx.control_flow.while_loop import while_loop
from tfx.autodiff.tape import GradientTape
from tfx.framework.convert import convert_to_tensor
x = convert_to_tensor([1.0, 2.0])
from tfx.framework.apply import apply
with GradientTape() as t:
    t.watch(x)
    y = while_loop(
        lambda i, z: apply("Less", (i, convert_to_tensor(3))),
        lambda i, z: (apply("Add", (i, convert_to_tensor(1))), apply("Mul", (z, z))),
        (convert_to_tensor(0), x))[1]
print(np.asarray(t.gradient(y, x)).tolist())
""",
}


@functools.cache
def _outcomes(*arguments: str) -> dict[str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.import_order", *arguments],
        input=json.dumps(PROGRAMS),
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, str] = json.loads(done.stdout)
    return found


@pytest.mark.xdist_group("import order")
@pytest.mark.skipif(not hasattr(import_order.os, "fork"), reason="the system has no fork")
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_the_same_whatever_was_imported_before(name: str) -> None:
    alone, after = _outcomes()[name], _outcomes("all")[name]
    assert alone == after
    assert "Traceback" not in alone
    assert alone.strip()
    assert "the process ended" not in alone


def test_rules_above_the_walks_are_in_the_table_of_what_is_fetched() -> None:
    # What backprop itself imports is there before anybody asks; the rest must be known by name.
    import_order.import_everything()
    early = ("tfx.ops.", "tfx.autodiff.", "tfx.framework.", "tfx.control_flow.sequence_gradients")
    late = {
        (op, rule.__module__)
        for table in (rules._rules, rules._formulas, rules._forward, SLICE_RULES)
        for op, rule in table.items()  # type: ignore[attr-defined]
        if rule.__module__.startswith("tfx.") and not rule.__module__.startswith(early)
    }
    assert late == {(op, module) for op, modules in rules.ELSEWHERE.items() for module in modules}
