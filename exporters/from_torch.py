"""Torch modules and exported programs as modules and bundles, and weights back to torch.

Stands on ``torch.export`` and ``torch.onnx.export(dynamo=True)``. What is ours: several methods
over one set of weights under torch's names, tied weights, buffers as state, training beside
inference, structures, names of dimensions, and the source's own answers to compare with.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tfx.bundle import limits
from tfx.bundle.examples import TOLERANCE
from tfx.core.errors import InvalidArgumentError, MissingFileError, PermissionDeniedError
from tfx.exporters.converted import save_converted
from tfx.exporters.example_calls import ExampleCall, resolve_calls
from tfx.exporters.torch_answers import Source
from tfx.exporters.torch_graphs import convert
from tfx.exporters.torch_programs import TracedMethod, trace_method
from tfx.exporters.torch_weights import TorchWeights
from tfx.framework.module import snake_case
from tfx.importing.converted_module import ConvertedModule
from tfx.importing.method_graphs import MethodGraph


def export(
    model: Any,
    path: str | os.PathLike[str],
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    signatures: Any = None,
    dynamic: Mapping[str, Any] | None = None,
    training: bool = False,
    name: str | None = None,
    verify: bool = True,
    tolerance: float = TOLERANCE,
    metadata: Mapping[str, str] | None = None,
    examples: bool | Mapping[str, Any] | None = None,
    max_shard_bytes: int = limits.MAX_SHARD_BYTES,
    allow_pickle: bool = False,
) -> ConvertedModule:
    """Save a torch model as a bundle.

    Args:
        model: As ``to_module`` takes it.
        path: The folder to make. An older bundle there is replaced when everything is written.
        args: Example arguments by position: a tuple, or a single tensor.
        kwargs: Example arguments by name.
        signatures: Methods by signature, see ``to_module``.
        dynamic: Dimensions whose size calls may choose, with their names.
        training: Whether each signature gets a twin that runs as in training (``train``).
        name: Name of the module.
        verify: Whether every method must answer as torch does; a difference is an error that
            names the first layer that differs, and nothing is written.
        tolerance: How far answers may be away, by the largest element of each.
        metadata: Text to keep in the manifest.
        examples: Golden examples, as in ``saved_model.SaveOptions``; None: torch's own answers to
            the example arguments.
        max_shard_bytes: Most bytes of variables in one file, unless one is larger.
        allow_pickle: Whether a ``.pt2`` file may be read, which holds pickles.

    Returns:
        The module that was saved.

    Raises:
        ImportError: torch is not installed.
        InvalidArgumentError: the example does not fit, the model fixes a dimension, or an answer
            differs.
        UnimplementedError: the model does what a graph cannot.
        AlreadyExistsError: the folder exists and is not a bundle.
    """
    module = to_module(
        model,
        args,
        kwargs,
        signatures=signatures,
        dynamic=dynamic,
        training=training,
        name=name,
        allow_pickle=allow_pickle,
    )
    save_converted(
        module,
        path,
        verify=verify,
        tolerance=tolerance,
        metadata=metadata,
        examples=examples,
        max_shard_bytes=max_shard_bytes,
    )
    return module


def to_module(
    model: Any,
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    signatures: Any = None,
    dynamic: Mapping[str, Any] | None = None,
    training: bool = False,
    name: str | None = None,
    allow_pickle: bool = False,
) -> ConvertedModule:
    """Make a module of a torch model.

    Variables have torch's names, layouts and values; parameters are trained where they require a
    gradient. Buffers that a method changes (batch statistics, counters, caches) are state: calls
    change the variables.

    Args:
        model: A ``torch.nn.Module``, a ``torch.export.ExportedProgram``, or the path of a ``.pt2``
            file.
        args: Example arguments by position: a tuple, or a single tensor. Of an exported program
            those that it was made with, if none are given.
        kwargs: Example arguments by name.
        signatures: Methods by signature: ``{"serving_default": "forward", "encode": "encode"}``,
            where a method takes other arguments ``(method, args)`` or ``(method, args, kwargs)``,
            an ``ExampleCall``, or a list of these that differ in the arguments that they leave
            out. None: ``forward`` as ``serving_default``.
        dynamic: Dimensions whose size calls may choose, with their names, by parameter:
            ``{"x": {0: "batch"}}``. A name in two places is one size. A name may be a
            ``torch.export.Dim`` with bounds.
        training: Whether each signature gets a twin that runs as in training: ``train`` beside
            ``serving_default``, ``NAME_train`` beside others. Methods are exported as in inference
            otherwise, whatever mode the model is in.
        name: Name of the module; None: made from the class.
        allow_pickle: Whether a ``.pt2`` file may be read, which holds pickles.

    Returns:
        A ``ConvertedModule``: called as the model is.

    Raises:
        ImportError: torch is not installed.
        InvalidArgumentError: the example does not fit, or the model fixes a dimension.
        UnimplementedError: the model does what a graph cannot: control flow by the contents of a
            tensor, an operator without conversion.
        PermissionDeniedError: a ``.pt2`` file without ``allow_pickle``.
    """
    require_torch()
    if isinstance(model, str | os.PathLike):
        model = _load_program(Path(model), allow_pickle=allow_pickle)
    given = args if isinstance(args, tuple | list) or args is None else (args,)
    default = ExampleCall("forward", tuple(given or ()), dict(kwargs or {}), dynamic)
    exporter = _exporter(model)
    if given is None and not kwargs:
        default = exporter.own_call(default)
    variables = exporter.weights.variables()
    methods: dict[str, list[MethodGraph]] = {}
    named: dict[str, str] = {}
    known: list[tuple[list[ExampleCall], str]] = []
    for signature, calls in resolve_calls(signatures, default, training=training).items():
        method = next((m for done, m in known if _are_same(done, calls)), None)
        if method is None:
            method = _method_name(calls[0], methods, signature)
            methods[method] = [exporter.graph(call) for call in calls]
            known.append((calls, method))
        named[signature] = method
    return ConvertedModule(
        methods,
        variables,
        tied=exporter.weights.tied,
        name=name or snake_case(exporter.label),
        signatures=named,
        metadata=exporter.metadata(),
    )


def require_torch() -> None:
    """Import torch and what its exporter needs.

    Raises:
        ImportError: one is missing; the message names the extra.
    """
    for package in ("torch", "onnxscript"):
        try:
            importlib.import_module(package)
        except ImportError as e:
            raise ImportError(
                f'{package} is needed for models of torch: pip install "tfx-onnx[torch]"'
            ) from e


class _ModuleExporter:
    """Graphs of the methods of a ``torch.nn.Module``."""

    def __init__(self, model: Any) -> None:
        self.label = type(model).__name__
        self._model = model
        self.weights = TorchWeights.of_module(self.label, model)
        self._source = Source(model, self.weights)

    def own_call(self, call: ExampleCall) -> ExampleCall:
        """The default call, for which no arguments were given: that is a call without any."""
        return call

    def graph(self, call: ExampleCall) -> MethodGraph:
        """The graph of a call."""
        traced = trace_method(self._model, f"{self.label}.{call.method}", call)
        converted = convert(traced, self.weights.tied)
        return replace(converted.graph, answers=self._source.answers(traced, converted, call))

    def metadata(self) -> dict[str, str]:
        """What is said of the source."""
        kind = type(self._model)
        return _metadata(f"{kind.__module__}.{kind.__qualname__}")


class _ProgramExporter:
    """The graph of a ``torch.export.ExportedProgram``."""

    def __init__(self, program: Any) -> None:
        self.label = "program"
        self._program = program
        self.weights = TorchWeights.of_program(self.label, program)
        self._source = Source(program.module(), self.weights, has_modes=False)

    def own_call(self, call: ExampleCall) -> ExampleCall:
        """The call that the program was made with."""
        args, kwargs = self._program.example_inputs or ((), {})
        return replace(call, args=tuple(args), kwargs=dict(kwargs))

    def graph(self, call: ExampleCall) -> MethodGraph:
        """The graph of the program."""
        if call.method != "forward" or call.training or call.dynamic:
            raise InvalidArgumentError(
                "an exported program has the method forward alone, in the mode and with the "
                "dynamic dimensions that it was made with; give the torch.nn.Module for others."
            )
        traced = TracedMethod(f"{self.label}.forward", self._program)
        converted = convert(traced, self.weights.tied)
        return replace(converted.graph, answers=self._source.answers(traced, converted, call))

    def metadata(self) -> dict[str, str]:
        """What is said of the source."""
        return _metadata("torch.export.ExportedProgram")


def _exporter(model: Any) -> _ModuleExporter | _ProgramExporter:
    import torch

    if isinstance(model, torch.export.ExportedProgram):
        return _ProgramExporter(model)
    if isinstance(model, torch.nn.Module) and not isinstance(model, torch.jit.ScriptModule):
        return _ModuleExporter(model)
    raise InvalidArgumentError(
        f"model is {model!r:.100} of type {type(model).__name__}, expected a torch.nn.Module, a "
        "torch.export.ExportedProgram or the path of a .pt2 file."
    )


def _load_program(path: Path, *, allow_pickle: bool) -> Any:
    import torch

    if not path.is_file():
        raise MissingFileError(f"{path}: no such file, expected a .pt2 file of torch.export.save.")
    if not allow_pickle:
        raise PermissionDeniedError(
            f"{path}: torch reads .pt2 files by unpickling parts of them, which can run any code; "
            "pass allow_pickle=True if you trust who made it."
        )
    try:
        return torch.export.load(path)
    except Exception as e:
        raise InvalidArgumentError(
            f"{path}: torch.export.load cannot read it: {type(e).__name__}: {str(e)[:300]}; "
            "expected a file of torch.export.save by a version of torch no newer than this one."
        ) from e


def _metadata(kind: str) -> dict[str, str]:
    import torch

    return {
        "source.framework": "torch",
        "source.version": str(torch.__version__),
        "source.class": kind,
    }


def _method_name(call: ExampleCall, taken: Mapping[str, Any], signature: str) -> str:
    name = f"{call.method}_train" if call.training else call.method
    return signature if name in taken else name


def _are_same(first: list[ExampleCall], second: list[ExampleCall]) -> bool:
    """True for calls that give the same graphs: arguments are the same objects."""

    def parts(call: ExampleCall) -> Any:
        return (
            call.method,
            call.training,
            [id(a) for a in call.args],
            {k: id(v) for k, v in call.kwargs.items()},
            id(call.dynamic),
        )

    return [parts(c) for c in first] == [parts(c) for c in second]
