"""Run element-wise operators together, as programs of the fused kernels.

Operators that are no such (products of large matrices, large reductions, branches) give each value
a *level*: how many of them lie on the longest way to it. The element-wise nodes of one level can
run together: what they need from outside is ready when the level begins. A group is one ``Fused``
node, and in it the nodes of one shape are one loop, so what stands between them stays in the
processor's first cache; a small reduction or product of matrices is a loop of its own between those
before and behind it, and so is what gives few numbers other axes. So a graph of thousands of small
operators becomes one of dozens of nodes.

A shape counts as equal where it is proved to be: unknown sizes are symbols of their own. At run
time the kernels check the sizes again. For graphs that run on the CPU of this machine alone.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from tfx.core import dtypes
from tfx.graph.fusion.copies import is_small_reshape
from tfx.graph.fusion.instructions import (
    is_loop_of_its_own,
    is_written,
    learn,
    operands,
    product_of,
)
from tfx.graph.fusion.loops import fused_loop
from tfx.graph.fusion.made_of import MadeOf
from tfx.graph.fusion.program_writer import is_number, loop_keys, write_program
from tfx.graph.fusion.symbols import Shape, Symbols
from tfx.graph.ir import (
    CALL,
    FUSED,
    HOST,
    KERNEL_OPERATORS,
    MATRIX_ROUTINE,
    Graph,
    Node,
    Value,
    bodies_below,
)
from tfx.graph.makers import Makers, grow_constants, is_constant
from tfx.graph.passes.dead_code import used_values
from tfx.graph.passes.inline_calls import expand_all_calls
from tfx.graph.replacement_builder import ReplacementBuilder
from tfx.graph.rewrite import Inputs, Rewriter
from tfx.graph.traits import traits
from tfx.kernels import programs
from tfx.kernels.library import Instruction

# Loops over more elements than this gain nothing from being in one node with unrelated ones.
_SMALL = 1 << 14
# A value that more nodes use ends late, whoever is the last.
_MANY_USERS = 32
# What all nodes of a group need lives at once, and programs have limits. What goes from one program
# to another costs more than it does within one, so they are as large as they may be.
_MOST_NODES = 8192
_FLOAT = 1
# Microseconds, measured with ONNX Runtime 1.32 on one thread: an operator of its own, and what each
# element of its result takes longer than in a program; a program, each of its steps, each tensor
# that it is given, and each that it makes. A product of small matrices saves the start of a kernel
# that is made for large ones.
_OPERATOR, _ELEMENT, _PRODUCT = 0.21, 0.00005, 0.45
_PROGRAM, _STEP, _INPUT, _OUTPUT = 0.35, 0.01, 0.05, 0.1

# What an element takes longer in a program, where ONNX Runtime's kernels have the quicker formulas.
_DOUBLE = 11
_SLOWER = {
    ("Asin", _FLOAT): 0.004,
    ("Acos", _FLOAT): 0.005,
    ("Atan", _FLOAT): 0.007,
    ("Erf", _FLOAT): 0.0002,
    ("Mod", _FLOAT): 0.007,
    ("Mod", _DOUBLE): 0.005,
    ("Tanh", _DOUBLE): 0.007,
}
# What an element of a selection takes less than in ONNX Runtime's kernel, which jumps for each of
# them (7 ns where conditions are random): a program of this one step pays. What has unknown sizes
# counts as so many: for fewer a program takes half a microsecond longer.
_SELECTION, _UNKNOWN = 0.0003, 1 << 12


class _Tensors(Rewriter):
    """Gives routines on matrices tensors, where a constant of one number would become a part."""

    def rewrite(self, node: Node, inputs: Inputs, out: Graph) -> None:
        if node.op == MATRIX_ROUTINE:
            write = ReplacementBuilder(out, node)
            inputs = tuple([write.Identity(x) if x and is_number(x) else x for x in inputs])
        super().rewrite(node, inputs, out)


class _NotWorthwhileError(Exception):
    """The operators one by one are as fast."""


def fuse_elementwise(
    graph: Graph, instructions: dict[Instruction, int], constant: frozenset[int] = frozenset()
) -> Graph:
    """A copy of the graph, bodies included, with groups of element-wise nodes as ``Fused`` nodes.

    Args:
        graph: What it calls stays as it is: put the nodes of called graphs in their place before.
        instructions: Those that the kernels have.
        constant: ``id`` of inputs that will be initializers.
    """
    return _Fuser(graph, instructions, constant, Symbols()).run()


def fused_plan(
    graph: Graph, instructions: dict[Instruction, int], constant: frozenset[int] = frozenset()
) -> Graph:
    """A prepared graph as a plan runs it: called graphs in place of their calls, then programs.

    Args:
        graph: The graph.
        instructions: Those that the kernels have.
        constant: ``id`` of inputs that will be initializers.
    """
    whole = expand_all_calls(graph)  # as ONNX Runtime does at once
    if any(node.op == MATRIX_ROUTINE for node in whole.all_nodes()):
        whole = _Tensors().run(whole)
    return fuse_elementwise(whole, instructions, constant)


def fused_operators(graph: Graph) -> frozenset[str]:
    """The operators in a graph, bodies included, that only our library computes."""
    nodes = (node for g in (graph, *bodies_below(graph)) for node in g.nodes)
    return frozenset(node.op for node in nodes if node.op in KERNEL_OPERATORS)


@dataclass(eq=False, slots=True)
class _Group:
    """Nodes that become one.

    Attributes:
        level: Theirs.
        stage: Of the level: what a group needs of the same level is of an earlier stage. So no two
            groups need each other.
        nodes: In program order at last.
        elements: Of the largest value that they make, as far as sizes are known.
    """

    level: int
    stage: int = 0
    nodes: list[Node] = field(default_factory=list)
    elements: float = 0

    def take(self, other: _Group) -> None:
        self.nodes += other.nodes
        self.elements = max(self.elements, other.elements)


class _Fuser:
    def __init__(
        self,
        graph: Graph,
        instructions: dict[Instruction, int],
        constant: Collection[int],
        symbols: Symbols,
    ) -> None:
        self._graph = graph
        self._instructions = instructions
        self._constants = set(constant)
        self._symbols = symbols  # of values here and around
        self._in_products: set[int] = set()
        self._uses: dict[int, list[Node | None]] = {}
        self._made = Makers()
        # Whether reshapes may stand inside of programs. Between the layers of images they would
        # join programs, and images would live longer: ResNet-50 took a quarter more memory.
        self._all_small = False

    def run(self) -> Graph:
        graph = self._graph
        result = graph.copy()
        nodes = self._used_nodes(
            [n for node in graph.nodes for n in self._with_bodies(node, result)]
        )
        for node in nodes:
            for value in used_values(node):
                self._uses.setdefault(id(value), []).append(node)
        self._made.enter(nodes)
        grow_constants(self._constants, nodes)
        made = [v.shape for node in nodes for v in node.outputs]
        self._all_small = all(shape is not None and _is_surely_small(shape) for shape in made)
        for value in graph.outputs:
            self._uses.setdefault(id(value), []).append(None)
        groups = self._groups(nodes)
        result.nodes = self._in_order(nodes, groups)
        return result

    def _used_nodes(self, nodes: Sequence[Node]) -> list[Node]:
        """The nodes without those of ours that nothing needs: a program has to write something."""
        used = {id(v) for v in self._graph.outputs}
        kept = []
        for node in reversed(nodes):
            if any(id(v) in used for v in node.outputs) or not is_written(node, self._instructions):
                kept.append(node)
                used.update(map(id, used_values(node)))
        return kept[::-1]

    def _with_bodies(self, node: Node, out: Graph) -> list[Node]:
        if node.op in (CALL, HOST):
            return [node]
        if node.op in ("Loop", "Scan"):
            whole = fused_loop(node, out, self._symbols, self._instructions)
            if whole:
                return whole
        changed = {}
        for name, body in node.attrs.items():
            if isinstance(body, Graph):
                inner = _Fuser(body, self._instructions, self._constants, self._symbols)
                changed[name] = inner.run()
        return [node.replaced(attrs={**node.attrs, **changed}) if changed else node]

    # --- groups ----------------------------------------------------------------------------------

    def _groups(self, nodes: Sequence[Node]) -> list[_Group]:
        """The groups of nodes that become one each."""
        levels = self._levels(nodes)
        members: dict[int, _Group] = {}  # by the id of a node
        for node in nodes:
            level = levels.get(id(node))
            if level is not None:
                self._join(node, level, members)
        position = {id(node): i for i, node in enumerate(nodes)}
        groups = _small_ones_together({id(g): g for g in members.values()}.values())
        for group in groups:
            group.nodes.sort(key=lambda node: position[id(node)])
        return [group for group in groups if not self._is_alone(group.nodes)]

    def _levels(self, nodes: Sequence[Node]) -> dict[int, int]:
        """The level of each node that can be in a program, by its ``id``."""
        filters = [n.inputs[1] for n in nodes if n.op == "Conv"]
        frozen = any(is_constant(w, self._constants) for w in filters)
        of_value: dict[int, int] = {}
        levels: dict[int, int] = {}
        other_levels: dict[int, int] = {}
        reached: list[int] = []  # the highest level of another node so far, at each node
        highest = 0
        for node in nodes:
            level = max([of_value.get(id(v), 0) for v in used_values(node)], default=0)
            if self._is_element_wise(node, frozen):
                levels[id(node)] = level
            else:
                level += 1
                other_levels[id(node)] = level
                highest = max(highest, level)
            reached.append(highest)
            for value in node.outputs:
                of_value[id(value)] = level
        self._wait(nodes, levels, other_levels, reached)
        return levels

    def _wait(
        self,
        nodes: Sequence[Node],
        levels: dict[int, int],
        other_levels: dict[int, int],
        reached: Sequence[int],
    ) -> None:
        """Leave nodes on the level that the program has reached where they stand, or later.

        What a gradient computes again from an activation is not made, and kept, when the activation
        is; and ``beta * m`` of an optimizer becomes a part of the update instead of a pass over
        memory and a tensor that waits for the gradient. What only later levels use of operands that
        are there until then, such as differences to a mean, is made there.

        Args:
            nodes: In program order.
            levels: The earliest levels, by the ``id`` of a node; changed to the final ones.
            other_levels: Of the nodes that cannot be in a program.
            reached: The highest of these so far, at each node.
        """
        for node, here in zip(reversed(nodes), reversed(reached), strict=True):
            level = levels.get(id(node))
            if level is None:
                continue
            users = self._uses.get(id(node.outputs[0]), ())
            latest = [self._level_of_use(user, levels, other_levels) for user in users]
            wanted = min(latest, default=here)
            if wanted > here and not self._stay(node, wanted, levels, other_levels):
                wanted = here
            levels[id(node)] = max(level, wanted)

    @staticmethod
    def _level_of_use(
        user: Node | None, levels: dict[int, int], other_levels: dict[int, int]
    ) -> int:
        """The last level on which a value is early enough; that of a result is the first."""
        if user is None:
            return 0
        own = levels.get(id(user))
        return other_levels[id(user)] - 1 if own is None else own

    def _stay(
        self, node: Node, level: int, levels: dict[int, int], other_levels: dict[int, int]
    ) -> bool:
        """True if a node can be made on a level in memory that its result would take until then."""
        result = node.outputs[0]
        shape, kept = self._symbols.known(result), 0
        for value in {id(v): v for v in operands(node)}.values():
            if self._symbols.shape(value) != shape or id(value) in self._constants:
                continue
            others = [user for user in self._uses[id(value)] if user is not node]
            if len(others) > _MANY_USERS:
                return False
            last = [self._level_of_use(user, levels, other_levels) for user in others if user]
            if None not in others and max(last, default=0) < level:
                kept += _bytes(value)
        return kept <= _bytes(result)

    def _is_element_wise(self, node: Node, frozen: bool) -> bool:
        if node.op == MATRIX_ROUTINE:  # which nothing else computes
            learn(node, self._symbols)
            return True
        if not is_written(node, self._instructions):
            if node.op in ("Gemm", "Conv"):
                self._in_products.add(id(node.outputs[0]))
            return False
        if id(node.outputs[0]) in self._constants:
            return False  # ONNX Runtime computes it once
        shape = learn(node, self._symbols)
        if shape is None or len(shape) > programs.MAX_RANK:
            return False
        if is_loop_of_its_own(node):
            return (self._all_small and not frozen) or not is_small_reshape(node)
        slower = _SLOWER.get((node.op, node.outputs[0].dtype), 0.0)
        if slower * _elements(shape) > _OPERATOR:
            return False
        if frozen and len(shape) >= 3 and node.outputs[0].dtype == _FLOAT:
            return False  # ONNX Runtime keeps these in blocks of channels
        x = node.inputs[0]
        if traits(node.op).after_products and id(x) in self._in_products:
            return len(self._uses.get(id(x), ())) > 1
        if node.op == "Add":
            a, b = node.inputs
            if self._is_bias(a, b) or self._is_bias(b, a):
                self._in_products.add(id(node.outputs[0]))
                return False
        return True

    def _is_bias(self, product: Value | None, bias: Value | None) -> bool:
        """True if ONNX Runtime makes one ``Gemm`` of a product and a sum."""
        maker = self._made.any(product)
        if maker is None or maker.op != "MatMul" or len(self._uses[id(product)]) != 1:
            return False
        if is_written(maker, self._instructions):
            return False
        shapes = [self._symbols.shape(x) for x in (*maker.inputs, bias) if x is not None]
        return [len(shape) if shape is not None else -1 for shape in shapes] == [2, 2, 1]

    def _join(self, node: Node, level: int, members: dict[int, _Group]) -> None:
        """Put a node into the group of its operands of the same level."""
        makers = [self._made.any(value) for value in node.inputs if value is not None]
        near = {id(g): g for g in (members.get(id(maker)) for maker in makers) if g is not None}
        same = [group for group in near.values() if group.level == level]
        stage = max((group.stage for group in same), default=0)
        found = [group for group in same if group.stage == stage]
        if sum(len(group.nodes) for group in found) >= _MOST_NODES:
            stage, found = stage + 1, []
        found.sort(key=lambda g: len(g.nodes), reverse=True)
        group, *others = found or [_Group(level, stage)]
        for small in others:
            group.take(small)
            for each in small.nodes:
                members[id(each)] = group
        group.nodes.append(node)
        group.elements = max(group.elements, _elements(self._symbols.known(node.outputs[0])))
        members[id(node)] = group

    def _saved(self, nodes: Sequence[Node]) -> float:
        """Microseconds that operators take longer one by one than as steps of a program."""
        saved = 0.0
        for node in nodes:
            if product_of(node) is not None:
                saved += _PRODUCT
            else:
                elements = _elements(self._symbols.known(node.outputs[0]))
                quicker = 0.0
                if self._is_selection(node):
                    quicker, shape = _SELECTION, self._symbols.known(node.outputs[0])
                    if not all(isinstance(size, int) for size in shape):
                        elements = max(elements, _UNKNOWN)
                saved += _OPERATOR - _STEP + (_ELEMENT + quicker) * elements
        return saved

    def _is_alone(self, nodes: Sequence[Node]) -> bool:
        """True of one node that gains nothing as a program of its own."""
        return len(nodes) == 1 and not _has_routine(nodes) and not self._is_selection(nodes[0])

    def _is_selection(self, node: Node) -> bool:
        """True if each element has a condition, and one of its values."""
        if node.op != "Where":
            return False
        condition, *values = (self._symbols.shape(x) for x in operands(node))
        return condition == self._symbols.shape(node.outputs[0]) and condition in values

    def _is_small(self, value: Value) -> bool:
        """True if memory for a value is made and given back in no time."""
        shape = self._symbols.known(value)
        return all(isinstance(d, int) for d in shape) and _elements(shape) <= _SMALL

    # --- order ------------------------------------------------------------------------------------

    def _in_order(self, nodes: Sequence[Node], groups: list[_Group]) -> list[Node]:
        """The nodes, those of a group as one where its last one stood, or as soon as needed."""
        group_of = {id(node): group for group in groups for node in group.nodes}
        last = {id(group.nodes[-1]) for group in groups}
        done: set[int] = set()
        result: list[Node] = []
        for node in nodes:
            group = group_of.get(id(node))
            if group is not None and id(node) not in last:
                continue
            stack: list[Node | _Group] = [group or node]
            while stack:
                unit = stack[-1]
                if id(unit) in done:
                    stack.pop()
                    continue
                before = self._before(unit, group_of, done)
                if before:
                    stack += before[::-1]
                    continue
                done.add(id(unit))
                stack.pop()
                result += self._fused(unit.nodes) if isinstance(unit, _Group) else [unit]
        return result

    def _before(
        self, unit: Node | _Group, group_of: dict[int, _Group], done: set[int]
    ) -> list[Node | _Group]:
        found: list[Node | _Group] = []
        for node in unit.nodes if isinstance(unit, _Group) else [unit]:
            for value in used_values(node):
                maker = self._made.any(value)
                if maker is None:
                    continue
                needed = group_of.get(id(maker), maker)
                if needed is not unit and id(needed) not in done:
                    found.append(needed)
        return found

    # --- programs --------------------------------------------------------------------------------

    def _fused(self, nodes: Sequence[Node]) -> list[Node]:
        """The node of a group, or several where one program cannot hold it."""
        if self._is_alone(nodes):
            return list(nodes)
        try:
            return [self._program(nodes)]
        except _NotWorthwhileError:
            return list(nodes)
        except programs.TooLargeError:
            half = len(nodes) // 2
            return [*self._fused(nodes[:half]), *self._fused(nodes[half:])]

    def _program(self, nodes: Sequence[Node]) -> Node:
        loops = loop_keys(nodes, self._symbols)
        inside = {id(node) for node in nodes}
        outputs = []
        for node in nodes:
            value = node.outputs[0]
            users = self._uses.get(id(value), ())
            if any(user is None or id(user) not in inside for user in users) or (
                not self._is_small(value)
                and any(
                    u is not None and loops[id(u.outputs[0])] != loops[id(value)] for u in users
                )
            ):
                outputs.append(value)
        needed = {id(v): v for node in nodes for v in operands(node) if id(v) not in loops}
        inputs = [value for value in needed.values() if not is_number(value)]
        gains = inputs and self._saved(nodes) > _cost(len(inputs), len(outputs))
        if not gains and not _has_routine(nodes):
            raise _NotWorthwhileError
        words = write_program(nodes, inputs, outputs, self._symbols, self._instructions)
        first = nodes[0]
        return Node(
            FUSED,
            tuple(inputs),
            {"program": words},
            first.name,
            first.source,
            tuple(outputs),
            first.device,
            MadeOf(tuple(nodes)),
        )


def _has_routine(nodes: Sequence[Node]) -> bool:
    return any(node.op == MATRIX_ROUTINE for node in nodes)


def _cost(inputs: int, outputs: int) -> float:
    """Microseconds that a program takes besides its steps."""
    return _PROGRAM + _INPUT * inputs + _OUTPUT * outputs


@functools.lru_cache(1024)
def _elements(shape: Shape) -> float:
    """How many elements, as far as it is known: an unknown size may be small."""
    return math.prod([size for size in shape if isinstance(size, int)])


def _is_surely_small(shape: Shape) -> bool:
    """True if there are few elements in each of a batch: more unknown sizes may be an image's."""
    return _elements(shape) <= _SMALL and sum(not isinstance(size, int) for size in shape) < 2


def _small_ones_together(groups: Iterable[_Group]) -> list[_Group]:
    """Groups, those of few elements on one stage of a level as one."""
    hosts: dict[tuple[int, int], _Group] = {}
    result = []
    for group in groups:
        place = (group.level, group.stage)
        host = hosts.get(place) if group.elements <= _SMALL else None
        if host is not None and len(host.nodes) + len(group.nodes) <= _MOST_NODES:
            host.take(group)
            continue
        if group.elements <= _SMALL:
            hosts[place] = group
        result.append(group)
    return result


def _bytes(value: Value) -> int:
    """Of an element."""
    return dtypes.from_onnx(value.dtype).size
