"""LoRA: the same numbers as the summed weight in every use, and nothing but the adapter trained."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest

import tfx as tf
from tests.unit.importing.samples import constant, make, node, value
from tfx import adapt
from tfx.adapt import adapter as adapter_module


def _numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


class Weights(tf.Module):
    """One matrix, one filter, one table, one bias."""

    def __init__(self) -> None:
        super().__init__("weights")
        self.kernel = tf.Variable(_numbers(6, 4, seed=1), name="kernel")
        self.filter = tf.Variable(_numbers(3, 3, 2, 5, seed=2), name="filter")
        self.bias = tf.Variable(_numbers(4, seed=3), name="bias")


USES: dict[str, tuple[tuple[int, ...], Callable[[Weights, Any], Any]]] = {
    "product": ((5, 6), lambda m, x: x @ m.kernel + m.bias),
    "batch": ((2, 5, 6), lambda m, x: tf.matmul(x, m.kernel)),
    "transposed": ((5, 4), lambda m, x: tf.matmul(x, m.kernel, transpose_b=True)),
    "transposed batch": ((2, 3, 4), lambda m, x: tf.matmul(x, m.kernel, transpose_b=True)),
    "both transposed": ((4, 5), lambda m, x: tf.matmul(x, m.kernel, True, True)),
    "from the left": ((4, 3), lambda m, x: tf.matmul(m.kernel, x)),
    "turned left": ((6, 3), lambda m, x: tf.matmul(tf.transpose(m.kernel), x)),
    "tensordot": ((2, 5, 6), lambda m, x: tf.tensordot(x, m.kernel, 1)),
    "einsum": ((2, 5, 6), lambda m, x: tf.einsum("bti,io->bto", x, m.kernel)),
    "lookup": ((3,), lambda m, x: tf.gather(m.kernel, tf.cast(tf.abs(x) % 6.0, tf.int32))),
    "convolution": ((2, 6, 7, 2), lambda m, x: tf.nn.conv2d(x, m.filter, 2, "SAME")),
    "elementwise": ((6, 4), lambda m, x: tf.tanh(m.kernel * x)),
    "squared": ((5, 6), lambda m, x: x @ m.kernel @ tf.transpose(m.kernel)),
    "part": ((5, 3), lambda m, x: x @ m.kernel[:3]),
}


def _adapted() -> tuple[Weights, adapt.Lora]:
    model = Weights()
    adapter = adapt.lora(model, 2, ["kernel", "filter"], alpha=3.0)
    for i, v in enumerate(adapter.b.values()):
        v.assign(_numbers(*v.shape.as_list(), seed=10 + i))
    return model, adapter


def _merged(adapter: adapt.Lora, model: Weights) -> Weights:
    """The same weights summed up in float64, in a module of its own."""
    other = Weights()
    for name in adapter.targets:
        change = adapter.a[name].numpy().astype(float) @ adapter.b[name].numpy().astype(float)
        getattr(other, name).assign(getattr(model, name).numpy() + 1.5 * change)
    return other


@pytest.mark.parametrize("use", USES)
def test_each_use_of_a_weight_is_that_of_the_sum(use: str) -> None:
    shape, run = USES[use]
    model, adapter = _adapted()
    x = tf.constant(_numbers(*shape, seed=5))
    expected = run(_merged(adapter, model), x)
    np.testing.assert_allclose(tf.function(lambda x: run(model, x))(x), expected, atol=1e-4)
    np.testing.assert_allclose(run(model, x), expected, atol=1e-4)


@pytest.mark.parametrize(
    "run",
    [
        lambda m: tf.ones([2, 6], tf.int32) @ tf.cast(m.kernel, tf.int32),
        lambda m: tf.gather(tf.cast(m.kernel, tf.bool), [0, 5]),
    ],
    ids=["int32", "bool"],
)
def test_a_cast_that_cuts_off_is_that_of_the_sum(run: Callable[[Weights], Any]) -> None:
    model, adapter = _adapted()
    found = tf.function(lambda: run(model))()
    np.testing.assert_array_equal(found, run(_merged(adapter, model)))


@pytest.mark.parametrize("use", USES)
def test_gradients_are_those_of_the_sum(use: str) -> None:
    shape, run = USES[use]
    model, adapter = _adapted()
    x = tf.constant(_numbers(*shape, seed=5))
    other = _merged(adapter, model)
    name = "filter" if use == "convolution" else "kernel"
    weight = getattr(other, name)

    def grads(variables: list[Any], of: Weights) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(run(of, x)))
        return tape.gradient(loss, variables)

    (whole,) = grads([weight], other)
    whole = tf.convert_to_tensor(whole).numpy().astype(float)
    a, b = adapter.a[name].numpy().astype(float), adapter.b[name].numpy().astype(float)
    expected = [1.5 * whole @ b.T, 1.5 * np.tensordot(a, whole, [range(a.ndim - 1)] * 2)]
    variables = [adapter.a[name], adapter.b[name]]
    for found in (tf.function(lambda: grads(variables, model))(), grads(variables, model)):
        for g, e in zip(found, expected, strict=True):
            dense = tf.convert_to_tensor(g).numpy()
            np.testing.assert_allclose(dense, e, rtol=1e-3, atol=1e-3 * np.abs(e).max())


def test_the_sum_and_its_gradient_do_not_exist() -> None:
    model, _ = _adapted()

    @tf.function(input_signature=[tf.TensorSpec([None, 6])])
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(x @ model.kernel))
        return tape.gradient(loss, [model.lora.a["kernel"], model.lora.b["kernel"]])

    graph = step.as_onnx().graph
    sizes = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in graph.value_info}
    assert [6, 4] not in sizes.values()
    assert not any(n.op_type in ("MatMul", "Gemm") and len(n.input) > 2 for n in graph.node)
    # x W; two thin products; two to each factor's gradient.
    products = [n for n in graph.node if n.op_type in ("MatMul", "Gemm")]
    assert len(products) == 6


def test_nothing_changes_at_first_and_only_the_adapter_is_trained() -> None:
    model = Weights()
    run = tf.function(lambda x: x @ model.kernel + model.bias)
    x = tf.constant(_numbers(5, 6))
    before = run(x).numpy()
    kernel = model.kernel.numpy()
    adapter = adapt.lora(model, 2, "kernel")
    np.testing.assert_array_equal(run(x), before)
    assert run.experimental_get_tracing_count() == 2
    assert len(model.trainable_variables) == 2
    step = adapt.train_step(
        model, "mse", "sgd", call=run, inputs=[tf.TensorSpec([None, 6], name="x")]
    )
    losses = [float(step(x, np.zeros((5, 4), np.float32))["loss"]) for _ in range(5)]
    assert losses[-1] < losses[0]
    np.testing.assert_array_equal(model.kernel, kernel)
    assert np.abs(run(x).numpy() - before).max() > 1e-4
    adapter.remove()
    np.testing.assert_array_equal(run(x), before)
    assert len(model.trainable_variables) == 3


def test_calls_inside_of_functions_are_adapted_once() -> None:
    model, adapter = _adapted()
    x = tf.constant(_numbers(5, 6))
    inner = tf.function(lambda x: x @ model.kernel)

    @tf.function
    def outer(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(inner(x))
        return inner(x), tape.gradient(loss, adapter.b["kernel"])

    y, grad = outer(x)
    merged = _merged(adapter, model)
    np.testing.assert_allclose(y, x @ merged.kernel, atol=1e-5)
    a = adapter.a["kernel"].numpy()
    np.testing.assert_allclose(grad, 1.5 * (x.numpy() @ a).T @ np.ones((5, 4)), rtol=1e-4)
    looped = tf.function(
        lambda x: tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y @ model.kernel @
        tf.transpose(model.kernel) * 0.01), [0, x])[1]
    )  # fmt: skip
    expected = x.numpy()
    for _ in range(3):
        expected = expected @ merged.kernel.numpy() @ merged.kernel.numpy().T * 0.01
    np.testing.assert_allclose(looped(x), expected, rtol=1e-4, atol=1e-5)


def test_tied_weights_stay_tied() -> None:
    model, adapter = _adapted()
    tied = tf.function(lambda i: tf.gather(model.kernel, i) @ tf.transpose(model.kernel))
    merged = _merged(adapter, model).kernel.numpy()
    index = tf.constant([0, 5, 2])
    np.testing.assert_allclose(tied(index), merged[[0, 5, 2]] @ merged.T, atol=1e-4)
    assert adapter.targets.count("kernel") == 1


def test_adapters_are_switched_disabled_and_let_go() -> None:
    model, adapter = _adapted()
    run = tf.function(lambda x: x @ model.kernel)
    x = tf.constant(_numbers(5, 6))
    first = run(x).numpy()
    plain = x.numpy() @ model.kernel.numpy()
    adapter.add("second", alpha=8)
    assert adapter.active == "second"
    assert adapter.alpha == 8
    np.testing.assert_allclose(run(x), plain, atol=1e-5)
    adapter.b["kernel"].assign(tf.ones([2, 4]))
    second = run(x).numpy()
    adapter.switch("default")
    np.testing.assert_array_equal(run(x), first)
    adapter.switch("second")
    np.testing.assert_array_equal(run(x), second)
    with adapter.disabled():
        np.testing.assert_allclose(run(x), plain, atol=1e-5)
    np.testing.assert_array_equal(run(x), second)
    assert run.experimental_get_tracing_count() == 1
    with pytest.raises(tf.errors.InvalidArgumentError, match="'second' is active"):
        adapter.discard("second")
    adapter.discard("default")
    assert adapter.names == ["second"]
    with pytest.raises(tf.errors.InvalidArgumentError, match="there is no adapter 'default'"):
        adapter.switch("default")


@pytest.mark.parametrize("keep", [True, False])
def test_merging_and_back(keep: bool) -> None:
    model, adapter = _adapted()
    run = tf.function(lambda x: x @ model.kernel)
    x = tf.constant(_numbers(5, 6))
    before, kernel = run(x).numpy(), model.kernel.numpy()
    adapter.merge(keep=keep)
    assert adapter.is_merged
    np.testing.assert_allclose(model.kernel, _merged_kernel(kernel, adapter), atol=1e-5)
    np.testing.assert_allclose(run(x), before, atol=1e-5)
    for action in (adapter.merge, lambda: adapter.add("other"), lambda: adapter.switch("other")):
        with pytest.raises(tf.errors.FailedPreconditionError, match="merged into the weights"):
            action()
    adapter.unmerge()
    if keep:
        np.testing.assert_array_equal(model.kernel.numpy(), kernel)
        np.testing.assert_array_equal(run(x), before)
    np.testing.assert_allclose(model.kernel.numpy(), kernel, atol=1e-5)
    with pytest.raises(tf.errors.FailedPreconditionError, match="nothing is merged"):
        adapter.unmerge()


def _merged_kernel(kernel: np.ndarray, adapter: adapt.Lora) -> np.ndarray:
    return kernel + 1.5 * adapter.a["kernel"].numpy() @ adapter.b["kernel"].numpy()


def test_what_was_trained_while_merged_stays() -> None:
    model, adapter = _adapted()
    kernel = model.kernel.numpy()
    adapter.merge()
    model.kernel.assign_add(tf.ones([6, 4]))
    adapter.unmerge()
    np.testing.assert_allclose(model.kernel.numpy(), kernel + 1.0, atol=1e-5)


@pytest.mark.parametrize("action", ["merge", "unmerge"])
def test_a_step_that_comes_while_weights_are_merged_is_not_lost(
    action: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, adapter = _adapted()
    if action == "unmerge":
        adapter.merge(keep=False)
    kernel = model.kernel.numpy()
    step = tf.function(lambda: model.kernel.assign_add(tf.ones([6, 4])).stored_value())
    steps: list[threading.Thread] = []
    plain = adapter_module.factored

    def while_another_trains(*arguments: Any) -> Any:
        found = plain(*arguments)
        if not steps and arguments[0].shape == [
            6,
            4,
        ]:  # between the read of the weight and its new value
            steps.append(threading.Thread(target=step))
            steps[0].start()
            steps[0].join(0.5)
        return found

    step()
    monkeypatch.setattr(adapter_module, "factored", while_another_trains)
    getattr(adapter, action)()
    assert steps
    steps[0].join(30)
    monkeypatch.undo()
    if action == "merge":
        adapter.unmerge()
        np.testing.assert_allclose(model.kernel.numpy(), kernel + 2.0, atol=1e-4)
    else:
        expected = kernel + 2.0 - (_merged_kernel(kernel, adapter) - kernel)
        np.testing.assert_allclose(model.kernel.numpy(), expected, atol=1e-4)


def test_threads_merge_once() -> None:
    model, adapter = _adapted()
    kernel = model.kernel.numpy()
    start, said = threading.Barrier(4), []

    def merge() -> None:
        start.wait()
        try:
            adapter.merge()
        except tf.errors.FailedPreconditionError as e:
            said.append(str(e))

    threads = [threading.Thread(target=merge) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(said) == 3
    np.testing.assert_allclose(model.kernel, _merged_kernel(kernel, adapter), atol=1e-5)
    adapter.unmerge()
    np.testing.assert_array_equal(model.kernel.numpy(), kernel)


def test_blocks_of_disabled_that_overlap() -> None:
    model, adapter = _adapted()
    adapter.add("other", alpha=9.0)
    adapter.switch("default")
    scale = float(adapter.scale)
    first, second = adapter.disabled(), adapter.disabled()
    with first:
        second.__enter__()
        for action in (adapter.merge, lambda: adapter.switch("other"), lambda: adapter.add("new")):
            with pytest.raises(tf.errors.FailedPreconditionError, match="while it is disabled"):
                action()
        copied = copy.deepcopy(model).lora
    assert float(adapter.scale) == 0.0  # the other block goes on
    second.__exit__(None, None, None)
    assert float(adapter.scale) == scale != 0.0
    adapter.switch("other")
    assert float(copied.scale) == scale  # a copy is not in the block
    copied.switch("other")
    assert float(copied.scale) == float(adapter.scale)


def test_what_a_weight_and_its_stored_value_are() -> None:
    model, adapter = _adapted()
    kernel = model.kernel.numpy()
    effective = _merged_kernel(kernel, adapter)
    assert not np.allclose(kernel, effective)
    np.testing.assert_array_equal(model.kernel.stored_value(), kernel)
    np.testing.assert_allclose(model.kernel.value().numpy(), effective, atol=1e-5)
    np.testing.assert_allclose(tf.convert_to_tensor(model.kernel), effective, atol=1e-5)


@pytest.mark.parametrize("way", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_have_adapters_of_their_own(way: Callable[[Any], Any]) -> None:
    model, adapter = _adapted()
    adapter.add("other")
    adapter.switch("default")
    x = tf.constant(_numbers(5, 6))
    expected = (x @ model.kernel).numpy()
    other = way(model)
    np.testing.assert_allclose(x @ other.kernel, expected, atol=1e-6)
    adapter.b["kernel"].assign(tf.zeros([2, 4]))
    np.testing.assert_allclose(x @ other.kernel, expected, atol=1e-6)
    assert other.lora.names == ["default", "other"]
    assert len(other.trainable_variables) == 4


def test_an_imported_model_in_all_its_operators() -> None:
    w, f, table = _numbers(4, 3), _numbers(2, 3, 3, seed=1), _numbers(6, 4, seed=2)
    proto = make(
        [
            node("Gather", ["table", "ids"], ["rows"]),
            node("Gemm", ["rows", "w", "c"], ["y"], alpha=0.5, beta=2.0),
            node("Gemm", ["y", "w"], ["z"], transB=1),
            node("Unsqueeze", ["y", "axis"], ["y3"]),
            node("Transpose", ["y3"], ["turned"], perm=[0, 2, 1]),
            node("Conv", ["turned", "f"], ["conv"], pads=[1, 1]),
        ],
        [value("ids", ["n"], onnx.TensorProto.INT64)],
        [value("z", ["n", 4]), value("conv", [1, 2, "n"])],
        [
            constant("table", table),
            constant("w", w),
            constant("c", _numbers(3)),
            constant("f", f),
            constant("axis", np.array([0])),
        ],
    )
    model = tf.import_onnx(proto)
    adapter = adapt.lora(model, 2, ["w", "f", "table"])
    assert adapter.output_axes == {"w": 1, "f": 0, "table": 1}
    for i, v in enumerate(adapter.b.values()):
        v.assign(_numbers(*v.shape.as_list(), seed=20 + i))
    ids = tf.constant([3, 0, 5, 5], tf.int64)
    found = model(ids)
    assert "Gemm" in {n.op_type for n in model.function.as_onnx().graph.node}
    other = tf.import_onnx(proto)
    for name in adapter.targets:
        change = adapter.a[name].numpy() @ adapter.b[name].numpy()
        change = np.moveaxis(change, -1, adapter.output_axes[name])
        other.weights[name].assign_add(change)
    for key, expected in other(ids).items():
        np.testing.assert_allclose(found[key], expected, rtol=1e-4, atol=1e-4)


def test_bundles_and_checkpoints_have_the_adapter(tmp_path: Any) -> None:
    model = Weights()
    adapter = adapt.lora(model, 2, "kernel", alpha=3.0)
    adapter.b["kernel"].assign(_numbers(2, 4))
    optimizer = tf.optimizers.Adam(0.1)
    model.optimizer = optimizer
    spec = tf.TensorSpec([None, 6], name="x")
    serve = tf.function(lambda x: {"y": x @ model.kernel}, input_signature=[spec])
    model.serve = serve
    step = adapt.train_step(model, "mse", optimizer, call=serve, output="y")
    x, label = tf.constant(_numbers(5, 6)), tf.zeros([5, 4])
    tf.saved_model.save(model, tmp_path / "b", signatures={"serve": serve, "train_step": step})
    loaded = tf.saved_model.load(tmp_path / "b")
    kernel = loaded.kernel.numpy()
    losses = [float(loaded.signatures["train_step"](x=x, label=label)["loss"]) for _ in range(3)]
    expected = [float(step(x, label)["loss"]) for _ in range(3)]
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    np.testing.assert_array_equal(loaded.kernel.numpy(), kernel)
    checkpoint = tf.train.Checkpoint(adapter=adapter, optimizer=optimizer)
    path = checkpoint.save(str(tmp_path / "c"))
    names = [n for n, _ in tf.train.list_variables(path)]
    assert not any(n.endswith("kernel") and "/a/" not in n and "/b/" not in n
                   and "optimizer" not in n for n in names)  # fmt: skip
    held = serve(x)["y"].numpy()
    adapter.b["kernel"].assign(tf.zeros([2, 4]))
    checkpoint.restore(path).assert_consumed()
    np.testing.assert_array_equal(serve(x)["y"], held)
    with pytest.raises(tf.errors.InvalidArgumentError, match="was loaded from a bundle"):
        adapt.lora(loaded, 1, "kernel", name="more")


def test_half_precision() -> None:
    model = tf.Module()
    model.kernel = tf.Variable(tf.cast(_numbers(6, 4), tf.float16))
    adapter = adapt.lora(model, 2)
    assert adapter.a["kernel"].dtype == tf.float16
    x = tf.cast(_numbers(5, 6), tf.float16)
    y = tf.function(lambda x: x @ model.kernel)(x)
    assert y.dtype == tf.float16
    np.testing.assert_allclose(y, x.numpy() @ model.kernel.numpy(), atol=1e-2)
    cast = tf.function(lambda x: x @ tf.cast(model.kernel, tf.float32))
    assert cast(tf.cast(x, tf.float32)).dtype == tf.float32


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "rank": ({"rank": 0}, "rank is 0, expected a whole number"),
    "no number": ({"rank": "8"}, "rank is '8'"),
    "too large": ({"rank": 7}, r"rank is 7, more than any size of 'kernel'"),
    "target": ({"targets": "kernle"}, r"did you mean 'kernel'\?"),
    "bias": ({"targets": "bias"}, "'bias', which is no weight of two or more axes"),
    "function": ({"targets": lambda name: False}, "says no to every weight"),
    "kind": ({"targets": 3}, "targets is 3, expected a name"),
    "alpha": ({"alpha": -1.0}, "alpha is -1.0, expected a positive number"),
    "name": ({"name": "bias"}, "has an attribute 'bias' already"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said(case: str) -> None:
    given, message = WRONG[case]
    model = Weights()
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        adapt.lora(model, **({"rank": 2, "targets": "kernel"} | given))
    assert len(model.trainable_variables) == 3
    assert not hasattr(model, "lora")


def test_it_is_attached_once_and_outside_of_functions() -> None:
    model, _ = _adapted()
    with pytest.raises(tf.errors.FailedPreconditionError, match="'kernel' has an adapter already"):
        adapt.lora(model, 2, "kernel", name="second")
    with pytest.raises(tf.errors.FailedPreconditionError, match="call it from eager code"):
        tf.function(lambda: adapt.lora(Weights(), 2))()
    with pytest.raises(tf.errors.FailedPreconditionError, match="while a function is traced"):
        tf.function(lambda: model.lora.switch("default"))()
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"expected a tfx\.Module"):
        adapt.lora(object(), 2)  # type: ignore[arg-type]


def test_copies_made_while_it_is_disabled_are_not() -> None:
    model = tf.Module()
    model.kernel = tf.Variable(tf.ones([4, 3]))
    adapter = tf.adapt.lora(model, rank=2)
    adapter.b["kernel"].assign(tf.ones([2, 3]))
    expected = model.kernel.value().numpy()
    with adapter.disabled():
        copies = [copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
        for other in copies:
            np.testing.assert_array_equal(other.kernel.value(), expected)
    for other in [model, *copies]:
        np.testing.assert_array_equal(other.kernel.value(), expected)
        with other.lora.disabled():
            np.testing.assert_array_equal(other.kernel.value(), tf.ones([4, 3]))


def test_threads_that_switch_to_the_same_adapter() -> None:
    model = tf.Module()
    model.kernel = tf.Variable(tf.ones([4, 3]))
    adapter = tf.adapt.lora(model, rank=1)
    adapter.add("german")

    def work(number: int) -> None:
        for i in range(40):
            adapter.switch(("default", "german")[(i + number) % 2])

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(adapter.names) == ["default", "german"]
