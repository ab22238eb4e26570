"""A torch module's method as an exported program: traced by torch.export, errors made readable."""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tfx.core.errors import InvalidArgumentError, UnimplementedError
from tfx.exporters.example_calls import ExampleCall
from tfx.exporters.torch_structures import NamedDims

_LINE = re.compile(r'File "([^"]+)", line (\d+), in (\w+)')


def bound_arguments(label: str, function: Any, call: ExampleCall) -> dict[str, Any]:
    """The arguments of a call by parameter, in order.

    Raises:
        InvalidArgumentError: the arguments do not fit the function.
    """
    try:
        bound = inspect.signature(function).bind(*call.args, **call.kwargs)
    except TypeError as e:
        raise InvalidArgumentError(
            f"{label} cannot be called with the example arguments: {e}; give args= and kwargs= as "
            f"{label}{inspect.signature(function)} takes them."
        ) from e
    return dict(bound.arguments)


def export_program(model: Any, label: str, call: ExampleCall) -> Any:
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
    arguments = bound_arguments(label, function, call)
    dims = NamedDims(label)
    for name in call.dynamic or {}:
        if name not in arguments:
            raise InvalidArgumentError(
                f"{label}: dynamic has {name!r}, which is no argument of the example call; it has "
                f"{', '.join(arguments) or 'none'}."
            )
    shapes = {
        n: dims.shapes(value, (call.dynamic or {}).get(n), n) for n, value in arguments.items()
    }
    traced = model if call.method == "forward" else _with_forward(model, function)
    with _mode(model, call.training), _readable(label, dims), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.export.export(
            traced, call.args, dict(call.kwargs), dynamic_shapes=shapes if dims.asked else None
        )


def _with_forward(model: Any, function: Any) -> Any:
    """A module whose ``forward`` is another method; parameters get the prefix ``model.``."""
    import torch

    class Method(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model
            self.training = model.training

        def forward(self, *args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

    Method.forward.__signature__ = _with_self(function)  # type: ignore[attr-defined]
    return Method()


def _with_self(function: Any) -> inspect.Signature:
    signature = inspect.signature(function)
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    parameters = list(signature.parameters.values())
    if parameters and parameters[0].kind is not inspect.Parameter.POSITIONAL_ONLY:
        own = own.replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return signature.replace(parameters=[own, *parameters])


@contextmanager
def _mode(model: Any, training: bool) -> Iterator[None]:
    """Run a module as in training or not; afterwards each part is as it was."""
    before = [(module, module.training) for module in model.modules()]
    model.train(training)
    try:
        yield
    finally:
        for module, mode in before:
            module.training = mode


@contextmanager
def _readable(label: str, dims: NamedDims) -> Iterator[None]:
    """Let errors of the tracer come out as ours, which say what to do."""
    try:
        yield
    except (InvalidArgumentError, UnimplementedError):
        raise
    except Exception as e:
        text = str(e)
        place = _place(text, e)
        fixed = _fixed_dimension(text, dims)
        if fixed is not None:
            raise InvalidArgumentError(f"{label}: {fixed}{place}") from e
        if "data-dependent" in text or "GuardOnDataDependent" in type(e).__name__:
            raise UnimplementedError(
                f"{label}: its Python code decides by the contents of a tensor (if, while, int(), "
                f".item()), which a graph cannot: {_first(text)}{place}. Use torch.where or "
                "torch.cond there, or export the parts around it as methods of their own."
            ) from e
        raise UnimplementedError(
            f"{label}: torch.export cannot trace it: {type(e).__name__}: {_first(text)}{place}"
        ) from e


def _first(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " ".join(lines[:2])[:400].rstrip(".") if lines else "no message"


def _place(text: str, error: BaseException) -> str:
    """The line of the user's program, if the message or the traceback has one."""
    found = [m for m in _LINE.finditer(text) if "/torch/" not in m[1].replace("\\", "/")]
    if found:
        return f" (at {found[-1][1]}:{found[-1][2]}, in {found[-1][3]})"
    place = ""
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        name = code.co_filename.replace("\\", "/")
        if "/torch/" not in name and "/exporters/" not in name and not name.startswith("<"):
            place = f" (at {code.co_filename}:{trace.tb_lineno}, in {code.co_name})"
        trace = trace.tb_next
    return place


def _fixed_dimension(text: str, dims: NamedDims) -> str | None:
    """What to say of a dimension that was asked for by name and is a number in the model."""
    if not dims.asked or not re.search(r"specializ|constraint|[Nn]ot all values", text):
        return None
    for path, axis, name in dims.asked:
        if re.search(rf"\b{re.escape(name)}\b", text):
            return (
                f"dimension {axis} of {path} was asked for as {name!r}, but the model fixes it: "
                f"{_reason(text, name)}. Leave {name!r} out of dynamic, give an example of a size "
                "other than 0 and 1, or change the line that needs the number"
            )
    return None


def _reason(text: str, name: str) -> str:
    lines = [line.strip(" -\t") for line in text.splitlines() if name in line]
    return (lines[0] if lines else text.splitlines()[0]).rstrip(".")[:300]


def parameters_of(model: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """Parameters and buffers by name, each once, and the further names of tied ones."""
    found: dict[str, Any] = {}
    tied: dict[str, str] = {}
    seen: dict[Any, str] = {}
    every = [
        *model.named_parameters(remove_duplicate=False),
        *model.named_buffers(remove_duplicate=False),
    ]
    for name, tensor in every:
        key = _identity(tensor)
        if key in seen:
            tied[name] = seen[key]
        else:
            seen[key] = name
            found[name] = tensor
    return found, tied


def _identity(tensor: Any) -> Any:
    if tensor.numel() == 0 or tensor.device.type == "meta":
        return id(tensor)
    return tensor.data_ptr(), tuple(tensor.shape), tuple(tensor.stride()), tensor.dtype


def as_array(label: str, name: str, tensor: Any) -> Any:
    """A parameter as an array, without a copy where it is on the CPU.

    Raises:
        InvalidArgumentError: it has no contents, or of a kind that arrays do not have.
    """
    import torch

    from tfx.core import dtypes

    if tensor.device.type == "meta":
        raise InvalidArgumentError(
            f"{label}: {name!r} is on the meta device and has no contents; load weights first."
        )
    tensor = tensor.detach()
    if tensor.layout != torch.strided or tensor.is_quantized:
        raise InvalidArgumentError(
            f"{label}: {name!r} is {tensor.layout}, expected a plain tensor; convert it first."
        )
    tensor = tensor.cpu()
    if tensor.is_conj() or tensor.is_neg():
        tensor = tensor.resolve_conj().resolve_neg()
    if tensor.dtype == torch.bfloat16:
        return tensor.contiguous().view(torch.int16).numpy().view(dtypes.bfloat16.as_numpy_dtype)
    try:
        return tensor.numpy()
    except (TypeError, RuntimeError) as e:
        raise InvalidArgumentError(
            f"{label}: {name!r} has dtype {tensor.dtype}, which arrays do not have; convert it."
        ) from e


def described(model: Any) -> Mapping[str, str]:
    """What a bundle's metadata says of the source."""
    import torch

    kind = type(model)
    return {
        "source.framework": "torch",
        "source.version": str(torch.__version__),
        "source.class": f"{kind.__module__}.{kind.__qualname__}",
    }
