"""Device names as TensorFlow spells them, and providers only where they exist."""

from __future__ import annotations

import onnxruntime
import pytest

from tfx.core.errors import InvalidArgumentError, NotFoundError
from tfx.runtime import devices


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("/CPU:0", "CPU:0"),
        ("/cpu:0", "CPU:0"),
        ("cpu", "CPU:0"),
        ("CPU", "CPU:0"),
        ("/device:CPU:0", "CPU:0"),
        ("/job:localhost/replica:0/task:0/device:CPU:0", "CPU:0"),
        ("/GPU:1", "GPU:1"),
        ("gpu:3", "GPU:3"),
        ("cuda:2", "GPU:2"),
        ("/device:GPU:0", "GPU:0"),
    ],
)
def test_names(name, canonical):
    assert devices.parse_device(name) == canonical


@pytest.mark.parametrize("name", ["", "/", "tpu", "/CPU:x", "CPU:0:1", "/job:localhost", "GPU:-1"])
def test_no_names(name):
    with pytest.raises(InvalidArgumentError, match=r"is not a device name; expected .*'/CPU:0'"):
        devices.parse_device(name)


def test_full_names_are_names():
    assert devices.parse_device(devices.full_name("GPU:2")) == "GPU:2"


def test_there_is_a_cpu():
    assert devices.list_physical_devices()[0] == devices.PhysicalDevice(
        "/physical_device:CPU:0", "CPU"
    )
    assert all(d.device_type == "CPU" for d in devices.list_physical_devices("cpu"))
    assert devices.providers_for("CPU:0") == ["CPUExecutionProvider"]


def test_no_gpu_without_its_provider(monkeypatch):
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: ["CPUExecutionProvider"])
    assert devices.list_physical_devices("GPU") == []
    with pytest.raises(NotFoundError, match=r"'/GPU:0' was asked for.*pip install"):
        devices.providers_for("GPU:0")


def test_gpus_are_counted_by_what_works(monkeypatch):
    """The list of providers names CUDA where there is no device; execution devices tell."""
    providers = ["CUDAExecutionProvider", "CPUExecutionProvider"]
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: providers)

    def unknown():
        raise RuntimeError("no such call")

    monkeypatch.setattr(onnxruntime, "get_ep_devices", unknown, raising=False)
    assert devices.list_physical_devices("GPU") == []
    assert devices.providers_for("GPU:1") == [
        ("CUDAExecutionProvider", {"device_id": "1"}),
        "CPUExecutionProvider",
    ]
