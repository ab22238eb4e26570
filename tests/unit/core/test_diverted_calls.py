"""Calls that are diverted in a function's own code, and functions that stay what they were."""

from __future__ import annotations

import copy
import functools
import inspect
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tfx.core.diverted_calls import Diversion

USUAL = frozenset((int, bool, str, type(None)))


class Unusual:
    """What is looked for."""


def simple(x, y=2, name=None):
    """Documented."""
    return "plain", x, y, name


def by_name(x, *, axis, keep=False):
    return "plain", x, axis, keep


def by_place(x, y=1, /, z=2):
    return "plain", x, y, z


def many(x, y=1, *rest, name=None):
    return "plain", x, y, rest, name


def others(x, **kwargs):
    return "plain", x, kwargs


def nothing():
    return "plain"


def _enclosed() -> Any:
    first, second = 10, 20

    def enclosed(x, self=None):
        return "plain", x + first, self, second

    return enclosed


enclosed = _enclosed()


@pytest.fixture
def diverted() -> Iterator[Callable[..., Diversion]]:
    made: list[Diversion] = []

    def divert(function: Any, look: Any = None, passing: Any = USUAL, **how: Any) -> Diversion:
        made.append(Diversion(function, look or (lambda args, kwargs: (args, kwargs))))
        made[-1].start(passing, **how)
        return made[-1]

    yield divert
    for each in reversed(made):
        each.stop()


CALLS: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = [
    (simple, (1,), {}),
    (simple, (1, 3, "n"), {}),
    (simple, (), {"name": "n", "x": 1}),
    (by_name, (1,), {"axis": 0}),
    (by_name, (), {"axis": 0, "x": 1, "keep": 4}),
    (by_place, (1,), {"z": 5}),
    (by_place, (1, 3, 4), {}),
    (many, (1, 2, 3, 4), {"name": "n"}),
    (many, (1,), {}),
    (others, (1,), {"a": 1, "b": 2}),
    (nothing, (), {}),
    (enclosed, (1,), {"self": 3}),
]


@pytest.mark.parametrize(("function", "args", "kwargs"), CALLS)
def test_calls_that_are_not_diverted_give_what_they_gave(diverted, function, args, kwargs):
    expected = function(*args, **kwargs)
    diversion = diverted(function)
    assert diversion.plain(*args, **kwargs) == expected
    # What has no parameter of its own is always looked at.
    if function is not others and not (function is many and len(args) > 2):
        assert function(*args, **kwargs) == expected


@pytest.mark.parametrize(("function", "args", "kwargs"), CALLS)
def test_a_diverted_call_is_the_same_call(diverted, function, args, kwargs):
    """What gets the arguments can give them to the plain function, whatever its parameters are."""
    expected = function(*args, **kwargs)
    looked: list[Any] = []

    def look(args: Any, kwargs: Any) -> Any:
        looked.append(kwargs)
        return diversion.plain(*args, **kwargs)

    diversion = diverted(function, look, passing=frozenset())
    assert function(*args, **kwargs) == expected
    assert len(looked) == (function is not nothing)  # which has nothing to look at


def test_defaults_are_left_out(diverted):
    diverted(simple)
    x = Unusual()
    assert simple(x) == simple(x, 2) == simple(x, y=2, name=None) == ((x,), {})
    assert simple(x, 3) == ((x,), {"y": 3})
    assert simple(1, name=x) == ((1,), {"name": x})
    diverted(by_place)
    assert by_place(x) == ((x, 1), {})
    diverted(many)
    assert many(x) == ((x, 1), {})
    assert many(1, 2, 3, x) == ((1, 2, 3, x), {})


def test_lists(diverted):
    x = Unusual()
    diverted(simple, lists=True)
    assert simple([1, "a"])[0] == "plain"
    assert simple(())[0] == "plain"
    assert simple([1, x]) == (([1, x],), {})
    assert simple([[1]]) == (([[1]],), {})
    diverted(by_name)
    assert by_name([1], axis=0) == (([1],), {"axis": 0})


def test_the_function_stays_what_it_was(diverted):
    def seen(function: Any) -> list[Any]:
        return [
            id(function),
            inspect.signature(function),
            inspect.signature(function, follow_wrapped=False),
            inspect.getfullargspec(function),
            inspect.getsource(function),
            inspect.getdoc(function),
            (function.__name__, function.__qualname__, function.__module__),
            (function.__defaults__, function.__kwdefaults__, function.__closure__),
            dict(vars(function)),
            copy.copy(function) is copy.deepcopy(function) is function,
            function.__code__.co_varnames[: function.__code__.co_argcount],
            {function: 1}[function],
        ]

    for function in (simple, by_name, by_place, many, others, enclosed):
        before = seen(function)
        diverted(function)
        assert seen(function) == before
        assert isinstance(hash(function.__code__), int)  # programs keep codes in dicts
    assert pickle.loads(pickle.dumps(simple)) is simple


def test_who_has_the_function_makes_no_difference(diverted):
    class Layer:
        def __init__(self, function: Any = simple) -> None:
            self.function = function

    held = [simple, functools.partial(simple, y=5), Layer().function, functools.lru_cache(simple)]
    for _ in range(50):  # until Python has specialized the call
        assert simple(1)[0] == "plain"
    diverted(simple)
    x = Unusual()
    assert all(each(x)[0] == (x,) for each in held)
    assert all(each(1)[0] == "plain" for each in held)


def test_wrong_calls_are_refused_as_before(diverted):
    def refusal(call: Any) -> str:
        with pytest.raises(TypeError) as error:
            call()
        return str(error.value)

    calls = [lambda: simple(), lambda: simple(1, 2, 3, 4), lambda: by_name(1), lambda: nothing(1)]
    before = [refusal(call) for call in calls]
    for function in (simple, by_name, nothing):
        diverted(function)
    assert [refusal(call) for call in calls] == before
    assert before[0] == "simple() missing 1 required positional argument: 'x'"


def test_what_the_kinds_are_can_change_and_diversions_end(diverted):
    diversion = diverted(simple)
    code = diversion.plain.__code__
    x = Unusual()
    assert simple(x) == ((x,), {})
    diversion.start(USUAL | {Unusual})
    assert simple(x)[0] == "plain"
    diversion.start(frozenset())
    assert simple(1) == ((1,), {})
    diversion.stop()
    assert simple.__code__ is code
    assert simple(x)[0] == "plain"


def test_frames_of_calls_have_the_arguments_by_name(diverted):
    """Nodes are named after the parameter ``name`` of the function that the user called."""

    def look(args: Any, kwargs: Any) -> Any:
        frame = sys._getframe()
        while frame.f_code.co_name != "enclosed" and frame.f_back is not None:
            frame = frame.f_back
        return dict(frame.f_locals)

    diverted(enclosed, look)
    x = Unusual()
    found = enclosed(x, 3)
    assert (found["x"], found["self"]) == (x, 3)


def test_threads_that_call_while_calls_begin_to_be_diverted(diverted):
    wrong: list[Any] = []
    going_on = True

    def call() -> None:
        while going_on:
            found = enclosed(1)
            if found != ("plain", 11, None, 20):
                wrong.append(found)

    threads = [threading.Thread(target=call) for _ in range(3)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for _ in range(200):
            diverted(enclosed).stop()
    finally:
        going_on = False
        for thread in threads:
            thread.join(30)
        sys.setswitchinterval(interval)
    assert wrong == []
