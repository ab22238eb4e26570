"""An imported model of fused operators against ONNX Runtime: ``python -m bench.kept_operators``.

A transformer encoder as ONNX Runtime's tool writes it (``Attention``, ``SkipLayerNormalization``,
``BiasGelu``). Prints the median of the ratios of interleaved blocks, the best call of each.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import onnxruntime
from onnx import helper, numpy_helper

import tfx as tf

SIZE, HEADS, LAYERS, WIDE, BLOCKS, CALLS = 256, 4, 4, 1024, 12, 30


def encoder() -> Any:
    """The model: ``x`` of ``[batch, positions, SIZE]`` to ``y``."""
    rng = np.random.default_rng(0)
    weights: dict[str, Any] = {}
    nodes: list[Any] = []

    def weight(name: str, *shape: int) -> str:
        weights[name] = (rng.normal(size=shape) * 0.05).astype(np.float32)
        return name

    def fused(op: str, inputs: list[str], output: str, **attrs: Any) -> str:
        domain = "" if op == "MatMul" else "com.microsoft"
        nodes.append(helper.make_node(op, inputs, [output], domain=domain, **attrs))
        return output

    def normed(x: str, skip: str, name: str) -> str:
        rest = [weight(f"{name}_{part}", SIZE) for part in ("gamma", "beta", "bias")]
        return fused("SkipLayerNormalization", [x, skip, *rest], name, epsilon=1e-12)

    h = "x"
    for i in range(LAYERS):
        packed = [weight(f"w{i}", SIZE, 3 * SIZE), weight(f"b{i}", 3 * SIZE)]
        a = fused("Attention", [h, *packed], f"a{i}", num_heads=HEADS)
        h = normed(fused("MatMul", [a, weight(f"o{i}", SIZE, SIZE)], f"p{i}"), h, f"n{i}")
        u = fused("MatMul", [h, weight(f"u{i}", SIZE, WIDE)], f"m{i}")
        v = fused("BiasGelu", [u, weight(f"c{i}", WIDE)], f"g{i}")
        h = normed(fused("MatMul", [v, weight(f"d{i}", WIDE, SIZE)], f"q{i}"), h, f"h{i}")
    ports = [helper.make_tensor_value_info(n, 1, ["batch", "n", SIZE]) for n in ("x", h)]
    stored = [numpy_helper.from_array(a, n) for n, a in weights.items()]
    graph = helper.make_graph(nodes, "encoder", ports[:1], ports[1:], stored)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def best(call: Callable[[], object]) -> float:
    """Seconds of the quickest of some calls."""
    times = []
    for _ in range(CALLS):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return min(times)


def main() -> None:
    """Measure and print."""
    proto = encoder()
    model = tf.import_onnx(proto)
    session = onnxruntime.InferenceSession(proto.SerializeToString())
    x = np.random.default_rng(1).normal(size=(2, 32, SIZE)).astype(np.float32)
    given = tf.constant(x)
    for _ in range(20):
        model(given)
    ratios = [
        best(lambda: model(given)) / best(lambda: session.run(None, {"x": x}))
        for _ in range(BLOCKS)
    ]
    print(f"imported / plain ONNX Runtime: {statistics.median(ratios):.3f} (promised <= 1.03)")


if __name__ == "__main__":
    main()
