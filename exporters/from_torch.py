"""Torch modules and exported programs as modules and bundles.

Stands on ``torch.export`` and ``torch.onnx.export(dynamo=True)``. What is ours: several methods
over one set of weights under torch's names, tied weights, buffers as state, structures, names of
dimensions, and answers of the source to compare with.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from typing import Any

from tfx.exporters.example_calls import ExampleCall, resolve_calls
from tfx.importing.converted_module import ConvertedModule
from tfx.importing.method_graphs import MethodGraph, SourceVariable


def to_module(
    model: Any,
    args: Any = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    signatures: Any = None,
    dynamic: Mapping[str, Any] | None = None,
    training: bool = False,
    name: str | None = None,
) -> ConvertedModule:
    """Make a module of a torch model.

    Args:
        model: A ``torch.nn.Module``, or a ``torch.export.ExportedProgram``.
        args: Example arguments by position: a tuple, or a single tensor.
        kwargs: Example arguments by name.
        signatures: Methods by signature: ``{"serving_default": "forward"}``, ``(method, args)``,
            an ``ExampleCall``, or a list of calls that differ in what they leave out.
        dynamic: Dimensions whose size calls may choose, with their names:
            ``{"x": {0: "batch"}}``.
        training: Whether each signature gets a twin that runs as in training (``train``).
        name: Name of the module; None: made from the class.

    Returns:
        A ``ConvertedModule``: called as the model is, with variables under torch's names.

    Raises:
        ImportError: torch is not installed.
        InvalidArgumentError: the example does not fit, or the model fixes a dimension.
        UnimplementedError: the model does what a graph cannot.
    """
    from tfx.exporters.torch_graphs import method_graph
    from tfx.exporters.torch_programs import as_array, described, export_program, parameters_of

    require_torch()
    label = type(model).__name__
    if not isinstance(args, tuple | list):
        args = (args,)
    default = ExampleCall("forward", tuple(args), dict(kwargs or {}), dynamic)
    calls = resolve_calls(signatures, default, training=training)
    weights, tied = parameters_of(model)
    methods: dict[str, list[MethodGraph]] = {}
    named: dict[str, str] = {}
    for signature, several in calls.items():
        first = several[0]
        method = f"{first.method}_train" if first.training else first.method
        if method in methods and signature not in named:
            method = signature
        graphs = []
        for call in several:
            program = export_program(model, f"{label}.{call.method}", call)
            shown = inspect.signature(getattr(model, call.method))
            graphs.append(
                method_graph(
                    f"{label}.{call.method}",
                    program,
                    shown,
                    wrapped=call.method != "forward",
                    tied=tied,
                )
            )
        methods[method], named[signature] = graphs, method
    return ConvertedModule(
        methods,
        {
            key: SourceVariable(as_array(label, key, tensor), bool(tensor.requires_grad))
            for key, tensor in weights.items()
        },
        tied=tied,
        name=name or label.lower(),
        signatures=named,
        metadata=described(model),
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
