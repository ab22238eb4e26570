"""Record what TensorFlow's quantization gives: ``tensorflow_quantization.npz``.

Run it where TensorFlow is installed, without oneDNN, whose quantizer differs::

    TF_ENABLE_ONEDNN_OPTS=0 python tests/unit/nn_ops/make_tensorflow_quantization.py
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

HERE = Path(__file__).parent
X = (np.random.default_rng(0).normal(size=(8, 3)) * 4).astype(np.float32)
X[0] = [-6, 6, 0]
LOW, HIGH = np.array([-1, -2, 0], np.float32), np.array([1, 0.5, 3], np.float32)
KINDS = {"qint8": tf.int8, "quint8": tf.uint8, "qint16": tf.int16, "quint16": tf.uint16}


def main() -> None:
    """Write the file."""
    cases: list[dict[str, Any]] = []
    arrays: dict[str, Any] = {"x": X, "low": LOW, "high": HIGH}

    def fake(name: str, bounds: Any, **options: Any) -> None:
        given = [tf.constant(v, tf.float32) for v in (X, *bounds)]
        with tf.GradientTape() as tape:
            tape.watch(given)
            y = getattr(tf.quantization, name)(*given, **options)
            weights = tf.reshape(tf.range(tf.size(y), dtype=tf.float32), y.shape)
            loss = tf.reduce_sum(y * weights)
        at = len(cases)
        arrays[f"{at}/y"] = y.numpy()
        for i, gradient in enumerate(tape.gradient(loss, given)):
            arrays[f"{at}/d{i}"] = gradient.numpy()
        shown = [np.asarray(b).tolist() for b in bounds]
        cases.append({"op": name, "bounds": shown, "options": options})

    for (low, high), bits, narrow in itertools.product(
        ((-6, 6), (-3.3, 5.1), (0, 4), (1, 4), (-4, -1)), (2, 8), (False, True)
    ):
        options = {"num_bits": bits, "narrow_range": narrow}
        fake("fake_quant_with_min_max_args", (), min=low, max=high, **options)
        fake("fake_quant_with_min_max_vars", (low, high), **options)
    fake("fake_quant_with_min_max_vars", (0, 0))
    for narrow in (False, True):
        fake("fake_quant_with_min_max_vars_per_channel", (LOW, HIGH), narrow_range=narrow)
    for signed, given, mode, narrow in itertools.product(
        (True, False), (True, False), ("HALF_TO_EVEN", "HALF_UP"), (False, True)
    ):
        options = {"signed_input": signed, "range_given": given, "round_mode": mode}
        fake("quantize_and_dequantize_v2", (-3, 5), narrow_range=narrow, num_bits=5, **options)
    fake("quantize_and_dequantize_v2", (LOW, HIGH), axis=1)
    for kind, mode, bounds, narrow in itertools.product(
        KINDS, ("MIN_COMBINED", "MIN_FIRST", "SCALED"), ((-6.0, 6.0), (0.0, 5.0)), (False, True)
    ):
        integers(cases, arrays, kind, bounds, None, mode=mode, narrow_range=narrow)
    for mode in ("MIN_COMBINED", "SCALED"):
        integers(cases, arrays, "qint8", (LOW, HIGH), 1, mode=mode, narrow_range=False)
    arrays["cases"] = np.array(json.dumps(cases))
    np.savez_compressed(HERE / "tensorflow_quantization.npz", **arrays)


def integers(
    cases: Any, arrays: Any, kind: str, bounds: Any, axis: int | None, **options: Any
) -> None:
    """Record ``quantize`` and ``dequantize``."""
    made = tf.quantization.quantize(X, *bounds, getattr(tf, kind), axis=axis, **options)
    back = tf.quantization.dequantize(*made, axis=axis, **options)
    at = len(cases)
    arrays[f"{at}/y"] = tf.bitcast(made.output, KINDS[kind]).numpy()
    arrays[f"{at}/low"], arrays[f"{at}/high"] = made.output_min.numpy(), made.output_max.numpy()
    arrays[f"{at}/back"] = back.numpy()
    shown = [np.asarray(b).tolist() for b in bounds]
    cases.append(
        {"op": "quantize", "kind": kind, "bounds": shown, "axis": axis, "options": options}
    )


if __name__ == "__main__":
    main()
