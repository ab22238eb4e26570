"""A compiled ONNX model: the only place that creates and runs ONNX Runtime sessions.

``Session.run`` is ONNX Runtime's C-level ``run_with_ort_values``: it is private API, three times
faster than the public call on small graphs, and reached in ``_raw_runner`` alone, which falls back
to the public IO binding where a release has moved it.
"""

from __future__ import annotations

import functools
import logging
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as _ort

from tfx.core import errors
from tfx.core.refusals import refusal_in
from tfx.runtime import (
    cuda,
    fork,
    interrupts,
    logical_devices,
    memory_pool,
    process_exit,
    run_hooks,
)
from tfx.runtime.cuda_graphs import ENABLE, CapturingRunner, can_be_captured
from tfx.runtime.devices import CUDA_PROVIDER, physical_gpu, providers_for
from tfx.runtime.gpu_diagnosis import missing_later_libraries
from tfx.runtime.io_binding import BoundRunner
from tfx.runtime.kept_binding import KeptRunner
from tfx.runtime.memory import lend
from tfx.runtime.options import RUN_OPTIONS, SILENT
from tfx.runtime.threads import use_threads
from tfx.runtime.values import (
    RawValue,
    copy_to_device,
    note_gpu,
    run_constants_with,
    when_gpu_used,
)

Runner: TypeAlias = Callable[[dict[str, RawValue], list[str], Any], Sequence[RawValue]]
Registration: TypeAlias = Callable[[onnxruntime.SessionOptions], None]

# "matmul_helper.h:59 Compute MatMul dimension mismatch"
_SOURCE_PLACE = re.compile(r"^\S+\.(?:h|cc|cpp):\d+ (?:\w+ )?")
_log = logging.getLogger("tfx")
# For what is not of a session: each one on a GPU warns that CUDA is no plugin.
_ERRORS_ONLY = 3
_RECORD_ASSIGNMENT = "session.record_ep_graph_assignment_info"
# Release 1.31 may end the process when it puts a branch whose condition is constant in place of
# its `If`, which is part of this.
_FOLDING = "ConstantFolding"
_DATA_FOLDER = "session.model_external_initializers_file_folder_path"

# What it says of memory; the last one of a GPU's, whose limit is reached.
_NO_MEMORY = (
    "Failed to allocate memory", "bad_alloc", "Tensor storage size overflowed",
    "is smaller than requested bytes of",
)  # fmt: skip

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
    if isinstance(error, errors.OpError):  # of a layer around the call, see ``runners``
        return error
    message = str(error)
    refusal = refusal_in(message)
    if refusal is not None:
        # The message goes on with the runtime's, which names the node.
        return errors.InvalidArgumentError(f"{refusal.said()}. {message}", op=refusal.op)
    if any(words in message for words in _NO_MEMORY):
        return errors.ResourceExhaustedError(message)
    if "MLDataType for: tensor(complex" in message:
        return errors.UnimplementedError(
            "ONNX Runtime does not compute with complex numbers: such tensors can be kept, saved "
            f"and restored; for more keep real and imaginary parts as two float tensors. {message}"
        )
    if isinstance(error, _ort.Fail) and any(words in message for words in _REFUSED):
        return errors.InvalidArgumentError(message)  # a kernel, or inference, refused its inputs
    for theirs, ours in _ERRORS:
        if isinstance(error, theirs):
            return ours(message)
    return errors.InternalError(message)


# While the session is made, a kernel that folds constants says no more than its reason.
_REFUSED = ("while running", "[ShapeInferenceError]", "by zero")


def kernel_reason(message: str) -> str:
    """Return a kernel's own message, without ONNX Runtime's status, node name and source file."""
    lines = [line for line in message.strip().splitlines() if line]
    last = lines[-1] if lines else message
    for marker in ("Status Message:", "was false."):
        if marker in last:
            # A failure inside of a loop or branch has the status of each around it before its own.
            last = last.rsplit(marker, 1)[1] or last
    refusal = refusal_in(last)
    if refusal is not None:
        return refusal.said()
    found = _OUT_OF_RANGE.search(last)
    if found is not None:
        return _position(int(found[1] or found[3]), found[2])
    if "Integer modulo by zero" in last:  # one mistake, one message
        return "Integer division by zero"
    return _SOURCE_PLACE.sub("", last.strip()) or message


# "indices element out of data bounds, idx=5 must be within the inclusive range [-3,2]", and
# "invalid indice found, indice = 5" (GatherND says index).
_OUT_OF_RANGE = re.compile(
    r"out of data bounds, idx=(-?\d+) must be within the inclusive range \[-(\d+),"
    r"|invalid ind(?:ex|ice) found, ind(?:ex|ice) = (-?\d+)"
)
# What is added to a row for coordinates that are out of range, see ``graph.kernels.indexing``.
_FAR = 1 << 40


def _position(index: int, size: str | None) -> str:
    """Return the message for an index out of range; a negative one may have lost its sign bit."""
    if index < -(2**62) or _FAR // 2 <= index < 2 * _FAR:
        return "the coordinates of an element are out of range"
    for bits in (31, 63):
        if 2 ** (bits - 1) <= index < 2**bits:
            index -= 2**bits
    return f"the index {index} is " + (f"not in [0, {size})" if size else "out of range")


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
        capture: On a GPU: use CUDA graphs where that can be done. The caller knows that shapes
            seldom change and that no operator draws random numbers of its own.
        folds: ``False`` leaves constant expressions as they are.
        keeps_binding: Each call will give all inputs, in order, and want all outputs: bind again
            only what changed. On the CPU, with one or two outputs.
        operators: Makes the session know operators that the model needs; None: it needs none.

    Raises:
        OpError: the model cannot be compiled; the subclass says why.
    """

    __slots__ = (
        "__weakref__",
        "_inference",
        "_kept",
        "_recipe",
        "device",
        "input_names",
        "output_names",
        "run_raw",
    )

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
        capture: bool = False,
        folds: bool = True,
        keeps_binding: bool = False,
        operators: Registration | None = None,
    ) -> None:
        fork.session_made(device)
        process_exit.check()
        interrupts.arm()
        self.device = device
        source = model if isinstance(model, bytes) else os.fspath(model)
        options = _session_options(optimize, prepack, profile_prefix)
        use_threads(options, self, source)
        if data_folder is not None:
            options.add_session_config_entry(_DATA_FOLDER, os.path.abspath(data_folder))
        if operators is not None:
            try:
                operators(options)
            except Exception as e:
                raise translate(e) from e
        # Wrappers and values must outlive the session: it reads them without owning them.
        self._kept = _lend_initializers(options, initializers or {})
        compiled = functools.partial(_compile, source, options, device, folds=folds)
        if device.startswith("CPU"):
            memory_pool.use(options)
            self._inference = compiled()
            self.run_raw: Runner = _raw_runner(self._inference)
        else:
            options.add_session_config_entry(_RECORD_ASSIGNMENT, "1")
            self._inference, self.run_raw = _on_gpu(compiled, device, self._kept, capture)
        self.input_names: list[str] = [i.name for i in self._inference.get_inputs()]
        self.output_names: list[str] = [o.name for o in self._inference.get_outputs()]
        self._recipe: dict[str, Any] = {
            "model": model,
            "device": device,
            "initializers": initializers,
            "optimize": optimize,
            "prepack": prepack,
            "data_folder": data_folder,
            "capture": capture,
            "folds": folds,
            "keeps_binding": keeps_binding,
            "operators": operators,
        }
        if keeps_binding:
            handle = self._inference._sess
            self.run_raw = KeptRunner(handle, self.run_raw, self.input_names, self.output_names)
        run_hooks.register(self)

    def run(self, feeds: dict[str, RawValue], options: Any = RUN_OPTIONS) -> Sequence[RawValue]:
        """Run the whole model.

        Args:
            feeds: One value for every input, by name.
            options: ONNX Runtime's run options, see ``options.new_run_options``.

        Returns:
            The outputs in the model's order.

        Raises:
            OpError: ONNX Runtime refused the inputs or a kernel failed.
        """
        try:
            return self.run_raw(feeds, self.output_names, options)
        except Exception as e:
            if options is not RUN_OPTIONS:
                raise translate(e) from e
            return self._rescued(e, feeds)

    def _rescued(self, error: Exception, feeds: dict[str, RawValue]) -> Sequence[RawValue]:
        try:
            return interrupts.repeated(error, self, feeds, self.output_names)
        except Exception as e:
            raise translate(e) from e

    def profiled(self, prefix: str) -> Session:
        """Another session of the same model, which writes a profile.

        Args:
            prefix: Beginning of the profile's path.
        """
        # A captured CUDA graph is replayed as a whole: it has no nodes to measure.
        return Session(**{**self._recipe, "capture": False}, profile_prefix=prefix)

    def assignments(self) -> list[tuple[str, str, str]]:
        """Return the execution provider of each node: node name, operator, provider.

        Nodes are those left after ONNX Runtime's optimizations, before it fuses them. On the CPU
        there is one provider only, and nothing is recorded.
        """
        if self.device.startswith("CPU"):
            return []
        return [
            (node.name, node.op_type, part.ep_name)
            for part in self._inference.get_provider_graph_assignment_info()
            for node in part.get_nodes()
        ]

    def end_profiling(self) -> str:
        """Stop profiling and return the profile's path."""
        path: str = self._inference.end_profiling()
        return path


def run_once(model: bytes) -> RawValue:
    """The output ``c`` of a model without inputs, on the CPU, in a fifth of a session's time.

    Args:
        model: Serialized; it is run as it stands, without optimizations.

    Raises:
        OpError: the model cannot be compiled or run.
    """
    fork.session_made("CPU:0")
    process_exit.check()
    try:
        session = _ort.InferenceSession(_plain_options(), model, False, False)
        session.initialize_session([], [], set())
        value: RawValue = session.run_with_ort_values({}, ["c"], RUN_OPTIONS)[0]
        return value
    except Exception:  # a release that moved these private functions, or a run that was ended
        return Session(model).run({})[0]


def output_types(model: bytes) -> list[tuple[str, list[Any]]]:
    """The types that the runtime infers for a model's outputs, and their dimensions.

    Args:
        model: Serialized; it is not optimized.
    """
    fork.session_made("CPU:0")
    process_exit.check()
    session = _ort.InferenceSession(_plain_options(), model, False, False)
    session.initialize_session([], [], set())
    return [(o.type, list(o.shape)) for o in session.outputs_meta]


@functools.cache
def _plain_options() -> Any:
    options = _session_options(False, True, None)
    options.enable_cpu_mem_arena = False
    options.enable_mem_pattern = False
    use_threads(options, None, b"")  # it needs none
    return options


def _lend_initializers(
    options: Any, initializers: Mapping[str, RawValue]
) -> list[tuple[onnxruntime.OrtValue, object]]:
    """Give values to a session's options; returns their wrappers, with what owns the memory."""
    kept: list[tuple[onnxruntime.OrtValue, object]] = []
    for value in initializers.values():
        alias, owner = lend(value)
        kept.append((onnxruntime.OrtValue(alias), owner))
    if kept:
        # Not add_initializer: that one wants the external file to exist and cannot be folded.
        options.add_external_initializers(list(initializers), [wrapper for wrapper, _ in kept])
    return kept


def _session_options(optimize: bool, prepack: bool, profile_prefix: str | None) -> Any:
    """ONNX Runtime's session options; the arguments are those of ``Session``."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = SILENT
    if logical_devices.state.deterministic:
        options.use_deterministic_compute = True
    if not optimize:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    if not prepack:
        options.add_session_config_entry("session.disable_prepacking", "1")
    if profile_prefix is not None:
        options.enable_profiling = True
        options.profile_file_prefix = profile_prefix
    return options


def _compile(
    source: bytes | str,
    options: Any,
    device: str,
    extra: dict[str, str] | None = None,
    *,
    folds: bool = True,
) -> Any:
    """ONNX Runtime's session for a model on a device, and on no other.

    Args:
        source: The model or its path.
        options: ONNX Runtime's session options.
        device: Canonical device name.
        extra: Options of the CUDA provider.
        folds: See ``Session``.
    """
    try:
        with interrupts.creating(options):
            inference = onnxruntime.InferenceSession(
                source,
                options,
                providers=providers_for(device, extra),
                disabled_optimizers=None if folds else [_FOLDING],
                # Otherwise a failure is printed on stdout, and tried a second time.
                enable_fallback=0,
            )
    except errors.OpError:
        raise
    except Exception as e:
        raise translate(e) from e
    if not device.startswith("CPU"):
        _require_provider(inference, device)
    return inference


def _on_gpu(
    compiled: Callable[..., Any], device: str, kept: object, capture: bool
) -> tuple[Any, Runner]:
    """A session on a GPU, and what runs it: results stay there.

    Args:
        compiled: Makes ONNX Runtime's session, given options of the CUDA provider.
        device: Canonical device name.
        kept: What the session reads without owning it.
        capture: Use CUDA graphs if that can be done.
    """
    note_gpu()
    onnxruntime.set_default_logger_severity(_ERRORS_ONLY)
    memory = cuda.ort_device(physical_gpu(device))

    def plain(kept: object = kept) -> Runner:
        return BoundRunner(compiled(), memory)

    if capture:
        try:
            inference = compiled(ENABLE)
        except errors.OpError as e:  # control flow, or operators without a CUDA kernel
            _log.info("a session cannot become a CUDA graph: %s", e)
        else:
            if can_be_captured(inference):
                return inference, CapturingRunner(inference, memory, device, plain)
    inference = compiled()
    return inference, BoundRunner(inference, memory)


def _bring_home(holder: Any, run: Runner) -> Runner:
    """A layer for CPU sessions once a GPU is in use: they cannot read its memory."""
    session = holder if isinstance(holder, Session) else getattr(holder, "session", None)
    if session is not None and not session.device.startswith("CPU"):
        return run

    def brought(feeds: dict[str, RawValue], outputs: list[str], options: Any) -> Sequence[RawValue]:
        here = {name: copy_to_device(value, "CPU:0") for name, value in feeds.items()}
        return run(here, outputs, options)

    return brought


when_gpu_used(lambda: run_hooks.add_layer(_bring_home))


def _require_provider(inference: Any, device: str) -> None:
    """ONNX Runtime falls back to the CPU with a log line only; we do not."""
    active = inference.get_providers()
    if CUDA_PROVIDER not in active:
        absent = missing_later_libraries()
        reason = f"; cannot be loaded: {', '.join(absent)}" if absent else ""
        raise errors.NotFoundError(
            f"Device '/{device}' was asked for, but its execution provider could not be started "
            f"(active: {', '.join(active)}{reason}). CUDA 13 and cuDNN 9 are needed; "
            "`pip install 'onnxruntime-gpu[cuda,cudnn]'` brings both, `nvidia-smi` shows whether "
            "the driver is new enough."
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


run_constants_with(run_once)
