"""What a model of JAX computes inside, and which values of a graph are the same.

jax2onnx names values by numbers, and puts operators of its own in the place of layers, so no name
leads from the one to the other. The one decision: a value of JAX's program is the value of the
graph that has the same contents, when both run with weights of which no two are alike. Where JAX's
value is nowhere, and neither is anything that is computed of it, the graph is another one from
there on; a value that a larger operator swallowed is told from that by what is computed of it
later, which is there again.

Layers have the names of JAX's name stack, which flax.linen and equinox fill, or else those of the
weights that they read; beside it stands the line of the program.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from tfx.bundle.examples import TOLERANCE, max_difference
from tfx.importing.compare_answers import differs
from tfx.importing.method_graphs import LayerValue

Array: TypeAlias = "np.ndarray[Any, Any]"

# Programs inside of programs whose values are computed one after another, as those around them.
_INLINED = frozenset(
    {"jit", "pjit", "closed_call", "core_call", "remat", "remat2", "checkpoint"}
    | {"custom_jvp_call", "custom_vjp_call"}
)


@dataclass(slots=True)
class _Value:
    """A value of the program that depends on what a call is given.

    Attributes:
        layer: What computes it.
        array: Its contents.
        sources: Numbers of the values that it is computed of.
    """

    layer: str
    array: Array
    sources: frozenset[int]


def layers_inside(
    flat: Callable[..., Any],
    inputs: Mapping[str, Any],
    weights: Mapping[str, Any],
    run: Callable[[dict[str, Any]], Mapping[str, Array]],
) -> Iterator[LayerValue]:
    """The values of a program, in order, that are known in the graph that was made of it.

    Args:
        flat: A function of all arrays, those of ``inputs`` first.
        inputs: What the call is given.
        weights: Values of the model, by their paths.
        run: Gives the values inside of the graph by name, in its order, for other weights.

    Yields:
        Each value that the graph has, too, up to the first one that it has not; that one beside
        the value of the graph that is most like it.
    """
    others = _all_different(weights)
    graph = run(others)
    places = _places(_Recorder(flat, inputs, others).values, graph)
    for item, place in zip(_Recorder(flat, inputs, weights).values, places, strict=False):
        if place is not None:
            yield LayerValue(item.layer, place, item.array.reshape(graph[place].shape))


def _all_different(weights: Mapping[str, Any]) -> dict[str, Any]:
    """Weights of about the same size, where no scale is 1, no bias 0, and no two are alike.

    What was positive stays so: variances are among them.
    """
    draws = np.random.default_rng(0)
    found = {}
    for name, value in weights.items():
        array = np.asarray(value)
        if np.issubdtype(array.dtype, np.floating):
            drawn = draws.random(array.shape)
            array = (array * (1 + 0.25 * drawn) + 0.05 * drawn).astype(array.dtype)
        found[name] = array
    return found


def _places(values: Sequence[_Value], graph: Mapping[str, Array]) -> list[str | None]:
    """Which of the graph's values each value is, up to the first one that is none of them.

    Several may be alike, of which one is another's with its shape changed: then it is the first one
    behind what the value is computed of.
    """
    order = {name: number for number, name in enumerate(graph)}
    found: list[str | None] = []
    for item in values:
        same = [n for n, a in graph.items() if _is_of_form(item.array, a) and _same(item.array, a)]
        before = [found[source] for source in item.sources]
        last = max((order[name] for name in before if name is not None), default=-1)
        behind = [name for name in same if order[name] > last]
        found.append(next(iter([*behind, *reversed(same)]), None))
    lost = _lost(values, found)
    free = {name: array for name, array in graph.items() if name not in found}
    for number, item in enumerate(values):
        if lost[number]:
            found[number] = _most_alike(item.array, free)
            if found[number] is not None:
                return found[: number + 1]
    return found


def _is_of_form(array: Array, other: Array) -> bool:
    """Whether an array has as many elements of the same type: a product may have been flattened."""
    return array.size == other.size and array.dtype == other.dtype


def _same(array: Array, other: Array) -> bool:
    return not differs(other, array.reshape(other.shape), TOLERANCE)


def _most_alike(array: Array, graph: Mapping[str, Array]) -> str | None:
    """The value of a graph that is least far from another one; None: none has its form."""
    own = {
        name: max_difference(other, array.reshape(other.shape))
        for name, other in graph.items()
        if _is_of_form(array, other)
    }
    return min(own, key=lambda name: own[name], default=None)


def _lost(values: Sequence[_Value], places: Sequence[str | None]) -> list[bool]:
    """Of each value whether the graph has neither it nor anything that is computed of it."""
    is_found = [place is not None for place in places]
    for number in reversed(range(len(values))):
        if is_found[number]:
            for source in values[number].sources:
                is_found[source] = True
    return [not found for found in is_found]


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of a variable of a program while it runs.

    Attributes:
        contents: Its contents.
        is_given: Whether they depend on what the call is given.
        sources: Numbers of the recorded values that they are computed of directly.
        weights: Names of the weights that they are computed of, without a recorded value between.
    """

    contents: Any
    is_given: bool = False
    sources: frozenset[int] = frozenset()
    weights: frozenset[str] = frozenset()


class _Recorder:
    """Runs a program equation by equation, as JAX's own documentation has it.

    Args:
        flat: A function of all arrays, those of ``inputs`` first.
        inputs: What the call is given.
        weights: Values of the model, by their paths.

    Attributes:
        values: What the program computes of its inputs, in order; of a model without inputs of its
            weights.
    """

    def __init__(
        self, flat: Callable[..., Any], inputs: Mapping[str, Any], weights: Mapping[str, Any]
    ) -> None:
        jax = importlib.import_module("jax")
        self._literal = importlib.import_module("jax.extend.core").Literal
        self._machinery = tuple(
            os.path.dirname(str(importlib.import_module(n).__file__)) + os.sep
            for n in ("jax", "tfx", "tfx.exporters")
        )
        self.values: list[_Value] = []
        named: dict[str, Any] = {n: jax.numpy.asarray(a) for n, a in weights.items()}
        arrays = [jax.numpy.asarray(a) for a in inputs.values()]
        given = [_Known(a, is_given=True) for a in arrays]
        given += [_Known(a, is_given=not inputs, weights=frozenset({n})) for n, a in named.items()]
        closed = jax.make_jaxpr(flat)(*arrays, *named.values())
        self._run(closed.jaxpr, closed.consts, given, "", "")

    def _run(
        self, program: Any, constants: Sequence[Any], given: Sequence[_Known], stack: str, line: str
    ) -> list[_Known]:
        """Compute a program; what is known of its results."""
        known: dict[Any, _Known] = dict(zip(program.constvars, map(_Known, constants), strict=True))
        known.update(zip(program.invars, given, strict=True))

        def read(atom: Any) -> _Known:
            return _Known(atom.val) if isinstance(atom, self._literal) else known[atom]

        for equation in program.eqns:
            own = [read(atom) for atom in equation.invars]
            place = _joined(stack, str(equation.source_info.name_stack))
            at = self._line(equation) or line
            inner = _program_inside(equation)
            if inner is None:
                found = list(self._step(equation, own, place, at))
            else:
                found = self._run(*inner, own, place, at)
            known.update(zip(equation.outvars, found, strict=True))
        return [read(atom) for atom in program.outvars]

    def _step(
        self, equation: Any, own: Sequence[_Known], stack: str, line: str
    ) -> Iterator[_Known]:
        """Compute one equation, and record what depends on the call."""
        primitive = equation.primitive
        options = primitive.get_bind_params(equation.params)
        # Versions of JAX differ: functions inside are among the options, or stand beside them.
        functions, options = ((), options) if isinstance(options, Mapping) else options
        result = primitive.bind(*functions, *(item.contents for item in own), **options)
        is_given = any(item.is_given for item in own)
        sources = frozenset[int]().union(*(item.sources for item in own))
        weights = frozenset[str]().union(*(item.weights for item in own))
        layer = _layer(primitive.name, stack, line, weights)
        for contents in result if primitive.multiple_results else [result]:
            if is_given and isinstance(contents.dtype, np.dtype):  # no key of random numbers
                self.values.append(_Value(layer, np.asarray(contents), sources))
                yield _Known(contents, is_given, frozenset({len(self.values) - 1}))
            else:
                yield _Known(contents, is_given, sources, weights)

    def _line(self, equation: Any) -> str:
        """The innermost line of the user's program that an equation comes from."""
        traceback = equation.source_info.traceback
        for frame in traceback.frames if traceback is not None else ():
            file = frame.file_name
            is_installed = f"{os.sep}site-packages{os.sep}" in file
            if not (is_installed or file.startswith(("<", *self._machinery))):
                return f"{os.path.basename(file)}:{frame.line_num}"
        return ""


def _program_inside(equation: Any) -> tuple[Any, Sequence[Any]] | None:
    """The program that an equation calls, and its constants; None where it calls none."""
    if equation.primitive.name not in _INLINED:
        return None
    for key in ("jaxpr", "call_jaxpr", "fun_jaxpr"):
        inner = equation.params.get(key)
        if inner is None:
            continue
        body, constants = getattr(inner, "jaxpr", inner), getattr(inner, "consts", ())
        fits = len(body.invars) == len(equation.invars)
        if fits and len(body.outvars) == len(equation.outvars):
            return body, constants
    return None


def _joined(outer: str, inner: str) -> str:
    return "/".join(part for part in (outer, inner) if part)


def _layer(primitive: str, stack: str, line: str, weights: frozenset[str]) -> str:
    """How a value is called: its layer, what computes it, and where that stands."""
    name = stack
    for folder in sorted({weight.rpartition("/")[0] for weight in weights} - {""}):
        # The stack of equinox has classes, that of nnx nothing: there weights have the better name.
        if folder.rpartition("/")[2] not in stack.split("/"):
            name = folder
        break
    where = ", ".join(part for part in (primitive, line) if part)
    return f"{name} ({where})" if name else where
