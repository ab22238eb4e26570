"""Operations on types of the user's own, and functions that look for them."""

from __future__ import annotations

import ast
import functools
import inspect
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
from tfx.experimental import dispatch
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


# What programs do that has functions look for something, and what all of it gives in any order.
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
from tfx.ops.math.elementwise import abs as own

class Metres(tf.experimental.ExtensionType):
    length: tf.Tensor

before = tf.abs
{steps}
for public in (before, own, tf.abs, tf.math.abs, tf.compat.v1.abs):
    assert public is tf.abs
    assert public(ragged).to_list() == [[1.0, 2.0], [], [3.0]]
    assert public(sparse).values.numpy().tolist() == [1.0, 2.0]
    assert float(public(Metres(-3.0)).length) == 3.0
assert pickle.loads(pickle.dumps(tf.abs)) is tf.abs

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


PATHS = sorted({*ragged_handlers.table(), *sparse_handlers.table()})


def test_functions_that_look_are_the_functions_that_they_were() -> None:
    tf.ragged.constant([[1.0], []])
    tf.SparseTensor([[0]], [1.0], [2])
    for path in PATHS:
        public = operator.attrgetter(path)(tf)
        diversion = dispatch._operations[public].diversion
        assert diversion.function is public, path
        plain = diversion.plain
        assert public.__code__ is not plain.__code__, path
        # Whoever has it has this one.
        assert pickle.loads(pickle.dumps(public)) is public, path
        assert vars(sys.modules[public.__module__])[public.__qualname__] is public, path
        assert inspect.signature(public) == inspect.signature(plain, follow_wrapped=False), path
        written = ast.parse(textwrap.dedent(inspect.getsource(public))).body[0]
        assert isinstance(written, ast.FunctionDef), path
        assert written.name == public.__code__.co_name == plain.__code__.co_name, path
        assert [*inspect.signature(public).parameters] == _parameters(written), path


def _parameters(function: ast.FunctionDef) -> list[str]:
    found = function.args
    some = [*found.posonlyargs, *found.args, found.vararg, *found.kwonlyargs, found.kwarg]
    return [each.arg for each in some if each is not None]


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

    monkeypatch.setattr(tf.identity, "__module__", "of_the_program")

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

    for function in (mine, tf.autograph.experimental.do_not_convert(mine), tf.function(tf.abs)):
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

    first = (tf.abs, tf.concat, tf.sin, tf.math.expm1, tf.zeros_like)
    codes = {function.__name__: function.__code__ for function in first}
    ones = tf.constant([1.0, -2.0])
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

    def of_tensors():  # which nobody looks for
        for _ in range(300):
            assert first[0](ones).numpy().tolist() == [1.0, 2.0]
            assert first[1]([ones, ones], 0).numpy().tolist() == [1.0, -2.0] * 2

    runs = [of_ragged, of_sparse, of_ragged, of_sparse, of_types, of_tensors] * 2
    threads = [threading.Thread(target=work, args=(run,)) for run in runs[:8]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(wrong)

    from tfx.experimental import dispatch
    # What is carried out in the end is what the functions did at first.
    for function in (tf.abs, tf.concat, tf.sin, tf.math.expm1, tf.zeros_like):
        assert dispatch._operations[function].diversion.plain.__code__ is codes[function.__name__]
"""


@pytest.mark.parametrize("attempt", range(2))
def test_threads_that_make_their_first_ones_at_the_same_moment(attempt: int) -> None:
    """An object is there only once all functions look for it, and each does so once."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(RACE)],
        capture_output=True,
        text=True,
        check=False,
        cwd=source_tree.ROOT,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip() == "[]"


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

    sums = tf.reduce_sum
    tf.concat = counted
    tf.reduce_sum = lambda x: 7
    assert tf.ragged.constant([[1], [2, 3]]).to_list() == [[1], [2, 3]]
    assert tf.sparse.from_dense([[0, 1]]).values.numpy().tolist() == [1]
    assert tf.concat is counted
    assert tf.reduce_sum([1]) == 7
    x = tf.ragged.constant([[1], [2, 3]])
    assert tf.concat([x, x], 0).to_list() == plain([x, x], 0).to_list() == [[1], [2, 3]] * 2
    assert sums(x, 1).numpy().tolist() == [1, 5]
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
