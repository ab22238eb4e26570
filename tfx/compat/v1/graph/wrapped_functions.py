"""``wrap_function``: a TensorFlow 1 function, traced once, with variables of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from tfx.compat.v1.graph import pseudo_ops
from tfx.compat.v1.graph.graph import Graph
from tfx.compat.v1.graph.placeholders import add_placeholder
from tfx.compat.v1.graph.pseudo_ops import Access
from tfx.compat.v1.session.plans import signature_of
from tfx.compat.v1.session.resolve_state import resolve
from tfx.core import nest
from tfx.core.errors import InvalidArgumentError
from tfx.core.shapes import TensorShape
from tfx.core.specs import TensorSpec
from tfx.core.tracebacks import cover
from tfx.framework.context import using
from tfx.framework.convert import convert_to_tensor
from tfx.framework.func_graph import FuncGraph
from tfx.framework.operation import Operation
from tfx.framework.tensor import EagerTensor, SymbolicTensor
from tfx.framework.variable import Variable
from tfx.function.execution.concrete_function import ConcreteFunction
from tfx.function.execution.plan import Plan
from tfx.function.tracing.call_signature import CallSignature
from tfx.function.tracing.parameters import Parameters
from tfx.function.tracing.trace_key import leaf_names
from tfx.graph.ir import CALL, HOST, Node, Value
from tfx.graph.passes.dead_code import has_effects
from tfx.ops.random.generator import Generator, generator_in


class FunctionGraph(Graph):
    """The graph of a wrapped function: its variables exist apart from any session."""

    compares_by_identity = False
    owns_memory = True

    def generator_for(self, seed: Any) -> Generator | None:
        """Return a generator for one operation alone, as in every function."""
        generator = generator_in(self, seed)
        self.hide(generator.state, seeded=True)
        return generator

    def evaluate(self, tensor: SymbolicTensor) -> EagerTensor:
        """The contents of a tensor that does not depend on the arguments.

        Raises:
            ValueError: it does.
        """
        try:
            found = resolve(
                self.ordered, [tensor._symbol], [], [], memory=_own, name=self.name
            ).func_graph
        except InvalidArgumentError as e:
            raise ValueError(
                f"{tensor!r} cannot be the initial value of a variable of {self.name!r}: it "
                "depends on the function's arguments, which have no contents while it is traced. "
                "Use a function or a Python constant as the initial value."
            ) from e
        values = [s.variable()._raw for s in found.read_states()]
        results = Plan(found.graph).run(values)
        return EagerTensor(results[0], tensor.dtype)


def _own(variable: Variable) -> Variable:
    """A variable of a wrapped function holds its value itself."""
    return variable


class PartGraph(FuncGraph):
    """The graph of a wrapped function: what a call runs, and a view of all that was traced.

    Args:
        name: Name of the function.
        whole: What was traced: operations that calls do not need, collections.
    """

    def __init__(self, name: str, whole: FunctionGraph) -> None:
        super().__init__(name)
        self.whole = whole

    def as_graph_element(
        self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True
    ) -> SymbolicTensor | Operation:
        """See ``Graph.as_graph_element``; what a call does not need is found, too."""
        try:
            return super().as_graph_element(obj, allow_tensor, allow_operation)
        except (KeyError, ValueError):
            return self.whole.as_graph_element(obj, allow_tensor, allow_operation)

    def get_operations(self) -> list[Operation]:
        """All operations that were traced."""
        return self.whole.get_operations()

    def get_collection(self, name: Any, scope: str | None = None) -> list[Any]:
        """See ``Graph.get_collection``."""
        return self.whole.get_collection(name, scope)

    def get_collection_ref(self, name: Any) -> list[Any]:
        """See ``Graph.get_collection_ref``."""
        return self.whole.get_collection_ref(name)

    def get_all_collection_keys(self) -> list[str]:
        """See ``Graph.get_all_collection_keys``."""
        return self.whole.get_all_collection_keys()

    @property
    def collections(self) -> list[Any]:
        """See ``Graph.collections``."""
        return self.whole.collections


@cover
class WrappedFunction(ConcreteFunction):
    """A part of a graph as a function. Made by ``wrap_function`` and ``prune``.

    Args:
        whole: The graph, kept alive with the variables made in it.
        func_graph: The part.
        signature: How arguments map to the part's arguments.
        results: What a call returns, with tensors of the part.
        device: Canonical device name.
    """

    def __init__(
        self,
        whole: FunctionGraph,
        func_graph: FuncGraph,
        signature: CallSignature,
        results: Any,
        device: str,
    ) -> None:
        super().__init__(func_graph, signature, results, device)
        self._whole = whole

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables that the function made, then others that it uses."""
        owned = self._whole.owned
        known = {id(v) for v in (*owned, *(v for v, _ in self._whole.hidden.values()))}
        return (*owned, *(v for v in super().variables if id(v) not in known))

    def prune(
        self,
        feeds: Any,
        fetches: Any,
        name: str | None = None,
        input_signature: Any = None,
        are_keyword_args_also_positional: bool = False,
        *,
        drop_stateful: bool = True,
    ) -> WrappedFunction:
        """A function of the part of the graph between some tensors.

        It has the same variables.

        Args:
            feeds: Tensors, or their names, that the new function takes.
            fetches: Tensors, operations or their names, or a structure of them, that it returns;
                None for an operation.
            name: Name of the new function.
            input_signature: Accepted for compatibility.
            are_keyword_args_also_positional: Accepted for compatibility: they always are.
            drop_stateful: Whether assignments and effects are left out that the fetches do not
                need.

        Raises:
            ValueError: a feed that is no tensor, or an element of another graph.
            InvalidArgumentError: the fetches need an argument that is not fed.

        Example:
            >>> import tfx as tf
            >>> def f(x):
            ...     return tf.square(tf.square(x))
            >>> f4 = tf.compat.v1.wrap_function(f, [tf.TensorSpec([], tf.float32)])
            >>> f2 = f4.prune("Square:0", "Square_1:0")
            >>> float(f4(2.0)), float(f2(2.0))
            (16.0, 4.0)
        """
        whole = self._whole
        given = [self._element(x) for x in nest.flatten(feeds)]
        for x in given:
            if not isinstance(x, SymbolicTensor):
                raise ValueError(
                    f"All members of argument `feeds` must be tensors. Got {x} with type {type(x)}."
                )
        # Variables are not arguments: so one can prune from all inputs of a function.
        given = [x for x in given if not _is_read(x._symbol.node)]
        wanted = [self._element(x) for x in nest.flatten(fetches)]
        leaves = [None if isinstance(x, Operation) else x for x in wanted]
        results = nest.pack_sequence_as(fetches, leaves) if nest.is_nested(fetches) else leaves[0]
        targets = [x._item for x in wanted if isinstance(x, Operation)]
        if not drop_stateful:
            targets += _actions(whole, [x._symbol for x in given])
        return _function(
            whole,
            name or "pruned",
            [x._symbol for x in given],
            results,
            [n for n in targets if isinstance(n, Node)],
            None,
            self.device,
        )

    def _element(self, x: Any) -> Any:
        """A tensor or operation of the whole graph."""
        if isinstance(x, SymbolicTensor) and x.graph is self._func_graph:
            return SymbolicTensor(self._originals.get(id(x._symbol), x._symbol), self._whole)
        return self._whole.as_graph_element(x)

    @property
    def _originals(self) -> dict[int, Value]:
        """The values of the whole graph that arguments and variables of the part stand for."""
        found: dict[int, Value] = {}
        for node in self._func_graph.graph.nodes:
            source = node.inputs[0] if node.op == "Identity" else None
            if source is not None and source.node is None and source.const is None:
                found.setdefault(id(source), node.outputs[0])
        return found


def _is_read(node: Node | None) -> bool:
    return node is not None and node.op == pseudo_ops.READ


def _function(
    whole: FunctionGraph,
    name: str,
    feeds: Sequence[Value],
    results: Any,
    targets: Sequence[Node],
    signature: CallSignature | None,
    device: str,
) -> WrappedFunction:
    """The function from some values to a structure of tensors of the graph."""
    leaves = nest.flatten(results)
    fetched = [x._symbol for x in leaves if x is not None]
    names = [(v, v.name if v.node is None else v.node.name) for v in feeds]
    resolved = resolve(
        whole.ordered,
        fetched,
        targets,
        names,
        memory=_own,
        name=name,
        device=whole.home,
        make=lambda label: PartGraph(label, whole),
    )
    part = resolved.func_graph
    template = nest.map_structure(
        lambda x: None if x is None else SymbolicTensor(x._symbol, part), results
    )
    signature = signature_of(part.arguments) if signature is None else signature
    return WrappedFunction(whole, part, signature, template, device)


def wrap_function(
    fn: Callable[..., Any], *arguments: Any, signature: Any = None, name: str | None = None
) -> Any:
    """Make a function of TensorFlow 1 code: it is traced once, and owns the variables it makes.

    In the function collections, ``get_variable``, ``variable_scope`` and control dependencies are
    those of a graph of its own. As in a session, a call runs what is returned and what that waits
    for (``control_dependencies``), and nothing else: an assignment or a print that no result needs
    never happens. A variable that is returned needs all its assignments. Variables have
    their initial values when this returns and live as long as the returned object; others that the
    function uses are kept by weak reference.

    Args:
        fn: The function. It may return tensors, variables (their values at the end), operations
            (which are run, None is returned) and structures of them.
        *arguments: For each parameter a ``TensorSpec``, a ``placeholder`` or a structure of them,
            or the Python value that is passed; or one list of all of them, and the name.
        signature: The list, by name.
        name: Name of the function.

    Returns:
        A callable that takes the tensors; Python values may be left out.

    Raises:
        ValueError: the initial value of a variable depends on the arguments.
        TypeError: the signature does not fit the parameters, or ``fn`` returns something that is
            no tensor.

    Example:
        >>> import tfx as tf
        >>> def f(x, do_add):
        ...     v = tf.Variable(5.0)
        ...     if do_add:
        ...         v.assign_add(x)
        ...     else:
        ...         v.assign_sub(x)
        ...     return v
        >>> f_add = tf.compat.v1.wrap_function(f, tf.TensorSpec((), tf.float32), True)
        >>> float(f_add(1.0)), float(f_add(1.0))
        (6.0, 7.0)
        >>> f_sub = tf.compat.v1.wrap_function(f, tf.TensorSpec((), tf.float32), False)
        >>> float(f_sub(1.0)), float(f_sub(1.0))
        (4.0, 3.0)
    """
    given = list(arguments) if signature is None else [*arguments, signature]
    if given and isinstance(given[0], list | tuple):
        if len(given) == 2 and isinstance(given[1], str) and name is None:
            name = given.pop()
        if len(given) == 1:
            given = list(given[0])
    label = str(name or getattr(fn, "__name__", type(fn).__name__))
    label = "lambda" if label == "<lambda>" else label
    parameters = Parameters(fn)
    values = parameters.bind(label, tuple(_as_spec(x) for x in given), {})
    with using(graph=None, tapes=(), scope=""):
        whole = FunctionGraph(label)
        with whole.as_default():
            feeds, passed = _placeholders(whole, parameters, values)
            returned = parameters.call(fn, passed)
            operations: list[Operation] = []
            results = nest.map_structure(lambda x: _result(whole, x, operations), returned)
    targets = [op._item for op in operations if isinstance(op._item, Node)]
    for x in nest.flatten(returned):
        if isinstance(x, Variable):  # its value at the end: what changes it is asked for
            targets += [n for n in _actions(whole, feeds) if _assigns(n, x)]
    specs = CallSignature(parameters, values)
    return _function(whole, label, feeds, results, targets, specs, whole.home)


def _as_spec(x: Any) -> Any:
    """Placeholders of some graph as what they stand for."""

    def spec(leaf: Any) -> Any:
        if isinstance(leaf, SymbolicTensor):
            return TensorSpec(leaf.shape, leaf.dtype, leaf.name.partition(":")[0])
        return leaf

    return nest.map_structure(spec, x)


def _placeholders(
    whole: FunctionGraph, parameters: Parameters, values: Sequence[Any]
) -> tuple[list[Value], list[Any]]:
    """A placeholder for each spec, and the values with placeholders in place of specs."""
    names = iter(leaf_names(parameters.names, values))
    feeds: list[Value] = []

    def stand_in(leaf: Any) -> Any:
        name = next(names)
        if not isinstance(leaf, TensorSpec):
            return leaf
        shape = TensorShape(leaf.shape)
        tensor = add_placeholder(whole, leaf.dtype, shape, leaf.name or name)
        feeds.append(tensor._symbol)
        return tensor

    return feeds, [nest.map_structure(stand_in, v) for v in values]


def _result(whole: FunctionGraph, x: Any, operations: list[Operation]) -> SymbolicTensor | None:
    if x is None:
        return None
    if isinstance(x, Operation):
        operations.append(x)
        return None
    if isinstance(x, Variable):
        return whole.read(x)
    try:
        tensor = convert_to_tensor(x)
    except (TypeError, ValueError) as e:
        raise TypeError(
            f"Function {whole.name!r} must return tensors, variables and operations; found a "
            f"return value of type {type(x).__name__}, which is none of these: {x!r}."
        ) from e
    return SymbolicTensor(whole.value_of(tensor), whole)


def _actions(whole: FunctionGraph, feeds: Sequence[Value]) -> list[Node]:
    """Return the nodes that a call runs for their effects, as far as they can be computed."""
    fed = {id(v): v for v in feeds}
    return [
        node
        for node in whole.ordered.nodes
        if _acts(node)
        and all(
            n.op != pseudo_ops.PLACEHOLDER or id(n.outputs[0]) in fed
            for n in whole.ordered.closure((), [node], fed)
        )
    ]


def _assigns(node: Node, variable: Variable) -> bool:
    return node.op == pseudo_ops.ASSIGN and cast("Access", node.tag).state.variable() is variable


def _acts(node: Node) -> bool:
    """True if a node changes something, so that a call must run it."""
    if node.op == pseudo_ops.ASSIGN:
        return not cast("Access", node.tag).initial
    if node.op == HOST:
        return bool(node.attrs["call"].effect)
    return node.op == CALL and has_effects(node.attrs["graph"])
