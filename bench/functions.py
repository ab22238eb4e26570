"""Microseconds a call of a traced function with many kinds of arguments, and of its variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import tfx as tf
from bench.calls import NOTE, ones, raw_call
from bench.measure import Result, best_of
from tfx.runtime.session import RUN_OPTIONS, Session

# Microseconds that a step with 200 variables may take beyond ONNX Runtime.
_ALLOWED = 100.0
_ROUNDS = 100


class Pair(NamedTuple):
    """A structure of two tensors."""

    left: Any
    right: Any


class Scaler(tf.Module):
    """A method to call."""

    @tf.function
    def twice(self, x: Any) -> Any:
        """The argument and itself."""
        return x + x


def ten_in_a_nest(tensors: list[Any]) -> dict[str, Any]:
    """Ten tensors in dicts, a list and a named tuple."""
    a, b, c, d, e, f, g, h, i, j = tensors
    more = {"first": h, "second": i, "third": j}
    return {"image": a, "boxes": [b, c, d, e], "pair": Pair(f, g), "more": more}


def of(count: int) -> Any:
    """A traced function of that many tensors, which it adds up."""
    names = ", ".join(f"a{i}" for i in range(count))
    space: dict[str, Any] = {"tf": tf}
    # Parameters of its own for each tensor: *args would be a nest.
    exec(f"def add_{count}({names}):\n    return tf.add_n([{names}])", space)
    return tf.function(space[f"add_{count}"], autograph=False)  # it has no source


def total(nested: Any) -> Any:
    """The sum of everything in a nest."""
    return tf.add_n(tf.nest.flatten(nested))


def run(effort: float = 1.0) -> list[Result]:
    """Calls over ONNX Runtime's own, and a step that assigns 200 variables.

    Args:
        effort: Less than 1 makes fewer calls.
    """
    return [
        *_tensors(effort),
        *_spellings(effort),
        *_variables(effort),
        *_extremes(effort),
        _indices(effort),
    ]


def _extremes(effort: float) -> list[Result]:
    """What it costs that NaN is never lost: beside ONNX Runtime's operator alone."""
    results = []
    for shape in ((4, 4), (1000, 1000)):
        x = tf.constant(np.random.default_rng(0).normal(size=shape).astype(np.float32))
        function = tf.function(lambda x: tf.reduce_max(x, 1))
        call, raw = _bound(function, x), _kernel_alone("ReduceMax", x)
        what = f"reduce_max of {shape[0]} x {shape[1]}"
        cost = 1.0 if shape == (4, 4) else 60.0
        number = max(1, int(10_000 / cost * effort))
        ours, alone = best_of([call, raw], number=number)
        results.append(Result(what, ours, alone, "us", None, "ORT's ReduceMax alone"))
    return results


def _kernel_alone(op: str, x: Any) -> Callable[[], Any]:
    """ONNX Runtime's session of one reduction over axis 1, with nothing around it."""
    from onnx import TensorProto, helper

    axes = helper.make_tensor("axes", TensorProto.INT64, [1], [1])
    node = helper.make_node(op, ["x", "axes"], ["y"], keepdims=0)
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in "xy"]
    graph = helper.make_graph([node], op, ends[:1], ends[1:], [axes])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    session = Session(model.SerializeToString())
    feeds, names = {"x": x._raw}, session.output_names
    return lambda: session.run_raw(feeds, names, RUN_OPTIONS)


def _indices(effort: float) -> Result:
    """What it costs that negative indices are refused: beside the operator that takes them."""
    rng = np.random.default_rng(0)
    x, where = tf.constant(np.ones((1000, 64), np.float32)), tf.constant(rng.integers(0, 1000, 32))
    checked = tf.function(lambda x, i: tf.gather(x, i))
    plain = tf.function(lambda x, i: tf.raw.Gather(x, i))
    call, other = _bound(checked, x, where), _bound(plain, x, where)
    ours, reference = best_of([call, other], number=max(1, int(10_000 * effort)))
    return Result("gather of 32 rows", ours, reference, "us", 1.3, "without looking at indices")


def _tensors(effort: float) -> list[Result]:
    results = []
    for count, target in ((1, 1.8), (10, 1.5), (100, 1.5)):
        function, tensors = of(count), ones(count)
        call = _bound(function, *tensors)
        raw = raw_call(function, *tensors)
        what = "1 tensor" if count == 1 else f"{count} tensors"
        results.append(_over(f"call with {what}", call, raw, target, effort, cost=count**0.6))
    nested = ten_in_a_nest(ones(10))
    function = tf.function(total)
    call, raw = _bound(function, nested), raw_call(function, nested)
    results.append(_over("call with a nest of 10 tensors", call, raw, 1.5, effort, cost=4))
    same = tf.function(lambda given: tf.nest.map_structure(tf.negative, given))
    call, raw = _bound(same, nested), raw_call(same, nested)
    what = "call with a nest of 10 that returns one like it"
    return [*results, _over(what, call, raw, None, effort, cost=8)]


def _spellings(effort: float) -> list[Result]:
    """Other ways to give one or two tensors."""
    x, y = ones(2)
    add = tf.function(lambda a, b: a + b)
    scale = tf.function(lambda a, factor: a * factor)
    scaler = Scaler()
    default = tf.function(lambda a, b=None: -a if b is None else a)
    array = np.ones((2, 2), np.float32)
    negative = tf.function(lambda a: -a)
    two = raw_call(add, x, y)
    one = raw_call(scale, x, 2.0)
    return [
        _over("call with keywords", lambda: add(a=x, b=y), two, None, effort),
        _over("call with a tensor and a Python number", _bound(scale, x, 2.0), one, None, effort),
        _over("call of a method", lambda: scaler.twice(x), raw_call(scaler.twice, x), None, effort),
        _over("call that leaves a default", _bound(default, x), one, None, effort),
        _over("call with an array", _bound(negative, array), one, None, effort),
    ]


def _variables(effort: float) -> list[Result]:
    (x,) = ones(1)
    state = tf.Variable(np.zeros((2, 2), np.float32))
    update = tf.function(lambda a: state.assign_add(a))
    update(x)
    call, raw = _bound(update, x), raw_call(update, x)
    one = _over("call that updates a variable", call, raw, None, effort)
    many = [tf.Variable(np.zeros((2, 2), np.float32)) for _ in range(200)]

    @tf.function
    def step(a: Any) -> None:
        for variable in many:
            variable.assign_add(a)

    step(x)
    both = [_bound(step, x), raw_call(step, x)]
    rounds = _ROUNDS if effort == 1 else 3
    ours, reference = best_of(both, number=max(1, int(40 * effort)), repeats=rounds)
    name = "step that assigns 200 variables"
    note = f"{_ALLOWED:g} us allowed"
    return [
        one,
        Result(name, ours, reference, "us", None, NOTE),
        Result(f"{name}: over ORT", ours - reference, _ALLOWED, "us", 1.0, note),
    ]


def _bound(function: Any, *args: Any) -> Callable[[], Any]:
    """A call of the function with arguments that are there already."""
    return lambda: function(*args)


def _over(
    name: str,
    call: Callable[[], Any],
    raw: Callable[[], Any],
    target: float | None,
    effort: float,
    cost: float = 1.0,
) -> Result:
    """A call beside ONNX Runtime's; ``cost``: how many times longer than the shortest call."""
    number = max(1, int(2_000 * effort / cost))
    # Short rounds, many of them: some fall into moments in which nobody else works.
    ours, reference = best_of([call, raw], number=number, repeats=_ROUNDS if effort == 1 else 3)
    return Result(name, ours, reference, "us", target, NOTE)
