"""Another version of a bundle in an open one: variables swap, sessions stay."""

from __future__ import annotations

import dataclasses
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.loaders.make_bundle import (
    Function,
    constant,
    node,
    rewrite,
    sample_functions,
    sample_variables,
    write_bundle,
)
from tfx.bundle.manifest import Manifest
from tfx.bundle.safetensors import open_safetensors
from tfx.core import errors
from tfx.loaders import Bundle
from tfx.loaders import plan as plan_module
from tfx.loaders.onnx_file import OnnxFile

X = np.ones((2, 4), np.float32)
OFFSET = {"offset": np.array(10, np.int32)}


def version(path: Path, number: float) -> Path:
    """The sample with other variables."""
    values = sample_variables()
    values["dense/kernel"] = np.full((4, 3), number, np.float32)
    values["dense/bias"] = np.full(3, number, np.float32)
    return write_bundle(path, values, sample_functions(), constants=OFFSET)


def logits(bundle: Bundle) -> float:
    out = bundle.call("serving_default", {"x": X})["logits"]
    assert (out == out[0, 0]).all()
    return float(out[0, 0])


@pytest.fixture
def sessions(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Give the sessions that are opened from now on."""
    opened: list[str] = []

    class Session(plan_module.Session):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            opened.append("session")
            super().__init__(*args, **kwargs)

    monkeypatch.setattr(plan_module, "Session", Session)
    return opened


@pytest.mark.parametrize("freeze", [True, False])
@pytest.mark.parametrize("same_folder", [True, False])
def test_variables_swap_and_sessions_stay(
    tmp_path: Path, sessions: list[str], freeze: bool, same_folder: bool
) -> None:
    path = version(tmp_path / "b", 1)
    with Bundle.open(path, freeze=freeze) as bundle:
        assert logits(bundle) == 5
        kept = bundle.variables["dense/kernel"]
        opened = len(sessions)
        for number in range(2, 6):
            there = version(path if same_folder else tmp_path / f"b{number}", number)
            bundle.reload(None if same_folder else there)
            assert logits(bundle) == 5 * number
            assert (bundle.variables["dense/bias"] == number).all()
            assert bundle.path == there
        # One that is fed took the place of the one that held the weights.
        assert len(sessions) == opened + freeze
        assert (kept == 1).all()


def test_what_was_not_open_holds_the_new_weights(tmp_path: Path, sessions: list[str]) -> None:
    with Bundle.open(version(tmp_path / "b", 1)) as bundle:
        bundle.reload(version(tmp_path / "b", 2))
        assert not sessions
        assert logits(bundle) == 10
        function = bundle._functions[0]
        assert function._frozen is not None
        bundle.variables["dense/bias"] = [0, 0, 0]
        assert logits(bundle) == 8
        bundle.reload(version(tmp_path / "b", 3))
        assert logits(bundle) == 15


def test_a_call_that_began_before_takes_no_weights_of_the_new_version(tmp_path: Path) -> None:
    with Bundle.open(version(tmp_path / "b1", 1)) as bundle:
        began = bundle._state.snapshot
        bundle.reload(version(tmp_path / "b2", 2))
        assert logits(bundle) == 10
        function = bundle._functions[0]
        # The session that holds the new weights is for calls with the new values alone.
        assert function.plan(bundle._state.snapshot) is not function.plan(began)
        assert function._open_frozen(began) is None
        assert function.plan(began) is function.live


def test_what_was_trained_is_replaced(tmp_path: Path) -> None:
    with Bundle.open(version(tmp_path / "b", 1)) as bundle:
        given = {"x": X, "y": np.zeros((2, 3), np.float32), "rate": 0.1}
        first = float(bundle.call("train_step", given)["loss"])
        bundle.reload()
        assert bundle.variables["count"] == 0
        assert float(bundle.call("train_step", given)["loss"]) == first
        bundle.reload(version(tmp_path / "other", 2))
        bundle.call("train_step", given)
        bundle.save(tmp_path / "saved")
        kernel = bundle.variables["dense/kernel"]
    with Bundle.open(tmp_path / "saved", verify=True) as again:
        np.testing.assert_array_equal(again.variables["dense/kernel"], kernel)


def edited(**changes: Any) -> Callable[[list[Function]], list[Function]]:
    def change(functions: list[Function]) -> list[Function]:
        return [dataclasses.replace(functions[0], **changes), *functions[1:]]

    return change


def other_graph(functions: list[Function]) -> list[Function]:
    nodes = [*functions[0].nodes[:-1], node("Sub", ["xk", "dense/bias"], ["logits"])]
    return edited(nodes=nodes)(functions)


def same(value: Any) -> Any:
    return value


@pytest.mark.parametrize(
    ("functions", "variables", "constants", "reason"),
    [
        (other_graph, same, same, "the graph 'serving_default.onnx' is another one there"),
        (edited(name="other"), same, same, "it has the signatures 'greet', 'halve', 'other'"),
        (lambda f: f[:-1], same, same, "it has the signatures 'greet', 'halve', 'scaled'"),
        (
            edited(inputs=[("x", "float32", (None, 4))]),
            same,
            same,
            "the function 'serving_default' takes or returns something else there",
        ),
        (
            same,
            lambda v: v | {"half": v["half"].astype(np.float16)},
            same,
            "variable 'half' is float16[4] there, bfloat16[4] here",
        ),
        (
            same,
            lambda v: v | {"labels": v["labels"][:2]},
            same,
            "variable 'labels' is string[2] there, string[3] here",
        ),
        (same, lambda v: v | {"more": np.zeros(2)}, same, "it has the variable 'more'"),
        (
            same,
            same,
            lambda c: {"offset": np.array(11, np.int32)},
            "the constant 'offset' has another value there",
        ),
    ],
    ids=["graph", "name", "fewer", "input", "dtype", "shape", "more", "constant"],
)
def test_other_graphs_are_refused_with_the_reason(
    tmp_path: Path, functions: Any, variables: Any, constants: Any, reason: str
) -> None:
    with Bundle.open(version(tmp_path / "b", 1)) as bundle:
        assert logits(bundle) == 5
        made = functions(sample_functions())
        values = variables(sample_variables())
        if made[0].frozen and "half" in values and values["half"].dtype == np.float16:
            made = [f for f in made if f.name != "halve"]
        if len(values["labels"]) == 2:
            made = [f for f in made if f.name != "greet"]
        other = write_bundle(tmp_path / "other", values, made, constants=constants(OFFSET))
        with pytest.raises(errors.FailedPreconditionError) as caught:
            bundle.reload(other)
        assert str(caught.value).startswith(
            f"{other} cannot be reloaded into the open bundle of {tmp_path / 'b'}: {reason}"
        )
        assert logits(bundle) == 5
        assert bundle.path == tmp_path / "b"


def test_damage_is_noticed_and_nothing_changes(tmp_path: Path, monkeypatch: Any) -> None:
    with Bundle.open(version(tmp_path / "b", 1)) as bundle:
        assert logits(bundle) == 5
        for limit in (1 << 22, 10):  # hashed at once, and as large files are
            monkeypatch.setattr("tfx.bundle.limits.HASH_ON_LOAD_BYTES", limit)
            other = version(tmp_path / f"other{limit}", 2)
            weights = other / "variables" / "model.safetensors"
            data = bytearray(weights.read_bytes())
            data[open_safetensors(weights).entry("dense/kernel").offset] ^= 1
            weights.write_bytes(data)
            with pytest.raises(errors.BundleError, match=r"model\.safetensors: (its SHA|the CRC)"):
                bundle.reload(other)
        with pytest.raises(errors.NotFoundError):
            bundle.reload(tmp_path / "none")
        assert logits(bundle) == 5
    with pytest.raises(errors.FailedPreconditionError, match="was closed"):
        bundle.reload()


def test_a_writer_of_another_version_is_no_other_graph(tmp_path: Path) -> None:
    other = version(tmp_path / "other", 2)
    import onnx

    for file in other.glob("*.onnx"):
        model = onnx.load_model(file, load_external_data=False)
        model.producer_name, model.producer_version = "tfx", "99"
        file.write_bytes(model.SerializeToString())
    rewrite(other, lambda m: dataclasses.replace(m, producer_version="99"))
    with Bundle.open(version(tmp_path / "b", 1)) as bundle:
        bundle.warmup()
        bundle.reload(other)
        assert logits(bundle) == 10


def test_a_string_inside_of_graphs_may_change(tmp_path: Path) -> None:
    values = sample_variables()
    values["labels"] = np.array(["a", "b", "c"], object)
    other = write_bundle(tmp_path / "other", values, sample_functions(), constants=OFFSET)
    with Bundle.open(version(tmp_path / "b", 1)) as bundle:
        call = {"names": ["x"], "suffix": ""}
        assert bundle.call("greet", call)["known"].tolist() == ["zero", "one", "twö"]
        bundle.reload(other)
        assert bundle.call("greet", call)["known"].tolist() == ["a", "b", "c"]


def test_a_model_without_parts_keeps_the_rest() -> None:
    import onnx

    first = onnx.helper.make_tensor("a", 1, [1], [1.0])
    second = onnx.helper.make_tensor("b", 1, [1], [2.0])
    info = onnx.helper.make_tensor_value_info("c", 1, [1])
    graph = onnx.helper.make_graph(
        [node("Add", ["a", "b"], ["c"])], "g", [], [info], [first, second]
    )
    model = onnx.helper.make_model(graph, producer_name="p", ir_version=10)
    one = OnnxFile(model.SerializeToString(), "m").without({"a"})
    first.float_data[0] = 5
    graph = onnx.helper.make_graph(
        [node("Add", ["a", "b"], ["c"])], "g", [], [info], [first, second]
    )
    model = onnx.helper.make_model(graph, producer_name="q", ir_version=10)
    assert OnnxFile(model.SerializeToString(), "m").without({"a"}) == one
    assert OnnxFile(model.SerializeToString(), "m").without({"b"}) != one
    model.ir_version = 9
    assert OnnxFile(model.SerializeToString(), "m").without({"a"}) != one


def test_calls_on_the_way_see_one_version(tmp_path: Path) -> None:
    """a and b are equal in each version, as initializers and as inputs: none is mixed."""
    functions = [
        Function(
            "sum",
            [node("Sub", ["a", "b"], ["d"]), node("ReduceMax", ["a"], ["m"], keepdims=0)],
            [],
            [("d", "int64", (512,)), ("m", "int64", ())],
            frozen=["a"],
            live=["b"],
        ),
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
    ]

    def made(number: int) -> Path:
        values = {name: np.full(512, number, np.int64) for name in "ab"}
        return write_bundle(tmp_path / f"b{number}", values, functions)

    versions = [made(1000 * i) for i in range(3)]
    failures: list[object] = []
    seen: set[int] = set()
    stop = threading.Event()

    def work(bundle: Bundle) -> None:
        try:
            while not stop.is_set():
                out = bundle.call("sum")
                if out["d"].any():
                    failures.append(out)
                seen.add(int(out["m"]) // 1000)
                bundle.call("bump")
        except Exception as error:
            failures.append(error)

    with Bundle.open(versions[0]) as bundle:
        threads = [threading.Thread(target=work, args=(bundle,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for i in range(60):
            bundle.reload(versions[i % 3])
        stop.set()
        for thread in threads:
            thread.join()
    assert not failures
    assert len(seen) > 1


def test_the_folder_of_the_old_version_may_go(tmp_path: Path) -> None:
    with Bundle.open(version(tmp_path / "a", 1)) as bundle:
        assert logits(bundle) == 5
        bundle.reload(version(tmp_path / "b", 2))
        shutil.rmtree(tmp_path / "a")
        assert logits(bundle) == 10
        assert bundle.call("ping")["pong"] == np.float32(1.5)
        bundle.save(tmp_path / "c")


def change_name(manifest: Manifest) -> Manifest:
    return dataclasses.replace(manifest, producer="somebody else")


def test_the_facts_are_those_of_the_new_version(tmp_path: Path) -> None:
    other = version(tmp_path / "b", 2)
    rewrite(other, change_name)
    with Bundle.open(version(tmp_path / "a", 1)) as bundle:
        bundle.reload(other)
        assert bundle.manifest.producer == "somebody else"
        assert str(other) in repr(bundle)
