"""A compiled ONNX model: the only place that creates and runs ONNX Runtime sessions.

``Session.run`` is ONNX Runtime's C-level ``run_with_ort_values``: it is private API, three times
faster than the public call on small graphs, and reached in ``_raw_runner`` alone, which falls back
to the public IO binding where a release has moved it.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as _ort

from tfx.core import errors
from tfx.runtime.devices import providers_for
from tfx.runtime.threads import ensure_thread_pool
from tfx.runtime.values import RawValue, lend

Runner: TypeAlias = Callable[[dict[str, RawValue], list[str], Any], Sequence[RawValue]]

# "matmul_helper.h:59 Compute MatMul dimension mismatch"
_SOURCE_PLACE = re.compile(r"^\S+\.(?:h|cc|cpp):\d+ (?:\w+ )?")
_log = logging.getLogger("tfx")
# Severity 4 (fatal): failures come back as exceptions; the runtime must not also print them.
_SILENT = 4
_DATA_FOLDER = "session.model_external_initializers_file_folder_path"

# ONNX Runtime is quicker with run options than without any (2.1 against 2.6 us on a tiny graph).
RUN_OPTIONS = onnxruntime.RunOptions()
RUN_OPTIONS.log_severity_level = _SILENT

# Raised by ONNX Runtime -> ours. RuntimeException is what kernels throw.
_ERRORS: tuple[tuple[type[Exception], type[errors.OpError]], ...] = (
    (_ort.InvalidArgument, errors.InvalidArgumentError),
    (_ort.NotImplemented, errors.UnimplementedError),
    (_ort.NoSuchFile, errors.NotFoundError),
    (_ort.InvalidProtobuf, errors.DataLossError),
    (_ort.InvalidGraph, errors.InvalidArgumentError),
    (_ort.NoModel, errors.NotFoundError),
    (_ort.RuntimeException, errors.InvalidArgumentError),
    (_ort.Fail, errors.InternalError),
    (_ort.EPFail, errors.InternalError),
)


def translate(error: Exception) -> errors.OpError:
    """The ``tfx.errors`` exception for one that ONNX Runtime raised."""
    message = str(error)
    if "Failed to allocate memory" in message or "bad_alloc" in message:
        return errors.ResourceExhaustedError(message)
    if isinstance(error, _ort.Fail) and "while running" in message:
        return errors.InvalidArgumentError(message)  # a kernel refused what it was given
    for theirs, ours in _ERRORS:
        if isinstance(error, theirs):
            return ours(message)
    return errors.InternalError(message)


def kernel_reason(message: str) -> str:
    """What a kernel said, without ONNX Runtime's bookkeeping (status, node, source file)."""
    lines = [line for line in message.strip().splitlines() if line]
    last = lines[-1] if lines else message
    for marker in ("Status Message:", "was false."):
        if marker in last:
            last = last.split(marker, 1)[1] or last
    return _SOURCE_PLACE.sub("", last.strip()) or message


class Session:
    """An ONNX model compiled for one device.

    Args:
        model: Serialized model, or the path of a model file (external data is read beside it).
        device: Canonical device name.
        initializers: Values that take the place of the model's initializers of the same name;
            they are shared, not copied, and kept alive here because ONNX Runtime does not.
        optimize: ``False`` turns graph optimizations off.
        prepack: ``False`` keeps kernels from making packed copies of constant weights.
        profile_prefix: Where to write ONNX Runtime's profile; None for no profiling.
        data_folder: For a serialized model: the folder that its external data is below.

    Raises:
        OpError: the model cannot be compiled; the subclass says why.
    """

    __slots__ = ("_inference", "_kept", "input_names", "output_names", "run_raw")

    def __init__(
        self,
        model: bytes | str | os.PathLike[str],
        *,
        device: str = "CPU:0",
        initializers: Mapping[str, RawValue] | None = None,
        optimize: bool = True,
        prepack: bool = True,
        profile_prefix: str | None = None,
        data_folder: str | os.PathLike[str] | None = None,
    ) -> None:
        ensure_thread_pool()
        options = onnxruntime.SessionOptions()
        options.use_per_session_threads = False
        options.log_severity_level = _SILENT
        if not optimize:
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        if not prepack:
            options.add_session_config_entry("session.disable_prepacking", "1")
        if profile_prefix is not None:
            options.enable_profiling = True
            options.profile_file_prefix = profile_prefix
        if data_folder is not None:
            options.add_session_config_entry(_DATA_FOLDER, os.path.abspath(data_folder))
        # Wrappers and values must outlive the session: it reads them without owning them.
        self._kept: list[tuple[onnxruntime.OrtValue, object]] = []
        names: list[str] = []
        for name, value in (initializers or {}).items():
            alias, owner = lend(value)
            self._kept.append((onnxruntime.OrtValue(alias), owner))
            names.append(name)
        if names:
            # Not add_initializer: that one wants the external file to exist and cannot be folded.
            options.add_external_initializers(names, [wrapper for wrapper, _ in self._kept])
        source = model if isinstance(model, bytes) else os.fspath(model)
        try:
            self._inference = onnxruntime.InferenceSession(
                source,
                options,
                providers=providers_for(device),
                # Otherwise a failure is printed on stdout, and tried a second time.
                enable_fallback=0,
            )
        except errors.OpError:
            raise
        except Exception as e:
            raise translate(e) from e
        if not device.startswith("CPU"):
            _require_provider(self._inference, device)
        self.input_names: list[str] = [i.name for i in self._inference.get_inputs()]
        self.output_names: list[str] = [o.name for o in self._inference.get_outputs()]
        self.run_raw: Runner = _raw_runner(self._inference)

    def run(self, feeds: dict[str, RawValue]) -> Sequence[RawValue]:
        """Run the whole model.

        Args:
            feeds: One value for every input, by name.

        Returns:
            The outputs in the model's order.

        Raises:
            OpError: ONNX Runtime refused the inputs or a kernel failed.
        """
        try:
            return self.run_raw(feeds, self.output_names, RUN_OPTIONS)
        except Exception as e:
            raise translate(e) from e

    def end_profiling(self) -> str:
        """Stop profiling and return the profile's path."""
        path: str = self._inference.end_profiling()
        return path


def _require_provider(inference: Any, device: str) -> None:
    """ONNX Runtime falls back to the CPU with a log line only; we do not."""
    active = inference.get_providers()
    if "CUDAExecutionProvider" not in active:
        raise errors.NotFoundError(
            f"Device '/{device}' was asked for, but its execution provider could not be loaded "
            f"(active: {', '.join(active)}). CUDA 13 and cuDNN 9 are needed; "
            "`pip install 'onnxruntime-gpu[cuda,cudnn]'` brings both."
        )


def _raw_runner(inference: Any) -> Runner:
    """The quickest call this release of ONNX Runtime offers for OrtValues."""
    raw = getattr(getattr(inference, "_sess", None), "run_with_ort_values", None)
    return raw if raw is not None else _binding_runner(inference)


def _binding_runner(inference: Any) -> Runner:
    """The same call through the public IO binding."""

    def run(feeds: dict[str, RawValue], outputs: list[str], options: Any) -> Sequence[RawValue]:
        binding = inference.io_binding()
        for name, value in feeds.items():
            binding.bind_ortvalue_input(name, onnxruntime.OrtValue(value))
        for name in outputs:
            binding.bind_output(name)
        inference.run_with_iobinding(binding, options)
        return [v._get_c_value() for v in binding.get_outputs()]

    return run
