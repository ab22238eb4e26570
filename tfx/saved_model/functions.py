"""Functions of a loaded bundle: called like the originals, in eager code, tapes and traces."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterator
from typing import Any

from tfx.bundle.manifest import MANIFEST_NAME
from tfx.bundle.records import FunctionEntry, Parameter
from tfx.core.errors import BundleError, InvalidArgumentError
from tfx.core.signatures import show_signature
from tfx.core.tracebacks import cover
from tfx.framework.variable import Variable
from tfx.function.execution.concrete_function import ConcreteFunction
from tfx.function.tracing.function import Function
from tfx.saved_model.argument_matching import MismatchError, match, shown_call
from tfx.saved_model.call_structures import arguments_of
from tfx.saved_model.traces import LoadedFiles
from tfx.saved_model.values import from_value

_KINDS = {kind.name.lower(): kind for kind in inspect._ParameterKind}
_MAX_KNOWN = 1024


@cover
class RestoredFunction(Function):
    """A function of a loaded bundle: its traces are those that were saved, no more.

    A call takes the first trace, in the order of the bundle, that the arguments fit. Arguments fit
    as they are or, failing that, with Python numbers and lists made tensors.

    Args:
        entry: The function's record.
        files: The bundle.
    """

    def __init__(self, entry: FunctionEntry, files: LoadedFiles) -> None:
        def restored(*args: Any, **kwargs: Any) -> Any:
            return self._call_trace(args, kwargs)

        name = entry.name.rsplit("/", 1)[-1]
        restored.__name__ = name
        restored.__qualname__ = entry.name
        restored.__doc__ = entry.doc or None
        parameters = [_parameter(p, files) for p in entry.parameters]
        show_signature(restored, inspect.Signature(parameters))
        signature = entry.input_signature
        try:
            super().__init__(
                restored,
                name,
                None if signature is None else tuple(from_value(s) for s in signature),
            )
        except (TypeError, ValueError) as e:
            raise BundleError(
                f"{files.root / MANIFEST_NAME}: function {entry.name!r}: {e}; save the bundle again"
            ) from e
        self._entry = entry
        self._files = files
        files.functions.add(self)
        # Of the bundle, if the function is the object that was saved.
        self.signatures: dict[str, Any] = {}
        self._expected = [
            arguments_of(files.entry(n), self._parameters)[0] for n in entry.concrete_functions
        ]
        # Keys of calls -> which trace served them.
        self._known: dict[Any, int] = {}
        self._tracer.first_call_done = True

    def __deepcopy__(self, memo: dict[int, Any]) -> RestoredFunction:
        """The function over copies of its variables."""
        other = RestoredFunction(self._entry, copy.deepcopy(self._files, memo))
        other.signatures = copy.deepcopy(self.signatures, memo)
        return other

    @property
    def concrete_functions(self) -> list[ConcreteFunction]:
        """The traces that were saved, in the order in which they were made."""
        numbers = reversed(self._entry.concrete_functions)
        return [self._files.trace(n, self._parameters).concrete for n in numbers]

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables that the traces use."""
        found: dict[int, None] = {}
        for number in self._entry.concrete_functions:
            graph = self._files.entry(number).graph
            found.update((i.index, None) for i in graph.inputs if i.source == "variable")
            found.update((f.variable, None) for f in graph.frozen_variables)
            found.update((o.index, None) for o in graph.outputs if o.target == "variable")
        return tuple(self._files.variables[i] for i in found)

    def pretty_printed_concrete_signatures(self, verbose: bool = True) -> str:
        """The signatures of the traces, as text."""
        return "\n\n".join(self._options())

    def _call_trace(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        concrete, tensors = self._concrete_for(args, kwargs)
        return concrete.call_flat(tensors)

    def _concrete_for(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], *, exact: bool = False
    ) -> tuple[ConcreteFunction, list[Any]]:
        values = self._parameters.bind(self._name, args, kwargs)
        if self.input_signature is not None:
            values = self._cast_to_signature(values)
        key = self._arguments(values).key
        index = self._known.get(key)
        if index is None:
            index, tensors = self._find(values)
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            self._known[key] = index
        else:
            try:
                tensors = match(self._parameters.names, self._expected[index], values, convert=True)
            except MismatchError:  # the key does not tell what a class has beside its tensors
                index, tensors = self._find(values)
        number = self._entry.concrete_functions[index]
        return self._files.trace(number, self._parameters).concrete, tensors

    def _find(self, values: tuple[Any, ...]) -> tuple[int, list[Any]]:
        """The first trace that serves the call, and the call's tensors."""
        reasons: list[str] = []
        for convert in (False, True):
            reasons.clear()
            for index, expected in enumerate(self._expected):
                try:
                    return index, match(self._parameters.names, expected, values, convert=convert)
                except MismatchError as e:
                    reasons.append(str(e))
        given = shown_call(self._parameters.names, values)
        options = "".join(
            f"\n  {option}: {reason}"
            for option, reason in zip(self._options(), reasons, strict=True)
        )
        raise InvalidArgumentError(
            f"Could not find matching concrete function to call loaded from the bundle: "
            f"{self._name}{given}. A loaded function has no Python code to trace again; it was "
            f"saved with {len(reasons) or 'no'} traces{':' if options else '.'}{options}"
        )

    def _options(self) -> Iterator[str]:
        for expected in self._expected:
            yield f"{self._name}{shown_call(self._parameters.names, expected)}"


def _parameter(parameter: Parameter, files: LoadedFiles) -> inspect.Parameter:
    default: Any = inspect.Parameter.empty
    if parameter.has_default:
        default = from_value(parameter.default, None, files.constant)
    return inspect.Parameter(parameter.name, _KINDS[parameter.kind], default=default)
