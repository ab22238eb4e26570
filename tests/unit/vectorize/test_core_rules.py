"""Every core batching rule against the operator applied to one element after another."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tests.unit.vectorize.core_cases import CASES, Case
from tfx.framework.rules import status_of as gradient_status_of
from tfx.graph import schema
from tfx.graph.traits import traits
from tfx.ops.common import batching as rules

SIZE = 3
# Their cases are in the other files of this folder, and in tests/ops.
ELSEWHERE = frozenset(
    [
        "AffineGrid",
        "Attention",
        "AveragePool",
        "BatchNormalization",
        "CenterCropPad",
        "Col2Im",
        "ConcatFromSequence",
        "Conv",
        "ConvTranspose",
        "DFT",
        "DeformConv",
        "GRU",
        "GlobalAveragePool",
        "GlobalLpPool",
        "GlobalMaxPool",
        "GridSample",
        "GroupNormalization",
        "InstanceNormalization",
        "LRN",
        "LSTM",
        "LayerNormalization",
        "LpPool",
        "MaxPool",
        "MaxRoiPool",
        "MaxUnpool",
        "MeanVarianceNormalization",
        "NegativeLogLikelihoodLoss",
        "Optional",
        "OptionalGetElement",
        "RMSNormalization",
        "RNN",
        "Resize",
        "RoiAlign",
        "RotaryEmbedding",
        "STFT",
        "SequenceAt",
        "SequenceConstruct",
        "SequenceErase",
        "SequenceInsert",
        "SoftmaxCrossEntropyLoss",
        "SplitToSequence",
        "TensorScatter",
    ]
)
RANDOM = frozenset(
    (
        *("Bernoulli", "Dropout", "Multinomial", "RandomNormal", "RandomNormalLike"),
        *("RandomUniform", "RandomUniformLike"),
    )
)


def _ids() -> list[str]:
    seen: dict[str, int] = {}
    ids = []
    for case in CASES:
        seen[case.op] = seen.get(case.op, 0) + 1
        ids.append(f"{case.op}-{seen[case.op]}")
    return ids


def _combinations(case: Case) -> list[tuple[int, ...]]:
    free = [i for i, m in enumerate(case.inputs) if m is not None and i not in case.fixed]
    return [c for k in range(1, len(free) + 1) for c in itertools.combinations(free, k)]


def _apply(case: Case, inputs: list[Any]) -> list[Any]:
    result = getattr(tf.raw, case.op)(*inputs, **case.attrs)
    return list(result)[: case.outputs] if isinstance(result, list | tuple) else [result]


def _expected(
    case: Case, inputs: list[Any], batched: tuple[int, ...]
) -> list[np.ndarray[Any, Any]]:
    rows = []
    for n in range(SIZE):
        given = [x[n] if i in batched else x for i, x in enumerate(inputs)]
        rows.append([np.asarray(y.numpy()) for y in _apply(case, given)])
    return [np.stack(column) for column in zip(*rows, strict=True)]


def _check(case: Case, batched: tuple[int, ...], seed: int, *, traced: bool = False) -> None:
    rng = np.random.default_rng(seed)
    inputs: list[Any] = []
    for i, make in enumerate(case.inputs):
        if make is None:
            inputs.append(None)
        elif i in batched:
            inputs.append(tf.constant(np.stack([make(rng) for _ in range(SIZE)])))
        else:
            inputs.append(tf.constant(make(rng)))

    def one(parts: list[Any]) -> list[Any]:
        slices = iter(parts)
        return _apply(case, [next(slices) if i in batched else x for i, x in enumerate(inputs)])

    loops = any(i in case.loops for i in batched)

    def run(*rows: Any) -> Any:
        return tf.vectorized_map(one, list(rows), fallback_to_while_loop=loops, warn=False)

    rows = [inputs[i] for i in batched]
    if traced:
        specs = [tf.TensorSpec([None, *x.shape[1:]], x.dtype) for x in rows]
        found = tf.function(run, input_signature=specs)(*rows)
    else:
        found = run(*rows)
    for y, wanted in zip(found, _expected(case, inputs, batched), strict=True):
        assert y.shape == wanted.shape
        if wanted.dtype.kind == "f":
            np.testing.assert_allclose(y.numpy(), wanted, rtol=1e-5, atol=1e-5)
        else:
            np.testing.assert_array_equal(y.numpy(), wanted)


@pytest.mark.parametrize("number", range(len(CASES)), ids=_ids())
def test_rule_is_the_operator_on_each_element(number: int) -> None:
    case = CASES[number]
    for k, batched in enumerate(_combinations(case)):
        _check(case, batched, 100 * number + k)


@pytest.mark.parametrize("number", range(0, len(CASES), 2), ids=_ids()[::2])
def test_rule_in_a_trace_with_an_unknown_number_of_elements(number: int) -> None:
    case = CASES[number]
    _check(case, _combinations(case)[-1], 7000 + number, traced=True)


def test_every_core_rule_has_a_case() -> None:
    core = set(rules.operators()) - ELSEWHERE
    assert core == {case.op for case in CASES} | RANDOM


def test_how_each_operator_is_batched_can_be_told() -> None:
    told = {op: rules.status_of(op) for op in schema.operator_names()}
    assert set(told.values()) <= {"body", "formula", "loop", "rule", "shape"}
    assert told["Shape"] == "shape"
    assert told["Loop"] == "body"
    assert told["Add"] == "rule"
    loops = {op for op, status in told.items() if status == "loop"}
    assert "Unique" in loops
    # Quantized arithmetic has gradients by estimates, and stays rare in what is batched.
    ruled = {op for op in loops if gradient_status_of(op) == "rule"}
    assert not {op for op in ruled if not traits(op).quantized}


def test_an_operator_has_one_rule() -> None:
    with pytest.raises(ValueError, match="Add already has a batching rule"):
        rules.batching("Add")(lambda op: op.full(0))


def test_numbers_of_onnx_random_operators_differ_between_elements() -> None:
    x = tf.zeros([4, 2])
    p = tf.fill([4, 1, 3], 1.0)
    drawn = {
        "normal": tf.vectorized_map(lambda _: tf.raw.RandomNormal(shape=[64]), x),
        "uniform": tf.vectorized_map(lambda _: tf.raw.RandomUniform(shape=[64]), x),
        "like": tf.vectorized_map(lambda _: tf.raw.RandomNormalLike(tf.zeros([64])), x),
        "of element": tf.vectorized_map(lambda r: tf.raw.RandomUniformLike(tf.tile(r, [32])), x),
        "coins": tf.vectorized_map(lambda _: tf.raw.Bernoulli(tf.fill([64], 0.5)), x),
        "classes": tf.vectorized_map(lambda r: tf.raw.Multinomial(r, sample_size=64)[0], p),
    }
    for name, y in drawn.items():
        assert y.shape == (4, 64), name
        rows = {tuple(row) for row in y.numpy().tolist()}
        assert len(rows) == 4, name


def test_dropout_drops_others_of_each_element() -> None:
    x = tf.ones([4, 64])
    y = tf.vectorized_map(lambda r: tf.raw.Dropout(r, 0.5, True), x).numpy()
    assert set(np.unique(y)) == {0.0, 2.0}
    assert len({tuple(row) for row in y.tolist()}) == 4
