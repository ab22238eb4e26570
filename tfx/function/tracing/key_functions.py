"""One generated Python function for each form that the calls of a function have.

An *extractor* takes the arguments of a call apart with a dozen bytecodes for each tensor: it checks
the form (``type(x) is list and len(x) == 4``), picks the leaves by keys that are constants, and
gives the call's tensors in the order of the trace, and a key of numbers, Python values and
addresses. A generic walk over a nest of ten tensors takes 4 us, this 1 us, which is what the call
itself may take beyond ONNX Runtime.

It owns nothing but that translation. What it cannot express (classes with a structure of their own,
specs, tensors of a trace) has no extractor, and takes the long way. Nothing of an argument becomes
source text but names and texts by ``repr``; classes are constants of the generated function.
"""

from __future__ import annotations

import dataclasses
import itertools
import types
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from tfx.core.nest_kinds import DATACLASS, expanded_kind_of, namedtuple_fields
from tfx.core.specs import TensorSpec
from tfx.framework.composite.indexed_slices import IndexedSlices
from tfx.framework.convert import convert_to_tensor
from tfx.framework.tensor import EagerTensor, Tensor, kind_number
from tfx.framework.variable import Variable
from tfx.function.tracing.parameters import Parameters
from tfx.function.tracing.trace_key import VALUES

# (what else decides, args, kwargs) -> (key, tensors in the order of the trace)
Extractor: TypeAlias = Callable[[Any, Any, Any], tuple[Any, Sequence[EagerTensor]]]

# What an extractor raises for arguments of another form.
MISMATCH = (AttributeError, KeyError, TypeError, ValueError, NotImplementedError)
_MAX_VALUES = 4096
# Of one function; a program with more forms of calls makes them from data.
_MAX_FORMS = 64
# A number in front of each key: the same parts mean something else in another form.
_numbers = itertools.count(1)


def call_form(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the key of a call's extractor: the positional count and the keyword names."""
    return (len(args), *kwargs) if kwargs else len(args)


def make_extractor(
    parameters: Parameters,
    name: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    wanted: Sequence[Any],
    otherwise: Extractor | None = None,
) -> tuple[Extractor, bool] | None:
    """An extractor for calls of the form of this one.

    Args:
        parameters: The function's parameters.
        name: The function's name.
        args: Positional arguments.
        kwargs: Arguments by name.
        wanted: The tensor arguments of the trace, in order.
        otherwise: Is asked about calls of the same spelling and another form.

    Returns:
        The extractor, and whether its keys hold addresses of objects; None if it cannot be
        expressed, or if tensors of the trace are none of the call's own (a default, a number that
        was cast).
    """
    writer = _Writer()
    try:
        values = parameters.bind(name, *writer.arguments(args, kwargs))
        for parameter, value in zip(parameters.names, values, strict=True):
            if isinstance(value, _Place):
                writer.walk(value)
            elif parameter == parameters.var_positional:
                for place in value:
                    writer.walk(place)
            elif parameter == parameters.var_keyword:
                for key in sorted(value):
                    writer.walk(value[key])
            elif not _never_changes(value):
                return None
    except (_UnsupportedError, RecursionError):
        return None
    if len(writer.tensors) != len(wanted):
        return None
    for own, tensor in zip(writer.tensors, wanted, strict=True):
        if own is not tensor and not _is_array_of(own, tensor):
            return None
    return writer.compiled(otherwise), writer.has_addresses


def _never_changes(default: Any) -> bool:
    """True if nobody can change what a parameter that is left out stands for."""
    if type(default) is tuple:
        return all(_never_changes(x) for x in default)
    return expanded_kind_of(default) is None


def _is_array_of(own: Any, tensor: Any) -> bool:
    """True if an array of the call became this tensor, without a cast."""
    if not isinstance(own, np.ndarray | np.generic) or type(tensor) is not EagerTensor:
        return False
    converted = convert_to_tensor(own)
    return type(converted) is EagerTensor and kind_number(converted) == kind_number(tensor)


class KeyFunctions:
    """The extractors of one function.

    Args:
        parameters: The function's parameters.
        name: The function's name.

    Attributes:
        by_spelling: ``call_form`` -> what takes such calls apart.
    """

    __slots__ = ("_count", "_name", "_parameters", "_with_addresses", "by_spelling")

    def __init__(self, parameters: Parameters, name: str) -> None:
        self._parameters = parameters
        self._name = name
        self._count = 0
        self._with_addresses: set[int] = set()
        self.by_spelling: dict[Any, Extractor] = {}

    def key_of(
        self, device: Any, args: tuple[Any, ...], kwargs: dict[str, Any], wanted: Sequence[Any]
    ) -> Any:
        """The key of a call; an extractor is made if none is for its form.

        Args:
            device: What else decides.
            args: Positional arguments.
            kwargs: Arguments by name.
            wanted: The tensor arguments of the trace that serves the call, in order.

        Returns:
            None if the call has no key.
        """
        called = call_form(args, kwargs)
        known = self.by_spelling.get(called)
        if known is not None:
            try:
                return known(device, args, kwargs)[0]
            except MISMATCH:
                pass
        if self._count >= _MAX_FORMS:
            return None
        made = make_extractor(self._parameters, self._name, args, kwargs, wanted, known)
        if made is None:
            return None
        self._count += 1
        new, has_addresses = made
        self.by_spelling[called] = new
        key = new(device, args, kwargs)[0]
        if has_addresses:
            self._with_addresses.add(key[0])
        return key

    def has_addresses(self, key: Any) -> bool:
        """True if a key holds the address of an object.

        It means that object only while a trace lives that goes when the object does.
        """
        return key[0] in self._with_addresses


class _UnsupportedError(Exception):
    """An error for arguments that no extractor supports."""


@dataclasses.dataclass(frozen=True)
class _Place:
    """An argument: the variable of the generated function that holds it, and what it is now."""

    variable: str
    value: Any
    # A plain class is a leaf where parameters are bound.
    _tfx_is_object = True


class _Writer:
    """Collects the lines of one extractor.

    Attributes:
        tensors: The tensors and arrays of the call, in the order of the trace.
        has_addresses: Whether the key holds the address of an object.
    """

    def __init__(self) -> None:
        self.tensors: list[Any] = []
        self.has_addresses = False
        self._lines: list[str] = []
        self._parts: list[str] = []
        self._picked: list[str] = []
        self._constants: dict[str, Any] = {"number": kind_number, "convert": convert_to_tensor}
        self._count = 0

    def arguments(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Take the arguments of the call, and give places for them."""
        places = [_Place(self._new(), x) for x in args]
        if places:
            self._line(f"{''.join(p.variable + ',' for p in places)} = args")
        named = {}
        for key, x in kwargs.items():
            named[key] = place = _Place(self._new(), x)
            self._line(f"{place.variable} = kwargs[{key!r}]")
        return tuple(places), named

    def walk(self, place: _Place) -> None:
        """Take an argument apart, or a part of one."""
        variable, value = place.variable, place.value
        kind: Any = type(value)
        if kind is EagerTensor:
            self._tensor(variable, value)
        elif kind in VALUES:
            self._python_value(variable, kind)
        elif kind is dict:
            self._dict(variable, value)
        elif kind is list or kind is tuple or namedtuple_fields(kind) is not None:
            self._sequence(variable, value)
        elif isinstance(value, np.ndarray | np.generic):
            self._require(f"type({variable}) is {self._constant(kind)}")
            self._line(f"{variable} = convert({variable})")
            self._tensor(variable, value)
        elif expanded_kind_of(value) is DATACLASS or hasattr(kind, "_tfx_fields"):
            self._fields(variable, value)
        elif expanded_kind_of(value) is None:
            self._object(variable, kind)
        else:
            raise _UnsupportedError

    def compiled(self, otherwise: Extractor | None) -> Extractor:
        """The function."""
        self._constants["otherwise"] = otherwise or _mismatch
        body = "\n".join(self._lines)
        key = ", ".join([str(next(_numbers)), "device", *self._parts])
        tensors = "".join(f"{v}, " for v in self._picked)
        source = f"def extract(device, args, kwargs):\n{body}\n    return ({key}), ({tensors})\n"
        exec(compile(source, "<extractor of a tfx.function>", "exec"), self._constants)
        extract: Extractor = self._constants["extract"]
        return extract

    def _new(self) -> str:
        self._count += 1
        if self._count > _MAX_VALUES:
            raise _UnsupportedError
        return f"v{self._count}"

    def _line(self, text: str) -> None:
        self._lines.append(f"    {text}")

    def _constant(self, value: Any) -> str:
        name = f"c{len(self._constants)}"
        self._constants[name] = value
        return name

    def _require(self, condition: str) -> None:
        self._line(f"if not ({condition}): return otherwise(device, args, kwargs)")

    def _tensor(self, variable: str, value: Any) -> None:
        # Nothing else has a _tfx_kind: AttributeError.
        self._parts.append(f"{variable}._tfx_kind or number({variable})")
        self._picked.append(variable)
        self.tensors.append(value)

    def _python_value(self, variable: str, kind: Any) -> None:
        if kind is type(None):
            self._require(f"{variable} is None")
            return
        self._require(f"type({variable}) is {self._constant(kind)}")
        if kind is float:
            # NaN differs from itself and -0.0 equals 0.0: their texts do neither.
            exact = f"{variable} == {variable} != 0.0"
            self._parts.append(f"{variable} if {exact} else repr({variable})")
        else:
            self._parts.append(f"repr({variable})" if kind is complex else variable)

    def _dict(self, variable: str, value: dict[Any, Any]) -> None:
        if not all(type(key) is str for key in value):
            raise _UnsupportedError  # {1: x} is not {True: x}, but would pass for it
        self._require(f"type({variable}) is dict and len({variable}) == {len(value)}")
        inner = [_Place(self._new(), value[key]) for key in sorted(value)]
        for place, key in zip(inner, sorted(value), strict=True):
            self._line(f"{place.variable} = {variable}[{key!r}]")
        self._walk_all(inner)

    def _sequence(self, variable: str, value: Any) -> None:
        kind = self._constant(type(value))
        self._require(f"type({variable}) is {kind} and len({variable}) == {len(value)}")
        inner = [_Place(self._new(), x) for x in value]
        if inner:
            self._line(f"{''.join(p.variable + ',' for p in inner)} = {variable}")
        self._walk_all(inner)

    def _fields(self, variable: str, value: Any) -> None:
        names = DATACLASS.keys(value)
        declared = getattr(type(value), "_tfx_fields", None) or dataclasses.fields(value)
        if len(names) != len(declared):
            raise _UnsupportedError  # a field that is not there yet may be there at the next call
        self._require(f"type({variable}) is {self._constant(type(value))}")
        inner = [_Place(self._new(), getattr(value, name)) for name in names]
        for place, name in zip(inner, names, strict=True):
            self._line(f"{place.variable} = {variable}.{name}")
        self._walk_all(inner)

    def _object(self, variable: str, kind: Any) -> None:
        """Add a value that is compared by identity or by value, as ``keys`` decides it."""
        special = kind is types.MethodType or getattr(kind, "_tfx_is_method", False)
        if special or issubclass(kind, Tensor | TensorSpec) or _is_array(kind):
            raise _UnsupportedError
        self._require(f"type({variable}) is {self._constant(kind)}")
        by_identity = issubclass(kind, Variable | type) or kind.__hash__ is object.__hash__
        if by_identity and kind.__weakrefoffset__ != 0:
            self._parts.append(f"id({variable})")
            self.has_addresses = True
        else:
            self._parts.append(variable)

    def _walk_all(self, places: Sequence[_Place]) -> None:
        for place in places:
            self.walk(place)


def _is_array(kind: Any) -> bool:
    """True if objects of a class other than NumPy's are taken for arrays."""
    return not issubclass(kind, Variable | IndexedSlices) and (
        hasattr(kind, "__array__") or hasattr(kind, "__dlpack__")
    )


def _mismatch(device: Any, args: Any, kwargs: Any) -> Any:
    raise TypeError("no extractor is for this form")
