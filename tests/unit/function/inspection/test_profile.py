"""Timings of nodes: complete, with the user's lines, and of calls that do what they always do."""

from __future__ import annotations

import json
import threading
import time

import numpy as np
import pytest

import tfx as tf
from tfx.core.errors import InvalidArgumentError


def line_of(text):
    """The line of this file that holds a text, as timings name it."""
    with open(__file__, encoding="utf-8") as file:
        number = next(i for i, line in enumerate(file, 1) if text in line)
    return f"test_profile.py:{number}"


def ops(metadata):
    return sorted(n.op for n in metadata.nodes)


def test_every_node_with_its_line():
    @tf.function
    def f(x):
        y = tf.exp(x)  # line: exp
        return tf.reduce_sum(y, axis=0)  # line: sum

    metadata = tf.RunMetadata()
    x = tf.ones([4, 3])
    result = f.with_options(run_metadata=metadata)(x)
    np.testing.assert_array_equal(result, f(x))
    assert ops(metadata) == ["Exp", "ReduceSum"]
    lines = {n.op: n.source for n in metadata.nodes}
    assert lines["Exp"].startswith(line_of("# line: exp"))
    assert lines["ReduceSum"].startswith(line_of("# line: sum"))
    assert {n.function for n in metadata.nodes} == {"f"}
    assert all(n.duration_us >= 0 and n.device == "CPU:0" for n in metadata.nodes)
    (run,) = metadata.runs
    assert (run.name, run.kind) == ("f", "function")
    assert run.duration_us >= 0.9 * metadata.total_us


def test_state_is_updated_once():
    v = tf.Variable(1.0)

    @tf.function
    def step(x):
        v.assign_add(x)
        return v * 2.0

    measured = step.with_options(run_metadata=tf.RunMetadata())
    assert float(measured(tf.constant(2.0))) == 6.0
    assert v.numpy() == 3.0
    assert float(measured(tf.constant(2.0))) == 10.0
    assert v.numpy() == 5.0


def test_each_call_replaces_the_timings():
    f = tf.function(lambda x: tf.exp(x) + 1.0)
    metadata = tf.RunMetadata()
    measured = f.with_options(tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), metadata)
    for _ in range(3):
        measured(tf.constant(1.0))
        assert ops(metadata) == ["Add", "Exp"]


def test_no_trace_measures_nothing():
    f = tf.function(lambda x: tf.exp(x))
    metadata = tf.RunMetadata()
    f.with_options(tf.RunOptions(), metadata)(tf.constant(1.0))
    assert metadata.nodes == metadata.runs == []
    assert "0 nodes" in str(metadata)


def test_nested_functions_keep_their_lines():
    @tf.function(jit_compile=False)
    def inner(x):
        return tf.sin(x)  # line: sin

    @tf.function(jit_compile=False)
    def outer(x):
        return inner(x) + inner(tf.cos(x))  # line: cos

    with tf.profile() as p:
        outer(tf.ones([3]))
    assert sorted(ops(p)) == ["Add", "Cos", "Sin", "Sin"]
    where = {n.op: (n.function, n.source.split(" ")[0]) for n in p.nodes}
    assert where["Sin"] == ("inner", line_of("# line: sin"))
    assert where["Cos"] == ("outer", line_of("# line: cos"))


def test_a_block_covers_functions_gradients_and_operations():
    w = tf.Variable(tf.ones([3, 3]))
    f = tf.function(lambda x: tf.tanh(tf.matmul(x, w)), jit_compile=False)
    with tf.profile() as p:
        for _ in range(4):
            with tf.GradientTape() as tape:
                y = f(tf.ones([2, 3]))
            tape.gradient(y, w)
        tf.sqrt(tf.constant(2.0))  # line: sqrt
    counts = {row.name: row.count for row in p.rows("op")}
    assert counts["Tanh"] == 4
    assert counts["Sqrt"] == 1
    kinds = {r.name: r.kind for r in p.runs}
    assert kinds["Sqrt"] == "operation"
    assert sum(r.kind == "function" for r in p.runs) >= 8
    (eager,) = [n for n in p.nodes if n.op == "Sqrt"]
    assert eager.source.startswith(line_of("# line: sqrt"))
    before = len(p.nodes)
    f(tf.ones([2, 3]))
    assert len(p.nodes) == before, "nothing is measured after the block"


def test_frozen_functions():
    v = tf.Variable(tf.ones([3]))
    f = tf.function(lambda x: tf.exp(x) * v)
    for _ in range(20):
        f(tf.ones([3]))
    with tf.profile() as p:
        f(tf.ones([3]))
    assert ops(p) == ["Exp", "Mul"]


def test_fused_nodes_show_their_parts():
    @tf.function
    def f(x, y):
        z = tf.transpose(y)  # line: transpose
        return tf.matmul(x, z)  # line: matmul

    with tf.profile() as p:
        f(tf.ones([4, 5]), tf.ones([3, 5]))
    (node,) = p.nodes
    assert node.op != "MatMul"
    assert node.source.startswith(line_of("# line: matmul"))
    (part,) = node.parts
    assert part.op == "Transpose"
    assert part.source.startswith(line_of("# line: transpose"))
    assert " + " in p.rows()[0].name


def test_threads():
    f = tf.function(lambda x: tf.exp(x))
    f(tf.ones([3]))

    def other():
        f(tf.ones([3]))

    def run():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()

    with tf.profile() as p:
        run()
    assert not p.nodes
    with tf.profile(all_threads=True) as p:
        run()
        f(tf.ones([3]))
    assert ops(p) == ["Exp", "Exp"]
    assert len({n.thread for n in p.nodes}) == 2


def test_a_call_inside_a_block_is_in_both():
    f = tf.function(lambda x: tf.exp(x))
    metadata = tf.RunMetadata()
    with tf.profile() as p:
        f(tf.ones([3]))
        f.with_options(run_metadata=metadata)(tf.ones([3]))
    assert ops(metadata) == ["Exp"]
    assert ops(p) == ["Exp", "Exp"]
    assert [n.run for n in p.nodes] == [0, 1]


def test_rows_and_tables():
    @tf.function(jit_compile=False)
    def f(x):
        for _ in range(3):
            x = tf.sin(x)
        return tf.cos(x)

    with tf.profile() as p:
        for _ in range(5):
            f(tf.ones([100]))
    by_op = {r.name: r for r in p.rows("op")}
    assert (by_op["Sin"].count, by_op["Cos"].count) == (15, 5)
    for by in ("node", "op", "source", "function"):
        rows = p.rows(by)
        assert sum(r.count for r in rows) == 20
        assert sum(r.share for r in rows) == pytest.approx(1.0)
        assert [r.total_us for r in rows] == sorted((r.total_us for r in rows), reverse=True)
        assert all(r.mean_us == pytest.approx(r.total_us / r.count) for r in rows)
    text = p.table("op")
    assert "5 runs in" in text
    assert "20 nodes in" in text
    widths = {len(line) for line in text.splitlines()[1:]}
    assert len(widths) == 1, "columns are aligned"
    assert "... and 3 more" in p.table(limit=1)
    assert "Sin" in str(p)
    assert "20 nodes" in repr(p)
    with pytest.raises(InvalidArgumentError, match="'node', 'op', 'source', 'function'"):
        p.rows("line")


def test_timeline():
    f = tf.function(lambda x: tf.exp(x) + 1.0)
    with tf.profile() as p:
        f(tf.ones([3]))
        f(tf.ones([3]))
    lines = p.timeline(width=30).splitlines()
    assert len(lines) == 1 + 2 * 3
    assert all(line.count("|") == 2 and "#" in line for line in lines[1:])
    assert len({line.index("|") for line in lines[1:]}) == 1
    assert [line.split()[0] for line in lines[2:4]] == ["Exp", "Add"]
    assert "... and 5 more" in p.timeline(limit=1)
    assert tf.RunMetadata().timeline() == "nothing ran"


def test_chrome_trace(tmp_path):
    f = tf.function(lambda x: tf.exp(x) + 1.0)
    path = tmp_path / "trace.json"
    with tf.profile(path) as p:
        f(tf.ones([3]))
        f(tf.ones([3]))
    trace = json.loads(path.read_text())
    events = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    assert {e["cat"] for e in events} == {"function", "node"}
    assert all({"name", "ts", "dur", "pid", "tid", "args"} <= set(e) for e in events)
    assert all(e["ts"] >= 0 and e["dur"] >= 0 for e in events)
    nodes = [e for e in events if e["cat"] == "node"]
    assert sorted(e["name"] for e in nodes) == ["Add", "Add", "Exp", "Exp"]
    assert all(e["args"]["line"].startswith("test_profile.py:") for e in nodes)
    runs = [e for e in events if e["cat"] == "function"]
    for node in nodes:  # each inside of its run; the clocks are matched to within a millisecond
        assert any(r["ts"] - 1e3 <= node["ts"] <= r["ts"] + r["dur"] + 1e3 for r in runs)
    assert json.loads(p.chrome_trace())["traceEvents"] == trace["traceEvents"]


def test_as_a_dict_and_as_tensorflow_names_it():
    f = tf.function(lambda x: tf.exp(x))
    metadata = tf.RunMetadata()
    f.with_options(run_metadata=metadata)(tf.ones([3]))
    made = json.loads(json.dumps(metadata.to_dict()))
    assert [n["op"] for n in made["nodes"]] == ["Exp"]
    assert [r["name"] for r in made["runs"]] == [metadata.runs[0].name]
    (device,) = metadata.step_stats.dev_stats
    assert device.device.endswith("device:CPU:0")
    (stats,) = device.node_stats
    assert stats.node_name == metadata.nodes[0].name
    assert stats.all_end_rel_micros == round(metadata.nodes[0].duration_us)
    assert "Exp" in stats.timeline_label


def test_a_failing_call_is_measured_up_to_the_failure():
    f = tf.function(lambda x, i: tf.gather(tf.exp(x), i))
    with pytest.raises(InvalidArgumentError), tf.profile() as p:
        f(tf.ones([3]), tf.constant(9))
    assert "Exp" in ops(p)


def test_what_python_does_is_among_the_runs(capfd):
    @tf.function
    def f(x):
        tf.print("x is", x)
        return tf.exp(x)

    with tf.profile() as p:
        f(tf.constant(1.0))
    hosts = [r.name for r in p.runs if r.kind == "host"]
    assert len(hosts) == 1
    assert "test_profile.py" in hosts[0]


def test_time_inside_of_a_loop_is_counted_once():
    @tf.function
    def f(x):
        def body(i, a):
            return i + 1, tf.matmul(a, a) * 1e-2  # line: body

        return tf.while_loop(lambda i, a: i < 60, body, [tf.constant(0), x])[1]

    with tf.profile() as p:
        f(tf.ones([96, 96]))
    products = [n for n in p.nodes if "MatMul" in n.op or n.op == "Product"]
    assert len(products) == 60
    assert products[0].source.startswith(line_of("# line: body"))
    (loop,) = [n for n in p.nodes if n.op == "Loop"]
    inside = sum(n.duration_us for n in p.nodes if n is not loop)
    assert loop.self_us <= loop.duration_us - 0.9 * inside
    assert p.total_us <= 1.1 * loop.duration_us + 100


def test_a_deep_graph_takes_no_longer_than_its_nodes():
    def layer(x, scale):
        return tf.nn.relu(tf.matmul(x, x) + scale)

    @tf.function(autograph=False, jit_compile=False)
    def deep(x):
        for i in range(800):
            x = tf.sin(layer(x, float(i))) * 0.5
        return tf.reduce_sum(x)

    x = tf.ones([2, 2])
    began = time.monotonic()
    deep(x)
    first = time.monotonic() - began  # with tracing and compiling
    began = time.monotonic()
    with tf.profile() as p:
        deep(x)
    assert time.monotonic() - began < first + 10.0
    assert len(p.nodes) > 2000
    for node in p.nodes:
        assert "test_profile.py" in node.source, node
    # Sums that were fused with the products before them are parts of one node each.
    parts = [part.name for node in p.nodes for part in node.parts]
    assert len(parts) == len(set(parts))
