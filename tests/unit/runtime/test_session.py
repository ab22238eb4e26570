"""Sessions: private ways with a public fallback, errors as ours, nothing on stderr."""

from __future__ import annotations

import gc
import time
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper
from onnxruntime.capi import onnxruntime_pybind11_state as ort

from tfx.core import errors
from tfx.core.refusals import Refusal
from tfx.runtime import session as sessions
from tfx.runtime.options import RUN_OPTIONS
from tfx.runtime.session import Session
from tfx.runtime.string_model import constant_model
from tfx.runtime.values import from_numpy, to_numpy


def _model(op="MatMul", initializer=None, **attrs):
    inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [None, None]) for n in "ab"]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(
        [helper.make_node(op, ["a", "b"], ["y"], **attrs)], "g", inputs, [output]
    )
    if initializer is not None:
        del graph.input[1]
        tensor = TensorProto(name="b", data_type=1, dims=initializer, data_location=1)
        for key, value in (("location", "elsewhere"), ("offset", "0"), ("length", "0")):
            tensor.external_data.add(key=key, value=value)
        graph.initializer.append(tensor)
    opset = [helper.make_opsetid("", 21)]
    return helper.make_model(graph, opset_imports=opset, ir_version=10).SerializeToString()


def _ones(*shape):
    return from_numpy(np.ones(shape, np.float32))


def test_run():
    session = Session(_model())
    assert (session.input_names, session.output_names) == (["a", "b"], ["y"])
    (y,) = session.run({"a": _ones(2, 3), "b": _ones(3, 4)})
    np.testing.assert_array_equal(to_numpy(y), np.full((2, 4), 3.0))


def test_model_file(tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(_model())
    assert Session(path).input_names == ["a", "b"]


def test_the_private_call_is_still_there():
    """If this fails, look for the new way to run on C-level values without a copy."""
    raw = onnxruntime.InferenceSession(_model(), providers=["CPUExecutionProvider"])._sess
    assert callable(raw.run_with_ort_values)


def test_the_public_way_gives_the_same():
    session = Session(_model())
    feeds = {"a": _ones(2, 3), "b": _ones(3, 4)}
    run = sessions._binding_runner(session._inference)
    (public,) = run(feeds, session.output_names, RUN_OPTIONS)
    np.testing.assert_array_equal(to_numpy(public), to_numpy(session.run(feeds)[0]))


def test_the_public_way_is_taken_without_the_private_one():
    class Moved:
        pass

    assert sessions._raw_runner(Moved()).__qualname__.startswith("_binding_runner")


def test_initializers_are_shared_and_kept_alive(rng):
    weights = rng.normal(size=(200, 300)).astype(np.float32)
    value = from_numpy(weights)
    session = Session(_model(initializer=(200, 300)), initializers={"b": value}, prepack=False)
    del value
    gc.collect()
    x = rng.normal(size=(5, 200)).astype(np.float32)
    (y,) = session.run({"a": from_numpy(x)})
    np.testing.assert_allclose(to_numpy(y), x @ weights, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("feeds", "message"),
    [
        ({"a": _ones(2, 3), "b": _ones(2, 3)}, "dimension mismatch"),
        ({"a": _ones(2, 3)}, "b"),
        ({"a": _ones(2, 3), "b": from_numpy(np.ones((3, 1)))}, "double"),
    ],
)
def test_bad_feeds(feeds, message, capfd):
    with pytest.raises(errors.InvalidArgumentError, match=message):
        Session(_model()).run(feeds)
    assert capfd.readouterr() == ("", "")


def test_bad_models(capfd, tmp_path):
    with pytest.raises(errors.DataLossError):
        Session(b"not a model")
    with pytest.raises(errors.NotFoundError):
        Session(tmp_path / "missing.onnx")
    with pytest.raises(errors.OpError):
        Session(_model("NoSuchOperator"))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("theirs", "message", "ours"),
    [
        (ort.InvalidArgument, "x", errors.InvalidArgumentError),
        (ort.NotImplemented, "x", errors.UnimplementedError),
        (ort.NoSuchFile, "x", errors.NotFoundError),
        (ort.InvalidProtobuf, "x", errors.DataLossError),
        (ort.RuntimeException, "x", errors.InvalidArgumentError),
        (ort.Fail, "x", errors.InternalError),
        (ort.Fail, "Non-zero status code returned while running Add", errors.InvalidArgumentError),
        (
            ort.RuntimeException,
            "Failed to allocate memory for 8 bytes",
            errors.ResourceExhaustedError,
        ),
        (ort.Fail, "std::bad_alloc", errors.ResourceExhaustedError),
        (  # a GPU's share of memory is used up
            ort.Fail,
            "BFCArena: Available memory of 536854528 is smaller than requested bytes of 4294967296",
            errors.ResourceExhaustedError,
        ),
        (KeyError, "x", errors.InternalError),
    ],
)
def test_translate(theirs, message, ours):
    assert type(sessions.translate(theirs(message))) is ours


def test_a_refusal_is_said_first_and_names_the_operation():
    message = f"node Name:'n' less than -1, got {Refusal.DEPTH.dimension}"
    found = sessions.translate(ort.RuntimeException(message))
    assert type(found) is errors.InvalidArgumentError
    assert found.message == f"depth must be non-negative in OneHot. {message}"
    assert found.op == "OneHot"
    assert sessions.kernel_reason(found.message) == "depth must be non-negative in OneHot"


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (
            "[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : Non-zero status code returned while "
            "running MatMul node. Name:'MatMul' Status Message: matmul_helper.h:59 Compute MatMul "
            "dimension mismatch",
            "MatMul dimension mismatch",
        ),
        ("a\nx.cc:5 f(int) i < n was false. indices out of bounds", "indices out of bounds"),
        ("plain", "plain"),
        ("", ""),
    ],
)
def test_kernel_reason(message, reason):
    assert sessions.kernel_reason(message) == reason


def test_profile(tmp_path):
    session = Session(_model(), profile_prefix=str(tmp_path / "profile"))
    session.run({"a": _ones(2, 3), "b": _ones(3, 4)})
    assert "MatMul" in Path(session.end_profiling()).read_text()


def test_a_provider_that_is_not_active_is_an_error():
    class OnCpu:
        def get_providers(self):
            return ["CPUExecutionProvider"]

    with pytest.raises(errors.NotFoundError, match=r"'/GPU:0'.*active: CPUExecutionProvider.*pip"):
        sessions._require_provider(OnCpu(), "GPU:0")


def test_onnx_agrees_with_the_hand_written_constant_model():
    """The models that string tensors come from are written without onnx."""
    from tfx.runtime.string_model import constant_model

    proto = onnx.ModelProto.FromString(constant_model([b"a", b"\xc3\xa9"], (2, 1)))
    onnx.checker.check_model(proto)
    assert list(proto.graph.node[0].attribute[0].t.string_data) == [b"a", b"\xc3\xa9"]


def test_a_model_that_is_run_once_needs_no_whole_session(monkeypatch):
    model = constant_model([b"a", b"\xc3\xa9"], (2, 1))

    def seconds(work):
        found = []
        for _ in range(7):
            began = time.perf_counter()
            for _ in range(20):
                work()
            found.append(time.perf_counter() - began)
        return min(found)

    assert to_numpy(sessions.run_once(model)).tolist() == [[b"a"], ["é".encode()]]
    assert seconds(lambda: sessions.run_once(model)) < 0.7 * seconds(lambda: Session(model).run({}))

    def moved(*_):
        raise TypeError("another signature")

    monkeypatch.setattr(sessions._ort, "InferenceSession", moved)
    monkeypatch.setattr(sessions, "Session", lambda model: FakeSession())
    assert sessions.run_once(model) == "by the public way"


class FakeSession:
    def run(self, feeds):
        return ["by the public way"]
