"""``tf.config``: devices under their logical names, their division, and where the names are."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

import tfx as tf
from tfx.runtime import cuda, devices, logical_devices, threads


@pytest.fixture
def fresh(monkeypatch):
    """Pretend that nothing ran yet in this process."""
    monkeypatch.setattr(logical_devices, "state", logical_devices.State())
    monkeypatch.setattr(threads, "_configured", False)


@pytest.fixture
def gpu(monkeypatch, fresh):
    """Pretend that a GPU works."""
    card = cuda.CudaDevice("Card", (9, 0), 1 << 30)
    monkeypatch.setattr(cuda, "devices", lambda: (card,))
    monkeypatch.setattr(devices, "gpu_trouble", lambda: None)
    return tf.config.list_physical_devices("GPU")[0]


@pytest.fixture
def cpu():
    return tf.config.list_physical_devices("CPU")[0]


def parts(*limits):
    return [tf.config.LogicalDeviceConfiguration(memory_limit=n) for n in limits]


def test_logical_devices() -> None:
    (cpu,) = tf.config.list_logical_devices("CPU")
    assert (cpu.name, cpu.device_type) == ("/device:CPU:0", "CPU")
    assert len(tf.config.list_logical_devices()) == len(tf.config.list_physical_devices())
    with tf.device(cpu.name):
        assert float(tf.constant(1.0) + 1.0) == 2.0


def test_dividing_the_cpu(fresh, cpu) -> None:
    assert tf.config.get_logical_device_configuration(cpu) is None
    tf.config.set_logical_device_configuration(cpu, parts(None, None))
    tf.config.set_logical_device_configuration(cpu, parts(None, None, None))
    assert tf.config.get_logical_device_configuration(cpu) == parts(None, None, None)
    names = [d.name for d in tf.config.list_logical_devices("CPU")]
    assert names == [f"/device:CPU:{i}" for i in range(3)]


def test_it_is_settled_once_devices_are_used(fresh, cpu) -> None:
    tf.config.set_logical_device_configuration(cpu, parts(None, None))
    tf.config.list_logical_devices()
    tf.config.set_logical_device_configuration(cpu, parts(None, None))  # the same: nothing to do
    with pytest.raises(RuntimeError, match="cannot be modified after being initialized"):
        tf.config.set_logical_device_configuration(cpu, parts(None))
    tf.config.set_visible_devices(cpu, "CPU")
    with pytest.raises(RuntimeError, match="cannot be modified after being initialized"):
        tf.config.set_visible_devices([], "CPU")


def test_a_session_settles_it(monkeypatch, fresh, cpu) -> None:
    monkeypatch.setattr(threads, "_configured", True)
    with pytest.raises(RuntimeError, match="before the first operation"):
        tf.config.set_logical_device_configuration(cpu, parts(None, None))


def test_divisions_that_cannot_be(fresh, cpu, gpu) -> None:
    for wrong, reason in ((parts(10), "memory limit on CPU"), ([], "no parts")):
        with pytest.raises(ValueError, match=reason):
            tf.config.set_logical_device_configuration(cpu, wrong)
    with pytest.raises(ValueError, match="needs a memory_limit"):
        tf.config.set_logical_device_configuration(gpu, parts(10, None))
    unknown = tf.config.PhysicalDevice("/physical_device:CPU:7", "CPU")
    for call in (
        lambda: tf.config.set_logical_device_configuration(unknown, parts(None)),
        lambda: tf.config.get_logical_device_configuration(unknown),
        lambda: tf.config.set_visible_devices(unknown),
        lambda: tf.config.set_visible_devices(cpu, "GPU"),
        lambda: tf.config.experimental.get_device_details(unknown),
        lambda: tf.config.experimental.get_memory_growth(unknown),
    ):
        with pytest.raises(ValueError, match="Unrecognized device"):
            call()


def test_a_divided_gpu(gpu) -> None:
    tf.config.experimental.set_virtual_device_configuration(gpu, parts(100, 200))
    assert tf.config.experimental.get_virtual_device_configuration(gpu) == parts(100, 200)
    names = [d.name for d in tf.config.list_logical_devices("GPU")]
    assert names == ["/device:GPU:0", "/device:GPU:1"]
    with pytest.raises(ValueError, match="virtual devices configured"):
        tf.config.experimental.set_memory_growth(gpu, True)


def test_visible_devices(gpu, cpu) -> None:
    assert tf.config.get_visible_devices() == tf.config.list_physical_devices() == [cpu, gpu]
    tf.config.set_visible_devices([], "GPU")
    assert tf.config.get_visible_devices() == [cpu]
    assert [d.name for d in tf.config.list_logical_devices()] == ["/device:CPU:0"]
    assert tf.config.list_physical_devices("GPU") == [gpu]
    tf.config.set_soft_device_placement(False)
    with pytest.raises(tf.errors.InvalidArgumentError, match="no such device"):
        tf.device("/GPU:0").__enter__()
    assert tf.config.experimental.list_physical_devices("CPU") == [cpu]


def test_memory_growth(gpu, cpu) -> None:
    assert tf.config.experimental.get_memory_growth(gpu) is False
    tf.config.experimental.set_memory_growth(gpu, True)
    assert tf.config.experimental.get_memory_growth(gpu) is True
    with pytest.raises(ValueError, match="Cannot set memory growth"):
        tf.config.experimental.set_memory_growth(cpu, True)


def test_details(gpu, cpu) -> None:
    assert tf.config.experimental.get_device_details(cpu) == {}
    assert tf.config.experimental.get_device_details(gpu) == {
        "device_name": "Card",
        "compute_capability": (9, 0),
        "memory": 1 << 30,
    }


def test_memory(gpu, monkeypatch) -> None:
    info = tf.config.experimental.get_memory_info
    assert info("CPU:0") == {"current": 0, "peak": 0}
    used = iter([5, 9, 7, 7, 7])
    monkeypatch.setattr(cuda, "memory_in_use", lambda number: (next(used), 100))
    assert [info("GPU:0") for _ in range(3)] == [
        {"current": 5, "peak": 5},
        {"current": 9, "peak": 9},
        {"current": 7, "peak": 9},
    ]
    tf.config.experimental.reset_memory_stats("GPU:0")
    assert info("GPU:0") == {"current": 7, "peak": 7}
    assert tf.config.experimental.get_memory_usage("GPU:0") == 7
    tf.config.experimental.reset_memory_stats("CPU:0")
    for name, reason in (("GPU:4", "No matching devices"), ("gpu", "Failed parsing")):
        with pytest.raises(ValueError, match=reason):
            info(name)


def test_soft_placement(fresh) -> None:
    assert tf.config.get_soft_device_placement() is True
    tf.config.set_soft_device_placement(False)
    assert tf.config.get_soft_device_placement() is False


def test_precision(gpu) -> None:
    def options():
        return devices.providers_for("GPU:0")[0][1]

    assert tf.config.experimental.tensor_float_32_execution_enabled()
    assert options()["use_tf32"] == "1"
    tf.config.experimental.enable_tensor_float_32_execution(False)
    assert not tf.config.experimental.tensor_float_32_execution_enabled()
    assert options()["use_tf32"] == "0"


def test_determinism(monkeypatch) -> None:
    monkeypatch.setattr(logical_devices, "state", logical_devices.State())
    tf.config.experimental.enable_op_determinism()
    assert logical_devices.state.deterministic
    f = tf.function(lambda x: tf.nn.relu(x) * 2.0)
    assert f(tf.constant([-1.0, 2.0])).numpy().tolist() == [0.0, 4.0]


def test_execution_is_synchronous() -> None:
    assert tf.config.experimental.get_synchronous_execution()
    tf.config.experimental.set_synchronous_execution(None)
    with pytest.raises(ValueError, match="synchronous"):
        tf.config.experimental.set_synchronous_execution(False)


def test_threads_are_settled_by_the_first_session() -> None:
    """In a process of its own, as programs do it."""
    program = """
        import tfx as tf
        threading = tf.config.threading
        threading.set_inter_op_parallelism_threads(3)
        threading.set_intra_op_parallelism_threads(2)
        cpu, = tf.config.list_physical_devices("CPU")
        tf.config.set_logical_device_configuration(
            cpu, [tf.config.LogicalDeviceConfiguration()] * 2
        )
        with tf.device("/CPU:1"):
            print((tf.constant(1.0) + 1.0).device[-5:])
        threading.set_inter_op_parallelism_threads(3)
        for change in (
            lambda: threading.set_inter_op_parallelism_threads(2),
            lambda: threading.set_intra_op_parallelism_threads(1),
            lambda: tf.config.set_logical_device_configuration(cpu, None),
        ):
            try:
                change()
            except RuntimeError:
                print("refused")
        print(threading.get_inter_op_parallelism_threads())
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["CPU:1", "refused", "refused", "refused", "3"]


def test_older_names() -> None:
    tf.config.experimental_run_functions_eagerly(True)
    assert tf.config.functions_run_eagerly()
    tf.config.experimental_run_functions_eagerly(False)
    assert not tf.config.experimental_functions_run_eagerly()
