"""Programs of the fused kernels for element-wise nodes."""

from __future__ import annotations

import graphlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tfx.graph.fusion.copies import is_copy, write_copy
from tfx.graph.fusion.instructions import (
    is_loop_of_its_own,
    operands,
    product_of,
    reduction_of,
    write,
)
from tfx.graph.fusion.symbols import Shape, Symbols, stretched
from tfx.graph.ir import MATRIX_ROUTINE, Node, Value
from tfx.kernels import programs
from tfx.kernels.library import Instruction

_FLOAT32 = 1


def write_program(
    nodes: Sequence[Node],
    inputs: Sequence[Value],
    outputs: Sequence[Value],
    symbols: Symbols,
    instructions: Mapping[Instruction, int],
) -> tuple[int, ...]:
    """The program that computes what nodes compute.

    Args:
        nodes: Element-wise, reducing, multiplying and copying nodes, in program order, all needed.
        inputs: What it is given. Constants of one number need not be among them.
        outputs: What it makes, results of nodes; what else nodes of one loop make for nodes of
            another are temporaries.
        symbols: The shapes.
        instructions: Those that the kernels have.

    Raises:
        programs.TooLargeError: one program cannot hold them.
    """
    loops = _loops(nodes, symbols)
    temporaries, places = _temporaries(loops, outputs, symbols)
    writer = _Writer(inputs, [*outputs, *temporaries], symbols, instructions)
    boxes = [writer.loop(part) for part in loops]
    kinds = [v.dtype for v in inputs], [v.dtype for v in outputs]
    placed = [(v.dtype, place) for v, place in zip(temporaries, places, strict=True)]
    return tuple(programs.encode(*kinds, placed, [*writer.constants], boxes))


def _temporaries(
    loops: Sequence[Sequence[Node]], outputs: Sequence[Value], symbols: Symbols
) -> tuple[list[Value], list[int]]:
    """What loops make for later ones alone, and the place of each: one that is over is taken again.

    Only values of one type and shape share a place, so its memory never has to grow.
    """
    leave = {id(v) for v in outputs}
    last_use: dict[int, int] = {}  # the last loop that reads a value
    for at, loop in enumerate(loops):
        inside = {id(node.outputs[0]) for node in loop}
        for value in (v for node in loop for v in operands(node) if id(v) not in inside):
            last_use[id(value)] = at
    values: list[Value] = []
    places: list[int] = []
    free: dict[tuple[int, Shape], list[int]] = {}
    ending: dict[int, list[tuple[tuple[int, Shape], int]]] = {}
    count = 0
    for at, loop in enumerate(loops):
        for node in loop:
            value = node.outputs[0]
            if id(value) in leave or id(value) not in last_use:
                continue
            kind = value.dtype, symbols.known(value)
            known = free.get(kind)
            if known:
                place = known.pop()
            else:
                place, count = count, count + 1
            values.append(value)
            places.append(place)
            ending.setdefault(last_use[id(value)], []).append((kind, place))
        for kind, place in ending.pop(at, ()):
            free.setdefault(kind, []).append(place)
    return values, places


def is_number(value: Value) -> bool:
    """True if a value is a constant of one number, which becomes a part of the program."""
    return value.const is not None and value.const.size == 1


class _Writer:
    def __init__(
        self,
        inputs: Sequence[Value],
        outputs: Sequence[Value],
        symbols: Symbols,
        instructions: Mapping[Instruction, int],
    ) -> None:
        self._symbols = symbols
        self._instructions = instructions
        self._tensors = {id(value): number for number, value in enumerate([*inputs, *outputs])}
        self._outputs = {id(value): number for number, value in enumerate(outputs)}
        self.constants: dict[int, int] = {}  # the number of each, by its bits

    def loop(self, nodes: Sequence[Node]) -> programs.Box | programs.Whole:
        """The loop of nodes of one shape, or of one that reduces, multiplies or copies."""
        if not is_loop_of_its_own(nodes[0]):
            return self._box(nodes)
        tensors = [self._tensors[id(value)] for value in operands(nodes[0])]
        output = self._outputs[id(nodes[0].outputs[0])]
        if nodes[0].op == MATRIX_ROUTINE:
            routine = programs.MatrixOperation(nodes[0].attrs["operation"])
            return programs.Elimination(routine, tensors[0], tensors[-1], output)
        if is_copy(nodes[0]):
            return write_copy(nodes[0], tensors, output)
        product, reduction = product_of(nodes[0]), reduction_of(nodes[0])
        if product is not None:
            return programs.Product(tensors[0], tensors[1], product, output)
        assert reduction is not None  # as ``is_written`` says
        operation, axes, keeps = reduction
        return programs.Reduction(operation, tensors[0], axes, keeps, output)

    def _box(self, nodes: Sequence[Node]) -> programs.Box:
        shape = self._symbols.known(nodes[0].outputs[0])
        box = programs.Box(len(shape))
        made: dict[int, programs.Step] = {}

        def operand(value: Value | None) -> tuple[programs.Operand, int] | None:
            if value is None:
                return None
            step = made.get(id(value))
            return (step or self._operand(value, shape)), value.dtype

        make = _Steps(box, self._instructions, self._constant)
        for node in nodes:
            step, _ = write(node, [operand(x) for x in node.inputs], make)
            result = id(node.outputs[0])
            made[result] = step
            step.result = self._outputs.get(result)
        return box

    def _operand(self, value: Value, shape: Shape) -> programs.Operand:
        if is_number(value) and value.const is not None:
            return self._constant(value.const)
        source = self._symbols.known(value)
        spreads = stretched(source, len(shape)) != shape and any(d != 1 for d in source)
        return programs.Source(self._tensors[id(value)], spreads)

    def _constant(self, value: np.ndarray[Any, Any]) -> programs.Constant:
        number = programs.bits(value)
        return programs.Constant(self.constants.setdefault(number, len(self.constants)))


class _Steps:
    """Makes the steps of a loop; operands are steps and others, each with its type."""

    def __init__(
        self,
        box: programs.Box,
        instructions: Mapping[Instruction, int],
        constant: Callable[[np.ndarray[Any, Any]], programs.Constant],
    ) -> None:
        self._box = box
        self._instructions = instructions
        self._constant = constant

    def __call__(
        self, name: str, kind: int, *given: tuple[programs.Operand, int]
    ) -> tuple[programs.Operand, int]:
        number = self._instructions[name, kind, tuple([t for _, t in given])]
        step = programs.Step(number, kind, tuple([x for x, _ in given]))
        self._box.steps.append(step)
        return step, kind

    def number(self, value: float, kind: int) -> tuple[programs.Operand, int]:
        dtype = np.float32 if kind == _FLOAT32 else np.float64
        return self._constant(np.array(value, dtype)), kind


def loop_keys(nodes: Sequence[Node], symbols: Symbols) -> dict[int, object]:
    """What tells the loops of nodes apart, by the ``id`` of a node's result.

    Nodes of one shape are one loop, those behind a reduction of their operands another one than
    those before. A node that reduces or multiplies is a loop of its own.
    """
    stages: dict[int, int] = {}
    keys: dict[int, object] = {}
    for node in nodes:
        result = node.outputs[0]
        stage = max([stages.get(id(x), 0) for x in node.inputs], default=0)
        if not is_loop_of_its_own(node):
            keys[id(result)] = stage, symbols.known(result)
        else:
            stage += 1
            keys[id(result)] = stage, id(result)
        stages[id(result)] = stage
    return keys


def _loops(nodes: Sequence[Node], symbols: Symbols) -> list[list[Node]]:
    """The nodes of each loop, a loop behind those that it needs values of.

    Broadcasting only makes shapes larger, so no two shapes need values of one another; and a loop
    behind a reduction never comes before it.
    """
    keys = loop_keys(nodes, symbols)
    parts: dict[object, list[Node]] = {}
    before: dict[object, set[object]] = {}
    for node in nodes:
        key = keys[id(node.outputs[0])]
        parts.setdefault(key, []).append(node)
        needed = {keys[id(x)] for x in node.inputs if id(x) in keys}
        before.setdefault(key, set()).update(needed - {key})
    try:
        return [parts[key] for key in graphlib.TopologicalSorter(before).static_order()]
    except graphlib.CycleError:  # sizes that are equal, and known by two names
        raise programs.TooLargeError from None
