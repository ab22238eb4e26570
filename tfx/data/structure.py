"""What elements look like: their specs, and how they are taken apart and put together.

An element is a structure (tuples, named tuples, dicts, attrs classes, extension types, linear
operators) of *components*: tensors, None, or datasets. Lists are tensors, as in TensorFlow. Inside
the pipeline an element is a flat tuple of components; a ``Structure`` knows how to build what a
user sees.

Must not know where elements come from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

import numpy as np

from tfx.core import nest_kinds
from tfx.core.nest_kinds import Kind
from tfx.core.shapes import TensorShape
from tfx.core.specs import TensorSpec, TypeSpec
from tfx.framework.composite import extension_parts
from tfx.framework.composite.extension_type import ExtensionType
from tfx.framework.composite.extension_type_spec import ExtensionTypeSpec
from tfx.framework.convert import convert_to_tensor
from tfx.ragged_ops.ragged_tensor import RaggedTensor
from tfx.ragged_ops.ragged_tensor_spec import RaggedTensorSpec
from tfx.sparse_ops.sparse_tensor import SparseTensor
from tfx.sparse_ops.sparse_tensor_spec import SparseTensorSpec


class NoneTensorSpec(TypeSpec):
    """The spec of None, which may be a component of an element.

    Example:
        >>> import tfx as tf
        >>> tf.data.Dataset.from_tensors((1, None)).element_spec[1]
        NoneTensorSpec()
    """

    @property
    def shape(self) -> TensorShape:
        """A scalar's: None has no dimensions."""
        return TensorShape([])

    def is_subtype_of(self, other: object) -> bool:
        """True if ``other`` is such a spec, too."""
        return bool(other == self)

    def most_specific_common_supertype(self, others: Sequence[Any]) -> NoneTensorSpec | None:
        """The spec itself, if all the others are such specs."""
        return self if all(isinstance(x, NoneTensorSpec) for x in others) else None

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """True for None and for its spec."""
        return spec_or_value is None or isinstance(spec_or_value, NoneTensorSpec)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NoneTensorSpec)

    def __hash__(self) -> int:
        return hash(NoneTensorSpec)

    def __repr__(self) -> str:
        return "NoneTensorSpec()"


class SpecOfElements(TypeSpec):
    """The spec of what has elements of one spec.

    Args:
        element_spec: The spec of its elements.
    """

    __slots__ = ("_element_spec",)

    def __init__(self, element_spec: Any) -> None:
        self._element_spec = element_spec

    @classmethod
    def from_value(cls, value: Any) -> Self:
        """The spec of a value, which has an ``element_spec``."""
        return cls(value.element_spec)

    @property
    def element_spec(self) -> Any:
        """The spec of the elements."""
        return self._element_spec


class DatasetSpec(SpecOfElements):
    """The spec of a dataset that is a component of an element, or an argument of a function.

    Args:
        element_spec: The spec of its elements.
        dataset_shape: Always a scalar's; accepted for compatibility.

    Example:
        >>> import tfx as tf
        >>> tf.data.DatasetSpec(tf.TensorSpec([], tf.int64)).element_spec
        TensorSpec(shape=(), dtype=tf.int64, name=None)
    """

    __slots__ = ()
    _tfx_argument: Callable[[DatasetSpec], Any]

    def __init__(self, element_spec: Any, dataset_shape: Any = ()) -> None:
        super().__init__(element_spec)

    @property
    def shape(self) -> TensorShape:
        """A scalar's."""
        return TensorShape([])

    def is_subtype_of(self, other: object) -> bool:
        """True if all such datasets are also of the other spec."""
        return isinstance(other, DatasetSpec) and covers(other._element_spec, self._element_spec)

    def most_specific_common_supertype(self, others: Sequence[Any]) -> DatasetSpec | None:
        """The spec itself, if it covers the others."""
        fits = all(isinstance(x, DatasetSpec) and x.is_subtype_of(self) for x in others)
        return self if fits else None

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """True if the elements are compatible."""
        other = getattr(spec_or_value, "element_spec", None)
        return other is not None and compatible(self._element_spec, other)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DatasetSpec) and self._element_spec == other._element_spec

    def __hash__(self) -> int:
        return hash((DatasetSpec, tuple(flatten(self._element_spec))))

    def __repr__(self) -> str:
        return f"DatasetSpec({self._element_spec!r}, TensorShape([]))"


# Kinds of structures


# What is known of the shape is in the spec alone, and no part of the structure.
_SPARSE = Kind(
    lambda x: ["indices", "values", "dense_shape"],
    SparseTensor._tfx_expanded_kind.values,
    SparseTensor._tfx_expanded_kind.build,
)
_SPARSE_SPEC = _SPARSE._replace(values=SparseTensorSpec._tfx_expanded_kind.values)
_LEAVES = (list, range, str, bytes)


def kind_of(value: Any) -> Kind | None:
    """How a structure of components is taken apart; None: it is a component."""
    if isinstance(value, _LEAVES):
        return None
    if isinstance(value, ExtensionType):
        return extension_parts.KIND
    if getattr(value, "_tfx_is_numeric", False) is True:  # linear operators and their specs
        return nest_kinds.expanded_kind_of(value)
    if isinstance(value, SparseTensor):
        return _SPARSE
    if isinstance(value, SparseTensorSpec):
        return _SPARSE_SPEC
    if is_whole(value):
        return nest_kinds.expanded_kind_of(value)
    return nest_kinds.kind_of(value)


def is_whole(value: Any) -> bool:
    """True for ragged and sparse tensors and specs: several components that belong together."""
    return isinstance(value, RaggedTensor | RaggedTensorSpec | SparseTensor | SparseTensorSpec)


def whole_leaves(value: Any) -> list[Any]:
    """The components of an element, ragged and sparse ones as a whole."""
    kind = None if is_whole(value) else kind_of(value)
    if kind is None:
        return [value]
    return [leaf for part in kind.values(value) for leaf in whole_leaves(part)]


def map_whole(function: Callable[[Any], Any], value: Any) -> Any:
    """A structure with what a function makes of components, ragged and sparse ones as a whole."""
    kind = None if is_whole(value) else kind_of(value)
    if kind is None:
        return function(value)
    return kind.build(value, [map_whole(function, part) for part in kind.values(value)])


def with_shapes(change: Callable[[TensorShape], TensorShape], value: Any) -> Any:
    """A structure with other shapes in the fields of extension types that are shapes."""
    if isinstance(value, ExtensionType):
        return extension_parts.map_shapes(change, value)
    kind = None if is_whole(value) else kind_of(value)
    if kind is None:
        return value
    return kind.build(value, [with_shapes(change, part) for part in kind.values(value)])


def flatten(value: Any) -> list[Any]:
    """The components of an element, or the specs in an ``element_spec``."""
    kind = kind_of(value)
    if kind is None:
        return [value]
    return [leaf for part in kind.values(value) for leaf in flatten(part)]


def map_leaves(function: Callable[..., Any], *values: Any) -> Any:
    """A structure with what a function makes of corresponding components.

    Raises:
        ValueError: the structures differ.
    """
    first = values[0]
    kind = kind_of(first)
    if kind is None:
        return function(*values)
    columns = []
    for value in values:
        other = kind_of(value)
        if other is None or kind.keys(value) != kind.keys(first):
            raise ValueError(f"the structures {first!r} and {value!r} differ")
        columns.append(list(other.values(value)))
    return kind.build(first, [map_leaves(function, *row) for row in zip(*columns, strict=True)])


def same_form(a: Any, b: Any) -> bool:
    """True if two structures have the same form, whatever their components."""
    kind, other = kind_of(a), kind_of(b)
    if kind is None or other is None:
        return kind is other
    alike = nest_kinds.same_class(type(a), type(b)) or (is_whole(a) and is_whole(b))
    if not alike or kind.keys(a) != other.keys(b):
        return False
    return all(same_form(x, y) for x, y in zip(kind.values(a), other.values(b), strict=True))


def components_of(spec: Any, value: Any) -> list[Any] | None:
    """What a value has in the places of a spec's components; None if its form is another one.

    A tuple where a tensor is expected is one component: its items are those of the tensor.
    """
    kind, other = kind_of(spec), kind_of(value)
    if kind is None:
        one = other is None or (isinstance(spec, TensorSpec) and isinstance(value, tuple))
        return [value] if one else None
    alike = nest_kinds.same_class(type(spec), type(value)) or (is_whole(spec) and is_whole(value))
    if other is None or not alike or kind.keys(spec) != other.keys(value):
        return None
    found: list[Any] = []
    for part, its in zip(kind.values(spec), other.values(value), strict=True):
        components = components_of(part, its)
        if components is None:
            return None
        found += components
    return found


def compatible(a: Any, b: Any) -> bool:
    """True if an element can be of both specs."""
    if not same_form(a, b):
        return False
    pairs = zip(flatten(a), flatten(b), strict=True)
    return all(x.is_compatible_with(y) for x, y in pairs)


def covers(general: Any, special: Any) -> bool:
    """True if all elements of one spec are also of a more general one."""
    if not same_form(general, special):
        return False
    pairs = zip(flatten(general), flatten(special), strict=True)
    return all(x.is_subtype_of(y) for y, x in pairs)


def _packer(template: Any, start: int) -> tuple[Callable[[Sequence[Any]], Any], int]:
    """A function that builds a structure of flat components, and where the next one begins."""
    kind = kind_of(template)
    if kind is None:
        return (lambda leaves: leaves[start]), start + 1
    parts = []
    for part in kind.values(template):
        build, start = _packer(part, start)
        parts.append(build)
    if type(template) is tuple:
        return (lambda leaves: tuple([p(leaves) for p in parts])), start
    if type(template) is dict:
        order = [(key, parts[sorted(template).index(key)]) for key in template]
        return (lambda leaves: {key: p(leaves) for key, p in order}), start
    assert kind is not None
    make = kind.build
    return (lambda leaves: make(template, [p(leaves) for p in parts])), start


class Structure:
    """The structure of the elements of a dataset.

    Args:
        spec: The ``element_spec``: a structure of ``TypeSpec``.

    Attributes:
        spec: The same.
        specs: The specs of the components, in order.
        pack: Builds an element of its components.
        has_ragged: Whether ragged or sparse tensors are among them.
    """

    __slots__ = ("has_ragged", "pack", "spec", "specs")

    def __init__(self, spec: Any) -> None:
        self.spec = spec
        self.specs: list[Any] = flatten(spec)
        self.has_ragged = any(is_whole(leaf) for leaf in whole_leaves(spec))
        for each in self.specs:
            if not isinstance(each, TypeSpec):
                raise TypeError(
                    f"The spec of elements is made of tf.TensorSpec objects; got {each!r} in "
                    f"{spec!r}."
                )
        plain = type(spec) is tuple and all(kind_of(part) is None for part in spec)
        self.pack: Callable[[Any], Any] = tuple if plain else _packer(spec, 0)[0]

    def with_specs(self, specs: Iterable[Any]) -> Structure:
        """The same structure with other components."""
        return Structure(self.pack(tuple(specs)))

    def map_whole(
        self,
        function: Callable[[Any], Any],
        shapes: Callable[[TensorShape], TensorShape] | None = None,
    ) -> Structure:
        """The same structure with what a function makes of the specs, whole ones at once.

        Args:
            function: Makes a spec of a spec.
            shapes: Makes a shape of a shape that is a field of an extension type.
        """
        found = map_whole(function, self.spec)
        return Structure(found if shapes is None else with_shapes(shapes, found))

    def groups(self, leaves: Sequence[Any]) -> list[tuple[Any, Sequence[Any]]]:
        """The spec and the leaves of each component, those of a ragged one together."""
        found = []
        start = 0
        for spec in whole_leaves(self.spec):
            end = start + len(flatten(spec))
            found.append((spec, leaves[start:end]))
            start = end
        return found

    def map(self, function: Callable[[Any], Any]) -> Structure:
        """The same structure with what a function makes of the specs."""
        return self.with_specs([function(spec) for spec in self.specs])

    @property
    def is_static(self) -> bool:
        """True if all components are tensors of known shapes."""
        if self.has_ragged:
            return False
        return all(isinstance(s, TensorSpec) and s.shape.is_fully_defined() for s in self.specs)

    @property
    def is_tensors(self) -> bool:
        """True if all components are tensors."""
        return not self.has_ragged and all(isinstance(s, TensorSpec) for s in self.specs)

    def __repr__(self) -> str:
        return repr(self.spec)


def converted(value: Any, spec: Any = None) -> Any:
    """A structure with tensors in place of what converts to them; None and datasets stay.

    Args:
        value: Any structure.
        spec: The specs of its components, whose dtypes are binding.
    """
    kind = kind_of(value)
    if kind is None:
        if value is None or hasattr(value, "_node"):
            return value
        dtype = _dtype_in(value) if spec is None else getattr(spec, "dtype", None)
        return convert_to_tensor(value, dtype)
    specs = [None] * len(kind.keys(value)) if spec is None else list(_kind(spec).values(spec))
    parts = [converted(v, s) for v, s in zip(kind.values(value), specs, strict=True)]
    return kind.build(value, parts)


def _dtype_in(value: Any) -> Any:
    """The dtype of the numbers in a list of arrays, which their tensor keeps; None: of others."""
    if isinstance(value, np.ndarray):
        return value.dtype if value.dtype.kind in "biufc" else None
    if not isinstance(value, list) or not value:
        return None
    first = _dtype_in(value[0])
    alike = first is not None and all(_dtype_in(item) == first for item in value[1:])
    return first if alike else None


def _kind(value: Any) -> Kind:
    kind = kind_of(value)
    assert kind is not None
    return kind


def component_spec(value: Any) -> TypeSpec:
    """The spec of a component."""
    if value is None:
        return NoneTensorSpec()
    node = getattr(value, "_node", None)
    if node is not None:
        return DatasetSpec(node.structure.spec)
    return TensorSpec(value.shape, value.dtype)


def spec_of(value: Any) -> Any:
    """The ``element_spec`` of a structure of tensors."""
    return map_leaves(component_spec, value)


def merged_shape(a: TensorShape, b: TensorShape) -> TensorShape:
    """The most specific shape that covers two."""
    found = a.most_specific_common_supertype([b])
    return TensorShape(None) if found is None else found


def merged_spec(a: Any, b: Any) -> Any:
    """The most specific spec that covers two.

    Raises:
        TypeError: there is none.
    """
    if not same_form(a, b):
        raise TypeError(f"Incompatible structures of elements: {a!r} and {b!r}.")

    return _merged(a, b)


def _merged(a: Any, b: Any) -> Any:
    if isinstance(a, TensorSpec) and isinstance(b, TensorSpec) and a.dtype is b.dtype:
        return TensorSpec(merged_shape(a.shape, b.shape), a.dtype)
    kind = kind_of(a)
    if kind is None or isinstance(a, ExtensionTypeSpec):
        found = a.most_specific_common_supertype([b])
        if found is None:
            raise TypeError(f"Incompatible types of elements: {a!r} and {b!r}.")
        return found
    pairs = zip(kind.values(a), _kind(b).values(b), strict=True)
    return kind.build(a, [_merged(x, y) for x, y in pairs])


def shape_of(leaf: Any) -> tuple[int, ...]:
    """The shape of a component with contents."""
    if isinstance(leaf, np.ndarray):
        shape: tuple[int, ...] = leaf.shape
        return shape
    return tuple(leaf._raw.shape())
