"""IO binding: the code path of GPUs, driven on the CPU, gives what the plain call gives."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnxruntime.capi import onnxruntime_pybind11_state as ort

from tests.unit.runtime.pretended_gpu import pretended_gpu
from tfx.runtime import cuda_graphs, values
from tfx.runtime import session as sessions
from tfx.runtime.cuda_graphs import CapturingRunner
from tfx.runtime.io_binding import BoundRunner
from tfx.runtime.options import RUN_OPTIONS
from tfx.runtime.session import Session
from tfx.runtime.values import CPU_DEVICE, from_numpy, to_numpy


def model(*nodes, outputs=("sum", "product"), shape=(None,)):
    """Make a model of x and y, serialized."""
    nodes = nodes or (
        helper.make_node("Add", ["x", "y"], ["sum"]),
        helper.make_node("Mul", ["x", "y"], ["product"]),
    )
    inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n in "xy"]
    made = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs]
    graph = helper.make_graph(list(nodes), "g", inputs, made)
    opset = [helper.make_opsetid("", 21)]
    return helper.make_model(graph, opset_imports=opset, ir_version=10).SerializeToString()


def feeds(x, y):
    return {"x": from_numpy(np.float32(x)), "y": from_numpy(np.float32(y))}


def arrays(found):
    return [to_numpy(v).tolist() for v in found]


@pytest.fixture
def inference():
    return Session(model())._inference


def test_the_same_as_the_plain_call(inference):
    bound = BoundRunner(inference, CPU_DEVICE)
    given = feeds([1, 2], [3, 4])
    found = bound(given, ["product", "sum"], RUN_OPTIONS)
    assert arrays(found) == [[3, 8], [4, 6]]
    plain = inference._sess.run_with_ort_values(given, ["product", "sum"], RUN_OPTIONS)
    assert arrays([plain[0], plain[1]]) == arrays(found)


def test_results_do_not_change_with_the_next_run(inference):
    """What a binding gives out are views of it: ONNX Runtime's next run overwrites them."""
    bound = BoundRunner(inference, CPU_DEVICE)
    first = bound(feeds([1, 2], [3, 4]), ["sum"], RUN_OPTIONS)
    for _ in range(5):
        bound(feeds([10, 20], [30, 40]), ["sum"], RUN_OPTIONS)
    assert arrays(first) == [[4, 6]]


def test_results_outlive_session_and_inputs():
    session = Session(model())
    bound = BoundRunner(session._inference, CPU_DEVICE)
    array = np.full(1000, 2.0, np.float32)
    died = weakref.ref(array)
    given = {"x": from_numpy(array, owned=True), "y": from_numpy(np.ones(1000, np.float32))}
    found = bound(given, ["sum"], RUN_OPTIONS)
    del session, bound, given, array
    gc.collect()
    assert died() is None, "a result keeps the inputs of its call alive"
    np.testing.assert_array_equal(to_numpy(found[0]), np.full(1000, 3.0))


def test_strings_stay_on_the_host():
    node = helper.make_node("Identity", ["s"], ["t"])
    info = [helper.make_tensor_value_info(n, TensorProto.STRING, [None]) for n in "st"]
    graph = helper.make_graph([node], "g", info[:1], info[1:])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    inference = Session(made.SerializeToString())._inference
    nowhere = ort.OrtDevice(ort.OrtDevice.gpu(), ort.OrtDevice.default_memory(), 99)
    bound = BoundRunner(inference, nowhere)
    (found,) = bound({"s": from_numpy(np.array(["a", "b"]))}, ["t"], RUN_OPTIONS)
    assert to_numpy(found).tolist() == [b"a", b"b"]


def test_failures_are_those_of_the_session(inference):
    bound = BoundRunner(inference, CPU_DEVICE)
    with pytest.raises(Exception, match=r"broadcast|dimension") as caught:
        bound(feeds([1, 2], [1, 2, 3]), ["sum"], RUN_OPTIONS)
    assert isinstance(sessions.translate(caught.value), sessions.errors.OpError)


# Captured graphs, without CUDA: the run option means nothing to the CPU provider, so every
# "replay" is a run on the buffers that stay.


@pytest.fixture
def plain():
    """Give a maker of ordinary sessions that counts."""

    def make():
        make.calls += 1
        return BoundRunner(Session(model())._inference, CPU_DEVICE)

    make.calls = 0
    return make


@pytest.fixture
def capturing(inference, plain):
    return CapturingRunner(inference, CPU_DEVICE, "CPU:0", plain)


def test_a_graph_is_captured_after_two_calls_of_one_shape(capturing):
    results = [capturing(feeds([i, 2], [3, i]), ["sum", "product"], RUN_OPTIONS) for i in range(6)]
    assert capturing.captured() == 1
    for i, found in enumerate(results):  # all of them: buffers are not handed out
        assert arrays(found) == [[i + 3, 2 + i], [3 * i, 2 * i]]


def test_a_graph_for_each_combination_of_shapes_up_to_a_limit(capturing):
    for _ in range(3):
        for n in range(1, cuda_graphs.MAX_GRAPHS + 3):
            found = capturing(feeds([1] * n, [2] * n), ["sum"], RUN_OPTIONS)
            assert arrays(found) == [[3] * n]
    assert capturing.captured() == cuda_graphs.MAX_GRAPHS


def test_other_outputs_are_another_graph(capturing):
    for _ in range(3):
        assert arrays(capturing(feeds([1], [2]), ["sum"], RUN_OPTIONS)) == [[3]]
        assert arrays(capturing(feeds([1], [2]), ["product"], RUN_OPTIONS)) == [[2]]
    assert capturing.captured() == 2


def test_a_failed_capture_falls_back_for_good(capturing, plain, monkeypatch):
    def refuse(self, feeds):
        raise RuntimeError("operation not permitted when stream is capturing")

    monkeypatch.setattr(cuda_graphs._Captured, "run", refuse)
    for i in range(4):
        assert arrays(capturing(feeds([i], [2]), ["sum"], RUN_OPTIONS)) == [[i + 2]]
    assert (plain.calls, capturing.captured()) == (1, 0)


def test_the_users_errors_are_no_failed_captures(capturing, plain):
    for _ in range(4):
        with pytest.raises(Exception, match=r"broadcast|dimension"):
            capturing(feeds([1, 2], [1, 2, 3]), ["sum"], RUN_OPTIONS)
    assert arrays(capturing(feeds([1], [2]), ["sum"], RUN_OPTIONS)) == [[3]]
    assert plain.calls == 0


def test_host_memory_is_not_captured(inference):
    assert not cuda_graphs.can_be_captured(inference)


# Sessions on a GPU that is none.


@pytest.fixture
def pretended(monkeypatch):
    """What the GPU that the CPU plays was asked for."""
    with pretended_gpu(monkeypatch) as asked:
        yield asked


def test_a_session_on_a_gpu_is_bound(pretended):
    session = Session(model(), device="GPU:0")
    assert isinstance(getattr(session.run_raw, "plain", session.run_raw), BoundRunner)
    assert pretended == [("GPU:0", {})]
    assert arrays(session.run(feeds([1], [2]))) == [[3], [2]]
    assert values.gpu_in_use
    assert [row[1:] for row in session.assignments()] == [
        ("Add", "CPUExecutionProvider"),
        ("Mul", "CPUExecutionProvider"),
    ]


def test_capturing_is_tried_where_it_is_asked_for(pretended, monkeypatch):
    session = Session(model(), device="GPU:0", capture=True)
    assert [extra for _, extra in pretended] == [{"enable_cuda_graph": "1"}, {}]
    monkeypatch.setattr(sessions, "can_be_captured", lambda inference: True)
    session = Session(model(), device="GPU:0", capture=True)
    runner = getattr(session.run_raw, "plain", session.run_raw)
    assert isinstance(runner, CapturingRunner)
    for i in range(4):
        assert arrays(session.run(feeds([i], [2]))) == [[i + 2], [i * 2]]
    assert runner.captured() == 1


def test_a_model_that_cannot_be_captured_runs_without(pretended, monkeypatch):
    compiled = sessions._compile

    def refusing(source, options, device, extra=None, *, folds=True):
        if extra:
            raise sessions.errors.InternalError("has control flow nodes")
        return compiled(source, options, device, extra, folds=folds)

    monkeypatch.setattr(sessions, "_compile", refusing)
    session = Session(model(), device="GPU:0", capture=True)
    assert arrays(session.run(feeds([1], [2]))) == [[3], [2]]


def test_sessions_on_the_cpu_bring_values_home_once_a_gpu_is_used(pretended, monkeypatch):
    before = Session(model())
    brought = []
    monkeypatch.setattr(
        sessions, "copy_to_device", lambda value, device: brought.append(device) or value
    )
    before.run(feeds([1], [2]))
    assert brought == []
    values.note_gpu()
    before.run(feeds([1], [2]))
    Session(model()).run(feeds([1], [2]))
    assert brought == ["CPU:0"] * 4


def test_a_provider_that_did_not_start_is_an_error():
    class Inference:
        def get_providers(self):
            return ["CPUExecutionProvider"]

    with pytest.raises(sessions.errors.NotFoundError, match=r"'/GPU:3'.*could not be started"):
        sessions._require_provider(Inference(), "GPU:3")
