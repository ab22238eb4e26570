"""``Policy``: the dtype to compute in and the one to store variables in, and the global one.

Names and meaning are those of ``tf.keras.mixed_precision``, whose own policy (that of Keras'
layers) this is not: Keras has its global policy, programs of ``tfx.Module`` have this one. The
decision: the global policy acts where a variable is made (``tfx.Variable`` makes one that
``autocast`` scopes cast) and where an ``autocast`` scope is entered, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self

from tfx.core import dtypes
from tfx.framework.context import current
from tfx.framework.precision.autocast_variable import create_autocast_variable
from tfx.framework.variable import Variable
from tfx.framework.variable_creators import finish_variables

_MIXED = {"mixed_float16": "float16", "mixed_bfloat16": "bfloat16"}


class Policy:
    """The dtypes that a module computes in and stores its variables in.

    Args:
        name: ``"mixed_float16"`` or ``"mixed_bfloat16"``, which store variables in float32; or a
            floating dtype for both.

    Raises:
        TypeError: the name is no string or dtype.
        ValueError: the name is unknown.

    Example:
        >>> import tfx as tf
        >>> policy = tf.mixed_precision.Policy("mixed_bfloat16")
        >>> policy.compute_dtype, policy.variable_dtype
        ('bfloat16', 'float32')
    """

    __slots__ = ("_compute", "_name", "_variable")

    def __init__(self, name: str | dtypes.DType) -> None:
        if isinstance(name, dtypes.DType):
            name = name.name
        if not isinstance(name, str):
            raise TypeError(
                "'name' must be a string, such as 'mixed_float16', or a dtype; got "
                f"{name!r} of type {type(name).__name__}."
            )
        self._name = name
        if name in _MIXED:
            self._compute, self._variable = _MIXED[name], "float32"
            return
        dtype = _dtype_of(name)
        if dtype is None or not dtype.is_floating:
            raise ValueError(
                f"Cannot convert {name!r} to a mixed precision Policy. Valid policies include "
                "'mixed_float16', 'mixed_bfloat16', and the name of any floating dtype such as "
                "'float32'."
            )
        self._name = self._compute = self._variable = dtype.name

    @property
    def name(self) -> str:
        """The name."""
        return self._name

    @property
    def compute_dtype(self) -> str:
        """The dtype to compute in."""
        return self._compute

    @property
    def variable_dtype(self) -> str:
        """The dtype that variables are stored in."""
        return self._variable

    @property
    def is_mixed(self) -> bool:
        """True if the two dtypes differ."""
        return self._compute != self._variable

    def get_config(self) -> dict[str, Any]:
        """The constructor's argument."""
        return {"name": self._name}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """The policy whose ``get_config`` returned ``config``."""
        return cls(config["name"])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Policy) and other._name == self._name

    def __hash__(self) -> int:
        return hash((Policy, self._name))

    def __repr__(self) -> str:
        return f'<Policy "{self._name}">'


def _dtype_of(name: str) -> dtypes.DType | None:
    try:
        return dtypes.as_dtype(name)
    except TypeError:
        return None


_global = Policy("float32")


def global_policy() -> Policy:
    """The global policy; at the beginning that of float32."""
    return _global


def set_global_policy(policy: Policy | str | None) -> None:
    """Set the policy of modules that have none of their own (an attribute ``dtype_policy``).

    Variables that exist already stay as they are, as do functions that were traced.

    Args:
        policy: The policy or its name; None is that of float32.

    Raises:
        ValueError: the name is unknown; or a function is being traced, where it would come too
            late.

    Example:
        >>> import tfx as tf
        >>> tf.mixed_precision.set_global_policy("mixed_float16")
        >>> tf.Variable([1.0])
        <AutoCastVariable 'Variable:0' shape=(1,) dtype=float32, numpy=array([1.], dtype=float32)>
        >>> tf.mixed_precision.set_global_policy("float32")
    """
    global _global
    chosen = as_policy(policy)
    if current().graph is not None:
        raise ValueError(
            f"set_global_policy({chosen.name!r}) inside of a tf.function would come too late: call "
            "it before the function is."
        )
    _global = chosen
    finish_variables(_finish if chosen.is_mixed else None)


@contextmanager
def policy_scope(policy: Policy | str | None) -> Iterator[Policy]:
    """Set the global policy for a ``with`` block.

    Args:
        policy: The policy or its name.

    Example:
        >>> import tfx as tf
        >>> with tf.mixed_precision.policy_scope("mixed_bfloat16"):
        ...     v = tf.Variable([1.0])
        >>> type(v).__name__
        'AutoCastVariable'
    """
    before = _global
    set_global_policy(policy)
    try:
        yield _global
    finally:
        set_global_policy(before)


def as_policy(policy: Any) -> Policy:
    """A policy from itself, its name, a dtype or None; also Keras' policies, by their names."""
    if policy is None:
        return Policy("float32")
    if isinstance(policy, Policy):
        return policy
    if isinstance(policy, str | dtypes.DType):
        return Policy(policy)
    name = getattr(policy, "name", None)
    if isinstance(name, str) and hasattr(policy, "compute_dtype"):
        return Policy(name)
    return Policy(policy)


def _finish(variable: Any) -> Any:
    """What takes the place of a new variable: trainable ones are cast where scopes say so."""
    if (
        isinstance(variable, Variable)
        and variable.trainable
        and variable.dtype.name == _global.variable_dtype
    ):
        return create_autocast_variable(variable)
    return variable
