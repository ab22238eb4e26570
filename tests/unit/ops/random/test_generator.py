"""Generators: their state, and the global one that functions share."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import tfx.ops.common.operator_overloads  # noqa: F401
from tfx.framework.convert import constant
from tfx.framework.variable import Variable
from tfx.function.tracing.function import function
from tfx.ops.random import generator as module
from tfx.ops.random import random
from tfx.ops.random.generator import Generator
from tfx.testing import assert_close


def test_the_same_seed_gives_the_same_numbers():
    a, b = Generator.from_seed(5), Generator.from_seed(5)
    for _ in range(3):
        assert_close(a.normal([4]), b.normal([4]))
    first = Generator.from_seed(5).normal([4]).numpy()
    assert (a.normal([4]).numpy() != first).all()
    a.reset_from_seed(5)
    assert_close(a.normal([4]), first)


@pytest.mark.parametrize("seed", [0, 1, -1, 2**63, [3], [1, 2, 3], np.int32(4)])
def test_seeds(seed):
    g = Generator.from_seed(seed)
    assert g.state.shape == [3]
    assert not g.state.trainable
    assert g.uniform([2]).shape == [2]


def test_the_state_is_a_variable():
    g = Generator.from_key_counter(7, [3, 0], "philox")
    assert_close(g.state.value(), [3, 0, 7])
    assert_close(g.key, 7)
    assert g.algorithm == 1
    assert isinstance(g.state, Variable)
    assert g.variables == (g.state,)
    g.uniform([2])
    assert_close(g.state.value(), [4, 0, 7])
    assert_close(g.skip(10), [14, 0, 7])
    g.reset_from_key_counter(1, [2, 0])
    assert_close(g.state.value(), [2, 0, 1])
    g.reset([5, 6, 7])
    assert_close(g.state.value(), [5, 6, 7])


def test_copies_continue_alike():
    g = Generator.from_non_deterministic_state()
    g.normal([2])
    other = Generator(copy_from=g)
    same = Generator.from_state(g.state, "philox")
    expected = g.normal([4])
    assert_close(other.normal([4]), expected)
    assert_close(same.normal([4]), expected)
    assert other.state is not g.state


def test_non_deterministic_states_differ():
    a, b = (Generator.from_non_deterministic_state().key.numpy() for _ in range(2))
    assert a != b


def test_distributions_of_a_generator():
    g = Generator.from_seed(1)
    assert abs(g.normal([5000], 2.0, 0.5).numpy().mean() - 2.0) < 0.05
    assert abs(g.truncated_normal([5000]).numpy()).max() <= 2.0
    x = g.uniform([100], 3, 6, "int32").numpy()
    assert set(x.tolist()) == {3, 4, 5}
    assert g.uniform_full_int([3]).dtype == np.uint64
    with pytest.raises(ValueError, match="integers"):
        g.uniform_full_int([3], "float32")


def test_split_and_seeds():
    g = Generator.from_seed(1)
    children = g.split(3)
    draws = [c.normal([4]).numpy() for c in (g, *children)]
    assert all((a != b).all() for i, a in enumerate(draws) for b in draws[:i])
    seeds = g.make_seeds(4)
    assert seeds.shape == [2, 4]
    assert_close(seeds[1], [0, 0, 0, 0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({}, "must be given"), ({"state": [1, 2, 3], "alg": "threefry"}, "Unsupported RNG"),
     ({"state": [1, 2], "alg": "philox"}, r"shape \[3\]")],
)  # fmt: skip
def test_construction_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        Generator(**arguments)
    with pytest.raises(ValueError, match="copy_from"):
        Generator(Generator.from_seed(1), alg="philox")
    with pytest.raises(ValueError, match="at most 3"):
        Generator.from_seed([1, 2, 3, 4])


def test_deep_copies_have_a_state_of_their_own():
    g = Generator.from_seed(3)
    other = copy.deepcopy(g)
    expected = g.normal([2])
    assert_close(other.normal([2]), expected)


def test_functions_draw_anew_at_each_call():
    g = Generator.from_seed(9)

    @function
    def draw():
        return g.normal([3]), random.uniform([3])

    module.set_seed(4)
    first, second = draw(), draw()
    assert (first[0].numpy() != second[0].numpy()).all()
    assert (first[1].numpy() != second[1].numpy()).all()
    module.set_seed(4)
    g.reset_from_seed(9)
    assert_close(draw(), first)


def test_several_draws_of_one_function_differ():
    @function
    def draw():
        return random.normal([3]), random.normal([3])

    a, b = draw()
    assert (a.numpy() != b.numpy()).all()


def test_the_global_generator():
    before = module.get_global_generator()
    try:
        own = Generator.from_seed(2)
        module.set_global_generator(own)
        assert module.get_global_generator() is own
        # Operations do not draw from it, nor does set_seed touch it.
        random.normal([2])
        module.set_seed(3)
        assert_close(module.get_global_generator().normal([2]), Generator.from_seed(2).normal([2]))
    finally:
        module.set_global_generator(before)
    with pytest.raises(TypeError, match="takes a Generator"):
        module.set_global_generator(5)  # type: ignore[arg-type]


def test_set_seed_starts_again():
    module.set_seed(8)
    first = [random.normal([2]).numpy(), random.uniform([2]).numpy()]
    module.set_seed(8)
    assert_close([random.normal([2]), random.uniform([2])], first)
    module.set_seed(9)
    assert (random.normal([2]).numpy() != first[0]).all()


def test_a_seed_must_be_known():
    @function
    def draw(seed):
        return random.normal([2], seed=seed)

    with pytest.raises(ValueError, match="Python integer"):
        draw(constant(3))
