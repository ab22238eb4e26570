"""``ExtensionTypeSpec``: the specs of extension types, a class for each.

Must not know how values are made; ``extension_type`` makes these classes beside its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfx.core.shapes import TensorShape
from tfx.core.specs import TypeSpec
from tfx.framework.composite.extension_parts import FieldPath, leaves_of, replaced


class ExtensionTypeSpec(TypeSpec):
    """The spec of an extension type: its fields, with specs in place of tensors.

    Every extension type has such a class under the name ``Spec``. A class ``Spec`` in the body of
    an extension type adds to it: a constructor, which assigns the fields, properties and methods.

    Example:
        >>> import tfx as tf
        >>> class Masked(tf.experimental.ExtensionType):
        ...     values: tf.Tensor
        ...     mask: tf.Tensor
        ...
        ...     class Spec:
        ...         def __init__(self, shape, dtype=tf.float32):
        ...             self.values = tf.TensorSpec(shape, dtype)
        ...             self.mask = tf.TensorSpec(shape, tf.bool)
        >>> spec = Masked.Spec([None])
        >>> spec.is_compatible_with(Masked([1.0, 2.0], [True, False]))
        True
    """

    _tfx_fields: tuple[str, ...]
    _tfx_value_class: Any

    @property
    def value_type(self) -> Any:
        """The extension type."""
        return self._tfx_value_class

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """True if a value, or the values of a spec, can be of this spec."""
        return self._compare(_spec_of(spec_or_value), TypeSpec.is_compatible_with)

    def is_subtype_of(self, other: object) -> bool:
        """True if every value of this spec is also one of `other`."""
        return self._compare(other, TypeSpec.is_subtype_of)

    def _compare(self, other: Any, relation: Any) -> bool:
        if type(other) is not type(self):
            return False
        mine, others = dict(leaves_of(self)), dict(leaves_of(other))
        return mine.keys() == others.keys() and all(
            _related(leaf, others[path], relation) for path, leaf in mine.items()
        )

    def most_specific_common_supertype(self, others: Sequence[Any]) -> Any:
        """The most specific spec of which this one and `others` are subtypes, or None."""
        if any(type(other) is not type(self) for other in others):
            return None
        mine, theirs = dict(leaves_of(self)), [dict(leaves_of(other)) for other in others]
        if any(leaves.keys() != mine.keys() for leaves in theirs):
            return None
        found: dict[FieldPath, Any] = {}
        for path, leaf in mine.items():
            found[path] = _common(leaf, [leaves[path] for leaves in theirs])
            if found[path] is None and leaf is not None:
                return None
        return replaced(self, found)

    def __eq__(self, other: object) -> bool:
        return self._compare(other, TypeSpec.__eq__)

    def __hash__(self) -> int:
        # Shapes of unknown sizes may be equal and hash apart.
        leaves = [x for _, x in leaves_of(self) if not isinstance(x, TensorShape)]
        return hash((type(self), *leaves))

    def __repr__(self) -> str:
        shown = ", ".join([f"{name}={getattr(self, name)!r}" for name in self._tfx_fields])
        return f"{type(self).__qualname__}({shown})"


def _spec_of(x: Any) -> Any:
    composite = getattr(x, "_tfx_spec", None)
    return x if isinstance(x, TypeSpec) or composite is None else composite()


def _related(a: Any, b: Any, relation: Any) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, TypeSpec | TensorShape):
        return bool(getattr(a, relation.__name__)(b))
    return bool(a == b)


def _common(first: Any, rest: Sequence[Any]) -> Any:
    if any(type(x) is not type(first) for x in rest):
        return None
    if isinstance(first, TypeSpec | TensorShape):
        return first.most_specific_common_supertype(list(rest))
    return first if all(x == first for x in rest) else None
