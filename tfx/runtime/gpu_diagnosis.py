"""Reasons why no GPU can be used: what is not installed, not loaded or absent, and the remedy.

ONNX Runtime says it in lines on stderr and goes on with the CPU; here it becomes the text of an
exception. Looked for once in a process, when a GPU is first asked for.
"""

from __future__ import annotations

import functools
import os
import sys
from pathlib import Path

import onnxruntime

from tfx.core import onnxruntime_wheels as wheels
from tfx.runtime import cuda, shared_libraries

# The provider loads these when an operator first wants them; without cuDNN there is no convolution.
_LATER = ("libcudnn.so.9", "libnvrtc.so.13", "libcufft.so.12")
_NO_LIBRARY = "cannot open shared object file"


@functools.cache
def gpu_trouble() -> str | None:
    """Return why no GPU can be used, with the command that corrects it; None if one can be used.

    The text continues a sentence: "Device '/GPU:0' was asked for, but ...".
    """
    library = _provider_library()
    if "CUDAExecutionProvider" not in onnxruntime.get_available_providers() or library is None:
        return f"{_flavour()} has no CUDA provider. {_mend_flavour()}"
    absent = shared_libraries.missing(
        [
            name
            for name in shared_libraries.needed(library)
            if not shared_libraries.is_part_of_system(name)
        ]
    )
    if absent:
        return _absent_libraries(absent)
    for name in _LATER:
        shared_libraries.missing(
            [name]
        )  # loaded now, so that wheels outside the loader's path serve too
    if not cuda.devices():
        return _no_devices()
    served, wanted = cuda.driver_version(), cuda.built_for()
    if served[0] < wanted:
        return (
            f"{_flavour()} is built for CUDA {wanted}, and NVIDIA's driver serves CUDA "
            f"{served[0]}.{served[1]} at most: update the driver (`nvidia-smi` shows its version), "
            "or use '/CPU:0'."
        )
    return None


def missing_later_libraries() -> dict[str, str]:
    """Libraries that some operators need (convolutions cuDNN) and that cannot be loaded."""
    return shared_libraries.missing(list(_LATER)) if sys.platform == "linux" else {}


def _provider_library() -> Path | None:
    folder = Path(onnxruntime.__file__).parent / "capi"
    for name in ("libonnxruntime_providers_cuda.so", "onnxruntime_providers_cuda.dll"):
        if (folder / name).exists():
            return folder / name
    return None


def _flavour() -> str:
    version = onnxruntime.__version__
    flavours = wheels.installed()
    if len(flavours) > 1:
        names = " and ".join(f"{n} {v}" for n, v in flavours.items())
        return (
            f"{names} are installed side by side: they share one folder, the last one written wins "
            f"silently, and the onnxruntime {version} that is there"
        )
    name = next(iter(flavours), "onnxruntime")
    return f"the installed {name} {version}"


def _mend_flavour() -> str:
    if sys.platform == "darwin":
        return "There is none for macOS; use '/CPU:0'."
    found = wheels.installed()
    if wheels.GPU in found and len(found) > 1:
        command = wheels.write_again(wheels.GPU, found[wheels.GPU])
        return f"Write the files of the other one again with `{command}`, or use '/CPU:0'."
    removal = f"`pip uninstall -y {' '.join(found)}` and " if found else ""
    return f"Install one that has with {removal}`{wheels.GPU_COMMAND}`, or use '/CPU:0'."


def _absent_libraries(absent: dict[str, str]) -> str:
    """Return the error message for libraries that the provider needs but cannot load."""
    reasons = []
    for name, reason in absent.items():
        plain = _NO_LIBRARY in reason and reason.startswith(name)
        reasons.append(f"{name} (not found)" if plain else f"{name} ({reason})")
    text = f"its execution provider cannot be loaded: {_flavour()} needs {', '.join(reasons)}. "
    driver = [name for name in absent if name.startswith(("libcuda.", "nvcuda"))]
    if len(absent) > len(driver):
        text += f"CUDA and cuDNN come with `{wheels.GPU_COMMAND}`"
        text += "; " if driver else ", or use '/CPU:0'."
    if driver:
        text += (
            f"{driver[0]} comes with NVIDIA's driver: install it (`nvidia-smi` must list a GPU; "
            "start a container with `--gpus all`), or use '/CPU:0'."
        )
    return text


def _no_devices() -> str:
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    text = "NVIDIA's driver lists no GPU for this process. "
    if visible is not None:
        text += f"CUDA_VISIBLE_DEVICES is {visible!r}: unset it if a GPU is hidden by mistake. "
    return text + "See what `nvidia-smi` lists, or use '/CPU:0'."
