"""Operations on types of the user's own, and functions that are replaced for them."""

from __future__ import annotations

import functools
import itertools
import operator
import pickle
import subprocess
import sys
import textwrap
import threading
import time
from typing import Any

import pytest

import tfx as tf
from tests import source_tree
from tfx.core import first_use
from tfx.framework.function_wrappers import plain_of
from tfx.ragged_ops import handlers as ragged_handlers
from tfx.sparse_ops import handlers as sparse_handlers

PROGRAM = """
    from typing import Union

    import tfx as tf

    class Masked(tf.experimental.ExtensionType):
        values: tf.Tensor
        mask: tf.Tensor

    def plain(m):
        return m.values.numpy().tolist(), m.mask.numpy().tolist()

    a = Masked([1, -2, 3], [True, True, False])
    b = Masked([10, 20, 30], [True, False, True])

    @tf.experimental.dispatch_for_unary_elementwise_apis(Masked)
    def unary(api, x):
        return Masked(api(x.values), x.mask)

    @tf.experimental.dispatch_for_binary_elementwise_apis(Masked, Union[Masked, int])
    def binary(api, x, y):
        y = y if isinstance(y, Masked) else Masked(y, True)
        return Masked(api(x.values, y.values), x.mask & y.mask)

    @tf.experimental.dispatch_for_api(tf.stack)
    def stack(values: list[Masked], axis=0):
        return Masked(
            tf.stack([v.values for v in values], axis), tf.stack([v.mask for v in values], axis)
        )

    @tf.experimental.dispatch_for_api(tf.shape, {"input": Masked})
    def shape(input, out_type=tf.int32, name=None):
        return tf.shape(input.values, out_type=out_type)

    @tf.experimental.dispatch_for_binary_elementwise_assert_apis(Masked, Masked)
    def check(api, x, y):
        api(x.values, y.values)

    assert plain(tf.abs(a)) == plain(tf.math.abs(a)) == ([1, 2, 3], [True, True, False])
    assert plain(tf.cast(a, tf.float32)) == ([1.0, -2.0, 3.0], [True, True, False])
    assert plain(tf.ones_like(a, dtype=tf.int64)) == ([1, 1, 1], [True, True, False])
    assert int(tf.abs(-3)) == 3
    assert plain(tf.add(a, b)) == ([11, 18, 33], [True, False, False])
    assert plain(tf.math.multiply(a, 2)) == ([2, -4, 6], [True, True, False])
    assert int(tf.add(1, 2)) == 3
    assert plain(tf.stack([a, b]))[0] == [[1, -2, 3], [10, 20, 30]]
    assert tf.stack([1, 2]).numpy().tolist() == [1, 2]
    assert tf.shape(a).numpy().tolist() == [3]
    f = tf.function(lambda x, y: tf.abs(tf.add(x, y)))
    named = tf.function(lambda x: tf.nn.relu(tf.abs(x, name="size")))
    operations = named.get_concrete_function(tf.TensorSpec([])).graph.get_operations()
    names = [op.name for op in operations]
    assert "size" in names and "Relu" in names, names
    assert plain(f(a, b)) == ([11, 18, 33], [True, False, False])
    tf.debugging.assert_less(a, b)
    try:
        tf.debugging.assert_less(b, a)
    except tf.errors.InvalidArgumentError:
        pass
    else:
        raise AssertionError
    tf.experimental.unregister_dispatch_for(shape)
    for call in (
        lambda: tf.shape(a),
        lambda: tf.experimental.unregister_dispatch_for(shape),
        lambda: tf.experimental.dispatch_for_api(len),
        lambda: tf.experimental.dispatch_for_api(tf.abs, {"zz": Masked})(print),
    ):
        try:
            call()
        except (TypeError, ValueError):
            continue
        raise AssertionError
    print("done")
"""


def test_dispatch() -> None:
    command = [sys.executable, "-c", textwrap.dedent(PROGRAM)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert result.stdout.strip() == "done", result.stderr


def test_functions_handed_to_operations_that_look_for_ragged_tensors_are_converted():
    tf.ragged.constant([[1.0], []])  # from here on they look

    def positive_part(q):
        if q > 0.0:
            return q
        return q * 0.0

    @tf.function
    def mapped(v):
        return tf.map_fn(positive_part, v), tf.nest.map_structure(positive_part, v[0])

    found, first = mapped(tf.constant([1.5, -2.0]))
    assert found.numpy().tolist() == [1.5, 0.0]
    assert float(first) == 1.5


# What programs do that has functions replaced, and what all of it gives in any order.
STEPS = {
    "ragged": "ragged = tf.ragged.constant([[-1.0, 2.0], [], [3.0]])",
    "sparse": "sparse = tf.SparseTensor([[0], [2]], [-1.0, 2.0], [3])",
    "dispatch": """
@tf.experimental.dispatch_for_unary_elementwise_apis(Metres)
def of_metres(api, x):
    return Metres(api(x.length))
""",
}
ANY_ORDER = """
import pickle

import tfx as tf
from tfx.framework.function_wrappers import plain_of
from tfx.ops.math.elementwise import abs as plain

class Metres(tf.experimental.ExtensionType):
    length: tf.Tensor

{steps}
for public in (tf.abs, tf.math.abs, tf.compat.v1.abs):
    assert public is tf.abs
    assert public(ragged).to_list() == [[1.0, 2.0], [], [3.0]]
    assert public(sparse).values.numpy().tolist() == [1.0, 2.0]
    assert float(public(Metres(-3.0)).length) == 3.0
assert plain_of(tf.abs) is plain and plain_of(plain) is plain
assert pickle.loads(pickle.dumps(tf.abs)) is tf.abs
assert (tf.abs.__module__, tf.abs.__qualname__) == ("tfx", "abs")

@tf.experimental.dispatch_for_api(tf.abs, {{"x": Metres}})
def later(x, name=None):
    return "later"

assert tf.abs(Metres(-3.0)) == "later"
tf.experimental.unregister_dispatch_for(later)
tf.experimental.unregister_dispatch_for(of_metres)
assert tf.abs(sparse).values.numpy().tolist() == [1.0, 2.0]
try:
    tf.abs(Metres(-3.0))
except (TypeError, ValueError):
    print("done")
"""


@pytest.mark.parametrize("order", list(itertools.permutations(STEPS)), ids="-".join)
def test_tensors_and_types_that_functions_look_for_come_in_any_order(
    order: tuple[str, ...],
) -> None:
    program = ANY_ORDER.format(steps="\n".join(STEPS[step] for step in order))
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False
    )
    assert result.stdout.strip() == "done", result.stderr


def test_every_replaced_function_stands_for_the_operation_itself() -> None:
    tf.ragged.constant([[1.0], []])
    tf.SparseTensor([[0]], [1.0], [2])
    for path in sorted({*ragged_handlers.table(), *sparse_handlers.table()}):
        public = operator.attrgetter(path)(tf)
        plain = plain_of(public)
        assert plain is not public, path
        assert plain_of(plain) is plain, path
        assert pickle.loads(pickle.dumps(public)) is public, path


def test_functions_of_an_inner_namespace_take_ragged_tensors() -> None:
    x = tf.ragged.constant([[0.5, 1.0], [], [2.0]])
    found = tf.math.special.bessel_j0(x)
    assert found.row_lengths().numpy().tolist() == [2, 0, 1]
    expected = tf.math.special.bessel_j0(x.values)
    assert found.values.numpy().tolist() == expected.numpy().tolist()
    assert tf.math.special.bessel_i0e is tf.math.bessel_i0e


def test_the_module_that_a_program_names_makes_no_difference(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Seconds(tf.experimental.ExtensionType):
        length: tf.Tensor

    for function in (tf.identity, plain_of(tf.identity)):
        monkeypatch.setattr(function, "__module__", "of_the_program")

    @tf.experimental.dispatch_for_unary_elementwise_apis(Seconds)
    def of_seconds(api: Any, x: Any) -> Any:
        return Seconds(api(x.length))

    assert float(tf.identity(Seconds(2.0)).length) == 2.0
    tf.experimental.unregister_dispatch_for(of_seconds)


@pytest.mark.parametrize("ragged_first", [False, True])
def test_wrappers_of_the_program_are_no_operations(ragged_first: bool) -> None:
    if ragged_first:
        tf.ragged.constant([[1.0], []])

    @functools.wraps(tf.abs)
    def mine(x: Any, name: str | None = None) -> Any:
        return tf.abs(x)

    assert plain_of(mine) is mine
    for function in (mine, tf.autograph.experimental.do_not_convert(mine), tf.function(tf.abs)):
        assert plain_of(function) is function
        with pytest.raises(ValueError, match="does not support dispatch: expected a function of"):
            tf.experimental.dispatch_for_api(function, {"x": tf.Tensor})


@pytest.mark.slow
def test_the_examples_run_after_tests_of_ragged_and_sparse_tensors() -> None:
    # Named before anything has loaded `tfx.experimental`.
    command = [
        *(sys.executable, "-m", "pytest", "-q", "tests/unit/sparse_ops/test_sparse_tensor.py"),
        *("tests/unit/ragged_ops/test_operations.py", "-k", "sparse or a+a or dispatch"),
        "tfx/experimental/dispatch.py",
    ]
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=source_tree.ROOT)
    assert run.returncode == 0, run.stdout


RACE = """
    import sys
    import threading

    sys.setswitchinterval(1e-6)
    import tfx as tf

    tf.constant(1.0)
    start, wrong = threading.Barrier(8), []

    def of_ragged():
        x = tf.ragged.constant([[1.0, -2.0], [-3.0]])
        assert tf.abs(x).to_list() == [[1.0, 2.0], [3.0]]
        assert tf.concat([x, x], 0).to_list() == [[1.0, -2.0], [-3.0]] * 2
        assert tf.math.expm1(tf.zeros_like(x)).to_list() == [[0.0, 0.0], [0.0]]

    def of_sparse():
        x = tf.SparseTensor([[0, 1]], [-2.0], [1, 2])
        assert tf.sparse.to_dense(tf.abs(x)).numpy().tolist() == [[0.0, 2.0]]
        assert tf.sparse.to_dense(tf.math.sin(x) * 0.0).numpy().tolist() == [[0.0, 0.0]]

    def of_types():
        @tf.experimental.dispatch_for_api(tf.abs, {"x": Own})
        def _(x, name=None):
            return "own"
        assert tf.abs(Own()) == "own"

    class Own:
        pass

    def work(run):
        start.wait()
        try:
            run()
        except BaseException as e:
            wrong.append(repr(e)[:300])

    runs = [of_ragged, of_sparse, of_ragged, of_sparse, of_types] * 2
    threads = [threading.Thread(target=work, args=(run,)) for run in runs[:8]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(wrong)

    from tfx.framework.function_wrappers import plain_of
    # One replacement of each, everywhere.
    for name in ("abs", "concat", "math.sin", "math.abs", "math.expm1", "zeros_like"):
        found = tf
        for part in name.split("."):
            found = getattr(found, part)
        inner = found.__wrapped__
        print(name, plain_of(found) is inner, hasattr(inner, "__wrapped__"))
    print(tf.abs is tf.math.abs)
"""


@pytest.mark.parametrize("attempt", range(2))
def test_threads_that_make_their_first_ones_at_the_same_moment(attempt: int) -> None:
    """While one replaced operations, others found them not replaced yet, or replaced them again."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(RACE)],
        capture_output=True,
        text=True,
        check=False,
        cwd=source_tree.ROOT,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    lines = done.stdout.splitlines()
    assert lines[0] == "[]"
    assert len(lines) == 8
    assert all(line.endswith(" True False") for line in lines[1:-1])
    assert lines[-1] == "True"


def test_what_is_done_at_first_use() -> None:
    """Done before anybody goes on, again if it failed, and not by what it makes itself."""
    done: list[str] = []
    fails = [True]

    def prepare() -> None:
        first_use.first("test")  # an object of the kind that the preparation makes
        time.sleep(0.05)
        if fails:
            raise KeyboardInterrupt(fails.pop())
        done.append("prepared")

    first_use.when_first("test", prepare)
    with pytest.raises(KeyboardInterrupt):
        first_use.first("test")

    def make() -> None:
        first_use.first("test")
        done.append("made")

    threads = [threading.Thread(target=make) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert done == ["prepared", "made", "made", "made"]


WRAPPED = """
    import functools

    import tfx as tf

    plain = tf.concat

    @functools.wraps(plain)
    def counted(*args, **kwargs):
        return plain(*args, **kwargs)

    tf.concat = counted
    tf.reduce_sum = lambda x: 7
    assert tf.ragged.constant([[1], [2, 3]]).to_list() == [[1], [2, 3]]
    assert tf.sparse.from_dense([[0, 1]]).values.numpy().tolist() == [1]
    assert tf.concat is counted
    assert tf.reduce_sum([1]) == 7
"""


def test_programs_that_put_their_own_functions_in_the_place_of_others() -> None:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(WRAPPED)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert not done.returncode, done.stderr[-3000:]
