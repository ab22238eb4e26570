"""Device names as TensorFlow spells them, which devices there are, and what leads to them."""

from __future__ import annotations

import logging

import pytest

from tfx.core.errors import InvalidArgumentError, OpError
from tfx.runtime import cuda, devices, gpu_diagnosis, logical_devices


@pytest.fixture
def state(monkeypatch):
    """Give a configuration of this test's own."""
    fresh = logical_devices.State()
    monkeypatch.setattr(logical_devices, "state", fresh)
    return fresh


@pytest.fixture
def two_gpus(monkeypatch, state):
    """Pretend that two GPUs work."""
    found = tuple(cuda.CudaDevice(f"Card {i}", (9, 0), 1 << 30) for i in range(2))
    monkeypatch.setattr(cuda, "devices", lambda: found)
    monkeypatch.setattr(devices, "gpu_trouble", lambda: None)


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("/CPU:0", "CPU:0"),
        ("/cpu:0", "CPU:0"),
        ("cpu", "CPU:0"),
        ("CPU", "CPU:0"),
        ("CPU:*", "CPU:0"),
        ("CPU:01", "CPU:1"),
        ("/device:CPU:0", "CPU:0"),
        ("/job:localhost/replica:0/task:0/device:CPU:0", "CPU:0"),
        ("/cpu:1/job:localhost", "CPU:1"),
        ("/GPU:1", "GPU:1"),
        ("gpu:3", "GPU:3"),
        ("cuda:2", "GPU:2"),
        ("/device:GPU:0", "GPU:0"),
    ],
)
def test_names(name, canonical):
    assert devices.parse_device(name) == canonical


@pytest.mark.parametrize(
    "name",
    ["", "/", "xpu", "/CPU:x", "CPU:0:1", "/job:localhost", "GPU:-1", "/device:CPU", "/CPU/GPU"],
)
def test_no_names(name):
    with pytest.raises(InvalidArgumentError, match=r"is not a device name; expected .*'/CPU:0'"):
        devices.parse_device(name)


@pytest.mark.parametrize("name", ["/job:worker/CPU:0", "/task:1/CPU:0", "/replica:2/cpu"])
def test_devices_of_other_processes(name):
    with pytest.raises(InvalidArgumentError, match=r"not a device of this process.*available"):
        devices.parse_device(name)


def test_full_names_are_names():
    assert devices.parse_device(devices.full_name("GPU:2")) == "GPU:2"


def test_there_is_a_cpu():
    assert devices.list_physical_devices()[0] == devices.PhysicalDevice(
        "/physical_device:CPU:0", "CPU"
    )
    assert all(d.device_type == "CPU" for d in devices.list_physical_devices("cpu"))
    assert devices.providers_for("CPU:0") == ["CPUExecutionProvider"]
    assert devices.list_physical_devices("TPU") == []


def test_a_number_too_high_lists_what_there_is(three_cpus):
    devices.require("CPU:2")
    with pytest.raises(InvalidArgumentError, match=r"'/CPU:3'.*device:CPU:0, .*device:CPU:2\]"):
        devices.require("CPU:3")


def test_a_gpu_that_cannot_be_had(monkeypatch, state):
    monkeypatch.setattr(devices, "gpu_trouble", lambda: "libcublas.so.13 is missing.")
    assert devices.list_physical_devices("GPU") == []
    state.soft = False
    for asked in (devices.require, devices.providers_for, devices.place):
        with pytest.raises(OpError, match=r"'/GPU:0' was asked for, but libcublas"):
            asked("GPU:0")


def test_soft_placement_says_it_once(monkeypatch, state, caplog):
    monkeypatch.setattr(devices, "gpu_trouble", lambda: "there is none.")
    state.soft = True
    with caplog.at_level(logging.WARNING, logger="tfx"):
        assert devices.place("GPU:0") == devices.place("GPU:0") == "CPU:0"
        assert devices.place("CPU:7") == "CPU:0"
    told = [r.getMessage() for r in caplog.records]
    assert len(told) == 2
    assert "'/CPU:0' takes the place of '/GPU:0'" in told[0]
    assert "there is none" in told[0]


def test_providers_of_gpus(two_gpus):
    assert [d.name for d in devices.list_physical_devices("GPU")] == [
        "/physical_device:GPU:0",
        "/physical_device:GPU:1",
    ]
    (provider, options), cpu = devices.providers_for("GPU:1", {"enable_cuda_graph": "1"})
    assert (provider, cpu) == ("CUDAExecutionProvider", "CPUExecutionProvider")
    assert options["device_id"] == "1"
    assert options["enable_cuda_graph"] == "1"
    assert "gpu_mem_limit" not in options
    with pytest.raises(InvalidArgumentError, match=r"no such device.*device:GPU:1\]"):
        devices.require("GPU:2")


def test_a_divided_gpu(two_gpus, state):
    first, second = devices.list_physical_devices("GPU")
    parts = (
        logical_devices.LogicalDeviceConfiguration(512),
        logical_devices.LogicalDeviceConfiguration(256),
    )
    state.divisions[first] = parts
    assert logical_devices.count("GPU", devices.list_physical_devices) == 3
    numbers = [devices.physical_gpu(f"GPU:{i}") for i in range(3)]
    assert numbers == [0, 0, 1]
    options = devices.providers_for("GPU:1")[0][1]
    assert (options["device_id"], options["gpu_mem_limit"]) == ("0", str(256 << 20))
    assert devices.gpu_name(1) == "GPU:2"
    state.visible["GPU"] = (second,)
    assert devices.physical_gpu("GPU:0") == 1
    assert devices.gpu_name(1) == "GPU:0"


def test_the_diagnosis_is_that_of_this_machine():
    trouble = gpu_diagnosis.gpu_trouble()
    assert bool(trouble) == (not devices.list_physical_devices("GPU"))
