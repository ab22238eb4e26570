"""Gradients of operators that only models have, against PyTorch 2.13 (numbers computed beforehand).

Inputs are waves, ``sin(k + 0.7 i)``, and so are the weights that results are summed with. Of each
gradient two numbers are compared: its sum weighted by a wave, and its sum of squares.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tfx as tf
from tfx import raw

Numbers = list[tuple[float, float]]


def _wave(shape: Sequence[int], k: int) -> np.ndarray:
    return np.sin(k + 0.7 * np.arange(np.prod(shape, dtype=int))).reshape(shape)


def _check(
    f: Callable[..., Any], inputs: Sequence[Any], expected: Numbers, rtol: float = 1e-9
) -> None:
    xs = [tf.constant(x) for x in inputs]
    with tf.GradientTape() as tape:
        tape.watch(xs)
        y = f(*xs)
        loss = tf.reduce_sum(y * tf.constant(_wave(y.shape, 9), y.dtype))
    for gradient, (weighted, square) in zip(tape.gradient(loss, xs), expected, strict=True):
        g = gradient.numpy().astype(np.float64)
        assert (g * _wave(g.shape, 5)).sum() == pytest.approx(weighted, rel=rtol, abs=rtol)
        assert (g**2).sum() == pytest.approx(square, rel=rtol, abs=rtol)


MEAN, VARIANCE = _wave((3,), 6), _wave((3,), 7) ** 2 + 0.5
NORMS: dict[str, tuple[Any, list[tuple[tuple[int, ...], int]], Numbers]] = {
    "batch_training": (
        lambda x, s, b: raw.BatchNormalization(
            x, s, b, np.zeros(3), np.ones(3), training_mode=1, n_outputs=3
        )[0],
        [((4, 3, 5), 1), ((3,), 2), ((3,), 3)],
        [
            (-11.132412507525034, 20.351811046216792),
            (1.9916354724640586, 9.104238402080831),
            (0.4486116199795452, 20.779810683472768),
        ],
    ),
    "batch_inference": (
        lambda x, s, b: raw.BatchNormalization(x, s, b, MEAN, VARIANCE),
        [((4, 3, 5), 1), ((3,), 2), ((3,), 3)],
        [
            (-7.078382310230715, 10.483421330053979),
            (3.0369254548771107, 8.409569920732116),
            (0.4486116199795452, 20.779810683472768),
        ],
    ),
    "layer": (
        raw.LayerNormalization,
        [((4, 3, 5), 1), ((5,), 2), ((5,), 3)],
        [
            (4.188615200694612, 9.112434790403228),
            (16.589308427844085, 105.61328610639004),
            (-0.6705037480826567, 1.625375324188075),
        ],
    ),
    "group": (
        lambda x, s, b: raw.GroupNormalization(x, s, b, num_groups=2),
        [((2, 4, 5), 1), ((4,), 2), ((4,), 3)],
        [
            (-1.145656594407365, 16.14034178565238),
            (0.2625554083812225, 5.412152037600617),
            (2.8207815087429324, 44.06201322463389),
        ],
    ),
    "instance": (
        raw.InstanceNormalization,
        [((2, 4, 5), 1), ((4,), 2), ((4,), 3)],
        [
            (2.8655482807599615, 19.403777201347147),
            (1.1132262839561209, 6.955762909562707),
            (2.8207815087429324, 44.06201322463389),
        ],
    ),
    "rms": (
        raw.RMSNormalization,
        [((4, 3, 5), 1), ((5,), 2)],
        [(6.169084524076697, 26.184296045911417), (2.08395505581506, 12.819083182614394)],
    ),
    "local_response": (
        lambda x: raw.LRN(x, size=3, alpha=0.5, beta=0.75, bias=2.0),
        [((2, 5, 3, 2), 1)],
        [(-10.861456647804072, 8.785126154124088)],
    ),
    "unit_length": (
        lambda x: raw.LpNormalization(x, axis=1, p=2),
        [((4, 5), 1)],
        [(-4.2341472273005225, 3.3882096525647127)],
    ),
}


@pytest.mark.parametrize("name", NORMS)
def test_norms(name: str) -> None:
    f, shapes, expected = NORMS[name]
    # LRN and InstanceNormalization have float32 kernels alone; the attributes are float32.
    rtol = 1e-5 if name in ("local_response", "instance") else 1e-7
    _check(f, [_wave(s, k) for s, k in shapes], expected, rtol)


ATTENTION: dict[str, tuple[dict[str, Any], list[tuple[tuple[int, ...], int]], Numbers]] = {
    "plain": (
        {},
        [((2, 3, 4, 5), 1), ((2, 3, 6, 5), 2), ((2, 3, 6, 7), 3)],
        [
            (-2.30727168524249, 5.431247315327472),
            (-0.3324926151107428, 7.785465467123822),
            (-1.0209114253954268, 2.9245630882104106),
        ],
    ),
    "causal": (
        {"is_causal": 1},
        [((2, 3, 4, 5), 1), ((2, 3, 4, 5), 2), ((2, 3, 4, 7), 3)],
        [
            (-9.299324882834698, 10.202691312219573),
            (1.6434918109897116, 18.948716329152234),
            (-31.295963545420946, 16.014995637329775),
        ],
    ),
    "grouped_with_mask": (
        {},
        [((2, 4, 4, 5), 1), ((2, 2, 6, 5), 2), ((2, 2, 6, 7), 3), ((4, 6), 4)],
        [
            (-0.6411574565401169, 7.345822950978959),
            (-0.29102355995806284, 9.058514729034844),
            (-0.06083233613982686, 22.26539959248757),
            (-1.694981510845626, 16.41445938695543),
        ],
    ),
}


@pytest.mark.parametrize("name", ATTENTION)
def test_attention(name: str) -> None:
    attrs, shapes, expected = ATTENTION[name]
    inputs = [_wave(s, k) for s, k in shapes]
    _check(lambda *xs: raw.Attention(*xs, **attrs), inputs, expected)


TARGETS = np.array([[0, 2, 1], [2, -100, 0]])
WEIGHTS = np.array([0.3, 1.0, 2.0])


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (
            lambda x: raw.SoftmaxCrossEntropyLoss(x, TARGETS, WEIGHTS, ignore_index=-100),
            (-0.13165862606724296, 0.05933098903319587),
        ),
        (
            lambda x: raw.SoftmaxCrossEntropyLoss(
                x, TARGETS, None, ignore_index=-100, reduction="none"
            ),
            (1.624609581874949, 2.2018223427879695),
        ),
        (
            lambda x: raw.NegativeLogLikelihoodLoss(
                x, TARGETS, WEIGHTS, ignore_index=-100, reduction="sum"
            ),
            (-0.02004652245036881, 1.5591463091596722),
        ),
    ],
    ids=["cross_entropy", "cross_entropy_of_each", "likelihood"],
)
def test_losses(f: Any, expected: tuple[float, float]) -> None:
    _check(f, [_wave((2, 3, 3), 1)], [expected], rtol=1e-6)


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (lambda x: raw.Mish(x * 3.0), (-2.37803514799003, 13.559526215923201)),
        (lambda x: raw.HardSwish(x * 4.0), (-2.258643825853957, 31.05912969884463)),
        (
            lambda x: raw.HardSigmoid(x * 4.0, alpha=1 / 6),
            (-1.0093303104526843, 0.9579594156931344),
        ),
        (lambda x: raw.Shrink(x, lambd=0.3, bias=0.3), (-0.955523111990165, 1.7649188309651906)),
        (
            lambda x: tf.cast(raw.Celu(tf.cast(x * 3.0, tf.float32), alpha=1.5), tf.float64),
            (-3.7669733312296447, 17.730547444369897),
        ),
    ],
    ids=["mish", "hard_swish", "hard_sigmoid", "soft_shrink", "celu"],
)
def test_activations(f: Any, expected: tuple[float, float]) -> None:
    _check(f, [_wave((7,), 1)], [expected], rtol=1e-6)


def test_prelu() -> None:
    _check(
        lambda x, s: raw.PRelu(x, tf.reshape(s, [3, 1])),
        [_wave((2, 3, 4), 1), _wave((3,), 2)],
        [(-5.874509029410092, 8.58467348378623), (0.518171164520107, 0.7716514529183368)],
    )


@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        (
            lambda x: raw.LpPool(x, kernel_shape=[3], strides=[2], p=3),
            np.abs(_wave((2, 3, 8), 1)) + 0.1,
            (-0.510415219018403, 9.61369261695051),
        ),
        (raw.GlobalMaxPool, _wave((2, 3, 4, 5), 1), (1.0697196865670782, 2.40350263485068)),
        (
            lambda x: raw.DepthToSpace(x, blocksize=2, mode="CRD"),
            _wave((1, 8, 2, 3), 1),
            (1.1765771237804907, 23.488841712213514),
        ),
    ],
    ids=["lp_pool", "global_max", "depth_to_space"],
)
def test_windows(f: Any, x: np.ndarray, expected: tuple[float, float]) -> None:
    _check(f, [x], [expected], rtol=1e-6)
