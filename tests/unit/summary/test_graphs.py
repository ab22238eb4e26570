"""Graphs of functions in event files."""

from __future__ import annotations

from pathlib import Path

import pytest

import tfx as tf
from tests.unit.summary import reading


@tf.function(input_signature=[tf.TensorSpec([None, 3]), tf.TensorSpec(None)])
def f(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    tf.print(x)
    tf.print("again")
    a, b, _ = tf.unstack(x, axis=1)
    return tf.identity(a * b, name="product"), y


def nodes(message: bytes) -> dict[str, tuple[str, list[str], bytes]]:
    """Name -> operator, inputs, shapes."""
    found = {}
    for number, node in reading.fields(message):
        if number == 1:
            parts = reading.fields(node)
            single = dict(parts)
            inputs = [v.decode() for n, v in parts if n == 3]
            attribute = dict(reading.fields(single[5]))
            assert attribute[1] == b"_output_shapes"
            found[single[1].decode()] = (single[2].decode(), inputs, attribute[2])
    return found


def test_a_graph(tmp_path: Path) -> None:
    concrete = f.get_concrete_function()
    assert not bool(tf.summary.graph(concrete.graph))
    writer = tf.summary.create_file_writer(tmp_path)
    with writer.as_default():
        assert bool(tf.summary.graph(concrete.graph))
        with tf.summary.record_if(False):
            assert not bool(tf.summary.graph(concrete.graph))
    writer.close()
    (path,) = tmp_path.iterdir()
    _, event = reading.records(path)
    found = nodes(dict(reading.fields(event))[4])
    operations = concrete.graph.get_operations()
    assert list(found) == [op.name for op in operations]
    assert [kind for kind, _, _ in found.values()] == [op.type for op in operations]
    prints = [(name, inputs) for name, (kind, inputs, _) in found.items() if kind == "print"]
    assert [inputs for _, inputs in prints] == [["x"], [f"^{prints[0][0]}"]]
    # A list of one shape: [-1, 3], and an unknown rank.
    assert found["x"][2].hex() == "0a133a11" + "120b08ffffffffffffffffff01" + "12020803"
    assert found["y"][2].hex() == "0a043a021801"
    for _, inputs, _ in found.values():
        assert all(i.removeprefix("^").split(":")[0] in found for i in inputs)
    assert any(i.endswith(":1") for _, inputs, _ in found.values() for i in inputs)


def test_what_is_no_graph() -> None:
    with pytest.raises(ValueError, match="GraphDef message; got 3"):
        tf.summary.graph(3)
    with pytest.raises(ValueError, match="inside a graph context"):
        tf.function(lambda: tf.summary.graph(None))()
