"""``prefix``: trained keys and values in front of those of each attention of a model.

The one decision: what a prefix adds is computed beside the model's own keys and values, and joins
them in the softmax. So no length of a sequence changes: masks, positions, shapes and outputs of the
model stay what they are, in encoders and in decoders, and every query sees the whole prefix.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfx.adapt.attention_pattern import Attention, find_attention
from tfx.adapt.calls import declared_function, input_specs
from tfx.adapt.trainable import set_trainable
from tfx.core import nest
from tfx.core.dtypes import from_onnx
from tfx.core.errors import FailedPreconditionError, InvalidArgumentError
from tfx.core.specs import TensorSpec
from tfx.framework.context import current, init_scope
from tfx.framework.convert import convert_to_tensor
from tfx.framework.module import Module
from tfx.framework.tensor import Tensor
from tfx.framework.variable import Variable
from tfx.function.execution.concrete_function import ConcreteFunction
from tfx.function.gradients.inline_graph import inline_nodes
from tfx.function.tracing.function import Function
from tfx.graph.ir import Graph, Node, Value
from tfx.graph.passes.inline_calls import expand_all_calls
from tfx.graph.replacement_builder import ReplacementBuilder
from tfx.graph.rewrite import Inputs, Rewriter
from tfx.initializers.random import RandomNormal


def prefix(
    module: Module,
    length: int,
    *,
    inputs: Sequence[TensorSpec] | None = None,
    call: Callable[..., Any] | None = None,
    freeze: bool = True,
) -> Prefix:
    """Put trained keys and values in front of those of each attention: prefix tuning.

    Each attention of the model gets, for each of its heads, ``length`` keys and values that do not
    come from its input. They are new trainable variables; those of the model are frozen. The model
    itself stays as it is: call what is returned in its place. It gives other results than the model
    from the beginning on, as attention is shared with the prefix at once.

    Args:
        module: The model: a ``Module``, an imported model.
        length: How many keys and values each head gets.
        inputs: Specs of the inputs; None: those of the imported model, or of the input signature.
        call: What computes the results from the inputs; None: the module.
        freeze: Whether to freeze the module's variables.

    Returns:
        A module that is called as the model is; its trainable variables are the prefixes.

    Raises:
        InvalidArgumentError: the model has no attention, its sizes are not known, it updates
            variables, or ``length`` is below 1.

    Example:
        >>> import tfx as tf
        >>> class Attention(tf.Module):
        ...     def __call__(self, x):
        ...         weights = tf.nn.softmax(tf.matmul(x, x, transpose_b=True) / 2.0)
        ...         return tf.matmul(weights, x)
        >>> tuned = tf.adapt.prefix(Attention(), 3, inputs=[tf.TensorSpec(["n", "time", 4])])
        >>> tuned(tf.ones([2, 5, 4])).shape, [v.shape.as_list() for v in tuned.trainable_variables]
        (TensorShape([2, 5, 4]), [[1, 3, 4], [1, 3, 4]])
    """
    if current().graph is not None:
        raise FailedPreconditionError("prefix() makes variables: call it from eager code.")
    try:
        number = operator.index(length)
    except TypeError:
        number = 0
    if number < 1:
        raise InvalidArgumentError(f"length is {length!r}, expected a whole number of at least 1.")
    made = Prefix(module, number, inputs, module if call is None else call)
    if freeze:
        set_trainable([v for v in module.variables if v.trainable], trainable=False)
    return made


class Prefix(Module):
    """A model with trained keys and values in its attention; made by ``prefix``.

    Attributes:
        module: The model.
        keys: ``[heads, length, size]`` of each attention.
        values: The same for its values.
        length: How many each head has.
    """

    def __init__(
        self, module: Module, length: int, inputs: Sequence[TensorSpec] | None, call: Any
    ) -> None:
        super().__init__("prefix")
        self.module = module
        self.length = length
        self._self_function = _function_of(call, inputs)
        graph = _expanded(self._concrete())
        sizes = [_sizes(a) for a in find_attention(graph)]
        if not sizes:
            raise InvalidArgumentError(
                f"{module.name} has no attention that could get a prefix: a product of queries and "
                "keys of three or more axes, a softmax along the last axis, a product with values."
            )
        small = RandomNormal(stddev=0.02)
        with init_scope():
            self.keys = [
                Variable(small([heads, length, size]), name=f"prefix/keys/{i}")
                for i, (heads, size, _) in enumerate(sizes)
            ]
            self.values = [
                Variable(np.zeros([heads, length, size], np.float32), name=f"prefix/values/{i}")
                for i, (heads, _, size) in enumerate(sizes)
            ]
        given = self._concrete().structured_input_signature[0]
        vars(self)["__call__"] = Function(
            lambda *xs: self._run(xs), f"{module.name}_with_prefix", list(given), autograph=False
        )

    def __call__(self, *inputs: Any) -> Any:
        """The model's results with the prefix.

        Args:
            *inputs: As the model takes them.
        """
        return vars(self)["__call__"](*inputs)

    def _concrete(self) -> ConcreteFunction:
        concrete: ConcreteFunction = self._self_function.get_concrete_function()
        if concrete.written_variables:
            names = ", ".join(v.name for v in concrete.written_variables[:5])
            raise InvalidArgumentError(
                f"{self.module.name} updates variables when it is called ({names}): give call=, a "
                "function that computes without, such as its inference."
            )
        return concrete

    def _run(self, inputs: Sequence[Any]) -> Any:
        """Put the model's graph into the one under construction, prefixes added."""
        target = current().graph
        assert target is not None
        concrete = self._concrete()
        graph, extra = _with_prefixes(_expanded(concrete), len(self.keys))
        mapping: dict[int, Tensor] = {}
        given = iter([convert_to_tensor(x) for x in nest.flatten(list(inputs), True)])
        for value, (kind, _, variable) in zip(
            concrete.graph.graph.inputs, concrete.bindings(), strict=True
        ):
            if kind == "variable":
                assert variable is not None
                mapping[id(value)] = variable.stored_value()
            else:
                mapping[id(value)] = next(given)
        for (keys, values), k, v in zip(extra, self.keys, self.values, strict=True):
            mapping[id(keys)], mapping[id(values)] = k.value(), v.value()
        inline_nodes(graph, mapping, target)
        flat = iter(mapping[id(v)] for v in graph.outputs)
        return nest.map_structure(
            lambda spec: None if spec is None else next(flat),
            concrete.structured_outputs,
            expand_composites=True,
        )


def _function_of(call: Any, inputs: Sequence[TensorSpec] | None) -> Function:
    """A function with an input signature."""
    function = declared_function(call) if inputs is None else None
    if function is not None:
        return function
    specs = input_specs(call, inputs)
    return Function(lambda *xs: call(*xs), "model", specs, autograph=False)


def _expanded(concrete: ConcreteFunction) -> Graph:
    return expand_all_calls(concrete.graph.graph)


def _sizes(attention: Attention) -> tuple[int, int, int]:
    sizes = attention.sizes
    if sizes is None:
        raise InvalidArgumentError(
            f"the sizes of heads at {attention.softmax.name!r} are not known: queries are "
            f"{attention.queries.shape}, keys {attention.keys.shape}, values "
            f"{attention.values.shape}. Reshape to known sizes in the model."
        )
    if not from_onnx(attention.queries.dtype).name == "float32":
        raise InvalidArgumentError(
            f"attention at {attention.softmax.name!r} computes in "
            f"{from_onnx(attention.queries.dtype).name}; prefixes are float32."
        )
    return sizes


def _with_prefixes(graph: Graph, count: int) -> tuple[Graph, list[tuple[Value, Value]]]:
    """A copy of a graph with prefixes, and the two new inputs of each attention."""
    rewriter = _Prefixes(find_attention(graph))
    result = rewriter.run(graph)
    assert len(rewriter.inputs) == count
    return result, rewriter.inputs


class _Prefixes(Rewriter):
    def __init__(self, attention: Sequence[Attention]) -> None:
        super().__init__()
        self._by_softmax = {id(a.softmax): a for a in attention}
        self._by_product = {id(a.product): a for a in attention}
        self._shares: dict[int, Value] = {}
        self.inputs: list[tuple[Value, Value]] = []
        self._own: dict[int, tuple[Value, Value]] = {}

    def enter(self, graph: Graph, out: Graph) -> None:
        found = () if self.inputs else self._by_softmax.values()  # bodies are entered, too
        for i, attention in enumerate(found):
            heads, size, width = _sizes(attention)
            dtype = attention.queries.dtype
            keys = out.add_input(f"prefix_keys_{i}", dtype, (heads, None, size))
            values = out.add_input(f"prefix_values_{i}", dtype, (heads, None, width))
            self._own[id(attention)] = (keys, values)
            self.inputs.append((keys, values))

    def rewrite(self, node: Node, inputs: Inputs, out: Graph) -> None:
        at_softmax = self._by_softmax.get(id(node))
        at_product = self._by_product.get(id(node))
        if at_softmax is not None:
            self._share(at_softmax, node, inputs, out)
        elif at_product is not None:
            b = ReplacementBuilder(out, node)
            plain = b.apply("MatMul", inputs)
            more = b.MatMul(self._shares[id(at_product)], self._own[id(at_product)][1])
            b.Add(plain, more)
            b.finish()
        else:
            super().rewrite(node, inputs, out)

    def _share(self, attention: Attention, node: Node, inputs: Inputs, out: Graph) -> None:
        """One softmax over the prefix's scores and the model's own."""
        b = ReplacementBuilder(out, node)
        (own,) = inputs
        assert own is not None
        keys, _ = self._own[id(attention)]
        scores = b.MatMul(self.value(attention.queries), b.Transpose(keys, perm=(0, 2, 1)))
        for scale, place in attention.scales:
            given = [None if v is None else self.value(v) for v in scale.inputs]
            given[place] = scores
            scores = b.apply(scale.op, given, scale.attrs)
        lead = b.Shape(own, end=-1)
        wide = b.Concat(lead, b.Shape(scores, start=-1), axis=0)
        scores = b.Expand(scores, wide)
        both = b.Softmax(b.Concat(scores, own, axis=-1), axis=-1)
        size, zero, last = b.Shape(scores, start=-1), b.ints([0]), b.ints([-1])
        self._shares[id(attention)] = b.Slice(both, zero, size, last)
        b.Slice(both, size, b.ints([np.iinfo(np.int64).max]), last)
        b.finish()
