"""A kept binding gives what the plain call gives, and never touches results that it gave."""

from __future__ import annotations

import threading
import weakref

import numpy as np
import pytest

import tfx as tf
from tfx.runtime.kept_binding import KeptRunner, serves
from tfx.runtime.options import RUN_OPTIONS


def _sum_of(count: int):
    """A sum in which each tensor has another weight, so that none passes for another."""
    function = tf.function(lambda tensors: tf.add_n([x * (i + 1.0) for i, x in enumerate(tensors)]))
    tensors = [tf.constant(np.full((2, 3), i, np.float32)) for i in range(count)]
    function(tensors)
    plan = function.get_concrete_function(tensors)._program.plan
    return function, plan, tensors


@pytest.mark.parametrize(
    ("sizes", "outputs", "model", "expected"),
    [
        ([4] * 8, 1, 100, True),
        ([4] * 8, 2, 100, True),
        ([4] * 8, 3, 100, False),
        ([4] * 8, 0, 100, False),
        ([4] * 7, 1, 100, False),
        ([4] * 7 + [None], 1, 100, False),
        ([1 << 16] * 8, 1, 1 << 19, True),
        ([1 << 16] * 8, 1, (1 << 19) + 1, False),
    ],
)
def test_it_serves_many_small_inputs(sizes, outputs, model, expected) -> None:
    assert serves(sizes, outputs, model) is expected


def _runner(plan) -> KeptRunner:
    handle = plan.session._inference._sess
    return KeptRunner(handle, lambda *_: "plainly", plan.input_names, plan.output_names)


def _is_kept(plan) -> bool:
    return isinstance(getattr(plan.run_raw, "plain", plan.run_raw), KeptRunner)  # below any layers


def _feeds(plan, tensors):
    return dict(zip(plan.input_names, [t._raw for t in tensors], strict=True))


def test_plans_have_one_where_it_serves() -> None:
    assert not _is_kept(_sum_of(7)[1])
    assert _is_kept(_sum_of(8)[1])
    tensors = [tf.zeros([200, 200]) for _ in range(8)]
    large = tf.function(lambda tensors: tf.add_n(tensors))
    large(tensors)
    assert not _is_kept(large.get_concrete_function(tensors)._program.plan)


def test_any_sequence_of_changes_gives_the_right_sums() -> None:
    function, _, tensors = _sum_of(9)
    rng = np.random.default_rng(0)
    results, sums = [], []
    for turn in range(120):
        change = [0, 1, 3, 9][turn // 4 % 4]
        for i in rng.permutation(9)[:change]:
            tensors[i] = tf.constant(rng.integers(0, 9, (2, 3)).astype(np.float32))
        results.append(function(tensors))
        sums.append(sum((i + 1) * t.numpy() for i, t in enumerate(tensors)))
    for result, expected in zip(results, sums, strict=True):  # none was written again
        np.testing.assert_array_equal(result.numpy(), expected)


def test_inputs_that_all_change_go_another_way_for_a_while() -> None:
    _, plan, tensors = _sum_of(8)
    runner, names = _runner(plan), plan.output_names
    first = _feeds(plan, tensors)
    assert runner(first, names, RUN_OPTIONS) != "plainly"  # all are new
    assert runner(first, names, RUN_OPTIONS) != "plainly"  # all are the same
    others = _feeds(plan, [tf.ones([2, 3]) for _ in tensors])
    assert [runner(others, names, RUN_OPTIONS) for _ in range(15)] == ["plainly"] * 15
    (result,) = runner(others, names, RUN_OPTIONS)
    np.testing.assert_array_equal(result.numpy(), np.full((2, 3), 36))


def test_a_second_thread_is_sent_another_way() -> None:
    _, plan, tensors = _sum_of(8)
    runner, feeds, names = _runner(plan), _feeds(plan, tensors), plan.output_names
    with runner._lock:
        assert runner(feeds, names, RUN_OPTIONS) == "plainly"
    assert runner(feeds, names, RUN_OPTIONS) != "plainly"


def test_two_outputs_are_the_callers_own() -> None:
    function = tf.function(lambda x: (tf.add_n(x), x[0] - x[7]))
    results = []
    for n in range(5):
        tensors = [tf.constant([float(i * n)]) for i in range(8)]
        for _ in range(20):
            results.append((n, function(tensors)))
    for n, (total, difference) in results:
        assert [float(total[0]), float(difference[0])] == [28.0 * n, -7.0 * n]


def test_what_a_call_took_is_let_go_by_the_next() -> None:
    function, _, tensors = _sum_of(8)
    function(tensors)
    alive = weakref.ref(tensors[3])
    tensors[3] = tf.zeros([2, 3])
    function(tensors)
    assert alive() is None


def test_options_of_a_call_reach_it() -> None:
    function, _, tensors = _sum_of(8)
    before = function(tensors).numpy()
    options = tf.RunOptions(timeout_in_ms=60_000)
    np.testing.assert_array_equal(function.with_options(options)(tensors), before)
    np.testing.assert_array_equal(function(tensors), before)


def test_threads_get_their_own_results() -> None:
    function, _, _ = _sum_of(8)
    wrong: list[int] = []

    def work(number: int) -> None:
        tensors = [tf.constant(np.full((2, 3), number, np.float32)) for _ in range(8)]
        for _ in range(200):
            if not (function(tensors).numpy() == 36 * number).all():
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_failed_run_leaves_it_usable() -> None:
    function = tf.function(
        lambda given: tf.gather(given["table"], given["index"]) + given["add"][0]
    )
    table, add = tf.constant([1.0, 2.0]), [tf.constant(1.0) for _ in range(6)]
    good = {"table": table, "index": tf.constant([1]), "add": add}
    bad = {**good, "index": tf.constant([7])}
    for _ in range(3):
        assert function(good).numpy() == [3.0]
        with pytest.raises(tf.errors.InvalidArgumentError):
            function(bad)
