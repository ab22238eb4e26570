"""The distributions that contain ONNX Runtime, and the commands that repair an installation.

``onnxruntime`` (24 MB) and ``onnxruntime-gpu`` (255 MB) write the same files. Where both are
installed the one that was written last is there, and removing either removes it: then the folder is
left behind, empty but for what the other one had besides. ONNX Runtime itself is not imported here.
"""

from __future__ import annotations

from importlib.util import find_spec

_NAMES = ("onnxruntime", "onnxruntime-gpu", "onnxruntime-directml", "onnxruntime-openvino")
GPU = "onnxruntime-gpu"
CPU_COMMAND = "pip install onnxruntime"
GPU_COMMAND = "pip install 'onnxruntime-gpu[cuda,cudnn]'"


def installed() -> dict[str, str]:
    """The installed distributions that bring an ``onnxruntime`` package, with their versions."""
    from importlib import metadata  # takes as long as importing tfx

    found = {}
    for name in _NAMES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def write_again(name: str, version: str) -> str:
    """The command that writes a distribution's files over those of another.

    Args:
        name: One of ``installed()``.
        version: Its version.
    """
    return f"pip install --force-reinstall --no-deps {name}=={version}"


def require() -> None:
    """Make sure that there is an ONNX Runtime to import.

    Raises:
        ImportError: there is none, or what is left of one; the message says what to type.
    """
    spec = find_spec("onnxruntime")
    if spec is not None and spec.origin is not None:
        return
    found = installed()
    if not found:
        raise ImportError(
            "tfx runs on ONNX Runtime, and none is installed. Install the one for CPUs, "
            f"`{CPU_COMMAND}` (24 MB), or the one for NVIDIA GPUs, `{GPU_COMMAND}` (255 MB, and "
            "CUDA's libraries).",
            name="onnxruntime",
        )
    name = GPU if GPU in found else next(iter(found))
    raise ImportError(
        f"{' and '.join(f'{n} {v}' for n, v in found.items())} should be installed, but the files "
        "of the package onnxruntime are gone: distributions of ONNX Runtime share them, and "
        "removing one removes them for the other. Write them again with "
        f"`{write_again(name, found[name])}`.",
        name="onnxruntime",
    )
