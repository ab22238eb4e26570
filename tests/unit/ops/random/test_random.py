"""Random tensors: distributions (against SciPy), dtypes, bounds, seeds."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import scipy.stats

import tfx.ops.common.operator_overloads  # noqa: F401
from tests.unit.ops.graphs import operators, traced
from tests.unit.ops.tracing import run_traced
from tfx.autodiff.tape import GradientTape
from tfx.core.errors import InvalidArgumentError
from tfx.framework.convert import constant
from tfx.graph.ir import CALL
from tfx.ops.array import ranges
from tfx.ops.array.shape import shape
from tfx.ops.random import distributions
from tfx.ops.random import random as module
from tfx.testing import assert_close

FLOATS = [np.float64, np.float32, np.float16, ml_dtypes.bfloat16]
INTEGERS = [np.int32, np.int64, np.uint32, np.uint64]
SEED = [12, 34]
COUNT = 20_000
TRUNCATED = scipy.stats.truncnorm(-2, 2)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("f", "law"),
    [(module.stateless_normal, scipy.stats.norm()),
     (module.stateless_uniform, scipy.stats.uniform()),
     (module.stateless_truncated_normal, TRUNCATED)],
    ids=["normal", "uniform", "truncated"],
)  # fmt: skip
def test_distributions(f, law, dtype):
    x = f([COUNT], SEED, dtype=dtype)
    assert x.dtype == dtype
    numbers = x.numpy().astype(np.float64)
    if dtype in (np.float64, np.float32):
        assert scipy.stats.kstest(numbers, law.cdf).pvalue > 1e-3
    assert abs(numbers.mean() - law.mean()) < 0.03
    assert abs(numbers.std() - law.std()) < 0.03


@pytest.mark.parametrize("dtype", FLOATS)
def test_uniform_numbers_are_below_one(dtype):
    x = module.stateless_uniform([COUNT], SEED, dtype=dtype).numpy()
    assert x.min() >= 0
    assert x.max() < 1


def test_truncated_numbers_are_within_two():
    x = module.stateless_truncated_normal([COUNT], SEED).numpy()
    assert abs(x).max() <= 2


def test_parameters_broadcast_and_have_gradients():
    mean, stddev = constant([[1.0], [5.0]]), constant([0.1, 0.2, 0.3])
    with GradientTape() as tape:
        tape.watch([mean, stddev])
        x = module.stateless_normal([2, 3], SEED, mean, stddev)
    unit = module.stateless_normal([2, 3], SEED)
    assert_close(x, unit.numpy() * stddev.numpy() + mean.numpy())
    grads = tape.gradient(x, [mean, stddev])
    assert_close(grads, [[[3.0], [3.0]], unit.numpy().sum(0)])
    x = module.stateless_uniform([1000], SEED, -2, constant(3.0)).numpy()
    assert -2 <= x.min() < -1.9
    assert 2.9 < x.max() < 3


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_in_a_range(dtype):
    info = np.iinfo(dtype)
    x = module.stateless_uniform([COUNT], SEED, 3, 10, dtype).numpy()
    assert x.dtype == dtype
    counts = np.bincount(x.astype(np.int64), minlength=10)
    assert counts[:3].sum() == 0
    assert scipy.stats.chisquare(counts[3:]).pvalue > 1e-3
    wide = module.stateless_uniform([COUNT], SEED, info.min, info.max, dtype).numpy()
    share = (wide.astype(np.float64) - info.min) / (float(info.max) - info.min)
    assert scipy.stats.kstest(share, "uniform").pvalue > 1e-3


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_of_the_full_range(dtype):
    info = np.iinfo(dtype)
    x = module.stateless_uniform([COUNT], SEED, None, None, dtype).numpy()
    share = (x.astype(np.float64) - info.min) / (float(info.max) - info.min)
    assert x.dtype == dtype
    assert scipy.stats.kstest(share, "uniform").pvalue > 1e-3


def test_bounds_of_integers_broadcast():
    low, high = np.array([0, 100], np.int32), np.array([10, 200], np.int32)
    x = module.stateless_uniform([500, 2], SEED, low, high, "int32").numpy()
    assert (x >= low).all()
    assert (x < high).all()


@pytest.mark.parametrize("size", [[], [0], [1], [3], [2, 0, 3], [2, 3]])
@pytest.mark.parametrize("f", [module.stateless_normal, module.stateless_uniform])
def test_shapes(f, size):
    assert f(size, SEED).shape == size
    assert f(constant(size, "int32"), SEED).shape == size


def test_the_same_numbers_traced():
    def f(like, seed):
        return (
            module.stateless_normal(shape(like), seed),
            module.stateless_uniform([4], seed, 1, 9, "int64"),
            module.stateless_shuffle(like, seed),
        )

    like = np.arange(6.0).reshape(3, 2)
    assert_close(run_traced(f, like, SEED), f(like, SEED))


def test_static_shapes_come_through():
    def dims(f):
        return traced(f, ("batch", 3)).outputs[0].shape

    assert dims(lambda x: module.normal(shape(x))) == ("batch", 3)
    assert dims(lambda x: module.uniform([2, 5])) == (2, 5)
    assert dims(lambda x: module.shuffle(x)) == ("batch", 3)
    assert dims(lambda x: module.categorical(x, 7)) == ("batch", 7)


def test_a_draw_is_one_call_in_a_graph():
    assert operators(lambda x: module.stateless_normal([3], SEED), (1,)) == [CALL]


def test_seeds_matter():
    seeds = ([1, 2], [2, 1], [1, 3], [0, 2])
    draws = [module.stateless_normal([8], seed).numpy() for seed in seeds]
    assert all((a != b).all() for i, a in enumerate(draws) for b in draws[:i])


def test_operations_with_a_seed_of_their_own():
    from tfx.ops.random.generator import set_seed

    set_seed(1)
    first, second = module.normal([4], seed=7).numpy(), module.normal([4], seed=7).numpy()
    other = module.normal([4], seed=8).numpy()
    assert (first != second).all()
    assert (first != other).all()
    set_seed(1)
    module.normal([4])  # has a sequence of its own
    assert (module.normal([4], seed=7).numpy() == first).all()
    set_seed(2)
    assert (module.normal([4], seed=7).numpy() != first).all()


def test_shuffle():
    x = np.arange(20).reshape(10, 2)
    y = module.shuffle(x).numpy()
    assert (np.sort(y, 0) == x).all()
    assert (y[:, 1] - y[:, 0] == 1).all()
    positions = np.array(
        [
            module.stateless_shuffle(np.arange(4), [i, 0]).numpy().tolist().index(0)
            for i in range(400)
        ]
    )
    assert scipy.stats.chisquare(np.bincount(positions, minlength=4)).pvalue > 1e-3
    assert module.shuffle(1.0).numpy() == 1.0


def test_arguments_that_make_no_sense():
    for draw in (module.normal, module.uniform, module.truncated_normal):
        with pytest.raises(InvalidArgumentError, match=r">= 0.*\[2, -1\]"):
            draw([2, -1])
    with pytest.raises(InvalidArgumentError, match="classes"):
        module.categorical(np.zeros([2, 0]), 1)
    with pytest.raises(InvalidArgumentError, match="two integers, not of dtype float32"):
        module.stateless_normal([2], seed=[1.0, 2.0])


def test_categorical():
    chances = np.array([[0.1, 0.2, 0.7], [0.5, 0.0, 0.5]])
    with np.errstate(divide="ignore"):
        logits = np.log(chances)
    x = module.stateless_categorical(logits, COUNT, SEED)
    assert x.dtype == np.int64
    for row, expected in zip(x.numpy(), chances, strict=True):
        counts = np.bincount(row, minlength=3)
        assert (counts[expected == 0] == 0).all()
        assert abs(counts / COUNT - expected).max() < 0.02
    assert module.categorical(logits.astype(np.float16), 2, "int32").dtype == np.int32


def test_split_and_fold_in():
    seeds = module.split(SEED, 4).numpy()
    assert seeds.shape == (4, 2)
    assert len(np.unique(seeds)) == 8
    folded = [module.fold_in(SEED, i).numpy() for i in range(4)]
    assert len(np.unique(folded)) == 8
    assert module.split(constant(SEED, "int64")).dtype == np.int64
    assert_close(run_traced(module.fold_in, SEED, 3), folded[3])


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda: module.uniform([2], dtype="int32"), "Must specify maxval"),
        (lambda: module.uniform([2], 5, 5, "int32"), "Need minval < maxval, got 5 >= 5"),
        (lambda: module.stateless_uniform([2], SEED, None, 5, "int32"), "Must specify minval"),
        (lambda: module.uniform([2], dtype="bool"), "invalid value bool"),
        (lambda: module.normal([2], dtype="int32"), "invalid value int32 in random.normal"),
        (lambda: module.truncated_normal([2], dtype="int8"), "invalid value int8"),
        (lambda: module.normal([2, None]), "dimension of None"),
        (lambda: module.stateless_normal([2], [1, 2, 3]), r"seed must have shape \[2\]"),
        (lambda: module.categorical([0.0, 1.0], 2), "should be a matrix"),
        (lambda: module.categorical([[0.0]], 2, "float32"), "invalid value float32"),
    ],
)
def test_errors(f, message):
    with pytest.raises((InvalidArgumentError, ValueError), match=message):
        f()


@pytest.mark.parametrize("span", [2**63 - 1, 2**40, 3])
def test_numpy_puts_keys_in_the_order_of_the_operator(span):
    keys = np.random.default_rng(0).integers(-span, span, 5000)
    (found,) = distributions._order_by_numpy(keys, np.array([5000]))
    np.testing.assert_array_equal(found, np.argsort(~keys, kind="stable"))


def test_many_rows_are_shuffled_alike_eagerly_in_plans_and_in_loops():
    def order(count):
        return module.stateless_shuffle(ranges.range(count), [1, 2])

    eager = order(5000).numpy()
    np.testing.assert_array_equal(run_traced(lambda: order(5000)), eager)
    np.testing.assert_array_equal(run_traced(order, constant(5000)), eager)
    np.testing.assert_array_equal(np.sort(eager), np.arange(5000))
