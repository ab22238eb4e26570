"""``Parameters``: what a Python function takes, and how the arguments of a call are bound to it.

Owns the spellings of a call: positions, names and defaults give one value for each parameter. Must
not know what the values are.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Sequence
from types import NoneType
from typing import Any


class Parameters:
    """The parameters of a Python function.

    Attributes:
        names: Parameters that arguments are bound to, in order; ``*args`` and ``**kwargs`` last.
        simple: How many there are if all are plain and positional, else -1: a call with that many
            positional arguments needs no binding.
    """

    __slots__ = (
        "_required_by_name",
        "names",
        "required",
        "signature",
        "simple",
        "var_keyword",
        "var_positional",
    )

    def __init__(self, function: Callable[..., Any]) -> None:
        try:
            self.signature = inspect.signature(function)
        except (TypeError, ValueError):  # builtins without a signature take anything
            self.signature = inspect.Signature(
                [
                    inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL),
                    inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD),
                ]
            )
        self._describe()

    @property
    def text(self) -> str:
        """The signature as it is shown; defaults that are objects are left out.

        Their own text may be long, or hold that of further functions without end.
        """
        plain = (int, float, complex, str, bytes, NoneType, type(Ellipsis))
        parameters = [
            p if p.default is p.empty or isinstance(p.default, plain) else p.replace(default=...)
            for p in self.signature.parameters.values()
        ]
        return str(self.signature.replace(parameters=parameters)).replace("Ellipsis", "...")

    @classmethod
    def from_signature(cls, signature: inspect.Signature) -> Parameters:
        """Parameters that no Python function has (of a loaded one)."""
        parameters = cls.__new__(cls)
        parameters.signature = signature
        parameters._describe()
        return parameters

    def _describe(self) -> None:
        parameters = list(self.signature.parameters.values())
        self.names = [p.name for p in parameters]
        plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        self.simple = len(parameters) if all(p.kind in plain for p in parameters) else -1
        self._required_by_name = sum(
            p.kind is inspect.Parameter.KEYWORD_ONLY and p.default is p.empty for p in parameters
        )
        self.var_positional = next(
            (p.name for p in parameters if p.kind is inspect.Parameter.VAR_POSITIONAL), None
        )
        self.var_keyword = next(
            (p.name for p in parameters if p.kind is inspect.Parameter.VAR_KEYWORD), None
        )

    def bind(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """One value for each parameter, defaults filled in.

        Raises:
            TypeError: missing, extra or unknown arguments, in Python's words with the nearest name.
        """
        if not kwargs and len(args) == self.simple:
            return args
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as e:
            raise TypeError(f"{name}{self.text}: {e}{self._nearest(kwargs)}.") from None
        bound.apply_defaults()
        return tuple(bound.arguments.values())

    def bind_some(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The values of the parameters that arguments were given for.

        Raises:
            TypeError: extra or unknown arguments, in Python's words with the nearest name.
        """
        try:
            return dict(self.signature.bind_partial(*args, **kwargs).arguments)
        except TypeError as e:
            raise TypeError(f"{name}{self.text}: {e}{self._nearest(kwargs)}.") from None

    def assign_specs(self, name: str, specs: Sequence[Any]) -> tuple[Any, ...]:
        """An input signature by parameters: ``*args`` takes what is left over.

        Returns:
            One structure of specs for each parameter, as far as the signature reaches.

        Raises:
            TypeError: too many specs, or none for a parameter without default.
        """
        empty, kinds = inspect.Parameter.empty, inspect.Parameter
        assigned: list[Any] = []
        rest = list(specs)
        for number, parameter in enumerate(self.signature.parameters.values()):
            if parameter.kind is kinds.VAR_POSITIONAL:
                if len(assigned) == number:  # no parameter before it is left to its default
                    at = len(rest) - self._required_by_name
                    assigned.append(tuple(rest[: max(at, 0)]))
                    rest = rest[max(at, 0) :]
            elif parameter.kind is kinds.VAR_KEYWORD:
                continue
            elif rest:
                assigned.append(rest.pop(0))
            elif parameter.default is empty:
                raise TypeError(
                    f"{name}{self.text}: input_signature is missing a type constraint for "
                    f"{parameter.name!r}; got {list(specs)!r}."
                )
        if rest:
            raise TypeError(
                f"{name}{self.text}: input_signature contains {len(rest)} extra type "
                f"constraints; got {list(specs)!r}."
            )
        return tuple(assigned)

    def call_of(self, values: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """``(args, kwargs)`` of the call that gives the first parameters these values."""
        named: Any = dict(zip(self.names, values, strict=False))
        bound = inspect.BoundArguments(self.signature, named)
        return bound.args, bound.kwargs

    def _nearest(self, kwargs: dict[str, Any]) -> str:
        for given in kwargs:
            if given not in self.names and self.var_keyword is None:
                close = difflib.get_close_matches(given, self.names, 1)
                if close:
                    return f" (got {given!r}; did you mean {close[0]!r}?)"
        return ""

    def call(self, function: Callable[..., Any], values: Sequence[Any]) -> Any:
        """Call the function with one value for each parameter."""
        if len(values) == self.simple:
            return function(*values)
        args, kwargs = self.call_of(values)
        return function(*args, **kwargs)
