"""Why no GPU can be used: every cause has a sentence that names it and says what to do."""

from __future__ import annotations

import struct
import subprocess
import sys

import onnxruntime
import pytest

from tfx.core import onnxruntime_wheels
from tfx.runtime import cuda, gpu_diagnosis, shared_libraries


@pytest.fixture
def gpu_wheel(monkeypatch, tmp_path):
    """Pretend that onnxruntime-gpu is installed and all its libraries can be loaded."""
    providers = ["CUDAExecutionProvider", "CPUExecutionProvider"]
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: providers)
    monkeypatch.setattr(gpu_diagnosis, "_provider_library", lambda: tmp_path / "provider.so")
    monkeypatch.setattr(onnxruntime_wheels, "installed", lambda: {"onnxruntime-gpu": "1.31.1"})
    monkeypatch.setattr(shared_libraries, "needed", lambda path: ["libcublas.so.13", "libc.so.6"])
    monkeypatch.setattr(shared_libraries, "missing", lambda names: {})
    monkeypatch.setattr(cuda, "devices", lambda: (cuda.CudaDevice("Card", (9, 0), 1),))
    monkeypatch.setattr(cuda, "driver_version", lambda: (13, 1))
    monkeypatch.setattr(onnxruntime, "cuda_version", "13.0", raising=False)


def trouble():
    return gpu_diagnosis.gpu_trouble.__wrapped__()


def test_nothing_is_wrong(gpu_wheel):
    assert trouble() is None


def test_the_cpu_wheel(monkeypatch):
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: ["CPUExecutionProvider"])
    monkeypatch.setattr(onnxruntime_wheels, "installed", lambda: {"onnxruntime": "1.31.1"})
    text = trouble()
    assert text.startswith("the installed onnxruntime ")
    assert "has no CUDA provider" in text
    assert "`pip uninstall -y onnxruntime` and `pip install 'onnxruntime-gpu[cuda,cudnn]'`" in text


def test_both_wheels(monkeypatch):
    both = {"onnxruntime": "1.31.1", "onnxruntime-gpu": "1.31.0"}
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: ["CPUExecutionProvider"])
    monkeypatch.setattr(onnxruntime_wheels, "installed", lambda: both)
    text = trouble()
    assert "onnxruntime 1.31.1 and onnxruntime-gpu 1.31.0 are installed side by side" in text
    assert "`pip install --force-reinstall --no-deps onnxruntime-gpu==1.31.0`" in text


def test_a_missing_library(gpu_wheel, monkeypatch):
    reason = "libcublas.so.13: cannot open shared object file: No such file or directory"
    monkeypatch.setattr(shared_libraries, "missing", lambda names: dict.fromkeys(names, reason))
    text = trouble()
    assert "needs libcublas.so.13 (not found)" in text
    assert "libc.so.6" not in text
    assert "`pip install 'onnxruntime-gpu[cuda,cudnn]'`" in text


def test_a_library_that_is_there_and_does_not_load(gpu_wheel, monkeypatch):
    found = {"libcublas.so.13": "/x/libcublas.so.13: file too short"}
    monkeypatch.setattr(shared_libraries, "missing", lambda names: found if len(names) == 1 else {})
    assert "libcublas.so.13 (/x/libcublas.so.13: file too short)" in trouble()


def test_no_driver(gpu_wheel, monkeypatch):
    gone = {"libcuda.so.1": "libcuda.so.1: cannot open shared object file: No such file"}
    monkeypatch.setattr(shared_libraries, "missing", lambda names: gone)
    text = trouble()
    assert "libcuda.so.1 comes with NVIDIA's driver" in text
    assert "pip install" not in text


def test_no_device(gpu_wheel, monkeypatch):
    monkeypatch.setattr(cuda, "devices", lambda: ())
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    text = trouble()
    assert "driver lists no GPU" in text
    assert "CUDA_VISIBLE_DEVICES is ''" in text
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    assert "CUDA_VISIBLE_DEVICES" not in trouble()


def test_an_old_driver(gpu_wheel, monkeypatch):
    monkeypatch.setattr(cuda, "driver_version", lambda: (12, 4))
    text = trouble()
    assert f"onnxruntime-gpu {onnxruntime.__version__} is built for CUDA 13" in text
    assert "serves CUDA 12.4 at most: update the driver" in text


def test_the_needs_of_a_library(tmp_path):
    """Read off the file, and right: the loader knows them too."""
    path = onnxruntime.capi.onnxruntime_pybind11_state.__file__
    if sys.platform != "linux":
        pytest.skip("ELF files only")
    found = shared_libraries.needed(gpu_diagnosis.Path(path))
    assert "libc.so.6" in found
    assert all(shared_libraries.is_part_of_system(n) for n in found if n.startswith("libc."))
    other = tmp_path / "text.so"
    other.write_bytes(b"not a library, but long enough to have a header of one, in fact so long")
    assert shared_libraries.needed(other) == []
    other.write_bytes(b"\x7fELF\x02\x01" + bytes(26) + struct.pack("<Q14xHH6x", 64, 56, 0))
    assert shared_libraries.needed(other) == []


def test_loading_tells_and_does_not_print(capfd):
    assert shared_libraries.missing(["libsurely-not-there.so.7"]) == {
        "libsurely-not-there.so.7": "libsurely-not-there.so.7: cannot open shared object file: "
        "No such file or directory"
    }
    assert capfd.readouterr() == ("", "")


def test_wheels_carry_libraries(tmp_path, monkeypatch):
    """Where the loader finds nothing, NVIDIA's wheels on the path are looked through."""
    if sys.platform != "linux":
        pytest.skip("paths of the Linux wheels")
    folder = tmp_path / "nvidia" / "cu13" / "lib"
    folder.mkdir(parents=True)
    (folder / "libmade-up.so.1").write_bytes(b"")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(OSError, match="file too short"):
        shared_libraries.load("libmade-up.so.1")


@pytest.mark.skipif(bool(cuda.devices()), reason="there is a GPU")
def test_asking_prints_nothing():
    """In a process of its own: ONNX Runtime would write to its stderr."""
    program = """
import tfx as tf
tf.config.set_soft_device_placement(False)
try:
    with tf.device('/GPU:0'):
        pass
except tf.errors.InvalidArgumentError:
    pass
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("", "")
