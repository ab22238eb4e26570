"""AutoGraph in ``tf.function``: on by default, off where asked for, and never on the call path."""

from __future__ import annotations

import copy
import dataclasses
import functools
import itertools
import logging
import pickle
import subprocess
import sys
import threading

import pytest

import tfx as tf
from tfx.core.errors import OperatorNotAllowedInGraphError

X = tf.constant(3.0)
REFUSED = pytest.raises(OperatorNotAllowedInGraphError, match=r"Python bool.*AutoGraph")


def absolute(x):
    if x < 0.0:
        return -x
    return x


class Model(tf.Module):
    def __init__(self):
        super().__init__()
        self.seen = []

    @tf.function
    def on(self, x):
        return self.helper(x)

    @tf.function(autograph=False)
    def off(self, x):
        return self.helper(x)

    def helper(self, x):
        if x < 0.0:
            return -x
        return x

    def __call__(self, x):
        while x < 10.0:
            x = x * 2.0
        return x


def test_on_by_default():
    f = tf.function(absolute)
    assert float(f(X)) == float(f(-X)) == 3.0
    assert f.experimental_get_tracing_count() == 1


def test_off():
    with REFUSED:
        tf.function(absolute, autograph=False)(X)
    with REFUSED:
        tf.function(autograph=False)(lambda x: absolute(x))(X)


@pytest.mark.parametrize("make", [tf.function, tf.defun])
def test_defun_and_signatures(make):
    spec = [tf.TensorSpec([], "float32")]
    assert float(make(absolute, input_signature=spec)(-X)) == 3.0
    with REFUSED:
        make(absolute, input_signature=spec, autograph=False)(-X)
    assert float(
        make(absolute, experimental_autograph_options=tf.autograph.experimental.Feature.ALL)(X)
    )


def test_methods():
    model = Model()
    assert float(model.on(-X)) == 3.0
    with REFUSED:
        model.off(X)
    assert float(tf.function(model)(X)) == 12.0
    assert float(tf.function(model.helper)(-X)) == 3.0


@pytest.mark.parametrize("on", [True, False])
def test_survives_copies(on):
    first = tf.function(absolute, autograph=on)
    again = tf.function(first)
    others = [copy.copy(first), copy.deepcopy(first), pickle.loads(pickle.dumps(first)), again]
    others.append(tf.function(first, autograph=True))
    for f in others:
        if on:
            assert float(f(-X)) == 3.0
        else:
            with REFUSED:
                f(X)
    with REFUSED:
        tf.function(tf.function(absolute), autograph=False)(X)


def test_nested_functions_decide_for_themselves():
    inner = tf.function(absolute)
    assert float(tf.function(lambda x: inner(x), autograph=False)(-X)) == 3.0
    plain = tf.function(absolute, autograph=False)
    with REFUSED:
        tf.function(lambda x: plain(x))(X)


def test_every_kind_of_callable():
    class Callable:
        def __call__(self, x):
            return absolute(x)

        @staticmethod
        def static(x):
            return absolute(x)

        @classmethod
        def of_class(cls, x):
            return absolute(x)

    for f in (
        functools.partial(absolute),
        functools.partial(lambda n, x: absolute(x) * n, 1.0),
        lambda x: x if x > 0.0 else -x,
        Callable(),
        Callable.static,
        Callable().static,
        Callable.of_class,
        Callable().__call__,
    ):
        assert float(tf.function(f)(-X)) == 3.0


def test_eager_functions_run_as_they_are():
    seen = []

    def f(x):
        seen.append(sys._getframe().f_code)
        return absolute(x)

    tf.config.run_functions_eagerly(True)
    try:
        assert float(tf.function(f)(-X)) == 3.0
    finally:
        tf.config.run_functions_eagerly(False)
    assert seen == [f.__code__]


def test_py_function_is_not_converted():
    codes = []

    def python(x):
        codes.append(sys._getframe().f_code)
        if x < 0.0:  # eager: a value
            return -x
        return x

    f = tf.function(lambda x: tf.py_function(python, [x], tf.float32))
    assert float(f(-X)) == 3.0
    assert codes == [python.__code__]


def test_nothing_of_it_is_imported_before_a_trace():
    code = (
        "import sys, tfx as tf\n"
        "f = tf.function(lambda x: x + 1)\n"
        "tf.constant(1.0) + 1.0\n"
        "assert not [m for m in sys.modules if m.startswith('tfx.autograph')]\n"
        "f(tf.constant(1.0))\n"
        "assert 'tfx.autograph.conversion' in sys.modules\n"
        "assert 'ast' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_calls_after_the_trace_convert_nothing(monkeypatch):
    from tfx.autograph import conversion

    f = tf.function(absolute)
    f(X)

    def refuse(*args):
        raise AssertionError("converted again")

    monkeypatch.setattr(conversion, "_convert_code", refuse)
    monkeypatch.setattr(conversion, "_rebuilt", refuse)
    assert float(f(-X)) == 3.0


def test_functions_of_one_code_share_the_conversion(monkeypatch):
    from tfx.autograph import conversion

    def make(limit):
        def clipped(x):
            if x > limit:
                return x * 0.0 + limit
            return x

        return tf.function(clipped)

    assert float(make(1.0)(X)) == 1.0
    monkeypatch.setattr(conversion, "_convert_code", None)
    assert float(make(2.0)(X)) == 2.0
    assert float(make(tf.constant(2.5))(X)) == 2.5


def test_without_source(caplog):
    scope = {}
    exec("def made(x):\n    if x > 0.0:\n        return x\n    return -x\n", scope)
    made = scope["made"]
    with caplog.at_level(logging.WARNING, "tfx"):
        for _ in range(2):
            with pytest.raises(OperatorNotAllowedInGraphError, match="define it in a file"):
                tf.function(made)(X)
        assert float(tf.function(lambda x: made(2.0) * x)(X)) == 6.0
    assert len(caplog.records) == 1
    text = caplog.records[0].getMessage()
    assert "made" in text
    assert "do_not_convert" in text


def test_functions_that_look_at_their_frame_stay_as_they_are(caplog):
    def frame(x):
        y = 1.0
        return x * len(locals()) * y

    def branching(x):
        if x > 0.0:
            eval("x")
        return x

    with caplog.at_level(logging.WARNING, "tfx"):
        assert float(tf.function(frame)(X)) == 6.0
        with pytest.raises(OperatorNotAllowedInGraphError, match="local variables"):
            tf.function(branching)(X)
    assert not caplog.records


def test_lambdas_on_one_line():
    f, g = (lambda x: x if x > 0.0 else -x), (lambda x: x * 2.0 if x > 0.0 else x)
    assert [float(tf.function(h)(-X)) for h in (f, g)] == [3.0, -3.0]


def test_threads():
    texts = [
        f"def f(x):\n    if x > {i}.0:\n        return x + {i}.0\n    return -x\n" for i in range(8)
    ]
    import linecache

    functions = []
    for i, text in enumerate(texts):
        name = f"<threads {i}>"
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        scope = {}
        exec(compile(text, name, "exec"), scope)
        functions.append(scope["f"])
    found, barrier = {}, threading.Barrier(16)

    def work(number):
        barrier.wait()
        f = functions[number % 8]
        found[number] = float(tf.function(f)(tf.constant(5.5)))

    threads = [threading.Thread(target=work, args=[n]) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = {n: (5.5 + n % 8 if n % 8 < 5.5 else -5.5) for n in range(16)}
    assert found == expected


def test_an_endless_iterator_that_a_tensor_ends():
    def count(x):
        for i in itertools.count(1):
            x = x + i
            if x > 5.0:
                break
        return x, i

    with pytest.raises(OperatorNotAllowedInGraphError, match=r"count\(.*unrolled.*tf\.range"):
        tf.function(count)(X)


def test_a_jump_out_of_finally_is_left_to_python(caplog):
    def swallowing(x):
        try:
            raise KeyError
        finally:
            return x * 2.0  # noqa: B012

    with caplog.at_level(logging.WARNING, "tfx"):
        assert float(tf.function(swallowing)(X)) == 6.0
    assert "finally" in caplog.text


def test_generators_and_coroutines_are_left_alone():
    def generator(x):
        codes.append(sys._getframe().f_code)
        yield x
        if x is not None:
            yield x + 1.0

    async def coroutine(x):
        return x

    def work(x):
        total = x
        for item in generator(x):
            if item > 1.0:
                total += item
        made = coroutine(x)
        made.close()
        return total + sum(q for q in generator(x))

    codes = []
    assert float(tf.function(work)(X)) == 17.0
    assert set(codes) == {generator.__code__}


def test_libraries_are_left_alone():
    import statistics

    codes = []

    def note(value):
        codes.append(sys._getframe(1).f_code)
        return value

    note = tf.autograph.experimental.do_not_convert(note)

    class Values(list):
        def __iter__(self):
            codes.append(sys._getframe(1).f_code)
            return super().__iter__()

    f = tf.function(lambda x: x * statistics.mean(Values([1.0, 3.0])))
    assert float(f(X)) == 6.0
    assert any(code.co_filename == statistics.__file__ for code in codes)
    assert all("ag__" not in code.co_freevars for code in codes)


def test_constructors_and_wrapped_functions():
    @dataclasses.dataclass
    class Pair:
        a: object
        b: object

        def larger(self):
            if self.a > self.b:
                return self.a
            return self.b

    class Counter:
        made = 0

        def __init__(self, x):
            Counter.made += 1
            self.x = x if x > 0.0 else -x

    class Singleton:
        def __new__(cls, x):
            return super().__new__(cls)

        def __init__(self, x):
            self.x = x

    def work(x):
        return Pair(x, x * 2.0).larger(), Counter(x).x, Singleton(x).x

    assert [float(y) for y in tf.function(work)(-X)] == [-3.0, 3.0, -3.0]
    with pytest.raises(TypeError, match="__init__"):
        tf.function(lambda x: Counter())(X)


def test_properties():
    class Box:
        def __init__(self, x):
            self.x = x

        @property
        def sign(self):
            if self.x > 0.0:
                return tf.constant(1.0)
            return tf.constant(-1.0)

        @property
        def broken(self):
            return self.absent

        @functools.cached_property
        def cached(self):
            return self.x * 2.0

    class Forgiving(Box):
        def __getattr__(self, name):
            return name

    assert float(tf.function(lambda x: Box(x).sign * Box(x).cached)(-X)) == 6.0
    with pytest.raises(AttributeError, match="'Box' object has no attribute 'absent'"):
        tf.function(lambda x: Box(x).broken)(X)

    def forgiving(x):
        assert Forgiving(x).other == "other"
        assert Forgiving(x).broken == "absent"
        return x

    tf.function(forgiving)(X)


class Scoped(tf.Module):
    def __init__(self):
        super().__init__()
        self.layers = [lambda x: x * 2.0, absolute]

    @tf.Module.with_name_scope
    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        if x > 4.0:
            return x
        return -x


class Wider(Scoped):
    def __call__(self, x):
        if x < 0.0:
            x = x - 1.0
        return super().__call__(x)


def test_wrappers_of_ours_convert_what_they_wrap():
    assert float(tf.function(Scoped())(-X)) == 6.0
    wider = Wider()
    assert float(tf.function(lambda x: wider(x))(-X)) == 8.0

    @tf.custom_gradient
    def tripled(x):
        def gradient(dy):
            if dy > 1.0:
                return dy * 3.0
            return -dy

        return (x * 3.0 if x > 0.0 else x), gradient

    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = (
                tripled(x) * 2.0
                + tf.recompute_grad(absolute)(x)
                + tf.grad_pass_through(absolute)(x)
            )
        return tape.gradient(y, x)

    assert float(tf.function(slope)(X)) == 6.0 + 1.0 + 1.0
    assert float(tf.function(slope)(-X)) == 6.0 - 1.0 + 1.0


def test_a_wrapper_of_a_wrapper_is_its_own():
    calls = []

    @functools.wraps(Scoped.__call__)
    def counting(self, x):
        calls.append(type(self))
        if x > 0.0:
            x = x + 1.0
        return Scoped.__call__(self, x)

    Counting = type("Counting", (Scoped,), {"__call__": counting})
    assert float(tf.function(Counting())(X)) == 8.0
    assert calls == [Counting]
