"""A method of a torch module as an exported program: traced by torch.export, errors readable."""

from __future__ import annotations

import inspect
import logging
import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from tfx.core.errors import InvalidArgumentError, OpError, UnimplementedError
from tfx.core.signatures import show_signature
from tfx.exporters.example_calls import ExampleCall
from tfx.exporters.torch_structures import NamedDims, Path, grown, part_at, path_text

_LINE = re.compile(r'File "([^"]+)", line (\d+), in (\w+)')
# Around a module whose method is not ``forward``: what names of weights begin with then.
WRAPPED = "model."


@dataclass(frozen=True)
class TracedMethod:
    """A method as torch.export has it.

    Attributes:
        label: The method, for messages.
        program: The exported program.
        parameters: The method's parameters; None: those that the program names.
        prefix: What names of weights begin with in the program and not in the model.
        dims: The dimensions with a name: the argument's place, the axis and the name.
    """

    label: str
    program: Any
    parameters: inspect.Signature | None = None
    prefix: str = ""
    dims: tuple[tuple[Path, int, str], ...] = ()


def trace_method(model: Any, label: str, call: ExampleCall) -> TracedMethod:
    """Trace a method of a module by ``torch.export``.

    Raises:
        InvalidArgumentError: the example call does not fit, or a dimension is fixed by the model.
        UnimplementedError: the method does what a graph cannot.
    """
    import torch

    function = getattr(model, call.method, None)
    if not callable(function):
        raise InvalidArgumentError(
            f"{type(model).__name__} has no method {call.method!r}, which a signature asks for."
        )
    parameters = inspect.signature(function)
    arguments = _bound(label, parameters, call)
    dims = NamedDims(label)
    for name in call.dynamic or {}:
        if name not in arguments:
            raise InvalidArgumentError(
                f"{label}: dynamic has {name!r}, which is no argument of the example call; it has "
                f"{', '.join(arguments) or 'none'}."
            )
    given = call.dynamic or {}
    shapes: Any = {n: dims.shapes(a, given.get(n), (n,)) for n, a in arguments.items()}
    call = _without_ones(parameters, call, dims)
    is_forward = call.method == "forward"
    _know_caches()
    traced = model if is_forward else _with_forward(model, function, parameters)
    with (
        _with_batched_experts(model),
        in_mode(model, call.training),
        _readable(label, dims),
        quiet(),
    ):
        program = torch.export.export(
            traced, call.args, dict(call.kwargs), dynamic_shapes=shapes if given else None
        )
    prefix = "" if is_forward else WRAPPED
    return TracedMethod(label, program, parameters, prefix, tuple(dims.asked))


def _know_caches() -> None:
    """Let torch see the tensors in caches of transformers, where a program uses that library."""
    if "transformers" not in sys.modules:
        return
    try:
        from transformers.integrations import executorch

        executorch.register_dynamic_cache_export_support()
    except (ImportError, AttributeError, ValueError):
        return  # another version, which knows them or has none


@contextmanager
def _with_batched_experts(model: Any) -> Iterator[None]:
    """Have mixtures of experts of transformers compute with operators that graphs have.

    Their usual way multiplies groups of rows whose sizes only a run tells, by an operator that ONNX
    has no form of. The other way takes for each row the matrices of its experts; the result is the
    same.
    """
    before = []
    try:
        for module in model.modules():
            if not hasattr(module, "get_experts_implementation"):
                continue
            ways = module.get_experts_implementation()
            if "grouped_mm" in ways.values():
                before.append((module, ways))
                module.set_experts_implementation(
                    {n: "batched_mm" if way == "grouped_mm" else way for n, way in ways.items()}
                )
        yield
    finally:
        for module, ways in reversed(before):
            module.set_experts_implementation(ways)


def _bound(label: str, parameters: inspect.Signature, call: ExampleCall) -> dict[str, Any]:
    """The arguments of a call by parameter, in order."""
    try:
        return dict(parameters.bind(*call.args, **call.kwargs).arguments)
    except TypeError as e:
        raise InvalidArgumentError(
            f"{label}{parameters} cannot be called with the example arguments: {e}; give them as "
            "args= and kwargs=."
        ) from e


def _without_ones(parameters: inspect.Signature, call: ExampleCall, dims: NamedDims) -> ExampleCall:
    """The call with dimensions of size 1 doubled that have a name.

    The tracer takes a 1 for a number of the model's, since it may be broadcast.
    """
    bound = parameters.bind(*call.args, **call.kwargs)
    for path, axis, _ in dims.asked:
        name, rest = path[0], path[1:]
        if part_at(bound.arguments[name], rest).shape[axis] == 1:
            bound.arguments[name] = grown(bound.arguments[name], rest, axis)
    return replace(call, args=bound.args, kwargs=bound.kwargs)


def _with_forward(model: Any, function: Any, parameters: inspect.Signature) -> Any:
    """A module whose ``forward`` is another method of a model."""
    import torch

    class Method(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, *args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    shown = list(parameters.parameters.values())
    if shown and shown[0].kind is not inspect.Parameter.POSITIONAL_ONLY:
        own = own.replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD)
    show_signature(Method.forward, parameters.replace(parameters=[own, *shown]))
    return Method()


@contextmanager
def in_mode(model: Any, training: bool) -> Iterator[None]:
    """Run a module as in training or not; afterwards each part of it is as it was."""
    before = [(module, module.training) for module in model.modules()]
    model.train(training)
    try:
        yield
    finally:
        for module, mode in before:
            module.training = mode


@contextmanager
def quiet() -> Iterator[None]:
    """Keep what torch says to its own developers from the user."""
    handlers = list(logging.getLogger("torch").handlers)

    def only_errors(record: logging.LogRecord) -> bool:
        return record.levelno >= logging.ERROR

    for handler in handlers:
        handler.addFilter(only_errors)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for handler in handlers:
            handler.removeFilter(only_errors)


@contextmanager
def _readable(label: str, dims: NamedDims) -> Iterator[None]:
    """Let errors of the tracer come out as ours, which say what to do."""
    try:
        yield
    except OpError:
        raise
    except Exception as e:
        text = str(e)
        place = _place(text, e)
        fixed = _fixed_dimension(text, dims)
        if fixed is not None:
            raise InvalidArgumentError(f"{label}: {fixed}{place}.") from e
        if "data-dependent" in text or "GuardOnDataDependent" in type(e).__name__:
            raise UnimplementedError(
                f"{label}: its Python code decides by the contents of a tensor (if, while, int(), "
                f".item()), which a graph cannot: {_first(text)}{place}. Use torch.where or "
                "torch.cond there, or export the parts around it as methods of their own."
            ) from e
        raise UnimplementedError(
            f"{label}: torch.export cannot trace it: {type(e).__name__}: {_first(text)}{place}."
        ) from e


def _first(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " ".join(lines[:2])[:400].rstrip(".") if lines else "no message"


def _place(text: str, error: BaseException) -> str:
    """The line of the user's program, if the message or the traceback has one."""
    place = place_in(text)
    if place:
        return place
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if not _is_machinery(code.co_filename):
            place = f" (at {code.co_filename}:{trace.tb_lineno}, in {code.co_name})"
        trace = trace.tb_next
    return place


def place_in(text: str) -> str:
    """The last line of the user's program in a traceback's text."""
    found = [m for m in _LINE.finditer(text) if not _is_machinery(m[1])]
    return f" (at {found[-1][1]}:{found[-1][2]}, in {found[-1][3]})" if found else ""


def _is_machinery(file: str) -> bool:
    import torch

    if file.startswith("<"):
        return True
    own = (os.path.dirname(__file__), os.path.dirname(torch.__file__), os.path.dirname(os.__file__))
    is_installed = f"{os.sep}site-packages{os.sep}" in file
    return file.startswith(own[:2]) or (file.startswith(own[2]) and not is_installed)


def _fixed_dimension(text: str, dims: NamedDims) -> str | None:
    """What to say of a dimension that was asked for by name and is a number in the model."""
    if not re.search(r"specializ|[Cc]onstraint|[Nn]ot all values", text):
        return None
    for path, axis, name in dims.asked:
        lines = [n.strip(" -\t") for n in text.splitlines() if re.search(rf"\b{name}\b", n)]
        lines = [n for n in lines if "Constraints violated" not in n] or lines
        if lines:
            return fixed_text(path, axis, name, lines[0].rstrip(".")[:300])
    return None


def fixed_text(path: Path, axis: int, name: str, found: str) -> str:
    """What to say of a dimension that was asked for by name and is a number in the model."""
    return (
        f"dimension {axis} of {path_text(path)} was asked for as {name!r}, but the model fixes it: "
        f"{found}. Leave {name!r} out of dynamic, or change the line that needs the number (a "
        "size that is compared, reshaped to or indexed by a Python number)"
    )
