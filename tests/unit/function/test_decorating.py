"""What can be decorated, how it is called, and what is refused with words."""

from __future__ import annotations

import functools
import inspect
import sys

import pytest

import tfx as tf

X = tf.constant(1)


def test_static_methods_in_both_orders():
    class Tools:
        @staticmethod
        @tf.function
        def above(x):
            return x + 1

        @tf.function
        @staticmethod
        def below(x):
            return x + 2

    for owner in (Tools, Tools()):
        assert [int(owner.above(X)), int(owner.below(X))] == [2, 3]
    assert Tools.below is Tools().below
    assert Tools.below.experimental_get_tracing_count() == 1


def test_class_methods():
    class Tools:
        offset = 5

        @classmethod
        @tf.function
        def above(cls, x):
            return x + cls.offset

    class Other(Tools):
        offset = 7

    assert [int(o.above(X)) for o in (Tools, Tools(), Other, Other())] == [6, 6, 8, 8]
    with pytest.raises(TypeError, match=r"Put @classmethod above @tf.function"):

        class Wrong:
            @tf.function
            @classmethod
            def below(cls, x):
                return x


def test_partials_and_callable_objects():
    class Doubler:
        """Doubles."""

        def __call__(self, x):
            return x * 2

    def subtract(x, y, *, z=0):
        return x - y - z

    f = tf.function(functools.partial(subtract, y=2))
    assert [int(f(X)), int(f(X, y=5)), int(f(X, z=1))] == [-1, -4, -2]
    assert f.name == "subtract"
    g = tf.function(functools.partial(subtract, tf.constant(10)))
    assert int(g(X)) == 9
    h = tf.function(Doubler())
    assert (int(h(X)), h.name) == (2, "Doubler")
    assert int(tf.function(functools.partial(functools.partial(subtract, 1), 2))()) == -1


def test_bound_methods_and_functions_of_functions():
    class Model:
        def __init__(self):
            self.scale = tf.Variable(3)

        def plain(self, x):
            return x * self.scale

        @tf.function
        def traced(self, x):
            return x * self.scale

    model = Model()
    assert int(tf.function(model.plain)(X)) == 3
    again = tf.function(model.traced)
    del model
    assert int(again(X)) == 3  # as a bound method does, it keeps its instance
    assert int(tf.function(tf.function(lambda x: x + 1))(X)) == 2


@pytest.mark.parametrize("wrong", [3, "f", None, property(lambda self: 1)])
def test_what_cannot_be_called(wrong):
    with pytest.raises(TypeError, match=r"tfx.function takes a callable; got"):
        tf.function(wrong) if wrong is not None else tf.function()(wrong)


def test_coroutines_and_generators():
    async def coroutine(x):
        return x

    def generator(x):
        yield x

    async def both(x):
        yield x

    with pytest.raises(TypeError, match=r"'coroutine' must return.*async def.*aio"):
        tf.function(coroutine)(X)
    with pytest.raises(TypeError, match=r"'generator' must return.*`yield`"):
        tf.function(generator)(X)
    with pytest.raises(TypeError, match=r"'both' must return.*`yield`"):
        tf.function(both)(X)


def test_metadata():
    @tf.function
    def model(x: int, *, y: float = 1.0) -> float:
        """Computes."""
        return x * y

    assert (model.__name__, model.__doc__, model.__module__) == ("model", "Computes.", __name__)
    assert model.__wrapped__ is model.python_function
    assert model.__qualname__ == "test_metadata.<locals>.model"
    assert model.__annotations__.keys() == {"x", "y", "return"}


def test_overridden_methods_and_super():
    class Base:
        def __init__(self):
            self.calls = tf.Variable(0)

        @tf.function
        def step(self, x):
            self.calls.assign_add(1)
            return x + 1

    class Middle(Base):
        @tf.function
        def step(self, x):
            return super().step(x) * 10

    class Last(Middle):
        def step(self, x):
            return super().step(x) + 5

    base, middle, last = Base(), Middle(), Last()
    assert [int(o.step(X)) for o in (base, middle, last, last)] == [2, 20, 25, 25]
    assert [int(o.calls) for o in (base, middle, last)] == [1, 1, 2]
    assert int(Base.step(last, X)) == 2
    assert int(last.calls) == 3


def test_endless_recursion_says_so():
    @tf.function
    def factorial(n):
        return n * factorial(n - 1)

    with pytest.raises(RecursionError, match=r"'factorial' reached.*must end on a Python value"):
        factorial(tf.constant(3))

    @tf.function
    def ends(n):
        return tf.constant(1) if n == 0 else n * ends(n - 1)

    assert int(ends(5)) == 120


def test_functions_nested_deeply():
    before = sys.getrecursionlimit()
    f = tf.function(lambda x: x + 1)
    for _ in range(250):
        f = tf.function(lambda x, g=f: g(x))
    assert int(f(X)) == int(f(X)) == 2
    for _ in range(1000):
        f = tf.function(lambda x, g=f: g(x))
    with pytest.raises(RecursionError, match=r"nested deeply.*sys.setrecursionlimit"):
        f(X)
    assert sys.getrecursionlimit() == before


def test_errors_in_traced_code_have_the_users_line():
    def inner(x):
        raise KeyError("mine")

    f = tf.function(inner)
    g = tf.function(lambda x: f(x))
    with pytest.raises(KeyError, match="mine") as caught:
        g(X)
    (note,) = caught.value.__notes__
    line = inner.__code__.co_firstlineno + 1
    assert note == f"While tracing function 'inner': File \"{__file__}\", line {line}, in inner"


def test_concrete_functions_go_by_the_names_of_specs():
    f = tf.function(lambda x, y=1: x * y)
    plain = f.get_concrete_function(tf.TensorSpec([None]), 2)
    named = f.get_concrete_function(tf.TensorSpec([None], name="values"), 2)
    assert named is not plain  # as in TensorFlow
    assert named is f.get_concrete_function(tf.TensorSpec([None], name="values"), 2)
    assert named(values=[3.0]).numpy() == named([3.0]).numpy() == named(x=[3.0]).numpy() == 6.0
    with pytest.raises(TypeError, match="values"):
        plain(values=[3.0])
    assert f(tf.constant([1.0]), 2).numpy() == 2.0
    assert f.experimental_get_tracing_count() == 2
    nested = tf.function(lambda d: d["a"] - d["b"]).get_concrete_function(
        {"a": tf.TensorSpec([]), "b": tf.TensorSpec([], name="other")}
    )
    assert float(nested(d_a=3.0, other=1.0)) == float(nested(3.0, other=1.0)) == 2.0


def test_names_of_keyword_arguments():
    f = tf.function(lambda *args, **kwargs: args[0] + kwargs["z"])
    concrete = f.get_concrete_function(tf.TensorSpec([]), z=tf.TensorSpec([]))
    args, kwargs = concrete.structured_input_signature
    assert [args[0].name, kwargs["z"].name] == ["args_0", "z"]
    assert float(concrete(tf.constant(1.0), z=tf.constant(2.0))) == 3.0


def _tagged(function):
    function.tag = "kept"
    function.name = function.variables = "the function's own"
    return function


def _plain(x, k: int = 2, *, scale=1) -> int:
    """What it does."""
    return x * k * scale


def _of_instance():
    class Holder:
        @tf.function
        @_tagged
        def method(self, x):
            return x

    return Holder().method


class _Callable:
    tag = None

    def __init__(self):
        self.tag = "kept"

    def __call__(self, x):
        return x


_WAYS = ["plain", "declared", "twice", "wraps", "method", "object", "custom", "recompute", "pass"]


@pytest.mark.parametrize(
    "decorated",
    [
        tf.function(_tagged(lambda x: x)),
        tf.function(input_signature=[tf.TensorSpec([], tf.int32)])(_tagged(lambda x: x)),
        tf.function(tf.function(_tagged(lambda x: x))),
        functools.wraps(tf.function(_tagged(lambda x: x)))(lambda x: x),
        _of_instance(),
        tf.function(_Callable()),
        tf.custom_gradient(_tagged(lambda x: (x, lambda dy: dy))),
        tf.recompute_grad(_tagged(lambda x: x)),
        tf.grad_pass_through(_tagged(lambda x: x)),
    ],
    ids=_WAYS,
)
def test_attributes_of_the_python_function(decorated):
    assert decorated.tag == "kept"
    assert int(decorated(X)) == 1


def test_what_inspect_says_of_a_decorated_function():
    f = tf.function(_plain)
    assert (f.__name__, f.__qualname__, f.__module__) == ("_plain", "_plain", __name__)
    assert f.__doc__ == "What it does."
    assert f.__wrapped__ is f.python_function is inspect.unwrap(f) is _plain
    assert inspect.signature(f) == inspect.signature(_plain)
    assert inspect.getfullargspec(f) == inspect.getfullargspec(_plain)
    again = tf.function(f)
    assert again.__wrapped__ is f
    assert inspect.unwrap(again) is _plain


def test_own_attributes_win_over_those_of_the_python_function():
    f = tf.function(_tagged(lambda x: x))
    assert f.name == "lambda"
    assert f.variables == ()
    f.tag = "of the wrapper"
    assert f.python_function.tag == "kept"


def _adding(number):
    def decorator(method):
        def wrapped(*args, **kwargs):
            return method(*args, **kwargs) + number

        return wrapped

    return decorator


def test_libraries_put_decorators_inside_of_a_function():
    class M(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([])])
        def double(self, x):
            return x * 2.0

    f = M.__dict__["double"]
    f._decorate(_adding(100.0))
    f._decorate(_adding(1000.0))
    m = M()
    assert float(m.double(1.0)) == 1102.0
    assert m.double.input_signature == (tf.TensorSpec([]),)
    with pytest.raises(ValueError, match="cannot be decorated after they have been traced"):
        f._decorate(_adding(1.0))
    g = tf.function(lambda x, y=2.0: x + y)
    g._decorate(lambda plain: lambda x: plain(x, 3.0))
    assert float(g(tf.constant(1.0))) == 4.0
    with pytest.raises(ValueError, match="traced"):
        g._decorate(_adding(1.0))
