"""Values on devices: where they are, and copies only where one is needed."""

from __future__ import annotations

import ctypes

import ml_dtypes
import numpy as np
import pytest
from onnxruntime.capi import onnxruntime_pybind11_state as ort

from tfx.core.errors import InternalError, ResourceExhaustedError
from tfx.runtime import cuda, memory, session, values
from tfx.runtime.values import from_numpy, to_numpy


class Card:
    """A value that says that it is on a GPU; its memory is the host's."""

    def __init__(self, value, number=0):
        self.value, self.number = value, number

    def device_name(self):
        return "Cuda"

    def __dlpack_device__(self):
        return (2, self.number)

    def __getattr__(self, name):
        return getattr(self.value, name)


@pytest.fixture
def card(monkeypatch):
    """Pretend that there are GPUs; their copies are counted."""
    copies = []

    def copy(pairs):
        for target, source in pairs:
            copies.append((values.device_of(source), values.device_of(target)))
            ctypes.memmove(target.data_ptr(), source.data_ptr(), source.tensor_size_in_bytes())

    def allocate(shape, kind, number):
        return Card(
            ort.OrtValue.ortvalue_from_shape_and_onnx_type(shape, kind, values.CPU_DEVICE), number
        )

    monkeypatch.setattr(cuda, "copy_contents", copy)
    monkeypatch.setattr(cuda, "allocate", allocate)
    monkeypatch.setattr(values, "gpu_in_use", True)
    return copies


def test_the_host_is_one_place():
    value = from_numpy(np.float32([1, 2]))
    assert values.device_of(value) == "CPU:0"
    for name in ("CPU:0", "CPU:1", "CPU:7"):
        assert values.copy_to_device(value, name) is value


def test_there_and_back(card, rng):
    array = rng.normal(size=(3, 4)).astype(np.float32)
    away = values.copy_to_device(from_numpy(array), "GPU:1")
    assert values.device_of(away) == "GPU:1"
    assert values.copy_to_device(away, "GPU:1") is away
    other = values.copy_to_device(away, "GPU:0")
    home = values.copy_to_device(other, "CPU:2")
    assert values.device_of(home) == "CPU:0"
    np.testing.assert_array_equal(to_numpy(home), array)
    assert card == [("CPU:0", "GPU:1"), ("GPU:1", "GPU:0"), ("GPU:0", "CPU:0")]


def test_types_that_numpy_lacks_are_read_from_a_gpu(card):
    array = np.array([1.5, -2], ml_dtypes.bfloat16)
    away = values.copy_to_device(from_numpy(array), "GPU:0")
    np.testing.assert_array_equal(to_numpy(away), array)
    assert card[-1] == ("GPU:0", "CPU:0")


def test_strings_stay(card):
    assert session  # which makes values of strings
    value = from_numpy(np.array(["a"]))
    assert values.copy_to_device(value, "GPU:0") is value
    assert card == []


def test_duplicates_have_memory_of_their_own(card):
    value = from_numpy(np.float32([1, 2]))
    (copy,) = values.duplicates([value])
    assert copy.data_ptr() != value.data_ptr()
    values.copy_contents(value, from_numpy(np.float32([5, 6])))
    np.testing.assert_array_equal(to_numpy(copy), [1, 2])
    away = values.copy_to_device(value, "GPU:0")
    assert [values.device_of(v) for v in values.duplicates([away, value])] == ["GPU:0", "CPU:0"]


def test_initializers_are_lent_from_the_host(card):
    away = values.copy_to_device(from_numpy(np.float32([1, 2])), "GPU:0")
    alias, _ = memory.lend(away)
    np.testing.assert_array_equal(to_numpy(alias), [1, 2])


class Runtime:
    """CUDA's runtime library, as far as it is called."""

    def __init__(self, status=0):
        self.status, self.calls = status, []

    def cudaMemcpyAsync(self, target, source, size, kind, stream):
        self.calls.append((size, kind))
        if not self.status:
            ctypes.memmove(target, source, size)
        return self.status

    def cudaStreamSynchronize(self, stream):
        self.calls.append("synchronized")
        return 0

    def cudaGetErrorString(self, status):
        return b"out of memory" if status == 2 else b"invalid argument"


class RuntimeWithBatches(Runtime):
    """One that takes many copies at once, from some version on."""

    def __init__(self, version, batch_status=0):
        super().__init__()
        self.version, self.batch_status = version, batch_status

    def cudaRuntimeGetVersion(self, number):
        number._obj.value = self.version
        return 0

    def cudaMemcpyBatchAsync(self, targets, sources, sizes, count, attributes, *rest):
        self.calls.append(("batch", count.value, attributes._obj.order, len(rest)))
        if not self.batch_status:
            for i in range(count.value):
                ctypes.memmove(targets[i], sources[i], sizes[i])
        return self.batch_status

    def cudaGetLastError(self):
        self.calls.append("cleared")
        return self.batch_status


def copied(library, monkeypatch, *, within=True, calls=1):
    monkeypatch.setattr(cuda, "_runtime", lambda: library)
    cuda._copy_many.cache_clear()
    monkeypatch.setattr(cuda, "_stream_of_copies", lambda index: ctypes.c_void_p(1))
    sources = [from_numpy(np.float32([1, 2, 3])), from_numpy(np.int64([7]))]
    targets = [values.empty(v.shape(), v.element_type(), "CPU:0") for v in sources]
    copies = cuda.RepeatedCopies([v.tensor_size_in_bytes() for v in sources], 0)
    for _ in range(calls):
        places = [[v.data_ptr() for v in side] for side in (targets, sources)]
        copies.run(*places, within=within)
    cuda._copy_many.cache_clear()
    for target, source in zip(targets, sources, strict=True):
        np.testing.assert_array_equal(to_numpy(target), to_numpy(source))
    return library.calls


@pytest.mark.parametrize(("version", "rest"), [(13000, 3), (12080, 4)])
def test_copies_on_a_gpu_are_one_call(monkeypatch, version, rest):
    calls = copied(RuntimeWithBatches(version), monkeypatch)
    assert calls == [("batch", 2, 1, rest), "synchronized"]


def test_copies_are_single_where_they_have_to_be(monkeypatch):
    single = [(12, 4), (8, 4), "synchronized"]
    assert copied(RuntimeWithBatches(12070), monkeypatch) == single
    assert copied(RuntimeWithBatches(13000), monkeypatch, within=False) == single


def test_copies_that_were_refused_together_are_made_one_by_one_from_then_on(monkeypatch):
    single = [(12, 4), (8, 4), "synchronized"]
    calls = copied(RuntimeWithBatches(13000, batch_status=1), monkeypatch, calls=2)
    assert calls == [("batch", 2, 1, 3), "cleared", *single, *single]


def test_copies_by_cuda_are_done_on_return(monkeypatch):
    library = Runtime()
    monkeypatch.setattr(cuda, "_runtime", lambda: library)
    source = from_numpy(np.float64([1, 2, 3]))
    target = values.empty([3], source.element_type(), "CPU:0")
    other = values.empty([1], source.element_type(), "CPU:0")
    cuda.copy_contents([(target, source), (target, from_numpy(np.zeros(0))), (other, other)])
    assert library.calls == [(24, 4), (8, 4), "synchronized"]
    np.testing.assert_array_equal(to_numpy(target), [1, 2, 3])


@pytest.mark.parametrize(
    ("status", "kind"), [(1, InternalError), (2, ResourceExhaustedError)], ids=["bad", "full"]
)
def test_cudas_reasons(monkeypatch, status, kind):
    monkeypatch.setattr(cuda, "_runtime", lambda: Runtime(status))
    value = from_numpy(np.float64([1]))
    with pytest.raises(kind, match=r"CUDA could not copy 8 bytes: (out of|invalid)"):
        cuda.copy_contents([(value, value)])


def test_memory_of_a_gpu_that_is_not_there():
    if cuda.devices():
        pytest.skip("there is one")
    with pytest.raises(ResourceExhaustedError, match=r"GPU:0 has no memory .* shape \[2\]"):
        cuda.allocate([2], 1, 0)


def test_when_a_gpu_comes_into_use_it_is_told_once(monkeypatch):
    told = []
    monkeypatch.setattr(values, "gpu_in_use", False)
    monkeypatch.setattr(values, "_when_gpu_used", [])
    values.when_gpu_used(lambda: told.append(1))
    values.note_gpu()
    values.note_gpu()
    assert (told, values.gpu_in_use) == ([1], True)


class Driver:
    """The driver's library with one card."""

    def cuInit(self, flags):
        return 0

    def cuDeviceGetCount(self, count):
        count._obj.value = 1
        return 0

    def cuDeviceGet(self, handle, number):
        return 0

    def cuDeviceGetName(self, name, size, handle):
        name.value = b"Card"
        return 0

    def cuDeviceTotalMem_v2(self, memory, handle):
        memory._obj.value = 5 << 30
        return 0

    def cuDeviceGetAttribute(self, number, attribute, handle):
        number._obj.value = {75: 9, 76: 1}[attribute]
        return 0


def test_the_drivers_version(monkeypatch):
    class Versioned:
        def cuDriverGetVersion(self, number):
            number._obj.value = 12090
            return 0

    monkeypatch.setattr(cuda, "load", lambda name: Versioned())
    assert cuda.driver_version() == (12, 9)

    def none(name):
        raise OSError(name)

    monkeypatch.setattr(cuda, "load", none)
    assert cuda.driver_version() == (0, 0)
    assert cuda.devices.__wrapped__() == ()


def test_cards_as_the_driver_tells_them(monkeypatch):
    monkeypatch.setattr(cuda, "load", lambda name: Driver())
    assert cuda.devices.__wrapped__() == (cuda.CudaDevice("Card", (9, 1), 5 << 30),)
    monkeypatch.setattr(Driver, "cuInit", lambda self, flags: 100)
    assert cuda.devices.__wrapped__() == ()


@pytest.mark.gpu
def test_a_real_gpu(rng):
    array = rng.normal(size=(100, 7)).astype(np.float32)
    away = values.copy_to_device(from_numpy(array), "GPU:0")
    assert values.device_of(away) == "GPU:0"
    np.testing.assert_array_equal(to_numpy(away), array)
    np.testing.assert_array_equal(to_numpy(values.duplicates([away])[0]), array)
    used, total = cuda.memory_in_use(0)
    assert 0 < used <= total


def test_what_waits_for_a_gpu_does_not_miss_one(monkeypatch):
    done = []
    monkeypatch.setattr(values, "gpu_in_use", False)
    monkeypatch.setattr(values, "_when_gpu_used", [])
    values.when_gpu_used(lambda: done.append("before"))
    assert not done
    values.note_gpu()
    assert done == ["before"]
    values.when_gpu_used(lambda: done.append("after"))
    assert done == ["before", "after"]
