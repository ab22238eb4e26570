"""Extractors against a plain walk: the right tensors, and different keys for different calls."""

from __future__ import annotations

import collections
import dataclasses
from typing import Any, NamedTuple

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

import tfx as tf
from tfx.core import nest
from tfx.function.tracing.key_functions import MISMATCH, KeyFunctions, call_form, make_extractor
from tfx.function.tracing.parameters import Parameters


class Pair(NamedTuple):
    left: Any
    right: Any


class Other(NamedTuple):
    left: Any
    right: Any


@dataclasses.dataclass
class Box:
    corner: Any
    size: Any


class Opaque:
    def method(self) -> None:
        pass


def _of(function: Any, *args: Any, **kwargs: Any) -> Any:
    parameters = Parameters(function)
    values = parameters.bind("f", args, kwargs)
    leaves = nest.flatten(list(values), expand_composites=True)
    wanted = [x for x in leaves if isinstance(x, tf.Tensor)]
    made = make_extractor(parameters, "f", args, kwargs, wanted)
    if made is None:
        return None
    _, tensors = made[0]("d", args, kwargs)
    assert [id(t) for t in tensors] == [id(t) for t in wanted]
    return made[0]


def _new() -> tf.Tensor:
    return tf.constant([1.0, 2.0])


LEAVES = st.builds(lambda _: _new(), st.none()) | st.sampled_from(
    [None, True, 1, 1.0, 0.0, -0.0, "a", b"a", 2j, -0j, complex(1, -0.0), 1 + 0j]
)
NESTS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.sampled_from("dcba'"), inner, max_size=3),
        st.builds(Pair, inner, inner),
        st.builds(Other, inner, inner),
        st.builds(Box, inner, inner),
    ),
    max_leaves=8,
)


def _form(x: Any) -> Any:
    """What a trace is for, written down without any cleverness."""
    if isinstance(x, tf.Tensor):
        return ("tensor", x.dtype.name, tuple(x.shape))
    if isinstance(x, dict):
        return ("dict", [(k, _form(x[k])) for k in sorted(x)])
    if isinstance(x, list | tuple):
        return (type(x), [_form(v) for v in x])
    if isinstance(x, Box):
        return ("box", _form(x.corner), _form(x.size))
    return (type(x), repr(x))


@hypothesis.given(NESTS, NESTS)
@hypothesis.settings(max_examples=150, deadline=None, derandomize=True)
def test_equal_keys_mean_equal_forms(a: Any, b: Any) -> None:
    extract = _of(lambda x: x, a)
    key, tensors = extract(None, (a,), {})
    assert len(tensors) == sum(
        isinstance(x, tf.Tensor) for x in nest.flatten(a, expand_composites=True)
    )
    try:
        other, _ = extract(None, (b,), {})
    except MISMATCH:
        assert _form(a) != _form(b)
    else:
        assert (key == other) == (_form(a) == _form(b))


def test_the_order_is_that_of_the_parameters() -> None:
    def f(a, b, *rest, c, **more):
        return a

    x = [_new() for _ in range(7)]
    extract, _ = make_extractor(
        Parameters(f), "f", (x[0], x[1], x[2], x[3]), {"z": x[6], "c": x[4], "d": x[5]}, x
    )
    key, tensors = extract("here", (x[0], x[1], x[2], x[3]), {"z": x[6], "c": x[4], "d": x[5]})
    assert [id(t) for t in tensors] == [id(t) for t in x]
    assert key[1] == "here"
    assert call_form((1, 2), {"z": 1, "c": 2}) == (2, "z", "c")
    assert call_form((1, 2), {}) == 2


def test_dtype_and_shape_are_in_the_key() -> None:
    extract = _of(lambda x: x, _new())
    keys = [
        extract(device, (tf.constant(v),), {})[0]
        for device in (None, "CPU:1")
        for v in ([1.0, 2.0], [1, 2], [1.0], 1.0, [[1.0, 2.0]])
    ]
    assert len(set(keys)) == len(keys)
    assert extract(None, (tf.constant([5.0, 6.0]),), {})[0] == keys[0]


@pytest.mark.parametrize(
    "given",
    [{1: 2.0}, {"a": {True: 1}}, collections.OrderedDict(), tf.TensorSpec([1]), Opaque().method],
    ids=["dict", "inner dict", "class of dicts", "spec", "method"],
)
def test_what_cannot_be_expressed_has_none(given: Any) -> None:
    assert make_extractor(Parameters(lambda x: x), "f", (given,), {}, []) is None


def test_nests_without_end_have_none() -> None:
    endless: list[Any] = []
    endless.append(endless)
    parameters = Parameters(lambda x: x)
    assert make_extractor(parameters, "f", (endless,), {}, []) is None
    assert make_extractor(parameters, "f", ([1] * 5000,), {}, []) is None


@pytest.mark.parametrize(
    "make",
    [Opaque, lambda: tf.Variable(1.0), lambda: lambda: 1, lambda: type("C", (), {})],
    ids=["object", "variable", "function", "class"],
)
def test_objects_go_by_address(make: Any) -> None:
    forms = KeyFunctions(Parameters(lambda x: x), "f")
    one, other = make(), make()
    keys = [forms.key_of(None, (x,), {}, []) for x in (one, other, one)]
    assert keys[0] == keys[2] != keys[1]
    assert forms.has_addresses(keys[0])
    assert not forms.has_addresses(forms.key_of(None, (1,), {}, []))


@pytest.mark.parametrize(
    ("one", "same", "other"),
    [(range(3), range(0, 3), range(4)), (frozenset("ab"), frozenset("ba"), frozenset())],
    ids=["range", "frozenset"],
)
def test_objects_with_a_value_go_by_that(one: Any, same: Any, other: Any) -> None:
    forms = KeyFunctions(Parameters(lambda x: x), "f")
    keys = [forms.key_of(None, (x,), {}, []) for x in (one, same, other)]
    assert keys[0] == keys[1] != keys[2]
    assert not forms.has_addresses(keys[0])


def test_arrays_become_tensors() -> None:
    array = np.array([1.0, 2.0], np.float32)
    parameters = Parameters(lambda x: x)
    extract, _ = make_extractor(parameters, "f", ([array],), {}, [_new()])
    key, (tensor,) = extract(None, ([array * 2],), {})
    np.testing.assert_array_equal(tensor.numpy(), [2.0, 4.0])
    assert extract(None, ([array],), {})[0] == key
    assert extract(None, ([array[:1]],), {})[0] != key
    with pytest.raises(MISMATCH):
        extract(None, ([np.float32(1)],), {})
    # A signature that casts has another tensor than the array alone would become.
    assert make_extractor(parameters, "f", (array.astype(float),), {}, [_new()]) is None


def test_a_default_that_may_change_has_none() -> None:
    assert make_extractor(Parameters(lambda x, y=[]: x), "f", (1,), {}, []) is None
    assert make_extractor(Parameters(lambda x, y=(1, "a"): x), "f", (1,), {}, []) is not None


@pytest.mark.parametrize(
    "given",
    [Opaque(), np.ones(2), 3, None, [], tf.Variable(1.0)],
    ids=["object", "array", "int", "None", "list", "variable"],
)
def test_other_arguments_do_not_pass_for_a_tensor(given: Any) -> None:
    extract = _of(lambda x: x, _new())
    with pytest.raises(MISMATCH):
        extract(None, (given,), {})


def test_tensors_that_are_not_the_calls_own_have_none() -> None:
    default = _new()
    parameters = Parameters(lambda x, y=default: x)
    given = _new()
    assert make_extractor(parameters, "f", (given,), {}, [given, default]) is None
    assert make_extractor(parameters, "f", (given,), {}, [_new()]) is None


def test_forms_are_asked_one_after_another() -> None:
    parameters = Parameters(lambda x: x)
    a, b = [_new()], {"k": _new()}
    first, _ = make_extractor(parameters, "f", (a,), {}, a)
    both, _ = make_extractor(parameters, "f", (b,), {}, [b["k"]], first)
    assert both(None, (a,), {})[0] == first(None, (a,), {})[0]
    assert both(None, (b,), {})[0] != first(None, (a,), {})[0]
    with pytest.raises(MISMATCH):
        both(None, ("x",), {})


def test_functions_take_the_short_cut_and_compute_the_same() -> None:
    @tf.function
    def f(given, scale=2.0, *, shift):
        return given["a"] * scale + given["p"].right - shift[0]

    x, y = tf.constant([1.0]), tf.constant([10.0])
    for turn in range(4):
        first = f({"p": Pair(x, y), "a": x}, shift=(y, None))
        second = f({"a": y, "p": Pair(y, x)}, 3.0, shift=(x, None))
        third = f(shift=(x, None), scale=0.0, given={"a": y, "p": Pair(y, x)})
        assert (first.numpy(), second.numpy(), third.numpy()) == (2.0, 30.0, 0.0), turn
    assert f.experimental_get_tracing_count() == 3
    with pytest.raises(KeyError):
        f({"a": x, "q": Pair(x, y)}, shift=(y, None))
