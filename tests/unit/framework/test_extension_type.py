"""Extension types: construction, what they refuse, and their way through functions and tapes."""

from __future__ import annotations

import copy
import operator
import pickle
import typing
from collections.abc import Mapping
from typing import Any

import pytest

import tfx as tf


class Masked(tf.experimental.ExtensionType):
    values: tf.Tensor
    mask: tf.Tensor

    def replaced(self, mask: Any) -> Masked:
        return Masked(self.values, mask)

    @property
    def shape(self) -> Any:
        return self.values.shape


class Checked(tf.experimental.ExtensionType):
    values: tf.Tensor
    mask: tf.Tensor

    def __init__(self, values: Any, mask: Any = None) -> None:
        self.values = tf.convert_to_tensor(values)
        self.mask = tf.ones_like(self.values, tf.bool) if mask is None else mask

    def __validate__(self) -> None:
        self.values.shape.assert_is_compatible_with(self.mask.shape)


class Mixed(tf.experimental.ExtensionType):
    a: tf.Tensor
    b: int
    c: str = "x"
    d: tuple[tf.Tensor, ...] = ()
    e: Mapping[str, tf.Tensor] = {}
    f: tf.Tensor | None = None
    g: float = 0.0


class Weight(tf.experimental.ExtensionType):
    w: tf.Tensor


class Pair(Weight):
    size: tf.TensorSpec(shape=[2], dtype=tf.float32)  # type: ignore[valid-type]


MASKED = Masked([[1, 2, 3], [4, 5, 6]], [[True, True, False], [True, False, True]])


def test_construction() -> None:
    assert MASKED.values.numpy().tolist() == [[1, 2, 3], [4, 5, 6]]
    assert MASKED.shape == (2, 3)
    assert MASKED.replaced(True).mask.numpy()
    assert Checked([1.0, 2.0]).mask.numpy().tolist() == [True, True]
    mixed = Mixed([1.0], 2, c="y", d=[1, 2.0], e={"k": 3}, g=1)
    assert [int(x) for x in mixed.d] == [1, 2]
    assert int(mixed.e["k"]) == 3
    assert mixed.f is None
    assert mixed.g == 1.0
    assert int(Mixed([1.0], 2, f=5).f) == 5
    assert Pair(1.0, [1, 2]).size.dtype == tf.float32
    assert repr(Weight(1.0)).startswith("Weight(w=<tf.Tensor: shape=()")


def test_what_is_refused() -> None:
    with pytest.raises(AttributeError, match="Cannot mutate attribute `mask`"):
        MASKED.mask = True
    with pytest.raises(AttributeError, match="Cannot mutate attribute `mask`"):
        del MASKED.mask
    with pytest.raises(TypeError, match="too many positional"):
        Masked([1], [True], 3)
    with pytest.raises(TypeError, match="missing a required argument: 'mask'"):
        Masked([1])
    with pytest.raises(TypeError, match="unexpected keyword argument 'zz'"):
        Masked(values=[1], mask=[True], zz=2)
    with pytest.raises(TypeError, match="b: expected 'int', got 'str'"):
        Mixed([1.0], "q")
    with pytest.raises(TypeError, match=r"shape \(2,\), got \(3,\)"):
        Pair(1.0, [1, 2, 3])
    with pytest.raises(ValueError, match="compatible"):
        Checked([1.0, 2.0], tf.constant([True]))
    with pytest.raises(TypeError, match="cannot be changed"):
        Mixed([1.0], 2).e["k"] = 1
    with pytest.raises(TypeError, match="Unsupported type annotation"):

        class Wrong(tf.experimental.ExtensionType):
            a: list


def test_equality() -> None:
    assert bool(Mixed([1.0], 2) == Mixed([1.0], 2))
    assert not bool(Mixed([1.0], 2) == Mixed([2.0], 2))
    assert Mixed([1.0], 2) != Mixed([1.0], 3)
    assert Weight(1.0) != 1.0
    differ = tf.function(operator.ne)(Mixed([1.0], 2), Mixed([2.0], 2))
    assert differ.dtype == tf.bool
    assert bool(differ)


class Described(tf.experimental.ExtensionType):
    shape: tf.TensorShape
    dtype: tf.DType
    other: tf.TensorShape | None = None


def test_shapes_and_dtypes_are_converted() -> None:
    described = Described([None, 3], "float32", other=[2])
    assert described.shape.as_list() == [None, 3]
    assert isinstance(described.shape, tf.TensorShape)
    assert described.dtype is tf.float32
    assert described.other == tf.TensorShape([2])
    with pytest.raises(TypeError, match="shape: expected 'TensorShape', got 'x'"):
        Described("x", "float32")
    with pytest.raises(TypeError, match="dtype: expected 'DType', got 'float31'"):
        Described([1], "float31")


class Tree(tf.experimental.ExtensionType):
    value: tf.Tensor
    left: typing.Optional["Tree"] = None  # noqa: UP037, UP045
    more: typing.Tuple["Tree", ...] = ()  # noqa: UP006, UP037


def test_a_type_may_have_itself_in_its_fields() -> None:
    tree = Tree(1.0, Tree(2.0), [Tree(3.0), Tree(4.0, Tree(5.0))])

    @tf.function
    def total(t: Tree) -> tf.Tensor:
        parts = [] if t.left is None else [t.left]
        return tf.add_n([t.value, *map(total, [*parts, *t.more])])

    assert total(tree).numpy() == 15.0
    assert len(tf.nest.flatten(tree, expand_composites=True)) == 5
    with pytest.raises(TypeError, match=r"more\[0\]: expected 'Tree', got 'int'"):
        Tree(1.0, more=[2])
    with pytest.raises(TypeError, match=r"'Nothing'.* is not known"):

        class Wrong(tf.experimental.ExtensionType):
            x: typing.List["Nothing"]  # type: ignore[name-defined]  # noqa: F821, UP006, UP037


def test_through_functions() -> None:
    traces = []

    @tf.function
    def twice(m: Masked) -> dict[str, Masked]:
        traces.append(1)
        return {"found": Masked(m.values * 2, m.mask)}

    found = twice(MASKED)["found"]
    assert isinstance(found, Masked)
    assert found.values.numpy().tolist() == [[2, 4, 6], [8, 10, 12]]
    twice(MASKED.replaced(tf.zeros([2, 3], tf.bool)))
    assert len(traces) == 1

    @tf.function
    def product(m: Mixed) -> tf.Tensor:
        traces.append(2)
        return m.a * float(m.b)

    assert [float(product(Mixed([x], b))[0]) for x, b in ((1.0, 2), (3.0, 2), (3.0, 3))] == [
        2.0,
        6.0,
        9.0,
    ]
    assert traces.count(2) == 2


def test_specs() -> None:
    spec = tf.type_spec_from_value(MASKED)
    assert spec.values == tf.TensorSpec([2, 3], tf.int32)
    rows = Masked.Spec(tf.TensorSpec([None, 3], tf.int32), mask=tf.TensorSpec([None, 3], tf.bool))

    @tf.function(input_signature=[rows])
    def shape(m: Masked) -> tuple[list[Any], tf.Tensor]:
        return m.shape.as_list(), m.values

    assert shape(MASKED)[0] == [None, 3]
    with pytest.raises(TypeError, match="missing"):
        Masked.Spec(tf.TensorSpec([]))


def test_tapes_structures_and_conditions() -> None:
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = Weight(x * 2).w ** 2
    assert float(tape.gradient(y, x)) == 24.0
    assert tf.nest.flatten(MASKED)[0] is MASKED
    leaves = tf.nest.flatten(MASKED, expand_composites=True)
    assert [leaf.dtype for leaf in leaves] == [tf.int32, tf.bool]

    @tf.function
    def either(which: tf.Tensor) -> Weight:
        return tf.cond(which, lambda: Weight(1.0), lambda: Weight(2.0))

    assert float(either(tf.constant(False)).w) == 2.0


def test_loops() -> None:
    def count(first: Any) -> Any:
        return tf.while_loop(lambda i, _: i < 3, lambda i, m: (i + 1, Weight(m.w + 1)), first)[1].w

    first = [tf.constant(0), Weight(0.5)]
    assert float(count(first)) == 3.5
    assert float(tf.function(count)(first)) == 3.5


def test_mappings_are_copied_and_cannot_be_changed() -> None:
    x = Mixed([1.0], 2, e={"k": 1})
    for made in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert made.e == {"k": 1}
        assert type(made.e) is type(x.e)
    with pytest.raises(TypeError, match="cannot be changed"):
        operator.ior(x.e, {"l": 2})
    assert x.e == {"k": 1}


class Stamped(tf.experimental.ExtensionType):
    values: tf.Tensor
    number: int
    text: str = "a"
    more: tuple[tf.Tensor, int] = (0.0, 7)
    maybe: tf.Tensor | None = None


def test_only_tensors_are_taken_apart() -> None:
    x = Stamped([1.0, 2.0], 3)
    assert len(tf.nest.flatten(x, expand_composites=True)) == 2
    doubled = tf.nest.map_structure(lambda v: v * 2, x, expand_composites=True)
    assert doubled.values.numpy().tolist() == [2.0, 4.0]
    assert (doubled.number, doubled.text, doubled.more[1], doubled.maybe) == (3, "a", 7, None)
    with pytest.raises(ValueError, match="the same values"):
        tf.nest.assert_same_structure(x, Stamped([1.0, 2.0], 4), expand_composites=True)


def test_values_beside_tensors_go_through_functions_as_they_are() -> None:
    @tf.function
    def run(x: Stamped) -> Stamped:
        return Stamped(x.values, x.number + 1, x.text + "b", x.more)

    for _ in range(2):
        found = run(Stamped([1.0], 3))
        assert (found.number, found.text, found.more[1]) == (4, "ab", 7)
    assert run(Stamped([1.0], 5)).number == 6


def test_loops_and_branches_keep_values_beside_tensors() -> None:
    x = Stamped([1.0, 2.0], 3)

    def twice(given: Stamped, step: int = 0) -> Stamped:
        return Stamped(given.values * 2.0, given.number + step)

    @tf.function
    def loop(step: int) -> Any:
        start = (tf.constant(0), x)
        return tf.while_loop(lambda i, _: i < 3, lambda i, s: (i + 1, twice(s, step)), start)[1]

    @tf.function
    def branch(p: Any, step: int) -> Any:
        return tf.cond(p, lambda: x, lambda: twice(x, step))

    found = loop(0)
    assert found.values.numpy().tolist() == [8.0, 16.0] and found.number == 3
    found = branch(tf.constant(False), 0)
    assert found.values.numpy().tolist() == [2.0, 4.0] and found.number == 3
    with pytest.raises(ValueError, match="structure of its loop variables"):
        loop(1)
    with pytest.raises(TypeError, match="same number, type, and overall structure"):
        branch(tf.constant(False), 1)


def test_objects_that_differ_beside_their_tensors_differ() -> None:
    assert bool(Stamped([1.0], 3) == Stamped([1.0], 3))
    assert not bool(Stamped([1.0], 3) == Stamped([1.0], 4))


class Rows(tf.experimental.BatchableExtensionType):
    x: tf.Tensor
    y: tf.Tensor
    name: str = "rows"


def _rows() -> Rows:
    return Rows(tf.reshape(tf.range(6.0), [3, 2]), tf.range(3), "numbers")


@pytest.mark.parametrize("in_graph", [False, True])
def test_maps_take_slices_of_all_tensors(in_graph: bool) -> None:
    one = Rows.Spec(tf.TensorSpec([2]), tf.TensorSpec([], tf.int32), "other")

    def double(p: Rows) -> Rows:
        return Rows(p.x * 2.0, p.y, p.name)

    def run() -> Any:
        given = _rows()
        return (
            tf.map_fn(lambda p: p.x[0] * tf.cast(p.y, tf.float32), given, tf.float32),
            tf.map_fn(double, given).x,
            tf.map_fn(lambda p: Rows(p.x, p.y + 1, "other"), given, fn_output_signature=one),
            tf.vectorized_map(double, given),
            tf.scan(lambda total, p: total + p.x, given, tf.zeros([2])),
        )

    single, doubled, other, batched, sums = (tf.function(run) if in_graph else run)()
    assert single.numpy().tolist() == [0.0, 2.0, 8.0]
    assert doubled.numpy().tolist() == batched.x.numpy().tolist() == [[0, 2], [4, 6], [8, 10]]
    assert batched.name == "numbers"
    assert other.y.numpy().tolist() == [1, 2, 3] and other.name == "other"
    assert sums.numpy().tolist() == [[0.0, 1.0], [2.0, 4.0], [6.0, 9.0]]


def test_maps_have_gradients_for_fields() -> None:
    given = _rows()
    with tf.GradientTape() as tape:
        tape.watch(given.x)
        found = tf.map_fn(lambda p: tf.reduce_sum(p.x**2), given, fn_output_signature=tf.float32)
    assert tape.gradient(found, given.x).numpy().tolist() == [[0, 2], [4, 6], [8, 10]]


class Graph(tf.experimental.ExtensionType):
    features: tf.Tensor | tf.RaggedTensor
    edges: tf.SparseTensor
    name: str = "graph"


def test_fields_of_ragged_and_sparse_tensors() -> None:
    edges = tf.sparse.from_dense([[0.0, 1.0], [2.0, 0.0]])

    @tf.function
    def run(g: Graph, n: Any) -> Graph:
        for _ in tf.range(n):
            g = Graph(g.features * 2.0, tf.sparse.map_values(tf.add, g.edges, 1.0), g.name)
        return g

    found = run(Graph(tf.ragged.constant([[1.0], [2.0, 3.0]]), edges, "a"), tf.constant(2))
    assert found.features.to_list() == [[4.0], [8.0, 12.0]] and found.name == "a"
    assert found.edges.values.numpy().tolist() == [3.0, 4.0]
    assert run(Graph([1.0], edges), tf.constant(1)).features.numpy().tolist() == [2.0]
    with pytest.raises(TypeError, match="edges: expected 'SparseTensor'"):
        Graph([1.0], [1.0])


class Edges(tf.experimental.BatchableExtensionType):
    shape: tf.TensorShape
    start: tf.Tensor
    end: tf.Tensor

    def __init__(self, start: Any, end: Any) -> None:
        self.start = tf.convert_to_tensor(start)
        self.end = tf.convert_to_tensor(end)
        self.shape = self.start.shape

    def total(self) -> tf.Tensor:
        return tf.reduce_sum(self.start + self.end)


EDGES = Edges([1, 2, 3], [10, 20, 30])


def test_batches_of_extension_types() -> None:
    dataset = tf.data.Dataset.from_tensor_slices(EDGES)
    one = next(iter(dataset))
    assert (one.shape, int(one.total())) == ((), 11)
    batches = dataset.batch(2)
    assert isinstance(batches.element_spec, Edges.Spec)
    assert batches.element_spec.shape.as_list() == [None]
    assert dataset.batch(2, drop_remainder=True).element_spec.shape.as_list() == [2]
    assert [b.end.numpy().tolist() for b in batches] == [[10, 20], [30]]
    assert [e.shape for e in batches.unbatch()] == [()] * 3
    assert [b.start.numpy().tolist() for b in batches.rebatch(3)] == [[1, 2, 3]]
    assert batches.rebatch(3).element_spec.shape.as_list() == [None]
    assert [int(x) for x in dataset.map(lambda e: e.total())] == [11, 22, 33]
    moved = dataset.map(lambda e: Edges(e.end, e.start)).batch(3)
    assert next(iter(moved)).start.numpy().tolist() == [10, 20, 30]


def test_map_fn_takes_and_gives_extension_types() -> None:
    def swap(x: Any) -> Any:
        return Edges(x.end, x.start)

    def swapping(signature: Any) -> Any:
        return lambda x: tf.map_fn(swap, x, fn_output_signature=signature)

    scalar = tf.TensorSpec([], tf.int32)
    spec = Edges.Spec(tf.TensorShape([]), scalar, scalar)
    for run in (lambda f: f, tf.function):
        totals = run(lambda x: tf.map_fn(Edges.total, x, fn_output_signature=tf.int32))(EDGES)
        assert totals.numpy().tolist() == [11, 22, 33]
        for signature in (None, spec):
            found = run(swapping(signature))(EDGES)
            assert (found.start.numpy().tolist(), found.shape) == ([10, 20, 30], (3,))
        pairs = run(lambda x: tf.map_fn(lambda p: p[0].total() + p[1], (x, x.start), tf.int32))
        assert pairs(EDGES).numpy().tolist() == [12, 24, 36]


@pytest.mark.parametrize("in_graph", [False, True])
def test_maps_give_shape_fields_of_slices_and_rows(in_graph: bool) -> None:
    def run() -> Any:
        return (
            tf.scan(lambda total, x: Edges(total.start + x.start, x.end), EDGES),
            tf.foldl(lambda total, x: Edges(total.start + x.start, x.end), EDGES),
            tf.vectorized_map(lambda x: Edges(x.end, x.start), EDGES),
        )

    sums, last, swapped = (tf.function(run) if in_graph else run)()
    assert (sums.shape, sums.start.numpy().tolist()) == ((3,), [1, 3, 6])
    assert (last.shape, int(last.start), int(last.end)) == ((), 6, 30)
    assert (swapped.shape, swapped.start.numpy().tolist()) == ((3,), [10, 20, 30])


class Network(tf.experimental.ExtensionType):
    edges: Edges
    pair: tuple[tf.Tensor, tf.Tensor]
    rows: tf.RaggedTensor
    name: str = "a"


def _network(*lengths: int) -> Network:
    count = len(lengths)
    rows = tf.RaggedTensor.from_row_lengths(tf.range(sum(lengths)), lengths)
    return Network(Edges([1] * count, [2] * count), (tf.zeros([count]), tf.ones([count])), rows)


def test_specs_and_datasets_of_objects_in_objects() -> None:
    network = _network(1, 2, 0)
    spec = tf.type_spec_from_value(network)
    assert isinstance(spec.edges, Edges.Spec)
    assert spec.rows == tf.RaggedTensorSpec([3, None], tf.int32)
    assert spec.is_compatible_with(_network(3, 3, 3)) and not spec.is_compatible_with(_network(3))
    common = spec.most_specific_common_supertype([tf.type_spec_from_value(_network(3))])
    assert common.edges.shape.as_list() == common.pair[1].shape.as_list() == [None]
    dataset = tf.data.Dataset.from_tensor_slices(network)
    found = [(x.edges.shape, float(x.pair[1]), x.rows.numpy().tolist()) for x in dataset]
    assert found == [((), 1.0, [0]), ((), 1.0, [1, 2]), ((), 1.0, [])]
    batch = next(iter(dataset.batch(3)))
    assert batch.rows.to_list() == [[0], [1, 2], []] and batch.name == "a"


def test_elements_of_two_datasets_have_a_common_spec() -> None:
    def one(value: Any) -> Any:
        return tf.data.Dataset.from_tensors((value, 1))

    both = one(EDGES).concatenate(one(Edges([1], [2])))
    assert both.element_spec[0].shape.as_list() == [None]
    assert [x.start.shape.as_list() for x, _ in both] == [[3], [1]]
    with pytest.raises(TypeError, match="have different types"):
        one(Stamped([1.0], 3)).concatenate(one(Stamped([1.0], 4)))


def test_shape_fields_of_an_input_signature() -> None:
    numbers = tf.TensorSpec([None], tf.int32)

    @tf.function(input_signature=[Edges.Spec(tf.TensorShape([3]), numbers, numbers)])
    def same(x: Edges) -> Edges:
        return x

    assert same(EDGES).shape == (3,)
    with pytest.raises(TypeError, match=r"'shape'.* is TensorShape\(\[3\]\) by the input"):
        same(Edges([1], [2]))


class Shaped(tf.experimental.ExtensionType):
    values: tf.Tensor
    mask: tf.Tensor
    unit: str = "m"

    def __repr__(self) -> str:
        return "shaped"

    class Spec:
        """Values of a dtype, and a mask of the same shape."""

        def __init__(self, shape: Any, dtype: Any = tf.float32, unit: str = "m") -> None:
            self.values = tf.TensorSpec(shape, dtype)
            self.mask = tf.TensorSpec(shape, tf.bool)
            self.unit = unit

        @classmethod
        def like(cls, tensor: tf.Tensor) -> Any:
            return cls(tensor.shape, tensor.dtype)

        @property
        def shape(self) -> tf.TensorShape:
            return self.values.shape


def test_specs_with_a_constructor() -> None:
    spec = Shaped.Spec([None])
    assert isinstance(spec, tf.experimental.ExtensionTypeSpec)
    assert isinstance(spec, tf.TypeSpec)
    assert spec.value_type is Shaped
    assert (spec.shape.as_list(), spec.mask.dtype) == ([None], tf.bool)
    assert Shaped.Spec.like(tf.ones([2])).shape == (2,)
    assert Shaped.Spec.__doc__ == "Values of a dtype, and a mask of the same shape."
    assert repr(spec).startswith("Shaped.Spec(values=TensorSpec(shape=(None,)")

    @tf.function(input_signature=[spec])
    def kept(x: Shaped) -> Shaped:
        return Shaped(tf.where(x.mask, x.values, 0.0), x.mask)

    found = kept(Shaped([1.0, 2.0], [True, False]))
    assert type(found) is Shaped
    assert repr(found) == "shaped"
    concrete = kept.get_concrete_function()
    assert concrete(Shaped([3.0], [True])).values.numpy().tolist() == [3.0]

    with pytest.raises(TypeError, match=r"'unit'.* is 'm' by the input signature"):
        kept(Shaped([1.0], [True], unit="km"))

    class Lacking(tf.experimental.ExtensionType):
        a: tf.Tensor

        class Spec:
            def __init__(self) -> None:
                pass

    with pytest.raises(AttributeError, match="did not set 'a'"):
        Lacking.Spec()


def test_relations_of_specs() -> None:
    rows, two = Shaped.Spec([None]), Shaped.Spec([2])
    value = Shaped([1.0, 2.0], [True, False])
    assert two.is_subtype_of(rows)
    assert not rows.is_subtype_of(two)
    assert rows.is_compatible_with(value)
    assert not rows.is_compatible_with(Shaped([1], [True]))
    assert not rows.is_compatible_with(Shaped([1.0], [True], unit="km"))
    assert not rows.is_compatible_with(1.0)
    assert tf.type_spec_from_value(value) == two
    assert hash(Shaped.Spec([2])) == hash(two)
    assert two != rows
    assert two.most_specific_common_supertype([Shaped.Spec([3])]) == rows
    assert two.most_specific_common_supertype([Shaped.Spec([3], tf.int32)]) is None
    assert two.most_specific_common_supertype([Shaped.Spec([2], unit="km")]) is None
    assert pickle.loads(pickle.dumps(rows)) == rows


def test_one_trace_for_values_of_a_spec() -> None:
    traces = []

    @tf.function
    def total(x: Shaped) -> tf.Tensor:
        traces.append(1)
        return tf.reduce_sum(x.values)

    total.get_concrete_function(Shaped.Spec([None]))
    assert float(total(Shaped([1.0, 2.0], [True, True]))) == 3.0
    assert len(traces) == 1
