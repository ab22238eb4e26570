"""Operators of ``ai.onnx.ml``: written out, they give what the runtime's own kernels give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto

import tfx as tf
from tests.unit.importing.samples import (
    FLOAT,
    INT64,
    constant,
    make,
    node,
    numbers,
    run_stock,
    value,
)

X = numbers(5, 3)
W = numbers(2, 3, seed=1).reshape(-1).tolist()
CASES: list[tuple[str, dict[str, Any], list[Any], dict[str, int]]] = [
    ("Scaler", {"offset": [1.0, 2.0, 3.0], "scale": [2.0] * 3}, [], {"y": FLOAT}),
    ("Scaler", {"offset": [1.0], "scale": [2.0]}, [], {"y": FLOAT}),
    ("Normalizer", {"norm": "L1"}, [], {"y": FLOAT}),
    ("Normalizer", {"norm": "L2"}, [], {"y": FLOAT}),
    ("Binarizer", {"threshold": 0.2}, [], {"y": FLOAT}),
    ("ArrayFeatureExtractor", {}, [np.array([2, 0, 2])], {"y": FLOAT}),
    ("LinearRegressor", {"coefficients": W, "intercepts": [0.5, -1.0], "targets": 2}, [],
     {"y": FLOAT}),
    ("LinearRegressor", {"coefficients": W[:3]}, [], {"y": FLOAT}),
    ("LinearClassifier",
     {"coefficients": W, "intercepts": [0.1, 0.2], "classlabels_ints": [7, 9],
      "post_transform": "SOFTMAX"}, [], {"y": INT64, "z": FLOAT}),
    ("LinearClassifier",
     {"coefficients": W, "intercepts": [0.1, 0.2], "classlabels_strings": [b"no", b"yes"],
      "post_transform": "LOGISTIC"}, [], {"y": TensorProto.STRING, "z": FLOAT}),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[f"{i}-{c[0]}" for i, c in enumerate(CASES)])
def test_written_out_they_give_what_the_runtime_gives(case: Any) -> None:
    op, attrs, stored, outputs = case
    names = [f"c{i}" for i in range(len(stored))]
    proto = make(
        [node(op, ["x", *names], [*outputs], domain="ai.onnx.ml", **attrs)],
        [value("x", ["n", 3])],
        [value(n, None, dtype) for n, dtype in outputs.items()],
        [constant(n, a) for n, a in zip(names, stored, strict=True)],
        domains=("ai.onnx.ml",),
    )
    found = tf.import_onnx(proto)(X)
    found = list(found.values()) if isinstance(found, dict) else [found]
    for tensor, right in zip(found, run_stock(proto, {"x": X}), strict=True):
        if right.dtype == object:
            assert [s.decode() for s in tensor.numpy()] == right.tolist()
        else:
            np.testing.assert_allclose(tensor, right, rtol=1e-5, atol=1e-6)


def test_others_are_refused_by_name() -> None:
    for op, attrs, words in (
        ("Normalizer", {"norm": "MAX"}, "Normalizer by MAX"),
        ("LinearRegressor", {"coefficients": W[:3], "post_transform": "PROBIT"}, "'PROBIT'"),
        ("LinearClassifier", {"coefficients": W[:3], "classlabels_ints": [0, 1],
                              "intercepts": [0.0]}, "1 rows of coefficients for 2 labels"),
        ("ZipMap", {}, "ai.onnx.ml::ZipMap"),
    ):  # fmt: skip
        proto = make(
            [node(op, ["x"], ["y"], domain="ai.onnx.ml", **attrs)], domains=("ai.onnx.ml",)
        )
        with pytest.raises(tf.errors.UnimplementedError, match=words):
            tf.import_onnx(proto)
