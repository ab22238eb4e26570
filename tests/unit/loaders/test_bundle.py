"""An open bundle: calls against NumPy, state, and what it opens when."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.unit.loaders.make_bundle import Function, constant, node, sample_variables, write_bundle
from tfx.core import errors
from tfx.loaders import Bundle
from tfx.loaders import plan as plan_module


def batch(rng: np.random.Generator, rows: int = 5) -> np.ndarray[Any, Any]:
    return rng.standard_normal((rows, 4)).astype(np.float32)


def test_a_reader_gives_what_numpy_gives(bundle: Bundle, rng: np.random.Generator) -> None:
    x, v = batch(rng), sample_variables()
    out = bundle.call("serving_default", {"x": x})
    assert list(out) == ["logits"]
    np.testing.assert_allclose(out["logits"], x @ v["dense/kernel"] + v["dense/bias"], rtol=1e-5)


@pytest.mark.parametrize("rows", [0, 1, 7])
def test_a_symbolic_dimension_takes_any_size(bundle: Bundle, rows: int) -> None:
    x = np.ones((rows, 4), np.float32)
    assert bundle.call("serving_default", {"x": x})["logits"].shape == (rows, 3)


def test_signatures_tell_what_they_take_and_give(bundle: Bundle) -> None:
    info = bundle.signatures["train_step"]
    assert [(n, i.dtype, i.shape) for n, i in info.inputs.items()] == [
        ("x", "float32", ("batch", 4)),
        ("y", "float32", ("batch", 3)),
        ("rate", "float32", ()),
    ]
    assert info.updates == ("dense/kernel", "dense/bias", "count")
    assert bundle.signatures["scaled"].reads == ("dense/bias",)
    assert str(bundle.signatures["ping"]) == "ping() -> pong: float32[]"
    assert str(info) == (
        "train_step(x: float32[batch, 4], y: float32[batch, 3], rate: float32[]) -> loss: float32[]"
    )


def test_python_values_take_the_declared_dtype(bundle: Bundle) -> None:
    out = bundle.call("shift", {"i": [1, 2, 3]})
    assert out["shifted"].dtype == np.int32
    assert out["shifted"].tolist() == [11, 12, 13]
    assert out["nothing"].shape == (0, 2)


def test_strings(bundle: Bundle) -> None:
    out = bundle.call("greet", {"names": np.array(["ann", "bö"]), "suffix": "!"})
    assert out["greeting"].tolist() == ["ann!", "bö!"]
    assert out["known"].tolist() == ["zero", "one", "twö"]
    assert bundle.variables["labels"].tolist() == ["zero", "one", "twö"]


def test_bfloat16(bundle: Bundle) -> None:
    h = np.array([1, 2, 3, 4], ml_dtypes.bfloat16)
    expected = (h.astype(np.float32) * sample_variables()["half"].astype(np.float32)).astype(
        h.dtype
    )
    out = bundle.call("halve", {"h": h})["out"]
    assert out.dtype == h.dtype
    np.testing.assert_array_equal(out, expected)


def test_results_belong_to_the_caller(bundle: Bundle) -> None:
    first = bundle.call("serving_default", {"x": [[1, 2, 3, 4]]})["logits"]
    kept = first.copy()
    first += 1
    assert not np.array_equal(first, kept)
    np.testing.assert_array_equal(
        bundle.call("serving_default", {"x": [[1, 2, 3, 4]]})["logits"], kept
    )


def test_a_train_step_trains_and_readers_follow(bundle: Bundle, rng: np.random.Generator) -> None:
    x = batch(rng, 64)
    y = (x @ rng.standard_normal((4, 3)) + 0.5).astype(np.float32)
    before = bundle.variables["dense/kernel"]
    kept = before.copy()
    bundle.call("serving_default", {"x": x})  # a frozen session is open by now
    losses = [
        float(bundle.call("train_step", {"x": x, "y": y, "rate": 0.3})["loss"]) for _ in range(200)
    ]
    assert losses[-1] < 1e-3 < losses[0]
    assert bundle.variables["count"] == 200
    v = bundle.variables
    out = bundle.call("serving_default", {"x": x})["logits"]
    np.testing.assert_allclose(out, x @ v["dense/kernel"] + v["dense/bias"], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(out, y, atol=0.1)
    np.testing.assert_array_equal(before, kept)  # what was read stays as it was


def test_a_step_computes_the_gradient(bundle: Bundle, rng: np.random.Generator) -> None:
    x, y = batch(rng).astype(np.float64), rng.standard_normal((5, 3))
    k, b = (sample_variables()[f"dense/{n}"].astype(np.float64) for n in ("kernel", "bias"))
    error = x @ k + b - y
    gradient = 2 * error / error.size
    given = {"x": x.astype(np.float32), "y": y.astype(np.float32), "rate": 0.1}
    loss = bundle.call("train_step", given)["loss"]
    np.testing.assert_allclose(loss, np.mean(error**2), rtol=1e-5)
    np.testing.assert_allclose(
        bundle.variables["dense/kernel"], k - 0.1 * x.T @ gradient, rtol=1e-4, atol=1e-5
    )
    np.testing.assert_allclose(
        bundle.variables["dense/bias"], b - 0.1 * gradient.sum(0), rtol=1e-4, atol=1e-5
    )


def test_opening_opens_no_session(sample_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[int] = []

    class Session(plan_module.Session):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            opened.append(1)
            super().__init__(*args, **kwargs)

    monkeypatch.setattr(plan_module, "Session", Session)
    with Bundle.open(sample_path) as bundle:
        _ = bundle.variables["dense/kernel"]
        assert not opened
        bundle.call("ping")
        bundle.call("ping")
        assert len(opened) == 1
        bundle.warmup("serving_default")
        assert len(opened) == 2
        bundle.warmup()
        assert len(opened) == len(bundle.signatures)


def test_files_are_those_of_the_manifest(bundle: Bundle) -> None:
    paths = {item.path for item in bundle.files}
    assert {"serving_default.onnx", "serving_default.live.onnx"} <= paths
    assert "variables/model.safetensors" in paths


def test_a_closed_bundle_says_so(sample_path: Path, tmp_path: Path) -> None:
    bundle = Bundle.open(sample_path)
    kernel = bundle.variables["dense/kernel"]
    bundle.close()
    bundle.close()
    for use in (
        lambda: bundle.call("ping"),
        lambda: bundle.variables["count"],
        lambda: bundle.variables.assign({"count": 3}),
        lambda: bundle.save(tmp_path / "again"),
        lambda: bundle.warmup(),
    ):
        with pytest.raises(errors.FailedPreconditionError, match="was closed; open it again"):
            use()
    np.testing.assert_array_equal(kernel, sample_variables()["dense/kernel"])
    assert "closed" in repr(bundle)


def test_unknown_signature_names_the_nearest(bundle: Bundle) -> None:
    with pytest.raises(
        errors.NotFoundError, match="no signature 'serving'; did you mean 'serving_"
    ):
        bundle.call("serving", {})
    with pytest.raises(errors.NotFoundError, match="no signature 'zzz'; there are: 'serving_def"):
        bundle.warmup("zzz")


def test_unknown_device_is_told_before_anything_is_read(sample_path: Path) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="device specification '/TPU:0'"):
        Bundle.open(sample_path, device="TPU:0")


def test_a_failed_call_leaves_the_variables(tmp_path: Path) -> None:
    # The kernel fails after the new value of the variable was computed.
    function = Function(
        "step",
        [
            constant("one", np.float32(1)),
            node("Add", ["v", "one"], ["v_new"]),
            node("Reshape", ["v_new", "shape"], ["out"]),
        ],
        [("shape", "int64", (None,))],
        [("out", "float32", None)],
        live=["v"],
        updates={"v_new": "v"},
    )
    path = write_bundle(tmp_path / "b", {"v": np.zeros(6, np.float32)}, [function])
    with Bundle.open(path) as bundle:
        assert bundle.call("step", {"shape": [2, 3]})["out"].shape == (2, 3)
        with pytest.raises(
            errors.InvalidArgumentError, match="signature 'step' failed at node 'Re"
        ):
            bundle.call("step", {"shape": [4, 4]})
        assert bundle.variables["v"].tolist() == [1] * 6


def test_an_update_of_another_shape_is_refused(tmp_path: Path) -> None:
    function = Function(
        "step",
        [node("Concat", ["v", "x"], ["v_new"], axis=0)],
        [("x", "float32", (None,))],
        [],
        live=["v"],
        updates={"v_new": "v"},
    )
    values = {"v": np.zeros(2, np.float32)}
    path = write_bundle(tmp_path / "open", values, [function], shapes={"v": (None,)})
    with Bundle.open(path) as bundle:
        bundle.call("step", {"x": [1]})
        assert bundle.variables["v"].tolist() == [0, 0, 1]
        bundle.call("step", {"x": [2]})
        assert bundle.variables["v"].tolist() == [0, 0, 1, 2]

    def lie(manifest: Any) -> Any:
        import dataclasses

        variable = dataclasses.replace(manifest.variables[0], shape=(2,))
        return dataclasses.replace(manifest, variables=(variable,))

    from tests.unit.loaders.make_bundle import rewrite

    rewrite(path, lie)
    with Bundle.open(path) as bundle:
        with pytest.raises(
            errors.InvalidArgumentError, match=r"came as float32\[3\], expected flo"
        ):
            bundle.call("step", {"x": [1]})
        assert bundle.variables["v"].tolist() == [0, 0]


def test_an_output_that_is_an_input_is_copied(tmp_path: Path) -> None:
    function = Function("same", [], [("x", "float32", ("n",))], [("x", "float32", ("n",))])
    path = write_bundle(tmp_path / "b", {}, [function])
    with Bundle.open(path) as bundle:
        x = np.ones(3, np.float32)
        out = bundle.call("same", {"x": x})["x"]
        out[:] = 7
        assert x.tolist() == [1, 1, 1]


def test_threads_see_whole_states(tmp_path: Path) -> None:
    # a and b are always replaced together; a reader must never see them differ.
    functions = [
        Function(
            "bump",
            [
                constant("one", np.int64(1)),
                node("Add", ["a", "one"], ["a_new"]),
                node("Add", ["b", "one"], ["b_new"]),
            ],
            [],
            [],
            live=["a", "b"],
            updates={"a_new": "a", "b_new": "b"},
        ),
        Function(
            "difference",
            [node("Sub", ["a", "b"], ["d"])],
            [],
            [("d", "int64", (512,))],
            frozen=["a", "b"],
        ),
    ]
    values = {name: np.zeros(512, np.int64) for name in "ab"}
    path = write_bundle(tmp_path / "b", values, functions)
    failures: list[object] = []

    def work(bundle: Bundle, name: str, count: int) -> None:
        try:
            for _ in range(count):
                out = bundle.call(name)
                if name == "difference" and out["d"].any():
                    failures.append(out)
        except Exception as error:
            failures.append(error)

    with Bundle.open(path) as bundle:
        names = ["bump", "difference"] * 3
        threads = [threading.Thread(target=work, args=(bundle, name, 150)) for name in names]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures
        assert (bundle.variables["a"] == 450).all()


def test_two_bundles_do_not_share_state(sample_path: Path) -> None:
    with Bundle.open(sample_path) as one, Bundle.open(sample_path) as other:
        one.variables["count"] = 5
        assert one.variables["count"] == 5
        assert other.variables["count"] == 0


def test_a_relative_path_survives_a_change_of_folder(
    sample_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(sample_path.parent)
    bundle = Bundle.open("bundle")
    monkeypatch.chdir(tmp_path)
    assert bundle.call("ping")["pong"] == np.float32(1.5)
    bundle.close()


def test_lazy_names() -> None:
    import tfx.loaders as loaders

    assert "summarize" in dir(loaders)
    with pytest.raises(AttributeError, match="has no attribute 'Bundel'; did you mean 'Bundle'"):
        loaders.Bundel  # noqa: B018
