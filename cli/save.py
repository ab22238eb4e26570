"""``tfx save``: write a bundle from a Python object or a model of another framework."""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn

import click

from tfx.cli import _output, _values
from tfx.cli._errors import OperationError, debug_option
from tfx.cli._limits import timeout_option
from tfx.cli._save_model import Wishes, parse_dynamic, save_model
from tfx.cli._sources import (
    SOURCE_FORM,
    Source,
    framework_of_path,
    source_of_object,
    unpickle,
)
from tfx.core.errors import OpError

if TYPE_CHECKING:
    from tfx.core.specs import TensorSpec

_HELP = """Write a bundle from an object of a Python program, or from a model of another framework.

SOURCE is MODULE:OBJECT (also FILE.py:OBJECT, and OBJECT() to call what makes it), a file that ends
in .onnx, .pt2, .keras, .safetensors, .joblib or .pkl, or the folder of a SavedModel. The module is
imported, so its code runs. The object is one of tfx, torch, JAX (of flax.linen with its variables
as a pair), Keras, TensorFlow, scikit-learn, XGBoost or LightGBM.

A signature of a tfx object is a function with @tfx.function above it; of others it is a method.
Without --signature the object's only such function with an input_signature that assigns no variable
becomes serving_default. What does not say what it takes needs an --input for each of its tensors:
sizes are numbers, names, or None for any.

\b
Examples:
  tfx save digits:model --out digits_bundle
  tfx save 'digits.py:make_model()' --out digits_bundle \\
      --signature serving_default=predict --input 'image=float32[batch,8,8]'
  tfx save resnet50.onnx --out resnet_bundle
  tfx save 'torchvision.models:resnet18()' --out resnet_bundle \\
      --input 'x=float32[batch,3,224,224]' --training
  tfx save classifier.joblib --out classifier_bundle --allow-pickle
"""


@click.command("save", help=_HELP, short_help="Write a bundle.")
@click.argument("source", metavar="SOURCE")
@click.option(
    "--out",
    metavar="DIR",
    required=True,
    type=_values.FILLED,
    help="The folder to make; an earlier bundle there is replaced in one step.",
)
@click.option(
    "--signature",
    "signatures",
    metavar="NAME=METHOD",
    multiple=True,
    help="A function to offer under a name; NAME alone if both are the same.",
)
@click.option(
    "--input",
    "inputs",
    metavar="NAME=DTYPE[SHAPE]",
    multiple=True,
    help="The type of an argument of the functions.",
)
@click.option(
    "--dynamic",
    metavar="NAME=AXIS:DIM",
    multiple=True,
    help="An axis of an argument whose size calls choose, where the source has a size of its own.",
)
@click.option("--training", is_flag=True, help="Also offer the model as it runs in training.")
@click.option(
    "--verify/--no-verify",
    default=True,
    help="Whether a model of another framework must answer as it does there (the default).",
)
@click.option(
    "--allow-pickle",
    is_flag=True,
    help="Open files that may run code: .joblib, .pkl, .pt2, .keras with Lambda layers.",
)
@timeout_option()
@debug_option
def command(
    source: str,
    *,
    out: str,
    signatures: tuple[str, ...],
    inputs: tuple[str, ...],
    dynamic: tuple[str, ...],
    training: bool,
    verify: bool,
    allow_pickle: bool,
) -> None:
    """Find the object and save it."""
    specs = dict(_values.parse_spec(item) for item in inputs)
    pairs = [text.partition("=") for text in signatures]
    wishes = Wishes(
        out,
        {name: method or name for name, _, method in pairs} or None,
        specs,
        parse_dynamic(dynamic),
        training,
        verify,
        allow_pickle,
    )
    framework = framework_of_path(source)
    if framework == "pickle":
        with _output.progress(f"Reading {source}"):
            found, name = unpickle(source, allowed=allow_pickle), source
        _save_found(source, found, name, signatures, wishes)
    elif framework is not None:
        _save_foreign(Source(framework, source), wishes)
    else:
        with _output.progress(f"Importing {source}"):
            found, name = _find(source)
        _save_found(source, found, name, signatures, wishes)
    _report(out)


def _save_found(
    text: str, found: Any, name: str, signatures: Sequence[str], wishes: Wishes
) -> None:
    """Save an object of whatever framework it is of."""
    source = source_of_object(found)
    if source.framework is not None:
        _save_foreign(source, wishes)
        return
    reason = "an object of tfx says this in its functions"
    wishes.refuse(reason, dynamic=wishes.dynamic, training=wishes.training)
    _refuse_plain(text, found)
    _save_object(found, name, wishes.out, signatures, wishes.inputs)


def _save_foreign(source: Source, wishes: Wishes) -> None:
    with _output.progress(f"Saving {wishes.out}"):
        try:
            save_model(source, wishes)
        except (ValueError, TypeError) as error:  # the exporter's word on what it was given
            if isinstance(error, OpError):
                raise
            raise OperationError(
                f"{type(error).__name__}: {str(error).rstrip('.')}; --debug shows where"
            ) from error


def _save_object(
    found: Any, name: str, out: str, signatures: Sequence[str], specs: Mapping[str, TensorSpec]
) -> None:
    from tfx.exporters import save

    if _is_traced(found):  # a function by itself: each signature is this one
        owner: Any = SimpleNamespace(**{name: found})
        names = [text.partition("=")[0] for text in signatures] or ["serving_default"]
        signatures = [f"{item}={name}" for item in names]
    else:
        owner = found
        signatures = signatures or ([f"serving_default={_only_method(owner)}"] if specs else [])
    chosen = _signatures(owner, signatures, specs)
    with _output.progress(f"Saving {out}"):
        try:
            save(found, out, signatures=chosen)
        except ValueError as error:  # the exporter's word on what it was given
            if isinstance(error, OpError):
                raise
            raise OperationError(str(error)) from error
    if not chosen:
        _tell_if_nothing_can_be_called(found, out)


def _refuse_plain(source: str, found: Any) -> None:
    if inspect.isclass(found):
        raise OperationError(
            f"{source!r} is a class, expected a model; have it called: "
            f"{_values.quoted(source + '()')}, or give a function that makes one"
        )
    if inspect.isroutine(found) and not _is_traced(found):
        raise OperationError(
            f"{source!r} is a plain function; if it makes the model, have it called: "
            f"{_values.quoted(source + '()')}; otherwise put @tfx.function above it, or @jax.jit "
            "above one of JAX"
        )


def _find(source: str) -> tuple[Any, str]:
    """Import the module and return the object with the last part of its name."""
    module_name, colon, path = source.rpartition(":")
    if not colon or not module_name or not path:
        raise click.UsageError(f"{source!r}: expected {SOURCE_FORM}")
    folder = os.getcwd()
    if module_name.endswith(".py"):
        if not os.path.isfile(module_name):
            raise click.UsageError(f"{module_name}: there is no such file")
        folder = os.path.dirname(os.path.abspath(module_name))
        module_name = os.path.basename(module_name)[: -len(".py")]
    sys.path.insert(0, folder)
    is_call = path.endswith("()")
    module = _guarded(lambda: _import(module_name), f"importing {module_name!r}")
    found = _attribute(module, path.removesuffix("()"), f"module {module_name!r}")
    if is_call:
        found = _guarded(found, f"{source!r}")
    return found, path.removesuffix("()").rpartition(".")[2]


def _import(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.partition(".")[0] and error.name != name:
            raise
        raise OperationError(
            f"there is no module {name!r} in {sys.path[0]} or among the installed packages; run "
            "this in the folder of the program, or give the file: FILE.py:OBJECT"
        ) from error


def _attribute(owner: Any, path: str, where: str) -> Any:
    for part in path.split("."):
        try:
            owner = getattr(owner, part)
        except AttributeError:
            from tfx.loaders.messages import nearest

            names = [name for name in dir(owner) if not name.startswith("_")]
            raise OperationError(f"{where} has no {path!r}; {nearest(part, names)}") from None
    return owner


def _guarded(call: Callable[[], Any], what: str) -> Any:
    """Call the user's code, and report an error in it with the user's line."""
    try:
        return call()
    except OperationError:
        raise
    except Exception as error:
        from tfx.core.source import UNKNOWN_LOCATION, raised_at

        place = raised_at(error)
        told = place is UNKNOWN_LOCATION or isinstance(error, SyntaxError)  # it says where itself
        where = "" if told else f" (line {place.line} of {place.file})"
        raise OperationError(
            f"{what} failed: {type(error).__name__}: {str(error).rstrip('.')}{where}; --debug "
            "shows the traceback"
        ) from error


def _is_traced(found: Any) -> bool:
    return hasattr(found, "get_concrete_function") or hasattr(found, "structured_input_signature")


def _traced_methods(owner: Any) -> list[str]:
    names = [name for name in dir(owner) if not name.startswith("_") or name == "__call__"]
    return [name for name in names if _is_traced(inspect.getattr_static(owner, name, None))]


def _only_method(owner: Any) -> str:
    """The function that --input is for, where --signature does not say so."""
    names = _traced_methods(owner)
    if "__call__" in names:
        return "__call__"
    if len(names) == 1:
        return names[0]
    raise click.UsageError(
        "--input without --signature: choose the function with --signature NAME=METHOD; "
        f"{_functions_of(owner)}"
    )


def _functions_of(owner: Any) -> str:
    names = _traced_methods(owner)
    if not names:
        kind = type(owner).__name__
        return f"the object, of class {kind}, has no function with @tfx.function above it"
    return f"the object's functions are {', '.join(names)}"


def _signatures(
    owner: Any, texts: Sequence[str], specs: Mapping[str, TensorSpec]
) -> dict[str, Any] | None:
    """The functions to save by name; None leaves the choice to the exporter."""
    if not texts:
        return None
    chosen = {}
    used: set[str] = set()
    for text in texts:
        name, _, method = text.partition("=")
        function = _attribute(owner, method or name, f"an object of class {type(owner).__name__}")
        if not _is_traced(function):
            raise OperationError(
                f"--signature {text}: {method or name!r} is a {type(function).__name__}, expected "
                "a function with @tfx.function above it"
            )
        wanted = _accepted(function, specs)
        used.update(wanted)
        if not wanted and _is_open(function):
            _refuse_open(text, function)
        if wanted:
            trace = functools.partial(function.get_concrete_function, **wanted)
            function = _guarded(trace, f"tracing {method or name!r}")
        chosen[name] = function
    for name in specs:
        if name not in used:
            raise click.UsageError(f"--input {name}: no function of the signatures takes it")
    return chosen


def _accepted(function: Any, specs: Mapping[str, TensorSpec]) -> dict[str, TensorSpec]:
    """The specs of a function's own parameters."""
    if not specs or not hasattr(function, "get_concrete_function"):
        return {}
    parameters = inspect.signature(function.python_function).parameters.values()
    if any(item.kind is item.VAR_KEYWORD for item in parameters):
        return dict(specs)
    return {item.name: specs[item.name] for item in parameters if item.name in specs}


def _is_open(function: Any) -> bool:
    """True if it is unknown what the function takes."""
    if not hasattr(function, "get_concrete_function") or function.input_signature is not None:
        return False
    return len(function.concrete_functions) != 1


def _refuse_open(text: str, function: Any) -> NoReturn:
    parameters = inspect.signature(function.python_function).parameters
    names = [name for name in parameters if name != "self"]
    example = " ".join(f"--input {name}=DTYPE[SHAPE]" for name in names) or "an input_signature"
    raise OperationError(
        f"--signature {text}: the function has no input_signature, so what it takes is unknown; "
        f"add {example}, such as --input '{(names or ['x'])[0]}=float32[None,8]'"
    )


def _tell_if_nothing_can_be_called(found: Any, out: str) -> None:
    from tfx.loaders import summarize

    if not summarize(out).signatures:
        hint = "choose with --signature NAME=METHOD; " if _traced_methods(found) else ""
        click.echo(
            f"{out} has no signature, so tfx load cannot call it; {hint}{_functions_of(found)}",
            err=True,
        )


def _report(out: str) -> None:
    from tfx.loaders import summarize

    summary = summarize(out)
    names = ", ".join(item.name for item in summary.signatures) or "none"
    files = _output.counted(len(summary.files) + 1, "file")
    click.echo(f"{out}: signatures {names}; {files}, {_output.size_text(summary.nbytes)}")
